"""`break`, `continue` and early `return` as conditions: from Python syntax to such as always runs to its end.

What follows an exit stands under a test of whether it was taken. A loop that was left runs on without doing anything,
and so does a `while` of which it is stated how many steps it takes at most.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct, field

from ir.naming import fresh
from ir.script.plain.loops.counting import Steps, at_place, counted, ending
from ir.script.plain.syntax.cells import assigned_by, names_in
from ir.script.plain.syntax.desugared import Recorded
from ir.script.plain.syntax.shorthand import raised
from ir.script.scope import Source

Exit = Literal["break", "continue", "return"]
_Form = int | tuple["_Form", ...]  # 1 for what is no tuple that is written out
_EXITS: dict[type[ast.stmt], Exit] = {ast.Break: "break", ast.Continue: "continue", ast.Return: "return"}


class Structured(Struct):
    """A function body without exits, but for one `return` at its end."""

    body: list[ast.stmt]
    results: frozenset[str] = frozenset()  # names that hold what is returned, each set on every path
    first: frozenset[ast.expr] = frozenset()  # tests of whether a loop goes on, which hold in its first step
    own: frozenset[str] = frozenset()  # those of the results that are no names of the function: only returns set them
    maybe: bool = False  # whether what is returned is whether that is None, and a number


def structured(
    node: ast.FunctionDef, source: Source, is_bound: Callable[[ast.expr], bool], captured: frozenset[str]
) -> Structured:
    """The body of a function with `break`, `continue` and early `return` written as conditions.

    `is_bound` says whether syntax names `loopsat.bound`; `captured` are names that functions within this one read.

    Raises:
        ParseError: a `return` gives a value, and another path does not; a loop that never ends.
    """
    return _Exits(node, source, is_bound, captured).run()


class _Place(Struct, frozen=True):
    """Where a list of statements stands: the flags of its loop, and whether anything runs after it."""

    stopped: str = ""
    skipped: str = ""
    loop_goes_on: bool = False  # whether something follows in the iteration
    function_goes_on: bool = False  # whether something follows in the function


class _Exits(Struct):
    node: ast.FunctionDef
    source: Source
    is_bound: Callable[[ast.expr], bool]
    captured: frozenset[str]
    used: set[str] = field(default_factory=lambda: set[str]())
    new: set[str] = field(default_factory=lambda: set[str]())
    results: list[str] = field(default_factory=lambda: list[str]())
    form: _Form | None = None  # of the tuple of results
    returned: str = ""
    first: set[ast.expr] = field(default_factory=lambda: set[ast.expr]())
    sure: set[str] = field(default_factory=lambda: set[str]())  # names that loops with an `else` assign on every path

    def run(self) -> Structured:
        node = self.node
        self.used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
            a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)
        }
        returns = [n for n in _within(node.body) if isinstance(n, ast.Return)]
        plain = not returns or (len(returns) == 1 and node.body[-1] is returns[0])
        last = returns[-1] if returns else node
        if plain:
            if returns:
                body = [*self._list(node.body[:-1], _Place(function_goes_on=True)), node.body[-1]]
                return Structured(body, frozenset(self.sure), frozenset(self.first))
            body = self._list(node.body, _Place())
            return Structured(body, frozenset(self.sure), frozenset(self.first))
        forms = {_form(r, nested=True) for r in returns}
        if len(forms) > 1:  # tuples in tuples may be those of one path alone, which is known when it is written
            forms = {_form(r, nested=False) for r in returns}
        if forms == {None, 1} and _leaves(node.body, ("return",)):
            self.node = copy.copy(node)
            self.node.body = [_OrNone().visit(copy.deepcopy(s)) for s in node.body]
            whole = self.run()
            whole.maybe = True
            return whole
        if len(forms) > 1:
            if None in forms:
                message = f"{node.name} returns None in some cases and a value in others"
                hint = "return a number that stands for none, such as -1 or np.nan, or a truth besides the value"
                raise self.source.error("return", message, last, help=hint)
            message = "`return` gives different numbers of results at different places"
            raise self.source.error("return", message, last, help="return the same number of results everywhere")
        (form,) = forms
        if form is not None and not _leaves(node.body, ("return",)):
            message = f"{node.name} returns a value on some paths only"
            raise self.source.error("return", message, last, help="end it with a `return` of its results")
        self.form = form
        count = len(_values(returns[0], form))
        self.results = [_same_name(returns, form, k) or self._fresh(f"result_{k}") for k in range(count)]
        self.sure |= set(self.results).intersection(*_at_exits(node.body, set(), ast.Return))
        self.returned = self._fresh("returned")
        start = _set(self.returned, False, node.body[0])
        body = self._list(node.body, _Place())
        if any(isinstance(n, ast.Name) and n.id == self.returned for s in body for n in ast.walk(s)):
            body = [start, *body]
        if form is not None:
            body.append(at_place(ast.Return(_formed(form, iter(self.results))), last))
        own = frozenset(self.results) & self.new
        return Structured(body, own | self.sure, frozenset(self.first), own)

    def _fresh(self, name: str) -> str:
        candidate = fresh(name, self.used)
        self.new.add(candidate)
        return candidate

    def _list(self, nodes: list[ast.stmt], place: _Place) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for k, node in enumerate(nodes):
            rest = nodes[k + 1 :]
            match node:
                case ast.Break():
                    return [*done, _set(place.stopped, True, node)]
                case ast.Continue():
                    return [*done, _set(place.skipped, True, node)] if place.loop_goes_on else done or [_pass(node)]
                case ast.Return():
                    return [*done, *self._return(node, place)]
                case ast.Raise():
                    return [*done, raised(node)]
                case ast.If() if exits := _exits(node):
                    return [*done, *self._branch(node, rest, exits, place)]
                case ast.If():
                    done.append(_if(node.test, self._list(node.body, place), self._list(node.orelse, place), node))
                case ast.For() | ast.While() if node.orelse:
                    return [*done, *self._with_else(node, rest, place)]
                case ast.For() | ast.While():
                    done += self._loop(node, place)
                    if "return" in _exits(node) and rest:
                        return [*done, self._unless(["return"], self._list(rest, place), place, node)]
                case _:
                    done.append(node)
        return done

    def _return(self, node: ast.Return, place: _Place) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        values = _values(node, self.form)
        changed = [(n, v) for n, v in zip(self.results, values, strict=True) if n in self.new]
        if changed:
            names: list[ast.expr] = [ast.Name(n, ast.Store()) for n, _ in changed]
            given = [v for _, v in changed]
            pair = (
                (names[0], given[0])
                if len(names) == 1
                else (ast.Tuple(names, ast.Store()), ast.Tuple(given, ast.Load()))
            )
            done.append(at_place(ast.Assign([pair[0]], pair[1]), node))
        if place.function_goes_on:
            done.append(_set(self.returned, True, node))
        return done or [_pass(node)]

    def _branch(self, node: ast.If, rest: list[ast.stmt], exits: set[Exit], place: _Place) -> list[ast.stmt]:
        """A branch that may leave, and what follows it."""
        if not rest or _leaves(node.body) or (node.orelse and _leaves(node.orelse)):
            then = [*node.body, *([] if _leaves(node.body) else rest)]
            other = [*node.orelse, *([] if node.orelse and _leaves(node.orelse) else rest)]
            return [_if(node.test, self._list(then, place), self._list(other, place), node)]
        goes_on = _Place(place.stopped, place.skipped, True, True)
        first = _if(node.test, self._list(node.body, goes_on), self._list(node.orelse, goes_on), node)
        return [first, self._unless(sorted(exits), self._list(rest, place), place, node)]

    def _unless(self, exits: list[Exit], body: list[ast.stmt], place: _Place, node: ast.AST) -> ast.stmt:
        flags = {"break": place.stopped, "continue": place.skipped, "return": self.returned}
        return _if(_none_of([flags[e] for e in exits]), body, [], node)

    def _loop(self, node: ast.For | ast.While, place: _Place) -> list[ast.stmt]:
        if isinstance(node, ast.While):
            self.sure |= _sure_after(node) if _forever(node) else set()
            if (limit := self._limit(node)) is not None:
                return self._bounded(node, limit, place)
            found = counted(node, self._fresh, self.captured)
            return self._ending(node, place) if found is None else [*self._for(found[0], place)[0], *found[1]]
        return self._for(node, place)[0]

    def _with_else(self, node: ast.For | ast.While, rest: list[ast.stmt], place: _Place) -> list[ast.stmt]:
        """A loop whose `else` runs where it was not left by `break`, and what follows it."""
        last, loop = node.orelse, copy.deepcopy(node)  # another path may have the same loop
        loop.orelse = []
        if not _breaks(node.body):
            return self._list([loop, *last, *rest], place)
        self.sure |= _sure_after(node)
        left = self._fresh("left")
        told: list[ast.stmt] = [_set(left, False, node), _Told(left).visit(loop)]
        return self._list([*told, _if(_none_of([left]), last, [], last[0]), *rest], place)

    def _limit(self, node: ast.While) -> ast.expr | None:
        """How many steps a loop takes at most, where its body begins by stating that."""
        match node.body[0]:
            case ast.Expr(value=ast.Call(func=func) as call) if self.is_bound(func):
                if len(call.args) == 1 and not call.keywords:
                    return call.args[0]
                message, hint = "loopsat.bound takes one number", "as in loopsat.bound(100)"
                raise self.source.error("arguments", message, call, help=hint)
            case _:
                return None

    def _ending(self, node: ast.While, place: _Place) -> list[ast.stmt]:
        """A loop of which it is not stated how many steps it takes."""
        steps = ending(node, self.captured)
        found, steps.flags = self._stepping(node, node.body, steps, place)
        return found

    def _stepping(
        self, node: ast.While, body: list[ast.stmt], steps: ast.expr, place: _Place
    ) -> tuple[list[ast.stmt], tuple[str, ...]]:
        """A loop over steps that is left where it would not go on, and the flags that say whether it was left."""
        left = [] if _forever(node) else [_if(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [], node.test)]
        variable = ast.Name(self._fresh("step"), ast.Store())
        loop = at_place(ast.For(variable, steps, [*left, *body] or [_pass(node)], []), node.test)
        found, flags = self._for(loop, place)
        if not flags:
            hint = "leave it with `break` or `return`"
            raise self.source.error("unsupported", "`while` without an end", node.test, help=hint)
        return found, tuple(flags)

    def _bounded(self, node: ast.While, limit: ast.expr, place: _Place) -> list[ast.stmt]:
        """A loop of that many steps, which says afterwards that it was left or would not go on."""
        forever = _forever(node)
        found, flags = self._stepping(node, node.body[1:], Steps(limit), place)
        ends: list[ast.expr] = [ast.Name(f, ast.Load()) for f in flags]
        if not forever:
            ends.append(ast.UnaryOp(ast.Not(), copy.deepcopy(node.test)))
        ended = ends[0] if len(ends) == 1 else ast.BoolOp(ast.Or(), ends)
        message = f"`{ast.unparse(node).splitlines()[0]}` goes on after {ast.unparse(limit)} steps"
        return [*found, at_place(ast.Assert(ended, ast.Constant(message)), node.test)]

    def _for(self, node: ast.For, place: _Place) -> tuple[list[ast.stmt], list[str]]:
        """A loop over items, and the flags that say whether it was left."""
        inside = {e for s in node.body for e in _exits(s)}
        stopped = self._fresh("stopped") if "break" in inside else ""
        skipped = self._fresh("skipped") if "continue" in inside else ""
        body = self._list(node.body, _Place(stopped, skipped, False, True))
        if skipped and any(isinstance(n, ast.Name) and n.id == skipped for s in body for n in ast.walk(s)):
            body = [_set(skipped, False, node), *body]
        target = node.target
        flags = [f for f in (stopped, self.returned if "return" in inside else "") if f]
        if flags:
            target = self._renamed(target)  # a loop that was left keeps the values that its variables had
            body = [at_place(ast.Assign([node.target], _read(target)), node.target), *body]
            test = _none_of(flags)
            self.first.add(test)
            body = [_if(test, body, [], node)]
        loop = ast.copy_location(ast.For(target, node.iter, body, []), node)
        return [_set(stopped, False, node), loop] if stopped else [loop], flags

    def _renamed(self, target: ast.expr) -> ast.expr:
        """A target like this one, of new names."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return at_place(ast.Tuple([self._renamed(t) for t in target.elts], ast.Store()), target)
        name = target.id if isinstance(target, ast.Name) else "item"
        return at_place(ast.Name(self._fresh(f"{name}_"), ast.Store()), target)


def _surely(nodes: list[ast.stmt]) -> set[str]:
    """Names that statements assign on every path to their end."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.If():
                ways = [_surely(part) for part in (node.body, node.orelse) if not _leaves(part)]
                found |= set.intersection(*ways) if ways else set()
            case ast.For() | ast.While():
                found |= _sure_after(node) if node.orelse or _forever(node) else set()
            case _:
                found.update(assigned_by(node))
    return found


def _sure_after(node: ast.For | ast.While) -> set[str]:
    """Names that a loop with an `else`, or one that `break` alone ends, assigns however it ends."""
    targets = set(names_in(node.target)) if isinstance(node, ast.For) else set[str]()
    ways = _at_exits(node.body, targets, ast.Break)
    if not _forever(node) and not _leaves(node.orelse):
        ways.append(_surely(node.orelse))
    return set.intersection(*ways) if ways else set()


def _at_exits(nodes: list[ast.stmt], before: set[str], kind: type[ast.Break | ast.Return]) -> list[set[str]]:
    """Names that are assigned where each `break` of a loop leaves it, or each `return` a function."""
    found: list[set[str]] = []
    for node in nodes:
        match node:
            case _ if isinstance(node, kind):
                return [*found, before]
            case ast.If():
                found += [way for part in (node.body, node.orelse) for way in _at_exits(part, before, kind)]
            case ast.For() | ast.While():
                inside = before | set(names_in(node.target)) if isinstance(node, ast.For) else before
                found += _at_exits(node.body, inside, kind) if kind is ast.Return else []
                found += _at_exits(node.orelse, before, kind)
            case _:
                pass
        before = before | _surely([node])
    return found


class _OrNone(ast.NodeTransformer):
    """Returns a truth, whether there is none, beside each number."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        none = node.value is None or _is_none(node.value)
        pair: list[ast.expr] = [ast.Constant(none), ast.Constant(0) if none or node.value is None else node.value]
        return at_place(ast.Return(ast.Tuple(pair, ast.Load())), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


class _Told(ast.NodeTransformer):
    """Sets a name wherever `break` leaves a loop."""

    def __init__(self, name: str) -> None:
        self.name, self.depth = name, 0

    def visit_For(self, node: ast.For) -> ast.stmt:
        return self._inner(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        return self._inner(node)

    def _inner(self, node: ast.For | ast.While) -> ast.stmt:
        self.depth += 1
        node.body = self._list(node.body)
        self.depth -= 1
        node.orelse = self._list(node.orelse)  # what leaves from there leaves the loop around
        return node

    def _list(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        holder = ast.Module(nodes, [])
        self.generic_visit(holder)
        return holder.body

    def visit_Break(self, node: ast.Break) -> ast.stmt | list[ast.stmt]:
        return [_set(self.name, True, node), node] if self.depth == 1 else node


def _read(target: ast.expr) -> ast.expr:
    """What was assigned to a target of names."""
    if isinstance(target, ast.Tuple):
        return ast.Tuple([_read(t) for t in target.elts], ast.Load())
    assert isinstance(target, ast.Name)
    return ast.Name(target.id, ast.Load())


def _within(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """All statements of a function, those of functions within it left out."""
    found: list[ast.stmt] = []
    for node in nodes:
        found.append(node)
        if isinstance(node, (ast.If, ast.For, ast.While)):
            found += _within(node.body) + _within(node.orelse)
        elif isinstance(node, ast.With):
            found += _within(node.body)
    return found


def _exits(node: ast.stmt) -> set[Exit]:
    """The ways in which a statement may leave the list that it stands in."""
    if type(node) in _EXITS:
        return {_EXITS[type(node)]}
    if isinstance(node, ast.If):
        return {e for s in (*node.body, *node.orelse) for e in _exits(s)}
    if isinstance(node, (ast.For, ast.While)):
        found: set[Exit] = {e for s in node.orelse for e in _exits(s)}
        if any("return" in _exits(s) for s in node.body):
            found.add("return")
        return found
    return set()


def _leaves(nodes: list[ast.stmt], by: tuple[Exit, ...] = ("break", "continue", "return")) -> bool:
    """Whether a list of statements always ends with an exit."""
    for node in nodes:
        if _EXITS.get(type(node)) in by or isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.If) and node.orelse and _leaves(node.body, by) and _leaves(node.orelse, by):
            return True
        if isinstance(node, ast.While) and _forever(node) and not _breaks(node.body):
            return True
    return False


def _forever(node: ast.For | ast.While) -> bool:
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)


def _breaks(nodes: list[ast.stmt]) -> bool:
    """Whether the loop around a list of statements may be left by `break`."""
    return any("break" in _exits(node) for node in nodes)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _form(node: ast.Return, *, nested: bool) -> _Form | None:
    """What tuple a `return` gives, also within that tuple where `nested`; None for nothing."""

    def of(value: ast.expr, depth: int) -> _Form:
        if isinstance(value, ast.Tuple) and not isinstance(value, Recorded) and (nested or depth == 0):
            return tuple(of(v, depth + 1) for v in value.elts)
        return 1

    return None if node.value is None or _is_none(node.value) else of(node.value, 0)


def _formed(form: _Form, names: Iterator[str]) -> ast.expr:
    """The tuple of some form, of names in their order."""
    if isinstance(form, int):
        return ast.Name(next(names), ast.Load())
    return ast.Tuple([_formed(part, names) for part in form], ast.Load())


def _values(node: ast.Return, form: _Form | None) -> list[ast.expr]:
    """What a `return` of some form gives, item by item."""

    def flat(value: ast.expr, form: _Form) -> list[ast.expr]:
        if isinstance(form, int) or not isinstance(value, ast.Tuple):
            return [value]
        return [v for e, part in zip(value.elts, form, strict=True) for v in flat(e, part)]

    return [] if form is None or node.value is None else flat(node.value, form)


def _same_name(returns: list[ast.Return], form: _Form | None, k: int) -> str | None:
    """The name that all of them return in a place, if there is one: nothing changes it once it is returned."""
    names = {v.id if isinstance(v, ast.Name) else None for v in (_values(r, form)[k] for r in returns)}
    return names.pop() if len(names) == 1 else None


def _none_of(flags: list[str]) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(f, ast.Load())) for f in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _if(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], place: ast.AST) -> ast.stmt:
    return at_place(ast.If(test, body or [_pass(place)], orelse), place)


def _set(name: str, value: bool, place: ast.AST) -> ast.stmt:
    return at_place(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), place)


def _pass(place: ast.AST) -> ast.stmt:
    return at_place(ast.Pass(), place)
