"""Values of integer and boolean expressions at many points at once, on NumPy arrays; and where they are faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ir.arith import unary_function
from ir.dtypes import DType
from ir.nodes import AnyExpr, Binary, Call, Cast, Const, Expr, Load, Select, Unary, Undef, Var
from ir.traverse import walk_expr

Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Faults = npt.NDArray[np.uint8]
Points = Mapping[Var, Array]
Values = dict[Expr, tuple[Array, Faults]]  # of parts of expressions at some points

DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
LARGE = 1 << 40  # beyond it, products of two values might leave the 64 bits that they are computed in
UNDEFINED = 2  # the fault of a divisor that is zero, or a shift outside of its width; 1: leaving the dtype
_KEPT = 200  # parts of expressions whose values are kept
_NONE: npt.NDArray[np.uint8] = np.asarray(0, np.uint8)
_FINE: npt.NDArray[np.bool_] = np.asarray(False)

_EXACT: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "bitand": np.bitwise_and, "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor, "min": np.minimum, "max": np.maximum, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "and": np.logical_and,
    "or": np.logical_or,
}  # fmt: skip


class NoValueError(Exception):
    """The expression depends on data or floats, or has an operator that is not handled."""


def has_values(expr: Expr) -> bool:
    """Whether all that an expression is made of has values at points."""
    return not any(isinstance(e, (Load, Undef, Call)) or e.dtype.is_float for e in walk_expr(expr))


def operate(op: str, x: Array, y: Array, dtype: DType) -> tuple[Array, Mask]:
    """`x op y` for operands of `dtype`, and where that is a fault. Booleans are 0 and 1."""
    if op in _EXACT:
        return _within(_EXACT[op](x, y).astype(np.int64, copy=False), dtype)
    if op in DIVISIONS:
        zero: Mask = y == 0
        divisor = np.where(zero, 1, y)
        if op.startswith("floor"):
            quotient = x // divisor
        else:
            quotient = np.sign(x) * np.sign(divisor) * (np.abs(x) // np.abs(divisor))
        found, bad = _within(quotient if op.endswith("div") else x - quotient * divisor, dtype)
        return found, bad | zero
    if op in ("shl", "shr"):
        outside: Mask = (y < 0) | (y >= dtype.bits)
        by = np.where(outside, 0, y)
        found, bad = _within(x << by if op == "shl" else x >> by, dtype)
        return found, bad | outside
    raise NoValueError(op)


def evaluated(expr: Expr, points: Points, known: Values | None = None) -> tuple[Array, Mask]:
    """The values of an expression, and where evaluating it is a fault; `known` keeps those of its parts.

    Raises:
        NoValueError: it has none.
    """
    values, faults = with_faults(expr, points, {} if known is None else known)
    return values, faults != 0


def with_faults(expr: Expr, points: Points, known: Values | None = None) -> tuple[Array, Faults]:
    """The values of an expression, and the faults of evaluating it.

    Raises:
        NoValueError: it has none.
    """
    known = {} if known is None else known
    if len(known) > _KEPT and expr not in known:
        known.clear()
    if expr not in known:
        known[expr] = _operated(expr, points, known)
    return known[expr]


def _operated(expr: Expr, points: Points, known: Values) -> tuple[Array, Faults]:
    if expr.dtype.is_float:
        raise NoValueError
    match cast(AnyExpr, expr):
        case Const(value=value):
            if abs(int(value)) > LARGE:
                raise NoValueError
            return np.asarray(int(value), np.int64), _NONE
        case Var() as var:
            return points[var], _NONE
        case Select(cond=c, then=a, other=b):
            (test, faults), (x, one), (y, other) = (with_faults(e, points, known) for e in (c, a, b))
            return np.where(test != 0, x, y), faults | np.where(test != 0, one, other)
        case Unary(op=op, operand=a):
            x, faults = with_faults(a, points, known)
            found, out = _unary(op, x, expr.dtype)
            return found, faults | out
        case Cast(dtype=dtype, operand=a):
            x, faults = with_faults(a, points, known)
            return (x != 0).astype(np.int64) if dtype is DType.BOOL else _wrapped(x, dtype), faults
        case Binary(op=op, lhs=a, rhs=b):
            (x, faults), (y, more) = with_faults(a, points, known), with_faults(b, points, known)
            if op in ("and", "or"):  # the right side is evaluated where the left one does not decide
                more = np.where((x != 0) if op == "and" else (x == 0), more, 0)
            found, bad = operate(op, x, y, a.dtype)
            return found, faults | more | _kinds(op, y, bad, a.dtype)
        case Load() | Undef() | Call():
            raise NoValueError


def _kinds(op: str, y: Array, bad: Mask, dtype: DType) -> Faults:
    """Which faults an operation has that has some."""
    if op in DIVISIONS:
        return np.where(y == 0, UNDEFINED, bad).astype(np.uint8)
    if op in ("shl", "shr"):
        return np.where((y < 0) | (y >= dtype.bits), UNDEFINED, bad).astype(np.uint8)
    return bad.astype(np.uint8)


def _unary(op: str, x: Array, dtype: DType) -> tuple[Array, Mask]:
    match op:
        case "not":
            return 1 - x, _FINE
        case "neg":
            return _within(-x, dtype)
        case "abs":
            return _within(np.abs(x), dtype)
        case "bitnot":
            return _within(~x, dtype)
        case "popcount" | "clz":
            function = unary_function(op, dtype)
            return np.array([function(int(v)) for v in x.flat], x.dtype).reshape(x.shape), _FINE
        case _:
            raise NoValueError(op)


def _within(found: Array, dtype: DType) -> tuple[Array, Mask]:
    signed, low, high = _limits(dtype)
    if dtype is DType.BOOL:
        return found, _FINE
    if signed:
        return found, (found < low) | (found > high)
    return _wrapped(found, dtype), _FINE


def _wrapped(found: Array, dtype: DType) -> Array:
    if dtype.bits == 64:
        return found
    _, low, high = _limits(dtype)
    return ((found - low) & (high - low)) + low


@cache
def _limits(dtype: DType) -> tuple[bool, int, int]:
    """Whether a dtype has a sign, its least and its greatest value."""
    return dtype.is_signed, int(dtype.min), int(dtype.max)
