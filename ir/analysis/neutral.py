"""What steps of a reduction have to read so that they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ir.arith import Scalar
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import Binary, Buffer, Cast, Const, Load, Store, const
from ir.operators import special
from ir.traverse import factors


def neutral_to(store: Store, floats: Floats) -> Iterator[tuple[Buffer, Const]]:
    """What must be in a buffer for `A[i] = A[i] op f(B[j])` to leave A as it is."""
    if not isinstance(store.value, Binary):
        return
    op, sides = store.value.op, (store.value.lhs, store.value.rhs)
    value = _neutral(op, store.value.dtype, floats)
    for accumulated, term in (sides, sides[::-1]):
        if value is None or not accumulated.same(Load(store.buffer, store.indices)):
            continue
        plain = factors(term) if op == "add" else [term]  # zero times anything else that is finite
        for factor in plain:
            source = factor.operand if isinstance(factor, Cast) else factor
            if isinstance(source, Load) and source.buffer != store.buffer and _holds(value, source.buffer):
                yield source.buffer, const(value, source.dtype)


def _neutral(op: str, dtype: DType, floats: Floats) -> Scalar | None:
    """A neutral number, which is finite where the rules take for granted that all numbers are."""
    numbers = [value for law, value in special(op, dtype, floats) if law.role == "neutral"]
    return next((n for n in numbers if isfinite(n) or Floats.FINITE not in floats), None)


def _holds(value: Scalar, buffer: Buffer) -> bool:
    """Whether an element of a buffer can be a number."""
    return buffer.dtype.is_float or (buffer.dtype.min <= value <= buffer.dtype.max and value == int(value))
