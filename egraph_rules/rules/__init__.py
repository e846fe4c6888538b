"""The built-in rules, one family a file."""

from __future__ import annotations

from egraph_rules.rule import Rule
from egraph_rules.rules.affine import AFFINE_RULES
from egraph_rules.rules.boolean import BOOLEAN_RULES
from egraph_rules.rules.cases import CASE_RULES
from egraph_rules.rules.floating import FLOAT_RULES
from egraph_rules.rules.integer import INTEGER_RULES
from egraph_rules.rules.loops import LOOP_RULES, binding
from egraph_rules.rules.padding import PADDING_RULES
from egraph_rules.rules.statements import STATEMENT_RULES

EXPRESSION_RULES = (*INTEGER_RULES, *FLOAT_RULES, *BOOLEAN_RULES)


def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule, in order of its family."""
    return (*search_rules(), *AFFINE_RULES, *CASE_RULES, *LOOP_RULES, binding)


def search_rules() -> tuple[Rule, ...]:
    """The rules that a search uses unless told otherwise."""
    return (*EXPRESSION_RULES, *STATEMENT_RULES, *PADDING_RULES)
