"""Copies of buffers in which the elements of a wavefront lie together.

Along a diagonal each element is in another row and another column of a buffer. In a copy with an index that counts the
diagonals, `S[r + c, r] = A[r, c]`, a diagonal is a row, and the neighbours of its elements are rows beside it: slices.
A window that moves as diagonals do may leave the buffer where nothing is read for a result; a copy has room for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop
from ir.nodes import Buffer, Expr, Load, Store, Var
from ir.traverse import free_vars
from lower.analysis.linear_forms import Linear, least, linear, number, to_expr, unbounded
from lower.nest.nodes import ArrayStatement, Box, Fresh, array_statement, extreme, loops_over

Rows = tuple[tuple[int, ...], ...]  # each index of a copy as a combination of those of the buffer


class Skewed(Struct, frozen=True, eq=False):
    """A copy of `old` at `new`: index d is the combination `rows[d]` of the indices of `old`, plus `origin[d]`."""

    old: Buffer
    new: Buffer
    rows: Rows
    origin: tuple[Linear, ...]

    def place(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Where the copy has an element."""
        forms = combined(self.rows, [linear(i) for i in indices])
        return tuple(to_expr(f + o, indices[0]) for f, o in zip(forms, self.origin, strict=True))

    def filled(self, around: tuple[Loop, ...], boxes: dict[Loop, Box], new: Fresh) -> ArrayStatement:
        """The copy from its buffer; what is not in the buffer may hold anything."""
        axes = loops_over(self.new, boxes, new.name)
        here = tuple(a.var for a in axes)
        store = Store(self.new, here, Load(self.old, self.origins(here)))
        return array_statement(store, around, axes, new)

    def origins(self, here: Sequence[Expr]) -> tuple[Expr, ...]:
        """Which element stands at a place of the copy."""
        places = [linear(h) - o for h, o in zip(here, self.origin, strict=True)]
        return tuple(to_expr(f, h) for f, h in zip(combined(_inverse(self.rows), places), here, strict=True))

    def returned(self, around: tuple[Loop, ...], boxes: dict[Loop, Box], new: Fresh) -> ArrayStatement:
        """The buffer from its copy."""
        axes = loops_over(self.old, boxes, new.name)
        here = tuple(a.var for a in axes)
        store = Store(self.old, here, Load(self.new, self.place(here)))
        return array_statement(store, around, axes, new)


def combined(rows: Rows, forms: Sequence[Linear]) -> list[Linear]:
    """Combinations of forms."""
    found: list[Linear] = []
    for row in rows:
        total = number(0)
        for factor, form in zip(row, forms, strict=True):
            total = total + form * factor
        found.append(total)
    return found


def _inverse(rows: Rows) -> Rows:
    """Combinations that undo others, of which the determinant is 1 or -1."""
    inverse = np.rint(np.linalg.inv(np.array(rows, dtype=float))).astype(int)
    return tuple(tuple(int(x) for x in row) for row in inverse)


def layouts(forms: Sequence[Linear], along: Var, time: Var) -> list[Rows]:
    """Ways to lay out a buffer such that an access is a window of it: along one dimension, ascending with `along`.

    Empty where there is none; one that changes nothing if the access is such a window already. Windows that stay at
    their place while time goes on come first.
    """
    if any(along in free_vars(a) for form in forms for a in form.terms if a != along):
        return []
    rank = len(forms)
    factors = [form.terms.get(along, 0) for form in forms]
    uses = [d for d, c in enumerate(factors) if c]
    unit = [tuple(int(d == e) for e in range(rank)) for d in range(rank)]
    if not uses:
        return [tuple(unit)]
    if len(uses) > 2:
        return []
    found: list[Rows] = []
    for d in sorted(uses, key=lambda d: time in forms[d].terms):
        last = tuple(factors[d] * x for x in unit[d])
        if abs(factors[d]) != 1:
            continue
        if len(uses) == 1:
            found.append(tuple(last if e == d else unit[e] for e in range(rank)))
        else:
            others = [unit[e] for e in range(rank) if e not in uses]
            found.append((_across(forms, uses, factors, time), *others, last))
    return found


def _across(forms: Sequence[Linear], uses: Sequence[int], factors: Sequence[int], time: Var) -> tuple[int, ...]:
    """The combination of two indices that stays the same along a diagonal, and ascends with time."""
    u, v = uses
    common = gcd(factors[u], factors[v])
    p, q = factors[v] // common, -factors[u] // common
    if p * forms[u].terms.get(time, 0) + q * forms[v].terms.get(time, 0) < 0:
        p, q = -p, -q
    return tuple(p if d == u else q if d == v else 0 for d in range(len(forms)))


def slides(forms: Sequence[Linear], along: Var) -> bool:
    """Whether an access is a window along at most one dimension, ascending with a variable."""
    if any(along in free_vars(a) for form in forms for a in form.terms if a != along):
        return False
    return sorted(form.terms.get(along, 0) for form in forms) in ([0] * len(forms), [0] * (len(forms) - 1) + [1])


def sized(
    buffer: Buffer,
    rows: Rows,
    accesses: Sequence[tuple[Sequence[Linear], Mapping[Var, Box]]],
    whole: bool,
    static: frozenset[Var],
    new: Fresh,
) -> Skewed | None:
    """A copy with room for accesses, of which each has the boxes around it, and for the `whole` buffer if it must be.

    None where sizes cannot be compared.
    """
    ranges: list[list[tuple[Linear, Linear]]] = [[] for _ in rows]
    for forms, around in accesses:
        for d, form in enumerate(combined(rows, forms)):
            low, high = (extreme(form, around, static, unbounded, upper) for upper in (False, True))
            if low is None or high is None:
                return None
            ranges[d].append((low, high))
    if whole:
        for d, row in enumerate(rows):
            ends = [(number(0), linear(size) - 1) for size in buffer.shape]
            low, high = number(0), number(0)
            for factor, (first, last) in zip(row, ends, strict=True):
                low = low + (first if factor > 0 else last) * factor
                high = high + (last if factor > 0 else first) * factor
            ranges[d].append((low, high))
    origin: list[Linear] = []
    shape: list[Expr] = []
    for found, size in zip(ranges, buffer.shape, strict=True):
        low, negative = least([low for low, _ in found]), least([high * -1 for _, high in found])
        if low is None or negative is None:
            return None
        origin.append(low * -1)
        shape.append(to_expr(negative * -1 - low + 1, size))
    copy = replace(buffer, name=new.name(f"{buffer.name}_skewed"), shape=tuple(shape), scope="local")
    return Skewed(buffer, copy, rows, tuple(origin))
