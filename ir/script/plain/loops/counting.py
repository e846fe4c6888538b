"""`while` loops that count, as loops over a range: from Python syntax to syntax.

Such a loop ends each step with `i += c`, compares `i` in its condition, and changes it nowhere else. Whether its bound
stays is seen where the loop is written, from what its body stores to.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

_Node = TypeVar("_Node", bound=ast.AST)
HINT = (
    "begin its body with `loopsat.bound(LIMIT)`, the steps that it takes at most; a bound is found by itself where an "
    "integer of its condition comes nearer to its end in each step, as in `while i < n:`, or halves"
)
_RISES: dict[type[ast.cmpop], tuple[bool, int]] = {  # of `i op bound`: whether i rises, and what the bound is moved by
    ast.Lt: (True, 0), ast.LtE: (True, 1), ast.Gt: (False, 0), ast.GtE: (False, -1),
}  # fmt: skip
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
}  # fmt: skip


class Counting(ast.expr):
    """The numbers from `start` to `stop`, which is left out, by `step`; `text` is the `while` that counts them."""

    _fields = ("start", "stop", "step", "text")
    start: ast.expr
    stop: ast.expr
    step: int
    text: str

    if TYPE_CHECKING:  # Python's own fills in the fields

        def __init__(self, start: ast.expr, stop: ast.expr, step: int, text: str) -> None: ...


class Counted(Counting):
    """What the counter is after the loop."""


class Steps(ast.expr):
    """As many steps as a `while` takes at most."""

    _fields = ("limit",)
    limit: ast.expr

    if TYPE_CHECKING:

        def __init__(self, limit: ast.expr) -> None: ...


class _Counter(Struct, frozen=True):
    """A name, by how much it changes in each step, and which of the loop's tests compares it to what."""

    name: str
    by: int
    tests: list[ast.expr]
    which: int
    stop: ast.expr


class Ending(ast.expr):
    """As many steps as a `while` turns out to take at most: where it is written, or from what its body does.

    Each of `flags` says that the loop was left. A name that changes by a number in each step is `counter`.
    """

    _fields = ("test",)
    test: ast.expr
    text: str
    flags: tuple[str, ...] = ()
    counter: tuple[str, int] | None = None

    if TYPE_CHECKING:

        def __init__(self, test: ast.expr) -> None: ...


def ending(node: ast.While, captured: frozenset[str]) -> Ending:
    """What a `while` that states no bound runs over; functions read what is `captured` where they are called."""
    found = ast.copy_location(Ending(node.test), node.test)
    found.text = ast.unparse(node).splitlines()[0]
    found.counter = None if captured.intersection(_stored(node)) else _steady(node)
    return found


def _steady(node: ast.While) -> tuple[str, int] | None:
    """A name that the last statement of each step changes by a number, and nothing else does."""
    step = _step(node.body[-1])
    if step is None or _continues(node.body) or _stored(node).count(step[0]) != 1:
        return None
    return step


def _stored(node: ast.While) -> list[str]:
    return [n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and not _is_read(n)]


def _counter(node: ast.While) -> _Counter | None:
    step = _steady(node)
    if step is None:
        return None
    name, by = step
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
    found = next(((k, stop) for k, t in enumerate(tests) if (stop := _stop(t, name, by > 0)) is not None), None)
    stored = _stored(node)
    if found is None or any(isinstance(n, ast.Name) and n.id in stored for n in ast.walk(found[1])):
        return None
    return _Counter(name, by, tests, *found)


def counted(
    node: ast.While, fresh: Callable[[str], str], captured: frozenset[str]
) -> tuple[ast.For, list[ast.stmt]] | None:
    """A loop over a range, and what follows it, in place of a `while` that counts; None for any other."""
    node = _stepping_last(node)
    counter = _counter(node)
    if counter is None or counter.name in captured:
        return None
    name, by, stop = counter.name, counter.by, counter.stop
    place = fresh(f"{name}_")
    rest = [t for k, t in enumerate(counter.tests) if k != counter.which]
    stops: list[ast.stmt] = [at_place(ast.If(ast.UnaryOp(ast.Not(), t), [ast.Break()], []), t) for t in rest]
    renamed = _Renamed(name, place)
    body = renamed.body(copy.deepcopy([*stops, *node.body[:-1]]))
    text = ast.unparse(node).splitlines()[0]
    start = ast.copy_location(ast.Name(name, ast.Load()), node.test)
    parts = (start, stop, by, text)
    after: ast.expr = Counted(*parts)
    if renamed.leaves:  # then the counter is what it was in the step that left
        after = ast.BinOp(ast.Name(place, ast.Load()), ast.Add(), ast.Constant(by))
    last: ast.stmt = at_place(ast.Assign([ast.Name(name, ast.Store())], after), node.body[-1])
    if renamed.leaves:
        body.append(last)
    body = body or [ast.copy_location(ast.Pass(), node)]
    loop = at_place(ast.For(ast.Name(place, ast.Store()), Counting(*parts), body, []), node.test)
    return loop, [] if renamed.leaves else [last]


def _stepping_last(node: ast.While) -> ast.While:
    """The same loop with the step of its counter at the end, where nothing after it has to do with the counter."""
    for k in range(len(node.body) - 1, -1, -1):
        step, rest = _step(node.body[k]), node.body[k + 1 :]
        names = {n.id for s in rest for n in ast.walk(s) if isinstance(n, ast.Name)}
        leaves = any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for s in rest for n in ast.walk(s))
        if leaves:
            break
        if step is not None and step[0] not in names:
            moved = ast.While(node.test, [*node.body[:k], *rest, node.body[k]], node.orelse)
            if _counter(moved) is not None:
                return ast.copy_location(moved, node)
    return node


def _step(node: ast.stmt) -> tuple[str, int] | None:
    """The name that a statement changes by a number, and by how much."""
    match node:
        case ast.AugAssign(ast.Name(id=name), op, ast.Constant(value=by)):
            pass
        case ast.Assign([ast.Name(id=name)], ast.BinOp(ast.Name(id=old), op, ast.Constant(value=by))) if old == name:
            pass
        case _:
            return None
    if type(by) is not int or by <= 0 or not isinstance(op, (ast.Add, ast.Sub)):
        return None
    return name, by if isinstance(op, ast.Add) else -by


def _stop(test: ast.expr, name: str, rises: bool) -> ast.expr | None:
    """The first number that a counter does not reach, where a test compares it; None for other tests."""
    match test:
        case ast.Compare(ast.Name(id=left), [op], [bound]) if left == name:
            kind = type(op)
        case ast.Compare(bound, [op], [ast.Name(id=right)]) if right == name:
            kind = _MIRRORED.get(type(op), ast.Eq)
        case _:
            return None
    up, by = _RISES.get(kind, (not rises, 0))
    if up is not rises or any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(bound)):
        return None
    return at_place(ast.BinOp(bound, ast.Add(), ast.Constant(by)), bound) if by else bound


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _continues(nodes: list[ast.stmt]) -> bool:
    """Whether a step may be cut short, so that the counter stays what it is."""
    return any(
        isinstance(n, ast.Continue) or (isinstance(n, ast.If) and (_continues(n.body) or _continues(n.orelse)))
        for n in nodes
    )


class _Renamed(ast.NodeTransformer):
    """Reads the counter in the loop's own variable, and sets it before the loop is left."""

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place, self.leaves, self.depth = name, place, False, 0

    def body(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """A list of statements that is the body of the loop."""
        holder = ast.Module(nodes, [])
        self.visit(holder)
        return holder.body

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.place, node.ctx), node) if node.id == self.name else node

    def visit_For(self, node: ast.For) -> ast.stmt:
        return self._inner(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        return self._inner(node)

    def _inner(self, node: ast.stmt) -> ast.stmt:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Break(self, node: ast.Break) -> ast.stmt | list[ast.stmt]:
        return node if self.depth else self._left(node)

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return self._left(node)

    def _left(self, node: ast.stmt) -> list[ast.stmt]:
        self.leaves = True
        kept = ast.Assign([ast.Name(self.name, ast.Store())], ast.Name(self.place, ast.Load()))
        return [at_place(kept, node), node]


def at_place(node: _Node, place: ast.AST) -> _Node:
    """A new node where `place` stands; parts that have a place keep it."""
    for part in ast.walk(node):
        if "lineno" not in part.__dict__:
            ast.copy_location(part, place)
    return node
