"""compute_at and reverse_compute_at: the examples of TVM's InferBound document, refusals, and random programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from compare import assert_refines
from ir import parse, te, to_script
from ir.dtypes import DType
from ir.errors import ScheduleError
from ir.nodes import Alloc, Buffer, Const, Load, Module, PrimFunc, Store, const, seq
from ir.schedule import Schedule
from ir.semantics.interpret import interpret
from ir.traverse import map_stmt, walk
from profiles import few, some
from renamed import assert_same_up_to_names
from staged import Staged, staged_programs

RNG = np.random.default_rng


def func(body: str, params: str) -> PrimFunc:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}\n").funcs[0]


def moved(program: PrimFunc | Module, *steps: tuple[str, str], reverse: bool = False) -> Schedule:
    """A schedule after steps (block, loop), checked against the program it started from."""
    sch = Schedule(program)
    original = sch.func
    for block, loop in steps:
        (sch.reverse_compute_at if reverse else sch.compute_at)(block, loop)
    assert assert_refines(original, sch.func, RNG(0), exact=True) > 0
    return sch


def refused(program: PrimFunc | Module, code: str, block: str, loop: str, *, reverse: bool = False) -> ScheduleError:
    sch = Schedule(program)
    before = sch.func
    with pytest.raises(ScheduleError) as info:
        (sch.reverse_compute_at if reverse else sch.compute_at)(block, loop)
    assert info.value.code == code, str(info.value)
    assert sch.func is before and not sch.trace.steps
    return info.value


def computed(sch: Schedule, buffer: str) -> int:
    """How many elements of a local buffer a program stores, for inputs that are zero."""
    counter = Buffer("count", (const(1, DType.INT32),), DType.INT32)
    one = Load(counter, (const(0, DType.INT32),)) + 1

    def count(stmt):
        if isinstance(stmt, Store) and stmt.buffer.name == buffer:
            return seq(stmt, Store(counter, (const(0, DType.INT32),), one))
        return stmt

    counting = replace(sch.func, params=(*sch.func.params, counter), body=map_stmt(sch.func.body, on_stmt=count))
    zeros = [np.zeros([int(e.value) for e in b.shape if isinstance(e, Const)], np.int32) for b in counting.buffers]
    return int(interpret(counting, *zeros)[-1][0])


def shape(sch: Schedule, buffer: str) -> list[str]:
    (found,) = (s.buffer for s in walk(sch.func.body) if isinstance(s, Alloc) and s.buffer.name == buffer)
    return [to_script(e) for e in found.shape]


# The document's examples ---------------------------------------------------------------------------------------------


def two_stages() -> PrimFunc:
    C = te.compute((5, 16), lambda ci, cj: 5, name="C")
    return te.create_prim_func([te.compute((5, 16), lambda i, j: C[i, j] * 2, name="D")])


PLAIN = 'D: T.Buffer((5, 16), "int32")'
PLAIN_TWO = """
C = T.alloc_buffer((5, 16), "int32")
with T.block("C"):
    for ci, cj in T.grid(5, 16):
        C[ci, cj] = 5
for i, j in T.grid(5, 16):
    D[i, j] = C[i, j] * 2
"""


def test_example_2_needs_one_element() -> None:
    sch = moved(two_stages(), ("C", "j"))
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def main(D: T.Buffer((5, 16), "int32")):
    for i, j in T.grid(5, 16):
        C = T.alloc_buffer((1, 1), "int32")
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            vj = T.axis.spatial(16, j)
            C[0, 0] = 5
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[0, 0] * 2
""",
    )


def test_example_3_needs_a_row() -> None:
    sch = moved(two_stages(), ("C", "i"))
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def main(D: T.Buffer((5, 16), "int32")):
    for i in range(5):
        C = T.alloc_buffer((1, 16), "int32")
        for cj in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, cj])
                C[0, vj] = 5
        for j in range(16):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[0, vj] * 2
""".replace(", extents=[5, 16]", ""),
    )
    assert [x.name for x in sch.get_loops("C")] == ["i", "cj"]


IN_ROWS = """
for i in range(5):
    C = T.alloc_buffer((1, 16), "int32")
    for cj in range(16):
        C[0, cj] = 5
    for j in range(16):
        D[i, j] = C[0, j] * 2
"""
AT_ONCE = """
for i, j in T.grid(5, 16):
    C = T.alloc_buffer((1, 1), "int32")
    C[0, 0] = 5
    D[i, j] = C[0, 0] * 2
"""


@pytest.mark.parametrize(("loop", "expected"), [("i", IN_ROWS), ("j", AT_ONCE)])
def test_blocks_around_loops(loop: str, expected: str) -> None:
    sch = moved(func(PLAIN_TWO, PLAIN), ("C", loop))
    assert_same_up_to_names(sch.func, func(expected, PLAIN), blocks=False)


def test_example_4_recomputes_for_a_loop_that_the_producer_does_not_use() -> None:
    C = te.compute((5, 16), lambda i, j: 5, name="C")
    D = te.compute((4, 5, 16), lambda di, dj, dk: C[dj, dk] * 2, name="D")
    sch = moved(te.create_prim_func([D]), ("C", "dk"))
    assert [x.name for x in sch.get_loops("C")] == ["di", "dj", "dk"]
    assert shape(sch, "C") == ["1", "1"] and computed(sch, "C") == 4 * 5 * 16


def test_example_5_attaches_to_the_inner_part_of_a_split() -> None:
    def split(body: str) -> str:
        return body.replace("i, j in T.grid(5, 16)", "i, jo, ji in T.grid(5, 2, 8)").replace("i, j]", "i, jo * 8 + ji]")

    sch = moved(func(split(PLAIN_TWO), PLAIN), ("C", "ji"))
    assert_same_up_to_names(sch.func, func(split(AT_ONCE), PLAIN), blocks=False)


def three_stages() -> PrimFunc:
    C = te.compute((5, 16), lambda ci, cj: 5, name="C")
    D = te.compute((5, 16), lambda di, dj: C[di, dj] * 2, name="D")
    return te.create_prim_func([te.compute((5, 16), lambda ei, ej: D[ei, ej] * 4, name="E")])


@pytest.mark.parametrize("steps", [(("C", "dj"), ("D", "ej")), (("D", "ej"), ("C", "ej"))])
def test_attachments_nest_in_either_order(steps: tuple[tuple[str, str], ...]) -> None:
    sch = moved(three_stages(), *steps)
    for stage in ("C", "D"):
        assert [x.name for x in sch.get_loops(stage)] == ["ei", "ej"]
        assert shape(sch, stage) == ["1", "1"] and computed(sch, stage) == 5 * 16


def test_a_stage_moves_with_what_is_attached_to_it() -> None:
    sch = moved(three_stages(), ("C", "di"), ("D", "ei"))
    assert [x.name for x in sch.get_loops("C")] == ["ei", "cj"]
    assert [x.name for x in sch.get_loops("D")] == ["ei", "dj"]
    assert computed(sch, "C") == computed(sch, "D") == 5 * 16


def test_a_producer_outside_serves_all_iterations_of_an_attached_consumer() -> None:
    sch = moved(three_stages(), ("D", "ej"))
    assert [x.name for x in sch.get_loops("C")] == ["ci", "cj"]
    assert shape(sch, "C") == ["5", "16"] and shape(sch, "D") == ["1", "1"]


def fused(factor: int) -> PrimFunc:
    return func(
        f"""
B = T.alloc_buffer((4, 4), "int32")
for bi, bj in T.grid(4, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [bi, bj])
        B[vi, vj] = A[vi, vj] + 2
for xo in range({-(-16 // factor)}):
    for xi in range({factor}):
        with T.block("C"):
            T.where(xo * {factor} + xi < 16)
            vi = T.axis.spatial(4, (xo * {factor} + xi) // 4)
            vj = T.axis.spatial(4, (xo * {factor} + xi) % 4)
            C[vi, vj] = B[vi, vj] * 3
""",
        'A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")',
    )


@pytest.mark.parametrize(("factor", "rows"), [(4, "1"), (8, "2"), (3, "2"), (5, "3"), (16, "4")])
def test_example_6_computes_only_what_a_fused_and_split_loop_reads(factor: int, rows: str) -> None:
    sch = moved(fused(factor), ("B", "xo"))
    assert computed(sch, "B") == 16  # the document's schedule computes 16 in each iteration
    assert shape(sch, "B") == [rows, "4"] or factor in (5, 16)


def test_example_6_with_a_dividing_factor_undoes_the_fusion() -> None:
    sch = moved(fused(4), ("B", "xo"))
    assert [x.name for x in sch.get_loops("B")] == ["xo", "bj"]
    assert "B[0, vj] = A[vi, vj] + 2" in to_script(sch.func)


# What is needed ------------------------------------------------------------------------------------------------------


def test_disjoint_requests_are_not_joined() -> None:
    sch = moved(
        func(
            """
B = T.alloc_buffer((4, 4), "int32")
for i, j in T.grid(4, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + 1
for t in range(3):
    for x, y in T.grid(2, 2):
        C[t, x, y] = B[x, y]
    for x, y in T.grid(2, 2):
        D[t, x, y] = B[x + 2, y + 2]
""",
            'A: T.Buffer((4, 4), "int32"), C: T.Buffer((3, 2, 2), "int32"), D: T.Buffer((3, 2, 2), "int32")',
        ),
        ("B", "t"),
    )
    assert computed(sch, "B") == 3 * 8
    assert "T.where(" in to_script(sch.func)


SPLIT = """
B = T.alloc_buffer((14,), "int32")
for i in range(14):
    B[i] = A[i] + 1
for io, ii in T.grid(4, 4):
    if 4 * io + ii < 14:
        C[io, ii] = B[4 * io + ii]
"""


def named(body: str) -> str:
    """A program with its loop nests wrapped in blocks P, Q, R."""
    lines = body.strip("\n").splitlines()
    out: list[str] = []
    names = iter("PQRST")
    for line in lines:
        if line.startswith("for"):
            out.append(f'with T.block("{next(names)}"):')
        out.append("    " + line if line.startswith(("for", " ")) else line)
    return "\n".join(out)


def test_the_tail_of_a_split_adapts() -> None:
    params = 'A: T.Buffer((14,), "int32"), C: T.Buffer((4, 4), "int32")'
    sch = moved(func(named(SPLIT), params), ("P", "io"))
    assert "for i in T.serial(T.min(4, 14 - 4 * io)):" in to_script(sch.func)
    assert "B[i] = A[4 * io + i] + 1" in to_script(sch.func) and "C[io, ii] = B[ii]" in to_script(sch.func)
    assert computed(sch, "B") == 14


def test_sizes_may_be_symbolic() -> None:
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    program = te.create_prim_func([A, te.compute((n,), lambda c: B[n - 1 - c] * 2, name="C")])
    sch = moved(program, ("B", "c"))
    assert shape(sch, "B") == ["1"] and "v_i = T.axis.spatial(n, n - c - 1)" in to_script(sch.func)
    moved(program, ("C", "i"), reverse=True)


def flat(sizes: tuple[str | int, ...], factor: int | None) -> Schedule:
    """A producer and its consumer, whose loops are one, split by a factor."""
    symbols = tuple(s for s in sizes if isinstance(s, str))
    shape = tuple(te.var(s) if isinstance(s, str) else s for s in sizes)
    A = te.placeholder(shape, "int32", name="A")
    B = te.compute(shape, lambda *at: A[at] + 1, name="B")
    names = [f"c{k}" for k in range(len(sizes))]
    C = te.compute(shape, eval(f"lambda {', '.join(names)}: B[{', '.join(names)}] * 2", {"B": B}), name="C")
    sch = Schedule(te.create_prim_func([A, C]))
    fused = sch.fuse(*names)
    assert bool(symbols) == ("match_buffer" in to_script(sch.func))
    if factor is not None:
        sch.split(fused, [None, factor])
    return sch


SIZES = [("m", "n"), ("m", "n", "p"), ("m", 4, "n"), (3, 4, 5)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("factor", [None, 7])
def test_one_element_is_computed_in_a_fused_loop(sizes: tuple[str | int, ...], factor: int | None) -> None:
    sch = flat(sizes, factor)
    before = sch.func
    loops = [x.name for x in sch.get_loops("C")]
    sch.compute_at("B", loops[-1])
    assert [x.name for x in sch.get_loops("B")] == loops and shape(sch, "B") == ["1"] * len(sizes)
    text = to_script(sch.func)
    assert "if_then_else" not in text and text.count("//") < 4 * len(sizes)
    assert assert_refines(before, sch.func, RNG(0), exact=True) > 0


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_tile_of_a_fused_loop_computes_its_elements(sizes: tuple[str | int, ...]) -> None:
    sch = flat(sizes, 7)
    before = sch.func
    outer, inner = (x.name for x in sch.get_loops("C"))
    found = sch.compute_at("B", outer)
    assert [x.name for x in found] == [x.name for x in sch.get_loops("B")][1:] and len(found) == 1
    assert shape(sch, "B") == ["7", *["1"] * len(sizes)] and f"B[{inner}, " in to_script(sch.func)
    assert "if_then_else" not in to_script(sch.func)
    assert assert_refines(before, sch.func, RNG(0), exact=True) > 0


@pytest.mark.parametrize("sizes", SIZES[:3], ids=str)
@pytest.mark.parametrize("factor", [None, 4])
def test_a_fused_producer_computes_what_an_iteration_reads(sizes: tuple[str | int, ...], factor: int | None) -> None:
    shape = tuple(te.var(s) if isinstance(s, str) else s for s in sizes)
    A = te.placeholder(shape, "int32", name="A")
    B = te.compute(shape, lambda *at: A[at] + 1, name="B")
    C = te.compute(shape, lambda *at: B[at] * 2, name="C")
    sch = Schedule(te.create_prim_func([A, C]))
    sch.fuse(*sch.get_loops("B"))
    first, last = (sch.get_loops("C")[k] for k in (0, -1))
    at = first if factor is None else sch.split(last, [None, factor])[0]
    before = sch.func
    sch.compute_at("B", at)
    assert len(sch.get_loops("B")) == len(sizes) + (factor is not None)
    assert assert_refines(before, sch.func, RNG(0), exact=True) > 0


UNBOUNDED = """
B = T.alloc_buffer((m, n), "int32")
for i, j in T.grid(m, n):
    with T.block("P"):
        B[i, j] = A[i, j] + 1
for o, f in T.grid(2, k):
    if n > 0:
        C[o, f] = B[f // n, f % n]
"""


@pytest.mark.parametrize("loop", ["o", "f"])
def test_of_a_divisor_that_may_be_zero_no_digits_are_taken(loop: str) -> None:
    params = 'A: T.Buffer((m, n), "int32"), C: T.Buffer((2, k), "int32"), m: T.int32, n: T.int32, k: T.int32'
    sch = moved(func(UNBOUNDED, params), ("P", loop))
    assert shape(sch, "B") == ["m", "n"]
    for n in (0, 3):
        interpret(sch.func, np.zeros((3, n), np.int32), np.zeros((2, 4), np.int32), 3, n, 4)


def test_buffers_of_the_loops_themselves_stay_where_they_are() -> None:
    """A tile that keeps a buffer of its own is not taken apart."""
    body = """
B = T.alloc_buffer((m, n), "int32")
for i, j in T.grid(m, n):
    with T.block("P"):
        B[i, j] = A[i, j] + 1
for fo, fi in T.grid((m * n + 7) // 8, 8):
    L = T.alloc_buffer((1,), "int32")
    if 8 * fo + fi < m * n:
        L[0] = B[(8 * fo + fi) // n, (8 * fo + fi) % n]
        C[(8 * fo + fi) // n, (8 * fo + fi) % n] = L[0]
"""
    params = 'A: T.Buffer((m, n), "int32"), C: T.Buffer((m, n), "int32"), m: T.int32, n: T.int32'
    assert shape(moved(func("T.assume(n > 0)" + body, params), ("P", "fo")), "B") == ["m", "n"]
    assert shape(moved(func("T.assume(n > 0)" + body, params), ("P", "fi")), "B") == ["1", "1"]


def test_digits_beyond_the_sizes_are_guarded() -> None:
    """Of a loop that is not known to be their product nothing is known of the quotient."""
    params = 'A: T.Buffer((m, n), "int32"), C: T.Buffer((2, k), "int32"), m: T.int32, n: T.int32, k: T.int32'
    program = func("T.assume(n > 0)" + UNBOUNDED.replace("if n > 0", "if f // n < m"), params)
    sch = moved(program, ("P", "o"))
    assert shape(sch, "B") == ["k", "1", "1"] and "if f_1 // n < m" in to_script(sch.func)


ROWS = """{given}
B = T.alloc_buffer((m * n,), "int32")
for f in range({extent}):
    with T.block("B"):
        B[f] = {value}
for i in range(m):
    for j in range(n):
        if 0 <= {index} and {index} < m * n:
            with T.block("C"):
                C[i, j] = B[{index}] + 1
"""
FLAT = 'A: T.Buffer((m * n,), "int32"), C: T.Buffer((m, n), "int32"), m: T.int32, n: T.int32'


def test_a_row_of_what_is_flat_is_as_long_as_the_row() -> None:
    program = func(ROWS.format(given="T.assume(n > 0)", extent="m * n", value="A[f]", index="i * n + j"), FLAT)
    assert shape(moved(program, ("B", "i")), "B") == ["n"]
    assert shape(moved(program, ("B", "j")), "B") == ["1"]


@pytest.mark.parametrize(
    "index", some(("j + n * i", "(i + 1) * n - 1 - j", "i * n + j + 1", "i * m + j", "i * n", "j * m + i"), 0.28)
)
@pytest.mark.parametrize("value", ("A[m * n - 1 - f]", "A[f] + f // 2"))
def test_parts_of_what_is_flat(index: str, value: str) -> None:
    for known, extent in (("T.assume(n > 0)", "m * n"), ("", "n * m")):
        program = func(ROWS.format(given=known, extent=extent, value=value, index=index), FLAT)
        for loop in ("i", "j"):
            moved(program, ("B", loop))


def test_a_stencil_overlaps() -> None:
    A = te.placeholder((18,), "int32", name="A")
    B = te.compute((18,), lambda i: A[i] * 2, name="B")
    C = te.compute((16,), lambda c: B[c] + B[c + 1] + B[c + 2], name="C")
    sch = moved(te.create_prim_func([A, C]), ("B", "c"))
    assert shape(sch, "B") == ["3"] and computed(sch, "B") == 48
    assert "B[0] + B[1] + B[2]" in to_script(sch.func)


def test_conditions_around_reads_count() -> None:
    body = """
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    B[i] = A[i] + 1
for c in range(10):
    C[c] = T.if_then_else(1 <= c and c < 9, B[c - 1], 0)
"""
    sch = moved(func(named(body), 'A: T.Buffer((8,), "int32"), C: T.Buffer((10,), "int32")'), ("P", "c"))
    assert computed(sch, "B") == 8


def test_reductions_move_whole() -> None:
    A, W = te.placeholder((6, 8), "int32", name="A"), te.placeholder((8, 4), "int32", name="W")
    k = te.reduce_axis((0, 8), "k")
    M = te.compute((6, 4), lambda i, j: te.sum(A[i, k] * W[k, j], axis=k), name="M")
    program = te.create_prim_func([A, W, te.compute((6, 4), lambda x, y: M[x, y] + 1, name="R")])
    sch = moved(program, ("M", "y"))
    assert [x.name for x in sch.get_loops("M")] == ["x", "y", "k"] and shape(sch, "M") == ["1", "1"]
    below = moved(program, ("R", "j"), reverse=True)
    assert [x.name for x in below.get_loops("R")] == ["i", "j"]
    last = moved(program, ("R", "k"), reverse=True)
    assert "T.where(k == 7)" in to_script(last.func)


def test_a_running_sum_needs_all_before() -> None:
    body = """
B = T.alloc_buffer((6,), "int32")
for i in range(6):
    B[i] = A[i] + T.if_then_else(i > 0, B[i - 1], 0)
for c in range(6):
    C[c] = B[c]
"""
    sch = moved(func(named(body), 'A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")'), ("P", "c"))
    assert computed(sch, "B") == 1 + 2 + 3 + 4 + 5 + 6


def test_several_outputs_move_together() -> None:
    A = te.placeholder((6,), "int32", name="A")
    B0, B1 = te.compute((6,), lambda i: (A[i] + 1, A[i] * 2), name="B")
    sch = moved(te.create_prim_func([A, te.compute((6,), lambda c: B0[c] + B1[5 - c], name="C")]), ("B", "c"))
    assert computed(sch, "B_0") == computed(sch, "B_1") == 6
    assert "T.alloc_buffer" in to_script(sch.func)


def test_what_depends_on_data_is_computed_whole() -> None:
    body = """
B = T.alloc_buffer((6,), "int32")
for i in range(6):
    B[i] = A[i] + 1
for c in range(3):
    C[c] = B[A[c] % 6]
"""
    sch = moved(func(named(body), 'A: T.Buffer((6,), "int32"), C: T.Buffer((3,), "int32")'), ("P", "c"))
    assert computed(sch, "B") == 18


# Refusals ------------------------------------------------------------------------------------------------------------

PAIR = 'A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32"), D: T.Buffer((6,), "int32")'
STAGES = """
B = T.alloc_buffer((6,), "int32")
for i in range(6):
    B[i] = A[i] + 1
for c in range(6):
    C[c] = B[c]
for d in range(6):
    D[d] = {second}
"""


def test_all_consumers_must_be_in_the_loop() -> None:
    error = refused(func(named(STAGES.format(second="B[d]")), PAIR), "not-an-ancestor-of-consumer", "P", "c")
    assert "`R` reads it too" in error.notes[0]


def test_a_loop_without_consumer_is_refused() -> None:
    error = refused(func(named(STAGES.format(second="0")), PAIR), "not-an-ancestor-of-consumer", "P", "d")
    assert "contains no consumer of `P`" in error.message


@pytest.mark.parametrize(
    ("block", "loop", "code"),
    [
        ("P", "i", "already-inside"),
        ("Q", "c", "own-loop"),
        ("Q", "i", "not-an-ancestor-of-consumer"),
        ("P", "nope", "unknown-loop"),
        ("nope", "c", "unknown-block"),
        ("root", "c", "whole-function"),
    ],
)
def test_places_that_make_no_sense(block: str, loop: str, code: str) -> None:
    program = func(named(STAGES.format(second="0")), PAIR)
    if code == "already-inside":
        program = func(STAGES.format(second="0").replace("    B[i]", '    with T.block("P"):\n        B[i]'), PAIR)
    refused(program, code, block, loop)


def test_inputs_must_not_change_in_between() -> None:
    text = named(STAGES.format(second="0")).replace('with T.block("Q")', 'A[3] = 7\nwith T.block("Q")')
    error = refused(func(text, PAIR), "input-changes", "P", "c")
    assert "A[3]" in error.notes[0]


def test_inputs_may_change_after_their_last_use() -> None:
    moved(func(named(STAGES.format(second="0").replace("C[c] =", "A[c] =")), PAIR), ("P", "c"))
    late = func(named(STAGES.format(second="0").replace("C[c] = B[c]", "A[c] = B[5 - c]")), PAIR)
    error = refused(late, "input-changes", "P", "c")
    assert "A[" in error.notes[0] and "c = " in error.notes[0]


def test_results_must_be_computed_whole() -> None:
    body = STAGES.format(second="0").replace('B = T.alloc_buffer((6,), "int32")\n', "").replace("B[", "D[")
    program = func(named(body.split("for d")[0]), PAIR)
    moved(program, ("P", "c"))
    partial = func(named(body.split("for d")[0].replace("c in range(6)", "c in range(5)")), PAIR)
    error = refused(partial, "result", "P", "c")
    assert "i = 5" in error.notes[0]


def test_accumulation_into_a_result_runs_once() -> None:
    body = "for i in range(6):\n    D[i] = D[i] + A[i]\nfor c, e in T.grid(2, 6):\n    C[e] = D[e]"
    error = refused(func(named(body), PAIR), "carried", "P", "c")
    assert "D[" in error.notes[0]


def test_what_an_earlier_iteration_computed_stays() -> None:
    body = """
B = T.alloc_buffer((6,), "int32")
for t in range(6):
    with T.block("P"):
        B[t] = A[t]
    for c in range(6):
        C[c] = C[c] + T.if_then_else(c <= t, B[c], 0)
"""
    error = refused(func(body, PAIR), "carried", "P", "c")
    assert "is read at t =" in error.notes[0]


def test_assertions_stay_where_they_are() -> None:
    body = named(STAGES.format(second="0")).replace("B[i] = A", 'assert A[i] < 100, "large"\n        B[i] = A')
    refused(func(body, PAIR), "assertion", "P", "c")


def test_a_nest_that_computes_something_else_stays() -> None:
    body = """
B = T.alloc_buffer((6,), "int32")
for i in range(6):
    with T.block("P"):
        B[i] = A[i] + 1
    with T.block("O"):
        D[i] = 3
for c in range(6):
    C[c] = B[c]
"""
    error = refused(func(body, PAIR), "result", "P", "c")
    assert "D" in error.message


def in_parallel(program: PrimFunc, loop: str) -> PrimFunc:
    return parse(to_script(program).replace(f"for {loop} in T.serial", f"for {loop} in T.parallel")).funcs[0]


def test_parallel_loops_stay_free_of_races() -> None:
    text = named(STAGES.format(second="0"))
    private = moved(in_parallel(func(text, PAIR), "c"), ("P", "c"))
    assert shape(private, "B") == ["1"] and "T.parallel" in to_script(private.func)
    in_place = in_parallel(func(text.replace("C[c] =", "A[c] ="), PAIR), "c")
    refused(in_place, "parallel", "P", "c")
    moved(in_parallel(func(text, PAIR), "i"), ("Q", "i"), reverse=True)
    total = in_parallel(func(text.replace("C[c] =", "C[0] ="), PAIR), "i")
    error = refused(total, "parallel", "Q", "i", reverse=True)
    assert "C[0] is written at i = " in error.notes[0]


# Consumers -----------------------------------------------------------------------------------------------------------


def test_a_consumer_follows_the_last_of_its_inputs() -> None:
    body = """
B = T.alloc_buffer((6,), "int32")
for i in range(6):
    B[i] = A[i] + 1
for c in range(5):
    C[c] = B[c] + B[c + 1]
"""
    sch = moved(func(named(body), PAIR), ("Q", "i"), reverse=True)
    assert_same_up_to_names(
        sch.func,
        f"""
@T.prim_func
def f({PAIR}):
    B = T.alloc_buffer((6,), "int32")
    for i in range(6):
        B[i] = A[i] + 1
        if i >= 1:
            C[i - 1] = B[i - 1] + B[i - 1 + 1]
""",
        blocks=False,
    )


def test_a_consumer_that_reads_nothing_runs_at_the_end() -> None:
    body = """
B = T.alloc_buffer((4,), "int32")
for i in range(4):
    B[i] = A[i] + 1
for c in range(6):
    C[c] = T.if_then_else(c < 4, B[c], 0)
"""
    moved(func(named(body), PAIR), ("Q", "i"), reverse=True)


def test_an_incomplete_input_is_refused_with_a_witness() -> None:
    body = """
B = T.alloc_buffer((6,), "int32")
for k in range(3):
    for i in range(6):
        B[i] = A[i] + k
for c in range(6):
    C[c] = B[c]
"""
    program = func(named(body), PAIR)
    sch = moved(program, ("Q", "i"), reverse=True)
    assert "if k == 2" in to_script(sch.func)
    other = func(named(body.replace("C[c] = B[c]", "C[0] = C[0] * 2 + B[5 - c]")), PAIR)
    error = refused(other, "order", "Q", "i", reverse=True)
    assert "C[0]" in error.message and error.notes


def test_a_consumer_does_not_overtake_what_it_needs() -> None:
    body = STAGES.format(second="B[d] + C[d]")
    refused(func(named(body), PAIR), "order", "R", "i", reverse=True)
    sch = moved(func(named(STAGES.format(second="B[d] + A[d]")), PAIR), ("R", "i"), ("Q", "i"), reverse=True)
    assert [x.name for x in sch.get_loops("R")] == ["i"]


def test_float_sums_change_order_only_where_allowed() -> None:
    body = """
B = T.alloc_buffer((6,), "float32")
for i in range(6):
    B[i] = A[i]
for c in range(6):
    C[0] = C[0] + B[5 - c]
"""
    program = func(named(body), PAIR.replace("int32", "float32"))
    Schedule(program).reverse_compute_at("Q", "i")
    with pytest.raises(ScheduleError, match="other order"):
        Schedule(program, reassociate=False).reverse_compute_at("Q", "i")


@pytest.mark.parametrize(("block", "loop"), [("P", "c"), ("Q", "d")])
def test_only_consumers_move_to_producers(block: str, loop: str) -> None:
    program = func(named(STAGES.format(second="0")), PAIR)
    refused(program, "not-an-ancestor-of-producer", block, loop, reverse=True)


# Random programs -----------------------------------------------------------------------------------------------------


@few(12)
@given(staged_programs(), st.data())
def test_random_producers(program: Staged, data: st.DataObject) -> None:
    sch = Schedule(program.func)
    try:
        sch.compute_at("P", data.draw(st.sampled_from(program.consumer_loops)))
    except ScheduleError as error:
        assert error.code in ("not-an-ancestor-of-consumer", "input-changes", "carried", "budget"), str(error)
        return
    assert_refines(program.func, sch.func, RNG(0), exact=True)


@few(12)
@given(staged_programs(), st.data())
def test_random_consumers(program: Staged, data: st.DataObject) -> None:
    sch = Schedule(program.func)
    try:
        sch.reverse_compute_at("Q", data.draw(st.sampled_from(program.producer_loops)))
    except ScheduleError as error:
        assert error.code in ("order", "budget"), str(error)
        return
    assert_refines(program.func, sch.func, RNG(0), exact=True)


@pytest.mark.fuzz
@settings(max_examples=5000)
@given(staged_programs(), st.data())
def test_random_steps(program: Staged, data: st.DataObject) -> None:
    sch = Schedule(program.func)
    loops = (*program.consumer_loops, *program.producer_loops)
    for _ in range(3):
        step = data.draw(st.sampled_from(["compute_at", "reverse_compute_at"]))
        block, loop = data.draw(st.sampled_from("PQR")), data.draw(st.sampled_from(loops))
        try:
            getattr(sch, step)(block, loop)
        except ScheduleError as error:
            assert error.code not in ("unproven",), str(error)
    assert_refines(program.func, sch.func, RNG(0), exact=True)


@pytest.mark.fuzz
def test_a_fair_share_applies() -> None:
    counts = {"compute_at": 0, "reverse_compute_at": 0}

    @settings(max_examples=40, database=None, derandomize=True)
    @given(staged_programs())
    def count(program: Staged) -> None:
        for step, block, loops in (("compute_at", "P", program.consumer_loops[:1]),
                                   ("reverse_compute_at", "Q", program.producer_loops[:1])):  # fmt: skip
            try:
                getattr(Schedule(program.func), step)(block, loops[0])
                counts[step] += 1
            except ScheduleError:
                pass

    count()
    assert counts["compute_at"] >= 15 and counts["reverse_compute_at"] >= 15, counts
