"""Splitting the initialisation of a reduction from its update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import islpy as isl

from ir import presburger as pb
from ir.nodes import SKIP, TRUE, Binary, Block, Expr, For, If, PrimFunc, Seq, Stmt, Store, Unary, Var, seq
from ir.schedule.edit import (
    Changed,
    block_path,
    facts_at,
    folded,
    fresh,
    guarded,
    loop_path,
    names_in,
    nest,
    path_to,
    refuse,
    replace_at,
    with_body,
)
from ir.schedule.legality import check_order
from ir.traverse import free_vars, loads, stmt_exprs, substitute, substitute_expr, walk


def decompose_reduction(func: PrimFunc, block: str, loop: str, *, reassociate: bool) -> Changed:
    """Move the initialisation of a block into a block of its own, `<block>_init`, before a loop.

    The initialisation is `T.init` of the block; in a block without axes, the first statement beside the loop of updates
    if it stores something that reads no buffer. It gets copies of the loops from `loop` inward that it depends on.

    Raises:
        ScheduleError: the loop has nothing to do with the block, there is no initialisation in it, or it would come
            too early.
    """
    target = block_path(func, block)
    path = loop_path(func, loop)
    inner, outer = target[-1], path[-1]
    assert isinstance(outer, For)
    inside = path_to(outer, lambda s: s is inner)
    if inside is None and path_to(inner, lambda s: s is outer) is None:
        message = f"loop {loop} is not around block {block}, nor inside it"
        refuse("not-an-ancestor", message, outer.span, help="give a loop that holds all iterations of the reduction")
    found = _initialisation(outer, inner if inside is not None else outer)
    if found is None:
        message = f"loop {loop} holds no initialisation of block {block}"
        help = "the initialisation is `with T.init():`, or a store of a constant before the loop of updates"
        refuse("no-init", message, outer.span, help=help)
    known = facts_at(func, path)
    name = fresh(f"{block}_init", names_in(func))
    return Changed(with_body(func, path, _decomposed(func, outer, found, name, known, reassociate)), (name,))


@dataclass(frozen=True, slots=True)
class _Init:
    """An initialisation: the path to where it stands, itself under its conditions, and the rest of that place."""

    path: tuple[Stmt, ...]
    stmt: Stmt
    rest: Stmt


def _initialisation(loop: For, scope: Stmt) -> _Init | None:
    if isinstance(scope, Block) and scope.init is not None:
        path = path_to(loop, lambda s: s is scope)
        assert path is not None
        return _Init(path, scope.init, replace(scope, init=None))
    path = path_to(loop, lambda s: isinstance(s, Seq) and len(s.stmts) > 1)
    if path is None or any(isinstance(s, (If, Block)) and not _plain(s) for s in path):
        return None
    place = path[-1]
    assert isinstance(place, Seq)
    first = place.stmts[0]
    if not all(isinstance(s, (Store, If, Seq)) for s in walk(first)) or any(
        True for s in walk(first) for e in stmt_exprs(s) for _ in loads(e)
    ):
        return None
    return _Init(path, first, seq(*place.stmts[1:]))


def _plain(stmt: Stmt) -> bool:
    return isinstance(stmt, Block) and not stmt.axes and stmt.init is None


def _decomposed(func: PrimFunc, loop: For, found: _Init, name: str, known: isl.Set, reassociate: bool) -> Stmt:
    """The initialisation before the loop, and the loop without it.

    Raises:
        ScheduleError: an initialisation would run before something that it must follow.
    """
    update = replace_at(found.path, found.rest)
    chain = [s for s in found.path if isinstance(s, For)]
    guards = [
        s.cond if s.then is inner else Unary("not", s.cond) for s, inner in pairwise(found.path) if isinstance(s, If)
    ]
    target = found.path[-1]
    body, predicate, starts = found.stmt, TRUE, dict[Var, Expr]()
    if isinstance(target, Block):
        starts = {a.var: a.start for a in target.axes if a.kind == "reduce"}
        predicate = target.predicate
    used = _depends(found.stmt, target, predicate)
    used |= {v for guard in guards for v in free_vars(guard) if used & free_vars(guard)}
    taken = names_in(func)
    violation = None
    for kept in (used, {v.var for v in chain}):
        new, back = _nest(chain, guards, kept, body, target, starts, name, set(taken), known)
        result = seq(new, update)
        violation = check_order(loop, result, back, known, reassociate=reassociate)
        if violation is None:
            return result
    assert violation is not None
    message = f"the initialisation cannot come before loop {loop.var.name}: {violation.message}"
    help = "give a loop that holds the whole reduction"
    return refuse("dependence", message, loop.span, notes=violation.notes, help=help)


def _depends(stmt: Stmt, target: Stmt, predicate: Expr) -> set[Var]:
    """Loop variables that an initialisation depends on, through the axes of its block."""
    used = {v for s in walk(stmt) for e in stmt_exprs(s) for v in free_vars(e)} | free_vars(predicate)
    if isinstance(target, Block):
        for axis in reversed(target.axes):
            if axis.kind == "spatial" and axis.var in used:
                used |= free_vars(axis.value)
    return used


def _nest(
    chain: list[For],
    guards: list[Expr],
    kept: set[Var],
    body: Stmt,
    target: Stmt,
    starts: Mapping[Var, Expr],
    name: str,
    taken: set[str],
    known: isl.Set,
) -> tuple[Stmt, dict[Var, Expr]]:
    """The initialisation under copies of the loops that it keeps; others stand at their start."""
    back: dict[Var, Expr] = {}
    loops: list[For] = []
    for loop in chain:
        start, extent = substitute_expr(loop.start, back), substitute_expr(loop.extent, back)
        if loop.var in kept:
            var = replace(loop.var, name=fresh(loop.var.name, taken))
            loops.append(replace(loop, var=var, start=start, extent=extent))
            back[loop.var] = var
        else:
            back[loop.var] = start
    inside = known
    for loop in loops:
        inside = inside.intersect(pb.loop_domain(loop.var, loop.start, loop.extent).may)
    if not isinstance(target, Block):
        plain = Block(name, _without_start(substitute(body, back), inside))
        return nest(loops, _guarded(guards, back, plain, inside)), back
    axes = tuple(
        replace(a, value=folded(substitute_expr(a.value, back)), start=substitute_expr(a.start, back))
        for a in target.axes
    )
    spatial = tuple(a for a in axes if a.kind != "reduce")
    first: Expr = TRUE
    for axis in axes:
        if axis.kind == "reduce" and not axis.value.same(axis.start):
            cond = Binary("eq", axis.value, axis.start)
            first = cond if first.same(TRUE) else Binary("and", first, cond)
    predicate = folded(substitute_expr(substitute_expr(target.predicate, starts), back))
    inner = guarded(first, body, inside)
    new = Block(name, inner, spatial, predicate, annotations=target.annotations, span=target.span)
    return nest(loops, _guarded(guards, back, new, inside)), back


def _guarded(guards: list[Expr], back: Mapping[Var, Expr], stmt: Stmt, known: isl.Set) -> Stmt:
    """A statement under the guards of the nest, as far as they say something where it stands now."""
    for guard in reversed(guards):
        stmt = guarded(folded(substitute_expr(guard, back)), stmt, known)
    return stmt


def _without_start(stmt: Stmt, known: isl.Set) -> Stmt:
    """A guarded initialisation without the guard that is now true."""
    if isinstance(stmt, If) and stmt.other == SKIP:
        return guarded(stmt.cond, stmt.then, known)
    return stmt
