"""Nests that are equal but for the names of their buffers, under facts and permissions that are so too.

What such a nest can become has been found with the first of them. Networks repeat their layers, and facts about one
layer hold of the next with other buffers: regions are sets over coordinates and variables, and name no buffer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field

from egraph_rules.contexts.context import Contexts
from egraph_rules.contexts.spoiling import same_regions, told_of
from ir.analysis.contents import Contents
from ir.nodes import Buffer, Expr, Stmt
from ir.program.forms import Forms, form_of, with_buffers_in
from ir.traverse import loads

T = TypeVar("T")
_MOST_LOOKED_AT = 8  # first nests of one form: each differs from the others in what is known


class First(Struct, Generic[T], frozen=True):
    """The first nest of its kind: where it stands, its buffers, what is told of them, what its finder keeps of it."""

    facts: int
    permissions: int
    buffers: tuple[Buffer, ...]
    told: Contents
    kept: T


class Twin(Struct, Generic[T], frozen=True):
    """That a nest is another one, with buffers in place of those of that one."""

    first: First[T]
    buffers: Mapping[Buffer, Buffer]


class Repeated(Struct, Generic[T]):
    """The nests of a search that stand in no loop or binding, by form."""

    contexts: Contexts
    _forms: Forms = field(default_factory=Forms)
    _firsts: dict[Hashable, list[First[T]]] = field(default_factory=lambda: defaultdict(list))

    def twin(self, facts: int, permissions: int, stmt: Stmt, names: Hashable) -> Twin[T] | None:
        """The first nest that this one, in which authors gave such names, repeats; None if it repeats none."""
        if self.contexts.is_told_elsewhere(stmt):
            return None
        form = self._forms.of(stmt)
        firsts = self._firsts[form.key, names, self.contexts.facts(facts).priority]
        told = told_of(self.contexts.facts(facts).known, form.buffers) if firsts else {}
        for first in (f for f in firsts if len(f.told) == len(told)):
            named = self._renamed(facts, permissions, stmt, form.buffers, told, first)
            if named is not None:
                return Twin(first, {new: old for old, new in named.items()})
        return None

    def add(self, facts: int, permissions: int, stmt: Stmt, names: Hashable, kept: T) -> None:
        """Take note of a nest that repeats none."""
        form = self._forms.of(stmt)
        firsts = self._firsts[form.key, names, self.contexts.facts(facts).priority]
        if len(firsts) < _MOST_LOOKED_AT:
            told = told_of(self.contexts.facts(facts).known, form.buffers)
            firsts.append(First(facts, permissions, form.buffers, told, kept))

    def _renamed(
        self, facts: int, permissions: int, stmt: Stmt, buffers: tuple[Buffer, ...], told: Contents, first: First[T]
    ) -> dict[Buffer, Buffer] | None:
        """The buffers of the first nest by those of this one, if all that matters to both is the same then."""
        new, old = self.contexts.facts(facts), self.contexts.facts(first.facts)
        if self.contexts.place(facts) != self.contexts.place(first.facts) or not new.same_place(old):
            return None
        named = _matched(told, first.told, dict(zip(buffers, first.buffers, strict=True)))
        if len({*named.values()}) < len(named) or not all(self.contexts.alike(a, b) for a, b in named.items()):
            return None
        known = {(named.get(b, b), with_buffers_in(v, named)): r for (b, v), r in told.items()}
        conditions = [(with_buffers_in(c, named), truth) for c, truth in new.conditions]
        written = self.contexts.effects.of(stmt).may
        live = [self.contexts.live(p) for p in (permissions, first.permissions)]
        spoiled = {named.get(b, b): r for b, r in live[0].items() if b in written}
        mine = {named.get(b, b) for b in written}
        same = (
            same_regions(known, first.told)
            and same_regions(spoiled, {b: r for b, r in live[1].items() if b in mine})
            and len(conditions) == len(old.conditions)
            and all(a.same(b) and v == w for (a, v), (b, w) in zip(conditions, old.conditions, strict=True))
        )
        return named if same else None


def _matched(known: Contents, wanted: Contents, named: dict[Buffer, Buffer]) -> dict[Buffer, Buffer]:
    """Names of buffers, with those besides that values of named ones read: as far as values of one form say them."""
    named, left = dict(named), list(named)
    values, others = _by_buffer(known), _by_buffer(wanted)
    while left:
        buffer = left.pop()
        there = {form_of(v): v for v in others[named[buffer]]}
        for value in values[buffer]:
            other = there.get(form_of(value))
            for mine, theirs in zip(loads(value), () if other is None else loads(other), strict=False):
                if mine.buffer not in named:
                    named[mine.buffer] = theirs.buffer
                    left.append(mine.buffer)
    return named


def _by_buffer(known: Contents) -> Mapping[Buffer, list[Expr]]:
    values: dict[Buffer, list[Expr]] = defaultdict(list)
    for buffer, value in known:
        values[buffer].append(value)
    return values
