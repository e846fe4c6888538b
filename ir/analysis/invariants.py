"""Bounds that stores keep: what an accumulator can become, from the number that it starts with.

By induction over the stores to a buffer: each leaves its element on one side of a number, and defined, if it was so
before. Of floats this holds as long as nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from msgspec import Struct

from ir.analysis.definedness import is_defined
from ir.dtypes import DType
from ir.nodes import BIT_COUNTS, Binary, Buffer, Cast, Const, Expr, Load, Select, Stmt, Store, Unary
from ir.traverse import map_expr, stores_in

Side = Literal["ge", "le"]
_NOT_NEGATIVE = ("abs", "exp", "sqrt", "sigmoid", *BIT_COUNTS)


def keeps(stmt: Stmt, buffer: Buffer, side: Side, number: Const, defined: Collection[Buffer]) -> bool:
    """Whether no store of a statement moves an element of a buffer past a number that it was not past.

    Nor may one make it arbitrary: besides the element, values read `defined` buffers only.
    """
    return all(leaves(s, side, number, defined, _element_of(s)) for s in stores_in(stmt) if s.buffer == buffer)


def leaves(
    store: Store, side: Side, number: Const, defined: Collection[Buffer], within: Callable[[Load], bool]
) -> bool:
    """Whether what a store writes is on one side of a number, and defined, if the elements are that it has `within`."""

    def put_in(expr: Expr) -> Expr:
        return number if isinstance(expr, Load) and within(expr) else expr

    bound = _Bound(side, number, within)
    return bound.holds(store.value) and is_defined(map_expr(store.value, put_in), defined)


def _element_of(store: Store) -> Callable[[Load], bool]:
    return Load(store.buffer, store.indices).same


class _Bound(Struct, frozen=True):
    """A bound of a value, where some elements that it reads are within it."""

    side: Side
    number: Const
    within: Callable[[Load], bool]

    def holds(self, value: Expr) -> bool:
        either, both = ("max", "min") if self.side == "ge" else ("min", "max")
        match value:
            case Const(value=v):
                return v >= self.number.value if self.side == "ge" else v <= self.number.value
            case Load() if self.within(value):
                return True
            case Binary(op=op, lhs=a, rhs=b) if op == either:
                return self.holds(a) or self.holds(b)
            case Binary(op=op, lhs=a, rhs=b) if op == both:
                return self.holds(a) and self.holds(b)
            case Binary(op="add", lhs=a, rhs=b) if value.dtype.is_signed or value.dtype.is_float:
                up = self.side == "ge"
                return (self.holds(a) and _has_sign(b, up=up)) or (self.holds(b) and _has_sign(a, up=up))
            case Binary(op="sub", lhs=a, rhs=b) if value.dtype.is_signed or value.dtype.is_float:
                return self.holds(a) and _has_sign(b, up=self.side == "le")
            case Select(then=a, other=b):
                return self.holds(a) and self.holds(b)
            case _:
                beyond = self.number.value <= 0 if self.side == "ge" else self.number.value >= 0
                return beyond and _has_sign(value, up=self.side == "ge")


def _has_sign(expr: Expr, *, up: bool) -> bool:
    """Whether an expression is never negative (`up`), or never positive, by its form alone."""
    match expr:
        case Const(value=v):
            return v >= 0 if up else v <= 0
        case Cast(operand=a) if a.dtype is DType.BOOL:
            return up
        case Cast(dtype=dtype, operand=a) if a.dtype.is_integer or dtype.is_float:
            wide = dtype.is_float or (dtype.min <= a.dtype.min and a.dtype.max <= dtype.max)
            return wide and _has_sign(a, up=up)
        case Binary(op="mul" | "div" as op, lhs=a, rhs=b) if expr.dtype.is_signed or expr.dtype.is_float:
            square = up and op == "mul" and a.same(b)
            return square or any(_has_sign(a, up=one) and _has_sign(b, up=one == up) for one in (True, False))
        case Binary(op="add" | "max" | "min" as op, lhs=a, rhs=b) if expr.dtype.is_signed or expr.dtype.is_float:
            signs = _has_sign(a, up=up), _has_sign(b, up=up)
            return any(signs) if op == ("max" if up else "min") else all(signs)
        case Select(then=a, other=b):
            return _has_sign(a, up=up) and _has_sign(b, up=up)
        case Unary(op="neg", operand=a) if expr.dtype.is_signed or expr.dtype.is_float:
            return _has_sign(a, up=not up)
        case Unary(op=op) if op in _NOT_NEGATIVE:
            return up
        case _:
            return up and expr.dtype.is_integer and not expr.dtype.is_signed
