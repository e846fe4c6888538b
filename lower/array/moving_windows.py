"""Windows of an array that begin where data say, one for each position of some axes: gathered whole.

`X[b, first[b] + t, d]` takes for each b a block of rows. Element by element it needs an index for each of them. All of
a window must lie inside: one that does not is moved, and elements that the program reads with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ir.nodes import Var
from ir.traverse import free_vars
from lower.analysis.linear_forms import Linear
from lower.array.views import Axis

WINDOWS_AT = '''
def windows_at(x, sizes, single, *starts):
    """Windows of x, one for each position of the arrays of starts, without the dimensions of x that are `single`."""
    at = jnp.stack(jnp.broadcast_arrays(*starts), axis=-1)
    first = at.ndim - 1
    kept = tuple(range(first, first + len(sizes) - len(single)))
    dimensions = lax.GatherDimensionNumbers(kept, tuple(single), tuple(range(x.ndim)))
    return lax.gather(x, at, dimensions, sizes, mode="clip")
'''


class MovingWindow(Struct, frozen=True):
    """The windows of an access: where they begin in each dimension, and the axis that runs through it, if one does."""

    starts: tuple[Linear, ...]
    axes: tuple[Axis | None, ...]


def moving_window(forms: Sequence[Linear], axes: Sequence[Axis]) -> MovingWindow | None:
    """An access as windows that begin at other places for each position of other axes; None if it is none."""
    taken = [free_vars(*form.terms) for form in forms]
    along: list[Axis | None] = []
    for d, form in enumerate(forms):
        others = {v for k, names in enumerate(taken) if k != d for v in names}
        inner = {v for atom in form.terms if not isinstance(atom, Var) for v in free_vars(atom)}
        runs = [a for a in axes if form.terms.get(a.var) == 1 and a.var not in others | inner]
        along.append(runs[0] if len(runs) == 1 and runs[0].extent.is_const else None)
    starts = tuple(
        form if axis is None else form.without([axis.var]) + axis.low for form, axis in zip(forms, along, strict=True)
    )
    moved = any(
        axis is not None and any(a.var in names - {axis.var} for a in axes)
        for names, axis in zip(taken, along, strict=True)
    )
    return MovingWindow(starts, tuple(along)) if moved else None
