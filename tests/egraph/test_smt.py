"""What z3 is told of an expression is what the interpreter computes, for every operator and dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from egraph_rules.contexts import smt
from egraph_rules.contexts.sampled import Evidence, Open
from ir import parse_expr
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.nodes import Binary, BinaryOp, Expr, Undef, Var, const
from ir.semantics.machine import Machine
from ir.testing.expressions import exprs
from ir.traverse import walk_expr
from profiles import some

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
    found = smt.decide(equals(expr, value), [(equals(v, n), True) for v, n in values.items()])
    assert found is not False
    wrong = not value if dtype is DType.BOOL else value - 1 if value == dtype.max else value + 1
    assert smt.decide(equals(expr, wrong), [(equals(v, n), True) for v, n in values.items()]) is not True


@pytest.mark.parametrize("op", some(["floordiv", "floormod", "truncdiv", "truncmod"], 0.5))
def test_division_rounds_as_the_interpreter_does(op: BinaryOp):
    x, y = Var("x", DType.INT32), Var("y", DType.INT32)
    for a in (-7, -6, 0, 6, 7):
        for b in (-3, -2, 2, 3):
            value = evaluated(Binary(op, x, y), {x: a, y: b})
            known = [(equals(x, a), True), (equals(y, b), True)]
            assert smt.decide(equals(Binary(op, x, y), value), known) is True
            assert smt.decide(equals(Binary(op, x, const(b, DType.INT32)), value), known) is True


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_a_divisor_that_may_be_zero_leaves_a_claim_open(op: BinaryOp):
    x, m = Var("x", DType.INT32), Var("m", DType.INT32)
    claim = Binary("eq", Binary(op, x, m), Binary(op, x, m))
    assert isinstance(smt.decide(claim, []), Open)
    assert smt.decide(claim, [(Binary("ne", m, const(0, DType.INT32)), True)]) is True


def test_wrapping_is_known():
    u, x = Var("u", DType.UINT8), Var("x", DType.INT32)
    one = const(1, DType.UINT8)
    assert isinstance(smt.decide(Binary("gt", Binary("add", u, one), u), []), Open)  # 255 wraps to 0
    assert smt.decide(Binary("gt", Binary("add", x, const(1, DType.INT32)), x), []) is True


def test_undef_has_no_formula():
    undef = Undef(DType.INT32)
    assert isinstance(smt.decide(Binary("eq", undef, undef), []), Open)


def test_running_out_of_steps_proves_nothing():
    x, m = Var("x", DType.INT32), Var("m", DType.INT32)
    claim = Binary("eq", Binary("floordiv", Binary("mul", x, m), m), x)
    positive = [(Binary("gt", m, const(0, DType.INT32)), True)]
    assert smt.decide(claim, positive) is True
    assert isinstance(smt.decide(claim, positive, steps=1), Open)


@given(st.data())
def test_dividends_with_multiples_of_the_divisor_give_what_the_interpreter_computes(data: st.DataObject):
    x, y, m = (Var(n, DType.INT32) for n in "xym")
    terms = [x * m, m * y * -2, x % m, (x % m) * y, y, x // m * m, (x + y * m) % m, m]
    total = sum(data.draw(st.lists(st.sampled_from(terms), min_size=1, max_size=4)), const(0, DType.INT32))
    expr = Binary(data.draw(st.sampled_from(["floordiv", "floormod"])), total, m)
    values = {v: data.draw(st.integers(-5, 5)) for v in (x, y)} | {m: data.draw(st.sampled_from((-3, -1, 1, 2, 5)))}
    value = evaluated(expr, values)
    if value is None:
        reject()
    known = [(equals(v, n), True) for v, n in values.items()]
    assert smt.decide(equals(expr, value), known) is True
    assert smt.decide(equals(expr, value + 1), known) is False


@pytest.mark.parametrize("hidden, kept", [("m - m", "(m - m) // m"), ("x + 1", "x + m // m")])
def test_points_refute_forms_that_hide_a_division_by_zero(hidden: str, kept: str):
    names = dict.fromkeys("xm", "int32")
    old, bad, good = (parse_expr(text, names) for text in (kept, hidden, kept))
    evidence = Evidence([], lambda var: (0, 5))
    assert evidence.refines(bad, old) is False
    assert evidence.refines(good, old) is True
    assert evidence.truth(Binary("ge", old, const(-9, DType.INT32))) == (Open.DEPENDS, ())


def test_a_remainder_says_nothing_of_a_quotient_that_leaves_its_dtype():
    names = dict.fromkeys("xm", "int8")
    known = [(parse_expr(text, names), True) for text in ("x <= -127", "m == -1")]
    assert isinstance(smt.decide(parse_expr("(x % m + m) % m == 0 and x == -127", names), known), Open)
