"""Reductions in an iteration that do not change along loops around are worked out before these, and only those."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from lower import compile
from lowered import assert_agrees, read
from profiles import some

F = '"float32"'
PARAMS = f'A: T.Buffer((7, 6), {F}), f: T.Buffer((7, 4), {F}), g: T.Buffer((6, 4), {F}), M: T.Buffer((7, 6), {F}), S: T.Buffer((3, 3), {F}), n: T.Buffer((7,), "int32")'
LOCAL = f"w = T.alloc_buffer((1,), {F})\n"
ROW = LOCAL + "for y, x in T.grid(7, 6):\n    w[0] = A[y, x]\n"
APART = {
    "a product for each row": ROW + "    for k in range(4):\n        w[0] = w[0] * f[y, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "a sum for each column": ROW + "    for k in range(4):\n        w[0] = w[0] + g[x, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "both": ROW + "    for k in range(4):\n        w[0] = w[0] * f[y, k]\n    for k in range(4):\n        w[0] = w[0] + g[x, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "moments": LOCAL + "for p, q in T.grid(3, 3):\n    S[p, q] = 0.0\n    for y, x in T.grid(7, 6):\n        w[0] = A[y, x]\n        for k in range(p):\n            w[0] = w[0] * (T.cast(y, 'float32') / 7.0)\n        for k in range(q):\n            w[0] = w[0] * (T.cast(x, 'float32') / 6.0)\n        S[p, q] = S[p, q] + w[0]",
    "of as many as the row says": ROW + "    for k in range(T.min(y, 4)):\n        w[0] = w[0] * f[y, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "under a condition on the terms": ROW + "    for k in range(4):\n        if f[y, k] > 1.0:\n            w[0] = w[0] * f[y, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "the same everywhere": ROW + "    for k in range(4):\n        w[0] = w[0] + f[3, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "read twice": ROW + "    for k in range(4):\n        w[0] = w[0] * f[y, k]\n    M[y, x] = w[0] * w[0]\n    A[y, x] = w[0]",
    "set under a condition": LOCAL + "for y, x in T.grid(7, 6):\n    w[0] = 1.0\n    if A[y, x] > 1.0:\n        w[0] = 2.0\n    for k in range(4):\n        w[0] = w[0] * f[y, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
}  # fmt: skip
STAY = {
    "each has its own": ROW + "    for k in range(4):\n        w[0] = w[0] * f[y, k] * g[x, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "of what the loop stores": LOCAL + "for y, x in T.grid(7, 6):\n    w[0] = A[y, x]\n    for k in range(4):\n        w[0] = w[0] + f[y, k]\n    f[y, x % 4] = w[0]",
    "seen on the way": ROW + "    for k in range(4):\n        w[0] = w[0] * f[y, k]\n        M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "under a condition on the iteration": ROW + "    if A[y, x] > 1.0:\n        for k in range(4):\n            w[0] = w[0] * f[y, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
    "a quotient": ROW + "    for k in range(4):\n        w[0] = w[0] / f[y, k]\n    M[y, 0] = M[y, 0] + T.sqrt(w[0])",
}  # fmt: skip


def results(body: str, **options: object) -> tuple[str, str]:
    """Sources with and without the form, after results are compared with the interpreter."""
    func = read(PARAMS, body)
    kernel = compile(func, **options)  # pyright: ignore[reportArgumentType]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        shapes = {"A": (7, 6), "f": (7, 4), "g": (6, 4), "M": (7, 6), "S": (3, 3)}
        inputs = {k: rng.uniform(0.5, 2.0, s).astype(np.float32) for k, s in shapes.items()}
        assert_agrees(func, kernel, {**inputs, "n": rng.integers(0, 5, 7).astype(np.int32)}, rtol=1e-5)
    return kernel.source, compile(func, without=["structure.invariant_reductions"], **options).source  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", some(APART, 2))
def test_worked_out_once(name: str) -> None:
    with_it, without_it = results(APART[name])
    assert with_it != without_it


@pytest.mark.parametrize("name", some(STAY, 0.6))
def test_near_misses_stay_right(name: str) -> None:
    with_it, without_it = results(STAY[name])
    assert with_it == without_it


def test_moments_are_products() -> None:
    assert results(APART["moments"])[0].count("einsum") == 2


def test_strict_floats_are_combined_in_turn() -> None:
    with_it, without_it = results(APART["both"], floats="strict")
    assert with_it == without_it
