"""What a statement may be by its form alone: a cheap question before those that need proofs."""

from __future__ import annotations

from collections.abc import Iterator

from ir.nodes import (
    MIRRORED,
    Alloc,
    Binary,
    Block,
    Call,
    CallStmt,
    Cast,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from ir.traverse import has_loads

COMMUTES = ("add", "mul", "min", "max", "and", "or", "bitand", "bitor", "bitxor", "eq", "ne")


def may_be(a: Stmt, b: Stmt) -> bool:
    """Whether a statement may do what another one of an instruction's body does, by its form alone.

    Where it may not, `call_of` finds that it does not, after it has asked more.
    """
    match a, b:
        case _, Block() | CallStmt():
            return True
        case (_, Let(var=var, value=value)) if not isinstance(a, Let) and var.dtype.is_integer:
            return not has_loads(value) and may_be(a, b.body)
        case (_, If()) if not isinstance(a, If):
            return may_be(a, b.then)
        case Seq(), Seq():
            left, right = list(_parts(a)), list(_parts(b))
            return len(left) == len(right) and all(map(may_be, left, right))
        case For(), For():
            return may_be(a.body, b.body)
        case Alloc(buffer=x), Alloc(buffer=y):
            return x.dtype is y.dtype and len(x.shape) == len(y.shape) and may_be(a.body, b.body)
        case If(), If():
            return _may_equal(a.cond, b.cond) and may_be(a.then, b.then) and may_be(a.other, b.other)
        case Let(), Let():
            return _may_equal(a.value, b.value) and may_be(a.body, b.body)
        case Store(), Store():
            return _may_equal(a.value, b.value)
        case _:
            return False


def _parts(stmt: Stmt) -> Iterator[Stmt]:
    """What statements in sequence are made of, however they are put together."""
    for part in stmt.stmts if isinstance(stmt, Seq) else ():
        yield from _parts(part) if isinstance(part, Seq) else (part,)


def _may_equal(a: Expr, b: Expr) -> bool:
    if a.dtype is not b.dtype:
        return False
    match a, b:
        case (_, Call()) | (Var(), _) | (Load(), Load()) | (Call(), _):
            return True
        case (Unary(op=p, operand=x), Unary(op=q, operand=y)) if p == q:
            return _may_equal(x, y)
        case Cast(operand=x), Cast(operand=y):
            return _may_equal(x, y)
        case Select(cond=c, then=x, other=y), Select(cond=d, then=u, other=v):
            return _may_equal(c, d) and _may_equal(x, u) and _may_equal(y, v)
        case Binary(op=p, lhs=x, rhs=y), Binary(op=q, lhs=u, rhs=v) if p == q:
            plain = _may_equal(x, u) and _may_equal(y, v)
            return plain or (p in COMMUTES and _may_equal(x, v) and _may_equal(y, u))
        case Binary(op=p, lhs=x, rhs=y), Binary(op=q, lhs=u, rhs=v) if MIRRORED.get(p) == q:
            return _may_equal(x, v) and _may_equal(y, u)
        case _:
            return not (has_loads(a) or has_loads(b))
