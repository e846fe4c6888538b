"""Loops: iterations that do nothing, single iterations, and bindings that no iteration changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import assert_never, cast

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, rewrite
from egraph_rules.contexts.facts import along
from ir.analysis.conditions import conjunction
from ir.analysis.contents import Regions, constants
from ir.analysis.effects import meeting
from ir.floats import Floats
from ir.fold import folded
from ir.nodes import (
    SKIP,
    Alloc,
    AnyStmt,
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
    Unary,
    Var,
    const,
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import bound_to
from ir.program.calls import minus, of_dtype, plus
from ir.program.edit import nest
from ir.transform.loops.index_set_split import cut_around
from ir.transform.loops.ranges import MAX_PIECES, Bounds, least_range, strided_range
from ir.transform.storage.induction_variables import counters, without_counter
from ir.traverse import (
    all_exprs,
    all_same,
    always_evaluated,
    buffers_accessed,
    buffers_read,
    buffers_written,
    free_vars,
    has_loads,
    loads,
    stores_in,
    substitute,
    walk,
    walk_expr,
)

_MAX_CHOICES = 3  # loops of a nest that are shortened one by one: each makes twice as many programs


@rewrite(
    law="for i in n: s  =  for i in a .. b: s   where s does nothing outside a .. b",
    because="an iteration in which every branch is empty changes nothing",
    settles=lambda stmt, new, _: len(_bounds_in(stmt) ^ _bounds_in(new)) > 2,
)
def useful_iterations(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Leave out iterations at both ends for which the conditions in the body are false.

    Where that is so at many levels of a nest, the outer ones go at once.
    """
    if not isinstance(stmt, For) or stmt.kind == "vectorized" or not _is_guarded(stmt.body):
        return
    own = _useful_part(stmt, here)
    several = [*own, *(new for part in own for new in _further_in(part, here))]
    yield from several[-_MAX_CHOICES : -_MAX_CHOICES + 1] or several[:1]


def _further_in(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """What is in a loop with one more loop shortened each time, from the outside in."""
    inside = here.iteration(stmt) if isinstance(stmt, For) else None
    if isinstance(stmt, For) and inside is not None:
        yield from (replace(stmt, body=body) for body in _useful_parts(stmt.body, inside))


def _useful_parts(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """A nest with one more loop shortened each time, from the outside in."""
    match stmt:
        case For() if stmt.kind != "vectorized" and _is_guarded(stmt.body):
            own = _useful_part(stmt, here)
            yield from own
            yield from _further_in(own[0] if own else stmt, here)
        case If(cond=cond, then=then, other=other) if other == SKIP:
            inside = here.under(cond, True)
            if inside is not None:
                yield from (replace(stmt, then=arm) for arm in _useful_parts(then, inside))
        case _:
            pass


def _bounds_in(stmt: Stmt) -> set[tuple[Var, Expr, Expr]]:
    """Variables and bounds of the loops in a statement."""
    return {(s.var, s.start, s.extent) for s in walk(stmt) if isinstance(s, For)}


def _useful_part(loop: For, here: Here) -> list[Stmt]:
    """The loop over the iterations that do something; none if that is no shorter."""
    domain = pb.loop_domain(loop.var, loop.start, loop.extent)

    def found() -> list[Stmt]:
        if not pb.within_budget(lambda: domain.exact, False):
            return []
        return list(_shortened(loop, here, lambda: here.domain.intersect(domain.may).intersect(_useful(loop.body))))

    return here.once(("useful", here.contexts.identity(loop)), found)


@rewrite(
    law="for i in a .. b: s  =  for i in a .. c: s; for i in c .. d: s; for i in d .. b: s",
    because="the same iterations run in the same order",
    family="loops",
    cuts=True,
)
def around_gap(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Cut out the middle of a loop whose iterations leave out some or all of what those at both ends do, as in what
    fills borders. What is left there of inner loops has a gap of its own."""
    if not isinstance(stmt, For) or stmt.kind != "serial" or not _is_guarded(stmt.body):
        return
    if not here.effects(stmt.body).may:
        return  # assumptions cost nothing
    bounds = here.once(("gap", here.contexts.identity(stmt)), lambda: pb.within_budget(lambda: _gap(stmt, here), None))
    if bounds is not None:
        yield seq(*(replace(stmt, start=start, extent=extent) for start, extent in bounds))


def _gap(loop: For, here: Here) -> Sequence[Bounds] | None:
    """Bounds of what is before, in and after the middle of a loop, where that is most of it."""
    inside = pb.within_loops(here.domain, [loop])
    inner, body = list[For](), loop.body
    while isinstance(body, For):
        inner.append(body)
        body = body.body
    idle = pb.forget(pb.within_loops(inside, inner).subtract(_useful(body)), [o.var.name for o in inner])
    scope = here.names(loop)
    bounds = cut_around(idle, inside, loop.var, scope, here.domain)
    if bounds is None or len(bounds) < 3:
        return None
    most, count = folded(bounds[1][1]), folded(loop.extent)
    some = isinstance(most, Const) and isinstance(count, Const) and 2 * most.value < count.value
    return None if some else bounds


@rewrite(
    law="for i in n: s  =  for i in a .. b: s   where outside a .. b s writes only what nobody looks at",
    because="an iteration of which nobody sees anything may be left out",
)
def needed_iterations(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Leave out iterations at both ends that write only what may hold anything afterwards.

    Those at the end of which nothing is seen after the loop go together: they are read by each other alone.
    """
    if not isinstance(stmt, For) or stmt.kind == "vectorized":
        return
    if any(isinstance(s, (Assume, Assert, Evaluate)) for s in walk(stmt.body)):
        return
    inside, written = here.inside(stmt), here.effects(stmt.body).may
    domain = pb.loop_domain(stmt.var, stmt.start, stmt.extent)
    if inside is None or not written or any(b not in inside.live for b in written):
        return
    if not inside.writes_dead(stmt.body) or not pb.within_budget(lambda: domain.exact, False):
        return

    def seen() -> isl.Set:
        scope = {v.name for v in (*here.scope, stmt.var, *(v for e in all_exprs(stmt) for v in free_vars(e)))}
        trips = inside.domain.intersect(domain.may)

        def storing(live: Regions) -> isl.Set:
            found = trips.intersect(meeting(written, live))
            return pb.forget(found, pb.variables(found) - scope)

        found, after = storing(inside.live), here.live
        return found if written.keys() - after.keys() else found.intersect(pb.up_to(storing(after), stmt.var.name))

    yield from _shortened(stmt, here, seen)


@rewrite(
    law="for i in n: (s; B[x] = e; t)  =  for i in n: (s; t); B[x] = e with i = n - 1   where x is the same in all",
    because="of several values that are stored in one place the last is what remains",
)
def last_store(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Store after a loop what each iteration stores to one place, and nothing in the loop looks at."""
    if not isinstance(stmt, For) or stmt.kind == "vectorized" or has_loads(stmt.start) or has_loads(stmt.extent):
        return  # what bounds read may be another value after the loop
    parts = stmt.body.stmts if isinstance(stmt.body, Seq) else (stmt.body,)
    for k, part in enumerate(parts):
        steady = isinstance(part, Store) and stmt.var not in free_vars(*part.indices)
        if isinstance(part, Store) and steady and not any(map(has_loads, part.indices)):
            rest = (*parts[:k], *parts[k + 1 :])
            used = buffers_read(part.value).union(*map(buffers_accessed, rest))
            apart = part.buffer not in used and buffers_read(part.value).isdisjoint(
                b for s in rest for b in buffers_written(s)
            )
            if apart and here.truth(stmt.extent >= 1) and _harmless(stmt, part, here):
                last = folded(minus(plus(stmt.start, stmt.extent), const(1, stmt.var.dtype)))
                yield seq(replace(stmt, body=seq(*rest)) if rest else SKIP, substitute(part, {stmt.var: last}))


def _harmless(loop: For, part: Stmt, here: Here) -> bool:
    inside = here.iteration(loop)
    return inside is not None and inside.harmless(part)


@rewrite(
    law="for i in n: (s(p); p = p + c)  =  for i in n: s(p + c * i); p = p + c * n",
    because="what a nest only adds to is a sum over the iterations before",
    settles=lambda stmt, new, instructs: True,
)
def counted(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Put sums in the place of a counter, such as the position in an array that a nest fills in order."""
    if isinstance(stmt, For) and stmt.kind == "serial":
        found = (without_counter(stmt, counter, here) for counter in counters(stmt))
        yield from islice(filter(None, found), 1)


@rewrite(
    law="for i in n: s  =  if c: s with i = e   where s does nothing unless c holds and i is e",
    because="an iteration in which every branch is empty changes nothing",
)
def one_iteration(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Run the one iteration for which the conditions in the body can hold, such as `2 * i + k == o` for o and k."""
    if not isinstance(stmt, For) or stmt.kind == "vectorized" or not _is_guarded(stmt.body):
        return
    only = here.once(("one", here.contexts.identity(stmt)), lambda: _one(stmt, here))
    if only is not None and here.decided(only[0]):
        yield If(only[0], substitute(stmt.body, {stmt.var: only[1]}), SKIP)


def _one(loop: For, here: Here) -> tuple[Expr, Expr] | None:
    """When there is a useful iteration, and which, as far as that takes few steps to find."""
    domain = pb.loop_domain(loop.var, loop.start, loop.extent)
    if here.constant(loop.extent) == 1 or not pb.within_budget(lambda: domain.exact, False):
        return None
    found = here.ask(lambda: here.domain.intersect(domain.may).intersect(_useful(loop.body)).coalesce())
    return None if found is None else pb.within_budget(lambda: _only(loop, here, found), None)


def _only(loop: For, here: Here, useful: isl.Set) -> tuple[Expr, Expr] | None:
    """When there is a useful iteration, and which; None if there may be several, or none is ever."""
    scope = here.names(loop)
    line = pb.line(pb.forget(useful, pb.variables(useful) - {loop.var.name, *scope}), loop.var.name)
    if line is None or line.is_empty():
        return None
    first, last = (readback.coordinate(line, 0, upper=upper) for upper in (False, True))
    if first is None or last is None or not first.is_equal(last) or first.n_piece() > MAX_PIECES:
        return None
    when = readback.condition(line.params(), scope, here.domain)
    return when, of_dtype(readback.expression(first.coalesce(), scope, line.params()), loop.var.dtype)


def _shortened(loop: For, here: Here, iterations: Callable[[], isl.Set]) -> Iterator[Stmt]:
    """The loop over the least range that contains some iterations, if that is shorter."""
    found = here.ask(lambda: iterations().coalesce())
    if found is None:
        return
    if pb.within_budget(found.is_empty, False):
        yield SKIP
        return
    strided = pb.within_budget(lambda: strided_range(loop, found), None)
    new = (
        pb.within_budget(lambda: least_range(loop, found, here.names(loop), here.domain), None)
        if strided is None
        else None
    )
    if strided is not None:
        yield strided
    elif new is not None and (not new[0].same(loop.start) or not new[1].same(loop.extent)) and _pays(loop, *new):
        yield For(loop.var, *new, loop.body, loop.kind, loop.annotations, loop.span)


def _pays(loop: For, start: Expr, extent: Expr) -> bool:
    """Whether bounds are plain, or leave out a fourth of the iterations: what asks for remainders is no box."""
    plain = not any(isinstance(e, Binary) and e.op in ("floordiv", "floormod") for e in walk_expr(start))
    count, was = folded(extent), folded(loop.extent)
    return plain or not (isinstance(count, Const) and isinstance(was, Const)) or 4 * count.value <= 3 * was.value


def _is_guarded(stmt: Stmt) -> bool:
    """Whether a branch stands around everything that a statement does, so that it may do nothing."""
    match stmt:
        case If(then=then, other=other):
            return SKIP in (then, other) or _is_guarded(then) or _is_guarded(other)
        case For(body=body) | Let(body=body) | Alloc(body=body) | Block(body=body):
            return _is_guarded(body)
        case Seq(stmts=stmts):
            return all(map(_is_guarded, stmts))
        case _:
            return False


def _useful(stmt: Stmt) -> isl.Set:
    """Where a statement may do anything at all, as a params set; an over-approximation."""
    match cast(AnyStmt, stmt):
        case Seq(stmts=stmts):
            result = pb.never()
            for part in stmts:
                result = result.union(_useful(part))
            return result
        case If(cond=cond, then=then, other=other):
            yes, no = pb.condition(cond).may, pb.condition(Unary("not", cond)).may
            return yes.intersect(_useful(then)).union(no.intersect(_useful(other)))
        case For(var=var, body=body) as loop:
            inside = pb.loop_domain(var, loop.start, loop.extent).may.intersect(_useful(body))
            return pb.forget(inside, (var.name,))
        case Let(var=var, value=value, body=body):
            return pb.forget(_useful(body).intersect(bound_to(var, value)), (var.name,))
        case Alloc(body=body) | Block(body=body):
            return _useful(body)
        case Store() | Assume() | Assert() | Evaluate():
            return pb.always()
        case other:
            assert_never(other)


@rewrite(
    law="for i in n: A[x] = A[x] op e  =  for i in a .. b: A[x] = A[x] op e   where e is neutral to op outside a .. b",
    because="what is neutral leaves the element as it is",
    floats=Floats.NO_SIGNED_ZEROS,
)
def neutral_iterations(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Leave out iterations at both ends that add only what selections, or what elements hold, make neutral: padding."""
    if not isinstance(stmt, For) or stmt.kind == "vectorized" or not _accumulates(stmt.body, here):
        return
    inside, domain = here.inside(stmt), pb.loop_domain(stmt.var, stmt.start, stmt.extent)
    if inside is None or not pb.within_budget(lambda: domain.exact, False):
        return
    adding = pb.within_budget(lambda: _adding(stmt.body, inside), pb.always())
    if adding.plain_is_universe():
        return

    def added() -> isl.Set:
        found = here.domain.intersect(domain.may).intersect(adding)
        return pb.forget(found, pb.variables(found) - here.names(stmt).keys())

    yield from _shortened(stmt, here, added)


def _accumulates(stmt: Stmt, here: Here) -> bool:
    """Whether all that a statement does is to accumulate, and selections, or elements known as numbers, are in each."""
    if not all(isinstance(s, Store | For | Seq) for s in walk(stmt)):
        return False
    held = {buffer for buffer, _, _ in constants(here.known)}
    return all(
        any(isinstance(e, Select) or (isinstance(e, Load) and e.buffer in held) for e in always_evaluated(s.value))
        for s in stores_in(stmt)
    )


def _adding(stmt: Stmt, here: Here) -> isl.Set:
    """Where a statement may accumulate anything but what selections make neutral, as a params set."""
    match stmt:
        case For(var=var, start=start, extent=extent, body=body):
            within = here.inside(stmt)
            if within is None:
                return pb.never()
            found = pb.loop_domain(var, start, extent).may.intersect(_adding(body, within))
            return pb.forget(found, (var.name,))
        case Seq(stmts=stmts):
            return reduce(lambda a, b: a.union(b), (_adding(part, here) for part in stmts), pb.never())
        case Store(value=value):
            found, parts = pb.always(), [*always_evaluated(value)]
            for cond in dict.fromkeys(e.cond for e in parts if isinstance(e, Select)):
                outside = here.under(cond, False)
                if outside is not None and outside.adds_nothing(stmt):
                    found = found.intersect(pb.condition(cond).may)
            for load in dict.fromkeys(e for e in parts if isinstance(e, Load)):
                for where in _held(load, here):
                    padding = here.within_values(where)
                    if padding is not None and padding.adds_nothing(stmt):
                        found = found.subtract(where)
            return found
        case _:
            return pb.always()


def _held(load: Load, here: Here) -> Iterator[isl.Set]:
    """Where a load gives a number, one of several, as params sets."""
    spot = None if any(map(has_loads, load.indices)) else pb.point(load.indices)
    if spot is not None:
        yield from (spot.intersect(where).params() for b, _, where in constants(here.known) if b == load.buffer)


@rewrite(
    law="for i in 1: s  =  s with i = 0",
    because="the one iteration is the first",
    settles=lambda _stmt, _new, instructs: not instructs,
)
def single_iteration(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Replace a loop of one iteration by its body."""
    if isinstance(stmt, For) and not has_loads(stmt.start) and here.constant(stmt.extent) == 1:
        yield substitute(stmt.body, {stmt.var: stmt.start})


@rewrite(law="for i in n: s  =  skip   where n <= 0", because="no iteration runs")
def no_iteration(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Drop a loop that never runs."""
    if isinstance(stmt, For) and here.truth(Binary("le", stmt.extent, const(0, stmt.extent.dtype))):
        yield SKIP


@rewrite(
    law="for i in n: let v = e: s  =  let v = e: for i in n: s   where e does not depend on i",
    because="every iteration binds the same value, and evaluating it cannot fail",
    family="hoist",
)
def binding(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Bind before a loop what each of its iterations binds alike."""
    if not isinstance(stmt, For) or not isinstance(stmt.body, Let):
        return
    let = stmt.body
    # decided also says that no buffer is read and the value is not undef, which each iteration might freeze differently
    if stmt.var not in free_vars(let.value) and here.decided(let.value):
        yield replace(let, body=replace(stmt, body=let.body))


@rewrite(
    law="for i in a .. b: s  =  for i in c .. d: if a <= i and i < b: s   where c <= a and b <= d",
    because="the guard leaves out what the longer loop has more",
)
def whole_range(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Let a loop that sizes or data bound run through all of a dimension, where padding may make its guard needless."""
    if not isinstance(stmt, For) or stmt.kind != "serial" or isinstance(stmt.extent, Const) or _is_guarded(stmt.body):
        return
    stop = folded(Binary("add", stmt.start, of_dtype(stmt.extent, stmt.start.dtype)))
    bounds = [Binary("lt", stmt.var, of_dtype(stop, stmt.var.dtype))]
    first = stmt.start if isinstance(stmt.start, Const) else const(0, stmt.start.dtype)
    if first is not stmt.start:
        bounds.insert(0, Binary("ge", stmt.var, of_dtype(stmt.start, stmt.var.dtype)))
    written = here.effects(stmt.body).may
    if any(load.buffer in written for bound in bounds for load in loads(bound)):
        return  # they are worked out once
    for n in dict.fromkeys(along(stmt.body, stmt.var)):
        if not (here.truth(Binary("ge", stmt.start, first)) and here.truth(_at_most(stop, n))):
            continue
        guarded = If(conjunction(bounds), stmt.body, SKIP)
        longer = replace(stmt, start=first, extent=const(n - int(first.value), stmt.extent.dtype), body=guarded)
        inside = here.inside(longer)
        beyond = None if inside is None else inside.under(guarded.cond, False)
        if beyond is not None and beyond.may_do_nothing(stmt.body) and beyond.harmless(stmt.body):
            yield longer


def _at_most(expr: Expr, n: int) -> Expr:
    return Binary("le", expr, const(n, expr.dtype))


@rewrite(
    law="for i in n: if c: A[i] = x else: A[i] = v  =  for i in n: A[i] = v; for i in n: if c: A[i] = x",
    because="each element is stored once, by an iteration of its own, and nothing reads any of them",
)
def filled(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Fill an array with a number before the loops that store the rest, where these divide a variable: without its
    other iterations the loop may be one over quotients and one over remainders."""
    loops: list[For] = []
    inner: Stmt = stmt
    while isinstance(inner, For) and inner.kind == "serial":
        loops.append(inner)
        inner = inner.body
    choice = _choice(inner) if loops and not here.in_loop else None
    if choice is None or _divides(choice.cond) or not _divides(choice.then.value):
        return
    if not _each_its_own(loops, choice.then):
        return
    read = {e.buffer for e in all_exprs(nest(loops, inner)) if isinstance(e, Load)}
    if choice.then.buffer not in read:
        yield seq(nest(loops, choice.other), nest(loops, If(choice.cond, choice.then, SKIP)))


class _Choice(Struct, frozen=True):
    """A store of what is worked out where a condition holds, and a store of a number to the same element elsewhere."""

    cond: Expr
    then: Store
    other: Store


def _choice(stmt: Stmt) -> _Choice | None:
    match stmt:
        case If(cond=cond, then=Store() as yes, other=Store() as no) if yes.buffer == no.buffer:
            same = all_same(yes.indices, no.indices)
        case Store(value=Select(cond=cond, then=a, other=b)):
            yes, no, same = replace(stmt, value=a), replace(stmt, value=b), True
        case _:
            return None
    if isinstance(yes.value, Const):
        cond, yes, no = Unary("not", cond), no, yes
    return _Choice(cond, yes, no) if same and isinstance(no.value, Const) else None


def _divides(expr: Expr) -> bool:
    """Whether a variable is divided by a number, whichever the case may be."""
    parts = [*walk_expr(expr)]
    divided = (e for e in parts if isinstance(e, Binary) and e.op in ("floordiv", "floormod"))
    chosen = any(isinstance(e, Select) for e in parts)
    return not chosen and any(isinstance(e.rhs, Const) and free_vars(e.lhs) for e in divided)


def _each_its_own(loops: Sequence[For], store: Store) -> bool:
    """Whether each iteration of a nest stores to an element that no other one stores to."""
    return {loop.var for loop in loops} <= {index for index in store.indices if isinstance(index, Var)}


LOOP_RULES = (
    useful_iterations,
    neutral_iterations,
    around_gap,
    one_iteration,
    needed_iterations,
    last_store,
    counted,
    single_iteration,
    no_iteration,
    whole_range,
    filled,
)
