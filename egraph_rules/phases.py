"""All ordering and all limits of the search, with a reason a line."""

from __future__ import annotations

from dataclasses import dataclass

# Push to its end before each round of rules: rules see terms in contexts only, and pushing ends, since it follows the
# program's structure. Four rounds of rules between looks at the size: hand-written indices settle in three to five.
SCHEDULE = "(repeat 4 (saturate (run push)) (run simplify))"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one search.

    `rounds`: alternations of rules and proofs (each removes one more level of nested guards). `nodes`: rows of terms,
    checked between runs. `seconds`: of one search. `restarts`: searches that start from the best program so far (a
    restart lets permissions use what facts have changed, and the other way round).
    """

    rounds: int = 200
    nodes: int = 60_000
    seconds: float = 10.0
    restarts: int = 4


DEFAULT_BUDGET = Budget()
