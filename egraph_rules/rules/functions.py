"""Calls of user-defined functions: what holds of a body holds of the call, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from egraph_rules.authoring.proposal import Here, rewrite_expr
from egraph_rules.authoring.rule import Rule
from ir.functions import always_used, deciding, inlined
from ir.nodes import Call, Expr, Function, Var


@rewrite_expr(
    law="f(x) = the body of f with x in it, if x is defined where the body chooses by it, and total where it skips it",
    because="a call is its body on the arguments' values; it only evaluates all of them, and never chooses by undef",
)
def body_of_call(expr: Expr, here: Here) -> Iterator[Expr]:
    """See through a call; cost decides which form stays."""
    if isinstance(expr, Call) and all(map(partial(_alike, expr.function, here), expr.function.params, expr.args)):
        yield inlined(expr)


def _alike(function: Function, here: Here, param: Var, arg: Expr) -> bool:
    """Whether it makes no difference for an argument that it stands in the body."""
    decides, used = param in deciding(function), param in always_used(function)
    return (not decides or here.decided(arg)) and (used or here.contexts.total(here.facts, arg))


FUNCTION_RULES: tuple[Rule, ...] = (body_of_call,)
