"""All ordering and all limits of the search, with a reason a line."""

from __future__ import annotations

from dataclasses import dataclass

# Rounds of rules between looks at sizes and questions: hand-written indices settle in three to five.
ROUNDS = 4

# Pushing goes to its end before each round of rules: rules see terms in contexts only, and pushing ends, since it
# follows the program's structure. Once a search must stop, it is all that is done: what has been inserted becomes
# terms, so that it can be extracted.
PUSH_ONLY = "(saturate (run push))"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one search.

    `rounds`: alternations of rules and proofs (each removes one more level of nested guards). `nodes`: rows of terms,
    which no round of rules passes. `seconds`: of all searches of a call together, extraction included. `restarts`:
    searches that start from the best program so far (a restart lets permissions use what facts have changed, and the
    other way round). `matches`: of one rule in one round; a rule that has more rests, and may have twice as many from
    then on (back-off as in egg, Willsey et al., POPL 2021). `proposals`: of one rule in Python in one search.
    """

    rounds: int = 200
    nodes: int = 60_000
    seconds: float = 10.0
    restarts: int = 4
    matches: int = 20_000
    proposals: int = 400


DEFAULT_BUDGET = Budget()
