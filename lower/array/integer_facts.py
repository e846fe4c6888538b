"""What is known of integers where a statement reads them: from ranges of loops, dtypes, and assumptions on data.

Assumptions count of buffers that the program never stores to: those hold the same all along. Nothing is decided here:
forms ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite

from egraph_rules.contexts.elements import Elements
from ir.analysis.contents import Contents, at, is_condition, joined
from ir.analysis.effects import EffectAnalysis
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import Assume, Binary, Const, Expr, Load, PrimFunc, Select, Var, const
from ir.presburger import sets as presburger
from ir.presburger.intervals import Range, combined
from ir.program.blocks import lower_blocks
from ir.semantics.inputs import leading_assumptions
from ir.traverse import buffers_written, loads, shape_vars, walk, walk_expr
from lower.array.finiteness import positions
from lower.array.views import Axis
from lower.nest.nodes import Box

_MAX_LOADS = 8  # elements of one question
_VALUE = Var("%value", DType.INT64)  # what a question is about


class Facts:
    """Answers for one function. Questions cost isl's time only where a range alone does not answer them.

    Assumptions are those of the program as it was written. Which numbers elements are counts in a form of it that was
    optimized: the source then reads elements that the program does not, and has its derivatives besides. `used` says
    whether it does.
    """

    def __init__(self, func: PrimFunc, floats: Floats) -> None:
        self._written, self._floats = func.as_written, floats
        self._optimized = func.as_written is not func
        self._found: tuple[Contents, presburger.isl.Set] | None = None
        self._of_sizes: dict[Expr, tuple[int | None, int | None]] = {}
        self.used = False

    @cached_property
    def infinite(self) -> frozenset[str]:
        """The names of buffers of which elements are infinite, as assumptions say: of these `finite` does not speak."""
        assumed = (s.cond for s in walk(self._written.body) if isinstance(s, Assume))
        found = (c for c in assumed if any(isinstance(e, Const) and not isfinite(e.value) for e in walk_expr(c)))
        return frozenset(load.buffer.name for c in found for load in loads(c))

    def at_least(self, expr: Expr, number: int, axes: Sequence[Axis], around: Mapping[Var, Box]) -> bool:
        """Whether an integer is surely no less than a number at all positions of axes, in loops `around`."""
        read = list(dict.fromkeys(loads(expr)))
        if len(read) > _MAX_LOADS or not all(e.dtype.is_integer for e in (expr, *read)):
            return False

        def question() -> bool:
            where, elements = self._elements(read, axes, around)
            asked = Binary("ge", elements.named(expr), const(number, expr.dtype))
            return where.is_subset(presburger.condition(asked).must)

        if presburger.within_budget(question, False):
            return True
        ends = self._operand_by_operand(expr, axes, around) if _is_product(expr) else None
        return ends is not None and ends[0] >= number

    def _operand_by_operand(self, expr: Expr, axes: Sequence[Axis], around: Mapping[Var, Box]) -> Range | None:
        """The least and the greatest value by those of operands, where there are products of what is not constant."""
        if not (isinstance(expr, Binary) and expr.dtype.is_signed and _is_product(expr)):
            return self.limits(expr, around, axes)
        a, b = (self._operand_by_operand(e, axes, around) for e in (expr.lhs, expr.rhs))
        return None if a is None or b is None else combined(expr.op, a, b)

    def limits(self, expr: Expr, around: Mapping[Var, Box], axes: Sequence[Axis] = ()) -> Range | None:
        """The least and the greatest value of an integer at positions of axes, in loops `around`, if both are known."""
        low, high = self.bounds(expr, around, axes)
        return None if low is None or high is None else (low, high)

    def of_sizes(self, expr: Expr) -> tuple[int | None, int | None]:
        """The bounds of an integer made of sizes and scalars alone."""
        if expr not in self._of_sizes:
            self._of_sizes[expr] = self.bounds(expr, {})
        return self._of_sizes[expr]

    def bounds(self, expr: Expr, around: Mapping[Var, Box], axes: Sequence[Axis] = ()) -> tuple[int | None, int | None]:
        """As `limits`, as far as they are known."""
        read = list(dict.fromkeys(loads(expr)))
        if len(read) > _MAX_LOADS or not all(e.dtype.is_integer for e in (expr, *read)):
            return None, None

        def question() -> tuple[int | None, int | None]:
            where, elements = self._elements(read, axes, around)
            values = where.intersect(presburger.condition(Binary("eq", _VALUE, elements.named(expr))).may)
            return presburger.bounds(presburger.only(values, _VALUE.name))

        return presburger.within_budget(question, (None, None))

    def is_number(
        self, load: Load, number: Const, unless: Sequence[Expr], axes: Sequence[Axis], around: Mapping[Var, Box]
    ) -> bool:
        """Whether an element is surely a number at all positions at which one of some conditions does not hold."""
        if not self._optimized:
            return False
        told = [(v, r) for (b, v), r in self._known()[0].items() if b == load.buffer and not is_condition(b, v)]
        spot = presburger.point(load.indices)
        if not told or spot is None:
            return False

        def question() -> bool:
            values = [(at(value, load.indices), spot.intersect(region).params()) for value, region in told]
            conds = [v.cond for v, _ in values if isinstance(v, Select)]
            read = dict.fromkeys(e for cond in (*unless, *conds) for e in loads(cond) if e.dtype.is_integer)
            where, elements = self._elements(read, axes, around)
            hidden, known = presburger.never(), presburger.never()
            for cond in unless:
                hidden = hidden.union(presburger.condition(elements.named(cond)).negated().may)
            for value, here in values:
                match value:
                    case Const():
                        known = known.union(here) if value.same(number) else known
                    case Select(cond=cond, then=then, other=Const() as other) if then.same(load) and other.same(number):
                        otherwise = presburger.condition(elements.named(cond)).negated().must
                        known = known.union(here.intersect(otherwise))
                    case _:
                        pass
            return where.intersect(hidden).is_subset(known)

        found = presburger.within_budget(question, False)
        self.used = self.used or found
        return found

    def told(self, load: Load, where: presburger.isl.Set) -> Iterator[Expr]:
        """The conditions that are assumed of an element wherever it is read, as a params set says it."""
        contents, holds = self._known()
        return _told(contents, load, where.intersect(holds))

    def _elements(
        self, read: Iterable[Load], axes: Sequence[Axis], around: Mapping[Var, Box]
    ) -> tuple[presburger.isl.Set, Elements]:
        """All positions with the values that elements can have there, and their names."""
        contents, where = self._known()
        where = where.intersect(positions(axes, around))
        told: list[tuple[Expr, bool]] = []
        for load in read:
            told.append((Binary("eq", load, load), True))  # a name, and what its dtype can hold
            told += [(cond, True) for cond in _told(contents, load, where)]
        elements = Elements(told)
        return where.intersect(elements.values), elements

    def _known(self) -> tuple[Contents, presburger.isl.Set]:
        """What is assumed of buffers that are only read, and of sizes and scalars."""
        if self._found is None:
            func = self._written
            steady = set(func.buffers) - buffers_written(func.body)
            contents: Contents = {}
            holds = presburger.always()
            for stmt in leading_assumptions(lower_blocks(func).body):
                effects = EffectAnalysis(followed=steady, floats=self._floats).of(stmt)
                holds = holds.intersect(effects.holds)
                told = {
                    (buffer, value): region
                    for (buffer, value), region in effects.established.items()
                    if {buffer, *(load.buffer for load in loads(value))} <= steady
                }
                contents = joined(contents, told)
            for var in shape_vars(func):
                holds = holds.intersect(presburger.condition(Binary("ge", var, const(0, var.dtype))).may)
            self._found = contents, holds
        return self._found


def _is_product(expr: Expr) -> bool:
    """Whether there is a product in an expression of which no operand is a number."""
    products = (e for e in walk_expr(expr) if isinstance(e, Binary) and e.op == "mul")
    return any(not isinstance(e.lhs, Const) and not isinstance(e.rhs, Const) for e in products)


def _told(contents: Contents, load: Load, where: presburger.isl.Set) -> Iterator[Expr]:
    """The conditions that hold of an element wherever it is read."""
    spot = presburger.point(load.indices)
    if spot is None:
        return
    spot = spot.intersect_params(where)
    for (buffer, cond), region in contents.items():
        here = at(cond, load.indices) if buffer == load.buffer and is_condition(buffer, cond) else None
        if here is not None and spot.is_subset(region):
            yield here
