"""Dictionaries with a default, which have a key from where it is read on: from Python syntax to syntax.

Where the function looks at what keys there are, statements that read one are preceded by one that adds it.
"""

from __future__ import annotations

import ast
import collections
import copy
from collections.abc import Iterator, Sequence

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of
from ir.script.plain.syntax.filled import Filled, Put
from ir.script.plain.syntax.kinds import Kinds, Meaning
from ir.script.plain.syntax.walking import Statements
from ir.script.scope import Source

_Pair = tuple[str, str]  # a dictionary, and the text of a key that it has
_Read = tuple[str, ast.expr, ast.expr, bool]
_KEEPING = ("get", "setdefault")  # methods that give what a key stands for, whether it is there or not
_MADE = {"int": "0", "float": "0.0", "list": "[]", "set": "set()", "bool": "False"}


def default_of(value: ast.expr, kinds: Kinds) -> ast.expr | None:
    """What `defaultdict(value)` gives keys that it does not have; None for what is none, or not known."""
    if kinds.called(value) is not collections.defaultdict or not isinstance(value, ast.Call):
        return None
    match value.args:
        case [ast.Name(id=name)] if name in _MADE and name not in kinds.own:
            return Filled({}).expression(_MADE[name], value)
        case [ast.Lambda(args=ast.arguments(args=[]), body=body)]:
            return body
        case _:
            return None


def with_read_keys(node: ast.FunctionDef, source: Source, outer: Meaning) -> ast.FunctionDef:
    """A function that adds keys of dictionaries with a default before it reads what they stand for.

    Raises:
        ParseError: that is read where it may not run, or several times.
    """
    kinds = Kinds(node, outer)
    defaults: dict[str, ast.expr] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in kinds.named:
                if (default := default_of(value, kinds)) is not None:
                    defaults[name] = default
            case _:
                pass
    defaults = {name: default for name, default in defaults.items() if _is_looked_at(node, name, default)}
    if not defaults:
        return node
    node = copy.deepcopy(node)
    node.body = _Keys(defaults, source, all_names(node)).statements(node.body)
    return node


def _is_looked_at(node: ast.FunctionDef, name: str, default: ast.expr) -> bool:
    """Whether a function asks which keys a dictionary has."""
    single: set[ast.AST] = set()
    for part in ast.walk(node):
        match part:
            case ast.Subscript(value=ast.Name() as owner) | ast.Delete(targets=[ast.Subscript(value=owner)]):
                single.add(owner)
            case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr=attr), args=[_, given]) if (
                attr in _KEEPING and ast.unparse(given) == ast.unparse(default)
            ):
                single.add(owner)
            case _:
                pass
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n not in single
               for n in ast.walk(node))  # fmt: skip


class _Keys(Statements):
    """Adds keys before statements that read what they stand for."""

    def __init__(self, defaults: dict[str, ast.expr], source: Source, taken: set[str]) -> None:
        self.defaults, self.source, self.taken = defaults, source, taken
        self.there = frozenset[_Pair]()

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.For(target=target, iter=over, body=body):
                return self._within(node, over, [p for p in _running(target, over) if _keeps(body, p, target)])
            case ast.If(test=test, body=body):
                return self._within(node, test, [p for p in _tested(test) if _keeps(body, p)])
            case ast.While(test=test):
                for name, _, read, _ in self._reads(test, self.there, False):
                    raise self._later(name, read)
                node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
                return [node]
            case ast.AugAssign():  # what is updated is added where that is done
                return [*self._added(node, [node.value]), node]
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name), slice=key)), args=args)
            ) if name in self.defaults:  # as is what a list or set is appended to
                return [*self._added(node, [key, *args]), node]
            case _:
                return [*self._added(node, [node]), node]

    def _within(self, node: ast.For | ast.If, head: ast.expr, known: list[_Pair]) -> list[ast.stmt]:
        """A statement in whose body it is known of keys that they are there."""
        before, outside = self._added(node, [head]), self.there
        self.there = outside | {*known}
        node.body = self.statements(node.body)
        self.there = outside
        node.orelse = self.statements(node.orelse)
        return [*before, node]

    def _added(self, node: ast.stmt, parts: Sequence[ast.AST]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for name, key, read, late in [r for part in parts for r in self._reads(part, self.there, False)]:
            if late:
                raise self._later(name, read)
            if any(isinstance(n, (ast.Call, ast.NamedExpr)) for n in ast.walk(key)):  # which is worked out once
                named = ast.Name(fresh("key", self.taken), ast.Load())
                found += Filled({"NAME": named.id, "VALUE": key}).statements("NAME = VALUE", read)
                Put(key, at_place(named, key)).visit(node)
                key = named
            places: dict[str, str | ast.expr] = {"DICT": name, "KEY": key, "DEFAULT": self.defaults[name]}
            found += Filled(places).statements("DICT.setdefault(KEY, DEFAULT)", read)
        return found

    def _reads(self, node: ast.AST, there: frozenset[_Pair], late: bool) -> Iterator[_Read]:
        """Dictionaries, keys of which it is not known that they are there, where these are read, and whether they may
        not be."""
        match node:
            case ast.BoolOp(op=op, values=[first, *rest]):
                yield from self._reads(first, there, late)
                for before, value in zip((first, *rest), rest, strict=False):
                    there = there.union(_tested(before)) if isinstance(op, ast.And) else there
                    yield from self._reads(value, there, True)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self._reads(test, there, late)
                yield from self._reads(body, there.union(_tested(test)), True)
                yield from self._reads(orelse, there, True)
            case ast.GeneratorExp(elt=item, generators=heads) | ast.ListComp(elt=item, generators=heads):
                for head in heads:
                    yield from self._reads(head.iter, there, late or head is not heads[0])
                    there = there.union(_running(head.target, head.iter))
                    for test in head.ifs:
                        yield from self._reads(test, there, True)
                        there = there.union(_tested(test))
                yield from self._reads(item, there, True)
            case ast.Lambda(body=body):
                yield from self._reads(body, there, True)
            case ast.Compare(left=left, comparators=[first, *rest]):
                for part in (left, first):
                    yield from self._reads(part, there, late)
                for part in rest:
                    yield from self._reads(part, there, True)
            case _:
                for part in ast.iter_child_nodes(node):
                    yield from self._reads(part, there, late)
                match node:
                    case ast.Subscript(value=ast.Name(id=name), slice=key, ctx=ast.Load()) if name in self.defaults:
                        if (name, ast.unparse(key)) not in there:
                            yield name, key, node, late
                    case _:
                        pass

    def _later(self, name: str, node: ast.expr) -> Exception:
        message = f"`{ast.unparse(node)}`, which adds its key to `{name}`, where it may not run"
        hint = f"look it up in a statement of its own, or write {name}.get(key, 0), which adds nothing"
        return self.source.error("unsupported", message, node, help=hint)


def _running(target: ast.expr, over: ast.expr) -> Iterator[_Pair]:
    """The dictionary whose keys a loop runs over, and the name of these."""
    key = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    match over:
        case (
            ast.Name(id=name)
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items" | "keys"))
            | ast.Call(func=ast.Name(id="sorted" | "list"), args=[ast.Name(id=name)])
        ) if isinstance(key, ast.Name):
            yield name, key.id
        case _:
            pass


def _keeps(nodes: Sequence[ast.stmt], pair: _Pair, target: ast.AST | None = None) -> bool:
    """Whether statements leave a key in a dictionary, and the names in the key what they are."""
    own = {pair[0], *names_of(ast.parse(pair[1])), *(names_of(target) if target else ())}
    for part in (n for s in nodes for n in ast.walk(s)):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in own:
                return False
            case ast.Delete() | ast.Attribute(attr="pop" | "clear" | "popitem"):
                return False
            case _:
                pass
    return True


def _tested(test: ast.expr) -> Iterator[_Pair]:
    """Dictionaries of which a condition says that they have a key."""
    match test:
        case ast.Compare(left=key, ops=[ast.In()], comparators=[ast.Name(id=name)]):
            yield name, ast.unparse(key)
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from _tested(value)
        case _:
            pass
