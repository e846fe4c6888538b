"""Choices of values as branches, where an array is made for one of them alone. Owns syntax alone."""

from __future__ import annotations

import ast
import copy

from ir.naming import fresh
from ir.script.plain.syntax.cells import all_names
from ir.script.plain.syntax.counters import late_nodes
from ir.script.plain.syntax.filled import Filled, Put
from ir.script.plain.syntax.walking import Statements


def with_branches(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose choices `a if c else b` are branches before their statements, if these always make them."""
    node = copy.deepcopy(node)
    node.body = _Branches(all_names(node)).statements(node.body)
    return node


class _Branches(Statements):
    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        part: ast.AST | None = node
        match node:
            case ast.For(iter=part) | ast.If(test=part):
                pass
            case ast.While():
                part = None
            case _:
                pass
        before = [] if part is None else self._chosen(node, part)
        if isinstance(node, (ast.For, ast.While, ast.If)):
            node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return [*before, node]

    def _chosen(self, node: ast.stmt, part: ast.AST) -> list[ast.stmt]:
        """Branches that give names to what is chosen in a part of a statement, which looks at the names."""
        late = late_nodes(part)
        found: list[ast.stmt] = []
        for one in [n for n in ast.walk(part) if isinstance(n, ast.IfExp) and n not in late]:
            name = fresh("chosen", self.taken)
            places: dict[str, str | ast.expr] = {"X": name, "TEST": one.test, "A": one.body, "B": one.orelse}
            found += self.statements(Filled(places).statements("if TEST:\n    X = A\nelse:\n    X = B", one))
            Put(one, ast.copy_location(ast.Name(name, ast.Load()), one)).visit(node)
        return found
