"""Locals have no axis for loops that what they hold does not depend on, wherever these are among the loops."""

# ruff: noqa: E501
from __future__ import annotations

from math import prod

import numpy as np
import pytest
from msgspec.structs import replace

from ir.semantics.inputs import random_inputs
from lower.analysis.freedoms import Policy
from lower.analysis.linear_forms import linear
from lower.restructure.pipeline import as_it_will_run
from lowered import CPU, assert_agrees, kernel_of, read
from profiles import some

EAGER = replace(CPU, name="eager", step=1e4, scalar=1e4)  # loops cost a lot
PARAMS = 'A: T.Buffer((5, 6, 7), "float32"), V: T.Buffer((6,), "float32"), W: T.Buffer((5, 7), "float32"), X: T.Buffer((5, 9), "float32"), B: T.Buffer((5, 6, 7), "float32"), Q: T.Buffer((5, 6), "int32")'
TAKEN = "T.min(T.max(T.cast(v * 3.0, 'int32'), 0), 8)"
UNIFORM = {
    "the outermost": (
        "for i, j, k in T.grid(5, 6, 7):\n    v = T.sin(V[j]) + V[j]\n    B[i, j, k] = v * A[i, j, k] - X[i, "
        + TAKEN
        + "] * v",
        6,
    ),
    "one between": (
        "for i, j, k in T.grid(5, 6, 7):\n    v = T.sin(W[i, k])\n    B[i, j, k] = v * A[i, j, k] + X[i, "
        + TAKEN
        + "] * v",
        35,
    ),
    "made of another": (
        "for i, j, k in T.grid(5, 6, 7):\n    v = T.sin(V[j])\n    u = T.floor(v * 2.0) + v\n    B[i, j, k] = v * u + u * X[i, "
        + TAKEN
        + "]",
        6,
    ),
    "where it is best": (
        "for i, j in T.grid(5, 6):\n    Q[i, j] = 0\n    m = T.alloc_buffer((1,), 'float32')\n    m[0] = 9.0\n    for k in range(7):\n        v = T.sin(W[i, k]) - 0.5\n        if v * v + V[j] * v < m[0]:\n            m[0] = v * v + V[j] * v\n            Q[i, j] = k",
        35,
    ),
    "under a condition of its own": (
        "for i, j, k in T.grid(5, 6, 7):\n    t = T.alloc_buffer((1,), 'float32')\n    t[0] = 1.0\n    if V[j] > 0.0:\n        t[0] = T.sin(V[j])\n    B[i, j, k] = t[0] * A[i, j, k] + T.floor(t[0])",
        6,
    ),
}
OTHERS = {
    "under a condition of the other": ("for i, j, k in T.grid(5, 6, 7):\n    t = T.alloc_buffer((1,), 'float32')\n    t[0] = 1.0\n    if W[i, k] > 0.0:\n        t[0] = T.sin(V[j])\n    B[i, j, k] = t[0] * A[i, j, k] + T.floor(t[0])", [210]),
    "read from what changes": ("for i, j, k in T.grid(5, 6, 7):\n    t = T.alloc_buffer((1,), 'float32')\n    t[0] = T.sin(B[0, j, 0])\n    B[i, j, k] = t[0] * A[i, j, k] + T.floor(t[0])", []),
}  # fmt: skip


def sizes(body: str) -> list[int]:
    """How many values each local has that the program names `t` or `v`, after checking what is computed."""
    func = read(PARAMS, body)
    inputs = {n: np.asarray(x) for n, x in random_inputs(func, np.random.default_rng(2)).items()}
    for target in (CPU, EAGER):
        assert_agrees(func, kernel_of(func, target), inputs, 1e-5)
    run = as_it_will_run(func, CPU, Policy())
    found = [b for b in run.program.depth if b.name in ("t", "v")]
    copies = [prod(run.planned.boxes[o].extent.const for o in run.planned.expanded.get(b, ())) for b in found]
    return [n * prod(linear(d).const for d in b.shape) for n, b in zip(copies, found, strict=True)]


@pytest.mark.parametrize("name", some(UNIFORM, 0.4))
def test_locals_have_the_axes_that_they_vary_with(name: str) -> None:
    body, values = UNIFORM[name]
    assert sizes(body) == [values]


@pytest.mark.parametrize("name", OTHERS)
def test_others_have_one_for_each_copy(name: str) -> None:
    body, values = OTHERS[name]
    assert sizes(body) == values
