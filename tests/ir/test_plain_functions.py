"""Functions of NumPy and `math` that are several operations in a program, and arrays that are made of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import loopsat
from ir.errors import LoopsatError
from plain_runs import assert_same, read, run
from profiles import few

X = np.array([0.0, 0.0, 1.0, -1.0, 3e30, 1e-30, -5.0, 5.0, 1e-6, 0.9], np.float32)
Y = np.array([0.0, 1.0, 0.0, 0.0, 4e30, 1e-30, -5.0, -5.0, 2e-6, -0.3], np.float32)
WHOLE = np.array([3, -4, 0, 100], np.int32)
BYTES = np.array([3, 4, 0, 250], np.uint8)


def angles(x, y):
    return np.arctan2(y, x), math.atan2(y[1], 2), np.hypot(x, y), math.hypot(3, x[2]), np.degrees(x), np.deg2rad(x)


def exponentials(x, y):
    return np.expm1(x[4:] * np.float32(1e-30)), np.expm1(x[5:]), math.expm1(1e-12), np.log1p(abs(y[5:])), np.exp2(y[5:])


def trigonometry(x, y):
    z = np.clip(y, -0.9, 0.9)
    return np.tan(z), np.sinh(z), np.cosh(z), np.arcsin(z), np.arccos(z), np.arctan(y), math.tan(0.5), np.log2(x[6] + 9)


def signs(a, b):
    return np.sign(a), np.sign(b), np.clip(a, -1, 5), np.clip(b, 1, 5), np.sign(a[1] * 0.5), np.sign(np.float32(0.0))


def ranges(a, b):
    n = len(a)
    up, down = np.arange(2, n + 4), np.arange(10, 0, -3)
    return (
        np.arange(n) + a,
        up,
        down,
        np.arange(n, dtype=np.float32) * 0.5,
        np.arange(0),
        np.arange(5, 2),
        np.arange(1, 9, 3),
    )


def spaced(a, b):
    return (
        np.linspace(0, 1, 11),
        np.linspace(-2.0, a[0], num=6),
        np.linspace(3, 3, 1),
        np.linspace(0, 1, 4, dtype=np.float32),
    )


def unit(a, b):
    n = len(a)
    return np.eye(n), np.identity(3, dtype=np.float32), np.eye(2, n), np.eye(n) @ (a * 0.5)


@pytest.mark.parametrize("args", [(X, Y), (WHOLE, BYTES)], ids=["floats", "integers"])
@pytest.mark.parametrize("function", [angles, exponentials, trigonometry, signs, ranges, spaced, unit])
def test_programs_compute_what_numpy_does(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if function in (angles, exponentials, trigonometry) and args[0] is WHOLE:
        args = (WHOLE.astype("f8").repeat(3), BYTES.astype("f8").repeat(3))
    assert_same(run(function, args), function(*args))


def polar(x, y):
    return np.hypot(x, y), np.arctan2(y, x), np.expm1(x)


FLOATS = st.floats(-80, 80, width=32) | st.floats(-(2.0**-10), 2.0**-10, width=32)


@few(20)
@given(arrays(np.float32, 5, elements=FLOATS), arrays(np.float32, 5, elements=FLOATS))
def test_composed_functions_lose_no_digits(x: np.ndarray, y: np.ndarray) -> None:
    wide = polar(x.astype("f8") + 0.0, y.astype("f8") + 0.0)
    for found, wanted in zip(run(polar, (x, y)), wide, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-37)


def numbers_only(a):
    return sum(1 for v in a if not np.isnan(v))


def test_what_is_no_number_is_asked_where_floats_are_strict() -> None:
    args = (np.array([1.0, np.nan, 3.0]),)
    assert int(np.asarray(loopsat.jit(numbers_only, floats="strict")(*args))) == 2
    with pytest.raises(LoopsatError, match="strict") as error:
        loopsat.jit(numbers_only)(*args)
    assert "^" in str(error.value)


def of_floats(a):
    return np.arange(0, a[0], 0.5)


def unknown_step(a):
    return np.arange(0, 9, a[0])


def unknown_count(a):
    return np.linspace(0, 1, a[0])


@pytest.mark.parametrize("function", [of_floats, unknown_step, unknown_count])
def test_what_cannot_be_made_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(LoopsatError) as error:
        read(function, (WHOLE,))
    assert error.value.code == "unsupported" and "^" in str(error.value)
