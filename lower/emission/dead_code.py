"""Lines of emitted functions that compute what nobody reads."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ir.syntax import python_syntax


def without_dead_lines(lines: Sequence[str]) -> list[str]:
    """The body of a function, one statement a line besides nested functions, without assignments that nothing reads."""
    function = python_syntax("\n".join(["def f():", *lines])).body[0]
    assert isinstance(function, ast.FunctionDef)
    dead: set[int] = set()
    _mark(function.body, dead)
    return [line for k, line in enumerate(lines, 2) if k not in dead]


def _mark(body: Sequence[ast.stmt], dead: set[int]) -> set[str]:
    """Collect the numbers of dead lines, last ones first; returns the names that are read from outside."""
    live: set[str] = set()
    for stmt in reversed(body):
        assigned = _assigned(stmt)
        if assigned and not assigned & live:
            dead.update(range(stmt.lineno, (stmt.end_lineno or stmt.lineno) + 1))
            continue
        live -= assigned
        if isinstance(stmt, ast.FunctionDef):
            live |= _mark(stmt.body, dead) - {a.arg for a in stmt.args.args}
        else:
            for inner in ast.iter_child_nodes(stmt):  # of a loop over phases
                if isinstance(inner, ast.FunctionDef):
                    _mark(inner.body, dead)
            live |= {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return live


def _assigned(stmt: ast.stmt) -> set[str]:
    if isinstance(stmt, ast.FunctionDef):
        return {stmt.name}
    if not isinstance(stmt, ast.Assign):
        return set()
    return {n.id for t in stmt.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
