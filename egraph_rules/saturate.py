"""The search loop: rules and proofs in turn, under a budget. Owns when a search ends, not what it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from egraph_rules.encode import Expander
from egraph_rules.engine import Engine
from egraph_rules.extract import EXPRESSIONS, STATEMENTS
from egraph_rules.patience import Patience
from egraph_rules.phases import ALL_RULES, PUSH_ONLY, ROUNDS, Budget, schedule
from egraph_rules.rule import ruleset

_TERMS = ("At", "Ate", *STATEMENTS, *EXPRESSIONS)


@dataclass(slots=True)
class Outcome:
    """How one search went: rule matches by name, rounds, rows of terms at its end, and why it ended."""

    matches: Counter[str] = field(default_factory=lambda: Counter[str]())
    rounds: int = 0
    nodes: int = 0
    stopped: str = ""


def saturate(
    engine: Engine, expander: Expander, folder: str, budget: Budget, patience: Patience | None = None
) -> Outcome:
    """Alternate rules and proofs until neither has anything new, the budget ends, or patience does.

    Raises:
        KeyboardInterrupt: the user insists on an end.
    """
    outcome = Outcome()
    patience = Patience(budget.seconds, work=budget.work) if patience is None else patience
    backoff = _Backoff(budget.matches, tuple(dict.fromkeys(r.family for r in expander.rules if r.in_engine)))
    while not outcome.stopped:
        engine.insert(expander.tables, folder)
        over = patience.over()
        more, matches = engine.saturate(PUSH_ONLY) if over else _rounds(engine, backoff.rulesets(), patience)
        resting = backoff.record(matches)
        outcome.matches.update(matches)
        patience.matched(sum(matches.values()))
        outcome.rounds += 1
        outcome.nodes = engine.sizes(_TERMS)
        patience.reserve(outcome.nodes)
        if over:
            outcome.stopped = f"{patience.reason()} after {outcome.rounds} rounds"
            break
        _answer(engine, expander, patience)
        if not more and not resting and not any(expander.tables.values()):
            outcome.stopped = _finished(expander)
        elif outcome.nodes > budget.nodes:
            outcome.stopped = f"node budget: more than {budget.nodes} terms after {outcome.rounds} rounds"
        elif outcome.rounds >= budget.rounds:
            outcome.stopped = f"round budget: {budget.rounds} rounds"
    if backoff.rested:
        outcome.stopped += f"; families that rested: {', '.join(sorted(backoff.rested))}"
    return outcome


def _rounds(engine: Engine, rulesets: list[str], patience: Patience) -> tuple[bool, Counter[str]]:
    """Some rounds of rules; whether they changed anything, and their matches."""
    changed, matches = False, Counter[str]()
    for _ in range(ROUNDS):
        more, found = engine.saturate(schedule(rulesets))
        matches.update(found)
        changed |= more
        if not more or patience.over():
            break
    return changed, matches


def _finished(expander: Expander) -> str:
    if expander.held_back:
        return f"proposal budget: {expander.limit} of {', '.join(sorted(expander.held_back))}"
    return "saturated: no rule has anything new to say"


@dataclass(slots=True)
class _Backoff:
    """Which families run next: one with too many matches rests, longer each time."""

    limit: int
    families: tuple[str, ...]
    rested: Counter[str] = field(default_factory=lambda: Counter[str]())
    _resting: dict[str, int] = field(default_factory=lambda: dict[str, int]())

    def rulesets(self) -> list[str]:
        if not self._resting:
            return [ALL_RULES]
        return [ruleset(family) for family in self.families if family not in self._resting]

    def record(self, matches: Mapping[str, int]) -> bool:
        """Take note of the matches of a run; gives whether some family does not run next."""
        self._resting = {family: n - 1 for family, n in self._resting.items() if n > 1}
        counts: Counter[str] = Counter()
        for name, count in matches.items():
            counts[name.partition(".")[0]] += count
        for family in self.families:
            if counts[family] > self.limit:
                self._resting[family] = 2 ** self.rested[family]
                self.rested[family] += 1
        return bool(self._resting)


def _answer(engine: Engine, expander: Expander, patience: Patience) -> None:
    """Prove what rewriting has asked since the last round."""
    asked = engine.tables(("At", "ask_div", "ask_rule"))
    for row in asked["At"]:
        if patience.over():
            return
        expander.expand_number(*cast("tuple[int, int, int]", row.inputs))
    for row in asked["ask_div"]:
        if patience.over():
            return
        expander.answer_division(*cast("tuple[int, int, int]", row.inputs))
    for row in asked["ask_rule"]:
        if patience.over():
            return
        name, facts, *cells = row.inputs
        expander.answer_rule(cast(int, facts), cast(str, name), tuple(cast("list[int]", cells)))
