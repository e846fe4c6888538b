"""Sobel gradient magnitude of an image, which continues at its borders with its last row or column.

With P[dy, dx] = X[clamp(y + dy), clamp(x + dx)]:
gx = P[-1, 1] + 2 P[0, 1] + P[1, 1] - P[-1, -1] - 2 P[0, -1] - P[1, -1], gy the same with the axes exchanged,
and Y[y, x] = sqrt(gx^2 + gy^2).
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"h": 6, "w": 7},
    "large": {"h": 1024, "w": 1280},
}


def inputs(rng: np.random.Generator, h: int, w: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (h, w)).astype(np.float32),
    }


@T.prim_func
def sobel(h: T.int32, w: T.int32, X: T.Buffer((h, w), "float32"), Y: T.Buffer((h, w), "float32")):
    for y, x in T.grid(h, w):
        up = T.max(y - 1, 0)
        down = T.min(y + 1, h - 1)
        left = T.max(x - 1, 0)
        right = T.min(x + 1, w - 1)
        gx = X[up, right] + 2.0 * X[y, right] + X[down, right] - X[up, left] - 2.0 * X[y, left] - X[down, left]
        gy = X[down, left] + 2.0 * X[down, x] + X[down, right] - X[up, left] - 2.0 * X[up, x] - X[up, right]
        Y[y, x] = T.sqrt(gx * gx + gy * gy)
