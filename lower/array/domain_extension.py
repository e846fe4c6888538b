"""Axes that end short of the arrays they index, because a guard allows nothing in the rest, take the whole arrays.

Triangular loops leave out a first or last row. A slice of an operand is a copy, and so is a store to a part; the guard
is worked out anyway, and hides what the whole axis reads besides.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ir.traverse import free_vars
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, number
from lower.array.access import Bounds
from lower.array.job import Job, accesses, verdict
from lower.array.views import Axis

EXTENSION = Form(
    "values.domain_extension",
    "a statement over a part of a dimension, under a mask  =  over all of it",
    "the mask hides what is read besides",
)

_PART = 16  # an axis may grow by its own size over this number


def widened(job: Job, around: Bounds) -> Job:
    """The job with axes that run through whole dimensions, where they almost do and its guards hide the rest."""
    for axis in job.axes:
        before = around.with_axes(job.axes)
        size = _dimension(job, axis, before)
        if size is None:
            continue
        rest = (
            Axis(axis.var, number(0), axis.low),
            Axis(axis.var, axis.low + axis.extent, size - axis.low - axis.extent),
        )
        added = size - axis.extent
        few = added.is_const and axis.extent.is_const and 0 < added.const * _PART <= axis.extent.const
        if few and all(r.extent.equals(0) or _hidden(job, r, around) for r in rest):
            wide = job.with_axis(axis, replace(axis, low=number(0), extent=size))
            if not _leaves(job, axis, around.with_axes(wide.axes)) or _leaves(job, axis, before):
                job = wide
    return job


def _dimension(job: Job, axis: Axis, bounds: Bounds) -> Linear | None:
    """The least size of the dimensions that an axis indexes alone: it may be a part of others, as of a local."""
    found: Linear | None = None
    for index, size in _indices(job, axis, bounds):
        if index.equals(atom(axis.var)):
            if found is None or (size.is_const and found.is_const and size.const < found.const):
                found = size
            elif not (size.is_const and found.is_const) and not size.equals(found):
                return None
    return found


def _leaves(job: Job, axis: Axis, bounds: Bounds) -> bool:
    """Whether indices that an axis is a part of may lie outside of their dimensions, so that reads are padded."""
    for index, size in _indices(job, axis, bounds):
        low, high = bounds.at_least(index), bounds.at_least(size - index)
        if not index.equals(atom(axis.var)) and (low is None or high is None or low < 0 or high <= 0):
            return True
    return False


def _indices(job: Job, axis: Axis, bounds: Bounds) -> Iterator[tuple[Linear, Linear]]:
    """Indices that an axis is a part of, each with the size of its dimension."""
    for buffer, indices in accesses(job):
        for index, extent in zip(indices, buffer.shape, strict=True):
            if axis.var in free_vars(index):
                yield bounds.linear(index), bounds.linear(extent)


def _hidden(job: Job, rest: Axis, around: Bounds) -> bool:
    """Whether a guard holds nowhere on a part of an axis."""
    bounds = around.with_axes([rest if a.var == rest.var else a for a in job.axes])
    return rest.extent.is_const and rest.extent.const > 0 and any(verdict(g, bounds) is False for g in job.guards)
