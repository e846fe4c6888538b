"""Locals that hold the same for all iterations of a loop: they are filled once, before it.

`p[i, j] = c / (p[i, j - 1] + b)` has the same row for each i, so that one row does. This is loop-invariant code motion
for arrays: the statements that fill a local leave the loop together, and the local loses the dimension, or the copy for
each iteration, that the loop gave it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, dependences
from ir.nodes import Buffer, Expr, Var
from ir.traverse import free_vars
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear
from lower.nest.normalize import Program, read_by_bounds, relocated

CODE_MOTION = Form(
    "structure.invariant_code_motion",
    "for i: t = e; s  =  t = e; for i: s   where e is the same for all i",
    "each iteration works out the same",
)


def hoist_invariants(program: Program) -> None:
    """Fill locals outside of loops whose iterations all fill them alike."""
    changed = True
    while changed:
        users: dict[Buffer, list[Statement]] = {}
        for s in program.statements:
            for buffer in s.buffers() & program.depth.keys():
                users.setdefault(buffer, []).append(s)
        changed = any(_hoisted(program, buffer, users.get(buffer, [])) for buffer in list(program.depth))


def _hoisted(program: Program, buffer: Buffer, users: Sequence[Statement]) -> bool:
    ways = (None, *range(len(buffer.shape)))
    found = next((f for d in ways if (f := _form(program, buffer, users, d)) is not None), None)
    if found is None:
        return False
    slim = buffer
    if found.dimension is not None:
        slim = replace(buffer, shape=_without(buffer.shape, found.dimension))
    statements: list[Statement] = []
    for s in program.statements:
        nest = next((n for n in found.nests if s is n.statements[0]), None)
        if nest is not None:
            statements += [_outside(w, nest.level) for w in nest.writers]
        if not any(s in n.writers for n in found.nests):
            statements.append(s)
    depth = program.depth.pop(buffer)
    program.depth[slim] = depth if found.dimension is not None else depth - 1
    program.statements[:] = [
        replace(_slim(s, buffer, slim, found.dimension), position=k) for k, s in enumerate(statements)
    ]
    return True


class _Nest(Struct, frozen=True):
    """Statements in a loop at a level, of which `writers` fill the local."""

    level: int
    loop: Loop
    statements: list[Statement]
    writers: list[Statement]


class _Form(Struct, frozen=True):
    """How a local varies with loops: by a dimension, or, where that is None, by a copy for each iteration."""

    dimension: int | None
    nests: list[_Nest]


def _form(program: Program, buffer: Buffer, users: Sequence[Statement], dimension: int | None) -> _Form | None:
    """The loops that a local can be filled before; None if what it holds varies."""
    depth = program.depth[buffer]
    writers = [s for s in users if s.buffer == buffer]
    if not writers or (depth == 0 if dimension is None else buffer in read_by_bounds(users)):
        return None
    loops: dict[int, Loop] = {}
    for s in users:
        loop = s.loops[depth - 1] if dimension is None else _row(s, buffer, dimension)
        if loop is None:
            return None
        loops[s.position] = loop
    if not _same_bounds(list(loops.values())):
        return None
    nests: list[_Nest] = []
    for loop in dict.fromkeys(loops[w.position] for w in writers):
        own = [w for w in writers if loops[w.position] is loop]
        level = own[0].loops.index(loop)
        inside = [s for s in program.statements if loop in s.loops]
        held = level < depth if dimension is not None else level != depth - 1
        if held or any(loops.get(s.position, loop) is not loop for s in inside):
            return None
        nest = _Nest(level, loop, inside, own)
        if not all(_steady(w, buffer, dimension, nest, program) for w in own) or _too_early(nest, buffer, program):
            return None
        nests.append(nest)
    return _Form(dimension, nests)


def _row(statement: Statement, buffer: Buffer, dimension: int) -> Loop | None:
    """The loop whose variable is the index of a statement's accesses to a buffer in a dimension."""
    found = {indices[dimension] for indices in statement.places(buffer)}
    index = found.pop()
    if found or not isinstance(index, Var):
        return None
    return next((loop for loop in statement.loops if loop.var == index), None)


def _same_bounds(loops: Sequence[Loop]) -> bool:
    """Whether loops run over the same iterations, of which there are some."""
    starts, extents = [linear(loop.start) for loop in loops], [linear(loop.extent) for loop in loops]
    some = starts[0].is_const and extents[0].is_const and extents[0].const > 0
    return some and all(s.equals(starts[0]) for s in starts) and all(e.equals(extents[0]) for e in extents)


def _steady(writer: Statement, buffer: Buffer, dimension: int | None, nest: _Nest, program: Program) -> bool:
    """Whether a statement does the same to its row of a local in each iteration of a loop."""
    varying = {s.buffer for s in nest.statements} | {b for b, d in program.depth.items() if d > nest.level}
    if any(load.buffer in varying - {buffer} for load in writer.reads()):
        return False
    plain = _slim(writer, buffer, buffer, dimension)
    inner = [e for o in writer.loops[nest.level + 1 :] for e in (o.start, o.extent)]
    exprs = [*plain.store.indices, plain.store.value, *plain.guards, *inner]
    return not any(nest.loop.var in free_vars(e) for e in exprs)


def _too_early(nest: _Nest, buffer: Buffer, program: Program) -> bool:
    """Whether a statement that stays in a loop reads what one that would leave it overwrites afterwards."""
    writers = {w.position for w in nest.writers}
    users = [s for s in nest.statements if buffer in s.buffers()]
    return any(
        d.source not in writers and (d.level is None or d.level > nest.level)
        for d in dependences(users, program.depth, only=buffer)
        if d.sink in writers
    )


def _outside(writer: Statement, level: int) -> Statement:
    return replace(writer, loops=(*writer.loops[:level], *writer.loops[level + 1 :]))


def _without(items: tuple[Expr, ...], dimension: int | None) -> tuple[Expr, ...]:
    return items if dimension is None else (*items[:dimension], *items[dimension + 1 :])


def _slim(statement: Statement, old: Buffer, new: Buffer, dimension: int | None) -> Statement:
    """The statement with accesses to a buffer that lack a dimension."""
    return relocated(statement, old, new, lambda indices: _without(indices, dimension))
