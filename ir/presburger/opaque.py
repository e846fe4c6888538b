"""Names for what Presburger arithmetic cannot express, and what is known of its value all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import islpy as isl

import ir.presburger.sets as pb
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Unary, Undef, Var
from ir.traverse import walk_expr

_LIMIT = 2**62  # larger constants do not fit isl's machine integers


def values_of(dtype: DType, name: str) -> isl.Set:
    """The params set that holds where variable `name` has a value of an integer or bool dtype."""
    value, holds = pb.symbol(name), pb.always()
    if abs(dtype.min) < _LIMIT:
        holds = holds.intersect(value.ge_set(pb.number(dtype.min)))
    if dtype.max < _LIMIT:
        holds = holds.intersect(value.le_set(pb.number(dtype.max)))
    return holds


class Opaque:
    """Gives one name to all occurrences of a steady expression: one whose value cannot change along a path.

    Steady are expressions over variables and over loads from `constant` buffers, which nothing writes. Names start with
    a question mark, which no variable's name does. `told` gives what is assumed of an element.
    """

    def __init__(self, constant: Iterable[Buffer], told: Callable[[Load], Iterable[Expr]] | None = None) -> None:
        self._constant = {b.name for b in constant}
        self._told = told
        self._names: dict[Expr, str | None] = {}
        self._exprs: dict[str, Expr] = {}
        self._ranges: dict[str, isl.Set] = {}

    def __call__(self, expr: Expr) -> str | None:
        """The name of an expression, or None when it is not steady."""
        if expr not in self._names:
            name = f"?{len(self._exprs)}" if self._steady(expr) else None
            self._names[expr] = name
            if name is not None:
                self._exprs[name] = expr
        return self._names[expr]

    def named(self, expr: Expr) -> Expr | None:
        """A sum with variables of these names in place of its steady parts; None if another part is not affine."""
        if pb.affine(expr) is not None:
            return expr
        if isinstance(expr, Binary) and expr.op in ("add", "sub"):
            lhs, rhs = self.named(expr.lhs), self.named(expr.rhs)
            return None if lhs is None or rhs is None else Binary(expr.op, lhs, rhs)
        name = self(expr) if expr.dtype.is_integer else None
        return None if name is None else Var(name, expr.dtype)

    def _steady(self, expr: Expr) -> bool:
        return not any(
            isinstance(e, Undef) or (isinstance(e, Load) and e.buffer.name not in self._constant)
            for e in walk_expr(expr)
        )

    def within(self, region: isl.Set) -> isl.Set:
        """`region`, restricted to values that its opaque expressions can have."""
        done: set[str] = set()
        while pending := {n for n in pb.variables(region) if n in self._exprs} - done:
            for name in sorted(pending):
                if name not in self._ranges:
                    self._ranges[name] = self.range_of(name, self._exprs[name])
                region = region.intersect_params(self._ranges[name])
            done |= pending
        return region

    def range_of(self, name: str, expr: Expr) -> isl.Set:
        known = values_of(expr.dtype, name) if not expr.dtype.is_float else pb.always()
        value, zero = pb.symbol(name), pb.number(0)
        match expr:
            case Binary(op="floormod", rhs=b) if expr.dtype.is_integer:
                divisor = pb.affine(b, self)
                if divisor is not None:  # the remainder lies between zero and the divisor, which is not zero
                    up = value.ge_set(zero).intersect(value.lt_set(divisor))
                    down = value.le_set(zero).intersect(value.gt_set(divisor))
                    known = known.intersect(up.union(down))
            case (
                Binary(op="bitand", lhs=Const(value=int() as mask))
                | Binary(op="bitand", rhs=Const(value=int() as mask))
            ):
                if 0 <= mask < _LIMIT:
                    known = known.intersect(value.ge_set(zero)).intersect(value.le_set(pb.number(mask)))
            case Load() if self._told is not None:
                for cond in self._told(expr):
                    known = known.intersect(pb.condition(cond, self).may)
            case Unary(op="popcount" | "clz"):
                known = known.intersect(value.ge_set(zero)).intersect(value.le_set(pb.number(expr.dtype.bits)))
            case _:
                pass
        return known

    def mentioning(self, region: isl.Set, names: Iterable[str]) -> set[str]:
        """Names of the region's opaque expressions that contain one of the given variables."""
        bound = set(names)
        return {
            name
            for name in pb.variables(region) & self._exprs.keys()
            if any(isinstance(e, Var) and e.name in bound for e in walk_expr(self._exprs[name]))
        }
