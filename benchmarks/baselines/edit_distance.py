"""edit_distance: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def stacked_diagonals(a: Array, b: Array) -> Any:
    """A scan that carries the last two diagonals; element i of diagonal t is D[i, t - i]."""
    n, m = a.shape[0], b.shape[0]
    place = jnp.arange(n + 1)
    letters = jnp.pad(a, (1, 0))
    others = jnp.pad(b[::-1], (n + 1, n + 1))

    def step(last, t):
        before, beside = last
        other = lax.dynamic_slice(others, (n + m + 1 - t,), (n + 1,))
        shorter = jnp.minimum(jnp.roll(beside, 1), beside) + 1
        value = jnp.minimum(shorter, jnp.roll(before, 1) + (letters != other))
        value = jnp.where((place == 0) | (place == t), t, value)
        return (beside, value), value

    zeros = jnp.zeros(n + 1, jnp.int32)
    _, diagonals = lax.scan(step, (zeros, zeros), jnp.arange(n + m + 1, dtype=jnp.int32))
    return diagonals[place[:, None] + jnp.arange(m + 1), place[:, None]]


def rows_of_diagonals(a: Array, b: Array) -> Any:
    """Diagonals are rows of one array, each stored in place."""
    n, m = a.shape[0], b.shape[0]
    place = jnp.arange(n)
    others = jnp.pad(b[::-1], (n, n))
    first = jnp.arange(n + m + 1, dtype=jnp.int32)[:, None]
    table = jnp.broadcast_to(first, (n + m + 1, n + 1))

    def step(t, table):
        beside, before = (lax.dynamic_slice(table, (t - k, 0), (1, n + 1))[0] for k in (1, 2))
        other = lax.dynamic_slice(others, (n + m + 1 - t,), (n,))
        shorter = jnp.minimum(beside[:-1], beside[1:]) + 1
        value = jnp.minimum(shorter, before[:-1] + (a != other))
        value = jnp.where(place + 1 == t, t, value)
        return lax.dynamic_update_slice(table, value[None], (t, 1))

    table = lax.fori_loop(1, n + m + 1, step, table)
    place = jnp.arange(n + 1)[:, None]
    return table[place + jnp.arange(m + 1), place]


def rows(a: Array, b: Array) -> Any:
    """Along a row, the least of what comes from above less the column, plus the column."""
    column = jnp.arange(b.shape[0] + 1, dtype=jnp.int32)

    def step(last, letter):
        above = jnp.minimum(last[1:] + 1, last[:-1] + (b != letter))
        value = column + lax.cummin(jnp.concatenate([last[:1] + 1, above]) - column)
        return value, value

    return jnp.concatenate([column[None], lax.scan(step, column, a)[1]])


def loops(a: Array, b: Array) -> Any:
    n, m = len(a), len(b)
    D = np.empty((n + 1, m + 1), np.int32)
    D[:, 0] = np.arange(n + 1)
    D[0] = np.arange(m + 1)
    for t in range(2, n + m + 1):
        for i in prange(max(1, t - m), min(n, t - 1) + 1):
            j = t - i
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return D


def plain(a: Array, b: Array) -> Any:
    column = np.arange(len(b) + 1, dtype=np.int32)
    table = [column]
    for letter in a:
        last = table[-1]
        above = np.minimum(last[1:] + 1, last[:-1] + (b != letter))
        table.append(column + np.minimum.accumulate(np.concatenate([last[:1] + 1, above]) - column))
    return np.stack(table).astype(np.int32)


JNP = (stacked_diagonals, rows_of_diagonals, rows)
