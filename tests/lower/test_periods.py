"""Loops that begin anew every few iterations run over these: all rows of a line, all days, all held samples at once."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from ir.semantics.interpret import interpret
from ir.transform.loops.strip_mine import split_at_periods
from lower import compile
from lowered import assert_agrees, read, small_numbers
from profiles import some
from tests.lowered import unwrapped

PARAMS = 'A: T.Buffer((40,), "int32"), M: T.Buffer((5, 8), "int32"), B: T.Buffer((40,), "int32"), N: T.Buffer((5, 8), "int32"), S: T.Buffer((3,), "int32")'
PERIODIC = {
    "rows of a line": "for p in range(40):\n    if p % 8 == 0:\n        s[0] = 1\n    s[0] = (s[0] * 3 + M[p // 8, p % 8]) % 50\n    N[p // 8, p % 8] = s[0]",
    "with a rest": "for p in range(38):\n    if p % 7 == 0:\n        s[0] = A[p]\n    B[p] = s[0] - p",
    "later in each": "for p in range(40):\n    if p % 5 == 3:\n        s[0] = A[p] + p // 5\n    B[39 - p] = s[0]",
    "or goes on": "for p in range(40):\n    if p % 10 != 0:\n        s[0] = T.max(s[0], A[p])\n    else:\n        s[0] = A[p]\n    B[p] = s[0]",
    "read behind": "for p in range(36):\n    if p % 6 == 0:\n        s[0] = 2\n    s[0] = s[0] + A[p]\nS[1] = s[0]",
    "with loops inside": "for p in range(20):\n    if p % 4 == 0:\n        for k in range(3):\n            S[k] = k\n    for k in range(3):\n        S[k] = S[k] * 2 % 7 + A[p + k]\n    B[p] = S[p % 3]",
}
OTHERS = {
    "accumulates": "for p in range(40):\n    if p % 8 == 0:\n        s[0] = s[0] + A[p]",
    "elsewhere": "for p in range(40):\n    if p % 8 == 0:\n        B[p] = 1\n    s[0] = s[0] + B[p]",
    "two periods": "for p in range(40):\n    if p % 8 == 0:\n        s[0] = 1\n    if p % 5 == 0:\n        s[0] = 2\n    B[p] = s[0]",
    "once": "for p in range(40):\n    if p % 30 == 0:\n        s[0] = A[p]\n    B[p] = s[0]",
    "under data": "for p in range(40):\n    if p % 8 == 0:\n        if A[p] > 0:\n            s[0] = 1\n    B[p] = s[0]",
}


def text_of(body: str) -> str:
    return "s = T.alloc_buffer((1,), 'int32')\ns[0] = 0\n" + body.removeprefix("")


@pytest.mark.parametrize("name", some(PERIODIC, 0.33))
def test_loops_that_begin_anew_are_split(name: str) -> None:
    func = read(PARAMS, text_of(PERIODIC[name]))
    split = split_at_periods(func)
    assert split is not func
    kernel = compile(func)
    for seed in range(2):
        inputs = small_numbers(func, seed)
        assert all((a == b).all() for a, b in zip(interpret(func, **inputs), interpret(split, **inputs), strict=True))
        assert_agrees(func, kernel, inputs)


@pytest.mark.parametrize("name", some(OTHERS, 0.6))
def test_other_loops_stay_as_they_are(name: str) -> None:
    func = read(PARAMS, text_of(OTHERS[name]))
    assert split_at_periods(func) is func
    assert_agrees(func, compile(func), small_numbers(func, 0))


def test_rows_run_at_once() -> None:
    kernel = compile(read(PARAMS, text_of(PERIODIC["rows of a line"])))
    assert "(5,)" in unwrapped(kernel.source)
