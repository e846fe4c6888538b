"""Loops whose steps wait for others only if these are some steps before, as echoes of a signal do for their delay.

`X[t] = f(X[t - d])` may take d steps at once: the loop is strip-mined by the least distance of its dependences, and the
inner loop is an axis (Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.9).

Where steps use the elements of a buffer in turn, `B[t % n]`, each waits for the last one for its place alone: with an
element for each step (scalar expansion, section 5.3 there) the distances show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, relations
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.presburger import sets as presburger
from ir.traverse import free_vars, map_expr, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, apart, atom, linear, residue, to_expr
from lower.nest.nodes import Box, Fresh, array_over, loop_over, loops_over
from lower.nest.normalize import mapped, read_by_bounds

INDEPENDENT_STEPS = Form(
    "structure.independent_steps",
    "for t in n: X[t] = f(X[t - d])  =  for b in n / d: for r in d, at once: X[d * b + r] = f(X[d * b + r - d])",
    "no step waits for one of the d - 1 before it",
)

CIRCULAR_BUFFERS = Form(
    "structure.circular_buffers",
    "for t: B[t % n] = f(B[t % n])  =  for t: C[t + n] = f(C[t])",
    "what a step finds is what the step n before it left",
)

LEAST = 8  # steps at once that are worth it


def width_of_strips(group: Sequence[Statement], level: int, boxes: Mapping[Loop, Box]) -> int | None:
    """How many steps of a group's loop at a level may not wait for each other, by its linear places; None if few."""
    loop = group[0].loops[level]
    box = boxes.get(loop)
    inner = {o for s in group for o in s.loops[level + 1 :]}
    if box is None or not box.is_known:
        return None
    if any(loop.var in free_vars(o.start, o.extent) for o in inner):
        return None
    width = _least_distance(group, loop.var)
    return width if width is not None and LEAST <= width < box.extent.const else None


def in_strips_of(
    width: int, group: Sequence[Statement], level: int, boxes: dict[Loop, Box], new: Fresh
) -> list[Statement] | None:
    """A group over a loop through strips of so many steps, and one through a strip; None if some of these wait."""
    var = group[0].loops[level].var
    if not presburger.within_budget(lambda: _apart(group, level, var, width), False):
        return None
    return _strips(group, level, boxes, width, new)


def _least_distance(group: Sequence[Statement], var: Var) -> int | None:
    """The least number of steps from a store to a read of the same element, as far as places are linear."""
    found: set[int] = set()
    for writer in group:
        reads = [load for s in group for load in s.reads() if load.buffer == writer.buffer]
        for load in reads:
            for a, b in zip(map(linear, writer.store.indices), map(linear, load.indices), strict=True):
                rate, apart = a.slope(var), a - b
                if rate and rate == b.slope(var) and apart.is_const and apart.const % rate == 0:
                    found.add(abs(apart.const // rate))
    return min(found - {0}, default=None)


def _apart(group: Sequence[Statement], level: int, var: Var, width: int) -> bool:
    """Whether no step waits for one that is fewer than `width` steps away."""
    order = relations(group, level)
    x, y = presburger.symbol(var.name), presburger.symbol(var.name + "'")
    near = x.lt_set(y).intersect(y.lt_set(x.add(presburger.number(width))))
    return order is not None and all(r.pairs.intersect(near).is_empty() for r in order)


def _strips(group: Sequence[Statement], level: int, boxes: dict[Loop, Box], width: int, new: Fresh) -> list[Statement]:
    """The statements in the first strip, which conditions often tell from others, in whole ones, and in the rest."""
    loop, dtype = group[0].loops[level], group[0].loops[level].var.dtype
    low, (count, rest) = boxes[loop].low, divmod(boxes[loop].extent.const, width)

    def over(name: str, extent: int) -> Loop:
        return loop_over(Var(new.name(name), dtype), Box(Linear({}), Linear({}, extent), True), boxes)

    def at(loops: Sequence[Loop], first: Linear) -> list[Statement]:
        place: Mapping[Var, Expr] = {loop.var: to_expr(first + low + atom(loops[-1].var), loop.var)}
        moved = [mapped(s, lambda e: substitute_expr(e, place)) for s in group]
        return [
            replace(s, position=new.position(), loops=(*s.loops[:level], *loops, *s.loops[level + 1 :])) for s in moved
        ]

    first = at([over(loop.var.name, width)], Linear({}))
    strip, step = over(f"{loop.var.name}_strip", count - 1), over(loop.var.name, width)
    whole = at([strip, step], Linear({strip.var: width}, width)) if count > 1 else []
    left = at([over(loop.var.name, rest)], Linear({}, count * width)) if rest else []
    return [*first, *whole, *left]


class Unwound(Struct, frozen=True):
    """Statements of a loop with an array that has an element for each step in place of a circular buffer; what fills
    the elements of the steps before the first, and the buffer after the last."""

    statements: list[Statement]
    array: Buffer
    first: Statement
    last: Statement


def unwound(
    group: Sequence[Statement], level: int, pending: Collection[Loop], boxes: dict[Loop, Box], new: Fresh
) -> list[Unwound]:
    """A group without its circular buffers, one after the other."""
    box, found = boxes.get(group[0].loops[level]), list[Unwound]()
    if box is None or not box.is_known:
        return []
    fixed = read_by_bounds(group)
    for buffer in sorted({s.buffer for s in group} - fixed, key=lambda b: b.name):
        ring = _Ring.of(buffer, found[-1].statements if found else group, level)
        if ring is not None:
            found.append(ring.unwound([o for o in group[0].loops[:level] if o in pending], boxes, new))
    return found


class _Ring(Struct, frozen=True):
    """A circular buffer: in step t of a loop one statement stores to `(t + offset) % size` in a dimension, and all look
    at such places, at the same ones in the other dimensions."""

    group: Sequence[Statement]
    level: int
    writer: Statement
    dimension: int
    size: int
    offset: int

    @staticmethod
    def of(buffer: Buffer, group: Sequence[Statement], level: int) -> _Ring | None:
        """A buffer as a circular one, if it is."""
        writers = [s for s in group if s.buffer == buffer]
        writer, place = writers[0], writers[0].store.indices
        var = writer.loops[level].var
        around = [d for d, i in enumerate(place) if _turn(i, var, buffer.shape[d]) is not None]
        inner = writer.loops[level + 1 :]
        if len(writers) > 1 or len(around) != 1 or writer.guards or writer.tile is not None:
            return None
        (d,) = around
        size, offset = buffer.shape[d], _turn(place[d], var, buffer.shape[d])
        others = (*place[:d], *place[d + 1 :])
        if var in free_vars(*others, *(e for o in inner for e in (o.start, o.extent))):
            return None
        if not (isinstance(size, Const) and offset is not None and apart(others, {o.var for o in inner})):
            return None
        ring = _Ring(group, level, writer, d, int(size.value), offset)
        found = all(ring.steps_back(i, late=False) is not None for s in group for i in s.places(buffer))
        return ring if found else None

    def steps_back(self, indices: Sequence[Expr], *, late: bool) -> int | None:
        """How many steps ago an element was stored that is looked at, `late` after the store of the same step."""
        d, place = self.dimension, self.writer.store.indices
        turn = _turn(indices[d], self.writer.loops[self.level].var, self.writer.buffer.shape[d])
        if turn is None or not all(k == d or a.same(b) for k, (a, b) in enumerate(zip(indices, place, strict=True))):
            return None
        back = (self.offset - turn) % self.size
        return back if back or late else self.size

    def unwound(self, pending: Sequence[Loop], boxes: dict[Loop, Box], new: Fresh) -> Unwound:
        """The statements with an array with an element for each step."""
        buffer, loop, d = self.writer.buffer, self.writer.loops[self.level], self.dimension
        box, place = boxes[loop], self.writer.store.indices
        inner = {o.var for o in self.writer.loops[self.level + 1 :]}
        kept = [k for k, i in enumerate(place) if free_vars(i) & inner]
        shape, lanes = array_over(pending, [boxes[o] for o in pending])
        steps = to_expr(box.extent + self.size, loop.var)
        array = replace(
            buffer, name=new.name(buffer.name), shape=(*shape, steps, *(buffer.shape[k] for k in kept)), scope="local"
        )

        def at(step: Linear, indices: Sequence[Expr]) -> tuple[Expr, ...]:
            return (*lanes, to_expr(step, loop.var), *(indices[k] for k in kept))

        def seen(s: Statement, expr: Expr) -> Expr:
            if not isinstance(expr, Load) or expr.buffer != buffer:
                return expr
            back = self.steps_back(expr.indices, late=s.position > self.writer.position)
            assert back is not None
            return Load(array, at(atom(loop.var) - box.low + (self.size - back), expr.indices), expr.span)

        statements = [mapped(s, lambda e, s=s: map_expr(e, lambda x: seen(s, x))) for s in self.group]
        for k, s in enumerate(statements):
            if s.position == self.writer.position:
                here = at(atom(loop.var) - box.low + self.size, place)
                statements[k] = replace(s, store=Store(array, here, s.store.value, s.store.span), update=None)

        def elements(begin: int) -> tuple[tuple[Loop, ...], tuple[Expr, ...], tuple[Expr, ...]]:
            loops = loops_over(
                replace(buffer, shape=(const(self.size, loop.var.dtype), *(buffer.shape[k] for k in kept))),
                boxes,
                new.name,
            )
            step, rest = loops[0].var, dict(zip(kept, (o.var for o in loops[1:]), strict=True))
            turn = (box.low.const + begin + self.offset) % self.size
            slot: Expr = step
            if turn:
                slot = Binary("floormod", to_expr(atom(step) + turn, step), const(self.size, step.dtype))
            indices = tuple(slot if k == d else rest.get(k, i) for k, i in enumerate(place))
            return (*self.writer.loops[: self.level], *loops), indices, at(atom(step) + (begin + self.size), indices)

        loops, slots, steps_before = elements(-self.size)
        first = Statement(new.position(), loops, (), Store(array, steps_before, Load(buffer, slots)))
        loops, slots, steps_last = elements(box.extent.const - self.size)
        last = Statement(new.position(), loops, (), Store(buffer, slots, Load(array, steps_last)))
        return Unwound(statements, array, first, last)


def _turn(index: Expr, var: Var, size: Expr) -> int | None:
    """The c of an index `(var + c) % size`."""
    found = residue(index, var)
    return found[0] if found is not None and found[1].same(size) else None
