"""`check_rule`: whether a rule holds. Owns which tests a rule of each kind gets, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from egraph_rules.check.draw import Source
from egraph_rules.check.instances import Instances
from egraph_rules.check.proof import attempt
from egraph_rules.check.proposals import Proposals
from egraph_rules.check.searched import Searched
from egraph_rules.check.trial import Tally, Trial, refutation, run_trials, search_instances
from egraph_rules.check.verdict import Verdict
from egraph_rules.rule import Rule

_SEARCHES = 12  # a search costs as much as that many instances


@dataclass(frozen=True, slots=True)
class _Test:
    """One way to test a rule: what its examples are called, how to make one, and how many."""

    noun: str
    make: Callable[[Source], list[Trial]]
    examples: int
    run: Callable[[Callable[[Source], list[Trial]], int, int], Tally] = run_trials


def check_rule(rule: Rule, *, examples: int = 500, seed: int = 0) -> Verdict:
    """Prove a rule where z3 can, and test it on random instances and programs against the interpreter.

    `examples` is the number of instances or programs to try; whole searches, which cost more, are fewer. The same seed
    gives the same verdict.

    Raises:
        RuleError: the rule's function fails on a program.
    """
    proof = attempt(rule)
    done: list[str] = []
    matched = 0
    for test in _tests(rule, examples, seed):
        tally = test.run(test.make, test.examples, seed)
        matched += tally.matched
        if tally.counterexample is not None:
            how = f"{tally.counterexample.difference.what} (after {_count(tally.examples, test.noun)})"
            return Verdict(rule.name, "refuted", how, matched, tally.counterexample)
        done.append(_account(test.noun, tally))
    for trial in proof.trials:  # after the random ones, which are simpler
        found = refutation(trial)
        if found is not None:
            return Verdict(rule.name, "refuted", f"{found.difference.what} (found by z3)", matched, found)
    tested = ", ".join(done) if done else "not tested"
    how = f"{proof.how}; {tested}" if proof.how else tested
    if matched == 0:
        how += "; never matched"
    return Verdict(rule.name, "proven" if proof.proven else "tested", how, matched)


def _tests(rule: Rule, examples: int, seed: int) -> Iterator[_Test]:
    """The tests of a rule, cheap ones first."""
    searches = -(-examples // _SEARCHES)
    if rule.pattern is not None:
        instances = Instances(rule)
        yield _Test("instance", instances.make, examples, search_instances)
        if rule.in_engine:
            yield _Test("searched program", Searched(rule, seed, searches, instances.make).make, searches)
    elif rule.in_engine:
        searches *= 3
        yield _Test("searched program", Searched(rule, seed, searches).make, searches)
    else:
        yield _Test("program", Proposals(rule, seed, examples).make, examples)


def _account(noun: str, tally: Tally) -> str:
    agree = "agree" if tally.matched == tally.examples else f"agree ({tally.matched} matched)"
    return f"{_count(tally.examples, f'random {noun}')} {agree}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
