"""Statements in contexts: no-ops, branches, and the trade of branching for overcompute.

`f`, `d` name facts and permissions, `k` a numbered statement, `x` the class of `(At f k d)`. A statement that changes
nothing but what `d` permits is a `noop`, which is the same as being equal to `(At f 0 d)`.
"""

from __future__ import annotations

from egraph_rules.authoring.rule import statement_rule

overcompute_then = statement_rule(
    "overcompute.then",
    "if c: s else: t  =  s   if, where c is false, s cannot fault and equals t",
    "where c holds s runs anyway, elsewhere s and t have the same effect",
    "(= x (At f k d)) (p_if k c s t) (= n (f_else f c)) (may_run n s) (= (At n s d) (At n t d))",
    "(union x (At f s d))",
)
overcompute_else = statement_rule(
    "overcompute.else",
    "if c: s else: t  =  t   if, where c is true, t cannot fault and equals s",
    "where c fails t runs anyway, elsewhere t and s have the same effect",
    "(= x (At f k d)) (p_if k c s t) (= y (f_then f c)) (may_run y t) (= (At y t d) (At y s d))",
    "(union x (At f t d))",
)
select_then = statement_rule(
    "overcompute.select_then",
    "select(c, a, b)  =  a   if, where c is false, a cannot fault and equals b",
    "where c holds a is taken anyway, elsewhere a and b agree",
    "(= x (Ate f e)) (e_sel e t c a b) (= n (f_else f c)) (may_select n a) (= (Ate n a) (Ate n b))",
    "(union x (Ate f a))",
)
select_else = statement_rule(
    "overcompute.select_else",
    "select(c, a, b)  =  b   if, where c is true, b cannot fault and equals a",
    "where c fails b is taken anyway, elsewhere b and a agree",
    "(= x (Ate f e)) (e_sel e t c a b) (= y (f_then f c)) (may_select y b) (= (Ate y b) (Ate y a))",
    "(union x (Ate f b))",
)
branch_true = statement_rule(
    "branch.true",
    "if true: s else: t  =  s",
    "the condition is known here",
    "(= x (If f d c y n)) (= 1 (ival c))",
    "(union x y)",
)
branch_false = statement_rule(
    "branch.false",
    "if false: s else: t  =  t",
    "the condition is known here",
    "(= x (If f d c y n)) (= 0 (ival c))",
    "(union x n)",
)
branch_identical = statement_rule(
    "branch.identical",
    "if c: s else: s  =  s",
    "both branches do the same",
    "(= x (At f k d)) (p_if k c s s)",
    "(union x (At f s d))",
)
branch_noop = statement_rule(
    "noop.branch",
    "if c: skip else: skip  =  skip",
    "a condition has no effect",
    "(= x (If f d c y n)) (noop y) (noop n)",
    "(noop x)",
)
seq_noop = statement_rule(
    "noop.sequence",
    "skip; skip  =  skip",
    "nothing happens twice",
    "(= x (Seq f d y z)) (noop y) (noop z)",
    "(noop x)",
)
loop_noop = statement_rule(
    "noop.loop",
    "for i in n: skip  =  skip",
    "every iteration leaves everything as it is",
    "(= x (For f d k lo n y)) (noop y)",
    "(noop x)",
)
block_noop = statement_rule(
    "noop.block",
    "block: skip  =  skip",
    "a name has no effect",
    "(= x (Block f d k y)) (noop y)",
    "(noop x)",
)
let_noop = statement_rule(
    "noop.let",
    "let v = e: skip  =  skip",
    "a binding that nothing uses has no effect",
    "(= x (Let f d k e y)) (noop y)",
    "(noop x)",
)
alloc_noop = statement_rule(
    "noop.alloc",
    "alloc A: skip  =  skip",
    "an allocation that nothing uses has no effect",
    "(= x (Alloc f d k y)) (noop y)",
    "(noop x)",
)
store_back = statement_rule(
    "noop.store_back",
    "A[i] = A[i]  =  skip",
    "the element keeps its value",
    "(= x (Store f d b i v)) (= v (Load f b i))",
    "(noop x)",
)
store_known_int = statement_rule(
    "noop.store_known_int",
    "A[i] = v  =  skip   if A[i] is known to be v",
    "the element keeps its value",
    "(= x (At f k d)) (p_store k b i e) (= v (old_int f k)) (= v (ival (Ate f e)))",
    "(noop x)",
)
store_known_float = statement_rule(
    "noop.store_known_float",
    "A[i] = v  =  skip   if A[i] is known to be v",
    "the element keeps its value",
    "(= x (At f k d)) (p_store k b i e) (old_flt f k v) (= v (fval (Ate f e)))",
    "(noop x)",
)
dead = statement_rule(
    "noop.dead",
    "s  =  skip   if all that s may write may hold anything afterwards",
    "what s writes is overwritten, havocked by undef, or local, before anything reads it",
    "(= x (At f k d)) (only_writes_dead f k d)",
    "(noop x)",
)
without_effect = statement_rule(
    "noop.without_effect",
    "assume(true), assert true, evaluate(e)  =  skip",
    "proven here, and evaluation changes nothing",
    "(= x (Leaf f d k)) (without_effect f k)",
    "(noop x)",
)
skip = statement_rule(
    "noop.is_skip",
    "a no-op equals skip",
    "by definition",
    "(noop x) (= x (At f k d))",
    "(union x (At f 0 d))",
)

STATEMENT_RULES = (
    overcompute_then, overcompute_else, select_then, select_else, branch_true, branch_false, branch_identical,
    branch_noop, seq_noop, loop_noop, block_noop, let_noop, alloc_noop, store_back, store_known_int, store_known_float,
    dead, without_effect, skip,
)  # fmt: skip
