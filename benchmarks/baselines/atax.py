"""atax: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from baselines.common import Array, prange


def vector_first(A: Array, x: Array) -> Any:
    return (A @ x) @ A


def as_sums(A: Array, x: Array) -> Any:
    return ((A * x).sum(axis=1)[:, None] * A).sum(axis=0)


def loops(A: Array, x: Array) -> Any:
    m, n = A.shape
    parts = np.zeros((8, n), A.dtype)
    for part in prange(8):
        for i in range(part * m // 8, (part + 1) * m // 8):
            total = A.dtype.type(0)
            for j in range(n):
                total += A[i, j] * x[j]
            for j in range(n):
                parts[part, j] += A[i, j] * total
    y = parts[0].copy()
    for part in range(1, 8):
        for j in range(n):
            y[j] += parts[part, j]
    return y


def plain(A: Array, x: Array) -> Any:
    return (A @ x) @ A


JNP = (
    vector_first,
    as_sums,
)
