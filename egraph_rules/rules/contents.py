"""Buffers that need not exist: what is read from them is known where it is read.

That a load equals the value known at its place is no rule but what contexts say of every load. An element is computed
again where that costs less than to load it, expression by expression; that a buffer goes pays only once no load of it
is left, and so is proposed for all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph_rules.context import IMPOSSIBLE
from egraph_rules.cost import CPU
from egraph_rules.prices import Prices
from egraph_rules.proposal import Here, rewrite
from ir.analysis.contents import reads
from ir.nodes import SKIP, Alloc, Binary, Block, Buffer, Expr, For, If, Let, Load, Select, Seq, Stmt, Store, seq
from ir.traverse import all_exprs, children, stmt_exprs, walk, with_children

_PRICES = Prices(CPU)  # to leave out what promises nothing; what is chosen in the end is for extraction to say


MAX_CHOICES = 3  # of buffers that may stay or go, where guards make it a question: all combinations are searched


class _UnknownError(Exception):
    """Some element is read of which nothing is known."""


@rewrite(
    law="alloc B: s  =  s with what B[i] is known to be in place of B[i], and without stores to B",
    because="a load gives what was stored there, and nothing else looks at the buffer",
    settles=lambda stmt, new: not _chooses(new) or _locals(stmt) > MAX_CHOICES,
)
def forwarded(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Forward what is stored in a local buffer to all that load it (store-to-load forwarding; array contraction)."""
    if not isinstance(stmt, Alloc):
        return
    inside = here.within(stmt)
    try:
        new = _Forwarding(stmt.buffer).statement(stmt.body, inside)
    except _UnknownError:
        return
    if _PRICES.program(new) < _PRICES.program(stmt):
        yield new


def _chooses(stmt: Stmt) -> bool:
    """Whether a statement has guards, which a buffer with padding might do without."""
    return any(isinstance(s, If) for s in walk(stmt)) or any(isinstance(e, Select) for e in all_exprs(stmt))


def _locals(stmt: Stmt) -> int:
    return sum(1 for s in walk(stmt) if isinstance(s, Alloc))


class _Forwarding:
    """A statement without a buffer."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    def statement(self, stmt: Stmt, here: Here) -> Stmt:
        if here.facts == IMPOSSIBLE:
            return SKIP
        match stmt:
            case Store(buffer=buffer) if buffer == self.buffer:
                return SKIP
            case Seq(stmts=(first, second)):
                before, after = here.between(first, second)
                return seq(self.statement(first, before), self.statement(second, after))
            case Store(indices=indices, value=value):
                places = tuple(self.expr(i, here) for i in indices)
                return replace(stmt, indices=places, value=self.expr(value, here))
            case If(cond=cond, then=yes, other=no):
                arms = (here.under(cond, truth) for truth in (True, False))
                yes, no = (SKIP if at is None else self.statement(s, at) for s, at in zip((yes, no), arms, strict=True))
                return replace(stmt, cond=self.expr(cond, here), then=yes, other=no)
            case For(start=start, extent=extent, body=body) as loop:
                within = here.inside(loop)
                body = SKIP if within is None else self.statement(body, within)
                return replace(stmt, start=self.expr(start, here), extent=self.expr(extent, here), body=body)
            case Let(value=value, body=body) as let:
                within = here.inside(let)
                body = SKIP if within is None else self.statement(body, within)
                return replace(stmt, value=self.expr(value, here), body=body)
            case Alloc(body=body):
                return replace(stmt, body=self.statement(body, here.within(stmt)))
            case Block(body=body):
                return replace(stmt, body=self.statement(body, here))
            case _:
                if any(self.buffer in reads(e) for e in stmt_exprs(stmt)):
                    raise _UnknownError
                return stmt

    def expr(self, expr: Expr, here: Here) -> Expr:
        if self.buffer not in reads(expr):
            return expr
        match expr:
            case Load(buffer=buffer, indices=indices) if buffer == self.buffer:
                value = here.contents(buffer, indices)
                if value is None or self.buffer in reads(value):
                    raise _UnknownError
                return value
            case Select(cond=cond, then=yes, other=no):
                arms = [here.under(cond, truth) for truth in (True, False)]
                yes, no = (e if at is None else self.expr(e, at) for e, at in zip((yes, no), arms, strict=True))
                if arms[0] is None or arms[1] is None:
                    return no if arms[0] is None else yes
                return replace(expr, cond=self.expr(cond, here), then=yes, other=no)
            case Binary(op="and" | "or" as op, lhs=lhs, rhs=rhs):
                at = here.under(lhs, op == "and")
                return (
                    self.expr(lhs, here)
                    if at is None
                    else replace(expr, lhs=self.expr(lhs, here), rhs=self.expr(rhs, at))
                )
            case _:
                return with_children(expr, tuple(self.expr(e, here) for e in children(expr)))


CONTENTS_RULES = (forwarded,)
