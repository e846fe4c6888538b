"""Guards of a function that what its buffers hold may make needless: those without which it stays inside of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl

from ir.nodes import SKIP, Buffer, Expr, If, Load, PrimFunc, Select, Stmt, Store
from ir.presburger import sets as pb
from ir.presburger.facts import entry_facts, learned
from ir.traverse import children, conjuncts_of, stmt_children, stmt_exprs

Access = tuple[Buffer, tuple[Expr, ...], isl.Set]  # with what is known there


def has_free_guards(func: PrimFunc) -> bool:
    """Whether a function has a condition that keeps no access inside of a buffer, where all others hold."""
    return any(_parts_free(func.body, entry_facts(func)))


def _parts_free(part: Stmt | Expr, known: isl.Set) -> Iterator[bool]:
    """For each condition in a part of a program, whether the accesses under it are inside of buffers without it."""
    if isinstance(part, (If, Select)):
        conjuncts = conjuncts_of(part.cond)
        for cond in conjuncts:
            rest = reduce(isl.Set.intersect, (pb.condition(c).may for c in conjuncts if c is not cond), known)
            yield not any(map(_strays, _accesses(part.then, rest)))
        if part.other != SKIP and any(True for _ in _accesses(part.other, known)):
            yield not any(map(_strays, _accesses(part.other, known)))
    for inner, where in _within(part, known):
        yield from _parts_free(inner, where)


def _accesses(part: Stmt | Expr, known: isl.Set) -> Iterator[Access]:
    """What a part of a program accesses."""
    if isinstance(part, (Store, Load)):
        yield part.buffer, part.indices, known
    for inner, where in _within(part, known):
        yield from _accesses(inner, where)


def _within(part: Stmt | Expr, known: isl.Set) -> Iterator[tuple[Stmt | Expr, isl.Set]]:
    """The statements and expressions right inside of a part, with what is known there."""
    match part:
        case Stmt():
            yield from ((e, known) for e in stmt_exprs(part))
            yield from ((s, known.intersect(learned(part, s))) for s in stmt_children(part))
        case Select(cond=cond, then=then, other=other):
            holds = pb.condition(cond)
            yield cond, known
            yield then, known.intersect(holds.may)
            yield other, known.intersect(holds.negated().may)
        case _:
            yield from ((e, known) for e in children(part))


def _strays(access: Access) -> bool:
    """Whether an access may leave its buffer; not where that is not decided."""
    buffer, indices, known = access

    def leaves() -> bool:
        spot = pb.point(indices)
        return spot is not None and not spot.intersect_params(known).is_subset(pb.box(buffer.shape))

    return pb.within_budget(leaves, False)
