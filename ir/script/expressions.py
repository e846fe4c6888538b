"""Expressions of the dialect: from Python syntax to typed nodes. The dtype rules are those of `values`."""

from __future__ import annotations

import ast
import math

from msgspec import field
from msgspec.structs import replace

from ir.dtypes import DType, from_name
from ir.errors import suggest
from ir.nodes import (
    BIT_COUNTS,
    FLOAT_UNARY_OPS,
    BinaryOp,
    Buffer,
    Call,
    Cast,
    Expr,
    Function,
    Load,
    UnaryOp,
    Undef,
    Var,
)
from ir.script.hints import SLICES, in_place_of, suggest_name
from ir.script.scope import Scope, View
from ir.script.values import Typer, Untyped, Value, is_number
from ir.traverse import has_undef, is_const

MAX_DEPTH = 250  # levels of nesting: what every later pass can walk, and comparing programs too

BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "floormod",
    ast.Pow: "pow", ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor", ast.LShift: "shl",
    ast.RShift: "shr",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], BinaryOp] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_BINARY_CALLS: dict[str, BinaryOp] = {
    "floordiv": "floordiv", "floormod": "floormod", "indexdiv": "floordiv", "indexmod": "floormod",
    "truncdiv": "truncdiv", "truncmod": "truncmod", "min": "min", "max": "max", "pow": "pow", "power": "pow",
    "atan2": "atan2", "hypot": "hypot",
    "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor", "shift_left": "shl",
    "shift_right": "shr", "And": "and", "Or": "or", "add": "add", "subtract": "sub", "multiply": "mul",
    "FloorDiv": "floordiv", "FloorMod": "floormod", "EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt",
    "GE": "ge", "truncate_div": "truncdiv", "Add": "add", "Sub": "sub", "Mul": "mul", "Min": "min", "Max": "max",
}  # fmt: skip
_UNARY_CALLS: dict[str, UnaryOp] = {
    **{op: op for op in (*FLOAT_UNARY_OPS, *BIT_COUNTS)}, "nearbyint": "round", "abs": "abs", "fabs": "abs",
    "Not": "not", "bitwise_not": "bitnot",
}  # fmt: skip
_OTHER_CALLS = (
    "ceildiv", "Div", "div", "if_then_else", "Select", "cast", "Cast", "likely", "undef", "min_value", "max_value",
    "infinity", "float", "exp10", "isnan", "isinf", "isfinite",
)  # fmt: skip
CALLS = (*_BINARY_CALLS, *_UNARY_CALLS, *_OTHER_CALLS, "bool_", "boolean", *(d.value for d in DType))
_DTYPE_IS_ARGUMENT = ("undef", "cast", "Cast", "min_value", "max_value", "infinity")
ROOTS = ("T", "tir", "tvm", "script", "I", "S")


def dialect_name(node: ast.expr) -> str | None:
    """`axis.remap` for `T.axis.remap`, `min` for `T.min` or a bare `min`; None for what is no dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    while len(parts) > 1 and parts[-1] in ROOTS:
        parts.pop()
    return ".".join(reversed(parts))


def _indices(count: int) -> str:
    return "1 index is" if count == 1 else f"{count} indices are"


class ExprParser(Typer):
    """Parses expressions in one scope."""

    scope: Scope = field(default_factory=Scope)
    in_assume: bool = False
    depth: int = 0

    # Entry points that fix a dtype -----------------------------------------------------------------------------------

    def of_dtype(self, node: ast.expr, dtype: DType) -> Expr:
        """An expression that must have `dtype`; numbers take it, int32 widens to int64."""
        return self.as_dtype(self.value(node), dtype, node)

    def stored(self, node: ast.expr, dtype: DType) -> Expr:
        """A value to be stored: as `of_dtype`, and integers become floats where the buffer holds floats."""
        value = self.value(node)
        if isinstance(value, Expr) and value.dtype.is_integer and dtype.is_float:
            return Cast(dtype, value, self.source.span(node))
        return self.as_dtype(value, dtype, node)

    def condition(self, node: ast.expr) -> Expr:
        """A boolean expression."""
        value = self.value(node)
        if isinstance(value, Untyped):
            value = Undef(DType.BOOL, self.source.span(node))
        expr = self.default(value, node)
        if expr.dtype is not DType.BOOL:
            raise self.source.error(
                "dtype-mismatch",
                f"a condition must be bool, found {expr.dtype}",
                node,
                help="compare it, as in `x != 0`",
            )
        return expr if self.in_assume else self._no_undef(expr, node, "a condition")

    def integer(self, node: ast.expr, what: str) -> Expr:
        """An index or extent; undef may not occur in it."""
        (expr,) = self.integers([node], what, node)
        return expr

    def integers(self, nodes: list[ast.expr], what: str, node: ast.AST) -> list[Expr]:
        """Integers of one dtype without undef; bare numbers become int32."""
        values = [self.value(n) for n in nodes]
        if not any(isinstance(v, Expr) for v in values):
            values = [self.typed(v, DType.INT32, n) for v, n in zip(values, nodes, strict=True)]
        for value, part in zip(values, nodes, strict=True):
            if isinstance(value, Expr):
                if not value.dtype.is_integer:
                    message = f"{what} must be an integer, found {value.dtype}"
                    raise self.source.error(
                        "dtype-mismatch", message, part, help='convert it with T.cast(..., "int32")'
                    )
                self._no_undef(value, part, what)
        exprs = self.common(values, what, node)
        for expr, part in zip(exprs, nodes, strict=True):
            self._no_undef(expr, part, what)
        return exprs

    def any(self, node: ast.expr) -> Expr:
        """An expression of any dtype; bare numbers become int32, float32 or bool."""
        return self.default(self.value(node), node)

    def _no_undef(self, expr: Expr, node: ast.AST, what: str) -> Expr:
        if has_undef(expr):
            raise self.source.error(
                "undef-misuse",
                f"T.undef() may not occur in {what}",
                node,
                help="bind it first (x = T.undef(...)): a name holds one arbitrary but fixed value",
            )
        return expr

    # Syntax ----------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """Parse; untyped where only numbers occur."""
        links = len(node.values) if isinstance(node, ast.BoolOp) else 1
        links = len(node.ops) if isinstance(node, ast.Compare) else links
        self.depth += links  # `a and b and c` is flat as syntax and nests as a node
        if self.depth > MAX_DEPTH:
            raise self.source.error(
                "too-deep",
                f"the expression is nested more than {MAX_DEPTH} levels deep",
                node,
                help="compute it in steps, with a loop or names",
            )
        result = self._value(node)
        self.depth -= links
        return result

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=float() as value) if math.isinf(value):
                raise self.source.error("literal-range", "the number does not fit any dtype", node)
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Subscript(value=target, slice=index):
                return self._load(target, index, node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.binary(BINARY[type(op)], self.value(left), self.value(right), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.value(operand), node)
            case ast.BoolOp(op=op, values=values):
                logical: BinaryOp = "and" if isinstance(op, ast.And) else "or"
                result = self.value(values[0])
                for other in values[1:]:
                    result = self.binary(logical, result, self.value(other), node)
                return result
            case ast.Compare(left=left, ops=ops, comparators=rest):
                return self._compare(left, ops, rest, node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._select(test, body, orelse, node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in ROOTS and name not in self.scope.bindings:
                hint = suggest_name(attr, CALLS)
                raise self.source.error("unknown-name", f"`{name}.{attr}` is not a value", node, help=hint)
            case ast.Slice():
                shown = ast.unparse(node)
                raise self.source.error(
                    "unsupported", f"`{shown}` is not an expression of the dialect", node, help=SLICES
                )
            case _:
                text = ast.unparse(node)
                what = text if len(text) < 60 else type(node).__name__
                message, hint = f"`{what}` is not an expression of the dialect", in_place_of(node)
                raise self.source.error("unsupported", message, node, help=hint)

    def _name(self, name: str, node: ast.expr) -> Value:
        found = self.scope.look_up(name, node, self.source)
        match found:
            case Var():
                return replace(found, span=self.source.span(node))
            case bool() | int() | float():
                return found
            case Function():
                hint = f"call it, as in {found.signature}"
                raise self.source.error("unsupported", f"{name} is a function, not a value", node, help=hint)
            case Buffer() | View():
                zeros = ", ".join("0" for _ in found.shape)
                raise self.source.error(
                    "rank", f"{name} is a buffer, not a value", node, help=f"load an element, as in {name}[{zeros}]"
                )
            case _:
                raise self.source.error("unsupported", f"`{name}` is no number", node)

    def _load(self, target: ast.expr, index: ast.expr, node: ast.expr) -> Value:
        """`A[i, j]`, or an item of a tuple constant or of `A.shape`."""
        items = self._tuple(target)
        if items is not None:
            k = self.value(index)
            if not isinstance(k, int) or not -len(items) <= k < len(items):
                message = f"`{ast.unparse(target)}` has {len(items)} items; its index must be a number below that"
                raise self.source.error("rank", message, node)
            return items[k]
        buffer, indices = self.place(target, index, node)
        return Load(buffer, indices, self.source.span(node))

    def _tuple(self, node: ast.expr) -> tuple[Value, ...] | None:
        if isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
            buffer = self.scope.bindings.get(node.value.id)
            return buffer.shape if isinstance(buffer, (Buffer, View)) else None
        found = self.scope.bindings.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, tuple):
            return None
        return tuple(item for item in found if isinstance(item, (Var, bool, int, float)))

    def spread(self, nodes: list[ast.expr]) -> list[ast.expr]:
        """Syntax with an item each in place of `*names`, and of a name that stands for the variables of a grid."""
        found: list[ast.expr] = []
        for node in nodes:
            inner = node.value if isinstance(node, ast.Starred) else node
            bound = self.scope.bindings.get(inner.id) if isinstance(inner, ast.Name) else None
            several = isinstance(bound, tuple) and all(isinstance(v, Var) for v in bound)
            items = self._tuple(inner) if several or isinstance(node, ast.Starred) else None
            if items is None:
                found.append(node)
                continue
            for k in range(len(items)):
                part = ast.Subscript(inner, ast.copy_location(ast.Constant(k), node), ast.Load())
                found.append(ast.copy_location(part, node))
        return found

    def place(self, target: ast.expr, index: ast.expr, node: ast.expr) -> tuple[Buffer, tuple[Expr, ...]]:
        """The buffer and indices of `target[index]`."""
        found = self.scope.look_up(target.id, target, self.source) if isinstance(target, ast.Name) else None
        if not isinstance(found, (Buffer, View)):
            raise self.source.error(
                "not-a-buffer", f"`{ast.unparse(target)}` is not a buffer", target, help="only buffers have elements"
            )
        name = ast.unparse(target)
        parts = self.spread(index.elts if isinstance(index, ast.Tuple) else [index])
        if len(parts) != len(found.shape):
            for part in parts:
                if isinstance(part, ast.Slice):
                    self.value(part)  # says what to write instead
            raise self.source.error(
                "rank",
                f"{name} has {len(found.shape)} dimensions, but {_indices(len(parts))} given",
                node,
                help=f"give one index for each dimension of {name}",
            )
        outer, self.in_assume = self.in_assume, False
        indices = tuple(self.integer(p, "an index") for p in parts)
        self.in_assume = outer
        return (found, indices) if isinstance(found, Buffer) else (found.buffer, self.in_view(found, indices, node))

    def in_view(self, view: View, indices: tuple[Expr, ...], node: ast.AST) -> tuple[Expr, ...]:
        """Indices into the buffer that a view is of."""
        own = list(indices)
        for k, (axis, index) in enumerate(zip(view.axes, indices, strict=True)):
            first = view.starts[axis]
            if not is_const(first, 0):
                own[k] = self.common([first, index], "an index", node)[1]
        return view.indices(tuple(own))

    def _unary(self, op: ast.unaryop, value: Value, node: ast.expr) -> Value:
        match op:
            case ast.USub():
                return -value if is_number(value) else self.unary("neg", value, node)
            case ast.UAdd():
                return value if is_number(value) else self.default(value, node)
            case ast.Not():
                return not value if isinstance(value, bool) else self.unary("not", value, node)
            case _:
                value = self.default(value, node)
                return self.unary("not" if value.dtype is DType.BOOL else "bitnot", value, node)

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], rest: list[ast.expr], node: ast.expr) -> Value:
        result: Value | None = None
        first = self.value(left)
        for op, right in zip(ops, rest, strict=True):
            if type(op) not in COMPARE:
                raise self.source.error("unsupported", f"the comparison `{ast.unparse(node)}`", node)
            second = self.value(right)
            part = self.binary(COMPARE[type(op)], first, second, node)
            result = part if result is None else self.binary("and", result, part, node)
            first = second
        assert result is not None
        return result

    def _select(self, test: ast.expr, then: ast.expr, other: ast.expr, node: ast.expr) -> Value:
        return self.select(self.condition(test), self.value(then), self.value(other), node)

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return self._cast(node.func.value, self.dtype_of(self._only(node, "astype")), node)
        known = self.scope.bindings.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(known, Function):
            return self._call_of(known, node)
        name = dialect_name(node.func)
        if name is None or name not in CALLS:
            shown = ast.unparse(node.func)
            own = [n for n, v in self.scope.bindings.items() if isinstance(v, Function)]
            hint = suggest(shown, own) or suggest_name(name if name is not None else shown, CALLS)
            raise self.source.error("unknown-function", f"`{shown}` is not a function of the dialect", node, help=hint)
        value = self._known_call(name, node)
        stated = next((k.value for k in node.keywords if k.arg == "dtype"), None)
        if stated is None or name in _DTYPE_IS_ARGUMENT:
            return value
        return self.as_dtype(value, self.dtype_of(stated), node)

    def _call_of(self, function: Function, node: ast.Call) -> Expr:
        """A call of a function that the user defined."""
        params = function.params
        if node.keywords or len(node.args) != len(params) or any(isinstance(a, ast.Starred) for a in node.args):
            plural = "argument" if len(params) == 1 else "arguments"
            given = "keywords" if node.keywords else str(len(node.args))
            message = f"{function.name} takes {len(params)} {plural} by position, {given} given"
            raise self.source.error("arguments", message, node, help=f"call it as {function.signature}")
        outer, self.in_assume = self.in_assume, False
        args = tuple(self.of_dtype(a, p.dtype) for a, p in zip(node.args, params, strict=True))
        self.in_assume = outer
        return Call(function, args, self.source.span(node))

    def _known_call(self, name: str, node: ast.Call) -> Value:
        dtype = DType.BOOL if name in ("bool_", "boolean") else from_name(name)
        if dtype is not None:
            return self._conversion(dtype, node)
        if name in _BINARY_CALLS:
            a, b = self._arguments(node, name, 2)
            return self.binary(_BINARY_CALLS[name], self.value(a), self.value(b), node)
        if name in _UNARY_CALLS:
            return self.unary(_UNARY_CALLS[name], self.value(self._only(node, name)), node)
        return self._other_call(name, node)

    def _other_call(self, name: str, node: ast.Call) -> Value:
        match name:
            case "likely":
                return self.value(self._only(node, name))
            case "undef":
                given = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
                return Undef(self.dtype_of(given[0]), self.source.span(node)) if given else Untyped()
            case "ceildiv":
                a, b = self._arguments(node, name, 2)
                return self.ceildiv(self.value(a), self.value(b), node)
            case "Div" | "div":
                a, b = self._arguments(node, name, 2)
                return self.c_division(self.value(a), self.value(b), node)
            case "float":
                return self._float_text(self._only(node, name))
            case "exp10":
                return self.binary("pow", 10.0, self.default(self.value(self._only(node, name)), node), node)
            case "isnan" | "isinf" | "isfinite":
                return self._kind_of_float(name, self.of_float(self._only(node, name), name), node)
            case "if_then_else" | "Select":
                cond, then, other = self._arguments(node, name, 3)
                return self._select(cond, then, other, node)
            case "cast" | "Cast":
                a, b = self._arguments(node, name, 2)
                first_is_dtype = isinstance(a, ast.Constant) and isinstance(a.value, str)
                operand, dtype = (b, a) if first_is_dtype else (a, b)
                return Cast(self.dtype_of(dtype), self.any(operand), self.source.span(node))
            case _:
                dtype = self.dtype_of(self._only(node, name))
                return self.limit(name, dtype, node)

    def of_float(self, node: ast.expr, name: str) -> Expr:
        """The argument of a function of floats."""
        expr = self.any(node)
        if not expr.dtype.is_float:
            hint = 'convert it with T.cast(..., "float32")'
            raise self.source.error("dtype-mismatch", f"{name} needs a float, found {expr.dtype}", node, help=hint)
        return expr

    def _kind_of_float(self, name: str, operand: Expr, node: ast.Call) -> Value:
        if name == "isnan":
            return self.binary("ne", operand, operand, node)
        most = self.limit("infinity", operand.dtype, node)
        return self.binary("eq" if name == "isinf" else "lt", self.unary("abs", operand, node), most, node)

    def _conversion(self, dtype: DType, node: ast.Call) -> Value:
        """`T.float32(e)`: a literal of the dtype, or a cast where `e` has another one."""
        argument = self._only(node, dtype.value)
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and dtype.is_float:
            return self.typed(self._float_text(argument), dtype, node)
        value = self.value(argument)
        if isinstance(value, bool) and dtype is not DType.BOOL:
            value = int(value)
        if isinstance(value, float) and dtype.is_integer and value.is_integer():
            value = int(value)
        expr = self.typed(value, dtype, node)
        return expr if expr.dtype is dtype else Cast(dtype, expr, self.source.span(node))

    def _float_text(self, node: ast.expr) -> float:
        """The number that a text such as "inf" or "-nan" stands for."""
        try:
            return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else float("x")
        except ValueError:
            shown = ast.unparse(node)
            raise self.source.error("literal", f"`{shown}` is no number in quotes", node, help='as in "inf"') from None

    def _cast(self, operand: ast.expr, dtype: DType, node: ast.expr) -> Expr:
        expr = self.any(operand)
        return expr if expr.dtype is dtype else Cast(dtype, expr, self.source.span(node))

    def dtype_of(self, node: ast.expr) -> DType:
        """A dtype given as a string or as `T.float32`."""
        name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else dialect_name(node)
        bound = self.scope.bindings.get(name) if isinstance(name, str) else None
        found = from_name(bound if isinstance(bound, str) else name) if isinstance(name, str) else None
        if found is None:
            near = suggest(str(name), (d.value for d in DType))
            raise self.source.error("unknown-dtype", f"`{ast.unparse(node)}` is not a dtype", node, help=near)
        return found

    def _only(self, node: ast.Call, name: str) -> ast.expr:
        (argument,) = self._arguments(node, name, 1)
        return argument

    def _arguments(self, node: ast.Call, name: str, count: int) -> list[ast.expr]:
        """The arguments of a call that takes `count` of them by position; past releases also state the dtype."""
        given = [*node.args]
        for keyword in node.keywords:
            if keyword.arg == "dtype" and name in _DTYPE_IS_ARGUMENT:
                given.append(keyword.value)
            elif keyword.arg not in ("dtype", "span"):
                raise self.source.error("arguments", f"{name} takes its arguments by position", node)
        if len(given) != count or any(isinstance(a, ast.Starred) for a in given):
            plural = "argument" if count == 1 else "arguments"
            raise self.source.error("arguments", f"{name} takes {count} {plural}, {len(given)} given", node)
        return given
