"""heat_3d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def warmer(x: Array) -> Any:
    """The new values of the inner elements."""
    c = x[1:-1, 1:-1, 1:-1]
    rows = x[2:, 1:-1, 1:-1] + x[:-2, 1:-1, 1:-1]
    columns = x[1:-1, 2:, 1:-1] + x[1:-1, :-2, 1:-1]
    return 0.125 * (rows + columns + x[1:-1, 1:-1, 2:] + x[1:-1, 1:-1, :-2]) + 0.25 * c


def updated(tsteps: int, A: Array, B: Array) -> Any:
    inner = (slice(1, -1),) * 3

    def step(_, state):
        A, B = state
        B = B.at[inner].set(warmer(A))
        return A.at[inner].set(warmer(B)), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def selected(tsteps: int, A: Array, B: Array) -> Any:
    inner = jnp.pad(jnp.ones([d - 2 for d in A.shape], bool), 1)

    def step(_, state):
        A, B = state
        B = jnp.where(inner, jnp.pad(warmer(A), 1), B)
        return jnp.where(inner, jnp.pad(warmer(B), 1), A), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def borders_added(tsteps: int, A: Array, B: Array) -> Any:
    inner = jnp.pad(jnp.ones([d - 2 for d in A.shape], bool), 1)
    edge_a, edge_b = jnp.where(inner, 0, A), jnp.where(inner, 0, B)

    def step(_, state):
        A, B = state
        B = jnp.pad(warmer(A), 1) + edge_b
        return jnp.pad(warmer(B), 1) + edge_a, B

    return lax.fori_loop(0, tsteps, step, (A, B))


def loops(tsteps: int, A: Array, B: Array) -> Any:
    n = A.shape[0]
    A, B = A.copy(), B.copy()
    eighth, quarter = np.float32(0.125), np.float32(0.25)
    for _ in range(tsteps):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    near = A[i + 1, j, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i, j - 1, k]
                    near += A[i, j, k + 1] + A[i, j, k - 1]
                    B[i, j, k] = eighth * near + quarter * A[i, j, k]
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    near = B[i + 1, j, k] + B[i - 1, j, k] + B[i, j + 1, k] + B[i, j - 1, k]
                    near += B[i, j, k + 1] + B[i, j, k - 1]
                    A[i, j, k] = eighth * near + quarter * B[i, j, k]
    return A, B


def plain(tsteps: int, A: Array, B: Array) -> Any:
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        B[1:-1, 1:-1, 1:-1] = warmer(A)
        A[1:-1, 1:-1, 1:-1] = warmer(B)
    return A, B


JNP = (
    updated,
    selected,
    borders_added,
)
