"""A local in which rows of different lengths follow one another, such as a packed triangle, with an axis for the rows.

At `i * (i + 1) // 2 + j` a place is a polynomial in the row and a column: no quasi-affine function, so that sets say
nothing of what is stored there. Where no two pairs of row and column are one place, `[i, j]` names the same elements
(Maslov, "Delinearization: an efficient way to break multiloop dependence equations", PLDI 1992), which all pairs there
are decide, as in `ir.presburger.enumerated`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product, zip_longest

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Buffer,
    CallStmt,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    const,
)
from ir.presburger import polynomials
from ir.presburger.enumerated import instances, values_at
from ir.presburger.points import Array, Points
from ir.presburger.polynomials import Monomial, Polynomial, polynomial, summed
from ir.traverse import children, free_vars, has_kind, map_expr, map_stmt, stmt_children, stmt_exprs

_MOST_GROWTH = 2  # times as many elements as before: rows are as long as the longest one
_NOWHERE = 1 << 40  # no row
_NEAR = (
    0,
    -1,
    1,
)  # rows that an index may mean besides the obvious one: its linear terms are the row's or the column's

Powers = tuple[Fraction, ...]  # the coefficients of a polynomial in one variable, from that of its zeroth power


class _Access(Struct, frozen=True):
    """The index of an access on the axis in question, under the loops and conditions around it."""

    index: Expr
    loops: tuple[For, ...]
    guards: tuple[Expr, ...]


class _Row(Struct, frozen=True):
    """An index as what is no linear term of it, a polynomial in one variable, and the rest."""

    var: Var
    powers: Powers
    rest: Polynomial


class _Split(Struct, frozen=True):
    """A row, the variable times `sign` and a number, and the column of an index."""

    var: Var
    sign: int
    shift: int
    column: Polynomial

    def row_of(self, points: Points) -> Array:
        return self.sign * points[self.var] + self.shift

    def written(self, like: Expr, row: int, column: int) -> tuple[Expr, Expr]:
        """Row and column, counted from some of them."""
        first = summed((((self.var,), self.sign), ((), self.shift - row)))
        second = summed((*self.column.items(), ((), -column)))
        return polynomials.written(first, like), polynomials.written(second, like)


def delinearized(stmt: Alloc) -> Stmt | None:
    """A local with two axes in place of one at which indices are polynomials of loop variables; None for any other.

    All loops around accesses have to have known ends.
    """
    buffer = stmt.buffer
    if has_kind(stmt.body, Block, CallStmt, Evaluate):
        return None
    for axis, extent in enumerate(buffer.shape):
        accesses = [*dict.fromkeys(_accesses(stmt.body, buffer, axis))]
        rows = {a.index: _row(a.index) for a in accesses}
        known = {index: row for index, row in rows.items() if row is not None}
        if known and len(known) == len(rows) and isinstance(extent, Const):
            new = _with_rows(buffer, axis, accesses, known)
            return None if new is None else _moved(stmt, axis, *new)
    return None


def _moved(stmt: Alloc, axis: int, new: Buffer, places: Mapping[Expr, tuple[Expr, Expr]]) -> Stmt:
    """A local and its accesses with two indices in place of one."""
    old = stmt.buffer

    def at(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*indices[:axis], *places[indices[axis]], *indices[axis + 1 :])

    def load(e: Expr) -> Expr:
        return replace(e, buffer=new, indices=at(e.indices)) if isinstance(e, Load) and e.buffer == old else e

    def store(s: Stmt) -> Stmt:
        return replace(s, buffer=new, indices=at(s.indices)) if isinstance(s, Store) and s.buffer == old else s

    return replace(stmt, buffer=new, body=map_stmt(stmt.body, lambda e: map_expr(e, load), store))


def _accesses(
    stmt: Stmt, buffer: Buffer, axis: int, loops: tuple[For, ...] = (), guards: tuple[Expr, ...] = ()
) -> Iterator[_Access]:
    for expr in stmt_exprs(stmt):
        yield from _loads(expr, buffer, axis, _Access(expr, loops, guards))
    match stmt:
        case For(body=body):
            yield from _accesses(body, buffer, axis, (*loops, stmt), guards)
        case If(cond=cond, then=then, other=other):
            yield from _accesses(then, buffer, axis, loops, (*guards, cond))
            yield from _accesses(other, buffer, axis, loops, (*guards, Unary("not", cond)))
        case Store() if stmt.buffer == buffer:
            yield _Access(stmt.indices[axis], loops, guards)
        case _:
            for part in stmt_children(stmt):
                yield from _accesses(part, buffer, axis, loops, guards)


def _loads(expr: Expr, buffer: Buffer, axis: int, at: _Access) -> Iterator[_Access]:
    """Loads in an expression, with the conditions of the selections around each."""
    parts = children(expr)
    tests: tuple[Expr | None, ...] = (None,) * len(parts)
    match expr:
        case Load(indices=indices) if expr.buffer == buffer:
            yield replace(at, index=indices[axis])
        case Select(cond=cond):
            tests = None, cond, Unary("not", cond)
        case Binary(op="and" | "or" as op, lhs=lhs):
            tests = None, lhs if op == "and" else Unary("not", lhs)
        case _:
            pass
    for part, test in zip(parts, tests, strict=True):
        yield from _loads(part, buffer, axis, at if test is None else replace(at, guards=(*at.guards, test)))


def _row(index: Expr) -> _Row | None:
    """An index as a row and linear terms; None if it is linear, or more than that."""
    rest: dict[Monomial, int] = {}
    total: Powers = ()
    found: set[Var] = set()
    for factors, count in polynomial(index).items():
        if not factors or (len(factors) == 1 and isinstance(factors[0], Var)):
            rest[factors] = count
            continue
        variables = free_vars(*factors)
        powers = _powers({factors: count}, *variables) if len(variables) == 1 else None
        if powers is None:
            return None
        found |= variables
        total = _sum(total, powers)
    return _Row(found.pop(), total, rest) if len(found) == 1 and len(total) > 2 else None


def _powers(value: Polynomial, var: Var) -> Powers | None:
    """The coefficients of a polynomial in one variable; quotients that leave no remainder are such, too."""
    total: Powers = ()
    for factors, count in value.items():
        product: Powers = (Fraction(count),)
        for factor in factors:
            match factor:
                case Var() if factor == var:
                    powers: Powers | None = (Fraction(0), Fraction(1))
                case Binary(op="floordiv", lhs=dividend, rhs=Const(value=int() as divisor)) if divisor > 0:
                    powers = _quotient(_powers(polynomial(dividend), var), divisor)
                case _:
                    powers = None
            if powers is None:
                return None
            product = _product(product, powers)
        total = _sum(total, product)
    return total


def _quotient(dividend: Powers | None, divisor: int) -> Powers | None:
    """A polynomial divided by a number, if it is a multiple of that everywhere: its remainders repeat."""
    if dividend is None or any(c.denominator != 1 for c in dividend):
        return None
    if any(_value(dividend, x) % divisor for x in range(divisor)):
        return None
    return tuple(c / divisor for c in dividend)


def _value(powers: Powers, x: int) -> Fraction:
    return sum((c * x**k for k, c in enumerate(powers)), Fraction(0))


def _sum(a: Powers, b: Powers) -> Powers:
    total = [x + y for x, y in zip_longest(a, b, fillvalue=Fraction(0))]
    while total and not total[-1]:
        total.pop()
    return tuple(total)


def _product(a: Powers, b: Powers) -> Powers:
    total = [Fraction(0)] * (len(a) + len(b) - 1)
    for (j, x), (k, y) in product(enumerate(a), enumerate(b)):
        total[j + k] += x * y
    return tuple(total)


def _shifted(powers: Powers, sign: int, shift: int) -> Powers:
    """A polynomial of a variable times `sign`, plus a number."""
    total: Powers = ()
    for coefficient in reversed(powers):
        total = _sum(_product(total, (Fraction(shift), Fraction(sign))) if total else (), (coefficient,))
    return total


def _with_rows(
    buffer: Buffer, axis: int, accesses: Sequence[_Access], rows: Mapping[Expr, _Row]
) -> tuple[Buffer, Mapping[Expr, tuple[Expr, Expr]]] | None:
    """The buffer with an axis for rows and one for columns in place of one, and both for each index; None where some
    place has several of them."""
    extent = buffer.shape[axis]
    count = int(extent.value) if isinstance(extent, Const) else 0
    places = [_places(access) for access in accesses]
    known = [p for p in places if p is not None]
    if len(known) < len(places) or any(p.size and not 0 <= p.min() <= p.max() < count for p, _ in known):
        return None
    form = rows[accesses[0].index].powers
    slopes = dict.fromkeys([0, *(row.rest.get((row.var,), 0) for row in rows.values())])
    tried = (_fitted(form, slope, accesses, known, rows, count) for slope in slopes)
    best = min((t for t in tried if t is not None), key=lambda t: t.size, default=None)
    if best is None or best.size > _MOST_GROWTH * count:
        return None
    shape = tuple(const(len(r), extent.dtype) for r in (best.rows, best.columns))
    new = replace(buffer, shape=(*buffer.shape[:axis], *shape, *buffer.shape[axis + 1 :]))
    starts = best.rows.start, best.columns.start
    return new, {index: split.written(index, *starts) for index, split in best.splits.items()}


class _Fit(Struct, frozen=True):
    """Rows and columns that there are, and those of each index."""

    splits: Mapping[Expr, _Split]
    rows: range
    columns: range

    @property
    def size(self) -> int:
        return len(self.rows) * len(self.columns)


def _places(access: _Access) -> tuple[Array, Points] | None:
    """All places of an access, and the variables there; None if they are not known."""
    points = instances(access.loops, access.guards)
    values = None if points is None else values_at(access.index, points, len(next(iter(points.values()))))
    return None if points is None or values is None else (values, points)


def _fitted(
    form: Powers,
    slope: int,
    accesses: Sequence[_Access],
    places: Sequence[tuple[Array, Points]],
    rows: Mapping[Expr, _Row],
    count: int,
) -> _Fit | None:
    """Rows that begin at places which a polynomial and `slope` times the row give; None if some place is in several."""
    row_at = np.full(count, _NOWHERE)
    splits: dict[Expr, _Split] = {}
    for access, (place, points) in zip(accesses, places, strict=True):
        row, index = rows[access.index], access.index
        options = [splits[index]] if index in splits else _splits(form, slope, row)
        found = next((split for split in options if _takes(row_at, place, split.row_of(points))), None)
        if found is None:
            return None
        splits[index] = found
    taken = row_at != _NOWHERE
    place, rows_of = np.flatnonzero(taken), row_at[taken]
    if not len(place):
        return None
    starts = {int(r): int(_value(form, int(r))) + slope * int(r) for r in np.unique(rows_of)}
    columns = place - np.vectorize(starts.__getitem__)(rows_of)
    first, second = (range(int(x.min()), int(x.max()) + 1) for x in (rows_of, columns))
    return _Fit(splits, first, second)


def _splits(form: Powers, slope: int, row: _Row) -> Iterator[_Split]:
    """Rows that an index may mean, such that what it adds to where one begins is linear."""
    degree = len(form) - 1
    if len(row.powers) != len(form):
        return
    for sign in (1, -1):
        if row.powers[degree] != form[degree] * sign**degree:
            continue
        shift = (row.powers[degree - 1] * sign ** (degree - 1) - form[degree - 1]) / (degree * form[degree])
        for near in _NEAR if shift.denominator == 1 else ():
            start = _shifted(form, sign, int(shift) + near)
            added = _sum(row.powers, tuple(-c for c in start))
            if len(added) > 2 or any(c.denominator != 1 for c in added):
                continue
            there = (*map(int, added), 0, 0)
            own = (((), there[0] - slope * (int(shift) + near)), ((row.var,), there[1] - slope * sign))
            yield _Split(row.var, sign, int(shift) + near, summed((*row.rest.items(), *own)))


def _takes(row_at: Array, place: Array, rows: Array) -> bool:
    """Whether places have not been in another row so far, which they are noted to be in."""
    before = row_at[place]
    if not ((before == rows) | (before == _NOWHERE)).all():
        return False
    row_at[place] = rows
    if (row_at[place] == rows).all():
        return True
    row_at[place] = before
    return False
