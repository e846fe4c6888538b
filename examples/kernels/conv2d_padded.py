"""2-d convolution (cross-correlation) of many channels, zero outside, so that the result has the image's size.

Y[o, y, x] = sum over c, dy, dx of W[o, c, dy, dx] X[c, y + dy - k // 2, x + dx - k // 2],
for X [ci, h, w] and k x k filters W.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"ci": 2, "co": 3, "h": 5, "w": 6, "k": 3},
    "large": {"ci": 16, "co": 32, "h": 56, "w": 58, "k": 3},
}


def inputs(rng: np.random.Generator, ci: int, co: int, h: int, w: int, k: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (ci, h, w)).astype(np.float32),
        "W": rng.uniform(-1, 2, (co, ci, k, k)).astype(np.float32),
    }


@T.prim_func
def conv2d_padded(
    ci: T.int32,
    co: T.int32,
    h: T.int32,
    w: T.int32,
    k: T.int32,
    X: T.Buffer((ci, h, w), "float32"),
    W: T.Buffer((co, ci, k, k), "float32"),
    Y: T.Buffer((co, h, w), "float32"),
):
    for o, y, x in T.grid(co, h, w):
        Y[o, y, x] = 0.0
        for c, dy, dx in T.grid(ci, k, k):
            if y + dy - k // 2 >= 0 and y + dy - k // 2 < h and x + dx - k // 2 >= 0 and x + dx - k // 2 < w:
                Y[o, y, x] = Y[o, y, x] + W[o, c, dy, dx] * X[c, y + dy - k // 2, x + dx - k // 2]
