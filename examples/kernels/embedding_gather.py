"""Embedding: row i of the result is row ids[i] of the table. The inputs have ids in range."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 6, "vocabulary": 11, "d": 5},
    "large": {"n": 8192, "vocabulary": 30000, "d": 128},
}


def inputs(rng: np.random.Generator, n: int, vocabulary: int, d: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "ids": rng.integers(0, vocabulary, n).astype(np.int32),
        "table": rng.uniform(-1, 2, (vocabulary, d)).astype(np.float32),
    }


@T.prim_func
def embedding_gather(
    n: T.int32,
    vocabulary: T.int32,
    d: T.int32,
    ids: T.Buffer((n,), "int32"),
    table: T.Buffer((vocabulary, d), "float32"),
    Y: T.Buffer((n, d), "float32"),
):
    for i, k in T.grid(n, d):
        Y[i, k] = table[ids[i], k]
