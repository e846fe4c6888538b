"""symm: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def full_matrix(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    full = jnp.tril(A) + jnp.tril(A, -1).T
    return alpha * (full @ B) + beta * C


def two_triangles(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    return alpha * (jnp.tril(A) @ B + jnp.tril(A, -1).T @ B) + beta * C


def loops(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    m, n = C.shape
    full = np.empty_like(A)
    for i in prange(m):
        for j in range(i + 1):
            full[i, j] = A[i, j]
            full[j, i] = A[i, j]
    out = full @ B
    for i in prange(m):
        for j in range(n):
            out[i, j] = alpha * out[i, j] + beta * C[i, j]
    return out


def plain(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    full = np.tril(A) + np.tril(A, -1).T
    return alpha * (full @ B) + beta * C


JNP = (
    full_matrix,
    two_triangles,
)
