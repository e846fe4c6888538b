"""Inclusive prefix sum: Y[i] = X[0] + ... + X[i]."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 20},
    "large": {"n": 1048576},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 1.1, n).astype(np.float32),
    }


@T.prim_func
def prefix_sum(n: T.int32, X: T.Buffer((n,), "float32"), Y: T.Buffer((n,), "float32")):
    total = T.alloc_buffer((1,), "float32")
    total[0] = 0.0
    for i in T.serial(n):
        total[0] = total[0] + X[i]
        Y[i] = total[0]
