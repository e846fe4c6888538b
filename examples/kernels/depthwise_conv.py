"""Depthwise 2-d convolution (cross-correlation): one k x k filter for each channel, zero outside.

Y[c, y, x] = sum over dy, dx of W[c, dy, dx] X[c, y + dy - k // 2, x + dx - k // 2].
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"c": 3, "h": 5, "w": 6, "k": 3},
    "large": {"c": 32, "h": 112, "w": 114, "k": 3},
}


def inputs(rng: np.random.Generator, c: int, h: int, w: int, k: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (c, h, w)).astype(np.float32),
        "W": rng.uniform(-1, 2, (c, k, k)).astype(np.float32),
    }


@T.prim_func
def depthwise_conv(
    c: T.int32,
    h: T.int32,
    w: T.int32,
    k: T.int32,
    X: T.Buffer((c, h, w), "float32"),
    W: T.Buffer((c, k, k), "float32"),
    Y: T.Buffer((c, h, w), "float32"),
):
    for ch, y, x in T.grid(c, h, w):
        Y[ch, y, x] = 0.0
        for dy, dx in T.grid(k, k):
            if y + dy - k // 2 >= 0 and y + dy - k // 2 < h and x + dx - k // 2 >= 0 and x + dx - k // 2 < w:
                Y[ch, y, x] = Y[ch, y, x] + W[ch, dy, dx] * X[ch, y + dy - k // 2, x + dx - k // 2]
