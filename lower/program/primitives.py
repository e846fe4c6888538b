"""What the functions that array programs call compute, in NumPy: the slow and plain reading of JAX and of our library.

Functions of `emission/source.py`'s library that are ways to compute something fast (scans, ranges, windows, filters)
are primitives here, with what they compute as their meaning. A signature here is what the verifier checks calls by.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np

Array = Any  # an array of NumPy, or a Python number where static
_PLAIN = (
    "minimum", "maximum", "abs", "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "tanh", "sin", "cos", "tan",
    "sinh", "cosh", "arcsin", "arccos", "arctan", "arctan2", "hypot", "floor", "ceil", "round", "trunc", "fmod", "add",
    "multiply", "logical_and", "logical_or",
)  # fmt: skip


# Arrays as such ------------------------------------------------------------------------------------------------------


def arange(start: Array, stop: Array = None, step: Array = None, dtype: Any = np.int32) -> Array:
    return np.arange(*((0, start) if stop is None else (start, stop)), step, dtype=dtype)


def zeros(shape: Any, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = np.float32) -> Array:
    return np.ones(shape, dtype)


def full(shape: Any, fill_value: Array, dtype: Any = None) -> Array:
    return np.full(shape, fill_value, dtype)


def asarray(x: Array, dtype: Any = None) -> Array:
    return np.asarray(x, dtype)


def where(condition: Array, x: Array, y: Array) -> Array:
    dtype = np.result_type(x, y)
    return np.where(condition, np.asarray(x).astype(dtype), np.asarray(y).astype(dtype))


def pad(array: Array, pad_width: Any, mode: str = "constant", constant_values: Array = 0) -> Array:
    if mode == "constant":
        return np.pad(array, pad_width, constant_values=constant_values)
    return np.pad(array, pad_width, cast("Any", mode))


def flip(m: Array, axis: Any = None) -> Array:
    return np.flip(m, axis)


def transpose(a: Array, axes: Any = None) -> Array:
    return np.transpose(a, axes)


def reshape(a: Array, shape: Any) -> Array:
    return np.reshape(a, shape)


def broadcast_to(array: Array, shape: Any) -> Array:
    return np.broadcast_to(array, shape)


def concatenate(arrays: Sequence[Array], axis: int = 0) -> Array:
    return np.concatenate(arrays, axis)


# Reductions and products ---------------------------------------------------------------------------------------------


def _reduction(ufunc: np.ufunc, empty: Any = None) -> Callable[..., Array]:
    def reduce(a: Array, axis: Any = None, dtype: Any = None, initial: Any = None, keepdims: bool = False) -> Array:
        a = np.asarray(a)
        axis = tuple(range(a.ndim)) if axis is None else axis
        start = empty if initial is None else initial
        given = {} if start is None else {"initial": a.dtype.type(start)}
        return ufunc.reduce(a, axis=axis, dtype=dtype or a.dtype, keepdims=keepdims, **given)

    return reduce


def einsum(subscripts: str, *operands: Array, precision: Any = None, preferred_element_type: Any = None) -> Array:
    wide = [np.asarray(o).astype(preferred_element_type or np.asarray(o).dtype) for o in operands]
    return np.asarray(np.einsum(subscripts, *wide))


def conv_general_dilated(
    lhs: Array, rhs: Array, window_strides: Sequence[int], padding: Any, rhs_dilation: Any = None,
    precision: Any = None, preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """Images (n, c, ...) and filters (o, c, ...): the sum over all positions of the filter."""
    taps, rank = rhs.shape[2:], rhs.ndim - 2
    dilation = rhs_dilation or (1,) * rank
    pads = [(0, 0)] * rank if padding == "VALID" else list(padding)
    lhs = np.pad(lhs, [(0, 0), (0, 0), *pads])
    reach = [(t - 1) * d for t, d in zip(taps, dilation, strict=True)]
    sizes = [(n - r - 1) // s + 1 for n, r, s in zip(lhs.shape[2:], reach, window_strides, strict=True)]
    total = np.zeros((lhs.shape[0], rhs.shape[0], *sizes), preferred_element_type or np.result_type(lhs, rhs))
    for at in np.ndindex(*taps):
        part = lhs[(..., *(slice(k * d, k * d + (n - 1) * s + 1, s)
                           for k, d, n, s in zip(at, dilation, sizes, window_strides, strict=True)))]  # fmt: skip
        total += np.einsum("nc...,oc->no...", part, rhs[(slice(None), slice(None), *at)])
    return total


def triangular_solve(
    a: Array, b: Array, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:  # fmt: skip
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a - np.diag(np.diag(a)) + np.eye(len(a), dtype=a.dtype)
    a = a.T if transpose_a else a
    return (np.linalg.solve(a, b) if left_side else np.linalg.solve(a.T, b.T).T).astype(b.dtype)


# Loops and windows of lax --------------------------------------------------------------------------------------------


def fori_loop(lower: Array, upper: Array, body_fun: Any, init_val: Any, unroll: Any = None) -> Any:
    for i in range(int(lower), int(upper)):
        init_val = body_fun(np.int32(i), init_val)
    return init_val


def associative_scan(fn: Any, elems: Array, axis: int = 0) -> Array:
    rows = list(np.moveaxis(elems, axis, 0))
    for k in range(1, len(rows)):
        rows[k] = fn(rows[k - 1], rows[k])
    return np.moveaxis(np.stack(rows), 0, axis) if rows else elems


def _cumulative(ufunc: Any) -> Any:
    def run(operand: Array, axis: int = 0) -> Array:
        return ufunc.accumulate(operand, axis=axis, dtype=operand.dtype)

    return run


def _starts(starts: Sequence[Array], sizes: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    """Where a window is, moved so that it lies inside."""
    begins = [int(s) + n * (int(s) < 0) for s, n in zip(starts, shape, strict=True)]
    begins = [min(max(b, 0), n - size) for b, size, n in zip(begins, sizes, shape, strict=True)]
    return tuple(slice(b, b + size) for b, size in zip(begins, sizes, strict=True))


def dynamic_slice(operand: Array, start_indices: Sequence[Array], slice_sizes: Sequence[int]) -> Array:
    return operand[_starts(start_indices, slice_sizes, operand.shape)]


def dynamic_slice_in_dim(operand: Array, start_index: Array, slice_size: int, axis: int = 0) -> Array:
    starts, sizes = [0] * operand.ndim, [*operand.shape]
    starts[axis], sizes[axis] = start_index, slice_size
    return dynamic_slice(operand, starts, sizes)


def dynamic_update_slice(operand: Array, update: Array, start_indices: Sequence[Array]) -> Array:
    found = np.array(operand)
    found[_starts(start_indices, np.shape(update), operand.shape)] = update
    return found


def rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.asarray(x).dtype])(x)


def population_count(x: Array) -> Array:
    return np.bitwise_count(_bits(x)).astype(np.asarray(x).dtype)


def clz(x: Array) -> Array:
    bits = _bits(x)
    found = np.full(bits.shape, 8 * bits.itemsize)
    for k in range(8 * bits.itemsize):
        found = np.where(bits >> bits.dtype.type(k) != 0, 8 * bits.itemsize - 1 - k, found)
    return found.astype(np.asarray(x).dtype)


def _bits(x: Array) -> Array:
    return np.asarray(x).view(f"uint{8 * np.asarray(x).itemsize}")


def optimization_barrier(operand: Any) -> Any:
    return operand


def reduce_precision(operand: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    narrow = {(8, 7): ml_dtypes.bfloat16, (5, 10): np.float16}[exponent_bits, mantissa_bits]
    return np.asarray(operand).astype(narrow).astype(np.asarray(operand).dtype)


def div(x: Array, y: Array) -> Array:
    return truncdiv(x, y)


# The library ---------------------------------------------------------------------------------------------------------


def truncdiv(a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.where(a % b != 0, np.where((a < 0) != (b < 0), a // b + 1, a // b), a // b).astype(a.dtype)


def as_number(size: Callable[[], Any]) -> int:
    return int(size())


def prefix_sums(x: Array) -> Array:
    return np.cumsum(x, axis=-1, dtype=x.dtype)


def restarted_scan(combine: Any, restarts: Array, terms: Any, axis: int = 0) -> tuple[Array, Any]:
    several = isinstance(terms, tuple)
    parts = [np.moveaxis(np.array(x), axis, 0) for x in (terms if several else (terms,))]
    so_far = np.moveaxis(np.array(restarts), axis, 0)
    for k in range(1, len(so_far)):
        before, here = (tuple(p[n] for p in parts) for n in (k - 1, k))
        joined = combine(before, here) if several else (combine(before[0], here[0]),)
        for p, new in zip(parts, joined, strict=True):
            p[k] = np.where(so_far[k], p[k], new)
        so_far[k] |= so_far[k - 1]
    found = tuple(np.moveaxis(p, 0, axis) for p in parts)
    return np.moveaxis(so_far, 0, axis), found if several else found[0]


def saturated_sum(x: Array, y: Array) -> Array:
    dtype = np.asarray(x).dtype
    limits = np.iinfo(dtype)
    return np.clip(np.asarray(x, np.int64) + y, limits.min, limits.max).astype(dtype)


def linear_scan(
    factors: Array, terms: Array, axis: int = 0, add: Any = np.add, multiply: Any = np.multiply
) -> tuple[Array, Array]:
    factors, terms = (np.moveaxis(np.array(x), axis, 0) for x in np.broadcast_arrays(factors, terms))
    for k in range(1, len(terms)):
        terms[k] = add(multiply(factors[k], terms[k - 1]), terms[k])
        factors[k] = multiply(factors[k], factors[k - 1])
    return np.moveaxis(factors, 0, axis), np.moveaxis(terms, 0, axis)


def in_turn(combine: Any, first: Array, terms: Sequence[Array], axis: int = 0) -> Array:
    found: list[Array] = []
    for here in zip(*(np.moveaxis(t, axis, 0) for t in terms), strict=True):
        first = combine(first, *here)
        found.append(np.broadcast_to(first, np.shape(here[0])))
    return np.moveaxis(np.stack(found), 0, axis) if found else terms[0]


def pairwise_sums(x: Array, factor: float, first: Array, axis: int = 0) -> Array:

    def step(last: Array, term: Array) -> Array:
        return (factor * last + term).astype(x.dtype)

    return in_turn(step, first, (x,), axis)


def doubling_sums(x: Array, factor: float, first: Array, axis: int = 0) -> Array:
    return pairwise_sums(x, factor, first, axis)


def filtered(factors: Sequence[Array], before: Sequence[Array], terms: Array, axis: int = 0) -> Array:
    found: list[Array] = []
    last = list(before)
    for term in np.moveaxis(terms, axis, 0):
        new = term + sum(f * y for f, y in zip(factors, last, strict=True))
        last = [new, *last[:-1]]
        found.append(np.broadcast_to(new, term.shape).astype(terms.dtype))
    return np.moveaxis(np.stack(found), 0, axis) if found else terms


def filtered_in_blocks(
    respond: Any, factors: Sequence[Array], before: Sequence[Array], terms: Array, axis: int = 0
) -> Array:
    return filtered(factors, before, terms, axis)


def response() -> None:
    """How `filtered_in_blocks` works; nothing that it computes depends on it."""


def response_in_parts() -> None:
    """As `response`."""


def kept(x: Any) -> Any:
    return x


def once(table: Any) -> Any:
    return table()


def as_function(loop: Any, again: bool = False) -> Any:
    return loop()


def windows(combine: Any, x: Array, size: int, axis: int, dilation: int = 1, stride: int = 1) -> Array:
    last = x.shape[axis] - dilation * (size - 1)
    parts = [np.take(x, range(dilation * k, dilation * k + last, stride), axis) for k in range(size)]
    return functools.reduce(combine, parts)


def in_ranges(first: Array, stop: Array, size: int) -> Array:
    at = np.arange(size)[:, None]
    first, stop = (np.ravel(b) for b in np.broadcast_arrays(first, stop))
    return np.any((first <= at) & (at < stop), axis=1)


def reduce_ranges(op: Any, x: Array, first: Array, stop: Array, nothing: Array) -> Array:
    first, stop = (np.clip(b, 0, x.shape[0]) for b in np.broadcast_arrays(first, stop))
    total = np.full(first.shape + x.shape[1:], nothing, x.dtype)
    for at in np.ndindex(*first.shape):
        for p in range(first[at], stop[at]):
            total[at] = op(total[at], x[p])
    return total


def reduce_rows(op: Any, term: Any, first: Array, stop: Array, size: int, nothing: Array) -> Array:
    first, stop = (np.clip(b, 0, size) for b in np.broadcast_arrays(first, stop))
    total = np.full(first.shape, nothing)
    for i, (low, high) in enumerate(zip(first, stop, strict=True)):
        for p in range(low, high):
            total[i] = op(total[i], term(np.int32(i), np.int32(p)))
    return total


def cholesky_factor(a: Array) -> Array:
    lower = np.tril(a)
    return np.linalg.cholesky(lower + np.swapaxes(np.tril(a, -1), -1, -2)).astype(a.dtype)


def loop_between(low: Array, high: Array, ends: Any, step: Any, state: Any) -> Any:
    return fori_loop(low, high, step, state)


def loop_until(goes_on: Any, low: Array, high: Array, step: Any, state: Any) -> Any:
    for i in range(int(low), int(high)):
        if not goes_on(state):
            break
        state = step(np.int32(i), state)
    return state


def loop_between_until(goes_on: Any, low: Array, high: Array, ends: Any, step: Any, state: Any) -> Any:
    return loop_until(goes_on, low, high, step, state)


def chosen(test: Array, fast: Any, exact: Any, state: Any, by_element: bool = False) -> Any:
    return fast(state) if test else exact(state)


def first_best(best: Any, x: Array) -> Array:
    at = np.arange(x.shape[-1], dtype=np.int32)
    return np.min(np.where(x == best(x, axis=-1, keepdims=True), at, x.shape[-1] - 1), axis=-1)


def first_true(x: Array) -> Array:
    return np.where(x.any(axis=-1), np.argmax(x, axis=-1), x.shape[-1] - 1).astype(np.int32)


def last_best(best: Any, x: Array) -> Array:
    at = np.arange(x.shape[-1], dtype=np.int32)
    return np.max(np.where(x == best(x, axis=-1, keepdims=True), at, 0), axis=-1)


def places_of_largest(x: Array, k: int) -> Array:
    ordered = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return (x.shape[-1] - 1 - ordered[..., :k]).astype(np.int32)


def places_in_passes(x: Array, k: int) -> Array:
    return places_of_largest(x, k)


def last_first(places: Any, x: Array, k: int) -> Array:
    return x.shape[-1] - 1 - places(x[..., ::-1], k)


def windows_at(x: Array, sizes: tuple[int, ...], single: tuple[int, ...], *starts: Any) -> Array:
    at = np.stack(np.broadcast_arrays(*starts), axis=-1)
    at = np.clip(at, 0, np.array(x.shape) - np.array(sizes))
    found = np.empty((*at.shape[:-1], *sizes), x.dtype)
    for place in np.ndindex(*at.shape[:-1]):
        found[place] = x[tuple(slice(first, first + n) for first, n in zip(at[place], sizes, strict=True))]
    return np.squeeze(found, tuple(at.ndim - 1 + d for d in single))


def stores(ranges: Sequence[tuple[int, int]], store: Callable[..., Sequence[Any]]) -> tuple[Array, ...]:
    points = np.indices([count for _, count in ranges])
    first = [low for low, _ in ranges]
    kept, *places = store(*(axis + low for axis, low in zip(points, first, strict=True)))
    chosen = np.broadcast_to(kept, points.shape[1:]).reshape(-1)
    rows = [np.arange(chosen.size), *(np.broadcast_to(p, points.shape[1:]).reshape(-1) for p in places)]
    return tuple(row[chosen].astype(np.int32) for row in rows)


def writers(shape: tuple[int, ...], ranges: Sequence[tuple[int, int]], store: Callable[..., Sequence[Any]]) -> Array:
    found = np.full(shape, -1, np.int32)
    for k, *place in zip(*stores(ranges, store), strict=True):
        found[tuple(place)] = k
    return found


def numbers(x: Array) -> Array:
    return np.where(np.isfinite(x), x, np.zeros((), np.asarray(x).dtype))


def rounded(x: Array) -> Array:
    return x


def late(number: Array, x: Array) -> Array:
    return np.asarray(number, np.asarray(x).dtype)


def added(a: Array, b: Array) -> Array:
    return late(a, b) + late(b, a)


def subtracted(a: Array, b: Array) -> Array:
    return late(a, b) - late(b, a)


def multiplied(a: Array, b: Array) -> Array:
    return late(a, b) * late(b, a)


def divided(a: Array, b: Array) -> Array:
    return late(a, b) / late(b, a)


def lesser(a: Array, b: Array) -> Array:
    return np.where((a <= b) | (a != a), a, b)


def greater(a: Array, b: Array) -> Array:
    return np.where((a >= b) | (a != a), a, b)


def as_bfloat16(x: Array) -> Array:
    return np.asarray(x).astype(ml_dtypes.bfloat16)


def as_float16(x: Array) -> Array:
    return np.asarray(x).astype(np.float16)


def sticky(x: Array, cut: int) -> Array:
    return x


def integer_einsum(terms: int, spec: str, *operands: Array) -> Array:
    del terms
    return einsum(spec, *operands)


LIBRARY: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        truncdiv, numbers, as_number, kept, once, as_function, prefix_sums, linear_scan, saturated_sum, restarted_scan,
        in_turn, pairwise_sums, doubling_sums,
        filtered, filtered_in_blocks, response, response_in_parts, windows, windows_at, stores, writers,
        in_ranges, reduce_ranges, reduce_rows, cholesky_factor, loop_between, loop_until, loop_between_until,
        chosen, first_best, first_true, last_best, places_of_largest, places_in_passes, last_first,
        rounded, late, added, subtracted, multiplied, divided, lesser,
        greater, as_bfloat16, as_float16, sticky, integer_einsum,
    )
}  # fmt: skip
BUILTINS: Mapping[str, Any] = {
    "min": min, "max": max, "sum": sum, "range": range, "bool": np.bool_, "int": int, "float": float,
    "functools.reduce": functools.reduce,
}  # fmt: skip
_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
           "bool_")  # fmt: skip
JAX: Mapping[str, Any] = {
    **{f"jnp.{word}": getattr(np, word) for word in (*_PLAIN, *_DTYPES)},
    **{f"jnp.{f.__name__}": f for f in (
        arange, zeros, ones, full, asarray, where, pad, flip, transpose, reshape, broadcast_to, concatenate, einsum,
    )},
    "jnp.array": asarray,
    "jnp.bfloat16": ml_dtypes.bfloat16,
    "jnp.inf": math.inf,
    "jnp.nan": math.nan,
    "jnp.sum": _reduction(np.add, 0),
    "jnp.prod": _reduction(np.multiply, 1),
    "jnp.min": _reduction(np.minimum),
    "jnp.max": _reduction(np.maximum),
    "jnp.all": _reduction(np.logical_and, True),
    "jnp.any": _reduction(np.logical_or, False),
    "jnp.bitwise_and.reduce": np.bitwise_and.reduce,
    "jnp.bitwise_or.reduce": np.bitwise_or.reduce,
    "jnp.bitwise_xor.reduce": np.bitwise_xor.reduce,
    "jax.nn.sigmoid": sigmoid,
    "lax.linalg.triangular_solve": triangular_solve,
    "lax.cumsum": _cumulative(np.add),
    "lax.cumprod": _cumulative(np.multiply),
    "lax.cummin": _cumulative(np.minimum),
    "lax.cummax": _cumulative(np.maximum),
    **{f"lax.{f.__name__}": f for f in (
        fori_loop, associative_scan, dynamic_slice, dynamic_slice_in_dim, dynamic_update_slice, optimization_barrier,
        reduce_precision, conv_general_dilated, div, rsqrt, erf,
        population_count, clz,
    )},
}  # fmt: skip


def meaning(path: str) -> Any:
    """What a name stands for that no program binds: of the library, of JAX, of Python; None if it has no meaning here.

    What users give for their functions may call more of `jnp`: that of NumPy has the same name.
    """
    for table in (LIBRARY, JAX, BUILTINS):
        if path in table:
            return table[path]
    module, _, word = path.rpartition(".")
    return getattr(np, word, None) if module in ("jnp", "np") else None
