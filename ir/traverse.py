"""Generic walks over programs: children, rebuilding, substitution, free names. Owns no meaning."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeGuard, assert_never, cast

from msgspec.structs import force_setattr, replace

from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    AnyExpr,
    Assert,
    Assume,
    Binary,
    BinaryOp,
    Block,
    Buffer,
    Call,
    CallStmt,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    IterVar,
    Let,
    Load,
    PrimFunc,
    Region,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    WrittenStmt,
    seq,
)
from ir.sections import Section, passed

_REMEMBERED = 256  # nodes of an expression or statement at most: each part of a long one remembers its own


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct subexpressions, left to right."""
    node: AnyExpr = expr  # pyright: ignore[reportAssignmentType]  # `cast` is a call, and nothing is called more often
    match node:
        case Binary(lhs=a, rhs=b):
            return (a, b)
        case Const() | Var() | Undef():
            return ()
        case Load(indices=indices):
            return indices
        case Unary(operand=a) | Cast(operand=a):
            return (a,)
        case Call(args=args):
            return args
        case Select(cond=c, then=a, other=b):
            return (c, a, b)
        case other:
            assert_never(other)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """`expr` with its direct subexpressions replaced; the same object when nothing changed."""
    old = children(expr)
    if len(old) == len(new) and all(map(operator.is_, old, new)):
        return expr
    match cast(AnyExpr, expr):
        case Const() | Var() | Undef():
            return expr
        case Load() as load:
            return Load(load.buffer, new, load.span)
        case Call() as call:
            return replace(call, args=new)
        case Unary() as unary:
            return Unary(unary.op, new[0], unary.span)
        case Cast() as node:
            return Cast(node.dtype, new[0], node.span)
        case Binary() as node:
            return Binary(node.op, new[0], new[1], node.span)
        case Select() as node:
            return Select(new[0], new[1], new[2], node.span)
        case other:
            assert_never(other)


def map_expr(expr: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """Rebuild bottom-up, applying `fn` to every node after its children."""
    old = children(expr)
    if not old:
        return fn(expr)
    new = tuple([map_expr(c, fn) for c in old])  # searches spend much of their time here, and generators take longer
    return fn(expr if all(map(operator.is_, old, new)) else with_children(expr, new))


def walk_expr(expr: Expr) -> Iterator[Expr]:
    """All nodes of an expression, parents first. What is shared counts as often as it is named, which may be without an
    end in sight: whoever looks for a limit can stop there."""
    try:
        return iter((expr, *expr.nodes_below))
    except AttributeError:  # not walked before; searches spend much of their time here
        below = _nodes_below(expr)
        first = tuple(islice(below, _REMEMBERED + 1))
        if len(first) <= _REMEMBERED:
            force_setattr(cast(Any, expr), "nodes_below", first)
        return chain((expr,), first, below)


_LOADS, _UNDEF, _CHOICES, _LAZY, _ROUNDED = 1, 2, 4, 8, 16  # what an expression may have in it


def _kinds_below(expr: Expr) -> int:
    """What of that an expression has; parts remember it, of which long expressions share many."""
    left = [expr]
    while left:
        node = left.pop()
        if hasattr(node, "kinds_below"):
            continue
        parts = children(node)
        if unknown := [part for part in parts if not hasattr(part, "kinds_below")]:
            left += (node, *unknown)
            continue
        match node:
            case Load():
                found = _LOADS
            case Undef():
                found = _UNDEF
            case Select():
                found = _CHOICES | _LAZY
            case Binary(op="and" | "or"):
                found = _LAZY
            case Cast() if is_rounded(node):
                found = _ROUNDED
            case _:
                found = 0
        for part in parts:
            found |= part.kinds_below
        force_setattr(cast(Any, node), "kinds_below", found)
    return expr.kinds_below


def _has(expr: Expr, kinds: int) -> bool:
    try:
        return bool(expr.kinds_below & kinds)
    except AttributeError:
        return bool(_kinds_below(expr) & kinds)


def _nodes_below(expr: Expr) -> Iterator[Expr]:
    left = [*reversed(children(expr))]
    while left:
        node = left.pop()
        yield node
        left += reversed(children(node))


def nesting(expr: Expr) -> int:
    """How many expressions are nested in each other."""
    level, found = [expr], 0
    while level:
        level, found = [c for e in level for c in children(e)], found + 1
    return found


def stmt_exprs(stmt: Stmt) -> tuple[Expr, ...]:
    """Expressions that a statement holds directly, not those of statements inside it."""
    match cast(WrittenStmt, stmt):
        case Store(indices=indices, value=value):
            return (*indices, value)
        case If(cond=c) | Assume(cond=c) | Assert(cond=c):
            return (c,)
        case For(start=a, extent=n):
            return (a, n)
        case Let(value=v) | Evaluate(value=v):
            return (v,)
        case Alloc(buffer=buffer):
            return buffer.shape
        case Block(axes=axes, predicate=p):
            return (*(e for axis in axes for e in (axis.start, axis.extent, axis.value)), p)
        case Seq():
            return ()
        case CallStmt(args=args):
            return tuple(e for arg in args for e in (_of_section(arg) if isinstance(arg, Section) else (arg,)))
        case other:
            assert_never(other)


def _of_section(section: Section) -> Iterator[Expr]:
    return (e for pair in section.ranges for e in pair if e is not None)


def always_evaluated(expr: Expr) -> Iterator[Expr]:
    """The parts of an expression that are evaluated whenever the whole is."""
    yield expr
    lazy = isinstance(expr, Select) or (isinstance(expr, Binary) and expr.op in ("and", "or"))
    for part in children(expr)[:1] if lazy else children(expr):
        yield from always_evaluated(part)


def stmt_children(stmt: Stmt) -> tuple[Stmt, ...]:
    """Direct substatements, in order of execution."""
    match cast(WrittenStmt, stmt):
        case Store() | Assume() | Assert() | Evaluate() | CallStmt():
            return ()
        case Seq(stmts=stmts):
            return stmts
        case If(then=a, other=b):
            return (a, b)
        case For(body=b) | Let(body=b) | Alloc(body=b):
            return (b,)
        case Block(init=init, body=b):
            return (b,) if init is None else (init, b)
        case other:
            assert_never(other)


ANY_STEPS = DType.INT32.max  # the extent of a loop that takes as many steps as it takes until it ends early


def ends_early(loop: For) -> If | None:
    """The body of `for k in n: if c: S`, which does nothing more once `c` is false; None for other loops."""
    body = loop.body
    if isinstance(body, If) and body.other == SKIP and loop.var not in free_vars(body.cond):
        return body
    return None


def walk(stmt: Stmt) -> Iterator[Stmt]:
    """All statements, parents first, in program order."""
    left = [stmt]
    while left:
        node = left.pop()
        yield node
        left += reversed(stmt_children(node))


def all_exprs(stmt: Stmt) -> Iterator[Expr]:
    """Every expression node anywhere in a statement."""
    try:
        return iter(stmt.exprs_within)
    except AttributeError:
        nodes = (expr for inner in walk(stmt) for outer in stmt_exprs(inner) for expr in walk_expr(outer))
        first = tuple(islice(nodes, _REMEMBERED + 1))
        if len(first) <= _REMEMBERED:
            force_setattr(cast(Any, stmt), "exprs_within", first)
        return chain(first, nodes)


def has_kind(stmt: Stmt, *kinds: type[Stmt]) -> bool:
    """Whether some statement, this one or one inside it, is of one of some kinds."""
    return not _kinds(stmt).isdisjoint(kinds)


def _kinds(stmt: Stmt) -> frozenset[type[Stmt]]:
    try:
        return stmt.kinds_within
    except AttributeError:
        found = frozenset((type(stmt),)).union(*map(_kinds, stmt_children(stmt)))
        force_setattr(cast(Any, stmt), "kinds_within", found)
        return found


def buffers_accessed(stmt: Stmt) -> frozenset[Buffer]:
    """Buffers that some statement, this one or one inside it, loads from or stores to."""
    try:
        return stmt.buffers_within
    except AttributeError:
        own = {e.buffer for x in stmt_exprs(stmt) for e in walk_expr(x) if isinstance(e, Load)}
        if isinstance(stmt, Store):
            own.add(stmt.buffer)
        found = frozenset(own).union(*map(buffers_accessed, stmt_children(stmt)))
        force_setattr(cast(Any, stmt), "buffers_within", found)
        return found


def map_stmt(
    stmt: Stmt,
    on_expr: Callable[[Expr], Expr] = lambda e: e,
    on_stmt: Callable[[Stmt], Stmt] = lambda s: s,
    on_buffer: Callable[[Buffer], Buffer] = lambda b: b,
) -> Stmt:
    """Rebuild bottom-up.

    `on_expr` maps each expression that a statement holds directly (use `map_expr` inside it to go deeper), `on_buffer`
    each stored, allocated or declared buffer, `on_stmt` each rebuilt statement. Bound variables are left alone.
    """

    def go(s: Stmt) -> Stmt:
        return map_stmt(s, on_expr, on_stmt, on_buffer)

    return on_stmt(rebuilt(stmt, on_expr, go, on_buffer))


def rebuilt(
    stmt: Stmt,
    on_expr: Callable[[Expr], Expr],
    go: Callable[[Stmt], Stmt],
    on_buffer: Callable[[Buffer], Buffer] = lambda b: b,
) -> Stmt:
    """A statement with all that it holds directly changed: expressions, the statements in it, and buffers."""
    match cast(WrittenStmt, stmt):
        case Store() as s:
            return replace(
                s, buffer=on_buffer(s.buffer), indices=tuple(on_expr(i) for i in s.indices), value=on_expr(s.value)
            )
        case Seq() as s:
            return seq(*(go(c) for c in s.stmts), span=s.span)
        case If() as s:
            return replace(s, cond=on_expr(s.cond), then=go(s.then), other=go(s.other))
        case For() as s:
            return replace(s, start=on_expr(s.start), extent=on_expr(s.extent), body=go(s.body))
        case Let() as s:
            return replace(s, value=on_expr(s.value), body=go(s.body))
        case Alloc() as s:
            return replace(s, buffer=on_buffer(s.buffer), body=go(s.body))
        case Assume() as s:
            return replace(s, cond=on_expr(s.cond))
        case Assert() as s:
            return replace(s, cond=on_expr(s.cond))
        case Evaluate() as s:
            return replace(s, value=on_expr(s.value))
        case Block() as s:
            return replace(
                s,
                axes=tuple(
                    IterVar(a.var, a.kind, on_expr(a.start), on_expr(a.extent), on_expr(a.value)) for a in s.axes
                ),
                predicate=on_expr(s.predicate),
                init=None if s.init is None else go(s.init),
                body=go(s.body),
                reads=_map_regions(s.reads, on_expr, on_buffer),
                writes=_map_regions(s.writes, on_expr, on_buffer),
            )
        case CallStmt() as s:
            return replace(
                s,
                args=tuple(
                    _map_section(a, on_expr, on_buffer) if isinstance(a, Section) else on_expr(a) for a in s.args
                ),
            )
        case other:
            assert_never(other)


def with_buffers(
    func: PrimFunc,
    buffer: Callable[[Buffer], Buffer],
    node: Callable[[Expr], Expr] = lambda e: e,
    stmt: Callable[[Stmt], Stmt] = lambda s: s,
) -> PrimFunc:
    """A function with other buffers, as parameters and wherever else; further nodes of expressions mapped too."""

    def one(e: Expr) -> Expr:
        return node(replace(e, buffer=buffer(e.buffer)) if isinstance(e, Load) else e)

    params = tuple(buffer(p) if isinstance(p, Buffer) else p for p in func.params)
    return replace(func, params=params, body=map_stmt(func.body, lambda e: map_expr(e, one), stmt, buffer))


def _map_section(section: Section, on_expr: Callable[[Expr], Expr], on_buffer: Callable[[Buffer], Buffer]) -> Section:
    ranges = tuple((on_expr(a), None if n is None else on_expr(n)) for a, n in section.ranges)
    return Section(on_buffer(section.buffer), ranges, section.span)


def _map_regions(
    regions: tuple[Region, ...] | None, on_expr: Callable[[Expr], Expr], on_buffer: Callable[[Buffer], Buffer]
) -> tuple[Region, ...] | None:
    if regions is None:
        return None
    return tuple(Region(on_buffer(r.buffer), tuple((on_expr(a), on_expr(n)) for a, n in r.ranges)) for r in regions)


def substitute_expr(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Replace free variables by expressions of their dtype."""
    if not values or not any(isinstance(e, Var) and e in values for e in walk_expr(expr)):
        return expr
    return map_expr(expr, lambda e: values.get(e, e) if isinstance(e, Var) else e)


def substitute(stmt: Stmt, values: Mapping[Var, Expr]) -> Stmt:
    """Replace variables in a statement. The values must not mention names that the statement binds."""
    return map_stmt(stmt, lambda e: substitute_expr(e, values)) if values else stmt


def without_names(stmt: Stmt, put: Callable[[Expr], bool] = lambda _: True) -> Stmt:
    """A statement with values in place of the names in it that are bound to them, as far as they may be `put` there."""
    return map_stmt(stmt, on_stmt=lambda s: _put_in(s) if isinstance(s, Let) and put(s.value) else s)


def without_outer_names(stmt: Stmt, put: Callable[[Expr], bool]) -> Stmt:
    """A statement with values in place of the names around it, as far as they may be `put` there."""
    while isinstance(stmt, Let) and put(stmt.value):
        stmt = _put_in(stmt)
    return stmt


def _put_in(let: Let) -> Stmt:
    return substitute(let.body, {let.var: let.value})


def all_same(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """Whether expressions are as many as others, and the same one by one."""
    return len(left) == len(right) and all(map(Expr.same, left, right))


def free_vars(*exprs: Expr) -> set[Var]:
    """Variables of expressions."""
    return {e for expr in exprs for e in walk_expr(expr) if isinstance(e, Var)}


def loads(expr: Expr) -> Iterator[Load]:
    """Loads anywhere in an expression, outer ones first."""
    return (e for e in walk_expr(expr) if isinstance(e, Load)) if has_loads(expr) else iter(())


def stores_in(stmt: Stmt) -> Iterator[Store]:
    """Stores anywhere in a statement, in order."""
    return (s for s in walk(stmt) if isinstance(s, Store))


def accessed(stmt: Stmt) -> Iterator[tuple[Buffer, tuple[Expr, ...]]]:
    """The buffers that a statement stores to or loads from, each time with the indices of the element."""
    yield from ((s.buffer, s.indices) for s in stores_in(stmt))
    yield from ((e.buffer, e.indices) for e in all_exprs(stmt) if isinstance(e, Load))


def operands_of(expr: Expr, op: BinaryOp) -> list[Expr]:
    """What a tree of one operator is put together from, left to right."""
    if isinstance(expr, Binary) and expr.op == op:
        return [*operands_of(expr.lhs, op), *operands_of(expr.rhs, op)]
    return [expr]


def factors(expr: Expr) -> list[Expr]:
    """What an expression is the product of, left to right."""
    return operands_of(expr, "mul")


def node_count(expr: Expr) -> int:
    """How many nodes an expression has."""
    return sum(1 for _ in walk_expr(expr))


def conjuncts_of(cond: Expr) -> tuple[Expr, ...]:
    """The conditions of which one is the conjunction, in order; there are none of what is true."""
    return tuple(c for c in operands_of(cond, "and") if not (isinstance(c, Const) and c.value))


def has_undef(expr: Expr) -> bool:
    """Whether an expression has `undef` in it."""
    return _has(expr, _UNDEF)


def is_lazy(expr: Expr) -> bool:
    """Whether some part of an expression is evaluated only where another one lets it be."""
    return _has(expr, _LAZY)


def has_choices(expr: Expr) -> bool:
    """Whether an expression chooses between others."""
    return _has(expr, _CHOICES)


def has_loads(expr: Expr) -> bool:
    """Whether an expression reads any buffer."""
    return _has(expr, _LOADS)


def is_rounded(expr: Expr) -> TypeGuard[Cast]:
    """Whether an expression makes an integer of a float."""
    return isinstance(expr, Cast) and expr.dtype.is_integer and expr.operand.dtype.is_float


def has_rounded(expr: Expr) -> bool:
    """Whether anything in an expression makes an integer of a float."""
    return _has(expr, _ROUNDED)


def is_const(expr: Expr | None, value: bool | int | float) -> bool:
    """Whether an expression is just this number."""
    return isinstance(expr, Const) and expr.value == value


def buffers_read(*exprs: Expr) -> set[Buffer]:
    """Buffers that some of these expressions read."""
    return {load.buffer for expr in exprs for load in loads(expr)}


def reads(buffer: Buffer, *exprs: Expr) -> bool:
    """Whether some of these expressions read a buffer."""
    return any(load.buffer == buffer for expr in exprs for load in loads(expr))


def is_fixed(expr: Expr) -> bool:
    """Whether an expression depends on nothing but variables, and is never undef."""
    return not _has(expr, _LOADS | _UNDEF)


def has_load(expr: Expr, load: Load) -> bool:
    """Whether an expression has just this load in it."""
    return any(other.same(load) for other in loads(expr))


def bound_var(stmt: Stmt) -> tuple[Var, ...]:
    """Variables that a statement binds for the statements in it."""
    match stmt:
        case For(var=v) | Let(var=v):
            return (v,)
        case Block(axes=axes):
            return tuple(a.var for a in axes)
        case _:
            return ()


def buffers_written(stmt: Stmt) -> set[Buffer]:
    """Buffers that a statement may store to."""
    found: set[Buffer] = set()
    for s in walk(stmt):
        if isinstance(s, Store):
            found.add(s.buffer)
        elif isinstance(s, CallStmt):
            written = results_of(s.callee)
            found |= {section.buffer for param, section in passed(s) if param in written}
    return found


def results_of(func: PrimFunc) -> tuple[Buffer, ...]:
    """The parameters that a call returns, in order: those that the program stores to as it was written."""
    stored = buffers_written(func.as_written.body)
    return tuple(b for b in func.buffers if b in stored)


def shape_vars(func: PrimFunc) -> tuple[Var, ...]:
    """Names in parameter shapes that are not parameters, in order of appearance."""
    seen: dict[Var, None] = {}
    for buffer in func.buffers:
        for dim in buffer.shape:
            for expr in walk_expr(dim):
                if isinstance(expr, Var) and expr not in func.scalars:
                    seen[expr] = None
    return tuple(seen)


def sizing_scalars(func: PrimFunc) -> frozenset[Var]:
    """Integer parameters in extents of buffers or bounds of loops, also by the names of expressions of them: they are
    numbers where arrays are laid out."""
    bounds = (e for s in walk(func.body) if isinstance(s, For) for e in (s.start, s.extent))
    made = (s.buffer for s in walk(func.body) if isinstance(s, Alloc))
    extents = (dim for buffer in (*func.buffers, *made) for dim in buffer.shape)
    passed_on = (a for s in walk(func.body) if isinstance(s, CallStmt) for a in s.args if isinstance(a, Expr))
    used = free_vars(*bounds, *extents, *passed_on)
    for let in reversed([s for s in walk(func.body) if isinstance(s, Let)]):  # values name what is bound before
        if let.var in used and not has_loads(let.value):
            used |= free_vars(let.value)
    return frozenset(used & {s for s in func.scalars if s.dtype.is_integer})


def can_fault(value: Expr) -> bool:
    """Whether evaluating a value might fail for some indices and contents: any arithmetic that makes integers."""
    return any(isinstance(e, (Binary, Unary, Cast)) and e.dtype.is_integer for e in walk_expr(value))
