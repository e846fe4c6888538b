"""Sizes for which a function has empty arrays, or loops that never run.

JAX refuses to index what is empty, also where that is never done, in the body of a loop or under a condition. With
numbers for such sizes, nothing is written of loops that do not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import numpy as np
from msgspec.structs import replace

from ir.errors import InterpretError
from ir.nodes import Alloc, Assert, Assume, Buffer, Expr, For, PrimFunc, Seq, Var, const
from ir.program.blocks import lower_blocks
from ir.semantics.machine import Machine
from ir.traverse import free_vars, has_loads, walk, with_buffers
from lower.analysis.linear_forms import linear


def has_empty(func: PrimFunc, extents: Iterable[Expr], sizes: Mapping[Var, int]) -> bool:
    """Whether an array or a loop of a function, or one of the `extents`, is empty for these sizes.

    Only what they alone decide counts.
    """
    machine = _knowing(sizes)
    for extent in (*_extents(func), *extents):
        names = free_vars(extent)
        if names and names <= sizes.keys() and not has_loads(extent):
            with suppress(InterpretError):
                if machine.integer(extent, "the extent") <= 0:
                    return True
    return False


def broken(func: PrimFunc, sizes: Mapping[Var, int]) -> Iterator[Assert | Assume]:
    """The statements of a function that claim of sizes alone what is false for these ones."""
    machine = _knowing(sizes)
    body = lower_blocks(func).body
    for stmt in body.stmts if isinstance(body, Seq) else (body,):
        if isinstance(stmt, Assert | Assume) and free_vars(stmt.cond) <= sizes.keys() and not has_loads(stmt.cond):
            with suppress(InterpretError):
                if not machine.holds(stmt.cond):
                    yield stmt


def _knowing(sizes: Mapping[Var, int]) -> Machine:
    """An interpreter that knows sizes."""
    return Machine(False, np.random.default_rng(0), scalars=dict(sizes))


def with_extents(func: PrimFunc) -> PrimFunc:
    """A function without names in its shapes, with numbers for them that are not negative: such an array is empty."""
    return func.with_origin(_with_extents)


def _with_extents(func: PrimFunc) -> PrimFunc:
    def extent(dim: Expr) -> Expr:
        form = linear(dim)
        return const(max(form.const, 0), dim.dtype) if form.is_const else dim

    def buffer(b: Buffer) -> Buffer:
        return replace(b, shape=tuple(map(extent, b.shape)))

    return with_buffers(func, buffer)


def _extents(func: PrimFunc) -> Iterator[Expr]:
    for buffer in func.buffers:
        yield from buffer.shape
    for stmt in walk(func.body):
        if isinstance(stmt, Alloc):
            yield from stmt.buffer.shape
        elif isinstance(stmt, For):
            yield stmt.extent
