"""From a program to what each device of a mesh does: stages spread by who owns what, exchanges between them.

Stages that need nothing of other devices are one program of a device. What it needs is exchanged before: borders of
blocks, windows, whole buffers; partial results are combined, recurrences go on from device to device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Assume,
    Binary,
    Buffer,
    Expr,
    For,
    Load,
    PrimFunc,
    Stmt,
    Var,
    const,
    seq,
)
from ir.operators import neutral
from ir.presburger import sets as pb
from ir.program.edit import names_in, with_unique_names
from ir.traverse import all_exprs, buffers_written, free_vars, loads, walk
from lower.analysis.freedoms import Form, Policy
from lower.analysis.linear_forms import linear
from lower.distribute.choices import PARTIAL, Choice, Chooser
from lower.distribute.grid import Axes, Cut, Grid, Placement, tidied
from lower.distribute.local_buffers import with_locals
from lower.distribute.lookups import LOOKUP, OWN, apart, looked_up
from lower.distribute.owner_computes import Local, along, filled
from lower.distribute.placements import completed
from lower.distribute.recurrences import going, gone_along, with_recurrences
from lower.distribute.stages import Node, NotDistributed, Stage, Steps, staged, variables_of, written_in
from lower.distribute.steps import Carry, Exchange, Repeat, Run, Step
from lower.distribute.views import Reading, View, names_of, own, span, variables_in, view_shape
from lower.instructions.argmax import SEARCHES
from lower.instructions.cholesky import FACTORS
from lower.instructions.deferred_updates import DELAYED
from lower.instructions.filters import FILTERS
from lower.instructions.last_writer import LAST_WRITER
from lower.instructions.segmented_reduction import SEGMENTS
from lower.instructions.triangular_solve import SYSTEMS
from lower.restructure.blocking import BLOCKING
from lower.restructure.coalescing import COALESCING
from lower.restructure.index_set_splitting import INDEX_SET_SPLITTING
from lower.restructure.pipeline import form_of
from lower.restructure.stage_unrolling import STAGES
from lower.restructure.strip_mining import STRIP_MINING
from lower.restructure.unrolling import FULL_UNROLLING, PARTIAL_UNROLLING
from lower.restructure.versioning import VERSIONING
from lower.storage.copy_in_out import COPY_IN_OUT
from lower.storage.dimension_order import DIMENSION_ORDER
from lower.storage.linearization import LINEARIZATION
from lower.storage.transposed_copy import TRANSPOSED_COPY

DISTRIBUTION = Form(
    "mesh.owner_computes",
    "what stores to an element  =  the same on the device that owns the element",
    "devices exchange the borders that they read, and nothing else",
)
# What pays on one device, by where its arrays lie in memory, says nothing of parts of them.
_ONE_DEVICE = frozenset(
    form.name
    for form in (
        DIMENSION_ORDER,
        TRANSPOSED_COPY,
        INDEX_SET_SPLITTING,
        BLOCKING,
        LINEARIZATION,
        COALESCING,
        STRIP_MINING,
        FULL_UNROLLING,
        PARTIAL_UNROLLING,
        STAGES,
        VERSIONING,
        COPY_IN_OUT,
        SYSTEMS,
        FACTORS,
        FILTERS,
        SEARCHES,
        LAST_WRITER,
        SEGMENTS,
        DELAYED,
    )
)


class Spmd(Struct, frozen=True):
    """What each device does, where parameters and results lie, and how they are handed over.

    `free` are the written parameters that callers have whole on each device, with where they lie meanwhile.
    """

    func: PrimFunc
    grid: Grid
    steps: tuple[Step, ...]
    placements: Mapping[Buffer, Placement]
    free: tuple[Buffer, ...]
    report: tuple[str, ...]


def distributed(
    func: PrimFunc,
    sizes: Mapping[str, int],
    given: Mapping[str, tuple[Axes, ...]],
    target: Target,
    policy: Policy,
) -> Spmd:
    """What each device does of `func`, whose sizes are numbers and whose cut dimensions the mesh divides.

    Raises:
        NotDistributed: the program is of another form.
    """
    if not policy.takes(DISTRIBUTION):
        raise NotDistributed("it is switched off")
    form = with_unique_names(form_of(func, target, policy.floats, policy.without | _ONE_DEVICE))
    return _Spmd(func, form, sizes, given, target, policy).result()


class _Block(Struct):
    """Steps put together so far, and the stages that will be one program."""

    parent: _Block | None
    var: Var | None
    written: set[Buffer]
    steps: list[Step] = field(default_factory=list[Step])
    pending: list[Stmt] = field(default_factory=list[Stmt])
    stored: set[Buffer] = field(default_factory=set[Buffer])
    views: dict[tuple[Buffer, View], Buffer] = field(default_factory=dict[tuple[Buffer, View], Buffer])


class _Spmd:
    def __init__(
        self,
        func: PrimFunc,
        form: PrimFunc,
        sizes: Mapping[str, int],
        given: Mapping[str, tuple[Axes, ...]],
        target: Target,
        policy: Policy,
    ) -> None:
        self.func, self.form, self.target, self.policy = func, form, target, policy
        self.taken = names_in(func) | names_in(form)
        self.grid = Grid(sizes, {a: Var(fresh(f"at_{a}", self.taken), DType.INT32) for a in sizes})
        self.local, nodes = staged(form.body)
        self.nodes = tuple(with_recurrences(nodes))
        self.steady = frozenset({*variables_of(self.nodes), *func.scalars, *self.grid.variables.values()})
        self.reading = Reading(self.grid, self.steady)
        written = written_in(self.nodes)
        places: dict[Buffer, Placement] = {}
        for b in func.buffers:
            axes = given.get(b.name, ((),) * len(b.shape))
            if any(self.grid.count(a) > 1 for a in axes):
                places[b] = tuple(self._cut(e, a) for e, a in zip(b.shape, axes, strict=True))
            elif b not in written:
                places[b] = (None,) * len(b.shape)
        free = [b for b in (*func.buffers, *self.local) if b not in places]
        self.placements = completed(self.nodes, places, free, self.grid)
        self.free = tuple(b for b in func.buffers if b in free and any(self.placements[b]))
        self.names: dict[tuple[Buffer, View], Buffer] = {}
        self.report: list[str] = []
        self.around = self.grid.known()

    def _cut(self, extent: Expr, axes: Axes) -> Cut | None:
        parts = self.grid.count(axes)
        size = linear(extent).const
        if size % parts:
            raise NotDistributed(f"{parts} parts do not divide {size}")
        return Cut(axes, size // parts) if parts > 1 else None

    def result(self) -> Spmd:
        """What each device does."""
        if not any(any(p) for p in self.placements.values()):
            raise NotDistributed("nothing is cut")
        block = _Block(None, None, written_in(self.nodes))
        self._nodes(self.nodes, block, self.around)
        self._flush(block)
        steps = tuple(with_locals(block.steps, {b.name for b in self.func.buffers}))
        return Spmd(self.func, self.grid, steps, self.placements, self.free, tuple(self.report))

    # Stages.

    def _nodes(self, nodes: Sequence[Node], block: _Block, known: isl.Set) -> None:
        for node in nodes:
            if isinstance(node, Stage):
                self._stage(node, block, known)
            else:
                self._loop(node, block, known)

    def _stage(self, stage: Stage, block: _Block, known: isl.Set) -> None:
        carried = self._spread_recurrence(stage)
        if carried is not None:
            self._recurrence(stage, *carried, block, known)
            return
        for part, choice in self._plan(stage, known):
            self._run(part, choice, block)

    def _plan(self, stage: Stage, known: isl.Set) -> list[tuple[Stage, Choice]]:
        """A stage as devices run it, behind others that look up elements where that is cheaper."""
        plan = [(stage, self._chooser().best(stage, known))]
        tried: list[Load] = []
        while self.policy.takes(LOOKUP):
            *before, (rest, whole) = plan
            loads = looked_up(rest, self.placements, known)
            load = next((e for e in loads if not any(e.same(t) for t in tried)), None)
            if load is None:
                break
            tried.append(load)
            lookup = apart(rest, load, self._fresh)
            if lookup is None:
                continue
            self.placements = completed((lookup.rest,), dict(self.placements), [lookup.target], self.grid)
            try:
                found = self._chooser().found(lookup, known)
                left = self._chooser().best(lookup.rest, known)
            except NotDistributed:
                continue
            if found.price + left.price < whole.price:
                plan = [*before, (lookup.stage, found), (lookup.rest, left)]
        return plan

    def _run(self, stage: Stage, choice: Choice, block: _Block) -> None:
        self._prepare(choice.local, block)
        if choice.partial is not None:
            assert choice.combine is not None
            op = choice.combine.op
            zero = 0 if op == OWN else neutral(op, choice.partial.buffer.dtype)
            assert zero is not None
            block.pending.append(filled(choice.partial, const(zero, choice.partial.buffer.dtype)))
        block.pending.append(choice.local.stmt)
        block.stored |= {s.buffer for s in stage.stores} - stage.private
        if choice.combine is not None:
            self._flush(block)
            block.steps.append(choice.combine)
            self._forget(block, {choice.partial.of} if choice.partial is not None else set())

    def _prepare(self, local: Local, block: _Block) -> None:
        """Exchange what a stage needs, before the stages that wait where these do not store to it."""
        for buffer, view in local.needs:
            self._exchange(buffer, view, block)

    def _exchange(self, buffer: Buffer, view: View, block: _Block) -> None:
        """Have a view: once for all iterations of loops around, where these do not change it."""
        free = variables_in(view)
        while block.parent is not None and buffer not in block.written and block.var not in free:
            block = block.parent
        target = self._named(buffer, view)
        have = block
        while have is not None:
            if buffer not in have.stored and (buffer, view) in have.views:
                return
            if buffer in have.stored or (have.parent is not None and buffer in have.written):
                break
            have = have.parent
        if buffer in block.stored:
            self._flush(block)
        block.views[buffer, view] = target
        block.steps.append(Exchange(self._own(buffer), self.placements[buffer], view, target))

    def _flush(self, block: _Block) -> None:
        """Make one program of the stages that wait."""
        if block.pending:
            block.steps.append(Run(self._program(seq(*block.pending))))
        self._forget(block, block.stored)
        block.pending, block.stored = [], set()

    def _forget(self, block: _Block, stored: set[Buffer]) -> None:
        block.views = {k: v for k, v in block.views.items() if k[0] not in stored}

    def _chooser(self) -> Chooser:
        return Chooser(self.reading, self.placements, self.target, self.policy, self._named, self._fresh)

    # Loops.

    def _loop(self, node: Steps, block: _Block, known: isl.Set) -> None:
        outside = self.reading
        written = written_in(node.body)
        extent = span(node.loop.extent, known)
        count = extent.high if extent is not None else self.target.default_extent
        self.reading = replace(outside, around=(*outside.around, (node.loop.var, count, frozenset(written))))
        self._repeated(node, written, block, known)
        self.reading = outside

    def _repeated(self, node: Steps, written: set[Buffer], block: _Block, known: isl.Set) -> None:
        loop = node.loop
        known = pb.within_loops(known, [loop])
        inner = _Block(block, loop.var, written)
        alone = self._alone(node, written, known)
        if alone is not None:
            for buffer, view in alone.needs:
                self._exchange(buffer, view, block)
            block.pending.append(alone.stmt)
            block.stored |= written
            return
        self._flush(block)
        self._nodes(node.body, inner, known)
        self._flush(inner)
        carried = tuple(self._own(b) for b in sorted(written, key=lambda b: b.name))
        if not carried:
            return  # all that it stores to is forgotten at the end of an iteration
        block.steps.append(Repeat(loop.var, loop.start, loop.extent, tuple(inner.steps), carried))
        self._forget(block, written)

    def _alone(self, node: Steps, written: set[Buffer], known: isl.Set) -> Local | None:
        """A loop in which devices need nothing of each other that it changes, as a stage."""
        if any(any(self.placements[load.buffer]) for e in (node.loop.start, node.loop.extent) for load in loads(e)):
            return None  # what a device has of it is not what says how often
        stmts: list[Stmt] = []
        needs: list[tuple[Buffer, View]] = []
        for inner in node.body:
            if isinstance(inner, Steps):
                domain = pb.loop_domain(inner.loop.var, inner.loop.start, inner.loop.extent).may
                local = self._alone(inner, written, known.intersect(domain))
            elif self._spread_recurrence(inner) is not None:
                local = None
            else:
                plan = self._plan(inner, known)
                local = plan[0][1].local if len(plan) == 1 and plan[0][1].combine is None else None
            if local is None:
                return None
            free = {v for _, view in local.needs for v in variables_in(view)}
            if free & variables_of((node,)) or any(b in written for b, _ in local.needs):
                return None
            stmts.append(local.stmt)
            needs += local.needs
        return Local(replace(node.loop, body=seq(*stmts)), needs)

    # Recurrences.

    def _spread_recurrence(self, stage: Stage) -> tuple[For, int, Cut] | None:
        """The loop of a recurrence along a cut dimension, and that dimension."""
        loop = stage.recurrence
        if loop is None:
            return None
        (store,) = stage.stores
        for d, (index, cut) in enumerate(zip(store.indices, self.placements[store.buffer], strict=True)):
            if cut is not None and along(index, cut, stage, [loop], self.steady) is not None:
                return loop, d, cut
        return None

    def _recurrence(self, stage: Stage, loop: For, dim: int, cut: Cut, block: _Block, known: isl.Set) -> None:
        """A recurrence that each device goes along by itself, and then from device to device."""
        step = going(stage, loop, dim)
        if step is None or not self.policy.may(PARTIAL, step.store.buffer.dtype):
            raise NotDistributed(f"loop {loop.var.name} goes on from element to element of a cut dimension")
        buffer = step.store.buffer
        values = replace(buffer, name=self._fresh(f"{buffer.name}_terms"))
        factors = None if step.factor is None else replace(buffer, name=self._fresh(f"{buffer.name}_factors"))
        made = [b for b in (values, factors) if b is not None]
        self.placements = {**self.placements, **dict.fromkeys(made, self.placements[buffer])}
        for new in step.elements(values, factors, self._fresh):
            self._stage(new, block, known)
        mine, *others = map(self._own, made)
        block.pending.append(gone_along(mine, others[0] if others else None, dim, step.op, self._fresh))
        self._flush(block)
        block.steps.append(Carry(mine, dim, cut.axes, step.op, others[0] if others else None))
        self._stage(step.kept(values), block, known)

    # Programs of a device.

    def _program(self, body: Stmt) -> PrimFunc:
        """A program over what it accesses."""
        buffers = {e.buffer: None for e in all_exprs(body) if isinstance(e, Load)}
        buffers |= dict.fromkeys(sorted(buffers_written(body), key=lambda b: b.name))
        inner = {s.buffer for s in walk(body) if isinstance(s, Alloc)}
        bound = {s.var for s in walk(body) if isinstance(s, For)}
        used = free_vars(*all_exprs(body)) - bound
        scalars = [v for v in sorted(self.steady, key=lambda v: v.name) if v in used]
        spans = [n.loop for n in _loops_of(self.nodes) if n.loop.var in scalars]
        claims = [*self.grid.claims(used), *map(_claim, spans)]
        params = (*sorted(buffers.keys() - inner, key=lambda b: b.name), *scalars)
        name = self._fresh(f"{self.func.name}_part")
        return PrimFunc(name, params, seq(*claims, body))

    def _own(self, buffer: Buffer) -> Buffer:
        return self._named(buffer, own(self.placements[buffer]))

    def _named(self, buffer: Buffer, view: View) -> Buffer:
        key = (buffer, view)
        if key not in self.names:
            shape = view_shape(buffer, view)
            plain = view == own(self.placements[buffer])
            words = "_".join(dict.fromkeys(names_of(view)))
            name = buffer.name if plain else self._fresh(f"{buffer.name}_{words}")
            self.names[key] = replace(buffer, name=name, shape=shape, scope="global")
        return self.names[key]

    def _fresh(self, name: str) -> str:
        return fresh(name, self.taken)


def _claim(loop: For) -> Stmt:
    """What holds of the variable of a loop."""
    stop = tidied(Binary("add", loop.start, loop.extent))
    return Assume(Binary("and", Binary("ge", loop.var, loop.start), Binary("lt", loop.var, stop)))


def _loops_of(nodes: Sequence[Node]) -> Iterator[Steps]:
    for node in nodes:
        if isinstance(node, Steps):
            yield node
            yield from _loops_of(node.body)
