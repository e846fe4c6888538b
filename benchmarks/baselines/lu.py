"""lu: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular

from baselines.common import Array, prange


def rank_one_updates(A: Array) -> Any:
    n = A.shape[0]
    index = jnp.arange(n)

    def step(k, A):
        below = index > k
        factors = jnp.where(below, A[:, k] / A[k, k], 0)
        A = A - factors[:, None] * jnp.where(below, A[k], 0)
        return A.at[:, k].set(jnp.where(below, factors, A[:, k]))

    return lax.fori_loop(0, n, step, A)


def in_blocks(A: Array, width: int = 50) -> Any:
    """Panels of columns are factored by themselves; what is right of and below them by products."""
    n = A.shape[0]
    for start in range(0, n, width):
        end = min(start + width, n)
        panel = factor_panel(A[start:, start:end])
        unit = jnp.tril(panel[: end - start], -1) + jnp.eye(end - start, dtype=A.dtype)
        A = A.at[start:, start:end].set(panel)
        if end < n:
            right = solve_triangular(unit, A[start:end, end:], lower=True, unit_diagonal=True)
            A = A.at[start:end, end:].set(right).at[end:, end:].add(-(panel[end - start :] @ right))
    return A


def factor_panel(panel: Array) -> Any:
    """The factors of a tall panel, one column after the other."""
    rows, columns = jnp.arange(panel.shape[0])[:, None], jnp.arange(panel.shape[1])

    def step(k, panel):
        column = lax.dynamic_slice_in_dim(panel, k, 1, axis=1)
        factors = jnp.where(rows > k, column / panel[k, k], 0)
        panel = panel - factors * jnp.where(columns > k, panel[k], 0)
        return jnp.where((columns == k) & (rows > k), factors, panel)

    return lax.fori_loop(0, panel.shape[1], step, panel)


def loops(A: Array) -> Any:
    n = A.shape[0]
    A = A.copy()
    for k in range(n):
        for i in prange(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def plain(A: Array) -> Any:
    A = A.copy()
    for k in range(len(A)):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A


JNP = (
    rank_one_updates,
    in_blocks,
)
