"""heat-3d of PolyBench/C 4.2: tsteps times, B = A + 0.125 times its second differences along each axis, then A of B.

The borders stay.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"tsteps": 2, "n": 6},
    "large": {"tsteps": 50, "n": 40},
}


def inputs(rng: np.random.Generator, tsteps: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (n, n, n)).astype(np.float32),
        "B": rng.uniform(-1, 2, (n, n, n)).astype(np.float32),
    }


@T.prim_func
def heat_3d(tsteps: T.int32, n: T.int32, A: T.Buffer((n, n, n), "float32"), B: T.Buffer((n, n, n), "float32")):
    for _t in T.serial(tsteps):
        for i in T.serial(1, n - 1):
            for j in T.serial(1, n - 1):
                for k in T.serial(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in T.serial(1, n - 1):
            for j in T.serial(1, n - 1):
                for k in T.serial(1, n - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )
