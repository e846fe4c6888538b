"""Totals that are worked out twice: a reduction of the same terms as one before it, in any order and nests.

A total is what a buffer holds once a store to it has set its elements to a number and the next one has taken terms in.
Two of them are equal if they take in the same terms at the same places: terms by the pattern of what is computed, with
the indices of its operands as points of a set (isl). If no place has a term twice, the sets say all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Loop, Statement, domain, primed_loops
from ir.analysis.evaluated import pattern_of
from ir.dtypes import DType
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
)
from ir.operators import IDEMPOTENT
from ir.presburger import sets as pb
from ir.program.edit import with_children
from ir.traverse import buffers_written, has_kind, has_undef, loads, reads, stmt_children, substitute_expr, walk

_OPS = ("add", "mul", "min", "max", "bitand", "bitor", "bitxor")  # in any order, with all operands evaluated
_OTHERS = (Assert, Assume, Evaluate, Block, CallStmt, Alloc, Let)  # what a nest of loops and branches has not
_ANYWHERE = Statement(0, (), (), Store(Buffer("", (), DType.BOOL, "local"), (), FALSE))
_DIMS = isl.dim_type.set
_MOST_STORES = 24  # of a sequence, each of which is compared with all others

Path = tuple[int, ...]  # which child it is of each statement around


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
    """A sequence in which totals that an earlier one equals are copies of that one, which the first statement begins.

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
    for one in (t for t in totals if t.first.top[0] == 0 and t.buffer.dtype.is_float == floats):
        for other in totals:
            if other.last.top <= one.last.top or not _is_candidate(one, other, places):
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


def _is_candidate(one: _Total, other: _Total, places: Sequence[_Place]) -> bool:
    """Whether two totals may be equal, which nothing changes between them."""
    first, last = (p.statement.store.value for p in (one.first, other.first))
    if one.buffer == other.buffer or one.op != other.op or not first.same(last):
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
    """A sequence with a nest that stores what the earlier total is where the later one takes terms in; None if that
    nest does something else too, or the other has to stay where it is."""
    first, last = other.first, other.last
    if first.scopes != last.scopes[: len(first.scopes)] or not isinstance(_at(stmt, other.common), Seq):
        return None
    start, end = (_nest_in(stmt, other.common, p) if first.top == last.top else p.top for p in (first, last))
    if sum(isinstance(s, Store) for s in walk(_at(stmt, end))) != 1 or has_kind(_at(stmt, end), *_OTHERS):
        return None
    copy = _path_alone(_at(stmt, start), first.path[len(start) :], one.buffer)
    return _replaced(stmt, end, copy)


def _nest_in(stmt: Stmt, around: Path, place: _Place) -> Path:
    """The statement of a sequence, `around`, that a place is in."""
    depth = next(k for k in range(len(around), len(place.path) + 1) if not isinstance(_at(stmt, place.path[:k]), Seq))
    return place.path[:depth]


def _at(stmt: Stmt, path: Path) -> Stmt:
    return _at(stmt_children(stmt)[path[0]], path[1:]) if path else stmt


def _replaced(stmt: Stmt, path: Path, new: Stmt) -> Stmt:
    if not path:
        return new
    parts = [*stmt_children(stmt)]
    parts[path[0]] = _replaced(parts[path[0]], path[1:], new)
    return with_children(stmt, parts)


def _path_alone(stmt: Stmt, path: Path, buffer: Buffer) -> Stmt:
    """One store of a nest, of what is in a buffer at the same place."""
    if isinstance(stmt, Store):
        return replace(stmt, value=Load(buffer, stmt.indices))
    inner = _path_alone(stmt_children(stmt)[path[0]], path[1:], buffer)
    if isinstance(stmt, Seq):
        return inner
    return with_children(stmt, [inner if k == path[0] else SKIP for k in range(len(stmt_children(stmt)))])
