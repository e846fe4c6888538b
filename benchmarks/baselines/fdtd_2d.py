"""fdtd_2d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def updated(tsteps: int, ex: Array, ey: Array, hz: Array, fict: Array) -> Any:
    def step(t, state):
        ex, ey, hz = state
        ey = ey.at[1:].add(-0.5 * (hz[1:] - hz[:-1])).at[0].set(fict[t])
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return lax.fori_loop(0, tsteps, step, (ex, ey, hz))


def padded(tsteps: int, ex: Array, ey: Array, hz: Array, fict: Array) -> Any:
    """Differences padded with zeros to the whole grid."""
    first = jnp.arange(ex.shape[0])[:, None] == 0

    def step(t, state):
        ex, ey, hz = state
        ey = jnp.where(first, fict[t], ey - 0.5 * jnp.pad(hz[1:] - hz[:-1], ((1, 0), (0, 0))))
        ex = ex - 0.5 * jnp.pad(hz[:, 1:] - hz[:, :-1], ((0, 0), (1, 0)))
        change = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return ex, ey, hz - 0.7 * jnp.pad(change, ((0, 1), (0, 1)))

    return lax.fori_loop(0, tsteps, step, (ex, ey, hz))


def loops(tsteps: int, ex: Array, ey: Array, hz: Array, fict: Array) -> Any:
    nx, ny = ex.shape
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    half, most = np.float32(0.5), np.float32(0.7)
    for t in range(tsteps):
        for i in prange(nx):
            if i == 0:
                for j in range(ny):
                    ey[0, j] = fict[t]
            else:
                for j in range(ny):
                    ey[i, j] -= half * (hz[i, j] - hz[i - 1, j])
            for j in range(1, ny):
                ex[i, j] -= half * (hz[i, j] - hz[i, j - 1])
        for i in prange(nx - 1):
            for j in range(ny - 1):
                hz[i, j] -= most * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz


def plain(tsteps: int, ex: Array, ey: Array, hz: Array, fict: Array) -> Any:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(tsteps):
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ey[0] = fict[t]
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


JNP = (
    updated,
    padded,
)
