"""Dictionaries of lists or sets, such as items by what they have in common: as dictionaries of places in a list of
lists, whose first list is always empty. From Python syntax to syntax.
"""

from __future__ import annotations

import ast
import copy

from msgspec import Struct

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_in
from ir.script.plain.syntax.defaults import default_of
from ir.script.plain.syntax.filled import Filled, filled_in
from ir.script.plain.syntax.kinds import Kinds, Meaning
from ir.script.plain.syntax.walking import Statements
from ir.script.scope import Source

_HINT = "look its lists up by keys, as in {name}[k].append(v), or loop over {name}.items() or {name}.values()"


class _Group(Struct, frozen=True):
    """A dictionary of lists: the list of these, what an empty one is, and whether keys that are not there have one."""

    rows: str
    empty: str
    default: bool


def with_places(node: ast.FunctionDef, source: Source, outer: Meaning) -> ast.FunctionDef:
    """A function with places in lists of lists for what its dictionaries have.

    Raises:
        ParseError: something else is done with one.
    """
    kinds = Kinds(node, outer)
    found = _groups(node, kinds)
    if not found:
        return node
    node = copy.deepcopy(node)
    node.body = _Places(found, source, all_names(node)).statements(node.body)
    return node


def _empty(value: ast.AST) -> str:
    """What the empty one is of a list or set that is written out; nothing for other expressions."""
    match value:
        case ast.List():
            return "[]"
        case ast.Set() | ast.Call(func=ast.Name(id="set"), args=[]):
            return "set()"
        case _:
            return ""


def _groups(node: ast.FunctionDef, kinds: Kinds) -> dict[str, _Group]:
    """Dictionaries all of whose values are lists, or all are sets."""
    made: dict[str, list[ast.AST]] = {}
    defaults: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if kinds.named.get(name) == "dict":
                default = default_of(value, kinds)
                defaults |= {name} if default is not None else set()
                items = [value.value] if isinstance(value, ast.DictComp) else []
                items = [*value.values] if isinstance(value, ast.Dict) else items
                made.setdefault(name, []).extend([default] if default is not None else items)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
                made.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name)) as target):
                made.setdefault(name, []).append(target)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="setdefault"), args=[_, value]):
                made.setdefault(name, []).append(value)
            case _:
                pass
    taken = all_names(node)
    found: dict[str, _Group] = {}
    for name, values in made.items():
        (empty, *others) = {_empty(value) for value in values} or {""}
        if name in kinds.named and kinds.named[name] == "dict" and empty and not others:
            found[name] = _Group(fresh(f"{name}_rows", taken), empty, name in defaults)
    return found


class _Places(Statements, ast.NodeTransformer):
    """Writes places in lists of lists."""

    def __init__(self, found: dict[str, _Group], source: Source, taken: set[str]) -> None:
        self.found, self.source, self.taken = found, source, taken
        self.before: list[ast.stmt] = []

    # Statements ------------------------------------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.found:
                return self._started(node, name, value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value) if (
                name in self.found
            ):
                return self._given(node, name, self.visit(key), value)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name), slice=key), attr=attr), args=args
                )
            ) if name in self.found and self.found[name].default:
                there, key = self._there(node, name, self.visit(key))
                return [*there, self._method(node, name, key, attr, args)]
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(
                            func=ast.Attribute(value=ast.Name(id=name), attr="setdefault"), args=[key, default]
                        ),
                        attr=attr,
                    ),
                    args=args,
                )
            ) if name in self.found and self._is_empty(default):
                there, key = self._there(node, name, self.visit(key))
                return [*there, self._method(node, name, key, attr, args)]
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="setdefault"), args=[key, default])
            ) if name in self.found and self._is_empty(default):
                return self._there(node, name, self.visit(key))[0]
            case ast.For(iter=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items" | "values"))) if (
                name in self.found
            ):
                self._looped(node, name)
            case ast.For():
                node.iter = self.visit(node.iter)
            case ast.While() | ast.If():
                node.test = self.visit(node.test)
            case _:
                return [self.visit(node)]
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return [node]

    def _is_empty(self, value: ast.expr) -> bool:
        return ast.unparse(value) in ("[]", "set()")

    def _method(self, node: ast.stmt, name: str, key: ast.expr, attr: str, args: list[ast.expr]) -> ast.stmt:
        """Something that is done to the list of a key which is there."""
        group = self.found[name]
        (found,) = filled_in("ROWS[NATURAL(DICT[KEY])].METHOD()", node, ROWS=group.rows, DICT=name, KEY=key)
        assert isinstance(found, ast.Expr) and isinstance(found.value, ast.Call)
        assert isinstance(found.value.func, ast.Attribute)
        found.value.func.attr, found.value.args = attr, [self.visit(a) for a in args]
        return found

    def _started(self, node: ast.stmt, name: str, value: ast.expr) -> list[ast.stmt]:
        """`name = ...`: no lists but the empty one, and those that are there added."""
        group = self.found[name]
        begun = filled_in(f"ROWS = [{group.empty}]\nDICT = {{}}", node, ROWS=group.rows, DICT=name)
        match value:
            case ast.Dict(keys=keys, values=values):
                pairs = [(k, v) for k, v in zip(keys, values, strict=True) if k is not None]
                return [*begun, *(new for key, item in pairs for new in self._given(node, name, self.visit(key), item))]
            case ast.DictComp(key=key, value=item, generators=[head]):
                target = at_place(copy.deepcopy(head.target), node)
                loop = ast.For(target, self.visit(head.iter), self._given(node, name, self.visit(key), item), [])
                for test in head.ifs:
                    loop.body = [at_place(ast.If(self.visit(test), loop.body, []), test)]
                names = {n: fresh(n, self.taken) for n in names_in(target)}
                for part in ast.walk(loop):
                    if isinstance(part, ast.Name) and part.id in names:
                        part.id = names[part.id]
                return [*begun, at_place(loop, node)]
            case _:
                return begun

    def _given(self, node: ast.stmt, name: str, key: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """A key gets a new list."""
        group = self.found[name]
        text = f"ROWS.append({group.empty})\nDICT[KEY] = len(ROWS) - 1"
        found = filled_in(text, node, ROWS=group.rows, DICT=name, KEY=key)
        for item in value.elts if isinstance(value, (ast.List, ast.Set)) else []:
            add = "append" if group.empty == "[]" else "add"
            found += filled_in(f"ROWS[-1].{add}(ITEM)", node, ROWS=group.rows, ITEM=self.visit(item))
        return found

    def _there(self, node: ast.stmt, name: str, key: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
        """Statements that give a key a list if it has none, and the key, which is worked out once."""
        found: list[ast.stmt] = []
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        if not all(isinstance(p, (ast.Name, ast.Constant)) for p in parts):
            own = fresh("key", self.taken)
            found = filled_in("KEY = VALUE", node, KEY=own, VALUE=key)
            key = ast.Name(own, ast.Load())
        group = self.found[name]
        text = f"if KEY not in DICT:\n    ROWS.append({group.empty})\n    DICT[KEY] = len(ROWS) - 1"
        return [*found, *filled_in(text, node, ROWS=group.rows, DICT=name, KEY=key)], key

    def _looped(self, node: ast.For, name: str) -> None:
        """`for k, x in name.items()`: over places."""
        match node.iter, node.target:
            case ast.Call(func=ast.Attribute(attr="items")), ast.Tuple(elts=[key, ast.Name(id=item)]):
                place = fresh(f"{item}_at", self.taken)
                node.target = at_place(ast.Tuple([key, ast.Name(place, ast.Store())], ast.Store()), node.target)
            case ast.Call(func=ast.Attribute(attr="values")), ast.Name(id=item):
                place = fresh(f"{item}_at", self.taken)
                node.target = at_place(ast.Name(place, ast.Store()), node.target)
            case _:
                raise self._error(node.iter, name)
        given = filled_in("ITEM = ROWS[NATURAL(PLACE)]", node, ITEM=item, ROWS=self.found[name].rows, PLACE=place)
        node.body = [*given, *node.body]

    # Expressions -----------------------------------------------------------------------------------------------------

    def _row(self, node: ast.AST, name: str, key: ast.expr, default: bool) -> ast.expr:
        place = "DICT.get(KEY, 0)" if default else "DICT[KEY]"
        return Filled({"ROWS": self.found[name].rows, "DICT": name, "KEY": key}).expression(
            f"ROWS[NATURAL({place})]", node
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=key, ctx=ast.Load()) if name in self.found:
                return self._row(node, name, self.visit(key), self.found[name].default)
            case _:
                return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[key, default]) if (
                name in self.found and self._is_empty(default)
            ):
                return self._row(node, name, self.visit(key), True)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                name in self.found and attr not in ("keys", "pop", "clear")
            ):
                raise self._error(node, name)
            case _:
                return self.generic_visit(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node)

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> ast.AST:
        """`... for k, x in name.items()`: lists are looked up by their places."""
        fields = [field for field in ("elt", "key", "value") if hasattr(node, field)]
        for head in node.generators:
            match head.iter, head.target:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items")), ast.Tuple(
                    elts=[_, ast.Name(id=item) as target]
                ) if name in self.found:
                    pass
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="values")), ast.Name(
                    id=item
                ) as target if name in self.found:
                    pass
                case _:
                    head.iter = self.visit(head.iter)
                    continue
            target.id = fresh(f"{item}_at", self.taken)
            place = Filled({"ROWS": self.found[name].rows, "PLACE": target.id})
            row = Filled({item: place.expression("ROWS[NATURAL(PLACE)]", node)})
            for field in fields:
                setattr(node, field, row.visit(getattr(node, field)))
            for other in node.generators:
                other.ifs = [row.visit(test) for test in other.ifs]
                other.iter = row.visit(other.iter)
        for field in fields:
            setattr(node, field, self.visit(getattr(node, field)))
        for head in node.generators:
            head.ifs = [self.visit(test) for test in head.ifs]
        return node

    def _error(self, node: ast.AST, name: str) -> Exception:
        message = f"`{ast.unparse(node)}`, of a dictionary of lists, is not supported"
        return self.source.error("unsupported", message, node, help=_HINT.format(name=name))
