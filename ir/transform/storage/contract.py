"""A local buffer as large as the box around what is kept in it, or around what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.effects import read_regions
from ir.fold import folded
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Block,
    Buffer,
    CallStmt,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    const,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import learned, proven
from ir.program.calls import of_dtype
from ir.program.edit import forget_regions, with_children
from ir.transform.stages.restrict import equals, is_simple
from ir.traverse import (
    buffers_accessed,
    free_vars,
    has_kind,
    has_loads,
    is_const,
    map_expr,
    map_stmt,
    node_count,
    stmt_children,
    stmt_exprs,
    substitute_expr,
    walk,
    walk_expr,
)


def compacted(
    body: Stmt,
    buffer: Buffer,
    region: isl.Set | None,
    known: isl.Set,
    scope: Mapping[str, Expr],
    sizes: Collection[str] = (),
) -> Stmt:
    """`body` with `buffer` allocated around it; all that it keeps there lies in `region`, or anywhere if that is None.

    Each axis starts at the least coordinate, where that can be written without cases, and has the greatest extent over
    all iterations, where that depends on sizes of the function alone: those in the buffer's shape, and `sizes`.
    """
    axes = None if region is None else _axes(buffer, region, known, scope, sizes)
    if axes is None or all(a is None for a in axes):
        return Alloc(buffer, body)
    shape = tuple(old if a is None else a.extent for old, a in zip(buffer.shape, axes, strict=True))
    small = replace(buffer, shape=shape)
    return Alloc(small, _Rewriter(buffer, small, axes).stmt(body, known, {}))


def may_shrink(stmt: Stmt) -> bool:
    """Whether some local is larger than what is read of it."""
    allocs = [s for s in walk(stmt) if isinstance(s, Alloc)]
    return any(pb.within_budget(lambda s=s: trimmed(s, pb.always()), None) is not None for s in allocs)


def trimmed(stmt: Alloc, known: isl.Set) -> Stmt | None:
    """A local as large as the box around what is read of it, with the stores to that alone.

    None where all of it is read, or where nothing is stored that is not read and places would be counted anew: then
    only the allocation is larger. Bounds are inferred from the domains of the loads, as for the stages of a pipeline
    (Ragan-Kelley et al., "Halide", 2013). A load of the element that its statement stores does not count: it matters
    where the store does. `known` are values of the variables around; bounds are numbers, since those that depend on
    them say nothing of where no load runs.
    """
    buffer = stmt.buffer
    if has_kind(stmt.body, Block, CallStmt, Evaluate):
        return None
    read = read_besides(stmt.body, buffer, known)
    if read is None:
        return None
    anywhere = pb.forget(read.intersect(pb.box(buffer.shape)), pb.variables(read))
    axes = _axes(buffer, anywhere, pb.always(), {})
    if axes is None or all(a is None for a in axes):
        return None
    body = tested(stmt.body, buffer, lambda store: _tests(store, axes), known)
    if body == stmt.body and not all(a is None or is_const(a.first, 0) for a in axes):
        return None
    shape = tuple(old if a is None else a.extent for old, a in zip(buffer.shape, axes, strict=True))
    small = replace(buffer, shape=shape)
    moved = _Rewriter(buffer, small, axes).stmt(body, known, {})
    return replace(stmt, buffer=small, body=moved)


def read_besides(stmt: Stmt, buffer: Buffer, known: isl.Set) -> isl.Set | None:
    """What a statement reads of a buffer besides elements that it replaces; None where that is nothing."""
    exprs = [*stmt_exprs(stmt)]
    if isinstance(stmt, Store) and stmt.buffer == buffer:
        own = Load(buffer, stmt.indices)
        exprs = [*stmt.indices, map_expr(stmt.value, lambda e: Undef(e.dtype) if e.same(own) else e)]
    found = [read_regions(e, known).get(buffer) for e in exprs]
    for part in stmt_children(stmt):
        if buffer in buffers_accessed(part):
            inside = read_besides(part, buffer, known.intersect(learned(stmt, part)))
            name = stmt.var.name if isinstance(stmt, For | Let) else None
            found.append(inside if inside is None or name is None else pb.forget(inside, (name,)))
    return reduce(lambda a, b: b if a is None else a if b is None else a.union(b), found, None)


def tested(stmt: Stmt, buffer: Buffer, tests: Callable[[Store], Iterable[Expr]], known: isl.Set) -> Stmt:
    """A statement whose stores to a buffer run under `tests`, as far as these are open, given what holds there."""
    if isinstance(stmt, Store) and stmt.buffer == buffer:
        left = [test for test in tests(stmt) if not proven(test, known)]
        return If(conjunction(left), stmt, SKIP) if left else stmt
    inside = [tested(part, buffer, tests, known.intersect(learned(stmt, part))) for part in stmt_children(stmt)]
    return with_children(stmt, inside)


def _tests(store: Store, axes: Sequence[_Axis | None]) -> Iterator[Expr]:
    """That the buffer keeps the element."""
    for index, axis in zip(store.indices, axes, strict=True):
        if axis is not None:
            first, extent = of_dtype(axis.first, index.dtype), of_dtype(axis.extent, index.dtype)
            yield Binary("ge", index, first)
            yield Binary("lt", index, folded(Binary("add", first, extent)))


class _Axis(Struct, frozen=True, eq=False):
    """The first coordinate kept, as a function and as it is written, and how many there are at most."""

    low: isl.PwAff
    first: Expr
    extent: Expr


def _axes(
    buffer: Buffer, region: isl.Set, known: isl.Set, scope: Mapping[str, Expr], more: Collection[str] = ()
) -> list[_Axis | None] | None:
    sizes = {*more, *(v.name for e in buffer.shape for v in walk_expr(e) if isinstance(v, Var))}
    region = region.intersect_params(known)
    if region.is_empty():
        return None
    found: list[_Axis | None] = []
    for axis, old in enumerate(buffer.shape):
        low, high = (readback.coordinate(region, axis, upper=upper) for upper in (False, True))
        found.append(None if low is None or high is None else _axis(low, high, old, known, scope, sizes))
    return found


def _axis(
    low: isl.PwAff, high: isl.PwAff, old: Expr, known: isl.Set, scope: Mapping[str, Expr], sizes: set[str]
) -> _Axis | None:
    low = low.gist_params(known).coalesce()
    count = high.sub(low).add(pb.number(1)).intersect_domain(known)
    dims = isl.Set.from_pw_aff(count)
    most = pb.forget(dims, pb.variables(dims)).dim_max_val(0)
    if most.is_int():
        extent = const(most.to_python(), old.dtype)
    else:
        dims = pb.forget(dims, pb.variables(dims) - sizes)
        top = readback.coordinate(dims, 0, upper=True)
        if top is None or top.n_piece() != 1:
            return None
        extent = of_dtype(readback.expression(top, scope, known), old.dtype)
    whole = pb.affine(old)
    value = pb.affine(extent)
    if whole is None or value is None or known.is_subset(value.ge_set(whole)):
        return None  # as large as before, so nothing is won by other indices
    first = readback.expression(low, scope, known)
    return _Axis(low, first, extent) if is_simple(first) and is_simple(extent) else None


class _Rewriter(Struct, frozen=True, eq=False):
    """Shifts the indices of one buffer; differences that are constant are computed."""

    old: Buffer
    new: Buffer
    axes: Sequence[_Axis | None]

    def stmt(self, stmt: Stmt, known: isl.Set, values: Mapping[Var, Expr]) -> Stmt:
        if self.old not in buffers_accessed(stmt):
            return stmt
        expr = self._mapper(known, values)
        match stmt:
            case Seq() | Alloc():
                return with_children(stmt, [self.stmt(s, known, values) for s in stmt_children(stmt)])
            case For() as loop:
                inside = pb.within_loops(known, [loop])
                body = self.stmt(loop.body, inside, values)
                return replace(loop, start=expr(loop.start), extent=expr(loop.extent), body=body)
            case If(cond=cond, then=then, other=other):
                yes, no = pb.condition(cond).may, pb.condition(cond).negated().may
                new = self.stmt(then, known.intersect(yes), values)
                return replace(stmt, cond=expr(cond), then=new, other=self.stmt(other, known.intersect(no), values))
            case Let(var=var, value=value, body=body):
                inner = known.intersect(equals(var, value))
                return replace(stmt, value=expr(value), body=self.stmt(body, inner, self._bound(values, var, value)))
            case Block() as block:
                return self._block(block, known, values)
            case _:
                moved = map_stmt(stmt, expr)
                if isinstance(moved, Store) and moved.buffer == self.old:
                    return replace(moved, buffer=self.new, indices=self._indices(moved.indices, known, values))
                return moved

    def _block(self, block: Block, known: isl.Set, values: Mapping[Var, Expr]) -> Stmt:
        for axis in block.axes:
            known = known.intersect(equals(axis.var, axis.value))
            values = self._bound(values, axis.var, axis.value)
        expr = self._mapper(known, values)
        inner = known.intersect(pb.condition(block.predicate).may)
        axes = tuple(replace(a, value=expr(a.value)) for a in block.axes)
        init = None if block.init is None else self.stmt(block.init, inner, values)
        new = replace(block, axes=axes, predicate=expr(block.predicate), init=init)
        return forget_regions(replace(new, body=self.stmt(block.body, inner, values)), {self.old.name})

    @staticmethod
    def _bound(values: Mapping[Var, Expr], var: Var, value: Expr) -> Mapping[Var, Expr]:
        return values if has_loads(value) else {**values, var: substitute_expr(value, values)}

    def _mapper(self, known: isl.Set, values: Mapping[Var, Expr]) -> Callable[[Expr], Expr]:
        def on_load(e: Expr) -> Expr:
            if not isinstance(e, Load) or e.buffer != self.old:
                return e
            return Load(self.new, self._indices(e.indices, known, values), e.span)

        return lambda expr: map_expr(expr, on_load)

    def _indices(self, indices: Sequence[Expr], known: isl.Set, values: Mapping[Var, Expr]) -> tuple[Expr, ...]:
        return tuple(
            i if a is None else self._index(i, a, known, values) for i, a in zip(indices, self.axes, strict=True)
        )

    @staticmethod
    def _index(index: Expr, axis: _Axis, known: isl.Set, values: Mapping[Var, Expr]) -> Expr:
        first = of_dtype(axis.first, index.dtype)
        if is_const(first, 0):
            return index
        place = pb.affine(substitute_expr(index, values))
        if place is not None:
            offsets = isl.Set.from_pw_aff(place.sub(axis.low).intersect_domain(known))
            offsets = pb.forget(offsets, pb.variables(offsets))
            low, high = offsets.dim_min_val(0), offsets.dim_max_val(0)
            if low.is_int() and low.eq(high):
                return const(low.to_python(), index.dtype)
        place = pb.affine(index)
        if place is not None:
            names = {v.name: v for e in (index, first) for v in free_vars(e)}
            short = of_dtype(readback.expression(place.sub(axis.low), names), index.dtype)
            if node_count(short) <= node_count(index):
                return short
        return Binary("sub", index, first)
