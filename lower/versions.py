"""Two versions of statements: where the data are within bounds, some stores change nothing and hold nobody up.

`s` is `if c: s else: s` for any c. A c is worth inventing where it makes instances of statements idle: conditions of
the laws in `lower/absorption.py`. It is tested once, before the loops, of all that a buffer holds, since the statements
themselves keep it true: the shortest of ways of no negative length has none. NaN is within no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ir import presburger
from ir.analysis.dependence import Idle, Loop, Statement
from ir.dtypes import DType
from ir.nodes import TRUE, Binary, Buffer, Expr, Load, Store, const
from ir.traverse import loads
from lower.absorption import unchanged
from lower.assumed import Bounds, holds, kept
from lower.nest import ArrayStatement, Box, Fresh, loops_over

WORTH = 0.7  # the part of the price of one version below which two are taken: they are compiled both
_BOUNDS: tuple[Bounds, ...] = ((0.0, math.inf), (0.0, 1.0), (-math.inf, 0.0), (1.0, math.inf))


@dataclass(frozen=True, slots=True)
class Assumption:
    """Bounds on what buffers hold, before statements and after each of them, and which instances are idle then."""

    bounds: Mapping[Buffer, Bounds]
    idle: Idle

    def __str__(self) -> str:
        return " and ".join(c for b, box in self.bounds.items() for c in _said(b.name, box))


def assumptions(statements: Sequence[Statement], outside: Callable[[Buffer], bool]) -> Iterator[Assumption]:
    """Assumptions that leave instances of statements idle; only buffers for which `outside` holds can be tested."""
    found = {s.position: presburger.within_budget(lambda s=s: unchanged(s), []) for s in statements}
    read = {load.buffer for several in found.values() for u in several for c in u.conditions for load in loads(c)}
    if not read or not all(map(outside, read)):
        return
    for box in _BOUNDS:
        bounds = kept(statements, dict.fromkeys(sorted(read, key=lambda b: b.name), box))
        idle: dict[int, presburger.isl.Set] = {}
        conditions: list[Expr] = []
        for position, several in found.items():
            for u in several:
                if all(holds(c, bounds) for c in u.conditions):
                    idle[position] = u.instances.union(idle.get(position, u.instances))
                    conditions += u.conditions
        needed = {load.buffer for c in conditions for load in loads(c)}
        if needed:  # what keeps the bounds of these may speak of all
            yield Assumption(bounds, idle)


def test(
    assumption: Assumption,
    around: tuple[Loop, ...],
    boxes: dict[Loop, Box],
    new: Fresh,
) -> tuple[Buffer, list[ArrayStatement]]:
    """A truth value and the statements that find it: whether all elements are within their bounds."""
    flag = Buffer(new.name("within"), (), DType.BOOL, "local")
    start = Statement(new.position(), around, (), Store(flag, (), TRUE))
    nodes = [ArrayStatement(start, ())]
    for buffer, box in assumption.bounds.items():
        axes = loops_over(buffer, boxes, new.name)
        element = Load(buffer, tuple(a.var for a in axes))
        for condition in _conditions(element, box):
            store = Store(flag, (), Binary("and", Load(flag, ()), condition))
            s = Statement(new.position(), (*around, *axes), (), store, ("and", condition))
            nodes.append(ArrayStatement(s, axes))
    return flag, nodes


def _conditions(element: Expr, box: Bounds) -> Iterator[Expr]:
    """That a value is within bounds; NaN is not, as one of them is finite."""
    for op, bound in (("ge", box[0]), ("le", box[1])):
        if math.isfinite(bound):
            value = bound if element.dtype.is_float else int(bound)
            yield Binary(op, element, const(value, element.dtype))  # pyright: ignore[reportArgumentType]


def _said(name: str, box: Bounds) -> Iterator[str]:
    if math.isfinite(box[0]):
        yield f"{name} >= {box[0]:g}"
    if math.isfinite(box[1]):
        yield f"{name} <= {box[1]:g}"
