"""Random programs about what is known of elements: whatever the search finds refines them, at odd prices too."""

from __future__ import annotations

import random

import numpy as np
import pytest
from known_programs import Writer
from test_fuzz import TARGETS

from compare import assert_refines
from egraph_rules import optimize
from ir import parse


def check(seed: int) -> None:
    func = parse(Writer(random.Random(seed)).program()).funcs[0]
    for variant, _ in optimize(func, target=TARGETS[seed % len(TARGETS)], k=3).variants:
        assert_refines(func, variant, np.random.default_rng(seed), runs=2)


@pytest.mark.parametrize("seed", (2, 5, 3021))  # the last one assumes what cannot be
def test_what_is_known_holds(seed: int) -> None:
    check(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(1000, 1400, 40))
def test_what_is_known_holds_in_many_programs(start: int) -> None:
    for seed in range(start, start + 40):
        check(seed)
