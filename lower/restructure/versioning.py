"""Two versions of statements: where the data are within bounds, some stores change nothing and hold nobody up.

`s` is `if c: s else: s` for any c. A c is worth inventing where it makes instances of statements idle: conditions of
the laws in `lower/nest/silent_stores.py`. It is tested once, before the loops, of all that a buffer holds, since the
statements themselves keep it true: the shortest of ways of no negative length has none. NaN is within no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Idle, Loop, Statement
from ir.nodes import Binary, Buffer, Expr, Load, Store, const
from ir.presburger import sets as presburger
from ir.traverse import buffers_read
from lower.analysis.freedoms import Form, Policy
from lower.analysis.value_ranges import Bounds, holds, kept
from lower.array.reduce import neutral_number
from lower.nest.nodes import ArrayStatement, Box, Fresh, array_statement, loops_over
from lower.nest.silent_stores import unchanged

VERSIONING = Form(
    "structure.versioning",
    "S  =  if data are within bounds: S without silent stores else: S",
    "both are S; the test is one that the statements keep true",
)

WORTH = 0.7  # the part of the price of one version below which two are taken: they are compiled both
_EXTREMES: tuple[tuple[str, Literal["min", "max"], Literal["ge", "le"]], ...] = (
    ("least", "min", "ge"),
    ("most", "max", "le"),
)
_BOUNDS: tuple[Bounds, ...] = ((0.0, math.inf), (0.0, 1.0), (-math.inf, 0.0), (1.0, math.inf))


class Assumption(Struct, frozen=True):
    """Bounds on what buffers hold, before statements and after each of them, and which instances are idle then."""

    bounds: Mapping[Buffer, Bounds]
    idle: Idle

    def __str__(self) -> str:
        return " and ".join(c for b, box in self.bounds.items() for c in _said(b.name, box))


def assumptions(
    statements: Sequence[Statement], outside: Callable[[Buffer], bool], policy: Policy
) -> Iterator[Assumption]:
    """Assumptions that leave instances of statements idle; only buffers for which `outside` holds can be tested."""
    found = {s.position: presburger.within_budget(lambda s=s: unchanged(s, policy), []) for s in statements}
    read = buffers_read(*(c for several in found.values() for u in several for c in u.conditions))
    if not read or not all(map(outside, read)):
        return
    for box in _BOUNDS:
        bounds = kept(statements, dict.fromkeys(sorted(read, key=lambda b: b.name), box))
        idle: dict[int, presburger.isl.Set] = {}
        conditions: list[Expr] = []
        for position, several in found.items():
            for u in several:
                if all(holds(c, bounds) for c in u.conditions):
                    known = idle.get(position, u.instances)
                    idle[position] = presburger.within_budget(lambda u=u, k=known: u.instances.union(k), known)
                    conditions += u.conditions
        needed = buffers_read(*conditions)
        if needed:  # what keeps the bounds of these may speak of all
            yield Assumption(bounds, idle)


def test(
    assumption: Assumption,
    around: tuple[Loop, ...],
    boxes: dict[Loop, Box],
    new: Fresh,
) -> tuple[Expr, list[ArrayStatement], list[Buffer]]:
    """Whether all elements are within their bounds, with the statements before that and the locals in them.

    It looks at extremes: XLA finds them in one pass, but keeps the truth values of all elements for `all`. One NaN
    makes an extreme NaN, which is within no bounds, as one of those is finite.
    """
    nodes: list[ArrayStatement] = []
    found: list[Expr] = []
    locals_: list[Buffer] = []
    for buffer, box in assumption.bounds.items():
        for (name, extreme, op), bound in zip(_EXTREMES, box, strict=True):
            if not math.isfinite(bound):
                continue
            value = bound if buffer.dtype.is_float else int(bound)
            best = Buffer(new.name(name), (), buffer.dtype, "local")
            axes = loops_over(buffer, boxes, new.name)
            element = Load(buffer, tuple(a.var for a in axes))
            start = Store(best, (), const(neutral_number(extreme, buffer.dtype), buffer.dtype))
            store = Store(best, (), Binary(extreme, Load(best, ()), element))
            nodes.append(array_statement(start, around, (), new))
            s = Statement(new.position(), (*around, *axes), (), store, (extreme, element))
            nodes.append(ArrayStatement(s, axes))
            found.append(Binary(op, Load(best, ()), const(value, buffer.dtype)))
            locals_.append(best)
    return conjunction(found), nodes, locals_


def _said(name: str, box: Bounds) -> Iterator[str]:
    if math.isfinite(box[0]):
        yield f"{name} >= {box[0]:g}"
    if math.isfinite(box[1]):
        yield f"{name} <= {box[1]:g}"
