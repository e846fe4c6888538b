"""correlation of PolyBench/C 4.2: correlation matrix [m, m] of the columns of data [n, m].

data is standardised in place: minus the mean, divided by sqrt(n) times the standard deviation (over n), where a
deviation of at most 0.1 counts as 1. The diagonal of the result is set to 1.
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
def correlation(m: T.int32, n: T.int32, data: T.Buffer((n, m), "float32"), corr: T.Buffer((m, m), "float32")):
    T.assume(m >= 1)
    mean = T.alloc_buffer((m,), "float32")
    stddev = T.alloc_buffer((m,), "float32")
    for j in T.serial(m):
        mean[j] = 0.0
        for i in T.serial(n):
            mean[j] = mean[j] + data[i, j]
        mean[j] = mean[j] / T.cast(n, "float32")
    for j in T.serial(m):
        stddev[j] = 0.0
        for i in T.serial(n):
            stddev[j] = stddev[j] + (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = T.sqrt(stddev[j] / T.cast(n, "float32"))
        stddev[j] = T.Select(stddev[j] <= 0.1, 1.0, stddev[j])
    for i, j in T.grid(n, m):
        data[i, j] = data[i, j] - mean[j]
        data[i, j] = data[i, j] / (T.sqrt(T.cast(n, "float32")) * stddev[j])
    for i in T.serial(m - 1):
        corr[i, i] = 1.0
        for j in T.serial(i + 1, m):
            corr[i, j] = 0.0
            for k in T.serial(n):
                corr[i, j] = corr[i, j] + data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0
