"""Quasi-affine expressions in the form that isl gives them. Owns the proof that a form faults no more often.

isl decides everything about sums, multiples, quotients and remainders by constants, minima, maxima and comparisons of
them; what is neither, such as a product of variables, stands in for itself. Quotients by symbols are taken apart as
sums of products, of which a prover has to say no more than that a rest lies between zero and the divisor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import islpy as isl

from egraph_rules.authoring.proposal import Here, rewrite_expr
from egraph_rules.contexts.sampled import Open
from ir.dtypes import DType
from ir.nodes import Binary, Const, Expr, Load, Select, Undef, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.polynomials import divided, polynomial, written
from ir.traverse import always_evaluated, children, free_vars, map_expr, node_count, walk_expr

_MAX_PIECES = 4  # a function of more cases has no short form
_MAX_CASES = 16
_OPERATIONS = 50_000


@rewrite_expr(
    law="e  =  the form isl gives the quasi-affine function e",
    because="both are one function of their variables where the context's facts hold, and no part leaves its range",
    family="integer",
)
def affine_form(expr: Expr, here: Here) -> Iterator[Expr]:
    """Integer and boolean expressions over variables, in their normal form under what is known."""
    if isinstance(expr, (Var, Const)) or not (expr.dtype is DType.BOOL or expr.dtype.is_signed):
        return
    if any(isinstance(e, (Load, Undef)) or e.dtype.is_float for e in walk_expr(expr)):
        return  # two readings of undef may differ
    scope = frozenset(free_vars(expr))
    domain = here.once(("known of", scope), lambda: pb.within_budget(lambda: _known_of(scope, here), None, _OPERATIONS))
    if domain is None:
        return
    told = cast(list[tuple[isl.Set, Expr | None]], here.contexts.by_domain.setdefault(("affine form", expr), []))
    found = next((form for where, form in told if where.plain_is_equal(domain)), expr)
    if found is expr:
        found = pb.within_budget(lambda: _form(expr, domain), None, _OPERATIONS)
        told.append((domain, found))
        if found is not None:  # isl would give its own form back
            here.contexts.by_domain.setdefault(("affine form", found), [(domain, None)])
    if found is not None and not found.same(expr):
        yield found


def refines(new: Expr, old: Expr, domain: isl.Set) -> bool | None:
    """Whether `new` has the value of `old` where that has one, in the values of variables that a params set allows.

    None where that is open, as one is not quasi-affine. Signed ones only, since unsigned ones may wrap.
    """
    names = _Names(old)
    variables = {v.name for v in free_vars(old)}
    domain = pb.without(domain, pb.variables(domain) - variables)
    if domain.n_basic_set() > _MAX_PIECES:
        domain = pb.hull(domain)
    if old.dtype is DType.BOOL:
        before, after = pb.condition(old, names), pb.condition(new, names)
        if not before.exact or not after.exact or any(e is old for e in names.exprs.values()):
            return None
        inside = domain.intersect(_fits(old, names))
        same = inside.intersect(before.must).is_subset(after.must) and inside.intersect(after.must).is_subset(
            before.must
        )
    else:
        value, other = pb.affine(old, names), pb.affine(new, names)
        if value is None or other is None or any(e is old for e in names.exprs.values()):
            return None
        inside = domain.intersect(_fits(old, names))
        same = inside.is_subset(value.eq_set(other))
    if any(part not in set(walk_expr(new)) for part in names.exprs.values()):
        return None  # it may divide by zero, which must not be lost
    if not same and names.exprs:
        return None  # more may be true of what stands in for itself
    return same and inside.is_subset(_in_range(new, names))


def decided(cond: Expr, domain: isl.Set) -> bool | Open:
    """Whether a condition always or never holds in the values that a params set allows, or depends on them.

    That no part leaves its range is known, too. Unknown is what is not quasi-affine, or has many cases.
    """
    found = pb.condition(cond)
    if not found.exact or found.must.n_basic_set() * domain.n_basic_set() > _MAX_CASES:
        return Open.UNKNOWN
    inside = domain.intersect(_fits(cond, _Names(cond)))
    if inside.is_subset(found.must):
        return True
    return False if inside.is_disjoint(found.must) else Open.DEPENDS


class _Names:
    """Names for parts that are not quasi-affine; only such as every evaluation of the whole evaluates."""

    def __init__(self, whole: Expr) -> None:
        self.always = set(always_evaluated(whole))
        self.exprs: dict[str, Expr] = {}

    def __call__(self, expr: Expr) -> str | None:
        if expr not in self.always:
            return None
        name = self.known(expr)
        if name is None:
            name = f"?{len(self.exprs)}"
            self.exprs[name] = expr
        return name

    def known(self, expr: Expr) -> str | None:
        """The name that an expression has got."""
        return next((name for name, known in self.exprs.items() if known.same(expr)), None)


def _known_of(scope: frozenset[Var], here: Here) -> isl.Set:
    """What is known of variables, without cases: isl does not count the steps of simplifying under a union."""
    return pb.hull(pb.without(here.domain, pb.variables(here.domain) - {v.name for v in scope}))


def _form(expr: Expr, domain: isl.Set) -> Expr | None:
    names = _Names(expr)
    scope: dict[str, Expr] = {v.name: v for v in free_vars(expr)}
    if expr.dtype is DType.BOOL:
        cond = pb.condition(expr, names)
        if not cond.exact or set(names.exprs.values()) == {expr} or cond.must.n_basic_set() > _MAX_PIECES:
            return None
        new = readback.condition(cond.must, scope | names.exprs, domain)
    else:
        value = pb.affine(expr, names)
        if value is None or any(e is expr for e in names.exprs.values()):
            return None
        value = value.gist_params(domain).coalesce()
        if value.n_piece() > _MAX_PIECES:
            return None
        new = readback.expression(value, scope | names.exprs, domain)
    if new.dtype is not expr.dtype:
        new = Const(int(new.value), expr.dtype) if isinstance(new, Const) else new
    if new.dtype is not expr.dtype:
        return None
    fits = _fits(expr, names)
    return new if fits.intersect(domain).is_subset(_in_range(new, names)) else None


def _fits(expr: Expr, names: _Names) -> isl.Set:
    """Where evaluating an expression leaves no range, as far as sets tell; variables never do."""
    holds = _parts_fit(expr, names, {})
    for var in sorted(free_vars(expr), key=_name):
        value = _value(var, names)
        holds = holds if value is None else holds.intersect(pb.within(value, var.dtype))
    return holds


def _parts_fit(expr: Expr, names: _Names, known: dict[Expr, isl.Set]) -> isl.Set:
    """Where no part that is evaluated leaves its range; more than that, where it is not known which ones are."""
    if expr in known or isinstance(expr, (Const, Var)):
        return known.get(expr, pb.always())
    value = _value(expr, names) if _may_leave(expr) else None
    holds = pb.always() if value is None else pb.within(value, expr.dtype)
    first, *rest = children(expr) or (expr,)
    if first is not expr:
        holds = holds.intersect(_parts_fit(first, names, known))
    for part, unless in zip(rest, _unevaluated(expr, names), strict=False):
        if unless is None:
            holds = holds.intersect(_parts_fit(part, names, known))
        elif pb.condition(first, names).exact:
            fits = _parts_fit(part, names, known)
            holds = holds if fits.plain_is_universe() else holds.intersect(fits.union(unless))
    known[expr] = holds
    return holds


def _name(var: Var) -> str:
    return var.name


def _may_leave(expr: Expr) -> bool:
    """Whether a value may be outside of its range where those of all operands are within theirs.

    Of a choice one arm is evaluated only, so that the value says something of both.
    """
    match expr:
        case Binary(op="min" | "max" | "bitand" | "shr"):
            return False
        case Binary(op="floordiv" | "floormod" | "truncdiv" | "truncmod", rhs=Const(value=int() as n)):
            return n <= 0
        case _:
            return True


def _in_range(expr: Expr, names: _Names) -> isl.Set:
    """Where no part of what isl wrote leaves its range: signed ones would fault, and unsigned ones wrap."""
    if isinstance(expr, Const) or names.known(expr) is not None:
        return pb.always()
    holds = pb.always()
    if expr.dtype.is_integer:
        value = _value(expr, names)
        if value is None:
            return pb.never()
        if _may_leave(expr):
            holds = pb.within(value, expr.dtype)
    first, *rest = (_in_range(part, names) for part in children(expr)) if children(expr) else (pb.always(),)
    holds = holds.intersect(first)
    for part, unless in zip(rest, _unevaluated(expr, names), strict=False):
        holds = holds.intersect(part if unless is None else part.union(unless))
    return holds


def _unevaluated(expr: Expr, names: _Names) -> tuple[isl.Set | None, ...]:
    """For each part after the first, where it is not evaluated; None where it always is."""
    match expr:
        case Select(cond=c):
            test = pb.condition(c, names)
            return test.may.complement(), test.must
        case Binary(op="and", lhs=a):
            return (pb.condition(a, names).may.complement(),)
        case Binary(op="or", lhs=a):
            return (pb.condition(a, names).must,)
        case _:
            return (None,) * len(children(expr))


def _value(expr: Expr, names: _Names) -> isl.PwAff | None:
    return pb.affine(expr, names) if expr.dtype.is_integer else None


# Quotients and remainders that an index map and its inverse leave -------------------------------------------------


@rewrite_expr(
    law="x // y  =  its form, x % y  =  its form   where that is smaller",
    because="a rest between 0 and the divisor is the remainder, and what goes into it whole times is the quotient",
    family="integer",
)
def quotient_form(expr: Expr, here: Here) -> Iterator[Expr]:
    """Quotients and remainders of sums in their normal form where that is smaller.

    An index map and its inverse meet as such, where what a buffer holds is taken from where it was written.
    """
    new = expr
    match expr:
        case Binary(op="floordiv" | "floormod", rhs=Const()) if expr.dtype.is_signed and isinstance(expr.lhs, Binary):
            assert affine_form.propose_expr is not None
            new = next(iter(affine_form.propose_expr(expr, here)), expr)
        case Binary() if _divides_by_symbol(expr):
            new = _by_symbol(expr, here)
        case _:
            pass
    if node_count(new) < node_count(expr):
        yield new


def without_quotients(expr: Expr, here: Here) -> Expr:
    """An expression with smaller forms of its quotients and remainders by symbols, which are dear.

    Those by numbers stay as they are written: the search has both, and loops may be split as they say.
    """

    def smaller(part: Expr) -> Expr:
        return _by_symbol(part, here) if isinstance(part, Binary) and _divides_by_symbol(part) else part

    return map_expr(expr, smaller) if any(map(_divides_by_symbol, walk_expr(expr))) else expr


def _divides_by_symbol(expr: Expr) -> bool:
    match expr:
        case Binary(op="floordiv" | "floormod", rhs=divisor):
            return expr.dtype.is_signed and not isinstance(divisor, Const)
        case _:
            return False


def _by_symbol(expr: Binary, here: Here) -> Expr:
    """A quotient or remainder by a symbol: of what the symbol goes into, and a rest that it does not go into."""
    divisor = polynomial(expr.rhs)
    if len(divisor) != 1 or any(isinstance(e, (Load, Undef)) for e in walk_expr(expr)):
        return expr
    whole, rest = divided(polynomial(expr.lhs), divisor)
    remainder = written(rest, expr)
    zero = const(0, expr.dtype)
    if not (here.truth(Binary("ge", remainder, zero)) and here.truth(Binary("lt", remainder, expr.rhs))):
        return expr
    value = whole if expr.op == "floordiv" else rest
    new = written(value, expr)
    # of one product of two its factors tell nothing that the whole has not told: it was in range a multiple of it
    plain = len(value) < 2 and all(len(factors) <= 2 for factors in value)
    return new if plain or here.decided(new) else expr


AFFINE_RULES = (affine_form,)
