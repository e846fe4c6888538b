"""Loops that work on a small part of a buffer get a copy of that part, which they carry instead of the buffer.

XLA copies what a loop carries whenever an iteration still reads old elements while it stores new ones. Inside another
loop that would cost a whole buffer at each step, where a tile costs next to nothing. Polyhedral compilers copy tiles to
scratchpads for the same reason (Verdoolaege et al., Polyhedral parallel code generation for CUDA, 2013).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Const, Expr, Load, Store, const
from ir.traverse import has_loads, reads
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, number, to_expr, unbounded
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Fresh,
    Node,
    SequentialLoop,
    Solve,
    array_statement,
    extreme,
    inner_statements,
    loops_over,
    relocated_node,
)
from lower.nest.normalize import read_by_bounds

COPY_IN_OUT = Form(
    "structure.copy_in_out",
    "loop over a part of A  =  copy = part; loop over copy; part = copy",
    "nothing else touches the part meanwhile",
)

_SHARE = 4  # a tile is this many times smaller than its buffer


class Tiler:
    """Gives loops tiles; `depth` says afterwards of each how many loops have a copy of their own."""

    def __init__(self, boxes: dict[Loop, Box], new: Fresh) -> None:
        self.boxes = boxes
        self.new = new
        self.depth: dict[Buffer, int] = {}

    def nodes(self, nodes: Iterable[Node], around: tuple[Loop, ...] = ()) -> tuple[Node, ...]:
        """Nodes with tiles for the loops in them that are inside a loop of theirs."""
        found: list[Node] = []
        for node in nodes:
            if not isinstance(node, SequentialLoop):
                found.append(node)
            elif around and all(isinstance(n, ArrayStatement) for n in node.body):
                found += self._loop(node)
            else:
                found.append(replace(node, body=self.nodes(node.body, (*around, node.loop))))
        return tuple(found)

    def _loop(self, node: SequentialLoop) -> tuple[Node, ...]:
        statements = [n.statement for n in inner_statements(node.body)]
        before: list[Node] = []
        after: list[Node] = []
        for buffer in sorted({s.buffer for s in statements} - read_by_bounds(statements), key=lambda b: b.name):
            window = self._window(buffer, node)
            if window is not None:
                tile, low = window
                around = statements[0].loops[: statements[0].loops.index(node.loop)]
                self.depth[tile] = len(around)
                place = partial(_inside_tile, low)
                node = replace(node, body=tuple(relocated_node(n, buffer, tile, place) for n in node.body))
                if not self._filled(tile, node):
                    before.append(self._copy(tile, buffer, low, around, back=False))
                after.append(self._copy(tile, buffer, low, around, back=True))
        return (*before, node, *after)

    def _copy(
        self, tile: Buffer, buffer: Buffer, low: Sequence[Linear], around: tuple[Loop, ...], back: bool
    ) -> ArrayStatement:
        """The tile from its buffer, or the buffer's part from its tile."""
        axes = loops_over(tile, self.boxes, self.new.name)
        inside = tuple(a.var for a in axes)
        outside = tuple(to_expr(first + atom(a.var), a.var) for first, a in zip(low, axes, strict=True))
        here, there = Load(tile, inside), Load(buffer, outside)
        source, sink = (here, there) if back else (there, here)
        store = Store(sink.buffer, sink.indices, source)
        return array_statement(store, around, axes, self.new)

    def _filled(self, tile: Buffer, node: SequentialLoop) -> bool:
        """Whether each step stores to a row of its own before it reads it, and to no other, until all are stored."""
        users = [n for n in inner_statements(node.body) if tile in n.statement.buffers()]
        first = users[0].statement
        own = {o.var: box for o in (node.loop, *users[0].axes) if (box := self.boxes.get(o)) is not None and box.exact}
        indices = [linear(i) for i in first.store.indices]
        if first.buffer != tile or first.guards or first.update or users[0].scan or len(indices) != len(own):
            return False
        if reads(tile, first.store.value):
            return False
        by_var = {v: d for d, i in enumerate(indices) for v in own if i.equals(atom(v) + i.const)}
        if by_var.keys() != own.keys() or len(set(by_var.values())) < len(indices):
            return False
        for v, d in by_var.items():
            covered = own[v].low + indices[d].const
            if not covered.equals(number(0)) or not own[v].extent.equals(linear(tile.shape[d])):
                return False
        d = by_var[node.loop.var]
        return all(linear(p[d]).equals(indices[d]) for n in users for p in n.statement.places(tile))

    def _window(self, buffer: Buffer, node: SequentialLoop) -> tuple[Buffer, list[Linear]] | None:
        """A tile for all that a loop touches of a buffer, and where it begins; None if there is no smaller one."""
        whole = [d.value if isinstance(d, Const) else None for d in buffer.shape]
        accesses = [(n, indices) for n in inner_statements(node.body) for indices in n.statement.places(buffer)]
        low: list[Linear] = []
        shape: list[Const] = []
        for d, size in enumerate(whole):
            ranges = [self._range(indices[d], node.loop, n) for n, indices in accesses]
            known = [r for r in ranges if r is not None]
            found = _hull(known) if len(known) == len(ranges) else None
            if size is None or found is None or not self._inside(found, int(size), node):
                return None
            low.append(found[0])
            shape.append(const(found[1], buffer.shape[d].dtype))
        if not shape or math.prod(int(s.value) for s in shape) * _SHARE > math.prod(int(s or 0) for s in whole):
            return None
        return replace(buffer, name=self.new.name(f"{buffer.name}_tile"), shape=tuple(shape), scope="local"), low

    def _range(self, index: Expr, loop: Loop, node: ArrayStatement) -> tuple[Linear, Linear] | None:
        """The first and last value of an index over the iterations of a loop and the axes in it."""
        if has_loads(index):
            return None
        inside = {o.var: self.boxes[o] for o in (loop, *node.axes)}
        if isinstance(node.scan, Solve):
            inside[node.scan.column] = self.boxes[node.scan.loop]
        form = linear(index)
        outer = frozenset(form.vars() - inside.keys())
        low, high = (extreme(form, inside, outer, unbounded, upper) for upper in (False, True))
        return None if low is None or high is None else (low, high)

    def _inside(self, hull: tuple[Linear, int], size: int, node: SequentialLoop) -> bool:
        """Whether a range is within a dimension for all iterations of the loops around."""
        loops = next(inner_statements(node.body)).statement.loops
        around = {o.var: self.boxes[o] for o in loops[: loops.index(node.loop)] if o in self.boxes}
        first = extreme(hull[0], around, frozenset(), unbounded, upper=False)
        end = extreme(hull[0] + hull[1], around, frozenset(), unbounded, upper=True)
        if first is None or end is None:
            return False
        return first.is_const and first.const >= 0 and end.is_const and end.const <= size


def _hull(ranges: Sequence[tuple[Linear, Linear]]) -> tuple[Linear, int] | None:
    """The first position and the extent of what covers ranges that differ by numbers."""
    first, last = ranges[0]
    for low, high in ranges:
        below, above = first - low, high - last
        if not (below.is_const and above.is_const):
            return None
        first = low if below.const > 0 else first
        last = high if above.const > 0 else last
    extent = last - first + 1
    return (first, extent.const) if extent.is_const else None


def _inside_tile(low: Sequence[Linear], indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(to_expr(linear(i) - first, i) for i, first in zip(indices, low, strict=True))
