"""Axes along which arrays are stored and read backward run forward, and what is read forward is reversed."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from lowered import agreeing_source, read
from profiles import some

PARAMS = 'A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32"), C: T.Buffer((8, 12), "int32"), Y: T.Buffer((12,), "int32"), Z: T.Buffer((8, 12), "int32")'


def flips(body: str) -> int:
    """How many arrays are reversed, after comparisons with the interpreter."""
    return agreeing_source(read(PARAMS, body), seeds=2).count("flip(")


BACKWARD = {
    "all": ("for i in range(12):\n    Y[11 - i] = A[11 - i] * 2 + B[11 - i]", 0),
    "a part": ("for i in range(2, 9):\n    Y[10 - i] = A[9 - i] + B[11 - i]", 0),
    "one of two": ("for i, j in T.grid(8, 12):\n    Z[i, 11 - j] = C[i, 11 - j] + A[11 - j] * i", 0),
    "both of two": ("for i, j in T.grid(8, 12):\n    Z[7 - i, 11 - j] = C[7 - i, 11 - j] + i * j", 0),
    "under a condition": ("for i in range(12):\n    if A[11 - i] > i - 6:\n        Y[11 - i] = B[11 - i]", 0),
    "sums": (
        "for i in range(12):\n    Y[11 - i] = A[11 - i]\n    for k in range(8):\n        Y[11 - i] += C[k, 11 - i]",
        0,
    ),
    "steps": ("for t in range(5):\n    for i in range(10):\n        Y[11 - i] = T.max(Y[11 - i], Y[9 - i] + A[t])", 0),
    "bounds by data": ("for t in range(5):\n    for i in range(A[t] % 12):\n        Y[11 - i] = B[11 - i] - i", 0),
    "more backward than forward": ("for i in range(12):\n    Y[11 - i] = A[11 - i] * C[2, 11 - i] + B[i]", 1),
}


def test_loops_that_end_elsewhere_in_each_step_stay_in_place() -> None:
    body = "for k in range(8):\n    for i in range(k + 1):\n        Y[k + 1 - i] = Y[k + 1 - i] - A[k] * Y[k - i]"
    text = agreeing_source(read(PARAMS, body), seeds=2)
    assert "mode=" not in text and "dynamic_slice" not in text


@pytest.mark.parametrize(("body", "left"), some(BACKWARD.values(), 0.37), ids=BACKWARD.keys())
def test_what_is_stored_and_read_backward_runs_forward(body: str, left: int) -> None:
    assert flips(body) == left


OTHERS = {
    "read forward": "for i in range(12):\n    Y[11 - i] = A[i]",
    "stored forward": "for i in range(12):\n    Y[i] = A[11 - i]",
    "bounds of another loop": "for i in range(8):\n    for j in range(i + 1):\n        Z[7 - i, j] = C[7 - i, 11 - j]",
    "a recurrence": "for i in range(1, 12):\n    Y[11 - i] = Y[12 - i] * 2 % 100 + A[11 - i]",
    "steps of two": "for i in range(6):\n    Y[11 - 2 * i] = A[11 - 2 * i] + 1",
    "a diagonal": "for i in range(8):\n    Z[7 - i, 11 - i] = C[7 - i, 11 - i] + 1",
    "a local": "for i in range(12):\n    v = T.alloc_buffer((3,), 'int32')\n    for k in range(3):\n        v[k] = A[11 - i] + k\n    Y[11 - i] = v[i % 3] + B[11 - i]",
}


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.57), ids=OTHERS.keys())
def test_other_orders_are_right(body: str) -> None:
    flips(body)
