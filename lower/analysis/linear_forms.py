"""Linear integer forms: sums of atoms with integer coefficients, and their ranges.

Index expressions, extents and guards are compared and taken apart in this form. Quotients by constants are atoms in
canonical form, remainders are written through them, so `4*(x//4) + x%4` is `x`. Intervals of variables decide quotients
that are constant. Pure Python on purpose: a kernel asks hundreds of these questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ir.dtypes import DType
from ir.nodes import COMPARE_OPS, Binary, Cast, Const, Expr, Load, Unary, Var, const
from ir.shown import text_order
from ir.traverse import free_vars, walk_expr

Bound = int | None

# How the difference of the sides of a comparison is at most 0 where it holds: its sign, and what is added.
AT_MOST_ZERO = {"lt": ((1, 1),), "le": ((1, 0),), "gt": ((-1, 1),), "ge": ((-1, 0),), "eq": ((1, 0), (-1, 0))}


class Ranges(Protocol):
    """Inclusive bounds of a variable; None is unbounded."""

    def __call__(self, var: Var, /) -> tuple[Bound, Bound]: ...


def unbounded(var: Var) -> tuple[Bound, Bound]:
    """Nothing is known."""
    del var
    return None, None


class Linear(Struct, frozen=True, eq=False):
    """`const + sum(coefficient * atom)`; no coefficient is zero."""

    terms: Mapping[Expr, int]
    const: int = 0

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.terms, self.const + other)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            total = terms.get(atom, 0) + c
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return Linear(terms, self.const + other.const)

    def __sub__(self, other: Linear | int) -> Linear:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, factor: int) -> Linear:
        if factor == 0:
            return Linear({})
        return Linear({a: c * factor for a, c in self.terms.items()}, self.const * factor)

    @property
    def is_const(self) -> bool:
        return not self.terms

    def about(self, number: int) -> int:
        """Its value, for which a number stands where it is not constant."""
        return self.const if self.is_const else number

    def equals(self, other: Linear | int) -> bool:
        """Whether the two are the same function."""
        rest = self - other
        return rest.is_const and rest.const == 0

    def vars(self) -> set[Var]:
        """Variables in any atom."""
        return free_vars(*self.terms)

    def slope(self, var: Var) -> int:
        """The factor of a variable that occurs in no other atom: a step of it moves the form by that; else 0."""
        return 0 if var in self.without((var,)).vars() else self.terms.get(var, 0)

    def has_loads(self) -> bool:
        """Whether an atom reads a buffer."""
        return any(isinstance(e, Load) for atom in self.terms for e in walk_expr(atom))

    def without(self, atoms: Iterable[Expr]) -> Linear:
        """The rest when the terms of `atoms` are left out."""
        drop = set(atoms)
        return Linear({a: c for a, c in self.terms.items() if a not in drop}, self.const)


class _Remembered:
    """Ranges, with the forms and bounds that were found under them: each part of an expression is asked for both."""

    __slots__ = ("_ranges", "bounds", "forms")

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self.forms: dict[Expr, Linear] = {}
        self.bounds: dict[Expr, tuple[Bound, Bound]] = {}

    def __call__(self, var: Var, /) -> tuple[Bound, Bound]:
        return self._ranges(var)


def number(value: int) -> Linear:
    return Linear({}, value)


def atom(expr: Expr) -> Linear:
    return Linear({expr: 1})


def linear(expr: Expr, ranges: Ranges = unbounded) -> Linear:
    """The linear form of an integer expression; what is not linear becomes atoms."""
    match expr:
        case Const(value=value):
            return number(int(value))
        case Var() as var:
            low, high = ranges(var)
            return number(low) if low is not None and low == high else atom(var)
        case _:
            known = ranges if isinstance(ranges, _Remembered) else _Remembered(ranges)
            if expr not in known.forms:
                known.forms[expr] = _linear(expr, known)
            return known.forms[expr]


def _linear(expr: Expr, ranges: _Remembered) -> Linear:
    match expr:
        case Unary(op="neg", operand=a) if expr.dtype.is_signed:
            return linear(a, ranges) * -1
        case Binary(op="add", lhs=a, rhs=b):
            return _no_wrap(expr, linear(a, ranges) + linear(b, ranges), ranges)
        case Binary(op="sub", lhs=a, rhs=b):
            return _no_wrap(expr, linear(a, ranges) - linear(b, ranges), ranges)
        case Binary(op="mul", lhs=a, rhs=b):
            return _no_wrap(expr, _product(linear(a, ranges), linear(b, ranges), expr), ranges)
        case Binary(op="floordiv", lhs=a, rhs=b):
            x, y = linear(a, ranges), linear(b, ranges)
            if y.is_const and y.const > 0:
                return quotient(x, y.const, ranges, expr)
            return atom(expr)
        case Binary(op="floormod", lhs=a, rhs=b):
            x, y = linear(a, ranges), linear(b, ranges)
            if y.is_const and y.const > 0:
                return x - quotient(x, y.const, ranges, expr) * y.const
            return atom(expr)
        case Cast(dtype=dtype, operand=a) if a.dtype.is_integer and (dtype is a.dtype or _widens(a.dtype, dtype)):
            return linear(a, ranges)
        case _:
            return atom(expr)


def _no_wrap(expr: Expr, form: Linear, ranges: Ranges) -> Linear:
    """Unsigned arithmetic wraps: keep the linear form only where it cannot."""
    if expr.dtype.is_signed:
        return form
    low, high = interval(form, ranges)
    fits = low is not None and high is not None and low >= expr.dtype.min and high <= expr.dtype.max
    return form if fits else atom(expr)


def _product(x: Linear, y: Linear, expr: Expr) -> Linear:
    if x.is_const:
        return y * x.const
    if y.is_const:
        return x * y.const
    total = number(x.const * y.const) + Linear(x.terms) * y.const + Linear(y.terms) * x.const
    for a, c in x.terms.items():
        for b, d in y.terms.items():
            first, second = sorted((a, b), key=text_order)
            total = total + atom(Binary("mul", first, second)) * (c * d)
    return total


def quotient(x: Linear, divisor: int, ranges: Ranges, like: Expr) -> Linear:
    """`x // divisor` for a positive divisor: multiples leave the quotient, a constant rest disappears."""
    whole_const, rest_const = divmod(x.const, divisor)
    whole: dict[Expr, int] = {}
    rest: dict[Expr, int] = {}
    for a, c in x.terms.items():
        if c % divisor == 0:
            whole[a] = c // divisor
        else:
            rest[a] = c
    left = Linear(rest, rest_const)
    outside = Linear(whole, whole_const)
    low, high = interval(left, ranges)
    if low is not None and high is not None and low // divisor == high // divisor:
        return outside + low // divisor
    if len(rest) == 1 and rest_const == 0:
        ((inner, c),) = rest.items()
        if c == 1 and isinstance(inner, Binary) and inner.op == "floordiv" and isinstance(inner.rhs, Const):
            deeper = const(int(inner.rhs.value) * divisor, inner.dtype)
            return outside + atom(Binary("floordiv", inner.lhs, deeper))
    return outside + atom(Binary("floordiv", to_expr(left, like), const(divisor, like.dtype)))


def interval(form: Linear, ranges: Ranges) -> tuple[Bound, Bound]:
    """Inclusive bounds of a form."""
    ranges = ranges if isinstance(ranges, _Remembered) else _Remembered(ranges)
    low: Bound = form.const
    high: Bound = form.const
    for a, c in form.terms.items():
        if a not in ranges.bounds:
            ranges.bounds[a] = _atom_interval(a, ranges)
        alow, ahigh = ranges.bounds[a]
        if c < 0:
            alow, ahigh = ahigh, alow
        low = None if low is None or alow is None else low + c * alow
        high = None if high is None or ahigh is None else high + c * ahigh
    return low, high


def _atom_interval(expr: Expr, ranges: Ranges) -> tuple[Bound, Bound]:
    match expr:
        case Var() as var:
            return ranges(var)
        case Binary(op="floordiv", lhs=a, rhs=Const(value=divisor)) if divisor > 0:
            low, high = interval(linear(a, ranges), ranges)
            d = int(divisor)
            return (None if low is None else low // d), (None if high is None else high // d)
        case Binary(op="floormod", rhs=Const(value=divisor)) if divisor > 0:
            return 0, int(divisor) - 1
        case Binary(op="mul", lhs=a, rhs=b):
            (alow, _), (blow, _) = (interval(linear(e, ranges), ranges) for e in (a, b))
            return (0 if alow is not None and blow is not None and alow >= 0 and blow >= 0 else None), None
        case Binary(op="min", lhs=a, rhs=b):
            return _extreme(a, b, ranges, min, loose_low=False)
        case Binary(op="max", lhs=a, rhs=b):
            return _extreme(a, b, ranges, max, loose_low=True)
        case _:
            return (0, None) if not expr.dtype.is_signed and expr.dtype.is_integer else (None, None)


def _extreme(
    a: Expr, b: Expr, ranges: Ranges, pick: Callable[[Iterable[int]], int], loose_low: bool
) -> tuple[Bound, Bound]:
    """Bounds of min or max: the bound on the picked side needs one operand only."""
    (alow, ahigh), (blow, bhigh) = (interval(linear(e, ranges), ranges) for e in (a, b))
    lows = [x for x in (alow, blow) if x is not None]
    highs = [x for x in (ahigh, bhigh) if x is not None]
    low = pick(lows) if len(lows) == 2 or (loose_low and lows) else None
    high = pick(highs) if len(highs) == 2 or (not loose_low and highs) else None
    return low, high


def _widens(source: DType, to: DType) -> bool:
    """Whether another integer dtype has all values of one."""
    integers = source.is_integer and to.is_integer and source is not to
    return integers and to.min <= source.min and source.max <= to.max


def to_expr(form: Linear, like: Expr) -> Expr:
    """A form as an expression of the dtype of `like`, into which narrower terms are cast; positive terms first."""
    result: Expr | None = None
    ordered = sorted(form.terms.items(), key=lambda item: (item[1] < 0, text_order(item[0])))
    for a, c in ordered:
        a = Cast(like.dtype, a) if _widens(a.dtype, like.dtype) else a
        term = a if abs(c) == 1 else Binary("mul", const(abs(c), like.dtype), a)
        if result is None:
            result = term if c > 0 else Unary("neg", term)
        else:
            result = Binary("add" if c > 0 else "sub", result, term)
    if result is None:
        return const(form.const, like.dtype)
    if form.const:
        op = "add" if form.const > 0 else "sub"
        result = Binary(op, result, const(abs(form.const), like.dtype))
    return result


def least(forms: Sequence[Linear]) -> Linear | None:
    """The smallest of forms that differ by numbers; None for others."""
    least = forms[0]
    for form in forms[1:]:
        difference = form - least
        if not difference.is_const:
            return None
        least = form if difference.const < 0 else least
    return least


def tidy(condition: Expr) -> Expr:
    """An integer comparison without what both of its sides have."""
    if not isinstance(condition, Binary) or not condition.lhs.dtype.is_signed:
        return condition
    if condition.op not in COMPARE_OPS:
        return condition
    form = linear(condition.lhs) - linear(condition.rhs)
    left = Linear({a: c for a, c in form.terms.items() if c > 0}, max(form.const, 0))
    right = Linear({a: -c for a, c in form.terms.items() if c < 0}, max(-form.const, 0))
    return Binary(condition.op, to_expr(left, condition.lhs), to_expr(right, condition.lhs))


class _Range(Protocol):
    @property
    def low(self) -> Linear: ...
    @property
    def extent(self) -> Linear: ...


def same_range(a: _Range, b: _Range) -> bool:
    """Whether two variables, or axes, have the same values in the same order."""
    return a.low.equals(b.low) and a.extent.equals(b.extent)


def residue(expr: Expr, var: Var) -> tuple[int, Expr] | None:
    """The number c and the n of `(var + c) % n`, if an expression is that."""
    match expr:
        case Binary(op="floormod", lhs=at, rhs=n):
            rest = linear(at) - atom(var)
            return (rest.const, n) if rest.is_const else None
        case _:
            return None


def apart(indices: Iterable[Expr], variables: Collection[Var]) -> bool:
    """Whether places differ wherever some variables do: each of these is the only one in an index, as a multiple."""
    alone: set[Expr] = set()
    for index in indices:
        named = [t for t in linear(index).terms if not free_vars(t).isdisjoint(variables)]
        if len(named) == 1 and named[0] in variables:
            alone.add(named[0])
    return alone.issuperset(variables)
