"""Branches that exchange two elements which are out of order: minima and maxima, where nothing else reads the local."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from lower import compile
from lowered import assert_agrees, read, small_numbers
from profiles import some
from tests.lowered import unwrapped

PARAMS = (
    'A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32"), P: T.Buffer((9,), "int32"), C: T.Buffer((9, 4), "int32")'
)
VECTORS = 'A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")'
LOCAL = "s = T.alloc_buffer((1,), 'int32')\n{above}for i in range(8):\n    {first}if {cond}:\n        s[0] = A[i]\n        A[i] = B[i + 1]\n        B[i + 1] = s[0]\n    {last}"
NAMED = "for i in range(8):\n    if {cond}:\n        s = {p}\n        {p} = {q}\n        {q} = s"


def source(body: str) -> str:
    func = read(PARAMS, body)
    kernel = compile(func)
    for seed in range(3):
        inputs = small_numbers(func, seed)
        assert_agrees(func, kernel, {**inputs, "P": np.array([3, 0, 3, 8, 1, 1, 2, 7, 0], np.int32)})
    return unwrapped(kernel.source)


@pytest.mark.parametrize("cond", ["A[i] > B[i + 1]", "A[i] <= B[i + 1]", "B[i + 1] > A[i]"])
def test_exchanges_are_extremes(cond: str) -> None:
    text = source(LOCAL.format(above="", first="", cond=cond, last=""))
    assert ("minimum" in text or ".min(" in text) and ("maximum" in text or ".max(" in text) and "where" not in text


@pytest.mark.parametrize(
    ("above", "first", "last"),
    some(
        [
            ("s[0] = 5\n", "", "C[i, 0] = s[0]"),
            ("s[0] = 3\n", "C[i, 1] = s[0]\n    ", ""),
            ("", "s[0] = 2\n    ", "C[i, 2] = s[0]"),
        ],
        0.45,
    ),
)
def test_what_others_read_is_kept(above: str, first: str, last: str) -> None:
    assert "where" in source(LOCAL.format(above=above, first=first, cond="A[i] > B[i + 1]", last=last))


@pytest.mark.parametrize(
    ("p", "q"),
    some(
        [
            ("A[i]", "A[i + 1]"),
            ("A[P[i]]", "A[i]"),
            ("P[P[i]]", "P[i]"),
            ("A[i]", "A[i]"),
            ("C[i, 1]", "C[i, 3]"),
            ("A[8 - i]", "A[i]"),
        ],
        0.33,
    ),
)
def test_elements_of_one_array(p: str, q: str) -> None:
    for cond in (f"{p} > {q}", f"{q} >= {p}", f"{p} > {q} + 1"):
        source(NAMED.format(cond=cond, p=p, q=q))


def test_sorting_of_a_few() -> None:
    body = "for i in range(9):\n    for r in range(3):\n        for k in range(3):\n            if C[i, k] > C[i, k + 1]:\n                s = C[i, k]\n                C[i, k] = C[i, k + 1]\n                C[i, k + 1] = s"
    source(body)


@pytest.mark.parametrize(
    "then",
    [
        "s = A[i]\n        t = B[i + 1]\n        A[i] = t\n        B[i + 1] = s",
        "t = B[i + 1]\n        s = A[i]\n        B[i + 1] = s\n        A[i] = t",
    ],
)
def test_two_names(then: str) -> None:
    text = source(f"for i in range(8):\n    if A[i] > B[i + 1]:\n        {then}")
    assert "where" not in text


@pytest.mark.parametrize(
    "then",
    [
        "s = A[i]\n        A[i] = B[i + 1]\n        B[i + 1] = s + 1",
        "s = A[i]\n        B[i + 1] = s\n        A[i] = B[i + 1]",
        "s = B[i]\n        A[i] = B[i + 1]\n        B[i + 1] = s",
        "s = A[i]\n        A[i] = B[i + 1]\n        B[i + 1] = s\n        C[i, 0] = s",
    ],
)
def test_other_branches(then: str) -> None:
    source(f"for i in range(8):\n    if A[i] > B[i + 1]:\n        {then}")


def test_floats_are_chosen_by_one_comparison_also_where_they_are_strict() -> None:
    func = read(VECTORS, NAMED.format(cond="A[i] > B[i]", p="A[i]", q="B[i]"))
    kernel = compile(func, floats="strict")
    assert "taken" not in kernel.source and "imum" not in kernel.source
    values = np.array([3, np.nan, 1, -0.0, 0.0, np.inf, -1, np.nan, 2], np.float32)
    assert_agrees(func, kernel, {"A": values, "B": values[::-1]}, rtol=0)
