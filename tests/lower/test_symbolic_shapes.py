"""Functions over symbolic sizes: optimized and lowered once, run for several shapes, exported with open dimensions."""

# ruff: noqa: E501
from __future__ import annotations

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import TOLERANCE
from egraph_rules import optimize
from ir import PrimFunc, parse
from ir.errors import LowerError
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.interpret import interpret
from lower import Kernel, compile, export, stablehlo_text
from profiles import few, some

MATMUL = """
@T.prim_func
def matmul(n: T.int32, m: T.int32, A: T.Buffer((n, m), "float32"), B: T.Buffer((m, n), "float32"),
           C: T.Buffer((n, n), "float32")):
    for i, j in T.grid(n, n):
        C[i, j] = 0.0
        for k in T.serial(m):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
PADDED_SUM = """
@T.prim_func
def padded_sum(n: T.int32, A: T.Buffer((n, 4, 4), "float32"), B: T.Buffer((n,), "float32")):
    for i, jo, ji in T.grid(n, 4, 4):
        T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0.0)
    for i in T.serial(n):
        B[i] = 0.0
        for jo, ji in T.grid(4, 4):
            if 4 * jo + ji < 14:
                B[i] = B[i] + A[i, jo, ji]
"""
BLOCKS = """
@T.prim_func
def blocks(n: T.int32, A: T.Buffer((n,), "int32"), B: T.Buffer(((n + 3) // 4, 4), "int32")):
    for i, j in T.grid((n + 3) // 4, 4):
        if 4 * i + j < n:
            B[i, j] = A[4 * i + j] * 2
        else:
            B[i, j] = 0
"""
STENCIL = """
@T.prim_func
def stencil(n: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in T.serial(1, n - 1):
        B[i] = A[i - 1] + A[i] + A[i + 1]
"""
PREFIX = """
@T.prim_func
def prefix(n: T.int32, A: T.Buffer((n,), "float64"), B: T.Buffer((n + 1,), "float64")):
    B[0] = 0.0
    for i in T.serial(n):
        B[i + 1] = B[i] + A[i]
"""
TRIANGLE = """
@T.prim_func
def triangle(n: T.int32, A: T.Buffer((n, n), "float32"), B: T.Buffer((n,), "float32")):
    for i in T.serial(n):
        B[i] = 0.0
        for j in T.serial(i + 1):
            B[i] = B[i] + A[i, j]
"""
FILLED = """
@T.prim_func
def filled(n: T.int32, x: T.int32, B: T.Buffer((n, n), "int32")):
    for i, j in T.grid(n, n):
        B[i, j] = i - j + x
"""
REPEATED = """
@T.prim_func
def repeated(n: T.int32, m: T.int32, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in T.serial(n):
        B[i] = 0.0
        for k in T.serial(m):
            B[i] = B[i] + A[i] * 0.5
"""
KERNELS = (MATMUL, PADDED_SUM, BLOCKS, STENCIL, PREFIX, TRIANGLE, FILLED, REPEATED)
OPEN = (MATMUL, PADDED_SUM, BLOCKS, TRIANGLE, FILLED)


@cache
def optimized(text: str) -> tuple[PrimFunc, PrimFunc, Kernel]:
    """The function as written, its cheapest equivalent, and its kernel: made once for all shapes."""
    func = parse(text).funcs[0]
    best = optimize(func).best
    return func, best, compile(best)


@cache
def artefact(text: str) -> Any:
    return jax.export.deserialize(bytearray(export(optimized(text)[1], ["cpu"], symbolic=True)))


def called(exported: Any, func: PrimFunc, inputs: Inputs) -> Any:
    """The results of an artefact, which takes some of the inputs."""
    taken: dict[str, Any] = {}
    for param in func.params:
        if f"'{param.name}'" in str(exported.in_tree):
            taken[param.name] = np.asarray(inputs[param.name], param.dtype.numpy)
    with jax.enable_x64(any(p.dtype.bits == 64 for p in func.params)):  # pyright: ignore[reportCallIssue]
        return exported.call(**taken)


def inputs_of(func: PrimFunc, seed: int, *sizes: int) -> Inputs:
    names = [s.name for s in func.scalars if s.name in ("n", "m")]
    return random_inputs(func, np.random.default_rng(seed), dict(zip(names, sizes, strict=False)))


def assert_close(func: PrimFunc, found: Any, inputs: Inputs) -> None:
    for got, want in zip(found, interpret(func, *inputs.values()), strict=True):
        dtype = next(b.dtype for b in func.buffers if b.dtype.numpy == want.dtype)
        tolerance = TOLERANCE.get(dtype, 0.0)
        np.testing.assert_allclose(
            np.asarray(got, np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance * 10
        )


@given(st.sampled_from(KERNELS), st.integers(0, 9), st.integers(0, 5), st.integers(0, 3))
@few(10)
def test_a_kernel_optimized_once_is_right_for_all_shapes(text: str, n: int, m: int, seed: int) -> None:
    func, _, kernel = optimized(text)
    inputs = inputs_of(func, seed, n, m)
    assert_close(func, kernel(**inputs), inputs)


@pytest.mark.parametrize("text", some(KERNELS, 0.25))
@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_small_shapes(text: str, n: int) -> None:
    func, _, kernel = optimized(text)
    inputs = inputs_of(func, n, n, 1)
    assert_close(func, kernel(**inputs), inputs)


@pytest.mark.parametrize("text", some(OPEN, 0.4))
def test_an_artefact_with_open_dimensions_runs_for_several_sizes(text: str) -> None:
    func, best, _ = optimized(text)
    exported = artefact(text)
    for n, m in ((1, 1), (2, 5), (7, 3)):
        inputs = inputs_of(func, n, n, m)
        assert_close(best, called(exported, best, inputs), inputs)


def test_some_sizes_open_and_others_numbers() -> None:
    func, best, _ = optimized(MATMUL)
    exported = jax.export.deserialize(bytearray(export(best, ["cpu"], sizes={"n": "2*k", "m": 3})))
    inputs = inputs_of(func, 0, 4, 3)
    assert_close(func, called(exported, best, inputs), inputs)
    with pytest.raises(ValueError, match="polymorphic shapes"):  # an odd n, as JAX says it
        exported.call(A=np.ones((3, 3), "float32"), B=np.ones((3, 3), "float32"))
    assert "tensor<?x3xf32>" in stablehlo_text(best, sizes={"n": "n", "m": 3})
    assert "tensor<?x?xf32>" in stablehlo_text(best, symbolic=True)


def test_a_size_with_a_lower_bound() -> None:
    func, best, _ = optimized(STENCIL)
    with pytest.raises(LowerError) as refused:
        export(best, ["cpu"], symbolic=True)
    assert refused.value.message == "the size n of stencil must be a number to be exported"
    assert "n - 2" in refused.value.notes[0]
    assert "constraints=('n >= 16',)" in refused.value.help
    exported = jax.export.deserialize(bytearray(export(best, ["cpu"], symbolic=True, constraints=["n >= 2"])))
    for n in (2, 3, 8):
        inputs = inputs_of(func, 1, n)
        inputs["B"] = np.zeros(n, "float32")  # what is never written
        assert_close(func, called(exported, best, inputs), inputs)


def test_what_jax_cannot_trace_for_open_sizes_is_refused() -> None:
    _, best, _ = optimized(PREFIX)
    with pytest.raises(LowerError) as refused:
        export(best, ["cpu"], symbolic=True)
    assert refused.value.code == "size-must-be-number"
    assert "JAX cannot trace the kernel otherwise" in refused.value.notes[0]
    assert "compile once for each shape" in refused.value.help


def test_a_size_that_no_shape_tells_must_be_a_number() -> None:
    func, best, _ = optimized(REPEATED)
    with pytest.raises(LowerError) as refused:
        export(best, ["cpu"], symbolic=True)
    assert refused.value.message == "the size m of repeated must be a number: no dimension of a buffer tells it"
    exported = jax.export.deserialize(bytearray(export(best, ["cpu"], sizes={"m": 3}, symbolic=True)))
    inputs = inputs_of(func, 1, 5, 3)
    assert_close(func, called(exported, best, inputs), inputs)


@pytest.mark.parametrize(
    ("sizes", "symbolic", "code"),
    [
        ({}, False, "unbound-size"),
        ({"q": 3}, True, "unknown-size"),
        ({"n": "n +"}, True, "bad-size"),
    ],
)
def test_mistakes_in_sizes(sizes: dict[str, int | str], symbolic: bool, code: str) -> None:
    with pytest.raises(LowerError) as refused:
        export(optimized(MATMUL)[1], ["cpu"], sizes=sizes, symbolic=symbolic)
    assert refused.value.code == code


EMPTY = {
    "a fixed element": "for k in T.serial(n):\n    X[k] = X[k] + Y[0]",
    "a scan": "for k in T.serial(1, n):\n    X[k] = X[k] + X[k - 1]",
    "a sum in place": "for k in T.serial(n):\n    for j in T.serial(k):\n        Y[k] = Y[k] - X[j] * Y[j]",
    "a search": "best = T.alloc_buffer((1,), 'int32')\nbest[0] = -1\nfor k in T.serial(n):\n    if X[k] > best[0]:\n        best[0] = X[k]\nfor k in T.serial(n):\n    Y[k] = best[0] + X[n - 1]",
    "a condition": "for k in T.serial(4):\n    if k < n:\n        X[Q[k]] = X[Q[k]] * 2 + Y[k]",
}  # fmt: skip


@pytest.mark.parametrize("body", some(EMPTY.values(), 0.6), ids=EMPTY.keys())
def test_sizes_may_be_zero(body: str) -> None:
    params = ", ".join(f'{name}: T.Buffer((n,), "int32")' for name in "XYQ")
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    func = parse(f"@T.prim_func\ndef f(n: T.int32, {params}):\n{lines}\n").funcs[0]
    kernel = compile(func)
    for n in (0, 1, 2, 0):
        inputs: dict[str, Any] = {"n": n, "X": np.arange(n, dtype=np.int32), "Y": np.arange(3, 3 + n, dtype=np.int32)}
        inputs["Q"] = np.arange(n, dtype=np.int32)[::-1]
        for want, have in zip(interpret(func, **inputs), kernel(**inputs), strict=True):
            np.testing.assert_array_equal(np.asarray(have), want)
    assert any("n = 0" in line for line in kernel.report)


@pytest.mark.parametrize(
    "body",
    [
        "for i in T.serial(n):\n        if i < n - 5:\n            B[i] = A[i] + 1",
        "for i in T.serial(n):\n        if i >= 1 and i < n - 4:\n            B[i] = A[i] + 1",
        "for i in T.serial(1, n - 4):\n        B[i] = A[i] + 1",
        "for i, j in T.grid(n, n):\n        if i < n - 5 and j < n - 5 and j > i:\n            B[i] = B[i] + A[j]",
    ],
)
def test_a_slice_that_sizes_leave_nothing_does_not_count_from_the_end(body: str) -> None:
    """Of an array of 3, `[:n - 5]` would be the first element. Source without a kernel around it is as right."""
    params = 'n: T.int32, A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32")'
    func = parse(f"@T.prim_func\ndef f({params}):\n    {body}\n")["f"]
    kernel, space = compile(func), dict[str, Any]()
    exec(kernel.source, space)
    for n in (1, 3, 4, 6):
        A, B = np.arange(1, n + 1, dtype=np.int32), np.full(n, -7, np.int32)
        (want,) = interpret(func, n, A, B.copy())
        np.testing.assert_array_equal(np.asarray(kernel(n, A, B)[0]), want)
        if "j" not in body:
            np.testing.assert_array_equal(np.asarray(space["f"](n, A, B)[0]), want)


def test_stencils_need_no_smallest_end() -> None:
    """Below zero, these ends leave nothing whichever way they are counted."""
    params = 'n: T.int32, A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32")'
    body = "for i in T.serial(1, n - 1):\n        B[i] = A[i - 1] + A[i + 1]"
    assert "max(" not in compile(parse(f"@T.prim_func\ndef f({params}):\n    {body}\n")["f"]).source


def test_an_array_that_sizes_leave_empty_is_not_looked_at() -> None:
    """JAX refuses to index it, also under a guard that never holds and is not known not to."""
    func = parse("""
@T.prim_func
def f(n: T.int32, m: T.int32, A: T.Buffer((n - 1, n + 1), "int32"), Z: T.Buffer((n,), "int32")):
    for i, j in T.grid(4, n):
        if i + i < m - 1 and i % 3 < n - 1 and 2 * j < n + 1:
            A[i % 3, 2 * j] = (A[i % 3, 2 * j] + Z[j]) % 31
""")["f"]
    kernel = compile(func)
    for n, m in ((1, 3), (3, 2)):
        A, Z = np.ones((n - 1, n + 1), np.int32), np.arange(n, dtype=np.int32)
        (want,) = interpret(func, n, m, A.copy(), Z)
        np.testing.assert_array_equal(np.asarray(kernel(n, m, A, Z)[0]), want)


HALF_STEPS = """
@T.prim_func
def f(u: T.Buffer((n, n), "float32"), n: T.int32, steps: T.int32):
    p = T.alloc_buffer((n, n), "float32")
    q = T.alloc_buffer((n, n), "float32")
    for t in T.serial(steps):
        for i in T.serial(n):
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in T.serial(1, n):
                p[i, j] = 0.5 / (p[i, j - 1] + 2.0)
                q[i, j] = (u[i, j] + q[i, j - 1]) / (p[i, j - 1] + 2.0)
        for i in T.serial(n):
            for s in T.serial(n - 1):
                u[i, n - 2 - s] = p[i, n - 2 - s] * u[i, n - 1 - s] + q[i, n - 2 - s]
"""


def test_no_local_has_a_place_for_each_of_an_open_number_of_steps() -> None:
    kernel = compile(parse(HALF_STEPS).funcs[0])
    u = np.ones((20, 20), np.float32)
    few, many = (
        kernel.lower(u, 20, steps).compile().memory_analysis().temp_size_in_bytes  # pyright: ignore
        for steps in (4, 400)
    )
    assert few == many
    (found,) = kernel(u, 20, 3)
    (wanted,) = interpret(parse(HALF_STEPS).funcs[0], u, 20, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
