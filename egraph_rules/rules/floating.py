"""Float identities, and loops that rest on them. Each declares the freedoms it takes; those without any are exact to
the bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from math import isfinite, log2

from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, rewrite, rewrite_expr
from egraph_rules.authoring.rule import FLOAT, Number, Rule, Term, defined, rule
from ir.dtypes import DType, float_tiny
from ir.floats import Floats
from ir.fold import computed
from ir.nodes import (
    FLOAT_FUNCTIONS,
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Cast,
    Const,
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
    binary,
    const,
    seq,
)
from ir.program.calls import is_argument
from ir.program.edit import nest
from ir.traverse import (
    all_exprs,
    bound_var,
    factors,
    free_vars,
    has_loads,
    map_expr,
    map_stmt,
    reads,
    stmt_children,
    substitute_expr,
    walk,
)


@rule(on=FLOAT, because="0.0 - x differs from -x only for x = 0.0", floats=Floats.NO_SIGNED_ZEROS)
def zero_sub(x: Term):
    return 0.0 - x, Unary("neg", x)


@rule(on=FLOAT, because="a defined finite value minus itself", floats=Floats.FINITE)
def sub_self(x: Term):
    return x - x, 0.0, defined(x)


@rule(on=FLOAT, because="subtracting a number is adding its negative", floats=Floats.NO_SIGNED_ZEROS)
def sub_constant(x: Term, a: Number):
    return x - a, x + (0.0 - a)


@rule(on=FLOAT, because="adding a negative is subtracting")
def add_neg(x: Term, y: Term):
    return x + Unary("neg", y), x - y


@rule(on=FLOAT, because="subtracting a negative is adding")
def sub_neg(x: Term, y: Term):
    return x - Unary("neg", y), x + y


@rule(on=FLOAT, because="a difference taken the other way round differs by its sign", floats=Floats.NO_SIGNED_ZEROS)
def neg_sub(x: Term, y: Term):
    return Unary("neg", x - y), y - x


@rule(on=FLOAT, because="negation flips the sign bit twice")
def neg_neg(x: Term):
    return Unary("neg", Unary("neg", x)), x


@rule(on=FLOAT, because="x is the greater one, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def max_known(x: Term, y: Term):
    return binary("max", x, y), x, x >= y


@rule(on=FLOAT, because="x is the smaller one, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def min_known(x: Term, y: Term):
    return binary("min", x, y), x, x <= y


@rule(on=FLOAT, because="three results are rounded in place of two", floats=Floats.APPROXIMATE)
def div_sqrt(x: Term, y: Term):
    return Binary("div", x, Unary("sqrt", y)), x * Unary("rsqrt", y), defined(x), defined(y)


@rule(on=FLOAT, because="x is no smaller than z, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def max_covers(x: Term, y: Term, z: Term):
    return binary("max", x, binary("max", y, z)), binary("max", x, y), x >= z


@rule(on=FLOAT, because="x is no greater than z, or both are zeros", floats=Floats.NO_SIGNED_ZEROS)
def min_covers(x: Term, y: Term, z: Term):
    return binary("min", x, binary("min", y, z)), binary("min", x, y), x <= z


@rewrite_expr(
    law="(x * a) * b  =  x * (a * b),  x + x  =  x * 2   where the factor is neither infinite nor subnormal",
    because="a product in another order, of which no part is rounded to zero that was none; doubling rounds nothing",
    family="floating",
    floats=Floats.REASSOCIATE,
)
def scaled_twice(expr: Expr, here: Here) -> Iterator[Expr]:
    """One factor in place of two numbers, or of two equal terms."""
    if not (isinstance(expr, Binary) and expr.dtype.is_float and expr.op in ("add", "mul")):
        return
    if expr.op == "add" and not (expr.lhs.same(expr.rhs) and here.defined(expr.lhs)):  # two readings may differ
        return
    scaled, factor = expr.lhs, const(2.0, expr.dtype) if expr.op == "add" else expr.rhs
    match scaled, factor:
        case Binary(op="mul", lhs=x, rhs=Const() as a), Const():
            number = computed(Binary("mul", a, factor))
            if number is not None and isfinite(number.value) and number.value != 0:
                yield Binary("mul", x, number)
        case _ if expr.op == "add":
            yield Binary("mul", scaled, factor)
        case _:
            pass


# Narrow results of wide operations -----------------------------------------------------------------------------------


@rewrite_expr(
    law="cast(t, x op y)  =  cast(t, x) op cast(t, y)   where t holds x and y, and op is +, -, *, / or a root in a "
    "float type of more than twice the digits",
    because="such a result, rounded to t, is what rounding once gives (Figueroa, 1995)",
    family="floating",
)
def narrowed(expr: Expr, here: Here) -> Iterator[Expr]:
    """Operations of a narrower type, where no digit of the wider one is looked at."""
    del here
    if isinstance(expr, Cast) and _is_wider(expr.operand.dtype, expr.dtype):
        new = _rounded(expr.operand, expr.dtype)
        if new is not None:
            yield new


@rewrite_expr(
    law="cast(t, f(x))  =  f(cast(t, x))   where t holds x and f is a function such as exp or cos",
    because="a function of a narrower type is off by some units in its last place, where the wider one is rounded once",
    family="floating",
    floats=Floats.APPROXIMATE,
)
def narrowed_functions(expr: Expr, here: Here) -> Iterator[Expr]:
    """Functions of a narrower type, where no digit of the wider result is looked at."""
    del here
    match expr:
        case Cast(dtype=dtype, operand=Unary(op=op, operand=x) as wide) if op in FLOAT_FUNCTIONS:
            value = _exactly(x, dtype) if _is_wider(wide.dtype, dtype) else None
            if value is not None:
                yield replace(wide, operand=value)
        case _:
            pass


def _rounded(expr: Expr, dtype: DType) -> Expr | None:
    """A value rounded to a dtype, without an operation that is wider; None if that is not known to be the same."""
    found = _exactly(expr, dtype)
    if found is not None:
        return found
    alike = _rounds_alike(dtype, expr.dtype)
    match expr:
        case Unary(op="neg" | "abs", operand=x) if (value := _rounded(x, dtype)) is not None:
            return replace(expr, operand=value)
        case Unary(op="sqrt", operand=x) if alike and (value := _exactly(x, dtype)) is not None:
            return replace(expr, operand=value)
        case Binary(op="add" | "sub" | "mul" | "div", lhs=x, rhs=y) if alike and (pair := _both(x, y, dtype)):
            return replace(expr, lhs=pair[0], rhs=pair[1])
        case Select(then=x, other=y):
            arms = _rounded(x, dtype), _rounded(y, dtype)
            if arms[0] is arms[1] is None:
                return None
            then, other = (Cast(dtype, a) if new is None else new for a, new in zip((x, y), arms, strict=True))
            return replace(expr, then=then, other=other)
        case _:
            return None


def _exactly(expr: Expr, dtype: DType) -> Expr | None:
    """A value in a dtype that holds it, whatever it is; None if that is not known."""
    match expr:
        case Const(value=float() as value) if float(dtype.numpy.type(value)) == value:
            return Const(value, dtype)
        case Cast(operand=x) if _holds(dtype, x.dtype):
            return x if x.dtype is dtype else Cast(dtype, x)
        case Unary(op="neg" | "abs" | "floor" | "ceil" | "trunc", operand=x):
            value = _exactly(x, dtype)
            return None if value is None else replace(expr, operand=value)
        case Binary(op="min" | "max", lhs=x, rhs=y) if pair := _both(x, y, dtype):
            return replace(expr, lhs=pair[0], rhs=pair[1])
        case Select(then=x, other=y) if pair := _both(x, y, dtype):
            return replace(expr, then=pair[0], other=pair[1])
        case _:
            return None


def _both(one: Expr, other: Expr, dtype: DType) -> tuple[Expr, Expr] | None:
    """Two values in a dtype that holds both."""
    a, b = _exactly(one, dtype), _exactly(other, dtype)
    return None if a is None or b is None else (a, b)


def _digits(dtype: DType) -> int:
    """Binary digits of a number."""
    return 1 - round(log2(dtype.epsilon)) if dtype.is_float else dtype.bits


def _holds(dtype: DType, other: DType) -> bool:
    """Whether each number of a dtype is one of a float dtype."""
    if other.is_float:
        return float_tiny(dtype) <= float_tiny(other) and _digits(dtype) >= _digits(other)
    return other.is_integer and other.bits <= 16 and _digits(dtype) >= other.bits


def _is_wider(dtype: DType, other: DType) -> bool:
    """Whether a float type holds all numbers of another one, and more."""
    return dtype is not other and dtype.is_float and other.is_float and _holds(dtype, other)


def _rounds_alike(dtype: DType, wider: DType) -> bool:
    """Whether a sum, product, quotient or root may be rounded to a wider dtype first; the least numbers are as well."""
    return _digits(wider) >= 2 * _digits(dtype) + 2 and float_tiny(wider) < float_tiny(dtype) ** 2


@rewrite(
    law="let v = e: s  =  let w = cast(t, e): s with w for cast(t, v)   where s has v as cast(t, v) alone; so for what "
    "is stored to a local buffer",
    because="nothing looks at more of v than cast(t, v)",
    family="floating",
)
def narrowed_names(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Names and local buffers of the narrower float type that all their readers round them to."""
    del here
    match stmt:
        case Let(var=var, value=value, body=body) if var.dtype.is_float:
            dtype = _rounded_to(body, var.dtype, var.same)
            if dtype is not None:
                new = Var(var.name, dtype)
                yield Let(new, Cast(dtype, value), _read_as(body, var.same, lambda _: new))
        case Alloc(buffer=buffer, body=body) if buffer.dtype.is_float and not is_argument(buffer, body):
            dtype = _rounded_to(body, buffer.dtype, partial(_loads_from, buffer))
            if dtype is not None:
                yield _retyped(buffer, replace(buffer, dtype=dtype), body)
        case _:
            pass


def _retyped(old: Buffer, new: Buffer, body: Stmt) -> Stmt:
    """The scope of a local buffer of another dtype, of which nobody looks at more."""

    def stored(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store) or stmt.buffer != new:
            return stmt
        undef = isinstance(stmt.value, Undef)
        return replace(stmt, value=Undef(new.dtype) if undef else Cast(new.dtype, stmt.value))

    body = _read_as(body, partial(_loads_from, old), lambda e: replace(e, buffer=new) if isinstance(e, Load) else e)
    return Alloc(new, map_stmt(body, on_stmt=stored, on_buffer=lambda b: new if b == old else b))


def _loads_from(buffer: Buffer, expr: Expr) -> bool:
    return isinstance(expr, Load) and expr.buffer == buffer


def _rounded_to(stmt: Stmt, wide: DType, chosen: Callable[[Expr], bool]) -> DType | None:
    """The float type that chosen wide values are rounded to wherever a statement looks at them."""
    found = {e.dtype for e in all_exprs(stmt) if isinstance(e, Cast) and chosen(e.operand)}
    dtype = next(iter(found), None)
    if dtype is None or len(found) > 1 or not _is_wider(wide, dtype):
        return None
    left = _read_as(stmt, chosen, lambda _: Undef(dtype))
    return None if any(chosen(e) for e in all_exprs(left)) else dtype


def _read_as(stmt: Stmt, chosen: Callable[[Expr], bool], new: Callable[[Expr], Expr]) -> Stmt:
    """A statement with new values in place of chosen ones that are cast."""

    def one(e: Expr) -> Expr:
        return new(e.operand) if isinstance(e, Cast) and chosen(e.operand) else e

    return map_stmt(stmt, lambda e: map_expr(e, one))


@rewrite(
    law="for j: n = max(m, s); l = l * exp(m - n) + x * exp(y - n); m = n  =  k = m; for j: m = max(m, s); "
    "l = l * exp(k - m); for j: l = l + x * exp(y - m)",
    because="a sum that is rescaled as its maximum grows is scaled by exp(k - m) in all, and so is each of its terms",
    family="floating",
    floats=Floats.REASSOCIATE | Floats.FINITE,
)
def rescaled_sums(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Take the maximum first, and add up what is relative to it."""
    if isinstance(stmt, For) and stmt.kind == "serial":
        with suppress(_OtherError):
            yield from _Rescaled(stmt).apart(here)


class _OtherError(Exception):
    """The loop is none that keeps sums relative to a maximum."""


_OLD, _NEW = "old maximum", "new maximum"


class _Rescaled:
    """A loop that keeps sums relative to a running maximum, cut in two.

    Values are looked at with all bindings brought in, and with variables for the maximum before and after an iteration.
    """

    def __init__(self, loop: For) -> None:
        self.loop = loop
        self.values: dict[Var, Expr] = {}
        self.bound = {loop.var} | {v for s in walk(loop.body) for v in bound_var(s)}
        self.locals = {s.buffer for s in walk(loop.body) if isinstance(s, Alloc)}
        self.sums: set[Buffer] = set()
        self.rescalings: list[Stmt] = []
        self.guards: tuple[Expr, ...] = ()
        self.inner: tuple[For, ...] = ()
        self.top, self.top_guards = self._maximum()
        self.term: Expr | None = None
        self.stored = False
        dtype = self.top.dtype
        self.old, self.new = Var(_OLD, dtype), Var(_NEW, dtype)
        self.before = Var(f"{loop.var.name}.m", dtype)

    def _maximum(self) -> tuple[Load, tuple[Expr, ...]]:
        """The element that is the maximum, and the conditions under which it is stored."""
        maxima = (
            {
                o
                for e in all_exprs(self.loop.body)
                if isinstance(e, Binary) and e.op == "max"
                for o in (e.lhs, e.rhs)
                if isinstance(o, Load)
            }
            if any(isinstance(e, Unary) and e.op == "exp" for e in all_exprs(self.loop.body))
            else set[Expr]()
        )
        found = [
            (Load(s.buffer, s.indices), guards)
            for s, guards in _stores(self.loop.body)
            if s.buffer not in self.locals and Load(s.buffer, s.indices) in maxima and s.buffer.dtype.is_float
        ]
        if len(found) != 1 or self._varies(found[0][0].indices):
            raise _OtherError
        return found[0]

    def apart(self, here: Here) -> Iterator[Stmt]:
        """The maximum, and then the sums."""
        first, second = self._both(self.loop.body)
        if not self.rescalings or self.term is None or self.sums & {self.top.buffer}:
            return
        reads = Counter(e.buffer for e in all_exprs(self.loop) if isinstance(e, Load))
        if any(reads[b] != sum(s.buffer == b for s, _ in _stores(self.loop.body)) for b in self.sums):
            return
        if not here.decided(self.top) or not here.in_bounds(self.top.buffer, self.top.indices):
            return
        changed = binary("ne", self.before, self.top)
        rescaled = If(changed, seq(*self.rescalings), SKIP)
        loops = replace(self.loop, body=first), replace(self.loop, body=second)
        yield Let(self.before, self.top, seq(loops[0], rescaled, loops[1]))

    def _both(self, stmt: Stmt) -> tuple[Stmt, Stmt]:
        """What an iteration does for the maximum, and what it does for the sums."""
        match stmt:
            case Seq(stmts=stmts):
                pairs = [self._both(s) for s in stmts]
                return seq(*(a for a, _ in pairs)), seq(*(b for _, b in pairs))
            case Let(var=var, value=value, body=body):
                self.values[var] = known = self._value(value)
                a, b = self._both(body)
                return Let(var, value, a), Let(var, self.top if known.same(self.new) else value, b)
            case Alloc(body=body):
                a, b = self._both(body)
                return replace(stmt, body=a), replace(stmt, body=b)
            case If(cond=cond, then=then, other=other) if other == SKIP:
                self._untouched(cond)
                self.guards = (*self.guards, cond)
                a, b = self._both(then)
                self.guards = self.guards[:-1]
                return replace(stmt, then=a), replace(stmt, then=b)
            case For(body=body):
                self._untouched(stmt.start, stmt.extent)
                self.inner = (*self.inner, stmt)
                a, b = self._both(body)
                self.inner = self.inner[:-1]
                return replace(stmt, body=a), replace(stmt, body=b)
            case Store():
                return self._store(stmt)
            case _:
                raise _OtherError

    def _store(self, store: Store) -> tuple[Stmt, Stmt]:
        self._untouched(*store.indices)
        value = self._value(store.value)
        if Load(store.buffer, store.indices).same(self.top):
            if not value.same(self.new) or self.term is None or self.inner or self.stored:
                raise _OtherError
            self.stored = True
            return replace(store, value=binary("max", self.top, self.term)), SKIP
        if store.buffer in self.locals:
            self._untouched(store.value)
            self._changed(store.buffer)
            return store, store
        return SKIP, self._sum(store)

    def _sum(self, store: Store) -> Stmt:
        """A sum without its rescaling, which is kept for later."""
        own = Load(store.buffer, store.indices)
        places = [i for i in store.indices if isinstance(i, Var)]
        once = all(loop.var in places for loop in self.inner)
        bounds = (e for loop in self.inner for e in (loop.start, loop.extent))
        mine = {loop.var for loop in self.inner}
        if not once or self._varies((*store.indices, *bounds), mine) or self.guards != self.top_guards:
            raise _OtherError
        match store.value:
            case Binary(op="add", lhs=kept, rhs=more) if self._rescales(kept, own) and self._relative(more):
                pass
            case Binary(op="add", lhs=more, rhs=kept) if self._rescales(kept, own) and self._relative(more):
                pass
            case _:
                raise _OtherError
        self.sums.add(store.buffer)
        factor = Unary("exp", binary("sub", self.before, self.top))
        self.rescalings.append(nest(self.inner, replace(store, value=binary("mul", own, factor))))
        return replace(store, value=binary("add", own, more))

    def _rescales(self, expr: Expr, own: Load) -> bool:
        """Whether a value is `own * exp(old - new)`."""
        match self._value(expr):
            case Binary(op="mul", lhs=a, rhs=b):
                factor = Unary("exp", binary("sub", self.old, self.new))
                return (a.same(own) and b.same(factor)) or (b.same(own) and a.same(factor))
            case _:
                return False

    def _relative(self, expr: Expr) -> bool:
        """Whether a value is `x * exp(y - new)`, where neither x nor y is made of the maximum."""
        parts = factors(self._value(expr))
        relative = [p for p in parts if isinstance(p, Unary) and p.op == "exp" and self._over_new(p.operand)]
        others = [p for p in parts if not free_vars(p).isdisjoint((self.old, self.new))]
        return len(relative) == 1 and others == relative

    def _over_new(self, expr: Expr) -> bool:
        match expr:
            case Binary(op="sub", lhs=y, rhs=new):
                return new.same(self.new) and free_vars(y).isdisjoint((self.old, self.new))
            case _:
                return False

    def _value(self, expr: Expr) -> Expr:
        """A value with bindings brought in, and with names for the maximum."""

        def one(e: Expr) -> Expr:
            if isinstance(e, Load) and e.buffer == self.top.buffer:
                if not e.same(self.top):
                    raise _OtherError
                return self.new if self.stored else self.old
            if isinstance(e, Binary) and e.op == "max" and any(o.same(self.old) for o in (e.lhs, e.rhs)):
                term = e.rhs if e.lhs.same(self.old) else e.lhs
                if (self.term is not None and not self.term.same(term)) or not free_vars(term).isdisjoint(
                    (self.old, self.new)
                ):
                    raise _OtherError
                self.term = term
                return self.new
            return e

        return map_expr(
            substitute_expr(map_expr(expr, lambda e: one(e) if isinstance(e, Load) else e), self.values), one
        )

    def _untouched(self, *exprs: Expr) -> None:
        """Refuse what the maximum is part of."""
        if any(not free_vars(self._value(e)).isdisjoint((self.old, self.new)) for e in exprs):
            raise _OtherError

    def _changed(self, buffer: Buffer) -> None:
        """Forget what bindings hold that read a buffer, which is stored to; refuse where the maximum is part of it."""
        if self.term is not None and not self.stored and reads(buffer, self.term):
            raise _OtherError
        for var in [v for v, e in self.values.items() if reads(buffer, e)]:
            self._untouched(self.values.pop(var))

    def _varies(self, exprs: Iterable[Expr], but: Collection[Var] = ()) -> bool:
        """Whether expressions may differ between iterations."""
        return any(has_loads(e) or free_vars(e) & self.bound - set(but) for e in exprs)


def _stores(stmt: Stmt, guards: tuple[Expr, ...] = ()) -> Iterator[tuple[Store, tuple[Expr, ...]]]:
    """Stores, with the conditions that they are under."""
    match stmt:
        case Store():
            yield stmt, guards
        case If(cond=cond, then=then, other=other):
            yield from _stores(then, (*guards, cond))
            yield from _stores(other, (*guards, cond))
        case _:
            for part in stmt_children(stmt):
                yield from _stores(part, guards)


FLOAT_RULES = (
    zero_sub,
    sub_self,
    sub_constant,
    add_neg,
    sub_neg,
    neg_sub,
    neg_neg,
    max_known,
    min_known,
    max_covers,
    min_covers,
    div_sqrt,
)
SCALING_RULES: tuple[Rule, ...] = (rescaled_sums, scaled_twice, narrowed, narrowed_functions, narrowed_names)
