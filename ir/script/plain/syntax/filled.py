"""Syntax that is made of texts with places to fill, and parts of it that are replaced by others."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from ir.script.plain.loops.counting import at_place


class Natural(ast.expr):
    """An integer that is not negative, so that as an index it counts from the beginning."""

    _fields = ("value",)
    value: ast.expr

    if TYPE_CHECKING:  # Python's own fills in the fields

        def __init__(self, value: ast.expr) -> None: ...


class Filled(ast.NodeTransformer):
    """Puts names and expressions in the places of a text; `NATURAL(x)` in it is an integer that is not negative."""

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

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "NATURAL":
            return ast.copy_location(Natural(self.visit(node.args[0])), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        part = self.parts.get(node.id)
        if isinstance(part, str):
            return ast.copy_location(ast.Name(part, node.ctx), node)
        return node if part is None else at_place(copy.deepcopy(part), node)


def filled_in(text: str, node: ast.AST, **parts: str | ast.expr) -> list[ast.stmt]:
    """The statements of a text with names and expressions in its places, which stand where `node` does."""
    return Filled(parts).statements(text, node)


class Put(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)
