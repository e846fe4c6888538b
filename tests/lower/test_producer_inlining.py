"""Locals that hold a value for each position of a window give way to it, where sums over windows alone read them."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from lowered import agreeing_source, read
from profiles import some

PARAMS = 'A: T.Buffer((9, 8), "int32"), B: T.Buffer((7, 6), "int32"), C: T.Buffer((7, 6), "int32")'
LOCAL = "v = T.alloc_buffer((1,), 'int32')\n"


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    return agreeing_source(read(PARAMS, body))


HEAD = "for y, x in T.grid(7, 6):\n    B[y, x] = 0\n    C[y, x] = 1\n    for a, b in T.grid(3, 3):\n"
WINDOWS = {
    "two sums of one value": HEAD
    + "        v = A[y + a, x + b] * (a - b)\n        g = v * v + A[y, x]\n        B[y, x] = B[y, x] + g * v\n        C[y, x] = C[y, x] + g",
    "under a condition": HEAD
    + "        if (a + b) % 2 == 0:\n            v = A[y + a, x + b]\n            g = v * v - v\n            B[y, x] = B[y, x] + g * v",
    "largest of them": HEAD
    + "        v = A[y + a, x + b] - A[y + 1, x + 1]\n        g = T.abs(v) * 2 + v\n        B[y, x] = T.max(B[y, x], g)\n        C[y, x] = T.min(C[y, x], g)",
    "in a buffer": LOCAL
    + HEAD
    + "        v[0] = A[y + a, x + b] * 3\n        B[y, x] = B[y, x] + v[0] * v[0]\n        C[y, x] = C[y, x] - v[0]",
}


@pytest.mark.parametrize("body", WINDOWS.values(), ids=WINDOWS.keys())
def test_windows_of_values_are_slices(body: str) -> None:
    text = source(body)
    assert ".get(" not in text
    assert "fori_loop" not in text


OTHERS = {
    "read after the window": LOCAL
    + HEAD
    + "        v[0] = A[y + a, x + b] * 3\n        B[y, x] = B[y, x] + v[0] * v[0]\n    C[y, x] = v[0]",
    "changed in between": HEAD
    + "        v = A[y + a, x + b]\n        A[y + a, x + b] = 2\n        B[y, x] = B[y, x] + v * A[y + a, x + b]",
    "stored with it": HEAD + "        v = A[y + a, x + b] + B[y, x] % 5\n        B[y, x] = (B[y, x] + v * v) % 100",
    "kept from before": LOCAL
    + HEAD
    + "        B[y, x] = B[y, x] + v[0] * A[y + a, x + b]\n        v[0] = A[y + a, x + b]".replace(
        "B[y, x] + v[0]", "B[y, x] + T.if_then_else(a + b > 0, v[0], 1)"
    ),
    "only sometimes stored": LOCAL
    + HEAD
    + "        if a > 0 or b == 0:\n            v[0] = A[y + a, x + b]\n        B[y, x] = B[y, x] + v[0] * v[0]",
    "the last one": HEAD + "        v = A[y + a, x + b]\n        B[y, x] = v * v + v",
}


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.33), ids=OTHERS.keys())
def test_others_stay_right(body: str) -> None:
    assert "def f(" in source(body)


def test_locals_that_are_made_of_each_other_stay() -> None:
    assert "fori_loop" in source(
        "p = T.alloc_buffer((7, 6), 'int32')\nfor s in T.serial(3):\n    for y, x in T.grid(7, 6):\n"
        "        p[y, x] = (B[y, x] + C[y, x]) % 50\n    for y, x in T.grid(7, 6):\n        B[y, x] = p[y, x]\n"
        "        C[y, x] = p[y, x] + 1"
    )
