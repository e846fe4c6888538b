"""`np.linalg` of one matrix as plain functions: Cholesky's factor, elimination with row exchanges, and reflections.

A matrix that is singular is an error with `checks=True`; of one that is not positive definite there is no factor.
"""

# pyright: reportUnknownVariableType=none

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.script.plain.library.names import unsupported

_Factors: Any = type(np.linalg.qr(np.eye(1)))  # NumPy's named tuple


def cholesky(a: Any) -> Any:
    if a.ndim != 2:
        return unsupported("many matrices at once: write a loop over them")
    factor = np.tril(a * 1.0)
    for i in range(len(a)):
        for j in range(i):
            for k in range(j):
                factor[i, j] -= factor[i, k] * factor[j, k]
            factor[i, j] /= factor[j, j]
        for k in range(i):
            factor[i, i] -= factor[i, k] * factor[i, k]
        factor[i, i] = np.sqrt(factor[i, i])
    return factor


def _exchanged(rows: Any, k: Any) -> Any:
    """The row below that is the pivot of a column, with which that of the column changes places."""
    pivot = k
    for i in range(k + 1, len(rows)):
        if abs(rows[i, k]) > abs(rows[pivot, k]):
            pivot = i
    for j in range(rows.shape[1]):
        held = rows[k, j]
        rows[k, j] = rows[pivot, j]
        rows[pivot, j] = held
    return pivot


def det(a: Any) -> Any:
    if a.ndim != 2:
        return unsupported("many matrices at once: write a loop over them")
    rows = a * 1.0
    found = rows[0, 0] * 0 + 1
    for k in range(len(rows)):
        pivot = _exchanged(rows, k)
        found *= rows[k, k] if pivot == k else -rows[k, k]
        for i in range(k + 1, len(rows)):
            if rows[k, k] != 0:
                factor = rows[i, k] / rows[k, k]
                for j in range(k + 1, len(rows)):
                    rows[i, j] -= factor * rows[k, j]
    return found


def solve(a: Any, b: Any) -> Any:
    if a.ndim != 2:
        return unsupported("many matrices at once: write a loop over them")
    if b.ndim == 1:
        return _solved(a, b[:, None])[:, 0]
    return _solved(a, b)


def inv(a: Any) -> Any:
    if a.ndim != 2:
        return unsupported("many matrices at once: write a loop over them")
    return _solved(a, np.eye(len(a), dtype=(a * 1.0).dtype))


def matrix_power(a: Any, n: Any) -> Any:
    found = np.eye(len(a), dtype=a.dtype)
    by = inv(a) if n < 0 else a
    for _ in range(abs(n)):
        found = found @ by
    return found


def qr(a: Any, mode: Any = "reduced") -> Any:
    """Householder's reflections, with LAPACK's signs."""
    n, m = a.shape if a.ndim == 2 else unsupported("many matrices at once: write a loop over them")
    kept = (
        min(n, m) if mode == "reduced" else n if mode == "complete" else unsupported("the mode is reduced or complete")
    )
    rows, turned = a * 1.0, np.eye(n, dtype=(a * 1.0).dtype)
    normal = np.zeros_like(rows[:, 0])
    for k in range(min(n - 1, m)):
        size = rows[k, k] * 0
        for i in range(k + 1, n):
            size += rows[i, k] * rows[i, k]
        if size > 0:
            for i in range(k + 1, n):
                normal[i] = rows[i, k]
            length = np.sqrt(rows[k, k] * rows[k, k] + size)
            normal[k] = rows[k, k] + (length if rows[k, k] >= 0 else -length)
            size += normal[k] * normal[k]
            _reflect(rows, normal, 2 / size, k)
            _reflect(turned.T, normal, 2 / size, k)
    return _Factors(turned[:, :kept], np.triu(rows[:kept]))


def _reflect(rows: Any, normal: Any, by: Any, k: Any) -> None:
    """Reflect all columns at the plane with a normal, which has the items from k on."""
    for j in range(rows.shape[1]):
        along = rows[0, j] * 0
        for i in range(k, len(rows)):
            along += normal[i] * rows[i, j]
        along *= by
        for i in range(k, len(rows)):
            rows[i, j] -= along * normal[i]


def _solved(a: Any, b: Any) -> Any:
    n = len(a)
    rows = np.concatenate((a * 1.0, b * 1.0), axis=1)
    for k in range(n):
        _exchanged(rows, k)
        assert rows[k, k] != 0, "LinAlgError: a singular matrix"
        for i in range(k + 1, n):
            factor = rows[i, k] / rows[k, k]
            for j in range(k + 1, rows.shape[1]):
                rows[i, j] -= factor * rows[k, j]
    found = rows[:, n:].copy()
    for back in range(n):
        k = n - 1 - back
        for j in range(found.shape[1]):
            rest = found[k, j]
            for i in range(k + 1, n):
                rest -= rows[k, i] * found[i, j]
            found[k, j] = rest / rows[k, k]
    return found


MATRICES: dict[str, Callable[..., Any]] = {
    f"np.linalg.{f.__name__}": f for f in (cholesky, det, solve, inv, matrix_power, qr)
}
