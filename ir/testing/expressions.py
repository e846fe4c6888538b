"""Hypothesis strategies: dtypes, and expressions over variables."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ir.dtypes import DType
from ir.nodes import BIT_COUNTS, COMPARE_OPS, Binary, Cast, Const, Expr, Select, Unary, Var, const


def dtypes(*, floats: bool = True, unsigned: bool = True, bools: bool = True) -> st.SearchStrategy[DType]:
    """Dtypes of the language, all but those left out; int32 is the simplest."""
    left_out = {d for d in DType if (d.is_float and not floats) or (d is DType.BOOL and not bools)}
    left_out |= {d for d in DType if d.is_integer and not d.is_signed and not unsigned}
    return st.sampled_from([DType.INT32, *(d for d in DType if d not in left_out and d is not DType.INT32)])


_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
_INT_OPS = ("add", "sub", "mul", "min", "max", "bitand", "bitor", "bitxor", "shl", "shr", *_DIVISIONS)
_FLOAT_OPS = ("add", "sub", "mul", "div", "min", "max", "atan2", "hypot")
_FLOAT_FUNCTIONS = ("neg", "abs", "exp", "tanh", "sigmoid", "floor", "ceil", "sqrt", "erf")


@st.composite
def exprs(draw: st.DrawFn, dtype: DType = DType.INT32, depth: int = 3, names: Sequence[str] = "xyz") -> Expr:
    """Expressions over variables of `dtype` called `names` (of int32 where the dtype is bool).

    All operators occur, with operands for which they fault too: division by zero, overflow, odd shifts.
    """
    if dtype is DType.BOOL:
        return draw(_conditions(DType.INT32, depth, names))
    leaf = st.one_of(
        st.sampled_from([Var(n, dtype) for n in names]),
        st.integers(-9 if dtype.is_signed or dtype.is_float else 0, 9).map(lambda v: const(v, dtype)),
    )
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(leaf)
    kind = draw(st.sampled_from(("binary", "binary", "binary", "unary", "select", "cast")))
    inner = exprs(dtype, depth - 1, names)
    match kind:
        case "unary":
            functions = _FLOAT_FUNCTIONS if dtype.is_float else ("neg", "abs", "bitnot", *BIT_COUNTS)
            return Unary(draw(st.sampled_from(functions)), draw(inner))
        case "select":
            return Select(draw(_conditions(dtype, depth - 1, names)), draw(inner), draw(inner))
        case "cast":
            through = (DType.INT8, DType.INT64, DType.UINT8, DType.FLOAT32) if dtype.is_integer else (DType.FLOAT16,)
            return Cast(dtype, Cast(draw(st.sampled_from(through)), draw(inner)))
        case _:
            op = draw(st.sampled_from(_FLOAT_OPS if dtype.is_float else _INT_OPS))
            return Binary(op, draw(inner), draw(inner))


@st.composite
def _conditions(draw: st.DrawFn, dtype: DType, depth: int, names: Sequence[str]) -> Expr:
    kind = draw(st.sampled_from(("compare", "compare", "and", "or", "not", "const")))
    if depth <= 0 or kind == "compare":
        inner = exprs(dtype, max(depth - 1, 0), names)
        return Binary(draw(st.sampled_from(COMPARE_OPS)), draw(inner), draw(inner))
    part = _conditions(dtype, depth - 1, names)
    if kind == "const":
        return Const(draw(st.booleans()), DType.BOOL)
    if kind == "not":
        return Unary("not", draw(part))
    return Binary(kind, draw(part), draw(part))
