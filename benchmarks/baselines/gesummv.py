"""gesummv: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from baselines.common import Array, prange


def two_products(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Any:
    return alpha * (A @ x) + beta * (B @ x)


def one_sum(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Any:
    return ((alpha * A + beta * B) * x).sum(axis=1)


def loops(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Any:
    n = A.shape[0]
    y = np.empty_like(x)
    for i in prange(n):
        a = x.dtype.type(0)
        b = x.dtype.type(0)
        for j in range(n):
            a += A[i, j] * x[j]
            b += B[i, j] * x[j]
        y[i] = alpha * a + beta * b
    return y


def plain(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Any:
    return alpha * (A @ x) + beta * (B @ x)


JNP = (
    two_products,
    one_sum,
)
