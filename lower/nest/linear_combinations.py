"""Sums of multiples of the same, in floats: like terms collected, and constants that several terms share taken out.

`0.125 * (a - 2.0 * b + c) + 0.125 * (d - 2.0 * b + e) + b` is `0.125 * (a + c + d + e) + 0.5 * b`: written down term by
term, as in stencils, it has twice the operations. Sums are reassociated, and products distributed over them where that
loses no digits (`lower/analysis/digits.py`) or is granted. Numbers must be finite: where b is infinite, `b - b` is no
number and 0 is one. Coefficients are added up exactly and rounded once. Half precision stays as it is: sums in another
order may leave its short range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce

from msgspec import Struct, field

from ir.arith import shortest
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import Binary, Expr, Unary, const
from ir.traverse import children, with_children
from lower.analysis.digits import keeps_digits, number
from lower.analysis.freedoms import ORDER, Form, Policy

COLLECTED = Form(
    "values.collected",
    "2 * a + 3 * a  =  5 * a",
    "like terms have the sum of their factors",
    ORDER,
)
EXPANDED = Form(
    "values.expanded",
    "x * (a - b)  =  x * a - x * b, though terms may cancel",
    "multiplication distributes",
    ORDER | Floats.DISTRIBUTE,
)

_DTYPES = (DType.FLOAT32, DType.FLOAT64)


def collected(expr: Expr, policy: Policy) -> Expr:
    """An expression with the linear combinations in it collected where that takes fewer operations."""
    return _Collector(policy).collected(expr) if policy.may(COLLECTED, expr.dtype) else expr


class _Collector:
    """Collects in all parts of an expression, in each of them once."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.done: dict[Expr, Expr] = {}

    def collected(self, expr: Expr) -> Expr:
        if not _is_linear(expr):
            return self.with_parts(expr)
        form = _Form(self.with_parts)
        form.add(expr, Fraction(1))
        new = form.written(expr.dtype)
        if new is None or new[1] >= form.operations:
            return self._linear_parts(expr)
        kept = keeps_digits(expr, new[0], term=self.with_parts) or self.policy.may(EXPANDED, expr.dtype)
        return new[0] if kept else self._linear_parts(expr)

    def with_parts(self, expr: Expr) -> Expr:
        """What is no combination, with its parts collected."""
        if expr not in self.done:
            self.done[expr] = with_children(expr, tuple(map(self.collected, children(expr))))
        return self.done[expr]

    def _linear_parts(self, expr: Expr) -> Expr:
        """A combination as it is, with what it combines collected."""
        if _is_linear(expr):
            return with_children(expr, tuple(map(self._linear_parts, children(expr))))
        return self.with_parts(expr)


def _is_linear(expr: Expr) -> bool:
    """Whether a node combines terms with constant coefficients."""
    if expr.dtype not in _DTYPES:
        return False
    match expr:
        case Unary(op="neg") | Binary(op="add" | "sub"):
            return True
        case Binary(op="mul", lhs=a, rhs=b):
            return number(a) is not None or number(b) is not None
        case _:
            return False


class _Form(Struct):
    """A linear combination: coefficients of terms, in the order in which they appear, and how it was written."""

    term: Callable[[Expr], Expr]
    terms: dict[Expr, Fraction] = field(default_factory=lambda: dict[Expr, Fraction]())
    constant: Fraction = Fraction(0)
    operations: int = 0

    def add(self, expr: Expr, factor: Fraction) -> None:
        """Add a multiple of an expression."""
        value = number(expr)
        if value is not None:
            self.constant += factor * value
            return
        if not _is_linear(expr):
            term = self.term(expr)
            self.terms[term] = self.terms.get(term, Fraction(0)) + factor
            return
        self.operations += 1
        match expr:
            case Unary(operand=a):
                self.add(a, -factor)
            case Binary(op="mul", lhs=a, rhs=b):
                left, right = number(a), number(b)
                other, by = (b, left) if left is not None else (a, right)
                assert by is not None
                self.add(other, factor * by)
            case Binary(op=op, lhs=a, rhs=b):
                self.add(a, factor)
                self.add(b, factor if op == "add" else -factor)
            case _:
                raise TypeError(f"no combination: {expr}")

    def written(self, dtype: DType) -> tuple[Expr, int] | None:
        """The combination and its number of operations; None if a coefficient leaves the range of the dtype."""
        groups: dict[Fraction, list[tuple[bool, Expr]]] = {}
        for term, factor in self.terms.items():
            if factor:
                groups.setdefault(abs(factor), []).append((factor > 0, term))
        parts: list[tuple[bool, Expr]] = groups.pop(Fraction(1), [])
        operations = 0
        for factor, members in groups.items():
            value = _in_range(factor, dtype)
            if value is None:
                return None
            positive = any(sign for sign, _ in members)
            inside = _sum((sign == positive, term) for sign, term in members)
            parts.append((positive, Binary("mul", const(value, dtype), inside)))
            operations += len(members)
        if self.constant:
            value = _in_range(abs(self.constant), dtype)
            if value is None:
                return None
            parts.append((self.constant > 0, const(value, dtype)))
        if not parts:
            return const(0.0, dtype), 0
        negated = not any(sign for sign, _ in parts)
        total = _sum((sign != negated, term) for sign, term in parts)
        operations += len(parts) - 1 + negated
        return (Unary("neg", total) if negated else total), operations


def _in_range(number: Fraction, dtype: DType) -> float | None:
    """A positive number in a dtype; None where it is too large or too small for it."""
    try:
        value = shortest(float(number), dtype)
    except OverflowError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _sum(parts: Iterable[tuple[bool, Expr]]) -> Expr:
    """A sum of terms, what is added first."""
    ordered = sorted(parts, key=lambda part: not part[0])
    assert ordered[0][0]
    return reduce(lambda total, part: Binary("add" if part[0] else "sub", total, part[1]), ordered[1:], ordered[0][1])
