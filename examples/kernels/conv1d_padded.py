"""1-d convolution (cross-correlation) of one channel, zero outside: Y[i] = sum over k of W[k] X[i + k - taps // 2]."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 20, "taps": 5},
    "large": {"n": 2097152, "taps": 5},
}


def inputs(rng: np.random.Generator, n: int, taps: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, n).astype(np.float32),
        "W": rng.uniform(-1, 2, taps).astype(np.float32),
    }


@T.prim_func
def conv1d_padded(
    n: T.int32,
    taps: T.int32,
    X: T.Buffer((n,), "float32"),
    W: T.Buffer((taps,), "float32"),
    Y: T.Buffer((n,), "float32"),
):
    for i in T.serial(n):
        Y[i] = 0.0
        for k in T.serial(taps):
            if i + k - taps // 2 >= 0 and i + k - taps // 2 < n:
                Y[i] = Y[i] + W[k] * X[i + k - taps // 2]
