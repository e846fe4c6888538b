"""Rows that begin where data say are slices of padded rows; stores that data replace are choices."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from lowered import agreeing_source, read
from profiles import some

PARAMS = 'W: T.Buffer((6,), "int32"), X: T.Buffer((6, 9), "int32"), D: T.Buffer((7, 9), "int32")'


def source(body: str) -> str:
    """The source, after comparisons with the interpreter on shifts far out on both sides."""
    for seed in range(3):
        shifts = np.random.default_rng(seed).choice([-40, -9, -8, -1, 0, 1, 5, 8, 9, 30], 6)
        agreeing_source(read(PARAMS, body), W=shifts)
    return agreeing_source(read(PARAMS, body), W=np.arange(6))


INSIDE = "if 0 <= j - W[i] and j - W[i] < 9:"
SHIFTS = {
    "a row of a table": f"for i in T.serial(6):\n    for j in T.serial(9):\n        D[i + 1, j] = D[i, j]\n        {INSIDE}\n            D[i + 1, j] = T.max(D[i, j], D[i, j - W[i]] + W[i])",
    "added up in turn": f"for i in T.serial(6):\n    for j in T.serial(9):\n        {INSIDE}\n            D[i + 1, j] = D[i, j] % 99 + X[i, j - W[i]]",
    "forward": "for i in T.serial(6):\n    for j in T.serial(9):\n        if 0 <= j + W[i] + 1 and j + W[i] + 1 < 9:\n            D[i + 1, j] = D[i, j] % 99 - X[5 - i, j + W[i] + 1]",
    "backward": "for i in T.serial(6):\n    for j in T.serial(9):\n        if 0 <= W[i] - j and W[i] - j < 9:\n            D[i + 1, j] = D[i, j] % 99 - X[i, W[i] - j]",
}


@pytest.mark.parametrize("body", some(SHIFTS.values(), 0.5), ids=SHIFTS.keys())
def test_shifted_rows_are_slices(body: str) -> None:
    text = source(body)
    assert "dynamic_slice_in_dim(jnp.pad(" in text
    assert ".get(" not in text


OTHERS = {
    "a short part of a long row": "for i in T.serial(6):\n    for j in T.serial(3):\n        if 0 <= j - W[i] and j - W[i] < 9:\n            D[i + 1, j] = D[i, j] % 99 + X[i, j - W[i]]",
    "places that are data": "for i in T.serial(6):\n    for j in T.serial(6):\n        if 0 <= W[j] and W[j] < 9:\n            D[i + 1, j] = D[i, j] % 99 + X[i, W[j]]",
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS.keys())
def test_others_stay_right(body: str) -> None:
    assert "jnp.pad(" not in source(body)


REPLACED = {
    "by data": "for i, j in T.grid(6, 9):\n    D[i, j] = X[i, j]\n    if X[i, j] > 0:\n        D[i, j] = W[i]",
    "by what was stored": "for i, j in T.grid(6, 9):\n    D[i, j] = X[i, j] + 1\n    if D[i, j] > 0:\n        D[i, j] = D[i, j] * 2",
    "twice": "for i, j in T.grid(6, 9):\n    D[i, j] = X[i, j]\n    if X[i, j] > 0:\n        D[i, j] = 4\n    if X[i, j] > 5:\n        D[i, j] = 7",
    "with another element": "for i, j in T.grid(6, 9):\n    D[i, j] = X[i, j]\n    if X[i, j] > 0:\n        D[i, j] = D[i + 1, j] - 1",
}


@pytest.mark.parametrize("body", some(REPLACED.values(), 0.5), ids=REPLACED.keys())
def test_stores_that_data_replace_are_choices(body: str) -> None:
    lines = [line for line in source(body).split("\n") if line.strip().startswith("D = ") and "zeros" not in line]
    assert len(lines) == 1


KEPT = {
    "at another place": "for i, j in T.grid(6, 8):\n    D[i, j] = X[i, j]\n    if X[i, j] > 0:\n        D[i, j + 1] = W[i]",
    "maybe at one place": "for i, j in T.grid(6, 9):\n    D[i, j] = X[i, j]\n    if X[i, j] > 0:\n        D[i, j] = D[i, 8 - j] + 1",
    "at a place that changes": "for i in T.serial(6):\n    W[i] = i\n    if X[i, 0] > 0:\n        W[i] = W[5 - i] + 1",
}


@pytest.mark.parametrize("body", some(KEPT.values(), 0.45), ids=KEPT.keys())
def test_other_stores_stay_right(body: str) -> None:
    assert "def f(" in source(body)
