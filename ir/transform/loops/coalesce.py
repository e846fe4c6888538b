"""Coalescing: nested loops as one loop that counts all of their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import islpy as isl
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Binary, Const, Expr, For, PrimFunc, Var, const
from ir.presburger.facts import facts_at, proven
from ir.program.edit import Changed, loop_path, names_in, plus, refuse, times, with_body
from ir.transform.loops.ranges import check_defined, check_range, check_steady, count, loop_at, nested
from ir.traverse import (
    all_exprs,
    bound_var,
    free_vars,
    has_loads,
    is_const,
    map_expr,
    map_stmt,
    substitute,
    walk,
    walk_expr,
)


def fuse(func: PrimFunc, loops: Sequence[str]) -> Changed:
    """Make nested loops, each alone in the one before, into one called `<i>_<j>_fused`.

    Raises:
        ScheduleError: fewer than two loops are given, something stands between them, or the bounds of one depend on
            the variable of another.
    """
    if len(loops) < 2:
        refuse("too-few-loops", "fuse needs at least two loops", func.span, help="give nested loops, outermost first")
    path = loop_path(func, loops[0])
    chain = nested(loop_at(path), loops)
    known = facts_at(func, path)
    for each in chain:
        check_steady(each)
    check_defined(chain[1:], known)
    for outer, inner in pairwise(chain):
        dependent = {v.name for e in (inner.start, inner.extent) for v in free_vars(e)} & {c.var.name for c in chain}
        if dependent:
            message = f"the bounds of loop {inner.var.name} depend on {', '.join(sorted(dependent))}"
            refuse("dependent-bounds", message, inner.span, help=f"loops such as {outer.var.name} fuse as rectangles")
    if len({loop.var.dtype for loop in chain}) > 1:
        refuse("dtype", f"loops {', '.join(loops)} count in different dtypes", chain[0].span)
    dtype = chain[0].var.dtype
    extents = [count(loop, known) for loop in chain]
    total: Expr = const(1, dtype)
    for extent in extents:
        total = times(total, extent)
    if isinstance(total, Const) and not dtype.min <= total.value <= dtype.max:
        refuse("overflow", f"{total.value} iterations do not fit {dtype}", chain[0].span)
    check_range(chain[0], const(0, dtype), total, known)
    fused = replace(chain[0].var, name=fresh("_".join(loops) + "_fused", names_in(func)))
    digits = digits_of(fused, extents[1:])
    values: dict[Var, Expr] = {o.var: plus(o.start, digit) for o, digit in zip(chain, digits, strict=True)}
    body = substitute(chain[-1].body, values)
    outer = chain[0]
    kind = outer.kind if all(each.kind == outer.kind for each in chain) else "serial"
    new = For(fused, const(0, dtype), total, body, kind, outer.annotations, outer.span)
    return Changed(with_body(func, path, new), (fused.name,))


def uncoalesced(loop: For, known: isl.Set, taken: set[str]) -> For | None:
    """The nested loops that one counts together, where only how far these are matters: `f // n` and `f % n` of f.

    None where its body takes something else of it, or its extent is not known to be a multiple of n.
    """
    parts = [e for whole in all_exprs(loop.body) for e in walk_expr(whole) if _divides(e, loop.var)]
    sizes = dict.fromkeys(e.rhs for e in parts if isinstance(e, Binary))
    bound = {v for s in walk(loop.body) for v in bound_var(s)} | {loop.var}
    if len(sizes) != 1 or not is_const(loop.start, 0):
        return None
    (size,) = sizes
    outer = _quotient(loop.extent, size)
    nonnegative = Binary("ge", size, const(0, size.dtype))
    if outer is None or bound & free_vars(size) or has_loads(size) or not proven(nonnegative, known):
        return None
    names = [fresh(f"{loop.var.name}_{k}", taken) for k in range(2)]
    taken |= {*names}
    first, last = (replace(loop.var, name=name) for name in names)
    digits: dict[str, Expr] = {"floordiv": first, "floormod": last}
    put = map_stmt(
        loop.body,
        lambda expr: map_expr(expr, lambda e: digits[e.op] if isinstance(e, Binary) and _divides(e, loop.var) else e),
    )
    if any(loop.var in free_vars(e) for e in all_exprs(put)):
        return None
    inner = replace(loop, var=last, extent=size, body=put)
    new = replace(loop, var=first, extent=outer, body=inner)
    return uncoalesced(new, known, taken) or new


def _divides(expr: Expr, var: Var) -> bool:
    return isinstance(expr, Binary) and expr.op in ("floordiv", "floormod") and expr.lhs.same(var)


def _quotient(extent: Expr, size: Expr) -> Expr | None:
    """What an extent is a multiple of a size by."""
    match extent, size:
        case Const(), Const():
            return (
                const(extent.value // size.value, extent.dtype)
                if size.value and not extent.value % size.value
                else None
            )
        case Binary(op="mul", lhs=first, rhs=last), _:
            return first if last.same(size) else last if first.same(size) else None
        case _:
            return None


def digits_of(position: Expr, extents: Sequence[Expr]) -> list[Expr]:
    """How far nested loops are, or the indices of dimensions, at a position that all of them count together; `extents`
    are those of all but the first."""
    digits: list[Expr] = []
    for extent in reversed(extents):
        if is_const(extent, 1):
            digits.append(const(0, position.dtype))
        else:
            digits.append(Binary("floormod", position, extent))
            position = Binary("floordiv", position, extent)
    return [position, *reversed(digits)]
