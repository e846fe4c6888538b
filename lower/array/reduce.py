"""Reductions and contractions over array axes as JAX code.

Contractions of float32 ask for a precision, by default the full one, which targets with narrow matrix units would not
give by themselves.
Narrow floats accumulate in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod

from msgspec.structs import replace

from ir import operators
from ir.analysis.dependence import UpdateOp
from ir.arith import Scalar
from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Select, Var
from lower.analysis.linear_forms import Linear, number
from lower.analysis.value_ranges import AnyNumbers, bounds
from lower.array.values import Translator, Value, aligned, dtype_code, literal, typed, union
from lower.array.views import Axis
from lower.program.build import Arg, as_expr, call, infix, method, text
from lower.program.nodes import Attribute, Call, Clause, Comprehension, JaxExpr, Name

IDEMPOTENT_OPS = frozenset(law.op for law in operators.IDEMPOTENT)
_BITWISE: dict[UpdateOp, str] = {
    "bitand": "jnp.bitwise_and",
    "bitor": "jnp.bitwise_or",
    "bitxor": "jnp.bitwise_xor",
}
_FUNCTIONS: dict[UpdateOp, str] = {
    "add": "jnp.sum",
    "mul": "jnp.prod",
    "min": "jnp.min",
    "max": "jnp.max",
    "and": "jnp.all",
    "or": "jnp.any",
    **{op: f"{combine}.reduce" for op, combine in _BITWISE.items()},
}


# What operators of numbers are over truths, as 0 and 1.
_OVER_BOOLS = {"add": "or", "sub": "or", "max": "or", "mul": "and", "min": "and"}

COMBINERS: Mapping[str, str] = {
    "add": "jnp.add",
    "mul": "jnp.multiply",
    "min": "jnp.minimum",
    "max": "jnp.maximum",
    "and": "jnp.logical_and",
    "or": "jnp.logical_or",
    **_BITWISE,
}


def neutral_number(op: str, dtype: DType) -> Scalar:
    """The number that changes nothing when combined by `op`."""
    value = operators.neutral(_OVER_BOOLS.get(op, op) if dtype is DType.BOOL else op, dtype)
    assert value is not None, f"{op} over {dtype} leaves nothing as it is"
    return value


def neutral(op: UpdateOp, dtype: DType) -> Value:
    """The value that changes nothing when combined by `op`."""
    return literal(neutral_number(op, dtype), dtype)


def reduction(
    op: UpdateOp,
    value: Value,
    mask: Value | None,
    reduced: Sequence[Axis],
    dtype: DType,
    translator: Translator,
    size: Callable[[Linear], JaxExpr],
) -> Value:
    """`value` combined by `op` over the `reduced` axes, where `mask` holds."""
    present = {a.var for a in (*value.axes, *(() if mask is None else mask.axes))}
    missing = [a for a in reduced if a.var not in present]
    if missing and op == "add":
        for axis in missing:
            value = translator.binary("mul", _count(axis, dtype, size), value, dtype)
    elif any(not (a.extent.is_const and op in IDEMPOTENT_OPS) for a in missing):
        axes = union(translator.order, value.axes, tuple(missing))
        shape = [size(a.extent) for a in axes]
        value = Value(call("jnp.broadcast_to", aligned(typed(value, dtype), axes).code, tuple(shape)), axes)
    if mask is not None:
        value = translator.select(mask, value, neutral(op, dtype), dtype)
    over = [d for d, a in enumerate(value.axes) if any(a.var == r.var for r in reduced)]
    if not over:
        return value
    options: dict[str, Arg] = {}
    if op in _BITWISE and len(over) == len(value.axes):
        options["axis"] = None  # these begin with the first one where nothing else is said
    elif len(over) < len(value.axes):
        options["axis"] = over[0] if len(over) == 1 else tuple(over)
    if op in ("add", "mul") and dtype.is_integer:
        options["dtype"] = dtype_code(dtype)
    if op in ("min", "max") and not all(value.axes[d].extent.is_const for d in over):
        options["initial"] = neutral(op, dtype).code
    kept = tuple(a for d, a in enumerate(value.axes) if d not in over)
    return Value(call(_FUNCTIONS[op], typed(value, dtype).code, **options), kept)


def in_int32(term: Expr, reduced: Sequence[Axis]) -> Expr | None:
    """A term of a sum in 32 bits, where neither it nor the sum leaves them; None where it has less, or may.

    Python counts in 64 bits. Measured on CPU, counts of what is alike in each of 100 x 99 pairs of rows of 300 take
    1.1 ms so, and 0.5 ms in 32 bits.
    """
    if term.dtype is not DType.INT64 or not all(a.extent.is_const for a in reduced):
        return None
    known, times = bounds(term, AnyNumbers({})), prod(max(a.extent.const, 1) for a in reduced)
    return None if known is None or max(map(abs, known)) * times > DType.INT32.max else _narrow(term)


def _narrow(term: Expr) -> Expr:
    """An integer that is known to fit in 32 bits; what its parts have beyond them makes no difference to it."""
    match term:
        case Const(value=value) if DType.INT32.min <= value <= DType.INT32.max:
            return Const(value, DType.INT32)
        case Cast(operand=x):
            return Cast(DType.INT32, x)
        case Select(then=a, other=b):
            return replace(term, then=_narrow(a), other=_narrow(b))
        case Binary(op="add" | "sub" | "mul", lhs=a, rhs=b):
            return replace(term, lhs=_narrow(a), rhs=_narrow(b))
        case _:
            return Cast(DType.INT32, term)


def over_taps(
    op: UpdateOp, part: Value, names: Sequence[str], taps: Sequence[Axis], places: Sequence[tuple[int, ...]] | None
) -> Value:
    """Values for all positions of axes, or for some `places`, which are Python numbers with these names, combined."""
    if not taps:
        return part
    ranges = [(a.low.const, a.low.const + a.extent.const) for a in taps]
    clauses = tuple(
        Clause((name,), call("range", *([low] if low else []), stop))
        for name, (low, stop) in zip(names, ranges, strict=True)
    )
    if places is not None:
        single = len(names) == 1
        clauses = (Clause(tuple(names), as_expr(tuple(p[0] if single else p for p in places))),)
    each = Comprehension(part.code, clauses, is_list=False)
    code = call("sum", each) if op == "add" else call("functools.reduce", COMBINERS[op], each)
    return Value(code, part.axes)


def _count(axis: Axis, dtype: DType, size: Callable[[Linear], JaxExpr]) -> Value:
    """How often what does not depend on an axis is added up along it, in a dtype that may be too narrow for it.

    Products of unsigned integers wrap; those of others that leave their width are a fault unless the factor is zero,
    so that any other count does.
    """
    if axis.extent.is_const:
        count = axis.extent.const
        if dtype.is_integer:
            count = min(count, dtype.max) if dtype.is_signed else count % 2**dtype.bits
        return literal(count, DType.INT32 if count < 2**31 else dtype)
    code = size(axis.extent)  # a Python number while tracing
    if dtype.is_integer and dtype.bits < axis.var.dtype.bits:
        code = call("min", code, dtype.max) if dtype.is_signed else infix(code, "%", 2**dtype.bits)
    return typed(Value(code, static=True, weak=True), dtype)


def _first_own(value: Value, values: Sequence[Value], kept: Sequence[Axis]) -> int:
    """Where in a result the first axis is that it has from one operand alone: in that order, nothing is transposed."""
    others = {a.var for v in values if v is not value for a in v.axes}
    own = {a.var for a in value.axes} - others
    return next((k for k, a in enumerate(kept) if a.var in own), len(kept))


def in_floats(value: Value) -> Value:
    """A value in float32."""
    code, axes = value.plain or (value.code, value.axes)
    match code:  # an array that is an integer already
        case Call(
            Attribute(Name() | Attribute(Name(), "T") as array, "astype"),
            (Attribute(Name("jnp"), "int8" | "int16" | "int32"),),
        ):
            code = array
        case _:
            pass
    return Value(method(code, "astype", "jnp.float32"), axes)


def _contracted_as_one(values: Sequence[Value], over: Collection[Var]) -> Sequence[Value]:
    """Operands of a batch of products with one axis for those that are summed over, where these lie side by side.

    XLA:CPU takes five times as long for `bptd,bpt->bd` as for one axis in place of p and t.
    """
    if len(values) != 2 or not all(a.extent.is_const for v in values for a in v.axes):
        return values
    names = [[a.var for a in v.axes] for v in values]
    summed = [n for n in names[0] if n in over and n in names[1]]
    batch = any(n not in over and n in names[1] for n in names[0])
    first = [mine.index(summed[0]) if summed else 0 for mine in names]
    ends = [k + len(summed) for k in first]
    if not batch or len(summed) < 2 or any(n[k:end] != summed for n, k, end in zip(names, first, ends, strict=True)):
        return values
    found: list[Value] = []
    for v, k, end in zip(values, first, ends, strict=True):
        joint = replace(v.axes[k], extent=number(prod(a.extent.const for a in v.axes[k:end])))
        axes = (*v.axes[:k], joint, *v.axes[end:])
        found.append(Value(method(v.code, "reshape", *(a.extent.const for a in axes)), axes))
    return found


def einsum(
    values: Sequence[Value],
    over: Collection[Var],
    dtype: DType,
    translator: Translator,
    result_dtype: DType | None = None,
    precision: str | None = None,
) -> Value:
    """The sum of a product over axes, which is never formed; in another dtype or precision, if these are given."""
    axes = union(translator.order, *(v.axes for v in values))
    letters: dict[Var, str] = {}
    for axis in axes:
        wish = [c for c in axis.var.name.lower() if c.isascii() and c.isalpha()]
        pool = [*wish, *"abcdefghijklmnopqrstuvwxyz"]
        letters[axis.var] = next(c for c in pool if c not in letters.values())
    kept = tuple(a for a in axes if a.var not in over)
    values = sorted(values, key=lambda v: _first_own(v, values, kept))
    values = [v if v.plain is None else Value(*v.plain) for v in values]  # an einsum takes any order of axes
    values = _contracted_as_one(values, over)
    inputs = ",".join("".join(letters[a.var] for a in v.axes) for v in values)
    spec = f"{inputs}->{''.join(letters[a.var] for a in kept)}"
    narrow = dtype in (DType.BFLOAT16, DType.FLOAT16)
    wide = DType.FLOAT32 if narrow else dtype
    options: dict[str, Arg] = {"preferred_element_type": dtype_code(wide)}
    if dtype is DType.FLOAT32:
        options = {"precision": text(precision or translator.precision)}
    result = call("jnp.einsum", text(spec), *(typed(v, dtype).code for v in values), **options)
    if narrow or result_dtype is not None:
        result = method(result, "astype", dtype_code(result_dtype or dtype))
    return Value(result, kept)
