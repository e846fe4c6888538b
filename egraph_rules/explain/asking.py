"""What a rule in Python asks of a place, and which answers kept it from proposing anything there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import islpy as isl
from msgspec import Struct, field

from egraph_rules.authoring.proposal import Here
from egraph_rules.authoring.rule import Rule
from egraph_rules.contexts.context import IMPOSSIBLE, Contexts
from egraph_rules.contexts.facts import Priority
from egraph_rules.explain.sites import Site
from ir.analysis.contents import Contents, Regions
from ir.nodes import Assume, Buffer, Expr, For, Let, Load, Stmt
from ir.traverse import all_exprs, free_vars, substitute_expr, walk_expr

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
    buffer: Buffer | None = None


class Asking(Here, frozen=True):
    """A place that keeps the questions whose answer is unknown, or no."""

    log: list[_Question] = field(default_factory=lambda: list[_Question]())

    def _note(self, kind: str, expr: Expr | None = None, buffer: Buffer | None = None) -> None:
        self.log.append(_Question(kind, expr, self.facts, buffer))

    def elsewhere(self, facts: int, permissions: int) -> Here:
        """Another place, whose questions are not kept: they are about names that are not known here."""
        return Here(self.contexts, facts, permissions)

    @property
    def known(self) -> Contents:
        """Contents of buffers: the region that holds each known value."""
        self._note("known")
        return self.contexts.facts(self.facts).known

    @property
    def live(self) -> Regions:
        """Of each buffer that may hold anything somewhere after the place, the region that may not: it is read."""
        self._note("live")
        return self.contexts.live(self.permissions)

    def truth(self, cond: Expr) -> bool | None:
        """Whether a condition always or never holds; None when neither is proven."""
        answer = self.contexts.truth(self.facts, cond)
        if answer is None:
            self._note("truth", cond)
        return answer

    def constant(self, expr: Expr) -> int | None:
        """The one value an integer expression has, if it has only one."""
        answer = self.contexts.constant(self.facts, expr)
        if answer is None:
            self._note("constant", expr)
        return answer

    def decided(self, expr: Expr) -> bool:
        """Whether evaluating an expression can neither fault nor give undef."""
        answer = self.contexts.decided(self.facts, expr)
        if not answer:
            self._note("decided", expr)
        return answer

    def in_bounds(self, buffer: Buffer, indices: tuple[Expr, ...]) -> bool:
        """Whether an access stays inside its buffer."""
        answer = self.contexts.in_bounds(self.facts, buffer, indices)
        if not answer:
            self._note("in_bounds", Load(buffer, indices))
        return answer

    def ask(self, question: Callable[[], isl.Set]) -> isl.Set | None:
        """A set computed by isl, or None when that takes too many steps."""
        answer = Here.ask(self, question)
        if answer is None:
            self._note("ask")
        return answer

    def under(self, cond: Expr, truth: bool) -> Here | None:
        """The place where `cond` was found true (or false); None if it never is."""
        facts = self.contexts.assume(self.facts, cond, truth)
        return None if facts == IMPOSSIBLE else Asking(self.contexts, facts, self.permissions, self.log)

    def at(self, domain: isl.Set) -> Here:
        """A place of which nothing is known but the values that variables can have."""
        return Asking(self.contexts, self.contexts.root(domain, Priority.FACTS), 0, self.log)

    def inside(self, stmt: For | Let) -> Here | None:
        """The place in the body of a loop or binding; None if it is never reached."""
        found = Here.inside(self, stmt)
        return None if found is None else Asking(found.contexts, found.facts, found.permissions, self.log)


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
            yield Wish(f"`{text}`", _claim(question, site), asked=True)
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


def _claim(question: _Question, site: Site) -> Stmt | None:
    """The assumption that a condition holds, if its variables are bound before the statement."""
    assert question.expr is not None
    expr = question.expr
    outer = {v.name for v in site.env}
    bound = {v.name for v in free_vars(expr) if v.name.startswith("%")}
    return Assume(substitute_expr(expr, site.env)) if bound <= outer else None
