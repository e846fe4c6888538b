"""Padding that holds nothing in particular, filled with what a later reader wants: then that reader needs no guard.

What a program leaves undef may be any value, so that choosing one refines it. That is no equality: it is done between
searches, to the program from which the next one starts, and the price decides whether its result is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.search.erase import is_undef
from ir.analysis.effects import EffectAnalysis
from ir.analysis.neutral import neutral_factors, neutral_to
from ir.floats import Floats
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    const,
    seq,
)
from ir.presburger import sets as pb
from ir.program.calls import is_argument
from ir.program.edit import with_children
from ir.traverse import (
    all_exprs,
    bound_var,
    children,
    free_vars,
    has_undef,
    map_expr,
    map_stmt,
    reads,
    stmt_children,
    stores_in,
    walk,
)

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
    """Let guards around all stores to a local buffer also write where they are false."""
    effects = EffectAnalysis()

    def local(inner: Stmt) -> Stmt:
        if not isinstance(inner, Alloc) or inner.buffer not in wanted or is_argument(inner.buffer, inner.body):
            return inner
        body = _Completion(inner.buffer, wanted[inner.buffer], effects).of(inner.body, ())
        return inner if body is None else replace(inner, body=body)

    return map_stmt(stmt, on_stmt=local)


class _Completion(Struct, frozen=True):
    """Guards of a local buffer, each of which is to write a value too where it is false."""

    buffer: Buffer
    value: Const
    effects: EffectAnalysis

    def of(self, stmt: Stmt, loops: tuple[For, ...]) -> Stmt | None:
        """A statement that does all stores to the buffer, `loops` around it, with another arm of its guards.

        None if nothing can be said. What it does not fill stays undef, as all of it was.
        """
        match stmt:
            case If(cond=cond, then=then, other=other):
                fill = [*self._fills(then)]
                if other != SKIP or reads(self.buffer, cond) or not self._may(fill, then, loops):
                    return None
                return replace(stmt, then=self.of(then, loops) or then, other=seq(*fill))
            case For(body=body):
                inner = self.of(body, (*loops, stmt))
                return None if inner is None else replace(stmt, body=inner)
            case _:
                parts = stmt_children(stmt)
                at = [k for k, part in enumerate(parts) if self._writes(part)]
                inner = self.of(parts[at[0]], loops) if len(at) == 1 else None
                return None if inner is None else with_children(stmt, [*parts[: at[0]], inner, *parts[at[0] + 1 :]])

    def _writes(self, stmt: Stmt) -> bool:
        return any(store.buffer == self.buffer for store in stores_in(stmt))

    def _fills(self, stmt: Stmt) -> Iterator[Stmt]:
        """What writes the value to all elements that a statement may store to, each statement of it once."""
        if isinstance(stmt, Store) and stmt.buffer == self.buffer:
            yield replace(stmt, value=self.value)
        found = dict.fromkeys(fill for part in stmt_children(stmt) for fill in self._fills(part))
        for fill in found:
            mentions = isinstance(stmt, For) and any(stmt.var in free_vars(e) for e in all_exprs(fill))
            yield replace(stmt, body=fill) if isinstance(stmt, For) and mentions else fill

    def _may(self, fill: list[Stmt], then: Stmt, loops: tuple[For, ...]) -> bool:
        """Whether filling is defined, and no iteration of the loops around fills what another one stores."""
        bound = {v for s in walk(then) if not isinstance(s, For) for v in bound_var(s)}
        plain = all(isinstance(e, (Var, Const)) and e not in bound for s in fill for e in all_exprs(s))
        places = [s.indices for s in stores_in(then) if s.buffer == self.buffer]
        told = all(any(all(at[k] == loop.var for at in places) for k in range(len(places[0]))) for loop in loops)
        whole: Stmt = seq(*fill)
        for loop in reversed(loops):
            whole = replace(loop, body=whole)

        def inside() -> bool:
            return self.effects.of(whole).may[self.buffer].is_subset(pb.box(self.buffer.shape))

        return plain and bool(places) and bool(places[0]) and told and pb.within_budget(inside, False)
