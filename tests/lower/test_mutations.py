"""Mutants of the examples' programs: kernels, optimized and not, give what the interpreter gives."""

from __future__ import annotations

import random
from pathlib import Path

import jax
import numpy as np
import pytest

from egraph_rules import optimize
from egraph_rules.engine.phases import DEFAULT_BUDGET
from ir import PrimFunc, to_script
from ir.errors import LoopsatError
from ir.semantics.inputs import NEAR_ZERO, SPREADS, random_inputs
from lower import compile
from lower.check.kernels import compare, kernel_results, reference
from mutations import SOURCES, mutant, small
from profiles import some


@pytest.fixture(autouse=True)
def forget_compiled_code():
    yield
    jax.clear_caches()


def check(func: PrimFunc, seed: int, *, searched: bool) -> bool:
    """Compare kernels of a function with it; whether there was anything to compare."""
    rng = np.random.default_rng(seed)
    try:
        spread = rng.choice(np.array(list(SPREADS.values()), dtype=object)) if searched else NEAR_ZERO
        inputs = random_inputs(func, rng, spread=spread)
        expected = reference(func, inputs)
    except LoopsatError:  # it faults, or nothing satisfies what it assumes
        return False
    if expected is None or not expected.finite or not expected.buffers:
        return False
    best = optimize(func, budget=DEFAULT_BUDGET).best if searched else func
    kernel = compile(best)
    found = kernel_results(kernel, inputs)
    for compared in compare(func, expected, found, inputs):
        assert compared.same, f"{compared}\n{to_script(func)}\n{to_script(best)}\n{kernel.source}\n{inputs}"
    return True


def trial(path: Path, seed: int) -> bool:
    rng = random.Random(f"{path.name} {seed}")
    func = mutant(path.read_text(), rng)
    numbers = func if func is None or rng.randrange(3) == 0 else small(func, rng)
    return numbers is not None and check(numbers, seed, searched=bool(rng.randrange(2)))


@pytest.mark.parametrize("start", some(range(3), 1))
def test_some_mutants(start: int) -> None:
    kept = [trial(path, 0) for path in SOURCES[start::12]]
    assert sum(kept) >= 1  # else mutants do not verify any more, and nothing is tested


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 21))
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_many_mutants(path: Path, seed: int) -> None:
    trial(path, seed)
