"""Which masks stores need to buffers of which parts are never read.

What a local holds where nothing is stored to it nobody reads: a condition under which all is stored to one copy of it
may go, as `if c: t = A[i, j]` is read where c holds. Loops whose ends move with a step, as those of a triangle, may
store behind their ends what no later step reads.

Elements of a copy of a table, with room around it, that stand for none of the table may hold anything as well, so a
step of a wavefront that also stores to those needs no mask. Where it also covers a border, it chooses the border's
element, of which an array is kept outside of the loop: no step reads the row that it overwrites.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction, negate
from ir.analysis.coverage import reads_before_writing
from ir.analysis.dependence import Loop, Statement, may_change
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Unary, Var, const
from ir.presburger import sets as presburger
from ir.traverse import free_vars, has_loads, loads, reads, walk_expr
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, linear, number, to_expr, unbounded
from lower.nest.asked import read_besides
from lower.nest.nodes import (
    ArrayStatement,
    Box,
    Fresh,
    Node,
    Plan,
    SequentialLoop,
    Versions,
    extreme,
    inner_statements,
    loop_over,
    own_bounds,
    users_by_buffer,
)
from lower.nest.normalize import Program
from lower.nest.undef_products import close_over
from lower.storage.live_in import Borders, whole

PREDICATE_ELIMINATION = Form(
    "structure.predicate_elimination",
    "if c: t = a; if c: X = f(t)  =  t = a; if c: X = f(t)   where t is a local that is not read elsewhere",
    "what a local holds where nothing is stored to it nobody reads",
)

Set = presburger.isl.Set
_TAME = {"add", "sub", "min", "max", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"}


def everywhere(program: Program, plan: Plan) -> Plan:
    """The plan with locals that are stored to also where the program does not, if what is stored can be had there."""
    leaves, boxes = [*inner_statements(plan.nodes)], dict(plan.boxes)
    changed: dict[ArrayStatement, ArrayStatement] = {}
    spoiled = set[Buffer]()
    users, steady, stored = users_by_buffer(leaves), program.unwritten, {s.buffer for s in program.statements}
    for local, depth in program.depth.items():
        writers = [n for n in users[local] if n.statement.buffer == local] if local in stored else []
        needless = _needless(writers, depth, steady, boxes)
        if needless and not reads_before_writing(program.statements, local, depth, steady):
            for n in writers:
                changed[n] = _without(n, needless, boxes)
            spoiled |= {local} if local.dtype.is_float else set()
    besides = read_besides(plan)
    placed = [*_placed(plan.nodes, ())]
    for k, n in enumerate(leaves):
        local = n.statement.buffer
        known = local in program.depth and local not in besides and n not in changed
        beyond = _beyond(n, placed[k], placed, boxes) if known else frozenset()
        if beyond:
            changed[n] = replace(n, beyond=beyond, statement=replace(n.statement, speculated=True))
            spoiled |= {local} if local.dtype.is_float else set()

    # where nobody asks for them either, others hold what is made of them
    close_over(spoiled, [n.statement for n in leaves if n.statement.speculated])
    program.spoiled |= {b.name for b in spoiled}

    def one(node: Node) -> Node:
        match node:
            case SequentialLoop():
                return replace(node, body=tuple(map(one, node.body)))
            case Versions():
                return replace(node, fast=tuple(map(one, node.fast)), exact=tuple(map(one, node.exact)))
            case ArrayStatement():
                return changed.get(node, node)

    return replace(plan, nodes=tuple(map(one, plan.nodes)), boxes=boxes) if changed else plan


def _placed(nodes: Sequence[Node], around: tuple[Loop, ...], first: int = 0) -> Iterator[Statement]:
    """The statements of a plan in the order in which they run there: of their loops those come first, and are shared,
    that run in order."""
    for node in nodes:
        match node:
            case SequentialLoop():
                found = [*_placed(node.body, (*around, node.loop), first)]
            case Versions():
                found = [*_placed((*node.fast, *node.exact), around, first)]
            case ArrayStatement(statement=s):
                own = (replace(o) for o in s.loops if o not in around)
                found = [replace(s, position=first, loops=(*around, *own))]
        first += len(found)
        yield from found


def _beyond(n: ArrayStatement, s: Statement, placed: Sequence[Statement], boxes: Mapping[Loop, Box]) -> frozenset[Loop]:
    """The axes of a statement that may run through all of their boxes, as nobody reads what it stores there; `placed`
    are all statements, and this one among them, in order. A local counts as the same in all iterations around it."""
    if n.scan is not None or s.tile is not None or not _tame(s) or any(a not in boxes for a in n.axes):
        return frozenset()
    found = frozenset(a for a in n.axes if not boxes[a].exact)
    if not found or not _is_inside(n, [*found], boxes):
        return frozenset()
    wide = {a.var: loop_over(a.var, boxes[a], {}) for a in found}
    outside = negate(conjunction([b for a in found for b in own_bounds(a)]))
    more = replace(s, loops=tuple(wide.get(o.var, o) for o in s.loops), guards=(*s.guards, outside))
    changes = (may_change(more, r, load, 0, {}) for r in placed for load in r.reads() if load.buffer == s.buffer)
    return frozenset() if any(changes) else found


def _needless(
    writers: Sequence[ArrayStatement], depth: int, unwritten: Collection[Buffer], boxes: Mapping[Loop, Box]
) -> list[Expr | Loop]:
    """The conditions of all that is stored to a local that hold for all of one copy of it or for none, and the axes
    that end where such a condition says.

    Those of one axis alone stay, which make it shorter.
    """
    if not writers or any(n.scan is not None or n.statement.tile is not None for n in writers):
        return []
    own = writers[0].statement.loops[:depth]
    if any(n.statement.loops[:depth] != own for n in writers):
        return []
    variables = {loop.var for loop in own}.intersection(*({a.var for a in n.axes} for n in writers))

    def is_needless(cond: Expr) -> bool:
        names = free_vars(cond)
        wide = len(names) > 1 or has_loads(cond)
        exact = isinstance(cond, Binary) and cond.op == "eq" and cond.lhs.dtype.is_integer and not has_loads(cond)
        steady = all(load.buffer in unwritten for load in loads(cond))
        return wide and not exact and steady and names <= variables

    found: list[Expr | Loop] = [
        g
        for g in writers[0].statement.guards
        if is_needless(g) and all(any(g.same(h) for h in n.statement.guards) for n in writers)
    ]
    for loop in own:
        box = boxes.get(loop)
        if box is not None and not box.exact and loop.var in variables:
            bounds = [b for b in own_bounds(loop) if free_vars(b) != {loop.var}]
            found += [loop] if bounds and all(map(is_needless, bounds)) else []
    return found if all(_is_inside(n, found, boxes) for n in writers) else []


def _is_inside(node: ArrayStatement, needless: Sequence[Expr | Loop], boxes: Mapping[Loop, Box]) -> bool:
    """Whether what a statement reads, and where it stores, is there also where conditions do not hold."""
    around = {o.var: boxes[o] for o in node.statement.loops if o in boxes}
    conditions = [e for c in needless for e in (own_bounds(c) if isinstance(c, Loop) else (c,))]
    ruled = free_vars(*conditions)
    place = Load(node.statement.buffer, node.statement.store.indices)
    for load in (place, *node.statement.operands()):
        for index, size in zip(load.indices, load.buffer.shape, strict=True):
            if free_vars(index) & ruled:
                ends = [extreme(linear(index), around, frozenset(), unbounded, upper=upper) for upper in (False, True)]
                if None in ends or not _is_less(ends[1], linear(size)) or not _is_less(number(-1), ends[0]):
                    return False
    return True


def _is_less(a: Linear | None, b: Linear | None) -> bool:
    return a is not None and b is not None and (a - b).is_const and (a - b).const < 0


def _without(node: ArrayStatement, needless: Sequence[Expr | Loop], boxes: dict[Loop, Box]) -> ArrayStatement:
    """A statement that runs through all of the boxes of some axes, also where conditions do not hold."""
    wide: dict[Loop, Loop] = {}
    for loop in needless:
        if isinstance(loop, Loop):
            wide[loop] = loop_over(loop.var, boxes[loop], boxes)
    guards = tuple(
        g for g in node.statement.guards if not any(g is c or (isinstance(c, Expr) and g.same(c)) for c in needless)
    )
    loops = tuple(wide.get(loop, loop) for loop in node.statement.loops)
    statement = replace(node.statement, guards=guards, loops=loops, speculated=True)
    return replace(node, statement=statement, axes=tuple(wide.get(a, a) for a in node.axes))


class Bare(Struct, frozen=True):
    """What is left of the guards of a statement, and what it stores where one of the others does not hold: a condition
    each with the position in a dimension that is meant there."""

    guards: tuple[Expr, ...]
    choices: tuple[tuple[Expr, int, Expr], ...]


def bare(s: Statement, time: Var, borders: Borders | None) -> Bare:
    """The guards that a store of a wavefront needs, where it may change elements that stand for none of its table.

    `borders` of the table are None where none are kept: then guards only go that hide no element of it.
    """
    kept = Bare(s.guards, ())
    if not _tame(s) or any(presburger.point((i,)) is None for i in s.store.indices):
        return kept
    return presburger.within_budget(partial(_bare, s, time, borders), kept)


def _bare(s: Statement, time: Var, borders: Borders | None) -> Bare:
    counting = whole(s.buffer) if borders is None else borders.counting
    guards = list(s.guards)
    for guard in s.guards:
        rest = [g for g in guards if g is not guard]
        if _hidden(s, guard, rest).intersect(counting).is_empty():
            guards = rest
    if borders is None:
        return Bare(tuple(guards), ())
    choices: list[tuple[Expr, int, Expr]] = []
    for k, guard in enumerate(guards):
        at = _line(s, _hidden(s, guard, guards[:k]).intersect(counting), time, borders)
        if at is None:
            return Bare(tuple(guards), ())
        choices.append((guard, *at))
    return Bare((), tuple(choices))


def _hidden(s: Statement, guard: Expr, rest: Sequence[Expr]) -> Set:
    """Where a statement stores if one of its guards does not hold, and the `rest` of them does."""
    away = replace(s, guards=tuple(rest)).domain.intersect(presburger.condition(guard).negated().may)
    place = presburger.point(s.store.indices)
    assert place is not None
    return presburger.forget(place.intersect_params(away), [o.var.name for o in s.loops])


def _line(s: Statement, hidden: Set, time: Var, borders: Borders) -> tuple[int, Expr] | None:
    """The first or last position in a dimension that is that of all of some elements, none of which change, if the
    others of their indices are the same in all steps."""
    table = s.buffer
    if not hidden.intersect(borders.written).is_empty():
        return None
    for d, size in enumerate(table.shape):
        others = [linear(i) for e, i in enumerate(s.store.indices) if e != d]
        if any(time in form.vars() for form in others):
            continue
        for at in (const(0, size.dtype), to_expr(linear(size) - 1, size)):
            variables = tuple(Var(f"{table.name}[{e}]", n.dtype) for e, n in enumerate(table.shape))
            line = presburger.point((*variables[:d], at, *variables[d + 1 :]))
            if line is not None and hidden.is_subset(presburger.forget(line, [v.name for v in variables])):
                return d, at
    return None


def _tame(s: Statement) -> bool:
    """Whether values that nobody looks at stay harmless: they might become infinite, or NaN, and with them derivatives
    of what they are made of."""
    if not s.buffer.dtype.is_float:
        return True
    return all(_is_tame(e) for e in walk_expr(s.store.value) if reads(s.buffer, e))


def _is_tame(e: Expr) -> bool:
    """Whether an operator takes finite numbers to finite ones, but for their size, and so do its derivatives."""
    match e:
        case Binary(op="mul" | "div", rhs=Const()) | Binary(op="mul", lhs=Const()):
            return True
        case Binary(op=op) | Unary(op=op):
            return op in _TAME
        case _:
            return isinstance(e, Load | Select)


def lines(table: Buffer, dimension: int, new: Fresh) -> Buffer:
    """An array for the elements of a table at one position of a dimension."""
    shape = tuple(n for d, n in enumerate(table.shape) if d != dimension)
    return replace(table, name=new.name(f"{table.name}_border"), shape=shape, scope="local")


def chosen(s: Statement, left: Bare, kept: Mapping[tuple[int, Expr], Buffer], place: Sequence[Expr]) -> Statement:
    """A statement that chooses what it stores; `place` is where it stored in its table."""
    value = s.store.value
    for guard, d, at in reversed(left.choices):
        line = kept[d, at]
        value = Select(guard, value, Load(line, tuple(i for e, i in enumerate(place) if e != d)))
    update = s.update if not left.choices else None
    return replace(s, store=replace(s.store, value=value), update=update)
