"""What a rule in Python asks of a place, and which answers kept it from proposing anything there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

import islpy as isl
from msgspec import Struct, field

from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import Rule
from egraph_rules.contexts.context import Contexts
from egraph_rules.explain.sites import Site
from ir.analysis.contents import Contents, Regions
from ir.nodes import Buffer, Expr, For, Let, Load, Stmt
from ir.traverse import all_exprs, walk_expr

_PROPOSALS = 5  # of a rule at a place; one is enough to see that it applies


class Wish(Struct, frozen=True):
    """A fact that is missing at a place: what it is, and what would state it before the statement, or after it.

    `asked` says that it is a question without an answer; else `what` says itself that something is not known.
    """

    what: str
    claim: Stmt | None = None
    after: Stmt | None = None
    asked: bool = False

    def __str__(self) -> str:
        return f"{self.what} is unknown" if self.asked else self.what


class _Question(Struct, frozen=True):
    """A question that was not answered as most rules hope: its kind, what was asked, and the facts there."""

    kind: str
    expr: Expr | None
    facts: int


_Answer = TypeVar("_Answer")


class Asking(Here, frozen=True):
    """A place that keeps the questions whose answer is unknown, or no."""

    log: list[_Question] = field(default_factory=lambda: list[_Question]())

    def _noted(self, answer: _Answer, kind: str, expr: Expr | None = None) -> _Answer:
        """An answer, and the question noted if there is none; "never" is one to whether a condition holds."""
        if any(answer is none for none in ((None,) if kind == "truth" else (None, False))):
            self.log.append(_Question(kind, expr, self.facts))
        return answer

    def elsewhere(self, facts: int, permissions: int) -> Here:
        """Another place, whose questions are not kept: they are about names that are not known here."""
        return Here(self.contexts, facts, permissions)

    def _also(self, found: Here) -> Here:
        """Another place, whose questions are kept."""
        return Asking(found.contexts, found.facts, found.permissions, self.log)

    @property
    def known(self) -> Contents:
        self._noted(None, "known")
        return self.contexts.facts(self.facts).known

    @property
    def live(self) -> Regions:
        self._noted(None, "live")
        return self.contexts.live(self.permissions)

    def truth(self, cond: Expr) -> bool | None:
        return self._noted(Here.truth(self, cond), "truth", cond)

    def constant(self, expr: Expr) -> int | None:
        return self._noted(Here.constant(self, expr), "constant", expr)

    def decided(self, expr: Expr) -> bool:
        return self._noted(Here.decided(self, expr), "decided", expr)

    def in_bounds(self, buffer: Buffer, indices: tuple[Expr, ...]) -> bool:
        return self._noted(Here.in_bounds(self, buffer, indices), "in_bounds", Load(buffer, indices))

    def ask(self, question: Callable[[], isl.Set]) -> isl.Set | None:
        return self._noted(Here.ask(self, question), "ask")

    def under(self, cond: Expr, truth: bool) -> Here | None:
        found = Here.under(self, cond, truth)
        return None if found is None else self._also(found)

    def at(self, domain: isl.Set) -> Here:
        return self._also(Here.at(self, domain))

    def inside(self, stmt: For | Let) -> Here | None:
        found = Here.inside(self, stmt)
        return None if found is None else self._also(found)


def unanswered(rule: Rule, site: Site, contexts: Contexts) -> list[Wish] | None:
    """What kept a rule from proposing anything at a place; None if it did propose, or asked for nothing."""
    here = Asking(contexts, site.place.facts, site.place.permissions)
    if rule.propose is not None:
        if any(new != site.part.stmt for new in islice(rule.propose(site.part.stmt, here), _PROPOSALS)):
            return None
    elif rule.propose_expr is not None:
        for expr in (part for top in all_exprs(site.part.stmt) for part in walk_expr(top)):
            if any(not new.same(expr) for new in islice(rule.propose_expr(expr, here), _PROPOSALS)):
                return None
    place = Here(here.contexts, here.facts, here.permissions)  # which keeps no log
    wishes = {wish.what: wish for question in here.log for wish in _wishes(question, site, place)}
    return list(wishes.values()) or None


def _wishes(question: _Question, site: Site, here: Here) -> Iterator[Wish]:
    """What an unanswered question asks for, in the author's names."""
    text = "" if question.expr is None else site.text(question.expr)
    match question.kind:
        case "truth":
            assert question.expr is not None
            yield Wish(f"`{text}`", site.assumed(question.expr), asked=True)
        case "constant":
            yield Wish(f"`{text}` is not known to have one value")
        case "decided":
            yield Wish(f"evaluating `{text}` may fault, or give undef")
        case "in_bounds":
            yield Wish(f"`{text}` is not known to be inside its buffer")
        case "known":
            effects = here.effects(site.part.stmt)
            names = sorted({b.name for b in effects.reads} - {b.name for b, _ in here.known})
            if names:
                yield Wish(f"nothing is known of the contents of {', '.join(names)}")
        case "live":
            permitted = {b.name for b in here.live}
            names = sorted({b.name for b in here.effects(site.part.stmt).may} - permitted)
            if names:
                yield Wish(f"what it writes to {', '.join(names)} may be read afterwards")
        case _:
            yield Wish("a set of iterations takes too many steps to compute")
