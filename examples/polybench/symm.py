"""symm of PolyBench/C 4.2: C = alpha A B + beta C, where A is symmetric and only its lower triangle is read.

The update of the rows above the diagonal (`C[k, j]`) is the part of the product that the upper triangle would give.
"""

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
        "C": rng.uniform(-1, 2, (m, n)).astype(np.float32),
        "A": rng.uniform(-1, 2, (m, m)).astype(np.float32),
        "B": rng.uniform(-1, 2, (m, n)).astype(np.float32),
    }


@T.prim_func
def symm(
    m: T.int32,
    n: T.int32,
    alpha: T.float32,
    beta: T.float32,
    C: T.Buffer((m, n), "float32"),
    A: T.Buffer((m, m), "float32"),
    B: T.Buffer((m, n), "float32"),
):
    temp2 = T.alloc_buffer((1,), "float32")
    for i, j in T.grid(m, n):
        temp2[0] = 0.0
        for k in T.serial(i):
            C[k, j] = C[k, j] + alpha * B[i, j] * A[i, k]
            temp2[0] = temp2[0] + B[k, j] * A[i, k]
        C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp2[0]
