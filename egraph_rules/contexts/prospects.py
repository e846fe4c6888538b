"""Whether it is worth to ask if a statement does nothing at some place: what a cheap look at it says.

A "no" loses an alternative at most. It is said where every store certainly leaves something else, of which somebody
takes notice: then rules have nothing to begin with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from egraph_rules.contexts.facts import Facts, read_by
from ir.analysis import contents as held
from ir.nodes import Alloc, Buffer, Expr, Load, Select, Stmt, Store, Var
from ir.traverse import buffers_written, children, has_loads, stmt_children, stmt_exprs, walk

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts


def may_do_nothing(contexts: Contexts, facts: int, permissions: int, stmt: Stmt) -> bool:
    """Whether of each buffer a store of a statement may write what is there already, or all write dead elements.

    What other buffers hold decides whether some stores run at all: of those nothing is said.
    """
    stores = [(s, unsure) for s, unsure in _stores(stmt, unsure=False)]
    known = _told(contexts.facts(facts)) | {s.buffer for s in walk(stmt) if isinstance(s, Alloc)}
    written = buffers_written(stmt)
    kept = {s.buffer for s, unsure in stores if unsure or _may_keep(s, known, written)}
    rest = {s.buffer for s, _ in stores} - kept
    return not rest or contexts.writes_only_dead(facts, permissions, stmt, rest)


def _stores(stmt: Stmt, *, unsure: bool) -> Iterator[tuple[Store, bool]]:
    """The stores in a statement, and whether data decide about them."""
    if isinstance(stmt, Store):
        yield stmt, unsure
    unsure = unsure or any(map(has_loads, stmt_exprs(stmt)))
    for part in stmt_children(stmt):
        yield from _stores(part, unsure=unsure)


def _told(f: Facts) -> set[Buffer]:
    """The buffers of whose elements something is known, other than that they are arbitrary or are not."""
    return {b for b, v in f.known if not held.is_idle(b, v)} | read_by(f.conditions)


def _may_keep(store: Store, known: Collection[Buffer], written: Collection[Buffer]) -> bool:
    """Whether a store may write what its element holds.

    One that combines the element with others does so where these are neutral, and another one where that is known.
    """
    element = Load(store.buffer, store.indices)
    read, told = _read(store.value, element)
    if told or any(b in known for b in read):
        return True
    combines = element in read_elements(store.value)
    return not read if combines else store.buffer in known or any(b in written for b in read)


def read_elements(expr: Expr) -> set[Load]:
    """The elements that an expression reads itself, not in indices of others."""
    if isinstance(expr, Load):
        return {expr}
    return set[Load]().union(*(read_elements(part) for part in children(expr)))


def _read(expr: Expr, element: Load) -> tuple[set[Buffer], bool]:
    """The buffers whose elements make up a value, besides an `element`; and whether variables or choices do too."""
    if isinstance(expr, Load):
        return (set() if expr.same(element) else {expr.buffer}), False
    if isinstance(expr, (Select, Var)):
        return set(), True
    parts = [_read(part, element) for part in children(expr)]
    return set[Buffer]().union(*(b for b, _ in parts)), any(told for _, told in parts)
