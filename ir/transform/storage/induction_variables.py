"""Induction-variable substitution: what a nest only counts up is a sum over the iterations before (Wolfe, "Beyond
Induction Variables", 1992).

Sums of polynomials in loop variables are polynomials (Faulhaber), and so are those of `max(0, u + c)` in maxima, which
are how long diagonals are. A counter may be any element that a nest touches in no other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial, reduce
from math import lcm
from typing import Protocol, Self, cast

from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    const,
    seq,
)
from ir.presburger.polynomials import Monomial, monomial, polynomial, written
from ir.program.edit import folded, plus
from ir.traverse import (
    buffers_accessed,
    buffers_read,
    free_vars,
    has_loads,
    has_undef,
    loads,
    map_expr,
    rebuilt,
    stores_in,
    walk_expr,
)

_Sum = Mapping[Monomial, Fraction]
_MOST_TERMS = 16
_POWERS = (  # the sum of u**k over 0 <= u < x, as coefficients of x, x**2, ...
    (Fraction(1),),
    (Fraction(-1, 2), Fraction(1, 2)),
    (Fraction(1, 6), Fraction(-1, 2), Fraction(1, 3)),
    (Fraction(0), Fraction(1, 4), Fraction(-1, 2), Fraction(1, 4)),
)


class Place(Protocol):
    """Where a nest stands, with what is known there."""

    def truth(self, cond: Expr) -> bool | None:
        """Whether a condition always or never holds."""
        ...

    def fits(self, expr: Expr) -> bool:
        """Whether an expression stays within its dtype."""
        ...

    def iteration(self, loop: For) -> Self | None:
        """The place in a loop's body."""
        ...


class _OtherwiseError(Exception):
    """An element is no counter, or its sum is none that can be written down."""


def counters(loop: For) -> Iterator[Load]:
    """Elements that some store in a loop counts up, at places that are numbers."""
    found: dict[Load, None] = {}
    for store in stores_in(loop.body):
        element = Load(store.buffer, store.indices)
        plain = store.buffer.dtype.is_integer and store.buffer.dtype.is_signed
        if plain and all(isinstance(i, Const) for i in store.indices) and _increment(store, element) is not None:
            found[element] = None
    yield from found


def without_counter(loop: For, counter: Load, place: Place) -> Stmt | None:
    """A nest that adds to a counter once, behind its end; None if what the counter holds is no sum of this kind."""
    try:
        work = _Substitution(counter)
        total = work.total(loop, place)
        if not total:
            return None
        return seq(work.stmt(loop, (), place), work.store(total, place))
    except _OtherwiseError:
        return None


def _increment(store: Store, counter: Load) -> Expr | None:
    """What a store adds to a counter."""
    match store.value:
        case Binary(op="add", lhs=a, rhs=b) if a.same(counter) and not has_loads(b):
            return b
        case Binary(op="add", lhs=b, rhs=a) if a.same(counter) and not has_loads(b):
            return b
        case Binary(op="sub", lhs=a, rhs=b) if a.same(counter) and not has_loads(b):
            return Unary("neg", b)
        case _:
            return None


class _Substitution:
    """A counter, how much statements add to it, and statements without it."""

    def __init__(self, counter: Load) -> None:
        self._counter = counter
        self._dtype = counter.dtype
        self._totals: dict[int, _Sum] = {}

    def total(self, stmt: Stmt, place: Place) -> _Sum:
        """What a statement adds."""
        key = id(stmt)
        if key not in self._totals:
            self._totals[key] = self._total(stmt, place)
        return self._totals[key]

    def _total(self, stmt: Stmt, place: Place) -> _Sum:
        match cast(AnyStmt, stmt):
            case Store(buffer=buffer) as store if buffer == self._counter.buffer:
                same = Load(buffer, store.indices).same(self._counter)
                added = _increment(store, self._counter) if same else None
                if added is None:
                    raise _OtherwiseError
                return _added(self._sum_of(added))
            case Seq(stmts=stmts):
                return _added(*(self.total(s, place) for s in stmts))
            case For() as loop:
                inside = place.iteration(loop)
                if self._counter.buffer not in buffers_accessed(loop) or inside is None:
                    return {}
                each = self.total(loop.body, inside)
                return self._before(loop, each, self._end(loop), place) if each else {}
            case If(then=then, other=other):
                if self.total(then, place) or self.total(other, place):
                    raise _OtherwiseError
                return {}
            case Let(var=var, body=body):
                return self._free_of(self.total(body, place), var)
            case Alloc(buffer=buffer, body=body) if buffer != self._counter.buffer:
                return self.total(body, place)
            case Store() | Assume() | Assert() | Evaluate():
                return {}
            case other:
                if self._counter.buffer in buffers_accessed(other):  # by a call, or one of many lives
                    raise _OtherwiseError
                return {}

    def stmt(self, stmt: Stmt, before: tuple[_Sum, ...], place: Place) -> Stmt:
        """A statement that reads what the counter holds before the nest, and adds what was added `before` it."""
        if self._counter.buffer not in buffers_accessed(stmt):
            return stmt
        match cast(AnyStmt, stmt):
            case Store(buffer=buffer) if buffer == self._counter.buffer:
                return SKIP
            case Seq(stmts=stmts):
                done: _Sum = {}
                parts: list[Stmt] = []
                for part in stmts:
                    parts.append(self.stmt(part, (*before, done), place))
                    done = _added(done, self.total(part, place))
                return seq(*parts)
            case For(var=var, start=start, extent=extent, body=body) as loop:
                inside = place.iteration(loop)
                if inside is None or self._counter.buffer in buffers_read(start, extent):
                    raise _OtherwiseError
                each = self.total(body, inside)
                own = self._before(loop, each, self._sum_of(var), place) if each else {}
                return replace(loop, body=self.stmt(body, (*before, own), inside))
            case other:
                read = self._counter_and(before, place)
                return rebuilt(other, lambda e: self._replaced(e, read), lambda s: self.stmt(s, before, place))

    def store(self, total: _Sum, place: Place) -> Stmt:
        """What the nest adds, at once."""
        return Store(self._counter.buffer, self._counter.indices, self._counter_and((total,), place))

    def _counter_and(self, before: tuple[_Sum, ...], place: Place) -> Expr:
        """The counter and what was added before, no part of which leaves its dtype."""
        total = folded(reduce(partial(Binary, "add"), map(self._written, filter(None, before)), self._zero()))
        if not all(place.fits(e) for e in walk_expr(total) if isinstance(e, Binary | Unary)):
            raise _OtherwiseError
        return plus(self._counter, total)

    def _replaced(self, expr: Expr, read: Expr) -> Expr:
        for load in loads(expr):
            if load.buffer == self._counter.buffer and not load.same(self._counter):
                raise _OtherwiseError
        return map_expr(expr, lambda e: read if isinstance(e, Load) and e.same(self._counter) else e)

    def _before(self, loop: For, each: _Sum, end: _Sum, place: Place) -> _Sum:
        """What iterations of a loop before the one at `end` add, of which each adds so much."""
        if loop.kind != "serial" or place.truth(loop.extent >= 0) is not True:
            raise _OtherwiseError
        (var,) = self._sum_of(loop.var)
        (own,) = var
        start = self._sum_of(loop.start)
        parts = (_summed(own, factors, start, end, count, self._dtype) for factors, count in each.items())
        return _added(*parts)

    def _end(self, loop: For) -> _Sum:
        return _added(self._sum_of(loop.start), self._sum_of(loop.extent))

    def _free_of(self, total: _Sum, var: Var) -> _Sum:
        if any(var in free_vars(*factors) for factors in total):
            raise _OtherwiseError
        return total

    def _sum_of(self, expr: Expr) -> _Sum:
        """A signed integer expression as a sum of products of variables and of maxima of sums and zero."""
        if has_loads(expr) or has_undef(expr):
            raise _OtherwiseError
        return {factors: Fraction(count) for factors, count in polynomial(self._widened(expr)).items()}

    def _widened(self, expr: Expr) -> Expr:
        """An expression in the dtype of the counter: signed arithmetic is exact, so it may be done there."""
        match expr:
            case Const(value=value):
                return const(int(value), self._dtype)
            case Binary(op="add" | "sub" | "mul" as op, lhs=a, rhs=b) if expr.dtype.is_signed:
                return Binary(op, self._widened(a), self._widened(b))
            case Binary(op="min" | "max" as op, lhs=a, rhs=b) if expr.dtype.is_signed:
                left, right = self._widened(a), self._widened(b)
                apart = written(polynomial(Binary("sub", left, right)), left)
                over = Binary("max", apart, self._zero())
                return Binary("add", right, over) if op == "max" else Binary("sub", left, over)
            case Unary(op="neg", operand=a) if expr.dtype.is_signed:
                return Unary("neg", self._widened(a))
            case Cast(dtype=dtype, operand=a) if dtype.is_signed and a.dtype.is_signed and a.dtype.is_integer:
                return self._widened(a) if dtype.bits >= a.dtype.bits else self._cast(expr)
            case _:
                return self._cast(expr)

    def _cast(self, expr: Expr) -> Expr:
        if expr.dtype is self._dtype:
            return expr
        if not (self._dtype.min <= expr.dtype.min and expr.dtype.max <= self._dtype.max):
            raise _OtherwiseError
        return Cast(self._dtype, expr)

    def _zero(self) -> Expr:
        return const(0, self._dtype)

    def _written(self, total: _Sum) -> Expr:
        """A sum as an expression; all of it is divided at once, since only that is known to be a whole number."""
        by = lcm(*(c.denominator for c in total.values()))
        whole = written({factors: int(c * by) for factors, c in total.items()}, self._counter)
        return whole if by == 1 else Binary("floordiv", whole, const(by, self._dtype))


def _added(*sums: _Sum) -> _Sum:
    found: dict[Monomial, Fraction] = {}
    for part in sums:
        for factors, count in part.items():
            found[factors] = found.get(factors, Fraction(0)) + count
    if len(found) > _MOST_TERMS:
        raise _OtherwiseError
    return {factors: count for factors, count in found.items() if count}


def _times(one: _Sum, other: _Sum) -> _Sum:
    return _added(*({monomial((*a, *b)): x * y} for a, x in one.items() for b, y in other.items()))


def _summed(own: Expr, factors: Monomial, start: _Sum, end: _Sum, count: Fraction, dtype: DType) -> _Sum:
    """The sum of a product over values of a variable from `start` up to `end`, which counts no more."""
    var = free_vars(own)
    power = sum(1 for f in factors if f.same(own))
    rest = monomial(f for f in factors if not f.same(own))
    bent = [f for f in rest if not var.isdisjoint(free_vars(f))]
    once: _Sum = {monomial(f for f in rest if f not in bent): count}
    if not bent:
        return _times(once, _added(_power_sum(power, end), _negative(_power_sum(power, start))))
    if len(bent) > 1 or power:
        raise _OtherwiseError
    match bent[0]:
        case Binary(op="max", lhs=inner, rhs=Const(value=0)):
            form = polynomial(inner)
            slope = form.get((own,), 0)
            fixed: _Sum = {k: Fraction(v) for k, v in form.items() if k != (own,)}
            if abs(slope) != 1 or any(not var.isdisjoint(free_vars(*k)) for k in fixed):
                raise _OtherwiseError
            # of u + c the terms are those up to end - 1 + c, of c - u those from c - start down to c - end + 1
            one: _Sum = {(): Fraction(1)}
            ends = (_added(end, fixed, _negative(one)), _added(start, fixed, _negative(one)))
            if slope < 0:
                ends = _added(fixed, _negative(start)), _added(fixed, _negative(end))
            most, least = (_up_to(e, dtype) for e in ends)
            return _times(once, _added(most, _negative(least)))
        case _:
            raise _OtherwiseError


def _up_to(last: _Sum, dtype: DType) -> _Sum:
    """The sum of all numbers from 1 up to `last`, 0 if that is less."""
    if any(c.denominator != 1 for c in last.values()):
        raise _OtherwiseError
    zero = const(0, dtype)
    over = Binary("max", written({k: int(c) for k, c in last.items()}, zero), zero)
    return {monomial((over, over)): Fraction(1, 2), (over,): Fraction(1, 2)}


def _power_sum(power: int, end: _Sum) -> _Sum:
    """The sum of u**power over 0 <= u < end, as the polynomial that it is for ends that are not negative."""
    if power >= len(_POWERS):
        raise _OtherwiseError
    total: _Sum = {}
    product: _Sum = {(): Fraction(1)}
    for factor in _POWERS[power]:
        product = _times(product, end)
        total = _added(total, _times(product, {(): factor}))
    return total


def _negative(total: _Sum) -> _Sum:
    return {factors: -count for factors, count in total.items()}
