"""Which buffers hold no arbitrary contents, whenever anybody looks."""

from __future__ import annotations

from collections.abc import Iterable

from ir.nodes import Assume, Buffer, Expr, Load, Stmt, Store, Undef
from ir.traverse import has_loads, walk, walk_expr


def defined_buffers(body: Stmt, given: Iterable[Buffer]) -> frozenset[Buffer]:
    """Of buffers that callers give, those whose elements are never undef.

    Nobody says that they may be, and only defined values are stored to them: the greatest such set. Loads whose place
    data decide may leave their buffer, which gives undef.
    """
    claimed = {e.buffer for s in walk(body) if isinstance(s, Assume) and _arbitrary(s.cond) for e in _loads(s.cond)}
    found = set(given) - claimed
    stores = [s for s in walk(body) if isinstance(s, Store)]
    while True:
        spoiled = {s.buffer for s in stores if s.buffer in found and not _is_defined(s.value, found)}
        if not spoiled:
            return frozenset(found)
        found -= spoiled


def _arbitrary(expr: Expr) -> bool:
    return any(isinstance(e, Undef) for e in walk_expr(expr))


def _loads(expr: Expr) -> list[Load]:
    return [e for e in walk_expr(expr) if isinstance(e, Load)]


def _is_defined(value: Expr, known: set[Buffer]) -> bool:
    steady = all(e.buffer in known and not any(map(has_loads, e.indices)) for e in _loads(value))
    return steady and not _arbitrary(value)
