"""Totals that are worked out twice are copied: of the same terms, in any order and nests."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from ir.floats import Floats
from ir.nodes import Alloc, PrimFunc
from ir.traverse import walk
from profiles import some

HEAD = (
    '@T.prim_func\ndef f(A: T.Buffer((8, 8), "{0}"), x: T.Buffer((64,), "{0}"), s: T.Buffer((8,), "{0}"), '
    'r: T.Buffer((8,), "{0}"), I: T.Buffer((64,), "int32"), M: T.Buffer((8, 8), "bool")):\n'
)
ONE = "s[0] = 0\nfor i in range(64):\n    s[0] = s[0] + x[i]\n"
ROWS = "for q in range(8):\n    s[q] = 0\n    for i in range(8):\n        s[q] = s[q] + A[q, i]\n"
SAME = {
    "in the same order": ONE + "r[0] = 0\nfor i in range(64):\n    r[0] = r[0] + x[i]",
    "in tiles": ONE + "r[0] = 0\nfor i, j in T.grid(16, 4):\n    r[0] = x[i * 4 + j] + r[0]",
    "across": "s[0] = 0\nfor i, j in T.grid(8, 8):\n    s[0] = s[0] + A[i, j]\n"
    "r[0] = 0\nfor i, j in T.grid(8, 8):\n    r[0] = r[0] + A[j, 7 - i]",
    "all rows, of which one is asked for": ROWS + "r[3] = 0\nfor i in range(8):\n    r[3] = r[3] + A[3, i]",
    "under conditions that are other ones, and say the same": "s[0] = 0\nfor i in range(64):\n    if i < 13:\n"
    "        s[0] = s[0] + x[i]\nr[0] = 0\nfor i, j in T.grid(4, 4):\n    if 4 * i + j < 13:\n"
    "        r[0] = r[0] + x[4 * i + j]",
    "under a condition on data": "s[0] = 0\nfor i, j in T.grid(8, 8):\n    if M[i, j]:\n        s[0] = s[0] + A[i, j]\n"
    "r[0] = 0\nfor i, j in T.grid(8, 8):\n    if M[j, i]:\n        r[0] = r[0] + A[j, i]",
    "of an extreme, with some twice": "s[0] = -100\nfor i in range(64):\n    s[0] = T.max(s[0], x[i])\n"
    "r[0] = -100\nfor i in range(100):\n    r[0] = T.max(r[0], x[T.min(i, 63)])",
    "with more to do beside it": ROWS + "for q in range(8):\n    r[q] = 0\n    for i in range(8):\n"
    "        r[q] = r[q] + A[q, i]\n    r[q] = r[q] * 2",
    "of elements that a table names": "for i in range(64):\n    T.assume(0 <= I[i] and I[i] < 64)\n"
    "s[0] = 0\nfor i in range(64):\n    s[0] = s[0] + x[I[i]]\n"
    "r[0] = 0\nfor i in range(64):\n    r[0] = r[0] + x[I[63 - i]]",
    "in a loop": "for q in range(8):\n    s[q] = 0\n    r[q] = 0\n    for i in range(8):\n"
    "        s[q] = s[q] + A[q, i]\n    for i in range(8):\n        r[q] = r[q] + A[q, 7 - i]",
}
OTHERS = {
    "what is read changes": ONE + "x[3] = 1\nr[0] = 0\nfor i in range(64):\n    r[0] = r[0] + x[i]",
    "it is changed": ONE + "s[0] = s[0] + 1\nr[0] = 0\nfor i in range(64):\n    r[0] = r[0] + x[i]",
    "it begins with another number": ONE + "r[0] = 1\nfor i in range(64):\n    r[0] = r[0] + x[i]",
    "a term less": ONE + "r[0] = 0\nfor i in range(63):\n    r[0] = r[0] + x[i]",
    "terms twice": "s[0] = 0\nfor i in range(32):\n    s[0] = s[0] + x[i]\n"
    "r[0] = 0\nfor i in range(64):\n    r[0] = r[0] + x[i // 2]",
    "another operator": ONE + "r[0] = 0\nfor i in range(64):\n    r[0] = T.max(r[0], x[i])",
    "a condition on other data": "s[0] = 0\nfor i, j in T.grid(8, 8):\n    if M[i, j]:\n        s[0] = s[0] + A[i, j]\n"
    "r[0] = 0\nfor i, j in T.grid(8, 8):\n    if M[j, i]:\n        r[0] = r[0] + A[i, j]",
    "sums of rows, which others are set to in between": "for q in range(8):\n    s[q] = 0\n    s[7 - q] = 0\n"
    "    for i in range(8):\n        s[q] = s[q] + A[q, i]\n"
    "for q in range(8):\n    r[q] = 0\n    for i in range(8):\n        r[q] = r[q] + A[q, i]",
    "of elements that another part of a table names": "for i in range(64):\n    T.assume(0 <= I[i] and I[i] < 64)\n"
    "s[0] = 0\nfor i in range(32):\n    s[0] = s[0] + x[I[i]]\n"
    "r[0] = 0\nfor i in range(32):\n    r[0] = r[0] + x[I[63 - i]]",
    "sums of columns": ROWS + "for q in range(8):\n    r[q] = 0\n    for i in range(8):\n        r[q] = r[q] + A[i, q]",
    "looked at before it is done": ONE + "r[0] = 0\nfor i in range(64):\n    r[0] = r[0] + x[i]\n"
    "    A[i // 8, i % 8] = r[0]",
}  # fmt: skip


TOGETHER = {
    "in one loop": "s[0] = 0\nr[0] = 0\nfor i in range(64):\n    s[0] = s[0] + x[i]\n    r[0] = r[0] + x[63 - i]",
    "of rows": "for q in range(8):\n    s[q] = 0\n    r[q] = 0\n    for i in range(8):\n"
    "        s[q] = s[q] + A[q, i]\n        r[q] = r[q] + A[q, i]",
    "under one condition": "s[0] = 0\nr[0] = 0\nfor i, j in T.grid(8, 8):\n    if M[i, j]:\n"
    "        s[0] = s[0] + A[i, j]\n        r[0] = r[0] + A[i, j]",
    "with another store": "s[0] = 0\nfor i in range(8):\n    s[0] = s[0] + x[i]\nr[0] = 0\nfor i in range(8):\n"
    "    r[0] = r[0] + x[i]\n    A[0, i] = x[i] + 1",
}
APART = {
    "looked at on the way": "s[0] = 0\nr[0] = 0\nfor i in range(64):\n    s[0] = s[0] + x[i]\n"
    "    r[0] = r[0] + x[i]\n    A[i // 8, i % 8] = r[0] * 2",
    "changed on the way": "s[0] = 0\nr[0] = 0\nfor i in range(8):\n    s[0] = s[0] + A[i, 0]\n    A[i, 0] = 1\n"
    "    r[0] = r[0] + A[i, 0]",
    "set on the way": "s[0] = 0\nr[0] = 0\nfor i in range(64):\n    s[0] = s[0] + x[i]\n    r[0] = r[0] + x[i]\n"
    "    if i == 5:\n        r[0] = 1",
    "of another row": "for q in range(8):\n    s[7 - q] = 0\n    r[q] = 0\n    for i in range(8):\n"
    "        s[7 - q] = s[7 - q] + A[7 - q, i]\n        r[q] = r[q] + A[q, i]",
}


def _func(body: str, dtype: str) -> PrimFunc:
    known = "" if dtype == "float32" else (
        "for i, j in T.grid(8, 8):\n    T.assume(-100 < A[i, j] and A[i, j] < 100)\n"
        "for i in range(64):\n    T.assume(-100 < x[i] and x[i] < 100)\n"
    )  # fmt: skip
    lines = (known + body).splitlines()
    return parse(HEAD.format(dtype) + "\n".join("    " + line for line in lines) + "\n").funcs[0]


@pytest.mark.parametrize("body", some(SAME.values(), 0.5), ids=[*SAME])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_totals_are_copied(body: str, dtype: str) -> None:
    func = _func(body, dtype)
    best = optimize(func).best
    text = to_script(best)
    assert "= s[" in text and text.count("for") < to_script(func).count("for"), text
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("body", some(OTHERS.values(), 0.5), ids=[*OTHERS])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_other_totals_are_not(body: str, dtype: str) -> None:
    func = _func(body, dtype)
    best = optimize(func).best
    assert not any(line.strip().startswith("r[") and "= s[" in line for line in to_script(best).splitlines()), best
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("body", TOGETHER.values(), ids=[*TOGETHER])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_totals_of_one_nest_are_one(body: str, dtype: str) -> None:
    func = _func(body, dtype)
    best = optimize(func).best
    assert len(re.findall(r"([rs]\[\w+\]) = \1 \+", to_script(best))) == 1, best
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("body", APART.values(), ids=[*APART])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_totals_of_one_nest_that_are_others(body: str, dtype: str) -> None:
    func = _func(body, dtype)
    best = optimize(func).best
    assert not any(line.strip().startswith("r[") and "= s[" in line for line in to_script(best).splitlines()), best
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


# By name: a total that another one takes in, and one that is not made of its terms.
PARTIAL = {
    "tiles": ("for i in range(8):", "t[q]", "x[q * 8 + i]", "s[0] = s[0] + t[q]"),
    "tiles with a tail": ("for i in range(8):", "t[q]", "x[q * 8 + i]", "if q < 7:\n        s[0] = s[0] + t[q]"),
    "rows of rows": ("for i in range(q + 1):", "t[q]", "A[q, i]", "s[0] = t[q] + s[0]"),
    "from the end": ("for i in range(8):", "t[q]", "A[q, i]", "s[0] = s[0] + t[7 - q]"),
}
WHOLE = {
    "of half of the tiles": ("for i in range(8):", "t[q // 2]", "x[q * 8 + i]", "s[0] = s[0] + t[q]"),
    "taken in many times": ("for i in range(8):", "t[q]", "A[q, i]", "s[0] = s[0] + t[0]"),
    "with a factor": ("for i in range(8):", "t[q]", "A[q, i]", "s[0] = s[0] + t[q] * 2"),
    "by another operator": ("for i in range(8):", "t[q]", "A[q, i]", "s[0] = T.max(s[0], t[q])"),
}


def _partial(loop: str, total: str, term: str, last: str) -> str:
    return (
        't = T.alloc_buffer((8,), "{0}")\ns[0] = 0\n'
        f"for q in range(8):\n    t[q] = 0\nfor q in range(8):\n    {loop}\n        {total} = {total} + {term}\n"
        f"for q in range(8):\n    {last}"
    )


@pytest.mark.parametrize("case", PARTIAL.values(), ids=[*PARTIAL])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_totals_of_totals_take_in_the_terms(case: tuple[str, str, str, str], dtype: str) -> None:
    func = _func(_partial(*case).format(dtype), dtype)
    best = optimize(func).best
    assert not any(isinstance(s, Alloc) for s in walk(best.body)), to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("case", WHOLE.values(), ids=[*WHOLE])
def test_totals_that_others_do_not_take_in_stay(case: tuple[str, str, str, str]) -> None:
    func = _func(_partial(*case).format("float32"), "float32")
    best = optimize(func).best
    assert any(isinstance(s, Alloc) for s in walk(best.body)), to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


def test_sums_that_might_overflow_on_the_way_stay() -> None:
    """2**31 - 1 and its negative are 0 as a tile, and beyond the range after a 1."""
    tiles = _partial(*PARTIAL["tiles"]).format("int32")
    func = parse(HEAD.format("int32") + "\n".join("    " + line for line in tiles.splitlines()) + "\n").funcs[0]
    assert any(isinstance(s, Alloc) for s in walk(optimize(func).best.body))


def test_totals_of_other_shapes_are_others() -> None:
    func = _func(
        't = T.alloc_buffer((8, 2), "float32")\nfor q, o in T.grid(8, 2):\n    t[q, o] = 0\n    for i in range(4):\n'
        "        t[q, o] = t[q, o] + A[q, o * 4 + i]\n"
        "for q in range(8):\n    s[q] = 0\n    for i in range(8):\n        s[q] = s[q] + A[q, i]\n"
        "for q in range(8):\n    r[q] = t[q, 0] * t[q, 1]",
        "float32",
    )
    assert assert_refines(func, optimize(func).best, np.random.default_rng(0)) > 0


def test_floats_are_taken_in_in_another_order_only_if_granted() -> None:
    func = _func(SAME["in tiles"], "float32")
    assert "r[0] = s[0]" not in to_script(optimize(func, floats=Floats.FINITE).best)
    assert "r[0] = s[0]" in to_script(optimize(func, floats=Floats.REASSOCIATE | Floats.FINITE).best)
