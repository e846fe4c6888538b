"""What certain operands do to an operator: the neutral, absorbing and idempotent ones, declared once.

Rewrite rules, pad values that callers are asked for, and the numbers with which reductions start follow from these
declarations. Owns no arithmetic (`ir.arith`) and no rewriting.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Literal, assert_never, get_args

from msgspec import Struct

from ir.arith import Scalar
from ir.dtypes import DType, Kind, float_max
from ir.floats import Floats
from ir.nodes import FLOAT_FUNCTIONS, Binary, BinaryOp, Compare, Expr, FloatBinary, const

Named = Literal["zero", "one", "false", "true", "ones", "least", "greatest", "lowest", "highest"]
OWN: tuple[Named, ...] = ("ones", "least", "greatest")  # numbers that differ from dtype to dtype
Role = Literal["neutral", "absorbing"]
Side = Literal["left", "right"]
ORDER_OPS: tuple[Compare, ...] = ("lt", "le", "gt", "ge")
_BOTH: tuple[Side, ...] = ("right", "left")
_RIGHT: tuple[Side, ...] = ("right",)
_LEFT: tuple[Side, ...] = ("left",)


def number(name: Named, dtype: DType) -> Scalar:
    """The number of a dtype that a name stands for.

    `least` and `greatest` are finite, `lowest` and `highest` the infinities; `ones` has all bits set.
    """
    match name:
        case "zero":
            return 0.0 if dtype.is_float else 0
        case "one":
            return 1.0 if dtype.is_float else 1
        case "false":
            return False
        case "true":
            return True
        case "ones":
            return -1 if dtype.is_signed else dtype.max  # in two's complement
        case "least":
            return -float_max(dtype) if dtype.is_float else dtype.min
        case "greatest":
            return float_max(dtype) if dtype.is_float else dtype.max
        case "lowest":
            return -inf
        case "highest":
            return inf
        case other:
            assert_never(other)


class Special(Struct, frozen=True):
    """A number that decides what an operator gives, over operands of some kinds, on some sides.

    With the neutral one the result is the other operand, with the absorbing one it is the number itself. `floats` are
    the freedoms that this takes where operands are floats. `annihilates`: an undef operand is absorbed too. `partial`:
    this holds where the operation has a result, which takes a proof.
    """

    op: BinaryOp
    role: Role
    name: Named
    kinds: tuple[Kind, ...]
    because: str
    sides: tuple[Side, ...] = _BOTH
    floats: Floats = Floats.STRICT
    annihilates: bool = False
    partial: bool = False


_INTEGERS = (Kind.INT, Kind.UINT)
_FLOATS = (Kind.FLOAT,)
_BOOLS = (Kind.BOOL,)
_ZEROS = Floats.NO_SIGNED_ZEROS

SPECIAL: tuple[Special, ...] = (
    # Of several neutral numbers of an operator the first is the one that takes least.
    Special("add", "neutral", "zero", _INTEGERS, "zero is neutral"),
    Special("add", "neutral", "zero", _FLOATS, "x + 0.0 differs from x only for x = -0.0", floats=_ZEROS),
    Special("add", "absorbing", "lowest", _FLOATS, "minus infinity and a finite number", floats=Floats.FINITE),
    Special("add", "absorbing", "highest", _FLOATS, "infinity and a finite number", floats=Floats.FINITE),
    Special("sub", "absorbing", "lowest", _FLOATS, "minus infinity less a finite number", _LEFT, floats=Floats.FINITE),
    Special("sub", "absorbing", "highest", _FLOATS, "infinity less a finite number", _LEFT, floats=Floats.FINITE),
    Special("sub", "neutral", "zero", _INTEGERS, "zero is neutral", _RIGHT),
    Special("sub", "neutral", "zero", _FLOATS, "x - 0.0 is x for every x, -0.0 included", _RIGHT),
    Special("mul", "neutral", "one", _INTEGERS, "one is neutral"),
    Special("mul", "neutral", "one", _FLOATS, "one is neutral"),
    Special("mul", "absorbing", "zero", _INTEGERS, "zero annihilates, undef included", annihilates=True),
    Special(
        "mul",
        "absorbing",
        "zero",
        _FLOATS,
        "0.0 times a finite number is a zero",
        floats=Floats.FINITE | _ZEROS,
    ),
    Special(
        "mul",
        "absorbing",
        "zero",
        _FLOATS,
        "zero annihilates undef; read backward, this multiplies what nobody has written",
        floats=Floats.FINITE | _ZEROS | Floats.FINITE_UNDEF,
        annihilates=True,
    ),
    Special("div", "neutral", "one", _FLOATS, "one is neutral", _RIGHT),
    Special(
        "div",
        "absorbing",
        "zero",
        _FLOATS,
        "zero divided by what is no zero",
        _LEFT,
        floats=Floats.FINITE | _ZEROS,
        partial=True,
    ),
    Special("floordiv", "absorbing", "zero", _INTEGERS, "zero divided by what is no zero", _LEFT, partial=True),
    Special("floormod", "absorbing", "zero", _INTEGERS, "zero divided by what is no zero", _LEFT, partial=True),
    Special("truncdiv", "absorbing", "zero", _INTEGERS, "zero divided by what is no zero", _LEFT, partial=True),
    Special("truncmod", "absorbing", "zero", _INTEGERS, "zero divided by what is no zero", _LEFT, partial=True),
    Special("floordiv", "neutral", "one", _INTEGERS, "every value is a multiple of one", _RIGHT),
    Special("truncdiv", "neutral", "one", _INTEGERS, "every value is a multiple of one", _RIGHT),
    Special("pow", "neutral", "one", _INTEGERS, "the first power", _RIGHT),
    Special("pow", "absorbing", "one", _INTEGERS, "one times one", _LEFT, partial=True),
    Special("max", "neutral", "least", _INTEGERS, "nothing is below it"),
    Special("max", "neutral", "lowest", _FLOATS, "nothing is below minus infinity"),
    Special("max", "neutral", "least", _FLOATS, "no finite number is below it", floats=Floats.FINITE),
    Special("max", "absorbing", "greatest", _INTEGERS, "nothing is above it"),
    Special("max", "absorbing", "greatest", _FLOATS, "no finite number is above it", floats=Floats.FINITE),
    Special("min", "neutral", "greatest", _INTEGERS, "nothing is above it"),
    Special("min", "neutral", "highest", _FLOATS, "nothing is above infinity"),
    Special("min", "neutral", "greatest", _FLOATS, "no finite number is above it", floats=Floats.FINITE),
    Special("min", "absorbing", "least", _INTEGERS, "nothing is below it"),
    Special("min", "absorbing", "least", _FLOATS, "no finite number is below it", floats=Floats.FINITE),
    Special("bitand", "neutral", "ones", _INTEGERS, "every bit is kept"),
    Special("bitand", "absorbing", "zero", _INTEGERS, "no bit is kept"),
    Special("bitor", "neutral", "zero", _INTEGERS, "no bit is added"),
    Special("bitor", "absorbing", "ones", _INTEGERS, "every bit is set"),
    Special("bitxor", "neutral", "zero", _INTEGERS, "no bit is turned"),
    Special("shl", "neutral", "zero", _INTEGERS, "no bit moves", _RIGHT),
    Special("shr", "neutral", "zero", _INTEGERS, "no bit moves", _RIGHT),
    Special("shl", "absorbing", "zero", _INTEGERS, "there is no bit that moves", _LEFT, partial=True),
    Special("shr", "absorbing", "zero", _INTEGERS, "there is no bit that moves", _LEFT, partial=True),
    Special("shr", "absorbing", "ones", (Kind.INT,), "the sign comes in where bits leave", _LEFT, partial=True),
    Special("and", "neutral", "true", _BOOLS, "true is neutral"),
    Special("and", "absorbing", "false", _BOOLS, "false annihilates, undef included", annihilates=True),
    Special("or", "neutral", "false", _BOOLS, "false is neutral"),
    Special("or", "absorbing", "true", _BOOLS, "true annihilates, undef included", annihilates=True),
    Special("eq", "neutral", "true", _BOOLS, "a truth equals true where it holds"),
    Special("ne", "neutral", "false", _BOOLS, "a truth differs from false where it holds"),
)


class Commutative(Struct, frozen=True):
    """An operator whose operands may change places, over some kinds, and the freedoms that this takes of floats."""

    op: BinaryOp
    kinds: tuple[Kind, ...]
    because: str
    floats: Floats = Floats.STRICT


# `and` and `or` are not here: they evaluate their right operand only where the left one does not decide.
COMMUTATIVE: tuple[Commutative, ...] = (
    Commutative("add", _INTEGERS, "addition commutes"),
    Commutative("add", _FLOATS, "IEEE addition commutes"),
    Commutative("mul", _INTEGERS, "multiplication commutes"),
    Commutative("mul", _FLOATS, "IEEE multiplication commutes"),
    Commutative("min", _INTEGERS, "minimum commutes"),
    Commutative("min", _FLOATS, "minimum commutes up to the sign of zero", _ZEROS),
    Commutative("max", _INTEGERS, "maximum commutes"),
    Commutative("max", _FLOATS, "maximum commutes up to the sign of zero", _ZEROS),
)


class Idempotent(Struct, frozen=True):
    """An operator that gives back an operand which stands on both sides."""

    op: BinaryOp
    kinds: tuple[Kind, ...]
    because: str


IDEMPOTENT: tuple[Idempotent, ...] = (
    Idempotent("min", _INTEGERS, "a value is its own minimum"),
    Idempotent("min", _FLOATS, "a value is its own minimum"),
    Idempotent("max", _INTEGERS, "a value is its own maximum"),
    Idempotent("max", _FLOATS, "a value is its own maximum"),
    Idempotent("and", _BOOLS, "idempotence"),
    Idempotent("or", _BOOLS, "idempotence"),
    Idempotent("bitand", _INTEGERS, "every bit is kept"),
    Idempotent("bitor", _INTEGERS, "no bit is added"),
)


class Distributive(Struct, frozen=True):
    """An operator that distributes over another one: `g(x, f(y, z)) = f(g(x, y), g(x, z))`.

    With `absorbs` also `f(x, g(x, y)) = x`, as in a lattice.
    """

    op: BinaryOp
    over: BinaryOp
    kinds: tuple[Kind, ...]
    because: str
    absorbs: bool = True


DISTRIBUTIVE: tuple[Distributive, ...] = (
    Distributive("max", "min", _INTEGERS, "integers are totally ordered"),
    Distributive("min", "max", _INTEGERS, "integers are totally ordered"),
    Distributive("and", "or", _BOOLS, "Boolean algebra"),
    Distributive("or", "and", _BOOLS, "Boolean algebra"),
    Distributive("bitand", "bitor", _INTEGERS, "Boolean algebra, bit by bit"),
    Distributive("bitor", "bitand", _INTEGERS, "Boolean algebra, bit by bit"),
    Distributive("bitand", "bitxor", _INTEGERS, "a field of two elements, bit by bit", absorbs=False),
)

# Functions that vanish, by the number at which they do so: a sum of them starts where its operand holds this number.
VANISHES: dict[str, Named] = {"exp": "lowest"}

FLOAT_ONLY_OPS: tuple[str, ...] = get_args(FloatBinary)

# Functions whose results may differ from the interpreter's in the last bit, wherever they are computed.
LIBRARY = frozenset((*FLOAT_FUNCTIONS, "pow", "atan2", "hypot"))


# Operators and functions without a finite result for some operands, or for some that are no larger than 100.
SINGULAR = frozenset((
    "div", "pow", "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tan", "sinh", "cosh", "asin",
    "acos",
))  # fmt: skip


def admits(expr: Binary) -> Expr | None:
    """What of its right operand a division, shift or power takes to have a result, if that does not overflow; None for
    operators that take any."""
    by = expr.rhs
    zero = const(0, by.dtype)
    match expr.op:
        case "div" | "floordiv" | "floormod" | "truncdiv" | "truncmod":
            return Binary("ne", by, zero)
        case "shl" | "shr":
            return Binary("and", Binary("ge", by, zero), Binary("lt", by, const(by.dtype.bits, by.dtype)))
        case "pow" if by.dtype.is_integer:
            return Binary("ge", by, zero)
        case _:
            return None


def is_singular(op: str, dtype: DType) -> bool:
    """Whether finite operands of a dtype may leave an operator or function without a finite result."""
    return op in SINGULAR and dtype.is_float


def is_library(op: str, dtype: DType) -> bool:
    """Whether an operator over a dtype is a function of some library, whose last bit nobody promises."""
    return op in LIBRARY and dtype.is_float


def special(op: str, dtype: DType, floats: Floats = ~Floats.STRICT) -> Iterator[tuple[Special, Scalar]]:
    """The neutral and absorbing numbers of an operator over a dtype, under a policy."""
    for found in SPECIAL:
        if found.op == op and dtype.kind in found.kinds and found.floats in floats:
            yield found, number(found.name, dtype)


def combines(op: str, dtype: DType) -> bool:
    """Whether a step of a reduction may be an operator or function: a number on either side changes nothing."""
    if op in VANISHES:
        return dtype.is_float
    return any(law.role == "neutral" and law.sides == _BOTH for law, _ in special(op, dtype))


def neutral(op: str, dtype: DType) -> Scalar | None:
    """The number that an operator over a dtype leaves its other operand with; None if there is none.

    That of a function is the number at which it vanishes, as far as the dtype has one.
    """
    if op in VANISHES:
        return number(VANISHES[op], dtype) if dtype.is_float else None
    return next((value for law, value in special(op, dtype) if law.role == "neutral"), None)
