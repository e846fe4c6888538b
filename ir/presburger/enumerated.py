"""Which loops carry a dependence between accesses at places that are no affine functions, by all places that there are.

What packs a triangle into a row stores at `i * (i + 1) // 2 + j`, what sieves at `i * j`: isl knows no products of
variables, but where loops have known ends and no data says which element, the places are so many numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from ir.nodes import Expr, Var
from ir.presburger.distances import Levels, Ranged
from ir.presburger.points import Array, Mask, NoValueError, Points, evaluated, has_values

MOST = 1 << 21  # instances that are enumerated
_WIDEST = 1 << 62  # places are numbered in 64 bits


class Nest(Protocol):
    """The loops around an access, and the conditions under which it runs."""

    @property
    def loops(self) -> Sequence[Ranged]: ...
    @property
    def guards(self) -> Sequence[Expr]: ...


class _Accesses(Struct, frozen=True):
    """Each instance of an access: the element, and the iterations of the loops that it shares with the other one."""

    places: Array  # (dimension, instance)
    shared: Array  # (loop, instance)


def carried_by_all(first: Nest, second: Nest, a: Sequence[Expr], b: Sequence[Expr], shared: int) -> Levels | None:
    """Of instances in the nests `first` and `second` that meet, by indices `a` and `b`: whether that of `first` runs
    first, and the outermost of the `shared` loops in which they differ, None for none.

    None if there are too many, or loops or all indices depend on data. Conditions on data are taken to hold.
    """
    dims = [d for d, pair in enumerate(zip(a, b, strict=True)) if all(map(has_values, pair))]
    one = _accesses(first, [a[d] for d in dims], shared) if dims else None
    same = first is second and all(a[d].same(b[d]) for d in dims)
    other = one if same else _accesses(second, [b[d] for d in dims], shared) if dims else None
    if one is None or other is None:
        return None
    places = _numbered(np.concatenate([one.places, other.places], 1))
    if places is None:
        return None
    if same and len(np.unique(places)) == one.places.shape[1]:
        return [(True, None)] if len(places) else []
    return _levels(places, np.concatenate([one.shared, other.shared], 1), one.places.shape[1])


def _accesses(nest: Nest, indices: Sequence[Expr], shared: int) -> _Accesses | None:
    points = instances(nest.loops, nest.guards)
    if points is None:
        return None
    count = len(next(iter(points.values())))
    found = [values for index in indices if (values := values_at(index, points, count)) is not None]
    if len(found) < len(indices):
        return None
    empty = np.zeros((0, count), np.int64)
    return _Accesses(np.stack(found), np.stack([points[o.var] for o in nest.loops[:shared]]) if shared else empty)


def instances(loops: Sequence[Ranged], guards: Sequence[Expr]) -> Points | None:
    """The variables of all loops in each iteration, from the first to the last; None if there are too many."""
    points: dict[Var, Array] = {}
    count = 1
    for loop in loops:
        ends = [values_at(e, points, count) for e in (loop.start, loop.extent)]
        if ends[0] is None or ends[1] is None:
            return None
        start, extent = ends[0], np.maximum(ends[1], 0)
        count = int(extent.sum())
        if count > MOST:
            return None
        outer = np.repeat(np.arange(len(extent)), extent)
        step = np.arange(count) - np.repeat(np.cumsum(extent) - extent, extent)
        points = {v: x[outer] for v, x in points.items()}
        points[loop.var] = start[outer] + step
    return _chosen(points, guards, count) if points else None


def values_at(expr: Expr, points: Points, count: int) -> Array | None:
    """The values of an expression; None if it depends on more than the points, or may fault."""
    try:
        values, bad = evaluated(expr, points)
    except (NoValueError, KeyError):
        return None
    return None if bad.any() else np.broadcast_to(values, (count,))


def _chosen(points: Points, guards: Sequence[Expr], count: int) -> Points:
    """The points at which conditions hold, or fail to have a value."""
    keep: Mask = np.ones(count, bool)
    for guard in guards:
        try:
            truth, bad = evaluated(guard, points)
        except (NoValueError, KeyError):
            continue
        keep &= (truth != 0) | bad
    return points if keep.all() else {v: x[keep] for v, x in points.items()}


def _numbered(places: Array) -> Array | None:
    """A number for each place."""
    low, high = places.min(1, initial=0), places.max(1, initial=0)
    span = high - low + 1
    if float(np.prod(span.astype(float))) >= _WIDEST:
        return None
    number = np.zeros(places.shape[1], np.int64)
    for row, least, wide in zip(places, low, span, strict=True):
        number = number * wide + (row - least)
    return number


def _levels(place: Array, iterations: Array, split: int) -> Levels:
    """Which loops carry dependences: among instances that are alike in the place and in all outer loops, one side runs
    before the other where its least iteration is less than the greatest of the other. The first `split` are one side.
    """
    found: Levels = []
    rest, alike = np.arange(len(place)), place
    for k, steps in enumerate(iterations):
        group, step, ours = np.unique(alike, return_inverse=True)[1], steps[rest], rest < split
        count = int(group.max(initial=-1)) + 1
        (low, high), (least, most) = (_extremes(group[side], step[side], count) for side in (ours, ~ours))
        found += [(forward, k) for forward, meets in ((True, low < most), (False, high > least)) if meets.any()]
        both = ((low <= high) & (least <= most))[group]
        rest, alike = rest[both], (group * (np.ptp(step) + 1 if len(step) else 1) + step)[both]
    ours = rest < split
    return [*found, (True, None)] if np.isin(alike[ours], alike[~ours]).any() else found


def _extremes(group: Array, values: Array, count: int) -> tuple[Array, Array]:
    """The least and the greatest of the values of each group, such that groups without any meet nothing."""
    least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(least, group, values)
    np.maximum.at(most, group, values)
    return least, most
