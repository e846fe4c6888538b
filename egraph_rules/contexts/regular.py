"""Which floats are numbers: elements that the program reads or computes, and where expressions have a finite result.

The freedom `finite` is about what the program computes. Where it divides only under a guard, nobody has promised that
the quotient is a number elsewhere, and zero times it need not be zero. Sums and products that overflow do not count.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, cast

import islpy as isl
from msgspec.structs import replace

from egraph_rules.contexts.elements import place
from egraph_rules.contexts.facts import IMPOSSIBLE, Facts
from egraph_rules.contexts.ranges import MAX_FOLLOWED, Ranges
from ir.analysis import contents as held
from ir.analysis import effects as fx
from ir.analysis.contents import Contents
from ir.analysis.definedness import is_defined, writes_defined
from ir.analysis.effects import LoopSets
from ir.analysis.evaluated import Evaluated, divides, may_fail
from ir.dtypes import DType
from ir.functions import inlined
from ir.nodes import (
    TRUE,
    Alloc,
    Binary,
    Buffer,
    Call,
    Compare,
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
    Var,
    const,
)
from ir.operators import is_singular
from ir.presburger import sets as pb
from ir.program.calls import is_argument
from ir.traverse import (
    all_exprs,
    buffers_written,
    children,
    has_loads,
    has_undef,
    loads,
    stmt_children,
    stmt_exprs,
    substitute_expr,
    walk,
    walk_expr,
)

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts

# The operands for which a function has a result: comparisons with numbers that all have to hold.
_DOMAINS: dict[str, tuple[tuple[Compare, float], ...]] = {
    "sqrt": (("ge", 0.0),), "rsqrt": (("gt", 0.0),), "log": (("gt", 0.0),), "log2": (("gt", 0.0),),
    "log10": (("gt", 0.0),), "log1p": (("gt", -1.0),), "asin": (("ge", -1.0), ("le", 1.0)),
    "acos": (("ge", -1.0), ("le", 1.0)),
}  # fmt: skip

_BOUNDED = ("tanh", "sigmoid", "erf")  # functions of which no number has an infinite result, infinity included


class Regular:
    """Answers for all contexts of one search."""

    def __init__(self, contexts: Contexts, ranges: Ranges) -> None:
        self._contexts = contexts
        self._ranges = ranges
        self._known: dict[tuple[int, Expr], bool] = {}
        self._followed = 0  # from how many elements to the next the expression at hand came

    def of(self, facts: int, expr: Expr) -> bool:
        """Whether an expression certainly has a finite result: the program computes it, or it cannot have another."""
        if self._followed:  # of what is followed further less is found
            return self._of(facts, expr)
        if (facts, expr) not in self._known:
            self._known[facts, expr] = self._of(facts, expr)
        return self._known[facts, expr]

    def _of(self, facts: int, expr: Expr) -> bool:
        number = self._contexts.value(facts, expr) if expr.dtype.is_float else None
        if isinstance(number, Const):
            return isfinite(number.value)
        if expr.dtype.is_float and self._is_known(facts, expr):
            return True
        unless = self._contexts.computes_unless(facts, expr) if may_fail(expr) else None
        if unless is not None and all(self._is_otherwise(facts, cond, expr) for cond in unless):
            return True
        match expr:
            case Load():
                return not expr.dtype.is_float or self._is_finite_element(facts, expr)
            case Call():
                return all(self.of(facts, a) for a in expr.args) and self.of(facts, inlined(expr))
            case Select(cond=cond, then=then, other=other):
                arms = (
                    (self._contexts.assume(facts, cond, truth), arm) for truth, arm in ((True, then), (False, other))
                )
                return self.of(facts, cond) and all(at == IMPOSSIBLE or self.of(at, arm) for at, arm in arms)
            case Unary(op=op, operand=a) if op in _BOUNDED:
                return self._is_number(facts, a)
            case Binary(op="div", lhs=a, rhs=b) if expr.dtype.is_float and self._is_far_from_zero(facts, b):
                return self.of(facts, a)
            case _:
                return all(self.of(facts, part) for part in children(expr)) and self._operation(facts, expr)

    def _is_otherwise(self, facts: int, cond: Expr, expr: Expr) -> bool:
        """Whether an expression has a finite result where a condition fails."""
        other = self._contexts.assume(facts, cond, False)
        return other == IMPOSSIBLE or self.of(other, expr)

    def _is_far_from_zero(self, facts: int, divisor: Expr) -> bool:
        """Whether a divisor is above or below zero, be it infinite: a quotient by infinity is zero."""
        low, high = self._ranges.of(facts, divisor)
        return (low > 0.0 or high < 0.0) and self._is_number(facts, divisor)

    def _is_number(self, facts: int, expr: Expr) -> bool:
        """Whether an expression is no NaN if all that it reads is finite; it may be infinite, as `exp(x)` is."""
        match expr:
            case Unary(op="exp" | "exp2" | "neg" | "abs" | "tanh" | "sigmoid" | "erf", operand=a):
                return self._is_number(facts, a)
            case Binary(op="add" | "min" | "max" as op, lhs=a, rhs=b) if expr.dtype.is_float:
                both = self._is_number(facts, a) and self._is_number(facts, b)
                return both and (op != "add" or self._no_opposites(facts, a, b))
            case _:
                return self.of(facts, expr)

    def _no_opposites(self, facts: int, a: Expr, b: Expr) -> bool:
        """Whether two numbers are never infinite with opposite signs, of which the sum is NaN."""
        (low, high), (least, most) = self._ranges.of(facts, a), self._ranges.of(facts, b)
        ends = min(low, least) > -math.inf or max(high, most) < math.inf
        return ends or self.of(facts, a) or self.of(facts, b)

    def _is_finite_element(self, facts: int, load: Load) -> bool:
        """Whether an element is a number, or what it is known to hold is one."""
        if self._contexts.is_number(facts, load):
            return True
        value = self._contexts.contents(facts, load.buffer, load.indices) if self._followed < MAX_FOLLOWED else None
        if value is None or has_undef(value):
            return False
        self._followed += 1
        found = self.of(facts, value)
        self._followed -= 1
        return found

    def _operation(self, facts: int, expr: Expr) -> bool:
        match expr:
            case Binary(op="div", rhs=divisor) if expr.dtype.is_float:
                return self._holds(facts, "ne", divisor, 0.0)
            case Unary(op=op, operand=a) if op in _DOMAINS:
                return all(self._holds(facts, relation, a, number) for relation, number in _DOMAINS[op])
            case Unary(op=op) | Binary(op=op) if is_singular(op, expr.dtype):
                return all(map(math.isfinite, self._ranges.of(facts, expr)))
            case _:
                return True

    def _is_known(self, facts: int, expr: Expr) -> bool:
        return any(truth and known.same(_is_finite(expr)) for known, truth in self._contexts.facts(facts).conditions)

    def _holds(self, facts: int, relation: Compare, expr: Expr, number: float) -> bool:
        """Whether a comparison with a number is known to hold."""
        asked: tuple[Compare, ...] = ("ne", "gt", "lt") if relation == "ne" else (relation,)
        return any(self._contexts.truth(facts, Binary(op, expr, const(number, expr.dtype))) is True for op in asked)


def computed(contexts: Contexts, facts: int, loop: For) -> Iterator[Expr]:
    """What a loop computes or reads in its first iterations and does not change is finite, and no zero where it divides
    by it.

    `facts` hold before the loop, the conditions in all iterations. Loops within are in their first iterations too.
    The program has to compute it there: the loop may be one that is only asked about.
    """
    on_data = any(has_loads(s.cond) for s in walk(loop.body) if isinstance(s, If))  # else it is known what is read
    if on_data or any(may_fail(e) for e in all_exprs(loop.body)):
        written, runs = buffers_written(loop.body), contexts.runs(facts, loop)
        for expr, first in dict.fromkeys(_computed(contexts, facts, loop, {}, written)):
            steady = has_loads(expr) and _steady(expr, written)
            divisor = expr.rhs if isinstance(expr, Binary) and expr.op == "div" and has_loads(expr.rhs) else None
            divisor = divisor if divisor is not None and _steady(divisor, written) else None
            says = may_fail(expr) and (steady or divisor is not None)
            if on_data and runs and steady and isinstance(expr, Load) and expr.dtype.is_float:
                yield _is_finite(expr)
            done = says and (runs or contexts.computes_unless(facts, expr, first) == ())
            if done and steady:
                yield _is_finite(expr)
            if divisor is not None and (done or contexts.computes_unless(facts, divides(divisor), first) == ()):
                yield divides(divisor)


def _is_finite(expr: Expr) -> Expr:
    return Binary("lt", Unary("abs", expr), Const(math.inf, expr.dtype))


def _computed(
    contexts: Contexts, facts: int, stmt: Stmt, first: dict[Var, Expr], written: Collection[Buffer]
) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """The values that a statement certainly computes, where loops that are under way have their `first` values, and
    these."""
    match stmt:
        case For(var=var, start=start, extent=extent, body=body):
            runs = substitute_expr(extent, first) > const(0, extent.dtype)
            if _steady(runs, written) and contexts.truth(facts, runs) is True:
                yield from _computed(contexts, facts, body, {**first, var: substitute_expr(start, first)}, written)
        case If(cond=cond, then=then, other=other):
            here = substitute_expr(cond, first)
            truth = contexts.truth(facts, here) if _steady(here, written) else None
            if truth is not None:
                yield from _computed(contexts, facts, then if truth else other, first, written)
        case Seq(stmts=stmts):
            for part in stmts:
                yield from _computed(contexts, facts, part, first, written)
        case Store(value=value):
            for part in _parts(contexts, facts, substitute_expr(value, first), written):
                yield part, tuple(first.values())
        case _:
            pass


def _steady(expr: Expr, written: Collection[Buffer]) -> bool:
    return not has_undef(expr) and all(load.buffer not in written for load in loads(expr))


def _parts(contexts: Contexts, facts: int, expr: Expr, written: Collection[Buffer]) -> Iterator[Expr]:
    """The operations that are computed whenever an expression is."""
    yield expr
    match expr:
        case Select(cond=cond, then=then, other=other):
            truth = contexts.truth(facts, cond) if _steady(cond, written) else None
            inner = (cond,) if truth is None else (then if truth else other,)
        case Binary(op="and" | "or", lhs=a):
            inner = (a,)
        case _:
            inner = children(expr)
    for part in inner:
        yield from _parts(contexts, facts, part, written)


class Numbers:
    """Answers for all contexts of one search; without a `source`, all that is defined is a number."""

    def __init__(self, contexts: Contexts, defined: frozenset[Buffer], source: Evaluated | None) -> None:
        self._contexts = contexts
        self.defined = defined
        self._source = source

    def compares(self, buffer: Buffer) -> bool:
        """Whether the program that was given compares elements of a buffer with others, as far as that is known."""
        return self._source is None or buffer in self._source.compared

    @property
    def of_source(self) -> bool:
        """Whether what is a number is told by what the program that was given computes."""
        return self._source is not None

    def alike(self, one: Buffer, other: Buffer) -> bool:
        """Whether the same elements of two buffers are numbers, whenever anybody looks."""
        a, b = self.of(one), self.of(other)
        return (a is None and b is None) or (a is not None and b is not None and a.is_equal(b))

    def of(self, buffer: Buffer) -> isl.Set | None:
        """Elements that are numbers whenever anybody looks; None for a buffer of which it is followed which are."""
        if buffer not in self.defined:
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
        followed = sorted((b for b in self.defined if self.of(b) is None), key=lambda b: b.name)
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
        found = bool(contexts.ask(key, lambda: _within(contexts.facts(facts), load, regions), False))
        return found or self._is_read_elsewhere(facts, load)

    def _is_read_elsewhere(self, facts: int, load: Load) -> bool:
        """Whether some iteration reads an element under conditions on data that are known to hold for it here."""
        readers = self._source.readers(load.buffer) if self._source is not None else []
        key = "read elsewhere", facts, load

        def asked() -> bool:
            open_ones = [self._open(facts, reader.witness(load.indices)) for reader in readers]
            return () in open_ones or any(
                self._is_told_unless(facts, cond, load) for (cond,) in filter(None, open_ones)
            )

        return bool(readers and self._contexts.ask(key, asked, False))

    def _is_told_unless(self, facts: int, cond: Expr, load: Load) -> bool:
        """Whether it is known which number an element is where a condition fails."""
        other = self._contexts.assume(facts, cond, False)
        number = None if other == IMPOSSIBLE else self._contexts.value(other, load)
        return other == IMPOSSIBLE or (isinstance(number, Const) and isfinite(number.value))

    def _open(self, facts: int, conditions: Iterable[Expr]) -> tuple[Expr, ...] | None:
        """Of conditions on integers those that are not known to hold, at most one; None if others may fail as well.

        Of conditions on floats it would depend on what is asked.
        """
        found: list[Expr] = []
        for cond in conditions:
            if any(e.dtype.is_float for e in walk_expr(cond)):
                return None
            truth = self._contexts.truth(facts, cond)
            if truth is False or (truth is None and found):
                return None
            if truth is None:
                found.append(cond)
        return tuple(found)

    def computes_unless(self, facts: int, expr: Expr, inner: Sequence[Expr] = ()) -> tuple[Expr, ...] | None:
        """Conditions of which the program that was given computes an operation if they hold, wherever the facts do.

        They are about data, and at most one is open; None where it may not be computed. `inner` are the values of the
        variables of loops between the place of the facts and the expression.
        """
        f, source = self._contexts.facts(facts), self._source
        if source is None:
            return None
        loops = (*f.scope, *inner) if len(f.scope) == len(f.trips) else None

        def asked() -> tuple[Expr, ...] | None:
            if source.computes(expr, loops, f.domain):
                return ()
            on_data = None if loops is None else source.conditions(expr, loops)
            return None if on_data is None else self._open(facts, on_data)

        return cast("tuple[Expr, ...] | None", self._contexts.ask(("computes", facts, expr, tuple(inner)), asked, None))

    def runs(self, f: Facts, stmt: Stmt, domain: isl.Set) -> bool:
        """Whether the program that was given runs a statement for certain, with variables in `domain`."""
        return self._source is not None and len(f.scope) == len(f.trips) and self._source.runs(stmt, f.scope, domain)

    def after(self, f: Facts, stmt: Stmt) -> Contents:
        """That elements that a statement writes hold numbers after it."""
        effects = self._contexts.effects
        done = effects.of(stmt)
        followed = {b: r for b, r in done.must.items() if self.of(b) is None and b.dtype is not DType.BOOL}
        if not followed:
            return {}
        if self.defines(f, stmt, f.domain):
            return held.joined(_said_of(f, done.may), {(b, TRUE): r for b, r in followed.items()})
        match stmt:
            case Seq(stmts=(first, second)):  # one of them may write none
                between = held.joined(fx.after(f.known, effects.of(first)), self.after(f, first))
                left = {key: r for key, r in between.items() if held.says_defined(*key)}
                told = self.after(replace(f, known=between), second)
                return held.joined(held.without(left, effects.of(second).may), told)
            case _:
                return {}

    def in_iterations(self, f: Facts, loop: For, domain: isl.Set) -> Contents:
        """That elements that a loop writes hold numbers when an iteration starts: as they did before the loop, or since
        an earlier one has computed them, of what those before it have. `domain` are the values of variables in it."""
        body, sets = self._contexts.effects.of(loop.body), LoopSets.of(loop)
        before, floats = _said_of(f, body.may), {b: r for b, r in body.must.items() if b.dtype.is_float}
        sums = {b: r for b, r in floats.items() if b in body.reads and self.of(b) is None}
        if not (before or sums):
            return {}
        early = f"{sets.name}'"
        earlier = sets.others(sums, fx.before(early, sets.name), sets.must, early)
        told: Contents = {(b, TRUE): r for b, r in earlier.items()}
        inside = replace(f.entering(loop), known=held.joined(f.known, told))
        return held.joined(before, told) if self.defines(inside, loop.body, domain) else {}

    def among(self, claims: Contents, known: Contents) -> Contents:
        """Claims about elements that are numbers, as far as it is known of floats that they are."""
        if self._source is None:
            return claims
        floats = {key: r for key, r in claims.items() if key[0].dtype.is_float}
        numbers = {key: r.intersect(known[key[0], TRUE]) for key, r in floats.items() if (key[0], TRUE) in known}
        return {key: r for key, r in claims.items() if key not in floats} | numbers

    def defines(self, f: Facts, stmt: Stmt, domain: isl.Set) -> bool:
        """Whether all that a statement writes is no undef and a number, by the facts before it; variables are in
        `domain`. What the program that was given runs gives numbers, but for literals, and what it copies."""
        values = [s.value for s in walk(stmt) if isinstance(s, (Store, Let))]
        if not writes_defined(stmt) or any(map(_may_be_infinite, values)):
            return False
        copied = {e.buffer for value in values for e in _alternatives(value) if isinstance(e, Load)}
        fresh = ((self._contexts.effects.of(s.body).reads, s.buffer) for s in walk(stmt) if isinstance(s, Alloc))
        if any(not fx.get(read, local).is_empty() for read, local in fresh):
            return False
        runs = self.runs(f, stmt, domain)
        for buffer, region in self._contexts.effects.of(stmt).reads.items():
            read = region.intersect_params(domain)
            numbers = not runs or (buffer in copied and buffer.dtype.is_float)
            for known in (r for r in self._defined_regions(f, buffer, numbers=numbers) if not read.is_empty()):
                read = read.subtract(known)
            if not read.is_empty() and not self._are_read_elsewhere(f, stmt, buffer, domain):
                return False
        return runs or self._has_results(f, stmt, domain)

    def _are_read_elsewhere(self, f: Facts, stmt: Stmt, buffer: Buffer, domain: isl.Set) -> bool:
        """Whether a statement reads only elements of a buffer that some iteration reads under conditions that hold."""
        if not (self._source and self._source.readers(buffer)) or is_argument(buffer, stmt):
            return False
        places = self._places(self._steady(f, stmt, domain), stmt)
        loads_at = [(at, load) for at, part in places for e in stmt_exprs(part) for load in loads(e)]
        return all(self._is_read_elsewhere(at, load) for at, load in loads_at if load.buffer == buffer)

    def _steady(self, f: Facts, stmt: Stmt, domain: isl.Set) -> int:
        """What holds before a statement and stays true in it, with variables in a domain."""
        return self._contexts.add_facts(replace(f.untouched(buffers_written(stmt)), domain=domain))

    def _defined_regions(self, f: Facts, buffer: Buffer, *, numbers: bool) -> Iterator[isl.Set]:
        """Elements of a buffer that are no undef, or `numbers`."""
        always = self.of(buffer) if numbers or buffer not in self.defined else pb.box(buffer.shape)
        if always is not None:
            yield always
        for (about, value), region in f.known.items():
            if about == buffer and self._is_defined(value, numbers=numbers):
                yield region

    def _is_defined(self, value: Expr, *, numbers: bool) -> bool:
        """Whether what an element is known to hold is no undef wherever that is, or a number."""
        if isinstance(value, Const):
            return not numbers or isfinite(value.value)
        return not numbers and value.dtype is not DType.BOOL and is_defined(value, self.defined)

    def _has_results(self, f: Facts, stmt: Stmt, domain: isl.Set) -> bool:
        """Whether all operations of a statement have results, if what it reads are numbers."""
        if self._source is None or not any(map(may_fail, all_exprs(stmt))):
            return True
        return all(self._all_results(at, part) for at, part in self._places(self._steady(f, stmt, domain), stmt))

    def _all_results(self, facts: int, stmt: Stmt) -> bool:
        match stmt:
            case Store(value=value):
                return all(self._contexts.regular(facts, e) for e in walk_expr(value) if may_fail(e))
            case Let(value=value):
                return not any(map(may_fail, walk_expr(value)))
            case _:
                return True

    def _places(self, facts: int, stmt: Stmt) -> Iterator[tuple[int, Stmt]]:
        """The statements in one, each with facts that hold there: those before it, of what it does not write."""
        contexts = self._contexts
        yield facts, stmt
        match stmt:
            case If(cond=cond, then=then, other=other):
                arms = ((contexts.assume(facts, cond, truth), arm) for truth, arm in ((True, then), (False, other)))
                for at, arm in arms:
                    yield from () if at == IMPOSSIBLE else self._places(at, arm)
            case For(body=body):
                inside = contexts.facts(facts).entering(stmt)
                inside = replace(inside, domain=inside.domain.intersect(LoopSets.of(stmt).may))
                yield from self._places(contexts.add_facts(inside), body)
            case _:
                for part in stmt_children(stmt):
                    yield from self._places(facts, part)


def _said_of(f: Facts, written: Collection[Buffer]) -> Contents:
    """Of buffers that are written, that they held numbers before."""
    return {(b, v): r for (b, v), r in f.known.items() if b in written and held.says_defined(b, v)}


def _alternatives(value: Expr) -> Iterator[Expr]:
    """The values that selections choose from."""
    if isinstance(value, Select):
        yield from _alternatives(value.then)
        yield from _alternatives(value.other)
    else:
        yield value


def _may_be_infinite(value: Expr) -> bool:
    """Whether infinity, or NaN, is written out in a float where it may become what is computed."""
    match value:
        case Const(value=number):
            return not isfinite(number)
        case Binary(op="max" | "min" as op, lhs=a, rhs=b):
            idle = -math.inf if op == "max" else math.inf
            return any(_may_be_infinite(e) for e in (a, b) if not (isinstance(e, Const) and e.value == idle))
        case _ if not value.dtype.is_float:
            return False
        case Select():
            return any(map(_may_be_infinite, _alternatives(value)))
        case _:
            return any(map(_may_be_infinite, children(value)))


def _within(facts: Facts, load: Load, regions: Iterable[isl.Set]) -> bool:
    """Whether an element is in one of some regions."""
    spot = place(facts, load.indices)
    if spot is None:
        return False
    for region in regions:
        spot = spot.subtract(region)
    return spot.is_empty()
