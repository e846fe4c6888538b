"""Guards that contradict each other, or leave next to nothing: emission ends, with a kernel that is right."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules import optimize
from ir import PrimFunc, parse, specialize
from lower import compile, emit
from lower.array.job import MAX_CUTS
from lowered import assert_agrees
from profiles import some

GRID = "for i, j, k in T.grid(n, n, 3):"
TRIANGLE = """for i in T.serial(n):
        for j in T.serial(i):
            for k in T.serial(2):"""
SHIFTED = """for i in T.serial(n):
        for j in T.serial(i // 2, n - i):
            for k in T.serial(j // 2, 3):"""
LOOPS = (GRID, TRIANGLE, SHIFTED)
NEVER = (
    "j < i and i < j",
    "j > i and j < i + 1",
    "j >= i + 3 and j <= i + 2",
    "i // 2 > j and j // 2 > i",
    "i < k and k < j and j < i + 2",
    "i <= j - 1 and j <= k - 1 and k <= i - 1",
    "i < n and j >= n",
    "T.min(i, j) > T.max(i, j)",
    "2 * i == 2 * j + 1",
    "A[i, j] > 0 and j < i and i < j",
)
SELDOM = (
    "j > i",
    "i == j",
    "i * 3 < j + 2 and j * 3 < i + 2",
    "i * 2 <= j and j * 2 <= i",
    "i - j >= 2 and j - i >= 0 - 3 and i + j == 4",
    "i >= n - 1 and j >= n - 1",
    "i == 3 and j == i + 1",
    "i < n - 5",
    "i + j > 2 * n - 4",
    "(i < j or j < i) and i == j + 1",
    "i < j and j < n - i",
)
STORES = (
    "B[i, j] = A[i, j] + 1",
    "B[i, j] = B[i, j] + A[i, k]",
    "B[0, 0] = B[0, 0] + A[i, j]",
    "B[i, j] = B[j, i] + 1",
)


def program(loops: str, guard: str, store: str, first: str = "pass") -> PrimFunc:
    indent = " " * (4 * loops.count("for") + 4)
    head = 'n: T.int32, A: T.Buffer((n, n), "int32"), B: T.Buffer((n, n), "int32")'
    body = f"    {first}\n    {loops}\n{indent}if {guard}:\n{indent}    {store}\n"
    return parse(f"@T.prim_func\ndef f({head}):\n{body}").funcs[0]


def compared(func: PrimFunc, size: int) -> None:
    """With the size as a symbol and as a number, the kernel does what the interpreter does."""
    rng = np.random.default_rng(size)
    inputs = {name: rng.integers(-9, 10, (size, size)).astype(np.int32) for name in "AB"}
    assert_agrees(func, compile(func), {"n": np.asarray(size, np.int32), **inputs})
    fixed = specialize(func, {"n": size})
    assert_agrees(fixed, compile(fixed), inputs)


@pytest.mark.parametrize("loops", some(LOOPS[:2], 0.27))
@pytest.mark.parametrize("guard", [*NEVER, *SELDOM[:3]])
def test_emission_ends(loops: str, guard: str) -> None:
    func = program(loops, guard, STORES[0])
    emit(func)
    emit(specialize(func, {"n": 1_000_000}))


@pytest.mark.parametrize("guard", NEVER[:3])
def test_what_never_happens_is_left_out(guard: str) -> None:
    func = program(GRID, guard, STORES[0])
    for form in (func, specialize(func, {"n": 1_000_000})):
        kernel = compile(form)
        assert any("never executed" in line for line in kernel.report)
        assert "A[" not in kernel.source


def test_a_guard_that_cuts_too_often_is_kept_and_said() -> None:
    """Each cut of one axis lets the other be cut by a position, a thousand times."""
    loops = "for i in T.serial(n):\n        for j in T.serial(n):"
    func = specialize(program(loops, "i + 1 <= j and 1000 * j <= 1001 * i", STORES[0]), {"n": 1_000_000})
    kernel = compile(func)
    assert any(f"guards cut its axes {MAX_CUTS} times" in line for line in kernel.report)


@pytest.mark.parametrize(("loops", "guard"), [(GRID, NEVER[3]), (TRIANGLE, SELDOM[0]), (SHIFTED, SELDOM[4])])
def test_kernels_of_such_guards_agree(loops: str, guard: str) -> None:
    compared(program(loops, guard, STORES[0]), 6)


@pytest.mark.fuzz
@pytest.mark.parametrize("loops", LOOPS)
@pytest.mark.parametrize("guard", [*NEVER, *SELDOM])
def test_the_whole_family(loops: str, guard: str) -> None:
    """Of matrices with at least as many rows as k has values, so that all accesses are in bounds."""
    for store in STORES:
        func = program(loops, guard, store, "T.assume(n >= 3)")
        for size in (3, 4, 7):
            compared(func, size)
        emit(optimize(func).best)
