"""A consumer computed where its input is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.legality import Event, check_order, domain_of, events
from ir.analysis.stages import (
    Meeting,
    conflict,
    element,
    name_of,
    outside,
    refuse_races,
    tally,
    values_at,
    with_allocations_first,
    without_tails,
)
from ir.errors import ScheduleError, Span
from ir.nodes import SKIP, TRUE, Block, Buffer, Expr, For, If, Load, PrimFunc, Seq, Stmt, Store, Var, seq
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.printing.printer import to_script
from ir.program.edit import Changed, beside, block_path, forget_regions, path_to, refuse, replace_at, scope_of
from ir.transform.stages.solving import Inverse, bounded, event_of, refuse_undef, single_store
from ir.traverse import (
    all_exprs,
    children,
    has_loads,
    map_stmt,
    stmt_exprs,
    stores_in,
    substitute_expr,
    walk_expr,
    with_children,
)


def reverse_compute_inline(func: PrimFunc, block: str) -> Changed:
    """Compute an elementwise consumer where its input is stored, and drop the consumer's nest and the buffer.

    Where the producer computes more than the consumer reads, the store gets a guard.

    Raises:
        ScheduleError: the block is not one store, loads the buffer at several or not invertible indices, has a
            predicate or reduces; its input is not local, read by others, or not one plain store; it is not covered by
            the producer, or only without the producer's predicate; the new order would change what is computed.
    """
    return bounded(func, block, _fused)


def _fused(func: PrimFunc, block: str) -> Changed:
    """`func` with a consumer at the store of its input, and without the buffer between them."""
    func = replace(func, body=with_allocations_first(func.body))
    path = block_path(func, block)
    path = (*path[:-1], *single_store(path[-1], block))
    problem: ScheduleError | None = None
    for buffer in _inputs(func, block_path(func, block)[-1], block):
        try:
            return _Fusion.of(func, block, path, buffer).build()
        except ScheduleError as error:
            problem = error if problem is None else problem
    assert problem is not None
    raise problem


def _inputs(func: PrimFunc, stage: Stmt, block: str) -> list[Buffer]:
    """Local buffers that a consumer loads, the one written last first."""
    loaded = {e.buffer for e in all_exprs(stage) if isinstance(e, Load)}
    written = [s.buffer for s in stores_in(func.body)]
    if not loaded.intersection(written):
        message = f"`{block}` loads nothing that another block computes"
        refuse("no-producer", message, stage.span, help="name a block that reads a local buffer")
    local = [b for b in loaded.intersection(written) if b not in func.buffers]
    if not local:
        names = ", ".join(sorted(b.name for b in loaded.intersection(written)))
        message = f"`{block}` reads {names}, which is a parameter, so its elements must be stored"
        refuse("not-local", message, stage.span, help="only a local buffer can disappear")
    return sorted(local, key=lambda b: -max(k for k, w in enumerate(written) if w == b))


class _Fusion(Struct, frozen=True, eq=False):
    """A consumer to be computed where its input `buffer` is stored."""

    func: PrimFunc
    block: str
    buffer: Buffer
    meeting: Meeting
    consumer: Event
    producer: Event
    target: Store

    @staticmethod
    def of(func: PrimFunc, block: str, path: tuple[Stmt, ...], buffer: Buffer) -> _Fusion:
        target = _producer_store(func, buffer)
        reader = next(_other_readers(func.body, path, buffer), None)
        if reader is not None:
            message = f"{buffer.name} is also read by {name_of(reader)}"
            refuse("other-readers", message, reader.span, help=f"`{block}` must be its only consumer")
        there = path_to(func.body, lambda s: s is target)
        assert there is not None
        meeting = Meeting.of(func, path, there)
        if meeting is None or meeting.positions[0] < meeting.positions[1]:
            message = f"`{block}` does not follow the producer of {buffer.name} in one sequence"
            refuse("order", message, path[-1].span, help="the consumer must come after its producer")
        consumer = event_of(meeting.left)
        data = next((g for g in consumer.guards if has_loads(g)), None)
        if data is not None:
            message = f"`{block}` runs under a predicate that depends on data"
            refuse("consumer-predicate", message, path[-1].span, notes=[f"it is `{to_script(data)}`"],
                   help="use reverse_compute_at")  # fmt: skip
        if len(events(meeting.left[0])) != 1:
            message = f"the nest of `{block}` does more than its store"
            refuse("shared-nest", message, meeting.left[0].span, help="give it a nest of its own")
        return _Fusion(func, block, buffer, meeting, consumer, event_of(meeting.right), target)

    @property
    def here(self) -> tuple[Stmt, ...]:
        """From the producer's nest to its store."""
        return self.meeting.right

    def build(self) -> Changed:
        inverse = self._inverse()
        produced = self._produced()
        self._check_coverage(inverse, produced)
        loops, written = self._values(inverse, produced)
        wanted = self._wanted(inverse, produced)
        store = self.consumer.store
        assert store is not None
        scope = scope_of(self.func, (*self.meeting.shared, *self.here))
        facts = produced.domain
        cond = TRUE if facts.is_subset(wanted) else readback.condition(wanted, scope, facts)
        plain = self._store(store, loops)
        self._check_order(plain if cond.same(TRUE) else If(cond, plain, SKIP), loops)
        final = _forwarded(self._store(store, written), self.buffer, self.target.value)
        nest = map_stmt(_put(self.here, final, cond), on_stmt=self._without_notes)
        used = tally(self.meeting.left[0])
        store_path = path_to(nest, lambda s: isinstance(s, Store) and s.buffer == store.buffer)
        assert store_path is not None
        refuse_races(store_path, {*used.loads, *used.stores}, self.meeting.known, self.block)
        return Changed(self.meeting.replaced(SKIP, nest, [self.buffer]))

    @property
    def _span(self) -> Span | None:
        assert self.consumer.store is not None
        return self.consumer.store.span

    def _without_notes(self, stmt: Stmt) -> Stmt:
        return forget_regions(stmt, {self.buffer.name}) if isinstance(stmt, Block) else stmt

    def _inverse(self) -> Inverse:
        """The consumer's loops in terms of the element that it reads."""
        reads = list(dict.fromkeys(x for x in self.consumer.reads if x.buffer == self.buffer))
        if any(not a.same(b) for x in reads[1:] for a, b in zip(reads[0].indices, x.indices, strict=True)):
            message = f"`{self.block}` reads {self.buffer.name} at several places: {_shown(reads)}"
            refuse("several-indices", message, self._span, help="it must read one element in each iteration")
        known = self.meeting.known
        free = domain_of(self.consumer, {}, self.consumer.guards)
        whole = domain_of(self.consumer, {})
        if self.consumer.guards and not (whole.exact and free.may.intersect(known).is_subset(whole.must)):
            message = f"`{self.block}` runs under a predicate"
            note = "it skips iterations of its loops"
            refuse(
                "consumer-predicate",
                message,
                self._span,
                notes=[note],
                help="remove it, or use reverse_compute_at",
            )
        found = Inverse.of(self.consumer, reads[0].indices, 0, known)
        if found is None:
            message = f"`{self.block}` does not read {self.buffer.name} at affine indices"
            refuse("not-bijective", message, self._span, help="only affine indices can be inverted")
        for var in found.inner:
            if not found.determines(var):
                message = f"the index of {self.buffer.name} in `{self.block}` does not determine {var.name}"
                refuse("not-bijective", message, self._span, notes=[_shown(reads)],
                       help="each iteration must read an element of its own")  # fmt: skip
        return found

    def _produced(self) -> Inverse:
        assert self.producer.store is not None
        found = Inverse.of(self.producer, self.producer.store.indices, 0, self.meeting.known)
        if found is None:
            data = next((g for g in self.producer.guards if not pb.condition(g).exact), None)
            message = f"`{self.producer.text}` does not store to affine indices in affine loops"
            if data is not None:
                message = f"`{self.producer.text}` runs under a condition on data"
            refuse("not-bijective" if data is None else "producer-predicate", message, self.target.span,
                   help="use reverse_compute_at instead")  # fmt: skip
        twice = next((v for v in found.inner if not found.determines(v)), None)
        if twice is not None:
            message = f"`{self.producer.text}` stores an element in several iterations of {twice.name}"
            refuse("not-bijective", message, self.target.span, help="each element must be stored once")
        return found

    def _check_coverage(self, inverse: Inverse, produced: Inverse) -> None:
        missing = inverse.image.subtract(produced.image)
        if missing.is_empty():
            return
        free = domain_of(self.producer, {}, self.producer.guards)
        loose = free.may.intersect(self.meeting.known)
        for index, coordinate in zip(produced.indices, produced.coordinates, strict=True):
            value = pb.affine(index)
            assert value is not None
            loose = loose.intersect(value.eq_set(pb.symbol(coordinate.name)))
        outside_loops = inverse.image.subtract(pb.forget(loose, [v.name for v in produced.inner]))
        covered = outside_loops.is_empty()
        found = pb.sample(missing if covered else outside_loops)
        assert found is not None
        spot = element(self.buffer, [found[0].get(v.name, 0) for v in inverse.coordinates])
        if sizes := values_at(found[0], (n for n in found[0] if "'" not in n)):
            spot += f" with {sizes}"
        if covered:
            message = f"the producer of {self.buffer.name} has a predicate that `{self.block}` does not imply"
            refuse("producer-predicate", message, self.target.span,
                   notes=[f"`{self.block}` reads {spot}, which the predicate excludes"],
                   help="only a predicate that holds for all that is read can stay")  # fmt: skip
        message = f"`{self.block}` reads elements of {self.buffer.name} that its producer does not compute"
        refuse("not-covered", message, self.target.span, notes=[f"for example {spot}"],
               help="let the producer compute all that is read")  # fmt: skip

    def _values(self, inverse: Inverse, produced: Inverse) -> tuple[dict[Var, Expr], dict[Var, Expr]]:
        """The consumer's loop variables at the producer's store: in terms of its loops, and as they are written."""
        scope = scope_of(self.func, (*self.meeting.shared, *self.here))
        loops: dict[Var, Expr] = {}
        written: dict[Var, Expr] = {}
        for var in inverse.inner:
            mine = inverse.written(var, produced.indices, scope)
            shown = inverse.written(var, self.target.indices, scope)
            assert mine is not None and shown is not None
            loops[var], written[var] = mine, shown
        return loops, written

    @staticmethod
    def _wanted(inverse: Inverse, produced: Inverse) -> isl.Set:
        """Iterations of the producer whose element the consumer reads, as a params set."""
        both = produced.graph.intersect(inverse.image)
        return pb.forget(both, [v.name for v in produced.coordinates]).coalesce()

    @staticmethod
    def _store(store: Store, values: Mapping[Var, Expr]) -> Store:
        indices = tuple(substitute_expr(i, values) for i in store.indices)
        return replace(store, indices=indices, value=substitute_expr(store.value, values))

    def _check_order(self, moved: Stmt, back: Mapping[Var, Expr]) -> None:
        """Refuse where the consumer's stores would change places with something else."""
        stage = self.meeting.left[0]
        own = {loop.var.name for loop in self.here if isinstance(loop, For)}
        passed = list(self.meeting.between)
        for parent, child in pairwise(self.here):
            if isinstance(parent, Seq):
                passed += beside(parent, child)[1]
        for other in passed:
            found = conflict(other, stage, pb.forget(self.meeting.known, own))
            if found is not None:
                message = f"`{self.block}` would run before {name_of(other)}, which it depends on"
                refuse("order", message, stage.span, notes=[f"both touch {found[1]}"], help="use reverse_compute_at")
        alone = without_tails(self.here)
        new = replace_at(alone, seq(self.target, moved))
        violation = check_order(seq(alone[0], stage), new, back, self.meeting.known)
        if violation is not None:
            refuse("order", violation.message, stage.span, notes=violation.notes, help="use reverse_compute_at")


def _producer_store(func: PrimFunc, buffer: Buffer) -> Store:
    """The only store to a buffer, whose value can be forwarded."""
    stores = [s for s in stores_in(func.body) if s.buffer == buffer]
    reduces = any(isinstance(e, Load) and e.buffer == buffer for e in walk_expr(stores[0].value))
    if len(stores) != 1 or reduces:
        message = f"{buffer.name} is not produced by one plain store: it is a reduction, or written several times"
        refuse("reduction-producer", message, stores[0].span, help="use reverse_compute_at for such producers")
    refuse_undef(stores[0])
    return stores[0]


def _other_readers(body: Stmt, path: tuple[Stmt, ...], buffer: Buffer) -> Iterator[Stmt]:
    def loads(stmt: Stmt) -> bool:
        return any(isinstance(e, Load) and e.buffer == buffer for x in stmt_exprs(stmt) for e in walk_expr(x))

    return outside(body, [path[-1]], loads)


def _shown(reads: Sequence[Load]) -> str:
    return " and ".join(f"`{to_script(x)}`" for x in reads)


def _forwarded(store: Store, buffer: Buffer, value: Expr) -> Store:
    def go(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == buffer:
            return value
        return with_children(expr, tuple(go(c) for c in children(expr)))

    return replace(store, indices=tuple(map(go, store.indices)), value=go(store.value))


def _put(path: tuple[Stmt, ...], store: Store, cond: Expr) -> Stmt:
    """The nest with its last statement replaced by a store under a condition: the predicate of a block with axes."""
    if cond.same(TRUE):
        return replace_at(path, store)
    parent = path[-2] if len(path) > 1 else None
    if isinstance(parent, Block) and parent.axes and parent.init is None:
        both = cond if parent.predicate.same(TRUE) else parent.predicate & cond
        return replace_at(path[:-1], replace(parent, predicate=both, body=store))
    return replace_at(path, If(cond, store, SKIP))
