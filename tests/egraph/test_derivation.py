"""The chain of rewrites behind a result: it joins, each step is sound, and rule names exist."""

from __future__ import annotations

import time

import numpy as np
import programs as documents
import pytest
from hypothesis import given

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.contexts.context import Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.explain.chains import KNOWN, chain
from egraph_rules.explain.derivation import ERASE, GROUPED
from egraph_rules.rules.registry import active_rules
from ir import PrimFunc, parse
from ir import script as T
from ir.analysis.effects import EffectAnalysis
from ir.presburger import sets as pb
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


@pytest.mark.parametrize("text", some(TEXTS, 2))
def test_chains_of_documents(text: str) -> None:
    check(parse(text).funcs[0])


TAPS = " + ".join(f"A[(i + {a}) % 20, (j + {b}) % 24]" for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
LARGE = {
    "sums of many taps": f"""
@T.prim_func
def life(A: T.Buffer((20, 24), "int32"), B: T.Buffer((20, 24), "int32")):
    for i, j in T.grid(20, 24):
        assume(A[i, j] >= 0 and A[i, j] <= 1)
    for i, j in T.grid(20, 24):
        B[i, j] = 0 + {TAPS}
""".replace("assume", "T.assume"),
    "numbers within functions": """
@T.prim_func
def tail(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i in range(20):
        B[i] = T.cast(1.0 + T.erf(T.cast(A[i] / T.cast(T.sqrt(T.float64(2.0)), "float32"), "float64")), "float32") * 0.5
""",
}


@pytest.mark.parametrize("text", some(LARGE.values(), 0.5), ids=LARGE)
def test_the_chain_through_large_expressions_is_found(text: str) -> None:
    func = parse(text).funcs[0]
    check(func)
    rules = [step.rule for step in optimize(func).derivation()]
    assert rules and GROUPED not in rules


def test_expressions_of_many_parts_are_not_rewritten_for_long() -> None:
    x = start = T.int32("x")
    for k in range(10):
        start = T.max(start, T.min(start + k, x * 3))
    contexts = Contexts(EffectAnalysis())
    anywhere = contexts.root(pb.always(), Priority.FACTS)
    before = time.perf_counter()
    assert chain(start, start * 2, anywhere, contexts, active_rules(())) is None
    assert time.perf_counter() - before < 10
