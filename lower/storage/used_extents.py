"""Locals as large as what is used of them, such as those that were padded for a reader that needs no padding any more.

The bounds of what is accessed are inferred from the domains of statements, as for the regions of a pipeline's stages
(Ragan-Kelley et al., "Halide", 2013). What is never accessed then need not be filled.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from msgspec.structs import replace

from ir.analysis.dependence import Statement, domain
from ir.fold import folded
from ir.nodes import Binary, Buffer, Const, Expr, const
from ir.presburger import sets as pb
from ir.traverse import free_vars
from lower.analysis.freedoms import Form
from lower.nest.normalize import Program, read_by_bounds, relocate

USED_EXTENTS = Form(
    "structure.used_extents",
    "a local a of n elements  =  b of m < n, with a[i] as b[i - k]",
    "no access is to another element (bounds inference, Ragan-Kelley et al. 2013)",
)


def trimmed(program: Program) -> None:
    """Cut what nothing accesses off the ends of dimensions of locals, so that some statement fills all that is left."""
    fixed = read_by_bounds(program.statements)
    for local in [b for b in program.depth if b not in fixed]:
        users = [s for s in program.statements if local in s.buffers()]
        if users and all(s.tile is None for s in users):
            used = [_used(users, local, axis) for axis in range(len(local.shape))]
            _cut(program, local, used)


def _cut(program: Program, local: Buffer, used: Sequence[range | None]) -> None:
    """Let a local have the used elements of each dimension, or all of them where these are not known."""
    pairs = [*zip(local.shape, used, strict=True)]
    shape = tuple(n if part is None else const(len(part), n.dtype) for n, part in pairs)
    if shape == local.shape:
        return

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(_shifted(i, part.start if part else 0) for i, part in zip(indices, used, strict=True))

    new = replace(local, shape=shape)
    program.depth = {new if b == local else b: depth for b, depth in program.depth.items()}
    relocate(program, local, new, place)


def _shifted(index: Expr, by: int) -> Expr:
    return folded(Binary("sub", index, const(by, index.dtype))) if by else index


def _used(users: Sequence[Statement], local: Buffer, axis: int) -> range | None:
    """The elements of a dimension that are used; None where that is not known, or no statement fills them all."""
    extent = local.shape[axis]
    if not isinstance(extent, Const):
        return None
    parts = [_values(s, indices[axis]) for s in users for indices in s.places(local)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    least, end = max(min(part.start for part in known), 0), min(max(part.stop for part in known), int(extent.value))
    used = range(least, end)
    stored = [(s, s.store.indices[axis]) for s in users if s.buffer == local]
    return used if any(_is_steady(s, index) and _values(s, index) == used for s, index in stored) else None


def _is_steady(statement: Statement, index: Expr) -> bool:
    """Whether an index takes the same values in all iterations of the other loops.

    What takes more of them from step to step is stored in parts either way, and may be used with others of its size.
    """
    inside = free_vars(index)
    bounds = [e for loop in statement.loops if loop.var in inside for e in (loop.start, loop.extent)]
    return all(isinstance(e, Const) for e in bounds)


def _values(statement: Statement, index: Expr) -> range | None:
    """Between which numbers the values of an index in a statement lie; None if that is not known."""
    if isinstance(index, Const):
        return range(int(index.value), int(index.value) + 1)

    def ends() -> tuple[isl.Val, isl.Val] | None:
        form = pb.affine(index)
        if form is None:
            return None
        form = form.intersect_domain(domain(statement, {}))
        return form.min_val(), form.max_val()

    found = pb.within_budget(ends, None)
    if found is None or not all(end.is_int() for end in found):
        return None
    low, high = (end.to_python() for end in found)
    return range(low, high + 1)
