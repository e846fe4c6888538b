"""Loops that continue their last iteration: scans where they pay, and the interpreter's results everywhere."""

# ruff: noqa: E501, ISC004
from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, GPU, Target
from ir import PrimFunc, parse
from ir.errors import InterpretError
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret, interpret_with_undef
from lower.emission.function import emit_function
from lowered import kernel_of, read
from profiles import few, some
from symbolic import with_numbers_and_with_symbols

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4, written_out=1)  # any scan is worth it
TURNS = replace(CPU, name="turns", step=1e4, launch=1.0, dispatch=1e9)  # steps are dear that are compiled one by one
LEVELS = replace(
    EAGER, name="levels", scan=0.0, dispatch=0.0, launch=0.0
)  # nothing is cheaper than an associative scan
PASSES = replace(EAGER, name="passes", scan=1e6, step=1e8)  # steps are dear, and so are associative scans
VECTORS = ", ".join(f'{name}: T.Buffer((20,), "float32")' for name in "AB")
TABLES = ", ".join(f'{name}: T.Buffer((6, 9), "float32")' for name in "AB")


def check(func: PrimFunc, tolerance: float = 1e-4, target: Target = EAGER) -> list[str]:
    """Compare with the interpreter; returns the report of the lowering."""
    inputs = random_inputs(func, np.random.default_rng(0))
    expected = interpret_with_undef(func, **inputs)
    kernel = kernel_of(func, target)
    for (values, undef), got in zip(expected, kernel(**inputs), strict=True):
        want, have = values[~undef], np.asarray(got)[~undef]
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance, err_msg=kernel.source)
    return kernel.report


def scans(report: list[str]) -> int:
    return sum(" scan over " in line for line in report)


def loops(report: list[str]) -> int:
    return sum("stays a loop" in line for line in report)


ACCUMULATOR = "s = T.alloc_buffer((1,), 'float32')\ns[0] = 0.5\n"

SCANS = {
    "array": (VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = B[i - 1] + A[i]"),
    "in place": (VECTORS, "for i in T.serial(1, 20):\n    B[i] = B[i] + B[i - 1]"),
    "in place and more": (VECTORS, "for i in T.serial(1, 20):\n    B[i] = B[i] * A[i] + B[i - 1]"),
    "inclusive": (VECTORS, ACCUMULATOR + "for i in range(20):\n    s[0] = s[0] + A[i]\n    B[i] = s[0]"),
    "exclusive": (VECTORS, ACCUMULATOR + "for i in range(20):\n    B[i] = s[0]\n    s[0] = s[0] + A[i]"),
    "both": (VECTORS, ACCUMULATOR + "for i in range(20):\n    B[i] = s[0]\n    s[0] = s[0] - A[i]\n    A[i] = s[0] * B[i]"),
    "largest": (VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = T.max(A[i], B[i - 1])"),
    "products": (VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = A[i] * B[i - 1]"),
    "backward": (VECTORS, "B[19] = A[19]\nfor i in T.serial(19):\n    B[18 - i] = B[19 - i] + A[18 - i]"),
    "linear": (VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = 0.5 * B[i - 1] + A[i]"),
    "linear, written otherwise": (
        VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = A[i] - (B[i - 1] - A[i - 1]) * 0.25",
    ),
    "read ahead": (VECTORS, "for i in T.serial(1, 19):\n    B[i] = B[i - 1] + B[i + 1]"),
    "guarded": (
        VECTORS, ACCUMULATOR + "for i in range(20):\n    if A[i] > 0.0:\n        s[0] = s[0] + A[i]\n    B[i] = s[0]",
    ),
    "count": (
        'A: T.Buffer((20,), "float32"), P: T.Buffer((20,), "int32")',
        "s = T.alloc_buffer((1,), 'int32')\ns[0] = 0\n"
        "for i in range(20):\n    P[i] = s[0]\n    if A[i] > 0.0:\n        s[0] = s[0] + 1",
    ),
    "unsigned signs": (
        'A: T.Buffer((20,), "uint8"), B: T.Buffer((20,), "uint8")',
        "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = A[i] - T.uint8(2) * (A[i - 1] - B[i - 1])\n"
        "for i in T.serial(1, 20):\n    A[i] = T.Select(i % 3 == 1, A[i], B[i] - A[i - 1])",
    ),
    "rows": (TABLES, "for i in range(6):\n    B[i, 0] = A[i, 0]\n    for j in T.serial(1, 9):\n        B[i, j] = B[i, j - 1] + A[i, j]"),
    "columns": (TABLES, "for i in T.serial(1, 6):\n    for j in range(9):\n        B[i, j] = B[i - 1, j] + A[i, j]"),
    "row accumulators": (
        TABLES,
        "for i in range(6):\n    s = T.alloc_buffer((1,), 'float32')\n    s[0] = A[i, 0]\n"
        "    for j in range(9):\n        s[0] = s[0] + A[i, j]\n        B[i, j] = s[0]",
    ),
    "column accumulators": (
        TABLES,
        "s = T.alloc_buffer((9,), 'float32')\nfor j in range(9):\n    s[j] = 0.0\n"
        "for i in range(6):\n    for j in range(9):\n        s[j] = s[j] + A[i, j]\n        B[i, j] = s[j]",
    ),
    "beginning anew": (
        VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = T.Select(A[i] > 0.5, A[i - 1], B[i - 1] + A[i])",
    ),
    "beginning anew twice": (
        VECTORS,
        "B[0] = A[0]\nfor i in T.serial(1, 20):\n"
        "    B[i] = A[i] + T.Select(A[i] > 0.5, 0.0, T.Select(i % 4 == 1, B[i - 1] * 0.5, 7.0))",
    ),
    "extremes since": (
        VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = T.Select(A[i - 1] > 0.3, A[i], T.max(B[i - 1], A[i]))",
    ),
    "run lengths": (
        'A: T.Buffer((20,), "int32"), L: T.Buffer((20,), "int32")',
        "L[0] = 1\nfor i in T.serial(1, 20):\n    L[i] = T.if_then_else(A[i] % 3 == A[i - 1] % 3, L[i - 1] + 1, 1)",
    ),
    "rows beginning anew": (
        TABLES,
        "for i in range(6):\n    B[i, 0] = A[i, 0]\n    for j in T.serial(1, 9):\n"
        "        B[i, j] = T.Select(A[i, j] > A[i, j - 1], 0.5 * B[i, j - 1] + A[i, j], 0.25)",
    ),
    "accumulator beginning anew": (
        VECTORS,
        ACCUMULATOR + "for i in range(20):\n    if A[i] > 0.5:\n        s[0] = 0.0\n    s[0] = s[0] + A[i]\n    B[i] = s[0]",
    ),
    "accumulator with several stores under conditions": (
        VECTORS,
        ACCUMULATOR + "for i in range(20):\n    if A[i] > 0.5:\n        s[0] = s[0] + A[i]\n    if A[i] < 0.25:\n"
        "        s[0] = s[0] - 1.0\n    B[i] = s[0]",
    ),
    "extreme of several under conditions": (
        VECTORS,
        ACCUMULATOR + "for i in range(20):\n    if A[i] > 0.0:\n        s[0] = T.max(s[0], A[i])\n"
        "    s[0] = T.max(s[0], A[i] * A[i])\n    B[i] = s[0]",
    ),
    "best sum that ends here": (
        VECTORS,
        ACCUMULATOR + "for i in range(20):\n    s[0] = T.max(s[0] + A[i], A[i] * A[i])\n    B[i] = s[0]",
    ),
    "distances of rows": (
        TABLES,
        "for i in T.serial(1, 6):\n    for j in range(9):\n        B[i, j] = T.min(A[i, j], B[i - 1, j] + 0.5)",
    ),
    "best sum that begins anew": (
        VECTORS,
        "for i in T.serial(1, 20):\n    B[i] = T.Select(A[i] > 0.5, A[i], T.max(0.25, T.max(B[i - 1] - A[i], A[i])))",
    ),
    "longest run": (
        f'{VECTORS}, L: T.Buffer((1,), "float32")',
        ACCUMULATOR + "L[0] = 0.0\nfor i in range(20):\n    if A[i] > 0.25:\n        s[0] = s[0] + 1.0\n"
        "        L[0] = T.max(L[0], s[0])\n    else:\n        s[0] = 0.0\n    B[i] = s[0]",
    ),
    "of lengths": (
        f'{TABLES}, n: T.Buffer((6,), "int32")',
        "s = T.alloc_buffer((6,), 'float32')\nfor r in range(6):\n    s[r] = 0.5\n    for i in range(9):\n"
        "        if i < n[r]:\n            s[r] = 0.75 * s[r] + A[r, i]\n        B[r, i] = s[r]",
    ),
    "by a name": (
        VECTORS,
        ACCUMULATOR + "for i in range(20):\n    e = 0.5 * s[0] - A[i]\n    B[i] = e\n    s[0] = e + 1.0",
    ),
    "by gates": (
        VECTORS,
        ACCUMULATOR + "for i in range(20):\n    s[0] = T.sigmoid(A[i]) * s[0] + A[i]\n    B[i] = s[0]",
    ),
    "two accumulators": (
        VECTORS,
        ACCUMULATOR + "t = T.alloc_buffer((1,), 'float32')\nt[0] = 1.0\n"
        "for i in range(20):\n    s[0] = T.max(s[0], A[i])\n    t[0] = t[0] + s[0]\n    B[i] = t[0]",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "value", some(["B[j] + B[j - 1] * 0.25", "T.max(B[j], B[j - 1] + A[i])", "B[j] * 0.25 + B[j - 2]"], 0.19)
)
@pytest.mark.parametrize(
    "order", ["for j in range(2, 20):\n    for i in range(3):", "for i in range(3):\n    for j in range(2, 20):"]
)
def test_a_step_that_goes_on_from_what_it_stored_is_not_one_step(value: str, order: str) -> None:
    for target in (CPU, EAGER, LEVELS, PASSES):
        check(read(VECTORS, f"{order}\n        B[j] = {value}"), target=target)


@pytest.mark.parametrize("target", some([CPU, EAGER, LEVELS, PASSES, GPU], 0.15), ids=lambda t: t.name)
@pytest.mark.parametrize("value", ["B[i - 1, j] + s[0]", "T.max(B[i - 1, j], s[0])", "B[i - 1, j] * 0.5 + s[0]"])
def test_what_continues_along_both_axes_of_a_table_is_no_step_at_once(value: str, target: Target) -> None:
    """The sum along a row, and that of those above it: of statements that need each other, none is a scan alone."""
    params = 'A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32")'
    body = (
        "for i in range(1, 6):\n    s = T.alloc_buffer((1,), 'float32')\n    s[0] = 0.0\n    for j in range(1, 7):\n"
        f"        s[0] = s[0] + A[i - 1, j - 1]\n        B[i, j] = {value}"
    )
    check(read(params, body), target=target)


LOOPS = ("rows beginning anew", "distances of rows", "of lengths")  # scans of which are not as close as loops


@pytest.mark.parametrize("name", some(LOOPS, 1))
def test_loops_that_are_closer_than_scans_stay(name: str) -> None:
    assert scans(check(read(*SCANS[name]))) == 0


@pytest.mark.parametrize("name", some([n for n in SCANS if n not in LOOPS], 2))
def test_scans(name: str) -> None:
    report = check(read(*SCANS[name]))
    assert scans(report) > 0, report
    assert loops(report) == 0, report


def test_an_accumulator_whose_source_changes_in_between_stays_one() -> None:
    lines = (
        "for i in range(20):\n    s[0] = s[0] + A[i]\n    A[i] = s[0] * B[i]\n    if A[i] > 0.5:\n"
        "        s[0] = A[i] * 0.5\n    B[i] = s[0]"
    )
    assert loops(check(read(VECTORS, ACCUMULATOR + lines))) == 1


MATRICES = """
M = T.alloc_buffer((4, 5), "float32")
for d, e in T.grid(4, 5):
    M[d, e] = 0.25
for t in T.serial(9):
{lines}
"""
STATE = 'A: T.Buffer((9, 4), "float32"), B: T.Buffer((9, 5), "float32"), O: T.Buffer((9, 5), "float32")'
NEXT = "for d, e in T.grid(4, 5):\n    M[d, e] = 0.5 * M[d, e] + A[t, d] * B[t, e]"
READ = "for e in range(5):\n    O[t, e] = 0.0\n    for d in range(4):\n        O[t, e] = O[t, e] + A[t, d] * M[d, e]"


@pytest.mark.parametrize(
    ("lines", "becomes_scans"),
    some(
        [
            pytest.param([NEXT, READ], True, id="read after"),
            pytest.param([READ, NEXT], True, id="read before"),
            pytest.param([NEXT.replace("(4, 5)", "(4, 4)"), READ], False, id="a part"),
            pytest.param([NEXT.replace("0.5 * M[d, e]", "0.5 * M[d, (e + 1) % 5]")], False, id="other places"),
            pytest.param([NEXT + "\n    O[t, e] = M[d, (e + 2) % 5]"], False, id="others, while it changes"),
            pytest.param([NEXT + "\n    O[t, e] = M[d, e]"], True, id="the same, while it changes"),
        ],
        0.33,
    ),
)
def test_a_matrix_that_each_step_changes(lines: list[str], becomes_scans: bool) -> None:
    body = "\n".join("    " + line for text in lines for line in text.split("\n"))
    report = check(read(STATE, MATRICES.format(lines=body)))
    assert (scans(report) > 0) == becomes_scans, report


SINGLE = {name: scan for name, scan in SCANS.items() if TABLES not in scan[0]}  # a loop of vectors is in turn already


@pytest.mark.parametrize(("params", "body"), some(SINGLE.values(), 3), ids=SINGLE.keys())
def test_scans_in_turn(params: str, body: str) -> None:
    report = check(read(params, body), target=TURNS)
    assert any("(in turn)" in line for line in report), report


FACTORS = {
    "forward": "B[0, 0] = 1.0\nfor i in range(6):\n    for j in T.serial(1, 9):\n        B[i, j] = 0.5 * B[i, j - 1] + A[i, j]",
    "rows, backward": "for i in T.serial(5):\n    for j in range(9):\n        B[4 - i, j] = A[i, j] - B[5 - i, j] / 3.0",
    "kept": "for i in range(6):\n    for j in T.serial(1, 9):\n        B[i, j] = A[i, j] - B[i, j - 1]",
    "vanishing": "for i in range(6):\n    for j in T.serial(1, 9):\n        B[i, j] = B[i, j - 1] * 1e-30 + A[i, j]",
    "halves of halves": "for i in range(6):\n    for j in T.serial(1, 9):\n        B[i, j] = (B[i, j - 1] / 2.0 + A[i, j]) / 2.0",
    "a sweep": (
        "for t in T.serial(2):\n    for i in T.serial(1, 5):\n        for j in T.serial(1, 8):\n"
        "            B[i, j] = (B[i - 1, j + 1] + B[i, j - 1] + B[i, j] + B[i, j + 1] + B[i + 1, j - 1]) / 5.0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", some(FACTORS.values(), 0.33), ids=FACTORS.keys())
@pytest.mark.parametrize("target", [PASSES, LEVELS], ids=["passes", "levels"])
def test_constant_factors(body: str, target: Target) -> None:
    report = check(read(TABLES, body), target=target)
    assert scans(report) == 1, report
    assert (target is PASSES) == any("(doubling)" in line for line in report), report


def test_a_factor_of_zero_continues_nothing() -> None:
    body = "for i in range(6):\n    for j in T.serial(1, 9):\n        B[i, j] = B[i, j - 1] * 0.0 + A[i, j]"
    report = check(read(TABLES, body), target=LEVELS)
    assert scans(report) == loops(report) == 0, report


def test_windows_that_double_stop_where_nothing_is_left() -> None:
    """A long axis: factors' powers vanish, and sums are those of the interpreter all the same."""
    func = read('B: T.Buffer((300,), "float32")', "for i in T.serial(1, 300):\n    B[i] = B[i] - B[i - 1] / 9.0")
    assert any("linear scan over i (doubling)" in line for line in check(func, 1e-5, PASSES))


def test_a_scan_in_each_step_of_a_loop() -> None:
    body = "for i in T.serial(1, 6):\n    for j in T.serial(1, 9):\n        B[i, j] = B[i, j - 1] + B[i - 1, j]"
    report = check(read(TABLES, body))
    assert (scans(report), loops(report)) == (1, 1), report


def test_what_an_accumulator_held_is_not_read_where_nothing_is_added() -> None:
    params = "a: T.Buffer((32,), 'float32'), m: T.Buffer((32,), 'int32'), s: T.Buffer((8,), 'float32'), "
    params += "y: T.Buffer((8, 32), 'float32'), Y: T.Buffer((32, 32), 'float32')"
    body = "for i in range(32):\n    for j in range(8):\n        if m[i] > 0:\n            s[j] = s[j] + a[i]\n"
    body += "            for k in range(32):\n                y[j, k] = y[j, k] + s[j] * Y[i, k]"
    kernel = kernel_of(read(params, body), EAGER)
    assert scans(kernel.report) == 1
    ones, nothing = np.ones((32, 32), np.float32), np.zeros(32, np.int32)
    held = np.full(8, np.nan, np.float32)
    s, y = kernel(a=ones[0], m=nothing, s=held, y=ones[:8], Y=ones)
    np.testing.assert_array_equal(np.asarray(y), ones[:8])
    np.testing.assert_array_equal(np.asarray(s), held)


@pytest.mark.parametrize(("op", "by"), [("min", "+ 3"), ("max", "- 2")])
def test_distances_from_integers_at_the_end_of_their_type(op: str, by: str) -> None:
    vectors = ", ".join(f'{name}: T.Buffer((20,), "int32")' for name in "AB")
    func = read(vectors, f"B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = T.{op}(B[i - 1] {by}, A[i])")
    a = np.full(20, np.iinfo(np.int32).max if op == "min" else np.iinfo(np.int32).min, np.int32)
    a[[0, 9]] = 5, 2
    want = interpret(func, A=a, B=np.zeros(20, np.int32))[0]
    kernel = kernel_of(func, EAGER)
    assert scans(list(kernel.report)) == 1
    np.testing.assert_array_equal(kernel(A=a)[0], want)
    away = read(
        vectors, f"B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = T.{op}(B[i - 1] + C[i], A[i])".replace("C", "A")
    )
    assert (
        scans(list(emit_function(away, target=EAGER).report)) == 0
    )  # sums may leave the integers where the program's do not


def test_integers_are_multiplied_exactly() -> None:
    func = read('B: T.Buffer((12,), "int32")', "for i in T.serial(1, 12):\n    B[i] = 3 * B[i - 1] - 2")
    assert not any("(doubling)" in line for line in check(func, 0, PASSES))


def test_wide_types_keep_the_name_of_the_kernel() -> None:
    func = read('B: T.Buffer((20,), "float64")', "for i in T.serial(1, 20):\n    B[i] = 0.5 * B[i - 1] + B[i]")
    assert scans(check(func, 1e-9)) == 1


NO_SCANS = {
    "compaction": (
        VECTORS,
        "s = T.alloc_buffer((1,), 'int32')\ns[0] = 0\n"
        "for i in range(20):\n    if A[i] > 0.0:\n        B[s[0]] = A[i]\n        s[0] = s[0] + 1",
    ),
    "a place twice": (VECTORS, ACCUMULATOR + "for i in range(20):\n    s[0] = s[0] + A[i]\n    s[0] = s[0] * 0.5\n    B[i] = s[0]"),
    "a wild factor": (VECTORS, "for i in T.serial(1, 20):\n    B[i] = A[i] * B[i - 1] + A[i - 1]"),
    "a square": (VECTORS, "for i in T.serial(1, 20):\n    B[i] = B[i - 1] * B[i - 1] * 0.5"),
    "holes": (VECTORS, "for i in T.serial(1, 20):\n    if A[i] > 0.0:\n        B[i] = B[i - 1] + A[i]"),
    "two back": (VECTORS, "for i in T.serial(2, 20):\n    B[i] = B[i - 2] + A[i]"),
    "sums within": (
        TABLES,
        ACCUMULATOR + "for i in range(6):\n    for j in range(9):\n        s[0] = s[0] + A[i, j]\n    B[i, 0] = s[0]",
    ),
    "one place in many words": (VECTORS, "for i in range(4):\n    B[i % 1] = B[i % 1] + B[0]"),
    "places twice over": (VECTORS, "for i in range(9):\n    B[i // 2 + 1] = B[(i - 1) // 2 + 1] + A[i]"),
    "two places before": (VECTORS, "for i in T.serial(2, 20):\n    B[i] = 0.5 * B[i - 1] + B[i - 2]"),
    "the column before": (
        TABLES,
        "for i in T.serial(1, 6):\n    for j in T.serial(1, 9):\n        B[i, j] = 0.5 * B[i, j - 1] + B[i, 1]",
    ),
    "divided by what changes": (VECTORS, "for i in T.serial(1, 20):\n    B[i] = B[i - 1] / (2.0 + A[i] * A[i])"),
    "rows of a triangle": (
        TABLES,
        "for i in T.serial(1, 6):\n    for j in T.serial(i):\n        B[i, j] = B[i - 1, j] + A[i, 0]",
    ),
    "rows of a trapezium": (
        TABLES,
        "for i in T.serial(1, 6):\n    for j in T.serial(i, 9 - i):\n        B[i, j] = 0.5 * B[i - 1, j] + A[i, j]",
    ),
    "divided by itself": (VECTORS, "for i in T.serial(1, 20):\n    B[i] = A[i] / (B[i - 1] * B[i - 1] + 1.0)"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(NO_SCANS.values(), 0.17), ids=NO_SCANS.keys())
def test_near_misses_stay_right(params: str, body: str) -> None:
    check(read(params, body))


def test_terms_bring_the_functions_that_they_call() -> None:
    params = ", ".join(f'{name}: T.Buffer((20,), "int32")' for name in "AB")
    divided = "for i in T.serial(1, 20):\n    B[i] = T.max(B[i - 1], T.truncdiv(A[i], 3))"
    assert scans(check(read(params, divided))) == 1


def test_short_wide_rows_stay_a_loop_on_cpu() -> None:
    """A vector a step is cheaper there than a scan, which works on each element several times."""
    body = "for i in T.serial(1, 64):\n    for j in range(4096):\n        B[i, j] = B[i - 1, j] + A[i, j]"
    func = read(", ".join(f'{name}: T.Buffer((64, 4096), "float32")' for name in "AB"), body)
    assert loops(list(emit_function(func).report)) == 1


@st.composite
def accumulations(draw: st.DrawFn) -> PrimFunc:
    """A loop over statements that update one or two places and use them, in any order."""
    places = ["s[0]", "t[0]", "B[i]", "B[i + 1]", "A[i]", "A[i + 1]"]
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        target = draw(st.sampled_from(places))
        own = draw(st.sampled_from((target, target, *places)))
        other = draw(st.sampled_from((*places, "C[i]", "C[i]", "2")))
        extremes = f"T.max({own}, {other})", f"T.min({own} + 1, {other})", f"T.max({other}, {own} + C[i])"
        value = draw(st.sampled_from((f"{own} + {other}", f"{other} - {own}", *extremes, other)))
        data = ("if C[i] > 0:", "if C[i] <= 0:", f"if {draw(st.sampled_from(places))} > 0:")
        guard = draw(st.sampled_from(("", "", "", *data)))
        lines.append(f"        {guard}\n            {target} = {value}" if guard else f"        {target} = {value}")
    inner, dtype = draw(st.booleans()), draw(st.sampled_from(("int32", "float32")))
    body = [
        f"    s = T.alloc_buffer((1,), '{dtype}')", f"    t = T.alloc_buffer((1,), '{dtype}')", "    s[0] = 1", "    t[0] = 2",
        f"    for i in T.serial({draw(st.sampled_from((5, 5, 1)))}):", *lines, "    D[0] = s[0] + t[0]",
    ]  # fmt: skip
    if inner:
        body = ["    for r in range(3):", *("    " + line.replace("\n", "\n    ") for line in body)]
    params = ", ".join(f'{name}: T.Buffer((7,), "{dtype}")' for name in "ABCD")
    return parse(f"@T.prim_func\ndef f({params}):\n" + "\n".join(body) + "\n").funcs[0]


def small(func: PrimFunc) -> None:
    """Compare on numbers so small that few sums leave their width."""
    rng = np.random.default_rng(0)
    inputs = {b.name: rng.integers(-2, 3, 7).astype(b.dtype.numpy) for b in func.buffers}
    try:
        expected = interpret_with_undef(func, **inputs)
    except InterpretError:  # a sum that leaves its width promises nothing
        return
    for same, sizes in with_numbers_and_with_symbols(func):
        kernel = kernel_of(same, EAGER)
        for (values, undef), got in zip(expected, kernel(**inputs, **sizes), strict=True):
            np.testing.assert_array_equal(values[~undef], np.asarray(got)[~undef], err_msg=kernel.source)


@few(5)
@given(accumulations())
def test_random_accumulations(func: PrimFunc) -> None:
    small(func)


@pytest.mark.fuzz
@settings(max_examples=1500)
@given(accumulations())
def test_many_random_accumulations(func: PrimFunc) -> None:
    small(func)


@pytest.mark.parametrize("target", [EAGER, TURNS], ids=lambda target: target.name)
@pytest.mark.parametrize(
    "step",
    some(
        [
            "T.Select(A[i] > 0.0, T.log(A[i]), B[i - 1]) + 0.5",
            "T.Select(A[i] > 0.0, B[i - 1] + T.sqrt(A[i]), 0.25)",
            "T.Select(A[i] == 0.0, A[i - 1], T.tanh(1.0 / A[i]) * B[i - 1] + 1.0 / A[i])",
        ],
        0.12,
    ),
)
def test_what_a_recurrence_does_not_look_at_where_it_begins_anew_has_no_derivative(step: str, target: Target) -> None:
    emitted = emit_function(read(VECTORS, f"B[0] = A[0]\nfor i in T.serial(1, 20):\n    B[i] = {step}"), target=target)
    space: dict[str, Any] = {}
    exec(emitted.source, space)
    A = np.where(np.arange(20) % 3 == 1, 0.0, np.linspace(0.5, 2.0, 20)).astype(np.float32)
    first, last = (jax.grad(lambda a, k=k: space["f"](a)[0][k])(A) for k in (1, 18))
    assert np.isfinite(first).all() and np.isfinite(last).all() and np.any(last)


@pytest.mark.parametrize("value", ["C[i // 2] + A[i, j]", "C[i // 2] * 0.5 + A[i, j]"])
@pytest.mark.parametrize("seen", ["E[i, j] = C[i // 2]", ""])
def test_accumulators_of_several_lanes_are_no_recurrence_of_each(value: str, seen: str) -> None:
    """What a lane leaves in its place is not what it finds there in the next step, if others store there too."""
    params = 'A: T.Buffer((6, 9), "float32"), C: T.Buffer((3,), "float32"), E: T.Buffer((6, 9), "float32")'
    body = f"for j, i in T.grid(9, 6):\n    C[i // 2] = {value}\n    {seen}"
    for target in (EAGER, TURNS, CPU):
        check(read(params, body.rstrip()), target=target)


SWEEP = """for x in range(2):
    for i, j in T.grid({n}, {m}):
        r = T.alloc_buffer((), "float32")
        r[()] = 0.25 * (U[i, j + 1] + U[i + 2, j + 1] + U[i + 1, j] + U[i + 1, j + 2] - F[i, j] * 0.5)
        U[i + 1, j + 1] = (1.0 - w) * U[i + 1, j + 1] + w * r[()]"""


@pytest.mark.parametrize("m", [56, 59, 62])  # steps in groups of eight, and what is left of them
def test_a_factor_of_any_size_goes_in_turn(m: int) -> None:
    params = f'U: T.Buffer((62, {m + 2}), "float32"), F: T.Buffer((60, {m}), "float32"), w: T.float32'
    func = read(params, SWEEP.format(n=60, m=m))
    source = emit_function(func).source
    assert "in_turn(" in source and "associative_scan" not in source and "r[" not in source
    inputs = {**random_inputs(func, np.random.default_rng(0)), "w": np.float32(1.2)}
    space: dict[str, Any] = {}
    exec(source, space)
    want = interpret(func, **{k: np.copy(v) for k, v in inputs.items()})
    np.testing.assert_allclose(space[func.name](**inputs)[0], want[0], rtol=1e-4, atol=1e-5)
