"""Stores to places that data say: the last iteration decides, in array operations too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU
from ir import PrimFunc
from lowered import assert_agrees, kernel_of, read, small_numbers
from profiles import few, some

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4, written_out=1)  # any array statement is worth it
ROW = 'P: T.Buffer((24,), "int32"), A: T.Buffer((24,), "int32"), B: T.Buffer((7,), "int32")'
ROWS = 'P: T.Buffer((24,), "int32"), A: T.Buffer((24, 5), "int32"), B: T.Buffer((7, 5), "int32")'

RANKS = """
s = T.alloc_buffer((1,), 'int32')
for i in T.serial(24):
    s[0] = 0
    for k in T.serial(24):
        if A[k] < A[i]:
            s[0] = s[0] + 1
    B[s[0] % 7] = A[i]
"""


def check(func: PrimFunc) -> list[str]:
    """Compare with the interpreter, places of all kinds given; returns the report of the lowering."""
    kernel = kernel_of(func, EAGER)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shapes = [tuple(int(d.value) for d in b.shape) for b in func.buffers]  # pyright: ignore[reportAttributeAccessIssue]
        inputs = {b.name: rng.integers(0, 7, s).astype(np.int32) for b, s in zip(func.buffers, shapes, strict=True)}
        assert_agrees(func, kernel, inputs)
    return kernel.report


def loops(report: list[str]) -> int:
    return sum("stays a loop" in line for line in report)


@pytest.mark.parametrize(
    ("params", "body"),
    some(
        [
            (ROW, "for i in T.serial(24):\n    B[P[i]] = A[i] * 2"),
            (ROW, "for i in T.serial(3, 20):\n    if A[i] > 2:\n        B[P[i]] = i"),
            (ROW, "for i in T.serial(24):\n    g = T.min(P[i] * 2, 6)\n    B[g] = A[23 - i] + g"),
            (ROWS, "for i in T.serial(24):\n    for j in T.serial(5):\n        B[P[i], j] = A[i, j]"),
            (ROWS, "for i in T.serial(24):\n    for j in T.serial(1, 4):\n        B[P[i], 4 - j] = A[i, j] - i"),
            (ROW, RANKS),
            (ROW, "for i in T.serial(24):\n    if A[i] == P[i] or A[i] < 2:\n        B[3] = i - A[i]"),
            (ROWS, "for i in T.serial(24):\n  for j in T.serial(5):\n    if P[i] > 3:\n      B[2, j] = A[i, j]"),
        ],
        0.38,
    ),
)
def test_the_last_iteration_decides(params: str, body: str) -> None:
    report = check(read(params, body))
    assert loops(report) == 0, report


@pytest.mark.parametrize(
    "body",
    [
        "for i in T.serial(24):\n    B[P[i]] = B[6 - P[i]] + A[i]",
        "for i in T.serial(24):\n    B[P[i]] = A[i]\n    A[(i + 3) % 24] = B[A[i]]",
        "for i in T.serial(24):\n    B[P[i]] = A[i]\n    P[(i + 5) % 24] = A[i]",
    ],
)
def test_what_later_iterations_read_stays_in_order(body: str) -> None:
    assert loops(check(read(ROW, body))) > 0


@few(3)
@given(st.data())
def test_random_stores(data: st.DataObject) -> None:
    def pick(*options: str) -> str:
        return data.draw(st.sampled_from(options))

    place = pick("P[i]", "T.max(P[i], A[i])", "(P[i] + i) % 7", "T.min(i, P[i])")
    value = pick("A[i]", "i", "A[P[i]] - i", "T.Select(A[i] > 3, i, A[i])")
    guard = pick("", "if A[i] % 2 == 0:", "if P[i] > 1 and i < 20:")
    store = f"B[{place}] = {value}"
    inside = f"    {guard}\n        {store}" if guard else f"    {store}"
    check(read(ROW, f"for i in T.serial({pick('24', '2, 19')}):\n{inside}"))


MARKS = {
    "one number": (0, "for i in T.serial(24):\n    B[P[i]] = 1"),
    "where a test holds": (0, "for i in T.serial(24):\n    if A[i] > 2:\n        B[(P[i] + i) % 7] = 4"),
    "by two stores": (0, "for i in T.serial(24):\n    B[P[i]] = 4\n    B[P[i] // 2] = 4"),
    "two numbers": (1, "for i in T.serial(24):\n    B[P[i]] = 4\n    B[A[i]] = 5"),
    "looked at in between": (1, "for i in T.serial(24):\n    A[i] = B[i % 7]\n    B[P[i]] = 1"),
    "where it is not yet there": (1, "for i in T.serial(24):\n    if B[(P[i] + 1) % 7] == 0:\n        B[P[i]] = 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(MARKS, 0.5))
def test_stores_of_one_number_are_in_any_order(name: str) -> None:
    left, body = MARKS[name]
    assert bool(loops(check(read(ROW, body)))) == bool(left)


def test_what_an_inner_loop_goes_on_with_after_the_store_is_not_worked_out_before_it() -> None:
    func = read(
        'K: T.Buffer((3, 12), "int32"), P: T.Buffer((12,), "int32")',
        "for b in range(3):\n    s = T.alloc_buffer((1,), 'int32')\n    s[0] = 0\n    for t in range(12):\n"
        "        s[0] = s[0] + 1 + K[b, t] % 2\n        P[T.min(s[0] // 2, 11)] = s[0] % 3",
    )
    for target in (EAGER, GPU):
        assert_agrees(func, kernel_of(func, target), small_numbers(func, 1))
