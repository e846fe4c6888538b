"""Distances that are data: where all are assumed to be positive, a loop need not wait for its earlier iterations."""

from __future__ import annotations

import numpy as np
import pytest

from lower import compile
from lowered import assert_agrees, read
from profiles import some

PARAMS = 'w: T.Buffer((6,), "int32"), k: T.Buffer((6,), "int32"), D: T.Buffer((20,), "int32")'
POSITIVE = "for i in range(6):\n    T.assume(w[i] >= 1)\n"
# What is read lies behind what later iterations store, whatever w is.
FREE = {
    "downwards": POSITIVE
    + "for i in range(6):\n    for c in range(20):\n        if 19 - c >= w[i]:\n"
    + "            D[19 - c] = T.max(D[19 - c], D[19 - c - w[i]] + i)",
    "upwards": POSITIVE
    + "for i in range(6):\n    for c in range(20):\n        if c + w[i] < 20:\n"
    + "            D[c] = D[c] % 9 + D[c + w[i]]",
    "the same element of two": POSITIVE
    + "for i in range(6):\n    for c in range(20):\n        if c + w[i] + w[5 - i] < 20:\n"
    + "            D[c] = D[c] % 9 + D[c + w[i] + w[5 - i]]",
}
# Here it may be what an earlier iteration has stored.
HELD = {
    "nothing assumed": "for i in range(6):\n    for c in range(20):\n        if c + w[i] >= 0 and c + w[i] < 20:\n"
    "            D[c] = D[c] % 9 + D[c + w[i]]",
    "the other way": POSITIVE
    + "for i in range(6):\n    for c in range(20):\n        if c >= w[i]:\n            D[c] = D[c] % 9 + D[c - w[i]]",
    "assumed of others": "for i in range(5):\n    T.assume(w[i] >= 1)\n"
    "for i in range(6):\n    for c in range(20):\n        if c + w[i] >= 0 and c + w[i] < 20:\n"
    "            D[c] = D[c] % 9 + D[c + w[i]]",
    "two elements": POSITIVE
    + "for i in range(6):\n    for c in range(20):\n        if c + w[i] - k[i] >= 0 and c + w[i] - k[i] < 20:\n"
    + "            D[c] = D[c] % 9 + D[c + w[i] - k[i]]",
    "of another iteration": POSITIVE
    + "for i in range(6):\n    for c in range(6):\n        if i + w[c] < 20:\n"
    + "            D[i + c] = D[i + c] % 9 + D[i + w[c]]",
    "stored to": POSITIVE
    + "for i in range(6):\n    for c in range(20):\n        if c + w[i] >= 0 and c + w[i] < 20:\n"
    + "            D[c] = D[c] % 9 + D[c + w[i]]\n        w[i] = w[i] - 1",
}


def source(body: str) -> str:
    """The source, after comparisons with the interpreter for several distances."""
    func = read(PARAMS, body)
    kernel = compile(func)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        low = 1 if "T.assume" in body else -4
        arrays = {"w": rng.integers(low, 7, 6), "k": rng.integers(-4, 7, 6), "D": rng.integers(0, 9, 20)}
        given = {p: arrays[p].astype(np.int32) for p in kernel.params}
        if body is HELD["assumed of others"]:
            given["w"][5] = rng.integers(-4, 0)
        assert_agrees(func, kernel, given)
    return kernel.source


@pytest.mark.parametrize("body", some(FREE.values(), 0.45), ids=FREE.keys())
def test_the_inner_loop_is_an_axis(body: str) -> None:
    assert source(body).count("fori_loop") == 1


@pytest.mark.parametrize("body", some(HELD.values(), 0.33), ids=HELD.keys())
def test_the_inner_loop_stays(body: str) -> None:
    assert source(body).count("fori_loop") > 1 or body is HELD["of another iteration"]
