"""Where blocks stand in a program, for searches that may change one only."""

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
    f, d = at.place.facts, at.place.permissions
    names = at.names
    match part.stmt:
        case Seq(stmts=(_, _)):
            between, dead = contexts.sequence(f, d, part.parts[0].stmt, part.parts[1].stmt)
            inner = ((f, dead), (between, d))
        case If(cond=cond):
            inner = ((contexts.assume(f, cond, True), d), (contexts.assume(f, cond, False), d))
        case For(var=var) as loop:
            inner, names = (contexts.loop(f, d, loop),), {**names, var: Var(part.name, var.dtype)}
        case Let(var=var) as let:
            inner, names = ((contexts.let(f, let), d),), {**names, var: Var(part.name, var.dtype)}
        case Alloc() as alloc:
            inner = (contexts.alloc(f, d, alloc),)
        case Block():
            inner = ((f, d),)
        case _:
            return None
    for child, (facts, permissions) in zip(part.parts, inner, strict=True):
        found = find_block(child, Inside(Place(facts, child.number, permissions), names), name, contexts)
        if found is not None:
            return found
    return None
