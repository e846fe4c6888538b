"""decompose_reduction: where the initialisation goes, what it keeps, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from ir import interpret, parse, to_script
from ir.errors import ScheduleError
from ir.nodes import Block, For, PrimFunc
from ir.schedule import Schedule
from ir.traverse import walk
from texts import read


def decomposed(func: PrimFunc, block: str, loop: str) -> PrimFunc:
    """The function after the step, compared with the original on random inputs."""
    sch = Schedule(func)
    sch.decompose_reduction(block, loop)
    assert assert_refines(func, sch.func, np.random.default_rng(0), exact=True) == 3
    return sch.func


def refused(func: PrimFunc, block: str, loop: str, code: str) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        Schedule(func).decompose_reduction(block, loop)
    assert caught.value.code == code, caught.value
    return caught.value


def init_loops(func: PrimFunc, block: str) -> list[str]:
    """Loops around a block, by the names they had before."""
    names = [r.name for r in Schedule(func).get_loops(block)]
    return [name.removesuffix("_1") for name in names]


def stage(before: str = "pass", where: str = "T.where(True)") -> PrimFunc:
    return read(f"""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        {before}
        for k in T.serial(5):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                {where}
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
""")


# What comes before ----------------------------------------------------------------------------------------------------


def test_an_initialisation_passes_what_does_not_mind():
    func = decomposed(stage("C[i] = 1.0"), "sum", "i")
    assert init_loops(func, "sum_init") == ["i"]


@pytest.mark.parametrize("before", ["C[i] = B[i]", "B[i] = 2.0", "C[i] = B[5 - i]"])
def test_an_initialisation_does_not_pass_what_uses_its_buffer(before: str):
    error = refused(stage(before), "sum", "i", "dependence")
    assert error.notes[0].startswith("both touch B["), error.notes
    decomposed(stage(before), "sum", "k")


def test_an_initialisation_does_not_pass_what_it_reads():
    func = read("""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        C[i] = A[i, 0]
        for k in T.serial(5):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = C[vi]
                B[vi] = B[vi] + A[vi, vk]
""")
    assert "C[" in refused(func, "sum", "i", "dependence").notes[0]
    decomposed(func, "sum", "k")


def test_an_initialisation_does_not_pass_that_of_the_block_around_it():
    func = read("""
def f(A: T.Buffer((4, 6, 5), "float32"), B: T.Buffer((6,), "float32")):
    for t in T.serial(4):
        with T.block("outer"):
            vt = T.axis.reduce(4, t)
            with T.init():
                B[0] = 7.0
            for i, k in T.grid(6, 5):
                with T.block("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = 1.0
                    B[vi] = B[vi] + A[vt, vi, vk]
""")
    refused(func, "sum", "t", "dependence")
    decomposed(func, "sum", "i")


def test_of_two_reductions_in_one_loop_the_second():
    func = decomposed(
        read("""
def f(A: T.Buffer((6, 3), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        for j in T.serial(3):
            with T.block("first"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vj]
        for k in T.serial(3):
            with T.block("second"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk] * C[vi]
"""),
        "second",
        "i",
    )
    assert init_loops(func, "second_init") == ["i"]


# Which loops it keeps -------------------------------------------------------------------------------------------------


def test_a_guarded_initialisation_needs_no_reduction_loop():
    func = read("""
def f(A: T.Buffer((6, 14), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 14):
        with T.block("sum"):
            if k == 0:
                B[i] = 0.0
            B[i] = B[i] + A[i, k]
""")
    for loop, loops in (("i", ["i"]), ("k", ["i"])):
        found = decomposed(func, "sum", loop)
        assert init_loops(found, "sum_init") == loops
        assert "if" not in to_script(found)


def test_a_reduction_that_starts_at_an_outer_loop():
    func = read("""
def f(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        for k in T.serial(i, 8):
            with T.block("sum"):
                if k == i:
                    B[i] = 0.0
                B[i] = B[i] + A[i, k]
""")
    found = decomposed(func, "sum", "i")
    assert init_loops(found, "sum_init") == ["i"]
    assert "if" not in to_script(found)


def test_an_empty_reduction_initialises_nothing():
    func = read("""
def f(A: T.Buffer((n, m), "float32"), B: T.Buffer((n,), "float32"), n: T.int32, m: T.int32):
    for i, k in T.grid(n, m):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
""")
    sch = Schedule(func)
    sch.decompose_reduction("sum", "i")
    assert init_loops(sch.func, "sum_init") == ["i"]
    where = next(to_script(s) for s in walk(sch.func.body) if isinstance(s, Block) and s.name == "sum_init")
    assert "T.where(m" in where
    rng = np.random.default_rng(0)
    for n, m in ((0, 0), (0, 3), (3, 0), (1, 1), (4, 3)):
        arrays = rng.random((n, m), np.float32), rng.random(n, np.float32)
        (want,), (have,) = (interpret(f, *arrays, n=n, m=m) for f in (func, sch.func))
        assert np.array_equal(want, have)


def test_predicates_stay():
    func = decomposed(stage(where="T.where(i < 4)"), "sum", "i")
    assert "T.where(i_1 < 4)" in to_script(func)
    both = stage(where="T.where(i + k < 5)")
    assert init_loops(decomposed(both, "sum", "i"), "sum_init") == ["i"]
    late = stage(where="T.where(k > 1)")
    assert "sum_init" in to_script(decomposed(late, "sum", "k")), "it never runs"


def test_a_reduction_loop_outside_leaves_a_condition():
    sch = Schedule(stage())
    sch.reorder("k", "i")
    before = sch.func
    sch.decompose_reduction("sum", "i")
    assert assert_refines(before, sch.func, np.random.default_rng(0), exact=True) == 3
    assert "T.where(k == 0)" in to_script(sch.func)


def test_conditions_and_names_on_the_way():
    func = read("""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32"), n: T.int32):
    for i in T.serial(6):
        t = 5 - i
        if t < n:
            for k in T.serial(t, 5):
                with T.block("sum"):
                    vi = T.axis.spatial(6, t)
                    if k == t:
                        B[vi] = 0.0
                    B[vi] = B[vi] + A[vi, k]
""")
    found = decomposed(func, "sum", "i")
    assert init_loops(found, "sum_init") == ["i"]
    assert "5 - i_1" in to_script(found)


def test_an_initialisation_may_read():
    func = read("""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        B[i] = C[i]
        for k in T.serial(5):
            B[i] = B[i] + A[i, k]
""")
    assert init_loops(decomposed(func, "root", "i"), "root_init") == ["i"]


def test_an_initialisation_of_several_stores_that_uses_its_reduction_axis():
    func = read("""
def f(A: T.Buffer((6, 5), "int32"), B: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
    for i in T.serial(6):
        for k in T.serial(2, 5):
            with T.block("sum"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce((2, 5), k)
                with T.init():
                    B[vi] = vk
                    C[vi] = vk + 1
                B[vi] = B[vi] + A[vi, vk]
                C[vi] = T.max(C[vi], A[vi, vk])
""")
    text = to_script(decomposed(func, "sum", "i"))
    assert "= 2\n" in text


# Refused --------------------------------------------------------------------------------------------------------------


def test_a_buffer_of_each_iteration_stays_in_it():
    func = read("""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        L = T.alloc_buffer((1,), "float32")
        for k in T.serial(5):
            with T.block("sum"):
                vk = T.axis.reduce(5, k)
                with T.init():
                    L[0] = 0.0
                L[0] = L[0] + A[i, vk]
        B[i] = L[0]
""")
    refused(func, "sum", "i", "private")
    decomposed(func, "sum", "k")


def test_ranges_that_may_have_no_value_stay_where_they_are():
    func = read("""
def f(A: T.Buffer((9, 9), "int32"), B: T.Buffer((9,), "int32"), n: T.int32, m: T.int32):
    T.assume(n >= 0 and n < 9 and m >= 0 and m < 9)
    for i in T.serial(9):
        if m > 0:
            for j in T.serial(n // m):
                B[j] = 0
                for k in T.serial(9):
                    B[j] = B[j] + A[j, k]
""")
    refused(func, "root", "i", "undefined-range")


@pytest.mark.parametrize("rest", ["C[i] = A[i, 0]", "for k in T.serial(5):\n            C[i] = B[i] + A[i, k]", "pass"])
def test_a_store_without_updates_initialises_nothing(rest: str):
    func = read(f"""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        B[i] = 0.0
        {rest}
""")
    refused(func, "root", "i", "no-init")


def test_the_search_stays_inside_the_block():
    func = read("""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        C[i] = 0.0
        C[i] = C[i] + 1.0
        for k in T.serial(5):
            with T.block("sum"):
                if k == 0:
                    B[i] = 0.0
                B[i] = B[i] + A[i, k]
""")
    found = decomposed(func, "sum", "i")
    (init,) = [s for s in walk(found.body) if isinstance(s, Block) and s.name == "sum_init"]
    assert "B[" in to_script(init) and "C[" not in to_script(init)


# Random ---------------------------------------------------------------------------------------------------------------


@st.composite
def reductions(draw: st.DrawFn) -> tuple[str, str, str]:
    """A nest with a reduction, statements around it and conditions; the block, and a loop."""
    low, high = draw(st.sampled_from([(0, 4), (1, 4), (0, 1), (2, 2), (0, 3)]))
    start, stop = draw(st.sampled_from([("0", "4"), ("i", "4"), ("1", "3"), ("0", "i"), ("0", "0"), ("i", "i + 1")]))
    place = draw(st.sampled_from(["i", "i", "i + 1", "3 - i", "i // 2", "0"]))
    before = draw(st.sampled_from(["pass", "C[i] = 1.0", "C[i] = B[i]", "C[i] = B[i + 1]", "B[0] = 3.0"]))
    after = draw(st.sampled_from(["pass", "C[i] = B[i]", "C[i + 1] = B[i + 1]", "C[i] = B[3 - i]"]))
    guard = draw(st.sampled_from(["True", "i < 2", "k < 3", "i + k < 4", "k > 0", "A[0, 0] > 0.0"]))
    value = draw(st.sampled_from(["0.0", "0.0", "C[i]", "A[i, 0]"]))
    lines = [
        'def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):',
        f"    for i in T.serial({low}, {high}):",
        f"        {before}",
        f"        for k in T.serial({start}, {stop}):",
    ]
    if draw(st.booleans()):
        lines += [
            '            with T.block("sum"):',
            f"                vi = T.axis.spatial(8, {place})",
            f"                vk = T.axis.reduce(({start}, {stop}), k)",
            f"                T.where({guard})",
            "                with T.init():",
            f"                    B[vi] = {value}",
            "                B[vi] = B[vi] + A[vi, vk]",
        ]
    else:
        first = draw(st.sampled_from([f"k == {start}", "k == 0", "k <= 1", "i == k"]))
        lines += [
            '            with T.block("sum"):',
            f"                if {guard}:",
            f"                    if {first}:",
            f"                        B[{place}] = {value}",
            f"                    B[{place}] = B[{place}] + A[i, k]",
        ]
    lines.append(f"        {after}")
    return "@T.prim_func\n" + "\n".join(lines) + "\n", "sum", draw(st.sampled_from("ik"))


APPLIED: list[bool] = []


@given(drawn=reductions())
def test_random_reductions(drawn: tuple[str, str, str]):
    text, block, loop = drawn
    func = parse(text).funcs[0]
    sch = Schedule(func)
    try:
        sch.decompose_reduction(block, loop)
    except ScheduleError as error:
        assert error.code not in ("unproven", "no-init"), error
        APPLIED.append(False)
        return
    APPLIED.append(True)
    assert assert_refines(func, sch.func, np.random.default_rng(0), runs=2) == 2
    assert not any(s.init is not None for s in walk(sch.func.body) if isinstance(s, Block))
    assert len([s for s in walk(sch.func.body) if isinstance(s, For)]) >= 2


def test_a_fair_share_of_random_reductions_is_decomposed():
    if APPLIED:  # the test above has run in this process
        assert sum(APPLIED) * 5 > len(APPLIED)
