"""conv2d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from baselines.common import Array, prange


def library(X: Array, W: Array) -> Any:
    return lax.conv_general_dilated(X[None], W, (1, 1), "VALID")[0]


def channels_last(X: Array, W: Array) -> Any:
    dimensions = ("NHWC", "HWIO", "NHWC")
    image, filters = X.transpose(1, 2, 0)[None], W.transpose(2, 3, 1, 0)
    return lax.conv_general_dilated(image, filters, (1, 1), "VALID", dimension_numbers=dimensions)[0].transpose(2, 0, 1)


def sum_of_products(co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    size = (h - k + 1, w - k + 1)
    shifted = [X[:, y : y + size[0], x : x + size[1]].reshape(X.shape[0], -1) for y in range(k) for x in range(k)]
    weights = W.reshape(co, -1, k * k)
    return sum(weights[:, :, t] @ s for t, s in enumerate(shifted)).reshape(co, *size)


def one_product(co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    """All shifted copies of the image as rows of one matrix."""
    size = (h - k + 1, w - k + 1)
    shifted = [X[:, y : y + size[0], x : x + size[1]] for y in range(k) for x in range(k)]
    rows = jnp.stack(shifted, axis=1).reshape(-1, size[0] * size[1])
    return (W.reshape(co, -1) @ rows).reshape(co, *size)


def loops(ci: int, co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    Y = np.zeros((co, h - k + 1, w - k + 1), X.dtype)
    for o in prange(co):
        for c in range(ci):
            for dy in range(k):
                for dx in range(k):
                    weight = W[o, c, dy, dx]
                    for y in range(h - k + 1):
                        for x in range(w - k + 1):
                            Y[o, y, x] += weight * X[c, y + dy, x + dx]
    return Y


def plain(co: int, h: int, w: int, k: int, X: Array, W: Array) -> Any:
    windows = sliding_window_view(X, (k, k), (1, 2)).transpose(0, 3, 4, 1, 2)
    return (W.reshape(co, -1) @ windows.reshape(-1, (h - k + 1) * (w - k + 1))).reshape(co, h - k + 1, w - k + 1)


JNP = (
    library,
    channels_last,
    sum_of_products,
    one_product,
)
