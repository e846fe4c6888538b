"""What calls pass for buffers: sections of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ir.errors import Span
from ir.nodes import Buffer, CallStmt, Const, Expr, const
from ir.shown import Node


class Section(Node, Struct, frozen=True, eq=False):
    """A box of a buffer, as a call passes it: (start, extent) for each axis; extent None is one index, and no axis."""

    buffer: Buffer
    ranges: tuple[tuple[Expr, Expr | None], ...]
    span: Span | None = None

    @staticmethod
    def whole(buffer: Buffer, span: Span | None = None) -> Section:
        """All of a buffer."""
        return Section(buffer, tuple((const(0, e.dtype), e) for e in buffer.shape), span)

    @property
    def is_whole(self) -> bool:
        """Whether it is written as all of its buffer."""
        starts, extents = (start for start, _ in self.ranges), (extent for _, extent in self.ranges)
        return all(isinstance(s, Const) and s.value == 0 for s in starts) and all(
            e is not None and e.same(full) for e, full in zip(extents, self.buffer.shape, strict=True)
        )

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The extents of its axes."""
        return tuple(extent for _, extent in self.ranges if extent is not None)

    def brief(self) -> str:
        """Its text."""
        return f"Section {self}"


def passed(call: CallStmt) -> Iterator[tuple[Buffer, Section]]:
    """Buffer parameters and what a call passes for them."""
    for param, arg in zip(call.callee.params, call.args, strict=True):
        if isinstance(param, Buffer) and isinstance(arg, Section):
            yield param, arg
