"""Branches and searches as choices, extremes and questions: the same results, and no branch left where that is said."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from compare import assert_refines
from ir.nodes import If
from ir.program.edit import names_in
from ir.transform.branches.convert import Converter
from ir.transform.branches.if_convert import as_extreme, temporaries
from ir.traverse import has_kind
from texts import read

EXCHANGED = """
def exchanged(A: T.Buffer((8,), "int32")):
    for i in range(7):
        if A[i] > A[i + 1]:
            t = A[i]
            A[i] = A[i + 1]
            A[i + 1] = t
"""
SIDES = """
def sides(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        if A[i] > 0:
            B[i] = A[i]
        else:
            B[i] = -A[i]
"""
REPLACED = """
def replaced(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[i]
        if B[i] > 3:
            B[i] = 3
"""
SHORTER = """
def shorter(X: T.Buffer((6, 6), "int32")):
    for k, i, j in T.grid(6, 6, 6):
        if X[i, k] + X[k, j] < X[i, j]:
            X[i, j] = X[i, k] + X[k, j]
"""


@pytest.mark.parametrize("text", [EXCHANGED, SIDES, REPLACED, SHORTER])
def test_stores_under_conditions_choose_what_they_store(text: str) -> None:
    func = read(text)
    taken = Converter(
        names_in(func), temporaries(func.body), as_extreme, choices=True, exchanges=True, existence=True,
        best=lambda _: True,
    )  # fmt: skip
    found = replace(func, body=taken.convert(func.body))
    assert not has_kind(found.body, If)
    assert assert_refines(func, found, np.random.default_rng(0)) > 0
