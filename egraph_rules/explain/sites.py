"""Every statement that a search looked at, with its context, the author's names, and the program around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from egraph_rules.contexts.context import IMPOSSIBLE
from egraph_rules.explain.derivation import Names, Trace, line, printed, printed_names
from egraph_rules.search.blocks import places_inside
from egraph_rules.search.extract import Place
from ir.nodes import Assume, Expr, Seq, Stmt, seq
from ir.printing.printer import to_script
from ir.program.edit import with_children
from ir.traverse import free_vars, substitute_expr

if TYPE_CHECKING:
    from egraph_rules.search.numbering import Part


class Site(Struct, frozen=True):
    """A statement where a search met it.

    `wrap` gives the whole program with another statement in its place; `original` says that the program is the one the
    search began with, not one that rules made of it.
    """

    part: Part
    place: Place
    env: Names
    wrap: Callable[[Stmt], Stmt]
    original: bool

    def text(self, expr: Expr) -> str:
        """An expression in the author's names."""
        return to_script(substitute_expr(expr, self.env))

    def assumed(self, cond: Expr) -> Stmt | None:
        """The assumption of a condition, if all its variables are bound before the statement."""
        inner = {v.name for v in free_vars(cond) if v.name.startswith("%")}
        return Assume(substitute_expr(cond, self.env)) if inner <= {v.name for v in self.env} else None

    def printed(self) -> Stmt:
        """The statement in the author's names."""
        return printed(self.part, self.env)

    def __str__(self) -> str:
        first = line(self.part, self.env)
        return f"{first}; ..." if isinstance(self.part.stmt, Seq) else first


def sites(trace: Trace) -> Iterator[Site]:
    """The sites of a search: those of its program, each followed by what rules in Python made of it."""
    seen: set[Place] = set()
    for root in dict.fromkeys(place for _, place, _ in trace.found):
        yield from _visit(Site(trace.part, root, {}, lambda s: s, True), trace, seen)


def _visit(site: Site, trace: Trace, seen: set[Place]) -> Iterator[Site]:
    part, place = site.part, site.place
    if place.facts == IMPOSSIBLE or part.number == 0 or place in seen:
        return
    seen.add(place)
    yield site
    if (place.facts, part.number, place.permissions) in trace.rebuilder.numbering.repeats:
        return  # the nest that it repeats was looked into
    inner = printed_names(part, site.env)
    for k, (child, at) in enumerate(zip(part.parts, places_inside(part, place, trace.contexts), strict=True)):

        def hole(new: Stmt, k: int = k) -> Stmt:
            parts = [new if j == k else printed(p, inner) for j, p in enumerate(part.parts)]
            return site.wrap(seq(*parts) if isinstance(part.stmt, Seq) else with_children(site.printed(), parts))

        yield from _visit(Site(child, at, inner, hole, site.original), trace, seen)
    for other, _ in trace.edges.get((place.facts, part.number, place.permissions), ()):
        yield from _visit(Site(other, place, site.env, site.wrap, False), trace, seen)
