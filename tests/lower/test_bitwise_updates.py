"""Accumulators of bits: reductions in any order, where loops store to one place that they do not name, or each once."""

from __future__ import annotations

import numpy as np
import pytest

from ir.semantics.inputs import random_inputs
from lowered import kernel_of
from profiles import some
from tests.lowered import assert_agrees, read

PARAMS = (
    'A: T.Buffer((7, 7), "{t}"), W: T.Buffer((7,), "{t}"), P: T.Buffer((7,), "int32"), C: T.Buffer((16,), "{t}"), '
    'D: T.Buffer((16, 16), "{t}")'
)
BODY = """
for i, j in T.grid(7, 7):
    if {guard}:
        {place} = {place} {sign} ({term})
"""


def check(dtype: str, sign: str, place: str, guard: str = "A[i, j] > W[i]", term: str = "A[i, j] ^ W[j]") -> list[str]:
    func = read(PARAMS.format(t=dtype), BODY.format(place=place, sign=sign, guard=guard, term=term).strip("\n"))
    kernel = kernel_of(func)
    inputs = random_inputs(func, np.random.default_rng(len(place)))
    assert_agrees(func, kernel, {**inputs, "P": np.array([3, 1, 3, 0, 15, 1, 3], np.int32)})
    return kernel.report


@pytest.mark.parametrize("sign", some(["&", "|", "^"], 0.19))
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_rows_are_reduced(sign: str, dtype: str) -> None:
    for place in ("C[i]", "C[6 - i]", "C[0]", "D[i + 1, 2]", "D[2, 2 * j]"):
        assert not any("stays a loop" in line for line in check(dtype, sign, place)), place


@pytest.mark.parametrize("place", some(["C[i // 2]", "C[(i + j) % 7]", "C[P[i]]", "D[i + j, 2]"], 0.5))
def test_several_iterations_at_one_place(place: str) -> None:
    check("int32", "|", place)
    check("int32", "^", place, term="W[j]")


@pytest.mark.parametrize("sign", some(["&", "|", "^"], 0.5))
@pytest.mark.parametrize("place", ["C[0]", "C[i]"])
def test_what_several_iterations_have_in_common_counts_for_each(sign: str, place: str) -> None:
    for count, term in ((4, "W[j // 2] ^ A[i, 0]"), (2, "A[i, 0]"), (6, "A[j // 2, i]")):
        body = f"for i, j in T.grid(7, {count}):\n    {place} = {place} {sign} ({term})"
        func = read(PARAMS.format(t="uint8"), body)
        rng = np.random.default_rng(0)
        inputs = {
            b.name: rng.integers(0, 256, [int(d.value) for d in b.shape]).astype(b.dtype.numpy) for b in func.buffers
        }
        assert_agrees(func, kernel_of(func), inputs)


def test_places_that_are_no_slice() -> None:
    check("int32", "^", "D[i, j]", guard="i + j < 7 and i * j != 4")
    check("int32", "&", "C[2 * i - 3]", guard="2 * i >= 3 and A[i, j] != 1")


def test_updates_of_one_operator_commute() -> None:
    text = """
for n in range(7):
    C[n] = 127
    for k in range(7):
        if A[n, k] > 3:
            C[n] = C[n] & A[n, k]
        C[n] = C[n] & A[k, n]
"""
    func = read(PARAMS.format(t="int32"), text.strip("\n"))
    kernel = kernel_of(func)
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)))
    assert kernel.source.count("jnp.bitwise_and.reduce") == 2
