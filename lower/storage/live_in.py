"""What a copy of a table must hold before a wavefront runs over it, and what of it goes back.

Of a table that a wavefront writes, its steps find little as it was before: its borders, which the program mostly stores
itself just before. So a copy starts as what those stores make of zeros, a function of an element's place, or as zeros
with a few rows and columns of the table. `lower/storage/predicate_elimination.py` says which masks stores to it need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.coverage import uncovered
from ir.analysis.dependence import Loop, Statement, common_loops
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Store, Var, const
from ir.presburger import sets as presburger
from ir.traverse import conjuncts_of, free_vars, loads, map_expr, node_count, substitute_expr
from lower.analysis.linear_forms import Linear, atom, least, linear, number, tidy, to_expr, unbounded
from lower.nest.nodes import ArrayStatement, Box, Fresh, array_statement, extreme, loop_over, loops_over
from lower.storage.skewed_storage import Skewed

Set = presburger.isl.Set
_WIDTH = 2  # rows or columns at an end of a table that are copied one by one
_SHORT = 40  # parts of an expression that is worked out for all elements of a table
_SMALL = 8  # a copy by strips moves at most this part of a table


class Strip(Struct, frozen=True):
    """The first or the last positions of a dimension, `low <= index < high`, and all of the others."""

    dimension: int
    low: int
    high: int


class Borders(Struct, frozen=True):
    """How a copy of a table begins and ends.

    It begins with what statements that ran before store, done `again` for it, or with `strips` of the table. Positions
    `back` go back to the table, all where that is None. Of the elements, those that count have values that somebody may
    look at, and those in `written` may be stored to by the wavefront.
    """

    again: tuple[Statement, ...]
    strips: tuple[Strip, ...]
    back: tuple[Box, ...] | None
    counting: Set
    written: Set
    first: First | None

    def filled(
        self, copy: Skewed, around: tuple[Loop, ...], boxes: dict[Loop, Box], new: Fresh
    ) -> list[ArrayStatement]:
        """What a copy begins with; elsewhere it holds zeros."""
        if self.first is not None:
            if isinstance(self.first.value, Const) and not self.first.value.value:
                return []
            axes = loops_over(copy.new, boxes, new.name)
            here = tuple(a.var for a in axes)
            value = self.first.at(copy.origins(here))
            if all(_sliced(load, here) for load in loads(value)):
                return [array_statement(Store(copy.new, here, value), around, axes, new)]
        found = [_again(s, copy, around, boxes, new) for s in self.again]
        for strip in self.strips:
            ranges = [Box(number(0), linear(n), exact=True) for n in copy.old.shape]
            ranges[strip.dimension] = Box(number(strip.low), number(strip.high - strip.low), exact=True)
            axes = loops_over(copy.old, boxes, new.name, ranges)
            here = tuple(a.var for a in axes)
            found.append(array_statement(Store(copy.new, copy.place(here), Load(copy.old, here)), around, axes, new))
        return found


class First(Struct, frozen=True):
    """What a table holds at first, as a function of the place of an element."""

    place: tuple[Var, ...]
    value: Expr

    def at(self, indices: Sequence[Expr]) -> Expr:
        """What it holds at a place, simplified."""
        values = dict(zip(self.place, indices, strict=True))
        return map_expr(substitute_expr(self.value, values), _simpler)


def _simpler(e: Expr) -> Expr:
    """A comparison of integers in short, and a choice that is known."""
    match e:
        case Binary(op="eq" | "ge" | "lt" as op, lhs=a, rhs=b) if a.dtype.is_integer:
            difference = linear(a) - linear(b)
            if not difference.is_const:
                return tidy(e)
            d = difference.const
            return const({"eq": d == 0, "ge": d >= 0, "lt": d < 0}[op], DType.BOOL)
        case Binary(op="and", lhs=Const(value=value), rhs=b):
            return b if value else e.lhs
        case Binary(op="and", lhs=a, rhs=Const(value=value)):
            return a if value else e.rhs
        case Binary(op="and", lhs=a, rhs=b):
            known = dict(_known(a))
            there = map_expr(substitute_expr(b, known), _simpler)
            return e if there.same(b) else _simpler(replace(e, rhs=there))
        case Select(cond=Const(value=value), then=a, other=b):
            return a if value else b
        case Select(cond=cond, then=a):
            known = dict(_known(cond))
            here = map_expr(substitute_expr(a, known), _simpler) if known else a
            rest = e.other
            while isinstance(rest, Select) and rest.cond.same(cond):
                rest = rest.other
            return here if here.same(rest) else replace(e, then=here, other=rest)
        case Binary() if e.dtype.is_signed:
            return to_expr(linear(e), e)
        case _:
            return e


def _known(cond: Expr) -> Iterator[tuple[Var, Expr]]:
    """Variables that have only one value where a condition holds."""
    for part in conjuncts_of(cond):
        if isinstance(part, Binary) and part.op == "eq" and part.lhs.dtype.is_signed:
            form = linear(part.lhs) - linear(part.rhs)
            match list(form.terms.items()):
                case [(Var() as var, 1 | -1 as factor)]:
                    yield var, const(-factor * form.const, var.dtype)
                case _:
                    pass


def _sliced(load: Load, axes: Sequence[Var]) -> bool:
    """Whether a load is a slice over axes."""
    used: list[Var] = []
    for index in load.indices:
        form = linear(index)
        own = form.vars() & set(axes)
        if any(form.slope(v) != 1 for v in own) or len(own) > 1:
            return False
        used += own
    return len(set(used)) == len(used)


def _first(
    table: Buffer,
    again: Sequence[Statement],
    strips: Sequence[Strip],
    place: tuple[Var, ...],
    level: int,
    boxes: Mapping[Loop, Box],
) -> First | None:
    """What counts of a table after some statements, or in some strips; None if that is no short function."""
    value: Expr = const(0, table.dtype)
    for strip in strips:
        d = strip.dimension
        for at in (const(k, place[d].dtype) for k in range(strip.low, strip.high)):
            value = Select(Binary("eq", place[d], at), Load(table, (*place[:d], at, *place[d + 1 :])), value)
    for s in again:
        found = _stored_at(s, place, level, boxes)
        if found is None:
            return None
        conditions, stored = found
        value = Select(conjunction(conditions), stored, value) if conditions else stored
    return First(place, value) if node_count(value) <= _SHORT else None


def _stored_at(
    s: Statement, place: Sequence[Var], level: int, boxes: Mapping[Loop, Box]
) -> tuple[list[Expr], Expr] | None:
    """What a statement stores at a place, and when it does; None if that is not so simple."""
    inner = {o.var: boxes[o] for o in s.loops[level:]}
    conditions: list[Expr] = []
    values: dict[Var, Expr] = {}
    for index, at, size in zip(s.store.indices, place, s.buffer.shape, strict=True):
        form = linear(index)
        own = form.vars() & inner.keys()
        if not own:
            conditions.append(Binary("eq", at, index))
            continue
        (var, *more) = own
        if more or form.slope(var) != 1 or var in values:
            return None
        rest = form - atom(var)
        low, stop = (inner[var].low + rest, inner[var].low + inner[var].extent + rest)
        values[var] = to_expr(atom(at) - rest, at)
        conditions += [] if low.equals(0) else [Binary("ge", at, to_expr(low, at))]
        conditions += [] if stop.equals(linear(size)) else [Binary("lt", at, to_expr(stop, at))]
    if values.keys() != inner.keys():
        return None
    return conditions, substitute_expr(s.store.value, values)


def _again(s: Statement, copy: Skewed, around: tuple[Loop, ...], boxes: dict[Loop, Box], new: Fresh) -> ArrayStatement:
    """A statement that stored to a table, for a copy of it; one value for all of it goes to all of the copy."""
    inner = s.loops[len(around) :]
    if len(inner) == len(copy.old.shape):
        axes = loops_over(copy.new, boxes, new.name)
        return array_statement(Store(copy.new, tuple(a.var for a in axes), s.store.value), around, axes, new)
    axes = tuple(loop_over(o.var, boxes[o], boxes) for o in inner)
    return array_statement(Store(copy.new, copy.place(s.store.indices), s.store.value), around, axes, new)


def borders(
    table: Buffer,
    statements: Sequence[Statement],
    earlier: Sequence[Statement],
    level: int,
    around: tuple[Loop, ...],
    boxes: Mapping[Loop, Box],
    static: frozenset[Var],
) -> Borders | None:
    """How a copy of a table may begin and end; None where all of it must be copied.

    `statements` run within one iteration of `level` loops, those `around` and others that become axes. Of `earlier`
    statements those within just the same loops may be done again.
    """
    finder = _Finder(table, statements, level, around, boxes, static)
    return presburger.within_budget(partial(finder.found, earlier), None)


def whole(table: Buffer) -> Set:
    """All elements of a table."""
    return presburger.box(table.shape)


class _Finder:
    def __init__(
        self,
        table: Buffer,
        statements: Sequence[Statement],
        level: int,
        around: tuple[Loop, ...],
        boxes: Mapping[Loop, Box],
        static: frozenset[Var],
    ) -> None:
        self.table, self.statements, self.level, self.around = table, statements, level, around
        self.boxes, self.static = boxes, static
        self.writers = [s for s in statements if s.buffer == table]

    def found(self, earlier: Sequence[Statement]) -> Borders | None:
        """The borders, where the table all comes from the copy afterwards, or else the part that is stored to."""
        inside, first = whole(self.table), self._first()
        written = self._stored(self.writers)
        if first is None or written is None:
            return None
        certain = self._stored([s for s in self.writers if _exact(s)])
        assert certain is not None
        part = self._part()
        options = [(None, inside)] if part is None else [(None, inside), (part[0], part[1].union(first))]
        runs = self._runs()
        cases = [(back, c, c.subtract(certain).union(first).intersect(inside)) for back, c in options]
        cases = [(back, c, needed.intersect_params(runs).coalesce()) for back, c, needed in cases]
        cases = [case for case in cases if case[0] is None or case[2].is_subset(first)]
        for back, counting, needed in cases:
            again = self._again(needed, earlier)
            if again is not None:
                return Borders(again, (), back, counting, written, self._function(again, ()))
        for back, counting, needed in cases:
            strips = self._strips(needed)
            if strips is not None:
                return Borders((), strips, back, counting, written, self._function((), strips))
        return None

    def _function(self, again: Sequence[Statement], strips: Sequence[Strip]) -> First | None:
        return _first(self.table, again, strips, self._variables(), self.level, self.boxes)

    def _runs(self) -> Set:
        """When the loops around run."""
        return presburger.within_loops(presburger.always(), self.around)

    def _names(self, s: Statement) -> list[str]:
        return [loop.var.name for loop in s.loops if loop not in self.around]

    def _first(self) -> Set | None:
        """Elements that may be read as they were before."""
        found = presburger.nothing(len(self.table.shape))
        for reader in self.statements:
            for load in reader.reads():
                if load.buffer != self.table:
                    continue
                place = presburger.point(load.indices)
                if place is None:
                    return None
                early = uncovered(reader, load, self.writers, self.level)
                found = found.union(presburger.forget(place.intersect_params(early), self._names(reader)))
        return found

    def _stored(self, statements: Iterable[Statement]) -> Set | None:
        """Elements that statements may store to."""
        found = presburger.nothing(len(self.table.shape))
        for s in statements:
            place = presburger.point(s.store.indices)
            if place is None:
                return None
            found = found.union(presburger.forget(place.intersect_params(s.domain), self._names(s)))
        return found

    def _part(self) -> tuple[tuple[Box, ...], Set] | None:
        """The positions in each dimension to which statements store."""
        static = self.static | {o.var for o in self.around}
        ranges: list[Box] = []
        for d in range(len(self.table.shape)):
            lows: list[Linear] = []
            highs: list[Linear] = []
            for s in self.writers:
                within = {o.var: self.boxes[o] for o in s.loops if o in self.boxes and o not in self.around}
                form = linear(s.store.indices[d])
                low, high = (extreme(form, within, static, unbounded, upper) for upper in (False, True))
                if low is None or high is None:
                    return None
                lows.append(low)
                highs.append(high * -1)
            low, high = least(lows), least(highs)
            if low is None or high is None:
                return None
            ranges.append(Box(low, high * -1 - low + 1, exact=True))
        variables = self._variables()
        region = presburger.always()
        for v, box in zip(variables, ranges, strict=True):
            bounds = presburger.loop_domain(v, to_expr(box.low, v), to_expr(box.extent, v))
            region = region.intersect(bounds.may)
        return tuple(ranges), self._region(variables, region)

    def _variables(self) -> tuple[Var, ...]:
        return tuple(Var(f"{self.table.name}[{d}]", n.dtype) for d, n in enumerate(self.table.shape))

    def _region(self, variables: Sequence[Var], condition: Set) -> Set:
        place = presburger.point(variables)
        assert place is not None
        return presburger.forget(place.intersect_params(condition), [v.name for v in variables])

    def _again(self, needed: Set, earlier: Sequence[Statement]) -> tuple[Statement, ...] | None:
        """Statements that give a part of the table all that it holds, as long as their values stay what they were."""
        group = self.statements[0]
        stored = {s.buffer for s in (*self.statements, *earlier)}
        start = min(s.position for s in self.statements)
        found: list[Statement] = []
        writers = [s for s in earlier if s.buffer == self.table]
        for s in sorted(writers, key=lambda s: -s.position):
            beside = common_loops(s, group) > self.level  # its loops were distributed: it may run before, or after
            region = self._stored([s]) if beside or s.position < start else presburger.nothing(len(self.table.shape))
            if needed.is_empty() or (region is not None and region.intersect(needed).is_empty()):
                continue
            if region is None or group.loops[: self.level] != self.around or common_loops(s, group) != self.level:
                return None
            if any(load.buffer in stored for e in s.exprs() for load in loads(e)) or not self._cheap(s, region, needed):
                return None
            needed = needed.subtract(region)
            found.append(s)
        while found and isinstance(value := found[-1].store.value, Const) and not value.value:
            found.pop()  # it holds zeros anyway
        return tuple(reversed(found)) if needed.is_empty() else None

    def _cheap(self, s: Statement, region: Set, needed: Set) -> bool:
        """Whether a statement may be done again: it stores to a line, or one number to all that is needed."""
        inner = s.loops[self.level :]
        if s.guards or not _exact(s) or not all(o in self.boxes and self.boxes[o].exact for o in inner):
            return False
        outer = {o.var for o in self.around}
        rank = sum(1 for i in s.store.indices if not free_vars(i) & outer)
        if len(inner) < rank:
            return True
        everywhere = rank == len(inner) == len(self.table.shape) and needed.is_subset(region)
        return everywhere and isinstance(s.store.value, Const)

    def _strips(self, needed: Set) -> tuple[Strip, ...] | None:
        """Rows and columns at the ends of a table that have some elements in them."""
        sizes = [linear(n) for n in self.table.shape]
        if not all(n.is_const for n in sizes):
            return None
        shape = [n.const for n in sizes]
        ends = [(d, high) for high in (False, True) for d, size in enumerate(shape) if size > _WIDTH]
        widths = dict.fromkeys(ends, _WIDTH)

        def strips() -> list[Strip]:
            return [
                Strip(d, shape[d] - w if high else 0, shape[d] if high else w)
                for (d, high), w in widths.items()
                if w > 0
            ]

        def cover() -> bool:
            region = presburger.nothing(len(shape))
            for strip in strips():
                region = region.union(self._strip(strip))
            return needed.is_subset(region)

        if not cover():
            return None
        for end in reversed(ends):
            for width in range(_WIDTH):
                widths[end] = width
                if cover():
                    break
                widths[end] = _WIDTH
        moved = sum(prod(shape) // shape[s.dimension] * (s.high - s.low) for s in strips())
        return tuple(strips()) if moved * _SMALL <= prod(shape) else None

    def _strip(self, strip: Strip) -> Set:
        variables = self._variables()
        v = variables[strip.dimension]
        low, count = const(strip.low, v.dtype), const(strip.high - strip.low, v.dtype)
        return self._region(variables, presburger.loop_domain(v, low, count).may).intersect(whole(self.table))


def _exact(s: Statement) -> bool:
    """Whether it is known which iterations of a statement run."""
    bounds = (presburger.loop_domain(o.var, o.start, o.extent) for o in s.loops)
    return all(c.exact for c in (*bounds, *map(presburger.condition, s.guards)))
