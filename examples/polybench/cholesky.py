"""cholesky of PolyBench/C 4.2: the lower triangle of A becomes L with A = L L', in place; the rest of A stays.

The inputs are symmetric and positive definite.
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
        "A": (values @ values.T / n + np.eye(n)).astype(np.float32),
    }


@T.prim_func
def cholesky(n: T.int32, A: T.Buffer((n, n), "float32")):
    for i in T.serial(n):
        for j in T.serial(i):
            for k in T.serial(j):
                A[i, j] = A[i, j] - A[i, k] * A[j, k]
            A[i, j] = A[i, j] / A[j, j]
        for k in T.serial(i):
            A[i, i] = A[i, i] - A[i, k] * A[i, k]
        A[i, i] = T.sqrt(A[i, i])
