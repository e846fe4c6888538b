"""Forms that loops may have instead of running in order: each is found by a module of its own, and priced here; those
that are instructions, in `instruction_forms`.

All forms that a group may have are proposed side by side, and one decision takes the cheapest; nothing is adopted, and
no other part of the plan changes, before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from ir.analysis.dependence import Idle, Loop, Statement, dependences
from ir.nodes import Buffer, Load
from ir.traverse import free_vars, shape_vars
from lower.analysis.deciding import cheaper, cheapest, placed
from lower.instructions.cholesky import FACTORS, factored
from lower.instructions.cholesky_recognition import factorization, takes_roots
from lower.instructions.deferred_updates import may_delay
from lower.nest.loop_bounds import static_names, trimmed
from lower.nest.nodes import (
    ArrayStatement,
    Node,
    Recurrence,
    SequentialLoop,
    Versions,
    inner_statements,
)
from lower.restructure.blocking import follows
from lower.restructure.coalescing import Ranges, flattened
from lower.restructure.independent_steps import (
    CIRCULAR_BUFFERS,
    INDEPENDENT_STEPS,
    in_strips_of,
    unwound,
    width_of_strips,
)
from lower.restructure.instruction_forms import Alternative, Edge, InstructionForms, Propose, own_reads
from lower.restructure.reschedule import PERMUTATION, SPLITTING_AT_STEPS, rescheduled, split_at
from lower.restructure.strip_mining import STRIP_MINING, in_strips
from lower.restructure.versioning import VERSIONING, WORTH, assumptions, test
from lower.restructure.wavefront import SKEWING, Nest, Wavefront, wavefronts
from lower.storage.array_expansion import AHEAD, sums_ahead
from lower.storage.contraction import CONTRACTION, contracted
from lower.storage.copy_in_out import COPY_IN_OUT, Tiler
from lower.storage.forward_substitution import FORWARD_SUBSTITUTION, all_inlined, inlined, worked_out_again
from lower.storage.row_rotation import ROW_ROTATION, in_rows

_SURELY = 1.1  # times as dear, another order must be cheaper still: prices of steps are off by as much


class Forms(InstructionForms):
    """Tells the cheapest form that the group of a dependence cycle may have."""

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
        if group[0].loops[level] not in self.forced_in(group):
            group = trimmed(group, level, self.boxes)
            self.by_position = self.by_position | {s.position: s for s in group}
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
            proposals = (self._scanned, self._selected, self._inserted, self._at_once, self._skewed, self._over_nests)
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
            self._over_nests,
            self._selected,
            self._inserted,
            self._at_once,
            self._skewed,
            self._in_rows,
            self._in_strips_of_steps,
            self._sums_ahead,
            self._substituted,
        )

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
            fast = self.anew(bare, level, pending, assumption.idle)
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

    def anew(
        self, statements: list[Statement], level: int, pending: frozenset[Loop], idle: Idle | None = None
    ) -> tuple[Node, ...]:
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
            if found is None:
                continue
            made = self._made(found, arrays)
            nodes, left = self._contracted(found, [*arrays, *made])
            if (orders or made) and not self._keeps_all_steps(nodes, left):
                price = _SURELY * self._price(nodes)
                yield Alternative(name, price, partial(self._adopted, found, arrays, level, pending))

    def _keeps_all_steps(self, nodes: tuple[Node, ...], left: list[Buffer]) -> bool:
        """Whether a local has a place for each step of a loop, of open number, and is larger so than all that the
        program has: prices assume some number of steps, and callers may have a hundred times as many."""
        inner = [*inner_statements(nodes)]
        steps = {loop.var for n in inner for loop in n.statement.loops if loop not in n.axes}
        for array in left:
            places = [p for n in inner for p in n.statement.places(array)]
            kept = [e for d, e in enumerate(array.shape) if any(free_vars(p[d]) & steps for p in places)]
            if any(map(free_vars, kept)) and self._is_larger(array, kept, left):
                return True
        return False

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
        nodes, after = self.tried(partial(self.anew, bare, level, pending))
        yield Alternative("forward substitution", self._price(nodes), lambda: self._with(nodes, after))

    def _in_strips_of_steps(
        self, group: list[Statement], level: int, pending: frozenset[Loop], in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Steps at once that do not wait for each other."""
        if not self.policy.takes(INDEPENDENT_STEPS) or group[0].loops[level] in self.forced_in(group):
            return
        rings = unwound(group, level, pending, self.boxes, self.new) if self.policy.takes(CIRCULAR_BUFFERS) else []
        group = rings[-1].statements if rings else group
        width = width_of_strips(group, level, self.boxes)
        shared = None if width is None else self._locals_as_arrays(group, level, pending)
        if width is None or shared is None:
            return
        arrays = [*shared[1], *(r.array for r in rings)]
        found = in_strips_of(width, shared[0], level, self.boxes, self.new)
        if found is None:
            return
        self.by_position |= {s.position: s for s in found}
        inside, after = self.tried(partial(self.anew, found, level, pending), dict.fromkeys(arrays, level))
        nodes = (
            *(self.over_all(r.first, level, pending) for r in rings),
            *inside,
            *(self.over_all(r.last, level, pending) for r in rings),
        )

        def adopt() -> tuple[Node, ...]:
            self.program.restore(after)
            return self._adopted(nodes, arrays, level, pending)

        yield Alternative(f"{width} steps at once", self._price(nodes), adopt)

    def _sums_ahead(
        self, group: list[Statement], level: int, pending: frozenset[Loop], _in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """Sums of all steps before the loop, as products of matrices."""
        if not self.policy.takes(AHEAD) or group[0].loops[level] in self.forced_in(group):
            return
        found = sums_ahead(group, level, pending, self.program.depth, self.users, self.boxes, self.new)
        if found is None or any(self._is_larger(a, a.shape, found.arrays) for a in found.arrays):
            return
        if not all(self.policy.may(AHEAD, a.dtype) for a in found.arrays):
            return
        self.by_position |= {s.position: s for s in found.statements}
        users = self.users
        local = {b for s in found.statements for b in s.buffers() if b in users and b not in found.arrays}
        self.users = users | {b: {s.position for s in found.statements if b in s.buffers()} for b in local}
        nodes, after = self.tried(
            partial(self.anew, found.statements, level, pending), dict.fromkeys(found.arrays, level)
        )
        self.users = users

        def adopt() -> tuple[Node, ...]:
            self.program.restore(after)
            self.program.depth.update(dict.fromkeys(found.arrays, 0 if pending else level))
            return nodes

        yield Alternative("sums ahead", self._price(nodes), adopt)

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
        others = [s for s in self.program.statements if s.position not in positions]
        if any(s.loops[:level] != group[0].loops[:level] for s in others):
            others = []
        found = factorization(group, level, self.boxes, private, others)
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
            nodes = self._in_steps(wave.statements, {**dict.fromkeys(wave.copies, level), **wave.rows}, level, pending)
            if nodes is not None:
                nodes = (*wave.before, SequentialLoop(wave.time, nodes, wave.reason), *wave.after)
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

    def _in_rows(
        self, group: list[Statement], level: int, pending: frozenset[Loop], in_order: SequentialLoop
    ) -> Iterator[Alternative]:
        """A loop in order whose steps work on rows of tables, which they hand on."""
        if pending or group[0].loops[level] in self.forced_in(group) or not self.policy.takes(ROW_ROTATION):
            return
        found = in_rows(group, level, self.program.depth, self.boxes, self.new)
        if found is None:
            return
        users = self.users
        inside = [b for b, d in self.program.depth.items() if d > level]
        self.users = users | {b: {s.position for s in found.statements if b in s.buffers()} for b in inside}
        body = self._in_steps(found.statements, found.depth, level, pending)
        self.users = users
        if body is None:
            return
        nodes = (*found.before, replace(in_order, body=body), *found.after)

        def adopt() -> tuple[Node, ...]:
            self.program.depth.update(found.depth)
            self.program.raw.update(found.depth)
            return nodes

        yield Alternative("rows handed on", self._price(nodes), adopt)

    def _in_steps(
        self, statements: list[Statement], arrays: Mapping[Buffer, int], level: int, pending: frozenset[Loop]
    ) -> tuple[Node, ...] | None:
        """What a loop does whose steps run in order, with new arrays; None if what is inside needs more of them."""
        kept, anti_self = self.program.copied(), self.anti_self
        self.by_position.update({s.position: s for s in statements if s.position not in self.by_position})
        deps = dependences(statements, {**self.program.depth, **arrays})
        self.anti_self = own_reads(deps)
        rest = [e for e in self.ordering(deps) if e.level is None or e.level > level]
        body = tuple(self.schedule(statements, level + 1, pending, rest))
        self.anti_self = anti_self
        if self.program.copied() != kept:
            self.program.restore(kept)
            return None
        return body

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


def _goes_on(node: Node) -> bool:
    """Whether a node goes from element to element of an axis, in turn or by a scan."""
    return isinstance(node, SequentialLoop) or (isinstance(node, ArrayStatement) and isinstance(node.scan, Recurrence))
