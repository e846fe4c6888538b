"""Strip-mining: a loop as nested ones that count the same iterations, with a guard where they count more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import islpy as isl
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, If, Let, PrimFunc, Seq, Stmt, Store, Var, const, seq
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at, guarded, proven
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, names_in, nest, plus, refuse, times, with_body
from ir.transform.loops.digits import Digits
from ir.transform.loops.ranges import check_range, check_steady, literal, loop_at
from ir.traverse import (
    accessed,
    bound_var,
    free_vars,
    has_loads,
    is_const,
    map_stmt,
    reads,
    substitute,
    walk,
)

_MAX_PARTS = 16  # more loops than that are a mistake


def split(func: PrimFunc, loop: str, factors: Sequence[int | Expr | None]) -> Changed:
    """Split a loop into nested ones, outermost first; see `Schedule.split`.

    The outermost part keeps the loop's kind and annotations. Names are `<i>o`, `<i>i` for two parts, else `<i>_0`, ...

    Raises:
        ScheduleError: no factor or a factor that is not positive is given, several are None, or they cover fewer
            iterations than there are.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    known = facts_at(func, path)
    check_steady(old)
    extents = _factors(old, factors, known)
    if len(extents) > _MAX_PARTS:
        message = f"loop {loop} would become {len(extents)} loops"
        refuse("factors", message, old.span, help=f"give at most {_MAX_PARTS} factors")
    total: Expr = const(1, old.var.dtype)
    for extent in extents:
        total = times(total, extent)
    check_range(old, old.start, total, known)
    taken = names_in(func)
    suffixes = ("o", "i") if len(extents) == 2 else tuple(f"_{k}" for k in range(len(extents)))
    parts = [replace(old.var, name=fresh(loop + suffix, taken)) for suffix in suffixes]
    index: Expr = const(0, old.var.dtype)
    for var, extent in zip(parts, extents, strict=True):
        index = plus(times(extent, index) if not is_const(index, 0) else index, var)
    zero = const(0, old.var.dtype)
    loops = [
        For(v, zero, n, old.body, old.kind if k == 0 else "serial", old.annotations if k == 0 else (), old.span)
        for k, (v, n) in enumerate(zip(parts, extents, strict=True))
    ]
    inside = pb.within_loops(known, loops)
    below = _independent_below(old)
    inner = below[-1].body if below else old.body
    inside = pb.within_loops(inside, below)
    body = substitute(inner, {old.var: plus(old.start, index)})
    body = guarded(Binary("lt", index, old.extent), body, inside)
    return Changed(with_body(func, path, nest((*loops, *below), body)), tuple(v.name for v in parts))


def _independent_below(loop: For) -> list[For]:
    """Loops alone in one another below a loop, whose bounds do not depend on it: a guard may stand inside them."""
    found: list[For] = []
    stmt = loop.body
    while isinstance(stmt, For):
        used = free_vars(stmt.start, stmt.extent)
        if loop.var in used or has_loads(stmt.start) or has_loads(stmt.extent):
            break
        found.append(stmt)
        stmt = stmt.body
    return found


def _factors(loop: For, factors: Sequence[int | Expr | None], known: isl.Set) -> list[Expr]:
    """The extents of the parts, the one left open inferred."""
    dtype = loop.var.dtype
    given = [f if f is None or isinstance(f, Expr) else literal(loop, f) for f in factors]
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


def _ceildiv(extent: Expr, divisor: Expr) -> Expr:
    if is_const(divisor, 1):
        return extent
    if isinstance(extent, Const) and isinstance(divisor, Const):
        return const(-(-int(extent.value) // int(divisor.value)), extent.dtype)
    one_less = (
        const(int(divisor.value) - 1, extent.dtype)
        if isinstance(divisor, Const)
        else Binary("sub", divisor, const(1, extent.dtype))
    )
    return Binary("floordiv", Binary("add", extent, one_less), divisor)


def split_at_periods(func: PrimFunc) -> PrimFunc:
    """A function with loops that begin anew every few iterations as two, of which the outer one is over these.

    Such a loop stores anew where `i % k == c`, with numbers, to places that do not depend on it and are of use in other
    iterations too: accumulators of a row of an array that is seen as one line, of a day, or what is held for some
    samples. What is left over is a loop of its own.
    """
    if not any(isinstance(s, For) and _period(s) is not None for s in walk(func.body)):
        return func
    names = {p.name for p in func.params} | {v.name for s in walk(func.body) for v in bound_var(s)}

    def one(stmt: Stmt) -> Stmt:
        period = _period(stmt) if isinstance(stmt, For) else None
        return stmt if period is None or not isinstance(stmt, For) else _at_period(stmt, period, names)

    return replace(func, body=map_stmt(func.body, on_stmt=one)).as_form_of(func)


def _period(loop: For) -> int | None:
    """After how many iterations a loop begins anew; None if it is not known to."""
    if not (is_const(loop.start, 0) and isinstance(loop.extent, Const)) or loop.kind != "serial":
        return None
    branches = [s for s in walk(loop.body) if isinstance(s, If)]
    asked = {(s, _asked(s.cond, loop.var)) for s in branches}
    anew = {k for s, k in asked if k is not None and any(_begins_anew(loop, e) for e in (s.then, s.other))}
    return anew.pop() if len(anew) == 1 and max(anew) <= loop.extent.value // 2 else None


def _asked(cond: Expr, var: Var) -> int | None:
    """The number k of a condition `var % k == c`, or of its opposite."""
    match cond:
        case Binary(op="eq" | "ne", lhs=Binary(op="floormod", lhs=Var() as v, rhs=Const(value=k)), rhs=Const()):
            return int(k) if v == var and k > 1 else None
        case _:
            return None


def _begins_anew(loop: For, arm: Stmt) -> bool:
    """Whether an arm of a condition in a loop stores anew what the rest of the loop knows too."""
    everywhere, here = (Counter(buffer for buffer, _ in accessed(s)) for s in (loop.body, arm))
    return not (everywhere - here).keys().isdisjoint(_renewed(arm, loop.var))


def _renewed(stmt: Stmt, var: Var) -> Iterator[Buffer]:
    """What a statement certainly stores to, not what it reads there, at a place that does not depend on a variable."""
    match stmt:
        case Store(buffer=buffer, indices=indices, value=value):
            if var not in free_vars(*indices) and not any(map(has_loads, indices)) and not reads(buffer, value):
                yield buffer
        case Seq(stmts=stmts):
            for s in stmts:
                yield from _renewed(s, var)
        case For(body=body) | Let(body=body) | Alloc(body=body):
            yield from _renewed(body, var)
        case _:
            pass


def _at_period(loop: For, period: int, names: set[str]) -> Stmt:
    var, extent = loop.var, int(loop.extent.value) if isinstance(loop.extent, Const) else 0
    outer, inner = (Var(fresh(f"{var.name}{part}", names), var.dtype) for part in "oi")
    k, count = const(period, var.dtype), extent // period

    def body(block: Expr) -> Stmt:
        return Digits(var, extent, (period, 1), (block, inner)).put_in(loop.body)

    zero = const(0, var.dtype)
    block = For(inner, zero, k, body(outer), span=loop.span)
    blocks = replace(loop, var=outer, extent=const(count, var.dtype), body=block)
    if extent % period == 0:
        return blocks
    rest = For(inner, zero, const(extent % period, var.dtype), body(const(count, var.dtype)), span=loop.span)
    return seq(blocks, rest)
