"""covariance: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from baselines.common import Array, prange


def one_product(data: Array) -> Any:
    centred = data - data.mean(axis=0)
    return centred, (centred.T @ centred) / (data.shape[0] - 1)


def scaled_factor(data: Array) -> Any:
    centred = data - data.mean(axis=0)
    return centred, centred.T @ (centred / (data.shape[0] - 1))


def loops(data: Array) -> Any:
    n, m = data.shape
    mean = np.zeros(m, data.dtype)
    centred = np.empty_like(data)
    for part in prange(8):
        first, last = part * m // 8, (part + 1) * m // 8
        for i in range(n):
            for j in range(first, last):
                mean[j] += data[i, j]
        for j in range(first, last):
            mean[j] /= n
        for i in range(n):
            for j in range(first, last):
                centred[i, j] = data[i, j] - mean[j]
    cov = centred.T @ centred
    for i in prange(m):
        for j in range(m):
            cov[i, j] /= n - 1
    return centred, cov


def plain(data: Array) -> Any:
    centred = data - data.mean(axis=0)
    cov = centred.T @ centred
    cov /= len(data) - 1
    return centred, cov


JNP = (
    one_product,
    scaled_factor,
)
