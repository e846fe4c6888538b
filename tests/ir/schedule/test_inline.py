"""compute_inline and reverse_compute_inline: their conditions and refusals, and random programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import assert_refines
from ir import parse, te, to_script
from ir.errors import ScheduleError
from ir.nodes import Module, PrimFunc
from ir.schedule import Schedule
from profiles import few
from renamed import assert_same_up_to_names
from staged import Staged, staged_programs

RNG = np.random.default_rng
PARAMS = 'A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")'


def func(body: str, params: str = PARAMS) -> PrimFunc:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}\n").funcs[0]


def pair(producer: str, consumer: str, between: str = "", *, loops: tuple[str, str] = ("8", "8")) -> PrimFunc:
    """A stage P that writes B over i, and a stage Q that reads it over c."""
    text = f"""
B = T.alloc_buffer((8,), "int32")
for i in T.serial({loops[0]}):
    with T.block("P"):
        {producer}
{between}
for c in T.serial({loops[1]}):
    with T.block("Q"):
        {consumer}
"""
    return func(text)


def inlined(program: PrimFunc | Module, *blocks: str, reverse: bool = False) -> Schedule:
    sch = Schedule(program)
    original = sch.func
    for block in blocks:
        (sch.reverse_compute_inline if reverse else sch.compute_inline)(block)
    assert assert_refines(original, sch.func, RNG(0), exact=True) > 0
    return sch


def refused(program: PrimFunc | Module, code: str, block: str, *, reverse: bool = False) -> ScheduleError:
    sch = Schedule(program)
    before = sch.func
    with pytest.raises(ScheduleError) as info:
        (sch.reverse_compute_inline if reverse else sch.compute_inline)(block)
    assert info.value.code == code, str(info.value)
    assert sch.func is before and not sch.trace.steps
    return info.value


# Into consumers ------------------------------------------------------------------------------------------------------


def test_a_stage_is_computed_where_it_is_used() -> None:
    A = te.placeholder((5, 16), "int32", name="A")
    B = te.compute((5, 16), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((5, 15), lambda ci, cj: B[ci, cj] * 2 + B[ci, cj + 1], name="C")
    sch = inlined(te.create_prim_func([A, C]), "B")
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def main(A: T.Buffer((5, 16), "int32"), C: T.Buffer((5, 15), "int32")):
    for ci, cj in T.grid(5, 15):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [ci, cj])
            C[vi, vj] = (A[vi, vj] + 1) * 2 + (A[vi, vj + 1] + 1)
""",
    )


@pytest.mark.parametrize(
    ("producer", "consumer", "expected"),
    [
        ("B[7 - i] = A[i] + i", "C[c] = B[c]", "C[c] = A[7 - c] + (7 - c)"),
        ("B[i] = A[i] + 1", "C[c] = B[(c + 3) % 8]", "C[c] = A[(c + 3) % 8] + 1"),
        ("B[i] = 5", "C[c] = B[7 - c] + B[0]", "C[c] = T.int32(5) + T.int32(5)"),
        ("B[i] = A[i]", "C[c] = B[c % 4 * 2 + c // 4]", "C[c] = A[c % 4 * 2 + c // 4]"),
        ("B[i] = A[i]", "if B[c] > 0:\n            C[c] = 1", "if A[c] > 0:\n            C[c] = 1"),
        ("B[i] = A[i]", "C[B[c] % 8] = 1", "C[A[c] % 8] = 1"),
    ],
)
def test_loops_are_solved_from_the_indices_of_the_load(producer: str, consumer: str, expected: str) -> None:
    sch = inlined(pair(producer, consumer), "P")
    assert_same_up_to_names(sch.func, func(f'for c in range(8):\n    with T.block("Q"):\n        {expected}'))


def test_layouts_are_inverted() -> None:
    body = """
B = T.alloc_buffer((2, 4), "int32")
for i in range(8):
    with T.block("P"):
        B[i // 4, i % 4] = A[i] * 2
for x, y in T.grid(2, 4):
    C[4 * x + y] = B[x, y]
"""
    sch = inlined(func(body), "P")
    assert "C[4 * x + y] = A[4 * x + y] * 2" in to_script(sch.func)


def test_chains_disappear_one_by_one() -> None:
    A = te.placeholder((4,), "int32", name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    C = te.compute((4,), lambda i: B[i] * 2, name="C")
    D = te.compute((4,), lambda i: C[i] - 3, name="D")
    program = te.create_prim_func([A, D])
    for order in (("B", "C"), ("C", "B")):
        sch = inlined(program, *order)
        assert "alloc_buffer" not in to_script(sch.func) and "(A[v_i] + 1) * 2 - 3" in to_script(sch.func)


def test_conditions_may_guard_what_is_read() -> None:
    inlined(pair("B[i] = A[i]", "C[c] = T.if_then_else(c >= 2, B[c - 2], 0)", loops=("6", "8")), "P")
    inlined(pair("if i < 3:\n            B[i] = A[i]", "if c < 3:\n            C[c] = B[c]"), "P")


def test_assumptions_about_the_buffer_become_assumptions_about_the_value() -> None:
    sch = inlined(pair("B[i] = A[i]", "T.assume(B[c] > 0)\n        C[c] = B[c]"), "P")
    assert "T.assume(A[c] > 0)" in to_script(sch.func)
    sch = inlined(pair("B[i] = A[i]", "T.assume(B[c] == T.undef())\n        C[c] = B[c]"), "P")
    assert "T.assume" not in to_script(sch.func)


def test_several_consumers() -> None:
    sch = inlined(pair("B[i] = A[i] * 3", "C[c] = B[c]\n        D[c] = B[7 - c]"), "P")
    assert "D[c] = A[7 - c] * 3" in to_script(sch.func)


def test_a_consumer_may_overwrite_the_input_it_replaces() -> None:
    inlined(pair("B[i] = A[i] * 3", "A[c] = B[c] + 1"), "P")
    error = refused(pair("B[i] = A[i] * 3", "A[c] = B[7 - c] + 1"), "input-changes", "P")
    assert "c = " in error.notes[0]


def test_inputs_must_not_change_before_the_use() -> None:
    refused(pair("B[i] = A[i]", "C[c] = B[c]", "A[2] = 1"), "input-changes", "P")
    inlined(pair("B[i] = A[i]", "C[c] = B[c]", "D[2] = 1"), "P")
    elsewhere = pair("B[i] = A[i]", "C[c] = B[c]", "A[2] = 1", loops=("8", "2"))
    inlined(elsewhere, "P")


def test_elements_that_are_not_computed_are_refused_with_a_witness() -> None:
    error = refused(pair("B[i] = A[i]", "C[c] = B[c]", loops=("6", "8")), "not-covered", "P")
    assert "B[6] is read at c = 6" in error.notes[0] or "B[7] is read at c = 7" in error.notes[0]
    guarded = pair("if i < 3:\n            B[i] = A[i]", "if c < 4:\n            C[c] = B[c]")
    error = refused(guarded, "producer-predicate", "P")
    assert "B[3] is read at c = 3" in error.notes[0]


def test_reads_at_data_need_a_value_that_cannot_fail() -> None:
    refused(pair("B[i] = A[i] + 1", "C[c] = B[D[c]]"), "not-covered", "P")
    inlined(pair("B[i] = A[i]", "C[c] = B[D[c]]"), "P")


@pytest.mark.parametrize(
    ("program", "code", "block"),
    [
        (pair("B[i] = T.undef()", "C[c] = B[c]"), "undef", "P"),
        (pair("B[0] = A[i]", "C[c] = B[0]", loops=("8", "1")), "not-bijective", "P"),
        (pair("B[A[i] % 8] = A[i]", "C[c] = B[c]"), "not-bijective", "P"),
        (pair("if A[i] > 0:\n            B[i] = A[i]", "C[c] = B[c]"), "producer-predicate", "P"),
        (pair("B[i] = A[i]", "C[c] = B[c]", "B[0] = 3"), "several-producers", "P"),
        (pair("B[i] = A[i]\n        C[i] = 1", "C[c] = B[c]"), "not-a-single-store", "P"),
        (pair("x = A[i]\n        B[i] = x - x", "C[c] = B[c]"), "bound-value", "P"),
        (pair("B[i] = A[i]", "C[c] = B[c]"), "not-local", "Q"),
        (pair("B[i] = A[i]", "C[c] = B[c]"), "unknown-block", "nope"),
        (pair("B[i] = A[i]", "C[c] = B[c]"), "whole-function", "root"),
    ],
)
def test_what_cannot_be_inlined(program: PrimFunc, code: str, block: str) -> None:
    refused(program, code, block)


def test_reductions_are_not_inlined() -> None:
    A = te.placeholder((4, 8), "int32", name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    program = te.create_prim_func([A, te.compute((4,), lambda c: B[c] + 1, name="C")])
    refused(program, "reduction", "B")
    refused(program, "reduction-producer", "C", reverse=True)


def test_names_are_inlined_where_nothing_happens_in_between() -> None:
    inlined(pair("x = A[i]\n        B[i] = x * 2", "C[c] = B[c]"), "P")
    body = """
B = T.alloc_buffer((8,), "int32")
for i in range(8):
    x = A[i]
    A[i] = 0
    with T.block("P"):
        B[i] = x
for c in range(8):
    C[c] = B[c]
"""
    refused(func(body), "bound-value", "P")


# Into the producer ---------------------------------------------------------------------------------------------------


def test_a_consumer_is_computed_where_its_input_is() -> None:
    A = te.placeholder((5, 16), "int32", name="A")
    B = te.compute((5, 16), lambda i, j: A[i, j] + 1, name="B")
    program = te.create_prim_func([A, te.compute((5, 16), lambda ci, cj: B[ci, cj] * 2, name="C")])
    sch = inlined(program, "C", reverse=True)
    assert_same_up_to_names(
        sch.func,
        """
@T.prim_func
def main(A: T.Buffer((5, 16), "int32"), C: T.Buffer((5, 16), "int32")):
    for i, j in T.grid(5, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = (A[vi, vj] + 1) * 2
""",
    )


def test_a_producer_that_covers_more_gets_a_predicate() -> None:
    A = te.placeholder((6, 16), "int32", name="A")
    B = te.compute((6, 16), lambda i, j: A[i, j] + 1, name="B")
    program = te.create_prim_func([A, te.compute((5, 14), lambda ci, cj: B[5 - ci, cj + 1] * 2, name="C")])
    sch = inlined(program, "C", reverse=True)
    text = to_script(sch.func)
    assert "T.where(" in text and "C[5 - v_i, v_j - 1] = (A[v_i, v_j] + 1) * 2" in text
    plain = inlined(pair("B[i] = A[i]", "C[c] = B[c + 1] * 2", loops=("8", "6")), "Q", reverse=True)
    assert "if " in to_script(plain.func)


def test_a_reshape_is_inverted() -> None:
    A = te.placeholder((5, 16), "int32", name="A")
    B = te.compute((5, 16), lambda i, j: A[i, j] + 1, name="B")
    program = te.create_prim_func([A, te.compute((80,), lambda c: B[c // 16, c % 16] * 2, name="C")])
    sch = inlined(program, "C", reverse=True)
    assert "C[16 * v_i + v_j] = (A[v_i, v_j] + 1) * 2" in to_script(sch.func)


def test_a_predicate_that_the_consumer_implies_stays() -> None:
    inlined(pair("if i < 5:\n            B[i] = A[i]", "C[c] = B[c] + 1", loops=("8", "5")), "Q", reverse=True)
    error = refused(
        pair("if i < 5:\n            B[i] = A[i]", "C[c] = B[c] + 1"), "producer-predicate", "Q", reverse=True
    )
    assert "reads B[" in error.notes[0]


def test_a_consumer_that_is_not_covered_is_refused_with_a_witness() -> None:
    error = refused(pair("B[i] = A[i]", "C[c] = B[c]", loops=("6", "8")), "not-covered", "Q", reverse=True)
    assert "B[6]" in error.notes[0] or "B[7]" in error.notes[0]


def test_sizes_count_in_what_is_covered() -> None:
    body = """
B = T.alloc_buffer((16,), "int32")
{assumed}
for i in range(8):
    with T.block("P"):
        B[i] = A[i]
for c in range(k):
    with T.block("Q"):
        C[c] = B[c + 3]
"""
    params = PARAMS + ", k: T.int32"
    small = func(body.format(assumed="T.assume(k >= 0 and k < 6)"), params)
    inlined(small, "P")
    inlined(small, "Q", reverse=True)
    error = refused(func(body.format(assumed="T.assume(k < 9)"), params), "not-covered", "Q", reverse=True)
    assert "with k = " in error.notes[0]


def test_other_inputs_may_be_read() -> None:
    inlined(pair("B[i] = A[i]", "C[c] = B[c] + D[7 - c]"), "Q", reverse=True)
    refused(pair("B[i] = A[i]", "C[c] = B[c] + D[c]", "D[3] = 1"), "order", "Q", reverse=True)
    inlined(pair("B[i] = A[i]", "A[c] = B[c] + B[c]"), "Q", reverse=True)
    refused(pair("B[i] = A[i] + A[(i + 1) % 8]", "A[c] = B[c]"), "order", "Q", reverse=True)


def test_the_input_computed_last_is_the_one_that_goes() -> None:
    body = """
B = T.alloc_buffer((8,), "int32")
E = T.alloc_buffer((8,), "int32")
for i in range(8):
    B[i] = A[i] + 1
for e in range(8):
    E[e] = A[e] * 2
for c in range(8):
    with T.block("Q"):
        C[c] = B[c] + E[c]
"""
    sch = inlined(func(body), "Q", reverse=True)
    assert "C[e] = B[e] + A[e] * 2" in to_script(sch.func)


def in_parallel(program: PrimFunc, loop: str) -> PrimFunc:
    return parse(to_script(program).replace(f"for {loop} in T.serial", f"for {loop} in T.parallel")).funcs[0]


def test_parallel_loops_stay_free_of_races() -> None:
    forward = pair("B[i] = A[i]", "A[c] = B[c // 2 * 2 + 1]", loops=("8", "7"))
    refused(in_parallel(forward, "c"), "parallel", "P")
    inlined(in_parallel(pair("B[i] = A[i]", "C[c] = B[c]"), "c"), "P")
    total = pair("B[i] = A[i]", "C[0] = B[c]")
    inlined(total, "Q", reverse=True)
    error = refused(in_parallel(total, "i"), "parallel", "Q", reverse=True)
    assert "C[0] is written at i = " in error.notes[0]


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (pair("B[i] = A[i]", "C[c] = B[c] + B[7 - c]"), "several-indices"),
        (pair("B[i] = A[i]", "C[c] = B[c // 2]"), "not-bijective"),
        (pair("B[i] = A[i]", "C[c] = B[A[c] % 8]"), "not-bijective"),
        (pair("B[i] = A[i]", "if c < 5:\n            C[c] = B[c]"), "consumer-predicate"),
        (pair("B[i] = A[i]", "if A[c] > 0:\n            C[c] = B[c]"), "consumer-predicate"),
        (pair("B[i] = A[i]", "C[c] = C[c] + B[c]"), "reduction"),
        (pair("B[i] = A[i]", "C[c] = B[c]\n        D[c] = B[c]"), "not-a-single-store"),
        (pair("B[i] = B[i] + A[i]", "C[c] = B[c]"), "reduction-producer"),
        (pair("B[i] = A[i]", "C[c] = B[c]", "B[0] = 3"), "reduction-producer"),
        (pair("B[i % 4] = A[i]", "C[c] = B[c]", loops=("8", "4")), "not-bijective"),
        (pair("B[i] = A[i]", "C[c] = B[c]", "D[0] = B[0]"), "other-readers"),
        (pair("B[i] = T.undef()", "C[c] = B[c]"), "undef"),
        (pair("B[i] = A[i]", "C[c] = A[c]"), "no-producer"),
        (pair("D[i] = A[i]", "C[c] = D[c]"), "not-local"),
    ],
)
def test_conditions_of_reverse_inlining(program: PrimFunc, code: str) -> None:
    error = refused(program, code, "Q", reverse=True)
    assert error.span is not None and error.help


# Random programs -----------------------------------------------------------------------------------------------------

_INLINE_CODES = ("not-a-single-store", "reduction", "producer-predicate", "input-changes")


@few(12)
@given(staged_programs())
def test_random_producers(program: Staged) -> None:
    sch = Schedule(program.func)
    try:
        sch.compute_inline("P")
    except ScheduleError as error:
        assert error.code in _INLINE_CODES, str(error)
        return
    assert_refines(program.func, sch.func, RNG(0), exact=True)


@few(12)
@given(staged_programs(elementwise=True))
def test_random_consumers(program: Staged) -> None:
    sch = Schedule(program.func)
    try:
        sch.reverse_compute_inline("Q")
    except ScheduleError as error:
        assert error.code not in ("unproven", "budget"), str(error)
        return
    assert_refines(program.func, sch.func, RNG(0), exact=True)


def test_a_fair_share_applies() -> None:
    counts = [0, 0]

    @settings(max_examples=60, database=None, derandomize=True)
    @given(staged_programs(), staged_programs(elementwise=True))
    def count(first: Staged, second: Staged) -> None:
        for k, (program, step, block) in enumerate(
            ((first, "compute_inline", "P"), (second, "reverse_compute_inline", "Q"))
        ):
            try:
                getattr(Schedule(program.func), step)(block)
                counts[k] += 1
            except ScheduleError:
                pass

    count()
    assert counts[0] >= 10 and counts[1] >= 10, counts


@pytest.mark.fuzz
@settings(max_examples=5000)
@given(st.booleans().flatmap(staged_programs), st.data())
def test_random_mixtures(program: Staged, data: st.DataObject) -> None:
    sch = Schedule(program.func)
    loops = (*program.consumer_loops, *program.producer_loops)
    for _ in range(3):
        step = data.draw(st.sampled_from(["compute_at", "reverse_compute_at", "inline", "inline"]))
        block = data.draw(st.sampled_from("PQR"))
        try:
            if step == "inline":
                (sch.compute_inline if data.draw(st.booleans()) else sch.reverse_compute_inline)(block)
            else:
                getattr(sch, step)(block, data.draw(st.sampled_from(loops)))
        except ScheduleError as error:
            assert error.code != "unproven", str(error)
    assert_refines(program.func, sch.func, RNG(0), exact=True)
