"""Plausible rules that are wrong. Each says why; the checker must find a program that shows it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from egraph_rules.authoring.parts import SKIP as SKIP_PART
from egraph_rules.authoring.parts import (
    Effect,
    Expression,
    Integer,
    Statement,
    branch,
    held,
    loop,
    parts,
    runs,
    select,
    store,
    where_not,
)
from egraph_rules.authoring.proposal import Here, flat, rewrite, rewrite_expr
from egraph_rules.authoring.rule import (
    ANY,
    BOOL,
    FLOAT,
    INTEGER,
    SIGNED,
    Number,
    Term,
    Truth,
    defined,
    rule,
)
from ir.floats import Floats
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    Assume,
    Binary,
    Cast,
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
    Undef,
    Var,
    binary,
    const,
    seq,
)
from ir.traverse import all_exprs, free_vars, has_loads, map_expr, map_stmt, substitute, substitute_expr, walk_expr

# Expressions ----------------------------------------------------------------------------------------------------------


@rule(on=SIGNED, because="wrong: two readings of undef may differ")
def sub_self(x: Term):
    return x - x, 0


@rule(on=SIGNED, because="wrong: two readings of undef may differ")
def eq_self(x: Term):
    return binary("eq", x, x), TRUE


@rule(on=SIGNED, because="wrong: y may be undef")
def add_sub_same(x: Term, y: Term):
    return (x + y) - y, x


@rule(on=SIGNED, because="wrong: the arm that is not taken may fault or be undef")
def select_to_sum(c: Truth, x: Term, y: Term):
    return Select(c, x, y), Select(c, x - y, const(0, x.dtype)) + y


@rule(on=SIGNED, because="wrong: floors, where the left side floors the negative")
def half_of_negative(x: Term):
    return -x // 2, -(x // 2)


@rule(on=SIGNED, because="wrong: truncates where it must floor")
def truncating(x: Term, c: Number):
    return x // c, Binary("truncdiv", x, c), c > 0


@rule(on=SIGNED, because="wrong: needs c to divide a")
def any_offset(x: Term, a: Number, c: Number):
    return (x + a) // c, x // c + a // c, c > 0


@rule(on=SIGNED, because="wrong: needs a positive factor")
def cancel_factor(x: Term, y: Term, c: Number):
    return x * c < y * c, x < y, c != 0


@rule(on=SIGNED, because="wrong: needs m to be positive")
def cancel_symbol(x: Term, y: Term, m: Term):
    return x * m < y * m, x < y, m != 0


@rule(on=SIGNED, because="wrong: z is added to one side only")
def min_plus(x: Term, y: Term, z: Term):
    return binary("min", x, y) + z, binary("min", x + z, y)


@rule(on=SIGNED, because="wrong: forgets equality")
def not_lt(x: Term, y: Term):
    return ~(x < y), x > y


@rule(on=BOOL, because="wrong: the right operand may fault where the left one is false")
def and_commutes(x: Term, y: Term):
    return x & y, y & x


@rule(on=SIGNED, because="wrong: x may be the largest value")
def lt_to_le(x: Term, y: Term):
    return x < y, x + 1 <= y


@rule(on=INTEGER, because="wrong: unsigned addition wraps")
def successor(x: Term):
    return x + 1 > x, TRUE, defined(x)


@rule(on=SIGNED, because="wrong: the sum of two large numbers overflows")
def midpoint(x: Term, y: Term):
    return x + (y - x) // 2, (x + y) // 2, defined(x), defined(y)


@rule(on=SIGNED, because="wrong: zero divided by zero")
def divide_self(x: Term):
    return x // x, x - x + 2, defined(x)


@rule(on=SIGNED, because="wrong: needs c to divide x")
def rounds_to_itself(x: Term, c: Number):
    return x // c * c, x, c > 0


@rule(on=ANY, because="wrong: the arms are swapped without negating the condition")
def select_swapped(c: Truth, x: Term, y: Term):
    return Select(c, x, y), Select(c, y, x)


@rule(on=FLOAT, because="wrong: rounds differently, and declares no freedom")
def reassociate(x: Term, y: Term, z: Term):
    return (x + y) + z, x + (y + z)


@rule(on=FLOAT, because="wrong: zero times what is undef is zero", floats=Floats.APPROXIMATE)
def reciprocal_root(x: Term, y: Term):
    return Binary("div", x, Unary("sqrt", y)), x * Unary("rsqrt", y), defined(x)


@rule(on=FLOAT, because="wrong: zero times infinity is NaN", floats=Floats.APPROXIMATE)
def root_as_quotient(x: Term):
    return Unary("sqrt", x), x * Unary("rsqrt", x), defined(x)


@rule(on=FLOAT, because="wrong: off by more than some units in the last place", floats=Floats.APPROXIMATE)
def off_by_much(x: Term, y: Term):
    return Binary("div", x, Unary("sqrt", y)), x * Unary("rsqrt", y) * 1.0001, defined(x), defined(y)


@rule(on=FLOAT, because="wrong: infinity times zero is NaN", floats=Floats.NO_SIGNED_ZEROS)
def times_zero(x: Term):
    return x * 0.0, 0.0


@rule(on=FLOAT, because="wrong: -0.0 + 0.0 is 0.0")
def plus_zero(x: Term):
    return x + 0.0, x


@rule(on=FLOAT, because="wrong: NaN differs from itself")
def equals_itself(x: Term):
    return binary("eq", x, x), TRUE, defined(x)


@rule(on=FLOAT, because="wrong: NaN is neither below nor above")
def not_below(x: Term, y: Term):
    return ~(x < y), x >= y


@rewrite_expr(law="e - e  =  0", because="wrong: two separate undefs, or readings of undef, may differ", family="wrong")
def difference_of_equals(expr: Expr, here: Here) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "sub" and expr.lhs.same(expr.rhs):
        yield const(0, expr.dtype)


@rewrite_expr(law="x // 4 * 4  =  x   where x >= 0", because="wrong: 4 need not divide x", family="wrong")
def multiple_of_factor(expr: Expr, here: Here) -> Iterator[Expr]:
    match expr:
        case Binary(op="floordiv", lhs=a, rhs=Const(value=v)) if v > 1 and here.truth(a >= 0):
            yield binary("truncdiv", a + 1, expr.rhs)
        case _:
            pass


@rewrite_expr(law="cast(t, cast(u, x))  =  x", because="wrong: u may keep fewer bits than t", family="wrong")
def cast_there_and_back(expr: Expr, here: Here) -> Iterator[Expr]:
    match expr:
        case Cast(dtype=dtype, operand=Cast(operand=x)) if x.dtype is dtype:
            yield x
        case _:
            pass


@rewrite_expr(law="x >> k  =  x / 2**k, truncated", because="wrong: a shift rounds down", family="wrong")
def shift_truncates(expr: Expr, here: Here) -> Iterator[Expr]:
    match expr:
        case Binary(op="shr", lhs=x, rhs=Const(value=k)):
            yield Binary("truncdiv", x, const(2 ** int(k), x.dtype))
        case _:
            pass


# Conditions and bindings ----------------------------------------------------------------------------------------------


@rewrite(law="if c: s; if c: t  =  if c: s; t", because="wrong: s may change c", family="wrong")
def merge_branches(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [If(cond=c, then=s, other=t), If(cond=d, then=u, other=v)] if c.same(d):
            yield If(c, seq(s, u), seq(t, v))
        case _:
            pass


@rewrite(law="let v = e: if c: s  =  if c: let v = e: s", because="wrong: c may mention v", family="wrong")
def condition_past_let(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Let) and isinstance(stmt.body, If) and stmt.body.other == SKIP:
        yield replace(stmt.body, then=replace(stmt, body=stmt.body.then))


@rewrite(law="for i: let v = e: s  =  let v = e: for i: s", because="wrong: s may change e", family="wrong")
def hoist_element(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Let) and stmt.var not in free_vars(stmt.body.value):
        yield replace(stmt.body, body=replace(stmt, body=stmt.body.body))


@rewrite(law="let v = e: s  =  s with e for v", because="wrong: a name holds one value, e may be undef", family="wrong")
def inline_anything(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Let):
        yield substitute(stmt.body, {stmt.var: stmt.value})


@rewrite(law="A[i] = e op e  =  let v = e: A[i] = v op v", because="wrong: e may be undef", family="wrong")
def share(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match stmt:
        case Store(value=Binary(op=op, lhs=a, rhs=b)) if a.same(b) and has_loads(a):
            v = Var("shared", a.dtype)
            yield Let(v, a, replace(stmt, value=Binary(op, v, v)))
        case _:
            pass


@rewrite(law="for i: if c: s  =  if c: for i: s", because="wrong: s may change c", family="wrong")
def unswitch(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, If) and stmt.body.other == SKIP:
        cond = stmt.body.cond
        if stmt.var not in free_vars(cond):
            yield If(cond, replace(stmt, body=stmt.body.then), SKIP)


# Undef and assumptions ------------------------------------------------------------------------------------------------


@rewrite(law="A[i] = undef  =  skip", because="wrong: a refinement, but no equality", family="wrong")
def undef_store_is_skip(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Store) and isinstance(stmt.value, Undef):
        yield SKIP


def known_by(stmt: Stmt) -> Iterator[tuple[Load, Expr]]:
    """Elements that assumptions in a statement speak of, and the constants they name, whatever else they say."""
    for e in all_exprs(stmt):
        if isinstance(e, Binary) and e.op == "eq" and isinstance(e.lhs, Load) and isinstance(e.rhs, Const):
            yield e.lhs, e.rhs


@rewrite(
    law="assume(A[i] == k); s  =  assume(A[i] == k); s with k for A[i]", because="wrong: s may write A", family="wrong"
)
def stale_assumption(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    parts = list(flat(stmt)) if isinstance(stmt, Seq) else []
    for k, part in enumerate(parts):
        match part:
            case Assume(cond=Binary(op="eq", lhs=Load() as load, rhs=Const() as value)):
                rest = [_with_value(s, load, value) for s in parts[k + 1 :]]
                yield seq(*parts[: k + 1], *rest)
            case Assume(cond=Binary(op="gt", lhs=Load()) as cond):
                rest = [_with_value(s, cond, TRUE) for s in parts[k + 1 :]]
                yield seq(*parts[: k + 1], *rest)
            case _:
                pass


def _with_value(stmt: Stmt, wanted: Expr, value: Expr) -> Stmt:
    return map_stmt(stmt, lambda e: map_expr(e, lambda part: value if part.same(wanted) else part))


@rewrite(law="assume(c or A[i] == k)  says that A is k", because="wrong: only where c is false", family="wrong")
def one_side_of_disjunction(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [For() as first, second] if any(isinstance(e, Binary) and e.op == "or" for e in all_exprs(first)):
            for load, value in known_by(first):
                new = map_stmt(
                    second,
                    lambda e, load=load, value=value: map_expr(
                        e, lambda part: value if isinstance(part, Load) and part.buffer == load.buffer else part
                    ),
                )
                yield seq(first, new)
        case _:
            pass


@rewrite(law="assume(c or d)  =  assume(d)", because="wrong: it says more", family="wrong")
def shorter_assumption(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Assume) and isinstance(stmt.cond, Binary) and stmt.cond.op == "or":
        yield replace(stmt, cond=stmt.cond.rhs)


@rewrite(law="assume(c)  =  skip", because="wrong: only where c is proven", family="wrong")
def forget_assumption(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Assume):
        yield SKIP


@rewrite(law="assume(c)  =  assume(true)", because="wrong: the user's word is lost", family="wrong")
def true_assumption(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Assume):
        yield replace(stmt, cond=TRUE)


@rewrite(law="if c: A = A + e  =  A = A + e   if e is known somewhere", because="wrong: elsewhere", family="wrong")
def guard_of_other_region(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """The guard `i < 10` goes because something is known of `i >= 14`."""
    if isinstance(stmt, If) and stmt.other == SKIP and isinstance(stmt.then, Store):
        read = {e.buffer for e in walk_expr(stmt.then.value) if isinstance(e, Load)}
        if any(buffer in read for buffer, _ in here.known):
            yield stmt.then


# Stores and loops -----------------------------------------------------------------------------------------------------


@rewrite(law="s; t  =  t; s", because="wrong: both may name one element", family="wrong")
def swap_stores(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [Store() as s, Store() as t]:
            yield seq(t, s)
        case _:
            pass


@rewrite(law="A[i] = e; s; A[i] = d  =  s; A[i] = d", because="wrong: s may read A[i]", family="wrong")
def overwritten_later(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    parts = list(flat(stmt)) if isinstance(stmt, Seq) else []
    match parts:
        case [Store(buffer=a, indices=i), *_, Store(buffer=b, indices=j)] if a == b and i == j:
            yield seq(*parts[1:])
        case _:
            pass


@rewrite(law="A[i] = e; A[i] = f(A[i])  =  A[i] = f(e)", because="wrong: f may read A[j] with j = i", family="wrong")
def chained_anyhow(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [Store(buffer=a, indices=i, value=e), Store(buffer=b, indices=j) as second] if a == b and i == j:
            value = map_expr(second.value, lambda x: e if isinstance(x, Load) and x.same(Load(a, i)) else x)
            yield replace(second, value=value)
        case _:
            pass


@rewrite(law="for i in n: s  =  s   if s does not mention i", because="wrong: n may be 0", family="wrong")
def store_out_of_loop(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Store):
        store = stmt.body
        if not any(e.same(stmt.var) for e in all_exprs(store)) and not has_loads(store.value):
            yield store


@rewrite(law="for i in n: s; for j in n: t  =  for i in n: s; t", because="wrong: s may depend on t", family="wrong")
def merge_loops(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [For() as one, For() as other] if one.extent.same(other.extent) and one.start.same(other.start):
            yield replace(one, body=seq(one.body, substitute(other.body, {other.var: one.var})))
        case _:
            pass


@rewrite(
    law="for i: if c: L[i] = e; for i: A[i] = L[i]  =  for i: A[i] = e", because="wrong: forgets c", family="wrong"
)
def inline_without_predicate(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [For(body=If(then=Store() as made)) as one, For(body=Store() as used) as other]:
            there = {one.var: other.var}
            place = tuple(substitute_expr(e, there) for e in made.indices)
            value = substitute_expr(made.value, there)
            wanted = Load(made.buffer, place)
            new = map_expr(used.value, lambda part: value if part.same(wanted) else part)
            if not new.same(used.value):
                yield seq(one, replace(other, body=replace(used, value=new)))
        case _:
            pass


@rewrite(
    law="if c: A = k; for j: s  =  A = k; if c: for j: s", because="wrong: k is written everywhere", family="wrong"
)
def unguarded_init(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    match stmt:
        case If(then=Seq(stmts=(Store() as init, For() as loop)), other=other) if other == SKIP:
            yield seq(init, replace(stmt, then=loop))
        case _:
            pass


@rewrite(law="if c: s  =  s   if s is a store", because="wrong: it runs everywhere", family="wrong")
def guard_dropped(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, If) and isinstance(stmt.then, Store) and stmt.other == SKIP:
        yield stmt.then


@rewrite(law="for i in n: s  =  for i in n - 1: s", because="wrong: the last iteration is lost", family="wrong")
def one_iteration_less(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For):
        yield replace(stmt, extent=stmt.extent - 1)


@rewrite(law="for i: for j: s  =  for j: for i: s", because="wrong: s may depend on an earlier s", family="wrong")
def interchange(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, For):
        inner = stmt.body
        if stmt.var not in free_vars(inner.extent) | free_vars(inner.start):
            yield replace(inner, body=replace(stmt, body=inner.body))


@rewrite(law="for i: s(i)  =  for i: s(n - 1 - i)", because="wrong: s may depend on an earlier s", family="wrong")
def reverse(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, For):
        mirrored = stmt.start + stmt.start + stmt.extent - 1 - stmt.var
        yield replace(stmt, body=substitute(stmt.body, {stmt.var: mirrored}))


@rewrite(law="alloc L: s  =  s without stores to L", because="wrong: s may read L", family="wrong")
def local_stores_are_dead(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    if isinstance(stmt, Alloc):
        local = stmt.buffer
        yield map_stmt(stmt, on_stmt=lambda s: SKIP if isinstance(s, Store) and s.buffer == local else s)


# Relating parts of a program ------------------------------------------------------------------------------------------


@parts("wrong.always_then", because="wrong: c may be false")
def always_then(c: Expression, s: Effect, t: Effect):
    return branch(c, s, t), s


@parts("wrong.any_store_is_noop", because="wrong: the element may hold something else")
def any_store_is_noop(e: Expression):
    return store(e), SKIP_PART


@parts("wrong.last_loop", because="wrong: s may do something")
def last_loop(s: Effect):
    return loop(s), SKIP_PART


@parts("wrong.select_first", because="wrong: c may be false")
def select_first(c: Expression, a: Expression, b: Expression):
    return select(c, a, b), a


@parts("wrong.overcompute_unlike", because="wrong: s and t differ where c is false")
def overcompute_unlike(c: Expression, s: Statement, t: Statement):
    return branch(c, s, t), s, where_not(c, runs(s))


@parts("wrong.stored_something_known", because="wrong: A[i] need not be e")
def stored_something_known(e: Expression, v: Integer):
    return store(e), SKIP_PART, held(v)


EXPRESSIONS = (
    sub_self, eq_self, add_sub_same, select_to_sum, half_of_negative, truncating, any_offset, cancel_factor,
    cancel_symbol, min_plus, not_lt, and_commutes, lt_to_le, successor, midpoint, divide_self, rounds_to_itself,
    select_swapped, reassociate, times_zero, plus_zero, equals_itself, not_below, reciprocal_root, root_as_quotient,
    off_by_much,
)  # fmt: skip
PROPOSALS = (
    difference_of_equals, multiple_of_factor, cast_there_and_back, shift_truncates,
    merge_branches, condition_past_let, hoist_element, inline_anything,
    share, unswitch, undef_store_is_skip, stale_assumption, one_side_of_disjunction, shorter_assumption,
    forget_assumption, true_assumption, guard_of_other_region, swap_stores, overwritten_later, chained_anyhow,
    store_out_of_loop,
    merge_loops, inline_without_predicate, unguarded_init, guard_dropped, one_iteration_less, interchange, reverse,
    local_stores_are_dead,
)  # fmt: skip
RELATIONS = (
    always_then, any_store_is_noop, last_loop, select_first, overcompute_unlike,
    stored_something_known,
)  # fmt: skip
WRONG = (*EXPRESSIONS, *PROPOSALS, *RELATIONS)
