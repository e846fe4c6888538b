"""Python's own syntax trees, one thread at a time."""

from __future__ import annotations

import ast
import threading
import types
from typing import Literal, overload

_ONE = threading.Lock()  # Python 3.11 counts the depth of its trees over all threads (cpython issue 106905)


@overload
def python_syntax(text: str, mode: Literal["exec"] = "exec", file: str = "<unknown>") -> ast.Module: ...
@overload
def python_syntax(text: str, mode: Literal["eval"], file: str = "<unknown>") -> ast.Expression: ...
def python_syntax(text: str, mode: Literal["exec", "eval"] = "exec", file: str = "<unknown>") -> ast.mod:
    """The tree of a Python text.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`.
    """
    with _ONE:
        return ast.parse(text, file, mode)


def python_code(tree: ast.expr, file: str) -> types.CodeType:
    """What `eval` runs of an expression; places that its nodes lack are filled in."""
    with _ONE:
        return compile(ast.fix_missing_locations(ast.Expression(tree)), file, "eval")
