"""Read and write caches: the document's programs, refusals, and random programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import assert_refines
from ir import parse, to_script
from ir.errors import ScheduleError
from ir.nodes import Alloc, Store
from ir.schedule import Schedule
from ir.semantics.interpret import interpret, interpret_with_undef
from ir.testing.programs import programs
from ir.traverse import buffers_written, walk
from profiles import few
from renamed import assert_same_up_to_names

TOTAL = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]
"""


def test_read_cache_of_a_whole_function_in_another_layout():
    sch = Schedule(parse(TOTAL))
    block = sch.cache_read("root", "A", "local")
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer([14], dtype="int32", scope="local")
    for i in T.serial(14):
        A_local[i] = A[i]
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A_local[i]
""",
        blocks=False,
    )
    sch.transform_layout(block, "A_local", lambda i: [i // 4, i % 4], pad_value=0)
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer([4, 4], dtype="int32", scope="local")
    for i in T.serial(14):
        A_local[i // 4, i % 4] = A[i]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            A_local[io, ii] = 0
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A_local[i // 4, i % 4]
""",
        blocks=False,
    )
    assert assert_refines(parse(TOTAL).funcs[0], sch.func, np.random.default_rng(0)) > 0


DOUBLE = """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = 2 * A[i]
"""


def test_caches_of_input_and_output():
    sch = Schedule(parse(DOUBLE))
    read = sch.cache_read("compute", "A")
    write = sch.cache_write("compute", "B")
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("A_copy"):
            A_cache[i] = A[i]
    B_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i] = 2 * A_cache[i]
    for i in T.serial(14):
        with T.block("B_copy"):
            B[i] = B_cache[i]
""",
    )
    assert [to_script(sch.get_loops(b)[0].name and _block(sch, b.name)) for b in (read, write)]
    assert "A_cache[" in to_script(_block(sch, read.name)) and "] = A[" in to_script(_block(sch, read.name))
    assert "] = B_cache[" in to_script(_block(sch, write.name))


def _block(sch, name):
    return next(s for s in walk(sch.func.body) if getattr(s, "name", None) == name)


def test_what_a_stage_leaves_alone_is_kept():
    sch = Schedule(parse(DOUBLE.replace("T.serial(14)", "T.serial(13)")))
    sch.cache_write("compute", "B")
    assert 'T.block("B_cache_in")' in to_script(sch.func)
    before = np.arange(14, dtype=np.float32)
    (found,) = interpret(sch.func, np.ones(14, np.float32), before)
    assert list(found) == [2] * 13 + [13]


@pytest.mark.parametrize(
    ("stage", "copied_in"),
    [
        ("B[i] = A[i]", False),
        ("B[i] = B[i] + A[i]", True),
        ("B[13 - i] = A[i]", False),
        ("B[i // 2] = A[i]", True),
        ("if A[i] > 0.0:\n            B[i] = A[i]", True),
        ("B[i] = A[i]\n        B[i] = B[i] + B[0]", False),
        ("B[i] = A[i]\n        B[i] = B[i] + B[13 - i]", True),
    ],
)
def test_elements_are_copied_in_only_where_needed(stage, copied_in):
    text = TOTAL.replace('B: T.Buffer((1,), "int32")', 'B: T.Buffer((14,), "float32")').replace("int32", "float32")
    head = text.splitlines()[:3]
    func = parse("\n".join([*head, "    for i in T.serial(14):", f"        {stage}"])).funcs[0]
    sch = Schedule(func)
    sch.cache_write("root", "B", "local")
    assert ("B_local_in" in to_script(sch.func)) is copied_in
    assert assert_refines(func, sch.func, np.random.default_rng(1), exact=True) > 0


STAGES = """
@T.prim_func
def func(A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32"), n: T.int32):
    for i in T.serial(n):
        T.assume(A[i] == 3)
    for i in T.serial(n):
        with T.block("one"):
            A[i] = A[i] + 1
    L = T.alloc_buffer((n,), "int32")
    for i in T.serial(n):
        with T.block("two"):
            L[i] = A[i] + B[i]
    for i in T.serial(n):
        with T.block("three"):
            v = T.axis.spatial(n, i)
            T.reads(L[v], A[v])
            T.writes(B[v])
            B[v] = L[v] * A[v]
"""


def test_caches_stand_at_the_stage_of_their_block():
    func = parse(STAGES).funcs[0]
    sch = Schedule(func)
    sch.cache_read("three", "A", "shared")
    sch.cache_write("two", "L")
    sch.cache_read("three", "L", "local")
    sch.cache_write("root", "B")
    lines = [line.strip() for line in to_script(sch.func).splitlines()]
    stores = [line for line in lines if "] = " in line and "]" in line.split("=")[0]]
    assert [s.split("[")[0] for s in stores] == ["B_cache", "A", "L_cache", "L", "A_shared", "L_local", "B_cache", "B"]
    assert "B_cache[v] = L_local[v] * A_shared[v]" in lines
    assert lines[2].startswith("for") and lines[3] == "T.assume(A[i] == 3)"  # before anything is copied
    assert not any(line.startswith("T.reads") for line in lines)
    assert assert_refines(func, sch.func, np.random.default_rng(2)) > 0


def test_refusals():
    sch = Schedule(parse(STAGES))
    with pytest.raises(ScheduleError) as caught:
        sch.cache_read("one", "A")
    assert caught.value.code == "stale-cache"
    assert "`A[i_1] = A[i_1] + 1` writes it" in caught.value.notes[0]
    with pytest.raises(ScheduleError, match="would read an old copy"):
        sch.cache_read("root", "A")
    with pytest.raises(ScheduleError, match="`one` does not read B"):
        sch.cache_read("one", "B")
    with pytest.raises(ScheduleError, match="`two` does not write A"):
        sch.cache_write("two", "A")
    with pytest.raises(ScheduleError, match="L does not live where `one` stands"):
        sch.cache_read("one", "L")
    with pytest.raises(ScheduleError, match="has no buffer `M`"):
        sch.cache_write("root", "M")
    with pytest.raises(ScheduleError, match="has no block `four`"):
        sch.cache_write("four", "B")
    assert sch.func == Schedule(parse(STAGES)).func


def test_scopes_that_are_no_names():
    sch = Schedule(parse(TOTAL))
    sch.cache_read("root", "A", "wmma.matrix_a")
    assert 'A_wmma_matrix_a = T.alloc_buffer((14,), "int32", scope="wmma.matrix_a")' in to_script(sch.func)
    sch.cache_read("root", "A", "wmma.matrix_a")
    assert "A_wmma_matrix_a[ax0] = A_wmma_matrix_a_1[ax0]" in to_script(sch.func)
    assert parse(to_script(sch.func)).funcs[0] == sch.func


def test_buffers_of_an_inner_scope():
    func = parse("""
@T.prim_func
def func(A: T.Buffer((3, 4), "int32")):
    for i in T.serial(3):
        L = T.alloc_buffer((4,), "int32")
        for j in T.serial(4):
            with T.block("first"):
                L[j] = A[i, j]
        for j in T.serial(4):
            with T.block("second"):
                A[i, j] = L[3 - j]
""").funcs[0]
    sch = Schedule(func)
    sch.cache_read("second", "L")
    sch.cache_write("first", "L", "local")
    sch.cache_write("second", "A")
    lines = to_script(sch.func).splitlines()
    assert next(k for k, s in enumerate(lines) if "L_cache =" in s) > next(k for k, s in enumerate(lines) if "L =" in s)
    assert assert_refines(func, sch.func, np.random.default_rng(3)) > 0


WRITTEN_IN_A_LOOP = """
@T.prim_func
def func(A: T.Buffer((3, 8), "int32"), B: T.Buffer((3, 8), "int32"), S: T.Buffer((3,), "int32"), n: T.int32):
    L = T.alloc_buffer((3, 8), "int32")
    for i in T.serial(3):
        for j in T.serial(8):
            with T.block("producer"):
                L[i, j] = A[i, j] + 1
        if S[i] > 0 and n > 2:
            for j in T.serial(8):
                if j < 6 and j < n:
                    with T.block("consumer"):
                        B[i, j] = L[i, 7 - j] * A[i, j]
"""


def test_a_read_cache_stands_inside_the_loop_in_which_its_buffer_is_written():
    func = parse(WRITTEN_IN_A_LOOP.replace(" and j < n", "")).funcs[0]
    sch = Schedule(func)
    block = sch.cache_read("consumer", "L", "local")
    assert [loop.name for loop in sch.get_loops(block)] == ["i", "ax1"]
    text = to_script(sch.func)
    assert 'L_local = T.alloc_buffer((1, 6), "int32", scope="local")' in text
    assert text.index("if S[i] > 0") < text.index("L_local = ") < text.index("if j_1 < 6:")
    assert assert_refines(func, sch.func, np.random.default_rng(5), exact=True) > 0
    counts = [sum(s.buffer.name == name for s in walk(sch.func.body) if isinstance(s, Store)) for name in ("L", "B")]
    assert counts == [1, 1]


def test_a_read_cache_holds_what_is_read():
    text = WRITTEN_IN_A_LOOP.replace("L[i, 7 - j] * A[i, j]", "A[i, j]").replace("S[i] > 0 and ", "")
    func = parse(text).funcs[0]
    sch = Schedule(func)
    block = sch.cache_read("consumer", "A", "local")
    assert [loop.name for loop in sch.get_loops(block)] == ["ax0", "ax1"]
    lines = [line.strip() for line in to_script(sch.func).splitlines()]
    assert 'A_local = T.alloc_buffer((3, 8), "int32", scope="local")' in lines  # at its own level it keeps its shape
    at = lines.index("A_local[ax0, ax1] = A[ax0, ax1]")
    assert lines[at - 2 : at] == ["for ax0, ax1 in T.grid(3, T.min(6, n)):", 'with T.block("A_local"):']
    assert assert_refines(func, sch.func, np.random.default_rng(6), exact=True) > 0


def test_what_an_iteration_writes_itself_is_not_cached():
    func = parse(WRITTEN_IN_A_LOOP.replace("B[i, j] = L", "L[i, j] = L")).funcs[0]
    with pytest.raises(ScheduleError) as caught:
        Schedule(func).cache_read("consumer", "L")
    assert caught.value.code == "stale-cache"


def test_no_elements_and_one_element():
    for n in (0, 1):
        func = parse(DOUBLE.replace("14", str(n))).funcs[0]
        sch = Schedule(func)
        sch.cache_read("compute", "A")
        sch.cache_write("compute", "B")
        ((values, undef),) = interpret_with_undef(sch.func, np.ones(n, np.float32), None)
        assert list(values) == [2.0] * n and not undef.any()


@few(12)
@given(programs(), st.data())
def test_random_caches_keep_what_programs_compute(original, data):
    names = {s.buffer.name for s in walk(original.body) if isinstance(s, Alloc)} | {b.name for b in original.buffers}
    sch = Schedule(original)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(names)))
        blocks = sorted({"root", *(s.name for s in walk(sch.func.body) if hasattr(s, "axes"))})
        step = data.draw(st.sampled_from([sch.cache_read, sch.cache_write]))
        try:
            found = step(data.draw(st.sampled_from(blocks)), name)
        except ScheduleError as error:
            assert error.code in ("stale-cache", "unused-buffer"), error
            continue
        assert found.name in to_script(sch.func)
    assert sch.func.params == original.params
    assert {b.name for b in buffers_written(original.body)} <= {b.name for b in buffers_written(sch.func.body)}
    assert_refines(original, sch.func, np.random.default_rng(data.draw(st.integers(0, 99))), runs=1, exact=True)


def test_a_fair_share_of_random_caches_applies():
    applied = 0

    @settings(max_examples=60, database=None, derandomize=True)
    @given(programs())
    def run(original):
        nonlocal applied
        steps = [(kind, name) for kind in ("cache_write", "cache_read") for name in "AB"]
        applied += any(_applies(original, kind, name) for kind, name in steps)

    run()
    assert applied > 40


def _applies(original, kind: str, name: str) -> bool:
    try:
        getattr(Schedule(original), kind)("root", name)
    except ScheduleError:
        return False
    return True
