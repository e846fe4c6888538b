"""ludcmp: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.scipy.linalg import solve_triangular

from baselines import lu
from baselines.common import Array, prange


def in_blocks(A: Array, b: Array) -> Any:
    A = lu.in_blocks(A)
    return substituted(A, b)


def rank_one_updates(A: Array, b: Array) -> Any:
    A = lu.rank_one_updates(A)
    return substituted(A, b)


def substituted(A: Array, b: Array) -> Any:
    """The factors, x and y."""
    y = solve_triangular(A, b, lower=True, unit_diagonal=True)
    return A, solve_triangular(A, y), y


def loops(A: Array, b: Array) -> Any:
    n = A.shape[0]
    A = A.copy()
    for k in range(n):
        for i in prange(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    y = b.copy()
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= A[i, j] * y[j]
        y[i] = total
    x = y.copy()
    for s in range(n):
        i = n - 1 - s
        total = y[i]
        for j in range(i + 1, n):
            total -= A[i, j] * x[j]
        x[i] = total / A[i, i]
    return A, x, y


def plain(A: Array, b: Array) -> Any:
    A = lu.plain(A)
    y = np.linalg.solve(np.tril(A, -1) + np.eye(len(A), dtype=A.dtype), b)
    return A, np.linalg.solve(np.triu(A), y), y


JNP = (
    in_blocks,
    rank_one_updates,
)
