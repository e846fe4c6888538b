"""Layer norm of each row: Y = (X - mean) / sqrt(var + 1e-5) * gamma + beta, var the mean squared deviation."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"rows": 5, "cols": 9},
    "large": {"rows": 1024, "cols": 1000},
}


def inputs(rng: np.random.Generator, rows: int, cols: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": rng.uniform(-1, 2, (rows, cols)).astype(np.float32),
        "gamma": rng.uniform(-1, 2, cols).astype(np.float32),
        "beta": rng.uniform(-1, 2, cols).astype(np.float32),
    }


@T.prim_func
def layer_norm(
    rows: T.int32,
    cols: T.int32,
    X: T.Buffer((rows, cols), "float32"),
    gamma: T.Buffer((cols,), "float32"),
    beta: T.Buffer((cols,), "float32"),
    Y: T.Buffer((rows, cols), "float32"),
):
    mean = T.alloc_buffer((1,), "float32")
    var = T.alloc_buffer((1,), "float32")
    for i in T.serial(rows):
        mean[0] = 0.0
        for j in T.serial(cols):
            mean[0] = mean[0] + X[i, j]
        mean[0] = mean[0] / T.cast(cols, "float32")
        var[0] = 0.0
        for j in T.serial(cols):
            var[0] = var[0] + (X[i, j] - mean[0]) * (X[i, j] - mean[0])
        var[0] = var[0] / T.cast(cols, "float32")
        for j in T.serial(cols):
            Y[i, j] = (X[i, j] - mean[0]) * T.rsqrt(var[0] + 0.00001) * gamma[j] + beta[j]
