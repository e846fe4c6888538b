"""gemm: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

from baselines.common import Array, prange


def product(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    return alpha * (A @ B) + beta * C


def scaled_factor(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    return (alpha * A) @ B + beta * C


def loops(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    out = A @ B
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = alpha * out[i, j] + beta * C[i, j]
    return out


def plain(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    return alpha * (A @ B) + beta * C


JNP = (
    product,
    scaled_factor,
)
