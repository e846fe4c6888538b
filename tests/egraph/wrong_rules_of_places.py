"""More plausible rules over statements, wrong for what is written where: aliases, loops that do not run, undef, faults.

As in `wrong_statement_rules`, whose list they join: each without its condition and with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from wrong_statement_rules import (
    apart,
    at_least_once,
    both,
    fixed_bounds,
    idempotent,
    independent,
    pair,
    same_place,
    updates,
    uses,
)

from egraph_rules.authoring.proposal import Here
from ir.nodes import (
    SKIP,
    Assume,
    Binary,
    Cast,
    Const,
    For,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Undef,
    Var,
    binary,
    const,
    seq,
)
from ir.traverse import has_loads, map_expr, substitute_expr


def element(store: Store) -> Load:
    return Load(store.buffer, store.indices)


@pair("if A[i] == v: A[j] = v  =  skip", "i is j, and A[i] and v are defined")
def store_of_what_is_there(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=Binary(op="eq", lhs=Load() as a, rhs=v) as c, then=Store(value=w) as s, other=o):
            same = o == SKIP and a.buffer == s.buffer and v.same(w) and v.dtype.is_integer
            there = a.same(element(s)) and here.decided(c) and here.in_bounds(s.buffer, s.indices)
            if same and (not careful or there):
                yield SKIP
        case _:
            pass


@pair("A[i] = e; if A[i] == e: s  =  A[i] = e; s   for integers", "e reads no A and is defined")
def just_stored(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=e) as s, If(cond=Binary(op="eq", lhs=a, rhs=d), then=t, other=o), rest]:
            same = o == SKIP and a.same(element(s)) and d.same(e) and e.dtype.is_integer
            if same and (not careful or (idempotent(s) and here.decided(e))):
                yield seq(s, t, *rest)
        case _:
            pass


@pair("for i in n: if i == k: A[i] = e(i)  =  A[k] = e(k)", "0 <= k < n, which nothing changes")
def the_one_iteration(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(var=i, body=If(cond=Binary(op="eq", lhs=Var() as j, rhs=k), then=Store() as s, other=o)) as loop:
            if o == SKIP and j.same(i) and not uses(k, i) and loop.start.same(const(0, i.dtype)):
                inside = not has_loads(k) and fixed_bounds(loop)
                if not careful or (inside and here.truth((k >= 0) & (k < loop.extent)) is True):
                    names = {i: k}
                    places = tuple(substitute_expr(e, names) for e in s.indices)
                    yield Store(s.buffer, places, substitute_expr(s.value, names))
        case _:
            pass


@pair("A[i] = min(A[i], a); A[i] = max(A[i], b)  =  A[i] = max(A[i], b); A[i] = min(A[i], a)", "b <= a, numbers")
def exchange_clamps(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [one, other, rest]:
            low, high = updates(one, "min"), updates(other, "max")
            if low is not None and high is not None and same_place(low[0], high[0]):
                a, b = low[1], high[1]
                ordered = isinstance(a, Const) and isinstance(b, Const) and here.truth(b <= a) is True
                if not careful or (ordered and _plain(low[0])):
                    yield seq(other, one, *rest)
        case _:
            pass


def _plain(store: Store) -> bool:
    return not any(map(has_loads, store.indices))


@pair("A[i] = e; B[j] = A[i]  =  B[j] = e; A[i] = e", "neither reads what the other one writes, and e is defined")
def stored_elsewhere_first(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store(value=value) as t, rest] if value.same(element(s)):
            new = replace(t, value=s.value)
            if not careful or (independent(s, new) and here.decided(s.value) and idempotent(s)):
                yield seq(new, s, *rest)
        case _:
            pass


@pair("(for i in n: s); t  =  for i in n: (s; t)", "n is 1")
def statement_into_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For() as loop, Store() as t, rest] if not uses(t, loop.var):
            if not careful or (here.truth(binary("eq", loop.extent, 1)) is True and fixed_bounds(loop)):
                yield seq(replace(loop, body=seq(loop.body, t)), *rest)
        case _:
            pass


@pair("for i in n: (if i == 0: s); t  =  s; for i in n: t", "n >= 1, and s does not change n")
def initialisation_before_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(var=i, body=body) as loop if loop.start.same(const(0, i.dtype)):
            match both(body):
                case [If(cond=Binary(op="eq", lhs=j, rhs=Const(value=0)), then=Store() as s, other=o), t, rest]:
                    same = j.same(i) and o == SKIP and not uses(s, i)
                    if same and (not careful or (at_least_once(loop, here) and fixed_bounds(loop))):
                        yield seq(s, replace(loop, body=seq(t, *rest)))
                case _:
                    pass
        case _:
            pass


@pair("A[i] = e  =  if A[i] != e: A[i] = e   for integers", "e and A[i] are defined")
def store_if_other(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case Store(value=e) as s if e.dtype.is_integer and not isinstance(e, Undef):
            cond = Binary("ne", element(s), e)
            if not careful or (here.decided(cond) and here.in_bounds(s.buffer, s.indices)):
                yield If(cond, s, SKIP)
        case _:
            pass


@pair("A[i] = e; B[A[i]] = d  =  A[i] = e; B[e] = d", "e reads no A")
def forward_into_index(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=e) as s, Store(indices=[index]) as t, rest] if index.same(element(s)):
            if not careful or (idempotent(s) and here.decided(e)):
                yield seq(s, replace(t, indices=(e,)), *rest)
        case _:
            pass


@pair("for i in n: A[k] = A[k] + a  =  A[k] = A[k] + n * a   for unsigned A", "a reads no A, and n >= 0")
def sum_of_equals(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Store(buffer=b) as s) as loop if b.dtype.is_integer and not b.dtype.is_signed:
            found = updates(s, "add")
            if found is not None and not uses(s, loop.var):
                whole = binary("mul", Cast(b.dtype, loop.extent), found[1])
                steady = apart(s, found[1], *s.indices) and fixed_bounds(loop) and here.in_bounds(b, s.indices)
                if not careful or (steady and at_least_once(loop, here) and here.decided(found[1])):
                    yield replace(s, value=element(s) + whole)
        case _:
            pass


@pair("for i in n: A[k] = max(A[k], a)  =  A[k] = max(A[k], a)", "n >= 1, and a reads no A")
def maximum_of_equals(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Store() as s) as loop if not uses(s, loop.var):
            found = updates(s, "max")
            if found is not None and s.buffer.dtype.is_integer:
                steady = apart(s, found[1], *s.indices) and fixed_bounds(loop)
                if not careful or (steady and at_least_once(loop, here) and here.decided(found[1])):
                    yield s
        case _:
            pass


@pair("if c: (A[i] = e; B[j] = d)  =  A[i] = select(c, e, A[i]); B[j] = select(c, d, B[j])", "c reads no A")
def two_guarded_stores(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case If(cond=c, then=then, other=o) if o == SKIP:
            match both(then):
                case [Store() as s, Store() as t, ()]:
                    inside = all(here.in_bounds(x.buffer, x.indices) for x in (s, t))
                    if not careful or (inside and apart(s, c, *t.indices) and here.decided(c)):
                        yield seq(*(replace(x, value=Select(c, x.value, element(x))) for x in (s, t)))
                case _:
                    pass
        case _:
            pass


@pair("A[i] = e; A[i] = max(A[i], d)  =  A[i] = max(e, d)", "d reads no A")
def store_and_maximum(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store() as s, Store() as t, rest] if same_place(s, t):
            found = updates(t, "max")
            if found is not None and (not careful or apart(s, found[1], *s.indices)):
                yield seq(replace(s, value=binary("max", s.value, found[1])), *rest)
        case _:
            pass


@pair(
    "for i in n: s; for i in m: s  =  for i in n + m: s   where s does not mention i", "neither is negative or changed"
)
def loops_in_a_row(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For() as one, For() as two, rest] if one.body == two.body and one.var.same(two.var):
            if not uses(one.body, one.var) and one.start.same(two.start):
                counted = all(fixed_bounds(x) and here.truth(x.extent >= 0) is True for x in (one, two))
                total = one.extent + two.extent
                if not careful or (counted and here.decided(total)):
                    yield seq(replace(one, extent=total), *rest)
        case _:
            pass


@pair("for i in n: A[i] = e; for i in m: A[i] = e  =  for i in max(n, m): A[i] = e", "e reads no A, nor n and m")
def loops_that_overlap(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For(body=Store() as s) as one, For(body=Store() as t) as two, rest] if s == t and one.var.same(two.var):
            if one.start.same(two.start):
                steady = idempotent(s) and fixed_bounds(one) and fixed_bounds(two)
                if not careful or steady:
                    yield seq(replace(one, extent=binary("max", one.extent, two.extent)), *rest)
        case _:
            pass


@pair("A[i] = undef; if c: A[i] = e  =  A[i] = e", "c always holds")
def guard_after_undef(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [Store(value=Undef()) as s, If(cond=c, then=Store() as t, other=o), rest] if o == SKIP and same_place(
            s, t
        ):
            if not careful or (here.truth(c) is True and idempotent(t) and not has_loads(c) and _plain(t)):
                yield seq(t, *rest)
        case _:
            pass


@pair("for i in n: A[i] = undef  =  skip", "n <= 0")
def drop_undef_loop(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match stmt:
        case For(body=Store(value=Undef())) as loop if not careful or here.truth(loop.extent <= 0) is True:
            yield SKIP
        case _:
            pass


@pair("assume(A[i] == k); s; B[j] = A[i]  =  assume(A[i] == k); s; B[j] = k", "s does not write A, nor what i reads")
def known_after_another(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [
            Assume(cond=Binary(op="eq", lhs=Load() as a, rhs=Const() as k)) as known,
            s,
            (Store(value=v) as t, *rest),
        ]:
            if v.same(a) and k.dtype.is_integer and (not careful or apart(s, a)):
                yield seq(known, s, replace(t, value=k), *rest)
        case _:
            pass


@pair("if c: s; t  =  if c: (s; t)", "c always holds here")
def statement_under_guard(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [If(cond=c, then=s, other=o), Store() as t, rest] if o == SKIP:
            if not careful or here.truth(c) is True:
                yield seq(If(c, seq(s, t), SKIP), *rest)
        case _:
            pass


@pair("for i in n: A[i] = e; for i in n: t  =  for i in n: (A[i] = e; t)   where e reads no A", "t reads no A but A[i]")
def consumer_into_producer(stmt: Stmt, here: Here, careful: bool) -> Iterator[Stmt]:
    match both(stmt):
        case [For(var=i, body=Store() as s) as one, For(var=j, body=Store() as t) as two, rest]:
            same = i.same(j) and one.start.same(two.start) and one.extent.same(two.extent) and idempotent(s)
            own = map_expr(t.value, lambda e: const(0, e.dtype) if e.same(element(s)) and s.indices == (i,) else e)
            moved = Store(t.buffer, t.indices, own)
            if same and fixed_bounds(one) and (not careful or independent(s, moved)):
                yield seq(replace(one, body=seq(s, t)), *rest)
        case _:
            pass
