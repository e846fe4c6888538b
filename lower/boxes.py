"""Static bounds of loops, and what must be known to name them."""

from __future__ import annotations

from collections.abc import Mapping

from ir.analysis.dependence import Loop
from ir.nodes import Var
from ir.traverse import free_vars, shape_vars
from lower.linear import Bound, linear
from lower.nest import (
    Box,
    extreme,
)
from lower.normalize import Program


def static_names(program: Program) -> frozenset[Var]:
    """Scalars that must be Python integers while tracing: those in shapes and loop bounds."""
    scalars = set(program.func.scalars)
    used: set[Var] = set()
    for statement in program.statements:
        for loop in statement.loops:
            used |= free_vars(loop.start) | free_vars(loop.extent)
    for buffer in (*program.func.buffers, *program.depth):
        for dim in buffer.shape:
            used |= free_vars(dim)
    named = {v for v in used if v in scalars and v.dtype.is_integer}
    return frozenset(named | set(shape_vars(program.func)))


def loop_boxes(program: Program, static: frozenset[Var], given: Mapping[Loop, Box] | None = None) -> dict[Loop, Box]:
    """Static bounds of every loop that has them, or for which they are `given`."""
    boxes: dict[Loop, Box] = dict(given or {})
    for statement in program.statements:
        around: dict[Var, Box] = {}
        for loop in statement.loops:
            if loop not in boxes:
                box = _box(loop, around, static, program)
                if box is not None:
                    boxes[loop] = box
            if loop in boxes:
                around[loop.var] = boxes[loop]
    return boxes


def _box(loop: Loop, around: Mapping[Var, Box], static: frozenset[Var], program: Program) -> Box | None:
    def ranges(var: Var) -> tuple[Bound, Bound]:
        return var_range(var, around, program)

    start = linear(loop.start, ranges)
    stop = start + linear(loop.extent, ranges)
    low = extreme(start, around, static, ranges, upper=False)
    high = extreme(stop, around, static, ranges, upper=True)
    if low is None or high is None:
        return None
    return Box(low, high - low, exact=low.equals(start) and high.equals(stop))


def var_range(var: Var, around: Mapping[Var, Box], program: Program) -> tuple[Bound, Bound]:
    """Constant bounds of a loop or shape variable."""
    box = around.get(var)
    if box is None:
        return (0, None) if var in shape_vars(program.func) else (None, None)
    low = box.low.const if box.low.is_const else None
    stop = box.low + box.extent
    return low, stop.const - 1 if stop.is_const else None
