"""Elements that are stored under conditions on data, over a number that they held before, and what is read of them.

A program fills an array, stores to parts of it once or twice, and reduces its rows under a guard. Whether the guard
goes depends on which elements the stores leave alone: whatever the search makes of it, results are those of the source.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import loopsat
from compare import assert_refines
from ir import parse
from profiles import some

PLACES = ("b, i", "b, i", "b, i", "b, i", "i, b", "b, (i + 1) % 5", "b, 0", "0, i", "b, i // 2", "3 - b, i", "b, 4 - i")
FILLS = (
    "for b, i in T.grid(4, 5):\n    Z[b, i] = {v}",
    "for b, i in T.grid(4, 5):\n    Z[b, i] = {v}",
    "for b in range(4):\n    for i in range(1, 5):\n        Z[b, i] = {v}",
)
NESTED = """for b, i in T.grid(4, 5):
    if {bi}:
        for k in range(2):
            if {bik}:
                Z[{p}] = {e}
        Z[{p}] = X[b, i]"""
STORES = (
    "for b, i in T.grid(4, 5):\n    if {bi}:\n        Z[{p}] = {e}",
    "for b in range(4):\n    for i in range(n[b]):\n        Z[{p}] = {e}",
    "for b, i, k in T.grid(4, 5, 2):\n    if {bik}:\n        Z[{p}] = {e}",
    NESTED,
    "for b, i in T.grid(4, 5):\n    if {bi}:\n        Z[{p}] = {e}\n    else:\n        Z[{p}] = Z[{p}] + 1.0",
    "for b in range(4):\n    n[b] = (n[b] + 1) % 5",
)
VALUES = ("X[b, i]", "X[b, i] + 1.0", "Z[b, i] * 2.0")
REDUCTIONS = (
    ("0.0", "Y[b] = Y[b] + Z[b, i]"),
    ("-100.0", "Y[b] = T.max(Y[b], Z[b, i])"),
    ("0.0", "Y[b] = Y[b] + T.max(Z[b, i], 0.0)"),
    ("1.0", "Y[b] = Y[b] * Z[b, i]"),
)


def condition(dice: Random, names: str) -> str:
    """A condition on data and on loop variables."""
    a, b, c = (dice.choice(names) for _ in range(3))
    first = dice.choice(
        (f"{a} < n[{b} % 4]", f"n[{a} % 4] > {b}", f"{a} + {b} != n[0]", "m[0] > 2", f"{a} >= n[{b} % 4]")
    )
    return first if dice.random() < 0.75 else f"{first} {dice.choice(('and', 'or'))} {c} < {dice.randint(1, 4)}"


def program(number: int) -> str:
    """The source of one of the programs."""
    dice = Random(number)
    local = dice.random() < 0.4
    nests = [dice.choice(FILLS).format(v=dice.choice(("0.0", "1.0", "-1.0")))]
    for _ in range(dice.randint(1, 2)):
        fields = {"bi": condition(dice, "bi"), "bik": condition(dice, "bik"), "p": dice.choice(PLACES)}
        nests.append(dice.choice(STORES).format(e=dice.choice(VALUES if not local else VALUES[:2]), **fields))
    first, step = dice.choice(REDUCTIONS)
    rows = f"    Y[b] = {first}\n    for i in range(5):\n        if {condition(dice, 'bi')}:\n            {step}"
    given = "for b in range(4):\n    T.assume(0 <= n[b] and n[b] <= 5)"
    whole = "\n".join((['Z = T.alloc_buffer((4, 5), "float32")'] if local else []) + [given, *nests])
    lines = f"{whole}\nfor b in range(4):\n{rows}".splitlines()
    buffers = ["X: (4, 5) float32", "n: (4,) int32", "m: (1,) int32", *([] if local else ["Z: (4, 5) float32"])]
    params = [f'{b.split(": ")[0]}: T.Buffer({b.split(": ")[1].rsplit(" ", 1)[0]}, "{b.split()[-1]}")' for b in buffers]
    signature = ", ".join([*params, 'Y: T.Buffer((4,), "float32")'])
    return f"@T.prim_func\ndef f({signature}):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


@pytest.mark.parametrize("number", some([*range(1500)], 1))
def test_rows_are_what_the_source_makes_them(number: int) -> None:
    func = parse(program(number)).funcs[0]
    assert_refines(func, loopsat.optimize(func).best, np.random.default_rng(number), 4)


PARTS = ("for b in range(4):\n    for i in range({low}, {high}):\n        {store}",
         "for b, i in T.grid(4, 5):\n    if {low} <= i and i < {high}:\n        {store}",
         "for b, i in T.grid(4, 5):\n    if {low} <= i:\n        if i < {high}:\n            {store}",
         "for b, i in T.grid(4, 5):\n    {store}")  # fmt: skip
ENDS = ("0", "0", "n[b]", "n[b]", "n[b]", "5", "m[0]", "T.min(n[b], 3)", "n[0]", "n[b] - 1", "n[3 - b]")


def _in_parts(number: int) -> str:
    """A local whose rows are stored in parts that data bound, some of them with what they held before, and read."""
    dice = Random(number)
    nests = []
    for k in range(dice.randint(2, 4)):
        end = dice.choice(ENDS)
        low, high = dice.choice((("0", end), (end, "5"), (end, dice.choice(ENDS))))
        value = dice.choice(("X[b, i]", "X[b, i] * 2.0", "0.0", "1.0", "X[3 - b, i]", "T.undef()", "Z[b, i] + 1.0"))
        place = dice.choice(("b, i", "b, i", "b, i", "b, i", "b, 4 - i", "3 - b, i", "b, i // 2", "b, T.max(i - 1, 0)"))
        part = dice.choice(PARTS) if k else PARTS[dice.choice((0, 1, 3, 3))]
        store = f"Z[{place}] = {value if k else dice.choice(('X[b, i]', 'X[b, i] + 3.0', '0.0'))}"
        nests.append(part.format(low=low, high=high, store=store))
        if dice.random() < 0.1:
            nests.append(dice.choice(("X[1, 2] = 7.0", "n[2] = 1", "Z[0, 0] = 5.0")))
    guard = dice.choice(("i < n[b]", "i >= n[b]", "i < 5", "i < 5", f"i < {dice.choice(ENDS)}"))
    given = "for b in range(4):\n    T.assume(0 <= n[b] and n[b] <= 5)\nT.assume(0 <= m[0] and m[0] <= 5)"
    local = ['Z = T.alloc_buffer((4, 5), "float32")'] if dice.random() < 0.7 else []
    read = f"for b, i in T.grid(4, 5):\n    if {guard}:\n        {dice.choice(('Y[b] += Z[b, i]', 'Y[b] = Z[b, i]'))}"
    lines = "\n".join((*local, given, *nests, read)).splitlines()
    types = 'X: T.Buffer((4, 5), "float32"), n: T.Buffer((4,), "int32"), m: T.Buffer((1,), "int32")'
    types += ', Y: T.Buffer((4,), "float32")' + ("" if local else ', Z: T.Buffer((4, 5), "float32")')
    return f"@T.prim_func\ndef f({types}):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


@pytest.mark.parametrize("number", some([*range(2000)], 2))
def test_rows_that_are_stored_in_parts_are_read_as_they_are(number: int) -> None:
    func = parse(_in_parts(number)).funcs[0]
    assert_refines(func, loopsat.optimize(func).best, np.random.default_rng(number), 4)


LEFT = ("t >= L[b]", "t >= 8 - L[b]", "t > n", "t < L[b]", "2 * t >= n", "t * n >= 4", "t + b >= n",
        "t >= L[b] and t >= n", "not (t < L[b])", "t % 2 == 1", "t >= L[0]")  # fmt: skip
STEPS = ("S[b] * 2 + A[b, t]", "S[b] * 3 - A[b, t]", "T.max(S[b] - 1, A[b, t])", "S[b] + A[b, t] * A[b, t]", "A[b, t]")


def _begun_late(number: int) -> str:
    """A recurrence that begins where data say, or does not begin once for all, and reads padding before that."""
    dice = Random(number)
    cond, number = dice.choice(LEFT), dice.choice((0, 0, 0, 1, -1))
    padded = dice.choice((cond, cond, cond, "t >= 2"))
    loops = dice.choice(("for b in range(4):\n for t in range(8):", "for t in range(8):\n for b in range(4):"))
    extra = dice.choice(("", "", "", "  S[0] = 5", "  L[1] = t"))
    lines = f"""for b, t in T.grid(4, 8):
 T.assume(-3 <= L[b] and L[b] <= 9 and -2 <= A[b, t] and A[b, t] <= 2 and ({padded} or A[b, t] == {number}))
for b in range(4):
 S[b] = {dice.choice((0, 0, 0, 1, number))}
{loops}
  if {cond}:
   S[b] = {dice.choice(STEPS)}
{extra}"""
    types = 'A: T.Buffer((4, 8), "int32"), S: T.Buffer((4,), "int32"), L: T.Buffer((4,), "int32"), n: T.int32'
    return f"@T.prim_func\ndef f({types}):\n" + "\n".join(f" {line}" for line in lines.splitlines()) + "\n"


@pytest.mark.parametrize("order", ["t, b in T.grid(8, 4)", "b, t in T.grid(4, 8)"])
@pytest.mark.parametrize("guard", ["t < L[b]", "t >= L[b]"])
def test_a_recurrence_that_data_end_is_not_where_it_began(guard: str, order: str) -> None:
    """Elements read as zero where a guard fails, which leaves `3 * 0` as it is, before the first step and not after."""
    text = f"""
@T.prim_func
def f(A: T.Buffer((4, 8), "int32"), S: T.Buffer((4,), "int32"), L: T.Buffer((4,), "int32")):
    for b, t in T.grid(4, 8):
        T.assume(-2 <= A[b, t] and A[b, t] <= 2 and ({guard} or A[b, t] == 0))
    for b in T.serial(4):
        S[b] = 0
    for {order}:
        if {guard}:
            S[b] = S[b] * 3 - A[b, t]
"""
    func = parse(text).funcs[0]
    best = loopsat.optimize(func).best
    assert_refines(func, best, np.random.default_rng(0), 8)
    assert ("if " in str(best)) is (guard == "t < L[b]")


@pytest.mark.parametrize("number", some([*range(1500)], 2))
def test_recurrences_begin_where_the_source_begins_them(number: int) -> None:
    func = parse(_begun_late(number)).funcs[0]
    assert_refines(func, loopsat.optimize(func).best, np.random.default_rng(number), 4)
