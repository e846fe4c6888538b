"""floyd-warshall of PolyBench/C 4.2: lengths of the shortest paths between all pairs of n nodes, in place.

The inputs are positive and small enough that no sum overflows; the diagonal is not zero.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 9},
    "large": {"n": 400},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "path": rng.integers(1, 1000, (n, n)).astype(np.int32),
    }


@T.prim_func
def floyd_warshall(n: T.int32, path: T.Buffer((n, n), "int32")):
    for k, i, j in T.grid(n, n, n):
        path[i, j] = T.Select(path[i, j] < path[i, k] + path[k, j], path[i, j], path[i, k] + path[k, j])
