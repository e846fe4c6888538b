"""Reductions over padding: the guard goes where the pad value makes the body a no-op, and stays where it does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import PrimFunc, parse, to_script
from ir.nodes import If
from ir.traverse import walk

_TEXT = """
{functions}
@T.prim_func
def f(A: T.Buffer((4, 4), "{dtype}"), W: T.Buffer((4, 4), "{result}"), B: T.Buffer((1,), "{result}")):
    for i, j in T.grid(4, 4):
        T.assume(4 * i + j < 14 or A[i, j] == {pad})
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
    Case("int32", "-128", "T.max(B[0], A[i, j])"),
    Case("int32", "T.max_value('int32')", "T.max(B[0], A[i, j])"),
    Case("uint8", "0", "T.min(B[0], A[i, j])", "9"),
    Case("bool", "True", "B[0] or A[i, j]", "False"),
    Case("bool", "True", "B[0] ^ A[i, j]", "False"),
    Case("bool", "False", "B[0] == A[i, j]", "True"),
    Case("int32", "0", "B[0] & A[i, j]", "-1"),
    Case("int32", "-1", "B[0] | A[i, j]"),
    Case("int32", "1", "B[0] + (A[i, j] >> 0)"),
    Case("int32", "7", "B[0] + (A[i, j] - 6) * 0 + A[i, j] - 6"),
    Case("int32", "6", "B[0] + (A[i, j] - 7) * W[i, j]"),
    Case("int32", "0", "B[0] + 12 // A[i, j]"),
    Case("float32", "1.25", 'B[0] + T.cast(A[i, j], "int32")', result="int32"),
    Case("float32", "3.0", "B[0] + T.if_then_else(A[i, j] > 0.0, A[i, j], 0.0)", "0.0"),
    Case("int32", "0", "B[0] + sharpen(A[i, j]) + 1", functions=_SHARPEN),
]


def guards(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(func.body))


@pytest.mark.parametrize("case", HARMLESS, ids=str)
def test_a_guard_goes_where_the_padding_does_nothing(case: Case) -> None:
    func = case.program()
    best = optimize(func).best
    assert guards(best) == 0, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), 2) > 0


@pytest.mark.parametrize("case", HARMFUL, ids=str)
def test_a_guard_stays_where_the_padding_does_something(case: Case) -> None:
    func = case.program()
    best = optimize(func).best
    assert guards(best) == 1, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0), 2) > 0
