"""Locals with rows of different lengths, at places that are polynomials, are as well known as any other."""

from __future__ import annotations

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from ir.nodes import Alloc, If, PrimFunc
from ir.transform.storage.delinearize import delinearized
from ir.traverse import walk

HEAD = '@T.prim_func\ndef f(X: T.Buffer((6, 6), "int32"), Y: T.Buffer((6, 6), "int32"), s: T.Buffer((6,), "int32")):\n'
LOCAL = 't = T.alloc_buffer(({},), "int32")\n'
FILL = "for i in range(6):\n    for j in range(i + 1):\n        t[{}] = X[i, j] - 1\n"
READ = "for i in range(6):\n    for j in range(i + 1):\n        Y[i, j] = t[{}]\n"
LOWER = "i * (i + 1) // 2 + j"
NEXT = "(i + 1) * (i + 2) // 2 + j"
BACK = "(5 - i) * (6 - i) // 2 + 5 - i - j"
UPPER = "6 * i - i * (i - 1) // 2 + j - i"
STRICT = "i * (i - 1) // 2 + j"
UPWARD = "for i in range(6):\n    for j in range(i, 6):\n        Y[j, i] = t[{}]\n"
SQUARES = "for i in range(6):\n    for j in range(2 * i + 1):\n        {} = {}\n"
SYMMETRIC = (
    "for i, j in T.grid(6, 6):\n"
    "    Y[i, j] = T.if_then_else(j <= i, t[i * (i + 1) // 2 + j], t[j * (j + 1) // 2 + i])\n"
)
COLUMNS = (
    "for j in range(6):\n    s[j] = 0\n    for i in range(6):\n"
    "        if j <= i:\n            s[j] = s[j] + t[i * (i + 1) // 2 + j]\n"
)
# How packed rows are stored and read.
PLACES = {
    "a triangle": (21, FILL.format(LOWER) + READ.format(LOWER)),
    "in another way": (21, FILL.format("(i + 1) * i // 2 + j") + READ.format("j + (i * i + i) // 2")),
    "the row after": (21, FILL.format(LOWER) + READ.replace("range(6)", "range(5)").format(NEXT)),
    "from the end": (21, FILL.replace("range(i + 1)", "range(6 - i)").format(BACK) + READ.format(LOWER)),
    "the upper one": (21, FILL.replace("range(i + 1)", "range(i, 6)").format(UPPER) + UPWARD.format(UPPER)),
    "without the diagonal": (15, (FILL.format(STRICT) + READ.format(STRICT)).replace("i + 1)", "i)")),
    "squares": (36, SQUARES.format("t[i * i + j]", "X[i, j // 2]") + SQUARES.format("Y[i, j // 2]", "t[i * i + j]")),
    "the diagonal": (21, FILL.format(LOWER) + "for i in range(6):\n    s[i] = t[i * (i + 1) // 2 + i]\n"),
    "symmetric": (21, FILL.format(LOWER) + SYMMETRIC),
    "by columns": (21, FILL.format(LOWER) + COLUMNS),
}
# What has no rows that are apart.
OTHERS = {
    "rows that overlap": (22, FILL.format(STRICT) + READ.format(STRICT)),
    "a quotient that is rounded": (21, FILL.format("i * i // 2 + j") + READ.format("i * i // 2 + j")),
    "read in turn": (21, FILL.format(LOWER) + "s[0] = 0\nfor k in range(21):\n    s[0] = s[0] + t[k]\n"),
    "of other lengths": (36, FILL.format(LOWER) + READ.format("i * i + j")),
    "beyond its end": (20, FILL.replace("range(6)", "range(5)").format(LOWER) + READ.format(LOWER)),
}


def _read(size: int, body: str) -> PrimFunc:
    assumed = "for i, j in T.grid(6, 6):\n    T.assume(-9 < X[i, j] and X[i, j] < 9)\n"
    lines = (assumed + LOCAL.format(size) + body).splitlines()
    return parse(HEAD + "".join(f"    {line}\n" for line in lines)).funcs[0]


def _locals(func: PrimFunc) -> list[Alloc]:
    return [s for s in walk(func.body) if isinstance(s, Alloc)]


@pytest.mark.parametrize("name", PLACES)
def test_packed_rows_need_no_buffer(name: str) -> None:
    func = _read(*PLACES[name])
    best = optimize(func).best
    assert not _locals(best), to_script(best)
    assert_refines(func, best, np.random.default_rng(0), 3)


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_rows_stays_as_it_is(name: str) -> None:
    func = _read(*OTHERS[name])
    assert delinearized(_locals(func)[0]) is None


def test_padding_of_packed_rows_is_known() -> None:
    func = _read(21, "for i in range(6):\n    for j in range(i + 1):\n        t[i * (i + 1) // 2 + j] = 0\n"
                 "for i in range(6):\n    for j in range(i):\n        t[i * (i + 1) // 2 + j] = X[i, j]\n"
                 "s[0] = 0\nfor i in range(6):\n    for j in range(i + 1):\n        if j < i:\n"
                 "            s[0] = s[0] + t[i * (i + 1) // 2 + j]\n")  # fmt: skip
    best = optimize(func).best
    assert not any(isinstance(s, If | Alloc) for s in walk(best.body)), to_script(best)
    assert_refines(func, best, np.random.default_rng(0), 3)
