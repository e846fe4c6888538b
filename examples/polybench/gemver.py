"""gemver of PolyBench/C 4.2: A += u1 v1' + u2 v2', then x += beta A' y + z, then w += alpha A x."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 9},
    "large": {"n": 2000},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "alpha": np.float32(1.5),
        "beta": np.float32(1.2),
        "A": rng.uniform(-1, 2, (n, n)).astype(np.float32),
        "u1": rng.uniform(-1, 2, n).astype(np.float32),
        "v1": rng.uniform(-1, 2, n).astype(np.float32),
        "u2": rng.uniform(-1, 2, n).astype(np.float32),
        "v2": rng.uniform(-1, 2, n).astype(np.float32),
        "w": rng.uniform(-1, 2, n).astype(np.float32),
        "x": rng.uniform(-1, 2, n).astype(np.float32),
        "y": rng.uniform(-1, 2, n).astype(np.float32),
        "z": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def gemver(
    n: T.int32,
    alpha: T.float32,
    beta: T.float32,
    A: T.Buffer((n, n), "float32"),
    u1: T.Buffer((n,), "float32"),
    v1: T.Buffer((n,), "float32"),
    u2: T.Buffer((n,), "float32"),
    v2: T.Buffer((n,), "float32"),
    w: T.Buffer((n,), "float32"),
    x: T.Buffer((n,), "float32"),
    y: T.Buffer((n,), "float32"),
    z: T.Buffer((n,), "float32"),
):
    for i, j in T.grid(n, n):
        A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i, j in T.grid(n, n):
        x[i] = x[i] + beta * A[j, i] * y[j]
    for i in T.serial(n):
        x[i] = x[i] + z[i]
    for i, j in T.grid(n, n):
        w[i] = w[i] + alpha * A[i, j] * x[j]
