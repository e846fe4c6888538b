"""Registering rules: a rule joins all searches once its check has not refuted it."""

from __future__ import annotations

from egraph_rules.authoring.instructions import rule_of
from egraph_rules.authoring.rule import Rule
from egraph_rules.check.checker import check_rule
from egraph_rules.check.verdict import refuse
from egraph_rules.rules.registry import add
from ir.nodes import PrimFunc
from ir.semantics.verify import check_entry


def register(rule: Rule | PrimFunc, *, unchecked: bool = False) -> Rule:
    """Add a rule to all later searches, after checking it; gives the rule back.

    An instruction, a kernel under `@T.instruction`, stands for the rule that nests which do the same are calls of it;
    its JAX text is compared with its body when it is first emitted. A registered rule of the same name is replaced.
    `unchecked=True` skips the check.

    Raises:
        RuleError: the check refutes the rule, or cannot put it or one of its conditions to a test; the error shows the
            smallest counterexample. Or a built-in rule has this name; a kernel is no instruction.
        VerifyError: an instruction has no meaning.
    """
    if isinstance(rule, PrimFunc):
        check_entry(rule)
        rule = rule_of(rule)  # what it says of a nest is proven for that nest
    elif not unchecked:
        verdict = check_rule(rule)
        if not verdict.ok:
            raise refuse(verdict)
    add(rule)
    return rule
