"""Stores at places that data say, or if they say so, where a later iteration replaces what an earlier one stored.

`B[p[i]] = e(i)` must run in order only for the sake of places that several iterations store to. The last iteration that
stores to each place is a maximum, in which their order does not matter; what it stores is then read at that iteration.
`if c[i]: s = e(i)` is the same at one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ir.analysis.dependence import Loop, Statement
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Expr, Load, Store, Var
from ir.traverse import free_vars, has_loads, reads, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import to_expr
from lower.nest.nodes import AtOnce, Box, Fresh, loops_over
from lower.storage.array_expansion import recorded

LAST_WRITER = Form(
    "instructions.last_writer",
    "for i: B[p[i]] = e(i)  =  for i: k[p[i]] = max(k[p[i]], i); for q: B[q] = e(k[q]) where k[q] is an iteration",
    "the last iteration that stores to a place decides what it holds",
)


def last_writer(
    statement: Statement, level: int, boxes: dict[Loop, Box], depth: Mapping[Buffer, int], new: Fresh
) -> AtOnce | None:
    """What stores the same as a statement's loop at a level and those inside of it; None for stores of other kinds."""
    around, (loop, *inner) = statement.loops[:level], statement.loops[level:]
    box = boxes.get(loop)
    if box is None or loop.var.dtype is not DType.INT32:
        return None
    made = recorded([statement], (loop,), (box,), {b for b, d in depth.items() if d > level}, new)
    if made is None:
        return None
    (statement,) = made.statements
    store = statement.store
    chosen = [d for d, i in enumerate(store.indices) if loop.var in free_vars(i)]
    if not _fits(statement, loop, inner, chosen):
        return None
    shape = tuple(store.buffer.shape[d] for d in chosen)
    last = Buffer(new.name(f"{loop.var.name}_last"), shape, DType.INT32, "local")
    places = loops_over(last, boxes, new.name)
    here, none = tuple(o.var for o in places), to_expr(box.low - 1, loop.var)
    own = Load(last, tuple(store.indices[d] for d in chosen))
    found = Load(last, here)
    begin = Statement(new.position(), (*around, *places), (), Store(last, here, none))
    update = Statement(
        new.position(),
        (*around, loop),
        statement.guards,
        Store(last, own.indices, Binary("max", own, loop.var)),
        ("max", loop.var),
    )
    there: dict[Var, Expr] = {loop.var: found}
    where = dict(zip(chosen, here, strict=True))
    indices = tuple(where.get(d, i) for d, i in enumerate(store.indices))
    kept = Statement(
        new.position(),
        (*around, *places, *inner),
        (Binary("gt", found, none),),
        Store(store.buffer, indices, substitute_expr(store.value, there), store.span),
    )
    return AtOnce([*made.first, begin, update, kept], [last, *made.arrays])


def _fits(statement: Statement, loop: Loop, inner: Sequence[Loop], chosen: Sequence[int]) -> bool:
    """Whether data say where or when a loop stores, to the same extent in all loops inside of it, and nothing reads
    that."""
    store, others = statement.store, {o.var for o in inner}
    if statement.tile is not None or statement.update is not None:
        return False
    picks = [store.indices[d] for d in chosen]
    bounds = [e for o in inner for e in (o.start, o.extent)]
    steady = not any(free_vars(e) & others for e in (*picks, *statement.guards))
    steady = steady and not any(loop.var in free_vars(e) or has_loads(e) for e in bounds)
    apart = not reads(store.buffer, *statement.exprs())
    by_data = any(map(has_loads, picks)) if chosen else any(loop.var in free_vars(g) for g in statement.guards)
    return steady and apart and by_data
