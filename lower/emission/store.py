"""Stores as JAX code: the place in the buffer, updates in place, masks, scatters; which stores are held back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal as OneOf

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from ir.analysis.dependence import UpdateOp
from ir.dtypes import DType
from ir.nodes import Expr, Load, Var, const
from ir.traverse import all_same, free_vars, has_loads, loads
from lower.analysis.deciding import cheaper
from lower.analysis.linear_forms import Linear, number
from lower.analysis.updates import BITWISE
from lower.array.access import find_view, indexed, without_trailing
from lower.array.finiteness import outside_unless
from lower.array.index_tables import IndexTable, index_table
from lower.array.job import axis_names, update_class
from lower.array.reduce import neutral, reduction
from lower.array.values import Value, aligned, dtype_code, ordered, typed, union
from lower.array.views import Axis, Group, in_blocks, overhang
from lower.emission.joined_parts import Part, Span
from lower.emission.scope import Fill, Held, Region
from lower.emission.value_writer import ValueWriter
from lower.nest.nodes import ArrayStatement
from lower.program.build import ALL, Arg, assign, assign_each, between, call, every, infix, method, text, updated
from lower.program.build import code as template
from lower.program.nodes import Assign, Attribute, JaxExpr, Literal, Name, Subscript

_MOST = 4  # of so many parts of an array all but one are almost all
_METHODS: dict[UpdateOp | OneOf["set"], str] = {
    "set": "set",
    "add": "add",
    "sub": "add",
    "mul": "multiply",
    "min": "min",
    "max": "max",
    "and": "min",
    "or": "max",
}

Rows = tuple[list[JaxExpr], tuple[Axis, ...], int]


class Place(Struct, frozen=True):
    """The part of a buffer that is stored to: `marks` index it, and are empty for the whole.

    Where it begins may be known only as it runs: then `starts` has a position for each dimension.
    """

    marks: tuple[JaxExpr, ...]
    view: tuple[Group, ...]
    starts: tuple[JaxExpr, ...] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes in the order of the buffer's dimensions."""
        return tuple(a for g in self.view for a in g.axes)

    @property
    def reversed(self) -> tuple[int, ...]:
        """Dimensions that run backward."""
        return tuple(d for d, f in enumerate(f for g in self.view for f in g.flipped) if f)

    @property
    def plain(self) -> bool:
        """Whether it is the whole buffer, with an axis for each dimension, in order."""
        alone = bool(self.view) and all(g.dims == 1 and len(g.axes) == 1 for g in self.view)
        return alone and not (self.marks or self.reversed)

    @property
    def grouped(self) -> bool:
        """Whether several axes share a dimension."""
        return any(len(g.axes) > 1 for g in self.view)


class StoreWriter(ValueWriter):
    """Writes the values of a statement to its place in the buffer."""

    def _put(self, value: Value, guards: Sequence[Expr]) -> None:
        """Store a value to the place of the job, along all of its axes, where guards hold."""
        place = self._place(self.job.axes)
        if place is None:
            self._store_elements(value, self.job.axes, guards)
        else:
            self._store(value, place, self._mask(guards), steady=not any(map(has_loads, guards)))

    def _store_elements(self, value: Value, kept: Sequence[Axis], guards: Sequence[Expr]) -> None:
        """Store a value along axes whose places are no slice of the buffer: cut off, or scattered."""
        view = self._leaving(kept, guards)
        if view is None:
            self._scatter(value, guards)
            return
        whole = [Axis(Var(f"{self.name}_{d}", DType.INT32), number(0), g.size) for d, g in enumerate(view)]
        groups = [Group(1, g.size, number(0), (a,), (1,), (False,)) for g, a in zip(view, whole, strict=True)]
        if value.axes:
            place = Place((), tuple(view))
            laid = self._laid_out(place, Value(self._spread(value, place.axes), place.axes), fill=False)
            marks = [ALL if g.span.equals(g.size) else between(None, self.accessor.size(g.size)) for g in view]
            value = Value(indexed(laid, marks), tuple(whole))
        self._use(replace(self.job, axes=tuple(whole), indices=tuple(a.var for a in whole), guards=()))
        self._store(value, Place((), tuple(groups)), None, steady=True)

    def _leaving(self, kept: Sequence[Axis], guards: Sequence[Expr]) -> list[Group] | None:
        """The places of a store as a view that begins with the buffer and leaves it just where guards do not hold, as
        that of tiles of which the last ones are not whole; None if it is no such."""
        view = find_view(self.shape, self.job.indices, kept, self.bounds)
        if view is None or not guards or sum(len(g.axes) for g in view) != len(kept) or in_blocks(view) is not None:
            return None
        for g in view:
            known = g.size.is_const and g.span.is_const and g.start.equals(0) and g.dims == 1
            if not (known and g.axes and g.dense and g.step == 1 and g.span.const >= g.size.const):
                return None
            if any(a.var in self.bounds.cut for a in g.axes):
                return None
        load = Load(self.job.buffer, self.job.indices)
        return view if outside_unless(guards, load, kept, self.around.boxes) else None

    def _place(self, kept: Sequence[Axis]) -> Place | None:
        """The slice that the kept axes cover, or None when it takes index arrays."""
        if not self.shape:
            return None if kept else Place((), ())
        view = find_view(self.shape, self.job.indices, kept, self.bounds)
        if view is None or sum(len(g.axes) for g in view) != len(kept):
            return None
        view = in_blocks(view) or view
        marks: list[JaxExpr] = []
        moving = False
        for g in view:
            if g.axes:
                inside = overhang(g, self.bounds.at_least, self.bounds.at_most) == (0, 0)
                moving = moving or not self.accessor.is_static(g.start)
                if not inside or not g.dense:
                    return None
            elif g.dims > 1 or g.start.has_loads():
                return None
            marks.append(self.accessor.mark(g, g.start, g.size))
        if moving:
            starts = tuple(self.accessor.size(g.start) for g in view)
            return Place(without_trailing(marks), tuple(view), starts) if self.accessor.moves(view) else None
        # all of a buffer is assigned, also backward: XLA:CPU dies of reading it backward where it is stored by `.at[:]`
        whole = all(g.axes and g.step == 1 and g.start.equals(0) and g.span.equals(g.size) for g in view)
        return Place(() if whole else without_trailing(marks) or (ALL,), tuple(view))

    def _store(self, value: Value, place: Place, mask: Value | None, steady: bool) -> None:
        buffer, op = self.job.buffer, self.job.op
        self._form(place, mask)
        self.scope.starts.pop(buffer, None)
        key = self._key(place, mask)
        before = self.scope.held.get(buffer)
        masked = not place.marks and mask is not None
        replaced, base = self._replaced(place, masked, steady, needed=op is not None or mask is not None)
        nodes = before.nodes if replaced and before is not None and mask is not None else ()
        beside = buffer in self.scope.parked
        if base is None and mask is not None:
            base = self._filled(place)
        if base is not None:
            value = value if op is None else self._combine(op, base, value)
            value = value if mask is None else self.translator.select(mask, value, base, buffer.dtype)
            return self._write(value, place, None, "set", steady, nodes)
        start = None if replaced or beside else self._take_fill(key, whole=not place.marks and mask is None)
        method = "set"
        if op is None:
            # A constant is held back: a reduction may start from it.
            if place.plain and mask is None and len(value.axes) == len(place.axes):
                self.whole = value.code
            if value.static and steady and not beside:
                return self.scope.hold(buffer, Fill(key, value, self._assignment(place, value, mask), key == Region()))
        elif start is not None:
            if op == "sub" and start.code in (Literal(0), Literal(0.0)):
                value = self._negated(value)
            elif start.code != neutral(op, buffer.dtype).code:
                value = self._combine(op, start, value)
        elif op in _METHODS and self._in_place(place) and mask is None and not self._starts(place):
            self._current(beside)
            value, method = self._negated(value) if op == "sub" else value, _METHODS[op]
        else:
            self._current(beside)
            value = self._combine(op, self._old(place), value)
        if place.marks or mask is not None:
            self._current(beside)
        else:
            self.scope.need(buffer, whole=True)
        return self._write(value, place, mask, method, steady)

    def _current(self, beside: bool) -> None:
        """Make the buffer's variable hold its contents, but for stores held back `beside` which this one comes."""
        if beside:
            self.scope.need(self.job.buffer)
        else:
            self.scope.current(self.job.buffer)

    def _in_place(self, place: Place) -> bool:
        """Whether a method of `.at` can update a place."""
        return bool(place.marks) and all(g.dims == 1 for g in place.view) and not (place.reversed or place.starts)

    def _replaced(self, place: Place, masked: bool, steady: bool, needed: bool) -> tuple[bool, Value | None]:
        """Whether a held store is to just this place, whose values are then in hand, if they are needed.

        Other stores that are held back are written out, unless all of them are to other elements.
        """
        buffer = self.job.buffer
        stores = self.scope.pending(buffer)
        if not stores:
            return False, None
        held = stores[-1]
        if buffer not in self.scope.held:
            if not (steady and all(map(self._beside, stores))):
                self.scope.flush(buffer)
            return False, None
        if len(stores) > 1 or held.place != self._key(place, None) or not self._just_held(held, self.job.indices):
            # a pass over all of the buffer is needed anyway: these stores may share it
            one_pass = masked or any(h.whole for h in stores)
            late = self.scope.loop_vars and steady and held.late is not None and held.everywhere is not None
            if one_pass and late and all(map(self._beside, stores)):
                self.scope.park(buffer)
            else:
                self.scope.flush(buffer)
            return False, None
        base = ordered(*self._taken(held), self.translator.order) if needed else None
        del self.scope.held[buffer]
        return True, base

    def _beside(self, held: Held) -> bool:
        """Whether this statement stores to none of the elements that a held store does."""
        store = self.node.statement.store
        return self._spared(held, Load(store.buffer, store.indices))

    def _write(
        self,
        value: Value,
        place: Place,
        mask: Value | None,
        method: str,
        steady: bool,
        nodes: tuple[ArrayStatement, ...] = (),
    ) -> None:
        """Store values by a method of `.at`; a store to a part of a buffer is held back: what the part then holds.

        Within loops so is a store under a mask, which may be `steady`: true or false whatever the data.
        """
        stmt = self._assignment(place, value, mask) if method == "set" else self._set(place, value, method)
        masked = mask is not None and steady and self.scope.loop_vars and len(value.axes) == len(place.axes) > 0
        # a row that is only copied is stored at once: XLA would copy a buffer of which others are read before that
        copied = isinstance(self.job.value, Load) and self.job.op is None and bool(self._starts(place))
        if not self.shape or copied or not (place.marks or masked):
            if self.job.buffer in self.scope.parked:  # what they leave as it is this one may change
                self.scope.flush(self.job.buffer)
            self.scope.add(stmt)
            return
        if method != "set":
            op = self.job.op
            assert op is not None
            value = self._combine(update_class(op), self._old(place), value)
            part = self._part_of(place, value)
            if part is not None:
                self.scope.parts[stmt] = part
        raw = value = typed(value, self.job.buffer.dtype)
        if mask is not None:
            value = self.translator.select(mask, value, self._old(place), self.job.buffer.dtype)

        def write(values: Value) -> Assign:
            return self._assignment(place, values, None)

        def late(values: Value) -> Assign:
            return self._assignment(place, values, mask)

        def fresh() -> str:
            return self.names.fresh(f"new_{self.job.buffer.name}")

        job = replace(self.job, axes=place.axes, guards=())
        at, number, key = len(self.scope.stmts), self.scope.next(), self._key(place, None)
        self.scope.held[job.buffer] = Held(
            key, job, (*nodes, self.node), value, at, stmt, write, number, raw, late if steady else None, fresh
        )
        if not place.starts and all(map(_row_or_all, place.view)):
            self.scope.held[job.buffer].everywhere = lambda values: self._everywhere(place, values, mask)

    def _everywhere(self, place: Place, value: Value, mask: Value | None) -> Assign:
        """The statement that stores to rows and columns of a buffer by a mask over all of it."""
        axes: list[Axis] = []
        masks = [] if mask is None else [mask]
        for g in place.view:
            points = Axis(Var(f"{self.name}_{len(axes)}", DType.INT32), number(0), g.size)
            axes += g.axes or (points,)
            if not g.axes:
                positions = call("jnp.arange", self.accessor.size(g.size))
                masks.append(Value(infix(positions, "==", self.accessor.size(g.start)), (points,)))
        value = aligned(typed(value, self.job.buffer.dtype), tuple(axes))
        if not masks:
            return assign(self.name, value.code)
        where = every(aligned(m, tuple(axes)).code for m in masks)
        return assign(self.name, call("jnp.where", where, value.code, self.name))

    def _form(self, place: Place, mask: Value | None) -> None:
        kind = "element" if self.shape and not place.axes else "slice" if place.marks else "whole array"
        self._note(kind if mask is None else f"{kind} under a mask")

    def _key(self, place: Place, mask: Value | None) -> Region:
        dims = [(g.dims, None if g.dims == 1 else self.accessor.size(g.size)) for g in place.view]
        return Region(place.marks, tuple(dims) if place.marks else (), None if mask is None else mask.code)

    def _filled(self, place: Place) -> Value | None:
        """The number that a place holds by a fill which is held back; then the buffer's variable is as it needs it."""
        buffer = self.job.buffer
        fill = self.scope.fills.get(buffer)
        if fill is None or fill.value.axes or not (fill.whole or fill.place == self._key(place, None)):
            return None
        if place.marks:
            self.scope.current(buffer)
        else:
            del self.scope.fills[buffer]
            self.scope.need(buffer, whole=True)
        return fill.value

    def _take_fill(self, key: Region, whole: bool) -> Value | None:
        """The constant that a held-back fill has for exactly this place; any other fill is written out."""
        buffer = self.job.buffer
        fill = self.scope.fills.get(buffer)
        if fill is None:
            return None
        if self.job.op is not None and fill.place == key:
            del self.scope.fills[buffer]
            return fill.value
        if self.job.op is None and (whole or fill.place == key):
            del self.scope.fills[buffer]  # overwritten before anybody read it
        else:
            self.scope.flush(buffer)
        return None

    def _spread(self, value: Value, axes: tuple[Axis, ...]) -> JaxExpr:
        """A value over all of these axes."""
        code = aligned(typed(value, self.job.buffer.dtype), axes).code
        if value.axes == axes:
            return code
        return call("jnp.broadcast_to", code, self._extents(axes))

    def _negated(self, value: Value) -> Value:
        return self.translator.negated(typed(value, self.job.buffer.dtype), self.job.buffer.dtype)

    def _old(self, place: Place) -> Value:
        """The present content of a place."""
        if place.starts:
            return self.accessor.window(self.name, place.view)
        code: JaxExpr = Name(self.name)
        if place.marks:
            code = Subscript(self.accessor.merged(self.name, place.view), place.marks)
        if place.grouped or (not place.marks and any(g.dims > 1 for g in place.view)):
            code = method(code, "reshape", *self._extents(place.axes))
        if place.reversed:
            code = call("jnp.flip", code, place.reversed)
        return Value(code, place.axes)

    def _assignment(self, place: Place, value: Value, mask: Value | None) -> Assign:
        """The statement that stores `value`, where `mask` holds, at a place."""
        if mask is not None:
            value = self.translator.select(mask, value, self._old(place), self.job.buffer.dtype)
        wide = self._amid_a_number(place, value) if mask is None and place.marks else None
        if wide is not None:
            return assign(self.name, wide)
        if mask is None and self._in_one_pass(place, value):
            return self._one_pass(place, value)
        if place.marks:
            stmt = self._set(place, value, "set")
            part = self._part_of(place, value) if mask is None else None
            if part is not None:
                self.scope.parts[stmt] = part
            return stmt
        value = typed(value, self.job.buffer.dtype) if value.axes or not self.shape else value
        stmt = assign(self.name, self._laid_out(place, value, fill=True) if self.shape else value.code)
        part = self._part_of(place, value) if self.shape and mask is None else None
        if part is not None and part.number is not None:
            self.scope.parts[stmt] = part
        return stmt

    def _amid_a_number(self, place: Place, value: Value) -> JaxExpr | None:
        """All of a buffer, which holds one number around the part that is stored; None where it is not known to, or
        where a loop stores to little of it.
        """
        part = self._part_of(place, value)
        if part is None or part.shape or part.number is not None or self.backgrounds is None:
            return None
        box = [(s.start, s.stop) for s in part.spans]
        elements, stored = prod(s.size for s in part.spans), prod(stop - start for start, stop in box)
        if self.scope.loop_vars and stored * _MOST < elements * (_MOST - 1):
            return None
        number = self.backgrounds.around(self.node.statement, box)
        return None if number is None else part.amid(self.translator.expr(number).code)

    def _part_of(self, place: Place, value: Value) -> Part | None:
        """What a store to a part of a buffer stores, where its extents are numbers; None where they are not."""
        spans: list[Span] = []
        for g in place.view:
            if g.dims > 1 or not g.dense or g.step != 1 or not (g.size.is_const and g.start.is_const):
                return None
            stop = g.start + (g.span if g.axes else 1)
            if not stop.is_const:
                return None
            spans.append(Span(g.start.const, stop.const, g.size.const, not g.axes))
        if place.starts:
            return None
        viewed = self.accessor.merged(self.name, place.view) != Name(self.name)
        shape = tuple(map(self.accessor.size, self.shape)) if viewed else ()
        new = typed(value, self.job.buffer.dtype)
        dtype = dtype_code(self.job.buffer.dtype)
        if not value.axes and isinstance(value.code, Literal):
            full = call("jnp.full", tuple(map(self.accessor.length, _counts(place))), value.code, dtype)
            return Part(tuple(spans), dtype, full, value.code, shape)
        code = self._laid_out(place, new, fill=False)
        if len(new.axes) < len(place.axes) and not place.grouped:
            code = call("jnp.broadcast_to", code, self._extents(place.axes))
        return Part(tuple(spans), dtype, code, None, shape)

    def _in_one_pass(self, place: Place, value: Value) -> bool:
        """Whether a store to almost all of an array in a loop goes through all of it, with a choice for each element.

        XLA:CPU stores to a part in place, but on one core; and so it would that pass, as part of a store that follows.
        """
        view, dtype = place.view, self.job.buffer.dtype
        plain = len(view) > 1 and all(g.dims == 1 and len(g.axes) == 1 and g.coefs == (1,) for g in view)
        sizes = [n.const for g in view for n in (g.size, g.start, g.span) if n.is_const]
        if self.followed or not (self.scope.loop_vars and place.marks and plain and len(sizes) == 3 * len(view)):
            return False
        stored = {a.var for a in place.axes}
        others = [load for e in self.job.exprs() for load in loads(e) if load.buffer == self.job.buffer]
        own = all(all_same(load.indices, self.job.indices) for load in others)
        if place.reversed or place.starts or not own or {a.var for a in self.job.axes} != stored:
            return False
        elements, part = prod(g.size.const for g in view), prod(g.span.const for g in view)
        every = len(value.axes) == len(place.axes) and dtype is not DType.BOOL
        return every and elements >= self.target.one_pass and part * _MOST >= elements * (_MOST - 1)

    def _one_pass(self, place: Place, value: Value) -> Assign:
        """The statement that stores to a part of a buffer by a mask over all of it, and the mask before it."""
        sizes = [(g.size.const, g.start.const, g.start.const + g.span.const) for g in place.view]
        inside: list[JaxExpr] = []
        for d, (n, low, stop) in enumerate(sizes):
            if (low, stop) != (0, n):
                within = template("(jnp.arange({n}) >= {low}) & (jnp.arange({n}) < {stop})", n=n, low=low, stop=stop)
                inside.append(method(within, "reshape", (1,) * d + (n,) + (1,) * (len(sizes) - 1 - d)))
        pads = tuple((low, n - stop) for n, low, stop in sizes)
        code = every(inside)
        known = next((name for name, held in self.scope.defined.items() if held == code), None)
        name = known or self.scope.define(self.names.fresh("inside"), code)
        wide = call("jnp.pad", self._laid_out(place, value, fill=False), pads)
        return assign(self.name, call("jnp.where", name, wide, self.name))

    def _set(self, place: Place, value: Value, how: str) -> Assign:
        merged = self.accessor.merged(self.name, place.view)
        places = place.starts or (self._starts(place) if how == "set" else ())
        if places:
            window = self._window(place, typed(value, self.job.buffer.dtype))
            return assign(self.name, call("lax.dynamic_update_slice", self.name, window, places))
        code = updated(merged, place.marks, how, self._laid_out(place, value, fill=False))
        if merged != Name(self.name):
            code = method(code, "reshape", *map(self.accessor.size, self.shape))
        return assign(self.name, code)

    def _starts(self, place: Place) -> tuple[JaxExpr, ...]:
        """Where a part of a buffer begins at a position that is known only as it runs, and surely inside.

        Measured on CPU, a step of a loop over rows that stores so takes half as long as with `.at[...].set`.
        """
        rows = [g for g in place.view if not g.axes and not self.accessor.is_static(g.start)]
        plain = all(g.dims == 1 and len(g.axes) < 2 and g.step == 1 and not any(g.flipped) for g in place.view)
        if not (rows and place.axes and plain and all(map(self.accessor.inside, rows))):
            return ()
        return tuple(self.accessor.size(g.start) for g in place.view)

    def _window(self, place: Place, value: Value) -> JaxExpr:
        """A value with all dimensions of a place, which a window is stored by."""
        if len(value.axes) < len(place.axes):
            spread = self._laid_out(place, value, fill=False)
            value = Value(call("jnp.broadcast_to", spread, self._extents(place.axes)), place.axes)
        new = self._laid_out(place, value, fill=False)
        if len(place.axes) == len(place.view):
            return new
        return method(new, "reshape", *(self.accessor.length(g.span) for g in place.view))

    def _laid_out(self, place: Place, value: Value, fill: bool) -> JaxExpr:
        """A value in the layout of the place: broadcast where needed (always with `fill`), reversed, axes merged."""
        if not value.axes:
            return self._full(value) if fill else value.code
        plain = not place.reversed and not place.grouped and not fill
        if plain:
            return aligned(value, place.axes).code
        code = value.code
        if len(value.axes) < len(place.axes):
            code = call("jnp.broadcast_to", aligned(value, place.axes).code, self._extents(place.axes))
        if place.reversed:
            code = call("jnp.flip", code, place.reversed)
        if place.grouped or (fill and any(g.dims > 1 for g in place.view)):
            sizes = map(self.accessor.size, self.shape) if fill else map(self.accessor.length, _counts(place))
            code = method(code, "reshape", *sizes)
        return code

    def _full(self, value: Value) -> JaxExpr:
        shape = tuple(map(self.accessor.size, self.shape))
        dtype = dtype_code(self.job.buffer.dtype)
        if value.code in (Literal(0), Literal(0.0), Literal(False)):
            return call("jnp.zeros", shape, dtype)
        return call("jnp.full", shape, value.code, dtype)

    def _scatter(self, value: Value, guards: Sequence[Expr]) -> None:
        """Store through index arrays. A masked-out position points past the end, where the store is dropped, as it is
        where data point outside, also by negative numbers."""
        op, buffer = self.job.op, self.job.buffer
        self.scope.current(buffer)
        self.scope.starts.pop(buffer, None)
        if self._store_by_table(value, guards):
            return
        base: JaxExpr = Name(self.name)
        shape, indices = self.shape, self.job.indices
        if not shape:
            base, shape, indices = method(base, "reshape", 1), [number(1)], (const(0, DType.INT32),)
        mask = self._mask(guards)
        if op in BITWISE:
            value, mask = self._one_for_each_place(op, value, mask)
        index, axes = self.accessor.scatter_index(shape, indices, mask)
        if op == "sub":
            value = self._negated(value)
        over = union(self.job.axes, axes, value.axes)
        rows, order = self._rows(shape, indices, mask), range(len(shape))
        apart = (index, over, 0) if rows is None else rows
        columns = None if op in BITWISE else self._columns(shape, indices, mask, apart)
        if columns is not None:
            rows, order = columns
            base = method(base, "transpose", *order)
        if rows is not None:
            index, over, _ = rows
            axes = over
            value = ordered(value.code, value.axes, [a for a in over if a in value.axes])
        code = aligned(value, over).code
        if len(over) > len(axes):
            single: list[Value] = []
            for k, (size, i) in enumerate(zip(shape, indices, strict=True)):
                (place,), along = self.accessor.scatter_index([size], [i], mask if k == 0 else None)
                single.append(Value(place, along))
            spread = call("jnp.broadcast_to", aligned(single[0], over).code, self._extents(over))
            index = [spread, *(aligned(v, over).code for v in single[1:])]
        by_data = [i for i in indices if has_loads(i)]
        drop: dict[str, Arg] = {"mode": text("drop")} if mask is not None or by_data else {}
        if any(i.dtype.is_signed for i in by_data):
            drop["wrap_negative_indices"] = False
        how = "set"
        if op in BITWISE:  # `.at` has no such method, and no two positions are one place (`analysis.updates`)
            old = method(indexed(Attribute(base, "at"), index), "get", mode=text("clip"))
            code = self._combine(op, Value(old, over), Value(code, over)).code
        elif op is not None:
            how = _METHODS[op]
        stored = updated(base, tuple(index), how, code, **drop)
        if [*order] != sorted(order):
            stored = method(stored, "transpose", *map(order.index, range(len(order))))
        self.scope.assign(self.name, stored if self.shape else method(stored, "reshape", ()))
        self._note("element" if not over else f"scatter over {axis_names(over)}")

    def _store_by_table(self, value: Value, guards: Sequence[Expr]) -> bool:
        """Store to places that are known while tracing, if that is less work than to store by indices."""
        buffer, op = self.job.buffer, self.job.op
        if not self.shape or (op is not None and op not in _METHODS):
            return False
        named = free_vars(*self.job.indices, *guards)
        over = [a for a in self.job.axes if a.var in named or a in value.axes]
        table = index_table(self.shape, self.job.indices, guards, over, self.names.of)
        if table is None or not table.pays:
            return False
        value = self._negated(value) if op == "sub" else typed(value, buffer.dtype)
        at = self.names.fresh(f"{self.name}_from")
        if not table.inverted:
            self.helpers.add("stores")
            to = [self.names.fresh(f"{self.name}_{d}") for d in range(len(self.shape))]
            self.scope.add(assign_each([at, *to], call("stores", table.ranges, table.store)))
            new = updated(
                Name(self.name), tuple(map(Name, to)), _METHODS[op or "set"], self._taken_by(table, at, value)
            )
            self.scope.assign(self.name, new)
            self._note("scatter of what is stored")
            return True
        self.helpers |= {"stores", "writers"}
        self.scope.add(assign(at, call("writers", table.shape, table.ranges, table.store)))
        new = Value(self._taken_by(table, at, value))
        old, some = Value(Name(self.name)), Value(infix(at, ">=", 0))
        if op is not None:
            new = new if table.whole else self.translator.select(some, new, neutral(op, buffer.dtype), buffer.dtype)
            new = self._combine(update_class(op), old, new)
        elif not table.whole:
            new = self.translator.select(some, new, old, buffer.dtype)
        elif not value.axes:
            new = Value(self._full(value))
        self.scope.assign(self.name, new.code)
        self._note("gather of what is stored")
        return True

    def _taken_by(self, table: IndexTable, at: str, value: Value) -> JaxExpr:
        """What the iterations `at` some positions store."""
        if not value.axes:
            return value.code
        along = table.along(value.axes, Name(at))
        if along is None:
            return Subscript(method(self._spread(value, table.axes), "reshape", -1), (Name(at),))
        return Subscript(value.code if len(value.axes) == 1 else method(value.code, "reshape", -1), (along,))

    def _one_for_each_place(self, op: UpdateOp, value: Value, mask: Value | None) -> tuple[Value, Value | None]:
        """Values combined over the axes that say nothing about the place, and whether there are any for it."""
        named = {v for i in self.job.indices for v in free_vars(i)}
        over = [a for a in union(self.translator.order, self.job.axes, value.axes) if a.var not in named]
        rest = (over, self.job.buffer.dtype, self.translator, self.accessor.length)
        found = reduction(op, value, mask, *rest)
        return found, None if mask is None else reduction("or", mask, None, over, DType.BOOL, *rest[2:])

    def _rows(self, shape: Sequence[Linear], indices: Sequence[Expr], mask: Value | None) -> Rows | None:
        """Index list of a store of rows, or of neighbours in them, at places that are data, its axes, and how many of
        these rows have; else None.

        One index for each row takes a fraction of what one for each element does.
        """
        whole: list[Axis] = []
        marks: list[JaxExpr] = []
        while len(whole) < len(shape) - 1:
            d = len(shape) - 1 - len(whole)
            view = find_view([shape[d]], [indices[d]], self.job.axes, self.bounds)
            if view is None or len(view) != 1 or len(view[0].axes) != 1 or not self._lies_in_row(view[0]):
                break
            whole.insert(0, view[0].axes[0])
            marks.insert(0, self.accessor.mark(view[0], view[0].start, view[0].size))
        if not whole:
            return None
        first = len(shape) - len(whole)
        index, axes = self.accessor.scatter_index(shape[:first], indices[:first], mask)
        over = (*axes, *whole)
        apart = len({a.var for a in over}) == len(over) and {a.var for a in over} == {a.var for a in self.job.axes}
        return ([*index, *without_trailing(marks)], over, len(whole)) if apart else None

    def _columns(
        self, shape: Sequence[Linear], indices: Sequence[Expr], mask: Value | None, rows: Rows
    ) -> tuple[Rows, Sequence[int]] | None:
        """As `_rows`, of the buffer with its dimensions in an order in which all are last that data say nothing of,
        and that order. It is worth it where many elements are stored next to those that are transposed for it.
        """
        order = sorted(range(len(shape)), key=lambda d: not has_loads(indices[d]))
        if order == sorted(order):
            return None
        found = self._rows([shape[d] for d in order], [indices[d] for d in order], mask)
        if found is None or found[2] <= rows[2]:
            return None
        (_, over, count), (_, along, more) = rows, found
        counts = (shape, *([a.extent for a in axes] for axes in (over, over[: len(over) - count], along[:-more])))
        elements, stored, before, after = (
            prod(float(n.about(self.target.default_extent)) for n in extents) for extents in counts
        )
        transposed = operations.moved(self.target, 2 * elements + stored) + after * self.target.store_by_data
        return (found, order) if cheaper("rows stored", transposed, before * self.target.store_by_data) else None

    def _lies_in_row(self, g: Group) -> bool:
        """Whether an axis takes neighbours of a dimension, forward and none outside of it."""
        inside = overhang(g, self.bounds.at_least, self.bounds.at_most) == (0, 0)
        return g.dims == 1 and g.step == 1 and inside and self.accessor.is_static(g.start) and not any(g.flipped)


def _row_or_all(g: Group) -> bool:
    """Whether all of a dimension is taken by one axis, or one position of it."""
    whole = len(g.axes) == 1 and g.step == 1 and g.start.equals(0) and g.span.equals(g.size)
    return g.dims == 1 and (whole or not g.axes) and not any(g.flipped)


def _counts(place: Place) -> list[Linear]:
    """The shape of what is stored at a place: of each dimension how many positions are, unless it is at one."""
    return [_count(g) for g in place.view if g.axes]


def _count(g: Group) -> Linear:
    total = g.axes[0].extent
    for block in g.blocks:
        total = total * block
    return total
