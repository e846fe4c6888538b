"""Writes random statements and expressions over small buffers. Owns what single statements look like.

Indices are in bounds by what the scope knows, except for a few that depend on data or on scalars: what an original
program does out of bounds it promises nothing for.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Assume,
    Binary,
    Block,
    Buffer,
    Cast,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.testing.draw import Source
from ir.traverse import all_exprs, buffers_written, walk

INDEX = DType.INT32
_DTYPES = (DType.INT32, DType.FLOAT32, DType.INT8, DType.UINT8)
_SHAPES = ((4,), (6,), (2, 3), (3, 4))


def number(value: int) -> Expr:
    """An index."""
    return const(value, INDEX)


class Scope(Struct, frozen=True):
    """Names around a place: integers with their values (first, one past the last), other values, and local buffers."""

    ranges: tuple[tuple[Var, int, int], ...] = ()
    values: tuple[Var, ...] = ()
    flags: tuple[Var, ...] = ()

    def binding(self, var: Var, low: int, high: int) -> Scope:
        """The scope with one integer more."""
        return replace(self, ranges=(*self.ranges, (var, low, high)))


class Writer(Struct):
    """Writes one program: `source` decides. `C` and `I` are never written; `I` holds indices, `L` is local."""

    source: Source
    dtype: DType = DType.INT32
    shape: tuple[int, ...] = (4,)
    fresh: int = 0
    n: Var = field(default_factory=lambda: Var("n", INDEX))
    flag: Var = field(default_factory=lambda: Var("p", DType.BOOL))
    local: bool = False

    def __post_init__(self) -> None:
        self.dtype = self.source.pick(*_DTYPES)
        self.shape = self.source.pick(*_SHAPES)

    def buffer(self, name: str) -> Buffer:
        """A buffer by name; all of them have one shape, except the table of indices."""
        if name == "I":
            return Buffer("I", (number(4),), INDEX)
        return Buffer(name, tuple(number(n) for n in self.shape), self.dtype)

    def written(self) -> Buffer:
        """A buffer that statements may write."""
        return self.buffer(self.source.pick("A", "B", "L") if self.local else self.source.pick("A", "B"))

    def read(self) -> Buffer:
        """A buffer that statements may read."""
        return self.buffer(self.source.pick("A", "B", "C", "L") if self.local else self.source.pick("A", "B", "C"))

    def var(self, stem: str, dtype: DType = INDEX) -> Var:
        """A name that is not in use."""
        self.fresh += 1
        return Var(f"{stem}{self.fresh}", dtype)

    # Expressions -----------------------------------------------------------------------------------------------------

    def constant(self) -> Expr:
        """A constant of the program's dtype."""
        if self.dtype.is_float:
            return const(self.source.pick(0.0, 1.0, -0.5, 2.0), self.dtype)
        return const(self.source.pick(0, 1, 2, 3, self.dtype.max), self.dtype)

    def index(self, extent: int, scope: Scope) -> Expr:
        """An index, nearly always between 0 and `extent`."""
        choices: list[Expr] = [number(0), number(extent - 1)]
        for var, low, high in scope.ranges:
            if low >= 0 and high <= extent:
                choices += [var, var, number(extent - 1) - var if extent > high else var]
            elif high - low <= extent:
                choices.append(var - low)
            choices.append((var * self.source.pick(1, 2, 3) + self.source.pick(0, 1, 5)) % extent)
        if scope.ranges:
            var, low, high = self.source.pick(*scope.ranges)
            choices.append((var + scope.ranges[0][0]) % extent)
            choices += [(var // 2) % extent, var + 1, Binary("max", Binary("min", var, number(extent - 1)), number(0))]
            if low >= 0 and high <= 4:
                choices.append(Binary("floormod", self.buffer("I")[var], number(extent)))
        choices.append(Binary("floormod", self.n, number(extent)))
        return self.source.pick(*choices)

    def place(self, buffer: Buffer, scope: Scope) -> Load:
        """An element."""
        return Load(buffer, tuple(self.index(n, scope) for n in self.shape))

    def condition(self, scope: Scope, depth: int = 1) -> Expr:
        """A condition on loop variables, scalars or data."""
        n, v = self.n, None
        options: list[Expr] = [n < 3, n >= 1, self.flag]
        options += scope.flags
        if scope.ranges:
            v, low, high = self.source.pick(*scope.ranges)
            bound = self.source.integer(low, high)
            options += [v < bound, v >= bound, v == bound, v % 2 == 0, v < n, v * 2 + n < 5, (v >= 1) & (v < 3)]
        options.append(self.place(self.read(), scope) > const(0, self.dtype))
        first = self.source.pick(*options)
        if depth == 0:
            return first
        match self.source.pick("plain", "plain", "plain", "not", "and", "or", "safe"):
            case "not":
                return ~first
            case "and":
                return first & self.condition(scope, 0)
            case "or":
                return first | self.condition(scope, 0)
            case "safe":  # the right operand may only be evaluated where the left one holds
                return (n != 0) & (4 // n > (number(1) if v is None else v))
            case _:
                return first

    def tested(self, scope: Scope) -> tuple[Expr, Stmt]:
        """A condition on an element, and a store that may change its truth."""
        element = self.place(self.written(), scope)
        zero, known = const(0, self.dtype), self.constant()
        cond, change = self.source.pick(
            (element > zero, zero),
            (Binary("eq", element, known), element + self.constant()),
            (element <= known, const(3, self.dtype)),
            (element > zero, self.constant()),
            (element > zero, Undef(self.dtype)),
        )
        return cond, Store(element.buffer, element.indices, change)

    def whole(self, scope: Scope, depth: int = 2) -> Expr:
        """An integer expression over loop variables and scalars."""
        leaves: list[Expr] = [v for v, _, _ in scope.ranges] * 3
        leaves += [self.n, number(self.source.integer(-3, 8))]
        if depth == 0:
            return self.source.pick(*leaves)
        match self.source.pick(
            "leaf", "add", "div", "mod", "mul", "sub", "min", "max", "select", "split", "bits", "cast"
        ):
            case "add":
                return self.whole(scope, depth - 1) + self.whole(scope, depth - 1)
            case "sub":
                return self.whole(scope, depth - 1) - self.whole(scope, depth - 1)
            case "mul":
                return self.whole(scope, depth - 1) * self.source.pick(2, 3, 4, -1)
            case "div":
                return self.whole(scope, depth - 1) // self.source.pick(2, 3, 4, -2)
            case "mod":
                return self.whole(scope, depth - 1) % self.source.pick(2, 3, 4)
            case ("min" | "max") as op:
                return Binary(op, self.whole(scope, depth - 1), self.whole(scope, depth - 1))
            case "select":
                return Select(self.condition(scope, 0), self.whole(scope, depth - 1), self.whole(scope, depth - 1))
            case "bits":
                inner = self.whole(scope, depth - 1) - self.source.pick(0, 1, 5)
                return self.source.pick(inner & 3, inner >> 1, inner << 2, inner & 7, inner & -4, inner | 1)
            case "cast":
                through = self.source.pick(DType.INT64, DType.INT8, DType.UINT8, DType.INT16)
                inner = self.whole(scope, depth - 1) + self.source.pick(0, 0, 126, -3, 300)
                return Cast(INDEX, Cast(through, inner))
            case "split":
                factor = self.source.pick(2, 3, 4)
                inner = self.source.pick(*leaves)
                return (self.source.pick(*leaves) * factor + inner % factor) // factor
            case _:
                return self.source.pick(*leaves)

    def value(self, scope: Scope, depth: int = 2) -> Expr:
        """A value to store."""
        if depth == 0:
            return self.source.pick(self.constant(), self.place(self.read(), scope), *scope.values)
        match self.source.pick("load", "number", "load", "add", "sub", "mul", "max", "select", "name", "whole"):
            case "load":
                return self.place(self.read(), scope)
            case ("add" | "sub" | "max") as op:
                return Binary(op, self.value(scope, depth - 1), self.value(scope, depth - 1))
            case "mul":
                product = self.value(scope, depth - 1) * self.constant()
                return product * self.constant() if self.source.flag(3) else product
            case "select":
                return Select(self.condition(scope), self.value(scope, depth - 1), self.value(scope, depth - 1))
            case "name" if scope.values:
                return self.source.pick(*scope.values)
            case "whole" if not self.dtype.is_float:
                found = self.whole(scope)
                return found if self.dtype is INDEX else Cast(self.dtype, found)
            case _:
                return self.constant()

    # Statements ------------------------------------------------------------------------------------------------------

    def store(self, scope: Scope, buffer: Buffer | None = None) -> Stmt:
        """A store of some kind."""
        target = self.place(self.written() if buffer is None else buffer, scope)
        match self.source.pick("value", "value", "update", "back", "undef", "constant"):
            case "update":
                value: Expr = target + self.value(scope, 1)
            case "back":
                value = target
            case "undef":
                value = Undef(self.dtype)
            case "constant":
                value = self.constant()
            case _:
                value = self.value(scope)
        return Store(target.buffer, target.indices, value)

    def statement(self, scope: Scope, depth: int) -> Stmt:
        """Any statement."""
        if depth == 0:
            return self.store(scope)
        match self.source.pick("store", "if", "for", "seq", "let", "else", "block", "assume"):
            case "if":
                return If(self.condition(scope), self.statement(scope, depth - 1), SKIP)
            case "else":
                return If(self.condition(scope), self.statement(scope, depth - 1), self.statement(scope, depth - 1))
            case "for":
                return self.loop(scope, lambda inner: self.statement(inner, depth - 1))
            case "seq":
                return seq(self.statement(scope, depth - 1), self.statement(scope, depth - 1))
            case "let":
                return self.let(scope, lambda inner: self.statement(inner, depth - 1))
            case "block":
                return Block(self.var("block").name, self.statement(scope, depth - 1))
            case "assume":
                return seq(Assume(self.condition(scope)), self.statement(scope, depth - 1))
            case _:
                return self.store(scope)

    def loop(self, scope: Scope, body: Callable[[Scope], Stmt], extent: int | None = None) -> Stmt:
        """A loop; most ranges are known, some depend on a scalar or on the loop around."""
        var = self.var("i")
        if extent is not None:
            return For(var, number(0), number(extent), body(scope.binding(var, 0, extent)))
        low, high = 0, self.source.pick(3, 2, 4, 1, 0, 0)
        start, count = number(0), number(high)
        match self.source.pick("plain", "plain", "scalar", "start", "scalar", "inner"):
            case "start":
                low = self.source.pick(1, -1, 2)
                start, high = number(low), high + low
            case "scalar":
                count, high = self.n, 4
            case "inner" if scope.ranges and scope.ranges[-1][1] >= 0:
                outer, _, high = scope.ranges[-1]
                count = outer + self.source.pick(0, 1)
            case _:
                pass
        return For(var, start, count, body(scope.binding(var, low, max(high, low + 1))))

    def let(self, scope: Scope, body: Callable[[Scope], Stmt]) -> Stmt:
        """A binding of an integer, an element or a condition."""
        match self.source.pick("whole", "element", "flag", "value"):
            case "whole":
                var = self.var("k")
                low, high = 0, 4
                value: Expr = Binary("floormod", self.whole(scope, 1), number(4))
                inner = scope.binding(var, low, high)
            case "flag":
                var, value = self.var("q", DType.BOOL), self.condition(scope)
                inner = replace(scope, flags=(*scope.flags, var))
            case "value":
                var, value = self.var("x", self.dtype), self.value(scope, 1)
                inner = replace(scope, values=(*scope.values, var))
            case _:
                var, value = self.var("x", self.dtype), self.place(self.read(), scope)
                inner = replace(scope, values=(*scope.values, var))
        return Let(var, value, body(inner))

    # Functions -------------------------------------------------------------------------------------------------------

    def function(self, body: Stmt) -> PrimFunc:
        """A function with the parameters that a body uses."""
        exprs = list(all_exprs(body))
        read = {e.buffer.name for e in exprs if isinstance(e, Load)} | {b.name for b in buffers_written(body)}
        if "L" in read and not any(isinstance(s, Alloc) for s in walk(body)):
            body = Alloc(self.buffer("L"), body)
        names = {e.name for e in exprs if isinstance(e, Var)}
        buffers = [self.buffer(b) for b in ("A", "B", "C", "I") if b in read]
        scalars = [v for v in (self.n, self.flag) if v.name in names]
        return PrimFunc("f", (*buffers, *scalars), body)
