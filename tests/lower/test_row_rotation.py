"""Loops whose steps store several times to one row of a table work on that row, and hand rows on to later steps."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forced import assert_all_agree
from ir import PrimFunc
from lowered import assert_agrees, kernel_of, read, small_numbers, unwrapped
from profiles import few

PARAMS = 'D: T.Buffer((120, 130), "int32"), E: T.Buffer((120, 130), "float32")'
SWEEP = """for i, j in T.grid(120, 130):
    if {i} > 0:
        {D}[i, j] = T.min({D}[i, j], {D}[i - 1, j] + {three})
        if j > 0:
            {D}[i, j] = T.min({D}[i, j], {D}[i - 1, j - 1] + {four})
        if j < 129:
            {D}[i, j] = T.min({D}[i, j], {D}[i - 1, j + 1] + {four})
    if j > 0:
        {D}[i, j] = T.min({D}[i, j], {D}[i, j - 1] + {three})"""


def _sweep(name: str, three: str, four: str) -> str:
    return SWEEP.format(D=name, three=three, four=four, i="i")


def _backward(text: str) -> str:
    """The same from the last row to the first, and from the last column to the first."""
    for old, new in (("i - 1", "120 - i"), ("[i,", "[119 - i,"), ("j - 1]", "130 - j]"), ("j + 1]", "128 - j]")):
        text = text.replace(old, new)
    return text.replace(", j]", ", 129 - j]")


SWEEPS = {
    "forward": _sweep("D", "3", "4"),
    "of floats": _sweep("E", "3.0", "4.5"),
    "backward": _backward(_sweep("D", "3", "4")),
    "after the first row": _sweep("D", "3", "4").replace("T.grid(120, 130)", "T.grid(119, 130)").replace("[i - 1", "[i").replace("D[i, j] =", "D[i + 1, j] =").replace("T.min(D[i, j]", "T.min(D[i + 1, j]").replace("D[i, j - 1] + 3", "D[i + 1, j - 1] + 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", SWEEPS)
def test_steps_work_on_rows(name: str) -> None:
    func = read(PARAMS, SWEEPS[name])
    kernel = kernel_of(func)
    assert_agrees(func, kernel, small_numbers(func, 1))
    source = unwrapped(kernel.source)
    assert "_past" in source and "_row" in source and "in_turn(" in source


def test_a_loop_begins_where_its_guards_let_it() -> None:
    func = read(
        PARAMS,
        "for i in T.serial(5, 100):\n    for j in range(130):\n        D[i, j] = D[i, j] + D[i - 1, j]\n        if j >= 2 and j < 100:\n            D[i, j] = D[i, j - 2] % 7 + D[i, j]",
    )
    kernel = kernel_of(func)
    assert_agrees(func, kernel, small_numbers(func, 1))
    assert "j >" not in unwrapped(kernel.source) and "j <" not in unwrapped(kernel.source)


LINES = (
    "D[{r}, j] = D[{r}, j] % 50 + D[{p}, j]",
    "D[{r}, j] = T.max(D[{r}, j], D[{p}, j] - D[{q}, j])",
    "if j > 0:\n            D[{r}, j] = D[{r}, j] + D[{p}, j - 1] % 9",
    "if j < {m}:\n            D[{r}, j] = D[{r}, j] - D[{p}, j + 1] % 5",
    "if j > 0:\n            D[{r}, j] = T.min(D[{r}, j], D[{r}, j - 1] + 3)",
    "if j >= 2:\n            D[{r}, j] = T.max(D[{r}, j], D[{r}, j - 2] - 1)",
    "D[{r}, 2] = D[{r}, 1] % 30 - D[{p}, 3]",
    "E[{r}, j] = D[{r}, j] + E[{p}, j] % 7",
    "if E[{p}, j] > 3:\n            D[{r}, j] = D[{a}, j] + 1",
)


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """Loops over the rows of a table, forward or backward, that store to the row of the step."""
    n, m = draw(st.integers(5, 9)), draw(st.integers(5, 20))
    before, last = draw(st.integers(1, 3)), n - 1
    forward = draw(st.booleans())
    rows = {"r": "i", "p": "i - 1", "q": f"i - {before}", "a": "i + 1"}
    if not forward:
        rows = {"r": f"{last} - i", "p": f"{n} - i", "q": f"{last + before} - i", "a": f"{last - 1} - i"}
    lines = draw(st.lists(st.sampled_from(LINES), min_size=2, max_size=5))
    apart = draw(st.booleans())
    body = "".join(
        f"{'    for j in range(' + str(m) + '):' + chr(10) if apart or not k else ''}        {line.format(m=m - 1, **rows)}\n"
        for k, line in enumerate(lines)
    )
    params = f'D: T.Buffer(({n}, {m}), "int32"), E: T.Buffer(({n}, {m}), "int32")'
    return read(params, f"for i in T.serial({before}, {n - 1}):\n{body}")


@given(programs(), st.integers(0, 5))
@few(6)
def test_rows_hold_what_tables_would(func: PrimFunc, seed: int) -> None:
    assert_all_agree(func, small_numbers(func, seed))
