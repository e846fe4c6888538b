"""Like terms of floats are collected where that saves operations, and mean the same."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir import interpret, parse, parse_expr, to_script
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import Binary, Const, Expr, Unary, Var
from ir.traverse import walk_expr
from lower import compile, emit
from lower.analysis.freedoms import Policy
from lower.nest.linear_combinations import collected

NAMES = ("a", "b", "c", "d")


def form(text: str, dtype: str = "float32") -> str:
    return to_script(collected(parse_expr(text, dict.fromkeys(NAMES, dtype)), Policy()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 * a + 0.25 * a", "a * 0.75"),
        ("0.125 * (a - 2.0 * b + c) + 0.125 * (d - 2.0 * b + a) + b", "(a + c + d + a) * 0.125 + b * 0.5"),
        ("0.2 * a + 0.2 * b + 0.2 * c", "0.2 * (a + b + c)"),
        ("a + b - a", "b"),
        ("a * b + 2.0 * (a * b)", "3.0 * (a * b)"),
        ("-a - b - a - a", "-(3.0 * a + b)"),
        ("2.0 * (a + 3.0) - 6.0", "2.0 * a"),
        ("T.exp(a + a + a) * b", "T.exp(3.0 * a) * b"),
        # nothing is saved
        ("0.5 * (a - b)", "0.5 * (a - b)"),
        ("a + 0.5 * (b - c)", "a + 0.5 * (b - c)"),
        ("a * b + a * c", "a * b + a * c"),
        ("a / 3.0 + a", "a / 3.0 + a"),
    ],
)
def test_forms(text: str, expected: str) -> None:
    whole = parse_expr(text, dict.fromkeys(NAMES, "float32"))
    got = collected(whole, Policy())
    assert operations(got) <= operations(whole)
    assert (operations(got) == operations(whole)) == (text == expected)
    if text == expected:
        assert got.same(whole)
    assert operations(got) <= operations(parse_expr(expected, dict.fromkeys(NAMES, "float32")))


def operations(expr: Expr) -> int:
    return sum(isinstance(e, (Binary, Unary)) for e in walk_expr(expr))


@pytest.mark.parametrize("text", ["a + a * 3.0e38 + a * 3.0e38", "a + 1.0e-45 * b - 1.5 * a + 0.25 * (1.0e-45 * b)"])
def test_coefficients_stay_in_their_range(text: str) -> None:
    for e in walk_expr(collected(parse_expr(text, dict.fromkeys(NAMES, "float32")), Policy())):
        assert not isinstance(e, Const) or (np.isfinite(e.value) and e.value != 0)


def test_half_precision_and_integers_stay_as_they_are() -> None:
    for dtype in ("float16", "int32"):
        whole = parse_expr("2 * a + 3 * a", {"a": dtype}) if dtype == "int32" else parse_expr("a + a + a", {"a": dtype})
        assert collected(whole, Policy()).same(whole)


variables = st.sampled_from([parse_expr(n, {n: "float64"}) for n in NAMES])


def joined(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    ops = st.sampled_from([operator.add, operator.sub, operator.mul])
    whole = st.builds(lambda op, a, b: op(a, b), ops, parts, parts)  # pyright: ignore[reportUnknownLambdaType]
    scaled = st.builds(operator.mul, parts, st.integers(-3, 3).map(float))
    return st.one_of(whole, parts.map(operator.neg), scaled)


@settings(max_examples=200, deadline=None)
@given(st.recursive(variables, joined, max_leaves=12), st.lists(st.integers(-4, 4), min_size=4, max_size=4))
def test_random_combinations_keep_their_values(expr: Expr, values: list[int]) -> None:
    env: dict[str, float] = {n: float(v) for n, v in zip(NAMES, values, strict=True)}
    new = collected(expr, Policy())
    assert value(new, env) == value(expr, env)
    assert operations(new) <= operations(expr)
    assert collected(new, Policy()).same(new) or operations(collected(new, Policy())) < operations(new)


def value(expr: Expr, env: dict[str, float]) -> float:
    """What small numbers give exactly."""
    match expr:
        case Var(name=name):
            return env[name]
        case Const(value=v):
            return float(v)
        case Unary(operand=a):
            return -value(a, env)
        case Binary(op=op, lhs=a, rhs=b):
            x, y = value(a, env), value(b, env)
            return x + y if op == "add" else x - y if op == "sub" else x * y
        case _:
            raise TypeError(expr)


def test_a_stencil_with_its_parts_written_down_one_by_one() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((12, 12), "float32"), B: T.Buffer((12, 12), "float32")):
    for i, j in T.grid(10, 10):
        B[i + 1, j + 1] = A[i + 1, j + 1] + (
            0.25 * (A[i, j + 1] - 2.0 * A[i + 1, j + 1] + A[i + 2, j + 1])
            + 0.25 * (A[i + 1, j] - 2.0 * A[i + 1, j + 1] + A[i + 1, j + 2])
        )
""").funcs[0]
    source = emit(func)
    assert source.count("0.25") == 1
    assert "2.0" not in source
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(12, 12)).astype(np.float32) for _ in range(2))
    (got,), (want,) = compile(func)(a, b), interpret(func, a, b)
    assert np.allclose(np.asarray(got), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "0.5 * (a - b) + 0.25 * (b - c)",  # differences only are rounded
        "0.3 * (a - b) + 0.2 * (c - b) + 0.1 * (d - b)",
        "0.25 * (a - 2.0 * b + c) + 0.25 * (d - 2.0 * b + c)",
    ],
)
def test_differences_are_kept_unless_products_may_be_distributed(text: str) -> None:
    whole = parse_expr(text, dict.fromkeys(NAMES, "float32"))
    assert collected(whole, Policy()).same(whole)
    assert not collected(whole, Policy(DEFAULT_FLOATS | Floats.DISTRIBUTE)).same(whole)
