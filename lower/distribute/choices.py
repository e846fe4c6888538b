"""Which loops of a stage devices share: those along what they own, or those of a reduction, by what has to be moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import Target
from ir.floats import Floats
from ir.nodes import Binary, Buffer, For, Load, Stmt, Store, Var, const
from ir.presburger import sets as pb
from ir.traverse import all_exprs, free_vars, stmt_children
from lower.analysis.freedoms import ORDER, Form, Policy
from lower.analysis.linear_forms import linear
from lower.distribute.grid import Axes, Cut, Placement, local_shape, tidied
from lower.distribute.lookups import LOOKUP, OWN, Lookup, data_dims, looked_up
from lower.distribute.owner_computes import Along, Assignment, Local, OwnerComputes, Partial, Place, along
from lower.distribute.stages import NotDistributed, Stage
from lower.distribute.steps import Combine
from lower.distribute.views import Reading, own, volume

PARTIAL = Form(
    "mesh.partial_results",
    "a reduction over a cut dimension  =  one over each block, then one over devices",
    "a result of each device is exchanged in place of all that was combined",
    ORDER | Floats.NO_SIGNED_ZEROS,
)


class Way(Struct, frozen=True):
    """Which iterations are those of a device, and what is combined of partial results, if they are that.

    With `looked` they are those whose element of a buffer is on the device, in some dimensions.
    """

    assignment: Assignment
    partial: Partial | None = None
    combine: Combine | None = None
    looked: tuple[Load, tuple[bool, ...]] | None = None


class Choice(Struct, frozen=True):
    """A way to run a stage, and its price; a reduction may be combined of partial results."""

    local: Local
    price: float
    partial: Partial | None
    combine: Combine | None


class Chooser(Struct, frozen=True):
    """What is known where a choice is made: how stages read, where buffers lie, and how new ones are named."""

    reading: Reading
    placements: Mapping[Buffer, Placement]
    target: Target
    policy: Policy
    place: Place
    name: Callable[[str], str]

    def best(self, stage: Stage, known: isl.Set) -> Choice:
        """The way to run a stage that exchanges least."""
        return self._cheapest(stage, self._ways(stage, known), known)

    def found(self, lookup: Lookup, known: isl.Set) -> Choice:
        """The way to look up elements by those who have them."""
        (store,) = lookup.stage.stores
        assert isinstance(store.value, Load)
        owned = self._owned(lookup.stage, store)
        return self._cheapest(lookup.stage, self._by_owners(lookup.stage, store, OWN, owned, store.value), known)

    def _cheapest(self, stage: Stage, ways: Iterable[Way], known: isl.Set) -> Choice:
        best: Choice | None = None
        reasons: list[str] = []
        for way in ways:
            partial, combine = way.partial, way.combine
            writer = OwnerComputes(
                self.reading, self.placements, way.assignment, known, self.place, partial, way.looked
            )
            try:
                local = writer.local(stage)
            except NotDistributed as reason:
                reasons.append(str(reason))
                continue
            moved = sum(
                volume(b, self.placements[b], view, self.reading.grid) * self.reading.times(b, view)
                for b, view in local.needs
            )
            if partial is not None:
                passes = 1 if combine is not None and combine.is_scattered else 2
                moved += passes * prod(linear(e).const for e in partial.buffer.shape) * self.reading.iterations
            price = self.target.exchange * moved + _work(local.stmt) * self.reading.iterations
            if best is None or price < best.price:
                best = Choice(local, price, partial, combine)
        if best is None:
            raise NotDistributed(reasons[0])
        return best

    def _owned(self, stage: Stage, store: Store) -> dict[Var, Along]:
        """The loops along what a device owns of what a store writes."""
        owned: dict[Var, Along] = {}
        for index, cut, extent in zip(store.indices, self.placements[store.buffer], store.buffer.shape, strict=True):
            # A loop over a moving part of a dimension goes through all of it, under a guard, as one block does.
            moving = cut is None and any(free_vars(e) & self.reading.steady for e in linear(index).terms)
            blocks = Cut((), linear(extent).const) if moving else cut
            found = along(index, blocks, stage, stage.outer(), self.reading.steady) if blocks is not None else None
            if found is not None and found[0] not in owned:
                owned[found[0]] = found[1]
        return owned

    def _ways(self, stage: Stage, known: isl.Set) -> Iterator[Way]:
        """Which loops devices may share: those along what they own, and those of reductions."""
        stores = [s for s in stage.stores if s.buffer not in stage.private]
        if not stores:
            raise NotDistributed("a stage stores nothing")
        store = stores[0]
        owned = self._owned(stage, store)
        yield Way(owned)
        update = stage.update()
        if update is None or not self.policy.may(PARTIAL, store.buffer.dtype):
            return
        _, op, _ = update
        ways: list[tuple[Var, Along]] = []
        for load in (e for e in all_exprs(stage.body) if isinstance(e, Load)):
            for index, cut in zip(load.indices, self.placements.get(load.buffer, ()), strict=False):
                found = along(index, cut, stage, stage.summed(), self.reading.steady) if cut is not None else None
                if found is not None and self._covers(stage, *found, known):
                    ways.append(found)
        for var, mine in dict(reversed(ways)).items():
            kept = {v: m for v, m in owned.items() if v is not var and not {*m.axes} & {*mine.axes}}
            yield self._shared(stage, store, op, {**kept, var: mine}, {var: mine})
        several: dict[Var, Along] = {}
        for var, mine in ways:
            if not any({*m.axes} & {*mine.axes} for m in (*several.values(), *owned.values())) and var not in owned:
                several.setdefault(var, mine)
        if len(several) > 1:
            yield self._shared(stage, store, op, {**owned, **several}, several)
        if stage.summed() and self.policy.takes(LOOKUP):
            for load in looked_up(stage, self.placements, known):
                yield from self._by_owners(stage, store, op, owned, load)

    def _by_owners(self, stage: Stage, store: Store, op: str, owned: Assignment, load: Load) -> Iterator[Way]:
        """Ways in which who has what a load is of, where data say the place or in all dimensions, runs an iteration."""
        placement = self.placements[load.buffer]
        for dims in dict.fromkeys((data_dims(load, placement), tuple(cut is not None for cut in placement))):
            axes = tuple(a for asked, cut in zip(dims, placement, strict=True) if asked and cut for a in cut.axes)
            kept = {v: m for v, m in owned.items() if not {*m.axes} & {*axes}}
            yield replace(self._partially(stage, store, op, kept, axes), looked=(load, dims))

    def _shared(self, stage: Stage, store: Store, op: str, assignment: Assignment, shared: Mapping[Var, Along]) -> Way:
        """A reduction of which devices share some loops."""
        axes = tuple(axis for m in shared.values() for axis in m.axes)
        return self._partially(stage, store, op, assignment, axes)

    def _partially(self, stage: Stage, store: Store, op: str, assignment: Assignment, axes: Axes) -> Way:
        """A stage of which each device has a partial result of its own."""
        placement = self.placements[store.buffer]
        whole = tuple(None if cut is not None and {*cut.axes} & {*axes} else cut for cut in placement)
        scattered = tuple(
            (d, cut.axes) for d, (cut, w) in enumerate(zip(placement, whole, strict=True)) if cut is not None and not w
        )
        padded = tuple(
            const(cut.block * self.reading.grid.count(cut.axes), extent.dtype)
            if cut is not None and w is None
            else extent
            for extent, cut, w in zip(store.buffer.shape, placement, whole, strict=True)
        )
        shape = local_shape(replace(store.buffer, shape=padded), whole)
        buffer = Buffer(self.name(f"{store.buffer.name}_part"), shape, store.buffer.dtype)
        partial = Partial(store.buffer, buffer, whole)
        combine = Combine(op, self.place(store.buffer, own(placement)), buffer, axes, scattered)
        return Way(assignment, partial, combine)

    def _covers(self, stage: Stage, var: Var, mine: Along, known: isl.Set) -> bool:
        """Whether the iterations that devices share are all that a loop has."""
        total = const(mine.step * self.reading.grid.count(mine.axes), var.dtype)
        place = tidied(Binary("sub", var, mine.shift))
        known = pb.within_loops(known, stage.loops)
        inside = Binary("and", Binary("ge", place, const(0, var.dtype)), Binary("lt", place, total))
        return pb.within_budget(lambda: known.is_subset(pb.condition(inside).must), False)


def _work(stmt: Stmt) -> float:
    """How many times a stage's innermost statements run on a device."""
    match stmt:
        case For(extent=extent, body=body):
            return linear(extent).const * _work(body)
        case Store():
            return 1
        case _:
            return sum(map(_work, stmt_children(stmt)))
