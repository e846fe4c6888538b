"""One test of a rule: two programs and inputs, and what running both shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from egraph_rules.check.draw import Search, Source
from egraph_rules.check.run import compare
from egraph_rules.check.shrink import Retest, shrink
from egraph_rules.check.verdict import Counterexample
from ir.floats import Floats
from ir.inputs import Inputs
from ir.nodes import PrimFunc


@dataclass(frozen=True, slots=True)
class Trial:
    """Programs of which the rule says that they are equal, or that the second refines the first.

    `blameless` tells whether a difference is there without the rule, `again` what is wrong with a smaller program.
    """

    original: PrimFunc
    rewritten: PrimFunc
    inputs: Inputs
    floats: Floats
    equal: bool
    blameless: Callable[[], bool] | None = None
    again: Retest | None = None


def refutation(trial: Trial) -> Counterexample | None:
    """The counterexample that a trial is, if it is one."""
    return _run(trial)[0]


def _run(trial: Trial) -> tuple[Counterexample | None, bool]:
    """The counterexample, and whether the original program promised anything."""
    original, rewritten, inputs = trial.original, trial.rewritten, trial.inputs
    found = compare(original, rewritten, inputs, trial.floats, equal=trial.equal)
    if found.difference is None or (trial.blameless is not None and trial.blameless()):
        return None, not found.vacuous
    return Counterexample(original, rewritten, inputs, trial.floats, trial.equal, found.difference), True


@dataclass(slots=True)
class Tally:
    """How many examples were made, in how many the rule applied, and the smallest counterexample."""

    examples: int = 0
    matched: int = 0
    counterexample: Counterexample | None = None


def run_trials(make: Callable[[Source], list[Trial]], examples: int, seed: int) -> Tally:
    """Make examples of trials and run them until one fails, then smaller ones."""
    tally = Tally()

    def test(trials: list[Trial]) -> Counterexample | None:
        counted = search.smallest is None
        tally.examples += counted
        applied = False
        failed = None
        for trial in trials:
            failed, promised = _run(trial)
            applied |= promised
            if failed is not None:
                if trial.again is not None:  # leaving parts of the program out does more than deciding anew
                    failed, search.shrinks = shrink(failed, trial.again), False
                break
        tally.matched += applied and counted
        return failed

    search = Search(make, test)
    tally.counterexample = search.run(examples, seed)
    return tally
