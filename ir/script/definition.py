"""A user-defined scalar function: its signature and the one expression that it returns."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ir.dtypes import DType
from ir.errors import ParseError
from ir.functions import check_function
from ir.nodes import Expr, Function, Var
from ir.script.buffers import annotation, is_handle, scalar_dtype
from ir.script.expressions import ExprParser, dialect_name
from ir.script.scope import Constant, Scope, Source

_EXAMPLE = "a function is one expression of its parameters, as in `return T.max(x, 0.0)`"
OPTIONS = ("cost", "jax")


def parse_definition(
    node: ast.FunctionDef, source: Source, constants: Mapping[str, Constant], options: Mapping[str, object]
) -> Function:
    """The function that a definition describes; `options` are the arguments of its decorator.

    Raises:
        ParseError: a parameter, the body or an option is not understood.
    """
    scope = Scope.of({name: value for name, value in constants.items() if name != node.name})
    params: list[Var] = []
    for arg in _parameters(node, source):
        param = Var(arg.arg, _dtype(arg, annotation(arg, source), source), source.span(arg))
        scope = scope.bind(arg.arg, param)
        params.append(param)
    cost, jax = _options(node, source, options)
    body = _body(node, source, scope)
    place = source.span(node)
    function = Function(node.name, tuple(params), body, cost, jax, place)
    check_function(function, ParseError)
    return function


def _parameters(node: ast.FunctionDef, source: Source) -> list[ast.arg]:
    args = node.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
        message = f"{node.name} may have plain parameters without defaults only"
        raise source.error("unsupported", message, node, help="name each parameter and give its dtype")
    return args.args


def _dtype(arg: ast.arg, note: ast.expr, source: Source) -> DType:
    found = scalar_dtype(note)
    if found is not None:
        return found
    name = dialect_name(note.func if isinstance(note, ast.Call) else note)
    if name == "Buffer" or is_handle(note):
        message = f"`{arg.arg}` is a buffer, but a function takes scalars"
        raise source.error("annotation", message, arg, help=f"write `{arg.arg}: T.float32` and pass elements")
    shown = ast.unparse(note)
    raise source.error("annotation", f"`{shown}` is not a dtype", arg, help=f"write `{arg.arg}: T.float32`")


def _body(node: ast.FunctionDef, source: Source, scope: Scope) -> Expr:
    stmts = node.body
    if isinstance(stmts[0], ast.Expr) and isinstance(stmts[0].value, ast.Constant) and len(stmts) > 1:
        stmts = stmts[1:]  # a docstring
    if len(stmts) != 1 or not isinstance(stmts[0], ast.Return) or stmts[0].value is None:
        wrong = next((s for s in stmts if not isinstance(s, ast.Return)), node)
        raise source.error("function-body", f"the body of {node.name} is not one expression", wrong, help=_EXAMPLE)
    value = stmts[0].value
    for part in ast.walk(value):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == node.name:
            hint = "write a loop in a kernel instead"
            raise source.error("recursion", f"{node.name} calls itself", part, help=hint)
    parser = ExprParser(source, scope)
    try:
        if node.returns is None:
            return parser.any(value)
        dtype = scalar_dtype(node.returns)
        if dtype is None:
            message = f"`{ast.unparse(node.returns)}` is not a dtype"
            raise source.error("annotation", message, node.returns, help="write `-> T.float32`")
        return parser.of_dtype(value, dtype)
    except RecursionError as error:
        raise source.error("too-deep", f"{node.name} is nested too deeply to be read", node) from error


def _options(node: ast.FunctionDef, source: Source, options: Mapping[str, object]) -> tuple[float | None, str | None]:
    place = node.decorator_list[0] if node.decorator_list else node
    for option in options:
        if option not in OPTIONS:
            message = f"@T.function has no option `{option}`"
            raise source.error("arguments", message, place, help=f"there are {' and '.join(OPTIONS)}")
    cost, jax = options.get("cost"), options.get("jax")
    if cost is not None and (isinstance(cost, bool) or not isinstance(cost, (int, float))):
        message = f"cost= of {node.name} must be a number, found {cost!r}"
        raise source.error("cost", message, place, help="it is the price of one call, as in cost=1.0")
    if jax is not None and not isinstance(jax, str):
        message = f"jax= of {node.name} must be a string, found {jax!r}"
        hint = 'name the parameters in braces, as in jax="jax.nn.relu6({x})"'
        raise source.error("jax-expression", message, place, help=hint)
    return None if cost is None else float(cost), jax
