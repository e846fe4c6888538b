"""Functions with names in the place of numbers, so that those which differ in numbers only are equal; and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ir.fold import with_positive_number
from ir.nodes import Binary, Cast, Const, Expr, Load, PrimFunc, Select, Stmt, Store, Unary, Var
from ir.traverse import children, map_expr, map_stmt, with_children


class Abstract(Struct, frozen=True):
    """A function whose last parameters are scalars in the place of `numbers`."""

    func: PrimFunc
    numbers: Mapping[Var, Const]

    def back(self, func: PrimFunc) -> PrimFunc:
        """A function that was made of the abstract one, with the numbers in the places of the scalars."""

        def one(expr: Expr) -> Expr:
            return self.numbers.get(expr, expr) if isinstance(expr, Var) else with_positive_number(expr)

        params = tuple(p for p in func.params if not isinstance(p, Var) or p not in self.numbers)
        return replace(func, params=params, body=map_stmt(func.body, lambda e: map_expr(e, one)))


def abstract(func: PrimFunc) -> Abstract | None:
    """`func`, whose names say nothing, for any numbers in place of its own; None where it has none to replace.

    Those are what values are computed with: integers in places, bounds and conditions stay, exponents and divisors, and
    0, 1, 2 and their inverses. A name says of a number which sign it has, whether it is a power of two, and where it
    comes among all of the function: functions with numbers in another order, or with equal ones at other places, are
    different.
    """
    found: dict[Expr, Const] = {}

    def note(const: Const) -> Const:
        found.setdefault(const, const)
        return const

    _mapped(func.body, note)
    order = sorted({const.value for const in found.values()})
    numbers: dict[Expr, Var] = {}
    for const in sorted(found.values(), key=lambda e: (e.value, str(e.dtype))):
        if abs(const.value) not in (0, 0.5, 1, 2):
            kind = "power" if math.frexp(const.value)[0] in (0.5, -0.5) else "number"
            name = f"{'minus_' if const.value < 0 else ''}{kind}{order.index(const.value)}_{const.dtype}"
            numbers[const] = Var(name, const.dtype)
    if not numbers:
        return None
    named = replace(
        func,
        params=(*func.params, *numbers.values()),
        body=_mapped(func.body, lambda const: numbers.get(const, const)),
    )
    return Abstract(named, {var: found[const] for const, var in numbers.items()})


def _mapped(body: Stmt, change: Callable[[Const], Expr]) -> Stmt:
    """A body with what values are computed with changed."""

    def stored(stmt: Stmt) -> Stmt:
        return replace(stmt, value=_expr(stmt.value, change, stored=True)) if isinstance(stmt, Store) else stmt

    return map_stmt(body, lambda e: _expr(e, change, stored=False), stored)


def _expr(expr: Expr, change: Callable[[Const], Expr], *, stored: bool) -> Expr:
    """An expression with its numbers changed; the integers of one that is `stored`, or equals an element."""
    match expr:
        case Const(value=value, dtype=dtype):
            plain = dtype.is_integer if stored else dtype.is_float and math.isfinite(value)
            return change(expr) if plain else expr
        case Binary(op="pow", lhs=lhs, rhs=rhs):
            return replace(expr, lhs=_expr(lhs, change, stored=stored), rhs=rhs)
        case Select(cond=cond, then=then, other=other):
            arms = (_expr(arm, change, stored=stored) for arm in (then, other))
            return with_children(expr, (_expr(cond, change, stored=False), *arms))
        case Binary(op="eq", lhs=Load(), rhs=Const()):
            return replace(expr, rhs=_expr(expr.rhs, change, stored=expr.rhs.dtype.is_integer))
        case Binary(op="add" | "sub" | "mul" | "min" | "max") | Cast() | Unary(op="neg"):
            return with_children(expr, tuple(_expr(part, change, stored=stored) for part in children(expr)))
        case _:
            return with_children(expr, tuple(_expr(part, change, stored=False) for part in children(expr)))
