"""Names that are `None` until they are given a number: a truth beside each says whether it has one.

Where such a name is read as a number, Python would fail without one, so that any number will do. What is returned, or
stored to an array, must be one, which `checks=True` tests. Owns syntax alone.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, is_none
from ir.script.scope import Source

_TRUTHS = (ast.Compare, ast.BoolOp)
_NUMBER = "begin with a number, as in best = 0.0, and keep in a truth whether there is one"


def with_truths(
    node: ast.FunctionDef, source: Source, parted: Iterable[tuple[str, int, type | None]] = ()
) -> ast.FunctionDef:
    """A function in which no name is `None` first and a number, or a tuple of numbers, later.

    Names that are `parted` are those of tuples of so many items.

    Raises:
        ParseError: such a name is read where it could be `None` in Python, and nothing would fail.
    """
    names = _absent(node)
    if not names:
        return node
    node = copy.deepcopy(node)
    taken = all_names(node)
    truths = {name: fresh(f"{name}_given", taken) for name in sorted(names)}
    starts = {name: _start(name, _values(node, name)) for name in names}
    starts |= {name: _zeros(length) for name, length, _ in parted if name in names}
    return _Truths(truths, starts, source).whole(node)


def _absent(node: ast.FunctionDef) -> set[str]:
    """Names that are assigned `None`, and something else too, by assignments to names alone."""
    inner = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp)
    parts = [n for s in node.body for n in ast.walk(s)]
    closed = {n.id for p in parts if isinstance(p, inner) for n in ast.walk(p) if isinstance(n, ast.Name)}
    closed |= {n.id for p in parts if isinstance(p, ast.For) for n in ast.walk(p.target) if isinstance(n, ast.Name)}
    closed |= {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    stored = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - closed
    values = {name: _values(node, name) for name in stored}
    found = {name for name in stored if any(map(is_none, values[name]))}
    while more := {n for n in stored - found if any(isinstance(v, ast.Name) and v.id in found for v in values[n])}:
        found |= more
    return {name for name in found if any(not is_none(v) for v in values[name]) or _unpacked(parts, name)}


def _values(node: ast.AST, name: str) -> list[ast.expr]:
    """What a name is assigned by statements of its own."""
    found: list[ast.expr] = []
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                found.append(value)
            case _:
                pass
    return found


def _unpacked(parts: Iterable[ast.AST], name: str) -> bool:
    """Whether a name is assigned as a part of a tuple."""
    targets = [t for p in parts if isinstance(p, ast.Assign) for t in p.targets if isinstance(t, ast.Tuple)]
    return any(isinstance(n, ast.Name) and n.id == name for t in targets for n in ast.walk(t))


def _start(name: str, values: list[ast.expr]) -> ast.expr:
    """What stands for a number that there is not: it must be of the kind of those that come."""
    others = [v for v in values if not is_none(v)]
    sizes = {len(v.elts) if isinstance(v, ast.Tuple) else 0 for v in others}
    if others and len(sizes) == 1 and 0 not in sizes:
        return _zeros(sizes.pop())
    truths = [isinstance(v, _TRUTHS) or (isinstance(v, ast.Constant) and isinstance(v.value, bool)) for v in others]
    return ast.Constant(False if others and all(truths) else 0)


def _zeros(length: int) -> ast.expr:
    return ast.Tuple([ast.Constant(0) for _ in range(length)], ast.Load())


class _Truths(ast.NodeTransformer):
    """Writes the truths; whatever reads a name must be known to fail in Python, or to look at the truth."""

    def __init__(self, truths: dict[str, str], starts: dict[str, ast.expr], source: Source) -> None:
        self.truths, self.starts, self.source = truths, starts, source
        self.given: set[str] = set()  # names that are known to be no None where a statement stands

    def whole(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The function with its truths, all of which are there from the start."""
        body = self._list(node.body)
        first = body[0]
        node.body = [*(self._set(name, False, first) for name in self.truths), *body]
        return node

    def _list(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        return [new for node in nodes for new in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        for name in ("body", "orelse"):
            inner: list[ast.stmt] | None = getattr(node, name, None)
            if inner:
                before = self.given
                given = _given_by(node.test, name == "body") if isinstance(node, ast.If) else set[str]()
                self.given = before | {n for n in given if not any(map(is_none, _values(node, n)))}
                setattr(node, name, self._list(inner))
                self.given = before
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.truths:
                return self._assigned(node, name, value)
            case ast.Assign(targets=targets):
                stored = all(isinstance(t, ast.Subscript) for t in targets)
                parts, given = self._given(node.value) if stored else ([], [])
                node.value = self._read(node.value, safe=parts)
                names = [
                    n.id
                    for t in targets
                    for n in ast.walk(t)
                    if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
                ]
                node.targets = [self._read(t) for t in targets]
                now = (self._set(name, True, node) for name in names if name in self.truths)
                return [*(self._insist(name, node) for name in given), node, *now]
            case ast.Return(value=ast.expr() as value):
                parts, given = self._given(value)
                node.value = self._read(value, safe=parts)
                return [*(self._insist(name, node) for name in given), node]
            case ast.If() | ast.While():
                node.test = self._read(node.test, safe=[node.test])
            case ast.For():
                node.iter = self._read(node.iter)
            case ast.FunctionDef():
                pass
            case _:
                for name, value in ast.iter_fields(node):
                    if isinstance(value, ast.expr):
                        setattr(node, name, self._read(value))
        return [node]

    def _given(self, value: ast.expr) -> tuple[list[ast.expr], list[str]]:
        """The items of a value, and those that may be None: they must be given by then."""
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        return parts, [p.id for p in parts if isinstance(p, ast.Name) and p.id in self.truths]

    def _assigned(self, node: ast.Assign, name: str, value: ast.expr) -> list[ast.stmt]:
        if is_none(value):
            start = copy.deepcopy(self.starts[name])
            return [at_place(ast.Assign(node.targets, start), node), self._set(name, False, node)]
        if isinstance(value, ast.Name) and value.id in self.truths:
            truth = ast.Name(self.truths[value.id], ast.Load())
            return [node, at_place(ast.Assign([ast.Name(self.truths[name], ast.Store())], truth), node)]
        node.value = self._read(value)
        return [node, self._set(name, True, node)]

    def _set(self, name: str, value: bool, node: ast.AST) -> ast.stmt:
        return at_place(ast.Assign([ast.Name(self.truths[name], ast.Store())], ast.Constant(value)), node)

    def _insist(self, name: str, node: ast.AST) -> ast.stmt:
        truth = ast.Name(self.truths[name], ast.Load())
        return at_place(ast.Assert(truth, ast.Constant(f"{name} is None")), node)

    def _read(self, node: ast.expr, safe: Iterable[ast.AST] = ()) -> ast.expr:
        """An expression with truths in place of comparisons with `None`; parts that are `safe` may be None."""
        known = {*safe, *(p for part in ast.walk(node) for p in _failing(part))}
        for part in ast.walk(node):
            if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load) or part in known:
                continue
            if part.id in self.truths.keys() - self.given:
                message = f"`{part.id}` may be None where it is used"
                raise self.source.error("unsupported", message, part, help=_NUMBER)
        found: ast.expr = self.visit(node)
        return found

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        match node:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.Eq()], comparators=[other]) if (
                name in self.truths and is_none(other)
            ):
                return at_place(ast.UnaryOp(ast.Not(), ast.Name(self.truths[name], ast.Load())), node)
            case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot() | ast.NotEq()], comparators=[other]) if (
                name in self.truths and is_none(other)
            ):
                return at_place(ast.Name(self.truths[name], ast.Load()), node)
            case _:
                return self.generic_visit(node)


def _given_by(test: ast.expr, holds: bool) -> set[str]:
    """Names that are not None where a condition holds, or does not."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.Eq()], comparators=[other]) if is_none(other):
            return set() if holds else {name}
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot() | ast.NotEq()], comparators=[other]) if is_none(
            other
        ):
            return {name} if holds else set()
        case ast.Name(id=name):
            return {name} if holds else set()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _given_by(operand, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            return {name for value in values for name in _given_by(value, holds)}
        case _:
            return set()


def _failing(node: ast.AST) -> list[ast.AST]:
    """Parts of an expression for which `None` is an error in Python, or none but a comparison or a truth."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, ops=ops, comparators=others):
            of_none = len(others) == 1 and (is_none(others[0]) or is_none(left))
            ordered = all(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in ops)
            return [left, *others] if of_none or ordered else []
        case ast.BoolOp(op=op, values=[first, *later]):
            given = _given_by(first, isinstance(op, ast.And))
            rest = ast.BoolOp(op, later) if len(later) > 1 else None
            names = [n for v in later for n in ast.walk(v) if isinstance(n, ast.Name) and n.id in given]
            return [first, *later, *names, *(() if rest is None else _failing(rest))]
        case ast.Subscript(value=value, slice=index):
            return [value, index, *(index.elts if isinstance(index, ast.Tuple) else [])]
        case ast.Call(func=ast.Name(id=name), args=args) if hasattr(builtins, name):
            return [*args]
        case ast.Call(func=ast.Attribute(), args=args):
            return [*args]
        case ast.Attribute(value=value):
            return [value]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            arms = ((body, _given_by(test, True)), (orelse, _given_by(test, False)))
            return [
                test,
                *(n for arm, given in arms for n in ast.walk(arm) if isinstance(n, ast.Name) and n.id in given),
            ]
        case _:
            return []
