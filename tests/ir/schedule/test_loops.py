"""Split, fuse, reorder, rebase, marks, partition, merge and decomposition, each with what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from ir import parse, to_script
from ir.dtypes import DType
from ir.errors import ScheduleError
from ir.nodes import Block, For, PrimFunc, Var
from ir.schedule import Schedule
from ir.traverse import walk
from renamed import assert_same_up_to_names
from texts import read


def result(func: PrimFunc, *steps) -> PrimFunc:
    """The function after steps on its schedule, compared with the original on random inputs."""
    sch = Schedule(func)
    for step in steps:
        step(sch)
    assert assert_refines(func, sch.func, np.random.default_rng(0)) > 0
    return sch.func


def refused(func: PrimFunc, step, code: str) -> ScheduleError:
    sch = Schedule(func)
    before = sch.func
    with pytest.raises(ScheduleError) as caught:
        step(sch)
    assert caught.value.code == code, caught.value
    assert sch.func is before, "a refused step changes nothing"
    assert not sch.trace.steps
    return caught.value


ROW = read("""
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        B[i] = A[i] + 1.0
""")


@pytest.mark.parametrize("factors", [[7, 2], [None, 7], [2, None], [14, 1], [1, 14], [2, None, 1]])
def test_dividing_factors_need_no_guard(factors: list[int | None]):
    assert "if" not in to_script(result(ROW, lambda s: s.split("i", factors)))


@pytest.mark.parametrize("factors", [[None, 4], [4, 4], [3, None], [None, 20], [5, 1, 3]])
def test_other_factors_keep_the_iterations_that_were_there(factors: list[int | None]):
    text = to_script(result(ROW, lambda s: s.split("i", factors)))
    assert "< 14:" in text


def test_split_names_its_parts():
    sch = Schedule(ROW)
    assert [r.name for r in sch.split("i", [None, 4])] == ["io", "ii"]
    assert [r.name for r in sch.split("ii", [2, 1, 2])] == ["ii_0", "ii_1", "ii_2"]


def test_split_of_a_range_with_symbolic_ends():
    func = read("""
def f(A: T.Buffer((n,), "float32"), n: T.int32, m: T.int32):
    T.assume(m >= 0 and m <= n)
    for i in T.serial(m, n):
        A[i] = A[i] + 1.0
""")
    text = to_script(result(func, lambda s: s.split("i", [None, 4])))
    assert "if" in text


@pytest.mark.parametrize("factors", [[], [None, None], [0, None], [-2, None], [3, 4]])
def test_factors_that_do_not_cover_are_refused(factors: list[int | None]):
    refused(ROW, lambda s: s.split("i", factors), "factors")


def test_the_first_lost_iteration_is_named():
    error = refused(ROW, lambda s: s.split("i", [3, 4]), "factors")
    assert error.notes == ("iteration 12 would be lost",)


NEST = read("""
def f(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6, 5), "float32")):
    for i, j in T.grid(6, 5):
        B[i, j] = A[i, j] * 2.0
""")


def test_fuse_and_split_give_the_same_elements():
    text = to_script(result(NEST, lambda s: s.split(s.fuse("i", "j"), [None, 4])))
    assert "i_j_fusedo * 4" in text or "4 * i_j_fusedo" in text


def test_fusing_nothing_twice_is_not_fusing_something():
    func = read("""
def f(A: T.Buffer((4,), "float32"), n: T.int32, m: T.int32):
    T.assume(n > -4 and n < 3 and m > -4 and m < 3)
    for i, j in T.grid(n, m):
        A[i + j] = 1.0
""")
    text = to_script(result(func, lambda s: s.fuse("i", "j")))
    assert "T.max(n, 0) * T.max(m, 0)" in text


def test_loops_that_do_not_fuse():
    triangle = read("""
def f(A: T.Buffer((6, 6), "float32")):
    for i in T.serial(6):
        for j in T.serial(i):
            A[i, j] = 1.0
""")
    refused(triangle, lambda s: s.fuse("i", "j"), "dependent-bounds")
    result(triangle, lambda s: s.reorder("j", "i"))
    beside = read("""
def f(A: T.Buffer((6, 6), "float32")):
    for i in T.serial(6):
        A[i, 0] = 2.0
        for j in T.serial(6):
            A[i, j] = 1.0
""")
    refused(beside, lambda s: s.fuse("i", "j"), "not-nested")
    refused(beside, lambda s: s.reorder("j", "i"), "not-nested")
    refused(NEST, lambda s: s.fuse("i"), "too-few-loops")
    refused(NEST, lambda s: s.fuse("j", "i"), "not-nested")
    refused(NEST, lambda s: s.reorder("i", "i"), "loops")


def test_reorder_keeps_the_places_of_loops_it_does_not_name():
    func = read("""
def f(A: T.Buffer((2, 3, 4), "float32")):
    for i, j, k in T.grid(2, 3, 4):
        A[i, j, k] = 1.0
""")
    sch = Schedule(func)
    sch.reorder("k", "i")
    assert [s.var.name for s in walk(sch.func.body) if isinstance(s, For)] == ["k", "j", "i"]


def test_a_reversed_dependence_is_named():
    func = read("""
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 7):
        A[i + 1, j] = A[i, j + 1]
""")
    error = refused(func, lambda s: s.reorder("j", "i"), "dependence")
    assert error.notes and "for example at" in error.notes[0]


def test_sums_of_integers_and_strict_floats_keep_their_order():
    text = """
def f(A: T.Buffer((4, 4), "{0}"), B: T.Buffer((1,), "{0}")):
    for i, j in T.grid(4, 4):
        B[0] = B[0] + A[i, j]
"""
    result(read(text.format("float32")), lambda s: s.reorder("j", "i"))
    refused(read(text.format("int32")), lambda s: s.reorder("j", "i"), "dependence")
    with pytest.raises(ScheduleError):
        Schedule(read(text.format("float32")), reassociate=False).reorder("j", "i")


def test_rebase():
    assert_same_up_to_names(
        result(ROW, lambda s: s.rebase("i", 3)),
        """@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(3, 17):
        B[i - 3] = A[i - 3] + 1.0
""",
    )


def test_marks():
    for mark in ("parallel", "vectorize", "unroll"):
        result(ROW, lambda s, mark=mark: getattr(s, mark)("i"))
    total = read("""
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 4):
        B[i] = B[i] + A[i, j]
""")
    result(total, lambda s: s.parallel("i"))
    error = refused(total, lambda s: s.vectorize("j"), "dependence")
    assert "B[0]" in error.notes[0]
    local = read("""
def f(A: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        L = T.alloc_buffer((1,), "float32")
        L[0] = A[i]
        A[i] = L[0] * 2.0
""")
    result(local, lambda s: s.parallel("i"))
    symbolic = read("""
def f(A: T.Buffer((n,), "float32"), n: T.int32):
    for i in T.serial(n):
        A[i] = 1.0
""")
    refused(symbolic, lambda s: s.unroll("i"), "unroll")


def test_unknown_names_suggest_near_ones():
    error = refused(ROW, lambda s: s.split("ii", [2, None]), "unknown-loop")
    assert "did you mean" in str(error) or "the loops are i" in str(error)
    blocks = read("""
def f(A: T.Buffer((4,), "float32")):
    with T.block("compute"):
        A[0] = 1.0
""")
    assert "did you mean `compute`?" in str(refused(blocks, lambda s: s.get_loops("compte"), "unknown-block"))


# Partition -----------------------------------------------------------------------------------------------------------

BORDER = read("""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i >= 2 and i < 14:
            B[i] = A[i]
        else:
            B[i] = 0.0
""")


def test_a_loop_is_cut_where_its_condition_changes():
    func = result(BORDER, lambda s: s.loop_partition("i"))
    assert "if" not in to_script(func)
    loops = [s for s in walk(func.body) if isinstance(s, For)]
    assert [(s.start.value, s.extent.value) for s in loops] == [(0, 2), (2, 12), (14, 2)]  # pyright: ignore


def test_given_points():
    func = result(ROW, lambda s: s.loop_partition("i", [3, 10]))
    assert len([s for s in walk(func.body) if isinstance(s, For)]) == 3
    for points in ([20], [10, 3], [-1], []):
        refused(ROW, lambda s, points=points: s.loop_partition("i", points), "points")
    refused(ROW, lambda s: s.loop_partition("i"), "no-boundary")


def test_a_boundary_may_depend_on_sizes():
    func = read("""
def f(A: T.Buffer((16,), "float32"), n: T.int32):
    T.assume(n >= 0 and n < 15)
    for i in T.serial(16):
        if i <= n:
            A[i] = 0.0
""")
    assert "if" not in to_script(result(func, lambda s: s.loop_partition("i")))


def test_a_cut_decides_which_of_two_numbers_is_smaller():
    func = read("""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        for j in T.serial(T.min(i + 1, 8)):
            B[i] = B[i] + A[T.max(j - i, 0)] * A[T.min(i, 7)]
""")
    text = to_script(result(func, lambda s: s.loop_partition("i", [7])))
    assert "T.min" not in text and "T.max" not in text
    assert "T.serial(i + 1)" in text and "A[0] * A[i]" in text and "A[0] * A[7]" in text


# Merging -------------------------------------------------------------------------------------------------------------


def pair(first: str, second: str, extent: str = "16") -> PrimFunc:
    return read(f"""
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        {first}
    for j in T.serial({extent}):
        {second}
""")


@pytest.mark.parametrize(
    "first, second",
    [
        ("A[i] = 0.0", "A[j] = 1.0"),
        ("A[i] = 0.0", "B[j] = A[j]"),
        ("A[i] = 0.0", "if j > 0:\n            A[j] = A[j - 1] + 1.0"),
    ],
)
def test_loops_without_reversed_dependences_merge(first: str, second: str):
    func = result(pair(first, second), lambda s: s.merge_adjacent_loops("i", "j"))
    assert len([s for s in walk(func.body) if isinstance(s, For)]) == 1


def test_a_loop_that_reads_what_a_later_iteration_writes_does_not_merge():
    func = pair("A[i] = 2.0 * A[i]", "if 0 < j and j < 15:\n            B[j] = A[j - 1] + A[j] + A[j + 1]")
    error = refused(func, lambda s: s.merge_adjacent_loops("i", "j"), "dependence")
    assert "A[" in error.message and "for example at i = " in error.notes[0]


def test_loops_of_other_ranges_or_places_do_not_merge():
    refused(pair("A[i] = 0.0", "B[j] = 1.0", "15"), lambda s: s.merge_adjacent_loops("i", "j"), "different-ranges")
    refused(pair("A[i] = 0.0", "B[j] = 1.0"), lambda s: s.merge_adjacent_loops("j", "i"), "not-adjacent")
    between = read("""
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        A[i] = 0.0
    B[0] = A[3]
    for j in T.serial(4):
        B[j] = 1.0
""")
    refused(between, lambda s: s.merge_adjacent_loops("i", "j"), "not-adjacent")


def test_ranges_are_compared_by_meaning():
    func = read("""
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32, m: T.int32):
    T.assume(m == n * 2)
    for i in T.serial(n):
        A[i] = 0.0
    for j in T.serial(m // 2):
        B[j] = A[j]
""")
    assert (
        len([s for s in walk(result(func, lambda s: s.merge_adjacent_loops("i", "j")).body) if isinstance(s, For)]) == 1
    )


def test_everything_that_can_merge():
    func = read("""
def f(A: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                A[io, ii] = 1.0
    with T.block("padding"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                A[io, ii] = 0.0
""")
    merged = result(func, lambda s: s.merge_adjacent_loops())
    assert len([s for s in walk(merged.body) if isinstance(s, For)]) == 2
    assert {s.name for s in walk(merged.body) if isinstance(s, Block)} == {"compute", "padding"}


# Decomposition -------------------------------------------------------------------------------------------------------

SUM = read("""
def f(A: T.Buffer((6, 14), "float32"), B: T.Buffer((6,), "float32")):
    for i, j in T.grid(6, 14):
        with T.block("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vj]
""")


@pytest.mark.parametrize("loop", ["i", "j"])
def test_init_becomes_a_block(loop: str):
    func = result(SUM, lambda s: s.decompose_reduction("sum", loop))
    blocks = [s for s in walk(func.body) if isinstance(s, Block)]
    assert [b.name for b in blocks] == ["sum_init", "sum"]
    assert all(b.init is None for b in blocks)
    assert "if" not in to_script(func)


def test_init_of_a_split_and_reordered_reduction():
    def prepared(s: Schedule):
        i, j = s.get_loops("sum")
        outer, inner = s.split(j, [None, 4])
        s.reorder(outer, i, inner)
        return outer, i

    result(SUM, lambda s: s.decompose_reduction("sum", prepared(s)[0]))
    result(SUM, lambda s: s.decompose_reduction("sum", prepared(s)[1]))


def test_a_first_store_counts_as_initialisation():
    plain = read("""
def f(A: T.Buffer((6, 14), "float32"), B: T.Buffer((6,), "float32")):
    with T.block("sum"):
        for i in T.serial(6):
            B[i] = 0.0
            for j in T.serial(14):
                B[i] = B[i] + A[i, j]
""")
    func = result(plain, lambda s: s.decompose_reduction("sum", "i"))
    assert [s.name for s in walk(func.body) if isinstance(s, Block)] == ["sum", "sum_init"]
    refused(plain, lambda s: s.decompose_reduction("sum", "j"), "no-init")
    running = read("""
def f(A: T.Buffer((6, 3), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        B[0] = 0.0
        for j in T.serial(3):
            B[0] = B[0] + A[i, j]
        C[i] = B[0]
""")
    refused(running, lambda s: s.decompose_reduction("root", "i"), "dependence")


def test_only_a_loop_around_the_block():
    func = read("""
def f(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((6,), "float32")):
    for k in T.serial(6):
        C[k] = 1.0
    for i in T.serial(6):
        with T.block("sum"):
            vi = T.axis.reduce(6, i)
            with T.init():
                B[0] = 0.0
            B[0] = B[0] + A[vi]
""")
    refused(func, lambda s: s.decompose_reduction("sum", "k"), "not-an-ancestor")


# Random --------------------------------------------------------------------------------------------------------------


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """Two adjacent nests over two buffers, with offsets, guards, starts and reductions."""
    lines = ['def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):']
    for names in (("i", "j"), ("k", "l")):
        indent = "    "
        for name in names:
            start, stop = draw(st.sampled_from([(0, 4), (0, 5), (1, 4), (0, 1), (2, 2), (0, 3)]))
            lines.append(f"{indent}for {name} in T.serial({start}, {stop}):")
            indent += "    "

        def index(names: tuple[str, str] = names) -> str:
            name = draw(st.sampled_from(names))
            return draw(st.sampled_from([name, name, f"{name} + 1", f"7 - {name}", f"2 * {name} % 8", "0"]))

        if draw(st.booleans()):
            bound = draw(st.integers(0, 5))
            lines.append(f"{indent}if {names[0]} + {names[1]} {draw(st.sampled_from(['<', '>=']))} {bound}:")
            indent += "    "
        target = draw(st.sampled_from("AB"))
        place = f"{target}[{index()}, {index()}]"
        other = f"{draw(st.sampled_from('AB'))}[{index()}, {index()}]"
        value = draw(st.sampled_from(["1.0", other, f"{place} + {other}", f"{other} * 0.5"]))
        lines.append(f"{indent}{place} = {value}")
    return "@T.prim_func\n" + "\n".join(lines) + "\n"


def anything(draw: st.DataObject, sch: Schedule) -> None:
    """One random step."""
    loops = [r.name for r in sch.get_loops()]
    loop, other = draw.draw(st.sampled_from(loops)), draw.draw(st.sampled_from(loops))
    step = draw.draw(st.sampled_from(["split", "fuse", "reorder", "rebase", "partition", "merge", "mark", "decompose"]))
    match step:
        case "split":
            sch.split(loop, draw.draw(st.sampled_from([[None, 2], [2, None], [None, 3], [4, 2], [None, 2, 2]])))
        case "fuse":
            sch.fuse(loop, other)
        case "reorder":
            sch.reorder(loop, other)
        case "rebase":
            sch.rebase(loop, draw.draw(st.integers(-2, 3)))
        case "partition":
            sch.loop_partition(loop, draw.draw(st.sampled_from([None, [1], [1, 2], [3]])))
        case "merge":
            sch.merge_adjacent_loops(*draw.draw(st.sampled_from([(), (loop, other)])))
        case "mark":
            sch.parallel(loop)
        case _:
            sch.decompose_reduction("root", loop)


@given(text=kernels(), data=st.data())
def test_random_steps_keep_what_random_kernels_do(text: str, data: st.DataObject):
    func = parse(text).funcs[0]
    sch = Schedule(func)
    for _ in range(3):
        try:
            anything(data, sch)
        except ScheduleError as error:
            assert error.code != "unproven", error
    assert_refines(func, sch.func, np.random.default_rng(0), runs=2)
    again = Schedule(func)
    sch.trace.replay(again)
    assert again.func == sch.func
    pasted = Schedule(func)
    exec(str(sch.trace), {"sch": pasted})
    assert pasted.func == sch.func


# What random kernels do not hold --------------------------------------------------------------------------------------


def test_ranges_that_the_body_changes():
    func = read("""
def f(N: T.Buffer((1,), "int32"), B: T.Buffer((4, 8), "int32")):
    T.assume(N[0] >= 1 and N[0] < 3)
    for i in T.serial(4):
        for j in T.serial(N[0]):
            B[i, j] = 7
            N[0] = 2
""")
    for step in (
        lambda s: s.fuse("i", "j"),
        lambda s: s.split("j", [None, 2]),
        lambda s: s.rebase("j", 1),
    ):
        refused(func, step, "range-changes")


def test_what_a_short_circuit_leaves_out_may_fail():
    func = read("""
def f(A: T.Buffer((2, 2), "int32"), B: T.Buffer((1,), "bool")):
    for i, j in T.grid(2, 2):
        B[0] = B[0] and 10 // A[i, j] > 2
""")
    refused(func, lambda s: s.reorder("j", "i"), "dependence")
    total = read("""
def f(A: T.Buffer((2, 2), "int32"), B: T.Buffer((1,), "bool")):
    for i, j in T.grid(2, 2):
        B[0] = B[0] and A[i, j] > 2
""")
    result(total, lambda s: s.reorder("j", "i"))


@pytest.mark.parametrize(
    "step", [lambda s: s.split("i", [None, 10]), lambda s: s.fuse("i", "j"), lambda s: s.rebase("i", 100)]
)
def test_narrow_loop_variables_stay_in_range(step):
    func = read("""
def f(A: T.Buffer((200, 200), "float32"), n: T.int8):
    T.assume(n > 110)
    for i in T.serial(T.int8(0), n):
        for j in T.serial(T.int8(0), n):
            A[i, j] = 1.0
""")
    refused(func, step, "range")


def test_a_parallel_mark_does_not_outlive_its_proof():
    func = read("""
def f(A: T.Buffer((5, 5), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        for j in T.parallel(4):
            A[i + 1, j + 1] = A[i, j] + 1.0
    for k in T.parallel(4):
        for l in T.serial(4):
            B[k] = B[k] * 0.5 + A[k, l]
""")
    assert "T.parallel" in to_script(func)
    kinds = {s.var.name: s.kind for s in walk(result(func, lambda s: s.reorder("j", "i")).body) if isinstance(s, For)}
    assert kinds == {"j": "serial", "i": "serial", "k": "parallel", "l": "serial"}
    fused = result(func, lambda s: s.fuse("k", "l"))
    assert [s.kind for s in walk(fused.body) if isinstance(s, For)] == ["serial", "parallel", "serial"]


def test_bounds_and_conditions_on_data_are_refused_in_words():
    func = read("""
def f(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(A[i, k] > 0)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
""")
    refused(func, lambda s: s.decompose_reduction("b", "k"), "dependence")
    refused(ROW, lambda s: s.split("i", [None, *[1] * 300]), "factors")


def test_tiles_that_do_not_divide():
    gemm = read("""
def gemm(A: T.Buffer((6, 7), "float32"), B: T.Buffer((7, 5), "float32"), C: T.Buffer((6, 5), "float32")):
    for i, j, k in T.grid(6, 5, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")

    def tile(s: Schedule) -> None:
        i, j, k = s.get_loops("C")
        (i0, i1), (j0, j1), (k0, k1) = (s.split(loop, [None, 4]) for loop in (i, j, k))
        s.reorder(i0, j0, k0, i1, j1, k1)
        s.decompose_reduction("C", k0)

    func = result(gemm, tile)
    assert [s.name for s in walk(func.body) if isinstance(s, Block)] == ["C_init", "C"]


def test_a_name_bound_like_another_loop():
    func = read("""
def f(A: T.Buffer((8,), "float32"), L: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for y in T.serial(8):
        L[y] = A[y]
    for j in T.serial(8):
        y = L[j] * 2.0
        B[j] = y
""")
    assert (
        len([s for s in walk(result(func, lambda s: s.merge_adjacent_loops("y", "j")).body) if isinstance(s, For)]) == 1
    )


@pytest.mark.parametrize("bound", ["n // m", "n % m", "T.truncdiv(n, m)", "N[m]"])
@pytest.mark.parametrize("step", [lambda s: s.fuse("i", "j"), lambda s: s.reorder("j", "i")])
def test_ranges_stay_where_they_have_a_value(bound: str, step):
    text = """
def f(A: T.Buffer((8, 8), "int32"), N: T.Buffer((8,), "int32"), n: T.int32, m: T.int32):
    T.assume(n >= 0 and n < 8 and m {1} 0 and m < 8)
    for i in T.serial(m):
        for j in T.serial({0}):
            A[i, j] = 1
"""
    error = refused(read(text.format(bound, ">=")), step, "undefined-range")
    assert "N[" in error.message or "m" in error.message
    if "N" not in bound:
        func = read(text.format(bound, ">"))
        sch = Schedule(func)
        try:
            step(sch)
        except ScheduleError as again:
            assert again.code == "dependence", "the division is not what stands in the way"
        assert assert_refines(func, sch.func, np.random.default_rng(0)) == 3


def test_a_start_is_known_before_the_loop():
    for start in ("i", "elsewhere"):
        refused(ROW, lambda s, start=start: s.rebase("i", Var(start, DType.INT32)), "start")
    func = read("""
def f(A: T.Buffer((8,), "int32"), n: T.int32, m: T.int32):
    for i in T.serial(8):
        A[i] = 1
""")
    n, m = func.scalars
    result(func, lambda s: s.rebase("i", n))
    refused(func, lambda s: s.rebase("i", n // m), "start")
