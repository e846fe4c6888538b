"""Which part of each buffer its consumers request, and what its producers must compute and keep for that.

Regions are relative to an attach point: one iteration of the loops that a stage was moved into. They are exact unions,
never boxes around unions; only storage is a box. The questions are those of TVM's InferBound pass, asked of the loops
themselves instead of a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Protocol, TypeVar

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.bounds.ranges import (
    Box,
    Context,
    Piece,
    Range,
    count_at,
    counts,
    covering,
    difference,
    elements_of,
    pieces,
    range_of,
)
from ir.bounds.stages import Access, Place, Program, Stage, find_stages
from ir.dtypes import DType
from ir.errors import LoopsatError, suggest
from ir.nodes import Expr, For, PrimFunc, const
from ir.presburger import sets as pb

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_WRITING = 10 * pb.MAX_OPERATIONS  # a table is worth more time than one question of many


class Scheduled(Protocol):
    """What holds a function under transformation: a schedule."""

    @property
    def func(self) -> PrimFunc: ...


class Variable(Struct, frozen=True, eq=False):
    """A loop variable or block axis, and its range over variables further out; None where that is not affine.

    `value` is what an axis stands for, in terms of loop variables.
    """

    name: str
    range: Range | None
    value: Expr | None = None


class StageBounds(Struct, frozen=True, eq=False):
    """A stage, its attach path (the loops it was moved into, innermost first) and the ranges of its variables.

    Ranges of `loops`, its own, are over those further out; ranges of `axes` are over the attach path alone.
    """

    name: str
    attach_path: tuple[str, ...]
    loops: tuple[Variable, ...]
    axes: tuple[Variable, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def __getitem__(self, name: str) -> Range:
        for variable in (*self.loops, *self.axes):
            if variable.name == name and variable.range is not None:
                return variable.range
        raise KeyError(name)


class Part(Struct, frozen=True, eq=False, dict=True):
    """Elements of a buffer, in terms of the variables of an attach path. `exact` unless it may be too large."""

    region: isl.Set
    exact: bool
    names: tuple[str, ...]
    context: Context
    iterations: isl.Set | None = None
    without: tuple[Part, Part] | None = None  # it is the first without the second, which lies in it

    @cached_property
    @pb.exclusive
    def pieces(self) -> tuple[Box | Piece, ...] | None:
        """Disjoint boxes, or conditions on the coordinates where a part is no box; None where that takes too long."""
        return pb.within_budget(lambda: pieces(self.region, self.context, self.names), None, _WRITING)

    @cached_property
    @pb.exclusive
    def elements(self) -> Expr | None:
        """How many elements, as an expression; None where none was found."""
        if self.is_empty():
            return const(0, DType.INT32)
        if self.without is not None:
            whole, missing = (p.elements for p in self.without)
            if whole is not None and missing is not None:
                return difference(whole, missing)
        return pb.within_budget(lambda: elements_of(self.region, self.pieces, self.context, self.iterations), None)

    @cached_property
    @pb.exclusive
    def counts(self) -> tuple[int, int] | None:
        """The least and greatest number of elements over the attach path; None where there are too many to count."""
        return pb.within_budget(lambda: counts(self.region, self.context), None)

    @cached_property
    @pb.exclusive
    def box(self) -> Box | None:
        """The least box around it."""
        return pb.within_budget(lambda: covering(self.region, self.context), None, _WRITING)

    @pb.exclusive
    def count(self, **values: int) -> int | None:
        """How many elements for given values of the variables; None if that is not finite or a value is missing."""
        return count_at(self.region, values)

    @pb.exclusive
    def is_empty(self) -> bool:
        return self.region.is_empty()

    def __str__(self) -> str:
        if self.pieces is None:
            return str(self.region)
        return " ∪ ".join(map(str, self.pieces)) if self.pieces else "nothing"


class Request(Struct, frozen=True, eq=False):
    """What one stage reads of a buffer while `relative_to` (innermost first) stay where they are."""

    consumer: str
    relative_to: tuple[str, ...]
    part: Part


class BufferBounds(Struct, frozen=True, eq=False):
    """A buffer seen from the attach point of its producers (of all of them, where there are several).

    `requested` is the union of the requests, `computed` what producers store, `overcompute` what they store and nobody
    reads before it is overwritten (None for parameters, which callers read; an estimate if not `exact`), `allocation`
    the box that holds what is stored and read: all of a parameter, or where the box takes too long to find.
    """

    name: str
    parameter: bool
    producers: tuple[str, ...]
    attach_path: tuple[str, ...]
    requests: tuple[Request, ...]
    requested: Part
    computed: Part
    overcompute: Part | None
    allocation: Box

    def __getitem__(self, consumer: str) -> Part:
        for request in self.requests:
            if request.consumer == consumer:
                return request.part
        raise KeyError(consumer)


class Bounds(Struct, frozen=True, eq=False):
    """Bounds of a function's stages and buffers, in program order."""

    func: PrimFunc
    stages: tuple[StageBounds, ...]
    buffers: tuple[BufferBounds, ...]

    def stage(self, name: str) -> StageBounds:
        """A stage by name.

        Raises:
            LoopsatError: there is none.
        """
        return _named(name, self.stages, "stage")

    def buffer(self, name: str) -> BufferBounds:
        """A buffer by name.

        Raises:
            LoopsatError: there is none.
        """
        return _named(name, self.buffers, "buffer")


_T = TypeVar("_T", StageBounds, BufferBounds)


def _named(name: str, items: Sequence[_T], what: str) -> _T:
    for item in items:
        if item.name == name:
            return item
    known = [item.name for item in items]
    hint = suggest(name, known)
    message = f"there is no {what} `{name}`"
    raise LoopsatError(f"unknown-{what}", message, help=hint if hint else f"there are {', '.join(known)}")


@pb.exclusive
def infer_bounds(program: PrimFunc | Scheduled) -> Bounds:
    """Bounds of a function that verifies, or of the function that a schedule holds now.

    A stage is a block that stores, or a store outside blocks, named by its buffer. Stages that share a loop are taken
    to be attached to the last of them. What a stage reads of an element just to update it is no request.

    Raises:
        LoopsatError: it is neither.
    """
    func: object = program if isinstance(program, PrimFunc) else getattr(program, "func", None)
    if not isinstance(func, PrimFunc):
        message = f"bounds are those of a function or a schedule, found {type(program).__name__}"
        raise LoopsatError("arguments", message, help="pass one function of a module: module[name]")
    return _Inference(func, find_stages(func)).bounds()


class _Inference:
    def __init__(self, func: PrimFunc, program: Program) -> None:
        self.func = func
        self.program = program
        self.sizes: dict[str, Expr] = {v.name: v for v in program.sizes}
        self.names = {v.var.name for s in program.stages for v in s.loops} | self.sizes.keys()
        self.last: dict[int, int] = {}
        for stage in program.stages:
            for loop in stage.loops:
                self.last[id(loop)] = stage.position
        self.attached = {s.position: self._attach_loops(s) for s in program.stages}
        self.writers = _by_place((a.place, s) for s in program.stages for a in s.writes)
        self.readers = _by_place((a.place, s) for s in program.stages for a in s.reads)

    def _attach_loops(self, stage: Stage) -> tuple[For, ...]:
        return tuple(loop for loop in stage.around if self.last[id(loop)] != stage.position)

    def bounds(self) -> Bounds:
        stages = tuple(self._stage(s) for s in self.program.stages)
        return Bounds(self.func, stages, tuple(self._buffer(p) for p in self.program.places))

    # Stages ----------------------------------------------------------------------------------------------------------

    def _stage(self, stage: Stage) -> StageBounds:
        attached = self.attached[stage.position]
        around = self._attach_point([stage], attached)
        variables = self._loops(stage)
        axes = self._axes(stage, attached, around)
        return StageBounds(
            stage.name,
            _path(attached),
            tuple(v for loop, v in zip(stage.loops, variables, strict=True) if not _holds(attached, loop)),
            axes,
            tuple(dict.fromkeys(a.place.buffer.name for a in stage.reads)),
            tuple(dict.fromkeys(a.place.buffer.name for a in stage.writes)),
        )

    def _axes(self, stage: Stage, attached: tuple[For, ...], around: Context) -> tuple[Variable, ...]:
        """The ranges of block axes over the attach path."""
        functions = [pb.within_budget(lambda v=value: pb.affine(v), None) for _, value in stage.axes]
        point = pb.whole(0)
        for function in functions:
            if function is not None:
                point = point.flat_product(isl.Set.from_pw_aff(function))

        def answer() -> Box | None:
            regions = (pb.forget(point.intersect_params(r.may), _inside(v, attached)) for v, r in stage.stores)
            return covering(_union(regions, point.dim(_SET)), around)

        box = pb.within_budget(answer, None)
        ranges = iter(() if box is None else box.ranges)
        found = [None if function is None or box is None else next(ranges) for function in functions]
        return tuple(Variable(v.name, r, value) for (v, value), r in zip(stage.axes, found, strict=True))

    def _attach_point(self, stages: Sequence[Stage], attached: tuple[For, ...]) -> Context:
        """What holds of the attach path while stages run."""
        reached = pb.never() if stages else pb.always()
        for loops, domain in (entry for stage in stages for entry in stage.stores):
            reached = reached.union(pb.forget(domain.may, _inside(loops, attached)))
        known = self.program.facts
        known = pb.within_budget(lambda: known.intersect(reached).coalesce(), known)
        return Context(known, {**self.sizes, **{loop.var.name: loop.var for loop in attached}})

    def _loops(self, stage: Stage) -> tuple[Variable, ...]:
        """The ranges of all loops around a stage, each over those around it."""
        outside = Context(self.program.facts, self.sizes)
        inside: dict[int, Context] = {}
        ranges: dict[int, Range | None] = {}
        paths = [loops for loops, _ in stage.stores]
        for path in paths:
            context = outside
            for loop in path:
                if id(loop) not in inside:
                    last = any(loops[-1] is loop for loops in paths if loops)
                    inside[id(loop)], ranges[id(loop)] = self._loop(stage, loop, context, last)
                context = inside[id(loop)]
        return tuple(Variable(loop.var.name, ranges[id(loop)]) for loop in stage.loops)

    def _loop(self, stage: Stage, loop: For, context: Context, last: bool) -> tuple[Context, Range | None]:
        """The range of a loop, and the context in it.

        Where a stage does not run at all, some loop around it must be empty: the `last` one, if no other is.
        """
        name = loop.var.name
        scope = {**context.scope, name: loop.var}

        def answer() -> tuple[Context, Range | None]:
            line, exact = self._line(stage, loop)
            there = line.params().intersect(context.known)
            found = range_of(line, context if last else Context(there, context.scope))
            if found is None:
                return Context(context.known, scope), None
            start, extent = pb.affine(found.min), pb.affine(found.extent)
            known = context.known
            if start is not None and extent is not None:
                value = pb.symbol(name)
                known = known.intersect(value.ge_set(start)).intersect(value.lt_set(start.add(extent))).coalesce()
            return Context(known, scope), replace(found, exact=found.exact and exact)

        return pb.within_budget(answer, (Context(context.known, scope), None))

    @staticmethod
    def _line(stage: Stage, loop: For) -> tuple[isl.Set, bool]:
        """Values of a loop variable at which a stage runs, over the loops around it."""
        name, out, exact = loop.var.name, pb.nothing(1), True
        for loops, reached in stage.stores:
            if not _holds(loops, loop):
                continue
            inside = [v.var.name for v in loops[[v is loop for v in loops].index(True) + 1 :]]
            line = isl.Set.from_pw_aff(pb.symbol(name)).intersect_params(pb.forget(reached.may, inside))
            out = out.union(pb.forget(line, [name]))
            exact = exact and reached.exact
        return out.coalesce(), exact

    # Buffers ---------------------------------------------------------------------------------------------------------

    def _buffer(self, place: Place) -> BufferBounds:
        producers = self.writers.get(place, [])
        attached = reduce(_common, (self.attached[s.position] for s in producers)) if producers else ()
        context = self._attach_point(producers, attached)
        names = self._coordinates(place)

        def part(region: isl.Set, exact: bool, iterations: isl.Set | None = None) -> Part:
            region = pb.within_budget(region.coalesce, region)
            return Part(region, exact, names, context, iterations)

        requests = [self._request(place, c, producers, attached, part) for c in self.readers.get(place, [])]
        wanted = _union([r.part.region for r in requests], len(names))
        writes = [a for s in producers for a in s.writes if a.place is place]
        made = _union([pb.forget(a.region, _inside(a.loops, attached)) for a in writes], len(names))
        requested = part(wanted, all(r.part.exact for r in requests), _only([r.part for r in requests]))
        computed = part(made, all(a.exact for a in writes))
        unread = None
        if not place.parameter:
            unread = self._unread(place, producers, attached, requests, computed, requested, part)
        whole = Box(tuple(Range(const(0, e.dtype), e, e) for e in place.buffer.shape))
        box = None if place.parameter else part(wanted.union(made), True).box
        return BufferBounds(
            place.buffer.name, place.parameter, tuple(s.name for s in producers), _path(attached), tuple(requests),
            requested, computed, unread, whole if box is None else box,
        )  # fmt: skip

    def _coordinates(self, place: Place) -> tuple[str, ...]:
        """Names for the coordinates of a buffer that no variable has."""
        stem = place.buffer.name.lower()
        while any(name.startswith(stem) and name[len(stem) :].isdigit() for name in self.names):
            stem += "_"
        return tuple(f"{stem}{k}" for k in range(len(place.buffer.shape)))

    def _request(
        self, place: Place, consumer: Stage, producers: Sequence[Stage], attached: tuple[For, ...], part: _PartMaker
    ) -> Request:
        """What a stage reads, relative to the attach point of the producers."""
        accesses = [a for a in consumer.reads if a.place is place]
        shared = reduce(_common, (a.loops for a in accesses), attached)
        before = any(p.position < consumer.position for p in producers) or not producers
        after = any(p.position >= consumer.position for p in producers)

        def answer() -> isl.Set:
            own = [pb.forget(a.region, _inside(a.loops, shared)) for a in accesses]
            now = _union(own, len(place.buffer.shape))
            out = now if before else pb.nothing(len(place.buffer.shape))
            if not after:
                return out
            apart = all(len(_common(p.around, a.loops)) == len(shared) for p in producers for a in accesses)
            return out.union(_at_later(now, _names(shared), strict=apart and producers[0] is not consumer))

        whole = pb.box(place.buffer.shape)
        region = pb.within_budget(answer, whole)
        exact = region is not whole and all(a.exact for a in accesses)
        turns = None
        if len(accesses) == 1 and not after:
            turns = pb.within_budget(lambda: _iterations(accesses[0], shared), None)
        return Request(consumer.name, _path(shared), part(region, exact, turns))

    def _unread(
        self,
        place: Place,
        producers: Sequence[Stage],
        attached: tuple[For, ...],
        requests: Sequence[Request],
        computed: Part,
        requested: Part,
        part: _PartMaker,
    ) -> Part:
        """What is computed at the attach point and overwritten, or forgotten, before anybody reads it."""
        outlives = len(_common(place.loops, attached)) < len(attached)
        first = min((p.position for p in producers), default=0)
        readers = self.readers.get(place, [])
        later = [c for c in readers if outlives and c not in producers]
        at_once = requested.region
        if later:
            near = {
                c.name for c in readers if c in producers or (c.position > first and self._within(c, place, attached))
            }
            at_once = _union([r.part.region for r in requests if r.consumer in near], len(computed.names))
        over = pb.within_budget(lambda: computed.region.subtract(at_once), None)
        for consumer in later:
            if over is None or over.is_empty():
                break
            reads = [a for a in consumer.reads if a.place is place]
            shared = reduce(_common, (a.loops for a in reads), attached)
            wanted = _union([pb.forget(a.region, _inside(a.loops, shared)) for a in reads], len(computed.names))
            question = _StillRead(over, computed.region, wanted, _names(attached), len(shared))
            over = pb.within_budget(lambda q=question, c=consumer: q.unread(first < c.position), None)
        if over is None:
            return part(computed.region, False)
        # one producer may overwrite another's results; and a consumer that comes first in a loop of the producer's own
        # may read less than it requests
        settled = len(producers) == 1 and all(self._apart(producers[0], c, place) for c in readers)
        out = part(over, computed.exact and requested.exact and settled)
        whole = pb.within_budget(lambda: _splits(computed.region, requested.region, over), False)
        return replace(out, without=(computed, requested)) if whole else out

    @staticmethod
    def _within(consumer: Stage, place: Place, attached: tuple[For, ...]) -> bool:
        """Whether a stage reads a buffer inside all loops of an attach path only."""
        return all(len(_common(a.loops, attached)) == len(attached) for a in consumer.reads if a.place is place)

    def _apart(self, producer: Stage, consumer: Stage, place: Place) -> bool:
        """Whether each run of a producer is over before the consumer reads anything that it has written."""
        if producer.position < consumer.position:
            return True
        own = producer.around[len(self.attached[producer.position]) :]
        return not any(_holds(a.loops, loop) for a in consumer.reads if a.place is place for loop in own)


_PartMaker = Callable[..., Part]


class _StillRead(Struct, frozen=True, eq=False):
    """Which of the elements `over`, computed at one iteration of `names`, survive until somebody reads them.

    `written` is what each iteration computes; `wanted` what is read, relative to the first `shared` names.
    """

    over: isl.Set
    written: isl.Set
    wanted: isl.Set
    names: tuple[str, ...]
    shared: int

    def unread(self, writes_first: bool) -> isl.Set:
        reading, writing = _primed(self.names[: self.shared], "'"), _primed(self.names, "''")
        late = pb.rename(self.wanted, reading)
        again = pb.rename(self.written, writing)
        outer = self.names[: self.shared]
        follows = _order(outer, [reading[n] for n in outer], strict=not writes_first)
        candidates = self.over.intersect(late).intersect_params(follows)
        between = _order(self.names, [writing[n] for n in self.names], strict=True).intersect(
            _order([writing[n] for n in outer], [reading[n] for n in outer], strict=not writes_first)
        )
        killed = candidates.intersect(again).intersect_params(between)
        alive = candidates.subtract(pb.forget(killed, writing.values()))
        return self.over.subtract(pb.forget(alive, reading.values()))


def _primed(names: Iterable[str], mark: str) -> dict[str, str]:
    return {n: n + mark for n in names}


def _order(first: Sequence[str], second: Sequence[str], *, strict: bool) -> isl.Set:
    """Where iteration `first` comes before `second`, or is it unless `strict`."""
    before, same = pb.in_order((pb.symbol(a), pb.symbol(b)) for a, b in zip(first, second, strict=True))
    return before if strict else before.union(same)


def _at_later(region: isl.Set, names: tuple[str, ...], *, strict: bool) -> isl.Set:
    """The union of a region over all later iterations, and this one unless `strict`."""
    marks = _primed(names, "'")
    late = pb.rename(region, marks).intersect_params(_order(names, list(marks.values()), strict=strict))
    return pb.forget(late, marks.values())


def _iterations(access: Access, shared: tuple[For, ...]) -> isl.Set | None:
    """The iterations inside shared loops, where each accesses an element of its own; else None."""
    relation = isl.Map.from_range(access.region)
    for k, name in enumerate(_inside(access.loops, shared)):
        position = relation.find_dim_by_name(_PARAM, name)
        if position < 0:
            return None  # the element does not depend on this loop
        relation = relation.move_dims(isl.dim_type.in_, k, _PARAM, position, 1)
    return relation.domain() if relation.is_bijective() else None


def _splits(whole: isl.Set, part: isl.Set, rest: isl.Set) -> bool:
    """Whether two disjoint sets make up a third."""
    return part.is_subset(whole) and part.is_disjoint(rest) and part.union(rest).is_equal(whole)


def _only(parts: list[Part]) -> isl.Set | None:
    return parts[0].iterations if len(parts) == 1 else None


def _union(regions: Iterable[isl.Set], rank: int) -> isl.Set:
    return reduce(lambda a, b: a.union(b), regions, pb.nothing(rank))


def _common(left: tuple[For, ...], right: tuple[For, ...]) -> tuple[For, ...]:
    shared = 0
    for a, b in zip(left, right, strict=False):
        if a is not b:
            break
        shared += 1
    return left[:shared]


def _holds(loops: Iterable[For], loop: For) -> bool:
    return any(v is loop for v in loops)  # equal loops may stand in different places


def _inside(loops: tuple[For, ...], outer: tuple[For, ...]) -> list[str]:
    return [loop.var.name for loop in loops[len(_common(loops, outer)) :]]


def _names(loops: Iterable[For]) -> tuple[str, ...]:
    return tuple(loop.var.name for loop in loops)


def _path(loops: tuple[For, ...]) -> tuple[str, ...]:
    """An attach path as it is written: innermost first."""
    return tuple(reversed(_names(loops)))


def _by_place(pairs: Iterable[tuple[Place, Stage]]) -> Mapping[Place, list[Stage]]:
    out: dict[Place, list[Stage]] = {}
    for place, stage in pairs:
        known = out.setdefault(place, [])
        if stage not in known:
            known.append(stage)
    return out
