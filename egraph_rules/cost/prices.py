"""What expressions and statements cost on a target: one measure for extraction and for programs as they stand.

Costs are those of a whole run and add up: work counts as often as the loops around it run, a store has the price of a
kernel once. What is erased after the search costs nothing: assumptions, stores of undef, and what only holds such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from msgspec import Struct

from egraph_rules.contexts.facts import Trip
from egraph_rules.cost.target import DIVISION, Target, call_cost, instruction_cost, operator_cost
from ir.fold import folded
from ir.instructions import instance_sizes, instruction_of, sizes_of
from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Buffer,
    Call,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    LoopKind,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    const,
)
from ir.presburger.polynomials import degree, polynomial
from ir.program.blocks import lower_blocks
from ir.traverse import children, free_vars, loads, stmt_children, substitute, walk_expr

NAME_COST = 0.005  # a name is preferred to its known value: `B[io, ii]` stays a view where io is known
LITERAL_COST = 0.01

Trips = tuple[Trip, ...]
Axis = tuple[Expr, Expr]  # an index, and the extent of its axis


class Prices(Struct, frozen=True):
    """The prices of a target, applied; with `registers`, sums are kept in such while loops add to one place."""

    target: Target
    registers: bool = False

    def program(self, stmt: Stmt) -> float:
        """Cost of a program."""
        return self._statement(stmt, ())[0]

    def _statement(self, stmt: Stmt, trips: Trips) -> tuple[float, bool]:
        """Cost of a statement inside of loops, and whether it accumulates."""
        t = self.target
        match stmt:
            case Store(indices=indices, value=value):
                places = sum(map(self.expr, indices))
                return self.store(trips, stmt, places, self.expr(value)), accumulates(stmt)
            case If(cond=cond, then=yes, other=no):
                (a, x), (b, y) = self._statement(yes, trips), self._statement(no, trips)
                return self.branch(trips, self.expr(cond), a + b, masked=x or y), x or y
            case For(body=body) as loop:
                cost, masked = self._statement(body, (*trips, Trip.of(loop)))
                return self.loop(loop.kind, cost), masked
            case Let(value=value, body=body):
                cost, masked = self._statement(body, trips)
                return (self.binding(trips, self.expr(value)) + cost if cost else 0.0), masked
            case Alloc(body=body):
                cost, masked = self._statement(body, trips)
                return t.kernel + cost, masked
            case Block() if (instruction := instruction_of(stmt)) is not None:
                return self.instance(trips, instruction, instance_sizes(stmt)), False
            case _:
                parts = [self._statement(s, trips) for s in stmt_children(stmt)]
                return sum(c for c, _ in parts), any(m for _, m in parts)

    def loop(self, kind: LoopKind, body: float) -> float:
        """Cost of a loop: none for itself if it is written out, which a price as a whole has to confirm."""
        return self.target.loop + body if body and kind != "unroll" else body

    def instance(self, trips: Trips, instruction: PrimFunc, sizes: Mapping[str, float]) -> float:
        """Cost of computing an instruction on arrays of some sizes: what the target or its author says, or that of its
        body."""
        t = self.target
        cost = instruction_cost(t, instruction, sizes)
        if cost is None:
            known = {v: const(int(sizes[v.name]), v.dtype) for v in sizes_of(instruction) if v.name in sizes}
            return self._statement(substitute(lower_blocks(instruction).body, known), trips)[0]
        return t.kernel + self.weight(trips) * cost

    def binding(self, trips: Trips, value: float) -> float:
        """Cost of giving a name to a value that costs that much each time."""
        return self.weight(trips) * (self.target.binding + value)

    def store(self, trips: Trips, store: Store, places: float, value: float) -> float:
        """Cost of a store whose indices and value cost that much each time."""
        if isinstance(store.value, Undef):
            return 0.0
        t = self.target
        part = 0.0
        if _overshoots(store, trips):  # which becomes a store by arrays of indices
            part = t.scatter * t.store * self.weight(trips)
        elif accumulates(store):
            if t.reduction_slice and _in_part(_summed_over(store), trips):
                part = t.reduction_slice * self.weight(trips)
        elif t.store_slice and _in_part(zip(store.indices, store.buffer.shape, strict=True), trips):
            part = t.store_slice * max(self.weight(trips), self.elements(store.buffer))
        cost = t.kernel + self.weight(trips) * (t.store + t.index * places + value) + part
        if self.registers and accumulates(store):
            named = {v.name for v in free_vars(*store.indices)}
            once = self.weight(tuple(trip for trip in trips if trip.var in named))
            cost -= (self.weight(trips) - once) * (t.store + t.load + t.index * places)
        return cost

    def elements(self, buffer: Buffer) -> float:
        """How many elements a buffer has."""
        usual = self.target.default_extent
        sizes = (d.value if isinstance(d, Const) else usual ** max(degree(d), 1) for d in map(folded, buffer.shape))
        return float(prod(int(n) for n in sizes))

    def branch(self, trips: Trips, cond: float, arms: float, *, masked: bool) -> float:
        """Vector code evaluates both branches and masks; a masked accumulation is worse than a masked store."""
        t = self.target
        mask = t.reduction_mask if masked else t.mask
        return self.weight(trips) * (cond + mask) + t.guarded * arms if arms else 0.0

    def weight(self, trips: Trips) -> float:
        """How often a place inside of loops runs."""
        usual = self.target.default_extent

        def expected(trip: Trip) -> int:
            if trip.extent is not None:
                return trip.extent
            return usual**trip.degree if trip.most is None else min(usual**trip.degree, trip.most)

        return float(prod(max(expected(t), 0) for t in trips))

    def expr(self, expr: Expr, costs: dict[int, float] | None = None) -> float:
        """Cost of an expression as it stands; `costs` has those of others by identity, and gets those of its parts."""
        if isinstance(expr, Const):
            return LITERAL_COST
        parts = children(expr)
        if not parts and not isinstance(expr, Load):
            return NAME_COST
        found = None if costs is None else costs.get(id(expr))
        if found is None:
            found = sum([self.expr(part, costs) for part in parts])
            if isinstance(expr, Load):
                found = self.target.load + self.target.index * found
            else:
                found += self.operator(expr)
            if costs is not None:
                costs[id(expr)] = found
        return found

    def operator(self, expr: Expr) -> float:
        """Cost of an operation, operands not counted."""
        match expr:
            case Binary(op=op, rhs=Const(value=int() as n)) if op in DIVISION and n > 0 and n & (n - 1) == 0:
                return self.target.shift
            case Binary(op=op) | Unary(op=op):
                return operator_cost(self.target, op)
            case Call(function=function):
                return call_cost(self.target, function)
            case Select():
                return self.target.select
            case _:
                return self.target.arith


def accumulates(store: Store) -> bool:
    """Whether a store updates an element from its old value."""
    return any(load.buffer == store.buffer and load.indices == store.indices for load in loads(store.value))


def _overshoots(store: Store, trips: Trips) -> bool:
    """Whether the places of a store are joined from several loops that together go beyond the buffer.

    A guard then leaves out a part of the last round, as for `B[7 * i + j]` where 7 does not divide the size.
    """
    loops = {t.var: t for t in trips}
    for index, size in zip(store.indices, map(folded, store.buffer.shape), strict=True):
        form = _multiples(index)
        if form is None or len(form) < 2 or not isinstance(size, Const):
            continue
        ends = [_ends(factor, loops.get(name)) for name, factor in form.items() if name]
        low, high = (form.get("", 0) + sum(end[k] for end in ends if end is not None) for k in (0, 1))
        if len(ends) > 1 and all(ends) and (low < 0 or high >= int(size.value)):
            return True
    return False


def _ends(factor: int, trip: Trip | None) -> tuple[int, int] | None:
    """The least and the largest multiple of a loop's variable by a factor; None where they are not known."""
    if trip is None or trip.start is None or not trip.extent:
        return None
    first, last = factor * trip.start, factor * (trip.start + trip.extent - 1)
    return min(first, last), max(first, last)


def _multiples(expr: Expr) -> dict[str, int] | None:
    """The factors of variables in a sum of multiples, by name, and what is added besides, by no name."""
    found: dict[str, int] = {}
    for term, factor in polynomial(expr).items():
        match term:
            case ():
                found[""] = factor
            case (Var(name=name),):
                found[name] = factor
            case _:
                return None
    return found


def _summed_over(store: Store) -> Iterator[Axis]:
    """The axes of accesses that tell whether an accumulation is vector code: last ones, those that are summed over, and
    those along which elements are taken in another order.

    Rows of an array that is cut further out lie as they did.
    """
    kept = free_vars(*store.indices)
    for e in (store, *loads(store.value)):
        for n, (index, extent) in enumerate(zip(e.indices, e.buffer.shape, strict=True), 1):
            if n == len(e.indices) or not free_vars(index) <= kept or _divides(index):
                yield index, extent


def _divides(index: Expr) -> bool:
    return any(isinstance(e, Binary) and e.op in ("floordiv", "floormod") for e in walk_expr(index))


def _in_part(axes: Iterable[Axis], trips: Trips) -> bool:
    """Whether indices go along a part of an axis or in another order, so that what is meant is no whole array."""
    loops = {t.var: t for t in trips}
    for index, extent in axes:
        if _divides(index):
            return True
        trip = loops.get(index.name) if isinstance(index, Var) else None
        if trip is not None and isinstance(extent, Const) and (trip.start, trip.extent) != (0, extent.value):
            return True
    return False
