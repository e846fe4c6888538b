"""What holds of elements by induction over the stores of a statement.

Numbers that elements keep although it stores to them, since all that it adds to them, say, is neutral: each store
leaves the number where it was there before. So an accumulation over padding is no change for what comes after it
either. And bounds that stores leave if those had that left what they read, as in a recurrence: a running maximum that
starts at 0 is never below it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, cast

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from egraph_rules.contexts.handed import stays
from ir.analysis import contents as held
from ir.analysis.contents import Contents, Regions, Value
from ir.analysis.effects import EffectAnalysis, Effects, LoopSets, before, established_by_loop, get, unite
from ir.analysis.invariants import Side, leaves
from ir.floats import Floats
from ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, If, Let, Load, Select, Seq, Stmt, Store, Var
from ir.presburger import sets as pb
from ir.traverse import (
    bound_var,
    buffers_read,
    buffers_written,
    free_vars,
    has_kind,
    loads,
    stmt_children,
    stores_in,
    walk,
    without_names,
)

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts
    from egraph_rules.contexts.regular import Numbers

Bound = tuple[Side, Const]

_MOST_BOUNDS = 6  # that are tried of a buffer
_SIDES: tuple[Side, ...] = "ge", "le"


def numbers_after(contexts: Contexts, f: Facts, stmt: Stmt) -> Contents:
    """Numbers that elements hold after a statement that stores to them: those from before it, and those from within."""
    return held.joined(still_held(contexts, f, stmt, f.domain), _left_within(contexts, f, stmt))


def held_in_iterations(contexts: Contexts, f: Facts, loop: For, domain: isl.Set) -> Contents:
    """What is known of elements before a loop that stores to them, and still holds in any iteration.

    The variables of an iteration are in `domain`; every other one before it has left the elements as they are.
    """
    return still_held(contexts, f, loop.body, domain, loop.var)


def still_held(contexts: Contexts, f: Facts, stmt: Stmt, domain: isl.Set, var: Var | None = None) -> Contents:
    """What is known of elements that a statement stores to, and still holds after it, or in each of the iterations
    that it is done by, with greater and greater values of `var`.

    Variables are in `domain`.
    """
    names = () if var is None else (var.name,)
    claims = list(_claims(f.known))
    numbers = {b for b, _, _ in claims}
    written = buffers_written(stmt) if claims else set[Buffer]()
    out: Contents = {}
    for buffer, value, region in claims:
        others = None if held.is_function(value) else numbers - written
        if buffer not in written or not (held.reads(value) & written) <= {buffer}:
            continue
        plain = _without_names(stmt)
        if not _combines(plain, buffer, others):
            continue
        rest = replace(f.untouched(written), domain=domain)
        weaker = _gated(plain, buffer, value, rest, var) if isinstance(value, Const) else ()
        parts = _parts(plain, buffer, region, rest, names)
        for claim, part in (*((value, part) for part in parts), *((claim, region) for claim in weaker)):
            here = contexts.add_facts(replace(rest, known=rest.known | {(buffer, claim): part}))
            if _keeps(contexts, here, stmt, buffer, claim, part):
                out[buffer, claim] = part
                break
    return out


def _gated(stmt: Stmt, buffer: Buffer, number: Const, f: Facts, var: Var | None) -> Iterator[Value]:
    """That elements are a number unless a condition on data holds, as is known of what stores to them read.

    Where it fails in an iteration with some value of `var`, it has failed in all iterations before.
    """
    bound = {v for s in walk(stmt) for v in bound_var(s)}
    for store in stores_in(stmt):
        if store.buffer == buffer:
            for gate in _gates(store, f):
                if bound.isdisjoint(free_vars(gate)) and (var is None or stays(gate, var)):
                    yield Select(gate, held.element(buffer), number)


def _gates(store: Store, f: Facts) -> Iterator[Expr]:
    """Conditions on data without which a store reads known numbers, over the coordinates of the element."""
    for load in loads(store.value):
        for value, _ in f.values_of(load.buffer):
            match value:
                case Select(cond=cond, then=Load(buffer=own), other=Const()) if own == load.buffer != store.buffer:
                    here = held.at(cond, load.indices)
                    if here is not None:
                        yield held.over_coordinates(here, store.indices)
                case _:
                    pass


def _without_names(stmt: Stmt) -> Stmt:
    """A statement with what names are bound to in their place, to look for what may be asked."""
    return without_names(stmt) if has_kind(stmt, Let) else stmt


def _parts(stmt: Stmt, buffer: Buffer, region: isl.Set, f: Facts, names: tuple[str, ...] = ()) -> Iterator[isl.Set]:
    """A region, and what is left of it without elements for which stores read something of which no number is known.

    Numbers may be known of several buffers that they read: of all, or of one of them, as of the factors of a product.
    """
    yield region
    regions: dict[Buffer, isl.Set] = {}
    for about, _, told in held.constants(f.known):
        regions[about] = regions[about].union(told) if about in regions else told
    unknown = _reading_unknown(stmt, buffer, regions, f.domain, names)
    parts = [region.subtract(gone) for gone in unknown.values()]
    if len(parts) > 1:
        parts.insert(0, reduce(isl.Set.intersect, parts))
    yield from (part for part in parts if not part.is_empty())


def _reading_unknown(
    stmt: Stmt, buffer: Buffer, regions: Regions, domain: isl.Set, bound: tuple[str, ...]
) -> dict[Buffer, isl.Set]:
    """Of each buffer that stores to another one read, the elements stored to for which it is read outside a region."""
    match stmt:
        case Store(indices=indices) if stmt.buffer == buffer:
            spot, out = pb.point(indices), dict[Buffer, isl.Set]()
            for load in loads(stmt.value):
                if load.buffer in regions and load.buffer != buffer:
                    read = pb.point(load.indices)
                    outside = domain
                    if read is not None:
                        read = read.intersect_params(domain)
                        outside = read.subtract(regions[load.buffer]).params()
                    hit = pb.whole(len(indices)) if spot is None else spot.intersect_params(outside)
                    hit = pb.forget(hit, bound)
                    out[load.buffer] = out[load.buffer].union(hit) if load.buffer in out else hit
            return out
        case For(var=var, body=body):
            inside = domain.intersect(LoopSets.of(stmt).may)
            return _reading_unknown(body, buffer, regions, inside, (*bound, var.name))
        case _:
            return unite(*(_reading_unknown(part, buffer, regions, domain, bound) for part in stmt_children(stmt)))


def _left_within(contexts: Contexts, f: Facts, stmt: Stmt) -> Contents:
    """Numbers that a nest stores to elements which all that it adds to them leaves as they are, as sums over zeros."""
    if not isinstance(stmt, (For, Seq)):
        return {}
    written = buffers_written(stmt)
    numbers = {b for b, _, _ in _claims(f.known)} - written
    adding = _adding_up(stmt, (), {}) if numbers else set[Buffer]()
    read = [(s.buffer, buffers_read(s.value)) for s in stores_in(_without_names(stmt))] if adding else []
    started = {b for b, by in read if b not in by and (not by or not numbers.isdisjoint(by))}
    sums = {b for b, by in read if b in started & adding and b in by and not numbers.isdisjoint(by)}
    more = {b for b, by in read if not sums.isdisjoint(by)}  # what is made of sums in the same nest
    return _numbers_within(contexts, f.untouched(written), stmt, sums | more) if sums else {}


def _adding_up(stmt: Stmt, around: tuple[Var, ...], outside: Mapping[Buffer, int]) -> set[Buffer]:
    """The buffers of which a statement makes an element of itself in all iterations of some loop.

    Those `around` are its loops; `outside` of each local buffer, so many of them are.
    """
    match stmt:
        case Store(buffer=buffer, indices=indices):
            loops = set(around[outside.get(buffer, 0) :])
            return {buffer} if loops - free_vars(*indices) and buffer in buffers_read(stmt.value) else set()
        case For(var=var, body=body):
            return _adding_up(body, (*around, var), outside)
        case Alloc(buffer=buffer, body=body):
            return _adding_up(body, around, {**outside, buffer: len(around)})
        case _:
            return set[Buffer]().union(*(_adding_up(part, around, outside) for part in stmt_children(stmt)))


def _numbers_within(contexts: Contexts, f: Facts, stmt: Stmt, buffers: Collection[Buffer]) -> Contents:
    """The numbers that elements of some buffers have after a statement, whatever they held before it."""
    effects = contexts.effects.of(stmt)
    if not any(s.buffer in buffers for s in stores_in(stmt)):
        return {}
    match stmt:
        case Seq(stmts=stmts):
            known: Contents = {}
            for part in stmts:
                may = contexts.effects.of(part).may
                left = _numbers_within(contexts, f, part, buffers)
                kept = {k: r for k, r in still_held(contexts, f, part, f.domain).items() if k[0] in buffers}
                f = replace(f, known=held.joined(held.without(f.known, may), kept, left))
                known = held.joined(held.without(known, may), _since(known, kept), left)
            return known
        case For(var=var, body=body):
            sets, inner = LoopSets.of(stmt), f.untouched(buffers_written(body))
            inside = replace(inner.entering(stmt), domain=f.domain.intersect(sets.may))
            left = _numbers_within(contexts, inside, body, buffers)
            return established_by_loop(sets, var, contexts.effects.of(body).may, left, {}) if left else {}
        case If(cond=cond, then=then, other=other):
            holds = pb.condition(cond)
            cases = ((then, holds.must), (other, holds.negated().must))
            arms = ((arm, f.domain.intersect(case)) for arm, case in cases)
            told = (_numbers_within(contexts, replace(f, domain=here), arm, buffers) for arm, here in arms)
            return held.joined(
                *(
                    {key: r.intersect_params(case) for key, r in known.items()}
                    for known, (_, case) in zip(told, cases, strict=True)
                )
            )
        case Alloc(buffer=local, body=body):
            left = _numbers_within(contexts, f, body, buffers)
            return {(b, v): r for (b, v), r in left.items() if b != local}
        case Store(value=value) if not isinstance(value, Const):
            return _stored_number(contexts, f, stmt)
        case _:
            return {(b, v): r for b, v, r in held.constants(effects.established) if b in buffers}


def _stored_number(contexts: Contexts, f: Facts, store: Store) -> Contents:
    """The number that a store leaves where numbers are known of what it reads."""
    spot = f.spot(store.indices)
    if spot is None or store.buffer in buffers_read(store.value):
        return {}
    for region in _parts(store, store.buffer, spot, f):
        domain = f.domain.intersect(region.params())
        number = contexts.value(contexts.add_facts(replace(f, domain=domain)), store.value)
        if isinstance(number, Const):
            return {(store.buffer, number): region}
    here = contexts.add_facts(f)
    for gate in _gates(store, f):
        open_at = held.at(gate, store.indices)
        at = IMPOSSIBLE if open_at is None else contexts.assume(here, open_at, truth=False)
        number = None if at == IMPOSSIBLE else contexts.value(at, store.value)
        if isinstance(number, Const):
            return {(store.buffer, Select(gate, held.element(store.buffer), number)): spot}
    return {}


def _since(known: Contents, kept: Contents) -> Contents:
    """What was kept of what is known since a statement began, and what follows from that."""
    out: Contents = {}
    for (buffer, value), region in kept.items():
        number = value.other if isinstance(value, Select) else value
        for claim in {value, number}:
            if (buffer, claim) in known:
                here = region.intersect(known[buffer, claim])
                out[buffer, value] = out[buffer, value].union(here) if (buffer, value) in out else here
    return out


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
            f = contexts.facts(facts)
            spot = f.spot(stmt.indices)
            if spot is None:
                return False
            if not spot.is_subset(region):
                there = f.domain.intersect(spot.intersect(region).params())
                facts = IMPOSSIBLE if there.is_empty() else contexts.add_facts(replace(f, domain=there))
            return facts == IMPOSSIBLE or _writes(contexts, facts, stmt, value)
        case If(cond=cond, then=then, other=other):
            arms = ((contexts.assume(facts, cond, truth), arm) for truth, arm in ((True, then), (False, other)))
            return all(at == IMPOSSIBLE or _keeps(contexts, at, arm, buffer, value, region) for at, arm in arms)
        case For(body=body):
            f = contexts.facts(facts)
            inside = replace(f.entering(stmt), domain=f.domain.intersect(LoopSets.of(stmt).may))
            return _keeps(contexts, contexts.add_facts(inside), body, buffer, value, region)
        case Let(body=body):
            return _keeps(contexts, contexts.let(facts, stmt), body, buffer, value, region)
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
