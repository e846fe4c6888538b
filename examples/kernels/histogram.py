"""Histogram: H[b] = how many X[i] are b, for 0 <= b < bins.

The inputs are in range; small numbers are more frequent. What H held before does not matter.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"n": 40, "bins": 7},
    "large": {"n": 1000000, "bins": 256},
}


def inputs(rng: np.random.Generator, n: int, bins: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "X": np.minimum(rng.geometric(4 / bins, n) - 1, bins - 1).astype(np.int32),
        "H": rng.integers(0, 9, bins).astype(np.int32),
    }


@T.prim_func
def histogram(n: T.int32, bins: T.int32, X: T.Buffer((n,), "int32"), H: T.Buffer((bins,), "int32")):
    for b in T.serial(bins):
        H[b] = 0
    for i in T.serial(n):
        H[X[i]] = H[X[i]] + 1
