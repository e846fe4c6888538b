"""Attention of several heads: O[h] = softmax(Q[h] K[h]' / sqrt(d)) V[h], for n queries and m keys of d numbers.

The softmax is over the keys, with the largest score taken off first.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"heads": 2, "n": 4, "m": 5, "d": 3},
    "large": {"heads": 8, "n": 256, "m": 260, "d": 64},
}


def inputs(rng: np.random.Generator, heads: int, n: int, m: int, d: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "Q": rng.uniform(-1, 2, (heads, n, d)).astype(np.float32),
        "K": rng.uniform(-1, 2, (heads, m, d)).astype(np.float32),
        "V": rng.uniform(-1, 2, (heads, m, d)).astype(np.float32),
    }


@T.prim_func
def attention(
    heads: T.int32,
    n: T.int32,
    m: T.int32,
    d: T.int32,
    Q: T.Buffer((heads, n, d), "float32"),
    K: T.Buffer((heads, m, d), "float32"),
    V: T.Buffer((heads, m, d), "float32"),
    O: T.Buffer((heads, n, d), "float32"),
):
    T.assume(m >= 1)
    score = T.alloc_buffer((m,), "float32")
    largest = T.alloc_buffer((1,), "float32")
    total = T.alloc_buffer((1,), "float32")
    for h, i in T.grid(heads, n):
        for j in T.serial(m):
            score[j] = 0.0
            for k in T.serial(d):
                score[j] = score[j] + Q[h, i, k] * K[h, j, k]
            score[j] = score[j] / T.sqrt(T.cast(d, "float32"))
        largest[0] = score[0]
        for j in T.serial(m):
            largest[0] = T.max(largest[0], score[j])
        total[0] = 0.0
        for j in T.serial(m):
            score[j] = T.exp(score[j] - largest[0])
            total[0] = total[0] + score[j]
        for k in T.serial(d):
            O[h, i, k] = 0.0
            for j in T.serial(m):
                O[h, i, k] = O[h, i, k] + score[j] / total[0] * V[h, j, k]
