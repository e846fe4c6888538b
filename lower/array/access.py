"""Loads and index lists as JAX code: slices of views where an access is one, gathers where not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations, product
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Buffer, Expr, Var, const
from ir.traverse import free_vars, substitute_expr
from lower.analysis.linear_forms import Bound, Linear, interval, linear, to_expr
from lower.array.borders import ZEROS, Section, insides, sections
from lower.array.integer_facts import Facts
from lower.array.moving_windows import moving_window
from lower.array.values import Translator, Value, aligned, ordered, union
from lower.array.views import Axis, Group, groups, in_blocks, overhang, split_terms
from lower.nest.nodes import Box, extreme
from lower.program.build import ALL, Arg, as_expr, between, call, method, subscript, text, without_trailing
from lower.program.nodes import JaxExpr, Name, Subscript

ZERO = const(0, DType.INT32)
Pads = list[tuple[int, int]]  # by dimension; where negative, so many elements are left out
AxisPads = dict[Var, tuple[int, int]]
DEFAULT_SIZE = 256  # of a dimension whose size is symbolic
# A slice may be padded by this many times its own size before a gather is cheaper.
MAX_PADDING = 2
MAX_STACKED = 16  # slices that are put beside each other


class Bounds:
    """What is known of variables at one place: boxes of axes and loops around, and names that are static.

    Of axes that are `cut` differently in each phase of a loop, bounds are always written out. `facts` know
    what is assumed of sizes and scalars.
    """

    def __init__(
        self,
        boxes: Mapping[Var, Box],
        static: frozenset[Var],
        shape_variables: frozenset[Var],
        cut: frozenset[Var] = frozenset(),
        facts: Facts | None = None,
    ) -> None:
        self.cut = cut
        self.facts = facts
        self.boxes = boxes
        self.static = static
        self.shape_variables = shape_variables

    def ranges(self, var: Var) -> tuple[Bound, Bound]:
        """Constant bounds of a variable."""
        box = self.boxes.get(var)
        if box is None:
            return (0, None) if var in self.shape_variables else (None, None)
        stop = box.low + box.extent
        return box.low.const if box.low.is_const else None, stop.const - 1 if stop.is_const else None

    def linear(self, expr: Expr) -> Linear:
        return linear(expr, self.ranges)

    def at_least(self, form: Linear) -> int | None:
        """A constant that the form never goes below."""
        low = extreme(form, self.boxes, self.static, self.ranges, upper=False)
        found = None if low is None else interval(low, self.ranges)[0]
        return self._promised(form, upper=False) if found is None else found

    def at_most(self, form: Linear) -> int | None:
        """A constant that the form never exceeds."""
        high = extreme(form, self.boxes, self.static, self.ranges, upper=True)
        found = None if high is None else interval(high, self.ranges)[1]
        return self._promised(form, upper=True) if found is None else found

    def within(self, form: Linear, size: Linear) -> bool:
        """Whether a form surely is a position of so many."""
        low, high = self.at_least(form), self.at_most(form - size)
        return low is not None and low >= 0 and high is not None and high < 0

    def _promised(self, form: Linear, *, upper: bool) -> int | None:
        """What assumptions on sizes and scalars say of the end of a form."""
        if self.facts is None:
            return None
        others = frozenset(v for term in form.terms for v in free_vars(term) if v not in self.boxes)
        end = extreme(form, self.boxes, self.static | others, self.ranges, upper=upper)
        return None if end is None or end.has_loads() else self.facts.of_sizes(to_expr(end, ZERO))[upper]

    def with_axes(self, axes: Sequence[Axis]) -> Bounds:
        """The same with array axes added."""
        added = {a.var: Box(a.low, a.extent, exact=True) for a in axes}
        return Bounds({**self.boxes, **added}, self.static, self.shape_variables, self.cut, self.facts)


class Bordered(Struct, frozen=True):
    """An access that is kept inside of an array, which is `code`, as a view that leaves it by `pads`; `mode` says what
    is found there."""

    code: JaxExpr
    view: list[Group]
    pads: Pads
    mode: str


class Accessor:
    """Writes accesses to buffers over the axes of one statement."""

    def __init__(self, order: Sequence[Axis], bounds: Bounds, translator: Translator) -> None:
        self.order = tuple(order)
        self.bounds = bounds
        self.translator = translator
        # What to pad each buffer by for all accesses, by its source and mode, and how often it is read.
        self.widths: dict[tuple[JaxExpr, str], Pads] = {}
        self.reads: dict[tuple[JaxExpr, str], int] = {}
        self.taps = frozenset[Var]()  # axes whose positions are going to be written one by one
        self.alone: set[JaxExpr] = set()  # buffers of which each read is padded by itself, by their code
        self.fill: JaxExpr | None = None  # what stands outside of buffers, where that is not zero
        self.named: Callable[[str, JaxExpr, int, Sequence[float]], JaxExpr] = lambda name, code, reads, extents: code
        self.proves: Callable[[Expr], bool] = lambda integer: False  # whether an integer is never below zero

    def view(self, shape: Sequence[Linear], indices: Sequence[Expr]) -> list[Group] | None:
        """The access as a view whose leaving of the buffer is known, or None."""
        return find_view(shape, indices, self.order, self.bounds)

    def size(self, form: Linear) -> JaxExpr:
        """A static number: a Python number while tracing, of any size."""
        return as_expr(form.const) if form.is_const else self.translator.size(to_expr(form, ZERO))

    def length(self, extent: Linear) -> JaxExpr:
        """How many elements an array has along an axis: none where its extent is below zero."""
        least = self.bounds.at_least(extent)
        sure = (least is not None and least >= 0) or not self.is_static(extent)
        return self.size(extent) if sure else call("max", self.size(extent), 0)

    def load(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Value:
        """`name[indices]` as an array over the axes that the indices use."""
        if not shape:
            return Value(Name(name))
        view = self.view(shape, indices)
        value = None if view is None else self._slice(name, view)
        if value is None:
            value = self._clamped(name, shape, indices)
        if value is None and view is not None:
            value = self._shifted(name, view)
        return self.gather(name, shape, indices) if value is None else value

    def _clamped(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Value | None:
        """A slice of the buffer with borders repeated, where `max(., 0)` and `min(., n-1)` keep indices inside, or with
        its other end beyond them, where `% n` does."""
        found = self.borders(name, shape, indices)
        if found is None:
            return None
        mode = found.mode
        code, view, own = self.narrowed(found.code, found.view, found.pads)
        pads = self._padding((code, mode), own)
        marks: list[JaxExpr] = []
        for g, pad in zip(view, pads, strict=True):
            start, size = g.start + pad[0], g.size + pad[0] + pad[1]
            if g.axes and not self.is_static(start):
                return None
            marks.append(self.mark(g, start, size))
        return self._split(indexed(self._wide(name, code, pads, mode, view), marks), view)

    def _shifted(self, name: str, view: Sequence[Group]) -> Value | None:
        """A slice that begins where data say, the same for all positions; what is beyond the buffer nobody reads.

        It is padded by as much as it takes on both sides, so that every begin is inside: more elements are moved than a
        gather takes, but in a row.
        """
        plain = all(g.dims == 1 and len(g.axes) < 2 and g.step == 1 for g in view)
        moved = [g for g in view if g.axes and g.start.has_loads()]
        if not (plain and moved) or any(not (g.axes or self.inside(g)) for g in view):
            return None
        if not all(g.size.is_const and g.span.is_const and g.size.const <= MAX_PADDING * g.span.const for g in moved):
            return None
        marks: list[JaxExpr] = []
        for g in view:
            if g in moved:
                marks.append(ALL)
            elif g.axes and (
                not self.is_static(g.start) or overhang(g, self.bounds.at_least, self.bounds.at_most) != (0, 0)
            ):
                return None
            else:
                marks.append(self.mark(g, g.start, g.size))
        kept = [g for g in view if g.axes]
        widths: list[Arg] = [(self.length(g.span), self.length(g.span)) if g in moved else (0, 0) for g in kept]
        code: JaxExpr = call("jnp.pad", indexed(Name(name), marks), tuple(widths))
        for d, g in enumerate(kept):
            if g in moved:
                start = self.size(g.start + g.span)
                code = call("lax.dynamic_slice_in_dim", code, start, self.length(g.span), d)
        return ordered(_reversed(code, view), [g.axes[0] for g in kept], self.order)

    def _wide(self, name: str, code: JaxExpr, pads: Pads, mode: str, view: Sequence[Group]) -> JaxExpr:
        """A padded buffer; it is named where several accesses read it."""
        widths = [(max(low, 0), max(high, 0)) for low, high in pads]
        if not _leaves(widths):
            return self._cropped(code, pads, view)
        whole = self._pad(self._cropped(code, pads, view), widths, mode)
        reads = self.reads.get((code, mode), 1)
        extents = [float(g.size.about(DEFAULT_SIZE)) for g in view]
        return whole if reads < 2 and mode == ZEROS else self.named(name, whole, reads, extents)

    def _pad(self, code: JaxExpr, widths: Pads, mode: str) -> JaxExpr:
        options: dict[str, Arg] = {} if self.fill is None else {"constant_values": self.fill}
        return call("jnp.pad", code, tuple(widths), **(options if mode == ZEROS else {"mode": text(mode)}))

    def survey(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr], times: int) -> None:
        """Take note of an access that is going to be written `times` times, so that its buffer is padded once."""
        found = self.borders(name, shape, indices)
        if found is not None:
            code, _, pads = self.narrowed(found.code, found.view, found.pads)
            self._note_width((code, found.mode), pads, times)
            return
        leaving = self.leaving(shape, indices)
        if leaving is not None:
            code, _, pads = self.narrowed(self.merged(name, leaving[0]), *leaving)
            self._note_width((code, ZEROS), pads, times)

    def leaving(self, shape: Sequence[Linear], indices: Sequence[Expr]) -> tuple[list[Group], Pads] | None:
        """An access as a view that leaves its buffer, and by how much; None where it is none or does not."""
        view = self.view(shape, indices)
        pads = None if view is None else self._overhangs(view)
        return None if view is None or pads is None or not _leaves(pads) else (view, pads)

    def narrowed(self, code: JaxExpr, view: Sequence[Group], pads: Pads) -> tuple[JaxExpr, Sequence[Group], Pads]:
        """A buffer without the dimensions of which a view has one position, a number or known as it runs: what is
        padded of a history in each step is a row. Others are those of taps that are written by a loop. Nobody reads of
        a position outside, which may be any."""
        points = [
            not g.axes
            and not g.start.has_loads()
            and (not self.is_static(g.start) or (g.start.is_const and self.inside(g)))
            for g in view
        ]
        marks = [self.size(g.start) if point else ALL for g, point in zip(view, points, strict=True)]
        kept = [k for k, point in enumerate(points) if not point]
        return (
            (indexed(code, marks), [view[k] for k in kept], [pads[k] for k in kept])
            if any(points)
            else (code, view, pads)
        )

    def separable(self, view: Sequence[Group], pads: Pads) -> bool:
        """Whether a view is part of its buffer with just these pads around it, at places known while tracing."""
        for g, (low, high) in zip(view, pads, strict=True):
            stop = g.start + g.span
            exact = (not low or g.start.equals(-low)) and (not high or (stop - g.size).equals(high))
            if not exact or not self.is_static(g.start) or any(a.var in self.bounds.cut for a in g.axes):
                return False
            first, last = self.bounds.at_least(stop), self.bounds.at_most(g.start - g.size)
            if first is None or first < 1 or last is None or last >= 0:  # it may have nothing of the buffer
                return False
        return True

    def unpadded(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> tuple[Value, AxisPads] | None:
        """What an access has of the buffer it leaves, over that part of its axes, and by how much it leaves it along
        each; None where it is no such access."""
        found = self.leaving(shape, indices)
        if found is None or self.borders(name, shape, indices) is not None or not self.separable(*found):
            return None
        view, pads = found
        if any(len(g.axes) > 1 or g.step > 1 for g in view):
            return None
        around = {g.axes[0].var: pad for g, pad in zip(view, pads, strict=True) if g.axes}
        value = self._split(self._part(self.merged(name, view), view, pads), view)
        return replace(value, axes=tuple(_without_ends(a, around[a.var]) for a in value.axes), plain=None), around

    def _padded_part(self, code: JaxExpr, view: Sequence[Group], pads: Pads) -> JaxExpr:
        """The part of a buffer that a view which is `separable` shows, padded by itself."""
        widths = [pad for g, pad in zip(view, pads, strict=True) if g.axes]
        steps = [_every(g.step) for g in view if g.axes]
        return indexed(self._pad(self._part(code, view, pads), widths, ZEROS), steps)

    def _part(self, code: JaxExpr, view: Sequence[Group], pads: Pads) -> JaxExpr:
        """What a view which is `separable` shows of its buffer, with what is between its elements."""
        marks: list[JaxExpr] = []
        for g, (low, high) in zip(view, pads, strict=True):
            first = None if low or g.start.equals(0) else self.size(g.start)
            stop = g.start + g.span
            last = None if high or stop.equals(g.size) else self.size(stop)
            marks.append(between(first, last) if g.axes else self.size(g.start))
        return indexed(code, marks)

    def _padding(self, key: tuple[JaxExpr, str], own: Pads) -> Pads:
        """By how much a buffer is padded for all accesses of which note was taken, or for one that needs more.

        A position of a window may go round by another multiple of the size than the window as a whole.
        """
        known = self.widths.get(key, own)
        covered = all(a >= c and b >= d for (a, b), (c, d) in zip(known, own, strict=True))
        return known if covered else own

    def _note_width(self, key: tuple[JaxExpr, str], pads: Pads, times: int) -> None:
        known = self.widths.get(key, pads)
        self.widths[key] = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(known, pads, strict=True)]
        self.reads[key] = self.reads.get(key, 0) + times

    def _overhangs(self, view: Sequence[Group]) -> Pads | None:
        """By how much each dimension of a view leaves the buffer; None where that is not known, or too much to pad."""
        pads: Pads = []
        for g in view:
            pad = overhang(g, self.bounds.at_least, self.bounds.at_most) if g.axes else (0, 0)
            if pad is None or not self._cheap(pad, g):
                return None
            pads.append(pad)
        return [self._crop(pad, g) for pad, g in zip(pads, view, strict=True)] if _leaves(pads) else pads

    def _crop(self, pad: tuple[int, int], g: Group) -> tuple[int, int]:
        """What a dimension is padded by, without what a view that moves never reads of it.

        In a loop, XLA copies a buffer that it reads and stores to unless it sees that both are at the same places."""
        if not g.axes or not g.size.is_const or self._is_number(g.start):
            return pad
        before, after = self.bounds.at_least(g.start), self.bounds.at_most(g.start + g.span - g.size)
        low, high = pad[0] or -max(before or 0, 0), pad[1] or min(after or 0, 0)
        read = g.size.const + min(low, 0) + min(high, 0)
        return (low, high) if 0 < read < g.size.const else pad

    def borders(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Bordered | None:
        """The view that clamped or wrapped indices are, by how much it leaves the buffer or a section of it, and what
        is found there; None if they are not kept inside so."""
        found = self._bordered(Name(name), shape, indices)
        if found is not None:
            return found
        parts = sections(shape, indices, self.order, self.bounds)
        if parts is None or not all(self.is_static(s.start) and self.is_static(s.size) for s in parts):
            return None
        return self._bordered(self._sections(name, shape, parts), [s.size for s in parts], [s.index for s in parts])

    def _bordered(self, code: JaxExpr, shape: Sequence[Linear], indices: Sequence[Expr]) -> Bordered | None:
        for mode, inside in insides(self.order).items():
            inner = [inside(i, size, self.bounds) for i, size in zip(indices, shape, strict=True)]
            found = self._bordered_view(shape, inner)
            if found is not None:
                return Bordered(code, *found, mode)
        return None

    def _sections(self, name: str, shape: Sequence[Linear], parts: Sequence[Section]) -> JaxExpr:
        marks: list[JaxExpr] = []
        for part, size in zip(parts, shape, strict=True):
            low = None if part.start.equals(0) else self.size(part.start)
            stop = part.start + part.size
            high = None if stop.equals(size) else self.size(stop)
            marks.append(ALL if low is None and high is None else between(low, high))
        return indexed(Name(name), marks)

    def _bordered_view(
        self, shape: Sequence[Linear], inner: Sequence[tuple[Expr, bool, bool]]
    ) -> tuple[list[Group], Pads] | None:
        """The view that indices are, of which some are kept inside at the low or the high end."""
        if not any(low or high for _, low, high in inner):
            return None
        view = self.view(shape, [e for e, _, _ in inner])
        if view is None or any(g.dims > 1 for g in view):
            return None
        pads: Pads = []
        for g, (_, low, high) in zip(view, inner, strict=True):
            pad = overhang(g, self.bounds.at_least, self.bounds.at_most) if g.axes else (0, 0)
            if pad is None or (pad[0] and not low) or (pad[1] and not high) or ((low or high) and not g.axes):
                return None
            if not self._cheap(pad, g):
                return None
            pads.append(pad)
        return view, pads

    def _slice(self, name: str, view: Sequence[Group]) -> Value | None:
        code = self.merged(name, view)
        pads = self._overhangs(view)
        if pads is None or _leaves(pads):
            cut = in_blocks(view)
            left = None if cut is None else self._overhangs(cut)
            if cut is not None and (pads is None or (left is not None and not _leaves(left))):
                return self._slice(name, cut)  # otherwise it is padded as other reads of the buffer are
        if pads is None:
            return None
        if _leaves(pads):
            code, view, pads = self.narrowed(code, view, pads)
            if code in self.alone:
                return self._split(self._padded_part(code, view, pads), view)
            pads = self._padding((code, ZEROS), pads)
            code = self._wide(name, code, pads, ZEROS, view)
        elif self.moves(view):
            return self.window(name, view)
        marks: list[JaxExpr] = []
        for d, (g, pad) in enumerate(zip(view, pads, strict=True)):
            start, size = g.start + pad[0], g.size + pad[0] + pad[1]
            if g.axes and not self.is_static(start):
                code = call("lax.dynamic_slice_in_dim", code, self.size(start), self.length(g.span), d)
                marks.append(_every(g.step))
            else:
                marks.append(self.mark(g, start, size))
        return self._split(indexed(code, marks), view)

    def moves(self, view: Sequence[Group]) -> bool:
        """Whether a view is a window of a buffer that begins at places known only as it runs."""
        plain = all(g.dims == 1 and len(g.axes) < 2 and g.step == 1 and not g.start.has_loads() for g in view)
        return plain and any(g.axes and not self.is_static(g.start) for g in view)

    def window(self, name: str, view: Sequence[Group]) -> Value:
        """The part of a buffer that a view which `moves` shows."""
        starts, spans = tuple(self.size(g.start) for g in view), tuple(self.length(g.span) for g in view)
        code = call("lax.dynamic_slice", name, starts, spans)
        axes = [axis for g in view for axis in g.axes]
        if len(axes) < len(view):
            code = method(code, "reshape", *(self.length(a.extent) for a in axes))
        return ordered(_reversed(code, view), axes, self.order)

    def pads(self, shape: Sequence[Linear], indices: Sequence[Expr]) -> bool:
        """Whether a load is a slice that is padded wherever it leaves the buffer, in any of its dimensions."""
        view = self.view(shape, indices)
        pads = None if view is None else self._overhangs(view)
        if view is None or pads is None:
            return False
        # What leaves a dimension of several that are merged is in the next row; an element alone is not padded.
        split = all(g.dims == 1 and (g.axes or self.inside(g)) for g in view)
        return split and _leaves(pads)

    def inside(self, g: Group) -> bool:
        """Whether one position of a dimension surely is in it."""
        return self.bounds.within(g.start, g.size)

    def _cropped(self, code: JaxExpr, pads: Pads, view: Sequence[Group]) -> JaxExpr:
        """A buffer without what the negative ones of its pads leave out."""
        marks: list[JaxExpr] = []
        for g, (low, high) in zip(view, pads, strict=True):
            marks.append(between(-low if low < 0 else None, self.size(g.size + high) if high < 0 else None))
        return indexed(code, marks)

    def _cheap(self, pad: tuple[int, int], g: Group) -> bool:
        return sum(pad) <= 64 or (g.size.is_const and sum(pad) <= MAX_PADDING * g.size.const)

    def _is_number(self, start: Linear) -> bool:
        """Whether a place is known while tracing: that of a tap is, once its positions are written one by one."""
        return start.vars() <= self.bounds.static | self.taps and not start.has_loads()

    def is_static(self, form: Linear) -> bool:
        """Whether a form is a Python number while tracing."""
        return form.vars() <= self.bounds.static and not form.has_loads()

    def merged(self, name: str, view: Sequence[Group]) -> JaxExpr:
        """The buffer with the dimensions of each group merged."""
        if all(g.dims == 1 for g in view):
            return Name(name)
        return method(name, "reshape", *(self.size(g.size) for g in view))

    def mark(self, g: Group, start: Linear, size: Linear) -> JaxExpr:
        """One position of an index list."""
        if not g.axes:
            return self.size(start)
        stop = start + g.span
        out = any(a.var in self.bounds.cut for a in g.axes)
        low = None if start.equals(0) and not out else self.size(start)
        high = None if stop.equals(size) and not out else self._stop(start, stop, size)
        return between(low, high, g.step if g.step != 1 else None)

    def _stop(self, start: Linear, stop: Linear, size: Linear) -> JaxExpr:
        """Where a slice ends: for sizes that leave it nothing, no number below zero, which would count from the end.

        Below zero, `stop` is harmless if `stop + size <= start`: that is so if the rest of the difference over one or
        two times `stop` is small enough.
        """
        least, rest = self.bounds.at_least(stop), stop + size - start
        over = (self.bounds.at_most(rest - stop * times) for times in (1, 2))
        harmless = (least is not None and least >= 0) or any(
            most is not None and most <= times for times, most in enumerate(over, 1)
        )
        free = harmless or not self.is_static(stop)
        return self.size(stop) if free else call("max", self.size(stop), self.size(start))

    def _split(self, code: JaxExpr, view: Sequence[Group]) -> Value:
        """Give each axis of a group its own dimension, drop slack, turn flipped axes, order as the statement does."""
        axes = [axis for g in view for axis in g.axes]
        sizes: list[JaxExpr] = []
        marks: list[JaxExpr] = []
        for g in view:
            for k, axis in enumerate(g.axes):
                block = None if k == 0 else g.blocks[k - 1]
                sizes.append(self.length(axis.extent) if block is None else as_expr(block))
                whole = block is None or axis.extent.equals(block)
                marks.append(ALL if whole else between(None, self.length(axis.extent)))
        if any(len(g.axes) > 1 for g in view):
            code = indexed(method(code, "reshape", *sizes), marks)
        return ordered(_reversed(code, view), axes, self.order)

    def gather(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Value:
        """Indexing with arrays, and with slices where indices are."""
        rows = (
            self._windows(name, shape, indices)
            or self._stacked(name, shape, indices)
            or self._row_gather(name, shape, indices)
        )
        if rows is not None:
            return rows
        values = [self.translator.expr(i) for i in indices]
        axes = union(self.order, *(v.axes for v in values))
        return Value(gathered(name, [aligned(v, axes).code for v in values]), axes)

    def _windows(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Value | None:
        """Windows that begin where data say, at another place for each position of some axes, and surely lie inside."""
        forms = [self.bounds.linear(i) for i in indices]
        found = None if self.bounds.cut else moving_window(forms, self.order)
        if found is None:
            return None
        for axis, start, size, index in zip(found.axes, found.starts, shape, indices, strict=True):
            if axis is not None and not all(
                self.proves(to_expr(f, index)) for f in (start, size - axis.extent - start)
            ):
                return None
        starts = [self.translator.expr(to_expr(f, i)) for f, i in zip(found.starts, indices, strict=True)]
        shared = union(self.order, *(v.axes for v in starts))
        self.translator.helpers.add("windows_at")
        sizes = tuple(1 if a is None else a.extent.const for a in found.axes)
        single = tuple(d for d, a in enumerate(found.axes) if a is None)
        code = call("windows_at", name, sizes, single, *(aligned(v, shared).code for v in starts))
        return ordered(code, (*shared, *(a for a in found.axes if a is not None)), self.order)

    def _stacked(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Value | None:
        """A slice for each position of short axes, all beside each other: windows that overlap.

        Measured on CPUs: 3 x 3 windows of 28 x 28 elements in 16 planes take 30 us less than by index arrays.
        """
        axes = self._short_axes(shape, indices)
        if not axes:
            return None
        places = product(*(range(a.low.const, a.low.const + a.extent.const) for a in axes))
        parts: list[Value] = []
        for place in places:
            at: dict[Var, Expr] = {a.var: const(k, a.var.dtype) for a, k in zip(axes, place, strict=True)}
            parts.append(self.load(name, shape, [substitute_expr(i, at) for i in indices]))
        rest = parts[0].axes
        if any(p.axes != rest for p in parts):
            return None  # one of them stands for all positions of an axis, as `k * i` does where k is 0
        names = [a.var for a in union(self.order, axes, rest)]
        before = names.index(axes[0].var)
        together = (*rest[:before], *axes, *rest[before:])
        where = {"axis": before} if before else {}
        code: JaxExpr = call("jnp.stack", tuple(p.code for p in parts), **where)
        if len(axes) > 1:
            code = method(code, "reshape", *(self.length(a.extent) for a in together))
        return ordered(code, together, self.order)

    def _short_axes(self, shape: Sequence[Linear], indices: Sequence[Expr]) -> tuple[Axis, ...]:
        """The fewest axes of few positions for each position of which an access is a slice inside of its buffer."""
        used = free_vars(*indices)
        short = [a for a in self.order if a.var in used and a.is_fixed]
        short = [a for a in short if a.extent.const <= MAX_STACKED]
        for axes in chain(combinations(short, 1), combinations(short, 2)):
            in_rows = not free_vars(indices[-1]) <= {a.var for a in axes}  # else each slice is of elements far apart
            if in_rows and prod(a.extent.const for a in axes) <= MAX_STACKED:
                ends = product(*((a.low.const, a.low.const + a.extent.const - 1) for a in axes))
                at = [{a.var: const(k, a.var.dtype) for a, k in zip(axes, place, strict=True)} for place in ends]
                if all(self._is_part(shape, [substitute_expr(i, e) for i in indices]) for e in at):
                    return axes
        return ()

    def _is_part(self, shape: Sequence[Linear], indices: Sequence[Expr]) -> bool:
        """Whether an access is a slice at a place known while tracing that lies inside of its buffer."""
        view = self.view(shape, indices)
        pads = None if view is None else self._overhangs(view)
        inside = pads is not None and not any(n for pad in pads for n in pad)
        return view is not None and inside and all(self.is_static(g.start) and self.is_static(g.span) for g in view)

    def _row_gather(self, name: str, shape: Sequence[Linear], indices: Sequence[Expr]) -> Value | None:
        """Slices where indices run through axes that no other index has; None if there are none."""
        runs = [self._run(size, index) for size, index in zip(shape, indices, strict=True)]
        along = {d: s.axes[0] for d, s in enumerate(runs) if s is not None}
        values = {d: self.translator.expr(i) for d, i in enumerate(indices) if d not in along}
        shared = union(self.order, *(v.axes for v in values.values()))
        names = [a.var for a in (*along.values(), *shared)]
        if not along or not values or len(set(names)) < len(names):
            return None
        marks = [
            self.mark(s, s.start, size) if s is not None else aligned(values[d], shared).code
            for d, (s, size) in enumerate(zip(runs, shape, strict=True))
        ]
        first, last = min(values), max(values)
        apart = last - first >= len(values)  # with a slice in between: their axes come first then
        before = [d for d in along if d < first and not apart]
        after = [d for d in along if d not in before]
        axes = (*(along[d] for d in before), *shared, *(along[d] for d in after))
        return ordered(gathered(name, marks), axes, self.order)

    def _run(self, size: Linear, index: Expr) -> Group | None:
        """The part of a dimension that an index runs through along one axis, without any beyond its ends."""
        if split_terms(self.bounds.linear(index), self.order) is None:
            return None
        view = find_view([size], [index], self.order, self.bounds)
        if view is None or len(view[0].axes) != 1 or view[0].flipped[0]:
            return None
        inside = overhang(view[0], self.bounds.at_least, self.bounds.at_most) == (0, 0)
        return view[0] if inside and self.is_static(view[0].start) else None

    def scatter_index(
        self, shape: Sequence[Linear], indices: Sequence[Expr], mask: Value | None
    ) -> tuple[list[JaxExpr], tuple[Axis, ...]]:
        """Index list of a store and its axes; where `mask` is false: past the end."""
        values = [self.translator.expr(i) for i in indices]
        if mask is not None:
            end = Value(self.size(shape[0]), static=True, weak=True)
            values[0] = self.translator.select(mask, values[0], end, DType.INT32)
        axes = union(self.order, *(v.axes for v in values))
        return [aligned(v, axes).code for v in values], axes


def _leaves(pads: Pads) -> bool:
    """Whether there is anything to pad."""
    return any(p > 0 for pad in pads for p in pad)


def _every(step: int) -> JaxExpr:
    """A whole dimension, in steps."""
    return ALL if step == 1 else between(step=step)


def _reversed(code: JaxExpr, view: Sequence[Group]) -> JaxExpr:
    """An array with the axes reversed that run backward."""
    axes_back = [d for d, flipped in enumerate(f for g in view for f in g.flipped) if flipped]
    return call("jnp.flip", code, axes_back[0] if len(axes_back) == 1 else tuple(axes_back)) if axes_back else code


def _without_ends(axis: Axis, pad: tuple[int, int]) -> Axis:
    """An axis without the positions at its ends that are padding."""
    low, high = pad
    return replace(axis, low=axis.low + low, extent=axis.extent - (low + high)) if low or high else axis


def find_view(
    shape: Sequence[Linear], indices: Sequence[Expr], axes: Sequence[Axis], bounds: Bounds
) -> list[Group] | None:
    """Read an access as a view over `axes`, or None."""
    return groups(shape, [bounds.linear(i) for i in indices], axes)


def unbordered_view(
    shape: Sequence[Linear], indices: Sequence[Expr], axes: Sequence[Axis], bounds: Bounds
) -> list[Group] | None:
    """Read an access as a view, of a buffer that goes on beyond its borders where indices are clamped or wrapped."""
    parts = sections(shape, indices, axes, bounds)
    ways = [(shape, indices), *([] if parts is None else [([s.size for s in parts], [s.index for s in parts])])]
    for sizes, places in ways:
        for inside in insides(axes).values():
            inner = [inside(i, size, bounds) for i, size in zip(places, sizes, strict=True)]
            if any(low or high for _, low, high in inner):
                return find_view(sizes, [e for e, _, _ in inner], axes, bounds)
    return find_view(shape, indices, axes, bounds)


def indexed(code: JaxExpr, marks: Sequence[JaxExpr]) -> JaxExpr:
    """`code[marks]` without trailing whole dimensions."""
    marks = without_trailing(marks)
    return Subscript(code, marks) if marks else code


def gathered(name: str, marks: Sequence[JaxExpr]) -> JaxExpr:
    """Elements at index arrays, which the program keeps inside: no test for negative ones, none for those beyond.

    Where a guard keeps the program from reading, any element does, so what is outside may be clamped.
    """
    part = subscript(f"{name}.at", *without_trailing(marks))
    return method(part, "get", mode=text("clip"), wrap_negative_indices=False)


def buffer_shape(buffer: Buffer, bounds: Bounds) -> list[Linear]:
    """Extents of a buffer in linear form."""
    return [bounds.linear(d) for d in buffer.shape]
