"""Coalescing: nested loops as one loop that counts all of their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Binary, Const, Expr, For, PrimFunc, Var, const
from ir.presburger.facts import facts_at
from ir.program.edit import Changed, loop_path, names_in, plus, refuse, times, with_body
from ir.transform.loops.ranges import check_defined, check_range, check_steady, count, loop_at, nested
from ir.traverse import free_vars, is_const, substitute


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
