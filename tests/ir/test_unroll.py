"""Loops written out, and elements of arrays that straight-line code keeps in locals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from compare import assert_refines
from ir import to_script
from ir.nodes import Alloc, Const, For, PrimFunc
from ir.testing.programs import programs
from ir.transform.loops.unroll import copies, with_unrolled
from ir.traverse import map_stmt, walk
from lower import compile as lowered
from lower import emit
from profiles import few, some
from texts import read


def marked(func: PrimFunc, chosen: st.DataObject | None = None) -> PrimFunc:
    """A function with all of its loops to be written out, or some."""

    def mark(stmt: object) -> object:
        take = chosen is None or chosen.draw(st.booleans())
        return replace(stmt, kind="unroll") if isinstance(stmt, For) and take else stmt

    return replace(func, body=map_stmt(func.body, on_stmt=mark))  # pyright: ignore[reportArgumentType]


FACTOR = """
def factor(A: T.Buffer((6, 3, 3), "float32"), L: T.Buffer((6, 3, 3), "float32")):
    for b in range(6):
        for j in T.unroll(3):
            L[b, j, j] = A[b, j, j]
            for k in T.unroll(j):
                L[b, j, j] -= L[b, j, k] * L[b, j, k]
            L[b, j, j] = T.sqrt(L[b, j, j])
            for i in T.unroll(j + 1, 3):
                L[b, i, j] = A[b, i, j]
                for k in T.unroll(j):
                    L[b, i, j] -= L[b, i, k] * L[b, j, k]
                L[b, i, j] = L[b, i, j] / L[b, j, j]
"""
SORT = """
def sort(X: T.Buffer((7, 4), "float32"), m: T.Buffer((7,), "float32")):
    for b in range(7):
        v = T.alloc_buffer((4,), "float32")
        for i in range(4):
            v[i] = X[b, i]
        for i in T.unroll(4):
            for j in T.unroll(3 - i):
                low = T.min(v[j], v[j + 1])
                high = T.max(v[j], v[j + 1])
                v[j] = low
                v[j + 1] = high
        m[b] = v[1]
"""
TURNS = """
def turns(S: T.Buffer((5, 2), "float32"), n: T.int32):
    for b in range(5):
        for s in T.unroll(3):
            if s < 2 or n > s:
                S[b, 0] = S[b, 0] + T.if_then_else(s == 1, S[b, 1], T.float32(s))
            else:
                S[b, 1] = S[b, 0]
"""


@pytest.mark.parametrize("text", some([FACTOR, SORT, TURNS], 0.45))
def test_results_are_those_of_the_loops(text: str):
    func = read(text)
    new = with_unrolled(func)
    assert not any(isinstance(s, For) and s.kind == "unroll" for s in walk(new.body))
    assert assert_refines(func, new, np.random.default_rng(0)) > 0
    rng = np.random.default_rng(1)
    inputs = {
        b.name: rng.random([int(n.value) for n in b.shape if isinstance(n, Const)]).astype("f4") for b in func.buffers
    }
    if text is FACTOR:
        inputs["A"] = inputs["A"] + 3 * np.eye(3, dtype="f4")
    inputs |= {v.name: np.int32(2) for v in func.scalars}
    found = lowered(func)(**inputs)
    want = lowered(replace(func, body=map_stmt(func.body, on_stmt=as_steps)))(**inputs)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def as_steps(stmt: object) -> object:
    return replace(stmt, kind="serial") if isinstance(stmt, For) else stmt


def test_elements_at_one_position_are_kept_and_copied_once():
    new = with_unrolled(read(FACTOR))
    (row,) = [s.buffer for s in walk(new.body) if isinstance(s, Alloc)]
    assert (row.name, [to_script(n) for n in row.shape]) == ("L_row", ["3", "3"])
    lines = to_script(new).splitlines()
    assert [line.strip() for line in lines[-6:]] == [
        f"L[b, {i}, {j}] = L_row[{i}, {j}]" for i in range(3) for j in range(i + 1)
    ]
    assert "L_row[0, 0] = A[b, 0, 0]" in to_script(new)  # nothing is read before it is written
    assert "L_row[1, 0] = L[" not in to_script(new)


def test_loops_over_elements_of_a_local_go_with_those_that_use_them():
    source = emit(read(SORT))
    assert "fori_loop" not in source
    assert ".at[" not in source  # each element is a value


def test_what_numbers_decide_is_gone():
    text = to_script(with_unrolled(read(TURNS)))
    assert "if_then_else" not in text
    assert text.count("if ") == 1
    assert "if n > 2" in text


def test_a_part_that_may_not_be_stored_is_copied_in():
    text = to_script(with_unrolled(read(TURNS)))
    assert "S_row[1] = S[b, 1]" in text


def test_open_and_long_loops_stay():
    func = read("""
def f(A: T.Buffer((n,), "float32"), n: T.int32):
    for i in T.unroll(n):
        A[i] = 1.0
""")
    assert with_unrolled(func) == func
    long = read("""
def f(A: T.Buffer((2000,), "float32")):
    for i in T.unroll(2000):
        A[i] = 1.0
""")
    assert with_unrolled(long) == long


def test_what_nothing_is_stored_to_stays_a_result():
    func = read("""
def f(A: T.Buffer((2,), "float32")):
    for i in T.unroll(2):
        if i > 3:
            A[i] = 1.0
""")
    (kept,) = lowered(func)(A=np.ones(2, "f4"))
    np.testing.assert_array_equal(kept, [1, 1])


def test_copies_are_counted_as_far_as_they_may_be():
    (loop,) = [s for s in walk(read(SORT).body) if isinstance(s, For) and s.kind == "unroll" and s.var.name == "i"]
    assert copies(loop, 12) == 12
    assert copies(loop, 11) is None


@few(25)
@given(programs(), st.data())
def test_random_programs_do_the_same(func: PrimFunc, data: st.DataObject):
    new = with_unrolled(marked(func, data))
    assert_refines(func, new, np.random.default_rng(0))


@pytest.mark.fuzz
@few(2000)
@given(programs(), st.data())
def test_many_random_programs_do_the_same(func: PrimFunc, data: st.DataObject):
    assert_refines(func, with_unrolled(marked(func, data)), np.random.default_rng(0))
