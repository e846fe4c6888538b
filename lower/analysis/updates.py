"""Stores that combine what an element holds with something: `B[f] = B[f] op e`, in any order of the iterations."""

from __future__ import annotations

from typing import get_args

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.floats import Floats
from ir.nodes import Binary, Expr, Load, Store
from ir.traverse import free_vars, has_load, has_loads, reads
from lower.analysis.freedoms import Form, Policy
from lower.analysis.linear_forms import apart

UPDATES = Form(
    "structure.sums",
    "B[f] = B[f] + e in any order of the iterations",
    "sums and products commute, from a zero or one on",
    Floats.REASSOCIATE | Floats.NO_SIGNED_ZEROS,
)
EXTREMES = Form(
    "structure.extremes",
    "B[f] = max(B[f], e) in any order of the iterations",
    "minima and maxima commute",
    Floats.NO_SIGNED_ZEROS,
)

BITWISE = frozenset(("bitand", "bitor", "bitxor"))
_UPDATES: dict[str, UpdateOp] = {o: o for o in get_args(UpdateOp)}


def as_update(s: Statement, policy: Policy) -> Statement:
    """A statement with what it adds or the like told apart, if it is such and may be done in any order."""
    return replace(s, update=update_of(s.store, s.guards, s.loops, policy))


def update_of(
    store: Store, guards: tuple[Expr, ...], loops: tuple[Loop, ...], policy: Policy
) -> tuple[UpdateOp, Expr] | None:
    """The operator and the rest of `B[f] = B[f] op rest`, when nothing else in it reads that element.

    Reads of other elements of B are dependences like any other; only a place, a guard or a bound may not depend on B.
    None too where it may not be combined in another order, and for operators on bits where several iterations may store
    to one element but for those of loops that its place does not name: JAX has no scatter for them.
    """
    own = Load(store.buffer, store.indices)
    found = split_update(store.value, own)
    if found is None or has_load(found[1], own):
        return None
    if not policy.may(EXTREMES if found[0] in ("min", "max") else UPDATES, store.value.dtype):
        return None
    named = free_vars(*store.indices) & {loop.var for loop in loops}
    if found[0] in BITWISE and (any(map(has_loads, store.indices)) or not apart(store.indices, named)):
        return None
    around = (*store.indices, *guards, *(e for loop in loops for e in (loop.start, loop.extent)))
    return None if reads(store.buffer, *around) else found


def split_update(value: Expr, own: Load) -> tuple[UpdateOp, Expr] | None:
    """The operator and the rest of `own op rest`; None if a value is no such form."""
    if not isinstance(value, Binary) or value.op not in _UPDATES:
        return None
    op = _UPDATES[value.op]
    if value.lhs.same(own):
        return op, value.rhs
    if op == "sub":
        # (own + a) - b and the like: only the left spine holds the accumulator.
        inner = split_update(value.lhs, own)
        if inner is not None and inner[0] == "sub":
            return "sub", Binary("add", inner[1], value.rhs)
        if inner is not None and inner[0] == "add":
            return "add", Binary("sub", inner[1], value.rhs)
        return None
    if value.rhs.same(own):
        return op, value.lhs
    for side, rest in ((value.lhs, value.rhs), (value.rhs, value.lhs)):
        inner = split_update(side, own)
        if inner is None:
            continue
        if inner[0] == op:
            return op, Binary(value.op, inner[1], rest)
        if op == "add" and inner[0] == "sub":
            return "add", Binary("sub", rest, inner[1])
    return None
