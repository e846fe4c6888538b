"""Sets, and dictionaries that are filled later, as association lists: of their keys in the order in which these came,
and of what they stand for. Owns syntax alone; how long lists may become is for `growing`.
"""

from __future__ import annotations

import ast
import collections
import copy
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of
from ir.script.plain.syntax.counters import Renamed, late_nodes
from ir.script.plain.syntax.defaults import default_of
from ir.script.plain.syntax.filled import Filled, Put, filled_in
from ir.script.plain.syntax.kinds import SET_OPERATORS, Kinds, Meaning
from ir.script.plain.syntax.walking import Conditions, Statements
from ir.script.scope import Source

_ANY_ORDER = ("sum", "min", "max", "any", "all", "sorted", "len")  # for which the order of a set does not matter
_DICTIONARY = "look its keys up one by one, test them by `in`, or loop over them, over .values() or over .items()"
_SET = "members are added, removed, tested by `in` and looped over"
_CHANGING = ("add", "discard", "remove", "update", "setdefault")
_LATER = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda)
_Pair = tuple[str, str] | None


class _Keyed(Struct, frozen=True):
    """A set, or a dictionary with a list of `values`; keys that are not there stand for a `default` if there is one."""

    keys: str  # its own name
    values: str = ""
    default: ast.expr | None = None


def with_lists(node: ast.FunctionDef, source: Source, outer: Meaning) -> tuple[ast.FunctionDef, set[str], set[str]]:
    """A function with lists for its sets, and for dictionaries that it fills; the names of these lists, and of those no
    two items of which are the same.

    Raises:
        ParseError: something else is done with one.
    """
    kinds = Kinds(node, outer)
    if not any(isinstance(n, ast.expr) and kinds.of(n) for n in ast.walk(node)):
        return node, set(), set()
    node = copy.deepcopy(node)
    lists = _Lists(node, source, Kinds(node, outer))
    node.body = lists.statements(node.body)
    keys = {k.keys for k in lists.found.values()}
    return node, keys | {k.values for k in lists.found.values() if k.values}, keys


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _changes_keys(node: ast.For, name: str) -> bool:
    """Whether a loop adds keys to a dictionary or set, or takes some out."""
    owners = [n.value for s in node.body for n in ast.walk(s) if isinstance(n, ast.Attribute) and n.attr in _CHANGING]
    return _takes_out(node, name) or any(isinstance(n, ast.Name) and n.id == name for n in owners)


def _takes_out(node: ast.For, name: str) -> bool:
    """Whether a loop takes keys out of a dictionary."""
    for part in (n for s in node.body for n in ast.walk(s)):
        match part:
            case ast.Delete(targets=[ast.Subscript(value=ast.Name(id=owner))]) if owner == name:
                return True
            case ast.Attribute(value=ast.Name(id=owner), attr="pop" | "clear") if owner == name:
                return True
            case ast.Name(id=owner) if owner == name and _is_stored(part):
                return True
            case _:
                pass
    return False


def _any_order(node: ast.For) -> bool:
    """Whether a loop only adds up, or finds the greatest or least, so that the order of its steps does not matter."""
    totals: set[str] = set()
    others: list[ast.AST] = []
    for part in _written_in(node.body):
        match part:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.BitOr() | ast.BitXor(), value=value) if (
                not isinstance(value, ast.List)
            ):
                others.append(value)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="max" | "min"), args=[ast.Name(id=old), value], keywords=[]),
            ) if old == name:
                others.append(value)
            case ast.If(test=test):
                others.append(test)
                continue
            case ast.Continue() | ast.Pass():
                continue
            case _:
                return False
        totals.add(name)
    return not any(totals & names_of(part) for part in others)


def _written_in(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, and those in the branches of them."""
    for node in nodes:
        yield node
        if isinstance(node, ast.If):
            yield from _written_in([*node.body, *node.orelse])


class _Lists(Statements):
    """Writes lists in place of sets and dictionaries."""

    def __init__(self, node: ast.FunctionDef, source: Source, kinds: Kinds) -> None:
        self.source, self.kinds, self.taken = source, kinds, all_names(node)
        self.found: dict[str, _Keyed] = {}
        self.running: dict[str, str] = {}  # names that run over the keys of a dictionary
        self.absent: _Pair = None  # a dictionary, and the text of a key that it does not have
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in kinds.named:
                    self._open(name, value)
                case _:
                    pass

    def _open(self, name: str, value: ast.expr) -> _Keyed:
        if name not in self.found:
            values = fresh(f"{name}_values", self.taken) if self.kinds.of(value) == "dict" else ""
            self.found[name] = _Keyed(name, values, self._default(value))
        return self.found[name]

    def _default(self, value: ast.expr) -> ast.expr | None:
        """What keys stand for that a dictionary does not have."""
        called = self.kinds.called(value)
        if called is collections.Counter:
            return ast.Constant(0)
        if called is not collections.defaultdict:
            return None
        if (default := default_of(value, self.kinds)) is None or isinstance(default, ast.List):
            hint = "the items of a defaultdict are numbers or lists here, as in defaultdict(int)"
            raise self.source.error("unsupported", f"`{ast.unparse(value)}` is not supported", value, help=hint)
        return default

    # Statements ------------------------------------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.For(iter=over, target=target):
                before = self._hoisted(node, [over])
                over = node.iter
                before += self._copied(node)
                node.iter = self.over(node.iter, _any_order(node))
                name = self._keys_looped(over)
                inner = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
                stored = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and _is_stored(n)}
                if name and isinstance(inner, ast.Name) and inner.id not in stored and not _takes_out(node, name):
                    self.running[inner.id] = name
                node.body = self.statements(node.body)
                if isinstance(inner, ast.Name):
                    self.running.pop(inner.id, None)
                node.orelse = self.statements(node.orelse)
                return [*before, node]
            case ast.While() | ast.If():
                before = self._hoisted(node, [node.test]) if isinstance(node, ast.If) else []
                absent, present = self._tested(node.test)
                node.test = _Reads(self).truth(node.test)
                node.body, node.orelse = self._without(absent, node.body), self._without(present, node.orelse)
                return [*before, node]
            case _:
                before = self._hoisted(node, [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)])
                return [*before, *self._simple(node)]

    def _tested(self, test: ast.expr) -> tuple[_Pair, _Pair]:
        """The dictionary and key that is not there where a condition holds, and where it does not."""
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return next((pair for value in values if (pair := self._tested(value)[0])), None), None
            case ast.Compare(left=key, ops=[op], comparators=[ast.Name(id=name)]) if name in self.found and all(
                isinstance(k, (ast.Name, ast.Constant)) for k in (key.elts if isinstance(key, ast.Tuple) else [key])
            ):
                pair = name, ast.unparse(key)
                return (pair, None) if isinstance(op, ast.NotIn) else (None, pair if isinstance(op, ast.In) else None)
            case _:
                return None, None

    def _without(self, absent: _Pair, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Statements at whose beginning a dictionary does not have a key: one that stores to it appends."""
        found: list[ast.stmt] = []
        for node in nodes:
            self.absent, outside = absent, self.absent
            stores = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)}
            if absent is not None and ({absent[0]} & names_of(node) or stores & names_of(ast.parse(absent[1]))):
                absent = None
            simple = isinstance(node, (ast.Assign, ast.Expr))
            self.absent = self.absent if simple else None
            found += self.statements([node])
            self.absent = outside
        return found

    def _simple(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.found:
                return self._started(node, name, value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value) if self._values(
                name
            ):
                return self._stored(node, name, key, value)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=key), op=op, value=value) if (
                self._values(name)
            ):
                return self._updated(node, name, key, op, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if name in self.found:
                return self._simple(at_place(ast.Assign([ast.Name(name, ast.Store())], ast.BinOp(
                    ast.Name(name, ast.Load()), op, value)), node)) if not isinstance(op, ast.BitOr) else (
                    self._filled(node, name, value))  # fmt: skip
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args)) if (
                name in self.found
            ):
                return self._called(node, name, attr, args)
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[key])
            ) if self._values(name):
                return self._taken(node, name, key, target)
            case ast.Delete(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)]) if self._values(name):
                return self._taken(node, name, key, None)
            case _:
                return [self._reading(node)]

    def _values(self, name: str) -> str:
        return self.found[name].values if name in self.found else ""

    def _started(self, node: ast.stmt, name: str, value: ast.expr) -> list[ast.stmt]:
        """`name = ...`: no keys, and those that are there added."""
        keyed = self.found[name]
        names: dict[str, str | ast.expr] = {"KEYS": keyed.keys, "VALUES": keyed.values}
        lines = ["KEYS = NEW_KEYS", "VALUES = NEW_VALUES"] if keyed.values else ["KEYS = NEW_KEYS"]
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)):  # what there is goes into a new one
            other = fresh(f"{name}_new", self.taken)
            new = self._open(other, value)
            made = self._started(node, other, value)
            return [*made, *filled_in("\n".join(lines), node, **names, NEW_KEYS=new.keys, NEW_VALUES=new.values)]
        nothing = ast.List([], ast.Load())
        empty = filled_in("\n".join(lines), node, **names, NEW_KEYS=nothing, NEW_VALUES=nothing)
        return [*empty, *self._filled(node, name, value)]

    def _filled(self, node: ast.stmt, name: str, value: ast.expr) -> list[ast.stmt]:
        """Statements that add what is in an expression."""
        keyed = self.found[name]
        called = self.kinds.called(value)
        match value:
            case ast.Set(elts=items):
                return [new for item in items for new in self._added(node, name, item)]
            case ast.SetComp(elt=item, generators=parts):
                return self._looped(parts, lambda: self._added(node, name, item))
            case ast.DictComp(key=key, value=item, generators=parts):
                return self._looped(parts, lambda: self._stored(node, name, key, item))
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
                return self._combined(node, name, left, op, right)
            case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[over, item]):
                return self._each(node, self._keys_of(over), lambda key: self._stored(node, name, key, item))
            case ast.Call(args=[over]) if called is collections.Counter:
                one = ast.Constant(1)
                return self._each(node, self._keys_of(over), lambda k: self._updated(node, name, k, ast.Add(), one))
            case ast.Dict(keys=keys, values=items):
                pairs = zip(keys, items, strict=True)
                return [new for key, item in pairs if key for new in self._stored(node, name, key, item)]
            case ast.Call(args=args) if called is collections.defaultdict or (called is not None and not args):
                return []
            case ast.Name(id=other) if other in self.found and isinstance(node, ast.Assign):
                hint = f"copy it, as in {other}.copy()"
                raise self.source.error("unsupported", f"another name for `{other}`", value, help=hint)
            case ast.Call(func=ast.Attribute(value=over, attr="copy"), args=[]):
                value = over
            case ast.Call(args=[over]) if self.kinds.of(value):
                value = over
            case _:
                pass
        if not keyed.values:
            return self._each(node, self._keys_of(value), lambda key: self._added(node, name, key))
        key, item = (ast.Name(fresh(f"{name}_{role}", self.taken), ast.Load()) for role in ("key", "value"))
        target = ast.Tuple([ast.Name(n.id, ast.Store()) for n in (key, item)], ast.Store())
        other = self.found.get(value.id) if isinstance(value, ast.Name) else None
        pairs = self.read(value) if other is None else self.zipped(other, value)
        return [at_place(ast.For(target, pairs, self._stored(node, name, key, item), []), node)]

    def zipped(self, keyed: _Keyed, node: ast.AST) -> ast.expr:
        """The keys of a dictionary with what they stand for."""
        return self.written("zip(KEYS, VALUES)", node, KEYS=keyed.keys, VALUES=keyed.values)

    def _keys_of(self, over: ast.expr) -> ast.expr:
        """What runs over the keys of a set or dictionary, or over anything else."""
        keyed = self.found.get(over.id) if isinstance(over, ast.Name) else None
        return self.read(over) if keyed is None else ast.copy_location(ast.Name(keyed.keys, ast.Load()), over)

    def _each(self, node: ast.stmt, over: ast.expr, inner: Callable[[ast.expr], list[ast.stmt]]) -> list[ast.stmt]:
        """A loop over keys."""
        key = fresh("key", self.taken)
        return [at_place(ast.For(ast.Name(key, ast.Store()), over, inner(ast.Name(key, ast.Load())), []), node)]

    def _looped(self, parts: list[ast.comprehension], inner: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """The loops of a comprehension, whose names are its own."""
        nodes: list[ast.stmt] = inner()
        for part in reversed(parts):
            for test in reversed(part.ifs):
                nodes = [at_place(ast.If(_Reads(self).truth(test), nodes, []), test)]
            nodes = [at_place(ast.For(part.target, self.over(part.iter), nodes, []), part.iter)]
        own = Renamed({n: fresh(n, self.taken) for p in parts for n in sorted(names_of(p.target))})
        (outermost,) = nodes
        assert isinstance(outermost, ast.For)
        outermost.target = own.visit(outermost.target)
        outermost.body = [own.visit(n) for n in outermost.body]
        return nodes

    def _combined(self, node: ast.stmt, name: str, left: ast.expr, op: ast.operator, right: ast.expr) -> list[ast.stmt]:
        """`a | b` and its kind."""
        before: list[ast.stmt] = []
        sides: list[str] = []
        for side in (left, right):
            if isinstance(side, ast.Name) and side.id in self.found:
                sides.append(self.found[side.id].keys)
                continue
            new = fresh(f"{name}_part", self.taken)
            sides.append(self._open(new, side).keys)
            before += self._started(at_place(ast.Pass(), node), new, side)

        def those(one: str, test: str, other: str) -> list[ast.stmt]:
            """Add the keys of one side that pass a test."""

            def add(key: ast.expr) -> list[ast.stmt]:
                added = self._added(node, name, key)
                if not test:
                    return added
                (cond,) = filled_in(f"if KEY {test} OTHER:\n    pass", node, KEY=key, OTHER=other)
                assert isinstance(cond, ast.If)
                cond.body = added
                return [cond]

            return self._each(node, at_place(ast.Name(one, ast.Load()), node), add)

        a, b = sides
        match op:
            case ast.BitOr():
                return [*before, *those(a, "", b), *those(b, "", a)]
            case ast.BitAnd():
                return [*before, *those(a, "in", b)]
            case ast.Sub():
                return [*before, *those(a, "not in", b)]
            case _:
                return [*before, *those(a, "not in", b), *those(b, "not in", a)]

    def _called(self, node: ast.stmt, name: str, attr: str, args: list[ast.expr]) -> list[ast.stmt]:
        keyed = self.found[name]
        match attr, args, bool(keyed.values):
            case "add", [item], False:
                return self._added(node, name, item)
            case "discard" | "remove", [item], False:
                before, key = self._kept(item, "key")
                text = "KEYS.pop(KEYS.index(KEY))"
                text = text if attr == "remove" else f"if KEY in KEYS:\n    {text}"
                return [*before, *filled_in(text, node, KEYS=keyed.keys, KEY=key)]
            case "clear", [], _:
                text = "KEYS.clear()\nVALUES.clear()" if keyed.values else "KEYS.clear()"
                return filled_in(text, node, KEYS=keyed.keys, VALUES=keyed.values)
            case "update", [over], _:
                return self._filled(node, name, over)
            case "setdefault", [key, value], True:
                before, key = self._kept(key, "key")
                text = "if KEY not in KEYS:\n    KEYS.append(KEY)\n    VALUES.append(VALUE)"
                return [*before, *filled_in(text, node, KEYS=keyed.keys, VALUES=keyed.values, KEY=key,
                                               VALUE=self.read(value))]  # fmt: skip
            case "pop", [key], True:
                return self._taken(node, name, key, None)
            case _:
                raise self.error(node, name)

    def _added(self, node: ast.stmt, name: str, item: ast.expr) -> list[ast.stmt]:
        absent = self.absent == (name, ast.unparse(item))
        before, key = self._kept(item, "key")
        text = "KEYS.append(KEY)" if absent else "if KEY not in KEYS:\n    KEYS.append(KEY)"
        return [*before, *filled_in(text, node, KEYS=self.found[name].keys, KEY=key)]

    def _stored(self, node: ast.stmt, name: str, key: ast.expr, value: ast.expr) -> list[ast.stmt]:
        keyed, given = self.found[name], ast.unparse(key)
        there = isinstance(key, ast.Name) and self.running.get(key.id) == name
        before, value = self._kept(value, "value")
        then, key = self._kept(key, "key")
        text = "VALUES[KEYS.index(KEY)] = VALUE"
        if self.absent == (name, given):
            text = "KEYS.append(KEY)\nVALUES.append(VALUE)"
        elif not there:
            text = f"if KEY in KEYS:\n    {text}\nelse:\n    KEYS.append(KEY)\n    VALUES.append(VALUE)"
        stored = filled_in(text, node, KEYS=keyed.keys, VALUES=keyed.values, KEY=key, VALUE=value)
        return [*before, *then, *stored]

    def _updated(self, node: ast.stmt, name: str, key: ast.expr, op: ast.operator, value: ast.expr) -> list[ast.stmt]:
        keyed = self.found[name]
        before, key = self._kept(key, "key")
        names: dict[str, str | ast.expr] = {"KEYS": keyed.keys, "VALUES": keyed.values, "KEY": key}
        if keyed.default is not None:
            text = "if KEY not in KEYS:\n    KEYS.append(KEY)\n    VALUES.append(DEFAULT)"
            before += filled_in(text, node, **names, DEFAULT=keyed.default)
        (stmt,) = filled_in("VALUES[KEYS.index(KEY)] += VALUE", node, **names, VALUE=self.read(value))
        assert isinstance(stmt, ast.AugAssign)
        stmt.op = op
        return [*before, stmt]

    def _taken(self, node: ast.stmt, name: str, key: ast.expr, target: ast.expr | None) -> list[ast.stmt]:
        """`target = name.pop(key)`."""
        keyed, at = self.found[name], fresh(f"{name}_at", self.taken)
        names: dict[str, str | ast.expr] = {"KEYS": keyed.keys, "VALUES": keyed.values, "AT": at}
        text = "AT = KEYS.index(KEY)\nKEYS.pop(AT)\nITEM = VALUES.pop(AT)"
        found = filled_in(text, node, **names, KEY=self.read(key), ITEM=fresh(f"{name}_item", self.taken))
        if target is not None:
            last = found[-1]
            assert isinstance(last, ast.Assign)
            last.targets = [target]
        return found

    def _kept(self, value: ast.expr, role: str) -> tuple[list[ast.stmt], ast.expr]:
        """A value that is looked at several times, with what gives it a name if it has none."""
        value = self.read(value)
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if all(isinstance(p, (ast.Name, ast.Constant)) for p in parts):
            return [], value
        name = fresh(f"{role}_1", self.taken)
        return filled_in("NAME = VALUE", value, NAME=name, VALUE=value), ast.Name(name, ast.Load())

    def written(self, text: str, node: ast.AST, **parts: str | ast.expr) -> ast.expr:
        """An expression of a text with places to fill."""
        return Filled(parts).expression(text, node)

    # Expressions -----------------------------------------------------------------------------------------------------

    def _hoisted(self, node: ast.stmt, parts: Sequence[ast.AST]) -> list[ast.stmt]:
        """Sets that have no name, as in `len(set(x))`, made before a statement; they stand in it by name."""
        late = late_nodes(*parts)
        inner = {n for p in parts for q in ast.walk(p) if isinstance(q, _LATER) for n in ast.walk(q)}
        late -= {n for n in late - inner if isinstance(n, ast.BinOp) and self._is_combined(n)}
        tests = {
            c
            for p in parts
            for n in ast.walk(p)
            if isinstance(n, ast.Compare)
            for op, c in zip(n.ops, n.comparators, strict=True)
            if isinstance(op, (ast.In, ast.NotIn))
        }
        found: list[ast.stmt] = []
        done: set[ast.AST] = set()
        for part in (n for p in parts for n in ast.walk(p)):
            if not isinstance(part, ast.expr) or isinstance(part, ast.Name) or part in late | done:
                continue
            named = self.kinds.of(part)
            if named != "set" or (part in tests and isinstance(part, ast.Set)):
                continue
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and self._is_filled(node, part):
                continue
            name = fresh("members", self.taken)
            self._open(name, part)
            self.kinds.named[name] = "set"
            found += self._started(at_place(ast.Assign([ast.Name(name, ast.Store())], part), part), name, part)
            done |= {*ast.walk(part)}
            Put(part, at_place(ast.Name(name, ast.Load()), part)).visit(node)
        return found

    def _is_combined(self, node: ast.expr) -> bool:
        """Whether an expression combines sets that have names, which may be done where it does not run, too."""
        match node:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
                return self._is_combined(left) and self._is_combined(right)
            case _:
                return isinstance(node, ast.Name) and node.id in self.found and not self._values(node.id)

    def _is_filled(self, node: ast.stmt, part: ast.AST) -> bool:
        """Whether a statement gives a set or dictionary what is in `part`."""
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ):
                return name in self.found and part in ast.walk(value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=args)):
                return name in self.found and part in args
            case _:
                return False

    def _copied(self, node: ast.For) -> list[ast.stmt]:
        """`for k in list(name)`, where the loop adds keys or takes some out: over a copy of them."""
        match node.iter:
            case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple"), args=[ast.Name(id=name)]) if (
                name in self.found and _changes_keys(node, name)
            ):
                copied = fresh(f"{name}_copied", self.taken)
                text = "COPIED = KEYS.copy()" if self._values(name) else "COPIED = sorted(KEYS)"
                made = filled_in(text, node.iter, COPIED=copied, KEYS=self.found[name].keys)
                over: ast.expr = ast.Name(copied, ast.Load())
                if ast.unparse(node.iter.func) == "sorted":
                    over = ast.Call(node.iter.func, [over], node.iter.keywords)
                node.iter = at_place(over, node.iter)
                return made
            case _:
                return []

    def _keys_looped(self, over: ast.expr) -> str:
        """The dictionary whose keys a loop runs over."""
        match over:
            case (
                ast.Name(id=name)
                | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items" | "keys"))
                | ast.Call(func=ast.Name(id="sorted" | "list"), args=[ast.Name(id=name), *_])
            ) if self._values(name):
                return name
            case _:
                return ""

    def over(self, node: ast.expr, any_order: bool = False) -> ast.expr:
        """What a loop runs over: members of sets in ascending order, if it is not known that any will do."""
        if not isinstance(node, ast.Name) or node.id not in self.found:
            return self.read(node)
        text = "KEYS" if self._values(node.id) or any_order else "sorted(KEYS)"
        return self.written(text, node, KEYS=self.found[node.id].keys)

    def _reading(self, node: ast.stmt) -> ast.stmt:
        found: ast.stmt = _Reads(self).visit(node)
        return found

    def read(self, node: ast.expr) -> ast.expr:
        """An expression that looks at lists."""
        found: ast.expr = _Reads(self).visit(node)
        return found

    def error(self, node: ast.AST, name: str) -> Exception:
        hint = _DICTIONARY if self._values(name) else _SET
        text = ast.unparse(node)
        return self.source.error("unsupported", f"`{text}` is not supported", node, help=hint)


class _Reads(Conditions):
    """Looks at lists in place of sets and dictionaries."""

    def __init__(self, lists: _Lists) -> None:
        self.lists, self.found = lists, lists.found
        self.sets: set[ast.expr] = set()  # what is run over where the order does not matter

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        match node:
            case ast.Compare(
                left=ast.Name(id=a), ops=[ast.Eq() | ast.LtE() | ast.GtE() as op], comparators=[ast.Name(id=b)]
            ) if {a, b} <= {*self.found} and not (self.found[a].values or self.found[b].values):
                return self._of_sets(node, *((b, a) if isinstance(op, ast.GtE) else (a, b)), isinstance(op, ast.Eq))
            case _:
                node.left = self.visit(node.left)
                node.comparators = [
                    self._tested(c) if isinstance(op, (ast.In, ast.NotIn)) else self.visit(c)
                    for op, c in zip(node.ops, node.comparators, strict=True)
                ]
                return node

    def _tested(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name) and node.id in self.found:
            return self._keys(node)
        if isinstance(node, ast.Set):
            return ast.copy_location(ast.Tuple([self.visit(e) for e in node.elts], ast.Load()), node)
        return self.visit(node)

    def _of_sets(self, node: ast.AST, a: str, b: str, equal: bool) -> ast.expr:
        """Whether a set is a part of another, or has the same members."""
        names = {"AS": self.found[a].keys, "BS": self.found[b].keys, "K": fresh("key", self.lists.taken)}
        text = "all(K in BS for K in AS)"
        return self.lists.written(f"len(AS) == len(BS) and {text}" if equal else text, node, **names)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args) if name in self.found:
                return self._method(node, name, attr, args)
            case ast.Call(func=ast.Name(id="max" | "min"), args=[ast.Name(id=name)], keywords=[
                ast.keyword(arg="key", value=ast.Attribute(value=ast.Name(id=other), attr="get"))
            ]) if name == other and self.found.get(name, _Keyed("")).values:  # fmt: skip
                keyed = self.found[name]
                text = f"KEYS[VALUES.index({ast.unparse(node.func)}(VALUES))]"
                return self.lists.written(text, node, KEYS=keyed.keys, VALUES=keyed.values)
            case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=name), *_]) if name in self.found:
                if function in ("list", "tuple") and not self.found[name].values:
                    return self.lists.written("sorted(KEYS)", node, KEYS=self.found[name].keys)
                if function in (*_ANY_ORDER, "list", "tuple"):
                    node.args[1:] = [self.visit(a) for a in node.args[1:]]
                    node.keywords = [self.visit(k) for k in node.keywords]
                    return node
                return self.generic_visit(node)
            case ast.Call(func=ast.Name(id=function), args=[ast.GeneratorExp() as inner]) if function in _ANY_ORDER:
                self.sets = {n.iter for n in inner.generators}
                return self.generic_visit(node)
            case _:
                return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        named = isinstance(node.iter, ast.Name) and node.iter.id in self.found and node.iter in self.sets
        node.iter = node.iter if named else self.lists.over(node.iter)
        node.ifs = [self.truth(test) for test in node.ifs]
        return node

    def _method(self, node: ast.Call, name: str, attr: str, args: list[ast.expr]) -> ast.expr:
        keyed = self.found[name]
        names: dict[str, str | ast.expr] = {"KEYS": keyed.keys, "VALUES": keyed.values}
        match attr, args, bool(keyed.values):
            case "keys", [], True:
                return self.lists.written("KEYS", node, **names)
            case "values", [], True:
                return self.lists.written("VALUES", node, **names)
            case "items", [], True:
                return self.lists.zipped(keyed, node)
            case "most_common", [] | [_], True:
                pair, count = fresh("pair", self.lists.taken), {"COUNT": self.visit(args[0])} if args else {}
                text = f"sorted(zip(KEYS, VALUES), key=lambda {pair}: -{pair}[1])" + "[:COUNT]" * len(args)
                return self.lists.written(text, node, **names, **count)
            case "get", [key, default], True:
                return self._looked_up(node, name, key, self.visit(default))
            case "issubset" | "issuperset", [ast.Name(id=other)], False if other in self.found:
                return self._of_sets(node, *((name, other) if attr == "issubset" else (other, name)), False)
            case "isdisjoint", [ast.Name(id=other)], False if other in self.found:
                names |= {"OTHER": self.found[other].keys, "K": fresh("key", self.lists.taken)}
                return self.lists.written("not any(K in OTHER for K in KEYS)", node, **names)
            case _:
                raise self.lists.error(node, name)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.value, ast.Name) or node.value.id not in self.found:
            return self.generic_visit(node)
        name = node.value.id
        keyed = self.found[name]
        if not keyed.values or not isinstance(node.ctx, ast.Load):
            raise self.lists.error(node, name)
        return self._looked_up(node, name, node.slice, keyed.default)

    def _looked_up(self, node: ast.expr, name: str, key: ast.expr, default: ast.expr | None) -> ast.expr:
        keyed, key = self.found[name], self.visit(key)
        text = "VALUES[KEYS.index(KEY)]" if default is None else "VALUES[KEYS.index(KEY)] if KEY in KEYS else DEFAULT"
        given = {} if default is None else {"DEFAULT": default}
        return self.lists.written(text, node, KEYS=keyed.keys, VALUES=keyed.values, KEY=key, **given)

    def truth(self, node: ast.expr) -> ast.expr:
        """A condition, which may ask whether there is anything in a set or dictionary."""
        found: ast.expr = self._keys(node) if isinstance(node, ast.Name) and node.id in self.found else self.visit(node)
        return found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.found:
            raise self.lists.error(node, node.id)
        return node

    def _keys(self, node: ast.expr) -> ast.expr:
        assert isinstance(node, ast.Name)
        return ast.copy_location(ast.Name(self.found[node.id].keys, ast.Load()), node)
