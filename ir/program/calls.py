"""Calls of kernels: what one means, as the callee's body in its place.

A call binds the callee's scalars to values and its buffers to sections of the caller's, and then runs its body, which
reads and writes these in place, marked as an instance where the callee is an instruction. The bindings are those of
lets: an argument is evaluated once, before the body, and an undef one is frozen. What the callee assumes of its
parameters is thereby assumed where the call stands: where it is false, the program has no obligations, as with any
assumption (docs/language.md), whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import assert_never, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from ir.instructions import instance, is_instruction
from ir.naming import fresh
from ir.nodes import (
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
    Seq,
    Stmt,
    Store,
    Var,
    const,
)
from ir.sections import Section, passed
from ir.traverse import (
    all_exprs,
    bound_var,
    free_vars,
    is_const,
    is_fixed,
    map_expr,
    map_stmt,
    rebuilt,
    shape_vars,
    substitute_expr,
    walk,
)

_PLAIN = ("add", "sub", "mul")  # integer arithmetic that may as well be done wherever it is used


def calls_in(stmt: Stmt) -> Iterator[CallStmt]:
    """The calls of kernels anywhere in a statement, in program order."""
    return (s for s in walk(stmt) if isinstance(s, CallStmt))


def is_argument(buffer: Buffer, stmt: Stmt) -> bool:
    """Whether a call in a statement is handed a buffer."""
    return any(section.buffer == buffer for call in calls_in(stmt) for _, section in passed(call))


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
    """`func` with the body of each callee in the place of its call; all else, and the interface, as it is.

    So is what it refines. A function without calls is the same object.
    """
    forms = (func,) if func.origin is None else (func, func.origin)
    if not any(True for form in forms for _ in calls_in(form.body)):
        return func
    return func.with_origin(_without_calls)


def _without_calls(func: PrimFunc) -> PrimFunc:
    taken = {p.name for p in (*func.params, *shape_vars(func))} | names_mentioned(func.body)
    return replace(func, body=_inlined(func.body, taken))


def inline_calls(stmt: Stmt) -> Stmt:
    """A statement with the body of each callee in the place of its call; new names are not among those it mentions."""
    return stmt if next(calls_in(stmt), None) is None else _inlined(stmt, names_mentioned(stmt))


def calls_only_leaves(func: PrimFunc) -> PrimFunc:
    """`func` with the bodies of callees that call others in the places of their calls; so is what it refines.

    An instruction is a leaf whatever its body is.
    """

    def flat(func: PrimFunc) -> PrimFunc:
        taken = {p.name for p in (*func.params, *shape_vars(func))} | names_mentioned(func.body)

        def opened(stmt: Stmt) -> Stmt:
            if not isinstance(stmt, CallStmt) or _is_leaf(stmt.callee):
                return stmt
            return map_stmt(body_of(stmt, taken, nested=True), on_stmt=opened)

        return (
            func
            if all(_is_leaf(c.callee) for c in calls_in(func.body))
            else replace(func, body=map_stmt(func.body, on_stmt=opened))
        )

    return func.with_origin(flat)


def _is_leaf(callee: PrimFunc) -> bool:
    return is_instruction(callee) or next(calls_in(callee.body), None) is None


def size_arguments(call: CallStmt) -> dict[Var, Expr]:
    """What a call gives the callee's scalars and, as far as plain arithmetic tells, the sizes in its shapes."""
    found: dict[Var, Expr] = {
        p: a for p, a in zip(call.callee.params, call.args, strict=True) if isinstance(p, Var) and isinstance(a, Expr)
    }
    wanted = [v for v in shape_vars(call.callee) if v not in found]
    extents = [
        pair for param, section in passed(call) for pair in zip(param.shape, section.shape, strict=False)
    ]  # a wrong rank is an error of verification
    for extent, given in sorted(extents, key=lambda pair: not isinstance(pair[0], Var)):
        for var in wanted:
            solved = None if var in found else solved_for(var, extent, given, found)
            if solved is not None:
                found[var] = of_dtype(solved, var.dtype)
    return found


def solved_for(var: Var, extent: Expr, given: Expr, known: Mapping[Var, Expr]) -> Expr | None:
    """The value of a variable that makes an extent equal another: from a name, a sum with it, or a multiple of it."""
    match extent:
        case Var() if extent.same(var):
            return given
        case Binary(op="add", lhs=a, rhs=b) if not free_vars(b) - {*known}:
            return solved_for(var, a, minus(given, substitute_expr(b, known)), known)
        case Binary(op="sub", lhs=a, rhs=b) if not free_vars(b) - {*known}:
            return solved_for(var, a, plus(given, substitute_expr(b, known)), known)
        case Binary(op="mul", lhs=Const() as n, rhs=a):
            return solved_for(var, Binary("mul", a, n), given, known)
        case Binary(op="mul", lhs=a, rhs=Const(value=int() as n)):
            if isinstance(given, Const) and n and int(given.value) % n == 0:
                return solved_for(var, a, const(int(given.value) // n, given.dtype), known)
            if isinstance(given, Binary) and given.op == "mul":
                for part, factor in ((given.lhs, given.rhs), (given.rhs, given.lhs)):
                    if is_const(factor, n):
                        return solved_for(var, a, part, known)
            return None
        case _:
            return None


def plus(a: Expr, b: Expr) -> Expr:
    """`a + b`, computed where both are numbers."""
    if is_const(b, 0):
        return a
    if is_const(a, 0):
        return of_dtype(b, a.dtype)
    b = of_dtype(b, a.dtype) if isinstance(b, Const) else b
    if a.dtype is not b.dtype:
        a, b = of_dtype(a, DType.INT64), of_dtype(b, DType.INT64)
    if isinstance(a, Const) and isinstance(b, Const):
        return const(int(a.value) + int(b.value), a.dtype)
    return Binary("add", a, b, b.span)


def minus(a: Expr, b: Expr) -> Expr:
    """`a - b`, computed where both are numbers."""
    if is_const(b, 0):
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        return const(int(a.value) - int(b.value), a.dtype)
    return Binary("sub", a, of_dtype(b, a.dtype), a.span)


def of_dtype(expr: Expr, dtype: DType) -> Expr:
    """An integer as another dtype."""
    if expr.dtype is dtype:
        return expr
    return const(int(expr.value), dtype) if isinstance(expr, Const) else Cast(dtype, expr, expr.span)


# Inlining ------------------------------------------------------------------------------------------------------------


def names_mentioned(stmt: Stmt) -> set[str]:
    """Every name that a statement mentions."""
    found: set[str] = set()
    for inner in walk(stmt):
        found |= {v.name for v in bound_var(inner)}
        if isinstance(inner, (Alloc, Store)):
            found.add(inner.buffer.name)
        elif isinstance(inner, CallStmt):
            found |= {section.buffer.name for _, section in passed(inner)}
    for expr in all_exprs(stmt):
        if isinstance(expr, Load):
            found.add(expr.buffer.name)
        elif isinstance(expr, Var):
            found.add(expr.name)
    return found


def _inlined(stmt: Stmt, taken: set[str]) -> Stmt:
    return map_stmt(stmt, on_stmt=lambda s: body_of(s, taken) if isinstance(s, CallStmt) else s)


def body_of(call: CallStmt, taken: set[str], *, nested: bool = False) -> Stmt:
    """The callee's body with what is passed in the place of its parameters; `nested` calls stay where that is said."""
    lets: list[tuple[Var, Expr]] = []

    def once(value: Expr, name: str, *, plain: Callable[[Expr], bool]) -> Expr:
        """The value where it may be used as often as one likes, else a name for it."""
        if plain(value):
            return value
        var = Var(fresh(name, taken), value.dtype, value.span)
        lets.append((var, value))
        return var

    args: list[Expr | Section] = []
    for param, arg in zip(call.callee.params, call.args, strict=True):
        if isinstance(arg, Section):
            ranges = tuple(
                (once(a, "start", plain=is_fixed), None if n is None else once(n, "extent", plain=is_fixed))
                for a, n in arg.ranges
            )
            args.append(replace(arg, ranges=ranges))
        else:
            args.append(once(arg, param.name, plain=_plain))
    frozen = replace(call, args=tuple(args))
    sizes = size_arguments(frozen)
    copy = Copy(partial(fresh, taken=taken), sizes, {param.name: section for param, section in passed(frozen)})
    callee = call.callee if nested else without_calls(call.callee)
    body = instance(call.callee, copy.stmt(callee.body), sizes, call.span)
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


def _shifted(start: Expr, axis: tuple[Expr, Expr | None]) -> tuple[Expr, Expr | None]:
    """The axis of a section of a section, which starts at `start`."""
    return plus(start, of_dtype(axis[0], start.dtype)), axis[1]


class Copy(Struct):
    """A copy of a body: `name` gives new names for bound ones, those of parameters stand for others."""

    name: Callable[[str], str]
    values: dict[Var, Expr]
    sections: dict[str, Section]
    buffers: dict[str, Buffer] = field(default_factory=lambda: dict[str, Buffer]())

    def stmt(self, stmt: Stmt) -> Stmt:
        """A statement of the copy."""
        match cast(AnyStmt, stmt):
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
            case Seq() | If() | Assume() | Assert() | Evaluate():
                return rebuilt(stmt, self.expr, self.stmt)
            case CallStmt(args=args) as stmt:
                return replace(
                    stmt, args=tuple(self._section(a) if isinstance(a, Section) else self.expr(a) for a in args)
                )
            case other:
                assert_never(other)

    def expr(self, expr: Expr) -> Expr:
        """An expression of the copy."""

        def on_node(e: Expr) -> Expr:
            if isinstance(e, Var):
                return self.values.get(e, e)
            if isinstance(e, Load):
                buffer, indices = self._place(e.buffer, e.indices)
                return Load(buffer, indices, e.span)
            return e

        return map_expr(expr, on_node)

    def _bind(self, var: Var) -> Var:
        new = replace(var, name=self.name(var.name))
        self.values[var] = new
        return new

    def _own(self, buffer: Buffer) -> Buffer:
        shape = tuple(map(self.expr, buffer.shape))
        new = replace(buffer, name=self.name(buffer.name), shape=shape)
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

    def _section(self, section: Section) -> Section:
        """A section of one of the callee's buffers, in the buffer where that lies."""
        ranges = [(self.expr(s), None if n is None else self.expr(n)) for s, n in section.ranges]
        outer, own = self.sections.get(section.buffer.name), iter(ranges)
        if outer is None:
            buffer = self.buffers.get(section.buffer.name, section.buffer)
            return replace(section, buffer=buffer, ranges=tuple(ranges))
        parts = tuple((start, None) if n is None else _shifted(start, next(own)) for start, n in outer.ranges)
        return replace(section, buffer=outer.buffer, ranges=parts)

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Where an element of one of the callee's buffers lies."""
        section = self.sections.get(buffer.name)
        if section is None:
            return self.buffers.get(buffer.name, buffer), indices
        own = iter(indices)
        return section.buffer, tuple(a if n is None else plus(a, next(own)) for a, n in section.ranges)
