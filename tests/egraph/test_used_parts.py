"""Locals as large as what is read of them, padding in parts of its own, and the names of loops in what comes of it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from ir.analysis.effects import EffectAnalysis
from ir.nodes import Alloc, If
from ir.presburger import sets as pb
from ir.transform.storage.contract import trimmed
from ir.transform.storage.copied_out import without_copy
from ir.traverse import map_stmt, walk
from profiles import some

# By name: a program and the lines that the search ends with.
CASES = {
    "columns that nobody reads": (
        """
def f(Q: T.Buffer((5, 4), "float32"), K: T.Buffer((8, 4), "float32"), O: T.Buffer((5,), "float32")):
    S = T.alloc_buffer((5, 8), "float32")
    for i, j in T.grid(5, 8):
        S[i, j] = 0.0
        for d in range(4):
            S[i, j] = S[i, j] + Q[i, d] * K[j, d]
    for i in range(5):
        O[i] = 0.0
        for j in range(6):
            O[i] = O[i] + T.exp(S[i, j])""",
        """
    S = T.alloc_buffer((5, 6), "float32")
    for i in T.serial(5):
        for j in T.serial(6):
            S[i, j] = 0.0
            for d in T.serial(4):
                S[i, j] = S[i, j] + Q[i, d] * K[j, d]
        O[i] = 0.0
        for j in T.serial(6):
            O[i] = O[i] + T.exp(S[i, j])""",
    ),
    "padding by a loop of its own": (
        """
def f(X: T.Buffer((10, 50), "float32"), Y: T.Buffer((10,), "float32")):
    P = T.alloc_buffer((10, 64), "float32")
    for i in range(10):
        for j in range(50):
            P[i, j] = X[i, j]
        for j in range(50, 64):
            P[i, j] = 0.0
    for i in range(10):
        Y[i] = 0.0
        for j in range(64):
            Y[i] = Y[i] + P[i, j] * P[i, j]""",
        """
    for i in T.serial(10):
        Y[i] = 0.0
        for j in T.serial(50):
            Y[i] = Y[i] + X[i, j] * X[i, j]""",
    ),
    "a local that is cut to what is copied out": (
        """
def f(X: T.Buffer((10, 5), "float32"), W: T.Buffer((3, 8), "float32"), Y: T.Buffer((5, 9), "float32")):
    P = T.alloc_buffer((10, 8), "float32")
    C = T.alloc_buffer((8, 8), "float32")
    for t, c in T.grid(10, 8):
        P[t, c] = X[t, c] if c < 5 else 0.0
    for t, c in T.grid(8, 8):
        C[t, c] = 0.0
        for k in range(3):
            C[t, c] = C[t, c] + P[t + k, c] * W[k, c]
    for t, c in T.grid(8, 5):
        Y[c, t + 1] = C[t, c]
    for c in range(5):
        Y[c, 0] = 1.0""",
        """
    for t, c in T.grid(8, 5):
        Y[c, t + 1] = 0.0
        for k in T.serial(3):
            Y[c, t + 1] = Y[c, t + 1] + X[t + k, c] * W[k, c]
    for c in T.serial(5):
        Y[c, 0] = 1.0""",
    ),
    "a local that is filled in part and copied out": (
        """
def f(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    C = T.alloc_buffer((16,), "float32")
    for i in range(10):
        C[i] = X[i]
    for i in range(16):
        Y[i] = C[i]""",
        """
    for i in T.serial(16):
        Y[i] = X[i]""",
    ),
    "names of an attention over padded keys": (
        """
def f(Q: T.Buffer((50, 16), "float32"), K: T.Buffer((50, 16), "float32"), V: T.Buffer((50, 16), "float32"),
      O: T.Buffer((50, 16), "float32")):
    P = T.alloc_buffer((64, 16), "float32")
    S = T.alloc_buffer((50, 64), "float32")
    for key, depth in T.grid(64, 16):
        P[key, depth] = K[key, depth] if key < 50 else 0.0
    for query, key in T.grid(50, 64):
        S[query, key] = 0.0
        for depth in range(16):
            S[query, key] = S[query, key] + Q[query, depth] * P[key, depth]
    for row, col in T.grid(50, 16):
        O[row, col] = 0.0
        for key in range(64):
            if key < 50:
                O[row, col] = O[row, col] + T.exp(S[row, key]) * V[key, col]""",
        """
    S = T.alloc_buffer((50, 50), "float32")
    for row in T.serial(50):
        for key in T.serial(50):
            S[row, key] = 0.0
            for depth in T.serial(16):
                S[row, key] = S[row, key] + Q[row, depth] * K[key, depth]
        for col in T.serial(16):
            O[row, col] = 0.0
            for key in T.serial(50):
                O[row, col] = O[row, col] + T.exp(S[row, key]) * V[key, col]""",
    ),
    "terms of products that padding makes zero": (
        """
def f(A: T.Buffer((9, 10), "float32"), B: T.Buffer((10, 11), "float32"), C: T.Buffer((9, 11), "float32")):
    P = T.alloc_buffer((12, 12), "float32")
    Q = T.alloc_buffer((12, 12), "float32")
    R = T.alloc_buffer((12, 12), "float32")
    for i, k in T.grid(12, 12):
        P[i, k] = T.if_then_else(i < 9 and k < 10, A[i, k], 0.0)
    for k, j in T.grid(12, 12):
        Q[k, j] = T.if_then_else(k < 10 and j < 11, B[k, j], 0.0)
    for i, j in T.grid(12, 12):
        R[i, j] = 0.0
        for k in range(12):
            R[i, j] = R[i, j] + P[i, k] * Q[k, j]
    for i, j in T.grid(9, 11):
        C[i, j] = R[i, j]""",
        """
    for i, j in T.grid(9, 11):
        C[i, j] = 0.0
        for k in T.serial(10):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]""",
    ),
    "rows in two parts that a size bounds": (
        """
def f(X: T.Buffer((8, 16), "float32"), n: T.int32, s: T.Buffer((8,), "float32")):
    T.assume(0 <= n and n <= 16)
    P = T.alloc_buffer((8, 16), "float32")
    for b in range(8):
        for t in range(n):
            P[b, t] = X[b, t] * 2.0
    for b in range(8):
        for t in range(n, 16):
            P[b, t] = 0.0
    for b in range(8):
        s[b] = 0.0
        for t in range(16):
            s[b] = s[b] + P[b, t]""",
        """
    for b in T.serial(8):
        s[b] = 0.0
        for t in T.serial(16):
            s[b] = s[b] + T.if_then_else(t < n, X[b, t] * 2.0, 0.0)""",
    ),
    "rows in two parts that data bound": (
        """
def f(X: T.Buffer((8, 16), "float32"), L: T.Buffer((8,), "int32"), s: T.Buffer((8,), "float32")):
    for b in range(8):
        T.assume(0 <= L[b] and L[b] <= 16)
    P = T.alloc_buffer((8, 16), "float32")
    for b in range(8):
        for t in range(L[b]):
            P[b, t] = X[b, t] * 2.0
    for b in range(8):
        for t in range(L[b], 16):
            P[b, t] = 0.0
    for b in range(8):
        s[b] = 0.0
        for t in range(16):
            s[b] = s[b] + P[b, t]""",
        """
    for b in T.serial(8):
        s[b] = 0.0
        for t in T.serial(16):
            s[b] = s[b] + T.if_then_else(t < L[b], X[b, t] * 2.0, 0.0)""",
    ),
}


@pytest.mark.parametrize("name", some(CASES, 1))
def test_the_search_ends_with_what_an_expert_would_write(name: str) -> None:
    source, end = CASES[name]
    func = parse(f"@T.prim_func{source}\n").funcs[0]
    best = optimize(func).best
    assert to_script(best).split(":\n", 1)[1].strip() == end.strip()
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


def _program(number: int) -> str:
    """A program of a local that is stored to and read in parts, in place, and under conditions on data."""
    dice = Random(number)
    places = (
        "n % 8, j",
        "i, j",
        "i, j",
        "j, i",
        "i, 7 - j",
        "7 - i, j",
        "i // 2, j",
        "i, 3",
        "T.min(i, 4), j",
        "L[i], j",
    )
    ends = [dice.randint(2, 8) for _ in range(4)]
    starts = [dice.randint(0, end - 1) for end in ends]
    loops = [f"for i in range({a}, {b}):\n    for j in range({c}, {d}):" for a, b, c, d in
             zip(starts[::2], ends[::2], starts[1::2], ends[1::2], strict=True)]  # fmt: skip
    steps = ("H[{p}] + X[i, j]", "H[{p}] * 2.0", "X[j, i]", "T.max(H[{p}], X[i, j])", "H[{q}] - 1.0", "0.0")
    guards = ("", "", "if i + j < 9:", "if X[i, j] > 0.0:", "if i < 6 and j != 2:", "if n < 3:")
    nests = ["for i, j in T.grid(8, 8):\n    H[i, j] = X[i, j]"] if dice.random() < 0.8 else []
    for loop in loops:
        place = dice.choice(places)
        store = f"H[{place}] = {dice.choice(steps).format(p=place, q=dice.choice(places))}"
        guard = dice.choice(guards)
        inner = f"{guard}\n            {store}" if guard else store
        nests.append(f"{loop}\n        {inner}")
    a, b, c, d = (dice.randint(0, 3), dice.randint(4, 8), dice.randint(0, 3), dice.randint(4, 8))
    read = dice.choice((*places[:5], "i, j"))
    value = dice.choice((f"H[{read}]", f"H[{read}] if j < 5 else 0.0", f"H[{read}] + H[i, j]"))
    nests.append(f"for i in range({a}, {b}):\n    for j in range({c}, {d}):\n        Y[i, j] = {value}")
    body = "\n".join(nests).replace("\n", "\n    ")
    return f"""@T.prim_func
def f(X: T.Buffer((8, 8), "float32"), L: T.Buffer((8,), "int32"), n: T.int32, Y: T.Buffer((8, 8), "float32")):
    for i in range(8):
        T.assume(0 <= L[i] and L[i] < 8)
    H = T.alloc_buffer((8, 8), "float32")
    {body}
"""


@pytest.mark.parametrize("number", some([*range(3000)], 3))
def test_random_locals_that_are_read_in_part(number: int) -> None:
    func = parse(_program(number)).funcs[0]
    known = pb.always()
    moved = map_stmt(func.body, on_stmt=lambda s: (trimmed(s, known) or s) if isinstance(s, Alloc) else s)
    rng = np.random.default_rng(number)
    assert_refines(func, func.__class__(func.name, func.params, moved), rng, 4)
    if number % 3 == 0:
        assert_refines(func, optimize(func).best, rng, 4)


def test_locals_are_trimmed_at_both_ends() -> None:
    source = """@T.prim_func
def f(X: T.Buffer((9,), "float32"), Y: T.Buffer((9,), "float32")):
    H = T.alloc_buffer((9,), "float32")
    for i in range(9):
        H[i] = X[i] * X[i]
    for i in range(3, 6):
        Y[i] = H[i - 1] + H[i + 1]
"""
    alloc = next(s for s in walk(parse(source).funcs[0].body) if isinstance(s, Alloc))
    new = trimmed(alloc, pb.always())
    assert isinstance(new, Alloc)
    assert [str(n) for n in new.buffer.shape] == ["5"]


# By name: the shape of blocks, loops over them, which are none of padding, and the row and column of an element.
BLOCKED = {
    "rows": ("(4, 4, 6)", "io, ii, j", "io * 4 + ii < 14", "io * 4 + ii", "j", "i // 4, i % 4, j"),
    "columns": ("(14, 2, 4)", "i, jo, ji", "4 * jo + ji < 6", "i", "jo * 4 + ji", "i, j // 4, j % 4"),
    "both": (
        "(4, 2, 4, 4)",
        "io, jo, ii, ji",
        "io * 4 + ii < 14 and jo * 4 + ji < 6",
        "io * 4 + ii",
        "jo * 4 + ji",
        "i // 4, j // 4, i % 4, j % 4",
    ),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_a_blocked_product_is_computed_where_it_goes(name: str) -> None:
    shape, loops, guard, row, column, place = BLOCKED[name]
    func = parse(f"""@T.prim_func
def f(A: T.Buffer((14, 10), "float32"), B: T.Buffer((10, 6), "float32"), C: T.Buffer((14, 6), "float32")):
    c = T.alloc_buffer({shape}, "float32")
    for {loops} in T.grid{shape}:
        c[{loops}] = 0.0
        for k in range(10):
            if {guard}:
                c[{loops}] = c[{loops}] + A[{row}, k] * B[k, {column}]
    for i, j in T.grid(14, 6):
        C[i, j] = c[{place}]""").funcs[0]
    best = optimize(func).best
    assert not any(isinstance(s, Alloc | If) for s in walk(best.body)), to_script(best)
    assert_refines(func, best, np.random.default_rng(0), 3)


def _copied(number: int) -> str:
    """A program that computes a local and copies it out, or nearly so."""
    dice = Random(number)
    value = dice.choice((*["X[j, i] * 2.0"] * 5, "Y[i, j]", "H[i, j] + X[i, j]", "Y[7 - i, j] + 1.0"))
    guard = dice.choice((*[""] * 5, "if i < 7:\n            ", "if X[i, j] > 0.0:\n            "))
    step = dice.choice(("H[i, j] = H[i, j] + X[i, k]", "H[i, j] = T.max(H[i, j], X[k, j])", "H[j, i] = H[j, i] - 1.0"))
    more = f"    for k in range(3):\n        for i, j in T.grid(8, 8):\n            {step}\n"
    between = dice.choice((*[""] * 5, "    Y[0, 0] = 3.0\n", "    Z[0, 0] = Y[0, 0]\n", "    Z[0, 0] = H[0, 0]\n"))
    place = dice.choice((*["i, j"] * 3, "j, i", "i, 7 - j", "i + 0, j", "i, i", "i // 2, j", "j, j"))
    rows, columns = dice.choice((*[(8, 8)] * 4, (8, 5), (7, 8)))
    reads = "j, i", "7 - i, j", "i % 4 * 2 + i // 4, j", "i // 2, i % 2 * 4 + j // 2", "i, i"
    read = dice.choice((*["i, j"] * 4, *reads))
    tests = (*[""] * 5, *(f"if {c}:\n            " for c in ("i + j < 8", "i < 6", "j <= i", "X[0, 0] > 0.0")))
    test = dice.choice(tests)
    after = dice.choice((*[""] * 3, "    Y[1, 1] = 2.0\n", "    Z[1, 1] = H[1, 1]\n", "    Z[1, 1] = Y[1, 1]\n"))
    return f"""@T.prim_func
def f(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32"), Z: T.Buffer((8, 8), "float32")):
    H = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        {guard}H[i, j] = {value}
{more if dice.random() < 0.6 else ""}{between}    for i, j in T.grid({rows}, {columns}):
        {test}Y[{place}] = H[{read}]
{after}"""


@pytest.mark.parametrize("number", some([*range(60)], 1))
def test_random_locals_that_are_copied_out(number: int) -> None:
    effects, gone = EffectAnalysis(), 0
    for seed in range(50 * number, 50 * (number + 1)):
        func = parse(_copied(seed)).funcs[0]
        assert isinstance(func.body, Alloc)
        new = without_copy(func.body, effects.of, pb.always())
        rng = np.random.default_rng(seed)
        if new is not None:
            gone += 1
            assert_refines(func, func.__class__(func.name, func.params, new), rng, 4)
        if seed % 8 == 0:
            assert_refines(func, optimize(func).best, rng, 4)
    assert gone > 0
