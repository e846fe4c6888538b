"""What stands in conditions: operands, negations, and what an assumption lets be arbitrary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from ir.dtypes import DType
from ir.nodes import NEGATED, Binary, Const, Expr, Load, Unary, Undef


def disjuncts(cond: Expr) -> Iterator[Expr]:
    """The operands of a tree of `or`; a negated `and` counts as the `or` of negations."""
    match cond:
        case Binary(op="or", lhs=a, rhs=b):
            yield from disjuncts(a)
            yield from disjuncts(b)
        case Unary(op="not", operand=Binary(op="and", lhs=a, rhs=b)):
            yield from disjuncts(Unary("not", a))
            yield from disjuncts(Unary("not", b))
        case Unary(op="not", operand=Unary(op="not", operand=a)):
            yield from disjuncts(a)
        case _:
            yield cond


def conjunction(conditions: Sequence[Expr]) -> Expr:
    """All of some conditions, of which there is at least one."""
    return reduce(lambda a, b: Binary("and", a, b), conditions)


def negate(cond: Expr) -> Expr:
    """`not cond`, pushed into integer comparisons and connectives."""
    match cond:
        case Const(value=value):
            return Const(not value, DType.BOOL)
        case Unary(op="not", operand=a):
            return a
        case Binary(op="and", lhs=a, rhs=b):
            return Binary("or", negate(a), negate(b))
        case Binary(op="or", lhs=a, rhs=b):
            return Binary("and", negate(a), negate(b))
        case Binary(op=op, lhs=a, rhs=b) if op in NEGATED and not a.dtype.is_float:
            return Binary(NEGATED[op], a, b)
        case _:
            return Unary("not", cond)


def arbitrary_elements(cond: Expr) -> Iterator[tuple[Load, tuple[Expr, ...]]]:
    """The elements that an assumption says to equal undef, each with conditions of which one may hold instead."""
    match cond:
        case Binary(op="and", lhs=a, rhs=b):
            yield from arbitrary_elements(a)
            yield from arbitrary_elements(b)
        case _:
            parts = list(disjuncts(cond))
            for k, part in enumerate(parts):
                if isinstance(part, Binary) and part.op == "eq":
                    for element, value in ((part.lhs, part.rhs), (part.rhs, part.lhs)):
                        if isinstance(element, Load) and isinstance(value, Undef):
                            yield element, (*parts[:k], *parts[k + 1 :])
