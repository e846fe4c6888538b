"""Products of which a triangle counts, in tiles that are stored in the place of the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from lower import compile, emit
from lowered import exact_source, small_numbers
from profiles import few, some

EAGER = replace(
    CPU, tile_rows=3, load=0.01, store=0.01, section=0.01, temporary=0.01, tile=0.0, step=0.0, launch=0.0
)  # tiles of few rows

KINDS = {  # what the axes i and j of lengths n and m are bound by
    "lower": "j <= i + {c}",
    "upper": "j >= i + {c}",
    "corner": "i + j < {n} + {c}",
    "far corner": "i + j >= {n} + {c}",
    "band": "j >= i - 3 and j < i + 5 + {c}",
}

TEXT = """
@T.prim_func
def f(A: T.Buffer(({a}), "{d}"), B: T.Buffer(({b}), "{d}"), C: T.Buffer(({n}, {m}), "{d}")):
    for i, j, k in T.grid({n}, {m}, {p}):
        if {guard}:
            C[{ci}] = C[{ci}] {op} A[{ai}] * B[{bi}]
"""

GRAM = """
@T.prim_func
def gram(X: T.Buffer(({p}, {n}), "{d}"), G: T.Buffer(({n}, {n}), "{d}"), s: T.Buffer(({n},), "{d}")):
    for i in T.serial({n} - {less}):
        G[i, i] = 7
        for j in T.serial(i + {less}, {n}):
            G[i, j] = 0
            for k in T.serial({p}):
                G[i, j] = G[i, j] + X[k, i] * X[k, j]
            {scale}
            G[j, i] = G[i, j]
"""

RUNNING = """
@T.prim_func
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        if j <= i:
            C[i, j] = C[j, i] + 1.0
            for k in T.serial(16):
                C[i, j] = C[i, j] + A[i, k] * A[j, k]
"""


def read(text: str) -> PrimFunc:
    return parse(text).funcs[0]


def agrees(func: PrimFunc, inputs: dict[str, np.ndarray], symbols: bool = False) -> str:
    return exact_source(func, inputs, EAGER, symbols)


def temporaries(func: PrimFunc) -> int:
    """Elements of float32 that a kernel for CPUs takes besides its arguments and results."""
    kernel = compile(func)
    arrays = [jnp.zeros([int(d.value) for d in b.shape], b.dtype.numpy) for b in kernel.func.buffers]  # type: ignore[attr-defined]
    return kernel.lower(*arrays).compile().memory_analysis().temp_size_in_bytes // 4


@given(st.data())
@few(4)
def test_triangles_agree_with_the_interpreter(data: st.DataObject) -> None:
    """Rows and columns are left that fill no tile; what the program never reads is not a number."""
    n, m, p = (data.draw(st.integers(8, 21), label=axis) for axis in "nmp")
    size = {"i": n, "j": m, "k": p}
    guard = KINDS[data.draw(st.sampled_from(sorted(KINDS)))].format(n=n, c=data.draw(st.integers(-3, 3)))
    dtype = data.draw(st.sampled_from(["float32", "int32"]))
    ai, bi = data.draw(st.sampled_from(["ik", "ki"])), data.draw(st.sampled_from(["kj", "jk"]))
    shapes = {name: ", ".join(str(size[v]) for v in axes) for name, axes in (("a", ai), ("b", bi))}
    op = data.draw(st.sampled_from("+-"))
    places = {"ai": ", ".join(ai), "bi": ", ".join(bi), "ci": "i, j"}
    func = read(TEXT.format(n=n, m=m, p=p, d=dtype, guard=guard, op=op, **places, **shapes))
    inputs = small_numbers(func, data.draw(st.integers(0, 9)))
    if dtype == "float32":
        at = np.indices((n, m))
        counts = np.logical_and.reduce([eval(g, {}, {"i": at[0], "j": at[1]}) for g in guard.split(" and ")])
        for name, axes, along in (("A", ai, 1), ("B", bi, 0)):
            unread = ~counts.any(axis=along)
            inputs[name][unread if axes[0] != "k" else (slice(None), unread)] = np.nan
    agrees(func, inputs, symbols=True)


@pytest.mark.parametrize("less", some([0, 1, 2], 2))
@pytest.mark.parametrize("n", some([12, 21], 1))
@pytest.mark.parametrize("scale", ["", "G[i, j] = G[i, j] * 2 + s[j] - s[i]"])
def test_what_stands_around_a_product_goes_through_its_tiles(n: int, less: int, scale: str) -> None:
    func = read(GRAM.format(n=n, p=9, d="int32", less=less, scale=scale))
    source = agrees(func, small_numbers(func, n))
    assert "tile_step" in source
    assert "concatenate" not in source and "scatter" not in source


def test_a_result_that_lies_the_other_way() -> None:
    text = TEXT.format(
        n=16, m=16, p=9, d="float32", guard="j <= i", op="+", ai="i, k", bi="k, j", ci="j, i", a="16, 9", b="9, 16"
    )
    func = read(text)
    assert "tile_step" in agrees(func, small_numbers(func, 0))


def test_statements_that_see_what_other_tiles_do_stay_out_of_them() -> None:
    func = read(RUNNING)
    agrees(func, small_numbers(func, 0))


def test_a_local_of_each_iteration_stays_out_of_tiles() -> None:
    func = read(
        GRAM.format(n=16, p=9, d="int32", less=0, scale="t[0] = G[i, j] + s[j]").replace(
            "        for j in T.serial(i", '        t = T.alloc_buffer((1,), "int32")\n        for j in T.serial(i'
        )
        + "            G[i, j] = t[0] + 1\n"
    )
    agrees(func, small_numbers(func, 0))


def test_a_product_with_its_own_result_stays_whole() -> None:
    func = read(RUNNING.replace("A[j, k]", "C[j, k]").replace("C[j, i] + 1.0", "0.0"))
    assert "tile_step" not in emit(func, EAGER)


def test_small_products_stay_whole_and_large_ones_do_not() -> None:
    for n, cut in ((96, False), (960, True)):
        shape = f"{n}, {n}"
        text = TEXT.format(
            n=n, m=n, p=n, d="float32", guard="j <= i", op="+", ai="i, k", bi="j, k", ci="i, j", a=shape, b=shape
        )
        assert ("tile_step" in emit(read(text))) == cut


def test_tiles_can_be_mapped_and_differentiated() -> None:
    names: dict[str, Any] = {}
    exec(emit(read(GRAM.format(n=16, p=9, d="float32", less=0, scale="")), EAGER), names)
    x = np.random.default_rng(0).normal(size=(3, 9, 16)).astype(np.float32)

    def ours(x: jax.Array) -> jax.Array:
        return names["gram"](x)[0]

    def plain(x: jax.Array) -> jax.Array:
        return jnp.einsum("ki,kj->ij", x, x, precision="highest")

    np.testing.assert_allclose(jax.vmap(ours)(x), jax.vmap(plain)(x), rtol=1e-5, atol=1e-5)
    found, wanted = (jax.jvp(f, (x[0],), (x[1],)) for f in (ours, plain))
    for have, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5)
    weights = np.random.default_rng(1).normal(size=(16, 16)).astype(np.float32)
    backward, straight = (jax.vmap(jax.grad(lambda x, f=f: jnp.sum(f(x) * weights)))(x) for f in (ours, plain))
    np.testing.assert_allclose(backward, straight, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n, p, width", some([(640, 500, 160), (1000, 300, 200)], 1))
def test_temporaries_are_a_tile_and_its_operands(n: int, p: int, width: int) -> None:
    """Neither the product nor its mirror image is held besides the result."""
    func = read(GRAM.format(n=n, p=p, d="float32", less=0, scale="G[i, j] = G[i, j] * 0.5 + s[j]"))
    assert temporaries(func) < 2 * p * width + 2 * width * width + 4 * n
    assert n * n > 2 * p * width + 2 * width * width + 4 * n


def test_temporaries_of_an_update_do_not_grow_with_the_result() -> None:
    shape = "900, 700"
    text = TEXT.format(
        n=900, m=900, p=700, d="float32", guard="j >= i + 2", op="-", ai="i, k", bi="j, k", ci="i, j", a=shape, b=shape
    )
    assert temporaries(read(text)) < 2 * 700 * 225 + 2 * 225 * 225
