"""Directed steps: each worked example of the source documents, near misses, and random programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from egraph_rules import transforms
from egraph_rules.cost.target import CPU
from egraph_rules.optimization import search_within
from egraph_rules.rules.statements import STATEMENT_RULES
from ir import interpret, parse, to_script
from ir.errors import ScheduleError
from ir.floats import DEFAULT_FLOATS
from ir.nodes import Assume, If, PrimFunc, Store, Undef
from ir.schedule import Schedule, Trace
from ir.testing.programs import program_texts
from ir.traverse import walk
from profiles import few, some
from texts import read


def applied(func: PrimFunc, *steps: transforms.Step) -> PrimFunc:
    """The function after the steps, compared with the original on random inputs."""
    sch = Schedule(func)
    for step in steps:
        sch.apply(step)
    assert assert_refines(func, sch.func, np.random.default_rng(0)) > 0
    return sch.func


def becomes(func: PrimFunc, expected: str, *steps: transforms.Step) -> None:
    assert to_script(applied(func, *steps)) == to_script(read(expected))


def unchanged(func: PrimFunc, *steps: transforms.Step) -> None:
    assert to_script(applied(func, *steps)) == to_script(func)


PADDING = read("""
def func(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if i == 0 and j < 2:
            A[i, j] = 0.0
""")


def test_boolean_parts_of_a_condition_are_hoisted():
    hoisted = """
def func(A: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        if i == 0:
            for j in T.serial(4):
                if j < 2:
                    A[i, j] = 0.0
"""
    step = transforms.hoist_expression(conditionals=["boolean_expression"])
    becomes(PADDING, hoisted, step)
    reduced = """
def func(A: T.Buffer((4, 4), "float32")):
    for j in T.serial(2):
        A[0, j] = 0.0
"""
    becomes(PADDING, reduced, step, transforms.reduce_loop_extents())


def test_a_whole_condition_that_depends_on_both_loops_stays():
    unchanged(PADDING, transforms.hoist_expression(conditionals=["if_else_stmt"]))


def test_loops_are_shortened_at_both_ends():
    func = read("""
def func(A: T.Buffer((16,), "float32"), n: T.int32):
    T.assume(n >= 0 and n < 16)
    for i in T.serial(16):
        if i >= 3 and i < n:
            A[i] = 1.0
""")
    text = to_script(applied(func, transforms.reduce_loop_extents()))
    assert "T.serial(3, n)" in text
    assert "if" not in text


def test_a_loop_with_other_work_keeps_its_extent():
    unchanged(
        read("""
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = 0.0
        if i < 3:
            A[i] = 1.0
"""),
        transforms.reduce_loop_extents(),
    )


def test_a_condition_does_not_pass_the_binding_it_uses():
    unchanged(
        read("""
def func(A: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        is_in_bounds = i < 3
        if is_in_bounds:
            A[i] = 0.0
"""),
        transforms.hoist_expression(let_bindings=["let_stmt", "required_by_condition"]),
    )


BOUND = read("""
def func(A: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        for j in T.serial(4):
            ok = i < 3
            if ok:
                A[i, j] = 0.0
""")


def test_bindings_are_hoisted_only_when_asked():
    unchanged(BOUND, transforms.hoist_expression())
    becomes(
        BOUND,
        """
def func(A: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        ok = i < 3
        if ok:
            for j in T.serial(4):
                A[i, j] = 0.0
""",
        transforms.hoist_expression(let_bindings=["let_stmt"]),
    )
    becomes(
        BOUND,
        """
def func(A: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        if i < 3:
            for j in T.serial(4):
                A[i, j] = 0.0
""",
        transforms.hoist_expression(let_bindings=["required_by_condition"]),
    )


def test_conditional_expressions_are_hoisted():
    func = read("""
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        B[i, j] = T.if_then_else(i < 2, A[i, j], 1.0)
""")
    unchanged(func, transforms.hoist_expression(conditionals=["if_else_stmt"]))
    becomes(
        func,
        """
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        if i < 2:
            for j in T.serial(4):
                B[i, j] = A[i, j]
        else:
            for j_1 in T.serial(4):
                B[i, j_1] = 1.0
""",
        transforms.hoist_expression(conditionals=["if_else_expr"]),
    )


def test_a_condition_on_data_that_the_loop_writes_is_not_hoisted():
    unchanged(
        read("""
def func(A: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        if A[0] > 0.0:
            A[i] = A[i] - 1.0
"""),
        transforms.hoist_expression(conditionals=["if_else_stmt", "boolean_expression"]),
    )


def test_identical_and_complementary_conditions_merge():
    becomes(
        read("""
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i < 8:
            A[i] = 0.0
        else:
            A[i] = 1.0
        if i // 8 == 0:
            B[i] = 2.0
        else:
            B[i] = 3.0
"""),
        """
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i < 8:
            A[i] = 0.0
            B[i] = 2.0
        else:
            A[i] = 1.0
            B[i] = 3.0
""",
        transforms.merge_conditionals(),
    )
    becomes(
        read("""
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            A[i, j] = 0.0
        else:
            A[i, j] = 1.0
        if i == 3 and j >= 2:
            B[i, j] = 2.0
        else:
            B[i, j] = 3.0
"""),
        """
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            A[i, j] = 0.0
            B[i, j] = 3.0
        else:
            A[i, j] = 1.0
            B[i, j] = 2.0
""",
        transforms.merge_conditionals(),
    )


@pytest.mark.parametrize(
    "first, second",
    [("A[i] < 0.0", "A[i] < 0.0"), ("i < 8", "i < 9"), ("i < 8 and B[0] > 0.0", "i < 8 and B[0] > 0.0")],
)
def test_other_conditions_do_not_merge(first: str, second: str):
    unchanged(
        read(f"""
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if {first}:
            B[0] = A[i] + 1.0
            A[i] = A[i] + 1.0
        if {second}:
            A[i] = 2.0
"""),
        transforms.merge_conditionals(),
    )


def test_a_store_of_what_is_there_is_removed():
    becomes(
        read("""
def sum(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0)
    B[0] = 0.0
    for i in T.serial(16):
        B[0] = B[0] + A[i]
"""),
        """
def sum(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0)
    for i in T.serial(16):
        B[0] = B[0] + A[i]
""",
        transforms.remove_no_op(),
    )


def test_overwritten_and_returned_values_are_removed():
    becomes(
        read("""
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 1.0
    for i in T.serial(16):
        A[i] = B[i]
        B[i] = B[i]
"""),
        """
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i_1 in T.serial(16):
        A[i_1] = B[i_1]
""",
        transforms.remove_no_op(),
    )


def test_assumptions_simplify_until_a_write():
    func = read("""
def func(A: T.Buffer((16,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 8)
    for i in T.serial(16):
        A[i] = n // 8
""")
    assert "A[i] = 0" in to_script(applied(func, transforms.simplify()))
    func = read("""
def func(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)
    if A[0] == B[0]:
        for i in T.serial(16):
            B[0] = B[0] + A[i]
""")
    text = to_script(applied(func, transforms.simplify()))
    assert "if A[0] == 0:" in text
    assert "B[0] = B[0] + A[i]" in text


CONVOLUTION = """
def func(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if {guard}:
                B[io, ii] = 0.0
                for f in T.serial(3):
                    B[io, ii] = B[io, ii] + F[f] * A[(io + (ii + f) // 4) % 4, (ii + f) % 4]
    with T.block("B_pad_value"):
        for io_1, ii_1 in T.grid(4, 4):
            if io_1 == 3 and ii_1 >= 2:
                B[io_1, ii_1] = 0.0
"""


def guards(func: PrimFunc) -> list[str]:
    return [to_script(s.cond) for s in walk(func.body) if isinstance(s, If)]


def test_a_branch_goes_where_a_later_stage_overwrites():
    func = read(CONVOLUTION.format(guard="0 <= 4 * io + ii < 14"))
    result = applied(func, transforms.remove_branching_through_overcompute(block="compute"))
    assert guards(result) == ["io_1 == 3 and ii_1 >= 2"]
    assert [s.name for s in walk(result.body) if hasattr(s, "axes")] == ["compute", "B_pad_value"]


def test_a_guard_comes_back_where_the_padding_is_overwritten():
    branching = read(CONVOLUTION.format(guard="0 <= 4 * io + ii < 14"))
    plain = applied(branching, transforms.remove_branching_through_overcompute(block="compute"))
    found = guards(applied(plain, transforms.remove_overcompute_through_branching(block="compute")))
    assert found == ["io <= 2 or ii <= 1", "io_1 == 3 and ii_1 >= 2"]


def test_only_the_named_block_changes():
    func = read("""
def func(A: T.Buffer((16,), "int32")):
    with T.block("first"):
        for i in T.serial(16):
            A[i] = i // 1
    with T.block("second"):
        for j in T.serial(16):
            A[j] = A[j] + j // 1
""")
    text = to_script(applied(func, transforms.simplify(block="second")))
    assert "A[i] = i // 1" in text
    assert text.count("// 1") == 1


OFFSET = """
def func(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume(io == 0 and ii >= 2 or io == 1 or io == 2 and ii < 2 {assumed})
    for io, ii in T.grid(3, 8):
        B[io, ii] = 0.0
    for io, ii, fi in T.grid(3, 8, 3):
        if 0 <= 8 * io + ii - 2 < 16 and 0 <= 8 * io + ii + fi - 2 < 18:
            B[io + (ii + fi) // 8, (ii + fi) % 8] = B[io + (ii + fi) // 8, (ii + fi) % 8] + F[fi] * A[io, ii]
"""


def test_an_index_is_reduced_so_that_the_last_branch_goes():
    func = read(OFFSET.format(assumed="or A[io, ii] == 0.0"))
    result = applied(func, transforms.remove_branching_through_overcompute())
    assert guards(result) == []
    assert "B[(io_2 + (ii_2 + fi) // 8) % 3, (ii_2 + fi) % 8]" in to_script(result)


def test_unknown_padding_keeps_the_branch():
    func = read(OFFSET.format(assumed="or A[io, ii] == 1.0"))
    assert len(guards(applied(func, transforms.remove_branching_through_overcompute()))) == 1


def test_hoisting_in_parts_reaches_a_fast_loop():
    conditions = """(not (io == 0 and ii < 2)) and (not (io == 2 and ii >= 2))
            and (not (io == 0 and ii + fi < 2)) and (not (io == 2 and ii + fi >= 4))"""
    rewritten = read(
        OFFSET.format(assumed="or A[io, ii] == 0.0").replace(
            "0 <= 8 * io + ii - 2 < 16 and 0 <= 8 * io + ii + fi - 2 < 18", " ".join(conditions.split())
        )
    )
    hoisted = applied(rewritten, transforms.hoist_expression(conditionals=["boolean_expression"]))
    assert guards(hoisted)[:2] == ["io_2 == 0", "ii_2 >= 2"]
    result = applied(hoisted, transforms.remove_branching_through_overcompute())
    assert all("ii" not in guard for guard in guards(result))


def test_an_assumption_outlives_dead_stores_beside_it():
    func = read("""
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((2,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 5)
    A[0] = 1
    for i in T.serial(n):
        B[i // 2 % 2] = B[i // 2 % 2] + 1
    A[0] = 0
""")
    result = applied(func, transforms.remove_no_op())
    assert "T.assume(n >= 0 and n < 5)" in to_script(result)
    assert "A[0] = 1" not in to_script(result)


def test_erasure():
    func = read("""
def func(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.assume(A[0] == 0.0)
    for i in T.serial(4):
        B[i] = A[i]
    for i in T.serial(4):
        if i >= 2:
            B[i] = T.undef()
""")
    result = applied(func, transforms.remove_assume(), transforms.remove_store_undef())
    assert not any(isinstance(s, Assume) for s in walk(result.body))
    assert not any(isinstance(s, Store) and isinstance(s.value, Undef) for s in walk(result.body))
    assert len(to_script(result).splitlines()) == 4


def test_steps_are_recorded_and_replayed():
    sch = Schedule(PADDING)
    sch.apply(transforms.hoist_expression(conditionals=["boolean_expression"]))
    sch.apply(transforms.reduce_loop_extents())
    lines = str(sch.trace).splitlines()
    assert lines[1] == "sch.apply(transforms.reduce_loop_extents())"
    again = Schedule(PADDING)
    exec(str(sch.trace), {"sch": again, "transforms": transforms})
    assert again.func == sch.func
    other = Schedule(PADDING)
    Trace.from_json(sch.trace.to_json(), transforms.STEPS).replay(other)
    assert other.func == sch.func
    with pytest.raises(ScheduleError, match="not among the transforms"):
        Trace.from_json(sch.trace.to_json())


def test_errors_name_what_is_unknown():
    with pytest.raises(ScheduleError, match="no block `compte`") as caught:
        Schedule(read(CONVOLUTION.format(guard="io < 3"))).apply(transforms.simplify(block="compte"))
    assert "did you mean `compute`?" in str(caught.value)
    with pytest.raises(ScheduleError, match="no flag `if_stmt`"):
        transforms.hoist_expression(conditionals=["if_stmt"])


STEPS = (
    transforms.simplify(),
    transforms.remove_no_op(),
    transforms.merge_conditionals(),
    transforms.reduce_loop_extents(),
    transforms.hoist_expression(
        conditionals=["if_else_stmt", "if_else_expr", "boolean_expression"],
        let_bindings=["required_by_condition", "let_stmt"],
    ),
    transforms.remove_branching_through_overcompute(),
    transforms.remove_overcompute_through_branching(),
    transforms.remove_assume(),
    transforms.remove_store_undef(),
)


@pytest.mark.parametrize("step", some(STEPS, 0.22), ids=lambda step: step.name)
@few(2)
@given(text=program_texts(), seed=st.integers(0, 2**31))
def test_steps_keep_what_random_programs_do(step: transforms.Step, text: str, seed: int):
    func = parse(text).funcs[0]
    sch = Schedule(func)
    try:
        sch.apply(step)
    except ScheduleError as error:
        assert (step.name, error.code) == ("remove_assume", "unproven"), error  # a bound rested on it
        return
    assert_refines(func, sch.func, np.random.default_rng(seed), runs=2)


def test_a_search_that_keeps_blocks_keeps_their_predicates():
    func = read("""
def func(B: T.Buffer((1,), "int32")):
    with T.block("b"):
        T.where(B[0] == 3)
        B[0] = 0
""")
    found = search_within(func, None, STATEMENT_RULES, CPU, DEFAULT_FLOATS)
    assert interpret(found, np.array([1], np.int32))[0].tolist() == [1]
    assert interpret(found, np.array([3], np.int32))[0].tolist() == [0]
    assert "T.block" in str(found)
