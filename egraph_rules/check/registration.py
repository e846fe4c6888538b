"""Registering rules: a rule joins all searches once its check has not refuted it."""

from __future__ import annotations

from egraph_rules.authoring.rule import Rule
from egraph_rules.check.checker import check_rule
from egraph_rules.check.verdict import refuse
from egraph_rules.rules.registry import add


def register(rule: Rule, *, unchecked: bool = False) -> Rule:
    """Add a rule to all later searches, after checking it; gives the rule back.

    A registered rule of the same name is replaced. `unchecked=True` skips the check.

    Raises:
        RuleError: the check refutes the rule, or cannot put it or one of its conditions to a test; the error shows the
            smallest counterexample. Or a built-in rule has this name.
    """
    if not unchecked:
        verdict = check_rule(rule)
        if not verdict.ok:
            raise refuse(verdict)
    add(rule)
    return rule
