"""Calls of functions: what holds of a body holds of the call, and loops over the bits of a number that are calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from egraph_rules.authoring.proposal import Here, rewrite, rewrite_expr
from egraph_rules.authoring.rule import Rule
from ir.dtypes import DType
from ir.functions import always_used, deciding, inlined
from ir.nodes import (
    SKIP,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Stmt,
    Store,
    Var,
    binary,
    const,
)
from ir.traverse import free_vars, reads, substitute_expr

_CALL = 1.0  # as an addition: vector code has it, or makes it of two tables


@rewrite_expr(
    law="f(x) = the body of f with x in it, if x is defined where the body chooses by it, and total where it skips it",
    because="a call is its body on the arguments' values; it only evaluates all of them, and never chooses by undef",
)
def body_of_call(expr: Expr, here: Here) -> Iterator[Expr]:
    """See through a call; cost decides which form stays."""
    if isinstance(expr, Call) and all(map(partial(_alike, expr.function, here), expr.function.params, expr.args)):
        yield inlined(expr)


def _alike(function: Function, here: Here, param: Var, arg: Expr) -> bool:
    """Whether it makes no difference for an argument that it stands in the body."""
    decides, used = param in deciding(function), param in always_used(function)
    return (not decides or here.decided(arg)) and (used or here.contexts.total(here.facts, arg))


@cache
def bits_set(dtype: DType) -> Function:
    """How many bits of an unsigned integer are set, in its dtype."""
    x, bits = Var("x", dtype), dtype.bits

    def in_groups(of: int) -> Expr:
        """Ones in the lower half of each group of bits."""
        return const(sum(((1 << of // 2) - 1) << at for at in range(0, bits, of)), dtype)

    def shifted(value: Expr, by: int) -> Expr:
        return binary("shr", value, by)

    pairs = x - (shifted(x, 1) & in_groups(2))
    fours = (pairs & in_groups(4)) + (shifted(pairs, 2) & in_groups(4))
    total = (fours + shifted(fours, 4)) & in_groups(8)
    if bits > 8:
        total = shifted(total * const(sum(1 << at for at in range(0, bits, 8)), dtype), bits - 8)
    return Function(f"bits_set_{dtype.value}", (x,), total, _CALL, "lax.population_count({x})")


@cache
def highest_bit(dtype: DType) -> Function:
    """The place of the highest bit of an unsigned integer that is set, as int32; -1 if there is none."""
    x = Var("x", dtype)
    below: Expr = x
    for k in range(dtype.bits.bit_length() - 1):
        step = Function(f"or_shifted_{1 << k}_{dtype.value}", (x,), x | binary("shr", x, 1 << k))
        below = Call(step, (below,))
    place = Cast(DType.INT32, Call(bits_set(dtype), (below,))) - 1
    jax = f"{dtype.bits - 1} - lax.clz({{x}}).astype(jnp.int32)"
    return Function(f"highest_bit_{dtype.value}", (x,), place, _CALL, jax)


@rewrite(
    law="for b in a .. n: r = r + (x >> b & 1)  =  r = r + the number of bits of x from a to n that are set",
    because="each bit that is set adds one, and the others add nothing",
    family="bits",
)
def sum_of_bits(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Count the bits of a number at once."""
    found = _over_bits(stmt, here, "add")
    if found is not None:
        store, own, count = found
        yield Store(store.buffer, store.indices, own + count, store.span)


@rewrite(
    law="for b in a .. n: r = r ^ (x >> b & 1)  =  r = r ^ (the number of bits of x from a to n that are set & 1)",
    because="two bits that are set cancel",
    family="bits",
)
def parity_of_bits(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Take the parity of the bits of a number at once."""
    found = _over_bits(stmt, here, "bitxor")
    if found is not None:
        store, own, count = found
        yield Store(store.buffer, store.indices, own ^ (count & 1), store.span)


@rewrite(
    law="for b in a .. n: if x >> b & 1: r = f(b)  =  if x has bits from a to n: r = f(the highest of them)",
    because="what the last bit that is set stores replaces what others do",
    family="bits",
)
def last_bit_that_stores(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Find the highest bit of a number at once."""
    match stmt:
        case For(
            start=Const(value=int() as start),
            extent=Const(value=int() as extent),
            body=If(cond=cond, then=Store() as store, other=other),
        ) if other == SKIP and extent > 0:
            x = _tested(cond, stmt.var)
        case _:
            return
    if x is None or reads(store.buffer, x, store.value, *store.indices) or stmt.var in free_vars(x):
        return
    inside = here.inside(stmt)
    if any(stmt.var in free_vars(i) for i in store.indices) or start < 0 or start + extent > x.dtype.bits:
        return
    if inside is None or not inside.decided(store.value):
        return
    value = _masked(x, start, extent)
    place = Cast(stmt.var.dtype, Call(highest_bit(value.dtype), (value,)))
    found = Store(store.buffer, store.indices, substitute_expr(store.value, {stmt.var: place}), store.span)
    yield If(binary("ne", value, const(0, value.dtype)), found, SKIP, stmt.span)


@rewrite(
    law="for b in a .. n: r = r ^ (x >> b)  =  r = r ^ y, y all shifts of x >> a by doubling; likewise for |",
    because="what is shifted out is zero, and a fold of 2 * k shifts is one of k with itself shifted by k",
    family="bits",
)
def fold_of_shifts(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Combine all shifts of a number in as many steps as its number of bits has digits."""
    match stmt:
        case For(
            start=Const(value=int() as start),
            extent=Const(value=int() as extent),
            body=Store(value=Binary(op="bitxor" | "bitor" as op, lhs=lhs, rhs=rhs)) as store,
        ) if start >= 0 and extent > 0:
            own = Load(store.buffer, store.indices)
            x = _shifted(rhs if lhs.same(own) else lhs, stmt.var)
        case _:
            return
    if x is None or x.dtype.is_signed or not (lhs.same(own) or rhs.same(own)) or start + extent != x.dtype.bits:
        return
    if reads(store.buffer, x, *store.indices) or any(stmt.var in free_vars(e) for e in (x, *store.indices)):
        return
    folded: list[Expr] = [binary("shr", x, start)]
    names = [Var(f"{stmt.var.name}.{k}", x.dtype) for k in range((extent - 1).bit_length())]
    for k, name in enumerate(names):
        folded.append(binary(op, name, binary("shr", name, 1 << k)))
    made: Stmt = Store(store.buffer, store.indices, binary(op, own, folded[-1]), store.span)
    for name, value in reversed(list(zip(names, folded, strict=False))):
        made = Let(name, value, made)
    yield made


def _shifted(expr: Expr, var: Var) -> Expr | None:
    """The integer that an expression shifts by `var`."""
    match expr:
        case Binary(op="shr", lhs=x, rhs=place) if x.dtype.is_integer:
            plain = place.operand if isinstance(place, Cast) and place.dtype.is_integer else place
            return x if plain == var else None
        case _:
            return None


def _masked(x: Expr, start: int, extent: int) -> Expr:
    """Some bits of a number, as an unsigned one."""
    unsigned = DType(f"uint{x.dtype.bits}")
    value = x if x.dtype is unsigned else Cast(unsigned, x)
    return value if extent == x.dtype.bits else value & const(((1 << extent) - 1) << start, unsigned)


def _over_bits(stmt: Stmt, here: Here, op: str) -> tuple[Store, Load, Expr] | None:
    """The store of a loop that combines bits of a number into an element, the element, and how many are set."""
    match stmt:
        case For(start=Const(value=int() as start), extent=Const(value=int() as extent), body=body) if extent > 0:
            found = _folded(body, op, stmt.var)
        case _:
            return None
    if found is None:
        return None
    store, own, x = found
    outside = (x, *store.indices)
    if reads(store.buffer, *outside) or any(stmt.var in free_vars(e) for e in outside):
        return None
    if isinstance(stmt.body, If) and not here.in_bounds(store.buffer, store.indices):
        return None  # without a bit that is set, nothing is stored
    if start < 0 or start + extent > x.dtype.bits:
        return None
    value = _masked(x, start, extent)
    count: Expr = Call(bits_set(value.dtype), (value,))
    return store, own, count if own.dtype is value.dtype else Cast(own.dtype, count)


def _folded(body: Stmt, op: str, var: Var) -> tuple[Store, Load, Expr] | None:
    """A store of an element combined with one bit of a number, the element, and the number."""
    match body:
        case If(cond=cond, then=Store() as store, other=other) if other == SKIP:
            x, term = _tested(cond, var), 1
        case Store() as store:
            x, term = None, None
        case _:
            return None
    own = Load(store.buffer, store.indices)
    value = store.value
    if not own.dtype.is_integer or not isinstance(value, Binary) or value.op != op:
        return None
    for mine, other in ((value.lhs, value.rhs), (value.rhs, value.lhs)):
        if not mine.same(own):
            continue
        if term is None:
            x = _bit(other, var)
        elif not (isinstance(other, Const) and other.value == term):
            continue
        return None if x is None else (store, own, x)
    return None


def _tested(cond: Expr, var: Var) -> Expr | None:
    """The number of which a condition asks whether bit `var` is set."""
    match cond:
        case Binary(op="eq", lhs=bit, rhs=Const(value=1)) | Binary(op="ne", lhs=bit, rhs=Const(value=0)):
            return _bit(bit, var)
        case Binary(op="eq", lhs=Const(value=1), rhs=bit) | Binary(op="ne", lhs=Const(value=0), rhs=bit):
            return _bit(bit, var)
        case _:
            return None


def _bit(expr: Expr, var: Var) -> Expr | None:
    """The number whose bit `var` an expression is, as zero or one."""
    match expr:
        case Cast(operand=inner) if expr.dtype.is_integer and inner.dtype.is_integer:
            return _bit(inner, var)
        case Binary(op="bitand", lhs=x, rhs=Const(value=1)) | Binary(op="bitand", lhs=Const(value=1), rhs=x):
            return _shifted(x, var)
        case _:
            return None


FUNCTION_RULES: tuple[Rule, ...] = (body_of_call,)
BIT_RULES: tuple[Rule, ...] = (sum_of_bits, parity_of_bits, last_bit_that_stores, fold_of_shifts)
