"""2-d convolution (cross-correlation) of many channels without padding.

Y[o, y, x] = sum over c, dy, dx of W[o, c, dy, dx] X[c, y + dy, x + dx], for an image X [ci, h, w] and k x k filters W.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"ci": 2, "co": 3, "h": 6, "w": 7, "k": 3},
    "large": {"ci": 16, "co": 32, "h": 56, "w": 58, "k": 3},
}


def inputs(rng: np.random.Generator, ci: int, co: int, h: int, w: int, k: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (ci, h, w)).astype(np.float32),
        "W": rng.uniform(-1, 2, (co, ci, k, k)).astype(np.float32),
    }


@T.prim_func
def conv2d(
    ci: T.int32,
    co: T.int32,
    h: T.int32,
    w: T.int32,
    k: T.int32,
    X: T.Buffer((ci, h, w), "float32"),
    W: T.Buffer((co, ci, k, k), "float32"),
    Y: T.Buffer((co, h - k + 1, w - k + 1), "float32"),
):
    for o, y, x in T.grid(co, h - k + 1, w - k + 1):
        Y[o, y, x] = 0.0
        for c, dy, dx in T.grid(ci, k, k):
            Y[o, y, x] = Y[o, y, x] + W[o, c, dy, dx] * X[c, y + dy, x + dx]
