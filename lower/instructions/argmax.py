"""Loops that look for the largest or smallest of many values, or the first that passes a test, and keep where it was.

`if x > best: best = x; at = i; ...` is an argmax and what is kept of the place it gives: the first of equal values for
`>` and `<`, the last for `>=` and `<=`. `if at < 0 and p(x): at = i` is the first place where `p` holds. A search may
run over several loops, go through some elements only, such as those below a pivot, and compare with the value at the
best place so far. Values are numbers by the policy on floats, so every comparison has an outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction, negate
from ir.analysis.dependence import Loop, Statement, UpdateOp
from ir.dtypes import DType
from ir.nodes import MIRRORED, Binary, Buffer, Cast, Expr, Load, Store, Unary, Var, const
from ir.presburger.polynomials import are_apart
from ir.traverse import all_same, conjuncts_of, free_vars, has_loads, loads, map_expr, reads, substitute_expr
from lower.analysis.freedoms import NUMBERS, Form
from lower.analysis.linear_forms import linear, to_expr
from lower.array.access import Bounds
from lower.array.job import verdict
from lower.nest.nodes import Box, Fresh, Pick, own_bounds
from lower.storage.array_expansion import recorded

SEARCHES = Form(
    "instructions.argmax",
    "if e(i) > best: best = e(i); at = i  =  at = argmax(e); best = e(at)",
    "the first or last of the best is where the loop stops to change it",
    NUMBERS,
)

_OF: dict[str, tuple[UpdateOp, bool]] = {
    "gt": ("max", False), "ge": ("max", True), "lt": ("min", False), "le": ("min", True),
}  # fmt: skip
# Two passes over the values: XLA's own argmax on a CPU takes ten times as long.
FIRST_BEST = '''
def first_best(best, x):
    """The first position along the last axis at which x is the best of it: jnp.max or jnp.min."""
    at = jnp.arange(x.shape[-1], dtype=jnp.int32)
    return jnp.min(jnp.where(x == best(x, axis=-1, keepdims=True), at, x.shape[-1] - 1), axis=-1)
'''
LAST_BEST = '''
def last_best(best, x):
    """The last position along the last axis at which x is the best of it: jnp.max or jnp.min."""
    at = jnp.arange(x.shape[-1], dtype=jnp.int32)
    return jnp.max(jnp.where(x == best(x, axis=-1, keepdims=True), at, 0), axis=-1)
'''
# the first position of a test takes one pass
FIRST_TRUE = '''
def first_true(x):
    """The first position along the last axis at which x holds, or the last position of all."""
    at = jnp.arange(x.shape[-1], dtype=jnp.int32)
    return jnp.min(jnp.where(x, at, x.shape[-1] - 1), axis=-1)
'''


class Selected(Struct, frozen=True):
    """Statements in place of loops: `where` stores at which iteration the best value is to `place`, `then` compares
    it with what was there and keeps it. `first` stores what locals hold in every iteration to `arrays`."""

    first: list[Statement]
    where: Statement
    pick: Pick
    then: list[Statement]
    place: Buffer
    arrays: list[Buffer]


def selection(
    group: Sequence[Statement],
    loops: Sequence[Loop],
    boxes: Sequence[Box],
    depth: Mapping[Buffer, int],
    new: Fresh,
) -> Selected | None:
    """Statements that do what loops around `group` do; None if it is no such search.

    `depth` is how many loops around a local have a copy of it for each iteration.
    """
    around = group[0].loops[: len(group[0].loops) - len(loops)]
    if len(group) < 2 or any(s.loops != (*around, *loops) for s in group):
        return None
    if not all(b.extent.is_const and b.extent.const > 0 for b in boxes):
        return None
    own = [bound for pair in zip(loops, boxes, strict=True) for bound in open_bounds(*pair)]
    test, *kept = sorted(group, key=lambda s: s.position)
    if test.guards or test.store.indices or test.buffer.dtype is not DType.BOOL:
        return None
    inner = {b for b, d in depth.items() if d > len(around)} - {test.buffer}
    if any(s.buffer in inner for s in kept):
        return None  # each iteration has its own best
    arrays = recorded([test, *kept], loops, boxes, inner, new)
    if arrays is None:
        return None
    test, *kept = arrays.statements
    compared = _comparison(test, kept, loops) or _first_hit(test, kept, loops, boxes)
    if compared is None or any(loop.var.dtype is not DType.INT32 for loop in loops):
        return None
    op, value, others = compared
    flag = Load(test.buffer, test.store.indices)
    extra = kept[0].guards[:-1]
    if not all(_keeps(s, loops, flag, extra, kept) for s in kept):
        return None
    if not any(loop.var in free_vars(value) for loop in loops) or _twice(kept):
        return None
    which, last = _OF[op]
    some = (*others, *extra, *own)
    if any(_reads(e, kept) for e in some) or (some and last and value.dtype.is_integer):
        return None  # what is left out counts as the worst number, which an integer may be
    place = Buffer(new.name(f"{loops[-1].var.name}_best"), (), DType.INT32, "local")
    there = dict(positions(loops, boxes, Load(place, ())))

    def at_best(s: Statement) -> Statement:
        store = replace(s.store, value=substitute_expr(s.store.value, there))
        guards = tuple(substitute_expr(g, there) for g in s.guards)
        return replace(s, loops=around, guards=guards, store=store, update=None)

    within = replace(test.store, value=conjunction((*own, test.store.value)))
    where = Statement(new.position(), test.loops, (), Store(place, (), value))
    pick = Pick(tuple(loops), which, last, value, some)
    return Selected(
        arrays.first, where, pick, [at_best(s) for s in (replace(test, store=within), *kept)], place, arrays.arrays
    )


def open_bounds(loop: Loop, box: Box) -> Iterator[Expr]:
    """The bounds of a loop that its box does not say."""
    start, stop = own_bounds(loop)
    if not linear(loop.start).equals(box.low):
        yield start
    if not (linear(loop.start) + linear(loop.extent)).equals(box.low + box.extent):
        yield stop


def positions(loops: Sequence[Loop], boxes: Sequence[Box], place: Expr) -> Iterator[tuple[Var, Expr]]:
    """The variables of nested loops at one of their iterations, counted from 0."""
    for k, (loop, box) in enumerate(zip(loops, boxes, strict=True)):
        inner = prod(b.extent.const for b in boxes[k + 1 :])
        step = place if inner == 1 else Binary("floordiv", place, const(inner, DType.INT32))
        if k > 0:
            step = Binary("floormod", step, const(box.extent.const, DType.INT32))
        low = to_expr(box.low, loop.var)
        yield loop.var, step if box.low.equals(0) else Binary("add", low, step)


def _comparison(
    test: Statement, kept: Sequence[Statement], loops: Sequence[Loop]
) -> tuple[str, Expr, tuple[Expr, ...]] | None:
    """The comparison that a statement stores, alone or with other conditions: operator, value, and the others."""
    conditions = conjuncts_of(test.store.value)
    found: list[tuple[str, Expr, Expr]] = []
    for c in conditions:
        if isinstance(c, Binary) and c.op in _OF:
            for op, value, best in ((c.op, c.lhs, c.rhs), (MIRRORED[c.op], c.rhs, c.lhs)):
                if not _reads(value, kept) and _best(best, value, kept, loops):
                    found.append((op, value, c))
    if len(found) != 1:
        return None
    op, value, comparison = found[0]
    return op, value, tuple(c for c in conditions if c is not comparison)


def _first_hit(
    test: Statement, kept: Sequence[Statement], loops: Sequence[Loop], boxes: Sequence[Box]
) -> tuple[str, Expr, tuple[Expr, ...]] | None:
    """Conditions of which one does not hold any more once they all have: the first place where the others do.

    That one must be the same in all iterations until then, and in all after that: it may not depend on the loops.
    """
    conditions = conjuncts_of(test.store.value)
    stored = {Load(s.buffer, s.store.indices): s.store.value for s in kept}
    inner = {loop.var for loop in loops}
    bounds = Bounds({o.var: b for o, b in zip(loops, boxes, strict=True)}, frozenset(), frozenset())

    def after(e: Expr) -> Expr:
        return stored.get(e, e) if isinstance(e, Load) else e

    steady = [c for c in conditions if free_vars(c).isdisjoint(inner)]
    rest = [c for c in conditions if c not in steady]
    if not rest or not any(_never(map_expr(c, after), bounds) for c in steady):
        return None
    return "gt", Cast(DType.INT32, conjunction(rest)), ()


def tested(pick: Pick) -> Expr | None:
    """The test of which a pick is the first place where it holds; None if it is none."""
    match pick:
        case Pick(op="max", last=False, value=Cast(operand=test), conditions=()) if test.dtype is DType.BOOL:
            return test
        case _:
            return None


def _never(condition: Expr, bounds: Bounds) -> bool:
    """Whether a condition is known not to hold anywhere."""
    if isinstance(condition, Unary) and condition.op == "not":
        condition = negate(condition.operand)
    return verdict(condition, bounds) is False


def _best(best: Expr, value: Expr, kept: Sequence[Statement], loops: Sequence[Loop]) -> bool:
    """Whether an expression is the best value so far, which is kept itself, or read where it was."""
    for s in kept:
        if s.store.value.same(value) and best.same(Load(s.buffer, s.store.indices)):
            return True
    at = {loop.var: Load(s.buffer, s.store.indices) for loop in loops for s in kept if s.store.value.same(loop.var)}
    return len(at) == len(loops) and best.same(substitute_expr(value, at))


def _keeps(
    statement: Statement, loops: Sequence[Loop], flag: Load, extra: Sequence[Expr], kept: Sequence[Statement]
) -> bool:
    """Whether a statement stores, where the comparison holds, to one place what depends on nothing that is kept."""
    store = statement.store
    *first, last = statement.guards or (flag, store.value)
    if not last.same(flag) or not all_same(first, extra):
        return False
    exprs = (store.value, *store.indices)
    free = not any(_reads(e, kept) or reads(flag.buffer, e) for e in exprs)
    return free and all(free_vars(i).isdisjoint(loop.var for loop in loops) and not has_loads(i) for i in store.indices)


def _reads(expr: Expr, kept: Sequence[Statement]) -> bool:
    """Whether an expression may read what some statements store to one place each."""
    return any(
        load.buffer == s.buffer and not are_apart(load.indices, s.store.indices) for load in loads(expr) for s in kept
    )


def _twice(kept: Sequence[Statement]) -> bool:
    """Whether two statements may store to one element."""
    return any(
        a.buffer == b.buffer and not are_apart(a.store.indices, b.store.indices) for a, b in combinations(kept, 2)
    )
