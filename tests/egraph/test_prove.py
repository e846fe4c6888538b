"""`prove` decides what is true for all values, and never says so of what is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given

from egraph_rules import prove
from ir import parse_expr
from ir.dtypes import DType
from ir.errors import InterpretError, LoopsatError
from ir.nodes import Expr, Var
from ir.semantics.machine import Machine
from ir.testing.expressions import exprs
from ir.traverse import walk_expr

NAMES = dict.fromkeys("abcdikmnpqwxyz", "int32") | {"u": "uint8", "v": "uint8", "s": "int64", "t": "bool", "r": "bool"}


def expr(text: str) -> Expr:
    return parse_expr(text, NAMES)


def nest(op: str, other: str, depth: int) -> str:
    """A nest of minima and maxima in turn over four names."""
    text = "x"
    for k in range(depth):
        text = f"T.{op if k % 2 else other}({text}, {'xyzw'[k % 4]} + {k % 3})"
    return text


TRUE = [
    # quasi-affine
    ("x + 1 > x", []),
    ("(x + y) - (x + z) == y - z", []),
    ("x // 8 * 8 <= x", []),
    ("x - x // 8 * 8 < 8", []),
    ("(x * 4 + 3) // 4 == x", []),
    ("(x * 6) // 4 == (x * 3) // 2", []),
    ("(x % 8) % 4 == x % 4", []),
    ("x // 4 // 2 == x // 8", []),
    ("2 * x != 2 * y + 1", []),
    ("x // 4 * 4 == x", ["x % 8 == 0"]),
    ("x // 2 * 2 == x", ["x % 4 == 0"]),
    ("(x * 8 + y) // 8 == x", ["0 <= y", "y < 8"]),
    ("(x * 8 + y) % 8 == y", ["0 <= y", "y < 8"]),
    ("x // 4 * 4 + x % 4 == x", []),
    ("(x + 7) // 8 * 8 >= x", []),
    ("x // 16 == (x // 4) // 4", []),
    ("4 * i + k < 16", ["0 <= i", "i < 4", "0 <= k", "k < 4"]),
    ("(x + 3) // 4 <= 4", ["x <= 13"]),
    ("-x // 2 == -((x + 1) // 2)", []),
    # ones among bits, and zeros above them
    ("T.popcount(x) <= 32", []),
    ("T.clz(u) < 9", []),
    ("T.popcount(x) + T.clz(y) >= 0", []),
    # minima and maxima
    ("T.min(x, y) <= x", []),
    ("T.max(x, y) >= y", []),
    ("T.max(T.min(x, y), x) == x", []),
    ("T.max(T.min(x, y), T.min(x, z)) == T.min(x, T.max(y, z))", []),
    ("T.min(T.min(x, y), T.min(z, w)) <= T.max(T.max(x, y), T.max(z, w))", []),
    ("T.max(T.min(a, b) + c, T.min(a, b) + d) == T.min(a, b) + T.max(c, d)", []),
    ("T.min(x * 8 + 7, y) // 8 <= x", []),
    ("T.min(x, y) + T.max(x, y) == x + y", []),
    ("T.min(x + 3, y + 3) == T.min(x, y) + 3", []),
    ("T.max(T.min(x, 7), 0) <= 7", []),
    ("T.min(x, y) // 4 == T.min(x // 4, y // 4)", []),
    ("T.max(x, y) - T.min(x, y) >= 0", []),
    (f"{nest('min', 'max', 10)} <= {nest('min', 'max', 10)} + 1", []),
    (f"T.min({nest('min', 'max', 10)}, x) <= x", []),
    (f"T.min({nest('min', 'max', 8)}, {nest('max', 'min', 8)}) <= {nest('max', 'min', 8)}", []),
    # selections and booleans
    ("T.if_then_else(x < y, x, y) == T.min(x, y)", []),
    ("T.if_then_else(t, a, b) <= T.max(a, b)", []),
    ("T.if_then_else(t, a, b) >= T.min(a, b)", []),
    ("T.if_then_else(x > 0, x, -x) == abs(x)", []),
    ("t or not t", []),
    ("not (t and r) or t", []),
    ("x < 3 or x >= 3", []),
    ("not (x < y) or x <= y", []),
    # products of symbols
    ("x * x >= 0", []),
    ("x * y == y * x", []),
    ("a * b + a * c == a * (b + c)", []),
    ("(a + b) * (a - b) == a * a - b * b", []),
    ("x * k <= y * k", ["x <= y", "k >= 0"]),
    ("x * k >= y * k", ["x <= y", "k <= 0"]),
    ("x * m < y * m", ["m > 0", "x < y"]),
    ("x * y <= x * z", ["x >= 0", "y <= z"]),
    ("x * y >= 0", ["x >= 0", "y >= 0"]),
    ("i * n + k < n * m", ["0 <= i", "i < m", "0 <= k", "k < n"]),
    # quotients by symbols
    ("(x * m) // m == x", ["m > 0"]),
    ("(x * m) // m == x", ["m != 0"]),
    ("(x * m) % m == 0", ["m > 0"]),
    ("(x * m + y) // m == x", ["m > 0", "0 <= y", "y < m"]),
    ("(x * m + y) % m == y", ["m > 0", "0 <= y", "y < m"]),
    ("x % y < y", ["y > 0"]),
    ("x % y >= 0", ["y > 0"]),
    ("x // y * y <= x", ["y > 0"]),
    ("T.max(x // y * y, x) == x", ["y > 0"]),
    ("x // m * m + x % m == x", ["m != 0"]),
    ("x // m >= y // m", ["m > 0", "x >= y"]),
    ("(x + m - 1) // m * m >= x", ["m > 0"]),
    ("x % m == x", ["0 <= x", "x < m"]),
    ("x // m == 0", ["0 <= x", "x < m"]),
    ("(x * a) // (y * a) == x // y", ["a > 0", "y > 0"]),
    ("(x * a) % (y * a) == (x % y) * a", ["a > 0", "y > 0"]),
    ("x // m <= x", ["m > 0", "x >= 0"]),
    ("((i * n + a) * p + k) // p % n == a", ["0 <= k", "k < p", "0 <= a", "a < n"]),
    ("((i * n + a) * p + k) // p // n == i", ["0 <= k", "k < p", "0 <= a", "a < n"]),
    ("k // n < m", ["0 <= k", "k < m * n", "n > 0"]),
    # bits, casts and wrapping
    ("(x & 7) == x % 8", []),
    ("(x & 7) <= 7", []),
    ("(x & -8) == x // 8 * 8", []),
    ("(x >> 3) == x // 8", []),
    ("(x << 3) == x * 8", []),
    ("(x & 12) == (x >> 2) % 4 * 4", []),
    ("(x | y) < 16", ["0 <= x", "0 <= y", "x < 16", "y < 16"]),
    ("(x ^ y) < 16", ["0 <= x", "0 <= y", "x < 16", "y < 16"]),
    ("(x | y) <= x + y", ["0 <= x", "0 <= y"]),
    ("(1 << x) <= 256", ["0 <= x", "x <= 8"]),
    ("(x << y) <= 60", ["0 <= x", "x < 16", "0 <= y", "y <= 2"]),
    ("(x >> y) <= 3", ["0 <= x", "x < 16", "2 <= y", "y < 8"]),
    ("(x >> y) >= -4", ["-16 <= x", "2 <= y", "y < 8"]),
    ("(x << y) % 4 == 0", ["2 <= y", "y < 8"]),
    ("T.int32(T.int8(x)) == x", ["-100 < x", "x < 100"]),
    ("T.int32(T.int64(x)) == x", []),
    ("T.int32(u) <= 255", []),
    ("(u + v) - v == u", []),
    ("T.int32(T.uint8(x)) == x % 256", []),
    # from conditions that are not affine
    ("x * y == 12", ["x * y == 12"]),
    ("x * y + 1 > 12", ["x * y >= 12"]),
    ("x != 0", ["x * y > 0"]),
]
FALSE = [
    ("x < x", []), ("x * x + 1 <= 0", []), ("x % 4 == 5", []), ("T.min(x, y) > x", []), ("2 * x == 2 * y + 1", []),
    ("t and not t", []), ("x * m >= y * m", ["m > 0", "x < y"]), ("(x & 7) == 9", []), ("x % m >= m", ["m > 0"]),
]  # fmt: skip
OPEN = [
    ("x // n < 0 and x > 5 and x < 3", []),  # where n is zero it has no truth
    ("x % n > y and x * 2 == 7", ["n >= 0"]),
    ("(x >> n) < 0 and y < y", []),
    (
        ("not (((x - 7) * x + T.max(x, 0)) % x <= y and ((y & 7) * y + T.truncdiv(y * 2 + x, 2)) % y"
        " <= (y * 32 + x) // 64 and T.max(T.min(y, 0), 4) + T.int32(T.int64(0)) != 2)"),
        ["x >= 0", "y >= 0", "y < 5", "x < y"],
    ),
    ("x == y", []), ("(x * m) // m == x", []), ("x * k <= y * k", ["x <= y"]), ("x // 4 * 4 == x", ["x % 2 == 0"]),
    ("x % y < y", []), ("T.int32(T.int8(x)) == x", []), ("u + T.uint8(1) > u", []), ("x * y > 0", ["x > 0"]),
    ("(x * m + y) // m == x", ["m > 0", "0 <= y"]), ("T.truncdiv(x, 4) == x // 4", []), ("t", []), ("t or r", []),
    ("x // m >= y // m", ["x >= y", "m != 0"]), ("(x | y) < 16", ["0 <= x", "x < 16", "y < 17"]),
    ("(x ^ y) < 12", ["0 <= x", "0 <= y", "x < 12", "y < 12"]),
    ("(x >> y) <= 3", ["0 <= x", "x < 17", "2 <= y", "y < 8"]),
    ("x >= 5", ["0 <= x", "x < 10", 'T.cast(x - 1, "uint64") > T.uint64(3)']),  # true of x = 0, by 2**64 - 1
    ("T.cast(u + 255, 'float64') >= 255.0", []),  # what is unsigned comes back at the other end
    ("T.cast(-u, 'float64') <= 0.0", []),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "known"), TRUE)
def test_true_claims_are_proven(claim: str, known: list[str]):
    assert prove(expr(claim), given=[expr(k) for k in known]) is True


@pytest.mark.parametrize(("claim", "known"), TRUE[::8])
def test_their_negations_are_refuted(claim: str, known: list[str]):
    assert prove(~expr(claim), given=[expr(k) for k in known]) is False


@pytest.mark.parametrize(("claim", "known"), FALSE)
def test_false_claims_are_refuted(claim: str, known: list[str]):
    assert prove(expr(claim), given=[expr(k) for k in known]) is False


@pytest.mark.parametrize(("claim", "known"), OPEN)
def test_claims_that_depend_stay_open(claim: str, known: list[str]):
    assert prove(expr(claim), given=[expr(k) for k in known]) is None


@pytest.mark.parametrize("claim", ["k >= T.uint64(9)", "T.max(k, T.uint64(3)) == k", "~(k ^ 1) & k == k & 1"])
def test_what_no_signed_integer_holds_is_proven_too(claim: str):
    wide = {"k": "uint64"}
    assert prove(parse_expr(claim, wide), given=[parse_expr(f"k >= T.uint64({2**64 - 6})", wide)]) is True


def holds(cond: Expr, values: dict[Var, int]) -> bool | None:
    """Whether a condition is true of some values; None if evaluating it faults."""
    machine = Machine(sanitize=False, rng=np.random.default_rng(0))
    machine.scalars.update(values)
    try:
        return bool(machine.value(cond))
    except InterpretError:
        return None


@given(exprs(DType.BOOL, 3, "xy"), exprs(DType.BOOL, 1, "xy"))
def test_nothing_wrong_is_proven(claim: Expr, known: Expr):
    assume(not any(e.dtype.is_float for e in (*walk_expr(claim), *walk_expr(known))))
    try:
        answer = prove(claim, given=[known])
    except LoopsatError as error:
        assert error.code == "contradiction"
        answer, claim = False, known
        known = expr("True")
    if answer is None:
        return
    x, y = Var("x", DType.INT32), Var("y", DType.INT32)
    for a, b in itertools.product((*range(-9, 10), 100, -128, 2**31 - 1), repeat=2):
        values = {x: a, y: b}
        if holds(known, values) is True:
            assert holds(claim, values) in (answer, None), (a, b)
