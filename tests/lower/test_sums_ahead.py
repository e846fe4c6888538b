"""Sums that wait for no step of a loop are worked out before it, for all steps at once; those that wait stay."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lower.analysis.deciding import deciding
from lowered import CPU, assert_agrees, kernel_of, read, small_numbers, unwrapped
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, function=0)  # as if vectors were longer
PARAMS = 'X: T.Buffer((60, 7), "int32"), U: T.Buffer((5, 7), "int32"), W: T.Buffer((5, 5), "int32"), Z: T.Buffer((60, 5), "int32"), Y: T.Buffer((4, 60), "int32")'
STATE = "h = T.alloc_buffer((5,), 'int32')\nfor i in range(5):\n    h[i] = i\n"
WHOLE = "for t in range(60):\n    s = T.alloc_buffer((1,), 'int32')\n    s[0] = 2\n    for j in range(7):\n        s[0] = s[0] + U[1, j] * X[t, j]\n    for i in range(5):\n        h[i] = (h[i] * 2 + s[0]) % 19\n        Z[t, i] = h[i]"
VECTOR = "for t in range(60):\n    s = T.alloc_buffer((5,), 'int32')\n    for i in range(5):\n        s[i] = 1\n        for j in range({first}):\n            s[i] = s[i] + {parts[0]}\n        for j in range({second}):\n            s[i] = s[i] - {parts[1]}\n    for i in range(5):\n        h[i] = s[i] % 19\n        Z[t, i] = h[i]"
ROWS = "for b in range(4):\n    c = T.alloc_buffer((1,), 'int32')\n    c[0] = b\n    for t in range(60):\n        s = T.alloc_buffer((1,), 'int32')\n        s[0] = 0\n        for j in range(5):\n            s[0] = s[0] + W[b, j] * X[t, j]\n        c[0] = (c[0] * c[0] + s[0]) % 19\n        Y[b, t] = c[0]"
AHEAD = {
    "all of a sum": STATE + WHOLE,
    "what comes first of one": STATE + VECTOR.format(first=7, second=5, parts=("U[i, j] * X[t, j]", "W[i, j] * h[j]")),
    "what comes later": STATE + VECTOR.format(first=5, second=7, parts=("W[i, j] * h[j]", "U[i, j] * X[t, j]")),
    "in each row": ROWS,
}
ANEW = (
    STATE
    + "for t in range(60):\n    s = T.alloc_buffer((5,), 'int32')\n    for i in range(5):\n        s[i] = 1\n        for j in range(7):\n            s[i] = s[i] + U[i, j] * X[t, j]\n        s[i] = {0}\n        for j in range(7):\n            s[i] = s[i] + U[i, j] * X[t, 6 - j]\n        for j in range(5):\n            s[i] = s[i] + W[i, j] * h[j]\n    for i in range(5):\n        h[i] = s[i] % 19\n        Z[t, i] = h[i]"
)
AHEAD["what comes after it began anew"] = ANEW.format("3")
AHEAD["what comes after a choice"] = ANEW.format("T.if_then_else(X[t, 0] > 0, 3, s[i])")
TERMS = "U[i, j] * X[t, j] + W[i, j] * h[j]"
PARTS = {}
PARTS["one of the terms of a sum"] = STATE + VECTOR.format(first=5, second=5, parts=(TERMS, "W[j, i] * h[j]"))
PARTS["before a value of the sum takes its place"] = (
    STATE
    + "for t in range(60):\n    s = T.alloc_buffer((5,), 'int32')\n    for i in range(5):\n        s[i] = 1\n        for j in range(5):\n            s[i] = s[i] + U[i, j] * X[t, j] + W[i, j] * h[j]\n        s[i] = s[i] % 19\n    for i in range(5):\n        h[i] = s[i]\n        Z[t, i] = h[i]"
)
BATCH = "g = T.alloc_buffer((4, 5), 'int32')\nfor b, i in T.grid(4, 5):\n    g[b, i] = i + b\nfor t in range(15):\n    s = T.alloc_buffer((4, 5), 'int32')\n    for b, i in T.grid(4, 5):\n        s[b, i] = 1\n        for j in range(5):\n            s[b, i] = s[b, i] + U[i, j] * X[4 * t + b, j] + W[i, j] * g[b, j]\n    for b, i in T.grid(4, 5):\n        g[b, i] = s[b, i] % 19\n        Z[4 * t + b, i] = g[b, i]"
PARTS["of a few rows"] = BATCH
OTHERS = {
    "of what a step leaves": STATE + VECTOR.format(first=5, second=5, parts=("W[i, j] * h[j]", "W[j, i] * h[j]")),
    "of rows of which parts are read": BATCH.replace("s[b, i] % 19", "(s[b, i] + s[b, 0]) % 19"),
    "that each term begins anew": STATE + "for t in range(60):\n    s = T.alloc_buffer((1,), 'int32')\n    s[0] = h[0]\n    for j in range(5):\n        s[0] = j\n        s[0] = s[0] + U[1, j] * X[t, j]\n    h[0] = (s[0] + h[1]) % 19\n    Z[t, 0] = h[0]",
    "looked at in between": STATE + "for t in range(60):\n    s = T.alloc_buffer((1,), 'int32')\n    s[0] = h[0]\n    Z[t, 1] = s[0]\n    for j in range(7):\n        s[0] = s[0] + U[1, j] * X[t, j]\n    h[0] = s[0] % 19\n    Z[t, 0] = h[0]",
    "under what a step leaves": STATE + "for t in range(60):\n    s = T.alloc_buffer((1,), 'int32')\n    s[0] = 0\n    for j in range(5):\n        if h[j] > j:\n            s[0] = s[0] + U[1, j] * X[t, j]\n    h[t % 5] = s[0] % 19\n    Z[t, 0] = h[0]",
}  # fmt: skip


def whatever_it_costs(decision: str, prices: Sequence[float]) -> int:
    """The form of a loop that is tried last, which is that with sums ahead where there is one."""
    return len(prices) - 1 if decision == "form of a loop" else prices.index(min(prices))


@pytest.mark.parametrize("name", some(PARTS, 0.45))
def test_parts_of_sums_in_a_loop(name: str) -> None:
    func = read(PARAMS, PARTS[name])
    assert_agrees(func, kernel_of(func), small_numbers(func, 0))
    with deciding(whatever_it_costs):
        kernel = kernel_of(func)
    for seed in range(2):
        assert_agrees(func, kernel, small_numbers(func, seed))
    steps = unwrapped(kernel.source).partition("_step(")
    assert "einsum" in steps[0] or "jnp.sum" in steps[0], kernel.source


@pytest.mark.parametrize("name", [*AHEAD, *OTHERS])
def test_sums_in_a_loop(name: str) -> None:
    func = read(PARAMS, {**AHEAD, **OTHERS}[name])
    for target in (CPU, EAGER):
        kernel = kernel_of(func, target)
        for seed in range(2):
            assert_agrees(func, kernel, small_numbers(func, seed))
    steps = unwrapped(kernel.source).partition("_step(")
    assert ("einsum" in steps[0] or "jnp.sum" in steps[0]) == (name in AHEAD)
