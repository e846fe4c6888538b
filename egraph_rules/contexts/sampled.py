"""Values of integer and boolean expressions at many points at once, on NumPy arrays.

They decide which forms are worth a question to the provers, and that a question is open: it has both answers at some
points. Whether a form is right they decide only where they are all the points that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache

import numpy as np
from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import Binary, Const, Expr, Select, Var
from ir.presburger.points import (
    LARGE,
    UNDEFINED,
    Array,
    Mask,
    NoValueError,
    Points,
    Values,
    evaluated,
    has_values,
    with_faults,
)
from ir.traverse import free_vars, walk_expr

_POINTS = 64
_HALF = _POINTS // 2
_EACH_WAY = 4  # points at which a choice is made one way, at least
_BISECTIONS = 12  # of values that are a few thousand apart at most
_DRAWN = 512
_DRAWN_TO_KEEP = 4096  # where those are kept that satisfy what is given
_ALL = 1 << 14  # points that are all looked at where there are no more
_SHOWN = 1024  # drawn points that questions are put to
_LARGEST = (1 << 63) - 1  # that an array of points holds


class Open(Enum):
    """Why a question stays open."""

    DEPENDS = "there are values for which it holds, and some for which it does not"
    UNKNOWN = "no formula that says all, or the steps ran out"


def settled(answer: bool | Open) -> bool | None:
    """An answer, and None for a question that stays open."""
    return answer if isinstance(answer, bool) else None


def drawn(
    variables: Sequence[Var],
    given: Sequence[Expr],
    ranges: Mapping[str, tuple[int | None, int | None]],
    numbers: Sequence[int],
) -> Points | None:
    """Points that satisfy what is given: values near the `numbers` that occur, near zero, and in `ranges`.

    The same points each time. None where hardly any was found.
    """
    rng = np.random.default_rng(0)
    count = _DRAWN_TO_KEEP if given else _DRAWN
    near = np.array(sorted({n + d for n in (0, *numbers) for d in (-1, 0, 1) if abs(n) < LARGE}), np.int64)
    found: dict[Var, Array] = {}
    for var in variables:
        if var.dtype is DType.BOOL:
            found[var] = rng.integers(0, 2, count)
            continue
        least, most = ranges.get(var.name, (None, None))
        low = max(-LARGE, var.dtype.min, var.dtype.min if least is None else least)
        high = min(LARGE, var.dtype.max, var.dtype.max if most is None else most)
        if low > high:
            return None
        kinds = rng.integers(0, 4, count)
        wide, narrow = rng.integers(-1500, 1500, count), rng.integers(-40, 41, count)
        values = np.where(kinds == 0, rng.choice(near, count), np.where(kinds == 1, wide, narrow))
        inside = rng.integers(low, high, count, endpoint=True)
        found[var] = np.where((values < low) | (values > high), low + inside % min(high - low + 1, 256), values)
        if not var.dtype.is_signed:  # which wrap around: their largest values are no faults
            found[var] = np.where(kinds == 3, inside, found[var])
    keep = satisfying(found, given)
    return None if keep.sum() < 8 else {v: values[keep] for v, values in found.items()}


def satisfying(points: Points, given: Iterable[Expr]) -> Mask:
    """Which points satisfy what is given, as far as that can be evaluated."""
    keep: Mask = np.ones(max(map(len, points.values()), default=0), bool)
    for cond in given:
        try:
            truth, bad = evaluated(cond, points)
        except NoValueError:
            continue
        keep &= (truth != 0) & ~bad
    return keep


class Sample(Struct, frozen=True):
    """Points at which an expression does not fault, and its values there."""

    points: Points
    values: Array
    _known: Values  # of its parts, at points of which these are some
    _kept: Array

    def part(self, expr: Expr) -> tuple[Array, Mask]:
        """The values of a part of the expression, and where evaluating it is a fault.

        Raises:
            NoValueError: it has none.
        """
        if expr not in self._known:
            return evaluated(expr, self.points)
        values, faults = self._known[expr]
        return values[self._kept] if values.ndim else values, (faults[self._kept] if faults.ndim else faults) != 0

    @staticmethod
    def of(expr: Expr, points: Points, allowed: Callable[[Points], Mask], known: Values) -> Sample | None:
        """A sample of some points; `known` keeps what parts are at all of them."""
        length = max((len(v) for v in points.values()), default=0)
        values, fine = _total(expr, points, length, known)
        kept = np.flatnonzero(fine)
        if expr.dtype is DType.BOOL:
            yes, no = kept[values[kept] != 0], kept[values[kept] == 0]
            if len(yes) and len(no):  # both truths in turn, also next to where one becomes the other
                edges = _edges(expr, points, yes, no)
                inside = allowed(edges)
                points = {
                    v: np.concatenate([edges[v][inside], x[yes[:_HALF]], x[no[:_HALF]]]) for v, x in points.items()
                }
                known = {}
                values, fine = _total(expr, points, max(map(len, points.values())), known)
                kept = np.flatnonzero(fine)
        kept = _covering(expr, points, known, kept)[: 4 * _POINTS]
        if len(kept) < 4:
            return None
        values = values[kept]
        if expr.dtype is DType.BOOL:
            yes, no = np.flatnonzero(values), np.flatnonzero(values == 0)
            rank = np.concatenate([np.arange(len(yes)), np.arange(len(no))])
            order = np.concatenate([yes, no])[np.argsort(rank, kind="stable")][: 2 * _POINTS]
        else:
            order = np.arange(len(kept))[:_POINTS]
            order = order[np.argsort(-np.abs(values[order]) % 61, kind="stable")]
        kept = kept[order]
        return Sample({v: x[kept] for v, x in points.items()}, values[order], known, kept)


def _covering(expr: Expr, points: Points, known: Values, kept: Array) -> Array:
    """Those of the points that are kept, in an order in which all choices are made both ways early."""
    first: list[Array] = []
    for cond in dict.fromkeys(c for part in walk_expr(expr) if (c := _choice(part)) is not None):
        values, fine = _total(cond, points, max(map(len, points.values())), known)
        for way in (values != 0, values == 0):
            first.append(kept[(way & fine)[kept]][:_EACH_WAY])
    order = np.concatenate([*first, kept])
    return order[np.sort(np.unique(order, return_index=True)[1])]


def _choice(part: Expr) -> Expr | None:
    """The condition that decides which operand a choice, a minimum or a maximum is."""
    match part:
        case Select(cond=cond):
            return cond
        case Binary(op="min" | "max", lhs=a, rhs=b):
            return Binary("lt", a, b)
        case _:
            return None


def _total(expr: Expr, points: Points, length: int, known: Values) -> tuple[Array, Mask]:
    """Values of an expression at each point, and where they are no faults."""
    values, bad = evaluated(expr, points, known)
    return np.broadcast_to(values, (length,)), ~np.broadcast_to(bad, (length,))


def _edges(cond: Expr, points: Points, yes: Array, no: Array) -> Points:
    """Points next to each other between which a condition changes, by bisection; it may fault on the way."""
    count = min(len(yes), len(no), _HALF)
    high = {v: x[yes[:count]] for v, x in points.items()}
    low = {v: x[no[:count]] for v, x in points.items()}
    for _ in range(_BISECTIONS):
        middle = {v: (high[v] + low[v]) >> 1 for v in points}
        values, _bad = evaluated(cond, middle)
        true = np.broadcast_to(values != 0, (count,))
        high = {v: np.where(true, middle[v], high[v]) for v in points}
        low = {v: np.where(true, low[v], middle[v]) for v in points}
    return {v: np.concatenate([high[v], low[v]]) for v in points}


Range = tuple[int | None, int | None]


class Drawn(Struct, frozen=True):
    """Values of variables: `every` one that some conditions allow, or some of them, and what parts of expressions are.

    Questions are put to those `shown`.
    """

    points: Points
    every: bool
    shown: Points
    known: Values  # at all points
    at_shown: Values

    @staticmethod
    def of(points: Points, *, every: bool) -> Drawn:
        whole = every or max(map(len, points.values())) <= _SHOWN
        known: Values = {}
        return Drawn(
            points,
            every,
            points if whole else {v: x[:_SHOWN] for v, x in points.items()},
            known,
            known if whole else {},
        )


class Evidence:
    """What values of variables show of expressions where some conditions hold."""

    def __init__(self, given: Sequence[Expr], ranges: Callable[[Var], Range]) -> None:
        self._given = [c for c in given if has_values(c)]
        self._exact = len(self._given) == len(given) and all(map(_is_narrow, given))  # points satisfy all there is
        self._ranges = cache(ranges)
        self._drawn: dict[frozenset[Var], Drawn | None] = {}
        self._tied = cache(self._tied_to)

    def drawn(self, exprs: Sequence[Expr]) -> Drawn | None:
        """Values of the variables of some expressions, and of those that conditions tie to them.

        The same each time. None where hardly any was found.
        """
        variables = self._tied(frozenset(v for e in exprs for v in free_vars(e)))
        if variables not in self._drawn:
            self._drawn[variables] = self._draw(sorted(variables, key=lambda v: v.name), exprs)
        return self._drawn[variables]

    def _tied_to(self, variables: frozenset[Var]) -> frozenset[Var]:
        """Some variables, and those that conditions tie to them."""
        named = [free_vars(c) for c in self._given]
        while more := {v for several in named if not variables.isdisjoint(several) for v in several} - variables:
            variables |= more
        return variables

    def _draw(self, variables: Sequence[Var], exprs: Iterable[Expr]) -> Drawn | None:
        own = [c for c in self._given if not free_vars(c).isdisjoint(variables)]
        if not variables or any(v.dtype.is_float for v in variables):
            return None
        ranges = {v.name: self._ranges(v) for v in variables if v.dtype.is_integer}
        found = _every(variables, own, ranges)
        if found is not None:
            return Drawn.of(found, every=True)
        parts = (e for c in (*exprs, *own) for e in walk_expr(c))
        numbers = {int(e.value) for e in parts if isinstance(e, Const) and not e.dtype.is_float}
        some = drawn(variables, own, ranges, sorted(numbers))
        return None if some is None else Drawn.of(some, every=False)

    def truth(self, cond: Expr, given: Iterable[tuple[Expr, bool]] = ()) -> tuple[bool | Open, tuple[bool, ...]]:
        """Whether a condition always or never holds, also where others do; and which of both no point refutes.

        `DEPENDS` where points refute both, or show a divisor of zero: what is proven has a value everywhere.
        """
        unknown = (Open.UNKNOWN, (True, False))
        assumed = [(c, truth) for c, truth in given if not any(c.same(known) for known in self._given)]
        drawn = self.drawn((cond, *(c for c, _ in assumed)))
        if drawn is None:
            return unknown
        keep, exact = _where(drawn.shown, assumed, drawn.at_shown)
        try:
            values, faults = with_faults(cond, drawn.shown, drawn.at_shown)
        except NoValueError:
            return unknown
        yes, no = (
            bool((keep & (faults == 0) & (values != 0 if truth else values == 0)).any()) for truth in (True, False)
        )
        if not exact or not self._exact or not _is_narrow(cond):
            return unknown
        if (yes and no) or bool((keep & (faults == UNDEFINED)).any()):
            return Open.DEPENDS, ()
        if drawn.every and yes != no and not (keep & (faults != 0)).any():
            return yes, (yes,)
        return Open.UNKNOWN, tuple(truth for truth, refuted in ((True, no), (False, yes)) if not refuted)

    def refines(self, new: Expr, old: Expr) -> bool | None:
        """Whether `new` has the value of `old` wherever that has one, and hides no fault; None where that is open."""
        drawn = self.drawn((old, new))
        if drawn is None or not self._exact or not _is_narrow(old) or not _is_narrow(new):
            return None
        try:
            (before, faults), (after, others) = (with_faults(e, drawn.shown, drawn.at_shown) for e in (old, new))
        except NoValueError:
            return None
        differs = (faults == 0) & ((others != 0) | (before != after))
        hidden = (faults == UNDEFINED) & (others & UNDEFINED == 0)
        if (differs | hidden).any():
            return False
        return True if drawn.every else None


def refuted(point: Mapping[Var, int], cond: Expr, truth: bool, given: Sequence[tuple[Expr, bool]]) -> bool:
    """Whether a condition certainly does not have a truth at a point, or no value, where the given ones have theirs."""
    fits = all(v.dtype is DType.BOOL or v.dtype.min <= n <= v.dtype.max for v, n in point.items())
    if not fits or max(map(abs, point.values()), default=0) > LARGE:
        return False
    if not all(map(_is_narrow, (cond, *(c for c, _ in given)))):
        return False
    points = {v: np.array([n], np.int64) for v, n in point.items()}
    try:
        value, faults = with_faults(cond, points)
        known = [(evaluated(c, points), wanted) for c, wanted in given]
    except NoValueError:
        return False
    if any(bad.any() or ((values != 0) != wanted).any() for (values, bad), wanted in known):
        return False
    return bool(np.all((faults == UNDEFINED) | ((faults == 0) & ((value != 0) != truth))))


def _is_narrow(expr: Expr) -> bool:
    """Whether 64 bits hold what operations on the values of an expression give."""
    return all(e.dtype.bits <= 32 for e in walk_expr(expr))


def _where(points: Points, given: Sequence[tuple[Expr, bool]], known: Values) -> tuple[Mask, bool]:
    """Which points have the truths given, and whether all of these could be looked at."""
    keep: Mask = np.ones(max(map(len, points.values())), bool)
    exact = True
    for cond, truth in given:
        exact = exact and _is_narrow(cond)
        try:
            values, bad = evaluated(cond, points, known)
        except NoValueError:
            exact = False
            continue
        keep &= ((values != 0) == truth) & ~bad
    return keep, exact


def _every(variables: Sequence[Var], given: Sequence[Expr], ranges: Mapping[str, Range]) -> Points | None:
    """All points that satisfy what is given; None where there may be too many."""
    lines: list[Array] = []
    count = 1
    for var in variables:
        low, high = ranges.get(var.name, (0, 1))
        least = var.dtype.min if low is None else max(low, var.dtype.min)
        most = var.dtype.max if high is None else min(high, var.dtype.max)
        count *= max(int(most) - int(least) + 1, 0)
        if not 0 < count <= _ALL or most > _LARGEST:
            return None
        lines.append(np.arange(least, most + 1, dtype=np.int64))
    grid = {v: x.reshape(-1) for v, x in zip(variables, np.meshgrid(*lines, indexing="ij"), strict=True)}
    kept = np.random.default_rng(0).permutation(np.flatnonzero(satisfying(grid, given)))  # some are looked at first
    return {v: x[kept] for v, x in grid.items()} if len(kept) else None
