"""Equality saturation over loop programs: contexts, rules, cost and extraction.

The names load on first use: what only asks for prices, or starts a program whose kernels are kept, needs no e-graph.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ir.floats import Floats

if TYPE_CHECKING:
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

_HOMES = {
    "authoring.proposal": ("Here", "rewrite", "rewrite_expr"),
    "authoring.rule": ("Number", "Rule", "Term", "Truth", "defined", "rule"),
    "check": ("check_rule",),
    "check.registration": ("register",),
    "expressions": ("prove", "simplify"),
    "modules.program": ("optimize",),
    "modules.queries": ("padding_of", "suggest_padding"),
    "modules.result": ("ModuleResult",),
    "optimization": ("Report", "Result"),
    "rules.registry": ("registered_rules", "unregister"),
}

__all__ = [
    "Floats", "Here", "ModuleResult", "Number", "Report", "Result", "Rule", "Term", "Truth", "check_rule", "defined",
    "optimize", "padding_of", "prove", "register", "registered_rules", "rewrite", "rewrite_expr", "rule", "simplify",
    "suggest_padding", "unregister",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"egraph_rules.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
