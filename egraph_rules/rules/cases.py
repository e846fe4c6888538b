"""Distinguishing cases: s = if c: s else: s. One law; the rules differ in which condition is worth a distinction.

Each arm is then simplified under what it knows. A condition may be tested anywhere that evaluating it can neither fault
nor give undef (`decided`), since a branch between two copies of one statement changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

import islpy as isl
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from ir.analysis import contents as held
from ir.analysis.effects import clash, meeting
from ir.dtypes import DType
from ir.floats import Floats
from ir.nodes import (
    SKIP,
    Assert,
    Assume,
    Binary,
    Block,
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
    Undef,
    Var,
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.transform.branches.if_convert import one_store
from ir.traverse import (
    all_exprs,
    bound_var,
    buffers_read,
    buffers_written,
    children,
    conjuncts_of,
    free_vars,
    has_loads,
    loads,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute_expr,
    walk,
    walk_expr,
)

_LAW = "s  =  if c: s else: s"
_MOST_HOISTED = 3  # conditions of one loop: all of them make eight loops of it


def _cases(cond: Expr, stmt: Stmt) -> Stmt:
    return If(cond, stmt, stmt)


def _distinguishes(cond: Expr, here: Here) -> bool:
    """Whether a condition may be tested here, and is known in both arms: else the arms would be distinguished again."""
    return here.decided(cond) and here.truth(cond) is None and here.tells_apart(cond)


# Loop-invariant conditions --------------------------------------------------------------------------------------------


@rewrite(
    law=_LAW + "   with c one of few conditions of branches in a loop s",
    because="both arms are s",
    family="hoist",
    cuts=True,
)
def branch_condition(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Conditions of `if` statements that no iteration changes, if they are few: each doubles the loops."""
    if isinstance(stmt, For):
        conds = dict.fromkeys(s.cond for s in walk(stmt.body) if isinstance(s, If))
        if sum(1 for cond in conds if _may_be_hoisted(cond, stmt) and here.truth(cond) is None) <= _MOST_HOISTED:
            yield from _first(stmt, here, conds)


@rewrite(
    law=_LAW + "   with c the condition of a branch in a loop s", because="both arms are s", family="hoist", cuts=True
)
def any_branch_condition(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Conditions of `if` statements that no iteration changes, however many: for who asks for it."""
    if isinstance(stmt, For):
        yield from _first(stmt, here, (s.cond for s in walk(stmt.body) if isinstance(s, If)))


@rewrite(
    law=_LAW + "   with c the condition of a selection in a loop s",
    because="both arms are s",
    family="hoist",
    cuts=True,
)
def select_condition(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Conditions of conditional expressions that no iteration changes."""
    if isinstance(stmt, For):
        yield from _first(stmt, here, (e.cond for e in all_exprs(stmt.body) if isinstance(e, Select)))


@rewrite(law=_LAW + "   with c a boolean expression in a loop s", because="both arms are s", family="hoist", cuts=True)
def boolean(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Boolean expressions, parts of larger ones included, that no iteration changes."""
    if isinstance(stmt, For):
        yield from _first(stmt, here, (part for e in _roots(stmt.body) for part in _largest(e, stmt, here)))


@rewrite(
    law=_LAW + "   with c a condition in a loop s, in terms of what its names are bound to",
    because="both arms are s, and a name holds what it is bound to",
    family="hoist",
    cuts=True,
)
def bound_condition(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Conditions that no iteration changes once the lets they need are hoisted with them."""
    if isinstance(stmt, For):
        yield from _first(stmt, here, _through_lets(stmt.body, {}))


def _first(loop: For, here: Here, candidates: Iterable[Expr]) -> Iterator[Stmt]:
    """The cases of the first condition that can be decided before the loop and not before the one around it."""
    for cond in candidates:
        if not _may_be_hoisted(cond, loop):
            continue
        outer = {v.name for v in here.scope[-1:]}
        if outer and outer.isdisjoint(v.name for v in free_vars(cond)):
            continue  # the loop further out proposes it
        if _distinguishes(cond, here):
            yield _cases(cond, loop)
            return


def _may_be_hoisted(cond: Expr, loop: For) -> bool:
    return not isinstance(cond, Const) and _invariant(cond, loop)


def _invariant(expr: Expr, loop: For) -> bool:
    bound = {v.name for s in walk(loop) for v in bound_var(s)}
    return bound.isdisjoint(v.name for v in free_vars(expr))


def _roots(stmt: Stmt) -> Iterator[Expr]:
    for inner in walk(stmt):
        yield from stmt_exprs(inner)


def _largest(expr: Expr, loop: For, here: Here) -> Iterator[Expr]:
    """The largest undecided boolean parts that no iteration changes."""
    if expr.dtype is DType.BOOL and _invariant(expr, loop) and here.truth(expr) is None:
        yield expr
        return
    for child in children(expr):
        yield from _largest(child, loop, here)


def _through_lets(stmt: Stmt, values: Mapping[Var, Expr]) -> Iterator[Expr]:
    match stmt:
        case If(cond=cond):
            yield substitute_expr(cond, values)
        case Let(var=var, value=value, body=body):
            yield from _through_lets(body, {**values, var: substitute_expr(value, values)})
            return
        case _:
            pass
    for child in stmt_children(stmt):
        yield from _through_lets(child, values)


# Conditions of neighbours ---------------------------------------------------------------------------------------------


@rewrite(
    law="if c: s else: t; if e: u else: v  =  if c: (s; u or v) else: (t; u or v)   where c decides e",
    because="nothing that s or t do changes c or e, so in each arm it is known which arm of the second branch runs",
    family="conditionals",
)
def neighbours(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Branches of which the first condition decides the others, identical or complementary ones, with what commutes."""
    if not isinstance(stmt, Seq):
        return
    parts = list(flat(stmt))
    if sum(_branch(part) is not None for part in parts) < 2:
        return
    out: list[Stmt] = []
    for part in parts:
        if _branch(part) is None or not _join(out, part, here):
            out.append(part)
    if len(out) < len(parts):
        yield seq(*out)


def _join(stmts: list[Stmt], last: Stmt, here: Here) -> bool:
    """Make a branch one with an earlier one, if one of them may change places with all that is between them."""
    for k in range(len(stmts) - 1, -1, -1):
        between = stmts[k + 1 :]
        both = joined(stmts[k], last, here)
        if both is not None and all(_commute(last, s, here) for s in between):
            stmts[k] = both
            return True
        if both is not None and all(_commute(stmts[k], s, here) for s in between):
            stmts[k:] = [*between, both]
            return True
        if any(isinstance(s, (Assume, Assert)) for s in walk(stmts[k])):
            return False
    return False


def _commute(one: Stmt, other: Stmt, here: Here) -> bool:
    """Whether no statement touches what the other writes."""
    return here.never(lambda: clash(here.effects(one), here.effects(other)))


def joined(first: Stmt, second: Stmt, here: Here) -> Stmt | None:
    """Two branches as one; None if the condition of the first does not decide the second."""
    one, other = _branch(first), _branch(second)
    changed = buffers_written(first) & buffers_read(*(b.cond for b in (one, other) if b is not None))
    arms = None if one is None or other is None or changed else _decisions(one.cond, other.cond, here)
    if one is None or arms is None:
        return None
    yes, no = (seq(_arm(first, truth), _arm(second, arms[not truth])) for truth in (True, False))
    return If(one.cond, yes, no)


def _branch(stmt: Stmt) -> If | None:
    """A branch, also one that has a name."""
    while isinstance(stmt, Block):
        stmt = stmt.body
    return stmt if isinstance(stmt, If) else None


def _arm(stmt: Stmt, truth: bool) -> Stmt:
    """An arm of a branch, under the branch's name."""
    if isinstance(stmt, Block):
        arm = _arm(stmt.body, truth)
        return SKIP if arm == SKIP else replace(stmt, body=arm)
    assert isinstance(stmt, If)
    return stmt.then if truth else stmt.other


def _decisions(cond: Expr, other: Expr, here: Here) -> tuple[bool, bool] | None:
    """The truth of the other condition where the first one holds, and where it does not; None if either is unknown.

    Nothing may change them in between.
    """
    if here.truth(cond) is not None or not here.decided(cond):
        return None
    yes, no = here.under(cond, True), here.under(cond, False)
    if yes is None or no is None:
        return None
    found = yes.truth(other), no.truth(other)
    return None if found[0] is None or found[1] is None else (found[0], found[1])


@rewrite(
    law="if c: (a; s) else: (a; t)  =  a; if c: s else: t   where a does not change c",
    because="both arms begin, or end, with the same statement",
    family="conditionals",
)
def common_part(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """What both arms of a branch begin or end with, taken out of it."""
    if not isinstance(stmt, If) or SKIP in (stmt.then, stmt.other) or stmt.then == stmt.other:
        return
    yes, no = list(flat(stmt.then)), list(flat(stmt.other))
    reads = buffers_read(stmt.cond)
    if yes[0] == no[0] and reads.isdisjoint(buffers_written(yes[0])):
        yield seq(yes[0], replace(stmt, then=seq(*yes[1:]), other=seq(*no[1:])))
    elif yes[-1] == no[-1]:
        yield seq(replace(stmt, then=seq(*yes[:-1]), other=seq(*no[:-1])), yes[-1])


@rewrite(
    law="if c: if e: s  =  if c and e: s",
    because="e is evaluated only where c holds, either way",
    family="conditionals",
)
def nested(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """One branch for two that stand in each other."""
    del here
    if isinstance(stmt, If) and stmt.other == SKIP and isinstance(stmt.then, If) and stmt.then.other == SKIP:
        yield replace(stmt, cond=Binary("and", stmt.cond, stmt.then.cond), then=stmt.then.then)


@rewrite(
    law="if c and e: s  =  if e: if c: s   where evaluating e can neither fault nor give undef",
    because="s runs where both hold, either way",
    family="conditionals",
)
def conjuncts(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """A branch for each conjunct, so that one may go alone; of many, for those about the same variables.

    The inner one goes if nothing happens where the outer one holds, the outer one also if the inner one does not hold
    there: those on data stand outside of those that bound regions once, and inside once.
    """
    if not isinstance(stmt, If) or stmt.other != SKIP:
        return
    parts = list(conjuncts_of(stmt.cond))
    if len(parts) > _MAX_CONJUNCTS:
        parts = _by_variables(parts)
    if not 1 < len(parts) <= _MAX_CONJUNCTS:
        return
    on_data = [c for c in parts if has_loads(c)]
    on_places = [c for c in parts if not has_loads(c)]
    for order in dict.fromkeys(((*on_data, *on_places), (*on_places, *on_data))):
        if _all_decided(order, here):
            yield _nested(order, stmt.then)


def _by_variables(conds: Sequence[Expr]) -> list[Expr]:
    """Conditions about the same variables as one, such as the bounds of one coordinate."""
    groups: dict[frozenset[Var], list[Expr]] = {}
    for cond in conds:
        groups.setdefault(frozenset(free_vars(cond)), []).append(cond)
    return [reduce(lambda a, b: Binary("and", a, b), group) for group in groups.values()]


def _all_decided(conds: Sequence[Expr], here: Here) -> bool:
    """Whether each of some conditions can be evaluated where those before it hold."""
    at: Here | None = here
    for cond in conds:
        if at is None or not at.decided(cond):
            return False
        at = at.under(cond, True)
    return True


def _nested(conds: Sequence[Expr], stmt: Stmt) -> Stmt:
    for cond in reversed(conds):
        stmt = If(cond, stmt, SKIP)
    return stmt


_MAX_CONJUNCTS = 4  # nested branches are all combinations of what may go


@rewrite(
    law="if c: A[i] = x else: A[i] = y  =  A[i] = select(c, x, y)",
    because="one of both is stored, either way",
    family="conditionals",
)
def selected(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """One store of a selection for two stores of one element (if-conversion)."""
    del here
    found = one_store(stmt) if isinstance(stmt, If) else None
    if found is not None:
        yield found


@rewrite(
    law="A[i] = select(c, x, y)  =  if c: A[i] = x else: A[i] = y   where A[i] may hold anything if c holds, or else",
    because="one of both is stored, either way",
    family="conditionals",
)
def needless_selection(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """A selection as a branch, of which one arm stores what nobody reads: the other one may be stored in its place."""
    match stmt:
        case Store(value=Select(cond=cond, then=a, other=b)) if isinstance(a, Undef) or isinstance(b, Undef):
            yield If(cond, replace(stmt, value=a), replace(stmt, value=b))
        case Store(buffer=buffer, value=Select(cond=cond, then=a, other=b)) if buffer in here.live:
            matters = here.effects(stmt).may[buffer].intersect(here.live[buffer]).params().intersect(here.domain)
            test = pb.condition(cond)
            cases = [here.ask(lambda t=t: matters.intersect(t.may)) for t in (test, test.negated())]
            dead = any(case is not None and pb.within_budget(case.is_empty, False) for case in cases)
            if dead:
                yield If(cond, replace(stmt, value=a), replace(stmt, value=b))
        case _:
            pass


@rewrite(
    law="if c: (for i in n: s) else: for i in n: t  =  for i in n: if c: s else: t   where the loops do not change c",
    because="the same arm runs in each iteration",
    family="conditionals",
)
def in_one_loop(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """A branch between loops over one range as a loop over branches, whose arms may do the same."""
    del here
    match stmt:
        case If(cond=cond, then=For() as yes, other=For() as no) if yes.var.same(no.var) and yes.kind == no.kind:
            one_range = yes.start.same(no.start) and yes.extent.same(no.extent) and yes.var not in free_vars(cond)
            written = buffers_written(yes)
            unchanged = written.isdisjoint(load.buffer for load in loads(cond))
            asked = any(
                e.same(cond) for body in (yes.body, no.body) for whole in all_exprs(body) for e in walk_expr(whole)
            )
            if one_range and unchanged and not asked and written == buffers_written(no):
                yield replace(yes, body=If(cond, yes.body, no.body))
        case _:
            pass


@rewrite(
    law="if c: s else: (A[i] = undef; t)  =  if c: s else: t; if not c: A[i] = undef   "
    "where neither s nor t changes c, nor t looks at A or changes i",
    because="one of both runs, either way; what is arbitrary afterwards may hold anything before",
    family="conditionals",
)
def arbitrary_arm(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """A branch of which one arm permits to leave anything, as a branch and a permission."""
    del here
    if not isinstance(stmt, If) or SKIP in (stmt.then, stmt.other):
        return
    for arm, other, cond in ((stmt.then, stmt.other, ~stmt.cond), (stmt.other, stmt.then, stmt.cond)):
        permitted = [s for s in flat(arm) if isinstance(s, Store) and isinstance(s.value, Undef)]
        left = [s for s in flat(arm) if s not in permitted]
        written, looked_at = buffers_written(seq(*left)), buffers_read(*all_exprs(seq(*left)))
        apart = all(
            s.buffer not in written | looked_at and written.isdisjoint(buffers_read(*s.indices)) for s in permitted
        )
        unchanged = buffers_read(stmt.cond).isdisjoint(written | buffers_written(other))
        if permitted and not _permits(other) and unchanged and apart:
            yield seq(replace(stmt, cond=cond, then=other, other=seq(*left)), If(~cond, seq(*permitted), SKIP))


def _permits(stmt: Stmt) -> bool:
    """Whether a statement only stores undef."""
    return all(isinstance(s, (Store, Seq)) for s in walk(stmt)) and all(
        isinstance(s.value, Undef) for s in stores_in(stmt)
    )


# Where a statement does nothing that matters --------------------------------------------------------------------------


@rewrite(law=_LAW + "   with c where s may write something that matters", because="both arms are s", family="guard")
def dead_region(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Where everything a statement writes may hold anything afterwards."""
    if isinstance(stmt, (Store, For, Seq)):
        written = here.effects(stmt).may
        if written and all(b in here.live for b in written):
            yield from _where(stmt, here, meeting(written, here.live))


@rewrite(law=_LAW + "   with c where s may read something unknown", because="both arms are s", family="guard")
def known_region(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Where all that a statement reads from one of its inputs is known to be one value, such as zeros in padding."""
    if isinstance(stmt, (Store, For, Seq)):
        effects = here.effects(stmt)
        for buffer, _, region in held.constants(here.known):
            if buffer in effects.reads and buffer not in effects.may:
                yield from _where(stmt, here, effects.reads[buffer].subtract(region).params())


@rewrite(
    law="A[i] = A[i] op e  =  if c: A[i] = A[i] op e   where e is neutral to op unless c holds",
    because="what is neutral leaves the element as it is",
    family="guard",
    floats=Floats.NO_SIGNED_ZEROS,
)
def neutral_region(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Steps of reductions over padding that adds nothing, left out so that their loops may become shorter."""
    if not isinstance(stmt, Store) or not isinstance(stmt.value, Binary) or not here.in_loop:
        return
    if not any(Load(stmt.buffer, stmt.indices).same(part) for part in children(stmt.value)):
        return
    reads = here.effects(stmt).reads
    for buffer, _, region in held.constants(here.known):
        if buffer not in reads or buffer == stmt.buffer:
            continue
        for case in _where(stmt, here, reads[buffer].subtract(region).params()):
            assert isinstance(case, If)
            padding = here.under(case.cond, False)
            if padding is not None and padding.adds_nothing(stmt):
                yield replace(case, other=SKIP)


def _where(stmt: Stmt, here: Here, matters: isl.Set) -> Iterator[Stmt]:
    """The cases of a params set, if both happen."""

    def cond() -> isl.Set:
        names = {v.name for v in here.scope} | {v.name for e in all_exprs(stmt) for v in free_vars(e)}
        return pb.forget(matters, pb.variables(matters) - names).coalesce()

    found = here.ask(cond) if matters.n_basic_set() <= _MAX_JOINED else None
    if found is None or found.n_basic_set() > _MAX_PIECES:
        return
    domain = here.domain
    if domain.is_subset(found) or domain.is_disjoint(found):
        return
    scope = {v.name: v for e in all_exprs(stmt) for v in free_vars(e)} | {v.name: v for v in here.scope}
    test = readback.condition(found, scope, domain)
    if _distinguishes(test, here):
        yield _cases(test, stmt)


_MAX_PIECES = 4  # a condition of more cases is not worth a branch
_MAX_JOINED = 24  # pieces that may come to so few: isl looks at all pairs of them

INVARIANT_RULES = (branch_condition,)
BRANCH_RULES = (neighbours, common_part, conjuncts, selected, needless_selection, in_one_loop, arbitrary_arm)
GUARD_RULES = (dead_region, known_region, neutral_region)
CASE_RULES = (
    *INVARIANT_RULES,
    any_branch_condition,
    select_condition,
    bound_condition,
    boolean,
    *BRANCH_RULES,
    nested,
    *GUARD_RULES,
)
