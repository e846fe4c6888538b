"""What holds of elements by induction over the stores of a statement.

Numbers that elements keep although it stores to them, since all that it adds to them, say, is neutral: each store
leaves the number where it was there before. So an accumulation over padding is no change for what comes after it
either. And bounds that stores leave if those had that left what they read, as in a recurrence: a running maximum that
starts at 0 is never below it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, cast

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from ir.analysis import contents as held
from ir.analysis.contents import Contents, Value
from ir.analysis.effects import EffectAnalysis, Effects, LoopSets, before, get
from ir.analysis.invariants import Side, leaves
from ir.floats import Floats
from ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, If, Let, Load, Select, Seq, Stmt, Store
from ir.presburger import sets as pb
from ir.traverse import buffers_read, buffers_written, loads, stmt_children, stores_in, walk

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts
    from egraph_rules.contexts.regular import Numbers

Bound = tuple[Side, Const]

_MOST_BOUNDS = 6  # that are tried of a buffer
_SIDES: tuple[Side, ...] = "ge", "le"


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


# Bounds of recurrences ------------------------------------------------------------------------------------------------


class Bounded(Struct, frozen=True):
    """A bound that all stores of a statement to a buffer leave, and of which elements it held before."""

    buffer: Buffer
    side: Side
    number: Const
    before: isl.Set

    @property
    def claim(self) -> Value:
        """The bound as a condition on any element."""
        return Binary(self.side, held.element(self.buffer), self.number)

    def after(self, written: isl.Set) -> Contents:
        """What is known once some elements have been written."""
        return {(self.buffer, self.claim): self.before.union(written)}


def recurrent_bounds(
    contexts: Contexts, facts: int, stmt: Stmt, numbers: Numbers, *, started: bool = False
) -> Iterator[Contents]:
    """The bounds that a statement leaves of elements that it makes of others of the same buffer; `facts` hold before.

    Where it is `started`, those at the start of an iteration of a loop. Of floats each holds unless the element is no
    number. Of what the program compares with nothing else no bound is of use.
    """
    if not isinstance(stmt, (For, Seq)) or Floats.FINITE not in contexts.floats:
        return
    effects = contexts.effects

    def question() -> list[Bounded]:
        f, buffers = contexts.facts(facts), [b for b in _recurrent(stmt) if numbers.compares(b)]
        told = [*_told(f.untouched(buffers_written(stmt)), stmt)] if buffers else []
        found = (claim for buffer in buffers for claim in _candidates(f, stmt, buffer, told))
        return [c for c in found if _Induction(c, told, effects, numbers.defined).leaves(stmt, c.before, f.domain)]

    for bound in cast("list[Bounded]", contexts.ask(("recurrent", facts, contexts.identity(stmt)), question, [])):
        if started and isinstance(stmt, For):
            yield bound.after(earlier(bound, stmt, effects))
        else:
            yield bound.after(get(effects.of(stmt).must, bound.buffer))


def earlier(bound: Bounded, loop: For, effects: EffectAnalysis) -> isl.Set:
    """The elements of a buffer that iterations before the one at hand have written."""
    sets = LoopSets.of(loop)
    early = f"{sets.name}'"
    return sets.other(get(effects.of(loop.body).must, bound.buffer), before(early, sets.name), sets.must, early)


def _recurrent(stmt: Stmt) -> list[Buffer]:
    """The buffers to which a statement stores what it makes of other elements of them."""
    local = {s.buffer for s in walk(stmt) if isinstance(s, Alloc)}
    found = [
        s.buffer
        for s in stores_in(stmt)
        if s.buffer not in local and any(e.buffer == s.buffer and e.indices != s.indices for e in loads(s.value))
    ]
    return [*dict.fromkeys(found)]


def _told(f: Facts, stmt: Stmt) -> Iterator[tuple[Buffer, Bound, isl.Set]]:
    """The bounds that are known of elements that a statement reads, all of which `f` tells of."""
    read = {load.buffer for s in stores_in(stmt) for load in loads(s.value)}
    for (buffer, value), region in f.known.items():
        if buffer in read:
            yield from ((buffer, bound, region) for bound in held.bounds(buffer, value, region, f.known, f.domain))


def _candidates(
    f: Facts, stmt: Stmt, buffer: Buffer, told: Iterable[tuple[Buffer, Bound, isl.Set]]
) -> Iterator[Bounded]:
    """Bounds that some elements have, or that some store may leave."""
    nowhere = pb.nothing(len(buffer.shape))
    regions: dict[Bound, isl.Set] = {}
    for (about, value), region in f.known.items():
        for bound in held.bounds(buffer, value, region, f.known, f.domain) if about == buffer else ():
            regions[bound] = regions.get(bound, nowhere).union(region)
    stored = [s.value for s in stores_in(stmt) if s.buffer == buffer]
    read = {load.buffer for value in stored for load in loads(value)}
    numbers: list[Bound] = [(side, number) for value in stored for number in _extremes(value) for side in _SIDES]
    for bound in (*numbers, *(bound for other, bound, _ in told if other in read)):
        regions.setdefault(bound, nowhere)
    for (side, number), region in [*regions.items()][:_MOST_BOUNDS]:
        yield Bounded(buffer, side, number, region)


def _extremes(value: Expr) -> Iterator[Const]:
    """The numbers that a value is, or that it is the greater or smaller one of."""
    match value:
        case Const():
            yield value
        case Binary(op="max" | "min", lhs=a, rhs=b) | Select(then=a, other=b):
            yield from _extremes(a)
            yield from _extremes(b)
        case _:
            pass


class _Induction(Struct, frozen=True):
    """A proof that stores leave a bound, given what is `told` of elements that nobody writes meanwhile."""

    bound: Bounded
    told: Sequence[tuple[Buffer, Bound, isl.Set]]
    effects: EffectAnalysis
    defined: Collection[Buffer]

    def leaves(self, stmt: Stmt, within: isl.Set, domain: isl.Set) -> bool:
        """Whether each store of a statement leaves the bound, if the elements `within` have it before the statement."""
        buffer = self.bound.buffer
        match stmt:
            case Store() if stmt.buffer == buffer:
                known = [(buffer, within), *((b, r) for b, bound, r in self.told if self._implies(bound))]

                def has(load: Load) -> bool:
                    spot = pb.point(load.indices)
                    here = None if spot is None else spot.intersect_params(domain)
                    return here is not None and any(b == load.buffer and here.is_subset(r) for b, r in known)

                return leaves(stmt, self.bound.side, self.bound.number, self.defined, has)
            case Seq(stmts=stmts):
                for part in stmts:
                    if not self.leaves(part, within, domain):
                        return False
                    within = within.union(get(self.effects.of(part).must, buffer))
                return True
            case For(body=body):
                inside = domain.intersect(LoopSets.of(stmt).may)
                return self.leaves(body, within.union(earlier(self.bound, stmt, self.effects)), inside)
            case If(cond=cond, then=then, other=other):
                holds = pb.condition(cond)
                arms = (then, domain.intersect(holds.may)), (other, domain.intersect(holds.negated().may))
                return all(self.leaves(arm, within, here) for arm, here in arms)
            case _:
                parts = stmt_children(stmt)
                known = bool(parts) or buffer not in buffers_written(stmt)
                return known and all(self.leaves(part, within, domain) for part in parts)

    def _implies(self, told: Bound) -> bool:
        side, number = told
        if side != self.bound.side or number.dtype is not self.bound.number.dtype:
            return False
        wanted = self.bound.number.value
        return number.value >= wanted if side == "ge" else number.value <= wanted
