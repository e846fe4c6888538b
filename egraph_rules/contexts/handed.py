"""What one iteration of a loop hands to the next: what the one before left, and how far accumulations have come.

An element that the body stores to holds at the start of an iteration what the one before it left there, and at the
start of the first one what it held before the loop. An integer to which each iteration adds a number between two
others is, by induction, between as many times these as there were iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeGuard

import islpy as isl
from msgspec.structs import replace

import egraph_rules.contexts.intervals as intervals
from egraph_rules.contexts.facts import Facts
from ir.analysis import contents as held
from ir.analysis import effects as fx
from ir.analysis.conditions import conjunction, negate
from ir.analysis.contents import Contents, Value
from ir.analysis.definedness import is_defined
from ir.analysis.effects import EffectAnalysis, Effects, LoopSets, before, later_by
from ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, If, Let, Load, Select, Seq, Stmt, Store, Undef, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.intervals import Range, combined
from ir.presburger.polynomials import polynomial, summed, written
from ir.program.calls import minus, plus
from ir.program.edit import times
from ir.traverse import (
    bound_var,
    buffers_written,
    children,
    conjuncts_of,
    free_vars,
    has_loads,
    has_undef,
    loads,
    map_expr,
    reads,
    stmt_children,
    substitute_expr,
    walk,
    with_children,
)

if TYPE_CHECKING:
    from egraph_rules.contexts.context import Contexts

_NONE: Range = (0, 0)
_MOST_BACK = 4  # iterations: what is in use longer than that is no register


def handed(f: Facts, loop: For, effects: EffectAnalysis, defined: Collection[Buffer]) -> Contents:
    """What is known at the start of an iteration of what it reads and writes; `f` holds before the loop.

    `defined` are the buffers that hold nothing arbitrary.
    """
    body = effects.of(loop.body)
    known = _left_before(f, loop, body, body.established)
    domain = f.domain.intersect(LoopSets.of(loop).may)
    for _ in range(_MOST_BACK if known and _moves(loop.body, body) else 0):
        left = _moved(known, loop.body, effects, domain)
        new = _left_before(f, loop, body, {key: r for key, r in left.items() if key[0] in body.may})
        if all(key in known and r.is_subset(known[key]) for key, r in new.items()):
            break
        known = held.joined(known, new)
    return held.joined(known, _counted(f, loop, loop.var, defined))


def _moves(stmt: Stmt, body: Effects) -> bool:
    """Whether a statement copies an element that iterations hand on to another one."""
    parts = stmt_children(stmt) if isinstance(stmt, Seq) else (stmt,)
    return any(
        _moves(part, body)
        if isinstance(part, Seq)
        else isinstance(part, Store) and isinstance(part.value, Load) and part.value.buffer in body.may
        for part in parts
    )


def _moved(known: Contents, stmt: Stmt, effects: EffectAnalysis, domain: isl.Set) -> Contents:
    """What is known after a statement, copies of elements included of which it is known what they hold."""
    match stmt:
        case Seq(stmts=stmts):
            for part in stmts:
                known = _moved(known, part, effects, domain)
            return known
        case Store(value=Load(buffer=source, indices=indices)):
            spots = pb.point(indices), pb.point(stmt.indices)
            after = fx.after(known, effects.of(stmt))
            if spots[0] is None or spots[1] is None:
                return after
            read = spots[0].intersect_params(domain)
            told = [
                v for (b, v), r in known.items() if b == source and not held.is_condition(b, v) and read.is_subset(r)
            ]
            here = (v for v in (held.at(v, indices) for v in told) if v is not None)
            return held.joined(after, *(held.of_store(replace(stmt, value=v), spots[1]) for v in here if v is not None))
        case _:
            return fx.after(known, effects.of(stmt))


def unstored_yet(f: Facts, loop: For) -> Contents:
    """Numbers that elements have had since before a loop, unless a condition holds that stays true once it does.

    All stores to their buffer are under it, so that where it fails no earlier iteration has stored to one.
    """
    written = buffers_written(loop.body)
    started = [(b, v, r) for b, v, r in held.constants(f.known) if b in written]
    out: Contents = {}
    for buffer, number, region in started:
        gate = _gate(loop, buffer, written)
        if gate is not None:
            out[buffer, Select(gate, held.element(buffer), number)] = region
    return out


def _gate(loop: For, buffer: Buffer, written: Collection[Buffer]) -> Expr | None:
    """What holds of an element wherever a loop stores to it, and from there on in all iterations."""
    guards = [_of_element(store, conds) for store, conds in _stores(loop.body, buffer, ())]
    bound = {v for s in walk(loop.body) for v in bound_var(s)}
    common = [g for g in guards[0] if all(any(g.same(o) for o in others) for others in guards[1:])] if guards else []
    steady = [
        g
        for g in common
        if stays(g, loop.var) and bound.isdisjoint(free_vars(g)) and not any(e.buffer in written for e in loads(g))
    ]
    return conjunction(steady) if steady else None


def _stores(stmt: Stmt, buffer: Buffer, conds: tuple[Expr, ...]) -> Iterator[tuple[Store, tuple[Expr, ...]]]:
    """The stores to a buffer, each with the conditions of the branches around it."""
    match stmt:
        case Store() if stmt.buffer == buffer:
            yield stmt, conds
        case If(cond=cond, then=then, other=other):
            for arm, holds in ((then, cond), (other, negate(cond))):
                yield from _stores(arm, buffer, (*conds, *conjuncts_of(holds)))
        case _:
            for part in stmt_children(stmt):
                yield from _stores(part, buffer, conds)


def _of_element(store: Store, conds: Collection[Expr]) -> list[Expr]:
    """Conditions around a store, over the coordinates of its element."""
    return [held.over_coordinates(cond, store.indices) for cond in conds]


def stays(cond: Expr, var: Var) -> bool:
    """Whether a condition that holds for some value of a variable holds for all greater ones."""
    match cond:
        case Binary(op="and" | "or", lhs=a, rhs=b):
            return stays(a, var) and stays(b, var)
        case Binary(op="lt" | "le" | "gt" | "ge" as op, lhs=a, rhs=b) if a.dtype.is_signed:
            less, more = (b, a) if op in ("gt", "ge") else (a, b)
            total = summed((*polynomial(more).items(), *((k, -n) for k, n in polynomial(less).items())))
            moving = {k: n for k, n in total.items() if any(var in free_vars(factor) for factor in k)}
            return not moving or (moving.keys() == {(var,)} and moving[var,] > 0)
        case _:
            return var not in free_vars(cond)


def counted(f: Facts, stmt: Stmt, defined: Collection[Buffer]) -> Contents:
    """How far accumulations have come after a loop."""
    if not isinstance(stmt, For) or has_loads(stmt.start) or has_loads(stmt.extent):
        return {}
    extent = pb.affine(stmt.extent)
    runs = extent is not None and f.domain.is_subset(extent.ge_set(pb.number(0)))
    return _counted(f, stmt, stmt.start + stmt.extent, defined) if runs else {}


def stored_value(contexts: Contexts, facts: int, store: Store) -> Contents:
    """What a store leaves, where its value is one by what is known before it: a number, or how far a counter is."""
    spot = pb.point(store.indices)
    if spot is None or not has_loads(store.value):
        return {}
    value = contexts.value(facts, store.value)
    if not isinstance(value, Const) and store.value.dtype.is_signed and not any(map(free_vars, store.indices)):
        value = _tidied(map_expr(store.value, lambda e: _known(contexts, facts, e)))
    return {(store.buffer, value): spot} if value is not None and _plain(value) else {}


def _plain(value: Value) -> bool:
    """Whether a value is one of scalars, the same at all places."""
    names = (v.name for v in free_vars(value))
    return not (has_loads(value) or has_undef(value) or any(n.startswith("$") for n in names))


def _known(contexts: Contexts, facts: int, expr: Expr) -> Expr:
    found = contexts.contents(facts, expr.buffer, expr.indices) if isinstance(expr, Load) else None
    return expr if found is None else found


def _left_before(f: Facts, loop: For, body: Effects, established: Contents) -> Contents:
    """What is read and was left by one of the last iterations, and before there were as many by the program before.

    Of the elements that an iteration reads, fewer and fewer were left further back.
    """
    sets, order = LoopSets.of(loop), before(f"{loop.var.name}'", loop.var.name)
    read = {b: r.intersect_params(sets.may) for b, r in body.reads.items() if b in body.may}
    left = {b: r.intersect(sets.other(body.may[b], order, sets.may, f"{loop.var.name}'")) for b, r in read.items()}
    told = [
        (b, v, r)
        for (b, v), r in established.items()
        if b in left and not isinstance(v, Undef) and not held.is_condition(b, v)
    ]
    out: list[Contents] = []
    for back in range(1, _MOST_BACK + 1):
        told = [(b, v, r) for b, v, r in told if not left[b].is_empty()]
        if not told:
            break
        out += (_left(f, loop, body, (b, v, r), back, read[b]) for b, v, r in told)
        left = {b: r.subtract(_at(sets, body.must.get(b, r), back, sets.must)) for b, r in left.items()}
    return held.joined(*out)


def _left(f: Facts, loop: For, body: Effects, told: tuple[Buffer, Expr, isl.Set], back: int, read: isl.Set) -> Contents:
    """Where elements hold what an iteration left so many before, or what it would have if there was none yet."""
    buffer, value, region = told
    sets, start, dtype = LoopSets.of(loop), pb.affine(loop.start), loop.var.dtype
    left = _tidied(substitute_expr(value, {loop.var: loop.var - const(back, dtype)}))
    known: Contents = {(buffer, left): _at(sets, region, back, sets.must).intersect(read)}
    for between in range(1, back):
        known = held.without(known, {b: _at(sets, r, between, sets.may) for b, r in body.may.items()})
    if start is None:
        return known
    earlier = sets.others(body.may, before(f"{sets.name}'", sets.name), sets.may, f"{sets.name}'")
    for number in range(back):
        now = pb.symbol(sets.name).eq_set(start.add(pb.number(number)))
        here = _tidied(substitute_expr(left, {loop.var: loop.start + const(number, dtype)}))
        given = ((v, r) for (b, v), r in f.known.items() if b == buffer and not held.is_condition(b, v))
        same = [r.intersect_params(now).intersect(read) for v, r in given if _tidied(v).same(here)]
        known = held.joined(known, *(held.without({(buffer, left): r}, earlier) for r in same))
    return known


def _at(sets: LoopSets, region: isl.Set, back: int, domain: isl.Set) -> isl.Set:
    """A region of the iteration so many before this one."""
    previous = f"{sets.name}'"
    return sets.other(region, later_by(sets.name, previous, back), domain, previous)


def _tidied(expr: Expr) -> Expr:
    """A value with `i - 1 + 1` as `i`, so that it is the one that others tell."""
    if isinstance(expr, Binary) and expr.dtype.is_signed:
        value = pb.affine(expr)
        if value is not None:
            new = readback.expression(value, {v.name: v for v in free_vars(expr)})
            return new if new.dtype is expr.dtype else expr
    return with_children(expr, tuple(map(_tidied, children(expr))))


def _counted(f: Facts, loop: For, now: Expr, defined: Collection[Buffer]) -> Contents:
    """What elements are that started at a value, or between which numbers, when the variable has come to `now`."""
    dtype, turns = loop.var.dtype, minus(now, loop.start)
    started = [
        (b, v, r) for (b, v), r in f.known.items() if b.dtype is dtype and _plain(v) and not held.is_condition(b, v)
    ]
    count = pb.affine(turns)
    if not started or count is None or not dtype.is_signed:
        return {}
    out: Contents = {}
    written, domain = buffers_written(loop.body), f.domain.intersect(LoopSets.of(loop).may)
    names = {v.name: v for v in free_vars(turns)}
    for buffer, first, region in started:
        if buffer not in written:
            continue
        value = _reached(loop, buffer, first, region, domain, now)
        if value is not None:
            out[buffer, value] = region
        step = _step(loop.body, buffer, region, domain, defined) if isinstance(first, Const) else None
        if step is None or not isinstance(first, Const):
            continue
        moved = (count.mul(pb.number(n)).add(pb.number(int(first.value))) for n in step)
        ends = [readback.expression(m, names) for m in moved]
        if all(end.dtype is dtype for end in ends):
            element = held.element(buffer)
            out[buffer, Binary("ge", element, ends[0])] = region
            out[buffer, Binary("le", element, ends[1])] = region
    return out


def _reached(loop: For, buffer: Buffer, first: Expr, region: isl.Set, domain: isl.Set, now: Expr) -> Expr | None:
    """What elements are that a loop adds a value to in each turn, when its variable has come to `now`."""
    step, turns = _addend(loop.body, buffer, region, domain), minus(now, loop.start)
    if step is None:
        return None
    if loop.var in free_vars(step):
        moved = _series(step, loop, now)
        fits = isinstance(moved, Binary) and _fits(moved.lhs, domain)  # the product, before it is halved
    else:
        moved = times(turns, step)
        parts = [pb.affine(e) for e in (turns, moved)]
        fits = all(p is not None and domain.is_subset(pb.within(p, buffer.dtype)) for p in parts)
        fits = fits or all(_not_negative(e, domain) for e in (first, turns, step))
    # Which does not overflow where the element does not.
    return _tidied(plus(first, moved)) if moved is not None and fits else None


def _series(step: Expr, loop: For, now: Expr) -> Expr | None:
    """The sum of `a * i + b` over the turns i of a loop before `now`."""
    terms = polynomial(step)
    slope = const(terms.get((loop.var,), 0), step.dtype)
    rest = written({k: n for k, n in terms.items() if k != (loop.var,)}, step)
    if loop.var in free_vars(rest):
        return None
    ends = minus(plus(now, loop.start), const(1, step.dtype))
    twice = plus(times(slope, ends), times(const(2, step.dtype), rest))
    return Binary("floordiv", times(_tidied(twice), minus(now, loop.start)), const(2, step.dtype))


def _fits(expr: Expr, domain: isl.Set) -> bool:
    """Whether no part of a value can leave its dtype."""
    low, high = intervals.bounds(expr, domain)
    return expr.dtype.min < low and high < expr.dtype.max and all(_fits(e, domain) for e in children(expr))


def _not_negative(expr: Expr, domain: isl.Set) -> bool:
    """Whether neither a value nor any part of it is negative."""
    if isinstance(expr, Binary) and expr.op in ("add", "mul"):
        return _not_negative(expr.lhs, domain) and _not_negative(expr.rhs, domain)
    value = pb.affine(expr)
    return value is not None and domain.is_subset(value.ge_set(pb.number(0)))


def _addend(stmt: Stmt, buffer: Buffer, region: isl.Set, domain: isl.Set) -> Expr | None:
    """What a statement adds to an element, which is all of a region; None where that is not one value."""
    match stmt:
        case _ if buffer not in buffers_written(stmt):
            return const(0, buffer.dtype)
        case Store():
            spot = pb.point(stmt.indices)
            sure = spot is not None and not any(map(free_vars, stmt.indices)) and region.is_subset(spot)
            return _amount(stmt) if sure else None
        case If(then=then, other=other):
            arms = [_addend(arm, buffer, region, domain) for arm in (then, other)]
            return arms[0] if arms[0] is not None and arms[1] is not None and arms[0].same(arms[1]) else None
        case For(extent=extent, body=body) as loop:
            step, count = _addend(body, buffer, region, domain.intersect(LoopSets.of(loop).may)), pb.affine(extent)
            runs = count is not None and domain.is_subset(count.ge_set(pb.number(0)))
            if step is None or not runs or extent.dtype is not buffer.dtype:
                return None
            return _series(step, loop, plus(loop.start, extent)) if loop.var in free_vars(step) else times(extent, step)
        case Seq(stmts=parts):
            total: Expr | None = const(0, buffer.dtype)
            for part in parts:
                step = _addend(part, buffer, region, domain)
                total = None if total is None or step is None else plus(total, step)
            return total
        case Let(var=var, body=body):
            step = _addend(body, buffer, region, domain)
            return None if step is None or var in free_vars(step) else step
        case Alloc(body=body):
            return _addend(body, buffer, region, domain)
        case _:
            return None


def _amount(store: Store) -> Expr | None:
    """What `B[i] = B[i] + e` adds to its element, where that reads nothing."""
    element, zero = Load(store.buffer, store.indices), const(0, store.buffer.dtype)
    match store.value:
        case Binary(op="add", lhs=a, rhs=b) if element.same(a) or element.same(b):
            amount = b if element.same(a) else a
        case Binary(op="sub", lhs=a, rhs=b) if element.same(a):
            amount = minus(zero, b)
        case _:
            return None
    return amount if _plain(amount) else None


def _step(stmt: Stmt, buffer: Buffer, region: isl.Set, domain: isl.Set, defined: Collection[Buffer]) -> Range | None:
    """Between which numbers a statement adds to an element of a region; None where it does something else to one."""
    match stmt:
        case Store() if stmt.buffer == buffer:
            added = _added(stmt, domain, defined)
            spot = pb.point(stmt.indices)
            sure = spot is not None and not any(map(free_vars, stmt.indices)) and region.is_subset(spot)
            return added if sure or added is None else _either(added, _NONE)
        case If(then=then, other=other):
            arms = [_step(arm, buffer, region, domain, defined) for arm in (then, other)]
            return None if arms[0] is None or arms[1] is None else _either(arms[0], arms[1])
        case For(extent=extent, body=body) as loop:
            step = _step(body, buffer, region, domain.intersect(LoopSets.of(loop).may), defined)
            if step is None or step == _NONE:
                return step
            return (step[0] * int(extent.value), step[1] * int(extent.value)) if _is_count(extent) else None
        case _ if buffer not in buffers_written(stmt):
            return _NONE
        case _:
            parts = stmt_children(stmt)
            total: Range | None = _NONE if parts else None
            for part in parts:
                step = _step(part, buffer, region, domain, defined)
                total = None if total is None or step is None else combined("add", total, step)
            return total


def _is_count(extent: Expr) -> TypeGuard[Const]:
    return isinstance(extent, Const) and extent.value >= 0


def _added(store: Store, domain: isl.Set, defined: Collection[Buffer]) -> Range | None:
    """Between which numbers `B[i] = B[i] + e` adds to its element."""
    element = Load(store.buffer, store.indices)
    match store.value:
        case Binary(op="add", lhs=a, rhs=b) if element.same(a) or element.same(b):
            amount, sign = (b if element.same(a) else a), 1
        case Binary(op="sub", lhs=a, rhs=b) if element.same(a):
            amount, sign = b, -1
        case _:
            return None
    if reads(store.buffer, amount) or not is_defined(amount, defined):
        return None
    found = _between(amount, domain)
    if found[0] <= amount.dtype.min or found[1] >= amount.dtype.max:
        return None  # anything
    return found if sign > 0 else (-found[1], -found[0])


def _between(expr: Expr, domain: isl.Set) -> Range:
    match expr:
        case Select(then=a, other=b):
            return _either(_between(a, domain), _between(b, domain))
        case _:
            return intervals.bounds(expr, domain)


def _either(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), max(one[1], other[1])
