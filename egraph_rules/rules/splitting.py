"""Loops cut up and put together: grouped by a layout, split where a condition changes, merged.

Grouping and splitting keep the order of iterations; merging is proposed only where no two iterations mind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial, reduce

import islpy as isl
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, rewrite
from egraph_rules.cost.prices import Prices, accumulates
from egraph_rules.cost.target import CPU
from egraph_rules.rules.affine import affine_form
from ir.analysis.legality import carried
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    Binary,
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
    Unary,
    Var,
    const,
    seq,
)
from ir.operators import LIBRARY
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.printing.intervals import stop_of
from ir.program.calls import of_dtype
from ir.program.edit import plus
from ir.program.edit import with_children as with_parts
from ir.transform.loops.index_set_split import cut_around
from ir.transform.loops.ranges import Bounds, ends
from ir.transform.loops.unroll import copies, iterations
from ir.transform.loops.window import in_windows, window
from ir.traverse import (
    all_exprs,
    bound_var,
    buffers_written,
    children,
    free_vars,
    has_kind,
    has_loads,
    map_stmt,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute,
    substitute_expr,
    walk,
    walk_expr,
    with_children,
)

_MAX_PERIOD = 4  # a longer one makes long programs
_MAX_TESTS = 2  # of a nest that is cut because of what it reads: each test makes up to three loops of one
_MAX_STEPS, _MAX_COPIES = 16, 80  # of a loop that is written out, and of stores in all of its steps
_PRICES = Prices(CPU)  # to leave out what promises nothing; what is chosen in the end is for extraction to say

# Iterations grouped by a layout ---------------------------------------------------------------------------------------


@rewrite(
    law="for i in a .. b: s  =  for o in (a + c) // k .. (b - 1 + c) // k + 1, r in k: if a <= k * o + r - c < b: s",
    because="with o = (i + c) // k and r = (i + c) % k the same iterations run in the same order",
    family="loops",
    cuts=True,
)
def by_layout(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Group iterations as the layout of an accessed buffer does, where the body uses (i + c) // k and (i + c) % k.

    All loops of a nest are grouped at once, if that may pay: the last group may be larger than what is left for it.
    """
    if isinstance(stmt, For) and not here.in_loop:
        new = pb.within_budget(lambda: _regrouped(stmt, here.domain, frozenset(), here), None)
        if new is not None and new != stmt and _PRICES.program(_unguarded(new)) < _PRICES.program(_unguarded(stmt)):
            yield new


@rewrite(
    law="for i in a .. a + k * n: s  =  for q in n: (s with i = a + k * q; ...; s with i = a + k * q + k - 1)",
    because="the same iterations run in the same order",
    family="loops",
)
def by_period(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Write out one period of a loop of steps whose iterations do one of a few things in turn, by `i % k`.

    Steps in turn, such as sweeps over the red and the black places or over two copies of a state, have no condition and
    no index left that asks whose turn it is.
    """
    period = next(_periods(stmt), None) if isinstance(stmt, For) and stmt.kind == "serial" else None
    if not isinstance(stmt, For) or period is None or not _is_of_steps(stmt, here):
        return
    first, count = here.constant(stmt.start), here.constant(stmt.extent)
    if first is None or count is None or count % period or count <= period:
        return
    dtype = stmt.var.dtype
    places = (plus(Binary("mul", stmt.var, const(period, dtype)), const(first + r, dtype)) for r in range(period))
    turns = [substitute(stmt.body, {stmt.var: place}) for place in places]
    yield replace(stmt, start=const(0, dtype), extent=const(count // period, dtype), body=seq(*turns))


def _is_of_steps(loop: For, here: Here) -> bool:
    """Whether iterations read what others write, in several statements."""
    effects = here.effects(loop.body)
    return has_kind(loop.body, For) and any(b in effects.reads for b in effects.may) and _in_turn(loop, here)


def _periods(loop: For) -> Iterator[int]:
    """The numbers of turns that conditions and indices of a loop's body ask for."""
    for expr in all_exprs(loop.body):
        match expr:
            case Binary(op="floormod", lhs=a, rhs=Const(value=int() as k)) if 1 < k <= _MAX_PERIOD:
                if free_vars(a) == {loop.var} and _shift(a, loop.var) is not None:
                    yield k
            case _:
                pass


def _unguarded(stmt: Stmt) -> Stmt:
    """A statement with its branches taken: what it may come to at best."""
    return map_stmt(stmt, on_stmt=lambda s: s.then if isinstance(s, If) and s.other == SKIP else s)


def _regrouped(stmt: Stmt, domain: isl.Set, loops: frozenset[str], here: Here) -> Stmt:
    """A statement with loops grouped, inside of other loops; `domain` holds the values of their variables."""
    if not isinstance(stmt, For):
        parts = stmt_children(stmt)
        return with_parts(stmt, [_regrouped(p, domain, loops, here) for p in parts]) if parts else stmt
    layout = next(_layouts(stmt, loops), None) if stmt.kind == "serial" else None
    grouped = None if layout is None else _grouped(stmt, *layout, here.at(domain))
    if grouped is not None:
        return _regrouped(grouped, domain, loops, here)
    inside = pb.within_loops(domain, [stmt])
    return replace(stmt, body=_regrouped(stmt.body, inside, loops | {stmt.var.name}, here))


def _layouts(loop: For, loops: frozenset[str]) -> Iterator[tuple[Expr, int]]:
    """What is divided and by which number, for each pair of a quotient and a remainder that walk along the loop.

    No other loop's variable may be in it: a window such as `(i + f) // k` belongs to no loop alone.
    """
    found: dict[tuple[Expr, int], set[str]] = {}
    for stmt in walk(loop.body):
        for expr in stmt_exprs(stmt) if isinstance(stmt, Store) else ():
            for part in walk_expr(expr):
                match part:
                    case Binary(op="floordiv" | "floormod" as op, lhs=a, rhs=Const(value=int() as k)) if k > 1:
                        found.setdefault((a, k), set()).add(op)
                    case _:
                        pass
    others = loops.union(v.name for s in walk(loop.body) for v in bound_var(s)) if found else loops
    along = [
        (position, k, "floordiv" in ops, shift)
        for (position, k), ops in found.items()
        if others.isdisjoint(v.name for v in free_vars(position)) and (shift := _shift(position, loop.var)) is not None
    ]
    for position, k, grouped, shift in along:
        if grouped and all(_in_step(shift, other, k) for _, factor, _, other in along if factor == k):
            yield position, k


def _in_step(a: Expr, b: Expr, k: int) -> bool:
    """Whether two positions are in new groups of `k` at once: one that is not has no quotient of its own then."""
    if isinstance(a, Const) and isinstance(b, Const):
        return (int(a.value) - int(b.value)) % k == 0
    return a.same(b)


def _shift(expr: Expr, var: Var) -> Expr | None:
    """What is added to a variable; None if the expression is no such sum."""
    match expr:
        case Var():
            return const(0, var.dtype) if expr.same(var) else None
        case Binary(op="add" | "sub" as op, lhs=a, rhs=b) if not has_loads(b) and var not in free_vars(b):
            inner = _shift(a, var)
            minus = Binary("sub", const(0, b.dtype), b) if op == "sub" else b
            return None if inner is None else plus(inner, minus)
        case Binary(op="add", lhs=a, rhs=b):
            return _shift(Binary("add", b, a), var) if var in free_vars(b) and var not in free_vars(a) else None
        case _:
            return None


def _grouped(loop: For, position: Expr, factor: int, here: Here) -> Stmt | None:
    """The loop over groups of `factor` positions; None if its bounds are not quasi-affine or may leave their dtype."""
    shift = _shift(position, loop.var)
    assert shift is not None
    first, count, offset = pb.affine(loop.start), pb.affine(loop.extent), pb.affine(shift)
    if first is None or count is None or offset is None:
        return None
    dtype = loop.var.dtype
    scope: dict[str, Expr] = {v.name: v for e in (loop.start, loop.extent, shift) for v in free_vars(e)}
    low = _quotient(first.add(offset), factor)
    groups = _quotient(first.add(count).add(offset).sub(pb.number(1)), factor).sub(low).add(pb.number(1))
    start, extent = (of_dtype(readback.expression(f, scope, here.domain), dtype) for f in (low, groups))
    outer, inner = Var(f"{loop.var.name}.o", dtype), Var(f"{loop.var.name}.i", dtype)
    group = For(inner, const(0, dtype), const(factor, dtype), loop.body, span=loop.span)
    whole = For(outer, start, extent, group, span=loop.span)
    inside = here.domain.intersect(pb.loop_domain(outer, start, extent).may)
    place = here.at(inside.intersect(pb.loop_domain(inner, group.start, group.extent).may))
    at = plus(Binary("mul", outer, const(factor, dtype)), inner)
    value = at if isinstance(shift, Const) and shift.value == 0 else Binary("sub", at, shift)
    if dtype.bits < 32 and not stays_within(dtype, (at, value), place):
        return None
    guards = (Binary("ge", value, loop.start), Binary("lt", value, plus(loop.start, loop.extent)))
    body = tidied(substitute(loop.body, {loop.var: value}), {outer, inner}, place)
    needed = [_tidy(g, {outer, inner}, place) for g in guards if place.truth(g) is not True]
    if needed:
        body = If(reduce(lambda a, b: Binary("and", a, b), needed), body, SKIP)
    return replace(whole, body=replace(group, body=body))


def stays_within(dtype: DType, exprs: Sequence[Expr], place: Here) -> bool:
    """Whether expressions fit a dtype; those of 32 bits and more are taken to leave room for rounding up."""
    values = [pb.affine(e) for e in exprs]
    return all(
        v is not None
        and place.domain.is_subset(v.ge_set(pb.number(dtype.min)).intersect(v.le_set(pb.number(dtype.max))))
        for v in values
    )


def _quotient(value: isl.PwAff, factor: int) -> isl.PwAff:
    return value.scale_down_val(isl.Val.int_from_si(isl.DEFAULT_CONTEXT, factor)).floor()


def tidied(stmt: Stmt, new: set[Var], place: Here) -> Stmt:
    return map_stmt(stmt, lambda e: _tidy(e, new, place))


def _tidy(expr: Expr, new: set[Var], place: Here) -> Expr:
    """Quasi-affine parts that mention new variables, in their normal form."""
    if new.isdisjoint(free_vars(expr)):
        return expr
    if isinstance(expr, Select) or (isinstance(expr, Binary) and expr.op in ("min", "max")):
        return with_children(expr, tuple(_tidy(e, new, place) for e in children(expr)))  # as the author told the cases
    if expr.dtype is DType.BOOL or expr.dtype.is_integer:
        assert affine_form.propose_expr is not None
        for form in affine_form.propose_expr(expr, place):
            return form
    return with_children(expr, tuple(_tidy(e, new, place) for e in children(expr)))


# Loops over windows ---------------------------------------------------------------------------------------------------


@rewrite(
    law="for i in a .. b: s  =  for i in n: if a <= c + i < b: s with i = c + i   where all of s is in c .. c + n",
    because="the same iterations run in the same order, and the guard leaves out what is not in the range",
    family="loops",
    cuts=True,
)
def windowed(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Count the iterations of a loop from a place that moves with loops around, where that makes a window of it.

    The ends of what the window goes along, as in `range(T.max(0, x - 2), T.min(n, x + 3))`, are guards then.
    """
    if not isinstance(stmt, For) or stmt.kind != "serial" or has_loads(stmt.start) or has_loads(stmt.extent):
        return
    guard = stmt.body.cond if isinstance(stmt.body, If) and stmt.body.other == SKIP else TRUE
    near = stmt.var in free_vars(guard)  # to a place that moves, if there is one in the guard
    if not {*free_vars(stmt.start, stmt.extent), *(free_vars(guard) if near else ())}.isdisjoint(here.scope):
        found = pb.within_budget(partial(_window, stmt, guard if near else TRUE, here), None)
        if found is not None:
            yield found


def _window(loop: For, where: Expr, here: Here) -> Stmt | None:
    """A loop over a window in place of one over a range that is a part of more than twice as much."""
    start, stop = _spelled_out(loop, (loop.start, stop_of(loop.start, loop.extent)), here)
    found = window(loop, (start, stop), here.domain, here.scope, where)
    if found is None:
        return None
    within = here.domain.intersect(pb.loop_domain(loop.var, found.start, found.extent).may)
    # those inside at once: one after the other would make as many programs as there are choices of them
    body = in_windows(found.body, within, {v: v for v in (*here.scope, loop.var)})
    inner = (s.var for s in walk(body) if isinstance(s, For))
    return replace(found, body=tidied(body, {loop.var, *inner}, here.at(within)))


def _spelled_out(loop: For, exprs: Sequence[Expr], here: Here) -> list[Expr]:
    """Ends of a loop with what names were bound to in their place."""
    scope = here.names(loop)
    known = pb.forget(here.domain, pb.variables(here.domain) - scope.keys())
    found: dict[Var, Expr] = {}
    for var in free_vars(*exprs) & {*here.scope}:
        first, last = ends(known, var.name)
        if first is not None and last is not None and known.is_subset(first.eq_set(last)):
            found[var] = of_dtype(readback.expression(last, scope, known), var.dtype)
    return [substitute_expr(e, found) for e in exprs]


# Loops written out ----------------------------------------------------------------------------------------------------


@rewrite(
    law="for i in n: s  =  for i in T.unroll(n): s   where n is a small number, and steps depend on each other",
    because="the same iterations run in the same order",
    family="loops",
)
def unrolled(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Write out a loop of a few steps that must run in turn, and the loops in it: what the steps hand on to each other
    need not be stored, and small locals become single values.

    Sums and the like are left: they have better forms.
    """
    if not isinstance(stmt, For) or stmt.kind != "serial" or not 1 < (iterations(stmt) or 0) <= _MAX_STEPS:
        return
    every = all(isinstance(s, (For, Store, Seq, If, Let, Alloc)) for s in walk(stmt))
    if every and _in_turn(stmt, here) and copies(stmt, _MAX_COPIES):
        yield map_stmt(stmt, on_stmt=lambda s: replace(s, kind="unroll") if isinstance(s, For) else s)


def _in_turn(loop: For, here: Here) -> bool:
    """Whether an iteration needs what another one stores, besides for sums and the like."""
    key = "in turn", here.contexts.place(here.facts), here.contexts.identity(loop)
    return bool(here.contexts.ask(key, lambda: _needs_another(loop, here.domain), False))


def _needs_another(loop: For, domain: isl.Set) -> bool:
    stores = [*stores_in(loop.body)]
    read = [e for e in all_exprs(loop.body) if isinstance(e, Load)]
    places = Counter((x.buffer, x.indices) for x in (*stores, *read))
    sums = [s for s in stores if accumulates(s) and all(_apart(s, *p) for p in places if p != (s.buffer, s.indices))]
    sums = [s for s in sums if _is_one_sum([o for o in stores if _place(o) == _place(s)], places[_place(s)])]
    rest = map_stmt(loop.body, on_stmt=lambda s: SKIP if s in sums else s)
    return carried(replace(loop, body=rest), domain) is not None


def _place(store: Store) -> tuple[Buffer, tuple[Expr, ...]]:
    return store.buffer, store.indices


def _is_one_sum(stores: Sequence[Store], accesses: int) -> bool:
    """Whether updates of one element, which is accessed so often, may be done in any order: one alone, or all sums."""
    operators = {_combines(s) for s in stores}
    return accesses == 2 * len(stores) and (len(stores) == 1 or (len(operators) == 1 and None not in operators))


def _combines(store: Store) -> str | None:
    """The operator by which a store adds to an element, as often as it likes."""
    value, own = store.value, Load(*_place(store))
    operator = value.op if isinstance(value, Binary) and value.op in ("add", "mul", "min", "max") else None
    while isinstance(value, Binary) and value.op == operator and not value.rhs.same(own):
        value = value.lhs
    return operator if isinstance(value, Binary) or value.same(own) else None


def _apart(store: Store, buffer: Buffer, indices: tuple[Expr, ...]) -> bool:
    """Whether another place is surely not that of a store."""
    pairs = zip(store.indices, indices, strict=False)
    return buffer != store.buffer or any(
        isinstance(a, Const) and isinstance(b, Const) and a.value != b.value for a, b in pairs
    )


# Loops split where a condition changes --------------------------------------------------------------------------------


@rewrite(
    law="for i in a .. b: s  =  for i in a .. c: s; for i in c .. d: s; for i in d .. b: s",
    because="the same iterations run in the same order, and each part knows on which side of a condition it is",
    family="loops",
    cuts=True,
)
def at_condition(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Split a loop where a condition in its body begins and ceases to hold."""
    if not isinstance(stmt, For) or stmt.kind != "serial":
        return
    inner = {v.name for s in walk(stmt.body) for v in bound_var(s)}
    tests = ((cond, ()) for cond in _conditions(stmt, here) if inner.isdisjoint(v.name for v in free_vars(cond)))
    for cond, around in (*tests, *_tests_of_history(stmt, here)):
        if stmt.var in free_vars(cond) and not has_loads(cond):
            sides = (cond, Unary("not", cond))  # either may hold within an interval
            ways = (_parts(stmt, side, around, here) for side in sides)
            bounds = next((w for w in ways if w is not None), None)
            if bounds is not None:
                yield seq(*(replace(stmt, start=start, extent=extent) for start, extent in bounds))
                return  # the parts propose what else changes in them


def _tests_of_history(loop: For, here: Here) -> Iterator[tuple[Expr, Sequence[For]]]:
    """Conditions on inner loops, with these, around what reads elements that earlier iterations stored.

    In its first iterations a recurrence has no such elements, and no later one needs to ask for them.
    """
    stored = buffers_written(loop.body)
    found = [
        (s.cond, path)
        for s, path in _within_loops(loop.body, ())
        if path and any(e.buffer in stored and loop.var in free_vars(e) for e in _elements(s))
    ]
    if found and _in_turn(loop, here):
        yield from found


def _within_loops(stmt: Stmt, path: tuple[For, ...]) -> Iterator[tuple[If | Select, tuple[For, ...]]]:
    """Branches and choices, each with the loops around it whose variables its condition mentions."""
    tests = [stmt] if isinstance(stmt, If) else []
    chosen = [e for whole in stmt_exprs(stmt) for e in walk_expr(whole) if isinstance(e, Select)]
    for test in (*tests, *chosen):
        yield test, tuple(loop for loop in path if loop.var in free_vars(test.cond))
    for part in stmt_children(stmt):
        yield from _within_loops(part, (*path, stmt) if isinstance(stmt, For) else path)


def _elements(test: If | Select) -> Iterator[Load]:
    exprs = all_exprs(test.then) if isinstance(test, If) else walk_expr(test.then)
    return (e for whole in exprs for e in walk_expr(whole) if isinstance(e, Load))


def _conditions(loop: For, here: Here) -> Iterator[Expr]:
    """Conditions around work that is dear under a mask: sums being accumulated, functions like exp, and elements that
    are not there where it does not hold, so that all are padded.

    Other elementwise work has its mask for free, as vector code goes, and padding all is cheaper than many parts.
    """
    around = {loop.var, *(v for s in walk(loop.body) if isinstance(s, For) for v in bound_var(s))}
    few = len(_tests(loop, around)) <= _MAX_TESTS
    for inner in walk(loop.body):
        if not isinstance(inner, (If, Store)):
            continue
        dear = any(_is_dear(s, around) for s in walk(inner)) or (few and _reaches_out(loop, inner, here))
        if isinstance(inner, If) and dear:
            yield inner.cond
        elif isinstance(inner, Store) and dear:
            yield from (e.cond for e in walk_expr(inner.value) if isinstance(e, Select))


def _tests(loop: For, names: set[Var]) -> set[Expr]:
    """The conditions on variables of loops in a nest."""
    tests = {s.cond for s in walk(loop.body) if isinstance(s, If)}
    tests |= {e.cond for e in all_exprs(loop.body) if isinstance(e, Select)}
    return {t for t in tests if not names.isdisjoint(free_vars(t))}


def _is_dear(stmt: Stmt, around: set[Var]) -> bool:
    """Whether a store adds up over some of the loops `around` it, or computes a function of a library."""
    if not isinstance(stmt, Store):
        return False
    sums = not around <= free_vars(*stmt.indices)
    return any(
        (sums and isinstance(e, Load) and e.buffer == stmt.buffer)
        or (isinstance(e, (Unary, Binary)) and e.op in LIBRARY)
        for e in walk_expr(stmt.value)
    )


def _reaches_out(loop: For, part: If | Store, here: Here) -> bool:
    """Whether elements are read in a part of a loop that are not there in all of its iterations."""
    anywhere = here.iteration(loop)
    stores = [*stores_in(part)]
    elements = [e for s in stores for e in walk_expr(s.value) if isinstance(e, Load)]
    return anywhere is not None and any(_leaves(e, loop.var, anywhere) for e in elements)


def _leaves(element: Load, var: Var, here: Here) -> bool:
    """Whether an index that depends on a loop, and on none further in, may leave its dimension."""
    known = {*here.scope}
    for index, extent in zip(element.indices, element.buffer.shape, strict=True):
        names = free_vars(index)
        if var in names and names <= known and not has_loads(index):
            least, most = Binary("ge", index, const(0, index.dtype)), Binary("lt", index, of_dtype(extent, index.dtype))
            if not (here.truth(least) and here.truth(most)):
                return True
    return False


def _parts(loop: For, cond: Expr, around: Sequence[For], here: Here) -> Sequence[Bounds] | None:
    """Bounds of the parts of a loop, as `_split` has them, if that takes few steps to find."""
    ranges = tuple((f.var, f.start, f.extent) for f in (loop, *around))
    question = partial(_split, loop, cond, around, here)
    return here.once(("split", ranges, cond), lambda: pb.within_budget(question, None))


def _split(loop: For, cond: Expr, around: Sequence[For], here: Here) -> Sequence[Bounds] | None:
    """Starts and extents of a loop before, in and after the interval where a condition holds; None if there is none.

    With loops `around` the condition, that is where it holds in all of their iterations.
    """
    holds = pb.condition(cond)
    domains = [pb.loop_domain(f.var, f.start, f.extent) for f in (loop, *around)]
    inside = here.domain.intersect(domains[0].may)
    if not (holds.exact and all(d.exact for d in domains)):
        return None
    places = reduce(lambda region, d: region.intersect(d.may), domains[1:], inside)
    fails = pb.forget(places.subtract(holds.must), [f.var.name for f in around])
    true = inside.subtract(fails)
    scope: dict[str, Expr] = {v.name: v for e in (loop.start, loop.extent, cond) for v in free_vars(e)}
    return cut_around(true, inside, loop.var, scope, here.domain)


SPLITTING_RULES = (by_layout, by_period, windowed, unrolled, at_condition)
