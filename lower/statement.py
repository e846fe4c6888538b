"""One statement as JAX source: its form, scans and picks, its store. Its value is `ValueWriter`'s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from ir.analysis.dependence import UpdateOp
from ir.dtypes import DType
from ir.nodes import Const, Expr, Load, Var, const
from ir.traverse import free_vars, loads, substitute_expr
from lower.access import buffer_shape, find_view, indexed
from lower.job import (
    Job,
    fuse_reductions,
    settle,
    split_quotients,
    taps,
    unrolled,
)
from lower.linear import Linear, atom, number, to_expr
from lower.nest import ArrayStatement, Pick, Recurrence, Solve, Span
from lower.recurrence import counts_exactly
from lower.reduce import neutral, reduction
from lower.rows import function_of
from lower.scanning import LONG, Extent, Form, cheapest
from lower.scope import Fill, Held
from lower.solve import triangular
from lower.tensor.known import Known
from lower.value_writer import COMBINERS, ValueWriter, axis_names, update_class
from lower.values import POSTFIX, UNARY, Value, aligned, dtype_code, ordered, typed, union
from lower.views import Axis, Group, contiguous, overhang, reads_data
from lower.widen import widened

_METHODS: dict[UpdateOp, str] = {
    "add": "add",
    "sub": "add",
    "mul": "multiply",
    "min": "min",
    "max": "max",
    "and": "min",
    "or": "max",
}


@dataclass(frozen=True, slots=True)
class Place:
    """The part of a buffer that is stored to: `marks` index it, and are empty for the whole.

    Where it begins may be known only as it runs: then `starts` has a position for each dimension.
    """

    marks: str
    view: tuple[Group, ...]
    starts: tuple[str, ...] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes in the order of the buffer's dimensions."""
        return tuple(a for g in self.view for a in g.axes)

    @property
    def turned(self) -> tuple[int, ...]:
        """Dimensions that run backward."""
        return tuple(d for d, f in enumerate(f for g in self.view for f in g.flipped) if f)

    @property
    def plain(self) -> bool:
        """Whether it is the whole buffer, with an axis for each dimension."""
        return not self.marks and bool(self.view) and all(g.dims == 1 and len(g.axes) == 1 for g in self.view)

    @property
    def grouped(self) -> bool:
        """Whether several axes share a dimension."""
        return any(len(g.axes) > 1 for g in self.view)


class StatementWriter(ValueWriter):
    """Writes one statement into a scope. `forms` says afterwards how, `helpers` which functions it calls."""

    def write(self) -> None:
        """Emit the statement, or nothing when it is never executed."""
        self._write_form()
        self.scope.written(self.name)
        if self.whole:
            self.scope.whole[self.name] = self.whole, frozenset(self.names.of(e.buffer) for e in loads(self.job.value))

    def _write_form(self) -> None:
        match self.node.scan:
            case Recurrence() as scan:
                self._scan(scan)
            case Pick() as pick:
                self._pick(pick)
            case Solve() as system:
                self._solve(system)
            case Span() as span:
                self._ranges(span)
            case None:
                self._plain()

    def _plain(self) -> None:
        job = settle(self.job, self.around)
        if job is None:
            self.forms.append("never executed")
            return
        job = fuse_reductions(split_quotients(job, self.around), self.around)
        wide = widened(job, self.around, stored=not self.scope.loop_vars)
        job = wide if wide is job or self._as_finite(wide, job) else job
        chosen = taps(job, self.around)
        if chosen:
            self.forms.append(f"unrolled over {axis_names(chosen)}")
        stored = {v for i in job.indices for v in free_vars(i)}
        if any(axis.var in stored for axis in chosen):
            for piece in unrolled(job, chosen):
                settled = settle(piece, self.around)
                if settled is not None:
                    self._emit(settled, ())
        else:
            self._emit(job, chosen)

    def _emit(self, job: Job, chosen: tuple[Axis, ...]) -> None:
        self._use(self._ordered(job), chosen)
        job = self.job
        taken = {a.var for a in chosen}
        reduced = tuple(a for a in job.reduced() if a.var not in taken)
        held = taken | {a.var for a in reduced}
        outer = [g for g in job.guards if not free_vars(g) & held]
        kept = [a for a in job.axes if a.var not in held]
        started = None if chosen else self.recall.started(job, self.bounds, self._just_set)
        if started is not None:
            self._use(started)
            job, reduced = started, started.reduced()
        self._release()
        self._survey(chosen)
        alone = chosen or started is not None
        self.results, self.base = [], None if alone else self.recall.joinable(job, kept, self._positions)
        self.outside = None if chosen or self.scope.loop_vars else outer
        value = self._value([g for g in job.guards if free_vars(g) & held], reduced, chosen)
        self.outside = None
        if value is None:
            self.forms.append("never executed")
            return
        if started is not None or self.base is not None:
            self._use(replace(job, op=None, axes=tuple(kept)))
        place = self._place(kept)
        if place is None:
            self._scatter(value, outer)
        else:
            known = None if outer or len(self.results) != 1 else self._as_known(place)
            self._store(value, place, self._mask(outer), steady=not any(reads_data(g) for g in outer))
            self.recall.keep_start(job)
            if known is not None:
                self.recall.keep(job.buffer, known)
        if self.translator.uses_truncdiv:
            self.helpers.add("truncdiv")

    def _as_known(self, place: Place) -> Known | None:
        """The value of a store as a term, if it is to a whole buffer and does not depend on what that held."""
        op, fill = self.job.op, self.scope.fills.get(self.job.buffer)
        zero = fill is not None and fill.value.code == neutral("add", self.job.buffer.dtype).code
        fresh = op is None or (op == "add" and zero and fill is not None and fill.place == self._key(place, None))
        whole = not any(place.turned) and all(map(_all_of, place.view))
        return self.recall.renamed(self.results[0], self.job.buffer, place.axes) if fresh and whole else None

    def _release(self) -> None:
        """Write out held stores of which this statement reads other elements too: a part would save nothing."""
        for load in {load for e in self.job.exprs() for load in loads(e)}:
            if self.scope.pending(load.buffer) and self._pending(load)[0]:
                self.scope.flush(load.buffer)

    def _pick(self, pick: Pick) -> None:
        """A statement that stores where along axes a value is best."""
        picked = {loop.var for loop in pick.loops}
        along = tuple(a for a in self.job.axes if a.var in picked)
        rest = tuple(a for a in self.job.axes if a.var not in picked)
        self._use(replace(self.job, axes=(*rest, *along)))
        self._release()
        value, dtype = self.translator.expr(pick.value), pick.value.dtype
        if pick.conditions:
            mask = self._mask(pick.conditions)
            assert mask is not None
            value = self.translator.select(mask, value, neutral(pick.op, dtype), dtype)
        rest = tuple(a for a in rest if a in value.axes)
        axes, code = (*rest, *along), typed(value, dtype).code
        if axes != value.axes:
            code = f"jnp.broadcast_to({aligned(typed(value, dtype), axes).code}, ({self._extents(axes)},))"
        if len(along) > 1:
            flat = ", ".join([*(self.accessor.size(a.extent) for a in rest), "-1"])
            strong = axes != value.axes or value.strength >= POSTFIX
            code = f"{code}.reshape({flat})" if strong else f"({code}).reshape({flat})"
        which = "last_best" if pick.last else "first_best"
        self.helpers.add(which)
        code = f"{which}(jnp.{pick.op}, {code})"
        self._use(replace(self.job, axes=tuple(a for a in self.job.axes if a not in along)))
        self._note(f"arg{pick.op} over {axis_names(along)}")
        self._put(Value(code, rest, POSTFIX), ())

    def _ranges(self, scan: Span) -> None:
        """An update that combines ranges along an axis, one for each position of the axes that decide on them."""
        job, dtype = self._ordered(self.job), self.job.buffer.dtype
        assert job.op is not None
        op, nothing = update_class(job.op), neutral(update_class(job.op), dtype)
        deciding = tuple(a for a in job.axes if a.var in scan.deciding)
        (along,) = (a for a in job.axes if a.var == scan.loop.var)
        rest = tuple(a for a in job.axes if a.var not in scan.deciding and a is not along)
        self._use(replace(job, axes=(*deciding, along, *rest)))
        self._release()
        own = {a.var for a in (along, *rest)}
        inside = [g for g in job.guards if free_vars(g) & own]
        outside = [g for g in job.guards if not free_vars(g) & own]
        low, stop = (self._bound(e, along) for e in (scan.start, scan.stop))
        ranged = union(deciding, low.axes, stop.axes)
        starts, stops = (aligned(b, ranged).code for b in (low, stop))
        if scan.by_row:
            term = function_of(scan.term, inside, op, (*deciding, along), self.names, self.scope, self.translator)
            axes = (along,)
            more = f"{term}, {starts}, {stops}, {self.accessor.size(along.extent)}, {typed(nothing, dtype).code}"
            self.helpers |= {"reduce_rows", "reduce_ranges", "prefix_sums"}
            code = f"reduce_rows({COMBINERS[op]}, {more})"
        else:
            summed = {a.var for a in rest if a in job.reduced()}
            terms = self._reduced(op, scan.term, inside, tuple(a for a in rest if a.var in summed))
            axes = (along, *(a for a in terms.axes if a is not along))
            if len(axes) > len(terms.axes):  # an axis of one position is none to expressions
                terms = Value(f"jnp.broadcast_to({terms.code}, ({self._extents(axes)},))", axes)
            self.helpers.add("reduce_ranges")
            more = f"{typed(terms, dtype).code}, {starts}, {stops}, {nothing.code}"
            code = f"reduce_ranges({COMBINERS[op]}, {more})"
        value = Value(code, (*ranged, *axes[1:]), POSTFIX)
        self._note(f"{op} over ranges of {along.var.name}")
        self._use(replace(self.job, axes=(*deciding, *rest)))
        for factor in scan.factors:
            value = self.translator.binary("mul", value, self.translator.expr(factor), dtype)
        if scan.factors:  # of a range without positions the program reads none
            some = self.translator.binary("lt", low, stop, scan.start.dtype)
            value = self.translator.select(some, value, nothing, dtype)
        later = tuple(a for a in deciding if a in job.reduced())
        masks = [g for g in outside if free_vars(g) & {a.var for a in later}]
        if later or masks:
            value = reduction(op, value, self._mask(masks), later, dtype, self.translator, self.accessor.size)
        kept = tuple(a for a in job.axes if a not in job.reduced() and a is not along)
        self._use(replace(job, axes=kept, guards=()))
        value = ordered(value.code if value.strength >= POSTFIX else f"({value.code})", value.axes, kept)
        self._put(value, [g for g in outside if g not in masks])
        if self.translator.uses_truncdiv:
            self.helpers.add("truncdiv")

    def _bound(self, bound: Expr, along: Axis) -> Value:
        """A bound of ranges as a position of an axis."""
        form = self.bounds.linear(bound) - along.low
        return typed(self.translator.expr(to_expr(form, bound)), bound.dtype)

    def _scan(self, scan: Recurrence) -> None:
        """A statement that continues along an axis what it stored before."""
        self._use(self._ordered(self.job))
        axis = next(a for a in self.job.axes if a.var == scan.loop.var)
        guards = self.job.guards
        self._release()
        form, value = self._continued(scan, axis)
        kind = scan.op if scan.factor is None else "linear"
        self._note(f"{kind} scan over {axis.var.name}{'' if form == 'associative' else f' ({form})'}")
        self._put(value, guards)

    def _solve(self, system: Solve) -> None:
        """A statement that stores the solution of a triangular system."""
        self._release()
        row = next(a for a in self.job.axes if a.var == system.loop.var)
        column = Axis(system.column, row.low, row.extent)
        matrix, job = system.matrix, self.job
        if system.backward:  # along its places, not its steps
            values = {a.var: to_expr(row.low * 2 + row.extent - 1 - atom(a.var), a.var) for a in (row, column)}
            matrix = Load(matrix.buffer, tuple(substitute_expr(i, values) for i in matrix.indices))
            job = replace(job, indices=tuple(substitute_expr(i, values) for i in job.indices))
        self._use(replace(job, axes=(row, column)))
        square = self.translator.expr(matrix)
        turned = square.plain is None
        code = f"{square.code}.T" if turned else square.code
        self._use(self._ordered(job))
        right = self.translator.expr(Load(job.buffer, self.job.indices))
        self._note(f"triangular system over {row.var.name}")
        options = f"lower={turned == system.backward}" + (", unit_diagonal=True" if system.unit else "")
        value = triangular(code, right, row, turned, options, self._extents)
        self._put(value, self.job.guards)

    def _put(self, value: Value, guards: Sequence[Expr]) -> None:
        """Store a value to the place of the job, along all of its axes, where guards hold."""
        place = self._place(self.job.axes)
        if place is None:
            self._scatter(value, guards)
        else:
            self._store(value, place, self._mask(guards), steady=not any(map(reads_data, guards)))

    def _continued(self, scan: Recurrence, axis: Axis) -> tuple[Form, Value]:
        """The values of a recurrence along an axis, from the element before the first, and the form they take."""
        dtype = self.job.buffer.dtype
        low = to_expr(axis.low, axis.var)
        first = self.translator.expr(substitute_expr(scan.previous, {axis.var: low}))
        given = (scan.term,) if scan.factor is None else (scan.factor, scan.term)
        parts = [self.translator.expr(e) for e in given]
        axes = union(self.translator.order, (axis,), *(p.axes for p in (first, *parts)))
        along = axes.index(axis)
        form = cheapest(scan, self._extent(axes, along), self.target)[0]
        where = f", axis={along}" if along else ""
        term = self._spread(parts[-1], axes)
        if form in ("in turn", "doubling"):
            before = aligned(typed(first, dtype), tuple(a for a in axes if a is not axis)).code
            if form == "doubling":
                self.helpers.add("doubling_sums")
                return form, Value(f"doubling_sums({term}, {parts[0].code}, {before}{where})", axes, POSTFIX)
            self.helpers.add("in_turn")
            combine, terms = COMBINERS[scan.op], f"({term},)"
            if isinstance(scan.factor, Const):
                combine = f"lambda last, term: {parts[0].code} * last + term"
            elif scan.factor is not None:
                combine = "lambda last, factor, term: factor * last + term"
                terms = f"({self._spread(parts[0], axes)}, {term})"
            return form, Value(f"in_turn({combine}, {before}, {terms}{where})", axes, POSTFIX)
        if scan.factor is None:
            code = f"lax.associative_scan({COMBINERS[scan.op]}, {term}{where})"
            if form == "blocks":
                self.helpers.add("prefix_sums")
                code = f"prefix_sums({term})"
            elif self._counted_in_blocks(scan, axis, along == len(axes) - 1):
                self.helpers.add("prefix_sums")
                code = f"prefix_sums({term}.astype(jnp.float32)).astype({dtype_code(dtype)})"
            return form, self._combine(scan.op, first, Value(code, axes, POSTFIX))
        self.helpers.add("linear_scan")
        products, sums = self.names.fresh("products"), self.names.fresh("sums")
        self.scope.add(f"{products}, {sums} = linear_scan({self._spread(parts[0], axes)}, {term}{where})")
        grown = self.translator.binary("mul", Value(products, axes), first, dtype)
        return form, self.translator.binary("add", grown, Value(sums, axes), dtype)

    def _counted_in_blocks(self, scan: Recurrence, axis: Axis, innermost: bool) -> bool:
        """Whether sums of integers are exact in float32, which has fast products, and many enough."""
        long = axis.extent.is_const and axis.extent.const >= LONG
        return scan.op == "add" and innermost and long and counts_exactly(scan.term, axis.extent.const)

    def _spread(self, value: Value, axes: tuple[Axis, ...]) -> str:
        """A value over all of these axes."""
        code = aligned(typed(value, self.job.buffer.dtype), axes).code
        if value.axes == axes:
            return code
        return f"jnp.broadcast_to({code}, ({self._extents(axes) + (',' if len(axes) == 1 else '')}))"

    def _extent(self, axes: Sequence[Axis], along: int) -> Extent:
        sizes = [float(a.extent.const) if a.extent.is_const else self.target.default_extent for a in axes]
        rows = prod(sizes) / max(sizes[along], 1.0)
        return Extent(sizes[along], rows, along == len(axes) - 1, bool(self.scope.loop_vars))

    def _ordered(self, job: Job) -> Job:
        """Axes in the order in which the store lays them out, reductions last."""
        bounds = self.around.with_axes(job.axes)
        reduced = job.reduced()
        kept = [a for a in job.axes if a not in reduced]
        view = find_view(buffer_shape(job.buffer, bounds), job.indices, kept, bounds)
        if view is not None:
            stored = [a for g in view for a in g.axes]
            kept = [*(a for a in kept if a not in stored), *stored]
        return replace(job, axes=(*kept, *reduced))

    def _place(self, kept: Sequence[Axis]) -> Place | None:
        """The slice that the kept axes cover, or None when it takes index arrays."""
        if not self.shape:
            return None if kept else Place("", ())
        view = find_view(self.shape, self.job.indices, kept, self.bounds)
        if view is None or sum(len(g.axes) for g in view) != len(kept):
            return None
        marks: list[str] = []
        moving = False
        for g in view:
            if g.axes:
                inside = overhang(g, self.bounds.at_least, self.bounds.at_most) == (0, 0)
                slack = any(not a.extent.equals(b) for a, b in zip(g.axes[1:], g.blocks, strict=True))
                moving = moving or not self.accessor.is_static(g.start)
                if not inside or slack:
                    return None
            elif g.dims > 1 or g.start.has_loads():
                return None
            marks.append(self.accessor.mark(g, g.start, g.size))
        if moving:
            starts = tuple(self.accessor.size(g.start) for g in view)
            return Place(indexed("", marks), tuple(view), starts) if self.accessor.moves(view) else None
        whole = contiguous(view) and all(g.axes and g.step == 1 for g in view)
        return Place("" if whole else indexed("", marks) or "[:]", tuple(view))

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
                return self.scope.hold(buffer, Fill(key, value, self._assignment(place, value, mask), key == "||"))
        elif start is not None:
            if op == "sub" and start.code in ("0", "0.0"):
                value = self._negated(value)
            elif start.code != neutral(op, buffer.dtype).code:
                value = self._combine(op, start, value)
        elif self._in_place(place) and mask is None:
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
        return bool(place.marks) and all(g.dims == 1 for g in place.view) and not (place.turned or place.starts)

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
            late = self.scope.loop_vars and steady and held.late is not None
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
        line = self._assignment(place, value, mask) if method == "set" else self._set(place, value, method)
        masked = mask is not None and steady and self.scope.loop_vars and len(value.axes) == len(place.axes) > 1
        if not self.shape or not (place.marks or masked):
            if self.job.buffer in self.scope.parked:  # what they leave as it is this one may change
                self.scope.flush(self.job.buffer)
            self.scope.add(line)
            return
        if method != "set":
            op = self.job.op
            assert op is not None
            value = self._combine(update_class(op), self._old(place), value)
        raw = value = typed(value, self.job.buffer.dtype)
        if mask is not None:
            value = self.translator.select(mask, value, self._old(place), self.job.buffer.dtype)

        def assign(values: Value) -> str:
            return self._assignment(place, values, None)

        def late(values: Value) -> str:
            return self._assignment(place, values, mask)

        def fresh() -> str:
            return self.names.fresh(f"new_{self.job.buffer.name}")

        job = replace(self.job, axes=place.axes, guards=())
        at, number, key = len(self.scope.lines), self.scope.next(), self._key(place, None)
        self.scope.held[job.buffer] = Held(
            key, job, (*nodes, self.node), value, at, line, assign, number, raw, late if steady else None, fresh
        )
        if not place.starts and all(map(_row_or_all, place.view)):
            self.scope.held[job.buffer].everywhere = lambda values: self._everywhere(place, values, mask)

    def _everywhere(self, place: Place, value: Value, mask: Value | None) -> str:
        """The line that stores to rows and columns of a buffer by a mask over all of it."""
        axes: list[Axis] = []
        masks = [] if mask is None else [mask]
        for g in place.view:
            points = Axis(Var(f"{self.name}_{len(axes)}", DType.INT32), number(0), g.size)
            axes += g.axes or (points,)
            if not g.axes:
                code = f"(jnp.arange({self.accessor.size(g.size)}) == {self.accessor.size(g.start)})"
                masks.append(Value(code, (points,)))
        where = " & ".join(aligned(m, tuple(axes)).at(POSTFIX if len(masks) > 1 else 0) for m in masks)
        value = aligned(typed(value, self.job.buffer.dtype), tuple(axes))
        return (
            f"{self.name} = jnp.where({where}, {value.code}, {self.name})" if masks else f"{self.name} = {value.code}"
        )

    def _form(self, place: Place, mask: Value | None) -> None:
        kind = "element" if self.shape and not place.axes else "slice" if place.marks else "whole array"
        self._note(kind if mask is None else f"{kind} under a mask")

    def _key(self, place: Place, mask: Value | None) -> str:
        merged = " ".join(str(g.dims) for g in place.view) if place.marks else ""
        return f"{place.marks}|{merged}|{'' if mask is None else mask.code}"

    def _take_fill(self, key: str, whole: bool) -> Value | None:
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

    def _negated(self, value: Value) -> Value:
        value = typed(value, self.job.buffer.dtype)
        return Value(f"-{value.at(UNARY)}", value.axes, UNARY)

    def _old(self, place: Place) -> Value:
        """The present content of a place."""
        code = self.name if not place.marks else f"{self.accessor.merged(self.name, place.view)}{place.marks}"
        if place.starts:
            return self.accessor.window(self.name, place.view)
        if place.grouped or (not place.marks and any(g.dims > 1 for g in place.view)):
            code = f"{code}.reshape({self._extents(place.axes)})"
        if place.turned:
            code = f"jnp.flip({code}, {place.turned})"
        return Value(code, place.axes, POSTFIX)

    def _assignment(self, place: Place, value: Value, mask: Value | None) -> str:
        """The line that stores `value`, where `mask` holds, at a place."""
        if mask is not None:
            value = self.translator.select(mask, value, self._old(place), self.job.buffer.dtype)
        if place.marks:
            return self._set(place, value, "set")
        value = typed(value, self.job.buffer.dtype) if value.axes or not self.shape else value
        if self.shape:
            return f"{self.name} = {self._laid_out(place, value, fill=True)}"
        return f"{self.name} = {value.code}"

    def _set(self, place: Place, value: Value, method: str) -> str:
        merged = self.accessor.merged(self.name, place.view)
        if place.starts:
            starts = ", ".join(place.starts) + ("," if len(place.starts) == 1 else "")
            return f"{self.name} = lax.dynamic_update_slice({self.name}, {self._window(place, value)}, ({starts}))"
        line = f"{self.name} = {merged}.at{place.marks}.{method}({self._laid_out(place, value, fill=False)})"
        if merged != self.name:
            line += f".reshape({', '.join(self.accessor.size(s) for s in self.shape)})"
        return line

    def _window(self, place: Place, value: Value) -> str:
        """A value with all dimensions of a place, which a window is stored by."""
        if len(value.axes) < len(place.axes):
            spread = f"jnp.broadcast_to({self._laid_out(place, value, fill=False)}, ({self._extents(place.axes)},))"
            value = Value(spread, place.axes, POSTFIX)
        new = Value(self._laid_out(place, value, fill=False), place.axes, value.strength)
        if len(place.axes) == len(place.view):
            return new.code
        return f"{new.at(POSTFIX)}.reshape({', '.join(self.accessor.size(g.span) for g in place.view)})"

    def _laid_out(self, place: Place, value: Value, fill: bool) -> str:
        """A value in the layout of the place: broadcast where needed (always with `fill`), turned, axes merged."""
        if not value.axes:
            return self._full(value) if fill else value.code
        plain = not place.turned and not place.grouped and not fill
        if plain:
            return aligned(value, place.axes).code
        code = value.code
        if len(value.axes) < len(place.axes):
            shape = self._extents(place.axes) + ("," if len(place.axes) == 1 else "")
            code = f"jnp.broadcast_to({aligned(value, place.axes).code}, ({shape}))"
        if place.turned:
            code = f"jnp.flip({code}, {place.turned})"
        if place.grouped or (fill and any(g.dims > 1 for g in place.view)):
            sizes = [s for g in place.view for s in ([_count(g)] if g.axes else [])] if not fill else self.shape
            whole = code if code != value.code or value.strength >= POSTFIX else f"({code})"
            code = f"{whole}.reshape({', '.join(self.accessor.size(s) for s in sizes)})"
        return code

    def _full(self, value: Value) -> str:
        shape = ", ".join(self.accessor.size(s) for s in self.shape) + ("," if len(self.shape) == 1 else "")
        dtype = dtype_code(self.job.buffer.dtype)
        if value.code in ("0", "0.0", "False"):
            return f"jnp.zeros(({shape}), {dtype})"
        return f"jnp.full(({shape}), {value.code}, {dtype})"

    def _scatter(self, value: Value, guards: Sequence[Expr]) -> None:
        """Store through index arrays. A masked-out position points past the end, where the store is dropped."""
        op, buffer = self.job.op, self.job.buffer
        self.scope.current(buffer)
        self.scope.starts.pop(buffer, None)
        base, shape, indices = self.name, self.shape, self.job.indices
        if not shape:
            base, shape, indices = f"{self.name}.reshape(1)", [number(1)], (const(0, DType.INT32),)
        mask = self._mask(guards)
        index, axes = self.accessor.scatter_index(shape, indices, mask)
        if op == "sub":
            value = self._negated(value)
        every = union(self.job.axes, axes, value.axes)
        code = aligned(value, every).code
        if len(every) > len(axes):
            extents = self._extents(every) + ("," if len(every) == 1 else "")
            single = [
                Value(*self.accessor.scatter_index([size], [i], mask if k == 0 else None))
                for k, (size, i) in enumerate(zip(shape, indices, strict=True))
            ]
            spread = f"jnp.broadcast_to({aligned(single[0], every).code}, ({extents}))"
            index = ", ".join([spread, *(aligned(v, every).code for v in single[1:])])
        drop = ', mode="drop"' if mask is not None or any(reads_data(i) for i in indices) else ""
        method = "set" if op is None else _METHODS[op]
        line = f"{self.name} = {base}.at[{index}].{method}({code}{drop})"
        self.scope.add(line if self.shape else line + ".reshape(())")
        self._note("element" if not every else f"scatter over {axis_names(every)}")


def _row_or_all(g: Group) -> bool:
    """Whether all of a dimension is taken by one axis, or one position of it."""
    whole = len(g.axes) == 1 and g.step == 1 and g.start.equals(0) and g.span.equals(g.size)
    return g.dims == 1 and (whole or not g.axes) and not any(g.flipped)


def _all_of(g: Group) -> bool:
    """Whether all of a dimension is taken, by one axis or as its only element."""
    if not g.axes:
        return g.dims == 1 and g.size.equals(1)
    (axis,) = g.axes[:1]
    return g.dims == 1 and len(g.axes) == 1 and axis.low.equals(0) and axis.extent.equals(g.size)


def _count(g: Group) -> Linear:
    total = g.axes[0].extent
    for block in g.blocks:
        total = total * block
    return total
