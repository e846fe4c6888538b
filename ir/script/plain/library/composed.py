"""Functions of NumPy and `math` that are several operations here, each accurate to a few units in the last place.

They are what they are of finite numbers; of the two zeros, they make no difference.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import BinaryOp, Expr, UnaryOp
from ir.script.plain.library.quotients import quotient
from ir.script.plain.promotion import Number, Numbers, Weak

_SMALL = 1.0  # below it exp(x) - 1 loses digits


class Operations(Struct, frozen=True):
    """Operations on numbers for one place in the source."""

    numbers: Numbers
    node: ast.AST

    def two(self, op: BinaryOp, a: Number, b: Number) -> Number:
        """An operator, as Python and NumPy apply it."""
        return self.numbers.binary(op, a, b, self.node)

    def select(self, cond: Number, then: Number, other: Number) -> Number:
        """One of two numbers."""
        return self.numbers.select(cond, then, other, self.node)

    def of(self, op: UnaryOp, x: Number) -> Number:
        """A function of floats."""
        return self.numbers.of_floats(op, x, True, self.node)

    def size(self, x: Number) -> Number:
        """A number without its sign."""
        return self.numbers.unary("abs", x, self.node)

    def floats(self, values: Sequence[Number]) -> list[Number]:
        """Numbers in the float dtype that NumPy gives a result of them."""
        dtype, _ = self.numbers.common(values, self.node)
        kind = dtype if dtype.is_float else DType.FLOAT64
        return [self.numbers.convert(v, kind, self.node) for v in values]


def _hypot(on: Operations, x: Number, y: Number) -> Number:
    x, y = on.floats([x, y])
    return on.two("hypot", x, y)


def _arctan2(on: Operations, y: Number, x: Number) -> Number:
    """The angle of a point: that within its octant, mirrored at the diagonal and at both axes.

    XLA:CPU takes 2.5 times as long for its own, which heeds the signs of zeros and infinities.
    """
    y, x = on.floats([y, x])
    if on.numbers.exact:
        return on.two("atan2", y, x)
    a, b = on.size(x), on.size(y)
    most = on.two("max", a, b)
    octant = on.of("atan", on.two("div", on.two("min", a, b), on.select(on.two("eq", most, 0.0), 1.0, most)))
    dtype = on.numbers.dtype_of(y)

    def mirrored(cond: Number, whole: float, angle: Number) -> Number:
        """`whole - angle` where a condition holds, as a sum: the angle, which is long, stands in it once."""
        sides = (on.numbers.convert(v, dtype, on.node) for v in (whole, 0.0, -1.0, 1.0))
        there, here, down, up = sides
        turned = on.two("mul", on.select(cond, down, up), angle)
        return on.two("add", on.select(cond, there, here), turned) if whole else turned

    quadrant = mirrored(on.two("gt", b, a), math.pi / 2, octant)
    half = mirrored(on.two("lt", x, 0.0), math.pi, quadrant)
    return mirrored(on.two("lt", y, 0.0), 0.0, half)


def _expm1(on: Operations, x: Number) -> Number:
    """exp(x) - 1, near zero as 2t / (1 - t) with t = tanh(x / 2)."""
    (x,) = on.floats([x])
    near = on.two("lt", on.size(x), _SMALL)
    t = on.of("tanh", on.two("mul", 0.5, on.select(near, x, 0.0)))
    exact = on.two("div", on.two("mul", 2.0, t), on.two("sub", 1.0, t))
    return on.select(near, exact, on.two("sub", on.of("exp", x), 1.0))


def _sign(on: Operations, x: Number) -> Number:
    """-1, 0 or 1 in the dtype of the number."""
    dtype = on.numbers.dtype_of(x)
    zero, one = (on.numbers.convert(v, dtype, on.node) for v in (0, 1))
    signed = dtype.is_signed or dtype.is_float
    negative = on.numbers.convert(-1, dtype, on.node) if signed else zero
    return on.select(on.two("gt", x, 0), one, on.select(on.two("lt", x, 0), negative, zero))


def _round(on: Operations, x: Number, decimals: Number = 0) -> Number:
    """A number of NumPy rounded to some digits in its dtype, halves to even."""
    if not isinstance(decimals, int):
        raise on.numbers.source.error("arguments", "how many digits are kept must be known", on.node)
    if not on.numbers.dtype_of(x).is_float and decimals >= 0:
        return x
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return on.two("div", on.of("round", on.two("mul", x, factor)), factor)
    if decimals < 0:
        found = on.two("mul", on.of("round", on.two("div", x, factor)), factor)
        dtype = on.numbers.dtype_of(x)
        return found if dtype.is_float else on.numbers.convert(found, dtype, on.node)
    return on.of("round", x)


def _size_of_floats(on: Operations, x: Number) -> Number:
    return on.size(on.floats([x])[0])


def _power_of_floats(on: Operations, x: Number, y: Number) -> Number:
    a, b = on.floats([x, y])
    return on.two("pow", a, b)


def _fmod(on: Operations, x: Number, y: Number) -> Number:
    """What is left of a quotient that is cut off: it has the sign of the dividend."""
    if on.numbers.common([x, y], on.node)[0].is_integer:
        return on.two("truncmod", x, y)
    return _fmod_of_floats(on, x, y)


def _fmod_of_floats(on: Operations, x: Number, y: Number) -> Number:
    a, b = (on.numbers.natural(v, on.node) for v in on.floats([x, y]))
    return quotient("fmod", a, b)


def _scaled(factor: float) -> Callable[[Operations, Number], Number]:
    def scaled(on: Operations, x: Number) -> Number:
        return on.two("mul", on.floats([x])[0], factor)

    return scaled


def _isnan(on: Operations, x: Number) -> Number:
    """Whether a number is none; nothing asks where results are taken to be finite."""
    if not on.numbers.dtype_of(x).is_float:
        return False
    if not on.numbers.exact:
        hint = 'say floats="strict" to the decorator, or leave the question out'
        raise on.numbers.source.error("unsupported", "floats are taken to be finite here", on.node, help=hint)
    return on.two("ne", x, x)


Composed = Callable[..., Number]
COMPOSED: dict[str, tuple[tuple[str, ...], int, Composed]] = {  # names of arguments, how many must be, and what it is
    "np.fmod": (("x1", "x2"), 2, _fmod), "math.fmod": (("x", "y"), 2, _fmod_of_floats),
    "np.fabs": (("x",), 1, _size_of_floats), "math.fabs": (("x",), 1, _size_of_floats),
    "math.pow": (("x", "y"), 2, _power_of_floats),
    "np.hypot": (("x1", "x2"), 2, _hypot), "math.hypot": (("x", "y"), 2, _hypot),
    "np.arctan2": (("x1", "x2"), 2, _arctan2), "math.atan2": (("y", "x"), 2, _arctan2),
    "np.round": (("a", "decimals"), 1, _round), "np.around": (("a", "decimals"), 1, _round),
    **{name: (("x",), 1, function) for name, function in (
        ("np.expm1", _expm1), ("math.expm1", _expm1), ("np.sign", _sign), ("np.isnan", _isnan), ("math.isnan", _isnan),
        ("np.deg2rad", _scaled(math.pi / 180)), ("np.radians", _scaled(math.pi / 180)),
        ("math.radians", _scaled(math.pi / 180)), ("np.rad2deg", _scaled(180 / math.pi)),
        ("np.degrees", _scaled(180 / math.pi)), ("math.degrees", _scaled(180 / math.pi)),
    )},
}  # fmt: skip


def composed(name: str, numbers: Numbers, values: Sequence[Number], node: ast.AST) -> Number:
    """What one of these functions is of numbers; one of `math` gives a Python number."""
    _, _, function = COMPOSED[name]
    found = function(Operations(numbers, node), *values)
    of_math = name.startswith("math.") and isinstance(found, Expr) and found.dtype is not DType.BOOL
    return Weak(numbers.convert(found, DType.FLOAT64, node)) if of_math else found
