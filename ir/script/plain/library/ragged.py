"""Lists of lists of different lengths of callers: all of their items in one array, and where each list starts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from msgspec import Struct

from ir.script.plain.arrays import Indices, View
from ir.script.plain.frames import Named, Value
from ir.script.plain.promotion import Number, Weak, expr_of

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator


class Ragged(Struct, frozen=True, eq=False):
    """Lists in a list; `starts` has one number more than there are lists."""

    items: View
    starts: View

    @property
    def count(self) -> int:
        """How many lists there are."""
        size = self.starts.shape[0]
        assert isinstance(size, int)
        return size - 1


def ragged_of(value: Value) -> Ragged | None:
    """The lists that a value is, if it is such."""
    return value.value if isinstance(value, Named) and isinstance(value.value, Ragged) else None


def row(read: Evaluator, lists: Ragged, index: Number, node: ast.AST) -> View:
    """One of the lists."""
    numbers, span = read.numbers, read.source.span(node)

    def end(after: int) -> Number:
        ends = View(lists.starts.buffer, (lists.count,), lambda i: (numbers.binary("add", i[0], after, node),))
        return numbers.integer(read.as_number(read.row(ends, index, node), node), node)

    start, stop = end(0), end(1)
    if not read.program.conditional:
        start, stop = (read.program.frozen(name, n, span) for name, n in (("start", start), ("stop", stop)))
    size = numbers.binary("sub", stop, start, node)
    if (expr := expr_of(size)) is not None:
        size = Weak(expr, 0)

    def place(indices: Indices) -> Indices:
        return (numbers.binary("add", start, indices[0], node), *indices[1:])

    return View(lists.items.buffer, (size, *lists.items.shape[1:]), place)
