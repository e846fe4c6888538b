"""floyd_warshall: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def steps(path: Array) -> Any:
    """Row and column k do not change in step k where no distance is negative."""

    def step(k, path):
        row = lax.dynamic_slice_in_dim(path, k, 1, axis=0)
        column = lax.dynamic_slice_in_dim(path, k, 1, axis=1)
        return jnp.minimum(path, column + row)

    return lax.fori_loop(0, path.shape[0], step, path)


def several_steps(path: Array, width: int = 8) -> Any:
    """Several steps on a few rows and columns first, then all at once on the rest, so that path is read less often."""
    n = path.shape[0]
    if n < 4 * width:
        return steps(path)

    def block(b, path):
        rows = lax.dynamic_slice_in_dim(path, b * width, width, axis=0)
        columns = lax.dynamic_slice_in_dim(path, b * width, width, axis=1)
        corner = lax.dynamic_slice_in_dim(rows, b * width, width, axis=1)
        for k in range(width):
            row = rows[k : k + 1]
            rows = jnp.minimum(rows, corner[:, k : k + 1] + row)
            columns = jnp.minimum(columns, columns[:, k : k + 1] + corner[k : k + 1])
            corner = jnp.minimum(corner, corner[:, k : k + 1] + corner[k : k + 1])
        for k in range(width):
            path = jnp.minimum(path, columns[:, k : k + 1] + rows[k : k + 1])
        return path

    whole = n // width
    path = lax.fori_loop(0, whole, block, path)
    for k in range(whole * width, n):
        path = jnp.minimum(path, path[:, k : k + 1] + path[k : k + 1])
    return path


def loops(path: Array) -> Any:
    n = path.shape[0]
    path = path.copy()
    for k in range(n):
        for i in prange(n):
            first = path[i, k]
            for j in range(n):
                path[i, j] = min(path[i, j], first + path[k, j])
    return path


def plain(path: Array) -> Any:
    path = path.copy()
    for k in range(len(path)):
        np.minimum(path, path[:, k, None] + path[k], out=path)
    return path


JNP = (
    steps,
    several_steps,
)
