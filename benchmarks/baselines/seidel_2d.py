"""seidel_2d: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange

TAPS = 9  # 9 ** -9 is below the precision of float32


def row_by_row(tsteps: int, A: Array) -> Any:
    """A row depends on itself by x[j] = (c[j] + x[j - 1]) / 9: a filter whose response soon vanishes."""
    n = A.shape[0]

    def row(above, here_and_below):
        here, below = here_and_below
        known = here[1:-1] + here[2:] + (above + below)[:-2] + (above + below)[1:-1] + (above + below)[2:]
        known = jnp.concatenate([jnp.zeros(TAPS - 1, A.dtype), 9 * here[:1], known])
        new = sum(known[TAPS - 1 - t : known.shape[0] - t] * (1 / 9) ** (t + 1) for t in range(TAPS))
        new = jnp.concatenate([here[:1], new[1:], here[-1:]])
        return new, new

    def sweep(_, A):
        _, rows = lax.scan(row, A[0], (A[1:-1], A[2:]))
        return jnp.concatenate([A[:1], rows, A[-1:]])

    return lax.fori_loop(0, tsteps, sweep, A) if n > 2 else A


def sweeps_in_turn(tsteps: int, A: Array) -> Any:
    """Sweep t is two rows behind sweep t - 1, so that one row of each sweep is computed at once."""
    n = A.shape[0]
    sweeps = jnp.arange(tsteps)

    def step(s, A):
        here = s - 2 * sweeps
        inside = (here >= 1) & (here < n - 1)
        at = jnp.where(inside, here, 1)
        middle = A[at]
        around = A[at - 1] + A[at + 1]
        known = middle[:, 1:-1] + middle[:, 2:] + around[:, :-2] + around[:, 1:-1] + around[:, 2:]
        known = jnp.concatenate([jnp.zeros((tsteps, TAPS - 1), A.dtype), 9 * middle[:, :1], known], axis=1)
        length = known.shape[1]
        new = sum(known[:, TAPS - 1 - t : length - t] * (1 / 9) ** (t + 1) for t in range(TAPS))
        new = jnp.concatenate([middle[:, :1], new[:, 1:], middle[:, -1:]], axis=1)
        return A.at[jnp.where(inside, here, n)].set(new, mode="drop")

    return lax.fori_loop(1, n - 1 + 2 * (tsteps - 1), step, A)


def loops(tsteps: int, A: Array) -> Any:
    n = A.shape[0]
    A = A.copy()
    ninth = np.float32(1) / np.float32(9)
    for s in range(1, n - 1 + 2 * (tsteps - 1)):
        for t in prange(tsteps):
            i = s - 2 * t
            if i >= 1 and i < n - 1:
                left = A[i, 0]
                for j in range(1, n - 1):
                    known = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j] + A[i, j + 1]
                    known += A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                    left = (known + left) * ninth
                    A[i, j] = left
    return A


def plain(tsteps: int, A: Array) -> Any:
    A = A.copy()
    for _ in range(tsteps):
        for i in range(1, len(A) - 1):
            around = A[i - 1] + A[i + 1]
            known = A[i, 1:-1] + A[i, 2:] + around[:-2] + around[1:-1] + around[2:]
            known = np.concatenate([9 * A[i, :1], known])
            A[i, 1:-1] = np.convolve(known, np.float32(9.0) ** -np.arange(1, TAPS + 1, dtype=np.float32))[
                1 : len(known)
            ]
    return A


JNP = (
    row_by_row,
    sweeps_in_turn,
)
