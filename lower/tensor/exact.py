"""How large integers in tensor terms can be: sums of them that float32 has exactly may be worked out in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Load, Select
from lower.array.views import Axis
from lower.tensor.terms import Term

EXACT = 1 << 24  # float32 has all integers up to it, so that sums below it are exact in any order

INTEGER_EINSUM = '''
def integer_einsum(terms, spec, *operands):
    """An einsum of integers with so many terms: in float32, which takes less time, where that has all of its sums."""
    most = jnp.float32(terms)
    for operand in operands:
        most = most * jnp.max(jnp.abs(operand.astype(jnp.float32)), initial=0)

    def in_floats(*operands):
        found = jnp.einsum(spec, *(x.astype(jnp.float32) for x in operands), precision="highest")
        return found.astype(operands[0].dtype)

    def in_integers(*operands):
        return jnp.einsum(spec, *operands, preferred_element_type=operands[0].dtype)

    return lax.cond(most < 1 << 23, in_floats, in_integers, *operands)
'''


def largest(term: Term, leaves: Sequence[Expr], axes: Callable[[int], Sequence[Axis]]) -> int | None:
    """No value of a term of integers, nor any part of its sums, is further from zero; None where that is not known."""
    parts = [largest(a, leaves, axes) for a in term.args]
    match term.op:
        case "Leaf":
            return magnitude(leaves[term.number]) if term.number < len(leaves) else None
        case "Ones":
            return 1
        case "Flag":
            return 1
        case "Where":
            return parts[1]
        case "Neg" | "Number":
            return parts[0]
        case "Add" | "Sub" if None not in parts:
            return sum(p for p in parts if p is not None)
        case "Mul" | "Sum" | "Times" | "Contract" if None not in parts:
            own = 1 if term.op == "Mul" else _positions(axes(term.number))
            return None if own is None else own * prod(p for p in parts if p is not None)
        case _:
            return None


def _positions(axes: Sequence[Axis]) -> int | None:
    """How many terms a sum over axes has."""
    return prod(a.extent.const for a in axes) if all(a.extent.is_const for a in axes) else None


def magnitude(expr: Expr) -> int | None:
    """How far from zero an integer can be, by its dtype and what it comes from."""
    match expr:
        case Const(value=value):
            return abs(int(value))
        case Cast(operand=operand) if operand.dtype is DType.BOOL:
            return 1
        case Cast(dtype=dtype, operand=operand) if operand.dtype.is_integer:
            inner, most = magnitude(operand), max(-dtype.min, dtype.max)
            return inner if inner is not None and dtype.min <= -inner and inner <= dtype.max else most  # it may wrap
        case Select(then=a, other=b):
            both = [magnitude(e) for e in (a, b)]
            return None if None in both else max(m for m in both if m is not None)
        case Binary(op="add" | "sub" | "mul" as op, lhs=a, rhs=b) if expr.dtype.is_signed:
            first, second = magnitude(a), magnitude(b)
            if first is None or second is None:
                return None
            return first * second if op == "mul" else first + second
        case Binary(op="floormod", rhs=Const(value=n)) if n > 0:
            return int(n) - 1
        case Load(buffer=buffer) if buffer.dtype.is_integer:
            return max(-buffer.dtype.min, buffer.dtype.max)
        case _:
            return None
