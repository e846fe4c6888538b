"""What `T.` offers at run time: decorators, types in annotations, and functions that build expressions."""

from __future__ import annotations

import ast
import inspect
import keyword
import math
import numbers
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, no_type_check

from ir.dtypes import DType, from_name
from ir.errors import ParseError, expect, suggest
from ir.nodes import BinaryOp, Cast, Const, Expr, Function, Module, Operand, PrimFunc, UnaryOp, Undef, Var
from ir.script.definition import parse_definition
from ir.script.kernels import Kernels
from ir.script.parser import parse_function
from ir.script.reading import definition_of
from ir.script.scope import Constant, Source
from ir.script.values import Typer, Value
from ir.semantics.verify import check_entry

Dtype = str | DType | type[Expr]  # a dtype by name, or as `T.float32`
_NOWHERE = ast.Pass()  # a node without a place
_TYPER = Typer(Source.of("", "<python>"))


if TYPE_CHECKING:
    # Annotations such as `T.Buffer((4,), "int32")` are no types, which this decorator tells type checkers. For them a
    # kernel is the function that it is written as (`ir.program.modules.Written`).
    prim_func = no_type_check

    def instruction(*, jax: str, cost: float | str | None = None, floats: str | tuple[str, ...] = ()):
        return no_type_check

else:

    def prim_func(function=None, *, verify=True, **_options):
        """Decorator: the kernel that a Python function's source describes.

        Numbers, strings and tuples that the function can see by name may be used in it. `verify=False` vouches for a
        kernel that `ir.verify` would refuse.

        Raises:
            ParseError: the source is not available or not a kernel.
            VerifyError: the kernel has no meaning: an access can leave its buffer, an assumption is false, ...
        """
        return (lambda f: _kernel(f, verify)) if function is None else _kernel(function, verify)

    def instruction(*, jax, cost=None, floats=()):
        """Decorator: the kernel that a Python function's source describes, computed by a JAX expression where it is
        called.

        `jax` gives what the written buffers hold afterwards, in parameter order (a tuple where there are several), with
        the names of parameters in braces, as in "{C} + {A} @ {B}". `cost` is the price of a call in the units of the
        cost tables, a number or arithmetic over the sizes in the shapes, as in "4 * n * log2(n)" (by default that of
        the body), `floats` the freedoms that the expression takes, as in "reassociate".

        Raises:
            ParseError: the source is not available or not a kernel, or an option is wrong.
            VerifyError: the kernel has no meaning.
        """
        return prim_func  # the options are read from the source, as all of the kernel


def _kernel(function: Callable[..., object], verify: bool) -> PrimFunc:
    node, source = definition_of(function, "T.prim_func")
    assert isinstance(function, FunctionType)
    constants, kernels = _visible(function)
    owners = tuple(function.__qualname__.split(".")[-2:-1])  # the class that is in the making
    func = parse_function(node, source, constants, Kernels(kernels, owners))
    if not verify:
        return func.vouched()
    check_entry(func)
    return func


def function(
    definition: Callable[..., object] | None = None, *, cost: float | None = None, jax: str | None = None
) -> Any:
    """Decorator: the scalar function that the one expression of a Python function defines.

    `cost` is the price of a call in the units of the cost tables (by default that of the body), `jax` the JAX
    expression to emit for it, with the names of parameters in braces, as in "jax.nn.relu6({x})" (by default the body).
    Numbers and other such functions that the definition can see by name may be used in it.

    Raises:
        ParseError: the source is not available or not one expression.
    """

    def define(definition: Callable[..., object]) -> Function:
        node, source = definition_of(definition, "T.function")
        return parse_definition(node, source, _visible(definition)[0], {"cost": cost, "jax": jax})

    return define if definition is None else define(definition)


def _visible(function: FunctionType) -> tuple[dict[str, Constant], dict[str, PrimFunc]]:
    """Constants and kernels that a function can name: globals, then locals of what encloses it, a class included."""
    frame = inspect.currentframe()
    while isinstance(frame, FrameType) and frame.f_globals is globals():
        frame = frame.f_back  # the decorator's own frames
    scopes: list[Mapping[str, object]] = []
    for _ in function.__qualname__.replace(".<locals>", "").split(".")[:-1]:
        if not isinstance(frame, FrameType) or frame.f_globals is not function.__globals__:
            break
        scopes.append(frame.f_locals)
        frame = frame.f_back
    found: dict[str, Constant] = {}
    kernels: dict[str, PrimFunc] = {}
    for scope in (function.__globals__, *reversed(scopes), _enclosed(function)):
        for name, value in scope.items():
            found.pop(name, None)
            kernels.pop(name, None)
            constant = _constant(value)
            if constant is not None:
                found[name] = constant
            elif isinstance(value, PrimFunc):
                kernels[name] = value
    return found, kernels


def _enclosed(function: FunctionType) -> dict[str, object]:
    """Names of enclosing functions that a function uses; a class that is in the making has no value yet."""
    found: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            found[name] = cell.cell_contents
    return found


def _constant(value: object) -> Constant | None:
    match value:
        case bool() | int() | float() | str() | Function():
            return value
        case numbers.Integral():
            return int(value)
        case tuple():
            items = [_constant(v) for v in value]
            return None if any(i is None for i in items) else tuple(i for i in items if i is not None)
        case _:
            return None


def module(cls: type) -> Module:
    """Decorator: a module of the kernels in a class.

    Raises:
        ParseError: the class holds no kernel.
    """
    funcs = tuple(f for f in vars(cls).values() if isinstance(f, PrimFunc))
    if not funcs:
        hint = "decorate its functions with @T.prim_func"
        raise ParseError("no-kernel", f"the class {cls.__name__} contains no kernel", help=hint)
    return Module(funcs, cls.__name__)


ir_module = module


class Buffer:
    """Stands in annotations: `T.Buffer((16, 4), "float32")`."""

    def __init__(self, *_shape_and_dtype: object, **_options: object) -> None: ...

    def __class_getitem__(cls, _item: object) -> type[Buffer]:
        return cls


class handle:
    """Stands in annotations: a buffer parameter whose shape `T.match_buffer` gives."""

    def __init__(self, *_type: object) -> None: ...


class _Scalar:
    """A dtype: `T.int32("x")` is a variable, `T.int32(3)` a literal, `T.int32(e)` a conversion."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __call__(self, value: str | Operand = "x") -> Expr:
        if isinstance(value, str):
            if self.dtype.is_float and value.lstrip("+-") in ("inf", "nan"):
                return Const(float(value), self.dtype)
            if not value.isidentifier() or keyword.iskeyword(value):
                raise ParseError("name", f"`{value}` cannot name a variable", help="use a Python identifier")
            return Var(value, self.dtype)
        expect(value, (Expr, numbers.Number), f"T.{self.dtype} takes a name, a number or an expression")
        expr = _TYPER.typed(_number(value, self.dtype), self.dtype, _NOWHERE)
        return expr if expr.dtype is self.dtype else Cast(self.dtype, expr)

    def __repr__(self) -> str:
        return f"T.{self.dtype}"


def _number(value: Operand, dtype: DType) -> Operand:
    """A Python number as one of the kind that `dtype` has, where that changes nothing."""
    if isinstance(value, bool) and dtype is not DType.BOOL:
        return int(value)
    if isinstance(value, float) and dtype.is_integer and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


if TYPE_CHECKING:  # a variable cannot be the type of a parameter, as in `n: T.int32`

    class _Typed(Expr):
        """A dtype: the type of scalar parameters, and as for `_Scalar` a variable, literal or conversion."""

        def __init__(self, value: str | Operand = "x") -> None: ...

    class int8(_Typed): ...

    class int16(_Typed): ...

    class int32(_Typed): ...

    class int64(_Typed): ...

    class uint8(_Typed): ...

    class uint16(_Typed): ...

    class uint32(_Typed): ...

    class uint64(_Typed): ...

    class bfloat16(_Typed): ...

    class float16(_Typed): ...

    class float32(_Typed): ...

    class float64(_Typed): ...

    class bool_(_Typed): ...

    boolean = bool_
else:
    int8, int16, int32, int64 = (_Scalar(DType(f"int{n}")) for n in (8, 16, 32, 64))
    uint8, uint16, uint32, uint64 = (_Scalar(DType(f"uint{n}")) for n in (8, 16, 32, 64))
    bfloat16, float16, float32, float64 = (_Scalar(DType(n)) for n in ("bfloat16", "float16", "float32", "float64"))
    bool_ = boolean = _Scalar(DType.BOOL)


def _expr(value: Value) -> Expr:
    return _TYPER.default(value, _NOWHERE)


def _binary(op: BinaryOp) -> Callable[[Operand, Operand], Expr]:
    def build(a: Operand, b: Operand) -> Expr:
        return _expr(_TYPER.binary(op, a, b, _NOWHERE))

    build.__doc__ = f"Build `{op}` of two expressions."
    return build


def _unary(op: UnaryOp) -> Callable[[Operand], Expr]:
    def build(a: Operand) -> Expr:
        return _TYPER.unary(op, a, _NOWHERE)

    build.__doc__ = f"Build `{op}` of an expression."
    return build


floordiv, floormod, truncdiv, truncmod = map(_binary, ("floordiv", "floormod", "truncdiv", "truncmod"))
min, max, pow, atan2, hypot = map(_binary, ("min", "max", "pow", "atan2", "hypot"))
And, Or = _binary("and"), _binary("or")
bitwise_and, bitwise_or, bitwise_xor = map(_binary, ("bitand", "bitor", "bitxor"))
shift_left, shift_right = _binary("shl"), _binary("shr")
Not, bitwise_not, abs = _unary("not"), _unary("bitnot"), _unary("abs")
popcount, clz = _unary("popcount"), _unary("clz")
exp, exp2, log, log2, log10, log1p = map(_unary, ("exp", "exp2", "log", "log2", "log10", "log1p"))
sqrt, rsqrt, erf, sigmoid = map(_unary, ("sqrt", "rsqrt", "erf", "sigmoid"))
sin, cos, tan, sinh, cosh, tanh = map(_unary, ("sin", "cos", "tan", "sinh", "cosh", "tanh"))
asin, acos, atan, floor, ceil, round, trunc = map(_unary, ("asin", "acos", "atan", "floor", "ceil", "round", "trunc"))
nearbyint = round


def ceildiv(a: Operand, b: Operand) -> Expr:
    """The quotient rounded up: `(a + b - 1) // b`."""
    return _expr(_TYPER.ceildiv(a, b, _NOWHERE))


def if_then_else(cond: Operand, then: Operand, other: Operand) -> Expr:
    """`then` where `cond` holds, else `other`; one arm is evaluated.

    Raises:
        ParseError: the condition is not a bool, or the arms have different dtypes.
    """
    test = _TYPER.as_dtype(cond, DType.BOOL, _NOWHERE)
    return _expr(_TYPER.select(test, then, other, _NOWHERE))


Select = if_then_else


def cast(value: Operand, dtype: Dtype) -> Expr:
    """Convert to another dtype."""
    return Cast(_named(dtype), _expr(value))


def likely(cond: Expr) -> Expr:
    """The condition itself."""
    return cond


def undef(dtype: Dtype = "float32") -> Expr:
    """An arbitrary value."""
    return Undef(_named(dtype))


def min_value(dtype: Dtype) -> Expr:
    """The smallest finite value of a dtype."""
    return _TYPER.limit("min_value", _named(dtype), _NOWHERE)


def max_value(dtype: Dtype) -> Expr:
    """The largest finite value of a dtype."""
    return _TYPER.limit("max_value", _named(dtype), _NOWHERE)


def infinity(dtype: Dtype) -> Expr:
    """Infinity in a float dtype."""
    return _TYPER.limit("infinity", _named(dtype), _NOWHERE)


def _named(dtype: Dtype | _Scalar) -> DType:
    if isinstance(dtype, _Scalar):
        return dtype.dtype
    found = dtype if isinstance(dtype, DType) else from_name(str(dtype))
    if found is None:
        near = suggest(str(dtype), (d.value for d in DType))
        raise ParseError("unknown-dtype", f"`{dtype}` is not a dtype", help=near)
    return found
