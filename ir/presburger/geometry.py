"""What an index map does to a box of indices: where it puts elements, what shape that needs, what it leaves free.

Owns the questions to isl and the expressions read back from the answers; knows nothing of programs. Indices stand for
themselves as isl parameters under names that no program can use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import islpy as isl
from msgspec import Struct

from ir.dtypes import DType
from ir.errors import Span
from ir.fold import fold
from ir.nodes import FALSE, NEGATED, TRUE, Binary, Cast, Compare, Const, Expr, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.program.edit import refuse
from ir.traverse import free_vars, map_expr, substitute_expr, walk_expr

_WIDE = (DType.INT64, DType.UINT32, DType.UINT64)
_OPERATIONS = 2_000_000  # all questions about one map; those people write need some thousand


def apply(index_map: IndexMap, indices: Sequence[Expr]) -> tuple[Expr, ...]:
    """The results of a map, written in int32, at indices of any integer dtype; constants are computed."""
    sizes = free_vars(*index_map.results) - set(index_map.params)
    dtype = DType.INT64 if any(e.dtype in _WIDE for e in (*indices, *sizes)) else DType.INT32
    values = {v: _as(i, dtype) for v, i in zip(index_map.params, indices, strict=True)}

    def visit(expr: Expr) -> Expr:
        match expr:
            case Var() if expr in values:
                return values[expr]
            case Var() | Const() if expr.dtype.is_integer:
                return _as(expr, dtype)
            case Cast(operand=a) if a.dtype is expr.dtype:
                return a
            case _:
                return _folded(expr)

    return tuple(map_expr(r, visit) for r in index_map.results)


def _as(expr: Expr, dtype: DType) -> Expr:
    if expr.dtype is dtype or (expr.dtype is DType.INT64 and dtype is DType.INT32):
        return expr
    return const(int(expr.value), dtype) if isinstance(expr, Const) else Cast(dtype, expr)


def _folded(expr: Expr) -> Expr:
    """An operation on numbers computed, and what changes nothing left out."""
    match expr:
        case Binary(lhs=Const(), rhs=Const()) if expr.dtype.is_integer:
            return fold(expr)
        case (
            Binary(op="add" | "sub", lhs=a, rhs=Const(value=0))
            | Binary(op="mul" | "floordiv", lhs=a, rhs=Const(value=1))
        ):
            return a if expr.dtype.is_integer else expr
        case _:
            return expr


class Geometry(Struct, frozen=True, eq=False, dict=True):
    """An index map on a logical box. `indices` are the isl parameters that stand for physical indices.

    `image` holds for the physical indices where an element lies, `box` for those inside `physical_shape`; both are
    params sets over `indices` and the sizes in the shapes.
    """

    index_map: IndexMap
    logical_shape: tuple[Expr, ...]
    physical_shape: tuple[Expr, ...]
    indices: tuple[Var, ...]
    graph: isl.Set  # logical coordinates of the element at `indices`
    image: isl.Set
    names: Mapping[str, Expr]  # what parameters of the sets other than `indices` stand for

    @cached_property
    def box(self) -> isl.Set:
        """Physical indices inside the physical shape."""
        here = pb.point(self.indices)
        assert here is not None
        return here.intersect(pb.box(self.physical_shape, _opaque(self.names))).params()

    @cached_property
    def padding(self) -> isl.Set:
        """Physical indices where no element lies."""
        return self.box.subtract(self.image).coalesce()

    @property
    def has_padding(self) -> bool:
        """Whether there are such indices, for some sizes."""
        return not self.padding.is_empty()

    def places(self, where: isl.Set) -> isl.Set:
        """A params set over `indices` as a region of the physical buffer."""
        here = pb.point(self.indices)
        assert here is not None
        return pb.forget(here.intersect_params(where), [v.name for v in self.indices])

    # Expressions -----------------------------------------------------------------------------------------------------

    def inside(self, indices: Sequence[Expr]) -> Expr:
        """The condition that an element lies at physical indices, for indices within the physical shape."""
        return self._decided(indices)[0] if self.has_padding else TRUE

    def outside(self, indices: Sequence[Expr]) -> Expr:
        """The negation of `inside`, as people write it."""
        return self._decided(indices)[1] if self.has_padding else FALSE

    def _decided(self, indices: Sequence[Expr]) -> tuple[Expr, Expr]:
        found = pb.within_budget(lambda: self._conditions(indices), None, _OPERATIONS)
        if found is None:
            message = "the padding of the index map has no condition that could be found in few steps"
            refuse("index-map", message, notes=[str(self.index_map)], help="use a simpler index map")
        return found

    def _conditions(self, indices: Sequence[Expr]) -> tuple[Expr, Expr]:
        """`inside` and `outside`: that the logical index is in its range, or what isl makes of the sets if shorter."""
        candidates: list[tuple[Expr, Expr]] = []
        if (parts := self._comparisons(indices)) is not None:
            yes = [Binary(op, left, right) for op, left, right in parts]
            no = [Binary(NEGATED[op], left, right) for op, left, right in parts]
            candidates.append((_joined("and", yes), _joined("or", no)))
        if not candidates or not self._has_affine_inverse:
            candidates.append((self._condition(self.image, indices), self._condition(self.padding, indices)))
        return min(candidates, key=lambda pair: len(to_script(pair[0])) + len(to_script(pair[1])))

    def _condition(self, holds: isl.Set, indices: Sequence[Expr]) -> Expr:
        box, order = self.box.align_params(self._order()), self._order()
        return map_expr(readback.condition(holds.align_params(order), self._scope(indices), box), _below)

    @cached_property
    def _inverse(self) -> list[isl.PwAff]:
        """Each logical index as a function of the physical ones, where there is an element."""
        where = self.image.intersect(self.box)
        return [self.graph.dim_max(axis).gist_params(where).coalesce() for axis in range(len(self.logical_shape))]

    @property
    def _has_affine_inverse(self) -> bool:
        return all(f.n_piece() == 1 and f.get_pieces()[0][1].dim(isl.dim_type.div) == 0 for f in self._inverse)

    def _comparisons(self, indices: Sequence[Expr]) -> list[tuple[Compare, Expr, Expr]] | None:
        """Comparisons of the inverse map with the logical shape that together are `inside`, if it is affine."""
        parts: list[tuple[Compare, isl.PwAff, isl.PwAff, isl.Set]] = []
        for inverse, extent in zip(self._inverse, self.logical_shape, strict=True):
            size = pb.affine(extent, _opaque(self.names))
            if inverse.n_piece() != 1 or size is None:
                return None
            whole = inverse.get_pieces()[0][1]
            shift = whole.get_constant_val()
            plain = shift.is_int() and whole.dim(isl.dim_type.div) == 0
            offset = pb.number(shift.to_python() if plain else 0)
            value = isl.PwAff.from_aff(whole).sub(offset)
            low, high = offset.neg(), size.sub(offset)
            parts.append(("ge", value, low, value.ge_set(low)))
            parts.append(("lt", value, high, value.lt_set(high)))
        if not _all(self.box, (p[3] for p in parts)).is_equal(self.image.intersect(self.box)):
            return None
        kept = list(parts)
        for part in parts:
            rest = [p for p in kept if p is not part]
            if _all(self.box, (p[3] for p in rest)).is_subset(part[3]):
                kept = rest
        return [(op, *_level(self._read(a, indices), self._read(b, indices))) for op, a, b, _ in kept]

    def _read(self, value: isl.PwAff, indices: Sequence[Expr]) -> Expr:
        box = self.box.align_params(self._order())
        return readback.expression(value.align_params(self._order()), self._scope(indices), box)

    def _scope(self, indices: Sequence[Expr]) -> dict[str, Expr]:
        return {**self.names, **{v.name: e for v, e in zip(self.indices, indices, strict=True)}}

    def _order(self) -> isl.Space:
        """Parameters in the order in which expressions shall mention them."""
        return _params([*self.names, *(v.name for v in self.indices)])


def _params(names: Sequence[str]) -> isl.Space:
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(names))
    for k, name in enumerate(names):
        space = space.set_dim_name(isl.dim_type.param, k, name)
    return space


def _all(start: isl.Set, parts: Iterable[isl.Set]) -> isl.Set:
    for part in parts:
        start = start.intersect(part)
    return start


def _below(expr: Expr) -> Expr:
    """`x < 14` for `x <= 13`."""
    match expr:
        case Binary(op="le", lhs=a, rhs=Const(value=c)):
            return Binary("lt", a, const(int(c) + 1, a.dtype))
        case _:
            return expr


def _joined(op: str, parts: Sequence[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = result & part if op == "and" else result | part
    return result


def _level(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    wide = max((left.dtype, right.dtype), key=lambda d: d.bits)
    return _as(left, wide), _as(right, wide)


# Analysis ------------------------------------------------------------------------------------------------------------


def geometry(
    shape: Sequence[Expr],
    index_map: IndexMap,
    *,
    name: str,
    span: Span | None = None,
    physical_shape: Sequence[Expr] | None = None,
) -> Geometry:
    """Analyse a map on the box of a shape; the physical shape is the smallest that holds all elements, if not given.

    Where an extent depends on sizes, its maximum over all sizes is taken if that is finite: `[i // 4, i % 4]` of `n`
    elements is `((n + 3) // 4, 4)`.

    Raises:
        ScheduleError: the map is not quasi-affine, two elements go to one place, an index gets negative or leaves its
            dtype or the physical shape, or the shape cannot be expressed. `name` and `span` say of which buffer.
    """
    answer = pb.within_budget(lambda: _geometry(shape, index_map, name, span, physical_shape), None, _OPERATIONS)
    if answer is None:
        message = f"the questions about the layout of {name} need too many steps"
        refuse("index-map", message, span, notes=[str(index_map)], help="use a simpler index map")
    return answer


def _geometry(
    shape: Sequence[Expr], index_map: IndexMap, name: str, span: Span | None, physical: Sequence[Expr] | None
) -> Geometry:
    names = _names(shape, index_map)
    logical = [Var(f"{v.name}'{k}'", v.dtype) for k, v in enumerate(index_map.params)]
    results = index_map(logical)
    indices = tuple(Var(f"place{k}'", DType.INT32) for k in range(len(results)))
    here = pb.point(logical)
    there = pb.point(results)
    if here is None or there is None:
        message = f"the index map of {name} is not built of + - * // % with numbers: {index_map}"
        refuse("index-map", message, span, help="multiply and divide by numbers only")
    inside = here.intersect(pb.box(shape, _opaque(names))).params()
    _check(name, span, logical, there.intersect_params(inside), results)
    _check_once(name, span, logical, results, inside)
    graph = here.intersect_params(inside)
    for value, index in zip(results, indices, strict=True):
        place, own = pb.affine(value), pb.affine(index)
        assert place is not None and own is not None
        graph = graph.intersect_params(place.eq_set(own))
    graph = pb.forget(graph, [v.name for v in logical]).align_params(_params([*names, *(v.name for v in indices)]))
    image = graph.params().coalesce()
    if physical is None:
        places = pb.forget(there.intersect_params(inside), [v.name for v in logical])
        known = _sizes(shape, names)
        physical = [_extent(places, axis, names, known, name, span) for axis in range(len(results))]
    found = Geometry(index_map, tuple(shape), tuple(physical), indices, graph, image, names)
    if not found.image.is_subset(found.box):
        extents = ", ".join(map(to_script, physical))
        message = f"the index map of {name} puts elements outside of ({extents})"
        refuse("index-map", message, span, notes=[str(index_map)], help="make the extents larger")
    _ = found.padding  # within the budget
    return found


def _names(shape: Sequence[Expr], index_map: IndexMap) -> dict[str, Expr]:
    """Sizes by name, and extents that are not affine under a name that stands for them."""
    mentioned = {v: None for e in (*shape, *index_map.results) for v in walk_expr(e) if isinstance(v, Var)}
    names: dict[str, Expr] = {v.name: v for v in mentioned if v not in index_map.params}
    for k, extent in enumerate(shape):
        if pb.affine(extent) is None:
            names[f"extent{k}'"] = extent
    return names


def _opaque(names: Mapping[str, Expr]) -> pb.Opaque:
    return lambda expr: next((n for n, e in names.items() if n.endswith("'") and e.same(expr)), None)


def _check(name: str, span: Span | None, logical: Sequence[Var], places: isl.Set, results: Sequence[Expr]) -> None:
    """Refuse places with a negative index, and maps with results or parts outside their dtype."""
    for axis in range(len(results)):
        negative = places.subtract(places.lower_bound_val(isl.dim_type.set, axis, isl.Val.zero(isl.DEFAULT_CONTEXT)))
        if (found := pb.sample(negative)) is not None:
            note = f"{_element(name, logical, found[0])} would go to [{', '.join(map(str, found[1]))}]"
            refuse("negative-index", f"the index map of {name} gives negative indices", span, notes=[note],
                   help="add an offset to the index")  # fmt: skip
    if pb.variables(places) - {v.name for v in logical}:
        return  # sizes are taken to be small enough, as everywhere
    for expr in dict.fromkeys(e for r in results for e in walk_expr(r)):
        value = pb.affine(expr) if expr.dtype.is_signed and not isinstance(expr, (Var, Const)) else None
        if value is None:
            continue
        low, high = pb.number(expr.dtype.min), pb.number(expr.dtype.max)
        found = pb.sample(places.params().intersect(value.lt_set(low).union(value.gt_set(high))))
        if found is not None:
            note = f"`{_plain(expr)}` does so for {_element(name, logical, found[0])}"
            refuse("index-map", f"the index map of {name} leaves {expr.dtype}", span, notes=[note])


def _check_once(name: str, span: Span | None, logical: Sequence[Var], results: Sequence[Expr], inside: isl.Set) -> None:
    """Refuse a map that puts two elements into one place."""
    others = {v: Var(v.name + "'", v.dtype) for v in logical}
    pairs = inside.intersect(pb.rename(inside, {v.name: o.name for v, o in others.items()}))
    for result in results:
        left, right = pb.affine(result), pb.affine(substitute_expr(result, others))
        assert left is not None and right is not None
        pairs = pairs.intersect(left.eq_set(right))
    differ = pb.never()
    for v, o in others.items():
        differ = differ.union(pb.symbol(v.name).lt_set(pb.symbol(o.name)))
    there = pb.point(results)
    assert there is not None
    found = pb.sample(there.intersect_params(pairs.intersect(differ)))
    if found is not None:
        one, two = _element(name, logical, found[0]), _element(name, tuple(others.values()), found[0])
        note = f"{one} and {two} would both go to [{', '.join(map(str, found[1]))}]"
        refuse("not-injective", f"the index map of {name} puts two elements into one place", span, notes=[note],
               help="give each element a place of its own, as in [i // 4, i % 4]")  # fmt: skip


def _element(name: str, logical: Sequence[Var], values: Mapping[str, int]) -> str:
    own = {v.name for v in logical}
    sizes = [f"{k} = {v}" for k, v in values.items() if k not in own and not k.endswith("'")]
    at = f"{name}[{', '.join(str(values.get(v.name, 0)) for v in logical)}]"
    return f"{at} (with {', '.join(sizes)})" if sizes else at


def _plain(expr: Expr) -> str:
    """Text of an expression over logical indices, under the names that the user gave them."""
    inner = {v: Var(v.name.split("'")[0], v.dtype) for v in free_vars(expr) if v.name.endswith("'")}
    return to_script(substitute_expr(expr, inner))


def _sizes(shape: Sequence[Expr], names: Mapping[str, Expr]) -> isl.Set:
    """What holds of sizes: extents are not negative."""
    known = pb.always()
    for extent in shape:
        value = pb.affine(extent, _opaque(names))
        if value is not None:
            known = known.intersect(value.ge_set(pb.number(0)))
    return known


def _extent(
    places: isl.Set, axis: int, names: Mapping[str, Expr], known: isl.Set, name: str, span: Span | None
) -> Expr:
    """One more than the greatest index on an axis; where there are no elements, anything that is not negative."""
    if places.is_empty():
        return const(0, DType.INT32)
    greatest = pb.forget(places, names).dim_max_val(axis)
    if greatest.is_int():
        return readback.expression(pb.number(greatest.to_python() + 1), names)
    top = readback.coordinate(places, axis, upper=True)
    if top is None:
        message = f"axis {axis} of the transformed {name} has no bound"
        refuse("unbounded", message, span, help="give the buffer a shape that is affine in its sizes")
    extent = readback.expression(top.add(pb.number(1)), names)
    value = pb.affine(extent, _opaque(names))
    if value is not None and known.is_subset(value.ge_set(pb.number(0))):
        return extent
    return Binary("max", extent, const(0, extent.dtype))
