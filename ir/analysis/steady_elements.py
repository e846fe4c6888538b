"""Elements of buffers that nothing stores to, as variables: equal places hold equal values, and what is assumed holds.

An index such as `i - w[i]` is no affine function of the loops around it. With a variable for the element it is one, and
two instances of a statement that read the same element move by the same distance. What a register holds that is never
ahead of a loop, as the best place so far, is such a variable too, though its value changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Protocol

import islpy as isl
from msgspec import Struct

from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, Var, const
from ir.presburger import sets as presburger
from ir.presburger.distances import Ranged
from ir.presburger.opaque import values_of
from ir.traverse import has_loads, map_expr


class Told(Protocol):
    """What holds of an element wherever it is read, which the params set says."""

    def __call__(self, load: Load, where: isl.Set) -> Iterable[Expr]: ...


class SteadyElements(Struct, frozen=True):
    """Elements of some `buffers`, none of which is ever stored to, and what is `told` of them."""

    buffers: frozenset[Buffer]
    told: Told

    def named(self, exprs: Sequence[Expr], where: isl.Set) -> tuple[list[Expr], isl.Set]:
        """Expressions with variables in place of elements, and a params set of the values that those may have."""
        if not any(map(has_loads, exprs)):
            return [*exprs], presburger.always()
        names: dict[Load, Var] = {}

        def one(e: Expr) -> Expr:
            if not isinstance(e, Load) or e.buffer not in self.buffers or not e.dtype.is_integer:
                return e
            return names.setdefault(e, Var(f"?{len(names)}", e.dtype))

        found = [map_expr(e, one) for e in exprs]
        holds = presburger.always()
        for load in [*names]:
            for cond in self.told(load, where):
                holds = holds.intersect(presburger.condition(map_expr(cond, one)).may)
        for var in names.values():
            holds = holds.intersect(values_of(var.dtype, var.name))
        for (a, x), (b, y) in combinations(names.items(), 2):
            if a.buffer == b.buffer:
                holds = holds.intersect(_apart(a, b).union(presburger.symbol(x.name).eq_set(presburger.symbol(y.name))))
        return found, holds


class Stored(Protocol):
    """A store in its place, with the loops around."""

    @property
    def loops(self) -> Sequence[Ranged]: ...
    @property
    def store(self) -> Store: ...


class Position(Struct, frozen=True):
    """What a register holds in each iteration of a loop: the number of an iteration so far, or one from `least` to the
    first."""

    loop: Ranged
    least: Expr


def positions(statements: Iterable[Stored], private: Mapping[Buffer, int]) -> dict[Buffer, Position]:
    """Registers to which nothing but numbers and the variable of one loop is stored, as of a search for the best: all
    iterations of the loops around begin with one of their own, and what it holds is never ahead of the loop."""
    writers: dict[Buffer, list[Stored]] = {}
    for s in statements:
        if s.store.buffer.dtype.is_signed:
            writers.setdefault(s.store.buffer, []).append(s)
    found: dict[Buffer, Position] = {}
    for buffer, own in writers.items():
        moving = [s for s in own if not isinstance(s.store.value, Const)]
        level = private.get(buffer, 0)
        loops = [s.loops[level] for s in moving if len(s.loops) > level]
        if not moving or len(loops) < len(moving) or any(o is not loops[0] for o in loops):
            continue
        start = loops[0].start
        numbers = [int(s.store.value.value) for s in own if isinstance(s.store.value, Const)]
        if not isinstance(start, Const) or not numbers or max(numbers) > start.value:
            continue
        if all(s.store.value == loops[0].var for s in moving):
            found[buffer] = Position(loops[0], const(min(numbers), start.dtype))
    return found


def with_positions(
    indices: Sequence[Expr], loops: Sequence[Ranged], registers: Mapping[Buffer, Position], mark: str
) -> tuple[list[Expr], list[Expr]]:
    """Indices of an access within some loops with variables in place of registers, and what holds of those."""
    names: dict[Load, Var] = {}
    holds: list[Expr] = []

    def one(e: Expr) -> Expr:
        at = registers.get(e.buffer) if isinstance(e, Load) else None
        if (
            not isinstance(e, Load)
            or at is None
            or not any(o is at.loop for o in loops)
            or any(map(has_loads, e.indices))
        ):
            return e
        if e not in names:
            names[e] = Var(f"{mark}{len(names)}", e.dtype)
            holds.extend((Binary("le", at.least, names[e]), Binary("le", names[e], at.loop.var)))
        return names[e]

    return [map_expr(i, one) for i in indices], holds


def _apart(a: Load, b: Load) -> isl.Set:
    """Where two elements of a buffer may be different ones."""
    apart = presburger.never()
    for i, k in zip(a.indices, b.indices, strict=True):
        x, y = presburger.affine(i), presburger.affine(k)
        apart = presburger.always() if x is None or y is None else apart.union(x.ne_set(y))
    return apart
