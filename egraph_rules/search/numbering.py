"""Numbers for a program's statements, expressions and buffers: what the e-graph knows them by. Owns the numbering.

Bound variables are named by depth (`%0`, `%1`, ..., de Bruijn levels), so that equal loops get one number whatever
their author called the variable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import assert_never, cast

from msgspec import Struct, field

from egraph_rules.contexts.repeated import Twin
from egraph_rules.engine.engine import Cell
from egraph_rules.engine.functions import function_number
from egraph_rules.search.names import AuthorNames
from ir.instructions import instruction_of
from ir.nodes import (
    SKIP,
    Alloc,
    AnyExpr,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Call,
    Cast,
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
    Undef,
    Var,
)
from ir.traverse import children, substitute_expr, with_children

Tables = dict[str, list[tuple[Cell, ...]]]
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Part(Struct, eq=False):
    """A statement of the canonical program at one place: its number, its node, the author's name for what it binds."""

    number: int
    stmt: Stmt
    parts: tuple[Part, ...] = ()
    name: str = ""


class Numbering(Struct):
    """Numbers for statements, expressions and buffers; equal ones share a number. Statement 0 is `skip`."""

    signed_zeros: bool = False  # whether 0.0 and -0.0 differ; then neither is a known value
    tables: Tables = field(default_factory=lambda: defaultdict(list))
    stmts: list[Stmt] = field(default_factory=lambda: [SKIP])
    exprs: list[Expr] = field(default_factory=lambda: list[Expr]())
    buffers: list[Buffer] = field(default_factory=lambda: list[Buffer]())
    twins: list[Twin[Part]] = field(default_factory=lambda: list[Twin[Part]]())  # nests that repeat another one
    repeats: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])  # which, by place
    _numbers: dict[Hashable, int] = field(default_factory=lambda: dict[Hashable, int]())
    _by_identity: dict[int, tuple[Expr, int]] = field(default_factory=lambda: dict[int, tuple[Expr, int]]())
    _lists: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})
    _authored: AuthorNames | None = None

    def number(self, stmt: Stmt, depth: int = 0, authored: AuthorNames | None = None) -> Part:
        """Number a statement inside `depth` bindings; variables free in it keep their names.

        `authored` gives the printed names of variables that already have canonical ones.
        """
        self._authored = authored
        return self._stmt(stmt, {}, depth)

    def expr(self, expr: Expr) -> int:
        """The number of a canonical expression."""
        known = self._by_identity.get(id(expr))
        if known is None:  # the expression is kept, so that its identity stays its own
            known = self._by_identity[id(expr)] = expr, self._numbered(expr)
        return known[1]

    def _shared(self, expr: Expr, names: dict[Var, Expr]) -> Expr:
        """An expression under other names, as the object that stands for all equal ones: tables find it at once."""
        return self.exprs[self.expr(substitute_expr(expr, names))]

    def _numbered(self, expr: Expr) -> int:
        match cast(AnyExpr, expr):
            case Const(value=value, dtype=dtype):
                found, new = self._new(("const", *expr._key()), expr)  # pyright: ignore[reportPrivateUsage]
                if new and dtype.is_float:
                    self._float_row(found, float(value))
                elif new and INT64_MIN <= int(value) <= INT64_MAX:
                    self.tables["e_int"].append((found, int(value)))
            case Var(name=name, dtype=dtype):
                found = self._row("e_var", expr, extra=(name, dtype))
            case Undef(dtype=dtype):
                found, _ = self._new(("undef", dtype), expr)
            case Load(buffer=buffer, indices=indices):
                row = (self.buffer(buffer), self.indices(indices))
                found, new = self._new(("load", *row), expr)
                if new:
                    self.tables["e_load"].append((found, *row))
            case Call(function=function, args=args):
                found = self._row("e_call", expr, function_number(function), self.indices(args))
            case Unary(op=op, operand=a):
                found = self._row("e_un", expr, op, expr.dtype.value, self.expr(a))
            case Cast(dtype=dtype, operand=a):
                found = self._row("e_cast", expr, dtype.value, self.expr(a))
            case Binary(op=op, lhs=a, rhs=b):
                # The operands' dtype tells a comparison of floats from one of integers.
                found = self._row("e_bin", expr, op, a.dtype.value, self.expr(a), self.expr(b))
            case Select(cond=c, then=a, other=b):
                found = self._row("e_sel", expr, expr.dtype.value, self.expr(c), self.expr(a), self.expr(b))
            case other:
                assert_never(other)
        return found

    def _float_row(self, number: int, value: float) -> None:
        if self.is_known(value):
            self.tables["e_flt"].append((number, value))

    def is_known(self, value: float) -> bool:
        """Whether a float can be compared by value: NaN cannot, and zero cannot where its sign matters."""
        return value == value and not (value == 0.0 and self.signed_zeros)

    def buffer(self, buffer: Buffer) -> int:
        key = ("buffer", buffer)
        if key not in self._numbers:
            self._numbers[key] = len(self.buffers)
            self.buffers.append(buffer)
        return self._numbers[key]

    def indices(self, indices: tuple[Expr, ...]) -> int:
        """The number of a list of index expressions."""
        numbers = tuple(self.expr(i) for i in indices)
        for k in range(len(numbers) - 1, -1, -1):
            tail = numbers[k:]
            if tail not in self._lists:
                self._lists[tail] = len(self._lists)
                self.tables["x_cons"].append((self._lists[tail], tail[0], self._lists[tail[1:]]))
        return self._lists[numbers]

    def _new(self, key: Hashable, expr: Expr) -> tuple[int, bool]:
        found = self._numbers.get(key)
        if found is not None:
            return found, False
        number = self._numbers[key] = len(self.exprs)
        self.exprs.append(with_children(expr, tuple(self.exprs[self.expr(c)] for c in children(expr))))
        if not isinstance(expr, Var):
            # A variable whose value is known stays itself: `B[io, ii]` is a better program than `B[io, io]`.
            self.tables["e_type"].append((number, expr.dtype.value))
        return number, True

    def _row(self, table: str, expr: Expr, *cells: Cell, extra: Hashable = None) -> int:
        found, new = self._new((table, *cells, extra), expr)
        if new:
            self.tables[table].append((found, *cells))
        return found

    def _add(self, table: str, stmt: Stmt, *cells: Cell, extra: Hashable = None) -> tuple[int, Stmt]:
        """The number of a statement, and the node that stands for all equal ones."""
        key = (table, cells, extra)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.stmts)
            self.stmts.append(stmt)
            self.tables[table].append((found, *cells))
        return found, self.stmts[found]

    def _stmt(self, stmt: Stmt, names: dict[Var, Expr], depth: int) -> Part:
        match cast(AnyStmt, stmt):
            case Seq(stmts=stmts):
                return self._sequence([self._stmt(s, names, depth) for s in stmts])
            case Store(buffer=buffer, indices=indices, value=value):
                places = tuple(self._shared(i, names) for i in indices)
                value = self._shared(value, names)
                new: Stmt = Store(buffer, places, value, stmt.span)
                cells = (self.buffer(buffer), self.indices(places), self.expr(value))
                return Part(*self._add("p_store", new, *cells))
            case If(cond=cond, then=yes, other=no):
                cond = self._shared(cond, names)
                a, b = self._stmt(yes, names, depth), self._stmt(no, names, depth)
                new = If(cond, a.stmt, b.stmt, stmt.span)
                return Part(*self._add("p_if", new, self.expr(cond), a.number, b.number), (a, b))
            case For() as loop:
                return self._loop(loop, names, depth)
            case Let(var=var, value=value, body=body):
                level = Var(f"%{depth}", var.dtype)
                value = self._shared(value, names)
                inner = self._stmt(body, {**names, var: level}, depth + 1)
                new = Let(level, value, inner.stmt, stmt.span)
                cells = (self.expr(value), inner.number)
                return Part(
                    *self._add("p_let", new, *cells, extra=(depth, var.dtype)),
                    (inner,),
                    self._printed(var, body),
                )
            case Alloc(buffer=buffer, body=body):
                inner = self._stmt(body, names, depth)
                return Part(*self._add("p_alloc", Alloc(buffer, inner.stmt), inner.number, extra=buffer), (inner,))
            case Assume(cond=cond):
                return self._leaf(Assume(substitute_expr(cond, names), stmt.span))
            case Assert(cond=cond, message=message):
                return self._leaf(Assert(substitute_expr(cond, names), message, stmt.span))
            case Evaluate(value=value):
                return self._leaf(Evaluate(substitute_expr(value, names), stmt.span))
            case Block(axes=(), init=None, name=name, body=body) as block:
                inner = self._stmt(body, names, depth)
                new = Block(name, inner.stmt, annotations=block.annotations, span=block.span)
                key = (name, repr(block.annotations), instruction_of(block))
                return Part(*self._add("p_block", new, inner.number, extra=key), (inner,))
            case Block():
                raise ValueError("axes of blocks are lowered before a program is numbered")
            case other:
                assert_never(other)

    def _leaf(self, stmt: Stmt) -> Part:
        return Part(*self._add("p_leaf", stmt, extra=stmt))

    def _loop(self, loop: For, names: dict[Var, Expr], depth: int) -> Part:
        level = Var(f"%{depth}", loop.var.dtype)
        start, extent = self._shared(loop.start, names), self._shared(loop.extent, names)
        inner = self._stmt(loop.body, {**names, loop.var: level}, depth + 1)
        new = For(level, start, extent, inner.stmt, loop.kind, loop.annotations, loop.span)
        cells = (self.expr(start), self.expr(extent), inner.number)
        extra = (depth, loop.var.dtype, loop.kind, repr(loop.annotations))
        return Part(*self._add("p_for", new, *cells, extra=extra), (inner,), self._printed(loop.var, loop.body))

    def _printed(self, var: Var, body: Stmt) -> str:
        return var.name if self._authored is None else self._authored.of_binding(var, body)

    def _sequence(self, parts: list[Part]) -> Part:
        """A balanced tree of two-part sequences: recursion stays shallow however long the program is."""
        if not parts:
            return Part(0, self.stmts[0])
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        a, b = self._sequence(parts[:middle]), self._sequence(parts[middle:])
        return Part(*self._add("p_seq", Seq((a.stmt, b.stmt)), a.number, b.number), (a, b))
