"""Loops written out: for each iteration a copy of the body, with numbers in place of the loop's variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from msgspec.structs import replace

from ir.fold import chosen, computed
from ir.nodes import Alloc, Buffer, Const, Expr, For, If, Load, PrimFunc, Stmt, Store, Var, const, seq
from ir.program.edit import with_children as with_parts
from ir.transform.storage.scalar_replacement import in_values
from ir.traverse import (
    all_exprs,
    bound_var,
    buffers_written,
    free_vars,
    map_expr,
    map_stmt,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute,
    walk,
)

MOST = 1024  # statements that loops are written out to
_LOOKED_AT = 8  # times as many stores as may be left in the end
MOST_ELEMENTS = 100  # of a local whose elements become values of their own


def iterations(loop: For) -> int | None:
    """How many iterations a loop has, if its bounds are numbers."""
    known = isinstance(loop.start, Const) and isinstance(loop.extent, Const)
    return max(int(loop.extent.value), 0) if known and isinstance(loop.extent, Const) else None


def written_out(loop: For) -> Stmt:
    """The iterations of a loop whose bounds are numbers, one after the other."""
    return seq(*(_known(substitute(loop.body, {loop.var: number})) for number in values_of(loop)))


def values_of(loop: For) -> Iterator[Expr]:
    """What the variable of a loop is in its iterations."""
    assert isinstance(loop.start, Const)
    first, dtype = int(loop.start.value), loop.var.dtype
    return (const(first + k, dtype) for k in range(iterations(loop) or 0))


def copies(stmt: Stmt, most: int) -> int | None:
    """How many stores a statement has once all loops in it are written out; None if one is open, or above `most`.

    Those with many times as many iterations, most of them empty, are not looked into.
    """
    stores = _stores(stmt)
    return 0 if not stores else None if stores > _LOOKED_AT * most else _copies(stmt, {}, most)


def _stores(stmt: Stmt) -> int:
    """How many stores a statement comes to if no branch is decided, loops of open extents counted once."""
    if isinstance(stmt, Store):
        return 1
    times = iterations(stmt) if isinstance(stmt, For) else 1
    return (1 if times is None else times) * sum(map(_stores, stmt_children(stmt)))


def _copies(stmt: Stmt, numbers: Mapping[Var, Expr], most: int) -> int | None:
    """How many copies of stores there are where variables are these numbers; nothing is copied to count them."""
    match stmt:
        case Store():
            return 1
        case If(cond=cond, then=then, other=other):
            decided = _at(cond, numbers)
            arms = (then, other) if not isinstance(decided, Const) else (then if decided.value else other,)
            return _total((_copies(arm, numbers, most) for arm in arms), most)
        case For(var=var, body=body):
            loop = replace(stmt, start=_at(stmt.start, numbers), extent=_at(stmt.extent, numbers))
            count = iterations(loop)
            if count is None or count > most:
                return None
            if _decides(var, body):
                return _total((_copies(body, {**numbers, var: number}, most) for number in values_of(loop)), most)
            once = _copies(body, numbers, most) if count else 0
            return _total((once,), most, count)
        case _:
            return _total((_copies(part, numbers, most) for part in stmt_children(stmt)), most)


def _at(expr: Expr, numbers: Mapping[Var, Expr]) -> Expr:
    """An expression where variables are numbers, as far as they decide it."""
    return map_expr(expr, lambda e: _folded(numbers.get(e, e) if isinstance(e, Var) else e)) if numbers else expr


def _decides(var: Var, body: Stmt) -> bool:
    """Whether a variable stands in a condition or a bound of a loop."""
    asked = (e for s in walk(body) if isinstance(s, (If, For)) for e in stmt_exprs(s))
    return any(var in free_vars(e) for e in asked)


def _total(parts: Iterable[int | None], most: int, times: int = 1) -> int | None:
    """So many times the sum of parts; None as soon as one is, or it is above `most`."""
    total = 0
    for part in parts:
        if part is None or (total := total + times * part) > most:
            return None
    return total


def with_unrolled(func: PrimFunc) -> PrimFunc:
    """A function whose loops of kind "unroll" are written out, inner ones last; those of open extents stay loops.

    With them go loops over the elements of small locals that they work on, so that each element is a value of its own.
    Where there would be too many statements, all stay loops.
    """
    if not any(map(_is_marked, walk(func.body))):
        return func
    names = {p.name for p in func.params} | {s.buffer.name for s in walk(func.body) if isinstance(s, Alloc)}
    names |= {v.name for s in walk(func.body) for v in bound_var(s)}
    body = _unrolled(map_stmt(func.body, on_stmt=_with_element_loops), names)
    results = buffers_written(func.body) & {*func.buffers}
    if sum(1 for _ in walk(body)) > MOST or not results <= buffers_written(body):
        return func  # what no iteration stores to is a result all the same
    return replace(func, body=body).as_form_of(func)


def _is_marked(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.kind == "unroll"


def _with_element_loops(stmt: Stmt) -> Stmt:
    """A small local of which loops that are written out use elements, with all loops marked that run over elements."""
    if not isinstance(stmt, Alloc) or not all(isinstance(n, Const) for n in stmt.buffer.shape):
        return stmt
    if prod(int(n.value) for n in stmt.buffer.shape if isinstance(n, Const)) > MOST_ELEMENTS:
        return stmt
    marked = [s for s in walk(stmt.body) if _is_marked(s)]
    if not any(_elements(s, stmt.buffer) for s in marked):
        return stmt
    names = {v for place in _elements(stmt.body, stmt.buffer) for i in place for v in free_vars(i)}
    loops = [s for s in walk(stmt.body) if isinstance(s, For) and s.kind == "serial" and s.var in names]
    if any(copies(s, MOST_ELEMENTS) is None for s in loops):
        return stmt
    over = {s.var for s in loops}
    return map_stmt(stmt, on_stmt=lambda s: replace(s, kind="unroll") if isinstance(s, For) and s.var in over else s)


def _elements(stmt: Stmt, buffer: Buffer) -> list[tuple[Expr, ...]]:
    """The places of a buffer that a statement uses."""
    stores = [s.indices for s in stores_in(stmt) if s.buffer == buffer]
    return stores + [e.indices for e in all_exprs(stmt) if isinstance(e, Load) and e.buffer == buffer]


def _unrolled(stmt: Stmt, names: set[str]) -> Stmt:
    """A statement with its marked loops written out; `names` are taken."""
    if _is_marked(stmt):
        return in_values(_in_full(stmt), names)
    parts = stmt_children(stmt)
    return with_parts(stmt, [_unrolled(p, names) for p in parts]) if parts else stmt


def _in_full(stmt: Stmt) -> Stmt:
    if isinstance(stmt, For) and stmt.kind == "unroll" and (count := iterations(stmt)) is not None and count <= MOST:
        return _in_full(written_out(stmt))
    parts = stmt_children(stmt)
    return with_parts(stmt, [*map(_in_full, parts)]) if parts else stmt


def _known(stmt: Stmt) -> Stmt:
    """A statement without the operations, choices and branches that numbers decide."""
    return map_stmt(stmt, lambda e: map_expr(e, _folded), _taken)


def _folded(expr: Expr) -> Expr:
    found = computed(expr, library=False)
    return chosen(expr) if found is None else found


def _taken(stmt: Stmt) -> Stmt:
    match stmt:
        case If(cond=Const(value=cond), then=then, other=other):
            return then if cond else other
        case _:
            return stmt
