"""The checker on rules over statements: each wrong one is refuted, and passes once it heeds what it forgot."""

from __future__ import annotations

import numpy as np
import pytest
import wrong_rules_of_places  # noqa: F401  (its rules join the list)
from wrong_statement_rules import PAIRS, Pair

from egraph_rules.check import check_rule
from ir import parse, to_script
from profiles import some

BY_NAME = {p.name: p for p in PAIRS}
LATE = {  # refuted in seconds, after many programs
    "assert_later", "assume_once", "bits_of_what_is_stored", "forward_across", "fuse_whatever_the_bounds",
    "interchange_writes",
    "merge_complements", "merge_maxima", "merge_sums", "merge_sums_of_own", "overwritten_under_guard", "peel_last",
    "select_to_product", "statement_into_arms", "sum_backwards",
}  # fmt: skip
SOON_OR_BY_NIGHT = [pytest.param(p, marks=pytest.mark.fuzz if p.name in LATE else (), id=p.name) for p in PAIRS]


@pytest.mark.parametrize("item", some(SOON_OR_BY_NIGHT, 2))
def test_wrong_rules_are_refuted(item: Pair) -> None:
    verdict = check_rule(item.wrong, smallest=False)
    assert verdict.refuted, str(verdict)
    assert verdict.counterexample is not None
    assert verdict.counterexample.holds()


@pytest.mark.parametrize("item", some(PAIRS, 6), ids=lambda p: p.name)
def test_right_rules_are_not_refuted(item: Pair) -> None:
    assert not check_rule(item.right, examples=5).refuted


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("item", PAIRS, ids=lambda p: p.name)
def test_wrong_rules_are_refuted_with_every_seed(item: Pair, seed: int) -> None:
    assert check_rule(item.wrong, seed=seed, smallest=False).refuted


@pytest.mark.fuzz
@pytest.mark.parametrize("item", PAIRS, ids=lambda p: p.name)
def test_right_rules_pass(item: Pair) -> None:
    verdict = check_rule(item.right)
    assert verdict.ok, str(verdict)


def test_there_are_enough() -> None:
    assert len(BY_NAME) == len(PAIRS) >= 80
    assert BY_NAME.keys() >= LATE


@pytest.mark.parametrize(
    ("name", "missing"),
    some(
        [
            ("other_arm_first", "no condition reads what is written"),
            ("once", "no value reads what is written"),
            ("loop_from_zero", "the bounds of a loop do not read what it writes"),
            ("copy_there_and_back", "no index reads what is written"),
            ("overwritten_elsewhere", "are one element"),
            ("exchange_guards", "faults only where the statement does"),
        ],
        0.33,
    ),
)
def test_counterexamples_are_small_and_name_what_is_missing(name: str, missing: str) -> None:
    verdict = check_rule(BY_NAME[name].wrong)
    found = verdict.counterexample
    assert found is not None
    assert verdict.missing is not None
    assert missing in verdict.missing
    assert missing in str(verdict)
    assert found.size <= 40, str(found)
    assert sum(np.size(v) for v in found.inputs.values()) <= 12, str(found)
    assert all(np.all(np.abs(np.asarray(v, np.float64)) <= 8) for v in found.inputs.values()), str(found)
    again = parse(to_script(found.original)).funcs[0]
    assert to_script(again) == to_script(found.original)
