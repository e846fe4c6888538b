"""Integer arithmetic. `//` and `%` are floor division and modulo; signed values are mathematical integers."""

from __future__ import annotations

from egraph_rules.authoring.rule import INTEGER, SIGNED, Number, Term, defined, rule


@rule(on=INTEGER, because="a defined value minus itself")
def sub_self(x: Term):
    return x - x, 0, defined(x)


@rule(on=SIGNED, because="x is added and taken away again")
def add_sub_same(x: Term, y: Term):
    return (x + y) - y, x, defined(y)


@rule(on=SIGNED, because="x is taken away and added again")
def sub_add_same(x: Term, y: Term):
    return (x - y) + y, x, defined(y)


@rule(on=INTEGER, because="bits that are turned over twice are as they were")
def bitxor_same(x: Term, y: Term):
    return (x ^ y) ^ y, x, defined(y)


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


@rule(on=INTEGER, because="one and one are two")
def add_self(x: Term):
    return x + x, x * 2, defined(x)


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


INTEGER_RULES = (
    sub_self, add_sub_same, sub_add_same, bitxor_same, add_constants, sub_constant, mul_constants, add_multiples,
    add_self, floormod_one, floordiv_of_multiple, floordiv_exact, floordiv_cancel, floordiv_common_factor,
    floordiv_of_offset, floormod_of_multiple, floormod_exact, floormod_of_offset, floordiv_nested, floormod_nested,
    divmod_rejoins, remainder_of_quotient,
)  # fmt: skip
