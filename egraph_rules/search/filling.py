"""Padding that holds nothing in particular, filled with what a later reader wants: then that reader needs no guard.

What a program leaves undef may be any value, so that choosing one refines it. That is no equality: it is done between
searches, to the program from which the next one starts, and the price decides whether its result is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from egraph_rules.search.erase import is_undef
from ir.analysis.contents import Regions
from ir.analysis.effects import EffectAnalysis
from ir.analysis.neutral import neutral_factors, neutral_to
from ir.floats import Floats
from ir.nodes import SKIP, Alloc, Binary, Buffer, Cast, Const, Expr, If, Load, Select, Stmt, Store, Unary, Var, const
from ir.presburger import sets as pb
from ir.traverse import all_exprs, children, has_undef, loads, map_expr, map_stmt, stmt_children, stores_in

RULE = "padding.filled"
LAW = "A[i] = undef  >=  A[i] = v   for a v that is neutral to a reader behind a guard"
_ORDER = ("min", "max", "bitand", "bitor", "bitxor")
_SAFE = {0: ("add", "mul"), 1: ("mul",)}  # operators that overflow with no operand beside such a number
_Wanted = dict[Buffer, Const]


def filled(body: Stmt, floats: Floats) -> Stmt:
    """A program that leaves nothing undef of what guarded reductions read; the same one if there is nothing to fill."""
    body = map_stmt(body, on_stmt=lambda s: _with_neutral_arms(s, floats))
    wanted: _Wanted = {}
    for buffer, value in _wanted(body, floats, guarded=False):
        if not _may_overflow(body, buffer, value):
            wanted.setdefault(buffer, value)
    return map_stmt(_complete(body, wanted), on_stmt=lambda s: _without_undef(s, wanted)) if wanted else body


def _with_neutral_arms(stmt: Stmt, floats: Floats) -> Stmt:
    """A step of a reduction in which a selection gives what changes nothing where it gave anything."""
    if not isinstance(stmt, Store) or not has_undef(stmt.value):
        return stmt
    new: dict[Expr, Expr] = {
        factor: _chosen(factor, const(value, factor.dtype))
        for factor, value in neutral_factors(stmt, floats)
        if isinstance(factor, Select)
    }
    return replace(stmt, value=map_expr(stmt.value, lambda e: new.get(e, e))) if new else stmt


def _wanted(stmt: Stmt, floats: Floats, *, guarded: bool) -> Iterator[tuple[Buffer, Const]]:
    """Buffers that reductions behind a guard read, and what must stand in one for a step to change nothing."""
    if isinstance(stmt, Store) and guarded:
        yield from neutral_to(stmt, floats)
    for part in stmt_children(stmt):
        yield from _wanted(part, floats, guarded=guarded or isinstance(stmt, If))


def _may_overflow(body: Stmt, buffer: Buffer, value: Const) -> bool:
    """Whether integers are calculated from a buffer, which undef does without a fault and this number may not."""
    if not buffer.dtype.is_signed:
        return False
    safe = (*_ORDER, *_SAFE.get(int(value.value), ()))
    return any(
        e.dtype.is_signed and any(_is_element(part, buffer) for part in children(e))
        for e in all_exprs(body)
        if isinstance(e, Unary) or (isinstance(e, Binary) and e.op not in safe)
    )


def _is_element(expr: Expr, buffer: Buffer) -> bool:
    """Whether an expression is an element of a buffer, in whatever dtype."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return isinstance(expr, Load) and expr.buffer == buffer


def _without_undef(stmt: Stmt, wanted: _Wanted) -> Stmt:
    """A store of what is wanted in place of undef."""
    if not isinstance(stmt, Store) or stmt.buffer not in wanted:
        return stmt
    value = _chosen(stmt.value, wanted[stmt.buffer])
    return stmt if value is stmt.value else replace(stmt, value=value)


def _chosen(value: Expr, wanted: Const) -> Expr:
    if is_undef(value):
        return wanted
    if isinstance(value, Select) and (is_undef(value.then) or is_undef(value.other)):
        return replace(value, then=_chosen(value.then, wanted), other=_chosen(value.other, wanted))
    return value


def _complete(stmt: Stmt, wanted: _Wanted) -> Stmt:
    """Let guarded stores to local buffers also write where their guard is false, if nothing else does."""
    effects = EffectAnalysis()

    def local(inner: Stmt) -> Stmt:
        if not isinstance(inner, Alloc) or inner.buffer not in wanted:
            return inner
        buffer, value = inner.buffer, wanted[inner.buffer]
        if sum(s.buffer == buffer for s in stores_in(inner.body)) != 1:
            return inner
        alone = map_stmt(inner.body, on_stmt=lambda s: _with_other_arm(s, buffer, value, kept=False))
        if alone == inner.body or not _apart(buffer, effects.of(alone).may, effects.of(inner.body).may):
            return inner
        both = map_stmt(inner.body, on_stmt=lambda s: _with_other_arm(s, buffer, value, kept=True))
        return replace(inner, body=both)

    return map_stmt(stmt, on_stmt=local)


def _with_other_arm(stmt: Stmt, buffer: Buffer, value: Const, *, kept: bool) -> Stmt:
    """A guarded store with a store of a value where the guard is false; without its own store unless that is `kept`."""
    match stmt:
        case If(cond=cond, then=Store() as store, other=other) if other == SKIP and store.buffer == buffer:
            # Where it did not run before, any other index might fault on the way to its value.
            total = all(isinstance(index, (Var, Const)) for index in store.indices)
            if total and all(load.buffer != buffer for load in loads(cond)):
                return replace(stmt, then=store if kept else SKIP, other=replace(store, value=value))
        case _:
            pass
    return stmt


def _apart(buffer: Buffer, added: Regions, written: Regions) -> bool:
    """Whether what is added stays in a buffer, and writes elements that nothing else writes."""

    def disjoint() -> bool:
        return added[buffer].is_subset(pb.box(buffer.shape)) and added[buffer].is_disjoint(written[buffer])

    return pb.within_budget(disjoint, False)
