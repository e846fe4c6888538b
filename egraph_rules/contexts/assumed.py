"""Conditions that hold because others do, or because statements have promised them."""

from __future__ import annotations

from collections.abc import Iterator

from ir.analysis.assumptions import within_bounds
from ir.nodes import Assert, Assume, Binary, Expr, For, Seq, Stmt, Unary
from ir.presburger import sets as pb
from ir.traverse import buffers_written, has_loads, has_undef, loads


def conjuncts(cond: Expr, truth: bool) -> Iterator[tuple[Expr, bool]]:
    """Conditions that follow from `cond == truth`, itself included."""
    yield cond, truth
    match cond:
        case Binary(op="and", lhs=a, rhs=b) if truth:
            yield from conjuncts(a, True)
            yield from conjuncts(b, True)
        case Binary(op="or", lhs=a, rhs=b) if not truth:
            yield from conjuncts(a, False)
            yield from conjuncts(b, False)
        case Unary(op="not", operand=a):
            yield from conjuncts(a, not truth)
        case _:
            pass


def of_trips(loop: For) -> Iterator[tuple[Expr, bool]]:
    """The bounds of a loop's variable that sets of values of variables do not express; they are worked out once."""
    for cond in within_bounds(loop):
        if loop.var.dtype.is_signed and (has_loads(cond) or not pb.condition(cond).exact):
            yield cond, True


def assumed_conditions(stmt: Stmt) -> Iterator[tuple[Expr, bool]]:
    """Conditions that a statement leaves true, and that sets of values of variables do not express."""
    match stmt:
        case Assume(cond=cond) | Assert(cond=cond):
            parts = ((c, v) for c, v in conjuncts(cond, True) if not has_undef(c))
            yield from ((c, v) for c, v in parts if has_loads(c) or not pb.condition(c).exact)
        case Seq(stmts=stmts):
            for k, part in enumerate(stmts):
                later = {buffer for rest in stmts[k + 1 :] for buffer in buffers_written(rest)}
                for cond, value in assumed_conditions(part):
                    if not any(load.buffer in later for load in loads(cond)):
                        yield cond, value
        case _:
            pass
