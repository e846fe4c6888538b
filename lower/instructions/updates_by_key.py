"""Accumulators by key that steps look at: `n[K[t]] += 1`, as of slots in queues, stable sorts, and ranks within groups.

What a step finds is the sum over all earlier ones with its key. With a table of all keys for each step it is a prefix
sum along the steps (a one-hot encoding), which takes room for steps times keys, and no loop. Where nobody looks in
between, and many rows have the same few keys, sums are products with the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.analysis.dependence import Loop, Statement
from ir.floats import Floats
from ir.nodes import Binary, Buffer, Load, Var, const
from ir.traverse import free_vars, has_loads, loads, reads
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear, number
from lower.nest.nodes import Box, Fresh, loop_over
from lower.nest.normalize import Program

UPDATES_BY_KEY = Form(
    "structure.updates_by_key",
    "n[K[t]] += w  =  for k: if K[t] == k: n[k] += w",
    "an update changes one element of the table",
)
KEYS_AS_PRODUCTS = Form(
    "structure.keys_as_products",
    "C[t, K[i]] += v(t, i)  =  for k: C[t, k] += v(t, i) * (K[i] == k)",
    "a product with the truths adds what has the key",
    Floats.REASSOCIATE | Floats.FINITE | Floats.NO_SIGNED_ZEROS,
)
MOST = 1 << 25  # elements of a table for all steps
FEWEST_ROWS = 16  # that are stored to by the same keys: a product with them reads each truth as often
_STORED = 0.25  # of what a store by data takes where it stands alone: measured on CPU, 0.4 to 1 ns in rows of sums


def over_all_keys(
    group: Sequence[Statement], level: int, boxes: dict[Loop, Box], depth: Mapping[Buffer, int], new: Fresh
) -> list[Statement] | None:
    """A group whose updates at keys from data, which others in it read, go over all keys; None if there are none."""
    found = [_over_all_keys(s, group, level, boxes, depth, new) for s in group]
    return None if all(a is b for a, b in zip(found, group, strict=True)) else found


def _over_all_keys(
    s: Statement,
    group: Sequence[Statement],
    level: int,
    boxes: dict[Loop, Box],
    depth: Mapping[Buffer, int],
    new: Fresh,
) -> Statement:
    """The statement over all keys, or as it is."""
    steps = boxes.get(s.loops[level])
    shared = depth.get(s.buffer, 0) <= level and any(s.buffer in o.buffers() for o in group if o is not s)
    if s.update is None or len(s.store.indices) != 1 or len(s.loops) != level + 1 or not shared or steps is None:
        return s
    key, size = s.store.indices[0], linear(s.buffer.shape[0])
    stored = {o.buffer for o in group}
    alone = all(o is s or o.buffer != s.buffer for o in group)
    fixed = has_loads(key) and not any(load.buffer in stored for load in loads(key))
    if not (alone and fixed and size.is_const and steps.extent.is_const):
        return s
    if size.const * steps.extent.const > MOST:
        return s
    keys = loop_over(Var(new.name("key"), key.dtype), Box(number(0), size, exact=True), boxes)
    return _at_its_key(s, 0, keys)


def _at_its_key(s: Statement, dim: int, keys: Loop) -> Statement:
    """An update over all keys along a dimension, which changes the element of its own key only."""
    assert s.update is not None
    op, term = s.update
    indices = tuple(keys.var if d == dim else i for d, i in enumerate(s.store.indices))
    store = replace(s.store, indices=indices, value=Binary(op, Load(s.buffer, indices), term))
    guards = (*s.guards, Binary("eq", s.store.indices[dim], keys.var))
    return replace(s, loops=(*s.loops, keys), guards=guards, store=store)


def keys_as_products(program: Program, target: Target) -> None:
    """Let sums by few keys, the same for many rows, go over all keys where products take less than stores by data."""
    for k, s in enumerate(program.statements):
        if s.update is not None and s.update[0] == "add" and program.policy.may(KEYS_AS_PRODUCTS, s.buffer.dtype):
            program.statements[k] = _over_few_keys(s, program, target)


def _over_few_keys(s: Statement, program: Program, target: Target) -> Statement:
    """A sum by keys over all of them, where that is cheaper, or as it is."""
    by_data = [d for d, i in enumerate(s.store.indices) if has_loads(i)]
    if len(by_data) != 1 or s.tile is not None or s.guards:
        return s
    (dim,) = by_data
    key, size = s.store.indices[dim], linear(s.buffer.shape[dim])
    own = {o.var for o in s.loops[: program.depth.get(s.buffer, 0)]}
    kept = own | free_vars(*(i for d, i in enumerate(s.store.indices) if d != dim))
    sums = [o for o in s.loops if o.var in free_vars(key) and o.var not in kept]
    beside = [o for o in program.statements if o is not s and any(k in o.loops for k in sums)]
    looked_at = reads(s.buffer, key) or any(s.buffer in o.buffers() for o in beside)
    if looked_at or not sums or not size.is_const:
        return s
    keys = Loop(Var(program.fresh("key"), key.dtype), const(0, key.dtype), const(size.const, key.dtype))
    found = _at_its_key(s, dim, keys)
    if kept and kept <= free_vars(key):  # each row has keys of its own, which are compared one by one
        each, scattered = operations.keys_compared(target, size.const), operations.stored_by_key(target)
        return found if cheaper("keys one by one", each, scattered) else s
    rows = [linear(o.extent) for o in s.loops if o.var in kept - free_vars(key)]
    if dim == 0 or not s.buffer.dtype.is_float or not rows or not all(e.is_const for e in rows):
        return s  # rows as wholes are stored fast
    few = prod(e.const for e in rows) < FEWEST_ROWS
    products = size.const * target.contraction, _STORED * target.store_by_data
    return s if few or not cheaper("keys as products", *products) else found
