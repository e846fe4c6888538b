"""Index expressions after a change of loops, made small again: sums in order, quotients and remainders of what is left.

Only laws of whole numbers are used, and a quotient is dropped where isl proves it constant. Real simplification is the
optimizer's; this keeps what a primitive writes readable.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import (
    TRUE,
    Binary,
    Block,
    Const,
    Expr,
    If,
    Stmt,
    Unary,
    Var,
    const,
)
from ir.presburger import sets as pb
from ir.presburger.facts import learned, proven
from ir.traverse import children, free_vars, has_loads, map_stmt, rebuilt, with_children


class _Sum(Struct):
    """A constant, and atoms with their factors."""

    constant: int = 0
    terms: dict[Expr, int] = field(default_factory=lambda: dict[Expr, int]())

    def add(self, other: _Sum, factor: int = 1) -> _Sum:
        terms = dict(self.terms)
        for atom, count in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * count
        return _Sum(self.constant + factor * other.constant, {a: k for a, k in terms.items() if k != 0})


class Tidy(Struct, frozen=True):
    """Rewrites expressions that mention one of `changed`; `order` says which variables sums start with."""

    order: Sequence[Var]
    changed: frozenset[Var]

    def statement(self, stmt: Stmt, known: isl.Set) -> Stmt:
        """`stmt` with its expressions tidied and proven conditions decided; `known` holds where it stands."""
        match stmt:
            case If() as branch:
                return self._branch(branch, known)
            case Block() if stmt.axes or stmt.init is not None:
                return map_stmt(stmt, lambda e: self.expr(e, known))
            case _:
                return rebuilt(stmt, lambda e: self.expr(e, known), lambda s: self._part(stmt, s, known))

    def _part(self, stmt: Stmt, part: Stmt, known: isl.Set) -> Stmt:
        return self.statement(part, known.intersect(learned(stmt, part)))

    def _branch(self, branch: If, known: isl.Set) -> Stmt:
        cond = self.condition(branch.cond, known)
        holds = pb.condition(cond)
        then = self.statement(branch.then, known.intersect(holds.may))
        if cond.same(TRUE):
            return then
        other = self.statement(branch.other, known.intersect(holds.negated().may))
        return replace(branch, cond=cond, then=then, other=other)

    def condition(self, cond: Expr, known: isl.Set) -> Expr:
        """A condition without the conjuncts that are proven."""
        if not self._concerns(cond):
            return cond
        match cond:
            case Binary(op="and", lhs=a, rhs=b):
                left = self.condition(a, known)
                right = self.condition(b, known if left.same(TRUE) else known.intersect(pb.condition(a).may))
                if left.same(TRUE):
                    return right
                return left if right.same(TRUE) else replace(cond, lhs=left, rhs=right)
            case _:
                return TRUE if not has_loads(cond) and proven(cond, known) else self.expr(cond, known)

    def expr(self, expr: Expr, known: isl.Set) -> Expr:
        """An expression with its integer parts tidied; sums of loaded values keep their order."""
        if not self._concerns(expr):
            return expr
        if expr.dtype in (DType.INT32, DType.INT64) and not has_loads(expr):
            found = self._sum(expr, known)
            if all(abs(k) < 2**31 for k in (found.constant, *found.terms.values())):
                return self._written(found, expr)
            return expr
        return with_children(expr, tuple(self.expr(c, known) for c in children(expr)))

    def _concerns(self, expr: Expr) -> bool:
        return not self.changed.isdisjoint(free_vars(expr))

    # Sums ------------------------------------------------------------------------------------------------------------

    def _sum(self, expr: Expr, known: isl.Set) -> _Sum:
        match expr:
            case Const(value=value):
                return _Sum(int(value))
            case Unary(op="neg", operand=a):
                return _Sum().add(self._sum(a, known), -1)
            case Binary(op="add" | "sub" as op, lhs=a, rhs=b):
                return self._merged(self._sum(a, known).add(self._sum(b, known), 1 if op == "add" else -1), known)
            case Binary(op="mul", lhs=a, rhs=b):
                left, right = self._sum(a, known), self._sum(b, known)
                if not left.terms:
                    return _Sum().add(right, left.constant)
                if not right.terms:
                    return _Sum().add(left, right.constant)
                return _Sum(0, {Binary("mul", self._written(left, a), self._written(right, b)): 1})
            case Binary(op="floordiv" | "floormod" as op, lhs=a, rhs=Const(value=int() as divisor)) if divisor > 0:
                return self._divided(op == "floordiv", self._sum(a, known), divisor, expr, known)
            case _:
                return _Sum(0, {with_children(expr, tuple(self.expr(c, known) for c in children(expr))): 1})

    def _divided(self, quotient: bool, dividend: _Sum, divisor: int, at: Expr, known: isl.Set) -> _Sum:
        """`dividend // divisor` or `dividend % divisor`, multiples of the divisor taken out."""
        if divisor == 1:
            return dividend if quotient else _Sum()
        whole = {a: k for a, k in dividend.terms.items() if k % divisor == 0}
        rest = {a: k for a, k in dividend.terms.items() if k % divisor != 0}
        taken = abs(dividend.constant) // divisor * (1 if dividend.constant > 0 else -1)
        left = _Sum(dividend.constant - taken * divisor, rest)
        out = _Sum(taken, {a: k // divisor for a, k in whole.items()}) if quotient else _Sum()
        written = self._written(left, at)
        fixed = 0 if not left.terms and left.constant == 0 else _constant(written, divisor, known)
        if fixed is not None:
            return out.add(_Sum(fixed)) if quotient else left.add(_Sum(-fixed * divisor))
        if quotient and left.constant == 0 and list(left.terms.values()) == [1]:
            (atom,) = left.terms
            match atom:  # x // a // b is x // (a * b)
                case Binary(op="floordiv", lhs=x, rhs=Const(value=int() as inner)) if inner > 0:
                    return out.add(_Sum(0, {Binary("floordiv", x, const(inner * divisor, at.dtype)): 1}))
                case _:
                    pass
        op = "floordiv" if quotient else "floormod"
        return out.add(_Sum(0, {Binary(op, written, const(divisor, at.dtype)): 1}))

    def _merged(self, total: _Sum, known: isl.Set) -> _Sum:
        """A sum in which `c * (x // c) + x % c` is `x`."""
        for atom, count in total.terms.items():
            match atom:
                case Binary(op="floormod", lhs=x, rhs=Const(value=int() as c)):
                    other = Binary("floordiv", x, const(c, atom.dtype))
                    if total.terms.get(other) == count * c:
                        left = {a: k for a, k in total.terms.items() if a is not atom and not a.same(other)}
                        return self._merged(_Sum(total.constant, left).add(self._sum(x, known), count), known)
                case _:
                    pass
        return total

    def _written(self, total: _Sum, like: Expr) -> Expr:
        """The expression of a sum: variables in order, a positive term first, the constant last."""
        dtype = like.dtype
        ranks = {v: k for k, v in enumerate(self.order)}
        ordered = sorted(total.terms, key=lambda a: min((ranks.get(v, -1) for v in free_vars(a)), default=-1))
        first = next((a for a in ordered if total.terms[a] > 0), None)
        result: Expr
        if first is None:
            if not ordered or total.constant != 0:
                result, rest, constant = const(total.constant, dtype), ordered, 0
            else:
                result = _scaled(ordered[0], total.terms[ordered[0]])
                rest, constant = ordered[1:], 0
        else:
            result, constant = _scaled(first, total.terms[first]), total.constant
            rest = [a for a in ordered if a is not first]
        for atom in rest:
            count = total.terms[atom]
            result = Binary("add" if count > 0 else "sub", result, _scaled(atom, abs(count)))
        if constant != 0:
            result = Binary("add" if constant > 0 else "sub", result, const(abs(constant), dtype))
        return result


def _scaled(atom: Expr, count: int) -> Expr:
    if count == 1:
        return atom
    return Unary("neg", atom) if count == -1 else Binary("mul", const(count, atom.dtype), atom)


def _constant(dividend: Expr, divisor: int, known: isl.Set) -> int | None:
    """The one value of `dividend // divisor` wherever `known` holds; None if there are several."""

    def question() -> int | None:
        amount = pb.affine(Binary("floordiv", dividend, const(divisor, dividend.dtype)))
        if amount is None:
            return None
        member = pb.sample(known)
        if member is None:
            return None
        at = pb.always()
        for name, value in member[0].items():
            at = at.intersect(pb.symbol(name).eq_set(pb.number(value)))
        spot = pb.sample(isl.Set.from_pw_aff(amount.intersect_domain(at)))
        if spot is None:
            return None
        (value,) = spot[1]
        return value if known.is_subset(amount.eq_set(pb.number(value))) else None

    return pb.within_budget(question, None)
