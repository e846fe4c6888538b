"""Bindings: names put in place of what they stand for, dropped, and introduced for what is computed more than once.

What is bound here reads no buffer and is never undef: a binding freezes undef, and two readings of an element that is
undef may differ, so that a name and what it stands for would not be equal. Naming or un-naming a value of variables
alone changes nothing but where it is evaluated, so it remains to see that evaluating it there cannot fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Assert,
    Assume,
    Binary,
    Block,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    const,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.facts import bound_to
from ir.traverse import (
    always_evaluated,
    bound_var,
    children,
    free_vars,
    is_fixed,
    node_count,
    rebuilt,
    stmt_children,
    stmt_exprs,
    substitute,
    walk,
    walk_expr,
    without_names,
)
from ir.traverse import with_children as with_operands


@rewrite(
    law="let v = e: s  =  s with e for v   where e reads nothing, and cannot fault unless s does",
    because="v is e wherever s uses it",
    family="let",
)
def inline(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Put values in place of their names: those of a binding, and of all bindings inside it that allow it."""
    yield from _without_names(stmt, here, lambda value: True)


@rewrite(
    law="let v = e: s  =  s with e for v   where e is an integer or a truth that reads nothing, and cannot fault",
    because="v is e wherever s uses it",
    family="let",
    settles=lambda stmt, _new, _instructs: isinstance(stmt, Let) and isinstance(stmt.value, (Var, Const)),
)
def inline_index(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """As `inline`, for what indices and conditions are made of: names for other work are worth their place."""
    yield from _without_names(stmt, here, lambda value: not value.dtype.is_float or not is_work(value))


def _without_names(stmt: Stmt, here: Here, chosen: Callable[[Expr], bool]) -> Iterator[Stmt]:
    if isinstance(stmt, Let):
        new = _inlined(stmt, here, chosen)
        if new is not stmt:
            yield new


@rewrite(
    law="let v = e: s  =  s   where s does not use v",
    because="nothing looks at the value",
    family="let",
    settles=lambda _stmt, _new, _instructs: True,
)
def unused(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Drop a binding that nothing uses; a value that would fault is a fault less."""
    del here
    if isinstance(stmt, Let) and not _uses(stmt.body, stmt.var):
        yield stmt.body


@rewrite(
    law="s  =  let v = e: s with v for e   where e occurs more than once, and cannot fault unless s does",
    because="e reads nothing, so that it has one value wherever s evaluates it",
    family="let",
)
def common(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Bind expressions that a statement, or one inside it, evaluates more than once.

    A whole nest is done at once, each expression being bound as far out as its variables allow.
    """
    for nest, around in roots(stmt, here):
        new = shared(nest, here)
        if new is not nest:
            yield around(new)


LET_RULES = (inline, inline_index, unused, common)


# What may be bound, and where ----------------------------------------------------------------------------------------


def roots(stmt: Stmt, here: Here) -> Iterator[tuple[Stmt, Callable[[Stmt], Stmt]]]:
    """Whole nests, and the bodies of blocks, which may be all that may change; and how to put a new one in place."""
    if isinstance(stmt, Block):
        yield stmt.body, lambda new: replace(stmt, body=new)
    elif not here.in_loop and isinstance(stmt, (For, Seq, Store, If, Let)):
        yield stmt, lambda new: new


def is_work(expr: Expr) -> bool:
    """Whether an expression is worth a name: an operation on numbers."""
    return expr.dtype is not DType.BOOL and any(not isinstance(c, Const) for c in children(expr))


def may_bind(expr: Expr, stmt: Stmt, here: Here) -> bool:
    """Whether evaluating an expression of outer variables before a statement cannot fault, or only if that does."""
    if here.decided(expr):
        return True
    match stmt:
        case Seq():
            for part in flat(stmt):
                if may_bind(expr, part, here):
                    return True
                if isinstance(part, (Assert, Assume)):
                    return False  # what follows may never run
            return False
        case Store() | Evaluate():
            return any(_evaluates(e, expr) for e in stmt_exprs(stmt))
        case If(cond=cond, then=yes, other=no):
            arms = ((cond, True, yes), (cond, False, no))
            return _evaluates(cond, expr) or all(_within(expr, *arm, here) for arm in arms)
        case For(start=start, extent=extent):
            if _evaluates(start, expr) or _evaluates(extent, expr):
                return True
            runs = Binary("gt", extent, const(0, extent.dtype))
            if not is_fixed(extent):
                return False
            never, some = here.under(runs, False), here.under(runs, True)
            body = None if some is None else inside(stmt, some)
            return (never is None or never.decided(expr)) and (body is None or may_bind(expr, stmt.body, body))
        case Let(value=value, body=body):
            place = inside(stmt, here)
            return _evaluates(value, expr) or place is None or may_bind(expr, body, place)
        case Alloc(body=body) | Block(body=body):
            return may_bind(expr, body, here)
        case _:
            return False


def _within(expr: Expr, cond: Expr, truth: bool, arm: Stmt, here: Here) -> bool:
    place = under(cond, here, truth=truth)
    return place is None or may_bind(expr, arm, place)


def _evaluates(whole: Expr, part: Expr) -> bool:
    """Whether evaluating one expression always evaluates another."""
    return any(e.same(part) for e in always_evaluated(whole))


def inside(stmt: For | Let, here: Here) -> Here | None:
    """The body of a loop or binding, of the program or not, as far as variables go; None if it never runs."""
    # not `here.inside`, which remembers its answers by the statement's identity

    def domain() -> isl.Set | None:
        match stmt:
            case For(var=var, start=start, extent=extent):
                found = here.domain.intersect(pb.loop_domain(var, start, extent).may)
                return None if found.is_empty() else found
            case Let(var=var, value=value):
                return here.domain.intersect(bound_to(var, value))

    unknown = pb.never()
    found = pb.within_budget(domain, unknown)
    return None if found is None else here.at(here.domain if found is unknown else found)


def under(cond: Expr, here: Here, *, truth: bool) -> Here | None:
    """An arm of a branch, as far as variables are concerned; None if it never runs."""
    return here.under(cond, truth) if is_fixed(cond) else here


def following(stmt: Stmt, here: Here) -> Here | None:
    """What is known of variables after a statement; None if nothing runs there."""
    match stmt:
        case Assume(cond=cond) | Assert(cond=cond):
            return under(cond, here, truth=True)
        case _:
            return here


class Names(Struct):
    """Names for new bindings, told apart from all names around."""

    taken: set[str]
    own: set[str]  # canonical names that the statement binds, whose printed names are known

    @staticmethod
    def of(stmt: Stmt, here: Here) -> Names:
        """Names that differ from all in a statement and around it."""
        own = {v.name for s in walk(stmt) for v in bound_var(s)}
        used = {v.name for s in walk(stmt) for e in stmt_exprs(s) for v in free_vars(e)}
        buffers = {s.buffer.name for s in walk(stmt) if isinstance(s, (Store, Alloc))}
        read = {e.buffer.name for s in walk(stmt) for x in stmt_exprs(s) for e in walk_expr(x) if isinstance(e, Load)}
        return Names(own | used | buffers | read | {v.name for v in here.scope}, own)

    def new(self, stem: str, dtype: DType, near: str = "") -> Var:
        """A variable, named after a loop's if that belongs to the statement: `i_term`."""
        stem = f"{near}._{stem}" if near in self.own else stem
        return Var(fresh(stem, self.taken, first=2), dtype)


# Putting values in place of names ------------------------------------------------------------------------------------


def _inlined(stmt: Let, here: Here, chosen: Callable[[Expr], bool]) -> Stmt:
    place = inside(stmt, here)
    body = _inlined(stmt.body, place, chosen) if isinstance(stmt.body, Let) and place is not None else stmt.body
    if is_fixed(stmt.value) and chosen(stmt.value) and _uses(body, stmt.var):
        new = substitute(body, {stmt.var: stmt.value})
        if may_bind(stmt.value, new, here):
            return new
    return stmt if body is stmt.body else replace(stmt, body=body)


def _uses(stmt: Stmt, var: Var) -> bool:
    return any(var in free_vars(e) for s in walk(stmt) for e in stmt_exprs(s))


# Names for what occurs more than once --------------------------------------------------------------------------------


def shared(stmt: Stmt, here: Here) -> Stmt:
    """A statement with names for all work that is repeated in it; the same object where there is none."""
    if not _repeats(stmt):
        return stmt
    new = _shared(stmt, here, Names.of(stmt, here))
    return stmt if new == stmt else new


def _repeats(stmt: Stmt) -> bool:
    """Whether some work occurs twice at all: most programs have no such thing, and need no closer look."""
    seen: set[Expr] = set()
    for whole in (e for s in walk(stmt) if not isinstance(s, (Assume, Assert)) for e in stmt_exprs(s)):
        for part in walk_expr(whole):
            if is_work(part) and is_fixed(part):
                if part in seen:
                    return True
                seen.add(part)
    return False


def _shared(stmt: Stmt, here: Here, names: Names) -> Stmt:
    if isinstance(stmt, Seq):
        return _shared_sequence(list(flat(stmt)), here, names)
    named = _named(stmt, stmt, here, names)
    if named is not None:
        return _shared(named, here, names)
    match stmt:
        case For(body=body) | Let(body=body):
            place = inside(stmt, here)
            return stmt if place is None else replace(stmt, body=_shared(body, place, names))
        case Alloc(body=body) | Block(body=body):
            return replace(stmt, body=_shared(body, here, names))
        case If(cond=cond, then=yes, other=no):
            arms = ((yes, under(cond, here, truth=True)), (no, under(cond, here, truth=False)))
            new = [arm if place is None else _shared(arm, place, names) for arm, place in arms]
            return replace(stmt, then=new[0], other=new[1])
        case _:
            return stmt


def _shared_sequence(parts: list[Stmt], here: Here, names: Names) -> Stmt:
    """Each name is bound before the first statement that needs it."""
    done: list[Stmt] = []
    place: Here | None = here
    for k, part in enumerate(parts):
        if place is None:
            return seq(*done, *parts[k:])
        named = _named(seq(*parts[k:]), part, place, names)
        if named is not None:
            return seq(*done, _shared(named, place, names))
        done.append(_shared(part, place, names))
        place = following(part, place)
    return seq(*done)


def _named(stmt: Stmt, first: Stmt, here: Here, names: Names) -> Stmt | None:
    """A statement with a name for the largest repeated work that is done in `first`; None if there is none."""
    counts = _counts(stmt)
    if all(n < 2 for n in counts.values()):
        return None
    inner = {v.name for s in walk(stmt) for v in bound_var(s)}
    there = counts if first is stmt else _counts(first)
    found = [e for e, n in counts.items() if n > 1 and e in there and inner.isdisjoint(v.name for v in free_vars(e))]
    for expr in sorted(found, key=lambda e: -node_count(e)):
        if may_bind(expr, stmt, here):
            var = names.new("index" if expr.dtype.is_integer else "value", expr.dtype)
            return Let(var, expr, renamed(stmt, expr, var))
    return None


def _counts(stmt: Stmt) -> Counter[Expr]:
    """How often a statement does each piece of work that may have a name, per iteration; one arm of a branch counts."""
    match stmt:
        case Assume() | Assert():
            return Counter()
        case If(cond=cond, then=yes, other=no):
            return _work(cond) + (_counts(yes) | _counts(no))
        case Alloc(body=body):  # the extents of a buffer keep their own words, in each of its uses
            return _counts(body)
        case _:
            total: Counter[Expr] = Counter()
            for expr in stmt_exprs(stmt):
                total.update(_work(expr))
            for part in stmt_children(stmt):
                total.update(_counts(part))
            return total


def _work(expr: Expr) -> Counter[Expr]:
    total: Counter[Expr] = Counter()
    match expr:
        case Select(cond=cond, then=a, other=b):
            total.update(_work(cond) + (_work(a) | _work(b)))
        case _:
            for part in children(expr):
                total.update(_work(part))
    if is_work(expr) and is_fixed(expr):
        total[expr] += 1
    return total


def renamed(stmt: Stmt, old: Expr, new: Var) -> Stmt:
    """A statement with a name for an expression, except in what it assumes or asserts: facts keep their own words."""

    def expr(whole: Expr) -> Expr:
        return new if whole.same(old) else with_operands(whole, tuple(map(expr, children(whole))))

    return map_exprs(stmt, expr)


def without_aliases(stmt: Stmt) -> Stmt:
    """A statement without second names for variables."""
    return without_names(stmt, lambda value: isinstance(value, Var))


def map_exprs(stmt: Stmt, fn: Callable[[Expr], Expr]) -> Stmt:
    """A statement with `fn` applied to the expressions that statements in it hold, except assumed and asserted ones."""

    def go(inner: Stmt) -> Stmt:
        return map_exprs(inner, fn)

    match stmt:
        case Assume() | Assert():
            return stmt
        case Block(body=body):
            return replace(stmt, body=go(body))
        case _:
            return rebuilt(stmt, fn, go)
