"""deriche: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def coefficients(alpha: Array) -> Any:
    e = jnp.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - jnp.exp(2 * alpha))
    return k, k * e * (alpha - 1), k * e * (alpha + 1), -k * e * e, 2.0 ** (-alpha), -e * e


def as_products(alpha: Array, img_in: Array) -> Any:
    """The filters are linear: the responses to single impulses are computed once, and make two matrices."""
    w, h = img_in.shape
    length = max(w, h)
    a1, a2, a3, a4, b1, b2 = coefficients(alpha)

    def step(state, n):
        y1, y2 = state
        y = b1 * y1 + b2 * y2 + jnp.where(n == 0, 1.0, 0.0)
        return (y, y1), y

    zero = jnp.zeros((), img_in.dtype)
    _, free = lax.scan(step, (zero, zero), jnp.arange(length), unroll=8)
    late = jnp.pad(free, (1, 0))[:length]
    later = jnp.pad(free, (2, 0))[:length]
    forward = a1 * free + a2 * late
    backward = a3 * late + a4 * later
    response = jnp.concatenate([backward[:0:-1], forward.at[0].add(backward[0])])

    def matrix(n):
        distance = jnp.arange(n)[:, None] - jnp.arange(n)
        return response[distance + length - 1]

    return matrix(w) @ img_in @ matrix(h).T


def as_scans(alpha: Array, img_in: Array) -> Any:
    a1, a2, a3, a4, b1, b2 = coefficients(alpha)

    def both(x):
        """The sum of both filters along the first axis."""
        zero = jnp.zeros_like(x[0])

        def forward(state, x):
            x1, y1, y2 = state
            y = a1 * x + a2 * x1 + b1 * y1 + b2 * y2
            return (x, y, y1), y

        def backward(state, x):
            x1, x2, y1, y2 = state
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            return (x, x1, y, y1), y

        down = lax.scan(forward, (zero,) * 3, x)[1]
        return down + lax.scan(backward, (zero,) * 4, x, reverse=True)[1]

    return both(both(img_in.T).T)


def loops(alpha: Array, img_in: Array) -> Any:
    w, h = img_in.shape
    zero = img_in.dtype.type(0)
    e = np.exp(-alpha)
    k = (1 - e) * (1 - e) / (1 + 2 * alpha * e - np.exp(2 * alpha))
    a1, a2, a3, a4 = zero + k, zero + k * e * (alpha - 1), zero + k * e * (alpha + 1), zero - k * e * e
    a1, a2, a3, a4 = np.float32(a1), np.float32(a2), np.float32(a3), np.float32(a4)
    b1, b2 = np.float32(2.0 ** (-alpha)), np.float32(-e * e)
    mid = np.empty_like(img_in)
    for i in prange(w):
        x1 = x2 = y1 = y2 = zero
        for j in range(h):
            x = img_in[i, j]
            y = a1 * x + a2 * x1 + b1 * y1 + b2 * y2
            x1, y1, y2 = x, y, y1
            mid[i, j] = y
        x1 = y1 = y2 = zero
        for s in range(h):
            j = h - 1 - s
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            x1, x2, y1, y2 = img_in[i, j], x1, y, y1
            mid[i, j] += y
    out = np.empty_like(img_in)
    for part in prange(8):
        first, last = part * h // 8, (part + 1) * h // 8
        width = last - first
        u = np.zeros((4, width), img_in.dtype)
        for i in range(w):
            for j in range(width):
                x = mid[i, first + j]
                y = a1 * x + a2 * u[0, j] + b1 * u[2, j] + b2 * u[3, j]
                u[0, j] = x
                u[3, j] = u[2, j]
                u[2, j] = y
                out[i, first + j] = y
        u[:] = zero
        for s in range(w):
            i = w - 1 - s
            for j in range(width):
                y = a3 * u[0, j] + a4 * u[1, j] + b1 * u[2, j] + b2 * u[3, j]
                u[1, j] = u[0, j]
                u[0, j] = mid[i, first + j]
                u[3, j] = u[2, j]
                u[2, j] = y
                out[i, first + j] += y
    return out


def plain(alpha: Array, img_in: Array) -> Any:
    e = np.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - np.exp(2 * alpha))
    a2, a3, a4, b1, b2 = k * e * (alpha - 1), k * e * (alpha + 1), -k * e * e, np.float32(2.0) ** -alpha, -e * e

    def both(x):
        x = np.ascontiguousarray(x)
        down, up = np.zeros((len(x) + 2, x.shape[1]), x.dtype), np.zeros((len(x) + 2, x.shape[1]), x.dtype)
        near = np.concatenate([np.zeros((2, x.shape[1]), x.dtype), x, np.zeros((2, x.shape[1]), x.dtype)])
        for i in range(len(x)):
            down[i + 2] = k * x[i] + a2 * near[i + 1] + b1 * down[i + 1] + b2 * down[i]
        for i in range(len(x) - 1, -1, -1):
            up[i] = a3 * near[i + 3] + a4 * near[i + 4] + b1 * up[i + 1] + b2 * up[i + 2]
        return down[2:] + up[:-2]

    return both(both(img_in.T).T)


JNP = (
    as_products,
    as_scans,
)
