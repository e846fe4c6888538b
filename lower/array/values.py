"""Expressions as JAX code over array axes. Owns operators, literals and broadcasting; knows no statements."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Literal as OneOf
from typing import assert_never, cast

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction, negate
from ir.dtypes import DType
from ir.nodes import COMPARE_OPS, AnyExpr, Binary, Call, Cast, Const, Expr, Function, Load, Select, Unary, Undef, Var
from ir.traverse import free_vars, has_loads
from lower.array.calls import call_code
from lower.array.views import Axis
from lower.program.build import ALL, NEW_AXIS, as_expr, call, dotted, infix, method
from lower.program.nodes import Attribute, Infix, JaxExpr, Lambda, Literal, Name, Operator, Subscript, substituted, walk
from lower.program.nodes import Unary as Signed


class Value(Struct, frozen=True):
    """Code of a value with the array axes that its dimensions stand for.

    `static` values are Python numbers while tracing; `weak` ones take the dtype of what they meet.
    """

    code: JaxExpr
    axes: tuple[Axis, ...] = ()
    static: bool = False
    weak: bool = False
    plain: tuple[JaxExpr, tuple[Axis, ...]] | None = (
        None  # code and axes before a transpose, where that was the last step
    )
    opposite: Value | None = None  # the value of other sign, where this one begins with a minus


INFIX: dict[str, Operator] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "pow": "**",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
    "shl": "<<",
    "shr": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
}
_CALLS: dict[str, str] = {
    "min": "jnp.minimum",
    "max": "jnp.maximum",
    "truncdiv": "truncdiv",
    "truncmod": "jnp.fmod",
    "atan2": "jnp.arctan2",
    "hypot": "jnp.hypot",
    "abs": "jnp.abs",
    "popcount": "lax.population_count",
    "clz": "lax.clz",
    "exp": "jnp.exp",
    "exp2": "jnp.exp2",
    "log": "jnp.log",
    "log2": "jnp.log2",
    "log10": "jnp.log10",
    "log1p": "jnp.log1p",
    "sqrt": "jnp.sqrt",
    "rsqrt": "lax.rsqrt",
    "tanh": "jnp.tanh",
    "sin": "jnp.sin",
    "cos": "jnp.cos",
    "tan": "jnp.tan",
    "sinh": "jnp.sinh",
    "cosh": "jnp.cosh",
    "asin": "jnp.arcsin",
    "acos": "jnp.arccos",
    "atan": "jnp.arctan",
    "erf": "lax.erf",
    "sigmoid": "jax.nn.sigmoid",
    "floor": "jnp.floor",
    "ceil": "jnp.ceil",
    "round": "jnp.round",
    "trunc": "jnp.trunc",
}

TRUNCDIV = '''
def truncdiv(a, b):
    """Integer quotient rounded toward zero."""
    return lax.div(*jnp.broadcast_arrays(a, b))
'''

NUMBERS = '''
def numbers(x):
    """x, and zero where it is no number."""
    return jnp.where(jnp.isfinite(x), x, 0)
'''

AS_NUMBER = '''
def as_number(size):
    """A size that JAX works out from numbers, as a Python number while tracing."""
    with jax.ensure_compile_time_eval():
        return int(size())
'''


def dtype_code(dtype: DType) -> JaxExpr:
    """A dtype as JAX has it."""
    return dotted("bool" if dtype is DType.BOOL else f"jnp.{dtype}")


def literal(value: bool | int | float, dtype: DType) -> Value:
    """A constant; typed where a Python number would not fit."""
    if dtype is DType.BOOL:
        return Value(Literal(bool(value)), static=True, weak=True)
    if dtype.is_float:
        if math.isinf(value):
            infinite = dotted("jnp.inf")
            return Value(infinite if value > 0 else Signed("-", infinite), static=True, weak=True)
        if math.isnan(value):
            return Value(dotted("jnp.nan"), static=True, weak=True)
        if math.copysign(1.0, value) < 0:
            return _opposite_of(literal(-value, dtype))
        return Value(Literal(float(value)), static=True, weak=True)
    if not -(2**31) <= value < 2**31:
        return Value(call(f"jnp.{dtype}", int(value)))
    if -(2**31) < value < 0:
        return _opposite_of(literal(-value, dtype))
    return Value(as_expr(int(value)), static=True, weak=True)


def _opposite_of(value: Value) -> Value:
    """A value with a minus before it."""
    return replace(value, code=Signed("-", value.code), plain=None, opposite=value)


def typed(value: Value, dtype: DType) -> Value:
    """A value that certainly has `dtype`."""
    if not value.static and not value.weak:
        return value
    if value.static:
        return Value(call("jnp.bool_" if dtype is DType.BOOL else f"jnp.{dtype}", value.code), value.axes)
    return Value(method(value.code, "astype", dtype_code(dtype)), value.axes)


def union(order: Sequence[Axis], *parts: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Axes that occur in any part, in the order of the statement."""
    used = {axis.var for part in parts for axis in part}
    return tuple(axis for axis in order if axis.var in used)


def ordered(code: JaxExpr, axes: Sequence[Axis], order: Sequence[Axis]) -> Value:
    """An array over distinct axes, with them in the order of the statement."""
    names = [a.var for a in axes]
    wanted = union(order, tuple(axes))
    places = [names.index(a.var) for a in wanted]
    if places == sorted(places):
        return Value(code, wanted)
    transposed = Attribute(code, "T") if places == [1, 0] else call("jnp.transpose", code, tuple(places))
    return Value(transposed, wanted, plain=(code, tuple(axes)))


def in_order(value: Value, order: Sequence[Axis]) -> Value:
    """A value with its axes in the order of the statement, which may have changed since it was written."""
    code, axes = value.plain or (value.code, value.axes)
    if value.plain is None and [a.var for a in axes] == [a.var for a in union(order, axes)]:
        return value
    return ordered(code, axes, order)


def layout_order(
    leaves: Sequence[Value], usual: Sequence[Axis], positions: Callable[[Value], float]
) -> tuple[Axis, ...]:
    """An order of axes in which the largest arrays of an expression need no transpose."""
    arrays = [v for v in leaves if len(v.axes) > 1]
    largest = max(map(positions, arrays), default=0.0)
    own = [v.axes if v.plain is None else v.plain[1] for v in arrays if positions(v) == largest]
    first = [a.var for a in own[0]] if own else []
    whole = len(first) == len(usual) or all(v.plain is not None for v in arrays if positions(v) == largest)
    if not own or not whole or any([a.var for a in axes] != first for axes in own):
        return tuple(usual)
    return (*own[0], *(a for a in usual if a.var not in first))


def aligned(value: Value, axes: tuple[Axis, ...]) -> Value:
    """A value indexed so that it broadcasts against arrays over `axes` (which contain its own)."""
    value = in_order(value, axes) if len(value.axes) > 1 else value
    have = [axis.var for axis in value.axes]
    marks: list[JaxExpr] = [ALL if axis.var in have else NEW_AXIS for axis in axes]
    while marks and marks[0] == NEW_AXIS:
        marks.pop(0)
    if not have or NEW_AXIS not in marks:
        return value
    while len(marks) > 1 and marks[-1] == ALL and marks[-2] == ALL:
        marks.pop()
    if marks[-1] == ALL and len(marks) > 1:
        marks.pop()
    array = _array_alone(value.code) if len(have) == 1 else None
    if array is None:
        return Value(Subscript(value.code, tuple(marks)), value.axes)
    spread = substituted(value.code, {array: Subscript(Name(array), tuple(marks))})
    return replace(value, code=spread, plain=None, opposite=None)


def _array_alone(code: JaxExpr) -> str | None:
    """The one name in what is otherwise operators and numbers."""
    parts = list(walk(code))
    names = [n.id for n in parts if isinstance(n, Name)]
    plain = all(isinstance(n, Name | Literal | Signed | Infix) for n in parts)
    return names[0] if plain and len(names) == 1 else None


# Functions whose derivative may be infinite, or no number, each with a number at which it is neither.
_STEEP = {
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "exp", "exp2", "sinh", "cosh", "tan"), 1),
    **dict.fromkeys(("asin", "acos"), 0),
}


def _is_count(expr: Expr) -> bool:
    """Whether a power with this exponent is a product, which has derivatives everywhere."""
    return isinstance(expr, Const) and float(expr.value) >= 1 and float(expr.value).is_integer()


def is_steep(expr: Expr) -> bool:
    """Whether an operation may have an infinite derivative, or one that is no number."""
    match expr:
        case Unary(op=op):
            return op in _STEEP
        case Binary(op="div" | "atan2" | "hypot", rhs=b):
            return b.dtype.is_float and not isinstance(b, Const)
        case Binary(op="pow", rhs=b):
            return not _is_count(b)
        case _:
            return False


class Translator:
    """Translates expressions of one statement. `load` and `variable` give the leaves; `order` is its axis order.

    Functions that the source calls are added to `helpers`. Products of float32 arrays are taken in `precision`.

    Array code works out both sides of a choice, and what a mask hides. Derivatives then come as zero times that of the
    side that is not taken, which is no number where that has an infinite one: so operations which may have such get
    an operand there at which they do not (`under`). What is not to be differentiated can do without (`derivatives`).
    """

    def __init__(
        self,
        order: Sequence[Axis],
        load: Callable[[Load], Value],
        variable: Callable[[Var], Value],
        helpers: set[str] | None = None,
        derivatives: bool = True,
        precision: str = "highest",
        at_least: Callable[[Expr, int], bool] = lambda expr, number: False,
    ) -> None:
        self.order = tuple(order)
        self.at_least = at_least  # whether an integer is known to be no less than a number
        self.derivatives = derivatives
        self.wide_guards: list[Value] = []  # operands that vary along more axes with a harmless number in them
        self.somewhere: Callable[[Expr], bool] = lambda cond: False  # whether it is known to hold at some position
        # conditions for what is translated, if they hold, and what is known to be the case then
        self._taken: tuple[tuple[Callable[[], Value | None], bool, Expr | None], ...] = ()
        self.load = load
        self.variable = variable
        self.helpers: set[str] = set() if helpers is None else helpers
        self.precision = precision  # of products of arrays

    def size(self, expr: Expr) -> JaxExpr:
        """An integer as a Python number while tracing, if it is made of such: JAX traces functions of these, too."""
        value = self.expr(expr)
        if value.static or has_loads(expr) or not all(self.variable(v).static for v in free_vars(expr)):
            return value.code
        self.helpers.add("as_number")
        return call("as_number", Lambda((), value.code))

    def expr(self, expr: Expr) -> Value:
        match cast(AnyExpr, expr):
            case Const(value=value, dtype=dtype):
                return literal(value, dtype)
            case Undef(dtype=dtype):
                return literal(0, dtype)
            case Var() as var:
                return in_order(self.variable(var), self.order)
            case Load() as load:
                return in_order(self.load(load), self.order)
            case Unary(op=op, operand=a):
                return self._unary(op, self._harmless(a, _STEEP[op]) if op in _STEEP else self.expr(a), expr.dtype)
            case Binary(op="div" | "atan2" | "hypot" as op, lhs=a, rhs=b):
                return self.binary(op, self.expr(a), self._harmless(b), a.dtype)
            case Binary(op="pow", lhs=a, rhs=b) if not _is_count(b):
                return self.binary("pow", self._harmless(a), self.expr(b), a.dtype)
            case Binary(op="floordiv" | "floormod" as op, lhs=a, rhs=b):
                return self._quotient(op, a, b)
            case Binary(op=op, lhs=a, rhs=b):
                return self.binary(op, self.expr(a), self.expr(b), a.dtype)
            case Cast(dtype=dtype, operand=a):
                return self._cast(self.expr(a), a.dtype, dtype)
            case Call(function=function, args=args):
                return self._call(function, [typed(self.expr(a), a.dtype) for a in args])
            case Select(cond=c, then=a, other=b):
                with self.under(None):
                    cond = self.expr(c)
                with self.under(lambda: cond, case=c):
                    then = self.expr(a)
                with self.under(lambda: cond, holds=False, case=negate(c)):
                    other = self.expr(b)
                return self.select(cond, then, other, expr.dtype)
            case other:
                assert_never(other)

    def _quotient(self, op: OneOf["floordiv", "floormod"], lhs: Expr, rhs: Expr) -> Value:
        """A quotient, or what it leaves: by a power of two a shift and the bits below, and where nothing is negative,
        rounding down and toward zero are the same."""
        a, b = self.expr(lhs), self.expr(rhs)
        traced = not (a.static and b.static)
        if traced and isinstance(rhs, Const) and rhs.value > 0 and int(rhs.value).bit_count() == 1:
            shift, below = (literal(n, lhs.dtype) for n in (int(rhs.value).bit_length() - 1, int(rhs.value) - 1))
            return self.binary(*(("shr", a, shift) if op == "floordiv" else ("bitand", a, below)), lhs.dtype)
        if traced and lhs.dtype.is_signed and self.at_least(lhs, 0) and self.at_least(rhs, 1):
            return self.binary("truncdiv" if op == "floordiv" else "truncmod", a, b, lhs.dtype)
        return self.binary(op, a, b, lhs.dtype)

    @contextmanager
    def under(
        self, cond: Callable[[], Value | None] | None, *, holds: bool = True, case: Expr | None = None
    ) -> Generator[None]:
        """Translate what counts only where a condition, which is asked for if needed, holds, or fails; it is the `case`
        then that some expression is true.

        None stands for what counts by itself.
        """
        before = self._taken
        self._taken = () if cond is None else (*before, (cond, holds, case))
        yield
        self._taken = before

    def _harmless(self, expr: Expr, number: int = 1) -> Value:
        """An operand, or a harmless number where the operation on it does not count."""
        value = self.expr(expr)
        fixed = not value.axes and not has_loads(expr)
        return value if fixed else self.harmless(value, expr.dtype, number)

    def harmless(
        self, value: Value, dtype: DType, number: int, masks: Sequence[Value] = (), within: Sequence[Axis] | None = None
    ) -> Value:
        """A value, or a harmless number where the operation on it does not count: `masks` say where it does, besides
        what is translated `under` conditions, of which only those count that vary along axes `within`, if given."""
        if not dtype.is_float or self._counts_somewhere(value):
            return value
        one, plain = literal(number, dtype), value
        for mask in masks if self.derivatives else ():
            value = self.select(mask, value, one, dtype)
        for ask, holds, _ in self._taken if self.derivatives else ():
            with self.under(None):
                cond = ask()
            known = cond is None or any(cond.code == m.code for m in masks)
            if cond is not None and not known and (within is None or {*cond.axes} <= {*within}):
                value = self.select(cond, *((value, one) if holds else (one, value)), dtype)
        if len(value.axes) > len(plain.axes):
            self.wide_guards.append(plain)
        return value

    def _counts_somewhere(self, value: Value) -> bool:
        """Whether each element of a value counts at some position of axes that it does not vary along."""
        cases = [case for _, _, case in self._taken if case is not None]
        free = free_vars(*cases)
        apart = bool(cases) and len(cases) == len(self._taken) and free.isdisjoint(a.var for a in value.axes)
        return apart and free <= {a.var for a in self.order} and self.somewhere(conjunction(cases))

    def _call(self, function: Function, args: list[Value]) -> Value:
        """The JAX expression that a function was given."""
        axes = union(self.order, *(a.axes for a in args))
        return Value(call_code(function, [aligned(a, axes).code for a in args]), axes)

    def negated(self, a: Value, dtype: DType) -> Value:
        """`-a`."""
        a = a if not a.static or dtype.is_signed or dtype.is_float else typed(a, dtype)
        return _opposite_of(a)

    def _unary(self, op: str, a: Value, dtype: DType) -> Value:
        if op == "neg":
            return self.negated(a, dtype)
        if op in ("not", "bitnot"):
            if a.static and op == "not":
                return replace(a, code=Signed("not", a.code), opposite=None)
            a = typed(a, dtype)
            return Value(Signed("~", a.code), a.axes)
        a = typed(a, dtype)
        return Value(call(_CALLS[op], a.code), a.axes)

    def binary(self, op: str, a: Value, b: Value, dtype: DType) -> Value:
        """`a op b` for operands of `dtype`; what is negative is taken away, not added."""
        if op in ("add", "sub") and b.opposite is not None:
            return self.binary("sub" if op == "add" else "add", a, b.opposite, dtype)
        value = self._binary(op, a, b, dtype)
        if op in ("mul", "div") and a.opposite is not None and (dtype.is_signed or dtype.is_float):
            value = replace(value, opposite=self._binary(op, a.opposite, b, dtype))
        return value

    def _binary(self, op: str, a: Value, b: Value, dtype: DType) -> Value:
        python = a.static and b.static
        if python and dtype.is_signed and op in ("min", "max"):
            return Value(call(op, a.code, b.code), static=True, weak=True)
        exact = dtype.is_signed and op not in ("truncdiv", "truncmod", "pow", "shl", "shr")
        if python and op in ("and", "or"):
            return Value(infix(a.code, "and" if op == "and" else "or", b.code), static=True, weak=True)
        if python and not exact:
            python = False
            a, b = typed(a, dtype), typed(b, dtype)
        if not python and dtype in (DType.UINT32, DType.UINT64):  # what JAX takes for signed numbers may not fit them
            a, b = (typed(v, dtype) if v.static and not isinstance(v.code, Literal) else v for v in (a, b))
        if op in ("truncdiv", "truncmod"):
            self.helpers |= {op} - {"truncmod"}
            a, b = typed(a, dtype), typed(b, dtype)
        axes = union(self.order, a.axes, b.axes)
        a, b = aligned(a, axes), aligned(b, axes)
        if op in _CALLS:
            return Value(call(_CALLS[op], a.code, b.code), axes, weak=a.weak and b.weak)
        weak = a.weak and b.weak and op not in ("and", "or", *COMPARE_OPS)
        return Value(infix(a.code, INFIX[op], b.code), axes, python, weak or python)

    def _cast(self, a: Value, source: DType, dtype: DType) -> Value:
        if source is dtype:
            return a
        if a.static and source.is_integer and dtype.is_integer and dtype.min <= source.min and source.max <= dtype.max:
            return a
        a = typed(a, source) if a.static else a
        return Value(method(a.code, "astype", dtype_code(dtype)), a.axes)

    def select(self, c: Value, a: Value, b: Value, dtype: DType) -> Value:
        """`a` where `c` holds, else `b`."""
        if a.weak and b.weak:
            a = typed(a, dtype)
        axes = union(self.order, c.axes, a.axes, b.axes)
        return Value(call("jnp.where", *(aligned(v, axes).code for v in (c, a, b))), axes)
