"""Circular buffers, whose steps wait for each other for their places alone: with a place for each step they run in strips."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from msgspec.structs import replace

from lowered import CPU, assert_agrees, kernel_of, read, small_numbers
from tests.lowered import unwrapped

EAGER = replace(CPU, name="eager", scalar=1e4)  # any array statement is worth it
PARAMS = 'X: T.Buffer((4, 90), "int32"), Y: T.Buffer((4, 90), "int32"), R: T.Buffer((20,), "int32"), S: T.Buffer((20, 4), "int32")'
RINGS = {
    "echo": "for t in range(90):\n    Y[0, t] = X[0, t] - R[t % 20] // 2\n    R[t % 20] = Y[0, t]",
    "two taps": "for t in range(90):\n    Y[0, t] = X[0, t] - R[t % 20] // 2 + R[(t + 9) % 20]\n    R[t % 20] = Y[0, t]",
    "looked at afterwards": "for t in range(90):\n    R[t % 20] = X[0, t] - R[t % 20] // 2\n    Y[0, t] = R[t % 20] - R[(t + 8) % 20]",
    "begins and ends elsewhere": "for t in range(13, 77):\n    Y[1, t] = R[(t + 8) % 20] - X[0, t]\n    R[(t + 5) % 20] = Y[1, t] % 50\nfor k in range(20):\n    Y[2, k] = R[k]",
    "for each row": "for b in range(4):\n    ring = T.alloc_buffer((12,), 'int32')\n    for k in range(12):\n        ring[k] = k - b\n    for t in range(90):\n        Y[b, t] = X[b, t] - ring[t % 12] % 3\n        ring[t % 12] = Y[b, t]",
    "rows inside": "for t in range(90):\n    for b in range(4):\n        Y[b, t] = X[b, t] - S[t % 20, b] % 3\n        S[t % 20, b] = Y[b, t]",
    "a dimension of a row": "for b in range(4):\n    for t in range(90):\n        Y[b, t] = X[b, t] - S[(t + 2) % 20, b] % 3\n        S[(t + 2) % 20, b] = Y[b, t]",
    "two buffers": "q = T.alloc_buffer((15,), 'int32')\nfor k in range(15):\n    q[k] = X[1, k]\nfor t in range(90):\n    Y[0, t] = X[0, t] - R[t % 20] // 2 + q[t % 15] // 3\n    R[t % 20] = Y[0, t]\n    q[t % 15] = Y[0, t] % 7",
}
OTHERS = {
    "the step before": "for t in range(90):\n    Y[0, t] = X[0, t] - R[(t + 19) % 20] // 2\n    R[t % 20] = Y[0, t]",
    "not in each step": "for t in range(90):\n    Y[0, t] = X[0, t] - R[t % 20] // 2\n    if X[1, t] > 0:\n        R[t % 20] = Y[0, t]",
    "two stores": "for t in range(90):\n    Y[0, t] = X[0, t] - R[t % 20] // 2\n    R[t % 20] = Y[0, t]\n    R[(t + 10) % 20] = Y[0, t] // 2 + R[(t + 1) % 20] // 3",
    "one place": "for t in range(90):\n    Y[0, t] = X[0, t] - R[t % 20] // 2 + R[7]\n    R[t % 20] = Y[0, t]",
    "a place that data give": "for t in range(90):\n    Y[0, t] = X[0, t] - R[T.min(T.max(X[1, t], 0), 19)]\n    R[t % 20] = Y[0, t]",
    "backwards": "for t in range(90):\n    Y[0, t] = X[0, t] - R[(89 - t) % 20] // 2\n    R[t % 20] = Y[0, t]",
    "the lane beside": "for t in range(90):\n    for b in range(4):\n        Y[b, t] = X[b, t] - S[t % 20, 3 - b] % 3\n        S[t % 20, b] = Y[b, t]",
}  # fmt: skip


@pytest.mark.parametrize("name", [*RINGS, *OTHERS])
def test_steps_that_use_places_in_turn(name: str) -> None:
    func = read(PARAMS, {**RINGS, **OTHERS}[name])
    kernel = kernel_of(func, EAGER)
    for seed in range(2):
        assert_agrees(func, kernel, small_numbers(func, seed))
    assert ("strip" in unwrapped(kernel.source)) == (name in RINGS)
