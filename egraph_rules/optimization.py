"""`optimize`: from a function to its cheapest equivalent. Owns the search loop and the report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.instructions import library_rules, rules_of
from egraph_rules.authoring.rule import Rule
from egraph_rules.contexts.context import NO_PERMISSION, Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.cost.prices import Prices
from egraph_rules.cost.shares import least_share
from egraph_rules.cost.target import Target, target_named
from egraph_rules.cost.whole import CANDIDATES, Ranking, ranked, unconfirmed
from egraph_rules.engine.engine import Engine, scratch_folder
from egraph_rules.engine.functions import check_names
from egraph_rules.engine.patience import Patience, listening
from egraph_rules.engine.phases import DEFAULT_BUDGET, Budget
from egraph_rules.explain.decisions import Decision, decisions_of
from egraph_rules.explain.derivation import Step, Trace, derive, legs
from egraph_rules.explain.graphs import graphs_of
from egraph_rules.rules.registry import active_rules, kept_rules, named
from egraph_rules.search.blocks import Inside, find_block
from egraph_rules.search.encode import Expander
from egraph_rules.search.erase import count_erased, erase, price_as_written
from egraph_rules.search.extract import EXTRACTED, Choice, Extractor, Place, Rebuilder
from egraph_rules.search.filling import filled
from egraph_rules.search.language import engine_with
from egraph_rules.search.names import reserved_names, restored
from egraph_rules.search.numbering import Numbering, Part
from egraph_rules.search.saturate import Outcome, saturate
from ir.analysis.definedness import defined_buffers
from ir.analysis.effects import EffectAnalysis
from ir.analysis.evaluated import Evaluated
from ir.errors import RuleError, ScheduleError, expect, suggest
from ir.floats import Floats, floats_named
from ir.later import keeping, later
from ir.nodes import Alloc, Block, Const, Expr, If, Load, PrimFunc, Select, Stmt, Store, Var
from ir.page import Section
from ir.presburger import sets as pb
from ir.presburger.facts import entry_facts, promised
from ir.program.blocks import lower_blocks, without_axes
from ir.semantics.verify import entered
from ir.shown import Shown, counted
from ir.transform.calls.tensorize import with_calls
from ir.transform.storage.contract import may_shrink
from ir.traverse import all_exprs, has_kind, loads, map_stmt, sizing_scalars, stmt_children, walk

_SEARCHES = 6  # of a directed step; two or three do
if TYPE_CHECKING:
    from egraph_rules.explain import web
    from egraph_rules.explain import why_not as causes
else:  # what few results are asked for, and the moves that it imports
    web = later("egraph_rules.explain.web")
    causes = later("egraph_rules.explain.why_not")

TRIAL_WORK = 2_000_000  # of a search that tries a claim for `why_not`
RARE = 0.8  # the share of iterations from which on a guard saves too little, as bounds of a loop, to search again
MANY = 1e8  # what a store costs where the number of stores decides
FEW = 0.125  # what guarded work costs, as a part of itself, where guards are hoped to become bounds of loops


class Report(Shown, Struct):
    """What a search did: decisions on the way to the best program, sizes, time (s), work, and why it ended.

    `priced` has the programs that were priced as a whole: that price and the search's, cheapest first; `overruled` says
    so where the search alone would have taken another one. `recalled` says that another process has searched; then
    there are no `traces`.
    """

    traces: list[Trace] = field(default_factory=lambda: list[Trace]())
    matches: Counter[str] = field(default_factory=lambda: Counter[str]())
    seconds: float = 0.0
    work: int = 0
    nodes: int = 0
    questions: int = 0
    rounds: int = 0
    searches: int = 0
    stopped: str = ""
    interrupted: bool = False
    priced: list[tuple[float, float]] = field(default_factory=lambda: list[tuple[float, float]]())
    overruled: str = ""
    recalled: bool = False
    decide: Callable[[], list[Decision]] | None = None  # what finds the decisions, which few callers ask for
    decided: list[Decision] | None = None

    @property
    @pb.exclusive
    def decisions(self) -> list[Decision]:
        """The steps to the best program, with what they cost; worked out when asked for."""
        if self.decided is None:
            self.decided = [] if self.decide is None else self.decide()
            self.decide = None
        return self.decided

    def bare(self) -> Report:
        """The same without what the searches knew, to be kept; with the decisions if somebody has asked for them."""
        return replace(self, traces=[], decide=None)

    def brief(self) -> str:
        """How many decisions, and how long it took."""
        return f"Report: {counted(len(self.decisions), 'decision')}; {self.effort}"

    @property
    def effort(self) -> str:
        """What the search took, in one line."""
        return (
            f"search: {self.seconds * 1e3:.0f} ms, {counted(self.searches, 'search', 'searches')}, {self.nodes} terms, "
            f"{self.questions} questions to the prover; {self.stopped}{'; kept from before' if self.recalled else ''}"
        )

    def sections(self) -> Iterator[Section]:
        """The decisions, each with its fact, and what the search took."""
        yield Section("decisions", lines=(*self.reasons(), self.effort))

    def reasons(self) -> Iterator[str]:
        """The decisions, three lines each, or why there are none."""
        for decision in self.decisions:
            yield f"- {decision.rule}: {decision.place}"
            yield f"    {decision.fact}"
            yield f"    {decision.price}"
        if self.overruled:
            yield f"- {self.overruled}"
        elif not self.decisions:
            yield "- none: no rule found anything cheaper"

    def record(self, outcome: Outcome) -> None:
        """Add what one search did."""
        self.matches.update(outcome.matches)
        self.rounds += outcome.rounds
        self.nodes = max(self.nodes, outcome.nodes)
        self.searches += 1
        self.stopped = outcome.stopped


class Settings(Struct, frozen=True):
    """How a search was called: `rules` are those it used, `given` says that the caller chose them."""

    target: Target
    budget: Budget
    floats: Floats
    rules: tuple[Rule, ...]
    given: bool
    without: tuple[str, ...]

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "rules")
        return f"Settings({', '.join(shown)})"


class Result(Shown, Struct, frozen=True):
    """`best` and `variants` (program, cost; cheapest first) have assumptions and undef stores erased."""

    best: PrimFunc
    variants: list[tuple[PrimFunc, float]]
    cost_before: float
    report: Report
    source: PrimFunc
    settings: Settings

    def brief(self) -> str:
        """The kernel and its cost."""
        report = self.report
        cost = f"cost {self.variants[0][1]:,.0f}, was {self.cost_before:,.0f}"
        target, count = self.settings.target.name, counted(len(report.decisions), "decision")
        return f"Result {self.source.name} for {target}: {cost}; {count}"

    def sections(self) -> Iterator[Section]:
        """The kernel, the cheapest programs, the decisions that lead to the first, and what the search took."""
        yield Section(f"kernel {self.source.name}, target {self.settings.target.name}", str(self.source))
        yield from self.found(range(len(self.variants)))

    def found(self, shown: Iterable[int], notes: Iterable[str] = ()) -> Iterator[Section]:
        """Those of the variants, then decisions, what the search took, and notes on it."""
        ranks = [*shown]
        for rank in ranks:
            variant, cost = self.variants[rank]
            name = "cheapest equivalent program" if rank == 0 else f"variant {rank + 1}"
            if str(variant) == str(self.source):
                yield Section(f"{name}: as it was given, cost {cost:,.0f}")
            else:
                yield Section(f"{name}: cost {cost:,.0f}, was {self.cost_before:,.0f}", str(variant))
        lines = [*self.report.reasons()]
        assumptions, stores = count_erased(self.source.body)
        kinds = ((assumptions, "assumption", ""), (stores, "store of undef", "stores of undef"))
        erased = ", ".join(counted(n, what, several) for n, what, several in kinds if n)
        if erased:
            lines.append(f"- erased after the search: {erased}")
        title = "decisions" if ranks in ([], [0]) else "decisions that lead to the cheapest"
        yield Section(title, lines=(*lines, self.report.effort, *notes))

    @pb.exclusive
    def derivation(self) -> list[Step]:
        """The rewrites from the source program to `best`, in order; worked out when asked for."""
        return derive(self.source, self.best, self.traces())

    @pb.exclusive
    def decisions(self) -> list[Decision]:
        """The steps to `best` with what they cost, found anew; `report.decisions` remembers them."""
        prices = Prices(self.settings.target)
        return decisions_of(self.derivation(), lambda step: price_as_written(step, prices))

    def traces(self) -> list[Trace]:
        """What the searches knew; for a result that was kept, they run again."""
        if self.report.recalled and not self.report.traces:
            s, keep = self.settings, max(len(self.variants), CANDIDATES)
            again = optimize(self.source, s.target, keep, s.budget, s.floats, s.rules, s.without, verify=False)
            self.report.traces = again.report.traces
        return self.report.traces

    @pb.exclusive
    def to_html(self, more: Iterable[web.Panel] = (), *, egraph: bool = True) -> str:
        """One page that needs no network: programs side by side, decisions, steps, variants, padding, the e-graph.

        `more` are further sections. Without `egraph` the page is smaller by a megabyte, which is its viewer.
        """
        traces = self.traces()
        graphs = (
            [g for trace, at in legs(self.source, self.best.body, traces)[-1:] for g in graphs_of(trace, at)]
            if egraph
            else []
        )
        report = self.report
        remarks = [report.overruled] if report.overruled else []
        remarks += [] if report.decisions else ["No rule found anything cheaper."]
        found = web.Found(
            self.source, self.variants, self.cost_before, report.decisions, [*remarks, report.effort],
            derive(self.source, self.best, traces), graphs,
        )  # fmt: skip
        return web.page(found, self.settings.target.name, more)

    @pb.exclusive
    def why_not(self, rule: str) -> str:
        """Why a rule, or each rule of a family, did not contribute to `best`; worked out when asked for, with searches.

        Raises:
            RuleError: there is no rule and no family of this name.
            KeyboardInterrupt: there was a Ctrl-C.
        """
        s = self.settings
        once = replace(s.budget, restarts=0, work=min(s.budget.work, TRIAL_WORK))

        def again(body: Stmt) -> list[Trace]:
            trial = replace(self.source, body=body)
            report = optimize(trial, s.target, 1, once, s.floats, s.rules, verify=False).report
            if report.interrupted:  # the user does not mean this trial
                raise KeyboardInterrupt
            return report.traces

        searched = causes.Searched(
            self.source, s.rules, s.given, s.without, s.floats, self.traces(), self.report.matches,
            self.variants[0][1], Prices(s.target), self.derivation, again,
        )  # fmt: skip
        return causes.why_not(searched, rule)


@pb.exclusive
def optimize(
    func: PrimFunc,
    target: str | Target = "cpu",
    k: int = 1,
    budget: Budget | None = None,
    floats: Floats | str | Iterable[str] | None = None,
    rules: Iterable[Rule] | None = None,
    without: Iterable[str] = (),
    verify: bool = True,
    whole: Callable[[PrimFunc], float] | None = None,
) -> Result:
    """Search for the `k` cheapest programs equivalent to `func` on a target.

    `floats` are the freedoms float rules may take: a `Floats`, names ("strict" for none), or the default policy.
    `without` names families of rules to leave out; `rules` replaces all rules, built-in and registered. A budget that
    runs out, or Ctrl-C (in the main thread), is reported in `report.stopped`; the best program found so far is
    returned, at worst the one given. `verify=False` vouches for a program that `ir.verify` has not seen.

    Prices of a search add up over statements. `whole`, such as `lower.price.program.pricing(func, target)`, prices
    programs as they will run: it orders the best programs of the search and the one given, so that `best` is no dearer
    by it than `func` (up to a hundredth, or what calls differ by). Costs of variants are the search's in any case.

    Nests become calls of instructions that do the same, of those that are registered or called by the program as it is
    given, where that is cheaper.

    Raises:
        LoopsatError: the target, or a family, does not exist.
        VerifyError: the program has no meaning: an access can leave its buffer, an assumption is false, ...
        KeyboardInterrupt: there was a second Ctrl-C.
    """
    began = time.perf_counter()
    func = entered(func, verified=verify)
    floats = floats_named(floats)
    chosen = target if isinstance(target, Target) else target_named(target)
    budget = DEFAULT_BUDGET if budget is None else budget
    limits = budget.in_proportion(sum(1 for _ in walk(func.body)))
    for rule in rules if isinstance(rules, Iterable) else (rules,) * (rules is not None):
        expect(rule, Rule, "`rules` has rules", "functions under @rule are such")
    known = tuple(active_rules(without) if rules is None else rules)
    own = kept_rules((*rules_of(func.body), *(library_rules(func.body) if rules is None else ())), named(without))
    active = tuple(r for r in dict.fromkeys((*known, *own)) if r.floats in floats)
    refused = next((r.name for r in active if r.terms is not None), None)
    if refused is not None:
        help = "register it: lowering uses rules over tensor terms"
        raise RuleError("rule", f"rule {refused} is about tensor terms, of which a search has none", help=help)
    check_names(func, (r.replacement for r in active if r.replacement is not None))
    report = Report()
    patience = Patience(limits.seconds, work=limits.work)
    keep = max(k, 1 if whole is None else CANDIDATES)
    traced = frozenset(func.scalars) - sizing_scalars(func)
    search = _Search(lower_blocks(func), chosen, keep, limits, active, report, floats, patience, traced=traced)
    prices, domain = Prices(chosen), promised(func)

    made: dict[Stmt, PrimFunc] = {}

    def as_named(body: Stmt) -> PrimFunc:
        """A program that was found, with the names of its author; the one that is priced is the one that is given."""
        if body not in made:
            made[body] = replace(func, body=restored(with_calls(body, domain), func)).refines(func)
        return made[body]

    priced: dict[Stmt, float] = {}

    def rank(programs: list[tuple[float, Stmt]]) -> Ranking:
        """Programs of searches as they are once promises are erased, the best first."""
        found = {with_calls(body, domain): body for body in reversed([erase(body) for _, body in programs])}
        erased = [*reversed(found.values())]  # instances differ in their bodies, of which calls say nothing

        def cheapest(bodies: list[Stmt]) -> list[tuple[float, Stmt]]:
            return _distinct([(prices.program(body), body) for body in bodies], search.keep)

        if whole is None:
            return Ranking(cheapest(unconfirmed(erased, func.body)), [])
        as_it_will_run = whole
        written, compact, called, bare = (
            [(prices.program(body), body) for body in map(erase, several)]
            for several in ([search.func.body], search.compact, search.called, search.bare)
        )

        def price(program: PrimFunc) -> float:
            if program.body not in priced:
                if patience.interrupts:
                    raise _InterruptedError
                priced[program.body] = as_it_will_run(program)
            return priced[program.body]

        try:
            return ranked(cheapest(erased), compact, called, written[0], as_named, price, chosen.call, bare)
        except _InterruptedError:  # as if there was no price as a whole
            return Ranking(cheapest(unconfirmed(erased, func.body)), [])

    with listening(patience), keeping():
        programs = search.run()
        ranking = rank(programs)
        report.overruled = ranking.overruled
        more = search.resumed(ranking.programs[0][1], programs) if ranking.overruled else []
        again = rank(more) if more else ranking
        if again.prices and again.prices[0] < ranking.prices[0]:
            ranking = again
            report.overruled += f"; a search that begins with it finds one for {again.prices[0][0]:,.0f}"
        found = ranking.programs if whole is None else ranking.programs[: max(k, 1)]
        report.priced = ranking.prices
    report.interrupted = patience.interrupts > 0
    report.work, report.seconds = patience.done(), time.perf_counter() - began
    variants = [(as_named(body), cost) for cost, body in found]
    excluded = named(without)
    settings = Settings(chosen, budget, floats, active, rules is not None, excluded)
    result = Result(variants[0][0], variants, search.cost_before, report, func, settings)
    report.decide = result.decisions
    return result


@pb.exclusive
def search_within(
    func: PrimFunc, block: str | None, rules: tuple[Rule, ...], target: Target, floats: Floats
) -> PrimFunc:
    """The cheapest program by these rules and prices, where only a block, or all, may change; nothing is erased.

    A search follows from what the one before found, until nothing changes: what one has simplified may let another
    rule apply. Blocks are kept, as names around what they mean: their axes, predicates and inits are written out.

    Raises:
        ScheduleError: there is no such block.
        KeyboardInterrupt: there was a Ctrl-C; half a step is none.
    """
    func = without_axes(func)
    budget = replace(DEFAULT_BUDGET, restarts=0).in_proportion(sum(1 for _ in walk(func.body)))
    search = _Search(func, target, 1, budget, rules, Report(), floats, Patience(budget.seconds), block)
    for _ in range(_SEARCHES):
        search.patience = Patience(budget.seconds, allowed=1, work=budget.work)
        with listening(search.patience):
            new = replace(func, body=search.once(func.body)[0][1]).refines(func)
        if new.body == func.body:
            break
        func = new
        if block is not None and not any(isinstance(s, Block) and s.name == block for s in walk(func.body)):
            break  # it had nothing to do
    return func


class _Search(Struct, dict=True):
    func: PrimFunc
    target: Target
    keep: int
    budget: Budget
    rules: tuple[Rule, ...]
    report: Report
    floats: Floats
    patience: Patience
    block: str | None = None
    traced: frozenset[Var] = frozenset()  # scalars that may differ in each call of what was compiled once
    searched: list[Stmt] = field(default_factory=lambda: list[Stmt]())
    guarded: list[Stmt] = field(default_factory=lambda: list[Stmt]())  # the best where guards cost next to nothing
    partial: list[Stmt] = field(default_factory=lambda: list[Stmt]())  # the best where parts of arrays cost no more
    compact: list[Stmt] = field(default_factory=lambda: list[Stmt]())  # the best of those with the fewest stores
    called: list[Stmt] = field(default_factory=lambda: list[Stmt]())  # those that leave most to instructions
    bare: list[Stmt] = field(default_factory=lambda: list[Stmt]())  # those with the least under guards, and on parts
    cuts: bool = True  # whether rules that cut loops take part
    deferred: bool = False  # whether they have something to say, and did not take part yet
    cost_before: float = 0.0
    patient: bool = True
    contexts: dict[Hashable, Contexts] = field(default_factory=lambda: dict[Hashable, Contexts]())

    def __post_init__(self) -> None:
        written = lower_blocks(self.func.as_written).body
        self.source: Evaluated = Evaluated(Numbering().number(written).stmt)

    def contexts_of(self, body: Stmt) -> Contexts:
        """Contexts for a program; those of an earlier search if they rest on the same, since most of it stays."""
        followed = frozenset(e.buffer for e in all_exprs(body) if isinstance(e, Load))
        defined = defined_buffers(body, self.func.buffers)
        decides = has_kind(body, If) or any(isinstance(e, Select) for e in all_exprs(body))
        decides |= any(r.instruction is not None for r in self.rules)  # these ask about copies that they would make
        decides |= Floats.APPROXIMATE in self.floats  # rules that take it ask of which elements the program has numbers
        key = followed, frozenset(defined), decides
        if key not in self.contexts:
            effects = EffectAnalysis(self._over, followed, defined, self.floats)
            self.contexts[key] = Contexts(
                effects, over=self._over, floats=self.floats, defined=defined, decides=decides, source=self.source
            )
        found = self.contexts[key]
        found.conflicts = 0
        return found

    def _over(self) -> bool:
        return self.patient and self.patience.over()

    def run(self) -> list[tuple[float, Stmt]]:
        """Search from the program, then from the best one found, while that helps.

        Loops are cut in what is best without: alternatives multiply with each cut, most are for guards that can go by
        themselves, and a budget spent on them would leave the program as a whole half searched.
        """
        self.cuts = not self.budget.restarts
        best = self.once(self.func.body)
        for _ in range(self.budget.restarts):
            start = self._start(best[0][1])
            if start is None and self.deferred and not self.cuts:
                start, self.cuts = best[0][1], True
            if start is None:
                break
            if self.patience.over():
                if not self.report.stopped.startswith(self.patience.reason()):
                    self.report.stopped = f"{self.patience.reason()} before a restart"
                break
            hoped, before = start != best[0][1] and start not in self.partial, best[0][0]
            best = _distinct([*best, *self.once(start)], self.keep)
            if hoped and best[0][0] >= before and not (self.deferred and not self.cuts):
                break  # what guards promised did not come
        return self._filled(best)

    def _filled(self, best: list[tuple[float, Stmt]]) -> list[tuple[float, Stmt]]:
        """The best programs, also of a search from one in which nothing is undef that a guarded reduction reads."""
        if not self.budget.restarts or self.patience.over() or not any(r.family == "padding" for r in self.rules):
            return best
        start = filled(best[0][1], self.floats)
        self.cuts = True  # what is filled is changed under a condition, which is a choice of values then
        found = [] if start == best[0][1] else self.once(start, best[0][1])
        if found and found[0][0] < best[0][0] and self._start(found[0][1]) is found[0][1]:
            found += self.once(found[0][1])  # a stage that has lost its guard tells later ones more
        return _distinct([*best, *found], self.keep)

    def resumed(self, best: Stmt, programs: list[tuple[float, Stmt]]) -> list[tuple[float, Stmt]]:
        """The programs of a search from the one that a price as a whole has chosen, where none has begun with it.

        Its guards may be bounds of loops, or go by what has changed elsewhere.
        """
        if not self.budget.restarts or self.patience.over() or not has_kind(best, If):
            return []
        found = (*(body for _, body in programs), *self.compact, *self.bare)
        start = next((body for body in found if erase(body) == best), None)
        return [] if start is None or start in self.searched else self.once(start)

    def _start(self, best: Stmt) -> Stmt | None:
        """Where a search may find something new: the best program so far, or one of those with more guards.

        Where only branches and loop extents went, no effect has changed, and nothing new is to be found but by rules
        that look at nests.
        """
        looks = any(r.instruction is not None for r in self.rules)
        if best not in self.searched and (looks or _stores(best) != _stores(self.searched[-1])):
            return best
        hoped = [s for s in (*self.partial, *self.guarded) if s not in self.searched and s != best]
        return next((s for s in hoped if (may_shrink(s) if s in self.partial else least_share(s) < RARE)), None)

    def once(self, body: Stmt, unfilled: Stmt | None = None) -> list[tuple[float, Stmt]]:
        """Search from a program, under the contexts of searches before it."""
        self.searched.append(body)
        self.patient = True
        rules = tuple(r for r in self.rules if r.in_engine)
        with engine_with(rules) as engine, engine.scratch(), scratch_folder() as folder:
            session = _Session(self, engine, folder, body, unfilled)
            outcome = saturate(engine, session.expander, folder, self.budget, self.patience)
            self.patient = False  # what extraction and explanations ask is little, and has its share of the time
            self.report.record(outcome)
            self.report.matches.update(session.expander.matches)
            self.deferred |= session.expander.deferred
            found = session.extract()
            self.report.questions = sum(c.questions for c in self.contexts.values())
            if len(self.searched) == 1:
                self.cost_before = session.original_cost()
            return found


class _Session(Struct, dict=True):
    """One program in one scratch e-graph."""

    search: _Search
    engine: Engine
    folder: str
    body: Stmt
    unfilled: Stmt | None

    def __post_init__(self) -> None:
        self.numbering: Numbering = Numbering(signed_zeros=Floats.NO_SIGNED_ZEROS not in self.search.floats)
        self.contexts: Contexts = self.search.contexts_of(self.body)
        search = self.search
        self.expander: Expander = Expander(
            self.numbering,
            self.contexts,
            search.rules,
            search.budget.proposals,
            cuts=search.budget.cuts if search.cuts else 0,
            deferred=search.deferred and not search.cuts,
            twins=search.block is None,  # a block has one place
        )
        part = self.numbering.number(self.body)
        self.part: Part = part
        self.roots: list[Place] = []
        for priority in Priority:
            facts = self.contexts.root(entry_facts(self.search.func), priority)
            self.roots.append(Place(facts, part.number, NO_PERMISSION))
            self.expander.expand(facts, part, NO_PERMISSION)
            self.numbering.tables["want"].append((facts, part.number, NO_PERMISSION))
            if not self.contexts.conflicts:
                return  # no location is both known and dead, so priorities make no difference

    def extract(self) -> list[tuple[float, Stmt]]:
        """The cheapest programs of all roots."""
        search = self.search
        tables = self.engine.tables(EXTRACTED)
        trips = self.contexts.trips
        extractor = Extractor(tables, self.numbering, search.target, search.keep, trips, search.traced)
        classes = {place: at for at, places in extractor.places.items() for place in places}
        rebuilder = Rebuilder(self.numbering, self.expander.names, reserved_names(search.func))
        found: list[tuple[Choice, Inside]] = []
        for root in self.roots:
            inside = Inside(root, {}) if search.block is None else self._block(root, search.block)
            found += [(choice, inside) for choice in extractor.choices(classes[inside.place])]
        if not found:  # assumptions contradict each other, and any two statements are equal
            return [(self.original_cost(), self.body)]
        found.sort(key=lambda pair: (round(pair[0].cost, 6), pair[0].size))
        programs = [(choice.cost, self._whole(rebuilder.build(choice, inside.names))) for choice, inside in found]
        kept = [(c, i.place, p) for (c, i), (_, p) in zip(found, programs, strict=True)]
        if search.budget.restarts:
            targets = [(self._cheap_guards(), search.guarded), (self._dear_stores(), search.compact)]
            if self.expander.matches["loops.neutral_iterations"] and has_kind(self.body, Alloc):
                targets.append((self._cheap_parts(), search.partial))
            if has_kind(self.body, If) or any(isinstance(e, Select) for e in all_exprs(self.body)):
                targets.append((self._dear_guards(), search.bare))
            if any(r.instruction is not None for r in search.rules):
                targets.append((self._free_calls(), search.called))
            ways = [(Prices(target), store) for target, store in targets]
            if any(self.expander.matches[r.name] for r in search.rules if r.rolls):
                ways.append((Prices(search.target, registers=True), search.compact))
            for prices, store in ways:
                for choice in extractor.priced(prices).choices(classes[self.roots[0]]):
                    kept.append((choice, self.roots[0], rebuilder.build(choice)))
                    store.append(kept[-1][2])
        edges = self.expander.applied
        rules, before = search.rules, self.unfilled
        trace = Trace(self.body, self.part, kept, extractor, self.contexts, rebuilder, edges, rules, before)
        search.report.traces.append(trace)
        return _distinct(programs, search.keep)

    def _cheap_guards(self) -> Target:
        """Prices where guards cost next to nothing.

        To run a statement everywhere may cost less than a guard, and more than the shorter loop that a guard becomes in
        the next search.
        """
        return replace(self.search.target, mask=0.0, reduction_mask=0.0, guarded=FEW)

    def _cheap_parts(self) -> Target:
        """Prices where a loop over a part of an array costs no more than one over all of it.

        It does not where the array is a local that becomes as small as that part in the next search.
        """
        return replace(self.search.target, reduction_slice=0.0, store_slice=0.0)

    def _dear_stores(self) -> Target:
        """Prices where the number of stores decides first.

        Parts of a loop are cheaper, each by itself, than a whole that computes over padding, but each part is an array
        operation of its own when it runs, which only a price as a whole can weigh.
        """
        return replace(self.search.target, kernel=MANY)

    def _dear_guards(self) -> Target:
        """Prices where guards and parts of arrays decide first.

        Of a guard that stays, and of loops over a part that stand for it, there may be more forms than are priced as a
        whole, none of which may run as fast as a program that computes over everything.
        """
        return replace(self.search.target, mask=MANY, reduction_mask=MANY, reduction_slice=MANY, store_slice=MANY)

    def _free_calls(self) -> Target:
        """Prices where instructions cost nothing: the others are those of vector code, which nests may not become."""
        names = dict.fromkeys(r.instruction.name for r in self.search.rules if r.instruction is not None)
        return replace(self.search.target, calls=tuple((name, 0.0) for name in names))

    def _block(self, root: Place, name: str) -> Inside:
        """Where the block that may change stands, under the facts of a root."""
        found = find_block(self.part, Inside(root, {}), name, self.contexts)
        if found is None:
            known = [s.name for s in walk(self.body) if isinstance(s, Block)]
            message = f"{self.search.func.name} has no block `{name}`"
            raise ScheduleError("unknown-block", message, help=suggest(name, known) or f"the blocks are {known}")
        return found

    def _whole(self, new: Stmt) -> Stmt:
        """The program with what was extracted in its place."""
        name = self.search.block
        if name is None:
            return new
        return map_stmt(self.body, on_stmt=lambda s: new if isinstance(s, Block) and s.name == name else s)

    def original_cost(self) -> float:
        """What the program costs as it stands, by the same measure."""
        return Prices(self.search.target).program(self.body)


def _stores(stmt: Stmt) -> list[tuple[object, ...]]:
    """What effects depend on: of each store the buffer, its value if that is a constant, what it reads, and, if other
    statements read the buffer, the conditions around it."""
    found: list[tuple[Store, tuple[Expr, ...]]] = []

    def visit(stmt: Stmt, conditions: tuple[Expr, ...]) -> None:
        match stmt:
            case Store():
                found.append((stmt, conditions))
            case If(cond=cond, then=yes, other=no):
                visit(yes, (*conditions, cond))
                visit(no, (*conditions, ~cond))
            case _:
                for part in stmt_children(stmt):
                    visit(part, conditions)

    visit(stmt, ())
    read = [{e.buffer for e in (*loads(s.value), *(e for c in cs for e in loads(c)))} for s, cs in found]
    shared = {b for (s, _), buffers in zip(found, read, strict=True) for b in buffers if b != s.buffer}
    return [
        (
            store.buffer.name,
            (store.value,) if isinstance(store.value, Const) else (),
            sorted(b.name for b in buffers),
            conditions if store.buffer in shared else (),
        )
        for (store, conditions), buffers in zip(found, read, strict=True)
    ]


class _InterruptedError(Exception):
    """Nobody waits for what is priced."""


def _distinct(programs: list[tuple[float, Stmt]], keep: int) -> list[tuple[float, Stmt]]:
    out: list[tuple[float, Stmt]] = []
    for cost, body in sorted(programs, key=lambda pair: pair[0]):
        if all(body != other for _, other in out):
            out.append((cost, body))
    return out[:keep]
