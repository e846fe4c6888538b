"""Integer expressions as sums of products: what sets of quasi-affine constraints cannot say, once sizes are symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from ir.nodes import Binary, Const, Expr, Unary, const
from ir.shown import text_order

Monomial = tuple[Expr, ...]  # factors, in one order
Polynomial = Mapping[Monomial, int]  # how often each product is added

_MAX_TERMS = 24


def monomial(factors: Iterable[Expr]) -> Monomial:
    """A product, by its factors in the one order."""
    return tuple(sorted(factors, key=text_order))


def polynomial(expr: Expr) -> Polynomial:
    """A signed integer expression as a sum of products; what is neither is a factor."""
    found: Polynomial | None = None
    match expr:
        case Const(value=value):
            return {(): int(value)} if value else {}
        case Unary(op="neg", operand=a) if expr.dtype.is_signed:
            return {k: -v for k, v in polynomial(a).items()}
        case Binary(op="add" | "sub" as op, lhs=a, rhs=b) if expr.dtype.is_signed:
            sign = 1 if op == "add" else -1
            found = summed((*polynomial(a).items(), *((k, sign * v) for k, v in polynomial(b).items())))
        case Binary(op="mul", lhs=a, rhs=b) if expr.dtype.is_signed:
            left, right = polynomial(a), polynomial(b)
            if len(left) * len(right) <= _MAX_TERMS:
                found = summed((monomial((*k, *m)), v * w) for k, v in left.items() for m, w in right.items())
        case _:
            pass
    return {(expr,): 1} if found is None or len(found) > _MAX_TERMS else found


def summed(parts: Iterable[tuple[Monomial, int]]) -> Polynomial:
    """The sum of products, each so many times."""
    found: Counter[Monomial] = Counter()
    for factors, count in parts:
        found[factors] += count
    return {k: v for k, v in found.items() if v}


def are_apart(one: Sequence[Expr], other: Sequence[Expr]) -> bool:
    """Whether two elements of a buffer differ in some index by a number, whatever the variables are."""
    pairs = ((polynomial(a), polynomial(b)) for a, b in zip(one, other, strict=True))
    return any(summed((*p.items(), *((k, -c) for k, c in q.items()))).keys() == {()} for p, q in pairs)


def degree(expr: Expr) -> int:
    """How many factors the longest product in a sum has: of `h * w + 2`, two."""
    return max(map(len, polynomial(expr)), default=0)


def divided(value: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """The terms that are multiples of a divisor of one term, divided by it, and the others."""
    ((by, count),) = divisor.items()
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for factors, c in value.items():
        left = Counter(factors)
        left.subtract(Counter(by))
        if c % count or any(n < 0 for n in left.values()):
            rest[factors] = c
        else:
            whole[monomial(left.elements())] = c // count
    return whole, rest


def written(value: Polynomial, like: Expr) -> Expr:
    """A polynomial as an expression of the dtype of another one, positive terms first."""
    total: Expr | None = None
    for factors, c in sorted(value.items(), key=lambda item: (item[1] < 0, not item[0])):
        parts = [*factors] if abs(c) == 1 and factors else [const(abs(c), like.dtype), *factors]
        term = reduce(lambda a, b: Binary("mul", a, b), parts)
        if total is None:
            total = term if c > 0 else Unary("neg", term)
        else:
            total = Binary("add" if c > 0 else "sub", total, term)
    return const(0, like.dtype) if total is None else total
