"""`check_rule`: whether a rule holds. Owns which tests a rule of each kind gets, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from egraph_rules.authoring.rule import Rule
from egraph_rules.check.conditions import idle_condition, missing_condition
from egraph_rules.check.instances import Instances
from egraph_rules.check.proof import attempt
from egraph_rules.check.proposals import Proposals
from egraph_rules.check.repairs import forgotten_condition
from egraph_rules.check.searched import Searched
from egraph_rules.check.shrink import Retest, simpler_values
from egraph_rules.check.tensors import check_terms
from egraph_rules.check.trial import Tally, Trial, refutation, run_trials, search_instances
from egraph_rules.check.verdict import Verdict, refuse
from ir.errors import expect
from ir.presburger.sets import exclusive
from ir.testing.counterexample import Counterexample
from ir.testing.draw import Source

_SEARCHES = 12  # a search costs as much as that many instances


class _Test(Struct, frozen=True):
    """One way to test a rule: what its examples are called, how to make one, and how many."""

    noun: str
    make: Callable[[Source], list[Trial]]
    examples: int
    run: Callable[..., Tally] = run_trials
    idle: Callable[[], str | None] = lambda: None  # what of the rule the examples did not test, once they are run


@exclusive
def check_rule(rule: Rule, *, examples: int = 500, seed: int = 0, smallest: bool = True) -> Verdict:
    """Prove a rule where z3 can, and test it on random instances and programs against the interpreter.

    `examples` is the number of instances or programs to try; whole searches, which cost more, are fewer. The same seed
    gives the same verdict. Without `smallest`, a counterexample is given as it was found: making it smaller, and
    finding out which condition is missing, takes longer than finding it.

    Raises:
        RuleError: the rule's function fails on a program.
    """
    expect(rule, Rule, "what is checked is a rule", "functions under @rule are such")
    if rule.terms is not None:
        return check_terms(rule, rule.terms, examples, seed)
    proof = attempt(rule)
    done: list[str] = []
    matched = 0
    idle: str | None = None
    for test in _tests(rule, examples, seed):
        tally = test.run(test.make, test.examples, seed, smallest=smallest)
        matched += tally.matched
        if tally.counterexample is not None:
            after = f"after {_count(tally.examples, test.noun)}"
            missing = _missing(rule, tally.counterexample, seed, tally.again) if smallest else None
            return _refuted(rule, tally.counterexample, after, matched, missing)
        done.append(_account(test.noun, tally))
        idle = test.idle()
    for trial in proof.trials:  # after the random ones, which are simpler
        found = refutation(trial)
        if found is not None:
            found = simpler_values(found)
            return _refuted(rule, found, "found by z3", matched, _missing(rule, found, seed, None))
    tested = ", ".join(done) if done else "not tested"
    how = f"{proof.how}; {tested}" if proof.how else tested
    if proof.proven and (proof.possible or matched > 0):
        return Verdict(rule.name, "proven", how, matched)
    if proof.proven:
        idle = "its conditions never hold"
    elif matched == 0:
        idle = "never matched"
    elif rule.pattern is not None and (condition := idle_condition(rule, examples, seed)) is not None:
        idle = f"the condition `{condition}` never made a difference"
    return Verdict(rule.name, "tested" if idle is None else "not checked", how, matched, idle=idle)


def require_rule(rule: Rule, *, examples: int = 500, seed: int = 0) -> Verdict:
    """Check a rule, as a test that fails unless it is proven, or tested on examples that could have shown it wrong.

    Raises:
        RuleError: it is refuted, with the smallest counterexample found, or nothing put it to a test.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    verdict = check_rule(rule, examples=examples, seed=seed)
    if not verdict.ok:
        raise refuse(verdict)
    return verdict


def _refuted(rule: Rule, found: Counterexample, after: str, matched: int, missing: str | None) -> Verdict:
    return Verdict(rule.name, "refuted", f"{found.difference.what} ({after})", matched, found, missing=missing)


def _missing(rule: Rule, found: Counterexample, seed: int, again: Retest | None) -> str | None:
    """The side condition that a refuted rule lacks, if it can be told."""
    if rule.pattern is not None:
        return missing_condition(rule, found, seed)
    return None if again is None else forgotten_condition(found, again)


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
        proposals = Proposals(rule, seed, examples)
        yield _Test("program", proposals.make, examples, idle=proposals.idle)
        if proposals.tested and proposals.idle() is not None:  # by chance, as may be: programs of another seed say
            others = Proposals(rule, seed + 1, examples, proposals.answers, proposals.tested)
            yield _Test("other program", others.make, examples, idle=others.idle)


def _account(noun: str, tally: Tally) -> str:
    agree = "agree" if tally.matched == tally.examples else f"agree ({tally.matched} matched)"
    return f"{_count(tally.examples, f'random {noun}')} {agree}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
