"""Static bounds of loops, and what must be known to name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Expr, Var, const
from ir.presburger import sets as presburger
from ir.traverse import ANY_STEPS, free_vars, shape_vars
from lower.analysis.linear_forms import AT_MOST_ZERO, Bound, linear, number
from lower.nest.nodes import (
    Box,
    extreme,
)
from lower.nest.normalize import Program


def static_names(program: Program) -> frozenset[Var]:
    """Scalars that must be Python integers while tracing: those in shapes and loop bounds."""
    scalars = set(program.func.scalars)
    used: set[Var] = set()
    for statement in program.statements:
        for loop in statement.loops:
            used |= free_vars(loop.start, loop.extent)
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
                    box = _tight(box, statement.loops[: statement.loops.index(loop) + 1])
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
    extent = high - low
    if extent.is_const and extent.const == ANY_STEPS:  # no array has such an axis
        return None
    return Box(low, high - low, exact=low.equals(start) and high.equals(stop))


def trimmed(statements: list[Statement], level: int, boxes: dict[Loop, Box]) -> list[Statement]:
    """Statements with the loop at a level from where to where their guards let one of them run, which `boxes` then has.

    Distribution leaves guards that were there for the sake of others: of `for j: A; if j > 0: B` the loop of B has a
    first iteration that does nothing (index-set splitting, with the empty part left out).
    """
    loop = statements[0].loops[level]
    box = boxes.get(loop)
    if box is None or not box.is_known or any(s.tile is not None for s in statements):
        return statements
    whole = box.low.const, box.low.const + box.extent.const
    ends = [_within_guards(s, loop.var, whole) for s in statements]
    low, stop = min(a for a, _ in ends), max(b for _, b in ends)
    if (low, stop) == whole or low >= stop:
        return statements
    dtype = loop.var.dtype
    short = replace(loop, start=const(low, dtype), extent=const(stop - low, dtype))
    boxes[short] = Box(number(low), number(stop - low), exact=True)
    found: list[Statement] = []
    for s in statements:
        left = tuple(g for g in s.guards if _ends(g, loop.var, (low, stop)) != (low, stop))
        found.append(replace(s, loops=(*s.loops[:level], short, *s.loops[level + 1 :]), guards=left))
    return found


def _within_guards(statement: Statement, var: Var, ends: tuple[int, int]) -> tuple[int, int]:
    for guard in statement.guards:
        ends = _ends(guard, var, ends) or ends
    return ends


def _ends(guard: Expr, var: Var, ends: tuple[int, int]) -> tuple[int, int] | None:
    """From where to where a variable between some ends fulfils a condition on it alone; None for another condition."""
    if not (isinstance(guard, Binary) and guard.op in AT_MOST_ZERO and guard.lhs.dtype.is_integer):
        return None
    difference = linear(guard.lhs) - linear(guard.rhs)
    if difference.terms.keys() != {var}:
        return None
    low, stop = ends
    for sign, more in AT_MOST_ZERO[guard.op]:  # c * var + rest <= 0
        c, rest = sign * difference.terms[var], sign * difference.const + more
        low, stop = (low, min(stop, -rest // c + 1)) if c > 0 else (max(low, -(-rest // -c)), stop)
    return low, stop


def _tight(box: Box, loops: Sequence[Loop]) -> Box:
    """The box of the last of nested loops, from all of their bounds at once where one has a quotient or a rest.

    In `2 - i % 2` the parts `i` and `i // 2` vary together, which bounds of each alone do not tell.
    """
    loop, low, stop = loops[-1], box.low, box.low + box.extent
    forms = linear(loop.start), linear(loop.extent)
    parts = any(isinstance(e, Binary) and e.op in ("floordiv", "floormod") for form in forms for e in form.terms)
    names = {o.var.name for o in loops}
    if not (parts and low.is_const and stop.is_const) or len(names) < len(loops):
        return box
    around = [Loop(loop.var, const(low.const, loop.var.dtype), const(box.extent.const, loop.var.dtype)), *loops]
    region = presburger.within_loops(presburger.always(), around)
    found = presburger.within_budget(lambda: presburger.extremes(region, loop.var.name), None)
    if found is None:
        return box
    return Box(number(found[0]), number(found[1] + 1 - found[0]), exact=False)


def var_range(var: Var, around: Mapping[Var, Box], program: Program) -> tuple[Bound, Bound]:
    """Constant bounds of a loop or shape variable."""
    box = around.get(var)
    if box is None:
        return (0, None) if var in shape_vars(program.func) else (None, None)
    low = box.low.const if box.low.is_const else None
    stop = box.low + box.extent
    return low, stop.const - 1 if stop.is_const else None
