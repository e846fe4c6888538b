"""conv2d_padded: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from baselines.common import Array, prange


def library(k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    return lax.conv_general_dilated(X[None], W, (1, 1), (around, around))[0]


def one_product(co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    padded = jnp.pad(X, ((0, 0), around, around))
    shifted = [padded[:, y : y + h, x : x + w] for y in range(k) for x in range(k)]
    return (W.reshape(co, -1) @ jnp.stack(shifted, axis=1).reshape(-1, h * w)).reshape(co, h, w)


def sum_of_products(co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    padded = jnp.pad(X, ((0, 0), around, around))
    shifted = [padded[:, y : y + h, x : x + w].reshape(X.shape[0], -1) for y in range(k) for x in range(k)]
    weights = W.reshape(co, -1, k * k)
    return sum(weights[:, :, t] @ s for t, s in enumerate(shifted)).reshape(co, h, w)


def loops(ci: int, co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    Y = np.zeros((co, h, w), X.dtype)
    half = k // 2
    for o in prange(co):
        for c in range(ci):
            for dy in range(k):
                for dx in range(k):
                    weight = W[o, c, dy, dx]
                    for y in range(max(half - dy, 0), min(h, h + half - dy)):
                        for x in range(max(half - dx, 0), min(w, w + half - dx)):
                            Y[o, y, x] += weight * X[c, y + dy - half, x + dx - half]
    return Y


def plain(co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    around = (k // 2, k - 1 - k // 2)
    windows = sliding_window_view(np.pad(X, ((0, 0), around, around)), (k, k), (1, 2)).transpose(0, 3, 4, 1, 2)
    return (W.reshape(co, -1) @ windows.reshape(-1, h * w)).reshape(co, h, w)


JNP = (
    library,
    one_product,
    sum_of_products,
)
