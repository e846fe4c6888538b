"""Loops put together: those of a nest that walk along one position, and loops over one range that share a buffer.

Tiles of a loop are joined, and two loops coalesced of which the body needs only the position that both count. That one
loop of a group may be merged with the next (loop fusion) is asked of pairs, and only of those that share a buffer which
one of them writes, and not each a row of its own: a program of n loops in a row has about n such pairs, and effects of
groups are never worked out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TypeGuard

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from egraph_rules.cost.prices import accumulates
from egraph_rules.rules.cases import joined
from egraph_rules.rules.splitting import stays_within, tidied
from ir.analysis.contents import reads
from ir.analysis.effects import Effects, Regions, Touching, clash, meeting
from ir.analysis.legality import check_order
from ir.dtypes import DType
from ir.floats import Floats
from ir.fold import fold
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Seq,
    Stmt,
    Store,
    Var,
    const,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.polynomials import polynomial, summed, written
from ir.program.calls import minus, of_dtype
from ir.program.edit import nest, plus
from ir.transform.loops.coalesce import digits_of
from ir.transform.loops.ranges import ends
from ir.traverse import (
    all_exprs,
    bound_var,
    buffers_accessed,
    children,
    free_vars,
    has_kind,
    has_loads,
    is_const,
    map_stmt,
    operands_of,
    rebuilt,
    seq,
    stmt_exprs,
    stores_in,
    substitute,
    substitute_expr,
    walk,
    walk_expr,
    with_children,
    without_outer_names,
)


@rewrite(
    law="for i in n: s; u; for i in n: t  =  for i in n: (s; t); u   where no t minds u or a later s",
    because="t changes places with u and with s of later iterations only, and neither touches what the other writes",
    family="loops",
    joins=True,
)
def merged(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Merge loops over one range that share a buffer, as many as can be."""
    if not isinstance(stmt, Seq):
        return
    parts = list(flat(stmt))
    if sum(isinstance(p, For) for p in parts) < 2:
        return
    pairs = _Pairs(here)
    results: list[Stmt] = []
    for nearest in (True, False):
        groups = _Groups(pairs)
        for part in parts:
            groups.add(part, nearest=nearest)
        if len(groups.groups) < len(parts):
            results.append(seq(*(group.whole() for group in groups.groups)))
    yield from results[:1] if results[1:] == results[:1] else results


class _Pairs(Struct):
    """What is known of pairs of statements in a sequence at one place; each is asked once, whatever its buffers are."""

    here: Here
    _answers: dict[tuple[str, int, int], bool] = field(default_factory=lambda: dict[tuple[str, int, int], bool]())

    def commute(self, first: Stmt, second: Stmt) -> bool:
        """Whether no statement touches what the other writes."""
        return self._empty("commute", first, second, lambda: clash(*self._effects(first, second)))

    def in_order(self, first: For, second: For) -> bool:
        """Whether what a loop does in an iteration may come before what an earlier one does in later iterations."""
        return self._empty("order", first, second, lambda: _disorder(first, *self._effects(first.body, second.body)))

    def _effects(self, first: Stmt, second: Stmt) -> tuple[Effects, Effects]:
        return self.here.effects(first), self.here.effects(second)

    def _empty(self, kind: str, first: Stmt, second: Stmt, states: Callable[[], isl.Set]) -> bool:
        """Whether nothing is in the set of bad states."""
        key = (kind, id(first), id(second))
        if key not in self._answers:
            contexts = self.here.contexts
            one, two = (contexts.effects.form(s) for s in (first, second))
            shared = tuple(one.buffers.index(b) if b in one.buffers else -1 for b in two.buffers)
            form = "pair", kind, contexts.place(self.here.facts), one.key, two.key, shared
            # What is known here of variables holds in both statements, since statements change buffers only.
            self._answers[key] = bool(contexts.ask(form, lambda: self.here.never(states), False))
        return self._answers[key]


class _Group(Struct):
    """Statements of which one is to be made, and which of them touch a buffer."""

    pairs: _Pairs
    members: list[Stmt] = field(default_factory=lambda: list[Stmt]())
    _reads: dict[Buffer, Touching] = field(default_factory=lambda: defaultdict(Touching))
    _writes: dict[Buffer, Touching] = field(default_factory=lambda: defaultdict(Touching))

    def add(self, stmt: Stmt) -> None:
        """Put a statement to its end."""
        self.members.append(stmt)
        effects = self.pairs.here.effects(stmt)
        for regions, touching in ((effects.reads, self._reads), (effects.may, self._writes)):
            for buffer, region in regions.items():
                touching[buffer].add(stmt, region)

    def shares(self, stmt: Stmt) -> bool:
        """Whether members write a buffer that a statement touches, or touch one that it writes."""
        effects = self.pairs.here.effects(stmt)
        written = any(b in self._writes for b in (*effects.reads, *effects.may))
        return written or any(b in self._reads for b in effects.may)

    def meeting(self, stmt: Stmt) -> Iterable[Stmt]:
        """The members that may write what a statement touches, or touch what it writes."""
        effects = self.pairs.here.effects(stmt)
        pairs = ((effects.reads, self._writes), (effects.may, self._writes), (effects.may, self._reads))
        found = (m for regions, by in pairs for b, r in regions.items() if b in by for m in by[b].meeting(r))
        return {id(m): m for m in found}.values()

    def may_have(self, loop: For) -> bool:
        """Whether a loop may be merged with the group, and shares something with it."""
        first = self.members[0]
        if not isinstance(first, For) or not self.shares(loop) or not _alike(first, loop):
            return False
        return all(isinstance(m, For) and self.pairs.in_order(m, loop) for m in self.meeting(loop))

    def commutes(self, stmt: Stmt) -> bool:
        """Whether a statement may change places with all members."""
        return all(self.pairs.commute(member, stmt) for member in self.meeting(stmt))

    def whole(self) -> Stmt:
        """The members as one statement."""
        first = self.members[0]
        if len(self.members) == 1 or not isinstance(first, For):
            return first
        here = self.pairs.here
        inside = pb.within_loops(here.domain, [first])
        bodies = [member.body for member in self.members if isinstance(member, For)]
        return replace(first, body=_fused(bodies, here.at(inside)))


class _Groups(Struct):
    """A sequence as groups of statements, of which each becomes one; and which of them touch a buffer, by position."""

    pairs: _Pairs
    groups: list[_Group] = field(default_factory=lambda: list[_Group]())
    _touching: dict[Buffer, set[int]] = field(default_factory=lambda: defaultdict(set))
    _barrier: int = -1  # the last group that makes a promise or checks one: it keeps its place

    def add(self, part: Stmt, *, nearest: bool) -> None:
        """Put a statement to the nearest group, or to the farthest, that may have it; else it is one by itself."""
        keeps_place = any(isinstance(s, (Assume, Assert)) for s in walk(part))
        found = list(self._homes(part, keeps_place)) if isinstance(part, For) else []
        at = len(self.groups) if not found else found[0 if nearest else -1]
        if not found:
            self.groups.append(_Group(self.pairs))
        self.groups[at].add(part)
        effects = self.pairs.here.effects(part)
        for buffer in (*effects.reads, *effects.may):
            self._touching[buffer].add(at)
        if keeps_place:
            self._barrier = max(self._barrier, at)

    def _homes(self, loop: For, keeps_place: bool) -> Iterator[int]:
        """Groups that a loop may be merged with, nearest first: whatever is behind them changes places with it."""
        effects = self.pairs.here.effects(loop)
        touching = set[int]().union(*(self._touching[b] for b in (*effects.reads, *effects.may)))
        last = len(self.groups) - 1
        for at in sorted(touching, reverse=True):
            if at < self._barrier or (keeps_place and at < last):
                return
            if self.groups[at].may_have(loop):
                yield at
            if not self.groups[at].commutes(loop):
                return


def _fused(stmts: Iterable[Stmt], here: Here) -> Stmt:
    """One statement after the other, neighbours as one loop or branch where that can be, down to the innermost."""
    pairs = _Pairs(here)
    groups: list[_Group] = []
    for stmt in stmts:
        if not (groups and isinstance(stmt, For) and groups[-1].may_have(stmt)):
            groups.append(_Group(pairs))
        groups[-1].add(stmt)
    out: list[Stmt] = []
    for group in groups:
        new = group.whole()
        both = joined(out[-1], new, here) if out else None
        if both is None:
            out.append(new)
        else:
            out[-1] = both
    return seq(*out)


def _alike(first: For, second: For) -> bool:
    """Whether two loops run over one range, and both do something."""
    if first.kind != "serial" or second.kind != "serial" or _promises_only(first) or _promises_only(second):
        return False
    same = first.var.same(second.var) and first.start.same(second.start) and first.extent.same(second.extent)
    return same and not has_loads(first.start) and not has_loads(first.extent)


def _promises_only(loop: For) -> bool:
    """Whether a loop only assumes something, and vanishes after the search."""
    return has_kind(loop, Assume) and not has_kind(loop, Store)


def _disorder(loop: For, first: Effects, second: Effects) -> isl.Set:
    """Where `first` in a later iteration touches what `second` touches in this one, and either writes it."""
    name, late = loop.var.name, f"{loop.var.name}'"
    domain = pb.loop_domain(loop.var, loop.start, loop.extent).may
    result = pb.never()
    for here_, there in ((second.may, first.may), (second.reads, first.may), (second.may, first.reads)):
        result = result.union(meeting(here_, _later(there, name, late, domain)))
    return result.intersect(domain).intersect(pb.symbol(name).lt_set(pb.symbol(late)))


def _later(regions: Regions, name: str, late: str, domain: isl.Set) -> Regions:
    return {b: pb.rename(r.intersect_params(domain), {name: late}) for b, r in regions.items()}


# Nests that walk along one position ---------------------------------------------------------------------------------


@rewrite(
    law="for o in n: for r in k: s  =  for i in n * k: s with o = i // k, r = i % k   where s only uses k * o + r",
    because="the same iterations run, and those that depend on each other in the same order",
    family="loops",
)
def coalesced(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Coalesce two loops of a nest whose body needs no more than the position that both together count.

    One loop may be shortened. Loops between the two then stand inside.
    """
    chain = _nest(stmt)
    for depth in range(1, len(chain)):
        outer, inner, body = chain[0], chain[depth], chain[-1].body
        extent, count = pb.affine(outer.extent), here.constant(inner.extent)
        rectangular = all(_from_zero(loop) and outer.var not in free_vars(loop.extent) for loop in chain[: depth + 1])
        if extent is None or count is None or count < 1 or inner.var.dtype is not outer.var.dtype or not rectangular:
            continue
        if not all(_counts(e, outer.var, inner.var, count) for s in walk(body) for e in stmt_exprs(s)):
            continue  # as for most nests, without asking isl
        within = nest(chain[1:depth], inner.body)
        question = partial(_coalesced, outer, inner, within, count, here)
        new = pb.within_budget(question, None)
        if new is not None and (depth == 1 or _in_order(stmt, new, outer, inner, count, here)):
            yield new
            return


@rewrite(
    law="for o in n: for i in a(o) .. a(o + 1): s  =  for i in a(0) .. a(n): s   where s does not use o",
    because="the same iterations run, and those that depend on each other in the same order",
    family="loops",
)
def tiles_joined(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Join tiles of a loop, of which the last may be a part of one. Loops between the two then stand inside."""
    yield from _tiles_joined(stmt, here, reassociate=False)


@rewrite(
    law="for o in n: for i in a(o) .. a(o + 1): s  =  for i in a(0) .. a(n): s   where s does not use o, and adds up",
    because="the same terms are added in another order",
    family="loops",
    floats=Floats.REASSOCIATE,
)
def tiles_of_sums_joined(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Join tiles of a loop where that changes the order in which terms of a sum are added."""
    if isinstance(stmt, For) and any(accumulates(s) and s.value.dtype.is_float for s in stores_in(stmt)):
        yield from _tiles_joined(stmt, here, reassociate=True)


def _tiles_joined(stmt: Stmt, here: Here, *, reassociate: bool) -> Iterator[Stmt]:
    chain = _nest(stmt)
    for depth in range(1, len(chain)):
        outer, inner = chain[0], chain[depth]
        bounds = {*free_vars(inner.start), *free_vars(inner.extent)}
        if outer.var in bounds:
            if bounds.isdisjoint(loop.var for loop in chain[1:depth]):
                at = pb.within_budget(partial(_at_positions, outer, inner, here), inner)
                within = nest(chain[1:depth], at.body)
                if not any(outer.var in free_vars(e) for e in all_exprs(within)):
                    joined = pb.within_budget(partial(_joined, outer, inner, at, within, here), None)
                    if joined is not None and _keeps_order(stmt, joined, inner.var, here, reassociate=reassociate):
                        yield joined[0]
            return


def _at_positions(outer: For, inner: For, here: Here) -> For:
    """A loop over places in a tile as one over the positions in the whole, where its body names these alone."""
    dtype, around = inner.var.dtype, here.domain.intersect(_range(outer).may)
    places = around.intersect(_range(inner).may)
    _, last = pb.bounds(pb.only(places, inner.var.name))
    if not _from_zero(inner) or last is None or dtype is not outer.var.dtype:
        return inner
    if not all(_counts(e, outer.var, inner.var, last + 1) for s in walk(inner.body) for e in stmt_exprs(s)):
        return inner
    start = Binary("mul", outer.var, const(last + 1, dtype))
    loop = replace(inner, start=start)
    place = here.at(around.intersect(_range(loop).may))
    return replace(loop, body=tidied(substitute(inner.body, {inner.var: minus(inner.var, start)}), {inner.var}, place))


def _joined(outer: For, inner: For, at: For, within: Stmt, here: Here) -> tuple[For, dict[Var, Expr]] | None:
    """Tiles of a loop, which goes `at` positions, as one, and what the two variables were in terms of its own.

    None if some position is in several tiles, or is not known to be in one.
    """
    domain = here.domain
    for loop in (outer, at):
        values = _range(loop)
        if not values.exact:
            return None
        domain = domain.intersect(values.may)
    scope = {**here.names(outer), at.var.name: at.var}
    domain = pb.forget(domain, pb.variables(domain) - scope.keys() - {outer.var.name})
    first, last = ends(domain, outer.var.name)
    if first is None or last is None or not domain.is_subset(first.eq_set(last)):
        return None
    dtype = outer.var.dtype
    tile = of_dtype(readback.expression(last, scope, here.domain), dtype)
    start = substitute_expr(at.start, {outer.var: outer.start})
    last_tile = minus(plus(outer.start, outer.extent), const(1, dtype))
    extent = pb.affine(minus(substitute_expr(plus(at.start, at.extent), {outer.var: last_tile}), start))
    if extent is None:
        return None
    count = of_dtype(readback.expression(extent.coalesce(), scope, here.domain), at.var.dtype)
    start = fold(start)
    known = here.domain
    for var in free_vars(start, count):
        known = known.intersect(pb.within(pb.symbol(var.name), var.dtype))
    if not stays_within(at.var.dtype, (start, plus(start, count)), here.at(known)):
        return None
    before = substitute_expr(minus(at.start, inner.start), {outer.var: tile})
    new = replace(at, start=start, extent=count, body=within)
    return new, {outer.var: tile, inner.var: minus(at.var, before)}


def _keeps_order(
    old: Stmt, joined: tuple[For, Mapping[Var, Expr]], inner: Var, here: Here, *, reassociate: bool
) -> bool:
    """Whether a loop over all tiles runs what the tiles do, and what depends on another in the same order."""
    new, back = joined
    place = Var(fresh(inner.name, {v.name for s in walk(old) for v in bound_var(s)}), inner.dtype)
    old = map_stmt(old, on_stmt=lambda s: _renamed(s, place) if isinstance(s, For) and s.var == inner else s)
    back = {place if v == inner else v: value for v, value in back.items()}
    return check_order(old, new, back, here.domain, reassociate=reassociate) is None


def _renamed(loop: For, var: Var) -> For:
    return replace(loop, var=var, body=substitute(loop.body, {loop.var: var}))


def _nest(stmt: Stmt) -> list[For]:
    """Loops that hold nothing but the next one, and names for places."""
    found: list[For] = []
    while True:
        stmt = _without_names(stmt) if found else stmt
        if not isinstance(stmt, For) or stmt.kind != "serial":
            return found
        found.append(stmt)
        stmt = stmt.body


def _range(loop: For) -> pb.Condition:
    return pb.loop_domain(loop.var, loop.start, loop.extent)


def _from_zero(loop: For) -> bool:
    return isinstance(loop.start, Const) and loop.start.value == 0


def _in_order(old: Stmt, new: For, outer: For, inner: For, count: int, here: Here) -> bool:
    """Whether iterations that depend on each other keep their order when two loops of a nest become one."""
    position = Var(fresh(new.var.name, {loop.var.name for loop in _nest(old)}), new.var.dtype)
    size = const(count, position.dtype)
    parts = dict(zip((outer.var, inner.var), digits_of(position, (size,)), strict=True))
    return check_order(old, _renamed(new, position), parts, here.domain, reassociate=False) is None


@rewrite(
    law="for i in n: (s(k * i); s(k * i + 1); ...)  =  for i in k * n: s(i)",
    because="the same statements run in the same order",
    family="loops",
    rolls=True,
)
def rerolled(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Undo the unrolling of a loop (loop rerolling): statements that differ by how far they are from a multiple."""
    if not isinstance(stmt, For) or stmt.kind != "serial" or not _from_zero(stmt):
        return
    body = _without_names(stmt.body)
    parts = body.stmts if isinstance(body, Seq) else ()
    for size in range(1, len(parts) // 2 + 1):
        if len(parts) % size == 0:
            groups = [seq(*parts[k : k + size]) for k in range(0, len(parts), size)]
            yield from _rolled(stmt, groups, here)


@rewrite(
    law="for i in n: B[x] += e(k * i) + e(k * i + 1) + ...  =  for i in k * n: B[x] += e(i)",
    because="the same terms are added in another order",
    family="loops",
    floats=Floats.REASSOCIATE,
    rolls=True,
)
def rerolled_sums(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Undo the unrolling of a loop over the terms of a sum, of which each iteration adds several at once."""
    store = _without_names(stmt.body) if isinstance(stmt, For) and stmt.kind == "serial" else SKIP
    if isinstance(stmt, For) and isinstance(store, Store) and _from_zero(stmt):
        terms = operands_of(store.value, "add")
        own = [t for t in terms if t.same(Load(store.buffer, store.indices))]
        rest = [t for t in terms if not any(t is o for o in own)]
        if len(own) == 1 and len(rest) > 1 and store.value.dtype.is_float:
            groups = [replace(store, value=Binary("add", own[0], t)) for t in rest]
            yield from _rolled(stmt, groups, here)


@rewrite(
    law="a = x; b = 0; (a += e; b += f); g(a + b)  =  a = x; (a += e; a += f); g(a)   where nothing else reads a or b",
    because="the same terms are added in another order",
    family="loops",
    floats=Floats.REASSOCIATE,
)
def sums_joined(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Add up in one local what is added up in several that count together only, as in loops unrolled by hand."""
    own, body = list[Buffer](), stmt
    while isinstance(body, Alloc):
        own.append(body.buffer)
        body = body.body
    sums = [operands_of(e, "add") for e in all_exprs(body) if isinstance(e, Binary) and e.op == "add"]
    for read in {tuple(x for x in t if isinstance(x, Load) and x.buffer in own): None for t in sums}:
        group = {x.buffer: x for x in read}
        if len(group) < 2 or len(group) < len(read) or not _is_one_element(group, body):
            continue
        new = _Joined(group).statement(body)
        if new is not None:
            kept = [b for b in own if b not in group or b == read[0].buffer]
            yield reduce(lambda inner, b: Alloc(b, inner), reversed(kept), new)


def _is_one_element(group: Mapping[Buffer, Load], stmt: Stmt) -> bool:
    """Whether some buffers of floats are accessed at one element each."""
    loads = (e for e in all_exprs(stmt) if isinstance(e, Load))
    stores = (Load(s.buffer, s.indices) for s in stores_in(stmt))
    fixed = all(isinstance(i, Const) for e in group.values() for i in e.indices)
    floats = len({b.dtype for b in group}) == 1 and all(b.dtype.is_float for b in group)
    return fixed and floats and all(e.same(group[e.buffer]) for e in (*loads, *stores) if e.buffer in group)


class _OtherwiseError(Exception):
    """Something is done with one of several sums alone."""


class _Joined:
    """A statement in which the first one of several elements has the sum of all of them."""

    def __init__(self, group: Mapping[Buffer, Load]) -> None:
        self.group = group
        self.first = next(iter(group.values()))
        self.started = 0  # how often all of them are given their first values

    def statement(self, stmt: Stmt) -> Stmt | None:
        """The statement, or None if the elements do not only start together, add up, and count together."""
        try:
            new = self._inside(stmt)
        except _OtherwiseError:
            return None
        return new if self.started else None

    def _inside(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Seq():
                return self._sequence([*flat(stmt)])
            case Store(buffer=buffer, value=value) if buffer in self.group:
                terms = operands_of(value, "add")
                rest = [t for t in terms if not t.same(self.group[buffer])]
                if len(rest) != len(terms) - 1 or any(self._reads(t) for t in rest):
                    raise _OtherwiseError
                added = reduce(partial(Binary, "add"), [self.first, *rest])
                return replace(stmt, buffer=self.first.buffer, indices=self.first.indices, value=added)
            case Alloc(body=body) | Block(body=body) if not any(map(self._reads, stmt_exprs(stmt))):
                return replace(stmt, body=self._inside(body))
            case For() | If() | Let() | Store():
                return rebuilt(stmt, self._expr, self._inside)
            case _:
                if any(map(self._reads, all_exprs(stmt))):
                    raise _OtherwiseError
                return stmt

    def _sequence(self, parts: list[Stmt]) -> Stmt:
        """A sequence; where all elements get their first values in it, the first one gets their sum."""
        starts = {s.buffer: k for k, s in enumerate(parts) if self._starts(s)}
        if not starts:
            return seq(*map(self._inside, parts))
        begin = min(starts.values())
        values = [s.value for k, s in enumerate(parts) if isinstance(s, Store) and k == starts.get(s.buffer)]
        more = [v for v in values if not is_const(v, 0)]
        alone = any(self._knows(part, b) for b, k in starts.items() for part in parts[begin:k])
        if starts.keys() != self.group.keys() or len(more) > 1 or alone or sum(map(self._starts, parts)) != len(starts):
            raise _OtherwiseError
        self.started += 1
        first = Store(self.first.buffer, self.first.indices, more[0] if more else values[0])
        rest = [p for k, p in enumerate(parts) if k >= begin and not self._starts(p)]
        return seq(*map(self._inside, parts[:begin]), first, *map(self._inside, rest))

    def _starts(self, stmt: Stmt) -> TypeGuard[Store]:
        """Whether a statement gives one of the elements its first value."""
        return isinstance(stmt, Store) and stmt.buffer in self.group and isinstance(stmt.value, Const)

    def _knows(self, stmt: Stmt, buffer: Buffer) -> bool:
        """Whether a statement reads or stores one of the elements."""
        return buffer in buffers_accessed(stmt)

    def _expr(self, expr: Expr) -> Expr:
        """An expression that reads the first element in place of the sum of all."""
        if not self._reads(expr):
            return expr
        if isinstance(expr, Binary) and expr.op == "add":
            terms = operands_of(expr, "add")
            own = [t for t in terms if isinstance(t, Load) and t.buffer in self.group]
            if {t.buffer for t in own} == self.group.keys() and len(own) == len(self.group):
                rest = [self._expr(t) for t in terms if t not in own]
                return reduce(partial(Binary, "add"), [self.first, *rest])
        if isinstance(expr, Load) and expr.buffer in self.group:
            raise _OtherwiseError
        return with_children(expr, tuple(map(self._expr, children(expr))))

    def _reads(self, expr: Expr) -> bool:
        """Whether an expression reads one of the elements."""
        return not self.group.keys().isdisjoint(reads(expr))


def _rolled(loop: For, groups: Sequence[Stmt], here: Here) -> Iterator[Stmt]:
    """The loop with an iteration for each of some statements that follow each other in it, if these are alike."""
    count = len(groups)
    whole = fold(Binary("mul", loop.extent, const(count, loop.var.dtype)))
    try:
        first = _at_position(groups[0], loop.var, count, 0)
        alike = all(_at_position(g, loop.var, count, k) == first for k, g in enumerate(groups) if k)
    except _NoMultipleError:
        return
    if alike and loop.var in free_vars(*all_exprs(first)) and _counts_within(loop.var.dtype, whole, here):
        yield replace(loop, extent=whole, body=first)


def _without_names(stmt: Stmt) -> Stmt:
    """A statement with what names in it stand for, but for those of what is read."""
    return without_outer_names(stmt, lambda value: not has_loads(value))


class _NoMultipleError(Exception):
    """A variable is not multiplied with a number."""


def _at_position(stmt: Stmt, var: Var, count: int, place: int) -> Stmt:
    """A statement with `count * var + place` as the variable.

    Raises:
        _NoMultipleError: what it says of the variable is no multiple of that.
    """

    def moved(expr: Expr) -> Expr:
        if var not in free_vars(expr):
            return expr
        if expr.dtype.is_integer and expr.dtype.is_signed:
            terms = polynomial(expr)
            times = terms.get((var,), 0)
            alone = all(k == (var,) or not any(var in free_vars(f) for f in k) for k in terms)
            if alone and times % count == 0:
                steps = times // count
                others = [(k, c) for k, c in terms.items() if k != (var,)]
                return written(summed((*others, ((var,), steps), ((), -steps * place))), expr)
        if isinstance(expr, Var):
            raise _NoMultipleError
        return with_children(expr, tuple(map(moved, children(expr))))

    return map_stmt(stmt, moved)


def _counts(expr: Expr, outer: Var, inner: Var, count: int) -> bool:
    """Whether two variables occur in multiples of `count * outer + inner` alone."""
    mentioned = free_vars(expr)
    if outer not in mentioned and inner not in mentioned:
        return True
    multiples = _multiples(expr, outer, inner)
    if multiples is not None:
        return multiples[0] == count * multiples[1]
    return all(_counts(part, outer, inner, count) for part in children(expr)) and not isinstance(expr, Var)


def _multiples(expr: Expr, outer: Var, inner: Var) -> tuple[int, int] | None:
    """How often two variables are in a sum; None if it is no sum of multiples."""
    match expr:
        case Var():
            return int(expr.same(outer)), int(expr.same(inner))
        case Binary(op="add" | "sub" as op, lhs=a, rhs=b):
            one, other = _multiples(a, outer, inner), _multiples(b, outer, inner)
            sign = 1 if op == "add" else -1
            return None if one is None or other is None else (one[0] + sign * other[0], one[1] + sign * other[1])
        case (
            Binary(op="mul", lhs=Const(value=int() as k), rhs=a) | Binary(op="mul", lhs=a, rhs=Const(value=int() as k))
        ):
            factor = _multiples(a, outer, inner)
            return None if factor is None else (k * factor[0], k * factor[1])
        case _:
            mentioned = free_vars(expr)
            return None if outer in mentioned or inner in mentioned else (0, 0)


def _coalesced(outer: For, inner: For, body: Stmt, count: int, here: Here) -> For | None:
    """Two loops around a body as one."""
    dtype = outer.var.dtype
    position, size = Var(outer.var.name, dtype), const(count, dtype)
    extent = fold(Binary("mul", outer.extent, size))
    loop = For(position, const(0, dtype), extent, body, span=outer.span)
    if not _counts_within(dtype, extent, here):
        return None
    place = here.at(here.domain.intersect(pb.loop_domain(position, loop.start, extent).may))
    parts = dict(zip((outer.var, inner.var), digits_of(position, (size,)), strict=True))
    body = tidied(substitute(body, parts), {position}, place)
    divided = any(
        isinstance(e, Binary) and e.op in ("floordiv", "floormod") and position in free_vars(e)
        for whole in all_exprs(body)
        for e in walk_expr(whole)
    )
    return None if divided else replace(loop, body=body)


def _counts_within(dtype: DType, extent: Expr, here: Here) -> bool:
    """Whether as many iterations can be counted. Also no iterations may be too many: a product of -2**30 by 3."""
    if dtype.bits < 32 or not free_vars(extent):
        return stays_within(dtype, (extent,), here)
    count = pb.affine(extent)
    return count is not None and here.domain.is_subset(count.ge_set(pb.number(dtype.min)))


MERGING_RULES = (coalesced, tiles_joined, tiles_of_sums_joined, rerolled, rerolled_sums, sums_joined, merged)
