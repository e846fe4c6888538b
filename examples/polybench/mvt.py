"""mvt of PolyBench/C 4.2: x1 += A y1 and x2 += A' y2."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 9},
    "large": {"n": 2000},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "x1": rng.uniform(-1, 2, n).astype(np.float32),
        "x2": rng.uniform(-1, 2, n).astype(np.float32),
        "y1": rng.uniform(-1, 2, n).astype(np.float32),
        "y2": rng.uniform(-1, 2, n).astype(np.float32),
        "A": rng.uniform(-1, 2, (n, n)).astype(np.float32),
    }


@T.prim_func
def mvt(
    n: T.int32,
    x1: T.Buffer((n,), "float32"),
    x2: T.Buffer((n,), "float32"),
    y1: T.Buffer((n,), "float32"),
    y2: T.Buffer((n,), "float32"),
    A: T.Buffer((n, n), "float32"),
):
    for i, j in T.grid(n, n):
        x1[i] = x1[i] + A[i, j] * y1[j]
    for i, j in T.grid(n, n):
        x2[i] = x2[i] + A[j, i] * y2[j]
