"""Loops over ranges that data give: sparse rows, padded rows, lists with a count. Compared with the interpreter."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU, Target
from forced import alternatives
from ir.errors import InterpretError
from ir.nodes import Buffer, Const
from ir.semantics.interpret import interpret_with_undef
from lower.runtime.kernel import Kernel
from lowered import kernel_of, read
from profiles import some

EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4)


def shape(buffer: Buffer) -> tuple[int, ...]:
    return tuple(int(d.value) for d in buffer.shape if isinstance(d, Const))


def compare(kernel: Kernel, inputs: Mapping[str, Any]) -> bool:
    """Compare with the interpreter; False where the program is wrong for these inputs."""
    try:
        expected = interpret_with_undef(kernel.func, **inputs)
    except InterpretError:
        return False
    for (values, undef), got in zip(expected, kernel(**inputs), strict=True):
        want: Any = values[~undef]
        have = np.asarray(got)[~undef]
        if want.dtype.kind == "f":
            np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5, err_msg=kernel.source)
        else:
            np.testing.assert_array_equal(have, want, err_msg=kernel.source)
    return True


def compiled(params: str, body: str, target: Target = EAGER) -> Kernel:
    return kernel_of(read(params, body), target)


def has_loops(kernel: Kernel) -> bool:
    return any("stays a loop" in line for line in kernel.report)


N, ROWS = 37, 6
ROW = f'row: T.Buffer(({ROWS + 1},), "int32"), '
FLAT = ROW + f'val: T.Buffer(({N},), "float32"), col: T.Buffer(({N},), "int32"), x: T.Buffer((9,), "float32"), '
OUT = f'y: T.Buffer(({ROWS},), "float32")'
INTS = ROW + f'v: T.Buffer(({N},), "int32"), y: T.Buffer(({ROWS},), "int32")'
FLAGS = ROW + f'v: T.Buffer(({N},), "bool"), y: T.Buffer(({ROWS},), "bool")'
HEAD = f"for i in range({ROWS}):\n"
IN = "    for p in T.serial(row[i], row[i + 1]):\n"

RANGES = {
    "product with a vector": (FLAT + OUT, f"{HEAD}    y[i] = 0.0\n{IN}        y[i] = y[i] + val[p] * x[col[p]]"),
    "a local sum": (FLAT + OUT, f'{HEAD}    s = T.alloc_buffer((1,), "float32")\n    s[0] = 1.5\n{IN}        s[0] = s[0] + val[p] * x[col[p]]\n    y[i] = s[0] * 2.0'),
    "a difference": (FLAT + OUT, f"{HEAD}{IN}        y[i] = y[i] - val[p]"),
    "largest": (INTS, f"{HEAD}    y[i] = -5\n{IN}        y[i] = T.max(y[i], v[p])"),
    "smallest": (INTS, f"{HEAD}{IN}        y[i] = T.min(y[i], v[p] * 2 + p)"),
    "product": (INTS, f"{HEAD}    y[i] = 1\n{IN}        y[i] = y[i] * v[p]"),
    "any": (FLAGS, f"{HEAD}    y[i] = False\n{IN}        y[i] = y[i] or v[p]"),
    "all": (FLAGS, f"{HEAD}{IN}        y[i] = y[i] and v[p]"),
    "a factor of each row": (FLAT + 'd: T.Buffer((6,), "float32"), ' + OUT, f"{HEAD}    y[i] = 0.0\n{IN}        y[i] = y[i] + d[i] * val[p] * x[col[p]]"),
    "a distance": (FLAT + 'd: T.Buffer((6,), "float32"), ' + OUT, f"{HEAD}    y[i] = 0.0\n{IN}        y[i] = y[i] + (val[p] - d[i]) * (val[p] - d[i]) * x[col[p]]"),
    "a distance from a local of the row": (FLAT + 'd: T.Buffer((6,), "float32"), ' + OUT, f"t = T.alloc_buffer((1,), 'float32')\n{HEAD}    t[0] = d[i] * d[i]\n    y[i] = 0.0\n{IN}        y[i] = y[i] + (val[p] - t[0]) * x[col[p]]"),
    "some by a local of the row": (INTS, f"t = T.alloc_buffer((1,), 'int32')\n{HEAD}    t[0] = i - y[i] % 4\n{IN}        if v[p] > t[0]:\n            y[i] = T.max(y[i], v[p])"),
    "some of each row": (INTS, f"{HEAD}    y[i] = y[i] % 7\n{IN}        if v[p] > i - 4 and p % 2 == 0:\n            y[i] = T.max(y[i], v[p] * i)"),
    "some rows from the third": (INTS, "for i in T.serial(2, 6):\n    for p in T.serial(row[i] + 1, row[i + 1] + 1):\n        y[2] = y[2] + (v[p - 1] + i) * p"),
    "a factor of some entries": (INTS + ', d: T.Buffer((6,), "int32")', f"{HEAD}{IN}        if v[p] > 0:\n            y[i] = y[i] + v[p] * d[i]"),
    "some entries": (INTS, f"{HEAD}    y[i] = 0\n{IN}        if v[p] > 0:\n            y[i] = y[i] + v[p]"),
    "some rows": (INTS, f"{HEAD}    if i % 2 == 0:\n        y[i] = 0\n    if y[i] < 2:\n        for p in T.serial(row[i], row[i + 1]):\n            y[i] = y[i] + v[p]"),
    "shifted": (INTS, f"{HEAD}    y[i] = 0\n    for p in T.serial(row[i] + 3, row[i + 1] + 3):\n        y[i] = y[i] + v[p - 3]"),
    "start and length": (INTS, f"{HEAD}    y[i] = 0\n    for p in range(row[i + 1]):\n        y[i] = y[i] + v[p]"),
    "one total": (INTS, f"{HEAD}{IN}        y[2] = y[2] + v[p]"),
    "one total of some": (INTS, f"{HEAD}    if i > 1 and row[i] > 2:\n        for p in T.serial(row[i], row[i + 1]):\n            y[2] = T.max(y[2], v[p])"),
    "places from data": (INTS, f"{HEAD}{IN}        y[row[i] % 6] = y[row[i] % 6] + v[p]"),
    "rows of a matrix": (FLAT + f'X: T.Buffer((9, 4), "float32"), Y: T.Buffer(({ROWS}, 4), "float32")', f"for i, k in T.grid({ROWS}, 4):\n    Y[i, k] = 0.0\n{HEAD}{IN}        for k in range(4):\n            Y[i, k] = Y[i, k] + val[p] * X[col[p], k]"),
    "columns first": (FLAT + f'X: T.Buffer((9, 4), "float32"), Y: T.Buffer((4, {ROWS}), "float32")', f"for k in range(4):\n    for i in range({ROWS}):\n        Y[k, i] = 0.0\n        for p in T.serial(row[i], row[i + 1]):\n            Y[k, i] = Y[k, i] + val[p] * X[col[p], k]"),
    "sums within entries": (FLAT + 'X: T.Buffer((9, 4), "float32"), ' + OUT, f"{HEAD}    y[i] = 0.0\n{IN}        for k in range(4):\n            y[i] = y[i] + val[p] * X[col[p], k]"),
}  # fmt: skip

rows = st.one_of(
    st.lists(st.integers(0, N), min_size=ROWS + 1, max_size=ROWS + 1).map(sorted),
    st.lists(st.integers(0, N), min_size=ROWS + 1, max_size=ROWS + 1),
    st.lists(st.integers(-2, N + 3), min_size=ROWS + 1, max_size=ROWS + 1),
)


def given_rows(kernel: Kernel, pointers: list[int], seed: int) -> dict[str, Any]:
    """Random inputs with these rows; what no row has is not a number."""
    rng = np.random.default_rng(seed)
    inputs: dict[str, Any] = {}
    for b in kernel.func.buffers:
        if b.name == "row":
            value = np.array(pointers)
        elif b.name == "col":
            value = rng.integers(0, 9, shape(b))
        elif b.dtype.is_float:
            value = rng.uniform(-2, 2, shape(b))
        else:
            value = rng.integers(0 if b.dtype.numpy == np.bool_ else -3, 2, shape(b))
        inputs[b.name] = value.astype(b.dtype.numpy)
    if "val" in inputs:
        used = [any(a <= p < b for a, b in pairwise(pointers)) for p in range(N)]
        inputs["val"][~np.array(used)] = np.nan
    return inputs


@pytest.mark.parametrize(("params", "body"), some(RANGES.values(), 1), ids=RANGES.keys())
def test_ranges(params: str, body: str) -> None:
    kernel = compiled(params, body, replace(EAGER, mask=1e4))
    assert not has_loops(kernel), kernel.report
    assert any("over ranges of p" in line for line in kernel.report), kernel.report

    @settings(max_examples=12, deadline=None)
    @given(rows, st.integers(0, 99))
    def same(pointers: list[int], seed: int) -> None:
        compare(kernel, given_rows(kernel, pointers, seed))

    same()
    assert compare(kernel, given_rows(kernel, [0, 5, 5, 6, 17, 30, N], 1))


WIDTH = 7
PADDED = f'row: T.Buffer(({ROWS},), "int32"), A: T.Buffer(({ROWS}, {WIDTH}), "float32"), x: T.Buffer(({WIDTH},), "float32"), '
COUNTED = f'n: T.Buffer((1,), "int32"), v: T.Buffer(({N},), "int32"), w: T.Buffer(({N},), "int32")'
LENGTH = "    for p in range(row[i]):\n"

MASKS = {
    "padded rows": (PADDED + OUT, f"{HEAD}    y[i] = 0.0\n{LENGTH}        y[i] = y[i] + A[i, p] * x[p]"),
    "largest of padded rows": (PADDED + OUT, f"{HEAD}    y[i] = -9.0\n{LENGTH}        y[i] = T.max(y[i], A[i, p])"),
    "stores to padded rows": (PADDED + f'B: T.Buffer(({ROWS}, {WIDTH}), "float32")', f"{HEAD}{LENGTH}        B[i, p] = A[i, p] * 2.0\n        A[i, p] = x[p]"),
    "a local of each row": (PADDED + OUT, f'{HEAD}    s = T.alloc_buffer((1,), "float32")\n    s[0] = 0.0\n{LENGTH}        s[0] = s[0] + A[i, p] * x[p]\n    y[i] = s[0] - 1.0'),
    "a local array of each row": (PADDED + OUT, f'{HEAD}    s = T.alloc_buffer(({WIDTH},), "float32")\n    y[i] = 0.0\n{LENGTH}        s[p] = A[i, p] * 0.5\n    for p in range(row[i]):\n        s[p] = s[p] + 1.0\n        y[i] = y[i] + s[p] * x[p]'),
    "a list with a count": (COUNTED, "for p in range(n[0]):\n    w[p] = v[p] + p"),
    "total of a list": (COUNTED, "for p in range(n[0]):\n    w[0] = w[0] + v[p]"),
    "several of a list": (COUNTED, "for p in T.serial(n[0], 30):\n    v[p] = v[p] * 2\n    w[p] = v[p] + w[p]"),
    "the other way": (COUNTED, f"for p in range(n[0]):\n    w[p] = v[{N - 1} - p]"),
    "a triangle in it": (COUNTED, "for p in range(n[0]):\n    for q in range(p):\n        w[p] = w[p] + v[q]"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(MASKS.values(), 0.3), ids=MASKS.keys())
def test_masks(params: str, body: str) -> None:
    kernel = compiled(params, body)
    assert not has_loops(kernel), kernel.report
    check_lengths(kernel)


STEPS = {
    "each row in order": (PADDED + OUT, f"{HEAD}{LENGTH}        y[i] = y[i] * 0.5 + A[i, p] * x[p]"),
    "along each row": (PADDED + OUT, f"{HEAD}    for p in T.serial(1, row[i]):\n        A[i, p] = A[i, p - 1] * x[p] + A[i, p]"),
    "rows in order": (PADDED + OUT, f"for i in T.serial(1, {ROWS}):\n{LENGTH}        y[i] = y[i] + A[i, p] * y[i - 1]"),
    "a list in order": (COUNTED, "for p in T.serial(1, n[0]):\n    w[p] = w[p - 1] * w[p] % 7 + v[p]"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), STEPS.values(), ids=STEPS.keys())
def test_steps_under_masks(params: str, body: str) -> None:
    kernel = compiled(params, body)
    assert has_loops(kernel), kernel.report
    check_lengths(kernel)


def check_lengths(kernel: Kernel) -> None:
    """Compare for random lengths; what is beyond them is not a number."""
    compared = 0
    for seed in range(12):
        inputs = given_rows(kernel, [], seed)
        rng = np.random.default_rng(seed)
        if "row" in inputs:
            inputs["row"] = rng.integers(-1, WIDTH + 1 + seed % 3, ROWS).astype(np.int32)
            inputs["A"][np.arange(WIDTH) >= inputs["row"][:, None]] = np.nan
        else:
            inputs["n"] = rng.integers(-1, N + 1, 1).astype(np.int32)
        compared += compare(kernel, inputs)
    assert compared > 2


STAY = {
    "rows need each other": (FLAT + OUT, f"{HEAD}{IN}        y[i] = y[i] + val[p] * y[col[p] % {ROWS}]"),
    "the row matters to rows": (FLAT + 'd: T.Buffer((6,), "float32"), X: T.Buffer((9, 4), "float32"), Y: T.Buffer((6, 4), "float32")', f"{HEAD}{IN}        for k in range(4):\n            Y[i, k] = Y[i, k] + T.max(d[i], val[p]) * X[col[p], k]"),
    "in order": (FLAT + OUT, f"{HEAD}{IN}        y[i] = y[i] * 0.5 + val[p]"),
    "nothing bounds it": (INTS, f"{HEAD}    y[i] = 0\n{IN}        y[i] = y[i] + p"),
    "a product may be zero": (ROW + f'v: T.Buffer(({N},), "int32"), d: T.Buffer((6,), "int32"), y: T.Buffer(({ROWS},), "int32")', f"{HEAD}    y[i] = 1\n{IN}        y[i] = T.max(y[i], v[p] * (p % 2))"),
    "ranges within ranges": (INTS, f"{HEAD}    y[i] = 0\n{IN}        for q in range(v[p]):\n            y[i] = y[i] + v[q]"),
    "two statements": (FLAT + 'z: T.Buffer((6,), "float32"), ' + OUT, f"{HEAD}{IN}        y[i] = y[i] + val[p]\n        z[i] = y[i] + z[i]"),
}  # fmt: skip


@pytest.mark.parametrize(("params", "body"), some(STAY.values(), 0.21), ids=STAY.keys())
def test_near_misses_stay_right(params: str, body: str) -> None:
    kernel = compiled(params, body)
    assert not any("over ranges" in line for line in kernel.report), kernel.report
    for seed, pointers in enumerate(([0, 5, 5, 6, 17, 30, N], [9, 3, 20, 0, N, 5, 5], [1, 1, 1, 1, 1, 1, 1])):
        assert compare(kernel, given_rows(kernel, pointers, seed))


def test_prices_decide() -> None:
    params, body = RANGES["product with a vector"]
    steps_are_free = replace(CPU, name="other", scalar=0.1, step=0.0)
    loops, ranges = (kernel_of(read(params, body), t) for t in (steps_are_free, CPU))
    assert has_loops(loops) and not has_loops(ranges), (loops.report, ranges.report)


RANGED = {
    "sums": ("0.0", "Y[i] + V[k] * X[C[k]]", "reduce_ranges"),
    "maxima": ("-100.0", "T.max(Y[i], V[k] * X[C[k]])", "reduce_ranges"),
    "sums of terms of their rows": ("0.0", "Y[i] + X[C[k]] * T.sin(V[k] * X[i])", "reduce_rows"),
}


@pytest.mark.parametrize(("start", "step", "form"), some(RANGED.values(), 0.23), ids=RANGED.keys())
def test_derivatives_go_backward(start: str, step: str, form: str) -> None:
    rows, length = 20, 2000
    kernel = compiled(
        f'P: T.Buffer(({rows},), "int32"), Q: T.Buffer(({rows},), "int32"), V: T.Buffer(({length},), "float32"), '
        f'C: T.Buffer(({length},), "int32"), X: T.Buffer(({rows},), "float32"), Y: T.Buffer(({rows},), "float32")',
        f"for i in T.serial({rows}):\n    Y[i] = {start}\n    for k in T.serial(P[i], Q[i]):\n        Y[i] = {step}",
    )
    assert f" {form}(" in kernel.source.split("@jax.jit")[1]
    rng = np.random.default_rng(0)
    P = np.sort(rng.integers(0, length, rows)).astype(np.int32)
    C = rng.integers(0, rows, length).astype(np.int32)
    V, X, dV, dX, u = (rng.normal(size=n).astype(np.float32) for n in (length, rows, length, rows, rows))

    for overlap in (0, 30):
        Q = np.minimum(np.append(P[1:], length) + overlap, length).astype(np.int32)

        def results(v: jax.Array, x: jax.Array, Q: np.ndarray = Q) -> jax.Array:
            return kernel(P=P, Q=Q, V=v, C=C, X=x)[0]

        _, forward = jax.jvp(results, (V, X), (dV, dX))
        of_v, of_x = jax.vjp(results, V, X)[1](u)
        np.testing.assert_allclose(of_v @ dV + of_x @ dX, u @ forward, rtol=1e-3, atol=1e-2)
        assert np.abs(forward).max() > 0.1


@pytest.mark.parametrize(
    "update", some(["B[i] + 1.0 / A[k]", "T.max(B[i], C[i] / A[k])", "B[i] + T.sqrt(A[k]) * C[i]"], 0.23)
)
def test_what_is_in_no_range_has_no_derivative(update: str) -> None:
    func = read(
        'A: T.Buffer((12,), "float32"), C: T.Buffer((4,), "float32"), R: T.Buffer((5,), "int32"), B: T.Buffer((4,), "float32")',
        f"for i in T.serial(4):\n    for k in T.serial(R[i], R[i + 1]):\n        B[i] = {update}",
    )
    A = np.array([0, *range(1, 10), 0, 0], np.float32)
    C, R, B = np.ones(4, np.float32), np.array([1, 3, 3, 6, 10], np.int32), np.zeros(4, np.float32)
    for decision, emitted in alternatives(func, EAGER):
        if not emitted.forward_only:
            space: dict[str, Any] = {}
            exec(emitted.source, space)
            found = jax.grad(lambda a, f=space["f"]: f(a, C, R, B)[0].sum())(A)
            assert np.isfinite(found).all() and not np.any(found[A == 0]), decision
