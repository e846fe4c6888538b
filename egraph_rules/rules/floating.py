"""Float identities. Each declares the freedoms it takes; those without any are exact to the bit."""

from __future__ import annotations

from egraph_rules.authoring.rule import FLOAT, Term, defined, rule
from ir.floats import Floats
from ir.nodes import Binary, Unary, binary


@rule(on=FLOAT, because="0.0 - x differs from -x only for x = 0.0", floats=Floats.NO_SIGNED_ZEROS)
def zero_sub(x: Term):
    return 0.0 - x, Unary("neg", x)


@rule(on=FLOAT, because="a defined finite value minus itself", floats=Floats.FINITE)
def sub_self(x: Term):
    return x - x, 0.0, defined(x)


@rule(on=FLOAT, because="negation flips the sign bit twice")
def neg_neg(x: Term):
    return Unary("neg", Unary("neg", x)), x


@rule(on=FLOAT, because="x is the greater one, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def max_known(x: Term, y: Term):
    return binary("max", x, y), x, x >= y


@rule(on=FLOAT, because="x is the smaller one, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def min_known(x: Term, y: Term):
    return binary("min", x, y), x, x <= y


@rule(on=FLOAT, because="three results are rounded in place of two", floats=Floats.APPROXIMATE)
def div_sqrt(x: Term, y: Term):
    return Binary("div", x, Unary("sqrt", y)), x * Unary("rsqrt", y), defined(x), defined(y)


@rule(on=FLOAT, because="x is no smaller than z, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def max_covers(x: Term, y: Term, z: Term):
    return binary("max", x, binary("max", y, z)), binary("max", x, y), x >= z


@rule(on=FLOAT, because="x is no greater than z, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def min_covers(x: Term, y: Term, z: Term):
    return binary("min", x, binary("min", y, z)), binary("min", x, y), x <= z


FLOAT_RULES = (zero_sub, sub_self, neg_neg, max_known, min_known, max_covers, min_covers, div_sqrt)
