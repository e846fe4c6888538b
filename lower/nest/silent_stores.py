"""Statements that store what is there already, for some of their instances: `x = min(x, x + y)` where y >= 0.

In step k of Floyd and Warshall's algorithm, row and column k only combine with themselves and with the diagonal. Where
that changes nothing, nobody has to wait for it. The laws are rules like those of the search, and are checked like them;
a condition of theirs over terms is what a program may test at run time (`lower/restructure/versioning.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce

import islpy as isl
from msgspec import Struct

from egraph_rules.authoring.rule import (
    ANY,
    BOOL,
    FLOAT,
    INTEGER,
    SIGNED,
    Defined,
    Kinds,
    Rule,
    RuleFunction,
    Term,
    Truth,
    defined,
    instantiate,
    rule,
)
from egraph_rules.rules.operands import IDEMPOTENT_RULES
from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Statement
from ir.dtypes import Kind
from ir.floats import Floats
from ir.nodes import TRUE, Binary, Const, Expr, Load, Select, binary
from ir.presburger import sets as presburger
from ir.traverse import has_loads, loads, map_expr, operands_of
from lower.analysis.freedoms import Form, Policy
from lower.nest.if_conversion import as_extreme

SILENT_STORES = Form(
    "structure.silent_stores",
    "a store of what is there already orders nothing",
    "what a statement leaves as it is nobody waits for",
)

_FINITE = Floats.FINITE | Floats.NO_SIGNED_ZEROS
_COMMUTING = {"add", "mul", "min", "max", "and", "or", "bitand", "bitor"}
_KINDS = {Kind.BOOL: "bool", Kind.INT: "int", Kind.UINT: "uint", Kind.FLOAT: "float"}


def _of_numbers(on: Kinds, because: str) -> Callable[[RuleFunction], tuple[Rule, Rule]]:
    """A law of integers of such kinds, and of floats: of two numbers the greater one, rounded, is no smaller."""

    def both(law: RuleFunction) -> tuple[Rule, Rule]:
        exact = rule(on=on, because=because)(law)
        law.__name__ += "_float"
        return exact, rule(on=FLOAT, because=f"{because}, also when rounded", floats=_FINITE)(law)

    return both


@_of_numbers(SIGNED, "a way is not shorter for a detour of no negative length")
def min_of_longer(x: Term, y: Term):
    return binary("min", x, x + y), x, y >= 0, defined(y)


@_of_numbers(SIGNED, "a sum is not larger for a term that is not positive")
def max_of_smaller(x: Term, y: Term):
    return binary("max", x, x + y), x, y <= 0, defined(y)


@_of_numbers(SIGNED, "taking away what is not positive makes nothing smaller")
def min_of_less(x: Term, y: Term):
    return binary("min", x, x - y), x, y <= 0, defined(y)


@_of_numbers(SIGNED, "taking away what is not negative makes nothing larger")
def max_of_less(x: Term, y: Term):
    return binary("max", x, x - y), x, y >= 0, defined(y)


@_of_numbers(SIGNED, "what is not negative does not grow by a factor up to one")
def max_of_part(x: Term, y: Term):
    return binary("max", x, x * y), x, x >= 0, y <= 1, defined(y)


@_of_numbers(SIGNED, "what is not negative does not shrink by a factor from one on")
def min_of_multiple(x: Term, y: Term):
    return binary("min", x, x * y), x, x >= 0, y >= 1, defined(y)


@_of_numbers(INTEGER, "x is not smaller than the smaller of x and y")
def max_absorbs(x: Term, y: Term):
    return binary("max", x, binary("min", x, y)), x, defined(y)


@_of_numbers(INTEGER, "x is not larger than the larger of x and y")
def min_absorbs(x: Term, y: Term):
    return binary("min", x, binary("max", x, y)), x, defined(y)


@rule(on=INTEGER, because="x has all bits that it shares with y")
def bits_absorb_common(x: Term, y: Term):
    return x | (x & y), x, defined(y)


@rule(on=INTEGER, because="x shares all its bits with x and more")
def bits_absorb_more(x: Term, y: Term):
    return x & (x | y), x, defined(y)


@rule(on=BOOL, because="x holds where x and y hold")
def or_absorbs(x: Truth, y: Truth):
    return x | (x & y), x, defined(y)


@rule(on=BOOL, because="where x holds, x or y does")
def and_absorbs(x: Truth, y: Truth):
    return x & (x | y), x, defined(y)


@rule(on=ANY, because="both choices are x")
def choice_of_same(c: Truth, x: Term):
    return Select(c, x, x), x, defined(c)


@rule(on=INTEGER, because="where y is chosen, it is x")
def choice_of_equal(c: Truth, x: Term, y: Term):
    return Select((x == y) & c, y, x), x, defined(c), defined(y)


@rule(on=INTEGER, because="where y is chosen, it is x")
def choice_if_equal(x: Term, y: Term):
    return Select(x == y, y, x), x, defined(y)


@rule(on=BOOL, because="where x holds, so does x or y")
def choice_of_more(x: Truth, y: Truth):
    return Select(x, x | y, x), x, defined(y)


@rule(on=BOOL, because="where x and y hold, x holds")
def choice_if_both(x: Truth, y: Truth):
    return Select(x & y, TRUE, x), x, defined(y)


@rule(on=BOOL, because="where x holds, it is true")
def choice_if_true(x: Truth):
    return Select(x, TRUE, x), x


LAWS = (
    *min_of_longer, *max_of_smaller, *min_of_less, *max_of_less, *max_of_part, *min_of_multiple, *max_absorbs,
    *min_absorbs, bits_absorb_common, bits_absorb_more, or_absorbs, and_absorbs, choice_of_same, choice_of_equal,
    choice_if_equal, choice_of_more, choice_if_both, choice_if_true, *IDEMPOTENT_RULES,
)  # fmt: skip


class Unchanged(Struct, frozen=True):
    """Instances of a statement, as a params set over its loops, that change nothing where `conditions` hold."""

    instances: isl.Set
    conditions: tuple[Expr, ...]


def unchanged(statement: Statement, policy: Policy) -> list[Unchanged]:
    """Instances that change nothing, by the laws: those whose other loads of the buffer read the stored element too.

    A statement that runs under a condition on data stores what was there where that is false.
    """
    if not policy.takes(SILENT_STORES):
        return []
    store = statement.store
    own = Load(store.buffer, store.indices)
    data = [g for g in statement.guards if has_loads(g)]
    value = Select(conjunction(data), store.value, own) if data else store.value
    aliases = [x for x in dict.fromkeys(loads(value)) if x.buffer == own.buffer and not x.same(own)]
    found: list[Unchanged] = []
    for alias in aliases:
        same = _same_place(statement, own, alias)
        if same is None:
            continue
        for conditions in absorbed(map_expr(value, lambda e, a=alias: own if e.same(a) else e), own, policy):
            found.append(Unchanged(same, conditions))
    return found


def always_unchanged(statements: Iterable[Statement], policy: Policy) -> dict[int, isl.Set]:
    """By position, instances that change nothing whatever the data are."""
    found: dict[int, isl.Set] = {}
    for s in statements:
        for u in presburger.within_budget(lambda s=s: unchanged(s, policy), []):
            if not u.conditions:
                found[s.position] = u.instances.union(found.get(s.position, u.instances))
    return found


def _same_place(statement: Statement, own: Load, other: Load) -> isl.Set | None:
    """Where two loads read one element; None if that is nowhere or not known."""
    same = statement.domain
    for x, y in zip(own.indices, other.indices, strict=True):
        px, py = presburger.affine(x), presburger.affine(y)
        if px is None or py is None:
            return None
        same = same.intersect(px.eq_set(py))
    return None if same.is_empty() else same


def absorbed(value: Expr, own: Expr, policy: Policy) -> list[tuple[Expr, ...]]:
    """The conditions under which a value is `own`, one tuple for each law that says so."""
    if value.same(own):
        return [()]
    value = as_extreme(value, policy)
    found: list[tuple[Expr, ...]] = []
    if isinstance(value, Select) and value.other.same(own):
        found += absorbed(value.then, own, policy)
    for law in LAWS:
        assert law.pattern is not None
        if _KINDS[value.dtype.kind] not in law.kinds.value:
            continue
        if value.dtype.is_float and law.floats not in policy.floats:
            continue
        for values in _matches(law.pattern, value, {}):
            if values["x"].same(own):
                terms = (c for c in law.conditions if not isinstance(c, Defined))  # undef may be any value, so this too
                found.append(tuple(instantiate(c, values, value.dtype) for c in terms))
                break
    return found


def _sides(expr: Binary) -> list[tuple[Expr, Expr]]:
    """The operands of an operator in every way that one may take them: one and all others of a chain, if it allows."""
    if expr.op == "eq":
        return [(expr.lhs, expr.rhs), (expr.rhs, expr.lhs)]
    if expr.op not in _COMMUTING:
        return [(expr.lhs, expr.rhs)]
    if expr.dtype.is_float and expr.op in ("add", "mul"):  # in another order they round otherwise
        return [(expr.lhs, expr.rhs), (expr.rhs, expr.lhs)]
    parts = operands_of(expr, expr.op)
    sides: list[tuple[Expr, Expr]] = []
    for k, part in enumerate(parts):
        rest = reduce(lambda a, b: Binary(expr.op, a, b), (*parts[:k], *parts[k + 1 :]))
        sides += [(part, rest), (rest, part)]
    return sides


def _matches(pattern: Expr, expr: Expr, values: Mapping[str, Expr]) -> Iterator[Mapping[str, Expr]]:
    """What the variables of a pattern stand for, in every way that commuting operators allow."""
    match pattern:
        case Term(name=name) | Truth(name=name):
            if name not in values:
                yield {**values, name: expr}
            elif values[name].same(expr):
                yield values
        case Binary(op=op, lhs=a, rhs=b):
            if not isinstance(expr, Binary) or expr.op != op:
                return
            for left, right in _sides(expr):
                for partial in _matches(a, left, values):
                    yield from _matches(b, right, partial)
        case Const():
            if expr.same(pattern):
                yield values
        case Select(cond=c, then=a, other=b):
            if isinstance(expr, Select):
                for partial in _matches(c, expr.cond, values):
                    for both in _matches(a, expr.then, partial):
                        yield from _matches(b, expr.other, both)
        case _:
            raise TypeError(f"no pattern of a law: {pattern}")
