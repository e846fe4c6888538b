"""Statements of emitted functions that compute what nobody reads."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from lower.program.nodes import Assign, For, Function, JaxStmt, With, names_bound, names_read


def without_dead_code(body: Sequence[JaxStmt], live: frozenset[str] = frozenset()) -> tuple[JaxStmt, ...]:
    """The body of a function without what binds nothing that is read afterwards, or `live` behind it."""
    kept: list[JaxStmt] = []
    for stmt in reversed(body):
        bound = names_bound(stmt)
        if bound and not bound & live:
            continue
        match stmt:
            case Function(body=inner):
                stmt = replace(stmt, body=without_dead_code(inner))
            case For(body=inner):  # the next iteration may read what this one binds
                stmt = replace(stmt, body=without_dead_code(inner, live | names_read(stmt)))
            case With(body=inner):
                stmt = replace(stmt, body=without_dead_code(inner, live))
            case _:
                pass
        if isinstance(stmt, Assign | Function):
            live -= bound
        live |= names_read(stmt)
        kept.append(stmt)
    return tuple(reversed(kept))
