"""Elements of buffers that nothing stores to, as variables: equal places hold equal values, and what is assumed holds.

An index such as `i - w[i]` is no affine function of the loops around it. With a variable for the element it is one, and
two instances of a statement that read the same element move by the same distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Protocol

import islpy as isl
from msgspec import Struct

from ir.nodes import Buffer, Expr, Load, Var
from ir.presburger import sets as presburger
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


def _apart(a: Load, b: Load) -> isl.Set:
    """Where two elements of a buffer may be different ones."""
    apart = presburger.never()
    for i, k in zip(a.indices, b.indices, strict=True):
        x, y = presburger.affine(i), presburger.affine(k)
        apart = presburger.always() if x is None or y is None else apart.union(x.ne_set(y))
    return apart
