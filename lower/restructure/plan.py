"""Which loops become array axes and which stay loops (Allen and Kennedy's loop distribution, 1987).

Statements are grouped by the cycles of their dependences. A cycle that a loop carries keeps that loop sequential around
the rest; a loop that carries nothing within its group moves inward and becomes an axis; what is in no cycle becomes one
array statement over all its loops. Reductions `B[f] = B[f] op e` commute with themselves and hold nothing up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from ir.analysis import dependence
from ir.analysis.dependence import Dependence, Loop, Statement, common_loops, dependences, where_read
from ir.nodes import Buffer
from ir.presburger.sets import steps
from lower.analysis.components import components, edges_within
from lower.analysis.freedoms import Form
from lower.instructions.segmented_reduction import SEGMENTS, bounded, span
from lower.nest.loop_bounds import loop_boxes, static_names
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Node,
    Plan,
    SequentialLoop,
    Versions,
    buffers_of,
    inner_statements,
    loop_over,
    whole_axes,
)
from lower.nest.normalize import Program
from lower.nest.silent_stores import always_unchanged
from lower.restructure.alternatives import Forms
from lower.restructure.coalescing import COALESCING, in_one_loop
from lower.restructure.coalescing import ranges as flat_ranges
from lower.restructure.instruction_forms import Edge
from lower.restructure.uniform_locals import UNIFORM_LOCALS, with_uniform_locals

PLANNING = Form(
    "structure.planning",
    "loops that carry no dependence are axes; the order of the others is any that no dependence contradicts",
    "what no dependence orders may run together (loop distribution, Allen and Kennedy 1987)",
)


def plan(program: Program, target: Target = CPU) -> Plan:
    """Schedule a program for a target."""
    static = static_names(program)
    boxes = loop_boxes(program, static)
    if not program.policy.takes(PLANNING):
        return _with_expanded_locals(program, Plan(tuple(_as_written(program.statements)), boxes, static))
    before = steps()
    unchanged = always_unchanged(program.statements, program.policy)
    read = where_read(program.statements, program.depth)
    deps = dependences(read, program.depth, unchanged, steady=program.steady)
    if steps() - before > dependence.MOST_STEPS:
        program.notes.append("too many accesses meet to tell all apart: dependences between the last are assumed")
    flat = flat_ranges(program.statements, boxes, static, program.depth)
    prices = {loop: in_one_loop(r, program.statements, program.depth, target) for loop, r in flat.items()}
    if not program.policy.takes(COALESCING):
        prices = {}
    segments = program.policy.takes(SEGMENTS)
    masked, ranges, one = bounded(program.statements, boxes, deps, static, program.depth, prices, target, segments)
    if masked:
        boxes = loop_boxes(program, static, masked)
    flat = {loop: r for loop, r in flat.items() if loop in one}
    scheduler = _Scheduler(program, boxes, deps, target, ranges, flat)
    nodes = tuple(scheduler.schedule(list(program.statements), 0, frozenset(), scheduler.ordering(deps)))
    if program.policy.takes(UNIFORM_LOCALS):
        nodes = with_uniform_locals(program, nodes, boxes)
    return _with_expanded_locals(program, Plan(nodes, boxes, static))


def _as_written(statements: Iterable[Statement], level: int = 0) -> Iterator[Node]:
    """Loops in their order around statements that store single elements."""
    for first, inside in groupby(statements, key=lambda s: s.loops[level] if len(s.loops) > level else s):
        if isinstance(first, Loop):
            yield SequentialLoop(first, tuple(_as_written(inside, level + 1)), f"{PLANNING.name} is switched off")
        else:
            yield ArrayStatement(first, ())


class _Scheduler(Forms):
    def _as_ranges(self, statement: Statement, level: int, pending: frozenset[Loop]) -> ArrayStatement | None:
        """An array statement over ranges, if a loop that gives them is an axis and all others may be too."""
        (loop, *more) = [o for o in statement.loops[level:] if o in self.forced_in([statement])]
        if loop not in self.ranges or more:
            return None
        found = span(statement, loop, self.boxes, self.program.depth)
        axes = {o.var for k, o in enumerate(statement.loops) if k >= level or o in pending}
        if found is None or not found.deciding & axes:
            return None
        whole = loop_over(loop.var, self.ranges[loop], self.boxes)
        loops = tuple(whole if o is loop else o for o in statement.loops)
        pending = frozenset(whole if o is loop else o for o in pending)
        return self.over_all(replace(statement, loops=loops), level, pending, replace(found, loop=whole))

    def ordering(self, deps: Iterable[Dependence]) -> list[Edge]:
        """Dependences that order statements: updates commute, and an array statement reads before it writes."""
        edges: list[Edge] = []
        for d in deps:
            carried_update = d.commuting and d.level is not None
            own_read = d.source == d.sink and d.kind == "anti"
            if not carried_update and not own_read:
                edges.append(Edge(d.source, d.sink, d.level, d))
        for buffer, users in self.users.items():
            if not users:  # those that it had are written in another way
                continue
            # A local cannot get an axis for a loop without static bounds: its users stay in one such loop.
            first = min(users)
            for level, loop in enumerate(self.by_position[first].loops[: self.program.depth[buffer]]):
                if loop in self.forced:
                    for other in users - {first}:
                        edges += [Edge(first, other, level, None), Edge(other, first, level, None)]
            edges += self._search_edges(users)
        return edges

    def _search_edges(self, users: set[int]) -> Iterator[Edge]:
        """Edges that keep a search together while loops around it become axes."""
        group = [self.by_position[p] for p in sorted(users)]
        depth = len(group[0].loops)
        for level in range(depth) if len(group) > 1 else ():
            if self.search(group, level, str) is not None:
                for s in group[1:]:
                    yield Edge(group[0].position, s.position, depth - 1, None)
                    yield Edge(s.position, group[0].position, depth - 1, None)
                return

    def schedule(
        self, statements: list[Statement], level: int, pending: frozenset[Loop], edges: list[Edge]
    ) -> Iterator[Node]:
        """Nodes for `statements`, whose outer `level` loops are decided: around us, or `pending` as axes."""
        edges = self._keep_locals_together(statements, level, edges)
        groups = components(statements, ((e.source, e.sink) for e in edges))
        for group, own in zip(groups, edges_within(groups, edges), strict=True):
            yield from self._group(group, level, pending, own)

    def _group(self, group: list[Statement], level: int, pending: frozenset[Loop], edges: list[Edge]) -> Iterator[Node]:
        cyclic = len(group) > 1 or any(e.level is not None for e in edges)
        if not cyclic and self.forced_in(group).isdisjoint(group[0].loops[level:]):
            yield self.over_all(group[0], level, pending)
            return
        over = None if cyclic else self._as_ranges(group[0], level, pending)
        if over is not None:
            yield over
            return
        loop = group[0].loops[level]
        reason = self._carried(group, level, edges)
        if reason is None:
            yield from self.schedule(group, level + 1, pending | {loop}, edges)
            return
        if self._in_turn(group, loop):
            rest = [e for e in edges if e.level is None or e.level > level]
            yield SequentialLoop(loop, tuple(self.schedule(group, level + 1, pending, rest)), reason, apart=True)
            return
        yield from self.best(group, level, pending, edges, reason)

    def _in_turn(self, group: Iterable[Statement], loop: Loop) -> bool:
        """Whether a loop is one of steps for a group, whatever it carries."""
        return any((s.position, loop) in self.program.in_turn for s in group)

    def _carried(self, group: list[Statement], level: int, edges: list[Edge]) -> str | None:
        """Why the loop at `level` must run in order; None when it may become an axis."""
        loop = group[0].loops[level]
        if loop in self.forced_in(group):
            if loop not in self.boxes:
                return "its bounds have no static limit"
            if self._in_turn(group, loop):
                return "each step takes one place of a window"
            return "bounds without static limit depend on it"
        inside = {s.position for s in group}
        for edge in sorted(edges, key=lambda e: e.dependence is None or e.dependence.kind != "flow"):
            if edge.level == level:
                if edge.dependence is None:
                    return "a local buffer is used inside it"
                return _explain(edge.dependence, self.by_position)
        for dep in self.anti_self:
            if dep.source in inside and dep.level == level:
                return _explain(dep, self.by_position)
        return None

    def _keep_locals_together(self, statements: list[Statement], level: int, edges: list[Edge]) -> list[Edge]:
        """Add edges so that a loop that stays sequential holds all users of the locals of its body."""
        present = {s.position for s in statements}
        edges = list(edges)
        tied: set[Buffer] = set()
        while True:
            changed = False
            groups = components(statements, ((e.source, e.sink) for e in edges))
            for group, own in zip(groups, edges_within(groups, edges), strict=True):
                inside = {s.position for s in group}
                stays = self._first_that_stays(group, level, own)
                if stays is None:
                    continue
                for buffer, users in self.users.items():
                    if self.program.depth[buffer] <= stays or buffer in tied:
                        continue
                    here = users & present
                    if here & inside and len(here) > 1:
                        tied.add(buffer)
                        changed = changed or not here <= inside
                        first = min(here)
                        for other in here - {first}:
                            edges += [Edge(first, other, stays, None), Edge(other, first, stays, None)]
            if not changed:
                return edges

    def _first_that_stays(self, group: list[Statement], level: int, edges: list[Edge]) -> int | None:
        """The first level from one on whose loop stays sequential around a group; None if all become axes."""
        shared = min(common_loops(group[0], s) for s in group)
        return next((k for k in range(level, shared) if self._stays(group, k, edges)), None)

    def _stays(self, group: list[Statement], level: int, edges: list[Edge]) -> bool:
        if self.ranges_of(group, level) is not None:
            return False
        if group[0].loops[level] in self.forced_in(group):
            return True
        cyclic = len(group) > 1 or any(e.level is not None for e in edges)
        if not cyclic or self.search(group, level, str) is not None:
            return False
        return self._carried(group, level, edges) is not None


def _explain(dep: Dependence, by_position: Mapping[int, Statement]) -> str:
    kinds = {
        "flow": "reads what an earlier iteration wrote",
        "anti": "overwrites what an earlier iteration reads",
        "output": "may write an element twice",
    }
    sink = by_position[dep.sink]
    span = sink.store.span
    where = "" if span is None else f" (line {span.line})"
    return f"the store to {sink.buffer.name}{where} {kinds[dep.kind]}: {dep.kind} dependence on {dep.buffer.name}"


def users_of(buffer: Buffer, plan: Plan) -> list[Statement]:
    """Statements that access a local, as they were planned."""
    return [n.statement for n in inner_statements(plan.nodes) if buffer in n.statement.buffers()]


def own_locals(
    plan: Plan, depth: Mapping[Buffer, int], inside: Iterable[Statement], own_copy: Callable[[tuple[Loop, ...]], bool]
) -> Iterator[Buffer]:
    """Locals that only some statements know, where each iteration of loops for which that holds has its own."""
    positions = {s.position for s in inside}
    for buffer, level in depth.items():
        users = users_of(buffer, plan)
        if users and {s.position for s in users} <= positions and own_copy(users[0].loops[:level]):
            yield buffer


def begun_anew(
    nodes: Sequence[Node], boxes: Mapping[Loop, Box], resolved: Callable[[ArrayStatement], ArrayStatement]
) -> set[Buffer]:
    """Buffers to all of which the first of some nodes that knows them stores, whatever they hold; `resolved` has what
    a plan expands."""
    seen, found = set[Buffer](), set[Buffer]()
    for node in nodes:
        inside = [*map(resolved, inner_statements((node,)))]
        if isinstance(node, ArrayStatement) and node.scan is None and node.statement.tile is None:
            s = inside[0].statement
            own = not s.guards and not any(load.buffer == s.buffer for load in s.reads())
            if own and s.buffer not in seen and whole_axes(inside[0], boxes) is not None:
                found.add(s.buffer)
        seen |= {b for n in inside for b in buffers_of(n)}
    return found


def sequential_loops(nodes: Iterable[Node]) -> Iterator[SequentialLoop]:
    """All sequential loops of a plan, outer ones first."""
    for node in nodes:
        if isinstance(node, SequentialLoop):
            yield node
            yield from sequential_loops(node.body)
        elif isinstance(node, Versions):
            yield from sequential_loops((*node.fast, *node.exact))


def _with_expanded_locals(program: Program, result: Plan) -> Plan:
    """Give each local buffer an axis for each loop that was distributed over its users."""
    kept = [(n.loop, {m.statement.position for m in inner_statements((n,))}) for n in sequential_loops(result.nodes)]
    for buffer, depth in program.depth.items():
        users = users_of(buffer, result)
        if not users:
            continue
        positions = {s.position for s in users}
        shared = min(common_loops(users[0], s) for s in users)
        axes = [
            loop
            for loop in users[0].loops[: min(depth, shared)]
            if not any(loop is k and positions <= inside for k, inside in kept)
        ]
        steps = [k for k, inside in kept if positions & inside]
        # what a step of a loop takes lies together
        result.expanded[buffer] = tuple(sorted(axes, key=lambda loop: not any(loop is k for k in steps)))
    return result
