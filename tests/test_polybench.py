"""The kernel collection: what the loops say, what they are lowered to and what the optimizer makes of them agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from egraph_rules import optimize
from ir import specialize
from ir.dtypes import DType
from ir.nodes import PrimFunc
from ir.semantics.interpret import interpret_with_undef
from ir.semantics.verify import verify
from ir.traverse import results_of
from kernel_files import PATHS, bound, load
from kernel_references import REFERENCES
from lower import compile
from profiles import some

# Of the largest value: sums of a few dozen terms, and a few steps that divide.
TOLERANCE = {DType.FLOAT32: 2e-5, DType.FLOAT64: 1e-11, DType.INT32: 0.0}
MOST_STEPS = 20_000

Written = list[tuple[np.ndarray, np.ndarray]]


@cache
def small(name: str) -> tuple[PrimFunc, dict[str, np.ndarray], Written]:
    """A kernel at its small size, inputs, and what the interpreter makes of them (with masks of what is undef)."""
    file = load(name)
    sizes = file.sizes["small"]
    func = specialize(file.func, sizes)
    inputs = file.inputs(np.random.default_rng(7), **sizes)
    return func, inputs, list(interpret_with_undef(func, **inputs, max_steps=MOST_STEPS))


def assert_agree(name: str, found: tuple[object, ...]) -> None:
    """Compare written buffers with the interpreter's, where those are defined."""
    func, _, expected = small(name)
    written = list(results_of(func))
    assert len(written) == len(expected) == len(found)
    for buffer, (values, undef), got in zip(written, expected, found, strict=True):
        want, have = values.astype(float)[~undef], np.asarray(got).astype(float)[~undef]
        assert want.size > 0
        difference = np.abs(want - have).max()
        assert difference <= TOLERANCE[buffer.dtype] * np.abs(want).max(), f"{buffer.name} differs by {difference}"


def test_every_kernel_has_a_reference() -> None:
    assert REFERENCES.keys() == PATHS.keys()


@pytest.mark.parametrize("name", some(PATHS, 8))
def test_the_loops_are_what_the_reference_says(name: str) -> None:
    file = load(name)
    verify(file.func)
    _, inputs, _ = small(name)
    reference, arguments = bound(REFERENCES[name], file.sizes["small"])
    exact = {k: v.astype(float) if v.dtype.kind == "f" else v for k, v in inputs.items()}
    assert_agree(name, reference(**{k: exact[k] for k in arguments}))


@pytest.mark.parametrize("name", some(PATHS, 2))
def test_it_lowers(name: str) -> None:
    func, inputs, _ = small(name)
    assert_agree(name, compile(func)(**inputs))


@pytest.mark.parametrize("name", some(list(PATHS)[::-1], 2))
def test_it_is_optimized(name: str) -> None:
    func, inputs, _ = small(name)
    assert_agree(name, compile(optimize(func).best)(**inputs))


def test_the_histogram_needs_no_array_to_write_to() -> None:
    func, inputs, _ = small("histogram")
    assert_agree("histogram", compile(func)(X=inputs["X"]))
