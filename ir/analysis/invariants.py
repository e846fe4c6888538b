"""Bounds that stores keep: what an accumulator can become, from the number that it starts with.

By induction over the stores to a buffer: each leaves its element on one side of a number, and defined, if it was so
before, by what it stores, or by the comparison with the element that decides about it, as in searches. Of floats this
holds as long as nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Literal

from msgspec import Struct

from ir.analysis.definedness import is_defined
from ir.dtypes import DType
from ir.nodes import BIT_COUNTS, MIRRORED, Binary, Buffer, Cast, Const, Expr, If, Load, Select, Stmt, Store, Unary
from ir.traverse import buffers_read, buffers_written, conjuncts_of, map_expr, stmt_children

Side = Literal["ge", "le"]
_TOWARD: dict[Side, tuple[str, ...]] = {"ge": ("gt", "ge", "eq"), "le": ("lt", "le", "eq")}
_NOT_NEGATIVE = ("abs", "exp", "sqrt", "sigmoid", *BIT_COUNTS)


def keeps(stmt: Stmt, buffer: Buffer, side: Side, number: Const, defined: Collection[Buffer]) -> bool:
    """Whether no store of a statement moves an element of a buffer past a number that it was not past.

    Nor may one make it arbitrary: besides the element, values read `defined` buffers only.
    """
    return all(
        any(_tells(c, s.value, side, _element_of(s)) for c in conditions)
        or leaves(s, side, number, defined, _element_of(s))
        for s, conditions in _stores(stmt, buffer, ())
    )


def _stores(stmt: Stmt, buffer: Buffer, around: tuple[Expr, ...]) -> Iterator[tuple[Store, tuple[Expr, ...]]]:
    """The stores to a buffer, and the conditions around each that still say of what it stores what they said when they
    were asked."""
    match stmt:
        case Store():
            if stmt.buffer == buffer:
                yield stmt, around
        case If(cond=cond, then=then, other=other):
            written = buffers_written(then)
            told = tuple(c for c in conjuncts_of(cond) if _values_stay(c, buffer, written))
            yield from _stores(then, buffer, (*around, *told))
            yield from _stores(other, buffer, around)
        case _:
            for part in stmt_children(stmt):
                yield from _stores(part, buffer, around)


def _values_stay(cond: Expr, buffer: Buffer, written: Collection[Buffer]) -> bool:
    """Whether nothing changes what a comparison with an element of a buffer compares it with, nor which one that is."""
    if not isinstance(cond, Binary):
        return False
    own = [e for e in (cond.lhs, cond.rhs) if isinstance(e, Load) and e.buffer == buffer]
    read = [i for e in own for i in e.indices] if len(own) == 1 else []
    others = [e for e in (cond.lhs, cond.rhs) if e is not own[0]] if len(own) == 1 else [cond]
    return buffers_read(*read, *others).isdisjoint({buffer, *written})


def _tells(cond: Expr, value: Expr, side: Side, within: Callable[[Load], bool]) -> bool:
    """Whether a condition says that a value is on one side of an element that is `within` the bound; so is no NaN."""
    for c in (c for c in conjuncts_of(cond) if isinstance(c, Binary) and c.op in MIRRORED):
        for op, one, other in ((c.op, c.lhs, c.rhs), (MIRRORED[c.op], c.rhs, c.lhs)):
            if op in _TOWARD[side] and one.same(value) and isinstance(other, Load) and within(other):
                return True
    return False


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
            case Select(cond=cond, then=a, other=b):
                return (_tells(cond, a, self.side, self.within) or self.holds(a)) and self.holds(b)
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
