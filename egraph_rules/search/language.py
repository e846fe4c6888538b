"""The sorts and tables of the e-graph, and the rules that push contexts inward. Owns no algebra.

The program itself is not a term. It stands in tables as numbered statements (`p_...`) and expressions (`e_...`), and
terms exist only *in a context*: `(At f s d)` is statement s under facts f and permissions d, `(Ate f e)` expression e
under facts f. Pushing rewrites `At` of a compound into a compound of `At`s, e.g.

    (At f (if c: a else: b) d)  =  (If f d (Ate f c) (At f∧c a d) (At f∧¬c b d))

with `f∧c` and its like looked up in tables that `expand` fills. Every statement node repeats its context (f, d), so two
nodes are congruent only where they mean the same. Constants are a value *of* a class (`ival`, `fval`), never a member
of it: were `A[i]` united with `0` where A[i] is known to be 0, every other zero would be united with A[i] too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from egraph_rules.authoring.rule import Rule, bound_rows, kind_rows, own_rows, regular_rows
from egraph_rules.engine.engine import Engine, kept, scratch_folder
from egraph_rules.engine.rounds import Program

SORTS = """
(sort P) (sort E) (sort L)
(constructor At (i64 i64 i64) P)
(constructor Seq (i64 i64 P P) P)
(constructor If (i64 i64 E P P) P)
(constructor For (i64 i64 i64 E E P) P)
(constructor Let (i64 i64 i64 E P) P)
(constructor Alloc (i64 i64 i64 P) P)
(constructor Block (i64 i64 i64 P) P)
(constructor Store (i64 i64 i64 L E) P)
(constructor Leaf (i64 i64 i64) P)
(constructor Twin (i64 i64 i64 P) P)
(constructor Ate (i64 i64) E)
(constructor Int (String i64) E)
(constructor Flt (String f64) E)
(constructor IntAt (i64 String i64) E)
(constructor FltAt (i64 String f64) E)
(constructor Load (i64 i64 L) E)
(constructor Call (i64 L) E)
(constructor Bin (String String E E) E)
(constructor Un (String String E) E)
(constructor Cast (String E) E)
(constructor Select (String E E E) E)
(constructor Atl (i64 i64) L)
(constructor Nil () L)
(constructor Cons (E L) L)
"""

PROGRAM_TABLES = """
(relation p_seq (i64 i64 i64))
(relation p_if (i64 i64 i64 i64))
(relation p_for (i64 i64 i64 i64))
(relation p_let (i64 i64 i64))
(relation p_alloc (i64 i64))
(relation p_block (i64 i64))
(relation p_store (i64 i64 i64 i64))
(relation p_leaf (i64))
(relation e_type (i64 String))
(relation e_var (i64))
(relation e_int (i64 i64))
(relation e_flt (i64 f64))
(relation e_bin (i64 String String i64 i64))
(relation e_un (i64 String String i64))
(relation e_cast (i64 String i64))
(relation e_sel (i64 String i64 i64 i64))
(relation e_load (i64 i64 i64))
(relation e_call (i64 i64 i64))
(relation x_cons (i64 i64 i64))
"""

# (egglog reads floats from files into relations only, not into functions.)
# Answers of the prover. f_..., d_...: facts and permissions of a part; k_...: known values; the rest are yes-answers.
ANSWER_TABLES = """
(function ival (E) i64 :merge old)
(function fval (E) f64 :merge old)
(function f_then (i64 i64) i64 :merge old)
(function f_else (i64 i64) i64 :merge old)
(function f_seq (i64 i64 i64) i64 :merge old)
(function d_seq (i64 i64 i64) i64 :merge old)
(function f_for (i64 i64 i64) i64 :merge old)
(function d_for (i64 i64 i64) i64 :merge old)
(function f_let (i64 i64) i64 :merge old)
(function f_alloc (i64 i64 i64) i64 :merge old)
(function d_alloc (i64 i64 i64) i64 :merge old)
(function k_int (i64 i64) i64 :merge old)
(relation k_flt (i64 i64 f64))
(function old_int (i64 i64) i64 :merge old)
(relation old_flt (i64 i64 f64))
(relation want (i64 i64 i64))
(relation twin (i64 i64 i64 i64 i64 i64 i64))
(relation same (i64 i64 i64 i64))
(relation same_expr (i64 i64 i64))
(relation want_expr (i64 i64))
(relation only_writes_dead (i64 i64 i64))
(relation without_effect (i64 i64))
(relation may_run (i64 i64))
(relation may_select (i64 i64))
(relation ask_div (i64 i64 i64))
(relation k_div (i64 i64 i64 i64))
(relation ask_rule (String i64 i64 i64 i64 i64))
(relation holds_rule (String i64 i64 i64 i64 i64))
(relation ask_bin_int (String String i64 i64))
(relation ask_bin_flt (String String f64 f64))
(relation ask_un_int (String String i64))
(relation ask_un_flt (String String f64))
(relation ask_cast_int (String i64))
(relation ask_cast_flt (String f64))
(relation bin_int_int (String String i64 i64 String i64))
(relation bin_flt_int (String String f64 f64 String i64))
(relation bin_flt_flt (String String f64 f64 String f64))
(relation un_int_int (String String i64 String i64))
(relation un_flt_flt (String String f64 String f64))
(relation cast_int_int (String i64 String i64))
(relation cast_int_flt (String i64 String f64))
(relation cast_flt_int (String f64 String i64))
(relation cast_flt_flt (String f64 String f64))
(relation total_ (i64 i64))
(relation is_defined (i64 i64))
(relation is_regular (i64 i64))
(relation kind (String String))
(relation bounds (String i64 i64))
(relation own_int (String String i64))
(relation own_flt (String String f64))
(relation noop (P))
(relation defined (E))
(relation defined_all (L))
(relation regular (String String))
"""


def _push(name: str, body: str, head: str) -> str:
    return f'(rule ({body}) ({head}) :ruleset push :name "push.{name}")'


# What folds: a node, its columns that are no operands, and its operands.
_FOLDED = (("Bin", "o t", ("a", "b")), ("Un", "o t", ("a",)), ("Cast", "t", ("a",)))
# (A cast has no column for the dtype of its operand: whether a float that nearly vanishes is zero depends on it.)
FOLDED = tuple(f"ask_{node.lower()}_{sort}" for node, _, _ in _FOLDED for sort in ("int", "flt"))
_SORTS = {"int": "ival", "flt": "fval"}
_LARGEST = repr(sys.float_info.max)


def _folds() -> Iterator[str]:
    """An operation on known values is a question, answered once for all places by what the interpreter computes."""
    for node, columns, operands in _FOLDED:
        for sort, value in _SORTS.items():
            table = f"{node.lower()}_{sort}"
            numbers = " ".join(f"v{a}" for a in operands)
            known = " ".join(f"(= v{a} ({value} {a}))" for a in operands)
            query = f"(= x ({node} {columns} {' '.join(operands)})) {known}"
            yield _push(f"ask {table}", query, f"(ask_{table} {columns} {numbers})")
            for result, found in _SORTS.items():
                if f"(relation {table}_{result} " in ANSWER_TABLES:
                    answer = f"{query} ({table}_{result} {columns} {numbers} rt r)"
                    literal = f"({result.capitalize()} rt r)"  # equal results are one class, or their forms multiply
                    known = " (defined x)" if result == "int" else ""
                    yield _push(f"{table} {result}", answer, f"(union x {literal}) (set ({found} x) r){known}")


# (raw kind, what to match besides the term, what it equals)
PUSH = (
    "(ruleset push)",
    '(rule ((want f s d)) ((At f s d)) :ruleset push :name "push.want")',
    _push(
        "seq",
        "(= x (At f s d)) (p_seq s a b) (= g (f_seq f d s)) (= e (d_seq f d s))",
        "(union x (Seq f d (At f a e) (At g b d)))",
    ),
    # Of a sequence in which one part does nothing, the other has the context of the whole.
    _push(
        "first alone",
        "(= x (At f s d)) (p_seq s a b) (= g (f_seq f d s)) (noop (At g b d))",
        "(union x (At f a d))",
    ),
    _push(
        "second alone",
        "(= x (At f s d)) (p_seq s a b) (= e (d_seq f d s)) (noop (At f a e))",
        "(union x (At f b d))",
    ),
    _push(
        "if",
        "(= x (At f s d)) (p_if s c a b) (= y (f_then f c)) (= n (f_else f c))",
        "(union x (If f d (Ate f c) (At y a d) (At n b d)))",
    ),
    _push(
        "for",
        "(= x (At f s d)) (p_for s lo n b) (= g (f_for f d s)) (= e (d_for f d s))",
        "(union x (For f d s (Ate f lo) (Ate f n) (At g b e)))",
    ),
    _push(
        "let",
        "(= x (At f s d)) (p_let s v b) (= g (f_let f s))",
        "(union x (Let f d s (Ate f v) (At g b d)))",
    ),
    _push(
        "alloc",
        "(= x (At f s d)) (p_alloc s b) (= g (f_alloc f d s)) (= e (d_alloc f d s))",
        "(union x (Alloc f d s (At g b e)))",
    ),
    _push("block", "(= x (At f s d)) (p_block s b)", "(union x (Block f d s (At f b d)))"),
    _push("same expression", "(same_expr f e r)", "(union (Ate f e) (Ate f r))"),
    _push("same", "(same f s d r)", "(union (At f s d) (At f r d))"),
    _push(
        "store",
        "(= x (At f s d)) (p_store s b i v)",
        "(union x (Store f d b (Atl f i) (Ate f v)))",
    ),
    _push("leaf", "(= x (At f s d)) (p_leaf s)", "(union x (Leaf f d s))"),
    # A nest that is another one with other buffers: what that one becomes, with these.
    _push("twin", "(twin f s d k g t e)", "(union (At f s d) (Twin f d k (At g t e)))"),
    _push("twin of nothing", "(= x (Twin f d k y)) (noop y)", "(noop x)"),
    _push("skip", "(= x (At f 0 d))", "(noop x)"),
    _push("impossible", "(= x (At -1 s d))", "(noop x)"),
    _push("nil", "(= x (Atl f 0))", "(union x (Nil))"),
    _push("cons", "(= x (Atl f l)) (x_cons l e r)", "(union x (Cons (Ate f e) (Atl f r)))"),
    _push("int", "(= x (Ate f e)) (e_int e v)", "(set (ival x) v) (defined x)"),
    _push("flt", "(= x (Ate f e)) (e_flt e v)", "(set (fval x) v)"),
    _push("known int", "(= x (Ate f e)) (= v (k_int f e))", "(set (ival x) v) (defined x)"),
    _push("known float", "(= x (Ate f e)) (k_flt f e v)", "(set (fval x) v)"),
    # Zero times infinity is no number: what is defined is finite, as rules that rest on it take it to be.
    _push("finite", f"(= v (fval x)) (<= v {_LARGEST}) (>= v -{_LARGEST})", "(defined x)"),
    _push("variable", "(= x (Ate f e)) (e_var e)", "(defined x)"),
    _push("element", "(= x (Ate f e)) (is_defined f e)", "(defined x)"),
    _push("defined unary", "(= x (Un o t a)) (regular o t) (defined a)", "(defined x)"),
    _push("defined binary", "(= x (Bin o t a b)) (regular o t) (defined a) (defined b)", "(defined x)"),
    _push("regular unary", "(= x (Ate f e)) (is_regular f e) (= x (Un o t a)) (defined a)", "(defined x)"),
    _push(
        "regular binary",
        "(= x (Ate f e)) (is_regular f e) (= x (Bin o t a b)) (defined a) (defined b)",
        "(defined x)",
    ),
    _push("defined cast", "(= x (Cast t a)) (defined a)", "(defined x)"),
    _push("defined select", "(= x (Select t c a b)) (defined c) (defined a) (defined b)", "(defined x)"),
    _push("defined none", "(= x (Nil))", "(defined_all x)"),
    _push("defined list", "(= x (Cons e r)) (defined e) (defined_all r)", "(defined_all x)"),
    _push("regular call", "(= x (Ate f e)) (is_regular f e) (= x (Call k l)) (defined_all l)", "(defined x)"),
    _push("call", "(= x (Ate f e)) (e_call e k l)", "(union x (Call k (Atl f l)))"),
    _push("load", "(= x (Ate f e)) (e_load e b i)", "(union x (Load f b (Atl f i)))"),
    _push("unary", "(= x (Ate f e)) (e_un e o t a)", "(union x (Un o t (Ate f a)))"),
    _push("cast", "(= x (Ate f e)) (e_cast e t a)", "(union x (Cast t (Ate f a)))"),
    _push(
        "binary",
        '(= x (Ate f e)) (e_bin e o t a b) (!= o "and") (!= o "or")',
        "(union x (Bin o t (Ate f a) (Ate f b)))",
    ),
    # `and`, `or` and selections evaluate an operand only where the first one lets them.
    _push(
        "and",
        '(= x (Ate f e)) (e_bin e "and" t a b) (= g (f_then f a))',
        '(union x (Bin "and" t (Ate f a) (Ate g b)))',
    ),
    _push(
        "or",
        '(= x (Ate f e)) (e_bin e "or" t a b) (= g (f_else f a))',
        '(union x (Bin "or" t (Ate f a) (Ate g b)))',
    ),
    _push(
        "select",
        "(= x (Ate f e)) (e_sel e t c a b) (= y (f_then f c)) (= n (f_else f c))",
        "(union x (Select t (Ate f c) (Ate y a) (Ate n b)))",
    ),
    # Equal constants of one context and dtype are one class, so that what is built from them is congruent.
    _push(
        "same int",
        "(= x (Ate f e)) (e_type e t) (= v (ival x))",
        "(union x (IntAt f t v)) (set (ival (IntAt f t v)) v)",
    ),
    _push(
        "same float",
        "(= x (Ate f e)) (e_type e t) (= v (fval x))",
        "(union x (FltAt f t v)) (set (fval (FltAt f t v)) v)",
    ),
    # Numbers that rules have written are those of the context of what they are added to, or multiply, so that sums and
    # products are congruent.
    *(
        _push(
            f"{kind} of a {what}",
            f'(= z (Bin "{op}" t (Ate f e) c)) (= c ({literal} t v))',
            f'(union z (Bin "{op}" t (Ate f e) ({literal}At f t v)))'
            f" (set ({value} ({literal}At f t v)) v) (defined ({literal}At f t v))",
        )
        for what, op in (("sum", "add"), ("product", "mul"))
        for kind, literal, value in (("integer", "Int", "ival"), ("float", "Flt", "fval"))
    ),
    # A division that rewriting made is a question too: (facts, dividend, divisor), answered by the one quotient.
    *(
        _push(f"ask {o}", f'(= z (Bin "{o}" t (Ate f e) c)) (kind t "int") (= n (ival c))', "(ask_div f e n)")
        for o in ("floordiv", "floormod")
    ),
    _push("quotient", '(= z (Bin "floordiv" t (Ate f e) c)) (= n (ival c)) (k_div f e n v)', "(set (ival z) v)"),
    _push("remainder", '(= z (Bin "floormod" t (Ate f e) c)) (= n (ival c)) (k_div f e n 0)', "(union z (Ate f e))"),
    *_folds(),
    _push("want select", "(may_select f e)", "(Ate f e)"),
    _push("want expression", "(want_expr f e)", "(Ate f e)"),
    # What has a known value needs no other form; without this, 0 = 0 * a = (0 * a) * b = ... never ends.
    *(
        _push(
            f"settled {node.lower()} {value}",
            f"(= x ({node} {columns})) ({value} x)",
            f"(subsume ({node} {columns}))",
        )
        for node, columns in (
            ("Bin", "o t a b"),
            ("Un", "o t a"),
            ("Select", "t c a b"),
            ("Cast", "t a"),
            ("Call", "k l"),
        )
        for value in ("ival", "fval")
    ),
    '(rule ((= x (Int t v))) ((set (ival x) v) (defined x)) :ruleset push :name "push.literal int")',
    '(rule ((= x (Flt t v))) ((set (fval x) v)) :ruleset push :name "push.literal float")',
)


def _engine_of(rules: tuple[Rule, ...]) -> Engine:
    """An engine that knows these rules."""
    program = Program.of((SORTS, PROGRAM_TABLES, ANSWER_TABLES, *PUSH), (r.program for r in rules))
    engine = Engine(program.texts, program.growth)
    with scratch_folder() as folder:
        engine.insert(
            {"kind": list(kind_rows()), "regular": list(regular_rows()), "bounds": list(bound_rows()), **own_rows()},
            folder,
        )
    return engine


engine_with = kept(_engine_of)
