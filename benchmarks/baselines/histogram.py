"""histogram: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def library(bins: int, X: Array) -> Any:
    return jnp.bincount(X, length=bins)


def scattered(bins: int, X: Array) -> Any:
    return jnp.zeros(bins, jnp.int32).at[X].add(1, mode="promise_in_bounds")


def several_copies(bins: int, X: Array, copies: int = 16) -> Any:
    """Neighbours count into different copies, which are added at the end."""
    index = X + bins * (jnp.arange(X.shape[0], dtype=X.dtype) % copies)
    counts = jnp.zeros(bins * copies, jnp.int32).at[index].add(1, mode="promise_in_bounds")
    return counts.reshape(copies, bins).sum(axis=0)


def sorted_first(bins: int, X: Array) -> Any:
    ends = jnp.searchsorted(jnp.sort(X), jnp.arange(1, bins + 1, dtype=X.dtype))
    return jnp.diff(ends, prepend=0).astype(jnp.int32)


def digits_as_product(bins: int, X: Array, width: int = 16) -> Any:
    """Both digits of each number as indicators; the products of indicators count pairs of digits."""
    digits = jnp.arange(width, dtype=X.dtype)[:, None]
    high = (X // width == jnp.arange(-(-bins // width), dtype=X.dtype)[:, None]).astype(jnp.float32)
    low = (X % width == digits).astype(jnp.float32)
    return (high @ low.T).reshape(-1)[:bins].astype(jnp.int32)


def loops(bins: int, X: Array) -> Any:
    n = X.shape[0]
    parts = np.zeros((8, bins), np.int32)
    for part in prange(8):
        for i in range(part * n // 8, (part + 1) * n // 8):
            parts[part, X[i]] += 1
    H = np.zeros(bins, np.int32)
    for part in range(8):
        for b in range(bins):
            H[b] += parts[part, b]
    return H


def plain(bins: int, X: Array) -> Any:
    return np.bincount(X, minlength=bins).astype(np.int32)


JNP = (
    library,
    scattered,
    several_copies,
    sorted_first,
    digits_as_product,
)
