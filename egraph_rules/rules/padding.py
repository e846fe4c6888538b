"""Accesses of padding: keeping an index inside its buffer where a guard did, so that the guard may go."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, rewrite
from ir.nodes import SKIP, Alloc, Binary, Block, Buffer, Expr, For, If, Let, Load, Seq, Stmt, Store, const
from ir.traverse import map_expr


@rewrite(
    law="if c: s else: t  =  if c: s with A[i % n] for A[i] else: t   for an axis of extent n",
    because="where c holds, 0 <= i < n, and there i % n is i",
    speculates=True,
)
def reduce_index(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Reduce modulo its extent each index that is in bounds under the guard alone, so that s may run without it.

    What may run as it is, and leaves only what nobody looks at, needs no index reduced.
    """
    if not isinstance(stmt, If):
        return
    guarded, outside = here.under(stmt.cond, True), here.under(stmt.cond, False)
    if guarded is None or outside is None:
        return
    if not (outside.only_writes_dead(stmt.then) and outside.harmless(stmt.then)):
        new = _reduced(stmt.then, guarded, outside)
        if new != stmt.then and (stmt.other != SKIP or outside.may_do_nothing(new)):
            yield replace(stmt, then=new)


def _reduced(stmt: Stmt, guarded: Here, outside: Here) -> Stmt:
    """A statement with reduced indices; the two places are those with the guard's condition and without it."""

    def inner(body: Stmt, part: str) -> Stmt:
        a, b = _entered(stmt, guarded, part), _entered(stmt, outside, part)
        return body if a is None or b is None else _reduced(body, a, b)

    def indices(buffer: Buffer, places: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(_index(i, n, guarded, outside) for i, n in zip(places, buffer.shape, strict=True))

    def loads(expr: Expr) -> Expr:
        return map_expr(expr, lambda e: replace(e, indices=indices(e.buffer, e.indices)) if isinstance(e, Load) else e)

    match stmt:
        case Seq(stmts=stmts):
            return replace(stmt, stmts=tuple(_reduced(s, guarded, outside) for s in stmts))
        case Store(buffer=buffer, indices=places, value=value):
            return replace(stmt, indices=indices(buffer, tuple(map(loads, places))), value=loads(value))
        case If(cond=cond, then=then, other=other):
            return replace(stmt, cond=loads(cond), then=inner(then, "then"), other=inner(other, "other"))
        case For(body=body) | Let(body=body):
            return replace(stmt, body=inner(body, "body"))
        case Alloc(body=body) | Block(body=body):
            return replace(stmt, body=_reduced(body, guarded, outside))
        case _:
            return stmt


def _entered(stmt: Stmt, place: Here, part: str) -> Here | None:
    """The place inside a compound statement, as far as variables are concerned."""
    match stmt:
        case If(cond=cond):
            return place.under(cond, part == "then")
        case For():
            return place.iteration(stmt)
        case Let():
            return place.inside(stmt)
        case _:
            return place


def _index(index: Expr, extent: Expr, guarded: Here, outside: Here) -> Expr:
    zero = const(0, index.dtype)
    reduced = isinstance(index, Binary) and index.op == "floormod" and index.rhs.same(extent)
    if index.dtype is not extent.dtype or reduced:
        return index
    inside = Binary("and", Binary("ge", index, zero), Binary("lt", index, extent))
    needed = guarded.truth(inside) is True and outside.truth(inside) is not True
    possible = needed and outside.truth(Binary("gt", extent, zero)) is True
    return Binary("floormod", index, extent) if possible else index


PADDING_RULES = (reduce_index,)
