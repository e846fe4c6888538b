"""Programs tied: parts of a program changed so that they read, or write again, what the program writes.

What a rule matches among programs whose parts keep to themselves, it mostly still matches when they are tied. Equal
parts are changed alike more often than not, since patterns ask for equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import (
    Alloc,
    Assert,
    Assume,
    Binary,
    Cast,
    Const,
    Expr,
    For,
    Let,
    Load,
    PrimFunc,
    Stmt,
    Store,
    Undef,
    Var,
    const,
    seq,
)
from ir.testing.draw import Source
from ir.traverse import (
    all_exprs,
    free_vars,
    has_loads,
    map_expr,
    map_stmt,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute_expr,
    walk,
    walk_expr,
)

_INDEX = DType.INT32


def tied(source: Source, func: PrimFunc) -> PrimFunc:
    """A program like another one, in which some parts meet that did not."""
    body = func.body
    for _ in range(source.pick(1, 2, 3)):
        new = source.pick(*_WAYS)(source, func, body)
        body = new if _in_scope(new, frozenset(b.name for b in func.buffers)) else body
    return func if body is func.body else replace(func, body=body)


def _in_scope(stmt: Stmt, names: frozenset[str]) -> bool:
    """Whether a statement mentions buffers only where they exist."""
    if isinstance(stmt, Alloc):
        names |= {stmt.buffer.name}
    if isinstance(stmt, Store) and stmt.buffer.name not in names:
        return False
    read = (e.buffer.name for top in stmt_exprs(stmt) for e in walk_expr(top) if isinstance(e, Load))
    return all(name in names for name in read) and all(_in_scope(s, names) for s in stmt_children(stmt))


def _plain_targets(stmt: Stmt) -> list[Load]:
    """Elements that are written, except those whose place is itself read: of these little can be said."""
    return [Load(s.buffer, s.indices) for s in stores_in(stmt) if not any(map(has_loads, s.indices))]


def _read(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """A condition, an index, a bound or a value reads an element that is written."""
    targets = _plain_targets(stmt)
    slots = [e for s in walk(stmt) for e in stmt_exprs(s)]
    if not targets or not slots:
        return stmt
    part = source.pick(*slots)
    if source.flag():
        part = source.pick(*walk_expr(part))
    known = {v.name for v in free_vars(part)} | {p.name for p in func.params if isinstance(p, Var)}
    new = _reading(source, part, _known_there(source, source.pick(*targets), known))
    return stmt if new is None else _replaced(source, stmt, part, new)


def _known_there(source: Source, target: Load, names: set[str]) -> Load:
    """An element by names that are known where it is to be read, and numbers for the others."""
    others = {v: const(source.pick(0, 1), v.dtype) for v in free_vars(target) if v.name not in names}
    return replace(target, indices=tuple(substitute_expr(i, others) for i in target.indices))


def _reading(source: Source, part: Expr, target: Load) -> Expr | None:
    """An expression of the dtype of a part that reads an element; None if there is no good one."""
    if part.dtype is DType.BOOL and target.dtype is not DType.BOOL:
        known = const(source.pick(0, 1, 2), target.dtype)
        return Binary(source.pick("gt", "eq", "le", "ne"), target, known)
    if part.dtype is target.dtype and not isinstance(part, Var):
        return source.pick(target, Binary("add", target, part), target)
    if part.dtype is _INDEX and target.dtype.is_integer:
        extent = target.buffer.shape[0]
        if isinstance(extent, Const) and extent.value > 0:
            return Binary("floormod", Cast(_INDEX, target), const(int(extent.value), _INDEX))
    return None


def _replaced(source: Source, stmt: Stmt, part: Expr, new: Expr) -> Stmt:
    """A statement with a part of it replaced, everywhere or in one place."""
    once = source.flag(3)
    done = False

    def one(expr: Expr) -> Expr:
        nonlocal done
        if expr.same(part) and not (once and done):
            done = True
            return new
        return expr

    return map_stmt(stmt, lambda e: map_expr(e, one))


def _written_again(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """Two stores go to one element, or to one buffer."""
    del func
    stores = [*stores_in(stmt)]
    first, second = (source.pick(*stores), source.pick(*stores)) if stores else (None, None)
    if first is None or second is None or first.buffer.dtype is not second.buffer.dtype:
        return stmt
    if len(first.indices) != len(second.indices):
        return stmt
    indices = second.indices
    if source.flag() and _names(first.indices) <= _names(second.indices):
        indices = first.indices
    return _with_store(stmt, second, replace(second, buffer=first.buffer, indices=indices))


def _names(exprs: tuple[Expr, ...]) -> set[str]:
    return {v.name for e in exprs for v in free_vars(e)}


def _with_store(stmt: Stmt, store: Store, new: Stmt) -> Stmt:
    return map_stmt(stmt, on_stmt=lambda s: new if isinstance(s, Store) and s == store else s)


def _value(change: Callable[[Source, Store], Expr]) -> Callable[[Source, PrimFunc, Stmt], Stmt]:
    """Another value for one of the stores."""

    def way(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
        del func
        stores = [s for s in stores_in(stmt) if s.buffer.dtype is not DType.BOOL]
        if not stores:
            return stmt
        store = source.pick(*stores)
        return _with_store(stmt, store, replace(store, value=change(source, store)))

    return way


def _updated(source: Source, store: Store) -> Expr:
    """What depends on the element itself, so that storing it twice is not storing it once."""
    old = Load(store.buffer, store.indices)
    return Binary("add", old, source.pick(const(1, store.buffer.dtype), store.value))


def _havocked(source: Source, store: Store) -> Expr:
    del source
    return Undef(store.buffer.dtype)


def _trips(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """Loops with one extent run never, once, often, or as often as a scalar or an element that is written says."""
    loops = [s for s in walk(stmt) if isinstance(s, For)]
    if not loops:
        return stmt
    loop = source.pick(*loops)
    scalars = [p for p in func.params if isinstance(p, Var)]
    names = {p.name for p in scalars}
    options: list[Expr] = [const(k, _INDEX) for k in (0, 1, 2)]
    options += [p for p in scalars if p.dtype is _INDEX]
    targets = [_known_there(source, t, names) for t in _plain_targets(stmt) if t.dtype.is_integer]
    options += [Binary("floormod", Cast(_INDEX, t), const(3, _INDEX)) for t in targets]
    extent = source.pick(*options)

    def one(part: Stmt) -> Stmt:
        return replace(part, extent=extent) if isinstance(part, For) and part.extent.same(loop.extent) else part

    return map_stmt(stmt, on_stmt=one)


def _faulting(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """A part is a quotient that faults for some inputs."""
    scalars = [p for p in func.params if isinstance(p, Var) and p.dtype is _INDEX]
    parts = [e for e in all_exprs(stmt) if e.dtype in (_INDEX, DType.BOOL) and not isinstance(e, Var)]
    if not scalars or not parts:
        return stmt
    part, quotient = source.pick(*parts), 4 // source.pick(*scalars)
    new = quotient if part.dtype is _INDEX else quotient > source.pick(0, 1)
    return _replaced(source, stmt, part, new)


def _claiming(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """A store comes with an assumption about what it writes."""
    del func
    stores = [s for s in stores_in(stmt) if s.buffer.dtype is not DType.BOOL]
    if not stores:
        return stmt
    store = source.pick(*stores)
    cond = Binary(source.pick("gt", "le"), Load(store.buffer, store.indices), const(1, store.buffer.dtype))
    claim = source.pick(Assume, Assume, Assert)(cond)
    return _with_store(stmt, store, source.pick(seq(claim, store), seq(store, claim)))


def _extreme(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """A part of a stored value is a number near an end of its dtype's range."""
    del func
    parts = [e for s in stores_in(stmt) for e in walk_expr(s.value) if e.dtype.is_integer and not isinstance(e, Var)]
    if not parts:
        return stmt
    part = source.pick(*parts)
    low = -1 if part.dtype.is_signed else 2
    value = source.pick(part.dtype.max, part.dtype.max, part.dtype.min, 1, low)
    return _replaced(source, stmt, part, const(value, part.dtype))


def _used(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """A store under a binding stores what is bound."""
    del func
    found = [
        (let.var, store)
        for let in walk(stmt)
        if isinstance(let, Let)
        for store in stores_in(let.body)
        if store.buffer.dtype is let.var.dtype
    ]
    if not found:
        return stmt
    var, store = source.pick(*found)
    return _with_store(stmt, store, replace(store, value=var))


def _shown(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """What a store finds or leaves is copied to a buffer that can be looked at."""
    stores = [*stores_in(stmt)]
    if not stores:
        return stmt
    store = source.pick(*stores)
    fitting = [b for b in func.buffers if b.dtype is store.buffer.dtype and len(b.shape) == len(store.indices)]
    if not fitting:
        return stmt
    places = [store.indices, *(s.indices for s in stores if len(s.indices) == len(store.indices))]
    where = source.pick(*(p for p in places if _names(p) <= _names(store.indices)))
    copy = Store(source.pick(*fitting), where, Load(store.buffer, store.indices))
    return _with_store(stmt, store, source.pick(seq(copy, store), seq(store, copy)))


def _ordered(source: Source, func: PrimFunc, stmt: Stmt) -> Stmt:
    """Iterations of a nest store what tells them apart, some of them to one element."""
    del func
    nests = [(s, loops) for s, loops in _nests(stmt, ()) if loops and s.buffer.dtype.is_integer]
    if not nests:
        return stmt
    store, loops = source.pick(*nests)
    value: Expr = const(0, _INDEX)
    for var in loops:
        value = value * 2 + var
    new = replace(store, value=value if store.buffer.dtype is _INDEX else Cast(store.buffer.dtype, value))
    extent = store.buffer.shape[0]
    if len(loops) > 1 and source.flag() and isinstance(extent, Const) and extent.value > 0:
        mixed = (loops[-1] + loops[-2]) % int(extent.value)
        new = replace(new, indices=(mixed, *store.indices[1:]))
    return _with_store(stmt, store, new)


def _nests(stmt: Stmt, loops: tuple[Var, ...]) -> Iterator[tuple[Store, tuple[Var, ...]]]:
    """Stores with the variables of the loops around them."""
    if isinstance(stmt, Store):
        yield stmt, loops
    inside = (*loops, stmt.var) if isinstance(stmt, For) and stmt.var.dtype is _INDEX else loops
    for child in stmt_children(stmt):
        yield from _nests(child, inside)


_WAYS = (
    _read, _read, _read, _read, _written_again, _written_again, _value(_updated), _value(_havocked), _trips, _faulting,
    _claiming, _extreme, _shown, _ordered, _used, _used,
)  # fmt: skip
