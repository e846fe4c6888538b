"""Float identities. Each declares the freedoms it takes; those without any are exact to the bit."""

from __future__ import annotations

from egraph_rules.rule import FLOAT, Number, Term, defined, rule
from ir.floats import Floats
from ir.nodes import Unary, binary

INFINITY = float("inf")


@rule(on=FLOAT, because="IEEE addition commutes")
def add_commutes(x: Term, y: Term):
    return x + y, y + x


@rule(on=FLOAT, because="IEEE multiplication commutes")
def mul_commutes(x: Term, y: Term):
    return x * y, y * x


@rule(on=FLOAT, because="x + 0.0 differs from x only for x = -0.0", floats=Floats.NO_SIGNED_ZEROS)
def add_zero(x: Term):
    return x + 0.0, x


@rule(on=FLOAT, because="x - 0.0 is x for every x, -0.0 included")
def sub_zero(x: Term):
    return x - 0.0, x


@rule(on=FLOAT, because="0.0 - x differs from -x only for x = 0.0", floats=Floats.NO_SIGNED_ZEROS)
def zero_sub(x: Term):
    return 0.0 - x, Unary("neg", x)


@rule(on=FLOAT, because="one is neutral")
def mul_one(x: Term):
    return x * 1.0, x


@rule(on=FLOAT, because="one is neutral")
def div_one(x: Term):
    return x / 1.0, x


@rule(
    on=FLOAT,
    because="0.0 times a finite number is a zero, and zero annihilates undef",
    floats=Floats.FINITE | Floats.NO_SIGNED_ZEROS,
)
def mul_zero(x: Term):
    return x * 0.0, 0.0


@rule(on=FLOAT, because="a defined finite value minus itself", floats=Floats.FINITE)
def sub_self(x: Term):
    return x - x, 0.0, defined(x)


@rule(on=FLOAT, because="negation flips the sign bit twice")
def neg_neg(x: Term):
    return Unary("neg", Unary("neg", x)), x


@rule(on=FLOAT, because="a value is its own minimum")
def min_self(x: Term):
    return binary("min", x, x), x


@rule(on=FLOAT, because="a value is its own maximum")
def max_self(x: Term):
    return binary("max", x, x), x


@rule(on=FLOAT, because="minimum commutes up to the sign of zero", floats=Floats.NO_SIGNED_ZEROS)
def min_commutes(x: Term, y: Term):
    return binary("min", x, y), binary("min", y, x)


@rule(on=FLOAT, because="maximum commutes up to the sign of zero", floats=Floats.NO_SIGNED_ZEROS)
def max_commutes(x: Term, y: Term):
    return binary("max", x, y), binary("max", y, x)


@rule(on=FLOAT, because="nothing is below minus infinity")
def max_lowest(x: Term):
    return binary("max", x, -INFINITY), x


@rule(on=FLOAT, because="nothing is above infinity")
def min_highest(x: Term):
    return binary("min", x, INFINITY), x


@rule(on=FLOAT, because="both are given")
def fold_min(a: Number, b: Number):
    return binary("min", a, b), binary("min", a, b)


@rule(on=FLOAT, because="both are given")
def fold_max(a: Number, b: Number):
    return binary("max", a, b), binary("max", a, b)


FLOAT_RULES = (
    add_commutes, mul_commutes, add_zero, sub_zero, zero_sub, mul_one, div_one, mul_zero, sub_self, neg_neg,
    min_self, max_self, min_commutes, max_commutes, max_lowest, min_highest, fold_min, fold_max,
)  # fmt: skip
