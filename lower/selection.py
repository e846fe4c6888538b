"""Loops that look for the largest or smallest of many values, and keep where it was.

`if x > best: best = x; at = i; ...` is an argmax and what is kept of the place it gives: the first of equal values for
`>` and `<`, the last for `>=` and `<=`. Values are numbers by the policy on floats, so every comparison has an outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Expr, Load, Store
from ir.traverse import free_vars, has_loads, loads, substitute_expr
from lower.nest import Box, Pick

_OF: dict[str, tuple[UpdateOp, bool]] = {
    "gt": ("max", False), "ge": ("max", True), "lt": ("min", False), "le": ("min", True),
}  # fmt: skip
_TURNED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


@dataclass(frozen=True, slots=True)
class Selected:
    """Statements in place of a loop: `where` stores at which iteration the best value is to `place`, `then` compares
    it with what was there and keeps it."""

    where: Statement
    pick: Pick
    then: list[Statement]
    place: Buffer


def selection(
    group: Sequence[Statement], loop: Loop, box: Box, fresh: Callable[[str], str], position: Callable[[], int]
) -> Selected | None:
    """Statements that do what a loop around `group` does; None if it is no such search."""
    test, *kept = sorted(group, key=lambda s: s.position)
    if not kept or any(s.loops[-1] is not loop for s in group) or not (box.extent.is_const and box.extent.const > 0):
        return None
    written = {s.buffer for s in kept}
    compared = _comparison(test, written)
    if compared is None or len(written) < len(kept) or loop.var.dtype is not DType.INT32:
        return None
    op, value, best = compared
    flag = Load(test.buffer, test.store.indices)
    if not all(_keeps(s, loop, flag, written) for s in kept) or loop.var not in free_vars(value):
        return None
    keeper = next(s for s in kept if s.buffer == best.buffer)
    if not keeper.store.value.same(value) or not all(map(Expr.same, keeper.store.indices, best.indices)):
        return None
    place = Buffer(fresh(f"{loop.var.name}_best"), (), DType.INT32, "local")
    there = {loop.var: Load(place, ())}
    around = test.loops[:-1]
    then = [
        replace(s, loops=around, store=replace(s.store, value=substitute_expr(s.store.value, there)), update=None)
        for s in (test, *kept)
    ]
    which, last = _OF[op]
    where = Statement(position(), test.loops, (), Store(place, (), value))
    return Selected(where, Pick(loop, which, last, value), then, place)


def _comparison(test: Statement, written: set[Buffer]) -> tuple[str, Expr, Load] | None:
    """The comparison that a statement stores: operator, value, and the best so far."""
    match test.store.value:
        case Binary(op=op, lhs=value, rhs=Load() as best) if op in _OF and best.buffer in written:
            found = op, value, best
        case Binary(op=op, lhs=Load() as best, rhs=value) if op in _OF and best.buffer in written:
            found = _TURNED[op], value, best
        case _:
            return None
    steady = not test.guards and not test.store.indices
    return found if steady and not any(load.buffer in written for load in loads(found[1])) else None


def _keeps(statement: Statement, loop: Loop, flag: Load, written: set[Buffer]) -> bool:
    """Whether a statement stores, where the comparison holds, to one place what depends on nothing that is kept."""
    store = statement.store
    if len(statement.guards) != 1 or not statement.guards[0].same(flag):
        return False
    exprs = (store.value, *store.indices)
    free = not any(load.buffer in written or load.buffer == flag.buffer for e in exprs for load in loads(e))
    return free and all(loop.var not in free_vars(i) and not has_loads(i) for i in store.indices)
