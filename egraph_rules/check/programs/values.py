"""Constants and array elements that break wrong rules: zero, signs, the ends of ranges, what rounds and overflows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.floats import Floats
from ir.testing.draw import Source

ValueKind = Literal["any", "ends", "uneven"]  # ends: of the range; uneven: floats that round, ends of integers

_SMALL = (0, 1, 2, -1, 3, -2, 4, 5, -3, 7, 8, -4, 6, -7, 16, 10)
_FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0, -0.0, 3.0, -2.25, 0.1, 1.7, 1 / 3)
_HUGE = {DType.FLOAT16: 6e4, DType.BFLOAT16: 3e38, DType.FLOAT32: 3e38, DType.FLOAT64: 1.5e308}


def interesting(dtype: DType, floats: Floats) -> tuple[Scalar, ...]:
    """Values of a dtype, simple ones first; float rules see what the freedoms they declare leave in."""
    if dtype is DType.BOOL:
        return (False, True)
    if dtype.is_float:
        extra: tuple[float, ...] = ()
        if Floats.FINITE not in floats:
            extra += (math.inf, -math.inf, math.nan)
        if Floats.REASSOCIATE not in floats:
            extra += (_HUGE[dtype], -_HUGE[dtype])
        return tuple(rounded(v, dtype) for v in (*_FLOATS, *extra))
    ends = (dtype.max, dtype.min, dtype.max - 1, dtype.min + 1, dtype.max // 2 + 1)
    return tuple(dict.fromkeys(v for v in (*_SMALL, *ends) if dtype.min <= v <= dtype.max))


def uneven(dtype: DType) -> tuple[Scalar, ...]:
    """Floats whose sums and products round."""
    return tuple(rounded(v, dtype) for v in (0.1, 1 / 3, -0.7, 1e4, -1e4, 3.0))


def extreme(dtype: DType, floats: Floats) -> tuple[Scalar, ...]:
    """The values of a dtype that most often tell a wrong rule."""
    if dtype is DType.BOOL:
        return (False, True)
    if dtype.is_float:
        return (0.0, -0.0, *interesting(dtype, floats)[len(_FLOATS) - 1 :])
    return tuple(dict.fromkeys((0, 1, -1 if dtype.is_signed else 2, dtype.max, dtype.min)))


def pick_value(source: Source, dtype: DType, floats: Floats, *, kind: ValueKind = "any") -> Scalar:
    """One of the interesting values, or any small one."""
    if kind == "uneven" and dtype.is_float:
        return source.pick(*uneven(dtype))
    if kind != "any":
        return source.pick(*extreme(dtype, floats))
    if dtype.is_integer and source.flag(4):
        return source.integer(max(dtype.min, -20), 20)
    return source.pick(*interesting(dtype, floats))


def pick_array(
    source: Source, shape: tuple[int, ...], dtype: DType, floats: Floats, *, kind: ValueKind = "any"
) -> npt.NDArray[np.generic]:
    """An array of such values."""
    flat = [pick_value(source, dtype, floats, kind=kind) for _ in range(math.prod(shape))]
    return np.array(flat, dtype.numpy).reshape(shape)
