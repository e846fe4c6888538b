"""Splitting the initialisation of a reduction from its update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.defined import is_defined
from ir.analysis.legality import check_order, domain_of, events
from ir.analysis.stages import conflict
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    Binary,
    Block,
    Evaluate,
    Expr,
    For,
    If,
    IterVar,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at, proven
from ir.program.calls import of_dtype
from ir.program.edit import (
    Changed,
    beside,
    block_path,
    folded,
    loop_path,
    names_in,
    nest,
    path_to,
    refuse,
    replace_at,
    scope_of,
    with_body,
)
from ir.traverse import (
    all_exprs,
    buffers_read,
    buffers_written,
    free_vars,
    has_loads,
    loads,
    stmt_exprs,
    stores_in,
    substitute,
    substitute_expr,
    walk,
)

_HELP = "give a loop that holds the whole reduction"


def decompose_reduction(func: PrimFunc, block: str, loop: str, *, reassociate: bool) -> Changed:
    """Move the initialisation of a block into a block of its own, `<block>_init`, before a loop.

    The initialisation is `T.init` of the block. In a block without it, or where the loop is inside the block, it is the
    first statement beside the updates, with or without a condition such as `if k == 0`. It gets copies of the loops
    from `loop` inward that it needs: those that it depends on, or that its conditions do not pin to one iteration.

    Raises:
        ScheduleError: the loop has nothing to do with the block, there is no initialisation in it, or it would come
            too early.
    """
    target = block_path(func, block)
    path = loop_path(func, loop)
    inner, outer = target[-1], path[-1]
    assert isinstance(outer, For)
    inside = path_to(outer, lambda s: s is inner)
    if inside is None and path_to(inner, lambda s: s is outer) is None:
        message = f"loop {loop} is not around block {block}, nor inside it"
        refuse("not-an-ancestor", message, outer.span, help="give a loop that holds all iterations of the reduction")
    found = _Init.of((outer,) if inside is None else inside)
    if found is None:
        message = f"loop {loop} holds no initialisation of block {block}"
        help = "the initialisation is `with T.init():`, or a store beside the updates of the same buffer, before them"
        refuse("no-init", message, outer.span, help=help)
    known = facts_at(func, path)
    found.check(known)
    name = fresh(f"{block}_init", names_in(func))
    result = _Decomposition(func, path, found, name, known).build(reassociate)
    return Changed(with_body(func, path, result), (name,))


class _Init(Struct, frozen=True, eq=False):
    """An initialisation: the path from the loop to where it stands, itself, and the rest of that place.

    `conds` are the conditions under which it runs, `values` what the names bound on the path stand for.
    """

    path: tuple[Stmt, ...]
    stmt: Stmt
    rest: Stmt
    conds: tuple[Expr, ...]
    values: Mapping[Var, Expr]
    axes: tuple[IterVar, ...] = ()

    @staticmethod
    def of(path: tuple[Stmt, ...]) -> _Init | None:
        """What initialises, in the last statement of a path."""
        conds, values = _around(path)
        target = path[-1]
        if isinstance(target, Block) and target.init is not None:
            return _Init._of_block(path, target, target.init, conds, values)
        below = path_to(target, lambda s: isinstance(s, Seq) and len(s.stmts) > 1)
        if below is None or any(isinstance(s, Block) and s.init is not None for s in below):
            return None
        path = (*path[:-1], *below)
        conds, values = _around(path)
        place = below[-1]
        assert isinstance(place, Seq)
        first, rest = place.stmts[0], seq(*place.stmts[1:])
        if not all(isinstance(s, (Store, If, Seq)) for s in walk(first)):
            return None
        written = buffers_written(first)
        if not written or any(load.buffer in written for e in all_exprs(first) for load in loads(e)):
            return None
        if not any(s.buffer in written for s in stores_in(rest)):
            return None
        stmt = first
        if isinstance(first, If) and first.other == SKIP and not has_loads(first.cond):
            conds, stmt = (*conds, first.cond), first.then
        return _Init(path, stmt, rest, conds, values)

    @staticmethod
    def _of_block(
        path: tuple[Stmt, ...], block: Block, init: Stmt, conds: tuple[Expr, ...], values: Mapping[Var, Expr]
    ) -> _Init:
        """The `T.init` of a block: it runs where all reduce axes are at their start."""
        starts: dict[Var, Expr] = {}
        axes, place = list[IterVar](), dict(values)
        for axis in block.axes:
            start, value = (substitute_expr(e, starts) for e in (axis.start, axis.value))
            if axis.kind == "reduce":
                starts[axis.var] = start
                at, first = (substitute_expr(e, place) for e in (axis.value, start))
                conds = conds if at.same(first) else (*conds, Binary("eq", at, first))
            else:
                axes.append(replace(axis, start=start, extent=substitute_expr(axis.extent, starts), value=value))
            place[axis.var] = substitute_expr(axis.value, place)
        if not block.predicate.same(TRUE):
            conds = (*conds, substitute_expr(block.predicate, place))
        return _Init(path, substitute(init, starts), replace(block, init=None), conds, values, tuple(axes))

    def check(self, known: isl.Set) -> None:
        """Refuse what depends on data, may fail, or uses a buffer of its own, on the way to the initialisation."""
        around = [e for s in self.path[:-1] if isinstance(s, (For, If)) for e in stmt_exprs(s)]
        span = self.path[0].span
        if any(has_loads(e) for e in (*around, *self.values.values(), *self.conds)):
            message = "the initialisation runs under loops, names or conditions that read a buffer"
            refuse("dependence", message, span, help="such an initialisation stays where it is")
        for loop in self.loops[1:]:
            if not (is_defined(loop.start, known) and is_defined(loop.extent, known)):
                message = f"the range of loop {loop.var.name} may divide by zero where it is not evaluated now"
                refuse("undefined-range", message, loop.span, help="assume that the divisor is not zero with T.assume")
        buffers = buffers_written(self.stmt) | buffers_read(*all_exprs(self.stmt))
        for stmt in self.path:
            if isinstance(stmt, Alloc) and stmt.buffer in buffers:
                message = f"the initialisation uses {stmt.buffer.name}, which each iteration allocates anew"
                refuse("private", message, stmt.span, help=f"give a loop inside the allocation of {stmt.buffer.name}")

    @property
    def loops(self) -> list[For]:
        """The loops on the path, outermost first, with names bound on the path replaced in their bounds."""
        loops = (s for s in self.path if isinstance(s, For))
        return [
            replace(s, start=substitute_expr(s.start, self.values), extent=substitute_expr(s.extent, self.values))
            for s in loops
        ]

    @property
    def passed(self) -> Stmt:
        """The loop with nothing but the statements that come before the initialisation in its body."""
        new: Stmt = SKIP
        for parent, child in zip(reversed(self.path[:-1]), reversed(self.path[1:]), strict=True):
            new = seq(*beside(parent, child)[0], new) if isinstance(parent, Seq) else replace_at((parent, child), new)
        return new

    def without_passed(self, end: Stmt) -> Stmt:
        """The loop with `end` at the end of the path, and without the statements that come before it."""
        for parent, child in zip(reversed(self.path[:-1]), reversed(self.path[1:]), strict=True):
            if isinstance(parent, Seq):
                rest = parent.stmts[len(beside(parent, child)[0]) + 1 :]
                end = seq(end, *rest)
            elif isinstance(parent, Block):
                end = replace(parent, init=None, body=end)
            else:
                end = replace_at((parent, child), end)
        return end


def _around(path: tuple[Stmt, ...]) -> tuple[tuple[Expr, ...], dict[Var, Expr]]:
    """Conditions and names on a path, in terms of its loop variables."""
    conds: list[Expr] = []
    values: dict[Var, Expr] = {}
    for stmt, child in pairwise(path):
        match stmt:
            case If(cond=cond, then=then):
                cond = substitute_expr(cond, values)
                conds.append(cond if child is then else Unary("not", cond))
            case Let(var=var, value=value):
                values[var] = substitute_expr(value, values)
            case Block(axes=axes, predicate=predicate):
                for axis in axes:
                    values[axis.var] = substitute_expr(axis.value, values)
                if not predicate.same(TRUE):
                    conds.append(substitute_expr(predicate, values))
            case _:
                pass
    return tuple(conds), values


class _Decomposition(Struct, frozen=True, eq=False):
    """The loop at the end of a path with an initialisation before it, in a block called `name`."""

    func: PrimFunc
    outside: tuple[Stmt, ...]
    found: _Init
    name: str
    known: isl.Set

    def build(self, reassociate: bool) -> Stmt:
        """The initialisation, and the loop without it.

        Raises:
            ScheduleError: an initialisation would run before something that it must follow.
        """
        loop, found = self.found.path[0], self.found
        assert isinstance(loop, For)
        alone, update = found.without_passed(found.path[-1]), found.without_passed(found.rest)
        violation = None
        for plan_of in (lambda: pb.within_budget(self._few_loops, None), self._all_loops):
            if (plan := plan_of()) is None:
                continue
            new, back = plan
            violation = check_order(alone, seq(new, update), back, self.known, reassociate=reassociate)
            if violation is None:
                self._check_passed(loop, new)
                return seq(new, replace_at(found.path, found.rest))
        assert violation is not None
        message = f"the initialisation cannot come before loop {loop.var.name}: {violation.message}"
        return refuse("dependence", message, loop.span, notes=violation.notes, help=_HELP)

    def _check_passed(self, loop: For, new: Stmt) -> None:
        """Refuse if the initialisation would overtake a statement that minds."""
        passed = self.found.passed
        shared = pb.within_budget(lambda: conflict(passed, new, self.known), False)
        if isinstance(shared, bool):
            message = "the proof that the initialisation may come earlier needs too many steps"
            refuse("dependence", message, loop.span, help=_HELP)
        if shared is not None:
            buffer, element = shared
            message = f"the initialisation cannot come before loop {loop.var.name}, which uses {buffer.name} before it"
            refuse("dependence", message, loop.span, notes=[f"both touch {element}"], help=_HELP)

    def _all_loops(self) -> tuple[Stmt, dict[Var, Expr]]:
        """The initialisation under copies of all loops."""
        back: dict[Var, Expr] = {}
        taken = names_in(self.func)
        loops = [_copy(loop, back, taken) for loop in self.found.loops]
        return self._nest(loops, back, self.found.conds), back

    def _few_loops(self) -> tuple[Stmt, dict[Var, Expr]] | None:
        """The initialisation under copies of the loops that it depends on; the others have one iteration for it."""
        domain, used = self._domain(), self._used()
        kept = [loop for loop in self.found.loops if loop.var in used]
        dropped = [loop for loop in self.found.loops if loop.var not in used]
        if domain is None or domain.is_empty() or not dropped:
            return None
        names = {loop.var.name for loop in dropped}
        scope = scope_of(self.func, (*self.outside, *kept))
        values: dict[Var, Expr] = {}
        for loop in dropped:
            if (value := _only(domain, loop, names, scope)) is None:
                return None
            values[loop.var] = value
        back, taken = dict[Var, Expr](), names_in(self.func)
        loops: list[For] = []
        for k, loop in enumerate(kept):
            plain = replace(
                loop, start=substitute_expr(loop.start, values), extent=substitute_expr(loop.extent, values)
            )
            if any(v in free_vars(e) for e in (plain.start, plain.extent) for v in (later.var for later in kept[k:])):
                return None
            loops.append(_copy(plain, back, taken))
        conds = [c for c in self.found.conds if not {v.name for v in free_vars(c)} & names]
        here = pb.within_loops(self.known, kept)
        for cond in conds:
            here = here.intersect(pb.condition(cond).may)
        rest = readback.condition(pb.forget(domain, names), scope, pb.forget(here, names))
        back |= {var: substitute_expr(value, back) for var, value in values.items()}
        return self._nest(loops, back, (*conds, rest)), back

    def _domain(self) -> isl.Set | None:
        """The iterations in which the initialisation runs, if they are known exactly."""
        mark: Stmt = Evaluate(TRUE)
        for cond in self.found.conds:
            mark = If(cond, mark, SKIP)
        event = events(nest(self.found.loops, substitute(mark, self.found.values)))[-1]
        found = domain_of(event, {})
        return found.must.intersect(self.known) if found.exact else None

    def _used(self) -> set[Var]:
        """Loop variables that an initialisation depends on, through names on the path and axes of its block."""
        used = {v for s in walk(self.found.stmt) for e in stmt_exprs(s) for v in free_vars(e)}
        for axis in reversed(self.found.axes):
            if axis.var in used:
                used |= free_vars(axis.value)
        for var, value in reversed(list(self.found.values.items())):
            if var in used:
                used |= free_vars(value)
        return used & {loop.var for loop in self.found.loops}

    def _nest(self, loops: Sequence[For], back: Mapping[Var, Expr], conds: Sequence[Expr]) -> Stmt:
        """The new block under its loops, and under its conditions as far as they are not known to hold."""
        here = pb.within_loops(self.known, loops)
        values = {var: substitute_expr(value, back) for var, value in self.found.values.items()} | dict(back)

        def written(expr: Expr) -> Expr:
            return folded(substitute_expr(expr, values))

        needed: Expr = TRUE
        for cond in map(written, conds):
            if not proven(cond, here):
                needed = cond if needed.same(TRUE) else Binary("and", needed, cond)
                here = here.intersect(pb.condition(cond).may)
        body = substitute(self.found.stmt, values)
        target = self.found.path[-1]
        if not isinstance(target, Block):
            return nest(loops, Block(self.name, body if needed.same(TRUE) else If(needed, body, SKIP)))
        axes = tuple(
            replace(a, start=written(a.start), extent=written(a.extent), value=written(a.value))
            for a in self.found.axes
        )
        return nest(loops, Block(self.name, body, axes, needed, annotations=target.annotations, span=target.span))


def _copy(loop: For, back: dict[Var, Expr], taken: set[str]) -> For:
    """A loop under a new name, which `back` learns."""
    start, extent = substitute_expr(loop.start, back), substitute_expr(loop.extent, back)
    var = replace(loop.var, name=fresh(loop.var.name, taken))
    back[loop.var] = var
    return replace(loop, var=var, start=start, extent=extent)


def _only(domain: isl.Set, loop: For, names: set[str], scope: Mapping[str, Expr]) -> Expr | None:
    """The one value that a loop variable has in a domain, without the variables in `names`."""
    here = pb.point([loop.var])
    assert here is not None
    line = pb.forget(here.intersect_params(domain), names)
    low, high = (readback.coordinate(line, 0, upper=upper) for upper in (False, True))
    if low is None or high is None or not line.params().is_subset(low.eq_set(high)):
        return None
    start = pb.affine(loop.start)
    usual = start is not None and not {v.name for v in free_vars(loop.start)} & names
    if start is not None and usual and line.params().is_subset(low.eq_set(start)):
        return loop.start
    return of_dtype(readback.expression(low.coalesce(), scope, line.params()), loop.var.dtype)
