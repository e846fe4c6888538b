"""Smaller programs that may show the same mistake. Owns what a program can lose; whether it still fails is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from egraph_rules.check.verdict import Counterexample
from ir.dtypes import DType
from ir.inputs import Inputs
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Const,
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
    Undef,
    Var,
    const,
    seq,
)
from ir.traverse import all_exprs, children, substitute, walk, with_children

_TRIES = 150

Retest = Callable[[PrimFunc, Inputs], Counterexample | None]


def shrink(found: Counterexample, retest: Retest) -> Counterexample:
    """The smallest counterexample reached by leaving parts of the program out, and by simpler inputs."""
    left = _TRIES
    smaller = True
    while smaller:
        smaller = False
        for func, inputs in _candidates(found.original, found.inputs):
            left -= 1
            if left < 0:
                return found
            new = retest(func, inputs)
            if new is not None and (new.size, _weight(new.inputs)) < (found.size, _weight(found.inputs)):
                found, smaller = new, True
                break
    return found


def _weight(inputs: Inputs) -> int:
    """How many elements are not zero."""
    return sum(int(np.count_nonzero(np.asarray(v))) for v in inputs.values())


def _candidates(func: PrimFunc, inputs: Inputs) -> Iterator[tuple[PrimFunc, Inputs]]:
    for body in _smaller(func.body):
        new = tidy(replace(func, body=body))
        yield new, {p.name: inputs[p.name] for p in new.params}
    for name, value in inputs.items():
        array = np.asarray(value)
        if not array.any():
            continue
        yield func, {**inputs, name: np.zeros_like(array) if isinstance(value, np.ndarray) else type(value)(0)}
        if isinstance(value, np.ndarray) and array.size > 1:
            for place in np.argwhere(array):
                fewer = array.copy()
                fewer[tuple(place)] = 0
                yield func, {**inputs, name: fewer}


def tidy(func: PrimFunc) -> PrimFunc:
    """A function without parameters and local buffers that it does not use."""
    used = {e.buffer.name for e in all_exprs(func.body) if isinstance(e, Load)}
    used |= {s.buffer.name for s in walk(func.body) if isinstance(s, Store)}
    used |= {e.name for e in all_exprs(func.body) if isinstance(e, Var)}
    shapes = {e.name for p in func.params if isinstance(p, Buffer) for e in p.shape if isinstance(e, Var)}
    return replace(func, params=tuple(p for p in func.params if p.name in used | shapes))


def _smaller(stmt: Stmt) -> Iterator[Stmt]:
    """A statement with something left out, the largest parts first."""
    match stmt:
        case Seq(stmts=stmts):
            for k in range(len(stmts)):
                yield seq(*stmts[:k], *stmts[k + 1 :])
            for k, part in enumerate(stmts):
                for new in _smaller(part):
                    yield seq(*stmts[:k], new, *stmts[k + 1 :])
        case If(cond=cond, then=yes, other=no):
            yield from (yes, no)
            if no != SKIP:
                yield replace(stmt, other=SKIP)
            for new in _smaller(yes):
                yield replace(stmt, then=new)
            for new in _smaller(no):
                yield replace(stmt, other=new)
            for new in _smaller_expr(cond):
                yield replace(stmt, cond=new)
        case For(var=var, start=start, extent=extent, body=body):
            yield substitute(body, {var: start})
            if isinstance(extent, Const) and extent.value > 1:
                yield replace(stmt, extent=const(int(extent.value) - 1, extent.dtype))
            for new in _smaller(body):
                yield replace(stmt, body=new)
            for new in _smaller_expr(extent):
                yield replace(stmt, extent=new)
        case Let(var=var, value=value, body=body):
            yield substitute(body, {var: const(0, var.dtype)})
            for new in _smaller(body):
                yield replace(stmt, body=new)
            for new in _smaller_expr(value):
                yield replace(stmt, value=new)
        case Alloc(body=body) | Block(body=body):
            if isinstance(stmt, Block):
                yield body
            for new in _smaller(body):
                yield replace(stmt, body=new)
        case Store(indices=indices, value=value):
            yield SKIP
            for new in _smaller_expr(value):
                yield replace(stmt, value=new)
            for k, index in enumerate(indices):
                for new in _smaller_expr(index):
                    yield replace(stmt, indices=(*indices[:k], new, *indices[k + 1 :]))
        case Assume(cond=cond) | Assert(cond=cond):
            yield SKIP
            for new in _smaller_expr(cond):
                yield replace(stmt, cond=new)
        case Evaluate():
            yield SKIP
        case _:
            pass


def _smaller_expr(expr: Expr) -> Iterator[Expr]:
    """Parts of an expression that can stand for it, and the expression with smaller parts."""
    if isinstance(expr, (Const, Var, Undef)):
        return
    parts = children(expr)
    yield from (part for part in parts if part.dtype is expr.dtype and not isinstance(expr, Load))
    if expr.dtype is not DType.BOOL and not isinstance(expr, Binary):
        yield const(0, expr.dtype)
    for k, part in enumerate(parts):
        for new in _smaller_expr(part):
            yield with_children(expr, (*parts[:k], new, *parts[k + 1 :]))
