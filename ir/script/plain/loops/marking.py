"""How often statements run that each time mark an element which was not marked: no more often than there are elements.

Searches of graphs and grids append a place where they mark it (`if not seen[v]: seen[v] = True; queue.append(v)`), so
that a queue of places gets no longer than what is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import negate
from ir.dtypes import DType
from ir.nodes import (
    COMPARE_OPS,
    MIRRORED,
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from ir.script.plain.promotion import Interval, interval_after
from ir.script.values import fold_numbers
from ir.traverse import buffers_read, buffers_written, conjuncts_of, is_const, map_stmt, stores_in, walk

_ANY: Interval = (None, None)


class Marking(Struct, frozen=True):
    """A step of a loop that appends: between which numbers cells and items of lists are, arrays before the loop, and
    which numbers are known to differ there."""

    step: Stmt
    cells: Callable[[Buffer], Interval]
    before: Callable[[Buffer], Sequence[Expr] | None]  # what was stored to an array so far; None if that is not known
    differ: Callable[[Expr, Expr], bool]

    def increments(self, counter: Buffer) -> int | None:
        """How often a counter goes up in all steps of the loop together; None if that is not known."""
        found = 0
        for path in _paths(self.step, counter, _Path()):
            runs = [n * branch.times for branch in path.branches if (n := self._runs(branch)) is not None]
            if not runs:
                return None
            found += min(runs)
        return found

    def _runs(self, branch: _Branch) -> int | None:
        """How often a branch runs, where each run marks an element, or follows a step of one that counts down."""
        made = {s.buffer for s in walk(self.step) if isinstance(s, Alloc)}
        cond, block = branch.cond, branch.block
        stored = buffers_written(block)
        found: list[int] = []
        for load, op, limit in (t for part in conjuncts_of(cond) if (t := _test(part)) is not None):
            sizes = [e.value for e in load.buffer.shape if isinstance(e, Const) and isinstance(e.value, int)]
            if len(sizes) < len(load.buffer.shape) or load.buffer in made or buffers_read(*load.indices) & stored:
                continue
            here = any(s.buffer == load.buffer and _same_place(s, load) for s in _always(block))
            stores = [s for s in stores_in(self.step) if s.buffer == load.buffer]
            last = next((s for s in reversed(branch.before) if s.buffer == load.buffer), None)
            falls = op == "eq" and last is not None and _same_place(last, load) and all(map(_falls, stores))
            if falls or (here and all(self._marks(s, op, limit) for s in stores)):
                found.append(prod(sizes))
        return min(found, default=None)

    def _marks(self, store: Store, op: str, limit: int | Var) -> bool:
        """Whether what is stored does not stand in a relation to a number, by which elements are not marked."""
        if isinstance(limit, Var):
            own = {s.var for s in walk(self.step) if isinstance(s, (For, Let))}
            return op == "eq" and limit not in own and self.differ(store.value, limit)
        low, high = self._reach(store.value, store.buffer)
        if low is not None and low == high:
            return not fold_numbers(op, low, limit)
        match op:
            case "eq":
                return (low is not None and low > limit) or (high is not None and high < limit)
            case "lt" | "le":
                return low is not None and not fold_numbers(op, low, limit)
            case "gt" | "ge":
                return high is not None and not fold_numbers(op, high, limit)
            case _:
                return False

    def _reach(self, expr: Expr, array: Buffer, least: int | None = None) -> Interval:
        """Between which numbers an expression lies, where elements of an array are not less than the `least`."""
        match expr:
            case Const(value=bool() | int() as value):
                return int(value), int(value)
            case Cast(operand=inner) if _keeps(inner, expr.dtype):
                return self._reach(inner, array, least)
            case Load(buffer=buffer) if buffer == array:
                return (self._least(array) if least is None else least), None
            case Load(buffer=buffer):
                return self.cells(buffer)
            case Var():
                values = [s.value for s in walk(self.step) if isinstance(s, Let) and s.var == expr]
                return self._reach(values[0], array, least) if values else _ANY
            case Unary(op="neg", operand=inner) if expr.dtype.is_signed:
                low, high = self._reach(inner, array, least)
                return None if high is None else -high, None if low is None else -low
            case Binary(op=op, lhs=a, rhs=b) if expr.dtype.is_signed and op in ("add", "sub", "mul", "min", "max"):
                return interval_after(op, self._reach(a, array, least), self._reach(b, array, least))
            case Select(then=a, other=b):
                (al, ah), (bl, bh) = self._reach(a, array, least), self._reach(b, array, least)
                low = None if al is None or bl is None else min(al, bl)
                return low, None if ah is None or bh is None else max(ah, bh)
            case _:
                return _ANY

    def _least(self, array: Buffer) -> int | None:
        """The least that elements of an array are: they are so before the loop, and what it stores is if they are."""
        own = [s.value for s in stores_in(self.step) if s.buffer == array]
        before = [v for v in self.before(array) or () if not any(v.same(w) for w in own)]
        lows = [self._reach(v, array, 0)[0] if array not in buffers_read(v) else None for v in before]
        if not lows or any(low is None for low in lows):
            return None
        least = min(low for low in lows if low is not None)
        after = [self._reach(v, array, least)[0] for v in own]
        return least if all(low is not None and low >= least for low in after) else None


class _Branch(Struct, frozen=True):
    """A block with its condition, and the stores that run before it whenever it is reached.

    A statement in it runs as many `times` at most.
    """

    cond: Expr
    block: Stmt
    before: tuple[Store, ...]
    times: int = 1


class _Path(Struct, frozen=True):
    """The branches around a statement within the innermost loop whose steps are not known, and the stores that run
    before it in the innermost loop."""

    branches: tuple[_Branch, ...] = ()
    before: tuple[Store, ...] = ()

    def under(self, cond: Expr, block: Stmt) -> _Path:
        """The path within a branch."""
        return _Path((*self.branches, _Branch(cond, block, self.before)), self.before)

    def within(self, loop: For) -> _Path:
        """The path within a loop."""
        steps = loop.extent.value if isinstance(loop.extent, Const) else None
        if not isinstance(steps, int):
            return _Path()
        return _Path(tuple(replace(b, times=b.times * max(steps, 0)) for b in self.branches))

    def after(self, stmt: Stmt) -> _Path:
        """The path behind a statement, after which nothing is known of what it stores to in branches and loops."""
        always = tuple(_always(stmt))
        others = {s.buffer for s in stores_in(stmt)} - {s.buffer for s in always}
        return _Path(self.branches, (*(s for s in self.before if s.buffer not in others), *always))


def _paths(stmt: Stmt, counter: Buffer, path: _Path) -> Iterator[_Path]:
    """The path to each statement that counts up."""
    match stmt:
        case Store(buffer=buffer, value=Binary(op="add", lhs=Load(buffer=old), rhs=one)) if buffer == counter == old:
            if is_const(one, 1):
                yield path
        case Seq(stmts=parts):
            for part in parts:
                yield from _paths(part, counter, path)
                path = path.after(part)
        case If(cond=cond, then=then, other=other):
            yield from _paths(then, counter, path.under(cond, then))
            yield from _paths(other, counter, path.under(negate(cond), other))
        case For():
            yield from _paths(stmt.body, counter, path.within(stmt))
        case Let(body=body) | Alloc(body=body):
            yield from _paths(body, counter, path)
        case _:
            pass


def counts_alone(step: Stmt, counter: Buffer) -> bool:
    """Whether all that happens to a counter is that it goes up or down by one, or begins again at zero."""

    def counts(value: Expr) -> bool:
        match value:
            case Binary(op="add" | "sub", lhs=Load(buffer=old), rhs=one):
                return old == counter and is_const(one, 1)
            case _:
                return is_const(value, 0)

    return all(counts(s.value) for s in stores_in(step) if s.buffer == counter)


def without_increments(step: Stmt, counter: Buffer) -> Stmt:
    """A step that does not count up."""

    def kept(stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer=buffer, value=Binary(op="add", lhs=Load(buffer=old), rhs=one)):
                return SKIP if buffer == counter == old and is_const(one, 1) else stmt
            case _:
                return stmt

    return map_stmt(step, on_stmt=kept)


def _falls(store: Store) -> bool:
    """Whether an element becomes less than it was, by a number that is known."""
    match store.value:
        case Binary(op="sub", lhs=Load() as old, rhs=Const(value=int() as by)) if old.buffer == store.buffer:
            return by > 0 and _same_place(store, old)
        case _:
            return False


def beside(step: Stmt, counter: Buffer, other: Buffer) -> bool:
    """Whether whatever counts up one counter counts up another one, too, which nothing counts down."""
    if any(s.buffer == other and not _counts_up(s, other) for s in stores_in(step)):
        return False
    return _beside(step, counter, other)


def _beside(step: Stmt, counter: Buffer, other: Buffer) -> bool:
    stores = [*_always(step)]
    if sum(_counts_up(s, counter) for s in stores) > sum(_counts_up(s, other) for s in stores):
        return False
    return all(_beside(inner, counter, other) for inner in _within(step))


def _counts_up(store: Store, counter: Buffer) -> bool:
    match store.value:
        case Binary(op="add", lhs=Load(buffer=old), rhs=one):
            return store.buffer == counter == old and is_const(one, 1)
        case _:
            return False


def _within(stmt: Stmt) -> Iterator[Stmt]:
    """Statements that run under a condition, or several times, whenever a statement does."""
    match stmt:
        case Seq(stmts=parts):
            for part in parts:
                yield from _within(part)
        case Let(body=body) | Alloc(body=body):
            yield from _within(body)
        case If(then=then, other=other):
            yield from (then, other)
        case For(body=body):
            yield body
        case _:
            pass


def _always(stmt: Stmt) -> Iterator[Store]:
    """Stores that run whenever a statement does."""
    match stmt:
        case Store():
            yield stmt
        case Seq(stmts=parts):
            for part in parts:
                yield from _always(part)
        case Let(body=body) | Alloc(body=body):
            yield from _always(body)
        case _:
            pass


def _test(cond: Expr) -> tuple[Load, str, int | Var] | None:
    """An element that is compared with a number or a name, and how; None for other conditions."""
    match cond:
        case Load() if cond.dtype is DType.BOOL and cond.buffer.shape:
            return cond, "eq", 1
        case Unary(op="not", operand=Load() as load) if load.buffer.shape:
            return load, "eq", 0
        case Unary(op="not", operand=Binary(op=op) as other) if op in COMPARE_OPS and not other.lhs.dtype.is_float:
            return _test(negate(other))
        case Binary(op=op, lhs=a, rhs=b) if op in COMPARE_OPS:
            for x, y, relation in ((a, b, op), (b, a, MIRRORED[op])):
                while isinstance(x, Cast) and x.dtype.is_integer and x.operand.dtype.is_integer:
                    x = x.operand
                if isinstance(x, Load) and x.buffer.shape and isinstance(y, Const) and isinstance(y.value, (bool, int)):
                    return x, relation, int(y.value)
                if isinstance(x, Load) and x.buffer.shape and isinstance(y, Var):
                    return x, relation, y
            return None
        case _:
            return None


def _keeps(expr: Expr, dtype: DType) -> bool:
    """Whether a conversion leaves integers what they are: also of what cells of Python numbers hold, which must fit."""
    if not expr.dtype.is_integer or not dtype.is_signed:
        return False
    wide = expr.dtype.bits + (not expr.dtype.is_signed) <= dtype.bits
    return wide or (expr.dtype.is_signed and not any(b.shape for b in buffers_read(expr)))


def _same_place(store: Store, load: Load) -> bool:
    return all(_plain(a).same(_plain(b)) for a, b in zip(store.indices, load.indices, strict=True))


def _plain(index: Expr) -> Expr:
    """A place without the choice of the end that it is counted from: where that is left out, it is known."""
    while isinstance(index, Cast) and index.dtype.is_integer and index.operand.dtype.is_integer:
        index = index.operand
    match index:
        case Select(cond=Binary(op="lt", lhs=x, rhs=zero), other=same) if is_const(zero, 0) and x.same(same):
            return _plain(same)
        case _:
            return index


def most_above(step: Stmt, counter: Buffer) -> int | None:
    """How far a counter goes above what it was before any steps of a loop, each of which takes off it what it adds.

    None if steps may leave it higher than they found it. Nothing is taken off zero: a list then has no item to pop.
    """
    found = _way(step, counter)
    return found[1] if found is not None and found[0] <= 0 else None


def _way(stmt: Stmt, counter: Buffer) -> tuple[int, int] | None:
    """How much higher a counter is after a statement at most, and how much higher it ever is in it; None if unknown."""
    match stmt:
        case Store(buffer=buffer, value=Binary(op="add" | "sub" as op, lhs=lhs, rhs=Const(value=int() as by))) if (
            buffer == counter and lhs.same(Load(counter, ()))
        ):
            by = by if op == "add" else -by
            return by, max(by, 0)
        case Store(buffer=buffer, value=value) if buffer == counter:
            return (0, 0) if is_const(value, 0) else None
        case Seq(stmts=stmts):
            now, most = 0, 0
            for part in stmts:
                if (way := _way(part, counter)) is None:
                    return None
                now, most = now + way[0], max(most, now + way[1])
            return now, most
        case If(then=then, other=other):
            one, two = _way(then, counter), _way(other, counter)
            return None if one is None or two is None else (max(one[0], two[0]), max(one[1], two[1]))
        case For(body=body):
            way = _way(body, counter)
            return None if way is None or way[0] > 0 else (0, way[1])
        case Let(body=body) | Alloc(body=body):
            return _way(body, counter)
        case _:
            return None if counter in buffers_written(stmt) else (0, 0)
