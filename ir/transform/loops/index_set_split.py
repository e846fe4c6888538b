"""Index-set splitting: a loop cut into consecutive ones, with the conditions decided in each part that the cut decides.

Peeling cuts off single iterations, which are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise

import islpy as isl
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import FALSE, TRUE, Binary, Block, Expr, For, If, PrimFunc, Select, Stmt, Unary, Var, const, seq
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import bound_to, facts_at, learned, proven
from ir.printing.printer import to_script
from ir.program.calls import minus
from ir.program.edit import Changed, loop_path, names_in, plus, refuse, scope_of, with_body, with_children
from ir.transform.loops.ranges import Bounds, bounds_of, ends
from ir.traverse import (
    free_vars,
    has_loads,
    map_expr,
    rebuilt,
    stmt_children,
    stmt_exprs,
    substitute,
    walk_expr,
)

_MAX_CUTS = 4  # each part is a copy of the body
_MAX_PEELED = 16  # and so is each iteration that is peeled off


def loop_partition(func: PrimFunc, loop: str, points: Sequence[int | Expr] | None) -> Changed:
    """Cut a loop at `points`, by default where conditions in its body change; the names of all parts are given back.

    Each part starts at its point, and conditions that are constant in it are decided.

    Raises:
        ScheduleError: a point is not known to lie in the loop's range, or is not after the one before; without points,
            no condition changes at places that can be found.
    """
    path = loop_path(func, loop)
    old = path[-1]
    assert isinstance(old, For)
    known = facts_at(func, path)
    if points is None:
        cuts = pb.within_budget(lambda: _boundaries(func, path, old, known), [])
        if not cuts:
            message = f"no condition in loop {loop} changes at places that can be found"
            refuse("no-boundary", message, old.span, help="give the points at which to cut")
    else:
        dtype = old.var.dtype
        for point in points:
            if not isinstance(point, Expr) and not dtype.min <= point <= dtype.max:
                refuse("points", f"point {point} does not fit {dtype}, in which loop {loop} counts", old.span)
        cuts = [p if isinstance(p, Expr) else const(p, dtype) for p in points]
        _check(old, cuts, known)
    stop = plus(old.start, old.extent)
    starts, stops = [old.start, *cuts], [*cuts, stop]
    taken = names_in(func)
    parts: list[For] = []
    for k, (low, high) in enumerate(zip(starts, stops, strict=True)):
        var = old.var if k == 0 else replace(old.var, name=fresh(loop, taken))
        body = old.body if k == 0 else substitute(old.body, {old.var: var})
        part = replace(old, var=var, start=low, extent=minus(high, low), body=body)
        inside = known.intersect(pb.loop_domain(var, part.start, part.extent).may)
        parts.append(replace(part, body=decided(body, inside)))
    return Changed(with_body(func, path, seq(*parts)), tuple(p.var.name for p in parts))


def peel(func: PrimFunc, loop: str, first: int, last: int) -> Changed:
    """Write the first and last iterations of a loop out before and after it; the name of what is left is given back.

    Raises:
        ScheduleError: the numbers are negative or both 0, more than 16, or the loop is not known to have so many.
    """
    path = loop_path(func, loop)
    old = path[-1]
    assert isinstance(old, For)
    if first < 0 or last < 0 or not 0 < first + last <= _MAX_PEELED:
        message = f"{first} first and {last} last iterations of loop {loop} cannot be peeled off"
        refuse("points", message, old.span, help=f"give numbers from 0 up, together 1 to {_MAX_PEELED}")
    dtype = old.var.dtype
    low = plus(old.start, const(first, dtype))
    high = minus(plus(old.start, old.extent), const(last, dtype))
    known = facts_at(func, path)
    _check(old, [low, high], known)
    inside = known.intersect(pb.loop_domain(old.var, low, minus(high, low)).may)
    left = replace(old, start=low, extent=minus(high, low), body=decided(old.body, inside))
    before = [plus(old.start, const(k, dtype)) for k in range(first)]
    after = [plus(high, const(k, dtype)) for k in range(last)]
    written = [[decided(substitute(old.body, {old.var: at}), known) for at in side] for side in (before, after)]
    return Changed(with_body(func, path, seq(*written[0], left, *written[1])), (loop,))


def _check(loop: For, cuts: Sequence[Expr], known: isl.Set) -> None:
    """Check that points come in order, inside the loop's range."""
    if not cuts:
        refuse("points", f"loop {loop.var.name} needs a point to be cut at", loop.span)
    below = loop.start
    stop = plus(loop.start, loop.extent)
    for cut in (*cuts, stop):
        if cut.dtype is not loop.var.dtype or has_loads(cut):
            refuse("points", f"`{to_script(cut)}` is no {loop.var.dtype} known before the loop", loop.span)
        if not proven(Binary("le", below, cut), known):
            range_ = f"{to_script(loop.start)} to {to_script(stop)}"
            what = f"point {to_script(below)} is not known to lie before {to_script(cut)}"
            help = "give points in order inside the range, or assume it of sizes with T.assume"
            refuse("points", f"{what} in loop {loop.var.name} over {range_}", loop.span, help=help)
        below = cut


def cut_around(
    region: isl.Set, inside: isl.Set, var: Var, scope: Mapping[str, Expr], known: isl.Set
) -> Sequence[Bounds] | None:
    """Starts and extents of what of a loop is before, in and after a region of its iterations (those `inside`); None
    where that is no interval, or nothing or all of them.

    `scope` has what bounds may mention, and `known` holds there.
    """
    if region.is_empty() or inside.is_subset(region):
        return None
    if not known.is_subset(pb.forget(region, (var.name,))):
        return None  # in some states there is no such iteration, so that the parts have no bounds
    low, high = ends(region, var.name)
    first, last = ends(inside, var.name)
    if low is None or high is None or first is None or last is None:
        return None
    at = pb.symbol(var.name)
    if not inside.intersect(at.ge_set(low)).intersect(at.le_set(high)).is_subset(region):
        return None
    cuts = [first, low, high.add(pb.number(1)), last.add(pb.number(1))]
    if any(c.coalesce().n_piece() > 1 for c in cuts):
        return None
    parts: list[Bounds] = []
    for begin, end in pairwise(cuts):
        count = end.sub(begin)
        if not known.is_subset(count.eq_set(pb.number(0))):
            bounds = bounds_of(begin, count, var, scope, known)
            if bounds is None:
                return None
            parts.append(bounds)
    return parts


# Boundaries ----------------------------------------------------------------------------------------------------------


def _boundaries(func: PrimFunc, path: tuple[Stmt, ...], loop: For, known: isl.Set) -> list[Expr]:
    """Where some condition starts or ends to be always true, or always false, in order; empty if too many."""
    domain = pb.loop_domain(loop.var, loop.start, loop.extent)
    if not domain.exact:
        return []
    inside = known.intersect(domain.may)
    changes = pb.never()
    for cond, reach in _conditions(loop.body, inside):
        truth = pb.condition(cond)
        if not truth.exact:
            continue
        inner = pb.variables(reach) - pb.variables(inside) - {loop.var.name}
        for fails in (reach.subtract(truth.must), reach.intersect(truth.may)):
            constant = inside.subtract(pb.forget(fails, inner))
            changes = changes.union(_edges(constant, inside, loop.var.name))
    scope = scope_of(func, path[:-1])
    return _listed(changes, loop.var.name, scope, known)


def _edges(region: isl.Set, domain: isl.Set, name: str) -> isl.Set:
    """Values of a variable at which a region begins, or has just ended, except the first of the domain."""
    before = {name: f"{name}'"}
    step = pb.symbol(name).sub(pb.symbol(f"{name}'")).eq_set(pb.number(1))
    inside, outside = region, domain.subtract(region)
    found = pb.never()
    for here, there in ((inside, outside), (outside, inside)):
        found = found.union(pb.forget(here.intersect(pb.rename(there, before)).intersect(step), [f"{name}'"]))
    return found


def _listed(changes: isl.Set, name: str, scope: dict[str, Expr], known: isl.Set) -> list[Expr]:
    """The members of a set of values of one variable, as expressions of the others."""
    line = pb.line(changes, name)
    if line is None or changes.is_empty():
        return []
    line = line.coalesce()
    cuts: list[Expr] = []
    while not line.is_empty():
        least = line.dim_min(0)
        if len(cuts) == _MAX_CUTS or not known.is_subset(least.domain()):
            return []  # too many, or not always there
        cuts.append(readback.expression(least.coalesce(), scope, known))
        line = line.subtract(isl.Set.from_pw_aff(least)).coalesce()
    return cuts


def _conditions(stmt: Stmt, reach: isl.Set) -> Iterator[tuple[Expr, isl.Set]]:
    """Conditions in a statement, each with the values of variables for which it may be evaluated."""
    for expr in stmt_exprs(stmt):
        for part in walk_expr(expr):
            if isinstance(part, Select) and not has_loads(part.cond) and free_vars(part.cond):
                yield part.cond, reach
    match stmt:
        case If(cond=cond, then=then, other=other):
            if not has_loads(cond):
                yield cond, reach
            yield from _conditions(then, reach.intersect(pb.condition(cond).may))
            yield from _conditions(other, reach.intersect(pb.condition(Unary("not", cond)).may))
        case For() as loop:
            inside = pb.loop_domain(loop.var, loop.start, loop.extent).may
            yield from _conditions(loop.body, reach.intersect(inside))
        case Block(predicate=predicate, axes=axes):
            for axis in axes:
                value = pb.affine(axis.value)
                if value is not None:
                    reach = reach.intersect(pb.symbol(axis.var.name).eq_set(value))
            if not predicate.same(TRUE):
                yield predicate, reach
            for child in stmt_children(stmt):
                yield from _conditions(child, reach.intersect(pb.condition(predicate).may))
        case _:
            for child in stmt_children(stmt):
                yield from _conditions(child, reach)


# Decisions -----------------------------------------------------------------------------------------------------------


def decided(stmt: Stmt, known: isl.Set) -> Stmt:
    """A statement with the conditions decided that are constant wherever `known` holds."""

    def selects(expr: Expr) -> Expr:
        def one(part: Expr) -> Expr:
            match part:
                case Select(cond=cond, then=a, other=b):
                    truth = _truth(cond, known)
                    return part if truth is None else a if truth else b
                case Binary(op="min" | "max" as op, lhs=a, rhs=b) if part.dtype.is_integer and not has_loads(part):
                    order = "le" if op == "min" else "ge"
                    pairs = ((a, b), (b, a))
                    return next((x for x, y in pairs if proven(Binary(order, x, y), known)), part)
                case _:
                    return part

        return map_expr(expr, one)

    def inner(part: Stmt) -> Stmt:
        return decided(part, known.intersect(learned(stmt, part)))

    match stmt:
        case If(cond=cond, then=then, other=other) if (truth := _truth(cond, known)) is not None:
            return decided(then if truth else other, known)
        case Block(predicate=predicate, axes=axes):
            here = reduce(lambda region, a: region.intersect(bound_to(a.var, a.value)), axes, known)
            truth = _truth(predicate, here)
            new = stmt if truth is None else replace(stmt, predicate=TRUE if truth else FALSE)
            return with_children(new, [inner(part) for part in stmt_children(stmt)])
        case _:
            return rebuilt(stmt, selects, inner)


def _truth(cond: Expr, known: isl.Set) -> bool | None:
    if proven(cond, known):
        return True
    return False if proven(Unary("not", cond), known) else None
