"""Loops that insert each of many values into a few in order look for the best of all, and only those that do."""

# ruff: noqa: E501
from __future__ import annotations

import jax
import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from forced import at_random
from ir import interpret
from ir.floats import Floats
from lower.emission.function import emit_function
from lower.restructure.pipeline import form_of
from lower.runtime.callable import Kernel
from lowered import assert_agrees, kernel_of, read
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e6, launch=1e4, written_out=1)
ROWS = 'A: T.Buffer((6, 20), "{0}"), V: T.Buffer((6, 3), "{0}"), K: T.Buffer((6, 3), "int32")'
START = "for r in range(6):\n    for k in range(3):\n        V[r, k] = {start}\n        K[r, k] = -1\n    for i in range(20):\n"


def check(params: str, body: str, low: int = -3, high: int = 4) -> list[str]:
    """Compare with the interpreter on data with many equal values; returns the report of the lowering."""
    func = read(params, body)
    kernel = kernel_of(func, EAGER)
    form = form_of(func, EAGER)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shapes = [tuple(int(d.value) for d in b.shape) for b in func.buffers]  # pyright: ignore[reportAttributeAccessIssue]
        inputs = {
            b.name: rng.integers(low, high, s).astype(b.dtype.numpy) for b, s in zip(func.buffers, shapes, strict=True)
        }
        for name, array in inputs.items():
            if array.dtype.kind == "f":
                inputs[name] = np.where((array == 0) & (rng.integers(0, 2, array.shape) > 0), -array, array)
        assert_agrees(func, kernel, inputs)
        if seed == 0:
            for name, want, got in zip("VK", interpret(func, **inputs), interpret(form, **inputs), strict=False):
                np.testing.assert_array_equal(got, want, err_msg=f"{name} of\n{form}")
    return kernel.report


def rows(step: str, dtype: str = "int32", start: str = "-9", before: str = "") -> tuple[str, str]:
    """A program that does a step for each element of rows."""
    body = START.format(start=start) + "".join(f"        {line}\n" for line in (before + step).splitlines())
    return ROWS.format(dtype), body


CASES = "if A[r, i] {0} V[r, 0]:\n    V[r, 2] = V[r, 1]\n    K[r, 2] = K[r, 1]\n    V[r, 1] = V[r, 0]\n    K[r, 1] = K[r, 0]\n    V[r, 0] = A[r, i]\n    K[r, 0] = i\nelif A[r, i] {0} V[r, 1]:\n    V[r, 2] = V[r, 1]\n    K[r, 2] = K[r, 1]\n    V[r, 1] = A[r, i]\n    K[r, 1] = i\nelif A[r, i] {0} V[r, 2]:\n    V[r, 2] = A[r, i]\n    K[r, 2] = i"
UPWARD = "if A[r, i] {0} V[r, 2]:\n    V[r, 2] = A[r, i]\n    K[r, 2] = i\n    for k in range(2):\n        if V[r, 2 - k] {0} V[r, 1 - k]:\n            t = V[r, 2 - k]\n            V[r, 2 - k] = V[r, 1 - k]\n            V[r, 1 - k] = t\n            q = K[r, 2 - k]\n            K[r, 2 - k] = K[r, 1 - k]\n            K[r, 1 - k] = q"
NETWORK = "s = T.alloc_buffer((1,), '{0}')\ns[0] = A[r, i]\nfor k in range(3):\n    lo = T.min(V[r, k], s[0])\n    hi = T.max(V[r, k], s[0])\n    V[r, k] = {1}\n    s[0] = {2}"
INSERTED = {
    "largest by cases": rows(CASES.format(">")),
    "largest, last first": rows(CASES.format(">=")),
    "smallest by cases": rows(CASES.format("<"), start="9"),
    "smallest, last first": rows(CASES.format("<="), "float32", "9.0"),
    "of floats": rows(CASES.format(">"), "float32", "-9.0"),
    "of short integers": rows(CASES.format("<"), "int16", "9"),
    "of half floats": rows(CASES.format("<"), "float16", "9.0"),
    "of long integers": rows(CASES.format(">"), "int64"),
    "from what may be best": rows(CASES.format(">"), start="1"),
    "upward": rows(UPWARD.format(">")),
    "upward, smallest": rows(UPWARD.format("<"), start="9"),
    "by minima and maxima": rows(NETWORK.format("float32", "lo", "hi"), "float32", "9.0"),
    "largest by minima and maxima": rows(NETWORK.format("int32", "hi", "lo")),
    "of some": rows("if i != r:\n" + "".join(f"    {line}\n" for line in CASES.format(">").splitlines())),
    "of some by data": rows("if A[5 - r, i] > 0:\n" + "".join(f"    {line}\n" for line in CASES.format(">").splitlines())),
    "where few count": rows("if A[5 - r, i] > 1 and i % 4 == 2:\n" + "".join(f"    {line}\n" for line in CASES.format(">").splitlines())),
    "of a value by itself": rows("d = A[r, i] * A[5 - r, i] - i\n" + CASES.format("<").replace("A[r, i]", "d"), start="99"),
    "of a part": (ROWS.format("int32"), START.format(start="-9").replace("range(20)", "range(r, 20)") + "".join(f"        {line}\n" for line in CASES.format(">").splitlines())),
    "two, in locals": (ROWS.format("int32"), "for r in range(6):\n    a = T.alloc_buffer((1,), 'int32')\n    b = T.alloc_buffer((1,), 'int32')\n    a[0] = -9\n    b[0] = -10\n    for i in range(20):\n        if A[r, i] > a[0]:\n            b[0] = a[0]\n            a[0] = A[r, i]\n        else:\n            b[0] = T.max(b[0], A[r, i])\n    V[r, 0] = a[0]\n    V[r, 1] = b[0]"),
    "two, of a matrix": ('A: T.Buffer((6, 20), "int32"), V: T.Buffer((2,), "int32"), K: T.Buffer((2, 2), "int32")', "V[0] = -9\nV[1] = -9\nfor r, i in T.grid(6, 20):\n    if A[r, i] > V[0]:\n        V[1] = V[0]\n        K[1, 0] = K[0, 0]\n        K[1, 1] = K[0, 1]\n        V[0] = A[r, i]\n        K[0, 0] = r\n        K[0, 1] = i\n    elif A[r, i] > V[1]:\n        V[1] = A[r, i]\n        K[1, 0] = r\n        K[1, 1] = i"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(INSERTED.values(), 1), ids=INSERTED.keys())
def test_insertions(params: str, body: str) -> None:
    report = check(params, body)
    assert any("best over" in line for line in report), report
    assert not any("i stays a loop" in line for line in report), report


def test_any_other_decisions_beside_it() -> None:
    """What is handed on has a dimension for each axis around, whatever order the loops behind it get."""
    func = read(*rows(NETWORK.format("float32", "lo", "hi"), "float32", "9.0"))
    rng = np.random.default_rng(0)
    inputs = {b.name: rng.integers(-3, 4, (6, 20 if b.name == "A" else 3)).astype(b.dtype.numpy) for b in func.buffers}
    for seed in range(6):
        assert_agrees(func, Kernel(at_random(func, seed, EAGER), jax.devices()[0]), inputs)


SWAPS = "s = T.alloc_buffer((1,), 'int32')\nq = T.alloc_buffer((1,), 'int32')\ns[0] = A[r, i]\nq[0] = i\nfor k in range(3):\n    if s[0] > V[r, k]:\n        t = V[r, k]\n        V[r, k] = s[0]\n        s[0] = t\n        u = K[r, k]\n        K[r, k] = q[0]\n        q[0] = u"
OTHERS = {
    "places of equal ones part": rows(SWAPS),
    "not in order before": (ROWS.format("int32"), "for r in range(6):\n    for i in range(20):\n" + "".join(f"        {line}\n" for line in CASES.format(">").splitlines())),
    "in another order before": (ROWS.format("int32"), "for r in range(6):\n    V[r, 0] = -9\n    V[r, 1] = -8\n    V[r, 2] = -9\n    for i in range(20):\n" + "".join(f"        {line}\n" for line in CASES.format(">").splitlines())),
    "one is not moved on": rows(CASES.format(">").replace("    V[r, 2] = V[r, 1]\n", "", 1)),
    "a place is not moved on": rows(CASES.format(">").replace("    K[r, 2] = K[r, 1]\n", "", 1)),
    "first and last mixed": rows(CASES.format(">").replace("elif A[r, i] > V[r, 1]", "elif A[r, i] >= V[r, 1]")),
    "another value": rows(CASES.format(">").replace("V[r, 1] = A[r, i]", "V[r, 1] = A[r, i] - 1")),
    "compared with another": rows(CASES.format(">").replace("A[r, i] > V[r, 1]", "A[r, i] > K[r, 1]")),
    "counts": rows(CASES.format(">") + "\n    K[r, 2] = K[r, 2] + 1"),
    "kept from step to step": rows(CASES.format(">").replace("K[r, 0] = i", "K[r, 0] = K[r, 0] + 1")),
    "set back to a number": rows(CASES.format(">"), before="if i == 4:\n    V[r, 1] = 7\n"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(OTHERS.values(), 2), ids=OTHERS.keys())
def test_near_misses_stay_right(params: str, body: str) -> None:
    report = check(params, body)
    assert not any("best over" in line for line in report), report


def test_strict_floats_are_compared_in_turn() -> None:
    func = read(*rows(CASES.format(">"), "float32", "-9.0"))
    report = Kernel(emit_function(func, target=EAGER, floats=Floats.STRICT), jax.devices()[0]).report
    assert not any("best over" in line for line in report), report
