"""Which expressions and names of a function are sets, and which are dictionaries that are filled later."""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable

from ir.script.plain.syntax.cells import times_assigned

Meaning = Callable[[ast.expr], object]  # what a name, or a name in a module, means outside of a function
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


class Kinds:
    """Which expressions are sets ("set") and dictionaries that are filled ("dict"), and names of which alone."""

    def __init__(self, node: ast.FunctionDef, outer: Meaning) -> None:
        self.outer = outer
        self.own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.own |= {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.named: dict[str, str] = {}
        self.filled = _filled_in(node)
        values: dict[str, list[ast.expr]] = {}
        stores = times_assigned(node)
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    values.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name), op=op) if isinstance(op, SET_OPERATORS):
                    stores[name] -= 1
                case _:
                    pass
        alone = {n: v for n, v in values.items() if stores[n] == len(v)}
        while more := {n: k for n, v in alone.items() if n not in self.named
                       and (k := next(filter(None, map(self.of, v)), ""))}:  # fmt: skip
            self.named |= more
        while fewer := {n: k for n, k in self.named.items() if any(self.of(v) != k for v in alone[n])}:
            self.named = {n: k for n, k in self.named.items() if n not in fewer}

    def called(self, node: ast.AST) -> object:
        """What a call calls, if it is of outside."""
        if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id in self.own):
            return None
        return self.outer(node.func)

    def of(self, node: ast.expr) -> str:
        """What an expression is: "set", "dict", or neither."""
        match node:
            case ast.Set() | ast.SetComp():
                return "set"
            case ast.Dict(keys=keys) if not keys or node in self.filled:
                return "dict"
            case ast.DictComp():
                return "dict"
            case ast.Name(id=name):
                return self.named.get(name, "")
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
                return "set" if self.of(left) == self.of(right) == "set" else ""
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy")):
                return self.named.get(name, "")
            case ast.Call(func=ast.Attribute(value=owner, attr="fromkeys")):
                return "dict" if self.outer(owner) is dict else ""
            case ast.Call():
                called = self.called(node)
                kinds = {set: "set", frozenset: "set"} | dict.fromkeys(
                    (dict, collections.Counter, collections.defaultdict), "dict"
                )
                return kinds.get(called, "") if isinstance(called, type) and not node.keywords else ""
            case _:
                return ""


def _filled_in(node: ast.FunctionDef) -> set[ast.expr]:
    """Dictionaries of numbers that are written out, and get keys later: those of which no statement says that they are
    there, as `d[k] += 1` does."""
    stored: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)]) if not _is_number(key):
                stored.add(name)
            case _:
                pass
    found: set[ast.expr] = set()
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys) as value) if name in stored:
                if all(key is not None and _is_number(key) for key in keys):
                    found.add(value)
            case _:
                pass
    return found


def _is_number(node: ast.expr) -> bool:
    """Whether a key is a number, or a tuple of numbers, that is written out."""
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_is_number, node.elts))
    node = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
