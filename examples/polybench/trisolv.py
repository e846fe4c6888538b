"""trisolv of PolyBench/C 4.2: solves L x = b by forward substitution; only the lower triangle of L is read.

The inputs have a dominant diagonal, so that the solution does not grow.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 12},
    "large": {"n": 2000},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    values = rng.uniform(-1, 2, (n, n))
    return {
        "L": (values + 2 * n * np.eye(n)).astype(np.float32),
        "b": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def trisolv(n: T.int32, L: T.Buffer((n, n), "float32"), x: T.Buffer((n,), "float32"), b: T.Buffer((n,), "float32")):
    for i in T.serial(n):
        x[i] = b[i]
        for j in T.serial(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
