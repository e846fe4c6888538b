"""Axes that end short of the arrays they index, because a guard allows nothing in the rest, take the whole arrays.

Triangular loops leave out a first or last row. A slice of an operand is a copy, and so is a store to a part; the guard
is worked out anyway, and hides what the whole axis reads besides.
"""

from __future__ import annotations

from dataclasses import replace

from ir.traverse import free_vars
from lower.access import Bounds
from lower.job import Job, accesses, verdict
from lower.linear import Linear, atom, number
from lower.views import Axis

_PART = 16  # an axis may grow by its own size over this number


def widened(job: Job, around: Bounds) -> Job:
    """The job with axes that run through whole dimensions, where they almost do and its guards hide the rest."""
    for axis in job.axes:
        size = _dimension(job, axis, around.with_axes(job.axes))
        if size is None:
            continue
        rest = (
            Axis(axis.var, number(0), axis.low),
            Axis(axis.var, axis.low + axis.extent, size - axis.low - axis.extent),
        )
        added = size - axis.extent
        few = added.is_const and axis.extent.is_const and 0 < added.const * _PART <= axis.extent.const
        if few and all(r.extent.equals(0) or _hidden(job, r, around) for r in rest):
            job = job.with_axis(axis, replace(axis, low=number(0), extent=size))
    return job


def _dimension(job: Job, axis: Axis, bounds: Bounds) -> Linear | None:
    """The size of all dimensions that an axis indexes, if it does so alone and they have the same."""
    found: Linear | None = None
    for buffer, indices in accesses(job):
        for index, extent in zip(indices, buffer.shape, strict=True):
            if axis.var in free_vars(index):
                size = bounds.linear(extent)
                if not bounds.linear(index).equals(atom(axis.var)) or (found is not None and not found.equals(size)):
                    return None
                found = size
    return found


def _hidden(job: Job, rest: Axis, around: Bounds) -> bool:
    """Whether a guard holds nowhere on a part of an axis."""
    bounds = around.with_axes([rest if a.var == rest.var else a for a in job.axes])
    return rest.extent.is_const and rest.extent.const > 0 and any(verdict(g, bounds) is False for g in job.guards)
