"""sobel: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def padded_slices(X: Array) -> Any:
    P = jnp.pad(X, 1, mode="edge")
    across = P[:-2] + 2 * P[1:-1] + P[2:]
    down = P[:, :-2] + 2 * P[:, 1:-1] + P[:, 2:]
    gx = across[:, 2:] - across[:, :-2]
    gy = down[2:] - down[:-2]
    return jnp.sqrt(gx * gx + gy * gy)


def shifted_copies(X: Array) -> Any:
    """Neighbours by concatenation along one axis at a time."""
    up, down = jnp.concatenate([X[:1], X[:-1]]), jnp.concatenate([X[1:], X[-1:]])
    across, along = up + 2 * X + down, down - up
    gx = right_of(across) - left_of(across)
    gy = left_of(along) + 2 * along + right_of(along)
    return jnp.sqrt(gx * gx + gy * gy)


def left_of(x: Array) -> Any:
    return jnp.concatenate([x[:, :1], x[:, :-1]], axis=1)


def right_of(x: Array) -> Any:
    return jnp.concatenate([x[:, 1:], x[:, -1:]], axis=1)


def kept_padding(X: Array) -> Any:
    """The padded image is kept, so that no shifted copy has to ask where it is."""
    P = lax.optimization_barrier(jnp.pad(X, 1, mode="edge"))
    gx = P[:-2, 2:] + 2 * P[1:-1, 2:] + P[2:, 2:] - P[:-2, :-2] - 2 * P[1:-1, :-2] - P[2:, :-2]
    gy = P[2:, :-2] + 2 * P[2:, 1:-1] + P[2:, 2:] - P[:-2, :-2] - 2 * P[:-2, 1:-1] - P[:-2, 2:]
    return jnp.sqrt(gx * gx + gy * gy)


def loops(X: Array) -> Any:
    h, w = X.shape
    Y = np.empty_like(X)
    two = np.float32(2)
    for y in prange(h):
        above, below = X[max(y - 1, 0)], X[min(y + 1, h - 1)]
        here = X[y]
        for x in range(1, w - 1):
            gx = above[x + 1] + two * here[x + 1] + below[x + 1] - above[x - 1] - two * here[x - 1] - below[x - 1]
            gy = below[x - 1] + two * below[x] + below[x + 1] - above[x - 1] - two * above[x] - above[x + 1]
            Y[y, x] = np.sqrt(gx * gx + gy * gy)
        for x in (0, w - 1):
            a, b = max(x - 1, 0), min(x + 1, w - 1)
            gx = above[b] + two * here[b] + below[b] - above[a] - two * here[a] - below[a]
            gy = below[a] + two * below[x] + below[b] - above[a] - two * above[x] - above[b]
            Y[y, x] = np.sqrt(gx * gx + gy * gy)
    return Y


def plain(X: Array) -> Any:
    P = np.pad(X, 1, mode="edge")
    across = P[:-2] + 2 * P[1:-1] + P[2:]
    down = P[:, :-2] + 2 * P[:, 1:-1] + P[:, 2:]
    return np.hypot(across[:, 2:] - across[:, :-2], down[2:] - down[:-2])


JNP = (
    padded_slices,
    shifted_copies,
    kept_padding,
)
