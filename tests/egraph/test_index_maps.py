"""Index maps and their inverses meet, sizes being numbers or symbols; what holds under conditions that sets do not
express is known where these hold.

Each case is a program with the one that an expert would write; beside them are programs that only look alike.
"""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import PrimFunc, parse, to_script
from ir.nodes import Alloc, If
from ir.traverse import walk
from profiles import some

SIZES = "n: T.int32, w: T.int32"
SMALL = "T.assume(1 <= n and n <= 8 and 1 <= w and w <= 8)"
RAGGED = 'A: T.Buffer((4, 8), "float32"), L: T.Buffer((4,), "int32"), S: T.Buffer((4,), "float32")'
LENGTHS = """
    for b in range(4):
        T.assume(0 <= L[b] and L[b] <= 8)"""
PACKED = f'A: T.Buffer((8, 8), "float32"), S: T.Buffer((1,), "float32"), m: T.int32, {SIZES}'

# By name: parameters, a body, and that of the program that an expert would write.
CASES = {
    "three axes by way of rows of seven": (
        'A: T.Buffer((3, 4, 5), "float32"), Y: T.Buffer((3, 4, 5), "float32")',
        """
    B = T.alloc_buffer((9, 7), "float32")
    for o, i in T.grid(9, 7):
        if 7 * o + i < 60:
            B[o, i] = A[(7 * o + i) // 20, (7 * o + i) % 20 // 5, (7 * o + i) % 5]
        else:
            B[o, i] = 0.0
    for a, b, c in T.grid(3, 4, 5):
        Y[a, b, c] = B[(20 * a + 5 * b + c) // 7, (20 * a + 5 * b + c) % 7]""",
        """
    for a, b, c in T.grid(3, 4, 5):
        Y[a, b, c] = A[a, b, c]""",
    ),
    "a permutation and its inverse": (
        'A: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")',
        """
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        B[(5 * i + 3) % 16] = A[i]
    for i in range(16):
        Y[i] = B[(5 * i + 3) % 16]""",
        """
    for i in T.serial(16):
        Y[i] = A[i]""",
    ),
    "rows of an unknown width are laid out flat again": (
        f'A: T.Buffer((n * w,), "float32"), Y: T.Buffer((n * w,), "float32"), {SIZES}',
        f"""
    {SMALL}
    B = T.alloc_buffer((n, w), "float32")
    for i, j in T.grid(n, w):
        B[i, j] = A[i * w + j]
    for f in range(n * w):
        Y[f] = B[f // w, f % w]""",
        """
    for f in T.serial(n * w):
        Y[f] = A[f]""",
    ),
    "what was laid out flat has rows of an unknown width again": (
        f'A: T.Buffer((n, w), "float32"), Y: T.Buffer((n, w), "float32"), {SIZES}',
        f"""
    {SMALL}
    B = T.alloc_buffer((n * w,), "float32")
    for f in range(n * w):
        B[f] = A[f // w, f % w] * 2.0
    for i, j in T.grid(n, w):
        Y[i, j] = B[i * w + j]""",
        """
    for i, j in T.grid(n, w):
        Y[i, j] = A[i, j] * 2.0""",
    ),
    "ragged rows that are stored and read": (
        RAGGED,
        f"""{LENGTHS}
    B = T.alloc_buffer((4, 8), "float32")
    for b in range(4):
        for t in range(L[b]):
            B[b, t] = A[b, t] * 2.0
    for b in range(4):
        S[b] = 0.0
        for t in range(L[b]):
            S[b] = S[b] + B[b, t]""",
        """
    for b in T.serial(4):
        S[b] = 0.0
        for t in T.serial(L[b]):
            S[b] = S[b] + A[b, t] * 2.0""",
    ),
    "elements that a mask selects twice": (
        'A: T.Buffer((8,), "float32"), M: T.Buffer((8,), "int32"), S: T.Buffer((1,), "float32")',
        """
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        if M[i] > 0:
            B[i] = A[i] + 1.0
    S[0] = 0.0
    for i in range(8):
        if M[i] > 0:
            S[0] = S[0] + B[i]""",
        """
    S[0] = 0.0
    for i in T.serial(8):
        if M[i] > 0:
            S[0] = S[0] + (A[i] + 1.0)""",
    ),
    "a loop over a product of sizes": (
        f'A: T.Buffer((64,), "float32"), S: T.Buffer((1,), "float32"), {SIZES}',
        f"""
    {SMALL}
    B = T.alloc_buffer((64,), "float32")
    for f in range(n * w):
        B[f] = A[f] * 2.0
    S[0] = 0.0
    for f in range(n * w):
        S[0] = S[0] + B[f]""",
        """
    S[0] = 0.0
    for f in T.serial(n * w):
        S[0] = S[0] + A[f] * 2.0""",
    ),
}


def read(params: str, body: str) -> PrimFunc:
    """A function of its parameters and the lines of its body."""
    return parse(f"@T.prim_func\ndef f({params}):{body}\n").funcs[0]


@pytest.mark.parametrize("name", some(CASES, 0.57))
def test_the_search_ends_with_what_an_expert_would_write(name: str) -> None:
    params, start, end = CASES[name]
    func = read(params, start)
    best = optimize(func).best
    assert to_script(best).split(":\n", 1)[1].strip() == end.strip()
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


def test_loops_from_a_number_end_where_the_author_says() -> None:
    func = read(
        'A: T.Buffer((64,), "float32"), n: T.int32',
        """
    T.assume(3 <= n and n <= 60)
    for i in range(1, n - 1 - 1):
        A[i + 3 - 4] = A[1 + (i + -2)] + 1.0""",
    )
    assert to_script(optimize(func).best).split(":\n", 1)[1].strip() == (
        "for i in T.serial(1, n - 2):\n        A[i - 1] = A[i - 1] + 1.0"
    )


CONDITIONS = [
    "i * w + j < m",
    "i + j < m * n",
    "i * j < m",
    "i * i + j * j < 20",
    "(i * 8 + j) // w < m",
    "i & j == 0",
    "i << j < 30",
]


@pytest.mark.parametrize("cond", some(CONDITIONS, 0.57))
def test_padding_begins_where_products_and_bits_say(cond: str) -> None:
    func = read(
        PACKED,
        f"""
    {SMALL}
    for i, j in T.grid(8, 8):
        if not ({cond}):
            T.assume(A[i, j] == 0.0)
    S[0] = 0.0
    for i, j in T.grid(8, 8):
        if {cond}:
            S[0] = S[0] + A[i, j]""",
    )
    best = optimize(func).best
    assert not any(isinstance(s, If) for s in walk(best.body)), to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


# By name: parameters, a body, and how many buffers and branches must stay.
TRAPS = {
    "the mask is written in between": (
        'A: T.Buffer((8,), "float32"), M: T.Buffer((8,), "int32"), S: T.Buffer((1,), "float32")',
        """
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        B[i] = 0.0
    for i in range(8):
        if M[i] > 0:
            B[i] = A[i] + 1.0
    for i in range(8):
        M[i] = 1 - M[i]
    S[0] = 0.0
    for i in range(8):
        if M[i] > 0:
            S[0] = S[0] + B[i]""",
        2,
    ),
    "the mask is written by the loop that reads it": (
        'A: T.Buffer((8,), "float32"), M: T.Buffer((9,), "int32"), S: T.Buffer((1,), "float32")',
        """
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        B[i] = 0.0
    for i in range(8):
        if M[i] > 0:
            B[i] = A[i] + 1.0
            M[i] = 0
            M[i + 1] = M[i + 1] + 1
    S[0] = 0.0
    for i in range(8):
        if M[i] > 0:
            S[0] = S[0] + B[i]""",
        2,
    ),
    "what is read is longer than what was stored": (
        RAGGED,
        f"""{LENGTHS}
    B = T.alloc_buffer((4, 8), "float32")
    for b, t in T.grid(4, 8):
        B[b, t] = 1.0
    for b in range(4):
        for t in range(L[b]):
            B[b, t] = A[b, t] * 2.0
    for b in range(4):
        S[b] = 0.0
        for t in range(L[3 - b]):
            S[b] = S[b] + B[b, t]""",
        1,
    ),
    "what is stored is read by later iterations": (
        RAGGED,
        f"""{LENGTHS}
    B = T.alloc_buffer((4, 8), "float32")
    for b, t in T.grid(4, 8):
        B[b, t] = 1.0
    for b in range(4):
        for t in range(L[b]):
            B[b, t] = A[b, t] * 2.0
            A[b, 0] = B[b, t] + A[b, 7 - t]
    for b in range(4):
        S[b] = 0.0
        for t in range(L[b]):
            S[b] = S[b] + B[b, t]""",
        1,
    ),
    "rows that are narrower than they are read": (
        f'A: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32"), {SIZES}',
        f"""
    {SMALL}
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        B[i, j] = 0.0
    for i, j in T.grid(n, w):
        B[i, j] = A[i * w + j] + 1.0
    for f in range(n * w):
        Y[f] = B[f // n, f % n]""",
        1,
    ),
}


@pytest.mark.parametrize("name", some(TRAPS, 0.4))
def test_programs_that_only_look_alike_keep_what_they_need(name: str) -> None:
    params, body, kept = TRAPS[name]
    func = read(params, body)
    result = optimize(func, k=3)
    assert sum(isinstance(s, (Alloc, If)) for s in walk(result.best.body)) >= kept, to_script(result.best)
    for variant, _ in result.variants:
        assert assert_refines(func, variant, np.random.default_rng(1), runs=12) > 0
