"""Syntax that stands for other syntax: `:=`, `match` of values, and names of tuples that change."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence
from typing import TypeVar

from msgspec import Struct

from ir.naming import fresh, unused
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of, times_assigned
from ir.script.scope import Source

_Node = TypeVar("_Node", bound=ast.AST)
_ELSEWHERE = "assign the name in a statement of its own"
_VALUES = "write `if` and `elif`; a `match` here compares with numbers and text"


class Recorded(ast.Tuple):
    """A tuple that is a record of a class."""

    kind: type


def desugared(
    node: ast.FunctionDef, source: Source, parted: Sequence[tuple[str, int, type | None]] = ()
) -> ast.FunctionDef:
    """A function whose names are assigned by statements only.

    Names that are `parted` are those of tuples of so many items, each of which gets a name of its own.

    Raises:
        ParseError: an assignment within an expression that may not run, or that is read before it; another pattern.
    """
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
        node = copy.copy(node)
        node.body = _Desugared(source, all_names(node)).list(node.body)
    for name, length in _changing_tuples(node).items():
        node = _with_parts(node, name, length, None)
    for name, length, kind in parted:  # which may be items of those
        node = _with_parts(node, name, length, kind)
    return node


def without_patterns(node: ast.FunctionDef, source: Source) -> ast.FunctionDef:
    """A function that branches by `if` alone.

    Raises:
        ParseError: another pattern.
    """
    if any(isinstance(n, ast.Match) for n in ast.walk(node)):
        node = copy.copy(node)
        node.body = _Desugared(source, all_names(node)).list(node.body)
    return node


def with_named_rows(node: ast.FunctionDef, names: Collection[str]) -> ast.FunctionDef:
    """A function that gives rows which loops run over their names in the steps: `for r in A: row = r`."""
    if not names:
        return node
    node = copy.deepcopy(node)
    taken = all_names(node)
    for loop in (n for n in ast.walk(node) if isinstance(n, ast.For)):
        if isinstance(loop.target, ast.Name) and loop.target.id in names:
            row = fresh(loop.target.id, taken)
            given = at_place(ast.Assign([loop.target], ast.Name(row, ast.Load())), loop.target)
            loop.body.insert(0, given)
            loop.target = at_place(ast.Name(row, ast.Store()), loop.target)
    return node


def _with_parts(node: ast.FunctionDef, name: str, length: int, kind: type | None) -> ast.FunctionDef:
    """A function with a name for each item of a tuple, if all that binds the tuple may bind its items."""
    if any(_binds_whole(part, name, node) for part in ast.walk(node)):
        return node
    node = copy.deepcopy(node)
    parts = _Parts(all_names(node), name, length, kind)
    body: list[ast.stmt] = [parts.visit(stmt) for stmt in node.body]
    if any(a.arg == name for a in ast.walk(node.args) if isinstance(a, ast.arg)):
        given = ast.Assign([parts.visit(ast.Name(name, ast.Store()))], ast.Name(name, ast.Load()))
        body = [at_place(given, node.body[0]), *body]
    node.body = body
    return node


def with_parts_of(
    body: list[ast.stmt], results: Collection[str], parted: Sequence[tuple[str, int, type | None]]
) -> frozenset[str]:
    """Give each item of tuples that are results a name of its own, where they stand; all names of results."""
    found, taken = set(results), {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
    for name, length, kind in parted:
        if name in found:
            parts = _Parts(taken, name, length, kind)
            body[:] = [parts.visit(stmt) for stmt in body]
            found = found - {name} | {*parts.names}
    return frozenset(found)


def _binds_whole(part: ast.AST, name: str, function: ast.FunctionDef) -> bool:
    """Whether a part of a function binds a name that may not be taken apart there, or another of that name."""
    match part:
        case ast.AugAssign(target=ast.Name(id=target)) | ast.Name(id=target, ctx=ast.Del()):
            return target == name
        case ast.Starred(value=ast.Name(id=target, ctx=ast.Store())):
            return target == name
        case ast.FunctionDef(name=target) if part is not function:
            return target == name
        case ast.comprehension(target=target):
            return name in names_of(target)
        case _:
            return False


def _is_own(node: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    """Whether a name is one of a function within another."""
    bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return name in bound or any(a.arg == name for a in ast.walk(node.args) if isinstance(a, ast.arg))


def _changing_tuples(node: ast.FunctionDef) -> dict[str, int]:
    """Names that are given tuples of one length each time, several times, and nothing else; and these lengths."""
    found: dict[str, list[int]] = {}
    stores = times_assigned(node, (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp))
    for part in (n for s in node.body for n in ast.walk(s)):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=items)) if not _starred(items):
                found.setdefault(name, []).append(len(items))
            case _:
                pass
    return {
        name: lengths[0]
        for name, lengths in found.items()
        if len(lengths) > 1 and len({*lengths}) == 1 and stores[name] == len(lengths)
    }


def _starred(items: list[ast.expr]) -> bool:
    return any(isinstance(item, ast.Starred) for item in items)


class _Parts(ast.NodeTransformer):
    """Gives each item of a tuple that changes a name of its own."""

    def __init__(self, taken: set[str], name: str, length: int, kind: type | None) -> None:
        self.name, self.kind, self.names = name, kind, [unused(f"{name}_{k}", taken) for k in range(length)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if _is_own(node, self.name) else self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node if _is_own(node, self.name) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id != self.name:
            return node
        items: list[ast.expr] = [ast.copy_location(ast.Name(n, node.ctx), node) for n in self.names]
        if self.kind is None or not isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Tuple(items, node.ctx), node)
        record = Recorded(items, node.ctx)
        record.kind = self.kind
        return ast.copy_location(record, node)


class _Desugared(Struct, frozen=True):
    source: Source
    taken: set[str]

    def list(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Statements in place of a list of them."""
        return [new for node in nodes for new in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        node = copy.copy(node)
        match node:
            case ast.FunctionDef():
                node.body = self.list(node.body)
                return [node]
            case ast.Match():
                return self._matched(node)
            case ast.While():
                node.body, node.orelse = self.list(node.body), self.list(node.orelse)
                return [self._looped(node)]
            case ast.If():
                node.body, node.orelse = self.list(node.body), self.list(node.orelse)
                return self._branched(node)
            case ast.For():
                node.body, node.orelse = self.list(node.body), self.list(node.orelse)
                before, node.iter = self._hoisted(node.iter)
            case _:
                before, node = self._hoisted(node)
        return [*before, node]

    def _branched(self, node: ast.If) -> list[ast.stmt]:
        """A branch; what stands behind `and` is assigned where that is looked at."""
        tests = _all_of(node.test)
        if len(tests) > 1 and any(map(_assigns, tests[1:])):
            inner = at_place(ast.If(_joined(tests[1:]), node.body, copy.deepcopy(node.orelse)), tests[1])
            node.test, node.body = tests[0], self._branched(inner)
        before, node.test = self._hoisted(node.test)
        return [*before, node]

    def _looped(self, node: ast.While) -> ast.stmt:
        """A loop, which is left from within where its condition assigns."""
        if not _assigns(node.test):
            return node
        if node.orelse:
            raise self._error(node.test)
        leaving = [at_place(ast.If(ast.UnaryOp(ast.Not(), t), [ast.Break()], []), t) for t in _all_of(node.test)]
        stops = [new for test in leaving for new in self._branched(test)]
        return at_place(ast.While(ast.Constant(True), [*stops, *node.body], []), node)

    def _hoisted(self, node: _Node) -> tuple[list[ast.stmt], _Node]:
        """What an expression assigns, as statements before it, and the expression that is left."""
        if not _assigns(node):
            return [], node
        hoisting = _Hoisting(self)
        left = hoisting.visit(copy.deepcopy(node))
        return hoisting.found, left

    def _error(self, node: ast.AST) -> Exception:
        named = next(n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        return self.source.error("unsupported", f"`{ast.unparse(named)}` is not supported here", named, help=_ELSEWHERE)

    def _matched(self, node: ast.Match) -> list[ast.stmt]:
        """Branches that compare with values in turn."""
        if isinstance(node.subject, ast.Tuple):
            names = [ast.Name(fresh("subject", self.taken), ast.Load()) for _ in node.subject.elts]
            given = [at_place(ast.Assign([ast.Name(n.id, ast.Store())], item), item)
                     for n, item in zip(names, node.subject.elts, strict=True)]  # fmt: skip
            node.subject = at_place(ast.Tuple([*names], ast.Load()), node.subject)
            return [*given, *self._cases(node, node.subject)]
        if isinstance(node.subject, ast.Name):
            return self._cases(node, node.subject)
        before, value = self._hoisted(node.subject)
        name = fresh("subject", self.taken)
        given = at_place(ast.Assign([ast.Name(name, ast.Store())], value), node.subject)
        node.subject = at_place(ast.Name(name, ast.Load()), node.subject)
        return [*before, given, *self._cases(node, node.subject)]

    def _cases(self, node: ast.Match, subject: ast.Name | ast.Tuple) -> list[ast.stmt]:
        """Branches on what a name is, or the names of a tuple."""
        found: list[ast.stmt] = []
        for case in reversed(node.cases):
            name, pattern = _captured(case.pattern)
            test = None if pattern is None else self._pattern(pattern, subject)
            body, caught = self.list(case.body), list[ast.stmt]()
            if name and name != getattr(subject, "id", ""):
                caught = [at_place(ast.Assign([ast.Name(name, ast.Store())], subject), case.pattern)]
                if test is not None:
                    body, caught = [*caught, *body], []
                    if case.guard is not None:
                        raise self.source.error(
                            "unsupported", "a name in a pattern with `if`", case.pattern, help=_VALUES
                        )
            if case.guard is not None:
                test = case.guard if test is None else at_place(ast.BoolOp(ast.And(), [test, case.guard]), case.guard)
            found = [*caught, *(body if test is None else [at_place(ast.If(test, body, found), case.pattern)])]
        return found

    def _pattern(self, pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
        """Whether a name, or those of a tuple, are what a pattern says; None for all that there is."""
        match pattern:
            case ast.MatchSequence(patterns=patterns) if isinstance(subject, ast.Tuple) and len(patterns) == len(
                subject.elts
            ):
                tests = [self._pattern(p, s) for p, s in zip(patterns, subject.elts, strict=True)]
                asked = [t for t in tests if t is not None]
                return at_place(_joined(asked), pattern) if asked else None
            case ast.MatchValue(value=value):
                return at_place(ast.Compare(subject, [ast.Eq()], [value]), value)
            case ast.MatchSingleton(value=value):
                return at_place(ast.Compare(subject, [ast.Is()], [ast.Constant(value)]), pattern)
            case ast.MatchOr(patterns=patterns):
                parts = [self._pattern(p, subject) for p in patterns]
                tests = [p for p in parts if p is not None]
                return None if len(tests) < len(parts) else at_place(ast.BoolOp(ast.Or(), tests), pattern)
            case ast.MatchAs(pattern=None, name=None):
                return None
            case _:
                text = f"the pattern `{ast.unparse(pattern)}`"
                raise self.source.error("unsupported", text, pattern, help=_VALUES)


def _captured(pattern: ast.pattern) -> tuple[str, ast.pattern | None]:
    """The name that a pattern gives what it matches, and the pattern itself; None for all that there is."""
    match pattern:
        case ast.MatchAs(pattern=inner, name=str() as name):
            return name, inner
        case _:
            return "", pattern


class _Hoisting(ast.NodeTransformer):
    """Takes assignments out of an expression in the order in which they run."""

    def __init__(self, within: _Desugared) -> None:
        self.within = within
        self.found: list[ast.stmt] = []
        self.read: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Load):
            self.read.add(node.id)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:  # what is called stays what it is
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        calls = any(isinstance(n, ast.Call) for n in ast.walk(node.value))
        if node.target.id in self.read or (self.read and calls):  # what was read could be another value by then
            raise self.within._error(node)  # pyright: ignore[reportPrivateUsage]
        value = self.visit(node.value)
        target = ast.copy_location(ast.Name(node.target.id, ast.Store()), node.target)
        self.found.append(at_place(ast.Assign([target], value), node))
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self._first(node, node.values[1:])

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if _assigns(node.body) or _assigns(node.orelse):
            raise self.within._error(node)  # pyright: ignore[reportPrivateUsage]
        node.test = self.visit(node.test)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self._first(node, node.comparators[1:])

    def _first(self, node: ast.expr, later: list[ast.expr]) -> ast.AST:
        if any(map(_assigns, later)):
            raise self.within._error(node)  # pyright: ignore[reportPrivateUsage]
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp)) and _assigns(node):
            raise self.within._error(node)  # pyright: ignore[reportPrivateUsage]
        return super().generic_visit(node)


def _assigns(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


def _all_of(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _joined(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else at_place(ast.BoolOp(ast.And(), tests), tests[0])
