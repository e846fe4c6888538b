"""Lists of lists that grow, such as the neighbours of each vertex, as linked lists: the items of all of them one after
the other, each with the place of the next one in its list. Owns syntax alone.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator

from msgspec import Struct

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of, times_assigned
from ir.script.plain.syntax.counters import late_parts
from ir.script.plain.syntax.filled import Filled, Put, filled_in
from ir.script.plain.syntax.rows import with_rows_apart
from ir.script.plain.syntax.walking import Conditions, Statements
from ir.script.scope import Source

_FOLDS = ("sum", "min", "max", "any", "all")
_LISTS = ("sorted", "list", "tuple", "np.array", "np.sort", "np.median", "np.mean", "np.sum", "np.max", "np.min")
_TOTALS = (*_FOLDS, "sorted", "list", "tuple")  # of all items of a list
_HINT = "items are appended to {name}[k], which is looped over, counted by len, copied by list and asked by `in`"


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
    adds: str  # what gives one of the lists an item: "append", or "add" where they are sets
    grows: bool  # whether there come to be more lists
    in_a_row: bool  # whether the items of a list follow each other, since the last list alone gets items

    def places(self) -> dict[str, str | ast.expr]:
        """What stands in texts for them."""
        return {"FIRST": self.first, "LAST": self.last, "SIZES": self.sizes, "NEXT": self.following,
                "OWNERS": self.owners}  # fmt: skip


def with_linked_lists(
    node: ast.FunctionDef, source: Source, uneven: Collection[str] = ()
) -> tuple[ast.FunctionDef, set[str]]:
    """A function with linked lists for its lists of lists that grow, and the names of the lists that these are made of.

    Of `uneven` names it is known that lists have different lengths.

    Raises:
        ParseError: something else is done with one.
    """
    node = with_rows_apart(node, uneven)
    if not (candidates := _names(node)):
        return node, set()
    node = copy.deepcopy(node)
    _with_rows(node, {*candidates})
    names = {name: known for name, known in _names(node).items() if known[2] or known[0] is not None}
    if not names:
        return node, set()
    taken = all_names(node)
    found: dict[str, _Linked] = {}
    for name in sorted(names):
        first, last, sizes, following, owners = (
            fresh(f"{name}_{role}", taken) for role in ("first", "last", "sizes", "next", "owners")
        )
        (count, adds, grows), (searched, counted) = names[name], _asked(node, name)
        items = tuple(fresh(f"{name}_items", taken) for _ in range(max(count or 1, 1)))
        found[name] = _Linked(
            first,
            last,
            sizes,
            following,
            owners,
            items,
            bool(count),
            searched or adds == "add",
            counted,
            adds,
            grows,
            _in_a_row(node, name),
        )
    lists = _Lists(found, source, taken)
    node.body = lists.statements(node.body)
    growing = {n for k in found.values() if k.grows for n in (k.first, k.last, k.sizes)}
    return node, growing | {n for k in found.values() for n in (k.following, k.owners, *k.items)}


def _with_rows(node: ast.FunctionDef, names: set[str]) -> None:
    """Have names of lists in lists of lists, also those that loops give, stand for their places."""
    taken = all_names(node)
    for part in [n for n in ast.walk(node) if isinstance(n, ast.For)]:
        match part:
            case ast.For(target=ast.Name(id=row), iter=ast.Name(id=name)) if name in names:
                given = "ROW = ROWS[PLACE]"
                places = {"ROW": row, "ROWS": name}
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=count), ast.Name(id=row)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=name)], keywords=[]),
            ) if name in names:
                given = "COUNT = PLACE\nROW = ROWS[PLACE]"
                places = {"COUNT": count, "ROW": row, "ROWS": name}
            case _:
                continue
        place = fresh(f"{row}_at", taken)
        part.body = [*Filled({**places, "PLACE": place}).statements(given, part.iter), *part.body]
        part.target = at_place(ast.Name(place, ast.Store()), part.target)
        part.iter = Filled({"ROWS": name}).expression("range(len(ROWS))", part.iter)
    for part in [n for n in ast.walk(node) if isinstance(n, (ast.GeneratorExp, ast.ListComp, ast.SetComp))]:
        for head in part.generators:
            match head:
                case ast.comprehension(target=ast.Name(id=row) as target, iter=ast.Name(id=name)) if name in names:
                    target.id = fresh(f"{row}_at", taken)
                    places = Filled({"ROWS": name, "PLACE": target.id})
                    head.iter = places.expression("range(len(ROWS))", head.iter)
                    put = Filled({row: places.expression("ROWS[PLACE]", part)})
                    part.elt = put.visit(part.elt)
                    for other in part.generators:
                        other.ifs = [put.visit(test) for test in other.ifs]
                        other.iter = put.visit(other.iter)
                case _:
                    pass
    rows: dict[str, list[tuple[ast.Assign, str, ast.expr]]] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=row)], value=ast.Subscript(value=ast.Name(id=name), slice=at)) if (
                name in names and not isinstance(at, ast.Slice)
            ):
                rows.setdefault(row, []).append((part, name, at))
            case _:
                pass
    stores = times_assigned(node)
    for row, given_by in rows.items():
        place, name = fresh(f"{row}_at", taken), given_by[0][1]
        if stores[row] != len(given_by) or stores[name] > 1 or any(other != name for _, other, _ in given_by):
            continue
        if _looked_up(node, row) and not any(_changed_from(node, part, name) for part, _, _ in given_by):
            for part, _, _ in given_by:
                part.value = at_place(ast.Call(ast.Name("list", ast.Load()), [part.value], []), part.value)
            continue
        for part, _, at in given_by:
            part.targets, part.value = [at_place(ast.Name(place, ast.Store()), part)], _from_start(at, name)
        found = ast.Subscript(ast.Name(name, ast.Load()), ast.Name(place, ast.Load()), ast.Load())
        node.body = [Filled({row: found}).visit(stmt) for stmt in node.body]


def _from_start(at: ast.expr, name: str) -> ast.expr:
    """A place in a list that may become longer, where it counts from its end."""
    if not isinstance(at, ast.UnaryOp) or not isinstance(at.op, ast.USub):
        return at
    return Filled({"ROWS": name, "BACK": at.operand}).expression("len(ROWS) - BACK", at)


def _in_a_row(node: ast.FunctionDef, name: str) -> bool:
    """Whether only the last of the lists in a list gets items."""
    return all(
        ast.unparse(n.value.slice) == "-1"
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute)
        and isinstance(n.value, ast.Subscript)
        and getattr(n.value.value, "id", "") == name
    )


def _looked_up(node: ast.FunctionDef, row: str) -> bool:
    """Whether any item of a list is looked up, but the first and the last."""
    found = [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript) and getattr(n.value, "id", "") == row]
    return any(ast.unparse(index) not in ("0", "-1") for index in found)


def _changed_from(node: ast.FunctionDef, part: ast.stmt, name: str) -> bool:
    """Whether lists in a list get items after a statement, or in a loop around it."""
    (first,) = (k for k, stmt in enumerate(node.body) if part in ast.walk(stmt))
    return any(
        isinstance(n, ast.Attribute) and isinstance(n.value, ast.Subscript) and getattr(n.value.value, "id", "") == name
        for stmt in node.body[first:] for n in ast.walk(stmt)
    )  # fmt: skip


def _asked(node: ast.FunctionDef, name: str) -> tuple[bool, bool]:
    """Whether items are looked for without a loop of statements, and whether anything but loops asks for the lists."""
    rows = {n for n in ast.walk(node) if isinstance(n, ast.Subscript) and getattr(n.value, "id", "") == name}
    looped = {n.iter for n in ast.walk(node) if isinstance(n, ast.For)}
    appended = {n.value for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    looked_up = {n.value for n in ast.walk(node) if isinstance(n, ast.Subscript)}
    searched = {n.iter for n in ast.walk(node) if isinstance(n, ast.comprehension)}
    searched |= {c for n in ast.walk(node) if isinstance(n, ast.Compare) for c in n.comparators}
    searched |= {a for n in ast.walk(node) if isinstance(n, ast.Call) and _of_all(n) for a in n.args}
    searched |= {n.value for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr in _FOLDS}
    return bool(rows & searched), bool(rows - looped - appended - searched - looked_up)


def _of_all(node: ast.Call) -> bool:
    """Whether a call looks at all items of what it is given."""
    return isinstance(node.func, ast.Name) and node.func.id in _TOTALS


def _empty(value: ast.AST, own: Collection[str]) -> str:
    """What gives items to a list or set that is written out and has none; nothing for other expressions."""
    match value:
        case ast.List(elts=[]):
            return "append"
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]) if "set" not in own:
            return "add"
        case _:
            return ""


def _names(node: ast.FunctionDef) -> dict[str, tuple[int | None, str, bool]]:
    """Names of lists of lists that are empty at first, each assigned as such only: of how many numbers items are that
    are tuples, or 0, None if there are none, what gives items to one, and whether lists are appended."""
    made: dict[str, list[str]] = {}
    items: dict[str, set[int | None]] = {}
    more: dict[str, set[str]] = {}
    own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(elt=item, generators=[head])) if (
                not head.ifs
            ):
                made.setdefault(name, []).append(_empty(item, own))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=lists)):
                kinds = {_empty(item, own) for item in lists}
                made.setdefault(name, []).append("any" if not lists else kinds.pop() if len(kinds) == 1 else "")
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name)), attr="append" | "add"), args=[item]
            ):
                items.setdefault(name, set()).add(len(item.elts) if isinstance(item, ast.Tuple) else 0)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item]):
                more.setdefault(name, set()).add(_empty(item, own))
            case _:
                pass
    stores = times_assigned(node)
    found: dict[str, tuple[int | None, str, bool]] = {}
    for name, values in made.items():
        kinds = {*values, *more.get(name, ())} - {"any"}
        if stores[name] == len(values) and len(kinds) == 1 and (adds := kinds.copy().pop()):
            counts = items.get(name, {None})
            found[name] = (counts.copy().pop() if len(counts) == 1 else 0, adds, name in more)
    return found


class _Lists(Statements, Conditions):
    """Writes linked lists."""

    def __init__(self, found: dict[str, _Linked], source: Source, taken: set[str]) -> None:
        self.found, self.source, self.taken = found, source, taken

    # Statements ------------------------------------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(generators=[head])) if name in self.found:
                return self._started(node, name, head.iter)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=lists)) if name in self.found:
                return self._written_out(node, name, len(lists))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))) if (
                name in self.found
            ):
                return self._more(node, name)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name), slice=at), attr=attr), args=[item]
                )
            ) if name in self.found and attr == self.found[name].adds:
                return (self._added if attr == "add" else self._appended)(node, name, at, item)
            case ast.Assign(
                targets=[ast.Name(id=copied)],
                value=ast.Call(func=ast.Name(id="list"), args=[ast.Subscript() as item]) as call,
            ) if self._row(item):
                return self._copied(call, copied)
            case ast.Return(value=ast.Subscript() as item) if self._row(item):
                node.value = self._as_list(item)
                return self.statement(node)
            case ast.Return(value=ast.Tuple(elts=items) as whole) if any(map(self._row, items)):
                whole.elts = [self._as_list(i) if self._row(i) else i for i in items]
                return self.statement(node)
            case ast.For(iter=ast.Subscript(value=ast.Name(id=name), slice=at)) if name in self.found:
                return self._looped(node, name, at)
            case ast.For():
                before = self._hoisted(node, node.iter)
                node.iter = self.visit(node.iter)
            case ast.While() | ast.If():
                before = self._hoisted(node, node.test) if isinstance(node, ast.If) else []
                node.test = self.truth(node.test)
            case _:
                before = self._hoisted(node, node)
                return [*before, self.visit(node)]
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return [*before, node]

    def _as_list(self, item: ast.expr) -> ast.expr:
        return at_place(ast.Call(ast.Name("list", ast.Load()), [item], []), item)

    def _copied(self, call: ast.Call, name: str) -> list[ast.stmt]:
        """Statements that give a name to a list of the items of a list."""
        row = self._row(call.args[0])
        assert row is not None
        each = self._each(call.args[0], row[0])
        text = "LIST = []\nfor _ in ROW:\n    LIST.append(ITEM)"
        begun, loop = filled_in(text, call, LIST=name, ROW=call.args[0], ITEM=each.elt)
        assert isinstance(loop, ast.For)
        loop.target = at_place(each.generators[0].target, call)
        return [begun, *self.statement(loop)]

    def _hoisted(self, node: ast.stmt, part: ast.AST) -> list[ast.stmt]:
        """Statements that give names to places of lists all of whose items are looked at."""
        found: list[ast.stmt] = []
        late = {*_late(part)}
        for one in [n for n in ast.walk(part) if isinstance(n, ast.Call) and n not in late]:
            if not (one.args and (row := self._row(one.args[0])) and ast.unparse(one.func) in _LISTS):
                continue
            copied = fresh(f"{row[0]}_list", self.taken)
            found += self._copied(one, copied)
            one.args[0] = at_place(ast.Name(copied, ast.Load()), one)
            if ast.unparse(one.func) in ("list", "tuple"):
                Put(one, one.args[0]).visit(node)
        for one in [n for n in ast.walk(part) if n not in late]:
            row = self._row(one)
            if row is None or isinstance(row[1], (ast.Name, ast.Constant)) or not self.found[row[0]].searched:
                continue
            place = fresh(f"{row[0]}_at", self.taken)
            found += filled_in("PLACE = AT", one, PLACE=place, AT=self.visit(row[1]))
            Put(row[1], at_place(ast.Name(place, ast.Load()), one)).visit(node)
        return found

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
        return filled_in("\n".join(lines), node, **names)

    def _written_out(self, node: ast.stmt, name: str, count: int) -> list[ast.stmt]:
        """So many lists that are empty, of which there may come to be more."""
        linked = self.found[name]
        lists = ["FIRST", "LAST", "NEXT", *["SIZES"] * linked.counted, *["OWNERS"] * linked.searched, *linked.items]
        begun = filled_in("\n".join(f"{one} = []" for one in lists), node, **linked.places())
        return [*begun, *(new for _ in range(count) for new in self._more(node, name))]

    def _more(self, node: ast.stmt, name: str) -> list[ast.stmt]:
        """One list more."""
        linked = self.found[name]
        text = "FIRST.append(-1)\nLAST.append(-1)" + "\nSIZES.append(0)" * linked.counted
        return filled_in(text, node, **linked.places())

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
            "    NEXT[NATURAL(LAST[AT])] = len(NEXT)",
        ]
        lines += ["LAST[AT] = len(NEXT)", "NEXT.append(-1)"]
        lines += ["SIZES[AT] += 1"] * linked.counted + ["OWNERS.append(AT % len(FIRST))"] * linked.searched
        found: list[ast.stmt] = []
        own = {linked.first, linked.last, linked.sizes, linked.following, linked.owners, *linked.items}
        for k, part in enumerate(parts):
            if own & names_of(part):  # what is appended is what there is before
                item_name = fresh(f"{name}_item", self.taken)
                found += filled_in("ITEM = VALUE", node, ITEM=item_name, VALUE=part)
                parts[k] = at_place(ast.Name(item_name, ast.Load()), part)
        found += filled_in("\n".join(lines), node, **names)
        for one, part in zip(linked.items, parts, strict=True):
            found += filled_in("LIST.append(ITEM)", node, LIST=one, ITEM=part)
        return found

    def _added(self, node: ast.stmt, name: str, at: ast.expr, item: ast.expr) -> list[ast.stmt]:
        """`name[at].add(item)`: appended where it is not there."""
        place, parts = fresh(f"{name}_at", self.taken), item.elts if isinstance(item, ast.Tuple) else [item]
        names = [fresh(f"{name}_item", self.taken) for _ in parts]
        found = filled_in("AT = VALUE", node, AT=place, VALUE=self.visit(at))
        for own, part in zip(names, parts, strict=True):
            found += filled_in("ITEM = VALUE", node, ITEM=own, VALUE=self.visit(part))
        key: ast.expr = ast.Name(names[0], ast.Load())
        if isinstance(item, ast.Tuple):
            key = ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())
        (test,) = filled_in("if KEY not in ROWS[AT]:\n    pass", node, KEY=key, ROWS=name, AT=place)
        assert isinstance(test, ast.If)
        test.test = self.visit(test.test)
        test.body = self._appended(node, name, ast.Name(place, ast.Load()), key)
        return [*found, test]

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
        value = f"{linked.items[0]}[NATURAL(PLACE)]"
        if linked.tuples:
            value = f"({', '.join(f'{item}[NATURAL(PLACE)]' for item in linked.items)},)"
        text = (
            f"PLACE = FIRST[AT]\nfor _ in range(len(NEXT)):\n    if PLACE < 0:\n        break\n    ITEM = {value}\n"
            "    PLACE = NEXT[NATURAL(PLACE)]"
        )
        before, loop = filled_in(text, node, **names, AT=self.visit(at), ITEM=fresh("item", self.taken))
        assert isinstance(loop, ast.For)
        given = loop.body[1]
        assert isinstance(given, ast.Assign)
        given.targets = [node.target]
        loop.body += self.statements(node.body)
        return [before, loop]

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

    def truth(self, node: ast.expr) -> ast.expr:
        """A condition, which may ask whether there is anything in a list."""
        if (row := self._row(node)) is None:
            found: ast.expr = self.visit(node)
            return found
        places = self.found[row[0]].places() | {"AT": self.visit(row[1])}
        return Filled(places).expression("SIZES[AT] > 0", node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.found:
                node.args = [ast.copy_location(ast.Name(self.found[name].first, ast.Load()), node)]
                return node
            case ast.Call(func=ast.Name(id="len"), args=[item]) if (row := self._row(item)) is not None:
                sizes = ast.Name(self.found[row[0]].sizes, ast.Load())
                return at_place(ast.Subscript(sizes, self.visit(row[1]), ast.Load()), node)
            case ast.Call(func=ast.Attribute(value=item, attr=attr), args=[], keywords=[]) if attr in _FOLDS and (
                self._row(item) is not None
            ):
                return self.visit(at_place(ast.Call(ast.Name(attr, ast.Load()), [item], []), node))
            case ast.Call(args=[item, *_]) if _of_all(node) and (row := self._row(item)) is not None:
                node.args[0] = at_place(self._each(item, row[0]), item)
                return self.generic_visit(node)
            case _:
                return self.generic_visit(node)

    def _each(self, over: ast.expr, name: str) -> ast.GeneratorExp:
        """The items of a list one by one."""
        names = [fresh("item", self.taken) for _ in self.found[name].items]
        item, target = (
            ast.Tuple([ast.Name(n, context) for n in names], context) if self.found[name].tuples
            else ast.Name(names[0], context) for context in (ast.Load(), ast.Store())
        )  # fmt: skip
        return ast.GeneratorExp(item, [ast.comprehension(target, over, [], 0)])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`name[at][0]` and `name[at][-1]`, and any item of lists of which each has its items in a row."""
        row, index = self._row(node.value), ast.unparse(node.slice)
        if row is None or isinstance(node.slice, ast.Slice):
            return self.generic_visit(node)
        linked, stored = self.found[row[0]], not isinstance(node.ctx, ast.Load)
        if index in ("0", "-1"):
            place = f"NATURAL({linked.first if index == '0' else linked.last}[AT])"
        elif linked.in_a_row:
            place = f"NATURAL({linked.first}[AT] + (K) if K >= 0 else {linked.last}[AT] + 1 + (K))"
        else:
            return self.generic_visit(node)
        if stored and linked.tuples:
            return self.generic_visit(node)
        parts = [f"{item}[{place}]" for item in linked.items]
        text = f"({', '.join(parts)},)" if linked.tuples else parts[0]
        found = Filled({"AT": self.visit(row[1]), "K": self.visit(node.slice)}).expression(text, node)
        if isinstance(found, ast.Subscript):
            found.ctx = node.ctx
        return found

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`x in name[at]`: whether any item is that."""
        row = self._row(node.comparators[0])
        if len(node.ops) > 1 or row is None or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self.generic_visit(node)
        each = self._each(node.comparators[0], row[0])
        each.elt = ast.Compare(each.elt, [ast.Eq()], [node.left])
        found: ast.expr = ast.Call(ast.Name("any", ast.Load()), [each], [])
        found = found if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), found)
        return self.visit(at_place(found, node))

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        row = self._row(node.iter)
        if row is None:
            self.generic_visit(node)
            return node
        linked, owner = self.found[row[0]], fresh("owner", self.taken)
        places = linked.places() | {"OWNER": owner, "AT": self.visit(row[1])}
        own = Filled(places).expression("OWNER == AT % len(FIRST)", node.iter)
        targets = node.target.elts if linked.tuples and isinstance(node.target, ast.Tuple) else [node.target]
        lists = linked.items if len(targets) == len(linked.items) else ()
        if not lists:
            hint = f"take its items apart, as in `for {', '.join('abcd'[: len(linked.items)])} in {row[0]}[k]`"
            raise self.source.error("unsupported", f"a name for an item of `{row[0]}`", node.target, help=hint)
        over: list[ast.expr] = [ast.Name(n, ast.Load()) for n in (linked.owners, *lists)]
        node.target = at_place(ast.Tuple([ast.Name(owner, ast.Store()), *targets], ast.Store()), node.target)
        node.iter = at_place(ast.Call(ast.Name("zip", ast.Load()), over, []), node.iter)
        node.ifs = [own, *(self.visit(test) for test in node.ifs)]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.found:
            message = f"`{node.id}`, a list of lists that grow, is not supported here"
            raise self.source.error("unsupported", message, node, help=self._hint(node.id))
        return node


def _late(node: ast.AST) -> Iterator[ast.AST]:
    """Parts that are evaluated under a condition, or several times: of comprehensions all but what they run over."""
    for part in ast.walk(node):
        match part:
            case ast.GeneratorExp(generators=[first, *_]) | ast.ListComp(generators=[first, *_]):
                over = {*ast.walk(first.iter)}
                yield from (n for n in ast.walk(part) if n is not part and n not in over)
            case _:
                yield from (n for late in late_parts(part) for n in ast.walk(late))
