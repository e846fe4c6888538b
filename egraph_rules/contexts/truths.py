"""Whether conditions hold: by the sets that variables are in, by a second prover, by what elements hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, cast

import islpy as isl

import egraph_rules.contexts.intervals as intervals
import egraph_rules.contexts.smt as smt
from egraph_rules.contexts.elements import assured, decided, has_named, membership
from egraph_rules.contexts.facts import Facts
from egraph_rules.contexts.ranges import Ranges
from egraph_rules.contexts.sampled import drawn, settled
from egraph_rules.contexts.values import Values
from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Load, Unary, Var, const
from ir.presburger import sets as pb
from ir.presburger.points import evaluated, has_values
from ir.traverse import conjuncts_of, free_vars, has_loads, loads, walk_expr

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts

Prover = Callable[[Expr, Iterable[tuple[Expr, bool]]], "bool | None"]

# What an element holds may hang on a condition on elements, and what those hold on another: a chain of stages, each
# of which keeps what it finds under a condition, has no end to them.
_MOST_NESTED = 2
_WIDE = 32  # bits: that narrower integers have bounds may matter
_STEPS = 40_000  # of z3, some hundredths of a second
_BY_UNKNOWNS = ("mul", "floordiv", "floormod")
_MOST_GIVEN = 24


class Truths:
    """The conditions of one search."""

    def __init__(self, contexts: Contexts, values: Values, ranges: Ranges) -> None:
        self._contexts = contexts
        self._values = values
        self._ranges = ranges
        self._inside: dict[tuple[int, int], tuple[bool, isl.Set, isl.Set]] = {}  # by identity: sets that live as long
        self._nested = 0  # conditions on elements that are asked about for the sake of others

    def by_sets(self, facts: int, cond: Expr) -> bool | str | None:
        """As `of`, by sets alone; "depends" where these say that neither can be proven."""
        contexts = self._contexts
        f = contexts.facts(facts)
        for known, value in f.conditions:
            if known.same(cond):
                return value
        key = ("truth", contexts.place(facts), bool(f.conditions), cond)
        return cast("bool | str | None", contexts.ask(key, lambda: _by_sets(f, cond), None))

    def of(self, facts: int, cond: Expr) -> bool | None:
        """Whether a condition always (True) or never (False) holds; None when neither is proven."""
        contexts = self._contexts
        f, found = contexts.facts(facts), self.by_sets(facts, cond)
        prover = contexts.prover
        if found is None and not has_loads(cond):
            key = ("intervals", contexts.place(facts), cond)
            found = contexts.ask(key, lambda: intervals.decided(cond, f.domain), None)
        if found is None and prover is not None:
            found = contexts.ask(("prover", f.assumed, cond), lambda: prover(cond, f.assumed), None)
        if found is None and prover is None and not has_loads(cond):
            key = ("products", contexts.place(facts), tuple(c for c in f.conditions if not has_loads(c[0])), cond)
            found = contexts.ask(key, lambda: _by_products(f, cond), None)
        if found is None and has_named(cond):
            deep = self._nested >= _MOST_NESTED

            def question() -> bool | str | None:
                whole = cond if deep else self._with_elements(facts, cond)
                if not has_named(whole):
                    return _by_sets(f, whole)
                narrow = tuple(dict.fromkeys(loads(whole))) if _bounds_itself(whole) else ()
                return _by_elements(f, whole, narrow if all(contexts.defined(facts, e) for e in narrow) else ())

            found = contexts.ask(("data", facts, cond, deep), question, None)
        if found is None:
            value = contexts.value(facts, cond)
            return bool(value.value) if isinstance(value, Const) else self._ranges.compared(facts, cond)
        return found if isinstance(found, bool) else None

    def names(self, facts: int, spot: isl.Set | None, region: isl.Set, indices: tuple[Expr, ...]) -> bool:
        """Whether indices, of which `spot` is what sets say of their place, name an element of a region."""
        if spot is not None:
            key = id(spot), id(region)
            if key not in self._inside:
                self._inside[key] = spot.is_subset(region), spot, region
            return self._inside[key][0]
        cond = membership(self._contexts.facts(facts), region, indices)
        return cond is not None and all(self.of(facts, part) for part in conjuncts_of(cond))

    def _with_elements(self, facts: int, cond: Expr) -> Expr:
        """A condition with what elements hold put in."""
        self._nested += 1
        try:
            return self._values.put_in(facts, cond)
        finally:
            self._nested -= 1


def _by_sets(f: Facts, cond: Expr) -> bool | str | None:
    """Whether a condition follows from the sets that variables are in; "depends" where that is known to be open."""
    holds = pb.condition(cond)
    if f.domain.is_subset(holds.must):
        return True
    if f.domain.is_disjoint(holds.may):
        return False
    return "depends" if holds.exact and not f.conditions else None


def _by_elements(f: Facts, cond: Expr, defined: Sequence[Load]) -> bool | None:
    """Whether a condition follows from what is known of the elements that it reads, and the dtypes of some."""
    return True if assured(f, cond) else decided(f, cond, defined=defined)


def _bounds_itself(cond: Expr) -> bool:
    """Whether a part of a condition has bounds whatever the elements are that it reads."""
    return any(
        (isinstance(e, Load) and e.dtype.is_integer and e.dtype.bits < _WIDE)
        or (isinstance(e, Binary) and e.op in ("bitand", "floormod", "truncmod") and has_loads(e.lhs))
        for e in walk_expr(cond)
    )


def _by_products(facts: Facts, cond: Expr) -> bool | None:
    """Whether a condition on products or quotients of sizes follows, which z3 decides; None where it is left open.

    Given are linear inequalities, which are read off the sets that variables are in, and the conditions that sets do
    not express, such as the bound `k < h * w` of a loop. All are about mathematical integers, which may fit no dtype.
    """
    if not any(map(_is_product, walk_expr(cond))):
        return None
    told = [(c, v) for c, v in facts.conditions if not has_loads(c)]
    used = free_vars(cond, *(c for c, _ in told))
    names = {v.name: v for v in used if v.dtype.is_integer and v.dtype is not DType.UINT64}  # which may wrap as int64
    given = [*told, *((c, True) for c in _inequalities(facts.domain, names.values()))]
    if len(given) > _MOST_GIVEN:
        return None
    left = _unrefuted(cond, [c if v else Unary("not", c) for c, v in given])
    found = settled(smt.decide(cond, given, _STEPS, left, ranges=False)) if left else None
    if found and smt.decide(Unary("not", cond), given, _STEPS, ranges=False) is True:
        return None  # what is given contradicts itself: nothing runs here
    return found


def _unrefuted(cond: Expr, given: Sequence[Expr]) -> tuple[bool, ...]:
    """Which truths a condition may have throughout, by some values of variables: a proof of the others is not tried."""
    variables = sorted(free_vars(cond, *given), key=lambda v: v.name)
    if not all(map(has_values, (cond, *given))) or not all(v.dtype.is_integer for v in variables):
        return True, False
    numbers = sorted({int(e.value) for e in walk_expr(cond) if isinstance(e, Const)})
    points = drawn(variables, given, {}, numbers)
    if points is None:
        return True, False
    values, faults = evaluated(cond, points)
    return tuple(truth for truth in (True, False) if not (~faults & ((values != 0) != truth)).any())


def _is_product(expr: Expr) -> bool:
    """Whether no operand of an operation is a number that makes it quasi-affine."""
    if not (isinstance(expr, Binary) and expr.op in _BY_UNKNOWNS and expr.dtype.is_integer):
        return False
    return not (isinstance(expr.rhs, Const) or (expr.op == "mul" and isinstance(expr.lhs, Const)))


def _inequalities(domain: isl.Set, variables: Iterable[Var]) -> Iterator[Expr]:
    """What a params set says of some variables, as inequalities between sums of their multiples."""
    names = {v.name: v for v in variables}
    known = pb.forget(domain, pb.variables(domain) - names.keys()).remove_divs()
    for constraint in known.unshifted_simple_hull().get_constraints():
        sides: dict[bool, list[Expr]] = {True: [], False: []}
        number = constraint.get_constant_val().to_python()
        sides[number > 0].append(const(abs(number), DType.INT64))
        for at in range(constraint.dim(isl.dim_type.param)):
            count = constraint.get_coefficient_val(isl.dim_type.param, at).to_python()
            if count:
                var = Cast(DType.INT64, names[cast("str", constraint.get_dim_name(isl.dim_type.param, at))])
                sides[count > 0].append(Binary("mul", const(abs(count), DType.INT64), var))
        more, less = (_sum(sides[side]) for side in (True, False))
        yield Binary("eq" if constraint.is_equality() else "ge", more, less)


def _sum(parts: list[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("add", a, b), parts, const(0, DType.INT64))
