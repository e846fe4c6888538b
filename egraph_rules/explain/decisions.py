"""Why the chosen program is as it is: which rule, where, because of which fact, and what that saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from egraph_rules.contexts.context import IMPOSSIBLE, Contexts
from ir.nodes import Expr, Load, PrimFunc, Stmt, Undef, Var
from ir.printing.printer import to_script
from ir.traverse import all_exprs, substitute_expr

if TYPE_CHECKING:
    from egraph_rules.explain.derivation import Step


class Decision(Struct, frozen=True):
    """One rewrite on the way to the chosen program: rule, law, the statement's first line with its place, the fact.

    `before` and `after` are the search's prices of the whole program around it. A step may cost what a later one saves.
    """

    rule: str
    law: str
    place: str
    fact: str
    before: float
    after: float

    @property
    def saved(self) -> float:
        """What the program became cheaper by."""
        return self.before - self.after

    @property
    def price(self) -> str:
        """What it did to the price, in words."""
        change = f"cost {self.before:,.0f} to {self.after:,.0f}"
        return change if f"{self.before:,.0f}" != f"{self.after:,.0f}" else f"cost {self.before:,.0f} as before"


def decisions_of(steps: Sequence[Step], price: Callable[[PrimFunc], float]) -> list[Decision]:
    """Each step of a derivation with its price."""
    return [Decision(s.rule, s.law, s.place, s.fact, price(s.before), price(s.after)) for s in steps if s.decides]


def evidence(
    contexts: Contexts, facts: int, permissions: int, arm: Stmt, cond: Expr, env: dict[Var, Expr], *, holds: bool
) -> str:
    """Why both branches agree where the condition holds, or where it does not."""
    where = f"where `{_text(cond, env)}` {'holds' if holds else 'does not hold'}"
    if facts == IMPOSSIBLE:
        return f"{where}: never happens"
    if contexts.only_writes_dead(facts, permissions, arm):
        names = ", ".join(sorted({b.name for b in contexts.effects.of(arm).may}))
        return f"{where}, what it writes to {names} is overwritten, arbitrary or unused afterwards"
    known: list[str] = []
    for load in (e for e in all_exprs(arm) if isinstance(e, Load)):
        value = contexts.contents(facts, load.buffer, load.indices)
        if value is not None and not isinstance(value, Undef):
            known.append(f"{_text(load, env)} is {to_script(value)}")
    if known:
        return f"{where}, {', '.join(dict.fromkeys(known))}"
    return f"{where}, both branches have the same effect"


def _text(expr: Expr, env: dict[Var, Expr]) -> str:
    return to_script(substitute_expr(expr, env))
