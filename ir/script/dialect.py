"""What `T.` offers at run time: decorators, types in annotations, and functions that build expressions."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ir import nodes
from ir.dtypes import DType, from_name
from ir.errors import ParseError
from ir.nodes import (
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Module,
    Operand,
    PrimFunc,
    Unary,
    UnaryOp,
    Undef,
    Var,
    as_expr,
    binary,
    const,
)
from ir.script.parser import parse_function
from ir.script.scope import Constant, Source


def prim_func(function: Callable[..., object] | None = None, **_options: object) -> Any:
    """Decorator: the kernel that a Python function's source describes.

    Raises:
        ParseError: the source is not available or not a kernel.
    """
    if function is None:
        return prim_func
    assert isinstance(function, FunctionType)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise ParseError(
            "no-source", f"the source of {function.__name__} is not available", help="put the kernel into a file"
        ) from error
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    indent = len(lines[0]) - len(lines[0].lstrip())
    source = Source.of(dedented, inspect.getsourcefile(function) or "<unknown>", first - 1, indent)
    (node,) = ast.parse(dedented).body
    assert isinstance(node, ast.FunctionDef)
    closure = inspect.getclosurevars(function)
    return parse_function(node, source, _constants({**closure.globals, **closure.nonlocals}))


def _constants(names: Mapping[str, object]) -> dict[str, Constant]:
    found: dict[str, Constant] = {}
    for name, value in names.items():
        items = value if isinstance(value, tuple) else (value,)
        if all(isinstance(v, (bool, int, float, str)) for v in items):
            found[name] = value  # pyright: ignore[reportArgumentType] - checked element by element
    return found


def module(cls: type) -> Module:
    """Decorator: a module of the kernels in a class."""
    return Module(tuple(f for f in vars(cls).values() if isinstance(f, PrimFunc)), cls.__name__)


ir_module = module


class Buffer:
    """Stands in annotations: `T.Buffer((16, 4), "float32")`."""

    def __init__(self, *_shape_and_dtype: object, **_options: object) -> None: ...

    def __class_getitem__(cls, _item: object) -> type[Buffer]:
        return cls


class handle:
    """Stands in annotations: a buffer parameter whose shape `T.match_buffer` gives."""


class _Scalar:
    """A dtype: `T.int32("x")` is a variable, `T.int32(3)` a literal, `T.int32(e)` a conversion."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __call__(self, value: str | Operand = "") -> Expr:
        if isinstance(value, str):
            if self.dtype.is_float and value.lstrip("+-") in ("inf", "nan"):
                return Const(float(value), self.dtype)
            return Var(value, self.dtype)
        return Cast(self.dtype, value) if isinstance(value, Expr) else const(value, self.dtype)

    def __repr__(self) -> str:
        return f"T.{self.dtype}"


int8, int16, int32, int64 = (_Scalar(DType(f"int{n}")) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_Scalar(DType(f"uint{n}")) for n in (8, 16, 32, 64))
bfloat16, float16, float32, float64 = (_Scalar(DType(n)) for n in ("bfloat16", "float16", "float32", "float64"))
bool_ = boolean = _Scalar(DType.BOOL)


def _binary(op: BinaryOp) -> Callable[[Operand, Operand], Expr]:
    def build(a: Operand, b: Operand) -> Expr:
        return binary(op, a, b)

    build.__doc__ = f"Build `{op}` of two expressions."
    return build


def _unary(op: UnaryOp) -> Callable[[Expr], Expr]:
    def build(a: Expr) -> Expr:
        return Unary(op, a)

    build.__doc__ = f"Build `{op}` of an expression."
    return build


floordiv, floormod, truncdiv, truncmod = map(_binary, ("floordiv", "floormod", "truncdiv", "truncmod"))
min, max, pow = map(_binary, ("min", "max", "pow"))
And, Or = _binary("and"), _binary("or")
bitwise_and, bitwise_or, bitwise_xor = map(_binary, ("bitand", "bitor", "bitxor"))
shift_left, shift_right = _binary("shl"), _binary("shr")
Not, bitwise_not, abs = _unary("not"), _unary("bitnot"), _unary("abs")
exp, log, sqrt, rsqrt, tanh = map(_unary, ("exp", "log", "sqrt", "rsqrt", "tanh"))
sin, cos, erf, sigmoid, floor, ceil = map(_unary, ("sin", "cos", "erf", "sigmoid", "floor", "ceil"))


def ceildiv(a: Operand, b: Operand) -> Expr:
    """The quotient rounded up: `(a + b - 1) // b`."""
    return Binary("floordiv", binary("add", a, b) - 1, as_expr(b, a.dtype if isinstance(a, Expr) else DType.INT32))


def if_then_else(cond: Expr, then: Operand, other: Operand) -> Expr:
    """`then` where `cond` holds, else `other`; one arm is evaluated."""
    dtype = then.dtype if isinstance(then, Expr) else other.dtype if isinstance(other, Expr) else DType.FLOAT32
    return nodes.Select(cond, as_expr(then, dtype), as_expr(other, dtype))


Select = if_then_else


def cast(value: Expr, dtype: str) -> Expr:
    """Convert to another dtype."""
    return Cast(DType(dtype), value)


def likely(cond: Expr) -> Expr:
    """The condition itself."""
    return cond


def undef(dtype: str = "float32") -> Expr:
    """An arbitrary value."""
    found = from_name(dtype)
    if found is None:
        raise ParseError("unknown-dtype", f"`{dtype}` is not a dtype")
    return Undef(found)
