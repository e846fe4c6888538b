"""cholesky: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def library(A: Array) -> Any:
    return jnp.linalg.cholesky(A, symmetrize_input=False) + jnp.triu(A, 1)


def columns(A: Array) -> Any:
    """Left-looking: each column from a product with the columns before it."""
    n = A.shape[0]
    rows = jnp.arange(n)

    def step(j, L):
        column = A[:, j] - L @ L[j]
        column = column / jnp.sqrt(column[j])
        return L.at[:, j].set(jnp.where(rows >= j, column, 0))

    return lax.fori_loop(0, n, step, jnp.zeros_like(A)) + jnp.triu(A, 1)


def loops(A: Array) -> Any:
    n = A.shape[0]
    out = np.linalg.cholesky(A)
    for i in prange(n):
        for j in range(i + 1, n):
            out[i, j] = A[i, j]
    return out


def plain(A: Array) -> Any:
    return np.linalg.cholesky(A) + np.triu(A, 1)


JNP = (
    library,
    columns,
)
