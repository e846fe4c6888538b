"""Numbers of plain Python programs: which dtype NumPy would give, on typed nodes of the loop IR.

A Python number is weak: it takes the dtype of the NumPy number beside it (NEP 50). One that is known only as the
program runs is `Weak`, and knows between which values it lies, so that indices stay in 32 bits where they fit.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType, array_dtype
from ir.nodes import (
    COMPARE_OPS,
    Binary,
    BinaryOp,
    BitCount,
    Cast,
    Const,
    Expr,
    Select,
    Unary,
    UnaryOp,
    const,
)
from ir.operators import ORDER_OPS
from ir.presburger.intervals import combined
from ir.script.plain.library.quotients import quotient
from ir.script.scope import Source
from ir.script.values import Typer, fold_numbers
from ir.traverse import node_count

_SHORT = 8  # nodes of an operand that a square may write twice


class Weak(Struct, frozen=True, eq=False):
    """A Python int or float that is known as the program runs; ints lie between `low` and `high`, where known."""

    expr: Expr
    low: int | None = None
    high: int | None = None


Number = bool | int | float | Weak | Expr
Interval = tuple[int | None, int | None]


def interval_of(value: Number) -> Interval:
    """Between which integers a number lies; None where nothing is known."""
    match value:
        case Weak(low=low, high=high):
            return low, high
        case bool() | int():
            return int(value), int(value)
        case Expr(dtype=dtype) if dtype.kind is DType.UINT8.kind:
            return 0, dtype.max
        case Unary(op="abs", dtype=dtype) if dtype.is_integer:
            return 0, None
        case _:
            return None, None


def expr_of(value: Number) -> Expr | None:
    """The node of a number that is not known before the program runs."""
    return value.expr if isinstance(value, Weak) else value if isinstance(value, Expr) else None


def narrowest(low: int | None, high: int | None) -> DType:
    """The dtype of Python integers in an interval: 32 bits where they are known to fit."""
    fits = low is not None and high is not None and low >= DType.INT32.min and high <= DType.INT32.max
    return DType.INT32 if fits else DType.INT64


class Numbers(Struct):
    """Builds typed nodes as NumPy and Python would compute. `node` is the syntax that errors and spans point at."""

    source: Source
    exact: bool = False  # whether min and max must tell NaN and signed zeros as Python does

    @property
    def typer(self) -> Typer:
        return Typer(self.source)

    # Dtypes ----------------------------------------------------------------------------------------------------------

    def common(self, values: Sequence[Number], node: ast.AST) -> tuple[DType, bool]:
        """The dtype that numbers have together, and whether it is that of Python numbers."""
        strong = [v.dtype for v in values if isinstance(v, Expr) and v.dtype is not DType.BOOL]
        weak = max((_rank(v) for v in values), default=0)
        if strong:
            dtype = strong[0]
            for other in strong[1:]:
                dtype = self.promoted(dtype, other, node)
            if weak == 3 and not dtype.is_complex:
                return array_dtype(np.result_type(dtype.numpy, 1j).name) or DType.COMPLEX128, False
            return (DType.FLOAT64, False) if weak == 2 and dtype.is_integer else (dtype, False)
        if weak == 3:
            return DType.COMPLEX128, True
        if weak == 2:
            return DType.FLOAT64, True
        if weak == 1:
            return max((self._integer(v) for v in values), key=lambda d: d.bits), True
        return DType.BOOL, False

    def kept(self, values: Sequence[Number], node: ast.AST) -> tuple[DType, bool]:
        """The dtype in which any of some numbers is kept: in 64 bits where integers of Python are among them that may
        not fit the dtype of the others. (Operators of NumPy refuse these, so that they may be taken to fit.)"""
        dtype, weak = self.common(values, node)
        return (dtype, weak) if weak else (self._wide(dtype, values), weak)

    def _wide(self, dtype: DType, values: Sequence[Number]) -> DType:
        """An integer dtype that holds any of some numbers, of which those of Python may not fit the one given."""
        narrow = dtype.is_integer and dtype is not DType.UINT64
        return dtype if not narrow or all(_fits(v, dtype) for v in values) else DType.INT64

    def _integer(self, value: Number) -> DType:
        if isinstance(value, Weak):
            return value.expr.dtype
        return narrowest(*interval_of(value)) if isinstance(value, int) else DType.INT32

    def promoted(self, a: DType, b: DType, node: ast.AST) -> DType:
        """The dtype that NumPy gives two arrays together."""
        try:
            found = array_dtype(np.promote_types(a.numpy, b.numpy).name)
        except TypeError:
            found = None
        if found is None:
            hint = f"convert one of them, as in np.{a}(...)"
            raise self.source.error("dtype-mismatch", f"{a} and {b} have no dtype in common", node, help=hint)
        return found

    def dtype_of(self, value: Number) -> DType:
        """The dtype in which a number is kept."""
        match value:
            case Weak(expr=expr):
                return expr.dtype
            case Expr():
                return value.dtype
            case bool():
                return DType.BOOL
            case int():
                return narrowest(value, value)
            case _:
                return DType.FLOAT64

    def convert(self, value: Number, dtype: DType, node: ast.AST) -> Expr:
        """A number in a dtype, converted as an assignment to an element of an array does.

        Raises:
            ParseError: a Python integer that the dtype cannot hold.
        """
        expr = expr_of(value)
        if dtype.is_complex and (expr is None or not expr.dtype.is_complex):
            real = DType.FLOAT64 if expr is None else expr.dtype  # which is exact
            return Cast(dtype, self.convert(value, real, node), self.source.span(node))
        if expr is not None and expr.dtype.is_complex and not dtype.is_complex:
            hint = f"take a part of it, as in z.real, or keep it in an array of {expr.dtype}"
            raise self.source.error("dtype-mismatch", f"a complex number is no {dtype}", node, help=hint)
        if expr is not None:
            low, high = interval_of(value)
            narrow = dtype.is_integer and dtype.bits < 32 and isinstance(value, Weak)
            if narrow and low is not None and high is not None and not dtype.min <= low <= high <= dtype.max:
                message = f"a number from {low} to {high} does not fit {dtype}"
                raise self.source.error("literal-range", message, node, help=f"convert it, as in np.{dtype}(...)")
            match expr:
                case Const(value=int() as known) if expr.dtype.is_integer and dtype.is_integer:
                    if dtype.min <= known <= dtype.max:
                        return replace(expr, dtype=dtype)
                case _:
                    pass
            return expr if expr.dtype is dtype else Cast(dtype, expr, self.source.span(node))
        assert isinstance(value, (bool, int, float))
        if dtype is DType.BOOL:
            return const(bool(value), dtype)
        if isinstance(value, bool):
            value = int(value)
        if isinstance(value, float) and dtype.is_integer:
            if not math.isfinite(value):
                raise self.source.error("literal-range", f"{value} does not fit {dtype}", node)
            value = int(value)
        if isinstance(value, int) and dtype.is_float:
            value = self._as_float(value, node)
        return self.typer.typed(value, dtype, node)

    def _as_float(self, value: int, node: ast.AST) -> float:
        try:
            return float(value)
        except OverflowError:
            raise self.source.error("literal-range", "the number does not fit any dtype", node) from None

    def natural(self, value: Number, node: ast.AST) -> Expr:
        """A number in the dtype in which it is kept."""
        return self.convert(value, self.dtype_of(value), node)

    def number(self, expr: Expr, weak: bool, low: int | None = None, high: int | None = None) -> Number:
        """A node as a number: of Python, if `weak`, but for truths, which are those of NumPy."""
        return Weak(expr, low, high) if weak and expr.dtype is not DType.BOOL else expr

    # Operators -------------------------------------------------------------------------------------------------------

    def binary(self, op: BinaryOp, a: Number, b: Number, node: ast.AST) -> Number:
        """Apply an operator as Python and NumPy do: true division gives floats, `//` and `%` floor."""
        if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
            return self._folded(op, a, b, node)
        dtype, weak = self.common([a, b], node)
        if op in ("min", "max") and not dtype.is_complex:
            return self._extremum(op, a, b, dtype, weak, node)
        if dtype is DType.BOOL:
            return self._of_truths(op, a, b, node)
        if op in COMPARE_OPS and dtype.is_integer and (known := _beyond(op, a, b, dtype)) is not None:
            return known
        if op in COMPARE_OPS and not weak:
            dtype = self._wide(dtype, (a, b))
        if op in COMPARE_OPS and (not dtype.is_complex or op in ("eq", "ne")):
            return Binary(op, self.convert(a, dtype, node), self.convert(b, dtype, node), self.source.span(node))
        if dtype.is_complex:
            return self._of_complex(op, a, b, dtype, weak, node)
        if op == "div" and not dtype.is_float:
            dtype = DType.FLOAT64
        if op == "pow":
            return self._power(a, b, dtype, weak, node)
        if (op == "floordiv" or op == "floormod") and dtype.is_float:
            return self.number(quotient(op, self.convert(a, dtype, node), self.convert(b, dtype, node)), weak)
        low, high = interval_after(op, interval_of(a), interval_of(b))
        if weak and dtype.is_integer:
            wide = DType.INT64 in (self.dtype_of(a), self.dtype_of(b))
            dtype = DType.INT64 if wide else narrowest(low, high)
        found = self.typer.binary(op, self.convert(a, dtype, node), self.convert(b, dtype, node), node)
        assert isinstance(found, Expr)
        return self.number(found, weak, low, high)

    def _of_complex(self, op: BinaryOp, a: Number, b: Number, dtype: DType, weak: bool, node: ast.AST) -> Number:
        if op not in ("add", "sub", "mul", "div"):
            hint = "compare sizes, as in abs(z)" if op in ("min", "max", *COMPARE_OPS) else ""
            raise self.source.error("dtype-mismatch", f"{op} of complex numbers", node, help=hint)
        x, y = (self.convert(v, dtype, node) for v in (a, b))
        return self.number(Binary(op, x, y, self.source.span(node)), weak)

    def _folded(self, op: BinaryOp, a: bool | int | float, b: bool | int | float, node: ast.AST) -> Number:
        """What Python computes of two numbers that are known."""
        if op == "pow":
            return self._known_power(a, b, node)
        if isinstance(a, bool) and isinstance(b, bool) and op in ("bitand", "bitor", "bitxor"):
            return bool(fold_numbers(op, int(a), int(b)))
        a, b = (int(v) if isinstance(v, bool) else v for v in (a, b))
        found = fold_numbers(op, a, b)
        if found is None:
            message = f"`{ast.unparse(node) if isinstance(node, ast.expr) else op}` has no value"
            raise self.source.error("literal-range", message, node)
        return found

    def _known_power(self, a: bool | int | float, b: bool | int | float, node: ast.AST) -> Number:
        if isinstance(a, int) and isinstance(b, int) and b >= 0:
            found = fold_numbers("pow", int(a), int(b))
            if isinstance(found, int):
                return found
        else:
            try:
                return math.pow(a, b)
            except (ValueError, OverflowError, ZeroDivisionError):
                pass
        raise self.source.error("literal-range", f"{a} ** {b} is no number of a program", node)

    def _of_truths(self, op: BinaryOp, a: Number, b: Number, node: ast.AST) -> Number:
        logical: dict[str, BinaryOp] = {"bitand": "and", "bitor": "or", "bitxor": "ne", "eq": "eq", "ne": "ne",
                                        "lt": "and", "gt": "and", "le": "or", "ge": "or"}  # fmt: skip
        if op not in (*logical, "and", "or"):
            hint = "convert them, as in int(x > 0) + int(y > 0)"
            raise self.source.error("dtype-mismatch", f"{op} of truth values", node, help=hint)
        x, y = (self.convert(v, DType.BOOL, node) for v in (a, b))
        if op in ORDER_OPS:
            x, y = (Unary("not", v) if below else v for v, below in ((x, op in ("lt", "le")), (y, op in ("gt", "ge"))))
        return Binary(logical.get(op, op), x, y, self.source.span(node))

    def _power(self, a: Number, b: Number, dtype: DType, weak: bool, node: ast.AST) -> Number:
        if dtype.is_integer:
            low, high = interval_of(b)
            if weak and high is not None and high < 0:
                return self._power(self.python_float(a, node), b, DType.FLOAT64, True, node)
            if weak and (low is None or low < 0):
                hint = "write float(a) ** b, or an exponent that is known not to be negative"
                raise self.source.error("unsupported", "a power of integers may be a float", node, help=hint)
            dtype = DType.INT64 if weak else dtype
        base = self.convert(a, dtype, node)
        if isinstance(b, (int, float)) and b == 2 and node_count(base) <= _SHORT:
            low, high = interval_of(a)
            reach = None if low is None or high is None else max(low * low, high * high)
            return self.number(Binary("mul", base, base, self.source.span(node)), weak, 0 if reach else None, reach)
        found = self.typer.binary("pow", base, self.convert(b, dtype, node), node)
        assert isinstance(found, Expr)
        return self.number(found, weak)

    def _extremum(self, op: BinaryOp, a: Number, b: Number, dtype: DType, weak: bool, node: ast.AST) -> Number:
        low, high = interval_after(op, interval_of(a), interval_of(b))
        x, y = self.convert(a, dtype, node), self.convert(b, dtype, node)
        span = self.source.span(node)
        if dtype is DType.BOOL:
            return Binary("and" if op == "min" else "or", x, y, span)
        return self.number(Binary(op, x, y, span), weak, low, high)

    def builtin_extremum(self, op: BinaryOp, a: Number, b: Number, node: ast.AST) -> Number:
        """Python's `min(a, b)`: the first, unless the second is smaller. It tells NaN from zero in its own way."""
        dtype, weak = self.kept([a, b], node)
        if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
            return self.binary(op, a, b, node)
        if not dtype.is_complex and not (self.exact and dtype.is_float):
            return self._extremum(op, a, b, dtype, weak, node)
        better = self.binary("lt" if op == "min" else "gt", b, a, node)
        return self.select(better, b, a, node)

    def unary(self, op: UnaryOp, value: Number, node: ast.AST) -> Number:
        """Apply `neg`, `abs` or `bitnot`."""
        if isinstance(value, (bool, int, float)):
            value = int(value) if isinstance(value, bool) else value
            if op == "bitnot" and isinstance(value, int):
                return ~value
            return -value if op == "neg" else abs(value)
        expr = self.natural(value, node)
        if expr.dtype is DType.BOOL:
            if op == "bitnot":
                return Unary("not", expr, self.source.span(node))
            hint = "convert it, as in int(x > 0)"
            raise self.source.error("dtype-mismatch", f"{op} of a truth value", node, help=hint)
        if expr.dtype.is_complex and op != "neg":
            raise self.source.error("dtype-mismatch", f"{op} of a complex number", node, help="take its size: abs(z)")
        low, high = interval_of(value) if isinstance(value, Weak) else (None, None)
        if low is not None and high is not None:
            low, high = {"neg": (-high, -low), "bitnot": (~high, ~low)}.get(
                op, (0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
            )
            if isinstance(value, Weak) and expr.dtype is DType.INT32:
                expr = self.convert(value, narrowest(low, high), node)
        found = self.typer.unary(op, expr, node)
        return self.number(found, isinstance(value, Weak), low, high)

    def bit_count(self, op: BitCount, value: Number, node: ast.AST) -> Number:
        """How many ones an integer without its sign has, or how many bits up to its highest one (`clz`)."""
        if isinstance(value, (bool, int)):
            return int(value).bit_count() if op == "popcount" else int(value).bit_length()
        size = self.natural(self.unary("abs", value, node), node)
        found, most = Unary(op, size, self.source.span(node)), size.dtype.bits
        return Weak(found, 0, most) if op == "popcount" else self.binary("sub", most, Weak(found, 0, most), node)

    def of_floats(self, op: UnaryOp, value: Number, of_numpy: bool, node: ast.AST) -> Number:
        """A function of floats: one of NumPy gives a NumPy float, one of `math` a Python float."""
        dtype = self.dtype_of(value)
        if op in ("floor", "ceil", "trunc") and not dtype.is_float:
            return value
        if isinstance(value, (int, float)) and not of_numpy:
            return self._of_known(op, value, node)
        if not dtype.is_float:
            narrow = isinstance(value, Expr) and of_numpy and dtype.bits < 32
            dtype = (DType.FLOAT16 if dtype.bits <= 8 else DType.FLOAT32) if narrow else DType.FLOAT64
        if not of_numpy:
            dtype = DType.FLOAT64
        found = Unary(op, self.convert(value, dtype, node), self.source.span(node))
        return found if of_numpy else Weak(found)

    def _of_known(self, op: UnaryOp, value: float, node: ast.AST) -> float:
        """What a function of `math` gives for a number that is known."""
        try:
            return getattr(math, op)(value)
        except (ValueError, OverflowError) as error:
            raise self.source.error("literal-range", f"{op}({value}): {error}", node) from error

    def select(self, cond: Number, then: Number, other: Number, node: ast.AST) -> Number:
        """One of two numbers, in the dtype that both have together."""
        if isinstance(cond, bool):
            return then if cond else other
        return self._chosen(self.truth(cond, node), then, other, self.kept([then, other], node), node)

    def _chosen(self, test: Expr, then: Number, other: Number, kind: tuple[DType, bool], node: ast.AST) -> Number:
        dtype, weak = kind
        one, two = interval_of(then), interval_of(other)
        low, high = _least(one[0], two[0]), _most(one[1], two[1])
        x, y = (self.convert(v, dtype, node) for v in (then, other))
        return self.number(Select(test, x, y, self.source.span(node)), weak, low, high)

    def where(self, cond: Number, then: Number, other: Number, node: ast.AST) -> Number:
        """`np.where` of numbers: as `select`, also where it is known which of them it is."""
        dtype, weak = kind = self.common([then, other], node)
        if not isinstance(cond, bool):
            return self._chosen(self.truth(cond, node), then, other, kind, node)
        taken = then if cond else other
        return self.number(self.convert(taken, dtype, node), weak, *interval_of(taken))

    def truth(self, value: Number, node: ast.AST) -> Expr:
        """A number as a condition: whether it is not zero."""
        if isinstance(value, (bool, int, float)):
            return Const(bool(value), DType.BOOL, self.source.span(node))
        expr = self.natural(value, node)
        if expr.dtype is DType.BOOL:
            return expr
        return Binary("ne", expr, const(0, expr.dtype), self.source.span(node))

    def integer(self, value: Number, node: ast.AST) -> Number:
        """Python's `int(x)`: floats are truncated."""
        if isinstance(value, (bool, int, float)):
            return int(value)
        if self.dtype_of(value).is_integer:
            low, high = interval_of(value)
            expr = self.natural(value, node)
            return Weak(expr, low, high) if expr.dtype.is_signed else Weak(self.convert(expr, DType.INT64, node))
        if self.dtype_of(value) is DType.BOOL:
            return Weak(self.convert(value, DType.INT32, node), 0, 1)
        return Weak(self.convert(value, DType.INT64, node))

    def python_float(self, value: Number, node: ast.AST) -> Number:
        """Python's `float(x)`."""
        return Weak(self.convert(value, DType.FLOAT64, node))

    def of_python(self, value: Number, node: ast.AST) -> Number:
        """A number of NumPy as one of Python."""
        dtype = self.dtype_of(value)
        if dtype.is_float:
            return value if isinstance(value, float) else self.python_float(value, node)
        return self.integer(value, node) if dtype.is_integer else value


def _fits(value: Number, dtype: DType) -> bool:
    """Whether a number is one of NumPy, or an integer of Python that is known to fit a dtype."""
    if isinstance(value, Expr) or (isinstance(value, Weak) and np.can_cast(value.expr.dtype.numpy, dtype.numpy)):
        return True
    low, high = interval_of(value)
    return low is not None and high is not None and dtype.min <= low and high <= dtype.max


def _beyond(op: BinaryOp, a: Number, b: Number, dtype: DType) -> bool | None:
    """What a comparison says of a Python integer beside numbers of a dtype that cannot hold it; None of any other."""
    for number in (a, b):
        if type(number) is int and not dtype.min <= number <= dtype.max:
            above = (number > dtype.max) is (number is b)  # whether the right side is the greater one
            return fold_numbers(op, 0, 1 if above else -1) is True
    return None


def _rank(value: Number) -> int:
    """0 for truths and what has a dtype of its own, 1 for Python integers, 2 for floats, 3 for complex numbers."""
    match value:
        case bool():
            return 0
        case Weak(expr=expr):
            return 3 if expr.dtype.is_complex else 2 if expr.dtype.is_float else 1
        case int():
            return 1
        case float():
            return 2
        case _:
            return 0


def interval_after(op: str, a: Interval, b: Interval) -> Interval:
    """Between which integers the result of an operator lies."""
    (al, ah), (bl, bh) = a, b
    if al is None or ah is None or bl is None or bh is None:
        if op == "floormod" and bl is not None and bh is not None and bl > 0:
            return 0, bh - 1
        if op == "add":
            return (None if al is None or bl is None else al + bl), (None if ah is None or bh is None else ah + bh)
        if op == "sub":
            return (None if al is None or bh is None else al - bh), (None if ah is None or bl is None else ah - bl)
        if op == "mul" and al is not None and bl is not None and al >= 0 and bl >= 0:
            return al * bl, None
        if op == "max":
            return max((n for n in (al, bl) if n is not None), default=None), None if ah is None or bh is None else max(
                ah, bh
            )
        if op == "min":
            return None if al is None or bl is None else min(al, bl), min(
                (n for n in (ah, bh) if n is not None), default=None
            )
        if op == "floordiv" and al is not None and bl is not None and al >= 0 and bl > 0:
            return 0, ah
        if op == "bitand":
            natural = [high for low, high in (a, b) if low is not None and low >= 0 and high is not None]
            return (0, min(natural)) if natural else (None, None)
        return None, None
    return combined(op, (al, ah), (bl, bh)) or (None, None)


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)
