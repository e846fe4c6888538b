"""jacobi_2d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def cross(x: Array) -> Any:
    """The new values of the inner elements."""
    return 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])


def updated(tsteps: int, A: Array, B: Array) -> Any:
    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(cross(A))
        return A.at[1:-1, 1:-1].set(cross(B)), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def selected(tsteps: int, A: Array, B: Array) -> Any:
    inner = jnp.pad(jnp.ones((A.shape[0] - 2, A.shape[1] - 2), bool), 1)

    def step(_, state):
        A, B = state
        B = jnp.where(inner, jnp.pad(cross(A), 1), B)
        return jnp.where(inner, jnp.pad(cross(B), 1), A), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def borders_added(tsteps: int, A: Array, B: Array) -> Any:
    inner = jnp.pad(jnp.ones((A.shape[0] - 2, A.shape[1] - 2), bool), 1)
    edge_a, edge_b = jnp.where(inner, 0, A), jnp.where(inner, 0, B)

    def step(_, state):
        A, B = state
        B = jnp.pad(cross(A), 1) + edge_b
        return jnp.pad(cross(B), 1) + edge_a, B

    return lax.fori_loop(0, tsteps, step, (A, B))


def loops(tsteps: int, A: Array, B: Array) -> Any:
    n = A.shape[0]
    A, B = A.copy(), B.copy()
    fifth = np.float32(0.2)
    for _ in range(tsteps):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = fifth * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = fifth * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
    return A, B


def plain(tsteps: int, A: Array, B: Array) -> Any:
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        B[1:-1, 1:-1] = cross(A)
        A[1:-1, 1:-1] = cross(B)
    return A, B


JNP = (
    updated,
    selected,
    borders_added,
)
