"""syr2k: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def one_product(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    """The second product is the first one's transpose."""
    product = A @ B.T
    lower = jnp.tri(C.shape[0], dtype=bool)
    return jnp.where(lower, alpha * (product + product.T) + beta * C, C)


def in_blocks(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    """Rows in four blocks, each times the rows up to its own end only."""
    n = C.shape[0]
    ends = [n * (b + 1) // 4 for b in range(4)]
    blocks = []
    for start, end in zip([0, *ends], ends, strict=False):
        block = A[start:end] @ B[:end].T + B[start:end] @ A[:end].T
        blocks.append(jnp.pad(block, ((0, 0), (0, n - end))))
    return jnp.where(jnp.tri(n, dtype=bool), alpha * jnp.concatenate(blocks) + beta * C, C)


def loops(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    n = C.shape[0]
    out = C.copy()
    product = A @ B.T
    for i in prange(n):
        for j in range(i + 1):
            out[i, j] = alpha * (product[i, j] + product[j, i]) + beta * C[i, j]
    return out


def plain(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    product = A @ B.T
    return np.where(np.tri(len(C), dtype=bool), alpha * (product + product.T) + beta * C, C)


JNP = (
    one_product,
    in_blocks,
)
