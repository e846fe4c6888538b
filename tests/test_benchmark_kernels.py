"""The benchmark of kernels compares before it measures, and its table has a cell for every column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import kernels
import untuned
import untuned_by_hand
from ir import parse


def test_one_kernel_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "SECONDS", 0.0)
    monkeypatch.setattr(kernels, "has_numba", lambda: False)
    row = kernels.measure("gesummv", "small")
    assert row.keys() == {
        "name",
        "loopsat",
        "jnp",
        "NumPy",
        "form",
        "optimize",
        "XLA",
        "temp",
        "jnp temp",
        "peak",
        "jnp peak",
    }
    assert row["form"] in ("two_products", "one_sum")
    assert len(kernels.cells(row)) == len(kernels.HEAD)


def test_a_form_that_computes_something_else_is_refused() -> None:
    right, wrong = np.array([1.0, 2.0], np.float32), np.array([2.0, 1.0], np.float32)
    kernels.compare({"NumPy": lambda: right, "other": lambda: (right + 1e-5,)})
    with pytest.raises(AssertionError, match="other is off by 1"):
        kernels.compare({"NumPy": lambda: right, "other": lambda: wrong})
    with pytest.raises(AssertionError, match="other returns 2 arrays"):
        kernels.compare({"NumPy": lambda: right, "other": lambda: (right, right)})


def test_the_table_says_what_failed_and_leaves_it_out_of_the_means() -> None:
    row = {"name": "gemm", "loopsat": 2.0, "jnp": 1.0, "NumPy": 8.0, "form": "product"}
    row |= {"optimize": 10.0, "XLA": 20.0, "temp": 0, "jnp temp": 10**6, "peak": 10**6, "jnp peak": 2 * 10**6}
    failed = {"name": "adi", "failed": "no result within 1 s"}
    lines = kernels.markdown([row, failed], "large").splitlines()
    assert "1 of 2 kernels measured" in lines[0]
    assert {line.count("|") for line in lines[2:]} == {len(kernels.HEAD) + 1}
    assert (
        "| gemm | 2.000 | 1.000 | – | 8.000 | 0.50 | – | 4.00 | 10 | 20 | 0.00 | 1.00 | 1.00 | 2.00 | 2.00 | product |"
        in lines
    )
    assert any("adi | no result within 1 s" in line for line in lines)
    assert "0.50 | – | 4.00 | 0.50 of XLA" in lines[-1]


UNTUNED = {f.name: f for f in parse(untuned.PROGRAMS.read_text()).funcs}


def test_programs_that_no_form_was_made_for_have_what_they_are_compared_with() -> None:
    assert [f.__name__ for f in untuned_by_hand.HAND_WRITTEN] == list(UNTUNED) == list(untuned_by_hand.INPUTS)


def agrees(hand: Callable[..., object]) -> None:
    """What the emitted kernel computes is what the hand-written form does."""
    row = untuned.measured(UNTUNED[hand.__name__], hand, 1e-3)
    assert row.price > 0.0
    assert hand.__name__ in untuned.markdown([row])


def test_a_program_that_no_form_was_made_for() -> None:
    agrees(untuned_by_hand.rotary_embedding)


@pytest.mark.fuzz
@pytest.mark.parametrize("hand", untuned_by_hand.HAND_WRITTEN, ids=lambda f: f.__name__)
def test_programs_that_no_form_was_made_for(hand: Callable[..., object]) -> None:
    agrees(hand)
