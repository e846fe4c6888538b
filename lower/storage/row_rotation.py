"""Rows of tables that the steps of a loop hand on, so that tables are only stored to from what an earlier step gave.

XLA works out a value again in each place where it is stored. Where a step stores to several tables and reads rows of
them, such a place may read one table after another has its new row, and every step copies a whole table. Here a step
works on single rows: it reads those that the last steps worked out, and stores the last of them to its table. Reads of
other rows, which no step has got to or which are finished, stay reads of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.fold import folded
from ir.nodes import Binary, Buffer, Expr, Load, Store, Var, const
from ir.traverse import map_expr, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, number, to_expr
from lower.nest.nodes import ArrayStatement, Box, Fresh, array_statement, loop_over, loops_over
from lower.nest.normalize import mapped, read_by_bounds

ROW_ROTATION = Form(
    "structure.row_rotation",
    "for i: A[i, j] = a; A[i, k] = b  =  for i: r = A[i]; r[j] = a; r[k] = b; A[i] = r",
    "what a step reads of A is its own row, those of the last few steps, or rows that no step of these stores to",
)

_PAST = 4  # rows of a table that are handed on


class Carried(Struct):
    """Statements of a step in terms of rows. `depth` says of each how many loops have one of their own; of tables that
    are not kept, `last` has the row that the last step leaves."""

    statements: list[Statement]
    before: list[ArrayStatement] = field(default_factory=list[ArrayStatement])
    after: list[ArrayStatement] = field(default_factory=list[ArrayStatement])
    depth: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    last: dict[Buffer, Buffer] = field(default_factory=dict[Buffer, Buffer])


class _Table(Struct, frozen=True):
    """A table that a step stores to in row `at`, which moves by `step` with each; `rows[c]` is the row of c steps ago.

    It is not `kept` where only those rows are looked at. What it holds at a place `first` may be known.
    """

    buffer: Buffer
    at: Linear
    step: int
    rows: list[Buffer]
    kept: bool
    whole: bool  # whether there is a row for each step before the first that rows are handed on from
    first: Callable[[Expr, Expr], Expr] | None = None

    def held(self, row: Expr, place: Expr) -> Expr:
        """What it holds where no step has stored yet."""
        return Load(self.buffer, (row, place)) if self.first is None else self.first(row, place)

    def ago(self, load: Load) -> int | None:
        """How many steps ago the row of a load was stored to; None if that is not the same for all steps."""
        distance = (self.at - linear(load.indices[0])) * self.step
        return distance.const if distance.is_const and 0 <= distance.const <= _PAST else None


def carried(
    statements: Sequence[Statement],
    copies: Mapping[Buffer, bool],
    later: Collection[int],
    first: Mapping[Buffer, Callable[[Expr, Expr], Expr]],
    time: Loop,
    boxes: dict[Loop, Box],
    new: Fresh,
    whole: bool = True,
) -> Carried | None:
    """The statements of a loop over `time` with rows of `copies` handed on; None if those are no such tables.

    Tables have rank 2, and rows for all that steps hand on where they are `whole`; their first index is the step's.
    Whether what they hold is needed but for its rows is said of each. Statements at positions `later` bring further
    copies of tables up to date at the end of a step; here they do so at the beginning of the next. What tables hold at
    `first` may be known as a function of row and place.
    """
    tables: dict[Buffer, _Table] = {}
    for s in statements:
        if s.position in later or s.buffer not in copies:
            continue
        at = linear(s.store.indices[0]) if len(s.buffer.shape) == 2 else number(0)
        if abs(at.terms.get(time.var, 0)) != 1 or at.vars() != {time.var}:
            return None
        if s.buffer not in tables:
            kept = _kept(s.buffer, at, at.terms[time.var], statements, copies)
            tables[s.buffer] = _Table(s.buffer, at, at.terms[time.var], [], kept, whole, first.get(s.buffer))
        table = tables[s.buffer]
        if not table.at.equals(at):
            return None
    return _Carrier(statements, later, time, tables, boxes, new).carried()


def in_rows(
    group: Sequence[Statement], level: int, depth: Mapping[Buffer, int], boxes: dict[Loop, Box], new: Fresh
) -> Carried | None:
    """The statements of a loop with rows of the tables that several of them store to; None if there are none."""
    loop = group[0].loops[level]
    several = Counter(s.buffer for s in group if len(s.buffer.shape) == 2 and depth.get(s.buffer, 0) <= level)
    tables = {b: True for b, count in several.items() if count > 1}
    steps = {b: linear(s.store.indices[0]) for s in group for b in tables if s.buffer == b}
    known = all((linear(place[0]) - steps[b]).is_const for s in group for b in tables for place in s.places(b))
    steps_known = loop in boxes and boxes[loop].is_known and boxes[loop].extent.const > 0
    plain = not any(s.tile is not None for s in group) and read_by_bounds(group).isdisjoint(tables)
    if not (tables and known and steps_known and plain):
        return None
    return carried(group, tables, (), {}, loop, boxes, new, whole=False)


class _Carrier:
    def __init__(
        self,
        statements: Sequence[Statement],
        later: Collection[int],
        time: Loop,
        tables: Mapping[Buffer, _Table],
        boxes: dict[Loop, Box],
        new: Fresh,
    ) -> None:
        self.statements, self.later, self.time = statements, later, time
        self.tables, self.boxes, self.new = tables, boxes, new
        loops = statements[0].loops
        self.around = loops[: loops.index(time)]
        self.result = Carried([])

    def carried(self) -> Carried:
        """The statements in terms of rows."""
        last = Binary("sub", self.time.var, const(1, self.time.var.dtype))
        previous = partial(substitute_expr, values={self.time.var: last})
        moved = [mapped(s, previous) if s.position in self.later else s for s in self.statements]
        for table in self.tables.values():
            found = [table.ago(load) for s in moved for load in s.operands() if load.buffer == table.buffer]
            self._rows(table, max(1, *(c for c in found if c is not None), 0))
        kept = [t for t in self.tables.values() if t.kept]
        first = [self._stored(t) for t in kept]
        first += [self._present(s) for s in moved if s.position in self.later]
        first += [s for t in self.tables.values() if t.kept or t.first is not None for s in self._begun(t)]
        work = [self._present(s) for s in moved if s.position not in self.later]
        last_ = [s for t in self.tables.values() for s in self._handed(t)]
        # their order is that of the text, which positions stand for
        self.result.statements = [replace(s, position=self.new.position()) for s in (*first, *work, *last_)]
        return self.result

    def _rows(self, table: _Table, past: int) -> None:
        """Rows for the present and for steps before."""
        level, name = len(self.around), table.buffer.name
        for c in range(past + 1):
            row = replace(
                table.buffer, name=self.new.name(f"{name}_past" if c else f"{name}_row"), shape=table.buffer.shape[1:]
            )
            table.rows.append(row)
            self.result.depth[row] = level if c else level + 1
        if not table.kept:
            self.result.last[table.buffer] = table.rows[1]
        if not table.kept and table.first is None:
            return
        for c, row in enumerate(table.rows[1:], 1):
            begin = map_expr(substitute_expr(self._past(table, c), {self.time.var: self.time.start}), folded)
            axis = self._axis(table)
            store = Store(row, (axis.var,), table.held(begin, axis.var))
            self.result.before.append(self._alone(axis, store))
        if not table.kept:
            return
        end = to_expr(linear(self.time.start) + linear(self.time.extent) - 1, self.time.var)
        at = substitute_expr(self._place(table.at), {self.time.var: end})
        axis = self._axis(table)
        store = Store(table.buffer, (at, axis.var), Load(table.rows[1], (axis.var,)))
        self.result.after.append(self._alone(axis, store))

    def _place(self, form: Linear) -> Expr:
        return to_expr(form, self.time.var)

    def _past(self, table: _Table, c: int) -> Expr:
        """Where the row of c steps ago is, or the end of the table before the first step has stored one: what it held
        is then put back."""
        place, first = table.at - c * table.step, linear(self.time.start)
        held = linear(substitute_expr(self._place(place), {self.time.var: to_expr(first, self.time.var)}))
        end = number(0) if table.step > 0 else linear(table.buffer.shape[0]) - 1
        beyond = (held - end) * table.step
        if table.whole or (beyond.is_const and beyond.const >= 0):
            return self._place(place)
        return Binary("max" if table.step > 0 else "min", self._place(place), to_expr(end, self.time.var))

    def _axis(self, table: _Table) -> Loop:
        size = table.buffer.shape[1]
        var = Var(self.new.name(f"{table.buffer.name}_place"), size.dtype)
        return loop_over(var, Box(number(0), linear(size), exact=True), self.boxes)

    def _alone(self, axis: Loop, store: Store) -> ArrayStatement:
        return array_statement(store, tuple(self.around), (axis,), self.new)

    def _in_step(self, axes: tuple[Loop, ...], store: Store) -> Statement:
        return Statement(self.new.position(), (*self.around, self.time, *axes), (), store)

    def _stored(self, table: _Table) -> Statement:
        """Store what the last step worked out."""
        axis = self._axis(table)
        store = Store(table.buffer, (self._past(table, 1), axis.var), Load(table.rows[1], (axis.var,)))
        return self._in_step((axis,), store)

    def _begun(self, table: _Table) -> list[Statement]:
        """Begin with what the table holds in the row of this step, at least where the step stores nothing."""
        window = self._window(table)
        if window is None:
            axis = self._axis(table)
            held = table.held(self._place(table.at), axis.var)
            return [self._in_step((axis,), Store(table.rows[0], (axis.var,), held))]
        first, stop = window
        size = linear(table.buffer.shape[1])
        parts = [(number(0), first), (stop, size - stop)]
        return [s for low, count in parts if not count.equals(0) for s in self._edge(table, low, count)]

    def _window(self, table: _Table) -> tuple[Linear, Linear] | None:
        """The part of a row that every step stores to as a whole, before it reads of the row."""
        found: list[tuple[Linear, Linear]] = []
        own = sorted((s for s in self.statements if s.position not in self.later), key=lambda s: s.position)
        reads = (any(e.buffer == table.buffer and table.ago(e) == 0 for e in s.operands()) for s in own)
        if next(r for s, r in zip(own, reads, strict=True) if r or s.buffer == table.buffer):
            return None
        for s in self.statements:
            if s.buffer != table.buffer or s.position in self.later:
                continue
            form, (*_, axis) = linear(s.store.indices[1]), s.loops
            box = self.boxes.get(axis)
            start = form - atom(axis.var)
            alone = s.loops[-2:-1] == (self.time,) and not s.guards
            if not alone or box is None or not box.exact or not start.is_const:
                return None
            found.append((box.low + start, box.low + start + box.extent))
        first, stop = found[0]
        return (first, stop) if all(a.equals(first) and b.equals(stop) for a, b in found) else None

    def _edge(self, table: _Table, low: Linear, count: Linear) -> list[Statement]:
        """Positions of rows that no step stores to: what is there is kept for all steps, apart from the table."""
        rows, size = table.buffer.shape
        at, row = self._place(table.at), table.rows[0]
        if table.first is not None and count.is_const and count.const <= _PAST:
            places = [to_expr(low + k, size) for k in range(count.const)]
            return [self._in_step((), Store(row, (p,), table.first(at, p))) for p in places]
        edge = replace(
            table.buffer, name=self.new.name(f"{table.buffer.name}_edge"), shape=(rows, to_expr(count, size))
        )
        box = Box(number(0), count, exact=True)
        axis = loop_over(Var(self.new.name(f"{edge.name}_place"), size.dtype), box, self.boxes)
        place = to_expr(atom(axis.var) + low, axis.var)
        if table.first is not None:
            return [self._in_step((axis,), Store(row, (place,), table.first(at, place)))]
        self.result.depth[edge] = len(self.around)
        axes = loops_over(edge, self.boxes, self.new.name)
        line, column = (a.var for a in axes)
        held = Load(table.buffer, (line, to_expr(atom(column) + low, column)))
        fill = Statement(self.new.position(), (*self.around, *axes), (), Store(edge, (line, column), held))
        self.result.before.append(ArrayStatement(fill, axes))
        return [self._in_step((axis,), Store(row, (place,), Load(edge, (at, axis.var))))]

    def _handed(self, table: _Table) -> list[Statement]:
        """Hand rows on to the next step, the oldest first."""
        found: list[Statement] = []
        for newer, older in reversed(list(zip(table.rows, table.rows[1:], strict=False))):
            axis = self._axis(table)
            found.append(self._in_step((axis,), Store(older, (axis.var,), Load(newer, (axis.var,)))))
        return found

    def _present(self, s: Statement) -> Statement:
        """A statement with rows in place of what it accesses of tables in these steps."""

        def one(e: Expr) -> Expr:
            table = self.tables.get(e.buffer) if isinstance(e, Load) else None
            ago = table.ago(e) if table is not None and isinstance(e, Load) else None
            if table is None or ago is None or not isinstance(e, Load):
                return e
            return Load(table.rows[ago], e.indices[1:], e.span)

        changed = mapped(s, lambda e: map_expr(e, one))
        store = changed.store
        if s.position in self.later or store.buffer not in self.tables:
            return changed
        row = self.tables[store.buffer].rows[0]
        return replace(changed, store=Store(row, store.indices[1:], store.value, store.span))


def _kept(table: Buffer, at: Linear, step: int, statements: Sequence[Statement], copies: Mapping[Buffer, bool]) -> bool:
    own = [load for s in statements for load in s.operands() if load.buffer == table]
    return copies[table] or any(_Table(table, at, step, [], True, True).ago(load) is None for load in own)
