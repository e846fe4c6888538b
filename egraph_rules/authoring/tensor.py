"""Rules over tensor terms: sums over axes, and what they may be instead, as small Python functions over patterns.

    @tensor_rule(because="a factor that is the same for all terms counts once", floats=Floats.REASSOCIATE)
    def factor_out(k: Axes, c: Pattern, x: Pattern):
        return total(k, c * x), c * total(k, x), apart(axes(c), k)

The function returns a pattern, its replacement and side conditions, as for rules over expressions. Parameters called
`k` or `j` are sets of axes, all others terms. Each names the freedoms that it takes where elements are floats; integers
wrap alike in every order. Owns the patterns and how they are told to egglog; what becomes of a sum by them is found
where programs are lowered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from egraph_rules.authoring.rule import Rule
from ir.errors import RuleError
from ir.floats import Floats

FAMILY = "tensor"


class Axes(Struct, frozen=True):
    """A set of axes: a variable, those of a term, or what others make together."""

    op: Literal["set", "of", "or", "and", "without"]
    name: str = ""
    args: tuple[Axes, ...] = ()

    def __or__(self, other: Axes) -> Axes:
        return Axes("or", args=(self, other))

    def __and__(self, other: Axes) -> Axes:
        return Axes("and", args=(self, other))

    def without(self, other: Axes) -> Axes:
        return Axes("without", args=(self, other))

    @property
    def text(self) -> str:
        """As egglog has it: sets are bits of a number."""
        own = [a.text for a in self.args]
        match self.op:
            case "set":
                return self.name
            case "of":
                return f"axes_{self.name}"
            case "or":
                return f"(| {own[0]} {own[1]})"
            case "and":
                return f"(& {own[0]} {own[1]})"
            case "without":
                return f"(& {own[0]} (^ -1 {own[1]}))"

    def __str__(self) -> str:
        match self.op:
            case "set":
                return self.name
            case "of":
                return f"axes({self.name})"
            case _:
                sign = {"or": "+", "and": "in"}.get(self.op, "not in")
                return f"({self.args[0]} {sign} {self.args[1]})"

    def facts(self) -> Iterator[str]:
        """What binds the names in its text."""
        if self.op == "of":
            yield f"(= {self.text} (axes {self.name}))"
        for a in self.args:
            yield from a.facts()


class Pattern(Struct, frozen=True):
    """A term: a variable, which has a name, or an operation on others."""

    op: str
    args: tuple[Pattern | Axes, ...] = ()
    name: str = ""

    def __add__(self, other: Pattern) -> Pattern:
        return Pattern("Add", (self, other))

    def __sub__(self, other: Pattern) -> Pattern:
        return Pattern("Sub", (self, other))

    def __mul__(self, other: Pattern) -> Pattern:
        return Pattern("Mul", (self, other))

    def __truediv__(self, other: Pattern) -> Pattern:
        return Pattern("Div", (self, other))

    def __neg__(self) -> Pattern:
        return Pattern("Neg", (self,))

    @property
    def text(self) -> str:
        """As egglog has it."""
        return self.name or f"({self.op} {' '.join(a.text for a in self.args)})"

    def __str__(self) -> str:
        return self.name or _SHOWN[self.op].format(*map(str, self.args))

    def facts(self) -> Iterator[str]:
        """What binds the names of sets in its text."""
        for a in self.args:
            yield from a.facts()

    def parts(self) -> Iterator[Pattern | Axes]:
        """It and all that is in it."""
        yield self
        for a in self.args:
            yield from a.parts() if isinstance(a, Pattern) else (a,)


_SHOWN = {
    "Add": "({} + {})", "Sub": "({} - {})", "Mul": "({} * {})", "Div": "({} / {})", "Neg": "(-{})",
    "Where": "where({}, {})", "Flag": "flag({})", "Number": "number({})", "Sum": "sum[{}]({})",
    "Contract": "contract[{}]({}, {})", "Ones": "ones[{}]", "Times": "(size[{}] * {})",
}  # fmt: skip


class Condition(Struct, frozen=True):
    """A side condition, on sets of axes or on a term."""

    what: Literal["apart", "within", "some", "differ", "finite", "shown", "rounds"]
    sets: tuple[Axes, ...] = ()
    term: str = ""
    mask: str = ""

    @property
    def text(self) -> str:
        """As egglog has it."""
        own = [a.text for a in self.sets]
        match self.what:
            case "apart":
                return f"(= 0 (& {own[0]} {own[1]}))"
            case "within":
                return f"(= 0 (& {own[0]} (^ -1 {own[1]})))"
            case "some":
                return f"(!= 0 {own[0]})"
            case "differ":
                return f"(!= {own[0]} {own[1]})"
            case "finite" | "rounds":
                return f"({self.what} {self.term})"
            case "shown":
                return f"(shown {self.mask} {self.term})"

    def __str__(self) -> str:
        sets = [str(a) for a in self.sets]
        match self.what:
            case "apart":
                return f"{sets[0]} and {sets[1]} are apart"
            case "within":
                return f"{sets[0]} is within {sets[1]}"
            case "some":
                return f"there is an axis {sets[0]}"
            case "differ":
                return f"{sets[0]} is not {sets[1]}"
            case "finite":
                return f"{self.term} is finite"
            case "shown":
                return f"{self.term} is finite where {self.mask}"
            case "rounds":
                return f"{self.term} is rounded"

    def facts(self) -> Iterator[str]:
        """What binds the names of sets in its text."""
        for a in self.sets:
            yield from a.facts()


class TensorTerms(Struct, frozen=True):
    """What a rule over tensor terms says: that two terms are the same under conditions."""

    pattern: Pattern
    replacement: Pattern
    conditions: tuple[Condition, ...]


def where(mask: Pattern, x: Pattern) -> Pattern:
    """`x` where the mask holds, else 0."""
    return Pattern("Where", (mask, x))


def flag(mask: Pattern) -> Pattern:
    """1 where the mask holds, else 0."""
    return Pattern("Flag", (mask,))


def number(x: Pattern) -> Pattern:
    """`x` where it is a number, else 0."""
    return Pattern("Number", (x,))


def total(k: Axes, x: Pattern) -> Pattern:
    """The sum of `x` over axes."""
    return Pattern("Sum", (k, x))


def contract(k: Axes, x: Pattern, y: Pattern) -> Pattern:
    """The sum of a product over axes, which is never formed."""
    return Pattern("Contract", (k, x, y))


def ones(k: Axes) -> Pattern:
    """1 at all positions of axes."""
    return Pattern("Ones", (k,))


def times(k: Axes, x: Pattern) -> Pattern:
    """`x` times the number of positions on axes."""
    return Pattern("Times", (k, x))


def axes(x: Pattern) -> Axes:
    """The axes along which a variable varies."""
    return Axes("of", x.name)


def apart(a: Axes, b: Axes) -> Condition:
    """Two sets share no axis."""
    return Condition("apart", (a, b))


def within(a: Axes, b: Axes) -> Condition:
    """All axes of `a` are in `b`."""
    return Condition("within", (a, b))


def some(a: Axes) -> Condition:
    """A set is not empty."""
    return Condition("some", (a,))


def differ(a: Axes, b: Axes) -> Condition:
    """Two sets are not the same."""
    return Condition("differ", (a, b))


def finite(x: Pattern) -> Condition:
    """A variable is a number at all positions, also where the program does not evaluate it."""
    return Condition("finite", term=x.name)


def shown(mask: Pattern, x: Pattern) -> Condition:
    """A variable is a number where a mask holds."""
    return Condition("shown", term=x.name, mask=mask.name)


def rounds(x: Pattern) -> Condition:
    """A variable is rounded where the program forms it: there is a product in it."""
    return Condition("rounds", term=x.name)


def tensor_rule(*, because: str, floats: Floats = Floats.STRICT) -> Callable[[Callable[..., tuple[object, ...]]], Rule]:
    """Make a `Rule` of a function that returns a pattern, its replacement, and conditions.

    `floats` are the freedoms that it takes where elements are floats; a rule without any is exact to the bit.

    Raises:
        RuleError: the function does not return a pattern and a replacement, or gives no reason.
    """

    def make(function: Callable[..., tuple[object, ...]]) -> Rule:
        name = f"{FAMILY}.{function.__name__}"
        if not because.strip():
            raise RuleError("rule", f"rule {name} states no reason")
        names = inspect.signature(function).parameters
        lhs, rhs, *more = function(*(Axes("set", n) if n in ("k", "j") else Pattern("Var", name=n) for n in names))
        if not isinstance(lhs, Pattern) or not isinstance(rhs, Pattern):
            raise RuleError("rule", f"rule {name} must return (pattern, replacement, *conditions)")
        conditions = tuple(c for c in more if isinstance(c, Condition))
        facts = {fact for part in (rhs, *conditions) for fact in part.facts()}
        when = " ".join((*sorted(facts), *(c.text for c in conditions)))
        clause = f" :when ({when})" if when else ""
        program = f'(rewrite {lhs.text} {rhs.text}{clause} :name "{name}")'
        law = f"{lhs}  =  {rhs}" + (f"   if {' and '.join(map(str, conditions))}" if conditions else "")
        return Rule(name, law, because, floats, program, terms=TensorTerms(lhs, rhs, conditions))

    return make
