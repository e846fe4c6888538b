"""A stage as each device runs it: loops over the block that it owns, indices counted from where its parts start.

The owner of an element computes it (Callahan and Kennedy 1988). A loop along a cut dimension runs through the block of
a device, so that all it stores is its own; where no loop goes along, a guard asks whose element it is. Loops that only
update other places run through the block of what they read, into a partial result that is combined afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    const,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.facts import bound_to, proven
from ir.traverse import children, free_vars, has_loads, substitute_expr, with_children
from lower.analysis.linear_forms import Linear, linear, tidy, to_expr
from lower.distribute.grid import Axes, Cut, Placement, local_shape, tidied
from lower.distribute.lookups import owner
from lower.distribute.stages import NotDistributed, Stage
from lower.distribute.views import Near, Reading, View, exchanged, joined, own, serves, span, volume

Place = Callable[[Buffer, View], Buffer]  # the buffer that has a view of another one


class Along(Struct, frozen=True):
    """Iterations of a loop that a device runs: `step` of them from `coordinate * step + shift` on."""

    axes: Axes
    step: int
    shift: Expr


Assignment = Mapping[Var, Along]


def along(
    index: Expr, cut: Cut, stage: Stage, loops: Iterable[For], steady: frozenset[Var], *, windows: bool = False
) -> tuple[Var, Along] | None:
    """The loop that goes along a cut dimension by an index of it, and which iterations are those of a device.

    With `windows` also one whose iterations read elements around, at most as many as a device has.
    """
    form = linear(index)
    own_loops = {s.var for s in stage.loops}
    for loop in loops:
        scale = form.terms.get(loop.var, 0)
        if scale <= 0:
            continue
        rest = form - Linear({loop.var: scale})
        if loop.var.dtype is not index.dtype or any(map(has_loads, rest.terms)):
            continue
        names = free_vars(*rest.terms)
        if loop.var in names or cut.block % scale:
            continue
        if names <= steady and scale == 1:
            return loop.var, Along(cut.axes, cut.block, to_expr(rest * -1, index))
        if names <= own_loops:
            known = reduce(
                isl.Set.intersect, (pb.loop_domain(s.var, s.start, s.extent).may for s in stage.loops), pb.always()
            )
            found = span(to_expr(rest, index), known)
            if found is None or found.low > found.high:
                continue
            if found.low // scale == found.high // scale or (windows and found.high - found.low <= cut.block):
                return loop.var, Along(cut.axes, cut.block // scale, const(-(found.low // scale), index.dtype))
    return None


class Partial(Struct, frozen=True):
    """A buffer into which devices put what they add to another one, and how much of that a device has."""

    of: Buffer
    buffer: Buffer
    placement: Placement


class Local(Struct):
    """A stage in terms of what a device has, and the views of buffers that it reads."""

    stmt: Stmt
    needs: list[tuple[Buffer, View]] = field(default_factory=list[tuple[Buffer, View]])


class OwnerComputes(Struct):
    """Writes a stage for a device."""

    reading: Reading
    placements: Mapping[Buffer, Placement]
    assigned: Assignment
    known: isl.Set  # of what is around the stage
    place: Place
    partial: Partial | None = None
    looked: tuple[Load, tuple[bool, ...]] | None = None  # who owns it in some dimensions runs an iteration
    found: list[tuple[Buffer, View]] = field(default_factory=list[tuple[Buffer, View]])
    views: list[tuple[Buffer, View]] | None = None
    private: set[Buffer] = field(default_factory=set[Buffer])
    own: list[tuple[Load, Load]] = field(default_factory=list[tuple[Load, Load]])  # what a device has, and where

    def local(self, stage: Stage) -> Local:
        """The stage for a device.

        Raises:
            NotDistributed: iterations that are spread over devices would store what other devices own.
        """
        self.private = stage.private
        self._stmt(stage.body, {}, self.known)
        stored = {s.buffer for s in stage.stores}
        merged: list[tuple[Buffer, View]] = []
        for buffer in dict.fromkeys(b for b, _ in self.found):
            views = joined([v for b, v in self.found if b == buffer])
            plain = own(self.placements[buffer])
            if buffer in stored and any(v == plain for b, v in self.found if b == buffer):
                others = [v for b, v in self.found if b == buffer and v != plain]
                views = [plain, *(v for v in joined(others) if v != plain)]  # what it stores itself, not a copy
            merged += [(buffer, v) for v in views]
        self.views = merged
        return Local(
            self._stmt(stage.body, {}, self.known), [n for n in merged if exchanged(n[1], self.placements[n[0]])]
        )

    # Statements.

    def _stmt(self, stmt: Stmt, values: Mapping[Var, Expr], known: isl.Set) -> Stmt:
        match stmt:
            case Seq(stmts=stmts):
                return seq(*(self._stmt(s, values, known) for s in stmts))
            case For():
                return self._loop(stmt, values, known)
            case If(cond=cond, then=then, other=other):
                test = substitute_expr(cond, values)
                holds = pb.condition(test)
                yes = self._stmt(then, values, known.intersect(holds.may))
                no = self._stmt(other, values, known.intersect(holds.negated().may))
                test = self._conditions(self._expr(test, known), known)
                return If(test, yes, no) if not (no == SKIP and test.same(_TRUE)) else yes
            case Let(var=var, value=value, body=body):
                new = substitute_expr(value, values)
                return Let(var, self._expr(new, known), self._stmt(body, values, known.intersect(bound_to(var, new))))
            case Alloc(buffer=buffer, body=body):
                return Alloc(buffer, self._stmt(body, values, known))
            case Store():
                return self._store(stmt, values, known)
            case _:
                raise NotDistributed(f"a stage has a statement `{type(stmt).__name__}`")

    def _loop(self, loop: For, values: Mapping[Var, Expr], known: isl.Set) -> Stmt:
        var = loop.var
        start, extent = (substitute_expr(e, values) for e in (loop.start, loop.extent))
        mine = self.assigned.get(var)
        iteration: Expr = var
        if mine is not None:
            step = const(mine.step, var.dtype)
            first = Binary("mul", self.reading.grid.coordinate(mine.axes, var.dtype), step)
            iteration = tidied(Binary("add", Binary("add", first, var), substitute_expr(mine.shift, values)))
            low, count = const(0, var.dtype), step
        elif isinstance(start, Const) and isinstance(extent, Const):
            low, count = start, extent
        elif has_loads(start) or has_loads(extent):
            start, extent = low, count = self._expr(start, known), self._expr(extent, known)
        else:
            low, count = self._box(start, extent, known)
        known = known.intersect(pb.loop_domain(var, low, count).may)
        bounds: list[Expr] = []
        if not (low.same(start) and count.same(extent) and mine is None):
            stop = tidied(Binary("add", start, extent))
            bounds = [tidy(Binary("ge", iteration, start)), tidy(Binary("lt", iteration, stop))]
            bounds = [b for b in bounds if not proven(b, known)]
        for bound in bounds:
            known = known.intersect(pb.condition(bound).may)
        body = self._stmt(loop.body, {**values, var: iteration} if mine is not None else values, known)
        for bound in reversed(bounds):
            body = If(self._expr(bound, known), body, SKIP)
        return For(var, low, count, body)

    def _box(self, start: Expr, extent: Expr, known: isl.Set) -> tuple[Expr, Expr]:
        """Numbers that bound a loop."""
        low, high = span(start, known), span(Binary("add", start, extent), known)
        if low is None or high is None:
            raise NotDistributed(f"the bounds {start} and {extent} of a loop are not known")
        return const(low.low, start.dtype), const(max(high.high - low.low, 0), start.dtype)

    def _store(self, store: Store, values: Mapping[Var, Expr], known: isl.Set) -> Stmt:
        indices = tuple(substitute_expr(i, values) for i in store.indices)
        value = substitute_expr(store.value, values)
        if store.buffer in self.private:
            return replace(store, indices=self._exprs(indices, known), value=self._expr(value, known))
        partial = self.partial if self.partial is not None and self.partial.of == store.buffer else None
        placement = self.placements[store.buffer] if partial is None else partial.placement
        spread = {axis for a in self.assigned.values() for axis in a.axes}
        guards: list[Expr] = []
        places: list[Expr] = []
        for index, cut in zip(indices, placement, strict=True):
            if cut is None:
                places.append(index)
                continue
            place = tidied(Binary("sub", index, self.reading.grid.first(cut, index.dtype)))
            inside = [Binary("ge", place, const(0, index.dtype)), Binary("lt", place, const(cut.block, index.dtype))]
            left = [tidy(c) for c in inside if not proven(c, known)]
            if left and spread & {*cut.axes}:
                raise NotDistributed(f"iterations that are spread over devices store to {store.buffer.name} of others")
            guards += left
            spread -= {*cut.axes}
            places.append(place)
        if partial is None and spread:
            raise NotDistributed(f"iterations that are spread over devices store to {store.buffer.name}, which is not")
        found: list[tuple[Load, Load]] = []
        if partial is not None and self.looked is not None:
            load, dims = self.looked
            here = replace(load, indices=tuple(substitute_expr(i, values) for i in load.indices))
            asked, mine = self._of_owner(here, dims, known)
            guards += asked
            found = [(here, mine)]
        for guard in guards:
            known = known.intersect(pb.condition(guard).may)
        places = [_settled(p, known) for p in places]
        buffer = self.place(store.buffer, own(placement)) if partial is None else partial.buffer
        here = self._exprs(places, known)
        # The element that it stores to may hold what others have stored there.
        self.own = [(Load(store.buffer, indices), Load(buffer, here)), *found]
        new: Stmt = Store(buffer, here, self._expr(value, known))
        self.own = []
        for guard in reversed(guards):
            new = If(self._expr(guard, known), new, SKIP)
        return new

    def _of_owner(self, load: Load, dims: tuple[bool, ...], known: isl.Set) -> tuple[list[Expr], Load]:
        """The conditions under which this device has the element of a load, and that element of what it has."""
        placement = self.placements[load.buffer]
        given = tuple(None if asked else cut for asked, cut in zip(dims, placement, strict=True))
        view = self.reading.view(load, given, known, {})
        guards: list[Expr] = []
        places: list[Expr] = []
        for d, (index, cut, part) in enumerate(zip(load.indices, placement, view, strict=True)):
            if cut is None:
                places.append(index)
            elif dims[d]:
                asked = owner(load, d)
                if asked is None:
                    raise NotDistributed(f"the place {index} is of a narrow type")
                place = Binary("sub", asked, self.reading.grid.first(cut, index.dtype))
                guards += [
                    Binary("ge", place, const(0, index.dtype)),
                    Binary("lt", place, const(cut.block, index.dtype)),
                ]
                places.append(place)
            elif part != Near(cut.axes, cut.block):
                raise NotDistributed(f"{load.buffer.name} is looked up in a part that others have")
            else:
                places.append(self.reading.position(index, part))
        return guards, Load(self.place(load.buffer, own(placement)), self._exprs(places, known))

    # Expressions.

    def _exprs(self, exprs: Iterable[Expr], known: isl.Set) -> tuple[Expr, ...]:
        return tuple(self._expr(e, known) for e in exprs)

    def _expr(self, expr: Expr, known: isl.Set) -> Expr:
        """An expression whose loads are of what a device has; what is read under a condition knows that it holds."""
        match expr:
            case Load():
                return self._load(expr, known)
            case Select(cond=cond, then=then, other=other):
                holds = pb.condition(cond)
                yes, no = known.intersect(holds.may), known.intersect(holds.negated().may)
                test = self._conditions(self._expr(cond, known), known)
                return replace(expr, cond=test, then=self._expr(then, yes), other=self._expr(other, no))
            case Binary(op="and" | "or" as op, lhs=lhs, rhs=rhs):
                holds = pb.condition(lhs)
                then = known.intersect(holds.may if op == "and" else holds.negated().may)
                return replace(expr, lhs=self._expr(lhs, known), rhs=self._expr(rhs, then))
            case _:
                return with_children(expr, tuple(self._expr(c, known) for c in children(expr)))

    def _load(self, load: Load, known: isl.Set) -> Expr:
        if load.buffer in self.private:
            return replace(load, indices=self._exprs(load.indices, known))
        for there, mine in self.own:
            if load.same(there):
                return mine
        placement = self.placements[load.buffer]
        blocks: dict[Axes, set[int]] = {}
        for mine in self.assigned.values():
            blocks.setdefault(mine.axes, set()).add(mine.step)
        view = self.reading.view(load, placement, known, blocks)
        apart = self._unwrapped(load, view, known, blocks)
        if apart is not None:
            return self._expr(apart, known)
        if self.views is None:
            self.found.append((load.buffer, view))
            for index in load.indices:
                self._expr(index, known)
            return load
        chosen = next(v for b, v in self.views if b == load.buffer and (v == view or serves(v, view)))
        places = [self.reading.position(i, part) for i, part in zip(load.indices, chosen, strict=True)]
        return Load(self.place(load.buffer, chosen), self._exprs((_settled(p, known) for p in places), known))

    def _unwrapped(self, load: Load, view: View, known: isl.Set, blocks: Mapping[Axes, set[int]]) -> Expr | None:
        """A load along a ring that is needed whole, as a choice of those along a line for each time around.

        None where no index is a remainder that a few lines have, or where devices receive no less for these.
        """
        placement, grid = self.placements[load.buffer], self.reading.grid
        for d, (index, part) in enumerate(zip(load.indices, view, strict=True)):
            match index, part:
                case Binary(op="floormod", lhs=lhs, rhs=Const(value=int(size)) as end), Near(kept=()) if size > 0:
                    found = span(lhs, known)
                case _:
                    continue
            if found is None or not 0 <= found.high // size - found.low // size < _TURNS:
                continue
            choice: Expr | None = None
            received = 0.0
            for turn in range(found.high // size, found.low // size - 1, -1):
                place = tidied(Binary("sub", lhs, const(turn * size, index.dtype)))
                line = replace(load, indices=(*load.indices[:d], place, *load.indices[d + 1 :]))
                here = known.intersect(pb.loop_domain(_PLACE, const(0, index.dtype), end).may)
                here = here.intersect(bound_to(_PLACE, place))
                received += volume(load.buffer, placement, self.reading.view(line, placement, here, blocks), grid)
                choice = line if choice is None else Select(Binary("lt", place, end), line, choice)
            if received < volume(load.buffer, placement, view, grid):
                return choice
        return None

    def _conditions(self, cond: Expr, known: isl.Set) -> Expr:
        """A condition without the parts of it that are known to hold."""
        match cond:
            case Binary(op="and", lhs=lhs, rhs=rhs):
                left = self._conditions(lhs, known)
                right = self._conditions(rhs, known.intersect(pb.condition(lhs).may))
                return right if left.same(_TRUE) else left if right.same(_TRUE) else replace(cond, lhs=left, rhs=right)
            case _ if not has_loads(cond) and proven(cond, known):
                return _TRUE
            case Binary(op="lt" | "le" | "gt" | "ge") if not has_loads(cond):
                return tidy(cond)
            case _:
                return cond


_TRUE = Const(True, DType.BOOL)
_PLACE = Var("<place>", DType.INT32)  # no name of a program
_TURNS = 3  # a loop over padding goes around once more than the one over elements


def _settled(index: Expr, known: isl.Set) -> Expr:
    """An index, as a number where it can only be one."""
    if isinstance(index, (Const, Var)) or has_loads(index):
        return index
    found = span(index, known)
    return const(found.low, index.dtype) if found is not None and found.low == found.high else index


def filled(partial: Partial, value: Expr) -> Stmt:
    """A partial result that nothing was put into yet."""
    shape = local_shape(partial.buffer, (None,) * len(partial.buffer.shape))
    loops = [Var(f"{partial.buffer.name}_{d}", extent.dtype) for d, extent in enumerate(shape)]
    stmt: Stmt = Store(partial.buffer, tuple(loops), value)
    for var, extent in reversed(list(zip(loops, shape, strict=True))):
        stmt = For(var, const(0, var.dtype), extent, stmt)
    return stmt
