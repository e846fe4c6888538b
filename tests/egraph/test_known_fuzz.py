"""Random programs about what is known of elements, and about what iterations hand on: whatever the search finds refines
them, at odd prices too."""

from __future__ import annotations

import random

import handed_programs
import known_programs
import numpy as np
import pytest
from test_fuzz import TARGETS

from compare import assert_refines
from egraph_rules import optimize
from ir import parse
from profiles import some


def check(text: str, seed: int) -> None:
    func = parse(text).funcs[0]
    for variant, _ in optimize(func, target=TARGETS[seed % len(TARGETS)], k=3).variants:
        assert_refines(func, variant, np.random.default_rng(seed), runs=2)


@pytest.mark.parametrize("seed", (2, 3021))  # the last one assumes what cannot be
def test_what_is_known_holds(seed: int) -> None:
    check(known_programs.Writer(random.Random(seed)).program(), seed)


@pytest.mark.parametrize("seed", some(range(8), 1))
def test_what_iterations_hand_on_holds(seed: int) -> None:
    check(handed_programs.Writer(random.Random(seed)).program(), seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(1000, 1400, 40))
def test_what_is_known_holds_in_many_programs(start: int) -> None:
    for seed in range(start, start + 40):
        check(known_programs.Writer(random.Random(seed)).program(), seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_what_iterations_hand_on_holds_in_many_programs(start: int) -> None:
    for seed in range(start, start + 100):
        check(handed_programs.Writer(random.Random(seed)).program(), seed)
