"""Stores to almost all of a large array in a loop go through all of it, with a choice for each element."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU, Target
from ir.nodes import PrimFunc
from ir.semantics.inputs import random_inputs
from lowered import assert_agrees, kernel_of, read, unwrapped
from profiles import some

SMALL = replace(CPU, name="one pass", one_pass=1, step=0.0)
PARAMS = (
    'A: T.Buffer((20, 24), "float32"), B: T.Buffer((20, 24), "float32"), '
    'C: T.Buffer((10, 11, 12), "float32"), D: T.Buffer((10, 11, 12), "float32")'
)
HEAT = """for t in T.serial(3):
    for i, j in T.grid(18, 22):
        B[i + 1, j + 1] = 0.25 * (A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2])
    for i, j in T.grid(18, 22):
        A[i + 1, j + 1] = 0.5 * (B[i + 1, j] + B[i + 1, j + 2])"""
NUMBERS = """for t in T.serial(3):
    for i, j in T.grid(18, 22):
        B[i + 1, j + 1] = 2.0
    for i, j in T.grid(20, 24):
        A[i, j] = A[i, j] * B[19 - i, j] + B[i, j]"""
PASSES = {  # how many stores go through all of an array, and how many masks they have
    "two axes": (HEAT, 2, 1),
    "three axes": (
        """for t in T.serial(3):
    for i, j, k in T.grid(9, 10, 12):
        D[i + 1, j + 1, k] = C[i, j, k] + C[i + 1, j + 1, 11 - k]
    for i, j, k in T.grid(10, 11, 11):
        C[i, j, k + 1] = 0.5 * D[i, j, k] - C[i, j, k + 1]""",
        2,
        2,
    ),
    "a small part": (HEAT.replace("T.grid(18, 22)", "T.grid(9, 22)"), 0, 0),
    "its border after it": (HEAT + "\n    for i in range(20):\n        A[i, 0] = B[i, 1]", 1, 1),
    "what reads its neighbours": (HEAT.replace("B[", "A["), 0, 0),
    "a number": (NUMBERS, 0, 0),
}


def check(func: PrimFunc, target: Target) -> str:
    """The source, after a comparison with the interpreter on borders that are not finite."""
    kernel = kernel_of(func, target)
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)), 1e-4)
    return kernel.source


@pytest.mark.parametrize("name", some(PASSES, 2))
def test_stores_in_one_pass(name: str) -> None:
    body, passes, masks = PASSES[name]
    source = check(read(PARAMS, body), SMALL)
    assert unwrapped(source).count("jnp.where(inside") == passes
    assert source.count("inside = ") + source.count("inside_2 = ") == masks


def test_small_arrays_and_other_targets_store_in_place() -> None:
    func = read(PARAMS, HEAT)
    for target in (CPU, replace(GPU, step=0.0)):
        assert "inside" not in check(func, target)


def test_elements_that_are_kept_may_be_anything() -> None:
    """NaN of the border stays where it is and reaches just what reads it."""
    func = read(PARAMS, HEAT)
    inputs = random_inputs(func, np.random.default_rng(0))
    inputs["A"][0, 0] = inputs["B"][19, 23] = np.nan
    kernel = kernel_of(func, SMALL)
    a, b = (np.asarray(x) for x in kernel(**inputs))
    assert np.isnan(a[0, 0]) and np.isnan(a).sum() == 1
    assert np.isnan(b[19, 23]) and np.isnan(b).sum() == 1
