"""Loops in phases: where the work of a step grows or shrinks with the step, some steps at a time have own extents.

An array statement in a loop has one extent for all steps, the largest, and a mask. Cut into a few phases, the loop is
several, of which each takes as much of its arrays as its last or first step needs (index-set splitting, Griebl,
Feautrier and Lengauer, 2000). Each phase is compiled by itself, so there are few, and only where they save more.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Const, Expr, Var, const
from ir.traverse import free_vars, shape_vars
from lower.analysis.deciding import cheapest
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, number, to_expr
from lower.array.access import Bounds
from lower.array.job import inequalities, restrict
from lower.array.views import Axis
from lower.nest.element_prices import extent
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Factor,
    Filter,
    Node,
    Phase,
    Pick,
    Plan,
    Recurrence,
    Section,
    SequentialLoop,
    Solve,
    Span,
    Versions,
    inner_statements,
    own_bounds,
    relocated_node,
)
from lower.nest.normalize import Program, read_by_bounds
from lower.restructure.estimate import estimate
from lower.restructure.unrolling import in_one_go

INDEX_SET_SPLITTING = Form(
    "structure.index_set_splitting",
    "for i in a..c: s  =  for i in a..b: s; for i in b..c: s",
    "phases are the steps in their order, and what a mask hid is left out",
)

_COUNTS = (2, 3, 4)  # of phases, that are priced: each is compiled by itself
_LEAST = 0.02  # of the price of a loop that each further phase must save, since prices are rough and compiling slow
_SHARE = 0.9  # an extent that is left larger in all phases is not worth a slice
_ROUNDS = 2  # through the axes of a statement, which may bound each other

_Ranges = tuple[tuple[int, int], ...]  # of positions, by dimension


def phased(program: Program, plan: Plan, target: Target) -> Plan:
    """The plan with loops in phases, where that is cheaper."""
    cutter = _Cutter(program, plan, dict(plan.boxes), frozenset(shape_vars(program.func)), target)
    return replace(plan, nodes=cutter.cheapest(plan.nodes, {}, 1.0)[0])


class _Cutter(Struct):
    program: Program
    plan: Plan
    boxes: dict[Loop, Box]
    shape_variables: frozenset[Var]
    target: Target

    def cheapest(
        self, nodes: Sequence[Node], around: Mapping[Var, Box], steps: float
    ) -> tuple[tuple[Node, ...], float]:
        """Nodes that run `steps` times with their loops in phases, and what that saves. Phases are not cut again."""
        found: list[Node] = []
        saved = 0.0
        for node in nodes:
            if isinstance(node, SequentialLoop):
                box = self.boxes.get(node.loop)
                known = {**around, node.loop.var: box} if box is not None else around
                body, less = self.cheapest(node.body, known, steps * extent(box, self.target))
                phases, gain = self._phases(node, around, steps)
                node = replace(
                    node,
                    phases=self._sectioned(node, phases) if gain > less else (),
                    body=body if gain <= less else node.body,
                )
                saved += max(gain, less)
            found.append(node)
        return tuple(found), saved

    def _phases(self, node: SequentialLoop, around: Mapping[Var, Box], steps: float) -> tuple[tuple[Phase, ...], float]:
        """The best number of phases of a loop, and what they save; none where that is nothing."""
        box = self.boxes.get(node.loop)
        if box is None or not box.is_known or _has_versions(node.body):
            return (), 0.0
        if in_one_go(node, self.boxes, self.program.depth, self.target):  # where each step is compiled by itself
            return (), 0.0
        statements = sum(1 for n in inner_statements(node.body) if n.axes)
        found: dict[int, tuple[tuple[Phase, ...], float]] = {1: ((), 0.0)}  # by their number: phases, and the gain
        whole = self._price(node.body, None, steps * box.extent.const)
        for count in _COUNTS:
            if count > box.extent.const:
                break
            parts = _parts(box.low.const, box.extent.const, count)
            phases = self._worthwhile(node, [self._cut(node, around, *ends) for ends in parts])
            price = sum(self._price(node.body, p, steps * (p.stop - p.low)) for p in phases)
            price += steps * self._copies(self._sections(node, phases))
            gain = whole - price - operations.more_phases(self.target, count, statements, whole, _LEAST)
            found[count] = phases, gain
        return found[cheapest("phases", {count: -gain for count, (_, gain) in found.items()})]

    def _price(self, nodes: Iterable[Node], phase: Phase | None, steps: float) -> float:
        """The price of nodes that run `steps` times in a phase."""
        if phase is None:
            return estimate(nodes, self.boxes, self.target, steps, depth=self.program.depth)
        return estimate(
            nodes, ChainMap(dict(phase.loops), self.boxes), self.target, steps, phase.axes, self.program.depth
        )

    def _cut(self, node: SequentialLoop, around: Mapping[Var, Box], low: int, stop: int) -> Phase:
        """Some iterations of a loop, with what is known of what is in it."""
        phase = Phase(
            low, stop, node.body, loops := dict[Loop, Box](), axes := dict[ArrayStatement, Mapping[Loop, Box]]()
        )
        self._within(node.body, {**around, node.loop.var: _steps(low, stop)}, loops, axes)
        return phase

    def _within(
        self,
        nodes: Iterable[Node],
        around: Mapping[Var, Box],
        loops: dict[Loop, Box],
        axes: dict[ArrayStatement, Mapping[Loop, Box]],
    ) -> None:
        """Collect the tighter boxes of nodes."""
        for node in nodes:
            if isinstance(node, SequentialLoop):
                known = self._tight((node.loop,), (), around)
                loops |= known
                box = known.get(node.loop, self.boxes.get(node.loop))
                inside = {**around, node.loop.var: box} if box is not None else around
                self._within(node.body, inside, loops, axes)
            elif isinstance(node, ArrayStatement):
                fixed = _fixed(node)
                free = [loop for loop in node.axes if loop not in fixed]
                tight = self._tight(free, node.statement.guards, {**around, **self._own(fixed)})
                if tight:
                    axes[node] = tight

    def _own(self, loops: Iterable[Loop]) -> dict[Var, Box]:
        return {loop.var: self.boxes[loop] for loop in loops}

    def _worthwhile(self, node: SequentialLoop, phases: Sequence[Phase]) -> tuple[Phase, ...]:
        """Phases with the tighter boxes of those axes that are smaller by enough in one of them."""
        kept: set[tuple[ArrayStatement, Loop]] = set()
        for phase in phases:
            for statement, axes in phase.axes.items():
                kept |= {(statement, o) for o, box in axes.items() if _much_less(box.extent, self.boxes[o].extent)}
        for nodes in _bodies(node):
            kept -= self._in_one_pass(nodes, phases, node.loop)
        return tuple(
            replace(p, axes={s: {o: b for o, b in axes.items() if (s, o) in kept} for s, axes in p.axes.items()})
            for p in phases
        )

    def _in_one_pass(
        self, nodes: Iterable[Node], phases: Sequence[Phase], loop: Loop
    ) -> set[tuple[ArrayStatement, Loop]]:
        """Axes along which statements store to parts of a buffer that are not smaller together.

        XLA makes one pass of them, whose masks cost less than several passes would, each over a part."""
        result: set[tuple[ArrayStatement, Loop]] = set()
        plain = [n for n in nodes if isinstance(n, ArrayStatement) and _elementwise(n)]
        for buffer in dict.fromkeys(n.statement.buffer for n in plain):
            users = [n for n in plain if n.statement.buffer == buffer]
            for d in range(len(buffer.shape) if len(users) > 1 else 0):
                whole = self._hull(users, d, None, loop)
                sizes = [self._hull(users, d, phase, loop) for phase in phases]
                if whole is None or not any(s is not None and s <= _SHARE * whole for s in sizes):
                    for n in users:
                        names = free_vars(n.statement.store.indices[d])
                        result |= {(n, o) for o in n.axes if o.var in names}
        return result

    def _hull(self, nodes: Iterable[ArrayStatement], dim: int, phase: Phase | None, loop: Loop) -> int | None:
        """How many positions of a dimension lie between the first and the last that nodes store to."""
        lows, highs = list[int](), list[int]()
        for node in nodes:
            reach = self._reach(node, node.statement.store.indices[dim], phase, loop)
            if reach is None:
                return None
            low, high = reach
            if low <= high:
                lows.append(low)
                highs.append(high)
        return max(highs) - min(lows) + 1 if lows else 0

    def _reach(self, node: ArrayStatement, index: Expr, phase: Phase | None, loop: Loop) -> tuple[int, int] | None:
        """The first and last value of an index of a statement; None where that is not known."""
        known: dict[Var, Box] = {}
        for o in node.statement.loops:
            box = self._in_phase(o, node, phase, loop)
            if box is not None:
                known[o.var] = box
        bounds = Bounds(known, self.plan.static, self.shape_variables)
        form = bounds.linear(index)
        low, high = bounds.at_least(form), bounds.at_most(form)
        return None if low is None or high is None else (low, high)

    def _sectioned(self, node: SequentialLoop, phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
        """Phases that carry only the sections of buffers that they touch, where these are smaller by enough.

        XLA stores in place to all of an array at the speed of its loads, but not always to a part of it."""
        for buffer, sections in self._sections(node, phases):
            name = self.program.fresh(f"{buffer.name}_part")
            phases = tuple(self._in_section(p, buffer, name, r) for p, r in zip(phases, sections, strict=True))
        return phases

    def _copies(self, sections: Iterable[tuple[Buffer, Sequence[_Ranges]]]) -> float:
        """The price of copying sections."""
        elements = sum(prod(b - a for a, b in ranges) for _, several in sections for ranges in several)
        return elements * self.target.section

    def _sections(self, node: SequentialLoop, phases: Sequence[Phase]) -> list[tuple[Buffer, list[_Ranges]]]:
        """Buffers that are stored to of which phases touch much less than all, with what each phase touches."""
        found: list[tuple[Buffer, list[_Ranges]]] = []
        inside = list(inner_statements(node.body))
        cut = {n for phase in phases for n, axes in phase.axes.items() if axes}
        fixed = read_by_bounds(n.statement for n in inside)
        for buffer in sorted({n.statement.buffer for n in inside if n in cut} - fixed, key=lambda b: b.name):
            users = [n for n in inside if buffer in n.statement.buffers()]
            shape = [int(d.value) for d in buffer.shape if isinstance(d, Const)]
            known = len(shape) == len(buffer.shape) > 0 and not any(n.scan for n in users)
            if not known or self.program.depth.get(buffer) or self.plan.expanded.get(buffer):
                continue
            touched = [self._touched(buffer, shape, users, phase, node.loop) for phase in phases]
            smaller = [
                any(b - a <= _SHARE * size for a, b in several)
                for several, size in zip(zip(*touched, strict=True), shape, strict=True)
            ]
            if any(smaller):
                whole = [(0, size) for size in shape]
                ranges = [
                    tuple(r if less else w for r, w, less in zip(t, whole, smaller, strict=True)) for t in touched
                ]
                found.append((buffer, ranges))
        return found

    def _touched(
        self, buffer: Buffer, shape: Sequence[int], users: Iterable[ArrayStatement], phase: Phase, loop: Loop
    ) -> _Ranges:
        """From where to where accesses to a buffer go in a phase, by dimension."""
        found: list[tuple[int, int]] = []
        for d, size in enumerate(shape):
            ranges = [self._reach(n, place[d], phase, loop) for n in users for place in n.statement.places(buffer)]
            known = [r for r in ranges if r is not None]
            low, high = min((r[0] for r in known), default=0), max((r[1] for r in known), default=-1)
            if len(known) < len(ranges) or max(low, 0) > min(high, size - 1):
                low, high = 0, size - 1
            found.append((max(low, 0), min(high, size - 1) + 1))
        return tuple(found)

    def _in_section(self, phase: Phase, buffer: Buffer, name: str, ranges: _Ranges) -> Phase:
        """The phase with a section in place of a buffer."""
        shape = tuple(const(b - a, d.dtype) for (a, b), d in zip(ranges, buffer.shape, strict=True))
        part = replace(buffer, name=name, shape=shape, scope="local")
        self.program.raw.add(part)

        def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
            return tuple(to_expr(linear(i) - a, i) if a else i for i, (a, _) in zip(indices, ranges, strict=True))

        def moved(node: Node) -> Node:
            if isinstance(node, SequentialLoop):
                return replace(node, body=tuple(map(moved, node.body)))
            new = relocated_node(node, buffer, part, place)
            if isinstance(node, ArrayStatement) and isinstance(new, ArrayStatement) and node in phase.axes:
                axes[new] = phase.axes[node]
            return new

        axes: dict[ArrayStatement, Mapping[Loop, Box]] = {}
        sections = (*phase.sections, Section(buffer, part, ranges))
        return replace(phase, body=tuple(map(moved, phase.body)), axes=axes, sections=sections)

    def _in_phase(self, loop: Loop, node: ArrayStatement, phase: Phase | None, phased: Loop) -> Box | None:
        if phase is None:
            return self.boxes.get(loop)
        if loop is phased:
            return _steps(phase.low, phase.stop)
        return phase.axes.get(node, {}).get(loop) or phase.loops.get(loop) or self.boxes.get(loop)

    def _tight(self, loops: Sequence[Loop], guards: Sequence[Expr], around: Mapping[Var, Box]) -> dict[Loop, Box]:
        """Boxes of loops that are smaller than theirs, by their own bounds and guards, with variables around known."""
        found = {o: box for o in loops if (box := self.boxes.get(o)) is not None}
        for _ in range(_ROUNDS):
            for loop, box in found.items():
                bounds = Bounds(
                    {**around, **{o.var: b for o, b in found.items()}}, self.plan.static, self.shape_variables
                )
                conditions = [*guards, *(() if self.boxes[loop].exact else own_bounds(loop))]
                found[loop] = _within_conditions(loop, box, conditions, bounds)
        return {loop: box for loop, box in found.items() if box.is_fixed}


def _parts(low: int, extent: int, count: int) -> Iterator[tuple[int, int]]:
    """Where `count` parts of a range begin and end."""
    ends = [low + extent * k // count for k in range(count + 1)]
    return pairwise(ends)


def _fixed(node: ArrayStatement) -> tuple[Loop, ...]:
    """Axes along which a statement continues: it needs all of them."""
    match node.scan:
        case None:
            return ()
        case Recurrence() | Filter() | Solve():
            return tuple(loop for loop in node.axes if loop is node.scan.loop)
        case Pick() | Span() | Factor():
            return node.axes


def _within_conditions(loop: Loop, box: Box, conditions: Iterable[Expr], bounds: Bounds) -> Box:
    """The box of a loop within conditions that hold whenever its body runs."""
    axis = Axis(loop.var, box.low, box.extent)
    for condition in conditions:
        for form in inequalities(condition, bounds) or ():
            c = form.terms.get(loop.var, 0)
            rest = bounds.at_least(form - atom(loop.var) * c)
            if c and rest is not None:
                axis = restrict(axis, c, number(rest)) or axis
    return Box(axis.low, axis.extent, box.exact)


def _much_less(extent: Linear, old: Linear) -> bool:
    return extent.is_const and old.is_const and extent.const <= _SHARE * old.const


def _steps(low: int, stop: int) -> Box:
    """The box of a loop in a phase."""
    return Box(number(low), number(stop - low), exact=True)


def _bodies(node: SequentialLoop) -> Iterator[tuple[Node, ...]]:
    """The body of a loop, and those of the loops in it."""
    yield node.body
    for inner in node.body:
        if isinstance(inner, SequentialLoop):
            yield from _bodies(inner)


def _has_versions(nodes: Iterable[Node]) -> bool:
    """Whether something is chosen at run time."""
    return any(isinstance(n, Versions) or (isinstance(n, SequentialLoop) and _has_versions(n.body)) for n in nodes)


def _elementwise(node: ArrayStatement) -> bool:
    """Whether a statement stores one value for each position of its axes, without sums or scans."""
    stored = free_vars(*node.statement.store.indices)
    return node.scan is None and all(loop.var in stored for loop in node.axes)
