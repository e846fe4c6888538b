"""Complex numbers of a program as pairs of floats: each buffer, name and store of them becomes two.

The last step of reading a plain function; programs know no complex numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType, float_max
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Binary,
    BinaryOp,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Let,
    Load,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Unary,
    Undef,
    Var,
    seq,
)
from ir.script.plain.library.complexes import IMAG, MADE, REAL
from ir.traverse import all_exprs, children, loads, node_count, rebuilt, walk, with_children

Pair = tuple[Expr, Expr]
_SHORT = 8  # nodes of an operand that products write more than once


def with_parts(func: PrimFunc) -> tuple[PrimFunc, Mapping[str, tuple[str, str]]]:
    """A program without complex numbers, and the names of both parts of each parameter that was one."""
    if not any(e.dtype.is_complex for e in (*func.params, *all_exprs(func.body))) and not any(
        isinstance(s, (Alloc, Store)) and s.buffer.dtype.is_complex for s in walk(func.body)
    ):
        return func, {}
    split = _Split(_names(func))
    params: list[Var | Buffer] = []
    parts: dict[str, tuple[str, str]] = {}
    for param in func.params:
        if not param.dtype.is_complex:
            params.append(param)
            continue
        pair = split.buffer(param) if isinstance(param, Buffer) else split.var(param)
        params += pair
        parts[param.name] = pair[0].name, pair[1].name
    return replace(func, params=tuple(params), body=split.stmt(func.body)), parts


def _names(func: PrimFunc) -> set[str]:
    bound = {s.var.name for s in walk(func.body) if isinstance(s, (For, Let))}
    own = {s.buffer.name for s in walk(func.body) if isinstance(s, Alloc)}
    return {p.name for p in func.params} | bound | own | {e.name for e in all_exprs(func.body) if isinstance(e, Var)}


class _Split(Struct):
    taken: set[str]
    buffers: dict[Buffer, tuple[Buffer, Buffer]] = field(default_factory=lambda: dict[Buffer, tuple[Buffer, Buffer]]())
    vars: dict[Var, tuple[Var, Var]] = field(default_factory=lambda: dict[Var, tuple[Var, Var]]())
    lets: list[tuple[Var, Expr]] = field(default_factory=lambda: list[tuple[Var, Expr]]())  # before a statement

    def buffer(self, buffer: Buffer) -> tuple[Buffer, Buffer]:
        """The buffers of both parts."""
        real, imag = (fresh(f"{buffer.name}_{part}", self.taken) for part in (REAL, IMAG))
        pair = tuple(replace(buffer, name=name, dtype=buffer.dtype.part) for name in (real, imag))
        self.buffers[buffer] = pair[0], pair[1]
        return self.buffers[buffer]

    def var(self, var: Var) -> tuple[Var, Var]:
        """The names of both parts."""
        real, imag = (fresh(f"{var.name}_{part}", self.taken) for part in (REAL, IMAG))
        self.vars[var] = Var(real, var.dtype.part, var.span), Var(imag, var.dtype.part, var.span)
        return self.vars[var]

    # Statements ------------------------------------------------------------------------------------------------------

    def stmt(self, stmt: Stmt) -> Stmt:
        """A statement without complex numbers, after names for what it would write more than once."""
        outer, self.lets = self.lets, []
        found = self._stmt(stmt)
        for var, value in reversed(self.lets):
            found = Let(var, value, found, stmt.span)
        self.lets = outer
        return found

    def _stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store():
                return self._store(stmt)
            case Let(var=var, value=value, body=body) if var.dtype.is_complex:
                pair, names = self.parts(value), self.var(var)
                inner = Let(names[1], pair[1], self.stmt(body), stmt.span)
                return Let(names[0], pair[0], inner, stmt.span)
            case Alloc(buffer=buffer, body=body) if buffer.dtype.is_complex:
                real, imag = self.buffer(buffer)
                return Alloc(real, Alloc(imag, self.stmt(body), stmt.span), stmt.span)
            case _:
                return rebuilt(stmt, self.value, self.stmt)

    def _store(self, stmt: Store) -> Stmt:
        indices = tuple(map(self.value, stmt.indices))
        if not stmt.buffer.dtype.is_complex:
            return replace(stmt, indices=indices, value=self.value(stmt.value))
        (real, imag), (x, y) = self.buffers[stmt.buffer], self.parts(stmt.value)
        if any(load.buffer == real for e in (y, *indices) for load in loads(e)):  # which the first store may change
            y = self._named(y)
        return seq(Store(real, indices, x, stmt.span), Store(imag, indices, y, stmt.span))

    def _named(self, value: Expr) -> Expr:
        if isinstance(value, (Var, Const)):
            return value
        self.lets.append((Var(fresh("part", self.taken), value.dtype), value))
        return self.lets[-1][0]

    def _short(self, value: Expr, lazy: bool) -> Expr:
        """An operand that is written more than once: by a name, unless it is worked out only under a condition."""
        return value if lazy or node_count(value) <= _SHORT else self._named(value)

    # Expressions -----------------------------------------------------------------------------------------------------

    def value(self, expr: Expr, lazy: bool = False) -> Expr:
        """An expression that is no complex number, without any in it."""
        match expr:
            case Call(function=function, args=(z,)) if z.dtype.is_complex:
                return self.parts(z, lazy)[0 if function.name == REAL else 1]
            case Binary(op="eq" | "ne" as op, lhs=a, rhs=b) if a.dtype.is_complex:
                (ar, ai), (br, bi) = self.parts(a, lazy), self.parts(b, lazy)
                return Binary("and" if op == "eq" else "or", Binary(op, ar, br), Binary(op, ai, bi), expr.span)
            case Select(cond=cond, then=then, other=other):
                return replace(
                    expr, cond=self.value(cond, lazy), then=self.value(then, True), other=self.value(other, True)
                )
            case Binary(op="and" | "or", lhs=a, rhs=b):
                return replace(expr, lhs=self.value(a, lazy), rhs=self.value(b, True))
            case _:
                old = children(expr)
                new = tuple(self.value(e, lazy) for e in old)
                return expr if all(map(lambda a, b: a is b, old, new)) else with_children(expr, new)

    def parts(self, expr: Expr, lazy: bool = False) -> Pair:
        """The real and the imaginary part of an expression."""
        dtype = expr.dtype.part
        match expr:
            case Const(value=value):
                return Const(float(value), dtype), Const(0.0, dtype)
            case Var():
                return self.vars[expr]
            case Undef():
                return Undef(dtype), Undef(dtype)
            case Load(buffer=buffer, indices=indices):
                at, (real, imag) = tuple(self.value(i, lazy) for i in indices), self.buffers[buffer]
                return Load(real, at, expr.span), Load(imag, at, expr.span)
            case Cast(operand=operand) if operand.dtype.is_complex:
                x, y = self.parts(operand, lazy)
                return _as(x, dtype), _as(y, dtype)
            case Cast(operand=operand):
                return _as(self.value(operand, lazy), dtype), Const(0.0, dtype)
            case Call(function=function, args=(x, y)) if function.name == MADE:
                return self.value(x, lazy), self.value(y, lazy)
            case Select(cond=cond, then=then, other=other):
                test, (a, b), (c, d) = self.value(cond, lazy), self.parts(then, True), self.parts(other, True)
                return Select(test, a, c, expr.span), Select(test, b, d, expr.span)
            case Unary(op="neg", operand=operand):
                x, y = self.parts(operand, lazy)
                return _negative(x), _negative(y)
            case Binary(op=op, lhs=a, rhs=b):
                return self._operated(op, self.parts(a, lazy), self.parts(b, lazy), lazy)
            case _:
                raise TypeError(type(expr).__name__)  # of no complex number

    def _operated(self, op: BinaryOp, a: Pair, b: Pair, lazy: bool) -> Pair:
        if op == "add" or op == "sub":
            return _two(op, a[0], b[0]), _two(op, a[1], b[1])
        if op == "div" and _is_zero(b[1]):
            divisor = self._short(b[0], lazy)
            return _two("div", a[0], divisor), _two("div", a[1], divisor)
        if op not in ("mul", "div"):
            raise TypeError(op)  # of no complex numbers
        (ar, ai), (br, bi) = ([self._short(v, lazy) for v in pair] for pair in (a, b))
        if op == "mul":
            real = _two("sub", _two("mul", ar, br), _two("mul", ai, bi))
            return real, _two("add", _two("mul", ar, bi), _two("mul", ai, br))
        size = self._short(_two("add", _two("mul", br, br), _two("mul", bi, bi)), lazy)
        real = _two("add", _two("mul", ar, br), _two("mul", ai, bi))
        imag = _two("sub", _two("mul", ai, br), _two("mul", ar, bi))
        return _two("div", real, size), _two("div", imag, size)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def _is_one(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 1


def _as(expr: Expr, dtype: DType) -> Expr:
    if isinstance(expr, Const) and abs(expr.value) <= float_max(dtype):
        return Const(float(expr.value), dtype)
    return expr if expr.dtype is dtype else Cast(dtype, expr)


def _negative(expr: Expr) -> Expr:
    return Const(-expr.value, expr.dtype) if isinstance(expr, Const) else Unary("neg", expr)


def _two(op: BinaryOp, a: Expr, b: Expr) -> Expr:
    """An operator, where a part may be a zero that stands for there being none."""
    if op == "mul" or op == "div":
        if _is_zero(a) or (op == "mul" and _is_zero(b)):
            return Const(0.0, a.dtype)
        if _is_one(b):
            return a
        if op == "mul" and _is_one(a):
            return b
    elif _is_zero(b):
        return a
    elif _is_zero(a):
        return b if op == "add" else _negative(b)
    return Binary(op, a, b)
