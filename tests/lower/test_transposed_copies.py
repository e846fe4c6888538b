"""Steps along rows work on a transposed copy, of which what several statements store is put back."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from lowered import kernel_of, read
from profiles import some
from tests.lowered import assert_agrees, small_numbers

EAGER = replace(CPU, name="eager", load=1e4, scalar=1e4, scan=1e9, function_apart=1.0)  # apart is dear
PARAMS = 'X: T.Buffer((6, 9), "int32"), Y: T.Buffer((6, 20), "int32"), Z: T.Buffer((6, 9), "int32")'
BODY = """
for b in range(6):
    s = T.alloc_buffer((1,), "int32")
    s[0] = 1
    for t in range(1, 9):
        s[0] = T.max(s[0] * 2 - X[b, t], X[b, t] * s[0] // 2) % 50
        {}
"""
WRITERS = {
    "two columns": "Y[b, 2 * t] = s[0]; Y[b, 2 * t + 1] = s[0] + 1",
    "overlapping": "Y[b, t] = s[0]; Y[b, t + 1] = s[0] - X[b, t]; Y[b, 2 * t + 3] = 4 * s[0]",
    "all": "Y[b, t - 1] = s[0]; Y[b, t + 7] = 2 * s[0]; Y[b, t + 11] = s[0] + 5",
    "read in between": "Y[b, 2 * t] = s[0] + Y[b, 2 * t - 1]; Y[b, 2 * t + 1] = Y[b, 2 * t] - Y[b, t]",
    "read elsewhere": "Y[b, 2 * t] = s[0]; Y[b, 2 * t + 1] = 3; Z[b, t] = Y[b, t + 3] + s[0]",
    "backward": "Y[b, 19 - 2 * t] = s[0]; Y[b, 18 - 2 * t] = s[0] + 1",
    "in part": "Y[b, 2 * t] = s[0]\n        if X[b, t] > 0:\n            Y[b, 2 * t + 1] = s[0] + 1",
}


@pytest.mark.parametrize("name", some(WRITERS, 0.12))
@pytest.mark.parametrize("around", [False, True])
def test_what_several_statements_store_is_put_back(name: str, around: bool) -> None:
    body = BODY.format(WRITERS[name].replace("; ", "\n        ")).strip("\n")
    if around:
        body = "for r in range(3):\n    " + body.replace("\n", "\n    ") + "\n    X[r, 2] = X[r, 2] + Y[r, 3]"
    func = read(PARAMS, body)
    kernel = kernel_of(func, EAGER)
    for seed in range(2):
        assert_agrees(func, kernel, small_numbers(func, seed))
    assert np.any(["transposed" in line for line in kernel.source.split("\n")])


def test_a_copy_that_is_stored_to_as_a_whole_starts_from_nothing() -> None:
    body = BODY.format("Y[b, 2 * t - 2] = s[0]; Y[b, 2 * t - 1] = s[0] + 1".replace("; ", "\n        "))
    func = read(PARAMS.replace("(6, 20)", "(6, 16)"), body.strip("\n"))
    kernel = kernel_of(func, EAGER)
    assert_agrees(func, kernel, small_numbers(func, 0))
    assert "Y = Y_transposed.T" in kernel.source and "Y_transposed = jnp.zeros" in kernel.source


@pytest.mark.parametrize(("lanes", "steps", "copied"), [(64, 250, False), (64, 256, True), (2000, 250, True)])
def test_a_function_takes_columns_as_they_lie_unless_they_share_lines_of_the_cache(
    lanes: int, steps: int, copied: bool
) -> None:
    func = read(
        f'X: T.Buffer(({lanes}, {steps}), "float32"), Y: T.Buffer(({lanes}, {steps}), "float32")',
        f"for b in range({lanes}):\n    for t in range(1, {steps}):\n"
        "        Y[b, t] = T.sqrt(T.abs(X[b, t] - Y[b, t - 1]))",
    )
    source = kernel_of(func).source
    assert ("as_function(" in source) == (lanes == 64) and ("transposed" in source) == copied
