"""Sizes for which a function has empty arrays, or loops that never run.

JAX refuses to index what is empty, also where that is never done, in the body of a loop or under a condition. With
numbers for such sizes, nothing is written of loops that do not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ir.fold import folded
from ir.nodes import Alloc, Buffer, Expr, For, Load, PrimFunc, Var, const
from ir.traverse import free_vars, map_expr, map_stmt, substitute_expr, walk
from lower.analysis.linear_forms import linear


def has_empty(func: PrimFunc, extents: Iterable[Expr], sizes: Mapping[Var, int]) -> bool:
    """Whether an array or a loop of a function, or one of the `extents`, is empty for these sizes.

    Only what they alone decide counts.
    """
    values: Mapping[Var, Expr] = {v: const(n, v.dtype) for v, n in sizes.items()}
    for extent in (*_extents(func), *extents):
        names = free_vars(extent)
        if names and names <= sizes.keys():
            length = linear(folded(substitute_expr(extent, values)))
            if length.is_const and length.const <= 0:
                return True
    return False


def with_extents(func: PrimFunc) -> PrimFunc:
    """A function without names in its shapes, with numbers for them that are not negative: such an array is empty."""
    return func.with_origin(_with_extents)


def _with_extents(func: PrimFunc) -> PrimFunc:
    def extent(dim: Expr) -> Expr:
        form = linear(dim)
        return const(max(form.const, 0), dim.dtype) if form.is_const else dim

    def buffer(b: Buffer) -> Buffer:
        return replace(b, shape=tuple(map(extent, b.shape)))

    def expr(e: Expr) -> Expr:
        return map_expr(e, lambda part: replace(part, buffer=buffer(part.buffer)) if isinstance(part, Load) else part)

    params = tuple(buffer(p) if isinstance(p, Buffer) else p for p in func.params)
    return replace(func, params=params, body=map_stmt(func.body, expr, on_buffer=buffer))


def _extents(func: PrimFunc) -> Iterator[Expr]:
    for buffer in func.buffers:
        yield from buffer.shape
    for stmt in walk(func.body):
        if isinstance(stmt, Alloc):
            yield from stmt.buffer.shape
        elif isinstance(stmt, For):
            yield stmt.extent
