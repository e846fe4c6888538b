"""Loops rewritten to run over a buffer in its storage order.

The loops that index the buffer are replaced by one loop for each of its axes, in row-major order, and isl inverts the
indices: as many of the old loops as possible become functions of the new ones and of the loops that stay. A statement
above the innermost replaced loop keeps its place where the outer new loops alone say when it runs; else it is split off
into a nest of its own. Whether the result means the same is decided by `ir.analysis.legality`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NoReturn

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.accesses import accesses_in, nests_with, plain, refuse_two, same_place, separate_loops, touches
from ir.analysis.inversion import Nest, domain_of, points_of
from ir.analysis.legality import Violation, check_order
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    Var,
    const,
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import proven
from ir.presburger.indices import Tidy
from ir.program.edit import (
    ROOT,
    Changed,
    beside,
    block_path,
    blocks_of,
    find_buffer,
    loop_path,
    names_in,
    nest,
    path_to,
    plus,
    refuse,
    replace_at,
    replace_buffer,
    with_body,
)
from ir.traverse import (
    conjuncts_of,
    free_vars,
    has_loads,
    map_stmt,
    substitute,
    substitute_expr,
)

_SUFFIX = {True: "_init", False: "_end"}  # of blocks that were split off, before and after
_OPERATIONS = 2_000_000  # isl's steps for one nest; hand-written ones need some ten thousand
_SPLIT = ("split off", True)  # marks loops of nests beside the main one until they are named
_HOLE = Evaluate(Var("?", DType.BOOL))  # stands for what is not built yet


def sequential_buffer_access(func: PrimFunc, block: str, buffer: str, *, reassociate: bool) -> Changed:
    """Let the loops of a block that index `buffer` run over it in row-major order, each nest by itself.

    Returns the new loops, outermost first. Blocks with axes become plain names in the nests that change.

    Raises:
        ScheduleError: nothing in the block indexes the buffer by a loop, its accesses differ, the indices cannot be
            inverted, or the new order would change what is computed.
    """
    target = find_buffer(func, buffer)
    path = block_path(func, block)
    names = [loop.var.name for loop in nests_with(path, target)]
    if not names:
        message = f"no loop in block `{block}` accesses {buffer}"
        having = [b.name for b in blocks_of(func).values() if touches(b, target)]
        help = f"{buffer} is accessed in {', '.join(having)}" if having else f"{buffer} is not accessed in a loop"
        refuse("unused-buffer", message, path[-1].span, help=help)
    outputs: list[str] = []
    for name in names:
        done = pb.within_budget(lambda f=func, n=name: _rewrite(f, n, target, reassociate), None, _OPERATIONS)
        if done is None:
            message = f"inverting the indices of {buffer} takes too many steps"
            refuse("budget", message, path[-1].span, help="rewrite a smaller block")
        func = done[0]
        outputs += done[1]
    return Changed(func, tuple(outputs))


# One nest ------------------------------------------------------------------------------------------------------------


def _rewrite(func: PrimFunc, name: str, buffer: Buffer, reassociate: bool) -> tuple[PrimFunc, list[str]]:
    """`func` with the nest under a loop rewritten, and the names of its new loops; unchanged if in order already."""
    path = loop_path(func, name)
    unit = plain(func, path[-1])
    found = list(accesses_in(unit, buffer))
    if not found:
        return func, []
    different = next((k for k, (_, indices) in enumerate(found) if not same_place(indices, found[0][1])), None)
    if different is not None:
        inner = separate_loops(unit, found)
        if inner is None:
            refuse_two(buffer, found[0], found[different], unit.span)
        outputs: list[str] = []
        for loop in inner:
            func, made = _rewrite(func, loop, buffer, reassociate)
            outputs += made
        return func, outputs
    event, indices = found[0]
    used = free_vars(*indices)
    outer = next((loop for loop in event.loops if loop.var in used), None)
    if outer is None:
        return func, []
    lowered = with_body(func, path, unit)
    here = path_to(lowered.body, lambda s: isinstance(s, For) and s.var.same(outer.var))
    assert here is not None
    nest = Nest.of(lowered, here, buffer, indices)
    if nest is None:
        return func, [loop.var.name for loop in event.loops if loop.var in used]
    new = _reordered(nest, reassociate)
    return with_body(lowered, *_with_blocks(here, new, names_in(lowered))), [loop.var.name for loop in nest.axes]


# Building ------------------------------------------------------------------------------------------------------------

_Way = Literal["place", "sink", "split"]


class _Result(Struct, frozen=True):
    """The main nest, and what was split off before and after it."""

    before: Stmt
    main: Stmt
    after: Stmt

    @property
    def whole(self) -> Stmt:
        return seq(self.before, self.main, self.after)


def _reordered(nest: Nest, reassociate: bool) -> _Result:
    """The new nest, checked to mean the same.

    Raises:
        ScheduleError: it does not, in no form.
    """
    result: _Result | None = None
    violation: Violation | None = None
    for plan, divided in _plans(nest):
        builder = _Builder(divided, plan)
        built = builder.build()
        if built is None:
            continue
        found = check_order(nest.root, built.whole, builder.values, nest.context, reassociate=reassociate)
        if found is None:
            result = built
            break
        if violation is None or divided is nest:
            shown = check_order(
                nest.root, _tidied(nest, built).whole, builder.values, nest.context, reassociate=reassociate
            )
            violation = found if shown is None else shown
    if result is None:
        _unordered(nest, violation)
    taken = names_in(nest.func) | {axis.var.name for axis in nest.axes}
    tidy = _tidied(nest, result)
    return _Result(*(_told_apart(part, nest, taken) for part in (tidy.before, tidy.main, tidy.after)))


def _tidied(nest: Nest, result: _Result) -> _Result:
    """A result with small indices, those of the buffer being the loops over it."""
    tidy = Tidy(nest.order, frozenset(loop.var for loop in (*nest.axes, *nest.kept)))
    main = replace_buffer(result.main, nest.buffer, nest.buffer, nest.in_order)
    return _Result(*(tidy.statement(s, nest.context) for s in (result.before, main, result.after)))


def _told_apart(stmt: Stmt, nest: Nest, taken: set[str]) -> Stmt:
    """A statement in which loops that were split off have other names than those of the main nest."""
    main = {loop.var for loop in (*nest.axes, *nest.kept)}

    def rename(s: Stmt) -> Stmt:
        if not isinstance(s, For) or _SPLIT not in s.annotations:
            return s
        s = _one_iteration(replace(s, annotations=tuple(a for a in s.annotations if a != _SPLIT)))
        if not isinstance(s, For) or s.var not in main:
            return s
        var = replace(s.var, name=fresh(s.var.name, taken))
        return replace(s, var=var, body=substitute(s.body, {s.var: var}))

    return map_stmt(stmt, on_stmt=rename)


def _unordered(nest: Nest, violation: Violation | None) -> NoReturn:
    message = f"the loops cannot run over {nest.buffer.name} in its storage order"
    if violation is None:
        help = "move the statements between the loops out of the nest first"
        refuse("order", f"{message}: statements between the loops cannot be split off", nest.root.span, help=help)
    help = "choose a buffer whose order keeps these accesses in turn, or separate the statements first"
    refuse("order", f"{message}: {violation.message}", nest.root.span, notes=violation.notes, help=help)


def _plans(nest: Nest) -> Iterator[tuple[tuple[tuple[_Way, int], ...], Nest]]:
    """What to do with each level: place it under so many new loops, leave it to the next, or split it off."""
    last = len(nest.spine) - 1
    end: tuple[_Way, int] = ("place", len(nest.axes) + len(nest.kept))
    near: list[tuple[_Way, int]] = []
    apart: list[tuple[_Way, int]] = []
    for level in range(last):
        shape = _shape(nest.paths[level])
        depth = nest.depth(level + 1) if shape != "bare" else None
        alone: tuple[_Way, int] = ("split", 0) if shape == "crowded" else ("sink", 0)
        near.append(alone if depth is None else ("place", depth))
        apart.append(alone)
    yield (*near, end), nest
    if near != apart:
        yield (*apart, end), nest
    if (divided := _divided(nest)) is not None:
        yield (*near, end), divided
        if near != apart:
            yield (*apart, end), divided


def _divided(nest: Nest) -> Nest | None:
    """The nest with the start of its innermost statements taken for what stands before them, if it is a branch.

    That is the initialisation of a reduction, which runs in some iterations only.
    """
    path = [nest.spine[-1].body]
    while isinstance(path[-1], Block) or (isinstance(path[-1], If) and not _decides(path[-1])):
        path.append(path[-1].then if isinstance(path[-1], If) else path[-1].body)
    match path[-1]:
        case Seq(stmts=(If() as first, *rest)) if not _decides(first) and not touches(first, nest.buffer):
            inner = Seq(tuple(rest)) if len(rest) > 1 else rest[0]
            whole = Seq((first, inner))
            body = replace_at(tuple(path), whole)
            way = path_to(body, lambda s: s is inner)
            assert way is not None
            return replace(nest, paths=(*nest.paths[:-1], way))
        case _:
            return None


def _shape(path: tuple[Stmt, ...]) -> Literal["bare", "guarded", "crowded"]:
    """Whether only names, only plain conditions too, or other statements stand between two loops."""
    found: Literal["bare", "guarded"] = "bare"
    for stmt in path[:-1]:
        match stmt:
            case Block():
                pass
            case If(cond=cond, other=other) if other == SKIP and not has_loads(cond):
                found = "guarded"
            case _:
                return "crowded"
    return found


class _Builder:
    """Builds a nest by a plan; `values` are then the replaced variables in terms of the loops around them."""

    def __init__(self, nest: Nest, plan: Sequence[tuple[_Way, int]]) -> None:
        self.nest = nest
        self.plan = plan
        self.loops = (*nest.axes, *nest.kept)
        self.values: dict[Var, Expr] = {}

    def build(self) -> _Result | None:
        """The new nest, or None where statements cannot be split off as planned."""
        return self._group(0, 0, self.nest.context)

    def _group(self, first: int, depth: int, known: isl.Set) -> _Result | None:
        """Old loops from `first` to the next placed level, under new loops from `depth` on."""
        end = next(k for k in range(first, len(self.plan)) if self.plan[k][0] == "place")
        before, after = SKIP, SKIP
        last = end == len(self.plan) - 1
        outer = end + (last and len(self.nest.paths[end]) > 1)  # the innermost level itself is split too
        for level in reversed(range(first, outer)):
            if self.plan[level][0] == "split" or level == end:
                parts = self._split_off(first, level)
                if parts is None:
                    return None
                before, after = seq(parts[0], before), seq(after, parts[1])
        until = self.plan[end][1]
        guard, loops, inside = self._guard(first, end, depth, until, known)
        body: Stmt = _HOLE
        for level in range(first, outer):
            body = _filled(_around(self.nest.paths[level]), body)
        path = self.nest.paths[end]
        if last:
            body = substitute(_filled(body, path[-1]), self.values)
        else:
            deeper = self._group(end + 1, until, inside)
            if deeper is None:
                return None
            here = substitute(_filled(body, replace_at(path, _HOLE)), self.values)
            body = _filled(here, deeper.whole)
        if not guard.same(TRUE):
            body = _merged(guard, body)
        return _Result(before, nest(loops, body), after)

    def _split_off(self, first: int, level: int) -> tuple[Stmt, Stmt] | None:
        """Nests of the old loops from `first` to `level` with what stands before and after the next one there."""
        for path in self.nest.paths[first : level + 1]:
            if any(isinstance(s, (Alloc, Let)) or (isinstance(s, If) and _decides(s)) for s in path[:-1]):
                return None
        out: list[Stmt] = []
        for before in (True, False):
            part = _beside(self.nest.paths[level], before=before)
            for inner in reversed(range(first, level + 1)):
                if part == SKIP:
                    break
                old = self.nest.spine[inner]
                part = replace(old, body=part, annotations=(*old.annotations, _SPLIT))
                if inner > first:
                    part = _filled(_around(self.nest.paths[inner - 1], _SUFFIX[before]), part)
            out.append(substitute(part, self.values))
        return out[0], out[1]

    def _guard(self, first: int, end: int, depth: int, until: int, known: isl.Set) -> tuple[Expr, list[For], isl.Set]:
        """The condition under which new iterations are old ones, the new loops, and what holds inside."""
        nest = self.nest
        level = end + 1
        related = nest.relation(level, until)
        gone = nest.gone(level)
        image = pb.forget(related, [v.name for v in gone])
        new = [loop.var for loop in nest.spine[first:level] if loop.var in nest.replaced]
        for var in (v for v in new if v in gone):
            self.values[var] = self._inverse(related, gone, var, image)
        loops, rebound = self._new_loops(depth, until)
        for loop in loops:
            bounds = pb.loop_domain(loop.var, loop.start, loop.extent)
            known = known.intersect(bounds.may)
        tests = [t for t in nest.spine[first:level] if t.var in new or t.var in rebound]
        found: list[Expr] = []
        for test in (t for loop in tests for t in self._within(loop)):
            if not proven(test, known):
                found.append(test)
                known = known.intersect(pb.condition(test).may)
        rest = known.subtract(image)
        if not rest.is_empty():
            found.append(readback.condition(image, nest.scope, known))
            known = known.intersect(image)
        guard: Expr = TRUE
        for test in found:
            guard = test if guard.same(TRUE) else Binary("and", guard, test)
        return guard, loops, known

    def _within(self, loop: For) -> Iterator[Expr]:
        """That the old variable of a loop is in its range, in terms of the new loops."""
        value = self._now(loop.var)
        yield Binary("le", self._now(loop.start), value)
        yield Binary("lt", value, self._now(plus(loop.start, loop.extent)))

    def _now(self, expr: Expr) -> Expr:
        order = self.nest.order
        return Tidy(order, frozenset(order)).expr(substitute_expr(expr, self.values), self.nest.context)

    def _inverse(self, related: isl.Set, gone: Sequence[Var], var: Var, image: isl.Set) -> Expr:
        """The value of a replaced variable in terms of the new loops."""
        points = isl.PwMultiAff.from_set(points_of(related, gone))
        amount = points.get_pw_aff(list(gone).index(var)).coalesce()
        pieces = amount.get_pieces()
        if len(pieces) == 1 and pieces[0][1].dim(isl.dim_type.div) == 0:
            return self._linear(pieces[0][1], var.dtype)
        return readback.expression(amount, self.nest.scope, image)

    def _linear(self, amount: isl.Aff, dtype: DType) -> Expr:
        space = amount.get_domain_space()
        total: Expr = const(amount.get_constant_val().to_python(), dtype)
        for k in range(space.dim(isl.dim_type.param)):
            count = amount.get_coefficient_val(isl.dim_type.param, k).to_python()
            if count != 0:
                atom = self.nest.scope[str(space.get_dim_name(isl.dim_type.param, k))]
                total = Binary("add", total, Binary("mul", const(count, dtype), atom))
        return Tidy(self.nest.order, frozenset(free_vars(total))).expr(total, self.nest.context)

    def _new_loops(self, depth: int, until: int) -> tuple[list[For], set[Var]]:
        """New loops, and the variables of those kept ones whose bounds had to be widened."""
        out: list[For] = []
        widened: set[Var] = set()
        for place in range(depth, until):
            loop = self.loops[place]
            seen = {inner.var for inner in self.loops[:place]}
            mine = {inner.var for inner in self.loops}
            if loop in self.nest.kept:
                bounds = tuple(substitute_expr(e, self.values) for e in (loop.start, loop.extent))
                if any((free_vars(e) & (mine | set(self.nest.replaced))) - seen for e in bounds):
                    bounds = self._hull(loop)
                    widened.add(loop.var)
                loop = replace(loop, start=bounds[0], extent=bounds[1])
            out.append(loop)
        return out, widened

    def _hull(self, loop: For) -> tuple[Expr, Expr]:
        """Bounds that cover a loop whatever the loops around it are."""
        domain = domain_of(self.nest.spine, self.nest.context, self.nest.buffer)
        values = pb.forget(points_of(domain, [loop.var]), [o.var.name for o in self.nest.spine])
        low, high = (readback.coordinate(values, 0, upper=upper) for upper in (False, True))
        if low is None or high is None:
            refuse("not-affine", f"loop {loop.var.name} has no bounds that hold for all loops around it", loop.span)
        count = high.sub(low).add(pb.number(1))
        start, extent = (readback.expression(f.coalesce(), self.nest.scope, self.nest.context) for f in (low, count))
        return start, extent


def _decides(branch: If) -> bool:
    return branch.other != SKIP or has_loads(branch.cond)


def _one_iteration(loop: For) -> Stmt:
    """A loop around one branch that is taken where its variable is at its start, without the loop; else as it is."""
    wraps: list[Stmt] = [loop]
    inner = loop.body
    while isinstance(inner, (For, Block)):
        wraps.append(inner)
        inner = inner.body
    if not isinstance(inner, If) or inner.other != SKIP or not _is_positive(loop.extent):
        return loop
    tests = list(conjuncts_of(inner.cond))
    start = Binary("eq", loop.var, loop.start)
    others = [t for t in tests if not t.same(start)]
    if len(others) == len(tests):
        return loop
    cond = others[0] if others else TRUE
    for test in others[1:]:
        cond = Binary("and", cond, test)
    body = inner.then if cond.same(TRUE) else replace(inner, cond=cond)
    return substitute(replace_at((*wraps[1:], inner), body), {loop.var: loop.start})


def _is_positive(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value > 0


def _around(path: tuple[Stmt, ...], suffix: str = "") -> Stmt:
    """What stands around the last statement of a path, a hole in its place, and nothing beside it."""
    result: Stmt = _HOLE
    for stmt in reversed(path[:-1]):
        if not isinstance(stmt, Seq):
            result = _named(replace_at((stmt, *_child(stmt, path)), result), suffix)
    return result


def _named(stmt: Stmt, suffix: str) -> Stmt:
    return replace(stmt, name=stmt.name + suffix) if isinstance(stmt, Block) else stmt


def _child(stmt: Stmt, path: tuple[Stmt, ...]) -> tuple[Stmt]:
    return (path[next(k for k, s in enumerate(path) if s is stmt) + 1],)


def _beside(path: tuple[Stmt, ...], *, before: bool) -> Stmt:
    """What runs before (after) the last statement of a path, under the same conditions."""
    result: Stmt = SKIP
    for stmt in reversed(path[:-1]):
        (child,) = _child(stmt, path)
        if isinstance(stmt, Seq):
            earlier, later = beside(stmt, child)
            result = seq(*earlier, result) if before else seq(result, *later)
        elif result != SKIP:
            result = _named(replace_at((stmt, child), result), _SUFFIX[before])
    return result


def _filled(stmt: Stmt, part: Stmt) -> Stmt:
    return map_stmt(stmt, on_stmt=lambda s: part if s == _HOLE else s)


def _merged(guard: Expr, body: Stmt) -> Stmt:
    """`if guard: body`, as one branch where the body is one that loads nothing to decide."""
    if isinstance(body, If) and not _decides(body):
        return replace(body, cond=Binary("and", guard, body.cond))
    return If(guard, body, SKIP)


# Blocks --------------------------------------------------------------------------------------------------------------


def _with_blocks(path: tuple[Stmt, ...], result: _Result, taken: set[str]) -> tuple[tuple[Stmt, ...], Stmt]:
    """Where to put the new nest, and what: parts that were split off a block get blocks of their own beside it."""
    parent = path[-2] if len(path) > 1 else None
    if result.before == SKIP and result.after == SKIP:
        return path, result.main
    if not isinstance(parent, Block) or parent.name == ROOT:
        return path, result.whole
    parts: list[Stmt] = []
    for part, suffix in ((result.before, _SUFFIX[True]), (result.main, ""), (result.after, _SUFFIX[False])):
        if part != SKIP:
            name = fresh(parent.name + suffix, taken) if suffix else parent.name
            parts.append(replace(parent, name=name, body=part, reads=None, writes=None))
    return path[:-1], seq(*parts)
