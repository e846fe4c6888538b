"""What z3 is told of an expression is what the interpreter computes, for every operator and dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from egraph_rules.contexts import smt
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.nodes import Binary, BinaryOp, Expr, Undef, Var, const
from ir.semantics.machine import Machine
from ir.testing.expressions import exprs
from ir.traverse import walk_expr

DTYPES = (DType.INT32, DType.INT8, DType.INT64, DType.UINT8, DType.BOOL)


def evaluated(expr: Expr, values: dict[Var, int]) -> bool | int | None:
    """The value of an expression, or None if it faults."""
    machine = Machine(sanitize=False, rng=np.random.default_rng(0))
    machine.scalars.update(values)
    try:
        found = machine.value(expr)
    except InterpretError:
        return None
    assert isinstance(found, (bool, int))
    return found


def equals(expr: Expr, value: bool | int | None) -> Expr:
    assert value is not None
    return Binary("eq", expr, const(value, expr.dtype))


@given(st.data(), st.sampled_from(DTYPES))
def test_values_are_the_interpreters(data: st.DataObject, dtype: DType):
    expr = data.draw(exprs(dtype))
    assume(not any(e.dtype.is_float for e in walk_expr(expr)))
    kind = DType.INT32 if dtype is DType.BOOL else dtype
    values = {Var(n, kind): data.draw(st.integers(-9 if kind.is_signed else 0, 9)) for n in "xyz"}
    value = evaluated(expr, values)
    if value is None:
        reject()
    found = smt.prove(equals(expr, value), [(equals(v, n), True) for v, n in values.items()])
    assert found is not False
    wrong = not value if dtype is DType.BOOL else value - 1 if value == dtype.max else value + 1
    assert smt.prove(equals(expr, wrong), [(equals(v, n), True) for v, n in values.items()]) is not True


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_division_rounds_as_the_interpreter_does(op: BinaryOp):
    x, y = Var("x", DType.INT32), Var("y", DType.INT32)
    for a in (-7, -6, 0, 6, 7):
        for b in (-3, -2, 2, 3):
            value = evaluated(Binary(op, x, y), {x: a, y: b})
            known = [(equals(x, a), True), (equals(y, b), True)]
            assert smt.prove(equals(Binary(op, x, y), value), known) is True
            assert smt.prove(equals(Binary(op, x, const(b, DType.INT32)), value), known) is True


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_a_divisor_that_may_be_zero_leaves_a_claim_open(op: BinaryOp):
    x, m = Var("x", DType.INT32), Var("m", DType.INT32)
    claim = Binary("eq", Binary(op, x, m), Binary(op, x, m))
    assert smt.prove(claim, []) is None
    assert smt.prove(claim, [(Binary("ne", m, const(0, DType.INT32)), True)]) is True


def test_wrapping_is_known():
    u, x = Var("u", DType.UINT8), Var("x", DType.INT32)
    one = const(1, DType.UINT8)
    assert smt.prove(Binary("gt", Binary("add", u, one), u), []) is None  # 255 wraps to 0
    assert smt.prove(Binary("gt", Binary("add", x, const(1, DType.INT32)), x), []) is True


def test_undef_has_no_formula():
    undef = Undef(DType.INT32)
    assert smt.prove(Binary("eq", undef, undef), []) is None


def test_running_out_of_steps_proves_nothing():
    x, m = Var("x", DType.INT32), Var("m", DType.INT32)
    claim = Binary("eq", Binary("floordiv", Binary("mul", x, m), m), x)
    positive = [(Binary("gt", m, const(0, DType.INT32)), True)]
    assert smt.prove(claim, positive) is True
    assert smt.prove(claim, positive, steps=1) is None
