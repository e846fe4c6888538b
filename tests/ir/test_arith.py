"""Scalar arithmetic against NumPy, ml_dtypes, brute force and the laws it has to obey."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.arith import ArithmeticFault, fold_binary, fold_cast, fold_unary, rounded, shortest
from ir.dtypes import DType
from ir.nodes import FLOAT_UNARY_OPS
from ir.presburger.intervals import combined

INTEGERS = [d for d in DType if d.is_integer]
FLOATS = [d for d in DType if d.is_float]
SMALL = (DType.INT8, DType.UINT8)
EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: math.floor(Fraction(a, b)),
    "floormod": lambda a, b: a - b * math.floor(Fraction(a, b)),
    "truncdiv": lambda a, b: math.trunc(Fraction(a, b)),
    "truncmod": lambda a, b: a - b * math.trunc(Fraction(a, b)),
    "min": min,
    "max": max,
}


def values(dtype: DType) -> st.SearchStrategy:
    edges = (dtype.min, dtype.min + 1, 0, 1, dtype.max - 1, dtype.max, *((-1,) if dtype.is_signed else ()))
    return st.one_of(st.sampled_from(edges), st.integers(dtype.min, dtype.max))


def floats(dtype: DType) -> st.SearchStrategy:
    return st.floats(allow_nan=False).map(lambda v: rounded(v, dtype))


def outcome(op: str, a: int, b: int, dtype: DType) -> int | str:
    try:
        return fold_binary(op, a, b, dtype)
    except ArithmeticFault as fault:
        return fault.kind


def expected(op: str, a: int, b: int, dtype: DType) -> int | str:
    if b == 0 and op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        return "division-by-zero"
    value = EXACT[op](a, b)
    if dtype.min <= value <= dtype.max:
        return value
    return "overflow" if dtype.is_signed else value % (dtype.max + 1)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
@pytest.mark.parametrize("op", EXACT)
def test_every_pair_of_bytes_near_the_edges(op: str, dtype: DType) -> None:
    near = sorted({v for k in (dtype.min, 0, dtype.max) for v in range(k - 6, k + 7) if dtype.min <= v <= dtype.max})
    for a, b in itertools.product(range(dtype.min, dtype.max + 1), near):
        assert outcome(op, a, b, dtype) == expected(op, a, b, dtype), (op, a, b)


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(sorted(EXACT)))
def test_integers_of_every_width(data: st.DataObject, dtype: DType, op: str) -> None:
    a, b = data.draw(values(dtype)), data.draw(values(dtype))
    assert outcome(op, a, b, dtype) == expected(op, a, b, dtype)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1).filter(bool))
def test_division_identities(a: int, b: int) -> None:
    wide = DType.INT64
    for div, mod in (("floordiv", "floormod"), ("truncdiv", "truncmod")):
        quotient, rest = fold_binary(div, a, b, wide), fold_binary(mod, a, b, wide)
        assert quotient * b + rest == a
        assert abs(rest) < abs(b)
    assert fold_binary("floormod", a, b, wide) * b >= 0, "a floor remainder has the sign of the divisor"
    assert fold_binary("truncmod", a, b, wide) * a >= 0, "a truncated remainder has the sign of the dividend"


def test_the_smallest_integer_has_no_negation() -> None:
    for compute in (
        lambda: fold_unary("neg", -128, DType.INT8),
        lambda: fold_unary("abs", -128, DType.INT8),
        lambda: fold_binary("floordiv", -128, -1, DType.INT8),
        lambda: fold_binary("truncdiv", -128, -1, DType.INT8),
    ):
        with pytest.raises(ArithmeticFault, match="128 leaves int8") as fault:
            compute()
        assert fault.value.kind == "overflow"
    assert fold_binary("floormod", -128, -1, DType.INT8) == 0
    assert fold_unary("neg", 1, DType.UINT8) == 255
    assert fold_unary("abs", 255, DType.UINT8) == 255


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(("bitand", "bitor", "bitxor", "shr")))
def test_bit_operations_agree_with_numpy(data: st.DataObject, dtype: DType, op: str) -> None:
    a = data.draw(values(dtype))
    b = data.draw(st.integers(0, dtype.bits - 1) if op == "shr" else values(dtype))
    numpy = {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "shr": np.right_shift}[op]
    assert fold_binary(op, a, b, dtype) == numpy(dtype.numpy.type(a), dtype.numpy.type(b)).item()
    assert fold_unary("bitnot", a, dtype) == np.bitwise_not(dtype.numpy.type(a)).item()
    bits = format(int(a) % 2**dtype.bits, f"0{dtype.bits}b")
    assert fold_unary("popcount", a, dtype) == bits.count("1")
    assert fold_unary("clz", a, dtype) == len(bits) - len(bits.lstrip("0"))


def test_shifts() -> None:
    assert fold_binary("shl", 3, 2, DType.INT8) == 12
    assert fold_binary("shl", -3, 5, DType.INT8) == -96
    assert outcome("shl", 1, 7, DType.INT8) == "overflow"
    assert fold_binary("shl", 255, 7, DType.UINT8) == 128
    assert fold_binary("shr", -5, 1, DType.INT8) == -3
    for op, by in itertools.product(("shl", "shr"), (-1, 8, 100)):
        assert outcome(op, 1, by, DType.INT8) == "shift"


def test_integer_powers() -> None:
    assert [fold_binary("pow", b, e, DType.INT32) for b, e in ((0, 0), (2, 10), (-2, 3), (7, 1))] == [1, 1024, -8, 7]
    assert outcome("pow", 2, -1, DType.INT32) == "power"
    assert outcome("pow", 2, 31, DType.INT32) == "overflow"
    assert outcome("pow", 3, 2**31 - 1, DType.INT32) == "overflow"
    assert fold_binary("pow", -2, 31, DType.INT32) == -(2**31)
    assert fold_binary("pow", 3, 200, DType.UINT8) == 3**200 % 256
    huge = 2**63 - 1
    assert [fold_binary("pow", b, e, DType.INT64) for b in (0, 1, -1) for e in (huge, huge - 1)] == [0, 0, 1, 1, -1, 1]


@pytest.mark.parametrize("op", ("eq", "ne", "lt", "le", "gt", "ge"))
@pytest.mark.parametrize("pair", [(-1, 1), (1, 1), (2, -3)])
def test_comparisons_give_bools(op: str, pair: tuple[int, int]) -> None:
    numpy = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    found = fold_binary(op, *pair, DType.INT32)
    assert found is bool(getattr(np, numpy[op])(*pair))
    assert fold_binary(op, *map(float, pair), DType.FLOAT32) is found


def test_logic() -> None:
    for a, b in itertools.product((False, True), repeat=2):
        assert fold_binary("and", a, b, DType.BOOL) is (a and b)
        assert fold_binary("or", a, b, DType.BOOL) is (a or b)
        assert fold_binary("eq", a, b, DType.BOOL) is (a is b)
    assert fold_unary("not", True, DType.BOOL) is False
    assert fold_unary("not", False, DType.BOOL) is True


@given(st.data(), st.sampled_from(FLOATS), st.sampled_from(("add", "sub", "mul", "div")))
def test_float_operations_round_once(data: st.DataObject, dtype: DType, op: str) -> None:
    a, b = data.draw(floats(dtype)), data.draw(floats(dtype))
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op]
    with np.errstate(all="ignore"):
        wanted = float(exact(dtype.numpy.type(a), dtype.numpy.type(b)))
    np.testing.assert_equal(fold_binary(op, a, b, dtype), wanted)


@given(st.floats(), st.sampled_from(FLOATS))
def test_rounding_gives_the_nearest_value_ties_to_even(value: float, dtype: DType) -> None:
    found = rounded(value, dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_equal(rounded(found, dtype), found)
        np.testing.assert_equal(float(dtype.numpy.type(found)), found, "not a value of the dtype")
        if dtype is not DType.BFLOAT16:  # which NumPy reaches in two roundings
            np.testing.assert_equal(found, float(dtype.numpy.type(value)))
    if value == 0:
        assert math.copysign(1, found) == math.copysign(1, value)


def test_bfloat16_is_rounded_once() -> None:
    assert rounded(1 + 2**-8 + 2**-30, DType.BFLOAT16) == 1 + 2**-7
    assert rounded(1 + 2**-8, DType.BFLOAT16) == 1.0
    assert rounded(1 + 3 * 2**-8, DType.BFLOAT16) == 1 + 2**-6
    assert rounded(2.0**-133, DType.BFLOAT16) == 2.0**-133
    assert rounded(2.0**-135, DType.BFLOAT16) == 0.0
    assert rounded(3.4e38, DType.BFLOAT16) == math.inf


def test_floats_have_no_faults() -> None:
    single = DType.FLOAT32
    assert fold_binary("div", 1.0, 0.0, single) == math.inf
    assert fold_binary("div", 1.0, -0.0, single) == -math.inf
    assert math.isnan(fold_binary("div", 0.0, 0.0, single))
    assert fold_binary("mul", 1e30, 1e30, single) == math.inf
    assert fold_binary("mul", 1e30, 1e30, DType.FLOAT64) == pytest.approx(1e60)
    assert fold_unary("exp", 1000.0, DType.FLOAT64) == math.inf
    assert math.isnan(fold_unary("log", -1.0, single))
    assert math.isnan(fold_unary("sqrt", -1.0, single))
    assert fold_unary("rsqrt", 0.0, single) == math.inf
    assert fold_unary("sigmoid", -1000.0, single) == 0.0
    assert math.isnan(fold_binary("pow", -1.0, 0.5, single))
    assert math.isnan(fold_binary("max", 1.0, math.nan, single))
    assert math.isnan(fold_binary("min", math.nan, 1.0, single))


def test_precision_is_that_of_the_dtype() -> None:
    assert fold_binary("add", 2.0**24, 1.0, DType.FLOAT32) == 2.0**24
    assert fold_binary("add", 2.0**24, 1.0, DType.FLOAT64) == 2.0**24 + 1
    assert fold_binary("add", 2048.0, 1.0, DType.FLOAT16) == 2048.0
    assert fold_binary("add", 256.0, 1.0, DType.BFLOAT16) == 256.0
    assert fold_unary("exp", 1.0, DType.FLOAT32) == float(np.float32(math.e))
    assert fold_unary("neg", 0.0, DType.FLOAT32).hex() == "-0x0.0p+0"


@pytest.mark.parametrize("op", FLOAT_UNARY_OPS)
def test_functions(op: str) -> None:
    reference = {"rsqrt": lambda a: a**-0.5, "sigmoid": lambda a: 1 / (1 + math.exp(-a)), "round": round}
    for a in (0.25, 0.5, 1.75, 3.5) if op not in ("asin", "acos") else (0.25, 0.5, -0.75):
        wanted = reference.get(op, getattr(math, op, None))(a)
        assert fold_unary(op, a, DType.FLOAT64) == pytest.approx(wanted, rel=1e-15)
        assert fold_unary(op, a, DType.FLOAT32) == pytest.approx(wanted, rel=1e-7)


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(INTEGERS))
def test_integer_casts_wrap(data: st.DataObject, source: DType, target: DType) -> None:
    value = data.draw(values(source))
    found = fold_cast(value, source, target)
    assert target.min <= found <= target.max
    assert (found - value) % 2**target.bits == 0


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(FLOATS))
def test_integers_become_the_nearest_float(data: st.DataObject, source: DType, target: DType) -> None:
    value = data.draw(values(source))
    found = fold_cast(value, source, target)
    assert rounded(found, target) == found
    if target in (DType.FLOAT32, DType.FLOAT64):
        assert found == float(source.numpy.type(value).astype(target.numpy))
    if math.isfinite(found):
        assert abs(Fraction(found) - value) <= abs(Fraction(found)) * Fraction(1, 256)


def test_a_cast_rounds_once() -> None:
    just_above_a_tie = 2**60 + 2**36 + 1
    assert fold_cast(just_above_a_tie, DType.INT64, DType.FLOAT32) == 2.0**60 + 2.0**37
    assert fold_cast(2**60 + 2**52 + 1, DType.INT64, DType.BFLOAT16) == 2.0**60 + 2.0**53
    assert fold_cast(-(2**60 + 2**52 + 1), DType.INT64, DType.BFLOAT16) == -(2.0**60 + 2.0**53)


def test_other_casts() -> None:
    assert [fold_cast(v, DType.FLOAT32, DType.INT32) for v in (1.9, -1.9, 0.5, -0.5)] == [1, -1, 0, 0]
    assert [fold_cast(v, DType.INT32, DType.BOOL) for v in (0, 2, -1)] == [False, True, True]
    assert fold_cast(True, DType.BOOL, DType.INT8) == 1
    assert fold_cast(True, DType.BOOL, DType.FLOAT16) == 1.0
    assert fold_cast(0.1, DType.FLOAT64, DType.FLOAT32) == float(np.float32(0.1))
    for value, target in ((300.0, DType.INT8), (-1.0, DType.UINT8), (math.nan, DType.INT32), (math.inf, DType.INT64)):
        with pytest.raises(ArithmeticFault) as fault:
            fold_cast(value, DType.FLOAT64, target)
        assert fault.value.kind == "overflow"


@pytest.mark.parametrize("op, dtype", [("div", DType.INT32), ("floordiv", DType.FLOAT32), ("bitand", DType.FLOAT32)])
def test_operators_of_the_wrong_kind_are_no_operators(op: str, dtype: DType) -> None:
    with pytest.raises(ValueError, match=op):
        fold_binary(op, 1, 2, dtype)


@pytest.mark.parametrize("op", [*EXACT, "bitand", "bitor", "bitxor", "shl", "shr"])
def test_intervals_have_every_result(op: str) -> None:
    ranges = [(low, high) for low in range(-3, 6) for high in range(low, 6)]
    for a, b in itertools.product(ranges, ranges):
        found = combined(op, a, b)
        if found is None:
            continue
        for x, y in itertools.product(range(a[0], a[1] + 1), range(b[0], b[1] + 1)):
            result = fold_binary(op, x, y, DType.INT32)
            assert found[0] <= result <= found[1], (a, b, x, y)


@given(st.sampled_from(FLOATS), st.floats(allow_nan=False))
def test_numbers_are_written_with_the_digits_that_tell_them_apart(dtype: DType, value: float) -> None:
    short = shortest(value, dtype)
    assert rounded(short, dtype) == rounded(value, dtype)
    assert len(repr(short)) <= len(repr(rounded(value, dtype)))


def test_the_digits_of_narrow_floats() -> None:
    assert shortest(float(np.float32(0.8)), DType.FLOAT32) == 0.8
    assert shortest(float(np.float16(1 / 3)), DType.FLOAT16) == 0.3333
    assert shortest(0.1, DType.FLOAT64) == 0.1
