"""Lists of lists that grow, such as the neighbours of each vertex, as linked lists: the items of all of them one after
the other, each with the place of the next one in its list. Owns syntax alone.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from msgspec import Struct

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, times_assigned
from ir.script.plain.syntax.keyed import Filled
from ir.script.scope import Source

_HINT = "items are appended to {name}[k], which is looped over, counted by len and asked by `in`"


class _Linked(Struct, frozen=True):
    """The arrays of a list of lists: by list the first and last place and the count, by place the next one, the list
    and the item, which is a tuple if there are several."""

    first: str
    last: str
    sizes: str
    following: str
    owners: str
    items: tuple[str, ...]
    tuples: bool
    searched: bool  # whether `owners` are asked for
    counted: bool  # whether `sizes` are

    def places(self) -> dict[str, str | ast.expr]:
        """What stands in texts for them."""
        return {"FIRST": self.first, "LAST": self.last, "SIZES": self.sizes, "NEXT": self.following,
                "OWNERS": self.owners}  # fmt: skip


def with_linked_lists(node: ast.FunctionDef, source: Source) -> tuple[ast.FunctionDef, set[str]]:
    """A function with linked lists for its lists of lists that grow, and the names of the lists that these are made of.

    Raises:
        ParseError: something else is done with one.
    """
    names = _names(node)
    if not names:
        return node, set()
    node = copy.deepcopy(node)
    taken = all_names(node)
    found: dict[str, _Linked] = {}
    for name in sorted(names):
        first, last, sizes, following, owners = (
            fresh(f"{name}_{role}", taken) for role in ("first", "last", "sizes", "next", "owners")
        )
        count, (searched, counted) = names[name], _asked(node, name)
        items = tuple(fresh(f"{name}_items", taken) for _ in range(max(count, 1)))
        found[name] = _Linked(first, last, sizes, following, owners, items, count > 0, searched, counted)
    lists = _Lists(found, source, taken)
    node.body = lists.statements(node.body)
    return node, {n for k in found.values() for n in (k.following, k.owners, *k.items)}


def _asked(node: ast.FunctionDef, name: str) -> tuple[bool, bool]:
    """Whether items are looked for without a loop of statements, and whether anything but loops asks for the lists."""
    rows = {n for n in ast.walk(node) if isinstance(n, ast.Subscript) and getattr(n.value, "id", "") == name}
    looped = {n.iter for n in ast.walk(node) if isinstance(n, ast.For)}
    appended = {n.value for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    searched = {n.iter for n in ast.walk(node) if isinstance(n, ast.comprehension)}
    searched |= {c for n in ast.walk(node) if isinstance(n, ast.Compare) for c in n.comparators}
    return bool(rows & searched), bool(rows - looped - appended - searched)


def _names(node: ast.FunctionDef) -> dict[str, int]:
    """Names of lists of lists that are empty at first, each assigned as such only; and of how many numbers items are
    that are tuples, or 0."""
    made: dict[str, int] = {}
    items: dict[str, set[int]] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.ListComp(elt=ast.List(elts=[]), generators=[head])
            ) if not head.ifs:
                made[name] = made.get(name, 0) + 1
            case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name)), attr="append"), args=[item]):
                items.setdefault(name, set()).add(len(item.elts) if isinstance(item, ast.Tuple) else 0)
            case _:
                pass
    stores = times_assigned(node)
    alone = {n for n, k in made.items() if stores[n] == k and items.get(n)}
    return {n: items[n].copy().pop() if len(items[n]) == 1 else 0 for n in alone}


class _Lists(ast.NodeTransformer):
    """Writes linked lists."""

    def __init__(self, found: dict[str, _Linked], source: Source, taken: set[str]) -> None:
        self.found, self.source, self.taken = found, source, taken

    # Statements ------------------------------------------------------------------------------------------------------

    def statements(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements in place of a list of them."""
        return [new for node in nodes for new in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                return [node]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(generators=[head])) if name in self.found:
                return self._started(node, name, head.iter)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name), slice=at), attr="append"),
                    args=[item],
                )
            ) if name in self.found:
                return self._appended(node, name, at, item)
            case ast.For(iter=ast.Subscript(value=ast.Name(id=name), slice=at)) if name in self.found:
                return self._looped(node, name, at)
            case ast.For():
                node.iter = self.visit(node.iter)
            case ast.While() | ast.If():
                node.test = self._truth(node.test)
            case _:
                return [self.visit(node)]
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return [node]

    def _started(self, node: ast.stmt, name: str, over: ast.expr) -> list[ast.stmt]:
        linked, count = self.found[name], self.visit(over)
        match count:
            case ast.Call(func=ast.Name(id="range"), args=[number], keywords=[]):
                count = number
            case _:
                count = at_place(ast.Call(ast.Name("len", ast.Load()), [count], []), over)
        lines = ["COUNT = VALUE", "FIRST = [-1] * COUNT", "LAST = [-1] * COUNT", "NEXT = []"]
        lines += ["SIZES = [0] * COUNT"] * linked.counted + ["OWNERS = []"] * linked.searched
        lines += [f"{item} = []" for item in linked.items]
        names = linked.places() | {"COUNT": fresh(f"{name}_count", self.taken), "VALUE": count}
        return self._parsed("\n".join(lines), node, **names)

    def _appended(self, node: ast.stmt, name: str, at: ast.expr, item: ast.expr) -> list[ast.stmt]:
        linked = self.found[name]
        parts = item.elts if linked.tuples and isinstance(item, ast.Tuple) else [item]
        at, parts = self.visit(at), [self.visit(part) for part in parts]
        names = linked.places() | {"AT": fresh(f"{name}_at", self.taken), "VALUE": at}
        lines = [
            "AT = VALUE",
            "if FIRST[AT] < 0:",
            "    FIRST[AT] = len(NEXT)",
            "else:",
            "    NEXT[LAST[AT]] = len(NEXT)",
        ]
        lines += ["LAST[AT] = len(NEXT)", "NEXT.append(-1)"]
        lines += ["SIZES[AT] += 1"] * linked.counted + ["OWNERS.append(AT % len(FIRST))"] * linked.searched
        found = self._parsed("\n".join(lines), node, **names)
        for one, part in zip(linked.items, parts, strict=True):
            found += self._parsed("LIST.append(ITEM)", node, LIST=one, ITEM=part)
        return found

    def _looped(self, node: ast.For, name: str, at: ast.expr) -> list[ast.stmt]:
        """`for x in name[at]`: from place to place."""
        linked = self.found[name]
        changes = any(
            isinstance(n, ast.Attribute) and n.attr == "append" and isinstance(n.value, ast.Subscript)
            and isinstance(n.value.value, ast.Name) and n.value.value.id == name
            for s in node.body for n in ast.walk(s)
        )  # fmt: skip
        if node.orelse or changes:
            what = "that changes in it" if changes else "with `else`"
            raise self.source.error(
                "unsupported", f"a loop over a list in `{name}` {what}", node, help=self._hint(name)
            )
        names = linked.places() | {"PLACE": fresh(f"{name}_place", self.taken), "_": fresh("_", self.taken)}
        value = f"{linked.items[0]}[PLACE]"
        if linked.tuples:
            value = f"({', '.join(f'{item}[PLACE]' for item in linked.items)},)"
        text = (
            f"PLACE = FIRST[AT]\nfor _ in range(len(NEXT)):\n    if PLACE < 0:\n        break\n    ITEM = {value}\n"
            "    PLACE = NEXT[PLACE]"
        )
        before, loop = self._parsed(text, node, **names, AT=self.visit(at), ITEM=fresh("item", self.taken))
        assert isinstance(loop, ast.For)
        given = loop.body[1]
        assert isinstance(given, ast.Assign)
        given.targets = [node.target]
        loop.body += self.statements(node.body)
        return [before, loop]

    def _parsed(self, text: str, node: ast.AST, **parts: str | ast.expr) -> list[ast.stmt]:
        return Filled(parts).statements(text, node)

    def _hint(self, name: str) -> str:
        return _HINT.format(name=name)

    # Expressions -----------------------------------------------------------------------------------------------------

    def _row(self, node: ast.AST) -> tuple[str, ast.expr] | None:
        """The list of lists, and the place, that an expression `name[at]` is the list of."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=at) if name in self.found:
                return name, at
            case _:
                return None

    def _truth(self, node: ast.expr) -> ast.expr:
        """A condition, which may ask whether there is anything in a list."""
        if (row := self._row(node)) is None:
            found: ast.expr = self.visit(node)
            return found
        (stmt,) = self._parsed("SIZES[AT] > 0", node, **self.found[row[0]].places(), AT=self.visit(row[1]))
        assert isinstance(stmt, ast.Expr)
        return stmt.value

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.found:
                node.args = [ast.copy_location(ast.Name(self.found[name].first, ast.Load()), node)]
                return node
            case ast.Call(func=ast.Name(id="len"), args=[item]) if (row := self._row(item)) is not None:
                sizes = ast.Name(self.found[row[0]].sizes, ast.Load())
                return at_place(ast.Subscript(sizes, self.visit(row[1]), ast.Load()), node)
            case _:
                return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self._truth(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._truth(v) for v in node.values]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test, node.body, node.orelse = self._truth(node.test), self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`x in name[at]`: whether any item is that."""
        row = self._row(node.comparators[0])
        if len(node.ops) > 1 or row is None or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self.generic_visit(node)
        item = ast.Name(fresh("item", self.taken), ast.Store())
        head = ast.comprehension(item, node.comparators[0], [], 0)
        equal = ast.Compare(node.left, [ast.Eq()], [ast.Name(item.id, ast.Load())])
        found: ast.expr = ast.Call(ast.Name("any", ast.Load()), [ast.GeneratorExp(equal, [head])], [])
        found = found if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), found)
        return self.visit(at_place(found, node))

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        row = self._row(node.iter)
        if row is None:
            self.generic_visit(node)
            return node
        linked, owner = self.found[row[0]], fresh("owner", self.taken)
        (stmt,) = self._parsed("OWNER == AT % len(FIRST)", node.iter, **linked.places(), OWNER=owner,
                               AT=self.visit(row[1]))  # fmt: skip
        assert isinstance(stmt, ast.Expr)
        targets = node.target.elts if linked.tuples and isinstance(node.target, ast.Tuple) else [node.target]
        lists = linked.items if len(targets) == len(linked.items) else ()
        if not lists:
            hint = f"take its items apart, as in `for {', '.join('abcd'[: len(linked.items)])} in {row[0]}[k]`"
            raise self.source.error("unsupported", f"a name for an item of `{row[0]}`", node.target, help=hint)
        over: list[ast.expr] = [ast.Name(n, ast.Load()) for n in (linked.owners, *lists)]
        node.target = at_place(ast.Tuple([ast.Name(owner, ast.Store()), *targets], ast.Store()), node.target)
        node.iter = at_place(ast.Call(ast.Name("zip", ast.Load()), over, []), node.iter)
        node.ifs = [stmt.value, *(self.visit(test) for test in node.ifs)]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.found:
            message = f"`{node.id}`, a list of lists that grow, is not supported here"
            raise self.source.error("unsupported", message, node, help=self._hint(node.id))
        return node
