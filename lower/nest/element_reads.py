"""Loops that read one element of the array to which they store: it is what it was up to the step that stores it.

In `for v: D[v] = min(D[v], D[u] + W[u, v])` only step u changes what the others read. Steps up to it find what was
there before, later ones what it leaves: with both at hand, no step waits for another. This is index-set splitting at
the step v = u (Griebl, Feautrier and Lengauer, 2000), with the parts put together again by a choice, since data may say
what u is.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Loop, Statement, waits
from ir.fold import fold
from ir.nodes import Binary, Buffer, Expr, Load, Select, Store, Var
from ir.traverse import free_vars, has_loads, loads, map_expr, reads, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.updates import as_update
from lower.nest.normalize import Program, mapped

ELEMENT_READS = Form(
    "structure.element_reads",
    "for v: A[v] = f(v, A[v], A[u])  =  a = A[u]; b = f(u, a, a); for v: A[v] = f(v, A[v], a if v <= u else b)",
    "step u alone stores to A[u]",
)


def read_apart(program: Program) -> None:
    """Take what such loops read of one element out of them, where their steps are independent then."""
    for statement in list(program.statements):
        for loop, load in list(_elements(statement)):
            if _read_before(program, statement, loop, load):
                break


def _elements(s: Statement) -> Iterator[tuple[Loop, Load]]:
    """Loops whose steps store to elements side by side, with an element that all of them read."""
    if s.tile is not None or reads(s.buffer, *s.guards):
        return
    own = Load(s.buffer, s.store.indices)
    read = {load for load in loads(s.store.value) if load.buffer == s.buffer and not load.same(own)}
    for loop in s.loops if len(read) == 1 else ():
        (load,) = read
        pairs = list(zip(s.store.indices, load.indices, strict=True))
        along = [(i, u) for i, u in pairs if loop.var in free_vars(i)]
        rest = all(i.same(u) for i, u in pairs if loop.var not in free_vars(i))
        if rest and len(along) == 1 and along[0][0] == loop.var and _steady(along[0][1], s, loop):
            yield loop, load


def _steady(place: Expr, s: Statement, loop: Loop) -> bool:
    """Whether a place is the same in all steps of a loop, which stores to nothing that it reads."""
    inner = {o.var for o in s.loops[s.loops.index(loop) :]}
    return free_vars(place).isdisjoint(inner) and all(load.buffer != s.buffer for load in loads(place))


def _read_before(program: Program, s: Statement, loop: Loop, load: Load) -> bool:
    """Let a loop that does nothing else read of an element what was there before, and what its own step leaves."""
    level = s.loops.index(loop)
    inner = s.loops[level + 1 :]
    if [o for o in program.statements if loop in o.loops] != [s] or not waits([s], s.buffer, level):
        return False
    if any(waits([s], s.buffer, k) for k in range(level + 1, len(s.loops))):  # step u reads what it has stored itself
        return False
    bounds = [e for o in inner for e in (o.start, o.extent)]
    if any(loop.var in free_vars(e) or has_loads(e) for e in bounds):
        return False
    (place,) = (u for i, u in zip(s.store.indices, load.indices, strict=True) if i == loop.var)
    shape = tuple(fold(Binary("add", o.start, o.extent)) for o in inner)
    before, after = (
        Buffer(program.fresh(f"{s.buffer.name}_{when}"), shape, s.buffer.dtype, "local") for when in ("before", "after")
    )
    names = {o.var: Var(program.fresh(o.var.name), o.var.dtype) for o in inner}
    axes = tuple(replace(o, var=names[o.var]) for o in inner)
    here = tuple(names.values())

    def own(e: Expr) -> Expr:
        """An expression of step u, which finds in A[u] what was there before."""
        moved = substitute_expr(e, {loop.var: place, **names})
        element = substitute_expr(load, names)
        return map_expr(moved, lambda x: Load(before, here) if x.same(element) else x)

    stop = fold(Binary("add", loop.start, loop.extent))
    inside = [Binary("ge", place, loop.start), Binary("lt", place, stop), *map(own, s.guards)]
    found = Load(before, here)
    first = Statement(0, (*s.loops[:level], *axes), (), Store(before, here, substitute_expr(load, names)))
    left = Select(conjunction(inside), own(s.store.value), found)
    second = Statement(0, (*s.loops[:level], *axes), (), Store(after, here, left))
    at = tuple(o.var for o in inner)
    either = Select(Binary("le", loop.var, place), Load(before, at), Load(after, at))
    new = mapped(s, lambda e: map_expr(e, lambda x: either if x.same(load) else x))
    if waits([new], s.buffer, level):
        return False
    new = as_update(new, program.policy)
    k = next(k for k, o in enumerate(program.statements) if o is s)
    program.depth |= {before: level, after: level}
    program.statements[k : k + 1] = [first, second, new]
    program.renumber(program.statements)
    return True
