"""Sizes for which a function has empty arrays, or loops that never run.

JAX refuses to index what is empty, also where that is never done, in the body of a loop or under a condition. With
numbers for such sizes, nothing is written of loops that do not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ir.nodes import Alloc, Expr, For, PrimFunc, Var, const
from ir.traverse import free_vars, substitute_expr, walk
from lower.linear import linear


def has_empty(func: PrimFunc, sizes: Mapping[Var, int]) -> bool:
    """Whether an array or a loop of a function is empty for these sizes, as far as they alone decide."""
    values: Mapping[Var, Expr] = {v: const(n, v.dtype) for v, n in sizes.items()}
    for extent in _extents(func):
        names = free_vars(extent)
        form = linear(substitute_expr(extent, values)) if names and names <= sizes.keys() else None
        if form is not None and form.is_const and form.const <= 0:
            return True
    return False


def _extents(func: PrimFunc) -> Iterator[Expr]:
    for buffer in func.buffers:
        yield from buffer.shape
    for stmt in walk(func.body):
        if isinstance(stmt, Alloc):
            yield from stmt.buffer.shape
        elif isinstance(stmt, For):
            yield stmt.extent
