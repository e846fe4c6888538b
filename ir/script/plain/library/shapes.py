"""Functions of NumPy that arrange elements, as plain functions in terms of those that `arranged` has."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.script.plain.library.names import unsupported


def outer(a: Any, b: Any) -> Any:
    return np.ravel(a)[:, None] * np.ravel(b)


def trace(a: Any, offset: Any = 0) -> Any:
    return np.sum(np.diag(a, offset)) if a.ndim == 2 else unsupported("it is of matrices here")


def vstack(tup: Any) -> Any:
    return np.concatenate(tuple(v[None] if v.ndim == 1 else v for v in tup))


def hstack(tup: Any) -> Any:
    return np.concatenate(tup, 0 if np.ndim(tup[0]) == 1 else 1)


def column_stack(tup: Any) -> Any:
    return np.concatenate(tuple(v[:, None] if v.ndim == 1 else v for v in tup), 1)


def dstack(tup: Any) -> Any:
    return np.concatenate(tuple(_deep(v) for v in tup), 2)


def _deep(v: Any) -> Any:
    return v[None, :, None] if v.ndim == 1 else v[:, :, None] if v.ndim == 2 else v


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.concatenate((np.ravel(np.asarray(arr)), np.ravel(np.asarray(values))))
    return np.concatenate((arr, values), axis)


def atleast_1d(a: Any) -> Any:
    return a if np.ndim(a) > 0 else np.reshape(np.asarray(a), (1,))


def atleast_2d(a: Any) -> Any:
    return a if np.ndim(a) > 1 else np.reshape(np.asarray(a), (1, -1))


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    if k % 4 == 2:
        return np.flip(m, axes)
    return m if k % 4 == 0 else np.flip(np.swapaxes(m, axes[0], axes[1]), axes[0] if k % 4 == 1 else axes[1])


def triu(m: Any, k: Any = 0) -> Any:
    rows = np.arange(m.shape[-2])[:, None]
    return np.where(np.arange(m.shape[-1]) >= rows + k, m, np.zeros((), m.dtype))


def tril(m: Any, k: Any = 0) -> Any:
    rows = np.arange(m.shape[-2])[:, None]
    return np.where(np.arange(m.shape[-1]) <= rows + k, m, np.zeros((), m.dtype))


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = np.float64) -> Any:
    return tril(np.ones((N, N if M is None else M), dtype), k)


def kron(a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return np.ravel(a[:, None] * b)
    if a.ndim == 2 and b.ndim == 2:
        n, m = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
        return np.reshape(a[:, None, :, None] * b[:, None, :], (n, m))
    return unsupported("it is of two vectors or two matrices here")


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    places = np.asarray(indices)
    if axis is None:
        return np.ravel(a)[places]
    first = axis % a.ndim
    taken = np.moveaxis(a, first, 0)[places]
    count = np.ndim(places)
    return np.moveaxis(taken, tuple(range(count)), tuple(range(first, first + count)))


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if arr.ndim == 1:
        return arr[indices]
    if arr.ndim > 2:
        return unsupported("it is of vectors and matrices here")
    if axis % 2 == 1:
        return arr[np.arange(len(arr))[:, None], indices]
    return arr[indices, np.arange(arr.shape[1])]


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    found = np.where(condlist[-1], choicelist[-1], default)
    for cond, choice in zip(condlist[-2::-1], choicelist[-2::-1], strict=True):
        found = np.where(cond, choice, found)
    return found


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    moved = np.moveaxis(ary, axis, 0)
    n = len(moved)
    if np.ndim(indices_or_sections) == 0:
        ends = _ends(n, indices_or_sections)
    else:
        ends = (0, *tuple(e if e >= 0 else n + e for e in indices_or_sections), n)
    pieces = tuple(moved[ends[k] : max(ends[k], ends[k + 1])] for k in range(len(ends) - 1))
    return tuple(np.moveaxis(piece, 0, axis) for piece in pieces)


def _ends(n: Any, count: Any) -> Any:
    """Where parts of nearly the same length end, the longer ones first."""
    return tuple(k * (n // count) + min(k, n % count) for k in range(count + 1))


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % indices_or_sections != 0:
        return unsupported("the parts have different lengths: write np.array_split")
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    moved = np.moveaxis(a, axis, -1)
    for _ in (0,) * n:
        moved = moved[..., 1:] != moved[..., :-1] if moved.dtype == np.bool_ else moved[..., 1:] - moved[..., :-1]
    return np.moveaxis(moved, -1, axis)


def ediff1d(ary: Any) -> Any:
    return np.diff(np.ravel(ary))


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    count = len(x) if N is None else N
    return x[:, None] ** (np.arange(count) if increasing else np.arange(count - 1, -1, -1))


def _stride(shape: Any) -> Any:
    count = 1
    for extent in shape:
        count *= extent
    return count


def unravel_index(indices: Any, shape: Any) -> Any:
    extents = (shape,) if np.ndim(shape) == 0 else shape
    return tuple(indices // _stride(extents[k + 1 :]) % extents[k] for k in range(len(extents)))


def ravel_multi_index(multi_index: Any, dims: Any) -> Any:
    found = multi_index[0]
    for index, extent in zip(multi_index[1:], dims[1:], strict=True):
        found = found * extent + index
    return found


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    if axis is not None or x.ndim > 2 or x.ndim != np.size(np.asarray(window_shape)):
        return unsupported("windows along all of one or two dimensions are there")
    if x.ndim == 1:
        size = window_shape if np.ndim(window_shape) == 0 else window_shape[0]
        return x[np.arange(len(x) - size + 1)[:, None] + np.arange(size)]
    (m, n), (height, width) = window_shape, x.shape
    rows = np.arange(height - m + 1)[:, None, None, None] + np.arange(m)[:, None]
    return x[rows, np.arange(width - n + 1)[:, None, None] + np.arange(n)]


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if axis is not None or np.ndim(obj) > 0:
        return unsupported("one place of all elements is there")
    flat = np.ravel(arr)
    place = obj if obj >= 0 else len(flat) + obj
    return np.concatenate((flat[:place], np.ravel(np.asarray(values)).astype(flat.dtype), flat[place:]))


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    if np.ndim(obj) > 0:
        return unsupported("one place is there")
    rows = np.ravel(arr) if axis is None else np.moveaxis(arr, axis, 0)
    place = obj if obj >= 0 else len(rows) + obj
    kept = np.arange(len(rows) - 1)
    found = rows[kept + (kept >= place)]
    return found if axis is None else np.moveaxis(found, 0, axis)


def ix_(*args: Any) -> Any:
    count = len(args)
    return tuple(np.reshape(np.asarray(args[k]), (1,) * k + (-1,) + (1,) * (count - k - 1)) for k in range(count))


def fill_diagonal(a: Any, val: Any) -> None:
    values = np.ravel(np.asarray(val))
    for i in range(min(a.shape)):
        a[i, i] = values[i % len(values)]


def copyto(dst: Any, src: Any) -> None:
    dst[...] = src


SHAPES = (
    outer, trace, vstack, hstack, column_stack, dstack, append, atleast_1d, atleast_2d, rot90, triu, tril, tri, kron,
    take, take_along_axis, select, array_split, split, vsplit, hsplit, diff, ediff1d, vander, unravel_index,
    ravel_multi_index, insert, delete, ix_,
)  # fmt: skip
STORING = (fill_diagonal, copyto)  # statements
