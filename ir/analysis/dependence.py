"""Which statement instances must stay in order. Owns exact dependence tests on affine accesses; decides no schedule.

A program is seen as *statements*: stores, each with the loops and guards around it. Two accesses to one buffer, at
least one of them a write, give a dependence when some pair of instances meets in an element. Its *level* is the
outermost loop whose iterations differ (that loop carries it), or None when both instances lie in the same iteration of
all common loops.

Conditions and indices that are not quasi-affine are over-approximated: a dependence may be reported that does not
exist, never the reverse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations_with_replacement, product
from typing import Literal

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.steady_elements import Position, SteadyElements, positions, with_positions
from ir.nodes import Buffer, Const, Expr, For, Load, PrimFunc, Store, Var
from ir.presburger import sets as presburger
from ir.presburger.distances import Levels, carried, in_step
from ir.presburger.enumerated import carried_by_all
from ir.presburger.opaque import Opaque
from ir.presburger.points import has_values
from ir.traverse import free_vars, has_loads, loads, reads, substitute_expr

UpdateOp = Literal["add", "sub", "mul", "min", "max", "and", "or", "bitand", "bitor", "bitxor"]
Idle = Mapping[int, isl.Set]  # by position, instances of statements as a params set over their loops
MOST_STEPS = 1_000_000  # of isl, for the dependences of some statements: six times those of any program in benchmarks/


class Loop(Struct, frozen=True, eq=False):
    """One loop of the program; identity tells loops of one name apart."""

    var: Var
    start: Expr
    extent: Expr
    kind: str = "serial"

    @staticmethod
    def of(loop: For) -> Loop:
        return Loop(loop.var, loop.start, loop.extent, loop.kind)


class Tile(Struct, frozen=True, eq=False):
    """An instance of an instruction: elements that one statement reads and stores all at once, by windows.

    A window is a loop that no statement runs in: its variable ranges over a dimension of what is stored (`stored`), or
    of an argument of the `instruction` (`read`, by parameter names). `result` is which of its results is stored;
    `sizes` are those in the instruction's shapes.
    """

    instruction: PrimFunc
    result: int
    stored: tuple[Loop, ...]
    read: Mapping[str, tuple[Loop, ...]]
    sizes: Mapping[Var, Expr]

    @property
    def windows(self) -> tuple[Loop, ...]:
        """All windows."""
        return (*self.stored, *(w for windows in self.read.values() for w in windows))


class Statement(Struct, frozen=True, eq=False, dict=True):
    """A store in its place. `update` is set when it is `B[f] = B[f] op value` with a value that does not read B.

    With a `tile` it stores all elements of a window, as an instruction makes them of what its value reads by others.
    One that is `speculated` works out a value also where the program does not ask for it.
    """

    position: int
    loops: tuple[Loop, ...]
    guards: tuple[Expr, ...]
    store: Store
    update: tuple[UpdateOp, Expr] | None = None
    tile: Tile | None = None
    speculated: bool = False

    @property
    def windows(self) -> tuple[Loop, ...]:
        """The windows of its tile, if it has one."""
        return () if self.tile is None else self.tile.windows

    @property
    def buffer(self) -> Buffer:
        return self.store.buffer

    def exprs(self) -> Iterator[Expr]:
        """What is evaluated to execute it, loop bounds included."""
        yield from self.store.indices
        yield self.store.value
        yield from self.guards
        for loop in self.loops:
            yield loop.start
            yield loop.extent

    @cached_property
    def _reads(self) -> tuple[Load, ...]:
        return tuple(dict.fromkeys(load for expr in self.exprs() for load in loads(expr)))

    @cached_property
    def _buffers(self) -> frozenset[Buffer]:
        return frozenset((self.buffer, *(load.buffer for load in self._reads)))

    @cached_property
    def known_accesses(self) -> dict[Buffer, list[_Access]]:
        """What has been asked of accesses to buffers."""
        return {}

    @cached_property
    def domain(self) -> isl.Set:
        """The iterations in which it may run: exact where its guards are affine."""
        return domain(self, {})

    @cached_property
    def primed_domain(self) -> isl.Set:
        """As `domain`, with the other names for its loops that `primed_loops` gives."""
        return domain(self, primed_loops(self))

    def reads(self) -> tuple[Load, ...]:
        """Distinct loads."""
        return self._reads

    def operands(self) -> tuple[Load, ...]:
        """Distinct loads of its value, its place and its guards, not of the bounds of its loops."""
        exprs = (self.store.value, *self.store.indices, *self.guards)
        return tuple(dict.fromkeys(load for expr in exprs for load in loads(expr)))

    def places(self, buffer: Buffer) -> list[tuple[Expr, ...]]:
        """Indices of the accesses to a buffer, the store first."""
        own = [self.store.indices] if self.buffer == buffer else []
        return own + [load.indices for load in self.reads() if load.buffer == buffer]

    def buffers(self) -> frozenset[Buffer]:
        """Buffers read or written."""
        return self._buffers


def users_of(statements: Iterable[Statement]) -> Mapping[Buffer, list[Statement]]:
    """Of each buffer the statements that read or write it, in order; none of one that nobody does."""
    found: dict[Buffer, list[Statement]] = defaultdict(list)
    for statement in statements:
        for buffer in statement.buffers():
            found[buffer].append(statement)
    return found


class Dependence(Struct, frozen=True):
    """`sink` (a statement position) must run after `source`; `commuting` when both are updates by one operator, or
    store the same number."""

    source: int
    sink: int
    level: int | None
    kind: Literal["flow", "anti", "output"]
    buffer: Buffer
    commuting: bool = False


def common_loops(a: Statement, b: Statement) -> int:
    """How many outer loops two statements share."""
    shared = 0
    for x, y in zip(a.loops, b.loops, strict=False):
        if x is not y:
            break
        shared += 1
    return shared


class _Known(Struct, frozen=True):
    """What is known of elements that indices read: of those that nothing stores to, and of registers."""

    steady: SteadyElements | None
    registers: Mapping[Buffer, Position]

    def tells(self, indices: Iterable[Expr]) -> bool:
        """Whether it may say something of some indices."""
        return bool(self.steady is not None or self.registers) and any(map(has_loads, indices))


_NOTHING = _Known(None, {})


class _Access(Struct, frozen=True):
    indices: tuple[Expr, ...]
    write: bool
    accumulating: bool  # the read or write of the updated element itself, or a store of a number


def _accesses(statement: Statement, buffer: Buffer) -> list[_Access]:
    if buffer not in statement.known_accesses:
        statement.known_accesses[buffer] = _listed_accesses(statement, buffer)
    return statement.known_accesses[buffer]


def _listed_accesses(statement: Statement, buffer: Buffer) -> list[_Access]:
    store = statement.store
    own = Load(store.buffer, store.indices) if statement.update is not None else None
    found = [
        _Access(load.indices, False, own is not None and load.same(own))
        for load in statement.reads()
        if load.buffer == buffer
    ]
    if store.buffer == buffer:
        found.append(_Access(store.indices, True, statement.update is not None or isinstance(store.value, Const)))
    return found


def _effective(first: Statement, second: Statement, a: _Access, b: _Access, idle: Idle) -> isl.Set:
    """Instances of `first` and, primed, of `second` of which an access that writes to be read changes something."""
    both = first.domain.intersect(second.primed_domain)
    if a.write and not b.write and first.position in idle:
        both = both.subtract(idle[first.position])
    if b.write and not a.write and second.position in idle:
        names = {v.name: f"{v.name}'" for v in primed_loops(second)}
        both = both.subtract(presburger.rename(idle[second.position], names))
    return both


def primed_loops(statement: Statement) -> dict[Var, Expr]:
    """Other names for the variables of the loops and windows of a statement, for a second instance of it."""
    ranges = (*statement.loops, *statement.windows)
    return {loop.var: Var(loop.var.name + "'", loop.var.dtype) for loop in ranges}


def domain(
    statement: Statement,
    names: Mapping[Var, Expr],
    must: bool = False,
    given: int = 0,
    opaque: Opaque | None = None,
    known: Mapping[Var, Expr] | None = None,
) -> isl.Set:
    """Iterations in which a statement may or must run, in one of its outer `given` loops that there is.

    `opaque` names the data that conditions and bounds read, in which `known` stands for some variables of loops.
    """
    inside = presburger.always()
    values = {**names, **(known or {})}
    for loop in (*statement.loops[given:], *statement.windows):
        var = names.get(loop.var, loop.var)
        assert isinstance(var, Var)
        start, extent = substitute_expr(loop.start, values), substitute_expr(loop.extent, values)
        bounds = presburger.loop_domain(var, start, extent, opaque)
        inside = inside.intersect(bounds.must if must else bounds.may)
    for guard in statement.guards:
        condition = presburger.condition(substitute_expr(guard, values), opaque)
        inside = inside.intersect(condition.must if must else condition.may)
    return inside


def meet(a: Sequence[Expr], b: Sequence[Expr]) -> isl.Set:
    """Where two index tuples may be equal."""
    found = presburger.always()
    for x, y in zip(a, b, strict=True):
        px, py = presburger.affine(x), presburger.affine(y)
        if px is not None and py is not None:
            found = found.intersect(px.eq_set(py))
    return found


def dependences(
    statements: Sequence[Statement],
    private: Mapping[Buffer, int],
    idle: Idle | None = None,
    only: Buffer | None = None,
    steady: SteadyElements | None = None,
) -> list[Dependence]:
    """All dependences between `statements`, given in program order, or those by `only` one buffer.

    `private[b]` is the number of outer loops each iteration of which has its own copy of buffer b: those carry nothing.
    Who reads an element need not wait for a store, nor the store for who reads it, by an `idle` instance: one that
    stores what is there, whatever the elements hold that it reads. Indices may read `steady` elements. The number of
    questions grows with the square of that of the accesses: after `MOST_STEPS` of isl, all that are left are taken to
    be there, but for those that an index alone excludes.
    """
    found: dict[tuple[int, int, int | None, Buffer], Dependence] = {}
    for dep in _each(statements, private, idle or {}, only, steady):
        key = (dep.source, dep.sink, dep.level, dep.buffer)
        other = found.get(key)
        if other is None or _says_more(dep, other):
            found[key] = dep
    return list(found.values())


def _each(
    statements: Sequence[Statement],
    private: Mapping[Buffer, int],
    idle: Idle,
    only: Buffer | None,
    steady: SteadyElements | None,
) -> Iterator[Dependence]:
    """`dependences` one by one, as accesses have them: of two between the same statements one may say more."""
    last = presburger.steps() + MOST_STEPS
    known = _Known(steady, positions(statements, private))
    for first, second, buffer in _meeting(statements, only):
        yield from _between(first, second, buffer, private.get(buffer, 0), idle, last, known)


def waiting(statements: Sequence[Statement], buffer: Buffer) -> Iterator[int]:
    """The levels of loops of which iterations wait for each other by a buffer, in whatever order they update it.

    They are worked out one by one, some several times, so that who looks for one level asks for no more.
    """
    found = _each(statements, {}, {}, buffer, None)
    return (d.level for d in found if d.level is not None and not d.commuting)


def waits(statements: Sequence[Statement], buffer: Buffer, level: int) -> bool:
    """Whether iterations of a loop at a level wait for each other by a buffer, in whatever order they update it."""
    return level in waiting(statements, buffer)


def where_read(statements: Sequence[Statement], private: Mapping[Buffer, int]) -> list[Statement]:
    """The statements, given in program order, each under what guards all who read what it stores to a private copy.

    Where those do not hold, nobody looks at what it stores there, which may then be anything: for what dependences ask,
    such instances do not run. `private` is as `dependences` takes it.
    """
    found = list(statements)
    for k, s in reversed(list(enumerate(found))):
        depth = private.get(s.buffer, 0)
        outer, inner = ({loop.var for loop in loops} for loops in (s.loops[:depth], s.loops[depth:]))
        readers = [r for r in found if any(load.buffer == s.buffer for load in r.reads())] if depth else []
        bounds = [bound for r in readers for o in r.loops for bound in (o.start, o.extent)]
        if reads(s.buffer, *bounds):
            continue  # a loop that begins anywhere may take any number of steps
        shared = [
            g
            for g in (readers[0].guards if readers else ())
            if free_vars(g) & outer
            and not has_loads(g)
            and all(g in r.guards for r in readers)
            and free_vars(g).isdisjoint(inner | {o.var for r in readers for o in r.loops[depth:]})
        ]
        found[k] = replace(s, guards=tuple(dict.fromkeys((*s.guards, *shared)))) if shared else s
    return found


def _meeting(statements: Sequence[Statement], only: Buffer | None) -> list[tuple[Statement, Statement, Buffer]]:
    """Pairs of statements, in program order, with each buffer that both access and one of them writes."""
    users: dict[Buffer, list[int]] = {}
    for k, statement in enumerate(statements):
        for buffer in statement.buffers() if only is None else statement.buffers() & {only}:
            users.setdefault(buffer, []).append(k)
    pairs: list[tuple[int, int, str, Buffer]] = []
    for buffer, places in users.items():
        writes = {k for k in places if statements[k].buffer == buffer}
        numbers = {k: _numbers(statements[k], buffer) for k in places}
        found = {(min(k, m), max(k, m)) for k, m in _beside(places, numbers) if k in writes or m in writes}
        pairs += [(k, m, buffer.name, buffer) for k, m in found if _may_meet(numbers[k], numbers[m])]
    pairs.sort(key=lambda p: p[:3])
    return [(statements[k], statements[m], buffer) for k, m, _, buffer in pairs]


_Numbers = tuple[frozenset[int] | None, ...]  # of each dimension the numbers that are its indices; None: others too


def _numbers(statement: Statement, buffer: Buffer) -> _Numbers:
    """The numbers at which a statement accesses a buffer, along each of its dimensions."""
    along = zip(*(a.indices for a in _accesses(statement, buffer)), strict=True)
    found = ([int(i.value) for i in indices if isinstance(i, Const)] for indices in along)
    count = len(_accesses(statement, buffer))
    return tuple(frozenset(numbers) if len(numbers) == count else None for numbers in found)


def _may_meet(a: _Numbers, b: _Numbers) -> bool:
    return all(x is None or y is None or not x.isdisjoint(y) for x, y in zip(a, b, strict=True))


def _beside(places: Sequence[int], numbers: Mapping[int, _Numbers]) -> Iterator[tuple[int, int]]:
    """Pairs of users of a buffer that may access one element, each user with itself among them.

    They are told apart by the dimension along which most have numbers for indices: isl need not be asked about columns
    that a program names one by one, nor each of them be compared with all others.
    """
    rank = len(numbers[places[0]]) if places else 0
    dim = max(range(rank), key=lambda d: sum(numbers[k][d] is not None for k in places), default=None)
    by_number: dict[int, list[int]] = {}
    rest: list[int] = []
    for k in places:
        own = None if dim is None else numbers[k][dim]
        for n in own or ():
            by_number.setdefault(n, []).append(k)
        if own is None:
            rest.append(k)
    yield from combinations_with_replacement(rest, 2)
    for group in by_number.values():
        yield from combinations_with_replacement(group, 2)
        yield from product(group, rest)


def _says_more(new: Dependence, known: Dependence) -> bool:
    """Whether a dependence is kept in place of one between the same statements: it holds more up, or is a flow."""
    if new.commuting != known.commuting:
        return known.commuting
    return known.kind == "anti"


def _between(
    first: Statement,
    second: Statement,
    buffer: Buffer,
    private: int,
    idle: Idle,
    last: int,
    known: _Known,
) -> Iterator[Dependence]:
    shared = common_loops(first, second)
    for a in _accesses(first, buffer):
        for b in _accesses(second, buffer):
            if not (a.write or b.write):
                continue
            commuting = a.accumulating and b.accumulating and _commute(first, second)
            for forward, level in _levels(first, second, a, b, shared, idle, last, known):
                if level is not None and level < private:
                    continue
                if not forward and first is second:
                    continue  # the mirrored pair of accesses gives it
                source, sink, x, y = (first, second, a, b) if forward else (second, first, b, a)
                kind = "output" if x.write and y.write else "flow" if x.write else "anti"
                yield Dependence(source.position, sink.position, level, kind, buffer, commuting)


_CLASS = {"sub": "add"}


def _commute(a: Statement, b: Statement) -> bool:
    if a.update is None or b.update is None:
        return isinstance(a.store.value, Const) and a.store.value.same(b.store.value) and a.update is b.update
    return _CLASS.get(a.update[0], a.update[0]) == _CLASS.get(b.update[0], b.update[0])


def _levels(
    first: Statement,
    second: Statement,
    a: _Access,
    b: _Access,
    shared: int,
    idle: Idle,
    last: int,
    known: _Known,
) -> Levels:
    """(whether `first` runs first, carrying level) of each kind of meeting; everything when isl gives up.

    It is not asked when its steps have passed `last`.
    """
    same_order = first is not second
    if shared == 0:
        return [(True, None)] if same_order else []
    everything: Levels = [(f, k) for k in range(shared) for f in (True, False)]
    if same_order:
        everything.append((True, None))
    tested = carried(first.loops, second.loops, a.indices, b.indices, shared)
    narrowed = first.position in idle or second.position in idle
    guarded = first.guards or second.guards or first.windows or second.windows
    if tested is not None and not (tested and (narrowed or guarded)):  # of none, guards and the like leave none
        return tested if same_order else [one for one in tested if one[1] is not None]
    if presburger.steps() > last:
        same = in_step(first.loops, a.indices, b.indices, shared)
        return [one for one in everything if one[1] not in same]
    if narrowed or known.tells((*a.indices, *b.indices)):
        found = _asked_levels(first, second, a, b, shared, idle, known)
    else:
        found = _levels_alike(_Instances(first), _Instances(second), a, b, shared, same_order)
    return everything if found is None else found


class _Instances:
    """When a statement runs; equal ones run as often, whatever buffers they are about."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        ranges = (*statement.loops, *statement.windows)
        self._key = tuple(e for loop in ranges for e in (loop.var, loop.start, loop.extent)), statement.guards

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Instances) and self._key == other._key

    __ne__ = object.__ne__

    def __hash__(self) -> int:
        return hash(self._key)


@presburger.remembered
def _levels_alike(
    first: _Instances, second: _Instances, a: _Access, b: _Access, shared: int, several: bool
) -> Levels | None:
    """`_levels` of two statements, asked once for all pairs that run alike; of `several` that are the same for one."""
    one = first.statement
    other = second.statement if several else one
    found = _asked_levels(one, other, a, b, shared, {}, _NOTHING)
    indices = (*a.indices, *b.indices)
    if found == [] or all(presburger.affine(i) is not None for i in indices) or not any(map(has_values, indices)):
        return found
    counted = carried_by_all(one, other, a.indices, b.indices, shared)
    return found if counted is None else [x for x in counted if found is None or x in found]


def _asked_levels(
    first: Statement,
    second: Statement,
    a: _Access,
    b: _Access,
    shared: int,
    idle: Idle,
    known: _Known,
) -> Levels | None:
    same_order = first is not second

    def question() -> Levels:
        primes = primed_loops(second)
        both = _effective(first, second, a, b, idle)
        mine, holds = with_positions(a.indices, first.loops, known.registers, "?a")
        others, more = with_positions(b.indices, second.loops, known.registers, "?b")
        indices = [*mine, *(substitute_expr(i, primes) for i in others)]
        for cond in (*holds, *(substitute_expr(c, primes) for c in more)):
            both = both.intersect(presburger.condition(cond).may)
        if known.steady is not None:
            indices, values = known.steady.named(indices, both)
            both = both.intersect(values)
        pairs = meet(indices[: len(a.indices)], indices[len(a.indices) :]).intersect(both)
        result: Levels = []
        for k, loop in enumerate(first.loops[:shared]):
            if pairs.is_empty():
                return result
            x, y = presburger.symbol(loop.var.name), presburger.symbol(loop.var.name + "'")
            if not pairs.intersect(x.lt_set(y)).is_empty():
                result.append((True, k))
            if not pairs.intersect(x.gt_set(y)).is_empty():
                result.append((False, k))
            pairs = pairs.intersect(x.eq_set(y))
        if same_order and not pairs.is_empty():
            result.append((True, None))
        return result

    return presburger.within_budget(question, None)


class Relation(Struct, frozen=True):
    """Instances of two statements that must stay in order: a params set over the loop variables of `source`, and those
    of `sink` with a prime. `own` marks what one statement reads before another instance of it writes."""

    source: Statement
    sink: Statement
    pairs: isl.Set
    own: bool


def relations(statements: Sequence[Statement], level: int) -> list[Relation] | None:
    """What orders instances within one iteration of the outer `level` loops, which all `statements` share.

    Updates by one operator commute and hold nothing up; None when isl gives up.
    """

    def question() -> list[Relation] | None:
        found: list[Relation] = []
        for first in statements:
            for second in statements:
                for buffer in sorted(first.buffers() & second.buffers(), key=lambda b: b.name):
                    if buffer in (first.buffer, second.buffer):
                        found += _ordered_pairs(first, second, buffer, level)
        return found

    return presburger.within_budget(question, None)


def _ordered_pairs(first: Statement, second: Statement, buffer: Buffer, level: int) -> Iterator[Relation]:
    """Pairs of instances that meet in an element, an instance of `first` before one of `second`."""
    primes = primed_loops(second)
    for a in _accesses(first, buffer):
        for b in _accesses(second, buffer):
            if not (a.write or b.write) or (a.accumulating and b.accumulating and _commute(first, second)):
                continue
            pairs = meet(a.indices, [substitute_expr(i, primes) for i in b.indices])
            pairs = pairs.intersect(_before(first, second, level)).intersect(_effective(first, second, a, b, {}))
            if not pairs.is_empty():
                yield Relation(first, second, pairs, first is second and not a.write)


def _before(first: Statement, second: Statement, level: int) -> isl.Set:
    """Where an instance runs before the primed one, both in one iteration of the outer `level` loops."""
    shared = tuple(loop.var.name for loop in first.loops[: common_loops(first, second)])
    return _in_order(shared, level, first.position < second.position)


@presburger.remembered
def _in_order(shared: tuple[str, ...], level: int, at_once: bool) -> isl.Set:
    """Where iterations of loops that two statements share are before primed ones, or, `at_once`, the same."""
    before, same = presburger.in_order(map(_step, shared), level)
    return before.union(same) if at_once else before


def shared_steps(first: Statement, second: Statement) -> Iterator[tuple[isl.PwAff, isl.PwAff]]:
    """The values of the variables of shared loops in an instance of each, of which the second one's are primed."""
    return (_step(loop.var.name) for loop in first.loops[: common_loops(first, second)])


def _step(name: str) -> tuple[isl.PwAff, isl.PwAff]:
    return presburger.symbol(name), presburger.symbol(name + "'")


def may_meet(writer: Statement, reader: Statement, load: Load, around: Collection[Loop]) -> bool:
    """Whether an instance of `reader` may read by `load` what one of `writer` writes, in one iteration of `around`."""
    primes = {v: w for v, w in primed_loops(reader).items() if all(v != loop.var for loop in around)}

    def question() -> bool:
        pairs = meet(writer.store.indices, [substitute_expr(i, primes) for i in load.indices])
        pairs = pairs.intersect(writer.domain).intersect(domain(reader, primes, must=False))
        return not pairs.is_empty()

    return presburger.within_budget(question, True)


def may_change(writer: Statement, reader: Statement, load: Load, level: int, idle: Idle) -> bool:
    """Whether an instance of `writer` may change what `load` stands for before one of `reader` runs.

    Both are in one iteration of the outer `level` loops; instances that are `idle` change nothing.
    """
    if writer.position >= reader.position and common_loops(writer, reader) <= level:
        return False  # all of its instances run later
    primes = primed_loops(reader)

    def question() -> bool:
        pairs = meet(writer.store.indices, [substitute_expr(i, primes) for i in load.indices])
        pairs = pairs.intersect(writer.domain).intersect(reader.primed_domain)
        if writer.position in idle:
            pairs = pairs.subtract(idle[writer.position])
        return not pairs.intersect(_before(writer, reader, level)).is_empty()

    return presburger.within_budget(question, True)
