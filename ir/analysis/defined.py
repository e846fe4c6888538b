"""Whether an expression may be evaluated where it was not: loop bounds and conditions that move outward."""

from __future__ import annotations

import islpy as isl

from ir.nodes import Binary, Const, Expr, Load, Undef, const
from ir.presburger.facts import proven
from ir.traverse import walk_expr

_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")


def is_defined(expr: Expr, known: isl.Set) -> bool:
    """Whether an expression has a value wherever `known` holds: it reads nothing, and no divisor can be zero."""
    for part in walk_expr(expr):
        match part:
            case Load() | Undef():
                return False
            case Binary(op=op, rhs=Const(value=value)) if op in _DIVISIONS:
                if value == 0:
                    return False
            case Binary(op=op, rhs=divisor) if op in _DIVISIONS:
                if not proven(Binary("ne", divisor, const(0, divisor.dtype)), known):
                    return False
            case _:
                pass
    return True
