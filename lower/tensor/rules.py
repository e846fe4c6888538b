"""Rules over tensor terms. Each is a Python function over patterns: what a term is, what it may be instead, and when.

Each names the freedoms that it takes where elements are floats; integers wrap alike in every order. Sums of products
may be taken apart, as their products are rounded already; where a difference of elements is exact, sums of both are
not, so that taking them apart is `DISTRIBUTE`, as expanding products is. What a mask hides need not be a number, so a
product with zero stands for a mask only where the other factor is `finite`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ir.floats import Floats
from lower.analysis.freedoms import Form

EINSUM = Form(
    "instructions.einsum",
    "sum of x * y over k  =  einsum(x, y)",
    "that is its definition",
    Floats.REASSOCIATE,
)

Needs = frozenset[str]  # facts that bind names, as egglog text


@dataclass(frozen=True, slots=True)
class Axes:
    """A set of axes, as egglog text and as people read it."""

    text: str
    shown: str
    needs: Needs = frozenset()

    def __or__(self, other: Axes) -> Axes:
        return Axes(f"(| {self.text} {other.text})", f"({self.shown} + {other.shown})", self.needs | other.needs)

    def __and__(self, other: Axes) -> Axes:
        return Axes(f"(& {self.text} {other.text})", f"({self.shown} in {other.shown})", self.needs | other.needs)

    def without(self, other: Axes) -> Axes:
        text = f"(& {self.text} (^ -1 {other.text}))"
        return Axes(text, f"({self.shown} not in {other.shown})", self.needs | other.needs)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A term with variables, as egglog text and as people read it."""

    text: str
    shown: str
    needs: Needs = frozenset()

    def __add__(self, other: Pattern) -> Pattern:
        return _node("Add", self, other)

    def __sub__(self, other: Pattern) -> Pattern:
        return _node("Sub", self, other)

    def __mul__(self, other: Pattern) -> Pattern:
        return _node("Mul", self, other)

    def __truediv__(self, other: Pattern) -> Pattern:
        return _node("Div", self, other)

    def __neg__(self) -> Pattern:
        return _node("Neg", self)


@dataclass(frozen=True, slots=True)
class Condition:
    """A side condition, as egglog text and as people read it."""

    text: str
    shown: str
    needs: Needs = frozenset()


@dataclass(frozen=True, slots=True)
class TensorRule:
    """A rewrite: `program` is its egglog text, `law` how it reads, `reason` why it is true, and `floats` the freedoms
    that it takes where elements are floats."""

    name: str
    law: str
    reason: str
    program: str
    floats: Floats


_SHOWN = {
    "Add": "({} + {})", "Sub": "({} - {})", "Mul": "({} * {})", "Div": "({} / {})", "Neg": "(-{})",
    "Where": "where({}, {})", "Flag": "flag({})", "Sum": "sum[{}]({})", "Contract": "contract[{}]({}, {})",
    "Ones": "ones[{}]", "Times": "(size[{}] * {})",
}  # fmt: skip


def _node(op: str, *args: Pattern | Axes) -> Pattern:
    needs = frozenset(n for a in args for n in a.needs)
    return Pattern(f"({op} {' '.join(a.text for a in args)})", _SHOWN[op].format(*(a.shown for a in args)), needs)


def where(mask: Pattern, x: Pattern) -> Pattern:
    """`x` where the mask holds, else 0."""
    return _node("Where", mask, x)


def flag(mask: Pattern) -> Pattern:
    """1 where the mask holds, else 0."""
    return _node("Flag", mask)


def total(k: Axes, x: Pattern) -> Pattern:
    """The sum of `x` over axes."""
    return _node("Sum", k, x)


def contract(k: Axes, x: Pattern, y: Pattern) -> Pattern:
    """The sum of a product over axes, which is never formed."""
    return _node("Contract", k, x, y)


def ones(k: Axes) -> Pattern:
    """1 at all positions of axes."""
    return _node("Ones", k)


def times(k: Axes, x: Pattern) -> Pattern:
    """`x` times the number of positions on axes."""
    return _node("Times", k, x)


def axes(x: Pattern) -> Axes:
    """The axes along which a term varies."""
    name = f"axes_{x.text}"
    return Axes(name, f"axes({x.shown})", frozenset((f"(= {name} (axes {x.text}))",)))


def apart(a: Axes, b: Axes) -> Condition:
    """Two sets share no axis."""
    return Condition(f"(= 0 (& {a.text} {b.text}))", f"{a.shown} and {b.shown} are apart", a.needs | b.needs)


def within(a: Axes, b: Axes) -> Condition:
    """All axes of `a` are in `b`."""
    text = f"(= 0 (& {a.text} (^ -1 {b.text})))"
    return Condition(text, f"{a.shown} is within {b.shown}", a.needs | b.needs)


def some(a: Axes) -> Condition:
    """A set is not empty."""
    return Condition(f"(!= 0 {a.text})", f"there is an axis {a.shown}", a.needs)


def differ(a: Axes, b: Axes) -> Condition:
    """Two sets are not the same."""
    return Condition(f"(!= {a.text} {b.text})", f"{a.shown} is not {b.shown}", a.needs | b.needs)


def finite(x: Pattern) -> Condition:
    """A term is a number at all positions, also where the program does not evaluate it."""
    return Condition(f"(finite {x.text})", f"{x.shown} is finite")


def rounds(x: Pattern) -> Condition:
    """A term is rounded where the program forms it: there is a product in it."""
    return Condition(f"(rounds {x.text})", f"{x.shown} is rounded")


FAMILY = "tensor"
RULES: list[TensorRule] = []

_ORDER = Floats.REASSOCIATE
_APART = Floats.REASSOCIATE | Floats.DISTRIBUTE
_SIGNS = Floats.NO_SIGNED_ZEROS
_HIDDEN = Floats.FINITE | Floats.NO_SIGNED_ZEROS  # 0.0 for what a mask hides: no NaN times zero, no -0.0


def tensor_rules() -> tuple[TensorRule, ...]:
    """All rules that there are, those of users included."""
    return tuple(RULES)


def switchable(without: Iterable[str]) -> frozenset[str]:
    """Those of some names that switch rules off: of rules, of their family, and of the instruction that they find."""
    names = {FAMILY, EINSUM.name, EINSUM.family, *(r.name for r in RULES)}
    return frozenset(without) & names


def active_rules(without: Collection[str] = ()) -> tuple[TensorRule, ...]:
    """The rules but those whose family, name or instruction is switched off."""
    einsum = EINSUM.name in without or EINSUM.family in without
    return tuple(
        r
        for r in (() if FAMILY in without else RULES)
        if r.name not in without and not (einsum and r in (contraction, sum_as_contraction))
    )


def tensor_rule(
    because: str, floats: Floats = Floats.STRICT
) -> Callable[[Callable[..., tuple[object, ...]]], TensorRule]:
    """Make a rule of a function that returns a pattern, its replacement, and conditions.

    Parameters called `k` or `j` are sets of axes, all others terms. `floats` are the freedoms that it takes where
    elements are floats; a rule without any is exact to the bit.
    """

    def make(function: Callable[..., tuple[object, ...]]) -> TensorRule:
        names = list(inspect.signature(function).parameters)
        variables = [Axes(n, n) if n in ("k", "j") else Pattern(n, n) for n in names]
        lhs, rhs, *conditions = function(*variables)
        assert isinstance(lhs, Pattern)
        assert isinstance(rhs, Pattern)
        checks = [c for c in conditions if isinstance(c, Condition)]
        needs = frozenset(n for part in (rhs, *checks) for n in part.needs)
        when = " ".join((*sorted(needs), *(c.text for c in checks)))
        clause = f" :when ({when})" if when else ""
        name = f"tensor.{function.__name__}"
        program = f'(rewrite {lhs.text} {rhs.text}{clause} :name "{name}")'
        law = f"{lhs.shown}  =  {rhs.shown}" + (f"   if {' and '.join(c.shown for c in checks)}" if checks else "")
        rule = TensorRule(name, law, because, program, floats)
        RULES.append(rule)
        return rule

    return make


@tensor_rule(because="a sum is linear", floats=_APART)
def sum_of_sums(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), total(k, x) + total(k, y)


@tensor_rule(because="a sum is linear", floats=_APART)
def sum_of_differences(k: Axes, x: Pattern, y: Pattern):
    return total(k, x - y), total(k, x) - total(k, y)


@tensor_rule(because="a product is rounded before it is added, and its sum alike", floats=_ORDER)
def sum_of_product_and_more(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), total(k, x) + total(k, y), rounds(x)


@tensor_rule(because="a product is rounded before it is added, and its sum alike", floats=_ORDER)
def sum_of_more_and_product(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), total(k, x) + total(k, y), rounds(y)


@tensor_rule(because="a product is rounded before another is taken away, and its sum alike", floats=_ORDER)
def sum_of_product_and_less(k: Axes, x: Pattern, y: Pattern):
    return total(k, x - y), total(k, x) - total(k, y), rounds(x)


@tensor_rule(because="a product is rounded before it is taken away, and its sum alike", floats=_ORDER)
def sum_of_less_and_product(k: Axes, x: Pattern, y: Pattern):
    return total(k, x - y), total(k, x) - total(k, y), rounds(y)


@tensor_rule(because="a sum is linear", floats=_SIGNS)
def sum_of_negated(k: Axes, x: Pattern):
    return total(k, -x), -total(k, x)


@tensor_rule(because="a factor that is the same for all terms counts once", floats=_ORDER)
def factor_out(k: Axes, c: Pattern, x: Pattern):
    return total(k, c * x), c * total(k, x), apart(axes(c), k)


@tensor_rule(because="what does not vary along an inner axis can wait for the outer sum", floats=_ORDER)
def factor_out_of_inner_sum(k: Axes, c: Pattern, x: Pattern):
    inner, outer = k.without(axes(c)), k & axes(c)
    return total(k, c * x), total(outer, c * total(inner, x)), some(inner), some(outer)


@tensor_rule(because="a factor that is the same for all terms counts once", floats=_ORDER)
def factor_in(k: Axes, c: Pattern, x: Pattern):
    return c * total(k, x), total(k, c * x), apart(axes(c), k)


@tensor_rule(because="a factor that is the same for all terms counts once", floats=_ORDER)
def factor_into_contraction(k: Axes, c: Pattern, x: Pattern, y: Pattern):
    return c * contract(k, x, y), contract(k, c * x, y), apart(axes(c), k)


@tensor_rule(because="sums over different axes are one over all of them", floats=_ORDER)
def sum_of_sum(k: Axes, j: Axes, x: Pattern):
    return total(k, total(j, x)), total(k | j, x), apart(k, j)


@tensor_rule(because="products that share a factor are one with the sum of the others", floats=_ORDER)
def joined_contractions(k: Axes, x: Pattern, y: Pattern, z: Pattern):
    return contract(k, x, z) + contract(k, y, z), contract(k, x + y, z), within(axes(x), axes(y))


@tensor_rule(because="products that share a factor are one with the sum of the others", floats=_ORDER)
def contraction_joins_another(k: Axes, x: Pattern, y: Pattern, z: Pattern, c: Pattern):
    joined = contract(k, x + y, z)
    return (c + contract(k, x, z)) + contract(k, y, z), c + joined, within(axes(x), axes(y))


@tensor_rule(because="a divisor that is the same for all terms counts once", floats=_ORDER)
def divisor_out(k: Axes, c: Pattern, x: Pattern):
    return total(k, x / c), total(k, x) / c, apart(axes(c), k)


@tensor_rule(because="what does not vary along an inner axis can wait for the outer sum", floats=_ORDER)
def divisor_out_of_inner_sum(k: Axes, c: Pattern, x: Pattern):
    inner, outer = k.without(axes(c)), k & axes(c)
    return total(k, x / c), total(outer, total(inner, x) / c), some(inner), some(outer)


@tensor_rule(because="a product may be divided in place of a factor", floats=_ORDER)
def quotient_in_product(x: Pattern, c: Pattern, y: Pattern):
    return (x / c) * y, (x * y) / c


@tensor_rule(because="equal terms are added as often as there are", floats=_ORDER)
def sum_of_equals(k: Axes, x: Pattern):
    return total(k, x), times(k, x), apart(axes(x), k)


@tensor_rule(because="equal terms are added as often as there are", floats=_ORDER)
def sum_of_partly_equals(k: Axes, x: Pattern):
    missing, rest = k.without(axes(x)), k & axes(x)
    return total(k, x), times(missing, total(rest, x)), some(missing), some(rest)


@tensor_rule(because="a product is commutative")
def product_commutes(x: Pattern, y: Pattern):
    return x * y, y * x


@tensor_rule(because="a product is associative", floats=_ORDER)
def product_associates(x: Pattern, y: Pattern, z: Pattern):
    return (x * y) * z, x * (y * z)


@tensor_rule(because="multiplication distributes over addition", floats=_APART)
def product_of_sum(x: Pattern, y: Pattern, z: Pattern):
    return x * (y + z), x * y + x * z


@tensor_rule(because="multiplication distributes over subtraction", floats=_APART)
def product_of_difference(x: Pattern, y: Pattern, z: Pattern):
    return x * (y - z), x * y - x * z


@tensor_rule(because="a minus sign can go to either factor")
def product_of_negated(x: Pattern, y: Pattern):
    return (-x) * y, -(x * y)


@tensor_rule(because="a mask that is the same for all terms can wait", floats=_ORDER)
def mask_out(k: Axes, m: Pattern, x: Pattern):
    return total(k, where(m, x)), where(m, total(k, x)), apart(axes(m), k)


@tensor_rule(because="both terms are hidden alike")
def mask_of_sum(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x + y), where(m, x) + where(m, y)


@tensor_rule(because="both terms are hidden alike")
def mask_of_difference(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x - y), where(m, x) - where(m, y)


@tensor_rule(because="nothing is hidden twice", floats=_SIGNS)
def mask_of_negated(m: Pattern, x: Pattern):
    return where(m, -x), -where(m, x)


@tensor_rule(because="one factor of zero makes the product zero, where the other is a number", floats=_HIDDEN)
def mask_of_factor(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x * y), where(m, x) * y, finite(y), within(axes(m), axes(x))


@tensor_rule(because="zero times zero is zero", floats=_SIGNS)
def mask_of_factors(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x * y), where(m, x) * where(m, y), within(axes(m), axes(x)), within(axes(m), axes(y))


@tensor_rule(because="a number times zero is zero, times one itself", floats=_HIDDEN)
def mask_as_product(m: Pattern, x: Pattern):
    return where(m, x), flag(m) * x, finite(x)


@tensor_rule(because="a sum of products over factors of different axes is a contraction", floats=_ORDER)
def contraction(k: Axes, x: Pattern, y: Pattern):
    a, b = axes(x), axes(y)
    return total(k, x * y), contract(k, x, y), differ(a, b), some(a & k), some(b & k), within(k, a | b)


@tensor_rule(because="a sum is a product with ones", floats=_ORDER)
def sum_as_contraction(k: Axes, x: Pattern):
    return total(k, x), contract(k, x, ones(k)), within(k, axes(x)), differ(axes(x), k)
