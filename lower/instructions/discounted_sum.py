"""Accumulators that each step of a loop multiplies by the same factor, `s = a * s + e(t)`, of which the end counts.

What a term has become by then is known before: the steps left have multiplied it by a power of `a`. So the loop is a
sum of terms with weights, and a product of matrices where the terms are products.
"""

from __future__ import annotations

from collections.abc import Mapping

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Store
from ir.traverse import free_vars, has_loads, loads, reads
from lower.analysis.freedoms import ORDER, Form
from lower.analysis.linear_forms import Linear, apart, atom, to_expr
from lower.instructions.recurrence import line, steps_alike, tame
from lower.nest.nodes import AtOnce, Box, Fresh
from lower.storage.array_expansion import depends_on

DISCOUNTED_SUMS = Form(
    "instructions.discounted_sum",
    "for t in n: s = a * s + e(t)  =  s = a ** n * s + sum of a ** (n - 1 - t) * e(t)",
    "a term is multiplied by the factor in each step that is left",
    ORDER,
)


def discounted_sum(
    statement: Statement, level: int, boxes: Mapping[Loop, Box], depth: Mapping[Buffer, int], new: Fresh
) -> AtOnce | None:
    """What an accumulator holds after a statement's loop at a level; None for statements of other kinds."""
    around, (loop, *inner) = statement.loops[:level], statement.loops[level:]
    store, box = statement.store, boxes.get(loop)
    own = Load(store.buffer, store.indices)
    if (
        box is None
        or not box.exact
        or not _accumulates(statement, loop, own)
        or not steps_alike(statement, loop, depth)
    ):
        return None
    found = line(store.value, own)
    factor, term = (None, None) if found is None else found
    if factor is None or term is None or reads(store.buffer, factor, term):
        return None
    if not _decays(factor, loop) or loop.var in depends_on(factor, statement.loops, depth):
        return None

    def power(steps: Linear) -> Expr:
        return Binary("pow", factor, Cast(factor.dtype, to_expr(steps, loop.var)))

    names = free_vars(*store.indices)
    places = tuple(o for o in inner if o.var in names)
    first = Store(store.buffer, store.indices, Binary("mul", power(box.extent), own))
    weighed = Binary("mul", power(box.low + box.extent - 1 - atom(loop.var)), term)
    total = Store(store.buffer, store.indices, Binary("add", own, weighed), store.span)
    return AtOnce(
        [
            Statement(new.position(), (*around, *places), (), first),
            Statement(new.position(), statement.loops, (), total, ("add", weighed)),
        ],
        [],
    )


def _accumulates(statement: Statement, loop: Loop, own: Load) -> bool:
    """Whether a statement stores to one place in all steps of a loop, and once in each."""
    store = statement.store
    names = free_vars(*store.indices)
    inner = statement.loops[statement.loops.index(loop) + 1 :]
    if not store.value.dtype.is_float or statement.guards or statement.tile is not None or statement.update is not None:
        return False
    if loop.var in names or not apart(store.indices, {o.var for o in inner}) or any(map(has_loads, store.indices)):
        return False
    return all(load.same(own) for load in loads(store.value) if load.buffer == own.buffer)


def _decays(factor: Expr, loop: Loop) -> bool:
    """Whether a factor is from 0 to 1: then no power of it is larger than what a run in order forms."""
    return not (isinstance(factor, Const) and factor.value == 1) and tame(factor, loop, least=0)
