"""Softmax of each row: Y[i, j] = exp(X[i, j] - m[i]) / sum over k of exp(X[i, k] - m[i]), m[i] the row's maximum."""

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
        "X": rng.uniform(-4, 6, (rows, cols)).astype(np.float32),
    }


@T.prim_func
def softmax(rows: T.int32, cols: T.int32, X: T.Buffer((rows, cols), "float32"), Y: T.Buffer((rows, cols), "float32")):
    T.assume(cols >= 1)
    largest = T.alloc_buffer((1,), "float32")
    total = T.alloc_buffer((1,), "float32")
    for i in T.serial(rows):
        largest[0] = X[i, 0]
        for j in T.serial(cols):
            largest[0] = T.max(largest[0], X[i, j])
        total[0] = 0.0
        for j in T.serial(cols):
            Y[i, j] = T.exp(X[i, j] - largest[0])
            total[0] = total[0] + Y[i, j]
        for j in T.serial(cols):
            Y[i, j] = Y[i, j] / total[0]
