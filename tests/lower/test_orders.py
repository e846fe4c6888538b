"""Orders of dependent loops: factorizations become steps around array work, and no order changes a result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc
from ir.errors import InterpretError
from ir.semantics.inputs import random_inputs
from ir.semantics.interpret import interpret_with_undef
from lowered import assert_agrees, kernel_of, read
from profiles import few, some
from symbolic import with_numbers_and_with_symbols

EAGER = replace(CPU, name="eager", scalar=1e4, launch=1.0)  # any array statement is worth it
N = 5


def check(func: PrimFunc, seed: int = 0) -> list[str]:
    """Compare with the interpreter; returns the report of the lowering."""
    inputs = random_inputs(func, np.random.default_rng(seed))
    for name, value in inputs.items():
        if np.ndim(value) == 2 and value.shape[0] == value.shape[1] and value.dtype.kind == "f":
            inputs[name] = (value / 4 + 4 * np.eye(len(value))).astype(value.dtype)
    kernel = kernel_of(func, EAGER)
    assert_agrees(func, kernel, inputs, 2e-3)
    return kernel.report


def loops(report: list[str]) -> int:
    return sum("stays a loop" in line for line in report)


SQUARE = 'A: T.Buffer((12, 12), "float32")'


@pytest.mark.parametrize(
    ("params", "body", "steps"),
    some(
        [
            pytest.param(
                SQUARE,
                """
for i in T.serial(12):
    for j in T.serial(i):
        for k in T.serial(j):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]
        A[i, j] = A[i, j] / A[j, j]
    for j in T.serial(i, 12):
        for k in T.serial(i):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]
""",
                1,
                id="lu",
            ),
            pytest.param(
                SQUARE,
                """
for i in T.serial(12):
    for j in T.serial(i):
        for k in T.serial(j):
            A[i, j] = A[i, j] - A[i, k] * A[j, k]
        A[i, j] = A[i, j] / A[j, j]
    for k in T.serial(i):
        A[i, i] = A[i, i] - A[i, k] * A[i, k]
    A[i, i] = T.sqrt(A[i, i])
""",
                1,
                id="cholesky",
            ),
            pytest.param(
                SQUARE + ', x: T.Buffer((12,), "float32")',
                """
for i in T.serial(12):
    for j in T.serial(i):
        x[i] = x[i] - A[i, j] * x[j]
    x[i] = x[i] / A[i, i]
""",
                0,
                id="triangular solve",
            ),
            pytest.param(
                SQUARE + ', B: T.Buffer((12, 9), "float32")',
                """
for i in T.serial(12):
    for j in T.serial(9):
        for k in T.serial(i + 1, 12):
            B[i, j] = B[i, j] + A[k, i] * B[k, j]
        B[i, j] = 1.5 * B[i, j]
""",
                0,
                id="triangular product",
            ),
            pytest.param(
                SQUARE,
                """
for k in T.serial(12):
    for i in T.serial(12):
        for j in T.serial(12):
            A[i, j] = T.min(A[i, j], A[i, k] + A[k, j])
""",
                2,  # one in each version: so small an array stays whole
                id="shortest paths, of negative lengths too",
            ),
        ],
        0.4,
    ),
)
def test_factorizations(params: str, body: str, steps: int) -> None:
    assert loops(check(read(params, body))) == steps


def test_held_values_turn_with_their_axes() -> None:
    body = "for i in T.serial(5):\n    for j in T.serial(i, 5):\n        A[i, j] = B[i, j]\n        A[j, i] = A[i, j]"
    check(read('A: T.Buffer((5, 5), "float32"), B: T.Buffer((5, 5), "float32")', body))


def test_an_order_that_dependences_forbid_is_not_taken() -> None:
    report = check(
        read(SQUARE, "for i in T.serial(11):\n    for j in T.serial(11):\n        A[i + 1, j] = A[i, j + 1]")
    )
    assert loops(report) == 1


@st.composite
def nests(draw: st.DrawFn) -> PrimFunc:
    """Up to three loops with bounds that depend on each other, and statements at all depths over shared buffers."""
    lines: list[str] = []

    def place(scope: list[str]) -> str:
        def index() -> str:
            return draw(st.sampled_from(scope)) + draw(st.sampled_from(("", "", "", " + 1")))

        return f"{draw(st.sampled_from('AAB'))}[{index()}, {index()}]"

    def statement(scope: list[str]) -> None:
        target, value = place(scope), f"{place(scope)} * {place(scope)}"
        form = draw(st.sampled_from(("add", "add", "sub", "set", "scale")))
        text = {"add": f"{target} + {value}", "sub": f"{target} - {value}", "set": value, "scale": f"{target} * 0.5"}
        lines.append(f"{'    ' * len(scope)}{target} = {text[form]}")

    def loop(scope: list[str]) -> None:
        var = "ijk"[len(scope)]
        bounds = [f"{N}"]
        if scope:
            outer = scope[-1]
            bounds += [outer, f"{outer} + 1", f"{outer}, {N}"]
        lines.append(f"{'    ' * len(scope)}for {var} in T.serial({draw(st.sampled_from(bounds))}):")
        inner = [*scope, var]
        kinds = ("statement", "loop") if len(inner) < 3 else ("statement",)
        for _ in range(draw(st.integers(1, 2))):
            if draw(st.sampled_from(kinds)) == "loop":
                loop(inner)
            else:
                statement(inner)

    loop([])
    if not any("=" in line for line in lines):
        statement(["i"])
    return read(
        f'A: T.Buffer(({N + 2}, {N + 2}), "int32"), B: T.Buffer(({N + 2}, {N + 2}), "int32")',
        "\n".join(line.replace("* 0.5", "* 2") for line in lines),
    )


def small(func: PrimFunc) -> None:
    """Compare on numbers so small that nothing leaves its width."""
    rng = np.random.default_rng(0)
    inputs = {b.name: rng.integers(-1, 2, (N + 2, N + 2)).astype(np.int32) for b in func.buffers}
    try:
        expected = interpret_with_undef(func, **inputs)
    except InterpretError:  # a sum that leaves its width promises nothing
        return
    for same, sizes in with_numbers_and_with_symbols(func):
        kernel = kernel_of(same, EAGER)
        for (values, _), got in zip(expected, kernel(**inputs, **sizes), strict=True):
            np.testing.assert_array_equal(values, np.asarray(got), err_msg=kernel.source)


@few(2)
@given(nests())
def test_random_nests(func: PrimFunc) -> None:
    small(func)


@pytest.mark.fuzz
@settings(max_examples=1500)
@given(nests())
def test_many_random_nests(func: PrimFunc) -> None:
    small(func)
