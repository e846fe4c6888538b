"""Side conditions of rules that have a pattern: whether each makes a difference, and which one a wrong rule lacks."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from egraph_rules.authoring.rule import BOOL, FLOAT, Defined, Number, Rule, Term, Truth, defined, question_of, show
from egraph_rules.check.instances import Instances, pattern_variables
from egraph_rules.check.proof import attempt
from egraph_rules.check.trial import refutation, run_trials
from ir.dtypes import DType
from ir.errors import RuleError
from ir.nodes import Binary, Expr, Var, const
from ir.testing.counterexample import Counterexample

_EXAMPLES = 150  # of a rule with one condition more


def idle_condition(rule: Rule, examples: int, seed: int) -> str | None:
    """A condition without which no counterexample is found, although none is known not to exist; None if there is none.

    A condition makes a difference if the rule without it is wrong for some values. That it is not needed at all is
    known only where z3 proves the rule without it.
    """
    for k, condition in enumerate(rule.conditions):
        loose = with_conditions(rule, (*rule.conditions[:k], *rule.conditions[k + 1 :]))
        if loose is None:
            continue
        proof = attempt(loose)
        if proof.proven or any(refutation(trial) is not None for trial in proof.trials):
            continue
        if run_trials(Instances(loose).make, examples, seed).counterexample is None:
            return show(condition)
    return None


def missing_condition(rule: Rule, found: Counterexample, seed: int) -> str | None:
    """A condition that makes a refuted rule right, as far as z3 or examples can tell; None if none is found."""
    fault = found.difference.rewritten.fault
    if fault is not None and fault.code == "overflow":
        return f"the replacement stays inside its dtype ({fault.message})"
    for conditions in _candidates(rule, found):
        whole = with_conditions(rule, (*rule.conditions, *conditions))
        if whole is not None and _holds(whole, seed):
            return " and ".join(f"defined({show(c.term)})" if isinstance(c, Defined) else _plain(c) for c in conditions)
    return None


def _plain(condition: Expr) -> str:
    text = show(condition)
    return text[1:-1] if text.startswith("(") else text


def with_conditions(rule: Rule, conditions: tuple[Expr | Defined, ...]) -> Rule | None:
    """A rule with other conditions, for checking only; None if they speak of too many variables."""
    try:
        question, asked = question_of(rule.name, conditions)
    except RuleError:
        return None
    return replace(rule, conditions=conditions, question=question, asked=asked)


def _holds(rule: Rule, seed: int) -> bool:
    tally = run_trials(Instances(rule).make, _EXAMPLES, seed)  # cheaper than a proof, and most candidates fail
    if tally.counterexample is not None:
        return False
    proof = attempt(rule)
    if proof.proven:
        return proof.possible
    return tally.matched > 0 and not any(refutation(trial) is not None for trial in proof.trials)


def _candidates(rule: Rule, found: Counterexample) -> Iterator[tuple[Expr | Defined, ...]]:
    """Conditions worth trying, the weakest and commonest first."""
    variables = pattern_variables(rule)
    terms = [v for v in variables if isinstance(v, (Term, Truth))]
    if "undef" in found.difference.what:
        yield from ((defined(v),) for v in terms)
        if len(terms) > 1:
            yield tuple(defined(v) for v in terms)
    if rule.kinds in (BOOL, FLOAT):
        return
    numeric = [v for v in variables if not isinstance(v, Truth) and v.dtype is not DType.BOOL]
    for v in numeric:
        zero = const(0, v.dtype)
        yield from ((Binary(op, v, zero),) for op in ("ne", "ge", "gt", "le"))
    yield from _relations(numeric)
    for v in numeric:
        for other in terms:
            yield Binary("ge", v, const(0, v.dtype)), defined(other)


def _relations(variables: list[Var]) -> Iterator[tuple[Expr, ...]]:
    for v in variables:
        for other in variables:
            if not v.same(other):
                zero = const(0, v.dtype)
                numbers = isinstance(v, Number) and isinstance(other, Number)
                if numbers:
                    yield Binary("ne", other, zero), Binary("eq", Binary("floormod", v, other), zero)
                yield (Binary("le", v, other),)
                yield (Binary("lt", v, other),)
