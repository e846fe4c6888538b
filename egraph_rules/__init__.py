"""Equality saturation over loop programs: contexts, rules, cost and extraction."""

from egraph_rules.expressions import prove, simplify
from egraph_rules.optimize import Report, Result, optimize
from egraph_rules.rule import Floats, Number, Rule, Term, Truth, defined, rule

__all__ = [
    "Floats",
    "Number",
    "Report",
    "Result",
    "Rule",
    "Term",
    "Truth",
    "defined",
    "optimize",
    "prove",
    "rule",
    "simplify",
]
