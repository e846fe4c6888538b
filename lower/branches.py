"""Two branches that store to one place, as one store of a choice.

`if a[i] == b[j]: D[i, j] = x` with `else: D[i, j] = y` is two statements, each under a guard that is data. As one that
stores whichever value it is, it is known to store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ir import presburger
from ir.analysis.dependence import Statement
from ir.nodes import Expr, Select
from lower.choices import conjunction
from lower.normalize import negate


def merged(statements: Sequence[Statement]) -> list[Statement]:
    """Statements in order, those that follow each other as branches of one condition on data in one."""
    found: list[Statement] = []
    for s in sorted(statements, key=lambda s: s.position):
        found.append(s)
        while len(found) > 1:
            both = _both(found[-2], found[-1])
            if both is None:
                break
            found[-2:] = [both]
    return found


def _both(first: Statement, second: Statement) -> Statement | None:
    if first.loops != second.loops or first.buffer != second.buffer:
        return None
    if not all(i.same(k) for i, k in zip(first.store.indices, second.store.indices, strict=True)):
        return None
    here = [g for g in first.guards if not _among(g, second.guards)]
    there = [g for g in second.guards if not _among(g, first.guards)]
    if not here or not there:
        return None
    a, b = conjunction(here), conjunction(there)
    if presburger.condition(a).exact or not (negate(a).same(b) or negate(b).same(a)):
        return None
    value = Select(a, first.store.value, second.store.value)
    guards = tuple(g for g in first.guards if _among(g, second.guards))
    return replace(second, guards=guards, store=replace(second.store, value=value), update=None)


def _among(guard: Expr, guards: Sequence[Expr]) -> bool:
    return any(guard.same(g) for g in guards)
