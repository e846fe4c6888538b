"""A directed step does all that it can at once: applying it again changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from egraph_rules import transforms
from ir import parse, to_script
from ir.nodes import PrimFunc
from profiles import some

HOISTED = ("if_else_stmt", "if_else_expr", "boolean_expression")
STEPS = (
    transforms.simplify(),
    transforms.remove_no_op(),
    transforms.merge_conditionals(),
    transforms.reduce_loop_extents(),
    transforms.hoist_expression(conditionals=HOISTED, let_bindings=("required_by_condition", "let_stmt")),
    transforms.inline_lets(),
    transforms.common_subexpressions(),
    transforms.introduce_lets(),
    transforms.hoist_index_terms(),
    transforms.remove_branching_through_overcompute(),
    transforms.remove_overcompute_through_branching(),
)
PROGRAMS = {
    "a stage that is overwritten": """
def func(A: T.Buffer((16,), "int32")):
    with T.block("first"):
        for i in T.serial(16):
            A[i] = i
    with T.block("second"):
        for j in T.serial(16):
            A[j] = A[j] * 0 + j + j
""",
    "a sum from zero": """
def func(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)
    if A[0] == B[0]:
        for i in T.serial(16):
            B[0] = B[0] + A[i]
""",
    "guards in a nest": """
def func(A: T.Buffer((8, 8), "float32"), n: T.int32):
    T.assume(n >= 0 and n < 8)
    for i, j in T.grid(8, 8):
        ok = i < n and j < 5
        if ok:
            A[i, j] = 1.0
        if not ok:
            A[i, j] = T.if_then_else(i * 2 + 2 == (i + 1) * 2, T.float32(2), T.float32(3))
""",
    "index terms": """
def func(A: T.Buffer((120,), "int32"), B: T.Buffer((120,), "int32")):
    for i, j, k in T.grid(4, 5, 6):
        x = i * 30 + j * 6
        B[x + k] = A[i * 30 + j * 6 + k] + (i * 30 + j * 6) * k
""",
    "padding": """
def func(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == 0.0)
    for i in T.serial(4):
        B[i] = 0.0
        for j in T.serial(4):
            if 4 * i + j < 14:
                B[i] = B[i] + A[i, j]
""",
}


def assert_fixed(func: PrimFunc) -> int:
    """Check that no step changes what it has made of a program; how many change the program."""
    changed = 0
    for step in STEPS:
        once = step(func)
        changed += once.body != func.body
        assert to_script(step(once)) == to_script(once), step
    return changed


@pytest.mark.parametrize("name", some(list(PROGRAMS), 1))
def test_a_second_time_changes_nothing(name: str) -> None:
    assert assert_fixed(parse("@T.prim_func\n" + PROGRAMS[name].strip("\n")).funcs[0]) >= 1


@pytest.mark.fuzz
@pytest.mark.parametrize("path", sorted(Path("examples").glob("*.py")), ids=lambda p: p.stem)
def test_a_second_time_changes_nothing_in_examples(path: Path) -> None:
    text = path.read_text()
    if "prim_func" not in text:
        pytest.skip("has no kernel")
    for func in parse(text).funcs:
        assert_fixed(func)
