"""Loops that only decide whether something is stored: `for u: if A[u]: X = e` asks whether there is such a u, and
`for u, v: if A[u, v]: X[v] = e` does so for each v."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import FALSE, SKIP, Alloc, Binary, Buffer, Expr, For, If, Load, Select, Seq, Stmt, Store, Undef, seq
from ir.program.edit import nest
from ir.transform.branches.if_convert import is_short
from ir.traverse import conjuncts_of, free_vars, reads, without_outer_names


def as_existence(loop: For, names: set[str]) -> Stmt | None:
    """The questions whether stores of a loop happen, and those stores; None for other loops.

    Until a store happens the conditions are those of the start, whatever they read. One that is evaluated for an
    iteration after that is of no consequence: `true or c` is true for an arbitrary c. Where loops around others give
    the place, they are put outside of those, and each of several stores is asked for by itself: then conditions may
    read nothing that is stored. `names` are taken.
    """
    loops: list[For] = []
    conditions: list[Expr] = []
    stmt: Stmt = loop
    while isinstance(stmt, For) and stmt.kind == "serial":
        loops.append(stmt)
        stmt = without_outer_names(stmt.body, is_short)
    while isinstance(stmt, If) and stmt.other == SKIP:
        conditions += conjuncts_of(stmt.cond)
        stmt = without_outer_names(stmt.then, is_short)
    parts = stmt.stmts if isinstance(stmt, Seq) else (stmt,)
    stores = [s for s in parts if isinstance(s, Store) and not isinstance(s.value, Undef)]
    if not conditions or not len(parts) == len(stores) == len({s.buffer for s in stores}):
        return None
    kept = [_places(loops, s) for s in stores]
    if all(k and k == loops[: len(k)] for k in kept):
        return None  # loops inside are asked by themselves
    once = () if len(stores) == 1 and not kept[0] else conditions  # else others store before all are asked
    bounds = [e for o in loops for e in (o.start, o.extent)]
    made = [e for s in stores for e in (*s.indices, s.value)]
    if any(reads(s.buffer, *bounds, *made, *once) for s in stores):
        return None
    asked = [_asked_apart(loops, k, conditions, s, names) for k, s in zip(kept, stores, strict=True)]
    found = [s for s in asked if s is not None]
    return seq(*found) if len(found) == len(asked) else None


def _places(loops: Sequence[For], store: Store) -> list[For]:
    """The loops that the place or value of a store depends on."""
    free = free_vars(*store.indices, store.value)
    return [o for o in loops if o.var in free]


def _asked_apart(
    loops: Sequence[For], kept: Sequence[For], conditions: Sequence[Expr], store: Store, names: set[str]
) -> Stmt | None:
    """A store in the loops that it depends on, if the others decide only whether it happens; None where iterations of
    different ones may store to one place, or have bounds that depend on the others."""
    inner = [o for o in loops if o not in kept]
    gone = {o.var for o in inner}
    once = all(any(map(o.var.same, store.indices)) for o in kept)
    if not inner or not once or any(free_vars(e) & gone for o in kept for e in (o.start, o.extent)):
        return None
    found = Buffer(fresh("found", names, first=2), (), DType.BOOL, "local")
    return nest(kept, Alloc(found, _asked(inner, conditions, store, found)))


def _asked(loops: Sequence[For], conditions: Sequence[Expr], store: Store, found: Buffer) -> Stmt:
    """Statements that ask whether conditions hold anywhere in a nest of loops, and store if so."""
    there = Load(found, ())
    ask = nest(loops, Store(found, (), Binary("or", there, conjunction(conditions))))
    inner = {loop.var for loop in loops}
    outer = [c for c in conditions if not free_vars(c) & inner]
    own = [c for c in outer if reads(store.buffer, c)]  # a choice takes them before the store changes them
    value = Select(conjunction(own), store.value, Load(store.buffer, store.indices)) if own else store.value
    before = conjunction([*(c for c in outer if c not in own), there])
    return seq(Store(found, (), FALSE), ask, If(before, replace(store, value=value), SKIP))
