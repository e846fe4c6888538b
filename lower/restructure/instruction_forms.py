"""Instructions that loops may be instead of running in order: scans, searches, factorizations, sums of what decays.

Each is found by a module of its own, and priced here; `alternatives` has them compared with other orders of the loops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.operations import FILTER_WIDTH, ScanSize
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Dependence, Idle, Loop, Statement, dependences
from ir.nodes import Buffer, Expr, Load, Var
from ir.traverse import free_vars, map_expr
from lower.analysis.components import components, edges_within
from lower.analysis.deciding import cheaper
from lower.analysis.digits import keeps_digits
from lower.analysis.freedoms import Form
from lower.instructions.argmax import SEARCHES, Selected, selection
from lower.instructions.discounted_sum import DISCOUNTED_SUMS, discounted_sum
from lower.instructions.filters import FILTERS, filtering
from lower.instructions.last_writer import LAST_WRITER, last_writer
from lower.instructions.recurrence import (
    EXTREMES_OF_SUMS,
    Unrolled,
    form_of_recurrence,
    recurrence,
    same_place,
    ways_of,
    with_history,
)
from lower.instructions.scans import forms
from lower.instructions.shift_registers import SHIFT_REGISTERS, Register, shift_register
from lower.instructions.sorted_insertion import INSERTIONS, insertions
from lower.instructions.updates_by_key import UPDATES_BY_KEY, over_all_keys
from lower.nest.element_prices import extent
from lower.nest.linear_combinations import EXPANDED
from lower.nest.nodes import (
    ArrayStatement,
    AtOnce,
    Box,
    Filter,
    Fresh,
    Node,
    Pick,
    Recurrence,
    Scan,
    SequentialLoop,
)
from lower.nest.normalize import Program, moved, read_by_bounds
from lower.restructure.coalescing import COLLAPSING, Ranges, collapsed
from lower.restructure.estimate import estimate, in_one_pass
from lower.restructure.strip_mining import at_strides, now_and_then
from lower.storage.array_expansion import as_array, depends_on

Made = TypeVar("Made")
State = tuple[dict[Buffer, int], set[Buffer], set[Buffer]]  # see `Program.copied`


class Alternative(Struct, frozen=True):
    """A form that a group may have: what it is called, its price, and what makes it a part of the plan."""

    name: str
    price: float
    adopt: Callable[[], tuple[Node, ...]]


Propose = Callable[[list[Statement], int, frozenset[Loop], SequentialLoop], Iterable[Alternative]]


class Edge(Struct, frozen=True):
    source: int
    sink: int
    level: int | None
    dependence: Dependence | None  # None: keeps the users of a local buffer together


def own_reads(deps: Iterable[Dependence]) -> list[Dependence]:
    """What a statement reads before another instance of it stores."""
    return [d for d in deps if d.source == d.sink and d.kind == "anti"]


class InstructionForms(ABC):
    """What a group of statements is planned by, and the instructions that it may be."""

    def __init__(
        self,
        program: Program,
        boxes: dict[Loop, Box],
        deps: Sequence[Dependence],
        target: Target,
        ranges: Mapping[Loop, Box],
        flat: Mapping[Loop, Ranges],
    ) -> None:
        self.program = program
        self.policy = program.policy
        self.target = target
        self.added = 0
        self.new = Fresh(program.fresh, self._position)
        self.boxes = boxes
        self.by_position = {s.position: s for s in program.statements}
        self.users: dict[Buffer, set[int]] = {
            b: {s.position for s in program.statements if b in s.buffers()} for b in program.depth
        }
        self.ranges = ranges
        self.flat = flat
        self.forced = self.forced_in(program.statements, {*ranges, *flat})
        self.anti_self = own_reads(deps)
        self.assuming = False  # whether the data are known to be within bounds, or not to be

    def _position(self) -> int:
        """A position that no statement has."""
        self.added += 1
        return len(self.program.statements) + self.added

    def forced_in(self, statements: Iterable[Statement], ranges: Collection[Loop] | None = None) -> set[Loop]:
        """Loops without static bounds, and loops around them that those bounds depend on, if they are no ranges, and
        those that are to run in turn."""
        ranges = self.ranges if ranges is None else ranges
        forced = {o for s in statements for o in s.loops if (s.position, o) in self.program.in_turn}
        for statement in statements:
            needed: set[Var] = set()
            for loop in reversed(statement.loops):
                if loop not in self.boxes or loop.var in needed:
                    forced.add(loop)
                    if loop not in ranges:
                        for bound in (loop.start, loop.extent):
                            needed |= depends_on(bound, statement.loops, self.program.depth)
        return forced

    @abstractmethod
    def schedule(
        self, statements: list[Statement], level: int, pending: frozenset[Loop], edges: list[Edge]
    ) -> Iterator[Node]:
        """Nodes for `statements`, whose outer `level` loops are decided: around us, or `pending` as axes."""

    @abstractmethod
    def anew(
        self, statements: list[Statement], level: int, pending: frozenset[Loop], idle: Idle | None = None
    ) -> tuple[Node, ...]:
        """Nodes for statements in place of those of a group; `idle` instances change nothing."""

    @abstractmethod
    def ordering(self, deps: Iterable[Dependence]) -> list[Edge]:
        """Dependences that order statements."""

    def _scanned(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Scans in place of a loop whose iterations continue each other."""
        rare = now_and_then(group, group[0].loops[level], self._own(group, level))
        ways = [(group, apart) for apart in dict.fromkeys((frozenset[int](), rare))]
        if self._all_may(UPDATES_BY_KEY, group):
            by_key = over_all_keys(group, level, self.boxes, self.program.depth, self.new)
            ways += [] if by_key is None else [(by_key, frozenset())]
        for statements, apart in ways:
            scanned, after = self.tried(partial(self._with_scans, statements, level, pending, apart))
            if scanned is not None:
                yield self._as_scans(*scanned, after)

    def _over_nests(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Scans through all iterations of perfect nests, of two loops or more."""
        depth, users = dict[Buffer, int](), self.users
        while self._all_may(COLLAPSING, group):
            found = collapsed(group, level, self.boxes, {**self.program.depth, **depth}, self.new)
            if found is None:
                return
            group, depth = found.statements, {**depth, **found.depth}
            self.users = users | {b: {s.position for s in group if b in s.buffers()} for b in depth}
            scanned, after = self.tried(partial(self._with_scans, group, level, pending, frozenset()), depth)
            self.users = users
            if scanned is not None:
                yield self._as_scans(*scanned, after)

    def tried(self, make: Callable[[], Made], depth: Mapping[Buffer, int] | None = None) -> tuple[Made, State]:
        """What is made, with some more locals, and the program as it is then; it is left as it was."""
        kept, known = self.program.copied(), self.by_position
        self.program.depth.update(depth or {})
        made = make()
        after = self.program.copied()
        self.program.restore(kept)
        self.by_position = known
        return made, after

    def _own(self, group: Iterable[Statement], level: int) -> set[Buffer]:
        """Locals of which each iteration of the loop at a level has its own copy."""
        return {b for s in group for b in s.buffers() if self.program.depth.get(b, 0) > level}

    def _as_scans(
        self, nodes: tuple[Node, ...], depth: Mapping[Buffer, int], arrays: Iterable[Buffer], state: State
    ) -> Alternative:
        """Scans as a form; the program was in a state when they were made."""

        def adopt() -> tuple[Node, ...]:
            self.program.restore(state)
            self.program.depth.update(depth)
            self.program.raw.update(arrays)
            return nodes

        return Alternative("scans", self._price(nodes), adopt)

    def _with_scans(
        self, group: list[Statement], level: int, pending: frozenset[Loop], apart: Collection[int]
    ) -> tuple[tuple[Node, ...], dict[Buffer, int], list[Buffer]] | None:
        """Nodes with scans in place of a loop, depths of all locals then, and arrays that may hold anything; statements
        that are `apart` have a loop of their own behind it."""
        loop = group[0].loops[level]
        box = self._whole_box(loop)
        if box is None:
            return None
        statements, unrolled = list(group), list[Unrolled]()
        carried = {s.buffer for s in group if s.position not in apart and self.program.depth.get(s.buffer, 0) <= level}
        for buffer in sorted(carried, key=lambda b: b.name):
            found = with_history(statements, buffer, loop, box, self.program.depth, self.new)
            if found is not None:
                statements = found.statements
                unrolled.append(found)
        registers = list[Register]()
        for k, s in reversed([*enumerate(statements)]):
            register = (
                shift_register(s, loop, box, self.new) if self.policy.may(SHIFT_REGISTERS, s.buffer.dtype) else None
            )
            if register is not None:
                statements[k : k + 1] = register.statements
                registers.append(register)
        history = {*(u.array for u in unrolled), *(r.digits for r in registers)}
        if any(free_vars(e) and self._is_larger(a, (e,), history) for a in history for e in a.shape):
            return None  # prices assume some number of steps, and callers may have a hundred times as many
        depth = {**self.program.depth, **dict.fromkeys(history, level)}
        axes = {o.var for o in (*pending, *(o for s in statements for o in s.loops[level + 1 :]))}
        long = box.extent.is_const and box.extent.const >= FILTER_WIDTH
        scans = {
            s.position: found
            for s in statements
            if (found := self._recurrence(s, loop, depth, axes if long else None)) is not None
        }
        if not (scans or registers):
            return None
        self.by_position = self.by_position | {s.position: s for s in statements}
        free = {*scans, *(s.position for s in statements if any(u.numbers(s, level) for u in unrolled))}
        deps = [d for d in dependences(statements, depth) if not (d.source == d.sink in free and d.level == level)]
        outer = {k for k, o in enumerate(group[0].loops[:level]) if o not in pending}  # they run in order
        edges = [e for e in self.ordering(deps) if e.level not in outer]
        if any(e.source in apart and e.sink not in apart for e in edges):
            return None
        behind = [s for s in statements if s.position in apart]
        edges = [e for e in edges if e.sink not in apart]
        statements = [s for s in statements if s.position not in apart]
        before = (*(u.first for u in unrolled), *(s for r in registers for s in r.first))
        nodes: list[Node] = [self.over_all(s, level, pending) for s in before]
        parts = components(statements, ((e.source, e.sink) for e in edges))
        self.program.depth.update(depth)
        for part, own in zip(parts, edges_within(parts, edges), strict=True):
            continued = len(part) > 1 and any(s.position in scans for s in part)  # by no scan, together with others
            if continued or any(e.level is not None and e.level <= level for e in own):
                if len(parts) == 1 or self.target.function:
                    return None  # where whole loops may be compiled as functions, a part of one seldom takes less
                nodes += self.anew(part, level, pending)
            elif len(part) == 1 and part[0].position in scans:
                if own:
                    return None
                nodes.append(self.over_all(part[0], level, pending, scans[part[0].position]))
            else:
                nodes += self.schedule(part, level + 1, pending | {loop}, own)
        if behind:
            strided = at_strides(behind, level, self._own(behind, level), self.boxes, self.new.name)
            nodes += self.anew(strided, level, pending)
        nodes += [self.over_all(u.last, level, pending) for u in unrolled]
        raw = [u.array for u in unrolled if u.guarded and u.last.buffer in self.program.func.buffers]
        return tuple(nodes), depth, raw

    def _recurrence(
        self, s: Statement, loop: Loop, depth: Mapping[Buffer, int], axes: Collection[Var] | None
    ) -> Recurrence | Filter | None:
        """How a statement continues what its last iterations stored; a filter only where `axes` are given."""
        found = recurrence(s, loop, depth)
        if axes is not None and (found is None or self._rather_in_blocks(found, s, axes)):
            found = filtering(s, loop, axes, depth) or found
        if found is None:
            return None
        form = FILTERS if isinstance(found, Filter) else form_of_recurrence(found)
        return found if self.policy.may(form, s.buffer.dtype) and self._expandable(s, found) else None

    def _rather_in_blocks(self, found: Recurrence, s: Statement, axes: Collection[Var]) -> bool:
        """Whether what must go in turn otherwise is better a filter, which begins with what takes as long as a call."""
        if found.tame:
            return False
        rows = prod(extent(self.boxes.get(o), self.target) for o in s.loops if o.var in axes)
        size = ScanSize(extent(self.boxes.get(found.loop), self.target), rows, innermost=True, inside=False)
        in_turn = forms(found, replace(size, inside=True), self.target)["in turn"]
        return operations.filter_in_blocks(self.target, size) < in_turn

    def _expandable(self, s: Statement, found: Recurrence | Filter) -> bool:
        """Whether a value may be written as multiples of earlier elements and the rest."""
        if not s.buffer.dtype.is_float or form_of_recurrence(found) is EXTREMES_OF_SUMS:
            return True

        def one(e: Expr) -> Expr:
            earlier = (p for p in found.earlier if isinstance(e, Load) and e.buffer == p.buffer)
            return next((p for p in earlier if isinstance(e, Load) and same_place(e.indices, p.indices)), e)

        ways = ways_of(found, s.store.value) if isinstance(found, Recurrence) else [(s.store.value, found.value)]
        return self.policy.may(EXPANDED, s.buffer.dtype) or all(
            value.same(written) or keeps_digits(map_expr(written, one), value, found.earlier) for written, value in ways
        )

    def _all_may(self, form: Form, group: Iterable[Statement]) -> bool:
        return all(self.policy.may(form, s.buffer.dtype) for s in group)

    def _selected(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """An argmax or argmin in place of loops that look for it."""
        found = self.search(group, level, self.new.name)
        if found is None:
            return
        nodes = (
            *(self.over_all(s, level, pending) for s in found.first),
            self.over_all(found.where, level, pending, found.pick),
            *(self.over_all(s, level, pending) for s in found.then),
        )

        def adopt() -> tuple[Node, ...]:
            self.program.depth |= dict.fromkeys((found.place, *found.arrays), level)
            return nodes

        yield Alternative("search", self._price(nodes), adopt)

    def _inserted(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """The best of all values in place of loops that insert each into a few in order."""
        here = {s.position for s in group}
        own = {b for s in group for b in s.buffers() if self.program.depth.get(b, 0) > level}
        if not all(self.users.get(b, here) <= here for b in own) or not self._all_may(INSERTIONS, group):
            return
        others = [s for s in self.program.statements if s.position not in here]
        found = insertions(group, level, pending, self.boxes, self.program.depth, others, self.new)
        if found is None or any(loop in self.forced for loop in found.pick.loops):
            return
        self.by_position |= {s.position: s for s in (*found.first, *found.then)}
        users = self.users
        self.users = users | {b: {s.position for s in found.then if b in s.buffers()} for b in found.locals.values()}
        inner = len(found.pick.loops) - 1  # loops fewer, around what they have in them
        depth = {b: self.program.depth[old] - inner for old, b in found.locals.items()}
        depth |= dict.fromkeys(found.arrays, 0 if pending else level)

        def made() -> tuple[tuple[Node, ...], tuple[Node, ...]]:
            first = self.anew(found.first, level, pending) if found.first else ()
            where = self.over_all(found.where, level, pending, found.pick)
            return first, (where, *self.anew(found.then, level, pending))

        (first, rest), after = self.tried(made, depth)
        self.users = users
        nodes, before = (*first, *rest), {s.position for s in found.first}  # which either way has to be worked out
        step = [s for s in group if s.position not in before]
        if cheaper("best of all values", self._price(rest), in_one_pass(step, level, pending, self.boxes, self.target)):
            yield Alternative("sorted insertion", self._price(nodes), lambda: self._with(nodes, after))

    def _with(self, nodes: tuple[Node, ...], state: State) -> tuple[Node, ...]:
        """Nodes, and the program as it was when they were made."""
        self.program.restore(state)
        return nodes

    def _at_once(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """What the one statement of a loop that stores to what lives on leaves after all iterations."""
        stores = [s for s in group if self.program.depth.get(s.buffer, 0) <= level]
        if len(stores) != 1 or group[0].loops[level] in self.forced_in(group):
            return
        others = [s for s in group if s is not stores[0]]
        edges = self._edges_among(group)
        before = {s.position for s in others}
        if any(d.level is not None and d.level <= level and d.source != d.sink for d in edges):
            return
        if any(d.sink in before and d.source not in before for d in edges):
            return  # also where a loop inside goes on after the store: all of the others run before it
        for name, form, find in (
            ("last writer", LAST_WRITER, last_writer),
            ("discounted sum", DISCOUNTED_SUMS, discounted_sum),
        ):
            if not self.policy.may(form, stores[0].buffer.dtype):
                continue
            found = find(stores[0], level, self.boxes, self.program.depth, self.new)
            if found is not None:
                yield self._after_others(name, found, others, level, group[0].loops[level], pending)

    def _after_others(
        self,
        name: str,
        found: AtOnce,
        others: list[Statement],
        level: int,
        loop: Loop,
        pending: frozenset[Loop],
    ) -> Alternative:
        """Statements in place of a loop, after the other statements of it."""

        def scheduled() -> tuple[Node, ...]:
            edges = [e for e in self._edges_among(others) if e.level is None or e.level > level]
            return tuple(self.schedule(others, level + 1, pending | {loop}, edges)) if others else ()

        before, after = self.tried(scheduled)
        nodes = (*before, *(self.over_all(s, level, pending) for s in found.statements))

        def adopt() -> tuple[Node, ...]:
            self.program.restore(after)
            self.program.depth |= dict.fromkeys(found.arrays, level)
            return nodes

        return Alternative(name, self._price(nodes), adopt)

    def _edges_among(self, statements: Sequence[Statement]) -> list[Edge]:
        """Dependences that order some statements, without what keeps the users of a local together."""
        return [e for e in self.ordering(dependences(statements, self.program.depth)) if e.dependence is not None]

    def search(self, group: Sequence[Statement], level: int, name: Callable[[str], str]) -> Selected | None:
        """The search that all loops from a level on are."""
        loops = group[0].loops[level:]
        boxes = [b for b in map(self._box, loops) if b is not None]
        test = min(group, key=lambda s: s.position)
        if len(boxes) < len(loops) or self.users.get(test.buffer) != {s.position for s in group}:
            return None  # what the comparison gave is looked at elsewhere too
        found = selection(group, loops, boxes, self.program.depth, Fresh(name, self.new.position))
        return found if found is not None and self.policy.may(SEARCHES, found.pick.value.dtype) else None

    def over_all(
        self, statement: Statement, level: int, pending: frozenset[Loop], scan: Scan | None = None
    ) -> ArrayStatement:
        """An array statement over all loops but those around it."""
        axes = tuple(loop for k, loop in enumerate(statement.loops) if k >= level or loop in pending)
        if isinstance(scan, Recurrence | Filter | Pick):
            statement = replace(statement, update=None)
        return ArrayStatement(statement, axes, scan)

    def _is_larger(self, array: Buffer, kept: Iterable[Expr], new: Container[Buffer]) -> bool:
        """Whether an array has more dimensions of open number than all but `new` ones, or `kept` ones of another."""
        own = [b for b in {*self.program.func.buffers, *self.program.depth} if b not in new]
        most = max((_open_extents(b) for b in own), default=0)
        known = free_vars(*(e for b in own for e in b.shape))
        return _open_extents(array) > most or any(not free_vars(e) <= known for e in kept)

    def _locals_as_arrays(
        self, group: list[Statement], level: int, pending: frozenset[Loop]
    ) -> tuple[list[Statement], list[Buffer]] | None:
        """Statements with an axis for each loop whose iterations have a local of their own; None if one has no size."""
        arrays: list[Buffer] = []
        for local in sorted({b for s in group for b in s.buffers()}, key=lambda b: b.name):
            depth = self.program.depth.get(local, 0)
            if depth <= level:
                continue
            users = [s for s in group if local in s.buffers()]
            if {s.position for s in users} != self.users[local] or local in read_by_bounds(users):
                return None
            made = as_array(local, users[0].loops[:depth], level, pending, self.boxes, self.new.name)
            if made is None:
                return None
            array, place = made
            group = [moved(s, local, array, place) if s in users else s for s in group]
            arrays.append(array)
        return group, arrays

    def _whole_box(self, loop: Loop) -> Box | None:
        """The static bounds of a loop that may become an axis without guards."""
        box = self._box(loop)
        return box if box is not None and box.exact else None

    def _box(self, loop: Loop) -> Box | None:
        """The static bounds of a loop that may become an axis, which its own may lie within."""
        if any(loop.var in free_vars(o.start, o.extent) for o in self.ranges):
            return None
        return self.boxes.get(loop) if loop not in self.forced else None

    def _price(self, nodes: Sequence[Node]) -> float:
        return estimate(nodes, self.boxes, self.target, depth=self.program.depth)


def _open_extents(buffer: Buffer) -> int:
    """How many dimensions of a buffer have no number for an extent."""
    return sum(1 for extent in buffer.shape if free_vars(extent))
