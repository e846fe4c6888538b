"""The places of a statement's parts, and where blocks stand in a program, for searches that may change one only."""

from __future__ import annotations

from msgspec import Struct

from egraph_rules.contexts.context import Contexts
from egraph_rules.search.extract import Place
from egraph_rules.search.numbering import Part
from ir.nodes import Alloc, Block, Expr, For, If, Let, Seq, Var


class Inside(Struct, frozen=True):
    """A place inside a program, and the printed names of the canonical variables around it."""

    place: Place
    names: dict[Var, Expr]


def find_block(part: Part, at: Inside, name: str, contexts: Contexts) -> Inside | None:
    """The place of a block in the original program; None if it is not there."""
    if isinstance(part.stmt, Block) and part.stmt.name == name:
        return at
    names = at.names
    if isinstance(part.stmt, For | Let):
        names = {**names, part.stmt.var: Var(part.name, part.stmt.var.dtype)}
    inside = zip(part.parts, places_inside(part, at.place, contexts), strict=True)
    found = (find_block(child, Inside(place, names), name, contexts) for child, place in inside)
    return next((at for at in found if at is not None), None)


def places_inside(part: Part, at: Place, contexts: Contexts) -> list[Place]:
    """The contexts of a statement's parts."""
    f, d = at.facts, at.permissions
    match part.stmt:
        case Seq(stmts=(_, _)):
            between, dead = contexts.sequence(f, d, part.parts[0].stmt, part.parts[1].stmt)
            inner = [(f, dead), (between, d)]
        case If(cond=cond):
            inner = [(contexts.assume(f, cond, True), d), (contexts.assume(f, cond, False), d)]
        case For() as loop:
            inner = [contexts.loop(f, d, loop)]
        case Let() as let:
            inner = [(contexts.let(f, let), d)]
        case Alloc() as alloc:
            inner = [contexts.alloc(f, d, alloc)]
        case _:
            inner = [(f, d)] * len(part.parts)
    return [Place(g, p.number, e) for p, (g, e) in zip(part.parts, inner, strict=True)]
