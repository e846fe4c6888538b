"""Whether a linear combination has as good an error bound written otherwise: where terms cancel, an order counts.

Each operation rounds, by at most half a unit in the last place of its result. `0.5 * (a - b) + 0.25 * (b - c)` rounds
differences only, `0.5 * a - 0.25 * (b + c)` the terms themselves: no multiple of the first bound is above the second,
since all differences may vanish where the terms do not. The results of the other form must be combinations of results
of the given one, with small factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ir.arith import fold_binary
from ir.dtypes import DType
from ir.nodes import Binary, Const, Expr, Load, Unary, Var, const
from ir.traverse import map_expr, walk_expr

_MOST = 16.0  # times the error bound of what is given: stencils collected are below half of this
_SAMPLE = (0.628, -0.531, 0.377, -0.743, 0.459, 0.816, -0.292, 0.684)  # numbers without relations among them
_Form = dict[Expr | None, Fraction]  # coefficients of terms; None stands for the constant


def number(expr: Expr) -> Fraction | None:
    """The value of a finite constant."""
    return Fraction(expr.value) if isinstance(expr, Const) and math.isfinite(expr.value) else None


def keeps_digits(
    given: Expr, other: Expr, rounded: Iterable[Expr] = (), term: Callable[[Expr], Expr] = lambda e: e
) -> bool:
    """Whether another form of an expression has an error bound of the order of the one that is given.

    `rounded` are terms of both that are results of operations themselves; `term` says how the other form has a term.
    What they are multiplied with or divided by counts as some number.
    """
    rounded = tuple(rounded)
    numbers = dict(zip(_coefficients(given, rounded), _SAMPLE, strict=False))
    given, other = (_with_numbers(e, numbers) for e in (given, other))
    before: list[_Form] = list(_results(given, term))
    after: list[_Form] = list(_results(other, lambda e: e))
    for e in rounded:
        before.append({e: Fraction(1)})
    names = list(dict.fromkeys(t for form in (*before, *after) for t in form))
    if not after:
        return True
    have, want = _matrix(before, names), _matrix(after, names)
    factors = np.linalg.lstsq(have.T, want.T, rcond=None)[0] if before else np.zeros((0, len(after)))
    small = bool(np.abs(factors).sum(axis=1).max(initial=0.0) <= _MOST)
    return small and np.allclose(have.T @ factors, want.T, rtol=1e-9, atol=1e-12 * float(np.abs(want).max()))


def _coefficients(expr: Expr, terms: Sequence[Expr]) -> list[Expr]:
    """Loads and variables that combinations of terms are multiplied with or divided by."""
    found: dict[Expr, None] = {}
    for e in walk_expr(expr):
        if isinstance(e, Binary) and e.op in ("mul", "div"):
            for side, by in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
                if any(t in terms for t in walk_expr(side)) and not any(t in terms for t in walk_expr(by)):
                    found |= dict.fromkeys(x for x in walk_expr(by) if isinstance(x, Load | Var) and x.dtype.is_float)
    return list(found)


def _with_numbers(expr: Expr, numbers: Mapping[Expr, float]) -> Expr:
    """An expression with numbers in place of some loads and variables, and constants folded."""

    def one(e: Expr) -> Expr:
        match e:
            case Load() | Var() if e in numbers:
                return const(numbers[e], DType.FLOAT64)
            case Unary(op="neg", operand=Const(value=v)):
                return const(-v, DType.FLOAT64)
            case Binary(op="add" | "sub" | "mul" | "div" as op, lhs=Const(value=a), rhs=Const(value=b)) if numbers:
                return const(float(fold_binary(op, float(a), float(b), DType.FLOAT64)), DType.FLOAT64)
            case _:
                return e

    return map_expr(expr, one) if numbers else expr


def _matrix(forms: Sequence[_Form], names: Sequence[Expr | None]) -> np.ndarray:
    return np.array([[float(form.get(t, 0)) for t in names] for form in forms]).reshape(len(forms), len(names))


def _results(expr: Expr, term: Callable[[Expr], Expr]) -> Iterator[_Form]:
    """The results of operations that round, as what they are in the result of all."""
    found: list[_Form] = []

    def visit(e: Expr, factor: Fraction) -> _Form:
        """What an expression is times a factor, which the result has it with."""
        match e:
            case Const() if (value := number(e)) is not None:
                return {None: factor * value}
            case Unary(op="neg", operand=a):
                return visit(a, -factor)
            case Binary(op="add" | "sub" as op, lhs=a, rhs=b):
                form = _added(visit(a, factor), visit(b, factor if op == "add" else -factor))
            case Binary(op="mul", lhs=a, rhs=b) if (by := number(a)) is not None:
                form = visit(b, factor * by)
                if _is_power_of_two(by):
                    return form
            case Binary(op="mul", lhs=a, rhs=b) if (by := number(b)) is not None:
                form = visit(a, factor * by)
                if _is_power_of_two(by):
                    return form
            case Binary(op="div", lhs=a, rhs=b) if by := number(b):
                form = visit(a, factor / by)
                if _is_power_of_two(by):
                    return form
            case _:
                return {term(e): factor}
        found.append(form)
        return form

    visit(expr, Fraction(1))
    yield from (form for form in found if any(form.values()))


def _added(a: _Form, b: _Form) -> _Form:
    return {t: a.get(t, Fraction(0)) + b.get(t, Fraction(0)) for t in (a | b)}


def _is_power_of_two(value: Fraction) -> bool:
    parts = (abs(value.numerator), value.denominator)
    return all(p & (p - 1) == 0 for p in parts)
