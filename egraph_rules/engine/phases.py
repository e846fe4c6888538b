"""All ordering and all limits of the search, with a reason a line."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

# Rounds of rules between looks at sizes and questions: hand-written indices settle in three to five.
ROUNDS = 4

STATEMENTS = 500  # a search of as many saturates, with 30,000 rows of terms

# Pushing goes to its end before each round of rules: rules see terms in contexts only, and pushing ends, since it
# follows the program's structure. Once a search must stop, it is all that is done: what has been inserted becomes
# terms, so that it can be extracted.
PUSH_ONLY = "(saturate (run push))"


class Budget(Struct, frozen=True):
    """Limits of one search.

    `rounds`: alternations of rules and proofs (each removes one more level of nested guards). `nodes`: rows of terms,
    which no round of rules passes. `restarts`: searches that start from the best program so far (a restart lets
    permissions use what facts have changed, and the other way round). `matches`: of one rule in one round; a rule that
    has more rests, and may have twice as many from then on (back-off as in egg, Willsey et al., POPL 2021).
    `proposals`: of one rule in Python in one search; `cuts`: of one that makes several loops of one, each with facts of
    its own, so that what the others find multiplies. `work`: of proofs and rules in Python in all searches of a call
    together, in steps of isl (about half a microsecond each). All of these count what is done, so that a call gives
    the same on every machine. `seconds` is the caller's own limit of a call, extraction included; what it gives depends
    on the machine. `nodes` and `work` are for programs of up to `STATEMENTS` statements; larger ones have more in
    proportion.
    """

    rounds: int = 200
    nodes: int = 60_000
    restarts: int = 4
    matches: int = 20_000
    proposals: int = 400
    cuts: int = 12
    work: int = 8_000_000
    seconds: float = float("inf")

    def in_proportion(self, statements: int) -> Budget:
        """The budget for a program of so many statements."""
        times = max(-(-statements // STATEMENTS), 1)
        return self if times == 1 else replace(self, nodes=self.nodes * times, work=self.work * times)


DEFAULT_BUDGET = Budget()
