"""Bounds on values, given bounds on what buffers hold.

Bounds of floats say that a value is a number too. They are -1, 0, 1 or infinite, which every dtype can represent, so
that rounding, which keeps order, never leads beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Protocol

from msgspec import Struct

from ir.analysis.dependence import Statement
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Select, Unary, Var

Bounds = tuple[float, float]  # the least and the greatest value


class Assumed(Protocol):
    """What is assumed of the elements of buffers, and of variables."""

    def get(self, key: Any, /) -> Bounds | None: ...


# What functions give for any number.
_IMAGES: Mapping[str, Bounds] = {
    "exp": (0.0, math.inf), "exp2": (0.0, math.inf), "sqrt": (0.0, math.inf), "rsqrt": (0.0, math.inf),
    "tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "sin": (-1.0, 1.0), "cos": (-1.0, 1.0), "erf": (-1.0, 1.0),
}  # fmt: skip
_STEPS = (-math.inf, -1.0, 0.0, 1.0, math.inf)


def holds(condition: Expr, assumed: Assumed) -> bool:
    """Whether a comparison certainly holds."""
    match condition:
        case Binary(op="ge", lhs=a, rhs=b):
            low, high = bounds(a, assumed), bounds(b, assumed)
            return low is not None and high is not None and low[0] >= high[1]
        case Binary(op="le", lhs=a, rhs=b):
            return holds(Binary("ge", b, a), assumed)
        case _:
            return False


def kept(statements: Iterable[Statement], assumed: Mapping[Buffer, Bounds]) -> dict[Buffer, Bounds]:
    """The assumptions that hold after any of the statements if they did before, dropped one by one."""
    found, todo = dict(assumed), [s for s in statements if s.buffer in assumed]
    while True:
        broken = {s.buffer for s in todo if s.buffer in found and not _within(s.store.value, found[s.buffer], found)}
        if not broken:
            return found
        found = {b: box for b, box in found.items() if b not in broken}


def _within(value: Expr, box: Bounds, assumed: Assumed) -> bool:
    found = bounds(value, assumed)
    return found is not None and box[0] <= found[0] and found[1] <= box[1]


class AnyNumbers(Struct, frozen=True):
    """Everything that is read is some number, under a policy by which floats are; variables have ranges."""

    ranges: Mapping[Var, Bounds]

    def get(self, key: Any, /) -> Bounds:
        return self.ranges.get(key, (-math.inf, math.inf))


def bounds(expr: Expr, assumed: Assumed) -> Bounds | None:
    """The least and the greatest value of an expression without faults; None where it may be anything, or no number."""
    found = _bounds(expr, assumed)
    if expr.dtype is DType.BOOL:
        return None
    if expr.dtype.is_float:
        return None if found is None or any(map(math.isnan, found)) else _outward(found)
    limits = float(expr.dtype.min), float(expr.dtype.max)
    return limits if found is None else (max(found[0], limits[0]), min(found[1], limits[1]))


def _outward(found: Bounds) -> Bounds:
    return max(s for s in _STEPS if s <= found[0]), min(s for s in _STEPS if s >= found[1])


def _bounds(expr: Expr, assumed: Assumed) -> Bounds | None:
    match expr:
        case Const(value=value):
            return float(value), float(value)
        case Load(buffer=buffer):
            return assumed.get(buffer)
        case Var():
            return assumed.get(expr)
        case Unary(op=op, operand=a) if op in _IMAGES and expr.dtype.is_float:
            return None if bounds(a, assumed) is None else _IMAGES[op]
        case Unary(op="neg", operand=a) if not _wraps(expr):
            found = bounds(a, assumed)
            return None if found is None else (-found[1], -found[0])
        case Unary(op="abs", operand=a):
            found = bounds(a, assumed)
            return None if found is None else (0.0, max(abs(found[0]), abs(found[1])))
        case Select(then=a, other=b):
            left, right = bounds(a, assumed), bounds(b, assumed)
            return None if left is None or right is None else (min(left[0], right[0]), max(left[1], right[1]))
        case Binary(op="floormod", rhs=Const(value=int() as number)) if expr.dtype.is_integer and number > 0:
            return 0.0, number - 1.0
        case Binary(op="bitand", rhs=Const(value=int() as mask)) if mask >= 0:
            return 0.0, float(mask)
        case Binary(op=op, lhs=a, rhs=b):
            left, right = bounds(a, assumed), bounds(b, assumed)
            if left is None or right is None:
                return None
            return _quotient(left, right) if op == "div" else _operation(op, left, right, _wraps(expr))
        case Cast(operand=a) if a.dtype is DType.BOOL:
            return 0.0, 1.0
        case Cast(dtype=dtype, operand=a) if dtype.is_float and a.dtype.is_integer:
            return bounds(a, assumed)
        case Cast(dtype=dtype, operand=a) if _widens(a.dtype, dtype):
            return bounds(a, assumed)
        case Cast(dtype=dtype, operand=a) if dtype.is_float == a.dtype.is_float and dtype.is_signed and not _wraps(a):
            return bounds(a, assumed) if dtype.bits >= a.dtype.bits else None
        case _:
            return None


def _widens(a: DType, b: DType) -> bool:
    """Whether all integers of a type are integers of another one."""
    return a.is_integer and b.is_integer and a.min >= b.min and a.max <= b.max


def _wraps(expr: Expr) -> bool:
    """Whether arithmetic that leaves the dtype is no fault but wraps."""
    return not (expr.dtype.is_float or expr.dtype.is_signed)


def _operation(op: str, a: Bounds, b: Bounds, wraps: bool) -> Bounds | None:
    match op:
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "add" if not wraps:
            return _sum(a, b)
        case "sub" if not wraps:
            return _sum(a, (-b[1], -b[0]))
        case "mul" if not wraps:
            corners = [x * y for x, y in product(a, b)]
            unbounded = any(map(math.isinf, (*a, *b))) and (a[0] <= 0 <= a[1] or b[0] <= 0 <= b[1])
            return None if unbounded else (min(corners), max(corners))  # zero times infinity is no number
        case _:
            return None


def _quotient(a: Bounds, b: Bounds) -> Bounds | None:
    if b[0] <= 0 or not all(map(math.isfinite, (*a, b[0]))):
        return None
    corners = [x / y for x, y in product(a, b)]
    return min(corners), max(corners)


def _sum(a: Bounds, b: Bounds) -> Bounds | None:
    if (a[0] == -math.inf and b[1] == math.inf) or (a[1] == math.inf and b[0] == -math.inf):
        return None  # infinities that cancel are no number
    return a[0] + b[0], a[1] + b[1]
