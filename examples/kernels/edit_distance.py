"""Edit distance: D[i, j] is how many letters to insert, delete or replace to make b[:j] of a[:i]."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 9, "m": 7},
    "large": {"n": 1000, "m": 1000},
}


def inputs(rng: np.random.Generator, n: int, m: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "a": rng.integers(0, 4, n).astype(np.int32),
        "b": rng.integers(0, 4, m).astype(np.int32),
    }


@T.prim_func
def edit_distance(
    n: T.int32,
    m: T.int32,
    a: T.Buffer((n,), "int32"),
    b: T.Buffer((m,), "int32"),
    D: T.Buffer((n + 1, m + 1), "int32"),
):
    for i in T.serial(n + 1):
        D[i, 0] = i
    for j in T.serial(m + 1):
        D[0, j] = j
    for i, j in T.grid(n, m):
        D[i + 1, j + 1] = T.min(
            T.min(D[i, j + 1], D[i + 1, j]) + 1,
            D[i, j] + T.Select(a[i] == b[j], 0, 1),
        )
