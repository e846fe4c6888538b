"""What locals hold in each iteration of loops, kept in arrays.

Of a local that is written anew in each iteration there is a copy for each, without an index that says so
(`Program.depth`). What moves statements out of such loops needs that index: the values go to an array before. Who asks
what a value depends on must ask `depends_on`, as the variables in it do not tell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Buffer, Const, Expr, Load, Store, Var
from ir.traverse import free_vars, loads, map_expr
from lower.nest.nodes import Box, Fresh, array_over
from lower.nest.normalize import mapped


def depends_on(expr: Expr, loops: Sequence[Loop], depth: Mapping[Buffer, int]) -> set[Var]:
    """Variables that a value within loops depends on: those in it, and those of the loops each iteration of which has
    its own copy of a local that it reads; `depth` is how many these are."""
    copies = {o.var for load in loads(expr) for o in loops[: depth.get(load.buffer, 0)]}
    return free_vars(expr) | copies


class Recorded(Struct, frozen=True):
    """`statements` that read `arrays` in place of locals, and those `first` that store to these."""

    statements: list[Statement]
    first: list[Statement]
    arrays: list[Buffer]


def recorded(
    group: Sequence[Statement], loops: Sequence[Loop], boxes: Sequence[Box], inner: Collection[Buffer], new: Fresh
) -> Recorded | None:
    """Statements of `loops` without the `inner` locals, which nothing in them stores to; None if one cannot go.

    The loops follow each other, inside those that all of the group share.
    """
    arrays: dict[Load, Buffer] = {}
    shape, place = array_over(loops, boxes)

    def one(expr: Expr) -> Expr:
        constant = isinstance(expr, Load) and all(isinstance(i, Const) for i in expr.indices)
        if not isinstance(expr, Load) or expr.buffer not in inner or not constant:
            return expr  # an index that is no constant might be valid only where the load counts
        known = next((b for load, b in arrays.items() if load.same(expr)), None)
        if known is None:
            known = arrays[expr] = Buffer(new.name(expr.buffer.name), shape, expr.dtype, "local")
        return Load(known, place)

    statements = [mapped(s, lambda e: map_expr(e, one)) for s in group]
    if any(b in inner for s in statements for b in s.buffers()):
        return None
    around = group[0].loops[: group[0].loops.index(loops[-1]) + 1]
    first = [Statement(new.position(), around, (), Store(b, place, load)) for load, b in arrays.items()]
    return Recorded(statements, first, list(arrays.values()))


def conditions_around(inside: Sequence[Statement], known: Collection[Var], depth: Mapping[Buffer, int]) -> list[Expr]:
    """Conditions of all that is done in a loop which hold for all of it or none, by names that are known before it."""
    changed = {s.buffer for s in inside}
    return [
        g
        for g in inside[0].guards
        if depends_on(g, inside[0].loops, depth) <= set(known)
        and not any(load.buffer in changed for load in loads(g))
        and all(any(g.same(h) for h in s.guards) for s in inside)
    ]
