"""Loops that exchange elements of an array read it in another order, and only those that do."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from lower import compile
from lowered import assert_agrees, read, small_numbers
from profiles import some

SQUARE = (
    'A: T.Buffer((8, 8), "int32"), B: T.Buffer((9,), "int32"), C: T.Buffer((6, 9), "int32"), n: T.Buffer((1,), "int32")'
)
SWAP = "t = {p}\n{p} = {q}\n{q} = t"


def loops(header: str, p: str, q: str) -> str:
    """Nested loops that exchange two elements."""
    lines, depth = [], 0
    for part in header.split("; "):
        lines.append("    " * depth + part)
        depth += 1
    lines += ["    " * depth + line for line in SWAP.format(p=p, q=q).splitlines()]
    return "\n".join(lines)


PERMUTED = {
    "transposed": loops("for i in range(8):; for j in range(i):", "A[i, j]", "A[j, i]"),
    "transposed, diagonal too": loops("for i in range(8):; for j in range(i + 1):", "A[i, j]", "A[j, i]"),
    "upper triangle": loops("for i in range(8):; for j in range(i + 1, 8):", "A[i, j]", "A[j, i]"),
    "under a condition": loops("for i, j in T.grid(8, 8):; if i > j:", "A[i, j]", "A[j, i]"),
    "other diagonal": loops("for i in range(8):; for j in range(7 - i):", "A[i, j]", "A[7 - j, 7 - i]"),
    "rows reversed": loops("for i in range(8):; for j in range(4):", "A[i, j]", "A[i, 7 - j]"),
    "columns reversed": loops("for i in range(4):; for j in range(8):", "A[7 - i, j]", "A[i, j]"),
    "some rows": loops("for i in range(1, 5):; for j in range(4):", "C[i, j]", "C[i, 8 - j]"),
    "in each step": "for s in range(3):\n    B[s] = A[s, s]\n"
    + "\n".join(f"    {line}" for line in loops("for i in range(8):; for j in range(i):", "A[i, j]", "A[j, i]").splitlines()),
    "turned by a quarter": "for i in range(4):\n    for j in range(4):\n        t = A[i, j]\n        A[i, j] = A[7 - j, i]\n        A[7 - j, i] = A[7 - i, 7 - j]\n        A[7 - i, 7 - j] = A[j, 7 - i]\n        A[j, 7 - i] = t",
    "two arrays": "for i in range(4):\n    t = B[i]\n    B[i] = B[8 - i]\n    B[8 - i] = t\n    u = A[2, i]\n    A[2, i] = A[2, 7 - i]\n    A[2, 7 - i] = u",
}  # fmt: skip


@pytest.mark.parametrize("name", some(PERMUTED, 0.27))
def test_permutations(name: str) -> None:
    func = read(SQUARE, PERMUTED[name])
    kernel = compile(func)
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))
    apart = compile(func, without=["instructions.permutation"])
    assert name == "two arrays" or kernel.source != apart.source
    assert name == "two arrays" or not any("mask" in line for line in kernel.report), kernel.report


OTHERS = {
    "a vector": loops("for i in range(4):", "B[i]", "B[8 - i]"),
    "a part of a vector": loops("for i in range(3):", "B[i + 2]", "B[7 - i]"),
    "elements meet": loops("for i in range(8):", "B[i]", "B[8 - i]"),
    "neighbours": loops("for i in range(8):", "B[i]", "B[i + 1]"),
    "pairs": loops("for i in range(4):", "B[2 * i]", "B[2 * i + 1]"),
    "not all": loops("for i in range(8):; for j in range(i - 1):", "A[i, j]", "A[j, i]"),
    "halves": loops("for i in range(4):", "B[i]", "B[i + 4]"),
    "shifted": "for i in range(8):\n    B[i] = B[i + 1]",
    "of another array": "for i in range(4):\n    t = B[i]\n    B[i] = A[i, 0]\n    A[i, 0] = t",
    "changed on the way": "for i in range(4):\n    t = B[i] + 1\n    B[i] = B[8 - i]\n    B[8 - i] = t",
    "lost": "for i in range(4):\n    B[i] = B[8 - i]\n    B[8 - i] = B[i]",
    "read elsewhere": "for i in range(4):\n    t = B[i]\n    B[i] = B[8 - i]\n    B[8 - i] = t\n    n[0] = B[4]",
    "condition on data": loops("for i in range(4):; if B[4] > 0:", "B[i]", "B[8 - i]"),
    "as far as data say": loops("for i in range(T.min(n[0], 4)):", "B[i]", "B[8 - i]"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(OTHERS, 0.24))
def test_near_misses_stay_right(name: str) -> None:
    func = read(SQUARE, OTHERS[name])
    kernel = compile(func)
    for seed in range(3):
        assert_agrees(func, kernel, small_numbers(func, seed))
    assert kernel.source == compile(func, without=["instructions.permutation"]).source
