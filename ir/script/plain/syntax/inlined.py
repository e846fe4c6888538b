"""Functions within a function that change what it has: each of their calls becomes their statements.

Owns syntax alone. So that lists, dictionaries and numbers of the function around are changed where Python changes
them, the statements must stand in that function. A call that is a part of a statement is worked out before it, where
nothing of the statement can tell the difference. What cannot be put in place stays, and is refused where it is read.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from ir.script.plain.loops.counting import at_place

_CHANGING = frozenset((
    "append", "appendleft", "extend", "insert", "add", "update", "setdefault", "pop", "popleft", "popitem", "remove",
    "discard", "clear", "sort", "reverse", "heappush", "heappop",
))  # fmt: skip
_COLLECTIONS = frozenset(("dict", "defaultdict", "Counter", "OrderedDict", "set", "deque", "list"))
_MOST = 200  # calls that are put in place


class _Stays(Exception):
    """A function or a call cannot be put in place."""


def with_outer_changes(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function in which those within it that change its lists, dictionaries or numbers are put in place."""
    stay: set[str] = set()
    while wanted := [f.name for f in _functions(node) if f.name not in stay and _changed(f, node)]:
        new = copy.deepcopy(node)
        try:
            _Inlining(next(f for f in _functions(new) if f.name == wanted[0]), new).run()
        except _Stays:
            stay.add(wanted[0])
        else:
            node = new
    return node


def _functions(node: ast.FunctionDef) -> list[ast.FunctionDef]:
    return [n for n in _within(node.body) if isinstance(n, ast.FunctionDef)]


class _Fresh:
    """Names that a function has not."""

    def __init__(self, node: ast.FunctionDef) -> None:
        self.taken = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.taken |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}

    def __call__(self, wish: str) -> str:
        name, k = wish, 0
        while name in self.taken:
            k += 1
            name = f"{wish}_{k}"
        self.taken.add(name)
        return name


def _changed(function: ast.FunctionDef, around: ast.FunctionDef) -> set[str]:
    """Names of the function around whose number or collection a function changes."""
    own = _own(function)
    collections = _collections(around)
    found: set[str] = set()
    for n in (n for s in function.body for n in ast.walk(s)):
        match n:
            case ast.Nonlocal(names=names):
                found.update(names)
            case ast.Call(func=ast.Attribute(attr=attr) as called) if attr in _CHANGING:
                first = n.args[0] if attr.startswith("heap") and n.args else called.value
                found.add(_root(first))
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _CHANGING:
                found.add(_root(first))
            case ast.Subscript(ctx=ast.Store() | ast.Del()) if _root(n) in collections:
                found.add(_root(n))
            case ast.AugAssign(target=ast.Subscript() as target) if _root(target) in collections:
                found.add(_root(target))
            case _:
                pass
    args = function.args
    given = {a.arg for a in (*args.posonlyargs, *args.args)} - _stored(function.body)
    return {name for name in found if name and (name in given or (name not in own and name in _own(around)))}


def _own(function: ast.FunctionDef) -> set[str]:
    """Names that are a function's own: its parameters, and what it assigns."""
    args = function.args
    found = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    outer: set[str] = set()
    for n in _within(function.body):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            found.add(n.id)
        elif isinstance(n, ast.FunctionDef):
            found.add(n.name)
        elif isinstance(n, ast.Nonlocal):
            outer.update(n.names)
    return found - outer


def _within(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All of some syntax, without what stands in functions within it."""
    for node in nodes:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            yield from _within([*ast.iter_child_nodes(node)])


def _collections(around: ast.FunctionDef) -> set[str]:
    """Names that stand for dictionaries, or for lists that begin with nothing in them."""
    found: set[str] = set()
    for n in _within(around.body):
        match n:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                called = value.func if isinstance(value, ast.Call) else None
                kind = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                empty = isinstance(value, ast.List) and not value.elts
                if isinstance(value, (ast.Dict, ast.DictComp)) or kind in _COLLECTIONS or empty:
                    found.add(name)
            case _:
                pass
    return found


def _root(node: ast.expr) -> str:
    """The name that a part of something begins with."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


class _Inlining:
    """One function, which is put in the place of its calls."""

    def __init__(self, function: ast.FunctionDef, around: ast.FunctionDef) -> None:
        self.function, self.around, self.fresh = function, around, _Fresh(around)
        self.changed, self.calls = _changed(function, around), 0

    def run(self) -> None:
        """Put all calls in place, and leave the definition out.

        Raises:
            _Stays: one of them has to stay.
        """
        function, args = self.function, self.function.args
        inside = [*_within(function.body)]
        if function.decorator_list or args.vararg or args.kwarg or _names(function.body, function.name):
            raise _Stays
        if any(isinstance(n, (ast.FunctionDef, ast.Lambda, ast.Yield, ast.YieldFrom, ast.Global)) for n in inside):
            raise _Stays
        self.around.body = self._block(self.around.body)
        again = any(f.name == function.name for f in _functions(self.around))
        if again or _names(self.around.body, function.name):
            raise _Stays

    def _block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [new for node in nodes for new in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if node is self.function:
            return []
        match node:
            case ast.FunctionDef():
                count, own = self.calls, _own(node)
                node.body = self._block(node.body)
                if self.calls > count and self._free() & own:
                    raise _Stays
                if self.calls > count and (names := sorted(n for n in self.changed if n in _stored(node.body))):
                    node.body.insert(0, at_place(ast.Nonlocal(names), node))
                return [node]
            case ast.For() | ast.While():
                first = self._before(node, [node.iter]) if isinstance(node, ast.For) else []
                node.body, node.orelse = self._block(node.body), self._block(node.orelse)
                return [*first, node]
            case ast.If():
                first = self._before(node, [node.test])
                node.body, node.orelse = self._block(node.body), self._block(node.orelse)
                return [*first, node]
            case ast.With():
                first = self._before(node, node.items)
                node.body = self._block(node.body)
                return [*first, node]
            case ast.Try() | ast.ClassDef():
                return [node]
            case ast.Expr(value=ast.Call() as call) if self._is_call(call):
                return self._called(call, None)
            case _:
                return [*self._before(node, [node]), node]

    def _is_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == self.function.name

    def _before(self, statement: ast.stmt, parts: Sequence[ast.AST]) -> list[ast.stmt]:
        """What is worked out before a statement, in which names stand for the calls."""
        calls = [c for part in parts for c in self._surely(part)]
        if not calls:
            return []
        inner = {n for c in calls for a in (*c.args, *c.keywords) for n in ast.walk(a)}
        beside = {n.id for p in parts for n in ast.walk(p) if isinstance(n, ast.Name) and n not in inner}
        others = {f.name for f in _functions(self.around)} - {self.function.name}  # which may read what changes
        if len(calls) > 1 or beside & (self.changed | self._stored_into() | others):
            raise _Stays
        found: list[ast.stmt] = []
        named: dict[ast.AST, ast.expr] = {}
        for call in calls:
            result = self.fresh(f"{self.function.name}_result")
            found += self._called(call, result)
            named[call] = ast.copy_location(ast.Name(result, ast.Load()), call)
        for n in ast.walk(statement):
            for field, value in ast.iter_fields(n):
                if isinstance(value, ast.AST) and value in named:
                    setattr(n, field, named[value])
                elif isinstance(value, list):
                    setattr(n, field, [named.get(v, v) if isinstance(v, ast.AST) else v for v in value])
        return found

    def _surely(self, node: ast.AST) -> Iterator[ast.Call]:
        """The calls that a statement or expression makes in any case, and once."""
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            yield from self._surely(node.test if isinstance(node, ast.IfExp) else node.values[0])
        elif isinstance(node, ast.Compare):
            yield from (c for part in (node.left, node.comparators[0]) for c in self._surely(part))
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            for child in ast.iter_child_nodes(node):
                yield from self._surely(child)
            if self._is_call(node):
                assert isinstance(node, ast.Call)
                yield node

    def _stored_into(self) -> set[str]:
        """Names of what the function stores elements into."""
        found = (n for s in self.function.body for n in ast.walk(s) if isinstance(n, ast.Subscript))
        return {_root(n) for n in found if isinstance(n.ctx, ast.Store)}

    def _free(self) -> set[str]:
        """Names of the function that are not its own."""
        own = _own(self.function)
        return {n.id for s in self.function.body for n in ast.walk(s) if isinstance(n, ast.Name)} - own

    def _called(self, call: ast.Call, result: str | None) -> list[ast.stmt]:
        """The statements of a call, which give a name its result."""
        self.calls += 1
        if self.calls > _MOST:
            raise _Stays
        given, own = self._given(call), _own(self.function)
        body = [s for s in copy.deepcopy(self.function.body) if not isinstance(s, ast.Nonlocal) and not _is_text(s)]
        stored = _stored(self.function.body)
        names: dict[str, ast.expr] = {}
        first: list[ast.stmt] = []
        for name in sorted(own, key=lambda n: ([*given].index(n) if n in given else len(given), n)):
            value = given.get(name)
            steady = isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id not in self.changed)
            if value is not None and steady and name not in stored:
                names[name] = value
                continue
            new = self.fresh(name)
            names[name] = ast.Name(new, ast.Load())
            if value is not None:
                first.append(ast.Assign([ast.Name(new, ast.Store())], value))
        returns = _Returns(result, self.fresh)
        body = returns.block([_Renamed(names).visit(s) for s in body])
        if result is not None and not returns.always(self.function.body):
            first.append(ast.Assign([ast.Name(result, ast.Store())], ast.Constant(None)))
        elif result is not None and returns.done:  # a loop may give the result, so it has one before
            last = body[-1].body[-1] if isinstance(body[-1], ast.If) else body[-1]
            value = last.value if isinstance(last, ast.Assign) else None
            start = value if value is not None and _is_number(value) else ast.Constant(None)
            first.append(ast.Assign([ast.Name(result, ast.Store())], copy.deepcopy(start)))
        return [at_place(s, call) for s in (*first, *returns.first, *body)]

    def _given(self, call: ast.Call) -> dict[str, ast.expr]:
        """What a call gives to each parameter."""
        args = self.function.args
        params = [a.arg for a in (*args.posonlyargs, *args.args)]
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            raise _Stays
        found: dict[str, ast.expr] = dict(zip(params, call.args, strict=False))
        found |= {k.arg: k.value for k in call.keywords if k.arg is not None}
        optional = [*zip(params[::-1], args.defaults[::-1], strict=False)]
        optional += [(a.arg, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
        for name, default in optional:
            if name not in found and not isinstance(default, ast.Constant):
                raise _Stays
            found.setdefault(name, default)
        if len(call.args) > len(params) or found.keys() != {*params, *(a.arg for a in args.kwonlyargs)}:
            raise _Stays
        return found


def _is_number(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(nodes: Sequence[ast.AST], name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for node in nodes for n in ast.walk(node))


def _stored(nodes: Sequence[ast.stmt]) -> set[str]:
    found = (n for s in nodes for n in ast.walk(s))
    return {n.id for n in found if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}


class _Renamed(ast.NodeTransformer):
    """Writes expressions for names."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        found = self.names.get(node.id)
        if found is None:
            return node
        if isinstance(found, ast.Name):
            return ast.copy_location(ast.Name(found.id, node.ctx), node)
        return ast.copy_location(copy.deepcopy(found), node)


class _Returns:
    """Statements that come to their end in place of returning."""

    def __init__(self, result: str | None, fresh: _Fresh) -> None:
        self.result, self.fresh = result, fresh
        self.done = ""
        self.first: list[ast.stmt] = []

    def block(self, nodes: Sequence[ast.stmt], *, looped: bool = False) -> list[ast.stmt]:
        """A list of statements, of which those behind a `return` run only where it was not reached."""
        found: list[ast.stmt] = []
        for k, node in enumerate(nodes):
            rest = nodes[k + 1 :]
            match node:
                case ast.Return():
                    return [*found, *self._returned(node, looped=looped)]
                case ast.If() if _returns(node) and not looped:
                    if self.always(node.body):
                        node.body, node.orelse = self.block(node.body), self.block([*node.orelse, *rest])
                    elif self.always(node.orelse):
                        node.body, node.orelse = self.block([*node.body, *rest]), self.block(node.orelse)
                    else:
                        break
                    node.body = node.body or [at_place(ast.Pass(), node)]
                    return [*found, node]
                case ast.If() if _returns(node):
                    node.body, node.orelse = self.block(node.body, looped=True), self.block(node.orelse, looped=True)
                    found.append(node)
                case ast.For() | ast.While() if _returns(node):
                    node.body = self.block(node.body, looped=True)
                    if node.orelse:
                        raise _Stays
                    after: list[ast.stmt] = [ast.Break()] if looped else self.block(rest)
                    test: ast.expr = ast.Name(self.done, ast.Load())
                    ended = ast.If(test if looped else ast.UnaryOp(ast.Not(), test), after, [])
                    if looped:
                        found += [node, at_place(ended, node)]
                        continue
                    return [*found, node, *([at_place(ended, node)] if after else [])]
                case _:
                    found.append(node)
        else:
            return found
        raise _Stays

    def _returned(self, node: ast.Return, *, looped: bool) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        value = node.value
        if self.result is not None:
            found.append(ast.Assign([ast.Name(self.result, ast.Store())], value or ast.Constant(None)))
        elif value is not None and any(isinstance(n, ast.Call) for n in ast.walk(value)):
            raise _Stays
        if looped:
            if not self.done:
                self.done = self.fresh("done")
                self.first.append(ast.Assign([ast.Name(self.done, ast.Store())], ast.Constant(False)))
            found += [ast.Assign([ast.Name(self.done, ast.Store())], ast.Constant(True)), ast.Break()]
        return [at_place(s, node) for s in found]

    def always(self, nodes: Sequence[ast.stmt]) -> bool:
        """Whether statements return, whatever path is taken."""
        last = nodes[-1] if nodes else None
        if isinstance(last, ast.If):
            return self.always(last.body) and self.always(last.orelse)
        return isinstance(last, (ast.Return, ast.Raise))


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in _within([node]))
