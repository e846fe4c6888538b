"""Functions of elements that are read at several places are worked out once for each, and kept for as long as it is."""

# ruff: noqa: E501
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir.semantics.inputs import random_inputs
from lowered import kernel_of, read
from profiles import some
from tests.lowered import assert_agrees

DEAR = replace(CPU, name="dear", slow_function=1e6, special=1e6)
PARAMS = 'A: T.Buffer((12,), "float32"), M: T.Buffer((12, 12), "float32"), I: T.Buffer((9, 12), "int32"), B: T.Buffer((12,), "float32"), Y: T.Buffer((9, 12), "float32"), s: T.float32'
SHARED = {
    "neighbours": ("for i in range(10):\n    B[i] = T.sin(A[i] * s) + T.sin(A[i + 2] * s)", 1),
    "around": ("for i in range(12):\n    B[i] = T.cos(A[(i + 1) % 12]) - T.cos(A[(i + 11) % 12])", 1),
    "looked up": ("for r, i in T.grid(9, 12):\n    Y[r, i] = T.tanh(A[T.min(T.max(I[r, i], 0), 11)])", 1),
    "two functions": (
        "for i in range(11):\n    B[i] = T.sin(A[i]) * T.cos(A[i + 1]) + T.cos(A[i]) * T.sin(A[i + 1])",
        2,
    ),
    "stored in between": (
        "for t in range(3):\n    for i in range(11):\n        B[i] = T.sin(A[i]) + T.sin(A[i + 1])\n    for i in range(11):\n        A[i] = B[i] + T.sin(A[i])\n    for i in range(11):\n        B[i] = T.sin(A[i]) - T.sin(A[11 - i])",
        2,
    ),
    "under conditions": (
        "for i in range(12):\n    B[i] = 0.0\n    if i > 0 and M[i, i] > 0.0:\n        B[i] = T.tanh(A[i - 1]) + T.tanh(A[i])",
        1,
    ),
    "along diagonals": (
        "for i in range(1, 9):\n    for j in range(1, 12):\n        Y[i, j] = T.min(Y[i - 1, j], Y[i, j - 1]) + A[i] * T.sin(B[j])",
        1,
    ),
    "in turn, in each step": (
        "for t in range(9):\n    for i in range(12):\n        M[0, 0] = M[0, 0] * 0.5 + T.sin(A[i]) * M[0, 0]\n    Y[t, 0] = M[0, 0]",
        1,
    ),
}
OTHERS = {
    "of what an outer step changes": "for t in range(9):\n    for i in range(12):\n        M[0, 0] = M[0, 0] * 0.5 + T.sin(A[i]) * M[0, 0]\n    A[t] = M[0, 0]",
    "once": "for i in range(12):\n    B[i] = T.sin(A[i])",
    "of two elements": "for i in range(11):\n    B[i] = T.sin(A[i] + A[i + 1]) + T.sin(A[i + 1] + A[i])",
    "steep": "for i in range(11):\n    B[i] = T.exp(A[i]) + T.exp(A[i + 1])",
    "of the iteration": "for i in range(11):\n    B[i] = T.sin(A[i] * T.cast(i, 'float32')) + T.sin(A[i + 1] * T.cast(i, 'float32'))",
}


def source(body: str) -> str:
    func = read(PARAMS, body)
    kernel = kernel_of(func, DEAR)
    for seed in range(2):
        assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(seed)), 1e-5)
    return kernel.source


@pytest.mark.parametrize("name", some(SHARED, 0.38))
def test_functions_are_taken_of_each_element_once(name: str) -> None:
    body, arrays = SHARED[name]
    text = source(body)
    assert sum(text.count(f"jnp.{f}(") for f in ("sin", "cos", "tanh")) == arrays


@pytest.mark.parametrize("name", some(OTHERS, 0.6))
def test_other_functions_stay_where_they_are(name: str) -> None:
    assert "_values" not in source(OTHERS[name])


def test_elements_that_nobody_reads_have_no_derivatives() -> None:
    func = read(PARAMS, SHARED["under conditions"][0])
    kernel = kernel_of(func, DEAR)
    inputs = {k: jnp.asarray(v) for k, v in random_inputs(func, np.random.default_rng(0)).items()}
    hidden = inputs["A"].at[:3].set(3e38), inputs["M"].at[jnp.arange(4), jnp.arange(4)].set(-1.0)
    slope = jax.grad(lambda a: kernel.jitted(**{**inputs, "A": a, "M": hidden[1]})[0].sum())(hidden[0])
    assert np.array_equal(np.asarray(slope[:3]), np.zeros(3)) and np.isfinite(np.asarray(slope)).all()


CELLS = 'G: T.Buffer((120, 130), "int32"), H: T.Buffer((120, 130), "int32")'
NEIGHBOUR = "{0}G[{1}, {2}] == 2"


def test_comparisons_of_neighbours_are_made_once() -> None:
    near = [("i > 0 and ", "i - 1", "j"), ("i < 119 and ", "i + 1", "j"), ("j > 0 and ", "i", "j - 1")]
    tests = " or ".join(f"({NEIGHBOUR.format(*place)})" for place in [*near, ("j < 129 and ", "i", "j + 1")])
    func = read(CELLS, f"for i, j in T.grid(120, 130):\n    H[i, j] = T.if_then_else({tests}, 1, G[i, j])")
    kernel = kernel_of(func, CPU)
    assert kernel.source.count("== 2") == 1 and "> 0" not in kernel.source
    given = np.random.default_rng(0).integers(0, 3, (120, 130)).astype(np.int32)
    assert_agrees(func, kernel, {"G": given, "H": np.zeros((120, 130), np.int32)})
