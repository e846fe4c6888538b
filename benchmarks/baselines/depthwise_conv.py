"""depthwise_conv: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def padded_slices(h: int, w: int, k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    padded = jnp.pad(X, ((0, 0), around, around))
    return sum(W[:, y, x, None, None] * padded[:, y : y + h, x : x + w] for y in range(k) for x in range(k))


def padded_terms(h: int, w: int, k: int, X: Array, W: Array) -> Any:
    """Each shifted copy is padded by itself."""

    def shifted(dy, dx):
        part = X[:, max(dy, 0) : h + min(dy, 0), max(dx, 0) : w + min(dx, 0)]
        return jnp.pad(part, ((0, 0), (max(-dy, 0), max(dy, 0)), (max(-dx, 0), max(dx, 0))))

    offsets = [(y, x) for y in range(k) for x in range(k)]
    return sum(W[:, y, x, None, None] * shifted(y - k // 2, x - k // 2) for y, x in offsets)


def library(c: int, k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    return lax.conv_general_dilated(X[None], W[:, None], (1, 1), (around, around), feature_group_count=c)[0]


def loops(c: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    Y = np.empty_like(X)
    half = k // 2
    for ch in prange(c):
        for y in range(h):
            for x in range(w):
                Y[ch, y, x] = 0
            for dy in range(max(half - y, 0), min(k, h + half - y)):
                for dx in range(k):
                    weight = W[ch, dy, dx]
                    for x in range(max(half - dx, 0), min(w, w + half - dx)):
                        Y[ch, y, x] += weight * X[ch, y + dy - half, x + dx - half]
    return Y


def plain(h: int, w: int, k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    padded = np.pad(X, ((0, 0), around, around))
    Y = np.zeros_like(X)
    for y in range(k):
        for x in range(k):
            Y += W[:, y, x, None, None] * padded[:, y : y + h, x : x + w]
    return Y


JNP = (
    padded_slices,
    padded_terms,
    library,
)
