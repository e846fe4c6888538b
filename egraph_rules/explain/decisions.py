"""Why the chosen program is as it is: which statement changed, by which rule, because of which fact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from egraph_rules.contexts.context import IMPOSSIBLE, Contexts
from egraph_rules.rules.statements import STATEMENT_RULES
from ir.nodes import SKIP, Expr, If, Load, Stmt, Undef, Var
from ir.script.printer import to_script
from ir.traverse import all_exprs, map_stmt, substitute_expr

if TYPE_CHECKING:
    from egraph_rules.search.extract import Choice, Extractor, Place, Rebuilder

_LAWS = {rule.name: rule.law for rule in STATEMENT_RULES}


@dataclass(frozen=True, slots=True)
class Decision:
    """One rewrite on the way to the chosen program: rule, law, the statement's first line with its place, the fact."""

    rule: str
    law: str
    place: str
    fact: str


def explain(choice: Choice, extractor: Extractor, contexts: Contexts, rebuilder: Rebuilder) -> list[Decision]:
    """Decisions of a choice: every place where the class holds a source statement that the choice does not keep."""
    return Explainer(extractor, contexts, rebuilder).visit(choice, {})


@dataclass(slots=True)
class Explainer:
    """Finds decisions, and what is known where they are made."""

    extractor: Extractor
    contexts: Contexts
    rebuilder: Rebuilder

    def visit(self, choice: Choice, env: dict[Var, Expr]) -> list[Decision]:
        found: list[Decision] = []
        for place in self.extractor.places.get(choice.origin, ()):
            stmt = self.rebuilder.numbering.stmts[place.number]
            if choice.kind == "skip" and stmt != SKIP:
                found.append(self._removed(place, stmt, env))
            elif isinstance(stmt, If) and choice.kind != "if" and choice.kind != "skip":
                found.append(self._branch(place, stmt, env))
        inner = env
        if choice.kind in ("for", "let"):
            inner = self.rebuilder.scope_of(choice, env)
        for part in choice.parts:
            found += self.visit(part, inner)
        return found

    def _branch(self, place: Place, stmt: If, env: dict[Var, Expr]) -> Decision:
        header = f"if {self._text(stmt.cond, env)}"
        known = self.contexts.truth(place.facts, stmt.cond)
        if known is not None:
            name = "branch.true" if known else "branch.false"
            return self._decision(name, header, stmt, f"the condition is always {str(known).lower()} here")
        members = {(p.facts, p.number, p.permissions) for p in self._members(place)}
        numbers = {id(s): n for n, s in enumerate(self.rebuilder.numbering.stmts)}
        yes, no = numbers[id(stmt.then)], numbers[id(stmt.other)]
        if yes == no:
            return self._decision("branch.identical", header, stmt, "both branches are the same")
        kept_then = (place.facts, yes, place.permissions) in members
        elsewhere = self.contexts.assume(place.facts, stmt.cond, not kept_then)
        arm = stmt.then if kept_then else stmt.other
        name = "overcompute.then" if kept_then else "overcompute.else"
        evidence = self.evidence(elsewhere, place.permissions, arm, stmt.cond, env, holds=not kept_then)
        return self._decision(name, header, stmt, evidence)

    def _members(self, place: Place) -> list[Place]:
        for places in self.extractor.places.values():
            if place in places:
                return places
        return []

    def evidence(
        self, facts: int, permissions: int, arm: Stmt, cond: Expr, env: dict[Var, Expr], *, holds: bool
    ) -> str:
        """Why both branches agree where the condition holds, or where it does not."""
        where = f"where `{self._text(cond, env)}` {'holds' if holds else 'does not hold'}"
        if facts == IMPOSSIBLE:
            return f"{where}: never happens"
        if self.contexts.only_writes_dead(facts, permissions, arm):
            names = ", ".join(sorted({b.name for b in self.contexts.effects.of(arm).may}))
            return f"{where}, what it writes to {names} is overwritten, arbitrary or unused afterwards"
        known: list[str] = []
        for load in (e for e in all_exprs(arm) if isinstance(e, Load)):
            value = self.contexts.contents(facts, load.buffer, load.indices)
            if value is not None and not isinstance(value, Undef):
                known.append(f"{self._text(load, env)} is {to_script(value)}")
        if known:
            return f"{where}, {', '.join(dict.fromkeys(known))}"
        return f"{where}, both branches have the same effect"

    def _removed(self, place: Place, stmt: Stmt, env: dict[Var, Expr]) -> Decision:
        first = to_script(map_stmt(stmt, lambda e: substitute_expr(e, env))).splitlines()[0]
        if self.contexts.only_writes_dead(place.facts, place.permissions, stmt):
            fact = "what it writes is overwritten, arbitrary or unused afterwards"
            return self._decision("noop.dead", first, stmt, fact)
        return self._decision("noop.is_skip", first, stmt, "it changes nothing here")

    def _text(self, expr: Expr, env: dict[Var, Expr]) -> str:
        return to_script(substitute_expr(expr, env))

    def _decision(self, name: str, text: str, stmt: Stmt, fact: str) -> Decision:
        where = f" ({stmt.span})" if stmt.span is not None else ""
        return Decision(name, _LAWS[name], f"{text}{where}", fact)
