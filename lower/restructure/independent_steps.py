"""Loops whose steps wait for others only if these are some steps before, as echoes of a signal do for their delay.

`X[t] = f(X[t - d])` may take d steps at once: the loop is strip-mined by the least distance of its dependences, and the
inner loop is an axis (Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 5.9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, relations
from ir.nodes import Expr, Var
from ir.presburger import sets as presburger
from ir.traverse import free_vars, substitute_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, to_expr
from lower.nest.nodes import Box, Fresh, loop_over
from lower.nest.normalize import mapped

INDEPENDENT_STEPS = Form(
    "structure.independent_steps",
    "for t in n: X[t] = f(X[t - d])  =  for b in n / d: for r in d, at once: X[d * b + r] = f(X[d * b + r - d])",
    "no step waits for one of the d - 1 before it",
)

LEAST = 8  # steps at once that are worth it


def width_of_strips(group: Sequence[Statement], level: int, boxes: Mapping[Loop, Box]) -> int | None:
    """How many steps of a group's loop at a level may not wait for each other, by its linear places; None if few."""
    loop = group[0].loops[level]
    box = boxes.get(loop)
    inner = {o for s in group for o in s.loops[level + 1 :]}
    if box is None or not box.exact or not (box.low.is_const and box.extent.is_const):
        return None
    if any(loop.var in free_vars(o.start, o.extent) for o in inner):
        return None
    width = _least_distance(group, loop.var)
    return width if width is not None and LEAST <= width < box.extent.const else None


def in_strips_of(
    width: int, group: Sequence[Statement], level: int, boxes: dict[Loop, Box], new: Fresh
) -> list[Statement] | None:
    """A group over a loop through strips of so many steps, and one through a strip; None if some of these wait."""
    var = group[0].loops[level].var
    if not presburger.within_budget(lambda: _apart(group, level, var, width), False):
        return None
    return _strips(group, level, boxes, width, new)


def _least_distance(group: Sequence[Statement], var: Var) -> int | None:
    """The least number of steps from a store to a read of the same element, as far as places are linear."""
    found: set[int] = set()
    for writer in group:
        reads = [load for s in group for load in s.reads() if load.buffer == writer.buffer]
        for load in reads:
            for a, b in zip(map(linear, writer.store.indices), map(linear, load.indices), strict=True):
                rate, apart = a.slope(var), a - b
                if rate and rate == b.slope(var) and apart.is_const and apart.const % rate == 0:
                    found.add(abs(apart.const // rate))
    return min(found - {0}, default=None)


def _apart(group: Sequence[Statement], level: int, var: Var, width: int) -> bool:
    """Whether no step waits for one that is fewer than `width` steps away."""
    order = relations(group, level)
    x, y = presburger.symbol(var.name), presburger.symbol(var.name + "'")
    near = x.lt_set(y).intersect(y.lt_set(x.add(presburger.number(width))))
    return order is not None and all(r.pairs.intersect(near).is_empty() for r in order)


def _strips(group: Sequence[Statement], level: int, boxes: dict[Loop, Box], width: int, new: Fresh) -> list[Statement]:
    """The statements in the first strip, which conditions often tell from others, in whole ones, and in the rest."""
    loop, dtype = group[0].loops[level], group[0].loops[level].var.dtype
    low, (count, rest) = boxes[loop].low, divmod(boxes[loop].extent.const, width)

    def over(name: str, extent: int) -> Loop:
        return loop_over(Var(new.name(name), dtype), Box(Linear({}), Linear({}, extent), True), boxes)

    def at(loops: Sequence[Loop], first: Linear) -> list[Statement]:
        place: Mapping[Var, Expr] = {loop.var: to_expr(first + low + atom(loops[-1].var), loop.var)}
        moved = [mapped(s, lambda e: substitute_expr(e, place)) for s in group]
        return [
            replace(s, position=new.position(), loops=(*s.loops[:level], *loops, *s.loops[level + 1 :])) for s in moved
        ]

    first = at([over(loop.var.name, width)], Linear({}))
    strip, step = over(f"{loop.var.name}_strip", count - 1), over(loop.var.name, width)
    whole = at([strip, step], Linear({strip.var: width}, width)) if count > 1 else []
    left = at([over(loop.var.name, rest)], Linear({}, count * width)) if rest else []
    return [*first, *whole, *left]
