"""Reductions over padding: the guard goes where the pad value makes the body a no-op, and stays where it does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize, simplify
from ir import PrimFunc, interpret, parse, to_script
from ir import script as T
from ir.nodes import Const, If
from ir.traverse import walk
from profiles import some

_TEXT = """
{functions}
@T.prim_func
def f(A: T.Buffer((4, 4), "{dtype}"), W: T.Buffer((4, 4), "{result}"), V: T.Buffer((4, 4), "{result}"),
      B: T.Buffer((1,), "{result}")):
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == {pad})
        T.assume(W[i, j] == W[i, j])  # so that it looks at all of W
    B[0] = {start}
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            B[0] = {step}
"""


@dataclass(frozen=True)
class Case:
    """One reduction: the dtype of what is padded, what the padding holds, and what a step stores.

    `start` is what the reduction begins with, `result` the dtype of the sum where it is another one.
    """

    dtype: str
    pad: str
    step: str
    start: str = "0"
    result: str = ""
    functions: str = ""

    def program(self) -> PrimFunc:
        result = self.result or self.dtype
        text = _TEXT.format(
            functions=self.functions, dtype=self.dtype, result=result, pad=self.pad, start=self.start, step=self.step
        )
        return parse(text).funcs[0]

    def __str__(self) -> str:
        return f"{self.step} of {self.dtype}, {self.pad}"


_INF = 'T.float32("inf")'
_LOWEST = 'T.float32("-inf")'
_RELU = """
@T.function
def relu(x: T.float32):
    return T.if_then_else(x > 0.0, x, 0.0)
"""
_SHARPEN = """
@T.function
def sharpen(x: T.int32):
    return x * x - 3 * x
"""

HARMLESS = [
    # functions and operators of one operand
    Case("float32", "0.0", "B[0] + T.abs(A[i, j])", "0.0"),
    Case("float32", "0.0", "B[0] + T.tanh(A[i, j])", "0.0"),
    Case("float32", "0.0", "B[0] + T.sqrt(T.abs(A[i, j]))", "0.0"),
    Case("float32", "0.0", "B[0] + T.sin(A[i, j]) * W[i, j]", "0.0"),
    Case("float32", "0.0", "B[0] + T.floor(A[i, j] + 0.5)", "0.0"),
    Case("float32", "1.0", "B[0] + T.log(A[i, j])", "0.0"),
    Case("float32", _LOWEST, "B[0] + T.exp(A[i, j])", "0.0"),
    Case("float32", _LOWEST, "B[0] + T.exp(A[i, j] - 2.0)", "0.0"),
    Case("float64", "0.0", "B[0] + T.erf(A[i, j])", "0.0"),
    Case("float16", "0.0", "B[0] - A[i, j] * A[i, j]", "0.0"),
    Case("int32", "0", "B[0] + T.abs(A[i, j])"),
    Case("int32", "0", "B[0] + -A[i, j]"),
    # products and squares
    Case("int32", "0", "B[0] + A[i, j] * A[i, j]"),
    Case("float32", "2.0", "B[0] + (A[i, j] - 2.0) * W[i, j]", "0.0"),
    Case("int32", "7", "B[0] + (A[i, j] - 7) * W[i, j]"),
    Case("int8", "7", 'B[0] + (T.cast(A[i, j], "int32") - 7) * W[i, j]', result="int32"),
    Case("int32", "1", "B[0] * A[i, j]", "1"),
    Case("float32", "1.0", "B[0] * A[i, j]", "1.0"),
    Case("float32", "0.5", "B[0] * (A[i, j] + 0.5)", "1.0"),
    # extrema
    Case("int32", "T.min_value('int32')", "T.max(B[0], A[i, j])"),
    Case("int8", "-128", "T.max(B[0], A[i, j])"),
    Case("uint8", "0", "T.max(B[0], A[i, j])"),
    Case("uint8", "255", "T.min(A[i, j], B[0])"),
    Case("int64", "T.max_value('int64')", "T.min(B[0], A[i, j])"),
    Case("float32", "T.min_value('float32')", "T.max(B[0], A[i, j])", "0.0"),
    Case("float32", _LOWEST, "T.max(A[i, j], B[0])", "0.0"),
    Case("float16", "T.max_value('float16')", "T.min(B[0], A[i, j])", "0.0"),
    Case("float32", _INF, "T.min(B[0], A[i, j] * 2.0)", "0.0"),
    Case("int32", "-5", "T.max(B[0], T.max(A[i, j] * A[i, j], 25) - 25 + T.min_value('int32'))"),
    # logic
    Case("bool", "False", "B[0] or A[i, j]", "False"),
    Case("bool", "True", "B[0] and A[i, j]", "True"),
    Case("bool", "False", "B[0] ^ A[i, j]", "False"),
    Case("bool", "True", "B[0] == A[i, j]", "True"),
    Case("bool", "True", "B[0] or not A[i, j]", "False"),
    Case("float32", "0.0", "B[0] or A[i, j] > 0.0", "False", result="bool"),
    Case("int32", "3", "B[0] and A[i, j] * 2 == 6", "True", result="bool"),
    # bits and shifts
    Case("int32", "0", "B[0] | A[i, j]"),
    Case("int32", "0", "B[0] ^ A[i, j]"),
    Case("int16", "-1", "B[0] & A[i, j]", "-1"),
    Case("uint32", "4294967295", "A[i, j] & B[0]", "1"),
    Case("uint8", "1", "B[0] ^ (A[i, j] >> T.uint8(1))"),
    Case("int32", "0", "B[0] + (A[i, j] << 2)"),
    Case("int32", "-1", "B[0] | ~A[i, j]"),
    Case("uint32", "0", "B[0] | (A[i, j] << T.cast(8 * i + 2 * j, 'uint32'))"),
    Case("int32", "-1", "B[0] & (A[i, j] >> i + j)", "7"),
    Case("int32", "1", "B[0] * T.pow(A[i, j], i * j)", "1"),
    # casts, selections, comparisons, functions of the user
    Case("int8", "0", 'B[0] + T.cast(A[i, j], "int32")', result="int32"),
    Case("int8", "0", 'B[0] + T.cast(A[i, j], "float32") * W[i, j]', "0.0", result="float32"),
    Case("float32", "0.25", 'B[0] + T.cast(A[i, j], "int32")', result="int32"),
    Case("float32", "0.0", "B[0] + T.if_then_else(A[i, j] > 0.0, A[i, j], 0.0)", "0.0"),
    Case("float32", "-3.0", "B[0] + T.if_then_else(A[i, j] > 0.0, A[i, j] * W[i, j], 0.0)", "0.0"),
    Case("int32", "5", "B[0] + T.if_then_else(A[i, j] == 5, 0, W[i, j])"),
    Case("int32", "0", 'B[0] + T.cast(A[i, j] != 0, "int32")'),
    Case("int32", "6", "B[0] + A[i, j] % 3"),
    Case("float32", "-1.0", "B[0] + relu(A[i, j])", "0.0", functions=_RELU),
    Case("int32", "3", "B[0] + sharpen(A[i, j])", functions=_SHARPEN),
]

# A pad value that changes the result, or a step that might fault in the padding.
HARMFUL = [
    Case("float32", "1.0", "B[0] + T.abs(A[i, j])", "0.0"),
    Case("float32", "0.0", "B[0] + T.exp(A[i, j])", "0.0"),
    Case("float32", "0.0", "B[0] + T.cos(A[i, j])", "0.0"),
    Case("float32", "0.0", "B[0] * A[i, j]", "1.0"),
    Case("float32", "0.0", "T.max(B[0], A[i, j])", "-1.0"),
    Case("int32", "-128", "T.max(B[0], A[i, j])", "-1000"),
    Case("int32", "T.max_value('int32')", "T.max(B[0], A[i, j])"),
    Case("uint8", "0", "T.min(B[0], A[i, j])", "9"),
    Case("bool", "True", "B[0] or A[i, j]", "False"),
    Case("bool", "True", "B[0] ^ A[i, j]", "False"),
    Case("bool", "False", "B[0] == A[i, j]", "True"),
    Case("int32", "0", "B[0] & A[i, j]", "-1"),
    Case("int32", "-1", "B[0] | A[i, j]"),
    Case("int32", "1", "B[0] + (A[i, j] >> 0)"),
    Case("uint32", "0", "B[0] | (A[i, j] << T.cast(8 * i + 2 * j + 3, 'uint32'))"),
    Case("uint32", "4294967295", "B[0] & (A[i, j] >> T.cast(i + j, 'uint32'))", "7"),
    Case("int32", "7", "B[0] + (A[i, j] - 6) * 0 + A[i, j] - 6"),
    Case("int32", "6", "B[0] + (A[i, j] - 7) * W[i, j]"),
    Case("int32", "0", "B[0] + 12 // A[i, j]"),
    Case("float32", "1.25", 'B[0] + T.cast(A[i, j], "int32")', result="int32"),
    Case("float32", "3.0", "B[0] + T.if_then_else(A[i, j] > 0.0, A[i, j], 0.0)", "0.0"),
    Case("int32", "0", "B[0] + sharpen(A[i, j]) + 1", functions=_SHARPEN),
]


def guards(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body))


@pytest.mark.parametrize("case", some(HARMLESS, 4), ids=str)
def test_a_guard_goes_where_the_padding_does_nothing(case: Case) -> None:
    func = case.program()
    best = optimize(func).best
    assert guards(best) == 0, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), 2) > 0


@pytest.mark.parametrize("step", some(["{}", "T.min({}, 5.0)", "T.exp({})", "1.0 / ({} + 4.0)"], 0.5))
def test_a_guard_stays_where_a_factor_is_nothing_that_the_program_looks_at(step: str) -> None:
    """Zero times it is zero only if it is a number: of what is never read, or never computed, nobody has said so."""
    read, unread = (
        Case("float32", "0.0", f"B[0] + A[i, j] * {step.format(w)}", "0.0").program() for w in ("W[i, j]", "V[i, j]")
    )
    assert (guards(optimize(read).best) == 0) == (step in ("{}", "T.min({}, 5.0)"))
    best = optimize(unread).best
    assert assert_refines(unread, best, np.random.default_rng(0), 2) > 0
    given = {name: np.full((4, 4), value, np.float32) for name, value in (("A", 0.0), ("V", 2.0), ("W", 1.0))}
    given["V"][3, 2:] = np.nan
    assert np.isfinite(interpret(best, **given)[0]).all()


def test_an_element_that_is_never_read_may_be_infinite() -> None:
    """The greatest of it and the least finite number is not it."""
    func = parse("""
@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        T.assume(i < 6 or X[i] == T.min_value("float32"))
    for i in range(8):
        if i < 6:
            Y[i] = T.max(Y[i], X[i])
""").funcs[0]
    lowest = np.full(8, -np.inf, np.float32)
    (found,) = interpret(optimize(func).best, np.zeros(8, np.float32), lowest)
    assert (found[6:] == lowest[6:]).all()


@pytest.mark.parametrize("cond", ["n > 0", "d[1] > 0.0", "c[0] > 0"])
def test_what_is_not_run_computes_nothing_that_is_finite(cond: str) -> None:
    """The divisor may be zero where the loop is not run, so that zero divided by it is no zero."""
    func = parse(f"""
@T.prim_func
def f(X: T.Buffer((8,), "float32"), c: T.Buffer((1,), "int32"), d: T.Buffer((2,), "float32"),
      S: T.Buffer((1,), "float32"), n: T.int32):
    for i in range(8):
        T.assume({cond} or X[i] == 0.0)
    if {cond}:
        for i in range(8):
            S[0] = S[0] + X[i] / d[0]
""").funcs[0]
    zeros = {b.name: np.zeros([int(d.value) for d in b.shape], b.dtype.numpy) for b in func.buffers}
    assert not interpret(optimize(func).best, **zeros, n=0)[0].any()


@pytest.mark.parametrize("case", some(HARMFUL, 6), ids=str)
def test_a_guard_stays_where_the_padding_does_something(case: Case) -> None:
    func = case.program()
    best = optimize(func).best
    assert guards(best) == 1, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), 2) > 0


# What is known, and what is not ---------------------------------------------------------------------------------------


def test_functions_of_a_library_fold_only_where_the_last_bit_is_free() -> None:
    func = Case("float32", "1.0", "B[0] * T.cos(A[i, j] - 1.0)", "1.0").program()
    assert guards(optimize(func).best) == 0
    assert guards(optimize(func, floats=["no_signed_zeros", "finite"]).best) == 1
    assert guards(optimize(func, floats="strict").best) == 1


def test_exact_operations_fold_under_strict_floats() -> None:
    func = Case("float32", "-1.5", "B[0] * (T.floor(T.abs(A[i, j])) * 2.0 - 1.0)", "1.0").program()
    best = optimize(func, floats="strict").best
    assert guards(best) == 0, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), 2, exact=True) > 0


def test_a_zero_whose_sign_matters_is_no_known_value() -> None:
    func = Case("float32", "0.0", "B[0] + T.abs(A[i, j])", "0.0").program()
    assert guards(optimize(func, floats="strict").best) == 1
    quotient = Case("float32", "0.0", "T.min(B[0], 1.0 / A[i, j])", "0.0").program()
    assert guards(optimize(quotient, floats=["reassociate", "no_signed_zeros"]).best) == 1


def test_the_least_finite_number_is_neutral_among_finite_ones_only() -> None:
    func = Case("float32", "T.min_value('float32')", "T.max(B[0], A[i, j])", 'T.float32("-inf")').program()
    assert guards(optimize(func).best) == 0
    assert guards(optimize(func, floats=["reassociate", "no_signed_zeros"]).best) == 1


@pytest.mark.parametrize("step", ["T.exp(A[b, p] - M[b])", "B[b, p] * M[b]"])
def test_infinity_that_is_written_out_is_no_number_where_nothing_is_computed(step: str) -> None:
    """Of an empty row the maximum is minus infinity, of which nothing is computed."""
    text = f"""
@T.prim_func
def f(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32"), L: T.Buffer((2,), "int32"),
      M: T.Buffer((2,), "float32"), C: T.Buffer((2,), "float32")):
    for b, p in T.grid(2, 4):
        T.assume(p < L[b] or (A[b, p] == {_LOWEST} and B[b, p] == 0.0))
    for b in range(2):
        M[b] = {_LOWEST}
        for p in range(4):
            if p < L[b]:
                M[b] = T.max(M[b], A[b, p])
        C[b] = 0.0
        for p in range(4):
            if p < L[b]:
                C[b] = C[b] + {step}
"""
    best = optimize(parse(text).funcs[0]).best
    rows = np.array([[1.0, 2.0, -np.inf, -np.inf], [-np.inf] * 4], np.float32)
    zeros = np.zeros(2, np.float32)
    found = interpret(best, rows, np.isfinite(rows).astype(np.float32), np.array([2, 0], np.int32), zeros, zeros)[-1]
    assert found[1] == 0.0, to_script(best)


def test_a_quotient_of_padding_may_divide_by_zero() -> None:
    """What is known to be absorbed may still fault."""
    func = Case("int32", "0", "B[0] + A[i, j] * (1 // W[i, j])").program()
    assert guards(optimize(func).best) == 1


def test_a_branch_on_padding_is_decided() -> None:
    text = Case("int32", "-1", "B[0] + A[i, j]").program()
    func = parse(
        to_script(text).replace(
            "            B[0] = B[0] + A[i, j]",
            "            if A[i, j] > 0:\n                B[0] = B[0] + A[i, j] // A[i, j]",
        )
    ).funcs[0]
    assert guards(func) == 2
    best = optimize(func).best
    assert guards(best) == 1, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), 2) > 0


def test_terms_that_rewriting_makes_fold() -> None:
    x, y = T.int32("x"), T.int32("y")
    assert simplify(T.abs((x - 3) - x)).same(T.int32(3))
    assert simplify(T.bitwise_xor(T.bitwise_and(y * (x - x + 2) // y * 3, T.int32(0)), 6), [y > 0]).same(T.int32(6))
    z = T.float32("z")
    assert simplify(T.floor((z - z) + T.float32(2.5)) * z).same(simplify(T.float32(2.0) * z))
    assert simplify(T.cast(T.if_then_else(x - x == 0, T.int32(300), x), "int8")).same(T.int8(44))


def test_faults_do_not_fold() -> None:
    for expr in (T.int32(1) // T.int32(0), T.int8(127) + T.int8(1), T.abs(T.int8(-128)), T.int32(1) << T.int32(32)):
        assert not isinstance(simplify(expr), Const)


def test_unsigned_numbers_and_casts_wrap() -> None:
    assert simplify(T.uint8(200) + T.uint8(100)).same(T.uint8(44))
    assert simplify(T.cast(T.int32(-1), "uint16")).same(T.uint16(65535))


def test_printed_programs_have_no_sums_of_numbers_left() -> None:
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
    for i in T.serial(8):
        A[i] = A[i] * (T.float32(2.0) * T.float32(3.0))
        B[i] = B[i] + (T.int32(6) ^ T.int32(3)) * T.cast(T.float32(2.5), "int32")
"""
    ).funcs[0]
    text = to_script(optimize(func).best)
    assert "A[i] * 6.0" in text
    assert "B[i] + 10" in text
