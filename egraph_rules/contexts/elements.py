"""Elements of buffers in Presburger arithmetic: each that some known condition is about gets a name there.

So does what is rounded to an integer, as the pixel that a position lies in: integers that sets cannot express.
Only comparisons count that are known to hold: to evaluate one, its elements must have been defined.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import islpy as isl

from egraph_rules.contexts.assumed import of_trips
from ir.analysis import contents as held
from ir.dtypes import DType
from ir.nodes import COMPARE_OPS, Binary, Buffer, Cast, Const, Expr, For, Load, Unary, Var
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.opaque import values_of
from ir.shown import text_order
from ir.traverse import (
    children,
    free_vars,
    has_loads,
    has_rounded,
    is_lazy,
    is_rounded,
    loads,
    walk_expr,
    with_children,
)

if TYPE_CHECKING:
    from egraph_rules.contexts.facts import Facts


def named_in(expr: Expr) -> Iterator[Load | Cast]:
    """What may get a name in an expression: elements of buffers, and floats that are made integers."""
    return (e for e in walk_expr(expr) if isinstance(e, Load) or is_rounded(e)) if has_named(expr) else iter(())


def has_named(expr: Expr) -> bool:
    """Whether anything in an expression may get a name."""
    return has_loads(expr) or has_rounded(expr)


class Elements:
    """Variables in the place of elements, and a params set of the values that they can have together."""

    def __init__(self, conditions: Iterable[tuple[Expr, bool]]) -> None:
        self._names: dict[Expr, Var] = {}
        self.values = pb.always()
        for cond, truth in conditions:
            for element in named_in(cond):
                self._name(element)
            holds = pb.condition(self.named(cond))
            self.values = self.values.intersect(holds.may if truth else holds.negated().may)

    def _name(self, element: Load | Cast) -> None:
        if element not in self._names and (element.dtype.is_integer or element.dtype is DType.BOOL):
            name = f"?{len(self._names)}"
            self._names[element] = Var(name, element.dtype)
            self.values = self.values.intersect(values_of(element.dtype, name))

    def named(self, expr: Expr) -> Expr:
        """An expression with variables for the elements that have one."""
        if isinstance(expr, Load | Cast) and expr in self._names:
            return self._names[expr]
        old = children(expr)
        new = tuple(map(self.named, old))
        return expr if all(map(operator.is_, old, new)) else with_children(expr, new)

    def __contains__(self, load: Load) -> bool:
        return load in self._names


def elements(
    facts: Facts, exprs: Iterable[Expr], asked: frozenset[Buffer] = frozenset(), defined: Iterable[Load] = ()
) -> Elements | None:
    """The elements that expressions read and that something is known about in a context; None for none.

    Those that they are compared with are among them. What is known of buffers that are `asked` about already is left
    out, or two could tell of each other for ever. Of elements that are `defined` their dtype is known.
    """
    read = {element for expr in exprs for element in named_in(expr)}
    known = [*_about(facts, read, asked)]
    linked = {element for c, _ in known for element in named_in(c)} - read
    known += _about(facts, linked, asked) if linked else ()
    known += [(Binary("eq", load, load), True) for load in defined]
    return Elements(dict.fromkeys(known)) if known else None


def _about(facts: Facts, read: Collection[Load | Cast], asked: frozenset[Buffer]) -> Iterator[tuple[Expr, bool]]:
    """The conditions on some elements, and whether they hold."""
    yield from ((c, v) for c, v, about in tests(facts) if not about.isdisjoint(read))
    buffered = sorted((e for e in read if isinstance(e, Load)), key=text_order)
    yield from ((c, True) for e in buffered for c in told(facts, e, asked) if has_loads(c))


def tests(facts: Facts) -> Sequence[tuple[Expr, bool, frozenset[Expr]]]:
    """The conditions on elements that are known word for word, whether they hold, and which elements these are."""
    if not facts.tests:
        known = [*((c, v) for c, v in facts.conditions if _is_test(c)), *((c, True) for c in _of_names(facts))]
        facts.tests.append([(c, v, frozenset(named_in(c))) for c, v in known])
    return facts.tests[0]


def _of_names(facts: Facts) -> Iterator[Expr]:
    """That names which bindings have given to integers are equal to what they were bound to."""
    for (buffer, value), region in facts.known.items():
        integer = held.is_binding(buffer) and value.dtype.is_integer and has_loads(value) and not is_lazy(value)
        if integer and facts.domain.is_subset(region.params()):  # else it may have been written since
            yield Binary("eq", Var(held.bound_name(buffer), value.dtype), value)


def values_of_name(facts: Facts, var: Var, value: Expr) -> isl.Set:
    """What is known of a name that a binding gives to an integer which is made of elements, as a params set."""
    known = elements(facts, (value,)) if var.dtype.is_integer else None
    meaning = None if known is None else pb.affine(known.named(value))
    if known is None or meaning is None:
        return pb.always()
    return _of_variables(known.values.intersect(pb.symbol(var.name).eq_set(meaning)))


def values_of_trip(facts: Facts, loop: For) -> isl.Set:
    """What is known of the variable of a loop that runs between elements, as a params set."""
    bounds = [cond for cond, _ in of_trips(loop) if has_loads(cond)]
    known = elements(facts, bounds) if bounds else None
    if known is None:
        return pb.always()
    values = known.values.intersect(facts.domain)
    return _of_variables(reduce(isl.Set.intersect, (pb.condition(known.named(c)).may for c in bounds), values))


def _of_variables(values: isl.Set) -> isl.Set:
    """What values of variables and elements say of the variables alone."""
    return pb.forget(values, {name for name in pb.variables(values) if name.startswith("?")})


def place(facts: Facts, indices: tuple[Expr, ...], asked: frozenset[Buffer] = frozenset()) -> isl.Set | None:
    """The elements that indices may name, by what is known of the data that they read; None if that is not said."""
    known = elements(facts, indices, asked) if any(map(has_named, indices)) else None
    if known is None:
        return facts.spot(indices)
    spot = pb.point(map(known.named, indices))
    return None if spot is None else spot.intersect_params(facts.domain.intersect(known.values))


def membership(facts: Facts, region: isl.Set, indices: tuple[Expr, ...]) -> Expr | None:
    """The condition that indices which are not quasi-affine, such as `f // w`, name an element of a region.

    None where they are, or read data, or the region has several pieces or mentions what no index or condition does.
    """
    if any(map(has_loads, indices)) or region.n_basic_set() != 1 or facts.spot(indices) is not None:
        return None
    scope = {v.name: v for v in free_vars(*indices, *(c for c, _ in facts.conditions))}
    scope |= {f"${axis}": held.coordinate(axis, index.dtype) for axis, index in enumerate(indices)}
    where = held.coordinates(region).gist(facts.domain)
    if not pb.variables(where) <= scope.keys():
        return None
    return held.at(readback.condition(where, scope), indices)


def assured(facts: Facts, cond: Expr) -> bool:
    """Whether a condition is known of an element that it reads, word for word or with a number further off."""
    return any(_implies(known, cond) for load in loads(cond) for known in told(facts, load))


def pinned(facts: Facts, load: Load) -> int | None:
    """The one number that an integer element can be by the conditions on data around a place, if it is only one."""
    if not (load.dtype.is_integer and any(load in named_in(c) for c, _ in facts.conditions if _is_test(c))):
        return None
    known = elements(facts, (load,))
    name = None if known is None or load not in known else pb.affine(known.named(load))
    if known is None or name is None:
        return None
    values = isl.Set.from_pw_aff(name).intersect_params(facts.domain.intersect(known.values))
    values = pb.without(values, pb.variables(values))
    found = pb.sample(values)
    return found[1][0] if found is not None and values.is_singleton() else None


def told(facts: Facts, load: Load, asked: frozenset[Buffer] = frozenset()) -> Sequence[Expr]:
    """The conditions that are known to hold of an element, of none of a buffer that is `asked` about already."""
    known = [] if load.buffer in asked else facts.conditions_on(load.buffer)
    if not known:
        return ()
    key = load, asked
    if key not in facts.told:
        facts.told[key] = tuple(_told(facts, load, known, asked | {load.buffer}))
    return facts.told[key]


def is_told(facts: Facts, load: Load) -> bool:
    """Whether some condition is known to hold of an element, which it can only if that is no undef."""
    if told(facts, load):
        return True
    named = elements(facts, (load,))
    return named is not None and load in named


def _told(facts: Facts, load: Load, known: Sequence[tuple[Expr, isl.Set]], asked: frozenset[Buffer]) -> Iterator[Expr]:
    spot = place(facts, load.indices, asked)
    for cond, region in known:
        here = held.at(cond, load.indices) if spot is not None and spot.is_subset(region) else None
        if here is None:
            continue
        while isinstance(here, Binary) and here.op == "or":  # a comparison, unless something on data holds
            if decided(facts, here.lhs, asked) is not False:
                break
            here = here.rhs
        else:
            yield here


def decided(
    facts: Facts, cond: Expr, asked: frozenset[Buffer] = frozenset(), defined: Iterable[Load] = ()
) -> bool | None:
    """Whether a condition follows from what is known of the elements that it reads; None if that does not tell."""
    known = elements(facts, (cond,), asked, defined) if _compares_integers(cond) else None
    if known is None:
        return None
    holds, values = pb.condition(known.named(cond)), facts.domain.intersect(known.values)
    if values.is_empty():
        return None
    return True if values.is_subset(holds.must) else False if values.is_disjoint(holds.may) else None


def _compares_integers(cond: Expr) -> bool:
    """Whether some comparison in a condition is one of numbers that may have names: floats have none."""
    match cond:
        case Binary(op="and" | "or", lhs=a, rhs=b):
            return _compares_integers(a) or _compares_integers(b)
        case Unary(op="not", operand=a):
            return _compares_integers(a)
        case _:
            return not (isinstance(cond, Binary) and cond.lhs.dtype.is_float)


def _implies(known: Expr, cond: Expr) -> bool:
    match known, cond:
        case (
            Binary(op="ge" | "le" as side, lhs=a, rhs=Const(value=near)),
            Binary(op="ge" | "le" as asked, lhs=b, rhs=Const(value=far)),
        ) if side == asked and a.same(b):
            return far <= near if side == "ge" else far >= near
        case _:
            return known.same(cond)


def _is_test(cond: Expr) -> bool:
    """Whether a condition is made of comparisons of integers: of elements that none of them needs it says nothing."""
    match cond:
        case Binary(op="and" | "or", lhs=a, rhs=b):
            return _is_test(a) and _is_test(b)
        case Unary(op="not", operand=a):
            return _is_test(a)
        case _:
            return _compares(cond)


def _compares(cond: Expr) -> bool:
    return isinstance(cond, Binary) and cond.op in COMPARE_OPS and not cond.lhs.dtype.is_float and not is_lazy(cond)
