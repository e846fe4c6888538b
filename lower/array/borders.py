"""Indices that are kept inside of their dimension, by what an array would have to be padded with to do without that.

`jax.numpy.pad` repeats an array's borders, mirrors it, with or without its border, or goes on with its other end. Which
of these an index is, however it is written, is asked of isl: it is compared with the formula of each mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING

from msgspec import Struct

from ir.nodes import Binary, Const, Expr, Select, Unary, Var, const
from ir.presburger import sets as pb
from ir.traverse import children, free_vars, has_loads, walk_expr
from lower.analysis.linear_forms import Linear, number, to_expr
from lower.array.views import Axis

if TYPE_CHECKING:
    from lower.array.access import Bounds

ZEROS, EDGE, WRAP, REFLECT, SYMMETRIC = "constant", "edge", "wrap", "reflect", "symmetric"  # modes of `jnp.pad`
Inside = tuple[Expr, bool, bool]  # what an index is before it is kept inside, and at which ends it is
_LARGEST = 40  # nodes of an index that may be one of few cases


def insides(axes: Sequence[Axis]) -> dict[str, Callable[[Expr, Linear, Bounds], Inside]]:
    """Ways to keep an index inside of its dimension, by what a buffer is padded with for it."""
    return {
        EDGE: _unclamped,
        WRAP: partial(_unwrapped, axes=axes),
        REFLECT: partial(_turned_back, mode=REFLECT, axes=axes),
        SYMMETRIC: partial(_turned_back, mode=SYMMETRIC, axes=axes),
    }


class Section(Struct, frozen=True):
    """A part of a dimension, from `start` on, in which an `index` counts that is kept inside of it."""

    start: Linear
    size: Linear
    index: Expr


def sections(
    shape: Sequence[Linear], indices: Sequence[Expr], axes: Sequence[Axis], bounds: Bounds
) -> list[Section] | None:
    """The parts of dimensions within which indices are kept; None where all are whole."""
    parts = [_section(i, size, bounds, axes) for i, size in zip(indices, shape, strict=True)]
    whole = all(s.index is i and s.size.equals(n) for s, i, n in zip(parts, indices, shape, strict=True))
    return None if whole else parts


def _section(index: Expr, size: Linear, bounds: Bounds, axes: Sequence[Axis]) -> Section:
    """The part of a dimension within which an index along axes is kept: all of it, if no other is known."""
    whole = Section(number(0), size, index)
    names = {a.var for a in axes}
    moving, beside = index, number(0)
    while isinstance(moving, Binary) and moving.op in ("add", "sub"):
        moving, rest, sign = moving.lhs, moving.rhs, 1 if moving.op == "add" else -1
        if sign > 0 and free_vars(rest) & names:
            moving, rest = rest, moving
        beside += bounds.linear(rest) * sign
    if has_loads(index) or beside.vars() & names:
        return whole
    match moving:
        case Binary(op="floormod", rhs=Const(value=n)) if n > 0:
            found = Section(beside, number(int(n)), moving)
        case Binary(op="min" | "max") as kept:
            found = _between(kept, beside, size, bounds, names)
        case _:
            return whole
    inside = (
        bounds.at_least(found.start),
        bounds.at_least(size - found.start - found.size),
        bounds.at_least(found.size),
    )
    return found if all(n is not None and n >= least for n, least in zip(inside, (0, 0, 1), strict=True)) else whole


def _between(index: Binary, beside: Linear, size: Linear, bounds: Bounds, names: set[Var]) -> Section:
    """The part of a dimension between the ends to which an index is clamped, to which something is added."""
    ends: dict[str, Linear] = {}
    inner: Expr = index
    while isinstance(inner, Binary) and inner.op in ("min", "max") and inner.op not in ends:
        found = [(a, b) for a, b in ((inner.lhs, inner.rhs), (inner.rhs, inner.lhs)) if not free_vars(b) & names]
        if not found:
            break
        ends[inner.op], inner = bounds.linear(found[0][1]), found[0][0]
    start = beside + ends["max"] if "max" in ends else number(0)
    stop = beside + ends["min"] + 1 if "min" in ends else size
    clamped = to_expr(bounds.linear(inner) + beside - start, inner)
    if "max" in ends:
        clamped = Binary("max", clamped, const(0, index.dtype))
    if "min" in ends:
        clamped = Binary("min", clamped, to_expr(stop - start - 1, inner))
    return Section(start, stop - start, clamped)


def _unclamped(index: Expr, size: Linear, bounds: Bounds) -> Inside:
    """What an index is before it is clamped to its dimension, and at which ends it is."""
    low = high = False
    while isinstance(index, Binary) and index.op in ("min", "max"):
        bound, is_low = (number(0), True) if index.op == "max" else (size - 1, False)
        found = [e for e, end in ((index.lhs, index.rhs), (index.rhs, index.lhs)) if bounds.linear(end).equals(bound)]
        if not found or (low if is_low else high):
            break
        low, high, index = low or is_low, high or not is_low, found[0]
    return index, low, high


def _unwrapped(index: Expr, size: Linear, bounds: Bounds, axes: Sequence[Axis]) -> Inside:
    """What an index along axes is before its rest by the size of its dimension is taken, about the dimension."""
    match index:
        case Binary(op="floormod", lhs=inner, rhs=Const(value=n)) if n > 0 and size.equals(int(n)):
            form = bounds.linear(inner)
            low, high = bounds.at_least(form), bounds.at_most(form)
            if low is None or high is None or 2 * (high - low) >= 3 * int(n) or not form.vars() & {a.var for a in axes}:
                return index, False, False  # what goes round more often is an array repeated
            times = (low + high + 1) // (2 * int(n))  # as near to the middle of the dimension as may be
            return to_expr(form - times * int(n), inner), True, True
        case _:
            return _turned_back(index, size, bounds, WRAP, axes)


def _turned_back(index: Expr, size: Linear, bounds: Bounds, mode: str, axes: Sequence[Axis]) -> Inside:
    """What an index of several cases is where it needs not be kept inside, if it is kept so in a mode."""
    if size.is_const and isinstance(index, (Select, Binary, Unary)) and _has_cases(index):
        spans = _spans(index, bounds)
        for case in _cases(index, size, bounds, {a.var for a in axes}):
            if _is_equal(index, _kept(case, const(size.const, index.dtype), mode), spans):
                return case, True, True
    return index, False, False


@lru_cache(maxsize=4096)
def _has_cases(index: Expr) -> bool:
    nodes = list(walk_expr(index))
    decides = any(isinstance(e, Select) or (isinstance(e, Unary) and e.op == "abs") for e in nodes)
    return decides and len(nodes) <= _LARGEST and not has_loads(index)


_Spans = tuple[tuple[Var, Expr, Expr], ...]  # variables, from where on, and how many values


def _spans(index: Expr, bounds: Bounds) -> _Spans:
    boxes = ((v, bounds.boxes[v]) for v in sorted(free_vars(index), key=str) if v in bounds.boxes)
    return tuple((v, to_expr(box.low, v), to_expr(box.extent, v)) for v, box in boxes)


@lru_cache(maxsize=4096)
def _is_equal(index: Expr, other: Expr, spans: _Spans) -> bool:
    """Whether two indices are equal for all values of their variables."""

    def never_differ() -> bool:
        differ = pb.condition(Binary("ne", index, other)).may
        return reduce(lambda left, span: left.intersect(pb.loop_domain(*span).may), spans, differ).is_empty()

    return pb.within_budget(never_differ, False)


def _cases(index: Expr, size: Linear, bounds: Bounds, axes: set[Var]) -> list[Expr]:
    """Sums of multiples of variables among which an index chooses, those first that rise."""
    found: list[Linear] = []
    for value in _values(index):
        form = bounds.linear(value)
        if form.vars() & axes and all(isinstance(term, Var) for term in form.terms):
            found += [form, size - 1 - form]
    rising = sorted(found, key=lambda form: sum(c < 0 for c in form.terms.values()))
    return list(dict.fromkeys(to_expr(form, Const(0, index.dtype)) for form in rising))


def _values(index: Expr) -> Iterator[Expr]:
    """Parts of an index that it may be made of."""
    match index:
        case Select(then=then, other=other):
            parts: tuple[Expr, ...] = (then, other)
        case _:
            yield index
            parts = children(index)
    for part in parts:
        yield from _values(part)


def _kept(index: Expr, size: Const, mode: str) -> Expr:
    """An index kept inside of a dimension, up to one size beyond either end."""
    last, zero = Binary("sub", size, const(1, index.dtype)), const(0, index.dtype)
    match mode:
        case "reflect":
            below, above = Binary("sub", zero, index), Binary("sub", Binary("add", last, last), index)
        case "symmetric":
            below = Binary("sub", const(-1, index.dtype), index)
            above = Binary("sub", Binary("add", last, size), index)
        case _:
            below, above = Binary("add", index, size), Binary("sub", index, size)
    inside = Select(Binary("gt", index, last), above, index)
    return Select(Binary("lt", index, zero), below, inside)
