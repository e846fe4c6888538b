"""Ways to keep a buffer that are worth pricing: as it is, in tiles, rounded up, transposed, as stages copy it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

import islpy as isl

from egraph_rules.authoring.rounding_up import room_for_tiles
from egraph_rules.cost.target import Target
from egraph_rules.modules.graph import Between, Graph
from egraph_rules.modules.pads import add_new, given_by, wanted_by, wanted_for
from ir.dtypes import DType
from ir.errors import OptionError, ScheduleError, suggest
from ir.nodes import Buffer, Const, Expr, For, Load, PrimFunc, Select, Stmt, Store, Undef, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import promised, range_of
from ir.presburger.geometry import geometry
from ir.presburger.index_map import IndexMap
from ir.program.blocks import lower_blocks
from ir.program.calls import minus, plus
from ir.schedule.storage import Storage
from ir.traverse import free_vars, loads, node_count, results_of, stmt_children, stmt_exprs, stores_in

Map = IndexMap | Callable[..., object]
Maps = Mapping[str, Map | Iterable[Map]]
_MOST_ROOM = 16  # around elements, where extents are no numbers
_ROUNDS = 4  # of following values from readers to writers and back; chains are seldom longer before they repeat


def storages(
    graph: Graph, target: Target, maps: Maps, instructions: Iterable[PrimFunc] = ()
) -> dict[str, list[Storage]]:
    """For each open buffer the ways to keep it, the way it is first; `instructions` are those that nests may become.

    Raises:
        OptionError: `maps` names a buffer that is not open.
        ScheduleError: a map of the caller is not affine or not injective.
    """
    given, known = _given(graph, maps), tuple(instructions)
    places = {name: list(_places(graph, b, target, given.get(name, ()), known)) for name, b in graph.between.items()}
    pads = wanted(graph)
    found: dict[str, list[Storage]] = {}
    for name, between in graph.between.items():
        found[name] = [Storage.plain(between.buffer)]
        for storage in places[name]:
            found[name].append(storage)
            if storage.has_padding:
                found[name] += [storage.padded_with(value, standing=between.one_way) for value in pads[name]]
    return found


def _given(graph: Graph, maps: Maps) -> dict[str, tuple[Map, ...]]:
    """The maps of the caller, of buffers that are open."""
    if not isinstance(maps, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"maps are given by the name of a buffer, found {type(maps).__name__}"
        raise OptionError("maps", message, help="write them as maps={'H': [lambda i: [i // 4, i % 4]]}")
    for name in maps:
        if name not in graph.between:
            why = graph.fixed.get(name)
            message = f"`{name}` stays as it is: {why}" if why else f"{graph.entry.name} has no buffer `{name}`"
            help = "" if why else suggest(name, graph.between)
            raise OptionError("maps", message, graph.entry.span, help=help or f"open are {', '.join(graph.between)}")
    return {name: tuple(m) if isinstance(m, Iterable) else (m,) for name, m in maps.items()}


def _places(
    graph: Graph,
    between: Between,
    target: Target,
    maps: Iterable[Map],
    instructions: Sequence[PrimFunc],
) -> Iterator[Storage]:
    """Maps of a buffer, each once; those of callers first, which must be maps."""
    buffer, seen = between.buffer, [Storage.plain(between.buffer)]
    rank = len(buffer.shape)
    for given in maps:
        storage = Storage(buffer.shape, buffer.dtype, IndexMap.of(given, rank), Undef(buffer.dtype))
        geometry(buffer.shape, storage.index_map, name=buffer.name, span=buffer.span)  # refuses what is no layout
        if not any(_same(storage, s) for s in seen):
            seen.append(storage)
            yield storage
    proposed = (
        *_copied(graph, buffer), *_with_room(graph, buffer), *_for_tiles(graph, buffer, instructions),
        *_tiled(buffer, target), *_transposed(graph, buffer),
    )  # fmt: skip
    for storage in proposed:
        try:
            storage.geometry  # noqa: B018
        except ScheduleError:
            continue
        if not any(_same(storage, s) for s in seen):
            seen.append(storage)
            yield storage


def _same(one: Storage, other: Storage) -> bool:
    return one.serves(other.padded_with(Undef(other.dtype)))


def _indices(rank: int) -> tuple[Var, ...]:
    return tuple(Var(f"i{k}", DType.INT32) for k in range(rank))


def _tiled(buffer: Buffer, target: Target) -> Iterator[Storage]:
    """Rounded up to whole tiles of the target, and tile by tile."""
    if not target.tiles or not all(isinstance(e, Const) for e in buffer.shape):
        return
    rank = len(buffer.shape)
    count = min(rank, len(target.tiles))
    tiles = (1,) * (rank - count) + target.tiles[-count:]
    sizes = [int(e.value) for e in buffer.shape if isinstance(e, Const)]
    params = _indices(rank)
    rounded = [-(-n // t) * t for n, t in zip(sizes, tiles, strict=True)]
    undef = Undef(buffer.dtype)
    if rounded != sizes:
        extents = tuple(const(n, DType.INT32) for n in rounded)
        yield Storage(buffer.shape, buffer.dtype, IndexMap(params, params), undef, extents)
    blocked = [*zip(params, tiles, strict=True)]
    outer = tuple(v if t == 1 else v // t for v, t in blocked)
    inner = tuple(v % t for v, t in blocked if t > 1)
    if inner and prod(sizes) >= prod(tiles):
        yield Storage(buffer.shape, buffer.dtype, IndexMap(params, (*outer, *inner)), undef)


def _transposed(graph: Graph, buffer: Buffer) -> Iterator[Storage]:
    """The last two axes swapped, where some call walks along the one before the last in its innermost loop."""
    rank = len(buffer.shape)
    if rank < 2 or not any(_walks_across(call.callee, p) for call in graph.calls for p, b in call.buffers
                           if b == buffer.name):  # fmt: skip
        return
    params = _indices(rank)
    yield Storage(
        buffer.shape, buffer.dtype, IndexMap(params, (*params[:-2], params[-1], params[-2])), Undef(buffer.dtype)
    )


def _with_room(graph: Graph, buffer: Buffer) -> Iterator[Storage]:
    """With room before and after its elements, as far as callees would read if nothing guarded their loads."""
    for call in graph.calls:
        for param, name in call.buffers:
            room = _room(call.callee, _param(call.callee, param)) if name == buffer.name else None
            if room is None or not any(map(any, room)):
                continue
            sizes = (int(e.value) if isinstance(e, Const) else _MOST_ROOM for e in buffer.shape)
            if all(a + b <= n for (a, b), n in zip(room, sizes, strict=True)):
                params = _indices(len(buffer.shape))
                moved = tuple(v + a if a else v for v, (a, _) in zip(params, room, strict=True))
                extents = tuple(plus(e, const(a + b, e.dtype)) for e, (a, b) in zip(buffer.shape, room, strict=True))
                yield Storage(buffer.shape, buffer.dtype, IndexMap(params, moved), Undef(buffer.dtype), extents)


def _for_tiles(graph: Graph, buffer: Buffer, instructions: Sequence[PrimFunc]) -> Iterator[Storage]:
    """With room for whole tiles of the instructions that nests of callees may become."""
    sizes = [int(e.value) for e in buffer.shape if isinstance(e, Const)]
    for call, instruction in product(graph.calls, instructions) if len(sizes) == len(buffer.shape) else ():
        params = [_param(call.callee, p) for p, name in call.buffers if name == buffer.name]
        for room in room_for_tiles(lower_blocks(call.callee), instruction) if params else ():
            extents = [tuple(map(max, room[p], sizes)) for p in params if p in room]
            for found in (e for e in extents if list(e) != sizes):
                axes, shape = _indices(len(sizes)), tuple(const(n, DType.INT32) for n in found)
                yield Storage(buffer.shape, buffer.dtype, IndexMap(axes, axes), Undef(buffer.dtype), shape)


def _room(func: PrimFunc, buffer: Buffer) -> list[tuple[int, int]] | None:
    """How far loads of a buffer go before and past its elements on each axis, whatever guards them, if known."""
    room = [(0, 0)] * len(buffer.shape)
    unknown = False

    def visit(stmt: Stmt, known: isl.Set) -> None:
        nonlocal unknown
        for load in (e for expr in stmt_exprs(stmt) for e in loads(expr) if e.buffer.name == buffer.name):
            for axis, (index, extent) in enumerate(zip(load.indices, buffer.shape, strict=True)):
                first, _ = range_of(index, known)
                _, last = range_of(minus(index, extent), known)
                unknown |= first is None or last is None
                if first is not None and last is not None:
                    room[axis] = max(room[axis][0], -first), max(room[axis][1], last + 1)
        if isinstance(stmt, For):
            known = pb.within_loops(known, [stmt])
        for part in stmt_children(stmt):
            visit(part, known)

    visit(func.body, promised(func))
    return None if unknown else room


def _walks_across(func: PrimFunc, name: str) -> bool:
    """Whether the innermost loop around some access is over the last axis but one."""

    def visit(stmt: Stmt, around: tuple[Var, ...]) -> bool:
        match stmt:
            case For(var=var, body=body):
                return visit(body, (*around, var))
            case Store(buffer=buffer, indices=indices, value=value):
                accesses = [(buffer, indices), *((e.buffer, e.indices) for e in loads(value))]
                return bool(around) and any(
                    b.name == name and i[-2].same(around[-1]) and not i[-1].same(around[-1]) for b, i in accesses
                )
            case _:
                return any(visit(part, around) for part in stmt_children(stmt))

    return visit(func.body, ())


def _copied(graph: Graph, buffer: Buffer) -> Iterator[Storage]:
    """As callees copy it to or from other buffers: `L[i // 4, i % 4] = A[i]`, `L[k, j] = A[4 * k + j]`."""
    for call in graph.calls:
        for param, name in call.buffers:
            if name == buffer.name:
                for other, here, there in _copies(call.callee, param):
                    found = _map_of(buffer, here, there, other)
                    if found is not None:
                        yield found


def _copies(func: PrimFunc, name: str) -> Iterator[tuple[Buffer, tuple[Expr, ...], tuple[Expr, ...]]]:
    """Buffers that hold elements of a parameter: each with indices into the parameter and into itself."""
    for store in stores_in(func.body):
        value = store.value
        sources = (value.then, value.other) if isinstance(value, Select) else (value,)
        for source in (s for s in sources if isinstance(s, Load) and s.buffer != store.buffer):
            if source.buffer.name == name:
                yield store.buffer, source.indices, store.indices
            elif store.buffer.name == name:
                yield source.buffer, store.indices, source.indices


def _map_of(buffer: Buffer, here: tuple[Expr, ...], there: tuple[Expr, ...], other: Buffer) -> Storage | None:
    """The map from indices of a buffer to those of a copy, from one pair of them; None where it is no such map."""
    params = _indices(len(buffer.shape))

    def question() -> tuple[Expr, ...] | None:
        spot, every = pb.point((*here, *there)), pb.point(params)
        sizes = {v.name for e in (*buffer.shape, *other.shape) for v in free_vars(e)}
        if spot is None or every is None or sizes & {v.name for v in params}:
            return None
        pairs = spot.intersect(pb.box((*buffer.shape, *other.shape)))
        places = _named(pb.forget(pairs, pb.variables(pairs) - sizes), params)
        known = every.intersect(pb.box(buffer.shape)).params()
        if not (known.is_subset(places.params()) and isl.Map.from_range(places).is_single_valued()):
            return None
        scope: dict[str, Expr] = {v.name: v for v in params}
        scope |= {v.name: v for e in (*buffer.shape, *other.shape) for v in free_vars(e)}
        ends = ((places.dim_min(k), places.dim_max(k)) for k in range(len(there)))  # one value, in two forms
        return tuple(min((readback.expression(e, scope, known) for e in pair), key=node_count) for pair in ends)

    results = pb.within_budget(question, None)
    if results is None:
        return None
    return Storage(buffer.shape, buffer.dtype, IndexMap(params, results), Undef(buffer.dtype), other.shape)


def _named(pairs: isl.Set, params: Sequence[Var]) -> isl.Set:
    """A set of pairs of places with the coordinates of the first as names."""
    first = pairs.dim(isl.dim_type.param)
    pairs = pairs.move_dims(isl.dim_type.param, first, isl.dim_type.set, 0, len(params))
    for k, var in enumerate(params):
        pairs = pairs.set_dim_name(isl.dim_type.param, first + k, var.name)
    return pairs


def wanted(graph: Graph) -> dict[str, list[Const]]:
    """Values that the padding of each open buffer might hold: what reductions want, followed through the calls."""
    found: dict[str, list[Const]] = {name: [] for name in graph.between}
    for call in graph.calls:
        for param, name in call.buffers:
            for value in wanted_by(call.callee, _param(call.callee, param)):
                add_new(found[name], value)
    for _ in range(_ROUNDS):
        new = False
        for call in reversed(graph.calls):
            written = {b.name for b in results_of(call.callee)}
            for result, out in ((p, b) for p, b in call.buffers if p in written):
                for param, name in ((p, b) for p, b in call.buffers if p not in written):
                    a, b = _param(call.callee, param), _param(call.callee, result)
                    for value in list(found[out]):
                        new |= add_new(found[name], wanted_for(call.callee, a, b, value))
                    for value in list(found[name]):
                        new |= add_new(found[out], given_by(call.callee, a, b, value))
        if not new:
            break
    return found


def _param(func: PrimFunc, name: str) -> Buffer:
    return next(b for b in func.buffers if b.name == name)
