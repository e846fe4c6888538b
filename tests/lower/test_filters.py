"""Filters: past values in variables, steps along rows, elements that continue several before them."""

# ruff: noqa: E501, ISC004
from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from ir import PrimFunc
from ir.semantics.inputs import random_inputs
from lower.runtime.kernel import Kernel
from lowered import assert_agrees, kernel_of, read
from profiles import few, some

EAGER = replace(CPU, name="eager", scalar=1e3, function=0, written_out=1)  # as if vectors were longer
COPYING = replace(CPU, function_apart=1.0)  # as if no cache kept what lies beside an element
VECTORS = ", ".join(f'{name}: T.Buffer((150,), "float32")' for name in "AB")
TABLES = ", ".join(f'{name}: T.Buffer((40, 60), "float32")' for name in "AB")
LAST = 'p = T.alloc_buffer((1,), "float32")\nq = T.alloc_buffer((1,), "float32")\n'
ZERO = "p[0] = 0.0\nq[0] = 0.0\n"


def check(
    func: PrimFunc, tolerance: float = 1e-4, inputs: dict[str, np.ndarray] | None = None, target: Target = CPU
) -> Kernel:
    """The kernel, after a comparison with the interpreter."""
    inputs = random_inputs(func, np.random.default_rng(0)) if inputs is None else inputs
    kernel = kernel_of(func, target)
    assert_agrees(func, kernel, inputs, tolerance)
    return kernel


def loops(kernel: Kernel) -> int:
    return sum("stays a loop" in line for line in kernel.report)


def orders(kernel: Kernel) -> list[int]:
    """Of the filters that statements became."""
    return [int(line.split("filter of order ")[1].split()[0]) for line in kernel.report if "filter of order" in line]


FILTERS = {
    "first order": ([1], VECTORS + ', c: T.Buffer((1,), "float32")', "for i in T.serial(1, 150):\n    B[i] = A[i] + 0.5 * c[0] * B[i - 1]"),
    "second order": ([2], VECTORS, "for i in T.serial(2, 150):\n    B[i] = A[i] - A[i - 1] + 0.9 * B[i - 1] - 0.5 * B[i - 2]"),
    "third order": (
        [3], VECTORS, "for i in T.serial(3, 150):\n    B[i] = 0.5 * B[i - 1] + (A[i] - B[i - 2]) * 0.25 + 0.1 * B[i - 3]",
    ),
    "a lag is missing": ([2], VECTORS, "for i in T.serial(2, 150):\n    B[i] = A[i] - 0.5 * B[i - 2]"),
    "backward": ([2], VECTORS, "for i in T.serial(148):\n    B[147 - i] = A[i] + 0.4 * B[148 - i] - 0.3 * B[149 - i]"),
    "in place": ([2], VECTORS, "for i in T.serial(2, 150):\n    B[i] = B[i] + 0.4 * B[i - 1] - 0.3 * B[i - 2]"),
    "reads ahead": ([2], VECTORS, "for i in T.serial(2, 149):\n    B[i] = B[i + 1] + 0.4 * B[i - 1] - 0.3 * B[i - 2]"),
    "grows": ([2], VECTORS, "for i in T.serial(2, 40):\n    B[i] = A[i] + 1.5 * B[i - 1] + B[i - 2]"),
    "there and back": (
        [1, 1], VECTORS + ", a: T.float32",
        "for i in T.serial(1, 150):\n    A[i] = A[i - 1] + 0.1 * a * (A[i] - A[i - 1])\n"
        "for i in T.serial(1, 150):\n    A[149 - i] = A[150 - i] + 0.1 * a * (A[149 - i] - A[150 - i])",
    ),
    "side by side": (
        [2], 'A: T.Buffer((3, 150), "float32"), B: T.Buffer((3, 150), "float32")',
        "for r in range(3):\n    for i in T.serial(2, 150):\n        B[r, i] = A[r, i] + 0.4 * B[r, i - 1] - 0.3 * B[r, i - 2]",
    ),
    "side by side along the first axis": (
        [2], 'A: T.Buffer((150, 3), "float32"), B: T.Buffer((150, 3), "float32")',
        "for i in T.serial(2, 150):\n    for r in range(3):\n        B[i, r] = A[i, r] + 0.4 * B[i - 1, r] - 0.3 * B[i - 2, r]",
    ),
    "last values in variables": (
        [2], VECTORS,
        LAST + ZERO + "for i in T.serial(150):\n    B[i] = A[i] + 0.9 * p[0] - 0.5 * q[0]\n    q[0] = p[0]\n    p[0] = B[i]",
    ),
    "a name for the new value": (
        [2], VECTORS,
        LAST + ZERO + "for i in T.serial(150):\n    new = A[i] + 0.9 * p[0] - 0.5 * q[0]\n    B[i] = new\n"
        "    q[0] = p[0]\n    p[0] = new",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(FILTERS, 2))
def test_filters_run_in_blocks(name: str) -> None:
    found, params, body = FILTERS[name]
    kernel = check(read(params, body), target=EAGER)
    assert (orders(kernel), loops(kernel)) == (found, 0), kernel.report


def test_a_filter_with_growing_responses_runs_in_order() -> None:
    """Products of blocks would add what is infinite and what is zero."""
    func = read(VECTORS, "for i in T.serial(1, 150):\n    B[i] = A[i] + 10000.0 * B[i - 1]")
    inputs = {"A": np.zeros(150, np.float32), "B": np.zeros(150, np.float32)}
    kernel = check(func, inputs=inputs, target=EAGER)
    assert orders(kernel) == [1]


def test_a_filter_along_the_rows_of_a_triangle_begins_elsewhere_in_each_column() -> None:
    body = "for i in T.serial(2, 40):\n    for j in T.serial(i - 1):\n        B[i, j] = A[i, j] + 0.9 * B[i - 1, j] - 0.5 * B[i - 2, j]"
    kernel = check(read(TABLES, body), target=EAGER)
    assert orders(kernel) == [], kernel.report


NO_FILTERS = {
    "factors by position": "for i in T.serial(2, 150):\n    B[i] = A[i] * B[i - 1] * 0.5 + 0.25 * B[i - 2]",
    "a product of past values": "for i in T.serial(2, 150):\n    B[i] = A[i] + 0.1 * B[i - 1] * B[i - 2]",
    "further back than it says": "for i in T.serial(8, 150):\n    B[i] = A[i] + 0.3 * B[i - 1] + 0.2 * B[i - 8]",
    "guarded": "for i in T.serial(2, 150):\n    if A[i] > 0.0:\n        B[i] = A[i] + 0.3 * B[i - 1] - 0.2 * B[i - 2]",
}


@pytest.mark.parametrize("name", NO_FILTERS)
def test_near_misses_of_filters_stay_loops(name: str) -> None:
    kernel = check(read(VECTORS, NO_FILTERS[name]), target=EAGER)
    assert (orders(kernel), loops(kernel)) == ([], 1), kernel.report


WIDE = "for r in range(40):\n" + "".join(f"    {line}\n" for line in ZERO.splitlines())
DELAYS = {
    "outputs": WIDE + "    for j in T.serial(60):\n        B[r, j] = A[r, j] + T.max(0.5 * p[0], 0.25 * q[0])\n        q[0] = p[0]\n        p[0] = B[r, j]",
    "inputs": WIDE + "    for j in T.serial(60):\n        B[r, j] = A[r, j] + p[0] - q[0]\n        q[0] = p[0]\n        p[0] = A[r, j]",
    "read after the loop": WIDE
    + "    for j in T.serial(60):\n        B[r, j] = A[r, j] + T.max(0.5 * p[0], 0.25 * q[0])\n        q[0] = p[0]\n        p[0] = B[r, j]\n"
    "    A[r, 0] = p[0] + 2.0 * q[0]",
    "backward": WIDE
    + "    for j in T.serial(60):\n        B[r, 59 - j] = A[r, j] + T.max(0.5 * p[0], 0.25 * q[0])\n        q[0] = p[0]\n        p[0] = B[r, 59 - j]",
    "before the new value": WIDE
    + "    for j in T.serial(60):\n        q[0] = p[0]\n        p[0] = A[r, j]\n        B[r, j] = p[0] - q[0]",
    "a name that is stored last": WIDE
    + "    for j in T.serial(60):\n        new = A[r, j] + T.max(0.5 * p[0], 0.25 * q[0])\n        q[0] = p[0]\n"
    "        p[0] = new\n        B[r, j] = new",
    "in a condition": WIDE
    + "    for j in T.serial(60):\n        if p[0] > q[0]:\n            B[r, j] = A[r, j]\n        q[0] = p[0]\n        p[0] = A[r, j]",
}  # fmt: skip

ONLY_INPUTS = ("inputs", "before the new value", "in a condition")


@pytest.mark.parametrize("name", some(DELAYS, 2))
def test_variables_with_past_values_give_way_to_arrays(name: str) -> None:
    """No loop carries them; where only inputs are delayed, there is no loop at all."""
    kernel = check(read(TABLES, LAST + DELAYS[name]))
    carried = [line for line in kernel.source.split("\n") if "fori_loop(" in line]
    assert len(carried) == loops(kernel) == (name not in ONLY_INPUTS), kernel.source
    assert all({"p", "q"}.isdisjoint(re.findall(r"\w+", line)) for line in carried)


NO_DELAYS = {
    "the source changes in between": "for i in T.serial(1, 150):\n    B[i] = p[0] + A[i]\n    A[i - 1] = B[i] * 0.5\n    p[0] = A[i]\n    A[i] = 0.5",
    "only sometimes": "for i in T.serial(150):\n    B[i] = p[0] * B[i] + A[i]\n    if A[i] > 0.0:\n        p[0] = B[i]",
    "twice": "for i in T.serial(150):\n    B[i] = p[0] * 0.5 + A[i]\n    p[0] = B[i]\n    B[i] = B[i] + p[0]\n    p[0] = A[i]",
    "few iterations": "for i in T.serial(5):\n    B[i] = p[0] * q[0] + A[i]\n    q[0] = p[0]\n    p[0] = B[i]",
}


@pytest.mark.parametrize("name", NO_DELAYS)
def test_near_misses_of_past_values(name: str) -> None:
    check(read(VECTORS, LAST + ZERO + NO_DELAYS[name]))


SMOOTHED = {
    "along a row": (
        "p[0] = A[0]\nfor i in range(1, 149):\n    c = A[i]\n    A[i] = 0.5 * (p[0] + c) + A[i + 1]\n    p[0] = c",
        0,
    ),
    "of two steps": (
        "p[0] = A[1]\nq[0] = A[0]\nfor i in range(2, 149):\n    c = A[i]\n    A[i] = 0.5 * (p[0] + q[0]) + c\n    q[0] = p[0]\n    p[0] = c",
        0,
    ),
    "what is stored is saved": (
        "p[0] = A[0]\nfor i in range(1, 149):\n    A[i] = 0.5 * p[0] + A[i]\n    p[0] = A[i]",
        1,
    ),
    "an earlier store is seen": (
        "p[0] = A[0]\nfor i in range(1, 149):\n    c = A[i]\n    A[i + 1] = 0.5 * p[0] + B[i]\n    p[0] = c",
        1,
    ),
}


@pytest.mark.parametrize("name", some(SMOOTHED, 0.5))
def test_arrays_that_are_smoothed_in_place_are_read_ahead(name: str) -> None:
    body, steps = SMOOTHED[name]
    assert loops(check(read(VECTORS, LAST + body))) <= steps
    rows = read(
        TABLES,
        LAST
        + "for r in range(40):\n"
        + "\n".join(
            "    " + line
            for line in body.replace("[i", "[r, i")
            .replace("A[0]", "A[r, 0]")
            .replace("A[1]", "A[r, 1]")
            .replace("149", "59")
            .split("\n")
        ),
    )
    assert loops(check(rows)) <= steps


def test_callers_get_the_last_values() -> None:
    """A parameter may be the variable: it is read before the loop and left as the loop leaves it."""
    body = "for i in T.serial(60):\n    B[i] = A[i] + C[0] * C[1]\n    C[1] = C[0]\n    C[0] = B[i]"
    check(read(VECTORS + ', C: T.Buffer((2,), "float32")', body))
    body = "for i in T.serial(60):\n    B[i] = A[i] + C[0] * D[0]\n    D[0] = C[0]\n    C[0] = B[i]"
    kernel = check(read(VECTORS + ', C: T.Buffer((1,), "float32"), D: T.Buffer((1,), "float32")', body))
    assert "C = C.at[0].set(B[59])" in kernel.source
    assert "D = D.at[0].set(B[58])" in kernel.source


def test_past_rows() -> None:
    body = (
        'last = T.alloc_buffer((60,), "float32")\nfor k in range(60):\n    last[k] = 0.0\n'
        "for t in T.serial(40):\n    for k in range(60):\n        B[t, k] = A[t, k] + T.max(0.5 * last[k], 0.25 * last[59 - k])\n"
        "    for k in range(60):\n        last[k] = B[t, k]"
    )
    check(read(TABLES, body))
    kernel = check(read(TABLES, body.replace("last[59 - k]", "last[k]")))
    assert "last" not in kernel.source.split("fori_loop(")[1]


def test_a_loop_over_columns_works_on_rows() -> None:
    """Of a copy for what callers see, and of the array itself for what they do not."""
    body = "for j in T.serial(2, 60):\n    for r in range(40):\n        B[r, j] = A[r, j] + T.max(A[r, j - 1], 0.5 * B[r, j - 1] - 0.25 * B[r, j - 2])"
    kernel = check(read(TABLES, body), target=COPYING)
    assert "A_transposed = A.T" in kernel.source
    assert "B = B.at[:, 2:].set(B_transposed[2:].T)" in kernel.source
    assert "A[:, j" not in kernel.source


def test_columns_that_a_loop_only_writes_are_rows_of_a_copy_that_starts_from_nothing() -> None:
    body = (
        "for r in range(40):\n    x = T.alloc_buffer((1,), 'float32')\n    x[0] = 0.0\n    for j in T.serial(60):\n"
        "        x[0] = T.max(0.9 * x[0], A[r, j] - x[0] * x[0])\n        B[r, j] = x[0]"
    )
    kernel = check(read(TABLES, body), target=COPYING)
    assert "B_transposed = jnp.zeros((60, 40), jnp.float32)" in kernel.source
    assert "B = B_transposed.T" in kernel.source


COLUMNS = {
    "in place": "for j in T.serial(2, 60):\n    for r in range(40):\n        B[r, j] = 0.3 * B[r, j] + 0.1 * B[r, j - 1] * A[r, j - 1] + 0.2 * B[r, j - 2]",
    "two stores": "for j in T.serial(1, 60):\n    for r in range(40):\n        B[r, j] = 0.3 * B[r, j - 1] * A[r, j - 1]\n"
    "    for r in range(1, 39):\n        B[r, j] = B[r, j] + 0.1 * A[r - 1, j] * B[r + 1, j - 1]",
    "backward": "for j in T.serial(59):\n    for r in range(40):\n        B[r, 58 - j] = A[r, j] * B[r, 59 - j] + A[r, 58 - j]",
    "ahead": "for j in T.serial(1, 59):\n    for r in range(40):\n        B[r, j] = B[r, j + 1] * B[r, j - 1] + A[r, j] * A[r, j + 1]",
    "a part": "for j in T.serial(5, 57):\n    for r in range(3, 38):\n        B[r, j] = A[r, j] + 0.5 * B[r + 1, j - 1] - 0.25 * B[r - 1, j - 1] + 0.1 * B[r, j - 1] * B[r, j - 2]",
    "over time": "for t in T.serial(3):\n    for j in T.serial(1, 60):\n        for r in range(40):\n            B[r, j] = 0.5 * A[r, j] + 0.1 * B[r, j - 1] * A[r, j - 1]\n"
    "    for i in T.serial(1, 40):\n        for k in range(60):\n            A[i, k] = 0.5 * B[i, k] + 0.1 * A[i - 1, k] * B[i - 1, k]",
}  # fmt: skip


@pytest.mark.parametrize("name", some(COLUMNS, 2))
def test_loops_over_columns(name: str) -> None:
    kernel = check(read(TABLES, COLUMNS[name]), target=COPYING)
    assert "transposed" in kernel.source


def test_nothing_leaks_from_columns_that_are_not_read() -> None:
    func = read(TABLES, COLUMNS["a part"])
    inputs = random_inputs(func, np.random.default_rng(1))
    for name in "AB":
        inputs[name][:, 58:] = np.nan
        inputs[name][:2] = np.inf
    check(func, inputs=inputs, target=COPYING)


def test_nests_that_share_a_loop() -> None:
    """What is the same in all iterations leaves the outer loop, with the inner one."""
    body = (
        "for r in range(3):\n    p = T.alloc_buffer((1,), 'float32')\n    q = T.alloc_buffer((1,), 'float32')\n    q[0] = 2.0\n"
        "    for i in T.serial(150):\n        p[0] = A[i]\n        q[0] = q[0] * 0.5 + B[i]\n    A[r + 1] = p[0] + q[0]"
    )
    check(read(VECTORS, body))
    check(read(VECTORS, body.replace("A[r + 1]", "B[r]").replace("q[0] * 0.5", "q[0]")), 1e-3)


@few(3)
@given(st.data())
def test_any_delay_line(data: st.DataObject) -> None:
    """Variables that hand values on in any order, and are read before and after that.

    Weights that add up to almost zero would leave nothing but errors of rounding: they are kept away from it.
    """
    names = ["p", "q", "s"][: data.draw(st.integers(1, 3))]
    source = data.draw(st.sampled_from(["A[r, j]", "B[r, j]"]))
    shifts = [f"{b}[0] = {a}[0]" for a, b in pairwise(names)] + [f"p[0] = {source}"]
    shifts = data.draw(st.permutations(shifts))
    weights = [data.draw(st.sampled_from(["0.5", "A[r, j]", "-0.25"])) for _ in names]
    new = "B[r, j] = A[r, j] + " + " + ".join(f"{w} * {n}[0]" for w, n in zip(weights, names, strict=True))
    early = data.draw(st.integers(0, len(shifts))) if source.startswith("A") else 0
    lines = [*shifts[:early], new, *shifts[early:]]
    body = "".join(f'{n} = T.alloc_buffer((1,), "float32")\n' for n in names)
    body += "for r in range(40):\n" + "".join(f"    {n}[0] = 0.25\n" for n in names)
    body += "    for j in T.serial(60):\n" + "".join(f"        {line}\n" for line in lines)
    body += "".join(f"    A[r, {k}] = {n}[0]\n" for k, n in enumerate(names))
    func = read(TABLES, body)
    inputs = random_inputs(func, np.random.default_rng(1))
    inputs["A"] = np.clip(np.abs(inputs["A"]), 0.3, 0.5)
    check(func, 1e-3, inputs=inputs)


DISCOUNTED = {
    "products": "for t in T.serial(40):\n    for i, j in T.grid(4, 4):\n        S[i, j] = 0.75 * S[i, j] + 0.5 * X[t, i] * X[t, j]",
    "a factor from data": "for t in T.serial(3, 40):\n    for i, j in T.grid(4, 4):\n        S[i, j] = S[i, j] * T.sigmoid(X[2, j]) - X[t, i]",
    "a column": "for t in T.serial(40):\n    for i in T.serial(4):\n        S[i, 1] = (S[i, 1] + X[t, i]) / 8.0",
    "several in a step": "for t in T.serial(40):\n    for i, j, k in T.grid(4, 4, 3):\n        S[i, j] = 0.9 * S[i, j] + X[t, k]",
    "a local of the step": "for t in T.serial(40):\n    m = T.alloc_buffer((1,), 'float32')\n    m[0] = X[t, 0] * X[t, 1]\n    for i, j in T.grid(4, 4):\n        S[i, j] = S[i, j] * 0.5 + m[0]",
}  # fmt: skip
IN_ORDER = {
    "the factor is no discount": "for t in T.serial(40):\n    for i, j in T.grid(4, 4):\n        S[i, j] = 1.5 * S[i, j] + 0.5 * X[t, i]",
    "steps look at it": "for t in T.serial(40):\n    for i, j in T.grid(4, 4):\n        S[i, j] = 0.5 * S[i, j] + X[t, i]\n    X[39 - t, 0] = S[1, 1]",
    "another place": "for t in T.serial(40):\n    for i, j in T.grid(4, 4):\n        S[i, j] = 0.5 * S[j, i] + X[t, i]",
    "the factor changes": "for t in T.serial(40):\n    for i, j in T.grid(4, 4):\n        S[i, j] = T.sigmoid(X[t, j]) * S[i, j] + X[t, i]",
}  # fmt: skip


@pytest.mark.parametrize("body", [*DISCOUNTED.values(), *IN_ORDER.values()], ids=[*DISCOUNTED, *IN_ORDER])
def test_sums_of_what_decays(body: str) -> None:
    func = read('X: T.Buffer((40, 4), "float32"), S: T.Buffer((4, 4), "float32")', body)
    kernel = check(func, 2e-4, target=replace(EAGER, step=1e4))
    assert ("**" in kernel.source) == (body in DISCOUNTED.values()), kernel.source
