"""Calls of kernels: what one means, as the callee's body in its place.

A call binds the callee's scalars to values and its buffers to sections of the caller's, and then runs its body, which
reads and writes these in place. The bindings are those of lets: an argument is evaluated once, before the body, and an
undef one is frozen. What the callee assumes of its parameters is thereby assumed where the call stands: where it is
false, the program has no obligations, as with any assumption (docs/language.md), whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never, cast

import islpy as isl

from ir import presburger as pb
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    TRUE,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
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
    Section,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.traverse import (
    all_exprs,
    bound_var,
    free_vars,
    map_expr,
    map_stmt,
    shape_vars,
    substitute_expr,
    walk,
    walk_expr,
)

_PLAIN = ("add", "sub", "mul")  # integer arithmetic that may as well be done wherever it is used


def calls_in(stmt: Stmt) -> Iterator[CallStmt]:
    """The calls of kernels anywhere in a statement, in program order."""
    return (s for s in walk(stmt) if isinstance(s, CallStmt))


def callees(func: PrimFunc) -> tuple[PrimFunc, ...]:
    """All kernels that a run of `func` may call, each after those that it calls."""
    found: dict[int, PrimFunc] = {}

    def visit(caller: PrimFunc) -> None:
        for call in calls_in(caller.body):
            if id(call.callee) not in found:
                visit(call.callee)
                found[id(call.callee)] = call.callee

    visit(func)
    distinct: list[PrimFunc] = []
    for callee in found.values():
        if all(callee != other for other in distinct):
            distinct.append(callee)
    return tuple(distinct)


def without_calls(func: PrimFunc) -> PrimFunc:
    """`func` with the body of each callee in the place of its call; all else, and the interface, as it is."""
    if next(calls_in(func.body), None) is None:
        return func
    taken = {p.name for p in (*func.params, *shape_vars(func))} | _names(func.body)
    return replace(func, body=_inlined(func.body, taken)).as_form_of(func)


def inline_calls(stmt: Stmt) -> Stmt:
    """A statement with the body of each callee in the place of its call; new names are not among those it mentions."""
    return stmt if next(calls_in(stmt), None) is None else _inlined(stmt, _names(stmt))


def size_arguments(call: CallStmt) -> dict[Var, Expr]:
    """What a call gives the callee's scalars and, as far as plain arithmetic tells, the sizes in its shapes."""
    found: dict[Var, Expr] = {
        p: a for p, a in zip(call.callee.params, call.args, strict=True) if isinstance(p, Var) and isinstance(a, Expr)
    }
    wanted = [v for v in shape_vars(call.callee) if v not in found]
    extents = [
        pair for param, section in call.sections for pair in zip(param.shape, section.shape, strict=False)
    ]  # a wrong rank is an error of verification
    for extent, given in sorted(extents, key=lambda pair: not isinstance(pair[0], Var)):
        for var in wanted:
            solved = None if var in found else _solve(extent, given, var, found)
            if solved is not None:
                found[var] = _of_dtype(solved, var.dtype)
    return found


def _solve(extent: Expr, given: Expr, var: Var, known: Mapping[Var, Expr]) -> Expr | None:
    """The value of a variable that makes an extent equal another: from a name, a sum with it, or a multiple of it."""
    match extent:
        case Var() if extent.same(var):
            return given
        case Binary(op="add", lhs=a, rhs=b) if not free_vars(b) - {*known}:
            return _solve(a, _less(given, substitute_expr(b, known)), var, known)
        case Binary(op="sub", lhs=a, rhs=b) if not free_vars(b) - {*known}:
            return _solve(a, _plus(given, substitute_expr(b, known)), var, known)
        case Binary(op="mul", lhs=a, rhs=Const(value=int() as n)) | Binary(op="mul", lhs=Const(value=int() as n), rhs=a):
            if isinstance(given, Const) and n and int(given.value) % n == 0:
                return _solve(a, const(int(given.value) // n, given.dtype), var, known)
            if isinstance(given, Binary) and given.op == "mul":
                for part, factor in ((given.lhs, given.rhs), (given.rhs, given.lhs)):
                    if isinstance(factor, Const) and factor.value == n:
                        return _solve(a, part, var, known)
            return None
        case _:
            return None


def _plus(a: Expr, b: Expr) -> Expr:
    """`a + b`, computed where both are numbers."""
    if isinstance(b, Const) and b.value == 0:
        return a
    if isinstance(a, Const) and a.value == 0:
        return _of_dtype(b, a.dtype)
    b = _of_dtype(b, a.dtype) if isinstance(b, Const) else b
    if a.dtype is not b.dtype:
        a, b = _of_dtype(a, DType.INT64), _of_dtype(b, DType.INT64)
    if isinstance(a, Const) and isinstance(b, Const):
        return const(int(a.value) + int(b.value), a.dtype)
    return Binary("add", a, b, b.span)


def _less(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        return const(int(a.value) - int(b.value), a.dtype)
    return Binary("sub", a, _of_dtype(b, a.dtype), a.span)


def _of_dtype(expr: Expr, dtype: DType) -> Expr:
    if expr.dtype is dtype:
        return expr
    return const(int(expr.value), dtype) if isinstance(expr, Const) else Cast(dtype, expr, expr.span)


def equal_integers(one: Expr, other: Expr) -> bool:
    """Whether two expressions of sizes are the same number, whatever the sizes are."""
    if one.same(other):
        return True

    def equal() -> bool:
        a, b = pb.affine(one), pb.affine(other)
        return a is not None and b is not None and pb.always().is_subset(a.eq_set(b).params())

    return pb.within_budget(equal, False)


def disjoint_sections(one: Section, other: Section) -> bool:
    """Whether two sections of a buffer have no element in common, whatever the scalars in them are."""

    def apart() -> bool:
        boxes: list[isl.Set] = []
        for section in (one, other):
            place = tuple(Var(f"<{k}>", start.dtype) for k, (start, _) in enumerate(section.ranges))
            for var, (start, extent) in zip(place, section.ranges, strict=True):
                size = const(1, start.dtype) if extent is None else _of_dtype(extent, start.dtype)
                boxes.append(pb.loop_domain(var, start, size).may)
        rank = len(one.ranges)
        return any(boxes[k].is_disjoint(boxes[rank + k]) for k in range(rank))

    return one.buffer != other.buffer or pb.within_budget(apart, False)


def with_section_checks(func: PrimFunc) -> PrimFunc:
    """`func` with bodies in the places of calls, and before each what reads the corners of the sections it passes."""
    if next(calls_in(func.body), None) is None:
        return func

    def on_stmt(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, CallStmt):
            return stmt
        return seq(*(_corners(s) for _, s in stmt.sections if not s.is_whole), stmt)

    return without_calls(replace(func, body=map_stmt(func.body, on_stmt=on_stmt)))


def _corners(section: Section) -> Stmt:
    """Loads of the first and last element of a section, where it has any."""
    some: Expr = TRUE
    last: list[Expr] = []
    for start, extent in section.ranges:
        if extent is None:
            last.append(start)
        else:
            some = some & (extent >= 1) if not (isinstance(extent, Const) and extent.value > 0) else some
            last.append(_less(_plus(start, extent), const(1, start.dtype)))
    first = tuple(start for start, _ in section.ranges)
    reads = seq(*(Evaluate(Load(section.buffer, at, section.span), section.span) for at in (first, tuple(last))))
    return reads if some.same(TRUE) else If(some, reads, SKIP, section.span)


# Inlining ------------------------------------------------------------------------------------------------------------


def _names(stmt: Stmt) -> set[str]:
    """Every name that a statement mentions."""
    found: set[str] = set()
    for inner in walk(stmt):
        found |= {v.name for v in bound_var(inner)}
        if isinstance(inner, (Alloc, Store)):
            found.add(inner.buffer.name)
        elif isinstance(inner, CallStmt):
            found |= {section.buffer.name for _, section in inner.sections}
    for expr in all_exprs(stmt):
        if isinstance(expr, Load):
            found.add(expr.buffer.name)
        elif isinstance(expr, Var):
            found.add(expr.name)
    return found


def _inlined(stmt: Stmt, taken: set[str]) -> Stmt:
    return map_stmt(stmt, on_stmt=lambda s: _body_of(s, taken) if isinstance(s, CallStmt) else s)


def _body_of(call: CallStmt, taken: set[str]) -> Stmt:
    """The callee's body with what is passed in the place of its parameters."""
    lets: list[tuple[Var, Expr]] = []

    def once(value: Expr, name: str, *, plain: Callable[[Expr], bool]) -> Expr:
        """The value where it may be used as often as one likes, else a name for it."""
        if plain(value):
            return value
        var = Var(_fresh(name, taken), value.dtype, value.span)
        lets.append((var, value))
        return var

    args: list[Expr | Section] = []
    for param, arg in zip(call.callee.params, call.args, strict=True):
        if isinstance(arg, Section):
            ranges = tuple(
                (once(a, "start", plain=_steady), None if n is None else once(n, "extent", plain=_steady))
                for a, n in arg.ranges
            )
            args.append(replace(arg, ranges=ranges))
        else:
            args.append(once(arg, param.name, plain=_plain))
    frozen = replace(call, args=tuple(args))
    copy = _Copy(taken, size_arguments(frozen), {param.name: section for param, section in frozen.sections})
    body = copy.stmt(without_calls(call.callee).body)
    for var, value in reversed(lets):
        body = Let(var, value, body, call.span)
    return body


def _plain(expr: Expr) -> bool:
    """Whether a scalar argument may stand wherever its parameter does: a name, a number, or sums and products of such
    integers."""
    match expr:
        case Var() | Const():
            return True
        case Binary(op=op, lhs=a, rhs=b) if op in _PLAIN and expr.dtype.is_integer:
            return _plain(a) and _plain(b)
        case _:
            return False


def _steady(expr: Expr) -> bool:
    """Whether an expression has one value while the callee runs: it reads no buffer, and nothing in it is undef."""
    return not any(isinstance(e, (Load, Undef)) for e in walk_expr(expr))


@dataclass(slots=True)
class _Copy:
    """A callee's body under other names: bound ones are new, those of parameters stand for what is passed."""

    taken: set[str]
    values: dict[Var, Expr]
    sections: dict[str, Section]
    buffers: dict[str, Buffer] = field(default_factory=lambda: dict[str, Buffer]())

    def stmt(self, stmt: Stmt) -> Stmt:
        match cast(AnyStmt, stmt):  # calls in it are inlined before
            case For() as stmt:
                start, extent = self.expr(stmt.start), self.expr(stmt.extent)
                var = self._bind(stmt.var)
                return replace(stmt, var=var, start=start, extent=extent, body=self.stmt(stmt.body))
            case Let() as stmt:
                value = self.expr(stmt.value)
                return replace(stmt, var=self._bind(stmt.var), value=value, body=self.stmt(stmt.body))
            case Alloc() as stmt:
                buffer = self._own(stmt.buffer)
                return replace(stmt, buffer=buffer, body=self.stmt(stmt.body))
            case Block() as stmt:
                return self._block(stmt)
            case Store() as stmt:
                value = self.expr(stmt.value)
                buffer, indices = self._place(stmt.buffer, tuple(map(self.expr, stmt.indices)))
                return replace(stmt, buffer=buffer, indices=indices, value=value)
            case Seq(stmts=stmts) as stmt:
                return seq(*map(self.stmt, stmts), span=stmt.span)
            case If() as stmt:
                return replace(stmt, cond=self.expr(stmt.cond), then=self.stmt(stmt.then), other=self.stmt(stmt.other))
            case (Assume() | Assert()) as stmt:
                return replace(stmt, cond=self.expr(stmt.cond))
            case Evaluate() as stmt:
                return replace(stmt, value=self.expr(stmt.value))
            case other:
                assert_never(other)

    def expr(self, expr: Expr) -> Expr:
        def on_node(e: Expr) -> Expr:
            if isinstance(e, Var):
                return self.values.get(e, e)
            if isinstance(e, Load):
                buffer, indices = self._place(e.buffer, e.indices)
                return Load(buffer, indices, e.span)
            return e

        return map_expr(expr, on_node)

    def _bind(self, var: Var) -> Var:
        new = replace(var, name=_fresh(var.name, self.taken))
        self.values[var] = new
        return new

    def _own(self, buffer: Buffer) -> Buffer:
        shape = tuple(map(self.expr, buffer.shape))
        new = replace(buffer, name=_fresh(buffer.name, self.taken), shape=shape)
        self.buffers[buffer.name] = new
        return new

    def _block(self, block: Block) -> Stmt:
        axes: list[IterVar] = []
        for axis in block.axes:
            start, extent, value = map(self.expr, (axis.start, axis.extent, axis.value))
            axes.append(IterVar(self._bind(axis.var), axis.kind, start, extent, value))
        return replace(
            block,
            axes=tuple(axes),
            predicate=self.expr(block.predicate),
            init=None if block.init is None else self.stmt(block.init),
            body=self.stmt(block.body),
            reads=None,  # notes, of a buffer that may be another one now
            writes=None,
        )

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Where an element of one of the callee's buffers lies."""
        section = self.sections.get(buffer.name)
        if section is None:
            return self.buffers.get(buffer.name, buffer), indices
        own = iter(indices)
        return section.buffer, tuple(a if n is None else _plus(a, next(own)) for a, n in section.ranges)


def _fresh(name: str, taken: set[str]) -> str:
    candidate, count = name, 0
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    taken.add(candidate)
    return candidate
