"""One test of a rule: two programs and inputs, and what running both shows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from egraph_rules.check.shrink import Retest, shrink, simpler_values
from ir.floats import Floats
from ir.nodes import PrimFunc
from ir.semantics.inputs import Inputs
from ir.testing.counterexample import Counterexample
from ir.testing.draw import Dice, Search, Source
from ir.testing.refinement import compare, reaches

_SEEDS = 1 << 20  # of the examples of one seed, which are told apart from those of another


class Trial(Struct, frozen=True):
    """Programs of which the rule says that they are equal, or that the second refines the first.

    `blameless` tells whether a difference is there without the rule, `again` what is wrong with a smaller program.
    `probe` is the original with a failing assertion where the rule was applied: unless that fails on the inputs, the
    rule was not put to a test; `on_test` is called where it was.
    """

    original: PrimFunc
    rewritten: PrimFunc
    inputs: Inputs
    floats: Floats
    equal: bool
    blameless: Callable[[], bool] | None = None
    again: Retest | None = None
    probe: Callable[[], PrimFunc] | None = None
    on_test: Callable[[], None] | None = None


def refutation(trial: Trial) -> Counterexample | None:
    """The counterexample that a trial is, if it is one."""
    return run_trial(trial)[0]


def run_trial(trial: Trial) -> tuple[Counterexample | None, bool]:
    """The counterexample, and whether the original program promised anything and ran what the rule rewrote."""
    original, rewritten, inputs = trial.original, trial.rewritten, trial.inputs
    found = compare(original, rewritten, inputs, trial.floats, equal=trial.equal)
    if found.difference is None or (trial.blameless is not None and trial.blameless()):
        return None, not found.vacuous and (trial.probe is None or reaches(trial.probe(), inputs))
    return Counterexample(original, rewritten, inputs, trial.floats, trial.equal, found.difference), True


class Tally(Struct):
    """How many examples were made, in how many the rule applied, and the smallest counterexample.

    `again` tests smaller programs than the counterexample's, where the rule can be applied to them.
    """

    examples: int = 0
    matched: int = 0
    counterexample: Counterexample | None = None
    again: Retest | None = None


Make = Callable[[Source], list[Trial]]


def run_trials(make: Make, examples: int, seed: int, *, smallest: bool = True) -> Tally:
    """Make examples of trials and run them until one fails, which is then made smaller unless told otherwise."""
    tally = Tally()
    for k in range(examples):
        trial, failed = _first_failure(tally, make(Dice(seed * _SEEDS + k)))
        tally.examples += 1
        if failed is not None:
            assert trial is not None
            tally.again, tally.counterexample = trial.again, failed
            if smallest:
                found = failed if trial.again is None else shrink(failed, trial.again)
                tally.counterexample = simpler_values(found)
            break
    return tally


def search_instances(make: Make, examples: int, seed: int, *, smallest: bool = True) -> Tally:
    """As `run_trials`, for examples that are made smaller by taking simpler decisions."""
    tally = Tally()

    def test(trials: list[Trial]) -> Counterexample | None:
        counted = search.smallest is None
        matched = tally.matched
        failed = _first_failure(tally, trials)[1]
        if counted:
            tally.examples += 1
        else:
            tally.matched = matched
        return failed

    search = Search(make, test)
    found = search.run(examples, seed)
    tally.counterexample = simpler_values(found) if found is not None and smallest else found
    return tally


def _first_failure(tally: Tally, trials: list[Trial]) -> tuple[Trial | None, Counterexample | None]:
    """The first of an example's trials that fails; the tally counts the example where the rule was put to a test."""
    applied = False
    for trial in trials:
        failed, tested = run_trial(trial)
        applied |= tested
        if tested and trial.on_test is not None:
            trial.on_test()
        if failed is not None:
            tally.matched += 1
            return trial, failed
    tally.matched += applied
    return None, None
