"""nussinov of PolyBench/C 4.2: most base pairs of an RNA sequence of n bases (0 to 3; x and 3 - x pair), in place.

table[i, j], for i < j, is the largest of table[i, j - 1], table[i + 1, j], table[i + 1, j - 1] plus one if i and j pair
and are not neighbours, and table[i, k] + table[k + 1, j] for i < k < j. The inputs have a table of zeros.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 12},
    "large": {"n": 500},
}


def inputs(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "seq": rng.integers(0, 4, n).astype(np.int32),
        "table": np.zeros((n, n), np.int32),
    }


@T.prim_func
def nussinov(n: T.int32, seq: T.Buffer((n,), "int32"), table: T.Buffer((n, n), "int32")):
    for s in T.serial(n):
        for j in T.serial(n - s, n):
            if j - 1 >= 0:
                table[n - 1 - s, j] = T.max(table[n - 1 - s, j], table[n - 1 - s, j - 1])
            if n - s < n:
                table[n - 1 - s, j] = T.max(table[n - 1 - s, j], table[n - s, j])
            if j - 1 >= 0 and n - s < n:
                if n - 1 - s < j - 1:
                    table[n - 1 - s, j] = T.max(
                        table[n - 1 - s, j],
                        table[n - s, j - 1] + T.Select(seq[n - 1 - s] + seq[j] == 3, 1, 0),
                    )
                else:
                    table[n - 1 - s, j] = T.max(table[n - 1 - s, j], table[n - s, j - 1])
            for k in T.serial(n - s, j):
                table[n - 1 - s, j] = T.max(table[n - 1 - s, j], table[n - 1 - s, k] + table[k + 1, j])
