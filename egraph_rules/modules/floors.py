"""What a function might cost at the least however its buffers are kept: its price if it needed no guards.

Layouts and padding save guards: conditions of branches and selections become true, and what holds in all of the
padding needs no arm of its own. They make room for tiles of instructions, which save copies. So a choice that would not
pay without any guard, with calls wherever there is a nest for one, need not be searched for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from egraph_rules.authoring.rounding_up import alone, at_the_least
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import Target
from egraph_rules.search.erase import erase
from ir.nodes import SKIP, Expr, For, If, PrimFunc, Select, Stmt, seq
from ir.program.blocks import lower_blocks
from ir.program.edit import with_children
from ir.traverse import map_expr, map_stmt, stmt_children


def floor(
    func: PrimFunc, target: Target, instructions: Sequence[PrimFunc] = (), undefined: Collection[str] = ()
) -> float:
    """The price of a function of whose branches and selections the cheaper arm alone is left, with calls on tiles.

    Padding of parameters that are `undefined` is of no use to calls: these are copied, as what has no room is.
    """
    prices = Prices(target)

    def cheaper(expr: Expr) -> Expr:
        return min(expr.then, expr.other, key=prices.expr) if isinstance(expr, Select) else expr

    def without_guard(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, If):
            return stmt
        arms = [arm for arm in (stmt.then, stmt.other) if arm != SKIP]
        return min(arms, key=prices.program, default=SKIP)

    body = map_stmt(erase(lower_blocks(func).body), lambda e: map_expr(e, cheaper), without_guard)
    return prices.program(_with_tiles(body, instructions, undefined, prices))


def _with_tiles(stmt: Stmt, instructions: Sequence[PrimFunc], undefined: Collection[str], prices: Prices) -> Stmt:
    """A statement with calls in the place of nests that might become some, where that is cheaper."""
    if not isinstance(stmt, For):
        return with_children(stmt, [_with_tiles(s, instructions, undefined, prices) for s in stmt_children(stmt)])

    def cheapest(given: For) -> Stmt:
        ways = (way for instruction in instructions for way in at_the_least(given, instruction, undefined))
        return min((given, *ways), key=prices.program)

    return min(stmt, seq(*map(cheapest, alone(stmt))), key=prices.program)
