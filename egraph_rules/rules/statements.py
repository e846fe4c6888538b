"""Statements in contexts: no-ops, branches, and the trade of branching for overcompute."""

from __future__ import annotations

from egraph_rules.authoring.parts import (
    FALSE,
    SKIP,
    TRUE,
    Effect,
    Expression,
    Integer,
    Real,
    Statement,
    alloc,
    block,
    branch,
    definition_of_skip,
    has,
    held,
    leaf,
    let,
    loop,
    part,
    parts,
    runs,
    same,
    select,
    sequence,
    store,
    where,
    where_not,
    without_effect,
    writes_what_is_dead,
)
from egraph_rules.authoring.parts import store_back as stored_back


@parts("overcompute.then", because="where c holds s runs anyway, elsewhere s and t have the same effect")
def overcompute_then(c: Expression, s: Statement, t: Statement):
    return branch(c, s, t), s, where_not(c, runs(s), same(s, t))


@parts("overcompute.else", because="where c fails t runs anyway, elsewhere t and s have the same effect")
def overcompute_else(c: Expression, s: Statement, t: Statement):
    return branch(c, s, t), t, where(c, runs(t), same(t, s))


@parts("overcompute.select_then", because="where c holds a is taken anyway, elsewhere a and b agree")
def select_then(c: Expression, a: Expression, b: Expression):
    return select(c, a, b), a, where_not(c, runs(a), same(a, b))


@parts("overcompute.select_else", because="where c fails b is taken anyway, elsewhere b and a agree")
def select_else(c: Expression, a: Expression, b: Expression):
    return select(c, a, b), b, where(c, runs(b), same(b, a))


@parts("branch.true", because="the condition is known here")
def branch_true(s: Effect, t: Effect):
    return branch(TRUE, s, t), s


@parts("branch.false", because="the condition is known here")
def branch_false(s: Effect, t: Effect):
    return branch(FALSE, s, t), t


@parts("branch.identical", because="both branches do the same")
def branch_identical(c: Expression, s: Statement):
    return branch(c, s, s), s


@parts("noop.branch", because="a condition has no effect")
def branch_noop(c: Expression):
    return branch(c, SKIP, SKIP), SKIP


@parts("noop.sequence", because="nothing happens twice")
def seq_noop():
    return sequence(SKIP, SKIP), SKIP


@parts("noop.loop", because="every iteration leaves everything as it is")
def loop_noop():
    return loop(SKIP), SKIP


@parts("noop.block", because="a name has no effect")
def block_noop():
    return block(SKIP), SKIP


@parts("noop.let", because="a binding that nothing uses has no effect")
def let_noop():
    return let(SKIP), SKIP


@parts("noop.alloc", because="an allocation that nothing uses has no effect")
def alloc_noop():
    return alloc(SKIP), SKIP


@parts("noop.store_back", because="the element keeps its value")
def store_back():
    return stored_back(), SKIP


@parts("noop.store_known_int", because="the element keeps its value")
def store_known_int(e: Expression, v: Integer):
    return store(e), SKIP, held(v), has(e, v)


@parts("noop.store_known_float", because="the element keeps its value")
def store_known_float(e: Expression, v: Real):
    return store(e), SKIP, held(v), has(e, v)


@parts("noop.dead", because="what s writes is overwritten, havocked by undef, or local, before anything reads it")
def dead(s: Statement):
    return part(s), SKIP, writes_what_is_dead(s)


@parts("noop.without_effect", because="proven here, and evaluation changes nothing")
def leaf_without_effect():
    return leaf(), SKIP, without_effect()


skip = definition_of_skip("noop.is_skip", because="by definition")

STATEMENT_RULES = (
    overcompute_then, overcompute_else, select_then, select_else, branch_true, branch_false, branch_identical,
    branch_noop, seq_noop, loop_noop, block_noop, let_noop, alloc_noop, store_back, store_known_int, store_known_float,
    dead, leaf_without_effect, skip,
)  # fmt: skip
