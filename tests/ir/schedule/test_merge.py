"""merge_adjacent_loops: the document's three cases, what may stand between loops, names, and random pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from ir import parse
from ir.errors import ScheduleError
from ir.nodes import For, PrimFunc
from ir.schedule import Schedule
from ir.traverse import walk
from renamed import assert_same_up_to_names
from texts import read


def merged(func: PrimFunc, *loops: str) -> PrimFunc:
    """The function after merging, compared with the original on random inputs."""
    sch = Schedule(func)
    sch.merge_adjacent_loops(*loops)
    assert assert_refines(func, sch.func, np.random.default_rng(0), exact=True) == 3
    return sch.func


def refused(func: PrimFunc, code: str, *loops: str) -> ScheduleError:
    sch = Schedule(func)
    with pytest.raises(ScheduleError) as caught:
        sch.merge_adjacent_loops(*loops)
    assert caught.value.code == code, caught.value
    return caught.value


def count(func: PrimFunc) -> int:
    return len([s for s in walk(func.body) if isinstance(s, For)])


# The document's cases -------------------------------------------------------------------------------------------------


def test_elementwise_loops():
    func = read("""
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
    for j in T.serial(16):
        A[j] = 1.0
""")
    assert_same_up_to_names(
        merged(func, "i", "j"),
        """@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
        A[i] = 1.0
""",
    )


def test_a_loop_that_reads_what_earlier_iterations_wrote():
    func = read("""
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
    for j in T.serial(16):
        if j > 0:
            A[j] = A[j - 1] + 1.0
""")
    assert_same_up_to_names(
        merged(func, "i", "j"),
        """@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
        if i > 0:
            A[i] = A[i - 1] + 1.0
""",
    )


@pytest.mark.parametrize("value", ["A[j - 1] + A[j] + A[j + 1]", "A[j + 1]"])
def test_a_loop_that_reads_what_later_iterations_write(value: str):
    func = read(f"""
def f(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 2.0
    for j in T.serial(16):
        if 0 < j and j < 15:
            A[j] = {value}
""")
    error = refused(func, "dependence", "i", "j")
    assert "would touch A[2] in the other order" in error.message
    assert error.notes == ("for example at i = 2 and at i = 1",)
    assert Schedule(func).merge_adjacent_loops() == ()


def test_a_loop_that_overwrites_what_a_later_iteration_reads():
    func = read(
        """
def f(A: T.Buffer((17,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = A[i{}]
    for j in T.serial(16):
        A[j{}] = 1.0
""".replace("{}", "", 1).replace("{}", " + 1", 1)
    )
    refused(func, "dependence", "i", "j")
    other = read("""
def f(A: T.Buffer((17,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = A[i + 1]
    for j in T.serial(16):
        A[j] = 1.0
""")
    assert count(merged(other, "i", "j")) == 1


def test_blocks_around_nests():
    func = read("""
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((14,), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                A[io, ii] = B[4 * io + ii]
    with T.block("padding"):
        for jo, ji in T.grid(4, 4):
            if 4 * jo + ji >= 14:
                A[jo, ji] = 0.0
""")
    assert_same_up_to_names(
        merged(func),
        """@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((14,), "float32")):
    for io, ii in T.grid(4, 4):
        with T.block("compute"):
            if 4 * io + ii < 14:
                A[io, ii] = B[4 * io + ii]
        with T.block("padding"):
            if 4 * io + ii >= 14:
                A[io, ii] = 0.0
""",
    )
    assert count(merged(func, "io", "jo")) == 3, "only the loops that were named"


def test_more_than_two():
    func = read("""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 1.0
    for j in T.serial(16):
        B[j] = A[j]
    for k in T.serial(16):
        C[k] = A[k] + B[k]
""")
    assert count(merged(func, "i", "j", "k")) == 1
    refused(func, "not-adjacent", "i", "i")
    refused(func, "not-adjacent", "j", "i")
    refused(func, "too-few-loops", "i")
    refused(func, "unknown-loop", "i", "z")


# What stands between --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "between, order",
    [
        ("C[0] = 2.0", "before"),
        ("B[0] = 2.0", "before"),
        ("C[0] = A[3]", "after"),
        ("C[0] = A[3]\n    D[0] = C[0]", "after"),
        ("T.assume(n < 5)", "before"),
    ],
)
def test_statements_between_move_out_of_the_way(between: str, order: str):
    func = read(f"""
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32"),
      D: T.Buffer((4,), "float32"), n: T.int32):
    for i in T.serial(4):
        A[i] = 1.0
    {between}
    for j in T.serial(4):
        B[j] = A[j] + 1.0
""")
    found = merged(func, "i", "j")
    assert count(found) == 1
    kinds = [type(s).__name__ for s in getattr(found.body, "stmts", ())]
    assert kinds.index("For") == (len(kinds) - 1 if order == "before" else 0)


@pytest.mark.parametrize("between", ["B[0] = A[3]", "C[0] = A[1]\n    B[0] = C[0]", "A[0] = B[0]"])
def test_statements_that_mind_both_loops_stay_between_them(between: str):
    func = read(f"""
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        A[i] = 1.0
    {between}
    for j in T.serial(4):
        B[j] = A[j] + 1.0
""")
    error = refused(func, "not-adjacent", "i", "j")
    assert "touch" in error.notes[0] and "[0]" in error.notes[0], error.notes


def test_what_is_assumed_between_counts():
    func = read("""
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), n: T.int32):
    for i in T.serial(16):
        A[i] = 1.0
    T.assume(n == 16)
    for j in T.serial(n):
        C[j] = A[j]
""")
    assert count(merged(func, "i", "j")) == 1


@pytest.mark.parametrize("loops", [("i", "j", "k"), ()])
def test_allocations_between_move_out(loops: tuple[str, ...]):
    func = read("""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    L = T.alloc_buffer((16,), "float32")
    for i in T.serial(16):
        L[i] = A[i]
    M = T.alloc_buffer((16,), "float32")
    for j in T.serial(16):
        M[j] = L[j]
    for k in T.serial(16):
        B[k] = M[k]
""")
    assert count(merged(func, *loops)) == 1


# Names, ranges and marks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value, legal", [("j", True), ("15 - j", False), ("j // 2", True)])
def test_an_axis_called_like_the_first_loop(value: str, legal: bool):
    func = read(f"""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = B[i]
    for j in T.serial(16):
        with T.block("b"):
            i = T.axis.opaque(16, {value})
            B[i] = A[j]
""")
    if legal:
        assert count(merged(func, "i", "j")) == 1
    else:
        refused(func, "dependence", "i", "j")
    only_written = read(f"""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 1.0
    for j in T.serial(16):
        with T.block("b"):
            i = T.axis.opaque(16, {value})
            B[i] = A[j]
""")
    assert count(merged(only_written, "i", "j")) == 1


def test_ranges_that_are_empty_together():
    func = read("""
def f(A: T.Buffer((16,), "float32"), n: T.int32):
    T.assume(n < 1)
    for i in T.serial(n):
        A[i] = 1.0
    for j in T.serial(3, n + 3):
        A[j] = 1.0
""")
    assert count(merged(func, "i", "j")) == 1
    other = read("""
def f(A: T.Buffer((16,), "float32"), n: T.int32):
    T.assume(n < 2)
    for i in T.serial(n):
        A[i] = 1.0
    for j in T.serial(3, n + 3):
        A[j] = 1.0
""")
    refused(other, "different-ranges", "i", "j")


def test_marks():
    func = read(
        """
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        A[i] = 1.0
    for j in T.parallel(16):
        if j > {}:
            B[j] = A[j - {}]
""".replace("{}", "1")
    )
    found = merged(func, "i", "j")
    assert [s.kind for s in walk(found.body) if isinstance(s, For)] == ["serial"], "its iterations depend on each other"
    alone = read("""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        A[i] = 1.0
    for j in T.parallel(16):
        B[j] = A[j]
""")
    assert [s.kind for s in walk(merged(alone, "i", "j").body) if isinstance(s, For)] == ["parallel"]


# Random ---------------------------------------------------------------------------------------------------------------


@st.composite
def sequences(draw: st.DrawFn) -> str:
    """Two or three loops over small ranges with shifted accesses, and statements between."""
    lines = [
        'def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), n: T.int32):',
        "    T.assume(n >= 0 and n < 5)",
    ]
    ranges = st.sampled_from(["0, 4", "0, 4", "1, 5", "0, n", "2, n + 1", "0, 1", "3, 3"])
    same = draw(ranges)
    for k, name in enumerate("ijk"[: draw(st.integers(2, 3))]):

        def place(name: str = name) -> str:
            buffer = draw(st.sampled_from("ABC"))
            index = draw(st.sampled_from([name, name, name, f"{name} + 1", f"7 - {name}", f"{name} // 2", "4"]))
            return f"{buffer}[{index}]"

        if k and draw(st.integers(0, 2)) == 0:
            lines.append(f"    {draw(st.sampled_from('ABC'))}[{draw(st.integers(0, 7))}] = 2.0")
        lines.append(f"    for {name} in T.serial({same if draw(st.integers(0, 3)) else draw(ranges)}):")
        indent = "        "
        if draw(st.booleans()):
            lines.append(f"{indent}if {draw(st.sampled_from([f'{name} > 0', f'{name} < 3', f'{place()} > 0.0']))}:")
            indent += "    "
        target = place()
        lines.append(f"{indent}{target} = {draw(st.sampled_from(['1.0', place(), f'{target} + {place()}']))}")
    return "@T.prim_func\n" + "\n".join(lines) + "\n"


APPLIED: list[bool] = []


@given(text=sequences(), everything=st.booleans())
def test_random_sequences(text: str, everything: bool):
    func = parse(text).funcs[0]
    sch = Schedule(func)
    try:
        APPLIED.append(bool(sch.merge_adjacent_loops(*(() if everything else ("i", "j")))))
    except ScheduleError as error:
        assert error.code in ("dependence", "not-adjacent", "different-ranges"), error
        APPLIED.append(False)
        return
    assert APPLIED[-1] == (count(sch.func) < count(func))
    assert_refines(func, sch.func, np.random.default_rng(0), runs=2)


def test_a_fair_share_of_random_sequences_is_merged():
    if APPLIED:  # the test above has run in this process
        assert sum(APPLIED) * 8 > len(APPLIED)
