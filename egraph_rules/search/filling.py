"""Padding that holds nothing in particular, filled with what a later reader wants: then that reader needs no guard.

What a program leaves undef may be any value, so that choosing one refines it. That is no equality: it is done between
searches, to the program from which the next one starts, and the price decides whether its result is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from egraph_rules.search.erase import is_undef
from ir import presburger as pb
from ir.analysis.effects import EffectAnalysis
from ir.arith import Scalar
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import SKIP, Alloc, Binary, Buffer, Cast, Const, Expr, If, Load, Select, Stmt, Store, const
from ir.operators import special
from ir.traverse import factors, loads, map_stmt, stmt_children, walk

RULE = "padding.filled"
LAW = "A[i] = undef  >=  A[i] = v   for a v that is neutral to a reader behind a guard"
_Wanted = dict[Buffer, Const]


def filled(body: Stmt, floats: Floats) -> Stmt:
    """A program that leaves nothing undef of what guarded reductions read; the same one if there is nothing to fill."""
    wanted: _Wanted = {}
    for buffer, value in _wanted(body, floats, guarded=False):
        wanted.setdefault(buffer, value)
    return map_stmt(_complete(body, wanted), on_stmt=lambda s: _without_undef(s, wanted)) if wanted else body


def _wanted(stmt: Stmt, floats: Floats, *, guarded: bool) -> Iterator[tuple[Buffer, Const]]:
    """Buffers that reductions behind a guard read, and what must stand in one for a step to change nothing."""
    if isinstance(stmt, Store) and guarded:
        yield from _neutral_to(stmt, floats)
    for part in stmt_children(stmt):
        yield from _wanted(part, floats, guarded=guarded or isinstance(stmt, If))


def _neutral_to(store: Store, floats: Floats) -> Iterator[tuple[Buffer, Const]]:
    """What must be in a buffer for `A[i] = A[i] op f(B[j])` to leave A as it is."""
    if not isinstance(store.value, Binary):
        return
    op, sides = store.value.op, (store.value.lhs, store.value.rhs)
    value = _neutral(op, store.value.dtype, floats)
    for accumulated, term in (sides, sides[::-1]):
        if value is None or not accumulated.same(Load(store.buffer, store.indices)):
            continue
        plain = factors(term) if op == "add" else [term]  # zero times anything else that is finite
        for factor in plain:
            source = factor.operand if isinstance(factor, Cast) else factor
            if isinstance(source, Load) and source.buffer != store.buffer and _holds(value, source.buffer):
                yield source.buffer, const(value, source.dtype)


def _neutral(op: str, dtype: DType, floats: Floats) -> Scalar | None:
    """A neutral number, which is finite where the rules take for granted that all numbers are."""
    numbers = [value for law, value in special(op, dtype, floats) if law.role == "neutral"]
    return next((n for n in numbers if isfinite(n) or Floats.FINITE not in floats), None)


def _holds(value: Scalar, buffer: Buffer) -> bool:
    """Whether an element of a buffer can be a number."""
    return buffer.dtype.is_float or (value == int(value) and buffer.dtype.min <= value <= buffer.dtype.max)


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
        stores = [s for s in walk(inner.body) if isinstance(s, Store) and s.buffer == inner.buffer]
        body = map_stmt(inner.body, on_stmt=lambda s: _with_other_arm(s, inner.buffer, wanted[inner.buffer]))
        added = [s for s in walk(body) if isinstance(s, Store) and s.buffer == inner.buffer]
        apart = len(stores) == 1 and len(added) == 2 and _apart(inner, body, wanted[inner.buffer], effects)
        return replace(inner, body=body) if apart else inner

    return map_stmt(stmt, on_stmt=local)


def _with_other_arm(stmt: Stmt, buffer: Buffer, value: Const) -> Stmt:
    if isinstance(stmt, If) and stmt.other == SKIP and isinstance(stmt.then, Store) and stmt.then.buffer == buffer:
        # What the guard reads could be changed by the store; and the place must be one wherever the guard is false.
        if any(load.buffer == buffer for e in (stmt.cond, *stmt.then.indices) for load in loads(e)):
            return stmt
        return replace(stmt, other=replace(stmt.then, value=value))
    return stmt


def _apart(alloc: Alloc, body: Stmt, value: Const, effects: EffectAnalysis) -> bool:
    """Whether what was added writes elements of the buffer that nothing else writes."""

    def only(added: bool) -> Stmt:
        return map_stmt(body, on_stmt=lambda s: s if _is_kept(s, alloc.buffer, value, added) else SKIP)

    def disjoint() -> bool:
        new, old = (effects.of(only(added)).may.get(alloc.buffer) for added in (True, False))
        if new is None or old is None:
            return False
        return new.is_subset(pb.box(alloc.buffer.shape)) and new.is_disjoint(old)

    return pb.within_budget(disjoint, False)


def _is_kept(stmt: Stmt, buffer: Buffer, value: Const, added: bool) -> bool:
    if not isinstance(stmt, Store):
        return True
    return stmt.buffer == buffer and stmt.value.same(value) is added
