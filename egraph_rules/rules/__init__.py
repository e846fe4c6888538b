"""The built-in rules, one family a file."""

from __future__ import annotations

from egraph_rules.rule import Rule
from egraph_rules.rules.boolean import BOOLEAN_RULES
from egraph_rules.rules.floating import FLOAT_RULES
from egraph_rules.rules.integer import INTEGER_RULES
from egraph_rules.rules.statements import STATEMENT_RULES


def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule, in order of its family."""
    return (*INTEGER_RULES, *FLOAT_RULES, *BOOLEAN_RULES, *STATEMENT_RULES)
