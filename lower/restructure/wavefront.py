"""Wavefronts: where loops over a table all carry dependences, a skewed time leaves its diagonals independent.

`D[i, j]` that reads `D[i-1, j]`, `D[i, j-1]` and `D[i-1, j-1]` waits for them only: all elements of one i + j may be
worked out at once, and n + m steps over arrays take the place of n * m steps (Lamport, The parallel execution of DO
loops, 1974). A time is taken from a few combinations of two loops, such that no dependence points backward in it and
none joins two iterations of one step; isl decides. What a step reads and writes then lies along diagonals, of which
`lower/storage/skewed_storage.py` makes rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Relation, Statement, common_loops, relations
from ir.naming import lengthened
from ir.nodes import Buffer, Expr, Load, Store, Var
from ir.presburger import sets as presburger
from ir.traverse import map_expr, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, number, tidy, to_expr, unbounded
from lower.nest.element_prices import extent
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Fresh,
    array_statement,
    extreme,
    loop_over,
    loops_over,
    own_bounds,
)
from lower.nest.normalize import mapped
from lower.restructure.reschedule import necessary
from lower.storage.live_in import Borders, First, borders
from lower.storage.predicate_elimination import bare, chosen, lines
from lower.storage.row_rotation import Carried, carried
from lower.storage.skewed_storage import Rows, Skewed, combined, layouts, sized, slides

SKEWING = Form(
    "structure.skewing",
    "for i: for j: S(i, j)  =  for t: S over all i + j = t at once",
    "no dependence points backward in t, and none joins two iterations of one t (Lamport 1974)",
)

_TIMES = ((1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2))  # the fewest steps first


class Wavefront(Struct, frozen=True):
    """Statements in the iterations of a loop over `time`, and what comes before and after it.

    `copies` are new arrays, with whether they hold what a buffer held before; of `rows` it is said how many loops have
    one of their own. `diagonals` elements are moved, besides
    those of the statements, that are not in the order in which they lie in memory.
    """

    time: Loop
    statements: list[Statement]
    before: tuple[ArrayStatement, ...]
    after: tuple[ArrayStatement, ...]
    copies: Mapping[Buffer, bool]
    rows: Mapping[Buffer, int]
    diagonals: float
    reason: str


class Nest(Struct, frozen=True):
    """Statements with the same loops around them, of which those at `level` and inside of it make the time.

    `sequential` loops around run in order, others are axes. `arrays` are locals that nothing else accesses, whose
    elements are written before they are read. `others` are all other statements of the program, and
    `private` those locals that each iteration of the loops around has for itself.
    """

    statements: Sequence[Statement]
    others: Sequence[Statement]
    private: frozenset[Buffer]
    level: int
    sequential: tuple[Loop, ...]
    arrays: Sequence[Buffer]
    boxes: dict[Loop, Box]
    static: frozenset[Var]
    taken: frozenset[str]


def wavefronts(nest: Nest, target: Target, new: Fresh) -> Iterator[Wavefront]:
    """Forms of a nest in which a loop over a skewed time goes around independent iterations."""
    first, level = nest.statements[0], nest.level
    if any(common_loops(first, s) < level + 2 for s in nest.statements):
        return
    if any(loop not in nest.boxes or not loop.var.dtype.is_signed for s in nest.statements for loop in s.loops[level:]):
        return
    outer, inner = first.loops[level : level + 2]
    if outer.var.dtype is not inner.var.dtype:
        return
    order = relations(nest.statements, level)
    for a, b in _TIMES if order is not None else ():
        assert order is not None
        if presburger.within_budget(partial(_legal, order, outer.var, inner.var, a, b), False):
            for along in (inner, outer):
                if (a if along is inner else abs(b)) == 1:
                    found = _Skewer(nest, (a, b), along, target, new).wavefront()
                    if found is not None:
                        yield found
            return


def _legal(order: Sequence[Relation], outer: Var, inner: Var, a: int, b: int) -> bool:
    """Whether every dependence points to a later time, or stays within an iteration of both loops."""

    def time(prime: str) -> presburger.isl.PwAff:
        first, second = presburger.symbol(outer.name + prime), presburger.symbol(inner.name + prime)
        return first.mul(presburger.number(a)).add(second.mul(presburger.number(b)))

    x, y = time(""), time("'")
    same = presburger.symbol(outer.name).eq_set(presburger.symbol(outer.name + "'")).intersect(x.eq_set(y))
    held = [r.pairs.intersect(y.le_set(x)).subtract(same) for r in order]
    return all(pairs.is_empty() for pairs in held)


_Key = tuple[Buffer, Rows]
_Access = tuple[list[Linear], dict[Var, Box]]  # indices, and the boxes around


class _Skewer:
    """Writes a nest in terms of a time `a * outer + b * inner` and one of these two loops, which runs `along`."""

    def __init__(self, nest: Nest, times: tuple[int, int], along: Loop, target: Target, new: Fresh) -> None:
        self.nest, self.target, self.new = nest, target, new
        self.boxes, self.level = nest.boxes, nest.level
        self.loops = nest.statements[0].loops[self.level : self.level + 2]
        self.written = {s.buffer for s in nest.statements}
        self.base: dict[Buffer, Rows] = {}  # the layout in which a buffer is stored to
        self.turns: dict[Buffer, list[Rows]] = {}  # others in which it may be read
        self.inner: dict[Loop, tuple[Loop, Expr]] = {}  # loops inside with what stands for their variables
        self.accesses: dict[_Key, list[_Access]] = {}
        self.copies: dict[_Key, Skewed] = {}
        self.borders: dict[Buffer, Borders] = {}
        self.lines: dict[tuple[Buffer, int, Expr], Buffer] = {}  # what a table holds at one position of a dimension
        self.following: dict[int, Rows] = {}  # the layouts that further statements bring up to date
        self.diagonals = 0.0
        self.a, self.b = times
        outer, inner = self.loops
        like = outer.var
        self.time = Loop(Var(self._name("diagonal"), like.dtype), like, like)  # its bounds are set below
        self.along = along
        time, place = atom(self.time.var), atom(along.var)
        if along is outer:
            self.values = {inner.var: to_expr((time - place * self.a) * self.b, like)}
            self.guards = own_bounds(inner)
        else:
            self.values = {outer.var: to_expr(time - place * self.b, like)}
            self.guards = own_bounds(outer)
        box = self.boxes[along]
        if not box.exact:
            self.guards += own_bounds(along)
            self.along = loop_over(along.var, box, self.boxes)

    def wavefront(self) -> Wavefront | None:
        """The nest in terms of the time; None if what a step stores is no window in any layout."""
        self._bound_time(*self._span())
        if not self._laid_out():
            return None
        for s in self.nest.statements:
            for k, loop in enumerate(s.loops[self.level + 2 :]):
                if not self._moved_loop(s, loop, s.loops[self.level + 2 : self.level + 2 + k]):
                    return None
        moved = [self._moved(s) for s in self.nest.statements]
        self._tighten(moved)
        for s in moved:
            self._survey(s)
        later = self._followers(moved)
        if later is None or not self._made():
            return None
        self._find_borders()
        return self._around(moved, [*(self._bare(s) for s in moved), *(necessary(self._relaid(s)) for s in later)])

    def _around(self, moved: Sequence[Statement], statements: list[Statement]) -> Wavefront | None:
        """The statements with what fills copies before them, and what takes them back."""
        nest, before, after = self.nest, list[ArrayStatement](), list[ArrayStatement]()
        ends = self._ends(moved)
        steps = self._handed(moved, statements, ends)
        if steps is None:
            return None
        for (buffer, rows), copy in self.copies.items():
            if buffer in nest.arrays:
                continue
            if buffer in ends and copy.new in steps.last:
                after += self._returned_last(copy, steps.last[copy.new], ends[buffer])
                continue
            across = _across(rows)
            found = self.borders.get(buffer)
            if found is None:
                before.append(copy.filled(nest.sequential, self.boxes, self.new))
                self.diagonals += self._elements(copy.new) if across else 0.0
            else:
                before += found.filled(copy, nest.sequential, self.boxes, self.new)
            if buffer in self.written and rows == self.base[buffer]:
                after.append(self._returned(copy, found))
                self.diagonals += self._elements(buffer) if across else 0.0
        before += self._lines()
        made = self._new_arrays() | dict.fromkeys(self.lines.values(), True)
        before, after = [*before, *steps.before], [*steps.after, *after]
        return Wavefront(
            self.time, steps.statements, tuple(before), tuple(after), made, steps.depth, self.diagonals, self._reason()
        )

    def _new_arrays(self) -> dict[Buffer, bool]:
        return {copy.new: copy.old not in self.nest.arrays for copy in self.copies.values()}

    def _reason(self) -> str:
        first, second = (loop.var.name for loop in self.loops)
        form = f"{first if self.a == 1 else f'{self.a} * {first}'} {'+' if self.b > 0 else '-'} "
        form += second if abs(self.b) == 1 else f"{abs(self.b)} * {second}"
        return f"each of its steps works out all elements of one {form}, and needs those of earlier steps"

    # Rows instead of tables.

    def _handed(
        self, moved: Sequence[Statement], statements: list[Statement], ends: Mapping[Buffer, Sequence[Load]]
    ) -> Carried | None:
        """The statements with rows that are handed on, where they store to several copies or only `ends` count; as they
        are where that is not needed, and None where it is and cannot be."""
        made = self._new_arrays()
        several = len(made.keys() & {s.buffer for s in statements}) > 1
        if not several and not ends:
            return Carried(statements)
        firsts: dict[Buffer, Callable[[Expr, Expr], Expr]] = {}
        for (buffer, rows), copy in self.copies.items():
            first = self.borders[buffer].first if buffer in self.borders else None
            if first is not None and rows == self.base[buffer]:
                firsts[copy.new] = partial(_held, first, copy)
                made[copy.new] = made[copy.new] and buffer not in ends
        handed = None
        if len(self.nest.sequential) == self.level and self._finished(moved):
            handed = carried(statements, made, self.following, firsts, self.time, self.boxes, self.new)
        return handed if several or handed is not None else Carried(statements)

    def _ends(self, moved: Sequence[Statement]) -> dict[Buffer, list[Load]]:
        """Tables of which nothing is read afterwards but what the last step stores, and these reads."""
        found: dict[Buffer, list[Load]] = {}
        for buffer, border in self.borders.items():
            if border.first is None or buffer not in self.nest.private:
                continue
            after = self._read_afterwards(buffer)
            base, last = self.base[buffer], self.boxes[self.time]
            ends = [combined(base, [linear(i) for i in s.store.indices])[0] for s in moved if s.buffer == buffer]
            step = last.low + last.extent - 1 - atom(self.time.var)
            if after is not None and all(
                (combined(base, [linear(i) for i in load.indices])[0] - end).equals(step)
                for load in after
                for end in ends
            ):
                found[buffer] = after
        return found

    def _read_afterwards(self, buffer: Buffer) -> list[Load] | None:
        """Elements of a table that later statements read; None if these are not single ones, or if any store to it."""
        group, found = self.nest.statements, list[Load]()
        for s in self.nest.others:
            if buffer not in s.buffers():
                continue
            beside = common_loops(s, group[0]) != self.level
            if not beside and s.position < min(o.position for o in group):
                continue
            if beside or s.position < max(o.position for o in group) or s.buffer == buffer:
                return None
            inside = {loop.var for loop in s.loops[self.level :]}
            for load in s.reads():
                if load.buffer == buffer:
                    if any(linear(i).vars() & inside or linear(i).has_loads() for i in load.indices):
                        return None
                    found.append(load)
        return list(dict.fromkeys(found))

    def _returned_last(self, copy: Skewed, row: Buffer, loads: Sequence[Load]) -> list[ArrayStatement]:
        """Elements of the last row of a table that is not kept."""
        around = self.nest.sequential
        return [
            array_statement(Store(copy.old, i, Load(row, copy.place(i)[1:])), around, (), self.new)
            for i in (load.indices for load in loads)
        ]

    # Borders.

    def _find_borders(self) -> None:
        """How copies of tables begin and end that need not be put together from all of them."""
        nest = self.nest
        for (buffer, rows), _ in self.copies.items():
            if rows == self.base.get(buffer) and _across(rows) and buffer not in nest.arrays:
                found = borders(
                    buffer, nest.statements, nest.others, self.level, nest.sequential, self.boxes, nest.static
                )
                if found is not None:
                    self.borders[buffer] = found

    def _bare(self, moved: Statement) -> Statement:
        """A statement in terms of the copies, without guards that hide nothing that counts."""
        s = necessary(moved)
        if len(s.loops) > self.level + 2 or (s.buffer, self.base[s.buffer]) not in self.copies:
            return self._relaid(s)
        left = bare(s, self.time.var, self.borders.get(s.buffer))
        kept: dict[tuple[int, Expr], Buffer] = {}
        for _, d, at in left.choices:
            if (s.buffer, d, at) not in self.lines:
                self.lines[s.buffer, d, at] = lines(s.buffer, d, self.new)
            kept[d, at] = self.lines[s.buffer, d, at]
        relaid = self._relaid(s)
        guards = tuple(new for new, old in zip(relaid.guards, s.guards, strict=True) if old in left.guards)
        return chosen(replace(relaid, guards=guards), left, kept, s.store.indices)

    def _lines(self) -> list[ArrayStatement]:
        """Store what tables hold along lines that do not change."""
        found: list[ArrayStatement] = []
        for (buffer, d, at), line in self.lines.items():
            axes = loops_over(line, self.boxes, self.new.name)
            here = [a.var for a in axes]
            place, copy = (*here[:d], at, *here[d:]), self.copies[buffer, self.base[buffer]]
            first = self.borders[buffer].first
            value = Load(copy.new, copy.place(place)) if first is None else first.at(place)
            found.append(array_statement(Store(line, tuple(here), value), self.nest.sequential, axes, self.new))
        return found

    def _returned(self, copy: Skewed, found: Borders | None) -> ArrayStatement:
        """What goes back to a table."""
        if found is None or found.back is None:
            return copy.returned(self.nest.sequential, self.boxes, self.new)
        axes = loops_over(copy.old, self.boxes, self.new.name, found.back)
        here = tuple(a.var for a in axes)
        store = Store(copy.old, here, Load(copy.new, copy.place(here)))
        return array_statement(store, self.nest.sequential, axes, self.new)

    def _finished(self, moved: Sequence[Statement]) -> bool:
        """Whether what a step reads of diagonals is always of the same one before it, or never of its own."""
        for s in moved:
            for load in s.operands():
                if load.buffer in self.base:
                    if not self.base[load.buffer]:
                        return False  # one element, which no diagonal has to itself
                    store = next(o for o in moved if o.buffer == load.buffer).store
                    here, there = (
                        combined(self.base[load.buffer], [linear(i) for i in indices])[0]
                        for indices in (store.indices, load.indices)
                    )
                    if not ((here - there).is_const or _apart(s, here, there, self.time.var)):
                        return False
        return True

    # Loops.

    def _name(self, name: str) -> str:
        used = {loop.var.name for s in self.nest.statements for loop in s.loops} | self.nest.taken
        return lengthened(name, used)

    def _span(self) -> tuple[Linear, Linear]:
        """The first time and how many there are, by the boxes of both loops."""
        low = high = number(0)
        for factor, loop in zip((self.a, self.b), self.loops, strict=True):
            box = self.boxes[loop]
            first, last = box.low, box.low + box.extent - 1
            low = low + (first if factor > 0 else last) * factor
            high = high + (last if factor > 0 else first) * factor
        return low, high - low + 1

    def _bound_time(self, low: Linear, count: Linear) -> None:
        self.time = loop_over(self.time.var, Box(low, count, exact=True), self.boxes)

    def _tighten(self, moved: list[Statement]) -> None:
        """Leave out times, and ends of a diagonal, at which no statement runs."""
        for old in (self.time, self.along):
            box = self.boxes[old]
            if not box.is_fixed:
                continue
            name = old.var.name
            found = presburger.within_budget(lambda n=name: [presburger.extremes(s.domain, n) for s in moved], [])
            ends = [e for e in found if e is not None]
            low, high = min((e[0] for e in ends), default=0), max((e[1] for e in ends), default=-1)
            if not ends or (box.low.equals(low) and box.extent.equals(high - low + 1)):
                continue
            new = loop_over(old.var, Box(number(low), number(high - low + 1), exact=True), self.boxes)
            if old is self.time:
                self.time = new
            else:
                self.along = new
            for k, s in enumerate(moved):
                moved[k] = replace(s, loops=tuple(new if loop is old else loop for loop in s.loops))

    def _moved_loop(self, s: Statement, loop: Loop, before: Sequence[Loop]) -> bool:
        """Give a loop inside new bounds, such that it counts along rows of the copies that its statement reads."""
        if loop in self.inner:
            return True
        shift = number(0)
        for load in s.operands():
            rows = self.base.get(load.buffer)
            if rows:  # none of an element alone
                across = combined(rows, [linear(substitute_expr(i, self.values)) for i in load.indices])[0]
                p, q = across.terms.get(loop.var, 0), across.terms.get(self.along.var, 0)
                if abs(p) == 1 and q:
                    shift = atom(self.along.var) * (-q * p)
                    break
        values = {**self.values, **{o.var: self.inner[o][1] for o in before}}
        start = linear(substitute_expr(loop.start, values)) - shift
        follows = atom(self.time.var) * start.terms.get(self.time.var, 0)
        if shift.terms and self.along.var not in start.terms:
            start, shift = start - follows, shift + follows
        count = linear(substitute_expr(loop.extent, values))
        around = self._boxes_around(
            [*(self.inner[o][0] for o in before), *s.loops[: self.level], self.time, self.along]
        )
        low = extreme(start, around, self.nest.static, unbounded, upper=False)
        high = extreme(start + count, around, self.nest.static, unbounded, upper=True)
        if low is None or high is None:
            return False
        new = Loop(loop.var, to_expr(start, loop.var), to_expr(count, loop.var), loop.kind)
        self.boxes[new] = Box(low, high - low, exact=low.equals(start) and high.equals(start + count))
        self.inner[loop] = new, to_expr(atom(loop.var) + shift, loop.var)
        return True

    def _boxes_around(self, loops: Sequence[Loop]) -> dict[Var, Box]:
        return {loop.var: self.boxes[loop] for loop in loops if loop in self.boxes}

    def _moved(self, s: Statement) -> Statement:
        """A statement in terms of the time."""
        inside = s.loops[self.level + 2 :]
        values = {**self.values, **{o.var: self.inner[o][1] for o in inside}}
        changed = mapped(replace(s, guards=(*self.guards, *s.guards)), partial(substitute_expr, values=values))
        loops = (*s.loops[: self.level], self.time, self.along, *(self.inner[o][0] for o in inside))
        return replace(changed, loops=loops, guards=tuple(map(tidy, changed.guards)))

    # Layouts.

    def _laid_out(self) -> bool:
        """Find layouts in which stores are windows."""
        places: dict[Buffer, list[list[Linear]]] = {}
        for s in self.nest.statements:
            forms = [linear(substitute_expr(i, self.values)) for i in s.store.indices]
            places.setdefault(s.buffer, []).append(forms)
        for buffer, stores in places.items():
            options = layouts(stores[0], self.along.var, self.time.var)
            if not options or not all(slides(combined(options[0], forms), self.along.var) for forms in stores):
                return False
            self.base[buffer], *others = options
            alike = all(x.equals(y) for forms in stores for x, y in zip(forms, stores[0], strict=True))
            inside = {loop.var for s in self.nest.statements for loop in s.loops[self.level + 2 :]}
            if alike and not any(f.vars() & inside for f in stores[0]):
                self.turns[buffer] = [t for rows in others for t in (rows, _reversed(rows))]
        return True

    def _rows(self, buffer: Buffer, forms: list[Linear], inside: set[Var]) -> Rows | None:
        """The layout in which an access is best."""
        if buffer in self.base:
            options = [self.base[buffer], *self.turns.get(buffer, ())]
        else:
            options = layouts(forms, self.along.var, self.time.var)
        views = [(rows, combined(rows, forms)) for rows in options]
        views = [(rows, f) for rows, f in views if self._window(f, inside)]
        rising = [rows for rows, f in views if all(form.terms.get(v, 0) >= 0 for form in f for v in inside)]
        return next(iter([*rising, *(rows for rows, _ in views)]), self.base.get(buffer))

    def _window(self, forms: Sequence[Linear], inside: set[Var]) -> bool:
        mixed = any(self.along.var in form.terms and form.vars() & inside for form in forms)
        return slides(forms, self.along.var) and not mixed

    def _survey(self, s: Statement) -> None:
        """Take note of what a statement accesses, and of what it reads one element after the other."""
        around = self._boxes_around(s.loops)
        inside = {loop.var for loop in s.loops[self.level + 2 :]}
        stored = [linear(i) for i in s.store.indices]
        self._note((s.buffer, self.base[s.buffer]), stored, around)
        for load in dict.fromkeys(s.operands()):
            forms = [linear(i) for i in load.indices]
            rows = self._rows(load.buffer, forms, inside)
            if rows is not None:
                self._note((load.buffer, rows), forms, around)
            if not self._window(forms if rows is None else combined(rows, forms), inside):
                self.diagonals += prod(extent(self.boxes.get(o), self.target) for o in s.loops[self.level :])

    def _note(self, key: _Key, forms: list[Linear], around: dict[Var, Box]) -> None:
        self.accesses.setdefault(key, []).append((forms, around))

    def _followers(self, moved: Sequence[Statement]) -> list[Statement] | None:
        """What brings further copies up to date at the end of a step; None if a step reads what it stores in one."""
        found: list[Statement] = []
        for buffer, rows in [key for key in self.accesses if key[1] in self.turns.get(key[0], ())]:
            store = next(s for s in moved if s.buffer == buffer)
            base = self.base[buffer]
            here = combined(base, [linear(i) for i in store.store.indices])[0]
            for s in moved:
                inside = {loop.var for loop in s.loops[self.level + 2 :]}
                for load in s.operands():
                    forms = [linear(i) for i in load.indices]
                    read = load.buffer == buffer and self._rows(buffer, forms, inside) == rows
                    if read and not _apart(s, here, combined(base, forms)[0], self.time.var):
                        return None
            loops = (*store.loops[: self.level], self.time, self.along)
            place = store.store.indices
            last = {self.time.var: to_expr(atom(self.time.var) - 1, self.time.var)}
            for indices in (place, tuple(substitute_expr(i, last) for i in place)):  # at the end, or in the next step
                for key in ((buffer, rows), (buffer, base)):
                    self._note(key, [linear(i) for i in indices], self._boxes_around(loops))
            value = Store(buffer, place, Load(buffer, place), store.store.span)
            found.append(Statement(self.new.position(), loops, (), value))
            self.following[found[-1].position] = rows
        return found

    def _made(self) -> bool:
        """Make the copies."""
        for (buffer, rows), accesses in self.accesses.items():
            if rows == _unchanged(buffer):
                continue
            whole = rows == self.base.get(buffer) and buffer not in self.nest.arrays
            copy = sized(buffer, rows, accesses, whole, self.nest.static, self.new)
            if copy is None:
                return False
            self.copies[buffer, rows] = copy
        return True

    def _relaid(self, s: Statement) -> Statement:
        """A statement in terms of the copies."""
        inside = {loop.var for loop in s.loops[self.level + 2 :]}

        def one(e: Expr) -> Expr:
            if not isinstance(e, Load):
                return e
            forms = [linear(i) for i in e.indices]
            rows = self._rows(e.buffer, forms, inside)
            copy = None if rows is None else self.copies.get((e.buffer, rows))
            return e if copy is None else Load(copy.new, copy.place(e.indices), e.span)

        changed = mapped(s, lambda e: map_expr(e, one))
        rows = self.following.get(s.position, self.base[s.buffer])
        copy = self.copies.get((s.buffer, rows))
        if copy is None:
            return changed
        store = changed.store
        return replace(changed, store=Store(copy.new, copy.place(store.indices), store.value, store.span))

    def _elements(self, buffer: Buffer) -> float:
        sizes = [linear(size) for size in buffer.shape]
        return float(prod(s.about(self.target.default_extent) for s in sizes))


def _unchanged(buffer: Buffer) -> Rows:
    rank = len(buffer.shape)
    return tuple(tuple(int(d == e) for e in range(rank)) for d in range(rank))


def _held(first: First, copy: Skewed, row: Expr, place: Expr) -> Expr:
    """What a copy holds first in a row."""
    return first.at(copy.origins((row, place)))


def _across(rows: Rows) -> bool:
    """Whether a layout puts together what is not beside each other."""
    return any(sum(map(bool, row)) > 1 for row in rows)


def _reversed(rows: Rows) -> Rows:
    """A layout with the diagonals counted from the other end."""
    return (tuple(-x for x in rows[0]), *rows[1:])


def _apart(s: Statement, stored: Linear, read: Linear, like: Expr) -> bool:
    """Whether a statement never reads of the diagonal that its step stores to."""

    def question() -> bool:
        x, y = presburger.affine(to_expr(stored, like)), presburger.affine(to_expr(read, like))
        return x is not None and y is not None and bool(s.domain.intersect(x.eq_set(y)).is_empty())

    return presburger.within_budget(question, False)
