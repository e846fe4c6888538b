"""All ordering and all limits of the search, with a reason a line."""

from __future__ import annotations

from dataclasses import dataclass

# push to its end first: rules only see terms in contexts, and pushing always ends (it follows the program's structure)
PUSH_ROUNDS = 400
# a few rounds of rules between looks at the size; simplification of hand-written indices settles in three to five
SIMPLIFY_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one search.

    `rounds`: alternations of rules and proofs (each removes one more level of nested guards). `nodes`: rows of terms,
    checked between runs. `seconds`: of one search. `restarts`: searches that start from the best program so far (a
    restart lets permissions use what facts have changed, and the other way round).
    """

    rounds: int = 24
    nodes: int = 60_000
    seconds: float = 10.0
    restarts: int = 4


DEFAULT_BUDGET = Budget()
