"""Stores to tiles of which the last ones are not whole are all tiles side by side, cut off where the array ends."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir import PrimFunc
from lower import compile
from lowered import assert_agrees, read, small_numbers, unwrapped
from profiles import few

PARAMS = 'A: T.Buffer((10, 9), "float32"), B: T.Buffer((10, 9), "float32"), C: T.Buffer((9,), "float32")'
TILES = "for io, jo, ii, ji in T.grid(3, 3, 4, 4):\n    if 4 * io + ii < 10 and 4 * jo + ji < 9:\n        "


def source(func: PrimFunc) -> str:
    """The source, after a comparison with the interpreter."""
    kernel = compile(func)
    assert_agrees(func, kernel, small_numbers(func, 0))
    return unwrapped(kernel.source)


CUT = {
    "elements": "B[4 * io + ii, 4 * jo + ji] = A[4 * io + ii, 4 * jo + ji] * 2.0",
    "a number": "B[4 * io + ii, 4 * jo + ji] = 3.0",
    "one row for all": "B[4 * io + ii, 4 * jo + ji] = C[4 * jo + ji]",
    "an update": "B[4 * io + ii, 4 * jo + ji] += A[4 * io + ii, 0]",
    "another order of tests": "if True:\n            B[4 * io + ii, 4 * jo + ji] = A[9 - 4 * io - ii, 4 * jo + ji]",
}


@pytest.mark.parametrize("name", CUT)
def test_tiles_are_cut_off(name: str) -> None:
    text = source(read(PARAMS, TILES + CUT[name]))
    assert ".at[" not in text


def test_tiles_that_a_local_holds_are_cut_off() -> None:
    body = (
        "for io, jo in T.grid(3, 3):\n    acc = T.alloc_buffer((4, 4), 'float32')\n    for ii, ji in T.grid(4, 4):\n        acc[ii, ji] = 1.0\n"
        "    for k, ii, ji in T.grid(9, 4, 4):\n        if 4 * io + ii < 10 and 4 * jo + ji < 9:\n            acc[ii, ji] += A[4 * io + ii, k] * C[4 * jo + ji]\n"
        "    for ii, ji in T.grid(4, 4):\n        if 4 * io + ii < 10 and 4 * jo + ji < 9:\n            B[4 * io + ii, 4 * jo + ji] = acc[ii, ji]"
    )
    assert ".set(" not in source(read(PARAMS, body))


@st.composite
def tiled(draw: st.DrawFn) -> str:
    """Stores to tiles under guards that may be those of the array, more or fewer of them, or others."""
    rows, columns = draw(st.sampled_from([2, 3, 4, 5])), draw(st.sampled_from([3, 4, 9]))
    gap, gap_too = draw(st.sampled_from([(0, 0), (0, 0), (1, 0), (0, 1), (1, 1)]))
    tiles = f"T.grid({-(-10 // rows)}, {-(-9 // columns)}, {rows - gap}, {columns - gap_too})"
    i, j = f"{rows} * io + ii", f"{columns} * jo + ji"
    guards = [f"{i} < {draw(st.sampled_from([10, 10, 10, 9, 7]))}", f"{j} < {draw(st.sampled_from([9, 9, 9, 8, 5]))}"]
    guards += draw(st.sampled_from([[], [], ["ii > 0"], ["io + jo < 3"], ["C[0] > 0.0"], [f"C[T.min({j}, 8)] > 0.0"]]))
    value = draw(
        st.sampled_from([f"A[{i}, {j}]", "2.0", f"C[{j}]", f"A[{i}, 3] + C[ji % 9]", "C[2]", f"B[{i}, {j}] * 2.0"])
    )
    store = draw(
        st.sampled_from(
            [f"B[{i}, {j}] = {value}", f"B[{i}, {j}] += {value}", f"B[{i}, {j}] = T.max(B[{i}, {j}], {value})"]
        )
    )
    head = draw(st.sampled_from(["", "for t in T.serial(2):\n"]))
    lines = [
        f"for io, jo, ii, ji in {tiles}:",
        f"    if {' and '.join(draw(st.permutations(guards)))}:",
        f"        {store}",
    ]
    return head + "\n".join(("    " if head else "") + line for line in lines)


def test_tiles_with_gaps_between_them_are_not_cut_off() -> None:
    body = "for io, jo, ii, ji in T.grid(4, 3, 2, 4):\n    if 3 * io + ii < 10 and 4 * jo + ji < 9:\n        B[3 * io + ii, 4 * jo + ji] = A[3 * io + ii, 4 * jo + ji] + C[ji]"
    assert "jnp.where(" in source(read(PARAMS, body))


@few(10)
@given(tiled())
def test_random_tiles_hold_what_is_stored(body: str) -> None:
    source(read(PARAMS, body))


@pytest.mark.fuzz
@settings(max_examples=1000)
@given(tiled())
def test_many_random_tiles_hold_what_is_stored(body: str) -> None:
    source(read(PARAMS, body))
