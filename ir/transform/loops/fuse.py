"""Making one loop of loops that follow each other.

Merging keeps the order inside each loop; between the two, an iteration of the second now runs before later iterations
of the first. Whether any pair of instances minds is for `legality` to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.legality import check_order
from ir.analysis.stages import conflict, with_allocations_first
from ir.errors import ScheduleError
from ir.naming import fresh
from ir.nodes import Block, For, PrimFunc, Seq, Stmt, seq
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, names_in, plus, refuse, replace_at, with_body
from ir.traverse import map_stmt, stmt_children, substitute, walk


def merge_adjacent_loops(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    """Merge loops that follow each other, under the first one's variable; without loops, all that can be merged.

    Blocks around the loops move inside. Statements between the loops move before the first or after the second, and
    allocations outward. Without loops, outer ones are merged first, then what has become adjacent.

    Raises:
        ScheduleError: the loops are not in one sequence, count differently, or a dependence would be reversed.
    """
    if not loops:
        return _all(func, reassociate)
    if len(loops) < 2:
        refuse("too-few-loops", "merging needs at least two loops", func.span, help="give loops that follow each other")
    for second in loops[1:]:
        func = _pair(func, loops[0], second, reassociate)
    return Changed(func, (loops[0],))


class _Stage(Struct, frozen=True):
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
    """`func` with two loops as one.

    Raises:
        ScheduleError: see `merge_adjacent_loops`.
    """
    outward = replace(func, body=with_allocations_first(func.body))
    for whole in (func, outward):
        found = _place(whole, first, second)
        if found is None:
            continue
        path, parent, here, there = found
        stages = [_Stage.of(parent.stmts[k]) for k in (here, there)]
        if any(s is None or s.loop.var.name != name for s, name in zip(stages, (first, second), strict=True)):
            continue
        before, after = _parted(parent.stmts[here : there + 1], facts_at(whole, (*path, parent.stmts[here])), second)
        rest = parent.stmts[there + 1 :]
        stmts = (*parent.stmts[:here], *before, *(parent.stmts[k] for k in (here, there)), *after, *rest)
        moved = replace(parent, stmts=stmts)
        position = here + len(before)
        known = facts_at(with_body(whole, path, moved), (*path[:-1], moved, stmts[position]))
        a, b = (s for s in stages if s is not None)
        merged = _merged(a, b, known, names_in(whole), reassociate)
        return with_body(whole, path, seq(*stmts[:position], merged, *stmts[position + 2 :], span=parent.span))
    message = f"loop {second} does not follow loop {first} in one sequence"
    span = loop_path(func, second)[-1].span
    return refuse("not-adjacent", message, span, help="merge loops next to each other, in their order")


def _place(func: PrimFunc, first: str, second: str) -> tuple[tuple[Stmt, ...], Seq, int, int] | None:
    """The path to the sequence that holds two loops, the sequence, and where in it they are; None if out of order."""
    path, other = loop_path(func, first), loop_path(func, second)
    k = max(k for k, (a, b) in enumerate(zip(path, other, strict=False)) if a is b)
    parent = path[k]
    if not isinstance(parent, Seq) or k + 1 in (len(path), len(other)):
        return None
    here, there = (next(n for n, s in enumerate(parent.stmts) if s is p[k + 1]) for p in (path, other))
    return (path[: k + 1], parent, here, there) if here < there else None


def _parted(stmts: Sequence[Stmt], known: isl.Set, name: str) -> tuple[list[Stmt], list[Stmt]]:
    """The statements between the first and the last of some, parted in those to go before and those to go after them.

    Raises:
        ScheduleError: one minds both.
    """
    first, *between, last = stmts
    before: list[Stmt] = []
    after: list[Stmt] = []
    for stmt in between:
        if all(_conflict(stmt, other, known) is None for other in (first, *after)):
            before.append(stmt)
            continue
        found = _conflict(stmt, last, known)
        if found is not None:
            text = to_script(stmt).splitlines()[0]
            message = f"`{text}` stands before loop {name}, and can go neither before nor after both loops"
            refuse("not-adjacent", message, stmt.span, notes=[found], help="merge loops with nothing between them")
        after.append(stmt)
    return before, after


def _conflict(stmt: Stmt, other: Stmt, known: isl.Set) -> str | None:
    """Why two statements may not change places."""

    def question() -> str | None:
        found = conflict(stmt, other, known)
        return None if found is None else f"it and `{to_script(other).splitlines()[0]}` touch {found[1]}"

    return pb.within_budget(question, "the proof that it may move needs too many steps")


def _merged(first: _Stage, second: _Stage, known: isl.Set, taken: set[str], reassociate: bool) -> Stmt:
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
    theirs = _without_axis(b.body, a.var.name, taken)
    body = seq(first.wrapped(a.body), second.wrapped(substitute(theirs, {b.var: a.var})))
    new = replace(a, body=body)
    found = check_order(seq(first.stmt, second.stmt), new, {b.var: a.var}, known, reassociate=reassociate)
    if found is not None:
        message = f"loops {a.var.name} and {b.var.name} cannot be merged: {found.message}"
        refuse("dependence", message, b.span, notes=found.notes)
    return new


def _without_axis(stmt: Stmt, name: str, taken: set[str]) -> Stmt:
    """A statement with block axes called like a loop that is to stand around it under other names."""

    def on_stmt(stmt: Stmt) -> Stmt:
        old = [a.var for a in stmt.axes if a.var.name == name] if isinstance(stmt, Block) else []
        if not isinstance(stmt, Block) or not old:
            return stmt
        new = replace(old[0], name=fresh(name, taken))
        axes = tuple(replace(a, var=new) if a.var.name == name else a for a in stmt.axes)
        return substitute(replace(stmt, axes=axes), {old[0]: new})

    return map_stmt(stmt, on_stmt=on_stmt)


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
    """Merge what can be merged, as seen from the outside in; allocations move out of the way if that helps."""
    plain = _each(func, reassociate)
    outward = with_allocations_first(func.body)
    if outward == func.body:
        return plain
    other = _each(replace(func, body=outward), reassociate)
    return other if len(list(_loops(other.func))) < len(list(_loops(plain.func))) else plain


def _loops(func: PrimFunc) -> Iterator[For]:
    return (s for s in walk(func.body) if isinstance(s, For))


def _each(func: PrimFunc, reassociate: bool) -> Changed:
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
            out[-1] = _merged(before, after, known, names_in(func), reassociate)
        except ScheduleError:
            out.append(part)
        else:
            merged.append(before.loop.var.name)
    return seq(*out, span=stmt.span)
