"""Assumptions on whole nests: the fast path agrees with the interpreter, and leaves it what it does not handle."""

from __future__ import annotations

import numpy as np
import pytest

from ir import parse
from ir.errors import InterpretError
from ir.nodes import PrimFunc, Stmt
from ir.semantics.bulk import Bulk, Unsupported
from ir.semantics.inputs import leading_assumptions, random_array, random_inputs
from ir.semantics.machine import Machine

PARAMS = 'A: T.Buffer((3, 4), "float32"), P: T.Buffer((12,), "int32")'


def kernel(body: str, params: str = PARAMS) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return parse(f"from ir import script as T\n@T.prim_func\ndef f({params}):\n{lines}    P[0] = 1\n").funcs[0]


def machine_for(func: PrimFunc) -> tuple[Machine, list[Stmt]]:
    rng = np.random.default_rng(3)
    machine = Machine(sanitize=True, rng=rng)
    for buffer in func.buffers:
        machine.add_buffer(buffer, random_array(machine.shape(buffer), buffer.dtype, rng))
    return machine, list(leading_assumptions(func.body))


def bulk_of(machine: Machine) -> Bulk:
    return Bulk.over({n: m.values for n, m in machine.memory.items()}, machine.scalars)


@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.grid(3, 4):\n    T.assume(4 * i + j < 10 or A[i, j] == 0.5)",
        "for i, j in T.grid(3, 4):\n    T.assume(4 * i + j < 10 or A[i, j] == 0.1)",
        "for i, j in T.grid(3, 4):\n    T.assume(A[i, j] == -1.0 or (2 <= 4 * i + j and 4 * i + j < 10))",
        "for i, j in T.grid(3, 4):\n    if i == 2 and j >= 2:\n        T.assume(A[i, j] == 7.0)",
        "for i in T.serial(2, 12):\n    T.assume((i - 9) // 4 != 0 or A[i // 4, i % 4] == 2.0)",
        "for i in range(12):\n    k = 11 - i\n    T.assume(not (k % 3 != 1) or P[k] == 2 * k - 5)",
        "for i in range(12):\n    T.assume(3 - i == P[i])",
        "for i in range(0):\n    T.assume(P[i] == 9)",
        "for i, j in T.grid(3, 4):\n    T.assume(i < 2 or A[i, j] == T.undef())",
        "for i in range(12):\n    T.assume(i >= 3 or P[i + 3 * (i % 2)] == i and A[0, i] == 1.0)",
    ],
)
def test_satisfied_in_bulk_holds_in_the_interpreter(body: str) -> None:
    machine, assumptions = machine_for(kernel(body))
    assert assumptions
    for stmt in assumptions:
        assert bulk_of(machine).run(stmt, satisfy=True)
        assert bulk_of(machine).run(stmt, satisfy=False)
        machine.run(stmt)


def test_what_is_satisfied_one_after_the_other_is_checked_again() -> None:
    machine, (stmt,) = machine_for(kernel("for i in range(1, 12):\n    T.assume(P[i] == P[i - 1] + 1)"))
    bulk_of(machine).run(stmt, satisfy=True)
    assert not bulk_of(machine).run(stmt, satisfy=False)
    with pytest.raises(InterpretError):
        machine.run(stmt)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [("i < 12", True), ("i < 11", False), ("P[i] < 100", True), ("P[i] == 50", False), ("i > 5 or i < 6", True)],
)
def test_a_false_assumption_is_seen(condition: str, holds: bool) -> None:
    machine, (stmt,) = machine_for(kernel(f"for i in range(12):\n    T.assume({condition})"))
    assert bulk_of(machine).run(stmt, satisfy=False) is holds


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(13):\n    T.assume(P[i] == 1)",  # leaves the buffer
        "for i in range(3):\n    T.assume(4 // i == 1)",  # divides by zero
        "for i in range(3):\n    T.assume(2147483647 + i > 0)",  # overflows
        "for i in range(3):\n    for j in range(i):\n        T.assume(P[j] == 1)",  # is no box
        "for i in range(3):\n    T.assume(T.exp(A[i, 0]) > 0.0)",
    ],
)
def test_faults_and_rare_forms_are_left_to_the_interpreter(body: str) -> None:
    machine, (stmt,) = machine_for(kernel(body))
    with pytest.raises(Unsupported):
        bulk_of(machine).run(stmt, satisfy=False)


def test_guarded_operands_are_not_evaluated_where_they_would_fault() -> None:
    machine, (stmt,) = machine_for(kernel("for i in range(20):\n    T.assume(i >= 12 or P[i] == 4)"))
    assert bulk_of(machine).run(stmt, satisfy=True)
    assert (machine.memory["P"].values == 4).all()


def test_large_buffers_take_no_work() -> None:
    func = kernel(
        "for i, j in T.grid(2048, 1024):\n    T.assume(j < 1000 or A[i, j] == 0.0)",
        'A: T.Buffer((2048, 1024), "float32"), P: T.Buffer((1,), "int32")',
    )
    inputs = random_inputs(func, np.random.default_rng(0), work=1_000)  # one by one, there are millions
    matrix = np.asarray(inputs["A"])
    assert not matrix[:, 1000:].any()
    assert (matrix[:, :1000] != 0).mean() > 0.9
