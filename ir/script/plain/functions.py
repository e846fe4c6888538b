"""Functions of plain Python programs as they are read from source: parameters, statements, and names that change."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import lru_cache
from types import FunctionType

from ir.script.plain import hints, library
from ir.script.plain.cells import cells_of, local_names
from ir.script.plain.frames import Frame, outer_name
from ir.script.plain.loops.exits import structured
from ir.script.plain.promotion import Numbers
from ir.script.reading import definition_of
from ir.script.scope import Source


@dataclass(frozen=True, slots=True)
class _Read:
    """A function as it was read."""

    source: Source
    params: list[str]
    body: list[ast.stmt]
    locals: set[str]
    cells: dict[int, list[str]]
    results: frozenset[str]
    first: frozenset[ast.expr]


@lru_cache(maxsize=256)
def _read(function: FunctionType) -> _Read:
    node, source = definition_of(function, "loopsat.jit")
    args = node.args
    if args.vararg or args.kwarg or args.kwonlyargs:
        message = f"{node.name} takes stars or keyword-only parameters"
        raise source.error("unsupported", message, node, help="name each parameter")
    params = [a.arg for a in (*args.posonlyargs, *args.args)]
    source = replace(source, contains=hints.CONTAINS)
    for inner in ast.walk(node):  # before returns within them are looked at
        if isinstance(inner, (ast.With, ast.Try, ast.Match)):
            first = ast.unparse(inner).splitlines()[0]
            raise source.error("unsupported", f"`{first}` is not supported", inner, help=hints.STATEMENTS[type(inner)])
    whole = structured(node, source, lambda name: _outer(function, name) is library.bound)
    body = whole.body
    while body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    body = body or [ast.copy_location(ast.Pass(), node)]
    return _Read(source, params, body, local_names(body, params), cells_of(body, params), whole.results, whole.first)


def _outer(function: FunctionType, node: ast.expr) -> object:
    """What a name, or a name in a module, means outside of a function; None where it means nothing."""
    match node:
        case ast.Name(id=name):
            try:
                return outer_name(function, name)
            except KeyError:
                return None
        case ast.Attribute(value=ast.Name() as owner, attr=name):
            return getattr(_outer(function, owner), name, None)
        case _:
            return None


def frame_of(function: FunctionType, path: tuple[int, ...], exact: bool) -> tuple[Frame, list[ast.stmt], list[str]]:
    """A function to be put in place: the meaning of its names, its statements, and its parameters."""
    read = _read(function)
    numbers = Numbers(read.source, exact)
    frame = Frame(function, read.source, numbers, path, read.locals, read.cells, results=read.results, first=read.first)
    return frame, read.body, read.params
