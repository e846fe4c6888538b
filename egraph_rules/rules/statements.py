"""Statements in contexts: no-ops, branches, and the trade of branching for overcompute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial, reduce

from msgspec.structs import replace

from egraph_rules.authoring.parts import (
    FALSE,
    SKIP,
    TRUE,
    Effect,
    Expression,
    Integer,
    Real,
    Statement,
    alloc,
    block,
    branch,
    definition_of_skip,
    has,
    held,
    leaf,
    let,
    loop,
    part,
    parts,
    runs,
    same,
    select,
    sequence,
    store,
    where,
    where_not,
    without_effect,
    writes_what_is_dead,
)
from egraph_rules.authoring.parts import store_back as stored_back
from egraph_rules.authoring.proposal import Here, flat, rewrite, rewrite_expr
from egraph_rules.rules.algebra import Atoms, is_ring
from egraph_rules.rules.lets import Names
from ir.floats import Floats
from ir.nodes import SKIP as NOTHING
from ir.nodes import (
    Alloc,
    Assert,
    Assume,
    Binary,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.operators import COMMUTATIVE
from ir.presburger.polynomials import are_apart
from ir.program.edit import Path, statement_at
from ir.transform.stages.totals import taken_in_by_terms, worked_out_before
from ir.traverse import (
    all_exprs,
    all_same,
    buffers_accessed,
    buffers_read,
    buffers_written,
    children,
    conjuncts_of,
    has_kind,
    loads,
    map_expr,
    node_count,
    walk_expr,
    with_children,
)


@parts("overcompute.then", because="where c holds s runs anyway, elsewhere s and t have the same effect")
def overcompute_then(c: Expression, s: Statement, t: Statement):
    return branch(c, s, t), s, where_not(c, runs(s), same(s, t))


@parts("overcompute.else", because="where c fails t runs anyway, elsewhere t and s have the same effect")
def overcompute_else(c: Expression, s: Statement, t: Statement):
    return branch(c, s, t), t, where(c, runs(t), same(t, s))


@parts("overcompute.select_then", because="where c holds a is taken anyway, elsewhere a and b agree")
def select_then(c: Expression, a: Expression, b: Expression):
    return select(c, a, b), a, where_not(c, runs(a), same(a, b))


@parts("overcompute.select_else", because="where c fails b is taken anyway, elsewhere b and a agree")
def select_else(c: Expression, a: Expression, b: Expression):
    return select(c, a, b), b, where(c, runs(b), same(b, a))


@parts("branch.true", because="the condition is known here")
def branch_true(s: Effect, t: Effect):
    return branch(TRUE, s, t), s


@parts("branch.false", because="the condition is known here")
def branch_false(s: Effect, t: Effect):
    return branch(FALSE, s, t), t


@parts("branch.identical", because="both branches do the same")
def branch_identical(c: Expression, s: Statement):
    return branch(c, s, s), s


@rewrite(
    law="if c: s else: t  =  s   where s and t do the same but for known numbers, the order of terms and what is dead",
    because="equal numbers, or sums of products in which no part overflows where none of the other arm does",
    family="branch",
)
def alike(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Run one arm for both where they differ in how sums, products and numbers are written."""
    if not isinstance(stmt, If) or NOTHING in (stmt.then, stmt.other):
        return
    for truth, arm, other in ((False, stmt.then, stmt.other), (True, stmt.other, stmt.then)):
        inside = here.under(stmt.cond, truth)
        if inside is not None and _alike(arm, other, inside):
            yield arm
            return


@rewrite_expr(
    law="select(c, x, y)  =  x   where x and y are one value but for the order of terms",
    because="equal sums of products, in which no part overflows where none of the other arm does",
    family="branch",
)
def alike_values(expr: Expr, here: Here) -> Iterator[Expr]:
    """Take one value for both where they differ in how sums and products are written."""
    if not isinstance(expr, Select) or not here.decided(expr.cond):
        return
    for truth, arm, other in ((False, expr.then, expr.other), (True, expr.other, expr.then)):
        inside = here.under(expr.cond, truth)
        if inside is not None and _equal(arm, other, inside):
            yield arm
            return


def _alike(new: Stmt, old: Stmt, here: Here) -> bool:
    """Whether two statements do the same, and the new one faults only where the old one does."""
    match new, old:
        case Store(), Store() if new.buffer == old.buffer:
            return _all_alike((*new.indices, new.value), (*old.indices, old.value), here)
        case Seq(), Seq() | Store():
            return _alike_in_turn([*flat(new)], [*flat(old)], here)
        case For(), For() if new.var.same(old.var) and new.kind == old.kind:
            inside = here.inside(new)
            same = _all_alike((new.start, new.extent), (old.start, old.extent), here)
            return same and (inside is None or _alike_in_turn([*flat(new.body)], [*flat(old.body)], inside))
        case Let(), Seq() | Store() if all(isinstance(s, Store) for s in flat(old)):
            inside = here.inside(new)
            return (
                inside is not None
                and here.decided(new.value)
                and _alike_in_turn([*flat(new.body)], [*flat(old)], inside)
            )
        case _:
            return new == old


def _alike_in_turn(new: Sequence[Stmt], old: Sequence[Stmt], here: Here) -> bool:
    """Whether statements do the same one after the other, each by what is known after those before it.

    Those of the new ones that only write what may hold anything afterwards need no counterpart.
    """
    if not new:
        return not old
    rest, old = new[1:], _in_front(new[0], old)
    place, after = here.between(new[0], reduce(lambda t, s: Seq((s, t)), reversed(rest))) if rest else (here, here)
    if old and _alike(new[0], old[0], place):
        return _alike_in_turn(rest, old[1:], after)
    if not place.harmless(new[0]):
        return False
    if old and _stores_one_number(new[0], old[0], place):
        return _alike_in_turn(rest, old[1:], after)
    looked_at = buffers_read(*(e for s in old for e in all_exprs(s)))  # of which old ones know more
    return (
        buffers_written(new[0]).isdisjoint(looked_at)
        and place.only_writes_dead(new[0])
        and _alike_in_turn(rest, old, after)
    )


def _in_front(new: Stmt, old: Sequence[Stmt]) -> Sequence[Stmt]:
    """Statements, the one that writes where a new one does first, if it may change places with those before it."""
    at = next((k for k, s in enumerate(old) if _writes_where(s, new)), 0)
    if not all(_apart(old[at], s) for s in old[:at]):
        return old
    return (*old[at : at + 1], *old[:at], *old[at + 1 :])


def _writes_where(stmt: Stmt, other: Stmt) -> bool:
    if isinstance(stmt, Store) and isinstance(other, Store):
        return stmt.buffer == other.buffer and all_same(stmt.indices, other.indices)
    return buffers_written(stmt) == buffers_written(other)


def _apart(one: Stmt, other: Stmt) -> bool:
    """Whether statements may change places: neither touches what the other writes, promises anything or checks it."""
    if has_kind(one, Assume, Assert) or has_kind(other, Assume, Assert):
        return False
    touched = buffers_accessed(one), buffers_accessed(other)
    if isinstance(one, Store) and isinstance(other, Store) and one.buffer == other.buffer:
        read = buffers_read(*(e for s in (one, other) for e in (*s.indices, s.value)))
        return one.buffer not in read and are_apart(one.indices, other.indices)
    return buffers_written(one).isdisjoint(touched[1]) and buffers_written(other).isdisjoint(touched[0])


def _stores_one_number(new: Stmt, old: Stmt, here: Here) -> bool:
    """Whether two statements store the same known number in one place."""
    if not isinstance(new, Store) or not isinstance(old, Store) or new.buffer != old.buffer:
        return False
    number = here.number(old.value)
    known = number is not None and number.same(here.number(new.value))
    return known and all_same(new.indices, old.indices)


def _all_alike(new: Sequence[Expr], old: Sequence[Expr], here: Here) -> bool:
    return len(new) == len(old) and all(_equal(a, b, here) for a, b in zip(new, old, strict=True))


def _equal(new: Expr, old: Expr, here: Here) -> bool:
    """Whether two expressions have one value, and the new one faults only where the old one does."""
    if new.same(old):
        return True
    if new.dtype is old.dtype and new.dtype.is_integer and is_ring(new) and is_ring(old):
        return _equal_sums(here.with_held(new), here.with_held(old), here)
    one_operator = len(children(new)) == len(children(old)) and with_children(new, children(old)).same(old)
    return one_operator and _operands_equal(new, old, here)


def _equal_sums(new: Expr, old: Expr, here: Here) -> bool:
    atoms = Atoms()
    terms = atoms.polynomial(new)
    old = _in_terms_of(atoms.exprs, old, here)
    if terms is None or terms != atoms.polynomial(old):
        return False
    # Of undef two readings may differ: what cancels out is read all the same, and x + x may be odd where 2 * x is not.
    alike = Counter(loads(new)) == Counter(loads(old)) and set[int]().union(*terms) == set(range(len(atoms.exprs)))
    if not alike and not (here.defined(new) and here.defined(old)):
        return False
    return not new.dtype.is_signed or atoms.stay_in_range(old, new, here) or here.decided(new)


def _in_terms_of(atoms: Sequence[Expr], total: Expr, here: Here) -> Expr:
    """A sum of products with these atoms for those of its own that are written in another way."""
    if is_ring(total):
        return with_children(total, tuple(_in_terms_of(atoms, part, here) for part in children(total)))
    return next((a for a in atoms if a.dtype is total.dtype and _equal(a, total, here)), total)


def _operands_equal(new: Expr, old: Expr, here: Here) -> bool:
    ours, theirs = children(new), children(old)
    if _all_alike(ours, theirs, here):
        return True
    commutes = isinstance(new, Binary) and any(
        law.op == new.op and new.lhs.dtype.kind in law.kinds and law.floats is Floats.STRICT for law in COMMUTATIVE
    )
    return commutes and _all_alike(ours[::-1], theirs, here)


# Zero times what is arbitrary is zero and infinity times zero no number: a product of all three would depend on order.
_ANY_ORDER = Floats.REASSOCIATE | Floats.FINITE
_TOTALS = "s = 0; for i: s = s + x(i); t = 0; for j: t = t + x(f(j))  =  s = 0; for i: s = s + x(i); t = s"


@rewrite(
    law=_TOTALS + "   where f gives each i for one j; so for products and extremes, and for all elements of s and t",
    because="the same terms in another order, and none of them overflows in the order of s",
    family="contents",
    settles=lambda _stmt, _new, _instructs: True,
)
def total_known(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Copy a total of integers that has been worked out before, be it in other loops."""
    new = worked_out_before(stmt, here.domain, floats=False) if isinstance(stmt, Seq) else None
    if new is not None:
        yield new


@rewrite(
    law=_TOTALS + "   of floats",
    because="the same terms in another order",
    family="contents",
    settles=lambda _stmt, _new, _instructs: True,
    floats=_ANY_ORDER,
)
def total_known_of_floats(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Copy a total of floats that has been worked out before, be it in other loops."""
    new = worked_out_before(stmt, here.domain, floats=True) if isinstance(stmt, Seq) else None
    if new is not None:
        yield new


_PARTIAL = "t = 0; for i: t = t + x(i); s = s + t  =  t = 0; for i: t = t + x(i); for i: s = s + x(i)"


@rewrite(
    law=_PARTIAL, because="terms may be taken in one by one, where none of the totals overflows", family="contents"
)
def terms_taken_in(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Take in the terms of a total in place of it: of tiles, say, one of which is worked out after the other."""

    def fits(path: Path, count: int) -> bool:
        return _fits_times(stmt, path, count, here)

    new = taken_in_by_terms(stmt, here.domain, floats=False, fits=fits) if isinstance(stmt, Seq) else None
    if new is not None:
        yield new


def _fits_times(stmt: Stmt, path: Path, count: int, here: Here | None) -> bool:
    """Whether so many times what the step of a reduction takes in, at a path, is a number of its dtype."""
    match stmt:
        case _ if here is None:
            return True  # it never runs
        case Store(value=Binary(lhs=lhs, rhs=rhs)):
            own = Load(stmt.buffer, stmt.indices)
            term = rhs if lhs.same(own) else lhs
            fits = count <= own.dtype.max
            return fits and here.fits(Binary("mul", term, const(count, own.dtype)))
        case Seq(stmts=(first, second)):
            inner = here.between(first, second)[path[0]]
        case If(cond=cond):
            inner = here.under(cond, path[0] == 0)
        case For() | Let():
            inner = here.inside(stmt)
        case Alloc():
            inner = here.within(stmt)
        case _:
            return False
    return _fits_times(statement_at(stmt, path[:1]), path[1:], count, inner)


@rewrite(
    law=_PARTIAL + "   of floats",
    because="the same terms in another order",
    family="contents",
    floats=_ANY_ORDER,
)
def float_terms_taken_in(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Take in the terms of a total of floats in place of it."""
    new = taken_in_by_terms(stmt, here.domain, floats=True) if isinstance(stmt, Seq) else None
    if new is not None:
        yield new


@parts("noop.branch", because="a condition has no effect")
def branch_noop(c: Expression):
    return branch(c, SKIP, SKIP), SKIP


@parts("noop.sequence", because="nothing happens twice")
def seq_noop():
    return sequence(SKIP, SKIP), SKIP


@parts("noop.loop", because="every iteration leaves everything as it is")
def loop_noop():
    return loop(SKIP), SKIP


@parts("noop.block", because="a name has no effect")
def block_noop():
    return block(SKIP), SKIP


@parts("noop.let", because="a binding that nothing uses has no effect")
def let_noop():
    return let(SKIP), SKIP


@parts("noop.alloc", because="an allocation that nothing uses has no effect")
def alloc_noop():
    return alloc(SKIP), SKIP


@parts("noop.store_back", because="the element keeps its value")
def store_back():
    return stored_back(), SKIP


@parts("noop.store_known_int", because="the element keeps its value")
def store_known_int(e: Expression, v: Integer):
    return store(e), SKIP, held(v), has(e, v)


@parts("noop.store_known_float", because="the element keeps its value")
def store_known_float(e: Expression, v: Real):
    return store(e), SKIP, held(v), has(e, v)


@parts("noop.dead", because="what s writes is overwritten, havocked by undef, or local, before anything reads it")
def dead(s: Statement):
    return part(s), SKIP, writes_what_is_dead(s)


@parts("noop.without_effect", because="proven here, and evaluation changes nothing")
def leaf_without_effect():
    return leaf(), SKIP, without_effect()


skip = definition_of_skip("noop.is_skip", because="by definition")


@rewrite(
    law="A[i] = e; A[i] = f(A[i])  =  A[i] = f(e)   where f reads no other element that may be A[i]",
    because="nobody looks at the element between the two stores",
    family="contents",
)
def chained(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Store once what is stored and changed at once: a chain of stores to one element."""
    if isinstance(stmt, Seq):
        first, second, *rest = flat(stmt)
        yield from _stored_once(first, second, rest, here)


@rewrite(
    law="A[i] = e; if c: A[i] = f(A[i])  =  A[i] = select(c, f(e), e)   where f, c read nothing else that may be A[i]",
    because="nobody looks at the element between the two stores",
    family="contents",
    cuts=True,
)
def chained_choice(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """As `chained`, where what changes is under conditions: those that padding does without have gone by then."""
    if isinstance(stmt, Seq):
        first, second, *rest = flat(stmt)
        always = None if isinstance(second, Store) else _always(second)
        if always is not None:
            yield from _stored_once(first, always, rest, here)


def _stored_once(first: Stmt, second: Stmt, rest: list[Stmt], here: Here) -> Iterator[Stmt]:
    """Two stores to one element, and what follows them, with one."""
    if not (isinstance(first, Store) and isinstance(second, Store) and first.buffer == second.buffer):
        return
    element = Load(first.buffer, first.indices)
    if first.value.dtype is not element.dtype or not element.same(Load(second.buffer, second.indices)):
        return
    read = [e for i in (second.value, *second.indices) for e in walk_expr(i) if isinstance(e, Load)]
    own = [e for e in read if e.buffer == first.buffer]
    times = sum(e.same(element) for e in own)
    if not times or not all(e.same(element) or _are_others(e, element, here) for e in own):
        return
    named = times > 1 and node_count(first.value) > 1
    if named and not here.defined(first.value):
        return  # a name holds one value, and what is read twice may be any two
    value = Names.of(seq(first, second, *rest), here).new("value", element.dtype) if named else first.value
    store = replace(second, value=map_expr(second.value, lambda e: value if e.same(element) else e))
    yield seq(Let(value, first.value, store) if isinstance(value, Var) and named else store, *rest)


def _always(stmt: Stmt, *conditions: Expr) -> Store | None:
    """A store, under conditions as one that leaves the element as it is elsewhere; None if it is no such thing."""
    match stmt:
        case If(cond=cond, then=then, other=other) if other == NOTHING:
            return _always(then, *conditions, *conjuncts_of(cond))
        case Store(value=value) if conditions:
            element = Load(stmt.buffer, stmt.indices)
            if value.dtype is not element.dtype or isinstance(value, Undef):
                return None
            return replace(stmt, value=Select(reduce(partial(Binary, "and"), conditions), value, element))
        case Store():
            return stmt
        case _:
            return None


def _are_others(a: Load, b: Load, here: Here) -> bool:
    """Whether two elements of a buffer are surely different ones."""
    pairs = zip(a.indices, b.indices, strict=True)
    return any(here.truth(Binary("ne", x, y)) is True for x, y in pairs)


STATEMENT_RULES = (
    overcompute_then, overcompute_else, select_then, select_else, branch_true, branch_false, branch_identical,
    alike, alike_values, total_known, total_known_of_floats, terms_taken_in, float_terms_taken_in, branch_noop,
    seq_noop, loop_noop, block_noop, let_noop, alloc_noop,
    store_back, store_known_int, store_known_float, dead, leaf_without_effect, skip,
)  # fmt: skip
