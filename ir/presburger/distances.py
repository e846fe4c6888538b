"""Which loops carry a dependence between accesses whose indices are single variables. Owns no question to isl.

The subscript tests of Goff, Kennedy and Tseng (Practical dependence testing, PLDI 1991), for loops of known bounds: an
index that is a variable of a loop and a number says how far instances that meet are apart, or in which range a variable
is. Where no variable stands in two dimensions these are independent, so that what they say together is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ir.nodes import Binary, Const, Expr, Var

Levels = list[tuple[bool, int | None]]


class Ranged(Protocol):
    """A loop."""

    @property
    def var(self) -> Var: ...
    @property
    def start(self) -> Expr: ...
    @property
    def extent(self) -> Expr: ...


class _Span(Struct):
    """The values that a variable may have, both ends included."""

    low: int
    high: int

    def narrow(self, low: int, high: int) -> None:
        self.low, self.high = max(self.low, low), min(self.high, high)

    @property
    def empty(self) -> bool:
        return self.low > self.high


def carried(
    first: Sequence[Ranged], second: Sequence[Ranged], a: Sequence[Expr], b: Sequence[Expr], shared: int
) -> Levels | None:
    """Of instances in the nests `first` and `second` that meet, by indices `a` and `b`: whether that of `first` runs
    first, and the outermost of the `shared` loops in which they differ, None for none; None if this test cannot tell.
    """
    x, y = _spans(first), _spans(second)
    if x is None or y is None:
        return None
    place = [{loop.var: k for k, loop in enumerate(loops)} for loops in (first, second)]
    apart: dict[int, int] = {}  # how much larger the variable of a loop is in the instance of `second`
    met: set[tuple[int, int]] = set()
    for p, q in zip(map(_linear, a), map(_linear, b), strict=True):
        if p is None or q is None:
            return None
        (v, c), (w, d) = p, q
        if v is None and w is None:
            if c != d:
                return []
            continue
        k, m = (None if u is None else at.get(u, -1) for u, at in zip((v, w), place, strict=True))
        uses = [(side, n) for side, n in enumerate((k, m)) if n is not None]
        if any(n < 0 or (side, n) in met for side, n in uses):
            return None
        met.update(uses)
        if k is None or m is None:
            spans, n, value = (y, m, c - d) if k is None else (x, k, d - c)
            assert n is not None
            spans[n].narrow(value, value)
        elif k == m and k < shared:
            apart[k] = c - d
        elif k >= shared:
            y[m].narrow(x[k].low + c - d, x[k].high + c - d)
        elif m >= shared:
            x[k].narrow(y[m].low + d - c, y[m].high + d - c)
        else:
            return None  # two of the loops, exchanged
    if any(span.empty for span in (*x, *y)):
        return []
    return list(_levels(x, y, apart, shared))


def in_step(loops: Sequence[Ranged], a: Sequence[Expr], b: Sequence[Expr], shared: int) -> set[int]:
    """Those of the `shared` loops in whose same iteration instances are that meet, by one index that says so."""
    pairs = [(_linear(p), _linear(q)) for p, q in zip(a, b, strict=True)]
    return {k for k, loop in enumerate(loops[:shared]) if any(p and p == q and p[0] == loop.var for p, q in pairs)}


def _levels(
    x: Sequence[_Span], y: Sequence[_Span], apart: Mapping[int, int], shared: int
) -> Iterator[tuple[bool, int | None]]:
    if any(abs(d) > x[k].high - x[k].low for k, d in apart.items()):
        return
    for k in range(shared):
        d = apart.get(k)
        if x[k].low < y[k].high if d is None else d > 0:
            yield True, k
        if x[k].high > y[k].low if d is None else d < 0:
            yield False, k
        if (x[k].low > y[k].high or y[k].low > x[k].high) if d is None else d != 0:
            return
    yield True, None


def _spans(loops: Sequence[Ranged]) -> list[_Span] | None:
    """The ranges of the variables of loops, if they are known, and each variable is of one loop."""
    found: list[_Span] = []
    for loop in loops:
        if not (isinstance(loop.start, Const) and isinstance(loop.extent, Const)):
            return None
        start = int(loop.start.value)
        found.append(_Span(start, start + int(loop.extent.value) - 1))
    return found if len({loop.var for loop in loops}) == len(loops) else None


def _linear(index: Expr) -> tuple[Var | None, int] | None:
    """The variable and the number whose sum an index is."""
    match index:
        case Const(value=int() as value):
            return None, int(value)
        case Var():
            return index, 0
        case Binary(op="add", lhs=Var() as var, rhs=Const(value=int() as value)) if index.dtype.is_signed:
            return var, int(value)
        case Binary(op="add", lhs=Const(value=int() as value), rhs=Var() as var) if index.dtype.is_signed:
            return var, int(value)
        case Binary(op="sub", lhs=Var() as var, rhs=Const(value=int() as value)) if index.dtype.is_signed:
            return var, -int(value)
        case _:
            return None
