"""Blur of an image by means of three along rows, then three along columns: Y [h - 2, w - 2] from X [h, w].

Y[y, x] is the mean of X over the window y .. y + 2, x .. x + 2; the horizontal means are kept for all rows.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"h": 8, "w": 9},
    "large": {"h": 1024, "w": 1280},
}


def inputs(rng: np.random.Generator, h: int, w: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (h, w)).astype(np.float32),
    }


@T.prim_func
def blur(h: T.int32, w: T.int32, X: T.Buffer((h, w), "float32"), Y: T.Buffer((h - 2, w - 2), "float32")):
    means = T.alloc_buffer((h, w - 2), "float32")
    for y, x in T.grid(h, w - 2):
        means[y, x] = (X[y, x] + X[y, x + 1] + X[y, x + 2]) / 3.0
    for y, x in T.grid(h - 2, w - 2):
        Y[y, x] = (means[y, x] + means[y + 1, x] + means[y + 2, x]) / 3.0
