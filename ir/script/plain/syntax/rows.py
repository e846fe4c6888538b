"""Lists of lists of different lengths: each is appended empty, and gets its items one by one. Owns syntax alone."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of, times_assigned
from ir.script.plain.syntax.filled import filled_in
from ir.script.plain.syntax.walking import Statements

_CHANGING = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill")


def with_rows_apart(node: ast.FunctionDef, uneven: Collection[str]) -> ast.FunctionDef:
    """A function with such lists, as far as its text shows them, or as they are said to be `uneven`."""
    names = {name for name in _made(node) if name in uneven or _is_uneven(node, name)}
    names = {name for name in names if _plain_uses(node, name)}
    if not names:
        return node
    node = copy.deepcopy(node)
    node.body = _Rows(names, all_names(node)).statements(node.body)
    return node


def _made(node: ast.FunctionDef) -> set[str]:
    """Names of lists that are made once, of lists that are written out, or of none."""
    stores = times_assigned(node)
    found: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=items)) if stores[name] == 1:
                if not any(isinstance(i, ast.Starred) for i in items):
                    found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp()) if stores[name] == 1:
                found.add(name)
            case _:
                pass
    return found


def _is_uneven(node: ast.FunctionDef, name: str) -> bool:
    """Whether lists in a list are written out with different lengths, or are not empty and get items."""
    filled = grows = False
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.List(elts=items)) if own == name:
                if items and not all(isinstance(i, ast.List) for i in items):
                    return False
                lengths = {len(i.elts) for i in items if isinstance(i, ast.List)}
                if len(lengths) > 1:
                    return True
                filled |= bool(lengths - {0})
            case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="append"), args=[item]) if own == name:
                filled |= not isinstance(item, ast.List) or bool(item.elts)
            case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=own)), attr="append")) if (
                own == name
            ):
                grows = True
            case _:
                pass
    return filled and grows


def _plain_uses(node: ast.FunctionDef, name: str) -> bool:
    """Whether a list is only made, appended to, looped over, counted, and asked for one of its lists."""
    allowed: set[ast.AST] = set()
    for block in _blocks(node):
        for k, part in enumerate(block):
            match part:
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=own) as use, attr="append"), args=[row])
                ) if own == name and _is_own(node, block, k, row, name):
                    allowed.add(use)
                case _:
                    pass
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=own) as use]) if own == name:
                allowed.add(use)
            case ast.Subscript(value=ast.Name(id=own) as use, slice=at) if own == name and not isinstance(
                at, ast.Slice
            ):
                allowed.add(use)
            case (
                ast.Call(func=ast.Name(id="len" | "enumerate"), args=[ast.Name() as use])
                | ast.For(iter=ast.Name() as use)
                | ast.comprehension(iter=ast.Name() as use)
            ):
                allowed.add(use)
            case _:
                pass
    return all(n in allowed for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """All lists of statements of a function."""
    fields = [getattr(n, name, []) for n in ast.walk(node) for name in ("body", "orelse")]
    return [f for f in fields if isinstance(f, list)]


def _is_own(node: ast.FunctionDef, block: list[ast.stmt], k: int, row: ast.expr, name: str) -> bool:
    """Whether a list that the statement at `k` appends is none that changes after that."""
    match row:
        case ast.Name(id=own):
            if any(isinstance(n, ast.Assign) and own in names_of(n.value) and _stands(n.value) for n in ast.walk(node)):
                return False  # another name may stand for it
            later = next((s for s in block[k + 1 :] if own in names_of(s)), None)
            if later is not None and own in _targets(later) and isinstance(later, ast.Assign):
                return own not in names_of(later.value)
            changes = _changes(node, own)
            loops = [n for n in ast.walk(node) if isinstance(n, (ast.For, ast.While)) and block[k] in ast.walk(n)]
            if not loops and all(getattr(n, "lineno", 0) < block[k].lineno for n in changes):
                return True
            made = [i for i in range(k) if isinstance(block[i], ast.Assign) and own in _targets(block[i])]
            inside = {n for s in block[(made or [k])[-1] : k] for n in ast.walk(s)}
            return bool(made) and all(n in inside for n in changes)
        case ast.List() | ast.ListComp() | ast.BinOp():
            return True
        case ast.Call(func=ast.Name(id="list" | "sorted")):
            return True
        case ast.Subscript(value=ast.Name(id=own)) if own != name:
            return not _changes(node, own)
        case _:
            return False


def _stands(value: ast.expr) -> bool:
    """Whether a value may be what a name in it stands for."""
    return isinstance(value, (ast.Name, ast.Tuple, ast.IfExp, ast.List))


def _targets(stmt: ast.stmt) -> set[str]:
    return {t.id for t in stmt.targets if isinstance(t, ast.Name)} if isinstance(stmt, ast.Assign) else set()


def _changes(node: ast.FunctionDef, name: str) -> list[ast.AST]:
    """What changes the items of a list or array."""
    found: list[ast.AST] = []
    for part in ast.walk(node):
        match part:
            case ast.Subscript(value=ast.Name(id=own), ctx=ast.Store() | ast.Del()) if own == name:
                found.append(part)
            case ast.Attribute(value=ast.Name(id=own), attr=attr) if own == name and attr in _CHANGING:
                found.append(part)
            case ast.AugAssign(target=ast.Name(id=own)) if own == name:
                found.append(part)
            case _:
                pass
    return found


class _Rows(Statements):
    def __init__(self, names: set[str], taken: set[str]) -> None:
        self.names, self.taken = names, taken

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=rows)) if name in self.names:
                begun = filled_in("ROWS = []", node, ROWS=name)
                return [*begun, *(new for row in rows for new in self._appended(name, row, node))]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(elt=row, generators=parts)) if (
                name in self.names
            ):
                return [
                    *filled_in("ROWS = []", node, ROWS=name),
                    *self._nest(parts, self._appended(name, row, node), node),
                ]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[row])) if (
                name in self.names
            ):
                return self._appended(name, row, node)
            case ast.For() | ast.While() | ast.If():
                node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
                return [node]
            case _:
                return [node]

    def _nest(self, parts: list[ast.comprehension], inner: list[ast.stmt], node: ast.AST) -> list[ast.stmt]:
        """The loops of a comprehension around statements."""
        for part in reversed(parts):
            for test in reversed(part.ifs):
                inner = [at_place(ast.If(test, inner, []), node)]
            inner = [at_place(ast.For(part.target, part.iter, inner, []), node)]
        return inner

    def _appended(self, name: str, row: ast.expr, node: ast.AST) -> list[ast.stmt]:
        """One list more, with the items of a row."""
        found: list[ast.stmt] = []
        items: list[ast.expr] = []
        if isinstance(row, ast.List) and not any(isinstance(i, ast.Starred) for i in row.elts):
            for item in row.elts:
                items.append(item)
                if name in names_of(item):  # which is what there is before
                    own = fresh(f"{name}_item", self.taken)
                    found += filled_in("ITEM = VALUE", node, ITEM=own, VALUE=item)
                    items[-1] = at_place(ast.Name(own, ast.Load()), item)
            found += filled_in("ROWS.append([])", node, ROWS=name)
            return [*found, *(s for i in items for s in filled_in("ROWS[-1].append(ITEM)", node, ROWS=name, ITEM=i))]
        if not isinstance(row, ast.Name):
            own = fresh(f"{name}_row", self.taken)
            found += filled_in("ROW = VALUE", node, ROW=own, VALUE=row)
            row = at_place(ast.Name(own, ast.Load()), row)
        text = "ROWS.append([])\nfor ITEM in ROW:\n    ROWS[-1].append(ITEM)"
        return [*found, *filled_in(text, node, ROWS=name, ROW=row, ITEM=fresh(f"{name}_item", self.taken))]
