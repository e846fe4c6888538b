"""Tile, skew, peel, distribute, version, privatize and expand, and interchanges of loops that depend on each other."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from ir import parse, to_script
from ir import script as T
from ir.errors import ScheduleError
from ir.nodes import For, PrimFunc
from ir.program.edit import loops_of
from ir.schedule import Schedule, Trace
from ir.traverse import walk


def read(params: str, body: str) -> PrimFunc:
    return parse(f"@T.prim_func\ndef f({params}):\n{body.strip(chr(10))}\n").funcs[0]


def result(func: PrimFunc, *steps) -> PrimFunc:
    """The function after steps on its schedule, which replay, compared with the original on random inputs."""
    sch = Schedule(func)
    for step in steps:
        step(sch)
    assert assert_refines(func, sch.func, np.random.default_rng(0)) > 0
    again = Schedule(func)
    Trace.from_json(sch.trace.to_json(), {}).replay(again)
    assert again.func == sch.func
    assert "sch." in str(sch.trace)
    return sch.func


def refused(func: PrimFunc, step, code: str) -> str:
    sch = Schedule(func)
    with pytest.raises(ScheduleError) as caught:
        step(sch)
    assert caught.value.code == code, caught.value
    assert sch.func == Schedule(func).func
    return str(caught.value)


SWEEP = read(
    'A: T.Buffer((12, 9), "float32")',
    """
    for i in range(1, 12):
        for j in range(1, 9):
            A[i, j] = A[i, j] + A[i - 1, j] * 0.5 + A[i, j - 1] * 0.25
""",
)
TRIANGLE = read(
    'A: T.Buffer((n, n), "float32"), B: T.Buffer((n,), "float32"), n: T.int32',
    """
    for i in range(n):
        for j in range(i + 1, n):
            B[i] = B[i] + A[i, j]
""",
)
COPY = read(
    'A: T.Buffer((10, 7), "float32"), B: T.Buffer((10, 7), "float32")',
    """
    for i in range(10):
        for j in range(7):
            B[i, j] = A[i, j] * 2.0
""",
)
TWO = read(
    'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
    """
    for i in range(8):
        B[i] = A[i] * 2.0
        C[i] = B[i] + 1.0
""",
)
LOCAL = read(
    'A: T.Buffer((6, 5), "float32"), B: T.Buffer((6,), "float32")',
    """
    for i in range(6):
        t = T.alloc_buffer((5,), "float32")
        for j in range(5):
            t[j] = A[i, j] * A[i, j]
        B[i] = 0.0
        for k in range(5):
            B[i] = B[i] + t[k]
""",
)


# Interchange ---------------------------------------------------------------------------------------------------------


def test_a_triangle_is_scanned_the_other_way_round():
    new = result(TRIANGLE, lambda s: s.reorder("j", "i"))
    outer = next(s for s in walk(new.body) if isinstance(s, For))
    assert outer.var.name == "j"
    assert "if" not in to_script(new), "the ranges are exact"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("range(i, 2 * i + 1)", "range(9)"),
        ("range(i // 2, i)", "range(13)"),
        ("range(T.max(i - 3, 0), i + 2)", "range(7)"),
    ],
)
def test_other_shapes_are_scanned_the_other_way_round(first: str, second: str):
    func = read(
        'A: T.Buffer((20, 40), "int32")',
        f"    for i in {second}:\n        for j in {first}:\n            A[i, j] = 100 * i + j",
    )
    new = result(func, lambda s: s.reorder("j", "i"))
    assert next(s for s in walk(new.body) if isinstance(s, For)).var.name == "j"


def test_ranges_with_gaps_keep_a_guard():
    func = read(
        'A: T.Buffer((8, 30), "int32")',
        "    for i in range(8):\n        for j in range(3 * i, 3 * i + 2):\n            A[i, j] = i - j",
    )
    assert "if" in to_script(result(func, lambda s: s.reorder("j", "i")))


def test_an_interchange_that_turns_a_dependence_round_is_refused_in_a_triangle_too():
    func = read(
        'A: T.Buffer((9, 9), "float32")',
        "    for i in range(1, 9):\n        for j in range(i):\n            A[i, j] = A[i - 1, j + 1] + 1.0",
    )
    assert "in the other order" in refused(func, lambda s: s.reorder("j", "i"), "dependence")


def test_bounds_that_read_data_do_not_change_places():
    func = read(
        'L: T.Buffer((4,), "int32"), A: T.Buffer((4, 9), "float32")',
        "    for i in range(4):\n        for j in range(T.min(T.max(L[i], 0), 9)):\n            A[i, j] = 1.0",
    )
    refused(func, lambda s: s.reorder("j", "i"), "dependent-bounds")


# Skewing -------------------------------------------------------------------------------------------------------------


def test_a_wavefront_is_a_skew_an_interchange_and_a_parallel_loop():
    def wavefront(s: Schedule) -> None:
        diagonal = s.skew("i", "j")
        s.reorder(diagonal, "i")
        s.parallel("i")

    new = result(SWEEP, wavefront)
    outer, inner = loops_of(new).values()
    assert (outer.kind, inner.kind) == ("serial", "parallel")
    assert "T.parallel(T.max(j_1 - 8, 1), T.min(11, j_1 - 1) + 1)" in to_script(new)


def test_neither_loop_of_a_sweep_is_parallel_before():
    refused(SWEEP, lambda s: s.parallel("i"), "dependence")
    refused(SWEEP, lambda s: s.parallel("j"), "dependence")


@pytest.mark.parametrize("factor", [1, 2, 3, -1, -2])
def test_a_skewed_loop_runs_the_same_iterations(factor: int):
    result(COPY, lambda s: s.skew("i", "j", factor))
    result(COPY, lambda s: s.reorder(s.skew("i", "j", factor), "i"))


def test_what_cannot_be_skewed_is_refused():
    refused(COPY, lambda s: s.skew("j", "i"), "not-nested")
    refused(COPY, lambda s: s.skew("i", "j", 0), "factors")
    refused(COPY, lambda s: s.skew("k", "j"), "unknown-loop")
    refused(COPY, lambda s: s.skew("i", "j", T.int32("n")), "argument")


# Tiling --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(5, 7), (4, 3), (10, 1), (16, 16)])
def test_tiles_with_and_without_tails(sizes: tuple[int, int]):
    new = result(COPY, lambda s: s.tile(["i", "j"], sizes))
    assert [*loops_of(new)] == ["io", "jo", "ii", "ji"]


def test_tiles_of_a_sweep_are_legal_and_those_of_a_reversal_are_not():
    result(SWEEP, lambda s: s.tile(["i", "j"], [4, 4]))
    func = read(
        'A: T.Buffer((9, 10), "float32")',
        "    for i in range(1, 9):\n        for j in range(9):\n            A[i, j] = A[i - 1, j + 1] + 1.0",
    )
    refused(func, lambda s: s.tile(["i", "j"], [4, 4]), "dependence")


def test_each_loop_has_a_tile_size():
    refused(COPY, lambda s: s.tile(["i", "j"], [4]), "factors")
    refused(COPY, lambda s: s.tile(["i", "j"], [4, 0]), "factors")
    refused(COPY, lambda s: s.tile(["i", "j"], 4), "argument")


# Peeling and versions ------------------------------------------------------------------------------------------------

BORDER = read(
    'A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")',
    """
    for i in range(9):
        if i == 0:
            B[i] = A[i]
        else:
            if i < 8:
                B[i] = A[i - 1] + A[i + 1]
            else:
                B[i] = A[i] * 3.0
""",
)


def test_peeled_borders_leave_a_loop_without_conditions():
    text = to_script(result(BORDER, lambda s: s.peel("i", first=1, last=1)))
    assert "if" not in text
    assert "B[0] = A[0]" in text


def test_peeling_needs_iterations_to_peel():
    func = read('A: T.Buffer((n,), "float32"), n: T.int32', "    for i in range(n):\n        A[i] = A[i] + 1.0")
    assert "T.assume" in refused(func, lambda s: s.peel("i", first=1), "points")
    assumed = read(
        'A: T.Buffer((n,), "float32"), n: T.int32',
        "    T.assume(n >= 3)\n    for i in range(n):\n        A[i] = A[i] + 1.0",
    )
    result(assumed, lambda s: s.peel("i", first=1, last=2))
    refused(BORDER, lambda s: s.peel("i"), "points")
    refused(BORDER, lambda s: s.peel("i", first=-1, last=2), "points")
    refused(BORDER, lambda s: s.peel("i", first=17), "points")


def test_versions_decide_what_their_condition_decides():
    func = read(
        'A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32, m: T.int32',
        """
    for i in range(n):
        if i < m:
            B[i] = A[i]
        else:
            B[i] = 0.0
""",
    )
    n, m = T.int32("n"), T.int32("m")
    new = result(func, lambda s: s.version("i", n <= m))
    assert to_script(new).count("if i") == 1, "the guard stays where the condition does not hold"
    assert [*loops_of(new)] == ["i", "i_1"]


def test_a_condition_is_known_before_the_loop():
    assert "i < 3" in refused(COPY, lambda s: s.version("i", T.int32("i") < 3), "condition")
    refused(COPY, lambda s: s.version("i", T.int32("k") < 3), "condition")
    refused(COPY, lambda s: s.version("i", True), "condition")
    refused(COPY, lambda s: s.version("i", T.int32("k")), "condition")
    result(COPY, lambda s: s.version("j", T.int32("i") < 3))


# Distribution --------------------------------------------------------------------------------------------------------


def test_independent_statements_get_loops_of_their_own():
    new = result(TWO, lambda s: s.distribute("i"))
    assert [*loops_of(new)] == ["i", "i_1"]
    merged = result(new, lambda s: s.merge_adjacent_loops("i", "i_1"))
    assert merged.body == TWO.body


def test_statements_in_a_dependence_cycle_stay_together():
    func = read(
        'A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")',
        """
    for i in range(1, 9):
        C[i] = A[i] * 2.0
        A[i] = B[i - 1] + 1.0
        B[i] = A[i] * 0.5
""",
    )
    new = result(func, lambda s: s.distribute("i"))
    assert len(loops_of(new)) == 2
    cycle = read(
        'A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")',
        "    for i in range(1, 9):\n        A[i] = B[i - 1] + 1.0\n        B[i] = A[i] * 0.5",
    )
    assert "in the other order" in refused(cycle, lambda s: s.distribute("i"), "dependence")


def test_what_is_no_sequence_is_not_distributed():
    assert "loop in it first" in refused(COPY, lambda s: s.distribute("i"), "not-a-sequence")
    assert "sch.expand('t', 'i')" in refused(LOCAL, lambda s: s.distribute("i"), "not-a-sequence")
    data = read(
        'L: T.Buffer((2,), "int32"), A: T.Buffer((9,), "int32")',
        "    for i in range(T.min(T.max(L[0], 0), 9)):\n        A[i] = 1\n        L[1] = i",
    )
    refused(data, lambda s: s.distribute("i"), "dependence")


# Places for iterations -----------------------------------------------------------------------------------------------


def test_an_expanded_local_lets_its_loop_be_distributed():
    new = result(LOCAL, lambda s: s.expand("t", "i"), lambda s: s.distribute("i"))
    assert [s.var.name for s in walk(new.body) if isinstance(s, For)] == ["i", "j", "i_1", "i_2", "k"]


def test_privatization_undoes_expansion():
    new = result(LOCAL, lambda s: s.expand("t", "i"), lambda s: s.privatize("t", "i"), lambda s: s.parallel("i"))
    (local,) = (
        s.buffer for s in walk(new.body) if hasattr(s, "buffer") and s.buffer.name == "t" and hasattr(s, "body")
    )
    assert [int(e.value) for e in local.shape] == [1, 5]


def test_places_of_a_symbolic_number_of_iterations():
    func = read(
        'A: T.Buffer((n,), "float32"), n: T.int32, m: T.int32',
        """
    for i in range(T.min(n, m)):
        t = T.alloc_buffer((1,), "float32")
        t[0] = A[i] * 2.0
        A[i] = t[0] + 1.0
""",
    )
    result(func, lambda s: s.expand("t", "i"))


def test_only_what_an_iteration_writes_first_is_its_own():
    func = read(
        'A: T.Buffer((6,), "float32")',
        """
    t = T.alloc_buffer((1,), "float32")
    t[0] = 0.0
    for i in range(6):
        t[0] = t[0] + A[i]
        A[i] = t[0]
""",
    )
    refused(func, lambda s: s.privatize("t", "i"), "used-elsewhere")
    carried = read(
        'A: T.Buffer((6,), "float32")',
        """
    t = T.alloc_buffer((1,), "float32")
    for i in range(6):
        if i > 0:
            A[i] = t[0]
        t[0] = A[i] * 2.0
""",
    )
    assert "t[0]" in refused(carried, lambda s: s.privatize("t", "i"), "carried-value")
    refused(COPY, lambda s: s.privatize("B", "i"), "not-local")
    refused(COPY, lambda s: s.expand("B", "i"), "not-local")
    nested = read(
        'A: T.Buffer((6, 6), "float32")',
        """
    for i in range(6):
        for j in range(6):
            t = T.alloc_buffer((1,), "float32")
            t[0] = A[i, j]
            A[i, j] = t[0] + 1.0
""",
    )
    assert "sch.expand('t', 'j')" in refused(nested, lambda s: s.expand("t", "i"), "not-local")
    result(nested, lambda s: s.expand("t", "j"), lambda s: s.expand("t", "i"))
