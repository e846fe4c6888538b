"""gramschmidt of PolyBench/C 4.2: A = Q R by modified Gram-Schmidt, for A of shape [m, n] with m >= n.

A is overwritten by what is left of its columns; R is written on and above its diagonal only. In float64, since the
method loses orthogonality in proportion to the precision times the condition of A.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"m": 9, "n": 6},
    "large": {"m": 240, "n": 200},
}


def inputs(rng: np.random.Generator, m: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (m, n)),
    }


@T.prim_func
def gramschmidt(
    m: T.int32,
    n: T.int32,
    A: T.Buffer((m, n), "float64"),
    R: T.Buffer((n, n), "float64"),
    Q: T.Buffer((m, n), "float64"),
):
    norm = T.alloc_buffer((1,), "float64")
    for k in T.serial(n):
        norm[0] = 0.0
        for i in T.serial(m):
            norm[0] = norm[0] + A[i, k] * A[i, k]
        R[k, k] = T.sqrt(norm[0])
        for i in T.serial(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in T.serial(k + 1, n):
            R[k, j] = 0.0
            for i in T.serial(m):
                R[k, j] = R[k, j] + Q[i, k] * A[i, j]
            for i in T.serial(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]
