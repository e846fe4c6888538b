"""bicg: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from baselines.common import Array, prange


def two_products(A: Array, p: Array, r: Array) -> Any:
    return r @ A, A @ p


def as_sums(A: Array, p: Array, r: Array) -> Any:
    return (r[:, None] * A).sum(axis=0), (A * p).sum(axis=1)


def mixed(A: Array, p: Array, r: Array) -> Any:
    return (r[:, None] * A).sum(axis=0), A @ p


def loops(A: Array, p: Array, r: Array) -> Any:
    n, m = A.shape
    q = np.empty(n, A.dtype)
    parts = np.zeros((8, m), A.dtype)
    for part in prange(8):
        for i in range(part * n // 8, (part + 1) * n // 8):
            total = A.dtype.type(0)
            for j in range(m):
                total += A[i, j] * p[j]
                parts[part, j] += r[i] * A[i, j]
            q[i] = total
    s = parts[0].copy()
    for part in range(1, 8):
        for j in range(m):
            s[j] += parts[part, j]
    return s, q


def plain(A: Array, p: Array, r: Array) -> Any:
    return r @ A, A @ p


JNP = (
    two_products,
    as_sums,
    mixed,
)
