"""doitgen of PolyBench/C 4.2: A[r, q, :] = A[r, q, :] C4 in place, through one row of scratch."""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"nr": 3, "nq": 4, "np_": 5},
    "large": {"nr": 150, "nq": 140, "np_": 160},
}


def inputs(rng: np.random.Generator, nr: int, nq: int, np_: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "A": rng.uniform(-1, 2, (nr, nq, np_)).astype(np.float32),
        "C4": rng.uniform(-1, 2, (np_, np_)).astype(np.float32),
    }


@T.prim_func
def doitgen(
    nr: T.int32, nq: T.int32, np_: T.int32, A: T.Buffer((nr, nq, np_), "float32"), C4: T.Buffer((np_, np_), "float32")
):
    row = T.alloc_buffer((np_,), "float32")
    for r, q in T.grid(nr, nq):
        for p in T.serial(np_):
            row[p] = 0.0
            for s in T.serial(np_):
                row[p] = row[p] + A[r, q, s] * C4[s, p]
        for p in T.serial(np_):
            A[r, q, p] = row[p]
