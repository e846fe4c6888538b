"""blur: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import lax

from baselines.common import Array, prange


def in_two_steps(X: Array) -> Any:
    means = (X[:, :-2] + X[:, 1:-1] + X[:, 2:]) / 3
    return (means[:-2] + means[1:-1] + means[2:]) / 3


def one_factor(X: Array) -> Any:
    sums = X[:, :-2] + X[:, 1:-1] + X[:, 2:]
    return (sums[:-2] + sums[1:-1] + sums[2:]) * (1 / 9)


def rows_first(X: Array) -> Any:
    sums = X[:-2] + X[1:-1] + X[2:]
    return (sums[:, :-2] + sums[:, 1:-1] + sums[:, 2:]) * (1 / 9)


def rows_kept(X: Array) -> Any:
    """The sums of rows are computed once, and kept."""
    sums = lax.optimization_barrier(X[:-2] + X[1:-1] + X[2:])
    return (sums[:, :-2] + sums[:, 1:-1] + sums[:, 2:]) * (1 / 9)


def loops(X: Array) -> Any:
    h, w = X.shape
    Y = np.empty((h - 2, w - 2), X.dtype)
    ninth = np.float32(1) / np.float32(9)
    for y in prange(h - 2):
        for x in range(w - 2):
            above = X[y, x] + X[y, x + 1] + X[y, x + 2]
            middle = X[y + 1, x] + X[y + 1, x + 1] + X[y + 1, x + 2]
            Y[y, x] = (above + middle + X[y + 2, x] + X[y + 2, x + 1] + X[y + 2, x + 2]) * ninth
    return Y


def plain(X: Array) -> Any:
    sums = X[:-2] + X[1:-1]
    sums += X[2:]
    out = sums[:, :-2] + sums[:, 1:-1]
    out += sums[:, 2:]
    out *= 1 / 9
    return out


JNP = (
    in_two_steps,
    one_factor,
    rows_first,
    rows_kept,
)
