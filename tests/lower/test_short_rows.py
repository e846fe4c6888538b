"""Rows of few floats are combined one by one; products of matrices, long rows and integers by the library."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from ir.semantics.inputs import random_inputs
from lowered import kernel_of, read
from profiles import some
from tests.lowered import assert_agrees

PARAMS = (
    'X: T.Buffer((40, 3), "float32"), C: T.Buffer((30, 3), "float32"), L: T.Buffer((40, 3), "int32"), '
    'V: T.Buffer((50,), "float32"), Y: T.Buffer((40, 20), "float32"), D: T.Buffer((40, 30), "float32"), '
    'S: T.Buffer((40,), "float32"), Z: T.Buffer((40,), "int32")'
)
ONE_BY_ONE = {
    "squares": "for i in range(40):\n    S[i] = 0.5\n    for k in range(3):\n        S[i] = S[i] + (X[i, k] - C[2, k]) * (X[i, k] - C[2, k])",
    "extreme": "for i in range(40):\n    S[i] = -9.0\n    for k in range(3):\n        S[i] = T.max(S[i], X[i, k] * C[k, 0])",
    "pairs": "for i, j in T.grid(40, 30):\n    D[i, j] = 0.0\n    for k in range(3):\n        D[i, j] = D[i, j] - T.abs(X[i, k] - C[j, k])",
    "some": "for i in range(40):\n    S[i] = 0.0\n    for k in range(3):\n        if L[i, k] > 3:\n            S[i] = S[i] + X[i, k]",
    "looked up": "for i in range(40):\n    S[i] = 0.0\n    for k in range(3):\n        S[i] = S[i] + V[T.min(T.max(L[i, k], 0), 49)] * C[0, k]",
    "a thin matrix": "for i, j in T.grid(40, 8):\n    D[i, j] = 0.0\n    for k in range(3):\n        D[i, j] = D[i, j] + X[i, k] * C[j, k]",
    "some products": "for i in range(40):\n    S[i] = 0.0\n    for k in range(3):\n        if X[i, k] > 0.0:\n            S[i] = S[i] + C[0, k] * (X[i, k] * 0.5 + 1.0)",
    "two axes": "for i in range(20):\n    S[i] = 1.0\n    for a, k in T.grid(2, 3):\n        S[i] = S[i] + X[2 * i + a, k] * X[2 * i + a, k]",
    "a scalar in each term": "c = T.alloc_buffer((), 'float32')\nc[()] = X[0, 0]\nfor i in range(40):\n    S[i] = 0.5\n    for k in range(3):\n        S[i] = S[i] + T.abs(X[i, k] - c[()])",
    "read twice": "for i in range(40):\n    S[i] = 0.0\n    for k in range(3):\n        S[i] = S[i] + T.abs(X[i, k])\nfor i in range(40):\n    Z[i] = 0\n    if S[i] > 1.0:\n        Z[i] = 1\nfor i, j in T.grid(40, 30):\n    D[i, j] = S[i] * C[j, 0]",
}
OTHERS = {
    "matrices": "for i, j in T.grid(40, 30):\n    D[i, j] = 0.0\n    for k in range(3):\n        D[i, j] = D[i, j] + X[i, k] * C[j, k]",
    "integers": "for i in range(40):\n    Z[i] = 0\n    for k in range(3):\n        Z[i] = Z[i] + L[i, k]",
    "long": "for i in range(40):\n    S[i] = 0.0\n    for k in range(20):\n        S[i] = S[i] + Y[i, k] * Y[i, k]",
    "dear for many": "for i, j in T.grid(40, 30):\n    D[i, j] = 0.0\n    for k in range(3):\n        D[i, j] = D[i, j] + T.abs(X[i, k]) - T.exp(C[j, k])",
}


def report(body: str) -> str:
    func = read(PARAMS, body)
    kernel = kernel_of(func)
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)), 1e-5)
    return "\n".join(kernel.report)


@pytest.mark.parametrize("name", some(ONE_BY_ONE, 0.67))
def test_short_rows_are_combined_one_by_one(name: str) -> None:
    assert "unrolled over" in report(ONE_BY_ONE[name])


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_reductions(name: str) -> None:
    assert "unrolled over" not in report(OTHERS[name])


def test_neighbours_that_are_numbered_are_taken_one_by_one() -> None:
    dy, dx = (
        f"T.if_then_else(k < 2, {a}, T.if_then_else(k == 2, {b}, {c}))" for a, b, c in ((0, 1, -1), ("2 * k - 1", 0, 0))
    )
    place = "i + dy, j + dx"
    body = f"""for i, j in T.grid(9, 11):
    B[i, j] = 0
    for k in range(4):
        dy = {dy}
        dx = {dx}
        if i + dy >= 0 and i + dy < 9 and j + dx >= 0 and j + dx < 11:
            B[i, j] = B[i, j] + A[{place}] * (k + 1)"""
    func = read('A: T.Buffer((9, 11), "int32"), B: T.Buffer((9, 11), "int32")', body)
    kernel = kernel_of(func)
    assert "where" not in kernel.source and ".at[" not in kernel.source
    assert_agrees(func, kernel, {"A": np.arange(99, dtype="i4").reshape(9, 11) % 17, "B": np.zeros((9, 11), "i4")})
