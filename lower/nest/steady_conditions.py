"""Conditions on elements that no store of a loop makes true or false: they read what was there before the loop.

`if L[v] < 0 and L[u] == t: L[v] = t + 1` stores nothing that is t, and over nothing that is t. With what was there at
the start in `L[u] == t`, the iterations no longer depend on each other. The law is that of refinement by a predicate:
if p(x) implies q(x) = q(e), storing e over x where p(x) holds leaves q as it is, and so does any number of such stores.
"""

from __future__ import annotations

from functools import partial

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, waits
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Expr, Load, Select, Store, Var, const
from ir.presburger import sets as pb
from ir.traverse import children, conjuncts_of, has_loads, loads, map_expr, substitute_expr, with_children
from lower.analysis.freedoms import Form
from lower.nest.normalize import Program, mapped

STEADY_CONDITIONS = Form(
    "structure.steady_conditions",
    "for v: if p(L[v]) and q(L[u]): L[v] = e  =  M = L; for v: if p(L[v]) and q(M[u]): L[v] = e   where p(x) implies "
    "q(x) = q(e)",
    "no store of the loop makes q true or false of any element",
)

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def read_before(program: Program) -> None:
    """Let such conditions read a copy that is taken before the loop, where no iteration depends on another one then."""
    for statement in list(program.statements):
        store = _conditional(statement, program)
        if store is not None:
            _apart(program, store)


class _Conditional(Struct, frozen=True):
    """A store of `value` over an element, named `old`, of which `known` hold."""

    statement: Statement
    value: Expr
    known: tuple[Expr, ...]
    old: Var


def _conditional(s: Statement, program: Program) -> _Conditional | None:
    """A store of an integer that no other data decide, under conditions on what it replaces; None for others."""
    own = Load(s.buffer, s.store.indices)
    value, guards = s.store.value, tuple(c for g in s.guards for c in conjuncts_of(_taken(g, s, program)))
    if isinstance(value, Select) and value.other.same(own):
        guards, value = (*guards, *conjuncts_of(value.cond)), value.then
    if s.tile is not None or not s.buffer.dtype.is_signed or s.buffer.dtype.is_float or has_loads(value):
        return None
    old = Var("replaced element", s.buffer.dtype)
    known = tuple(_of(g, own, old) for g in guards if set(loads(g)) == {own})
    return _Conditional(s, value, known, old) if known and s.loops else None


def _taken(guard: Expr, s: Statement, program: Program) -> Expr:
    """The condition that a guard is, also where a variable of the same iteration holds it."""
    if not isinstance(guard, Load) or program.depth.get(guard.buffer) != len(s.loops) or guard.indices:
        return guard
    makers = [w for w in program.statements if w.buffer == guard.buffer]
    plain = len(makers) == 1 and makers[0].loops == s.loops and not makers[0].guards and makers[0].position < s.position
    return makers[0].store.value if plain and makers[0].update is None else guard


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
        changed = [mapped(s, partial(_with_copy, s=s, store=store, level=level, copy=copy)) for s in inside]
        if changed == inside or waits(changed, buffer, level):
            continue
        new = dict(zip(map(id, inside), changed, strict=True))
        first = next(k for k, s in enumerate(program.statements) if s is inside[0])
        found = [new.get(id(s), s) for s in program.statements]
        found.insert(first, _copying(program, copy, buffer, store.statement.loops[:level]))
        program.depth[copy] = level
        program.renumber(found)
        return


def _copying(program: Program, copy: Buffer, buffer: Buffer, loops: tuple[Loop, ...]) -> Statement:
    places = [Var(program.fresh(f"{copy.name}_{d}"), DType.INT32) for d in range(len(buffer.shape))]
    axes = tuple(Loop(p, const(0, p.dtype), n) for p, n in zip(places, buffer.shape, strict=True))
    return Statement(0, (*loops, *axes), (), Store(copy, tuple(places), Load(buffer, tuple(places))))


def _with_copy(expr: Expr, s: Statement, store: _Conditional, level: int, copy: Buffer) -> Expr:
    """An expression of a statement, whose comparisons that the store leaves as they are read the copy."""
    if isinstance(expr, Binary) and expr.op in _COMPARISONS:
        buffer = store.statement.buffer
        read = {load for load in loads(expr) if load.buffer == buffer}
        own = s is store.statement and read == {Load(buffer, s.store.indices)}
        load = read.pop() if len(read) == 1 else None
        if load is None or own or not _stays(expr, load, s, store, level):
            return expr
        return map_expr(expr, lambda e: replace(load, buffer=copy) if e.same(load) else e)
    old = children(expr)
    new = tuple(_with_copy(e, s, store, level, copy) for e in old)
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
        states = pb.always()
        for o in around:
            states = states.intersect(pb.loop_domain(o.var, o.start, o.extent).may)
        for c in store.known:
            states = states.intersect(pb.condition(substitute_expr(c, others)).may)
        old, new = pb.condition(before), pb.condition(after)
        return states.intersect(old.may.subtract(new.must).union(new.may.subtract(old.must)))

    found = pb.within_budget(differing, None)
    return found is not None and pb.within_budget(found.is_empty, False)


def _elsewhere(s: Statement, level: int, whose: str) -> dict[Var, Expr]:
    """Names of a statement's own for its loops from a level on, which others run at other iterations of."""
    return {o.var: Var(f"{o.var.name} of the {whose}", o.var.dtype) for o in s.loops[level:]}
