"""Loops that read one element of the array to which they store: axes, with the results of steps in turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir import PrimFunc
from lower import compile, emit
from profiles import few, some
from tests.lowered import assert_agrees, read

PARAMS = 'A: T.Buffer((9, 7), "float32"), B: T.Buffer((9,), "float32"), u: T.Buffer((4,), "int32")'
BODIES = {
    "at a place of data": "for i in range(9):\n        B[i] = T.min(B[i], B[u[t]] + A[i, t])",
    "times its own": "for i in range(9):\n        B[i] = B[i] * B[u[t]] - 0.5",
    "read twice": "for i in range(9):\n        B[i] = B[i] * 0.5 + B[u[t]] * B[u[t]]",
    "a part of the array": "for i in range(2, 6):\n        B[i] = B[i] - B[u[t]]",
    "under a condition": "for i in range(9):\n        if A[i, 0] > 0.0:\n            B[i] = B[i] - B[u[t]]",
    "under a choice": "for i in range(9):\n        B[i] = T.if_then_else(A[i, t] > 0.0, B[i] - B[u[t]], A[i, 1])",
    "rows": "for i, j in T.grid(9, 7):\n        A[i, j] = A[i, j] - B[i] * A[u[t], j]",
    "within rows": "for i, j in T.grid(9, 7):\n        A[i, j] = A[i, j] - A[i, u[t] % 7]",
    "as far as data say": "for i in range(u[t]):\n        B[i] = B[i] + B[u[t] // 2]",
}


def program(body: str) -> PrimFunc:
    return read(PARAMS, f"for t in range(4):\n    T.assume(u[t] >= 0 and u[t] < 9)\nfor t in T.serial(4):\n    {body}")


def agree(func: PrimFunc, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    given = {
        "A": rng.uniform(-1, 1, (9, 7)).astype(np.float32),
        "B": rng.uniform(-1, 1, 9).astype(np.float32),
        "u": rng.integers(0, 9, 4).astype(np.int32),
    }
    assert_agrees(func, compile(func), given, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", some(BODIES, 0.22))
def test_steps_find_what_was_there_or_what_one_of_them_leaves(name: str) -> None:
    func = program(BODIES[name])
    for seed in range(3):
        agree(func, seed)
    if name != "as far as data say":
        assert emit(func).count("lax.fori_loop") == 1, emit(func)


@pytest.mark.parametrize(
    "body",
    some(
        [
            "for i, j in T.grid(9, 7):\n        B[i] = T.min(B[i], B[u[t]] - A[i, j])",
            "for i in range(9):\n        B[i] = B[i] - B[u[t]]\n        B[8 - i] = B[8 - i] * 0.5",
            "for i in range(9):\n        B[i] = B[i] - B[u[t]] + B[0]",
            "for i in range(9):\n        B[8 - i] = B[8 - i] - B[u[t]]",
            "for i in range(9):\n        B[i] = B[i] - B[(u[t] + i) % 9]",
            "for i in range(9):\n        if B[u[t]] > 0.0:\n            B[i] = B[i] - B[u[t]]",
        ],
        2,
    ),
)
def test_other_loops_stay_right(body: str) -> None:
    for seed in range(2):
        agree(program(body), seed)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    low, high = draw(st.sampled_from([(0, 9), (1, 8), (3, 4), (0, 5)]))
    element = draw(st.sampled_from(["B[u[t]]", "B[u[t]]", "B[u[t] // 2]", "B[4]", "B[t]", "B[8 - u[t]]"]))
    value = draw(st.sampled_from(["B[i] + {e}", "{e} * 0.5", "T.max(B[i], {e} - A[i, t])", "A[i, 0] - {e} * B[i]"]))
    guard = draw(st.sampled_from(["", "if A[i, t] > 0.0:\n            ", "if i != u[t]:\n            "]))
    return f"for i in range({low}, {high}):\n        {guard}B[i] = {value.format(e=element)}"


@few(5)
@given(bodies(), st.integers(0, 9))
def test_random_reads_of_an_element(body: str, seed: int) -> None:
    agree(program(body), seed)


@pytest.mark.fuzz
@settings(max_examples=400)
@given(bodies(), st.integers(0, 99))
def test_many_random_reads_of_an_element(body: str, seed: int) -> None:
    agree(program(body), seed)
