"""fdtd-2d of PolyBench/C 4.2: tsteps steps of the finite-difference time-domain method on a grid [nx, ny].

Step t sets ey[0, :] to fict[t]; then ey and ex lose half the differences of hz, and hz 0.7 of theirs.
"""

from __future__ import annotations

import numpy as np

from ir import script as T

SIZES = {
    "small": {"tsteps": 3, "nx": 6, "ny": 7},
    "large": {"tsteps": 100, "nx": 200, "ny": 240},
}


def inputs(rng: np.random.Generator, tsteps: int, nx: int, ny: int) -> dict[str, np.ndarray]:
    """Arguments by name; the sizes are not among them."""
    return {
        "ex": rng.uniform(-1, 2, (nx, ny)).astype(np.float32),
        "ey": rng.uniform(-1, 2, (nx, ny)).astype(np.float32),
        "hz": rng.uniform(-1, 2, (nx, ny)).astype(np.float32),
        "fict": rng.uniform(-1, 2, tsteps).astype(np.float32),
    }


@T.prim_func
def fdtd_2d(
    tsteps: T.int32,
    nx: T.int32,
    ny: T.int32,
    ex: T.Buffer((nx, ny), "float32"),
    ey: T.Buffer((nx, ny), "float32"),
    hz: T.Buffer((nx, ny), "float32"),
    fict: T.Buffer((tsteps,), "float32"),
):
    T.assume(nx >= 1)
    for t in T.serial(tsteps):
        for j in T.serial(ny):
            ey[0, j] = fict[t]
        for i in T.serial(1, nx):
            for j in T.serial(ny):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in T.serial(nx):
            for j in T.serial(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in T.serial(nx - 1):
            for j in T.serial(ny - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
