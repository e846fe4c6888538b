"""Loops that only decide whether something is stored, and conditions that no store of a loop changes."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lower import compile
from lowered import assert_agrees, read, small_numbers
from profiles import few, some

PARAMS = 'A: T.Buffer((7, 9), "int32"), L: T.Buffer((9,), "int32"), P: T.Buffer((7, 9), "int32"), X: T.Buffer((9,), "float32")'


def source(body: str) -> str:
    """The source, after comparisons with the interpreter on data with many equal values."""
    func = read(PARAMS, body)
    kernel = compile(func)
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))
    return kernel.source


ASKED = {
    "of one loop": "for i in range(9):\n    if A[3, i] > 2:\n        L[4] = -7",
    "for each row": "for y in range(7):\n    for x in range(9):\n        if A[y, x] == L[x]:\n            P[y, 0] = 5",
    "of two loops, with a name": "for i in range(9):\n    for y, x in T.grid(7, 4):\n        k = A[y, x] + i\n        if k == 3 and y < i:\n            X[i] = 2.5",
    "on what it replaces": "for i in range(9):\n    for y in range(7):\n        if L[i] < 0:\n            if A[y, i] == 1:\n                L[i] = i",
    "for each column": "for y in range(7):\n    for x in range(9):\n        if A[y, x] > 2:\n            L[x] = -x",
    "of a row and a column": "for y in range(7):\n    for x in range(9):\n        if A[y, x] == 0:\n            P[y, 8] = 5\n            X[x] = 2.5",
    "for two places": "for i in range(9):\n    if A[3, i] > 1:\n        L[4] = 1\n        X[2] = 1.0",
    "on another element of what it replaces": "for i in range(9):\n    if L[i] == 3:\n        L[2] = 1",
}


@pytest.mark.parametrize("name", some(ASKED, 0.5))
def test_whether_a_store_happens_is_one_question(name: str) -> None:
    text = source(ASKED[name])
    assert "jnp.any(" in text and "fori_loop" not in text


OTHERS = {
    "the value depends on the loop": "for i in range(9):\n    if A[3, i] > 1:\n        L[4] = i",
    "the value is what was there": "for i in range(9):\n    if A[3, i] > 1:\n        L[4] = L[4] + 1",
    "the place depends on the loop": "for i in range(9):\n    if A[3, i] > 1:\n        L[i] = 2",
    "two stores to one buffer": "for i in range(9):\n    for y in range(7):\n        if A[y, i] > 1:\n            L[4] = 1\n            L[i] = 2",
    "a condition on what another store changes": "for i in range(9):\n    if A[3, i] + L[4] > 1:\n        L[4] = 1\n        X[2] = 1.0",
    "places of several columns meet": "for y in range(7):\n    for x in range(9):\n        if A[y, x] > 1:\n            L[x // 2] = x",
    "columns that depend on the row": "for y in range(7):\n    for x in T.serial(y, 9):\n        if A[y, x] > 1:\n            L[x] = 2",
    "an other branch": "for i in range(9):\n    if A[3, i] > 1:\n        L[4] = 1\n    else:\n        L[4] = 2",
    "the place moves with what is stored": "for i in range(9):\n    if A[3, i] > 1:\n        L[T.max(T.min(L[2], 5), 0)] = 4",
}


@pytest.mark.parametrize("name", some(OTHERS, 0.37))
def test_other_loops_stay_right(name: str) -> None:
    assert "found" not in source(OTHERS[name])


LEVELS = {
    "of neighbours": "for t in range(5):\n    for y, x in T.grid(5, 7):\n        if P[y + 1, x + 1] < 0 and A[y, x] > 0 and (P[y, x + 1] == t or P[y + 2, x + 1] == t or P[y + 1, x] == t):\n            P[y + 1, x + 1] = t + 1",
    "of a graph": "for t in range(5):\n    for v in range(9):\n        for u in range(7):\n            if L[v] < 0 and L[u] == t and A[u, v] > 0:\n                L[v] = t + 1",
    "by threshold": "for t in range(1, 5):\n    for v in range(1, 9):\n        if L[v] <= 0 and L[v - 1] >= 2 and A[t, v] > 0:\n            L[v] = -t",
}
CHANGED = {
    "a store makes it true": "for t in range(5):\n    for v in range(1, 9):\n        if L[v] < 0 and L[v - 1] >= t and A[t, v] > -2:\n            L[v] = t + 1",
    "a store makes it false": "for t in range(5):\n    for v in range(1, 9):\n        if L[v] <= t and L[v - 1] == t and A[t, v] > -2:\n            L[v] = t + 1",
    "what is stored is not known": "for t in range(5):\n    for v in range(1, 9):\n        if L[v] < 0 and L[v - 1] == t and A[t, v] > -2:\n            L[v] = A[2, v]",
    "two stores": "for t in range(5):\n    for v in range(1, 9):\n        if L[v] < 0 and L[v - 1] == t and A[t, v] > -2:\n            L[v] = t + 1\n        if A[t, v] == 1:\n            L[v] = t",
}


@pytest.mark.parametrize("name", some(LEVELS, 0.67))
def test_conditions_that_no_store_changes_read_what_was_there(name: str) -> None:
    text = source(LEVELS[name])
    assert "old_" in text and text.count("fori_loop") <= 1


@pytest.mark.parametrize("name", some(CHANGED, 0.5))
def test_conditions_that_a_store_changes_read_what_is_there(name: str) -> None:
    assert "old_" not in source(CHANGED[name])


@st.composite
def levels(draw: st.DrawFn) -> str:
    """Stores of a level under conditions on what is there and on a neighbour."""
    compare = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])
    bound = st.sampled_from(["0", "t", "-1", "1", "t + 1"])
    mine, other = (f"{draw(compare)} {draw(bound)}" for _ in range(2))
    place = draw(st.sampled_from(["v - 1", "v + 1", "8 - v", "T.max(T.min(A[0, v], 8), 0)"]))
    value = draw(st.sampled_from(["t + 1", "t", "-1", "2 - t"]))
    return f"for t in range(3):\n    for v in range(1, 8):\n        if L[v] {mine} and L[{place}] {other} and A[t, v] > -2:\n            L[v] = {value}"


@few(6)
@given(levels())
def test_random_levels_are_those_of_the_interpreter(body: str) -> None:
    source(body)


@pytest.mark.fuzz
@settings(max_examples=600)
@given(levels())
def test_many_random_levels_are_those_of_the_interpreter(body: str) -> None:
    source(body)
