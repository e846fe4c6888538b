"""trmm: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def one_product(alpha: Array, A: Array, B: Array) -> Any:
    return alpha * (B + jnp.tril(A, -1).T @ B)


def ones_on_the_diagonal(alpha: Array, A: Array, B: Array) -> Any:
    unit = jnp.tril(A, -1) + jnp.eye(A.shape[0], dtype=A.dtype)
    return alpha * (unit.T @ B)


def in_blocks(alpha: Array, A: Array, B: Array) -> Any:
    """Rows of the result in four blocks, each from the rows of B that it needs."""
    m = A.shape[0]
    strict = jnp.tril(A, -1)
    starts = [m * b // 4 for b in range(5)]
    blocks = [strict[s:, s:e].T @ B[s:] for s, e in pairwise(starts)]
    return alpha * (B + jnp.concatenate(blocks))


def loops(alpha: Array, A: Array, B: Array) -> Any:
    m, n = B.shape
    unit = np.zeros((m, m), A.dtype)
    for i in prange(m):
        unit[i, i] = A.dtype.type(1)
        for k in range(i + 1, m):
            unit[i, k] = A[k, i]
    out = unit @ B
    for i in prange(m):
        for j in range(n):
            out[i, j] *= alpha
    return out


def plain(alpha: Array, A: Array, B: Array) -> Any:
    return alpha * (B + np.tril(A, -1).T @ B)


JNP = (
    one_product,
    ones_on_the_diagonal,
    in_blocks,
)
