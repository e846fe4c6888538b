"""Quotients and remainders of floats, as Python and NumPy have them: functions with a body and a name in JAX.

A quotient that is rounded may be one too far, and its product with the divisor has twice the digits of a float. Bodies
take both into account: they are exact where the quotient has no more digits than a float has.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import ml_dtypes

from ir.dtypes import DType
from ir.nodes import Binary, BinaryOp, Call, Expr, Function, Select, Unary, Var, const

Quotient = Literal["floordiv", "floormod", "fmod"]
_NAMES: dict[Quotient, str] = {"floordiv": "floor_divide", "floormod": "remainder", "fmod": "fmod"}


def quotient(op: Quotient, dividend: Expr, divisor: Expr) -> Call:
    """`//` or `%` of two floats of one dtype, or what is left when their quotient is cut off."""
    return Call(_function(op, dividend.dtype), (dividend, divisor))


@cache
def _function(op: Quotient, dtype: DType) -> Function:
    x, y = _variables("x y", dtype)
    times = Unary("trunc" if op == "fmod" else "floor", _two("div", x, y))
    highs = (_high(times), _high(y))
    body = Call(_corrected(op, dtype), (Call(_left(dtype), (x, times, y, *highs)), times, x, y))
    return Function(f"{_NAMES[op]}_{dtype}", (x, y), body, jax=f"jnp.{_NAMES[op]}({{x}}, {{y}})")


@cache
def _corrected(op: Quotient, dtype: DType) -> Function:
    """The result, where what is left has the sign of the divisor or not; for `fmod`, of the dividend."""
    left, times, x, y = _variables("left times x y", dtype)
    zero, size = const(0.0, dtype), Unary("abs", y)
    side = x if op == "fmod" else y
    beyond = _two("and", _two("ne", left, zero), _two("ne", _two("lt", left, zero), _two("lt", side, zero)))
    match op:
        case "floordiv":
            body = Select(beyond, _two("sub", times, const(1.0, dtype)), times)
        case "floormod":
            body = Select(beyond, _two("add", left, y), left)
        case "fmod":
            body = Select(beyond, _two("add", left, Select(_two("lt", x, zero), Unary("neg", size), size)), left)
    return Function(f"corrected_{op}_{dtype}", (left, times, x, y), body)


@cache
def _left(dtype: DType) -> Function:
    """x - a * b with the product to twice the digits (T. J. Dekker, 1971), of which x takes the first half away."""
    x, a, b, upper_a, upper_b = _variables("x a b upper_a upper_b", dtype)
    whole, lower_a, lower_b = _two("mul", a, b), _two("sub", a, upper_a), _two("sub", b, upper_b)
    low = _two("sub", _two("mul", upper_a, upper_b), whole)
    for one, two in ((upper_a, lower_b), (lower_a, upper_b), (lower_a, lower_b)):
        low = _two("add", low, _two("mul", one, two))
    body = _two("sub", _two("sub", x, whole), low)
    return Function(f"left_{dtype}", (x, a, b, upper_a, upper_b), body)


def _high(x: Expr) -> Expr:
    """The upper half of a float's digits (G. W. Veltkamp, 1968)."""
    digits = ml_dtypes.finfo(x.dtype.numpy).nmant + 1
    scaled = _two("mul", x, const(2.0 ** ((digits + 1) // 2) + 1.0, x.dtype))
    return _two("sub", scaled, _two("sub", scaled, x))


def _variables(names: str, dtype: DType) -> tuple[Var, ...]:
    return tuple(Var(name, dtype) for name in names.split())


def _two(op: BinaryOp, a: Expr, b: Expr) -> Expr:
    return Binary(op, a, b)
