"""Accesses of padding: keeping an index inside its buffer where a guard did, so that the guard may go; reading a border
that is repeated where it is, without clamping or wrapping the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, rewrite, rewrite_expr
from egraph_rules.rules.lets import under
from ir.fold import shortened
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    const,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import range_of
from ir.traverse import accessed, free_vars, has_loads, map_expr, walk_expr


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
    if guarded is None or outside is None or _stays_in_bounds(stmt.then, outside):
        return
    if not (outside.only_writes_dead(stmt.then) and outside.harmless(stmt.then)):
        new = _reduced(stmt.then, guarded, outside)
        if new != stmt.then and (stmt.other != SKIP or outside.may_do_nothing(new)):
            yield replace(stmt, then=new)


def _stays_in_bounds(stmt: Stmt, here: Here) -> bool:
    """Whether all accesses are known to be in bounds before anything is known of where in a statement they stand."""
    pairs = ((i, n) for buffer, places in accessed(stmt) for i, n in zip(places, buffer.shape, strict=True))
    return all(i.dtype is not n.dtype or here.truth(_is_index(i, n)) is True for i, n in pairs)


def _is_index(index: Expr, extent: Expr) -> Expr:
    """The condition that an index is one of an axis."""
    return Binary("and", Binary("ge", index, const(0, index.dtype)), Binary("lt", index, extent))


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
            return under(cond, place, truth=part == "then")
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
    inside = _is_index(index, extent)
    needed = guarded.truth(inside) is True and outside.truth(inside) is not True
    possible = needed and outside.truth(Binary("gt", extent, zero)) is True
    return Binary("floormod", index, extent) if possible else index


@rewrite_expr(
    law="A[max(i, j)]  =  select(i >= j, A[i], A[j])   and so for min, abs, select, and % of two quotients",
    because="the index is the one or the other, and an element is read where its index is the one",
)
def index_by_cases(expr: Expr, here: Here) -> Iterator[Expr]:
    """Reads at clamped, mirrored or wrapped places of a buffer of which something is known: what has its border
    repeated needs none of it."""
    if not isinstance(expr, Load):
        return
    for axis, index in enumerate(expr.indices):
        for part in () if has_loads(index) else walk_expr(index):  # what is known of elements is known of places
            cases = _cases(part, here) if here.knows(expr.buffer) else None
            if cases is not None and here.knows_along(expr.buffer, axis):
                cond, *either = cases
                arms = [here.under(cond, truth) for truth in (True, False)]
                one, other = (
                    _with_index(expr, axis, _put(index, part, *pair)) for pair in zip(either, arms, strict=True)
                )
                alike = _of_both((one, other), arms)
                yield Select(cond, one, other) if alike is None else alike
                return


def _of_both(loads: Sequence[Load], arms: Sequence[Here | None]) -> Load | None:
    """Of two elements the one that is known to hold what the other one does where that is read."""
    pairs = zip(loads[0].indices, loads[1].indices, strict=True)
    differ = [Binary("ne", a, b) for a, b in pairs if not a.same(b)]
    if not differ:
        return loads[0]
    apart = reduce(lambda a, b: a | b, differ)
    for load, other, arm in zip(loads, loads[::-1], arms[::-1], strict=True):
        inside = None if arm is None else arm.under(apart, True)  # else they are one element
        held = None if inside is None else inside.contents(load.buffer, load.indices)
        if held is not None and held.same(other):
            return load
    return None


def _cases(expr: Expr, here: Here) -> tuple[Expr, Expr, Expr] | None:
    """A condition, and what an index is where it holds and where it does not, without a choice between the two."""
    match expr:
        case Binary(op="max" | "min" as op, lhs=a, rhs=b):
            return Binary("ge" if op == "max" else "le", a, b), a, b
        case Unary(op="abs", operand=a):
            return Binary("ge", a, const(0, a.dtype)), a, Unary("neg", a)
        case Select(cond=cond, then=a, other=b):
            return cond, a, b
        case Binary(op="floormod", lhs=a, rhs=Const(value=n) as size) if a.dtype.is_signed and n > 0:
            first, last = range_of(Binary("floordiv", a, size), here.domain)
            if first is None or last is None or last != first + 1:
                return None
            less, more = (Binary("sub", a, const(q * int(n), a.dtype)) for q in (first, last))
            return Binary("lt", less, size), less, more
        case Binary(op="floormod", lhs=a, rhs=size) if a.dtype.is_signed:
            return _of_one_wrap(a, size, here)
        case _:
            return None


def _of_one_wrap(dividend: Expr, size: Expr, here: Here) -> tuple[Expr, Expr, Expr] | None:
    """`_cases` of a remainder by a size that is no number, where it is the dividend or by one size less or more."""
    zero, less = const(0, dividend.dtype), Binary("sub", dividend, size)
    within = Binary("lt", dividend, size)
    if here.truth(Binary("ge", dividend, zero)) and here.truth(Binary("lt", less, size)):
        return within, dividend, less
    more = Binary("add", dividend, size)
    if here.truth(within) and here.truth(Binary("ge", more, zero)):
        return Binary("ge", dividend, zero), dividend, more
    return None


def _put(index: Expr, part: Expr, new: Expr, here: Here | None) -> Expr:
    """An index with something else for a part of it, as short as it is at a place."""
    whole = map_expr(index, lambda e: new if e.same(part) else e)
    number = None if here is None else here.constant(whole)
    if number is not None:
        return const(number, index.dtype)
    value = pb.affine(whole)
    if value is None:
        return shortened(whole)
    names = {v.name: v for v in free_vars(whole)}
    short = readback.expression(value, names, None if here is None else here.domain)
    return short if short.dtype is index.dtype else shortened(whole)


def _with_index(load: Load, axis: int, index: Expr) -> Load:
    return replace(load, indices=(*load.indices[:axis], index, *load.indices[axis + 1 :]))


PADDING_RULES = (reduce_index, index_by_cases)
