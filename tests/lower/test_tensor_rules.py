"""Rules over tensor terms: each is tested, wrong ones are refuted, and the search uses them by price."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules import check_rule, optimize, register, unregister
from egraph_rules.authoring.rule import Rule
from egraph_rules.authoring.tensor import (
    Axes,
    Pattern,
    axes,
    contract,
    differ,
    flag,
    tensor_rule,
    total,
    where,
    within,
)
from egraph_rules.cost.target import CPU
from egraph_rules.rules.tensor import TENSOR_RULES
from ir import parse
from ir.errors import RuleError
from ir.floats import DEFAULT_FLOATS
from ir.semantics.inputs import random_inputs
from lower import compile, emit
from lower.tensor.search import Facts, cheapest
from lower.tensor.terms import Term
from lowered import assert_agrees, read, small_numbers
from profiles import some


@pytest.mark.parametrize("rule", some(TENSOR_RULES, 0.51), ids=lambda r: r.name)
def test_rules_hold(rule: Rule) -> None:
    assert check_rule(rule, examples=100).status == "tested"


SQUARES = "for i, k in T.grid(9, 8):\n    B[i] = B[i] + A[i, k] * A[i, k]"


def wrong_factor(k: Axes, c: Pattern, x: Pattern):
    return total(k, c * x), c * total(k, x)


def wrong_mask(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x + y), where(m, x) + y


def wrong_contraction(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), contract(k, x, y), differ(axes(x), axes(y))


def wrong_product(m: Pattern, x: Pattern):
    return where(m, x), flag(m) * x


def wrong_nesting(k: Axes, j: Axes, x: Pattern):
    return total(k, total(j, x)), total(k | j, x)


def wrong_quotient(x: Pattern, c: Pattern, y: Pattern):
    return (x / c) * y, x / (c * y)


def wrong_join(k: Axes, x: Pattern, y: Pattern, z: Pattern):
    return contract(k, x, z) + contract(k, y, z), contract(k, x * y, z)


def wrong_factor_in(k: Axes, c: Pattern, x: Pattern, y: Pattern):
    return c * contract(k, x, y), contract(k, c * x, y)


def never(k: Axes, x: Pattern):
    return total(k, x), x, within(k, axes(x)), differ(axes(x), axes(x))


@pytest.mark.parametrize(
    "function",
    some([
        wrong_factor, wrong_mask, wrong_contraction, wrong_product, wrong_nesting, wrong_quotient, wrong_join,
        wrong_factor_in, never,
    ], 0.56),
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_wrong_rules_are_refuted(function: object) -> None:
    rule = tensor_rule(because="wrong")(function)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuleError, match=r"could not be checked" if function is never else "does not hold"):
        register(rule)


def test_registered_rules_take_part_in_sums_and_not_in_searches() -> None:
    @tensor_rule(because="wrong, but easily seen in the source")
    def squares(k: Axes, x: Pattern):
        return total(k, x * x), total(k, -x)

    func = read('A: T.Buffer((9, 8), "int32"), B: T.Buffer((9,), "int32")', SQUARES)
    usual = emit(func)
    register(squares, unchecked=True)
    try:
        assert "jnp.sum(A, axis=1" in emit(func) != usual
        assert emit(func, without=["tensor.squares"]) == usual
        with pytest.raises(RuleError, match="about tensor terms"):
            optimize(func, rules=(squares,))
        assert "lowering takes apart" in optimize(func).why_not("tensor.squares")
    finally:
        unregister("tensor.squares")
    assert emit(func) == usual


def leaf(number: int) -> Term:
    return Term("Leaf", number=number)


def facts(*leaves: int, finite: bool = True) -> Facts:
    layouts = tuple(tuple(k for k in range(3) if axes >> k & 1) for axes in leaves)
    return Facts(leaves, (finite,) * len(leaves), (100.0,) * 3, DEFAULT_FLOATS, layouts)


def test_sums_of_products_become_contractions() -> None:
    """sum over k of (A[i, k] * alpha * B[j, k] + B[i, k] * alpha * A[j, k]): i, j, k are 1, 2, 4."""
    halves = [Term("Mul", (Term("Mul", (leaf(a), leaf(2))), leaf(b))) for a, b in ((0, 1), (3, 4))]
    best = cheapest(Term("Sum", (Term("Add", tuple(halves)),), 4), facts(5, 6, 0, 5, 6), CPU)
    assert sorted(t.op for t in best.walk() if t.op in ("Sum", "Contract")) == ["Contract", "Contract"]


def test_chains_are_multiplied_in_the_cheaper_order() -> None:
    """A matrix times a matrix times a vector: two products with a vector, none of two matrices."""
    chain = Term("Mul", (Term("Mul", (leaf(0), leaf(1))), leaf(2)))
    best = cheapest(Term("Sum", (chain,), 6), facts(3, 6, 4), CPU)
    contractions = [t for t in best.walk() if t.op == "Contract"]
    assert len(contractions) == 2
    assert {t.number for t in contractions} == {2, 4}


def test_masks_become_factors_only_of_numbers() -> None:
    masked = Term("Sum", (Term("Where", (leaf(1), leaf(0))),), 2)
    assert any(t.op == "Flag" for t in cheapest(masked, facts(3, 2), CPU).walk())
    assert not any(t.op == "Flag" for t in cheapest(masked, facts(3, 2, finite=False), CPU).walk())


@pytest.mark.parametrize("cond", ["A[k, i] != 0.0", "M[k, i] > 0"])
def test_masks_go_to_one_factor_where_nobody_looks_at_what_is_no_number(cond: str) -> None:
    params = 'A: T.Buffer((40, 30), "float32"), M: T.Buffer((40, 30), "int32"), X: T.Buffer((40, 50), "float32")'
    store = "for j in range(50):\n            B[i, j] += A[k, i] * X[k, j]"
    body = f"for k, i in T.grid(40, 30):\n    if {cond}:\n        {store}"
    func = read(f'{params}, B: T.Buffer((30, 50), "float32")', body)
    kernel = compile(func)
    assert "numbers(X)" in kernel.source and '"ki,kj->ij"' in kernel.source
    given = small_numbers(func, 5)
    given["A"][3], given["M"][3], given["X"][3] = 0, 0, np.inf
    assert_agrees(func, kernel, given)


def test_padding_that_is_not_read_may_hold_anything() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((64, 512), "float32"), x: T.Buffer((512,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.serial(64):
        B[i] = 0.0
        for j in T.serial(512):
            if j * 3 < 1400:
                B[i] = B[i] + A[i, j] * x[j]
"""
    (func,) = parse(text).funcs
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(64, 512)).astype(np.float32), rng.normal(size=512).astype(np.float32)
    want = a[:, :467] @ x[:467]
    a[:, 467:] = np.nan
    x[467:] = np.inf
    np.testing.assert_allclose(compile(func)(a, x)[0], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "later",
    some(
        [
            "T.if_then_else(16 * o + i < 60, A[r, o, i] * 2.0, 0.0)",
            "T.if_then_else(16 * o + i >= 60, 0.0, A[r, o, i] * 2.0)",
            "T.if_then_else(16 * o + i < 60 and A[r, o, i] > 0.5, 1.0, 0.0)",
            "T.if_then_else(16 * o + i >= 60 or A[r, o, i] > 0.5, 1.0, 0.0)",
        ],
        0.25,
    ),
)
def test_what_a_choice_does_not_read_may_hold_anything(later: str) -> None:
    text = f"""
@T.prim_func
def f(A: T.Buffer((64, 4, 16), "float32"), S: T.Buffer((64,), "float32"), B: T.Buffer((64, 4, 16), "float32")):
    for r in range(64):
        S[r] = 0.0
        for o, i in T.grid(4, 16):
            if 16 * o + i < 60:
                S[r] += A[r, o, i]
        for o, i in T.grid(4, 16):
            B[r, o, i] = {later}
"""
    (func,) = parse(text).funcs
    inputs = random_inputs(func, np.random.default_rng(0))
    inputs["A"][:, 3, 12:] = np.nan
    for form in (func, optimize(func).best):
        assert_agrees(func, compile(form), inputs, 1e-5)


def test_what_both_sides_of_a_choice_are_multiples_of_is_a_factor_of_the_sum() -> None:
    """The rest of it no step changes, so it is as good as an array."""
    params = 'A: T.Buffer((60, 60), "float32"), d: T.Buffer((60,), "float32"), p: T.Buffer((60,), "float32")'
    body = """for t in range(9):
    q = T.alloc_buffer((60,), "float32")
    for i in range(60):
        q[i] = 0.1
        for j in range(60):
            q[i] += T.if_then_else(d[j] > 0.0, A[i, j] * p[j] * 0.5 / d[j], p[j] * 0.01)
    for i in range(60):
        p[i] = q[i]"""
    func = read(params, body)
    kernel = compile(func)
    assert '"ij,j->i"' in kernel.source and "jnp.sum" not in kernel.source, kernel.source
    given = random_inputs(func, np.random.default_rng(0))
    given["d"][::3] = 0.0
    assert_agrees(func, kernel, given, 1e-4)


def test_a_sum_of_masked_quotients_is_divided_once() -> None:
    params = 'X: T.Buffer((64, 20), "float32"), H: T.Buffer((64, 32), "float32"), e: T.Buffer((64,), "float32")'
    body = """for k, j in T.grid(20, 32):
    g[k, j] = 0.0
    for b in range(64):
        if H[b, j] > 0.0:
            g[k, j] += e[b] * X[b, k] / 63.0"""
    func = read(f'{params}, g: T.Buffer((20, 32), "float32")', body)
    kernel = compile(func)
    assert '"bk,jb->kj"' in kernel.source and "ones" not in kernel.source, kernel.source
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)), 1e-4)


def test_products_with_a_divisor_of_some_terms_are_contractions() -> None:
    """Expected counts of transitions: a factor that no term changes is outside, and one array is divided."""
    params = 'a: T.Buffer((70, 12), "float32"), A: T.Buffer((12, 12), "float32"), s: T.Buffer((70,), "float32")'
    body = """for i, q in T.grid(12, 12):
    g[i, q] = 0.0
for t, i, q in T.grid(70, 12, 12):
    g[i, q] += a[t, i] * A[i, q] * b[t, q] / s[t]"""
    func = read(f'{params}, b: T.Buffer((70, 12), "float32"), g: T.Buffer((12, 12), "float32")', body)
    kernel = compile(func)
    assert '"ti,tq->iq"' in kernel.source and "ones" not in kernel.source, kernel.source
    given = random_inputs(func, np.random.default_rng(0))
    given["s"] = np.abs(given["s"]) + 1.0
    assert_agrees(func, kernel, given, 1e-4)


def test_products_that_several_sums_add_up_are_no_array() -> None:
    """As in factorization machines: sums of products, and of their squares."""
    params = 'X: T.Buffer((50, 40), "float32"), V: T.Buffer((40, 8), "float32"), Y: T.Buffer((50, 8), "float32")'
    body = """for i, f in T.grid(50, 8):
    S = T.alloc_buffer((2,), "float32")
    S[0] = 0.0
    S[1] = 0.0
    for j in range(40):
        t = V[j, f] * X[i, j]
        S[0] += t
        S[1] += t * t
    Y[i, f] = S[0] * S[0] - S[1]"""
    func = read(params, body)
    kernel = compile(func)
    assert kernel.source.count("einsum") == 2 and "ones" not in kernel.source, kernel.source
    assert_agrees(func, kernel, random_inputs(func, np.random.default_rng(0)), 1e-3)
