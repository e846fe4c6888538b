"""Stores of whole rows to places that are data take one index for each row, others one for each element."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from lowered import agreeing_source, read, unwrapped
from profiles import some

PARAMS = 'S: T.Buffer((9,), "int32"), X: T.Buffer((9, 4), "int32"), Y: T.Buffer((6, 4), "int32"), Z: T.Buffer((6, 4, 3), "int32")'


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    return agreeing_source(read(PARAMS, body), S=np.random.default_rng(5).integers(0, 6, 9))


ROWS = {
    "added": "for q, k in T.grid(9, 4):\n    Y[S[q], k] = Y[S[q], k] + X[q, k]",
    "subtracted": "for q, k in T.grid(9, 4):\n    Y[S[q], k] = Y[S[q], k] - 2 * X[q, k]",
    "largest": "for q, k in T.grid(9, 4):\n    Y[S[q], k] = T.max(Y[S[q], k], X[q, k])",
    "columns outermost": "for k, q in T.grid(4, 9):\n    Y[S[q], k] = Y[S[q], k] + X[q, k]",
    "some": "for q, k in T.grid(9, 4):\n    if X[q, 0] > 0:\n        Y[S[q], k] = Y[S[q], k] + X[q, k]",
    "the same for each row": "for q, k in T.grid(9, 4):\n    Y[S[q], k] = Y[S[q], k] + X[2, k]",
    "the same for each column": "for q, k in T.grid(9, 4):\n    Y[S[q], k] = Y[S[q], k] + X[q, 1]",
    "a number": "for q, k in T.grid(9, 4):\n    Y[S[q], k] = Y[S[q], k] + 3",
    "matrices": "for q, k, m in T.grid(9, 4, 3):\n    Z[S[q], k, m] = Z[S[q], k, m] + X[q, k] * m",
    "two of three places": "for q, m in T.grid(9, 3):\n    Z[S[q], S[8 - q] % 4, m] = Z[S[q], S[8 - q] % 4, m] + X[q, m]",
}


@pytest.mark.parametrize("body", ROWS.values(), ids=ROWS.keys())
def test_rows(body: str) -> None:
    (line,) = (line for line in unwrapped(source(body)).split("\n") if ".at[" in line and "mode='drop'" in line)
    stored = line.split(".at[", 1)[1].split("]", 1)[0]
    assert "[:, None" not in line.split(".at[", 1)[1].split(".add(")[0].split(".max(")[0], stored


ELEMENTS = {
    "a part of the row": "for q, k in T.grid(9, 3):\n    Y[S[q], k + 1] = Y[S[q], k + 1] + X[q, k]",
    "turned": "for q, k in T.grid(9, 4):\n    Y[S[q], 3 - k] = Y[S[q], 3 - k] + X[q, k]",
    "some of each row": "for q, k in T.grid(9, 4):\n    if X[q, k] > 0:\n        Y[S[q], k] = Y[S[q], k] + X[q, k]",
    "one column in both": "for q in T.serial(4):\n    Y[S[q], q] = Y[S[q], q] + X[q, q]",
    "summed over another axis": "for q, k, m in T.grid(9, 4, 3):\n    Y[S[q], k] = Y[S[q], k] + Z[q % 6, k, m]",
}


@pytest.mark.parametrize("body", some(ELEMENTS.values(), 0.6), ids=ELEMENTS.keys())
def test_elements_stay_right(body: str) -> None:
    assert "def f(" in source(body)


WIDE = 'S: T.Buffer((90,), "int32"), X: T.Buffer((8, 90), "int32"), Y: T.Buffer((8, 5), "int32"), Z: T.Buffer((8, 5, 3), "int32")'
COLUMNS = {
    "added": "for i, q in T.grid(8, 90):\n    Y[i, S[q]] = Y[i, S[q]] + X[i, q]",
    "subtracted, the other way round": "for q, i in T.grid(90, 8):\n    Y[i, S[q]] = Y[i, S[q]] - 2 * X[i, q]",
    "some of them": "for i, q in T.grid(8, 90):\n    if X[0, q] > 0:\n        Y[i, S[q]] = T.max(Y[i, S[q]], X[i, q])",
    "amid others": "for i, q, m in T.grid(8, 90, 3):\n    Z[i, S[q], m] = Z[i, S[q], m] + X[i, q] * m",
    "of a part": "for i, q in T.grid(7, 90):\n    Y[i + 1, S[q]] = Y[i + 1, S[q]] + X[i, q]",
}


@pytest.mark.parametrize("body", some(COLUMNS.values(), 0.6), ids=COLUMNS.keys())
def test_columns_are_rows_of_the_transposed_array(body: str) -> None:
    text = unwrapped(agreeing_source(read(WIDE, body), S=np.random.default_rng(5).integers(0, 5, 90)))
    assert "transpose" in text or ".T" in text


FEW = {
    "some of each column": "for i, q in T.grid(8, 90):\n    if X[i, q] > 0:\n        Y[i, S[q]] = Y[i, S[q]] + X[i, q]",
    "few": "for i, q in T.grid(8, 2):\n    X[i, S[q]] = X[i, S[q]] + Y[i, q]",
}


@pytest.mark.parametrize("body", FEW.values(), ids=FEW.keys())
def test_columns_that_are_not_worth_it_stay_elements(body: str) -> None:
    text = unwrapped(agreeing_source(read(WIDE, body), S=np.random.default_rng(5).integers(0, 5, 90)))
    assert "transpose" not in text
