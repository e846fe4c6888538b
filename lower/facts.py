"""What is known of integers where a statement reads them: from ranges of loops, dtypes, and assumptions on data.

Assumptions count of buffers that the program never stores to: those hold the same all along. Nothing here is assumed of
floats, and nothing is decided: forms ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from egraph_rules.elements import Elements
from ir import presburger
from ir.analysis.contents import Contents, at, is_condition
from ir.analysis.effects import EffectAnalysis
from ir.blocks import lower_blocks
from ir.inputs import leading_assumptions
from ir.nodes import Binary, Expr, Load, PrimFunc, Var, const
from ir.traverse import buffers_written, loads, shape_vars
from lower.finite import positions
from lower.nest import Box
from lower.views import Axis

_MAX_LOADS = 8  # elements of one question


class Facts:
    """Answers for one function. Questions cost isl's time only where a range alone does not answer them."""

    def __init__(self, func: PrimFunc) -> None:
        self._func = func
        self._found: tuple[Contents, presburger.isl.Set] | None = None

    def at_least(self, expr: Expr, number: int, axes: Sequence[Axis], around: Mapping[Var, Box]) -> bool:
        """Whether an integer is surely no less than a number at all positions of axes, in loops `around`."""
        if not expr.dtype.is_integer:
            return False
        read = list(dict.fromkeys(loads(expr)))
        if len(read) > _MAX_LOADS:
            return False
        return presburger.within_budget(lambda: self._at_least(expr, number, read, axes, around), False)

    def _at_least(
        self, expr: Expr, number: int, read: Iterable[Load], axes: Sequence[Axis], around: Mapping[Var, Box]
    ) -> bool:
        contents, where = self._known()
        where = where.intersect(positions(axes, around))
        told: list[tuple[Expr, bool]] = []
        for load in read:
            if not load.dtype.is_integer:
                return False
            told.append((Binary("eq", load, load), True))  # a name, and what its dtype can hold
            told += [(cond, True) for cond in _told(contents, load, where)]
        elements = Elements(told)
        asked = Binary("ge", elements.named(expr), const(number, expr.dtype))
        return where.intersect(elements.values).is_subset(presburger.condition(asked).must)

    def _known(self) -> tuple[Contents, presburger.isl.Set]:
        """What is assumed of buffers that are only read, and of sizes and scalars."""
        if self._found is None:
            steady = set(self._func.buffers) - buffers_written(self._func.body)
            contents: Contents = {}
            holds = presburger.always()
            for stmt in leading_assumptions(lower_blocks(self._func).body):
                effects = EffectAnalysis(followed=steady).of(stmt)
                holds = holds.intersect(effects.holds)
                for (buffer, value), region in effects.established.items():
                    of_steady = {buffer, *(load.buffer for load in loads(value))} <= steady
                    if of_steady and is_condition(buffer, value):
                        key = buffer, value
                        contents[key] = contents[key].union(region) if key in contents else region
            for var in shape_vars(self._func):
                holds = holds.intersect(presburger.condition(Binary("ge", var, const(0, var.dtype))).may)
            self._found = contents, holds
        return self._found


def _told(contents: Contents, load: Load, where: presburger.isl.Set) -> Iterator[Expr]:
    """The conditions that hold of an element wherever it is read."""
    spot = presburger.point(load.indices)
    if spot is None:
        return
    spot = spot.intersect_params(where)
    for (buffer, cond), region in contents.items():
        here = at(cond, load.indices) if buffer == load.buffer else None
        if here is not None and spot.is_subset(region):
            yield here
