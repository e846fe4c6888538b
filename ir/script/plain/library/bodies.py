"""Functions of NumPy and `math` as plain functions: they are put in place of a call like any other.

What they do is said of numbers that are finite. `np.sort` is in the form in which a sort is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.script.plain.library.chosen import CHOSEN, kept
from ir.script.plain.library.elements import ELEMENTS, OF_MATH, OF_UFUNCS, OWN, UPDATES
from ir.script.plain.library.functional import FUNCTIONAL
from ir.script.plain.library.matrices import MATRICES
from ir.script.plain.library.names import assume, unsupported
from ir.script.plain.library.shapes import SHAPES, STORING, sliding_window_view


def _sort_row(row: Any) -> None:
    for i in range(len(row) - 1):
        for j in range(i + 1, len(row)):
            if row[i] > row[j]:
                least = row[j]
                row[j] = row[i]
                row[i] = least


def sort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    if axis is None:
        flat = np.ravel(a).copy()
        _sort_row(flat)
        return flat
    found = np.moveaxis(a, axis, -1).copy()
    if found.ndim == 1:
        _sort_row(found)
        return found
    if np.size(found) > 0:
        rows = np.reshape(found, (-1, found.shape[-1]))
        for i in range(len(rows)):
            _sort_row(rows[i])
    return np.moveaxis(found, -1, axis)


def falling_order(a: Any) -> Any:
    n = len(a)
    order = np.empty(n, np.int64)
    for i in range(n):
        place = 0
        for j in range(n):
            if a[j] > a[i] or (a[j] == a[i] and j < i):
                place += 1
        order[place] = i
    return order


def lexsort(keys: Any) -> Any:
    """The order by the last key; of equal ones by the key before, and so on, since each order keeps that of equals."""
    order = argsort(keys[0])
    for key in keys[1:]:
        order = order[argsort(key[order])]
    return order


def falling_lexsort(keys: Any) -> Any:
    order = falling_order(keys[0])
    for key in keys[1:]:
        order = order[falling_order(key[order])]
    return order


def sorted_items(iterable: Any, reverse: Any = False) -> Any:
    rising = sort(np.asarray(iterable))
    return rising[::-1] if reverse else rising


def _order(a: Any, order: Any) -> None:
    n = len(a)
    for i in range(n):
        place = 0
        for j in range(n):
            if a[j] < a[i] or (a[j] == a[i] and j < i):
                place += 1
        order[place] = i


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    moved = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    order = np.empty(moved.shape, np.int64)
    if moved.ndim == 1:
        _order(moved, order)
        return order
    if np.size(moved) > 0:
        rows, orders = np.reshape(moved, (-1, moved.shape[-1])), np.reshape(order, (-1, moved.shape[-1]))
        for i in range(len(rows)):
            _order(rows[i], orders[i])
    return order if axis is None else np.moveaxis(order, -1, axis)


def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None) -> Any:
    """In order, which is one of the orders that there may be."""
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None) -> Any:
    return argsort(a, axis)


def _quantile(a: Any, q: Any) -> Any:
    return _of_sorted(sort(np.ravel(a)), q)


def _of_sorted(flat: Any, q: Any) -> Any:
    n = len(flat)
    place = q * (n - 1)
    low = int(place)
    high = min(low + 1, n - 1)
    part = place - low
    below, above = flat[low], flat[high]
    return below + (above - below) * part if part < 0.5 else above - (above - below) * (1.0 - part)


def _median(a: Any) -> Any:
    flat = sort(np.ravel(a))
    n = len(flat)
    return flat[n // 2] * 1.0 if n % 2 == 1 else 0.5 * (flat[n // 2 - 1] * 1.0 + flat[n // 2])


def _rows(a: Any, axis: Any) -> Any:
    """An array as a matrix whose rows lie along an axis."""
    moved = np.moveaxis(a, axis, -1)
    return np.reshape(moved, (-1, moved.shape[-1]))


def _without(shape: Any, axis: Any) -> Any:
    return shape[: axis % len(shape)] + shape[axis % len(shape) + 1 :]


def _of_rows(function: Any, a: Any, axis: Any) -> Any:
    rows = _rows(a, axis)
    found = np.empty(len(rows), (rows[:1, :1] * 0.5).dtype)
    for i in range(len(rows)):
        found[i] = function(rows[i])
    return np.reshape(found, _without(a.shape, axis))


def median(a: Any, axis: Any = None) -> Any:
    a = np.asarray(a)
    return _median(a) if axis is None else _of_rows(_median, a, axis)


def _quantiles(a: Any, qs: Any, axis: Any) -> Any:
    wide = np.asarray(a, np.float64)
    rows = sort(np.ravel(wide))[None, :] if axis is None else sort(_rows(wide, axis))
    found = np.empty((len(qs), len(rows)))
    for k in range(len(qs)):
        for i in range(len(rows)):
            found[k, i] = _of_sorted(rows[i], qs[k])
    return np.reshape(found, (len(qs), *(() if axis is None else _without(a.shape, axis))))


def _quantile_along(a: Any, q: Any, axis: Any) -> Any:
    def of_row(row: Any) -> Any:
        return _quantile(row, q)

    return _of_rows(of_row, np.ravel(a) if axis is None else a, -1 if axis is None else axis)


def quantile(a: Any, q: Any, axis: Any = None) -> Any:
    a = np.asarray(a)
    if np.ndim(q) > 0:
        return _quantiles(a, q, axis)
    return _quantile(a, q) if axis is None else _quantile_along(a, q, axis)


def percentile(a: Any, q: Any, axis: Any = None) -> Any:
    if np.ndim(q) > 0:
        return _quantiles(a, np.asarray(q) / 100, axis)
    return quantile(a, q / 100, axis)


def bincount(x: Any, weights: Any = None, *, minlength: Any) -> Any:
    counts = np.zeros(minlength, np.int64 if weights is None else np.float64)
    for i in range(len(x)):
        assume(x[i] >= 0 and x[i] < minlength)
        counts[x[i]] += 1 if weights is None else weights[i]
    return counts


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = False, weights: Any = None) -> Any:
    flat, weights = np.ravel(a), None if weights is None else np.ravel(weights)
    if np.ndim(bins) > 0:
        return _histogram(flat, np.asarray(bins), density, weights)
    if range is not None:
        return _histogram(flat, np.linspace(range[0], range[1], bins + 1), density, weights)
    low, high = flat.min() * 1.0, flat.max() * 1.0
    wide = 0.0 if low < high else 0.5
    return _histogram(flat, np.linspace(low - wide, high + wide, bins + 1), density, weights)


def _histogram(flat: Any, edges: Any, density: Any, weights: Any) -> Any:
    bins = len(edges) - 1
    counts = np.zeros(bins, np.int64 if weights is None else weights.dtype)
    for k in range(bins):
        for i in range(len(flat)):
            if edges[k] <= flat[i] and (flat[i] < edges[k + 1] or (k == bins - 1 and flat[i] == edges[bins])):
                counts[k] += 1 if weights is None else weights[i]
    return counts / np.diff(edges) / np.sum(counts) if density else counts, edges


def _search(a: Any, v: Any, side: Any) -> Any:
    place = 0
    for j in range(len(a)):
        if a[j] < v or (side == "right" and a[j] == v):
            place += 1
    return np.int64(place)


def searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
    a = np.asarray(a)
    if np.ndim(v) == 0:
        return _search(a, v, side)
    flat = np.ravel(np.asarray(v))
    found = np.empty(len(flat), np.int64)
    for i in range(len(flat)):
        found[i] = _search(a, flat[i], side)
    return np.reshape(found, np.shape(v))


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> Any:
    low, high = lo, len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> Any:
    low, high = lo, len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if x < a[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    bins = np.asarray(bins)
    side = "left" if right else "right"
    rising = searchsorted(bins, x, side)
    falling = len(bins) - searchsorted(bins[::-1], x, side)
    return np.where(bins[0] <= bins[-1], rising, falling)


def _interpolate(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    last = len(xp) - 1
    found = np.float64(0.0)
    for k in range(last):
        if xp[k] <= x and x < xp[k + 1]:
            found += (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k]) + fp[k]
    if x < xp[0]:
        found = fp[0] if left is None else left
    if x >= xp[last]:
        found = fp[last] if right is None or x == xp[last] else right
    return found


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    xp = np.asarray(xp, np.float64)
    fp = np.asarray(fp, np.float64)
    if np.ndim(x) == 0:
        return _interpolate(x, xp, fp, left, right)
    places = np.asarray(x)
    flat = np.ravel(places)
    found = np.empty(len(flat))
    for i in range(len(flat)):
        found[i] = _interpolate(flat[i], xp, fp, left, right)
    return np.reshape(found, places.shape)


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    a = np.asarray(a)
    v = np.asarray(v)
    n, m = len(a), len(v)
    short = min(n, m)
    count = n + m - 1 if mode == "full" else (max(n, m) if mode == "same" else max(n, m) - short + 1)
    first = 0 if mode == "full" else ((short - 1) // 2 if mode == "same" else short - 1)
    found = np.zeros(count, (a[:1] * v[:1]).dtype)
    for k in range(count):
        for i in range(n):
            if k + first - i >= 0 and k + first - i < m:
                found[k] += a[i] * v[k + first - i]
    return found


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    a = np.asarray(a)
    v = np.asarray(v)
    found = convolve(a, v[::-1], mode)
    return found[::-1] if mode == "valid" and len(v) > len(a) else found


def cross(a: Any, b: Any) -> Any:
    a = np.asarray(a)
    b = np.asarray(b)
    if a.ndim == 1 and b.ndim == 1:
        return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    return np.stack(
        (
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ),
        axis=-1,
    )


def inner(a: Any, b: Any) -> Any:
    return a @ b if b.ndim == 1 else a @ b.T


def vdot(a: Any, b: Any) -> Any:
    return np.conj(np.ravel(a)) @ np.ravel(b)


def polyval(p: Any, x: Any) -> Any:
    places = np.asarray(x)
    found = 0 * places
    for factor in p:
        found = found * places + factor
    return found


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    if ord is None or ord == "fro":
        return np.sqrt(np.sum(np.real(x * 1.0 * np.conj(x)), axis=axis, keepdims=keepdims))
    if x.ndim == 1 or (axis is not None and np.ndim(axis) == 0):
        return _vector_norm(np.abs(x * 1.0), ord, axis, keepdims)
    if x.ndim == 2 and axis is None and (ord == 1 or ord == np.inf):
        return np.max(np.sum(np.abs(x * 1.0), axis=0 if ord == 1 else 1))
    return unsupported("a norm of matrices that needs their singular values")


def _vector_norm(sizes: Any, ord: Any, axis: Any, keepdims: Any) -> Any:
    if ord == 2:
        return np.sqrt(np.sum(np.square(sizes), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(sizes, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(sizes, axis=axis, keepdims=keepdims)
    return np.sum(sizes**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return np.sum(a != 0, axis=axis, keepdims=keepdims)


def ptp(a: Any, axis: Any = None) -> Any:
    return np.max(a, axis=axis) - np.min(a, axis=axis)


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return np.mean(a, axis=axis)
    if axis is None or np.ndim(weights) == np.ndim(a):
        return np.sum(a * 1.0 * weights, axis=axis) / np.sum(weights, axis=axis)
    return np.sum(np.moveaxis(a, axis, -1) * 1.0 * weights, axis=-1) / np.sum(weights)


def cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    if y is not None:
        return unsupported("stack both as rows of one array")
    rows = np.asarray(m if rowvar or m.ndim == 1 else m.T, np.float64)
    left = rows - np.mean(rows, axis=-1, keepdims=True)
    free = (0 if bias else 1) if ddof is None else ddof
    return (left @ left.T) / (rows.shape[-1] - free)


def corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    if y is not None:
        return corrcoef_of(np.stack((x, y)))
    return corrcoef_of(x if rowvar or x.ndim == 1 else x.T)


def corrcoef_of(rows: Any) -> Any:
    found = cov(rows)
    if rows.ndim == 1:
        return found / found
    spread = np.sqrt(np.diag(found))
    return np.clip(found / spread[:, None] / spread, -1, 1)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    steps = dx if x is None else np.diff(np.asarray(x))
    moved = np.moveaxis(np.asarray(y), axis, -1)
    return np.sum(steps * (moved[..., 1:] + moved[..., :-1]) / 2.0, axis=-1)


def gradient(f: Any, by: Any = 1.0, second: Any = None, third: Any = None, *, axis: Any = None) -> Any:
    if axis is None and f.ndim > 1:
        spacing = (by, second, third) if second is not None else (by,) * f.ndim
        return tuple(_slopes(f, spacing[k], k) for k in range(f.ndim))
    return _slopes(f, by, 0 if axis is None else axis)


def _slopes(f: Any, by: Any, axis: Any) -> Any:
    moved = np.moveaxis(f * 1.0, axis, 0)  # floats, also of what is unsigned
    if np.ndim(by) > 0:
        return unsupported("places that are not evenly spaced")
    found = np.empty(moved.shape, moved.dtype)
    found[0] = (moved[1] - moved[0]) / by
    found[1:-1] = (moved[2:] - moved[:-2]) / (2.0 * by)
    found[-1] = (moved[-1] - moved[-2]) / by
    return np.moveaxis(found, 0, axis)


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    return np.abs(a - b * 1.0) <= atol + rtol * np.abs(b * 1.0)


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    return np.all(isclose(a, b, rtol, atol))


def array_equal(a1: Any, a2: Any) -> Any:
    return np.all(a1 == a2) if np.shape(a1) == np.shape(a2) else False


# Of arrays that may have items which are no number ------------------------------------------------------------------


def nan_to_num(x: Any, *, nan: Any = 0.0) -> Any:
    most = np.finfo(x.dtype).max
    return np.where(np.isnan(x), nan, np.clip(x, -most, most))


def nansum(a: Any, axis: Any = None) -> Any:
    return np.sum(np.where(np.isnan(a), 0, a), axis=axis)


def nanprod(a: Any, axis: Any = None) -> Any:
    return np.prod(np.where(np.isnan(a), 1, a), axis=axis)


def nanmax(a: Any, axis: Any = None) -> Any:
    return np.max(np.where(np.isnan(a), -np.inf, a), axis=axis)


def nanmin(a: Any, axis: Any = None) -> Any:
    return np.min(np.where(np.isnan(a), np.inf, a), axis=axis)


def nanmean(a: Any, axis: Any = None) -> Any:
    return nansum(a, axis) / (np.sum(np.logical_not(np.isnan(a)), axis=axis)).astype(a.dtype)


BODIES: dict[str, Callable[..., Any]] = {
    **{f"np.{f.__name__}": f for f in (
        sort, argsort, partition, argpartition, lexsort, median, quantile, percentile, bincount, histogram,
        searchsorted, digitize, interp, convolve, correlate, cross, inner, vdot, polyval, count_nonzero, ptp, average,
        cov, corrcoef, trapezoid, gradient,
        isclose, allclose, array_equal, nan_to_num, nansum, nanprod, nanmax, nanmin, nanmean,
        *ELEMENTS, *SHAPES, *STORING, *CHOSEN,
    )},
    "np.lib.stride_tricks.sliding_window_view": sliding_window_view, "np.linalg.norm": norm, **MATRICES,
    "sorted": sorted_items, "bisect.bisect_left": bisect_left, "bisect.bisect_right": bisect_right,
    **OF_MATH, **OF_UFUNCS, **UPDATES, **FUNCTIONAL,
}  # fmt: skip
PUT_IN_PLACE = {**BODIES, **OWN, "A[m]": kept, "sorted.reverse": falling_order, "sorted.rows": falling_lexsort}
FINITE = (
    "sorted", "sorted.reverse", "sorted.rows", "np.sort", "np.argsort", "np.lexsort", "np.partition",
    "np.argpartition",
    "np.median", "np.quantile", "np.percentile", "np.searchsorted", "np.digitize",
    "np.interp", "np.fmax", "np.fmin",
    "np.unique", "np.union1d", "np.intersect1d", "np.setdiff1d",
)  # fmt: skip
IN_PLACE = (*UPDATES, *(f"np.{f.__name__}" for f in STORING))  # statements, which store to their first argument
BY_PLACE = frozenset(f"np.{f.__name__}" for f in (  # for which it matters where items stand
    sort, argsort, partition, argpartition, median, quantile, percentile, bincount, histogram, searchsorted, digitize,
    interp, convolve,
    correlate, cov, corrcoef, trapezoid, gradient, *CHOSEN, *SHAPES,
)) | {"sorted", "sorted.reverse"}  # fmt: skip
