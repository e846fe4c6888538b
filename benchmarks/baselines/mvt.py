"""mvt: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from baselines.common import Array, prange


def two_products(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Any:
    return x1 + A @ y1, x2 + y2 @ A


def as_sums(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Any:
    return x1 + (A * y1).sum(axis=1), x2 + (A * y2[:, None]).sum(axis=0)


def mixed(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Any:
    return x1 + A @ y1, x2 + (A * y2[:, None]).sum(axis=0)


def loops(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Any:
    n = A.shape[0]
    x1 = x1.copy()
    x2 = x2.copy()
    parts = np.zeros((8, n), A.dtype)
    for part in prange(8):
        for i in range(part * n // 8, (part + 1) * n // 8):
            total = A.dtype.type(0)
            for j in range(n):
                total += A[i, j] * y1[j]
                parts[part, j] += y2[i] * A[i, j]
            x1[i] += total
    for part in range(8):
        for j in range(n):
            x2[j] += parts[part, j]
    return x1, x2


def plain(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Any:
    return x1 + A @ y1, x2 + y2 @ A


JNP = (
    two_products,
    as_sums,
    mixed,
)
