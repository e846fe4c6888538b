"""softmax: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def library(X: Array) -> Any:
    return jax.nn.softmax(X, axis=1)


def one_reciprocal(X: Array) -> Any:
    numerators = jnp.exp(X - X.max(axis=1, keepdims=True))
    return numerators * (1 / numerators.sum(axis=1, keepdims=True))


def exponent_twice(X: Array) -> Any:
    """The exponential is computed again rather than kept."""
    centred = X - X.max(axis=1, keepdims=True)
    return jnp.exp(centred - jnp.log(jnp.exp(centred).sum(axis=1, keepdims=True)))


def loops(X: Array) -> Any:
    rows, cols = X.shape
    Y = np.empty_like(X)
    for i in prange(rows):
        largest = X[i, 0]
        for j in range(cols):
            largest = max(largest, X[i, j])
        total = X.dtype.type(0)
        for j in range(cols):
            Y[i, j] = np.exp(X[i, j] - largest)
            total += Y[i, j]
        factor = X.dtype.type(1) / total
        for j in range(cols):
            Y[i, j] *= factor
    return Y


def plain(X: Array) -> Any:
    Y = np.exp(X - X.max(axis=1, keepdims=True))
    Y /= Y.sum(axis=1, keepdims=True)
    return Y


JNP = (
    library,
    one_reciprocal,
    exponent_twice,
)
