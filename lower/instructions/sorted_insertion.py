"""Loops that insert each of many values into a few kept in order: the best two, the nearest three, lists of hits.

Only the best of the values, as many as are kept, can stay there, so the loop is run for these alone, in their order.
What it does with them is what it does anyway, whatever it is written as: shifts, exchanges, minima and maxima, and what
is kept beside the values. Where what is kept is not in order before, nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, common_loops
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.traverse import free_vars, loads, map_expr, substitute_expr
from lower.analysis.freedoms import NUMBERS, Form
from lower.analysis.linear_forms import number
from lower.instructions.argmax import open_bounds, positions
from lower.instructions.order_types import Insertion, insertion_of
from lower.nest.nodes import Box, Fresh, Pick, array_over, loop_over
from lower.nest.normalize import mapped, moved

INSERTIONS = Form(
    "instructions.sorted_insertion",
    "for i: insert(e(i), best[k])  =  at = top_k(e); for r in k: insert(e(at[r]), best[k])",
    "of many values that are inserted into a few in order, all but the best leave these as they are",
    NUMBERS,
)
# XLA:CPU has an operation for float32 alone, and only while nothing takes its result apart: else all is sorted.
LARGEST = '''
def places_of_largest(x, k):
    """The k positions along the last axis where x is largest, in this order; of equal ones the first are first."""
    x = jnp.where(x == 0, 0, x.astype(jnp.float32))  # zeros are equal, whatever their sign is
    return lax.optimization_barrier(lax.top_k(x, k)[1])
'''
IN_PASSES = '''
def places_in_passes(x, k):
    """The k positions along the last axis where x is largest, in this order; of equal ones the first are first."""
    at, left, found = jnp.arange(x.shape[-1], dtype=jnp.int32), jnp.ones(x.shape, bool), []
    least = jnp.iinfo(x.dtype).min if jnp.issubdtype(x.dtype, jnp.integer) else -jnp.inf
    for _ in range(k):
        best = jnp.max(x, axis=-1, keepdims=True, where=left, initial=least)
        found.append(jnp.min(jnp.where(left & (x == best), at, x.shape[-1] - 1), axis=-1, keepdims=True))
        left &= at != found[-1]
    return jnp.concatenate(found, axis=-1)
'''
LAST_FIRST = '''
def last_first(places, x, k):
    """What a function that finds the largest of x does, but that of equal ones the last are first."""
    return x.shape[-1] - 1 - places(x[..., ::-1], k)
'''
_EXACT = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT16, DType.UINT16, DType.INT8, DType.UINT8)


def as_floats(dtype: DType) -> bool:
    """Whether float32 holds all values of a dtype."""
    return dtype in _EXACT


class Inserted(Struct, frozen=True):
    """Statements in place of loops: `first` store what locals hold in every iteration to `arrays`, `where` stores to
    another one which iterations are the best, and `then` is an iteration for each of these, with other `locals`."""

    first: list[Statement]
    where: Statement
    pick: Pick
    then: list[Statement]
    arrays: list[Buffer]
    locals: dict[Buffer, Buffer]


def insertions(
    group: Sequence[Statement],
    level: int,
    pending: Collection[Loop],
    boxes: dict[Loop, Box],
    depth: Mapping[Buffer, int],
    others: Sequence[Statement],
    new: Fresh,
) -> Inserted | None:
    """Statements that do what the loops of a `group` from a level on do; None if they do not insert values.

    `pending` loops around them are axes, of which arrays have a dimension each. `others` are the statements of the
    program outside of the group; `depth` is how many loops have a copy of each local.
    """
    group = sorted(group, key=lambda s: s.position)
    loops = group[0].loops[level : min(common_loops(group[0], s) for s in group)]
    own = [b for b in map(boxes.get, loops) if b is not None and b.extent.is_const and b.extent.const > 0]
    if not loops or len(own) < len(loops) or any(o.var.dtype is not DType.INT32 for o in loops):
        return None
    changed = {s.buffer for s in group}
    state = {b for b in changed if depth.get(b, 0) <= level}
    count = next((k for k, s in enumerate(group) if any(r.buffer in state for r in s.reads())), len(group))
    before, step = group[:count], group[count:]
    inner = level + len(loops)
    if not step or any(s.tile is not None for s in step) or any(s.buffer in state for s in before):
        return None
    if any(depth.get(b, 0) < inner for s in step for b in s.buffers() if b in changed - state):
        return None
    bounds = [bound for pair in zip(loops, own, strict=True) for bound in open_bounds(*pair)]
    if any(load.buffer in changed for b in bounds for load in loads(b)):
        return None
    rows = [(o, boxes[o]) for o in group[0].loops[:level] if o in pending]
    outer = array_over([o for o, _ in rows], [b for _, b in rows])
    found = insertion_of(step, inner, state, frozenset(o.var for o in loops))
    if found is None or not _begins_in_order(found, group, others, depth):
        return None
    if found.last and found.value.dtype.is_integer and (found.conditions or bounds):
        return None  # what is left out counts as the worst number, which an integer may be
    return _as_top(found, _Parts((before, step), state, loops, own, outer, new), bounds, boxes)


def _as_top(found: Insertion, parts: _Parts, bounds: Sequence[Expr], boxes: dict[Loop, Box]) -> Inserted | None:
    """The best iterations, and what is done in each of them: of equal values, in their own order."""
    value, *conditions = map(parts.recorded, (found.value, *found.conditions))
    if any(load.buffer in parts.locals for e in (value, *conditions) for load in loads(e)):
        return None
    new, loops = parts.new, parts.loops
    count = min(len(found.keys), prod(b.extent.const for b in parts.boxes))
    shape, place = parts.outer
    at = Buffer(new.name(f"{loops[-1].var.name}_best"), (*shape, const(count, DType.INT32)), DType.INT32, "local")
    box = Box(number(0), number(count), exact=True)
    rank, turn = (loop_over(Var(new.name("rank"), DType.INT32), box, boxes) for _ in range(2))
    pick = Pick(tuple(loops), found.op, found.last, value, (*conditions, *bounds), rank)
    around = parts.around
    where = Statement(new.position(), (*around, rank, *loops), (), Store(at, (*place, rank.var), value))
    behind = Binary("sub", const(count - 1, DType.INT32), turn.var) if found.last else turn.var
    there = dict(positions(loops, parts.boxes, Load(at, (*place, behind))))
    then = parts.again((*around, turn), bounds, there)
    if then is None:
        return None
    return Inserted(parts.first, where, pick, then, [at, *parts.arrays.values()], parts.locals)


class _Parts:
    """Iterations in two parts: what reads nothing of what other ones leave, and the rest. The first hands on what it
    makes in `arrays`; in place of the loops, the rest has `locals` of its own."""

    def __init__(
        self,
        group: tuple[Sequence[Statement], Sequence[Statement]],
        state: Collection[Buffer],
        loops: Sequence[Loop],
        boxes: Sequence[Box],
        outer: tuple[tuple[Expr, ...], tuple[Expr, ...]],
        new: Fresh,
    ) -> None:
        before, self.step = group
        self.loops, self.boxes, self.new = loops, boxes, new
        self.around = self.step[0].loops[: self.step[0].loops.index(loops[0])]
        self.outer = outer  # the extents of axes around, and where the present iteration is
        shape, place = array_over(loops, boxes)
        shape, self.place = (*outer[0], *shape), (*outer[1], *place)
        read, handed = {r.buffer for s in self.step for r in s.reads()}, {s.buffer for s in before}
        self.arrays = {
            b: replace(b, name=new.name(b.name), shape=(*shape, *b.shape), scope="local")
            for b in sorted(handed & read, key=lambda b: b.name)
        }
        own = {s.buffer for s in self.step}.difference(state)
        self.locals = {b: replace(b, name=new.name(b.name)) for b in sorted(own, key=lambda b: b.name)}
        self.first = list(before)
        for b, array in self.arrays.items():
            self.first = [moved(s, b, array, self.place) for s in self.first]

    def recorded(self, expr: Expr) -> Expr:
        """A value of the first part at each iteration, as what is kept of it."""
        return map_expr(expr, self._kept)

    def _kept(self, e: Expr) -> Expr:
        """An element of a local of the first part, as what is kept of it; other expressions as they are."""
        if not isinstance(e, Load) or e.buffer not in self.arrays:
            return e
        return Load(self.arrays[e.buffer], (*self.place, *e.indices))

    def again(
        self, loops: tuple[Loop, ...], bounds: Sequence[Expr], there: Mapping[Var, Expr]
    ) -> list[Statement] | None:
        """The rest for iterations that are somewhere else, in other loops; None if an element of a local is handed on
        that is not known."""
        handed = list[Statement]()
        for b, array in self.arrays.items():
            if b in self.locals:
                if b.shape:
                    return None
                value = substitute_expr(Load(array, self.place), there)
                handed.append(Statement(self.new.position(), loops, (), Store(self.locals[b], (), value)))

        def one(e: Expr) -> Expr:
            if isinstance(e, Load) and e.buffer in self.locals:
                return Load(self.locals[e.buffer], e.indices)
            return self._kept(e)

        def here(e: Expr) -> Expr:
            return substitute_expr(map_expr(e, one), there)

        guards, inner = tuple(substitute_expr(b, there) for b in bounds), len(self.around) + len(self.loops)
        for s in self.step:
            changed = mapped(s, here)
            store = replace(changed.store, buffer=self.locals.get(s.buffer, s.buffer))
            asked = (*guards, *changed.guards)
            handed.append(
                replace(
                    changed,
                    position=self.new.position(),
                    loops=(*loops, *s.loops[inner:]),
                    guards=asked,
                    store=store,
                )
            )
        return handed


def _begins_in_order(
    found: Insertion, group: Sequence[Statement], others: Sequence[Statement], depth: Mapping[Buffer, int]
) -> bool:
    """Whether what is kept is in order before each run of the loops: nothing else stores there but, before each of
    them, numbers in order."""
    starts, around = list[Const](), set[int]()
    for place in found.keys:
        writers = [s for s in others if s.buffer == place.buffer and not _are_other_numbers(s, place)]
        if len(writers) != 1 or not _fills(writers[0], place, group, depth):
            return False
        value = writers[0].store.value
        if not isinstance(value, Const):
            return False
        starts.append(value)
        around.add(common_loops(writers[0], group[0]))
    pairs = list(pairwise(s.value for s in starts))
    return len(around) == 1 and all(a >= b if found.op == "max" else a <= b for a, b in pairs)


def _are_other_numbers(s: Statement, place: Load) -> bool:
    """Whether a statement stores elsewhere, whatever its loops are: some index is another number."""
    pairs = zip(s.store.indices, place.indices, strict=True)
    return any(isinstance(a, Const) and isinstance(b, Const) and a.value != b.value for a, b in pairs)


def _fills(s: Statement, place: Load, group: Sequence[Statement], depth: Mapping[Buffer, int]) -> bool:
    """Whether a statement before a group, in the same iteration of all loops that they share, stores to an element in
    any case."""
    shared = common_loops(s, group[0])
    if s.guards or s.update is not None or s.tile is not None or s.position > group[0].position:
        return False
    own, outer = s.loops[shared:], {o.var for o in s.loops[:shared]}
    sizes = {o.var: (o.start, o.extent) for o in own}
    if depth.get(s.buffer, 0) > shared or not all(_counts(*bounds) for bounds in sizes.values()):
        return False
    used = list[Var]()
    ranges = {o.var: (o.start, o.extent) for o in group[0].loops[shared:]}
    for stored, index in zip(s.store.indices, place.indices, strict=True):
        if isinstance(stored, Var) and stored in sizes and stored not in used:
            used.append(stored)
            bounds = sizes[stored]
            if isinstance(index, Const) and _within(index, bounds):
                continue
            if isinstance(index, Var) and index in ranges and _covers(bounds, ranges[index]):
                continue
            return False
        if not stored.same(index) or not free_vars(stored) <= outer:
            return False
    return True


def _counts(start: Expr, extent: Expr) -> bool:
    """Whether a loop runs a number of times that is known, and not never."""
    return isinstance(start, Const) and isinstance(extent, Const) and extent.value > 0


def _within(index: Const, bounds: tuple[Expr, Expr]) -> bool:
    start, extent = bounds
    return isinstance(start, Const) and isinstance(extent, Const) and 0 <= index.value - start.value < extent.value


def _covers(bounds: tuple[Expr, Expr], others: tuple[Expr, Expr]) -> bool:
    """Whether a loop goes through all that another one does."""
    (start, extent), (low, count) = bounds, others
    ends = [e.value for e in (start, extent, low, count) if isinstance(e, Const)]
    return len(ends) == 4 and ends[0] <= ends[2] and ends[2] + ends[3] <= ends[0] + ends[1]
