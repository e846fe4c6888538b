"""Operators of integer numbers, worked out. Owns no arithmetic (`ir.arith`), nor laws with unknowns."""

from __future__ import annotations

from ir.arith import ArithmeticFault, fold_binary, fold_unary
from ir.nodes import Binary, Const, Expr, Unary
from ir.traverse import map_expr


def folded(expr: Expr) -> Expr:
    """An expression with a number for each integer operation on numbers that does not fault."""
    return map_expr(expr, lambda e: fold(e) if e.dtype.is_integer else e)


def fold(expr: Expr) -> Expr:
    """What one operation on integer numbers gives, or the expression as it is."""
    try:
        match expr:
            case Binary(op=op, lhs=Const(value=a, dtype=dtype), rhs=Const(value=b)) if dtype.is_integer:
                return Const(fold_binary(op, a, b, dtype), expr.dtype, expr.span)
            case Unary(op=op, operand=Const(value=a, dtype=dtype)) if dtype.is_integer:
                return Const(fold_unary(op, a, dtype), expr.dtype, expr.span)
            case _:
                return expr
    except ArithmeticFault:
        return expr
