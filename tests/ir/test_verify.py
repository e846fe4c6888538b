"""Bounds and assumptions at entry: each with a program that passes, one that fails and one that nearly fails."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from ir import parse
from ir.errors import InterpretError, LoopsatError, VerifyError
from ir.nodes import PrimFunc, Stmt, Store
from ir.presburger import sets as pb
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret
from ir.semantics.verify import Verified, verify
from ir.testing.programs import programs
from ir.traverse import map_stmt


def check(body: str, params: str = 'A: T.Buffer(16, "float32"), B: T.Buffer(16, "float32"), n: T.int32') -> Verified:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return verify(parse(f"@T.prim_func\ndef f({params}):\n{lines}\n", "kernel.py").funcs[0])


def refused(body: str, *params: str) -> VerifyError:
    with pytest.raises(VerifyError) as caught:
        check(body, *params)
    return caught.value


def witness(error: VerifyError) -> dict[str, int]:
    """The values that the notes of an error give."""
    line = next(n for n in error.notes if n.startswith(("for example with ", "it is false with ")))
    return {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+)", line)}


# Bounds --------------------------------------------------------------------------------------------------------------

IN_BOUNDS = {
    "loop": "for i in range(16):\n    B[i] = A[i]",
    "start": "for i in range(3, 16):\n    B[i - 3] = A[i]",
    "negative start": "for i in range(-4, 12):\n    B[i + 4] = A[i + 4]",
    "empty loop": "for i in range(0):\n    B[i + 99] = 0.0",
    "guard": "for i in range(99):\n    if i < 16:\n        B[i] = 0.0",
    "else": "for i in range(99):\n    if i >= 16:\n        pass\n    else:\n        B[i] = 0.0",
    "chained guard": "if 0 <= n < 16:\n    B[n] = 0.0",
    "assumption": "T.assume(0 <= n and n < 16)\nB[n] = 0.0",
    "assertion": "assert n >= 0\nassert n < 16\nB[n] = 0.0",
    "assumption inside a loop": "for i in range(99):\n    T.assume(i < n)\n    T.assume(n <= 16)\n    B[i] = 0.0",
    "assumption in a branch": ("if n > 4:\n    T.assume(n < 16)\nelse:\n    T.assume(n >= 0)\n    pass\nB[n] = 0.0"),
    "assumption over all iterations": "for i in range(n):\n    T.assume(i < 16)\nfor i in range(n):\n    B[i] = 0.0",
    "modulo": "for i in range(99):\n    B[i % 16] = A[(i * 7 + 3) % 16]",
    "negative modulo": "B[n % 16] = 0.0\nB[-(n % -16)] = 0.0",
    "division": "for i in range(64):\n    B[i // 4] = 0.0",
    "split": "for i, j in T.grid(4, 5):\n    if 4 * i + j < 16:\n        B[4 * i + j] = 0.0",
    "triangle": "for i in range(16):\n    for j in range(i + 1):\n        B[i - j] = 0.0",
    "let": "for i in range(4):\n    k = i * 4\n    m = k + 3\n    B[m] = A[k]",
    "bool let": "for i in range(99):\n    ok = i < 16\n    if ok:\n        B[i] = 0.0",
    "select": "for i in range(16):\n    B[i] = T.if_then_else(i > 0, A[i - 1], 0.0)",
    "select index": "for i in range(16):\n    B[T.if_then_else(i < 8, i + 8, i - 8)] = 0.0",
    "clamp": "B[T.max(T.min(n, 15), 0)] = 0.0",
    "short circuit and": "for i in range(16):\n    if i > 0 and A[i - 1] > 0.0:\n        B[i] = 0.0",
    "short circuit or": "for i in range(16):\n    if i == 0 or A[i - 1] > 0.0:\n        B[i] = 0.0",
    "union": "for i in range(99):\n    if i == 3 or i == 15:\n        B[i] = 0.0",
    "unreachable": "if n < 0 and n > 0:\n    B[99] = 0.0",
    "block axis": (
        'for i in range(8):\n    with T.block("b"):\n        v = T.axis.spatial(16, 2 * i + 1)\n        B[v] = 0.0'
    ),
    "block predicate": (
        'for i in range(99):\n    with T.block("b"):\n        v = T.axis.spatial(16, i)\n        T.where(i < 16)\n'
        "        B[v] = 0.0"
    ),
    "block init": (
        'for i in range(99):\n    with T.block("b"):\n        v = T.axis.reduce(99, i)\n        with T.init():\n'
        "            B[v + 15] = 0.0\n        B[v % 16] = 0.0"
    ),
    "bit mask": "B[n & 15] = 0.0",
    "assumption about padding": (
        "for i in range(16):\n    T.assume(i < 14 or A[i] == 0.0)\nfor i in range(16):\n    B[i] = A[i]"
    ),
}


@pytest.mark.parametrize("case", IN_BOUNDS)
def test_accesses_proven_in_bounds(case: str):
    assert check(IN_BOUNDS[case]) == Verified(())


OUT_OF_BOUNDS = {
    # body, index at the witness, value reached, extent or -1 for "below"
    "constant": ("B[16] = 0.0", "16", 16),
    "loop": ("for i in range(17):\n    B[i] = 0.0", "i", 16),
    "shift": ("for i in range(16):\n    B[i + 1] = 0.0", "i + 1", 16),
    "below": ("for i in range(16):\n    B[i - 1] = 0.0", "i - 1", -1),
    "guard too weak": ("for i in range(99):\n    if i < 17:\n        B[i] = 0.0", "i", 16),
    "wrong branch": ("for i in range(99):\n    if i < 16:\n        pass\n    else:\n        B[i] = 0.0", "i", 16),
    "assumption too weak": ("T.assume(n < 17 and n >= 0)\nB[n] = 0.0", "n", 16),
    "assumption after": ("for i in range(n):\n    B[i] = 0.0\nT.assume(n < 16)", "i", 16),
    "assumption of one branch": ("if n > 4:\n    T.assume(n < 10)\nB[n % 17] = 0.0", "n % 17", 16),
    "scalar": ("for i in range(n):\n    B[i] = 0.0", "i", 16),
    "modulo": ("for i in range(99):\n    B[i % 17] = 0.0", "i % 17", 16),
    "negative dividend": ("for i in range(4):\n    B[(i - 1) // 4 + 0 * n] = 0.0", "(i - 1) // 4", -1),
    "split": ("for i, j in T.grid(4, 5):\n    B[4 * i + j] = 0.0", "4 * i + j", 16),
    "split guard": ("for i, j in T.grid(5, 4):\n    if 4 * i + j < 17:\n        B[4 * i + j] = 0.0", "4 * i + j", 16),
    "triangle": ("for i in range(16):\n    for j in range(i + 2):\n        B[i - j] = 0.0", "i - j", -1),
    "let": ("for i in range(5):\n    k = i * 4\n    B[k] = 0.0", "k", 16),
    "union": ("for i in range(99):\n    if i == 3 or i == 16:\n        B[i] = 0.0", "i", 16),
    "load": ("for i in range(16):\n    B[i] = A[i] + A[i + 1]", "i + 1", 16),
    "load in a condition": ("for i in range(17):\n    if A[i] > 0.0:\n        B[0] = 0.0", "i", 16),
    "load in the other arm": ("for i in range(16):\n    B[i] = T.if_then_else(i > 0, 0.0, A[i - 1])", "i - 1", -1),
    "load before the guard": ("for i in range(17):\n    if A[i] > 0.0 and i < 16:\n        B[i] = 0.0", "i", 16),
    "load in an assumption": ("for i in range(17):\n    T.assume(A[i] == 0.0)", "i", 16),
    "load in an assertion": ("assert A[n % 17] > 0.0", "n % 17", 16),
    "block axis": (
        'for i in range(9):\n    with T.block("b"):\n        v = T.axis.spatial(99, 2 * i)\n        B[v] = 0.0', "v", 16
    ),
    "block predicate": (
        """for i in range(99):
    with T.block("b"):
        v = T.axis.spatial(99, i)
        T.where(i < 17)
        B[v] = 0.0""",
        "v",
        16,
    ),
    "block init": (
        """for i in range(2):
    with T.block("b"):
        v = T.axis.spatial(2, i)
        with T.init():
            B[v + 15] = 0.0""",
        "v + 15",
        16,
    ),
    "padding assumed, loop too long": (
        "for i in range(16):\n    T.assume(i < 14 or A[i] == 0.0)\nfor i in range(17):\n    B[i] = A[i % 16]", "i", 16
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OUT_OF_BOUNDS)
def test_accesses_that_leave_are_refused_with_a_true_witness(case: str):
    body, index, reached = OUT_OF_BOUNDS[case]
    error = refused(body)
    assert error.code == ("load" if "load" in case else "store") + "-out-of-bounds"
    assert error.span is not None and error.span.file == "kernel.py"
    first = error.notes[0]
    assert first.endswith(f"but {'A' if 'load' in case else 'B'} has shape (16,)")
    if case == "constant":
        assert error.help == "axis 0 of B goes from 0 to 15"
        return
    assert f"reaches {reached}," in first
    assert eval(index, {}, {"n": 0, **witness(error)}) == reached
    assert "guard the " in error.help


def test_a_witness_has_what_lets_the_loops_around_run():
    shown = witness(refused("for j in range(n - 2):\n    for i in range(4):\n        B[16 + 0 * i] = 0.0"))
    assert shown["n"] == 3


def test_the_message_reads_as_the_style_says():
    error = refused("for i in range(16):\n    B[i + 1] = A[i]")
    assert str(error) == (
        "error[store-out-of-bounds]: store to B may leave its shape\n"
        "  --> kernel.py:4:9\n"
        "  4 |         B[i + 1] = A[i]\n"
        "    |         ^^^^^^^^\n"
        "note: index 0 is i + 1 with 0 <= i < 16: reaches 16, but B has shape (16,)\n"
        "note: for example with i = 15\n"
        "help: shorten the loop to T.serial(15), or guard the store with `if i + 1 < 16`"
    )


@pytest.mark.parametrize(
    ("body", "advice", "fixed"),
    [
        ("for i in range(2, 20):\n    B[i] = 0.0", "T.serial(2, 16)", "for i in T.serial(2, 16):\n    B[i] = 0.0"),
        ("for i in range(16):\n    B[i - 2] = 0.0", "T.serial(2, 16)", "for i in T.serial(2, 16):\n    B[i - 2] = 0.0"),
        ("for i in T.parallel(17):\n    B[i] = 0.0", "T.parallel(16)", "for i in T.parallel(16):\n    B[i] = 0.0"),
        ("for i in range(n):\n    B[i] = 0.0", "n <= 16", "T.assume(n <= 16)\nfor i in range(n):\n    B[i] = 0.0"),
        ("T.assume(n < 5)\nB[n + 8] = 0.0", "T.assume(n >= -8)", "T.assume(n < 5 and n >= -8)\nB[n + 8] = 0.0"),
        ("B[n] = 0.0", "`if n >= 0 and n < 16`", "if n >= 0 and n < 16:\n    B[n] = 0.0"),
        ("T.assume(n > 3)\nB[n] = 0.0", "`if n < 16`", "T.assume(n > 3)\nif n < 16:\n    B[n] = 0.0"),
    ],
)
def test_following_the_advice_helps(body: str, advice: str, fixed: str):
    assert advice in refused(body).help
    assert check(fixed) == Verified(())


def test_what_is_known_is_told():
    error = refused("T.assume(n <= 18)\nfor i in range(n):\n    if i > 0:\n        B[i - 1] = 0.0")
    assert "known here: n <= 18, i > 0" in error.notes
    assert witness(error) == {"n": 18, "i": 17}


def test_shapes_of_scalars_and_shape_variables():
    params = 'n: T.int32, A: T.Buffer((n, 4), "float32")'
    body = "for i, j in T.grid(n, 4):\n    A[i, j] = 0.0"
    assert check(body, params) == Verified(())
    error = refused(body.replace("T.grid(n, 4)", "T.grid(n + 1, 4)"), params)
    assert "has shape (n, 4)" in error.notes[0]
    assert witness(error)["i"] == witness(error)["n"]
    handles = 'm = T.int32()\nA = T.match_buffer(a, (m,), "float32")\nfor i in range(m{}):\n    A[i] = 0.0'
    assert check(handles.format(""), "a: T.handle") == Verified(())
    error = refused(handles.format(" + 1"), "a: T.handle")
    assert witness(error)["i"] == witness(error)["m"] >= 0
    # an extent is never negative, so n - 1 is at least -1 ...
    assert check("if n > 0:\n    A[n - 1] = 0.0", 'n: T.int32, A: T.Buffer((n,), "float32")') == Verified(())
    assert witness(refused("A[n - 1] = 0.0", 'n: T.int32, A: T.Buffer((n,), "float32")')) == {"n": 0}


def test_dtypes_bound_values():
    table = 'T0: T.Buffer(256, "float32"), x: T.{}, img: T.Buffer(16, "{}"), B: T.Buffer(16, "float32")'
    body = "for i in range(16):\n    B[i] = T0[T.cast(img[i], 'int32')] + T0[x]"
    assert check(body, table.format("uint8", "uint8")) == Verified(())
    assert refused(body, table.format("int8", "uint8")).code == "load-out-of-bounds"
    assert witness(refused("B[x] = 0.0", table.format("int8", "uint8"))) == {"x": 16}
    assert [u.text for u in check(body, table.format("uint8", "uint16")).unproven] == ['T0[T.cast(img[i], "int32")]']
    counted = "for i in range(n):\n    if i < T.uint32(16):\n        B[i] = 0.0"
    assert check(counted, 'n: T.uint32, B: T.Buffer(16, "float32")') == Verified(())


def test_products_of_scalars_are_compared_as_they_stand():
    params = 'n: T.int32, m: T.int32, A: T.Buffer((n * m,), "float32")'
    assert check("for i in range(n * m):\n    A[i] = 0.0", params) == Verified(())
    guarded = "for i, j in T.grid(n, m):\n    if i * m + j < n * m and i * m >= 0:\n        A[i * m + j] = 0.0"
    assert check(guarded, params) == Verified(())
    (left,) = check("for i, j in T.grid(n, m):\n    A[i * m + j] = 0.0", params).unproven
    assert "not linear" in left.reason
    ring = 'n: T.int32, A: T.Buffer((n,), "float32")'
    assert check("for i in range(99):\n    if n > 0:\n        A[i % n] = 0.0", ring) == Verified(())
    beyond = refused("for i in range(99):\n    if n > 0:\n        A[i % (n + 1)] = 0.0", ring)
    assert witness(beyond) == {"i": 1} and "this is at n = 1" in beyond.notes


@pytest.mark.parametrize(
    ("index", "extent", "right"),
    [("i * n // 2", "n", "n <= 2"), ("i * n + j", "n * m", "n == m"), ("j * m + i", "n * m", "n == m")],
)
def test_products_of_sizes_are_tried_with_small_numbers(index: str, extent: str, right: str):
    loops = f"for i, j in T.grid(n, m):\n    A[{index}] = 0.0"
    params = f'n: T.int32, m: T.int32, A: T.Buffer(({extent},), "float32")'
    error = refused(loops, params)
    assert error.code == "store-out-of-bounds" and error.notes[-1].startswith("this is at n = ")
    assert len(check(f"T.assume({right})\n{loops}", params).unproven) == 1


@pytest.mark.parametrize(
    ("index", "extent", "note"),
    [
        ("i * j", "64", "this is at i = 8"),
        ("i * j", "n * n", "this is at n = 1, i = 8"),
        ("i * (j - 8) + 63", "64", "this is at i = 8"),
        ("100 // (i + 1) - j", "100", "this is at i = 0"),
        ("i * j * j", "512", "this is at i = 8, j = 8"),
    ],
)
def test_products_of_loop_variables_are_tried_at_first_and_last_iterations(index: str, extent: str, note: str):
    loops = f"for i, j in T.grid(9, 9):\n    A[{index}] = 0.0"
    size = "n: T.int32, " if "n" in extent else ""
    error = refused(loops, f'{size}A: T.Buffer(({extent},), "float32")')
    assert error.code == "store-out-of-bounds" and error.notes[-1].startswith(note)


@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.grid(9, 9):\n    A[i * j] = 0.0",
        "for i, j in T.grid(12, 12):\n    if i * j < 65:\n        A[i * j] = 0.0",
        "for i, j in T.grid(12, 12):\n    T.assume(i * j < 65)\n    A[i * j] = 0.0",
        "for i in range(0):\n    for j in range(9):\n        A[i * j + 99] = 0.0",
    ],
)
def test_products_of_loop_variables_within_the_buffer_are_accepted(body: str):
    assert len(check(body, 'A: T.Buffer(65, "float32")').unproven) <= 1


def test_products_of_axes_of_blocks_are_tried_too():
    body = 'for i, j in T.grid(9, 9):\n    with T.block("b"):\n        vi, vj = T.axis.remap("SS", [i, j])\n'
    store = "        A[vi * vj] = 0.0"
    assert refused(body + store, 'A: T.Buffer(64, "float32")').code == "store-out-of-bounds"
    assert len(check(body + store, 'A: T.Buffer(65, "float32")').unproven) == 1


# Data ----------------------------------------------------------------------------------------------------------------

DATA = 'A: T.Buffer(16, "float32"), B: T.Buffer(16, "float32"), idx: T.Buffer(16, "int32"), n: T.int32'


@pytest.mark.parametrize(
    ("body", "text", "reason"),
    [
        ("for i in range(16):\n    B[idx[i]] = 0.0", "B[idx[i]]", "depends on the contents of idx"),
        ("for i in range(16):\n    B[i] = A[idx[i]]", "A[idx[i]]", "depends on the contents of idx"),
        ("for i in range(16):\n    k = idx[i]\n    B[k] = 0.0", "B[k]", "the value of k is not known"),
        ("if A[0] > 0.0:\n    B[16] = 0.0", "B[16]", "stands under `A[0] > 0.0`"),
        ("for i in range(idx[0]):\n    B[i] = 0.0", "B[i]", "the range of i is not known"),
        ("for i in range(16):\n    if idx[i] < 16:\n        B[idx[i]] = 0.0", "B[idx[i]]", "contents of idx"),
        ("T.assume(0 <= n and n * n <= 16)\nfor i in range(n):\n    B[i * n] = 0.0", "B[i * n]", "not linear"),
    ],
)
def test_what_depends_on_data_is_listed(body: str, text: str, reason: str):
    (access,) = check(body, DATA).unproven
    assert access.text == text and reason in access.reason
    assert access.kind == ("store" if text.startswith("B") else "load")
    assert access.span is not None and access.span.file == "kernel.py" and text in str(access)


@pytest.mark.parametrize("place", ["x", "x + 1", "y"])
def test_a_name_of_undef_is_any_number(place: str):
    start = "x = T.undef('int32')\ny = x * 2\n"
    with pytest.raises(VerifyError, match="store to B may leave its shape"):
        check(f"{start}B[{place}] = 0.0", DATA)
    assert check(f"{start}if {place} >= 0 and {place} < 16:\n    B[{place}] = 0.0", DATA) == Verified(())


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(16):\n    if 0 <= idx[i] and idx[i] < 16:\n        B[idx[i]] = 0.0",
        "for i in range(16):\n    k = idx[i]\n    if k >= 0:\n        if k < 16:\n            B[k] = 0.0",
        "for i in range(16):\n    T.assume(0 <= idx[i] and idx[i] < 16)\n    B[idx[i]] = 0.0",
        "for i in range(16):\n    B[T.min(T.max(idx[i], 0), 15)] = 0.0",
        "for i in range(16):\n    B[idx[i] % 16] = 0.0",
    ],
)
def test_guarded_data_is_proven(body: str):
    assert check(body, DATA) == Verified(())


@pytest.mark.parametrize(
    "body",
    [
        # the guard looks at another element, the element changes in between, or the facts belong to another iteration
        "for i in range(15):\n    if 0 <= idx[i] and idx[i] < 16:\n        B[idx[i + 1]] = 0.0",
        "if 0 <= idx[0] and idx[0] < 16:\n    idx[0] = 99\n    B[idx[0]] = 0.0",
        "for i in range(16):\n    T.assume(0 <= idx[i] and idx[i] < 16)\nfor i in range(16):\n    B[idx[i]] = 0.0",
    ],
)
def test_guards_on_other_data_prove_nothing(body: str):
    assert [u.text.startswith("B[idx") for u in check(body, DATA).unproven] == [True]


def test_what_branches_on_data_teach_leaves_no_certainty():
    body = "if A[0] > 0.0:\n    T.assume(n < 17)\nelse:\n    T.assume(n < 18)\nfor i in range(n):\n    B[i] = 0.0"
    (access,) = check(body, DATA).unproven
    assert access.text == "B[i]"
    assert check(body.replace("18", "17"), DATA) == Verified(())


def test_stray_loads_can_be_allowed():
    func = parse(
        '@T.prim_func\ndef f(A: T.Buffer(16, "float32"), B: T.Buffer(17, "float32")):\n'
        "    for i in range(17):\n        B[i] = A[i]\n"
    ).funcs[0]
    with pytest.raises(VerifyError, match="load from A"):
        verify(func)
    (access,) = verify(func, allow_stray_loads=True).unproven
    assert access.kind == "load" and "undef" in access.reason
    stray = parse('@T.prim_func\ndef f(B: T.Buffer(16, "float32")):\n    B[16] = 0.0\n').funcs[0]
    with pytest.raises(VerifyError, match="store to B"):
        verify(stray, allow_stray_loads=True)


# Assumptions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "cond", "shown"),
    [
        ("T.assume(1 > 2)", "False", {}),
        ("T.assume(n < 4)\nT.assume(n > 8)", "n > 8", {"n": 0}),
        ("for i in range(16):\n    T.assume(i < 10)", "i < 10", {"i": 10}),
        ("for i in range(16):\n    T.assume(i != 3)", "i != 3", {"i": 3}),
        ("if n < 4:\n    T.assume(n > 8)", "n > 8", {"n": 0}),
        ("T.assume(n == 12)\nfor i in range(n):\n    T.assume(i < 10)", "i < 10", {"n": 12, "i": 10}),
        ("for i in range(4):\n    k = 2 * i\n    T.assume(k < 6)", "k < 6", {"i": 3, "k": 6}),
        ("assert n > 3\nT.assume(n < 2)", "n < 2", {"n": 4}),
        ("T.assume(idx[0] == 1)\nT.assume(idx[0] == 2)", "idx[0] == 2", {}),
        ("for i in range(16):\n    T.assume(i < 10 and A[i] == 0.0)", "i < 10 and A[i] == 0.0", {"i": 10}),
    ],
)
def test_false_assumptions_are_refused(body: str, cond: str, shown: dict[str, int]):
    error = refused(body, DATA)
    assert error.code == "assumption-false" and f"`{cond}`" in error.message
    assert (witness(error) if shown else {}) == shown
    assert error.span is not None and error.span.text.strip().startswith("T.assume")


@pytest.mark.parametrize(
    "body",
    [
        "T.assume(n < 4)\nT.assume(n > 2)",
        "for i in range(16):\n    T.assume(i < 16)",
        "for i in range(n):\n    T.assume(i < 10)",
        "T.assume(n <= 12)\nfor i in range(n):\n    T.assume(i < 10)",
        "if n > 3 and n < 3:\n    T.assume(n > 8)",
        "for i in range(0):\n    T.assume(i < 0)",
        "if A[0] > 0.0:\n    T.assume(n * n < 0 and n < n)",
        "for i in range(16):\n    T.assume(i < 14 or A[i] == 0.0)\n    T.assume(i < 15 or A[i] == T.undef())",
        "for i in range(16):\n    T.assume(i < 10 or idx[i] == 2)",
        "for i in range(16):\n    x = idx[i]\n    T.assume(x < 4)",
        "T.assume(n * n == 49)",
    ],
)
def test_assumptions_that_can_hold_are_accepted(body: str):
    assert check(body, DATA) == Verified(())


# All of it -----------------------------------------------------------------------------------------------------------


@st.composite
def nests(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]], str, str]:
    """Ranges of two loops, a guard and an index, as text that Python understands as well."""
    ranges = [(draw(st.integers(-2, 3)), draw(st.integers(0, 6))) for _ in "ij"]
    small = st.integers(-3, 4)
    linear = st.builds("{} * i + {} * j + {}".format, small, small, small)
    term = st.one_of(linear, st.builds("({}) // {}".format, linear, st.sampled_from((2, 3, -2))),
                     st.builds("({}) % {}".format, linear, st.sampled_from((2, 5, -4))))  # fmt: skip
    guard = draw(st.builds("{} {} {}".format, term, st.sampled_from(("<", ">=", "==", "!=")), small))
    if draw(st.booleans()):
        guard = f"({guard}) {draw(st.sampled_from(('and', 'or')))} ({draw(linear)}) <= {draw(small)}"
    index = draw(term)
    text = f"for i in range({ranges[0][0]}, {sum(ranges[0])}):\n    for j in range({ranges[1][0]}, {sum(ranges[1])}):\n"
    return f"{text}        if {guard}:\n            C[{index}] = 0.0", ranges, guard, index


@given(nests(), st.integers(1, 12))
def test_the_verdict_is_that_of_running_every_iteration(nest: tuple[str, list[tuple[int, int]], str, str], extent: int):
    text, ranges, guard, index = nest
    spans = [range(start, start + count) for start, count in ranges]
    env = [{"i": i, "j": j} for i, j in itertools.product(*spans)]
    leaving = [e for e in env if eval(guard, {}, e) and not 0 <= eval(index, {}, e) < extent]
    params = f'C: T.Buffer({extent}, "float32")'
    if not leaving:
        assert check(text, params) == Verified(())
        return
    error = refused(text, params)
    shown = witness(error)
    assert shown.items() <= leaving[0].items(), "the first failing iteration is the witness"
    assert f"reaches {eval(index, {}, leaving[0])}," in error.notes[0]


@given(programs(), st.integers(-1, 2), st.integers(0, 2**32 - 1))
def test_proven_stores_never_fault_and_refuted_ones_do(func: PrimFunc, shift: int, seed: int):
    """The programs are in bounds as drawn; moving their stores takes some of them out."""

    def moved(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store):
            return stmt
        return replace(stmt, indices=(*stmt.indices[:-1], stmt.indices[-1] + shift))

    func = replace(func, body=map_stmt(func.body, on_stmt=moved))
    values: dict[str, int | float] = {}
    refuted = False
    try:
        unproven = verify(func, allow_stray_loads=True).unproven
        assume(all(access.kind == "load" for access in unproven))
    except VerifyError as error:
        assume(error.code == "store-out-of-bounds")
        refuted = True
        if any("n = " in note for note in error.notes):
            values["n"] = witness(error)["n"]
    try:
        inputs = random_inputs(func, np.random.default_rng(seed), values)
    except LoopsatError:
        assume(False)
        return
    faults: list[str] = []
    try:
        interpret(func, **inputs)
    except InterpretError as error:
        faults.append(error.code)
    if refuted:  # a note that names no n says that any will do
        assert faults, "the witness is not one"
    if not refuted:
        assert "store-out-of-bounds" not in faults


def test_many_guarded_stores_are_checked():
    lines = []
    for nest in range(10):
        lines.append("for i, j in T.grid(64, 64):")
        for k in range(100):
            lines.append(f"    if i + {k % 60} < 64 and 2 * j < {64 + k}:")
            lines.append(f"        C[i + {k % 60}, (2 * j + {nest % 9}) // 4] = {k}.0")
    body = "\n".join("    " + line for line in lines)
    func = parse(f'@T.prim_func\ndef f(C: T.Buffer((64, 64), "float32")):\n{body}\n').funcs[0]
    assert verify(func) == Verified(())


def test_hard_questions_are_given_up_and_not_waited_for():
    terms = [f"T.max(i * {k} % {k + 7}, T.min(n // {k}, j - {k}))" for k in range(2, 14)]
    index = terms[0]
    for term in terms[1:]:
        index = f"T.min(T.max({index}, {term}), {term} + 3)"
    before = pb.steps()
    result = check(f"for i, j in T.grid(99, n):\n    B[({index}) % 17 // 16 * n] = 0.0")
    assert pb.steps() - before < 1_000_000
    assert len(result.unproven) == 1
