"""Between which numbers floats lie, by interval arithmetic (Moore, "Interval Analysis", 1966).

Operations of IEEE 754 are monotone with their rounding, so that they may be done on ends of intervals. Functions of a
library are monotone up to their last bits, for which intervals get a margin. All of this is for values that are no NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import egraph_rules.contexts.intervals as intervals
from egraph_rules.contexts.elements import told
from ir.arith import ArithmeticFault, fold_binary, fold_unary, rounded
from ir.dtypes import DType
from ir.floats import Floats
from ir.fold import is_plain
from ir.nodes import NEGATED, AnyExpr, Binary, Cast, Const, Expr, Load, Select, Unary, UnaryOp, Var
from ir.presburger.intervals import Range, compared

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts

Ends = tuple[float, float]  # the least and the greatest number, both may be reached

# Of elements that are told by others, as in a recurrence. Bounds are asked more often than values are.
MAX_FOLLOWED = 3
_ALL: Ends = (-math.inf, math.inf)
_MARGIN = 1e-5  # by which functions of a library may miss, relatively: far more than any does
_EXACT = ("floor", "ceil", "round", "trunc", "sqrt")
_RISING = ("exp", "exp2", "tanh", "sigmoid", "erf", "log", "log2", "log1p", "asin", "atan", "sinh")
_LIMITS = {"exp": (0.0, math.inf), "exp2": (0.0, math.inf), "sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0),
           "erf": (-1.0, 1.0), "sin": (-1.0, 1.0), "cos": (-1.0, 1.0), "sqrt": (0.0, math.inf)}  # fmt: skip


class Ranges:
    """Bounds of floats in all contexts of one search."""

    def __init__(self, contexts: Contexts, floats: Floats) -> None:
        self._contexts = contexts
        self._finite = Floats.FINITE in floats
        self._library = Floats.REASSOCIATE in floats
        self._one_zero = Floats.NO_SIGNED_ZEROS in floats
        self._known: dict[tuple[int, Expr], Ends] = {}
        self._integers: dict[tuple[int, Expr], Range] = {}  # by the first facts with their domain
        self._depth = 0  # from how many elements to the next the expression at hand came

    def compared(self, facts: int, cond: Expr) -> bool | None:
        """Whether a comparison of floats holds; None where their ranges do not tell."""
        if not (self._finite and isinstance(cond, Binary) and cond.lhs.dtype.is_float):
            return None
        op, a, b = cond.op, cond.lhs, cond.rhs
        holds = compared(op, self.of(facts, a), self.of(facts, b))
        if holds is False and op != "ne":  # nor does it hold of NaN, which no range speaks of
            return False if all(self._contexts.defined(facts, e) for e in (a, b)) else None
        return holds if holds is not None and self._defined(facts, a, b) else None

    def number(self, facts: int, expr: Expr) -> Const | None:
        """The one number that a float can be."""
        low, high = self.of(facts, expr)
        known = Const(low, expr.dtype) if low == high and (low != 0.0 or self._one_zero) else None
        return known if known is not None and is_plain(low, expr.dtype) and self._defined(facts, expr) else None

    def _defined(self, facts: int, *exprs: Expr) -> bool:
        contexts = self._contexts
        return all(
            contexts.defined(facts, e) and (contexts.regular(facts, e) or self._is_compared(facts, e)) for e in exprs
        )

    def _is_compared(self, facts: int, expr: Expr) -> bool:
        """Whether a comparison is known to hold of an element, which it does of no NaN; it may be infinite."""
        known = told(self._contexts.facts(facts), expr) if isinstance(expr, Load) else ()
        return any(isinstance(c, Binary) and c.op in ("lt", "le", "gt", "ge", "eq") for c in known)

    def of(self, facts: int, expr: Expr) -> Ends:
        """The least and the greatest number that a float can be, infinite where there is none."""
        key = facts, expr
        if key not in self._known:
            self._known[key] = _ALL  # for elements that are told by each other
            found = self._range(facts, expr) if self._finite else _ALL
            self._known[key] = found if found[0] <= found[1] else _ALL
        return self._known[key]

    def _range(self, facts: int, expr: Expr) -> Ends:
        match cast(AnyExpr, expr):
            case Const(value=value):
                return float(value), float(value)
            case Var() as var:
                return _meet(self._followed(facts, self._contexts.bound(facts, var)), self._assumed(facts, var))
            case Load(buffer=buffer, indices=indices) as load:
                held = self._contexts.contents(facts, buffer, indices)
                return _meet(self._followed(facts, held), self._assumed(facts, load))
            case Binary(lhs=a, rhs=b) as node:
                left = self.of(facts, a)
                if left == _ALL and node.op in ("add", "sub"):  # nor has the sum any bound, whatever is added
                    return _ALL
                return self._operation(node, left, self.of(facts, b))
            case Unary(op=op, operand=a) if expr.dtype is a.dtype:
                return self._function(op, self.of(facts, a), expr.dtype)
            case Cast(operand=a) if a.dtype.is_integer or a.dtype is DType.BOOL:
                low, high = self._integer(facts, a)
                return rounded(low, expr.dtype), rounded(high, expr.dtype)
            case Select(cond=cond, then=a, other=b):
                truth = self._contexts.truth(facts, cond)
                arms = [arm for arm, chosen in ((a, truth is not False), (b, truth is not True)) if chosen]
                return _join(self.of(facts, arm) for arm in arms)
            case _:
                return _ALL

    def _integer(self, facts: int, expr: Expr) -> Range:
        """The least and the greatest value of an integer, or bounds on them, by what its variables may be."""
        key = self._contexts.place(facts), expr
        if key not in self._integers:
            self._integers[key] = intervals.bounds(expr, self._contexts.facts(facts).domain)
        return self._integers[key]

    def _followed(self, facts: int, value: Expr | None) -> Ends:
        if value is None or not value.dtype.is_float or self._depth >= MAX_FOLLOWED:
            return _ALL
        self._depth += 1
        found = self.of(facts, value)
        self._depth -= 1
        return found

    def _assumed(self, facts: int, expr: Var | Load) -> Ends:
        """By the conditions that are known of an element or a scalar."""
        f = self._contexts.facts(facts)
        conditions = [_of_numbers(cond, truth) for cond, truth in f.conditions]
        conditions += [*told(f, expr)] if isinstance(expr, Load) else []
        ends = _ALL
        for cond in conditions:
            match cond:
                case Binary(op="ge" | "gt", lhs=a, rhs=Const(value=v)) if a.same(expr):
                    ends = _meet(ends, (float(v), math.inf))
                case Binary(op="le" | "lt", lhs=a, rhs=Const(value=v)) if a.same(expr):
                    ends = _meet(ends, (-math.inf, float(v)))
                case Binary(op="ge" | "gt", lhs=Const(value=v), rhs=a) if a.same(expr):
                    ends = _meet(ends, (-math.inf, float(v)))
                case Binary(op="le" | "lt", lhs=Const(value=v), rhs=a) if a.same(expr):
                    ends = _meet(ends, (float(v), math.inf))
                case _:
                    pass
        return ends

    def _operation(self, expr: Binary, a: Ends, b: Ends) -> Ends:
        if expr.dtype is not expr.lhs.dtype:
            return _ALL
        if expr.op == "div" and b[0] <= 0.0 <= b[1]:
            return _ALL
        if expr.op == "mul" and expr.lhs.same(expr.rhs):  # a square
            return _meet(self._corners(expr, a, b), (0.0, math.inf))
        pairs = {"sub": ((a[0], b[1]), (a[1], b[0]))}.get(expr.op, ((a[0], b[0]), (a[1], b[1])))
        match expr.op:
            case "add" | "sub" | "min" | "max":
                low, high = (_done(expr, x, y) for x, y in pairs)
                return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
            case "mul" | "div":
                return self._corners(expr, a, b)
            case _:
                return _ALL

    def _corners(self, expr: Binary, a: Ends, b: Ends) -> Ends:
        """Of products and quotients: what is infinite stands for any number, of which 0 is no multiple but 0."""
        found = [_done(expr, x, y) for x in a for y in b]
        corners = [0.0 if math.isnan(v) else v for v in found]
        return min(corners), max(corners)

    def _function(self, op: UnaryOp, a: Ends, dtype: DType) -> Ends:
        limits = _LIMITS.get(op, _ALL)
        if op == "neg":
            return -a[1], -a[0]
        if op == "abs":
            low = 0.0 if a[0] <= 0.0 <= a[1] else min(abs(a[0]), abs(a[1]))
            return low, max(abs(a[0]), abs(a[1]))
        if op in _EXACT:
            return _meet((_image(op, a[0], dtype, -math.inf), _image(op, a[1], dtype, math.inf)), limits)
        if op in _RISING and self._library:
            low, high = _image(op, a[0], dtype, -math.inf), _image(op, a[1], dtype, math.inf)
            return _meet((low - _MARGIN * abs(low), high + _MARGIN * abs(high)), limits)
        return limits


def _of_numbers(cond: Expr, truth: bool) -> Expr:
    """A condition that holds of numbers where one of them does or does not."""
    if not truth and isinstance(cond, Binary) and cond.op in NEGATED:
        return Binary(NEGATED[cond.op], cond.lhs, cond.rhs)
    return cond if truth else Unary("not", cond)


def _done(expr: Binary, x: float, y: float) -> float:
    """An operation on two ends, NaN where it has no result."""
    try:
        return float(fold_binary(expr.op, x, y, expr.dtype))
    except ArithmeticFault:
        return math.nan


def _image(op: UnaryOp, x: float, dtype: DType, otherwise: float) -> float:
    """A function at an end; `otherwise` where it has no value there."""
    try:
        found = float(fold_unary(op, x, dtype))
    except ArithmeticFault:
        return otherwise
    return otherwise if math.isnan(found) else found


def _meet(a: Ends, b: Ends) -> Ends:
    return max(a[0], b[0]), min(a[1], b[1])


def _join(several: Iterable[Ends]) -> Ends:
    lows, highs = zip(*several, strict=True)
    return min(lows), max(highs)
