"""Syntax that is made of texts with places to fill, and parts of it that are replaced by others."""

from __future__ import annotations

import ast
import copy

from ir.script.plain.loops.counting import at_place


class Filled(ast.NodeTransformer):
    """Puts names and expressions in the places of a text."""

    def __init__(self, parts: dict[str, str | ast.expr]) -> None:
        self.parts = parts

    def statements(self, text: str, node: ast.AST) -> list[ast.stmt]:
        """The statements of a text, which stand where `node` does."""
        nodes = ast.parse(text).body
        for part in (n for p in nodes for n in ast.walk(p)):
            for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                part.__dict__.pop(field, None)
        return [at_place(self.visit(n), node) for n in nodes]

    def expression(self, text: str, node: ast.AST) -> ast.expr:
        """The expression that a text is, which stands where `node` does."""
        (stmt,) = self.statements(text, node)
        assert isinstance(stmt, ast.Expr)
        return stmt.value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        part = self.parts.get(node.id)
        if isinstance(part, str):
            return ast.Name(part, node.ctx)
        return node if part is None else copy.deepcopy(part)


class Put(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)
