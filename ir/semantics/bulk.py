"""Assumptions over whole loop nests at once, on NumPy arrays; what `inputs` needs where the interpreter takes minutes.

It owns no meaning: it handles the common forms that cannot fault, and refuses all others, which the interpreter then
runs. A loop variable becomes an array along an axis of its own, the outermost loop's being the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from ir.arith import Scalar
from ir.dtypes import DType
from ir.nodes import Assume, Binary, Call, Cast, Const, Expr, For, If, Let, Load, Seq, Stmt, Unary, Undef, Var

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "floordiv": np.floor_divide, "floormod": np.remainder,
}  # fmt: skip
_SAFE = 1 << 31  # operands below it cannot overflow the 64 bits that integers are computed in


class Unsupported(Exception):
    """This form is left to the interpreter."""


class Bulk(Struct):
    """Scalars in scope, as arrays that broadcast together, and the values of buffers by name."""

    memory: Mapping[str, Array]
    scalars: dict[Var, Array] = field(default_factory=lambda: dict[Var, Array]())
    depth: int = 0

    @staticmethod
    def over(memory: Mapping[str, Array], scalars: Mapping[Var, Scalar]) -> Bulk:
        """The state at the start of a function."""
        return Bulk(memory, {v: np.asarray(x) for v, x in scalars.items()})

    def run(self, stmt: Stmt, *, satisfy: bool) -> bool:
        """Whether every assumption in `stmt` holds; with `satisfy`, elements are first set so that they do.

        Raises:
            Unsupported: the statement has a form that is not handled; elements may have been set.
        """
        with np.errstate(all="ignore"):
            return self._run(stmt, np.asarray(True), satisfy)

    def _run(self, stmt: Stmt, mask: Mask, satisfy: bool) -> bool:
        match stmt:
            case Seq(stmts=stmts):
                return all(self._run(s, mask, satisfy) for s in stmts)
            case Assume(cond=cond):
                held = self._satisfied(cond, mask) if satisfy else self._assumed(cond, mask)
                return bool(np.all(held | ~mask))
            case If(cond=cond, then=then, other=other):
                chosen = self._value(cond, mask)
                return all([self._run(then, mask & chosen, satisfy), self._run(other, mask & ~chosen, satisfy)])
            case For(var=var, start=start, extent=extent, body=body):
                first, count = self._fixed(start), max(self._fixed(extent), 0)
                if count == 0:
                    return True
                axis = np.arange(first, first + count).reshape((-1,) + (1,) * self.depth)
                return Bulk(self.memory, {**self.scalars, var: axis}, self.depth + 1)._run(body, mask, satisfy)
            case Let(var=var, value=value, body=body):
                inner = {**self.scalars, var: self._value(value, mask)}
                return Bulk(self.memory, inner, self.depth)._run(body, mask, satisfy)
            case _:
                raise Unsupported

    def _fixed(self, expr: Expr) -> int:
        """An extent that is the same in all iterations."""
        value = self._value(expr, np.asarray(True))
        if value.size != 1:
            raise Unsupported
        return int(value.item())

    # Assumptions -----------------------------------------------------------------------------------------------------

    def _assumed(self, cond: Expr, mask: Mask) -> Mask:
        """Where a condition holds, within `mask`; `A[i] == undef` always does."""
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                first = self._assumed(a, mask)
                return first & self._assumed(b, mask & first)
            case Binary(op="or", lhs=a, rhs=b):
                first = self._assumed(a, mask)
                return first | self._assumed(b, mask & ~first)
            case Binary(op="eq", lhs=a, rhs=b) if isinstance(a, Undef) or isinstance(b, Undef):
                return np.asarray(True)
            case _:
                return self._value(cond, mask)

    def _satisfied(self, cond: Expr, mask: Mask) -> Mask:
        """Where a condition holds after setting the elements that it equates with a value."""
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                first = self._satisfied(a, mask)
                return first & self._satisfied(b, mask & first)
            case Binary(op="or", lhs=a, rhs=b):
                held = self._assumed(a, mask)
                held = held | self._assumed(b, mask & ~held)
                for arm in (a, b):
                    rest = mask & ~held
                    if rest.any():
                        held = held | self._satisfied(arm, rest)
                return held
            case Binary(op="eq", lhs=a, rhs=b) if isinstance(a, Undef) or isinstance(b, Undef):
                return np.asarray(True)
            case Binary(op="eq", lhs=Load() as load, rhs=value) | Binary(op="eq", lhs=value, rhs=Load() as load):
                self._set(load, self._value(value, mask), mask)
                return self._assumed(cond, mask)
            case _:
                return self._assumed(cond, mask)

    def _set(self, load: Load, value: Array, mask: Mask) -> None:
        index = [self._value(i, mask) for i in load.indices]
        *where, values, chosen = np.broadcast_arrays(*index, value, mask)
        target = self.memory[load.buffer.name]
        picked = tuple(w[chosen] for w in where)
        if any(((w < 0) | (w >= n)).any() for w, n in zip(picked, target.shape, strict=True)):
            raise Unsupported
        target[picked] = values[chosen]

    # Expressions -----------------------------------------------------------------------------------------------------

    def _value(self, expr: Expr, mask: Mask) -> Array:
        """Values where `mask` holds; elsewhere anything."""
        match expr:
            case Const(value=value, dtype=dtype):
                return np.asarray(value, dtype.numpy if dtype.is_float else None)
            case Var():
                return self.scalars[expr]
            case Load(buffer=buffer, indices=indices):
                return self._load(self.memory[buffer.name], [self._value(i, mask) for i in indices], mask)
            case Call(function=function, args=args):
                given = dict(zip(function.params, (self._value(a, mask) for a in args), strict=True))
                return Bulk(self.memory, given, self.depth)._value(function.body, mask)
            case Unary(op="not", operand=a):
                return ~self._value(a, mask)
            case Unary(op="neg", operand=a) if a.dtype.is_float or a.dtype.is_signed:
                return self._within(-self._value(a, mask), expr.dtype, mask)
            case Cast(dtype=dtype, operand=a) if dtype.is_signed and a.dtype.is_signed and dtype.bits >= a.dtype.bits:
                return self._value(a, mask)
            case Binary(op="and" | "or", lhs=a, rhs=b):
                first = self._value(a, mask)
                if expr.op == "and":
                    return first & self._value(b, mask & first)
                return first | self._value(b, mask & ~first)
            case Binary() if expr.op in _OPERATORS:
                return self._binary(expr, mask)
            case _:
                raise Unsupported

    def _binary(self, expr: Binary, mask: Mask) -> Array:
        kind = expr.lhs.dtype
        left, right = self._value(expr.lhs, mask), self._value(expr.rhs, mask)
        if kind.is_integer:
            if not kind.is_signed or any((mask & (abs(x) >= _SAFE)).any() for x in (left, right)):
                raise Unsupported
            if expr.op in ("floordiv", "floormod"):
                if (mask & (right == 0)).any():
                    raise Unsupported  # a fault, which the interpreter reports
                right = np.where(right == 0, 1, right)
        result: Array = np.asarray(_OPERATORS[expr.op](left, right))
        return self._within(result, expr.dtype, mask)

    def _within(self, values: Array, dtype: DType, mask: Mask) -> Array:
        if dtype.is_integer and (mask & ((values < dtype.min) | (values > dtype.max))).any():
            raise Unsupported  # a fault, which the interpreter reports
        return values

    def _load(self, values: Array, indices: list[Array], mask: Mask) -> Array:
        if any((mask & ((i < 0) | (i >= n))).any() for i, n in zip(indices, values.shape, strict=True)):
            raise Unsupported
        safe = [np.clip(i, 0, max(n - 1, 0)) for i, n in zip(indices, values.shape, strict=True)]
        if values.size == 0:
            raise Unsupported
        loaded: Array = values[tuple(safe)]
        return loaded.astype(np.int64) if loaded.dtype.kind in "iu" else loaded
