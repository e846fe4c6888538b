"""gesummv of PolyBench/C 4.2: y = alpha A x + beta B x, both products in one pass over the rows."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 9},
    "large": {"n": 1300},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "alpha": np.float32(1.5),
        "beta": np.float32(1.2),
        "A": rng.uniform(-1, 2, (n, n)).astype(np.float32),
        "B": rng.uniform(-1, 2, (n, n)).astype(np.float32),
        "x": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def gesummv(
    n: T.int32,
    alpha: T.float32,
    beta: T.float32,
    A: T.Buffer((n, n), "float32"),
    B: T.Buffer((n, n), "float32"),
    x: T.Buffer((n,), "float32"),
    y: T.Buffer((n,), "float32"),
):
    tmp = T.alloc_buffer((n,), "float32")
    for i in T.serial(n):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in T.serial(n):
            tmp[i] = A[i, j] * x[j] + tmp[i]
            y[i] = B[i, j] * x[j] + y[i]
        y[i] = alpha * tmp[i] + beta * y[i]
