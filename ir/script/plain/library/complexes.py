"""Complex numbers while a plain function is read: made of parts, taken apart, and functions of them.

Expressions of complex dtypes are those of the loop IR, besides three functions that have no body: the number of two
parts, and the two parts of a number. `complex_parts.py` writes them as floats.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import lru_cache

from ir.dtypes import DType
from ir.nodes import Binary, BinaryOp, Call, Const, Expr, Function, Select, Unary, UnaryOp, Undef, Var
from ir.script.plain.library.composed import composed
from ir.script.plain.promotion import Number, Numbers, Weak, expr_of

MADE, REAL, IMAG = "complex", "real", "imag"
_MOST = 64  # that an exponent is which is written out as products


@lru_cache(maxsize=16)
def _made_of(dtype: DType) -> Function:
    return Function(MADE, (Var(REAL, dtype.part), Var(IMAG, dtype.part)), Undef(dtype))


@lru_cache(maxsize=16)
def _part_of(name: str, dtype: DType) -> Function:
    return Function(name, (Var("z", dtype),), Undef(dtype.part))


def made(real: Expr, imag: Expr) -> Expr:
    """The complex number of two parts, floats of one dtype."""
    dtype = DType.COMPLEX64 if real.dtype is DType.FLOAT32 else DType.COMPLEX128
    return Call(_made_of(dtype), (real, imag))


def part(name: str, value: Expr) -> Expr:
    """The real or the imaginary part of a complex number."""
    return Call(_part_of(name, value.dtype), (value,))


def literal(value: complex) -> Number:
    """A complex number that is written out."""
    return Weak(made(Const(value.real, DType.FLOAT64), Const(value.imag, DType.FLOAT64)))


class Complexes:
    """Functions of complex numbers at a place in the source. A number that is `Weak` gives one that is."""

    def __init__(self, numbers: Numbers, node: ast.AST) -> None:
        self.numbers, self.node = numbers, node

    def is_complex(self, value: Number) -> bool:
        """Whether it is one; other numbers have parts too."""
        return self.numbers.dtype_of(value).is_complex

    def part(self, name: str, value: Number) -> Number:
        """`z.real` or `z.imag`, of any number."""
        expr = expr_of(value)
        if expr is None or not expr.dtype.is_complex:
            return value if name == REAL else self.numbers.convert(0, self.numbers.dtype_of(value), self.node)
        return self._like(value, part(name, expr))

    def conjugate(self, value: Number) -> Number:
        """`z.conjugate()`, of any number."""
        if not self.is_complex(value):
            return value
        real, imag = self._parts(value)
        return self._like(value, made(real, Unary("neg", imag)))

    def of_parts(self, real: Number, imag: Number) -> Number:
        """Python's `complex(a, b)`, also of complex numbers: a + bi."""
        if self.is_complex(real) or self.is_complex(imag):
            turned = self.numbers.binary("mul", literal(1j), imag, self.node)
            return self.numbers.binary("add", real, turned, self.node)
        parts = [self.numbers.convert(v, DType.FLOAT64, self.node) for v in (real, imag)]
        return Weak(made(*parts))

    def size(self, value: Number) -> Number:
        """`abs(z)`."""
        real, imag = self._parts(value)
        return self._like(value, self._size(real, imag))

    def angle(self, value: Number) -> Number:
        """`np.angle(z)`, of any number."""
        return composed("np.arctan2", self.numbers, [self.part(IMAG, value), self.part(REAL, value)], self.node)

    def of(self, op: UnaryOp, value: Number) -> Number:
        """A function of floats, of a complex number; that of the parts of NumPy's branch.

        Raises:
            ParseError: there is no such function here.
        """
        if op not in _FUNCTIONS:
            hint = "write it by functions of its real and imaginary parts"
            message = f"{op} of complex numbers is not supported"
            raise self.numbers.source.error("unsupported", message, self.node, help=hint)
        real, imag = self._parts(value)
        if op in ("log", "log2", "log10"):
            angle = expr_of(self.angle(value))
            assert angle is not None
            found = Unary("log", self._size(real, imag)), angle
            scale = {"log2": 1 / math.log(2), "log10": 1 / math.log(10)}.get(op)
            if scale is not None:
                found = tuple(Binary("mul", v, Const(scale, v.dtype)) for v in found)
            return self._like(value, made(*found))
        if op == "atan":
            return self._arc_tangent(value)
        return self._like(value, made(*_FUNCTIONS[op](real, imag)))

    def _arc_tangent(self, value: Number) -> Number:
        """atan(x + yi) = arctan2(2x, 1 - x² - y²) / 2 + i/4 log((x² + (1 + y)²) / (x² + (1 - y)²)), of which the
        quotient is 1 + 4 |y| / (x² + (1 - |y|)²) for the greater one."""
        x, y = self._parts(value)
        one, four, away = Const(1.0, x.dtype), Const(4.0, x.dtype), Unary("abs", y)
        less = Binary("sub", one, away)
        # 1 - x² - y², where y is near 1 too
        beside = Binary("sub", Binary("mul", less, Binary("add", one, away)), Binary("mul", x, x))
        pair: list[Number] = [self._like(value, e) for e in (Binary("add", x, x), beside)]
        angle = expr_of(composed("np.arctan2", self.numbers, pair, self.node))
        assert angle is not None
        distance = Binary("add", Binary("mul", x, x), Binary("mul", less, less))
        size = Unary("log1p", Binary("div", Binary("mul", four, away), distance))
        up = Binary("mul", Const(0.25, x.dtype), size)
        imag = Select(Binary("lt", y, Const(0.0, x.dtype)), Unary("neg", up), up)
        return self._like(value, made(Binary("mul", Const(0.5, x.dtype), angle), imag))

    def power(self, base: Number, exponent: Number) -> Number:
        """`z ** n`: products where the exponent is known to be whole, else exp(n log z)."""
        if isinstance(exponent, (int, float)) and exponent == int(exponent) and abs(exponent) <= _MOST:
            found = self._product(base, abs(int(exponent)))
            return found if exponent >= 0 else self.numbers.binary("div", 1.0, found, self.node)
        logarithm = self.of("log", self.as_complex(base))
        return self.of("exp", self.numbers.binary("mul", exponent, logarithm, self.node))

    def as_complex(self, value: Number) -> Number:
        """A number as a complex one."""
        return self.numbers.binary("add", value, literal(0j), self.node)

    def _product(self, base: Number, times: int) -> Number:
        if times < 2:
            return (
                base
                if times
                else self.numbers.binary("add", self.numbers.binary("mul", base, 0.0, self.node), 1.0, self.node)
            )
        half = self._product(base, times // 2)
        square = self.numbers.binary("mul", half, half, self.node)
        return self.numbers.binary("mul", square, base, self.node) if times % 2 else square

    def _parts(self, value: Number) -> tuple[Expr, Expr]:
        expr = expr_of(value)
        assert expr is not None
        return part(REAL, expr), part(IMAG, expr)

    def _size(self, real: Expr, imag: Expr) -> Expr:
        return Unary("sqrt", Binary("add", Binary("mul", real, real), Binary("mul", imag, imag)))

    def _like(self, value: Number, found: Expr) -> Number:
        return Weak(found) if isinstance(value, Weak) else found


def _times(one: UnaryOp, other: UnaryOp, sign: int = 1) -> Callable[[Expr, Expr], Expr]:
    """The product of functions of both parts."""

    def product(x: Expr, y: Expr) -> Expr:
        found = Binary("mul", Unary(one, x), Unary(other, y))
        return found if sign > 0 else Unary("neg", found)

    return product


def _both(
    real: Callable[[Expr, Expr], Expr], imag: Callable[[Expr, Expr], Expr]
) -> Callable[[Expr, Expr], tuple[Expr, Expr]]:
    return lambda x, y: (real(x, y), imag(x, y))


def _root(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """sqrt(z) = u + vi with 2u² = |z| + x, 2v² = |z| - x: the one without cancellation first, the other by 2uv = y."""
    size = Unary("sqrt", Binary("add", Binary("mul", x, x), Binary("mul", y, y)))
    half, zero = Const(0.5, x.dtype), Const(0.0, x.dtype)
    greater = Unary("sqrt", Binary("mul", half, Binary("add", size, Unary("abs", x))))
    divisor = Select(Binary("eq", greater, zero), Const(1.0, x.dtype), greater)
    less = Binary("div", Binary("mul", half, Unary("abs", y)), divisor)
    right = Binary("ge", x, zero)
    v = Select(right, less, greater)
    return Select(right, greater, less), Select(Binary("lt", y, zero), Unary("neg", v), v)


def _tangent(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """tan(x + yi) = (q sin x cos x + i tanh y) / (q cos² x + tanh² y) with q = 1 / cosh² y: no large terms."""
    small = Unary("exp", Unary("neg", Unary("abs", y)))
    two, one = Const(2.0, y.dtype), Const(1.0, y.dtype)
    sech = Binary("div", Binary("mul", two, small), Binary("add", one, Binary("mul", small, small)))
    across = Binary("mul", sech, Unary("cos", x))
    along = Unary("tanh", y)
    divisor = Binary("add", Binary("mul", across, across), Binary("mul", along, along))
    real = Binary("mul", Binary("mul", sech, Unary("sin", x)), across)
    return Binary("div", real, divisor), Binary("div", along, divisor)


def _hyperbolic_tangent(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """tanh(z) = -i tan(iz)."""
    imag, real = _tangent(y, x)
    return real, imag


_FUNCTIONS: dict[str, Callable[[Expr, Expr], tuple[Expr, Expr]]] = {
    "exp": _both(_times("exp", "cos"), _times("exp", "sin")),
    "sin": _both(_times("sin", "cosh"), _times("cos", "sinh")),
    "cos": _both(_times("cos", "cosh"), _times("sin", "sinh", -1)),
    "sinh": _both(_times("sinh", "cos"), _times("cosh", "sin")),
    "cosh": _both(_times("cosh", "cos"), _times("sinh", "sin")),
    "sqrt": _root,
    "tan": _tangent,
    "tanh": _hyperbolic_tangent,
    **dict.fromkeys(("log", "log2", "log10", "atan"), _root),  # by their angle, see `Complexes.of`
}


def operated(numbers: Numbers, op: BinaryOp, a: Number, b: Number, node: ast.AST) -> Number:
    """An operator as Python and NumPy apply it, powers of complex numbers included."""
    on = Complexes(numbers, node)
    if op == "pow" and (on.is_complex(a) or on.is_complex(b)):
        return on.power(a, b)
    return numbers.binary(op, a, b, node)


def function_of(numbers: Numbers, op: UnaryOp, value: Number, of_numpy: bool, node: ast.AST) -> Number:
    """A function of floats or of complex numbers; one of `math` is of floats alone."""
    on = Complexes(numbers, node)
    return on.of(op, value) if of_numpy and on.is_complex(value) else numbers.of_floats(op, value, of_numpy, node)


def size_of(numbers: Numbers, value: Number, node: ast.AST) -> Number:
    """`abs(x)`."""
    on = Complexes(numbers, node)
    return on.size(value) if on.is_complex(value) else numbers.unary("abs", value, node)


def squared(numbers: Numbers, value: Number, node: ast.AST) -> Number:
    """A number times its conjugate."""
    on = Complexes(numbers, node)
    return on.part(REAL, numbers.binary("mul", value, on.conjugate(value), node))


def part_named(numbers: Numbers, name: str, value: Number, node: ast.AST) -> Number:
    """`np.real(z)`, `z.conjugate()` and the like, by their names without what they belong to."""
    on = Complexes(numbers, node)
    match name:
        case "conj" | "conjugate":
            return on.conjugate(value)
        case "angle" | "phase":
            return on.angle(value)
        case _:
            return on.part(name, value)
