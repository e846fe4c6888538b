"""seidel-2d of PolyBench/C 4.2: tsteps times, each inner element in turn becomes the mean of its 3 x 3 neighbourhood.

In place, so that the row above and the element to the left are already new.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"tsteps": 2, "n": 9},
    "large": {"tsteps": 10, "n": 400},
}


def inputs(rng: np.random.Generator, tsteps: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (n, n)).astype(np.float32),
    }


@T.prim_func
def seidel_2d(tsteps: T.int32, n: T.int32, A: T.Buffer((n, n), "float32")):
    for _t in T.serial(tsteps):
        for i in T.serial(1, n - 1):
            for j in T.serial(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
