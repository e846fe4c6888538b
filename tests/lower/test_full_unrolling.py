"""Loops of few steps in which elements do not look at each other are compiled as one, and stay right."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from lower import compile
from lowered import agreeing_source, assert_agrees, kernel_of, read, small_numbers
from profiles import some

PARAMS = 'A: T.Buffer((40,), "int32"), C: T.Buffer((20,), "int32"), Y: T.Buffer((40,), "int32"), Z: T.Buffer((6, 40), "int32")'


def source(body: str) -> str:
    """The source, after a comparison with the interpreter."""
    return agreeing_source(read(PARAMS, body))


TOGETHER = {
    "Horner": "for i in T.serial(40):\n    Y[i] = 0\n    for k in T.serial(5):\n        Y[i] = (Y[i] * A[i] + C[k]) % 1000",
    "from the middle": "for i in T.serial(40):\n    for k in T.serial(3, 9):\n        Y[i] = (Y[i] * A[i] + C[k] * k) % 1000",
    "two that depend on each other": "for k in T.serial(4):\n    for i in T.serial(40):\n        u = A[i]\n        A[i] = (u + Y[i] * k) % 100\n        Y[i] = (Y[i] - u) % 100",
    "under a condition": "for k in T.serial(6):\n    for i in T.serial(40):\n        if Y[i] > 0:\n            Y[i] = (Y[i] * 3 + C[k]) % 50 - 20",
    "within another loop": "for s in T.serial(20):\n    for i in T.serial(40):\n        Y[i] = (Y[i] + A[(i + s) % 40]) % 99\n    for k in T.serial(8):\n        for i in T.serial(40):\n            Y[i] = T.if_then_else(Y[i] % 2 == 0, Y[i] // 2, Y[i] * 3 + 1) % 999",
    "neighbours within another loop": "for t in T.serial(20):\n    for c in T.serial(2):\n        for i in T.serial(1, 39):\n            if i % 2 == c:\n                A[i] = (A[i - 1] + A[i + 1] + Y[i]) % 100",
}


@pytest.mark.parametrize("body", some(TOGETHER.values(), 0.5), ids=TOGETHER.keys())
def test_few_steps_are_compiled_as_one(body: str) -> None:
    assert source(body).count("unroll=True") == 1


APART = {
    "many steps": "for i in T.serial(40):\n    Y[i] = 0\n    for k in T.serial(33):\n        Y[i] = (Y[i] * A[i] + C[k % 20]) % 1000",
    "neighbours": "for k in T.serial(4):\n    for i in T.serial(39):\n        A[i] = (Y[i] + Y[i + 1]) % 100\n    for i in T.serial(40):\n        Y[i] = (A[i] * 2 + 1) % 100",
    "sums": "for k in T.serial(4):\n    for i in T.serial(40):\n        Y[i] = 0\n        for j in T.serial(6):\n            Y[i] = Y[i] + Z[j, i] * A[i]\n    for i in T.serial(40):\n        A[i] = Y[i] % 7",
    "more neighbours within another loop": "for t in T.serial(20):\n    for c in T.serial(5):\n        for i in T.serial(1, 39):\n            if i % 5 == c:\n                A[i] = (A[i - 1] + A[i + 1] + Y[i]) % 100",
    "rows": "for k in T.serial(1, 6):\n    for i in T.serial(40):\n        Z[k, i] = (Z[k - 1, i] * Z[k, i] + A[i]) % 100",
}


@pytest.mark.parametrize("body", some(APART.values(), 0.6), ids=APART.keys())
def test_others_stay_loops(body: str) -> None:
    assert "unroll=True" not in source(body)


def test_nests_of_few_steps_are_compiled_as_one() -> None:
    body = (
        "for i in T.serial(1, 39):\n    Y[i] = 0\n    for a, b in T.grid(3, 3):\n        if a != 1 or b != 1:\n"
        "            Y[i] = (Y[i] * 2 + T.if_then_else(A[i + a - 1] < C[b], 1, 0)) % 999"
    )
    assert source(body).count("unroll=True") == 2


def test_steps_that_stay_in_registers_are_no_scan() -> None:
    """What is handed on from step to step is not stored, so a scan, which stores it, costs more."""
    params = 'O: T.Buffer((2000,), "float32"), A: T.Buffer((32, 2000), "float32"), C: T.Buffer((32, 2000), "float32")'
    body = (
        "for n in range(2000):\n    left = T.alloc_buffer((1,), 'float32')\n    left[0] = 1.0\n    O[n] = 0.0\n"
        "    for l in range(32):\n        O[n] = O[n] + left[0] * A[l, n] * C[l, n]\n        left[0] = left[0] * (1.0 - A[l, n])"
    )
    text = compile(read(params, body)).source
    assert "unroll=True" in text and "in_turn" not in text


def test_terms_of_short_sums_are_written_out_in_each_step() -> None:
    params = 'X: T.Buffer((5000,), "float32"), C: T.Buffer((4997,), "int32")'
    body = """for i in range(4997):
    C[i] = 0
    for a in range(4):
        rank = T.alloc_buffer((), "int32")
        rank[()] = 0
        for b in T.serial(a + 1, 4):
            if X[i + b] < X[i + a]:
                rank[()] = rank[()] + 1
        C[i] = C[i] * (4 - a) + rank[()]"""
    func = read(params, body)
    kernel = kernel_of(func)
    assert_agrees(func, kernel, small_numbers(func, 0))
    assert kernel.source.count("unroll=True") == kernel.source.count("fori_loop") == 1
