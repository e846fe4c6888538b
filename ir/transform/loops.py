"""Loops taken by themselves: split, fuse, reorder, rebase, and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import islpy as isl

from ir.analysis.defined import is_defined
from ir.analysis.legality import carried, check_order
from ir.naming import fresh
from ir.nodes import SKIP, Binary, Const, Expr, For, If, LoopKind, PrimFunc, Stmt, Var, const
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at, guarded, proven
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, names_in, nest, plus, refuse, scope_of, times, with_body
from ir.traverse import buffers_written, free_vars, has_loads, loads, substitute

_MAX_PARTS = 16  # more loops than that are a mistake

# Split ---------------------------------------------------------------------------------------------------------------


def split(func: PrimFunc, loop: str, factors: Sequence[int | Expr | None]) -> Changed:
    """Split a loop into nested ones, outermost first; see `Schedule.split`.

    The outermost part keeps the loop's kind and annotations. Names are `<i>o`, `<i>i` for two parts, else `<i>_0`, ...

    Raises:
        ScheduleError: no factor or a factor that is not positive is given, several are None, or they cover fewer
            iterations than there are.
    """
    path = loop_path(func, loop)
    old = _loop(path)
    known = facts_at(func, path)
    _check_steady(old)
    extents = _factors(old, factors, known)
    if len(extents) > _MAX_PARTS:
        message = f"loop {loop} would become {len(extents)} loops"
        refuse("factors", message, old.span, help=f"give at most {_MAX_PARTS} factors")
    total: Expr = const(1, old.var.dtype)
    for extent in extents:
        total = times(total, extent)
    _check_range(old, old.start, total, known)
    taken = names_in(func)
    suffixes = ("o", "i") if len(extents) == 2 else tuple(f"_{k}" for k in range(len(extents)))
    parts = [replace(old.var, name=fresh(loop + suffix, taken)) for suffix in suffixes]
    index: Expr = const(0, old.var.dtype)
    for var, extent in zip(parts, extents, strict=True):
        index = plus(times(extent, index) if not _is(index, 0) else index, var)
    zero = const(0, old.var.dtype)
    loops = [
        For(v, zero, n, old.body, old.kind if k == 0 else "serial", old.annotations if k == 0 else (), old.span)
        for k, (v, n) in enumerate(zip(parts, extents, strict=True))
    ]
    inside = known
    for new in loops:
        inside = inside.intersect(pb.loop_domain(new.var, new.start, new.extent).may)
    below = _independent_below(old)
    inner = below[-1].body if below else old.body
    for new in below:
        inside = inside.intersect(pb.loop_domain(new.var, new.start, new.extent).may)
    body = substitute(inner, {old.var: plus(old.start, index)})
    body = guarded(Binary("lt", index, old.extent), body, inside)
    return Changed(with_body(func, path, nest((*loops, *below), body)), tuple(v.name for v in parts))


def _independent_below(loop: For) -> list[For]:
    """Loops alone in one another below a loop, whose bounds do not depend on it: a guard may stand inside them."""
    found: list[For] = []
    stmt = loop.body
    while isinstance(stmt, For):
        used = {v for e in (stmt.start, stmt.extent) for v in free_vars(e)}
        if loop.var in used or has_loads(stmt.start) or has_loads(stmt.extent):
            break
        found.append(stmt)
        stmt = stmt.body
    return found


def _check_steady(loop: For) -> None:
    """Check that the bounds of a loop may be evaluated again in its body.

    Raises:
        ScheduleError: they read a buffer that the body writes.
    """
    changed = buffers_written(loop.body)
    for bound in (loop.start, loop.extent):
        for load in loads(bound):
            if load.buffer in changed:
                message = f"the range of loop {loop.var.name} is `{to_script(load)}`, which its body changes"
                refuse("range-changes", message, loop.span, help="bind the bound to a name before the loop")


def _check_defined(loops: Sequence[For], known: isl.Set) -> None:
    """Check that the bounds of loops may be evaluated outside the loops and guards around them, which may not run.

    Raises:
        ScheduleError: they read a buffer, or divide by what may be zero.
    """
    for loop in loops:
        for bound in (loop.start, loop.extent):
            if not is_defined(bound, known):
                message = f"`{to_script(bound)}` may have no value where loop {loop.var.name} does not run now"
                help = "assume that no divisor is zero with T.assume; bind what is read to a name before the loops"
                refuse("undefined-range", message, loop.span, help=help)


def _factors(loop: For, factors: Sequence[int | Expr | None], known: isl.Set) -> list[Expr]:
    """The extents of the parts, the one left open inferred."""
    dtype = loop.var.dtype
    given = [f if f is None or isinstance(f, Expr) else _literal(loop, f) for f in factors]
    if not given or sum(f is None for f in given) > 1:
        refuse("factors", f"split of {loop.var.name} needs factors, at most one of them None", loop.span)
    product: Expr = const(1, dtype)
    for factor in given:
        if factor is None:
            continue
        if factor.dtype is not dtype or has_loads(factor):
            message = f"factor `{to_script(factor)}` of loop {loop.var.name} is no {dtype} known at entry"
            refuse("factors", message, loop.span, help=f"give numbers or {dtype} sizes")
        if not proven(Binary("gt", factor, const(0, dtype)), known):
            message = f"factor `{to_script(factor)}` of loop {loop.var.name} is not known to be positive"
            refuse("factors", message, loop.span, help="give positive factors, or assume it of a size with T.assume")
        product = times(product, factor)
    if any(f is None for f in given):
        missing = _ceildiv(loop.extent, product)
        return [missing if f is None else f for f in given]
    if not proven(Binary("ge", product, loop.extent), known):
        text = " * ".join(to_script(f) for f in given if f is not None)
        notes = []
        if isinstance(product, Const):
            notes.append(f"iteration {to_script(plus(loop.start, product))} would be lost")
        message = f"{text} iterations do not cover the {to_script(loop.extent)} of loop {loop.var.name}"
        refuse("factors", message, loop.span, notes=notes, help="let one factor be None: it is inferred")
    return [f for f in given if f is not None]


def _literal(loop: For, value: int) -> Expr:
    dtype = loop.var.dtype
    if not dtype.min <= value <= dtype.max:
        refuse("range", f"{value} does not fit {dtype}, in which loop {loop.var.name} counts", loop.span)
    return const(value, dtype)


def _check_range(loop: For, start: Expr, extent: Expr, known: isl.Set) -> None:
    """Check that a range of numbers does not leave the dtype that a loop counts in.

    Sizes in 32 bits and more are taken to leave room for rounding up; in narrow dtypes that must be known.
    """
    stop, dtype = plus(start, extent), loop.var.dtype
    if dtype.bits < 32 and not isinstance(stop, Const):
        first, count = pb.affine(start), pb.affine(extent)
        last = None if first is None or count is None else first.add(count).sub(pb.number(1))
        if last is None or not known.is_subset(last.le_set(pb.number(dtype.max))):
            message = f"loop {loop.var.name} is not known to stay within {dtype}"
            refuse("range", message, loop.span, help="assume a bound of its sizes with T.assume")
    if isinstance(stop, Const) and not dtype.min <= stop.value - 1 <= dtype.max:
        message = f"loop {loop.var.name} would count to {int(stop.value) - 1}, which leaves {dtype}"
        refuse("range", message, loop.span, help="use smaller numbers")


def _ceildiv(extent: Expr, divisor: Expr) -> Expr:
    if _is(divisor, 1):
        return extent
    if isinstance(extent, Const) and isinstance(divisor, Const):
        return const(-(-int(extent.value) // int(divisor.value)), extent.dtype)
    one_less = (
        const(int(divisor.value) - 1, extent.dtype)
        if isinstance(divisor, Const)
        else Binary("sub", divisor, const(1, extent.dtype))
    )
    return Binary("floordiv", Binary("add", extent, one_less), divisor)


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value


def _loop(path: tuple[Stmt, ...]) -> For:
    loop = path[-1]
    assert isinstance(loop, For)
    return loop


# Fuse ----------------------------------------------------------------------------------------------------------------


def fuse(func: PrimFunc, loops: Sequence[str]) -> Changed:
    """Make nested loops, each alone in the one before, into one called `<i>_<j>_fused`.

    Raises:
        ScheduleError: fewer than two loops are given, something stands between them, or the bounds of one depend on
            the variable of another.
    """
    if len(loops) < 2:
        refuse("too-few-loops", "fuse needs at least two loops", func.span, help="give nested loops, outermost first")
    path = loop_path(func, loops[0])
    chain = _chain(_loop(path), loops)
    known = facts_at(func, path)
    for each in chain:
        _check_steady(each)
    _check_defined(chain[1:], known)
    for outer, inner in pairwise(chain):
        dependent = {v.name for e in (inner.start, inner.extent) for v in free_vars(e)} & {c.var.name for c in chain}
        if dependent:
            message = f"the bounds of loop {inner.var.name} depend on {', '.join(sorted(dependent))}"
            refuse("dependent-bounds", message, inner.span, help=f"loops such as {outer.var.name} fuse as rectangles")
    if len({loop.var.dtype for loop in chain}) > 1:
        refuse("dtype", f"loops {', '.join(loops)} count in different dtypes", chain[0].span)
    dtype = chain[0].var.dtype
    extents = [_count(loop, known) for loop in chain]
    total: Expr = const(1, dtype)
    for extent in extents:
        total = times(total, extent)
    if isinstance(total, Const) and not dtype.min <= total.value <= dtype.max:
        refuse("overflow", f"{total.value} iterations do not fit {dtype}", chain[0].span)
    _check_range(chain[0], const(0, dtype), total, known)
    fused = replace(chain[0].var, name=fresh("_".join(loops) + "_fused", names_in(func)))
    values: dict[Var, Expr] = {}
    rest: Expr = fused
    for k in range(len(chain) - 1, -1, -1):
        digit = rest if k == 0 else _modulo(rest, extents[k])
        values[chain[k].var] = plus(chain[k].start, digit)
        rest = _quotient(rest, extents[k])
    body = substitute(chain[-1].body, values)
    outer = chain[0]
    kind = outer.kind if all(each.kind == outer.kind for each in chain) else "serial"
    new = For(fused, const(0, dtype), total, body, kind, outer.annotations, outer.span)
    return Changed(with_body(func, path, new), (fused.name,))


def _count(loop: For, known: isl.Set) -> Expr:
    """The number of iterations: two extents below zero would have a positive product."""
    zero = const(0, loop.extent.dtype)
    return loop.extent if proven(Binary("ge", loop.extent, zero), known) else Binary("max", loop.extent, zero)


def _modulo(value: Expr, extent: Expr) -> Expr:
    return const(0, value.dtype) if _is(extent, 1) else Binary("floormod", value, extent)


def _quotient(value: Expr, extent: Expr) -> Expr:
    return value if _is(extent, 1) else Binary("floordiv", value, extent)


def _chain(outer: For, names: Sequence[str]) -> list[For]:
    """Loops of these names, each alone in the one before."""
    chain = [outer]
    for name in names[1:]:
        inner = chain[-1].body
        if not isinstance(inner, For) or inner.var.name != name:
            found = f"loop {inner.var.name}" if isinstance(inner, For) else f"`{to_script(inner).splitlines()[0]}`"
            message = f"loop {name} is not alone in loop {chain[-1].var.name}, which holds {found}"
            refuse("not-nested", message, chain[-1].span, help="give loops that are directly nested, outermost first")
        chain.append(inner)
    return chain


# Reorder -------------------------------------------------------------------------------------------------------------


def reorder(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    """Put loops of one nest into the given order; loops between them that are not named keep their places.

    Raises:
        ScheduleError: a loop is named twice, the loops are not in one nest of loops alone in one another, bounds depend
            on a loop that would move inside, or a dependence would be reversed.
    """
    if len(set(loops)) != len(loops) or not loops:
        refuse("loops", "reorder takes different loops, at least one", func.span)
    paths = {name: loop_path(func, name) for name in loops}
    path = min(paths.values(), key=len)
    top = _loop(path)
    chain, guards = _down_to(top, set(loops))
    places = [k for k, loop in enumerate(chain) if loop.var.name in loops]
    by_name = {loop.var.name: loop for loop in chain}
    order = list(chain)
    for place, name in zip(places, loops, strict=True):
        order[place] = by_name[name]
    _check_bounds(order)
    innermost = chain[-1].body
    for guard in reversed(guards):
        innermost = If(guard, innermost, SKIP)
    new = nest(order, innermost)
    if [a.var.name for a in order] != [b.var.name for b in chain]:
        known = facts_at(func, path)
        _check_defined(chain[1:], known)
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


def _check_bounds(order: Sequence[For]) -> None:
    for k, loop in enumerate(order):
        inner = {inside.var.name for inside in order[k:]}
        used = {v.name for e in (loop.start, loop.extent) for v in free_vars(e)} & inner
        if used:
            message = (
                f"the bounds of loop {loop.var.name} depend on {', '.join(sorted(used))}, which would be inside it"
            )
            refuse("dependent-bounds", message, loop.span, help="only loops over rectangles change places")


# Rebase and marks ----------------------------------------------------------------------------------------------------


def rebase(func: PrimFunc, loop: str, start: int | Expr) -> Changed:
    """Let a loop count from `start` instead.

    Raises:
        ScheduleError: the start is of another dtype, reads a buffer, or has no value before the loop.
    """
    path = loop_path(func, loop)
    old = _loop(path)
    first = start if isinstance(start, Expr) else _literal(old, start)
    known, scope = facts_at(func, path), set(scope_of(func, path[:-1]).values())
    if first.dtype is not old.var.dtype or not free_vars(first) <= scope or not is_defined(first, known):
        refuse("start", f"loop {loop} cannot count from `{to_script(first)}`", old.span, help="give a number or a size")
    _check_steady(old)
    _check_range(old, first, old.extent, known)
    var = replace(old.var, name=fresh(loop, names_in(func)))
    shift = _difference(old.start, first)
    body = substitute(old.body, {old.var: plus(var, shift)})
    return Changed(with_body(func, path, replace(old, var=var, start=first, body=body)), (var.name,))


def _difference(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return const(int(left.value) - int(right.value), left.dtype)
    if _is(right, 0):
        return left
    return const(0, left.dtype) if left.same(right) else Binary("sub", left, right)


def parallel(func: PrimFunc, loop: str) -> Changed:
    """Mark a loop whose iterations are independent as parallel.

    Raises:
        ScheduleError: two iterations touch one element, and one of them writes it.
    """
    return _independent(func, loop, "parallel")


def vectorize(func: PrimFunc, loop: str) -> Changed:
    """Mark a loop whose iterations are independent as one vector operation.

    Raises:
        ScheduleError: two iterations touch one element, and one of them writes it.
    """
    return _independent(func, loop, "vectorized")


def _independent(func: PrimFunc, loop: str, kind: LoopKind) -> Changed:
    path = loop_path(func, loop)
    old = _loop(path)
    found = carried(old, facts_at(func, path))
    if found is not None:
        message = f"loop {loop} cannot be {kind}: {found.message}"
        refuse("dependence", message, old.span, notes=found.notes, help="mark a loop whose iterations are independent")
    return Changed(with_body(func, path, replace(old, kind=kind)))


def unroll(func: PrimFunc, loop: str) -> Changed:
    """Mark a loop of constant extent to be unrolled.

    Raises:
        ScheduleError: the extent is not a number.
    """
    path = loop_path(func, loop)
    old = _loop(path)
    if not isinstance(old.extent, Const):
        message = f"loop {loop} has {to_script(old.extent)} iterations, which is no number"
        refuse("unroll", message, old.span, help="split off a part of constant extent first")
    return Changed(with_body(func, path, replace(old, kind="unroll")))
