"""durbin of PolyBench/C 4.2: Levinson-Durbin recursion, which solves the Toeplitz system T y = -r.

T has ones on its diagonal and r[|i - j| - 1] beside it. In float64, since each step divides by what the step before
left of the prediction error. The inputs make T diagonally dominant.
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
    return {
        "r": rng.uniform(-0.4, 0.5, n) / n,
    }


@T.prim_func
def durbin(n: T.int32, r: T.Buffer((n,), "float64"), y: T.Buffer((n,), "float64")):
    T.assume(n >= 1)
    z = T.alloc_buffer((n,), "float64")
    alpha = T.alloc_buffer((1,), "float64")
    beta = T.alloc_buffer((1,), "float64")
    total = T.alloc_buffer((1,), "float64")
    y[0] = -r[0]
    beta[0] = 1.0
    alpha[0] = -r[0]
    for k in T.serial(1, n):
        beta[0] = (1.0 - alpha[0] * alpha[0]) * beta[0]
        total[0] = 0.0
        for i in T.serial(k):
            total[0] = total[0] + r[k - i - 1] * y[i]
        alpha[0] = -(r[k] + total[0]) / beta[0]
        for i in T.serial(k):
            z[i] = y[i] + alpha[0] * y[k - i - 1]
        for i in T.serial(k):
            y[i] = z[i]
        y[k] = alpha[0]
