"""Where a program asks for what statements store to locals: under conditions of all who read it.

Array code works out elements that nobody asks for as well. Their values do not matter, but derivatives reach them as
zero times that of what is worked out, which is no number where that is infinite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ir.nodes import Buffer, Expr
from ir.traverse import buffers_read, free_vars, loads
from lower.nest.nodes import (
    ArrayStatement,
    Node,
    Plan,
    SequentialLoop,
    Versions,
    buffers_of,
    inner_statements,
    own_bounds,
    users_by_buffer,
)
from lower.nest.normalize import Program, read_by_bounds

Asked = dict[ArrayStatement, tuple[Expr, ...]]


def asked(program: Program, plan: Plan) -> Asked:
    """Conditions of the readers of locals, which do not hold where nobody reads what a statement stores to one.

    They say something of the iterations in which the local is one, and read what nothing stores to.
    """
    leaves = [*inner_statements(plan.nodes)]
    besides, users, steady = read_besides(plan), users_by_buffer(leaves), program.unwritten
    found: Asked = {}
    for n in reversed(leaves):
        local = n.statement.buffer
        if local in program.depth and local not in besides:
            readers = [r for r in users[local] if r is not n and any(o.buffer == local for o in r.statement.reads())]
            conditions = _common(n, readers, found, program.depth[local], steady, plan) if readers else ()
            if conditions:
                found[n] = conditions
    return found


def _common(
    n: ArrayStatement,
    readers: Collection[ArrayStatement],
    known: Asked,
    depth: int,
    steady: Collection[Buffer],
    plan: Plan,
) -> tuple[Expr, ...]:
    own = [loop.var for loop in n.statement.loops[:depth]]
    if any(r.scan is not None or [o.var for o in r.statement.loops[:depth]] != own for r in readers):
        return ()
    inner = {o.var for r in (n, *readers) for o in r.statement.loops[depth:]}
    sets = [_conditions(r, known, plan) for r in readers]
    mine = _conditions(n, {}, plan)
    return tuple(
        g
        for g in dict.fromkeys(sets[0])
        if all(any(g.same(h) for h in others) for others in sets[1:])
        and not any(g.same(h) for h in mine)
        and free_vars(g) <= set(own) - inner
        and all(load.buffer in steady for load in loads(g))
    )


def _conditions(n: ArrayStatement, known: Asked, plan: Plan) -> list[Expr]:
    """What holds where a statement is asked for what it does."""
    bounds = [
        b
        for loop in n.statement.loops
        if loop in plan.boxes and not plan.boxes[loop].exact
        for b in own_bounds(loop)
        if free_vars(b) != {loop.var}
    ]
    return [*n.statement.guards, *bounds, *known.get(n, ())]


def read_besides(plan: Plan) -> set[Buffer]:
    """The buffers that more reads than values, places and guards of statements: bounds of loops, tests, and scans."""
    leaves = [*inner_statements(plan.nodes)]
    scanned = {b for n in leaves if n.scan is not None for b in buffers_of(n) - {*n.statement.buffers()}}
    return scanned | read_by_bounds(n.statement for n in leaves) | _tested(plan.nodes)


def _tested(nodes: Iterable[Node]) -> set[Buffer]:
    """The buffers that decide which version of something runs."""
    found = set[Buffer]()
    for node in nodes:
        match node:
            case Versions():
                found |= buffers_read(node.test) | _tested((*node.fast, *node.exact))
            case SequentialLoop():
                found |= _tested(node.body)
            case ArrayStatement():
                pass
    return found
