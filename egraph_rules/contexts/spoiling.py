"""What is known of buffers against what may spoil it: the arithmetic of regions behind contexts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

import islpy as isl

from ir.analysis import contents as held
from ir.analysis.contents import Contents, Regions
from ir.analysis.effects import stored_places
from ir.nodes import Buffer, Load, Stmt, Undef, Var
from ir.presburger import sets as pb
from ir.traverse import all_exprs

_MAX_PIECES = 16
_WHOLE = 2  # pieces of what is known that are kept as they are
_MAX_JOINED = 24

K = TypeVar("K")


def same_regions(one: Mapping[K, isl.Set], other: Mapping[K, isl.Set]) -> bool:
    """Whether the same regions are known of the same things."""
    return one.keys() == other.keys() and all(r is other[k] or r.plain_is_equal(other[k]) for k, r in one.items())


def less(known: Contents, taken: Regions) -> Contents:
    """Contents without what was taken; none where they would fall into many pieces, since less may be known."""
    out: Contents = {}
    for (buffer, value), region in known.items():
        hit = held.touching(value, len(buffer.shape), taken) if held.is_function(value) else None
        for gone in (taken.get(buffer), hit):
            if gone is not None and region.n_basic_set() * gone.n_basic_set() > _MAX_PIECES:
                region = pb.nothing(len(buffer.shape))
            elif gone is not None:
                region = region.subtract(gone)
        out[buffer, value] = region
    return out


def told_of(known: Contents, buffers: Collection[Buffer]) -> Contents:
    """What is known of buffers, and of those that their values read, as far as elements are followed."""
    told_by: dict[Buffer, set[Buffer]] = defaultdict(set)
    for buffer, value in known:
        told_by[buffer] |= {*held.reads(value), *held.names(value)}
    wanted, left = set(buffers), set(buffers)
    for _ in range(held.MAX_FOLLOWED):
        left = {b for buffer in left if buffer in told_by for b in told_by[buffer]} - wanted
        if not left:
            break
        wanted |= left
    return {(b, v): r for (b, v), r in known.items() if b in wanted}


def relied(known: Contents, live: Regions, domain: isl.Set) -> Iterator[tuple[Buffer, isl.Set]]:
    """What facts rely on among buffers that may be spoiled: where they know a value, and what that value reads."""
    for (buffer, value), region in known.items():
        if buffer in live and not held.is_idle(buffer, value):
            yield buffer, region
        if held.is_function(value) and any(b in live for b in held.reads(value)):
            for read, spots in held.read_by(value, region.intersect_params(domain)):
                if read in live:
                    yield read, spots


def of_use(live: Regions, body: Stmt, domain: isl.Set) -> Regions:
    """Permissions without those on buffers of which a body only stores to elements that it names and that are live.

    With fewer of them more contexts are the same, and what is known is relied on without a second thought.
    """
    named = stored_places(body) if live else {}

    def needed(buffer: Buffer) -> bool:
        spots = [pb.point(indices) for indices in named.get(buffer, ())]
        there = [s.intersect_params(domain) for s in spots if s is not None]
        return not spots or len(there) < len(spots) or not all(s.is_subset(live[buffer]) for s in there)

    return {b: r for b, r in live.items() if needed(b)}


def arbitrary(known: Contents, written: Regions, live: Regions) -> Contents:
    """What stays undef where permissions come first: also dead elements that a statement has written.

    So where it writes nothing else, what was known before it is known after it, and that is no context of its own: of a
    row of statements that may go, each would double those of all that follows.
    """
    found: Contents = {}
    for (buffer, value), region in known.items():
        if isinstance(value, Undef) and buffer in live and buffer in written:
            taken = written[buffer].intersect(live[buffer])
            found[buffer, value] = region if taken.is_empty() else region.subtract(taken)
    return found


def few(region: isl.Set, pieces: int = _MAX_PIECES, more: isl.Set | None = None) -> isl.Set:
    """A live region, with what is live `more`, in few pieces: more may count as live. isl looks at all pairs of pieces
    to join some."""
    region = region if more is None else region.union(more)
    if _MAX_PIECES // 2 < region.n_basic_set() <= _MAX_JOINED:
        region = region.coalesce()
    return region if region.n_basic_set() <= pieces else pb.hull(region)


def there(region: isl.Set, box: isl.Set, domain: isl.Set, found: dict[int, isl.Set]) -> isl.Set:
    """A region in which something is known, as far as there are such elements and such values of variables.

    Loops take away what other iterations write: of what is left, most of the pieces would be neither. What has been
    `found` further out, which is by identity and lives as long, is as it is.
    """
    if region.n_basic_set() <= _WHOLE or id(region) in found:
        return region
    region = region.intersect(box.intersect_params(domain)).coalesce()
    found[id(region)] = region
    return region


def bindings(known: Contents, stmt: Stmt) -> set[Buffer]:
    """The bound names that something is known of and that a statement uses, or whose elements it reads again."""
    bound = {(b, v) for b, v in known if held.is_binding(b)}
    if not bound:
        return set()
    used = {held.binding(e) for e in all_exprs(stmt) if isinstance(e, Var)}
    read = {e.buffer for e in all_exprs(stmt) if isinstance(e, Load)}
    return {b for b, v in bound if b in used or (v.dtype.is_integer and not read.isdisjoint(held.reads(v)))}
