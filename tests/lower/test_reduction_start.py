"""Reductions that start from an element of their own: it becomes one of those reduced, or stays apart."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from ir import interpret, parse
from ir.semantics.inputs import random_inputs
from lower import compile
from lowered import read
from profiles import some

MATRIX = 'X: T.Buffer((6, 9), "{0}"), M: T.Buffer((6,), "{0}")'


def source(params: str, body: str) -> str:
    """The source, after its results were compared with the interpreter's."""
    func = read(params, body)
    kernel = compile(func)
    arrays = random_inputs(func, np.random.default_rng(3))
    for want, found in zip(interpret(func, **arrays), kernel(**arrays), strict=True):
        np.testing.assert_allclose(np.asarray(found), want, rtol=1e-5, err_msg=kernel.source)
    return kernel.source


def over_rows(start: str, update: str) -> str:
    return f"for i in range(6):\n    M[i] = {start}\n    {update}"


ABSORBED = {
    "first of a maximum": over_rows("X[i, 0]", "for j in range(9):\n        M[i] = T.max(M[i], X[i, j])"),
    "one in the middle": over_rows("X[i, 4]", "for j in T.serial(2, 8):\n        M[i] = T.min(M[i], X[i, j])"),
    "just before": over_rows("X[i, 0]", "for j in T.serial(1, 9):\n        M[i] = T.max(M[i], X[i, j])"),
    "just behind": over_rows("X[i, 8]", "for j in T.serial(0, 8):\n        M[i] = T.min(M[i], X[i, j])"),
    "a sum from the first": over_rows("X[i, 0]", "for j in T.serial(1, 9):\n        M[i] = M[i] + X[i, j]"),
    "a shifted index": over_rows("X[i, 0]", "for j in T.serial(0, 8):\n        M[i] = M[i] + X[i, j + 1]"),
    "an expression": over_rows("X[i, 0] * 3 + 1", "for j in range(9):\n        M[i] = T.max(M[i], X[i, j] * 3 + 1)"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", some(["float32", "int32", "int8"], 1))
@pytest.mark.parametrize("body", ABSORBED.values(), ids=ABSORBED.keys())
def test_a_start_among_the_elements_is_reduced_with_them(body: str, dtype: str) -> None:
    code = source(MATRIX.format(dtype), body if dtype == "float32" else body.replace("* 3 + 1", "+ 1"))
    assert code.count("X[:, 0]") + code.count("X[:, 4]") + code.count("X[:, 8]") == 0, code
    assert "maximum" not in code
    assert "minimum" not in code


APART = {
    "a sum that has it twice": over_rows("X[i, 0]", "for j in range(9):\n        M[i] = M[i] + X[i, j]"),
    "two before": over_rows("X[i, 0]", "for j in T.serial(2, 9):\n        M[i] = T.max(M[i], X[i, j])"),
    "another row": over_rows("X[0, 0]", "for j in range(9):\n        M[i] = T.max(M[i], X[i, j])"),
    "another value": over_rows("X[i, 0] + 1", "for j in range(9):\n        M[i] = T.max(M[i], X[i, j])"),
    "a guard": over_rows("X[i, 0]", "for j in range(9):\n        if X[i, j] < 5:\n            M[i] = T.max(M[i], X[i, j])"),
    "changed in between": "for i in range(6):\n    M[i] = X[i, 0]\nfor i in range(6):\n    X[i, 0] = 50\nfor i, j in T.grid(6, 9):\n    M[i] = T.min(M[i], X[i, j])",
    "updated in between": "for i in range(6):\n    M[i] = X[i, 0]\nfor i in range(6):\n    M[i] = M[i] + 40\nfor i, j in T.grid(6, 9):\n    M[i] = T.max(M[i], X[i, j])",
    "set in part": "for i in range(6):\n    M[i] = X[i, 0]\nM[2] = 30\nfor i, j in T.grid(6, 9):\n    M[i] = T.max(M[i], X[i, j])",
    "used twice": over_rows("X[i, 0]", "for j in range(9):\n        M[i] = T.max(M[i], X[i, j])\n    for j in range(9):\n        M[i] = M[i] + X[i, j]"),
}  # fmt: skip


@pytest.mark.parametrize("body", APART.values(), ids=APART.keys())
def test_what_is_not_among_the_elements_stays_apart(body: str) -> None:
    source(MATRIX.format("int32"), body)


def test_conditions_are_counted_as_they_are() -> None:
    """What keeps operands harmless where a condition fails is no part of the condition."""
    func = parse("""
@T.prim_func
def f(A: T.Buffer((40,), "float64"), U: T.Buffer((40,), "float64"), N: T.Buffer((), "int64")):
    N[()] = 0
    for i in T.serial(40):
        if A[i] <= 0 or U[i] < T.exp(-2.0 * A[i]):
            N[()] = N[()] + 1
""").funcs[0]
    rng = np.random.default_rng(0)
    A, U = rng.normal(size=40), rng.random(40)
    wanted = np.count_nonzero((A <= 0) | (np.exp(-2 * A) > U))
    assert np.asarray(compile(func)(A, U)[0]) == interpret(func, A, U)[0] == wanted
