"""JAX source of one array statement.

A statement over array axes loads views (slices, reshapes) where an access is one and gathers where it is not, masks
what its guards exclude, reduces over the axes its target does not have, and stores by assignment, slice or scatter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ir.analysis.dependence import Loop
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.traverse import free_vars, has_loads, loads, substitute_expr
from lower.linear import Linear, interval, linear, number
from lower.plan import ArrayStatement, Box
from lower.values import ATOM, POSTFIX, PRODUCT, Translator, Value, aligned, dtype_code, literal, typed, union
from lower.views import Axis, Group, contiguous, groups, overhang

if TYPE_CHECKING:
    from lower.source import Function

UNROLL = 16  # longest reduction axis written out term by term, when that turns a gather into shifted slices

_REDUCE = {"add": "sum", "sub": "sum", "mul": "prod", "min": "min", "max": "max", "and": "all", "or": "any"}
_SCATTER = {"add": "add", "sub": "add", "mul": "multiply", "min": "min", "max": "max", "and": "min", "or": "max"}


def neutral(op: str, dtype: DType) -> bool | int | float:
    """The value that an update leaves an element unchanged by."""
    match op:
        case "mul":
            return 1.0 if dtype.is_float else 1
        case "min":
            return float("inf") if dtype.is_float else dtype.max
        case "max":
            return float("-inf") if dtype.is_float else dtype.min
        case "and":
            return True
        case "or":
            return False
        case _:
            return 0.0 if dtype.is_float else 0


@dataclass(slots=True)
class Scope:
    """Where statements are emitted: lines, what is known of buffers, and the sequential loops around."""

    lines: list[str] = field(default_factory=list[str])
    indent: str = "    "
    fills: dict[Buffer, Const] = field(default_factory=dict[Buffer, Const])
    defined: set[Buffer] = field(default_factory=set[Buffer])
    loops: tuple[Loop, ...] = ()
    masks: dict[str, str] = field(default_factory=dict[str, str])

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)


class StatementEmitter:
    """Emits one array statement."""

    def __init__(self, function: Function, node: ArrayStatement, scope: Scope) -> None:
        self.f = function
        self.scope = scope
        self.statement = node.statement
        self.store = node.statement.store
        self.guards = list(node.statement.guards)
        self.axes: list[Axis] = []
        for loop in node.axes:
            box = function.plan.boxes[loop]
            self.axes.append(Axis(loop.var, box.low, box.extent))
            if not box.exact:
                self.guards += _within(loop, box)
        for k, loop in enumerate(scope.loops):
            if function.inner_bounds(loop, {outer.var for outer in scope.loops[:k]}):
                self.guards += _within(loop, function.plan.boxes[loop])
        self._narrow()
        self._drop_single()
        self.by_var = {a.var: a for a in self.axes}

    def _narrow(self) -> None:
        """Turn guards that bound one axis by constants into a smaller axis: a slice costs less than a mask."""
        kept: list[Expr] = []
        for guard in self.guards:
            for k, axis in enumerate(self.axes):
                smaller = narrowed(axis, guard)
                if smaller is not None:
                    self.axes[k] = smaller
                    break
            else:
                kept.append(guard)
        self.guards = kept

    def _drop_single(self) -> None:
        """Axes of one iteration become that iteration's number."""
        at: dict[Var, Expr] = {
            a.var: const(a.low.const, a.var.dtype)
            for a in self.axes
            if a.low.is_const and a.extent.is_const and a.extent.const == 1
        }
        if not at:
            return
        self.axes = [a for a in self.axes if a.var not in at]
        self.guards = [substitute_expr(g, at) for g in self.guards]
        store = self.store
        places = tuple(substitute_expr(i, at) for i in store.indices)
        self.store = Store(store.buffer, places, substitute_expr(store.value, at), store.span)
        update = self.statement.update
        fixed = None if update is None else (update[0], substitute_expr(update[1], at))
        self.statement = replace(self.statement, store=self.store, guards=tuple(self.guards), update=fixed)

    def emit(self) -> None:
        if any(a.extent.is_const and a.extent.const <= 0 for a in self.axes):
            return
        update = self.statement.update
        buffer = self.store.buffer
        for load in self.statement.reads():
            if load.buffer != buffer or update is None:
                self.f.settle(load.buffer, self.scope)
        shape = self.f.shape(buffer)
        places = self.f.indices(buffer, self.store.indices)
        forms = [linear(e, self.f.ranges) for e in places]
        target = self.view(shape, forms, self.axes)
        op = update[0] if update is not None else None
        value_expr = update[1] if update is not None else self.store.value
        indexed = {v for form in forms for v in form.vars()}
        kept = [a for a in self.axes if a.var in indexed]
        summed = [a for a in self.axes if a.var not in indexed]
        if op is not None and summed and target is not None:
            value = self.reduced(op, value_expr, kept, summed)
            masked = False
        else:
            value, masked = self.translate(value_expr), bool(self.guards)
        covers = target is not None and {a.var for g in target for a in g.axes} == {a.var for a in kept}
        if target is not None and covers and (op is None or not (summed and masked)) and (op is not None or not summed):
            self.assign(target, shape, value, op, kept, masked)
        else:
            self.scatter(places, value, op)

    # Values ----------------------------------------------------------------------------------------------------------

    def translator(self) -> Translator:
        return Translator(self.axes, self.load, lambda v: self.f.variable(v, self.by_var))

    def translate(self, expr: Expr) -> Value:
        translator = self.translator()
        value = translator.expr(expr)
        if translator.uses_truncdiv:
            self.f.helpers.add("truncdiv")
        return value

    def mask(self) -> Value | None:
        if not self.guards:
            return None
        cond = self.guards[0]
        for guard in self.guards[1:]:
            cond = Binary("and", cond, guard)
        value = typed(self.translate(cond), DType.BOOL)
        if value.strength == ATOM or len(value.code) < 40:
            return value
        if value.code not in self.scope.masks:
            name = self.f.fresh("valid")
            self.scope.line(f"{name} = {value.code}")
            self.scope.masks[value.code] = name
        return Value(self.scope.masks[value.code], value.axes)

    def view(self, shape: Sequence[Linear], forms: Sequence[Linear], axes: Sequence[Axis]) -> list[Group] | None:
        """A view whose slices are static, or whose scalar positions are all that varies."""
        found = groups(shape, forms, axes)
        if found is None:
            return None
        for g in found:
            if g.axes and not (g.start.vars() <= self.f.plan.static and not g.start.has_loads()):
                return None
            if not g.axes and g.dims > 1:
                return None
        return found

    def at_least(self, form: Linear) -> int | None:
        return interval(form, self.f.ranges)[0]

    def at_most(self, form: Linear) -> int | None:
        return interval(form, self.f.ranges)[1]

    def load(self, load: Load) -> Value:
        shape = self.f.shape(load.buffer)
        places = self.f.indices(load.buffer, load.indices)
        if not places:
            return Value(self.f.name(load.buffer))
        found = self.view(shape, [linear(e, self.f.ranges) for e in places], self.axes)
        if found is not None:
            value = self.slice(self.f.name(load.buffer), found)
            if value is not None:
                return value
        return self.gather(load.buffer, places)

    def gather(self, buffer: Buffer, places: Sequence[Expr]) -> Value:
        values = [self.translate(e) for e in places]
        axes = union(self.axes, *(v.axes for v in values))
        indices = ", ".join(aligned(v, axes).code for v in values)
        return Value(f"{self.f.name(buffer)}[{indices}]", axes, POSTFIX)

    def slice(self, name: str, view: list[Group]) -> Value | None:
        """Source of a view; None where a slice may leave the array by an amount that is not known."""
        code = name
        pads: list[tuple[int, int]] = []
        for g in view:
            if not g.axes:
                pads.append((0, 0))
                continue
            out = overhang(g, self.at_least, self.at_most)
            if out is None:
                return None
            pads.append(out)
        if any(g.dims > 1 for g in view):
            code = f"{code}.reshape({', '.join(self.f.size(g.size) for g in view)})"
        if any(p != (0, 0) for p in pads):
            code = f"jnp.pad({code}, {pads!r})"
        marks: list[str] = []
        for g, (before, after) in zip(view, pads, strict=True):
            marks.append(self._mark(g, before, after))
        while marks and marks[-1] == ":":
            marks.pop()
        if marks:
            code = f"{code}[{', '.join(marks)}]"
        order = [a for g in view for a in g.axes]
        if any(len(g.axes) > 1 for g in view):
            sizes = [self.f.size(n) for g in view for n in self._split_sizes(g)]
            code = f"{code}.reshape({', '.join(sizes)})"
            code += self._trim(view)
        flips = ["::-1" if f else ":" for g in view for f in g.flipped]
        if "::-1" in flips:
            code += f"[{', '.join(flips)}]"
        want = [a for a in self.axes if a in order]
        if want != order:
            code = f"{code}.transpose({', '.join(str(order.index(a)) for a in want)})"
        return Value(code, tuple(want), POSTFIX)

    def _mark(self, g: Group, before: int, after: int) -> str:
        start = g.start + before
        if not g.axes:
            return self.f.size(start)
        stop = start + g.span
        whole = start.equals(0) and stop.equals(g.size + before + after)
        if whole and g.step == 1:
            return ":"
        first = "" if start.equals(0) else self.f.size(start)
        last = "" if stop.equals(g.size + before + after) else self.f.size(stop)
        text = f"{first}:{last}"
        return text if g.step == 1 else f"{text}:{g.step}"

    def _split_sizes(self, g: Group) -> list[Linear]:
        if not g.axes:
            return []
        return [g.axes[0].extent, *(number(n) for n in g.blocks)]

    def _trim(self, view: list[Group]) -> str:
        cuts: list[str] = []
        for g in view:
            for k, axis in enumerate(g.axes):
                full = k == 0 or axis.extent.equals(g.blocks[k - 1])
                cuts.append(":" if full else f":{self.f.size(axis.extent)}")
        while cuts and cuts[-1] == ":":
            cuts.pop()
        return f"[{', '.join(cuts)}]" if cuts else ""

    # Reductions ------------------------------------------------------------------------------------------------------

    def reduced(self, op: str, expr: Expr, kept: list[Axis], summed: list[Axis]) -> Value:
        """`expr` folded by `op` over some axes, guards applied."""
        unrolled = self.unrolled(op, expr, summed)
        if unrolled is not None:
            return unrolled
        dtype = self.store.buffer.dtype
        mask = self.mask()
        if mask is None and op in ("add", "sub") and dtype.is_float:
            product = self.contraction(expr, kept, summed)
            if product is not None:
                return product
        value = typed(self.translate(expr), dtype)
        if mask is not None:
            value = self.translator().select(mask, value, literal(neutral(op, dtype), dtype), dtype)
        value = self.broadcast(value, summed)
        axes = value.axes
        positions = [k for k, a in enumerate(axes) if a in summed]
        where = str(positions[0]) if len(positions) == 1 else f"({', '.join(map(str, positions))})"
        kind = f", dtype={dtype_code(dtype)}" if _REDUCE[op] in ("sum", "prod") else ""
        code = (
            f"{value.at(POSTFIX)}.{_REDUCE[op]}(axis={where}{kind})"
            if len(positions) != len(axes)
            else (f"{value.at(POSTFIX)}.{_REDUCE[op]}({kind[2:]})")
        )
        return Value(code, tuple(a for a in axes if a not in summed), POSTFIX)

    def broadcast(self, value: Value, axes: Sequence[Axis]) -> Value:
        """`value` with all of `axes` present: a sum counts every iteration."""
        missing = [a for a in axes if a not in value.axes]
        if not missing:
            return value
        full = union(self.axes, value.axes, tuple(missing))
        sizes = ", ".join(self.f.size(a.extent) for a in full)
        return Value(f"jnp.broadcast_to({aligned(value, full).code}, ({sizes}{',' if len(full) == 1 else ''}))", full)

    def unrolled(self, op: str, expr: Expr, summed: list[Axis]) -> Value | None:
        """Write a short reduction axis out, where that makes slices of what would be gathers."""
        for axis in summed:
            if not axis.extent.is_const or not axis.low.is_const or not 0 < axis.extent.const <= UNROLL:
                continue
            if not any(self.mixes(load, axis) for load in loads(expr)):
                continue
            terms: list[Value] = []
            for k in range(axis.low.const, axis.low.const + axis.extent.const):
                inner = StatementEmitter.__new__(StatementEmitter)
                inner.f, inner.scope, inner.statement, inner.store = self.f, self.scope, self.statement, self.store
                at: dict[Var, Expr] = {axis.var: const(k, axis.var.dtype)}
                inner.axes = [a for a in self.axes if a is not axis]
                inner.by_var = {a.var: a for a in inner.axes}
                inner.guards = [substitute_expr(g, at) for g in self.guards]
                rest = [a for a in summed if a is not axis]
                part = substitute_expr(expr, at)
                kept = [a for a in inner.axes if a not in rest]
                terms.append(inner.reduced(op, part, kept, rest) if rest else inner.masked(op, part))
            folded = terms[0]
            dtype = self.store.buffer.dtype
            for term in terms[1:]:
                folded = self.translator().binary("add" if op == "sub" else op, folded, term, dtype)
            return folded
        return None

    def masked(self, op: str, expr: Expr) -> Value:
        """A value with the neutral element where the guards exclude it."""
        dtype = self.store.buffer.dtype
        value = typed(self.translate(expr), dtype)
        mask = self.mask()
        if mask is None:
            return value
        return self.translator().select(mask, value, literal(neutral(op, dtype), dtype), dtype)

    def mixes(self, load: Load, axis: Axis) -> bool:
        """Whether a load is a gather over all axes, but a view once `axis` is fixed."""
        shape = self.f.shape(load.buffer)
        places = self.f.indices(load.buffer, load.indices)
        if axis.var not in {v for e in places for v in free_vars(e)}:
            return False
        if self.view(shape, [linear(e, self.f.ranges) for e in places], self.axes) is not None:
            return False
        at: dict[Var, Expr] = {axis.var: const(axis.low.const, axis.var.dtype)}
        fixed = [linear(substitute_expr(e, at), self.f.ranges) for e in places]
        return self.view(shape, fixed, [a for a in self.axes if a is not axis]) is not None

    def contraction(self, expr: Expr, kept: list[Axis], summed: list[Axis]) -> Value | None:
        """A sum of a product of loads as an einsum; a sum of one load as its product with ones, the fastest form."""
        factors = list(_factors(expr))
        values = [self.translate(e) for e in factors if not isinstance(e, Const)]
        scale = [e for e in factors if isinstance(e, Const)]
        arrays = [v for v in values if v.axes]
        scalars = [v for v in values if not v.axes]
        if not arrays or len(arrays) > 3 or any(a not in [x for v in arrays for x in v.axes] for a in summed):
            return None
        dtype = self.store.buffer.dtype
        letters = {a: chr(ord("a") + k) for k, a in enumerate(self.axes)}
        terms = ["".join(letters[a] for a in v.axes) for v in arrays]
        operands = [v.code for v in arrays]
        if len(arrays) == 1:
            merged = self._merged_sum(arrays[0], summed)
            if merged is not None:
                result = merged
                return self._scaled(result, scalars, scale, dtype)
            return None
        out = [a for a in self.axes if a in kept and any(a in v.axes for v in arrays)]
        spec = f"{','.join(terms)}->{''.join(letters[a] for a in out)}"
        accumulate = f", preferred_element_type={dtype_code(dtype)}"
        code = f'jnp.einsum("{spec}", {", ".join(operands)}{accumulate})'
        return self._scaled(Value(code, tuple(out)), scalars, scale, dtype)

    def _merged_sum(self, value: Value, summed: list[Axis]) -> Value | None:
        axes = list(value.axes)
        count = len(summed)
        if set(axes[len(axes) - count :]) != set(summed):
            return None
        outer = axes[: len(axes) - count]
        size = number(1)
        for a in axes[len(axes) - count :]:
            if not (size.is_const and a.extent.is_const):
                return None
            size = number(size.const * a.extent.const)
        dtype = dtype_code(self.store.buffer.dtype)
        code = value.at(POSTFIX)
        if count > 1:
            code = f"{code}.reshape({', '.join([*(self.f.size(a.extent) for a in outer), self.f.size(size)])})"
        return Value(f"{code} @ jnp.ones({self.f.size(size)}, {dtype})", tuple(outer), PRODUCT)

    def _scaled(self, value: Value, scalars: list[Value], scale: list[Const], dtype: DType) -> Value:
        for other in [*scalars, *(literal(c.value, c.dtype) for c in scale)]:
            value = self.translator().binary("mul", value, other, dtype)
        return value

    # Stores ----------------------------------------------------------------------------------------------------------

    def assign(
        self, view: list[Group], shape: Sequence[Linear], value: Value, op: str | None, kept: list[Axis], masked: bool
    ) -> None:
        """Store into a view: the whole buffer by assignment, a part of it by a slice."""
        buffer, scope = self.store.buffer, self.scope
        name, dtype = self.f.name(buffer), buffer.dtype
        order = [a for g in view for a in g.axes]
        whole = contiguous(view) and all(self._blocks_full(g) for g in view)
        if not shape:
            whole = True
        fill = scope.fills.get(buffer) if whole else None
        mask = self.mask() if masked else None
        if whole and op is None and mask is None and value.static and isinstance(self.store.value, Const):
            scope.fills[buffer] = self.store.value
            return
        old: Value | None = None
        if op is not None or mask is not None:
            if fill is not None:
                old = literal(fill.value, fill.dtype)
            else:
                self.f.settle(buffer, scope)
                old = Value(name) if not shape else self.slice(name, view)
                assert old is not None
        translator = self.translator()
        new = value
        if op is not None and old is not None:
            neutral_start = fill is not None and fill.value == neutral(op, dtype) and op != "sub"
            new = value if neutral_start else translator.binary(op, old, value, dtype)
        if mask is not None and old is not None:
            new = translator.select(mask, new, old, dtype)
        new = self.broadcast(typed(new, dtype), kept)
        code = self._arranged(new, order, view, whole, shape)
        if whole:
            scope.fills.pop(buffer, None)
            scope.line(f"{name} = {code}")
            scope.defined.add(buffer)
        else:
            self.f.settle(buffer, scope)
            self._store_slice(name, view, shape, code)
        self.note("assignment" if whole else "slice")

    def _blocks_full(self, g: Group) -> bool:
        return all(a.extent.equals(n) for a, n in zip(g.axes[1:], g.blocks, strict=True))

    def _arranged(
        self, value: Value, order: list[Axis], view: list[Group], whole: bool, shape: Sequence[Linear]
    ) -> str:
        """Source of a value with its dimensions in the order and shape of the target."""
        code = value.code
        if list(value.axes) != order and order:
            code = f"{value.at(POSTFIX)}.transpose({', '.join(str(value.axes.index(a)) for a in order)})"
            value = Value(code, tuple(order), POSTFIX)
        flips = ["::-1" if f else ":" for g in view for f in g.flipped]
        if "::-1" in flips:
            value = Value(f"{value.at(POSTFIX)}[{', '.join(flips)}]", value.axes, POSTFIX)
        if whole and shape and any(len(g.axes) != 1 or g.dims > 1 for g in view):
            value = Value(f"{value.at(POSTFIX)}.reshape({', '.join(map(self.f.size, shape))})", value.axes, POSTFIX)
        return value.code

    def _store_slice(self, name: str, view: list[Group], shape: Sequence[Linear], code: str) -> None:
        merged = any(g.dims > 1 for g in view)
        base = f"{name}.reshape({', '.join(self.f.size(g.size) for g in view)})" if merged else name
        marks = [self._mark(g, 0, 0) for g in view]
        if any(len(g.axes) > 1 for g in view):
            sizes = ", ".join(
                self.f.size(n) for g in view if g.axes for n in ([g.axes[0].extent * (g.coefs[0] // g.step)])
            )
            code = f"({code}).reshape({sizes})"
        stored = f"{base}.at[{', '.join(marks)}].set({code})"
        self.scope.line(
            f"{name} = {stored}.reshape({', '.join(map(self.f.size, shape))})" if merged else f"{name} = {stored}"
        )

    def scatter(self, places: Sequence[Expr], value: Value, op: str | None) -> None:
        """Store element by element; masked-out ones go out of bounds, where they are dropped."""
        buffer, scope = self.store.buffer, self.scope
        self.f.settle(buffer, scope)
        name, dtype = self.f.name(buffer), buffer.dtype
        mask = self.mask()
        values = [typed(self.translate(e), e.dtype) for e in places]
        translator = self.translator()
        if mask is not None and values:
            outside = Value(self.f.size(self.f.shape(buffer)[0]), static=True, weak=True)
            values[0] = translator.select(mask, values[0], outside, places[0].dtype)
        for k, place in enumerate(places):
            if has_loads(place):
                size = Value(self.f.size(self.f.shape(buffer)[k]), static=True, weak=True)
                below = translator.binary("lt", values[k], Value("0", static=True, weak=True), place.dtype)
                values[k] = translator.select(below, size, values[k], place.dtype)
        axes = union(self.axes, value.axes, *(v.axes for v in values))
        if op is not None and union(self.axes, *(v.axes for v in values)) != tuple(self.axes):
            axes = tuple(self.axes)
            value = self.broadcast(typed(value, dtype), axes)  # every iteration counts
            if values:
                values[0] = self.broadcast(values[0], axes)
        value = aligned(value, axes) if places else typed(value, dtype)
        indices = ", ".join(aligned(v, axes).code for v in values)
        if op == "sub":
            value = Value(f"-{value.at(POSTFIX)}", value.axes)
        method = "set" if op is None else _SCATTER[op]
        if not places:
            new = value if op is None else translator.binary("add" if op == "sub" else op, Value(name), value, dtype)
            new = new if mask is None else translator.select(mask, new, Value(name), dtype)
            scope.line(f"{name} = {new.code}")
        else:
            scope.line(f'{name} = {name}.at[{indices}].{method}({value.code}, mode="drop")')
        self.note("scatter" if self.axes else "element")

    def note(self, form: str) -> None:
        if self.axes:
            over = ", ".join(a.var.name for a in self.axes)
            self.f.report.append(f"store to {self.store.buffer.name} over {over}: array form, by {form}")


def _within(loop: Loop, box: Box) -> list[Expr]:
    """Guards that keep an iteration of the box inside the loop's own bounds."""
    zero = isinstance(loop.start, Const) and loop.start.value == 0
    stop = loop.extent if zero else loop.start + loop.extent
    below = [] if linear(loop.start).equals(box.low) else [loop.var >= loop.start]
    return [*below, loop.var < stop]


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def narrowed(axis: Axis, guard: Expr) -> Axis | None:
    """The axis without the iterations that a guard `var < constant` and the like excludes; None for other guards."""
    match guard:
        case Binary(op=op, lhs=Var() as var, rhs=Const(value=value)) if op in _MIRRORED and var == axis.var:
            pass
        case Binary(op=op, lhs=Const(value=value), rhs=Var() as var) if op in _MIRRORED and var == axis.var:
            op = _MIRRORED[op]
        case _:
            return None
    if not (axis.low.is_const and axis.extent.is_const):
        return None
    low, stop, bound = axis.low.const, axis.low.const + axis.extent.const, int(value)
    match op:
        case "lt":
            stop = min(stop, bound)
        case "le":
            stop = min(stop, bound + 1)
        case "gt":
            low = max(low, bound + 1)
        case "ge":
            low = max(low, bound)
        case _:
            low, stop = max(low, bound), min(stop, bound + 1)
    return Axis(axis.var, number(low), number(max(stop - low, 0)))


def _factors(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "mul":
        yield from _factors(expr.lhs)
        yield from _factors(expr.rhs)
    else:
        yield expr
