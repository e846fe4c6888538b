"""Scalar arithmetic of the language: the one definition that the interpreter, constant folding and tests share.

Values are Python bools, ints and floats. Signed integers are mathematical and leaving their width is a fault; unsigned
ones wrap; floats are computed in their own precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ir.dtypes import DType, Kind

Scalar = bool | int | float


class ArithmeticFault(Exception):
    """An operation has no value; `kind` is `division-by-zero`, `overflow`, `shift` or `power`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def in_range(value: int, dtype: DType) -> int:
    """An integer result in its dtype: wrapped if unsigned.

    Raises:
        ArithmeticFault: a signed result leaves its width.
    """
    if dtype.min <= value <= dtype.max:
        return value
    if dtype.kind is Kind.UINT:
        return value & dtype.max
    raise ArithmeticFault("overflow", f"{value} leaves {dtype}")


def rounded(value: float, dtype: DType) -> float:
    """A float in the precision of its dtype."""
    if dtype is DType.FLOAT64:
        return float(value)
    with np.errstate(all="ignore"):
        return float(dtype.numpy.type(value))


def fold_binary(op: str, a: Scalar, b: Scalar, dtype: DType) -> Scalar:
    """`a op b` for operands of `dtype`.

    Raises:
        ArithmeticFault: division by zero, signed overflow, a shift or power out of range.
    """
    if op in _COMPARE:
        return _COMPARE[op](a, b)
    if op == "and":
        return bool(a) and bool(b)
    if op == "or":
        return bool(a) or bool(b)
    if op in ("min", "max"):
        return _extremum(op, a, b)
    return _float(op, float(a), float(b), dtype) if dtype.is_float else _integer(op, int(a), int(b), dtype)


_COMPARE: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _extremum(op: str, a: Scalar, b: Scalar) -> Scalar:
    if a != a or b != b:
        return float("nan")
    return (a if a <= b else b) if op == "min" else (a if a >= b else b)


def _float(op: str, a: float, b: float, dtype: DType) -> float:
    kind = np.float64 if dtype is DType.FLOAT64 else np.float32
    # Narrow types compute in float32 and round once more, which is exact for a single operation.
    x, y = kind(a), kind(b)
    with np.errstate(all="ignore"):
        match op:
            case "add":
                value = x + y
            case "sub":
                value = x - y
            case "mul":
                value = x * y
            case "div":
                value = x / y
            case "pow":
                value = np.power(x, y)
            case _:
                raise ValueError(f"{op} is not an operator of floats")
    return rounded(float(value), dtype)


def _integer(op: str, a: int, b: int, dtype: DType) -> int:
    if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        if b == 0:
            raise ArithmeticFault("division-by-zero", f"{a} divided by zero")
        quotient = a // b if op.startswith("floor") else _truncated(a, b)
        return in_range(quotient, dtype) if op.endswith("div") else a - quotient * b
    if op in ("shl", "shr"):
        if not 0 <= b < dtype.bits:
            raise ArithmeticFault("shift", f"shift by {b} of a {dtype}")
        return in_range(a << b, dtype) if op == "shl" else a >> b
    if op == "pow":
        if b < 0:
            raise ArithmeticFault("power", f"{a} to the negative power {b}")
        return in_range(_power(a, b, dtype), dtype)
    exact = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "bitand": lambda: a & b,
        "bitor": lambda: a | b,
        "bitxor": lambda: a ^ b,
    }
    if op not in exact:
        raise ValueError(f"{op} is not an operator of integers")
    return in_range(exact[op](), dtype)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _power(a: int, b: int, dtype: DType) -> int:
    if dtype.kind is Kind.UINT:
        return pow(a, b, dtype.max + 1)
    if abs(a) > 1 and b > dtype.bits:
        raise ArithmeticFault("overflow", f"{a} to the power {b} leaves {dtype}")
    return int(a**b) if abs(a) > 1 else (1 if b % 2 == 0 else a) if a == -1 else int(a**b)


def fold_unary(op: str, a: Scalar, dtype: DType) -> Scalar:
    """`op a`.

    Raises:
        ArithmeticFault: negation or absolute value leaves the width.
    """
    match op:
        case "not":
            return not a
        case "neg":
            return -float(a) if dtype.is_float else in_range(-int(a), dtype)
        case "abs":
            return abs(float(a)) if dtype.is_float else in_range(abs(int(a)), dtype)
        case "bitnot":
            return ~int(a) if dtype.is_signed else ~int(a) & dtype.max
        case _:
            return rounded(_FLOAT_UNARY[op](float(a), np.float64 if dtype is DType.FLOAT64 else np.float32), dtype)


def _numpy(fn: Callable[..., object]) -> Callable[[float, type], float]:
    def apply(a: float, kind: type) -> float:
        with np.errstate(all="ignore"):
            return float(fn(kind(a)))  # pyright: ignore[reportArgumentType]

    return apply


def _sigmoid(a: float, kind: type) -> float:
    with np.errstate(all="ignore"):
        one = kind(1.0)
        return float(one / (one + np.exp(-kind(a))))


def _rsqrt(a: float, kind: type) -> float:
    with np.errstate(all="ignore"):
        return float(kind(1.0) / np.sqrt(kind(a)))


_FLOAT_UNARY: dict[str, Callable[[float, type], float]] = {
    "exp": _numpy(np.exp),
    "log": _numpy(np.log),
    "sqrt": _numpy(np.sqrt),
    "tanh": _numpy(np.tanh),
    "sin": _numpy(np.sin),
    "cos": _numpy(np.cos),
    "floor": _numpy(np.floor),
    "ceil": _numpy(np.ceil),
    "rsqrt": _rsqrt,
    "erf": lambda a, _kind: math.erf(a),
    "sigmoid": _sigmoid,
}


def fold_cast(value: Scalar, source: DType, target: DType) -> Scalar:
    """Convert: integers wrap when narrowed, floats truncate toward zero.

    Raises:
        ArithmeticFault: a float that no integer of the target equals after truncation.
    """
    if target is DType.BOOL:
        return value != 0
    if target.is_float:
        return rounded(float(value), target)
    if source.is_float:
        if not math.isfinite(value) or not target.min <= int(value) <= target.max:
            raise ArithmeticFault("overflow", f"{value} has no {target}")
        return int(value)
    wrapped = int(value) & ((1 << target.bits) - 1)
    return wrapped - (1 << target.bits) if target.is_signed and wrapped > target.max else wrapped
