"""States that become arrays over all steps: counters by key, and registers into which digits are shifted."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from egraph_rules.cost.target import GPU
from lowered import assert_agrees, kernel_of, read, small_numbers, unwrapped
from profiles import some

KEYED = 'K: T.Buffer((50,), "int32"), X: T.Buffer((50,), "int32"), n: T.Buffer((7,), "int32"), R: T.Buffer((50,), "int32"), S: T.Buffer((9, 50), "int32")'
COUNTERS = {
    "before": "for t in range(50):\n    R[t] = n[K[t] + 3]\n    n[K[t] + 3] = n[K[t] + 3] + 1",
    "after": "for t in range(50):\n    n[K[t] + 3] = n[K[t] + 3] + X[t]\n    R[t] = n[K[t] + 3]",
    "some": "for t in range(50):\n    if X[t] > 0:\n        n[K[t] + 3] = n[K[t] + 3] - 2\n    R[t] = n[K[t] + 3] + n[2]",
    "greatest": "for t in range(50):\n    R[t] = T.max(n[K[t] + 3], 0)\n    n[K[t] + 3] = T.max(n[K[t] + 3], X[t])",
    "slots": "for k in range(7):\n    n[k] = 0\nfor t in range(50):\n    if n[K[t] + 3] < 9:\n        S[n[K[t] + 3], K[t] + 3] = X[t]\n    n[K[t] + 3] = n[K[t] + 3] + 1",
}  # fmt: skip


@pytest.mark.parametrize("body", some(COUNTERS.values(), 0.4), ids=COUNTERS.keys())
def test_counters_by_key(body: str) -> None:
    func = read(KEYED, body)
    kernel = kernel_of(func, GPU)
    assert "stays a loop" not in "".join(kernel.report), kernel.source
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))


SHIFTED = 'X: T.Buffer((40,), "int32"), s: T.Buffer((1,), "int32"), Y: T.Buffer((40,), "int32")'
REGISTERS = {
    "digits": "for t in range(40):\n    s[0] = (s[0] * 4 + X[t]) % 256\n    Y[t] = s[0]",
    "uneven": "for t in range(40):\n    Y[t] = s[0]\n    s[0] = (8 * s[0] - X[t]) % 128",
    "bits": "for t in range(40):\n    s[0] = ((s[0] << 1) | (X[t] & 1)) & 31\n    Y[t] = s[0] * 2",
    "shorter than it remembers": "for t in range(12):\n    s[0] = (s[0] * 2 + X[t]) % 8192\n    Y[t] = s[0]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(REGISTERS.values(), 0.5), ids=REGISTERS.keys())
def test_registers(body: str) -> None:
    func = read(SHIFTED, body)
    kernel = kernel_of(func, GPU)
    assert "stays a loop" not in "".join(kernel.report), kernel.source
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))


OTHERS = {
    "some steps": "for t in range(40):\n    if t >= 7:\n        s[0] = (s[0] * 4 + X[t]) % 64\n        Y[t] = s[0]",
    "odd factor": "for t in range(40):\n    s[0] = (s[0] * 3 + X[t]) % 256\n    Y[t] = s[0]",
    "other modulus": "for t in range(40):\n    s[0] = (s[0] * 4 + X[t]) % 60\n    Y[t] = s[0]",
    "more bits": "for t in range(40):\n    s[0] = ((s[0] << 1) | (X[t] & 3)) & 31\n    Y[t] = s[0]",
    "state in the digit": "for t in range(40):\n    s[0] = (s[0] * 4 + X[t] * (s[0] % 3)) % 64\n    Y[t] = s[0]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.6), ids=OTHERS.keys())
def test_other_states_stay(body: str) -> None:
    func = read(SHIFTED, body)
    kernel = kernel_of(func, GPU)
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))


VOTES = 'L: T.Buffer((9, 8), "int32"), W: T.Buffer((9, 8), "float32"), O: T.Buffer((9, 8), "int32"), F: T.Buffer((9, 8), "float32")'
TABLES = {
    "votes of neighbours": (
        True,
        """for y, x in T.grid(9, 8):
    n = T.alloc_buffer((5,), "int32")
    for c in range(5):
        n[c] = 0
    for d in range(3):
        n[(L[y, T.min(T.max(x + d - 1, 0), 7)] + 20) % 5] += 1
    best = T.alloc_buffer((1,), "int32")
    best[0] = 0
    for c in range(1, 5):
        if n[c] > n[best[0]]:
            best[0] = c
    O[y, x] = best[0]""",
    ),
    "weights by key": (
        True,
        """for y in range(9):
    s = T.alloc_buffer((4,), "float32")
    for c in range(4):
        s[c] = 0.5
    for x in range(8):
        s[(L[y, x] + 20) % 4] += W[y, x]
    for x in range(8):
        F[y, x] = s[x % 4]""",
    ),
    "looked at in between": (
        False,
        """for y in range(9):
    s = T.alloc_buffer((4,), "float32")
    for c in range(4):
        s[c] = 0.5
    for x in range(8):
        s[(L[y, x] + 20) % 4] += W[y, x]
        F[y, x] = s[1]""",
    ),
}


@pytest.mark.parametrize("name", some(TABLES, 0.45))
def test_tables_of_few_keys_are_filled_by_comparisons(name: str) -> None:
    compared, body = TABLES[name]
    func = read(VOTES, body)
    kernel = kernel_of(func)
    assert "key = " in unwrapped(kernel.source) or not compared
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed), rtol=1e-6)
