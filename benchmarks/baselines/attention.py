"""attention: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from baselines.common import Array, prange


def two_products(d: int, Q: Array, K: Array, V: Array) -> Any:
    scores = jnp.einsum("hnd,hmd->hnm", Q, K) * (1 / np.sqrt(d)).astype(np.float32)
    return jnp.einsum("hnm,hmd->hnd", jax.nn.softmax(scores, axis=2), V)


def divided_late(d: int, Q: Array, K: Array, V: Array) -> Any:
    """The sum of the numerators divides the small result."""
    scores = jnp.einsum("hnd,hmd->hnm", Q * (1 / np.sqrt(d)).astype(np.float32), K)
    numerators = jnp.exp(scores - scores.max(axis=2, keepdims=True))
    return jnp.einsum("hnm,hmd->hnd", numerators, V) / numerators.sum(axis=2, keepdims=True)


def library(Q: Array, K: Array, V: Array) -> Any:
    q, k, v = (x.transpose(1, 0, 2)[None] for x in (Q, K, V))
    return jax.nn.dot_product_attention(q, k, v)[0].transpose(1, 0, 2)


def loops(heads: int, n: int, m: int, d: int, Q: Array, K: Array, V: Array) -> Any:
    out = np.empty_like(Q)
    scale = np.float32(1 / np.sqrt(d))
    for h in prange(heads):
        scores = Q[h] @ K[h].T
        for i in range(n):
            largest = scores[i, 0]
            for j in range(m):
                largest = max(largest, scores[i, j])
            total = Q.dtype.type(0)
            for j in range(m):
                scores[i, j] = np.exp((scores[i, j] - largest) * scale)
                total += scores[i, j]
            for j in range(m):
                scores[i, j] /= total
        out[h] = scores @ V[h]
    return out


def plain(d: int, Q: Array, K: Array, V: Array) -> Any:
    scores = Q @ K.transpose(0, 2, 1)
    scores *= np.float32(1 / np.sqrt(d))
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    return (scores @ V) / scores.sum(axis=2, keepdims=True)


JNP = (
    two_products,
    divided_late,
    library,
)
