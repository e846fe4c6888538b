"""Numbers that elements keep although a statement stores to them, since all that it adds to them, say, is neutral.

By induction over its stores: each leaves the number where it was there before. So an accumulation over padding is no
change for what comes after it either.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import islpy as isl
from msgspec.structs import replace

from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from ir.analysis import contents as held
from ir.analysis.contents import Contents
from ir.analysis.effects import LoopSets
from ir.nodes import Buffer, Const, For, If, Let, Stmt, Store
from ir.traverse import buffers_written, loads, stmt_children, walk

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts


def still_held(contexts: Contexts, f: Facts, stmt: Stmt, domain: isl.Set) -> Contents:
    """What is known of elements that a statement stores to, and still holds after it; variables are in `domain`."""
    constants = list(held.constants(f.known))
    numbers = {b for b, _, _ in constants}
    written = buffers_written(stmt) if len(numbers) > 1 else set[Buffer]()
    out: Contents = {}
    for buffer, value, region in constants:
        if buffer in written and _combines(stmt, buffer, numbers - written):
            rest = f.untouched(written)
            here = contexts.add_facts(replace(rest, domain=domain, known=rest.known | {(buffer, value): region}))
            if _keeps(contexts, here, stmt, buffer, value, region):
                out[buffer, value] = region
    return out


def _combines(stmt: Stmt, buffer: Buffer, numbers: Collection[Buffer]) -> bool:
    """Whether all stores to a buffer combine its element with others, of which some may be numbers that are known."""
    stores = [s for s in walk(stmt) if isinstance(s, Store) and s.buffer == buffer]
    read = [{load.buffer for load in loads(s.value)} for s in stores]
    return all(buffer in r for r in read) and any(not r.isdisjoint(numbers) for r in read)


def _keeps(contexts: Contexts, facts: int, stmt: Stmt, buffer: Buffer, value: Const, region: isl.Set) -> bool:
    """Whether each store to a buffer writes a number wherever the element held it before."""
    match stmt:
        case Store() if stmt.buffer == buffer:
            spot = contexts.facts(facts).spot(stmt.indices)
            if spot is None or not spot.is_subset(region):
                return spot is not None and spot.is_disjoint(region)
            found = contexts.value(facts, stmt.value)
            return isinstance(found, Const) and found.same(value)
        case If(cond=cond, then=then, other=other):
            arms = ((contexts.assume(facts, cond, truth), arm) for truth, arm in ((True, then), (False, other)))
            return all(at == IMPOSSIBLE or _keeps(contexts, at, arm, buffer, value, region) for at, arm in arms)
        case For(body=body):
            f = contexts.facts(facts)
            inside = replace(f.entering(stmt), domain=f.domain.intersect(LoopSets.of(stmt).may))
            return _keeps(contexts, contexts.add_facts(inside), body, buffer, value, region)
        case Let():
            return False
        case _:
            return all(_keeps(contexts, facts, part, buffer, value, region) for part in stmt_children(stmt))
