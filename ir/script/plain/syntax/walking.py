"""How passes over syntax walk: statement by statement, each of which may become several, and conditions apart from
what gives values."""

from __future__ import annotations

import ast
from collections.abc import Sequence


class Statements:
    """Writes statements in place of others; definitions stay as they are."""

    def statements(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements in place of a list of them."""
        own = (ast.FunctionDef, ast.ClassDef)
        return [new for node in nodes for new in ([node] if isinstance(node, own) else self.statement(node))]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Statements in place of one."""
        raise NotImplementedError


class Conditions(ast.NodeTransformer):
    """Visits conditions by `truth`: they may ask whether there is anything in what is no number."""

    def truth(self, node: ast.expr) -> ast.expr:
        """A condition in place of one."""
        found: ast.expr = self.visit(node)
        return found

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self.truth(v) for v in node.values]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test, node.body, node.orelse = self.truth(node.test), self.visit(node.body), self.visit(node.orelse)
        return node
