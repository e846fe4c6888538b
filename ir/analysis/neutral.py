"""What steps of a reduction have to read so that they change nothing, and what else has to for a given result."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.floats import Floats
from ir.fold import chosen, computed
from ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Store, Unary, const
from ir.operators import Side, neutral, special
from ir.traverse import children, factors, loads, reads, with_children


def neutral_to(store: Store, floats: Floats) -> Iterator[tuple[Buffer, Const]]:
    """What must be in a buffer for `A[i] = A[i] op f(B[j])` to leave A as it is."""
    for term, value in _terms(store, floats):
        neutral_term = _as_constant(value, term.dtype)
        for buffer in dict.fromkeys(load.buffer for load in loads(term)):
            found = None if buffer == store.buffer else wanted_of(term, buffer, neutral_term)
            if found is not None and _may_stand(found, buffer, floats):
                yield buffer, found


def neutral_factors(store: Store, floats: Floats) -> Iterator[tuple[Expr, Scalar]]:
    """Expressions in a step of a reduction, and what each would have to be for the step to change nothing."""
    for term, value in _terms(store, floats):
        plain = factors(term) if value == 0 else [term]  # zero times anything else that is finite
        yield from ((factor, value) for factor in plain)


def _terms(store: Store, floats: Floats) -> Iterator[tuple[Expr, Scalar]]:
    """What a step of a reduction takes in, and the number with which it changes nothing."""
    if not isinstance(store.value, Binary):
        return
    op, left, right = store.value.op, store.value.lhs, store.value.rhs
    ways: tuple[tuple[Side, Expr, Expr], ...] = (("right", left, right), ("left", right, left))
    for side, accumulated, term in ways:
        value = _neutral(op, side, store.value.dtype, floats)
        if value is not None and accumulated.same(Load(store.buffer, store.indices)):
            yield term, value


def _neutral(op: str, side: Side, dtype: DType, floats: Floats) -> Scalar | None:
    """A number that is neutral on a side, and finite where the rules take for granted that all numbers are."""
    laws = special(op, dtype, floats)
    numbers = [value for law, value in laws if law.role == "neutral" and side in law.sides]
    return next((n for n in numbers if isfinite(n) or Floats.FINITE not in floats), None)


def _as_constant(value: Scalar, dtype: DType) -> Const:
    return const(value if dtype.is_float or dtype is DType.BOOL else int(value), dtype)


def _may_stand(value: Const, buffer: Buffer, floats: Floats) -> bool:
    """Whether an element may be a number: the buffer has it, and it is finite where rules take that for granted."""
    return value.dtype is buffer.dtype and (isfinite(value.value) or Floats.FINITE not in floats)


def wanted_of(expr: Expr, param: Buffer, value: Const) -> Const | None:
    """What elements of `param` have to be for an expression to be `value`, as far as inverses are plain.

    Only a proposal: that other operands are finite, or that nothing overflows, is not looked at.
    """
    found = _inverse(expr, param, value)
    if found is None and reads(param, expr):  # such as x * x + x
        zero = const(0, param.dtype)
        found = zero if with_elements(expr, param, zero).same(value) else None
    return found


def _inverse(expr: Expr, param: Buffer, value: Const) -> Const | None:
    if isinstance(expr, Load):
        return value if expr.buffer == param else None
    if not reads(param, expr):
        return None
    match expr:
        case Unary(op="neg", operand=a):
            less = _computed(Unary("neg", value))
            return None if less is None else _inverse(a, param, less)
        case Unary(op="exp", operand=a) if value.value == 0:
            number = neutral("exp", a.dtype)
            return None if number is None else _inverse(a, param, const(number, a.dtype))
        case Unary(op="abs" | "sqrt" | "tanh" | "sin", operand=a) if value.value == 0:
            return _inverse(a, param, value)
        case Cast(operand=a) if _holds(a.dtype, value.value):
            return _inverse(a, param, _as_constant(value.value, a.dtype))
        case Binary(op="mul", lhs=a, rhs=b) if value.value == 0:
            return _first(_inverse(e, param, value) for e in (a, b))
        case Binary(op="mul", lhs=a, rhs=Const() as c) | Binary(op="mul", lhs=Const() as c, rhs=a):
            part = _computed(Binary("div" if c.dtype.is_float else "floordiv", value, c))
            whole = None if part is None else _computed(Binary("mul", part, c))
            return _inverse(a, param, part) if part is not None and whole is not None and whole.same(value) else None
        case Binary(op="add", lhs=a, rhs=Const() as c) | Binary(op="add", lhs=Const() as c, rhs=a):
            less = _computed(Binary("sub", value, c))
            return None if less is None else _inverse(a, param, less)
        case Binary(op="sub", lhs=a, rhs=Const() as c):
            more = _computed(Binary("add", value, c))
            return None if more is None else _inverse(a, param, more)
        case Binary(op=op, lhs=a, rhs=b):
            for law, number in special(op, expr.dtype):  # what decides, whatever the other operand is
                if law.role == "absorbing" and value.same(const(number, expr.dtype)):
                    return _first(_inverse(a if side == "left" else b, param, value) for side in law.sides)
            return _inverse(a, param, value) if op in ("max", "min") and isinstance(b, Const) else None
        case _:
            return None


def _holds(dtype: DType, value: Scalar) -> bool:
    """Whether a dtype has a number, which then is the same once it is cast."""
    if dtype.is_float:
        return rounded(float(value), dtype) == value
    low, high = (0, 1) if dtype is DType.BOOL else (dtype.min, dtype.max)
    return low <= value <= high and value == int(value)


def _first(found: Iterator[Const | None]) -> Const | None:
    return next((value for value in found if value is not None), None)


def with_elements(expr: Expr, param: Buffer, value: Const) -> Expr:
    """An expression where all loads of `param` are `value`, computed as far as it is of numbers."""
    if isinstance(expr, Load) and expr.buffer == param:
        return value
    new = with_children(expr, tuple(with_elements(c, param, value) for c in children(expr)))
    known = _computed(new)
    return new if known is None else known


def _computed(expr: Expr) -> Const | None:
    """An operation on numbers, or on one that decides it."""
    match chosen(expr):
        case Const() as arm:
            return arm
        case Binary(op=op, lhs=a, rhs=b) if not (isinstance(a, Const) and isinstance(b, Const)):
            laws = [(law, const(number, expr.dtype)) for law, number in special(op, expr.dtype)]
            sides = {"left": a, "right": b}
            absorbing = (n for law, n in laws if law.role == "absorbing" for s in law.sides if n.same(sides[s]))
            return next(absorbing, None)
        case found:
            return computed(found)
