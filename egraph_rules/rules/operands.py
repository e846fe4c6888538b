"""Neutral, absorbing, equal and shared operands, and such as change places: rules as `ir.operators` declares them.

A rule is named by operator and number in the order in which they stand: `add_zero` is x + 0, `zero_add` would be 0 + x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import combinations

from msgspec import Struct

from egraph_rules.authoring.proposal import Here, rewrite_expr
from egraph_rules.authoring.rule import BOOL, FLOAT, INTEGER, Defined, Kinds, Rule, Term, defined, own, rule
from ir.analysis.conditions import negate
from ir.dtypes import DType, Kind
from ir.floats import Floats
from ir.nodes import Binary, BinaryOp, Cast, Const, Expr, Operand, Select, Unary, Undef, binary
from ir.operators import (
    COMMUTATIVE,
    DISTRIBUTIVE,
    IDEMPOTENT,
    OWN,
    SPECIAL,
    Commutative,
    Idempotent,
    Side,
    Special,
    number,
    special,
)
from ir.traverse import children, has_loads, walk_expr, with_children


class _Group(Struct, frozen=True):
    """The dtypes of a family of rules."""

    family: str
    on: Kinds


_GROUPS = {
    Kind.INT: _Group("integer", INTEGER),
    Kind.UINT: _Group("integer", INTEGER),
    Kind.FLOAT: _Group("floating", FLOAT),
    Kind.BOOL: _Group("boolean", BOOL),
}
# One reading of x in place of two: the lesser of two values that x may have is one of them, and what is arbitrary in
# all its bits stays so. A condition that is read twice needs to be one truth.
_ANY_READING = ("min", "max", "bitand", "bitor")


def _made(
    name: str,
    law: Special | Idempotent | Commutative,
    pattern: Callable[..., tuple[Operand | Defined, ...]],
) -> Rule:
    """The rule of a declaration, over the one family of its dtypes."""
    (group,) = {_GROUPS[kind] for kind in law.kinds}
    pattern.__name__ = name
    floats = Floats.STRICT if isinstance(law, Idempotent) else law.floats
    return rule(on=group.on, because=law.because, family=group.family, floats=floats)(pattern)


def _special(law: Special, side: Side) -> Rule:
    def pattern(x: Term) -> tuple[Operand | Defined, ...]:
        operand: Expr = own(law.name, x.dtype) if law.name in OWN else Const(number(law.name, x.dtype), x.dtype)
        whole = binary(law.op, x, operand) if side == "right" else binary(law.op, operand, x)
        if law.role == "neutral":
            return whole, x
        return (whole, operand) if law.annihilates else (whole, operand, defined(x))

    name = f"{law.op}_{law.name}" if side == "right" else f"{law.name}_{law.op}"
    return _made(f"{name}_undef" if Floats.FINITE_UNDEF in law.floats else name, law, pattern)


def _idempotent(law: Idempotent) -> Rule:
    def pattern(x: Term) -> tuple[Operand | Defined, ...]:
        whole = binary(law.op, x, x)
        return (whole, x) if law.op in _ANY_READING else (whole, x, defined(x))

    return _made(f"{law.op}_self", law, pattern)


def _commutative(law: Commutative) -> Rule:
    def pattern(x: Term, y: Term) -> tuple[Operand | Defined, ...]:
        return binary(law.op, x, y), binary(law.op, y, x)

    return _made(f"{law.op}_commutes", law, pattern)


def _rules() -> Iterator[Rule]:
    yield from map(_commutative, COMMUTATIVE)
    for law in SPECIAL:
        if law.partial or (law.role == "absorbing" and law.name in ("lowest", "highest")):
            continue  # programs compute no infinity by the policy of such laws: they are for what might be computed
        commutes = any(c.op == law.op and c.kinds == law.kinds and c.floats in law.floats for c in COMMUTATIVE)
        for side in law.sides:
            if side == "right" or not commutes:  # the other side follows where operands change places
                yield _special(law, side)


@rewrite_expr(
    law="f(g(x, y), g(x, z))  =  g(x, f(y, z))   where g distributes over f, as min over max or `and` over `or`",
    because="that is what distributes means; operands of `and` and `or` that change places cannot fault or be undef",
    family="boolean",
)
def factored(expr: Expr, here: Here) -> Iterator[Expr]:
    """Operands that two operands of an operator share, taken out of both."""
    if not isinstance(expr, Binary):
        return
    operands = list(_operands(expr, expr.op))
    lazy = expr.op in ("and", "or")
    for law in DISTRIBUTIVE:
        if law.over != expr.op or expr.dtype.kind not in law.kinds:
            continue
        parts = [list(_operands(e, law.op)) for e in operands]
        for (i, one), (k, other) in combinations(enumerate(parts), 2):
            shared = [e for e in one if any(map(e.same, other))]
            # of `and` and `or` each operand by itself, since one may be evaluated only where another one lets it
            if not shared or not (all(map(here.decided, (*one, *other))) if lazy else here.defined(expr)):
                continue
            rests = [[e for e in part if not any(map(e.same, shared))] for part in (one, other)]
            if not law.absorbs and not all(rests):
                continue
            inner = [_joined(expr.op, [_joined(law.op, rest) for rest in rests])] if all(rests) else []
            whole = _joined(law.op, [*shared, *inner])
            others = [e for n, e in enumerate(operands) if n not in (i, k)]
            yield _joined(expr.op, [whole, *others])


def _operands(expr: Expr, op: BinaryOp) -> Iterator[Expr]:
    """The operands of a chain of one operator."""
    if isinstance(expr, Binary) and expr.op == op:
        yield from _operands(expr.lhs, op)
        yield from _operands(expr.rhs, op)
    else:
        yield expr


def _joined(op: BinaryOp, operands: list[Expr]) -> Expr:
    return reduce(lambda a, b: Binary(op, a, b), operands)


@rewrite_expr(
    law="select(c, f(x, y), f(x, z))  =  f(x, select(c, y, z))",
    because="f is evaluated in both cases, on x and on what c chooses",
    family="boolean",
)
def chosen_operand(expr: Expr, here: Here) -> Iterator[Expr]:
    """A choice between results of one operation that differ by one operand, as a choice of the operand."""
    if not isinstance(expr, Select):
        return
    yes, no = expr.then, expr.other
    if type(yes) is not type(no) or not isinstance(yes, (Binary, Select)) or yes.dtype is not no.dtype:
        return
    if isinstance(yes, Binary) and (not isinstance(no, Binary) or yes.op != no.op):
        return
    one, other = children(yes), children(no)
    apart = [k for k, (a, b) in enumerate(zip(one, other, strict=True)) if not a.same(b)]
    if len(apart) != 1 or one[apart[0]].dtype is not other[apart[0]].dtype:
        return
    (at,) = apart
    first = 1 if isinstance(yes, Select) or yes.op in ("and", "or") else 0  # what is after it may not be evaluated
    if at < first or (first and not here.decided(expr.cond)):
        return
    yield with_children(yes, (*one[:at], Select(expr.cond, one[at], other[at]), *one[at + 1 :]))


@rewrite_expr(
    law="select(c, select(d, x, y), y)  =  select(c and d, x, y);  "
    "select(c, x, select(d, x, y))  =  select(c or d, x, y)",
    because="one of two values is chosen by both conditions, of which the second is evaluated as before",
    family="boolean",
)
def joined_choice(expr: Expr, here: Here) -> Iterator[Expr]:
    """A choice within a choice between the same two values, as one choice."""
    del here
    if not isinstance(expr, Select):
        return
    arms: tuple[tuple[BinaryOp, Expr, Expr], ...] = (("and", expr.then, expr.other), ("or", expr.other, expr.then))
    for op, inner, outer in arms:
        if not isinstance(inner, Select) or not (inner.then.same(outer) or inner.other.same(outer)):
            continue
        reached = inner.other.same(outer) == (op == "and")  # whether the inner condition says what the outer one does
        cond = binary(op, expr.cond, inner.cond if reached else negate(inner.cond))
        new = inner.then if inner.other.same(outer) else inner.other
        yield Select(cond, new, outer) if op == "and" else Select(cond, outer, new)


@rewrite_expr(
    law="f(select(c, x, y), select(c, z, w))  =  select(c, f(x, z), f(y, w));  "
    "f(x, select(c, y, z))  =  select(c, f(x, y), f(x, z))   where y or z absorbs x, a number there",
    because="f is evaluated in both cases, on what c chooses; a truth as a number is one of 1 and 0",
    family="boolean",
)
def shared_choice(expr: Expr, here: Here) -> Iterator[Expr]:
    """An operation on choices by one condition, or on one that leaves out what padding adds nothing to, as a choice."""
    if not isinstance(expr, Binary) or expr.op in ("and", "or"):
        return
    one, other = _choice(expr.lhs), _choice(expr.rhs)
    if one is not None and (other is None or not one.cond.same(other.cond)):
        other = Select(one.cond, expr.rhs, expr.rhs) if _may_decide(one, expr.op, expr.rhs, here) else other
    if other is not None and (one is None or not one.cond.same(other.cond)):
        one = Select(other.cond, expr.lhs, expr.lhs) if _may_decide(other, expr.op, expr.lhs, here) else None
    if one is not None and other is not None:
        yes = _computed(with_children(expr, (one.then, other.then)), here)
        no = _computed(with_children(expr, (one.other, other.other)), here)
        yield Select(one.cond, yes, no)


def _computed(expr: Expr, here: Here) -> Expr:
    """What an operation gives that has an arbitrary operand: nothing but zero may say what that is times zero."""
    if not any(isinstance(e, Undef) for e in children(expr)):
        return expr
    found = here.contexts.value(here.facts, expr)
    return expr if found is None else found


def _choice(expr: Expr) -> Select | None:
    match expr:
        case Select():
            return expr
        case Cast(operand=cond) if cond.dtype is DType.BOOL:
            return Select(
                cond, Const(number("one", expr.dtype), expr.dtype), Const(number("zero", expr.dtype), expr.dtype)
            )
        case _:
            return None


def _may_decide(choice: Select, op: BinaryOp, operand: Expr, here: Here) -> bool:
    """Whether one arm makes an operation superfluous where the operand is a known number, so that both may agree."""
    numbers = {n for law, n in special(op, choice.dtype, here.contexts.floats) if law.role == "absorbing"}
    for arm, truth in ((choice.then, True), (choice.other, False)):
        if isinstance(arm, Const) and arm.value in numbers:
            place = here.under(choice.cond, truth)
            return place is not None and place.number(operand) is not None
    return False


_EXTREME = (
    "select(x >= y, x, z)  =  max(x, z)   where x >= z if x >= y, and x <= z if not; so for min and other orders; "
    "max(x, -x) is abs(x)"
)
_GREATER: dict[str, bool] = {"gt": True, "ge": True, "lt": False, "le": False}  # whether the left side is the greater


@rewrite_expr(law=_EXTREME, because="the greater one is chosen, or the smaller one", family="boolean")
def chosen_extreme(expr: Expr, here: Here) -> Iterator[Expr]:
    """A choice by a comparison of integers, as a minimum or maximum."""
    if expr.dtype.is_integer:
        yield from _extremes(expr, here)


@rewrite_expr(
    law=_EXTREME,
    because="the greater one is chosen, or the smaller one, or one of two zeros",
    family="floating",
    floats=Floats.FINITE | Floats.NO_SIGNED_ZEROS,
)
def chosen_extreme_number(expr: Expr, here: Here) -> Iterator[Expr]:
    """A choice by a comparison of floats, as a minimum or maximum."""
    if expr.dtype.is_float:
        yield from (new for new in _extremes(expr, here) if here.contexts.regular(here.facts, new))


def _extremes(expr: Expr, here: Here) -> Iterator[Expr]:
    if not isinstance(expr, Select) or not isinstance(expr.cond, Binary) or expr.cond.op not in _GREATER:
        return
    sides = (expr.cond.lhs, expr.cond.rhs)
    greater, less = sides if _GREATER[expr.cond.op] else sides[::-1]
    for arm, other, truth in ((expr.then, expr.other, True), (expr.other, expr.then, False)):
        for side, opposite, is_greater in ((greater, less, True), (less, greater, False)):
            if arm.same(side) and (other.same(opposite) or _is_beyond(expr.cond, side, other, is_greater, here)):
                pair = (other, arm) if isinstance(arm, Const) else (expr.then, expr.other)
                yield _extreme("max" if is_greater == truth else "min", *pair)
                return


def _extreme(op: BinaryOp, one: Expr, other: Expr) -> Expr:
    """A minimum or maximum; of a number and its negative that is a magnitude."""
    for x, negative in ((one, other), (other, one)):
        if op == "max" and x.dtype.kind is not Kind.UINT and negative.same(Unary("neg", x)):
            return Unary("abs", x)
    return binary(op, one, other)


def _is_beyond(cond: Expr, side: Expr, value: Expr, is_greater: bool, here: Here) -> bool:
    """Whether a value is on the same side as what a comparison is with, be it true or false; it may be evaluated."""
    compared = [e for e in children(cond) if not isinstance(e, Const)]
    if not here.decided(value) or not any(part.same(e) for part in walk_expr(value) for e in compared):
        return False
    for truth in (True, False):
        place, order = here.under(cond, truth), side >= value if truth == is_greater else side <= value
        if place is not None and place.truth(order) is not True:
            return False
    return True


@rewrite_expr(
    law="a or b  =  b   where b holds wherever a does;  a and b  =  b   where b fails wherever a does not hold",
    because="where a decides, b decides in the same way; neither faults",
    family="boolean",
)
def implied_operand(expr: Expr, here: Here) -> Iterator[Expr]:
    """A condition on data in place of it and another one, with which the data of padding are known to agree."""
    if not isinstance(expr, Binary) or expr.op not in ("and", "or"):
        return
    decisive = expr.op == "or"
    for operand, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
        place = here.under(operand, decisive) if has_loads(other) and not has_loads(operand) else None
        if place is not None and place.truth(other) is decisive and here.decided(operand) and here.decided(other):
            yield other
            return


IDEMPOTENT_RULES = tuple(map(_idempotent, IDEMPOTENT))
OPERAND_RULES = (
    *_rules(), *IDEMPOTENT_RULES, factored, chosen_operand, joined_choice, shared_choice, implied_operand,
    chosen_extreme, chosen_extreme_number,
)  # fmt: skip
