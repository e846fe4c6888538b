"""jacobi_1d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array


def updated(tsteps: int, A: Array, B: Array) -> Any:
    def step(_, state):
        A, B = state
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        return A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:])), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def concatenated(tsteps: int, A: Array, B: Array) -> Any:
    def mean(x, ends):
        return jnp.concatenate([ends[:1], 0.33333 * (x[:-2] + x[1:-1] + x[2:]), ends[-1:]])

    def step(_, state):
        A, B = state
        B = mean(A, B)
        return mean(B, A), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def selected(tsteps: int, A: Array, B: Array) -> Any:
    place = jnp.arange(A.shape[0])
    inner = (place > 0) & (place < A.shape[0] - 1)

    def step(_, state):
        A, B = state
        B = jnp.where(inner, jnp.pad(0.33333 * (A[:-2] + A[1:-1] + A[2:]), 1), B)
        return jnp.where(inner, jnp.pad(0.33333 * (B[:-2] + B[1:-1] + B[2:]), 1), A), B

    return lax.fori_loop(0, tsteps, step, (A, B))


def loops(tsteps: int, A: Array, B: Array) -> Any:
    n = A.shape[0]
    A, B = A.copy(), B.copy()
    third = np.float32(0.33333)
    for _ in range(tsteps):
        for i in range(1, n - 1):
            B[i] = third * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = third * (B[i - 1] + B[i] + B[i + 1])
    return A, B


def plain(tsteps: int, A: Array, B: Array) -> Any:
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A, B


JNP = (
    updated,
    concatenated,
    selected,
)
