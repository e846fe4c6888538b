"""All ordering and all limits of the search, with a reason a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ALL_RULES = "all"  # the engine's name for the rules of all families

# Rounds of rules between looks at sizes and questions: hand-written indices settle in three to five.
ROUNDS = 4


def schedule(rulesets: Iterable[str]) -> str:
    """What the engine does in each of `ROUNDS` rounds.

    Pushing goes to its end before each round of rules: rules see terms in contexts only, and pushing ends, since it
    follows the program's structure.
    """
    return f"(seq {PUSH_ONLY} {' '.join(f'(run {name})' for name in rulesets)})"


# All that is done once a search must stop: what has been inserted becomes terms, so that it can be extracted.
PUSH_ONLY = "(saturate (run push))"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one search.

    `rounds`: alternations of rules and proofs (each removes one more level of nested guards). `nodes`: rows of terms,
    checked between runs. `restarts`: searches that start from the best program so far (a restart lets permissions use
    what facts have changed, and the other way round). `matches`: of one family of rules between two looks; a family
    that has more rests, first for one run, then for two, four, ... (back-off as in egg, Willsey et al., POPL 2021).
    `proposals`: of one rule in Python in one search. `work`: of proofs and rules in Python in all searches of a call
    together, in steps of isl (about a microsecond each). All of these count what is done, so that a call gives the same
    on every machine. `seconds` is the caller's own limit of a call, extraction included; what it gives depends on the
    machine.
    """

    rounds: int = 200
    nodes: int = 60_000
    restarts: int = 4
    matches: int = 20_000
    proposals: int = 400
    work: int = 5_000_000
    seconds: float = float("inf")


DEFAULT_BUDGET = Budget()
