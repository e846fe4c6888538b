"""Why a rule did not contribute to the best program. Owns the answers; asks what a search has kept, and tries claims.

Nothing here runs unless it is asked for. What a search knew is still there (`Report.traces`), so that side conditions
are asked again where a rule's pattern occurs. An assumption is proposed only if the rule applies once it is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum

from msgspec import Struct, field

from egraph_rules.authoring.rule import Defined, Rule, is_number, show
from egraph_rules.contexts.context import Contexts
from egraph_rules.cost.prices import Prices
from egraph_rules.explain.asking import Wish, unanswered
from egraph_rules.explain.chains import matched, unmet
from egraph_rules.explain.derivation import Step, Trace, is_node
from egraph_rules.explain.queries import Applies, Lacks, Queries
from egraph_rules.explain.sites import Site, sites
from egraph_rules.rules import FAMILIES, all_rules, search_rules
from egraph_rules.rules.registry import registered_rules
from egraph_rules.search.erase import erase
from egraph_rules.search.extract import Choice, ClassId, Extractor, Place
from egraph_rules.search.numbering import Part
from ir.errors import RuleError, suggest
from ir.floats import Floats
from ir.nodes import SKIP, Expr, Load, PrimFunc, Stmt, seq
from ir.printing.printer import to_script
from ir.traverse import stmt_exprs, walk_expr

_ADD = "add"
_SHOWN = 3  # places, and facts of a place, that are shown
_TRIALS = 16  # searches to try assumptions with
_FREEDOMS = {
    Floats.REASSOCIATE: "sums and products may be regrouped",
    Floats.FINITE: "no value is infinite or NaN, padding included",
    Floats.NO_SIGNED_ZEROS: "0.0 and -0.0 are the same",
}

Again = Callable[[Stmt], Sequence[Trace]]  # a search from another program


class Searched(Struct, frozen=True):
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
    again: Again


class _Kind(Enum):
    """How an answer is sorted: what is most telling comes first."""

    PART = 0
    LACKS = 1
    MATCHED = 2
    ABSENT = 3
    NEVER = 4


_GROUPED = (_Kind.ABSENT, _Kind.NEVER)  # answers that many rules of a family share


class _Answer(Struct, frozen=True):
    rule: Rule
    kind: _Kind
    text: str  # what follows the rule's name, or `is` after it


def why_not(search: Searched, name: str) -> str:
    """Why a rule, or each rule of a family, did not contribute to the best program; one paragraph a rule.

    Raises:
        RuleError: there is no rule and no family of this name.
    """
    known = {r.name: r for r in (*all_rules(), *registered_rules(), *search.rules)}
    chosen = [known[name]] if name in known else [r for r in known.values() if r.family == name]
    if not chosen:
        families = {*FAMILIES, *(r.family for r in known.values())}
        listed = f"the families are {', '.join(sorted(families))}; forms of lowering are those of `loopsat.why_not`"
        help = suggest(name, (*known, *families)) or listed
        raise RuleError("unknown-rule", f"there is no rule and no family of rules `{name}`", help=help)
    asker = _Asker(search)
    answers = sorted((asker.answer(rule) for rule in chosen), key=lambda a: a.kind.value)
    told = [f"{a.rule.name} {a.text}" for a in answers if a.kind not in _GROUPED]
    groups: dict[str, list[str]] = {}
    for a in answers:
        if a.kind in _GROUPED:
            groups.setdefault(a.text, []).append(a.rule.name)
    told += [f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {text}" for text, names in groups.items()]
    return "\n".join(told)


class _Asker(Struct):
    search: Searched
    _sites: list[tuple[Trace, Site]] = field(default_factory=lambda: list[tuple[Trace, Site]]())
    _steps: list[Step] | None = None
    _queries: Queries | None = None
    _trials: int = 0

    def answer(self, rule: Rule) -> _Answer:
        """Why one rule did not contribute."""
        if all(r.name != rule.name for r in self.search.rules):
            return _Answer(rule, _Kind.ABSENT, f"not in this search: {self._absence(rule)}")
        if self._steps is None:
            self._steps = self.search.steps()
        parts = [f"{s.place}; {s.fact}" for s in self._steps if s.rule == rule.name]
        if parts:
            head = "is part of the best program:"
            return _Answer(rule, _Kind.PART, "\n  ".join((head, *parts, *self._elsewhere(rule))))
        if self.search.matches[rule.name]:
            text = "\n  ".join((self._matched(rule), *self._elsewhere(rule)))
            return _Answer(rule, _Kind.MATCHED, text)
        lacking = self._lacking(rule)
        if lacking:
            more = len(lacking) - _SHOWN
            rest = [f"and at {more} more places"] if more > 0 else []
            head = f"({rule.law}) does not apply:"
            return _Answer(rule, _Kind.LACKS, "\n  ".join((head, *lacking[:_SHOWN], *rest)))
        return _Answer(rule, _Kind.NEVER, self._nothing(rule))

    def _nothing(self, rule: Rule) -> str:
        name = self.search.func.name
        if rule.in_engine:
            return f"of no use: nothing in {name} is of the form needed"
        return f"of no use: no part of {name} gives occasion to propose anything, and no answer was missing"

    def _elsewhere(self, rule: Rule) -> list[str]:
        """What would let a rule that did apply do so at more places."""
        if rule.pattern is not None:
            return []
        return [f"elsewhere, {text}" for text in self._lacking(rule) if f"; {_ADD} " in text][:_SHOWN]

    # Not in the search ----------------------------------------------------------------------------------------------

    def _absence(self, rule: Rule) -> str:
        search = self.search
        missing = [f for f in _FREEDOMS if f in rule.floats and f not in search.floats]
        if missing:
            needs = ", ".join(f"{str(f.name).lower()} ({_FREEDOMS[f]})" for f in missing)
            hint = ""
            found = ((site, e) for _, site, at, _ in self._expressions(rule) for e in walk_expr(at))
            reads = next((site.text(e) for site, e in found if isinstance(e, Load)), None)
            if Floats.FINITE in missing and reads is not None:
                hint = f"; or say with T.assume what `{reads}` is where that is known, as in padding"
            return f"it needs the float freedom {needs}, which is withdrawn; grant it with `floats`{hint}"
        if rule.family in search.without or rule.name in search.without:
            what = f"the family {rule.family}" if rule.family in search.without else "it"
            return f"{what} is left out by `without`"
        if search.given:
            return "other rules were given with `rules`"
        if rule.terms is not None:
            return "it is about sums over array axes, which lowering takes apart; no search uses it"
        if all(r.name != rule.name for r in search_rules()):
            return (
                "it serves directed steps (egraph_rules.transforms) and single expressions (`simplify`) only; "
                "to try it, pass rules=(*search_rules(), RULE)"
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
            for _, site in self._all_sites():
                asked = self._asked(rule, site)
                if isinstance(asked, Lacks):
                    advice = self._advice(rule, site, asked.wishes)
                    found[f"{site} would need: {advice or asked.reason}"] = None
        else:
            for trace, site in self._all_sites():
                wishes = unanswered(rule, site, trace.contexts)
                if wishes:
                    advice = self._advice(rule, site, wishes)
                    shown = "; ".join(map(str, wishes[:_SHOWN]))
                    found[f"{site} would need: {advice}" if advice else f"{site} {shown}"] = None
        return list(found)

    def _asked(self, rule: Rule, site: Site) -> Applies | Lacks | None:
        if self._queries is None:
            self._queries = Queries(self.search.traces[0])
        return self._queries.ask(rule, site)

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
                wishes.append(Wish(text, site.assumed(here)))
        advice = self._advice(rule, site, wishes) if len(wishes) == len(failing) else ""
        missing = f"it would need: {advice}" if advice else "; ".join(reasons)
        yield f"{site} `{site.text(expr)}` is of its form, but {missing}"

    # Claims that would help -------------------------------------------------------------------------------------------

    def _advice(self, rule: Rule, site: Site, wishes: Iterable[Wish]) -> str:
        """The first claim with which the rule applies to the statement."""
        for wish in wishes:
            claim = wish.claim or wish.after
            if claim is None or self._trials >= _TRIALS:
                continue
            self._trials += 1
            new = seq(wish.claim or SKIP, site.printed(), wish.after or SKIP)
            if any(_applies(rule, site.part.stmt, trace) for trace in self.search.again(site.wrap(new))):
                side = "before" if wish.after is None else "after"
                return f"{wish.what} (unknown); {_ADD} {side} it, if that is so, {_one_line(claim)}"
        return ""


def _applies(rule: Rule, stmt: Stmt, trace: Trace) -> bool:
    """Whether a rule applies to a statement somewhere in the program that a search began with."""
    queries = Queries(trace)
    for site in sites(trace):
        if not site.original or site.part.stmt != stmt:
            continue
        place = site.place
        if rule.pattern is not None:
            exprs = [e for top in stmt_exprs(stmt) for e in walk_expr(top)]
            found = [(e, m) for e in exprs for m in (matched(rule, e),) if m is not None]
            if any(next(unmet(rule, *m, place.facts, trace.contexts), None) is None for _, m in found):
                return True
        elif rule.in_engine:
            if isinstance(queries.ask(rule, site), Applies):
                return True
        elif any(n == rule.name for _, n in trace.edges.get((place.facts, place.number, place.permissions), ())):
            return True
    return False


def _one_line(claim: Stmt) -> str:
    """A claim, and the loops around it, in one line."""
    return " ".join(part.strip() for part in to_script(claim).splitlines())


# The cheapest program that uses a rule -------------------------------------------------------------------------------


def cheapest_using(rule: Rule, traces: Sequence[Trace], prices: Prices) -> float | None:
    """The cost of the cheapest program in which a rule over statements has been applied; None if that is not known."""
    costs: list[float] = []
    for trace in traces:
        extractor = _Using.of(trace, _made_by(rule, trace))
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


class _Using(Extractor, kw_only=True):
    """An extractor that also knows the cheapest way of each class that contains some given nodes."""

    contexts: Contexts
    made: Iterable[tuple[Place, Part | None]]
    classes: dict[Place, ClassId] = field(default_factory=lambda: dict[Place, ClassId]())
    _made: dict[ClassId, list[tuple[Place, Part | None]]] = field(
        default_factory=lambda: dict[ClassId, list[tuple[Place, Part | None]]]()
    )
    _with: dict[int, Choice] = field(default_factory=lambda: dict[int, Choice]())  # by id, so that they stay

    @staticmethod
    def of(trace: Trace, made: Iterable[tuple[Place, Part | None]]) -> _Using:
        """One for the rows of a search, and nodes that rules have made there."""
        base = trace.extractor
        return _Using(base.tables, base.numbering, base.target, 1, trips=base.trips, contexts=trace.contexts, made=made)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.classes |= {p: at for at, places in self.places.items() for p in places}
        for place, part in self.made:
            if place in self.classes:
                self._made.setdefault(self.classes[place], []).append((place, part))

    def choices(self, at: ClassId) -> list[Choice]:
        """The cheapest way of a class, and the cheapest one with a given node."""
        if at not in self._choices:
            found = self._ranked(at)
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
        return is_node(choice, part, place, self.contexts, self.classes)
