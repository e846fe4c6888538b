"""Sums of products over several statements: the order of a chain, factors in common, transposes, and what they read."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

from egraph_rules import optimize
from ir import PrimFunc, interpret, parse
from ir.semantics.inputs import random_inputs
from lower import compile, emit
from lower.analysis.deciding import deciding, least
from profiles import some


def read(text: str) -> PrimFunc:
    return parse(text).funcs[0]


def source(func: PrimFunc, **given: np.ndarray) -> str:
    """The source of the optimized kernel, after its results were compared with the interpreter's; integers exactly."""
    kernel = compile(optimize(func).best)
    arrays = {**random_inputs(func, np.random.default_rng(5)), **given}
    for want, found in zip(interpret(func, **arrays), kernel(**arrays), strict=True):
        tolerance = 0.0 if np.asarray(want).dtype.kind in "iu" else 1e-4
        np.testing.assert_allclose(np.asarray(found), want, rtol=tolerance, atol=tolerance, err_msg=kernel.source)
    return kernel.source


CHAIN = """
@T.prim_func
def f(A: T.Buffer(({0}, {1}), "{d}"), B: T.Buffer(({1}, {2}), "{d}"), C: T.Buffer(({2}, {3}), "{d}"),
      G: T.Buffer(({0}, {3}), "{d}")):
    E = T.alloc_buffer(({0}, {2}), "{d}")
    for i, j in T.grid({0}, {2}):
        E[i, j] = 0
        for k in T.serial({1}):
            E[i, j] = E[i, j] + A[i, k] * B[k, j]
    {between}
    for i, j in T.grid({0}, {3}):
        G[i, j] = 0
        for k in T.serial({2}):
            G[i, j] = G[i, j] + E[i, k] * C[k, j]
"""


def chain(*sizes: int, dtype: str = "float32", between: str = "") -> PrimFunc:
    zero = "0.0" if dtype.startswith("f") else "0"
    text = CHAIN.format(*sizes, d=dtype, between=between).replace("= 0\n", f"= {zero}\n")
    return read(text)


def contractions(code: str) -> list[str]:
    return re.findall(r'einsum\(\s*"[^"]*"', code)


@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_chains_are_multiplied_in_the_cheaper_order(dtype: str) -> None:
    from_right = source(chain(24, 20, 22, 2, dtype=dtype))
    assert len(contractions(from_right)) == 2 or dtype == "int32"
    assert "E =" not in from_right
    from_left = source(chain(2, 20, 22, 24, dtype=dtype))
    assert "E =" in from_left


def test_a_chain_waits_for_no_factor_that_has_changed() -> None:
    text = "for i, j in T.grid(20, 22):\n        B[i, j] = B[i, j] + 1.0"
    text += "\n    for i, j in T.grid(22, 2):\n        C[i, j] = C[i, j] + B[j, i]"
    assert "E =" in source(chain(24, 20, 22, 2, between=text))


def test_a_product_that_is_a_result_too_is_kept() -> None:
    text = CHAIN.replace("    E = T.alloc", "    X = T.alloc").replace('G: T.Buffer(({0}, {3}), "{d}")', 'G: T.Buffer(({0}, {3}), "{d}"), E: T.Buffer(({0}, {2}), "{d}")')  # fmt: skip  # noqa: E501
    func = read(text.format(24, 20, 22, 2, d="float32", between="").replace("= 0\n", "= 0.0\n"))
    assert "E = jnp.einsum" in source(func)


SYMMETRIC = """
@T.prim_func
def f(beta: T.{d}, A: T.Buffer((40, 40), "{d}"), B: T.Buffer((40, 30), "{d}"), C: T.Buffer((40, 30), "{d}")):
    t = T.alloc_buffer((1,), "{d}")
    for i, j in T.grid(40, 30):
        t[0] = 0
        for k in T.serial(i):
            C[k, j] = C[k, j] + B[i, j] * A[i, k]
            t[0] = t[0] + B[k, j] * A[i, k]
        C[i, j] = beta * C[i, j] + B[i, j] * A[i, i] + t[0]
"""


@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_products_with_a_factor_in_common_are_one(dtype: str) -> None:
    """The upper triangle is never read, and may hold anything."""
    func = read(SYMMETRIC.format(d=dtype).replace("= 0\n", "= 0.0\n" if dtype == "float32" else "= 0\n"))
    a = np.tril(np.random.default_rng(0).integers(-4, 5, (40, 40)).astype(dtype))
    if dtype == "float32":
        a[np.triu_indices(40, 1)] = np.nan
        a[0, 39] = np.inf
    code = source(func, A=a)
    if dtype == "float32":
        assert len(contractions(code)) == 1


def test_a_product_and_its_transpose_are_worked_out_once() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((40, 30), "float32"), B: T.Buffer((40, 30), "float32"), C: T.Buffer((40, 40), "float32")):
    for i, j in T.grid(40, 40):
        C[i, j] = 0.0
        for k in T.serial(30):
            C[i, j] = C[i, j] + A[j, k] * B[i, k] + B[j, k] * A[i, k]
"""
    code = source(read(text))
    assert len(contractions(code)) == 1
    assert "product.T" in code


TRIANGLES = """
@T.prim_func
def f(E: T.Buffer((9, 9), "int32"), u: T.Buffer((9,), "int32"), v: T.Buffer((9,), "int32")):
    for i in range(9):
        u[i] = 0
        for j in range(i, 9):
            u[i] = u[i] + E[i, j]
    for i in range(9):
        for j in range(i):
            u[i] = u[i] + E[i, j] * v[j]
"""
TRIANGLE_IN_CHAIN = """
@T.prim_func
def f(A: T.Buffer((24, 20), "float32"), B: T.Buffer((20, 22), "float32"), C: T.Buffer((22, 2), "float32"),
      w: T.Buffer((2,), "int32"), G: T.Buffer((24, 2), "float32")):
    E = T.alloc_buffer((24, 22), "float32")
    for i, j in T.grid(24, 22):
        E[i, j] = 0.0
        for k in T.serial(20):
            if k <= j:
                E[i, j] = E[i, j] + A[i, k] * B[k, j]
    for i, j in T.grid(24, 2):
        G[i, j] = 0.0
        for k in T.serial(22):
            if w[j] > k:
                G[i, j] = G[i, j] + E[i, k] * C[k, j]
"""


@pytest.mark.parametrize("text", [TRIANGLES, TRIANGLE_IN_CHAIN], ids=["sums", "chain"])
def test_what_is_known_in_terms_of_an_axis_is_not_taken_over_another_of_its_name(text: str) -> None:
    source(read(text))


def test_sums_go_through_arrays_as_they_lie() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((30, 20), "float32"), m: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for j in T.serial(20):
        B[j] = 0.0
        for i in T.serial(30):
            B[j] = B[j] + (A[i, j] - m[j]) * (A[i, j] - m[j])
"""
    code = source(read(text))
    assert "axis=0" in code
    assert "A.T" not in code


def test_division_waits_for_the_sum() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((40, 30), "float32"), t: T.Buffer((40,), "float32"), V: T.Buffer((30, 8), "float32"),
      O: T.Buffer((40, 8), "float32")):
    for i in T.serial(40):
        T.assume(t[i] > 0.5)
    for i, k in T.grid(40, 8):
        O[i, k] = 0.0
        for j in T.serial(30):
            O[i, k] = O[i, k] + A[i, j] / t[i] * V[j, k]
"""
    func = read(text)
    code = source(func, t=np.linspace(1, 2, 40, dtype=np.float32))
    assert re.search(r'precision="highest"\) / t\[:, None\]', code)


TRIANGLE = """
@T.prim_func
def f(A: T.Buffer((40, 40), "{d}"), x: T.Buffer((40,), "{d}"), w: T.Buffer((40,), "{d}")):
    for i in T.serial(40):
        for k in T.serial(i):
            w[i] = w[i] + A[i, k] * x[k]
"""


@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_rows_that_a_triangle_leaves_out_may_hold_anything(dtype: str) -> None:
    """The last element of x and the upper triangle are never read."""
    rng = np.random.default_rng(0)
    a, x = rng.integers(-4, 5, (40, 40)).astype(dtype), rng.integers(-4, 5, 40).astype(dtype)
    if dtype == "float32":
        a[np.triu_indices(40)] = np.nan
        x[39] = np.inf
    source(read(TRIANGLE.format(d=dtype)), A=a, x=x)


def test_triangles_take_whole_arrays() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((40, 40), "int32"), B: T.Buffer((40, 40), "int32")):
    for i in T.serial(39):
        for j in T.serial(i + 1, 40):
            B[i, j] = A[j, i] * 2
"""
    assert ".at[" not in source(read(text))


@pytest.mark.parametrize("dtype", some(["int32", "uint8", "int8"], 1))
def test_gathers_know_that_indices_are_inside(dtype: str) -> None:
    text = f"""
@T.prim_func
def f(ids: T.Buffer((50,), "{dtype}"), table: T.Buffer((200, 4), "float32"), Y: T.Buffer((50, 4), "float32")):
    for i, j in T.grid(50, 4):
        Y[i, j] = table[T.cast(ids[i], "int32"), j]
"""
    ids = np.random.default_rng(0).integers(0, 120, 50).astype(dtype)
    assert 'mode="clip"' in source(read(text), ids=ids)


def test_axes_of_products_that_are_taken_in_place_of_arrays_are_told_apart():
    """Whatever loops are called: here one has the name that an axis of another product would be given."""
    text = "@T.prim_func\ndef f(X: T.Buffer((19, 6), 'int32'), Q: T.Buffer((6, 6), 'int32'), "
    text += "K: T.Buffer((6, 6), 'int32'), V: T.Buffer((19, 6), 'int32'), Y: T.Buffer((19, 6), 'int32')):\n"
    products = [("A", "X", "Q", 6, 6), ("B", "X", "K", 6, 6), ("S", "A", "B", 19, 6), ("Y", "S", "V", 6, 19)]
    names = ["k", "k", "k_3", "k_2"]
    for (to, x, y, columns, length), k in zip(products, names, strict=True):
        text += f"    {to} = T.alloc_buffer((19, {columns}), 'int32')\n" if to != "Y" else ""
        text += f"    for i, j in T.grid(19, {columns}):\n        {to}[i, j] = 0\n        for {k} in range({length}):\n"
        other = f"{y}[j, {k}]" if to == "S" else f"{y}[{k}, j]"
        text += f"            {to}[i, j] += {x}[i, {k}] * {other}\n"
    assert source(read(text)).count("einsum") == 4


COUNTED = """
@T.prim_func
def f(X: T.Buffer((30, 24), "{0}"), M: T.Buffer((30, 24), "{0}"), N: T.Buffer((30, 24), "{0}")):
    for y, x in T.grid(30, 24):
        M[y, x] = 0
        N[y, x] = 0
        for dy, dx in T.grid(5, 3):
            if y + dy >= 2 and x + dx >= 1 and y + dy < 32 and x + dx < 25 and (y + x) % 3 != 0:
                M[y, x] += X[y + dy - 2, x + dx - 1]
                N[y, x] += 1
"""


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_places_of_a_window_are_counted_along_each_axis(dtype: str) -> None:
    text = source(read(COUNTED.format(dtype)))
    counts = [line for line in text.splitlines() if "astype" in line]
    assert counts
    assert not any("axis=(2, 3)" in line for line in counts)


MISSING = """
@T.prim_func
def f(X: T.Buffer((12, 5), "float32"), M: T.Buffer((12, 5), "bool"), S: T.Buffer((5, 5), "float32"),
      P: T.Buffer((5, 5), "float32")):
    for a, b in T.grid(5, 5):
        S[a, b] = 0.0
        P[a, b] = 0.0
        for i in T.serial(12):
            if {condition}:
                S[a, b] = S[a, b] + X[i, a]
                P[a, b] = P[a, b] + X[i, a] * X[i, b]
"""


@pytest.mark.parametrize(
    ("condition", "products"),
    some(
        [
            ("M[i, a] and M[i, b]", 2),
            ("M[i, a] and i < b", 0),  # what no b reads need not be a number
            ("i < b and i < a", 0),
        ],
        0.45,
    ),
)
def test_conditions_on_several_factors_go_to_each(condition: str, products: int) -> None:
    rng = np.random.default_rng(2)
    there = rng.random((12, 5)) < 0.7
    seen = there if "M" in condition else np.arange(12)[:, None] < np.arange(5)
    missing = np.where(seen, rng.normal(size=(12, 5)), np.nan).astype(np.float32)
    code = source(read(MISSING.format(condition=condition)), X=missing, M=there)
    assert code.count("jnp.where(M, X, 0.0)") >= products, code


def test_sums_of_computed_terms_are_no_products_with_ones() -> None:
    """These would have all terms in memory first."""
    code = source(
        read("""
@T.prim_func
def f(B: T.Buffer((60, 3, 60), "float32"), Q: T.Buffer((60, 60), "float32"), F: T.Buffer((60, 3), "float32")):
    for i, a in T.grid(60, 3):
        F[i, a] = 0.0
        for j in T.serial(60):
            F[i, a] = F[i, a] + T.exp(B[i, a, j] - Q[i, j])
""")
    )
    assert "jnp.sum(jnp.exp(" in code, code


def test_conditions_on_channels_go_to_the_operands_of_a_convolution() -> None:
    code = source(
        read("""
@T.prim_func
def f(X: T.Buffer((16, 10, 10), "float32"), W: T.Buffer((16, 16, 3, 3), "float32"),
      Y: T.Buffer((16, 8, 8), "float32")):
    for o, y, x in T.grid(16, 8, 8):
        Y[o, y, x] = 0.0
        for c, dy, dx in T.grid(16, 3, 3):
            if c < 14 and c != 3:
                Y[o, y, x] = Y[o, y, x] + X[c, y + dy, x + dx] * W[o, c, dy, dx]
""")
    )
    assert "conv_general_dilated" in code, code


def batch(rows: int, depth: int, columns: int, *, first: bool = True) -> PrimFunc:
    """Products of 40 pairs of matrices, whose number is the first or the last index."""
    own = ("n, i, j", "n, i, k", "n, k, j") if first else ("i, j, n", "i, k, n", "k, j, n")
    shapes = ((40, rows, columns), (40, rows, depth), (40, depth, columns))
    c, a, b = (s if first else (*s[1:], s[0]) for s in shapes)
    return read(f"""
@T.prim_func
def f(A: T.Buffer({a}, "float32"), B: T.Buffer({b}, "float32"), C: T.Buffer({c}, "float32")):
    for n, i, j in T.grid(40, {rows}, {columns}):
        C[{own[0]}] = 0.0
        for k in T.serial({depth}):
            C[{own[0]}] = C[{own[0]}] + A[{own[1]}] * B[{own[2]}]
""")


@pytest.mark.parametrize("first", [True, False])
def test_many_products_of_small_matrices_are_sums_of_elementwise_products(first: bool) -> None:
    """XLA:CPU calls a library for each of them (measured: 0.03 to 0.6 of the time)."""
    assert "einsum" not in source(batch(3, 5, 7, first=first))
    assert "einsum" in source(batch(20, 4, 20, first=first))  # not small
    assert "einsum" in source(batch(3, 20, 3, first=first))  # too long to be written out
    assert "einsum" in source(batch(6, 5, 1, first=first))  # of a matrix and a vector each


PREFIXES = [
    f"k {op} i + {c}" if first else f"i + {c} {op} k"
    for op in ("<", "<=", ">", ">=")
    for c in (-2, 0, 1, 3)
    for first in (True, False)
]


@pytest.mark.parametrize("condition", some(PREFIXES, 3))
@pytest.mark.parametrize("rows", some([1, 3], 1))
def test_sums_up_to_a_position_or_from_one_on_are_those_of_prefixes(condition: str, rows: int) -> None:
    """Exact: the numbers are small integers. Terms that no position adds up may be anything."""
    func = read(f"""
@T.prim_func
def f(A: T.Buffer(({rows}, 9), "float32"), B: T.Buffer(({rows}, 9), "float32")):
    for r, i, k in T.grid({rows}, 9, 9):
        if {condition}:
            B[r, i] = B[r, i] + A[r, k] * 2.0
""")
    rng = np.random.default_rng(3)
    given = {n: rng.integers(-5, 6, (rows, 9)).astype(np.float32) for n in "AB"}
    with deciding(lambda decision, prices: 1 if decision == "prefix sums" else least(decision, prices)):
        kernel = compile(func)
    (want,) = interpret(func, **given)
    np.testing.assert_array_equal(np.asarray(kernel(**given)[0]), want, err_msg=kernel.source)
    away = next((k for k in range(9) if not any(eval(condition, {"i": i, "k": k}) for i in range(9))), None)
    if away is not None and "prefix_sums(" in kernel.source:
        given["A"][:, away] = np.nan
        np.testing.assert_array_equal(np.asarray(kernel(**given)[0]), want, err_msg=kernel.source)


def test_long_sums_up_to_each_position_take_no_mask() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((2000,), "float32"), B: T.Buffer((2000,), "float32"), C: T.Buffer((2000,), "float32")):
    for i in T.serial(2000):
        for k in T.serial(i + 1):
            B[i] = B[i] + A[k]
        for k in T.serial(2000):
            if k > i:
                C[i] = C[i] + A[k] * A[k]
"""
    assert emit(read(text)).count("prefix_sums(") == 4  # its definition and what it calls itself are two


def test_what_a_batch_of_products_sums_over_is_one_axis() -> None:
    func = read("""
@T.prim_func
def f(V: T.Buffer((4, 3, 5, 6), "float32"), w: T.Buffer((4, 3, 5), "float32"), O: T.Buffer((4, 6), "float32")):
    for b, d in T.grid(4, 6):
        O[b, d] = 0.0
        for p, t in T.grid(3, 5):
            O[b, d] = O[b, d] + V[b, p, t, d] * w[b, p, t]
""")
    text = source(func)
    assert "V.reshape(4, 15, 6)" in text and "w.reshape(4, 15)" in text


CHOSEN = """
@T.prim_func
def f(A: T.Buffer((40, 30), "int32"), X: T.Buffer((30, 16), "float32"), O: T.Buffer((40, 16), "float32")):
    {assumed}
    for i, d in T.grid(40, 16):
        O[i, d] = 0.0
        for j in range(30):
            if A[i, j] > 0:
                O[i, d] = O[i, d] + X[j, d]
"""


def test_sums_of_what_conditions_choose_are_products_with_truths() -> None:
    kernel = compile(parse(CHOSEN.format(assumed="pass"))["f"])
    assert "where" not in kernel.source.split("def f(")[1], kernel.source
    rng = np.random.default_rng(0)
    chosen, values = rng.integers(-1, 2, (40, 30)).astype(np.int32), rng.integers(-9, 9, (30, 16)).astype(np.float32)
    chosen[:, 7], values[7, :8], values[7, 8:] = 0, np.nan, np.inf  # nobody looks at them
    truths = (chosen > 0).astype(np.float32)
    (found,) = kernel(A=chosen, X=values)
    np.testing.assert_array_equal(np.asarray(found), truths @ np.where(np.isfinite(values), values, 0))
    slopes = jax.grad(lambda x: kernel.jitted(A=chosen, X=x)[0].sum())(values)
    np.testing.assert_array_equal(np.asarray(slopes), np.repeat(truths.sum(0)[:, None], 16, 1))


def test_what_is_assumed_to_be_infinite_is_added_up() -> None:
    source = emit(parse(CHOSEN.format(assumed='T.assume(X[29, 0] == T.float32("-inf"))'))["f"])
    assert "where" in source.split("def f(")[1], source
