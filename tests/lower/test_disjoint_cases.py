"""Sums where one of two conditions holds, or just one of them: products of matrices of zeros and ones."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from ir import PrimFunc
from lower import compile
from lowered import assert_agrees, read, small_numbers
from profiles import some

PARAMS = 'A: T.Buffer((7, 9), "int32"), B: T.Buffer((6, 9), "int32"), C: T.Buffer((7, 6), "int32"), F: T.Buffer((7, 6), "float32"), X: T.Buffer((9,), "float32")'
SUMS = {
    "either": "if A[i, k] > 0 or B[j, k] > 1:\n        C[i, j] = C[i, j] + 1",
    "one of them": "if (A[i, k] > 0) != (B[j, k] > 1):\n        C[i, j] = C[i, j] - k",
    "floats": "if A[i, k] == 0 or B[j, k] == 0:\n        F[i, j] = F[i, j] + X[k]",
    "with another condition": "if k > 2:\n        if A[i, k] > 0 or B[j, k] > 1:\n            C[i, j] = C[i, j] + 1",
}
OTHERS = {
    "of three": "if A[i, k] > 0 or B[j, k] > 1 or A[i, k] < B[j, k]:\n        C[i, j] = C[i, j] + A[i, k]",
    "of the same axes": "if A[i, k] > 0 or A[i, k] < -2:\n        C[i, j] = C[i, j] + 1",
    "no sum": "if A[i, k] > 0 or B[j, k] > 1:\n        C[i, j] = T.max(C[i, j], k)",
    "of what is added to": "if A[i, k] > 0 or C[i, j] > 3:\n        C[i, j] = C[i, j] + 1",
}


def program(body: str) -> PrimFunc:
    return read(PARAMS, f"for i, j, k in T.grid(7, 6, 9):\n    {body}")


@pytest.mark.parametrize("name", some(SUMS, 0.5))
def test_cases_that_exclude_each_other_are_added_up(name: str) -> None:
    func = program(SUMS[name])
    kernel, whole = compile(func), compile(func, without="structure.disjoint_cases")
    assert kernel.source != whole.source
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed), 1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_other_statements_stay_one(name: str) -> None:
    func = program(OTHERS[name])
    kernel = compile(func)
    assert kernel.source == compile(func, without="structure.disjoint_cases").source
    assert_agrees(func, kernel, small_numbers(func, 0))
