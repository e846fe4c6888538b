"""Scalar arithmetic of the language: the one definition that the interpreter, constant folding and tests share.

Values are Python bools, ints and floats. Signed integers are mathematical and leaving their width is a fault; unsigned
ones wrap; floats are computed in their own precision: exactly or in double, and rounded once to nearest even.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from ir.dtypes import DType, Kind

Scalar = bool | int | float


class ArithmeticFault(Exception):
    """An operation has no value; `kind` is `division-by-zero`, `overflow`, `shift` or `power`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


# Asked for each operation that the interpreter runs, so not derived from names again and again.
_RANGE = {d: (d.min, d.max) for d in DType if not d.is_float}


def in_range(value: int, dtype: DType) -> int:
    """An integer result in its dtype: wrapped if unsigned.

    Raises:
        ArithmeticFault: a signed result leaves its width.
    """
    low, high = _RANGE[dtype]
    if low <= value <= high:
        return value
    if dtype.kind is Kind.UINT:
        return value & dtype.max
    raise ArithmeticFault("overflow", f"{value} leaves {dtype}")


# Significant bits and the exponent of the smallest positive value, for the types that ctypes cannot round to.
_NARROW = {DType.FLOAT16: (11, -24), DType.BFLOAT16: (8, -133)}
_LARGEST = {DType.FLOAT16: 65504.0, DType.BFLOAT16: float.fromhex("0x1.fep127")}


def rounded(value: float, dtype: DType) -> float:
    """The nearest value of a float dtype, ties to even; infinite beyond its range.

    After `+ - * /` and `sqrt` of operands of a narrower dtype in double this equals rounding the exact result, since a
    double has more than twice as many bits (Figueroa, "When is double rounding innocuous?", 1995).
    """
    if dtype is DType.FLOAT64 or not math.isfinite(value):
        return float(value)
    if dtype is DType.FLOAT32:
        return ctypes.c_float(value).value
    if abs(value) > 2 * _LARGEST[dtype]:
        return math.copysign(math.inf, value)
    bits, lowest = _NARROW[dtype]
    unit = max(math.frexp(value)[1] - bits, lowest)
    nearest = math.copysign(math.ldexp(round(math.ldexp(value, -unit)), unit), value)
    return nearest if abs(nearest) <= _LARGEST[dtype] else math.copysign(math.inf, value)


def shortest(value: float, dtype: DType) -> float:
    """The number of fewest digits that a float dtype rounds to what it rounds `value` to: that is how one writes it.

    Whole numbers stay as they are.
    """
    wanted = rounded(value, dtype)
    if dtype is DType.FLOAT64 or not math.isfinite(wanted) or wanted.is_integer():
        return wanted
    found = (float(f"{wanted:.{digits}g}") for digits in range(1, 17))
    return next((short for short in found if rounded(short, dtype) == wanted), value)


def fold_binary(op: str, a: Scalar, b: Scalar, dtype: DType) -> Scalar:
    """`a op b` for operands of `dtype`.

    Comparisons and logic give a bool, everything else a value of `dtype`.

    Raises:
        ArithmeticFault: integer division by zero, signed overflow, a shift or power out of range.
    """
    return binary_function(op, dtype)(a, b)


@cache
def binary_function(op: str, dtype: DType) -> Callable[[Scalar, Scalar], Scalar]:
    """`fold_binary` of an operator on a dtype, for whoever needs it many times."""
    if op in _COMPARE:
        return _COMPARE[op]
    if op == "and":
        return lambda a, b: bool(a) and bool(b)
    if op == "or":
        return lambda a, b: bool(a) or bool(b)
    if op in ("min", "max"):
        return partial(_extremum, op)
    if dtype.is_float:
        return _float_function(op, dtype)
    exact = _EXACT.get(op)
    if exact is None:
        return lambda a, b: _integer(op, int(a), int(b), dtype)
    return lambda a, b: in_range(exact(int(a), int(b)), dtype)


_COMPARE: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _extremum(op: str, a: Scalar, b: Scalar) -> Scalar:
    if a != a or b != b:
        return float("nan")
    return (a if a <= b else b) if op == "min" else (a if a >= b else b)


def _float_function(op: str, dtype: DType) -> Callable[[Scalar, Scalar], Scalar]:
    if op in _EXACT_FLOAT:
        exact = _EXACT_FLOAT[op]
        return lambda a, b: rounded(exact(float(a), float(b)), dtype)
    if op == "div":
        return lambda a, b: rounded(_quotient(float(a), float(b)), dtype)
    if op == "pow":
        return lambda a, b: rounded(_real_power(float(a), float(b)), dtype)
    if op in _OF_POINTS:
        function = _OF_POINTS[op]
        return lambda a, b: rounded(float(function(np.float64(a), np.float64(b))), dtype)
    raise ValueError(f"{op} is not an operator of floats")


_EXACT_FLOAT: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}


_OF_POINTS: dict[str, Callable[[np.float64, np.float64], np.float64]] = {"atan2": np.arctan2, "hypot": np.hypot}


def _quotient(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _real_power(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(a), np.float64(b)))


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
    raise ValueError(f"{op} is not an operator of integers")


_EXACT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
}


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _power(a: int, b: int, dtype: DType) -> int:
    if dtype.kind is Kind.UINT:
        return pow(a, b, dtype.max + 1)
    if abs(a) > 1 and b > dtype.bits:  # before computing it: the exact result may not fit in memory
        raise ArithmeticFault("overflow", f"{a} to the power {b} leaves {dtype}")
    return int(a ** (b if abs(a) > 1 else min(b, 2 + b % 2)))


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
        case "popcount":
            return _bits(a, dtype).bit_count()
        case "clz":
            return dtype.bits - _bits(a, dtype).bit_length()
        case _:
            if op not in _FLOAT_UNARY:
                raise ValueError(f"{op} is not an operator of one operand")
            with np.errstate(all="ignore"):
                return rounded(float(_FLOAT_UNARY[op](np.float64(a))), dtype)


def _bits(a: Scalar, dtype: DType) -> int:
    """An integer as its bits in two's complement."""
    return int(a) & ((1 << dtype.bits) - 1)


_FLOAT_UNARY: dict[str, Callable[[np.float64], float]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "erf": math.erf,
    "sigmoid": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
}


def unary_function(op: str, dtype: DType) -> Callable[[Scalar], Scalar]:
    """`fold_unary` of an operator on a dtype."""
    return lambda a: fold_unary(op, a, dtype)


def cast_function(source: DType, target: DType) -> Callable[[Scalar], Scalar]:
    """`fold_cast` between two dtypes."""
    return lambda a: fold_cast(a, source, target)


def fold_cast(value: Scalar, source: DType, target: DType) -> Scalar:
    """Convert: integers wrap when narrowed, floats truncate toward zero, and what is not zero is true.

    Raises:
        ArithmeticFault: a float that no integer of the target equals after truncation.
    """
    if target is DType.BOOL:
        return value != 0
    if target.is_float:
        return rounded(float(value if target is DType.FLOAT64 else _sticky(value)), target)
    if source.is_float:
        if not math.isfinite(value) or not target.min <= int(value) <= target.max:
            raise ArithmeticFault("overflow", f"{value} has no {target}")
        return int(value)
    wrapped = int(value) & ((1 << target.bits) - 1)
    return wrapped - (1 << target.bits) if target.is_signed and wrapped > target.max else wrapped


def _sticky(value: Scalar) -> Scalar:
    """A number that a double holds and that narrower types round as they do `value`: its last bit notes what is cut."""
    if isinstance(value, float) or abs(value) < 1 << 53:
        return value
    return value >> 11 << 11 | (bool(value & 0x7FF) << 11)
