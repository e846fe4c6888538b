"""The hand-written forms that benchmarks compare with compute what the references say."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from kernel_files import PATHS, bound, load
from kernel_references import REFERENCES
from profiles import some

SEED = 11


def assert_form_agrees(name: str, form: Callable[..., Any], compiled: Callable[..., Any] = lambda f: f) -> None:
    """Compare a form with the reference at the small size."""
    file = load(name)
    sizes = file.sizes["small"]
    inputs = file.inputs(np.random.default_rng(SEED), **sizes)
    wide = any(v.dtype == np.float64 for v in inputs.values())
    reference, names = bound(REFERENCES[name], sizes)
    expected = reference(**{k: inputs[k].astype(float) if inputs[k].dtype.kind == "f" else inputs[k] for k in names})
    function, names = bound(form, sizes)
    before = {k: inputs[k].copy() for k in names}
    with jax.enable_x64(True) if wide else contextlib.nullcontext():
        found = compiled(function)(**{k: inputs[k] for k in names})
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(expected)
    for want, have in zip(expected, found, strict=True):
        assert want.shape == have.shape
        allowed = (1e-11 if wide else 3e-5) * np.abs(want).max() if want.dtype.kind == "f" else 0
        assert np.abs(want - np.asarray(have)).max() <= allowed
    for k, v in before.items():
        assert np.array_equal(v, inputs[k]), f"{k} was changed"


@pytest.mark.parametrize("name", some(PATHS, 1))
def test_forms_in_jax(name: str) -> None:
    forms = importlib.import_module(f"baselines.{name}").JNP
    assert len(forms) > 0
    for form in forms:
        assert_form_agrees(name, form, jax.jit)
        if "width" in inspect.signature(form).parameters:  # of blocks, as a rule wider than the small size
            assert_form_agrees(name, partial(form, width=2), jax.jit)


@pytest.mark.parametrize("name", PATHS)
def test_loops_and_numpy(name: str) -> None:
    """The loops run as Python here; numba compiles them in the benchmark, which compares results as well."""
    module = importlib.import_module(f"baselines.{name}")
    assert_form_agrees(name, module.loops)
    assert_form_agrees(name, module.plain)


@pytest.mark.fuzz
@pytest.mark.filterwarnings(r"ignore:[\s\S]*The keyword argument 'parallel=True'")  # for some, numba does nothing
@pytest.mark.parametrize("name", PATHS)
def test_loops_compiled(name: str) -> None:
    numba = pytest.importorskip("numba")
    loops = importlib.import_module(f"baselines.{name}").loops
    assert_form_agrees(name, numba.njit(parallel=True, fastmath=True)(loops))
