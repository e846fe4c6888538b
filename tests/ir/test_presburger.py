"""The translation to Presburger sets, against evaluation in Python."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import parse_expr
from ir.arith import ArithmeticFault, fold_binary
from ir.dtypes import DType
from ir.nodes import (
    FALSE,
    SKIP,
    TRUE,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    Expr,
    If,
    Load,
    Select,
    Store,
    Unary,
    Var,
    const,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import learned

X, Y = Var("x", DType.INT32), Var("y", DType.INT32)
U = Var("u", DType.UINT8)
NAMES = {"x": "int32", "y": "int32"}


def evaluate(expr: Expr, env: dict[str, int]) -> int:
    """Integers of unbounded width; bools as 0 and 1."""
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return env[name]
        case Cast(operand=a):
            return evaluate(a, env)
        case Select(cond=c, then=a, other=b):
            return evaluate(a if evaluate(c, env) else b, env)
        case Unary(op=op, operand=a):
            value = evaluate(a, env)
            return {"neg": -value, "abs": abs(value), "not": 1 - value}[op]
        case Binary(op=op, lhs=a, rhs=b):
            return int(apply(op, evaluate(a, env), evaluate(b, env)))
    raise AssertionError(expr)


def apply(op: str, a: int, b: int) -> int | bool:
    quotient = (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b != 0 else 0
    match op:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "floordiv":
            return a // b
        case "floormod":
            return a % b
        case "truncdiv":
            return quotient
        case "truncmod":
            return a - b * quotient
        case "and":
            return a and b
        case "or":
            return a or b
        case _:
            return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op]


@st.composite
def integers(draw: st.DrawFn, depth: int = 3) -> Expr:
    if depth == 0:
        return draw(st.sampled_from([X, Y, const(0, DType.INT32), const(5, DType.INT32), const(-3, DType.INT32)]))
    a = draw(integers(depth - 1))
    kind = draw(st.sampled_from(("sum", "sum", "divide", "divide", "scale", "bound", "unary", "select", "cast")))
    match kind:
        case "sum":
            return Binary(draw(st.sampled_from(("add", "sub"))), a, draw(integers(depth - 1)))
        case "divide":
            op = draw(st.sampled_from(("floordiv", "floormod", "truncdiv", "truncmod")))
            return Binary(op, a, const(draw(st.sampled_from((1, 2, 3, 4, -1, -2, -5))), DType.INT32))
        case "scale":
            return a * draw(st.sampled_from((-2, 0, 1, 3)))
        case "bound":
            return Binary(draw(st.sampled_from(("min", "max"))), a, draw(integers(depth - 1)))
        case "unary":
            return Unary(draw(st.sampled_from(("neg", "abs"))), a)
        case "select":
            return Select(draw(conditions(depth - 1)), a, draw(integers(depth - 1)))
        case _:
            return Cast(DType.INT32, draw(conditions(depth - 1)))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Expr:
    if depth == 0 or draw(st.booleans()):
        op = draw(st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge")))
        return Binary(op, draw(integers(max(depth - 1, 0))), draw(integers(max(depth - 1, 0))))
    op = draw(st.sampled_from(("and", "or", "not", "eq", "ne", "select")))
    if op == "not":
        return Unary("not", draw(conditions(depth - 1)))
    a, b = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    return Select(draw(conditions(depth - 1)), a, b) if op == "select" else Binary(op, a, b)


def at(params: isl.Set, env: dict[str, int]) -> bool:
    """Whether a params set holds at a point."""
    for name, value in env.items():
        params = params.intersect(pb.symbol(name).eq_set(pb.number(value)))
    return not params.is_empty()


points = st.fixed_dictionaries({"x": st.integers(-20, 20), "y": st.integers(-20, 20)})


@given(integers(), points)
def test_affine_is_the_value(expr: Expr, env: dict[str, int]):
    function = pb.affine(expr)
    assert function is not None
    assert at(function.eq_set(pb.number(evaluate(expr, env))), env)
    assert not at(function.ne_set(pb.number(evaluate(expr, env))), env)


@given(conditions(), points)
def test_conditions_hold_where_they_are_true(expr: Expr, env: dict[str, int]):
    cond, truth = pb.condition(expr), bool(evaluate(expr, env))
    assert cond.exact
    assert at(cond.must, env) == at(cond.may, env) == truth
    assert at(cond.negated().must, env) == (not truth)


@given(conditions(1), conditions(1), points, st.booleans())
def test_unknown_parts_widen_the_gap_and_no_more(a: Expr, b: Expr, env: dict[str, int], hidden: bool):
    data = Load(Buffer("A", (), DType.BOOL), ())
    for op in ("and", "or", "eq", "ne"):
        for expr in (Binary(op, a, data), Binary(op, data, a), Select(data, a, b), Select(a, data, b)):
            cond = pb.condition(expr)
            truth = evaluate(_with_data(expr, data, hidden), env)
            assert not at(cond.must, env) or truth
            assert at(cond.may, env) or not truth


def _with_data(expr: Expr, data: Load, value: bool) -> Expr:
    if isinstance(expr, Load):
        assert expr.same(data)
        return TRUE if value else FALSE
    match expr:
        case Binary(op=op, lhs=a, rhs=b):
            return Binary(op, _with_data(a, data, value), _with_data(b, data, value))
        case Select(cond=c, then=a, other=b):
            return Select(*(_with_data(e, data, value) for e in (c, a, b)))
        case _:
            return expr


@pytest.mark.parametrize(
    "text", ["x * y", "x // y", "x // 0", "x % 0", "x & y", "x & 341", "x << 32", "x >> y", "T.cast(x, 'int8')"]
)
def test_what_is_not_affine_is_none(text: str):
    assert pb.affine(parse_expr(text, NAMES)) is None


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8])
@pytest.mark.parametrize("op", ["bitand", "bitor", "bitxor", "shr", "shl"])
def test_bits_and_a_number_are_affine(op: BinaryOp, dtype: DType):
    x = Var("x", dtype)
    masks = [m for m in (-128, -8, -7, -1, 0, 1, 6, 12, 64, 127, 240, 255) if dtype.min <= m <= dtype.max]
    for m in masks if op.startswith("bit") else (0, 1, 3, 7):
        meaning = pb.affine(Binary(op, x, const(m, dtype)))
        if op == "shl" and not dtype.is_signed:
            assert meaning is None  # it wraps
            continue
        assert meaning is not None
        for value in range(dtype.min, dtype.max + 1, 3):
            here = meaning.intersect_params(pb.symbol("x").eq_set(pb.number(value)))
            try:
                wanted = fold_binary(op, value, m, dtype)
            except ArithmeticFault:
                continue
            assert isl.Set.from_pw_aff(here).dim_max_val(0).to_python() == wanted, (value, m)


def test_unsigned_arithmetic_may_wrap_and_is_not_affine():
    assert pb.affine(U) is not None
    assert pb.affine(U + 1) is None
    assert pb.affine(Cast(DType.INT32, U) + 1) is not None
    assert pb.affine(Cast(DType.UINT8, X)) is None


def test_opaque_names_stand_for_equal_values():
    def name(expr: Expr) -> str | None:
        return "product" if expr.same(X * Y) else None

    assert pb.affine(X * X, name) is None
    assert pb.condition(Binary("lt", X * Y, X * Y + 1), name).must.is_equal(pb.always())
    assert not pb.condition(Binary("lt", X * Y, X * Y + X), name).must.is_empty()


def test_loop_domain_of_signed_unsigned_and_unknown_bounds():
    start, extent = const(3, DType.INT32), const(4, DType.INT32)
    domain = pb.loop_domain(X, start, extent)
    assert domain.exact
    assert [v for v in range(10) if at(domain.may, {"x": v})] == [3, 4, 5, 6]
    assert pb.loop_domain(X, start, const(-2, DType.INT32)).may.is_empty()
    wide = pb.loop_domain(U, const(200, DType.UINT8), const(56, DType.UINT8))
    assert wide.exact and at(wide.may, {"u": 255}) and not at(wide.may, {"u": 256})
    unknown = pb.loop_domain(X, start, Y * Y)
    assert unknown.must.is_empty() and at(unknown.may, {"x": 3}) and not at(unknown.may, {"x": 2})


def test_regions_points_and_boxes():
    point = pb.point((X + 1, X % 2))
    assert point is not None
    inside = pb.box((const(4, DType.INT32), Y))
    fits = pb.forget(point.subtract(inside).params(), ["y"])
    assert at(fits, {"x": 3}) and at(point.subtract(inside).params(), {"x": 1, "y": 1})
    assert not at(point.subtract(inside).params(), {"x": 1, "y": 2})
    assert pb.point((X * Y,)) is None
    assert pb.box((X * Y,)).is_equal(isl.Set("{ [o] : o >= 0 }"))


def test_places_and_shapes_are_translated_once():
    i = Var("i", DType.INT32)
    assert pb.point((i, i + 1)) is pb.point((i, i + 1))
    assert pb.box((const(8, DType.INT32), i)) is pb.box([const(8, DType.INT32), i])
    one, other = pb.point((i, i + 1)), pb.point((i, i + 2))
    assert one is not None and other is not None and not one.is_equal(other)
    assert not pb.box((i,)).is_equal(pb.box((i + 1,)))


def test_variables_sample_rename_and_forget():
    region = pb.condition(parse_expr("x == 3 and y > x", NAMES)).must
    assert pb.variables(region) == {"x", "y"}
    assert pb.variables(pb.rename(region, {"x": "z"})) == {"z", "y"}
    found = pb.sample(region)
    assert found is not None and found[0]["x"] == 3 and found[0]["y"] > 3 and found[1] == ()
    assert pb.sample(pb.never()) is None
    assert pb.forget(region, ["x"]).is_equal(pb.condition(parse_expr("y > 3", NAMES)).must)


def test_running_out_of_budget_gives_the_fallback_and_leaves_no_trace():
    cond = parse_expr("x % 7 == 3 and y % 5 == 2 and x < y", NAMES)
    assert pb.within_budget(lambda: pb.condition(cond).must.is_empty(), "gave up", operations=3) == "gave up"
    assert pb.within_budget(lambda: pb.condition(cond).must.is_empty(), "gave up") is False
    assert pb.condition(cond).must.is_empty() is False


def test_coordinates_of_multiples_have_a_greatest_one_only_where_they_are_bounded():
    even = pb.forget(pb.condition(parse_expr("x == 2 * y and y >= 0", NAMES)).must, ["y"])
    line = isl.Set.from_params(even).move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, 1)
    assert readback.coordinate(line, 0, upper=True) is None
    bounded = line.intersect(pb.box((X,)))
    assert readback.coordinate(bounded, 0, upper=True) is not None
    assert readback.coordinate(line, 0, upper=False) is not None


def test_of_arms_that_are_one_statement_nothing_is_learned() -> None:
    store = Store(Buffer("A", (const(4, DType.INT32),), DType.INT32), (const(0, DType.INT32),), const(1, DType.INT32))
    cond = Binary("lt", Var("n", DType.INT32), const(3, DType.INT32))
    assert learned(If(cond, store, store), store).plain_is_universe()
    assert not learned(If(cond, store, SKIP), store).plain_is_universe()
