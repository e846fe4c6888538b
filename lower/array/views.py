"""How an affine access looks at an array: merged dimensions, slices with strides, split blocks, reversed axes.

A buffer access over some array axes is a *view* when each dimension (or each run of adjacent dimensions, merged by a
reshape) is indexed by a mixed-radix form of its axes: `A[4*io + ii]` with ii < 4 is a slice reshaped to (.., 4),
`A[i // 4, i % 4]` a slice of the flattened array. What is no view becomes a gather or scatter elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from ir.nodes import Var
from ir.traverse import free_vars
from lower.analysis.linear_forms import Linear, number


class Axis(Struct, frozen=True, eq=False):
    """An array axis that stands for a loop: position p holds the iteration `low + p`, for p < extent."""

    var: Var
    low: Linear
    extent: Linear

    @property
    def is_fixed(self) -> bool:
        """Whether it is known as numbers which iterations it stands for."""
        return self.low.is_const and self.extent.is_const


class Group(Struct, frozen=True):
    """One or more adjacent dimensions of a buffer, merged to one of `size`, and what is taken from them.

    Positions are `start + sum(coefs[k] * p_k)` for the positions p_k of `axes`, outermost (largest coefficient) first;
    `flipped[k]` says that axis k runs backward. A part of a dimension that was cut into several has 0 `dims`.
    """

    dims: int
    size: Linear
    start: Linear
    axes: tuple[Axis, ...] = ()
    coefs: tuple[int, ...] = ()
    flipped: tuple[bool, ...] = ()

    @property
    def step(self) -> int:
        return self.coefs[-1] if self.coefs else 1

    @property
    def span(self) -> Linear:
        """How many positions a slice covers, from its start to the last one that is used or padded by the split."""
        if not self.axes:
            return number(1)
        if len(self.axes) == 1:
            return (self.axes[0].extent - 1) * self.coefs[0] + 1
        return self.axes[0].extent * self.coefs[0]

    @property
    def blocks(self) -> tuple[int, ...]:
        """Sizes of the dimensions after the first when the slice is split for its axes."""
        return tuple(a // b for a, b in zip(self.coefs, self.coefs[1:], strict=False))

    @property
    def dense(self) -> bool:
        """Whether the axes inside are as long as their blocks: between them no positions are left out."""
        return all(a.extent.equals(b) for a, b in zip(self.axes[1:], self.blocks, strict=False))


def split_terms(form: Linear, axes: Sequence[Axis]) -> tuple[list[tuple[Axis, int]], Linear] | None:
    """(axis, coefficient) pairs and the rest of an index; None when an axis occurs inside another atom."""
    by_var = {a.var: a for a in axes}
    terms: list[tuple[Axis, int]] = []
    for atom, c in form.terms.items():
        if isinstance(atom, Var) and atom in by_var:
            terms.append((by_var[atom], c))
        elif any(v in by_var for v in free_vars(atom)):
            return None
    return terms, form.without(axis.var for axis, _ in terms)


def group(dims: int, size: Linear, form: Linear, axes: Sequence[Axis]) -> Group | None:
    """The mixed-radix reading of one index, or None when there is none."""
    parts = split_terms(form, axes)
    if parts is None:
        return None
    terms, start = parts
    terms.sort(key=lambda t: -abs(t[1]))
    flipped: list[bool] = []
    for axis, c in terms:
        first = axis.low if c > 0 else axis.low + axis.extent - 1
        start = start + first * c
        flipped.append(c < 0)
    coefs = tuple(abs(c) for _, c in terms)
    for (axis, _), outer, inner in zip(terms[1:], coefs, coefs[1:], strict=False):
        if outer % inner or not axis.extent.is_const or axis.extent.const * inner > outer:
            return None
    return Group(dims, size, start, tuple(a for a, _ in terms), coefs, tuple(flipped))


def groups(shape: Sequence[Linear], indices: Sequence[Linear], axes: Sequence[Axis]) -> list[Group] | None:
    """Read a whole access as a view; adjacent dimensions are merged where one alone is no view."""
    result: list[Group] = []
    d = 0
    while d < len(shape):
        form, size, dims = indices[d], shape[d], 1
        found = group(1, size, form, axes)
        while found is None and d + dims < len(shape):
            inner = shape[d + dims]
            if not inner.is_const:
                return None
            form = form * inner.const + indices[d + dims]
            size = size * inner.const
            dims += 1
            found = group(dims, size, form, axes)
        if found is None:
            return None
        result.append(found)
        d += dims
    used = [axis.var for g in result for axis in g.axes]
    return result if len(used) == len(set(used)) else None


def in_blocks(view: Sequence[Group]) -> list[Group] | None:
    """The same with dimensions cut where axes take parts of blocks: `X[16 * b + 8 + k]`, k < 8, is `[:, 8:16]` of X in
    rows of 16, and `X[2 * i + 1]` a column of X in pairs. None if no dimension needs it, or one cannot be cut."""
    cut: list[Group] = []
    for g in view:
        parts = _cut(g) if g.axes and (g.step > 1 or not g.dense) else [g]
        if parts is None:
            return None
        cut += parts
    return cut if len(cut) > len(view) else None


def _cut(g: Group) -> list[Group] | None:
    """A dimension of which axes take parts of blocks as one for each axis, and one for the step."""
    if not (g.size.is_const and g.start.is_const) or g.size.const % g.coefs[0]:
        return None
    radices = [g.size.const // g.coefs[0], *g.blocks, *([g.step] if g.step > 1 else [])]
    strides = [*g.coefs, *([1] if g.step > 1 else [])]
    parts: list[Group] = []
    rest = g.start.const
    for k, (radix, stride) in enumerate(zip(radices, strides, strict=True)):
        first, rest = divmod(rest, stride)
        if k == len(g.axes):
            parts.append(Group(0, number(radix), number(first)))
            continue
        extent = g.axes[k].extent
        if not extent.is_const or first < 0 or first + extent.const > radix:
            return None
        parts.append(Group(0, number(radix), number(first), (g.axes[k],), (1,), (g.flipped[k],)))
    return parts


def contiguous(view: Iterable[Group]) -> bool:
    """Whether a view takes whole dimensions, in order."""
    return all(g.start.equals(0) and g.span.equals(g.size) and not any(g.flipped) for g in view)


Prover = Callable[[Linear], int | None]


def overhang(g: Group, at_least: Prover, at_most: Prover) -> tuple[int, int] | None:
    """How far a slice may leave its dimension, before and after; None when that is not known."""
    before = at_least(g.start)
    after = at_most(g.start + g.span - g.size)
    if before is None or after is None:
        return None
    return max(0, -before), max(0, after)
