"""Values in place of the locals that hold them, where nothing changes them on the way.

`a = X[i, k]`, then `X[i, j] = min(X[i, j], a + X[k, j])` for all j, reads X[i, k] before the loop, which stores to it.
Where that store changes nothing (`lower/nest/silent_stores.py`), the value is the same when it is read later: up to
there, each statement does what it would do with the value in place of the local.

`v = X[y + dy, x + dx]; g = exp(-(v - X[y, x]) ** 2); s += g * v; z += g`: with an array for v and one for g over all of
y, x, dy, dx, nothing would be a window any more. With values in place of v and g, s and z are sums over shifted slices,
of which XLA works out equal parts once.

Only such locals give way, and those of one iteration whose value a store of it may change; others hold values worth
working out once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from ir.analysis.dependence import Idle, Loop, Statement, common_loops, may_change, may_meet
from ir.nodes import Buffer, Const, Expr, Load
from ir.transform.branches.if_convert import is_short
from ir.traverse import free_vars, loads, map_expr, node_count
from lower.analysis.freedoms import Form, Policy
from lower.analysis.updates import as_update
from lower.array.job import MAX_TAPS
from lower.nest.if_conversion import is_large
from lower.nest.normalize import Program, mapped, read_by_bounds
from lower.nest.silent_stores import always_unchanged

FORWARD_SUBSTITUTION = Form(
    "structure.forward_substitution",
    "t = e; s(t)  =  s(e)   where nothing between changes e",
    "a value may be worked out where it is used",
)


_LARGEST = 160  # parts of an expression that may be written for each position of a window


def inline_values(program: Program) -> None:
    """Put values in place of locals where no store changes them, whatever the data are; those of windows one by one, as
    one may be too large then for another."""
    idle = partial(always_unchanged, policy=program.policy)
    program.have(inlined(program.statements, program.depth, idle, program.policy))
    while any(s.update is not None for s in program.statements):
        windows = (b for b in program.depth if _within_window(b, program))
        found = (_lasting([b], program.statements, idle, program.policy) for b in windows)
        changed = next((ss for ss in found if len(ss) < len(program.statements)), None)
        if changed is None:
            return
        program.have(changed)


def inline_once(program: Program, local: Buffer) -> None:
    """Put the value of a local in its place where one statement reads it, and no store changes it on the way."""
    if len(_readers(local, program.statements)) == 1 and _is_short_value(local, program.statements, program.depth):
        unchanged = partial(always_unchanged, policy=program.policy)
        program.have(_lasting([local], program.statements, unchanged, program.policy))


def inlined(
    statements: Sequence[Statement],
    depth: Mapping[Buffer, int],
    idle: Callable[[Sequence[Statement]], Idle],
    policy: Policy,
) -> list[Statement]:
    """The statements with values in place of locals; `idle` gives the instances that change nothing."""
    return _lasting([b for b in depth if _may_go(b, statements, depth)], statements, idle, policy)


def worked_out_again(
    statements: Sequence[Statement], depth: Mapping[Buffer, int], policy: Policy
) -> list[Statement] | None:
    """The statements with values of one iteration worked out wherever they are read; None if there are none, or they
    are too long for that."""
    chosen = [b for b in depth if _is_short_value(b, statements, depth)]
    found = _lasting(chosen, statements, lambda _: {}, policy)
    changed = len(found) < len(statements)
    return found if changed and not any(is_large(s.store.value) for s in found) else None


def _lasting(
    chosen: list[Buffer],
    statements: Sequence[Statement],
    idle: Callable[[Sequence[Statement]], Idle],
    policy: Policy,
) -> list[Statement]:
    """The statements with values in place of those of some locals whose values nothing changes on the way."""
    while chosen:
        found = _without(chosen, statements, policy)
        free = idle(found)
        kept = [b for b in chosen if _lasts(b, chosen, statements, found, free)]
        if kept == chosen:
            return found
        chosen = kept
    return list(statements)


def all_inlined(statements: Sequence[Statement], depth: Mapping[Buffer, int], policy: Policy) -> list[Statement]:
    """What the statements would be if nothing changed any value on the way."""
    return _without([b for b in depth if _may_go(b, statements, depth)], statements, policy)


def writer_of(local: Buffer, statements: Sequence[Statement]) -> Statement | None:
    """The only statement that stores to a local, if it is no update and has no guards."""
    writers = [s for s in statements if s.buffer == local]
    if len(writers) != 1 or writers[0].guards or any(load.buffer == local for load in writers[0].reads()):
        return None
    return writers[0]


def _readers(local: Buffer, statements: Sequence[Statement]) -> list[Statement]:
    return [s for s in statements if local in s.buffers() and any(load.buffer == local for load in s.reads())]


def _finally_reading(local: Buffer, chosen: Collection[Buffer], statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements that read a local, or another one that is made of it and chosen too."""
    for reader in _readers(local, statements):
        if reader.buffer in chosen:
            yield from _finally_reading(reader.buffer, chosen, statements)
        else:
            yield reader


def _may_go(local: Buffer, statements: Sequence[Statement], depth: Mapping[Buffer, int]) -> bool:
    """Whether a local holds a short value for one iteration that a statement which reads it may store to."""
    writer = writer_of(local, statements)
    if writer is None or not _is_short_value(local, statements, depth):
        return False
    return any(
        load.buffer == r.buffer and not load.same(Load(r.buffer, r.store.indices)) and may_meet(r, r, load, r.loops)
        for r in _readers(local, statements)
        for load in loads(writer.store.value)
    )


def _is_short_value(local: Buffer, statements: Sequence[Statement], depth: Mapping[Buffer, int]) -> bool:
    """Whether a local holds a short value for one iteration, that statements read later in it; one that is read in one
    place, and becomes part of a statement that is not large, may be longer."""
    writer = writer_of(local, statements)
    if writer is None or not _is_value(local, statements, depth):
        return False
    value, readers = writer.store.value, _readers(local, statements)
    places = sum(load.buffer == local for r in readers for e in r.exprs() for load in loads(e))
    return is_short(value) or (places == 1 and not is_large(value) and not is_large(readers[0].store.value))


def _is_value(local: Buffer, statements: Sequence[Statement], depth: Mapping[Buffer, int]) -> bool:
    """Whether a local holds a value for one iteration, that statements read later in it."""
    if local.shape:
        return False
    writer, readers = writer_of(local, statements), _readers(local, statements)
    if writer is None or not readers or depth[local] != len(writer.loops):
        return False
    if any(common_loops(writer, r) < len(writer.loops) or r.position < writer.position for r in readers):
        return False
    return local not in read_by_bounds(readers)


def _without(locals_: Sequence[Buffer], statements: Sequence[Statement], policy: Policy) -> list[Statement]:
    """The statements with values in place of locals, and without those that store them."""
    found = list(statements)
    for local in locals_:
        writer = writer_of(local, found)
        assert writer is not None
        found = [having(local, writer.store.value, s, policy) for s in found if s is not writer]
    return found


def having(local: Buffer, value: Expr, statement: Statement, policy: Policy) -> Statement:
    """A statement with a value in place of a local."""
    if local not in statement.buffers():
        return statement
    found = mapped(
        statement, lambda e: map_expr(e, lambda x: value if isinstance(x, Load) and x.buffer == local else x)
    )
    return as_update(found, policy)


def _lasts(
    local: Buffer, chosen: Collection[Buffer], before: Sequence[Statement], after: Sequence[Statement], idle: Idle
) -> bool:
    """Whether nothing changes the value of a local between where it was taken and where it is read, which is where
    other locals are that give way with it and hold it."""
    writer = writer_of(local, before)
    assert writer is not None
    level = len(writer.loops)
    where = {s.position: s for s in after}
    readers = [where[r.position] for r in _finally_reading(local, chosen, before)]
    later = [s for s in after if s.position > writer.position and common_loops(s, writer) >= level]
    return not any(
        may_change(s, reader, load, level, idle)
        for reader in readers
        for s in later
        for load in loads(writer.store.value)
        if load.buffer == s.buffer
    )


# Windows --------------------------------------------------------------------------------------------------------------


def _within_window(local: Buffer, program: Program) -> bool:
    """Whether a local holds a value for one position of a window, which sums over windows alone read."""
    writer = writer_of(local, program.statements)
    if writer is None or not _is_value(local, program.statements, program.depth):
        return False
    put = (having(local, writer.store.value, r, program.policy) for r in _readers(local, program.statements))
    if any(node_count(s.store.value) > _LARGEST for s in put):
        return False
    sums = _final(local, program, writer.position)
    return bool(sums) and all(_sums_windows(s, len(writer.loops), writer, program) for s in sums)


def _final(local: Buffer, program: Program, seen: int) -> list[Statement]:
    """The updates that read a local, or what is made of it by other locals after a position; none if anything else
    does."""
    found: list[Statement] = []
    for s in program.statements:
        if any(load.buffer == local for load in s.reads()):
            if s.update is not None:
                found.append(s)
                continue
            variable = s.buffer in program.depth and not s.buffer.shape and s.position > seen
            if not variable or writer_of(s.buffer, program.statements) is not s:
                return []
            later = _final(s.buffer, program, s.position)
            if not later:
                return []
            found += later
    return found


def _sums_windows(update: Statement, depth: int, writer: Statement, program: Program) -> bool:
    """Whether an update sums over few positions, along which what the local is made of moves as along other loops."""
    kept = free_vars(*update.store.indices)
    if len(update.loops) != depth:
        return False
    held = program.depth.get(update.buffer)
    around = set(update.loops[:held]) if held is not None else {o for o in update.loops if o.var in kept}
    summed = [o for o in update.loops if o not in around]
    if not summed or not all(map(_few, summed)) or prod(_times(o) for o in summed) > MAX_TAPS:
        return False
    short, rest = {o.var for o in summed}, {o.var for o in around}
    made = _made_of(writer, program)
    return any(free_vars(i) & short and free_vars(i) & rest for s in made for e in s.reads() for i in e.indices)


def _made_of(writer: Statement, program: Program) -> list[Statement]:
    """A statement that stores to a local, and those that store to locals which it reads."""
    found = [writer]
    for load in loads(writer.store.value):
        inner = writer_of(load.buffer, program.statements) if load.buffer in program.depth else None
        if inner is not None and inner.position < writer.position:
            found += _made_of(inner, program)
    return found


def _few(loop: Loop) -> bool:
    return isinstance(loop.extent, Const) and isinstance(loop.start, Const)


def _times(loop: Loop) -> int:
    assert isinstance(loop.extent, Const)
    return max(int(loop.extent.value), 0)
