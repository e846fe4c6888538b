"""gemver: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def in_order(
    alpha: Array,
    beta: Array,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Any:
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + beta * (y @ A) + z
    return A, w + alpha * (A @ x), x


def around_the_update(
    alpha: Array,
    beta: Array,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Any:
    """The products with the old A, and what the update of rank two adds to them."""
    x = x + beta * (y @ A + (y @ u1) * v1 + (y @ u2) * v2) + z
    w = w + alpha * (A @ x + u1 * (v1 @ x) + u2 * (v2 @ x))
    return A + u1[:, None] * v1 + u2[:, None] * v2, w, x


def loops(
    alpha: Array,
    beta: Array,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Any:
    n = A.shape[0]
    new = np.empty_like(A)
    parts = np.zeros((8, n), A.dtype)
    for part in prange(8):
        for i in range(part * n // 8, (part + 1) * n // 8):
            for j in range(n):
                new[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
                parts[part, j] += new[i, j] * y[i]
    x = x + z
    for part in range(8):
        for j in range(n):
            x[j] += beta * parts[part, j]
    w = w.copy()
    for i in prange(n):
        total = A.dtype.type(0)
        for j in range(n):
            total += new[i, j] * x[j]
        w[i] += alpha * total
    return new, w, x


def plain(
    alpha: Array,
    beta: Array,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Any:
    A = A + np.outer(u1, v1)
    A += np.outer(u2, v2)
    x = x + beta * (y @ A) + z
    return A, w + alpha * (A @ x), x


JNP = (
    in_order,
    around_the_update,
)
