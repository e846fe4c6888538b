"""Whether accesses stay in their buffers and assumptions can hold, decided with the facts on the path to each.

Facts are a params set over the names in scope that over-approximates the states which reach a statement; `doubt` says
why it may be larger than that, if it may. Proofs are valid under any facts; an access or assumption is refuted only
where nothing is in doubt. Owns the messages for both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Literal, assert_never, cast

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

import ir.presburger.sets as pb
from ir.analysis.witness import DIALECT, Bindings, Fact, Words, assumption_false, may_leave
from ir.dtypes import DType
from ir.errors import Span
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
)
from ir.presburger.opaque import Opaque, values_of
from ir.printing.printer import to_script
from ir.traverse import buffers_written, children, has_loads, loads, shape_vars

# A path with more alternatives than this loses facts instead of time.
_MAX_PIECES = 32
_BUDGET = "the proof needs too many steps"
_NOT_LINEAR = "the bound is not linear in the names in scope, and no condition around it says that it is respected"


class UnprovenAccess(Struct, frozen=True):
    """An access that is neither proven nor refuted; rewrites must treat it as one that may fault."""

    kind: Literal["load", "store"]
    buffer: Buffer
    text: str
    reason: str
    span: Span | None = None
    linear: bool = True  # whether no product of names was in the way, which sizes that are numbers would take out of it

    def __str__(self) -> str:
        place = "" if self.span is None else f"{self.span}: "
        return f"{place}{self.kind} {self.text} is not proven in bounds: {self.reason}"


class _Facts(Struct, frozen=True, eq=False):
    """What is known at a place; `why` lists the branches and assumptions that say so, for messages."""

    known: isl.Set
    doubt: str = ""
    why: tuple[Fact, ...] = ()


class _Translated(Struct, frozen=True, eq=False):
    """A condition, and whether run-time data or inexpressible parts play a role in it."""

    condition: pb.Condition
    names: frozenset[str]
    exact: bool


class _Outside(Struct, frozen=True, eq=False):
    """Where an index is below or above its axis."""

    low: isl.Set
    high: isl.Set
    both: isl.Set
    names: frozenset[str]


def check_accesses(
    func: PrimFunc, *, allow_stray_loads: bool = False, words: Words = DIALECT
) -> tuple[UnprovenAccess, ...]:
    """Check every access and assumption of a well-formed function; return what is neither proven nor refuted.

    `words` are those of the language that the program was written in.

    Raises:
        VerifyError: an access can leave its buffer, or an assumption is false wherever it is reached.
    """
    checker = _Checker(func, allow_stray_loads, words)
    checker.run()
    return tuple(checker.unproven)


class _Checker:
    def __init__(self, func: PrimFunc, allow_stray_loads: bool, words: Words) -> None:
        self.func = func
        self.allow_stray_loads = allow_stray_loads
        self.unproven: list[UnprovenAccess] = []
        written = {b.name for b in buffers_written(func.body)}
        self.opaque = Opaque(b for b in func.buffers if b.name not in written)
        self.names = Bindings(tuple(v.name for v in (*func.scalars, *shape_vars(func))), words)
        self.tainted: set[str] = set()
        self._conditions: dict[Expr, _Translated] = {}
        self._outsides: dict[tuple[Expr, Expr], _Outside | None] = {}

    def run(self) -> None:
        self._stmt(self.func.body, self._entry())

    def _entry(self) -> _Facts:
        """Scalars have values of their dtypes, and no parameter has a negative extent."""
        scalars = [v for v in (*self.func.scalars, *shape_vars(self.func)) if not v.dtype.is_float]
        sizes = [self._affine(extent) for buffer in self.func.buffers for extent in buffer.shape]

        def known() -> isl.Set:
            ranges = [values_of(var.dtype, var.name) for var in scalars]
            extents = [size.ge_set(pb.number(0)) for size in sizes if size is not None]
            return reduce(isl.Set.intersect, (*ranges, *extents), pb.always())

        return _Facts(pb.within_budget(known, pb.always()))

    # Translation -----------------------------------------------------------------------------------------------------

    def _affine(self, expr: Expr) -> isl.PwAff | None:
        return pb.within_budget(lambda: pb.affine(expr, self.opaque), None)

    def _condition(self, expr: Expr) -> _Translated:
        if expr not in self._conditions:
            self._conditions[expr] = self._translated(lambda: pb.condition(expr, self.opaque))
        return self._conditions[expr]

    def _translated(self, question: Callable[[], pb.Condition]) -> _Translated:
        cond = pb.within_budget(question, pb.unknown())
        exact = pb.within_budget(lambda: cond.exact, False)
        return _Translated(cond, frozenset(pb.variables(cond.may)), exact)

    def _depends_on_data(self, names: frozenset[str]) -> bool:
        return any(n.startswith("?") for n in names) or not names.isdisjoint(self.tainted)

    # Facts -----------------------------------------------------------------------------------------------------------

    def _meet(self, facts: _Facts, extra: Callable[[], isl.Set], *why: Fact) -> _Facts:
        known = pb.within_budget(lambda: _simplified(facts.known.intersect(extra())), facts.known)
        if known is facts.known or known.n_basic_set() > _MAX_PIECES:
            return replace(facts, doubt=facts.doubt if facts.doubt else "too many cases reach it")
        return _Facts(known, facts.doubt, (*facts.why, *why))

    def _branch(self, facts: _Facts, cond: Expr, taken: bool) -> _Facts:
        """Facts where `cond` was evaluated and is `taken`."""
        found = self._condition(cond)
        inner = self._meet(
            facts,
            lambda: found.condition.may if taken else found.condition.must.complement(),
            Fact(cond if taken else Unary("not", cond), branch=True),
        )
        if inner.doubt or (found.exact and not self._depends_on_data(found.names)):
            return inner
        return replace(inner, doubt=f"it stands under `{to_script(cond)}`, which is not decided before run time")

    def _trusted(self, facts: _Facts, cond: Expr) -> _Facts:
        """Facts after an assumption or assertion. What it says about data is taken to be possible."""
        found = self._condition(cond)
        if found.condition.may.plain_is_universe():
            return facts
        return self._meet(facts, lambda: found.condition.may, Fact(cond, branch=False))

    def _bind(self, facts: _Facts, var: Var, value: Expr) -> _Facts:
        """Facts where `var` stands for `value`."""
        self.names.bind(var.name, value)
        if isinstance(value, Undef):
            return facts  # any value of its dtype: what is done with it must be right for all of them
        fact: isl.Set | None = None
        if var.dtype is DType.BOOL:
            cond = self._condition(value)
            yes, no = (pb.symbol(var.name).eq_set(pb.number(k)) for k in (1, 0))
            fact = yes.intersect(cond.condition.may).union(no.intersect(cond.condition.must.complement()))
            exact = cond.exact
        else:
            amount = self._affine(value)
            exact = amount is not None
            if amount is not None:
                fact = pb.symbol(var.name).eq_set(amount)
        if fact is None or not exact or self._depends_on_data(frozenset(pb.variables(fact))):
            self.tainted.add(var.name)
        if fact is None:
            return facts
        return self._meet(facts, lambda: fact)

    def _release(self, facts: _Facts, inner: _Facts, outer: _Facts, names: list[str]) -> _Facts:
        """Facts after the scope of lets: what held inside, without their names."""
        for name in names:
            self.names.release(name)
        self.tainted.difference_update(names)
        if inner.known is facts.known:
            return outer
        dropped = {*names, *self.opaque.mentioning(inner.known, names)}
        known = pb.within_budget(lambda: _simplified(pb.forget(inner.known, dropped)), outer.known)
        return replace(outer, known=known, doubt=outer.doubt if outer.doubt else inner.doubt)

    # Statements ------------------------------------------------------------------------------------------------------

    def _stmt(self, stmt: Stmt, facts: _Facts) -> _Facts:
        """Check a statement; return the facts after it. The same object when it adds none."""
        match cast(AnyStmt, stmt):
            case Store(buffer=buffer, indices=indices, value=value):
                for index in indices:
                    self._loads(index, facts)
                self._access("store", buffer, indices, stmt.span, facts)
                self._loads(value, facts)
            case Seq(stmts=stmts):
                for inner in stmts:
                    facts = self._stmt(inner, facts)
            case If() as branch:
                return self._if(branch, facts)
            case For() as loop:
                return self._for(loop, facts)
            case Let(var=var, value=value, body=body):
                self._loads(value, facts)
                inner = self._bind(facts, var, value)
                return self._release(inner, self._stmt(body, inner), facts, [var.name])
            case Alloc(body=body):
                return self._stmt(body, facts)
            case Assume(cond=cond) as assume:
                self._loads(cond, facts)
                after = self._trusted(facts, cond)
                self._possible(assume, facts, after)
                return after
            case Assert(cond=cond):
                self._loads(cond, facts)
                return self._trusted(facts, cond)
            case Evaluate(value=value):
                self._loads(value, facts)
            case Block() as block:
                return self._block(block, facts)
            case other:
                assert_never(other)
        return facts

    def _if(self, stmt: If, facts: _Facts) -> _Facts:
        self._loads(stmt.cond, facts)
        yes = self._branch(facts, stmt.cond, True)
        after_yes = self._stmt(stmt.then, yes)
        no = after_no = facts
        if stmt.other != SKIP:
            no = self._branch(facts, stmt.cond, False)
            after_no = self._stmt(stmt.other, no)
        if after_yes is yes and after_no is no:
            return facts
        if after_no is facts:
            after_no = self._branch(facts, stmt.cond, False)
        return self._joined(facts, after_yes, after_no)

    def _joined(self, facts: _Facts, left: _Facts, right: _Facts) -> _Facts:
        """Facts where two branches meet of which one at least has learned something; `facts` held before both."""

        def union() -> isl.Set | None:
            either = _simplified(left.known.union(right.known))
            return None if facts.known.is_subset(either) else either

        either = pb.within_budget(union, facts.known)
        return facts if either is None else replace(facts, known=either, doubt=facts.doubt or left.doubt or right.doubt)

    def _for(self, loop: For, facts: _Facts) -> _Facts:
        name = loop.var.name
        self._loads(loop.start, facts)
        self._loads(loop.extent, facts)
        domain = self._translated(lambda: pb.loop_domain(loop.var, loop.start, loop.extent, self.opaque))
        self.names.bind(name, loop)
        inside = self._meet(facts, lambda: domain.condition.may)
        if not inside.doubt and (not domain.exact or self._depends_on_data(domain.names)):
            inside = replace(inside, doubt=f"the range of {name} is not known before run time")
        after = self._stmt(loop.body, inside)
        self.names.release(name)
        if after.known is inside.known:
            return facts

        def failing() -> isl.Set | None:
            """States in which some iteration contradicts an assumption of the body; None when there are none."""
            passed = pb.forget(after.known, self.opaque.mentioning(after.known, [name]))
            return None if inside.known.is_subset(passed) else pb.forget(inside.known.subtract(passed), [name])

        undecided = facts.known
        bad = pb.within_budget(failing, undecided)
        if bad is None:
            return facts
        if bad is undecided or inside.doubt or after.doubt:
            return replace(facts, doubt=facts.doubt or inside.doubt or after.doubt or _BUDGET)
        known = pb.within_budget(lambda: _simplified(facts.known.subtract(bad)), facts.known)
        return replace(facts, known=known)

    def _block(self, block: Block, facts: _Facts) -> _Facts:
        bound = facts
        for axis in block.axes:
            for expr in (axis.start, axis.extent, axis.value):
                self._loads(expr, bound)
            bound = self._bind(bound, axis.var, axis.value)
        self._loads(block.predicate, bound)
        inner = bound if block.predicate.same(TRUE) else self._branch(bound, block.predicate, True)
        if block.init is not None:
            first = inner
            for axis in block.axes:
                if axis.kind == "reduce":
                    first = self._branch(first, Binary("eq", axis.var, axis.start), True)
            self._stmt(block.init, first)
        after = self._stmt(block.body, inner)
        if after is inner:
            after = bound
        elif inner is not bound:
            after = self._joined(bound, after, self._branch(bound, block.predicate, False))
        return self._release(bound, after, facts, [axis.var.name for axis in block.axes])

    # Accesses --------------------------------------------------------------------------------------------------------

    def _loads(self, expr: Expr, facts: _Facts) -> None:
        """Check the loads of an expression, each under the conditions of the selections around it."""
        match expr:
            case Load(buffer=buffer, indices=indices):
                for index in indices:
                    self._loads(index, facts)
                self._access("load", buffer, indices, expr.span, facts)
            case Select(cond=c, then=a, other=b):
                self._loads(c, facts)
                for arm, taken in ((a, True), (b, False)):
                    if has_loads(arm):
                        self._loads(arm, self._branch(facts, c, taken))
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                self._loads(a, facts)
                if has_loads(b):
                    self._loads(b, self._branch(facts, a, op == "and"))
            case _:
                for child in children(expr):
                    self._loads(child, facts)

    def _outside(self, index: Expr, extent: Expr) -> _Outside | None:
        """Where an index leaves an axis; None when that cannot be expressed."""
        key = (index, extent)
        if key not in self._outsides:
            self._outsides[key] = pb.within_budget(lambda: self._beyond(index, extent), None)
        return self._outsides[key]

    def _beyond(self, index: Expr, extent: Expr) -> _Outside | None:
        place, size = pb.affine(index, self.opaque), pb.affine(extent, self.opaque)
        if place is None or size is None:
            return None
        low, high = place.lt_set(pb.number(0)), place.ge_set(size)
        both = low.union(high)
        return _Outside(low, high, both, frozenset(pb.variables(both)))

    def _access(
        self,
        kind: Literal["load", "store"],
        buffer: Buffer,
        indices: tuple[Expr, ...],
        span: Span | None,
        facts: _Facts,
    ) -> None:
        for axis, index in enumerate(indices):
            reason = self._axis(kind, buffer, indices, axis, span, facts)
            if reason:
                text = f"{buffer.name}[{', '.join(map(to_script, indices))}]"
                why, linear = f"index {axis} is {to_script(index)}; {reason}", reason is not _NOT_LINEAR
                self.unproven.append(UnprovenAccess(kind, buffer, text, why, span, linear))
                return

    def _axis(
        self,
        kind: Literal["load", "store"],
        buffer: Buffer,
        indices: tuple[Expr, ...],
        axis: int,
        span: Span | None,
        facts: _Facts,
    ) -> str:
        """Why an index is not proven within its axis; empty when it is."""
        index, extent = indices[axis], buffer.shape[axis]
        outside = self._outside(index, extent)
        if outside is None:
            return self._not_affine(index, extent)

        def violations(where: isl.Set) -> isl.Set | None:
            bad = facts.known.intersect(where)
            if bad.is_empty():
                return None
            bad = self.opaque.within(bad)
            return None if bad.is_empty() else bad

        unanswered = pb.never()
        bad = pb.within_budget(lambda: violations(outside.both), unanswered)
        if bad is None:
            return ""
        if bad is unanswered:
            return _BUDGET
        if self._depends_on_data(outside.names):
            return self._not_affine(index, extent)
        if facts.doubt:
            return facts.doubt
        if kind == "load" and self.allow_stray_loads:
            return "it can leave the buffer, and then yields undef"
        low, high = (pb.within_budget(lambda s=side: violations(s), None) for side in (outside.low, outside.high))
        raise may_leave(
            kind, buffer, axis, index, span, self.names, facts.known, bad,
            below=low is not None, above=high is not None, facts=facts.why,
        )  # fmt: skip

    def _not_affine(self, index: Expr, extent: Expr) -> str:
        sources = sorted({load.buffer.name for e in (index, extent) for load in loads(e)})
        if sources:
            return f"it depends on the contents of {' and '.join(sources)}"
        data = sorted(self.tainted & {v.name for v in self.names.variables(index)})
        if data:
            return f"the value of {data[0]} is not known before run time"
        return _NOT_LINEAR

    # Assumptions -----------------------------------------------------------------------------------------------------

    def _possible(self, stmt: Assume, facts: _Facts, after: _Facts) -> None:
        """Refuse an assumption which for all inputs is false each time, or some of the times, that it is reached."""
        if facts.doubt or after.known is facts.known or after.doubt:
            return

        def failing() -> isl.Set | None:
            if facts.known.is_subset(after.known):
                return None
            data = {
                n for n in pb.variables(facts.known) | pb.variables(after.known) if n.startswith("?")
            } | self.tainted
            reached = pb.forget(self.opaque.within(facts.known), data)
            bad = reached.subtract(pb.forget(self.opaque.within(after.known), data))
            runs, failed = (pb.forget(s, self.names.inner) for s in (reached, bad))
            return bad if not runs.is_empty() and runs.is_subset(failed) else None

        bad = pb.within_budget(failing, None)
        if bad is not None:
            raise assumption_false(stmt, self.names, bad, facts.why)


def _simplified(region: isl.Set) -> isl.Set:
    return region.coalesce() if region.n_basic_set() > 4 else region
