"""What names mean in one function of a plain Python program, and what its expressions may be."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol

from msgspec import Struct, field

from ir.dtypes import DType
from ir.nodes import Buffer, Const, const
from ir.script.plain.arrays import Array, Selection, View
from ir.script.plain.program import Key, Stands, identity_of
from ir.script.plain.promotion import Number, Numbers, expr_of
from ir.script.plain.syntax.counters import Sized
from ir.script.plain.syntax.imported import imports_of
from ir.script.plain.syntax.lists import Listed
from ir.script.scope import Source
from ir.traverse import has_loads


class Named(Struct, frozen=True, eq=False):
    """Something that is no number and no array: a module, function, dtype or string, which is only looked at."""

    value: object


class Maybe(Struct, frozen=True, eq=False):
    """A number, or None where something is `absent`; it stands in a `Named`."""

    absent: Number
    value: Number


class Cell(Struct, frozen=True, eq=False):
    """A name whose value changes."""

    buffer: Buffer | None
    key: Key
    depth: int  # of the list that it lives in
    start: Named | None = None  # what a parameter is until it is first assigned, if that is no number


class Growing(Struct, eq=False):
    """A list that items are appended to: its array, of which so many are there, in which list of statements.

    Where data say how many there are, a name is their number.
    """

    key: Key
    buffer: Buffer | None
    depth: int
    branches: int
    size: Number = 0
    items: int = 0  # appended in the list of statements at hand, as far as it is written
    counter: str = ""
    loops: int = 0  # around the list
    appended: int = 0  # like `items`, with those for which the program says how long the list is
    once: int = 0  # appended by steps after which the loop around them ends
    place: ast.AST | None = None  # where it was appended to last
    different: bool = False  # whether no two items are the same


Value = Number | Array | Selection | Named | tuple["Value", ...]
Binding = Value | Cell | Growing
Comprehension = ast.GeneratorExp | ast.ListComp


class Caller(Protocol):
    """What puts functions in place and writes the statements that an expression needs."""

    def call(
        self, function: Any, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call, *, alone: bool
    ) -> Value: ...
    def of_library(self, name: str, args: Sequence[Value], node: ast.Call) -> Value: ...
    def numbers_in(self, node: ast.Call) -> Array: ...
    def define(self, node: ast.Lambda) -> Value: ...
    def reduce(self, name: str, array: Array, axes: tuple[int, ...] | None, node: ast.AST) -> Value: ...
    def scan(self, name: str, array: Array, axis: int | None, node: ast.Call) -> Value: ...
    def table(
        self, rows: tuple[Value, ...], dtype: DType | None, node: ast.AST, stands: Stands | None = None
    ) -> Array: ...
    def fold(
        self, name: str, node: Comprehension, place: ast.AST, start: Number | None = None, default: Number | None = None
    ) -> Number: ...
    def best_by(self, name: str, rank: ast.expr | None, node: Comprehension, place: ast.AST) -> Value: ...
    def as_list(self, parts: Sequence[Array], node: ast.AST, depth: int = 1, kind: type | None = None) -> View: ...
    def listed(self, node: ast.ListComp | Listed, *, items: bool = False) -> Value: ...
    def added(self, node: Comprehension, start: Number, place: ast.AST) -> Array | None: ...
    def copied(self, array: Array, node: ast.AST) -> Array: ...
    def items(self, node: Comprehension, place: ast.AST) -> tuple[Value, ...]: ...
    def product(self, a: Array, b: Array, node: ast.AST) -> Value: ...


class Frame(Struct):
    """One function at one of its calls: what its names mean."""

    function: FunctionType
    source: Source
    numbers: Numbers
    path: tuple[int, ...]
    locals: set[str]
    cells: Mapping[int, list[str]]
    bindings: dict[str, Binding] = field(default_factory=lambda: dict[str, Binding]())
    stored: set[str] = field(default_factory=lambda: set[str]())  # cells that hold a value on some path
    assigned: frozenset[str] = frozenset()  # cells that hold a value on every path to here
    late: frozenset[str] = frozenset()  # names that loops and branches give arrays first
    arrays: set[str] = field(default_factory=lambda: set[str]())  # names that would be cells, and are arrays
    held: dict[Key, Number] = field(default_factory=lambda: dict[Key, Number]())  # what cells were given last
    first: frozenset[ast.expr] = frozenset()  # conditions that hold in the first step of their loop
    nodes: Sequence[ast.stmt] = ()  # the statements
    given: tuple[Value, ...] = ()  # to parameters, by another function, which may know it by other names
    order: Mapping[ast.AST, int] = field(default_factory=lambda: dict[ast.AST, int]())  # of loops and branches
    maybe: bool = False  # whether the function returns whether that is None, and a number
    results: frozenset[str] = frozenset()  # cells that hold one wherever they are read
    own: frozenset[str] = frozenset()  # results that are no names of the function: only returns set them
    enclosing: Callable[[str, ast.AST], Value] | None = None  # what names mean in the function around this one

    def hold(self, key: Key, value: Number) -> None:
        """A cell holds a number from here on."""
        expr = expr_of(value)
        if expr is not None and has_loads(expr):  # which later stores may change
            self.held.pop(key, None)
        else:
            self.held[key] = value

    def forget(self, node: ast.For) -> None:
        """What cells hold that a loop assigns is not known within it, nor after it."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.held = {key: value for key, value in self.held.items() if key[1] not in names}

    def has(self, name: str) -> bool:
        """Whether a name that changes holds something here, whatever path was taken."""
        return name in self.assigned or name in self.results

    def identity(self) -> str:
        """What the function is known by."""
        return identity_of(self.function)  # pyright: ignore[reportArgumentType] - no method, but a field

    def outer(self, name: str) -> object:
        """What a name that the function does not assign means to it; `KeyError` if nothing."""
        return outer_name(self.function, name)  # pyright: ignore[reportArgumentType] - no method, but a field


def in_both(one: Mapping[Key, Number], other: Mapping[Key, Number]) -> dict[Key, Number]:
    """What cells hold after a branch, whichever of the two ways it took."""
    return {key: value for key, value in one.items() if key in other and _alike(value, other[key])}


def _alike(a: Number, b: Number) -> bool:
    """Whether two numbers are the same one: zero is not `False`, nor is it negative zero."""
    return a is b or (type(a) is type(b) and isinstance(a, (bool, int, float)) and repr(a) == repr(b))


def used(growing: Growing, buffer: Buffer, size: Number) -> View:
    """The list in its array, of so many items."""
    shape = tuple(e.value for e in buffer.shape[1:] if isinstance(e, Const) and isinstance(e.value, int))
    everything = isinstance(size, int) and buffer.shape[0].same(const(size, buffer.shape[0].dtype))
    return View(buffer, (size, *shape), lambda i: i, everything)


def outer_name(function: FunctionType, name: str) -> object:
    """What a name means outside of a function, also one that only a comprehension in it uses; `KeyError` if nothing.

    So do names that it imports.
    """
    if name in (imported := imports_of(function)):
        return imported[name]
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # it has no value yet
            raise KeyError(name) from None
    for scope in (function.__globals__, vars(builtins)):
        if name in scope:
            return scope[name]
    raise KeyError(name)


class _Plain(ast.NodeTransformer):
    """Shows lists without their counters."""

    def visit_Sized(self, node: Sized) -> ast.AST:
        return node.value


def shown(node: ast.AST) -> str:
    """Syntax as a message shows it."""
    text = ast.unparse(_Plain().visit(copy.deepcopy(node)))
    return text if len(text) < 60 else type(node).__name__
