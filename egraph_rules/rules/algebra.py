"""Expressions beyond quasi-affine ones: products, quotients by unknowns, bits and casts. `simplify` uses them.

They would find little in the index arithmetic of programs, and their questions cost more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import product
from math import gcd

import islpy as isl

from egraph_rules.authoring.proposal import Here, rewrite_expr
from egraph_rules.authoring.rule import INTEGER, SIGNED, Term, defined, rule
from egraph_rules.contexts.intervals import is_value_of
from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Load, Select, Unary, Var, binary, const
from ir.presburger import sets as pb
from ir.printing.printer import to_script
from ir.traverse import children, node_count

# Quotients and remainders by unknowns ---------------------------------------------------------------------------------


@rule(on=SIGNED, because="adding x * m moves the floor of the quotient by x", family="algebra")
def floordiv_of_product(x: Term, y: Term, m: Term):
    return (x * m + y) // m, x + y // m, m != 0, m != -1  # the least value // -1 leaves the dtype


@rule(on=SIGNED, because="multiples of m leave the remainder alone", family="algebra")
def floormod_of_product(x: Term, y: Term, m: Term):
    return (x * m + y) % m, y % m, m != 0, defined(x)


@rule(on=SIGNED, because="a multiple of m leaves no remainder", family="algebra")
def floormod_cancel(x: Term, m: Term):
    return (x * m) % m, 0, m != 0, defined(x)


@rule(on=SIGNED, because="a common factor cancels", family="algebra")
def floordiv_factor(x: Term, y: Term, m: Term):
    return (x * m) // (y * m), x // y, m != 0


@rule(on=SIGNED, because="a common factor of both comes out of the remainder", family="algebra")
def floormod_factor(x: Term, y: Term, m: Term):
    return (x * m) % (y * m), (x % y) * m, m != 0


@rule(on=INTEGER, because="m goes into x no times", family="algebra")
def floordiv_small(x: Term, m: Term):
    return x // m, 0, (x >= 0) & (x < m)


@rule(on=INTEGER, because="m goes into x no times, so that all of it is left", family="algebra")
def floormod_small(x: Term, m: Term):
    return x % m, x, (x >= 0) & (x < m)


@rule(on=SIGNED, because="the definition of the remainder", family="algebra")
def divmod_rejoins(x: Term, m: Term):
    return (x // m) * m + x % m, x, m != 0, defined(x)


@rule(on=SIGNED, because="x = (x // m) * m + x % m", family="algebra")
def remainder_of_quotient(x: Term, m: Term):
    return x - x // m * m, x % m, m != 0, defined(x)


@rule(on=SIGNED, because="what is taken off first is a multiple of m", family="algebra")
def floormod_of_floormod(x: Term, y: Term, m: Term):
    return x % (y * m) % m, x % m, y != 0, m != 0


@rule(on=SIGNED, because="a digit is what is left of the digits from it on", family="algebra")
def floordiv_of_floormod(x: Term, y: Term, m: Term):
    return x % (y * m) // m, x // m % y, y > 0, m > 0


@rule(on=SIGNED, because="what is not zero goes into itself once", family="algebra")
def floordiv_self(x: Term):
    return x // x, 1, x != 0


@rule(on=SIGNED, because="what is not zero goes into itself once", family="algebra")
def floormod_self(x: Term):
    return x % x, 0, x != 0


# Comparisons ----------------------------------------------------------------------------------------------------------


@rule(on=SIGNED, because="a positive factor keeps the order", family="algebra")
def lt_cancel(x: Term, y: Term, m: Term):
    return x * m < y * m, x < y, m > 0


@rule(on=SIGNED, because="a positive factor keeps the order", family="algebra")
def le_cancel(x: Term, y: Term, m: Term):
    return x * m <= y * m, x <= y, m > 0


@rule(on=SIGNED, because="a factor other than zero keeps what differs apart", family="algebra")
def eq_cancel(x: Term, y: Term, m: Term):
    return (x * m) == (y * m), x == y, m != 0


# Minima and maxima ----------------------------------------------------------------------------------------------------


@rule(on=INTEGER, because="x is the smaller one", family="algebra")
def min_known(x: Term, y: Term):
    return binary("min", x, y), x, x <= y


@rule(on=INTEGER, because="x is the greater one", family="algebra")
def max_known(x: Term, y: Term):
    return binary("max", x, y), x, x >= y


@rule(on=SIGNED, because="what is not negative is its own magnitude", family="algebra")
def abs_known(x: Term):
    return Unary("abs", x), x, x >= 0


@rule(on=INTEGER, because="x is no greater than z", family="algebra")
def min_covers(x: Term, y: Term, z: Term):
    return binary("min", x, binary("min", y, z)), binary("min", x, y), x <= z


@rule(on=INTEGER, because="x is no smaller than z", family="algebra")
def max_covers(x: Term, y: Term, z: Term):
    return binary("max", x, binary("max", y, z)), binary("max", x, y), x >= z


@rule(on=SIGNED, because="adding to both keeps which is smaller", family="algebra")
def min_offset(x: Term, y: Term, a: Term):
    return binary("min", x + a, y + a), binary("min", x, y) + a, defined(a)


@rule(on=SIGNED, because="adding to both keeps which is greater", family="algebra")
def max_offset(x: Term, y: Term, a: Term):
    return binary("max", x + a, y + a), binary("max", x, y) + a, defined(a)


@rule(on=INTEGER, because="the smaller one is chosen", family="algebra")
def select_lt(x: Term, y: Term):
    return Select(x < y, x, y), binary("min", x, y)


@rule(on=INTEGER, because="the smaller one is chosen", family="algebra")
def select_le(x: Term, y: Term):
    return Select(x <= y, x, y), binary("min", x, y)


@rule(on=INTEGER, because="the greater one is chosen", family="algebra")
def select_gt(x: Term, y: Term):
    return Select(x > y, x, y), binary("max", x, y)


@rule(on=INTEGER, because="the greater one is chosen", family="algebra")
def select_ge(x: Term, y: Term):
    return Select(x >= y, x, y), binary("max", x, y)


# Sums of products -----------------------------------------------------------------------------------------------------

_MAX_TERMS = 24
_OPERATIONS = 20_000

Monomial = tuple[int, ...]  # which atoms are multiplied, by number, in order; none for the constant term
Polynomial = dict[Monomial, int]


@rewrite_expr(
    law="e  =  the sum of products e, with like terms collected and common factors taken out",
    because="integers are a commutative ring, wrapping ones too, and no new part overflows where no old one does",
    family="algebra",
)
def polynomial_form(expr: Expr, here: Here) -> Iterator[Expr]:
    """Sums, differences and products of integers, collected."""
    if not expr.dtype.is_integer or not is_ring(expr):
        return
    if not here.defined(expr):
        return  # two readings of undef may differ
    atoms = Atoms()
    terms = atoms.polynomial(expr)
    if terms is None:
        return
    for new in dict.fromkeys(form(terms, expr.dtype) for form in (atoms.total, atoms.factored, atoms.multiple)):
        if not new.same(expr) and (not expr.dtype.is_signed or atoms.stay_in_range(expr, new, here)):
            yield new


@rewrite_expr(
    law="e  =  the sum of products e, multiplied out and with like terms collected, if it is no longer",
    because="integers are a commutative ring, wrapping ones too, and no new part overflows where no old one does",
    family="algebra",
)
def collected(expr: Expr, here: Here) -> Iterator[Expr]:
    """Sums that multiply sums, or have like terms: what a search needs to see that two of them are equal."""
    if not expr.dtype.is_integer or not is_ring(expr) or _is_flat(expr):
        return
    if not here.defined(expr):
        return
    atoms = Atoms()
    terms = atoms.polynomial(expr)
    new = None if terms is None else atoms.total(terms, expr.dtype)
    if new is None or node_count(new) > node_count(expr):
        return
    if not new.same(expr) and (not expr.dtype.is_signed or atoms.stay_in_range(expr, new, here)):
        yield new


def _is_flat(expr: Expr) -> bool:
    """Whether a sum is one of different products of what is no sum."""
    atoms, seen = Atoms(), set[Monomial]()
    for part in _summands(expr):
        terms = None if _has_sum(part) else atoms.polynomial(part)
        monomial = next(iter(terms), ()) if terms is not None else ()
        if terms is None or monomial in seen:
            return False
        seen.add(monomial)
    return True


def _summands(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Binary(op="add" | "sub", lhs=a, rhs=b):
            yield from _summands(a)
            yield from _summands(b)
        case Unary(op="neg", operand=a):
            yield from _summands(a)
        case _:
            yield expr


def _has_sum(product: Expr) -> bool:
    """Whether a factor of a product is a sum."""
    match product:
        case Binary(op="mul", lhs=a, rhs=b):
            return _has_sum(a) or _has_sum(b)
        case _:
            return is_ring(product)


def is_ring(expr: Expr) -> bool:
    return (isinstance(expr, Unary) and expr.op == "neg") or (
        isinstance(expr, Binary) and expr.op in ("add", "sub", "mul")
    )


class Atoms:
    """What sums of products are made of: expressions that are neither sums nor products, by number."""

    def __init__(self) -> None:
        self.exprs: list[Expr] = []
        self._names: dict[Monomial, str] = {}

    def polynomial(self, expr: Expr) -> Polynomial | None:
        """The sum of products that an expression is; None if it has too many terms."""
        match expr:
            case Const(value=value):
                return {(): int(value)} if value else {}
            case Unary(op="neg", operand=a):
                inner = self.polynomial(a)
                return None if inner is None else {m: -c for m, c in inner.items()}
            case Binary(op="add" | "sub" | "mul" as op, lhs=a, rhs=b):
                left, right = self.polynomial(a), self.polynomial(b)
                if left is None or right is None:
                    return None
                found = _product(left, right) if op == "mul" else _plus(left, right, 1 if op == "add" else -1)
                return found if len(found) <= _MAX_TERMS else None
            case _:
                return {(self._number(expr),): 1}

    def _number(self, expr: Expr) -> int:
        for k, known in enumerate(self.exprs):
            if known.same(expr):
                return k
        self.exprs.append(expr)
        return len(self.exprs) - 1

    def total(self, terms: Polynomial, dtype: DType) -> Expr:
        """The expression of a sum of products, in one order for all equal ones."""
        terms = _wrapped(terms, dtype)
        total: Expr | None = None
        for monomial in sorted((m for m, c in terms.items() if c), key=lambda m: (terms[m] < 0, not m, self._text(m))):
            value = terms[monomial]
            if total is None:
                total = self._term(monomial, value, dtype)
            elif value < 0 and -value <= dtype.max:
                total = Binary("sub", total, self._term(monomial, -value, dtype))
            else:
                total = Binary("add", total, self._term(monomial, value, dtype))
        return const(0, dtype) if total is None else total

    def factored(self, terms: Polynomial, dtype: DType) -> Expr:
        """The same, with the atom that most products share taken out of them, again and again."""
        counts = Counter(atom for m, c in terms.items() if c for atom in set(m))
        shared = [a for a, n in counts.items() if n > 1]
        if not shared:
            return self.total(terms, dtype)
        atom = min(shared, key=lambda a: (-counts[a], to_script(self.exprs[a])))
        inside = {_without(m, atom): c for m, c in terms.items() if c and atom in m}
        rest = {m: c for m, c in terms.items() if c and atom not in m}
        product = Binary("mul", self.exprs[atom], self.factored(inside, dtype))
        return Binary("add", product, self.factored(rest, dtype)) if rest else product

    def multiple(self, terms: Polynomial, dtype: DType) -> Expr:
        """The same, with the number that all products are multiples of taken out of them."""
        terms = {m: c for m, c in _wrapped(terms, dtype).items() if c}
        factor = gcd(*terms.values())
        if len(terms) < 2 or factor == 1:
            return self.total(terms, dtype)
        return Binary("mul", self.total({m: c // factor for m, c in terms.items()}, dtype), const(factor, dtype))

    def _text(self, monomial: Monomial) -> tuple[str, ...]:
        return tuple(to_script(self.exprs[a]) for a in monomial)

    def _term(self, monomial: Monomial, value: int, dtype: DType) -> Expr:
        factors = [self.exprs[a] for a in monomial]
        if value != 1 or not factors:
            factors.append(const(value, dtype))
        return reduce(lambda a, b: Binary("mul", a, b), factors)

    def stay_in_range(self, old: Expr, new: Expr, here: Here) -> bool:
        """Whether no part of `new` overflows where none of `old` does; products count as unknowns of their own."""

        def question() -> bool:
            inside = here.domain.intersect(self._fit(old))
            return inside.is_subset(self._fit(new))

        return here.once(("in range", old, new), lambda: pb.within_budget(question, False, _OPERATIONS))

    def _fit(self, expr: Expr) -> isl.Set:
        holds = pb.always()
        for part in _ring_parts(expr):
            if isinstance(part, Const) and not part.dtype.min <= int(part.value) <= part.dtype.max:
                return pb.never()
            terms = self.polynomial(part)
            if terms is None:
                return pb.never()
            value = pb.number(0)
            for monomial, factor in terms.items():
                one = pb.symbol(self._name(monomial)) if monomial else pb.number(1)
                value = value.add(one.mul(pb.number(factor)))
            holds = holds.intersect(pb.within(value, expr.dtype))
        return holds

    def _name(self, monomial: Monomial) -> str:
        only = self.exprs[monomial[0]] if len(monomial) == 1 else None
        if isinstance(only, Var):
            return only.name  # so that what is known of it counts
        return self._names.setdefault(monomial, f"?{len(self._names)}")


def _ring_parts(expr: Expr) -> Iterator[Expr]:
    """The parts of a sum of products, atoms included."""
    yield expr
    if is_ring(expr):
        for part in children(expr):
            yield from _ring_parts(part)


def _plus(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    out = dict(left)
    for monomial, value in right.items():
        out[monomial] = out.get(monomial, 0) + sign * value
    return {m: c for m, c in out.items() if c}


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for (m, c), (n, d) in product(left.items(), right.items()):
        key = tuple(sorted((*m, *n)))
        out[key] = out.get(key, 0) + c * d
    return {m: c for m, c in out.items() if c}


def _wrapped(terms: Polynomial, dtype: DType) -> Polynomial:
    """Coefficients within the range of an unsigned dtype."""
    return terms if dtype.is_signed else {m: c % (dtype.max + 1) for m, c in terms.items()}


def _without(monomial: Monomial, atom: int) -> Monomial:
    k = monomial.index(atom)
    return (*monomial[:k], *monomial[k + 1 :])


# Bits and casts -------------------------------------------------------------------------------------------------------


@rewrite_expr(
    law="x & (2**k - 1)  =  x % 2**k;  x >> k  =  x // 2**k;  x << k  =  x * 2**k",
    because="that is what the bits of a number mean, in two's complement",
    family="algebra",
)
def bits_as_arithmetic(expr: Expr, here: Here) -> Iterator[Expr]:
    """Bit operations by constants as arithmetic, of which more is known."""
    del here
    match expr:
        case (
            Binary(op="bitand", lhs=a, rhs=Const(value=int() as m))
            | Binary(op="bitand", lhs=Const(value=int() as m), rhs=a)
        ):
            if m >= 0 and m & (m + 1) == 0 and m < expr.dtype.max:
                yield Binary("floormod", a, const(m + 1, expr.dtype))
            elif m < 0 and -m & (-m - 1) == 0 and m > expr.dtype.min:
                yield Binary("mul", Binary("floordiv", a, const(-m, expr.dtype)), const(-m, expr.dtype))
        case Binary(op="shr" | "shl" as op, lhs=a, rhs=Const(value=int() as k)) if 0 <= k < expr.dtype.bits - 1:
            yield Binary("floordiv" if op == "shr" else "mul", a, const(2**k, expr.dtype))
        case _:
            pass


@rewrite_expr(
    law="cast(t, cast(u, x))  =  cast(t, x)   where u keeps x, or t keeps no more bits than u",
    because="widening changes nothing, and wrapping twice keeps the lowest bits",
    family="algebra",
)
def cast_of_cast(expr: Expr, here: Here) -> Iterator[Expr]:
    """Casts of casts, also of those that an element is known to hold, and casts to the dtype that is there."""
    if not isinstance(expr, Cast) or not expr.dtype.is_integer:
        return
    inner = expr.operand
    if inner.dtype is expr.dtype:
        yield inner
    if isinstance(inner, Load):
        told = here.contents(inner.buffer, inner.indices)
        inner = inner if told is None else told
    if not isinstance(inner, Cast) or not inner.operand.dtype.is_integer:
        return
    source, middle, x = inner.operand.dtype, inner.dtype, inner.operand
    keeps = middle.min <= source.min and source.max <= middle.max
    if not keeps and middle.is_integer:
        keeps = here.truth(is_value_of(x, middle)) is True
    if middle.is_integer and (keeps or expr.dtype.bits <= middle.bits):
        yield x if source is expr.dtype else Cast(expr.dtype, x)


ALGEBRA_RULES = (
    floordiv_of_product, floormod_of_product, floormod_cancel, floordiv_factor, floormod_factor, floordiv_small,
    floormod_small, floormod_of_floormod, floordiv_of_floormod, divmod_rejoins, remainder_of_quotient, floordiv_self,
    floormod_self, lt_cancel, le_cancel, eq_cancel, min_known, max_known, abs_known, min_covers, max_covers, min_offset,
    max_offset, select_lt, select_le, select_gt, select_ge, polynomial_form, collected, bits_as_arithmetic,
    cast_of_cast,
)  # fmt: skip
