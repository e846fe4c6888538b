"""Locals: what no iteration changes is computed once, and a loop around all users of an array needs no axis for it."""

# ruff: noqa: E501, ISC004
from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from forced import assert_all_agree
from ir import PrimFunc, parse
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from lower.nest.normalize import normalize
from lower.storage.forward_substitution import worked_out_again
from lower.storage.invariant_code_motion import hoist_invariants
from lowered import kernel_of, unwrapped
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, function_apart=1.0)  # array statements are worth a lot
PARAMS = 'A: T.Buffer((5, 6), "float32"), B: T.Buffer((5, 6), "float32")'
TABLE = "p = T.alloc_buffer((5, 6), 'float32')\n"


def read(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return parse(f"@T.prim_func\ndef f({PARAMS}):\n{lines}\n").funcs[0]


def check(func: PrimFunc) -> str:
    """Compare with the interpreter, for two targets; returns the source for the eager one."""
    inputs = random_inputs(func, np.random.default_rng(0))
    expected = interpret_with_undef(func, **inputs)
    kernels = [kernel_of(func, target) for target in (CPU, EAGER)]
    for kernel in kernels:
        for (values, undef), got in zip(expected, kernel(**inputs), strict=True):
            np.testing.assert_allclose(
                np.asarray(got)[~undef], values[~undef], rtol=1e-4, atol=1e-4, err_msg=kernel.source
            )
    return kernels[1].source


def shapes(func: PrimFunc) -> dict[str, tuple[int, int]]:
    """Rank and private loops of locals after what never changes was taken out of loops."""
    program = normalize(func)
    hoist_invariants(program)
    return {b.name: (len(b.shape), depth) for b, depth in program.depth.items()}


SAME = {
    "rows": TABLE + "for i in range(5):\n    p[i, 0] = 1.0\n    for j in T.serial(1, 6):\n        p[i, j] = 1.0 / (p[i, j - 1] + 2.0)\n        B[i, j] = p[i, j] * A[i, j]",
    "columns": TABLE + "for j in range(6):\n    for i in range(5):\n        p[i, j] = A[i, 0]\n    for i in range(5):\n        B[i, j] = p[i, j]",
    "later nests": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = A[0, j]\nfor k in range(5):\n    for j in range(6):\n        B[k, j] = p[k, 5 - j] + A[k, j]",
    "filled twice": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = 2.0 * T.cast(j, 'float32')\n        B[i, j] = p[i, j]\nfor k in range(5):\n    for j in range(6):\n        p[k, j] = p[k, j] + 1.0\n    for j in range(6):\n        B[k, j] = B[k, j] + p[k, 5 - j]",
    "steps": "p = T.alloc_buffer((5, 6), 'float32')\nfor t in T.serial(3):\n    for i in range(5):\n        for j in range(6):\n            p[i, j] = T.cast(t + j, 'float32')\n        for j in range(6):\n            B[i, j] = B[i, j] + p[i, j]",
}  # fmt: skip


REGISTERS = {
    "one dimension": "r = T.alloc_buffer((3,), 'float32')\nfor i in range(5):\n    r[0] = 0.0\n    r[2] = 1.0\n    for j in range(6):\n        r[2] = T.min(r[2] * 0.5 + r[0], 4.0)\n        r[0] = T.max(r[0] - A[i, j], r[2])\n        B[i, j] = r[0]",
    "two dimensions": "r = T.alloc_buffer((2, 2), 'float32')\nfor i, j in T.grid(5, 6):\n    r[0, 0] = A[i, j]\n    r[0, 1] = 2.0\n    r[1, 0] = r[0, 0] * r[0, 1]\n    r[1, 1] = r[1, 0] - r[0, 1]\n    B[i, j] = r[1, 1] * r[0, 0]",
    "one of two dimensions": "r = T.alloc_buffer((6, 2), 'float32')\nfor i in range(5):\n    for j in range(6):\n        r[j, 0] = A[i, j]\n        r[j, 1] = A[4 - i, j] + r[j, 0]\n    for j in range(6):\n        B[i, j] = r[5 - j, 0] * r[j, 1]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(REGISTERS.values(), 0.67), ids=REGISTERS.keys())
def test_elements_that_are_only_accessed_by_number_are_locals_of_their_own(body: str) -> None:
    func = read(body)
    assert not {"r", "p"} & set(shapes(func))
    check(func)


def test_elements_that_are_accessed_otherwise_too_stay_together() -> None:
    func = read("r = T.alloc_buffer((6,), 'float32')\nfor i in range(5):\n    for j in range(6):\n        r[j] = A[i, j]\n    B[i, 0] = r[0] - r[5]")  # fmt: skip
    assert "r" in shapes(func)
    check(func)


@pytest.mark.parametrize("body", some(SAME.values(), 0.6), ids=SAME.keys())
def test_rows_that_are_all_alike_are_one_row(body: str) -> None:
    func = read(body)
    check(func)
    assert {rank for rank, _ in shapes(func).values()} == {1}


def test_a_copy_for_each_iteration_that_is_always_the_same_is_one_copy() -> None:
    func = read(
        "for i in range(5):\n    p = T.alloc_buffer((6,), 'float32')\n    p[0] = 1.0\n"
        "    for j in T.serial(1, 6):\n        p[j] = 1.0 / (p[j - 1] + 2.0)\n    for j in range(6):\n        B[i, j] = p[j] * A[i, j]"
    )
    check(func)
    assert shapes(func) == {"p": (1, 0)}


VARYING = {
    "a value of the loop": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = T.cast(i + j, 'float32')\n    for j in range(6):\n        B[i, j] = p[i, j]",
    "a row of an input": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = A[i, j]\n    for j in range(6):\n        B[i, j] = p[i, 5 - j]",
    "the row before": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = 2.0 * T.cast(j, 'float32')\nfor i in T.serial(1, 5):\n    for j in range(6):\n        B[i, j] = p[i - 1, j]",
    "half the rows again": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = T.cast(j, 'float32')\nfor i in range(2):\n    for j in range(6):\n        p[i, j] = 2.0\nfor i in range(5):\n    for j in range(6):\n        B[i, j] = p[i, j]",
    "under a condition": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = 1.0\n    if A[i, 0] > 0.0:\n        p[i, 2] = 3.0\n    for j in range(6):\n        B[i, j] = p[i, j]",
    "what the loop writes": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = B[2, j]\n    for j in range(6):\n        B[i, j] = p[i, j] + 1.0",
    "read before it is overwritten": TABLE + "for i in range(5):\n    for j in range(6):\n        p[i, j] = 1.0 * T.cast(j, 'float32')\n        B[i, j] = p[i, j]\n    for j in range(6):\n        p[i, j] = p[i, j] * 2.0\n        A[i, j] = p[i, j]",
    "counted up": "s = T.alloc_buffer((1,), 'float32')\ns[0] = 0.0\nfor i in range(5):\n    s[0] = s[0] + 1.0\n    for j in range(6):\n        B[i, j] = s[0]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(VARYING.values(), 0.5), ids=VARYING.keys())
def test_near_misses_keep_their_rows(body: str) -> None:
    func = read(body)
    before = {b.name: (len(b.shape), depth) for b, depth in normalize(func).depth.items()}
    assert shapes(func) == before
    check(func)


STEPS = """
q = T.alloc_buffer((12, 16), "float32")
p = T.alloc_buffer((12, 16), "float32")
for t in T.serial(7):
    for i in range(12):
        p[i, 0] = B[i, 0] * T.cast(t, 'float32')
        q[i, 0] = {first}
        for j in T.serial(1, 16):
            p[i, j] = 1.0 / (p[i, j - 1] * p[i, j - 1] + 2.0)
            q[i, j] = (A[i, j] + A[i, j - 1] - q[i, j - 1]) / (2.0 + p[i, j - 1])
    for i in range(12):
        for j in T.serial(1, 16):
            A[i, j] = T.tanh(q[i, j] + p[i, 16 - j] * A[i, j - 1])
"""


@pytest.mark.parametrize("first", some(["1.0", "B[i, 1]", "A[i, 1]"], 1))
def test_an_order_keeps_one_copy_of_what_each_step_fills(first: str) -> None:
    """The recurrence of p is for all steps at once, so that another order is chosen; q needs no place for each."""
    text = STEPS.format(first=first).strip().replace("\n", "\n    ")
    tables = ", ".join(f'{name}: T.Buffer((12, 16), "float32")' for name in "AB")
    source = check(parse(f"@T.prim_func\ndef f({tables}):\n    {text}\n").funcs[0])
    sizes = {
        line.split(" = ")[0].strip(): line.partition("zeros(")[2] for line in source.split("\n") if "zeros(" in line
    }
    assert "7" in next(size for name, size in sizes.items() if name.startswith("p"))
    assert "7" not in next(size for name, size in sizes.items() if name.startswith("q"))


COLUMNS = """
q = T.alloc_buffer((12, 16), "float32")
for i in range(12):
    q[i, 0] = A[i, 0]
    for j in T.serial(1, 16):
        q[i, j] = A[i, j] / (2.0 + q[i, j - 1] * q[i, j - 1])
"""
READERS = {
    "backward": ("for i in range(12):\n    for j in T.serial(1, 16):\n        B[i, 15 - j] = T.tanh(q[i, 15 - j] + B[i, 16 - j])", "q = lax.dynamic_update_slice(q, "),
    "rows too": (
        "for j in range(16):\n    for i in T.serial(1, 12):\n        B[i, j] = T.tanh(q[i, j] * B[i - 1, j])\n"
        "for i in T.serial(1, 12):\n    for j in range(16):\n        B[i, j] = T.tanh(q[i, j] * B[i - 1, j])",
        "q_transposed = lax.dynamic_update_slice(q_transposed, ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("readers", "form"), READERS.values(), ids=READERS.keys())
def test_locals_lie_as_steps_take_them(readers: str, form: str) -> None:
    text = "\n    ".join((COLUMNS + readers).strip().split("\n"))
    tables = ", ".join(f'{name}: T.Buffer((12, 16), "float32")' for name in "AB")
    source = check(parse(f"@T.prim_func\ndef f({tables}):\n    {text}\n").funcs[0])
    (store,) = (line for line in unwrapped(source).split("\n") if "A[:, j]" in line)
    assert form in store and ").reshape(1, 12), (j, 0))" in store, source


def test_a_window_along_columns_leaves_a_local_as_its_rows_lie() -> None:
    body = TABLE + (
        "for i, j in T.grid(5, 6):\n    p[i, j] = A[i, j] * 2.0\n"
        "for i, j in T.grid(3, 6):\n    B[i, j] = 0.0\n    for t in range(3):\n        B[i, j] += p[i + t, j] * A[t, t]"
    )
    assert ".T" not in check(read(body))


VALUES = {
    "a value that is pushed on": "for i, j in T.grid(4, 3):\n    v = A[i, j] + B[i, j + 1]\n    e = v - T.if_then_else(v > 0.5, T.float32(1.0), T.float32(0.0))\n    B[i, j + 2] = B[i, j + 2] + e * 0.5\n    B[i + 1, j] = B[i + 1, j] + e * 0.25\n    B[i + 1, j + 1] = B[i + 1, j + 1] + e * 0.125",
    "a value of a value that changes on the way": "for i in range(5):\n    for j in range(4):\n        v = B[i, j]\n        w = v * 0.5\n        B[i, j] = A[i, j]\n        B[i, j + 1] = w + B[i, j + 1]\n        B[i, j + 2] = w - B[i, j]",
    "smallest ones": "for j in range(6):\n    s = A[0, j]\n    lo = T.min(B[0, 0], s)\n    hi = T.max(B[0, 0], s)\n    B[0, 0] = lo\n    lo2 = T.min(B[0, 1], hi)\n    hi2 = T.max(B[0, 1], hi)\n    B[0, 1] = lo2\n    B[0, 2] = T.min(B[0, 2], hi2)",
}  # fmt: skip


@pytest.mark.parametrize("body", some(VALUES.values(), 0.23), ids=VALUES.keys())
def test_values_of_a_step_are_worked_out_again_where_nothing_changes_them(body: str) -> None:
    func = read(body)
    assert_all_agree(func, random_inputs(func, np.random.default_rng(1)))


@pytest.mark.parametrize(("name", "left"), [("a value that is pushed on", 0), ("smallest ones", 2)])
def test_values_give_way_unless_a_store_comes_between(name: str, left: int) -> None:
    program = normalize(read(VALUES[name]))
    found = worked_out_again(program.statements, program.depth, program.policy)
    assert found is not None
    assert len({s.buffer for s in found} & set(program.depth)) == left
