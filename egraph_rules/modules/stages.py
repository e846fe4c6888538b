"""Loops of an entry function as functions of their own, so that what lies between them may be kept in another way too.

A stage is a nest of loops, or a store, with the local buffers that nothing else uses. A loop over time steps is none:
it stands around stages, and no access depends on its variable. Once all is chosen they stand in their places again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Assert,
    Assume,
    Block,
    Buffer,
    CallStmt,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Var,
    seq,
)
from ir.program.calls import body_of, calls_only_leaves, names_mentioned
from ir.program.edit import names_in, with_children
from ir.program.scopes import used
from ir.sections import Section
from ir.traverse import (
    all_exprs,
    bound_var,
    buffers_written,
    free_vars,
    has_loads,
    map_stmt,
    shape_vars,
    stmt_children,
    walk,
)

_STAGE = "stage"  # the attribute of functions that are one
_OTHER = (Assert, Assume, Block, CallStmt, Evaluate)


def staged(entry: PrimFunc, *, alone: bool) -> PrimFunc:
    """A function with its stages as calls, and those of callees that call others in the places of their calls; its own
    as they are where sizes do not stay what they are, or one is all there is that may not stand `alone`.
    """
    entry = calls_only_leaves(entry)
    local = (s.buffer for s in walk(entry.body) if isinstance(s, Alloc))
    steady = {*entry.scalars, *shape_vars(entry)}
    if not all(free_vars(e) <= steady for b in local for e in b.shape):
        return entry
    stages = _Stages(entry, names_in(entry))
    body = stages.stmt(entry.body)
    return entry if isinstance(body, CallStmt) and not alone else replace(entry, body=body)


def unstaged(func: PrimFunc) -> PrimFunc:
    """A function with its stages in the places of their calls."""
    taken = {p.name for p in func.params} | names_mentioned(func.body)

    def stage(stmt: Stmt) -> Stmt:
        own = isinstance(stmt, CallStmt) and dict(stmt.callee.attrs).get(_STAGE)
        return body_of(stmt, taken) if own and isinstance(stmt, CallStmt) else stmt

    return replace(func, body=map_stmt(func.body, on_stmt=stage))


class _Stages(Struct):
    entry: PrimFunc
    taken: set[str]
    made: int = 0

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Seq(stmts=stmts):
                return seq(*map(self.stmt, stmts), span=stmt.span)
            case Alloc(buffer=buffer, body=Seq(stmts=stmts)) if _users(buffer, stmts) == 1:
                return self.stmt(seq(*(replace(stmt, body=s) if buffer in used(s) else s for s in stmts)))
            case Alloc(body=body) if not _is_stage(body):
                return replace(stmt, body=self.stmt(body))
            case Let(body=body):
                return replace(stmt, body=self.stmt(body))
            case For() | If() if _goes_around(stmt):
                return with_children(stmt, [self.stmt(s) for s in stmt_children(stmt)])
            case _ if _is_stage(stmt):
                return self._called(stmt)
            case _:
                return stmt

    def _called(self, stmt: Stmt) -> CallStmt:
        self.made += 1
        return called(stmt, f"{self.entry.name}_{self.made}", self.taken)


def called(stmt: Stmt, name: str, taken: set[str]) -> CallStmt:
    """The call of a function that is a statement; `unstaged` puts that in its place again."""
    written = buffers_written(stmt)
    own = {s.buffer for s in walk(stmt) if isinstance(s, Alloc)}
    used = dict.fromkeys(b for b in _buffers(stmt) if b not in own)
    buffers = [*(b for b in used if b not in written), *(b for b in used if b in written)]
    bound = {v for s in walk(stmt) for v in bound_var(s)}
    sizes = (v for b in sorted(own, key=lambda b: b.name) for e in b.shape for v in sorted(free_vars(e), key=str))
    scalars = dict.fromkeys((*(e for e in all_exprs(stmt) if isinstance(e, Var) and e not in bound), *sizes))
    func = PrimFunc(fresh(name, taken), (*buffers, *scalars), stmt, ((_STAGE, True),), stmt.span).vouched()
    return CallStmt(func, (*map(Section.whole, buffers), *scalars), stmt.span)


def _is_stage(stmt: Stmt) -> bool:
    if any(isinstance(s, _OTHER) for s in walk(stmt)):
        return False
    match stmt:
        case Alloc(body=body):
            return _is_stage(body)
        case For() | If():
            return not _goes_around(stmt)
        case _:
            return isinstance(stmt, Store)


def _users(buffer: Buffer, stmts: Sequence[Stmt]) -> int:
    return sum(buffer in used(s) for s in stmts)


def _goes_around(stmt: For | If) -> bool:
    """Whether a loop or branch stands around stages: others are inside, and no access depends on it."""
    if any(isinstance(s, CallStmt) for s in walk(stmt)):
        return True
    if not any(isinstance(s, For) for part in stmt_children(stmt) for s in walk(part)):
        return False
    if isinstance(stmt, If):
        return not has_loads(stmt.cond)
    return all(stmt.var not in free_vars(index) for index in _indices(stmt.body))


def _indices(stmt: Stmt) -> Iterator[Expr]:
    for inner in walk(stmt):
        if isinstance(inner, Store):
            yield from inner.indices
    for expr in all_exprs(stmt):
        if isinstance(expr, Load):
            yield from expr.indices


def _buffers(stmt: Stmt) -> Iterator[Buffer]:
    """Buffers that a statement accesses, in program order."""
    for inner in walk(stmt):
        if isinstance(inner, Store):
            yield inner.buffer
        for expr in (e for e in all_exprs(inner) if isinstance(e, Load)):
            yield expr.buffer
