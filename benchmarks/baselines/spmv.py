"""spmv: hand-written forms in JAX, loops for numba, and NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from baselines.common import Array, prange


def row_of_each(rows: int, nnz: int, ptr: Array) -> Any:
    """The row of each entry: how many rows have ended before it."""
    return jnp.cumsum(jnp.zeros(nnz + 1, jnp.int32).at[ptr[1:-1]].add(1, mode="promise_in_bounds"))[:-1]


def segments(rows: int, nnz: int, ptr: Array, col: Array, val: Array, x: Array) -> Any:
    products = val * jnp.take(x, col, mode="clip")
    row = row_of_each(rows, nnz, ptr)
    return jax.ops.segment_sum(products, row, rows, indices_are_sorted=True)


def library_rows(rows: int, nnz: int, ptr: Array, col: Array, val: Array, x: Array) -> Any:
    row = jnp.repeat(jnp.arange(rows), jnp.diff(ptr), total_repeat_length=nnz)
    return jnp.zeros(rows, val.dtype).at[row].add(val * x[col])


def loop_over_entries(rows: int, nnz: int, ptr: Array, col: Array, val: Array, x: Array) -> Any:
    """One row after the other, as a compiled loop: no product is kept."""

    def row(i, y):
        total = lax.fori_loop(ptr[i], ptr[i + 1], lambda e, s: s + val[e] * x[col[e]], jnp.zeros((), val.dtype))
        return y.at[i].set(total)

    return lax.fori_loop(0, rows, row, jnp.zeros(rows, val.dtype))


def loops(rows: int, ptr: Array, col: Array, val: Array, x: Array) -> Any:
    y = np.empty(rows, val.dtype)
    for i in prange(rows):
        total = val.dtype.type(0)
        for e in range(ptr[i], ptr[i + 1]):
            total += val[e] * x[col[e]]
        y[i] = total
    return y


def plain(rows: int, ptr: Array, col: Array, val: Array, x: Array) -> Any:
    products = val * x[col]
    row = np.repeat(np.arange(rows), np.diff(ptr))
    return np.bincount(row, products, minlength=rows).astype(val.dtype)


JNP = (
    segments,
    library_rows,
    loop_over_entries,
)
