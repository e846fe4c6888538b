"""Numbers that elements keep although a statement stores to them, since all that it adds to them, say, is neutral.

By induction over its stores: each leaves the number where it was there before. So an accumulation over padding is no
change for what comes after it either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import islpy as isl
from msgspec.structs import replace

from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from ir.analysis import contents as held
from ir.analysis.contents import Contents, Value
from ir.analysis.effects import Effects, LoopSets, before
from ir.nodes import Buffer, Const, For, If, Let, Load, Select, Stmt, Store
from ir.presburger import sets as pb
from ir.traverse import buffers_read, buffers_written, loads, stmt_children, stores_in, walk

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts


def still_held(contexts: Contexts, f: Facts, stmt: Stmt, domain: isl.Set) -> Contents:
    """What is known of elements that a statement stores to, and still holds after it; variables are in `domain`."""
    claims = list(_claims(f.known))
    numbers = {b for b, _, _ in claims}
    written = buffers_written(stmt) if claims else set[Buffer]()
    out: Contents = {}
    for buffer, value, region in claims:
        others = None if held.is_function(value) else numbers - written
        if (
            buffer not in written
            or not (held.reads(value) & written) <= {buffer}
            or not _combines(stmt, buffer, others)
        ):
            continue
        rest = f.untouched(written)
        for part in (region, region.intersect(_told_alike(stmt, buffer, f.known))):
            here = contexts.add_facts(replace(rest, domain=domain, known=rest.known | {(buffer, value): part}))
            if _keeps(contexts, here, stmt, buffer, value, part):
                out[buffer, value] = part
                break
    return out


def _told_alike(stmt: Stmt, buffer: Buffer, known: Contents) -> isl.Set:
    """Where numbers are known of all other elements that stores to a buffer read at the place that they store to."""
    region = pb.whole(len(buffer.shape))
    for store in walk(stmt):
        if isinstance(store, Store) and store.buffer == buffer:
            read = {load.buffer for load in loads(store.value) if load.indices == store.indices} - {buffer}
            told = {b: [r for other, _, r in held.constants(known) if other == b] for b in read}
            for regions in filter(None, told.values()):
                region = region.intersect(reduce(isl.Set.union, regions))
    return region


def written_again(known: Contents, body: Effects, loop: LoopSets) -> Contents:
    """Numbers known at the start of a loop that elements hold in any iteration, since it writes the same ones there."""
    early = f"{loop.name}'"
    out: Contents = {}
    for buffer, value, region in held.constants(known):
        if (buffer, value) in body.established and buffer in body.may:
            others = body.may[buffer].subtract(body.established[buffer, value])
            out[buffer, value] = region.subtract(loop.other(others, before(early, loop.name), loop.may, early))
    return out


def _claims(known: Contents) -> Iterator[tuple[Buffer, Value, isl.Set]]:
    """The elements that are known to be a number, everywhere or unless a condition on data holds, and which."""
    yield from held.constants(known)
    for (buffer, value), region in known.items():
        match value:
            case Select(then=Load(buffer=own), other=Const()) if own == buffer:
                yield buffer, value, region
            case _:
                pass


def _combines(stmt: Stmt, buffer: Buffer, numbers: Collection[Buffer] | None) -> bool:
    """Whether all stores to a buffer combine its element, with others of which some may be `numbers` where given."""
    stores = [s for s in stores_in(stmt) if s.buffer == buffer]
    read = [buffers_read(s.value) for s in stores]
    return all(buffer in r for r in read) and (numbers is None or any(not r.isdisjoint(numbers) for r in read))


def _keeps(contexts: Contexts, facts: int, stmt: Stmt, buffer: Buffer, value: Value, region: isl.Set) -> bool:
    """Whether each store to a buffer writes what the element held before it wherever that is known."""
    match stmt:
        case Store() if stmt.buffer == buffer:
            spot = contexts.facts(facts).spot(stmt.indices)
            if spot is None or not spot.is_subset(region):
                return spot is not None and spot.is_disjoint(region)
            return _writes(contexts, facts, stmt, value)
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


def _writes(contexts: Contexts, facts: int, store: Store, value: Value) -> bool:
    """Whether a store writes a number, at least unless the condition holds under which the element may be another."""
    match held.at(value, store.indices):
        case Const() as number:
            at = facts
        case Select(cond=cond, then=Load() as own, other=number) if own.indices == store.indices:
            at = contexts.assume(facts, cond, truth=False)
        case _:
            return False
    found = None if at == IMPOSSIBLE else contexts.value(at, store.value)
    return at == IMPOSSIBLE or (isinstance(found, Const) and found.same(number))
