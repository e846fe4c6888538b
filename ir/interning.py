"""Statements that are equal as one object, so that what is known of one is found for all of them (hash-consing)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from operator import attrgetter
from typing import Any, cast

from ir.nodes import Stmt
from ir.traverse import stmt_children

_PARTS = frozenset({"stmts", "then", "other", "body", "init", "span"})


class Interned:
    """The first object of each statement that was asked for; it is kept, so that its identity stays its own."""

    def __init__(self) -> None:
        self._first: dict[int, Stmt] = {}  # by the identity of each object seen
        self._seen: list[Stmt] = []
        self._by_key: dict[Hashable, Stmt] = {}

    def of(self, stmt: Stmt) -> Stmt:
        """The first statement that is equal to `stmt`, spans ignored."""
        found = self._first.get(id(stmt))
        if found is None:
            parts = tuple(id(self.of(part)) for part in stmt_children(stmt))
            found = self._by_key.setdefault((type(stmt), parts, _own(type(stmt))(stmt)), stmt)
            self._first[id(stmt)] = found
            self._seen.append(stmt)
        return found


@cache
def _own(kind: type[Stmt]) -> Callable[[Stmt], Hashable]:
    """What reads the fields of a kind of statement that are no statements."""
    names = [name for name in cast(Any, kind).__struct_fields__ if name not in _PARTS]
    return attrgetter(*names) if names else lambda _: ()
