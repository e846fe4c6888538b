"""Rows and columns that the steps of a loop hand on, so that a pass over all of an array is made in place.

A step that stores to all of an array what it works out of its row and column k, as in closures and eliminations, reads
them at other places than it stores to. XLA makes one pass of both, which cannot be in place: each step copies the
array. Rows that the step before read from what it had just stored are arrays of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from ir.syntax import python_syntax

_ELEMENTWISE = {"where", "minimum", "maximum", "abs", "sqrt", "exp", "log", "arange", "int32", "float32", "float64"}
_Along = tuple[str, int]  # an array, and which of its dimensions the step is in


@dataclass(slots=True)
class Handed:
    """The lines of a step with names in place of rows. `first` and `then` read them before all and after each."""

    lines: list[str]
    names: list[str] = field(default_factory=list[str])
    first: list[str] = field(default_factory=list[str])
    then: list[str] = field(default_factory=list[str])


def handed_on(
    lines: Sequence[str], arrays: Collection[str], variable: str, low: str, fresh: Callable[[str], str]
) -> Handed:
    """The body of a step, a statement a line, with what it reads of `arrays` in row or column `variable` handed on."""
    found = Handed(list(lines))
    function = python_syntax("\n".join(["def f():", *lines])).body[0]
    assert isinstance(function, ast.FunctionDef)
    if not all(isinstance(s, ast.Assign) for s in function.body):
        return found
    replaced: list[tuple[ast.expr, str]] = []
    for array in arrays:
        reads = _reads(function.body, array, variable)
        alongs: list[_Along] = sorted({(array, d) for dims in reads.values() if len(dims) == 1 for d in dims})
        if not alongs:
            continue
        names = {a: fresh(f"{array}_{'row' if a[1] == 0 else 'column'}") for a in alongs}
        for a, name in names.items():
            found.names.append(name)
            found.first.append(f"{array}[{':, ' * a[1]}{low}]")
            found.then.append(f"{array}[{':, ' * a[1]}{variable} + 1]")
        for node, dims in reads.items():
            along = next(a for a in alongs if a[1] in dims)
            replaced.append((node, names[along] if len(dims) == 1 else f"{names[along]}[{variable}]"))
    for node, name in sorted(replaced, key=lambda r: (r[0].lineno, r[0].col_offset), reverse=True):
        line = found.lines[node.lineno - 2]
        found.lines[node.lineno - 2] = line[: node.col_offset] + name + line[node.end_col_offset :]
    return found


def _reads(body: Sequence[ast.stmt], array: str, variable: str) -> dict[ast.expr, tuple[int, ...]]:
    """The parts of an array that a step reads, each with the dimensions in which it is at `variable`.

    Nothing where the array is not stored to as a whole, or where it is read otherwise, or in parts after a store.
    """
    found: dict[ast.expr, tuple[int, ...]] = {}
    stored = False
    for stmt in body:
        assert isinstance(stmt, ast.Assign)
        parts = [n for n in ast.walk(stmt.value) if isinstance(n, ast.Subscript) and _is(n.value, array)]
        for part in parts:
            dims = _dims(part.slice, variable)
            if stored or not dims:
                return {}
            found[part] = dims
        calls = [n for n in ast.walk(stmt.value) if isinstance(n, ast.Call) and not _elementwise(n.func)]
        inside = {n for call in calls for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == array}
        if inside - {part.value for part in parts}:
            return {}
        if any(_is(n, array) for t in stmt.targets for n in ast.walk(t)):
            if calls or not _is(stmt.targets[0], array):
                return {}
            stored = True
    return found if stored else {}


def _dims(index: ast.expr, variable: str) -> tuple[int, ...]:
    """The dimensions in which an index is a variable; none where it is anything else in the others."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    dims = tuple(d for d, p in enumerate(parts) if _is(p, variable))
    whole = sum(isinstance(p, ast.Slice) and p.lower is None and p.upper is None and p.step is None for p in parts)
    return dims if len(dims) + whole == len(parts) else ()


def _elementwise(function: ast.expr) -> bool:
    """Whether a function works on arrays element by element, so that XLA makes it a part of the pass that stores."""
    return isinstance(function, ast.Attribute) and _is(function.value, "jnp") and function.attr in _ELEMENTWISE


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
