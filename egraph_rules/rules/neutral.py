"""What padding does to a reduction: operations on the numbers that stand in it, computed as the hardware does.

None of these takes values to be finite. They serve `lower.padding`, which asks whether a pad value is neutral.
"""

from __future__ import annotations

from egraph_rules.rule import FLOAT, Number, rule, statement_rule
from ir.floats import Floats
from ir.nodes import Unary, as_expr

INFINITY = float("inf")
# Numbers between are neither infinite nor subnormal in any float dtype; hardware may flush subnormal ones to zero.
LARGEST, SMALLEST = 60000.0, 0.001


@rule(on=FLOAT, because="a finite number times zero is a zero", floats=Floats.NO_SIGNED_ZEROS)
def number_times_zero(a: Number):
    return a * 0.0, 0.0, a <= LARGEST, a >= -LARGEST


@rule(on=FLOAT, because="a positive multiple of minus infinity")
def positive_times_lowest(a: Number):
    return a * -INFINITY, -INFINITY, a >= SMALLEST


@rule(on=FLOAT, because="a positive multiple of infinity")
def positive_times_highest(a: Number):
    return a * INFINITY, INFINITY, a >= SMALLEST


@rule(on=FLOAT, because="infinity absorbs finite numbers")
def number_plus_lowest(a: Number):
    return a + -INFINITY, -INFINITY, a <= LARGEST


@rule(on=FLOAT, because="infinity absorbs finite numbers")
def number_plus_highest(a: Number):
    return a + INFINITY, INFINITY, a >= -LARGEST


@rule(on=FLOAT, because="the limit of exp, and its value")
def exp_of_lowest(a: Number):
    return Unary("exp", a), as_expr(0.0, a.dtype), a == -INFINITY


max_of_smallest = statement_rule(
    "neutral.max_of_smallest",
    "max(x, a)  =  x   where a is the smallest number of an integer dtype",
    "nothing is below it",
    '(= x (Bin "max" t y z)) (bounds t low high) (= low (ival z))',
    "(union x y)",
)
min_of_largest = statement_rule(
    "neutral.min_of_largest",
    "min(x, a)  =  x   where a is the largest number of a signed integer dtype",
    "nothing is above it",
    '(= x (Bin "min" t y z)) (kind t "int") (bounds t low high) (= high (ival z))',
    "(union x y)",
)

NEUTRAL_RULES = (
    number_times_zero, positive_times_lowest, positive_times_highest, number_plus_lowest, number_plus_highest,
    exp_of_lowest, max_of_smallest, min_of_largest,
)  # fmt: skip
