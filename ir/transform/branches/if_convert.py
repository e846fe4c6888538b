"""If-conversion: stores under conditions as choices of what is stored.

Of `if v < x: x = v`, with v from other elements of the buffer, the condition is taken before the branch runs, which in
general takes a local that holds it. Where all is evaluated before the one store that changes it, a choice between the
new and the old value says the same, and dependences see what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Buffer,
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
from ir.presburger.polynomials import are_apart
from ir.traverse import (
    all_same,
    buffers_accessed,
    buffers_read,
    buffers_written,
    conjuncts_of,
    has_load,
    has_loads,
    is_lazy,
    loads,
    map_expr,
    node_count,
    reads,
    stmt_children,
    stmt_exprs,
    walk,
    without_outer_names,
)

Change = Callable[[Expr], Expr]

_EXTREMES: dict[str, tuple[Literal["min", "max"], Literal["min", "max"]]] = {
    "lt": ("min", "max"),
    "le": ("min", "max"),
    "gt": ("max", "min"),
    "ge": ("max", "min"),
}


def is_short(expr: Expr) -> bool:
    """Whether an expression may be evaluated in several places, for all the work there is in it."""
    return node_count(expr) <= 16


def as_extreme(value: Expr) -> Expr:
    """The smaller or larger of two numbers where a comparison of them selects one."""
    match value:
        case Select(cond=Binary(op=op, lhs=a, rhs=b), then=x, other=y) if op in _EXTREMES:
            smaller, larger = _EXTREMES[op]
            if x.same(a) and y.same(b):
                return Binary(smaller, a, b)
            if x.same(b) and y.same(a):
                return Binary(larger, a, b)
        case _:
            pass
    return value


def as_choices(stmt: Stmt, extreme: Change) -> Stmt | None:
    """Statements for a branch, or names around one, without a condition to be taken before: stores that choose.

    None for other statements, and where nothing that decides depends on other elements of what is stored to: a branch
    says more to those who look for the best element. If nothing but that element is kept, it is an `extreme` where that
    may be.
    """
    inside, named = stmt, set[Buffer]()
    while isinstance(inside, Let):
        named |= buffers_read(inside.value)
        inside = inside.body
    if not isinstance(inside, If):
        return None
    branch = without_outer_names(stmt, is_short)
    if not isinstance(branch, If) or not (isinstance(branch.other, Seq) and not branch.other.stmts):
        return None
    stores = _ordered(branch)
    if stores is None:
        return None
    *first, last = stores
    if any(s.buffer in named for s in first):
        return None  # a name holds what was there before
    own = Load(last.buffer, last.indices)
    parts = conjuncts_of(branch.cond)
    data = [c for c in parts if reads(last.buffer, c)]
    read = (load for load in loads(branch.cond) if load.buffer == last.buffer)
    here = all(load.same(own) or are_apart(load.indices, own.indices) for load in read)
    value = Select(conjunction(data), last.value, own)
    if here and (first or not data or isinstance(extreme(value), Select)):
        return None
    if parts[-len(data) :] != tuple(data) or not _evaluates(data[0], own):
        return None  # the choice would read an element that the branch does not
    chosen = replace(last, value=value if first else extreme(value))
    plain = parts[: -len(data)]
    late = If(conjunction(plain), chosen, branch.other, branch.span) if plain else chosen
    early = (If(branch.cond, s, branch.other, branch.span) for s in first)
    return seq(*early, late)


def as_exchange(stmt: Stmt, temporary: Collection[Buffer], extreme: Change) -> Stmt | None:
    """Two elements that a branch exchanges where they are out of order, as choices; None for other statements.

    What is kept meanwhile has a name, or is in a local, which must be a `temporary` one. Of integers the choices are
    `extreme` where they may be. Of floats they stay choices: an extreme heeds what is no number, which takes twice as
    long on CPUs.
    """
    if not isinstance(stmt, If) or not (isinstance(stmt.other, Seq) and not stmt.other.stmts):
        return None
    held, rest = _held(stmt.then, temporary)
    if len(rest) != 2 or not held:
        return None
    first, second = rest
    p, q = (Load(s.buffer, s.indices) for s in rest)
    if not _held_value(first.value, held).same(q):
        return None
    kept = next((h for h in held if second.value.same(h)), None)
    if kept is None or not held[kept].same(p):
        return None
    moved = {p.buffer, q.buffer, *(h.buffer for h in held if isinstance(h, Load))}
    if not _compares(stmt.cond, p, q) or moved & {r.buffer for r in _places(p, q)}:
        return None
    chosen = (Select(stmt.cond, q, p), Select(stmt.cond, p, q))
    one, other = chosen if p.dtype.is_float else map(extreme, chosen)
    name = kept if isinstance(kept, Var) else Var(kept.buffer.name, kept.dtype)
    return Let(name, one, Seq((replace(second, value=other), replace(first, value=name))))


def _compares(cond: Expr, p: Load, q: Load) -> bool:
    """Whether a condition says which of two elements is the larger one."""
    match cond:
        case Binary(op=op, lhs=a, rhs=b) if op in _EXTREMES:
            return (a.same(p) and b.same(q)) or (a.same(q) and b.same(p))
        case _:
            return False


def _held(stmt: Stmt, temporary: Collection[Buffer]) -> tuple[dict[Var | Load, Load], list[Store]]:
    """Names and temporary locals with the elements that they hold, and the stores behind them; none for other forms."""
    held: dict[Var | Load, Load] = {}
    while isinstance(stmt, Let):
        if not isinstance(stmt.value, Load):
            return {}, []
        held[stmt.var] = stmt.value
        stmt = stmt.body
    stmts = [*stmt.stmts] if isinstance(stmt, Seq) else [stmt]
    match stmts:
        case [Store(buffer=buffer, indices=indices, value=Load() as value), *after] if not held and buffer in temporary:
            held[Load(buffer, indices)], stmts = value, after
        case _:
            pass
    stores = [s for s in stmts if isinstance(s, Store)]
    return (held, stores) if len(stores) == len(stmts) else ({}, [])


def _held_value(value: Expr, held: Mapping[Var | Load, Load]) -> Expr:
    """What a name holds, or a value itself."""
    return next((of for h, of in held.items() if value.same(h)), value)


def _places(*elements: Load) -> Iterator[Load]:
    """What is read to know which elements these are."""
    return (load for e in elements for i in e.indices for load in loads(i))


def temporaries(body: Stmt) -> frozenset[Buffer]:
    """Locals that hold a value for the statements next to it only: nothing finds there what came from elsewhere.

    Each read is in a sequence behind a store to that element, with no store to the local in between.
    """
    others = set[Buffer]()

    def seen(exprs: Iterable[Expr], held: Collection[Load]) -> None:
        others.update(e.buffer for x in exprs for e in loads(x) if not any(e.same(h) for h in held))

    def visit(stmt: Stmt, held: Sequence[Load]) -> None:
        match stmt:
            case Seq(stmts=stmts):
                for s in stmts:
                    visit(s, held)
                    changed = buffers_written(s)
                    held = [h for h in held if h.buffer not in changed]
                    if isinstance(s, Store) and all(isinstance(i, Const) for i in s.indices):
                        held = [*held, Load(s.buffer, s.indices)]
            case For():
                seen(stmt_exprs(stmt), held)
                visit(stmt.body, ())
            case Block():
                others.update(buffers_accessed(stmt))
            case _:
                seen(stmt_exprs(stmt), held)
                for s in stmt_children(stmt):
                    visit(s, held)

    visit(body, ())
    return frozenset(s.buffer for s in walk(body) if isinstance(s, Alloc)) - others


def chosen_by_data(branch: If) -> Stmt:
    """One store of a choice where both sides of a branch on data store to one place, or the branch.

    A condition on places stays a branch: which elements are accessed follows from it.
    """
    then, other = (chosen_by_data(s) if isinstance(s, If) else s for s in (branch.then, branch.other))
    found = one_store(If(branch.cond, then, other)) if has_loads(branch.cond) else None
    return branch if found is None else found


def one_store(branch: If) -> Store | None:
    """One store of a choice where both sides of a branch store to one place: `if c: X = a else: X = b`."""
    match branch:
        case If(cond=cond, then=Store() as yes, other=Store() as no) if yes.buffer == no.buffer:
            permits = isinstance(yes.value, Undef) or isinstance(no.value, Undef)
            same = not permits and all_same(yes.indices, no.indices)
            return replace(yes, value=Select(cond, yes.value, no.value)) if same else None
        case _:
            return None


def overwritten(first: Stmt, second: Stmt) -> Stmt | None:
    """One store of a choice for a store and one under a condition on data that replaces it: `X = a`, `if c: X = b`.

    None where it is no such pair, or the second may look at what the first has stored other than by its place.
    """
    if not (isinstance(first, Store) and isinstance(second, If) and isinstance(second.then, Store)):
        return None
    later = second.then
    if not (isinstance(second.other, Seq) and not second.other.stmts and has_loads(second.cond)):
        return None
    same = later.buffer == first.buffer and all_same(first.indices, later.indices)
    if not same or any(isinstance(s.value, Undef) for s in (first, later)) or reads(first.buffer, *first.indices):
        return None
    own = Load(first.buffer, first.indices)
    others = [load for e in (second.cond, later.value) for load in loads(e) if load.buffer == first.buffer]
    if not all(load.same(own) or are_apart(load.indices, own.indices) for load in others) or not is_short(first.value):
        return None

    def one(e: Expr) -> Expr:
        return first.value if isinstance(e, Load) and e.same(own) else e

    cond, value = map_expr(second.cond, one), map_expr(later.value, one)
    return replace(later, value=Select(cond, value, first.value))


def _ordered(branch: If) -> list[Store] | None:
    """The stores of a branch, the only one to what the condition reads last; None where that is another program."""
    stmts = branch.then.stmts if isinstance(branch.then, Seq) else (branch.then,)
    stores = [s for s in stmts if isinstance(s, Store)]
    late = [k for k, s in enumerate(stores) if reads(s.buffer, branch.cond)]
    if len(stores) < len(stmts) or len(late) != 1:
        return None
    last = stores[late[0]]
    if not all(_commute(last, s) for s in stores[late[0] + 1 :]):
        return None
    return [*(s for s in stores if s is not last), last]


def _commute(a: Store, b: Store) -> bool:
    return (
        a.buffer != b.buffer and not reads(a.buffer, b.value, *b.indices) and not reads(b.buffer, a.value, *a.indices)
    )


def _evaluates(cond: Expr, own: Load) -> bool:
    """Whether a comparison reads an element whatever its other operands are."""
    return not is_lazy(cond) and has_load(cond, own)
