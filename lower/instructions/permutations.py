"""Loops that exchange elements of an array in place: transpositions, reversals, rotations by a quarter.

Where no two iterations touch the same element, and each stores to what it reads, the array is permuted. If all elements
come from places that one affine map tells, those that no iteration touches included, the result is one read of the
array in another order: `A[x] = A[p(x)]` for all x at once, instead of a store of each part under a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from ir.analysis.dependence import Loop, Statement, domain
from ir.nodes import Buffer, Expr, Load, Store, Var, const
from ir.presburger import sets as pb
from ir.presburger.polynomials import are_apart
from ir.traverse import has_loads, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear, to_expr
from lower.analysis.value_flow import NotAffineError, differ, require_affine, same_place
from lower.nest.normalize import Program

PERMUTATIONS = Form(
    "instructions.permutation",
    "for i: t = A[f(i)]; A[f(i)] = A[g(i)]; A[g(i)] = t  =  for x, at once: A[x] = A[p(x)]",
    "no two iterations touch the same element, and p tells where each comes from, also those that stay",
)

Place = tuple[Expr, ...]


class _Moves(Struct, frozen=True):
    """What iterations of loops do with an array: the element at each place comes from another one."""

    array: Buffer
    places: list[tuple[Place, Place]]
    statement: Statement  # one of those that store there


def permute(program: Program) -> None:
    """Read an array in another order where loops exchange its elements."""
    found = _in_loops(program.statements, 0, program)
    if len(found) != len(program.statements) or any(a is not b for a, b in zip(found, program.statements, strict=True)):
        program.have(found)


def _in_loops(statements: Sequence[Statement], level: int, program: Program) -> list[Statement]:
    """Statements within the same outer loops up to a level, with those that permute arrays done at once."""
    found: list[Statement] = []
    for loop, part in groupby(statements, lambda s: s.loops[level] if len(s.loops) > level else None):
        group = [*part]
        made = group if loop is None or len(group) < 2 else _permuted(group, level, program)
        found += _in_loops(group, level + 1, program) if made is None else made
    return found


def _permuted(group: Sequence[Statement], level: int, program: Program) -> list[Statement] | None:
    """Statements that do what the loops of a group from a level on do; None if these do not permute arrays."""
    first = next((s for s in group if program.depth.get(s.buffer, 0) == 0), group[0])
    given = (*first.guards, *(e for o in first.loops for e in (o.start, o.extent)))
    if any(s.loops != first.loops or s.tile is not None for s in group) or any(map(has_loads, given)):
        return None
    for s in group:  # what a local holds may be worked out in all iterations
        alike = len(s.guards) == len(first.guards) and all(map(Expr.same, s.guards, first.guards))
        if not alike and (s.guards or s.buffer not in program.depth):
            return None
    result: list[Statement] = []
    for m in _moves(group, program) or ():
        made = pb.within_budget(lambda m=m: _at_once(m, level, program), None)
        if made is None:
            return None
        result += made
    return result or None


def _moves(group: Sequence[Statement], program: Program) -> list[_Moves] | None:
    """Where elements of arrays come from in an iteration, if all that it does is to move them."""
    held: dict[Load, Load] = {}
    stored: dict[Buffer, list[Statement]] = {}
    for s in group:
        local = program.depth.get(s.buffer, 0)
        if (
            not isinstance(s.store.value, Load)
            or local not in (0, len(s.loops))
            or any(map(has_loads, s.store.indices))
        ):
            return None
        value = s.store.value
        if any(map(has_loads, value.indices)):
            return None
        token = held.get(value)
        if token is None:
            earlier = [w.store.indices for w in stored.get(value.buffer, [])]
            if program.depth.get(value.buffer, 0) or not all(_differ(w, value.indices, s) for w in earlier):
                return None
            token = value
        held[Load(s.buffer, s.store.indices)] = token
        if not local:
            stored.setdefault(s.buffer, []).append(s)
    result: list[_Moves] = []
    for array, stores in stored.items():
        ends = dict.fromkeys(s.store.indices for s in stores)
        places = [(end, held[Load(array, end)]) for end in ends]
        if any(source.buffer != array for _, source in places):
            return None
        result.append(_Moves(array, [(end, source.indices) for end, source in places], stores[0]))
    return result


def _differ(a: Place, b: Place, s: Statement) -> bool:
    """Whether two places are never the same in an iteration of a statement."""
    try:
        return are_apart(a, b) or domain(s, {}).intersect(same_place(a, b)).is_empty()
    except NotAffineError:
        return False


def _at_once(moves: _Moves, level: int, program: Program) -> list[Statement] | None:
    """The array, or the part of it that loops reach, read in another order; None if that is not what they do."""
    ends = [end for end, _ in moves.places]
    if len(ends[0]) < 2:  # XLA:CPU reverses a vector on one core: its halves, in one fusion, take a tenth of the time
        return None
    closed = all(any(all(map(Expr.same, source, end)) for end in ends) for _, source in moves.places)
    variables = [Var(program.fresh(f"{moves.array.name}_{d}"), i.dtype) for d, i in enumerate(ends[0])]
    order = _order(moves, level, variables) if closed and len(set(ends)) == len(ends) else None
    try:
        if order is None or not _one_by_one(moves, level):
            return None
        ranges = _whole(moves, level, variables, order)
    except NotAffineError:
        return None
    if ranges is None:
        return None
    array, s = moves.array, moves.statement
    extents = [const(high - low + 1, v.dtype) for v, (low, high) in zip(variables, ranges, strict=True)]
    copy = Buffer(program.fresh(array.name), tuple(extents), array.dtype, "local")
    program.depth[copy] = level
    again = [Var(program.fresh(v.name), v.dtype) for v in variables]
    statements: list[Statement] = []
    for names in (variables, again):
        loops = tuple(
            Loop(v, const(low, v.dtype), extent) for v, (low, _), extent in zip(names, ranges, extents, strict=True)
        )
        here = tuple(to_expr(linear(v) - low, v) for v, (low, _) in zip(names, ranges, strict=True))
        taken = Store(copy, here, Load(array, order), s.store.span)
        back = Store(array, tuple(names), Load(copy, here), s.store.span)
        statements.append(Statement(s.position, (*s.loops[:level], *loops), (), taken if names is variables else back))
    return statements


def _order(moves: _Moves, level: int, variables: Sequence[Var]) -> Place | None:
    """From where the element at a place comes, in terms of that place; None if no one affine map says so."""
    own = {o.var for o in moves.statement.loops[level:]}
    (end, source), *others = moves.places
    at: dict[Var, Expr] = {}
    for index, x in zip(end, variables, strict=True):
        form = linear(index)
        term = next(iter(form.terms), None)
        if (
            len(form.terms) != 1
            or not isinstance(term, Var)
            or term not in own
            or term in at
            or abs(form.terms[term]) != 1
        ):
            return None
        at[term] = to_expr((linear(x) - form.const) * form.terms[term], x)
    order = tuple(to_expr(linear(substitute_expr(i, at)), i) for i in source)
    for place, came in others:
        there = dict(zip(variables, place, strict=True))
        if not all(linear(substitute_expr(p, there)).equals(linear(c)) for p, c in zip(order, came, strict=True)):
            return None
    return order


def _one_by_one(moves: _Moves, level: int) -> bool:
    """Whether all iterations store to different elements, or the same to one twice."""
    s = moves.statement
    other = {o.var: Var(f"{o.var.name}'", o.var.dtype) for o in s.loops[level:]}
    both = domain(s, {}).intersect(domain(s, other))
    apart = differ({a.name: b.name for a, b in other.items()})
    for a, came in moves.places:
        for b, source in moves.places:
            met = both.intersect(same_place(a, tuple(substitute_expr(i, other) for i in b)))
            here = met.subtract(apart)  # in one iteration
            if not met.intersect(apart).is_empty() or not here.subtract(same_place(came, source)).is_empty():
                return False
    return True


def _whole(moves: _Moves, level: int, variables: Sequence[Var], order: Place) -> list[tuple[int, int]] | None:
    """A box of places, each of which iterations store to or which is where it comes from; None if there is none.

    Raises:
        NotAffineError: when the iterations run is not known exactly.
    """
    s = moves.statement
    require_affine(s)
    names = [o.var.name for o in s.loops[level:]]
    reached = pb.never()
    for end, _ in moves.places:
        reached = reached.union(pb.forget(domain(s, {}).intersect(same_place(tuple(variables), end)), names))
    ranges = [pb.extremes(reached, v.name) for v in variables]
    box = pb.within_loops(pb.always(), s.loops[:level])
    found: list[tuple[int, int]] = []
    for v, limits in zip(variables, ranges, strict=True):
        if limits is None:
            return None
        found.append(limits)
        low, high = (const(n, v.dtype) for n in (limits[0], limits[1] - limits[0] + 1))
        box = box.intersect(pb.loop_domain(v, low, high).must)
    left = box.subtract(reached).subtract(same_place(tuple(variables), order))
    return found if left.is_empty() else None
