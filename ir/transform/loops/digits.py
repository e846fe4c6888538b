"""Strip-mining by digits: a loop as one for each digit of its variable.

`k // 8` and `k % 8`, k < 32, are digits of k in a base where each unit divides the next and the loop's extent. In terms
of digits, each of which has a loop of its own, places are linear. Bits by numbers are quotients and rests too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.arith import fold_binary
from ir.fold import fold
from ir.naming import lengthened
from ir.nodes import NEGATED, Binary, Const, Expr, For, If, Select, Seq, Stmt, Var, const, seq
from ir.presburger import sets as pb
from ir.presburger.polynomials import polynomial
from ir.transform.loops.index_set_split import decided
from ir.traverse import (
    all_exprs,
    children,
    conjuncts_of,
    has_loads,
    is_const,
    map_stmt,
    substitute,
    substitute_expr,
    with_children,
)

_QUOTIENTS = ("floordiv", "truncdiv")  # the same of what is not negative, as the variable
_RESTS = ("floormod", "truncmod")
_SYMMETRIC = {"mul", "bitand", "bitor", "bitxor"}


class Digits(Struct, frozen=True):
    """What stands for the digits of a variable that is not negative and below a size, the largest unit first."""

    var: Var
    size: int
    units: tuple[int, ...]
    values: tuple[Expr, ...]

    def put_in(self, stmt: Stmt) -> Stmt:
        """A statement with digits for quotients and rests of the variable, and their sum for all else of it."""
        whole = {self.var: self._total(1, self.size)}
        return map_stmt(stmt, lambda e: substitute_expr(_top_down(e, self._part), whole))

    def _part(self, e: Expr) -> Expr:
        """The digits that a quotient or rest consists of, or the expression."""
        found = _quotient_or_rest(e, self.var)
        cuts = () if found is None else (u for u in found if u is not None)
        if found is None or not all(u in self.units or u >= self.size for u in cuts):
            return e
        return self._total(found[0], found[1] or self.size)

    def _total(self, low: int, high: int) -> Expr:
        """The digits with units from `low` to below `high`, in units of `low`."""
        terms = [
            d if u == low else Binary("mul", d, const(u // low, d.dtype))
            for d, u in zip(self.values, self.units, strict=True)
            if low <= u < high
        ]
        return reduce(lambda a, b: Binary("add", a, b), terms) if terms else const(0, self.var.dtype)


def _quotient_or_rest(e: Expr, var: Var) -> tuple[int, int | None] | None:
    """`a` and `b` if an expression is `var // a` without what is from `b` on; None if it is none such."""
    if not isinstance(e, Binary) or e.op not in (*_QUOTIENTS, *_RESTS):
        return None
    if not isinstance(e.rhs, Const) or int(e.rhs.value) <= 0:
        return None
    n, divides = int(e.rhs.value), e.op in _QUOTIENTS
    if e.lhs == var:
        return (n, None) if divides else (1, n)
    inner = _quotient_or_rest(e.lhs, var)
    if inner is None:
        return None
    low, high = inner
    if high is None:
        return (low * n, None) if divides else (low, low * n)
    if (high // low) % n:
        return None
    return (low * n, high) if divides else (low, low * n)


def _top_down(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """An expression with the outermost parts changed that change."""
    new = change(e)
    return new if new is not e else with_children(e, tuple(_top_down(c, change) for c in children(e)))


# Loops ----------------------------------------------------------------------------------------------------------------


def in_digits(stmt: Stmt, names: set[str]) -> Stmt:
    """A statement with loops for the digits of loop variables of which it takes quotients and rests; `names` are taken.

    Where a digit of two values decides what is chosen, both are written out.
    """

    def one(s: Stmt) -> Stmt:
        if not (isinstance(s, For) and isinstance(s.extent, Const) and is_const(s.start, 0)):
            return s
        size = int(s.extent.value)
        units = sorted({u for e in all_exprs(s.body) for u in _quotient_or_rest(e, s.var) or () if u and 1 < u < size})
        if not units or any(b % a for a, b in pairwise([*units, size])):
            return s
        strides = (*reversed(units), 1)
        radices = [a // b for a, b in pairwise([size, *strides])]
        digits = tuple(Var(lengthened(f"{s.var.name}_{k}", names), s.var.dtype) for k in range(len(strides)))
        known = pb.always()
        for digit, radix in zip(digits, radices, strict=True):
            known = known.intersect(pb.loop_domain(digit, s.start, const(radix, digit.dtype)).must)
        body = Digits(s.var, size, strides, digits).put_in(s.body)
        for digit, radix in reversed([*zip(digits, radices, strict=True)]):
            body = _loop(replace(s, var=digit, extent=const(radix, digit.dtype), body=body), radix, known)
        return body

    return map_stmt(stmt, on_stmt=one)


def _loop(loop: For, radix: int, known: isl.Set) -> Stmt:
    """A loop over a digit, its steps if its value decides what they compute, or the only one that a condition around
    all of its body lets pass."""
    if radix == 2 and any(len(_passed(c, loop.var, radix)) == 1 for c in _choices(loop.body)):
        steps = (substitute(loop.body, {loop.var: const(k, loop.var.dtype)}) for k in range(radix))
        return seq(*(decided(step, known) for step in steps))
    inside = loop.body
    while isinstance(inside, For):
        inside = inside.body
    if not isinstance(inside, If) or not (isinstance(inside.other, Seq) and not inside.other.stmts):
        return loop
    for cond in conjuncts_of(inside.cond):
        passed = _passed(cond, loop.var, radix)
        if len(passed) == 1:
            return substitute(loop.body, {loop.var: const(passed[0], loop.var.dtype)})
    return loop


def _choices(stmt: Stmt) -> Iterator[Expr]:
    """What decides which of two values a statement takes."""
    return (e.cond for e in all_exprs(stmt) if isinstance(e, Select))


def _passed(cond: Expr, digit: Var, radix: int) -> list[int]:
    """The values of a digit for which a condition holds; all of them if it does not depend on the digit alone."""
    every = list(range(radix))
    if not isinstance(cond, Binary) or cond.op not in NEGATED or not cond.lhs.dtype.is_signed or has_loads(cond):
        return every
    terms = polynomial(Binary("sub", cond.lhs, cond.rhs))
    if terms.keys() - {()} != {(digit,)}:
        return every
    rate, offset = terms[digit,], terms.get((), 0)
    return [k for k in every if fold_binary(cond.op, offset + rate * k, 0, cond.lhs.dtype)]


# Bits -----------------------------------------------------------------------------------------------------------------


def with_digits_for_bits(e: Expr) -> Expr:
    """One operator of numbers worked out; bits by numbers as quotients and rests, which is what analyses know.

    Signed integers have as many ones in front as one likes, so this holds below zero too.
    """
    if not isinstance(e, Binary) or not e.lhs.dtype.is_signed or not e.lhs.dtype.is_integer:
        return e
    dtype = e.lhs.dtype
    if isinstance(e.lhs, Const) and isinstance(e.rhs, Const):
        return fold(e)
    a, b = (e.rhs, e.lhs) if e.op in _SYMMETRIC and isinstance(e.lhs, Const) else (e.lhs, e.rhs)
    if not isinstance(b, Const) or has_loads(a):
        return e  # of data, bits are what is cheap
    n = int(b.value)
    power = n > 0 and n & (n - 1) == 0
    match e.op:
        case "shl" if 0 <= n < dtype.bits - 1:
            return Binary("mul", a, const(1 << n, dtype))
        case "shr" if 0 <= n < dtype.bits - 1:
            return with_digits_for_bits(Binary("floordiv", a, const(1 << n, dtype)))
        case "floordiv" | "mul" if n == 1:
            return a
        case "bitand" if n >= 0 and n & (n + 1) == 0 and n < dtype.max:
            return Binary("floormod", a, const(n + 1, dtype))
        case "bitand" if power:
            return Binary("mul", _bit(a, n), const(n, dtype))
        case "bitor" if power:
            return Binary("add", a, Binary("mul", Binary("sub", const(1, dtype), _bit(a, n)), b))
        case "bitxor" if power:
            twice = Binary("mul", _bit(a, n), const(2, dtype))
            return Binary("add", a, Binary("mul", Binary("sub", const(1, dtype), twice), b))
        case _:
            return e


def _bit(a: Expr, power: int) -> Expr:
    """The bit of a number that counts as much as a power of two."""
    shifted = a if power == 1 else Binary("floordiv", a, const(power, a.dtype))
    return Binary("floormod", shifted, const(2, a.dtype))
