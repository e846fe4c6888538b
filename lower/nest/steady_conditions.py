"""Conditions on elements that no store of a loop makes true or false: they read what was there before the loop.

`if L[v] < 0 and L[u] == t: L[v] = t + 1` stores nothing that is t, and over nothing that is t. With what was there at
the start in `L[u] == t`, the iterations no longer depend on each other. The law is that of refinement by a predicate:
if p(x) implies q(x) = q(e), storing e over x where p(x) holds leaves q as it is, and so does any number of such stores.
Where several stores of a loop have one value, as those to the neighbours of a cell, they may run in any order: an
element is that value in the end if any of their conditions on it holds, and what it was if none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Statement, waits
from ir.nodes import COMPARE_OPS, Binary, Buffer, Expr, Load, Select, Store, Var
from ir.presburger import sets as pb
from ir.traverse import children, conjuncts_of, free_vars, has_loads, loads, map_expr, substitute_expr, with_children
from lower.analysis.freedoms import Form
from lower.nest.normalize import Program, copying, mapped

STEADY_CONDITIONS = Form(
    "structure.steady_conditions",
    "for v: if p(L[v]) and q(L[u]): L[v] = e  =  M = L; for v: if p(L[v]) and q(M[u]): L[v] = e   where p(x) implies "
    "q(x) = q(e)",
    "no store of the loop makes q true or false of any element",
)


def read_before(program: Program) -> None:
    """Let such conditions read a copy that is taken before the loop, where no iteration depends on another one then."""
    for buffer in dict.fromkeys(s.buffer for s in program.statements):
        _one_by_one(program, buffer)
    for statement in list(program.statements):
        store = _conditional(statement, program)
        if store is not None:
            _apart(program, store)


class _Conditional(Struct, frozen=True):
    """A store of `value` over an element, named `old`, of which `known` hold.

    `asked` are all conditions under which it stores, each with the position of the statement that asks it.
    """

    statement: Statement
    value: Expr
    known: tuple[Expr, ...]
    old: Var
    asked: tuple[tuple[Expr, int], ...]


def _conditional(s: Statement, program: Program) -> _Conditional | None:
    """A store of an integer that no other data decide, under conditions on what it replaces; None for others."""
    own = Load(s.buffer, s.store.indices)
    value, conditions = s.store.value, [_taken(g, s, program) for g in s.guards]
    if isinstance(value, Select) and value.other.same(own):
        conditions, value = [*conditions, (value.cond, s.position)], value.then
    asked = tuple((c, at) for whole, at in conditions for c in conjuncts_of(whole))
    if s.tile is not None or not s.buffer.dtype.is_signed or s.buffer.dtype.is_float or has_loads(value):
        return None
    old = Var("replaced element", s.buffer.dtype)
    known = tuple(_of(c, own, old) for c, _ in asked if set(loads(c)) == {own})
    return _Conditional(s, value, known, old, asked) if known and s.loops else None


def _taken(guard: Expr, s: Statement, program: Program) -> tuple[Expr, int]:
    """The condition that a guard is, also where a variable of the same iteration holds it, and where it is asked."""
    if not isinstance(guard, Load) or program.depth.get(guard.buffer) != len(s.loops) or guard.indices:
        return guard, s.position
    makers = [w for w in program.statements if w.buffer == guard.buffer]
    plain = len(makers) == 1 and makers[0].loops == s.loops and not makers[0].guards and makers[0].position < s.position
    taken = plain and makers[0].update is None
    return (makers[0].store.value, makers[0].position) if taken else (guard, s.position)


def _of(expr: Expr, load: Load, var: Var) -> Expr:
    return map_expr(expr, lambda e: var if isinstance(e, Load) and e.same(load) else e)


def _apart(program: Program, store: _Conditional) -> None:
    """Change the outermost loop around a store that its conditions hold together."""
    buffer = store.statement.buffer
    for level, loop in enumerate(store.statement.loops):
        inside = [s for s in program.statements if loop in s.loops]
        if [s for s in inside if s.buffer == buffer] != [store.statement] or not waits(inside, buffer, level):
            continue
        copy = Buffer(program.fresh(f"old_{buffer.name}"), buffer.shape, buffer.dtype, "local")
        target = Load(buffer, store.statement.store.indices)
        change = partial(_with_copy, store=store, level=level, copy=copy)
        owns = [target if s is store.statement else None for s in inside]
        changed = [mapped(s, partial(change, s=s, own=own)) for s, own in zip(inside, owns, strict=True)]
        if changed == inside or waits(changed, buffer, level):
            continue
        new = dict(zip(map(id, inside), changed, strict=True))
        first = next(k for k, s in enumerate(program.statements) if s is inside[0])
        found = [new.get(id(s), s) for s in program.statements]
        found.insert(first, copying(program, buffer, copy, around=store.statement.loops[:level]))
        program.depth[copy] = level
        program.renumber(found)
        return


def _one_by_one(program: Program, buffer: Buffer) -> None:
    """Give several stores of one value to a buffer, in one loop, a loop each."""
    known = [_conditional(s, program) for s in program.statements if s.buffer == buffer and s.guards]
    stores = [c for c in known if c is not None]
    for level in range(min((len(c.statement.loops) for c in stores), default=0) if len(stores) > 1 else 0):
        loop = stores[0].statement.loops[level]
        inside = [s for s in program.statements if loop in s.loops]
        steps = {o.var for s in inside for o in s.loops[level:]}
        own = [c for c in stores if loop in c.statement.loops]
        alike = all(c.value.same(own[0].value) and free_vars(c.value).isdisjoint(steps) for c in own)
        every = [s for s in inside if s.buffer == buffer] == [c.statement for c in own] and len(own) > 1
        if not (alike and every and waits(inside, buffer, level) and _only_asks(inside, own, program)):
            continue
        copy = Buffer(program.fresh(f"old_{buffer.name}"), buffer.shape, buffer.dtype, "local")
        new = [_alone(c, own, level, copy, program) for c in own]
        apart = [s for s in new if s is not None]
        if len(apart) < len(new):
            continue
        first = program.statements.index(inside[0])
        found = [s for s in program.statements if s not in inside]
        found[first:first] = [copying(program, buffer, copy, around=own[0].statement.loops[:level]), *apart]
        for s in inside:
            if s.buffer != buffer:  # a condition, which is a guard now
                del program.depth[s.buffer]
        program.depth[copy] = level
        program.renumber(found)
        return


def _only_asks(inside: Sequence[Statement], stores: Sequence[_Conditional], program: Program) -> bool:
    """Whether all else in a loop works out conditions of some stores, which nobody else looks at."""
    own = [c.statement for c in stores]
    asked = {load.buffer for s in own for g in s.guards for load in loads(g)}
    makers = [s for s in inside if s not in own]
    elsewhere = {b for s in program.statements for b in s.buffers() if s not in inside}
    return all(
        s.buffer in asked and s.buffer not in elsewhere and program.depth.get(s.buffer) == len(s.loops) for s in makers
    )


def _alone(
    store: _Conditional, stores: Sequence[_Conditional], level: int, copy: Buffer, program: Program
) -> Statement | None:
    """A store in a loop of its own, whose conditions on other elements read a copy; None where they may not."""
    s = store.statement
    target = Load(s.buffer, s.store.indices)
    between = {c.statement.position for c in stores}
    guards: list[Expr] = []
    for part, at in store.asked:
        if {load for load in loads(part) if load.buffer == s.buffer} == {target}:
            if any(at < position < s.position for position in between):
                return None  # another store of the iteration may have changed it
        else:
            part = _all_with_copy(part, store, stores, level, copy)
        others = (load.buffer for load in loads(part) if load != target)
        if any(b == s.buffer or b in program.depth for b in others):
            return None
        guards.append(part)
    names = {o.var: Var(program.fresh(o.var.name), o.var.dtype) for o in s.loops[level:]}
    loops = tuple(
        replace(o, var=names[o.var], start=substitute_expr(o.start, names), extent=substitute_expr(o.extent, names))
        for o in s.loops[level:]
    )
    places = tuple(substitute_expr(i, names) for i in s.store.indices)
    moved = tuple(substitute_expr(g, names) for g in guards)
    return replace(
        s, loops=(*s.loops[:level], *loops), guards=moved, store=Store(s.buffer, places, store.value, s.store.span)
    )


def _all_with_copy(expr: Expr, store: _Conditional, stores: Sequence[_Conditional], level: int, copy: Buffer) -> Expr:
    """A condition whose comparisons that all stores leave as they are read the copy."""
    found = [_with_copy(expr, store.statement, c, level, copy) for c in stores]
    return found[0] if all(e.same(found[0]) for e in found) else expr


def _with_copy(
    expr: Expr, s: Statement, store: _Conditional, level: int, copy: Buffer, own: Load | None = None
) -> Expr:
    """An expression of a statement, whose comparisons that the store leaves as they are read the copy, but for those of
    an element that is its `own`."""
    if isinstance(expr, Binary) and expr.op in COMPARE_OPS:
        buffer = store.statement.buffer
        read = {load for load in loads(expr) if load.buffer == buffer}
        load = read.pop() if len(read) == 1 else None
        if load is None or load == own or not _stays(expr, load, s, store, level):
            return expr
        return map_expr(expr, lambda e: replace(load, buffer=copy) if e.same(load) else e)
    old = children(expr)
    new = tuple(_with_copy(e, s, store, level, copy, own) for e in old)
    return expr if all(a is b for a, b in zip(old, new, strict=True)) else with_children(expr, new)


def _stays(test: Expr, load: Load, reader: Statement, store: _Conditional, level: int) -> bool:
    """Whether no store makes a condition on an element, which a statement asks for, true or false."""
    around = store.statement.loops[:level]
    before = substitute_expr(_of(test, load, store.old), _elsewhere(reader, level, "reader"))
    if has_loads(before):
        return False
    others = _elsewhere(store.statement, level, "store")
    stored = substitute_expr(store.value, others)
    after = map_expr(before, lambda e: stored if e.same(store.old) else e)

    def differing() -> isl.Set:
        states = pb.within_loops(pb.always(), around)
        for c in store.known:
            states = states.intersect(pb.condition(substitute_expr(c, others)).may)
        old, new = pb.condition(before), pb.condition(after)
        return states.intersect(old.may.subtract(new.must).union(new.may.subtract(old.must)))

    found = pb.within_budget(differing, None)
    return found is not None and pb.within_budget(found.is_empty, False)


def _elsewhere(s: Statement, level: int, whose: str) -> dict[Var, Expr]:
    """Names of a statement's own for its loops from a level on, which others run at other iterations of."""
    return {o.var: Var(f"{o.var.name} of the {whose}", o.var.dtype) for o in s.loops[level:]}
