"""trmm of PolyBench/C 4.2: B = alpha A' B in place, where A is lower triangular with ones on the diagonal.

Only the part of A strictly below the diagonal is read. Row i of B needs the rows below it as they were.
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
        "A": rng.uniform(-1, 2, (m, m)).astype(np.float32),
        "B": rng.uniform(-1, 2, (m, n)).astype(np.float32),
    }


@T.prim_func
def trmm(m: T.int32, n: T.int32, alpha: T.float32, A: T.Buffer((m, m), "float32"), B: T.Buffer((m, n), "float32")):
    for i, j in T.grid(m, n):
        for k in T.serial(i + 1, m):
            B[i, j] = B[i, j] + A[k, i] * B[k, j]
        B[i, j] = alpha * B[i, j]
