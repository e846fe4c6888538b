"""Making one loop of loops that follow each other.

Merging keeps the order inside each loop; between the two, an iteration of the second now runs before later iterations
of the first. Whether any pair of instances minds is for `legality` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from ir import presburger as pb
from ir.errors import ScheduleError
from ir.nodes import Block, For, PrimFunc, Seq, Stmt, seq
from ir.schedule.edit import Changed, facts_at, loop_path, plus, refuse, replace_at, with_body
from ir.schedule.legality import check_order
from ir.script.printer import to_script
from ir.traverse import stmt_children, substitute


def merge_adjacent_loops(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    """Merge loops that follow each other, under the first one's variable; without loops, all that can be merged.

    Blocks around the loops move inside. Without loops, outer ones are merged first, then what has become adjacent.

    Raises:
        ScheduleError: the loops are not adjacent, count differently, or a dependence would be reversed.
    """
    if not loops:
        return _all(func, reassociate)
    if len(loops) < 2:
        refuse("too-few-loops", "merging needs at least two loops", func.span, help="give loops that follow each other")
    for second in loops[1:]:
        func = _pair(func, loops[0], second, reassociate)
    return Changed(func, (loops[0],))


@dataclass(frozen=True, slots=True)
class _Stage:
    """A statement of a sequence that is a loop, or a loop inside blocks that hold nothing else."""

    stmt: Stmt
    blocks: tuple[Block, ...]
    loop: For

    @staticmethod
    def of(stmt: Stmt) -> _Stage | None:
        blocks: list[Block] = []
        inner = stmt
        while isinstance(inner, Block) and not inner.axes and inner.init is None:
            blocks.append(inner)
            inner = inner.body
        return _Stage(stmt, tuple(blocks), inner) if isinstance(inner, For) else None

    def wrapped(self, body: Stmt) -> Stmt:
        """`body` inside the blocks."""
        for block in reversed(self.blocks):
            body = replace(block, body=body)
        return body


def _pair(func: PrimFunc, first: str, second: str, reassociate: bool) -> PrimFunc:
    path, other = loop_path(func, first), loop_path(func, second)
    for k in range(min(len(path), len(other)) - 1, -1, -1):
        parent = path[k]
        if parent is other[k] and isinstance(parent, Seq):
            known = facts_at(func, path[: k + 2])
            position = next(n for n, s in enumerate(parent.stmts) if s is path[k + 1])
            stages = [_Stage.of(s) for s in parent.stmts[position : position + 2]]
            if len(stages) < 2 or any(s is None or s.loop.var.name not in (first, second) for s in stages):
                break
            a, b = (s for s in stages if s is not None)
            merged = _merged(a, b, known, reassociate)
            new = seq(*parent.stmts[:position], merged, *parent.stmts[position + 2 :])
            return with_body(func, path[: k + 1], new)
    message = f"loop {second} does not directly follow loop {first}"
    return refuse("not-adjacent", message, other[-1].span, help="merge loops with nothing between them, in their order")


def _merged(first: _Stage, second: _Stage, known: isl.Set, reassociate: bool) -> Stmt:
    """The two loops as one.

    Raises:
        ScheduleError: they count differently, or a dependence would be reversed.
    """
    a, b = first.loop, second.loop
    if a.var.dtype is not b.var.dtype or not _same_range(a, b, known):
        message = f"loops {a.var.name} and {b.var.name} count differently: {_range(a)} and {_range(b)}"
        refuse("different-ranges", message, b.span, help="split, rebase or partition them to one range first")
    if a.kind != b.kind:
        refuse("different-kinds", f"loop {a.var.name} is {a.kind}, loop {b.var.name} is {b.kind}", b.span)
    body = seq(first.wrapped(a.body), second.wrapped(substitute(b.body, {b.var: a.var})))
    new = replace(a, body=body)
    found = check_order(seq(first.stmt, second.stmt), new, {b.var: a.var}, known, reassociate=reassociate)
    if found is not None:
        message = f"loops {a.var.name} and {b.var.name} cannot be merged: {found.message}"
        refuse("dependence", message, b.span, notes=found.notes)
    return new


def _same_range(a: For, b: For, known: isl.Set) -> bool:
    """Whether two loops run through the same values, in every state or in none."""
    if a.start.same(b.start) and a.extent.same(b.extent):
        return True

    def question() -> bool:
        one, other = pb.loop_domain(a.var, a.start, a.extent), pb.loop_domain(a.var, b.start, b.extent)
        if not (one.exact and other.exact):
            return False
        return one.must.intersect(known).is_equal(other.must.intersect(known))

    return pb.within_budget(question, False)


def _range(loop: For) -> str:
    stop = plus(loop.start, loop.extent)
    return f"{to_script(loop.start)} to {to_script(stop)}"


def _all(func: PrimFunc, reassociate: bool) -> Changed:
    """Merge what can be merged, as seen from the outside in."""
    merged: list[str] = []

    def visit(path: tuple[Stmt, ...]) -> Stmt:
        """The last statement of a path, with everything in it merged."""
        stmt = path[-1]
        if isinstance(stmt, Seq):
            stmt = _sequence(func, path, stmt, merged, reassociate)
            path = _moved(path, stmt)
        for child in stmt_children(stmt):
            new = visit((*path, child))
            if new is not child:
                stmt = replace_at((stmt, child), new)
                path = _moved(path, stmt)
        return stmt

    return Changed(replace(func, body=visit((func.body,))), tuple(dict.fromkeys(merged)))


def _moved(path: tuple[Stmt, ...], stmt: Stmt) -> tuple[Stmt, ...]:
    """A path to a statement that takes the place of its last one."""
    fresh: list[Stmt] = [stmt]
    for parent, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        fresh.insert(0, replace_at((parent, child), fresh[0]))
    return tuple(fresh)


def _sequence(func: PrimFunc, path: tuple[Stmt, ...], stmt: Seq, merged: list[str], reassociate: bool) -> Stmt:
    """A sequence with adjacent loops merged as far as that is possible."""
    out: list[Stmt] = []
    for part in stmt.stmts:
        before, after = _Stage.of(out[-1]) if out else None, _Stage.of(part)
        if before is None or after is None:
            out.append(part)
            continue
        known = facts_at(replace(func, body=path[0]), (*path, part))
        try:
            out[-1] = _merged(before, after, known, reassociate)
        except ScheduleError:
            out.append(part)
        else:
            merged.append(before.loop.var.name)
    return seq(*out, span=stmt.span)
