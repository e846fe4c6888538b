"""2mm of PolyBench/C 4.2: D = alpha A B C + beta D, computed as tmp = alpha A B, then tmp C."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"ni": 4, "nj": 5, "nk": 6, "nl": 7},
    "large": {"ni": 800, "nj": 900, "nk": 1100, "nl": 1200},
}


def inputs(rng: np.random.Generator, ni: int, nj: int, nk: int, nl: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "alpha": np.float32(1.5),
        "beta": np.float32(1.2),
        "A": rng.uniform(-1, 2, (ni, nk)).astype(np.float32),
        "B": rng.uniform(-1, 2, (nk, nj)).astype(np.float32),
        "C": rng.uniform(-1, 2, (nj, nl)).astype(np.float32),
        "D": rng.uniform(-1, 2, (ni, nl)).astype(np.float32),
    }


@T.prim_func
def k2mm(
    ni: T.int32,
    nj: T.int32,
    nk: T.int32,
    nl: T.int32,
    alpha: T.float32,
    beta: T.float32,
    A: T.Buffer((ni, nk), "float32"),
    B: T.Buffer((nk, nj), "float32"),
    C: T.Buffer((nj, nl), "float32"),
    D: T.Buffer((ni, nl), "float32"),
):
    tmp = T.alloc_buffer((ni, nj), "float32")
    for i, j in T.grid(ni, nj):
        tmp[i, j] = 0.0
        for k in T.serial(nk):
            tmp[i, j] = tmp[i, j] + alpha * A[i, k] * B[k, j]
    for i, j in T.grid(ni, nl):
        D[i, j] = D[i, j] * beta
        for k in T.serial(nj):
            D[i, j] = D[i, j] + tmp[i, k] * C[k, j]
