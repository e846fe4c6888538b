"""Stores to places that no data decide go by tables, made while tracing, of who stores where."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from egraph_rules.cost.target import CPU
from lowered import exact_source, read, small_numbers
from profiles import some

ARRAYS = 'A: T.Buffer((40, 40), "int32"), B: T.Buffer((820,), "int32"), C: T.Buffer((40, 60), "int32")'
NEST = "for i, j in T.grid(40, 40):\n"
INVERTED = {
    "packed": "for i in range(40):\n    for j in range(i + 1):\n        B[i * (i + 1) // 2 + j] = A[i, j]",
    "added": "for i in range(40):\n    for j in range(i + 1):\n        B[i * (i + 1) // 2 + j] = B[i * (i + 1) // 2 + j] + A[j, i]",
    "taken away": "for i in range(40):\n    for j in range(i):\n        B[i * (i + 1) // 2 + j] = B[i * (i + 1) // 2 + j] - A[i, j]",
    "of one axis": "for i in range(40):\n    for j in range(i + 1):\n        B[i * (i + 1) // 2 + j] = A[i, 0]",
    "of the other": "for i in range(40):\n    for j in range(i + 1):\n        B[i * (i + 1) // 2 + j] = T.max(B[i * (i + 1) // 2 + j], A[3, j])",
    "a number": "for i in range(40):\n    for j in range(1, i + 1):\n        B[i * (i + 1) // 2 + j] = 7",
    "where j is none of some": f"{NEST}    if j % 8 != 1:\n        C[i, (j * 7 + i) % 60] = A[i, j] + j",
    "by steps": "for t in range(3):\n    for i in range(40):\n        for j in range(i + 1):\n            B[i * (i + 1) // 2 + j] = A[i, j] + B[i * (i + 1) // 2 + j] * t",
}  # fmt: skip
SPARSE = {
    "multiples": f"{NEST}    if (i + 1) * (j + 2) < 300:\n        B[(i + 1) * (j + 2)] = B[(i + 1) * (j + 2)] + 1",
    "of divisors": f"{NEST}    if i * j < 200:\n        B[i * j] = B[i * j] - A[i, 0]",
    "greatest": f"{NEST}    if i * j % 3 == 1:\n        B[i * j % 25] = T.max(B[i * j % 25], A[i, j])",
    "few of many": f"{NEST}    if i * i + j * j < 30:\n        C[i * j % 7 + i, j] = A[i, j]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(INVERTED.values(), 4), ids=INVERTED.keys())
def test_elements_look_for_who_stores_to_them(body: str) -> None:
    func = read(ARRAYS, body)
    assert "writers(" in exact_source(func, small_numbers(func, 1), CPU)


@pytest.mark.parametrize("body", some(SPARSE.values(), 2), ids=SPARSE.keys())
def test_only_those_that_store_do(body: str) -> None:
    func = read(ARRAYS, body)
    source = exact_source(func, small_numbers(func, 2), CPU)
    assert "stores(" in source and "writers(" not in source


def test_data_decide_as_it_runs() -> None:
    func = read(ARRAYS, f"{NEST}    if A[i, j] > 0 and j <= i:\n        B[i * (i + 1) // 2 + j] = A[i, j]")
    assert "stores(" not in exact_source(func, small_numbers(func, 3), CPU)
