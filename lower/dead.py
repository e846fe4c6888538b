"""Lines of emitted functions that compute what nobody reads."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def without_dead_lines(lines: Sequence[str]) -> list[str]:
    """The body of a function, one statement a line besides nested functions, without assignments that nothing reads."""
    function = ast.parse("\n".join(["def f():", *lines])).body[0]
    assert isinstance(function, ast.FunctionDef)
    dead: set[int] = set()
    _mark(function.body, dead, set())
    return [line for k, line in enumerate(lines, 2) if k not in dead]


def _mark(body: Sequence[ast.stmt], dead: set[int], live: set[str]) -> set[str]:
    """Collect the numbers of dead lines, last ones first; from the names that are read after it to those before."""
    for stmt in reversed(body):
        assigned = _assigned(stmt)
        if assigned and not assigned & live:
            dead.update(range(stmt.lineno, (stmt.end_lineno or stmt.lineno) + 1))
            continue
        live = live - assigned
        if isinstance(stmt, ast.FunctionDef):
            live = live | (_mark(stmt.body, dead, set()) - {a.arg for a in stmt.args.args})
        else:
            live = live | _read(stmt)
    return live


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _assigned(stmt: ast.stmt) -> set[str]:
    if isinstance(stmt, ast.FunctionDef):
        return {stmt.name}
    if not isinstance(stmt, ast.Assign):
        return set()
    return {n.id for t in stmt.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
