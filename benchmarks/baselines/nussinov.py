"""nussinov: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax.numpy as jnp
from jax import lax

from baselines.common import Array, prange

LEAST = -(2**20)  # of what is no interval


def diagonals(seq: Array, table: Array) -> Any:
    """All intervals of one length at once, in phases of growing length.

    `starts[d, i]` is table[i, i + d] and `ends[n - 1 - d, j]` is table[j - d, j], so that the splits of one length are
    sums of rows of both.
    """
    n = seq.shape[0]
    place = jnp.arange(n)
    lengths = place[:, None]
    first = jnp.where(lengths + place < n, table[place, (lengths + place) % n], LEAST)
    starts = jnp.full((n, n), LEAST, table.dtype).at[0].set(first[0])
    ends = jnp.full((n + n // 8 + 2, n), LEAST, table.dtype).at[n - 1].set(first[0])
    bounds = sorted({min(max(n * b // 8, 2), n) for b in range(9)})
    below = jnp.pad(jnp.diagonal(table, -1), (0, 1))
    starts, ends = one_length(1, n, 2, seq, first, below, starts, ends)
    for begin, end in pairwise(bounds):

        def step(d, state, end=end):
            return one_length(d, n, end, seq, first, jnp.roll(state[0][d - 2], -1), *state)

        starts, ends = lax.fori_loop(begin, end, step, (starts, ends))
    back = starts[(place[None, :] - place[:, None]) % n, place[:, None]]
    return jnp.where(place[None, :] >= place[:, None], back, table)


def one_length(
    d: Any, n: int, size: int, seq: Array, first: Array, inside: Array, starts: Array, ends: Array
) -> tuple[Array, Array]:
    """Fill in the intervals of length d, which is less than `size`; `inside` has table[i + 1, i + d - 1]."""
    place = jnp.arange(n)
    right = jnp.roll(lax.dynamic_slice(ends, (n - d + 1, 0), (size - 1, n)), -d, axis=1)
    known = jnp.arange(1, size)[:, None] < d
    splits = jnp.where(known, starts[1:size] + right, LEAST).max(axis=0)
    pair = ((seq + jnp.roll(seq, -d) == 3) & (d > 1)).astype(starts.dtype)
    shorter = jnp.maximum(starts[d - 1], jnp.roll(starts[d - 1], -1))
    value = jnp.maximum(jnp.maximum(first[d], splits), jnp.maximum(shorter, inside + pair))
    value = jnp.where(place < n - d, value, LEAST)
    return starts.at[d].set(value), ends.at[n - 1 - d].set(jnp.roll(value, d))


def loops(seq: Array, table: Array) -> Any:
    n = seq.shape[0]
    table = table.copy()
    across = table.T.copy()
    for d in range(1, n):
        for i in prange(n - d):
            j = i + d
            best = max(table[i, j], table[i, j - 1], table[i + 1, j])
            pair = 1 if d > 1 and seq[i] + seq[j] == 3 else 0
            best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + across[j, k + 1])
            table[i, j] = best
            across[j, i] = best
    return table


def plain(seq: Array, table: Array) -> Any:
    n = len(seq)
    table = table.copy()
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            pair = int(i < j - 1 and seq[i] + seq[j] == 3)
            best = max(table[i, j], table[i, j - 1], table[i + 1, j], table[i + 1, j - 1] + pair)
            if j > i + 1:
                best = max(best, (table[i, i + 1 : j] + table[i + 2 : j + 1, j]).max())
            table[i, j] = best
    return table


JNP = (diagonals,)
