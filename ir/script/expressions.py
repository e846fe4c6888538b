"""Expressions of the dialect: from Python syntax to typed nodes. Numbers stay untyped until an operand types them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import ml_dtypes

from ir.dtypes import DType, from_name
from ir.errors import suggest
from ir.nodes import (
    FLOAT_UNARY_OPS,
    INTEGER_ONLY_OPS,
    LOGICAL_OPS,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    UnaryOp,
    Undef,
    Var,
    const,
)
from ir.script.scope import Scope, Source
from ir.traverse import walk_expr


class _Untyped:
    """`T.undef()` before its dtype is known."""


UNTYPED_UNDEF = _Untyped()
Value = Expr | bool | int | float | _Untyped

_BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "floormod",
    ast.Pow: "pow", ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor", ast.LShift: "shl",
    ast.RShift: "shr",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], BinaryOp] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_FOLD: dict[str, Callable[[int | float, int | float], int | float | bool]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "floormod": operator.mod, "min": min, "max": max,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_BINARY_CALLS: dict[str, BinaryOp] = {
    "floordiv": "floordiv", "floormod": "floormod", "indexdiv": "floordiv", "indexmod": "floormod",
    "truncdiv": "truncdiv", "truncmod": "truncmod", "min": "min", "max": "max", "pow": "pow", "power": "pow",
    "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor", "shift_left": "shl",
    "shift_right": "shr", "And": "and", "Or": "or", "Div": "div", "add": "add", "subtract": "sub", "multiply": "mul",
    "FloorDiv": "floordiv", "FloorMod": "floormod", "EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt",
    "GE": "ge", "div": "truncdiv", "truncate_div": "truncdiv",
}  # fmt: skip
_UNARY_CALLS: dict[str, UnaryOp] = {
    "exp": "exp", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh", "sin": "sin", "cos": "cos",
    "erf": "erf", "sigmoid": "sigmoid", "floor": "floor", "ceil": "ceil",
    "abs": "abs", "fabs": "abs", "Not": "not", "bitwise_not": "bitnot",
}  # fmt: skip
_OTHER_CALLS = (
    "ceildiv",
    "if_then_else",
    "Select",
    "cast",
    "Cast",
    "likely",
    "undef",
    "min_value",
    "max_value",
    "infinity",
)
CALLS = (*_BINARY_CALLS, *_UNARY_CALLS, *_OTHER_CALLS, "bool_", *(d.value for d in DType))
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


@dataclass(slots=True)
class ExprParser:
    """Parses expressions in one scope."""

    source: Source
    scope: Scope
    in_assume: bool = False

    # Entry points that fix a dtype -----------------------------------------------------------------------------------

    def of_dtype(self, node: ast.expr, dtype: DType) -> Expr:
        """An expression that must have `dtype`; numbers take it, int32 widens to int64."""
        value = self.value(node)
        if isinstance(value, Expr) and value.dtype is DType.INT32 and dtype is DType.INT64:
            return Cast(dtype, value, value.span)
        typed = self.typed(value, dtype, node)
        if typed.dtype is not dtype:
            raise self.source.error(
                "dtype-mismatch",
                f"expected {dtype}, found {typed.dtype}",
                node,
                help=f'convert it with T.cast(..., "{dtype}")',
            )
        return typed

    def condition(self, node: ast.expr) -> Expr:
        """A boolean expression."""
        value = self.value(node)
        expr = self.typed(value, DType.BOOL, node) if isinstance(value, (bool, _Untyped)) else value
        if not isinstance(expr, Expr) or expr.dtype is not DType.BOOL:
            found = expr.dtype if isinstance(expr, Expr) else type(expr).__name__
            raise self.source.error(
                "dtype-mismatch", f"a condition must be bool, found {found}", node, help="compare it, as in `x != 0`"
            )
        return self._no_undef(expr, node, "a condition") if not self.in_assume else expr

    def integer(self, node: ast.expr, what: str) -> Expr:
        """An index or extent; undef may not occur in it."""
        expr = self.typed(self.value(node), DType.INT32, node)
        if not expr.dtype.is_integer:
            raise self.source.error("dtype-mismatch", f"{what} must be an integer, found {expr.dtype}", node)
        return self._no_undef(expr, node, what)

    def any(self, node: ast.expr) -> Expr:
        """An expression of any dtype; bare numbers become int32, float32 or bool."""
        value = self.value(node)
        if isinstance(value, _Untyped):
            raise self.source.error(
                "undef-dtype", "the dtype of T.undef() is not known here", node, help='write T.undef("float32")'
            )
        return self.default(value, node)

    def default(self, value: Expr | bool | int | float, node: ast.AST) -> Expr:
        if isinstance(value, Expr):
            return value
        if isinstance(value, bool):
            dtype = DType.BOOL
        elif isinstance(value, int):
            dtype = DType.INT32 if DType.INT32.min <= value <= DType.INT32.max else DType.INT64
        else:
            dtype = DType.FLOAT32
        return self.typed(value, dtype, node)

    def typed(self, value: Value, dtype: DType, node: ast.AST) -> Expr:
        """`value` with a dtype if it has none yet."""
        span = self.source.span(node)
        if isinstance(value, Expr):
            return value
        if isinstance(value, _Untyped):
            return Undef(dtype, span)
        if isinstance(value, bool) != (dtype is DType.BOOL) or (isinstance(value, float) and not dtype.is_float):
            kind = "boolean" if isinstance(value, bool) else "number"
            raise self.source.error("dtype-mismatch", f"expected {dtype}, found the {kind} {value}", node)
        if dtype.is_integer and not dtype.min <= value <= dtype.max:
            raise self.source.error(
                "literal-range", f"{value} does not fit {dtype}, which holds {dtype.min} to {dtype.max}", node
            )
        return replace(const(value, dtype), span=span)

    def _no_undef(self, expr: Expr, node: ast.AST, what: str) -> Expr:
        if any(isinstance(e, Undef) for e in walk_expr(expr)):
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
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Subscript(value=target, slice=index):
                return self._load(target, index, node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.binary(_BINARY[type(op)], self.value(left), self.value(right), node)
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
            case _:
                what = ast.unparse(node) if len(ast.unparse(node)) < 60 else type(node).__name__
                raise self.source.error("unsupported", f"`{what}` is not an expression of the dialect", node)

    def _name(self, name: str, node: ast.expr) -> Value:
        found = self.scope.look_up(name, node, self.source)
        match found:
            case Var():
                return replace(found, span=self.source.span(node))
            case bool() | int() | float():
                return found
            case Buffer():
                zeros = ", ".join("0" for _ in found.shape)
                raise self.source.error(
                    "rank", f"{name} is a buffer, not a value", node, help=f"load an element, as in {name}[{zeros}]"
                )
            case _:
                raise self.source.error("unsupported", f"`{name}` is no number", node)

    def _load(self, target: ast.expr, index: ast.expr, node: ast.expr) -> Value:
        if isinstance(target, ast.Name):
            found = self.scope.look_up(target.id, target, self.source)
            if isinstance(found, tuple) and isinstance(index, ast.Constant) and isinstance(index.value, int):
                item = found[index.value] if -len(found) <= index.value < len(found) else None
                if isinstance(item, (bool, int, float)):
                    return item
        buffer, indices = self.place(target, index, node)
        return Load(buffer, indices, self.source.span(node))

    def place(self, target: ast.expr, index: ast.expr, node: ast.expr) -> tuple[Buffer, tuple[Expr, ...]]:
        """The buffer and indices of `target[index]`."""
        found = self.scope.look_up(target.id, target, self.source) if isinstance(target, ast.Name) else None
        if not isinstance(found, Buffer):
            raise self.source.error("not-a-buffer", f"`{ast.unparse(target)}` is not a buffer", target)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(parts) != len(found.shape):
            raise self.source.error(
                "rank",
                f"{found.name} has {len(found.shape)} dimensions, but {len(parts)} indices are given",
                node,
                help=f"give one index for each dimension of {found.name}",
            )
        outer, self.in_assume = self.in_assume, False
        indices = tuple(self.integer(p, "an index") for p in parts)
        self.in_assume = outer
        return found, indices

    def _unary(self, op: ast.unaryop, value: Value, node: ast.expr) -> Value:
        if isinstance(value, (bool, int, float)):
            match op:
                case ast.USub() if not isinstance(value, bool):
                    return -value
                case ast.UAdd() if not isinstance(value, bool):
                    return value
                case ast.Not() if isinstance(value, bool):
                    return not value
                case _:
                    value = self.default(value, node)
        match op:
            case ast.USub():
                return self.unary("neg", value, node)
            case ast.UAdd():
                return value
            case ast.Not():
                return self.unary("not", value, node)
            case _:
                boolean = isinstance(value, Expr) and value.dtype is DType.BOOL
                return self.unary("not" if boolean else "bitnot", value, node)

    def unary(self, op: UnaryOp, value: Value, node: ast.AST) -> Expr:
        """Apply an operator, with its dtype rules."""
        if isinstance(value, _Untyped):
            raise self.source.error("undef-dtype", "the dtype of T.undef() is not known here", node)
        if op in FLOAT_UNARY_OPS and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        expr = self.default(value, node)
        wanted = {"not": "bool", "bitnot": "an integer", "neg": "a number", "abs": "a number"}.get(op, "a float")
        fits = {
            "bool": expr.dtype is DType.BOOL,
            "an integer": expr.dtype.is_integer,
            "a number": expr.dtype is not DType.BOOL,
            "a float": expr.dtype.is_float,
        }[wanted]
        if not fits:
            raise self.source.error("dtype-mismatch", f"{op} needs {wanted}, found {expr.dtype}", node)
        return Unary(op, expr, self.source.span(node))

    def binary(self, op: BinaryOp, lhs: Value, rhs: Value, node: ast.AST) -> Value:
        """Apply an operator, with its dtype rules; two bare numbers are computed."""
        numbers = (bool, int, float)
        if isinstance(lhs, numbers) and isinstance(rhs, numbers):
            if op in _FOLD and not (op in ("div", "floordiv", "floormod") and rhs == 0):
                return _FOLD[op](lhs, rhs)
            lhs = self.default(lhs, node)
        a, b = self._unify(op, lhs, rhs, node)
        if a.dtype is DType.BOOL and op in ("bitand", "bitor"):
            op = "and" if op == "bitand" else "or"
        self._check_operands(op, a.dtype, node)
        return Binary(op, a, b, self.source.span(node))

    def _check_operands(self, op: BinaryOp, dtype: DType, node: ast.AST) -> None:
        if op in LOGICAL_OPS:
            good, wanted, hint = dtype is DType.BOOL, "bool", "compare the operands first"
        elif op == "div":
            good, wanted, hint = dtype.is_float, "floats", "write // for the floor of an integer quotient"
        elif op in INTEGER_ONLY_OPS:
            good, wanted, hint = dtype.is_integer, "integers", ""
        elif op in ("eq", "ne"):
            return
        else:
            good, wanted, hint = dtype is not DType.BOOL, "numbers", 'convert it with T.cast(..., "int32")'
        if not good:
            raise self.source.error("dtype-mismatch", f"{op} needs {wanted}, found {dtype}", node, help=hint)

    def _unify(self, op: str, lhs: Value, rhs: Value, node: ast.AST) -> tuple[Expr, Expr]:
        if not isinstance(lhs, Expr) and not isinstance(rhs, Expr):
            raise self.source.error("undef-dtype", "the dtype of T.undef() is not known here", node)
        if isinstance(lhs, Expr) and isinstance(rhs, Expr):
            if {lhs.dtype, rhs.dtype} == {DType.INT32, DType.INT64}:
                a, b = (e if e.dtype is DType.INT64 else Cast(DType.INT64, e, e.span) for e in (lhs, rhs))
                return a, b
            if lhs.dtype is not rhs.dtype:
                raise self.source.error(
                    "dtype-mismatch",
                    f"{op} of {lhs.dtype} and {rhs.dtype}",
                    node,
                    help=f'convert one of them, as in T.cast(..., "{lhs.dtype}")',
                )
            return lhs, rhs
        if isinstance(lhs, Expr):
            return lhs, self.typed(rhs, lhs.dtype, node)
        assert isinstance(rhs, Expr)
        return self.typed(lhs, rhs.dtype, node), rhs

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], rest: list[ast.expr], node: ast.expr) -> Value:
        result: Value | None = None
        first = self.value(left)
        for op, right in zip(ops, rest, strict=True):
            if type(op) not in _COMPARE:
                raise self.source.error("unsupported", f"the comparison `{ast.unparse(node)}`", node)
            second = self.value(right)
            part = self.binary(_COMPARE[type(op)], first, second, node)
            result = part if result is None else self.binary("and", result, part, node)
            first = second
        assert result is not None
        return result

    def _select(self, test: ast.expr, then: ast.expr, other: ast.expr, node: ast.expr) -> Value:
        cond = self.condition(test)
        lhs, rhs = self.value(then), self.value(other)
        if not isinstance(lhs, (Expr, _Untyped)):
            whole = isinstance(rhs, float) and isinstance(lhs, int) and not isinstance(lhs, bool)
            lhs = lhs if isinstance(rhs, Expr) else self.default(float(lhs) if whole else lhs, node)
        a, b = self._unify("if_then_else", lhs, rhs, node)
        return Select(cond, a, b, self.source.span(node))

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return self._cast(node.func.value, self.dtype_of(self._only(node, "astype")), node)
        name = dialect_name(node.func)
        if name is None or name not in CALLS:
            shown = ast.unparse(node.func)
            near = suggest(name.rpartition(".")[2] if name is not None else shown, CALLS)
            raise self.source.error("unknown-function", f"`{shown}` is not a function of the dialect", node, help=near)
        dtype = DType.BOOL if name == "bool_" else from_name(name)
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
                return Undef(self.dtype_of(given[0]), self.source.span(node)) if given else UNTYPED_UNDEF
            case "ceildiv":
                a, b = self._arguments(node, name, 2)
                divisor = self.value(b)
                top = self.binary("sub", self.binary("add", self.value(a), divisor, node), 1, node)
                return self.binary("floordiv", top, divisor, node)
            case "if_then_else" | "Select":
                cond, then, other = self._arguments(node, name, 3)
                return self._select(cond, then, other, node)
            case "cast" | "Cast":
                a, b = self._arguments(node, name, 2)
                first_is_dtype = isinstance(a, ast.Constant) and isinstance(a.value, str)
                operand, dtype = (b, a) if first_is_dtype else (a, b)
                return self._cast(operand, self.dtype_of(dtype), node)
            case _:
                dtype = self.dtype_of(self._only(node, name))
                return self._limit(name, dtype, node)

    def _limit(self, name: str, dtype: DType, node: ast.Call) -> Value:
        span = self.source.span(node)
        if dtype.is_float:
            if name == "infinity":
                return Const(float("inf"), dtype, span)
            largest = float_max(dtype)
            return Const(largest if name == "max_value" else -largest, dtype, span)
        if name == "infinity" or dtype is DType.BOOL:
            raise self.source.error("dtype-mismatch", f"{dtype} has no {name}", node)
        return Const(dtype.max if name == "max_value" else dtype.min, dtype, span)

    def _conversion(self, dtype: DType, node: ast.Call) -> Value:
        argument = self._only(node, dtype.value)
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            try:
                return Const(float(argument.value), dtype, self.source.span(node))
            except ValueError:
                raise self.source.error("literal", f"{argument.value!r} is no {dtype}", argument) from None
        value = self.value(argument)
        if isinstance(value, (bool, int, float)):
            if isinstance(value, bool) and dtype is not DType.BOOL:
                value = int(value)
            if isinstance(value, float) and dtype.is_integer and value.is_integer():
                value = int(value)
            return self.typed(value, dtype, node)
        return self._cast(argument, dtype, node)

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
        given = [*node.args, *(k.value for k in node.keywords if k.arg not in ("span",))]
        if len(given) != count or any(isinstance(a, ast.Starred) for a in given):
            plural = "argument" if count == 1 else "arguments"
            raise self.source.error("arguments", f"{name} takes {count} {plural}, {len(given)} given", node)
        return given


def float_max(dtype: DType) -> float:
    """The largest finite value of a float dtype."""
    return float(ml_dtypes.finfo(dtype.numpy).max)
