"""covariance of PolyBench/C 4.2: covariance matrix [m, m] (over n - 1) of the columns of data [n, m].

The means are taken off data in place.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"m": 6, "n": 8},
    "large": {"m": 1200, "n": 1400},
}


def inputs(rng: np.random.Generator, m: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "data": rng.uniform(-2, 3, (n, m)).astype(np.float32),
    }


@T.prim_func
def covariance(m: T.int32, n: T.int32, data: T.Buffer((n, m), "float32"), cov: T.Buffer((m, m), "float32")):
    mean = T.alloc_buffer((m,), "float32")
    for j in T.serial(m):
        mean[j] = 0.0
        for i in T.serial(n):
            mean[j] = mean[j] + data[i, j]
        mean[j] = mean[j] / T.cast(n, "float32")
    for i, j in T.grid(n, m):
        data[i, j] = data[i, j] - mean[j]
    for i in T.serial(m):
        for j in T.serial(i, m):
            cov[i, j] = 0.0
            for k in T.serial(n):
                cov[i, j] = cov[i, j] + data[k, i] * data[k, j]
            cov[i, j] = cov[i, j] / (T.cast(n, "float32") - 1.0)
            cov[j, i] = cov[i, j]
