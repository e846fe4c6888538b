"""Why a rule did not contribute to the best program. Owns the answers; asks what a search has kept, and tries claims.

Nothing here runs unless it is asked for. What a search knew is still there (`Report.traces`), so that side conditions
are asked again where a rule's pattern occurs. An assumption is proposed only if the rule applies once it is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from egraph_rules.asking import Wish, unanswered
from egraph_rules.chains import matched, unmet
from egraph_rules.derivation import KINDS, Step, Trace, places_inside
from egraph_rules.encode import Part
from egraph_rules.erase import erase
from egraph_rules.extract import Choice, ClassId, Extractor, Place
from egraph_rules.prices import Prices
from egraph_rules.queries import Applies, Lacks, Queries
from egraph_rules.registry import registered_rules
from egraph_rules.rule import Defined, Floats, Rule, is_number, show
from egraph_rules.rules import FAMILIES, all_rules, search_rules
from egraph_rules.sites import Site, sites
from ir.errors import RuleError, suggest
from ir.nodes import Assume, Expr, Load, PrimFunc, Stmt, Store, seq
from ir.script.printer import to_script
from ir.traverse import free_vars, stmt_exprs, substitute_expr, walk_expr

_SHOWN = 3  # places, and facts of a place, that are shown
_TRIALS = 16  # searches to try assumptions with
_FREEDOMS = {
    Floats.REASSOCIATE: "sums and products may be regrouped",
    Floats.FINITE: "no value is infinite or NaN, padding included",
    Floats.NO_SIGNED_ZEROS: "0.0 and -0.0 are the same",
}

Matches = Callable[[Stmt], Counter[str]]  # of a search from another program, by rule


@dataclass(frozen=True, slots=True)
class Searched:
    """What there is to ask of a search: its rules and freedoms, what it found, and how to search again."""

    func: PrimFunc
    rules: tuple[Rule, ...]
    given: bool  # whether the caller chose the rules
    without: tuple[str, ...]
    floats: Floats
    traces: Sequence[Trace]
    matches: Counter[str]
    cost: float
    prices: Prices
    steps: Callable[[], list[Step]]
    again: Matches


class _Kind(Enum):
    """How an answer is sorted: what is most telling comes first."""

    PART = 0
    LACKS = 1
    MATCHED = 2
    ABSENT = 3
    NEVER = 4


@dataclass(frozen=True, slots=True)
class _Answer:
    rule: Rule
    kind: _Kind
    text: str


def why_not(search: Searched, name: str) -> str:
    """Why a rule, or each rule of a family, did not contribute to the best program; one paragraph a rule.

    Raises:
        RuleError: there is no rule and no family of this name.
    """
    known = {r.name: r for r in (*all_rules(), *registered_rules(), *search.rules)}
    chosen = [known[name]] if name in known else [r for r in known.values() if r.family == name]
    if not chosen:
        families = {*FAMILIES, *(r.family for r in known.values())}
        help = suggest(name, (*known, *families)) or f"the families are {', '.join(sorted(families))}"
        raise RuleError("unknown-rule", f"there is no rule and no family of rules `{name}`", help=help)
    asker = _Asker(search)
    answers = sorted((asker.answer(rule) for rule in chosen), key=lambda a: a.kind.value)
    told = [a.text for a in answers if a.kind is not _Kind.NEVER or len(chosen) == 1]
    never = [a.rule.name for a in answers if a.kind is _Kind.NEVER]
    if len(chosen) > 1 and never:
        told.append(f"nothing in {search.func.name} is of the form of {', '.join(never)}")
    return "\n".join(told)


@dataclass(slots=True)
class _Asker:
    search: Searched
    _sites: list[tuple[Trace, Site]] = field(default_factory=lambda: list[tuple[Trace, Site]]())
    _steps: list[Step] | None = None
    _trials: int = 0
    _before: Counter[str] | None = None

    def answer(self, rule: Rule) -> _Answer:
        """Why one rule did not contribute."""
        if all(r.name != rule.name for r in self.search.rules):
            return _Answer(rule, _Kind.ABSENT, f"{rule.name} is not in this search: {self._absence(rule)}")
        if self._steps is None:
            self._steps = self.search.steps()
        parts = [f"{s.place}: {s.fact}" for s in self._steps if s.rule == rule.name]
        lacking = [] if rule.pattern is not None and self.search.matches[rule.name] else self._lacking(rule)
        elsewhere = "".join(f"\n  elsewhere, {text}" for text in lacking[:_SHOWN])
        if parts:
            text = "\n  ".join((f"{rule.name} is part of the best program:", *parts))
            return _Answer(rule, _Kind.PART, text + elsewhere)
        if self.search.matches[rule.name]:
            return _Answer(rule, _Kind.MATCHED, f"{rule.name} {self._matched(rule)}{elsewhere}")
        if lacking:
            more = len(lacking) - _SHOWN
            rest = [f"and {more} places more"] if more > 0 else []
            head = f"{rule.name} ({rule.law}) does not apply:"
            return _Answer(rule, _Kind.LACKS, "\n  ".join((head, *lacking[:_SHOWN], *rest)))
        found = "nothing is of its form" if rule.propose is None else "it finds nothing to propose"
        return _Answer(rule, _Kind.NEVER, f"{rule.name}: {found} in {self.search.func.name}: {rule.law}")

    # Not in the search ----------------------------------------------------------------------------------------------

    def _absence(self, rule: Rule) -> str:
        search = self.search
        missing = [f for f in _FREEDOMS if f in rule.floats and f not in search.floats]
        if missing:
            needs = ", ".join(f"{str(f.name).lower()} ({_FREEDOMS[f]})" for f in missing)
            hint = ""
            reads = next(
                (e for _, s, e, _ in self._expressions(rule) for e in walk_expr(e) if isinstance(e, Load)), None
            )
            if Floats.FINITE in missing and reads is not None:
                hint = f"; or say with T.assume what `{to_script(reads)}` is where that is known"
            return f"it needs the float freedom {needs}, which is withdrawn; grant it with `floats`{hint}"
        if rule.family in search.without:
            return f"the family {rule.family} is left out by `without`"
        if search.given:
            return "other rules were given with `rules`"
        if all(r.name != rule.name for r in search_rules()):
            return (
                "it serves directed steps (egraph_rules.transforms) and single expressions (`simplify`) only; to try it "
                "in a search, pass rules=(*search_rules(), ...) with it"
            )
        return "it was registered after it"

    # In the search, and matched --------------------------------------------------------------------------------------

    def _matched(self, rule: Rule) -> str:
        count = self.search.matches[rule.name]
        times = "once" if count == 1 else f"{count} times"
        using = cheapest_using(rule, self.search.traces, self.search.prices)
        best = f"the best program costs {self.search.cost:,.0f}"
        if using is None:
            return f"matched {times}, but led to nothing cheaper: {best}"
        more = using - self.search.cost
        if more < 0.5:
            return f"matched {times}, and {best} with it as without it"
        return f"matched {times}, but {best}, and the cheapest one that uses the rule {using:,.0f}, {more:,.0f} more"

    # In the search, without a match ----------------------------------------------------------------------------------

    def _lacking(self, rule: Rule) -> list[str]:
        """Places where the pattern of a rule occurs, each with the facts that are missing there."""
        found: dict[str, None] = {}
        if rule.pattern is not None:
            for trace, site, expr, facts in self._expressions(rule):
                found.update(dict.fromkeys(self._conditions(rule, trace, site, expr, facts)))
        elif rule.in_engine:
            queries: dict[int, Queries] = {}
            for trace, site in self._all_sites():
                asked = queries.setdefault(id(trace), Queries(trace)).ask(rule, site)
                if isinstance(asked, Lacks):
                    found[f"{site} would need: {asked.reason}{self._advice(rule, site, asked.wishes)}"] = None
        else:
            for trace, site in self._all_sites():
                wishes = unanswered(rule, site, trace.contexts)
                if wishes:
                    shown = "; ".join(w.what for w in wishes[:_SHOWN])
                    found[f"{site} {shown}{self._advice(rule, site, wishes)}"] = None
        return list(found)

    def _all_sites(self) -> list[tuple[Trace, Site]]:
        """The sites of the first search: those of the program as it was written, if there are any."""
        if not self._sites and self.search.traces:
            first = self.search.traces[0]
            self._sites = [(first, site) for site in sites(first) if site.original]
        return self._sites

    def _expressions(self, rule: Rule) -> Iterator[tuple[Trace, Site, Expr, int]]:
        """Expressions of the form of a rule's pattern, where they stand."""
        for trace, site in self._all_sites():
            for top in stmt_exprs(site.part.stmt):
                for expr in walk_expr(top):
                    if rule.pattern is not None and matched(rule, expr) is not None:
                        yield trace, site, expr, site.place.facts

    def _conditions(self, rule: Rule, trace: Trace, site: Site, expr: Expr, facts: int) -> Iterator[str]:
        match = matched(rule, expr)
        assert match is not None
        failing = list(unmet(rule, *match, facts, trace.contexts))
        if not failing:
            yield f"{site} `{site.text(expr)}` is of its form, but its value is known there, so that it needs no other"
            return
        reasons: list[str] = []
        wishes: list[Wish] = []
        for cond, here in failing:
            text = site.text(here)
            if isinstance(cond, Defined):
                reasons.append(f"`{text}` may be undef, since it reads a buffer")
            elif is_number(cond):
                reasons.append(f"its numbers do not satisfy {show(cond)}: `{text}`")
            elif trace.contexts.truth(facts, here) is False:
                reasons.append(f"`{text}` never holds there")
            else:
                reasons.append(f"`{text}` is not known to hold")
                wishes.append(Wish(text, _bound_before(here, site)))
        advice = self._advice(rule, site, wishes) if len(wishes) == len(failing) else ""
        yield f"{site} `{site.text(expr)}` is of its form, but {'; '.join(reasons)}{advice}"

    # Assumptions that would help ---------------------------------------------------------------------------------------

    def _advice(self, rule: Rule, site: Site, wishes: Iterable[Wish]) -> str:
        """The first assumption with which the rule applies once more."""
        for wish in wishes:
            if wish.claim is None or self._trials >= _TRIALS:
                continue
            self._trials += 1
            if self._before is None:
                self._before = self.search.again(self.search.func.body)
            tried = self.search.again(site.wrap(seq(wish.claim, site.printed())))
            if tried[rule.name] > self._before[rule.name]:
                return f"; if {wish.what} there, add before it {_one_line(wish.claim)}"
        return ""


def _bound_before(cond: Expr, site: Site) -> Stmt | None:
    """The assumption of a condition, if all its variables are bound before the statement."""
    outer = {v.name for v in site.env}
    inner = {v.name for v in free_vars(cond) if v.name.startswith("%")}
    return Assume(substitute_expr(cond, site.env)) if inner <= outer else None


def _one_line(claim: Stmt) -> str:
    """An assumption, and the loops around it, in one line."""
    return " ".join(part.strip() for part in to_script(claim).splitlines())


# The cheapest program that uses a rule ---------------------------------------------------------------------------------


def cheapest_using(rule: Rule, traces: Sequence[Trace], prices: Prices) -> float | None:
    """The cost of the cheapest program in which a rule over statements has been applied; None if that is not known."""
    costs: list[float] = []
    for trace in traces:
        extractor = _Using(trace, _made_by(rule, trace))
        for root in dict.fromkeys(place for _, place, _ in trace.found):
            choice = extractor.using(extractor.classes[root])
            if choice is not None:
                costs.append(prices.program(erase(trace.rebuilder.build(choice))))
    return min(costs, default=None)


def _made_by(rule: Rule, trace: Trace) -> Iterator[tuple[Place, Part | None]]:
    """What a rule says that statements equal: a statement at a place, or None for skip."""
    if rule.propose is not None:
        for (facts, _, permissions), made in trace.edges.items():
            yield from ((Place(facts, part.number, permissions), part) for part, name in made if name == rule.name)
    elif rule.in_engine and rule.pattern is None:
        queries = Queries(trace)
        for site in sites(trace):
            asked = queries.ask(rule, site)
            if isinstance(asked, Applies):
                yield (site.place, None) if asked.result is None else (asked.result[1], asked.result[0])


class _Using(Extractor):
    """An extractor that also knows the cheapest way of each class that contains some given nodes."""

    def __init__(self, trace: Trace, made: Iterable[tuple[Place, Part | None]]) -> None:
        base = trace.extractor
        super().__init__(base.tables, base.numbering, base.target, 1, trips=base.trips)
        self.classes: dict[Place, ClassId] = {p: at for at, places in self.places.items() for p in places}
        self._trace = trace
        self._made: dict[ClassId, list[tuple[Place, Part | None]]] = {}
        self._with: dict[int, Choice] = {}  # by id, so that they stay
        for place, part in made:
            if place in self.classes:
                self._made.setdefault(self.classes[place], []).append((place, part))

    def choices(self, at: ClassId) -> list[Choice]:
        """The cheapest way of a class, and the cheapest one with a given node."""
        if at not in self._choices:
            self._choices[at] = []  # a class cannot be its own part
            found = [Choice("skip", 0.0, origin=at)] if at in self._noops else []
            for kind, row in self._nodes[at]:
                found += self._realise(at, kind, row)
            found.sort(key=lambda c: (round(c.cost, 6), c.size))
            using = next((c for c in found if self._uses(at, c)), None)
            self._choices[at] = found[:1]
            if using is not None:
                self._with[id(using)] = using
                if using is not found[0]:
                    self._choices[at].append(using)
        return self._choices[at]

    def using(self, at: ClassId) -> Choice | None:
        """The cheapest way of a class that contains a given node."""
        return next((c for c in self.choices(at) if id(c) in self._with), None)

    def _uses(self, at: ClassId, choice: Choice) -> bool:
        if any(id(part) in self._with for part in choice.parts):
            return True
        return any(self._is(choice, place, part) for place, part in self._made.get(at, ()))

    def _is(self, choice: Choice, place: Place, part: Part | None) -> bool:
        """Whether a choice is the node of a statement, its parts being members of the same classes."""
        if part is None or part.number == 0:
            return choice.kind == "skip"
        if KINDS.get(type(part.stmt), "leaf") != choice.kind:
            return False
        if isinstance(part.stmt, Store):
            return choice.payload[0] == part.stmt.buffer
        inside = places_inside(part, place, self._trace.contexts)
        return [self.classes.get(p) for p in inside] == [c.origin for c in choice.parts]
