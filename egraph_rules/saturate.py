"""The search loop: rules and proofs in turn, under a budget. Owns when a search ends, not what it asks."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from egraph_rules.encode import Expander
from egraph_rules.engine import Engine
from egraph_rules.extract import EXPRESSIONS, STATEMENTS
from egraph_rules.phases import SCHEDULE, Budget

_TERMS = ("At", "Ate", *STATEMENTS, *EXPRESSIONS)


@dataclass(slots=True)
class Outcome:
    """How one search went: rule matches by name, rounds, rows of terms at its end, and why it ended."""

    matches: Counter[str] = field(default_factory=lambda: Counter[str]())
    rounds: int = 0
    nodes: int = 0
    stopped: str = ""


def saturate(engine: Engine, expander: Expander, folder: str, budget: Budget) -> Outcome:
    """Alternate rules and proofs until neither has anything new, or the budget ends."""
    outcome = Outcome()
    began = time.perf_counter()
    while not outcome.stopped:
        engine.insert(expander.tables, folder)
        more, matches = engine.saturate(SCHEDULE)
        outcome.matches.update(matches)
        outcome.rounds += 1
        outcome.nodes = engine.sizes(_TERMS)
        _answer(engine, expander)
        if not more and not any(expander.tables.values()):
            outcome.stopped = "saturated: no rule has anything new to say"
        elif outcome.nodes > budget.nodes:
            outcome.stopped = f"node budget: more than {budget.nodes} terms after {outcome.rounds} rounds"
        elif time.perf_counter() - began > budget.seconds:
            outcome.stopped = f"time budget: {budget.seconds:g} s after {outcome.rounds} rounds"
        elif outcome.rounds >= budget.rounds:
            outcome.stopped = f"round budget: {budget.rounds} rounds"
    return outcome


def _answer(engine: Engine, expander: Expander) -> None:
    """Prove what rewriting has asked since the last round."""
    asked = engine.tables(("At", "ask_div", "ask_rule"))
    for row in asked["At"]:
        expander.expand_number(*cast("tuple[int, int, int]", row.inputs))
    for row in asked["ask_div"]:
        expander.answer_division(*cast("tuple[int, int, int]", row.inputs))
    for row in asked["ask_rule"]:
        name, facts, *cells = row.inputs
        expander.answer_rule(cast(int, facts), cast(str, name), tuple(cast("list[int]", cells)))
