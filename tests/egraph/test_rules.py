"""Every rule over expressions holds on the interpreter, on the inputs that break wrong rules; wrong ones are caught."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from egraph_rules import Term, rule
from egraph_rules.authoring.rule import INTEGER, SIGNED, Defined, Number, Rule, Truth, defined
from egraph_rules.rules import all_rules
from ir.errors import InterpretError, LoopsatError
from ir.floats import Floats
from ir.nodes import Binary, Expr, Select, Var
from ir.semantics.machine import Machine
from ir.traverse import free_vars, walk_expr
from profiles import some

EXPRESSION_RULES = [r for r in all_rules() if r.pattern is not None]
INTEGERS = (0, 1, -1, 2, -2, 3, -3, 4, 7, -8, 9, 100)
FLOATS = (0.0, 1.0, -1.0, 0.5, -2.25, 3.0)
_IDEMPOTENT = ("min", "max", "bitand", "bitor")
STRICT_FLOATS = (*FLOATS, -0.0, math.inf, -math.inf)


def variables(item: Rule) -> list[Var]:
    assert item.pattern is not None
    found: dict[str, Var] = {}
    for expr in walk_expr(item.pattern):
        if isinstance(expr, (Term, Number, Truth)):
            found[expr.name] = expr
    return list(found.values())


def choices(var: Var, item: Rule) -> tuple[object, ...]:
    if isinstance(var, Truth) or var.dtype.value == "bool":
        return (False, True)
    if var.dtype.is_float:
        return STRICT_FLOATS if item.floats is Floats.STRICT and isinstance(var, Term) else FLOATS
    return INTEGERS


def same(a: object, b: object, *, exact: bool, near: bool = False) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if near and math.isfinite(a):
            return math.isclose(a, b, rel_tol=1e-6)
        if a != a or b != b:
            return a != a and b != b
        return a == b and (not exact or math.copysign(1, a) == math.copysign(1, b))
    return a == b


def counterexample(item: Rule) -> dict[str, object] | None:
    """Values of the variables where pattern and replacement differ."""
    assert item.pattern is not None
    assert item.replacement is not None
    names = variables(item)
    for values in itertools.product(*(choices(v, item) for v in names)):
        machine = Machine(False, np.random.default_rng(0))
        machine.scalars.update(dict(zip(names, values, strict=True)))

        def value(expr: Expr, machine: Machine = machine) -> object:
            return machine.value(expr)

        try:
            if not all(value(c) for c in item.conditions if not isinstance(c, Defined)):
                continue
            want = value(item.pattern)
        except InterpretError:
            continue  # a fault promises nothing
        try:
            found = value(item.replacement)
        except InterpretError as error:
            found = error.code
        if not same(want, found, exact=item.floats is Floats.STRICT, near=Floats.APPROXIMATE in item.floats):
            return {v.name: x for v, x in zip(names, values, strict=True)} | {"pattern": want, "replacement": found}
    return None


@pytest.mark.parametrize("item", some(EXPRESSION_RULES, 0.15), ids=lambda r: r.name)
def test_rule_holds(item: Rule) -> None:
    assert counterexample(item) is None


@pytest.mark.parametrize("item", EXPRESSION_RULES, ids=lambda r: r.name)
def test_rule_that_forgets_a_reading_needs_it_defined(item: Rule) -> None:
    """Two readings of undef may differ, so fewer readings need a defined variable, except under an annihilator."""
    assert item.pattern is not None
    assert item.replacement is not None
    conditions = [c.term for c in item.conditions if isinstance(c, Defined)]
    conditions += item.asked  # a condition that was proven has a value
    for var in variables(item):
        if isinstance(var, Number):
            continue
        before = sum(e.same(var) for e in walk_expr(item.pattern))
        after = sum(e.same(var) for e in walk_expr(item.replacement))
        if after < before and not any(c.same(var) for c in conditions):
            annihilated = isinstance(item.pattern, Binary) and item.pattern.op in ("mul", "and", "or") and before == 1
            chosen = item.name.startswith("boolean.select_") and not isinstance(var, Truth)  # one arm is evaluated
            tested = isinstance(item.pattern, Select) and var in free_vars(item.pattern.cond)  # undef there is a fault
            # the lesser of two values that x may have is one that x may have, and any is the lesser of itself twice;
            # of two values that are arbitrary in every bit, what both have or one of them has is arbitrary
            idempotent = isinstance(item.pattern, Binary) and item.pattern.op in _IDEMPOTENT and after == 1
            allowed = annihilated or chosen or tested or idempotent
            assert allowed, f"{item.law} reads {var.name} {before} times, then {after}"


@rule(on=SIGNED, because="wrong: truncates where it must floor", family="wrong")
def half_of_negative(x: Term):
    return -x // 2, -(x // 2)


@rule(on=SIGNED, because="wrong: needs c to divide a", family="wrong")
def any_offset(x: Term, a: Number, c: Number):
    return (x + a) // c, x // c + a // c, c != 0


@rule(on=SIGNED, because="wrong: needs a positive factor", family="wrong")
def cancel_factor(x: Term, y: Term, c: Number):
    return x * c < y * c, x < y, c != 0


@rule(on=INTEGER, because="wrong: zero divided by zero", family="wrong")
def divide_self(x: Term):
    return x // x, x - x + 2, defined(x)


@pytest.mark.parametrize("item", [half_of_negative, any_offset, cancel_factor, divide_self], ids=lambda r: r.name)
def test_wrong_rules_are_caught(item: Rule) -> None:
    assert counterexample(item) is not None


def test_names_are_distinct_and_reasons_given() -> None:
    names = [r.name for r in all_rules()]
    assert len(names) == len(set(names))
    assert all(r.reason and r.law for r in all_rules())


def test_malformed_rules_are_refused() -> None:
    with pytest.raises(LoopsatError, match="states no reason"):

        @rule(on=SIGNED, because=" ")
        def silent(x: Term):
            return x + 0, x

    with pytest.raises(LoopsatError, match="must return"):

        @rule(on=SIGNED, because="half a rule")
        def half(x: Term):
            return (x + 0,)

    with pytest.raises(LoopsatError, match="not a comparison"):

        @rule(on=SIGNED, because="an odd condition")
        def odd(x: Term, c: Number):
            return x + c, x, c + 1
