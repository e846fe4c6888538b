"""What the strategies draw is what they promise: valid programs that mostly run, and well-typed expressions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import assert_refines
from ir import PrimFunc, parse, to_script
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.nodes import Const, Evaluate, Expr, For, Var
from ir.nodes import PrimFunc as Function
from ir.semantics.interpret import interpret, interpret_with_undef
from ir.semantics.verify import verify
from ir.testing.expressions import exprs
from ir.testing.inputs import inputs
from ir.testing.programs import programs
from ir.traverse import all_exprs, walk

# Data may be undef where it decides, and integers may overflow; nothing else may go wrong.
EXPECTED_FAULTS = {"undef-condition", "overflow"}


@given(programs())
def test_programs_are_valid(func: PrimFunc) -> None:
    assert verify(func).unproven == ()


@given(programs(), st.data())
def test_programs_run(func: PrimFunc, data: st.DataObject) -> None:
    given = data.draw(inputs(func))
    try:
        interpret(func, **given, sanitize=True)
    except InterpretError as error:
        assert error.code in EXPECTED_FAULTS, error


@given(programs(), st.integers(0, 1000))
def test_a_program_refines_itself(func: PrimFunc, seed: int) -> None:
    assert_refines(func, func, np.random.default_rng(seed), runs=1, exact=True)


@given(programs(), st.data())
def test_printing_keeps_the_meaning(func: PrimFunc, data: st.DataObject) -> None:
    given = data.draw(inputs(func))

    def outcome(f: PrimFunc) -> object:
        try:
            return [(np.where(u, 0, v).tolist(), u.tolist()) for v, u in interpret_with_undef(f, **given)]
        except InterpretError as error:
            return error.code

    assert outcome(parse(to_script(func)).funcs[0]) == outcome(func)


def features(func: PrimFunc) -> set[str]:
    found = {f"rank {len(b.shape)}" for b in func.buffers}
    for stmt in walk(func.body):
        found.add(type(stmt).__name__)
        if isinstance(stmt, For):
            extent = stmt.extent
            found.add(f"extent {extent.value}" if isinstance(extent, Const) else f"extent {type(extent).__name__}")
            if isinstance(stmt.start, Const):
                found.add(f"start {stmt.start.value}")
    return found | {type(e).__name__ for e in all_exprs(func.body)}


def test_the_hard_cases_are_drawn() -> None:
    seen: set[str] = set()

    @settings(max_examples=300, derandomize=True, database=None)
    @given(programs())
    def collect(func: PrimFunc) -> None:
        seen.update(features(func))

    collect()
    kinds = {"rank 1", "rank 2", "rank 3", "extent 0", "extent 1", "extent Var", "extent Binary", "start -1", "start 2"}
    assert kinds <= seen
    assert {"Alloc", "Assume", "Block", "If", "Let", "Select", "Undef"} <= seen


@given(st.data(), st.sampled_from([d for d in DType if d is not DType.BFLOAT16]))
def test_expressions_are_well_typed(data: st.DataObject, dtype: DType) -> None:
    expr: Expr = data.draw(exprs(dtype))
    assert expr.dtype is dtype
    names = DType.INT32 if dtype is DType.BOOL else dtype
    verify(Function("f", tuple(Var(n, names) for n in "xyz"), Evaluate(expr)))
