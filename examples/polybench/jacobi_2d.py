"""jacobi-2d of PolyBench/C 4.2: tsteps times, B is the mean of five neighbours of A, then A that of B; borders stay."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"tsteps": 2, "n": 9},
    "large": {"tsteps": 100, "n": 250},
}


def inputs(rng: np.random.Generator, tsteps: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (n, n)).astype(np.float32),
        "B": rng.uniform(-1, 2, (n, n)).astype(np.float32),
    }


@T.prim_func
def jacobi_2d(tsteps: T.int32, n: T.int32, A: T.Buffer((n, n), "float32"), B: T.Buffer((n, n), "float32")):
    for _t in T.serial(tsteps):
        for i in T.serial(1, n - 1):
            for j in T.serial(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in T.serial(1, n - 1):
            for j in T.serial(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
