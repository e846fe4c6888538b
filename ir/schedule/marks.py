"""Promises that loops make, after a step has changed what they hold."""

from __future__ import annotations

from msgspec.structs import replace

from ir.analysis.legality import carried
from ir.nodes import For, PrimFunc
from ir.presburger.facts import facts_at
from ir.program.edit import loop_path, loops_of, with_body


def with_true_marks(before: PrimFunc, after: PrimFunc) -> PrimFunc:
    """`after`, in which a changed loop is parallel or vectorized only if its iterations are shown to be independent.

    A loop that is as it was keeps what its author promised.
    """
    kept = [loop for loop in loops_of(before).values() if loop.kind in ("parallel", "vectorized")]
    for name, loop in loops_of(after).items():
        if loop.kind not in ("parallel", "vectorized") or any(loop == old for old in kept):
            continue
        path = loop_path(after, name)
        now = path[-1]
        assert isinstance(now, For)
        if carried(now, facts_at(after, path)) is not None:
            after = with_body(after, path, replace(now, kind="serial"))
    return after
