"""Counters of nests are sums over the iterations before: what is stored where they point to, and traps beside these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsat
from compare import assert_refines
from egraph_rules import optimize
from ir import parse
from ir.nodes import Alloc
from ir.traverse import walk
from profiles import some

FILLED = """
@T.prim_func
def f(A: T.Buffer((6, 7), "float32"), X: T.Buffer((60,), "float32"), E: T.Buffer((1,), "{dtype}"), n: T.int32):
    T.assume(n >= 0 and n < 6)
    p = T.alloc_buffer((1,), "{dtype}")
    p[0] = {first}
    {nest}
    E[0] = p[0]
"""
IN_ORDER = "X[p[0]] = A[i, j]\n            p[0] = p[0] + 1"


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("loops", "body"),
    some([
        ("0, 6; 0, 7", IN_ORDER),
        ("0, 6; 0, i + 1", IN_ORDER),
        ("0, 6; i + 1, 7", IN_ORDER),
        ("0, 6; T.max(0, i - 2), T.min(7, i + 2)", IN_ORDER),
        ("1, 6; 0, 7", "p[0] = 2 + p[0]\n            X[p[0]] = A[i, j]\n            p[0] = p[0] - 1"),
        ("0, 5; 0, i", "X[p[0]] = A[i, j]\n            p[0] = p[0] + j"),
        ("0, n; 0, i + 1", IN_ORDER),
        ("0, 4; 0, 4", "if A[i, j] > 0.0:\n                X[p[0]] = A[i, j]\n            p[0] = p[0] + 1"),
        ("0, 4; 0, 4", "for k in range(3):\n                p[0] += 1\n            X[p[0]] = A[i, j]"),
    ], 0.12),
)  # fmt: skip
def test_counters_are_sums(loops: str, body: str, dtype: str) -> None:
    rows, columns = loops.split("; ")
    nest = f"for i in range({rows}):\n        for j in range({columns}):\n            {body}"
    func = parse(FILLED.format(dtype=dtype, first=3, nest=nest)).funcs[0]
    best = optimize(func).best
    assert not any(isinstance(s, Alloc) for s in walk(best.body)), best
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize(
    "nest",
    [
        "for i in range(6):\n        if A[i, 0] > 0.0:\n            X[p[0]] = A[i, 1]\n            p[0] = p[0] + 1",
        "for i in range(3):\n        X[p[0]] = A[i, 1]\n        p[0] = p[0] * 2 + 1",
        "for i in range(6):\n        X[p[0]] = A[i, 1]\n        p[0] = p[0] + E[0]",
        "for i in range(3):\n        for j in range(p[0] - 3):\n            X[j] = A[i, j]\n        p[0] = p[0] + 1",
    ],
)
def test_what_data_count_is_no_sum(nest: str) -> None:
    func = parse(FILLED.format(dtype="int32", first=3, nest=nest)).funcs[0]
    best = optimize(func).best
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


def test_lengths_that_may_be_negative_are_no_sum() -> None:
    nest = f"for i in range(6):\n        for j in T.serial(i - 2):\n            {IN_ORDER}"
    func = parse(FILLED.format(dtype="int32", first=0, nest=nest)).funcs[0]
    assert assert_refines(func, optimize(func).best, np.random.default_rng(0)) > 0


def packed(A: Any) -> Any:
    n = len(A)
    out = np.zeros(n * (n + 1) // 2, A.dtype)
    p = 0
    for i in range(n):
        for j in range(i, n):
            out[p] = A[i, j] * 2
            p += 1
    return out


def by_diagonals(A: Any) -> Any:
    n, m = A.shape
    out = np.zeros(n * m, A.dtype)
    p = 0
    for d in range(n + m - 1):
        for i in range(max(0, d - m + 1), min(n, d + 1)):
            out[p] = A[i, d - i]
            p += 1
    return out


def without_diagonal(A: Any) -> Any:
    n = len(A)
    out = np.zeros(n * n - n, A.dtype)
    p = 0
    for i in range(n):
        for j in range(n):
            if i != j:
                out[p] = A[i, j]
                p += 1
    return out


def pyramid(A: Any) -> Any:
    n = len(A)
    out = np.zeros(21, A.dtype)
    p = 0
    for level in range(3):
        g = 1 << level
        for a in range(g):
            for b in range(g):
                out[p] = A[a * n // g, b * n // g]
                p += 1
    return out


@pytest.mark.parametrize("function", some([packed, by_diagonals, without_diagonal, pyramid], 0.5))
def test_arrays_that_are_filled_in_order_take_no_steps(function: Any) -> None:
    A = np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32)
    kernel = loopsat.jit(function)
    np.testing.assert_array_equal(kernel(A), function(A))
    assert "fori_loop" not in kernel.source or function is pyramid
