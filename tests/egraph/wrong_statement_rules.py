"""Plausible rules over statements, each without the side condition that makes it right, and with it.

A rule is one function. `careful` says whether it looks at the condition: the wrong rule of a pair does not, and the
checker must refute it; the right one does, and must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite, rewrite_expr
from egraph_rules.authoring.rule import Rule
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Buffer,
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
    const,
    seq,
)
from ir.traverse import all_exprs, buffers_written, free_vars, has_loads, substitute, substitute_expr, walk_expr

StmtRule = Callable[[Stmt, Here, bool], Iterator[Stmt]]
ExprRule = Callable[[Expr, Here, bool], Iterator[Expr]]


@dataclass(frozen=True)
class Pair:
    """A rule without its condition and with it."""

    name: str
    wrong: Rule
    right: Rule
    condition: str


PAIRS: list[Pair] = []


def pair(law: str, condition: str) -> Callable[[StmtRule], StmtRule]:
    """Make a wrong and a right rule over statements of a function."""

    def build(function: StmtRule) -> StmtRule:
        def wrong(stmt: Stmt, here: Here) -> Iterator[Stmt]:
            yield from function(stmt, here, False)

        def right(stmt: Stmt, here: Here) -> Iterator[Stmt]:
            yield from function(stmt, here, True)

        wrong.__name__ = right.__name__ = function.__name__
        one = rewrite(law=law, because=f"wrong: needs that {condition}", family="wrong")(wrong)
        other = rewrite(law=f"{law}   where {condition}", because="as the condition says", family="right")(right)
        PAIRS.append(Pair(function.__name__, one, other, condition))
        return function

    return build


def expr_pair(law: str, condition: str) -> Callable[[ExprRule], ExprRule]:
    """Make a wrong and a right rule over the expressions in statements of a function."""

    def build(function: ExprRule) -> ExprRule:
        def wrong(expr: Expr, here: Here) -> Iterator[Expr]:
            yield from function(expr, here, False)

        def right(expr: Expr, here: Here) -> Iterator[Expr]:
            yield from function(expr, here, True)

        wrong.__name__ = right.__name__ = function.__name__
        one = rewrite_expr(law=law, because=f"wrong: needs that {condition}", family="wrong")(wrong)
        other = rewrite_expr(law=f"{law}   where {condition}", because="as the condition says", family="right")(right)
        PAIRS.append(Pair(function.__name__, one, other, condition))
        return function

    return build


# What conditions speak of ---------------------------------------------------------------------------------------------


def reads(*parts: Stmt | Expr) -> set[Buffer]:
    """Buffers that statements and expressions read."""
    exprs = (e for part in parts for e in (walk_expr(part) if isinstance(part, Expr) else all_exprs(part)))
    return {e.buffer for e in exprs if isinstance(e, Load)}


def apart(stmt: Stmt, *parts: Stmt | Expr) -> bool:
    """Whether others read nothing that a statement writes."""
    return buffers_written(stmt).isdisjoint(reads(*parts))


def independent(one: Stmt, other: Stmt) -> bool:
    """Whether neither reads or writes what the other one writes."""
    return apart(one, other) and apart(other, one) and buffers_written(one).isdisjoint(buffers_written(other))


def same_place(one: Store, other: Store) -> bool:
    return one.buffer == other.buffer and one.indices == other.indices


def idempotent(stmt: Stmt) -> bool:
    """Whether a store does not depend on what it writes."""
    return isinstance(stmt, Store) and apart(stmt, *stmt.indices, stmt.value)


def uses(part: Stmt | Expr, var: Var) -> bool:
    exprs = walk_expr(part) if isinstance(part, Expr) else all_exprs(part)
    return any(e.same(var) for e in exprs)


def at_least_once(loop: For, here: Here) -> bool:
    return here.truth(loop.extent >= 1) is True


def fixed_bounds(loop: For) -> bool:
    """Whether no store changes the bounds of a loop."""
    return not has_loads(loop.start) and not has_loads(loop.extent)


def both(stmt: Stmt) -> tuple[Stmt, Stmt, tuple[Stmt, ...]] | None:
    """The first two statements of a sequence, and the others."""
    parts = list(flat(stmt)) if isinstance(stmt, Seq) else []
    return (parts[0], parts[1], tuple(parts[2:])) if len(parts) > 1 else None


def negated(cond: Expr) -> Expr:
    return Unary("not", cond)


# Branches -------------------------------------------------------------------------------------------------------------


@pair("for b in n: r = r + (x >> b & 1)  =  r = r + the bits of x that are set", "x is not what is stored")
def bits_of_what_is_stored(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(
            start=Const(value=0),
            extent=Const(value=int() as count),
            body=Store(
                value=Binary(op="add", lhs=Load() as own, rhs=Binary(op="bitand", lhs=shifted, rhs=Const(value=1)))
            ) as store,
        ):
            pass
        case _:
            return
    if not isinstance(shifted, Binary) or shifted.op != "shr":
        return
    if any(uses(e, stmt.var) for e in (shifted.lhs, *store.indices)):
        return
    x, place = shifted.lhs, shifted.rhs
    if count != x.dtype.bits or not any(place.same(e) for e in (stmt.var, Cast(x.dtype, stmt.var))):
        return
    bits = [Binary("bitand", Binary("shr", x, const(b, x.dtype)), const(1, x.dtype)) for b in range(count)]
    if (
        own.same(Load(store.buffer, store.indices))
        and apart(store, *store.indices)
        and (not careful or apart(store, x))
    ):
        yield Store(store.buffer, store.indices, sum(bits, start=cast(Expr, own)))


@pair("A[i] = e; if c: A[i] = d  =  A[i] = select(c, d, e)", "c and d do not read A")
def guarded_store_to_select(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, If(cond=c, then=Store() as t, other=other), rest] if other == SKIP and same_place(s, t):
            if not careful or apart(s, c, t.value, *t.indices):
                yield seq(replace(s, value=Select(c, t.value, s.value)), *rest)
        case _:
            pass


@pair("if c: s else: t  =  if not c: t; if c: s", "t does not change c")
def other_arm_first(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, If) and SKIP not in (stmt.then, stmt.other) and (not careful or apart(stmt.other, stmt.cond)):
        yield seq(If(negated(stmt.cond), stmt.other, SKIP), If(stmt.cond, stmt.then, SKIP))


@pair("if c: s else: t  =  if c: s; if not c: t", "s does not change c")
def arms_as_guards(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, If) and SKIP not in (stmt.then, stmt.other) and (not careful or apart(stmt.then, stmt.cond)):
        yield seq(If(stmt.cond, stmt.then, SKIP), If(negated(stmt.cond), stmt.other, SKIP))


@pair("if c: A[i] = a else: A[j] = b  =  A[i] = select(c, a, b)", "i is j")
def arms_to_select(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=Store() as s, other=Store() as t) if s.buffer == t.buffer:
            if not careful or same_place(s, t):
                yield replace(s, value=Select(c, s.value, t.value))
        case _:
            pass


@pair("if c: A[i] = a  =  A[i] = select(c, a, A[i])", "A[i] is inside A where c is false")
def guard_to_select(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=Store() as s, other=other) if other == SKIP:
            if not careful or here.in_bounds(s.buffer, s.indices):
                yield replace(s, value=Select(c, s.value, Load(s.buffer, s.indices)))
        case _:
            pass


@pair("if c: A[i] = a else: A[i] = b  =  A[i] = b; if c: A[i] = a", "c and a do not read A, and b cannot fault")
def default_first(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=Store() as s, other=Store() as t) if same_place(s, t):
            if not careful or (apart(s, c, s.value, *s.indices) and here.decided(t.value)):
                yield seq(t, If(c, s, SKIP))
        case _:
            pass


@pair("if c: s; if not c: t  =  if c: s else: t", "s does not change c")
def merge_complements(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [If(cond=c, then=s, other=o), If(cond=Unary(op="not", operand=d), then=t, other=p), rest]:
            if o == SKIP and p == SKIP and c.same(d) and (not careful or apart(s, c)):
                yield seq(If(c, s, t), *rest)
        case _:
            pass


@pair("if c: if d: s  =  if d: if c: s", "evaluating d cannot fault where c is false")
def exchange_guards(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=If(cond=d, then=s, other=o), other=p) if o == SKIP and p == SKIP:
            if not careful or here.decided(d):
                yield If(d, If(c, s, SKIP), SKIP)
        case _:
            pass


@pair("if c and d: s else: t  =  if d and c: s else: t", "evaluating d cannot fault where c is false")
def exchange_conjuncts(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=Binary(op="and", lhs=c, rhs=d)) if not careful or here.decided(d):
            yield replace(stmt, cond=Binary("and", d, c))
        case _:
            pass


@pair("u; if c: s else: t  =  if c: (u; s) else: (u; t)", "u does not change c")
def statement_into_arms(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [u, If(cond=c, then=s, other=t), rest] if not careful or apart(u, c):
            yield seq(If(c, seq(u, s), seq(u, t)), *rest)
        case _:
            pass


@pair("if c: (u; s) else: (u; t)  =  u; if c: s else: t", "u does not change c")
def common_beginning(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, If) and SKIP not in (stmt.then, stmt.other):
        yes, no = list(flat(stmt.then)), list(flat(stmt.other))
        if yes[0] == no[0] and (not careful or apart(yes[0], stmt.cond)):
            yield seq(yes[0], If(stmt.cond, seq(*yes[1:]), seq(*no[1:])))


@pair("if c or d: s  =  if c: s; if d: s", "s does not depend on what it writes, nor d, and neither c nor d can fault")
def disjuncts_as_guards(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=Binary(op="or", lhs=c, rhs=d), then=s, other=o) if o == SKIP:
            if not careful or (idempotent(s) and here.decided(c) and here.decided(d)):
                yield seq(If(c, s, SKIP), If(d, s, SKIP))
        case _:
            pass


@pair("if c: s; if d: s  =  if c or d: s", "s does not depend on what it writes, nor d")
def merge_guards_of_same(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [If(cond=c, then=s, other=o), If(cond=d, then=t, other=p), rest] if o == SKIP and p == SKIP and s == t:
            if not careful or (idempotent(s) and apart(s, d)):
                yield seq(If(Binary("or", c, d), s, SKIP), *rest)
        case _:
            pass


@pair("if c: (s; t)  =  if c: s; if c: t", "s does not change c")
def split_guard(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, If) and stmt.other == SKIP and isinstance(stmt.then, Seq) and stmt.then != SKIP:
        first, *others = flat(stmt.then)
        if not careful or apart(first, stmt.cond):
            yield seq(If(stmt.cond, first, SKIP), If(stmt.cond, seq(*others), SKIP))


@pair("if c: s  =  s", "c always holds here")
def drop_guard(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, If) and stmt.other == SKIP and (not careful or here.truth(stmt.cond) is True):
        yield stmt.then


# Stores ---------------------------------------------------------------------------------------------------------------


@pair("s; s  =  s", "s does not depend on what it writes")
def once(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [s, t, rest] if s == t and (not careful or idempotent(s)):
            yield seq(s, *rest)
        case _:
            pass


@pair("A[i] = e; A[i] = d  =  A[i] = d", "d does not read A")
def overwritten(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store() as t, rest] if same_place(s, t) and (not careful or idempotent(t)):
            yield seq(t, *rest)
        case _:
            pass


@pair("A[i] = e; A[j] = d  =  A[j] = d", "i is j")
def overwritten_elsewhere(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store() as t, rest] if s.buffer == t.buffer and idempotent(t):
            if not careful or same_place(s, t):
                yield seq(t, *rest)
        case _:
            pass


@pair("A[i] = e; if c: A[i] = d  =  if c: A[i] = d", "c always holds here")
def overwritten_under_guard(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, If(cond=c, then=Store() as t, other=o) as guarded, rest] if o == SKIP and same_place(s, t):
            if idempotent(t) and apart(s, c) and (not careful or here.truth(c) is True):
                yield seq(guarded, *rest)
        case _:
            pass


@pair("A[i] = e; s; A[i] = d  =  s; A[i] = d", "s and d do not read A, and s does not write A")
def overwritten_after_another(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [Store() as s, between, Store() as t, *rest] if same_place(s, t):
            moved = apart(between, *t.indices)
            if not careful or (apart(s, between) and idempotent(t) and moved):
                yield seq(between, t, *rest)
        case _:
            pass


@pair("A[i] = A[j]  =  skip", "i is j")
def store_back(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case Store(buffer=a, indices=i, value=Load(buffer=b, indices=j)) if a == b and (not careful or i == j):
            yield SKIP
        case _:
            pass


@pair("A[i] = e; B[j] = A[i]  =  A[i] = e; B[j] = e", "e does not read A")
def forward_stored(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store(value=Load(buffer=b, indices=k)) as t, rest] if b == s.buffer and k == s.indices:
            if not careful or idempotent(s):
                yield seq(s, replace(t, value=s.value), *rest)
        case _:
            pass


@pair("A[i] = e; B[j] = A[k]  =  A[i] = e; B[j] = e", "i is k")
def forward_any_element(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store(value=Load(buffer=b, indices=k)) as t, rest] if b == s.buffer and idempotent(s):
            if not careful or k == s.indices:
                yield seq(s, replace(t, value=s.value), *rest)
        case _:
            pass


@pair("A[i] = e; s; B[j] = A[i]  =  A[i] = e; s; B[j] = e", "s writes neither A nor what e reads")
def forward_across(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match list(flat(stmt)) if isinstance(stmt, Seq) else []:
        case [Store() as s, between, Store(value=Load(buffer=b, indices=k)) as t, *rest] if b == s.buffer:
            kept = s.buffer not in buffers_written(between) and apart(between, *s.indices, s.value)
            if k == s.indices and idempotent(s) and (not careful or kept):
                yield seq(s, between, replace(t, value=s.value), *rest)
        case _:
            pass


@pair("A[i] = e; B[j] = e  =  A[i] = e; B[j] = A[i]", "e does not read A")
def copy_stored(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store() as t, rest] if s.value.same(t.value) and not isinstance(s.value, Const):
            if s.buffer.dtype is t.buffer.dtype and (not careful or idempotent(s)):
                yield seq(s, replace(t, value=Load(s.buffer, s.indices)), *rest)
        case _:
            pass


@pair("A[i] = B[j]; B[j] = A[i]  =  A[i] = B[j]", "i and j do not read A")
def copy_there_and_back(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=Load() as from_b) as s, Store(value=Load() as from_a) as t, rest]:
            back = from_a.same(Load(s.buffer, s.indices)) and from_b.same(Load(t.buffer, t.indices))
            if back and s.buffer != t.buffer and (not careful or apart(s, *s.indices, *t.indices)):
                yield seq(s, *rest)
        case _:
            pass


@pair("A[i] = e; B[j] = d  =  B[j] = d; A[i] = e", "neither reads what the other writes")
def exchange_stores(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store() as t, rest] if s.buffer != t.buffer and (not careful or independent(s, t)):
            yield seq(t, s, *rest)
        case _:
            pass


@pair("A[i] = e; A[j] = d  =  A[j] = d; A[i] = e", "i and j are different numbers")
def exchange_stores_of_one_buffer(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store() as t, rest] if s.buffer == t.buffer and idempotent(s) and idempotent(t):
            numbers = all(isinstance(i, Const) for i in (*s.indices, *t.indices))
            if s.indices != t.indices and (not careful or numbers):
                yield seq(t, s, *rest)
        case _:
            pass


@pair("A[i] = e; for j: s  =  for j: s; A[i] = e", "the loop, its bounds included, does not read A")
def exchange_store_and_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, For() as t, rest] if s.buffer not in buffers_written(t) and apart(t, s):
            if not careful or apart(s, t):
                yield seq(t, s, *rest)
        case _:
            pass


# Updates --------------------------------------------------------------------------------------------------------------


def updates(stmt: Stmt, op: str) -> tuple[Store, Expr] | None:
    """`A[i] = A[i] op e` as the store and e."""
    match stmt:
        case Store(buffer=a, indices=i, value=Binary(op=found, lhs=Load(buffer=b, indices=j), rhs=e)) as store:
            return (store, e) if found == op and a == b and i == j else None
        case _:
            return None


def two_updates(stmt: Stmt, op: str) -> tuple[Store, Expr, Store, Expr, tuple[Stmt, ...]] | None:
    parts = both(stmt)
    first, second = (updates(parts[0], op), updates(parts[1], op)) if parts is not None else (None, None)
    if parts is None or first is None or second is None or not same_place(first[0], second[0]):
        return None
    return *first, *second, parts[2]


@pair("A[i] = A[i] + a; A[i] = A[i] + b  =  A[i] = A[i] + (a + b)", "the sums wrap, or stay inside their dtype")
def merge_sums(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    found = two_updates(stmt, "add")
    if found is not None:
        s, a, _, b, rest = found
        wraps = s.buffer.dtype.is_integer and not s.buffer.dtype.is_signed
        if s.buffer.dtype.is_integer and apart(s, b, *s.indices) and (not careful or wraps):
            yield seq(replace(s, value=Load(s.buffer, s.indices) + (a + b)), *rest)


@pair("A[i] = A[i] + a; A[i] = A[i] + b  =  A[i] = A[i] + (a + b)   for unsigned A", "b does not read A")
def merge_sums_of_own(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    found = two_updates(stmt, "add")
    if found is not None:
        s, a, _, b, rest = found
        wraps = s.buffer.dtype.is_integer and not s.buffer.dtype.is_signed
        if wraps and (not careful or apart(s, b, *s.indices)):
            yield seq(replace(s, value=Load(s.buffer, s.indices) + (a + b)), *rest)


@pair("A[i] = A[i] + a; A[i] = A[i] + b  =  A[i] = A[i] + b; A[i] = A[i] + a", "a and b do not read A, and sums wrap")
def exchange_sums(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    found = two_updates(stmt, "add")
    if found is not None:
        s, a, t, b, rest = found
        wraps = s.buffer.dtype.is_integer and not s.buffer.dtype.is_signed
        if not careful or (wraps and apart(s, a, b, *s.indices)):
            yield seq(t, s, *rest)


@pair("A[i] = max(A[i], a); A[i] = max(A[i], b)  =  A[i] = max(A[i], max(a, b))", "b does not read A")
def merge_maxima(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    found = two_updates(stmt, "max")
    if found is not None:
        s, a, _, b, rest = found
        if s.buffer.dtype.is_integer and (not careful or apart(s, b, *s.indices)):
            largest = Binary("max", Load(s.buffer, s.indices), Binary("max", a, b))
            yield seq(replace(s, value=largest), *rest)


@pair("for i: A[k] = A[k] + e(i)  =  for i: A[k] = A[k] + e(n - 1 - i)", "sums wrap")
def sum_backwards(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    found = updates(stmt.body, "add") if isinstance(stmt, For) else None
    if isinstance(stmt, For) and found is not None and fixed_bounds(stmt):
        s, e = found
        wraps = not s.buffer.dtype.is_signed
        single = s.buffer.dtype.is_integer and apart(s, e, *s.indices)
        if single and not any(uses(i, stmt.var) for i in s.indices) and (not careful or wraps):
            yield backwards(stmt)


@pair("for i: A[k] = A[k] + e(i)  =  for i: A[k] = A[k] + e(n - 1 - i)   for unsigned A", "e does not read A")
def sum_of_own_backwards(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    found = updates(stmt.body, "add") if isinstance(stmt, For) else None
    if isinstance(stmt, For) and found is not None and fixed_bounds(stmt):
        s, e = found
        wraps = s.buffer.dtype.is_integer and not s.buffer.dtype.is_signed
        if wraps and not any(uses(i, stmt.var) for i in s.indices) and (not careful or apart(s, e, *s.indices)):
            yield backwards(stmt)


def backwards(loop: For) -> For:
    mirrored = loop.start + loop.start + loop.extent - 1 - loop.var
    return replace(loop, body=substitute(loop.body, {loop.var: mirrored}))


# Bindings -------------------------------------------------------------------------------------------------------------


@pair("let v = e: (s; t)  =  s; let v = e: t", "s does not change e")
def bind_later(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, Let) and isinstance(stmt.body, Seq) and stmt.body != SKIP:
        first, *others = flat(stmt.body)
        if not uses(first, stmt.var) and (not careful or apart(first, stmt.value)):
            yield seq(first, replace(stmt, body=seq(*others)))


@pair("s; let v = e: t  =  let v = e: (s; t)", "s does not change e")
def bind_earlier(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [s, Let(value=e, body=t) as let, rest] if not careful or apart(s, e):
            yield seq(replace(let, body=seq(s, t)), *rest)
        case _:
            pass


@pair("let v = e: s  =  s with e for v", "e reads nothing and is not undef")
def inline_across_stores(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, Let) and (not careful or here.decided(stmt.value)):
        yield substitute(stmt.body, {stmt.var: stmt.value})


@pair("A[i] = e; B[j] = e  =  let v = e: A[i] = v; B[j] = v", "e reads nothing and is not undef")
def share_value(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=e) as s, Store(value=d) as t, rest] if e.same(d) and (not careful or here.decided(e)):
            v = Var("shared", e.dtype)
            yield seq(Let(v, e, seq(replace(s, value=v), replace(t, value=v))), *rest)
        case _:
            pass


# Loops ----------------------------------------------------------------------------------------------------------------


@pair("for i in n: s  =  s   where n >= 1 and s does not mention i", "s does not depend on what it writes")
def repeat_once(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and not uses(stmt.body, stmt.var) and at_least_once(stmt, here):
        yield from () if careful and not idempotent(stmt.body) else (stmt.body,)


@pair("for i in n: s  =  s   where s is idempotent and does not mention i", "n >= 1")
def repeat_perhaps_never(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and not uses(stmt.body, stmt.var) and idempotent(stmt.body):
        yield from () if careful and not at_least_once(stmt, here) else (stmt.body,)


@pair("for i in n: (s; t)  =  s; for i in n: t   where n >= 1", "s is idempotent, and t changes nothing of it")
def hoist_statement(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Seq) and stmt.body != SKIP and at_least_once(stmt, here):
        first, *others = flat(stmt.body)
        rest = seq(*others)
        alone = idempotent(first) and apart(rest, first) and buffers_written(first).isdisjoint(buffers_written(rest))
        if not uses(first, stmt.var) and (not careful or (alone and apart(first, stmt.start, stmt.extent))):
            yield seq(first, replace(stmt, body=rest))


@pair("for i: A[i] = e; for i: A[i] = d  =  for i: A[i] = d", "d does not read A")
def overwritten_by_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For(body=Store() as s) as one, For(body=Store() as t) as other, rest] if same_bounds(one, other):
            there = replace(s, indices=tuple(substitute_expr(i, {one.var: other.var}) for i in s.indices))
            if same_place(there, t) and (not careful or (idempotent(t) and apart(s, other))):
                yield seq(other, *rest)
        case _:
            pass


def same_bounds(one: For, other: For) -> bool:
    return one.start.same(other.start) and one.extent.same(other.extent)


@pair("for i: s; for i: s  =  for i: s", "s does not depend on what it writes")
def same_loop_twice(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For(body=s) as one, For() as other, rest] if one == other:
            if not careful or (idempotent(s) and apart(s, one)):
                yield seq(one, *rest)
        case _:
            pass


@pair("for i: s; for i: t  =  for i: (s; t)   where t changes nothing for s", "s writes nothing t reads")
def fuse(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For(body=s) as one, For(body=t) as other, rest] if same_bounds(one, other) and apart(t, one):
            separate = buffers_written(s).isdisjoint(buffers_written(t))
            if separate and (not careful or apart(s, other)):
                yield seq(replace(one, body=seq(s, substitute(t, {other.var: one.var}))), *rest)
        case _:
            pass


@pair("for i in n: s; for i in n: t  =  for i in n: (s; t)   where s and t are independent", "s does not change n")
def fuse_whatever_the_bounds(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For(body=s) as one, For(body=t) as other, rest] if same_bounds(one, other) and independent(s, t):
            if not careful or apart(s, one.start, one.extent):
                yield seq(replace(one, body=seq(s, substitute(t, {other.var: one.var}))), *rest)
        case _:
            pass


@pair("for i: (s; t)  =  for i: s; for i: t   where t writes nothing that s reads", "s writes nothing that t reads")
def distribute(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Seq) and stmt.body != SKIP:
        first, *others = flat(stmt.body)
        rest = seq(*others)
        if apart(rest, first) and (not careful or (independent(first, rest) and apart(first, stmt.start, stmt.extent))):
            yield seq(replace(stmt, body=first), replace(stmt, body=rest))


@pair("for i in n: (s; t)  =  for i in n: s; for i in n: t   where s and t are independent", "s does not change n")
def distribute_whatever_the_bounds(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Seq) and stmt.body != SKIP:
        first, *others = flat(stmt.body)
        rest = seq(*others)
        if independent(first, rest) and (not careful or apart(first, stmt.start, stmt.extent)):
            yield seq(replace(stmt, body=first), replace(stmt, body=rest))


@pair("for i: A[e(i)] = d(i)  =  for i: A[e(n - 1 - i)] = d(n - 1 - i)", "no two iterations write one element")
def reverse_writes(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Store) and idempotent(stmt.body) and fixed_bounds(stmt):
        own = any(i.same(stmt.var) for i in stmt.body.indices)
        yield from () if careful and not own else (backwards(stmt),)


@pair("for i: A[i] = e(i)  =  for i: A[n - 1 - i] = e(n - 1 - i)", "e does not read A")
def reverse_reads(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and isinstance(stmt.body, Store) and fixed_bounds(stmt):
        own = any(i.same(stmt.var) for i in stmt.body.indices)
        if own and (not careful or idempotent(stmt.body)):
            yield backwards(stmt)


@pair("for i: for j: A[..] = e  =  for j: for i: A[..] = e", "each iteration writes its own element")
def interchange_writes(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=For(body=Store() as s) as inner) as outer if idempotent(s):
            bounds = (inner.start, inner.extent)
            if any(uses(b, outer.var) for b in bounds) or not all(map(here.decided, bounds)) or not fixed_bounds(outer):
                return
            own = all(any(i.same(v) for i in s.indices) for v in (outer.var, inner.var))
            if not careful or own:
                yield replace(inner, body=replace(outer, body=s))
        case _:
            pass


@pair("for i: for j: A[..] = e  =  for j: for i: A[..] = e   where the loops' bounds have values", "e does not read A")
def interchange_reads(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=For(body=Store() as s) as inner) as outer:
            bounds = (inner.start, inner.extent)
            if any(uses(b, outer.var) for b in bounds) or not all(map(here.decided, bounds)) or not fixed_bounds(outer):
                return
            own = all(any(i.same(v) for i in s.indices) for v in (outer.var, inner.var))
            if not careful or (own and idempotent(s)):
                yield replace(inner, body=replace(outer, body=s))
        case _:
            pass


@pair("for i in n: s(i)  =  for i in n // 2: s(2 * i); s(2 * i + 1)", "n is even")
def unroll_by_two(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and not has_loads(stmt.start):
        count = here.constant(stmt.extent)
        if not careful or (count is not None and count % 2 == 0):
            first = stmt.start + stmt.var * 2
            steps = (substitute(stmt.body, {stmt.var: at}) for at in (first, first + 1))
            yield For(stmt.var, const(0, stmt.var.dtype), stmt.extent // 2, seq(*steps))


@pair("for i in n: s(i)  =  s(0); for i in n - 1: s(i + 1)", "n >= 1")
def peel_first(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and fixed_bounds(stmt) and (not careful or at_least_once(stmt, here)):
        rest = replace(stmt, start=stmt.start + 1, extent=stmt.extent - 1)
        yield seq(substitute(stmt.body, {stmt.var: stmt.start}), rest)


@pair("for i in a .. b: s(i)  =  for i in a .. b - 1: s(i); s(b - 1)   where a < b", "s does not change the bounds")
def peel_last(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and at_least_once(stmt, here) and (not careful or fixed_bounds(stmt)):
        last = stmt.start + stmt.extent - 1
        yield seq(replace(stmt, extent=stmt.extent - 1), substitute(stmt.body, {stmt.var: last}))


@pair("for i in n: s(i)  =  for i in (n + 1) // 2: for j in 2: s(2 * i + j)", "2 * i + j < n guards s")
def strip_mine(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and fixed_bounds(stmt):
        lane = Var("lane", stmt.var.dtype)
        step = stmt.var * 2 + lane
        body = substitute(stmt.body, {stmt.var: stmt.start + step})
        body = If(step < stmt.extent, body, SKIP) if careful else body
        zero, two = const(0, stmt.var.dtype), const(2, stmt.var.dtype)
        yield For(stmt.var, zero, (stmt.extent + 1) // 2, For(lane, zero, two, body))


@pair("for i in n: for j in m: s(i, j)  =  for k in n * m: s(k // m, k % m)", "n and m are numbers")
def coalesce(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(start=Const(value=0), body=For(start=Const(value=0)) as inner) as outer if not uses(
            inner.extent, outer.var
        ):
            if not careful or (isinstance(outer.extent, Const) and isinstance(inner.extent, Const)):
                parts = {outer.var: outer.var // inner.extent, inner.var: outer.var % inner.extent}
                yield replace(outer, extent=outer.extent * inner.extent, body=substitute(inner.body, parts))
        case _:
            pass


@pair("for i in n: if i < k: s  =  for i in k: s", "k <= n")
def guard_as_bound(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(start=Const(value=0), body=If(cond=Binary(op="lt", lhs=i, rhs=k), then=s, other=o)) as loop:
            fixed = not has_loads(k) and loop.var not in free_vars(k)
            if i.same(loop.var) and o == SKIP and fixed and (not careful or here.truth(k <= loop.extent) is True):
                yield replace(loop, extent=k, body=s)
        case _:
            pass


@pair("for i: if c: s else: t  =  if c: for i: s else: for i: t", "evaluating c cannot fault")
def unswitch_with_else(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=If(cond=c, then=s, other=t) as branch) as loop if not uses(c, loop.var) and apart(branch, c):
            if not careful or here.decided(c):
                yield If(c, replace(loop, body=s), replace(loop, body=t))
        case _:
            pass


@pair("if c: for i: s  =  for i: if c: s", "s does not change c, and the bounds cannot fault")
def sink_guard(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=For(start=a, extent=n, body=s) as loop, other=o) if o == SKIP:
            if not careful or (apart(s, c) and here.decided(a) and here.decided(n)):
                yield replace(loop, body=If(c, s, SKIP))
        case _:
            pass


@pair("for i: A[j] = e  =  let v = e: for i: A[j] = v   where e does not read A", "e cannot fault and is not undef")
def hoist_value(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Store(value=e) as s) as loop if not uses(e, loop.var) and apart(s, e):
            if not careful or here.decided(e):
                v = Var("hoisted", e.dtype)
                yield Let(v, e, replace(loop, body=replace(s, value=v)))
        case _:
            pass


@pair("for i in n: A[j] = e  =  let v = e: for i in n: A[j] = v   where n >= 1", "e does not read A and is not undef")
def hoist_own_value(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Store(value=e) as s) as loop if not uses(e, loop.var) and at_least_once(loop, here):
            if not careful or here.decided(e):
                v = Var("hoisted", e.dtype)
                yield Let(v, e, replace(loop, body=replace(s, value=v)))
        case _:
            pass


@pair("A[i] = k; for j in n: s  =  for j in n: (if j == 0: A[i] = k; s)", "n >= 1")
def sink_initialisation(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as init, For(start=Const() as first, body=s) as loop, rest] if apart(init, loop.extent):
            if not careful or at_least_once(loop, here):
                body = seq(If(Binary("eq", loop.var, first), init, SKIP), s)
                yield seq(replace(loop, body=body), *rest)
        case _:
            pass


@pair("for i in n: A[k] = e(i)  =  A[k] = e(n - 1)   where n >= 1", "e does not read A")
def last_iteration(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Store() as s) as loop if fixed_bounds(loop) and at_least_once(loop, here):
            if not any(uses(i, loop.var) for i in s.indices) and (not careful or idempotent(s)):
                yield substitute(s, {loop.var: loop.start + loop.extent - 1})
        case _:
            pass


@pair("for i in a .. a + n: s(i)  =  for i in n: s(i + a)", "s does not change a")
def loop_from_zero(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    if isinstance(stmt, For) and not isinstance(stmt.start, Const) and (not careful or not has_loads(stmt.start)):
        body = substitute(stmt.body, {stmt.var: stmt.var + stmt.start})
        yield replace(stmt, start=const(0, stmt.var.dtype), body=body)


@pair("alloc L: for i: s  =  for i: alloc L: s", "no iteration reads what another one left in L")
def local_into_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case Alloc(buffer=local, body=For() as loop) if local not in reads(loop.start, loop.extent):
            if not careful or local not in reads(loop):
                yield replace(loop, body=Alloc(local, loop.body))
        case _:
            pass


@pair("for i: alloc L: s  =  alloc L: for i: s", "no iteration reads what another one left in L")
def local_out_of_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Alloc(buffer=local, body=s)) as loop if not careful or local not in reads(s):
            yield Alloc(local, replace(loop, body=s))
        case _:
            pass


# Assumptions and undef ------------------------------------------------------------------------------------------------


@pair("s; assume(c)  =  assume(c); s", "s does not change c")
def assume_earlier(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [s, Assume(cond=c) as claim, rest] if not careful or apart(s, c):
            yield seq(claim, s, *rest)
        case _:
            pass


@pair("assume(c); s  =  s; assume(c)", "s does not change c")
def assume_later(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Assume(cond=c) as claim, s, rest] if not careful or apart(s, c):
            yield seq(s, claim, *rest)
        case _:
            pass


@pair("assert c; s  =  s; assert c", "s does not change c")
def assert_later(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Assert(cond=c) as claim, s, rest] if not careful or apart(s, c):
            yield seq(s, claim, *rest)
        case _:
            pass


@pair("for i in n: (assume(c); s)  =  assume(c); for i in n: s   where s does not change c", "n >= 1")
def assume_before_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Seq() as body) as loop if body != SKIP:
            claim, *others = flat(body)
            fixed = isinstance(claim, Assume) and not uses(claim, loop.var) and apart(body, claim)
            if fixed and (not careful or at_least_once(loop, here)):
                yield seq(claim, replace(loop, body=seq(*others)))
        case _:
            pass


@pair("for i in n: (assume(c); s)  =  assume(c); for i in n: s   where n >= 1", "s does not change c")
def assume_once(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Seq() as body) as loop if body != SKIP and at_least_once(loop, here):
            claim, *others = flat(body)
            if isinstance(claim, Assume) and not uses(claim, loop.var) and (not careful or apart(body, claim)):
                yield seq(claim, replace(loop, body=seq(*others)))
        case _:
            pass


@pair("if c: (assume(d); s)  =  assume(d); if c: s", "d is assumed only where c holds")
def assume_before_branch(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=Seq() as then, other=o) if then != SKIP and o == SKIP:
            claim, *others = flat(then)
            if isinstance(claim, Assume):
                cond = Binary("or", negated(c), claim.cond) if careful else claim.cond
                yield seq(Assume(cond), If(c, seq(*others), SKIP))
        case _:
            pass


@pair("A[i] = undef; s  =  s", "s writes A[i] and does not read A")
def drop_undef_store(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=Undef()) as s, t, rest]:
            if not careful or (isinstance(t, Store) and same_place(s, t) and idempotent(t)):
                yield seq(t, *rest)
        case _:
            pass


@pair("if c: A[i] = undef else: A[i] = e  =  A[i] = e", "undef is stored where c holds")
def drop_undef_arm(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=Store(value=Undef() as u) as s, other=Store() as t) if same_place(s, t):
            yield replace(t, value=Select(c, u, t.value)) if careful else t
        case _:
            pass


@pair("A[i] = undef; B[j] = A[k]  =  A[i] = undef; B[j] = undef", "i is k")
def forward_undef(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=Undef() as u) as s, Store(value=Load(buffer=b, indices=k)) as t, rest] if b == s.buffer:
            if not careful or (k == s.indices and idempotent(s)):
                yield seq(s, replace(t, value=u), *rest)
        case _:
            pass


# Expressions of statements --------------------------------------------------------------------------------------------


@expr_pair("select(c, a, 0)  =  cast(c) * a", "evaluating a cannot fault where c is false")
def select_to_product(expr: Expr, here: Here, careful: bool) -> Iterator[Expr]:
    match expr:
        case Select(cond=c, then=a, other=Const(value=0)) if a.dtype.is_integer and (not careful or here.decided(a)):
            yield Cast(a.dtype, c) * a
        case _:
            pass


@expr_pair("c and d  =  d and c", "evaluating d cannot fault where c is false")
def and_commutes(expr: Expr, here: Here, careful: bool) -> Iterator[Expr]:
    match expr:
        case Binary(op="and", lhs=c, rhs=d) if not careful or here.decided(d):
            yield Binary("and", d, c)
        case _:
            pass


@expr_pair("A[i]  =  A[min(i, n - 1)]   where A has n elements", "A[i] is inside A")
def clamp_load(expr: Expr, here: Here, careful: bool) -> Iterator[Expr]:
    match expr:
        case Load(buffer=a, indices=[i]) if isinstance(a.shape[0], Const) and i.dtype is DType.INT32:
            if not isinstance(i, Const) and (not careful or here.in_bounds(a, (i,))):
                yield replace(expr, indices=(Binary("min", i, a.shape[0] - 1),))
        case _:
            pass


@expr_pair("x % k  =  x   where x < k", "x >= 0")
def small_remainder(expr: Expr, here: Here, careful: bool) -> Iterator[Expr]:
    match expr:
        case Binary(op="floormod", lhs=x, rhs=Const(value=k) as by) if k > 0 and here.truth(x < by) is True:
            if not careful or here.truth(x >= 0) is True:
                yield x
        case _:
            pass
