"""Statements up to the names of their buffers: with others in their place, and the form that equal ones share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from ir.interning import Interned
from ir.nodes import Alloc, Buffer, Expr, Load, Stmt, Store
from ir.traverse import all_exprs, loads, map_expr, map_stmt, walk


class Form(Struct, frozen=True):
    """What statements share that are equal but for their buffers, and the buffers of one in the order of the form."""

    key: Hashable
    buffers: tuple[Buffer, ...]


class Forms(Struct):
    """Forms of statements, each worked out once; keys live as long as this does."""

    _interned: Interned = field(default_factory=Interned)
    _known: dict[int, tuple[Stmt, Form]] = field(default_factory=lambda: dict[int, tuple[Stmt, Form]]())

    def of(self, stmt: Stmt) -> Form:
        """The form of a statement."""
        if id(stmt) not in self._known:
            buffers = tuple(dict.fromkeys(_occurring(stmt)))
            numbered = self._interned.of(with_buffers(stmt, _numbers(buffers)))
            self._known[id(stmt)] = stmt, Form(id(numbered), buffers)
        return self._known[id(stmt)][1]


def form_of(expr: Expr) -> Expr:
    """An expression with its buffers numbered."""
    buffers = tuple(dict.fromkeys(load.buffer for load in loads(expr)))
    return with_buffers_in(expr, _numbers(buffers)) if buffers else expr


def _numbers(buffers: tuple[Buffer, ...]) -> dict[Buffer, Buffer]:
    return {b: replace(b, name=f"${k}") for k, b in enumerate(buffers)}


def _occurring(stmt: Stmt) -> Iterator[Buffer]:
    for inner in walk(stmt):
        if isinstance(inner, (Store, Alloc)):
            yield inner.buffer
    yield from (e.buffer for e in all_exprs(stmt) if isinstance(e, Load))


def with_buffers(stmt: Stmt, named: Mapping[Buffer, Buffer]) -> Stmt:
    """A statement with other buffers, all of them put in at once."""
    return map_stmt(stmt, lambda e: with_buffers_in(e, named), on_buffer=lambda b: named.get(b, b))


def with_buffers_in(expr: Expr, named: Mapping[Buffer, Buffer]) -> Expr:
    """An expression with other buffers, all of them put in at once."""
    return map_expr(expr, lambda e: replace(e, buffer=named.get(e.buffer, e.buffer)) if isinstance(e, Load) else e)
