"""The value of one statement as JAX code: loads, masks, reductions and windows over its array axes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import copysign, prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.conditions import conjunction
from ir.analysis.dependence import UpdateOp
from ir.dtypes import DType
from ir.nodes import TRUE, Binary, Buffer, Const, Expr, Load, Select, Var, const
from ir.presburger import sets as presburger
from ir.traverse import all_same, buffers_read, conjuncts_of, factors, free_vars, has_loads, loads, map_expr
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import HIGHEST, Policy
from lower.analysis.linear_forms import to_expr
from lower.array.access import ZERO, Accessor, Bounds, buffer_shape, find_view, indexed
from lower.array.exact_values import ExactTranslator
from lower.array.finiteness import MASKED, Finite, fails_at_zero, outside_unless, positions
from lower.array.integer_facts import Facts
from lower.array.job import (
    MAX_SLICES,
    MAX_TAPS,
    UNROLLED_STEPS,
    Job,
    axis_names,
    outer_steps,
    passing,
    unrolled,
    update_class,
    verdict,
)
from lower.array.padded_reads import Copy, alone, padded_reads
from lower.array.reduce import COMBINERS, in_int32, neutral, over_taps, reduction
from lower.array.values import Translator, Value, dtype_code, ordered, typed
from lower.array.views import Axis, contiguous
from lower.emission.available_expressions import Recall
from lower.emission.scope import Held, Names, Scope
from lower.emission.stage_barrier import is_kept, rereads
from lower.instructions.convolution import CONVOLUTION, Convolution, Form, convolution, leading
from lower.instructions.sliding_windows import WINDOWED, Separated, separated
from lower.nest.backgrounds import Backgrounds
from lower.nest.nodes import ArrayStatement, Box, separate_parts
from lower.program.build import ALL, Arg, call, dotted, method, text
from lower.program.nodes import Function, JaxExpr, Lambda, Literal, Name
from lower.program.print_jax import text_of
from lower.restructure.statement_fusion import vanishes
from lower.tensor.known import Known
from lower.tensor.write import SumWriter, sums_as_terms

BARRIER = "lax.optimization_barrier"
LONG_MASK = 36  # characters from which a mask gets a name
SHORT = 32  # elements of a row; measured on CPU for rows of 3 and 16, which take longer kept, and of 64, which do not


class ValueWriter:
    """Writes the value of one statement over the axes that are kept; `StatementWriter` stores it."""

    def __init__(
        self,
        job: Job,
        node: ArrayStatement,
        around: Bounds,
        scope: Scope,
        names: Names,
        finite: Finite,
        target: Target,
        policy: Policy,
        only: Collection[Buffer] = (),
        behind: Collection[Buffer] = (),
        passed_on: bool = False,
        followed: bool = False,
        pinned: bool = False,
        facts: Facts | None = None,
        backgrounds: Backgrounds | None = None,
        derivatives: bool = True,
        readers: int = 0,
    ) -> None:
        self.read_by = readers  # how many other statements read what is stored
        self.derivatives = derivatives  # whether others than the values are taken from the code
        self.wide_guards: list[Value] = []
        self.summed_up = False  # whether rows are combined one by one that a reduction might combine
        self.facts = facts
        self.backgrounds = backgrounds
        self.behind = behind  # buffers that are read behind a barrier
        self.passed_on = passed_on  # other statements read what this one stores, which nobody else does
        self.followed = followed  # others of its loop store to parts of the same buffer after it
        self.target = target
        self.policy = policy
        self.finite = finite
        self.recall = Recall(scope, names, only)
        self.results: list[Known] = []
        self.base: Known | None = None
        self.outside: Sequence[Expr] | None = None  # guards that the store is under, where sums may be cut by them
        self.covering: Sequence[Expr] = ()  # guards of the store, under which alone the value counts
        self.node = node
        self.copies: dict[JaxExpr, str] = {}
        self.spared: dict[tuple[int, Load], bool] = {}
        self.scope = scope
        self.names = names
        self.around = around
        self.again: set[Buffer] = set()  # buffers that are read from memory, where XLA would compute them for each read
        self.forms: list[str] = []
        self.helpers: set[str] = set()
        self.instructions: dict[str, Function] = {}  # functions that it calls, besides those of the library
        self.extents: set[Expr] = set()  # of axes, where they are no numbers
        self.whole: JaxExpr | None = None  # what the whole buffer holds afterwards, where that is known
        self.pinned = pinned  # whether arrays that it reads transposed are transposed before anything else is done
        self.apart = frozenset[Var]()  # axes whose positions are written one by one
        self._use(job)

    def _use(self, job: Job, apart: Collection[Axis] = ()) -> None:
        """Write this job from here on; the positions of axes that stand `apart` are written one by one."""
        self.job = job
        self.bounds = self.around.with_axes(job.axes)
        self.extents |= {to_expr(a.extent, ZERO) for a in job.axes if not a.extent.is_const}
        order = tuple(a for a in job.axes if a not in apart)
        translate = ExactTranslator if self.policy.exact else Translator
        self.translator = translate(
            order, self._load, self._variable, self.helpers, self.derivatives, self.policy.precision, self._at_least
        )
        self.translator.wide_guards = self.wide_guards
        self.translator.somewhere = self._somewhere
        self.accessor = Accessor(order, self.bounds, self.translator)
        self.accessor.named = self._bordered
        self.accessor.proves = lambda integer: self._at_least(integer, 0)
        self.shape = buffer_shape(job.buffer, self.bounds)
        self.name = self.names.of(job.buffer)

    def _at_least(self, expr: Expr, number: int) -> bool:
        """Whether an integer is no less than a number at all positions."""
        low = self.bounds.at_least(self.bounds.linear(expr))
        if low is not None and low >= number:
            return True
        return self.facts is not None and self.facts.at_least(expr, number, self.job.axes, self.around.boxes)

    def _somewhere(self, cond: Expr) -> bool:
        """Whether a condition holds at some position of the axes."""

        def question() -> bool:
            inside = positions(self.job.axes, {})
            return not inside.intersect(presburger.condition(cond).must).is_empty()

        known = all(a.is_fixed for a in self.job.axes)
        return known and not has_loads(cond) and presburger.within_budget(question, False)

    def _survey(self, chosen: Sequence[Axis]) -> None:
        """How far accesses of this statement leave each buffer, so that it is padded once for all."""
        self.again = self._read_again(chosen)
        self.accessor.taps = frozenset(a.var for a in chosen)
        for load in dict.fromkeys(load for e in self.job.exprs() for load in loads(e)):
            times = prod(a.extent.const for a in chosen if a.var in free_vars(load))
            shape = buffer_shape(load.buffer, self.bounds)
            self.accessor.survey(self._source(load.buffer), shape, load.indices, times)
        self.accessor.alone = self._padded_alone(chosen)

    def _read_again(self, chosen: Sequence[Axis]) -> set[Buffer]:
        """Buffers that another statement computes, and this one reads so often that it rather does so from memory."""
        found: set[Buffer] = set()
        for buffer, (places, times) in ({} if self.scope.loop_vars else rereads(self.job, chosen)).items():
            name = self.names.of(buffer)
            work = self.scope.chains.get(name, 0.0)
            shape = buffer_shape(buffer, self.bounds)
            elements = prod(float(n.about(self.target.default_extent)) for n in shape)
            if not work or buffer == self.job.buffer:
                continue
            spread = times > places and name not in self.scope.tables
            if (places > 1 and is_kept(work, places, elements, self.target)) or (
                spread and is_kept(work, times, elements, self.target, slow=True)
            ):
                found.add(buffer)
        for load in (load for e in self.job.exprs() for load in loads(e) if load.buffer in found):
            if self.accessor.leaving(buffer_shape(load.buffer, self.bounds), load.indices) is not None:
                found.discard(load.buffer)  # it is padded for all reads, and kept so
        return found

    def _source(self, buffer: Buffer) -> str:
        """What a buffer is read from: its name, or that of what is kept of it in memory."""
        name = self.names.of(buffer)
        return self._kept(name) if buffer in self.again else name

    def _kept(self, name: str) -> str:
        """A name for what a buffer holds, in memory."""
        code = call("kept", name)
        if code not in self.scope.wide:
            kept = self.names.fresh(f"{name}_kept")
            self.scope.assign(kept, code)
            self.scope.wide[code] = kept, name
        return self.scope.wide[code][0]

    def _padded_alone(self, chosen: Sequence[Axis]) -> set[JaxExpr]:
        """Buffers of which each read is rather padded by itself: none if sums or other statements come between.

        XLA fuses a statement into what reads its result, once for each place that is read, unless that leaves the
        function or the step of a loop; padded reads are then worked out one by one before.
        """
        kept = [a for a in self.job.axes if a not in chosen]
        summed = set(self.job.reduced()) - set(chosen)
        if summed or not kept or self.node.scan is not None or self.passed_on or not self.accessor.widths:
            return set()
        if prod(a.extent.const for a in chosen) > MAX_TAPS:
            return set()
        found = padded_reads(self.job, chosen, self.bounds, self.accessor, self.names.of)
        found = {code: f for code, f in found.items() if f.separable and self._arrived(f.buffer)}
        copies = [Copy(f.elements, f.bytes, bool(self.scope.loop_vars)) for f in found.values()]
        reads = [r for f in found.values() for r in f.reads]
        places = prod(float(a.extent.about(self.target.default_extent)) for a in kept)
        return set(found) if found and alone(reads, places, len(kept), copies, self.target) else set()

    def _arrived(self, buffer: Buffer) -> bool:
        """Whether a buffer came into this function or step as it is: it is in memory, and padding it takes a pass."""
        return self.scope.arrived(buffer, self.names.of(buffer))

    def _is_invariant(self, expr: Expr) -> bool:
        """Whether an expression is the same in all steps of the loop around."""
        names = self.scope.loop_vars
        steady = names and not free_vars(expr) & names
        return bool(steady) and all(self._arrived(b) and b not in self.scope.carried for b in buffers_read(expr))

    def _bordered(self, name: str, code: JaxExpr, reads: int, extents: Sequence[float]) -> JaxExpr:
        """A name for a padded buffer, which statements share until one stores to the buffer.

        Where many read it, it is kept: fused into each of them it would ask for each element whether it is padding.
        Parts of short rows are read one by one either way.
        """
        known = self.scope.wide.get(code)
        if known is not None:
            return Name(known[0])
        fused = operations.padding_fused(self.target, prod(extents), reads)
        once = operations.padding_kept(self.target, prod(extents), reads, one_by_one=extents[-1] < SHORT)
        kept = cheaper("padded copy kept", once, fused)
        wide = self.names.fresh(f"wide_{name}")
        self.scope.assign(wide, call("kept", code) if kept else code)
        self.scope.wide[code] = wide, name
        return Name(wide)

    def _spared(self, held: Held, load: Load) -> bool:
        """Whether a load reads nothing of what a held store writes; asked once of each load."""
        key = held.number, load
        if key not in self.spared:
            self.spared[key] = all(separate_parts(node, self.node, load) for node in held.nodes)
        return self.spared[key]

    def _load(self, load: Load) -> Value:
        value = self._loaded(load)
        if load.buffer not in self.behind:
            return value
        if value.code not in self.copies:
            self.copies[value.code] = self._behind_barrier(self.names.of(load.buffer), value.code)
        return replace(value, code=Name(self.copies[value.code]), plain=None)

    def _behind_barrier(self, name: str, code: JaxExpr) -> str:
        """A name for the same values, which the compiler takes for others. Barriers of one value are one: they nest."""
        while (code := call(BARRIER, code)) in self.scope.wide:
            code = Name(self.scope.wide[code][0])
        apart = self.names.fresh(f"{name}_apart")
        self.scope.assign(apart, code)
        self.scope.wide[code] = apart, name
        return apart

    def _loaded(self, load: Load) -> Value:
        first, held = self._pending(load)
        if held is not None:
            return ordered(*self._taken(held), self.translator.order)
        if first:
            self.scope.current(load.buffer)
        shape = buffer_shape(load.buffer, self.bounds)
        value = self.accessor.load(self._source(load.buffer), shape, load.indices)
        if not self.pinned or value.plain is None:
            return value
        return Value(call("kept", value.code), value.axes)

    def _pending(self, load: Load) -> tuple[bool, Held | None]:
        """Whether what is held back must be written before a load reads it, or the store that has just its elements."""
        stores = self.scope.pending(load.buffer)
        if load.buffer in self.scope.fills or not stores:
            return True, None
        if len(stores) == 1 and self._just_held(stores[0], load.indices):
            return False, stores[0]
        seen = [h for h in stores if not self._spared(h, load)]
        if len(seen) == 1 and self._just_held(seen[0], load.indices):
            return False, seen[0]
        return bool(seen), None

    def _taken(self, held: Held) -> tuple[JaxExpr, tuple[Axis, ...]]:
        """The values of a held store, and their axes."""
        value = self.scope.take(held)
        return value.code, value.axes

    def _just_held(self, held: Held, indices: tuple[Expr, ...]) -> bool:
        """Whether a held store has all elements at `indices`, over axes of this statement."""
        return self._just_set(held.job, indices)

    def _just_set(self, job: Job, indices: tuple[Expr, ...]) -> bool:
        """Whether a job stores to just the elements at `indices`, over axes of this statement."""
        if not all_same(indices, job.indices):
            return False
        mine = {a.var: a for a in self.job.axes}
        return all(
            a.var in mine and a.low.equals(mine[a.var].low) and a.extent.equals(mine[a.var].extent)
            for a in job.axes
            if any(a.var in free_vars(i) for i in indices)
        )

    def _variable(self, var: Var) -> Value:
        axis = next((a for a in self.job.axes if a.var == var), None)
        name = self.names.of(var)
        if axis is None:
            static = var in self.around.static
            return Value(Name(name), static=static, weak=static or var in self.scope.loop_vars | self.apart)
        self.scope.define(name, self._positions(axis))
        return Value(Name(name), (axis,))

    def _positions(self, axis: Axis) -> JaxExpr:
        low = [] if axis.low.equals(0) and axis.var not in self.around.cut else [self.accessor.size(axis.low)]
        stop = self.accessor.size(axis.low + axis.extent)
        return call("jnp.arange", *low, stop, dtype=dtype_code(axis.var.dtype))

    def _value(self, guards: Sequence[Expr], reduced: tuple[Axis, ...], chosen: tuple[Axis, ...]) -> Value | None:
        """What is stored, or combined with the old content, over the kept axes; None when it never is."""
        op = None if self.job.op is None else update_class(self.job.op)
        apart = None
        if op is not None and self.policy.takes(WINDOWED):
            job = replace(self.job, guards=tuple(guards))
            apart = separated(job, chosen, self.bounds, self.target)
        if apart is not None:
            return self._separated(op, apart, reduced, chosen)
        found = convolution(self.job, chosen, self.bounds) if op == "add" and chosen else None
        open_ = None if found is None else self._open(guards, hidden_in=self.job.value)
        found = None if found is None or open_ is None else found.masked(open_)
        if found is not None:
            form = found.form(self.target, library=self.policy.may(CONVOLUTION, self.job.buffer.dtype))
            if form is Form.LIBRARY:
                return self._convolved(found, chosen)
            if form is Form.SLICES and reduced:
                chosen, reduced = (*reduced, *chosen), ()
                self._use(self.job, chosen)
                self._survey(chosen)
        if prod(a.extent.const for a in chosen) > MAX_TAPS:
            return self._long_window(op, guards, reduced, chosen)
        total: Value | None = None
        for piece in unrolled(replace(self.job, guards=tuple(guards)), chosen):
            part = self._part(op, piece.value, piece.guards, reduced)
            if chosen and part is not None and self._holds(op, part):
                continue
            if total is None or part is None:
                total = part if total is None else total
            else:
                assert op is not None
                total = self._combine(op, total, part)
        return total

    def _separated(
        self, op: UpdateOp | None, apart: Separated, reduced: tuple[Axis, ...], chosen: tuple[Axis, ...]
    ) -> Value | None:
        """Windows along one axis after the other."""
        assert op is not None
        job, done = self.job, {w.tap for w in apart.windows}
        rest, reduced = (tuple(a for a in axes if a not in done) for axes in (chosen, reduced))
        self._use(apart.job, rest)
        self._survey(rest)
        value = self._value(apart.job.guards, reduced, rest)
        if value is not None:
            value = typed(value, self.job.buffer.dtype)
        for w in () if value is None else apart.windows:
            assert value is not None
            names = [a.var for a in value.axes]
            at = names.index(w.joint.var)
            more = {k: n for k, n in (("dilation", w.dilation), ("stride", w.stride)) if n > 1}
            code = call("windows", COMBINERS[op], value.code, self.accessor.length(w.tap.extent), at, **more)
            value = Value(code, (*value.axes[:at], w.kept, *value.axes[at + 1 :]))
            self.helpers.add("windows")
        self._note(f"windows over {axis_names([w.tap for w in apart.windows])}")
        self._use(job, chosen)
        self._survey(chosen)
        return value

    def _long_window(
        self, op: UpdateOp | None, guards: Sequence[Expr], reduced: tuple[Axis, ...], chosen: tuple[Axis, ...]
    ) -> Value | None:
        """Many positions of a window: a Python loop while tracing, which XLA fuses, inside of a loop for more."""
        assert op is not None
        steps, taps = outer_steps(chosen, MAX_TAPS if reduced else MAX_SLICES)
        around, job, dtype = self.around, self.job, self.job.buffer.dtype
        boxes = {a.var: Box(a.low, a.extent, exact=True) for a in chosen}
        static = around.static | {a.var for a in taps}
        self.whole = None
        self.apart = frozenset(boxes)
        self.around = Bounds({**around.boxes, **boxes}, static, around.shape_variables, around.cut, around.facts)
        self.job = replace(job, axes=tuple(a for a in job.axes if a not in chosen))
        self.bounds = self.accessor.bounds = self.around.with_axes(self.job.axes)
        places, guards = (None, guards) if steps else passing(guards, taps, self.around)
        part = self._part(op, job.value, guards, reduced)
        if part is not None:
            part = over_taps(op, typed(part, dtype), [self.names.of(a.var) for a in taps], taps, places)
            part = self._over_steps(op, part, steps, unroll=not (taps or reduced))
        self.apart, self.around, self.job = frozenset[Var](), around, job
        self.bounds = self.accessor.bounds = around.with_axes(job.axes)
        return part

    def _over_steps(self, op: UpdateOp, part: Value, steps: Sequence[Axis], unroll: bool) -> Value:
        """Values for all positions of axes combined by loops, innermost last."""
        dtype = self.job.buffer.dtype
        shape = self._extents(part.axes)
        for k, axis in enumerate(reversed(steps)):
            name = self.names.of(axis.var)
            total = self.names.fresh("total")
            start = typed(neutral(op, dtype), dtype).code
            if part.axes:
                start = call("jnp.full", shape, neutral(op, dtype).code, dtype_code(dtype))
            combined = self._combine(op, Value(Name(total), part.axes), part)
            more = {"unroll": UNROLLED_STEPS} if unroll and k == 0 else {}
            low, stop = axis.low.const, axis.low.const + axis.extent.const
            step = Lambda((name, total), combined.code)
            part = Value(call("lax.fori_loop", low, stop, step, start, **more), part.axes)
        return part

    def _open(self, guards: Sequence[Expr], hidden_in: Expr | None = None) -> list[Expr] | None:
        """Guards that hold at some positions only, but for those that a summand hides; None where one never holds."""
        verdicts = [verdict(g, self.bounds) for g in guards]
        open_ = [g for g, v in zip(guards, verdicts, strict=True) if v is None]
        hidden = hidden_in is not None and open_ and self._hides_itself("add", hidden_in, open_)
        return None if False in verdicts else [] if hidden else open_

    def _holds(self, op: UpdateOp | None, part: Value) -> bool:
        """Whether the buffer was made of just these values, which a minimum or maximum need not look at again."""
        held = self.scope.whole.get(self.name)
        if op not in ("min", "max") or held is None or held[0] != part.code:
            return False
        view = find_view(self.shape, self.job.indices, part.axes, self.bounds)
        return view is not None and contiguous(view) and all(g.step == 1 and len(g.axes) == 1 for g in view)

    def _convolved(self, what: Convolution, chosen: tuple[Axis, ...]) -> Value:
        """A convolution by the library's function."""
        job, dtype = self.job, self.job.buffer.dtype
        codes: list[JaxExpr] = []
        padding: Arg = text("VALID")
        image, kernel = (what.image, what.image_axes, what.batch), (what.kernel, what.kernel_axes, what.outs)
        for load, axes, first in (image, kernel):
            self._use(replace(job, axes=axes, guards=()))
            bare = self._unpadded(what) if load is what.image else None
            value = self.translator.expr(load) if bare is None else bare[0]
            value = Value(method(value.code, "astype", "jnp.float32"), value.axes) if what.exact else value
            padding = padding if bare is None else bare[1]
            codes.append(self._merged(value, first, what.channels))
        narrow = dtype in (DType.BFLOAT16, DType.FLOAT16)
        options: dict[str, Arg] = {}
        if any(w.dilation > 1 for w in what.windows):
            options["rhs_dilation"] = tuple(w.dilation for w in what.windows)
        if dtype is DType.FLOAT32 or what.exact:
            options["precision"] = text(HIGHEST if what.exact else self.policy.precision)
        if narrow:
            options["preferred_element_type"] = dotted("jnp.float32")
        code = call("lax.conv_general_dilated", *codes, tuple(w.stride for w in what.windows), padding, **options)
        code = method(code, "astype", dtype_code(dtype)) if narrow or what.exact else code
        self._use(job, chosen)
        if len(what.batch) > 1 or len(what.outs) > 1:
            code = method(code, "reshape", *self._extents(what.axes))
        elif not (what.batch and what.outs):
            code = indexed(code, [ALL if axes else Literal(0) for axes in (what.batch, what.outs)])
        self._note("convolution")
        return ordered(code, what.axes, self.translator.order)

    def _unpadded(self, what: Convolution) -> tuple[Value, list[tuple[int, int]]] | None:
        """The image of a convolution and the zeros around it, which the library adds as it reads, or None."""
        load = what.image
        if not isinstance(load, Load):
            return None
        first, held = self._pending(load)
        shape = buffer_shape(load.buffer, self.bounds)
        if held is not None:
            return None
        found = self.accessor.unpadded(self.names.of(load.buffer), shape, load.indices)
        if found is None or any(max(found[1].get(a.var, (0, 0))) for a in (*what.batch, *what.channels)):
            return None
        if first:
            self.scope.current(load.buffer)
        return found[0], [found[1][w.joint.var] for w in what.windows]

    def _merged(self, value: Value, first: Sequence[Axis], channels: Sequence[Axis]) -> JaxExpr:
        """An array with one axis for its first ones and one for its channels."""
        if len(first) <= 1 and len(channels) <= 1:
            return leading(value.code, len(first), len(channels))
        sizes = [prod(a.extent.const for a in group) for group in (first, channels)]
        return method(value.code, "reshape", *sizes, *self._extents(value.axes[len(first) + len(channels) :]))

    def _part(
        self, op: UpdateOp | None, value: Expr, guards: Sequence[Expr], reduced: tuple[Axis, ...]
    ) -> Value | None:
        """What one position of the chosen axes contributes; None where that is nothing."""
        open_ = self._open(guards)
        if open_ is None:
            return None
        hidden = op is not None and open_ and self._hides_itself(op, value, open_)
        if op is not None and op != "add" and hidden:
            self.accessor.fill = neutral(op, self.job.buffer.dtype).code
        part = self._reduced(op, value, () if hidden else open_, reduced)
        self.accessor.fill = None
        return part

    def _reduced(self, op: UpdateOp | None, expr: Expr, guards: Sequence[Expr], reduced: tuple[Axis, ...]) -> Value:
        mask = self._mask(guards)
        counts = [*self.job.asked, *self.covering, *guards]
        with self.translator.under(lambda: self._mask(counts), case=conjunction(counts) if counts else TRUE):
            return self._under_mask(op, expr, guards, mask, reduced)

    def _under_mask(
        self, op: UpdateOp | None, expr: Expr, guards: Sequence[Expr], mask: Value | None, reduced: tuple[Axis, ...]
    ) -> Value:
        writer = SumWriter(
            self.translator,
            self._finite,
            self.accessor.length,
            self.target,
            self._named,
            self._known,
            self.names.fresh,
            self._number_where,
            self.outside,
            self.policy,
            self._is_invariant,
        )
        if op is None:
            inlined = (self._known(load) for load in loads(expr)) if sums_as_terms("add", expr.dtype) else ()
            if not any(known is not None and known.only for known in inlined):
                return self.translator.expr(expr)
            value = writer.value(expr)
            self.results.append(writer.result)
            return value
        if reduced and sums_as_terms(op, expr.dtype):
            value = writer.prefixes(expr, guards, reduced) if self.base is None else None
            narrow = in_int32(expr, reduced) if value is None and self.base is None else None
            if narrow is not None:
                value = writer.sum(narrow, self._masks(guards, mask, reduced), reduced, None)
                value = Value(method(typed(value, narrow.dtype).code, "astype", dtype_code(expr.dtype)), value.axes)
            elif value is None:
                value = writer.sum(expr, self._masks(guards, mask, reduced), reduced, self.base)
                self.results.append(writer.result)
            for form in writer.forms:
                self._note(f"{form} over {axis_names(reduced)}")
            return value
        if reduced:
            self._note(f"{op} reduction over {axis_names(reduced)}")
        value = self.translator.expr(expr)
        return reduction(op, value, mask, reduced, expr.dtype, self.translator, self.accessor.length)

    def _masks(self, guards: Sequence[Expr], mask: Value | None, reduced: Sequence[Axis]) -> list[tuple[Expr, Value]]:
        """Conditions with their code: one for all guards over the same axes, if any of them varies along `reduced`."""
        over = {a.var for a in reduced}
        if mask is None or not any(free_vars(g) & over for g in guards):
            return [] if mask is None else [(conjunction(guards), mask)]
        groups: dict[frozenset[Var], list[Expr]] = {}
        with self.translator.under(None):  # they say what counts, and are looked at where nothing does
            for guard in guards:
                groups.setdefault(frozenset(a.var for a in self.translator.expr(guard).axes), []).append(guard)
            return [(conjunction(g), part) for g in groups.values() if (part := self._mask(g)) is not None]

    def _known(self, load: Load) -> Known | None:
        return self.recall.loaded(load, self.job)

    def _named(self, code: JaxExpr, wish: str) -> str:
        """A name for a part of the value that is used more than once."""
        name = self.names.fresh(wish)
        self.scope.assign(name, code)
        return name

    def _hides_itself(self, op: UpdateOp, value: Expr, guards: Sequence[Expr]) -> bool:
        """Whether a value changes nothing wherever a guard does not hold, since what it loads is padded there.

        A product is zero where one of its factors is; anything else must be the padded load.
        """
        if op != "add":
            return isinstance(value, Load) and self._padded_unless(guards, value)
        parts = factors(value)
        for load in parts:
            others = isinstance(load, Load) and all(f == load or self._finite(f) for f in parts)
            if (
                others
                and isinstance(load, Load)
                and (self._padded_unless(guards, load) or self._zero_unless(guards, load))
            ):
                return True
        return False

    def _zero_unless(self, guards: Sequence[Expr], load: Load) -> bool:
        """Whether what a load finds is known to be zero wherever one of the guards does not hold."""
        if self.facts is None or not self.policy.may(MASKED, load.dtype):
            return False
        return self.facts.is_number(load, const(0, load.dtype), guards, self.job.axes, self.around.boxes)

    def _without_choices(self, value: Expr) -> Expr:
        """A value without choices of zero that padding makes: `2 * A[i - 1] if i > 0 else 0`."""

        def one(e: Expr) -> Expr:
            match e:
                case Select(cond=cond, then=then, other=Const(value=number)) if _is_zero(number):
                    free = all(self._pending(load)[1] is None for load in loads(then))
                    gone = free and vanishes(then, lambda load: self._padded_unless((cond,), load), self._finite)
                    return then if gone else e
                case _:
                    return e

        allowed = self.job.op in (None, "add", "sub") and self.policy.may(MASKED, value.dtype)
        return map_expr(map_expr(value, one) if allowed else value, self._without_guards)

    def _without_guards(self, e: Expr) -> Expr:
        """A conjunction without guards of what fails at padding: `i > 0 and A[i - 1] == 2`."""
        if not (isinstance(e, Binary) and e.op == "and" and has_loads(e)):
            return e
        parts = [*conjuncts_of(e)]
        needed = self._needed(parts) if all(self._pending(load)[1] is None for load in loads(e)) else parts
        return conjunction(needed) if len(needed) < len(parts) else e

    def _padded_unless(self, guards: Sequence[Expr], load: Load) -> bool:
        """Whether what a load finds is padding wherever one of the guards does not hold."""
        padded = self.accessor.pads(buffer_shape(load.buffer, self.bounds), load.indices)
        return padded and outside_unless(guards, load, self.job.axes, self.around.boxes)

    def _finite(self, factor: Expr) -> bool:
        """Whether a factor is a number at all positions at which the value counts."""
        return self.finite.throughout(factor, self.job.axes, self.around.boxes, self.covering)

    def _number_where(self, parts: Sequence[Expr], cond: Expr) -> bool:
        """Whether what is made of some parts of the value is a number wherever a condition holds."""
        return self.finite.where(parts, cond, self.job.axes, self.node)

    def _as_finite(self, wide: Job, job: Job) -> bool:
        """Whether what a sum reads with more positions is as certainly a number, so that masks can go to one factor."""
        boxes = self.around.boxes
        return job.op is None or all(
            self.finite.throughout(load, wide.axes, boxes) or not self.finite.throughout(load, job.axes, boxes)
            for load in set(loads(job.value))
        )

    def _note(self, form: str) -> None:
        if form not in self.forms:
            self.forms.append(form)

    def _combine(self, op: UpdateOp, a: Value, b: Value) -> Value:
        return self.translator.binary(op, a, b, self.job.buffer.dtype)

    def _mask(self, guards: Sequence[Expr]) -> Value | None:
        """The conjunction of guards; a long one gets a name."""
        guards = self._needed(guards)
        if not guards:
            return None
        total = self.translator.expr(guards[0])
        for guard in guards[1:]:
            total = self.translator.binary("and", total, self.translator.expr(guard), DType.BOOL)
        if (
            any(free_vars(g) & self.apart for g in guards)
            or len(text_of(total.code)) < LONG_MASK
            or not total.axes
            or any(has_loads(g) for g in guards)
        ):
            return total
        known = [name for name, code in self.scope.defined.items() if code == total.code]
        name = known[0] if known else self.names.fresh("mask")
        return Value(Name(self.scope.define(name, total.code)), total.axes)

    def _needed(self, guards: Sequence[Expr]) -> Sequence[Expr]:
        """Guards without those that another one takes in: it reads padding where they do not hold, and fails there."""
        if self.accessor.fill is not None or not any(map(has_loads, guards)):
            return guards
        kept = list(guards)
        for guard in guards:
            data = [load for g in kept if g is not guard for load in loads(g) if fails_at_zero(g, load)]
            if any(self._padded_unless((guard,), load) for load in data):
                kept = [g for g in kept if g is not guard]
        return kept

    def _extents(self, axes: Sequence[Axis]) -> tuple[JaxExpr, ...]:
        return tuple(self.accessor.length(a.extent) for a in axes)


def _is_zero(number: bool | int | float) -> bool:
    return number == 0 and copysign(1.0, number) > 0
