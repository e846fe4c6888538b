"""prefix_sum: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def library(X: Array) -> Any:
    return jnp.cumsum(X)


def associative(X: Array) -> Any:
    return lax.associative_scan(jnp.add, X)


def blocks_of_columns(X: Array, width: int = 32) -> Any:
    """Blocks as columns: sums down the columns by adding whole rows, and the columns' totals before them."""
    n = X.shape[0]
    rows = jnp.pad(X, (0, -n % width)).reshape(-1, width)
    sums = [rows[:, 0]]
    for k in range(1, width):
        sums.append(sums[-1] + rows[:, k])
    before = jnp.cumsum(sums[-1]) - sums[-1]
    return (jnp.stack(sums, axis=1) + before[:, None]).reshape(-1)[:n]


def triangular_products(X: Array, width: int = 64) -> Any:
    """Sums within blocks as a product with a triangle of ones, twice over."""
    n = X.shape[0]
    rows = jnp.pad(X, (0, -n % width**2)).reshape(-1, width, width)
    ones = jnp.triu(jnp.ones((width, width), X.dtype))
    within = rows @ ones
    blocks = within[:, :, -1]
    outer = blocks @ ones
    before = (jnp.cumsum(outer[:, -1]) - outer[:, -1])[:, None] + outer - blocks
    return (within + before[:, :, None]).reshape(-1)[:n]


def blocks_before_sums(X: Array, width: int = 32) -> Any:
    """The totals of blocks are known first, so that the running sums are written once."""
    n = X.shape[0]
    rows = jnp.pad(X, (0, -n % width)).reshape(-1, width)
    totals = rows.sum(axis=1)
    running = jnp.cumsum(totals) - totals
    sums = []
    for k in range(width):
        running = running + rows[:, k]
        sums.append(running)
    return jnp.stack(sums, axis=1).reshape(-1)[:n]


def loops(X: Array) -> Any:
    n = X.shape[0]
    Y = np.empty_like(X)
    parts = np.zeros(65, X.dtype)
    for part in prange(64):
        total = X.dtype.type(0)
        for i in range(part * n // 64, (part + 1) * n // 64):
            total += X[i]
        parts[part + 1] = total
    for part in range(64):
        parts[part + 1] += parts[part]
    for part in prange(64):
        total = parts[part]
        for i in range(part * n // 64, (part + 1) * n // 64):
            total += X[i]
            Y[i] = total
    return Y


def plain(X: Array) -> Any:
    return np.cumsum(X)


JNP = (
    library,
    associative,
    blocks_of_columns,
    triangular_products,
    blocks_before_sums,
)
