"""A local that is copied out as a whole, computed where the copy stands (copy propagation of arrays)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

import islpy as isl
from msgspec import Struct

from ir.analysis import contents as held
from ir.analysis.effects import Effects, get
from ir.dtypes import DType
from ir.nodes import SKIP, TRUE, Alloc, Block, Buffer, CallStmt, Const, Expr, For, If, Load, Stmt, Store, Var, seq
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.polynomials import polynomial
from ir.program.edit import replace_buffer
from ir.program.scopes import allocated, flat
from ir.transform.stages.restrict import is_simple
from ir.transform.storage.contract import read_besides, tested
from ir.traverse import buffers_accessed, conjuncts_of, free_vars, has_kind, has_loads, substitute_expr

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


def is_copied_out(stmt: Alloc) -> bool:
    """Whether the last use of a local is a copy of some of it."""
    users = [part for part in flat(stmt)[1] if stmt.buffer in buffers_accessed(part)]
    return len(users) > 1 and _copy_of(stmt.buffer, users[-1]) is not None


def without_copy(stmt: Alloc, effects: Callable[[Stmt], Effects], known: isl.Set) -> Stmt | None:
    """`alloc C: s; Y[i + 1] = C[i] for all i; t` as `s; t` with elements of Y in place of C's; None where it is not so.

    What is copied of C must have been stored before, or Y would keep what it held, and nothing else of C be read;
    stores to the rest are left out. Nothing else may touch Y until the copy is done, nor C afterwards. `known` are
    values of the variables around.
    """
    local, parts = flat(stmt)
    source = stmt.buffer
    users = [k for k, part in enumerate(parts) if source in buffers_accessed(part)]
    copy = _copy_of(source, parts[users[-1]]) if len(users) > 1 else None
    if copy is None or has_kind(stmt, Block, CallStmt) or len({b.name for b in local}) < len(local):
        return None
    first, last, target = users[0], users[-1], copy.store.buffer
    made = parts[first:last]
    if target.dtype is not source.dtype or any(target in buffers_accessed(part) for part in made):
        return None
    moves = _by_names(copy) or _by_sets(copy, known)
    if moves is None or not _all_in(moves.region, made, source, known):
        return None
    done = effects(seq(*made))
    if not get(done.reads, source).is_empty() or not moves.region.is_subset(get(done.must, source)):
        return None
    made = [tested(part, source, moves.tests, known) for part in made]
    changed = [replace_buffer(part, source, target, moves.place) for part in made]
    return allocated([b for b in local if b != source], [*parts[:first], *changed, *parts[last + 1 :]])


class _Copy(Struct, frozen=True):
    """The one store of a nest, which copies elements of a buffer, and what is around it."""

    store: Store
    element: Load
    loops: dict[Var, For]
    guards: tuple[Expr, ...]


class _Moves(Struct, frozen=True):
    """Which elements of a buffer are copied, and where to, by their coordinates."""

    region: isl.Set
    copied: Expr
    places: tuple[Expr, ...]

    def place(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self._at(place, indices) for place in self.places)

    def tests(self, store: Store) -> Iterable[Expr]:
        """That an element is copied."""
        return conjuncts_of(self._at(self.copied, store.indices))

    def _at(self, expr: Expr, indices: tuple[Expr, ...]) -> Expr:
        return substitute_expr(expr, {held.coordinate(k, i.dtype): i for k, i in enumerate(indices)})


def _copy_of(source: Buffer, stmt: Stmt) -> _Copy | None:
    loops: dict[Var, For] = {}
    guards: list[Expr] = []
    while True:
        match stmt:
            case For(kind="serial" | "parallel", var=var, body=body):
                loops[var] = stmt
                stmt = body
            case If(cond=cond, then=then, other=other) if other == SKIP:
                guards.append(cond)
                stmt = then
            case Store(value=Load() as element) if loops and element.buffer == source != stmt.buffer:
                return _Copy(stmt, element, loops, tuple(guards))
            case _:
                return None


def _all_in(region: isl.Set, parts: Sequence[Stmt], buffer: Buffer, known: isl.Set) -> bool:
    """Whether statements read a region alone of a buffer, besides elements that they replace."""
    read = (read_besides(part, buffer, known) for part in parts)
    return all(found is None or found.is_subset(region) for found in read)


def _by_names(copy: _Copy) -> _Moves | None:
    """A copy of a whole buffer, along its axes, whatever the sizes of the target are."""
    source, indices = copy.element.buffer, copy.element.indices
    if (
        copy.guards
        or not _reads_all(indices, source, copy.loops)
        or not _tells_apart(copy.store.indices, [*copy.loops])
    ):
        return None
    places = tuple(held.over_coordinates(i, indices) for i in copy.store.indices)
    return _Moves(pb.box(source.shape), TRUE, places)


def _by_sets(copy: _Copy, known: isl.Set) -> _Moves | None:
    """A copy of some elements by affine index maps that tell elements of both buffers apart."""
    domain, indices = known, copy.element.indices
    exact = [pb.loop_domain(v, loop.start, loop.extent) for v, loop in copy.loops.items()]
    exact += map(pb.condition, copy.guards)
    points = pb.point((*indices, *copy.store.indices))
    if points is None or not all(d.exact for d in exact) or len({i.dtype for i in indices}) != 1:
        return None
    domain = reduce(lambda a, b: a.intersect(b.must), exact, known)
    pairs = pb.forget(points.intersect_params(domain), [v.name for v in copy.loops])
    rank, to = len(indices), len(copy.store.indices)
    places, sources = _of_coordinates(pairs, 0, rank), _of_coordinates(pairs, rank, to)
    if not all(isl.Map.from_range(one).is_single_valued() for one in (places, sources)):
        return None
    around = free_vars(*copy.store.indices, *indices, *(e for o in copy.loops.values() for e in (o.start, o.extent)))
    scope = {v.name: v for v in around if v not in copy.loops}
    scope |= {v.name: v for v in (held.coordinate(axis, indices[0].dtype) for axis in range(rank))}
    region = pairs.project_out(_SET, rank, to)
    inside = held.coordinates(region)
    found = [readback.coordinate(places, axis, upper=False) for axis in range(to)]
    if any(f is None or not pb.variables(f.domain()) <= scope.keys() for f in found):
        return None
    written = tuple(readback.expression(f, scope, inside) for f in found if f is not None)
    whole = held.coordinates(pb.box(copy.element.buffer.shape)).intersect(known)
    copied = readback.condition(inside, scope, whole)
    return _Moves(region, copied, written) if all(map(is_simple, written)) else None


def _of_coordinates(points: isl.Set, first: int, count: int) -> isl.Set:
    """Points with some of their dimensions as parameters, called as coordinates are."""
    at = points.dim(_PARAM)
    points = points.move_dims(_PARAM, at, _SET, first, count)
    for axis in range(count):
        points = points.set_dim_name(_PARAM, at + axis, held.coordinate(axis, DType.INT32).name)
    return points


def _reads_all(indices: Sequence[Expr], buffer: Buffer, loops: Mapping[Var, For]) -> bool:
    """Whether each dimension of a buffer has a loop through all of it, or one element."""
    left = set(loops)
    for index, extent in zip(indices, buffer.shape, strict=True):
        if isinstance(index, Var) and index in left:
            loop = loops[index]
            left.remove(index)
            if not (isinstance(loop.start, Const) and loop.start.value == 0 and loop.extent.same(extent)):
                return False
        elif not (isinstance(index, Const) and isinstance(extent, Const) and (index.value, extent.value) == (0, 1)):
            return False
    return not left


def _tells_apart(indices: Sequence[Expr], names: Sequence[Var]) -> bool:
    """Whether places differ wherever some variables do: for each there is an index that is a multiple of it and more,
    in which there is no other one."""
    if any(map(has_loads, indices)):
        return False
    alone = [mine[0] for i in indices if len(mine := _factors(i, names)) == 1 and mine[0] is not None]
    return {*names} == {*alone}


def _factors(index: Expr, names: Sequence[Var]) -> list[Var | None]:
    """Of the terms of a sum those that some variables are in: None where it is more than a multiple of one."""
    terms = (term for term in polynomial(index) if any(free_vars(factor) & {*names} for factor in term))
    return [term[0] if len(term) == 1 and isinstance(term[0], Var) else None for term in terms]
