"""Proofs of rules over integers and booleans by z3: for all values, all widths, and whatever is undef."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from egraph_rules.authoring.rule import ANY, BOOL, FLOAT, INTEGER, Defined, Number, Rule, Term, Truth, is_number
from egraph_rules.check.instances import Instances, pattern_variables
from egraph_rules.check.meaning import Bounds, Formula, Meaning, Translator, Untranslatable, fault_name, undef_name, z3
from egraph_rules.check.trial import Trial
from ir.arith import Scalar
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import Binary, Const, Expr, Select, Unary, Var
from ir.testing.refinement import annihilates
from ir.traverse import walk_expr

# Steps of z3, which are the same on every machine, unlike seconds; about a second.
_STEPS = 6_000_000
_LEAST = 128  # the smallest signed dtype reaches from -128 to 127

Answer = Literal["proven", "refuted", "time-out"]


class Attempt(Struct, frozen=True):
    """What trying to prove a rule came to: in words, and as a test of what z3 takes for a counterexample.

    `possible` says that z3 knows values for which the conditions hold and the pattern does not fault: a proof about no
    values at all proves nothing.
    """

    proven: bool = False
    how: str = ""
    possible: bool = False
    trials: tuple[Trial, ...] = ()


def attempt(rule: Rule) -> Attempt:
    """Try to prove a rule for all values of its variables."""
    if rule.pattern is None or rule.replacement is None:
        return Attempt()
    real = rule.kinds is FLOAT
    if real and Floats.REASSOCIATE not in rule.floats and Floats.FINITE not in rule.floats:
        return Attempt()  # exact to the bit, of which real numbers tell nothing
    how: list[str] = []
    context = z3().Context()
    possible = False
    try:
        for case in _cases(rule, context):
            answer, model = _ask(rule, case, context, real=real)
            if answer != "proven" and case.parts:  # too hard at once, or wrong for a range that no dtype has
                answer, model = _each(rule, case, context)
            if answer == "refuted":
                return Attempt(
                    how="z3 finds a counterexample that does not show when run", trials=_trials(rule, case, model)
                )
            if answer == "time-out":
                return Attempt(how=f"z3: time-out for {case.name}")
            how.append(case.name)
            possible = possible or _possible(rule, case, context, real=real)
    except Untranslatable as problem:
        return Attempt(how=f"not proven: z3 gets no {problem}")
    if real:
        return Attempt(how="proven by z3 over the reals, which do not round")
    scope = how[0] if len(how) == 1 else f"{how[0]}, signed of any width and {how[1]} to {how[-1]}"
    return Attempt(proven=True, how=f"proven by z3 for {scope}", possible=possible)


class _Case(Struct, frozen=True):
    """Dtypes for which a rule is proven at once."""

    name: str
    bounds: Bounds | None
    assume: Formula
    dtype: DType
    parts: tuple[DType, ...] = ()


_SIGNED = (DType.INT8, DType.INT16, DType.INT32, DType.INT64)
_UNSIGNED = (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64)


def _cases(rule: Rule, context: Formula) -> Iterator[_Case]:
    lib = z3()
    yes = lib.BoolVal(True, context)
    if rule.kinds is BOOL:
        yield _Case("all booleans", None, yes, DType.BOOL)
    elif rule.kinds is ANY:
        _only_selects(rule)
        yield _Case("all values", None, yes, DType.INT32)
    elif rule.kinds is FLOAT:
        yield _Case("the reals", None, yes, DType.FLOAT64)
    else:
        # One proof for a range of any size is one for every signed dtype, and for integers without bounds.
        reach = lib.Int("reach of the dtype", context)
        yield _Case("all integers", Bounds(-reach, reach - 1), reach >= _LEAST, DType.INT32, _SIGNED)
        if rule.kinds is INTEGER:
            for dtype in _UNSIGNED:
                yield _Case(str(dtype), Bounds(dtype.min, dtype.max, dtype.max + 1), yes, dtype)


def _only_selects(rule: Rule) -> None:
    """Check that a rule for every dtype moves values about and computes none, so that integers can stand for all."""
    for part in (rule.pattern, rule.replacement, *(c for c in rule.conditions if isinstance(c, Expr))):
        assert part is not None
        for expr in walk_expr(part):
            if not isinstance(expr, (Select, Term, Truth)) and expr.dtype is not DType.BOOL:
                raise Untranslatable("arithmetic of any dtype")


def _each(rule: Rule, case: _Case, context: Formula) -> tuple[Answer, Any]:
    """One dtype after the other, where their common proof fails."""
    yes = z3().BoolVal(True, context)
    for dtype in case.parts:
        answer, model = _ask(rule, _Case(str(dtype), Bounds(dtype.min, dtype.max), yes, dtype), context, real=False)
        if answer != "proven":
            return answer, model
    return "proven", None


def _ask(rule: Rule, case: _Case, context: Formula, *, real: bool) -> tuple[Answer, Any]:
    lib = z3()
    solver = _solver(context)
    solver.add(case.assume, lib.Not(claim(rule, context, case.bounds, real=real)))
    found = solver.check()
    if found == lib.unsat:
        return "proven", None
    return ("refuted", solver.model()) if found == lib.sat else ("time-out", None)


def _possible(rule: Rule, case: _Case, context: Formula, *, real: bool) -> bool:
    """Whether there are values for which a rule claims anything."""
    solver = _solver(context)
    solver.add(case.assume, _promise(rule, context, case.bounds, real=real)[0])
    return bool(solver.check() == z3().sat)


def _solver(context: Formula) -> Any:
    solver = z3().Solver(ctx=context)
    solver.set("rlimit", _STEPS)
    solver.set("random_seed", 0)
    return solver


def claim(rule: Rule, context: Formula, bounds: Bounds | None = None, *, real: bool = False) -> Formula:
    """That a rule holds: where its conditions do and the pattern does not fault, the replacement means the same.

    Raises:
        Untranslatable: an operator has no translation.
    """
    return z3().Implies(*_promise(rule, context, bounds, real=real))


def _promise(rule: Rule, context: Formula, bounds: Bounds | None, *, real: bool) -> tuple[Formula, Formula]:
    """When a rule claims something, and what."""
    assert rule.pattern is not None
    assert rule.replacement is not None
    lib = z3()
    given: list[Formula] = []
    zero = annihilates(rule.floats)
    exact, ranged = (Translator(context, limits, real, zero, facts=given) for limits in (None, bounds))
    for variable in pattern_variables(rule):
        if bounds is not None and not isinstance(variable, Truth) and variable.dtype is not DType.BOOL:
            name = exact.variable(variable).value
            given += [name >= bounds.low, name <= bounds.high]
    for condition in rule.conditions:
        if isinstance(condition, Defined):
            given.append(lib.Not(exact.meaning(condition.term).undef))
        else:  # a condition that was proven has a value
            holds = exact.meaning(condition)
            given += [holds.value, lib.Not(holds.undef), lib.Not(holds.fault)]
    before = ranged.meaning(rule.pattern)
    after = _replacement(rule.replacement, exact, ranged, given)
    same = lib.And(
        lib.Not(after.fault),
        before.undef == after.undef,
        lib.Implies(lib.Not(before.undef), before.value == after.value),
    )
    return lib.And(*given, lib.Not(before.fault)), same


def _replacement(expr: Expr, exact: Translator, ranged: Translator, given: list[Formula]) -> Meaning:
    """The meaning of a replacement, in which the engine computes what it can; the result has the dtype, or no match."""
    parts: dict[str, Meaning] = {}

    def settled(part: Expr) -> Expr:
        if not isinstance(part, (Const, Var)) and is_number(part):
            name = f"part {len(parts)}"
            value = exact.meaning(part)
            given.append(z3().Not(value.fault))
            if ranged.bounds is not None and part.dtype is not DType.BOOL:
                given.extend((value.value >= ranged.bounds.low, value.value <= ranged.bounds.high))
            number = Number(name, part.dtype)
            given.append(exact.variable(number).value == value.value)
            parts[name] = value
            return number
        match part:
            case Unary(op=op, operand=a):
                return Unary(op, settled(a))
            case Binary(op=op, lhs=a, rhs=b):
                return Binary(op, settled(a), settled(b))
            case Select(cond=c, then=a, other=b):
                return Select(settled(c), settled(a), settled(b))
            case _:
                return part

    return ranged.meaning(settled(expr))


def _trials(rule: Rule, case: _Case, model: Any) -> tuple[Trial, ...]:
    """z3's counterexample as programs, in the dtypes that hold its values; the interpreter has the last word."""
    lib = z3()
    values: dict[str, Scalar | None] = {}
    faults: set[str] = set()
    for variable in pattern_variables(rule):
        undef, fault = (lib.Bool(name, model.ctx) for name in (undef_name(variable), fault_name(variable)))
        values[variable.name] = None if lib.is_true(model[undef]) else _value(variable, model)
        if lib.is_true(model[fault]):
            faults.add(variable.name)
    instances = Instances(rule)
    dtypes = case.parts if case.parts else (case.dtype,)
    found = [instances.given(dtype, values, faults) for dtype in dtypes if _fit(dtype, rule, values)]
    return tuple(trial for trial in found if trial is not None)


def _value(variable: Var, model: Any) -> Scalar:
    lib = z3()
    if isinstance(variable, Truth) or variable.dtype is DType.BOOL:
        return bool(lib.is_true(model[lib.Bool(variable.name, model.ctx)]))
    if variable.dtype.is_float:
        found = model[lib.Real(variable.name, model.ctx)]
        return 0.0 if found is None else float(found.as_fraction())
    found = model[lib.Int(variable.name, model.ctx)]
    return 0 if found is None else int(found.as_long())


def _fit(dtype: DType, rule: Rule, values: dict[str, Scalar | None]) -> bool:
    integers = [
        values[v.name]
        for v in pattern_variables(rule)
        if not (isinstance(v, Truth) or v.dtype is DType.BOOL or v.dtype.is_float)
    ]
    return all(v is None or dtype.min <= v <= dtype.max for v in integers)
