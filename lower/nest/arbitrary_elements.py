"""Elements of parameters that a program as it was written lets be arbitrary, and the loads that read such.

Callers may leave NaN there. What is assumed to equal undef is known by its region, and so is where undef is stored.
Where a program also stores values, it is not asked which load sees what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct

from ir.analysis.conditions import arbitrary_elements
from ir.analysis.dependence import Statement, domain
from ir.nodes import AnyStmt, Assume, Expr, For, If, Let, Load, PrimFunc, Stmt, Store, Undef
from ir.presburger import sets as pb
from ir.presburger.readback import condition
from ir.program.blocks import lower_blocks
from ir.traverse import buffers_written, has_loads, has_undef, loads, shape_vars, stmt_children, walk


class Arbitrary(Struct, frozen=True):
    """The elements of a parameter that may hold anything; `steady` if they are just these, and nothing is stored."""

    region: pb.isl.Set
    steady: bool


class _Place(Struct, frozen=True):
    """The loops and conditions around a statement: where it may run, and whether it runs just there."""

    runs: pb.isl.Set
    exact: bool = True
    loops: tuple[str, ...] = ()

    def within(self, cond: pb.Condition, name: str | None = None) -> _Place:
        loops = self.loops if name is None else (*self.loops, name)
        return _Place(self.runs.intersect(cond.may), self.exact and cond.exact, loops)


def arbitrary_parameters(func: PrimFunc) -> dict[str, Arbitrary]:
    """What a program lets be arbitrary of its parameters of floats, by their names."""
    body = lower_blocks(func.as_written).body
    if not any(_lets_be_arbitrary(s) for s in walk(body)):
        return {}
    written = {b.name for b in buffers_written(body) | buffers_written(func.body)}
    names = frozenset(v.name for v in (*func.scalars, *shape_vars(func)))
    params = {b.name: b for b in func.buffers if b.dtype.is_float}
    found: dict[str, Arbitrary] = {}

    def question() -> dict[str, Arbitrary]:
        for load, place in _elements(body, _Place(pb.always())):
            if load.buffer.name in params:
                one = _region(load, place, names)
                known = found.get(load.buffer.name, Arbitrary(pb.nothing(len(load.indices)), steady=True))
                steady = known.steady and one.steady and load.buffer.name not in written
                found[load.buffer.name] = Arbitrary(known.region.union(one.region).coalesce(), steady)
        return found

    everything = {name: Arbitrary(pb.whole(len(b.shape)), steady=False) for name, b in params.items()}
    return pb.within_budget(question, everything)


def _lets_be_arbitrary(stmt: Stmt) -> bool:
    return (isinstance(stmt, Assume) and has_undef(stmt.cond)) or (
        isinstance(stmt, Store) and isinstance(stmt.value, Undef)
    )


def _elements(stmt: Stmt, place: _Place) -> Iterator[tuple[Load, _Place]]:
    """The elements that become arbitrary, and where."""
    match cast(AnyStmt, stmt):
        case Assume(cond=cond):
            for load, unless in arbitrary_elements(cond):
                here = place
                for other in unless:
                    here = here.within(pb.condition(other).negated())
                yield load, here
        case Store(buffer=buffer, indices=indices, value=Undef()):
            yield Load(buffer, indices), place
        case For(var=var, start=start, extent=extent, body=body):
            yield from _elements(body, place.within(pb.loop_domain(var, start, extent), var.name))
        case If(cond=cond, then=then, other=other):
            yield from _elements(then, place.within(pb.condition(cond)))
            yield from _elements(other, place.within(pb.condition(cond).negated()))
        case Let(var=var, body=body):
            yield from _elements(body, place.within(pb.unknown(), var.name))
        case _:
            for child in stmt_children(stmt):
                yield from _elements(child, place)


def _region(load: Load, place: _Place, names: frozenset[str]) -> Arbitrary:
    point = pb.point(load.indices)
    if point is None or any(map(has_loads, load.indices)):
        return Arbitrary(pb.whole(len(load.indices)), steady=False)
    region = pb.forget(point.intersect_params(place.runs), place.loops)
    return Arbitrary(region, place.exact and pb.variables(region) <= names)


class Reads(Struct, frozen=True):
    """Loads of a statement that may read arbitrary elements: those that do so unless a condition holds, and others."""

    unless: Mapping[Load, Expr]
    vague: frozenset[Load]

    @property
    def any(self) -> bool:
        """Whether there are such loads."""
        return bool(self.unless or self.vague)


def arbitrary_reads(statement: Statement, given: Mapping[str, Arbitrary], scope: Mapping[str, Expr]) -> Reads:
    """The loads in the value of a statement that may read arbitrary elements; `scope` has the sizes and scalars."""
    unless: dict[Load, Expr] = {}
    vague: set[Load] = set()
    for load in dict.fromkeys(loads(statement.store.value)):
        if load.buffer.name not in given:
            continue
        found = pb.within_budget(lambda load=load: _missed(statement, load, given[load.buffer.name], scope), None)
        if isinstance(found, Expr):
            unless[load] = found
        elif found is None:
            vague.add(load)
    return Reads(unless, frozenset(vague))


def _missed(statement: Statement, load: Load, given: Arbitrary, scope: Mapping[str, Expr]) -> Expr | bool | None:
    """When a load reads no arbitrary element: True for always, a condition, or None if that cannot be told."""
    runs, point = domain(statement, {}), pb.point(load.indices)
    if point is None:
        return None
    hit = given.region.intersect(point).params()
    if hit.intersect(runs).is_empty():
        return True
    local = {loop.var.name: loop.var for loop in statement.loops}
    names = {**scope, **local}
    if not given.steady or not pb.variables(hit) <= names.keys():
        return None
    return condition(hit.complement(), names, pb.without(runs, pb.variables(runs) - names.keys()))
