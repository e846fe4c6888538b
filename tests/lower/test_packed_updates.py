"""Updates of neighbouring elements at places that data say: as rows where nothing looks at them in between."""

from __future__ import annotations

import numpy as np
import pytest

from ir import PrimFunc
from lowered import assert_agrees, kernel_of, read
from profiles import some

PARAMS = (
    'e: T.Buffer((40, 2), "int32"), V: T.Buffer((40, 3), "float32"), X: T.Buffer((9, 3), "float32"), '
    'F: T.Buffer((9, 3), "float32"), G: T.Buffer((40,), "float32")'
)
ROWS = {
    "one after the other": "F[e[k, 0], 0] += a\nF[e[k, 0], 1] += b\nF[e[k, 0], 2] += a * b",
    "two ends in turn": "F[e[k, 0], 0] += a\nF[e[k, 1], 0] -= a\nF[e[k, 0], 1] += b\nF[e[k, 1], 1] -= b",
    "in another order": "F[e[k, 0], 2] += a\nF[e[k, 0], 0] += b\nF[e[k, 0], 1] += 1.0",
    "under a condition": "if a > b:\n    F[e[k, 0], 1] += a\n    F[e[k, 0], 2] += T.sqrt(a - b)",
    "maxima": "F[e[k, 0], 0] = T.max(F[e[k, 0], 0], a)\nF[e[k, 0], 1] = T.max(F[e[k, 0], 1], b)",
    "something else between": "F[e[k, 0], 0] += a\nG[k] = a + b\nF[e[k, 0], 1] += b",
}
APART = {
    "a gap": "F[e[k, 0], 0] += a\nF[e[k, 0], 2] += b",
    "other places": "F[e[k, 0], 0] += a\nF[e[k, 1], 1] += b",
    "other operators": "F[e[k, 0], 0] += a\nF[e[k, 0], 1] = T.max(F[e[k, 0], 1], b)",
    "what is stored is read": "F[e[k, 0], 0] += a\nG[k] = F[e[k, 1], 1]\nF[e[k, 0], 1] += b",
}


def kernel(updates: str) -> PrimFunc:
    lines = ["a = V[k, 0] - X[e[k, 1], 0]", "b = V[k, 1] * X[e[k, 1], 1]", *updates.split("\n")]
    head = "for k in range(40):\n    T.assume(e[k, 0] >= 0 and e[k, 0] < 9 and e[k, 1] >= 0 and e[k, 1] < 9)\n"
    return read(PARAMS, head + "for k in range(40):\n" + "\n".join("    " + line for line in lines))


def check(func: PrimFunc) -> str:
    compiled = kernel_of(func)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        inputs = {b.name: rng.integers(-4, 5, [d.value for d in b.shape]).astype(b.dtype.numpy) for b in func.buffers}  # pyright: ignore[reportAttributeAccessIssue]
        inputs["e"] = rng.integers(0, 9, (40, 2)).astype(np.int32)
        assert_agrees(func, compiled, inputs, 1e-5)
    return compiled.source


@pytest.mark.parametrize("name", some(ROWS, 0.33))
def test_rows_are_updated_at_once(name: str) -> None:
    source = check(kernel(ROWS[name]))
    assert "F_row" in source and "F_row_0" not in source, source


@pytest.mark.parametrize("name", some(APART, 0.5))
def test_others_stay_apart(name: str) -> None:
    assert "F_row" not in check(kernel(APART[name]))
