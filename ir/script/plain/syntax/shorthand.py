"""Python that says in other words what the language has: `raise` as `assert`, `map` and `filter` as comprehensions,
`del` of names, and declarations. Owns syntax alone.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names

_CALLED = ("map", "filter", "list", "range", "sorted")
IsBuiltin = Callable[[str], bool]


def without_shorthand(node: ast.FunctionDef, is_builtin: IsBuiltin) -> ast.FunctionDef:
    """A function in the words of the language; `is_builtin` says whether a name of outside is Python's own."""
    if not any(map(_is_shorthand, ast.walk(node))):
        return node
    own = all_names(node) - {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    builtins = frozenset(name for name in _CALLED if name not in own and is_builtin(name))
    written = _Shorthand(builtins, all_names(node)).visit(copy.deepcopy(node))
    assert isinstance(written, ast.FunctionDef)
    return written


def raised(node: ast.Raise) -> ast.stmt:
    """The assertion that a place with a `raise` is not reached."""
    return _asserting(ast.Constant(False), node)


def _is_shorthand(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Delete() | ast.AnnAssign(target=ast.Name()):
            return True
        case ast.Call(func=ast.Name(id="map" | "filter")):
            return True
        case ast.Call(func=ast.Name(id="list" | "sorted"), args=[ast.GeneratorExp(), *_]):
            return True
        case _:
            return False


def _asserting(test: ast.expr, node: ast.Raise) -> ast.stmt:
    """An assertion that says what an exception would."""
    match node.exc:
        case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=str() as text), *_]):
            message = f"{kind}: {text}"
        case ast.Call(func=ast.Name(id=kind)) | ast.Name(id=kind):
            message = kind
        case _:
            message = ast.unparse(node)
    return at_place(ast.Assert(test, ast.Constant(message)), node)


class _Shorthand(ast.NodeTransformer):
    def __init__(self, builtins: frozenset[str], taken: set[str]) -> None:
        self.builtins, self.taken = builtins, taken

    # Statements ------------------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        """A branch; one that does nothing but raise is an assertion, after which the other is all that there is."""
        self.generic_visit(node)
        match node:
            case ast.If(test=test, body=[ast.Raise() as failed], orelse=other):
                return [_asserting(ast.copy_location(ast.UnaryOp(ast.Not(), test), test), failed), *other]
            case ast.If(test=test, body=body, orelse=[ast.Raise() as failed]):
                return [_asserting(test, failed), *body]
            case _:
                return node

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        """Names may stay; items of lists are for `pop`."""
        return at_place(ast.Pass(), node) if all(isinstance(t, ast.Name) for t in node.targets) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        return at_place(ast.Pass() if node.value is None else ast.Assign([node.target], node.value), node)

    # Calls -----------------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) and node.func.id in self.builtins else ""
        match name, node.args:
            case "map", [function, *items] if items and not node.keywords:
                return self._mapped(node, function, items)
            case "filter", [function, items]:
                return self._filtered(node, function, items)
            case "list", [ast.GeneratorExp() as items]:
                return ast.copy_location(ast.ListComp(items.elt, items.generators), node)
            case "sorted", [ast.GeneratorExp() as items, *_]:
                node.args[0] = ast.copy_location(ast.ListComp(items.elt, items.generators), items)
                return node
            case _:
                return node

    def _mapped(self, node: ast.Call, function: ast.expr, items: list[ast.expr]) -> ast.expr:
        """`map(f, x, y)`: `(f(a, b) for a, b in zip(x, y))`."""
        names = [fresh("item", self.taken) for _ in items]
        reads: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
        stores: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names]
        zipped: ast.expr = ast.Call(ast.Name("zip", ast.Load()), items, [])
        over, target = (items[0], stores[0]) if len(items) == 1 else (zipped, ast.Tuple(stores, ast.Store()))
        head = ast.comprehension(target, over, [], 0)
        return at_place(ast.GeneratorExp(ast.Call(function, reads, []), [head]), node)

    def _filtered(self, node: ast.Call, function: ast.expr, items: ast.expr) -> ast.expr:
        """`filter(f, x)`: `(a for a in x if f(a))`."""
        name = fresh("item", self.taken)
        item = ast.Name(name, ast.Load())
        none = isinstance(function, ast.Constant) and function.value is None
        test: ast.expr = item if none else ast.Call(function, [ast.Name(name, ast.Load())], [])
        head = ast.comprehension(ast.Name(name, ast.Store()), items, [test], 0)
        return at_place(ast.GeneratorExp(item, [head]), node)
