"""Python lists whose items are looked up or change: which names stand for such, so that arrays are made of them.

Lists that are only looped over, unpacked or looked up at numbers stay tuples. Owns syntax alone; what the arrays hold
is for `comprehensions`.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Collection
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of

CHANGES = "changes"  # says of a dictionary that its items do
OF_LISTS = "of_lists"  # attribute of a call of `list` whose items are lists too, as those of `tolist`


class Listed(ast.expr):
    """A list that an array is made of. Those that one name may stand for share a `group`, and the dtype of items."""

    _fields = ("value",)
    value: ast.expr
    group: str
    grows: bool = False  # whether items are appended
    counter: str = ""  # the name of the number of items, where data say how many there are
    items: int = 0  # how many numbers each item is then, if it is a tuple
    different: bool = False  # whether no two items are the same

    if TYPE_CHECKING:  # Python's own fills in the fields

        def __init__(self, value: ast.expr) -> None: ...


def with_arrays(node: ast.FunctionDef, wanted: Collection[str] = ()) -> ast.FunctionDef:
    """A function with arrays for lists that names stand for whose items change, or are looked up anywhere, and for
    those with names that are `wanted`."""
    names = _names(node)
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value) if names[name].stored:
                setattr(value, CHANGES, True)
            case _:
                pass
    grown = {
        n: n
        for n, k in names.items()
        if k.appended and not (k.otherwise or k.extended or k.shared) and _written_out(k.values)
    }
    found = {**{n: n for n in wanted}, **_groups(names), **grown}
    if not found:
        return node
    node = copy.deepcopy(node)
    within = {n for p in ast.walk(node) if isinstance(p, ast.FunctionDef) and p is not node for n in ast.walk(p)}
    for part in ast.walk(node):
        match part:
            case ast.Assign() if part in within:  # which is read by itself
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in found and not _is_name(value):
                if name in wanted and not is_list(value):
                    continue
                part.value = ast.copy_location(Listed(value), value)
                part.value.group = found[name]
                part.value.grows = name in grown
            case _:
                pass
    return node


def with_extensions(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function in which names of nothing but lists are extended by a method: `out += list(x)` is an `extend`."""
    bound = {target: stmt for stmt in ast.walk(node) for target in _bound_to_lists(stmt)}
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    others = {n.id for n in names if n not in bound} | {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    lists = {n.id for n, stmt in bound.items() if isinstance(stmt, ast.Assign) and n.id not in others}
    extending = _Extending(lists)
    if not any(map(extending.extends, ast.walk(node))):
        return node
    return cast(ast.FunctionDef, extending.visit(copy.deepcopy(node)))


def _bound_to_lists(stmt: ast.AST) -> tuple[ast.Name, ...]:
    """The names that a statement binds to lists that are written out, or adds items to."""
    match stmt:
        case ast.Assign(targets=[ast.Name() as name], value=ast.List()):
            return (name,)
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            pairs = zip(names, values, strict=True)
            return tuple(n for n, v in pairs if isinstance(n, ast.Name) and isinstance(v, ast.List))
        case ast.AugAssign(target=ast.Name() as name, op=ast.Add()):
            return (name,)
        case _:
            return ()


class _Extending(ast.NodeTransformer):
    """Writes a method for updates of lists by what is not written out."""

    def __init__(self, lists: Collection[str]) -> None:
        self.lists = lists

    def extends(self, node: ast.AST) -> bool:
        match node:
            case ast.AugAssign(target=ast.Name(id=name), value=value) if name in self.lists:
                # an array would be added element by element
                return not isinstance(value, ast.List) and is_list(value, self.lists)
            case _:
                return False

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not self.extends(node):
            return node
        assert isinstance(node.target, ast.Name)
        method = ast.Attribute(ast.Name(node.target.id, ast.Load()), "extend", ast.Load())
        return at_place(ast.Expr(ast.Call(method, [node.value], [])), node)


def with_names_of_lists(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function with another name for a parameter from where that becomes a list of its own, as in `x = list(x)`."""
    params = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    inner = [n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.Lambda)) and n is not node]
    params -= {n.id for i in inner for n in ast.walk(i) if isinstance(n, ast.Name)}
    for k, stmt in enumerate(node.body):
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in params and is_list(value):
                node = copy.deepcopy(node)
                given = node.body[k]
                assert isinstance(given, ast.Assign)
                new = fresh(name, all_names(node))
                for part in (n for s in (*given.targets, *node.body[k + 1 :]) for n in ast.walk(s)):
                    if isinstance(part, ast.Name) and part.id == name:
                        part.id = new
                params.remove(name)
            case _:
                pass
    return node


def names_of_lists(node: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """Names that stand for nothing but what they are assigned by statements of their own, each alone; and that."""
    inner = (ast.FunctionDef, ast.Lambda)
    held = {n.id for p in ast.walk(node) if isinstance(p, inner) and p is not node for n in ast.walk(p)
            if isinstance(n, ast.Name)}  # fmt: skip
    names = {n: k for n, k in _names(node).items() if not k.otherwise and n not in held}
    return {n: k.values for n, k in names.items() if k.values}


class _Name(Struct):
    values: list[ast.expr] = field(default_factory=lambda: list[ast.expr]())
    otherwise: bool = False  # whether it is bound by more than assignments of its own
    stored: bool = False  # whether items change
    appended: bool = False
    extended: bool = False  # whether items are appended by `+=`
    shared: bool = False  # whether another name stands for it too
    used: bool = False  # whether items are looked up at places that are no numbers, or in another function


def _written_out(values: list[ast.expr]) -> bool:
    """Whether the one value is a list of some items, or of none."""
    return len(values) == 1 and isinstance(values[0], ast.List)


def _groups(names: dict[str, _Name]) -> dict[str, str]:
    """Names of lists that become arrays, each with one of those that it shares its lists with."""
    linked: dict[str, set[str]] = {name: {name} for name in names}
    for name, known in names.items():
        for other in {o for value in known.values for o in _held(value, names)}:
            if other in linked and linked[other] is not linked[name]:
                linked[name] |= linked[other]
                for member in linked[name]:
                    linked[member] = linked[name]
    lists = {name for name, k in names.items() if not (k.otherwise or k.extended) and k.values}
    while fewer := {n for n in lists if not all(is_list(v, lists) for v in names[n].values) or linked[n] - lists}:
        lists -= fewer
    return {name: min(linked[name]) for name in lists if _is_array([names[n] for n in linked[name]])}


def _is_array(names: list[_Name]) -> bool:
    """Whether names of the same lists need an array; what is written out item by item may be looked up without."""
    values = [v for n in names for v in n.values]
    made = any(isinstance(v, ast.ListComp) for v in values) or any(n.stored for n in names)
    return made or (any(n.used for n in names) and not all(isinstance(v, (ast.List, ast.Name)) for v in values))


def _names(node: ast.FunctionDef) -> dict[str, _Name]:
    names: dict[str, _Name] = {}
    own: set[ast.expr] = set()  # targets of assignments to one name
    for part in (n for s in node.body for n in ast.walk(s)):
        match part:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                names.setdefault(name, _Name()).values.append(value)
                if isinstance(value, ast.Name):
                    names.setdefault(value.id, _Name()).shared = True
                own.add(target)
            case ast.Subscript(value=owner, slice=index, ctx=context):
                while isinstance(owner, ast.Subscript):
                    owner = owner.value
                if isinstance(owner, ast.Name):
                    known = names.setdefault(owner.id, _Name())
                    known.stored |= not isinstance(context, ast.Load)
                    known.used |= not _is_number(index)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")):
                names.setdefault(name, _Name()).appended = True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="sort" | "reverse")):
                names.setdefault(name, _Name()).stored = True
            case ast.Call(func=ast.Name(id=function), args=args) if not hasattr(builtins, function):
                for arg in (a for a in args if isinstance(a, ast.Name)):
                    names.setdefault(arg.id, _Name()).used = True
            case ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add(), value=ast.List()):
                names.setdefault(name, _Name()).extended = True
                own.add(target)
            case ast.Name(id=name, ctx=ast.Store()) if part not in own:
                names.setdefault(name, _Name()).otherwise = True
            case ast.FunctionDef(name=name):
                names.setdefault(name, _Name()).otherwise = True
            case _:
                pass
    for arg in (a for a in ast.walk(node.args) if isinstance(a, ast.arg)):
        names.setdefault(arg.arg, _Name()).otherwise = True
    return names


def _held(value: ast.expr, names: dict[str, _Name]) -> set[str]:
    """Names of which a value holds the same lists: the list itself, or lists in it."""

    def of_lists(name: str) -> bool:
        return name in names and any(depth(v) > 1 for v in names[name].values)

    match value:
        case ast.Name(id=name):
            return {name}
        case ast.ListComp(elt=ast.Name() | ast.Subscript() as item) if not copies(item):
            parts = names_of(value)
            own = isinstance(item, ast.Name) and item.id in names and any(map(is_list, names[item.id].values))
            return {n for n in parts if of_lists(n)} | ({item.id} if own and isinstance(item, ast.Name) else set())
        case _ if copies(value):
            return {n.id for n in ast.walk(value) if isinstance(n, ast.Name) and of_lists(n.id)}
        case _:
            return set()


def copies(value: ast.expr) -> bool:
    """Whether an expression is a list of the same items, or of some of them."""
    match value:
        case ast.Subscript(slice=ast.Slice()) | ast.Call(func=ast.Attribute(attr="copy"), args=[]):
            return True
        case ast.Call(func=ast.Name(id="list")):
            return not getattr(value, OF_LISTS, False)
        case _:
            return False


def _is_name(value: ast.expr) -> bool:
    return isinstance(value, ast.Name)


def _is_number(index: ast.expr) -> bool:
    inner = index.operand if isinstance(index, ast.UnaryOp) else index
    return isinstance(inner, (ast.Constant, ast.Slice))


def depth(value: ast.expr) -> int:
    """How many dimensions of an array are those of lists in lists."""
    match value:
        case ast.ListComp(elt=item) | ast.List(elts=[item, *_]):
            return 1 + depth(item)
        case ast.BinOp(op=ast.Mult() | ast.Add(), left=left, right=right):
            return max(depth(left), depth(right))
        case ast.Call(func=ast.Name(id="list")):
            return 1
        case _:
            return 0


def is_list(value: ast.expr, lists: Collection[str] = ()) -> bool:
    """Whether an expression is a list, where names of `lists` stand for lists."""
    match value:
        case ast.ListComp() | ast.Call(func=ast.Name(id="list"), args=[_], keywords=[]):
            return True
        case ast.List(elts=items):
            return bool(items)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return any(isinstance(side, ast.List) and bool(side.elts) for side in (left, right))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return is_list(left, lists) and is_list(right, lists)
        case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[]):
            return name in lists
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()):
            return name in lists
        case _:
            return False
