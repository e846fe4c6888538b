"""Loops in which each iteration continues the last: prefix sums, running extremes, linear recurrences.

`X[i] = X[i-1] op e` is a scan (Blelloch, Prefix sums and their applications, 1990), and so is `X[i] = a * X[i-1] + b`,
since composing such steps is associative; one that begins anew is such a step too. An accumulator `s = s op e` whose
values are used on the way becomes one once it has a place for each iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction, negate
from ir.analysis.dependence import Loop, Statement, UpdateOp, common_loops, dependences
from ir.floats import Floats
from ir.fold import fold
from ir.nodes import Binary, Buffer, Const, Expr, For, Load, Select, Store, Unary, Var, const
from ir.traverse import (
    all_same,
    free_vars,
    has_load,
    has_loads,
    is_const,
    loads,
    map_expr,
    operands_of,
    reads,
    substitute_expr,
)
from lower.analysis.freedoms import ORDER, Form
from lower.analysis.linear_forms import Linear, apart, atom, linear, to_expr
from lower.analysis.updates import split_update
from lower.analysis.value_ranges import AnyNumbers, Bounds, bounds
from lower.array.job import update_class
from lower.array.reduce import neutral_number
from lower.nest.nodes import EXTREMES, Box, Filter, Fresh, Recurrence
from lower.nest.normalize import read_by_bounds
from lower.storage.array_expansion import depends_on

SCANS = Form(
    "instructions.scan",
    "X[i] = v(i) if c(i) else a(i) * X[i - 1] + e(i)  =  associative scan, or sums over windows that double",
    "composing steps is associative (Blelloch 1990)",
    ORDER,
)
EXTREMES_OF_SUMS = Form(
    "instructions.extreme_of_sums",
    "X[i] = max(X[i - 1] + a(i), e(i))  =  associative scan",
    "maxima and sums are a semiring, in which such steps are linear",
    ORDER | Floats.NO_SIGNED_ZEROS,
)
RUNNING_EXTREMES = Form(
    "instructions.running_extreme",
    "X[i] = max(X[i - 1], e(i))  =  cumulative maximum",
    "minima and maxima are associative",
    Floats.NO_SIGNED_ZEROS,
)


def recurrence(statement: Statement, loop: Loop, private: Mapping[Buffer, int]) -> Recurrence | None:
    """How a statement continues what its last iteration of a loop stored; None if it is not of these kinds.

    `private[b]` is the number of outer loops each iteration of which has its own copy of buffer b.
    """
    store = statement.store
    before = substitute_expr_all(store.indices, loop.var, Binary("sub", loop.var, const(1, loop.var.dtype)))
    own = [load for load in loads(store.value) if load.buffer == store.buffer]
    last = [load for load in own if same_place(load.indices, before)]
    around = (*store.indices, *statement.guards)
    if not last or reads(store.buffer, *around):
        return None
    if any(loop.var in free_vars(g) or has_loads(g) for g in statement.guards) or not steps_alike(
        statement, loop, private
    ):
        return None
    previous = last[0]
    stepping = any(moves(i, loop.var) for i in store.indices)
    if not stepping or continues_besides(statement, loop, [previous], private):
        return None
    value, restart = restarting(store.value, previous)
    found = split_update(value, previous)
    if found is not None and not has_load(found[1], previous):
        op, term = found
        term = Unary("neg", term) if op == "sub" else term
        return Recurrence(loop, "add" if op == "sub" else op, term, None, previous, restart)
    further = further_than(value, previous, loop)
    if further is not None:
        return replace(further, restart=restart)
    form = line(value, previous)
    if form is None or form[0] is None:
        return None
    zero = const(0, store.value.dtype)
    if isinstance(form[0], Const) and form[0].value == 1 and form[1] is not None:
        return Recurrence(loop, "add", form[1], None, previous, restart)
    term = zero if form[1] is None else form[1]
    return Recurrence(loop, "add", term, form[0], previous, restart, tame(form[0], loop))


def form_of_recurrence(found: Recurrence | Filter) -> Form:
    """The form that a recurrence is."""
    if isinstance(found, Filter) or found.op not in EXTREMES:
        return SCANS
    return RUNNING_EXTREMES if found.factor is None else EXTREMES_OF_SUMS


def restarting(expr: Expr, x: Load) -> tuple[Expr, tuple[Expr, Expr] | None]:
    """What an expression is where it depends on `x`; and the condition where it does not, with what it is there."""
    rest, anew = _restarting(expr, x)
    return _as_update(rest, x), anew


def _as_update(expr: Expr, x: Load) -> Expr:
    """An expression that updates `x` in one of two ways as one update by either of two terms."""
    if not isinstance(expr, Select) or has_load(expr.cond, x):
        return expr
    then, other = (_as_update(e, x) for e in (expr.then, expr.other))
    found = [(e, split_update(e, x)) for e in (then, other)]
    updates = [update for _, update in found if update is not None]
    if not updates or any(update[0] != updates[0][0] for update in updates):
        return expr
    if any(has_load(update[1], x) if update else not e.same(x) for e, update in found):
        return expr
    op = updates[0][0]
    nothing = const(neutral_number(update_class(op), expr.dtype), expr.dtype)
    a, b = (update[1] if update else nothing for _, update in found)
    return Binary(op, x, Select(expr.cond, a, b))


def ways_of(found: Recurrence, written: Expr) -> list[tuple[Expr, Expr]]:
    """What a recurrence stores, as it is written and in terms of its parts, for each way that conditions choose."""
    written, _ = restarting(written, found.previous)
    if not isinstance(written, Select):
        return [(written, found.value)]
    ways: list[tuple[Expr, Expr]] = []
    for way in (written.then, written.other):
        form = line(way, found.previous)
        if form is None:
            return [(written, found.value)]
        term = const(0, way.dtype) if form[1] is None else form[1]
        ways += ways_of(replace(found, factor=form[0], term=term), way)
    return ways


def _restarting(expr: Expr, x: Load) -> tuple[Expr, tuple[Expr, Expr] | None]:
    match expr:
        case Select(cond=cond, then=then, other=other) if not has_load(cond, x):
            if not has_load(other, x):
                cond, then, other = negate(cond), other, then
            if has_load(then, x) or not has_load(other, x):
                return expr, None
            rest, inner = _restarting(other, x)
            if inner is None:
                return rest, (cond, then)
            return rest, (Binary("or", cond, inner[0]), Select(cond, then, inner[1]))
        case Binary(lhs=lhs, rhs=rhs):
            left = not has_load(rhs, x)
            rest, inner = _restarting(lhs if left else rhs, x) if left or not has_load(lhs, x) else (expr, None)
            if inner is None:
                return expr, None
            cond, value = inner
            if left:
                return replace(expr, lhs=rest), (cond, replace(expr, lhs=value))
            return replace(expr, rhs=rest), (cond, replace(expr, rhs=value))
        case _:
            return expr, None


def further_than(expr: Expr, x: Load, loop: Loop) -> Recurrence | None:
    """`expr` as `max(x + a, b)` or `min(x + a, b)`; None if it is no such form, or its integers may leave their type.

    Sums that saturate are exact for integers where `a` is a number that leads away from the extreme: what a sum of a
    scan may exceed is never the least, nor the largest, then.
    """
    if not (isinstance(expr, Binary) and expr.op in EXTREMES):
        return None
    operands = operands_of(expr, expr.op)
    steps, rest = [e for e in operands if has_load(e, x)], [e for e in operands if not has_load(e, x)]
    form = line(steps[0], x) if len(steps) == 1 and rest else None
    if form is None or form[1] is None or not (isinstance(form[0], Const) and form[0].value == 1):
        return None
    away = isinstance(form[1], Const) and (form[1].value >= 0) == (expr.op == "min")
    short = (
        isinstance(form[1], Const) and isinstance(loop.extent, Const) and abs(form[1].value) * loop.extent.value < 2**30
    )
    if not expr.dtype.is_float and not (expr.dtype.is_signed and expr.dtype.bits >= 32 and away and short):
        return None
    return Recurrence(loop, expr.op, reduce(partial(Binary, expr.op), rest), form[1], x)


def counts_exactly(term: Expr, times: int) -> bool:
    """Whether all sums of `times` such integers are exact as float32: of those that a condition picks from two."""
    match term:
        case Select(then=Const(value=a), other=Const(value=b)):
            return term.dtype.is_integer and times * max(abs(a), abs(b)) <= 2**24
        case Const(value=a):
            return term.dtype.is_integer and times * abs(a) <= 2**24
        case _:
            return False


def substitute_expr_all(exprs: Sequence[Expr], var: Var, value: Expr) -> tuple[Expr, ...]:
    """Expressions with another value of a variable."""
    return tuple(substitute_expr(e, {var: value}) for e in exprs)


def moves(index: Expr, var: Var) -> bool:
    """Whether each value of a variable makes another index."""
    return linear(index).slope(var) != 0


def steps_alike(statement: Statement, loop: Loop, private: Mapping[Buffer, int]) -> bool:
    """Whether the bounds of a statement's other loops are the same in all iterations of a loop: in a triangle, what its
    first step continues is elsewhere for each row."""
    bounds = (e for o in statement.loops for e in (o.start, o.extent))
    return not any(loop.var in depends_on(e, statement.loops, private) for e in bounds)


def same_place(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether two accesses are to one element."""
    return all(linear(x).equals(linear(y)) for x, y in zip(a, b, strict=True))


def continues_besides(
    statement: Statement, loop: Loop, previous: Sequence[Load], private: Mapping[Buffer, int]
) -> bool:
    """Whether a statement reads what an earlier iteration of a loop, or of one inside of it, stored otherwise than by
    `previous`: where a step goes on from what it has stored itself, it is not one step."""
    nothing = const(0, statement.store.value.dtype)

    def one(e: Expr) -> Expr:
        return nothing if isinstance(e, Load) and any(e.same(p) for p in previous) else e

    rest = map_expr(statement.store.value, one)
    if not reads(statement.buffer, rest):
        return False
    store = replace(statement.store, value=rest)
    level = statement.loops.index(loop)
    found = dependences([replace(statement, store=store, update=None)], private)
    return any(d.kind == "flow" and d.level is not None and d.level >= level for d in found)


def tame(factor: Expr, loop: Loop | For, least: float = -1) -> bool:
    """Whether products of a factor in steps of a loop never leave the numbers: a sequential run need not form them.

    It is from `least` to 1 then, or an integer."""
    if factor.dtype.is_integer:
        return True
    ranges: dict[Var, Bounds] = {}
    if isinstance(loop.start, Const) and isinstance(loop.extent, Const):
        ranges[loop.var] = float(loop.start.value), float(loop.start.value + max(loop.extent.value, 1) - 1)
    found = bounds(factor, AnyNumbers(ranges))
    return found is not None and found[0] >= least and found[1] <= 1


def line(expr: Expr, x: Load) -> tuple[Expr | None, Expr | None] | None:
    """`expr` as `a * x + b`, None for parts that are zero; None if it is no such form."""
    if expr.same(x):
        return const(1, expr.dtype), None
    if not has_load(expr, x):
        return None, expr
    match expr:
        case Unary(op="neg", operand=operand):
            inner = line(operand, x)
            return None if inner is None else (_negated(inner[0]), _negated(inner[1]))
        case Binary(op="add" | "sub" as op, lhs=lhs, rhs=rhs):
            a, b = line(lhs, x), line(rhs, x)
            return None if a is None or b is None else (_sum(op, a[0], b[0]), _sum(op, a[1], b[1]))
        case Binary(op="div", lhs=lhs, rhs=rhs) if not has_load(rhs, x):
            form = line(lhs, x)
            return None if form is None else (_over(form[0], rhs), _over(form[1], rhs))
        case Binary(op="mul", lhs=lhs, rhs=rhs):
            factor, inner = (lhs, rhs) if not has_load(lhs, x) else (rhs, lhs)
            form = line(inner, x)
            if form is None or has_load(factor, x):
                return None
            return _times(factor, form[0]), _times(factor, form[1])
        case Select(cond=cond, then=then, other=other) if not has_load(cond, x):
            a, b = line(then, x), line(other, x)
            return None if a is None or b is None else (_either(cond, a[0], b[0]), _either(cond, a[1], b[1]))
        case _:
            return None


def _negated(e: Expr | None) -> Expr | None:
    if isinstance(e, Const) and e.dtype.is_float:
        return const(-e.value, e.dtype)
    return None if e is None else fold(Unary("neg", e))


def _sum(op: Literal["add", "sub"], a: Expr | None, b: Expr | None) -> Expr | None:
    if b is None:
        return a
    return (b if op == "add" else _negated(b)) if a is None else Binary(op, a, b)


def _either(cond: Expr, a: Expr | None, b: Expr | None) -> Expr | None:
    if a is None:
        return None if b is None else Select(cond, const(0, b.dtype), b)
    b = const(0, a.dtype) if b is None else b
    return a if a.same(b) else Select(cond, a, b)


def _over(e: Expr | None, divisor: Expr) -> Expr | None:
    if isinstance(e, Const) and isinstance(divisor, Const) and divisor.value:
        return const(e.value / divisor.value, e.dtype)
    return None if e is None else Binary("div", e, divisor)


def _times(factor: Expr, e: Expr | None) -> Expr | None:
    if is_const(e, 1):
        return factor
    if isinstance(e, Const) and isinstance(factor, Const) and e.dtype.is_float:
        return const(e.value * factor.value, e.dtype)
    return None if e is None else Binary("mul", factor, e)


class Unrolled(Struct, frozen=True):
    """Statements in which an accumulator has a place for each iteration: `first` fills the place before the loop,
    `last` stores what the loop leaves. It grows in iterations in which all of `grows` hold, if that is known. One that
    is `guarded` is left alone in some iterations, and the program may never read what it held before."""

    statements: list[Statement]
    array: Buffer
    first: Statement
    last: Statement
    grows: tuple[Expr, ...] | None
    guarded: bool

    def numbers(self, statement: Statement, level: int) -> bool:
        """Whether a statement stores to another place in each iteration of its loop at `level`: to one that is counted
        on whenever it stores, as where what passes a test is put side by side."""
        inner = {o.var for o in statement.loops[level:]}
        if self.grows is None or not all(any(g.same(h) for h in statement.guards) for g in self.grows):
            return False
        for index in statement.store.indices:
            form = linear(index)
            counted = [a for a in form.terms if isinstance(a, Load) and a.buffer == self.array]
            rest = form.without(counted)
            if len(counted) == 1 and not rest.has_loads() and rest.vars().isdisjoint(inner):
                return not reads(statement.buffer, statement.store.value)
        return False


def with_history(
    group: Sequence[Statement],
    buffer: Buffer,
    loop: Loop,
    box: Box,
    private: Mapping[Buffer, int],
    new: Fresh,
) -> Unrolled | None:
    """Give a buffer that one statement of a group accumulates into a place for each iteration of `loop`.

    All of the group must access it at one place, which may only depend on loops that all of them share; or else the
    statement stores to all of the buffer in each iteration. `private[b]` is as for `recurrence`.
    """
    users = [s for s in group if buffer in s.buffers()]
    writers = [s for s in users if s.buffer == buffer]
    writer = _one_store(writers, group)
    writer = None if writer is None else _without_names(writer, group, private)
    if writer is None or len(users) == len(writers) or buffer in read_by_bounds(group):
        return None
    place = writer.store.indices
    shared = min(common_loops(writer, s) for s in users)
    names = free_vars(*place)
    inner = {o.var for o in writer.loops[shared:]}
    level = writer.loops.index(loop)
    own = writer.loops[level:]
    everywhere = bool(names & inner) and _stores_everywhere(writer, level)
    if loop.var in names or (names & inner and not everywhere) or any(map(has_loads, place)):
        return None
    if not apart(place, {o.var for o in own if o is not loop}) or not steps_alike(writer, loop, private):
        return None  # a sum within the iteration, or places that depend on it
    together = [s for s in users if not everywhere or common_loops(writer, s) > level + 1]
    accesses = [load for s in together for load in s.reads() if load.buffer == buffer]
    if not all(all_same(a.indices, place) for a in accesses):
        return None
    step = atom(loop.var) - box.low
    dims = [d for d, i in enumerate(place) if everywhere or free_vars(i) & {o.var for o in own}]  # others are its place
    shape = (to_expr(box.extent + 1, loop.var), *(buffer.shape[d] for d in dims))
    array = Buffer(new.name(buffer.name), shape, buffer.dtype, buffer.scope)

    def at(when: Linear, here: Sequence[Expr] = place) -> Load:
        return Load(array, (to_expr(when, loop.var), *(here[d] for d in dims)))

    def seen(e: Expr, when: Linear) -> Expr:
        return map_expr(e, lambda x: at(when, x.indices) if isinstance(x, Load) and x.buffer == buffer else x)

    statements: list[Statement] = []
    for s in (*(s for s in group if s not in writers), writer):
        if s is writer:
            value = _continued(s, at(step))
            if value is None:
                return None
            statements.append(replace(s, guards=(), store=Store(array, at(step + 1).indices, value), update=None))
        else:
            when = step + 1 if s.position > writer.position else step
            store = Store(
                s.buffer, tuple(seen(i, when) for i in s.store.indices), seen(s.store.value, when), s.store.span
            )
            update = None if s.update is None else (s.update[0], seen(s.update[1], when))
            statements.append(replace(s, guards=tuple(seen(g, when) for g in s.guards), store=store, update=update))
    both = writer.loops if everywhere else writer.loops[:shared]
    around = tuple(o for k, o in enumerate(both) if k < level or (o is not loop and o.var in names))
    first = Statement(new.position(), around, (), Store(array, at(Linear({})).indices, Load(buffer, place)))
    last = Statement(new.position(), around, (), Store(buffer, place, at(box.extent)))
    statements.sort(key=lambda s: s.position)
    return Unrolled(statements, array, first, last, writer.guards if _counts(writer) else None, bool(writer.guards))


def _without_names(writer: Statement, group: Sequence[Statement], private: Mapping[Buffer, int]) -> Statement:
    """A statement without the locals of its iteration that are worked out from what it stores to."""
    for definition in sorted(group, key=lambda s: s.position, reverse=True):
        name = definition.buffer
        alone = [s for s in group if s.buffer == name] == [definition] and private.get(name, 0) >= len(writer.loops)
        before = definition.position < writer.position and definition.loops == writer.loops
        if not (alone and before) or definition.guards or not reads(writer.buffer, definition.store.value):
            continue
        between = (s for s in group if definition.position < s.position < writer.position)
        if any(reads(s.buffer, definition.store.value) for s in between):
            continue
        here = Load(name, definition.store.indices)

        def one(e: Expr, here: Load = here, value: Expr = definition.store.value) -> Expr:
            return value if isinstance(e, Load) and e.same(here) else e

        value = map_expr(writer.store.value, one)
        own = Load(writer.buffer, writer.store.indices)
        guards = tuple(map_expr(g, one) for g in writer.guards)
        store = replace(writer.store, value=value)
        writer = replace(writer, guards=guards, store=store, update=split_update(value, own))
    return writer


def _stores_everywhere(writer: Statement, level: int) -> bool:
    """Whether a statement stores to each element of its buffer in each iteration of its loop at `level`."""
    extents = {o.var: o.extent for o in writer.loops[level + 1 :] if o.start.same(const(0, o.var.dtype))}
    indices = writer.store.indices
    return len({*indices}) == len(indices) and all(
        isinstance(i, Var) and i in extents and linear(extents[i]).equals(linear(size))
        for i, size in zip(indices, writer.buffer.shape, strict=True)
    )


def _one_store(writers: Sequence[Statement], group: Sequence[Statement]) -> Statement | None:
    """One statement that does what several do to an accumulator one after the other, if nobody looks in between.

    Who does so where none of the rest stores finds what all of them leave.
    """
    if len(writers) < 2:
        return next(iter(writers), None)
    first, *_, last = writers
    own = Load(last.buffer, last.store.indices)
    read = {own.buffer, *(load.buffer for w in writers for load in w.reads())}
    others = [s for s in group if s not in writers and first.position < s.position < last.position]
    looking = [s for s in others if own.buffer in s.buffers()]
    between = any(s.buffer in read for s in others) or not all(
        _exclude(s.guards, w.guards, others) for s in looking for w in writers if w.position > s.position
    )
    last = replace(last, position=first.position) if looking else last
    alike = all(w.loops == first.loops and w.store.indices == last.store.indices for w in writers)
    if between or not alike:
        return None
    together = _one_update(writers, own)
    if together is not None:
        store = replace(last.store, value=Binary(together[0], own, together[1]))
        return replace(last, guards=(), store=store, update=together)
    held: Expr = own

    def one(e: Expr) -> Expr:
        return held if isinstance(e, Load) and e.same(own) else e

    for w in writers:
        stored = map_expr(w.store.value, one)
        held = Select(map_expr(conjunction(w.guards), one), stored, held) if w.guards else stored
    store = replace(last.store, value=held)
    return replace(last, guards=(), store=store, update=split_update(held, own))


def _exclude(some: Sequence[Expr], others: Sequence[Expr], between: Sequence[Statement]) -> bool:
    """Whether one condition is the opposite of another one, of data that no statement in between changes."""
    opposite = [g for g in some for h in others if negate(g).same(h)]
    return any(not any(reads(s.buffer, g) for s in between) for g in opposite)


def _one_update(writers: Sequence[Statement], own: Load) -> tuple[UpdateOp, Expr] | None:
    """The update that several are, one after the other, where none of them asks what the accumulator holds.

    Sums may also be taken away from.
    """
    kind: UpdateOp | None = None
    total: Expr | None = None
    for w in writers:
        if w.update is None or reads(own.buffer, *w.guards, w.update[1]):
            return None
        op, term = w.update
        here = update_class(op)
        if kind not in (None, here):
            return None
        kind, nothing = here, const(neutral_number(here, own.dtype), own.dtype)
        term = Select(conjunction(w.guards), term, nothing) if w.guards else term
        if total is not None or op == "sub":
            term = Binary(op, nothing if total is None else total, term)
        total = term
    return None if kind is None or total is None else (kind, total)


def _counts(writer: Statement) -> bool:
    """Whether an accumulator moves one way by a fixed number whenever it is stored to."""
    match writer.update:
        case ("add" | "sub", Const(value=step)):
            return step != 0 and writer.buffer.dtype.is_signed
        case _:
            return False


def _continued(writer: Statement, previous: Load) -> Expr | None:
    """What an accumulator holds after an iteration, from what it held before."""
    own = Load(writer.buffer, writer.store.indices)

    def one(e: Expr) -> Expr:
        return previous if isinstance(e, Load) and e.same(own) else e

    value = map_expr(writer.store.value, one)
    if not writer.guards:
        return value
    if reads(writer.buffer, *writer.guards):
        return None
    if writer.update is None:
        return Select(conjunction(writer.guards), value, previous)
    op, term = writer.update
    nothing = const(neutral_number(op, term.dtype), term.dtype)
    return Binary(op, previous, Select(conjunction(writer.guards), map_expr(term, one), nothing))
