"""Floats as JAX code whose results are those of the interpreter to the bit, but for library functions.

XLA contracts products and sums, divides by multiplying with reciprocals, combines constants, and drops what it takes
for the same number (measured on XLA:CPU, also in loops; no option of its compiler keeps it from all of these). It does
not look through a choice that depends on the number itself: each result of an operation goes through such a choice,
and so does an operand that it may know, which becomes known with the other one only. Narrow types are computed in
float32, which has more than twice as many bits (Figueroa, "When is double rounding innocuous?", 1995), and rounded by
`reduce_precision`.
"""

from __future__ import annotations

from typing import get_args

from msgspec.structs import replace

from ir.arith import fold_binary, fold_unary
from ir.dtypes import DType
from ir.nodes import Binary, Const, Expr, Rounding, Unary
from ir.traverse import has_loads
from lower.array.values import Translator, Value, aligned, literal, typed, union
from lower.program.build import call, method

ROUNDED = '''
def rounded(x):
    """x as it is: XLA takes no operations together across a choice."""
    return jnp.where(x == x, x, jnp.nan)
'''

LATE = '''
def late(number, x):
    """A number for an operation with x that XLA does not know before x, nor rewrites the operation for."""
    return jnp.where(x == x, jnp.asarray(number, x.dtype), jnp.nan)
'''

ADDED = '''
def added(a, b):
    """The sum of a and b, neither of which XLA knows before the other: it drops zeros."""
    return late(a, b) + late(b, a)
'''

SUBTRACTED = '''
def subtracted(a, b):
    """The difference of a and b, neither of which XLA knows before the other: it drops zeros."""
    return late(a, b) - late(b, a)
'''

MULTIPLIED = '''
def multiplied(a, b):
    """The product of a and b, one of which is known, but not before the other: XLA takes factors together."""
    return late(a, b) * late(b, a)
'''

DIVIDED = '''
def divided(a, b):
    """The quotient of a and b, neither of which XLA knows before the other: it multiplies with reciprocals."""
    return late(a, b) / late(b, a)
'''

LESSER = '''
def lesser(a, b):
    """The first of a and b that is not larger than the other, or NaN where one is."""
    return jnp.where((a <= b) | (a != a), a, b)
'''

GREATER = '''
def greater(a, b):
    """The first of a and b that is not smaller than the other, or NaN where one is."""
    return jnp.where((a >= b) | (a != a), a, b)
'''

AS_BFLOAT16 = '''
def as_bfloat16(x):
    """The nearest bfloat16 of a wider float, which XLA would else keep as it is."""
    return lax.reduce_precision(x, 8, 7).astype(jnp.bfloat16)
'''

AS_FLOAT16 = '''
def as_float16(x):
    """The nearest float16 of a wider float: below 2**-14 a multiple of 2**-24, by a sum with a large number."""
    unit = late(1.5 * 2.0 ** (jnp.finfo(x.dtype).nmant - 24), x)
    small = jnp.copysign(rounded(rounded(x + unit) - unit), x)
    return jnp.where(jnp.abs(x) < 2.0**-14, small, lax.reduce_precision(x, 5, 10)).astype(jnp.float16)
'''

STICKY = '''
def sticky(x, cut):
    """An integer with its last bits in one, if it is large: narrow floats are then rounded to as from x itself."""
    large = (x >> cut | ((x & (1 << cut) - 1) != 0).astype(x.dtype)) << cut
    return jnp.where((x < 2**24) & (x > -(2**24) if jnp.issubdtype(x.dtype, jnp.signedinteger) else True), x, large)
'''

EXACT_HELPERS = {
    "rounded": ROUNDED,
    "late": LATE,
    "added": ADDED,
    "subtracted": SUBTRACTED,
    "multiplied": MULTIPLIED,
    "divided": DIVIDED,
    "lesser": LESSER,
    "greater": GREATER,
    "as_bfloat16": AS_BFLOAT16,
    "as_float16": AS_FLOAT16,
    "sticky": STICKY,
}

_NARROW = {DType.BFLOAT16: "as_bfloat16", DType.FLOAT16: "as_float16"}
_ARITHMETIC = frozenset(("add", "sub", "mul", "div"))
_LATE = {"add": "added", "sub": "subtracted", "mul": "multiplied", "div": "divided"}
_EXTREMES = {"min": "lesser", "max": "greater"}
_WITHOUT_ROUNDING = frozenset(("neg", "abs", *get_args(Rounding)))


class ExactTranslator(Translator):
    """Translates expressions such that each float operation is rounded as the interpreter does."""

    def expr(self, expr: Expr) -> Value:
        match expr:
            case Binary(op=op, lhs=Const(value=a), rhs=Const(value=b)) if expr.lhs.dtype.is_float:
                return literal(fold_binary(op, a, b, expr.lhs.dtype), expr.dtype)
            case Unary(op=op, operand=Const(value=a)) if expr.dtype.is_float:
                return literal(fold_unary(op, a, expr.dtype), expr.dtype)
            case Binary(op=op, lhs=lhs, rhs=rhs) if lhs.dtype.is_float and op in _ARITHMETIC:
                a, b = self.expr(lhs), self._harmless(rhs) if op == "div" else self.expr(rhs)
                return self._operation(op, a, b, lhs.dtype, not (has_loads(lhs) and has_loads(rhs)))
            case _:
                return super().expr(expr)

    def binary(self, op: str, a: Value, b: Value, dtype: DType) -> Value:
        if not dtype.is_float:
            return super().binary(op, a, b, dtype)
        if op in _EXTREMES:
            self.helpers.add(_EXTREMES[op])
            axes = union(self.order, a.axes, b.axes)
            return Value(call(_EXTREMES[op], *(aligned(typed(v, dtype), axes).code for v in (a, b))), axes)
        if op in _ARITHMETIC:
            return self._operation(op, a, b, dtype, a.static or b.static)
        if op in ("pow", "atan2", "hypot"):
            a, b = (self._wide(typed(v, dtype), dtype) for v in (a, b))
            return self._rounded(super().binary(op, a, b, dtype), dtype)
        return super().binary(op, a, b, dtype)

    def _operation(self, op: str, a: Value, b: Value, dtype: DType, known: bool) -> Value:
        """`a op b`, rounded, where XLA knows no operand before the other one.

        It may know any array: locals hold numbers, and callers give some. Its sums with zeros and quotients by numbers
        are not those of the interpreter, and it takes numbers together; products of arrays are as they should be.
        """
        axes = union(self.order, a.axes, b.axes)
        a, b = (self._wide(aligned(typed(v, dtype), axes), dtype) for v in (a, b))
        if op == "mul" and not known:
            a, b = (replace(v, axes=axes, plain=None) for v in (a, b))  # they are aligned
            return self._rounded(super().binary(op, a, b, dtype), dtype)
        self.helpers |= {"late", _LATE[op]}
        return self._rounded(Value(call(_LATE[op], a.code, b.code), axes), dtype)

    def _wide(self, value: Value, dtype: DType) -> Value:
        """A value in the type that operations of a narrow dtype are computed in."""
        if dtype not in _NARROW:
            return value
        return Value(method(value.code, "astype", "jnp.float32"), value.axes)

    def _rounded(self, value: Value, dtype: DType) -> Value:
        """The result of an operation in a dtype."""
        helper = _NARROW.get(dtype, "rounded")
        self.helpers |= {helper, "rounded", "late"} if helper == "as_float16" else {helper}
        return Value(call(helper, value.code), value.axes)

    def _unary(self, op: str, a: Value, dtype: DType) -> Value:
        if not dtype.is_float or op in _WITHOUT_ROUNDING:
            return super()._unary(op, a, dtype)
        return self._rounded(super()._unary(op, self._wide(typed(a, dtype), dtype), DType.FLOAT32), dtype)

    def _cast(self, a: Value, source: DType, dtype: DType) -> Value:
        if not dtype.is_float or source is dtype or source is DType.BOOL:
            return super()._cast(a, source, dtype)
        a = typed(a, source)
        if dtype not in _NARROW:
            value = super()._cast(a, source, dtype)
            return self._rounded(value, dtype) if source.is_float and source.bits > dtype.bits else value
        if not source.is_float and source.bits >= 32:
            cut = 8 if source.bits == 32 else 11
            self.helpers.add("sticky")
            a = Value(call("sticky", a.code, cut), a.axes)
        wide = DType.FLOAT64 if source.bits == 64 else DType.FLOAT32
        return self._rounded(super()._cast(a, source, wide), dtype)
