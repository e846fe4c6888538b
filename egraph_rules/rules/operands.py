"""Neutral, absorbing and equal operands, and operands that change places: rules as `ir.operators` declares them.

A rule is named by operator and number in the order in which they stand: `add_zero` is x + 0, `zero_add` would be 0 + x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from egraph_rules.authoring.rule import BOOL, FLOAT, INTEGER, Defined, Kinds, Rule, Term, defined, own, rule
from ir.dtypes import Kind
from ir.floats import Floats
from ir.nodes import Const, Expr, Operand, binary
from ir.operators import COMMUTATIVE, IDEMPOTENT, OWN, SPECIAL, Commutative, Idempotent, Side, Special, number


@dataclass(frozen=True, slots=True)
class _Group:
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
    for law in (law for law in SPECIAL if not law.partial):
        commutes = any(c.op == law.op and c.kinds == law.kinds and c.floats in law.floats for c in COMMUTATIVE)
        for side in law.sides:
            if side == "right" or not commutes:  # the other side follows where operands change places
                yield _special(law, side)


IDEMPOTENT_RULES = tuple(map(_idempotent, IDEMPOTENT))
OPERAND_RULES = (*_rules(), *IDEMPOTENT_RULES)
