"""A part of a buffer, with what is said of it or left in it: nests of assumptions, and of stores."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl
from msgspec import Struct

from ir.analysis import contents as held
from ir.analysis.contents import Value
from ir.nodes import FALSE, SKIP, TRUE, Assume, Binary, Buffer, Const, Expr, For, If, Load, Stmt, Store, Undef, Var
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.program.edit import nest
from ir.transform.storage.padding import grid, own_names


class Part(Struct, frozen=True):
    """A region of a buffer: loops over the whole buffer, and the conditions to be in the region or not."""

    buffer: Buffer
    region: isl.Set
    loops: tuple[For, ...]
    inside: Expr
    outside: Expr

    @staticmethod
    def of(
        buffer: Buffer, region: isl.Set, known: isl.Set, scalars: Iterable[Var], taken: Iterable[str]
    ) -> Part | None:
        """The part that a region is, where `known` holds of the scalars; None if it depends on other names.

        Loops get names that are not `taken`. It may take many steps of isl: see `sets.within_budget`.
        """
        names = own_names(buffer)
        loops, indices = grid(buffer, names, set(taken))
        for loop in loops:
            known = known.intersect(pb.loop_domain(loop.var, loop.start, loop.extent).must)
        spot = pb.point(indices)
        assert spot is not None
        here = spot.intersect(region).params().intersect(known).coalesce()
        scope: dict[str, Expr] = {v.name: v for v in (*scalars, *(x.var for x in loops))}
        if pb.variables(here) - scope.keys():
            return None
        if known.is_subset(here):
            return Part(buffer, region, tuple(loops), TRUE, FALSE)
        inside, outside = (readback.condition(s, scope, known) for s in (here, known.subtract(here)))
        return Part(buffer, region, tuple(loops), inside, outside)

    @property
    def indices(self) -> tuple[Var, ...]:
        """The places in the buffer."""
        return tuple(loop.var for loop in self.loops)

    @property
    def is_some(self) -> bool:
        """Whether it is neither all of the buffer nor nothing of it."""
        return not (self.inside.same(TRUE) or self.inside.same(FALSE))

    def read_as(self, value: Value) -> Stmt:
        """The assumption that it holds a value, or that a condition holds of its elements; of undef, that it may be
        read. It says nothing where the value names places in another dtype."""
        here = held.at(value, self.indices)
        if here is None:
            return SKIP
        claim = here if held.is_condition(self.buffer, value) else Binary("eq", Load(self.buffer, self.indices), here)
        return nest(list(self.loops), Assume(claim if self.outside.same(FALSE) else Binary("or", self.outside, claim)))

    def written_as(self, value: Const | Undef) -> Stmt:
        """What leaves a value in it; of undef, anything."""
        store = Store(self.buffer, self.indices, value)
        return nest(list(self.loops), store if self.inside.same(TRUE) else If(self.inside, store, SKIP))
