"""correlation: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def one_product(data: Array) -> Any:
    n, m = data.shape
    centred = data - data.sum(axis=0) / n
    deviation = jnp.sqrt((centred * centred).sum(axis=0) / n)
    deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
    scaled = centred / (np.sqrt(n) * deviation)
    corr = scaled.T @ scaled
    return scaled, jnp.where(jnp.eye(m, dtype=bool), 1.0, corr)


def transposed(data: Array) -> Any:
    n = data.shape[0]
    rows = data.T
    centred = rows - rows.mean(axis=1, keepdims=True)
    deviation = jnp.sqrt((centred * centred).mean(axis=1, keepdims=True))
    scaled = centred * (1 / (np.sqrt(n) * jnp.where(deviation <= 0.1, 1.0, deviation)))
    return scaled.T, jnp.fill_diagonal(scaled @ scaled.T, 1.0, inplace=False)


def loops(data: Array) -> Any:
    n, m = data.shape
    zero = data.dtype.type(0)
    mean = np.zeros(m, data.dtype)
    deviation = np.zeros(m, data.dtype)
    scaled = np.empty_like(data)
    for part in prange(8):
        first, last = part * m // 8, (part + 1) * m // 8
        for i in range(n):
            for j in range(first, last):
                mean[j] += data[i, j]
        for j in range(first, last):
            mean[j] /= n
        for i in range(n):
            for j in range(first, last):
                deviation[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        for j in range(first, last):
            deviation[j] = np.sqrt(deviation[j] / n)
            if deviation[j] <= 0.1:
                deviation[j] = zero + 1
            deviation[j] *= np.sqrt(n)
        for i in range(n):
            for j in range(first, last):
                scaled[i, j] = (data[i, j] - mean[j]) / deviation[j]
    corr = scaled.T @ scaled
    for i in range(m):
        corr[i, i] = 1
    return scaled, corr


def plain(data: Array) -> Any:
    deviation = data.std(axis=0)
    deviation[deviation <= 0.1] = 1
    scaled = (data - data.mean(axis=0)) / (np.float32(np.sqrt(len(data))) * deviation)
    corr = scaled.T @ scaled
    np.fill_diagonal(corr, 1)
    return scaled, corr


JNP = (
    one_product,
    transposed,
)
