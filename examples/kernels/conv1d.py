"""1-d convolution (cross-correlation) of one channel without padding: Y[i] = sum over k of W[k] X[i + k]."""

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
def conv1d(
    n: T.int32,
    taps: T.int32,
    X: T.Buffer((n,), "float32"),
    W: T.Buffer((taps,), "float32"),
    Y: T.Buffer((n - taps + 1,), "float32"),
):
    for i in T.serial(n - taps + 1):
        Y[i] = 0.0
        for k in T.serial(taps):
            Y[i] = Y[i] + W[k] * X[i + k]
