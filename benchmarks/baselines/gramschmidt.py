"""gramschmidt: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def library(A: Array) -> Any:
    """The factors with a positive diagonal are unique, so that Householder's serve as well."""
    Q, R = jnp.linalg.qr(A)
    signs = jnp.where(jnp.diag(R) < 0, -1.0, 1.0)
    Q, R = Q * signs, R * signs[:, None]
    return Q * jnp.diag(R), R, Q


def rank_one_updates(A: Array) -> Any:
    n = A.shape[1]
    later = jnp.arange(n)

    def step(k, state):
        A, R, Q = state
        norm = jnp.sqrt((A[:, k] ** 2).sum())
        q = A[:, k] / norm
        row = jnp.where(later > k, q @ A, 0)
        return A - q[:, None] * row, R.at[k].set(row.at[k].set(norm)), Q.at[:, k].set(q)

    return lax.fori_loop(0, n, step, (A, jnp.zeros((n, n), A.dtype), jnp.zeros_like(A)))


def loops(A: Array) -> Any:
    m, n = A.shape
    columns = A.T.copy()
    Q = np.empty((n, m), A.dtype)
    R = np.zeros((n, n), A.dtype)
    for k in range(n):
        total = 0.0
        for i in range(m):
            total += columns[k, i] * columns[k, i]
        R[k, k] = np.sqrt(total)
        for i in range(m):
            Q[k, i] = columns[k, i] / R[k, k]
        for j in prange(k + 1, n):
            total = 0.0
            for i in range(m):
                total += Q[k, i] * columns[j, i]
            R[k, j] = total
            for i in range(m):
                columns[j, i] -= Q[k, i] * total
    return columns.T.copy(), R, Q.T.copy()


def plain(A: Array) -> Any:
    m, n = A.shape
    A, Q, R = A.copy(), np.empty((m, n)), np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])
    return A, R, Q


JNP = (
    library,
    rank_one_updates,
)
