"""Proofs of rules: z3's account of an expression is the interpreter's, and what is not proven is said to be so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrong_rules import and_commutes, sub_self, successor

from egraph_rules.authoring.rule import SIGNED, Number, Rule, Term, rule
from egraph_rules.check import check_rule, proof
from egraph_rules.check.meaning import Bounds, Translator, Untranslatable, fault_name, undef_name, z3
from egraph_rules.check.proof import attempt
from egraph_rules.rules import all_rules
from ir.dtypes import DType
from ir.errors import InterpretError
from ir.nodes import Expr, Undef, Var
from ir.semantics.machine import Machine, Undefined
from ir.testing.expressions import exprs
from ir.traverse import map_expr
from profiles import some

RULES = {r.name: r for r in all_rules()}
INT8 = Bounds(-128, 127)
VALUES = st.one_of(st.integers(-128, 127), st.sampled_from((0, 1, -1, 2, 127, -128)), st.none())


def by_z3(expr: Expr, values: dict[str, int | None]) -> object:
    """The value, "undef" or "fault" that z3 gives an expression over int8; None if it cannot say."""
    lib = z3()
    context = lib.Context()
    facts: list[Any] = []
    terms = map_expr(expr, lambda e: Term(e.name, e.dtype) if isinstance(e, Var) else e)
    try:
        found = Translator(context, INT8, False, facts=facts).meaning(terms)
    except Untranslatable:
        return None
    solver = lib.Solver(ctx=context)
    solver.add(*facts)
    for name, value in values.items():
        term = Term(name, DType.INT8)
        solver.add(lib.Bool(undef_name(term), context) == (value is None))
        solver.add(lib.Not(lib.Bool(fault_name(term), context)))
        solver.add(lib.Int(name, context) == (0 if value is None else value))
    assert solver.check() == lib.sat
    model = solver.model()
    if lib.is_true(model.eval(found.fault, model_completion=True)):
        return "fault"
    if lib.is_true(model.eval(found.undef, model_completion=True)):
        return "undef"
    value = model.eval(found.value, model_completion=True)
    return lib.is_true(value) if lib.is_bool(value) else value.as_long()


def by_interpreter(expr: Expr, values: dict[str, int | None]) -> object:
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update({Var(n, DType.INT8): v for n, v in values.items() if v is not None})
    there = map_expr(expr, lambda e: Undef(e.dtype) if isinstance(e, Var) and values[e.name] is None else e)
    try:
        value = machine.value(there)
    except InterpretError:
        return "fault"
    return "undef" if isinstance(value, Undefined) else value


@given(exprs(DType.INT8), VALUES, VALUES, VALUES)
def test_z3_and_the_interpreter_agree(expr: Expr, x: int | None, y: int | None, z: int | None) -> None:
    values = {"x": x, "y": y, "z": z}
    found = by_z3(expr, values)
    if found is not None:
        assert found == by_interpreter(expr, values)


@pytest.mark.parametrize(
    "name",
    some(["integer.floordiv_of_multiple", "integer.divmod_rejoins", "integer.min_commutes", "boolean.not_lt"], 0.5),
)
def test_integer_and_boolean_rules_are_proven(name: str) -> None:
    verdict = check_rule(RULES[name], examples=5)
    assert verdict.proven
    assert "proven by z3 for all integers" in verdict.how


@pytest.mark.parametrize("item", [sub_self, and_commutes, successor], ids=lambda r: r.name)
def test_wrong_rules_are_not_proven(item: Rule) -> None:
    found = attempt(item)
    assert not found.proven
    assert found.trials


def test_a_time_out_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_STEPS", 100)
    verdict = check_rule(RULES["integer.add_commutes"], examples=20)
    assert verdict.status == "tested"
    assert "time-out" in verdict.how


def test_float_rules_are_not_proven_by_real_numbers() -> None:
    found = attempt(RULES["floating.mul_zero"])
    assert not found.proven
    assert "over the reals" in found.how


def test_operators_without_translation_are_only_tested() -> None:
    @rule(on=SIGNED, because="a shift left multiplies", family="near")
    def shifted(x: Term, a: Number):
        return (x << 1) + a, x * 2 + a

    verdict = check_rule(shifted, examples=100)
    assert verdict.status == "tested"
    assert "not proven" in verdict.how
