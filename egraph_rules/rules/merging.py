"""Loops over one range that share a buffer become one (loop fusion).

That every loop of a group may be merged with the next is asked of pairs, and only of those that share a buffer which
one of them writes: a program of n loops in a row has about n such pairs, and effects of groups are never worked out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from egraph_rules.rules.cases import joined
from ir.analysis.effects import Effects, Regions, clash, meeting
from ir.nodes import Assert, Assume, Buffer, For, Seq, Stmt, Store
from ir.presburger import sets as pb
from ir.traverse import has_kind, has_loads, seq, walk


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
    _reads: dict[Buffer, list[Stmt]] = field(default_factory=lambda: defaultdict(list))
    _writes: dict[Buffer, list[Stmt]] = field(default_factory=lambda: defaultdict(list))

    def add(self, stmt: Stmt) -> None:
        """Put a statement to its end."""
        self.members.append(stmt)
        effects = self.pairs.here.effects(stmt)
        for buffers, touching in ((effects.reads, self._reads), (effects.may, self._writes)):
            for buffer in buffers:
                touching[buffer].append(stmt)

    def sharing(self, stmt: Stmt) -> list[Stmt]:
        """The members that write what a statement touches, or touch what it writes."""
        effects = self.pairs.here.effects(stmt)
        found = [m for b in (*effects.reads, *effects.may) for m in self._writes.get(b, ())]
        found += [m for b in effects.may for m in self._reads.get(b, ())]
        return list({id(m): m for m in found}.values())

    def may_have(self, loop: For) -> bool:
        """Whether a loop may be merged with the group, and shares something with it."""
        first, sharing = self.members[0], self.sharing(loop)
        alike = bool(sharing) and isinstance(first, For) and _alike(first, loop)
        return alike and all(isinstance(m, For) and self.pairs.in_order(m, loop) for m in sharing)

    def commutes(self, stmt: Stmt) -> bool:
        """Whether a statement may change places with all members."""
        return all(self.pairs.commute(member, stmt) for member in self.sharing(stmt))

    def whole(self) -> Stmt:
        """The members as one statement."""
        first = self.members[0]
        if len(self.members) == 1 or not isinstance(first, For):
            return first
        here = self.pairs.here
        inside = here.domain.intersect(pb.loop_domain(first.var, first.start, first.extent).may)
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


MERGING_RULES = (merged,)
