"""The source of a Python function as syntax. Never runs it."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType

from ir.errors import ParseError
from ir.script.scope import Source
from ir.syntax import python_syntax


def definition_of(function: object, decorator: str) -> tuple[ast.FunctionDef, Source]:
    """The definition of a Python function, for the decorator of that name.

    Raises:
        ParseError: it is no function, or its source is not available or no `def`.
    """
    if not isinstance(function, FunctionType):
        raise ParseError("no-source", f"@{decorator} decorates functions, found {type(function).__name__}")
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise ParseError(
            "no-source", f"the source of {function.__name__} is not available", help="put the function into a file"
        ) from error
    indented = lines[0][:1].isspace()
    text = "".join(["if True:\n", *lines] if indented else lines)
    source = Source.of(text, inspect.getsourcefile(function) or "<unknown>", first - 1 - indented)
    try:
        node = python_syntax(text).body[0]
    except SyntaxError:  # a lambda within an expression, whose lines are no statement
        raise ParseError("no-source", f"@{decorator} decorates functions", help="write it as a def") from None
    node = node.body[0] if isinstance(node, ast.If) and indented else node
    node = _lambda_in(node, function) if function.__name__ == "<lambda>" else node
    if not isinstance(node, ast.FunctionDef):
        raise ParseError("no-source", f"@{decorator} decorates functions", source.span(node), help="write it as a def")
    return node, source


def _lambda_in(node: ast.stmt, function: FunctionType) -> ast.stmt:
    """The definition that the only lambda in a statement is, or the statement itself."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Lambda)]
    if len(found) != 1:
        return node
    result = ast.copy_location(ast.Return(found[0].body), found[0].body)
    return ast.copy_location(ast.FunctionDef(function.__name__, found[0].args, [result], []), found[0])
