"""Operators of known operands, worked out. Owns no arithmetic (`ir.arith`), nor laws with unknowns (`ir.operators`)."""

from __future__ import annotations

from functools import partial

from ir.arith import ArithmeticFault, Scalar, fold_binary, fold_cast, fold_unary, rounded, shortest
from ir.dtypes import DType, float_tiny
from ir.nodes import Binary, Cast, Const, Expr, Select, Unary
from ir.operators import is_library
from ir.traverse import map_expr


def folded(expr: Expr) -> Expr:
    """An expression with a number for each integer operation on numbers that does not fault."""
    return map_expr(expr, lambda e: fold(e) if e.dtype.is_integer else e)


def fold(expr: Expr) -> Expr:
    """What one operation on integer numbers gives, or the expression as it is."""
    match expr:
        case Binary(lhs=Const(dtype=dtype), rhs=Const()) | Unary(operand=Const(dtype=dtype)) if dtype.is_integer:
            found = computed(expr)
            return expr if found is None else Const(found.value, found.dtype, expr.span)
        case Cast(dtype=dtype, operand=Const(dtype=source, value=value)) if dtype.is_integer and source.is_integer:
            return Const(int(fold_cast(value, source, dtype)), dtype, expr.span)
        case _:
            return expr


def chosen(expr: Expr) -> Expr:
    """What is left of one choice, conjunction or disjunction of which a condition is known; else the expression."""
    match expr:
        case Select(cond=Const(value=truth), then=yes, other=no):
            return yes if truth else no
        case Binary(op="and" | "or" as op, lhs=Const(value=truth) as known, rhs=other):
            return other if truth == (op == "and") else known
        case Binary(op="and" | "or" as op, lhs=other, rhs=Const(value=truth)) if truth == (op == "and"):
            return other
        case _:
            return expr


def with_positive_number(expr: Expr) -> Expr:
    """`x - c` for `x + -c`, and `x + c` for `x - -c`: what rules and numbers in the place of names leave."""
    match expr:
        case Binary(op="add" | "sub" as op, rhs=Const(value=number, dtype=dtype)) if number < 0 and (
            dtype.is_float or -number <= dtype.max
        ):
            return Binary("sub" if op == "add" else "add", expr.lhs, Const(-number, dtype), expr.span)
        case _:
            return expr


def shortened(expr: Expr) -> Expr:
    """An expression with one number in place of those that are added to a signed integer one after the other, and
    without choices that are known.

    It faults nowhere else: sums between that leave the dtype are left out.
    """
    return map_expr(expr, lambda e: chosen(_joined(e)))


def _joined(expr: Expr) -> Expr:
    match fold(expr):
        case Binary(
            op="add" | "sub" as outer,
            lhs=Binary(op="add" | "sub" as inner, lhs=term, rhs=Const(value=int() as a)),
            rhs=Const(value=int() as b, dtype=dtype),
            span=span,
        ) if dtype.is_signed:
            total = (a if inner == "add" else -a) + (b if outer == "add" else -b)
            if total == 0:
                return term
            if abs(total) > dtype.max:
                return expr
            return Binary("add" if total > 0 else "sub", term, Const(abs(total), dtype), span)
        case found:
            return found


def computed(expr: Expr, *, library: bool = True) -> Const | None:
    """What one operation on numbers gives wherever it is computed, bit for bit; None if that is not one number.

    It is not where the operation faults; where it gives NaN, which equals nothing; where the sign of a zero decides,
    since a number that is known to equal zero may have either; where an operand or the result is subnormal, which
    hardware may flush to zero. Without `library`, functions whose last bit depends on the library are none either.
    """
    match expr:
        case Binary(op=op, lhs=Const() as a, rhs=Const() as b):
            results = (partial(fold_binary, op, x, y, a.dtype) for x in _readings(a) for y in _readings(b))
        case Unary(op=op, operand=Const() as a):
            results = (partial(fold_unary, op, x, a.dtype) for x in _readings(a))
        case Cast(dtype=dtype, operand=Const() as a):
            op, results = "cast", (partial(fold_cast, x, a.dtype, dtype) for x in _readings(a))
        case _:
            return None
    if not library and is_library(op, a.dtype):
        return None
    try:
        found = {result() for result in results}
    except ArithmeticFault:
        return None
    value = found.pop() if len(found) == 1 else None
    if value is None or not is_plain(value, expr.dtype):
        return None
    return Const(shortest(value, expr.dtype) if isinstance(value, float) else value, expr.dtype)


def _readings(operand: Const) -> tuple[Scalar, ...]:
    """The numbers that an operand known by value may be: a float zero has two signs. None of what is not plain."""
    if not operand.dtype.is_float:
        return (operand.value,)
    value = rounded(operand.value, operand.dtype)
    if value == 0.0:
        return value, -value
    return (value,) if is_plain(value, operand.dtype) else ()


def is_plain(value: Scalar, dtype: DType) -> bool:
    """Whether a number is neither NaN nor subnormal."""
    return not dtype.is_float or (value == value and (value == 0.0 or abs(value) >= float_tiny(dtype)))
