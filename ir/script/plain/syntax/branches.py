"""Choices of values as branches, where an array is made for one of them alone, and functions that call themselves last
as loops. Owns syntax alone.
"""

from __future__ import annotations

import ast
import copy

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of
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


def with_loop(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose calls of itself are steps of a loop, if each is the last thing that it does."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == node.name]
    params = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    body = _as_steps(copy.deepcopy(node.body), node.name, params)
    count = sum(isinstance(n, ast.Name) and n.id == node.name for s in node.body for n in ast.walk(s))
    left = sum(isinstance(n, ast.Name) and n.id == node.name for s in body for n in ast.walk(s))
    returns = any(isinstance(n, ast.Return) for s in body for n in ast.walk(s))
    if not calls or not returns or left or count > len(calls) or node.args.kwonlyargs or node.args.vararg:
        return node
    found = copy.copy(node)
    end: list[ast.stmt] = [] if _ends(body[-1]) else [at_place(ast.Return(None), node)]
    found.body = [at_place(ast.While(ast.Constant(True), [*body, *end], []), node.body[0])]
    return found


def _ends(stmt: ast.stmt) -> bool:
    """Whether nothing after a statement is done."""
    if isinstance(stmt, ast.If):
        return bool(stmt.orelse) and _ends(stmt.body[-1]) and _ends(stmt.orelse[-1])
    return isinstance(stmt, (ast.Return, ast.Continue, ast.Raise))


def _as_steps(body: list[ast.stmt], name: str, params: list[str]) -> list[ast.stmt]:
    """Statements that go on with other arguments where they returned what the function gives for these."""
    found: list[ast.stmt] = []
    for stmt in body:
        match stmt:
            case ast.Return(value=ast.IfExp(test=test, body=one, orelse=other) as choice) if name in names_of(choice):
                arms = [_as_steps([at_place(ast.Return(arm), arm)], name, params) for arm in (one, other)]
                found.append(at_place(ast.If(test, *arms), stmt))
            case ast.Return(value=ast.Call(func=ast.Name(id=called), args=args, keywords=[])) if (
                called == name and len(args) == len(params) and not any(name in names_of(a) for a in args)
            ):
                targets: list[ast.expr] = [ast.Name(p, ast.Store()) for p in params]
                if params:
                    given = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(args, ast.Load()))
                    found.append(at_place(given, stmt))
                found.append(at_place(ast.Continue(), stmt))
            case ast.If():
                stmt.body, stmt.orelse = (_as_steps(part, name, params) for part in (stmt.body, stmt.orelse))
                found.append(stmt)
            case _:
                found.append(stmt)
    return found
