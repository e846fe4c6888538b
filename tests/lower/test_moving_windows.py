"""Windows that begin where data say are gathered whole, unless a condition hides a part of them."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lower import compile
from lowered import assert_agrees, read, unwrapped
from profiles import few, some

PARAMS = (
    'A: T.Buffer((9, 12), "float32"), V: T.Buffer((40,), "float32"), S: T.Buffer((6, 2), "int32"), '
    'B: T.Buffer((6, 4), "float32"), C: T.Buffer((6,), "float32")'
)
INPUTS = {
    "A": np.arange(108, dtype="f4").reshape(9, 12) % 17 - 5,
    "V": np.arange(40, dtype="f4") % 11 - 3,
    "S": np.array([[0, 0], [5, 8], [2, 3], [4, 7], [5, 0], [0, 8]], "i4"),
    "B": np.zeros((6, 4), "f4"),
    "C": np.zeros(6, "f4"),
}


INSIDE = """for n in range(6):
    T.assume(0 <= S[n, 0] and S[n, 0] <= 5 and 0 <= S[n, 1] and S[n, 1] <= 8)
"""


def source(body: str, known: bool = True) -> str:
    """The source, after a comparison with the interpreter; what is assumed of positions may be `known`."""
    func = read(PARAMS, f"{INSIDE}{body}" if known else body)
    kernel = compile(func)
    assert_agrees(func, kernel, INPUTS)
    return unwrapped(kernel.source)


WHOLE = {
    "a row of a vector": "for n, t in T.grid(6, 4):\n    B[n, t] = V[4 * S[n, 0] + t + 2]",
    "rows of a matrix": "for n, t in T.grid(6, 4):\n    B[n, t] = A[n, S[n, 1] + t]",
    "a maximum over a block": "for n in range(6):\n    C[n] = -100.0\n    for y, x in T.grid(4, 4):\n        C[n] = T.max(C[n], A[S[n, 0] + y, S[n, 1] + x])",
    "a sum over a column": "for n in range(6):\n    C[n] = 0.0\n    for y in range(4):\n        C[n] += A[S[n, 0] + y, S[n, 1]]",
    "from one on": "for n in range(6):\n    for t in T.serial(1, 4):\n        B[n, t] = A[8 - n, S[n, 1] + t] * V[t]",
    "of a condition on rows": "for n in range(6):\n    if S[n, 0] > 1:\n        for t in range(4):\n            B[n, t] = A[n, S[n, 1] + t]",
    "turned": "for n, t in T.grid(6, 4):\n    B[n, 3 - t] = A[n, S[n, 1] + t]",
}  # fmt: skip
BY_ELEMENT = {
    "what a guard hides": "for n, t in T.grid(6, 4):\n    if S[n, 0] + t < 7:\n        B[n, t] = A[S[n, 0] + t + 2, n]",
    "what a choice hides": "for n, t in T.grid(6, 4):\n    B[n, t] = A[S[n, 0] + t + 2, n] if S[n, 0] + t < 7 else 0.5",
    "every other one": "for n, t in T.grid(6, 4):\n    B[n, t] = V[2 * S[n, 0] + 2 * t]",
    "along two dimensions": "for n, t in T.grid(6, 4):\n    B[n, t] = A[S[n, 0] + t, S[n, 1] + t]",
    "backward": "for n, t in T.grid(6, 4):\n    B[n, t] = A[n, S[n, 1] + 3 - t]",
    "where each begins elsewhere": "for n, t in T.grid(6, 4):\n    B[n, t] = V[S[(n + t) % 6, 0] + t]",
}


@pytest.mark.parametrize("name", WHOLE)
def test_windows_are_gathered_whole(name: str) -> None:
    assert "windows_at(" in source(WHOLE[name])


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_others_are_gathered_by_element(name: str) -> None:
    assert "windows_at(" not in source(BY_ELEMENT[name])


@pytest.mark.parametrize("name", some(WHOLE, 0.71))
def test_windows_that_might_leave_the_array_are_gathered_by_element(name: str) -> None:
    assert "windows_at(" not in source(WHOLE[name], known=False)


@st.composite
def gathers(draw: st.DrawFn) -> str:
    """A nest that reads at sums of data and loop variables, perhaps under a condition."""
    terms = st.sampled_from(["t", "S[n, 0]", "S[n, 1] // 3", "n", "S[t, 0] // 2", "2 * t", "t // 2", "1", "3 - t"])
    rows, columns, places = (" + ".join(draw(st.lists(terms, min_size=1, max_size=2))) for _ in range(3))
    value = draw(st.sampled_from(["A[{0}, {1}]", "V[{2}]", "A[{0}, {1}] * V[{2}]", "V[{2}] if t > 1 else A[n, t]"]))
    value = value.format(f"({rows}) % 9" if draw(st.booleans()) else rows, columns, places)
    inside = " and ".join(f"{e} < {n}" for e, n in ((rows, 9), (columns, 12), (places, 40)))
    guard = draw(st.sampled_from([inside, f"{inside} and S[n, 0] > 1", f"{inside} and t != 2"]))
    free = draw(st.booleans()) and all(len(e) < 8 for e in (rows, columns, places)) and rows != "n + n"
    store = draw(st.sampled_from([f"B[n, t] = {value}", f"C[n] += {value}"]))
    body = store if free else f"if {guard}:\n            {store}"
    return f"for n in range(6):\n    for t in range(4):\n        {body}"


@few(8)
@given(gathers())
def test_random_gathers_read_what_is_written(body: str) -> None:
    source(body)


@pytest.mark.fuzz
@settings(max_examples=1000, deadline=None)
@given(gathers())
def test_many_random_gathers_read_what_is_written(body: str) -> None:
    source(body)


@pytest.mark.parametrize(
    "body",
    [
        "for x, y in T.grid(4, 4):\n    B[x, y] = A[x, y + 2 * n]",
        "for x, y in T.grid(3, 4):\n    B[x + n, y] = A[x + 2, y] + B[x + n, y]",
        "for i in T.serial(1, 6):\n    for y in range(4):\n        B[i, y] = B[i - 1, y] * 0.5 + A[i, y + n]",
    ],
)
def test_windows_of_wide_numbers_begin_where_narrow_ones_say(body: str) -> None:
    params = 'A: T.Buffer((9, 12), "float64"), B: T.Buffer((6, 4), "float64"), n: T.int32'
    func = read(params, f"T.assume(n >= 0 and n < 4)\n{body}")
    given = {"A": INPUTS["A"].astype("f8"), "B": INPUTS["B"].astype("f8"), "n": np.array(3, "i4")}
    kernel = compile(func)
    assert "lax.dynamic_" in kernel.source
    assert_agrees(func, kernel, given)
