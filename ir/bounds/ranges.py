"""Sets of integers as ranges, boxes and numbers of elements, in terms of the parameters of the sets.

Each form is compared with the set before it is given out, so nothing here is more than a way of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Binary, BinaryOp, Cast, Const, Expr, Unary, Var, const
from ir.presburger import sets as pb
from ir.presburger.readback import condition, coordinate, expression
from ir.printing.printer import to_script
from ir.traverse import map_expr

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_COUNTABLE = 1_000_000  # steps of counting one set, about a tenth of a second
_ENUMERABLE = 5_000  # values of the variables for which a set is counted


class Range(Struct, frozen=True, eq=False):
    """`min <= x < stop`, which are `extent` values; `exact` says that every such x occurs.

    Where a range is there for some values of the variables only, `extent` is 0 for the others, and its ends mean
    nothing.
    """

    min: Expr
    stop: Expr
    extent: Expr
    exact: bool = True

    def __str__(self) -> str:
        if isinstance(self.extent, Const) and self.extent.value == 1:
            return to_script(self.min)
        return f"{to_script(self.min)}:{to_script(self.stop)}"


class Context(Struct, frozen=True, eq=False):
    """Where sets are looked at: what holds of their parameters, and the variables that those are."""

    known: isl.Set
    scope: Mapping[str, Expr]

    def read(self, function: isl.PwAff) -> Expr:
        """An expression for a function of the parameters, as people write it."""
        return map_expr(expression(function, self.scope, self.known), _tidy)

    def holds(self, cond: isl.Set) -> Expr:
        return map_expr(condition(cond, self.scope, self.known), _tidy)


def _tidy(expr: Expr) -> Expr:
    """`-16 * i + n` as `n - 16 * i`."""
    match expr:
        case Binary(op="add", lhs=Binary(op="mul", lhs=Const(value=int() as c), rhs=x), rhs=y) if c < 0:
            return Binary("sub", y, Binary("mul", const(-c, x.dtype), x))
        case Binary(op="add", lhs=Unary(op="neg", operand=x), rhs=y):
            return Binary("sub", y, x)
        case _:
            return expr


def fold(op: BinaryOp, parts: list[Expr]) -> Expr:
    """`parts` joined by an operator, in the widest of their dtypes; constants are computed."""
    wide = _wide(*parts)
    steps: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "min": min,
        "max": max,
    }
    numbers = [int(p.value) for p in parts if isinstance(p, Const)]
    others = [p if p.dtype is wide else Cast(wide, p) for p in parts if not isinstance(p, Const)]
    if not numbers:
        return reduce(lambda a, b: Binary(op, a, b), others)
    value = reduce(steps[op], numbers)
    if op == "mul" and value == 0:
        return const(0, wide)
    wide = DType.INT64 if abs(value) >= 2**31 else wide
    if not others:
        return const(value, wide)
    if (op == "mul" and value == 1) or (op == "add" and value == 0):
        return reduce(lambda a, b: Binary(op, a, b), others)
    return reduce(lambda a, b: Binary(op, a, b), [const(value, wide), *others])


def difference(left: Expr, right: Expr) -> Expr:
    """`left - right`, computed for constants."""
    if left.same(right):
        return const(0, left.dtype)
    if isinstance(right, Const):
        if right.value == 0:
            return left
        if isinstance(left, Const):
            return const(int(left.value) - int(right.value), left.dtype)
    a, b = (p if p.dtype is w else Cast(w, p) for p in (left, right) for w in [_wide(left, right)])
    return Binary("sub", a, b)


def _wide(*parts: Expr) -> DType:
    return max((p.dtype for p in parts), key=lambda d: d.bits)


# One axis ------------------------------------------------------------------------------------------------------------


def range_of(line: isl.Set, context: Context) -> Range | None:
    """The range from the least to the greatest member of a set of rank 1; None where there is no bound."""
    given = line
    line = line.intersect_params(context.known).coalesce()
    if line.is_empty():
        zero = const(0, DType.INT32)
        return Range(zero, zero, zero)
    low, high = coordinate(line, 0, upper=False), coordinate(line, 0, upper=True)
    if low is None or high is None:
        return None
    found = _Ends(low, high, line.params(), context.known.subtract(line.params()))
    filled = between(low, high)
    exact = filled.is_subset(line)
    written = _as_bounds(given, found, context)  # as it stands it may be convex where its part that is known is not
    if written is None:
        written = _as_bounds(line, found, context)
    if written is None and exact:
        written = _as_bounds(filled.intersect_params(context.known).coalesce(), found, context)
    if written is None:
        extent = high.sub(low).add(pb.number(1))
        if not found.vacant.is_empty():
            extent = extent.union_add(pb.number(0).intersect_domain(found.vacant))
        written = Range(context.read(low), context.read(high.add(pb.number(1))), context.read(extent))
    return replace(written, exact=exact)


def between(low: isl.PwAff, high: isl.PwAff) -> isl.Set:
    """`{[x] : low <= x <= high}`."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 1)
    above = isl.Set.from_pw_aff(low).apply(isl.Map.lex_le(space))
    return above.intersect(isl.Set.from_pw_aff(high).apply(isl.Map.lex_ge(space)))


class _Ends(Struct, frozen=True, eq=False):
    """Least and greatest member of a set of rank 1 where it is `reached`; it is empty where `vacant`."""

    low: isl.PwAff
    high: isl.PwAff
    reached: isl.Set
    vacant: isl.Set


def _as_bounds(line: isl.Set, ends: _Ends, context: Context) -> Range | None:
    """The range as the constraints of one convex piece give it, by `max` and `min`; None if it is not one."""
    found = convex_bounds(line, ends.low, ends.high, ends.reached)
    if found is None:
        return None
    lowers, uppers = found
    first, last = reduce(lambda a, b: a.max(b), lowers), reduce(lambda a, b: a.min(b), uppers)
    one = pb.number(1)
    extent = _joined("min", [u.sub(first).add(one) for u in uppers], context)
    count = last.sub(first).add(one)
    if not ends.vacant.is_subset(count.le_set(pb.number(0))):
        return None
    if not ends.vacant.is_subset(count.eq_set(pb.number(0))):
        extent = fold("max", [const(0, extent.dtype), extent])
    return Range(_joined("max", lowers, context), _joined("min", [u.add(one) for u in uppers], context), extent)


def convex_bounds(
    line: isl.Set, low: isl.PwAff, high: isl.PwAff, reached: isl.Set
) -> tuple[list[isl.PwAff], list[isl.PwAff]] | None:
    """The lower and upper bounds that constraints put to the members of a convex set of rank 1, those that tell where
    its least and greatest ones, `low` and `high`, are `reached`; None where they are others."""
    line = line.compute_divs()  # bounds may only mention quotients that are known
    if line.n_basic_set() != 1:
        return None
    lowers: list[isl.PwAff] = []
    uppers: list[isl.PwAff] = []
    for item in line.get_basic_sets()[0].get_constraints():
        if item.get_coefficient_val(_SET, 0).is_zero():
            continue
        bound = item.get_bound(_SET, 0)
        if item.is_equality() or item.is_lower_bound(_SET, 0):
            lowers.append(isl.PwAff.from_aff(bound.ceil()).project_domain_on_params())
        if item.is_equality() or item.is_upper_bound(_SET, 0):
            uppers.append(isl.PwAff.from_aff(bound.floor()).project_domain_on_params())
    lowers, uppers = pb.needed(lowers, reached, upper=False), pb.needed(uppers, reached, upper=True)
    if not lowers or not uppers:
        return None
    first, last = reduce(lambda a, b: a.max(b), lowers), reduce(lambda a, b: a.min(b), uppers)
    return (lowers, uppers) if reached.is_subset(first.eq_set(low).intersect(last.eq_set(high))) else None


def _joined(op: BinaryOp, bounds: list[isl.PwAff], context: Context) -> Expr:
    return fold(op, [context.read(b) for b in bounds])


# Several axes --------------------------------------------------------------------------------------------------------


class Box(Struct, frozen=True, eq=False):
    """A product of ranges."""

    ranges: tuple[Range, ...]

    @property
    def elements(self) -> Expr:
        """How many points it has."""
        one: list[Expr] = [const(1, DType.INT32)]
        return fold("mul", one + [r.extent for r in self.ranges])

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.ranges))}]"


class Piece(Struct, frozen=True, eq=False):
    """Points of some shape, as a condition on their coordinates."""

    names: tuple[str, ...]
    condition: Expr

    def __str__(self) -> str:
        return f"[{', '.join(self.names)}] where {to_script(self.condition)}"


def covering(region: isl.Set, context: Context) -> Box | None:
    """The least box around a region; None where it has no bound. Where the region is empty, some extent is 0."""
    region = region.intersect_params(context.known)
    lines = [_line(region, axis) for axis in range(region.dim(_SET))]
    there = region.params()
    box = _boxed(lines, context if there.is_empty() else Context(there, context.scope))
    absent = context.known.subtract(there)
    if box is None or absent.is_empty() or absent.is_subset(_vanishes(box)):
        return box
    return _boxed(lines, context)


def _boxed(lines: list[isl.Set], context: Context) -> Box | None:
    ranges: list[Range] = []
    for line in lines:
        found = range_of(line, context)
        if found is None:
            return None
        ranges.append(found)
    return Box(tuple(ranges))


def _vanishes(box: Box) -> isl.Set:
    """Where one of a box's extents is zero."""
    zero = pb.never()
    for extent in (pb.affine(r.extent) for r in box.ranges):
        if extent is not None:
            zero = zero.union(extent.eq_set(pb.number(0)))
    return zero


def _line(region: isl.Set, axis: int) -> isl.Set:
    rank = region.dim(_SET)
    return region.project_out(_SET, axis + 1, rank - axis - 1).project_out(_SET, 0, axis)


def pieces(region: isl.Set, context: Context, names: tuple[str, ...]) -> tuple[Box | Piece, ...]:
    """A region as disjoint boxes where it is made of boxes, and as conditions where it is not."""
    region = region.intersect_params(context.known).coalesce()
    if region.is_empty():
        return ()
    product = box_around(region)
    if product is not None and product.is_subset(region):
        whole = covering(region, context)
        if whole is not None:
            return (whole,)
    if region.n_basic_set() > 1:
        region = region.make_disjoint().coalesce()
    out: list[Box | Piece] = []
    for piece in _in_order([isl.Set.from_basic_set(part) for part in region.get_basic_sets()]):
        product = box_around(piece)
        box = covering(piece, context) if product is not None and product.is_subset(piece) else None
        out.append(_piece(piece, context, names) if box is None else box)
    return tuple(out)


def _in_order(parts: list[isl.Set]) -> list[isl.Set]:
    """Parts by their first points in storage order, as they are for some values of the variables."""
    values, _ = pb.sample(reduce(lambda a, b: a.intersect(b), (p.params() for p in parts))) or ({}, ())

    def first(part: isl.Set) -> tuple[int, ...]:
        for name, value in values.items():
            position = part.find_dim_by_name(_PARAM, name)
            if position >= 0:
                part = part.fix_val(_PARAM, position, isl.Val.int_from_si(isl.DEFAULT_CONTEXT, value))
        found = pb.sample(part.lexmin()) if part.is_bounded() else None
        return () if found is None else found[1]

    return sorted(parts, key=first)


def box_around(region: isl.Set) -> isl.Set | None:
    """The least box around a region, for each value of its parameters; None where it has no bound."""
    product = pb.whole(0)
    for axis in range(region.dim(_SET)):
        line = _line(region, axis)
        low, high = coordinate(line, 0, upper=False), coordinate(line, 0, upper=True)
        if low is None or high is None:
            return None
        product = product.flat_product(between(low, high))
    return product.intersect_params(region.params()).coalesce()


def _piece(region: isl.Set, context: Context, names: tuple[str, ...]) -> Piece:
    rank = region.dim(_SET)
    count = region.dim(_PARAM)
    flat = region.move_dims(_PARAM, count, _SET, 0, rank)
    for k, name in enumerate(names):
        flat = flat.set_dim_name(_PARAM, count + k, name)
    scope = {**context.scope, **{n: Var(n, DType.INT32) for n in names}}
    return Piece(names, Context(context.known, scope).holds(flat.params()))


# Numbers -------------------------------------------------------------------------------------------------------------


def count_at(region: isl.Set, values: Mapping[str, int], limit: int = _COUNTABLE) -> int | None:
    """How many points a region has for given values of its variables; None where that is unbounded or too many."""
    for name, value in values.items():
        position = region.find_dim_by_name(_PARAM, name)
        if position >= 0:
            fixed = region.fix_val(_PARAM, position, isl.Val.int_from_si(isl.DEFAULT_CONTEXT, value))
            region = fixed.project_out(_PARAM, position, 1)
    if pb.variables(region):
        return None
    region = region.project_out(_PARAM, 0, region.dim(_PARAM))
    return _count(region, limit)


def _count(region: isl.Set, limit: int = _COUNTABLE) -> int | None:
    """How many points a set has; None where it is not finite, or counting would take more than `limit` steps."""
    if region.is_empty():
        return 0
    if not region.is_bounded():
        return None
    steps = 1  # isl counts along the last axis in one step
    for axis in range(region.dim(_SET) - 1):
        low, high = region.dim_min_val(axis), region.dim_max_val(axis)
        steps *= int(high.sub(low).to_python()) + 1
    if steps > limit:
        return None
    context = isl.DEFAULT_CONTEXT
    budget = context.get_max_operations()
    context.set_max_operations(0)  # at the limit isl would return what it has counted so far
    try:
        return int(region.count_val().to_python())
    finally:
        context.set_max_operations(budget)


def elements_of(
    region: isl.Set, shown: tuple[Box | Piece, ...] | None, context: Context, iterations: isl.Set | None = None
) -> Expr | None:
    """How many points a region has, for any values of its variables; None where no expression is found.

    `iterations`, if given, is a set with as many points.
    """
    if shown is not None and all(isinstance(p, Box) for p in shown):
        # where a box is not there its ranges are empty, so it adds nothing
        return fold("add", [const(0, DType.INT32), *(p.elements for p in shown if isinstance(p, Box))])
    if iterations is not None:
        turns = pieces(iterations, context, tuple(f"#{k}" for k in range(iterations.dim(_SET))))
        if all(isinstance(p, Box) for p in turns):
            return elements_of(iterations, turns, context)
    found = counts(region, context)
    return const(found[0], DType.INT32) if found is not None and found[0] == found[1] else None


def counts(region: isl.Set, context: Context) -> tuple[int, int] | None:
    """The least and greatest number of points over all known values of the variables; None where too many."""
    region = region.intersect_params(context.known)
    names = sorted(pb.variables(region))
    domain = context.known
    for k in reversed(range(domain.dim(_PARAM))):
        if str(domain.get_dim_name(_PARAM, k)) not in names:
            domain = domain.project_out(_PARAM, k, 1)
    where = _as_points(domain)
    total = None if where is None else _count(where)
    if where is None or total is None or total == 0 or total > _ENUMERABLE:
        return None
    found: set[int] = set()
    order = [str(domain.get_dim_name(_PARAM, k)) for k in range(domain.dim(_PARAM))]
    points: list[dict[str, int]] = []
    where.foreach_point(
        lambda p: points.append({n: int(p.get_coordinate_val(_SET, k).to_python()) for k, n in enumerate(order)})
    )
    if len(points) != total:
        return None
    for values in points:
        number = count_at(region, values, _COUNTABLE // total)
        if number is None:
            return None
        found.add(number)
    return min(found), max(found)


def _as_points(domain: isl.Set) -> isl.Set | None:
    """A params set as a set of points."""
    rank = domain.dim(_PARAM)
    flat = isl.Set.from_params(domain).move_dims(_SET, 0, _PARAM, 0, rank)
    return flat if flat.is_bounded() else None
