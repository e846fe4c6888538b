"""The search loop: rules and proofs in turn, under a budget. Owns when a search ends, not what it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from egraph_rules.engine.engine import Cell, Engine, Row
from egraph_rules.engine.patience import Patience
from egraph_rules.engine.phases import PUSH_ONLY, ROUNDS, Budget
from egraph_rules.engine.rounds import Rounds
from egraph_rules.search.encode import Expander
from egraph_rules.search.extract import EXPRESSIONS, STATEMENTS
from egraph_rules.search.language import FOLDED

_TERMS = ("At", "Ate", *STATEMENTS, *EXPRESSIONS)


class Outcome(Struct):
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
    rounds = Rounds(engine, _TERMS, budget.nodes, budget.matches)
    while not outcome.stopped:
        engine.insert(expander.tables, folder)
        over = patience.over()
        more, matches = engine.saturate(PUSH_ONLY) if over else _several(rounds, patience, expander, folder)
        outcome.matches.update(matches)
        patience.matched(sum(matches.values()))
        outcome.rounds += 1
        outcome.nodes = engine.sizes(_TERMS)
        patience.reserve(outcome.nodes)
        if over:
            outcome.stopped = f"{patience.reason()} after {outcome.rounds} rounds"
            break
        _answer(engine, expander, patience)
        quiet = not more and not any(expander.tables.values())
        if quiet and not rounds.waiting:
            outcome.stopped = _finished(expander)
        elif outcome.nodes > budget.nodes or (rounds.full and (quiet or outcome.nodes > budget.nodes // 2)):
            outcome.stopped = f"node budget: another round may pass {budget.nodes} terms, after {outcome.rounds} rounds"
        elif outcome.rounds >= budget.rounds:
            outcome.stopped = f"round budget: {budget.rounds} rounds"
    if rounds.rested:
        outcome.stopped += f"; rules that rested: {', '.join(sorted(rounds.rested))}"
    return outcome


def _several(rounds: Rounds, patience: Patience, expander: Expander, folder: str) -> tuple[bool, Counter[str]]:
    """Some rounds of rules; whether they changed anything, and their matches."""
    changed, matches = False, Counter[str]()
    for _ in range(ROUNDS):
        _push(rounds.engine, expander, folder)
        more, found = rounds.run()
        matches.update(found)
        changed |= more
        if not (more or rounds.waiting) or patience.over():
            break
    return changed, matches


def _push(engine: Engine, expander: Expander, folder: str) -> None:
    """Push contexts to the end.

    Operations on known values get theirs before rules look at them: forms of numbers would multiply.
    """
    answered = -1
    while expander.folds > answered:
        engine.saturate(PUSH_ONLY)
        answered = expander.folds
        if engine.sizes(FOLDED) > answered:
            _answer_folds(engine.tables(FOLDED), expander)
            engine.insert(expander.tables, folder)


def _answer_folds(asked: Mapping[str, Sequence[Row]], expander: Expander) -> None:
    for table in FOLDED:
        for row in asked[table]:
            expander.answer_fold(table, cast("tuple[Cell, ...]", row.inputs))


def _finished(expander: Expander) -> str:
    if expander.held_back:
        found = (f"{limit} of {name}" for name, limit in sorted(expander.held_back.items()))
        return f"proposal budget: {', '.join(found)}"
    return "saturated: no rule has anything new to say"


def _answer(engine: Engine, expander: Expander, patience: Patience) -> None:
    """Prove what rewriting has asked since the last round."""
    asked = engine.tables(("At", "ask_div", "ask_rule", *FOLDED))
    _answer_folds(asked, expander)
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
