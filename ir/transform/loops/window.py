"""Loops over windows: counted from a place that moves with loops around, where that is far less than they go along.

The ends of what a window goes along, as in `range(T.max(0, x - 2), T.min(n, x + 3))`, are guards then, and the window
has as many places everywhere (loop normalization; Allen and Kennedy, 2002, section 4.3).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

import islpy as isl
from msgspec.structs import replace

from ir.analysis.conditions import conjunction, negate
from ir.nodes import SKIP, TRUE, Binary, Expr, For, If, Let, PrimFunc, Stmt, Var, const
from ir.presburger import sets as pb
from ir.printing.intervals import stop_of
from ir.program.edit import plus, with_children
from ir.traverse import free_vars, has_loads, stmt_children, substitute, substitute_expr, walk


def window(
    loop: For, ends: tuple[Expr, Expr], domain: isl.Set, around: Collection[Var], where: Expr = TRUE
) -> For | None:
    """A loop over a window in place of one over a range that is a part of more than twice as much.

    `ends` are its start and stop, `domain` the values of what is `around`; nothing is done but `where` that holds. None
    where there is no such window.
    """
    values = pb.loop_domain(loop.var, loop.start, loop.extent)
    inside = domain.intersect(values.may)
    first, last = pb.bounds(pb.only(inside, loop.var.name))
    inside = inside.intersect(pb.condition(where).may)
    widest = None if first is None or last is None else (last - first + 1) // 2
    begins, stops = [*_bounds(ends[0], "max")], [*_bounds(ends[1], "min")]
    named = sorted(free_vars(where) & {*around}, key=lambda v: v.name)
    moving = (e for e in (*begins, *stops, *named) if not free_vars(e).isdisjoint(around))
    windows = [w for w in (_from(end, loop.var, inside) for end in moving) if w is not None]
    base, low, count = min(windows, key=lambda w: w[2], default=(ends[0], 0, 0))
    dtype = loop.var.dtype
    far = widest is not None and count > widest
    if not values.exact or count < 1 or far or not dtype.is_signed:  # others wrap where a window begins below zero
        return None
    place = plus(plus(base, const(low, dtype)), loop.var)
    within = domain.intersect(pb.loop_domain(loop.var, const(0, dtype), const(count, dtype)).may)
    conds = [*(place >= e for e in begins), *(place < e for e in stops)]
    guards = [c for c in conds if not within.is_subset(pb.condition(c).must)]
    body = substitute(loop.body, {loop.var: place})
    body = If(conjunction(guards), body, SKIP) if guards else body
    return replace(loop, start=const(0, dtype), extent=const(count, dtype), body=body)


def _bounds(expr: Expr, op: str) -> Iterator[Expr]:
    """The values of which the greatest or the least one is an end of a loop."""
    match expr:
        case Binary(op=found, lhs=a, rhs=b) if found == op:
            yield from _bounds(a, op)
            yield from _bounds(b, op)
        case Binary(op="add" | "sub" as sign, lhs=Binary(op=found, lhs=a, rhs=b), rhs=c) if found == op:
            yield from _bounds(Binary(sign, a, c), op)
            yield from _bounds(Binary(sign, b, c), op)
        case _:
            yield expr


def _from(base: Expr, var: Var, domain: isl.Set) -> tuple[Expr, int, int] | None:
    """A place, how far from it the values of a variable begin, and over how many they go; None if that is open."""
    place = pb.affine(base)
    offset = f"{var.name}'"
    if place is None or base.dtype is not var.dtype:
        return None
    moved = domain.intersect(pb.symbol(offset).eq_set(pb.symbol(var.name).sub(place)))
    low, high = pb.bounds(pb.only(moved, offset))
    return None if low is None or high is None else (base, low, high - low + 1)


def with_windows(func: PrimFunc) -> PrimFunc:
    """A function in which loops go over windows where they may."""
    if not any(isinstance(s, For) and free_vars(s.start) for s in walk(func.body)):
        return func
    body = in_windows(func.body, pb.always(), {})
    return func if body is func.body else replace(func, body=body).as_form_of(func)


def in_windows(stmt: Stmt, domain: isl.Set, known: Mapping[Var, Expr]) -> Stmt:
    """A statement with windows; `domain` has the values of the names around, and `known` what each of them is."""

    def inside(part: Stmt, cond: pb.Condition, known: Mapping[Var, Expr]) -> Stmt:
        return in_windows(part, pb.within_budget(partial(domain.intersect, cond.may), domain), known)

    match stmt:
        case For(var=var):
            loop = _moved(stmt, domain, known) or stmt
            return with_children(
                loop, [inside(loop.body, pb.loop_domain(var, loop.start, loop.extent), {**known, var: var})]
            )
        case If(cond=cond, then=then, other=other):
            arms = (then, pb.condition(cond)), (other, pb.condition(negate(cond)))
            return with_children(stmt, [inside(arm, where, known) for arm, where in arms])
        case Let(var=var, value=value, body=body) if var.dtype.is_integer and not has_loads(value):
            told = {**known, var: substitute_expr(value, known)}
            return with_children(stmt, [inside(body, pb.condition(Binary("eq", var, value)), told)])
        case _:
            return with_children(stmt, [in_windows(part, domain, known) for part in stmt_children(stmt)])


def _moved(loop: For, domain: isl.Set, known: Mapping[Var, Expr]) -> For | None:
    """A loop over a window in place of one whose ends move with what is around."""
    if loop.kind != "serial" or has_loads(loop.start) or has_loads(loop.extent):
        return None
    ends = substitute_expr(loop.start, known), substitute_expr(stop_of(loop.start, loop.extent), known)
    if free_vars(*ends).isdisjoint(known):
        return None
    return pb.within_budget(partial(window, loop, ends, domain, known.keys()), None)
