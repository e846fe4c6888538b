"""What steps of a reduction have to read so that they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ir.arith import Scalar, rounded
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Store, const
from ir.operators import Side, special
from ir.traverse import factors


def neutral_to(store: Store, floats: Floats) -> Iterator[tuple[Buffer, Const]]:
    """What must be in a buffer for `A[i] = A[i] op f(B[j])` to leave A as it is."""
    for factor, value in neutral_factors(store, floats):
        source = factor.operand if isinstance(factor, Cast) else factor
        if isinstance(source, Load) and source.buffer != store.buffer and _holds(value, source.buffer):
            yield source.buffer, const(value if source.dtype.is_float else int(value), source.dtype)


def neutral_factors(store: Store, floats: Floats) -> Iterator[tuple[Expr, Scalar]]:
    """Expressions in a step of a reduction, and what each would have to be for the step to change nothing."""
    if not isinstance(store.value, Binary):
        return
    op, left, right = store.value.op, store.value.lhs, store.value.rhs
    ways: tuple[tuple[Side, Expr, Expr], ...] = (("right", left, right), ("left", right, left))
    for side, accumulated, term in ways:
        value = _neutral(op, side, store.value.dtype, floats)
        if value is None or not accumulated.same(Load(store.buffer, store.indices)):
            continue
        plain = factors(term) if op == "add" else [term]  # zero times anything else that is finite
        yield from ((factor, value) for factor in plain)


def _neutral(op: str, side: Side, dtype: DType, floats: Floats) -> Scalar | None:
    """A number that is neutral on a side, and finite where the rules take for granted that all numbers are."""
    laws = special(op, dtype, floats)
    numbers = [value for law, value in laws if law.role == "neutral" and side in law.sides]
    return next((n for n in numbers if isfinite(n) or Floats.FINITE not in floats), None)


def _holds(value: Scalar, buffer: Buffer) -> bool:
    """Whether an element of a buffer can be a number."""
    if buffer.dtype.is_float:
        return rounded(float(value), buffer.dtype) == value
    return buffer.dtype.min <= value <= buffer.dtype.max and value == int(value)
