"""syrk of PolyBench/C 4.2: the lower triangle of C = alpha A A' + beta C, for A of shape [n, m]."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"m": 6, "n": 7},
    "large": {"m": 1000, "n": 1200},
}


def inputs(rng: np.random.Generator, m: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "alpha": np.float32(1.5),
        "beta": np.float32(1.2),
        "C": rng.uniform(-1, 2, (n, n)).astype(np.float32),
        "A": rng.uniform(-1, 2, (n, m)).astype(np.float32),
    }


@T.prim_func
def syrk(
    m: T.int32,
    n: T.int32,
    alpha: T.float32,
    beta: T.float32,
    C: T.Buffer((n, n), "float32"),
    A: T.Buffer((n, m), "float32"),
):
    for i in T.serial(n):
        for j in T.serial(i + 1):
            C[i, j] = C[i, j] * beta
        for k, j in T.grid(m, i + 1):
            C[i, j] = C[i, j] + alpha * A[i, k] * A[j, k]
