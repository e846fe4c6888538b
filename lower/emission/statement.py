"""One statement as JAX code: its form, scans and picks. Its value is `ValueWriter`'s, its store `StoreWriter`'s."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from msgspec.structs import replace

from egraph_rules.cost.operations import ScanForm, ScanSize
from ir.analysis.conditions import negate
from ir.analysis.dependence import Loop, Statement, Tile
from ir.dtypes import DType
from ir.nodes import Buffer, Call, Const, Expr, Load, Select
from ir.traverse import free_vars, has_loads, loads, map_expr, results_of, substitute_expr
from lower.analysis.linear_forms import atom, linear, to_expr
from lower.array.access import Bounds, buffer_shape, find_view
from lower.array.domain_extension import EXTENSION, widened
from lower.array.instances import check_text, instruction_code, over_axes
from lower.array.job import (
    MAX_TAPS,
    UNROLLED_STEPS,
    Job,
    accesses,
    axis_names,
    fuse_reductions,
    is_view,
    outer_steps,
    settle,
    short_products,
    short_rows,
    split_overlaps,
    split_quotients,
    taps,
    turn,
    unrolled,
    update_class,
)
from lower.array.reduce import COMBINERS, neutral, reduction
from lower.array.values import Value, aligned, dtype_code, ordered, typed, union
from lower.array.views import Axis, Group
from lower.emission.rows import function_of
from lower.emission.stage_barrier import fused_work, is_kept
from lower.emission.store import Place, StoreWriter
from lower.instructions.argmax import tested
from lower.instructions.recurrence import counts_exactly
from lower.instructions.scans import CUMULATIVE, LONG, form_of
from lower.instructions.sorted_insertion import as_floats
from lower.instructions.triangular_solve import triangular
from lower.nest.nodes import EXTREMES, Box, Factor, Filter, Pick, Recurrence, Solve, Span
from lower.program.build import as_expr, assign_each, call, dotted, method
from lower.program.build import code as template
from lower.program.nodes import Assign, Attribute, JaxExpr, Lambda, Literal, Name, Subscript, Tuple, Unary
from lower.tensor.known import Known


class StatementWriter(StoreWriter):
    """Writes one statement into a scope. `forms` says afterwards how, `helpers` which functions it calls."""

    def write(self) -> None:
        """Emit the statement, or nothing when it is never executed."""
        self._write_form()
        self.scope.written(self.name)
        if self.whole:
            self.scope.whole[self.name] = self.whole, frozenset(self.names.of(e.buffer) for e in loads(self.job.value))

    def _write_form(self) -> None:
        if self.node.statement.tile is not None:
            self._instance(self.node.statement.tile)
            return
        match self.node.scan:
            case Recurrence() as scan:
                self._scan(scan)
            case Filter() as filters:
                self._filter(filters)
            case Pick() as pick:
                self._pick(pick)
            case Solve() as system:
                self._solve(system)
            case Factor() as factor:
                self._factor(factor)
            case Span() as span:
                self._ranges(span)
            case None:
                self._plain()

    def _instance(self, tile: Tile) -> None:
        """A statement that stores what an instruction makes of windows, at all positions of the axes around."""
        made, around = self.job.value, self.job.axes
        assert isinstance(made, Call)
        name = self.names.of_instruction(tile.instruction.name)
        check_text(tile.instruction)
        self.instructions[name] = instruction_code(name, tile.instruction)
        windows = {param: tuple(map(_axis, loops)) for param, loops in tile.read.items()}
        self._release()
        values: list[Value] = []
        for param, arg in zip(made.function.params, made.args, strict=True):
            own = windows.get(param.name, ())
            self._use(replace(self.job, axes=(*around, *own)))
            value = typed(self.translator.expr(arg), arg.dtype)
            axes = (*(a for a in around if a in value.axes), *own)
            code = aligned(value, axes).code
            code = code if value.axes == axes else call("jnp.broadcast_to", code, self._extents(axes))
            values.append(Value(code, axes))
        shared = tuple(a for a in around if any(a in v.axes for v in values))
        code: JaxExpr = call(over_axes(Name(name), [v.axes for v in values], shared), *(v.code for v in values))
        if len(results_of(tile.instruction)) > 1:
            code = Subscript(code, (Literal(tile.result),))
        stored = tuple(map(_axis, tile.stored))
        self._use(self._ordered(replace(self.job, axes=(*around, *stored))))
        self._note(f"{tile.instruction.name}{f' over {axis_names(shared)}' if shared else ''}")
        self._put(ordered(code, (*shared, *stored), self.job.axes), self.job.guards)

    def _plain(self) -> None:
        job = settle(self.job, self.around, self.forms)
        if job is None:
            self.forms.append("never executed")
            return
        job = replace(job, value=map_expr(job.value, self._with_one_place))
        job = split_quotients(turn(job, self.around), self.around)
        job = split_overlaps(fuse_reductions(job, self.around), self.around)
        wide = self._wide(job)
        job = wide if wide is job or self._as_finite(wide, job) else job
        chosen = self._as_taps(job) or short_products(job, self.target)
        rows = () if chosen else short_rows(job, self.around, self.target, bool(self.scope.loop_vars))
        chosen, self.summed_up = chosen or rows, bool(rows)
        if chosen:
            self.forms.append(f"unrolled over {axis_names(chosen)}")
        stored = free_vars(*job.indices)
        if any(axis.var in stored for axis in chosen):
            for piece in unrolled(job, chosen):
                settled = settle(piece, self.around, self.forms)
                if settled is not None:
                    self._emit(settled, ())
        else:
            self._emit(job, chosen)

    def _with_one_place(self, e: Expr) -> Expr:
        """A choice between two elements of a vector that are looked up as the element at the chosen place; of arrays of
        more dimensions one of them may be in a row that is taken as a whole."""
        match e:
            case Select(cond=cond, then=Load(buffer=b, indices=(i,)), other=Load(buffer=other, indices=(j,))) if (
                b == other and not any(is_view(b, (at,), self.job.axes, self.bounds) for at in (i, j))
            ):
                return Load(b, (Select(cond, i, j),))
            case _:
                return e

    def _as_taps(self, job: Job) -> tuple[Axis, ...]:
        """Axes whose positions are taken one by one, unless loops over so many take more than an index each."""
        chosen = taps(job, self.around)
        steps, _ = outer_steps(chosen, MAX_TAPS)
        if not steps or not all(a.extent.is_const for a in job.axes):
            return chosen
        loops = prod(a.extent.const for a in steps) / UNROLLED_STEPS * self.target.step
        reads = sum(not is_view(b, i, job.axes, self.around.with_axes(job.axes)) for b, i in accesses(job))
        elements = prod(a.extent.const for a in job.axes)
        return () if reads * elements * self.target.read_by_data < loops else chosen

    def _wide(self, job: Job) -> Job:
        """A job over whole dimensions, unless that parts it from a store in a loop that is held back for it."""
        wide = widened(job, self.around) if self.policy.takes(EXTENSION) else job
        if wide is job or not self.scope.loop_vars:
            return wide
        parted: list[set[Load]] = []
        for form in (wide, job):
            self._use(form)
            read = {Load(form.buffer, form.indices), *(load for e in form.exprs() for load in loads(e))}
            parted.append({load for load in read if self.scope.held.get(load.buffer) and self._pending(load)[0]})
        return wide if parted[0] <= parted[1] else job

    def _stores_all(self, kept: Sequence[Axis]) -> bool:
        """Whether a statement over some axes stores to as many elements as there are, as far as these are numbers."""
        extents = (*self.shape, *(a.extent for a in kept))
        return not all(n.is_const for n in extents) or prod(a.extent.const for a in kept) >= prod(
            n.const for n in self.shape
        )

    def _with_what_it_reads(self, job: Job, work: float) -> float:
        """What an element costs with those of other statements that it is made of, where readers compute all anew."""
        own = [] if job.op is None else [Load(job.buffer, job.indices)]
        read = [*own, *(load for e in job.exprs() for load in loads(e))]
        places = self.target.read_by_data * sum(any(map(has_loads, load.indices)) for load in read)
        names = [self.names.of(b) for b in dict.fromkeys(load.buffer for load in read) if b not in self.again]
        again = sum(self.scope.chains.get(name, 0.0) for name in names)
        return work + places + again if work or self._copies(job) else 0.0

    def _is_table(self, job: Job) -> bool:
        """Whether what a statement stores is the same in all calls: it is made of positions and numbers."""
        positions = {a.var for a in job.axes}
        read = {self.names.of(load.buffer) for e in job.exprs() for load in loads(e)}
        return job.op is None and free_vars(*job.exprs()) <= positions and read <= self.scope.tables

    @staticmethod
    def _copies(job: Job) -> bool:
        """Whether each element is one of another buffer."""
        return isinstance(job.value, Load) and not job.reduced()

    def _is_kept_for_readers(self, work: float, kept: Sequence[Axis]) -> bool:
        """Whether what several statements read is better in memory, where a reduction would have put it."""
        return self.read_by > 1 and is_kept(work, self.read_by, self._elements(kept), self.target)

    def _elements(self, axes: Sequence[Axis]) -> float:
        """About how many positions there are on axes."""
        return prod(float(a.extent.about(self.target.default_extent)) for a in axes)

    def _emit(self, job: Job, chosen: tuple[Axis, ...]) -> None:
        self._use(self._ordered(job), chosen)
        self.job = job = replace(self.job, value=self._without_choices(self.job.value))
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
        self.outside, self.covering = None if chosen or self.scope.loop_vars else outer, outer
        value = self._value([g for g in job.guards if free_vars(g) & held], reduced, chosen)
        here = fused_work(job, chosen, self.target)
        whole = self._stores_all(kept)
        known = self.scope.chains.get(self.name, 0.0)  # what is stored to a part later makes no element cheaper
        if any(has_loads(i) for e in job.exprs() for load in loads(e) for i in load.indices):
            self.scope.looked_up.add(self.name)
        self.scope.sizes[self.name] = self._elements(kept)
        if whole and self._is_table(job):  # which is worked out while the program is compiled
            self.scope.tables.add(self.name)
        else:
            self.scope.tables.discard(self.name)
        self.scope.chains[self.name] = self._with_what_it_reads(job, here) if whole else max(here, known)
        self.outside, self.covering = None, ()
        if value is None:
            self.forms.append("never executed")
            return
        if self.summed_up and here > 0 and self._is_kept_for_readers(here, kept):
            value = replace(value, code=call("kept", value.code), plain=None)
            self.helpers.add("kept")
        if started is not None or self.base is not None:
            self._use(replace(job, op=None, axes=tuple(kept)))
        place = self._place(kept)
        if place is None:
            self._store_elements(value, kept, outer)
        else:
            known = None if outer or len(self.results) != 1 else self._as_known(place)
            self._store(value, place, self._mask(outer), steady=not any(has_loads(g) for g in outer))
            self.recall.keep_start(job)
            if known is not None:
                self.recall.keep(job.buffer, known)

    def _as_known(self, place: Place) -> Known | None:
        """The value of a store as a term, if it is to a whole buffer and does not depend on what that held."""
        op, fill = self.job.op, self.scope.fills.get(self.job.buffer)
        zero = fill is not None and fill.value.code == neutral("add", self.job.buffer.dtype).code
        fresh = op is None or (op == "add" and zero and fill is not None and fill.place == self._key(place, None))
        whole = not place.reversed and all(map(_all_of, place.view))
        return self.recall.renamed(self.results[0], self.job.buffer, place.axes) if fresh and whole else None

    def _release(self) -> None:
        """Write out held stores of which this statement reads other elements too: a part would save nothing."""
        for load in dict.fromkeys(load for e in self.job.exprs() for load in loads(e)):
            if self.scope.pending(load.buffer) and (self._pending(load)[0] or self._is_overwritten(load.buffer)):
                self.scope.flush(load.buffer)

    def _is_overwritten(self, buffer: Buffer) -> bool:
        """Whether stores of as many elements that a step holds back read other ones of what this statement stores to.

        Taken from them, the values are worked out in the pass that changes these elements, which so is not in place.
        """
        mine = self.job.buffer
        if not self.target.stores_copy or buffer == mine or not {buffer, mine} <= self.scope.carried:
            return False
        held = [h.job for h in self.scope.pending(buffer) if len(h.job.axes) == len(self.job.axes)]
        read = (load for job in held for e in job.exprs() for load in loads(e))
        return any(load.buffer == mine and load.indices != self.job.indices for load in read)

    def _pick(self, pick: Pick) -> None:
        """A statement that stores where along axes a value is best."""
        picked = {loop.var for loop in pick.loops}
        stored = self.job.axes
        along = tuple(a for a in stored if a.var in picked)
        ranks = tuple(a for a in stored if pick.rank is not None and a.var == pick.rank.var)
        rest = tuple(a for a in stored if a.var not in picked and a not in ranks)
        self._use(replace(self.job, axes=(*rest, *along)))
        self._release()
        test = tested(pick)
        value = self.translator.expr(pick.value if test is None else test)
        dtype = pick.value.dtype if test is None else test.dtype
        if pick.conditions:
            mask = self._mask(pick.conditions)
            assert mask is not None
            value = self.translator.select(mask, value, neutral(pick.op, dtype), dtype)
        rest = tuple(a for a in rest if a in value.axes)
        axes, code = (*rest, *along), typed(value, dtype).code
        if axes != value.axes:
            code = call("jnp.broadcast_to", aligned(typed(value, dtype), axes).code, self._extents(axes))
        if len(along) > 1:
            code = method(code, "reshape", *self._extents(rest), -1)
        self._use(self._ordered(replace(self.job, axes=tuple(a for a in stored if a not in along))))
        if ranks:
            found = self._ranked(pick, Value(code, rest), ranks[0])
            self._put(ordered(found.code, found.axes, tuple(a for a in self.job.axes if a in found.axes)), ())
            self._note(f"the {ranks[0].extent.const} best over {axis_names(along)}")
            return
        which = "first_true" if test is not None else "last_best" if pick.last else "first_best"
        self.helpers.add(which)
        code = call(which, *([f"jnp.{pick.op}"] if test is None else []), code)
        self._note(f"arg{pick.op} over {axis_names(along)}")
        self._put(Value(code, rest), ())

    def _ranked(self, pick: Pick, value: Value, rank: Axis) -> Value:
        """Where along the last dimension of a value the best are, one for each position of a rank."""
        which = "places_of_largest" if as_floats(pick.value.dtype) else "places_in_passes"
        self.helpers |= {which, *(["last_first"] if pick.last else [])}
        # of integers the negative of the least is none; the complement has the order of the negative
        sign = "-" if pick.value.dtype.is_float else "~"
        code = Unary(sign, value.code) if pick.op == "min" else value.code
        found = ("last_first", Name(which)) if pick.last else (which,)
        return Value(call(*found, code, int(rank.extent.const)), (*value.axes, rank))

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
            size, least = self.accessor.length(along.extent), typed(nothing, dtype).code
            self.helpers |= {"reduce_rows", "reduce_ranges", "prefix_sums", "with_all_given", "loop_between"}
            code = call("reduce_rows", COMBINERS[op], term, starts, stops, size, least)
        else:
            summed = {a.var for a in rest if a in job.reduced()}
            size = self.accessor.length(along.extent)

            def counted() -> Value:
                self.helpers.add("in_ranges")
                return Value(call("in_ranges", starts, stops, size), (along,))

            with self.translator.under(counted):
                terms = self._reduced(op, scan.term, inside, tuple(a for a in rest if a.var in summed))
            axes = (along, *(a for a in terms.axes if a is not along))
            if len(axes) > len(terms.axes):  # an axis of one position is none to expressions
                terms = Value(call("jnp.broadcast_to", terms.code, self._extents(axes)), axes)
            self.helpers |= {"reduce_ranges", "with_all_given", "loop_between"}
            code = call("reduce_ranges", COMBINERS[op], typed(terms, dtype).code, starts, stops, nothing.code)
        value = Value(code, (*ranged, *axes[1:]))
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
            value = reduction(op, value, self._mask(masks), later, dtype, self.translator, self.accessor.length)
        kept = tuple(a for a in job.axes if a not in job.reduced() and a is not along)
        self._use(replace(job, axes=kept, guards=()))
        value = ordered(value.code, value.axes, kept)
        self._put(value, [g for g in outside if g not in masks])

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
        kind = scan.op if scan.factor is None or scan.op in EXTREMES else "linear"
        self._note(f"{kind} scan over {axis.var.name}{'' if form == 'associative' else f' ({form})'}")
        self._put(value, guards)

    def _filter(self, scan: Filter) -> None:
        """A statement that continues along an axis several elements that it stored before."""
        self._use(self._ordered(self.job))
        axis = next(a for a in self.job.axes if a.var == scan.loop.var)
        guards, dtype = self.job.guards, self.job.buffer.dtype
        self._release()
        low = {axis.var: to_expr(axis.low, axis.var)}
        before = [self.translator.expr(substitute_expr(p, low)) for p in scan.previous]
        known = all(isinstance(f, Const) for f in scan.factors)
        respond = "response" if known else "response_in_parts"
        factors = [v.code if known else typed(v, dtype).code for v in map(self.translator.expr, scan.factors)]
        term = self.translator.expr(scan.term)
        axes = union(self.translator.order, (axis,), *(p.axes for p in (*before, term)))
        others = tuple(a for a in axes if a is not axis)
        first = [aligned(typed(b, dtype), others).code for b in before]
        where = {"axis": along} if (along := axes.index(axis)) else {}
        self.helpers |= {"filtered", "differences", respond, "filtered_in_blocks"}
        self._note(f"filter of order {len(factors)} over {axis.var.name}")
        code = call("filtered_in_blocks", respond, factors, first, self._spread(term, axes), **where)
        self._put(Value(code, axes), guards)

    def _solve(self, system: Solve) -> None:
        """A statement that stores the solution of a triangular system."""
        self._use(self._wide(self.job))
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
        transposed = square.plain is None
        code = Attribute(square.code, "T") if transposed else square.code
        self._use(self._ordered(job))
        right = self.translator.expr(Load(job.buffer, self.job.indices))
        self._note(f"triangular system over {row.var.name}")
        options = {"lower": transposed == system.backward, **({"unit_diagonal": True} if system.unit else {})}
        value = triangular(code, right, row, transposed, options, self._extents)
        self._put(value, self.job.guards)

    def _factor(self, factor: Factor) -> None:
        """A statement that stores the Cholesky factor of a matrix, or of one for each position of other axes."""
        self._release()
        inner = [next(a for a in self.job.axes if a.var == loop.var) for loop in (factor.row, factor.column)]
        axes = (*(a for a in self.job.axes if a not in inner), *inner)
        self._use(replace(self.job, axes=axes))
        square = self._spread(self.translator.expr(self.job.value), axes)
        self.helpers.add("cholesky_factor")
        self._note(f"Cholesky factor over {axis_names(inner)}")
        self._use(self._ordered(self.job))
        self._put(ordered(call("cholesky_factor", square), axes, self.job.axes), self.job.guards)

    def _continued(self, scan: Recurrence, axis: Axis) -> tuple[ScanForm, Value]:
        """The values of a recurrence along an axis, from the element before the first, and the form they take."""
        dtype = self.job.buffer.dtype
        low = to_expr(axis.low, axis.var)
        first = self.translator.expr(substitute_expr(scan.previous, {axis.var: low}))
        restart, parts = self._parts(scan, dtype)
        apart = parts if restart is None else [*parts, restart]
        axes = union(self.translator.order, (axis,), *(p.axes for p in (first, *apart)))
        along = axes.index(axis)
        form = form_of(scan, self._extent(axes, along), self.target)
        where = {"axis": along} if along else {}
        term = self._spread(parts[-1], axes)
        if form in ("in turn", "doubling"):
            before = aligned(typed(first, dtype), tuple(a for a in axes if a is not axis)).code
            if form == "doubling":
                self.helpers.add("doubling_sums")
                return form, Value(call("doubling_sums", term, parts[0].code, before, **where), axes)
            self.helpers.add("in_turn")
            combine, terms = self._step(scan, parts, restart, axes)
            return form, Value(call("in_turn", combine, before, terms, **where), axes)
        if restart is not None:
            return form, self._restarted(scan, parts, restart, first, axes, where)
        if scan.factor is None:
            code = call("lax.associative_scan", COMBINERS[scan.op], term, **where)
            if form == "cumulative":
                code = call(CUMULATIVE[scan.op], term, **where)
            elif form == "blocks":
                self.helpers.add("prefix_sums")
                code = call("prefix_sums", term)
            elif self._counted_in_blocks(scan, axis, along == len(axes) - 1):
                self.helpers.add("prefix_sums")
                sums = call("prefix_sums", method(term, "astype", "jnp.float32"))
                code = method(sums, "astype", dtype_code(dtype))
            return form, self._combine(scan.op, first, Value(code, axes))
        if isinstance(scan.factor, Const) and dtype.is_float and scan.op not in EXTREMES:
            self.helpers.add("pairwise_sums")
            before = aligned(typed(first, dtype), tuple(a for a in axes if a is not axis)).code
            return form, Value(call("pairwise_sums", term, parts[0].code, before, **where), axes)
        self.helpers.add("linear_scan")
        products, sums = self.names.fresh("products"), self.names.fresh("sums")
        semiring = {"add": dotted(COMBINERS[scan.op]), "multiply": self._times(scan, dtype)}
        own = semiring if scan.op in EXTREMES else {}
        scanned = call("linear_scan", self._spread(parts[0], axes), term, **where, **own)
        self.scope.add(assign_each((products, sums), scanned))
        return form, self._going(scan, Value(Name(products), axes), first, Value(Name(sums), axes), dtype)

    def _times(self, scan: Recurrence, dtype: DType) -> JaxExpr:
        """The product of the semiring in which a recurrence is linear: of extremes, it is the sum."""
        if scan.op not in EXTREMES:
            return dotted("jnp.multiply")
        if dtype.is_float:
            return dotted("jnp.add")
        self.helpers.add("saturated_sum")
        return Name("saturated_sum")

    def _going(self, scan: Recurrence, products: Value, first: Value, sums: Value, dtype: DType) -> Value:
        """What a linear recurrence makes of the element before it."""
        if scan.op not in EXTREMES:
            return self.translator.binary("add", self.translator.binary("mul", products, first, dtype), sums, dtype)
        axes = union(self.translator.order, products.axes, first.axes)
        grown = call(self._times(scan, dtype), aligned(typed(first, dtype), axes).code, aligned(products, axes).code)
        return self._combine(scan.op, Value(grown, axes), sums)

    def _parts(self, scan: Recurrence, dtype: DType) -> tuple[Value | None, list[Value]]:
        """Where a recurrence begins anew, if it does; the factor of each step, if there is one, and its term."""
        given = (scan.term,) if scan.factor is None else (scan.factor, scan.term)
        if scan.restart is None:
            return None, [self.translator.expr(e) for e in given]
        cond, value = scan.restart
        anew = self.translator.expr(cond)
        with self.translator.under(lambda: anew, holds=False, case=negate(cond)):
            factors = [self.translator.expr(e) for e in given[:-1]]
            term = None if value.same(scan.term) else self.translator.expr(scan.term)
        if term is None:
            return anew, [*factors, self.translator.expr(value)]
        with self.translator.under(lambda: anew, case=cond):
            begun = self.translator.expr(value)
        return anew, [*factors, self.translator.select(anew, begun, term, dtype)]

    def _step(
        self, scan: Recurrence, parts: Sequence[Value], restart: Value | None, axes: tuple[Axis, ...]
    ) -> tuple[JaxExpr, tuple[JaxExpr, ...]]:
        """A function of the last result and of terms, and the terms, which come in the order of its parameters."""
        named = {"term": self._spread(parts[-1], axes)}
        if scan.factor is None:
            made = call(COMBINERS[scan.op], "last", "term")
        else:
            factor = parts[0].code if isinstance(scan.factor, Const) else Name("factor")
            made = template("{} * last + term", factor)
            if scan.op in EXTREMES:
                made = call(COMBINERS[scan.op], template("last + {}", factor), "term")
            if not isinstance(scan.factor, Const):
                named = {"factor": self._spread(parts[0], axes), **named}
        if restart is None and scan.factor is None:
            return dotted(COMBINERS[scan.op]), tuple(named.values())
        if restart is not None:
            made = call("jnp.where", "anew", "term", made)
            named = {"anew": self._spread(restart, axes), **named}
        return Lambda(("last", *named), made), tuple(named.values())

    def _restarted(
        self,
        scan: Recurrence,
        parts: Sequence[Value],
        restart: Value,
        first: Value,
        axes: tuple[Axis, ...],
        where: Mapping[str, int],
    ) -> Value:
        """A scan some of whose steps begin anew; before these are those that go on from the first element."""
        dtype = self.job.buffer.dtype
        *factors, term = (self._spread(p, axes) for p in parts)
        anew, anew_name = self._spread(restart, axes), self.names.fresh("restarted")
        self.helpers.add("restarted_scan")
        if not factors:
            made = self.names.fresh("since")
            scanned = call("restarted_scan", COMBINERS[scan.op], anew, term, **where)
            self.scope.add(assign_each((anew_name, made), scanned))
            going = self._combine(scan.op, first, Value(Name(made), axes))
        else:
            made, products = self.names.fresh("sums"), self.names.fresh("products")
            steps = template("lambda a, b: (b[0] * a[0], b[0] * a[1] + b[1])")
            if scan.op in EXTREMES:
                a, b = (call(self._times(scan, dtype), template(f"a[{k}]"), template("b[0]")) for k in (0, 1))
                steps = Lambda(("a", "b"), Tuple((a, call(COMBINERS[scan.op], b, template("b[1]")))))
            scanned = call("restarted_scan", steps, anew, (*factors, term), **where)
            pair = Tuple((Name(products), Name(made)))
            self.scope.add(Assign(Tuple((Name(anew_name), pair)), as_expr(scanned)))
            going = self._going(scan, Value(Name(products), axes), first, Value(Name(made), axes), dtype)
        return self.translator.select(Value(Name(anew_name), axes), Value(Name(made), axes), going, dtype)

    def _counted_in_blocks(self, scan: Recurrence, axis: Axis, innermost: bool) -> bool:
        """Whether sums of integers are exact in float32, which has fast products, and many enough."""
        long = axis.extent.is_const and axis.extent.const >= LONG
        return scan.op == "add" and innermost and long and counts_exactly(scan.term, axis.extent.const)

    def _extent(self, axes: Sequence[Axis], along: int) -> ScanSize:
        sizes = [float(a.extent.about(self.target.default_extent)) for a in axes]
        rows = prod(sizes) / max(sizes[along], 1.0)
        return ScanSize(sizes[along], rows, along == len(axes) - 1, bool(self.scope.loop_vars))

    def _ordered(self, job: Job) -> Job:
        """Axes in the order in which the store lays them out; reductions last, or first where arrays have them so."""
        bounds = self.around.with_axes(job.axes)
        reduced = job.reduced()
        kept = [a for a in job.axes if a not in reduced]
        view = find_view(buffer_shape(job.buffer, bounds), job.indices, kept, bounds)
        if view is not None:
            stored = [a for g in view for a in g.axes]
            kept = [*(a for a in kept if a not in stored), *stored]
        first = job.op not in (None, "add", "sub", "mul") and self._leading(job, reduced, kept, bounds)
        return replace(job, axes=(*reduced, *kept) if first else (*kept, *reduced))

    def _leading(self, job: Job, reduced: Sequence[Axis], kept: Sequence[Axis], bounds: Bounds) -> bool:
        """Whether all arrays with axes of both kinds have those that are reduced further out in memory.

        An extreme of several arrays that are transposed for it is worked out element by element, far apart.
        """
        found: list[bool] = []
        for load in dict.fromkeys(load for e in job.exprs() for load in loads(e)):
            view = find_view(buffer_shape(load.buffer, bounds), load.indices, job.axes, bounds)
            axes = [a for g in view for a in g.axes] if view is not None else []
            places = [[d for d, a in enumerate(axes) if a in some] for some in (reduced, kept)]
            if all(places):
                found.append(max(places[0]) < min(places[1]))
        return bool(found) and all(found)


def _axis(window: Loop) -> Axis:
    return Axis(window.var, linear(window.start), linear(window.extent))


def _all_of(g: Group) -> bool:
    """Whether all of a dimension is taken, by one axis or as its only element."""
    if not g.axes:
        return g.dims == 1 and g.size.equals(1)
    (axis,) = g.axes[:1]
    return g.dims == 1 and len(g.axes) == 1 and axis.low.equals(0) and axis.extent.equals(g.size)


def make_job(
    statement: Statement,
    loops: tuple[Loop, ...],
    boxes: Iterable[Box],
    guards: Iterable[Expr],
    asked: tuple[Expr, ...] = (),
) -> Job:
    """The statement as a job over array axes."""
    axes = tuple(Axis(loop.var, box.low, box.extent) for loop, box in zip(loops, boxes, strict=True))
    store = statement.store
    op, value = (None, store.value) if statement.update is None else statement.update
    return Job(store.buffer, store.indices, value, op, (*guards, *statement.guards), axes, asked)
