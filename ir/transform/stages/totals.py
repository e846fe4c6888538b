"""Totals that are worked out twice: a reduction of the same terms as one before it, in any order and nests.

A total is what a buffer holds once a store to it has set its elements to a number and the next one has taken terms in.
Two of them are equal if they take in the same terms at the same places: terms by the pattern of what is computed, with
the indices of its operands as points of a set (isl). If no place has a term twice, the sets say all. And a total that
another one takes in is as good as its terms, taken in one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Loop, Statement, domain, primed_loops
from ir.analysis.evaluated import pattern_of
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import (
    FALSE,
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    CallStmt,
    Const,
    Evaluate,
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
    Var,
    seq,
)
from ir.operators import IDEMPOTENT, neutral
from ir.presburger import sets as pb
from ir.program.calls import names_mentioned
from ir.program.edit import Path, statement_at, with_children, with_statement_at
from ir.traverse import (
    all_exprs,
    buffers_written,
    free_vars,
    has_kind,
    has_loads,
    has_undef,
    is_const,
    loads,
    reads,
    stmt_children,
    stores_in,
    substitute_expr,
)

_OPS = ("add", "mul", "min", "max", "bitand", "bitor", "bitxor")  # in any order, with all operands evaluated
_OTHERS = (Assert, Assume, Evaluate, Block, CallStmt, Alloc, Let)  # what a nest of loops and branches has not
_ANYWHERE = Statement(0, (), (), Store(Buffer("", (), DType.BOOL, "local"), (), FALSE))
_DIMS = isl.dim_type.set
_MOST_STORES = 24  # of a sequence, each of which is compared with all others


class _Place(Struct, frozen=True):
    """A store in a sequence: the statement of the sequence that it is in, and what is around each.

    `loops` are the paths of the loops around the store, `scopes` those of the bindings around that statement.
    """

    path: Path
    top: Path
    statement: Statement
    loops: tuple[Path, ...] = ()
    scopes: tuple[Path, ...] = ()
    locals: Mapping[Buffer, Path] = {}


class _Total(Struct, frozen=True):
    """A buffer that is set to a number, and then takes terms in."""

    first: _Place
    last: _Place
    op: str
    term: Expr

    @property
    def buffer(self) -> Buffer:
        return self.last.statement.buffer

    @property
    def common(self) -> Path:
        """The innermost statement around both stores."""
        pairs = zip(self.first.path, self.last.path, strict=False)
        return self.first.path[: next((k for k, (a, b) in enumerate(pairs) if a != b), 0)]

    @property
    def around(self) -> tuple[Loop, ...]:
        """The loops around both stores."""
        shared = sum(path == self.common[: len(path)] for path in self.last.loops)
        return self.last.statement.loops[:shared]


def worked_out_before(stmt: Seq, known: isl.Set, *, floats: bool) -> Stmt | None:
    """A sequence in which totals that an earlier one equals are copies of that one.

    Totals of `floats` or those of other numbers; terms of floats are taken in in another order.
    """
    found: Stmt | None = None
    left: Stmt = stmt
    while isinstance(left, Seq) and (new := _one_copied(left, known, floats=floats)) is not None:
        left = found = new
    return found


def _one_copied(stmt: Seq, known: isl.Set, *, floats: bool) -> Stmt | None:
    places = [*_places(stmt, _Place((), (), _ANYWHERE), within=False)]
    if len(places) > _MOST_STORES:
        return None
    totals = [*_totals(places)]
    for one in (t for t in totals if t.buffer.dtype.is_float == floats):
        for other in totals:
            if not _is_later(other, one) or not _is_candidate(one, other, places):
                continue
            new = _copied(stmt, one, other)
            if new is not None and pb.within_budget(lambda one=one, other=other: _are_equal(one, other, known), False):
                return new
    return None


def _places(stmt: Stmt, at: _Place, *, within: bool) -> Iterator[_Place]:
    """All stores; of what is no nest of loops and branches one to each buffer that it writes, which says nothing.

    `within` says that there is a loop or branch around, which is a statement of the sequence or in one.
    """
    here = at if within else replace(at, top=at.path)
    outer = here.statement
    match stmt:
        case Store():
            yield replace(here, statement=replace(outer, store=stmt))
        case Seq(stmts=parts):
            for k, part in enumerate(parts):
                yield from _places(part, replace(at, path=(*at.path, k)), within=within)
        case Alloc() | Let() if not within:
            found = {**at.locals, stmt.buffer: at.path} if isinstance(stmt, Alloc) else at.locals
            inner = replace(at, path=(*at.path, 0), scopes=(*at.scopes, at.path), locals=found)
            yield from _places(stmt.body, inner, within=False)
        case For(body=body):
            statement = replace(outer, loops=(*outer.loops, Loop.of(stmt)))
            inner = replace(here, path=(*at.path, 0), statement=statement, loops=(*at.loops, at.path))
            yield from _places(body, inner, within=True)
        case If(cond=cond, then=then, other=other):
            for k, (arm, guard) in enumerate(((then, cond), (other, Unary("not", cond)))):
                inner = replace(here, path=(*at.path, k), statement=replace(outer, guards=(*outer.guards, guard)))
                yield from _places(arm, inner, within=True)
        case _:
            for buffer in buffers_written(stmt):
                yield replace(here, statement=replace(outer, store=Store(buffer, (), Load(buffer, ()))))


def _totals(places: Sequence[_Place]) -> Iterator[_Total]:
    for buffer in dict.fromkeys(p.statement.buffer for p in places):
        own = [p for p in places if p.statement.buffer == buffer]
        for first, last in pairwise(own):
            tops = first.top, last.top
            alone = first.top == last.top or all(p in (first, last) or p.top not in tops for p in own)
            step = _step(last.statement)
            if alone and step is not None and isinstance(first.statement.store.value, Const):
                yield _Total(first, last, *step)


def _step(statement: Statement) -> tuple[str, Expr] | None:
    """The operator of a step of a reduction, and what it takes in, with the conditions on data under which it does."""
    store = statement.store
    if not isinstance(store.value, Binary) or store.value.op not in _OPS:
        return None
    own, (a, b) = Load(store.buffer, store.indices), (store.value.lhs, store.value.rhs)
    term = b if a.same(own) else a if b.same(own) else None
    if term is None or reads(store.buffer, term) or has_undef(term):
        return None
    on_data = [g for g in statement.guards if not _is_plain(g)]
    return store.value.op, Select(conjunction(on_data), term, term) if on_data else term


def _is_plain(guard: Expr) -> bool:
    """Whether a guard is a condition on variables alone, of which sets say all."""
    known = pb.condition(guard)
    return bool(known.must.is_equal(known.may))


def _is_later(other: _Total, one: _Total) -> bool:
    """Whether a total is known no earlier than another one; of two in one nest, whether both are known after it."""
    return one.last.top < other.last.top or other.first.top < one.last.top == other.last.top


def _is_candidate(one: _Total, other: _Total, places: Sequence[_Place]) -> bool:
    """Whether two totals may be equal, which nothing changes between them."""
    first, last = (p.statement.store.value for p in (one.first, other.first))
    if one.buffer == other.buffer or one.op != other.op or not first.same(last):
        return False
    if len(one.buffer.shape) != len(other.buffer.shape):  # places of one are none of the other
        return False
    if not _pattern(one, []).same(_pattern(other, [])):
        return False
    read = {load.buffer for load in loads(one.term)}
    if not {one.buffer, other.buffer}.isdisjoint(read):
        return False
    if any(one.last.locals.get(b) != other.last.locals.get(b) for b in (one.buffer, *read)):
        return False
    tops = (one.first.top, one.last.top)
    kept = all(
        p in (one.first, one.last) or p.statement.buffer != one.buffer or not tops[0] <= p.top <= other.last.top
        for p in places
    )
    return kept and not any(p.statement.buffer in read and tops[1] <= p.top <= other.last.top for p in places)


def _pattern(total: _Total, places: list[Expr]) -> Expr:
    return pattern_of(total.term, places, indirect=True)


def _are_equal(one: _Total, other: _Total, known: isl.Set) -> bool:
    """Whether the later total is the earlier one wherever it is worked out, in each iteration of loops around it."""
    before, after = _sets(one, ()), _sets(other, other.around)
    if before is None or after is None or not _in_turn(one):
        return False
    set_before, taken_before, set_after, taken_after = (s.intersect_params(known) for s in (*before, *after))
    rank, dims = len(one.last.statement.store.indices), taken_before.dim(_DIMS)
    asked = set_after.insert_dims(_DIMS, rank, dims - rank)
    return bool(
        set_after.is_subset(set_before)
        and taken_before.project_out(_DIMS, rank, dims - rank).is_subset(set_before)
        and taken_after.is_subset(asked)
        and taken_before.intersect(asked).is_equal(taken_after)
    )


def _sets(total: _Total, around: Sequence[Loop]) -> tuple[isl.Set, isl.Set] | None:
    """The elements that are set, and with what each takes in, by the variables of the loops `around`; None if sets do
    not say all, or some element takes something in more than once."""
    first, last = total.first.statement, total.last.statement
    plain = replace(last, guards=tuple(g for g in last.guards if _is_plain(g)))
    operands: list[Expr] = []
    _pattern(total, operands)
    places, points = pb.point(first.store.indices), pb.point((*last.store.indices, *operands))
    if places is None or points is None or not all(map(_is_exact, (first, plain))):
        return None
    outer = {loop.var.name for loop in around}
    if not _once(plain, points, outer, total.op):
        return None
    regions = places.intersect_params(first.domain), points.intersect_params(plain.domain)
    found = zip(regions, (first, last), strict=True)
    one, other = (pb.forget(r, {o.var.name for o in s.loops} - outer) for r, s in found)
    return one, other


def _is_exact(statement: Statement) -> bool:
    return bool(domain(statement, {}, must=True).is_equal(statement.domain))


def _once(statement: Statement, points: isl.Set, around: Collection[str], op: str) -> bool:
    """Whether no two iterations of the same ones `around` take the same in, if that makes a difference."""
    if any(law.op == op for law in IDEMPOTENT):
        return True
    primes = {v: w for v, w in primed_loops(statement).items() if v.name not in around}
    names = {v.name: w.name for v, w in primes.items() if isinstance(w, Var)}
    inside = points.intersect_params(statement.domain)
    both = inside.intersect(pb.rename(inside, names)).params()
    same = pb.always()
    for v, w in primes.items():
        same = same.intersect(pb.condition(Binary("eq", v, w)).may)
    return bool(both.is_subset(same))


def _in_turn(total: _Total) -> bool:
    """Whether an element is set before it takes anything in, if both stores are in one nest: in one iteration of the
    loops around both."""
    first, last = total.first.statement, total.last.statement
    if total.first.top != total.last.top:
        return True
    primes = primed_loops(last)
    indices = pb.point([substitute_expr(i, primes) for i in last.store.indices])
    places = pb.point(first.store.indices)
    if indices is None or places is None:
        return False
    both = places.intersect_params(first.domain).intersect(indices.intersect_params(last.primed_domain)).params()
    same = pb.always()
    for loop in total.around:
        same = same.intersect(pb.condition(Binary("eq", loop.var, primes[loop.var])).may)
    return bool(both.is_subset(same))


def _copied(stmt: Stmt, one: _Total, other: _Total) -> Stmt | None:
    """A sequence with a nest that stores what the earlier total is after that where the later one takes terms in, which
    does so no more; None if it reads that total, or the other has to stay where it is."""
    first, last = other.first, other.last
    if first.scopes != last.scopes[: len(first.scopes)] or not isinstance(statement_at(stmt, other.common), Seq):
        return None
    start, end = (_nest_in(stmt, other.common, p) if first.top == last.top else p.top for p in (first, last))
    nest, own = statement_at(stmt, end), other.buffer
    read = sum(isinstance(e, Load) and e.buffer == own for e in all_exprs(nest))
    if has_kind(nest, *_OTHERS) or (read, sum(s.buffer == own for s in stores_in(nest))) != (1, 1):
        return None
    copy = _path_alone(statement_at(stmt, start), first.path[len(start) :], one.buffer)
    return with_statement_at(stmt, end, seq(_without(nest, last.path[len(end) :]), copy))


def _without(stmt: Stmt, path: Path) -> Stmt:
    """A statement without the one at a path, and without loops and branches in which nothing is left."""
    if not path:
        return SKIP
    parts = [*stmt_children(stmt)]
    parts[path[0]] = _without(parts[path[0]], path[1:])
    return SKIP if all(part == SKIP for part in parts) else with_children(stmt, parts)


def _nest_in(stmt: Stmt, around: Path, place: _Place) -> Path:
    """The statement of a sequence, `around`, that a place is in."""
    depth = next(
        k for k in range(len(around), len(place.path) + 1) if not isinstance(statement_at(stmt, place.path[:k]), Seq)
    )
    return place.path[:depth]


def _path_alone(stmt: Stmt, path: Path, buffer: Buffer) -> Stmt:
    """One store of a nest, of what is in a buffer at the same place."""
    if isinstance(stmt, Store):
        return replace(stmt, value=Load(buffer, stmt.indices))
    inner = _path_alone(stmt_children(stmt)[path[0]], path[1:], buffer)
    if isinstance(stmt, Seq):
        return inner
    return with_children(stmt, [inner if k == path[0] else SKIP for k in range(len(stmt_children(stmt)))])


# Totals of totals -----------------------------------------------------------------------------------------------------


class _Terms(Struct, frozen=True):
    """What an element of a buffer is the total of: its first value, and a nest over its terms, by its indices."""

    total: _Total
    inner: tuple[Loop, ...]

    @staticmethod
    def of(total: _Total) -> _Terms | None:
        """None if an element is not named by loops, or these depend on those over its terms."""
        loops, indices = total.last.statement.loops, total.last.statement.store.indices
        outer = [v for v in indices if isinstance(v, Var)]
        inner = tuple(loop for loop in loops if loop.var not in outer)
        names = {loop.var for loop in inner}
        named = len({*outer}) == len(outer) and all(isinstance(i, (Var, Const)) for i in indices)
        plain = all(free_vars(o.start, o.extent).isdisjoint(names) for o in loops if o.var in outer)
        own = all(loop.var in outer for loop in total.around)
        return _Terms(total, inner) if inner and named and plain and own else None

    def are_all_in(self, region: isl.Set) -> bool:
        """Whether elements of a region are set, and are those of the loops that name elements."""
        first, last = self.total.first.statement, self.total.last.statement
        outer = tuple(loop for loop in last.loops if loop not in self.inner)
        named = replace(last, loops=outer, guards=())
        regions = (_region(s) if _is_exact(s) else None for s in (first, named))
        return all(found is not None and region.is_subset(found) for found in regions)

    def taken_in(self, store: Store, indices: Sequence[Expr], taken: Collection[str]) -> Stmt:
        """A nest that takes the terms of an element into another one."""
        statement, names = self.total.last.statement, {*taken}
        values = {v: i for v, i in zip(statement.store.indices, indices, strict=True) if isinstance(v, Var)}
        for loop in self.inner:
            values[loop.var] = Var(fresh(loop.var.name, names), loop.var.dtype)
        assert isinstance(store.value, Binary)
        own = Load(store.buffer, store.indices)
        term = substitute_expr(_taken(statement.store), values)
        step: Stmt = replace(store, value=replace(store.value, lhs=own, rhs=term))
        for guard in reversed(statement.guards):
            step = If(substitute_expr(guard, values), step, SKIP)
        for loop in reversed(self.inner):
            var, start, extent = (substitute_expr(e, values) for e in (loop.var, loop.start, loop.extent))
            assert isinstance(var, Var)
            step = For(var, start, extent, step)
        first = self.total.first.statement.store.value
        if isinstance(first, Const) and first.value == neutral(self.total.op, first.dtype):
            return step
        return seq(replace(store, value=replace(store.value, lhs=own, rhs=first)), step)


def taken_in_by_terms(
    stmt: Seq,
    known: isl.Set,
    *,
    floats: bool,
    fits: Callable[[Path, int], bool] = lambda _path, _count: False,
) -> Stmt | None:
    """A sequence in which a total that later ones take in is taken in term by term.

    Totals of `floats` or those of other numbers: sums that might leave their range if so many times what
    the step at a path takes in `fits`.
    """
    places = [*_places(stmt, _Place((), (), _ANYWHERE), within=False)]
    if len(places) > _MOST_STORES:
        return None
    totals = [*_totals(places)]
    for total in totals:
        terms = _Terms.of(total)
        if terms is None or total.buffer.dtype.is_float != floats:
            continue
        for place in places:
            indices = _element_taken(total, place) if place.top > total.last.top else None
            if indices is None or not _is_kept(total, place, places):
                continue
            if not _stays_in_range(terms, place, totals, known, fits):
                continue
            if pb.within_budget(lambda t=terms, p=place, i=indices: _reads_known(t, p, i, known), False):
                store = place.statement.store
                return with_statement_at(stmt, place.path, terms.taken_in(store, indices, names_mentioned(stmt)))
    return None


def _stays_in_range(
    terms: _Terms, place: _Place, totals: Sequence[_Total], known: isl.Set, fits: Callable[[Path, int], bool]
) -> bool:
    """Whether a total that takes terms in one by one is a number of its dtype all the time, if it is in the end."""
    dtype, op = place.statement.buffer.dtype, terms.total.op
    if dtype.is_float or not dtype.is_signed or op not in ("add", "mul"):
        return True
    begins = (terms.total.first, *(t.first for t in totals if t.last is place))
    if op == "mul" or len(begins) < 2 or not all(is_const(b.statement.store.value, 0) for b in begins):
        return False
    count = 1
    there = ((loop, place.statement) for loop in place.statement.loops)
    for loop, statement in (*there, *((loop, terms.total.last.statement) for loop in terms.inner)):
        most = pb.affine(loop.extent)
        dims = None if most is None else isl.Set.from_pw_aff(most.intersect_domain(known.intersect(statement.domain)))
        top = None if dims is None else pb.forget(dims, pb.variables(dims)).dim_max_val(0)
        if top is None or not top.is_int():
            return False
        count *= max(top.to_python(), 1)
    return fits(terms.total.last.path, count)


def _taken(store: Store) -> Expr:
    """What a step of a reduction takes in, as it stands."""
    assert isinstance(store.value, Binary)
    own, (a, b) = Load(store.buffer, store.indices), (store.value.lhs, store.value.rhs)
    return b if a.same(own) else a


def _element_taken(total: _Total, place: _Place) -> tuple[Expr, ...] | None:
    """The element of a total that a step of another one takes in, each one in one iteration only."""
    statement = place.statement
    step = _step(statement)
    if step is None or step[0] != total.op or statement.buffer == total.buffer:
        return None
    term = _taken(statement.store)
    own = total.last.statement.store.indices
    if not isinstance(term, Load) or term.buffer != total.buffer or any(map(has_loads, term.indices)):
        return None
    pairs = zip(own, term.indices, strict=True)
    fits = all(v.dtype is i.dtype and (isinstance(v, Var) or v.same(i)) for v, i in pairs)
    once = {loop.var for loop in statement.loops} <= free_vars(*term.indices)
    return term.indices if fits and once else None


def _is_kept(total: _Total, place: _Place, places: Sequence[_Place]) -> bool:
    """Whether what a total is, and all that it is made of, is the same where it is taken in."""
    last = total.last
    read = {load.buffer for e in last.statement.exprs() for load in loads(e)} - {total.buffer}
    if place.statement.buffer in read or last.scopes != place.scopes[: len(last.scopes)]:
        return False
    if any(last.locals.get(b) != place.locals.get(b) for b in (total.buffer, *read)):
        return False
    between = [p for p in places if total.first.top <= p.top <= place.top and p not in (total.first, last)]
    return all(p.statement.buffer not in read and p.statement.buffer != total.buffer for p in between)


def _reads_known(terms: _Terms, place: _Place, indices: Sequence[Expr], known: isl.Set) -> bool:
    """Whether elements that are taken in somewhere are the totals that they are said to be."""
    statement = place.statement
    region = _region(replace(statement, store=replace(statement.store, indices=tuple(indices))))
    return region is not None and _in_turn(terms.total) and terms.are_all_in(region.intersect_params(known))


def _region(statement: Statement) -> isl.Set | None:
    """The elements that a statement may store to; None if they are not known."""
    places = pb.point(statement.store.indices)
    if places is None:
        return None
    return pb.forget(places.intersect_params(statement.domain), {loop.var.name for loop in statement.loops})
