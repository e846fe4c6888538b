"""Bounds of elements that a loop makes of others of the same buffer, such as running maxima over padding."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import PrimFunc, parse, to_script
from profiles import some

PADS = "for i in range(12, 14):\n        T.assume(X[i] == {})"
LINE = 'X: T.Buffer((14,), "{0}"), Y: T.Buffer((15,), "{0}")'
TABLE = 'X: T.Buffer((6, 7), "float32"), Y: T.Buffer((7, 8), "float32")'
STEPS = """
    for i in range(14):
        if i < 12:
            Y[i + 1] = T.{0}(Y[i], X[i])
        else:
            Y[i + 1] = Y[i]"""
FIRST = """
    for i in range(12):
        T.assume(X[i] >= 0)
    Y[0] = X[0]"""
ZERO = "\n    Y[0] = 0"

LOSE = {
    "from a number": (LINE.format("float32"), PADS.format("-1.0") + ZERO + STEPS.format("max")),
    "downwards": (LINE.format("int32"), PADS.format("3") + ZERO + STEPS.format("min")),
    "from an element": (LINE.format("int32"), PADS.format("-1") + FIRST + STEPS.format("max")),
    "of each row, which starts anew": (
        TABLE,
        """for i, j in T.grid(6, 7):
        T.assume(j < 5 or X[i, j] == -1.0)
    for i in range(6):
        Y[i, 0] = 0.0
        for j in range(7):
            if j < 5:
                Y[i, j + 1] = T.max(Y[i, j], X[i, j])
            else:
                Y[i, j + 1] = Y[i, j]""",
    ),
    "of three neighbours": (
        TABLE,
        """for i, j in T.grid(6, 7):
        T.assume(i < 4 or X[i, j] == -10.0)
    for i in range(7):
        Y[i, 0] = 0.0
    for j in range(8):
        Y[0, j] = 0.0
    for i, j in T.grid(6, 7):
        if i < 4:
            Y[i + 1, j + 1] = T.max(T.max(Y[i, j] + X[i, j], 0.0), T.max(Y[i, j + 1], Y[i + 1, j]) - 1.0)
        else:
            Y[i + 1, j + 1] = T.max(T.max(Y[i, j] - 10.0, 0.0), T.max(Y[i, j + 1], Y[i + 1, j]) - 1.0)""",
    ),
    "read after the loop": (
        LINE.format("float32") + ', S: T.Buffer((1,), "float32")',
        """Y[0] = 0.0
    for i in range(14):
        Y[i + 1] = Y[i] + X[i] * X[i]
    S[0] = 0.0
    for i in range(15):
        if Y[i] >= 0.0:
            S[0] = S[0] + Y[i]""",
    ),
}

KEEP = {
    "the start is below the padding": (
        LINE.format("int32"),
        PADS.format("-1") + "\n    Y[0] = -2" + STEPS.format("max"),
    ),
    "the start is not known": (LINE.format("int32"), PADS.format("-1") + STEPS.format("max")),
    "an element that no earlier iteration has left": (
        LINE.format("int32"),
        PADS.format("-1") + ZERO + STEPS.format("max").replace("Y[i]", "Y[14 - i]"),
    ),
    "a store that leaves less": (
        LINE.format("float32"),
        PADS.format("-1.0") + ZERO + STEPS.format("max").replace("= Y[i]", "= Y[i] - 1.0"),
    ),
    "padding that nobody reads, which may hold NaN": (
        'X: T.Buffer((14,), "float32"), Z: T.Buffer((15,), "float32"), S: T.Buffer((1,), "float32")',
        """for i in range(13, 15):
        T.assume(Z[i] == -1.0)
    Y = T.alloc_buffer((15,), "float32")
    Y[0] = 0.0
    for i in range(14):
        if i < 12:
            Y[i + 1] = T.max(Y[i], X[i])
        else:
            Y[i + 1] = T.undef()
    S[0] = 0.0
    for i in range(15):
        if i < 13:
            S[0] = S[0] + T.max(Z[i] - Y[i], 0.0)""",
    ),
}


def program(case: tuple[str, str]) -> PrimFunc:
    return parse("@T.prim_func\ndef f({}):\n    {}\n".format(*case))["f"]


def guarded(func: PrimFunc) -> bool:
    """Whether a condition, or a loop that is shorter than the arrays, keeps padding apart."""
    text = to_script(func)
    return "if" in text or "serial(12)" in text or "serial(13)" in text


@pytest.mark.parametrize("name", some(LOSE, 0.5))
def test_padding_beyond_a_bound_needs_no_guard(name: str) -> None:
    func = program(LOSE[name])
    best = optimize(func).best
    assert not guarded(best)
    assert assert_refines(func, best, np.random.default_rng(0))


@pytest.mark.parametrize("name", some(KEEP, 0.6))
def test_a_bound_needs_all_stores_and_a_start(name: str) -> None:
    func = program(KEEP[name])
    best = optimize(func).best
    assert guarded(best)
    assert_refines(func, best, np.random.default_rng(0))
