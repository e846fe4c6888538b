"""What locals hold in each iteration of loops, kept in arrays.

Of a local that is written anew in each iteration there is a copy for each, without an index that says so
(`Program.depth`). What moves statements out of such loops needs that index: the values go to an array before. Who asks
what a value depends on must ask `depends_on`, as the variables in it do not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.floats import Floats
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.operators import neutral
from ir.traverse import buffers_read, factors, free_vars, is_const, loads, map_expr, operands_of
from lower.analysis.freedoms import Form
from lower.array.job import update_class
from lower.nest.nodes import Box, Fresh, array_over
from lower.nest.normalize import mapped, moved, read_by_bounds

AHEAD = Form(
    "structure.sums_ahead",
    "for t: u = sum(f(t)); S(u)  =  for t, at once: U[t] = sum(f(t)); for t: S(U[t])",
    "a sum of what no step changes waits for none (loop distribution, Allen and Kennedy 1987)",
    Floats.REASSOCIATE,
)
_ROWS = 64  # vectors of a step from which on their product with a matrix takes no longer in a step than before it


def depends_on(expr: Expr, loops: Sequence[Loop], depth: Mapping[Buffer, int]) -> set[Var]:
    """Variables that a value within loops depends on: those in it, and those of the loops each iteration of which has
    its own copy of a local that it reads; `depth` is how many these are."""
    copies = {o.var for load in loads(expr) for o in loops[: depth.get(load.buffer, 0)]}
    return free_vars(expr) | copies


Place = tuple[Expr, ...]


def as_array(
    local: Buffer,
    around: Sequence[Loop],
    level: int,
    pending: Collection[Loop],
    boxes: Mapping[Loop, Box],
    name: Callable[[str], str],
) -> tuple[Buffer, Place] | None:
    """An array with an element for each copy of a local, but for those of loops outside of a level that run in order,
    and where that of the present iteration is; None if a loop has no bounds. `around` are the loops with copies."""
    own = [loop for k, loop in enumerate(around) if k >= level or loop in pending]
    if any(loop not in boxes for loop in own):
        return None
    extents, place = array_over(own, [boxes[loop] for loop in own])
    return replace(local, name=name(local.name), shape=(*extents, *local.shape)), place


class Recorded(Struct, frozen=True):
    """`statements` that read `arrays` in place of locals, and those `first` that store to these."""

    statements: list[Statement]
    first: list[Statement]
    arrays: list[Buffer]


def recorded(
    group: Sequence[Statement], loops: Sequence[Loop], boxes: Sequence[Box], inner: Collection[Buffer], new: Fresh
) -> Recorded | None:
    """Statements of `loops` without the `inner` locals, which nothing in them stores to; None if one cannot go.

    The loops follow each other, inside those that all of the group share.
    """
    arrays: dict[Load, Buffer] = {}
    shape, place = array_over(loops, boxes)

    def one(expr: Expr) -> Expr:
        constant = isinstance(expr, Load) and all(isinstance(i, Const) for i in expr.indices)
        if not isinstance(expr, Load) or expr.buffer not in inner or not constant:
            return expr  # an index that is no constant might be valid only where the load counts
        known = next((b for load, b in arrays.items() if load.same(expr)), None)
        if known is None:
            known = arrays[expr] = Buffer(new.name(expr.buffer.name), shape, expr.dtype, "local")
        return Load(known, place)

    statements = [mapped(s, lambda e: map_expr(e, one)) for s in group]
    if any(b in inner for s in statements for b in s.buffers()):
        return None
    around = group[0].loops[: group[0].loops.index(loops[-1]) + 1]
    first = [Statement(new.position(), around, (), Store(b, place, load)) for load, b in arrays.items()]
    return Recorded(statements, first, list(arrays.values()))


def conditions_around(inside: Sequence[Statement], known: Collection[Var], depth: Mapping[Buffer, int]) -> list[Expr]:
    """Conditions of all that is done in a loop which hold for all of it or none: of variables of loops, they read only
    those that are `known`."""
    changed, within = {s.buffer for s in inside}, {o.var for s in inside for o in s.loops}.difference(known)
    return [
        g
        for g in inside[0].guards
        if within.isdisjoint(depends_on(g, inside[0].loops, depth))
        and not any(load.buffer in changed for load in loads(g))
        and all(any(g.same(h) for h in s.guards) for s in inside)
    ]


class Ahead(Struct, frozen=True):
    """Statements of a loop with `arrays` for sums that wait for none of its steps."""

    statements: list[Statement]
    arrays: list[Buffer]


def sums_ahead(
    group: Sequence[Statement],
    level: int,
    pending: Collection[Loop],
    depth: Mapping[Buffer, int],
    users: Mapping[Buffer, set[int]],
    boxes: Mapping[Loop, Box],
    new: Fresh,
) -> Ahead | None:
    """A group whose loop at a level has, for each of its steps, the sums at hand that read nothing of other steps.

    A part of a sum is one too: of `U x + W h`, where h is what the last step left, that of `U x`.
    """
    here = {s.position for s in group}
    own = {b for s in group for b in s.buffers() if depth.get(b, 0) > level and users.get(b, here) <= here}
    group = _term_by_term(group, own, new)
    waiting = _waiting(group, own)
    found, arrays = list(group), list[Buffer]()
    for local in sorted(own - read_by_bounds(group), key=lambda b: b.name):
        writers = [s for s in group if s.buffer == local]
        around = writers[0].loops[: depth[local]] if writers else ()
        free = [s for s in writers if s.position not in waiting]
        # measured on CPU: XLA makes no vector code of a step of it where parts of that are read, as gates of cells are
        few = 1 if any(_reads_part(s, local) for s in group) else _ROWS
        sums = [s for s in free if _is_product(s, around, level, boxes, few)]
        needed = any(s.position in waiting for s in group if local in s.buffers())
        made = as_array(local, around, level, pending, boxes, new.name) if sums and needed else None
        if made is None:
            continue
        array, place = made
        if len(free) == len(writers):
            found = [moved(s, local, array, place) for s in found]
        else:
            parted = _parted(found, local, sums, array, place, new)
            if parted is None:
                continue
            found = parted
        arrays.append(array)
    return Ahead([replace(s, position=new.position()) for s in found], arrays) if arrays else None


def _term_by_term(group: Sequence[Statement], own: Collection[Buffer], new: Fresh) -> Sequence[Statement]:
    """A group with sums of terms of which some wait for steps, and others do not, as two sums."""
    waiting = _waiting(group, own)
    late = {s.buffer for s in group if s.position in waiting}
    found: list[Statement] = []
    for s in group:
        terms = operands_of(s.update[1], "add") if s.update is not None and s.update[0] == "add" else []
        now = [e for e in terms if late.isdisjoint(buffers_read(e))]
        later = [e for e in terms if not late.isdisjoint(buffers_read(e))]
        parts = [now, later] if s.position in waiting and s.buffer in own and now and later else []
        found += [_adding(s, reduce(_sum, part)) for part in parts] or [s]
    return group if len(found) == len(group) else [replace(s, position=new.position()) for s in found]


def _adding(s: Statement, value: Expr) -> Statement:
    """A sum of other terms at its place."""
    old = Load(s.buffer, s.store.indices)
    return replace(s, store=replace(s.store, value=_sum(old, value)), update=("add", value))


def _sum(a: Expr, b: Expr) -> Expr:
    return Binary("add", a, b)


def _waiting(group: Sequence[Statement], own: Collection[Buffer]) -> set[int]:
    """Statements that store to what steps share, or read it or what comes of it; of an update, besides its element."""
    shared = {s.buffer for s in group} - set(own)
    waiting = {s.position for s in group if s.buffer in shared}
    while True:
        late = shared | {s.buffer for s in group if s.position in waiting}
        more = {s.position for s in group if not late.isdisjoint(_inputs(s))} | waiting
        if more == waiting:
            return waiting
        waiting = more


def _reads_part(s: Statement, local: Buffer) -> bool:
    """Whether a statement reads a local at one position of a dimension."""
    parts = (load for load in s.reads() if load.buffer == local)
    return any(
        isinstance(i, Const)
        for load in parts
        for i, n in zip(load.indices, local.shape, strict=True)
        if not is_const(n, 1)
    )


def _is_product(s: Statement, around: Sequence[Loop], level: int, boxes: Mapping[Loop, Box], few: int) -> bool:
    """Whether a statement adds up the product of a matrix, or vector, that all steps of the loop at a level share with
    a vector of each, or up to `few`: together these are a product of matrices, which takes far less than one by one.

    Measured on CPU, 500 steps of a product of 200 x 32 numbers with a vector take 420 us, their product 30 us; steps of
    a recurrent layer for 2 to 16 rows take 1.3 to 1.5 times as long with all products in them, for 64 rows 1.06 times.
    Sums of other terms take as long in steps as before them.
    """
    if s.update is None or update_class(s.update[0]) != "add":
        return False
    step, lanes = around[level].var, {o.var for o in around} | free_vars(*s.store.indices)
    own, summed = lanes - {step}, {o.var for o in s.loops} - lanes
    along = [free_vars(f) for f in factors(s.update[1])]
    rows = {o.var: boxes[o].extent for o in s.loops if o in boxes}

    def is_few(lanes: Collection[Var]) -> bool:
        return all(v in rows and rows[v].is_const for v in lanes) and prod(rows[v].const for v in lanes) <= few

    vector = any(step in names and names & summed and is_few(names & own) for names in along)
    return vector and (not own or any(step not in names and names & summed and names & own for names in along))


def _inputs(s: Statement) -> Iterable[Buffer]:
    return (load.buffer for load in s.reads() if s.update is None or load.buffer != s.buffer)


def _parted(
    group: Sequence[Statement],
    local: Buffer,
    sums: Sequence[Statement],
    array: Buffer,
    place: Place,
    new: Fresh,
) -> list[Statement] | None:
    """Statements with some sums into a local in an array, whose elements are added where the last sum stood: of those
    with which nothing but sums is stored to it until it begins anew."""
    stores = [s for s in group if s.buffer == local]

    def life(s: Statement) -> int:
        return sum(w.update is None and w.position < s.position for w in stores)

    sums = [s for s in sums if life(s) == life(sums[-1])]
    added = [s for s in stores if s.update is not None and life(s) == life(sums[-1])]
    ops: set[UpdateOp] = {update_class(s.update[0]) for s in added if s.update is not None}
    last = max(s.position for s in added)
    others = [s for s in group if local in s.buffers() and s not in added]
    early = any(s.buffer != local and life(s) == life(sums[-1]) and s.position < last for s in others)
    if len(ops) != 1 or early or any(s.guards for s in sums):
        return None
    op, first = ops.pop(), sums[0]
    none = neutral(op, local.dtype)
    assert none is not None
    here = Load(local, first.store.indices)
    there = Load(array, (*place, *first.store.indices))
    around = tuple(o for o in first.loops if o.var in free_vars(*there.indices))
    fits = all(s.store.indices == first.store.indices and s.loops[: len(around)] == around for s in sums)
    apart = all(not set(s.loops) & set(first.loops) - set(around) for s in others)
    if not fits or not apart or around != first.loops[: len(around)]:
        return None
    found: list[Statement] = []
    for s in group:
        if s is first:
            zero = Store(array, there.indices, const(none, local.dtype))
            found.append(replace(s, position=new.position(), loops=around, guards=(), store=zero, update=None))
        if s in sums:
            assert s.update is not None
            value = Binary(s.update[0], there, s.update[1])
            found.append(replace(s, store=Store(array, there.indices, value, s.store.span)))
        else:
            found.append(s)
        if s is sums[-1]:
            store = Store(local, here.indices, Binary(op, here, there), s.store.span)
            found.append(replace(s, position=new.position(), loops=around, store=store, update=(op, there)))
    return found
