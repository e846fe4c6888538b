"""Permutation: the loops of a nest in another order."""

from __future__ import annotations

from collections.abc import Sequence

from ir.analysis.legality import check_order
from ir.nodes import SKIP, Expr, For, If, PrimFunc, Stmt
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, nest, refuse, with_body
from ir.transform.loops.ranges import check_defined, loop_at
from ir.traverse import free_vars, has_loads


def reorder(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    """Put loops of one nest into the given order; loops between them that are not named keep their places.

    Raises:
        ScheduleError: a loop is named twice, the loops are not in one nest of loops alone in one another, bounds depend
            on a loop that would move inside, or a dependence would be reversed.
    """
    if len(set(loops)) != len(loops) or not loops:
        refuse("loops", "reorder takes different loops, at least one", func.span)
    paths = {name: loop_path(func, name) for name in loops}
    path = min(paths.values(), key=len)
    top = loop_at(path)
    chain, guards = _down_to(top, set(loops))
    places = [k for k, loop in enumerate(chain) if loop.var.name in loops]
    by_name = {loop.var.name: loop for loop in chain}
    order = list(chain)
    for place, name in zip(places, loops, strict=True):
        order[place] = by_name[name]
    _check_bounds(order)
    innermost = chain[-1].body
    for guard in reversed(guards):
        innermost = If(guard, innermost, SKIP)
    new = nest(order, innermost)
    if [a.var.name for a in order] != [b.var.name for b in chain]:
        known = facts_at(func, path)
        check_defined(chain[1:], known)
        found = check_order(top, new, {}, known, reassociate=reassociate)
        if found is not None:
            refuse("dependence", f"the loops cannot change places: {found.message}", top.span, notes=found.notes)
    return Changed(with_body(func, path, new))


def _down_to(top: For, names: set[str]) -> tuple[list[For], list[Expr]]:
    """The loops from `top` to the last of `names`, each alone in the one before, and the guards between them.

    A guard that reads no buffer may as well be tested inside the loops below it.
    """
    chain: list[For] = []
    guards: list[Expr] = []
    missing = set(names)
    stmt: Stmt = top
    while missing:
        if isinstance(stmt, If) and stmt.other == SKIP and not has_loads(stmt.cond):
            guards.append(stmt.cond)
            stmt = stmt.then
            continue
        if not isinstance(stmt, For):
            text = to_script(stmt).splitlines()[0]
            message = f"between loops {chain[-1].var.name} and {', '.join(sorted(missing))} stands `{text}`"
            refuse("not-nested", message, stmt.span, help="reorder loops that are alone in one another")
        chain.append(stmt)
        missing.discard(stmt.var.name)
        stmt = stmt.body
    return chain, guards


def _check_bounds(order: Sequence[For]) -> None:
    for k, loop in enumerate(order):
        inner = {inside.var.name for inside in order[k:]}
        used = {v.name for e in (loop.start, loop.extent) for v in free_vars(e)} & inner
        if used:
            message = (
                f"the bounds of loop {loop.var.name} depend on {', '.join(sorted(used))}, which would be inside it"
            )
            refuse("dependent-bounds", message, loop.span, help="only loops over rectangles change places")
