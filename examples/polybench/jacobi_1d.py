"""jacobi-1d of PolyBench/C 4.2: tsteps times, B is the mean of three neighbours of A (times 0.33333), then A that of B.

The two elements at the ends stay.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"tsteps": 3, "n": 12},
    "large": {"tsteps": 500, "n": 2000},
}


def inputs(rng: np.random.Generator, tsteps: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, n).astype(np.float32),
        "B": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def jacobi_1d(tsteps: T.int32, n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for _t in T.serial(tsteps):
        for i in T.serial(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in T.serial(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
