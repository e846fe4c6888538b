"""A nest of loops made to run only some of its iterations: loops scan the hull of what is wanted, guards do the rest.

Owns the rebuilding; which iterations are wanted, and whether they may run elsewhere, is for its callers to say. Loops
of one iteration are dropped, and what used their variable uses its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.legality import Event
from ir.bounds.ranges import Context, between, convex_bounds, fold, range_of
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    Block,
    Expr,
    For,
    If,
    Let,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    const,
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.printing.intervals import extent_of
from ir.program.calls import of_dtype
from ir.program.edit import plus
from ir.traverse import is_const, map_stmt, node_count, stmt_children, substitute, substitute_expr, walk_expr


class Kept(Struct, frozen=True, eq=False):
    """Instances of one store that stay, as params sets over its loops and what is known outside.

    `chosen` tells them from the other instances; `domain` are those of them that there were before.
    """

    event: Event
    chosen: isl.Set
    domain: isl.Set
    names: frozenset[str]  # of the variables that decide

    @staticmethod
    def of(event: Event, chosen: isl.Set, domain: isl.Set) -> Kept:
        return Kept(event, chosen, domain, frozenset(pb.variables(chosen)))


_Inside = tuple[int, frozenset[str]]  # stores and loops in a statement


class Restriction(Struct):
    """Rebuilds a statement. `kept` lists its stores in program order, with what stays of each.

    `scope` says how names are written where the statement will stand; `name` names loops that change; `forms` are
    expressions in which values may be written, where they are shorter than what isl writes. Afterwards `values` gives
    each changed loop variable in terms of the new ones, and `loops` the names of the new loops.
    """

    kept: Sequence[Kept]
    scope: dict[str, Expr]
    name: Callable[[Var], Var] = lambda v: v
    forms: Sequence[Expr] = ()
    values: dict[Var, Expr] = field(default_factory=lambda: dict[Var, Expr]())
    loops: list[Var] = field(default_factory=lambda: list[Var]())
    _next: int = 0
    _inside: dict[int, _Inside] = field(default_factory=lambda: dict[int, _Inside]())

    def apply(self, stmt: Stmt, known: isl.Set) -> Stmt:
        """The statement, running what is kept, where `known` holds."""
        self._count(stmt)
        return self._visit(stmt, known)

    def _count(self, stmt: Stmt) -> _Inside:
        """How many stores a statement holds, and the loops in it, remembered by identity."""
        parts = [self._count(s) for s in stmt_children(stmt)]
        loops = frozenset[str]({stmt.var.name} if isinstance(stmt, For) else ()).union(*(names for _, names in parts))
        self._inside[id(stmt)] = (isinstance(stmt, Store) + sum(count for count, _ in parts), loops)
        return self._inside[id(stmt)]

    def _written(self, expr: Expr) -> Expr:
        return substitute_expr(expr, self.values)

    def _visit(self, stmt: Stmt, known: isl.Set) -> Stmt:
        count, loops = self._inside[id(stmt)]
        mine = self.kept[self._next : self._next + count]
        if not mine:
            return substitute(stmt, self.values)
        if not any(k.names & loops for k in mine):
            first = mine[0].chosen
            if all(k.chosen is first or _same_where(k.chosen, first, known) for k in mine[1:]):
                self._next += count
                return self._guarded(substitute(stmt, self.values), first, known)
        match stmt:
            case Seq(stmts=stmts):
                return seq(*(self._visit(s, known) for s in stmts), span=stmt.span)
            case For() as loop:
                return self._loop(loop, mine, known)
            case If(cond=cond, then=then, other=other):
                new = self._visit(then, known.intersect(pb.condition(cond).may))
                rest = self._visit(other, known.intersect(pb.condition(cond).negated().may))
                return replace(stmt, cond=self._written(cond), then=new, other=rest)
            case Let(var=var, value=value, body=body):
                self.scope[var.name] = var
                inner = self._visit(body, known.intersect(equals(var, value)))
                return replace(stmt, value=self._written(value), body=inner)
            case Block():
                return self._block(stmt, known)
            case Alloc(body=body):
                return replace(stmt, body=self._visit(body, known))
            case _:
                raise ValueError("a statement without stores inside has none that are kept")

    def _block(self, block: Block, known: isl.Set) -> Stmt:
        axes = tuple(
            replace(a, start=self._written(a.start), extent=self._written(a.extent), value=self._written(a.value))
            for a in block.axes
        )
        for axis in block.axes:
            self.scope[axis.var.name] = axis.var
            known = known.intersect(equals(axis.var, axis.value))
        known = known.intersect(pb.condition(block.predicate).may)
        init = None if block.init is None else self._visit(block.init, known)
        body = self._visit(block.body, known)
        new = replace(block, axes=axes, predicate=self._written(block.predicate), init=init, body=body)
        return replace(new, reads=None, writes=None)

    def _guarded(self, stmt: Stmt, chosen: isl.Set, known: isl.Set) -> Stmt:
        if known.is_subset(chosen):
            return stmt
        return guard(stmt, readback.condition(chosen, self.scope, known))

    # Loops -----------------------------------------------------------------------------------------------------------

    def _loop(self, loop: For, mine: Sequence[Kept], known: isl.Set) -> Stmt:
        name = loop.var.name
        domain = pb.loop_domain(loop.var, loop.start, loop.extent)
        exact = pb.affine(loop.start) is not None and pb.affine(loop.extent) is not None
        if not exact or all(name not in k.names for k in mine):
            return self._kept(loop, known.intersect(domain.may))
        line = reduce(lambda a, b: a.union(b), (_values_of(loop.var, k) for k in mine)).coalesce()
        there = known.intersect(line.params())
        low, high = (readback.coordinate(line.intersect_params(known), 0, upper=upper) for upper in (False, True))
        if there.is_empty() or low is None or high is None:
            return self._kept(loop, known.intersect(domain.may))
        if known.is_subset(there) and _is_range(loop, low, high, known):
            return self._kept(loop, known.intersect(domain.may))
        found = scan_of(line, low, high, Context(there, self.scope), known.subtract(there))
        if found is None:
            return self._kept(loop, known.intersect(domain.may))
        if _has_cases(found) and (box := self._box(loop, mine, known)) is not None:
            return box
        inside = known.intersect(_filled(loop.var, low, high))
        new = self._scanning(loop, found, inside)
        return new if found.vanishes else self._guarded(new, line.params(), known)

    def _box(self, loop: For, mine: Sequence[Kept], known: isl.Set) -> Stmt | None:
        """`loop` over the values that it takes for any values of the loops around it in the nest, guarded inside."""
        names = [v.name for k in mine for v in k.event.names]
        line = reduce(lambda a, b: a.union(b), (_values_of(loop.var, k) for k in mine))
        wide = pb.forget(line.intersect_params(known), names).coalesce()
        there = wide.params()
        low, high = (readback.coordinate(wide, 0, upper=upper) for upper in (False, True))
        if low is None or high is None:
            return None
        found = scan_of(wide, low, high, Context(there, self.scope), pb.never())
        if found is None or _has_cases(found):
            return None
        new = self._scanning(loop, found, known.intersect(_filled(loop.var, low, high)))
        return new if known.is_subset(there) else self._guarded(new, there, known)

    def _kept(self, loop: For, inside: isl.Set) -> Stmt:
        self.scope[loop.var.name] = loop.var
        start, extent = self._written(loop.start), self._written(loop.extent)
        return replace(loop, start=start, extent=extent, body=self._visit(loop.body, inside))

    def _scanning(self, loop: For, found: Scan, inside: isl.Set) -> Stmt:
        """`loop` over a range; from zero where its first value is simple to add."""
        first, extent = of_dtype(found.first, loop.var.dtype), of_dtype(found.extent, loop.var.dtype)
        if is_const(extent, 1):
            self._set(loop.var, self._shortest(loop.var, first, inside))
            return self._visit(loop.body, inside)
        var = self.name(loop.var)
        simple = _adds_well(first)
        self._set(loop.var, plus(first, var) if simple else var)
        self.loops.append(var)
        start = const(0, var.dtype) if simple else first
        return replace(loop, var=var, start=start, extent=extent, body=self._visit(loop.body, inside))

    def _shortest(self, var: Var, value: Expr, known: isl.Set) -> Expr:
        """The value of a variable, or a shorter form that has it wherever `known` holds."""
        for form in self.forms:
            if form.dtype is var.dtype and node_count(form) < node_count(value):
                function = pb.affine(form)
                if function is not None and known.is_subset(function.eq_set(pb.symbol(var.name))):
                    value = form
        return value

    def _set(self, var: Var, value: Expr) -> None:
        self.scope[var.name] = value
        if not value.same(var):
            self.values[var] = value


class Scan(Struct, frozen=True, eq=False):
    """A range of integers as a loop runs over it; `vanishes` if it is empty where there is nothing to scan."""

    first: Expr
    extent: Expr
    vanishes: bool


def _has_cases(found: Scan) -> bool:
    return any(isinstance(e, Select) for x in (found.first, found.extent) for e in walk_expr(x))


def _filled(var: Var, low: isl.PwAff, high: isl.PwAff) -> isl.Set:
    """`low <= var <= high`, as a params set."""
    here = pb.point([var])
    assert here is not None
    return between(low, high).intersect(here).params()


def scan_of(line: isl.Set, low: isl.PwAff, high: isl.PwAff, context: Context, vacant: isl.Set) -> Scan | None:
    """The values from the least to the greatest member of a set of rank 1, which has members where `context` holds.

    It has none where `vacant` holds.
    """
    found = _by_constraints(line, low, high, context, vacant)
    if found is not None:
        return found
    around = range_of(line, context)
    return None if around is None else Scan(around.min, around.extent, vacant.is_empty())


def _by_constraints(line: isl.Set, low: isl.PwAff, high: isl.PwAff, context: Context, vacant: isl.Set) -> Scan | None:
    """The range as the constraints of one convex set give it; None where it is none."""
    found = convex_bounds(line, low, high, context.known)
    if found is None:
        return None
    lowers, uppers = found
    first, last = reduce(lambda a, b: a.max(b), lowers), reduce(lambda a, b: a.min(b), uppers)
    vanishes = vacant.is_subset(last.lt_set(first))
    if vanishes:  # what is written must be right there, too
        context = Context(context.known.union(vacant), context.scope)
    one = pb.number(1)
    start = fold("max", [context.read(b) for b in lowers])
    if len(lowers) == 1 and _adds_well(start):
        extent = fold("min", [context.read(u.sub(first).add(one)) for u in uppers])
    else:
        stop = fold("min", [context.read(u.add(one)) for u in uppers])
        wide = max((start.dtype, stop.dtype), key=lambda d: d.bits)
        start, stop = of_dtype(start, wide), of_dtype(stop, wide)
        extent = extent_of(start, stop)
    return Scan(start, extent, vanishes)


def _same_where(left: isl.Set, right: isl.Set, known: isl.Set) -> bool:
    return left.intersect(known).is_equal(right.intersect(known))


def _values_of(var: Var, kept: Kept) -> isl.Set:
    """Values that a loop variable takes among the instances kept, as a set of rank 1."""
    names = [v.name for v in kept.event.names]
    deeper = names[names.index(var.name) + 1 :]
    here = pb.point([var])
    assert here is not None
    return pb.forget(here.intersect_params(pb.forget(kept.domain, deeper)), [var.name])


def _is_range(loop: For, low: isl.PwAff, high: isl.PwAff, known: isl.Set) -> bool:
    """Whether a loop runs from `low` to `high` already."""
    start, extent = pb.affine(loop.start), pb.affine(loop.extent)
    assert start is not None and extent is not None
    last = start.add(extent).sub(pb.number(1))
    return known.is_subset(low.eq_set(start).intersect(high.eq_set(last)))


def equals(var: Var, value: Expr) -> isl.Set:
    """What a binding says of its variable."""
    amount = pb.affine(value) if var.dtype.is_integer else None
    return pb.always() if amount is None else pb.symbol(var.name).eq_set(amount)


def guard(stmt: Stmt, cond: Expr) -> Stmt:
    """`if cond: stmt`, as the predicate of a block with axes where that stands alone in loops."""
    if cond.same(TRUE):
        return stmt
    if isinstance(stmt, For) and _alone(stmt):
        return replace(stmt, body=guard(stmt.body, cond))
    if isinstance(stmt, Block) and stmt.axes:
        both = cond if stmt.predicate.same(TRUE) else stmt.predicate & cond
        return replace(stmt, predicate=both)
    return If(cond, stmt, SKIP)


def _alone(stmt: Stmt) -> bool:
    return _alone(stmt.body) if isinstance(stmt, For) else isinstance(stmt, Block) and bool(stmt.axes)


def is_simple(expr: Expr) -> bool:
    """Whether an expression has no cases, so that it reads well inside another."""
    return not any(isinstance(e, (Select, Unary)) or (getattr(e, "op", "") in ("min", "max")) for e in walk_expr(expr))


def _adds_well(first: Expr) -> bool:
    """Whether the first value of a loop is added in its body, so that the loop starts from zero."""
    return is_simple(first) and not any(getattr(e, "op", "") == "floordiv" for e in walk_expr(first))


def renamed(stmt: Stmt, names: Mapping[Var, Var]) -> Stmt:
    """A statement with loops under other names."""

    def one(s: Stmt) -> Stmt:
        if not isinstance(s, For) or s.var not in names:
            return s
        return replace(s, var=names[s.var], body=substitute(s.body, {s.var: names[s.var]}))

    return map_stmt(stmt, on_stmt=one)
