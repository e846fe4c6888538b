"""What operands may be while a program is read, and the dtype rules of operators.

Numbers, `T.undef()` and selections between them stay untyped until an operand or a place types them.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

import ml_dtypes
from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType, float_max
from ir.errors import Span
from ir.nodes import (
    BIT_COUNTS,
    FLOAT_UNARY_OPS,
    INTEGER_ONLY_OPS,
    LOGICAL_OPS,
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Select,
    Unary,
    UnaryOp,
    Undef,
    const,
)
from ir.operators import FLOAT_ONLY_OPS
from ir.script.scope import Source


class Untyped(Struct, frozen=True):
    """`T.undef()` before its dtype is known."""


class Choice(Struct, frozen=True, eq=False):
    """A selection between two arms of which neither has a dtype yet."""

    cond: Expr
    then: Value
    other: Value
    span: Span | None


Value = Expr | bool | int | float | Untyped | Choice

_Fold = Callable[[int | float, int | float], int | float | bool]
_FOLD: dict[str, _Fold] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "floormod": operator.mod, "min": min, "max": max,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_FOLD_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "pow": operator.pow, "shl": operator.lshift, "shr": operator.rshift, "bitand": operator.and_,
    "bitor": operator.or_, "bitxor": operator.xor,
}  # fmt: skip
_MAX_BITS = 4096  # no dtype holds more than 64; a bound keeps `2 ** 10 ** 9` from being computed


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a Python int or float; a bool is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Typer(Struct):
    """Builds typed nodes from operands. `node` is always the syntax that errors and spans point at."""

    source: Source

    # Giving a dtype --------------------------------------------------------------------------------------------------

    def typed(self, value: Value, dtype: DType, node: ast.AST) -> Expr:
        """`value` with a dtype if it has none yet.

        Raises:
            ParseError: a number that the dtype cannot hold.
        """
        span = self.source.span(node)
        match value:
            case Expr():
                return value
            case Untyped():
                return Undef(dtype, span)
            case Choice(cond=cond, then=then, other=other):
                return Select(cond, self.typed(then, dtype, node), self.typed(other, dtype, node), value.span)
            case _:
                return replace(self._literal(value, dtype, node), span=span)

    def _literal(self, value: bool | int | float, dtype: DType, node: ast.AST) -> Const:
        if isinstance(value, bool) != (dtype is DType.BOOL) or (isinstance(value, float) and not dtype.is_float):
            kind = "boolean" if isinstance(value, bool) else "number"
            raise self.source.error("dtype-mismatch", f"expected {dtype}, found the {kind} {_shown(value)}", node)
        if dtype.is_integer and not dtype.min <= value <= dtype.max:
            message = f"{_shown(value)} does not fit {dtype}, which holds {dtype.min} to {dtype.max}"
            raise self.source.error("literal-range", message, node)
        if dtype.is_float and not (isinstance(value, float) and not math.isfinite(value)):
            largest = float_max(dtype)
            if abs(value) > largest and _rounds_to_infinity(value, dtype):
                message = f"{_shown(value)} does not fit {dtype}, which holds up to {largest}"
                raise self.source.error("literal-range", message, node)
        return const(value, dtype)

    def default(self, value: Value, node: ast.AST) -> Expr:
        """`value` where nothing types it: numbers become int32 (int64 where needed), float32 or bool."""
        return value if isinstance(value, Expr) else self.typed(value, self._usual([value], node), node)

    def _usual(self, values: Sequence[Value], node: ast.AST) -> DType:
        """The dtype of untyped values that stand together."""
        numbers = [n for v in values for n in _numbers(v)]
        if not numbers:
            raise self.source.error(
                "undef-dtype", "the dtype of T.undef() is not known here", node, help='write T.undef("float32")'
            )
        if any(isinstance(n, float) for n in numbers):
            return DType.FLOAT32
        if all(isinstance(n, bool) for n in numbers):
            return DType.BOOL
        return DType.INT32 if all(DType.INT32.min <= n <= DType.INT32.max for n in numbers) else DType.INT64

    def common(self, values: Sequence[Value], what: str, node: ast.AST) -> list[Expr]:
        """The values in one dtype: numbers take that of the others, int32 widens to int64."""
        dtypes = list(dict.fromkeys(v.dtype for v in values if isinstance(v, Expr)))
        if not dtypes:
            dtypes = [self._usual(values, node)]
        if set(dtypes) == {DType.INT32, DType.INT64}:
            return [self._widened(self.typed(v, DType.INT64, node)) for v in values]
        if len(dtypes) > 1:
            first, second = dtypes[:2]
            raise self.source.error(
                "dtype-mismatch",
                f"{what} of {first} and {second}",
                node,
                help=f'convert one of them, as in T.cast(..., "{first}")',
            )
        return [self.typed(v, dtypes[0], node) for v in values]

    def _widened(self, expr: Expr) -> Expr:
        return expr if expr.dtype is DType.INT64 else Cast(DType.INT64, expr, expr.span)

    def as_dtype(self, value: Value, dtype: DType, node: ast.AST) -> Expr:
        """`value` where only `dtype` will do; int32 widens to int64."""
        expr = self.typed(value, dtype, node)
        if expr.dtype is DType.INT32 and dtype is DType.INT64:
            return self._widened(expr)
        if expr.dtype is not dtype:
            raise self.source.error(
                "dtype-mismatch",
                f"expected {dtype}, found {expr.dtype}",
                node,
                help=f'convert it with T.cast(..., "{dtype}")',
            )
        return expr

    # Operators -------------------------------------------------------------------------------------------------------

    def unary(self, op: UnaryOp, value: Value, node: ast.AST) -> Expr:
        """Apply an operator to one operand."""
        if op in FLOAT_UNARY_OPS and isinstance(value, int) and not isinstance(value, bool):
            expr = self.typed(value, DType.FLOAT32, node)
        else:
            expr = self.default(value, node)
        dtype = expr.dtype
        if op == "not":
            good, wanted, hint = dtype is DType.BOOL, "a bool", "compare the operand first, as in `x != 0`"
        elif op == "bitnot" or op in BIT_COUNTS:
            good, wanted, hint = dtype.is_integer, "an integer", ""
        elif op in FLOAT_UNARY_OPS:
            good, wanted, hint = dtype.is_float, "a float", 'convert it with T.cast(..., "float32")'
        else:
            good, wanted, hint = dtype is not DType.BOOL, "a number", 'convert it with T.cast(..., "int32")'
        if not good:
            raise self.source.error("dtype-mismatch", f"{op} needs {wanted}, found {dtype}", node, help=hint)
        return Unary(op, expr, self.source.span(node))

    def binary(self, op: BinaryOp, lhs: Value, rhs: Value, node: ast.AST) -> Value:
        """Apply an operator to two operands; two bare numbers are computed."""
        if isinstance(lhs, (int, float)) and isinstance(rhs, (int, float)):
            folded = fold_numbers(op, lhs, rhs)
            if folded is not None:
                return folded
        a, b = self.common([lhs, rhs], op, node)
        if a.dtype is DType.BOOL:
            logical: dict[str, BinaryOp] = {"bitand": "and", "bitor": "or", "bitxor": "ne"}
            op = logical.get(op, op)
        self._check_operands(op, a.dtype, node)
        return Binary(op, a, b, self.source.span(node))

    def _check_operands(self, op: BinaryOp, dtype: DType, node: ast.AST) -> None:
        if op in LOGICAL_OPS:
            good, wanted, hint = dtype is DType.BOOL, "bool", "compare the operands first, as in `x != 0`"
        elif op in FLOAT_ONLY_OPS:
            hint = (
                "write // for the floor of an integer quotient"
                if op == "div"
                else 'convert it with T.cast(..., "float32")'
            )
            good, wanted = dtype.is_float, "floats"
        elif op in INTEGER_ONLY_OPS:
            good, wanted, hint = dtype.is_integer, "integers", ""
        elif op in ("eq", "ne"):
            return
        else:
            good, wanted, hint = dtype is not DType.BOOL, "numbers", 'convert it with T.cast(..., "int32")'
        if not good:
            raise self.source.error("dtype-mismatch", f"{op} needs {wanted}, found {dtype}", node, help=hint)

    def select(self, cond: Expr, then: Value, other: Value, node: ast.AST) -> Value:
        """A selection; untyped as long as both arms are."""
        span = self.source.span(node)
        if not isinstance(then, Expr) and not isinstance(other, Expr):
            return Choice(cond, then, other, span)
        a, b = self.common([then, other], "if_then_else", node)
        return Select(cond, a, b, span)

    def ceildiv(self, a: Value, b: Value, node: ast.AST) -> Value:
        """The quotient rounded up: `(a + b - 1) // b`."""
        if isinstance(b, Expr):
            top = self.binary("sub", self.binary("add", a, b, node), 1, node)
        else:
            top = self.binary("add", a, self.binary("sub", b, 1, node), node)
        return self.binary("floordiv", top, b, node)

    def limit(self, name: str, dtype: DType, node: ast.AST) -> Const:
        """The `min_value`, `max_value` or `infinity` of a dtype."""
        span = self.source.span(node)
        if dtype.is_float:
            largest = float("inf") if name == "infinity" else float_max(dtype)
            return Const(-largest if name == "min_value" else largest, dtype, span)
        if name == "infinity" or dtype is DType.BOOL:
            raise self.source.error("dtype-mismatch", f"{dtype} has no {name}", node)
        return Const(dtype.max if name == "max_value" else dtype.min, dtype, span)

    def c_division(self, a: Value, b: Value, node: ast.AST) -> Value:
        """Division as in C: of integers it truncates."""
        x, y = self.common([a, b], "div", node)
        return self.binary("div" if x.dtype.is_float else "truncdiv", x, y, node)


def _numbers(value: Value) -> list[bool | int | float]:
    match value:
        case Choice(then=then, other=other):
            return _numbers(then) + _numbers(other)
        case bool() | int() | float():
            return [value]
        case _:
            return []


def fold_numbers(op: str, a: int | float, b: int | float) -> int | float | bool | None:
    """What Python computes for two numbers, or None where that is not what the program would."""
    if isinstance(a, bool) or isinstance(b, bool):
        return None
    try:
        if op in _FOLD:
            result = _FOLD[op](a, b)
        elif op in _FOLD_INTEGERS and isinstance(a, int) and isinstance(b, int) and b >= 0:
            small = b * max(a.bit_length(), 1) if op == "pow" else b if op == "shl" else 0
            if small > _MAX_BITS:
                return None
            result = _FOLD_INTEGERS[op](a, b)
        else:
            return None
    except (ZeroDivisionError, OverflowError):
        return None
    if isinstance(result, float):
        return result if math.isfinite(result) else None
    return result if result.bit_length() <= _MAX_BITS else None


def _rounds_to_infinity(value: int | float, dtype: DType) -> bool:
    """Whether a number beyond the largest finite one is not rounded back to it."""
    info = ml_dtypes.finfo(dtype.numpy)
    try:
        return abs(float(value)) >= float(info.max) * (1 + float(info.eps) / 4) or dtype is DType.FLOAT64
    except OverflowError:
        return True


def _shown(value: bool | int | float) -> str:
    wide = isinstance(value, int) and value.bit_length() > 256
    return f"a number of {value.bit_length()} bits" if wide and isinstance(value, int) else str(value)


def hashable(value: object) -> object:
    """Lists and dictionaries of an attribute as tuples, so that nodes stay hashable."""
    match value:
        case list() | tuple():
            items: Iterable[object] = value
            return tuple(hashable(v) for v in items)
        case dict():
            pairs: Iterable[tuple[object, object]] = value.items()
            return tuple((k, hashable(v)) for k, v in pairs)
        case set():
            raise ValueError("a set has no stable text")
        case _:
            return value
