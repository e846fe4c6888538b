"""Products of small integers are worked out in float32, where all sums are exact, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from lower.emission.function import emit_function
from lowered import assert_agrees, kernel_of, read, unwrapped
from profiles import some


def product(dtype: str, k: int, factors: str = "T.cast(A[i, k], 'int32') * T.cast(B[k, j], 'int32')") -> PrimFunc:
    return parse(f"""
@T.prim_func
def f(A: T.Buffer((3, {k}), "{dtype}"), B: T.Buffer(({k}, 4), "{dtype}"), C: T.Buffer((3, 4), "int32")):
    for i, j in T.grid(3, 4):
        C[i, j] = 7
        for k in range({k}):
            C[i, j] = C[i, j] + {factors}
""").funcs[0]


def source(func: PrimFunc, largest: bool = True) -> str:
    """Compare with the interpreter on the largest and smallest numbers, or small ones; returns the source."""
    kernel = kernel_of(func)
    inputs: dict[str, np.ndarray] = {}
    for b in func.buffers[:2]:
        shape = [int(d.value) for d in b.shape]  # pyright: ignore[reportAttributeAccessIssue]
        low, high = (b.dtype.min, b.dtype.max) if largest else (-99, 99)
        ends = np.random.default_rng(3).choice([low, low, high, 1], shape)
        inputs[b.name] = ends.astype(b.dtype.numpy)
    assert_agrees(func, kernel, inputs)
    return kernel.source


@pytest.mark.parametrize("dtype", some(["int8", "uint8"], 1))
def test_small_integers(dtype: str) -> None:
    assert "einsum" in (text := source(product(dtype, 250)))
    assert text.count(".astype(jnp.float32)") == 2


@pytest.mark.parametrize(
    ("dtype", "k", "exact"), some([("int8", 1023, True), ("int8", 1025, False), ("uint8", 270, False)], 2)
)
def test_as_many_as_are_exact(dtype: str, k: int, exact: bool) -> None:
    assert (".astype(jnp.float32)" in source(product(dtype, k))) == exact


def test_larger_numbers_stay_integers() -> None:
    assert "float32" not in source(product("int16", 2), largest=False)
    assert "float32" not in source(product("int32", 5, "A[i, k] * B[k, j]"), largest=False)


def test_rests_are_small() -> None:
    assert ".astype(jnp.float32)" in source(product("int32", 64, "A[i, k] % 100 * (B[k, j] % 50)"))


def test_a_target_with_integer_units_keeps_integers() -> None:
    target = replace(CPU, name="integers", integer_contraction=CPU.contraction)
    assert "float32" not in emit_function(product("int8", 64), target=target).source


def test_casts_that_wrap_make_numbers_larger() -> None:
    """-1 of int8 is 255 of uint8."""
    factors = "T.cast(T.cast(A[i, k], 'uint8'), 'int32') * T.cast(B[k, j], 'int32')"
    assert ".astype(jnp.float32)" in source(product("int8", 500, factors))
    assert "float32" not in source(product("int8", 1000, factors))


@pytest.mark.parametrize("largest", some([1, 300, 2000], 0.45))
def test_large_integers_are_exact_where_the_data_are_small(largest: int) -> None:
    """Of 120 products of numbers up to 300, float32 has all sums, of numbers up to 2000 it has not."""
    func = parse("""
@T.prim_func
def f(A: T.Buffer((130, 120), "int32"), B: T.Buffer((120, 140), "int32"), C: T.Buffer((130, 140), "int32")):
    for i, j in T.grid(130, 140):
        C[i, j] = 0
        for k in range(120):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
""").funcs[0]
    kernel = kernel_of(func)
    assert "integer_einsum(120" in kernel.source
    rng = np.random.default_rng(largest)
    a, b = (rng.integers(-largest, largest + 1, shape).astype(np.int32) for shape in ((130, 120), (120, 140)))
    np.testing.assert_array_equal(np.asarray(kernel(A=a, B=b)[0]), a @ b)
    if largest > 1:
        a[:], b[:] = largest, largest - 1
        np.testing.assert_array_equal(np.asarray(kernel(A=a, B=b)[0]), a @ b)


def test_counts_of_what_short_rows_hold_are_sums() -> None:
    func = parse("""
@T.prim_func
def f(G: T.Buffer((500, 9, 9), "int32"), N: T.Buffer((500,), "int32")):
    for g in range(500):
        N[g] = 0
        for r, c, k in T.grid(9, 9, 9):
            if k > c and G[g, r, k] == G[g, r, c]:
                N[g] = N[g] + 1
""").funcs[0]
    kernel = kernel_of(func)
    assert_agrees(func, kernel, {"G": np.random.default_rng(0).integers(1, 10, (500, 9, 9)).astype(np.int32)})
    assert "jnp.sum(" in kernel.source  # of short rows first: a product would store all terms


COUNTS = {
    "truths": ("if A[i, k] > B[k]:\n            S[i] = S[i] + T.int64(1)", True),
    "one of two": ("S[i] = S[i] + T.if_then_else(A[i, k] > B[k], T.int64(7), T.int64(-3))", True),
    "bytes times bits": ('S[i] = S[i] + T.cast(C[k], "int64") * T.cast(A[i, k] & 15, "int64")', True),
    "a rest": ('S[i] = S[i] + T.cast(A[i, k], "int64") % T.int64(10)', True),
    "any number": ('S[i] = S[i] + T.cast(A[i, k], "int64")', False),
    "as many as there may be": ("S[i] = S[i] + T.if_then_else(A[i, k] > B[k], T.int64(1073741824), T.int64(0))", False),
}


@pytest.mark.parametrize("name", COUNTS)
def test_sums_that_fit_in_32_bits_are_counted_in_them(name: str) -> None:
    text, fits = COUNTS[name]
    params = (
        'A: T.Buffer((5, 70), "int32"), B: T.Buffer((70,), "int32"), C: T.Buffer((70,), "uint8"), '
        'S: T.Buffer((5,), "int64")'
    )
    func = read(params, f"for i in range(5):\n    S[i] = T.int64(0)\n    for k in range(70):\n        {text}")
    rng = np.random.default_rng(0)
    ends = np.array([-(2**31), 2**31 - 1], np.int32)
    inputs = {"A": rng.choice(ends, (5, 70)), "B": rng.choice(ends, 70), "C": np.full(70, 255, np.uint8)}
    kernel = kernel_of(func)
    assert_agrees(func, kernel, inputs)
    assert ("type=jnp.int32).astype(jnp.int64)" in unwrapped(kernel.source)) == fits
