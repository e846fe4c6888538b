"""Which floats are numbers since the program that was given reads or computes them: of no others `finite` is granted.

What a rewrite would read or compute beyond that, as where a guard goes, may be NaN or infinite: zero times it is no
zero. Of elements that are written it is followed where they hold numbers, as it is where they are no undef.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import islpy as isl

from egraph_rules.contexts.elements import place
from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from ir.analysis import effects as fx
from ir.analysis.contents import Contents
from ir.analysis.definedness import is_defined, writes_defined
from ir.analysis.effects import LoopSets
from ir.analysis.evaluated import Evaluated, may_fail
from ir.dtypes import DType
from ir.nodes import TRUE, Alloc, Buffer, Const, Expr, For, If, Let, Load, Stmt, Store
from ir.presburger import sets as pb
from ir.traverse import all_exprs, buffers_written, has_loads, stmt_children, walk, walk_expr

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts


class Numbers:
    """Answers for all contexts of one search; without a `source`, all that is defined is a number."""

    def __init__(self, contexts: Contexts, defined: frozenset[Buffer], source: Evaluated | None) -> None:
        self._contexts = contexts
        self._defined = defined
        self._source = source

    def of(self, buffer: Buffer) -> isl.Set | None:
        """Elements that are numbers whenever anybody looks; None for a buffer of which it is followed which are."""
        if buffer not in self._defined:
            return None
        if self._source is None or not buffer.dtype.is_float:
            return pb.box(buffer.shape)
        if buffer not in self._source.written:
            return self._source.reads(buffer)
        return None if buffer in self._source.matters else pb.nothing(len(buffer.shape))

    def at_entry(self) -> Contents:
        """What is known at the start of buffers that are followed."""
        if self._source is None:
            return {}
        followed = sorted((b for b in self._defined if self.of(b) is None), key=lambda b: b.name)
        return {(b, TRUE): self._source.reads(b) for b in followed}

    def has(self, facts: int, load: Load) -> bool:
        """Whether an element is defined and, of floats, finite."""
        contexts = self._contexts
        if self._source is None or not load.dtype.is_float:
            return contexts.is_defined(facts, load)
        if not contexts.in_bounds(facts, load.buffer, load.indices):
            return False
        always = self.of(load.buffer)
        if always is not None and not any(map(has_loads, load.indices)):  # the same wherever variables are the same
            key, regions = ("number", contexts.place(facts), load), [always]
        else:
            key, regions = ("number told", facts, load), [] if always is None else [always]
            known = contexts.facts(facts).known.items()
            regions += [r for (b, v), r in known if b == load.buffer and self._is_defined(v, numbers=True)]
        return bool(contexts.ask(key, lambda: _within(contexts.facts(facts), load, regions), False))

    def computes(self, facts: int, expr: Expr, inner: Sequence[Expr] = ()) -> bool:
        """Whether the program that was given computes an operation for certain, wherever the facts hold.

        `inner` are the values of the variables of loops between the place of the facts and the expression.
        """
        f, source = self._contexts.facts(facts), self._source
        if source is None:
            return False
        loops = (*f.scope, *inner) if len(f.scope) == len(f.trips) else None
        key = "computes", facts, expr, tuple(inner)
        return bool(self._contexts.ask(key, lambda: source.computes(expr, loops, f.domain), False))

    def runs(self, f: Facts, stmt: Stmt, domain: isl.Set) -> bool:
        """Whether the program that was given runs a statement for certain, with variables in `domain`."""
        return self._source is not None and len(f.scope) == len(f.trips) and self._source.runs(stmt, f.scope, domain)

    def defines(self, f: Facts, stmt: Stmt, domain: isl.Set) -> bool:
        """Whether all that a statement writes is no undef and a number, by the facts before it; variables are in
        `domain`. What the program that was given runs gives numbers."""
        if not writes_defined(stmt):
            return False
        fresh = ((self._contexts.effects.of(s.body).reads, s.buffer) for s in walk(stmt) if isinstance(s, Alloc))
        if any(not fx.get(read, local).is_empty() for read, local in fresh):
            return False
        runs = self.runs(f, stmt, domain)
        for buffer, region in self._contexts.effects.of(stmt).reads.items():
            read = region.intersect_params(domain)
            for known in (r for r in self._defined_regions(f, buffer, numbers=not runs) if not read.is_empty()):
                read = read.subtract(known)
            if not read.is_empty():
                return False
        return runs or self._has_results(f, stmt, domain)

    def _defined_regions(self, f: Facts, buffer: Buffer, *, numbers: bool) -> Iterator[isl.Set]:
        """Elements of a buffer that are no undef, or `numbers`."""
        always = self.of(buffer) if numbers or buffer not in self._defined else pb.box(buffer.shape)
        if always is not None:
            yield always
        for (about, value), region in f.known.items():
            if about == buffer and self._is_defined(value, numbers=numbers):
                yield region

    def _is_defined(self, value: Expr, *, numbers: bool) -> bool:
        """Whether what an element is known to hold is no undef wherever that is, or a number."""
        if isinstance(value, Const):
            return not numbers or isfinite(value.value)
        return not numbers and value.dtype is not DType.BOOL and is_defined(value, self._defined)

    def _has_results(self, f: Facts, stmt: Stmt, domain: isl.Set) -> bool:
        """Whether all operations of a statement have results, if what it reads are numbers."""
        if self._source is None or not any(map(may_fail, all_exprs(stmt))):
            return True
        steady = replace(f.untouched(buffers_written(stmt)), domain=domain)
        return self._all_results(self._contexts.add_facts(steady), stmt)

    def _all_results(self, facts: int, stmt: Stmt) -> bool:
        contexts = self._contexts
        match stmt:
            case Store(value=value):
                return all(contexts.regular(facts, e) for e in walk_expr(value) if may_fail(e))
            case Let(value=value) if any(map(may_fail, walk_expr(value))):
                return False
            case If(cond=cond, then=then, other=other):
                arms = ((contexts.assume(facts, cond, truth), arm) for truth, arm in ((True, then), (False, other)))
                return all(at == IMPOSSIBLE or self._all_results(at, arm) for at, arm in arms)
            case For(body=body):
                inside = contexts.facts(facts).entering(stmt)
                inside = replace(inside, domain=inside.domain.intersect(LoopSets.of(stmt).may))
                return self._all_results(contexts.add_facts(inside), body)
            case _:
                return all(self._all_results(facts, part) for part in stmt_children(stmt))


def _within(facts: Facts, load: Load, regions: Iterable[isl.Set]) -> bool:
    """Whether an element is in one of some regions."""
    spot = place(facts, load.indices)
    if spot is None:
        return False
    for region in regions:
        spot = spot.subtract(region)
    return spot.is_empty()
