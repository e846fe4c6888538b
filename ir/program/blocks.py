"""Blocks in terms of lets and branches, and calls as bodies. What a block means is defined here, once."""

from __future__ import annotations

from msgspec.structs import replace

from ir.instructions import instruction_of
from ir.nodes import SKIP, TRUE, Block, Const, Expr, If, Let, PrimFunc, Stmt, Var, seq
from ir.program.calls import inline_calls, without_calls
from ir.traverse import map_stmt, substitute, substitute_expr, walk


def lower_blocks(func: PrimFunc, *, instances: bool = False) -> PrimFunc:
    """`func` without blocks and calls: axes become lets, or are substituted where plain; predicates and inits become
    branches; calls of kernels, what they run. With `instances`, marks of those of instructions stay."""
    func = without_calls(func)
    if not any(isinstance(s, Block) for s in walk(func.body)):
        return func
    keep = _lower_but_instances if instances else _lower
    return replace(func, body=map_stmt(func.body, on_stmt=keep)).as_form_of(func)


def _lower_but_instances(stmt: Stmt) -> Stmt:
    return stmt if instruction_of(stmt) is not None else _lower(stmt)


def lower_statement(stmt: Stmt) -> Stmt:
    """A statement without blocks and calls."""
    return map_stmt(inline_calls(stmt), on_stmt=_lower)


def without_axes(func: PrimFunc) -> PrimFunc:
    """`func` with every block reduced to a name around what it means: no axes, predicate or init."""
    return replace(func, body=map_stmt(func.body, on_stmt=_name_only)).as_form_of(func)


def _name_only(stmt: Stmt) -> Stmt:
    return Block(stmt.name, _lower(stmt), span=stmt.span) if isinstance(stmt, Block) else stmt


def _lower(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, Block):
        return stmt
    first: Expr = TRUE
    for axis in stmt.axes:
        if axis.kind == "reduce":
            at_start = axis.var == axis.start
            first = at_start if first.same(TRUE) else first & at_start
    init = SKIP if stmt.init is None else stmt.init
    if init != SKIP and not first.same(TRUE):
        init = If(first, init, SKIP, stmt.span)
    body = seq(init, stmt.body)
    predicate = stmt.predicate
    lets: list[tuple[Var, Expr]] = []
    plain: dict[Var, Expr] = {}
    for axis in stmt.axes:
        if isinstance(axis.value, (Var, Const)):
            plain[axis.var] = substitute_expr(axis.value, plain)
        else:
            lets.append((axis.var, substitute_expr(axis.value, plain)))
    body, predicate = substitute(body, plain), substitute_expr(predicate, plain)
    if not predicate.same(TRUE):
        body = If(predicate, body, SKIP, stmt.span)
    for var, value in reversed(lets):
        body = Let(var, value, body, stmt.span)
    return body
