"""Product of a sparse matrix in CSR form with a vector: y[i] = sum over e in ptr[i] .. ptr[i + 1] of val[e] x[col[e]].

The inputs have nnz entries in rows of different lengths; ptr does not decrease and columns are in range.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"rows": 8, "cols": 9, "nnz": 20},
    "large": {"rows": 20000, "cols": 20500, "nnz": 400000},
}


def inputs(rng: np.random.Generator, rows: int, cols: int, nnz: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    ends = np.sort(rng.integers(0, nnz + 1, rows - 1))
    return {
        "ptr": np.concatenate([[0], ends, [nnz]]).astype(np.int32),
        "col": rng.integers(0, cols, nnz).astype(np.int32),
        "val": rng.uniform(-1, 2, nnz).astype(np.float32),
        "x": rng.uniform(-1, 2, cols).astype(np.float32),
    }


@T.prim_func
def spmv(
    rows: T.int32,
    cols: T.int32,
    nnz: T.int32,
    ptr: T.Buffer((rows + 1,), "int32"),
    col: T.Buffer((nnz,), "int32"),
    val: T.Buffer((nnz,), "float32"),
    x: T.Buffer((cols,), "float32"),
    y: T.Buffer((rows,), "float32"),
):
    for i in T.serial(rows):
        y[i] = 0.0
        for e in T.serial(ptr[i], ptr[i + 1]):
            y[i] = y[i] + val[e] * x[col[e]]
