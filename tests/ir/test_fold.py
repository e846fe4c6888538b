"""Folding gives what the interpreter computes, or nothing; what operands are declared to do is what they do."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ir import parse
from ir.arith import ArithmeticFault, Scalar, fold_binary, rounded
from ir.dtypes import DType, Kind
from ir.errors import InterpretError
from ir.floats import Floats
from ir.fold import computed, shortened
from ir.nodes import COMPARE_OPS, LOGICAL_OPS, Binary, BinaryOp, Cast, Const, Expr, Unary, UnaryOp, const
from ir.operators import COMMUTATIVE, IDEMPOTENT, SPECIAL, Commutative, Idempotent, Special, admits, neutral, number
from ir.semantics.machine import Machine
from ir.traverse import stmt_exprs
from profiles import some

INTEGER_OPS: tuple[BinaryOp, ...] = (
    "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "pow", "bitand", "bitor",
    "bitxor", "shl", "shr",
)  # fmt: skip
FLOAT_OPS: tuple[BinaryOp, ...] = ("add", "sub", "mul", "div", "min", "max", "pow", "atan2", "hypot")
FUNCTIONS: tuple[UnaryOp, ...] = ("neg", "abs", "exp", "log", "sqrt", "tanh", "cos", "floor", "ceil", "rsqrt")
FLOATS = (0.0, 1.0, -1.0, 0.5, -2.25, 3.0, math.inf, -math.inf, 57344.0)


def values(dtype: DType) -> tuple[Scalar, ...]:
    if dtype is DType.BOOL:
        return False, True
    if dtype.is_float:
        return FLOATS
    return tuple(dict.fromkeys((dtype.min, dtype.min // 2, 0, 1, 2, 5, 7, dtype.max)))


def meaning(expr: Expr) -> Scalar | None:
    """What the interpreter computes; None for a fault."""
    try:
        found = Machine(False, np.random.default_rng(0)).value(expr)
    except InterpretError:
        return None
    assert isinstance(found, (bool, int, float))
    return found


def operations(dtype: DType) -> list[Expr]:
    consts = [const(v, dtype) for v in values(dtype)]
    pairs = list(itertools.product(consts, repeat=2))
    if dtype is DType.BOOL:
        binary: tuple[BinaryOp, ...] = (*LOGICAL_OPS, "eq", "ne")  # pyright: ignore[reportAssignmentType]
        unary: tuple[UnaryOp, ...] = ("not",)
    else:
        binary = (*(FLOAT_OPS if dtype.is_float else INTEGER_OPS), *COMPARE_OPS)  # pyright: ignore[reportAssignmentType]
        unary = FUNCTIONS if dtype.is_float else ("neg", "abs", "bitnot", "popcount", "clz")
    return [
        *(Binary(op, a, b) for op in binary for a, b in pairs),
        *(Unary(op, a) for op in unary for a in consts),
        *(Cast(target, a) for target in DType for a in consts),
    ]


@pytest.mark.parametrize("dtype", some(DType, 0.46), ids=str)
def test_folding_is_what_the_interpreter_computes(dtype: DType) -> None:
    folded = 0
    for expr in operations(dtype):
        found, want = computed(expr), meaning(expr)
        if want is None:
            assert found is None, expr  # a fault stays
        elif found is not None:
            folded += 1
            assert found.dtype is expr.dtype
            value = rounded(found.value, found.dtype) if found.dtype.is_float else found.value
            assert Const(want, expr.dtype).same(Const(value, found.dtype)) or value == want == 0.0, expr
        elif not expr.dtype.is_float:
            assert any(e.dtype.is_float for e in (expr.operand,)) if isinstance(expr, Cast) else dtype.is_float
    assert folded > len(values(dtype))


def test_what_is_not_one_number_does_not_fold() -> None:
    single = DType.FLOAT32
    zero, infinite, small = const(0.0, single), const(math.inf, single), const(1e-40, single)
    nan = const(math.nan, single)
    one = const(1.0, single)
    assert computed(Binary("div", one, zero)) is None  # 1 / -0.0 is minus infinity
    assert computed(Binary("mul", infinite, zero)) is None  # NaN
    assert computed(Binary("eq", nan, nan)) is None
    assert computed(Binary("eq", small, small)) is None
    assert computed(Binary("mul", small, infinite)) is None  # hardware may take it for zero times infinity
    assert computed(Binary("mul", const(1e-30, single), const(1e-10, single))) is None  # subnormal
    assert computed(Binary("mul", const(-1.0, single), zero)) is not None
    assert computed(Unary("sqrt", const(-1.0, single))) is None
    assert computed(Unary("exp", one), library=False) is None
    assert computed(Unary("floor", const(1.5, single)), library=False) is not None


def test_literals_are_rounded_first() -> None:
    written, rounded = const(0.1, DType.FLOAT32), const(float(np.float32(0.1)), DType.FLOAT32)
    same = computed(Binary("eq", written, rounded))
    assert same is not None and same.value is True


def dtypes(kinds: tuple[Kind, ...]) -> list[DType]:
    return [d for d in DType if d.kind in kinds]


@pytest.mark.parametrize("law", SPECIAL, ids=lambda s: f"{s.op} {s.role} {s.name} {s.kinds[0].value}")
def test_special_operands_do_what_is_declared(law: Special) -> None:
    for dtype in dtypes(law.kinds):
        special = number(law.name, dtype)
        for x in values(dtype):
            if Floats.FINITE in law.floats and dtype.is_float and not math.isfinite(x):
                continue
            for side in law.sides:
                pair = (x, special) if side == "right" else (special, x)
                found = _folded(law.op, *pair, dtype)
                if law.partial and not _admitted(law.op, *pair, dtype):
                    continue
                assert found == (x if law.role == "neutral" else special), (dtype, pair)


@pytest.mark.parametrize("law", SPECIAL, ids=lambda s: f"{s.op} {s.role} {s.name} {s.kinds[0].value}")
def test_a_side_or_freedom_that_is_not_declared_would_be_wrong(law: Special) -> None:
    for dtype in dtypes(law.kinds)[:1]:
        special = number(law.name, dtype)
        if law.partial:
            others = [x for x in values(dtype) if not _admitted(law.op, special, x, dtype)]
            assert others and all(_folded(law.op, special, x, dtype) != special for x in others)
        if len(law.sides) == 1:
            turned = [(x, _folded(law.op, special, x, dtype)) for x in values(dtype)]
            assert any(found != x for x, found in turned)
        if Floats.FINITE in law.floats:
            result = {x: fold_binary(law.op, x, special, dtype) for x in (math.inf, -math.inf, math.nan)}
            assert any(found != (x if law.role == "neutral" else special) for x, found in result.items())


def _admitted(op: BinaryOp, a: Scalar, b: Scalar, dtype: DType) -> bool:
    needed = admits(Binary(op, const(a, dtype), const(b, dtype)))
    return needed is None or meaning(needed) is True


def _folded(op: str, a: Scalar, b: Scalar, dtype: DType) -> Scalar | None:
    try:
        return fold_binary(op, a, b, dtype)
    except ArithmeticFault:
        return None


@pytest.mark.parametrize("law", IDEMPOTENT, ids=lambda s: f"{s.op} {s.kinds[0].value}")
def test_idempotent_operators(law: Idempotent) -> None:
    assert all(fold_binary(law.op, x, x, d) == x for d in dtypes(law.kinds) for x in values(d))


@pytest.mark.parametrize("law", COMMUTATIVE, ids=lambda s: f"{s.op} {s.kinds[0].value}")
def test_commutative_operators(law: Commutative) -> None:
    for dtype in dtypes(law.kinds):
        for a, b in itertools.product(values(dtype), repeat=2):
            found = _folded(law.op, a, b, dtype), _folded(law.op, b, a, dtype)
            assert found[0] == found[1] or (found[0] != found[0] and found[1] != found[1])


def test_the_neutral_number_of_an_operator_is_the_one_that_takes_least() -> None:
    assert neutral("max", DType.FLOAT32) == -math.inf
    assert neutral("max", DType.INT8) == -128
    assert neutral("bitand", DType.UINT8) == 255
    assert neutral("exp", DType.FLOAT16) == -math.inf
    assert [neutral(op, DType.INT32) for op in ("and", "div", "exp", "eq", "truncmod")] == [None] * 5


@pytest.mark.parametrize(
    ("expr", "short"),
    [
        ("x - 1 + 1", "x"),
        ("x + 2 - 5", "x - 3"),
        ("x - 2 - 5", "x - 7"),
        ("4 - 1 + 1", "4"),
        ("A[x + 1 - 1 + 3] + 1 - 1", "A[x + 3]"),
        ("u + T.uint32(1) - T.uint32(1)", "u + T.uint32(1) - T.uint32(1)"),
        ("x + 2147483647 + 5", "x + 2147483647 + 5"),
        ("x * 2 + 1 - y", "x * 2 + 1 - y"),
    ],
)
def test_numbers_that_are_added_one_after_the_other_are_one(expr: str, short: str) -> None:
    text = (
        f"@T.prim_func\ndef f(A: T.Buffer((9,), 'int32'), x: T.int32, y: T.int32, u: T.uint32):\n    T.evaluate({expr})"
    )
    (found,) = stmt_exprs(parse(text).funcs[0].body)
    (wanted,) = stmt_exprs(parse(text.replace(expr, short)).funcs[0].body)
    assert str(shortened(found)) == str(wanted)
