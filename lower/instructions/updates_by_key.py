"""Accumulators by key that steps look at: `n[K[t]] += 1`, as of slots in queues, stable sorts, and ranks within groups.

What a step finds is the sum over all earlier ones with its key. With a table of all keys for each step it is a prefix
sum along the steps (a one-hot encoding), which takes room for steps times keys, and no loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Buffer, Load, Var
from ir.traverse import has_loads, loads
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import linear, number
from lower.nest.nodes import Box, Fresh, loop_over

UPDATES_BY_KEY = Form(
    "structure.updates_by_key",
    "n[K[t]] += w  =  for k: if K[t] == k: n[k] += w",
    "an update changes one element of the table",
)
MOST = 1 << 25  # elements of a table for all steps


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
    op, term = s.update
    place = Load(s.buffer, (keys.var,))
    store = replace(s.store, indices=place.indices, value=Binary(op, place, term))
    guards = (*s.guards, Binary("eq", key, keys.var))
    return replace(s, loops=(*s.loops, keys), guards=guards, store=store, update=s.update)
