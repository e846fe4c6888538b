"""Permutation: the loops of a nest in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl
from msgspec.structs import replace

from ir.analysis.legality import check_order
from ir.nodes import SKIP, TRUE, Expr, For, If, PrimFunc, Stmt, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.calls import minus, of_dtype
from ir.program.edit import Changed, loop_path, nest, plus, refuse, scope_of, with_body
from ir.transform.loops.ranges import check_defined, loop_at
from ir.traverse import free_vars, has_loads


def reorder(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    """Put loops of one nest into the given order; loops between them that are not named keep their places.

    Bounds that depend on a loop which moves inside are worked out anew, as in a triangle or a skewed nest.

    Raises:
        ScheduleError: a loop is named twice, the loops are not in one nest of loops alone in one another, bounds depend
            on each other and are not affine, or a dependence would be reversed.
    """
    if len(set(loops)) != len(loops) or not loops:
        refuse("loops", "reorder takes different loops, at least one", func.span)
    paths = {name: loop_path(func, name) for name in loops}
    path = min(paths.values(), key=len)
    top = loop_at(path)
    chain, guards = _down_to(top, set(loops))
    places = [k for k, loop in enumerate(chain) if loop.var.name in loops]
    by_name = {loop.var.name: loop for loop in chain}
    order = list(chain)
    for place, name in zip(places, loops, strict=True):
        order[place] = by_name[name]
    known = facts_at(func, path)
    if _depend(order):
        order, inside = _scanning(order, known, scope_of(func, path))
        guards = guards if inside.same(TRUE) else [inside, *guards]
    innermost = chain[-1].body
    for guard in reversed(guards):
        innermost = If(guard, innermost, SKIP)
    new = nest(order, innermost)
    if [a.var.name for a in order] != [b.var.name for b in chain]:
        check_defined(chain[1:], known)
        found = check_order(top, new, {}, known, reassociate=reassociate)
        if found is not None:
            refuse("dependence", f"the loops cannot change places: {found.message}", top.span, notes=found.notes)
    return Changed(with_body(func, path, new))


def _down_to(top: For, names: set[str]) -> tuple[list[For], list[Expr]]:
    """The loops from `top` to the last of `names`, each alone in the one before, and the guards between them.

    A guard that reads no buffer may as well be tested inside the loops below it.
    """
    chain: list[For] = []
    guards: list[Expr] = []
    missing = set(names)
    stmt: Stmt = top
    while missing:
        if isinstance(stmt, If) and stmt.other == SKIP and not has_loads(stmt.cond):
            guards.append(stmt.cond)
            stmt = stmt.then
            continue
        if not isinstance(stmt, For):
            text = to_script(stmt).splitlines()[0]
            message = f"between loops {chain[-1].var.name} and {', '.join(sorted(missing))} stands `{text}`"
            refuse("not-nested", message, stmt.span, help="reorder loops that are alone in one another")
        chain.append(stmt)
        missing.discard(stmt.var.name)
        stmt = stmt.body
    return chain, guards


def _scanning(order: Sequence[For], known: isl.Set, scope: Mapping[str, Expr]) -> tuple[list[For], Expr]:
    """Loops in a new order around the same iterations, and the guard for those that their ranges hold besides.

    Each range goes from the least to the greatest value that its variable has for those of the loops around it, which
    is a projection of the iteration domain (Ancourt and Irigoin, "Scanning Polyhedra with DO Loops", 1991).

    Raises:
        ScheduleError: the ranges are not affine, or count in narrow dtypes.
    """
    domain = known
    for loop in order:
        values = pb.loop_domain(loop.var, loop.start, loop.extent)
        if not values.exact or loop.var.dtype.bits < 32:
            message = f"the range of loop {loop.var.name} cannot be told apart from those of the loops around it"
            help = "only loops with affine bounds that count in 32 bits or more change places with loops they depend on"
            refuse("dependent-bounds", message, loop.span, help=help)
        domain = domain.intersect(values.may)
    loops: list[For] = []
    around, within = known, dict(scope)
    for k, loop in enumerate(order):
        seen = pb.forget(domain, [o.var.name for o in order[k + 1 :]])
        start, last = _ends(seen, loop, within, around)
        extent = minus(plus(last, const(1, loop.var.dtype)), start)
        loops.append(replace(loop, start=start, extent=extent))
        around = around.intersect(pb.loop_domain(loop.var, start, extent).may)
        within[loop.var.name] = loop.var
    return loops, readback.condition(domain, within, around)


def _ends(seen: isl.Set, loop: For, scope: Mapping[str, Expr], known: isl.Set) -> tuple[Expr, Expr]:
    """The least and the greatest value that a variable has in a domain."""
    line = pb.line(seen, loop.var.name)
    if line is None or not line.dim_has_lower_bound(isl.dim_type.set, 0):
        refuse("dependent-bounds", f"loop {loop.var.name} has no bounds of its own", loop.span)
    line = line.gist_params(known).coalesce()
    ends: list[Expr] = []
    for upper in (False, True):
        end = readback.extremum(line, scope, known, upper=upper)
        if end is None:
            end = readback.expression(line.dim_max(0) if upper else line.dim_min(0), scope, known)
        ends.append(of_dtype(end, loop.var.dtype))
    return ends[0], ends[1]


def _depend(order: Sequence[For]) -> bool:
    """Whether bounds of a loop depend on loops that are inside of it in a new order."""
    inner: set[Var] = set()
    for loop in reversed(order):
        inner.add(loop.var)
        if not inner.isdisjoint({*free_vars(loop.start), *free_vars(loop.extent)}):
            return True
    return False
