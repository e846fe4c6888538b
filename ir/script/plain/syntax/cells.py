"""Which local names of a plain Python function change, and in which list of statements each of them lives.

A name that is bound before all its uses, in one list, is a binding. Any other is a cell: a buffer without dimensions,
allocated in the innermost list in which each run assigns it before it reads it, so that iterations share nothing they
need not share.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field

Path = tuple[tuple[int, int], ...]  # list by list from the outermost one: which list, and which statement of it


class _Uses(Struct):
    assigned: list[Path] = field(default_factory=lambda: list[Path]())
    read: list[Path] = field(default_factory=lambda: list[Path]())


class _Walk(Struct):
    """One walk over a function; lists of statements are known by the identity of their syntax."""

    lists: dict[int, list[ast.stmt]] = field(default_factory=lambda: dict[int, list[ast.stmt]]())
    uses: dict[str, _Uses] = field(default_factory=lambda: dict[str, _Uses]())

    def of(self, nodes: list[ast.stmt], path: Path, bound: Iterable[str] = ()) -> None:
        self.lists[id(nodes)] = nodes
        for name in bound:
            self._use(name).assigned.append((*path, (id(nodes), -1)))
        for k, node in enumerate(nodes):
            here = (*path, (id(nodes), k))
            for name in reads_of(node):
                self._use(name).read.append(here)
            for name in assigned_by(node):
                self._use(name).assigned.append(here)
            if isinstance(node, ast.For):
                self.of(node.body, here, names_in(node.target))
            elif isinstance(node, ast.If):
                self.of(node.body, here)
                self.of(node.orelse, here)

    def _use(self, name: str) -> _Uses:
        return self.uses.setdefault(name, _Uses())


def cells_of(body: list[ast.stmt], params: Iterable[str]) -> dict[int, list[str]]:
    """The names that change, by the identity of the list of statements in which each lives."""
    walk = _Walk()
    params = tuple(params)
    walk.of(body, (), params)
    found: dict[int, list[str]] = {}
    for name, uses in walk.uses.items():
        if uses.assigned and not _is_binding(uses):
            found.setdefault(_home(name, uses, walk, body), []).append(name)
    return found


def local_names(body: list[ast.stmt], params: Iterable[str]) -> set[str]:
    """Names that a function assigns, its parameters included."""
    walk = _Walk()
    walk.of(body, (), params)
    return {name for name, uses in walk.uses.items() if uses.assigned}


def _is_binding(uses: _Uses) -> bool:
    """Whether every use follows an assignment in one list, whose nested lists assign nothing."""
    homes = {path[-1][0] for path in uses.assigned}
    if any(home in homes for path in uses.assigned for home, _ in path[:-1]):
        return False
    first = {home: min(p[-1][1] for p in uses.assigned if p[-1][0] == home) for home in homes}
    return all(any(home in first and first[home] < k for home, k in path) for path in uses.read)


def _home(name: str, uses: _Uses, walk: _Walk, body: list[ast.stmt]) -> int:
    """The innermost list around all uses in which no run reads what an earlier one assigned."""
    paths = [*uses.assigned, *uses.read]
    shared: list[int] = []
    for step in zip(*paths, strict=False):
        if len({home for home, _ in step}) > 1:
            break
        shared.append(step[0][0])
        if len(set(step)) > 1:
            break
    for home in reversed(shared):
        if all((home, -1) != p[-1] for p in uses.assigned) and not _Reads(name).first(walk.lists[home]):
            return home
    return id(body)


class _Reads(Struct):
    """Whether a name may be read before it is assigned, where loops run at least once."""

    name: str
    early: bool = False

    def first(self, nodes: list[ast.stmt]) -> bool:
        self._after(nodes, False)
        return self.early

    def _after(self, nodes: list[ast.stmt], assigned: bool) -> bool:
        for node in nodes:
            if not assigned and self.name in reads_of(node):
                self.early = True
            if isinstance(node, ast.For):
                assigned = self._after(node.body, assigned or self.name in names_in(node.target))
            elif isinstance(node, ast.If):
                both = [self._after(branch, assigned) for branch in (node.body, node.orelse)]
                assigned = all(both)
            assigned = assigned or self.name in assigned_by(node)
        return assigned


def reads_of(node: ast.stmt) -> list[str]:
    """Names that a statement itself reads; those of the statements within it are left out."""
    match node:
        case ast.For(iter=part) | ast.If(test=part) | ast.While(test=part):
            parts: list[ast.AST] = [part]
        case ast.AugAssign(target=ast.Name(id=name), value=part):
            return [name, *_loaded([part])]
        case _:
            parts = [node]
    return _loaded(parts)


def _loaded(parts: list[ast.AST]) -> list[str]:
    return [name for part in parts for name in _free(part)]


def _free(node: ast.AST) -> list[str]:
    """Names that syntax reads, but for those that comprehensions in it bind."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Load) else []
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return _captured(node)
    if not isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return _loaded([*ast.iter_child_nodes(node)])
    own: set[str] = set()
    found: list[str] = []
    for part in node.generators:
        found += [name for name in _free(part.iter) if name not in own]
        own.update(names_in(part.target))
        found += [name for name in _loaded([*part.ifs]) if name not in own]
    return found + [name for name in _free(node.elt) if name not in own]


def _captured(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Names that a function within another one reads of it, and those in what its parameters are by default."""
    args = node.args
    own = {a.arg for a in ast.walk(args) if isinstance(a, ast.arg)}
    body: list[ast.AST] = [*node.body] if isinstance(node, ast.FunctionDef) else [node.body]
    inner = [n for part in body for n in ast.walk(part)]
    own.update(n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    own.update(n.name for n in inner if isinstance(n, ast.FunctionDef))
    defaults = [d for d in (*args.defaults, *args.kw_defaults) if d is not None]
    return [*_loaded([*defaults]), *(name for name in _loaded(body) if name not in own)]


def captured_in(node: ast.FunctionDef) -> frozenset[str]:
    """Names that functions within one read of it."""
    inner = [n for s in node.body for n in ast.walk(s) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    return frozenset(name for n in inner for name in _captured(n))


def assigned_by(node: ast.stmt) -> list[str]:
    """Names that a statement itself assigns, the variable of a loop left out."""
    match node:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n for t in targets for n in names_in(t)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
            return names_in(target)
        case _:
            return []


def names_of(node: ast.AST) -> set[str]:
    """All names of variables in a piece of syntax."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def all_names(function: ast.FunctionDef) -> set[str]:
    """All names of variables of a function, its parameters included."""
    return names_of(function) | {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}


_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def times_assigned(function: ast.FunctionDef, within: tuple[type[ast.AST], ...] = _FUNCTIONS) -> Counter[str]:
    """How often each name is assigned: as a parameter, by statements, and by each mention in functions (or what else
    is of the types `within`) inside of the function, where it stays as it is."""
    found = Counter(a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg))
    for part in (n for statement in function.body for n in ast.walk(statement)):
        if isinstance(part, within):
            found.update(n.id for n in ast.walk(part) if isinstance(n, ast.Name))
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            found[part.id] += 1
    return found


def is_none(node: ast.AST) -> bool:
    """Whether a piece of syntax is `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def names_in(target: ast.expr) -> list[str]:
    """Plain names that an assignment to `target` binds."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Starred):
        return names_in(target.value)
    return [n for e in target.elts for n in names_in(e)] if isinstance(target, (ast.Tuple, ast.List)) else []
