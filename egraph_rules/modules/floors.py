"""What a function might cost at the least however its buffers are kept: its price if it needed no guards.

Layouts and padding save guards: conditions of branches and selections become true, and what holds in all of the padding
needs no arm of its own. So a choice that would not pay without any guard need not be searched for.
"""

from __future__ import annotations

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import Target
from egraph_rules.search.erase import erase
from ir.nodes import SKIP, Expr, If, PrimFunc, Select, Stmt
from ir.program.blocks import lower_blocks
from ir.traverse import map_expr, map_stmt


def price_as_written(func: PrimFunc, target: Target) -> float:
    """The price of a function as it stands."""
    return Prices(target).program(erase(lower_blocks(func).body))


def floor(func: PrimFunc, target: Target) -> float:
    """The price of a function of whose branches and selections the cheaper arm alone is left."""
    prices = Prices(target)

    def cheaper(expr: Expr) -> Expr:
        return min(expr.then, expr.other, key=prices.expr) if isinstance(expr, Select) else expr

    def without_guard(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, If):
            return stmt
        arms = [arm for arm in (stmt.then, stmt.other) if arm != SKIP]
        return min(arms, key=prices.program, default=SKIP)

    body = erase(lower_blocks(func).body)
    return prices.program(map_stmt(body, lambda e: map_expr(e, cheaper), without_guard))
