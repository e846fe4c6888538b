"""The loop program that is being written: its statements, names, cells, and what is known at the current place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from types import FunctionType

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

import ir.presburger.sets as pb
from ir.analysis.conditions import conjunction
from ir.dtypes import DType
from ir.errors import ParseError, Span
from ir.naming import unused
from ir.nodes import SKIP, Alloc, Assume, Binary, Buffer, Const, Expr, For, If, Let, Load, Stmt, Store, Var, const, seq
from ir.script.plain.arrays import View
from ir.script.plain.promotion import Interval, Number, Numbers, Weak, expr_of, interval_of
from ir.script.plain.sharing import Loops, Sharing
from ir.script.values import Typer
from ir.traverse import buffers_read, buffers_written, conjuncts_of, has_loads, node_count, substitute_expr

_DIALECT = "T"  # what programs print `T.serial` and the like with
_PASSES = 3  # after which the bounds of a cell that still grow are given up
_COLUMNS = 8  # of the rows in a list, at most, that have dtypes of their own
_SHORT = 12  # nodes of an integer that is written out wherever its name stands
Key = tuple[tuple[int, ...], str]  # which call of which function, and the name in it


class Again(Exception):
    """What the translation so far rests on has turned out to be otherwise: it must start again."""


class Recount(Again):
    """Data decide how long a list becomes, or a name of a tuple changes: the function must be read again."""


class NeedsValue(Again):
    """A parameter must be a number that is known: it decides about a shape or a loop."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class NeedsRange(Again):
    """A parameter must be known to lie between some of these numbers: it is a place of an array, from either end."""

    def __init__(self, name: str, cuts: tuple[int, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.cuts = cuts


class CellType(Struct):
    """What a cell holds; the bounds of integers are those of all values assigned to it."""

    dtype: DType
    weak: bool
    low: int | None = None
    high: int | None = None


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _most(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


class Grown(Struct):
    """What is known of a list that grows: the shape of items, how many there are in the end, and in a step of loops."""

    shape: tuple[int, ...] | None = None
    depth: int = 1  # of lists in lists
    kind: type | None = None  # the class of items that are records
    stored: bool = False  # whether numbers of items are stored to, which are lists then
    size: int = 0
    steps: dict[Key, int] = field(default_factory=lambda: dict[Key, int]())
    guessed: bool = False  # whether what items are rests on no item so far
    most: int = 0  # items, where the program says how many there are at most
    grew: int = 0
    reach: tuple[Interval, ...] | None = None  # of integers that items are, or each of those that they have

    def reached(self, reach: tuple[Interval, ...]) -> None:
        """An item is appended whose integers lie in these intervals."""
        if self.reach is not None and len(self.reach) == len(reach):
            reach = tuple((_least(a[0], b[0]), _most(a[1], b[1])) for a, b in zip(self.reach, reach, strict=True))
        self.reach = reach

    def different(self) -> int | None:
        """How many items there are at most of which no two are the same; None if there is no end of them."""
        if self.reach is None or any(low is None or high is None for low, high in self.reach):
            return None
        return prod(max(high - low + 1, 0) for low, high in self.reach if low is not None and high is not None)


class Grant(Struct, frozen=True):
    """That a list has at most so many items where the program says so, in the loops around that place."""

    key: Key
    most: int
    items: int  # appended before that place, in the same loops
    loops: Loops


def identity_of(function: FunctionType) -> str:
    """What a function is known by: others may have its name."""
    code = function.__code__
    return f"{function.__qualname__} at {code.co_filename}:{code.co_firstlineno}"


class Reading(Struct, frozen=True):
    """What has been found out that functions must be read again for."""

    counted: frozenset[str] = frozenset()  # lists of which data say how long they become
    parted: tuple[tuple[str, str, int, type | None], ...] = ()  # a function, and its names of tuples that change, of so
    # many items, and of a class if they are records
    arrays: frozenset[tuple[str, str]] = frozenset()  # a function, and its names of lists that arrays must stand for
    grown: frozenset[tuple[str, str]] = frozenset()  # a function, and its names of lists that get more items in loops
    rows: frozenset[tuple[str, str]] = frozenset()  # a function, and its names of rows that loops run over, and change
    uneven: frozenset[tuple[str, str]] = frozenset()  # a function, and its names of lists of lists of different lengths
    branched: frozenset[str] = frozenset()  # functions whose choices are branches
    looped: frozenset[str] = frozenset()  # functions whose last calls of themselves are steps of a loop


class Learned(Struct):
    """What one translation finds out and the next one uses: the types of cells, and which names of arrays stand for a
    new array after each step of a loop.
    """

    cells: dict[Key, CellType] = field(default_factory=lambda: dict[Key, CellType]())
    carried: dict[Key, list[str]] = field(default_factory=lambda: dict[Key, list[str]]())
    arrays: dict[Key, tuple[tuple[Number, ...], DType]] = field(
        default_factory=lambda: dict[Key, tuple[tuple[Number, ...], DType]]()
    )  # of names that loops and branches give some first
    grown: dict[Key, Grown] = field(default_factory=lambda: dict[Key, Grown]())
    reading: Reading = field(default_factory=lambda: Reading())
    resized: dict[tuple[Key, str], tuple[int, ...]] = field(
        default_factory=lambda: dict[tuple[Key, str], tuple[int, ...]]()
    )  # by how much each step of a loop makes the arrays longer that names stand for, along each dimension
    each: set[Key] = field(
        default_factory=lambda: set[Key]()
    )  # loops whose steps are written out: each has other arrays
    counters: dict[Key, int] = field(default_factory=lambda: dict[Key, int]())  # with the most that they reach
    compact: set[Key] = field(default_factory=lambda: set[Key]())  # selections that are wanted as arrays
    measured: set[Key] = field(default_factory=lambda: set[Key]())  # `while` loops that cannot be written out
    columns: dict[Key, set[int]] = field(default_factory=lambda: dict[Key, set[int]]())  # of rows in lists
    together: set[Key] = field(default_factory=lambda: set[Key]())  # what is given numbers of columns not told apart
    passes: int = 0
    changed: bool = False

    def branch(self, function: str) -> None:
        """Have the choices of a function read as branches.

        Raises:
            Recount: they are not so far.
        """
        if function not in self.reading.branched:
            self.reading = replace(self.reading, branched=self.reading.branched | {function})
            raise Recount

    def apart(self, function: str, name: str) -> None:
        """Have the lists in a list read as lists of different lengths.

        Raises:
            Recount: they are not so far.
        """
        if (function, name) not in self.reading.uneven:
            self.reading = replace(self.reading, uneven=self.reading.uneven | {(function, name)})
            raise Recount

    def loop(self, function: str) -> None:
        """Have a function that calls itself last read as a loop.

        Raises:
            Recount: it is not so far.
        """
        if function not in self.reading.looped:
            self.reading = replace(self.reading, looped=self.reading.looped | {function})
            raise Recount

    def carry(self, key: Key, name: str) -> None:
        """What a name of an array stands for is copied from each step of a loop to the next."""
        self.carried.setdefault(key, []).append(name)

    def assign(self, key: Key, value: Number, numbers: Numbers, node: ast.AST, column: int | None = None) -> CellType:
        """The type of a cell that also holds `value`, or of the items of a list, of which a `column` of its rows does.

        Integers beside floats of other columns are kept in 64 bits: they are integers when they are looked up.
        """
        if key in self.counters:
            return self._kept(key, CellType(DType.INT32, True, 0, self.counters[key]))
        if column is None:
            self.changed = self.changed or (key not in self.together and key in self.columns)
            self.together.add(key)
            return self._assigned(key, value, numbers, node)
        own = self._assigned(_column(key, column), value, numbers, node)
        columns = self.columns.setdefault(key, set())
        columns.add(column)
        found = self._assigned(key, value, numbers, node)
        kinds = {self.cells[_column(key, k)].dtype.is_float for k in columns}
        if found.dtype.is_float and (not own.dtype.is_float or len(kinds) > 1):
            return self._kept(key, CellType(DType.FLOAT64, found.weak, None, None))
        return found

    def given(self, key: Key, kind: CellType, columns: Mapping[int, CellType]) -> None:
        """What callers give as the items of a list, and in the columns of its rows, which are told apart if any are."""
        self.cells.setdefault(key, kind)
        for k, own in columns.items():
            self.cells.setdefault(_column(key, k), own)
            self.columns.setdefault(key, set()).add(k)

    def column(self, key: Key, column: int) -> CellType | None:
        """The type of a column of the rows in a list; None where it is not told from that of others."""
        return None if key in self.together else self.cells.get(_column(key, column))

    def _assigned(self, key: Key, value: Number, numbers: Numbers, node: ast.AST) -> CellType:
        old = self.cells.get(key)
        known = [value] if old is None else [value, _example(old)]
        dtype, weak = numbers.kept(known, node)
        low, high = interval_of(value) if weak and dtype.is_integer else (None, None)
        if old is not None:
            low = None if low is None or old.low is None else min(low, old.low)
            high = None if high is None or old.high is None else max(high, old.high)
            if self.passes >= _PASSES:
                low, high = low if low == old.low else None, high if high == old.high else None
        if weak and dtype.is_integer:
            fits = low is not None and high is not None and low >= DType.INT32.min and high <= DType.INT32.max
            dtype = DType.INT32 if fits else DType.INT64
        return self._kept(key, CellType(dtype, weak, low, high))

    def _kept(self, key: Key, new: CellType) -> CellType:
        old = self.cells.get(key)
        if new != old:
            self.changed = old is not None or self.changed
            self.cells[key] = new
        return new


def _column(key: Key, column: int) -> Key:
    return key[0], f"{key[1]}[{column}]"


def columns_of(shape: Sequence[Expr | Number]) -> Sequence[int | None]:
    """The columns of the rows in an array that are told apart; `None` alone where they are many, or not known."""
    last = shape[-1] if len(shape) > 1 else None
    count = last.value if isinstance(last, Const) else last
    return range(count) if type(count) is int and 0 < count <= _COLUMNS else (None,)


class Stands(Struct, frozen=True):
    """That a buffer stands for lists, with as many dimensions as `depth`; what items are is known by a `key`."""

    key: Key
    depth: int
    of_tuples: bool = False  # whether items of the list are tuples of numbers, which other items may take the place of
    kind: type | None = None  # the class of these, if they are records


class Table(Struct, frozen=True):
    """An array of numbers that are known, which is made once, before anything else."""

    buffer: Buffer
    stores: tuple[Store, ...]


def kept_in(kind: CellType) -> DType:
    """The dtype of an array of items of a list: integers of Python are 64 bits wide, as in NumPy."""
    return DType.INT64 if kind.weak and kind.dtype.is_integer else kind.dtype


def _example(cell: CellType) -> Number:
    value = Load(Buffer("cell", (), cell.dtype), ())
    return Weak(value, cell.low, cell.high) if cell.weak and cell.dtype is not DType.BOOL else value


class _Lines(Struct):
    """Statements of one list, and what is to be wrapped around those from a place on."""

    done: list[Stmt] = field(default_factory=lambda: list[Stmt]())
    wraps: list[tuple[int, Let | Alloc]] = field(default_factory=lambda: list[tuple[int, Let | Alloc]]())

    def stmt(self) -> Stmt:
        done = list(self.done)
        for start, wrap in reversed(self.wraps):
            body = seq(*done[start:])
            inner = Let(wrap.var, wrap.value, body, wrap.span) if isinstance(wrap, Let) else None
            done[start:] = [inner or Alloc(wrap.buffer, body, wrap.span)]  # pyright: ignore[reportAttributeAccessIssue]
        return seq(*done)


class Program(Struct):
    """The statements written so far, and the place that the next one goes to."""

    learned: Learned
    given: dict[str, str]  # integer parameters whose value could be known, by their names in the program
    ranges: dict[Var, tuple[int, int]] = field(default_factory=lambda: dict[Var, tuple[int, int]]())  # of parameters
    taken: frozenset[str] = frozenset()  # names of variables on the path to here
    used: set[str] = field(default_factory=lambda: set[str]())  # all names so far
    tables: dict[str, Table] = field(default_factory=lambda: dict[str, Table]())  # by what they hold
    listed: dict[Buffer, Stands] = field(default_factory=lambda: dict[Buffer, Stands]())
    cells: dict[Buffer, Key] = field(default_factory=lambda: dict[Buffer, Key]())
    lines: _Lines = field(default_factory=_Lines)
    sharing: Sharing = field(default_factory=Sharing)
    stored: dict[Buffer, list[Expr]] = field(default_factory=lambda: dict[Buffer, list[Expr]]())  # all values so far
    heads: int = 0  # of loops so far
    repeated: int = 0  # calls so far of functions by themselves
    loops: Loops = ()  # around the list that is open
    facts: list[isl.Set] = field(default_factory=lambda: list[isl.Set]())
    grants: list[Grant] = field(default_factory=lambda: list[Grant]())
    conditions: list[Expr] = field(default_factory=lambda: list[Expr]())  # of the expression that is being read
    depth: int = 0  # of loops and branches
    branches: int = 0  # of those that data decide
    steps: dict[Key, tuple[int, Number]] = field(
        default_factory=lambda: dict[Key, tuple[int, Number]]()
    )  # of a loop that
    # nothing leaves: how many there are, and which of them is written
    sized: dict[tuple[Key, str], Callable[[Number], View]] = field(
        default_factory=lambda: dict[tuple[Key, str], Callable[[Number], View]]()
    )  # what a name stands for that is resized, before each step
    refused: ParseError | None = None  # what was refused first while items of a list were guesses

    # Names -----------------------------------------------------------------------------------------------------------

    def fresh(self, name: str, *, alone: bool = False) -> str:
        """A name like `name` that nothing on this path has; one that stands `alone` nothing in the function has."""
        base = name.strip("_")
        base = base if base.isidentifier() else "x"  # of `_` and of its copies, `__1`, nothing is left
        base = f"{base}_" if base == _DIALECT else base
        candidate = unused(base, self.taken | self.used if alone else self.taken)
        self.taken |= {candidate}
        self.used.add(candidate)
        return candidate

    # Statements ------------------------------------------------------------------------------------------------------

    def emit(self, stmt: Stmt) -> None:
        """Write a statement."""
        self.lines.done.append(stmt)
        if isinstance(stmt, Store):
            if any(stmt.buffer == table.buffer for table in self.tables.values()):
                message = "numbers of outside of the function, or of a tuple, cannot be stored to"
                raise ParseError("not-a-buffer", message, stmt.span, help="make an array of them, as in np.array(x)")
            self.sharing.store(stmt.buffer, self.loops, stmt.span)
            self.stored.setdefault(stmt.buffer, []).append(stmt.value)

    def attempt(self, write: Callable[[], None], within: Callable[[], None]) -> None:
        """Write a statement. What is refused while items of a list are guesses may be in order once they are known: to
        find them, what is `within` it is looked through, and what follows is read as if that statement was not there.
        """
        before = self.lines, self.taken, self.loops, self.depth, self.branches, list(self.conditions)
        try:
            write()
        except ParseError as error:
            if not any(grown.guessed for grown in self.learned.grown.values()):
                raise
            self.refused = self.refused or error
            with self.nested():
                within()
            self.lines, self.taken, self.loops, self.depth, self.branches, self.conditions = before

    @contextmanager
    def nested(self) -> Generator[_Lines]:
        """A list of statements of its own, which ends with the names bound in it."""
        outer, taken, facts, loops = self.lines, self.taken, len(self.facts), self.loops
        grants, renewed = len(self.grants), len(self.sharing.renewed)
        self.lines = _Lines()
        self.depth += 1
        yield self.lines
        self.lines, self.taken, self.loops = outer, taken, loops
        self.depth -= 1
        del self.facts[facts:], self.grants[grants:], self.sharing.renewed[renewed:]

    def decisions(self) -> int:
        """Under how many conditions that data decide the current place is."""
        return self.branches + len(self.conditions)

    @property
    def conditional(self) -> bool:
        """Whether an expression is being read under conditions, which statements would escape."""
        return bool(self.conditions)

    @contextmanager
    def guarded(self, span: Span | None) -> Generator[None]:
        """Statements that an expression needs, which run where it is looked at."""
        conditions = self.conditions
        if not conditions:
            yield
            return
        self.conditions = []
        with self.nested() as lines:
            yield
        self.conditions = conditions
        test = conditions[0]
        for other in conditions[1:]:
            test = Binary("and", test, other, span)
        self.emit(If(test, lines.stmt(), SKIP, span))

    def let(self, name: str, value: Expr, span: Span | None) -> Var:
        """Bind a name for the rest of the list."""
        var = Var(self.fresh(name), value.dtype, span)
        self.lines.wraps.append((len(self.lines.done), Let(var, value, seq(), span)))
        return var

    def alloc(self, name: str, shape: tuple[Expr, ...], dtype: DType, span: Span | None) -> Buffer:
        """A buffer for the rest of the list."""
        buffer = Buffer(self.fresh(name, alone=True), shape, dtype, span=span)
        self.sharing.born[buffer] = self.loops
        self.lines.wraps.append((len(self.lines.done), Alloc(buffer, seq(), span)))
        return buffer

    def cell(self, name: str, key: Key, span: Span | None) -> Buffer | None:
        """A buffer for a number that changes; None as long as its dtype is not known."""
        kind = self.learned.cells.get(key)
        if kind is None:
            return None
        buffer = self.alloc(name, (), kind.dtype, span)
        self.cells[buffer] = key
        return buffer

    def table(self, held: str, shape: tuple[int, ...], dtype: DType, numbers: Sequence[Const]) -> Buffer:
        """The buffer of a table, the same one for all tables that hold the same."""
        found = self.tables.get(held)
        if found is None:
            extents = tuple(const(n, DType.INT32) for n in shape)
            buffer = Buffer(self.fresh("table", alone=True), extents, dtype)
            places = product(*(range(n) for n in shape))
            stores = (
                Store(buffer, tuple(const(k, DType.INT32) for k in place), number)
                for place, number in zip(places, numbers, strict=True)
            )
            found = self.tables[held] = Table(buffer, tuple(stores))
        return found.buffer

    def with_tables(self, body: Stmt) -> Stmt:
        """The whole of a function, in which tables are made first."""
        for table in self.tables.values():
            body = Alloc(table.buffer, seq(*table.stores, body))
        return body

    def loop(self, name: str, start: Expr, extent: Expr, span: Span | None) -> For:
        """The head of a loop with a variable of that name; facts about it hold in the list that is open."""
        var = Var(self.fresh(name), extent.dtype, span)
        self.facts.append(pb.loop_domain(var, start, extent).may)
        self.heads += 1
        self.loops = (*self.loops, self.heads)
        return For(var, start, extent, seq(), span=span)

    # What is known ---------------------------------------------------------------------------------------------------

    def assume(self, cond: Expr) -> None:
        """Take a condition as true for the rest of the list."""
        for part in conjuncts_of(cond):
            if not has_loads(part):
                self.facts.append(pb.condition(part).may)

    def excluded(self, cond: Expr) -> bool:
        """Whether a condition is known to be false here."""

        def question() -> bool:
            where = pb.condition(cond).may
            for fact in self.facts:
                where = where.intersect(fact)
            return where.is_empty()

        return not has_loads(cond) and pb.within_budget(question, False)

    def reach(self, value: Number) -> Interval:
        """Between which integers a number lies here; None where nothing is known."""
        low, high = interval_of(value)
        expr = expr_of(value)
        if expr is None or not expr.dtype.is_integer or has_loads(expr):
            return low, high
        var = Var("_reached", expr.dtype)

        def line() -> Interval:
            where = pb.condition(Binary("eq", var, expr)).may
            for fact in self.facts:
                where = where.intersect(fact)
            return pb.bounds(pb.only(where, var.name))

        least, most = pb.within_budget(line, (None, None))
        low = least if low is None else low if least is None else max(low, least)
        return low, most if high is None else high if most is None else min(high, most)

    def apart(self, read: Sequence[Expr], stored: Sequence[Expr], axes: Sequence[tuple[Var, Expr]]) -> bool:
        """Whether no step of loops over `axes` (variables and extents) reads at a place that another one stores to."""
        others = {var: Var(f"{var.name}other", var.dtype) for var, _ in axes}
        if not axes or any(has_loads(e) for e in (*read, *stored)):
            return False
        facts = len(self.facts)
        for var, extent in axes:
            for v in (var, others[var]):
                self.facts.append(pb.loop_domain(v, const(0, extent.dtype), extent).may)
        meets = [Binary("ne", var, other) for var, other in others.items()]
        cond: Expr = meets[0]
        for one in meets[1:]:
            cond = Binary("or", cond, one)
        for a, b in zip(read, stored, strict=True):
            cond = Binary("and", cond, Binary("eq", *_agreed(a, substitute_expr(b, others))))
        found = self.excluded(cond)
        del self.facts[facts:]
        return found

    def differ(self, one: Sequence[Expr], other: Sequence[Expr]) -> bool:
        """Whether two places are known to be different ones."""
        return self.excluded(conjunction([Binary("eq", *_agreed(a, b)) for a, b in zip(one, other, strict=True)]))

    def bound(self, var: Var, low: int | None, stop: int | None) -> None:
        """Assume that a parameter is a number at least, and less than another."""
        least = var.dtype.min if low is None else max(low, var.dtype.min)
        most = var.dtype.max if stop is None else min(stop - 1, var.dtype.max)
        self.ranges[var] = least, most
        if low is not None:
            self._promise(Binary("ge", var, const(least, var.dtype)))
        if stop is not None:
            self._promise(Binary("le", var, const(most, var.dtype)))

    def _promise(self, known: Expr) -> None:
        self.emit(Assume(known))
        self.assume(known)

    def at_most(self, low: Number, high: Number, typer: Typer) -> bool:
        """Whether one integer is known to be at most another."""
        most, least = interval_of(low)[1], interval_of(high)[0]
        if most is not None and least is not None and most <= least:
            return True
        sides = [_wide(v) for v in (low, high)]
        if any(s is None for s in sides):
            return False
        a, b = (s for s in sides if s is not None)
        return self.excluded(Binary("gt", *_agreed(a, b)))

    def frozen(self, name: str, value: Number, span: Span | None) -> Number:
        """A number that later stores do not change; short integers are written where they are used."""
        expr = expr_of(value)
        if expr is None or isinstance(expr, (Var, Const)):
            return value
        if not has_loads(expr) and expr.dtype.is_integer and node_count(expr) <= _SHORT:
            return value
        known = self._frozen_before(expr)
        var = self.let(name, expr, span) if known is None else known
        if expr.dtype.is_integer and not has_loads(expr):
            self.facts.append(pb.condition(Binary("eq", var, expr)).may)
        return Weak(var, value.low, value.high) if isinstance(value, Weak) else var

    def _frozen_before(self, expr: Expr) -> Var | None:
        """A name in the list that is open of the same integer, if nothing that it reads has been stored to since."""
        if not expr.dtype.is_integer:
            return None
        read = buffers_read(expr)
        for start, wrap in reversed(self.lines.wraps):
            if isinstance(wrap, Let) and wrap.value.same(expr):
                stored = buffers_written(seq(*self.lines.done[start:]))
                return None if read & stored else wrap.var
        return None


def _wide(value: Number) -> Expr | None:
    expr = expr_of(value)
    if expr is not None:
        return expr if expr.dtype.is_integer else None
    return const(value, DType.INT64) if isinstance(value, int) else None


def _agreed(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two integers for a question about numbers, where widths do not matter."""
    if a.dtype is b.dtype:
        return a, b
    if isinstance(a, Const):
        return Const(a.value, b.dtype), b
    if isinstance(b, Const):
        return a, Const(b.value, a.dtype)
    return a, b
