"""`loopsat.jit`: what NumPy computes by running the function itself."""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np
import pytest

import loopsat
from plain_programs import PROGRAMS


def expected(function: Any, arguments: tuple[Any, ...]) -> Any:
    """What Python computes; a function that returns nothing returns what it stores to."""
    own = copy.deepcopy(arguments)
    found = function(*own)
    if found is not None:
        return found
    changed = [a for a, b in zip(own, arguments, strict=True) if isinstance(a, np.ndarray) and not np.array_equal(a, b)]
    return changed[0] if len(changed) == 1 else tuple(changed)


def assert_same(found: Any, wanted: Any) -> None:
    """Results agree in form, shape and kind of dtype, and within rounding."""
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b)
        return
    wanted = np.asarray(wanted)
    assert isinstance(found, jax.Array)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    tolerance = 1e-5 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_computes(function: Any, arguments: Any) -> None:
    given = arguments(np.random.default_rng(0))
    before = copy.deepcopy(given)
    assert_same(loopsat.jit(function)(*given), expected(function, given))
    for a, b in zip(given, before, strict=True):
        np.testing.assert_array_equal(a, b)
