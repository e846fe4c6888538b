"""Which reads may see what was there before: whether what a program reads it has certainly written, and where not.

Conditions and indices that are not quasi-affine are known to hold for readers only where writers asked the same of data
that nothing stores to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

import islpy as isl
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, common_loops, domain, meet, primed_loops, shared_steps
from ir.analysis.steady_elements import Told
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Store, Var, const
from ir.presburger import sets as presburger
from ir.presburger.opaque import Opaque
from ir.traverse import children, has_loads, substitute_expr


def reads_before_writing(
    statements: Sequence[Statement],
    buffer: Buffer,
    depth: int,
    steady: Collection[Buffer] = (),
    told: Told | None = None,
) -> bool:
    """Whether some read of `buffer` may see what was there before the iteration of the outer `depth` loops began.

    What is read of `steady` buffers, which nothing in the program stores to, is the same for writers and readers, and
    what is `told` of their elements holds.
    """
    users = [s for s in statements if buffer in s.buffers()]
    read = {load.buffer for s in users for load in s.reads()}
    return _reads_early(_Users(users), buffer, depth, frozenset(b for b in steady if b in read), told)


def stores_to_all(statements: Sequence[Statement], buffer: Buffer, around: tuple[Loop, ...] = ()) -> bool:
    """Whether statements together store to all of a buffer, in each iteration of the loops `around` all of them."""
    names = tuple(Var(f"{buffer.name}[{d}]", size.dtype) for d, size in enumerate(buffer.shape))
    loops = tuple(Loop(v, const(0, v.dtype), size) for v, size in zip(names, buffer.shape, strict=True))
    behind = max((s.position for s in statements), default=0) + 1
    copy = Store(replace(buffer, name=f"{buffer.name}[]"), names, Load(buffer, names))
    reader = Statement(behind, (*around, *loops), (), copy)
    return not reads_before_writing([*statements, reader], buffer, len(around))


class _Users:
    """Statements in their order; those are equal that run and store alike, with the same loops in common."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = statements
        ranks = {p: k for k, p in enumerate(sorted({s.position for s in statements}))}
        loops = {o: k for k, o in enumerate(dict.fromkeys(o for s in statements for o in s.loops))}
        self._key = tuple(
            (ranks[s.position], tuple((loops[o], o.var, o.start, o.extent) for o in s.loops), s.guards, s.store, s.tile)
            for s in statements
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Users) and self._key == other._key

    __ne__ = object.__ne__

    def __hash__(self) -> int:
        return hash(self._key)


@presburger.remembered
def _reads_early(statements: _Users, buffer: Buffer, depth: int, steady: frozenset[Buffer], told: Told | None) -> bool:
    """`reads_before_writing` of the statements that use a buffer, asked once for all programs that have such."""

    def question() -> bool:
        users = statements.statements
        writers = [s for s in users if s.buffer == buffer]
        readers = [s for s in users if any(load.buffer == buffer for load in s.reads())]
        asked = [(reader, load) for reader in readers for load in reader.reads() if load.buffer == buffer]
        if all(any(_plainly_wrote(writer, reader, load, depth) for writer in writers) for reader, load in asked):
            return False
        data = any(read.buffer in steady for s in users for read in s.reads())
        data = data or any(presburger.affine(i) is None for _, load in asked for i in load.indices)

        def named(reader: Statement) -> Opaque:
            return Opaque(steady, None if told is None else partial(told, where=reader.domain))

        return not all(
            _covered(reader, buffer, writers, depth, None)
            or (data and _covered(reader, buffer, writers, depth, named(reader)))
            for reader in readers
        )

    return presburger.within_budget(question, True)


def _plainly_wrote(writer: Statement, reader: Statement, load: Load, depth: int) -> bool:
    """Whether it takes no sets to see that `writer` wrote what `reader` loads, in one iteration of `depth` loops.

    It stores to this very element in each iteration that reads it, or, in a nest of its own, to all elements.
    """
    if writer.position >= reader.position or writer.guards or writer.tile is not None:
        return False
    shared = common_loops(reader, writer)
    if depth <= shared == len(writer.loops):
        pairs = zip(writer.store.indices, load.indices, strict=True)
        return all(i.same(j) and not has_loads(i) for i, j in pairs)
    return depth == shared and _fills(writer, depth)


def _fills(writer: Statement, depth: int) -> bool:
    """Whether the loops of a statement but for the outer `depth` ones are those through all of its buffer."""
    loops, shape = writer.loops[depth:], writer.buffer.shape
    if len(loops) != len(shape):
        return False
    extents = {loop.var: loop.extent for loop in loops if isinstance(loop.start, Const) and loop.start.value == 0}
    pairs = zip(writer.store.indices, shape, strict=True)
    whole = all(isinstance(i, Var) and i in extents and extents[i].same(extent) for i, extent in pairs)
    return whole and len({*writer.store.indices}) == len(shape)


def _covered(
    reader: Statement, buffer: Buffer, writers: Sequence[Statement], depth: int, opaque: Opaque | None
) -> bool:
    """Whether writers certainly wrote what a statement may evaluate of a buffer: of a choice, that is one arm."""
    read: dict[Load, isl.Set] = {}
    for load, where in _evaluated_loads(reader, must=False, opaque=opaque):
        if load.buffer == buffer:
            read[load] = read[load].union(where) if load in read else where
    return all(
        uncovered(reader, load, writers, depth, opaque).intersect(where).is_empty() for load, where in read.items()
    )


def uncovered(
    reader: Statement, load: Load, writers: Iterable[Statement], depth: int, opaque: Opaque | None = None
) -> isl.Set:
    """Instances of `reader` whose element may hold what it held before the iteration of the outer `depth` loops."""
    rest = reader.domain if opaque is None else domain(reader, {}, must=False, opaque=opaque)
    indices: list[Expr] = []
    for k, (index, extent) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
        known = index if opaque is None else opaque.named(index)
        if known is None or presburger.affine(known) is None:  # it may be any that is inside
            anywhere = Var(f"{load.buffer.name}[{k}]", index.dtype)
            rest = rest.intersect(presburger.loop_domain(anywhere, const(0, index.dtype), extent).may)
            index = anywhere
        else:  # outside, a choice leaves it out
            index = known
            inside = Binary("and", Binary("ge", index, const(0, index.dtype)), Binary("lt", index, extent))
            rest = rest.intersect(presburger.condition(inside).may)
        indices.append(index)
    rest = rest if opaque is None else opaque.within(rest)
    load = Load(load.buffer, tuple(indices))
    for writer in writers:
        rest = rest.subtract(_cover(reader, load, writer, depth, opaque))
        if rest.is_empty():
            break
    return rest


def _cover(reader: Statement, load: Load, writer: Statement, depth: int, opaque: Opaque | None) -> isl.Set:
    """Instances of `reader` whose element `writer` certainly wrote before, within one iteration of `depth` loops."""
    primes = primed_loops(writer)
    indices = [substitute_expr(i, primes) for i in writer.store.indices]
    if any(presburger.affine(i) is None for i in indices):
        return presburger.never()
    shared = common_loops(reader, writer)
    if shared < depth:
        return presburger.never()
    # where the element says in which iteration it was written, that reads the same data as the reader does
    known = {
        v: i
        for v, i in zip(writer.store.indices, load.indices, strict=True)
        if isinstance(v, Var) and v in primes and v.dtype is i.dtype
    }
    pairs = meet(load.indices, indices)
    other = [v.name for v in primes.values() if isinstance(v, Var)]

    def written(when: isl.Set, one: int) -> isl.Set:
        """Where it did in iterations that are the reader's in the outer `one` loops."""
        same = {loop.var: loop.var for loop in reader.loops[:one]}
        data = {**known, **same} if opaque else None
        runs = domain(writer, primes, must=True, given=depth, opaque=opaque, known=data)
        if opaque is not None and opaque.mentioning(runs, other):  # data of an iteration that may be any
            return presburger.never()
        return presburger.forget(pairs.intersect(runs).intersect(when), other)

    before, same = presburger.in_order(((y, x) for x, y in shared_steps(reader, writer)), depth)
    now = writer.position < reader.position
    if opaque is None:
        return written(before.union(same) if now else before, depth)
    earlier = written(before, depth)
    return earlier.union(written(same, shared)) if now else earlier


def first_read(statements: Sequence[Statement], buffer: Buffer) -> isl.Set:
    """Elements whose initial contents the program certainly reads, whatever the data."""

    def question() -> isl.Set:
        found = presburger.nothing(len(buffer.shape))
        writers = [s for s in statements if s.buffer == buffer]
        for reader in (s for s in statements if not s.speculated):
            for load, where in _evaluated_loads(reader):
                place = presburger.point(load.indices) if load.buffer == buffer else None
                if place is None:
                    continue
                early = domain(reader, {}, must=True).intersect(where)
                for writer in writers:
                    early = early.subtract(_written_before(reader, load, writer))
                names = [loop.var.name for loop in reader.loops]
                found = found.union(presburger.forget(place.intersect_params(early), names))
        return found

    return presburger.within_budget(question, presburger.nothing(len(buffer.shape)))


def _evaluated_loads(
    statement: Statement, must: bool = True, opaque: Opaque | None = None
) -> Iterator[tuple[Load, isl.Set]]:
    """Loads of a statement, each with the instances that must or may evaluate it."""
    for expr in statement.exprs():
        for part, where in evaluated_parts(expr, presburger.always(), must, opaque):
            if isinstance(part, Load):
                yield part, where


def evaluated_parts(
    expr: Expr, where: isl.Set, must: bool = True, opaque: Opaque | None = None
) -> Iterator[tuple[Expr, isl.Set]]:
    """An expression and its parts, each with the instances that must or may evaluate it: of a choice, one arm is."""

    def held(cond: Expr, truth: bool) -> isl.Set:
        holds = presburger.condition(cond, opaque)
        holds = holds if truth else holds.negated()
        return where.intersect(holds.must if must else holds.may)

    yield expr, where
    match expr:
        case Select(cond=cond, then=then, other=other):
            parts = [(cond, where), (then, held(cond, True)), (other, held(cond, False))]
        case Binary(op="and" | "or" as op, lhs=a, rhs=b):
            parts = [(a, where), (b, held(a, op == "and"))]
        case _:
            parts = [(e, where) for e in children(expr)]
    for part, at in parts:
        yield from evaluated_parts(part, at, must, opaque)


def _written_before(reader: Statement, load: Load, writer: Statement) -> isl.Set:
    """Instances of `reader` whose element `writer` may have written before."""
    primes = primed_loops(writer)
    indices = [substitute_expr(i, primes) for i in writer.store.indices]
    pairs = meet(load.indices, indices).intersect(domain(writer, primes, must=False))
    before, same = presburger.in_order((y, x) for x, y in shared_steps(reader, writer))
    if writer.position < reader.position:
        before = before.union(same)
    return presburger.forget(pairs.intersect(before), [v.name for v in primes.values() if isinstance(v, Var)])
