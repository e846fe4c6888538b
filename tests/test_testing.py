"""`loopsat.testing`: planted bugs are found, and come back small; checks that compare nothing fail."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import loopsat
from egraph_rules import Number, Term, rule
from egraph_rules.authoring.rule import SIGNED
from ir import Module, PrimFunc, parse, verify
from ir.dtypes import DType
from ir.errors import LoopsatError, OptionError
from ir.nodes import Alloc
from ir.schedule import Schedule
from ir.semantics.inputs import Inputs
from ir.traverse import walk
from loopsat import testing
from profiles import few, some

ROW_SUM = parse(
    """
@T.prim_func
def row_sum(n: T.int32, A: T.Buffer((n, 2, 4), "float32"), B: T.Buffer((n,), "float32")):
    for i in T.serial(n):
        B[i] = 0.0
        for jo, ji in T.grid(2, 4):
            if 4 * jo + ji < 7:
                B[i] = B[i] + A[i, jo, ji]
"""
)["row_sum"]
ASSUMED = parse(
    str(ROW_SUM).replace(
        "    for i in", "    for i, k in T.grid(n, 1):\n        T.assume(A[i, 1, 3] == 0.0)\n    for i in", 1
    )
)["row_sum"]
UNGUARDED = parse(
    str(ROW_SUM).replace("            if 4 * jo + ji < 7:\n                B[i] =", "            B[i] =")
)["row_sum"]
CLAMP = parse(
    """
@T.prim_func
def clamp(n: T.int32, A: T.Buffer((n,), "int32"), low: T.int32, high: T.int32, B: T.Buffer((n,), "int32")):
    T.assume(low + 2 <= high and n >= 3)
    for i in T.serial(n):
        T.assume(A[i] > 100)
    for i in T.serial(n):
        B[i] = T.min(T.max(A[i], low), high)
"""
)["clamp"]
STAGES = parse(
    """
@T.prim_func
def stages(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 6):
        with T.block("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""
)["stages"]


def with_padding(n: int, A: np.ndarray) -> np.ndarray:
    return A.sum(axis=(1, 2))


def without_padding(n: int, A: np.ndarray) -> np.ndarray:
    return A.reshape(n, 8)[:, :7].sum(axis=1)


# Kernels --------------------------------------------------------------------------------------------------------------


def test_a_kernel_that_sums_padding_is_found_with_one_element() -> None:
    with pytest.raises(testing.DifferenceError, match="with_padding does not compute what row_sum says") as found:
        testing.check_kernel(with_padding, ROW_SUM)
    size = re.search(r"n = (\d+)\n", str(found.value))  # hypothesis also draws from loaded modules
    assert size is not None and int(size[1]) <= 2
    values = str(found.value).split("A = ")[1].split("\n")[0]
    assert sum(float(v) != 0 for v in values.replace("[", "").replace("]", "").split(",")) == 1
    assert issubclass(testing.DifferenceError, AssertionError)
    assert str(found.traceback.filter(found)[-1].path) == __file__  # what pytest shows is the line of the test


def test_right_kernels_pass() -> None:
    assert testing.check_kernel(without_padding, ROW_SUM) > 10
    assert testing.check_kernel(with_padding, ASSUMED) > 10
    assert testing.check_kernel(loopsat.compile(ROW_SUM), ROW_SUM, sizes={"n": 2}, examples=3) == 3


def test_kernels_may_take_what_is_written_too() -> None:
    def both(n: int, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray]:
        B[:] = without_padding(n, A)
        return (B,)

    assert testing.check_kernel(both, ROW_SUM, examples=5) == 5


def test_a_kernel_is_compared_with_what_a_function_under_jit_ran() -> None:
    @loopsat.jit
    def sums(A):
        found = np.zeros(len(A), A.dtype)
        for i in range(len(A)):
            for j in range(A.shape[1]):
                found[i] += A[i, j]
        return found

    with pytest.raises(LoopsatError, match="has not been called"):
        testing.check_kernel(lambda A: A.sum(1), sums)
    A = np.ones((3, 4), np.float32)
    assert testing.check_kernel(lambda A: A.sum(1), sums, given={"A": A}) == 1
    sums(A)
    assert testing.check_kernel(lambda A: A.sum(1), sums, examples=5) == 5
    assert testing.check_kernel(sums, sums, examples=5) == 5
    with pytest.raises(testing.DifferenceError):
        testing.check_kernel(lambda A: A.sum(1) + A[:, 0] / 64, sums)


def test_given_inputs_are_the_only_ones() -> None:
    inputs: Inputs = {"n": 1, "A": np.zeros((1, 2, 4), "float32"), "B": np.zeros(1, "float32")}
    assert testing.check_kernel(with_padding, ROW_SUM, given=inputs) == 1
    inputs["A"] = np.ones((1, 2, 4), "float32")
    with pytest.raises(testing.DifferenceError):
        testing.check_kernel(with_padding, ROW_SUM, given=inputs)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda n: None, "takes other arguments"),
        (lambda n, A: (A, A), "returns 2 results"),
        (lambda n, A: A, "returns B with shape"),
    ],
)
def test_kernels_of_another_interface_are_refused(kernel: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        testing.check_kernel(kernel, ROW_SUM, sizes={"n": 2})  # pyright: ignore[reportArgumentType]


# Programs -------------------------------------------------------------------------------------------------------------


def test_programs_that_differ_are_told_with_small_inputs() -> None:
    with pytest.raises(testing.DifferenceError) as found:
        testing.check_equivalent(ROW_SUM, UNGUARDED)
    size = re.search(r"n = (\d+)\n", str(found.value))  # hypothesis also draws from loaded modules
    assert size is not None and int(size[1]) <= 2
    assert "B[0] differs" in str(found.value)


def test_programs_are_compared_under_the_assumptions_of_the_first() -> None:
    assert testing.check_equivalent(ASSUMED, UNGUARDED) > 50
    with pytest.raises(testing.DifferenceError):
        testing.check_equivalent(UNGUARDED, ASSUMED)


def test_what_is_left_undef_may_be_anything_unless_equality_is_asked_for() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((2,), "int32")):\n    A[0] = {}\n'
    undef, zero = (parse(text.format(value))["f"] for value in ("T.undef()", "0"))
    assert testing.check_equivalent(undef, zero) > 0
    with pytest.raises(testing.DifferenceError):
        testing.check_equivalent(undef, zero, refines=False)
    with pytest.raises(testing.DifferenceError):
        testing.check_equivalent(zero, undef)


def test_where_undef_was_there_may_be_operations_without_a_value() -> None:
    text = """
@T.prim_func
def f(B: T.Buffer((4,), "int8"), C: T.Buffer((4,), "int8")):
    for i in range(4):
        B[i] = T.undef()
        C[i] = B[i] * 20
"""
    nine = text.replace("T.undef()", "9")
    arbitrary, overflows, fits = (parse(t)["f"] for t in (text, nine, nine.replace("B[i] * 20", "20")))
    given = {name: np.ones(4, np.int8) for name in ("B", "C")}
    assert testing.check_equivalent(arbitrary, overflows, given=given) == 1
    with pytest.raises(LoopsatError, match="undef only in the rewritten"):
        testing.check_equivalent(fits, overflows, given=given)


def test_a_check_that_compares_nothing_fails() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((2,), "int32")):\n    A[0] = A[1] // 0\n'
    func = parse(text)["f"]
    with pytest.raises(LoopsatError, match="nothing to compare with"):
        testing.check_equivalent(func, func)
    with pytest.raises(LoopsatError, match="nothing to compare with"):
        testing.check_kernel(lambda A: A, func)


def test_other_parameters_are_refused() -> None:
    with pytest.raises(OptionError, match="does not have the parameters"):
        testing.check_equivalent(ROW_SUM, CLAMP)


# Rules ----------------------------------------------------------------------------------------------------------------


def test_a_wrong_rule_raises_and_a_right_one_has_a_verdict() -> None:
    @rule(on=SIGNED, because="it looks right", family="example")
    def wrong(x: Term, c: Number):
        return (x // c) * c, x, c > 0

    @rule(on=SIGNED, because="a multiple of c adds exactly that many quotients", family="example")
    def right(x: Term, y: Term, c: Number):
        return (x * c + y) // c, x + y // c, c > 0

    assert testing.check_rule(right, examples=50).ok
    with pytest.raises(LoopsatError, match="does not hold"):
        testing.check_rule(wrong, examples=50)


# Strategies -----------------------------------------------------------------------------------------------------------


@given(testing.inputs(CLAMP))
def test_inputs_satisfy_assumptions(inputs: Inputs) -> None:
    loopsat.interpret(CLAMP, **inputs, sanitize=True)
    assert inputs["n"] >= 3
    assert np.all(inputs["A"] > 100)


def smallest(func: PrimFunc, condition: Callable[[Inputs], object]) -> Inputs:
    options = settings(max_examples=100, database=None, derandomize=True, phases=(Phase.generate, Phase.shrink))
    return find(testing.inputs(func), lambda inputs: bool(condition(inputs)), settings=options)


def test_inputs_become_simple() -> None:
    found = smallest(CLAMP, lambda inputs: np.any(inputs["B"] > 0))
    assert found["n"] == 3
    assert sorted(found["B"]) == [0, 0, 1]
    assert np.all(found["A"] <= 103)


def test_large_arrays_become_simple_too() -> None:
    func = parse('@T.prim_func\ndef f(A: T.Buffer((40, 50), "int32")):\n    A[0, 0] = 0\n')["f"]
    assert np.count_nonzero(smallest(func, lambda inputs: np.any(inputs["A"][20:]))["A"]) < 100


def test_an_unknown_size_is_named() -> None:
    with pytest.raises(LoopsatError, match="no scalar parameter `m`"):
        testing.check_equivalent(CLAMP, CLAMP, sizes={"m": 3})


@given(testing.modules())
@few(4)
def test_modules_have_distinct_valid_functions(module: Module) -> None:
    assert len({f.name for f in module.funcs}) == len(module.funcs)
    for func in module.funcs:
        verify(func)


@given(st.data())
@few(6)
def test_schedules_keep_what_is_computed(data: st.DataObject) -> None:
    schedule: Schedule = data.draw(testing.schedules(STAGES))
    testing.check_equivalent(STAGES, schedule.func, given=data.draw(testing.inputs(STAGES)))


def test_schedules_change_programs() -> None:
    seen: set[PrimFunc] = set()

    @settings(max_examples=40, database=None, derandomize=True)
    @given(testing.schedules(STAGES))
    def collect(schedule: Schedule) -> None:
        seen.add(replace(schedule.func))

    collect()
    assert len(seen) > 5
    assert any(not any(isinstance(s, Alloc) for s in walk(f.body)) for f in seen)  # one stage went into the other


@given(testing.dtypes(floats=False, unsigned=False, bools=False))
def test_dtypes_are_those_asked_for(dtype: DType) -> None:
    assert dtype.is_signed


def test_hypothesis_is_imported_with_testing_only() -> None:
    code = "import sys, loopsat; loopsat.optimize, loopsat.compile; assert 'hypothesis' not in sys.modules"
    code += "; loopsat.testing; assert 'hypothesis' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


WRONG_FAR_FROM_ZERO = {
    "products of squares": (
        "X: T.Buffer((32, 3), 'float32'), C: T.Buffer((5, 3), 'float32'), D: T.Buffer((32, 5), 'float32')",
        """for i, k in T.grid(32, 5):
        D[i, k] = 0.0
        for d in range(3):
            D[i, k] = D[i, k] + (X[i, d] - C[k, d]) * (X[i, d] - C[k, d])""",
        lambda X, C: (X * X).sum(1)[:, None] - 2 * X @ C.T + (C * C).sum(1)[None],
    ),
    "no wrap-around": (
        "A: T.Buffer((64,), 'uint8'), D: T.Buffer((64,), 'bool')",
        "for i in range(64):\n        D[i] = A[i] + T.uint8(1) <= T.uint8(200)",
        lambda A: A.astype(np.int32) + 1 <= 200,
    ),
    "largest, not of largest magnitude": (
        "A: T.Buffer((64,), 'float32'), D: T.Buffer((1,), 'float32')",
        "D[0] = T.abs(A[0])\n    for i in range(64):\n        D[0] = T.max(D[0], T.abs(A[i]))",
        lambda A: A.max(keepdims=True),
    ),
    "rare branch": (
        "A: T.Buffer((64,), 'float32'), D: T.Buffer((64,), 'float32')",
        "for i in range(64):\n        D[i] = A[i] / 3.0 if A[i] > 100.0 else A[i]",
        lambda A: A,
    ),
    "second tile": (
        "A: T.Buffer((n,), 'float32'), D: T.Buffer((n,), 'float32'), n: T.int32",
        "for i in range(n):\n        D[i] = A[i] if i % 8 != 7 or i < 8 else 0.0",
        lambda A, n: A[:n],
    ),
}


@pytest.mark.parametrize("name", some(WRONG_FAR_FROM_ZERO, 2))
def test_what_is_wrong_far_from_zero_only_is_found(name: str) -> None:
    params, body, kernel = WRONG_FAR_FROM_ZERO[name]
    func = parse(f"@T.prim_func\ndef f({params}):\n    {body}\n").funcs[0]
    with pytest.raises(testing.DifferenceError):
        testing.check_kernel(kernel, func)
