"""Statements over so few elements that the parts of a pattern meet.

Conditions, indices, bounds and values read what is written beside them; parts occur again, equal or nearly so. Rules
that forget that a statement changes what another one reads are wrong on such programs only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.check.programs.writer import INDEX, Scope, Writer, number
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Assert,
    Assume,
    Binary,
    Buffer,
    Cast,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Undef,
    const,
    seq,
)
from ir.testing.draw import Source
from ir.traverse import all_exprs, bound_var, free_vars, stores_in, walk

_DTYPES = (DType.INT32, DType.INT32, DType.UINT8, DType.INT8, DType.FLOAT32)
_PARAMETERS = frozenset(("n", "p"))

P = TypeVar("P", Expr, Stmt, Load)


class Tangle(Struct):
    """Writes statements whose parts meet; what was written before is often written again."""

    w: Writer
    conditions: list[Expr] = field(default_factory=list[Expr])
    places: list[Load] = field(default_factory=list[Load])
    values: list[Expr] = field(default_factory=list[Expr])
    stmts: list[Stmt] = field(default_factory=list[Stmt])

    def __post_init__(self) -> None:
        self.w.dtype = self.source.pick(*_DTYPES)
        self.w.shape = (self.source.pick(3, 2, 4),)

    @property
    def source(self) -> Source:
        return self.w.source

    @property
    def extent(self) -> int:
        """How many elements each buffer has."""
        return self.w.shape[0]

    # Expressions -----------------------------------------------------------------------------------------------------

    def place(self, scope: Scope) -> Load:
        """An element, often one of those that were named before."""
        return self._again(self.places, scope, lambda: self._place(scope))

    def _place(self, scope: Scope) -> Load:
        buffers = ("A", "A", "B", "L") if self.w.local else ("A", "A", "B")
        return Load(self.w.buffer(self.source.pick(*buffers)), (self.index(scope),))

    def index(self, scope: Scope) -> Expr:
        """An index: a loop variable, a number, or an element of what is written."""
        extent = self.extent
        options: list[Expr] = [number(0), number(1), self.w.n % extent]
        for var, low, high in scope.ranges:
            inside = var if low >= 0 and high <= extent else var % extent
            options += [inside, inside, inside, (var + 1) % extent, number(extent - 1) - inside]
        if len(scope.ranges) > 1 and self.source.flag(4):
            return (scope.ranges[-1][0] + scope.ranges[-2][0]) % extent
        if self.source.flag(5):
            return self.as_index(self.place(scope), extent)
        return self.source.pick(*options)

    def as_index(self, element: Expr, below: int) -> Expr:
        """An element as an index or extent below a number."""
        if element.dtype.is_float:
            return Load(self.w.buffer("I"), (number(self.source.integer(0, 3)),)) % below
        return (element if element.dtype is INDEX else Cast(INDEX, element)) % below

    def condition(self, scope: Scope) -> Expr:
        """A condition, most often on an element that something writes."""
        return self._again(self.conditions, scope, lambda: self._condition(scope))

    def _condition(self, scope: Scope) -> Expr:
        if scope.flags and self.source.flag():
            return self.source.pick(*scope.flags)
        n = self.w.n
        options: list[Expr] = [self.w.flag, n > 1]
        for var, low, high in scope.ranges:
            bound = self.source.integer(low, high)
            options += [var < bound, Binary("eq", var, number(bound)), var < n, var >= low, var < high]
        match self.source.pick("element", "element", "element", "plain", "faulty", "both"):
            case "element":
                element = self.place(scope)
                other = self.source.pick(const(0, self.w.dtype), self.constant(), self.place(scope))
                return Binary(self.source.pick("gt", "eq", "le", "lt", "ne"), element, other)
            case "faulty":
                return 4 // n > self.source.pick(1, 3)
            case "both":
                return Binary(self.source.pick("and", "or"), self.source.pick(*options), self.condition(scope))
            case _:
                return self.source.pick(*options)

    def constant(self) -> Expr:
        """A small number, or the largest one."""
        if self.w.dtype.is_float:
            return const(self.source.pick(0.0, 1.0, 2.0, -0.5), self.w.dtype)
        return const(self.source.pick(0, 1, 2, 3, 1, 7, self.w.dtype.max), self.w.dtype)

    def value(self, scope: Scope) -> Expr:
        """A value to store."""
        return self._again(self.values, scope, lambda: self._value(scope))

    def _value(self, scope: Scope) -> Expr:
        if scope.values and self.source.flag():  # what is bound is there to be used
            return self.source.pick(*scope.values)
        w, element = self.w, self.place(scope)
        kinds = (
            "constant",
            "element",
            "next",
            "sum",
            "select",
            "constant",
            "index",
            "index",
            "faulty",
            "undef",
            "beyond",
        )
        match self.source.pick(*kinds):
            case "element":
                return element
            case "next":
                return element + self.constant()
            case "sum":
                return Binary(self.source.pick("add", "max", "sub", "mul"), element, self.place(scope))
            case "select":
                other = self.source.pick(const(0, w.dtype), self.constant(), self.value(scope))
                return Select(self.condition(scope), self.value(scope), other)
            case "beyond":  # an element that there may not be
                last = scope.ranges[-1][0] if scope.ranges else w.n
                return Load(element.buffer, (self.source.pick(last + 1, w.n, last - 1),))
            case "index" if scope.ranges:
                var = self.source.pick(*(v for v, _, _ in scope.ranges))
                return var if w.dtype is INDEX else Cast(w.dtype, var)
            case "faulty":
                quotient = 4 // w.n
                return quotient if w.dtype is INDEX else Cast(w.dtype, quotient)
            case "undef":
                return Undef(w.dtype)
            case _:
                return self.constant()

    # Statements ------------------------------------------------------------------------------------------------------

    def stmt(self, scope: Scope, depth: int) -> Stmt:
        """A statement, sometimes one that was written before."""
        return self._again(self.stmts, scope, lambda: self._stmt(scope, depth), one_in=5)

    def _stmt(self, scope: Scope, depth: int) -> Stmt:
        if depth == 0:
            return self.store(scope)
        kinds = ("store", "store", "if", "else", "for", "for", "two", "let", "alloc", "claim", "three")
        match self.source.pick(*kinds):
            case "if":
                return If(self.condition(scope), self.stmt(scope, depth - 1), SKIP)
            case "else":
                return If(self.condition(scope), self.stmt(scope, depth - 1), self.stmt(scope, depth - 1))
            case "for":
                return self.loop(scope, lambda inner: self.stmt(inner, depth - 1))
            case "two":
                return seq(self.stmt(scope, depth - 1), self.stmt(scope, depth - 1))
            case "three":
                return seq(*(self.stmt(scope, depth - 1) for _ in range(3)))
            case "let":
                return self.let(scope, lambda inner: self.stmt(inner, depth - 1))
            case "alloc" if not self.w.local:
                return self.alloc(lambda: self.stmt(scope, depth - 1))
            case "claim":
                return seq(*self.source.pick(*self._with_claim(scope, depth)))
            case _:
                return self.store(scope)

    def _with_claim(self, scope: Scope, depth: int) -> tuple[tuple[Stmt, ...], ...]:
        """An assumption or assertion and a statement, in either order."""
        cond = self.condition(scope)
        claim = self.source.pick(Assume(cond), Assume(cond), Assert(cond), Evaluate(self.value(scope)))
        other = self.stmt(scope, depth - 1)
        return (claim, other), (other, claim)

    def store(self, scope: Scope) -> Stmt:
        """A store; many update what they write, so that doing them twice is not doing them once."""
        target = self.place(scope)
        match self.source.pick("value", "value", "update", "update", "constant", "back", "undef"):
            case "update":
                value: Expr = Binary(self.source.pick("add", "add", "max", "sub"), target, self.value(scope))
            case "constant":
                value = self.constant()
            case "back":
                value = self.place(scope)
            case "undef":
                value = Undef(self.w.dtype)
            case _:
                value = self.value(scope)
        return Store(target.buffer, target.indices, value)

    def loop(self, scope: Scope, body: Callable[[Scope], Stmt]) -> Stmt:
        """A loop of no, one or many iterations; its bounds may be read from what it writes."""
        var, extent = self.w.var("i"), self.extent
        start, count, low, high = number(0), number(extent), 0, extent
        match self.source.pick("whole", "whole", "whole", "few", "scalar", "scalar", "data", "start", "inner", "many"):
            case "few":
                high = self.source.integer(0, 2)
                count = number(high)
            case "many":
                high = 2 * extent - self.source.integer(0, 1)
                count = number(high)
            case "scalar":
                count, high = self.w.n, extent + 2
            case "data":
                count = self.as_index(self.place(scope), extent + 1)
            case "start":
                start = self.source.pick(number(1), self.as_index(self.place(scope), 2), self.w.n % 2)
                count, high = number(extent - 1), extent + 1
            case "inner" if scope.ranges:
                outer, _, high = scope.ranges[-1]
                count = outer + self.source.integer(0, 1)
            case _:
                pass
        return For(var, start, count, body(scope.binding(var, low, max(high, low + 1))))

    def extent_written(self, loop: For) -> Expr:
        """An extent that is read from what a loop writes, where its place is known before the loop."""
        written = [Load(s.buffer, s.indices) for s in stores_in(loop)]
        known = [e for e in written if _fits(e, set())]
        return self.as_index(self.source.pick(*known), self.extent + 1) if known else loop.extent

    def let(self, scope: Scope, body: Callable[[Scope], Stmt]) -> Stmt:
        """A binding of an element, of a value or of a condition."""
        if self.source.flag(4):
            var = self.w.var("q", DType.BOOL)
            value, inner = self.condition(scope), replace(scope, flags=(*scope.flags, var))
        elif self.source.flag(4):
            var = self.w.var("k")
            value, inner = self.index(scope), scope.binding(var, 0, self.extent)
        else:
            var = self.w.var("x", self.w.dtype)
            value = self.source.pick(self.place(scope), self.value(scope))
            inner = replace(scope, values=(*scope.values, var))
        return Let(var, value, body(inner))

    def alloc(self, body: Callable[[], Stmt]) -> Stmt:
        """A local buffer around a statement, which is written and read like the others."""
        self.w.local = True
        self.places.append(Load(self.w.buffer("L"), (number(0),)))
        inner = body()
        self.w.local = False
        self.places = [part for part in self.places if not _mentions(part, "L")]
        self.values = [part for part in self.values if not _mentions(part, "L")]
        self.conditions = [part for part in self.conditions if not _mentions(part, "L")]
        self.stmts = [part for part in self.stmts if not _mentions(part, "L")]
        return Alloc(self.w.buffer("L"), inner)

    def _again(self, known: list[P], scope: Scope, make: Callable[[], P], one_in: int = 2) -> P:
        """A part that was made before, where its names are known, or a new one."""
        around = {v.name for v, _, _ in scope.ranges} | {v.name for v in (*scope.values, *scope.flags)}
        usable = [part for part in known if _fits(part, around)]
        if usable and self.source.flag(one_in):
            return self.source.pick(*usable)
        new = make()
        known.append(new)
        return new


def _names(part: Expr | Stmt) -> tuple[set[str], set[str]]:
    """Names that a part uses, and names that it binds."""
    if isinstance(part, Expr):
        return {v.name for v in free_vars(part)}, set()
    bound = {v.name for s in walk(part) for v in bound_var(s)}
    return {v.name for e in all_exprs(part) for v in free_vars(e)} - bound, bound


def _fits(part: Expr | Stmt, around: set[str]) -> bool:
    used, bound = _names(part)
    return used <= around | _PARAMETERS and bound.isdisjoint(around)


def _mentions(part: Expr | Stmt, name: str) -> bool:
    stmt = Evaluate(part) if isinstance(part, Expr) else part
    buffers: set[Buffer] = {e.buffer for e in all_exprs(stmt) if isinstance(e, Load)}
    return name in {b.name for b in buffers} | {s.buffer.name for s in stores_in(stmt)}


def _in_scope(w: Writer, make: Callable[[Tangle, Scope], Stmt]) -> Stmt:
    """A statement at the top of a program, or in a loop."""
    tangle = Tangle(w)
    if w.source.flag(3):
        return tangle.loop(Scope(), lambda scope: make(tangle, scope))
    return make(tangle, Scope())


def tangled_sequence(w: Writer) -> Stmt:
    """Statements in a row."""
    return _in_scope(w, lambda t, scope: seq(*(t.stmt(scope, t.source.integer(0, 2)) for _ in range(2))))


def tangled_stores(w: Writer) -> Stmt:
    """Stores in a row, some of them guarded."""

    def guarded(t: Tangle, scope: Scope) -> Stmt:
        store = t.store(scope)
        return If(t.condition(scope), store, SKIP) if t.source.flag(3) else store

    return _in_scope(w, lambda t, scope: seq(*(guarded(t, scope) for _ in range(t.source.pick(2, 2, 3)))))


def tangled_copies(w: Writer) -> Stmt:
    """Stores in a row among two or three elements."""

    def copies(t: Tangle, scope: Scope) -> Stmt:
        places = [t.place(scope) for _ in range(t.source.pick(2, 3))]

        def store() -> Stmt:
            target, other = t.source.pick(*places), t.source.pick(*places)
            number = t.constant()
            value = t.source.pick(other, other, other + number, number, Binary("max", target, other))
            return Store(target.buffer, target.indices, value)

        return seq(*(store() for _ in range(t.source.pick(2, 2, 3))))

    return _in_scope(w, copies)


def tangled_branch(w: Writer) -> Stmt:
    """A branch with one arm or two."""

    def branch(t: Tangle, scope: Scope) -> Stmt:
        other = t.stmt(scope, t.source.integer(0, 1)) if t.source.flag() else SKIP
        return If(t.condition(scope), t.stmt(scope, t.source.integer(0, 2)), other)

    return _in_scope(w, branch)


def tangled_guards(w: Writer) -> Stmt:
    """Two branches on one condition, on a condition and its opposite, or on related ones."""

    def guards(t: Tangle, scope: Scope) -> Stmt:
        cond = t.condition(scope)
        other = t.source.pick(cond, ~cond, t.condition(scope), cond & t.condition(scope))
        first, second = (t.stmt(scope, t.source.integer(0, 1)) for _ in range(2))
        return seq(If(cond, first, SKIP), If(other, t.source.pick(first, second), SKIP))

    return _in_scope(w, guards)


def tangled_loop(w: Writer) -> Stmt:
    """A loop around stores, branches, bindings or another loop."""
    t = Tangle(w)
    return t.loop(Scope(), lambda scope: t.stmt(scope, t.source.integer(0, 2)))


def tangled_nest(w: Writer) -> Stmt:
    """Two loops around a statement."""
    t = Tangle(w)
    return t.loop(Scope(), lambda outer: t.loop(outer, lambda inner: t.stmt(inner, t.source.integer(0, 1))))


def tangled_loops(w: Writer) -> Stmt:
    """Loops next to each other, and statements between."""
    t = Tangle(w)

    def loop() -> Stmt:
        return t.loop(Scope(), lambda scope: t.stmt(scope, t.source.integer(0, 1)))

    first, second = loop(), loop()
    between = t.store(Scope()) if t.source.flag(3) else SKIP
    if t.source.flag() and isinstance(first, For) and isinstance(second, For):
        if t.source.flag(3):
            first = replace(first, extent=t.extent_written(first))
        second = replace(second, start=first.start, extent=first.extent)
    return seq(first, between, t.source.pick(first, second, second))


def tangled_binding(w: Writer) -> Stmt:
    """A binding whose value the statements under it, or beside it, change."""

    def binding(t: Tangle, scope: Scope) -> Stmt:
        let = t.let(scope, lambda inner: seq(*(t.stmt(inner, t.source.integer(0, 1)) for _ in range(2))))
        return t.source.pick(let, seq(t.store(scope), let), seq(let, t.store(scope)))

    return _in_scope(w, binding)


def tangled_local(w: Writer) -> Stmt:
    """A local buffer in a loop, around one, or around statements in a row."""
    t = Tangle(w)

    def body(scope: Scope) -> Stmt:
        if not t.source.flag(3):
            return seq(*(t.stmt(scope, t.source.integer(0, 1)) for _ in range(2)))
        local, place = Load(w.buffer("L"), (t.index(scope),)), t.place(scope)
        keep, use = Store(local.buffer, local.indices, t.value(scope)), Store(place.buffer, place.indices, local)
        return t.source.pick(seq(keep, use), seq(use, keep), seq(If(t.condition(scope), keep, SKIP), use))

    match w.source.pick("in loop", "around", "plain"):
        case "in loop":
            return t.loop(Scope(), lambda scope: t.alloc(lambda: body(scope)))
        case "around":
            return t.alloc(lambda: t.loop(Scope(), body))
        case _:
            return t.alloc(lambda: body(Scope()))


def tangled_uses(w: Writer) -> Stmt:
    """What a store or an assumption says of an element, and the statement that is right next to it and uses it."""

    def uses(t: Tangle, scope: Scope) -> Stmt:
        element, target, value, beside = t.place(scope), t.place(scope), t.value(scope), t.store(scope)
        written, copied = (Store(e.buffer, e.indices, v) for e, v in ((element, value), (target, element)))
        match t.source.pick("compared", "index", "bounds", "undef", "assumed", "copied"):
            case "compared":
                return seq(written, If(Binary("eq", element, value), beside, SKIP))
            case "index" if element.dtype is INDEX:
                inside = replace(written, value=value % t.extent if t.source.flag() else const(1, INDEX))
                return seq(inside, Store(target.buffer, (element,), t.value(scope)))
            case "bounds":
                ops = t.source.pick(("min", "max"), ("max", "min"), ("max", "add"))
                return seq(*(replace(written, value=Binary(op, element, t.constant())) for op in ops))
            case "undef":
                guarded = If(t.condition(scope), written, SKIP)
                return seq(replace(written, value=Undef(element.dtype)), guarded)
            case "assumed":
                return seq(Assume(Binary("eq", element, t.constant())), beside, copied)
            case _:
                by = Load(target.buffer, (t.as_index(element, t.extent),)) if t.source.flag() else target
                there, back = Store(element.buffer, element.indices, by), Store(by.buffer, by.indices, element)
                return t.source.pick(seq(written, copied), seq(copied, written), seq(there, back), seq(back, there))

    return _in_scope(w, uses)


def tangled_first(w: Writer) -> Stmt:
    """A loop of which the first or another iteration does something more."""
    t = Tangle(w)
    before = t.store(Scope())

    def body(scope: Scope) -> Stmt:
        var = scope.ranges[-1][0]
        cond = Binary("eq", var, t.source.pick(number(0), number(0), number(1), w.n))
        return seq(If(cond, t.source.pick(before, before, t.store(scope)), SKIP), t.stmt(scope, t.source.integer(0, 1)))

    return t.loop(Scope(), body)


TANGLED = (
    tangled_sequence, tangled_stores, tangled_copies, tangled_branch, tangled_guards, tangled_loop, tangled_nest,
    tangled_loops, tangled_binding, tangled_local,
)  # fmt: skip
FOLLOWING = (tangled_uses, tangled_first)
