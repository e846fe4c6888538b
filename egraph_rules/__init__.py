"""Equality saturation over loop programs: contexts, rules, cost and extraction."""

from egraph_rules.authoring.proposal import Here, rewrite, rewrite_expr
from egraph_rules.authoring.rule import Number, Rule, Term, Truth, defined, rule
from egraph_rules.check import check_rule
from egraph_rules.check.registration import register
from egraph_rules.expressions import prove, simplify
from egraph_rules.modules.program import optimize
from egraph_rules.modules.queries import padding_of, suggest_padding
from egraph_rules.modules.result import ModuleResult
from egraph_rules.optimization import Report, Result
from egraph_rules.rules.registry import registered_rules, unregister
from ir.floats import Floats

__all__ = [
    "Floats",
    "Here",
    "ModuleResult",
    "Number",
    "Report",
    "Result",
    "Rule",
    "Term",
    "Truth",
    "check_rule",
    "defined",
    "optimize",
    "padding_of",
    "prove",
    "register",
    "registered_rules",
    "rewrite",
    "rewrite_expr",
    "rule",
    "simplify",
    "suggest_padding",
    "unregister",
]
