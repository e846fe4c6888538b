"""Which array elements are certainly numbers, so that a product with zero is zero.

Where the policy on floats grants it, a program computes with finite numbers only. That speaks of what it reads: padding
that it never reads may hold anything, and must be masked wherever array code reads it nevertheless.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from math import isfinite

from msgspec.structs import replace

from ir.analysis.coverage import first_read
from ir.analysis.dependence import Statement
from ir.dtypes import DType
from ir.fold import computed
from ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Unary, Var, const
from ir.presburger import sets as presburger
from ir.traverse import free_vars, substitute_expr
from lower.analysis.freedoms import NUMBERS, Form, Policy
from lower.analysis.linear_forms import linear, to_expr
from lower.array.views import Axis
from lower.nest.nodes import ArrayStatement, Box

MASKED = Form(
    "values.mask_as_padding",
    "if c: s += A[i]  =  s += A[i] with zeros where A ends",
    "what the guard hides is zero in the padding",
    NUMBERS,
)


class Finite:
    """Answers for one program. Local buffers start as zeros and hold what is computed; `spoiled` ones may hold undef,
    or what is assumed to be infinite."""

    def __init__(
        self, statements: Sequence[Statement], params: Collection[Buffer], spoiled: Collection[str], policy: Policy
    ) -> None:
        self._spoiled = spoiled
        self._policy = policy
        self._statements = statements
        self._params = params
        self._read: dict[Buffer, presburger.isl.Set] = {}

    def throughout(
        self, expr: Expr, axes: Sequence[Axis], around: Mapping[Var, Box], guards: Sequence[Expr] = ()
    ) -> bool:
        """Whether an expression is finite at all positions of the axes at which the guards hold, also where the program
        does not evaluate it."""
        if not self._policy.may(MASKED, expr.dtype):
            return False
        match expr:
            case Unary(op="neg", operand=operand):
                return self.throughout(operand, axes, around, guards)
            case Const(value=value):
                return isfinite(value)
            case Cast(operand=number, dtype=DType.FLOAT32 | DType.FLOAT64):
                return number.dtype.is_integer
            case Load(buffer=buffer) if buffer.name in self._spoiled:
                return False
            case Load(buffer=buffer) if buffer.dtype.is_float:
                return buffer not in self._params or self._reads_all(expr, axes, around, guards)
            case _:
                return not expr.dtype.is_float

    def where(self, parts: Sequence[Expr], cond: Expr, axes: Sequence[Axis], node: ArrayStatement) -> bool:
        """Whether what is made of some parts of a statement's value is a number wherever a condition holds, as the
        program then works it out at some position of the other axes: at that of an axis of its own, where the guards
        say no more than the condition."""
        if not self._policy.may(MASKED, parts[0].dtype) or not all(isinstance(p, Load | Const) for p in parts):
            return False
        own, done = free_vars(cond).union(*map(free_vars, parts)), node.statement
        loops = {loop.var: loop for loop in node.axes}
        whole = all(
            a.var in loops and a.low.equals(linear(loops[a.var].start)) and a.extent.equals(linear(loops[a.var].extent))
            for a in axes
        )
        spoiled = any(isinstance(p, Load) and p.buffer.name in self._spoiled for p in parts)
        if not whole or spoiled or not all(_evaluates(done.store.value, p) for p in parts):
            return False
        others = [a for a in axes if a.var not in own]
        places = [
            [m.var for m in axes if m.var in own and a.extent.equals(m.extent) and a.low.equals(m.low)] for a in others
        ]
        return any(
            all(substitute_expr(g, {a.var: v for a, v in zip(others, at, strict=True)}).same(cond) for g in done.guards)
            for at in product(*places)
        )

    def _reads_all(self, load: Load, axes: Sequence[Axis], around: Mapping[Var, Box], guards: Sequence[Expr]) -> bool:
        def question() -> bool:
            place = presburger.point(load.indices)
            if place is None:
                return False
            names = [a.var.name for a in axes] + [v.name for v in around]
            where = positions(axes, around)
            for guard in guards:
                where = where.intersect(presburger.condition(guard).may)
            touched = presburger.forget(place.intersect_params(where), names)
            if load.buffer not in self._read:
                self._read[load.buffer] = first_read(self._statements, load.buffer)
            return touched.is_subset(self._read[load.buffer])

        return presburger.within_budget(question, False)


def _evaluates(expr: Expr, part: Expr) -> bool:
    """Whether an expression has a part among its terms and factors, which are evaluated whatever the others are."""
    if isinstance(expr, Binary) and expr.op in ("add", "sub", "mul", "div"):
        return _evaluates(expr.lhs, part) or _evaluates(expr.rhs, part)
    return expr.same(part)


def positions(axes: Sequence[Axis], around: Mapping[Var, Box]) -> presburger.isl.Set:
    """All positions of axes within their boxes and those of the loops around."""
    boxes = {**around, **{a.var: Box(a.low, a.extent, exact=True) for a in axes}}
    domain = presburger.always()
    for var, box in boxes.items():
        low, extent = to_expr(box.low, var), to_expr(box.extent, var)
        domain = domain.intersect(presburger.loop_domain(var, low, extent).may)
    return domain


def outside_unless(guards: Sequence[Expr], load: Load, axes: Sequence[Axis], around: Mapping[Var, Box]) -> bool:
    """Whether a load leaves its buffer wherever one of the guards does not hold."""

    def question() -> bool:
        hidden = presburger.never()
        for guard in guards:
            hidden = hidden.union(presburger.condition(guard).negated().may)
        inside = positions(axes, around).intersect(hidden)
        for index, extent in zip(load.indices, load.buffer.shape, strict=True):
            zero = const(0, index.dtype)
            for condition in (Binary("ge", index, zero), Binary("lt", index, extent)):
                inside = inside.intersect(presburger.condition(condition).may)
        return inside.is_empty()

    return presburger.within_budget(question, False)


def fails_at_zero(cond: Expr, load: Load) -> bool:
    """Whether a condition does not hold where a load finds zero."""
    zero = const(0, load.dtype)
    match cond:
        case Load():
            return cond.same(load)
        case Binary(lhs=lhs, rhs=rhs) if load in (lhs, rhs):
            found = computed(replace(cond, lhs=zero if lhs == load else lhs, rhs=zero if rhs == load else rhs))
            return found is not None and not found.value
        case _:
            return False
