"""Forms that loops may have instead of running in order: each is found by a module of its own, and priced here.

All forms that a group may have are proposed side by side, and one decision takes the cheapest; nothing is adopted, and
no other part of the plan changes, before that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.operations import FILTER_WIDTH
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Dependence, Idle, Loop, Statement, dependences
from ir.nodes import Buffer, Expr, Load, Var
from ir.traverse import free_vars, map_expr, shape_vars
from lower.analysis.components import components, edges_within
from lower.analysis.deciding import cheaper, cheapest, placed
from lower.analysis.digits import keeps_digits
from lower.analysis.freedoms import Form
from lower.instructions.argmax import SEARCHES, Selected, selection
from lower.instructions.cholesky import FACTORS, factored
from lower.instructions.cholesky_recognition import factorization, takes_roots
from lower.instructions.deferred_updates import may_delay
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
from lower.nest.linear_combinations import EXPANDED
from lower.nest.loop_bounds import static_names
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Filter,
    Fresh,
    Node,
    Pick,
    Recurrence,
    Scan,
    SequentialLoop,
    Versions,
    array_over,
    inner_statements,
)
from lower.nest.normalize import Program, moved, read_by_bounds
from lower.restructure.blocking import follows
from lower.restructure.coalescing import Ranges, flattened
from lower.restructure.estimate import estimate
from lower.restructure.reschedule import PERMUTATION, SPLITTING_AT_STEPS, rescheduled, split_at
from lower.restructure.strip_mining import STRIP_MINING, in_strips
from lower.restructure.versioning import VERSIONING, WORTH, assumptions, test
from lower.restructure.wavefront import SKEWING, Nest, Wavefront, wavefronts
from lower.storage.array_expansion import depends_on
from lower.storage.contraction import CONTRACTION, contracted
from lower.storage.copy_in_out import COPY_IN_OUT, Tiler
from lower.storage.forward_substitution import FORWARD_SUBSTITUTION, all_inlined, inlined, worked_out_again

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


class Forms(ABC):
    """Tells the cheapest form that the group of a dependence cycle may have."""

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

    def forced_in(self, statements: Iterable[Statement], ranges: Collection[Loop] | None = None) -> set[Loop]:
        """Loops without static bounds, and loops around them that those bounds depend on, if they are no ranges."""
        ranges = self.ranges if ranges is None else ranges
        forced: set[Loop] = set()
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
    def ordering(self, deps: Iterable[Dependence]) -> list[Edge]:
        """Dependences that order statements."""

    def best(
        self, group: list[Statement], level: int, pending: frozenset[Loop], edges: list[Edge], reason: str
    ) -> tuple[Node, ...]:
        """The cheapest form of a group whose loop at `level` must run in order for a `reason`, or that loop."""
        lines = sorted({s.store.span.line for s in group if s.store.span is not None})
        around = f" around line {lines[0]}" if lines else ""
        with placed(f"loop {group[0].loops[level].var.name}{around}"):
            return self._best(group, level, pending, edges, reason)

    def _best(
        self, group: list[Statement], level: int, pending: frozenset[Loop], edges: list[Edge], reason: str
    ) -> tuple[Node, ...]:
        versions = self._versions(group, level, pending, edges)
        if versions is not None:
            return versions
        rest = [e for e in edges if e.level is None or e.level > level]
        kept = self.program.copied()
        loop = SequentialLoop(group[0].loops[level], tuple(self.schedule(group, level + 1, pending, rest)), reason)
        changed = self.program.copied()
        found = [Alternative("in order", self._price((loop,)), lambda: self._with((loop,), changed))]
        self.program.restore(kept)
        proposals = self.proposals()
        if changed != kept:  # what is inside of it is in terms of new arrays
            proposals = (self._selected, self._by_last, self._skewed)
            if changed[2] == kept[2]:  # what is inside has another order, and nothing that a new one would not have
                proposals = (*proposals, self._reordered)
        for propose in proposals:
            found += propose(group, level, pending, loop)
        named = {
            a.name if k == 0 else f"{a.name} {k + 1}": a
            for name in dict.fromkeys(a.name for a in found)
            for k, a in enumerate(a for a in found if a.name == name)
        }
        nodes = named[cheapest("form of a loop", {name: a.price for name, a in named.items()})].adopt()
        return self._flattened(group, level, pending, nodes) or nodes

    def proposals(self) -> Sequence[Propose]:
        """What tells the forms that a group may have instead of a loop in order."""
        return (
            self._in_strips,
            self._factored,
            self._reordered,
            self._scanned,
            self._selected,
            self._by_last,
            self._skewed,
            self._substituted,
        )

    def _with(self, nodes: tuple[Node, ...], state: State) -> tuple[Node, ...]:
        """Nodes, and the program as it was when they were made."""
        self.program.restore(state)
        return nodes

    def _versions(
        self, group: list[Statement], level: int, pending: frozenset[Loop], edges: list[Edge]
    ) -> tuple[Node, ...] | None:
        """Two versions of loops that must stay loops unless the data are within bounds, where that is cheaper."""
        if self.assuming or not self.policy.takes(VERSIONING):
            return None
        used = {b for s in group for b in s.buffers()}
        inside = dict.fromkeys(b for b, depth in self.program.depth.items() if depth > level and b in used)
        here = {s.position for s in group}
        own = {b: self.program.depth[b] for b in inside if b in self.users and self.users[b] <= here}
        bare = all_inlined(group, own, self.policy)
        if any(b in inside for s in bare for b in s.buffers()):
            return None  # a local may be an array in one version, and not in the other
        options = [
            a
            for a in assumptions(bare, self._tested, self.policy)
            if len(inlined(group, own, lambda _, a=a: a.idle, self.policy)) == len(bare)
        ]
        if not options:
            return None
        self.assuming, kept = True, self.program.copied()
        around = tuple(o for o in group[0].loops[:level] if o not in pending)
        exact = tuple(self.schedule(group, level, pending, edges))
        made = self.program.copied()
        best: tuple[Node, ...] | None = None
        for assumption in options:
            fast = self._anew(bare, level, pending, assumption.idle)
            holds, nodes, found = test(assumption, around, self.boxes, self.new)
            best = (*nodes, Versions(holds, fast, exact, f"where {assumption}, some stores change nothing"))
            if cheaper("two versions", self._price(best), WORTH * self._price(exact)):
                self.program.depth.update(dict.fromkeys(found, len(around)))
                break
            best = None
            self.program.restore(made)
        self.assuming = False
        if best is None:
            self.program.restore(kept)
        return best

    def _anew(
        self, statements: list[Statement], level: int, pending: frozenset[Loop], idle: Idle | None = None
    ) -> tuple[Node, ...]:
        """Nodes for statements in place of those of a group; `idle` instances change nothing."""
        kept, deps = self.anti_self, dependences(statements, self.program.depth, idle)
        self.anti_self = own_reads(deps)
        outer = {k for k, o in enumerate(statements[0].loops[:level]) if o not in pending}  # they run in order
        edges = [e for e in self.ordering(deps) if e.level not in outer]
        nodes = tuple(self.schedule(statements, level, pending, edges))
        self.anti_self = kept
        return nodes

    def _tested(self, buffer: Buffer) -> bool:
        """Whether a condition may speak of all elements of a buffer before a loop, and not of one of its copies."""
        return self.program.depth.get(buffer, 0) == 0

    def _in_strips(
        self, _group: list[Statement], _level: int, _pending: frozenset[Loop], node: SequentialLoop
    ) -> Iterator[Alternative]:
        """Several steps of a loop in one pass."""
        found = in_strips(node, self.boxes, self.target, self.new) if self.policy.takes(STRIP_MINING) else None
        if found is None:
            return

        def adopt() -> tuple[Node, ...]:
            self.program.depth.update(found.depth)
            self.program.raw.update(found.depth)
            return found.nodes

        yield Alternative("strips", found.price, adopt)

    def _reordered(
        self, group: list[Statement], level: int, pending: frozenset[Loop], in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Other orders for a nest of loops that must stay loops."""
        nested = any(isinstance(n, SequentialLoop) for n in in_order.body)
        orders = nested or follows(group, group[0].loops[level])
        if not self.policy.takes(PERMUTATION) or not (orders or may_delay(group)):
            return
        shared = self._locals_as_arrays(group, level, pending)
        if shared is None:
            return
        group, arrays = shared
        cut = split_at(group, level, self.new.position) if self.policy.takes(SPLITTING_AT_STEPS) else None
        for name, statements in (("another order", group), ("split at steps", cut)):
            found = None if statements is None else self._rescheduled(statements, level, pending)
            if found is None or self._keeps_all_steps(found, arrays):
                continue
            if orders or self._made(found, arrays):
                yield Alternative(name, self._price(found), partial(self._adopted, found, arrays, level, pending))

    def _keeps_all_steps(self, nodes: tuple[Node, ...], arrays: list[Buffer]) -> bool:
        """Whether a local has a place for each step of a loop, of open number, and is larger so than all that the
        program has: prices assume some number of steps, and callers may have a hundred times as many."""
        nodes, left = self._contracted(nodes, [*arrays, *self._made(nodes, arrays)])
        inner = [*inner_statements(nodes)]
        steps = {loop.var for n in inner for loop in n.statement.loops if loop not in n.axes}
        for array in left:
            places = [p for n in inner for p in n.statement.places(array)]
            kept = [e for d, e in enumerate(array.shape) if any(free_vars(p[d]) & steps for p in places)]
            if any(map(free_vars, kept)) and self._is_larger(array, kept, {*arrays, *left}):
                return True
        return False

    def _is_larger(self, array: Buffer, kept: Iterable[Expr], new: Container[Buffer]) -> bool:
        """Whether an array has more dimensions of open number than all but `new` ones, or `kept` ones of another."""
        own = [b for b in {*self.program.func.buffers, *self.program.depth} if b not in new]
        most = max((_open_extents(b) for b in own), default=0)
        known = {v for b in own for e in b.shape for v in free_vars(e)}
        return _open_extents(array) > most or any(not free_vars(e) <= known for e in kept)

    def _rescheduled(
        self, group: list[Statement], level: int, pending: frozenset[Loop], *, blocks: bool = True
    ) -> tuple[Node, ...] | None:
        """The cheapest order of the loops of a group, which has arrays in place of locals."""
        names = self._taken(group, level)
        own = self.program.depth
        return rescheduled(
            group, level, pending, self.boxes, names, self.target, self.policy, self.new, own, blocks=blocks
        )  # fmt: skip

    def _substituted(
        self, group: list[Statement], level: int, pending: frozenset[Loop], in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Values of an iteration worked out where they are read, which leaves fewer statements in a cycle.

        Statements over axes are compiled as one, with values in registers: where all are, it leaves no less to do."""
        if all(n.axes for n in inner_statements((in_order,))) or not self.policy.takes(FORWARD_SUBSTITUTION):
            return
        here = {s.position for s in group}
        own = {b: d for b, d in self.program.depth.items() if d > level and self.users.get(b, {-1}) <= here}
        bare = worked_out_again(group, own, self.policy)
        if bare is None:
            return
        kept = self.program.copied()
        nodes = self._anew(bare, level, pending)
        after = self.program.copied()
        self.program.restore(kept)
        yield Alternative("forward substitution", self._price(nodes), lambda: self._with(nodes, after))

    def _factored(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """A library's factorization in place of loops, and the loops in steps where that fails."""
        if not takes_roots(group) or not self._all_may(FACTORS, group):
            return
        shared = self._locals_as_arrays(group, level, pending)
        if shared is None:
            return
        group, arrays = shared
        positions = {s.position for s in group}
        private = {*arrays, *(b for b, users in self.users.items() if users <= positions)}
        found = factorization(group, level, self.boxes, private)
        parts = None if found is None else factored(found, group[0].loops[:level], pending, self.boxes, self.new)
        exact = None if parts is None else self._rescheduled(group, level, pending, blocks=False)
        if parts is None or exact is None:
            return

        def adopt() -> tuple[Node, ...]:
            self.program.depth.update(dict.fromkeys(parts.arrays, 0 if pending else level))
            self.program.raw.update(parts.arrays)
            return parts.nodes(self._adopted(exact, arrays, level, pending))

        yield Alternative("factorization", self._price(parts.nodes(())), adopt)

    def _taken(self, group: list[Statement], level: int) -> set[str]:
        """Names that new loops inside a level may not have."""
        names = {p.name for p in self.program.func.params} | {v.name for v in shape_vars(self.program.func)}
        return names | {loop.var.name for loop in group[0].loops[:level]}

    def _made(self, nodes: Iterable[Node], arrays: Iterable[Buffer]) -> list[Buffer]:
        """Locals that only these nodes know, besides some arrays."""
        known = {*self.program.func.buffers, *self.program.depth, *arrays}
        made = {b for n in inner_statements(nodes) for b in n.statement.buffers()} - known
        return sorted(made, key=lambda b: b.name)

    def _adopted(
        self, found: tuple[Node, ...], arrays: Iterable[Buffer], level: int, pending: frozenset[Loop]
    ) -> tuple[Node, ...]:
        """Nodes in another order as a part of the plan, with the arrays that they need, as small as may be."""
        arrays = [*arrays, *self._made(found, arrays)]
        found, arrays = self._contracted(found, arrays)
        # an array with an axis for a loop that became an axis needs no further copies
        self.program.depth.update(dict.fromkeys(arrays, 0 if pending else level))
        tiler = Tiler(self.boxes, self.new)
        found = tiler.nodes(found) if not pending and self.policy.takes(COPY_IN_OUT) else found
        self.program.depth.update(tiler.depth)
        self.program.tiles.update(tiler.depth)
        self.program.raw.update(tiler.depth)
        return found

    def _contracted(self, nodes: tuple[Node, ...], arrays: list[Buffer]) -> tuple[tuple[Node, ...], list[Buffer]]:
        """Nodes with arrays without the dimensions that loops around all their users make needless."""
        if not self.policy.takes(CONTRACTION):
            return nodes, arrays
        return contracted(nodes, arrays, self.boxes, self.target)

    def _skewed(
        self, group: list[Statement], level: int, pending: frozenset[Loop], in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Wavefronts in place of loops that all carry dependences."""
        shared = None
        if self.policy.takes(SKEWING) and any(map(_goes_on, in_order.body)):
            shared = self._locals_as_arrays(group, level, pending)
        if shared is None:
            return
        around = tuple(loop for loop in group[0].loops[:level] if loop not in pending)
        names = frozenset(self.program.names) | {v.name for v in shape_vars(self.program.func)}
        here = {s.position for s in group}
        others = [s for s in self.program.statements if s.position not in here]
        private = frozenset(b for b, depth in self.program.depth.items() if depth == level)
        nest = Nest(shared[0], others, private, level, around, shared[1], self.boxes, static_names(self.program), names)
        for wave in wavefronts(nest, self.target, self.new):
            if pending and any(self.program.depth.get(b) for n in wave.before for b in n.statement.buffers()):
                continue  # such a local has an axis for each of the pending loops
            nodes = self._in_steps(wave, level, pending)
            if nodes is not None:
                price = self._price(nodes) + wave.diagonals * self.target.gather
                yield Alternative("wavefronts", price, partial(self._as_waves, wave, nodes, shared[1], level, pending))

    def _as_waves(
        self, wave: Wavefront, nodes: tuple[Node, ...], arrays: list[Buffer], level: int, pending: frozenset[Loop]
    ) -> tuple[Node, ...]:
        """A wavefront as a part of the plan, with the arrays that it needs."""
        locals_ = [*arrays, *(b for b, filled in wave.copies.items() if not filled)]
        nodes, locals_ = self._contracted(nodes, locals_)
        copies = [b for b, filled in wave.copies.items() if filled]
        self.program.depth.update(dict.fromkeys([*copies, *locals_], 0 if pending else level))
        self.program.depth.update(wave.rows)
        self.program.raw.update([*copies, *wave.rows])
        self.program.tiles.update(wave.copies)
        return nodes

    def _in_steps(self, wave: Wavefront, level: int, pending: frozenset[Loop]) -> tuple[Node, ...] | None:
        """The loop over a skewed time, with what is around it; None if what is inside needs new arrays."""
        kept, anti_self = self.program.copied(), self.anti_self
        self.by_position.update({s.position: s for s in wave.statements if s.position not in self.by_position})
        deps = dependences(wave.statements, {**self.program.depth, **dict.fromkeys(wave.copies, level), **wave.rows})
        self.anti_self = own_reads(deps)
        rest = [e for e in self.ordering(deps) if e.level is None or e.level > level]
        body = tuple(self.schedule(wave.statements, level + 1, pending, rest))
        self.anti_self = anti_self
        if self.program.copied() != kept:
            self.program.restore(kept)
            return None
        return (*wave.before, SequentialLoop(wave.time, body, wave.reason), *wave.after)

    def _position(self) -> int:
        """A position that no statement has."""
        self.added += 1
        return len(self.program.statements) + self.added

    def _whole_box(self, loop: Loop) -> Box | None:
        """The static bounds of a loop that may become an axis without guards."""
        box = self._box(loop)
        return box if box is not None and box.exact else None

    def _box(self, loop: Loop) -> Box | None:
        """The static bounds of a loop that may become an axis, which its own may lie within."""
        if any(loop.var in free_vars(o.start) | free_vars(o.extent) for o in self.ranges):
            return None
        return self.boxes.get(loop) if loop not in self.forced else None

    def _price(self, nodes: Sequence[Node]) -> float:
        return estimate(nodes, self.boxes, self.target)

    def _scanned(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Scans in place of a loop whose iterations continue each other."""
        before = self.program.copied()
        scanned = self._with_scans(group, level, pending)
        after = self.program.copied()
        self.program.restore(before)
        if scanned is None:
            return
        nodes, depth, arrays = scanned

        def adopt() -> tuple[Node, ...]:
            self.program.restore(after)
            self.program.depth.update(depth)
            self.program.raw.update(arrays)
            return nodes

        yield Alternative("scans", self._price(nodes), adopt)

    def _with_scans(
        self, group: list[Statement], level: int, pending: frozenset[Loop]
    ) -> tuple[tuple[Node, ...], dict[Buffer, int], list[Buffer]] | None:
        """Nodes with scans in place of a loop, depths of all locals then, and arrays that may hold anything."""
        loop = group[0].loops[level]
        box = self._whole_box(loop)
        if box is None:
            return None
        statements, unrolled = list(group), list[Unrolled]()
        carried = {s.buffer for s in group if self.program.depth.get(s.buffer, 0) <= level}
        for buffer in sorted(carried, key=lambda b: b.name):
            found = with_history(statements, buffer, loop, box, self.program.depth, self.new)
            if found is not None:
                statements = found.statements
                unrolled.append(found)
        history = {u.array for u in unrolled}
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
        if not scans:
            return None
        free = {*scans, *(s.position for s in statements if any(u.numbers(s, level) for u in unrolled))}
        deps = [d for d in dependences(statements, depth) if not (d.source == d.sink in free and d.level == level)]
        outer = {k for k, o in enumerate(group[0].loops[:level]) if o not in pending}  # they run in order
        edges = [e for e in self.ordering(deps) if e.level not in outer]
        nodes: list[Node] = [self.over_all(u.first, level, pending) for u in unrolled]
        parts = components(statements, ((e.source, e.sink) for e in edges))
        for part, own in zip(parts, edges_within(parts, edges), strict=True):
            if any(e.level is not None and e.level <= level for e in own):
                return None
            if len(part) == 1 and part[0].position in scans:
                if own:
                    return None
                nodes.append(self.over_all(part[0], level, pending, scans[part[0].position]))
            else:
                nodes += self.schedule(part, level + 1, pending | {loop}, own)
        nodes += [self.over_all(u.last, level, pending) for u in unrolled]
        raw = [u.array for u in unrolled if u.guarded and u.last.buffer in self.program.func.buffers]
        return tuple(nodes), depth, raw

    def _recurrence(
        self, s: Statement, loop: Loop, depth: Mapping[Buffer, int], axes: Collection[Var] | None
    ) -> Recurrence | Filter | None:
        """How a statement continues what its last iterations stored; a filter only where `axes` are given."""
        dtype = s.buffer.dtype
        found = recurrence(s, loop, depth)
        if found is not None:
            form = form_of_recurrence(found)
            return found if self.policy.may(form, dtype) and self._expandable(s, found) else None
        if axes is None or (found := filtering(s, loop, axes, depth)) is None:
            return None
        return found if self.policy.may(FILTERS, dtype) and self._expandable(s, found) else None

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

    def _by_last(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """What the last of all iterations stores, in place of a loop whose places data say."""
        loop = group[0].loops[level]
        stores = [s for s in group if self.program.depth.get(s.buffer, 0) <= level]
        if len(stores) != 1 or loop in self.forced_in(group) or not self.policy.takes(LAST_WRITER):
            return
        found = last_writer(stores[0], level, self.boxes, self.program.depth, self.new)
        others = [s for s in group if s is not stores[0]]
        real = [d for d in self._edges_among(group) if d.level is None or d.level <= level]
        before = {s.position for s in others}
        if found is None or any(d.level is not None and d.source != d.sink for d in real):
            return
        if any(d.sink in before and d.source not in before for d in real):
            return
        kept = self.program.copied()
        edges = [e for e in self._edges_among(others) if e.level is None or e.level > level]
        nodes = tuple(self.schedule(others, level + 1, pending | {loop}, edges)) if others else ()
        after = self.program.copied()
        self.program.restore(kept)
        nodes = (*nodes, *(self.over_all(s, level, pending) for s in found.statements))

        def adopt() -> tuple[Node, ...]:
            self.program.restore(after)
            self.program.depth |= dict.fromkeys(found.arrays, level)
            return nodes

        yield Alternative("last writer", self._price(nodes), adopt)

    def _edges_among(self, statements: Sequence[Statement]) -> list[Edge]:
        """Dependences that order some statements, without what keeps the users of a local together."""
        return [e for e in self.ordering(dependences(statements, self.program.depth)) if e.dependence is not None]

    def _flattened(
        self, group: list[Statement], level: int, pending: frozenset[Loop], in_order: tuple[Node, ...]
    ) -> tuple[Node, ...] | None:
        """One loop over all positions in place of two, for when ranges that rows give are in order."""
        span = self.ranges_of(group, level)
        if span is None or pending:
            return None
        boxes, depth = self.boxes, self.program.depth
        found = flattened(group, level, span, boxes, depth, self.new)
        if found is None:
            return None
        boxes.update(found.boxes)
        depth |= found.depth
        self.by_position |= {s.position: s for s in (*found.first, *found.statements, *found.testing)}

        def nodes(statements: list[Statement]) -> tuple[Node, ...]:
            edges = self.ordering(dependences(statements, depth))
            own = [e for e in edges if e.level is None or e.level >= level]  # loops around run in order
            return tuple(self.schedule(statements, level, pending, own))

        fast = nodes([*found.first, *found.statements])
        reason = f"ranges of {span.inner.var.name} may be in order and apart"
        return *nodes(found.testing), Versions(Load(found.ordered, ()), fast, in_order, reason)

    def ranges_of(self, group: Sequence[Statement], level: int) -> Ranges | None:
        """The ranges that the next two loops of all statements go through."""
        inner = {s.loops[level + 1] if len(s.loops) > level + 1 else None for s in group}
        (loop, *more) = inner
        span = None if loop is None or more else self.flat.get(loop)
        return span if span is not None and span.outer is group[0].loops[level] else None

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
            own = [loop for k, loop in enumerate(users[0].loops[:depth]) if k >= level or loop in pending]
            if any(loop not in self.boxes for loop in own):
                return None
            extents, place = array_over(own, [self.boxes[loop] for loop in own])
            array = replace(local, name=self.new.name(local.name), shape=(*extents, *local.shape))
            group = [moved(s, local, array, place) if s in users else s for s in group]
            arrays.append(array)
        return group, arrays


def _open_extents(buffer: Buffer) -> int:
    """How many dimensions of a buffer have no number for an extent."""
    return sum(1 for extent in buffer.shape if free_vars(extent))


def _goes_on(node: Node) -> bool:
    """Whether a node goes from element to element of an axis, in turn or by a scan."""
    return isinstance(node, SequentialLoop) or (isinstance(node, ArrayStatement) and isinstance(node.scan, Recurrence))
