"""Modules, and what is in them, that a function imports for itself."""

from __future__ import annotations

import ast
import dis
import importlib
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FunctionType

from ir.script.reading import definition_of
from ir.script.scope import Source


@lru_cache(maxsize=256)
def imports_of(function: FunctionType) -> Mapping[str, object]:
    """What the names mean that a function imports, functions within it included.

    Raises:
        ParseError: there is no such module, or it has no such name.
    """
    if not _imports(function.__code__):
        return {}
    node, source = definition_of(function, "loopsat.jit")
    found: dict[str, object] = {}
    for n in ast.walk(node):
        if isinstance(n, ast.Import):
            for alias in n.names:
                module = _module(alias.name, n, source)
                top = _module(alias.name.partition(".")[0], n, source)
                found[alias.asname or alias.name.partition(".")[0]] = module if alias.asname else top
        elif isinstance(n, ast.ImportFrom):
            package = function.__globals__.get("__package__")
            module = _module("." * n.level + (n.module or ""), n, source, package if n.level else None)
            for alias in n.names:
                if not hasattr(module, alias.name):
                    raise source.error("unknown-name", f"{n.module} has no `{alias.name}`", n)
                found[alias.asname or alias.name] = getattr(module, alias.name)
    return found


def _imports(code: CodeType) -> bool:
    """Whether a function, or one within it, imports anything."""
    if any(i.opname == "IMPORT_NAME" for i in dis.get_instructions(code)):
        return True
    return any(_imports(c) for c in code.co_consts if isinstance(c, CodeType))


def _module(name: str, node: ast.stmt, source: Source, package: str | None = None) -> object:
    try:
        return importlib.import_module(name, package)
    except ImportError as error:
        raise source.error("unknown-name", f"`{ast.unparse(node)}`: {error}", node) from error


class _Without(ast.NodeTransformer):
    def visit_Import(self, node: ast.Import) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)


def without_imports(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function without its imports, whose names are those of outside then."""
    found: ast.FunctionDef = _Without().visit(node)
    return found
