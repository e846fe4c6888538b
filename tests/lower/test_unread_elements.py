"""What a program never reads may hold anything: masks are no factors, nor do sums go over padding that is unknown."""

from __future__ import annotations

import random

import numpy as np
import pytest

from egraph_rules import optimize
from ir import PrimFunc, parse
from ir.errors import LoopsatError
from ir.semantics.inputs import random_inputs
from lower import compile
from lowered import assert_agrees
from profiles import some
from unread import with_nan_where_unread

HEAD = """@T.prim_func
def f(A: T.Buffer((6, 3, 4), "float32"), B: T.Buffer((3, 4), "float32"), C: T.Buffer((6, 12), "float32"),
      S: T.Buffer((6,), "float32"), Y: T.Buffer((6, 3, 4), "float32")):
"""
GUARDS = ("4 * o + i < 10", "4 * o + i >= 2 and 4 * o + i < 11", "i < 3", "r + i < 7", "o > 0 or i > 1", "S[r] > 0.0")
READS = (
    "A[r, o, i]",
    "A[r, 2 - o, i]",
    "B[o, i]",
    "C[r, 4 * o + i]",
    "A[r, o, i] * B[o, i]",
    "C[5 - r, 4 * o + i] * C[r, 4 * o + i]",
    "(A[r, o, i] - S[r])",
    "2.0",
    "T.exp(B[o, i])",
    "A[r, o, i] / (C[r, 4 * o + i] * C[r, 4 * o + i] + 1.0)",
    "A[r, o, i] * T.exp(C[0, i])",
    "Y[r, o, i]",
)
PADDED = ("B[o, i]", "A[r, o, i]", "C[r, 4 * o + i]")
SUMS = ("{s} + {v}", "{s} + {v}", "{s} - {v}", "T.max({s}, {v})", "T.min({s}, {v})", "{s} * {v}")


def body(rng: random.Random) -> list[str]:
    """A few nests that reduce along rows, or store elements, under guards or choices."""
    inside, padded = rng.choice(GUARDS[:-1]), rng.choice(PADDED)
    lines = ["for r, o, i in T.grid(6, 3, 4):", f"    T.assume({inside} or {padded} == 0.0)"]
    for _ in range(rng.randint(2, 4)):
        guard, value = rng.choice(GUARDS), rng.choice(READS)
        if rng.random() < 0.4:
            guard, value = inside, f"{padded} * {value}"
        if rng.random() < 0.4:
            value = f"{value} {rng.choice('+*-')} {rng.choice(READS)}"
        if rng.random() < 0.4:
            other = rng.choice(("0.0", "1.0", rng.choice(READS)))
            arms = (value, other) if rng.random() < 0.5 else (other, value)
            value, guard = f"T.if_then_else({guard}, {arms[0]}, {arms[1]})", "" if rng.random() < 0.7 else guard
        head = f"for r, o, i in T.grid({rng.choice((6, 5))}, 3, 4):"
        if rng.random() < 0.5:
            combined = rng.choice(SUMS).format(s="S[r]", v=value)
            lines += ["for r in range(6):", f"    S[r] = {rng.choice(('0.0', '0.0', '1.0', 'B[0, 0]'))}", head]
            store = f"S[r] = {combined}"
        else:
            lines.append(head)
            store = f"Y[r, o, i] = {value}"
        lines += [f"    if {guard}:", f"        {store}"] if guard else [f"    {store}"]
        if guard and rng.random() < 0.3 and store.startswith("Y"):
            lines += ["    else:", f"        Y[r, o, i] = {rng.choice(('0.0', 'B[o, i]'))}"]
    return lines


def program(seed: int) -> PrimFunc:
    return parse(HEAD + "\n".join(f"    {line}" for line in body(random.Random(seed)))).funcs[0]


def check(seed: int) -> None:
    """Kernels of a program and of what a search makes of it agree with the interpreter where nothing is NaN but what is
    never read."""
    func = program(seed)
    try:
        given = random_inputs(func, np.random.default_rng(seed))
    except LoopsatError:  # nothing satisfies what it assumes
        return
    inputs = with_nan_where_unread(func, given)
    for form in (func, optimize(func).best):
        assert_agrees(func, compile(form), inputs, 2e-4)


@pytest.mark.parametrize("seed", some(range(20), 1))
def test_programs_do_not_show_what_they_never_read(seed: int) -> None:
    check(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20, 600))
def test_many_programs_do_not_show_what_they_never_read(seed: int) -> None:
    check(seed)


def test_a_value_that_is_named_under_a_guard_is_read_there_only() -> None:
    """A name is worked out for all iterations, which says nothing of the elements that the program reads for it."""
    func = parse("""
@T.prim_func
def f(
    X: T.Buffer((4, 6), "float32"), L: T.Buffer((4,), "int32"), n: T.int32, Q: T.Buffer((4,), "float32"),
    S: T.Buffer((4,), "float32"),
):
    T.assume(n >= 0 and n <= 6)
    for r in range(4):
        T.assume(L[r] >= 0 and L[r] <= 6)
    for r in range(4):
        Q[r] = 0.0
        for k in range(6):
            if k + 1 < L[r]:
                m = T.max(Q[r], X[r, k])
                Q[r] = Q[r] * T.exp(Q[r] - m)
    for r in range(4):
        S[r] = 1.0
        for k in T.serial(L[r], 6):
            if k < n:
                S[r] = S[r] + X[r, 5 - k]
""")["f"]
    for lengths, n in (([0, 3, 6, 1], 3), ([2, 2, 2, 2], 0), ([5, 4, 3, 2], 6)):
        X = np.full((4, 6), np.nan, np.float32)
        for r, length in enumerate(lengths):
            read = [*range(length - 1), *(5 - k for k in range(length, min(n, 6)))]
            X[r, read] = np.arange(len(read))
        empty = np.zeros(4, np.float32)
        inputs = {"X": X, "L": np.array(lengths, np.int32), "n": n, "Q": empty, "S": empty}
        assert_agrees(func, compile(func), inputs)
        assert_agrees(func, compile(optimize(func).best), inputs)


def test_values_of_a_branch_are_worked_out_where_it_is_taken() -> None:
    """No padding is read for a border, where the branch stores something else."""
    text = """@T.prim_func
def f(I: T.Buffer((20, 20), "float32"), G: T.Buffer((20, 20), "float32")):
    for y, x in T.grid(20, 20):
        if y == 0 or x == 0 or y == 19 or x == 19:
            G[y, x] = 0.0
        else:
            a = I[y - 1, x] - I[y + 1, x]
            b = I[y, x - 1] - I[y, x + 1]
            G[y, x] = T.sqrt(a * a + b * b + 1.0) + a * b
"""
    func = parse(text).funcs[0]
    kernel = compile(func)
    assert "jnp.pad(I" not in kernel.source, kernel.source
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)), 1e-5)
