"""Integer arithmetic. `//` and `%` are floor division and modulo; signed values are mathematical integers."""

from __future__ import annotations

from egraph_rules.rule import INTEGER, SIGNED, Number, Term, defined, rule
from ir.nodes import binary


@rule(on=INTEGER, because="addition commutes")
def add_commutes(x: Term, y: Term):
    return x + y, y + x


@rule(on=INTEGER, because="multiplication commutes")
def mul_commutes(x: Term, y: Term):
    return x * y, y * x


@rule(on=INTEGER, because="zero is neutral")
def add_zero(x: Term):
    return x + 0, x


@rule(on=INTEGER, because="zero is neutral")
def sub_zero(x: Term):
    return x - 0, x


@rule(on=INTEGER, because="one is neutral")
def mul_one(x: Term):
    return x * 1, x


@rule(on=INTEGER, because="zero annihilates, undef included")
def mul_zero(x: Term):
    return x * 0, 0


@rule(on=INTEGER, because="a defined value minus itself")
def sub_self(x: Term):
    return x - x, 0, defined(x)


@rule(on=SIGNED, because="x is added and taken away again")
def add_sub_same(x: Term, y: Term):
    return (x + y) - y, x, defined(y)


@rule(on=SIGNED, because="x is taken away and added again")
def sub_add_same(x: Term, y: Term):
    return (x - y) + y, x, defined(y)


@rule(on=SIGNED, because="constants add up")
def add_constants(x: Term, a: Number, b: Number):
    return (x + a) + b, x + (a + b)


@rule(on=SIGNED, because="subtracting a constant is adding its negative")
def sub_constant(x: Term, a: Number):
    return x - a, x + (0 - a)


@rule(on=SIGNED, because="constants multiply")
def mul_constants(x: Term, a: Number, b: Number):
    return (x * a) * b, x * (a * b)


@rule(on=SIGNED, because="distributivity")
def add_multiples(x: Term, a: Number, b: Number):
    return x * a + x * b, x * (a + b), defined(x)


@rule(on=INTEGER, because="computed")
def fold_add(a: Number, b: Number):
    return a + b, a + b


@rule(on=INTEGER, because="computed")
def fold_sub(a: Number, b: Number):
    return a - b, a - b


@rule(on=INTEGER, because="computed")
def fold_mul(a: Number, b: Number):
    return a * b, a * b


@rule(on=INTEGER, because="computed; division by zero is a fault and stays")
def fold_floordiv(a: Number, b: Number):
    return a // b, a // b, b != 0


@rule(on=INTEGER, because="computed; modulo zero is a fault and stays")
def fold_floormod(a: Number, b: Number):
    return a % b, a % b, b != 0


@rule(on=INTEGER, because="every value is a multiple of one")
def floordiv_one(x: Term):
    return x // 1, x


@rule(on=INTEGER, because="every value is a multiple of one")
def floormod_one(x: Term):
    return x % 1, 0, defined(x)


@rule(on=SIGNED, because="adding q*c moves the floor of the quotient by q")
def floordiv_of_multiple(x: Term, y: Term, c: Number):
    return (x * c + y) // c, x + y // c, c != 0, c != -1  # the least value // -1 leaves the dtype


@rule(on=SIGNED, because="q*c // c is q")
def floordiv_exact(x: Term, c: Number):
    return (x * c) // c, x, c != 0


@rule(on=SIGNED, because="a common factor cancels")
def floordiv_cancel(x: Term, m: Term):
    return (x * m) // m, x, m != 0


@rule(on=SIGNED, because="common factors cancel in a floor division")
def floordiv_common_factor(x: Term, a: Number, c: Number):
    return (x * a) // c, x * (a // c), c != 0, a % c == 0


@rule(on=SIGNED, because="adding q*c moves the floor of the quotient by q")
def floordiv_of_offset(x: Term, a: Number, c: Number):
    return (x + a) // c, x // c + a // c, c != 0, c != -1, a % c == 0, a != 0


@rule(on=SIGNED, because="multiples of c leave the remainder alone")
def floormod_of_multiple(x: Term, y: Term, c: Number):
    return (x * c + y) % c, y % c, defined(x), c != 0


@rule(on=SIGNED, because="a multiple of c leaves no remainder")
def floormod_exact(x: Term, a: Number, c: Number):
    return (x * a) % c, 0, defined(x), c != 0, a % c == 0


@rule(on=SIGNED, because="multiples of c leave the remainder alone")
def floormod_of_offset(x: Term, a: Number, c: Number):
    return (x + a) % c, x % c, c != 0, a % c == 0, a != 0


@rule(on=SIGNED, because="floors of quotients by positive numbers nest")
def floordiv_nested(x: Term, a: Number, b: Number):
    return (x // a) // b, x // (a * b), a > 0, b > 0


@rule(on=SIGNED, because="c divides the outer modulus, so the inner reduction is lost")
def floormod_nested(x: Term, a: Number, c: Number):
    return (x % a) % c, x % c, a > 0, c > 0, a % c == 0


@rule(on=SIGNED, because="the definition of the remainder")
def divmod_rejoins(x: Term, c: Number):
    return (x // c) * c + x % c, x, defined(x), c != 0


@rule(on=SIGNED, because="x = (x // c) * c + x % c")
def remainder_of_quotient(x: Term, c: Number):
    return x - x // c * c, x % c, c > 0, defined(x)


@rule(on=INTEGER, because="a value is its own minimum")
def min_self(x: Term):
    return binary("min", x, x), x


@rule(on=INTEGER, because="a value is its own maximum")
def max_self(x: Term):
    return binary("max", x, x), x


@rule(on=INTEGER, because="minimum commutes")
def min_commutes(x: Term, y: Term):
    return binary("min", x, y), binary("min", y, x)


@rule(on=INTEGER, because="maximum commutes")
def max_commutes(x: Term, y: Term):
    return binary("max", x, y), binary("max", y, x)


@rule(on=INTEGER, because="computed")
def fold_min(a: Number, b: Number):
    return binary("min", a, b), binary("min", a, b)


@rule(on=INTEGER, because="computed")
def fold_max(a: Number, b: Number):
    return binary("max", a, b), binary("max", a, b)


INTEGER_RULES = (
    add_commutes, mul_commutes, add_zero, sub_zero, mul_one, mul_zero, sub_self, add_sub_same, sub_add_same,
    add_constants, sub_constant, mul_constants, add_multiples, fold_add, fold_sub, fold_mul, fold_floordiv,
    fold_floormod, floordiv_one, floormod_one, floordiv_of_multiple, floordiv_exact, floordiv_cancel,
    floordiv_common_factor,
    floordiv_of_offset, floormod_of_multiple, floormod_exact, floormod_of_offset, floordiv_nested, floormod_nested,
    divmod_rejoins, remainder_of_quotient, min_self, max_self, min_commutes, max_commutes, fold_min, fold_max,
)  # fmt: skip
