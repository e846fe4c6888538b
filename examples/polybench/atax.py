"""atax of PolyBench/C 4.2: y = A' (A x), for A of shape [m, n], in one pass over the rows."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"m": 7, "n": 9},
    "large": {"m": 1900, "n": 2100},
}


def inputs(rng: np.random.Generator, m: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (m, n)).astype(np.float32),
        "x": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def atax(
    m: T.int32, n: T.int32, A: T.Buffer((m, n), "float32"), x: T.Buffer((n,), "float32"), y: T.Buffer((n,), "float32")
):
    tmp = T.alloc_buffer((m,), "float32")
    for i in T.serial(n):
        y[i] = 0.0
    for i in T.serial(m):
        tmp[i] = 0.0
        for j in T.serial(n):
            tmp[i] = tmp[i] + A[i, j] * x[j]
        for j in T.serial(n):
            y[j] = y[j] + A[i, j] * tmp[i]
