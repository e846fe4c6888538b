"""ludcmp of PolyBench/C 4.2: solves A x = b by A = L U without pivoting, in place, then L y = b and U x = y.

The inputs are diagonally dominant, so that no pivot is small.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 9},
    "large": {"n": 400},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    values = rng.uniform(-1, 2, (n, n))
    return {
        "A": (values + 2 * n * np.eye(n)).astype(np.float32),
        "b": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def ludcmp(
    n: T.int32,
    A: T.Buffer((n, n), "float32"),
    b: T.Buffer((n,), "float32"),
    x: T.Buffer((n,), "float32"),
    y: T.Buffer((n,), "float32"),
):
    w = T.alloc_buffer((1,), "float32")
    for i in T.serial(n):
        for j in T.serial(i):
            w[0] = A[i, j]
            for k in T.serial(j):
                w[0] = w[0] - A[i, k] * A[k, j]
            A[i, j] = w[0] / A[j, j]
        for j in T.serial(i, n):
            w[0] = A[i, j]
            for k in T.serial(i):
                w[0] = w[0] - A[i, k] * A[k, j]
            A[i, j] = w[0]
    for i in T.serial(n):
        w[0] = b[i]
        for j in T.serial(i):
            w[0] = w[0] - A[i, j] * y[j]
        y[i] = w[0]
    for s in T.serial(n):
        w[0] = y[n - 1 - s]
        for j in T.serial(n - s, n):
            w[0] = w[0] - A[n - 1 - s, j] * x[j]
        x[n - 1 - s] = w[0] / A[n - 1 - s, n - 1 - s]
