"""A program of lowering as a loop program: the form in which it will run, to be printed, interpreted and explained.

Axes are parallel loops, steps are serial ones, and an operation of a library is the loops that say what it gives. So
the interpreter runs what any pass has made, and a form that is wrong is found without the array code made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.dtypes import DType
from ir.fold import fold, folded
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Load,
    LoopKind,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Var,
    const,
    seq,
)
from ir.program.edit import nest, replace_buffer
from ir.transform.loops.coalesce import digits_of
from ir.traverse import free_vars, has_loads, map_expr, map_stmt, walk
from lower.analysis.linear_forms import Linear, linear, number, to_expr
from lower.nest.expansion import Expansion
from lower.nest.instruction_loops import factor_loops, guarded, instance_loops, ranked_loops, search_loops, system_steps
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Factor,
    Filter,
    Node,
    Phase,
    Pick,
    Plan,
    Recurrence,
    Scan,
    SequentialLoop,
    Solve,
    Span,
    Versions,
    inner_statements,
    own_bounds,
)
from lower.nest.normalize import Program

_AXIS = "axis"  # the annotation of an array axis that is no axis of the result


def as_loops(program: Program, plan: Plan | None = None) -> PrimFunc:
    """The loop program that a program in normal form is, by its `plan` or with its loops in order.

    It has the interface of the function that was given, and no checks.
    """
    if plan is None:
        plan = Plan(_in_order(program.statements, 0), {}, frozenset())
    return _Loops(program, plan).func()


def _in_order(statements: Iterable[Statement], level: int) -> tuple[Node, ...]:
    """Loops around statements, those from a level on, as they were written."""
    nodes: list[Node] = []
    for loop, group in groupby(statements, lambda s: s.loops[level] if len(s.loops) > level else None):
        if loop is None:
            nodes += [ArrayStatement(s, ()) for s in group]
        else:
            nodes.append(SequentialLoop(loop, _in_order([*group], level + 1), "as written"))
    return tuple(nodes)


class _Place(Struct, frozen=True):
    """Where a node stands: in which loops, which of them run over their boxes, and tighter boxes of a phase.

    `axes` has those of array statements, by their identity.
    """

    seen: frozenset[Var] = frozenset()
    boxed: frozenset[Var] = frozenset()
    around: tuple[Loop, ...] = ()
    boxes: Mapping[Loop, Box] = field(default_factory=dict[Loop, Box])
    axes: Mapping[int, Mapping[Loop, Box]] = field(default_factory=dict[int, Mapping[Loop, Box]])

    def inside(self, loop: Loop, *, boxed: bool = False) -> _Place:
        """The place within a loop that stays one."""
        over = self.boxed | {loop.var} if boxed else self.boxed
        return replace(self, seen=self.seen | {loop.var}, boxed=over, around=(*self.around, loop))


class _Loops:
    def __init__(self, program: Program, plan: Plan) -> None:
        self.program = program
        self.plan = plan
        self.expansion = Expansion(plan)
        inner = [n.statement for n in inner_statements(plan.nodes)]
        self.users = {b: [s for s in inner if b in s.buffers()] for b in program.depth}
        self.variables = {o.var for s in inner for o in s.loops}
        self._fresh = partial(fresh, taken=set(program.names))

    def func(self) -> PrimFunc:
        """The function, with the parameters that callers give."""
        func, flat = self.program.func, self.program.flat
        body = self._nodes(self.plan.nodes, _Place())
        for seen in func.buffers:
            if seen.name in flat:
                body = _as_given(body, seen, flat[seen.name], self.program.order.get(seen.name))
        body = map_stmt(body, lambda e: map_expr(e, fold))
        return replace(func, params=tuple(flat.get(p.name, p) for p in func.params), body=body)

    def _nodes(self, nodes: Sequence[Node], place: _Place) -> Stmt:
        """Nodes in order, in the scope of the locals that each iteration of the loops around has for itself."""
        body = seq(*(self._node(n, place) for n in nodes))
        inside = {id(n.statement) for n in inner_statements(nodes)}
        made = {s.buffer for s in walk(body) if isinstance(s, Alloc)}
        for local, users in reversed(self.users.items()):
            buffer = self.expansion.buffers.get(local, local)
            if not users or buffer in made or not {id(s) for s in users} <= inside:
                continue
            if not place.around or place.around[-1] in users[0].loops[: self.program.depth[local]]:
                body = Alloc(buffer, body)
        return body

    def _node(self, node: Node, place: _Place) -> Stmt:
        if isinstance(node, ArrayStatement):
            return self._statement(node, place)
        if isinstance(node, Versions):
            return If(self.expansion.expr(node.test), self._nodes(node.fast, place), self._nodes(node.exact, place))
        if node.phases:
            return seq(*(self._phase(node, phase, place) for phase in node.phases))
        return self._loop(node, place)

    def _phase(self, node: SequentialLoop, phase: Phase, place: _Place) -> Stmt:
        """Some iterations of a loop, whose body works on sections."""
        axes = {id(n): boxes for n, boxes in phase.axes.items()}
        inner = replace(place.inside(node.loop), boxes=phase.loops, axes=axes)
        body = self._nodes(phase.body, inner)
        for s in phase.sections:
            body = _in_whole(body, s.part, s.whole, [low for low, _ in s.ranges])
        var = node.loop.var
        return For(var, const(phase.low, var.dtype), const(phase.stop - phase.low, var.dtype), body)

    def _loop(self, node: SequentialLoop, place: _Place) -> Stmt:
        """A loop that stays one; over its box where its own bounds depend on what comes within, or go beyond it."""
        loop = node.loop
        start, extent = self.expansion.expr(loop.start), self.expansion.expr(loop.extent)
        box = place.boxes.get(loop, self.plan.boxes.get(loop))
        boxed = box is not None and (box.effects or self._unseen(place.seen, start, extent))
        if boxed and box is not None:
            start, extent = to_expr(box.low, loop.var), to_expr(box.extent, loop.var)
        return For(loop.var, start, extent, self._nodes(node.body, place.inside(loop, boxed=boxed)))

    def _unseen(self, seen: frozenset[Var], *exprs: Expr) -> bool:
        """Whether expressions depend on loops that are not around."""
        return any((free_vars(e) & self.variables) - seen for e in exprs)

    # Array statements.

    def _statement(self, node: ArrayStatement, place: _Place) -> Stmt:
        """The loops of an array statement, with what it does for an element of its result."""
        expanded = self.expansion.node(node)
        resolved, scan = expanded.statement, expanded.scan
        loops: dict[Loop, For] = {}
        guards: list[Expr] = []
        seen = place.seen
        for loop in node.statement.loops:
            if loop in node.axes:
                loops[loop], bounds = self._axis(loop, node, resolved, place, seen)
                seen |= {loop.var}
                guards += bounds
            elif loop.var in place.boxed:
                guards += map(self.expansion.expr, own_bounds(loop))
        guards += resolved.guards
        store = _updated(resolved)
        if resolved.tile is not None:
            return nest([*loops.values()], guarded(guards, instance_loops(resolved.tile, store, self._fresh)))
        match scan:
            case Pick():
                inner = [loops.pop(loop) for loop in scan.loops]
                boxes = [self.plan.boxes[loop] for loop in scan.loops]
                found = search_loops if scan.rank is None else ranked_loops
                return nest([*loops.values()], guarded(guards, found(scan, inner, boxes, store, self._fresh)))
            case Factor(row=row, column=column):
                k = Var(self._fresh("k"), row.var.dtype)
                factored = factor_loops(loops.pop(row), loops.pop(column), store, k)
                return nest([*loops.values()], guarded(guards, factored))
            case Solve():
                body = system_steps(scan, scan.matrix, store)
            case Span(start=start, stop=stop, loop=loop):
                guards = [Binary("ge", loop.var, start), Binary("lt", loop.var, stop), *guards]
                body = store
            case _:
                body = self._decided(store) if node.statement.buffer in self.program.raw else store
        return nest([*loops.values()], guarded(guards, body))

    def _decided(self, store: Store) -> Stmt:
        """A store that may run over more elements than there are: choices are arbitrary there, but made."""
        held: dict[Var, Expr] = {}

        def one(e: Expr) -> Expr:
            if not isinstance(e, Select) or not has_loads(e.cond):
                return e
            var = Var(self._fresh("taken"), DType.BOOL)
            held[var] = e.cond
            return replace(e, cond=var)

        body: Stmt = replace(store, value=map_expr(store.value, one))
        for var, cond in reversed(held.items()):
            body = Let(var, cond, body)
        return body

    def _axis(
        self, loop: Loop, node: ArrayStatement, resolved: Statement, place: _Place, seen: frozenset[Var]
    ) -> tuple[For, list[Expr]]:
        """An axis as a loop, and conditions where it runs over more than the loop did."""
        own = place.axes.get(id(node), {}).get(loop) or place.boxes.get(loop)
        start, extent = self.expansion.expr(loop.start), self.expansion.expr(loop.extent)
        box = self.plan.boxes[loop] if own is None else own
        bounds: list[Expr] = []
        if own is not None or self._unseen(seen, start, extent):
            start, extent = to_expr(box.low, loop.var), to_expr(box.extent, loop.var)
            bounds = [] if box.exact else [self.expansion.expr(b) for b in own_bounds(loop)]
        kind, notes = _kind(loop, resolved, node.scan)
        return For(loop.var, start, extent, SKIP, kind, notes), bounds


def _updated(s: Statement) -> Store:
    """The store of a statement, which for an update says what is added to what was there."""
    if s.update is None:
        return s.store
    op, value = s.update
    return replace(s.store, value=Binary(op, Load(s.buffer, s.store.indices), value))


def _kind(loop: Loop, s: Statement, scan: Scan | None) -> tuple[LoopKind, tuple[tuple[str, object], ...]]:
    """How an axis of a statement, expanded, is written: parallel where each iteration has results of its own."""
    if scan is not None and any(loop is o for o in _run_by(scan)):
        return "serial", ((_AXIS, type(scan).__name__.lower()),)
    if not any(loop.var in free_vars(i) for i in s.store.indices):
        return "serial", ((_AXIS, "reduction"),)
    own = Load(s.buffer, s.store.indices)
    again = any(load.buffer == s.buffer and not load.same(own) for load in s.operands())
    by_data = any(has_loads(i) for i in s.store.indices)
    return ("vectorized" if again or by_data else "parallel"), ()


def _run_by(scan: Scan) -> tuple[Loop, ...]:
    """The loops that an operation goes along."""
    match scan:
        case Pick(loops=loops):
            return loops
        case Factor(row=row, column=column):
            return row, column
        case Recurrence(loop=loop) | Filter(loop=loop) | Solve(loop=loop) | Span(loop=loop):
            return (loop,)


def _behind(index: Expr, low: Linear) -> Expr:
    """An index counted from a first position."""
    return to_expr(linear(index) - low, index)


def _in_whole(body: Stmt, part: Buffer, whole: Buffer, lows: Sequence[int]) -> Stmt:
    """Statements that access a buffer in place of a section of it that starts at some positions."""

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(_behind(i, number(-low)) for i, low in zip(indices, lows, strict=True))

    return replace_buffer(body, part, whole, place)


def _as_given(body: Stmt, seen: Buffer, given: Buffer, order: Sequence[int] | None) -> Stmt:
    """Statements that access a parameter as callers give it, in place of one with other dimensions.

    Either the program sees dimensions of it in several parts, or (by an `order`) several of them in a row.
    """
    permuted = range(len(given.shape)) if order is None else order
    extents = [given.shape[d] for d in permuted]

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if order is None:
            parts = _grouped(seen.shape, extents)
            return tuple(_flat([indices[k] for k in own], [seen.shape[k] for k in own]) for own in parts)
        found: dict[int, Expr] = {}
        for index, own in zip(indices, _grouped(extents, seen.shape), strict=True):
            for k, digit in zip(own, digits_of(index, [extents[k] for k in own[1:]]), strict=True):
                found[permuted[k]] = digit
        return tuple(found[d] for d in range(len(given.shape)))

    return replace_buffer(body, seen, given, place)


def _grouped(fine: Sequence[Expr], coarse: Sequence[Expr]) -> list[list[int]]:
    """Which of some extents in a row multiply to each of others."""
    groups: list[list[int]] = []
    rest = [*range(len(fine))]
    for extent in coarse:
        own = [rest.pop(0)]
        while not linear(_product([fine[k] for k in own])).equals(linear(extent)):
            own.append(rest.pop(0))
        groups.append(own)
    return groups


def _product(factors: Sequence[Expr]) -> Expr:
    return folded(reduce(partial(Binary, "mul"), factors))


def _flat(indices: Sequence[Expr], extents: Sequence[Expr]) -> Expr:
    """The position in a row of an element of an array."""
    total = indices[0]
    for index, extent in zip(indices[1:], extents[1:], strict=True):
        total = Binary("add", Binary("mul", total, extent), index)
    return to_expr(linear(total), total)
