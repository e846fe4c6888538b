"""Locals that hold the same in all iterations of a loop that is an axis: one value is enough for all of them.

`for n: s = 0; for r: x[n] = f(x[n], s); s = s + c` runs over all n at once in each step r, with a copy of s for each n.
What a copy holds does not depend on n: s has no axis then (uniform values, Karrenberg and Hack, "Whole-function
vectorization", 2011).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Buffer
from ir.traverse import buffers_read, free_vars
from lower.analysis.freedoms import Form
from lower.nest.nodes import ArrayStatement, Node, SequentialLoop, Versions, inner_statements
from lower.nest.normalize import Program, read_by_bounds

UNIFORM_LOCALS = Form(
    "structure.uniform_locals",
    "for n: t[n] = e  =  t = e   for a local of which there is a copy for each n, where e does not depend on n",
    "all copies hold the same at any time",
)


def with_uniform_locals(program: Program, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes of a plan with one value for locals that are uniform along axes; changes the program alike."""
    uniform = _uniform(program, nodes)
    if not uniform:
        return nodes
    found = tuple(_changed(n, uniform) for n in nodes)
    program.statements[:] = [_without(s, uniform.get(s.buffer, ())) for s in program.statements]
    for buffer, loops in uniform.items():
        program.depth[buffer] -= len(loops)
    return found


def _uniform(program: Program, nodes: Sequence[Node]) -> dict[Buffer, tuple[Loop, ...]]:
    """Locals, and the innermost of the loops with a copy for each iteration whose copies hold the same."""
    writers: dict[Buffer, list[ArrayStatement]] = {}
    for n in inner_statements(nodes):
        if program.depth.get(n.statement.buffer):
            writers.setdefault(n.statement.buffer, []).append(n)
    bounds = read_by_bounds(program.statements)
    found = {b: loops for b, own in writers.items() if b not in bounds and (loops := _axes(own, program.depth[b]))}
    while True:
        varying = {b: k for b in found if (k := _varying(writers[b], found[b], found, program)) > 0}
        if not varying:
            return found
        found = {b: rest for b, loops in found.items() if (rest := loops[varying.get(b, 0) :])}


def _axes(writers: Sequence[ArrayStatement], depth: int) -> tuple[Loop, ...]:
    """The innermost loops of those with copies that are axes of all statements that store to a local."""
    around = writers[0].statement.loops[:depth]
    if any(n.scan is not None or n.statement.tile is not None or n.statement.loops[:depth] != around for n in writers):
        return ()
    first = max((k + 1 for k, o in enumerate(around) if not all(o in n.axes for n in writers)), default=0)
    return around[first:]


def _varying(
    writers: Sequence[ArrayStatement],
    loops: Sequence[Loop],
    uniform: dict[Buffer, tuple[Loop, ...]],
    program: Program,
) -> int:
    """How many of the loops, from the outermost one, have one among them that what is stored depends on."""
    names: set[str] = set()
    for n in writers:
        s = n.statement
        own = [o for o in s.loops if o not in loops]
        exprs = (*s.store.indices, s.store.value, *s.guards, *(e for o in own for e in (o.start, o.extent)))
        for e in exprs:
            names |= {v.name for v in free_vars(e)}
            for b in buffers_read(e):
                copies = s.loops[: program.depth.get(b, 0)]
                names |= {o.var.name for o in copies if o not in uniform.get(b, ())}
    return max((k + 1 for k, o in enumerate(loops) if o.var.name in names), default=0)


def _changed(node: Node, uniform: dict[Buffer, tuple[Loop, ...]]) -> Node:
    if isinstance(node, SequentialLoop):
        return replace(node, body=tuple(_changed(n, uniform) for n in node.body))
    if isinstance(node, Versions):
        fast, exact = (tuple(_changed(n, uniform) for n in v) for v in (node.fast, node.exact))
        return replace(node, fast=fast, exact=exact)
    loops = uniform.get(node.statement.buffer, ())
    axes = tuple(o for o in node.axes if o not in loops)
    return replace(node, statement=_without(node.statement, loops), axes=axes) if loops else node


def _without(s: Statement, loops: Sequence[Loop]) -> Statement:
    return replace(s, loops=tuple(o for o in s.loops if o not in loops)) if loops else s
