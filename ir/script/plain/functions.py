"""Functions of plain Python programs as they are read from source: parameters, statements, and names that change."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType

from msgspec import Struct
from msgspec.structs import replace

from ir.script.plain import hints
from ir.script.plain.frames import Frame, Value, outer_name
from ir.script.plain.library import names as library
from ir.script.plain.loops.exits import structured
from ir.script.plain.program import NeedsValue, Program, Reading, identity_of
from ir.script.plain.promotion import Numbers
from ir.script.plain.syntax.absent import with_truths
from ir.script.plain.syntax.branches import with_branches, with_loop
from ir.script.plain.syntax.cells import captured_in, cells_of, local_names
from ir.script.plain.syntax.counted import apart
from ir.script.plain.syntax.counters import with_counters
from ir.script.plain.syntax.defaults import with_read_keys
from ir.script.plain.syntax.desugared import desugared, with_named_rows, with_parts_of, without_patterns
from ir.script.plain.syntax.grouped import with_places
from ir.script.plain.syntax.imported import without_imports
from ir.script.plain.syntax.inlined import with_outer_changes
from ir.script.plain.syntax.keyed import with_lists
from ir.script.plain.syntax.linked import with_linked_lists
from ir.script.plain.syntax.lists import with_arrays
from ir.script.plain.syntax.shorthand import without_shorthand
from ir.script.reading import definition_of
from ir.script.scope import Source

MAX_CALLS = 20  # helpers within helpers, and a function within itself
_MAX_REPEATED = 1000  # calls of functions by themselves, all together
_MAX_DECIDED = 6  # calls of functions by themselves, one in another, that data decide about
_FIRST = Reading()


class _Read(Struct, frozen=True):
    """A function as it was read."""

    source: Source
    params: tuple[str, ...]
    positional: int  # how many of them may be given by place
    rest: str  # the one that takes all others that are given by place
    body: list[ast.stmt]
    locals: set[str]
    cells: dict[int, list[str]]
    results: frozenset[str]
    own: frozenset[str]
    first: frozenset[ast.expr]
    maybe: bool  # whether it returns whether that is None, and a number
    order: Mapping[ast.AST, int]  # which is which of its loops and branches, of which several may have one place


class Inner(Struct, frozen=True, eq=False):
    """A function that is defined within another one, whose names it reads as they are when it is called."""

    name: str
    read: _Read
    defaults: Mapping[str, Value]
    enclosing: Callable[[str, ast.AST], Value]


Function = FunctionType | Inner


class Callers(Struct):
    """The functions that are being put in place, one in another."""

    functions: tuple[Function, ...]
    began: int = 0  # under how many conditions that data decide the last of them is called
    decided: int = 0  # how many are called by themselves, under such conditions of their own

    def within(self, function: Function, program: Program, home: FunctionType) -> Callers | None:
        """What is put in place where the last one calls a function; None if there is no end of that.

        Raises:
            Recount: calls of a function by itself may be steps of a loop.
            NeedsValue: integers that callers give may tell where they end.
        """
        repeated = function in self.functions
        program.repeated += repeated
        decided = self.decided + (repeated and program.decisions() > self.began)
        if len(self.functions) <= MAX_CALLS and program.repeated <= _MAX_REPEATED and decided <= _MAX_DECIDED:
            return Callers((*self.functions, function), decided=decided)
        program.learned.loop(_within(function.name, home) if isinstance(function, Inner) else identity_of(function))
        if program.given:
            raise NeedsValue(frozenset(program.given.values()))
        return None


@lru_cache(maxsize=256)
def _read(function: FunctionType, reading: Reading = _FIRST) -> _Read:
    node, source = definition_of(function, "loopsat.jit")
    source = replace(source, contains=hints.CONTAINS)
    node = with_loop(node) if identity_of(function) in reading.looped else node
    return _reading(node, source, lambda name: _outer(function, name), reading, identity_of(function))


def _reading(
    node: ast.FunctionDef,
    source: Source,
    outer: Callable[[ast.expr], object],
    reading: Reading = _FIRST,
    named: str = "",
) -> _Read:
    """A function as it is put in place; `outer` is what a name means outside of it, and `named` its own name."""
    args = node.args
    if args.kwarg:
        message = f"{node.name} takes any arguments by name"
        raise source.error("unsupported", message, node, help="name each parameter")
    rest = args.vararg.arg if args.vararg else ""
    params = tuple(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)) + ((rest,) if rest else ())
    node = with_outer_changes(without_imports(without_patterns(node, source)))
    node = without_shorthand(node, source, outer)
    for inner in ast.walk(node):  # before returns within them are looked at
        if isinstance(inner, (ast.With, ast.Try)):
            first = ast.unparse(inner).splitlines()[0]
            raise source.error("unsupported", f"`{first}` is not supported", inner, help=hints.STATEMENTS[type(inner)])
    node = apart(node)
    node = with_branches(node) if named in reading.branched else node
    node = with_named_rows(node, {name for function, name in reading.rows if function == named})
    node = with_read_keys(node, source, outer)
    node = with_places(node, source, outer)
    uneven = {name for function, name in reading.uneven if function == named}
    node, linked = with_linked_lists(node, source, uneven)
    node, lists, different = with_lists(node, source, outer)
    grown = {name for function, name in reading.grown if function == named}
    node = with_counters(node, source, reading.counted | lists | linked, grown, different)
    arrays = {name for function, name in reading.arrays if function == named}
    parted = [(name, items, kind) for function, name, items, kind in reading.parted if function == named]
    node = desugared(with_truths(with_arrays(node, arrays), source, parted), source, parted)
    whole = structured(node, source, lambda name: outer(name) is library.bound, captured_in(node))
    body = whole.body
    results = with_parts_of(body, whole.results, parted)
    while body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    body = body or [ast.copy_location(ast.Pass(), node)]
    positional = len(args.posonlyargs) + len(args.args)
    names, cells = local_names(body, params), cells_of(body, params)
    nodes = (n for s in body for n in ast.walk(s) if isinstance(n, (ast.For, ast.If)))
    order: dict[ast.AST, int] = {n: k for k, n in enumerate(nodes)}
    return _Read(
        source, params, positional, rest, body, names, cells, results, whole.own, whole.first, whole.maybe, order
    )


def inner_function(
    node: ast.FunctionDef | ast.Lambda,
    source: Source,
    function: FunctionType,
    reading: Reading,
    default: Callable[[ast.expr], Value],
    enclosing: Callable[[str, ast.AST], Value],
) -> Inner:
    """A `def` or `lambda` within a function; `default` reads what its parameters are by default."""
    if isinstance(node, ast.FunctionDef):
        if node.decorator_list:
            message = f"{node.name} is decorated, and defined within a function"
            raise source.error("unsupported", message, node.decorator_list[0], help="leave the decorator out")
        definition = node
    else:
        result = ast.copy_location(ast.Return(node.body), node.body)
        definition = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [result], []), node)
    args = node.args
    optional = [*args.posonlyargs, *args.args][::-1]
    given = [*zip(optional, args.defaults[::-1], strict=False), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    defaults = {a.arg: default(value) for a, value in given if value is not None}
    definition = with_loop(definition) if _within(definition.name, function) in reading.looped else definition
    read = _reading(definition, source, lambda name: _outer(function, name), reading)
    return Inner(definition.name, read, defaults, enclosing)


def _within(name: str, home: FunctionType) -> str:
    return f"{name} in {identity_of(home)}"


def named(function: Function) -> str:
    """What messages call a function."""
    return function.name if isinstance(function, Inner) else function.__name__


def defaults_of(function: Function, known: Callable[[object], Value]) -> Mapping[str, Value]:
    """What parameters are by default; `known` is what a Python object means."""
    if isinstance(function, Inner):
        return function.defaults
    by_place = function.__defaults__ or ()
    read = _read(function)
    names = read.params[read.positional - len(by_place) : read.positional]
    found = {**dict(zip(names, by_place, strict=True)), **(function.__kwdefaults__ or {})}
    return {name: known(value) for name, value in found.items()}


def _outer(function: FunctionType, node: ast.expr) -> object:
    """What a name, or a name in a module, means outside of a function; None where it means nothing."""
    match node:
        case ast.Name(id=name):
            try:
                return outer_name(function, name)
            except KeyError:
                return None
        case ast.Attribute(value=ast.Name() as owner, attr=name):
            return getattr(_outer(function, owner), name, None)
        case _:
            return None


class Opened(Struct, frozen=True):
    """A function to be put in place: what its names mean, its statements, and its parameters."""

    frame: Frame
    body: list[ast.stmt]
    params: tuple[str, ...]
    positional: int
    rest: str  # the one that takes all others that are given by place


def frame_of(
    function: Function,
    path: tuple[int, ...],
    exact: bool,
    reading: Reading,
    within: FunctionType | None = None,
) -> Opened:
    """A function to be put in place; one that is defined `within` another has the outer names of that one."""
    inner = isinstance(function, Inner)
    read = function.read if inner else _read(function, reading)
    home = within if inner else function
    assert home is not None
    frame = Frame(home, read.source, Numbers(read.source, exact), path, read.locals, read.cells, results=read.results,
                  own=read.own, first=read.first, nodes=read.body, order=read.order, maybe=read.maybe,
                  enclosing=function.enclosing if inner else None)  # fmt: skip
    return Opened(frame, read.body, read.params, read.positional, read.rest)
