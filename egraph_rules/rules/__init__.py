"""The built-in rules, one module a subject; each rule belongs to a family, which can be switched per call."""

from __future__ import annotations

from egraph_rules.authoring.rule import Rule
from egraph_rules.rules.affine import AFFINE_RULES, quotient_form
from egraph_rules.rules.algebra import (
    ALGEBRA_RULES,
    abs_known,
    cast_of_cast,
    collected,
    divmod_rejoins,
    max_covers,
    max_known,
    min_covers,
    min_known,
)
from egraph_rules.rules.boolean import BOOLEAN_RULES
from egraph_rules.rules.cases import BRANCH_RULES, CASE_RULES, INVARIANT_RULES, neutral_region
from egraph_rules.rules.contents import CONTENTS_RULES
from egraph_rules.rules.floating import FLOAT_RULES, SCALING_RULES
from egraph_rules.rules.functions import BIT_RULES, FUNCTION_RULES
from egraph_rules.rules.index_terms import TERM_RULES
from egraph_rules.rules.integer import INTEGER_RULES, SUM_RULES
from egraph_rules.rules.lets import LET_RULES, inline_index, unused
from egraph_rules.rules.loops import LOOP_RULES, binding
from egraph_rules.rules.merging import MERGING_RULES
from egraph_rules.rules.operands import OPERAND_RULES
from egraph_rules.rules.padding import PADDING_RULES
from egraph_rules.rules.splitting import SPLITTING_RULES
from egraph_rules.rules.statements import STATEMENT_RULES
from egraph_rules.rules.tensor import TENSOR_RULES
from egraph_rules.rules.wrapping import WRAPPING_RULES, symbolic_terms

# What each family is for.
FAMILIES: dict[str, str] = {
    "integer": "integer arithmetic, with floor division and modulo",
    "floating": "floating point arithmetic, as far as the caller grants freedoms",
    "boolean": "conditions, comparisons and selections",
    "algebra": "products, quotients by unknowns, minima, bits and casts, for single expressions",
    "functions": "calls of the user's own functions",
    "overcompute": "running one arm of a branch or selection everywhere, where that has no visible effect",
    "branch": "branches whose condition is known, or whose arms are the same",
    "noop": "statements that change nothing, or nothing that is looked at afterwards",
    "padding": "indices kept inside their buffer, so that a guard may go",
    "contents": "buffers that need not exist, since what they hold is known where it is read",
    "loops": "loops shortened, grouped by a layout, split, merged and removed",
    "bits": "loops over the bits of a number",
    "hoist": "conditions and bindings that no iteration changes, taken out of their loop",
    "let": "names for values, taken out and brought in",
    "conditionals": "branches beside or inside each other",
    "guard": "branches around work that does nothing visible for some iterations",
    "tensor": "what a sum over array axes may be instead, when a program is lowered",
}

EXPRESSION_RULES = (*OPERAND_RULES, *INTEGER_RULES, *FLOAT_RULES, *BOOLEAN_RULES, *FUNCTION_RULES)


def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule; some serve directed steps and `simplify` only, some lowering."""
    more = (*AFFINE_RULES, *ALGEBRA_RULES, *CASE_RULES, binding, *LET_RULES, *TERM_RULES, *WRAPPING_RULES)
    more += TENSOR_RULES
    return tuple(dict.fromkeys((*search_rules(), *more)))


def search_rules() -> tuple[Rule, ...]:
    """The built-in rules that a search uses unless told otherwise."""
    return (
        *EXPRESSION_RULES, *STATEMENT_RULES, *PADDING_RULES, *CONTENTS_RULES, *BRANCH_RULES, *LOOP_RULES, *BIT_RULES,
        *SCALING_RULES, *SUM_RULES, *SPLITTING_RULES, *MERGING_RULES, *INVARIANT_RULES, inline_index, unused,
        symbolic_terms, neutral_region, collected, min_known, max_known, abs_known, min_covers, max_covers,
        cast_of_cast, quotient_form, divmod_rejoins,
    )  # fmt: skip
