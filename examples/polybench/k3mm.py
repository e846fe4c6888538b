"""3mm of PolyBench/C 4.2: E = A B, F = C D, G = E F."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"ni": 4, "nj": 5, "nk": 6, "nl": 7, "nm": 3},
    "large": {"ni": 800, "nj": 900, "nk": 1000, "nl": 1100, "nm": 1200},
}


def inputs(rng: np.random.Generator, ni: int, nj: int, nk: int, nl: int, nm: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (ni, nk)).astype(np.float32),
        "B": rng.uniform(-1, 2, (nk, nj)).astype(np.float32),
        "C": rng.uniform(-1, 2, (nj, nm)).astype(np.float32),
        "D": rng.uniform(-1, 2, (nm, nl)).astype(np.float32),
    }


@T.prim_func
def k3mm(
    ni: T.int32,
    nj: T.int32,
    nk: T.int32,
    nl: T.int32,
    nm: T.int32,
    A: T.Buffer((ni, nk), "float32"),
    B: T.Buffer((nk, nj), "float32"),
    C: T.Buffer((nj, nm), "float32"),
    D: T.Buffer((nm, nl), "float32"),
    G: T.Buffer((ni, nl), "float32"),
):
    E = T.alloc_buffer((ni, nj), "float32")
    F = T.alloc_buffer((nj, nl), "float32")
    for i, j in T.grid(ni, nj):
        E[i, j] = 0.0
        for k in T.serial(nk):
            E[i, j] = E[i, j] + A[i, k] * B[k, j]
    for i, j in T.grid(nj, nl):
        F[i, j] = 0.0
        for k in T.serial(nm):
            F[i, j] = F[i, j] + C[i, k] * D[k, j]
    for i, j in T.grid(ni, nl):
        G[i, j] = 0.0
        for k in T.serial(nj):
            G[i, j] = G[i, j] + E[i, k] * F[k, j]
