"""Functions of `math` and `np.linalg`, elements by columns, parts up to places from the end, and what things are."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import pytest

from ir.errors import LoopsatError
from plain_runs import assert_same, read, run
from profiles import some

X = np.array([-6.0, -1.5, -0.3, -1e-9, 0.0, 1e-300, 0.2, 0.9, 3.7, 9.0, 26.0])
A = np.random.default_rng(1).normal(size=(6, 4))
WHOLE = np.arange(12).reshape(3, 4)


def complements(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = math.erfc(x[i])
    return out


def factors(a):
    q, r = np.linalg.qr(a)
    return q, r, np.linalg.qr(a.T)[0], np.linalg.qr(a, "complete")


def triangular(a):
    return np.linalg.qr(np.triu(a[:4]))


def fitted(a):
    q, r = np.linalg.qr(a[:, :2])
    return np.linalg.solve(r, q.T @ a[:, 3])


def by_columns(a):
    return (
        a.flatten(order="F"),
        a.ravel(order="F"),
        a.T.flatten("F"),
        a.reshape(2, 6, order="F"),
        a.reshape((6, -1), order="F"),
        a.reshape(-1, order="F"),
    )


def lags(x):
    out = np.zeros((5, 2))
    for k in range(1, 5):
        out[k, 0] = np.sum(x[k:] * x[:-k])
        out[k, 1] = np.mean((x[k:] - x[:-k]) ** 2)
    return out


def divided_differences(x):
    n = 5
    c = x[:n].copy()
    t = np.arange(n) * 1.5
    for j in range(1, n):
        c[j:] = (c[j:] - c[j - 1 : -1]) / (t[j:] - t[:-j])
    return c


def sorted_found(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    found.sort()
    least = found[0]
    found.sort(reverse=True)
    return least, found[0], found[1]


def kinds(x):
    found = 0
    for k, is_it in enumerate(
        (
            isinstance(x, np.ndarray),
            isinstance(found, int),
            isinstance(0.5, (int, float)),
            isinstance(x[0], np.floating),
            isinstance(x[0], float),
            isinstance(found, numbers.Number),
            isinstance("a", str),
            isinstance(x, list),
            isinstance(len(x), float),
            isinstance(None, int),
        )
    ):
        found += 2**k if is_it else 0
    return found


@pytest.mark.parametrize(
    ("function", "args"),
    some(
        [
            (factors, (A,)),
            (triangular, (A,)),
            (fitted, (A,)),
            (by_columns, (WHOLE,)),
            (kinds, (X,)),
            (lags, (X,)),
            (divided_differences, (X,)),
            (sorted_found, (X,)),
        ],
        0.37,
    ),
)
def test_what_numpy_gives(function: Any, args: tuple[Any, ...]) -> None:
    assert_same(run(function, args), function(*args))


def test_the_complement_of_the_error_function_is_accurate_far_out() -> None:
    np.testing.assert_allclose(run(complements, (X,)), complements(X), rtol=1e-14)


def unknown_kind(x):
    return isinstance(x[0] > 0, bool)


def unknown_mode(x):
    return np.linalg.qr(np.outer(x, x), "raw")


@pytest.mark.parametrize(
    ("function", "text"),
    [(unknown_kind, "is not known when the program is made"), (unknown_mode, "reduced or complete")],
)
def test_what_is_refused(function: Any, text: str) -> None:
    with pytest.raises(LoopsatError, match=text):
        read(function, (X,))
