"""Reductions and contractions over array axes as JAX source.

A sum of products whose factors run over different axes is a contraction (`jnp.einsum`): the product is never formed.
Any other sum is `jnp.sum`, which is as fast as a product with ones and loses no precision on targets with narrow matrix
units; contractions of float32 ask for full precision for the same reason. Narrow floats accumulate in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ir.analysis.dependence import UpdateOp
from ir.dtypes import DType
from ir.nodes import Binary, Expr, Var
from lower.linear import Linear
from lower.values import POSTFIX, Translator, Value, aligned, dtype_code, literal, typed, union
from lower.views import Axis

_FUNCTIONS: dict[UpdateOp, str] = {
    "add": "jnp.sum",
    "mul": "jnp.prod",
    "min": "jnp.min",
    "max": "jnp.max",
    "and": "jnp.all",
    "or": "jnp.any",
}


def neutral(op: UpdateOp, dtype: DType) -> Value:
    """The value that changes nothing when combined by `op`."""
    if op in ("add", "sub"):
        return literal(0, dtype)
    if op in ("mul", "and"):
        return literal(1, dtype)
    if op == "or" or dtype is DType.BOOL:
        return literal(op == "min", dtype)
    if dtype.is_float:
        return literal(float("inf") if op == "min" else float("-inf"), dtype)
    return literal(dtype.max if op == "min" else dtype.min, dtype)


def reduction(
    op: UpdateOp,
    value: Value,
    mask: Value | None,
    reduced: Sequence[Axis],
    dtype: DType,
    translator: Translator,
    size: Callable[[Linear], str],
) -> Value:
    """`value` combined by `op` over the `reduced` axes, where `mask` holds."""
    present = {a.var for a in (*value.axes, *(() if mask is None else mask.axes))}
    missing = [a for a in reduced if a.var not in present]
    if missing and op == "add":
        for axis in missing:
            count = Value(size(axis.extent), static=True, weak=True)  # sizes are Python numbers while tracing
            value = translator.binary("mul", count if axis.extent.is_const else typed(count, dtype), value, dtype)
    elif any(not (a.extent.is_const and op != "mul") for a in missing):
        axes = union(translator.order, value.axes, tuple(missing))
        shape = ", ".join(size(a.extent) for a in axes)
        code = f"jnp.broadcast_to({aligned(typed(value, dtype), axes).code}, ({shape},))"
        value = Value(code, axes)
    if mask is not None:
        value = translator.select(mask, value, neutral(op, dtype), dtype)
    over = [d for d, a in enumerate(value.axes) if any(a.var == r.var for r in reduced)]
    if not over:
        return value
    if op == "add" and mask is None and dtype is DType.FLOAT32 and _long_rows(value, over):
        ones = f"jnp.ones({size(value.axes[-1].extent)}, jnp.float32)"
        return Value(f'jnp.dot({typed(value, dtype).code}, {ones}, precision="highest")', value.axes[:-1])
    arguments = [typed(value, dtype).code]
    if len(over) < len(value.axes):
        arguments.append(f"axis={over[0] if len(over) == 1 else tuple(over)}")
    if op in ("add", "mul") and dtype.is_integer:
        arguments.append(f"dtype={dtype_code(dtype)}")
    if op in ("min", "max") and not all(value.axes[d].extent.is_const for d in over):
        arguments.append(f"initial={neutral(op, dtype).code}")
    kept = tuple(a for d, a in enumerate(value.axes) if d not in over)
    return Value(f"{_FUNCTIONS[op]}({', '.join(arguments)})", kept)


# A sum of long rows is fastest as a product with ones (benchmarks/README.md); short ones are not worth the constant.
_LONG_ROW = 256


def _long_rows(value: Value, over: Sequence[int]) -> bool:
    last = len(value.axes) - 1
    return (
        last > 0 and list(over) == [last] and (extent := value.axes[last].extent).is_const and extent.const >= _LONG_ROW
    )


def contraction(
    expr: Expr,
    mask: Value | None,
    reduced: Sequence[Axis],
    translator: Translator,
    finite: Callable[[Expr], bool],
) -> Value | None:
    """The sum of a product as an einsum, or None where a plain sum is better or a mask forbids it.

    `finite` tells which factors are numbers at all positions.
    """
    if expr.dtype is DType.BOOL or not (isinstance(expr, Binary) and expr.op == "mul"):
        return None
    factors = [(translator.expr(f), f) for f in _factors(expr)]
    over = {a.var for a in reduced}
    joined = [(v, f) for v, f in factors if any(a.var in over for a in v.axes)]
    values = [v for v, _ in joined]
    if len(joined) < 2 or len({v.axes for v in values}) < 2:
        return None
    if over - {a.var for v in values for a in v.axes}:
        return None
    if mask is not None:
        masked = _masked(joined, mask, expr.dtype, translator, finite)
        if masked is None:
            return None
        values = masked
    result = _einsum(values, over, expr.dtype, translator)
    for v, _ in factors:
        if not any(a.var in over for a in v.axes):
            result = translator.binary("mul", v, result, expr.dtype)
    return result


def _masked(
    factors: Sequence[tuple[Value, Expr]],
    mask: Value,
    dtype: DType,
    translator: Translator,
    finite: Callable[[Expr], bool],
) -> list[Value] | None:
    """Factors whose product is zero where the mask is false; None if they cannot be made so one by one.

    One zero is enough where the others are numbers: the smallest factor that has the axes of the mask takes it.
    """
    axes = {a.var for a in mask.axes}
    able = [k for k, (v, _) in enumerate(factors) if axes <= {a.var for a in v.axes}]
    if not able:
        return None
    chosen = min(able, key=lambda k: len(factors[k][0].axes))
    result: list[Value] = []
    for k, (value, factor) in enumerate(factors):
        if k == chosen or not finite(factor):
            if k not in able:
                return None
            value = translator.select(mask, value, literal(0, dtype), dtype)
        result.append(value)
    return result


def _factors(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "mul":
        return [*_factors(expr.lhs), *_factors(expr.rhs)]
    return [expr]


def _einsum(values: Sequence[Value], over: Collection[Var], dtype: DType, translator: Translator) -> Value:
    axes = union(translator.order, *(v.axes for v in values))
    letters: dict[Var, str] = {}
    for axis in axes:
        wish = [c for c in axis.var.name.lower() if c.isascii() and c.isalpha()]
        pool = [*wish, *"abcdefghijklmnopqrstuvwxyz"]
        letters[axis.var] = next(c for c in pool if c not in letters.values())
    kept = tuple(a for a in axes if a.var not in over)
    values = [v if v.plain is None else Value(*v.plain) for v in values]  # an einsum takes any order of axes
    inputs = ",".join("".join(letters[a.var] for a in v.axes) for v in values)
    spec = f"{inputs}->{''.join(letters[a.var] for a in kept)}"
    narrow = dtype in (DType.BFLOAT16, DType.FLOAT16)
    wide = DType.FLOAT32 if narrow else dtype
    operands = ", ".join(typed(v, dtype).code for v in values)
    options = f"preferred_element_type={dtype_code(wide)}"
    if dtype is DType.FLOAT32:
        options = 'precision="highest"'
    result = Value(f'jnp.einsum("{spec}", {operands}, {options})', kept)
    if narrow:
        result = replace(result, code=f"{result.code}.astype({dtype_code(dtype)})", strength=POSTFIX)
    return result
