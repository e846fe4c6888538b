"""lu of PolyBench/C 4.2: A = L U without pivoting, in place; the ones on the diagonal of L are not stored.

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
    }


@T.prim_func
def lu(n: T.int32, A: T.Buffer((n, n), "float32")):
    for i in T.serial(n):
        for j in T.serial(i):
            for k in T.serial(j):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in T.serial(i, n):
            for k in T.serial(i):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]
