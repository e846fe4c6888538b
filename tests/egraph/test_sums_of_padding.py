"""Sums over padding: what a stage leaves where it adds zeros only is known to the next one, which needs no guard then.

Stages are written in several ways; a stage that leaves something else in some of these places keeps its reader's guard.
"""

from __future__ import annotations

from random import Random
from textwrap import indent

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import PrimFunc, parse, to_script
from ir.dtypes import DType
from ir.nodes import Const, For, If, Select
from ir.traverse import all_exprs, walk
from profiles import some

PARAMS = """X: T.Buffer((3, 5, 4), "float32"), W: T.Buffer((4, 6), "float32"), b: T.Buffer((6,), "float32"),
      n: T.Buffer((3,), "int32"), Y: T.Buffer((3, 6), "float32"), Z: T.Buffer((3, 5, 6), "float32")"""
COLUMNS = "for k, j in T.grid(4, 6):\n    T.assume(j < 5 or W[k, j] == 0.0)"
BIAS = f"{COLUMNS}\nfor j in range(6):\n    T.assume(j < 5 or b[j] == 0.0)"
ROWS = """for r in range(3):
    T.assume(0 <= n[r] and n[r] <= 5)
for r, t, k in T.grid(3, 5, 4):
    T.assume(t < n[r] or X[r, t, k] == 0.0)"""
SUMS = {
    "in one nest": "for r, t, j in T.grid(3, 5, 6):\n    H[r, t, j] = {first}\n    for k in range(4):\n        {step}",
    "started before": "for r, t, j in T.grid(3, 5, 6):\n    H[r, t, j] = {first}\n"
    "for k, r, j, t in T.grid(4, 3, 6, 5):\n    {step}",
    "by a name": "for r, t, j in T.grid(3, 5, 6):\n    H[r, t, j] = {first}\n    for k in range(4):\n"
    "        w = W[k, j]\n        H[r, t, j] += X[r, t, k] * w",
    "in a local": "for r, t, j in T.grid(3, 5, 6):\n    a = T.alloc_buffer((1,), 'float32')\n    a[0] = {first}\n"
    "    for k in range(4):\n        a[0] += X[r, t, k] * W[k, j]\n    H[r, t, j] = a[0] * 2.0",
    "the greatest": "for r, t, j in T.grid(3, 5, 6):\n    H[r, t, j] = {first}\n    for k in range(4):\n"
    "        H[r, t, j] = T.max(H[r, t, j], X[r, t, k] * W[k, j])",
}  # fmt: skip
STEP = "H[r, t, j] += X[r, t, k] * W[k, j]"
READER = """for r, j in T.grid(3, 6):
    Y[r, j] = 0.0
for r, t, j in T.grid(3, 5, 6):
    if {cond}:
        Y[r, j] += T.max(H[r, t, j], 0.0)"""


def program(*parts: str) -> PrimFunc:
    body = "\n".join(['H = T.alloc_buffer((3, 5, 6), "float32")', *parts])
    return parse(f"@T.prim_func\ndef f({PARAMS}):\n{indent(body, '    ')}\n").funcs[0]


def guards(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body)) + sum(isinstance(e, Select) for e in all_exprs(func.body))


TOLD = {"columns": (COLUMNS, "0.0", "j < 5"), "bias": (BIAS, "b[j]", "j < 5"), "rows": (ROWS, "0.0", "t < n[r]")}


@pytest.mark.parametrize(("sums", "padding"), some([(s, t) for s in SUMS for t in TOLD], 1))
def test_readers_of_sums_over_padding_need_no_guard(sums: str, padding: str) -> None:
    told, first, cond = TOLD[padding]
    func = program(told, SUMS[sums].format(first=first, step=STEP), READER.format(cond=cond))
    best = optimize(func).best
    assert guards(best) == 0, to_script(best)
    assert_refines(func, best, np.random.default_rng(0), runs=2)


NEAR = {
    "one row of the factor is not zero": (COLUMNS.replace("j < 5", "j < 5 or k == 2"), STEP, "", "j < 5"),
    "the factor of another column": (COLUMNS, STEP.replace("W[k, j]", "W[k, (j + 1) % 6]"), "", "j < 5"),
    "stored to afterwards": (COLUMNS, STEP, "for r, t in T.grid(3, 5):\n    H[r, t, 5] = X[r, t, 0]", "j < 5"),
    "rows of another length": (ROWS, STEP.replace("X[r", "X[2 - r"), "", "t < n[r]"),
    "lengths change": (ROWS, STEP, "for r in range(3):\n    n[r] = T.max(n[r] - 1, 0)", "t < n[r]"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(NEAR, 0.2))
def test_sums_over_more_than_padding_matter(name: str) -> None:
    told, step, after, cond = NEAR[name]
    func = program(told, SUMS["in one nest"].format(first="0.0", step=step), after, READER.format(cond=cond))
    best = optimize(func).best
    shorter = any(
        isinstance(s, For) and s.var.name == "j" and s.extent.same(Const(5, DType.INT32)) for s in walk(best.body)
    )
    assert guards(best) > 0 or shorter, to_script(best)
    assert_refines(func, best, np.random.default_rng(1), runs=3)


def test_iterations_that_add_nothing_say_nothing_of_those_before() -> None:
    func = program(
        "for k, j in T.grid(4, 6):\n    T.assume(k < 2 or W[k, j] == 0.0)",
        "for j in range(6):\n    H[0, 0, j] = 0.0",
        "for k in range(4):\n    for j in range(6):\n        if k >= 2:\n            Z[0, k, j] = H[0, 0, j]\n"
        "        else:\n            Z[0, k, j] = 3.0\n    for j in range(6):\n        H[0, 0, j] += W[k, j]",
    )
    assert_refines(func, optimize(func).best, np.random.default_rng(2))


REGIONS = (
    "i >= 3", "k >= 2", "i + k >= 5", "i < 2", "k == 1", "i == 2 or k < 1", "i >= k + 2", "k >= n[i]", "i >= m[k]",
)  # fmt: skip
STARTS = ("0", "0", "1", "T.Select(i < 3, x[0, i], 0)")
STEPS = (
    "h[i] += w[k, i]", "h[i] += x[k, i] * w[k, i]", "h[i] = T.max(h[i], w[k, i])", "h[i] = h[i] - w[k, i] * 2",
    "h[i] += x[k, i] * w[k, (i + 1) % 5]", "t = w[k, i]\nh[i] += t * x[k, i]", "h[4 - i] += w[k, i]",
    "h[i] = h[i] ^ w[k, i]", "if k < 3:\n    h[i] += w[k, i]", "h[i] = h[i] * (1 + w[k, i])",
)  # fmt: skip
BETWEEN = ("", "", "h[2] = 3", "h[i] = T.max(h[i], 0)", "n[i] = T.max(n[i] - 1, 0)", "h[i] = h[i] + x[0, i]")
GUARDS = ("i < 3", "k >= 2", "i + k < 5", "k < n[i]", "i < m[k]", "i != 2")


def random_program(number: int) -> str:
    """Sums over what is zero in a region, and guarded readers in another loop or in the one that adds."""
    dice = Random(number)

    def loops(head: str, *parts: str) -> str:
        return "\n".join([f"for {head}:", *(indent(part, "    ") for part in parts if part)])

    start, step = f"h[i] = {dice.choice(STARTS)}", dice.choice(STEPS)
    read = dice.choice(("h[i]", "h[4 - i]", "T.max(h[i], 0)", "h[i] + w[0, i]", "y[k, i] + h[i]"))
    other = dice.choice(("", f"else:\n    y[k, i] = {dice.choice((0, 0, 7))}"))
    reader = f"if {dice.choice(GUARDS)}:\n    y[k, i] = {read}\n{other}".rstrip()
    each, adds, reads = "i in range(5)", loops("i in range(5)", step), loops("i in range(5)", reader)
    form = dice.randrange(4)
    if form == 0:
        body = [
            loops(each, start),
            loops("k in range(4)", *dice.choice(((reads, adds), (adds, reads), (adds, reads, adds)))),
        ]
    elif form == 1:
        body = [loops("k in range(4)", loops(each, start), adds, reads)]
    else:
        nest = [loops(each, start), loops(dice.choice(("k, i in T.grid(4, 5)", "i, k in T.grid(5, 4)")), step)]
        between = dice.choice(BETWEEN)
        body = nest if form == 2 else [loops(each, start, loops("k in range(4)", step))]
        body += [loops(each, between)] if between else []
        body += [loops("k, i in T.grid(4, 5)", reader)]
    told = [
        loops(each, "T.assume(0 <= n[i] and n[i] <= 4)"),
        loops("k in range(4)", "T.assume(0 <= m[k] and m[k] <= 5)"),
        loops(
            "k, i in T.grid(4, 5)", f"T.assume(not ({dice.choice(REGIONS)}) or w[k, i] == {dice.choice((0, 0, 0, 1))})"
        ),
        loops("k, i in T.grid(4, 5)", "T.assume(T.abs(w[k, i]) < 9 and T.abs(x[k, i]) < 9)"),
    ]
    arrays = ", ".join(f'{name}: T.Buffer((4, 5), "int32")' for name in "xwy")
    params = f'{arrays}, n: T.Buffer((5,), "int32"), m: T.Buffer((4,), "int32")'
    text = "\n".join(['h = T.alloc_buffer((5,), "int32")', *told, *body])
    return f"@T.prim_func\ndef f({params}):\n{indent(text, '    ')}\n"


@pytest.mark.parametrize("number", some(range(600), 2))
def test_random_sums(number: int) -> None:
    func = parse(random_program(number)).funcs[0]
    best = optimize(func, target=("cpu", "tpu")[number % 2]).best
    assert assert_refines(func, best, np.random.default_rng(number)) > 0
