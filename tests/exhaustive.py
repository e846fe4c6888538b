"""Expressions over all values of their variables at once, on arrays: faults and wrapping as `ir.arith` says.

Values are int64, which hold all that operations on 8-bit operands give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never, cast

import numpy as np

from ir.arith import unary_function
from ir.dtypes import DType
from ir.nodes import BIT_COUNTS, AnyExpr, Binary, Call, Cast, Const, Expr, Load, Select, Unary, Undef, Var

# What goes wrong where little is drawn: the limits of 8 bits, their halves, and what is next to zero.
SIGNED_EDGES = (-128, -127, -126, -65, -64, -63, -9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 63, 64, 65, 126, 127)
UNSIGNED_EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 63, 64, 65, 126, 127, 128, 129, 130, 191, 192, 193, 254, 255)


class Grid:
    """All combinations of values of some variables, along an axis each."""

    def __init__(self, values: Mapping[Var, Iterable[int]]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        for k, (var, found) in enumerate(values.items()):
            line = np.array(list(found), dtype=bool if var.dtype is DType.BOOL else np.int64)
            self.arrays[var.name] = line.reshape([-1 if n == k else 1 for n in range(len(values))])

    def value(self, expr: Expr) -> tuple[np.ndarray, np.ndarray]:
        """The value of an expression, and where evaluating it is a fault."""
        with np.errstate(all="ignore"):
            return self._value(expr)

    def _value(self, expr: Expr) -> tuple[np.ndarray, np.ndarray]:
        match cast(AnyExpr, expr):
            case Const(value=value):
                return np.array(value), np.array(False)
            case Var(name=name):
                return self.arrays[name], np.array(False)
            case Unary(op=op, operand=a):
                x, bad = self._value(a)
                counts = {op: np.vectorize(unary_function(op, a.dtype), otypes=[np.int64]) for op in BIT_COUNTS}
                found = {"not": np.logical_not, "neg": np.negative, "abs": np.abs, "bitnot": np.invert, **counts}[op](x)
                return (found, bad) if expr.dtype is DType.BOOL else _within(found, bad, expr.dtype)
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                (x, bad), (y, worse) = self._value(a), self._value(b)
                needed = x if op == "and" else ~x
                return (x & y if op == "and" else x | y), bad | (worse & needed)
            case Select(cond=c, then=a, other=b):
                (test, bad), (x, bad_x), (y, bad_y) = self._value(c), self._value(a), self._value(b)
                return np.where(test, x, y), bad | np.where(test, bad_x, bad_y)
            case Cast(dtype=dtype, operand=a):
                x, bad = self._value(a)
                return (x != 0, bad) if dtype is DType.BOOL else (_wrapped(x.astype(np.int64), dtype), bad)
            case Binary(op=op, lhs=a, rhs=b):
                (x, bad), (y, worse) = self._value(a), self._value(b)
                return _operation(op, x, y, bad | worse, a.dtype)
            case Load() | Undef() | Call():
                raise NotImplementedError
            case other:
                assert_never(other)


def values_of(dtype: DType, *, few: bool) -> Iterable[int]:
    """All values of an 8-bit dtype, or those at which something changes."""
    if dtype is DType.BOOL:
        return (0, 1)
    if few:
        return SIGNED_EDGES if dtype.is_signed else UNSIGNED_EDGES
    return range(dtype.min, dtype.max + 1)


def _operation(op: str, x: np.ndarray, y: np.ndarray, bad: np.ndarray, dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
    if op in compare or op == "ge":
        return compare.get(op, np.greater_equal)(x, y), bad
    if op in ("min", "max"):
        return (np.minimum if op == "min" else np.maximum)(x, y), bad
    if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        bad = bad | (y == 0)
        divisor = np.where(y == 0, 1, y)
        quotient = x // divisor if op.startswith("floor") else np.sign(x) * np.sign(divisor) * (abs(x) // abs(divisor))
        return _within(quotient, bad, dtype) if op.endswith("div") else (x - quotient * divisor, bad)
    if op in ("shl", "shr"):
        bad = bad | (y < 0) | (y >= dtype.bits)
        by = np.clip(y, 0, dtype.bits - 1)
        return _within(x << by, bad, dtype) if op == "shl" else (x >> by, bad)
    if op == "pow":
        bad = bad | (y < 0)
        return _within(x ** np.clip(y, 0, 1), bad | (y > 1), dtype)  # the only exponents that rules have
    exact = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "bitand": np.bitwise_and, "bitor": np.bitwise_or,
        "bitxor": np.bitwise_xor,
    }  # fmt: skip
    return _within(exact[op](x, y), bad, dtype)


def _within(found: np.ndarray, bad: np.ndarray, dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    if dtype.is_signed:
        return found, bad | (found < dtype.min) | (found > dtype.max)
    return _wrapped(found, dtype), bad


def _wrapped(found: np.ndarray, dtype: DType) -> np.ndarray:
    return (found - dtype.min) % (dtype.max - dtype.min + 1) + dtype.min if dtype.bits < 64 else found


def difference(old: Expr, new: Expr, grid: Grid, given: Iterable[Expr] = ()) -> dict[str, int] | None:
    """Values at which `old` is no fault and `new` is one, or differs; only where all of `given` hold."""
    (x, bad), (y, worse) = grid.value(old), grid.value(new)
    wrong = ~bad & (worse | (x != y))
    for cond in given:
        holds, fault = grid.value(cond)
        wrong = wrong & holds & ~fault
    shape = np.broadcast_shapes(*(a.shape for a in grid.arrays.values()), wrong.shape)
    found = np.argwhere(np.broadcast_to(wrong, shape))
    if not len(found):
        return None
    return {name: np.broadcast_to(a, shape)[tuple(found[0])].item() for name, a in grid.arrays.items()}
