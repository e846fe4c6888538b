"""Expressions read back from isl objects, through isl's own code generation. The inverse of `ir.presburger.sets`.

isl writes a quasi-affine function or a condition as a small expression tree (Verdoolaege, "isl: An Integer Set Library
for the Polyhedral Model", and Grosser, Verdoolaege, Cohen, "Polyhedral AST Generation Is More Than Scanning
Polyhedra"); this module only renames its operators. Its quotients `pdiv_q` promise a dividend that is not negative, so
floor division means the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import cast

import islpy as isl

from ir.dtypes import DType, Kind
from ir.nodes import Binary, BinaryOp, Cast, Const, Expr, Select, Unary, Var, const
from ir.presburger import sets as pb
from ir.traverse import free_vars, substitute_expr

_BINARY: dict[str, BinaryOp] = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "floordiv",  # isl uses it where the division leaves no remainder
    "fdiv_q": "floordiv",
    "pdiv_q": "floordiv",
    "pdiv_r": "floormod",
    "zdiv_r": "floormod",  # only compared with zero, where every remainder agrees
    "eq": "eq",
    "le": "le",
    "lt": "lt",
    "ge": "ge",
    "gt": "gt",
    "and_": "and",
    "and_then": "and",
    "or_": "or",
    "or_else": "or",
}
_COMPARED = ("eq", "le", "lt", "ge", "gt")
_FOLDS: dict[str, BinaryOp] = {"min": "min", "max": "max"}


def expression(function: isl.PwAff, scope: Mapping[str, Expr], known: isl.Set | None = None) -> Expr:
    """An integer expression equal to `function` where it is defined and `known` holds.

    `scope` gives the expression for each name that the function mentions; the result has the widest of their dtypes,
    at least int32. Unsigned names are cast to signed dtypes where isl adds or multiplies, so that nothing wraps; those
    of 64 bits must be below 2**63 there, and whoever does not know that has to check.
    """
    known = _within(known, scope)
    if known is not None:
        function = function.gist_params(known)
    asked = function.domain() if known is None else function.domain().intersect(known)
    if asked.is_empty():  # nothing ever needs a value of it, so any number is right
        return const(0, DType.INT32)
    # isl compares what holds on pieces over the variables of all of them, which it must know beforehand
    context = _context(known, function.get_domain_space())
    return _Reader(scope).whole(
        isl.AstBuild.from_context(context).expr_from_pw_aff(function.align_params(context.get_space()))
    )


def condition(holds: isl.Set, scope: Mapping[str, Expr], known: isl.Set | None = None) -> Expr:
    """A boolean expression that is true exactly in the params set `holds`, wherever `known` is true."""
    known = _within(known, scope)
    if known is not None:
        holds = holds.gist_params(known)
    holds = holds.coalesce()
    if holds.is_empty():
        return Const(False, DType.BOOL)
    if holds.plain_is_universe():
        return Const(True, DType.BOOL)
    context = _context(known, holds.get_space())
    build = isl.AstBuild.from_context(context)
    found = _Reader(scope).whole(build.expr_from_set(holds.align_params(context.get_space())))
    return const(bool(found.value), DType.BOOL) if isinstance(found, Const) else found


def extremum(line: isl.Set, scope: Mapping[str, Expr], known: isl.Set, *, upper: bool) -> Expr | None:
    """The least or greatest number of a set of numbers, as the maximum or minimum of its affine bounds.

    It is defined wherever `known` holds, also where the set is empty: the greatest is then less than the least, or the
    bounds meet in numbers that the set leaves out. None if the set is a union that is no single range, or unbounded.
    """
    hull = line.coalesce()
    if hull.n_basic_set() != 1:
        return None
    (part,) = hull.get_basic_sets()
    kind = isl.dim_type.set
    found: list[isl.Aff] = []
    for constraint in part.remove_redundancies().get_constraints():
        given = constraint.is_upper_bound(kind, 0) if upper else constraint.is_lower_bound(kind, 0)
        if not given and not (constraint.is_equality() and constraint.involves_dims(kind, 0, 1)):
            continue
        if constraint.involves_dims(isl.dim_type.div, 0, constraint.dim(isl.dim_type.div)):
            return None
        found.append(constraint.get_bound(kind, 0))
    bounds = [isl.PwAff.from_aff(b).project_domain_on_params() for b in found]
    return _outermost(bounds, scope, known, upper=upper) if bounds else None


def _outermost(bounds: list[isl.PwAff], scope: Mapping[str, Expr], known: isl.Set, *, upper: bool) -> Expr:
    """The least of upper bounds, or the greatest of lower ones, without those that another one is tighter than."""
    kept = list(bounds)
    for bound in bounds:
        others = [b for b in kept if b is not bound]
        tighter = (o.le_set(bound) if upper else o.ge_set(bound) for o in others)
        if others and any(known.is_subset(where) for where in tighter):
            kept = others
    exprs = [expression(b, scope, known) for b in kept]
    widest = max((e.dtype for e in exprs), key=lambda d: d.bits)
    return reduce(
        lambda a, b: Binary("min" if upper else "max", a, b),
        (e if e.dtype is widest else Cast(widest, e) for e in exprs),
    )


def coordinate(region: isl.Set, axis: int, *, upper: bool) -> isl.PwAff | None:
    """The least or greatest coordinate of a region on one axis, as a function of its parameters; None if unbounded."""
    rank = region.dim(isl.dim_type.set)
    line = region.project_out(isl.dim_type.set, axis + 1, rank - axis - 1).project_out(isl.dim_type.set, 0, axis)
    plain = line.remove_divs()  # isl takes the equality of a multiple and its quotient for a bound
    bounded = plain.dim_has_upper_bound if upper else plain.dim_has_lower_bound  # that of each part of it
    if not line.is_empty() and not bounded(isl.dim_type.set, 0):
        return None
    return line.dim_max(0) if upper else line.dim_min(0)


def _within(known: isl.Set | None, scope: Mapping[str, Expr]) -> isl.Set | None:
    """What is known of the names in scope: isl would use equalities to bring in others."""
    return None if known is None else pb.forget(known, pb.variables(known) - scope.keys())


def _context(known: isl.Set | None, space: isl.Space) -> isl.Set:
    """What is known, over the variables of a space too."""
    return (pb.always() if known is None else known).align_params(space)


class _Reader:
    """Reads what isl wrote over the names in `scope`, and puts in what they stand for when all is read: that is none of
    isl's sums, and may wrap."""

    def __init__(self, scope: Mapping[str, Expr]) -> None:
        self.scope = scope

    def whole(self, node: isl.AstExpr) -> Expr:
        found = self._read(node)
        named = {v: self.scope[v.name] for v in free_vars(found)}
        return substitute_expr(found, {v: e for v, e in named.items() if not e.same(v)})

    def _read(self, node: isl.AstExpr) -> Expr:
        kind = node.get_type()
        if kind == isl.ast_expr_type.int:
            value = node.get_val().to_python()
            return const(value, DType.INT32 if abs(value) < 2**31 else DType.INT64)
        if kind == isl.ast_expr_type.id:
            name = node.get_id().get_name()
            return Var(name, self.scope[name].dtype)
        op = cast(isl.ast_expr_op_type, node.get_op_type()).name
        parts = [self._read(node.get_op_arg(k)) for k in range(node.get_op_n_arg())]
        if op == "minus":
            return Unary("neg", _signed(parts[0]))
        if op in ("select", "cond"):
            then, other = _level(parts[1:], closed=True)
            return Select(parts[0], then, other)
        if any(p.dtype is DType.BOOL and not isinstance(p, Const) for p in parts) and op in _COMPARED:
            return _truth(op, *parts)
        parts = _level(parts, closed=op not in ("add", "sub", "mul"))
        if op in _FOLDS:
            result = parts[0]
            for part in parts[1:]:
                result = Binary(_FOLDS[op], result, part)
            return result
        return _tidy(_BINARY[op], *parts)


def _truth(op: str, lhs: Expr, rhs: Expr) -> Expr:
    """A comparison of the name of a truth, which is positive or not, with a number."""
    name, value = (rhs, lhs) if isinstance(lhs, Const) else (lhs, rhs)
    assert isinstance(value, Const)
    bound = int(value.value)
    upper = op in ("le", "lt") if name is lhs else op in ("ge", "gt")
    if op == "eq":
        return name if bound >= 1 else Unary("not", name)
    return Unary("not", name) if upper else name


def _level(parts: list[Expr], *, closed: bool) -> list[Expr]:
    """Operands in one dtype: that which they have, if results of it are `closed` in it, else a signed one."""
    dtypes = {p.dtype for p in parts if not isinstance(p, Const)}
    if len(dtypes) == 1:
        (only,) = dtypes
        numbers = [int(p.value) for p in parts if isinstance(p, Const)]
        if not numbers and (closed or only.kind is not Kind.UINT):
            return parts
        if numbers and closed and only.is_integer and only.min <= min(numbers) and max(numbers) <= only.max:
            return [const(int(p.value), only) if isinstance(p, Const) else p for p in parts]
    parts = [_signed(p) for p in parts]
    if len({p.dtype for p in parts}) == 1:
        return parts
    wide = max((p.dtype for p in parts), key=lambda d: d.bits)
    return [
        const(int(p.value), wide) if isinstance(p, Const) else p if p.dtype is wide else Cast(wide, p) for p in parts
    ]


def _signed(part: Expr) -> Expr:
    """An operand of isl's arithmetic, which does not wrap, in a signed dtype that holds it (of 64 bits at most)."""
    if part.dtype.kind is not Kind.UINT:
        return part
    return Cast(DType.INT32 if part.dtype.bits < 32 else DType.INT64, part)


def _tidy(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr:
    """Operators as people write them: `n >= i + 1` is `i < n`, `-y + x` is `x - y`, `x - 4 * (x // 4)` is `x % 4`."""
    match op, lhs, rhs:
        case ("ge", a, Binary(op="add", lhs=b, rhs=Const(value=1))):
            return _less(b, a)
        case ("le", Binary(op="add", lhs=a, rhs=Const(value=1)), b):
            return _less(a, b)
        case ("add", Binary(op="mul", lhs=Const(value=int() as c), rhs=b), a) if c < 0:
            return _tidy("sub", a, Binary("mul", const(-c, a.dtype), b))
        case ("add", Unary(op="neg", operand=a), b):
            return _tidy("sub", b, a)
        case ("sub", a, Binary(op="mul", lhs=Const(value=c), rhs=Binary(op="floordiv", lhs=b, rhs=Const(value=d)))):
            return Binary("floormod", a, const(int(c), a.dtype)) if c == d and a.same(b) else Binary(op, lhs, rhs)
        case _:
            return Binary(op, lhs, rhs)


def _less(lhs: Expr, rhs: Expr) -> Expr:
    """`lhs < rhs`, before both were widened."""
    match lhs, rhs:
        case (Cast(operand=a), Cast(operand=b)) if a.dtype is b.dtype:
            return Binary("lt", a, b)
        case _:
            return Binary("lt", lhs, rhs)
