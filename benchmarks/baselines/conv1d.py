"""conv1d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import lax

from baselines.common import Array, prange


def slices(n: int, taps: int, X: Array, W: Array) -> Any:
    return sum(W[k] * X[k : n - taps + 1 + k] for k in range(taps))


def library(X: Array, W: Array) -> Any:
    return lax.conv_general_dilated(X[None, None], W[None, None], (1,), "VALID")[0, 0]


def loops(n: int, taps: int, X: Array, W: Array) -> Any:
    Y = np.empty(n - taps + 1, X.dtype)
    for i in prange(n - taps + 1):
        total = X.dtype.type(0)
        for k in range(taps):
            total += W[k] * X[i + k]
        Y[i] = total
    return Y


def plain(X: Array, W: Array) -> Any:
    return np.correlate(X, W, "valid")


JNP = (
    slices,
    library,
)
