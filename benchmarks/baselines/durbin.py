"""durbin: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array


def masked_steps(r: Array) -> Any:
    """y is zero behind what is known, so that whole vectors can be used in each step."""
    n = r.shape[0]
    turned = jnp.concatenate([r[::-1], jnp.zeros(n, r.dtype)])

    def step(k, state):
        y, alpha, beta = state
        beta = (1 - alpha * alpha) * beta
        alpha = -(r[k] + lax.dynamic_slice(turned, (n - k,), (n,)) @ y) / beta
        reverse = lax.dynamic_slice(jnp.concatenate([y[::-1], jnp.zeros(n, y.dtype)]), (n - k,), (n,))
        return (y + alpha * reverse).at[k].set(alpha), alpha, beta

    y = jnp.zeros_like(r).at[0].set(-r[0])
    return lax.fori_loop(1, n, step, (y, -r[0], jnp.ones((), r.dtype)))[0]


def growing_steps(r: Array) -> Any:
    """As above in eight phases, each on vectors of its own length."""
    n = r.shape[0]
    turned = jnp.concatenate([r[::-1], jnp.zeros(n, r.dtype)])
    y, alpha, beta = -r[:1], -r[0], jnp.ones((), r.dtype)
    for start, end in zip([1, *(n * b // 8 for b in range(1, 8))], [n * b // 8 for b in range(1, 9)], strict=True):
        if end <= start:
            continue

        def step(k, state, size=end):
            y, alpha, beta = state
            beta = (1 - alpha * alpha) * beta
            alpha = -(r[k] + lax.dynamic_slice(turned, (n - k,), (size,)) @ y) / beta
            reverse = lax.dynamic_slice(jnp.concatenate([y[::-1], jnp.zeros(size, y.dtype)]), (size - k,), (size,))
            return (y + alpha * reverse).at[k].set(alpha), alpha, beta

        y = jnp.concatenate([y, jnp.zeros(end - y.shape[0], r.dtype)])
        y, alpha, beta = lax.fori_loop(start, end, step, (y, alpha, beta))
    return y


def loops(r: Array) -> Any:
    n = r.shape[0]
    y = np.empty_like(r)
    z = np.empty_like(r)
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


def plain(r: Array) -> Any:
    y = np.empty_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, len(r)):
        beta = (1 - alpha * alpha) * beta
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


JNP = (
    masked_steps,
    growing_steps,
)
