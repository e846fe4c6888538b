"""trisolv: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular

from baselines.common import Array


def library(L: Array, b: Array) -> Any:
    return solve_triangular(L, b, lower=True)


def in_blocks(L: Array, b: Array, width: int = 100) -> Any:
    """Blocks of rows: a product with what is solved, then a small triangle."""
    n = b.shape[0]
    x = jnp.zeros(0, b.dtype)
    for start in range(0, n, width):
        end = min(start + width, n)
        right = b[start:end] - L[start:end, :start] @ x
        x = jnp.concatenate([x, solve_triangular(L[start:end, start:end], right, lower=True)])
    return x


def rows(L: Array, b: Array) -> Any:
    def step(i, x):
        return x.at[i].set((b[i] - L[i] @ x) / L[i, i])

    return lax.fori_loop(0, b.shape[0], step, jnp.zeros_like(b))


def loops(L: Array, b: Array) -> Any:
    n = b.shape[0]
    x = np.empty_like(b)
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= L[i, j] * x[j]
        x[i] = total / L[i, i]
    return x


def plain(L: Array, b: Array) -> Any:
    x = np.empty_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


JNP = (
    library,
    in_blocks,
    rows,
)
