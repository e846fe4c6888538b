"""`simplify` gives an equal expression that is no larger, the same each time, and a fixed point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from egraph_rules import simplify
from ir import parse_expr, to_script
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.nodes import Expr, Var
from ir.semantics.machine import Machine
from ir.testing.expressions import exprs
from ir.traverse import walk_expr
from profiles import few, some

NAMES = dict.fromkeys("abcdikmnpqwxyz", "int32") | {"u": "uint8", "v": "uint8", "s": "int64", "t": "bool", "r": "bool"}

CASES = [
    # products and quotients by symbols
    ("(x * m) // m", ["m > 0"], "x"),
    ("(x * m + y) // m", ["m > 0", "0 <= y", "y < m"], "x"),
    ("(x * m) % m", ["m > 0"], "0"),
    ("x // m * m + x % m", ["m > 0"], "x"),
    ("x % (n * m) % n", ["n > 0", "m > 0"], "x % n"),
    ("x % (n * m) // n", ["n > 0", "m > 0"], "x // n % m"),
    ("x % (n * m) // n == x // n % m", ["n > 0", "m > 0"], "True"),
    ("x // x", ["x > 0"], "1"),
    ("x % x", ["x > 0"], "0"),
    ("x * y - y * x", [], "0"),
    ("(a + b) * (a - b) - a * a + b * b", [], "0"),
    ("(x + 1) * (x + 1) - x * x - 2 * x", [], "1"),
    ("a * x + b * x", ["0 <= a", "a < 100", "0 <= b", "b < 100"], "x * (a + b)"),
    ("x * m < y * m", ["m > 0"], "x < y"),
    # quasi-affine
    ("x - x // 8 * 8", [], "x % 8"),
    ("(x * 4 + y) // 4", ["0 <= y", "y < 4"], "x"),
    ("x // 8 // 4", [], "x // 32"),
    ("x % 32 % 8", [], "x % 8"),
    ("(x + 8) // 8 - x // 8", [], "1"),
    ("(x * 2 + 1) % 2", [], "1"),
    ("(x * 32 + y) // 32 * 32 + (x * 32 + y) % 32", [], "x * 32 + y"),
    ("z + (x + y) // 8 * 8 + (x + y) % 8", [], "z + (x + y)"),
    ("(x + y) // 8 * 24 + 3 * ((x + y) % 8)", [], "(x + y) * 3"),
    ("x < n - 1 - 1", [], "x < n - 2"),
    ("1 + (n + -2)", [], "n - 1"),
    ("(x + y) - (x + z)", [], "y - z"),
    ("2 * x == 2 * y", [], "x == y"),
    # minima and maxima
    ("T.min(x, T.min(x, y))", [], "T.min(x, y)"),
    ("T.max(T.min(x, y), x)", [], "x"),
    ("T.min(x + 3, y + 3)", [], "T.min(x, y) + 3"),
    ("T.min(T.max(x, 0), 7)", ["0 <= x", "x <= 7"], "x"),
    # booleans and selections
    ("x < y and x < y", [], "x < y"),
    ("not not t", [], "t"),
    ("T.if_then_else(x < 5, x, 0)", ["x < 3"], "x"),
    ("T.if_then_else(t, x, x)", [], "x"),
    # bits, casts and wrapping
    ("x & 7", ["0 <= x", "x < 8"], "x"),
    ("(x * 8) >> 3", [], "x"),
    ("(u + v) - v", [], "u"),
    ("T.int32(T.int64(x))", [], "x"),
    ("T.int32(T.int8(x))", ["-5 < x", "x < 5"], "x"),
    ("abs(x)", ["x >= 0"], "x"),
    ("-(-x)", [], "x"),
    # what all values of few variables show
    ("u >> 7 < (u & 1) * 8 + 2", [], "True"),
    ("T.min((x * 5 + y) % 7, 3) * (y - y // 4 * 4 - y)", ["0 <= x", "x < 9", "0 <= y", "y < 4"], "0"),
    ("((u ^ 255) & 3) + (u & 3)", [], "T.uint8(3)"),
]
NEAR = [  # where a side condition fails by one, less follows
    ("(x * m) // m", [], "x * m // m"),
    ("(x * m + y) // m", ["m > 0", "0 <= y", "y <= m"], "x + y // m"),
    ("x // x", ["x >= 0"], "x // x"),
    ("abs(x)", ["x >= -1"], "T.abs(x)"),
    ("x & 7", ["0 <= x", "x < 9"], "x & 7"),
    ("T.int32(T.int8(x))", ["-130 < x", "x < 5"], 'T.cast(T.cast(x, "int8"), "int32")'),
    ("T.int32(T.int8(-u))", [], 'T.cast(T.cast(-u, "int8"), "int32")'),
    ("T.max(T.float32(3.0), T.float32(u + 255))", [], 'T.max(3.0, T.cast(u + 255, "float32"))'),
    ("T.min(T.max(x, 0), 7)", ["-1 <= x", "x <= 7"], "T.max(x, 0)"),
    ("x * m < y * m", ["m >= 0"], "x * m < y * m"),
]


def expr(text: str) -> Expr:
    return parse_expr(text, NAMES)


def size(e: Expr) -> int:
    return sum(1 for _ in walk_expr(e))


@pytest.mark.parametrize(("text", "known", "wanted"), some(CASES, 0.15))
def test_finds_the_short_form(text: str, known: list[str], wanted: str):
    facts = [expr(k) for k in known]
    found = simplify(expr(text), given=facts)
    assert to_script(found) == wanted
    assert simplify(found, given=facts).same(found)


@pytest.mark.parametrize(("text", "known", "wanted"), NEAR)
def test_keeps_what_a_condition_protects(text: str, known: list[str], wanted: str):
    assert to_script(simplify(expr(text), given=[expr(k) for k in known])) == wanted


def value(e: Expr, values: dict[Var, int]) -> object:
    """The value of an expression; None if evaluating it faults."""
    machine = Machine(sanitize=False, rng=np.random.default_rng(0))
    machine.scalars.update(values)
    try:
        return machine.value(e)
    except InterpretError:
        return None


@few(12)
@given(st.data(), st.sampled_from((DType.INT32, DType.INT32, DType.UINT8, DType.BOOL)))
def test_equal_smaller_and_fixed(data: st.DataObject, dtype: DType):
    start = data.draw(exprs(dtype, 3, "xy"))
    assume(not any(e.dtype.is_float for e in walk_expr(start)))
    kind = DType.INT32 if dtype is DType.BOOL else dtype
    known = data.draw(exprs(DType.BOOL, 1, "xy")) if kind is DType.INT32 else expr("True")
    assume(not any(e.dtype.is_float for e in walk_expr(known)))
    try:
        found = simplify(start, given=[known])
    except LoopsatError as error:
        assert error.code == "contradiction"
        return
    assert size(found) <= size(start)
    assert simplify(start, given=[known]).same(found)
    assert simplify(found, given=[known]).same(found)
    x, y = Var("x", kind), Var("y", kind)
    samples = (*range(-9, 10), 100, -128, 2**31 - 1) if kind.is_signed else (0, 1, 2, 3, 7, 8, 100, 254, 255)
    for a, b in itertools.product(samples, repeat=2):
        values = {x: a, y: b}
        before = value(start, values)
        if before is not None and value(known, values) is True:
            assert value(found, values) == before, (a, b, to_script(found))
