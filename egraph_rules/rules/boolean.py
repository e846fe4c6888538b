"""Boolean algebra and comparisons. `and`/`or` evaluate their right operand only if needed, so they do not commute."""

from __future__ import annotations

from egraph_rules.authoring.rule import ANY, BOOL, INTEGER, SIGNED, Number, Term, Truth, defined, rule
from ir.nodes import FALSE, TRUE, Select


@rule(on=BOOL, because="double negation")
def not_not(x: Term):
    return ~~x, x


@rule(on=INTEGER, because="the integers are totally ordered")
def not_lt(x: Term, y: Term):
    return ~(x < y), x >= y


@rule(on=INTEGER, because="the integers are totally ordered")
def not_le(x: Term, y: Term):
    return ~(x <= y), x > y


@rule(on=INTEGER, because="the integers are totally ordered")
def not_gt(x: Term, y: Term):
    return ~(x > y), x <= y


@rule(on=INTEGER, because="the integers are totally ordered")
def not_ge(x: Term, y: Term):
    return ~(x >= y), x < y


@rule(on=BOOL, because="De Morgan; what is evaluated stays the same")
def not_and(x: Term, y: Term):
    return ~(x & y), ~x | ~y


@rule(on=BOOL, because="De Morgan; what is evaluated stays the same")
def not_or(x: Term, y: Term):
    return ~(x | y), ~x & ~y


@rule(on=BOOL, because="De Morgan; what is evaluated stays the same")
def and_of_nots(x: Term, y: Term):
    return ~x & ~y, ~(x | y)


@rule(on=BOOL, because="De Morgan; what is evaluated stays the same")
def or_of_nots(x: Term, y: Term):
    return ~x | ~y, ~(x & y)


@rule(on=SIGNED, because="subtract a from both sides")
def lt_offset(x: Term, a: Number, b: Number):
    return x + a < b, x < b - a


@rule(on=SIGNED, because="subtract a from both sides")
def ge_offset(x: Term, a: Number, b: Number):
    return x + a >= b, x >= b - a


@rule(on=SIGNED, because="subtract a from both sides")
def eq_offset(x: Term, a: Number, b: Number):
    return (x + a) == b, x == b - a


@rule(on=SIGNED, because="for c > 0 a multiple of c is below b exactly if the factor is below ceil(b / c)")
def lt_factor(x: Term, c: Number, b: Number):
    return x * c < b, x < (b + c - 1) // c, c > 0, c != 1


@rule(on=ANY, because="the condition is given")
def select_true(x: Term, y: Term):
    return Select(TRUE, x, y), x


@rule(on=ANY, because="the condition is given")
def select_false(x: Term, y: Term):
    return Select(FALSE, x, y), y


@rule(on=ANY, because="both arms agree; x is read once either way")
def select_same(x: Term, c: Truth):
    return Select(c, x, x), x, defined(c)


BOOLEAN_RULES = (
    not_not, not_lt, not_le, not_gt, not_ge, not_and, not_or, and_of_nots, or_of_nots, lt_offset, ge_offset, eq_offset,
    lt_factor, select_true, select_false, select_same,
)  # fmt: skip
