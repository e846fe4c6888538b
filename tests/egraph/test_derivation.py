"""The chain of rewrites behind a result: it joins, each step is sound, and rule names exist."""

from __future__ import annotations

import numpy as np
import programs as documents
import pytest
from hypothesis import given

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.explain.chains import KNOWN
from egraph_rules.explain.derivation import ERASE, GROUPED
from egraph_rules.rules.registry import active_rules
from ir import PrimFunc, parse
from ir.testing.programs import programs
from profiles import few, some

NAMES = {rule.name for rule in active_rules(())} | {ERASE, GROUPED, KNOWN}
TEXTS = [v for k, v in sorted(vars(documents).items()) if k.isupper()]


def check(func: PrimFunc) -> None:
    result = optimize(func)
    steps = result.derivation()
    current = func
    rng = np.random.default_rng(0)
    for step in steps:
        assert step.before == current
        assert step.after != step.before
        assert step.rule in NAMES
        assert_refines(step.before, step.after, rng, runs=1)
        current = step.after
    assert current == result.best


@few(3)
@given(programs())
def test_chains_of_random_programs(func: PrimFunc) -> None:
    check(func)


@pytest.mark.parametrize("text", some(TEXTS, 3))
def test_chains_of_documents(text: str) -> None:
    check(parse(text).funcs[0])
