"""A program with another float dtype: what it would compute if its floats were wider."""

from __future__ import annotations

from msgspec.structs import replace

from ir.arith import rounded
from ir.dtypes import DType
from ir.nodes import Buffer, Call, Cast, Const, Expr, For, Function, Let, Load, PrimFunc, Stmt, Undef, Var
from ir.traverse import map_expr, map_stmt


def in_float64(func: PrimFunc) -> PrimFunc:
    """The function with all floats as float64; literals keep the values that they have in their own dtype."""
    params = tuple(_buffer(p) if isinstance(p, Buffer) else _var(p) for p in func.params)
    return replace(func, params=params, body=map_stmt(func.body, _expr, _stmt, _buffer))


def _wide(dtype: DType) -> DType:
    return DType.FLOAT64 if dtype.is_float else dtype


def _var(var: Var) -> Var:
    return var if var.dtype is _wide(var.dtype) else Var(var.name, _wide(var.dtype), var.span)


def _buffer(buffer: Buffer) -> Buffer:
    return replace(buffer, shape=tuple(_expr(e) for e in buffer.shape), dtype=_wide(buffer.dtype))


def _stmt(stmt: Stmt) -> Stmt:
    return replace(stmt, var=_var(stmt.var)) if isinstance(stmt, (For, Let)) else stmt


def _expr(expr: Expr) -> Expr:
    return map_expr(expr, _node)


def _node(expr: Expr) -> Expr:
    match expr:
        case Var() as var:
            return _var(var)
        case Const(value=value, dtype=dtype) if dtype.is_float:
            return Const(rounded(float(value), dtype), DType.FLOAT64, expr.span)
        case Cast(dtype=dtype) | Undef(dtype=dtype) if dtype is not _wide(dtype):
            return replace(expr, dtype=_wide(dtype))
        case Load(buffer=buffer):
            return replace(expr, buffer=_buffer(buffer))
        case Call(function=function):
            return replace(expr, function=_function(function))
        case _:
            return expr


def _function(function: Function) -> Function:
    return replace(function, params=tuple(map(_var, function.params)), body=_expr(function.body))
