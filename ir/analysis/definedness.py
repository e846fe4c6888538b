"""Which buffers hold no arbitrary contents, whenever anybody looks."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ir.nodes import Assume, Buffer, Expr, Let, Stmt, Store
from ir.traverse import buffers_read, has_loads, has_undef, loads, stores_in, walk


def claimed_arbitrary(body: Stmt) -> set[Buffer]:
    """Buffers of which an assumption says that they may hold undef."""
    return {e.buffer for s in walk(body) if isinstance(s, Assume) and has_undef(s.cond) for e in loads(s.cond)}


def defined_buffers(body: Stmt, given: Iterable[Buffer]) -> frozenset[Buffer]:
    """Of buffers that callers give, those whose elements are never undef.

    Nobody says that they may be, and only defined values are stored to them: the greatest such set. Loads whose place
    data decide may leave their buffer, which gives undef.
    """
    found = set(given) - claimed_arbitrary(body)
    stores = [*stores_in(body)]
    while True:
        spoiled = {s.buffer for s in stores if s.buffer in found and not is_defined(s.value, found)}
        if not spoiled:
            return frozenset(found)
        found -= spoiled


def is_defined(value: Expr, known: Collection[Buffer]) -> bool:
    """Whether a value is not arbitrary, if what these buffers hold is not."""
    steady = all(e.buffer in known and not any(map(has_loads, e.indices)) for e in loads(value))
    return steady and not has_undef(value)


def writes_defined(stmt: Stmt) -> bool:
    """Whether a statement stores and binds nothing arbitrary, if no element that it reads is."""
    values = [s.value for s in walk(stmt) if isinstance(s, (Store, Let))]
    return all(is_defined(value, buffers_read(value)) for value in values)
