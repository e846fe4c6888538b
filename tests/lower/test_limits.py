"""Programs at the limits of what Python and JAX take: deep and long values, large counts and extents, empty arrays."""

# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from compare import TOLERANCE
from egraph_rules import optimize
from ir import PrimFunc, parse
from ir.analysis import dependence
from ir.dtypes import DType
from ir.nodes import Const
from ir.presburger.sets import steps
from ir.semantics.interpret import interpret
from ir.traverse import all_exprs, nesting
from lower import compile
from lower.emission.function import emit_function
from lowered import read
from profiles import some
from symbolic import with_numbers_and_with_symbols

BILLIONS = "T.int64(3000000000)"


def agrees(func: PrimFunc, **inputs: Any) -> str:
    kernel = compile(func)
    for want, have in zip(interpret(func, **inputs), kernel(**inputs), strict=True):
        tolerance = TOLERANCE[DType.FLOAT32] if want.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(np.asarray(have), want, rtol=tolerance, err_msg=kernel.source)
    return kernel.source


def test_many_names_in_a_row() -> None:
    names = [f"x{k} = x{k - 1} * 0.5 + 0.25" for k in range(1, 241)]
    body = "\n    ".join(["for i in range(4):", "x0 = A[i] + 1.0", *names, "B[i] = x240"])
    func = read('A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")', body)
    agrees(func, A=np.arange(4, dtype=np.float32), B=np.zeros(4, np.float32))


def test_names_whose_values_double() -> None:
    names = [f"x{k} = x{k - 1} * x{k - 1} + x{k - 1}" for k in range(1, 17)]
    body = "\n    ".join(["for i in range(4):", "x0 = A[i] + T.uint8(1)", *names, "B[i] = x16"])
    func = read('A: T.Buffer((4,), "uint8"), B: T.Buffer((4,), "uint8")', body)
    agrees(func, A=np.arange(4, dtype=np.uint8), B=np.zeros(4, np.uint8))


def test_a_value_that_is_deeper_than_source_may_be() -> None:
    value = "A[i]"
    for _ in range(115):
        value = f"({value} + 1) * 1"
    func = read('A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")', f"for i in range(4):\n    B[i] = {value}")
    agrees(func, A=np.arange(4, dtype=np.int32), B=np.zeros(4, np.int32))


@pytest.mark.parametrize(("first", "want"), some([("A[0]", 499500), ("partial * A[0]", 499500), ("1", 499501)], 1))
def test_a_sum_of_a_thousand_terms(first: str, want: int) -> None:
    terms = " + ".join([first, *(f"A[{k}]" for k in range(1, 1000))])
    params = 'A: T.Buffer((1000,), "int32"), B: T.Buffer((2,), "int32"), partial: T.int32'
    func = read(params, f"y = {terms}\nB[0] = y\nB[1] = {terms}")
    assert max(map(nesting, all_exprs(func.body))) <= 110
    (found,) = interpret(func, A=np.arange(1000, dtype=np.int32), B=np.zeros(2, np.int32), partial=3)
    assert found.tolist() == [want, want]


def test_a_long_sum_is_compiled() -> None:
    terms = " + ".join(f"A[{k}]" for k in range(500))
    func = read('A: T.Buffer((500,), "int32"), B: T.Buffer((1,), "int32")', f"B[0] = {terms}")
    agrees(func, A=np.arange(500, dtype=np.int32), B=np.zeros(1, np.int32))


def test_a_long_sum_is_optimized() -> None:
    terms = " + ".join(f"A[{k}]" for k in range(300))
    func = read('A: T.Buffer((300,), "int32"), B: T.Buffer((1,), "int32")', f"B[0] = {terms}")
    inputs = {"A": np.arange(300, dtype=np.int32), "B": np.zeros(1, np.int32)}
    (want,), (have,) = interpret(func, **inputs), interpret(optimize(func).best, **inputs)
    np.testing.assert_array_equal(have, want)


def test_dependences_that_are_too_many_are_taken_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    statements = "\n    ".join(f"A[i, (j + {k}) % 5] = A[(i + {k}) % 4, j] + B[i, (j * {k}) % 5] % 7" for k in range(6))
    params = 'A: T.Buffer((4, 5), "int32"), B: T.Buffer((4, 5), "int32")'
    func, again = (read(params, f"for i, j in T.grid(4, 5):\n    {statements}") for _ in range(2))
    before = steps()
    whole = emit_function(again)
    all_of_them = steps() - before
    monkeypatch.setattr(dependence, "MOST_STEPS", all_of_them // 8)
    before = steps()
    emitted = emit_function(func)
    assert steps() - before < all_of_them
    said = "dependences between the last are assumed"
    assert any(said in note for note in emitted.report) and not any(said in note for note in whole.report)
    A, B = (np.random.default_rng(k).integers(-9, 9, (4, 5), np.int32) for k in range(2))
    agrees(func, A=A, B=B)


LARGE = {
    "sum of equal terms": ('B: T.Buffer((1,), "float32")', "B[0] = B[0] + 1.0"),
    "sum of equal integers": ('B: T.Buffer((1,), "int64")', "B[0] = B[0] + T.int64(1)"),
    "sum of narrow integers": ('A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")', "B[0] = B[0] + A[0]"),
    "positions": (f'B: T.Buffer(({BILLIONS},), "int8")', "B[i] = T.int8(i % T.int64(3))"),
    "mask": (f'A: T.Buffer(({BILLIONS},), "int8"), B: T.Buffer(({BILLIONS},), "int8")',
             "if i % T.int64(3) == T.int64(0):\n        B[i] = A[i]"),
    "steps": ('A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")',
              "B[0] = B[0] * A[0] + 1.0\n    if B[0] > 9.0:\n        B[0] = 0.0"),
    "far places": (f'A: T.Buffer(({BILLIONS},), "int8"), B: T.Buffer((4,), "int8")',
                   "if i < T.int64(4):\n        B[i] = A[T.int64(2999999000) + i]"),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_extents_beyond_32_bits_can_be_traced(name: str) -> None:
    params, body = LARGE[name]
    func = read(params, f"for i in T.serial({BILLIONS}):\n    {body}")
    emitted = emit_function(func)
    space: dict[str, Any] = {}
    exec(emitted.source, space)
    shapes = [tuple(int(d.value) for d in b.shape if isinstance(d, Const)) for b in func.buffers]
    given = [jax.ShapeDtypeStruct(s, b.dtype.numpy) for s, b in zip(shapes, func.buffers, strict=True)]
    with jax.enable_x64(emitted.wide):  # pyright: ignore[reportCallIssue]
        space[f"_{emitted.name}" if emitted.wide else emitted.name].lower(*given)


@pytest.mark.parametrize(("dtype", "value"), [("int8", 0), ("uint8", 7), ("int16", 0), ("uint32", 5)])
def test_counts_that_are_wider_than_what_they_count(dtype: str, value: int) -> None:
    func = read(
        f'A: T.Buffer((1,), "{dtype}"), B: T.Buffer((1,), "{dtype}")', "for i in range(300):\n    B[0] = B[0] + A[0]"
    )
    for same, sizes in with_numbers_and_with_symbols(func):
        agrees(same, A=np.full(1, value, dtype), B=np.zeros(1, dtype), **sizes)


@pytest.mark.parametrize("dtype", some(["int8", "uint8", "uint32"], 0.56))
@pytest.mark.parametrize(
    "loop",
    [
        "for i in T.serial(n - 1):\n    A[i] = B[i] + 1",
        "for i in T.serial(1, n):\n    A[i] = B[i] + 1",
        "for i in T.serial(n - 1):\n    if i - n < 9:\n        A[i] = A[n - i - 1] + B[i]",
    ],
)
def test_loops_up_to_scalars_of_any_dtype(dtype: str, loop: str) -> None:
    params = f'A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32"), n: T.{dtype}'
    func = read(params, f"T.assume(n >= 1)\nT.assume(n <= 9)\n{loop}")
    agrees(func, A=np.arange(9, dtype=np.int32), B=np.arange(9, dtype=np.int32) ** 2, n=5)


@pytest.mark.parametrize(
    "extent",
    ["T.min(n, T.uint8(9))", "T.cast(n * n, 'int32') % 8", "T.cast(T.sqrt(T.cast(n, 'float32')), 'int32')", "n >> 1"],
)
def test_sizes_that_are_any_functions_of_scalars(extent: str) -> None:
    params = 'A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32"), n: T.uint8'
    func = read(params, f"T.assume(n < 18)\nfor i in T.serial({extent}):\n    A[i] = B[i] + 1")
    agrees(func, A=np.arange(9, dtype=np.int32), B=np.arange(9, dtype=np.int32) ** 2, n=17)


@pytest.mark.parametrize(
    "body",
    some(
        [
            "for i, k in T.grid(T.min(n, 4), T.min(n + 1, 4)):\n    y[i] = y[i] + T.tanh(x[i + k])",
            "for i in T.serial(T.max(n - 1, 0), T.min(n, 4)):\n    y[3] = y[3] + x[2]",
            "for i, k in T.grid(T.min(n, 4), T.min(n, 4)):\n    if i < n:\n        y[k] = x[7 - k]",
            "for i in T.serial(T.max(n - 1, 0), T.min(n + 5, 8)):\n    for k in T.serial(5, T.min(n, 8)):\n        y[i] = y[i] + Y[i, k] * y[k]",
            "for k in T.serial(2, T.min(2 * n, 8)):\n    for j, i in T.grid(T.min(n, 8), T.min(2 * n, 8)):\n        if i < 3:\n            Y[k, j] = Y[i, k] * x[j]",
        ],
        0.6,
    ),
)
@pytest.mark.parametrize("n", [-3, 2])
def test_loops_up_to_a_scalar_below_zero_do_nothing(body: str, n: int) -> None:
    params = 'x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32"), Y: T.Buffer((8, 8), "float32"), n: T.int32'
    values = np.arange(64, dtype=np.float32).reshape(8, 8) % 5
    agrees(read(params, body), x=values[1], y=values[2], Y=values, n=n)


@pytest.mark.parametrize("start", [2, 5])
def test_slices_that_end_below_their_start_are_empty_in_the_source_too(start: int) -> None:
    """A kernel knows the loops that are empty for some sizes; its source, run by itself, does not."""
    params = 'x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32"), n: T.int32'
    func = read(params, f"for i in T.serial({start}, T.min(n, 8)):\n    y[i] = x[i] + 1.0")
    space: dict[str, Any] = {}
    exec(emit_function(func).source, space)
    x, y = np.arange(8, dtype=np.float32), np.full(8, 9, np.float32)
    for n in (-7, -3, -1, 0, 1, start, 7):
        (want,) = interpret(func, x=x, y=y, n=n)
        (have,) = space["f"](x, y, n)
        np.testing.assert_array_equal(np.asarray(have), want)


@pytest.mark.parametrize("given", [("A", "B"), ("A",)])
def test_a_negative_extent_is_none(given: tuple[str, ...]) -> None:
    text = 'n: T.int32, A: T.Buffer((n - 3, 2), "int32"), B: T.Buffer((n - 3,), "int32")'
    func = read(text, "for i in range(n - 3):\n    B[i] = A[i, 1]")
    for n in (1, 3, 5):
        rows = max(n - 3, 0)
        arrays = {"A": np.arange(2 * rows, dtype=np.int32).reshape(rows, 2), "B": np.zeros(rows, np.int32)}
        inputs: dict[str, Any] = {"n": n, **{name: arrays[name] for name in given}}
        (want,) = interpret(func, **{"n": n, **arrays})
        (have,) = compile(func)(**inputs)
        np.testing.assert_array_equal(np.asarray(have), want)


REPEATED = """
@T.prim_func
def f(ni: T.int32, nj: T.int32, nk: T.int32, A: T.Buffer((ni, nk), "float32"), C: T.Buffer((nj, nk), "float32"),
      D: T.Buffer((nk, nj), "float32"), G: T.Buffer((ni, nj), "float32")):
    E = T.alloc_buffer((ni, nj), "float32")
    F = T.alloc_buffer((nj, nj), "float32")
    for i, j in T.grid(ni, nj):
        E[i, j] = 0.0
        for k in T.serial(nk):
            E[i, j] = E[i, j] + A[i, k]
    for i, j in T.grid(nj, nj):
        F[i, j] = 0.0
        for k in T.serial(nk):
            F[i, j] = F[i, j] + C[i, k] * D[k, j]
    for i, j in T.grid(ni, nj):
        G[i, j] = 0.0
        for k in T.serial(nj):
            G[i, j] = G[i, j] + E[i, k] * F[k, j]
"""


def test_an_array_that_repeats_what_its_term_has_once() -> None:
    func = parse(REPEATED).funcs[0]
    rng = np.random.default_rng(0)
    shapes = {"A": (6, 4), "C": (5, 4), "D": (4, 5), "G": (6, 5)}
    arrays = {name: rng.integers(-3, 4, shape).astype(np.float32) for name, shape in shapes.items()}
    agrees(func, ni=6, nj=5, nk=4, **arrays)


def test_a_sum_along_an_axis_that_is_not_there_of_an_array_that_lies_the_other_way() -> None:
    func = read(
        'L: T.Buffer((3, 2, 2), "int32"), B: T.Buffer((4,), "int32")',
        """for r in T.serial(4):
    B[r] = -3
    for a, k, l in T.grid(2, 3, 2):
        if 2 * k + l < 4:
            B[r] = B[r] + L[k, l, r % 2]""",
    )
    agrees(func, L=np.arange(12, dtype=np.int32).reshape(3, 2, 2), B=np.zeros(4, np.int32))


def columns(count: int) -> PrimFunc:
    text = "\n".join(f"        B[i, {k}] = A[i, {k}] * {k}.0 + B[i, {k + count}]" for k in range(count))
    shape = f'T.Buffer((3, {2 * count}), "float32")'
    return parse(f"@T.prim_func\ndef f(A: {shape}, B: {shape}):\n    for i in range(3):\n{text}\n").funcs[0]


def test_columns_that_a_program_names_are_told_apart_without_asking_for_each_pair() -> None:
    def asked(count: int) -> int:
        before = steps()
        emit_function(columns(count))
        return steps() - before

    assert asked(120) < 5 * asked(40)
    func = columns(5)
    given = {b.name: np.arange(30, dtype=np.float32).reshape(3, 10) for b in func.buffers}
    agrees(func, **given)
