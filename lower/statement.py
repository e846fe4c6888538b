"""One statement as JAX source: its value over array axes, its reduction, its store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from egraph_rules.cost import Target
from ir.analysis.dependence import UpdateOp, may_meet
from ir.dtypes import DType
from ir.nodes import Binary, Expr, Load, Var, const
from ir.traverse import free_vars, loads, substitute_expr
from lower.access import Accessor, Bounds, buffer_shape, find_view, indexed
from lower.finite import Finite, outside_unless
from lower.job import Job, fuse_reductions, settle, split_quotients, taps, unrolled, verdict
from lower.linear import Linear, number, to_expr
from lower.nest import ArrayStatement, Pick, Recurrence
from lower.normalize import conjunction
from lower.reduce import neutral, reduction
from lower.scope import Fill, Held, Names, Scope
from lower.tensor.write import SumWriter, sums_as_terms
from lower.values import ATOM, POSTFIX, SUM, UNARY, Translator, Value, aligned, dtype_code, ordered, typed, union
from lower.views import Axis, Group, contiguous, overhang, reads_data

_METHODS: dict[UpdateOp, str] = {
    "add": "add",
    "sub": "add",
    "mul": "multiply",
    "min": "min",
    "max": "max",
    "and": "min",
    "or": "max",
}
_COMBINERS: dict[UpdateOp, str] = {
    "add": "jnp.add",
    "mul": "jnp.multiply",
    "min": "jnp.minimum",
    "max": "jnp.maximum",
    "and": "jnp.logical_and",
    "or": "jnp.logical_or",
}
LONG_MASK = 36
_LONG_SCAN = 1024  # positions from which sums in blocks are faster than an associative scan (benchmarks/README.md)


@dataclass(frozen=True, slots=True)
class Place:
    """The part of a buffer that is stored to: `marks` index it, and are empty for the whole."""

    marks: str
    view: tuple[Group, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes in the order of the buffer's dimensions."""
        return tuple(a for g in self.view for a in g.axes)

    @property
    def turned(self) -> tuple[int, ...]:
        """Dimensions that run backward."""
        return tuple(d for d, f in enumerate(f for g in self.view for f in g.flipped) if f)

    @property
    def grouped(self) -> bool:
        """Whether several axes share a dimension."""
        return any(len(g.axes) > 1 for g in self.view)


class StatementWriter:
    """Writes one statement into a scope. `forms` says afterwards how, `helpers` which functions it calls."""

    def __init__(
        self,
        job: Job,
        node: ArrayStatement,
        around: Bounds,
        scope: Scope,
        names: Names,
        finite: Finite,
        target: Target,
        keep_nan: bool = False,
    ) -> None:
        self.target = target
        self.keep_nan = keep_nan
        self.finite = finite
        self.node = node
        self.spared: dict[tuple[int, Load], bool] = {}
        self.scope = scope
        self.names = names
        self.around = around
        self.forms: list[str] = []
        self.helpers: set[str] = set()
        self._use(job)

    def _use(self, job: Job) -> None:
        self.job = job
        self.bounds = self.around.with_axes(job.axes)
        self.translator = Translator(job.axes, self._load, self._variable)
        self.accessor = Accessor(job.axes, self.bounds, self.translator)
        self.accessor.named = self._bordered
        self.bordered: dict[str, str] = {}
        self.shape = buffer_shape(job.buffer, self.bounds)
        self.name = self.names.of(job.buffer)

    def write(self) -> None:
        """Emit the statement, or nothing when it is never executed."""
        if isinstance(self.node.scan, Recurrence):
            self._scan(self.node.scan)
            return
        if isinstance(self.node.scan, Pick):
            self._pick(self.node.scan)
            return
        job = settle(self.job, self.around)
        if job is None:
            self.forms.append("never executed")
            return
        job = fuse_reductions(split_quotients(job, self.around), self.around)
        chosen = taps(job, self.around)
        if chosen:
            self.forms.append(f"unrolled over {_names(chosen)}")
        stored = {v for i in job.indices for v in free_vars(i)}
        if any(axis.var in stored for axis in chosen):
            for piece in unrolled(job, chosen):
                settled = settle(piece, self.around)
                if settled is not None:
                    self._emit(settled, ())
        else:
            self._emit(job, chosen)

    def _emit(self, job: Job, chosen: tuple[Axis, ...]) -> None:
        self._use(self._ordered(job))
        job = self.job
        taken = {a.var for a in chosen}
        reduced = tuple(a for a in job.reduced() if a.var not in taken)
        held = taken | {a.var for a in reduced}
        outer = [g for g in job.guards if not free_vars(g) & held]
        kept = [a for a in job.axes if a.var not in held]
        self._release()
        self._borders()
        value = self._value([g for g in job.guards if free_vars(g) & held], reduced, chosen)
        if value is None:
            self.forms.append("never executed")
            return
        place = self._place(kept)
        if place is None:
            self._scatter(value, outer)
        else:
            self._store(value, place, self._mask(outer), steady=not any(reads_data(g) for g in outer))
        if self.translator.uses_truncdiv:
            self.helpers.add("truncdiv")

    def _borders(self) -> None:
        """How wide borders must be for all clamped accesses of this statement, so that each buffer is padded once."""
        widest = self.accessor.repeated
        for load in {load for e in self.job.exprs() for load in loads(e)}:
            found = self.accessor.borders(buffer_shape(load.buffer, self.bounds), load.indices)
            if found is not None:
                name = self.names.of(load.buffer)
                known = widest.get(name, found[1])
                widest[name] = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(known, found[1], strict=True)]

    def _bordered(self, name: str, code: str) -> str:
        """A name for a padded buffer, for this statement: later ones may find other contents."""
        if name not in self.bordered:
            self.bordered[name] = self.names.fresh(f"wide_{name}")
            self.scope.add(f"{self.bordered[name]} = {code}")
        return self.bordered[name]

    def _release(self) -> None:
        """Write out held stores of which this statement reads other elements too: a part would save nothing."""
        for load in {load for e in self.job.exprs() for load in loads(e)}:
            held = self.scope.held.get(load.buffer)
            if held is not None and not self._just_held(held, load.indices) and not self._spared(held, load):
                self.scope.flush(load.buffer)

    def _spared(self, held: Held, load: Load) -> bool:
        """Whether a load reads nothing of what a held store writes; asked once of each load."""
        key = held.number, load
        if key not in self.spared:
            self.spared[key] = apart(held.node, self.node, load)
        return self.spared[key]

    def _pick(self, pick: Pick) -> None:
        """A statement that stores where along an axis a value is best."""
        axis = next(a for a in self.job.axes if a.var == pick.loop.var)
        self._release()
        value = self.translator.expr(pick.value)
        along = [a.var for a in value.axes].index(axis.var)
        which, code = f"jnp.arg{pick.op}", value.code
        if pick.last:
            end = self.accessor.size(axis.extent - 1)
            code = f"{end} - {which}(jnp.flip({code}, {along}), axis={along}).astype(jnp.int32)"
        else:
            code = f"{which}({code}, axis={along}).astype(jnp.int32)"
        if not axis.low.equals(0):
            code = f"{code} + {self.accessor.size(axis.low)}"
        rest = tuple(a for a in value.axes if a.var != axis.var)
        strength = POSTFIX if axis.low.equals(0) and not pick.last else SUM
        self._use(replace(self.job, axes=tuple(a for a in self.job.axes if a.var != axis.var)))
        self._note(f"arg{pick.op} over {axis.var.name}")
        place = self._place(self.job.axes)
        if place is None:
            self._scatter(Value(code, rest, strength), ())
        else:
            self._store(Value(code, rest, strength), place, None, steady=True)

    def _scan(self, scan: Recurrence) -> None:
        """A statement that continues along an axis what it stored before."""
        self._use(self._ordered(self.job))
        axis = next(a for a in self.job.axes if a.var == scan.loop.var)
        guards = self.job.guards
        value = self._continued(scan, axis)
        self._note(f"{scan.op if scan.factor is None else 'linear'} scan over {axis.var.name}")
        place = self._place(self.job.axes)
        if place is None:
            self._scatter(value, guards)
        else:
            self._store(value, place, self._mask(guards), steady=True)

    def _continued(self, scan: Recurrence, axis: Axis) -> Value:
        """The values of a recurrence along an axis, from the element before the first."""
        dtype = self.job.buffer.dtype
        parts = [self.translator.expr(e) for e in ((scan.term,) if scan.factor is None else (scan.factor, scan.term))]
        axes = union(self.translator.order, (axis,), *(p.axes for p in parts))
        shape = self._extents(axes) + ("," if len(axes) == 1 else "")
        codes = [
            aligned(typed(p, dtype), axes).code
            if p.axes == axes
            else f"jnp.broadcast_to({aligned(typed(p, dtype), axes).code}, ({shape}))"
            for p in parts
        ]
        along = [a.var for a in axes].index(axis.var)
        where = f", axis={along}" if along else ""
        low = to_expr(axis.low, axis.var)
        first = self.translator.expr(substitute_expr(scan.previous, {axis.var: low}))
        if scan.factor is None:
            code = f"lax.associative_scan({_COMBINERS[scan.op]}, {codes[0]}{where})"
            long = axis.extent.is_const and axis.extent.const >= _LONG_SCAN
            if scan.op == "add" and dtype.is_float and along == len(axes) - 1 and long:
                self.helpers.add("prefix_sums")
                code = f"prefix_sums({codes[0]})"
            return self._combine(scan.op, first, Value(code, axes, POSTFIX))
        self.helpers.add("linear_scan")
        products, sums = self.names.fresh("products"), self.names.fresh("sums")
        self.scope.add(f"{products}, {sums} = linear_scan({codes[0]}, {codes[1]}{where})")
        grown = self.translator.binary("mul", Value(products, axes), first, dtype)
        return self.translator.binary("add", grown, Value(sums, axes), dtype)

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

    # Leaves of expressions.

    def _load(self, load: Load) -> Value:
        held = self.scope.held.get(load.buffer)
        if held is not None and self._just_held(held, load.indices):
            return self._taken(held)
        if held is None or not self._spared(held, load):
            self.scope.current(load.buffer)
        shape = buffer_shape(load.buffer, self.bounds)
        return self.accessor.load(self.names.of(load.buffer), shape, load.indices)

    def _taken(self, held: Held) -> Value:
        """The values of a held store, with their axes in the order of this statement."""
        value = self.scope.take(held, self.names.fresh(f"new_{held.job.buffer.name}"))
        return ordered(value.code, value.axes, self.translator.order)

    def _just_held(self, held: Held, indices: tuple[Expr, ...]) -> bool:
        """Whether a held store has all elements at `indices`, over axes of this statement."""
        same = len(indices) == len(held.job.indices) and all(map(Expr.same, indices, held.job.indices))
        if not same:
            return False
        mine = {a.var: a for a in self.job.axes}
        return all(
            a.var in mine and a.low.equals(mine[a.var].low) and a.extent.equals(mine[a.var].extent)
            for a in held.job.axes
            if any(a.var in free_vars(i) for i in indices)
        )

    def _variable(self, var: Var) -> Value:
        axis = next((a for a in self.job.axes if a.var == var), None)
        name = self.names.of(var)
        if axis is None:
            static = var in self.around.static
            return Value(name, static=static, weak=static or var in self.scope.loop_vars)
        low = "" if axis.low.equals(0) else f"{self.accessor.size(axis.low)}, "
        stop = self.accessor.size(axis.low + axis.extent)
        self.scope.define(name, f"jnp.arange({low}{stop}, dtype=jnp.{var.dtype})")
        return Value(name, (axis,))

    # The value.

    def _value(self, guards: Sequence[Expr], reduced: tuple[Axis, ...], chosen: tuple[Axis, ...]) -> Value | None:
        """What is stored, or combined with the old content, over the kept axes; None when it never is."""
        op = None if self.job.op is None else _class(self.job.op)
        total: Value | None = None
        for piece in unrolled(replace(self.job, guards=tuple(guards)), chosen):
            verdicts = [verdict(g, self.bounds) for g in piece.guards]
            if False in verdicts:
                continue
            open_ = [g for g, v in zip(piece.guards, verdicts, strict=True) if v is None]
            hidden = op == "add" and open_ and self._hides_itself(piece.value, open_)
            part = self._reduced(op, piece.value, () if hidden else open_, reduced)
            if total is None:
                total = part
            else:
                assert op is not None
                total = self._combine(op, total, part)
        return total

    def _reduced(self, op: UpdateOp | None, expr: Expr, guards: Sequence[Expr], reduced: tuple[Axis, ...]) -> Value:
        mask = self._mask(guards)
        if op is None:
            return self.translator.expr(expr)
        if reduced and sums_as_terms(op, expr.dtype):
            writer = SumWriter(self.translator, self._finite, self.accessor.size, self.target)
            value = writer.sum(expr, None if mask is None else (conjunction(guards), mask), reduced)
            for form in writer.forms:
                self._note(f"{form} over {_names(reduced)}")
            return value
        if reduced:
            self._note(f"{op} reduction over {_names(reduced)}")
        value = self.translator.expr(expr)
        function = "with_nan" if self.keep_nan and op in ("min", "max") and expr.dtype.is_float else ""
        self.helpers |= {function} - {""}
        return reduction(op, value, mask, reduced, expr.dtype, self.translator, self.accessor.size, function)

    def _hides_itself(self, value: Expr, guards: Sequence[Expr]) -> bool:
        """Whether a product is zero wherever a guard does not hold, since a factor of it is padded with zeros there."""
        factors = _factors(value)
        for load in factors:
            if isinstance(load, Load) and self.accessor.pads(buffer_shape(load.buffer, self.bounds), load.indices):
                others = all(f is load or self._finite(f) for f in factors)
                if others and outside_unless(guards, load, self.job.axes, self.around.boxes):
                    return True
        return False

    def _finite(self, factor: Expr) -> bool:
        """Whether a factor is a number at all positions."""
        return self.finite.throughout(factor, self.job.axes, self.around.boxes)

    def _note(self, form: str) -> None:
        if form not in self.forms:
            self.forms.append(form)

    def _combine(self, op: UpdateOp, a: Value, b: Value) -> Value:
        return self.translator.binary(op, a, b, self.job.buffer.dtype)

    def _mask(self, guards: Sequence[Expr]) -> Value | None:
        """The conjunction of guards; a long one gets a name."""
        if not guards:
            return None
        total = self.translator.expr(guards[0])
        for guard in guards[1:]:
            total = self.translator.binary("and", total, self.translator.expr(guard), DType.BOOL)
        if len(total.code) < LONG_MASK or not total.axes or any(reads_data(g) for g in guards):
            return total
        known = [name for name, code in self.scope.defined.items() if code == total.code]
        name = known[0] if known else self.names.fresh("mask")
        return Value(self.scope.define(name, total.code), total.axes, ATOM)

    # The store.

    def _place(self, kept: Sequence[Axis]) -> Place | None:
        """The slice that the kept axes cover, or None when it takes index arrays."""
        if not self.shape:
            return None if kept else Place("", ())
        view = find_view(self.shape, self.job.indices, kept, self.bounds)
        if view is None or sum(len(g.axes) for g in view) != len(kept):
            return None
        marks: list[str] = []
        for g in view:
            if g.axes:
                inside = overhang(g, self.bounds.at_least, self.bounds.at_most) == (0, 0)
                slack = any(not a.extent.equals(b) for a, b in zip(g.axes[1:], g.blocks, strict=True))
                if not inside or slack or not self.accessor.is_static(g.start):
                    return None
            elif g.dims > 1 or g.start.has_loads():
                return None
            marks.append(self.accessor.mark(g, g.start, g.size))
        whole = contiguous(view) and all(g.axes and g.step == 1 for g in view)
        return Place("" if whole else indexed("", marks) or "[:]", tuple(view))

    def _store(self, value: Value, place: Place, mask: Value | None, steady: bool) -> None:
        buffer, op = self.job.buffer, self.job.op
        self._form(place, mask)
        key = self._key(place, mask)
        replaced, base = self._replaced(place, needed=op is not None or mask is not None)
        if base is not None:
            value = value if op is None else self._combine(op, base, value)
            value = value if mask is None else self.translator.select(mask, value, base, buffer.dtype)
            return self._write(value, place, None, "set")
        start = None if replaced else self._take_fill(key, whole=not place.marks and mask is None)
        method = "set"
        if op is None:
            # A constant is held back: a reduction may start from it.
            if value.static and steady:
                return self.scope.hold(buffer, Fill(key, value, self._assignment(place, value, mask), key == "||"))
        elif start is not None:
            if op == "sub" and start.code in ("0", "0.0"):
                value = self._negated(value)
            elif start.code != neutral(op, buffer.dtype).code:
                value = self._combine(op, start, value)
        elif place.marks and mask is None and all(g.dims == 1 for g in place.view) and not place.turned:
            self.scope.current(buffer)
            value, method = self._negated(value) if op == "sub" else value, _METHODS[op]
        else:
            self.scope.current(buffer)
            value = self._combine(op, self._old(place), value)
        if place.marks or mask is not None:
            self.scope.current(buffer)
        else:
            self.scope.need(buffer, whole=True)
        return self._write(value, place, mask, method)

    def _replaced(self, place: Place, needed: bool) -> tuple[bool, Value | None]:
        """Whether a held store is to just this place, whose values are then in hand, if they are needed.

        Any other store that is held back is written out.
        """
        buffer = self.job.buffer
        held = self.scope.held.get(buffer)
        if held is None or held.place != self._key(place, None) or not self._just_held(held, self.job.indices):
            if held is not None:
                self.scope.flush(buffer)
            return False, None
        base = self._taken(held) if needed else None
        del self.scope.held[buffer]
        return True, base

    def _write(self, value: Value, place: Place, mask: Value | None, method: str) -> None:
        """Store values by a method of `.at`; a store to a part of a buffer is held back: what the part then holds."""
        line = self._assignment(place, value, mask) if method == "set" else self._set(place, value, method)
        if not place.marks or not self.shape:
            self.scope.add(line)
            return
        if method != "set":
            op = self.job.op
            assert op is not None
            value = self._combine(_class(op), self._old(place), value)
        value = typed(value, self.job.buffer.dtype)
        if mask is not None:
            value = self.translator.select(mask, value, self._old(place), self.job.buffer.dtype)

        def assign(values: Value) -> str:
            return self._assignment(place, values, None)

        job = replace(self.job, axes=place.axes, guards=())
        at, number, key = len(self.scope.lines), self.scope.next(), self._key(place, None)
        self.scope.held[job.buffer] = Held(key, job, self.node, value, at, line, assign, number)

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
        if place.grouped or (not place.marks and any(g.dims > 1 for g in place.view)):
            code = f"{code}.reshape({self._extents(place.axes)})"
        if place.turned:
            code = f"jnp.flip({code}, {place.turned})"
        return Value(code, place.axes, POSTFIX)

    def _extents(self, axes: Sequence[Axis]) -> str:
        return ", ".join(self.accessor.size(a.extent) for a in axes)

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
        line = f"{self.name} = {merged}.at{place.marks}.{method}({self._laid_out(place, value, fill=False)})"
        if merged != self.name:
            line += f".reshape({', '.join(self.accessor.size(s) for s in self.shape)})"
        return line

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
        self._note("element" if not every else f"scatter over {_names(every)}")


def _factors(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "mul":
        return [*_factors(expr.lhs), *_factors(expr.rhs)]
    return [expr]


def apart(writer: ArrayStatement, reader: ArrayStatement, load: Load) -> bool:
    """Whether a statement never reads by `load` what another, between the same steps of loops, writes."""
    axes = {*writer.axes, *reader.axes}
    around = [loop for loop in writer.statement.loops if loop not in axes]
    return not may_meet(writer.statement, reader.statement, load, around)


def _count(g: Group) -> Linear:
    total = g.axes[0].extent
    for block in g.blocks:
        total = total * block
    return total


def _class(op: UpdateOp) -> UpdateOp:
    return "add" if op == "sub" else op


def _names(axes: Sequence[Axis]) -> str:
    return ", ".join(a.var.name for a in axes)
