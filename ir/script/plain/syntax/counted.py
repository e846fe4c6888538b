"""Which lists of a function must be counted, since data say how long they are. Owns syntax alone."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence

from msgspec import Struct

from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import names_of
from ir.script.plain.syntax.lists import is_list, names_of_lists

CHANGING = ("append", "extend", "insert", "pop", "remove", "clear")


class Lists(Struct, frozen=True):
    """Names of lists that are counted, with how many numbers an item is, and of such as are made of several."""

    counted: set[str]
    joined: set[str]
    items: dict[str, int]
    copies: set[str]  # names of those that are counted which only ever stand for others


def selects(node: ast.ListComp) -> bool:
    """Whether data, or a loop around, say how many items of a loop are in a list."""
    around: set[str] = set()
    for part in node.generators:
        ranges = (
            isinstance(part.iter, ast.Call) and isinstance(part.iter.func, ast.Name) and part.iter.func.id == "range"
        )
        if part.ifs or (ranges and around & names_of(part.iter)):
            return True
        around |= names_of(part.target)
    return False


def lists_of(node: ast.FunctionDef, wanted: Collection[str], grown: Collection[str]) -> Lists:
    """The lists of a function; those are counted that are `wanted`, or get shorter or start anew, and their aliases.

    Lists that are `grown`, or extended by a method, have several items at once appended.
    """
    names = _lists(names_of_lists(node))
    counted = {n for group in _groups(names) if group & {*wanted} or _changes(node, group, names) for n in group}
    joined = {n for n in names if any(isinstance(v, ast.BinOp) and isinstance(v.op, ast.Add) for v in names[n])}
    joined = {n for n in joined if n in counted or any(_grows(part, n) for part in ast.walk(node))}
    extended = {n for n in names if any(method(part, n) == "extend" for part in ast.walk(node))}
    joined |= {n for n in extended.union(grown) if n in names and all(isinstance(v, ast.List) for v in names[n])}
    items = {name: _items_of(node, name) for name in counted}
    for _ in counted:  # of copies, and of lists that are chosen from others
        for name in counted:
            items[name] = max(items.get(other, 0) for other in (name, *map(_source, names[name])))
    return Lists(counted, joined, items, {n for n in counted if all(isinstance(v, ast.Name) for v in names[n])})


def apart(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function in which collections are given to one name at a time: `a, b = [], {}` is two assignments."""

    def is_several(part: ast.AST) -> bool:
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                known = [n.id for n in names if isinstance(n, ast.Name)]
                if not len(known) == len(names) == len(values):
                    return False
                read = [names_of(v) for v in values]
                apart = all(read[k].isdisjoint(known[:k]) for k in range(len(values)))
                return apart and any(map(_is_collection, values))
            case _:
                return False

    if not any(map(is_several, ast.walk(node))):
        return node
    node = copy.deepcopy(node)
    for part in ast.walk(node):
        for field in ("body", "orelse"):
            nodes = getattr(part, field, None)
            if isinstance(nodes, list):
                found: list[ast.stmt] = []
                for stmt in nodes:  # pyright: ignore[reportUnknownVariableType]
                    match stmt:
                        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if is_several(
                            stmt
                        ):
                            pairs = zip(names, values, strict=True)
                            found += [at_place(ast.Assign([name], value), stmt) for name, value in pairs]
                        case _:
                            found.append(stmt)  # pyright: ignore[reportUnknownArgumentType]
                setattr(part, field, found)
    return node


def _is_collection(value: ast.expr) -> bool:
    """Whether a value is a list, tuple, dictionary or set as it is made, or None, which may stand for one."""
    match value:
        case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.Constant(value=None):
            return True
        case ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "deque" | "defaultdict" | "Counter" | "sorted")):
            return True
        case _:
            return is_list(value)


def _grows(node: ast.AST, name: str) -> bool:
    """Whether a node changes how long a list is, so that it is not made by its operators alone."""
    return bool(method(node, name)) or (isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == name)


def _groups(names: dict[str, list[ast.expr]]) -> list[set[str]]:
    """Names that may stand for the same lists."""
    groups = [{n} for n in names]
    for name, values in names.items():
        for other in _aliases(values):
            one, two = (next(g for g in groups if n in g) for n in (name, other))
            if one is not two:
                groups.remove(two)
                one |= two
    return groups


def _changes(node: ast.FunctionDef, group: Collection[str], names: dict[str, list[ast.expr]]) -> bool:
    """Whether lists get shorter, start anew, are asked whether they have any items, or keep some of those of others."""
    methods = {attr for n in ast.walk(node) for name in group if (attr := method(n, name))}
    tests = [t for n in ast.walk(node) for t in _tests(n)]
    asked = any(isinstance(t, ast.Name) and t.id in group for t in tests)
    values = [v for name in group for v in names[name]]
    made = len(values) > len(group) or any(not isinstance(v, ast.List) for v in values)
    some = any(isinstance(v, ast.ListComp) and selects(v) for v in values)
    return (bool(methods) and (asked or made)) or some or bool(methods - {"append", "extend"})


def _aliases(values: Sequence[ast.expr]) -> list[str]:
    """Names of lists that are assigned as they are."""
    return [v.id for v in values if isinstance(v, ast.Name)]


def _source(value: ast.expr) -> str:
    """The list whose items another one has, all or some of them."""
    match value:
        case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy")):
            return name
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()):
            return name
        case ast.ListComp(elt=ast.Name(id=item), generators=[ast.comprehension(target=ast.Name(id=part))]):
            over = value.generators[0].iter
            return over.id if item == part and isinstance(over, ast.Name) else ""
        case _:
            return ""


def _lists(names: dict[str, list[ast.expr]]) -> dict[str, list[ast.expr]]:
    """Names that stand for lists alone, and for no list that a name stands for which is something else too."""
    made = {n: sum(not isinstance(v, ast.Name) for v in values) for n, values in names.items()}
    anew = {n for n in names if made[n] > 1}
    lists = {n for n, values in names.items() if made[n] or anew.issuperset(_aliases(values))}
    while True:
        held = {o for n, values in names.items() if n not in lists for o in _aliases(values)}
        fewer = {n for n in lists if n in held or not all(is_filled(v, lists) for v in names[n])}
        if not fewer:
            return {n: names[n] for n in lists}
        lists -= fewer


def is_filled(value: ast.expr, lists: Collection[str] = ()) -> bool:
    """Whether a list can be made by appending one item after the other; `lists` are names of such."""
    match value:
        case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[]):
            return name in lists
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()):
            return name in lists
        case ast.List(elts=items):
            return not any(isinstance(i, ast.Starred) for i in items)
        case ast.ListComp() | ast.Call(func=ast.Name(id="list"), args=[_], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="sorted")):
            return True
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return is_filled(left, lists) and is_filled(right, lists)
        case _:
            return False


def method(node: ast.AST, name: str) -> str:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=attr)) if owner == name and attr in CHANGING:
            return attr
        case _:
            return ""


def _tests(node: ast.AST) -> list[ast.expr]:
    """Parts of a node that are asked for a truth."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return [test]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.BoolOp(values=values):
            return values
        case _:
            return []


def _items_of(node: ast.FunctionDef, name: str) -> int:
    """How many numbers an item is, if it is a tuple that is written out; 0 if it is a number or not known."""
    items: list[ast.expr] = []
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.List(elts=elts)) if target == name:
                items += elts
            case ast.Call(args=args) if method(part, name) in ("append", "insert"):
                items += args[-1:]
            case _:
                pass
    return max((len(i.elts) for i in items if isinstance(i, (ast.Tuple, ast.List))), default=0)
