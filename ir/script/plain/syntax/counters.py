"""Python lists of which data say how long they are: each with a name of its own for the number of its items.

Appending counts one up and popping one down, so that a list is the first items of an array. Owns syntax alone; how
large the array must be is for `growing`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names
from ir.script.plain.syntax.counted import CHANGING, is_filled, lists_of, method
from ir.script.plain.syntax.filled import Put
from ir.script.plain.syntax.lists import Listed
from ir.script.scope import Source

_ALONE = "pop in a statement of its own, before this one, as in x = {name}.pop()"


class Sized(ast.expr):
    """A list, as long as a counter says."""

    _fields = ("value", "size")
    value: ast.Name
    size: ast.expr

    if TYPE_CHECKING:  # Python's own fills in the fields

        def __init__(self, value: ast.Name, size: ast.expr) -> None: ...


class Appended(ast.expr):
    """An item that is stored at the end of a list."""

    _fields = ("value", "item")
    value: Sized
    item: ast.expr
    last: bool = False  # whether the loop around it ends then

    if TYPE_CHECKING:

        def __init__(self, value: Sized, item: ast.expr) -> None: ...


class Same(ast.expr):
    """The items of a list that a name stands for, which another name stands for from then on."""

    _fields = ("value", "other")
    value: Sized
    other: Sized
    alone: bool = False  # whether the other name is of no use from then on

    if TYPE_CHECKING:

        def __init__(self, value: Sized, other: Sized) -> None: ...


class Changed(ast.expr):
    """Says that a list gets other items, also for other names that stand for it."""

    _fields = ("value",)
    value: Sized

    if TYPE_CHECKING:

        def __init__(self, value: Sized) -> None: ...


class Popped(ast.expr):
    """The item of a list that is taken out of it: the last one, or that at an `index`."""

    _fields = ("value", "index")
    value: Sized
    index: ast.expr | None

    if TYPE_CHECKING:

        def __init__(self, value: Sized, index: ast.expr | None) -> None: ...


def with_counters(
    node: ast.FunctionDef,
    source: Source,
    wanted: Collection[str],
    grown: Collection[str],
    different: Collection[str] = (),
) -> ast.FunctionDef:
    """A function that counts the items of its lists: of those that are `wanted`, or that get shorter or start anew.

    Lists that are `grown` by several items at once have them appended one by one. No two items of a list that is
    `different` are the same.

    Raises:
        ParseError: an item is popped where that may not happen, or is looked at before.
    """
    lists = lists_of(node, wanted, grown)
    if not lists.counted | lists.joined:
        return node
    node = copy.deepcopy(node)
    taken = all_names(node)
    sizes = {name: fresh(f"{name}_size", taken) for name in sorted(lists.counted)}
    counters = _Counters(sizes, lists.items, lists.joined - lists.counted, source, lambda name: fresh(name, taken))
    counters.different = different
    empty = [at_place(ast.Assign([ast.Name(n, ast.Store())], ast.List([], ast.Load())), node) for n in lists.copies]
    node.body = counters.statements([*sorted(empty, key=ast.unparse), *node.body])
    return node


def _alters(node: ast.AST, name: str) -> bool:
    """Whether a node gives a list, or its name, other items."""
    match node:
        case Appended(value=value) | Popped(value=value) | Changed(value=value) | Same(value=value):
            return value.value.id == name
        case ast.Assign(targets=[ast.Name(id=target)]) | ast.AugAssign(target=ast.Name(id=target)):
            return target == name
        case _:
            return bool(method(node, name))


class _Counters:
    """Writes the counters of lists."""

    def __init__(
        self,
        sizes: dict[str, str],
        items: dict[str, int],
        joined: Collection[str],
        source: Source,
        fresh: Callable[[str], str],
    ) -> None:
        self.sizes, self.items, self.joined, self.source, self.fresh = sizes, items, joined, source, fresh
        self.different: Collection[str] = ()

    def statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Statements in place of a list of them."""
        found: list[ast.stmt] = []
        for k, node in enumerate(nodes):
            new = self._statement(node)
            if any(isinstance(n, (ast.Break, ast.Return)) for n in nodes[k + 1 :]):  # which end the loop
                for part in new:
                    if isinstance(part, ast.Expr) and isinstance(part.value, Appended):
                        part.value.last = True
            found += new
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                return [node]
            case ast.For(iter=ast.Name(id=name), target=target) if name in self.sizes and self._mutates(node, name):
                return self.statements(self._in_turn(node, name, target))
            case ast.If(test=ast.BoolOp(values=[_, *later])) if any(self._first_pop(v) for v in later):
                return self.statements(self._stepwise(node))
            case ast.For() | ast.While() | ast.If():
                node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
                before = self._of_head(node)
                return [*before, node]
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.sizes:
                return self._started(node, name, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.joined:
                node.value = ast.copy_location(ast.List([], ast.Load()), node)
                return [node, *self.statements(self._filled(name, value, node))]
            case ast.AugAssign(target=ast.Name(id=name), value=value) if name in {*self.sizes, *self.joined}:
                return self.statements(self._filled(name, value, node))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[items])) if (
                name in self.joined
            ):
                return self.statements(self._filled(name, items, node))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args)) if (
                name in self.sizes and attr in CHANGING
            ):
                return self._called(node, name, attr, args)
            case ast.Assign(targets=[target], value=ast.Call(args=args) as call) if (
                name := self._popped(call)
            ) is not None and _only_names(target):
                return self._taken(node, name, args, target)
            case _:
                before = self._hoisted(node)
                return [*before, self._read(node)]

    def _stepwise(self, node: ast.If) -> list[ast.stmt]:
        """A branch on `a or b`, or `a and b`, that looks at `b` in a branch of its own."""
        assert isinstance(node.test, ast.BoolOp)
        first, *later = node.test.values
        either = isinstance(node.test.op, ast.Or)
        holds = self.fresh("holds")

        def found(value: bool) -> ast.stmt:
            return at_place(ast.Assign([ast.Name(holds, ast.Store())], ast.Constant(value)), node.test)

        rest = later[0] if len(later) == 1 else at_place(ast.BoolOp(node.test.op, later), later[0])
        then = at_place(ast.If(rest, [ast.Pass()] if either else [found(True)], [found(False)] if either else []), rest)
        test: ast.expr = ast.UnaryOp(ast.Not(), first) if either else first
        node.test = at_place(ast.Name(holds, ast.Load()), node.test)
        return [found(either), at_place(ast.If(test, [then], []), first), node]

    def _of_head(self, node: ast.For | ast.While | ast.If) -> list[ast.stmt]:
        head: ast.expr = node.iter if isinstance(node, ast.For) else node.test
        if isinstance(node, ast.While) and (pop := self._first_pop(head)) is not None:
            raise self._refused(pop)
        holder = at_place(ast.Expr(head), head)
        before = self._hoisted(holder)
        if isinstance(node, ast.For):
            node.iter = self._reading(holder.value)
            self._check_steady(node)
        else:
            node.test = self._truth(self._reading(holder.value))
        return before

    def _check_steady(self, node: ast.For) -> None:
        """Refuse a loop over a part of a list, or over it and others, whose steps change the list."""
        items = {
            n.value for n in ast.walk(node.iter) if isinstance(n, ast.Subscript) and not isinstance(n.slice, ast.Slice)
        }
        changed = {
            n.value.value.id for s in node.body for n in ast.walk(s) if isinstance(n, (Appended, Popped, Changed, Same))
        }
        for part in ast.walk(node.iter):
            if isinstance(part, Sized) and part not in items and part.value.id in changed:
                name = part.value.id
                plain = isinstance(node.iter, Sized)
                if plain and not self._mutates(node, name):
                    continue
                hint = f"loop over the places, as in `for k in range(len({name}))`, or over the list itself"
                raise self.source.error("unsupported", f"`{name}` changes in a loop over it", part, help=hint)

    # Statements of lists ---------------------------------------------------------------------------------------------

    def _started(self, node: ast.stmt, name: str, value: ast.expr) -> list[ast.stmt]:
        """`name = [...]`: no items, and those that are there appended."""
        found: list[ast.stmt] = []
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)):
            if not isinstance(value, ast.List):  # the new list has a name of its own first
                new = self.fresh(f"{name}_new")
                self.sizes[new], self.items[new] = self.fresh(f"{new}_size"), self.items[name]
                given = at_place(ast.Assign([ast.Name(name, ast.Store())], ast.Name(new, ast.Load())), node)
                named = self._started(given, name, given.value)
                for part in named:
                    if isinstance(part, ast.Expr) and isinstance(part.value, Same):
                        part.value.alone = True
                return [*self._started(node, new, value), *named]
            kept = [self.fresh(f"{name}_item") for _ in value.elts]
            for new, item in zip(kept, value.elts, strict=True):
                found += self._statement(at_place(ast.Assign([ast.Name(new, ast.Store())], item), item))
            value = ast.List([ast.Name(new, ast.Load()) for new in kept], ast.Load())
        if isinstance(value, ast.Name):
            found.append(at_place(ast.Expr(Same(self.sized(name), self.sized(value.id))), node))
            size = ast.Name(self.sizes[value.id], ast.Load())
            found.append(at_place(ast.Assign([ast.Name(self.sizes[name], ast.Store())], size), node))
            return found
        empty = ast.copy_location(Listed(ast.List([], ast.Load())), node)
        empty.group, empty.grows, empty.different = name, True, name in self.different
        empty.counter, empty.items = self.sizes[name], self.items[name]
        found.append(at_place(ast.Assign([ast.Name(name, ast.Store())], empty), node))
        found.append(at_place(ast.Assign([ast.Name(self.sizes[name], ast.Store())], ast.Constant(0)), node))
        return found + self.statements(self._filled(name, value, node))

    def _filled(self, name: str, value: ast.expr, node: ast.AST) -> list[ast.stmt]:
        """Statements that append what is in a list, or in anything that a loop runs over."""

        def append(item: ast.expr) -> ast.stmt:
            method = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
            return at_place(ast.Expr(ast.Call(method, [item], [])), node)

        match value:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [append(item) for item in items]
            case ast.ListComp(elt=item, generators=parts):
                names = {n.id for g in parts for n in ast.walk(g.target) if isinstance(n, ast.Name)}
                own = Renamed({n: self.fresh(n) for n in sorted(names)})
                inner: list[ast.stmt] = [append(own.visit(item))]
                for k, part in reversed([*enumerate(parts)]):
                    for test in reversed(part.ifs):
                        inner = [at_place(ast.If(own.visit(test), inner, []), test)]
                    over = part.iter if k == 0 else own.visit(part.iter)  # the first is worked out outside
                    inner = [at_place(ast.For(own.visit(part.target), over, inner, []), part.iter)]
                return inner
            case ast.BinOp(op=ast.Add(), left=left, right=right) if is_filled(value, self.sizes):
                return [*self._filled(name, left, node), *self._filled(name, right, node)]
            case ast.BinOp(op=ast.Mult(), left=left, right=right) if is_filled(value, self.sizes):
                items, times = (left, right) if isinstance(left, ast.List) else (right, left)
                over: ast.expr = ast.Call(ast.Name("range", ast.Load()), [times], [])
                body = self._filled(name, items, node)
                return [at_place(ast.For(ast.Name(self.fresh("_"), ast.Store()), over, body or [ast.Pass()], []), node)]
            case ast.Call(func=ast.Name(id="list"), args=[over], keywords=[]):
                return self._filled(name, over, node)
            case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="copy")) if owner.id in self.sizes:
                return self._filled(name, owner, node)
            case _:
                item = self.fresh(f"{name}_item")
                body = [append(ast.Name(item, ast.Load()))]
                return [at_place(ast.For(ast.Name(item, ast.Store()), value, body, []), node)]

    def _called(self, node: ast.Expr, name: str, attr: str, args: list[ast.expr]) -> list[ast.stmt]:
        match attr, args:
            case "append", [item]:
                return self._appended(node, name, item)
            case "extend", [items]:
                return self.statements(self._filled(name, items, node))
            case "clear", []:
                empty = ast.Assign([ast.Name(self.sizes[name], ast.Store())], ast.Constant(0))
                return [at_place(ast.Expr(Changed(self.sized(name))), node), at_place(empty, node)]
            case "insert", [at, item]:
                return self._inserted(node, name, at, item)
            case "remove", [item]:
                at = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "index", ast.Load()), [item], [])
                return self._taken(node, name, [at_place(at, node)], ast.Name(self.fresh(f"{name}_item"), ast.Store()))
            case "pop", _:
                return self._taken(node, name, args, ast.Name(self.fresh(f"{name}_item"), ast.Store()))
            case _:
                return [node]  # which is refused where it is read

    def _appended(self, node: ast.stmt, name: str, item: ast.expr) -> list[ast.stmt]:
        holder = at_place(ast.Expr(item), item)
        before = self._hoisted(holder)
        append = Appended(self.sized(name), self._reading(holder.value))
        return [*before, at_place(ast.Expr(append), node), self._by(name, ast.Add(), node)]

    def _inserted(self, node: ast.stmt, name: str, at: ast.expr, item: ast.expr) -> list[ast.stmt]:
        """`name.insert(at, item)`: one more item at the end, and those from a place on one place further."""
        names = {key: self.fresh(f"{name}_{key}") for key in ("at", "item", "k")} | {"list": name}
        text = (
            "{at} = 0\n{item} = 0\nif {at} < 0:\n    {at} = max({at} + len({list}), 0)\n{at} = min({at}, len({list}))\n"
            "{list}.append({item})\nfor {k} in range(len({list}) - 1, {at}, -1):\n    {list}[{k}] = {list}[{k} - 1]\n"
            "{list}[{at}] = {item}"
        )
        parts = ast.parse(text.format(**names)).body
        for part, value in zip(parts, (at, item), strict=False):
            assert isinstance(part, ast.Assign)
            part.value = value
        for part in (n for p in parts for n in ast.walk(p)):
            for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                part.__dict__.pop(field, None)
        return self.statements([at_place(part, node) for part in parts])

    def _taken(self, node: ast.stmt, name: str, args: list[ast.expr], target: ast.expr) -> list[ast.stmt]:
        index = None if not args or _is_last(args[0]) else self._reading(args[0])
        value = Popped(self.sized(name), index)
        return [at_place(ast.Assign([target], value), node), self._by(name, ast.Sub(), node)]

    def _by(self, name: str, op: ast.operator, node: ast.stmt) -> ast.stmt:
        return at_place(ast.AugAssign(ast.Name(self.sizes[name], ast.Store()), op, ast.Constant(1)), node)

    def _in_turn(self, node: ast.For, name: str, target: ast.expr) -> list[ast.stmt]:
        """`for x in name` whose steps change the list: Python looks at how long it is before each of them."""
        at = self.fresh(f"{name}_at")
        item = ast.Subscript(ast.Name(name, ast.Load()), ast.Name(at, ast.Load()), ast.Load())
        length = ast.Call(ast.Name("len", ast.Load()), [ast.Name(name, ast.Load())], [])
        on = ast.Compare(ast.Name(at, ast.Load()), [ast.Lt()], [length])
        step = ast.AugAssign(ast.Name(at, ast.Store()), ast.Add(), ast.Constant(1))
        loop = ast.While(on, [ast.Assign([target], item), step, *node.body], node.orelse)
        return [at_place(n, node) for n in (ast.Assign([ast.Name(at, ast.Store())], ast.Constant(0)), loop)]

    def _mutates(self, node: ast.For, name: str) -> bool:
        """Whether a loop goes on after its body changed a list."""

        def goes_on(nodes: list[ast.stmt]) -> bool:
            if any(isinstance(n, (ast.Break, ast.Return)) for n in nodes):
                return False
            parts = [getattr(n, field, []) for n in nodes for field in ("body", "orelse")]
            plain = [n for n in nodes if not hasattr(n, "body")]
            return any(map(goes_on, parts)) or any(_alters(n, name) for s in plain for n in ast.walk(s))

        return goes_on(node.body)

    # Expressions -----------------------------------------------------------------------------------------------------

    def sized(self, name: str) -> Sized:
        """A list with its counter."""
        return Sized(ast.Name(name, ast.Load()), ast.Name(self.sizes[name], ast.Load()))

    def _popped(self, node: ast.AST) -> str | None:
        """The list that a call pops an item of."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), keywords=[]) if name in self.sizes:
                return name
            case _:
                return None

    def _first_pop(self, node: ast.AST) -> ast.AST | None:
        return next((n for n in ast.walk(node) if self._popped(n) is not None), None)

    def _refused(self, node: ast.AST) -> Exception:
        text, name = ast.unparse(node), self._popped(node)
        return self.source.error("unsupported", f"`{text}` is not supported here", node, help=_ALONE.format(name=name))

    def _hoisted(self, node: ast.stmt) -> list[ast.stmt]:
        """Items that a statement pops, taken out before it in the order in which it does; they stand in it by name."""
        pops = [n for n in _in_order(node) if self._popped(n) is not None]
        if not pops:
            return []
        names = {self._popped(n) for n in pops}
        inside = {owner for n in pops for owner in ast.walk(n)}
        conditional = late_nodes(node)
        for other in ast.walk(node):
            if isinstance(other, ast.Name) and other.id in names and other not in inside:
                raise self._refused(next(p for p in pops if self._popped(p) == other.id))
        found: list[ast.stmt] = []
        for pop in pops:
            name = self._popped(pop)
            if name is None or pop in conditional or self._first_pop_below(pop):
                raise self._refused(pop)
            item = self.fresh(f"{name}_item")
            args = pop.args if isinstance(pop, ast.Call) else []
            found += self._taken(at_place(ast.Pass(), pop), name, args, ast.Name(item, ast.Store()))
            Put(pop, at_place(ast.Name(item, ast.Load()), pop)).visit(node)
        return found

    def _first_pop_below(self, node: ast.AST) -> bool:
        return any(self._first_pop(part) is not None for part in ast.iter_child_nodes(node))

    def _read(self, node: ast.stmt) -> ast.stmt:
        found: ast.stmt = _Lengths(self).visit(node)
        return found

    def _reading(self, node: ast.expr) -> ast.expr:
        found: ast.expr = _Lengths(self).visit(node)
        return found

    def _truth(self, node: ast.expr) -> ast.expr:
        return _Lengths(self).truth(node)


class _Lengths(ast.NodeTransformer):
    """Reads the counter where a list is asked how long it is, or whether there is anything in it."""

    def __init__(self, counters: _Counters) -> None:
        self.sizes, self.sized = counters.sizes, counters.sized

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return at_place(self.sized(node.id), node) if node.id in self.sizes else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.sizes:
                return ast.copy_location(ast.Name(self.sizes[name], ast.Load()), node)
            case _:
                return self.generic_visit(node)

    def visit_Sized(self, node: Sized) -> ast.AST:
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self.visit(node.operand)
        node.operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else node.operand
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = self.truth(node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = self.truth(node.test)
        return node

    def truth(self, node: ast.expr) -> ast.expr:
        """A condition that asks no list."""
        match node:
            case Sized(size=size):
                return at_place(ast.Compare(size, [ast.Gt()], [ast.Constant(0)]), node)
            case ast.BoolOp(values=values):
                node.values = [self.truth(v) for v in values]
                return node
            case _:
                return node


class Renamed(ast.NodeTransformer):
    """Gives names others."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes as Python evaluates them: what is assigned before the places that it is stored to."""
    parts: Sequence[ast.AST] = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.Assign):
        parts = [node.value, *node.targets]
    for part in parts:
        yield from _in_order(part)
    yield node


def late_nodes(*nodes: ast.AST) -> set[ast.AST]:
    """All that is in parts of some syntax which are evaluated under a condition, or several times."""
    return {n for node in nodes for part in ast.walk(node) for late in late_parts(part) for n in ast.walk(late)}


def late_parts(node: ast.AST) -> list[ast.AST]:
    """Parts that are evaluated under a condition, or several times."""
    match node:
        case ast.BoolOp(values=[_, *later]) | ast.Compare(comparators=[_, *later]):
            return [*later]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Lambda() | ast.GeneratorExp() | ast.ListComp():
            return [node]
        case _:
            return []


def _only_names(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_only_names, target.elts)))


def _is_last(index: ast.expr) -> bool:
    return isinstance(index, ast.UnaryOp) and ast.unparse(index) == "-1"
