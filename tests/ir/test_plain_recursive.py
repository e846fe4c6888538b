"""Plain functions that call themselves: put in place where sizes and known numbers end that, and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsat
from ir.errors import LoopsatError
from plain_runs import assert_same, read, run
from profiles import some

X = np.array([5.0, 2.0, 9.0, 1.0, 7.0, 3.0])
MATRIX = np.random.default_rng(0).normal(size=(4, 4))
WHOLE = np.array([12, 18, 0, 7])


def fibonacci(x):
    def of(k):
        return k if k < 2 else of(k - 1) + of(k - 2)

    return of(9) * x


def merge_sort(x):
    def halves(v):
        if len(v) <= 1:
            return v
        m = len(v) // 2
        left, right = halves(v[:m]), halves(v[m:])
        out = np.empty_like(v)
        i = j = 0
        for k in range(len(v)):
            if j >= len(right) or (i < len(left) and left[i] <= right[j]):
                out[k] = left[i]
                i += 1
            else:
                out[k] = right[j]
                j += 1
        return out

    return halves(x)


def fourier(x):
    def of(v):
        n = len(v)
        if n == 1:
            return v.astype(complex)
        even, odd = of(v[::2]), of(v[1::2])
        turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
        return np.concatenate([even + turned, even - turned])

    return of(x[:4])


def determinant(A):
    if len(A) == 1:
        return A[0, 0]
    found = 0.0
    for j in range(len(A)):
        found += (-1) ** j * A[0, j] * determinant(np.delete(A[1:], j, 1))
    return found


def divisor(a, b):
    return a if b == 0 else divisor(b, a % b)


@loopsat.jit
def steps(n, k):
    if n == 1:
        return k
    if n % 2 == 0:
        return steps(n // 2, k + 1)
    return steps(3 * n + 1, k + 1)


def root(parents, k):
    above = parents[k]
    if above == k:
        return k
    return root(parents, above)


def divisors(x):
    return divisor(x[0], x[1]), divisor(x[3], x[2]), steps(x[3], 0)


def roots(parents):
    out = np.zeros_like(parents)
    for k in range(len(parents)):
        out[k] = root(parents, k)
    return out


def powers(x, n):
    if n == 0:
        return np.ones_like(x)
    half = powers(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


@pytest.mark.parametrize(
    ("function", "args"),
    some(
        [
            (fibonacci, (X,)),
            (merge_sort, (X,)),
            (fourier, (X,)),
            (determinant, (MATRIX,)),
            (divisors, (WHOLE,)),
            (divisor, (np.int64(12), np.int64(18))),
            (roots, (np.array([1, 2, 3, 3]),)),
            (powers, (X, 13)),
        ],
        0.29,
    ),
)
def test_functions_that_call_themselves(function: Any, args: tuple[Any, ...]) -> None:
    assert_same(run(function, args), function(*args))


def test_numbers_of_callers_end_calls_of_themselves() -> None:
    assert loopsat.jit(powers)(X, 5).tolist() == powers(X, 5).tolist()


def found(parents, k):
    if parents[k] != k:
        parents[k] = found(parents, parents[k])
    return parents[k]


def endless(x):
    return endless(x) + 1


def descended(x):
    return x if x < 2 else descended(x - 1) + descended(x - 2)


@pytest.mark.parametrize(
    ("function", "args"), [(found, (WHOLE, np.int64(0))), (endless, (X,)), (descended, (np.int64(5),))]
)
def test_calls_that_data_or_nothing_ends_are_refused(function: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(LoopsatError, match="calls itself, and data or more than 20 steps decide where that ends"):
        read(function, args)
