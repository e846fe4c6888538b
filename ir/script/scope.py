"""Names in scope while a function is parsed, and the places that errors point at."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from msgspec import Struct, field

from ir.errors import ParseError, Span, suggest
from ir.naming import unused
from ir.nodes import Binary, Buffer, Expr, Function, Var
from ir.script.hints import CONTAINS
from ir.traverse import is_const

Constant = bool | int | float | str | Function | tuple["Constant", ...]  # what the text around a kernel defines


class View(Struct, frozen=True, eq=False):
    """A region of a buffer under a name of its own: axis `axes[k]` of the buffer counts from its start as axis k."""

    buffer: Buffer
    starts: tuple[Expr, ...]
    axes: tuple[int, ...]
    shape: tuple[Expr, ...]

    def indices(self, own: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The indices into the buffer of an element of the view."""
        places = list(self.starts)
        for axis, index in zip(self.axes, own, strict=True):
            first = places[axis]
            if is_const(first, 0):
                places[axis] = index
            elif not is_const(index, 0):
                places[axis] = Binary("add", first, index, index.span)
        return tuple(places)


Binding = Var | Buffer | View | Constant | tuple[Var, ...]


class Source(Struct, frozen=True):
    """The lines of a text and where it came from; `line_offset` is added to the lines of its syntax tree."""

    file: str
    line_offset: int = 0
    lines: tuple[str, ...] = ()
    contains: str = CONTAINS  # what may be written, for messages that have nothing better to say

    @classmethod
    def of(cls, text: str, file: str, line_offset: int = 0) -> Source:
        # Only what ends a line in Python: str.splitlines also splits at form feeds and other separators.
        return cls(file, line_offset, tuple(re.split(r"\r\n|\r|\n", text)))

    def span(self, node: ast.AST) -> Span | None:
        """Where a syntax node stands, or None for nodes without a place."""
        line = getattr(node, "lineno", None)
        if line is None:
            return None
        column, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        text = self.lines[line - 1] if line - 1 < len(self.lines) else ""
        same_line = getattr(node, "end_lineno", line) == line
        stop = end if end is not None and same_line else len(text)
        if not text.isascii():  # the syntax tree counts bytes; a caret stands under characters
            column, stop = (len(text.encode()[:k].decode(errors="ignore")) for k in (column, stop))
        return Span(self.file, line + self.line_offset, column, stop, text)

    def error(self, code: str, message: str, node: ast.AST, *, help: str = "") -> ParseError:
        """An error at a syntax node."""
        if code == "unsupported" and not help:
            help = self.contains
        return ParseError(code, message, self.span(node), help=help)


class Scope(Struct):
    """What names mean at one place. `local` holds the author's names bound in the current statement list."""

    bindings: dict[str, Binding] = field(default_factory=lambda: dict[str, Binding]())
    taken: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()

    @classmethod
    def of(cls, constants: Mapping[str, Constant]) -> Scope:
        return cls(dict(constants))

    def inner(self) -> Scope:
        """The scope of a nested statement list."""
        return Scope(self.bindings, self.taken)

    def bind(self, name: str, value: Var | Buffer) -> Scope:
        """This scope with one more name, which printing calls `value.name`."""
        return Scope({**self.bindings, name: value}, self.taken | {value.name}, self.local | {name})

    def hide(self, name: str, value: View | tuple[Var, ...]) -> Scope:
        """This scope with a name that stands for other nodes, so that printing does not know it."""
        return Scope({**self.bindings, name: value}, self.taken, self.local | {name})

    def fresh(self, name: str) -> str:
        """`name`, or a variation of it that nothing on this path uses."""
        return unused(name, self.taken)

    def look_up(self, name: str, node: ast.AST, source: Source) -> Binding:
        """What a name means.

        Raises:
            ParseError: nothing of that name is in scope.
        """
        if name in self.bindings:
            return self.bindings[name]
        near = suggest(name, (*self.bindings, "True", "False"))
        hint = near or "bind it before it is used; names bound in a nested block end with it"
        raise source.error("unknown-name", f"`{name}` is not defined here", node, help=hint)
