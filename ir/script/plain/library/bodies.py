"""Functions of NumPy and `math` as plain functions: they are put in place of a call like any other.

What they do is said of numbers that are finite. `np.sort` is in the form in which a sort is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.script.plain.library.names import assume


def _sort_row(row: Any) -> None:
    for i in range(len(row) - 1):
        for j in range(i + 1, len(row)):
            if row[i] > row[j]:
                least = row[j]
                row[j] = row[i]
                row[i] = least


def _sort_rows(a: Any) -> None:
    if a.ndim == 1:
        _sort_row(a)
    else:
        for i in range(len(a)):
            _sort_row(a[i])


def sort(a: Any, axis: Any = -1) -> Any:
    if axis == -1 or axis == a.ndim - 1:
        found = a.copy()
        _sort_rows(found)
        return found
    turned = a.T.copy()
    _sort_rows(turned)
    return turned.T


def argsort(a: Any) -> Any:
    n = len(a)
    order = np.empty(n, np.int64)
    for i in range(n):
        place = 0
        for j in range(n):
            if a[j] < a[i] or (a[j] == a[i] and j < i):
                place += 1
        order[place] = i
    return order


def quantile(a: Any, q: Any) -> Any:
    flat = sort(np.ravel(a))
    n = len(flat)
    place = q * (n - 1)
    low = int(place)
    high = min(low + 1, n - 1)
    part = place - low
    below, above = flat[low], flat[high]
    return below + (above - below) * part if part < 0.5 else above - (above - below) * (1.0 - part)


def percentile(a: Any, q: Any) -> Any:
    return quantile(a, q / 100)


def median(a: Any) -> Any:
    flat = sort(np.ravel(a))
    n = len(flat)
    return flat[n // 2] * 1.0 if n % 2 == 1 else 0.5 * (flat[n // 2 - 1] + flat[n // 2])


def bincount(x: Any, weights: Any = None, *, minlength: Any) -> Any:
    counts = np.zeros(minlength, np.int64 if weights is None else np.float64)
    for i in range(len(x)):
        assume(x[i] >= 0 and x[i] < minlength)
        counts[x[i]] += 1 if weights is None else weights[i]
    return counts


def histogram(a: Any, bins: Any, range: Any) -> Any:
    return _histogram(a, bins, range[0], range[1])


def _histogram(a: Any, bins: Any, low: Any, high: Any) -> Any:
    edges = np.linspace(low, high, bins + 1)
    counts = np.zeros(bins, np.int64)
    flat = np.ravel(a)
    for k in range(bins):
        for i in range(len(flat)):
            if edges[k] <= flat[i] and (flat[i] < edges[k + 1] or (k == bins - 1 and flat[i] == edges[bins])):
                counts[k] += 1
    return counts, edges


def _search(a: Any, v: Any, side: Any) -> Any:
    place = 0
    for j in range(len(a)):
        if a[j] < v or (side == "right" and a[j] == v):
            place += 1
    return np.int64(place)


def searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
    if np.ndim(v) == 0:
        return _search(a, v, side)
    found = np.empty(len(v), np.int64)
    for i in range(len(v)):
        found[i] = _search(a, v[i], side)
    return found


def _interpolate(x: Any, xp: Any, fp: Any) -> Any:
    last = len(xp) - 1
    found = np.float64(0.0)
    for k in range(last):
        if xp[k] <= x and x < xp[k + 1]:
            found += (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k]) + fp[k]
    if x < xp[0]:
        found = np.float64(fp[0])
    if x >= xp[last]:
        found = np.float64(fp[last])
    return found


def interp(x: Any, xp: Any, fp: Any) -> Any:
    if np.ndim(x) == 0:
        return _interpolate(x, xp, fp)
    found = np.empty(len(x))
    for i in range(len(x)):
        found[i] = _interpolate(x[i], xp, fp)
    return found


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
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
    found = convolve(a, v[::-1], mode)
    return found[::-1] if mode == "valid" and len(v) > len(a) else found


def cross(a: Any, b: Any) -> Any:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def inner(a: Any, b: Any) -> Any:
    return a @ b if b.ndim == 1 else a @ b.T


def vdot(a: Any, b: Any) -> Any:
    return np.ravel(a) @ np.ravel(b)


def polyval(p: Any, x: Any) -> Any:
    found = 0 * x
    for factor in p:
        found = found * x + factor
    return found


def ptp(a: Any) -> Any:
    return np.max(a) - np.min(a)


def average(a: Any, weights: Any = None) -> Any:
    return np.mean(a) if weights is None else np.sum(a * weights) / np.sum(weights)


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    return np.abs(a - b) <= atol + rtol * np.abs(b)


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    return np.all(np.abs(a - b) <= atol + rtol * np.abs(b))


def array_equal(a: Any, b: Any) -> Any:
    return np.all(a == b)


def take(a: Any, indices: Any) -> Any:
    return np.ravel(a)[indices]


def gcd(a: Any, b: Any) -> Any:
    x, y = abs(a), abs(b)
    while y > 0:
        x, y = y, x % y
    return x


def factorial(n: Any) -> Any:
    found = 1
    for k in range(2, n + 1):
        found *= k
    return found


BODIES: dict[str, Callable[..., Any]] = {
    **{f"np.{f.__name__}": f for f in (
        sort, argsort, median, quantile, percentile, bincount, searchsorted, interp, convolve, correlate, cross, inner,
        vdot, polyval, ptp, average, isclose, allclose, array_equal, take, gcd, histogram,
    )},
    "math.gcd": gcd, "math.factorial": factorial,
}  # fmt: skip
FINITE = ("np.sort", "np.argsort", "np.median", "np.quantile", "np.percentile", "np.searchsorted", "np.interp")
METHODS_OF = ("argsort", "take", "ptp")  # those that are methods of arrays too
