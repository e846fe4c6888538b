"""bicg of PolyBench/C 4.2: s = A' r and q = A p, for A of shape [n, m], in one pass over A."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"m": 7, "n": 9},
    "large": {"m": 1900, "n": 2100},
}


def inputs(rng: np.random.Generator, m: int, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (n, m)).astype(np.float32),
        "p": rng.uniform(-1, 2, m).astype(np.float32),
        "r": rng.uniform(-1, 2, n).astype(np.float32),
    }


@T.prim_func
def bicg(
    m: T.int32,
    n: T.int32,
    A: T.Buffer((n, m), "float32"),
    s: T.Buffer((m,), "float32"),
    q: T.Buffer((n,), "float32"),
    p: T.Buffer((m,), "float32"),
    r: T.Buffer((n,), "float32"),
):
    for i in T.serial(m):
        s[i] = 0.0
    for i in T.serial(n):
        q[i] = 0.0
        for j in T.serial(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]
