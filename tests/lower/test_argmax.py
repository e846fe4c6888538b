"""Loops that look for the best of many values become argmax or argmin, and only those."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from lowered import assert_agrees, kernel_of, read, small_numbers
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4, written_out=1)
ROW = 'A: T.Buffer((20,), "int32"), M: T.Buffer((1,), "int32"), P: T.Buffer((1,), "int32")'
ROWS = 'A: T.Buffer((6, 9), "int32"), M: T.Buffer((6,), "int32"), P: T.Buffer((6,), "int32")'
STEPS = 'A: T.Buffer((6, 6), "int32"), M: T.Buffer((7, 6), "int32"), P: T.Buffer((7, 6), "int32")'
START = "M[0] = A[3]\nP[0] = 3\n"


def check(params: str, body: str) -> list[str]:
    """Compare with the interpreter on data with many equal values; returns the report of the lowering."""
    func = read(params, body)
    kernel = kernel_of(func, EAGER)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shapes = [tuple(int(d.value) for d in b.shape) for b in func.buffers]  # pyright: ignore[reportAttributeAccessIssue]
        inputs = {
            b.name: rng.integers(-3, 4, s).astype(b.dtype.numpy) for b, s in zip(func.buffers, shapes, strict=True)
        }
        assert_agrees(func, kernel, inputs)
    return kernel.report


SEARCHES = {
    "first largest": (ROW, START + "for i in range(20):\n    if A[i] > M[0]:\n        M[0] = A[i]\n        P[0] = i"),
    "last largest": (ROW, START + "for i in range(20):\n    if A[i] >= M[0]:\n        M[0] = A[i]\n        P[0] = i"),
    "first smallest": (ROW, START + "for i in range(20):\n    if M[0] > A[i]:\n        P[0] = i\n        M[0] = A[i]"),
    "last smallest": (ROW, START + "for i in range(20):\n    if A[i] <= M[0]:\n        M[0] = A[i]\n        P[0] = i"),
    "from the middle": (ROW, START + "for i in T.serial(4, 17):\n    if A[i] > M[0]:\n        M[0] = A[i]\n        P[0] = i"),
    "of a sum": (ROW, START + "for i in range(19):\n    if A[i] + A[i + 1] > M[0]:\n        M[0] = A[i] + A[i + 1]\n        P[0] = i * 2 + 1"),
    "rows": (ROWS, "for r in range(6):\n    M[r] = A[r, 0]\n    P[r] = 0\n    for i in range(9):\n        if A[r, i] > M[r]:\n            M[r] = A[r, i]\n            P[r] = i"),
    "only some": (ROW, START + "for i in range(20):\n    if A[i] > M[0] and A[i] < 2:\n        M[0] = A[i]\n        P[0] = i"),
    "last of each row": (ROWS, "for r in range(6):\n    for i in range(9):\n        if M[r] >= A[r, i] * 2:\n            M[r] = A[r, i] * 2\n            P[r] = 8 - i"),
    "each column": (ROWS, "for i in range(6):\n    for r in range(6):\n        if A[r, i] > M[i]:\n            M[i] = A[r, i]\n            P[i] = r"),
    "best in a local": (ROWS, "for r in range(6):\n    b = T.alloc_buffer((1,), 'int32')\n    b[0] = -2\n    P[r] = -1\n    for i in range(9):\n        if A[r, i] > b[0]:\n            b[0] = A[r, i]\n            P[r] = i\n    M[r] = b[0] + P[r]"),
    "of sums in a local": (ROW, START + "s = T.alloc_buffer((1,), 'int32')\nfor i in range(18):\n    s[0] = 0\n    for k in range(3):\n        s[0] = s[0] + A[i + k] * A[k]\n    if s[0] > M[0]:\n        M[0] = s[0]\n        P[0] = i"),
    "of sums for each row": (ROWS, "s = T.alloc_buffer((1,), 'int32')\nfor r in range(6):\n    M[r] = 99\n    for i in T.serial(1, 8):\n        s[0] = 0\n        for k in range(9):\n            s[0] = s[0] + A[r, k] * A[i % 6, k]\n        if s[0] < M[r]:\n            P[r] = i\n            M[r] = s[0]"),
    "another local at the best": (ROWS, "t = T.alloc_buffer((2,), 'int32')\nfor r in range(6):\n    for i in range(9):\n        t[0] = A[r, i] * 2\n        t[1] = A[5 - r, i] + i\n        if t[0] >= M[r]:\n            M[r] = t[0]\n            P[r] = t[1]"),
    "of a matrix": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] > M[2]:\n        M[2] = A[r, i]\n        P[0] = r\n        P[1] = i"),
    "first that passes": (ROWS, "for r in range(6):\n    P[r] = -1\n    for i in range(9):\n        if P[r] < 0 and A[r, i] > 1:\n            P[r] = i"),
    "first that passes, by a flag": (ROWS, "for r in range(6):\n    for i in T.serial(1, 8):\n        if M[r] != 7 and A[r, i] > A[r, i - 1]:\n            M[r] = 7\n            P[r] = A[r, i]"),
    "first that passes two tests": (ROWS, "for r in range(6):\n    for i in range(9):\n        if P[r] <= 1 and A[r, i] > 0 and A[r, (i + 1) % 9] < 0:\n            P[r] = i + 2"),
    "last of a part": (ROWS, "for r in T.serial(2, 5):\n    for i in T.serial(1, 8):\n        if A[r, i] <= M[2]:\n            P[0] = r * 100 + i\n            M[2] = A[r, i]"),
    "the same in all columns": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, 2] >= M[2]:\n        M[2] = A[r, 2]\n        P[0] = r\n        P[1] = i"),
    "three loops": (ROWS, "for s in range(6):\n    for r, i in T.grid(6, 9):\n        if A[r, i] + A[s, i] > M[s]:\n            M[s] = A[r, i] + A[s, i]\n            P[s] = r * 9 + i"),
    "compared by place": (ROWS, "for r in range(6):\n    P[r] = 3\n    for i in range(9):\n        if A[r, i] > A[r, P[r]]:\n            P[r] = i"),
    "under a condition": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, 8 - i] % 2 == 0:\n        if A[r, i] < M[r]:\n            M[r] = A[r, i]\n            P[r] = i"),
    "none may do": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] > 2 and A[r, i] > M[r]:\n        M[r] = A[r, i]\n        P[r] = i"),
    "below a pivot": (ROWS, "for k in range(6):\n    P[k] = k\n    for i in range(k + 1, 6):\n        if A[i, k] > A[P[k], k]:\n            P[k] = i"),
    "of a triangle": (ROWS, "for s in range(6):\n    for r in range(6):\n        for i in range(r, 6 + s % 2):\n            if A[r, i] < M[s]:\n                M[s] = A[r, i]\n                P[s] = r * 9 + i"),
    "in growing prefixes": (ROWS, "for r in range(6):\n    for i in range(r):\n        if A[r, i] > M[r]:\n            M[r] = A[r, i]\n            P[r] = i"),
    "value alone, of some": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] < M[r] and A[r, i] > 0:\n        M[r] = A[r, i]"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(SEARCHES.values(), 2), ids=SEARCHES.keys())
def test_searches(params: str, body: str) -> None:
    report = check(params, body)
    assert any(f"{name} over " in line for line in report for name in ("argmax", "argmin")), report
    assert not any("stays a loop" in line for line in report), report


ALONE = {
    "largest": (ROW, START + "for i in range(20):\n    if A[i] > M[0]:\n        M[0] = A[i]"),
    "smallest": (ROW, START + "for i in range(20):\n    if M[0] >= A[i] * 2:\n        M[0] = A[i] * 2"),
    "of each row": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] < M[r]:\n        M[r] = A[r, i]"),
    "under a condition": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, 8 - i] % 2 == 0:\n        if A[r, i] < M[r]:\n            M[r] = A[r, i]"),
    "of some in one test": (ROWS, "for r, i in T.grid(6, 9):\n    if i != r and A[r, i] < M[r]:\n        M[r] = A[r, i]"),
    "in a window within borders": (ROWS, "for r in T.serial(6):\n    M[r] = A[r, r]\n    for a, b in T.grid(3, 3):\n        if r + a >= 1 and r + a <= 6:\n            if A[r + a - 1, r + b] > M[r]:\n                M[r] = A[r + a - 1, r + b]"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(ALONE.values(), 0.5), ids=ALONE.keys())
def test_values_without_a_place_are_extremes(params: str, body: str) -> None:
    report = check(params, body)
    assert not any("argm" in line or "stays a loop" in line for line in report), report


def test_the_best_of_the_step_before_for_each_element_of_a_step() -> None:
    body = "for t in T.serial(1, 7):\n    for s in range(6):\n        M[t, s] = M[t - 1, 0] + A[0, s]\n        P[t, s] = 0\n        for q in T.serial(1, 6):\n            if M[t - 1, q] + A[q, s] > M[t, s]:\n                M[t, s] = M[t - 1, q] + A[q, s]\n                P[t, s] = q"
    report = check(STEPS, body)
    assert any("argmax over q" in line for line in report), report


OTHERS = {
    "equal ones of some": (ROW, START + "for i in range(20):\n    if A[i] >= M[0] and A[i] < 2:\n        M[0] = A[i]\n        P[0] = i"),
    "kept twice": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] > M[r]:\n        M[r] = A[r, i]\n        P[r] = i\n        P[0] = r"),
    "may pass again": (ROWS, "for r in range(6):\n    P[r] = -1\n    for i in range(9):\n        if P[r] < 2 and A[r, i] > 1:\n            P[r] = i"),
    "a flag that looks at the step": (ROWS, "for r in range(6):\n    P[r] = -5\n    for i in range(9):\n        if P[r] + 1 < i and A[r, i] > 0:\n            P[r] = i"),
    "a flag that lags behind": (ROWS, "for r in range(6):\n    P[r] = -1\n    for i in range(9):\n        if P[r] < i - 3 and A[r, i] > 0:\n            P[r] = i"),
    "a flag that may not change": (ROWS, "for r in range(6):\n    for i in range(9):\n        if M[r] != 2 and A[r, i] > 0:\n            M[r] = A[r, i]\n            P[r] = i"),
    "another place": (ROWS, "for r in range(6):\n    P[r] = 3\n    for i in range(9):\n        if A[r, i] > A[r, P[r]]:\n            P[r] = 8 - i"),
    "found with a part": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] > M[r] and A[r, i] > P[r]:\n        M[r] = A[r, i]\n        P[r] = i"),
    "another value is kept": (ROW, START + "for i in range(20):\n    if A[i] > M[0]:\n        M[0] = A[i] - 1\n        P[0] = i"),
    "kept values matter": (ROW, START + "for i in range(20):\n    if A[i] > M[0]:\n        M[0] = A[i]\n        P[0] = P[0] + 1"),
    "compared with another": (ROW, START + "for i in range(20):\n    if A[i] > P[0]:\n        M[0] = A[i]\n        P[0] = i"),
    "the other of two": (ROWS, "for r, i in T.grid(6, 9):\n    if A[r, i] < M[r]:\n        M[r] = A[r, 8 - i]"),
    "best of the same row": (STEPS, "for t in range(7):\n    for s in range(6):\n        for q in range(6):\n            if M[t, q] - 1 > M[t, s]:\n                M[t, s] = M[t, q] - 1\n                P[t, s] = q"),
    "kept elsewhere": (ROWS, "for i in range(6):\n    if A[0, i] > M[0]:\n        M[0] = A[0, i]\n        P[i] = i"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(OTHERS.values(), 3), ids=OTHERS.keys())
def test_near_misses_stay_right(params: str, body: str) -> None:
    report = check(params, body)
    assert not any("argm" in line for line in report), report


GROUPS = 'G: T.Buffer((40,), "int32"), A: T.Buffer((40,), "int32"), M: T.Buffer((5,), "int32"), P: T.Buffer((5,), "int32"), Q: T.Buffer((5,), "float32")'
OF_GROUPS = {
    "first largest": "if A[i] > M[g]:\n        M[g] = A[i]\n        P[g] = i",
    "last smallest": "if M[g] >= A[i] * 2:\n        P[g] = i + 1\n        M[g] = A[i] * 2",
    "more of the best": "if A[i] < M[g] and A[i] > -2:\n        P[g] = A[39 - i]\n        M[g] = A[i]\n        Q[g] = 0.5",
}


@pytest.mark.parametrize("name", some(OF_GROUPS, 0.45))
def test_the_best_of_groups_that_data_choose_takes_no_steps(name: str) -> None:
    body = f"for i in range(40):\n    T.assume(G[i] >= -3 and G[i] < 4)\nfor i in range(1, 38):\n    g = T.max(G[i], 0)\n    {OF_GROUPS[name]}"
    assert not any("loop" in line for line in check(GROUPS, body))


@pytest.mark.parametrize("compare", ["<", "<="])
def test_places_of_the_best_next_to_the_range_of_a_narrow_dtype(compare: str) -> None:
    at = "T.cast(i, 'int32')"
    body = f"for i in T.serial(T.uint8(0), T.uint8(40)):\n    g = T.max(T.min(G[{at}], 4), 0)\n    if A[{at}] {compare} M[g]:\n        M[g] = A[{at}]\n        P[g] = {at}"
    assert not any("loop" in line for line in check(GROUPS, body))


def test_groups_in_rows_of_a_loop_that_is_called_like_an_axis_of_groups() -> None:
    params = GROUPS + ', W: T.Buffer((3, 5), "int32"), R: T.Buffer((3, 5), "int32")'
    check(
        params,
        "for W_1, i in T.grid(3, 40):\n    g = T.max(T.min(G[i], 4), 0)\n    if A[i] > W[W_1, g]:\n        W[W_1, g] = A[i]\n        R[W_1, g] = i + W_1",
    )


@pytest.mark.parametrize(
    "beside",
    some(
        ["P[g] = P[g] + 1", "P[T.min(g + 1, 4)] = i", "P[g] = M[g]", "P[g] = i\n        Q[g] = 1.0\n        G[i] = 0"],
        0.5,
    ),
)
def test_what_changes_beside_the_best_of_groups_takes_steps(beside: str) -> None:
    check(
        GROUPS,
        f"for i in range(40):\n    g = T.max(G[i], 0)\n    if A[i] > M[g]:\n        M[g] = A[i]\n        {beside}",
    )


PLACES = 'A: T.Buffer((20, 30), "int32"), D: T.Buffer((30,), "int32"), B: T.Buffer((20,), "int32")'
LOOKING_BACK = {
    "at the best so far": (
        "for t in range(20):\n    best = T.alloc_buffer((1,), 'int32')\n    best[0] = 0\n    for i in range(30):\n"
        "        D[i] = T.min(D[i], A[t, i])\n        if D[i] > D[best[0]]:\n            best[0] = i\n    B[t] = best[0]"
    ),
    "at a place that may be ahead": (
        "best = T.alloc_buffer((1,), 'int32')\nbest[0] = 0\nfor t in range(20):\n    for i in range(30):\n"
        "        D[i] = T.min(D[i], A[t, i])\n        if D[i] > D[best[0]]:\n            best[0] = i\n    B[t] = best[0]"
    ),
    "at a number that is ahead": (
        "for t in range(20):\n    best = T.alloc_buffer((1,), 'int32')\n    best[0] = 7\n    for i in range(30):\n"
        "        D[i] = T.min(D[i], A[t, i])\n        if D[i] > D[best[0]]:\n            best[0] = i\n    B[t] = best[0]"
    ),
    "at the next one": (
        "for t in range(20):\n    best = T.alloc_buffer((1,), 'int32')\n    best[0] = 0\n    for i in range(29):\n"
        "        D[i] = T.min(D[i], A[t, i])\n        if D[i] > D[best[0] + 1]:\n            best[0] = i\n    B[t] = best[0]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", some(LOOKING_BACK, 0.5))
def test_searches_of_what_is_stored_meanwhile(case: str) -> None:
    func = read(PLACES, LOOKING_BACK[case])
    kernel = kernel_of(func)
    assert ("first_best" in kernel.source) == (case == "at the best so far")
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))
