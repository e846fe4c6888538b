"""Loops that only decide whether something is stored: `for u: if A[u]: X = e` asks whether there is such a u."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import FALSE, SKIP, Alloc, Binary, Buffer, Expr, For, If, Load, Select, Stmt, Store, Undef, seq
from ir.program.edit import nest
from ir.transform.branches.if_convert import is_short
from ir.traverse import conjuncts_of, free_vars, reads, without_outer_names


def as_existence(loop: For, names: set[str]) -> Stmt | None:
    """The question whether a store of a loop happens, and that store; None for other loops.

    Until it happens the conditions are those of the start, whatever they read. One that is evaluated for an iteration
    after that is of no consequence: `true or c` is true for an arbitrary c. `names` are taken.
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
    if not conditions or not isinstance(stmt, Store) or isinstance(stmt.value, Undef):
        return None
    inner = {o.var for o in loops}
    steady = all(not free_vars(e) & inner and not reads(stmt.buffer, e) for e in (*stmt.indices, stmt.value))
    if not steady or any(reads(stmt.buffer, e) for o in loops for e in (o.start, o.extent)):
        return None
    found = Buffer(fresh("found", names, first=2), (), DType.BOOL, "local")
    return Alloc(found, _asked(loops, conditions, stmt, found))


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
