"""conv1d_padded: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def padded_slices(n: int, taps: int, X: Array, W: Array) -> Any:
    padded = jnp.pad(X, (taps // 2, taps - 1 - taps // 2))
    return sum(W[k] * padded[k : n + k] for k in range(taps))


def padded_terms(n: int, taps: int, X: Array, W: Array) -> Any:
    """Each shifted copy is padded by itself."""
    shifts = [k - taps // 2 for k in range(taps)]
    terms = [W[k] * jnp.pad(X[max(s, 0) : n + min(s, 0)], (max(-s, 0), max(s, 0))) for k, s in enumerate(shifts)]
    return sum(terms)


def inside_and_ends(n: int, taps: int, X: Array, W: Array) -> Any:
    """The inner part without padding; the ends from a few elements each."""
    left, right = taps // 2, taps - 1 - taps // 2
    inner = sum(W[k] * X[k : n - taps + 1 + k] for k in range(taps))
    head = jnp.pad(X[: taps - 1], (left, 0))
    tail = jnp.pad(X[n - taps + 1 :], (0, right))
    first = sum(W[k] * head[k : k + left] for k in range(taps))
    last = sum(W[k] * tail[k : k + right] for k in range(taps))
    return jnp.concatenate([first, inner, last])


def loops(n: int, taps: int, X: Array, W: Array) -> Any:
    Y = np.empty_like(X)
    half = taps // 2
    for i in prange(half, n - (taps - 1 - half)):
        total = X.dtype.type(0)
        for k in range(taps):
            total += W[k] * X[i + k - half]
        Y[i] = total
    for e in range(taps - 1):
        i = e if e < half else n - (taps - 1) + e
        total = X.dtype.type(0)
        for k in range(taps):
            if i + k - half >= 0 and i + k - half < n:
                total += W[k] * X[i + k - half]
        Y[i] = total
    return Y


def plain(taps: int, X: Array, W: Array) -> Any:
    return np.correlate(np.pad(X, (taps // 2, taps - 1 - taps // 2)), W, "valid")


JNP = (
    padded_slices,
    padded_terms,
    inside_and_ends,
)
