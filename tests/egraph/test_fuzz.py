"""Random programs: whatever the optimizer finds refines what was written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare import assert_refines
from egraph_rules import Floats, optimize
from egraph_rules.cost.target import Target
from egraph_rules.search.encode import Expander
from ir import PrimFunc, parse, to_script
from ir.analysis import effects
from ir.errors import VerifyError
from ir.presburger import sets
from ir.semantics.verify import verify
from ir.testing.programs import programs
from profiles import few

# Prices that make odd programs attractive, so that every rule gets its turn in the result.
TARGETS = (
    Target("cheap guards", mask=0.0, select=0.0, reduction_mask=0.0, kernel=0.0),
    Target("dear guards", mask=100.0, select=100.0, reduction_mask=100.0),
    Target("dear loads", load=50.0, store=50.0),
)


def assert_well_formed(func: PrimFunc) -> None:
    """The optimized program is one; its bounds may rest on assumptions that are erased in it."""
    try:
        verify(func, allow_stray_loads=True)
    except VerifyError as error:
        assert error.code == "store-out-of-bounds", error


def check(func: PrimFunc, target: Target, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for variant, _ in optimize(func, target=target, k=3).variants:
        assert_well_formed(variant)
        assert_refines(func, variant, rng, runs=2)


@few(3)
@given(programs(), st.sampled_from(TARGETS))
def test_optimized_programs_refine_the_original(func: PrimFunc, target: Target) -> None:
    check(func, target, 0)


@few(2)
@given(programs())
def test_strict_floats_are_exact(func: PrimFunc) -> None:
    best = optimize(func, floats=Floats.STRICT).best
    assert_refines(func, best, np.random.default_rng(1), runs=2)


@few(2)
@given(programs())
def test_what_is_remembered_changes_no_program(func: PrimFunc) -> None:
    """Sets that are worked out anew each time, and nests and joints of loops that are looked at each time."""
    made: Callable[[Expander], None] = Expander.__post_init__

    def asks_again(expander: Expander) -> None:
        made(expander)
        expander.twins = False
        vars(expander)["_joins"] = frozenset[str]()

    found = to_script(optimize(func).best)
    with pytest.MonkeyPatch.context() as patch:
        for module in (sets, effects):
            for name, known in tuple(vars(module).items()):
                if hasattr(known, "cache_clear"):
                    patch.setattr(module, name, known.__wrapped__)
        assert to_script(optimize(func).best) == found
        patch.setattr(Expander, "__post_init__", asks_again)
        assert to_script(optimize(func).best) == found


@few(2)
@given(programs())
def test_optimizing_is_deterministic_and_stable(func: PrimFunc) -> None:
    first = optimize(func)
    assert to_script(optimize(func).best) == to_script(first.best)
    again = optimize(first.best)
    assert again.variants[0][1] <= first.variants[0][1] + 1e-6


@pytest.mark.fuzz
@settings(max_examples=5000)
@given(programs(), st.sampled_from(TARGETS))
def test_many_programs(func: PrimFunc, target: Target) -> None:
    check(func, target, 2)


@few(4)
@given(programs())
def test_printing_round_trips(func: PrimFunc) -> None:
    text = to_script(func)
    assert parse(text).funcs[0] == func
    optimized = to_script(optimize(func).best)
    assert to_script(parse(optimized).funcs[0]) == optimized
