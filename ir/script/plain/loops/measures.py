"""How often a `while` runs at most: an integer that falls in every step which goes on, found from what it compares.

The body is run on symbols, path by path. A measure is a difference of two sides of a comparison in it, or a sum of two
of those. Where it is positive as long as work is done and falls by one, its value before the loop is a bound; where it
halves, the number of its bits is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

import ir.presburger.sets as pb
from ir.dtypes import DType
from ir.nodes import (
    COMPARE_OPS,
    Alloc,
    Assume,
    Binary,
    Block,
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
    const,
)
from ir.presburger.opaque import Opaque
from ir.traverse import buffers_written, is_const, map_expr, stores_in, walk, walk_expr

_OPERATIONS = 3 * pb.MAX_OPERATIONS  # a tenth of a second; walks back through tables take most of it
_MAX_PATHS = 40
_MAX_SIDES = 12  # comparisons that are tried
Kind = Literal["falls", "halves", "loses bits"]  # what an integer does in each step, or in some
_Compare = Callable[[isl.PwAff, isl.PwAff], isl.Set]
_ROUNDS = (1, 2)  # after how many steps the measure has halved


class Measure(Struct, frozen=True):
    """A loop takes at most as many steps as `value` is before it, or `rounds` times its bits if it does not fall
    by one.

    Names of the loop's cells stand in it as `cells` says. `more` is how many steps may come after it is used up.
    """

    value: Expr
    cells: Mapping[Var, Buffer]
    kind: Kind
    rounds: int
    more: int


class _Path(Struct, frozen=True):
    """What is known along a path, what cells and names hold at its end, and whether it did more than leave the loop."""

    facts: isl.Set
    cells: Mapping[Buffer | Var, Expr]
    worked: bool = False


class _Parts(Opaque):
    """Names for what is not linear, with what is known of remainders and common bits of two operands."""

    def range_of(self, name: str, expr: Expr) -> isl.Set:
        known = super().range_of(name, expr)
        if not isinstance(expr, Binary) or not expr.dtype.is_integer:
            return known
        a, b = pb.affine(expr.lhs, self), pb.affine(expr.rhs, self)
        if a is None or b is None:
            return known
        value, zero = pb.symbol(name), pb.number(0)
        if expr.op == "bitand":
            known = known.intersect(_of_lowest_bit(expr, value, a, b))
        for one, other in ((a, b), (b, a)):
            match expr.op:
                case "bitand":
                    within = value.ge_set(zero).intersect(value.le_set(one))
                    both = one.lt_set(zero).intersect(other.lt_set(zero)).intersect(value.le_set(one))
                    known = known.intersect(one.lt_set(zero).union(within))
                    known = known.intersect(one.ge_set(zero).union(other.ge_set(zero)).union(both))
                case "bitxor":  # it is one of them where the other one is zero
                    known = known.intersect(value.eq_set(one).complement().union(other.eq_set(zero)))
                    known = known.intersect(value.eq_set(one).union(other.eq_set(zero).complement()))
                case "floormod" if one is a:
                    known = known.intersect(_of_remainder(value, a, b))
                    known = known.intersect(_of_remainder(value.neg(), a.neg(), b.neg()))
                case _:
                    pass
        return known


def _of_remainder(value: isl.PwAff, a: isl.PwAff, b: isl.PwAff) -> isl.Set:
    """What is known of `a % b` where both are positive: of a >= b a quotient of at least one was taken away."""
    zero = pb.number(0)
    less = a.lt_set(b).union(value.le_set(a.sub(b))).intersect(value.le_set(a))
    return b.le_set(zero).union(a.lt_set(zero)).union(less)


def _of_lowest_bit(expr: Binary, value: isl.PwAff, a: isl.PwAff, b: isl.PwAff) -> isl.Set:
    """What is known of `x & -x`, the lowest bit of an integer, and of `x & (x - 1)`, which is without it."""
    zero = pb.number(0)
    lowest = value.ge_set(pb.number(1)).union(a.eq_set(zero))
    known = a.add(b).eq_set(zero).complement().union(lowest)
    for one, (left, right) in ((a, (expr.lhs, expr.rhs)), (b, (expr.rhs, expr.lhs))):
        match right:  # where unsigned integers wrap, they are no sums
            case Unary(op="neg", operand=operand) if operand.same(left):
                known = known.intersect(lowest)
            case Binary(op="sub", lhs=other, rhs=Const(value=1)) if other.same(left):
                known = known.intersect(value.lt_set(one).union(one.eq_set(zero)))
            case _:
                pass
    return known


class _Run(Struct):
    """Runs statements on symbols; loads of what is no cell, or changes, are numbers of which nothing is known."""

    changing: frozenset[Buffer]
    flags: frozenset[Buffer]
    written: frozenset[Buffer]
    parts: _Parts = field(default_factory=lambda: _Parts(()))
    held: dict[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())  # what symbols were given
    elements: list[tuple[Load, Var]] = field(default_factory=lambda: list[tuple[Load, Var]]())
    count: int = 0

    def symbol(self, name: str, dtype: DType) -> Var:
        self.count += 1
        return Var(f"{name}#{self.count}", dtype)

    def read(self, expr: Expr, cells: Mapping[Buffer | Var, Expr]) -> Expr:
        """An expression over the symbols that cells and names hold."""

        def change(part: Expr) -> Expr:
            if not isinstance(part, Load):
                return cells.get(part, part) if isinstance(part, Var) else part
            held = cells.get(part.buffer)
            return held if held is not None else self._element(part)

        return map_expr(expr, change)

    def _element(self, load: Load) -> Var:
        """The symbol of an element; one that no step changes has the same one at the same place."""
        place = tuple(map_expr(i, self._origin) for i in load.indices)
        for known, symbol in self.elements if load.buffer not in self.written else ():
            if known.same(replace(load, indices=place)):
                return symbol
        symbol = self.symbol(load.buffer.name, load.dtype)
        if load.buffer not in self.written:
            self.elements.append((replace(load, indices=place), symbol))
        return symbol

    def _origin(self, part: Expr) -> Expr:
        """What a symbol is a name of."""
        while isinstance(part, Var) and isinstance(held := self.held.get(part), Var):
            part = held
        return part

    def under(self, path: _Path, cond: Expr, holds: bool) -> _Path | None:
        """The path where a condition holds, or does not; None where it never does."""
        inside = path.facts
        for load in _needed(cond, holds):  # what is read outside is undef, and no condition may be
            inside = inside.intersect(self._within(load, path))
        cond = _decided(self.read(cond, path.cells))
        if isinstance(cond, Const):
            return path if bool(cond.value) is holds else None
        where = pb.condition(cond, self.parts)
        facts = inside.intersect((where if holds else where.negated()).may)
        facts = self.parts.within(facts)
        return None if facts.is_empty() else replace(path, facts=facts)

    def of(self, stmt: Stmt, paths: list[_Path]) -> list[_Path]:
        """Where paths lead."""
        if len(paths) > _MAX_PATHS:
            raise _TooManyError
        match stmt:
            case Seq(stmts=stmts):
                for part in stmts:
                    paths = self.of(part, paths)
                return paths
            case If(cond=cond, then=then, other=other):
                ways = [(branch, self.under(p, cond, holds)) for p in paths
                        for branch, holds in ((then, True), (other, False))]  # fmt: skip
                return [end for branch, way in ways if way is not None for end in self.of(branch, [way])]
            case Store():
                return [self.store(stmt, p) for p in paths]
            case Assume(cond=cond):
                return [way for p in paths if (way := self.under(p, cond, True)) is not None]
            case Let(var=var, value=value, body=body):
                return self.of(body, [self._holding(var, var.name, value, p) for p in paths])
            case Alloc(body=body) | Block(body=body):
                return self.of(body, paths)
            case For():
                return [self._looped(stmt, p) for p in paths]
            case _:  # what has no effect on cells
                return [self._unknown(buffers_written(stmt), p) for p in paths]

    def store(self, stmt: Store, path: _Path) -> _Path:
        facts = path.facts
        for load in _needed(stmt.value):
            if load.buffer not in self.written:  # which is as long as it will be, and Python fails beyond that
                facts = facts.intersect(self._within(load, path))
        path = replace(path, facts=facts, worked=path.worked or stmt.buffer not in self.flags)
        if stmt.indices or stmt.buffer not in self.changing:
            return path
        return self._holding(stmt.buffer, stmt.buffer.name, stmt.value, path)

    def _holding(self, place: Buffer | Var, name: str, value: Expr, path: _Path) -> _Path:
        """The path after a cell or name has got a value."""
        new = self.read(value, path.cells)
        if isinstance(new, Const):
            return replace(path, cells={**path.cells, place: new})
        symbol = self.symbol(name, new.dtype)
        self.held[symbol] = new
        facts = path.facts
        if new.dtype.is_integer:
            facts = facts.intersect(pb.condition(Binary("eq", symbol, new), self.parts).may)
            facts = self.parts.within(facts if new.dtype.is_signed else facts.intersect(_at_least([(symbol, 0)])))
        return _Path(facts, {**path.cells, place: symbol}, path.worked)

    def _within(self, load: Load, path: _Path) -> isl.Set:
        """Where an access is inside its buffer."""
        inside = pb.always()
        for index, extent in zip(load.indices, load.buffer.shape, strict=True):
            at, size = pb.affine(self.read(index, path.cells), self.parts), pb.affine(extent)
            if at is not None and size is not None:
                inside = inside.intersect(at.ge_set(pb.number(0))).intersect(at.lt_set(size))
        return inside

    def _first_step(self, loop: For, path: _Path) -> _Path | None:
        """Where a path leads in the first step of a loop; None if it may have none, or leads to several places."""
        steps = pb.affine(self.read(loop.extent, path.cells), self.parts)
        if steps is None or not path.facts.is_subset(steps.ge_set(pb.number(1))):
            return None
        ends = self.of(loop.body, [self._holding(loop.var, loop.var.name, loop.start, path)])
        return ends[0] if len(ends) == 1 else None

    def _looped(self, loop: For, path: _Path) -> _Path:
        """The path after a loop: an integer that no step makes smaller than it was is no smaller after it, or no
        larger, where its first step, if there is one, is looked at by itself."""
        written = buffers_written(loop)
        counted = [b for b in written & path.cells.keys() & self.changing if b.dtype.is_integer]
        if not counted:
            return self._unknown(written, path)
        start = pb.affine(self.read(loop.start, path.cells), self.parts)
        try:
            if (first := self._first_step(loop, path)) is not None:
                path, start = first, None if start is None else start.add(pb.number(1))
            before, step = self._unknown(written, path), self.symbol(loop.var.name, loop.var.dtype)
            held, value = replace(before, cells={**before.cells, loop.var: step}), pb.affine(step)
            if start is not None and value is not None:
                held = replace(held, facts=held.facts.intersect(value.ge_set(start)))
            ends = self.of(loop.body, [held])
        except _TooManyError:
            return self._unknown(written, path)
        after = self._unknown(written, path)
        facts = after.facts
        for buffer, compare in itertools.product(counted, (isl.PwAff.ge_set, isl.PwAff.le_set)):

            def kept(now: _Path, buffer: Buffer = buffer, compare: _Compare = compare) -> isl.Set:
                sides = [pb.affine(p.cells[buffer], self.parts) for p in (now, path)]
                return pb.never() if sides[0] is None or sides[1] is None else compare(sides[0], sides[1])

            if all(end.facts.intersect(kept(before)).is_subset(kept(end)) for end in ends):
                facts = facts.intersect(kept(after))
        return replace(after, facts=facts)

    def _unknown(self, written: set[Buffer], path: _Path) -> _Path:
        fresh = {b: self.symbol(b.name, b.dtype) for b in written & self.changing}
        return replace(path, cells={**path.cells, **fresh}, worked=path.worked or bool(written))


class _TooManyError(Exception):
    """There are more paths through a body than are looked at."""


def measure(
    body: Stmt, flags: frozenset[Buffer], starts: Callable[[Buffer], int | None], known: Sequence[isl.Set]
) -> list[Measure]:
    """What bounds the steps of a loop whose body does nothing once one of `flags` is set, if anything is found.

    Beside what falls by one, what halves is looked for: it mostly ends far sooner.

    `starts` says that an integer cell is known to be at least 1 or 0 before the loop, and `known` holds throughout.
    """
    found: list[Measure] = []
    pb.within_budget(lambda: found.extend(_measures(body, flags, starts, known)), None, _OPERATIONS)
    return found


def _measures(
    body: Stmt, flags: frozenset[Buffer], starts: Callable[[Buffer], int | None], known: Sequence[isl.Set]
) -> Iterator[Measure]:
    own = {s.buffer for s in walk(body) if isinstance(s, Alloc)}
    written = buffers_written(body)
    deciding = _deciding(body)
    cells = [b for b in sorted(deciding, key=lambda b: b.name) if b not in own]
    run = _Run(frozenset(written & deciding), flags, frozenset(written))
    names = {b: Var(b.name, b.dtype) for b in cells}
    entry: dict[Buffer | Var, Expr] = {b: const(False, DType.BOOL) if b in flags else names[b] for b in cells}
    facts = pb.always()
    for one in known:
        facts = facts.intersect(one)
    least = {b: low for b in cells if b.dtype.is_integer and (low := starts(b)) is not None}
    falls = False
    try:
        while True:  # until what is taken to be no less than a number is not afterwards either
            here = _Path(facts.intersect(_at_least((names[b], low) for b, low in least.items())), entry)
            ends = run.of(body, [here])
            lost = [b for b in least if not all(p.facts.is_subset(_at_least([(p.cells[b], least[b])])) for p in ends)]
            if not lost:
                break
            least = {b: low - (b in lost) for b, low in least.items() if b not in lost or low > 0}
        symbols = {var: b for b, var in names.items()}
        values = list(_candidates(body, entry, set(symbols)))
        after, works = [p for p in ends if not _left(p, flags)], [p.facts for p in ends if p.worked]
        for rounds in _ROUNDS:
            for value in values:
                found = _judged(value, run, names, after, works, rounds)
                if found is None or (falls and found[0] == "falls"):
                    continue
                yield Measure(value, symbols, found[0], rounds, found[1])
                if found[0] != "falls":
                    return
                falls = True
            after = [p for p in run.of(body, after) if not _left(p, flags)] if after else []
    except _TooManyError:
        pass


def _deciding(body: Stmt) -> set[Buffer]:
    """Cells that conditions are about, and those that what they hold is worked out from."""
    bound = {s.var: s.value for s in walk(body) if isinstance(s, Let)}
    stored = [(s.buffer, s.value) for s in stores_in(body) if not s.buffer.shape]

    def read_by(expr: Expr) -> set[Buffer]:
        parts = list(walk_expr(expr))
        found = {e.buffer for e in parts if isinstance(e, Load) and not e.buffer.shape}
        return found.union(*(read_by(bound[e]) for e in parts if isinstance(e, Var) and e in bound))

    found = {b for s in walk(body) if isinstance(s, If) for b in read_by(s.cond)}
    while more := {b for buffer, value in stored if buffer in found for b in read_by(value)} - found:
        found |= more
    return found


def _judged(
    value: Expr, run: _Run, names: Mapping[Buffer, Var], after: list[_Path], works: list[isl.Set], rounds: int
) -> tuple[Kind, int] | None:
    """Whether an integer halves or loses a bit in so many steps, or falls in one, and how many steps may follow; None
    if neither.

    It must be positive where a step goes on, which is what paths `after` some steps say of their first one too, or not
    be zero where it loses bits.
    """
    parts = run.parts
    before = pb.affine(value, parts)
    if before is None:
        return None
    place = next((b for b, var in names.items() if var is value), None)
    if place is not None and all(_loses_a_bit(path, value, path.cells[place], before, run) for path in after):
        some = before.eq_set(pb.number(0)).complement()
        return "loses bits", 0 if all(facts.is_subset(some) for facts in works) else rounds
    positive = before.ge_set(pb.number(1))
    if not all(p.facts.is_subset(positive) for p in after):
        return None

    def all_fall(factor: int, by: int) -> bool:
        for path in after:
            now = pb.affine(_replaced(value, {var: path.cells[b] for b, var in names.items()}), parts)
            falls = None if now is None else now.scale_val(isl.Val(factor)).le_set(before.sub(pb.number(by)))
            if falls is None or not path.facts.is_subset(falls):
                return False
        return True

    more = 0 if all(facts.is_subset(positive) for facts in works) else rounds
    if all_fall(2, 0):
        return "halves", more
    return ("falls", more) if rounds == 1 and all_fall(1, 1) else None


def _loses_a_bit(path: _Path, old: Expr, new: Expr, before: isl.PwAff, run: _Run) -> bool:
    """Whether an integer that changes has no bits but some of what it was."""
    now = pb.affine(new, run.parts)
    if now is None or not path.facts.is_subset(now.eq_set(before).complement()):
        return False
    return _within_bits(new, old, run.held)


def _within_bits(expr: Expr, old: Expr, held: Mapping[Var, Expr]) -> bool:
    """Whether all bits of an integer are among those of another one."""
    if expr.same(old):
        return True
    match expr:
        case Var():
            return expr in held and _within_bits(held[expr], old, held)
        case Binary(op="bitand", lhs=a, rhs=b):
            return _within_bits(a, old, held) or _within_bits(b, old, held)
        case Binary(op="sub" | "bitxor", lhs=a, rhs=b):  # what is taken away is there
            return _within_bits(a, old, held) and _within_bits(b, a, held)
        case Cast(operand=a) if a.dtype.is_integer and _keeps(a.dtype, expr.dtype):
            return _within_bits(a, old, held)
        case _:
            return False


def _keeps(source: DType, dtype: DType) -> bool:
    """Whether a cast of integers keeps all numbers."""
    return source.min >= dtype.min and source.max <= dtype.max


def _replaced(expr: Expr, held: Mapping[Var, Expr]) -> Expr:
    return map_expr(expr, lambda e: held.get(e, e) if isinstance(e, Var) else e)


def _at_least(values: Iterable[tuple[Expr, int]]) -> isl.Set:
    """Where integers are no less than numbers."""
    found = pb.always()
    for value, low in values:
        held = pb.affine(value)
        found = found.intersect(pb.never() if held is None else held.ge_set(pb.number(low)))
    return found


def _left(path: _Path, flags: frozenset[Buffer]) -> bool:
    return any(isinstance(value := path.cells.get(b), Const) and bool(value.value) for b in flags)


def _needed(expr: Expr, holds: bool = True) -> Iterator[Load]:
    """Loads without which an expression has no value, or a condition not this one: operators are strict in them."""
    match expr:
        case Load(indices=indices):
            yield expr
            yield from (load for index in indices for load in _needed(index))
        case Unary(op="not", operand=a):
            yield from _needed(a, not holds)
        case Cast(operand=a) | Unary(op="neg", operand=a):
            yield from _needed(a)
        case Binary(op="and" | "or" as op, lhs=a, rhs=b) if holds is (op == "and"):
            yield from itertools.chain(_needed(a, holds), _needed(b, holds))
        case Binary(op="lt" | "le" | "gt" | "ge" | "eq" | "ne" | "add" | "sub", lhs=a, rhs=b):
            yield from itertools.chain(_needed(a), _needed(b))
        case _:
            pass


def _decided(cond: Expr) -> Expr:
    """A condition without the parts that are known."""

    def change(part: Expr) -> Expr:
        match part:
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                for one, other in ((a, b), (b, a)):
                    if isinstance(one, Const):
                        return other if bool(one.value) is (op == "and") else one
            case Binary(op="eq", lhs=Var() as a, rhs=Var() as b) if (
                a is b
            ):  # where it is NaN, Python does not come to an end
                return const(True, DType.BOOL)
            case _ if (inner := _negated(part)) is not None:
                return const(not inner, DType.BOOL)
            case _:
                pass
        return part

    return map_expr(cond, change)


def _negated(part: Expr) -> bool | None:
    operand = getattr(part, "operand", None)
    return bool(operand.value) if getattr(part, "op", "") == "not" and isinstance(operand, Const) else None


def _candidates(body: Stmt, entry: Mapping[Buffer | Var, Expr], symbols: set[Var]) -> Iterator[Expr]:
    """Differences that comparisons in a body are about, over what cells hold before it; then sums of two of them."""
    sides: list[Expr] = []
    for stmt in walk(body):
        for cond in [stmt.cond] if isinstance(stmt, If) else []:
            for part in walk_expr(cond):
                for side in itertools.chain(_sides(part), _room(part)):
                    read = map_expr(side, lambda e: entry.get(e.buffer, e) if isinstance(e, Load) else e)
                    varies = any(isinstance(e, Var) and e in symbols for e in walk_expr(read))
                    loads = any(isinstance(e, Load) for e in walk_expr(read))
                    if varies and not loads and not any(read.same(s) for s in sides):
                        sides.append(read)
    sides = sides[:_MAX_SIDES]
    yield from sides
    for one, other in itertools.combinations(sides, 2):
        if one.dtype is other.dtype:
            yield Binary("add", one, other)


def _room(part: Expr) -> Iterator[Expr]:
    """What is positive where an access is inside its buffer: how far its indices are from both ends."""
    if not isinstance(part, Load):
        return
    for index, extent in zip(part.indices, part.buffer.shape, strict=True):
        low, high = (index.then, index.other) if isinstance(index, Select) else (index, index)  # from the end, or not
        if low.dtype.is_signed and not isinstance(low, Const):
            size = extent if extent.dtype is high.dtype else Cast(high.dtype, extent)
            yield Binary("sub", size, high)
            yield Binary("add", low, const(1, low.dtype))


def _sides(part: Expr) -> list[Expr]:
    """What is positive where a comparison of integers holds, and where it does not; operands of bit operations."""
    if not isinstance(part, Binary):
        return []
    a, b = part.lhs, part.rhs
    if part.op == "bitand" and part.dtype.is_integer:
        return [v for v in (a, b) if not isinstance(v, Const)]
    if part.op not in COMPARE_OPS or not a.dtype.is_integer:
        return []
    if is_const(b, 0):
        return [a, Binary("max", a, Unary("neg", a))] if a.dtype.is_signed and part.op in ("eq", "ne") else [a]
    low, high = (a, b) if part.op in ("lt", "le", "ne") else (b, a)
    if not a.dtype.is_signed:
        return []
    strict = part.op in ("lt", "gt", "eq", "ne")
    first = Binary("sub", high, low)
    return [first if strict else Binary("add", first, const(1, a.dtype)), Binary("sub", low, high)]
