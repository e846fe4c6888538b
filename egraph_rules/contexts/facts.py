"""Facts: what holds before a statement, of variables, of buffers and of data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.contexts.spoiling import same_regions
from ir.analysis import contents as held
from ir.analysis.contents import Contents
from ir.fold import folded
from ir.nodes import Buffer, Const, Expr, For, Load, Stmt, Var
from ir.presburger import sets as pb
from ir.presburger.polynomials import degree
from ir.traverse import accessed, buffers_read, free_vars, loads

IMPOSSIBLE = -1  # the id of facts that contradict each other: nothing runs there
NO_PERMISSION = 0  # the id of permissions that permit nothing


class Priority(Enum):
    """Who gets a location that is both known and dead."""

    FACTS = "facts"
    PERMISSIONS = "permissions"


def along(body: Stmt, var: Var) -> Iterator[int]:
    """The extents, where they are numbers, of the dimensions that a variable is the index in."""
    sizes = (n for b, indices in accessed(body) for i, n in zip(indices, b.shape, strict=True) if i == var)
    return (int(n.value) for n in sizes if isinstance(n, Const))


class Trip(Struct, frozen=True):
    """A loop as far as numbers say it: its variable, where it starts, how often it runs; None where not a number.

    `most` is how often one runs at most whose extent is none, since it goes along a dimension; `degree` of how many
    sizes that extent is a product.
    """

    var: str
    start: int | None
    extent: int | None
    most: int | None = None
    degree: int = 1

    @staticmethod
    def of(loop: For) -> Trip:
        bounds = folded(loop.start), folded(loop.extent)
        first, count = (int(e.value) if isinstance(e, Const) else None for e in bounds)
        most = min(along(loop.body, loop.var), default=None) if count is None else None
        return Trip(loop.var.name, first, count, most, max(degree(bounds[1]), 1) if count is None else 1)


class Facts(Struct, frozen=True, eq=False, dict=True):
    """What holds before a statement.

    `domain`: values of variables, as a params set. `known`: contents of buffers. `conditions`: expressions that depend
    on data or are not quasi-affine, with their truth. `scope`: variables bound around here, outermost first. `trips`:
    the loops around here; they matter to cost, not to proofs. `bound` tells places inside of bindings apart.
    """

    domain: isl.Set
    known: Contents
    conditions: tuple[tuple[Expr, bool], ...]
    priority: Priority
    scope: tuple[Var, ...] = ()
    trips: tuple[Trip, ...] = ()
    assumed: tuple[tuple[Expr, bool], ...] = ()  # every condition found so far, if there is a second prover
    bound: int = 0

    @cached_property
    def _spots(self) -> dict[tuple[Expr, ...], isl.Set | None]:
        return {}

    @cached_property
    def _conditions(self) -> dict[Buffer, list[tuple[Expr, isl.Set]]]:
        return {}

    @cached_property
    def _values(self) -> dict[Buffer, list[tuple[Expr, isl.Set]]]:
        values: dict[Buffer, list[tuple[Expr, isl.Set]]] = {}
        for (buffer, value), region in self.known.items():
            if not held.is_condition(buffer, value):
                values.setdefault(buffer, []).append((value, region))
        return values

    def values_of(self, buffer: Buffer) -> Sequence[tuple[Expr, isl.Set]]:
        """What is known of the values that a buffer holds, and where."""
        return self._values.get(buffer, ())

    @cached_property
    def buffers(self) -> frozenset[Buffer]:
        """Those that something is known of."""
        return frozenset(buffer for buffer, _ in self.known)

    @cached_property
    def _along(self) -> dict[tuple[Buffer, int], bool]:
        return {}

    def differs_along(self, buffer: Buffer, axis: int) -> bool:
        """Whether what is known of a buffer is another thing at other places along an axis, or may be."""
        key = buffer, axis
        if key not in self._along:
            self._along[key] = pb.within_budget(lambda: self._differs(buffer, axis), True)
        return self._along[key]

    def _differs(self, buffer: Buffer, axis: int) -> bool:
        whole, dimension = pb.box(buffer.shape), f"${axis}"
        return any(
            any(var.name == dimension for var in free_vars(value))
            or not pb.all_along(region.intersect(whole), axis).intersect(whole).is_subset(region)
            for (about, value), region in self.known.items()
            if about == buffer
        )

    @cached_property
    def tests(self) -> list[Sequence[tuple[Expr, bool, frozenset[Expr]]]]:
        """What `elements.tests` found of conditions, once it has looked."""
        return []

    @cached_property
    def told(self) -> dict[tuple[Load, frozenset[Buffer]], tuple[Expr, ...]]:
        """What `elements.told` found of elements."""
        return {}

    def spot(self, indices: tuple[Expr, ...]) -> isl.Set | None:
        """The element that indices name, wherever they are evaluated; None where one is not quasi-affine."""
        if indices not in self._spots:
            spot = pb.point(indices)
            self._spots[indices] = None if spot is None else spot.intersect_params(self.domain)
        return self._spots[indices]

    def moved_to(self, home: Facts) -> Facts:
        """The same under the very domain of other facts, with all that has been found of it."""
        moved = replace(self, domain=home.domain)
        vars(moved)["_spots"] = home._spots
        return moved

    def conditions_on(self, buffer: Buffer) -> list[tuple[Expr, isl.Set]]:
        """What is known to hold of elements of a buffer, and of which."""
        if not self._conditions:
            for (about, value), region in self.known.items():
                if held.is_condition(about, value):
                    self._conditions.setdefault(about, []).append((value, region))
            self._conditions.setdefault(buffer, [])
        return self._conditions.get(buffer, [])

    def entering(self, loop: For) -> Facts:
        """The same in the body of a loop, for a place that knows of no second prover."""
        return replace(self, scope=(*self.scope, loop.var), trips=(*self.trips, Trip.of(loop)), assumed=())

    def untouched(self, written: Collection[Buffer]) -> Facts:
        """The same without what is known of, or by, buffers that are written."""
        known = {
            (b, v): r for (b, v), r in self.known.items() if b not in written and held.reads(v).isdisjoint(written)
        }
        conditions = tuple((c, v) for c, v in self.conditions if not reads_any(c, written))
        return replace(self, known=known, conditions=conditions)

    def same_place(self, other: Facts) -> bool:
        """Whether loops around are alike, and no binding is around either."""
        return (
            self.bound == other.bound == 0
            and self.trips == other.trips
            and len(self.scope) == len(other.scope)
            and all(map(Var.same, self.scope, other.scope))
        )

    def same(self, other: Facts) -> bool:
        """Whether the same states have them, whatever the priority. Not so within bindings: what equals a variable
        there depends on where.
        """
        return (
            self.same_place(other)
            and self.domain.plain_is_equal(other.domain)
            and _same_exprs(self.conditions, other.conditions)
            and _same_exprs(self.assumed, other.assumed)
            and same_regions(self.known, other.known)
        )


def _same_exprs(one: Sequence[tuple[Expr, bool]], other: Sequence[tuple[Expr, bool]]) -> bool:
    return len(one) == len(other) and all(v == w and a.same(b) for (a, v), (b, w) in zip(one, other, strict=True))


def matters(facts: Facts) -> set[Buffer]:
    """The buffers that something is known of, or by."""
    by = (held.reads(value) for _, value in facts.known)
    return {b for b, _ in facts.known}.union(*by, read_by(facts.conditions))


def read_by(conditions: Iterable[tuple[Expr, bool]]) -> set[Buffer]:
    """The buffers that conditions read."""
    return buffers_read(*(cond for cond, _ in conditions))


def reads_any(cond: Expr, written: Collection[Buffer]) -> bool:
    """Whether a condition reads one of some buffers."""
    return any(load.buffer in written for load in loads(cond))
