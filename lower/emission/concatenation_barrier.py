"""Concatenations of which slices are read across the borders of their parts: they are worked out once.

XLA takes a slice of a concatenation for a concatenation of slices, which it copies together anew for each of them.
Behind a barrier there is one. Measured on CPU along the last axis, loops and not: `Y[:, :-2] + Y[:, 2:]` of 40 x 300 up
to 1000 x 1000, stored with ends of its own, takes 0.4 to 0.65 times as long; where nothing is concatenated again, about
the same. Along other axes, where such copies are long, or where each slice lies in one part, the barrier only costs.
"""

from __future__ import annotations

from collections.abc import Sequence

from lower.program.build import assign, call
from lower.program.nodes import (
    Assign,
    Call,
    JaxExpr,
    JaxStmt,
    Literal,
    Name,
    Slice,
    Subscript,
    names_bound,
    path_of,
    walk,
)

_READS = 2  # slices across borders from which on one array is made for all


def behind_barrier(stmt: Assign, axis: int, borders: Sequence[int], after: Sequence[JaxStmt]) -> Assign:
    """The statement that makes an array of its parts, with a barrier where the statements after it gain by one.

    `borders` are those of the parts along the last axis, which is number `axis`, with both ends.
    """
    code = stmt.value
    joins = isinstance(code, Call) and path_of(code.function) == "jnp.concatenate"
    if not joins or not isinstance(stmt.target, Name):
        return stmt
    count = 0
    for later in after:
        for node in walk(later):
            if isinstance(node, Subscript) and node.value == stmt.target and axis < len(node.items):
                count += _crosses(node.items[axis], borders)
        if stmt.target.id in names_bound(later):
            break
    return assign(stmt.target.id, call("kept", code)) if count >= _READS else stmt


def _crosses(item: JaxExpr, borders: Sequence[int]) -> bool:
    """Whether a part of an axis, and not all of it, lies on both sides of a border."""
    if not isinstance(item, Slice) or item.low is item.stop is None:
        return False
    low, stop = _number(item.low, borders[0]), _number(item.stop, borders[-1])
    return low is None or stop is None or any(low < b < stop for b in borders[1:-1])


def _number(end: JaxExpr | None, otherwise: int) -> int | None:
    """The end of a slice, if it is known."""
    if end is None:
        return otherwise
    return end.value if isinstance(end, Literal) and isinstance(end.value, int) else None
