"""Products of which a triangle counts: in blocks that leave most of the rest out, where that pays."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from egraph_rules.cost.target import CPU
from ir import PrimFunc, parse
from lower import emit
from lowered import exact_source, small_numbers, unwrapped
from profiles import few, some

EAGER = replace(CPU, product_rows=8, load=0.01, store=0.01, dispatch=0.0)  # cuts products of a few rows

KINDS = {  # what the axes x and y of lengths up to n are bound by
    "lower": lambda x, y, n, c: f"{y} <= {x} + {c}",
    "upper": lambda x, y, n, c: f"{y} >= {x} + {c}",
    "corner": lambda x, y, n, c: f"{x} + {y} < {n} + {c}",
    "far corner": lambda x, y, n, c: f"{x} + {y} >= {n} + {c}",
}

TEXT = """
@T.prim_func
def f(A: T.Buffer(({a}), "{d}"), B: T.Buffer(({b}), "{d}"), C: T.Buffer(({n}, {m}), "{d}")):
    for i, j, k in T.grid({n}, {m}, {p}):
        if {guard}:
            C[i, j] = C[i, j] {op} A[{ai}] * B[{bi}]
"""

OWN = """
@T.prim_func
def f(A: T.Buffer(({n}, {n}), "{d}"), B: T.Buffer(({n}, {m}), "{d}")):
    for i, j in T.grid({n}, {m}):
        for k in T.serial({n}):
            if {guard}:
                B[{i}, j] = B[{i}, j] + A[{ai}] * B[{k}, j]
"""


def read(text: str) -> PrimFunc:
    return parse(text).funcs[0]


def agrees(func: PrimFunc, inputs: dict[str, np.ndarray], symbols: bool = False) -> str:
    return exact_source(func, inputs, EAGER, symbols)


@given(st.data())
@few(4)
def test_triangles_agree_with_the_interpreter(data: st.DataObject) -> None:
    """What the program never reads is not a number."""
    n, m, p = (data.draw(st.integers(9, 21), label=axis) for axis in "nmp")
    size = {"i": n, "j": m, "k": p}
    pairs = data.draw(st.lists(st.sampled_from(["ij", "ji", "ik", "ki", "jk", "kj"]), min_size=1, max_size=2))
    guards: list[str] = []
    for x, y in pairs:
        kind, c = data.draw(st.sampled_from(sorted(KINDS))), data.draw(st.integers(-4, 4))
        guards.append(KINDS[kind](x, y, size[x], c))
    dtype = data.draw(st.sampled_from(["float32", "int32"]))
    ai, bi = data.draw(st.sampled_from(["ik", "ki"])), data.draw(st.sampled_from(["kj", "jk"]))
    shapes = {f"{name}": ", ".join(str(size[v]) for v in axes) for name, axes in (("a", ai), ("b", bi))}
    op = data.draw(st.sampled_from("+-"))
    guard = " and ".join(guards)
    text = TEXT.format(n=n, m=m, p=p, d=dtype, guard=guard, op=op, ai=", ".join(ai), bi=", ".join(bi), **shapes)
    func = read(text)
    inputs = small_numbers(func, data.draw(st.integers(0, 9)))
    if dtype == "float32":
        at = np.indices((n, m, p))
        names = {"i": at[0], "j": at[1], "k": at[2]}
        counts = np.logical_and.reduce([eval(g, {}, names) for g in guards])
        for name, axes in (("A", ai), ("B", bi)):
            unread = ~counts.any(axis="ijk".index(({*"ijk"} - {*axes}).pop()))
            turned = [v for v in "ijk" if v in axes] != list(axes)
            inputs[name][unread.T if turned else unread] = np.nan
    agrees(func, inputs, symbols=True)


@given(st.data())
@few(3)
def test_rows_that_are_read_by_others_are_the_old_ones(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(9, 21)), data.draw(st.integers(9, 14))
    backward = data.draw(st.booleans())
    x, y = ((f"({n - 1} - {v})" if backward else v) for v in "ik")
    c, ai = data.draw(st.integers(-1, 4)), data.draw(st.sampled_from([(x, y), (y, x)]))
    dtype = data.draw(st.sampled_from(["float32", "int32"]))
    guard = f"k > i + {c}"
    func = read(OWN.format(n=n, m=m, d=dtype, guard=guard, i=x, k=y, ai=", ".join(ai)))
    agrees(func, small_numbers(func, data.draw(st.integers(0, 9))), symbols=True)


def square(guard: str, n: int = 32) -> str:
    axes = {"a": f"{n}, {n}", "b": f"{n}, {n}", "ai": "i, k", "bi": "j, k"}
    return TEXT.format(n=n, m=n, p=n, d="float32", guard=guard, op="+", **axes)


def products(source: str, n: int = 32) -> int:
    """How many multiplications the contractions of a source have."""
    env: dict[str, Any] = {}
    exec(source, env)
    return _products(jax.make_jaxpr(env["f"])(*[np.ones((n, n), "float32")] * 3).jaxpr)


def _products(jaxpr: Any) -> int:
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            ((contracted, _), _), left = equation.params["dimension_numbers"], equation.invars[0].aval
            total += equation.outvars[0].aval.size * prod(left.shape[d] for d in contracted)
        elif "jaxpr" in equation.params:
            total += _products(equation.params["jaxpr"].jaxpr)
    return total


@pytest.mark.parametrize("guard", ["j <= i", "j > i", "i + j < 32", "i + j >= 31", "k <= i", "k >= j + 1"])
def test_about_half_of_a_square_is_worked_out(guard: str) -> None:
    source = emit(read(square(guard)), EAGER)
    assert source.count("jnp.einsum") == 1 and "jnp.concatenate([" in unwrapped(source)
    assert 0.5 * 32**3 < products(source) <= 0.65 * 32**3


@pytest.mark.parametrize("guard", some(["j <= i", "k >= j + 1"], 1))
def test_half_of_a_square_is_what_the_program_computes(guard: str) -> None:
    func = read(square(guard))
    assert "jnp.concatenate([" in unwrapped(agrees(func, small_numbers(func, 0)))


def test_all_axes_shrink_that_a_block_ties() -> None:
    """The product of two triangles is a triangle: a third of the half of a half."""
    func = read(square("k <= i and k >= j").replace("B[j, k]", "B[k, j]"))
    assert products(agrees(func, small_numbers(func, 0))) < 0.5 * 32**3


def test_small_products_stay_whole_and_large_ones_do_not() -> None:
    for n, cut in ((96, False), (960, True)):
        source = emit(read(square("j <= i", n=n)))
        assert ("concatenate" in source) == cut
    assert re.search(r"for i_start, i_stop in \(\(0, 240\), \(240, 480\)", source)


def test_a_target_with_dear_launches_takes_the_whole() -> None:
    assert "concatenate" not in emit(read(square("j <= i", n=960)), replace(CPU, dispatch=1e12))
