"""The stages of a program: which loops stand around each, and what it reads and writes where. Infers nothing.

Values of lets and block axes are put in their places, so that everything is in terms of loop variables and sizes. What
is not quasi-affine, or depends on data, widens a region, and then the access is not `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import assert_never, cast

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.errors import Span
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    const,
)
from ir.presburger import sets as pb
from ir.program.calls import without_calls
from ir.traverse import all_same, children, has_loads, is_fixed, shape_vars, stores_in, substitute_expr, walk


class Place(Struct, frozen=True, eq=False):
    """A buffer in its scope; identity tells buffers of one name apart."""

    buffer: Buffer
    parameter: bool
    loops: tuple[For, ...] = ()  # around its allocation


class Access(Struct, frozen=True, eq=False):
    """The elements that a statement reads or writes in one iteration of the loops around it."""

    place: Place
    loops: tuple[For, ...]
    region: isl.Set  # parameters: the loop variables and sizes; empty where the access does not happen
    exact: bool


class Stage(Struct, eq=False):
    """A block that stores, or a store outside blocks. `stores` are domains: params sets over the loops around."""

    name: str
    position: int
    span: Span | None
    around: tuple[For, ...]
    axes: tuple[tuple[Var, Expr], ...] = ()
    stores: list[tuple[tuple[For, ...], pb.Condition]] = field(
        default_factory=lambda: list[tuple[tuple[For, ...], pb.Condition]]()
    )
    reads: list[Access] = field(default_factory=lambda: list[Access]())
    writes: list[Access] = field(default_factory=lambda: list[Access]())

    @property
    def loops(self) -> tuple[For, ...]:
        """All loops around its stores, outer ones first."""
        return tuple({id(loop): loop for loops, _ in self.stores for loop in loops}.values())


class Program(Struct, frozen=True, eq=False):
    """Stages in program order, buffers, and what holds of sizes."""

    stages: tuple[Stage, ...]
    places: tuple[Place, ...]
    facts: isl.Set
    sizes: tuple[Var, ...]


class _Scope(Struct, frozen=True, eq=False):
    """What surrounds a statement."""

    loops: tuple[For, ...] = ()
    reached: pb.Condition = field(default_factory=lambda: pb.Condition(pb.always(), pb.always()))
    values: Mapping[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())
    hidden: tuple[str, ...] = ()  # names bound to data
    buffers: Mapping[str, Place] = field(default_factory=lambda: dict[str, Place]())
    stage: Stage | None = None
    pending: tuple[tuple[Expr, pb.Condition], ...] = ()  # conditions and bounds that load: what is inside reads them

    def within(self, cond: pb.Condition) -> _Scope:
        reached = pb.within_budget(lambda: self.reached.both(cond), pb.Condition(pb.never(), self.reached.may))
        return replace(self, reached=reached)

    def evaluating(self, *exprs: Expr) -> _Scope:
        loading = tuple((e, self.reached) for e in exprs if has_loads(e))
        return replace(self, pending=(*self.pending, *loading)) if loading else self

    def place(self, expr: Expr) -> Expr:
        return substitute_expr(expr, self.values)


def find_stages(func: PrimFunc) -> Program:
    """The stages of a function that verifies."""
    func = without_calls(func)
    finder = _Finder(func)
    finder.visit(func.body, _Scope(buffers={p.buffer.name: p for p in finder.places}))
    sizes = (*func.scalars, *shape_vars(func))
    return Program(tuple(finder.stages), tuple(finder.places), _facts(func), sizes)


def _facts(func: PrimFunc) -> isl.Set:
    """What holds of sizes: extents are not negative, and what leading assumptions say."""
    known = pb.always()
    for buffer in func.buffers:
        for extent in buffer.shape:
            known = known.intersect(pb.condition(Binary("ge", extent, const(0, extent.dtype))).may)
    body = func.body
    while isinstance(body, Alloc):
        body = body.body
    for stmt in body.stmts if isinstance(body, Seq) else (body,):
        if isinstance(stmt, Assume) and not has_loads(stmt.cond):
            known = known.intersect(pb.condition(stmt.cond).may)
    return known


class _Finder:
    def __init__(self, func: PrimFunc) -> None:
        self.places = [Place(b, True) for b in func.buffers]
        self.stages: list[Stage] = []
        self.names: set[str] = set()

    def visit(self, stmt: Stmt, scope: _Scope) -> None:
        match cast(AnyStmt, stmt):
            case Store() as store:
                self._store(store, scope)
            case Seq(stmts=stmts):
                for inner in stmts:
                    self.visit(inner, scope)
            case If(cond=cond, then=then, other=other):
                inside = scope.evaluating(cond)
                holds = pb.within_budget(lambda: pb.condition(scope.place(cond)), pb.unknown())
                self.visit(then, inside.within(holds))
                if other != Seq(()):
                    self.visit(other, inside.within(holds.negated()))
            case For() as loop:
                inside = scope.evaluating(loop.start, loop.extent)
                domain = pb.loop_domain(loop.var, scope.place(loop.start), scope.place(loop.extent))
                self.visit(loop.body, replace(inside.within(domain), loops=(*scope.loops, loop)))
            case Let(var=var, value=value, body=body):
                self.visit(body, _bind(scope, var, value))
            case Alloc(buffer=buffer, body=body):
                place = Place(buffer, False, scope.loops)
                self.places.append(place)
                self.visit(body, replace(scope, buffers={**scope.buffers, buffer.name: place}))
            case Block() as block:
                self._block(block, scope)
            case Assume():
                pass  # looks at nothing that must be there
            case Assert(cond=expr) | Evaluate(value=expr):
                if scope.stage is not None:
                    self._reads(scope.evaluating(expr), scope.stage)
            case other:
                assert_never(other)

    def _block(self, block: Block, scope: _Scope) -> None:
        inside = scope
        for axis in block.axes:
            inside = _bind(inside, axis.var, axis.value)
        inside = inside.evaluating(block.predicate)
        inside = inside.within(pb.within_budget(lambda: pb.condition(inside.place(block.predicate)), pb.unknown()))
        if _is_stage(block):
            axes = tuple((a.var, inside.place(a.var)) for a in block.axes)
            stage = Stage(self._name(block.name), len(self.stages), block.span, scope.loops, axes)
            self.stages.append(stage)
            inside = replace(inside, stage=stage)
        if block.init is not None:
            first = inside
            for axis in block.axes:
                if axis.kind == "reduce":
                    first = first.within(pb.condition(inside.place(Binary("eq", axis.var, axis.start))))
            self.visit(block.init, first)
        self.visit(block.body, inside)

    def _name(self, wanted: str) -> str:
        return fresh(wanted, self.names)

    def _store(self, store: Store, scope: _Scope) -> None:
        stage = scope.stage
        if stage is None:
            stage = Stage(self._name(store.buffer.name), len(self.stages), store.span, scope.loops)
            self.stages.append(stage)
        may = pb.forget(scope.reached.may, scope.hidden)
        exact = scope.reached.exact and not pb.variables(scope.reached.may) & set(scope.hidden)
        stage.stores.append((scope.loops, pb.Condition(may if exact else pb.never(), may)))
        target = scope.buffers[store.buffer.name]
        stage.writes.append(_access(target, store.indices, scope.reached, scope))
        spot = tuple(scope.place(i) for i in store.indices)
        found = list(_loads_of((*store.indices, store.value), scope.reached, scope.place))
        for load, reach in found:
            place = scope.buffers[load.buffer.name]
            updated = place is target and all_same(load.indices, spot)
            if not updated:
                stage.reads.append(_access(place, load.indices, reach, replace(scope, values={})))
        self._reads(scope, stage)

    def _reads(self, scope: _Scope, stage: Stage) -> None:
        """Note what the conditions and bounds around a statement load."""
        for expr, reached in scope.pending:
            for load, reach in _loads_of((expr,), reached, scope.place):
                place = scope.buffers[load.buffer.name]
                stage.reads.append(_access(place, load.indices, reach, replace(scope, values={})))


def _is_stage(block: Block) -> bool:
    """Whether a block stores by itself: not only in blocks inside it."""
    return _stores(block.body) or (block.init is not None and _stores(block.init))


def _stores(stmt: Stmt) -> bool:
    inner = {id(s) for b in walk(stmt) if isinstance(b, Block) for s in walk(b)}
    return any(id(s) not in inner for s in stores_in(stmt))


def _bind(scope: _Scope, var: Var, value: Expr) -> _Scope:
    """The scope where `var` stands for `value`."""
    placed = scope.place(value)
    if not is_fixed(placed):
        return replace(scope.evaluating(value), hidden=(*scope.hidden, var.name))
    return replace(scope, values={**scope.values, var: placed})


def _loads_of(
    exprs: Iterable[Expr], reached: pb.Condition, place: Callable[[Expr], Expr]
) -> Iterator[tuple[Load, pb.Condition]]:
    """Loads in expressions, with axes and lets put in, and where each is evaluated."""
    for expr in exprs:
        if has_loads(expr):
            yield from _loads(place(expr), reached)


def _loads(expr: Expr, reached: pb.Condition) -> Iterator[tuple[Load, pb.Condition]]:
    match expr:
        case Load(indices=indices):
            yield expr, reached
            for index in indices:
                yield from _loads(index, reached)
        case Select(cond=c, then=a, other=b):
            holds = pb.within_budget(lambda: pb.condition(c), pb.unknown())
            yield from _loads(c, reached)
            if has_loads(a):
                yield from _loads(a, reached.both(holds))
            if has_loads(b):
                yield from _loads(b, reached.both(holds.negated()))
        case Binary(op="and" | "or" as op, lhs=a, rhs=b):
            yield from _loads(a, reached)
            if has_loads(b):
                holds = pb.within_budget(lambda: pb.condition(a), pb.unknown())
                yield from _loads(b, reached.both(holds if op == "and" else holds.negated()))
        case _:
            for child in children(expr):
                yield from _loads(child, reached)


def _access(place: Place, indices: tuple[Expr, ...], reached: pb.Condition, scope: _Scope) -> Access:
    spot = pb.within_budget(lambda: pb.point(scope.place(i) for i in indices), None)
    region = pb.whole(len(indices)) if spot is None else spot
    region = region.intersect_params(reached.may)
    exact = spot is not None and reached.exact and not (pb.variables(region) & set(scope.hidden))
    shape = pb.box(place.buffer.shape)
    if spot is None or not pb.within_budget(lambda: region.is_subset(shape), False):
        region = region.intersect(shape)
    return Access(place, scope.loops, pb.forget(region, scope.hidden), exact)
