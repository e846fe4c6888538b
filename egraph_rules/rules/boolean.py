"""Boolean algebra and comparisons. `and`/`or` evaluate their right operand only if needed, so they do not commute."""

from __future__ import annotations

from egraph_rules.rule import ANY, BOOL, FLOAT, INTEGER, SIGNED, Number, Term, Truth, defined, rule
from ir.nodes import FALSE, TRUE, Select


@rule(on=BOOL, because="true is neutral")
def true_and(x: Term):
    return TRUE & x, x


@rule(on=BOOL, because="true is neutral")
def and_true(x: Term):
    return x & TRUE, x


@rule(on=BOOL, because="false annihilates, and what follows is not evaluated")
def false_and(x: Term):
    return FALSE & x, FALSE


@rule(on=BOOL, because="false annihilates, undef included")
def and_false(x: Term):
    return x & FALSE, FALSE


@rule(on=BOOL, because="false is neutral")
def false_or(x: Term):
    return FALSE | x, x


@rule(on=BOOL, because="false is neutral")
def or_false(x: Term):
    return x | FALSE, x


@rule(on=BOOL, because="true annihilates, and what follows is not evaluated")
def true_or(x: Term):
    return TRUE | x, TRUE


@rule(on=BOOL, because="true annihilates, undef included")
def or_true(x: Term):
    return x | TRUE, TRUE


@rule(on=BOOL, because="idempotence")
def and_self(x: Term):
    return x & x, x, defined(x)


@rule(on=BOOL, because="idempotence")
def or_self(x: Term):
    return x | x, x, defined(x)


@rule(on=BOOL, because="double negation")
def not_not(x: Term):
    return ~~x, x


@rule(on=BOOL, because="the negation of true")
def not_true():
    return ~TRUE, FALSE


@rule(on=BOOL, because="the negation of false")
def not_false():
    return ~FALSE, TRUE


@rule(on=SIGNED, because="the integers are totally ordered")
def not_lt(x: Term, y: Term):
    return ~(x < y), x >= y


@rule(on=SIGNED, because="the integers are totally ordered")
def not_le(x: Term, y: Term):
    return ~(x <= y), x > y


@rule(on=SIGNED, because="the integers are totally ordered")
def not_gt(x: Term, y: Term):
    return ~(x > y), x <= y


@rule(on=SIGNED, because="the integers are totally ordered")
def not_ge(x: Term, y: Term):
    return ~(x >= y), x < y


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


# Comparisons of numbers, computed -------------------------------------------------------------------------------------


@rule(on=INTEGER, because="computed")
def eq_true(a: Number, b: Number):
    return (a == b), TRUE, (a == b)


@rule(on=INTEGER, because="computed")
def eq_false(a: Number, b: Number):
    return (a == b), FALSE, (a != b)


@rule(on=INTEGER, because="computed")
def ne_true(a: Number, b: Number):
    return (a != b), TRUE, (a != b)


@rule(on=INTEGER, because="computed")
def ne_false(a: Number, b: Number):
    return (a != b), FALSE, (a == b)


@rule(on=INTEGER, because="computed")
def lt_true(a: Number, b: Number):
    return a < b, TRUE, a < b


@rule(on=INTEGER, because="computed")
def lt_false(a: Number, b: Number):
    return a < b, FALSE, a >= b


@rule(on=INTEGER, because="computed")
def le_true(a: Number, b: Number):
    return a <= b, TRUE, a <= b


@rule(on=INTEGER, because="computed")
def le_false(a: Number, b: Number):
    return a <= b, FALSE, a > b


@rule(on=INTEGER, because="computed")
def gt_true(a: Number, b: Number):
    return a > b, TRUE, a > b


@rule(on=INTEGER, because="computed")
def gt_false(a: Number, b: Number):
    return a > b, FALSE, a <= b


@rule(on=INTEGER, because="computed")
def ge_true(a: Number, b: Number):
    return a >= b, TRUE, a >= b


@rule(on=INTEGER, because="computed")
def ge_false(a: Number, b: Number):
    return a >= b, FALSE, a < b


@rule(on=FLOAT, because="computed")
def float_eq_true(a: Number, b: Number):
    return (a == b), TRUE, (a == b)


@rule(on=FLOAT, because="computed")
def float_eq_false(a: Number, b: Number):
    return (a == b), FALSE, (a != b)


@rule(on=FLOAT, because="computed")
def float_ne_true(a: Number, b: Number):
    return (a != b), TRUE, (a != b)


@rule(on=FLOAT, because="computed")
def float_ne_false(a: Number, b: Number):
    return (a != b), FALSE, (a == b)


@rule(on=FLOAT, because="computed")
def float_lt_true(a: Number, b: Number):
    return a < b, TRUE, a < b


@rule(on=FLOAT, because="computed")
def float_lt_false(a: Number, b: Number):
    return a < b, FALSE, a >= b


@rule(on=FLOAT, because="computed")
def float_le_true(a: Number, b: Number):
    return a <= b, TRUE, a <= b


@rule(on=FLOAT, because="computed")
def float_le_false(a: Number, b: Number):
    return a <= b, FALSE, a > b


@rule(on=FLOAT, because="computed")
def float_gt_true(a: Number, b: Number):
    return a > b, TRUE, a > b


@rule(on=FLOAT, because="computed")
def float_gt_false(a: Number, b: Number):
    return a > b, FALSE, a <= b


@rule(on=FLOAT, because="computed")
def float_ge_true(a: Number, b: Number):
    return a >= b, TRUE, a >= b


@rule(on=FLOAT, because="computed")
def float_ge_false(a: Number, b: Number):
    return a >= b, FALSE, a < b


BOOLEAN_RULES = (
    true_and, and_true, false_and, and_false, false_or, or_false, true_or, or_true, and_self, or_self, not_not,
    not_true, not_false, not_lt, not_le, not_gt, not_ge, lt_offset, ge_offset, eq_offset, lt_factor,
    select_true, select_false, select_same, eq_true, eq_false, ne_true, ne_false, lt_true, lt_false, le_true,
    le_false, gt_true, gt_false, ge_true, ge_false, float_eq_true, float_eq_false, float_ne_true, float_ne_false,
    float_lt_true, float_lt_false, float_le_true, float_le_false, float_gt_true, float_gt_false, float_ge_true,
    float_ge_false,
)  # fmt: skip
