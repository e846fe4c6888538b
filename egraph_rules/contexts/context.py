"""Contexts: facts that hold before a statement, permissions that hold after it, and the proofs they allow.

A context is a pair of ids, of `Facts` and of permissions; the e-graph only sees the ids. `at(F, S, D)` means "assume F,
run S, then D may hold anything". Permissions are kept as what they leave out, the live regions: those are few, being
what is read later, where their complements fall into hundreds of pieces.

Facts flow forward, permissions backward, and both describe buffer contents, which must not contradict each other: where
S may leave garbage (D says so) the statement after S must not rely on what F knew there. Take a stage that writes zeros
to padding and a reader with a guard. The zeros are dead because the reader never looks at them; the guard is
superfluous because the padding is zero. Each is right, both at once are wrong. So each location is given to one side
wherever a context is split, by the `Priority` of its root; both priorities are searched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

import islpy as isl
from msgspec.structs import replace

import egraph_rules.contexts.intervals as intervals
from egraph_rules.contexts.assumed import assumed_conditions, conjuncts, of_trips
from egraph_rules.contexts.elements import elements, has_named, is_told, place, values_of_name, values_of_trip
from egraph_rules.contexts.facts import IMPOSSIBLE, NO_PERMISSION, Facts, Priority, Trip, matters, read_by, reads_any
from egraph_rules.contexts.faults import Faults
from egraph_rules.contexts.handed import counted, handed, stored_value, unstored_yet
from egraph_rules.contexts.induction import held_in_iterations, numbers_after, recurrent_bounds, written_again
from egraph_rules.contexts.prospects import may_do_nothing
from egraph_rules.contexts.ranges import Ranges
from egraph_rules.contexts.regular import Numbers, Regular, computed
from egraph_rules.contexts.spoiling import arbitrary, bindings, few, less, of_use, relied, same_regions, there, told_of
from egraph_rules.contexts.truths import Prover, Truths
from egraph_rules.contexts.values import Trail, Value, Values
from ir.analysis import contents as held
from ir.analysis import effects as fx
from ir.analysis.contents import Contents, Regions
from ir.analysis.effects import EffectAnalysis, LoopSets, before, between, steady_buffers, within_reach
from ir.analysis.evaluated import Evaluated, may_fail
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import (
    Alloc,
    Assert,
    Assume,
    Buffer,
    Const,
    Expr,
    For,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Undef,
    Var,
)
from ir.presburger import sets as pb
from ir.presburger.facts import bound_to
from ir.traverse import all_exprs, buffers_written, free_vars, has_kind, has_loads

_NOT_ASKED = object()
_NOWHERE = Facts(pb.never(), {}, (), Priority.FACTS)
Said = dict[str, tuple[tuple[Stmt, ...], bool]]  # by rules: what they propose, and whether there was a conflict


class Contexts:
    """All contexts of one search, and the questions about them. Ids are stable and equal derivations share one.

    A second `prover` gets conditions on variables that sets leave open, and those that led to the place; it is for
    contexts without statements, in which nothing changes.
    """

    def __init__(
        self,
        effects: EffectAnalysis,
        prover: Prover | None = None,
        operations: int = pb.MAX_OPERATIONS,
        over: Callable[[], bool] = lambda: False,
        floats: Floats = DEFAULT_FLOATS,
        defined: Collection[Buffer] = (),
        decides: bool = True,
        source: Evaluated | None = None,
    ) -> None:
        """Start without any context; `operations` of isl are the budget of a question, `floats` the policy.

        `defined` are the buffers that never hold anything arbitrary; of others it is followed where they do not, unless
        the program `decides` nothing: without a branch or selection nobody asks. Where the policy says that what a
        program computes is finite, that is what `source` evaluates; without, it is whatever is asked about.
        Once there is no time left (`over`), what has not been answered yet is unknown, and new contexts are weak.
        """
        self.effects = effects
        self.over = over
        self._defined = frozenset(defined)
        self._numbers = Numbers(self, self._defined, source if Floats.FINITE in floats else None)
        self._decides = decides
        self.floats = floats
        self._values = Values(self, floats)
        self._told_by = Trail()  # elements of which conditions on others say what they hold
        self._ranges = Ranges(self, floats)
        self._regular = Regular(self, self._ranges)
        self._faults = Faults(self, self._values)
        self._truths = Truths(self, self._values, self._ranges)
        self.prover = prover
        self.operations = operations
        self._facts: list[Facts] = []
        self._domains: dict[int, list[int]] = {}  # by hash: the first facts with each domain
        self._domain_of: list[int] = []  # for each facts, the first with the same domain
        self._alike_facts: dict[tuple[int, int], list[int]] = {}  # by the first facts with their domain, and a hash
        self._live: list[Regions] = [{}]
        self._boxes: dict[Buffer, isl.Set] = {}
        self._rests: dict[tuple[Buffer, int], tuple[isl.Set, isl.Set]] = {}  # and the regions that have the identity
        self._there: dict[int, isl.Set] = {}  # by their identity, which live as long
        self._permitted: dict[Hashable, tuple[int, Regions]] = {}  # by the identity of regions, which live as long
        self._live_in_loops: dict[tuple[int, int], Regions] = {}
        self._alike: dict[Hashable, list[int]] = {}  # permissions by the hashes of regions
        self._derived: dict[Hashable, tuple[int, int]] = {}
        self._disputed: set[Hashable] = set()  # of these, those where some location was both known and dead
        self._first_priority: dict[int, int] = {}  # for facts of the second priority the same of the first
        self._agreed: set[tuple[int, int, int]] = set()  # places in which no location was both known and dead
        self._answers: dict[Hashable, object] = {}
        self._interned = effects.interned
        self._serials: dict[int, int] = {}
        self._proposed: dict[tuple[int, int, int], Said] = {}
        self.by_domain: dict[Hashable, object] = {}  # what rules have found out about values of variables
        self.questions = 0
        self.conflicts = 0  # splits where some location was both known and dead

    def root(self, domain: isl.Set, priority: Priority) -> int:
        """Facts at function entry."""
        numbers = self._numbers.at_entry() if self._decides else {}
        return self.add_facts(Facts(domain, numbers, (), priority))

    def facts(self, number: int) -> Facts:
        """What an id of facts stands for."""
        return _NOWHERE if number == IMPOSSIBLE else self._facts[number]

    def place(self, facts: int) -> int:
        """The first facts with the same domain: what follows from that alone is asked once for all of them."""
        return IMPOSSIBLE if facts == IMPOSSIBLE else self._domain_of[facts]

    def trips(self, number: int) -> tuple[Trip, ...]:
        """The loops around a place, by the id of its facts."""
        return self._facts[number].trips

    def live(self, number: int) -> Regions:
        """Permissions: of each buffer that may be spoiled, the region that may not, since it is read later."""
        return self._live[number]

    # Splitting contexts ---------------------------------------------------------------------------------------------

    def assume(self, facts: int, cond: Expr, truth: bool) -> int:
        """Facts where `cond` was found true (or false); the same id if that was known, IMPOSSIBLE if it cannot be."""
        known = self.truth(facts, cond)
        if known is not None:
            return facts if known is truth else IMPOSSIBLE
        f = self._facts[facts]
        weaker = replace(f, conditions=(*f.conditions, (cond, truth)))
        key = ("assume", facts, cond, truth)
        return self._derive(key, weaker, lambda: (self._assume(facts, cond, truth), NO_PERMISSION))[0]

    def sequence(self, facts: int, permissions: int, first: Stmt, second: Stmt) -> tuple[int, int]:
        """Facts between two statements, and permissions there."""
        key = ("sequence", facts, permissions, self.identity(first), self.identity(second))
        weaker = self._forgetful(facts)
        size = self._size(facts, permissions, first, second)
        return self._derive(key, weaker, lambda: self._sequence(facts, permissions, first, second), size)

    def loop(self, facts: int, permissions: int, loop: For) -> tuple[int, int]:
        """Facts at the start of any iteration, and permissions at its end."""
        weaker = self._forgetful(facts).entering(loop)
        key = ("loop", facts, permissions, self.identity(loop))
        size = self._size(facts, permissions, loop.body)
        return self._derive(key, weaker, lambda: self._loop(facts, permissions, loop), size)

    def iteration(self, facts: int, loop: For) -> int:
        """Facts in any iteration as far as they are cheap: of buffers that the loop writes nothing is known."""
        key = ("iteration", facts, self.identity(loop))
        weaker = self._forgetful(facts).entering(loop)
        return self._derive(key, weaker, lambda: (self._iteration(facts, loop), NO_PERMISSION))[0]

    def let(self, facts: int, stmt: Let) -> int:
        """Facts inside a binding."""
        f = self._facts[facts]
        weaker = replace(f, scope=(*f.scope, stmt.var), bound=len(self._facts))
        key = ("let", facts, stmt.var, stmt.value)
        return self._derive(key, weaker, lambda: (self._let(facts, stmt), NO_PERMISSION))[0]

    def alloc(self, facts: int, permissions: int, stmt: Alloc) -> tuple[int, int]:
        """Facts and permissions inside an allocation: contents start arbitrary and do not matter at the end."""
        key = ("alloc", facts, permissions, self.identity(stmt))
        return self._derive(key, self._forgetful(facts), lambda: self._alloc(facts, permissions, stmt))

    def _derive(
        self, key: Hashable, weaker: Facts, make: Callable[[], tuple[int, int]], regions: int = 0
    ) -> tuple[int, int]:
        """A part's context, made once; where isl needs too many steps, `weaker` facts and no permission.

        `regions` says of how many parts of buffers something is known or permitted: each may take its steps.
        """
        found = self._derived.get(key)
        if found is not None:
            self.conflicts += key in self._disputed
        else:
            over, before = self.over(), self.conflicts
            budget = pb.MAX_OPERATIONS + regions * pb.REGION_OPERATIONS
            found = None if over else pb.within_budget(make, None, budget)
            if found is None:
                found = self.add_facts(weaker), NO_PERMISSION
            if self.conflicts > before:
                self._disputed.add(key)
            self._derived[key] = found
        return found

    def alike(self, one: Buffer, other: Buffer) -> bool:
        """Whether the same is asked of two buffers, apart from what is known of them at a place."""
        followed = self.effects.follows(one) == self.effects.follows(other)
        return followed and (one in self._defined) == (other in self._defined) and self._numbers.alike(one, other)

    def is_told_elsewhere(self, stmt: Stmt) -> bool:
        """Whether what the program that was given computes elsewhere may say something of what a statement computes."""
        return self._numbers.of_source and any(map(may_fail, all_exprs(stmt)))

    def identity(self, stmt: Stmt) -> int:
        """What equal statements share, and no other gets as long as these contexts live."""
        return id(self._interned.of(stmt))

    def proposed_at(self, facts: int, permissions: int, stmt: Stmt) -> Said:
        """What rules have proposed at a place so far."""
        return self._proposed.setdefault((facts, permissions, self.identity(stmt)), {})

    def serial(self, stmt: Stmt) -> int:
        """The number of a statement in the order in which they were asked for, the same in each run."""
        return self._serials.setdefault(self.identity(stmt), len(self._serials))

    def _size(self, facts: int, permissions: int, *stmts: Stmt) -> int:
        """How many regions of buffers a context is made from."""
        effects = sum(self.effects.of(stmt).size for stmt in stmts)
        return effects + len(self._facts[facts].known) + len(self._live[permissions])

    def _forgetful(self, facts: int) -> Facts:
        """Facts without what is known of buffers."""
        return replace(self._facts[facts], known={}, conditions=())

    def add_facts(self, facts: Facts) -> int:
        """The id of facts: a new one unless the same ones have one.

        Domains are shared, since questions about values of variables have one answer for each.
        """
        known = ((k, there(r, self._box(k[0]), facts.domain, self._there)) for k, r in facts.known.items())
        facts = replace(facts, known={k: r for k, r in known if not r.plain_is_empty()})
        home, told = self._home(facts.domain), hash((frozenset(facts.known), facts.conditions, facts.assumed))
        same = [known for known in self._alike_facts.get((home, told), ()) if self._facts[known].same(facts)]
        for known in same:
            if self._facts[known].priority is facts.priority:
                return known
        number = len(self._facts)
        if same and facts.priority is Priority.PERMISSIONS:
            self._first_priority[number] = same[0]
        self._alike_facts.setdefault((number if home < 0 else home, told), []).append(number)
        self._domain_of.append(number if home < 0 else home)
        self._facts.append(facts if home < 0 else facts.moved_to(self._facts[home]))
        if home < 0:
            self._domains.setdefault(hash(facts.domain), []).append(number)
        return number

    def agree(self, facts: int, permissions: int, stmt: Stmt) -> None:
        """Take note that in a statement no location is both known and dead, so that priorities make no difference."""
        self._agreed.add((facts, permissions, self.identity(stmt)))

    def _either(self, facts: int, permissions: int, stmt: Stmt) -> int:
        """Facts at a statement: those of the first priority where the second one would lead to the same contexts."""
        first = self._first_priority.get(facts)
        return facts if first is None or (first, permissions, self.identity(stmt)) not in self._agreed else first

    def _home(self, domain: isl.Set) -> int:
        """The first facts with a domain, -1 if there are none: what variables may be has one answer for each."""
        found = self._domains.get(hash(domain), [])
        return next((n for n in found if self._facts[n].domain.plain_is_equal(domain)), -1)

    def _add_permissions(self, live: Regions) -> int:
        """A new id, or the one of equal permissions; these very regions are looked at once."""
        key = frozenset((b, id(r)) for b, r in live.items())
        if key not in self._permitted:
            self._permitted[key] = self._number_of(live), live
        return self._permitted[key][0]

    def _number_of(self, live: Regions) -> int:
        live = {b: r for b, r in live.items() if not self._box(b).is_subset(r)}
        if not live:
            return NO_PERMISSION
        same = self._alike.setdefault(frozenset((b, hash(r)) for b, r in live.items()), [])
        for number in same:
            if same_regions(self._live[number], live):
                return number
        same.append(len(self._live))
        self._live.append(live)
        return len(self._live) - 1

    def _box(self, buffer: Buffer) -> isl.Set:
        """All elements of a buffer."""
        if buffer not in self._boxes:
            self._boxes[buffer] = pb.box(buffer.shape)
        return self._boxes[buffer]

    def _dead(self, live: Regions, buffers: Collection[Buffer]) -> Regions:
        """What may be spoiled of some buffers."""
        return {b: self._rest(b, r) for b, r in live.items() if b in buffers}

    def _rest(self, buffer: Buffer, live: isl.Set) -> isl.Set:
        """What a region leaves of a buffer; it is met wherever the permissions are that it is part of."""
        found = self._rests.get((buffer, id(live)))
        if found is None:
            found = self._rests[buffer, id(live)] = self._box(buffer).subtract(live), live
        return found[0]

    def _assume(self, facts: int, cond: Expr, truth: bool) -> int:
        f = self._facts[facts]
        holds = pb.condition(cond)
        domain = f.domain.intersect(holds.may if truth else holds.negated().may)
        known = held.joined(f.known, self.effects.assumed(cond)) if truth else f.known
        parts = conjuncts(cond, truth)
        data = tuple((p, value) for p, value in parts if has_loads(p) or not pb.condition(p).exact)
        assumed = () if self.prover is None else (*f.assumed, (cond, truth))
        return self.add_facts(
            replace(f, domain=domain, known=known, conditions=(*f.conditions, *data), assumed=assumed)
        )

    def _sequence(self, facts: int, permissions: int, first: Stmt, second: Stmt) -> tuple[int, int]:
        f, d = self._facts[facts], self._live[permissions]
        done, rest = self.effects.of(first), self.effects.of(second)
        # Rewrites of a statement spoil nothing but what it may write: of all else, permission would permit nothing.
        after = {b: d.get(b, self._box(b)) for b in done.may if b in d or b in rest.must}
        live = {b: few(r, more=rest.reads.get(b)) for b, r in fx.subtract(after, rest.must).items()}
        conditions = (*f.conditions, *assumed_conditions(first))
        kept = replace(
            f,
            domain=f.domain if done.holds.plain_is_universe() else f.domain.intersect(done.holds),
            known=told_of(self._after(facts, first), {*rest.reads, *rest.may, *bindings(f.known, second)}),
            conditions=tuple((c, v) for c, v in conditions if not reads_any(c, done.may)),
        )
        if kept.domain.is_empty():
            return IMPOSSIBLE, NO_PERMISSION
        kept, live = self._reconcile(
            kept, live, lambda buffers: self._dead(live, buffers), relied(kept.known, live, kept.domain)
        )
        if f.priority is Priority.PERMISSIONS:
            kept = replace(kept, known={**kept.known, **arbitrary(f.known, done.may, live)})
        return self._either(self.add_facts(kept), permissions, second), self._add_permissions(live)

    def _loop(self, facts: int, permissions: int, loop: For) -> tuple[int, int]:
        f, body, sets = self._facts[facts], self.effects.of(loop.body), LoopSets.of(loop)
        name, early, late = sets.name, f"{sets.name}'", f"{sets.name}''"
        domain = f.domain.intersect(sets.may).intersect(values_of_trip(f, loop))
        if domain.is_empty():
            return IMPOSSIBLE, NO_PERMISSION
        f = replace(f, known=told_of(f.known, {*body.reads, *body.may, *bindings(f.known, loop.body)}))
        about = matters(f)
        written = sets.anywhere({b: r for b, r in body.may.items() if b in about}, steady_buffers(loop))
        changed = sets.others(written, before(early, name), sets.may, early)
        known = held.joined(
            held.without(f.known, changed),
            self.effects.bounded(f.known, loop.body, f.domain),
            held_in_iterations(self, f, loop, domain),
            written_again(f.known, body, sets),
            handed(f, loop, self.effects, self._defined),
            unstored_yet(f, loop),
        )
        if self._decides:
            known = held.joined(known, self._numbers.in_iterations(f, loop, domain))
            bounds = recurrent_bounds(self, facts, loop, self._numbers, started=True)
            known = held.joined(known, *(self._numbers.among(b, known) for b in bounds))
        conditions = tuple((c, v) for c, v in (*f.conditions, *of_trips(loop)) if not reads_any(c, body.may))
        if Floats.FINITE in self.floats:
            conditions += tuple((cond, True) for cond in computed(self, facts, loop))
        live = of_use(self._live_after_iteration(sets, permissions, loop), loop.body, domain)
        inside = replace(f.entering(loop), domain=domain, known=known, conditions=conditions)

        def spoiled(buffers: Collection[Buffer]) -> Regions:
            """What an earlier iteration may spoil."""
            return sets.others(self._dead(outer, buffers), before(early, name), sets.may, early)

        outer, later = live, before(name, late)
        needed = ((b, sets.other(r, later, sets.may, late)) for b, r in relied(known, live, f.domain))
        kept, live = self._reconcile(inside, live, spoiled, needed)
        at_end = self._add_permissions(live)
        return self._either(self.add_facts(kept), at_end, loop.body), at_end

    def _live_after_iteration(self, sets: LoopSets, permissions: int, loop: For) -> Regions:
        """What a later iteration reads before writing, and what nobody overwrites and somebody needs at the end."""
        key = permissions, self.identity(loop)
        if key not in self._live_in_loops:
            self._live_in_loops[key] = self._later_reads(sets, loop, self._live[permissions])
        return self._live_in_loops[key]

    def _later_reads(self, sets: LoopSets, loop: For, outer: Regions) -> Regions:
        body, name, mid, late = self.effects.of(loop.body), sets.name, f"{sets.name}'", f"{sets.name}''"
        # Of an accumulator that no iteration writes without reading it, nothing is ever overwritten unseen.
        seen = {b for b, r in body.must.items() if b in body.reads and r.is_subset(body.reads[b])}
        unseen = {b: r for b, r in body.must.items() if b not in seen}
        # What this iteration cannot store to is none of its business, and takes many pieces to say.
        overwritten = fx.overlapping(sets.others(unseen, before(name, late), sets.must, late), within_reach(loop.body))
        # An iteration `late` reads what no iteration between this one and it has written; the first that writes an
        # accumulator reads it.
        read = sets.anywhere({b: r for b, r in body.reads.items() if b in body.may}, steady_buffers(loop))
        in_late = {b: pb.rename(r.intersect_params(sets.may), {name: late}) for b, r in read.items()}
        order = between(name, mid, late)
        written = sets.others({b: r for b, r in unseen.items() if b in body.reads}, order, sets.must, mid)
        exposed = fx.restrict(fx.subtract(in_late, written), before(name, late))
        # Which iteration is the last to read does not matter to anybody, and takes many pieces to say.
        read_later = {b: few(pb.forget(r, (late,)), 2) for b, r in exposed.items()}
        after = {b: outer.get(b, self._box(b)) for b in body.may if b in outer or b in overwritten}
        return {b: few(r, more=read_later.get(b)) for b, r in fx.subtract(after, overwritten).items()}

    def _iteration(self, facts: int, loop: For) -> int:
        f, written = self._facts[facts], buffers_written(loop.body)
        domain = f.domain.intersect(LoopSets.of(loop).may).intersect(values_of_trip(f, loop))
        if domain.is_empty():
            return IMPOSSIBLE
        f = replace(f, conditions=(*f.conditions, *of_trips(loop)))
        return self.add_facts(replace(f.untouched(written).entering(loop), domain=domain))

    def _after(self, facts: int, stmt: Stmt) -> Contents:
        """What is known once a statement has run."""
        f, done = self._facts[facts], self.effects.of(stmt)
        told = held.joined(
            fx.after(f.known, done),
            self.effects.kept(f.known, stmt, f.domain),
            numbers_after(self, f, stmt),
            counted(f, stmt, self._defined),
            stored_value(self, facts, stmt) if isinstance(stmt, Store) else {},
        )
        if not self._decides:
            return told
        told = held.joined(told, self._numbers.after(f, stmt))
        bounds = recurrent_bounds(self, facts, stmt, self._numbers)
        return held.joined(told, *(self._numbers.among(b, told) for b in bounds))

    def _let(self, facts: int, stmt: Let) -> int:
        f = self._facts[facts]
        # A scope of its own even where nothing is learned: classes of one context may name each other's variables.
        told = has_loads(stmt.value) or not stmt.var.dtype.is_integer
        one = not told or self.defined(facts, stmt.value)  # else the name is one value, and each reading may be another
        domain = f.domain.intersect(bound_to(stmt.var, stmt.value)) if one else f.domain
        if one and has_loads(stmt.value):
            domain = domain.intersect(values_of_name(f, stmt.var, stmt.value))
        if domain.is_empty():  # nothing runs here, and of that nothing is said: all would hold
            domain = f.domain
        known = {**f.known, (held.binding(stmt.var), stmt.value): pb.whole(0)} if told and one else f.known
        return self.add_facts(
            replace(f, domain=domain, known=known, scope=(*f.scope, stmt.var), bound=len(self._facts))
        )

    def _alloc(self, facts: int, permissions: int, stmt: Alloc) -> tuple[int, int]:
        f, d = self._facts[facts], self._live[permissions]
        buffer, everything = stmt.buffer, pb.whole(len(stmt.buffer.shape))
        known = {key: r for key, r in f.known.items() if key[0] != buffer}
        known[buffer, Undef(buffer.dtype)] = everything
        at_end = self._add_permissions({**d, buffer: pb.nothing(len(buffer.shape))})
        return self._either(self.add_facts(replace(f, known=known)), at_end, stmt.body), at_end

    def _reconcile(
        self,
        facts: Facts,
        live: Regions,
        spoiled: Callable[[Collection[Buffer]], Regions],
        relied: Iterable[tuple[Buffer, isl.Set]],
    ) -> tuple[Facts, Regions]:
        """Give every location that is both known and dead to one side.

        `spoiled` is what permissions may have spoiled of some buffers where the facts are used, `relied` what the facts
        rely on where the permissions are used; in a sequence these are what is not `live`, and what `facts.known` is
        about. What says no more than whether contents are arbitrary always yields.
        """
        if not live:
            return facts, live
        needed, relied = read_by(facts.conditions), list(relied)
        disputed = any(not r.intersect_params(facts.domain).is_subset(live[b]) for b, r in relied)
        if disputed or any(b in needed for b in live):
            self.conflicts += 1
        known, conditions = facts.known, facts.conditions
        if facts.priority is Priority.FACTS:
            idle: Contents = {(b, v): r for (b, v), r in known.items() if held.is_idle(b, v)}
            known = {**known, **less(idle, spoiled({b for b, _ in idle}))}
            live = {b: r for b, r in live.items() if b not in needed}
            for buffer, region in relied:
                if buffer in live:
                    live[buffer] = few(live[buffer].union(region))
        else:
            gone = spoiled(matters(facts))
            known = less(known, gone)
            conditions = tuple((c, v) for c, v in conditions if not reads_any(c, gone))
        return replace(facts, known=known, conditions=conditions), live

    # Questions ------------------------------------------------------------------------------------------------------

    def ask(self, key: Hashable, question: Callable[[], object], otherwise: object) -> object:
        """The answer to a question, asked once and within the budget; `otherwise` where there is none by then."""
        found = self._answers.get(key, _NOT_ASKED)
        if found is _NOT_ASKED:
            if self.over():
                return otherwise
            self.questions += 1
            self._answers[key] = found = pb.within_budget(question, otherwise, self.operations)
        return found

    def truth(self, facts: int, cond: Expr) -> bool | None:
        """Whether a condition always (True) or never (False) holds; None when neither is proven."""
        return self._truths.of(facts, cond)

    def truth_by_sets(self, facts: int, cond: Expr) -> bool | None:
        """As `truth`, as far as the sets that variables are in tell."""
        found = self._truths.by_sets(facts, cond)
        return found if isinstance(found, bool) else None

    def constant(self, facts: int, expr: Expr) -> int | None:
        """The one value that an integer expression has, if it has only one."""
        if isinstance(expr, Var):
            value = self._pinned(self.place(facts)).get(expr.name)
            return value if value is not None and expr.dtype.min <= value <= expr.dtype.max else None

        def prove() -> int | None:
            f = self._facts[facts]
            pa = pb.affine(expr)
            if pa is None:
                return None
            values = isl.Set.from_pw_aff(pa).intersect_params(f.domain)
            values = pb.without(values, pb.variables(values))
            low = pb.sample(values)
            if low is None or not values.is_singleton():
                return None
            value = low[1][0]
            return value if expr.dtype.min <= value <= expr.dtype.max else None  # computing it is a fault

        return cast("int | None", self.ask(("constant", self.place(facts), expr), prove, None))

    def _pinned(self, facts: int) -> Mapping[str, int]:
        """The variables that have one value only, and which."""
        found = self.ask(("pinned", facts), lambda: pb.pinned(self._facts[facts].domain), {})
        return cast("Mapping[str, int]", found)

    def bound(self, facts: int, var: Var) -> Expr | None:
        """What a name was bound to, as far as that reads elements that still hold what they held then."""
        return self.contents(facts, held.binding(var), ())

    def contents(self, facts: int, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr | None:
        """What is known to be stored at a location: a constant, `Undef` for arbitrary contents, or an expression."""
        f = self._facts[facts]
        candidates = f.values_of(buffer)
        if not candidates:
            return None

        def prove() -> Expr | None:
            spot = place(f, self._values.located(facts, indices))
            constants_first = sorted(candidates, key=lambda pair: held.is_function(pair[0]))
            values = (v for v, r in constants_first if self._truths.names(facts, spot, r, indices))
            found = (self._told(facts, held.at(v, indices), Load(buffer, indices)) for v in values)
            return next((v for v in found if v is not None), None)

        return cast("Expr | None", self.ask(("contents", facts, buffer, indices), prove, None))

    def _told(self, facts: int, value: Expr | None, element: Load) -> Expr | None:
        """What is said of an element, where that is more than that it is itself."""
        if isinstance(value, Select) and value.then.same(element):
            with self._told_by.through(element.buffer) as goes_on:  # elements may tell each other, in turns for ever
                return value.other if goes_on and self.truth(facts, value.cond) is False else None
        return value

    def in_bounds(self, facts: int, buffer: Buffer, indices: tuple[Expr, ...]) -> bool:
        """Whether an access stays inside its buffer."""

        def prove() -> bool:
            spot = place(self._facts[facts], indices)
            return spot is not None and spot.is_subset(pb.box(buffer.shape))

        where = ("data", facts) if any(map(has_named, indices)) else self.place(facts)
        return bool(self.ask(("bounds", where, buffer, indices), prove, False))

    def is_number(self, facts: int, load: Load) -> bool:
        """Whether an element is defined and, of floats that are taken to be finite, the program looks at it."""
        return self._numbers.has(facts, load)

    def computes_unless(self, facts: int, expr: Expr, inner: Sequence[Expr] = ()) -> tuple[Expr, ...] | None:
        """Conditions of which the program that was given computes an operation if they hold, in `inner` loops there."""
        return self._numbers.computes_unless(facts, expr, inner)

    def runs(self, facts: int, stmt: Stmt) -> bool:
        """Whether the program that was given runs a statement wherever the facts hold."""
        f = self._facts[facts]
        question = partial(self._numbers.runs, f, stmt, f.domain)
        return bool(self.ask(("runs", facts, self.identity(stmt)), question, False))

    def is_defined(self, facts: int, load: Load) -> bool:
        """Whether an element is defined: its buffer holds nothing else, or something is known to hold of it."""
        if load.buffer in self._defined and self.in_bounds(facts, load.buffer, load.indices):
            return True
        known = self.ask(("told", facts, load), lambda: is_told(self._facts[facts], load), False)
        return bool(known)

    def only_writes_dead(self, facts: int, permissions: int, stmt: Stmt) -> bool:
        """Whether all that a statement does is to write what may hold anything afterwards.

        What it promises is used after it, and would be lost with it.
        """
        written = self.effects.of(stmt).may
        if not written or has_kind(stmt, Assume, Assert):
            return False
        return self.writes_only_dead(facts, permissions, stmt, written)

    def writes_only_dead(self, facts: int, permissions: int, stmt: Stmt, buffers: Collection[Buffer]) -> bool:
        """Whether all that a statement writes of some buffers may hold anything afterwards."""
        live = self._live[permissions]
        if any(b not in live for b in buffers):
            return False

        def prove() -> bool:
            f, written = self._facts[facts], self.effects.of(stmt).may
            domain = f.domain
            named = place(f, stmt.indices) if isinstance(stmt, Store) else None  # also where data name the element
            if named is not None and isinstance(stmt, Store):
                written = {stmt.buffer: named}
            return all(written[b].intersect_params(domain).is_disjoint(live[b]) for b in buffers if b in written)

        return bool(self.ask(("dead", facts, permissions, self.identity(stmt), frozenset(buffers)), prove, False))

    def writes_dead(self, facts: int, permissions: int, stmt: Stmt) -> bool:
        """Whether a statement may write anything that may hold anything afterwards."""
        live = self._live[permissions]
        written = {b: r for b, r in self.effects.of(stmt).may.items() if b in live}

        def prove() -> bool:
            domain = self._facts[facts].domain
            return not all(r.intersect_params(domain).is_subset(live[b]) for b, r in written.items())

        return bool(written) and bool(self.ask(("some dead", facts, permissions, self.identity(stmt)), prove, True))

    def may_do_nothing(self, facts: int, permissions: int, stmt: Stmt) -> bool:
        """Whether it is worth to ask if a statement does nothing; a "no" proves nothing."""
        return may_do_nothing(self, facts, permissions, stmt)

    def value(self, facts: int, expr: Expr) -> Value | None:
        """The number that an expression is wherever it does not fault, or `Undef` (see `Values.of`)."""
        return self._values.of(facts, expr)

    def with_held(self, facts: int, expr: Expr) -> Expr:
        """An expression with what elements are known to hold in their place."""
        return self._values.with_held(facts, expr)

    def adds_nothing(self, facts: int, store: Store) -> bool:
        """Whether `A[i] = A[i] op e` leaves A as it is, since e is neutral to op."""
        return self._values.adds_nothing(facts, store)

    def one_number(self, facts: int, expr: Expr) -> Const | None:
        """The number that a float is where its bounds leave no other."""
        return self._ranges.number(facts, expr)

    def computed(self, expr: Expr) -> Const | None:
        """What an operation on numbers gives, as far as the policy on floats lets it be computed beforehand."""
        return self._values.computed(expr)

    def harmless(self, facts: int, stmt: Stmt) -> bool:
        """Whether running a statement cannot fault, so that it may run where it did not run before."""
        return self._faults.harmless(facts, stmt)

    def decided(self, facts: int, expr: Expr) -> bool:
        """Whether an expression cannot fault and cannot be undef: what indices, extents and conditions need."""
        return self._faults.decided(facts, expr)

    def defined(self, facts: int, expr: Expr) -> bool:
        """Whether an expression is not arbitrary, as far as it does not fault."""
        return self._values.defined(facts, expr)

    def regular(self, facts: int, expr: Expr) -> bool:
        """Whether an expression is a finite number if all that it reads is, as far as it does not overflow."""
        return self._regular.of(facts, expr)

    def total(self, facts: int, expr: Expr) -> bool:
        """Whether evaluating an expression cannot fault."""
        return self._faults.total(facts, expr)

    def fits(self, facts: int, expr: Expr) -> bool:
        """Whether a signed result provably stays within its dtype's range."""
        expr, f = self._values.put_in(facts, expr), self._facts[facts]

        def prove() -> bool:
            known = elements(f, (expr,)) if has_named(expr) else None
            whole = expr if known is None else known.named(expr)
            domain = f.domain if known is None else f.domain.intersect(known.values)
            pa = pb.affine(whole)
            if pa is None:
                return intervals.fits(whole, domain)
            for var in sorted(free_vars(whole), key=lambda v: v.name):
                if var.dtype.is_integer:
                    domain = domain.intersect(pb.values_of(var))
            return domain.is_subset(pb.within(pa, expr.dtype))

        where = ("data", facts) if has_named(expr) else self.place(facts)
        return bool(self.ask(("fits", where, expr), prove, False))
