"""Nests made one loop: loops over ranges that rows give over all positions, others over all of their iterations.

`for i: for k in range(row[i], row[i + 1]): S(i, k)` does S for positions k in rising order where no range begins before
the one of the row before it ends. There it is `for k: if k is in a range: S(row_of[k], k)`, a loop with static bounds,
whose statements may be arrays, scatters and scans like any others. Which row a position is in comes from counting the
ranges that have begun. Whether the ranges are in order is tested as it runs, and the loops stay for when they are not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Expr, Load, Select, Store, Var, const
from ir.traverse import buffers_read, free_vars, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, number, to_expr
from lower.instructions.segmented_reduction import padded
from lower.nest.element_prices import element, extent
from lower.nest.nodes import Box, Fresh, loop_over, own_bounds
from lower.nest.normalize import mapped, moved, read_by_bounds
from lower.storage.array_expansion import recorded

COALESCING = Form(
    "structure.coalescing",
    "for i: for k in row[i]..row[i + 1]: S  =  for k: S, where ranges are in order and apart",
    "ranges in order visit each position once, and in rising order",
)


COLLAPSING = Form(
    "structure.collapsing",
    "for i in m: for k in n: S(i, k)  =  for t in m * n: S(t // n, t % n)",
    "t counts the iterations in their order",
)


class Ranges(Struct, frozen=True):
    """Ranges `start <= inner.var < stop`, one for each iteration of `outer`; nothing happens outside of `box`."""

    outer: Loop
    inner: Loop
    box: Box

    @property
    def stop(self) -> Expr:
        return to_expr(linear(Binary("add", self.inner.start, self.inner.extent)), self.inner.var)


class Flat(Struct, frozen=True):
    """Statements for ranges that are in order, and others before them: those that store whether they are to `ordered`,
    and those `first` that store which row each position is in. `depth` says of how many loops new locals have copies.
    """

    testing: list[Statement]
    ordered: Buffer
    first: list[Statement]
    statements: list[Statement]
    depth: dict[Buffer, int]
    boxes: dict[Loop, Box]


def ranges(
    statements: Sequence[Statement], boxes: Mapping[Loop, Box], static: Collection[Var], depth: Mapping[Buffer, int]
) -> dict[Loop, Ranges]:
    """Loops over ranges that the iterations of the loop just around them read from buffers that stay as they are."""
    found: dict[Loop, Ranges] = {}
    for loop, box in padded(statements, boxes, static).items():
        inside = [s for s in statements if loop in s.loops]
        level = inside[0].loops.index(loop) - 1
        outer = inside[0].loops[level]
        around = boxes.get(outer)
        bounds = (loop.start, loop.extent)
        read = buffers_read(*bounds)
        if (
            level >= 0
            and around is not None
            and around.exact
            and loop.var.dtype is outer.var.dtype is DType.INT32
            and free_vars(*bounds) <= {outer.var, *static}
            and not any(s.buffer in read for s in statements if outer in s.loops)
            and not any(depth.get(s.buffer, 0) == level + 1 for s in inside)  # rows have copies of it
        ):
            found[loop] = Ranges(outer, loop, box)
    return found


def in_one_loop(r: Ranges, statements: Sequence[Statement], depth: Mapping[Buffer, int], target: Target) -> float:
    """The price of one loop over positions in place of two, with what rows give gathered."""
    inside = [s for s in statements if r.inner in s.loops]
    level = inside[0].loops.index(r.outer)
    by_row: list[tuple[float, int, bool]] = []
    for s in inside:
        own = [r.outer.var in free_vars(load) or depth.get(load.buffer, 0) == level + 1 for load in s.reads()]
        by_row.append((element(s, target), sum(own), any(r.outer.var in free_vars(i) for i in s.store.indices)))
    return operations.ranges_in_one_loop(target, extent(r.box, target), by_row)


def flattened(
    group: Sequence[Statement],
    level: int,
    span: Ranges,
    boxes: Mapping[Loop, Box],
    depth: Mapping[Buffer, int],
    new: Fresh,
) -> Flat | None:
    """What to do instead of the loops at `level` and the next, `span`, around a group; None if that cannot be said."""
    inner = {span.inner.var, *(o.var for s in group for o in s.loops[level + 2 :])}
    if any(not free_vars(g) & inner for s in group for g in s.guards):
        return None  # where it does not hold the bounds may be no numbers at all
    if any(span.outer.var in free_vars(e) for s in group for o in s.loops[level + 2 :] for e in (o.start, o.extent)):
        return None
    writer = _Writer(group[0].loops[:level], span, boxes[span.outer], new)
    testing, ordered = writer.test()
    first, row = writer.rows()
    per_row = {b for b, d in depth.items() if d == level + 1}
    arrays = recorded(group, (span.outer,), (writer.rows_box,), per_row, new)
    if arrays is None:
        return None
    statements = arrays.statements
    inside = {b for s in group for b in s.buffers() if depth.get(b, 0) > level + 1}
    if not inside.isdisjoint(read_by_bounds(statements)):
        return None
    statements, copies = _with_copies(statements, inside, depth, new)
    made = {row: level, ordered: level, **dict.fromkeys(arrays.arrays, level), **copies}
    return Flat(testing, ordered, [*first, *arrays.first], writer.in_row(statements, row), made, writer.boxes)


def _with_copies(
    statements: list[Statement], inside: Collection[Buffer], depth: Mapping[Buffer, int], new: Fresh
) -> tuple[list[Statement], dict[Buffer, int]]:
    """Statements with other locals in place of those `inside` of two loops that become one, and of how many loops
    these have copies."""
    made: dict[Buffer, int] = {}
    for local in sorted(inside, key=lambda b: b.name):
        copy = replace(local, name=new.name(local.name))
        statements = [moved(s, local, copy) for s in statements]
        made[copy] = depth[local] - 1
    return statements, made


class _Writer:
    """Writes statements about the ranges of rows."""

    def __init__(
        self,
        around: tuple[Loop, ...],
        span: Ranges,
        rows: Box,
        new: Fresh,
    ) -> None:
        self.around = around
        self.span = span
        self.rows_box = rows
        self.new = new
        self.boxes: dict[Loop, Box] = {}
        self.start = span.inner.start
        self.end = Binary("max", span.inner.start, span.stop)
        self.at_position = (self._expr(atom(span.inner.var) - span.box.low),)

    def test(self) -> tuple[list[Statement], Buffer]:
        """Statements that store to a local whether no range begins before the one before it ends."""
        ordered = Buffer(self.new.name("in_order"), (), DType.BOOL, "local")
        i = self.span.outer.var
        before = substitute_expr(self.end, {i: self._expr(atom(i) - 1)})
        holds = Binary("le", before, self.start)
        later = Binary("gt", i, self._expr(self.rows_box.low))
        value = Binary("and", Load(ordered, ()), holds)
        rows = loop_over(self.span.outer.var, self.rows_box, self.boxes)
        first = Statement(self.new.position(), self.around, (), Store(ordered, (), const(True, DType.BOOL)))
        return [first, self._statement((rows,), (later,), Store(ordered, (), value), ("and", holds))], ordered

    def rows(self) -> tuple[list[Statement], Buffer]:
        """Statements that store to a local the row whose range is the last that begins at a position or before it."""
        box, i = self.span.box, self.span.outer.var
        row = Buffer(self.new.name(f"{i.name}_of"), (self._expr(box.extent),), DType.INT32, "local")
        here = Load(row, self.at_position)
        none_yet = self._expr(self.rows_box.low - 1)
        nothing = Select(Binary("eq", self.at_position[0], const(0, DType.INT32)), none_yet, const(0, DType.INT32))
        begun = (Binary("max", self._expr(linear(self.start) - box.low), const(0, DType.INT32)),)
        one, inside = const(1, DType.INT32), Binary("lt", begun[0], self._expr(box.extent))
        marked = Store(row, begun, Binary("add", Load(row, begun), one))
        last = Load(row, (self._expr(linear(self.at_position[0]) - 1),))
        everywhere = loop_over(self.span.inner.var, box, self.boxes)
        rows = loop_over(i, self.rows_box, self.boxes)
        further = loop_over(self.span.inner.var, replace(box, low=box.low + 1, extent=box.extent - 1), self.boxes)
        return [
            self._statement((everywhere,), (), Store(row, self.at_position, nothing)),
            self._statement((rows,), (inside,), marked, ("add", one)),
            self._statement((further,), (), Store(row, self.at_position, Binary("add", last, here))),
        ], row

    def in_row(self, statements: Sequence[Statement], row: Buffer) -> list[Statement]:
        """Statements of one row and position, for all positions."""
        everywhere = loop_over(self.span.inner.var, self.span.box, self.boxes)
        here = Load(row, self.at_position)
        rows = {self.span.outer.var: here}
        guards = (
            Binary("ge", here, self._expr(self.rows_box.low)),
            Binary("lt", self.span.inner.var, substitute_expr(self.span.stop, rows)),
        )
        found: list[Statement] = []
        for s in statements:
            changed = mapped(s, lambda e: substitute_expr(e, rows))
            loops = (*self.around, everywhere, *s.loops[len(self.around) + 2 :])
            found.append(replace(changed, position=self.new.position(), loops=loops, guards=(*guards, *changed.guards)))
        return found

    def _statement(
        self,
        loops: tuple[Loop, ...],
        guards: tuple[Expr, ...],
        store: Store,
        update: tuple[UpdateOp, Expr] | None = None,
    ) -> Statement:
        return Statement(self.new.position(), (*self.around, *loops), guards, store, update)

    def _expr(self, form: Linear) -> Expr:
        return to_expr(form, self.span.inner.var)


class Collapsed(Struct, frozen=True):
    """Statements of one loop in place of two; `depth` says of how many loops new locals have copies."""

    statements: list[Statement]
    depth: Mapping[Buffer, int]


def collapsed(
    group: Sequence[Statement], level: int, boxes: dict[Loop, Box], depth: Mapping[Buffer, int], new: Fresh
) -> Collapsed | None:
    """A group whose loops at a level and the next nest perfectly over one loop through both; None for any other.

    Where the inner one's own bounds lie within those of all its iterations, they are conditions.
    """
    outer = group[0].loops[level]
    inner = group[0].loops[level + 1] if len(group[0].loops) > level + 1 else outer
    if inner is outer or any(s.loops[level : level + 2] != (outer, inner) for s in group):
        return None
    (m, wide), (n, narrow) = ((boxes.get(o), o.var.dtype) for o in (outer, inner))
    further = [e for s in group for o in s.loops[level + 2 :] for e in (o.start, o.extent)]
    if m is None or n is None or not m.exact or wide is not narrow or free_vars(*further) & {outer.var, inner.var}:
        return None
    if not all(e.is_const for b in (m, n) for e in (b.low, b.extent)) or not read_by_bounds(group).isdisjoint(depth):
        return None
    count = m.extent.const * n.extent.const
    locals_ = {b for s in group for b in s.buffers() if depth.get(b, 0) > level}
    if not 0 < count <= wide.max or any(depth[b] == level + 1 for b in locals_):
        return None  # what the inner loop's iterations share they would have for themselves
    box = Box(number(0), number(count), exact=True)
    both = loop_over(Var(new.name(f"{outer.var.name}_{inner.var.name}"), wide), box, boxes)
    size = const(n.extent.const, wide)
    at = {
        outer.var: to_expr(atom(Binary("floordiv", both.var, size)) + m.low, both.var),
        inner.var: to_expr(atom(Binary("floormod", both.var, size)) + n.low, both.var),
    }
    bounds = () if n.exact else own_bounds(inner)
    found: list[Statement] = []
    for s in group:
        here = mapped(replace(s, guards=(*bounds, *s.guards)), lambda e: substitute_expr(e, at))
        found.append(replace(here, loops=(*s.loops[:level], both, *s.loops[level + 2 :])))
    return Collapsed(*_with_copies(found, locals_, depth, new))
