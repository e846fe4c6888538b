"""adi of PolyBench/C 4.2: tsteps steps of the alternating-direction implicit method for heat on u [n, n].

With dx = dy = 1 / n and dt = 1 / tsteps, each half step solves tridiagonal systems (a, b, c along columns of u into v,
then d, e, f along rows of v into u) by forward elimination into p and q and back substitution; both
ends of a system are 1. In float64, since the systems' condition grows with n^2 / tsteps.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"tsteps": 2, "n": 7},
    "large": {"tsteps": 20, "n": 200},
}


def inputs(rng: np.random.Generator, tsteps: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "u": rng.uniform(-1, 2, (n, n)),
    }


@T.prim_func
def adi(tsteps: T.int32, n: T.int32, u: T.Buffer((n, n), "float64")):
    v = T.alloc_buffer((n, n), "float64")
    p = T.alloc_buffer((n, n), "float64")
    q = T.alloc_buffer((n, n), "float64")
    mul1 = 2.0 * T.cast(n * n, "float64") / T.cast(tsteps, "float64")
    mul2 = 1.0 * T.cast(n * n, "float64") / T.cast(tsteps, "float64")
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = -mul1 / 2.0
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = -mul2 / 2.0
    for _t in T.serial(tsteps):
        for i in T.serial(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in T.serial(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (-d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]) / (
                    a * p[i, j - 1] + b
                )
            v[n - 1, i] = 1.0
            for s in T.serial(n - 2):
                v[n - 2 - s, i] = p[i, n - 2 - s] * v[n - 1 - s, i] + q[i, n - 2 - s]
        for i in T.serial(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in T.serial(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (-a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]) / (
                    d * p[i, j - 1] + e
                )
            u[i, n - 1] = 1.0
            for s in T.serial(n - 2):
                u[i, n - 2 - s] = p[i, n - 2 - s] * u[i, n - 1 - s] + q[i, n - 2 - s]
