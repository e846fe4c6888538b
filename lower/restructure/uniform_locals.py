"""Locals that hold the same in all iterations of a loop that is an axis: one value is enough for all of them.

`for n: s = 0; for r: x[n] = f(x[n], s); s = s + c` runs over all n at once in each step r, with a copy of s for each n.
What a copy holds does not depend on n: s has no axis then (uniform values, Karrenberg and Hack, "Whole-function
vectorization", 2011). Loops inside of n that it does depend on are dimensions of its own from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Buffer, Expr
from ir.traverse import buffers_read, free_vars
from lower.analysis.freedoms import Form
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Node,
    SequentialLoop,
    Versions,
    array_over,
    inner_statements,
    relocated_node,
)
from lower.nest.normalize import Program, read_by_bounds, relocate

UNIFORM_LOCALS = Form(
    "structure.uniform_locals",
    "for n: t[n] = e  =  t = e   for a local of which there is a copy for each n, where e does not depend on n",
    "all copies hold the same at any time",
)


def with_uniform_locals(program: Program, nodes: tuple[Node, ...], boxes: Mapping[Loop, Box]) -> tuple[Node, ...]:
    """The nodes of a plan with one value for locals that are uniform along axes; changes the program alike."""
    uniform = _uniform(program, nodes, boxes)
    if not uniform:
        return nodes
    around = {b: _around(b, nodes, program) for b in uniform}
    nodes = tuple(_changed(n, uniform) for n in nodes)
    program.statements[:] = [_without(s, uniform.get(s.buffer, ())) for s in program.statements]
    for buffer, loops in uniform.items():
        level = around[buffer].index(loops[0])
        nodes = _with_dimensions(
            program, buffer, level, [o for o in around[buffer][level:] if o not in loops], nodes, boxes
        )
    return nodes


def _around(buffer: Buffer, nodes: Sequence[Node], program: Program) -> tuple[Loop, ...]:
    """The loops with a copy of a local for each iteration."""
    writer = next(n.statement for n in inner_statements(nodes) if n.statement.buffer == buffer)
    return writer.loops[: program.depth[buffer]]


def _with_dimensions(
    program: Program,
    buffer: Buffer,
    level: int,
    loops: Sequence[Loop],
    nodes: tuple[Node, ...],
    boxes: Mapping[Loop, Box],
) -> tuple[Node, ...]:
    """Nodes that use a local with a dimension for each of some loops, and a copy for each iteration of those outside of
    a level only; changes the program alike."""
    shape, first = array_over(loops, [boxes[o] for o in loops])

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*first, *indices)

    program.depth[buffer] = level
    if not loops:
        return nodes
    new = replace(buffer, shape=(*shape, *buffer.shape))
    relocate(program, buffer, new, place)
    return tuple(relocated_node(n, buffer, new, place) for n in nodes)


def _uniform(program: Program, nodes: Sequence[Node], boxes: Mapping[Loop, Box]) -> dict[Buffer, tuple[Loop, ...]]:
    """Locals, and those of the loops with a copy for each iteration whose copies hold the same."""
    writers: dict[Buffer, list[ArrayStatement]] = {}
    for n in inner_statements(nodes):
        if program.depth.get(n.statement.buffer):
            writers.setdefault(n.statement.buffer, []).append(n)
    bounds = read_by_bounds(program.statements)
    known = {b: _axes(own, program.depth[b], boxes) for b, own in writers.items() if b not in bounds}
    found = {b: loops for b, loops in known.items() if loops}
    while True:
        rest = {b: tuple(o for o in loops if not _varies(writers[b], o, found, program)) for b, loops in found.items()}
        if rest == found:
            return found
        found = {b: loops for b, loops in rest.items() if loops}


def _axes(writers: Sequence[ArrayStatement], depth: int, boxes: Mapping[Loop, Box]) -> tuple[Loop, ...]:
    """The innermost loops of those with copies that are axes of all statements that store to a local."""
    around = writers[0].statement.loops[:depth]
    if any(n.scan is not None or n.statement.tile is not None or n.statement.loops[:depth] != around for n in writers):
        return ()
    first = max(
        (k + 1 for k, o in enumerate(around) if o not in boxes or any(o not in n.axes for n in writers)), default=0
    )
    return around[first:]


def _varies(
    writers: Sequence[ArrayStatement], loop: Loop, uniform: Mapping[Buffer, Sequence[Loop]], program: Program
) -> bool:
    """Whether what statements store depends on a loop that those in `uniform` do not."""
    for n in writers:
        s = n.statement
        inner = [e for o in s.loops if o not in uniform[s.buffer] for e in (o.start, o.extent)]
        for e in (*s.store.indices, s.store.value, *s.guards, *inner):
            copies = {
                o for b in buffers_read(e) for o in s.loops[: program.depth.get(b, 0)] if o not in uniform.get(b, ())
            }
            if loop.var in free_vars(e) or loop in copies:
                return True
    return False


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
