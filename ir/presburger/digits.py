"""Quotients and remainders by sizes, and multiples of them, as numbers of their own.

Of `f // n` and `f % n` with a size n, sets of quasi-affine constraints say nothing. Under names of their own, as the
digits of a number f, they are variables like others, in ranges that follow from that of f: from `0 <= f < m * n` that
the quotient is below m, and that n is not zero where there is such an f. So is the start of a row, `i * n`, which from
`0 <= i < m` is at least n below `m * n`. Owns these rules; where names help is for its callers to say, who put the
terms back in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

import islpy as isl
from msgspec import Struct, field

from ir.naming import fresh
from ir.nodes import Alloc, Assume, Binary, Block, Const, Expr, For, If, PrimFunc, Seq, Stmt, Var, const
from ir.presburger import sets as pb
from ir.presburger.polynomials import Monomial, Polynomial, divided, monomial, polynomial, summed, written
from ir.program.edit import plus
from ir.traverse import (
    all_exprs,
    bound_var,
    conjuncts_of,
    free_vars,
    has_loads,
    map_expr,
    map_stmt,
    substitute_expr,
    walk,
    walk_expr,
)

_Less = tuple[Polynomial, Polynomial]  # the first is below the second


class Digits(Struct):
    """Names for the quotients and remainders by sizes that statements at one place use.

    `known` is what holds at the place, of the names too, and `values` what they stand for.
    """

    known: isl.Set
    taken: set[str]
    values: dict[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())
    _bounds: list[_Less] = field(default_factory=lambda: list[_Less]())
    _named: dict[Expr, Var] = field(default_factory=lambda: dict[Expr, Var]())
    _inside: frozenset[Var] = frozenset()  # bound in the statement, so without a value at the place
    _sizes: Mapping[Monomial, Var] = field(default_factory=lambda: dict[Monomial, Var]())  # products that have names

    @staticmethod
    def at(
        path: Sequence[Stmt], known: isl.Set, taken: set[str], sizes: Mapping[Var, Expr] = MappingProxyType({})
    ) -> Digits:
        """For the last statement of a path from a function's body, where `known` holds; `sizes` have names already."""
        digits = Digits(known, taken)
        digits._sizes = {m: var for var, size in sizes.items() for m, count in polynomial(size).items() if count == 1}
        for left, right in _comparisons(path):
            digits._less(*(polynomial(substitute_expr(e, sizes)) for e in (left, right)))
        digits._sizes_of_loops()
        return digits

    def naming(self, stmt: Stmt) -> Stmt:
        """A statement at the place, with names for what its digits are there."""
        self._inside = frozenset(v for s in walk(stmt) for v in bound_var(s))
        return map_stmt(stmt, lambda expr: map_expr(expr, self._renamed))

    def _renamed(self, expr: Expr) -> Expr:
        match expr:
            case Binary(op="floordiv" | "floormod", lhs=a, rhs=b) if expr.dtype.is_signed and not isinstance(b, Const):
                if expr in self._named:
                    return self._named[expr]
                if has_loads(expr) or free_vars(expr) & self._inside or not self._positive(polynomial(b)):
                    return expr
                return self._new(expr, expr.op, a, b)
            case Binary(op="mul", lhs=a, rhs=b) if self._sizes and expr.dtype.is_signed and pb.affine(expr) is None:
                if expr in self._named:
                    return self._named[expr]
                return expr if has_loads(expr) or free_vars(expr) & self._inside else self._new_multiple(expr, a, b)
            case _:
                return expr

    def _new_multiple(self, expr: Expr, a: Expr, b: Expr) -> Var:
        """A name for a multiple of a size: it is as much below that of what its factor is below, if not negative."""
        var = Var(fresh("row", self.taken), expr.dtype)
        self._named[expr] = var
        self.values[var] = substitute_expr(expr, self.values)
        if self._at_least(a, 0) and self._at_least(b, 0):
            self._known(pb.symbol(var.name).ge_set(pb.number(0)))
        for factor, size in ((a, b), (b, a)):
            for left, right in tuple(self._bounds) if self._at_least(size, 0) else ():
                if left == polynomial(factor):
                    whole = self._with_sizes(summed((monomial((*k, size)), v) for k, v in right.items()))
                    end, width = pb.affine(written(whole, expr)), pb.affine(size)
                    if end is not None and width is not None:
                        self._known(pb.symbol(var.name).add(width).le_set(end))
        return var

    def _with_sizes(self, total: Polynomial) -> Polynomial:
        return summed(((self._sizes[k],) if k in self._sizes else k, v) for k, v in total.items())

    def _new(self, expr: Expr, op: str, a: Expr, b: Expr) -> Var:
        var = Var(fresh("digit", self.taken), expr.dtype)
        self._named[expr] = var
        self.values[var] = substitute_expr(expr, self.values)
        if op == "floormod":
            self._known(pb.symbol(var.name).ge_set(pb.number(0)))
            self._below(var, polynomial(b))
            return var
        whole, divisor = polynomial(a), polynomial(b)
        if self._not_negative(whole):
            self._known(pb.symbol(var.name).ge_set(pb.number(0)))
        for left, right in tuple(self._bounds):
            quotient, rest = divided(right, divisor)
            if not rest and left == _shifted(whole, left):
                self._below(var, quotient)
        return var

    def _below(self, var: Var, limit: Polynomial) -> None:
        self._less({(var,): 1}, limit)
        value = pb.affine(written(self._with_sizes(limit), var))
        if value is not None:
            self._known(pb.symbol(var.name).lt_set(value))

    def _known(self, fact: isl.Set) -> None:
        self.known = self.known.intersect(fact)

    # Bounds ----------------------------------------------------------------------------------------------------------

    def _less(self, left: Polynomial, right: Polynomial) -> None:
        """Note that one sum is below another."""
        match list(right.items()):
            case [((Binary(op="floordiv", lhs=whole, rhs=Const(value=int() as by)),), 1)] if by > 0:
                # l < x // c means c * l + c - 1 < x
                self._less(_plus_number({k: by * v for k, v in left.items()}, by - 1), polynomial(whole))
            case _:
                offset = left.get((), 0)
                self._bounds.append((_plus_number(left, -offset), _plus_number(right, -offset)))

    def _sizes_of_loops(self) -> None:
        """Note that sizes are positive whose product is above a number that is not negative."""
        for left, right in self._bounds:
            if len(right) == 1 and self._not_negative(left):
                ((factors, count),) = right.items()
                if count > 0 and all(self._at_least(f, 0) for f in factors):
                    for factor in factors:
                        value = pb.affine(factor)
                        if value is not None:
                            self._known(value.ge_set(pb.number(1)))

    def _at_least(self, expr: Expr, low: int) -> bool:
        value = pb.affine(expr)
        return value is not None and self.known.is_subset(value.ge_set(pb.number(low)))

    def _not_negative(self, total: Polynomial) -> bool:
        if all(v >= 0 and all(self._at_least(f, 0) for f in k) for k, v in total.items()):
            return True
        sample = next((f for k in total for f in k), None)
        return sample is not None and self._at_least(written(total, sample), 0)

    def _positive(self, product: Polynomial) -> bool:
        if len(product) != 1:
            return False
        ((factors, count),) = product.items()
        return count > 0 and all(self._at_least(f, 1) for f in factors)


def sizes_of(func: PrimFunc, taken: set[str]) -> dict[Var, Expr]:
    """Names for the products of sizes that a function's body mentions, if it has multiples of sizes by variables."""
    bound = frozenset(v for s in walk(func.body) for v in bound_var(s))
    shapes = (e for s in walk(func.body) if isinstance(s, Alloc) for e in s.buffer.shape)
    products = dict.fromkeys(
        e
        for whole in (*all_exprs(func.body), *shapes)
        for e in walk_expr(whole)
        if isinstance(e, Binary) and e.op == "mul" and e.dtype.is_signed and not has_loads(e) and pb.affine(e) is None
    )
    sizes = [e for e in products if bound.isdisjoint(free_vars(e))]
    return {Var(fresh("size", taken), e.dtype): e for e in sizes} if len(sizes) < len(products) else {}


def divides_by_sizes(stmt: Stmt, variables: set[Var]) -> bool:
    """Whether a statement takes quotients by sizes of terms in some variables, of which sets know nothing."""
    return any(
        isinstance(e, Binary)
        and e.op in ("floordiv", "floormod")
        and free_vars(e) & variables
        and pb.affine(e) is None
        and not has_loads(e)
        for x in all_exprs(stmt)
        for e in walk_expr(x)
    )


def _comparisons(path: Sequence[Stmt]) -> Iterator[tuple[Expr, Expr]]:
    """Pairs of integer expressions of which the first is below the second wherever the end of a path is reached."""
    for parent, child in pairwise(path):
        match parent:
            case For(var=var, start=start, extent=extent) if extent.dtype.is_signed:
                yield var, plus(start, extent)
            case If(cond=cond, then=then) if then is child:
                yield from _below(cond)
            case Block(predicate=predicate):
                yield from _below(predicate)
            case Seq(stmts=stmts):
                for stmt in stmts:
                    if stmt is child:
                        break
                    if isinstance(stmt, Assume):
                        yield from _below(stmt.cond)
            case _:
                pass


def _below(cond: Expr) -> Iterator[tuple[Expr, Expr]]:
    for part in conjuncts_of(cond):
        if has_loads(part) or not isinstance(part, Binary) or not part.lhs.dtype.is_signed:
            continue
        a, b, one = part.lhs, part.rhs, const(1, part.lhs.dtype)
        match part.op:
            case "lt":
                yield a, b
            case "gt":
                yield b, a
            case "le":
                yield a, plus(b, one)
            case "ge":
                yield b, plus(a, one)
            case _:
                pass


def _plus_number(total: Polynomial, number: int) -> Polynomial:
    return summed((*total.items(), ((), number)))


def _shifted(total: Polynomial, like: Polynomial) -> Polynomial:
    """A sum with the number of another one."""
    return _plus_number(total, like.get((), 0) - total.get((), 0))
