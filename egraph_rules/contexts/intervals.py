"""Ranges of integer expressions with products of variables, which sets of quasi-affine constraints cannot express.

isl bounds what is quasi-affine; only products and what is around them are bounded operand by operand.
"""

from __future__ import annotations

import islpy as isl

from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Unary, const
from ir.presburger import sets as pb
from ir.presburger.intervals import Range, combined, compared
from ir.traverse import free_vars


def fits(expr: Expr, domain: isl.Set) -> bool:
    """Whether an integer expression stays within its dtype for all values of its variables in `domain`.

    Its operands must do so.
    """
    found = _operation(expr, domain)
    return found is not None and expr.dtype.min <= found[0] and found[1] <= expr.dtype.max


def bounds(expr: Expr, domain: isl.Set) -> Range:
    """The least and the greatest value of an expression, or bounds on them; its dtype's at worst."""
    limits = expr.dtype.min, expr.dtype.max
    exact = _affine_range(expr, domain)
    found = _operation(expr, domain) if exact is None else exact
    if found is None or (not expr.dtype.is_signed and not limits[0] <= found[0] <= found[1] <= limits[1]):
        return limits  # what leaves an unsigned dtype comes back at its other end
    return max(found[0], limits[0]), min(found[1], limits[1])


def decided(cond: Expr, domain: isl.Set) -> bool | None:
    """Whether a condition holds for all values of its variables in `domain`, or for none, as far as bounds tell."""
    match cond:
        case Unary(op="not", operand=a):
            truth = decided(a, domain)
            return None if truth is None else not truth
        case Binary(op="and" | "or" as op, lhs=a, rhs=b):
            decisive = op == "or"
            truths = decided(a, domain), decided(b, domain)
            return decisive if decisive in truths else None if None in truths else not decisive
        case Binary(op="lt" | "le" | "gt" | "ge" | "eq" | "ne" as op, lhs=a, rhs=b) if a.dtype.is_integer:
            return compared(op, bounds(a, domain), bounds(b, domain))
        case _:
            return None


_WIDEST = 64  # bits of what is shifted


def is_value_of(expr: Expr, dtype: DType) -> Expr:
    """The condition that an integer is a value of an integer dtype."""
    least, most = (const(max(expr.dtype.min, min(v, expr.dtype.max)), expr.dtype) for v in (dtype.min, dtype.max))
    return Binary("and", Binary("ge", expr, least), Binary("le", expr, most))


def _affine_range(expr: Expr, domain: isl.Set) -> Range | None:
    value = pb.affine(expr)
    if value is None:
        return None
    for var in free_vars(expr):
        if var.dtype.is_integer:
            domain = domain.intersect(pb.values_of(var))
    values = isl.Set.from_pw_aff(value).intersect_params(domain)
    values = pb.forget(values, pb.variables(values))
    if values.is_empty():
        return 0, 0  # nothing runs here
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None


def _operation(expr: Expr, domain: isl.Set) -> Range | None:
    """Bounds on the mathematical result of an operation, before its dtype limits it; None if there are none."""
    match expr:
        case Unary(op="neg", operand=a):
            low, high = bounds(a, domain)
            return -high, -low
        case Unary(op="popcount" | "clz", operand=a):
            return 0, a.dtype.bits
        case Binary(op="add" | "sub" | "mul" | "min" | "max" as op, lhs=a, rhs=b):
            return combined(op, bounds(a, domain), bounds(b, domain))
        case Binary(op="floordiv", lhs=a, rhs=Const(value=int() as by)) if by > 0:
            low, high = bounds(a, domain)
            return low // by, high // by
        case Binary(op="shl", lhs=a, rhs=b) if expr.dtype.is_signed:
            (low, high), (least, most) = bounds(a, domain), bounds(b, domain)
            ends = [x << s for x in (low, high) for s in (least, most)] if least >= 0 and most < _WIDEST else []
            return (min(ends), max(ends)) if ends else None
        case Cast(dtype=dtype, operand=a) if a.dtype is DType.BOOL or a.dtype.is_integer:
            low, high = (0, 1) if a.dtype is DType.BOOL else bounds(a, domain)
            return (low, high) if dtype.min <= low and high <= dtype.max else None
        case _:
            return None
