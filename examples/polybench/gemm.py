"""gemm of PolyBench/C 4.2: C = alpha A B + beta C, for A of shape [ni, nk] and B of shape [nk, nj]."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {"small": {"ni": 5, "nj": 6, "nk": 7}, "large": {"ni": 1000, "nj": 1100, "nk": 1200}}


def inputs(rng: np.random.Generator, ni: int, nj: int, nk: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "alpha": np.float32(1.5),
        "beta": np.float32(1.2),
        "C": rng.uniform(-1, 2, (ni, nj)).astype(np.float32),
        "A": rng.uniform(-1, 2, (ni, nk)).astype(np.float32),
        "B": rng.uniform(-1, 2, (nk, nj)).astype(np.float32),
    }


@T.prim_func
def gemm(
    ni: T.int32,
    nj: T.int32,
    nk: T.int32,
    alpha: T.float32,
    beta: T.float32,
    C: T.Buffer((ni, nj), "float32"),
    A: T.Buffer((ni, nk), "float32"),
    B: T.Buffer((nk, nj), "float32"),
):
    for i in T.serial(ni):
        for j in T.serial(nj):
            C[i, j] = beta * C[i, j]
        for k, j in T.grid(nk, nj):
            C[i, j] = C[i, j] + alpha * A[i, k] * B[k, j]
