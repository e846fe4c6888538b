"""What it may gain to work elements out anew where they are read, rather than to keep them in a buffer.

Owns a first answer, which leaves out what promises nothing; what is chosen in the end is for extraction to say.
"""

from __future__ import annotations

from msgspec.structs import replace

from egraph_rules.cost.prices import Prices
from egraph_rules.cost.target import CPU
from egraph_rules.cost.whole import FUSED
from ir.nodes import Buffer, Const, Expr, For, Load, Select, Stmt, Store, Var
from ir.traverse import children, map_expr, map_stmt, stmt_children

PRICES = Prices(CPU)


def of_open_extents(expr: Expr) -> Expr:
    """A load as if its buffer had elements at all places."""
    if not isinstance(expr, Load):
        return expr
    shape = tuple(Var("<open>", extent.dtype) for extent in expr.buffer.shape)
    return replace(expr, buffer=replace(expr.buffer, shape=shape))


def dearest_choice(value: Expr) -> Expr:
    """The dearest of the values that conditions choose from: where it is read, the choice may be made."""
    while isinstance(value, Select):
        value = max(value.then, value.other, key=PRICES.expr)
    return value


def hands_on(stmt: Stmt, buffer: Buffer, around: tuple[Var, ...] = ()) -> bool:
    """Whether iterations of a loop store where others do: without the buffer they may not have to run in turn."""
    match stmt:
        case Store(indices=indices):
            return stmt.buffer == buffer and not {*around} <= {*indices}
        case For(var=var, body=body):
            return hands_on(body, buffer, (*around, var))
        case _:
            return any(hands_on(part, buffer, around) for part in stmt_children(stmt))


def may_be_cheaper(new: Stmt, stmt: Stmt, *, in_turn: bool) -> bool:
    """Whether a price as a whole may find one statement cheaper than another one: it is but for the conditions of
    choices, and with them not much dearer. Where iterations ran `in_turn`, that is what it may gain."""
    if PRICES.program(new) >= FUSED * PRICES.program(stmt):
        return False
    return in_turn or PRICES.program(_bare(new)) < PRICES.program(_bare(stmt))


def _bare(stmt: Stmt) -> Stmt:
    """A statement without the conditions of its choices, which may become padding that is made once, or masks."""

    def chosen(expr: Expr) -> Expr:
        return map_expr(dearest_choice(expr), of_open_extents) if isinstance(expr, Select) else expr

    return map_stmt(stmt, lambda e: map_expr(e, chosen))


def operations_on_values(expr: Expr) -> int:
    """How many operations a value takes, but for those on indices."""
    if isinstance(expr, Load | Var | Const):
        return 0
    return 1 + sum(map(operations_on_values, children(expr)))
