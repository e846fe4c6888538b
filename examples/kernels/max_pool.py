"""Max pooling of [c, 2 h, 2 w] over windows of 2 x 2: Y[c, y, x] = max over dy, dx of X[c, 2 y + dy, 2 x + dx]."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"c": 3, "h": 4, "w": 5},
    "large": {"c": 64, "h": 56, "w": 57},
}


def inputs(rng: np.random.Generator, c: int, h: int, w: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (c, 2 * h, 2 * w)).astype(np.float32),
    }


@T.prim_func
def max_pool(
    c: T.int32, h: T.int32, w: T.int32, X: T.Buffer((c, 2 * h, 2 * w), "float32"), Y: T.Buffer((c, h, w), "float32")
):
    for ch, y, x in T.grid(c, h, w):
        Y[ch, y, x] = X[ch, 2 * y, 2 * x]
        for dy, dx in T.grid(2, 2):
            Y[ch, y, x] = T.max(Y[ch, y, x], X[ch, 2 * y + dy, 2 * x + dx])
