"""Elements of arrays that straight-line code works on, kept in a local until it is done (scalar replacement).

Callahan, Carr, Kennedy: Improving register allocation for subscripted variables, PLDI 1990. What is read between stores
to other elements of the same array is then a value at hand, and the array is stored to once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ir.naming import fresh
from ir.nodes import SKIP, Alloc, Buffer, Const, Evaluate, Expr, If, Let, Load, Seq, Stmt, Store, Var, seq
from ir.program.edit import replace_buffer
from ir.traverse import all_exprs, free_vars, has_loads, loads, stores_in, walk

MOST = 64  # elements of an array that are kept


class _Access(Struct, frozen=True):
    """An element that is used, by its numbers; `certain`: a store that is done whenever the code runs."""

    element: tuple[int, ...]
    stores: bool
    certain: bool


def in_values(stmt: Stmt, names: set[str]) -> Stmt:
    """Straight-line code with the elements in locals that it stores to and reads: those of an array at one position of
    some dimensions, and at numbers in others. `names` are taken, and get those of the locals."""
    plain = (Store, Seq, If, Let, Alloc, Evaluate)
    if not all(isinstance(s, plain) for s in walk(stmt)):
        return stmt
    local = {s.buffer for s in walk(stmt) if isinstance(s, Alloc)}
    stored = dict.fromkeys(s.buffer for s in stores_in(stmt) if s.buffer not in local)
    for buffer in stored:
        stmt = _kept(stmt, buffer, names)
    return stmt


def _kept(stmt: Stmt, buffer: Buffer, names: set[str]) -> Stmt:
    """The code with the elements of one array in a local, where it reads any."""
    found = [e for e in all_exprs(stmt) if isinstance(e, Load) and e.buffer == buffer]
    places = [e.indices for e in found]
    places += [s.indices for s in stores_in(stmt) if s.buffer == buffer]
    along = [d for d in range(len(buffer.shape)) if all(isinstance(p[d], Const) for p in places)]
    rows = [d for d in range(len(buffer.shape)) if d not in along]
    if not (found and along and rows) or not all(isinstance(buffer.shape[d], Const) for d in along):
        return stmt
    bound = {v for s in walk(stmt) if isinstance(s, Let) for v in (s.var,)}
    if not all(_is_row(p[d], places[0][d], bound) for p in places for d in rows):
        return stmt

    def within(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(indices[d] for d in along)

    accesses = list(_accesses(stmt, buffer, along, certain=True))
    first = {a.element: a for a in reversed(accesses)}
    if len(first) > MOST:
        return stmt
    places_of = {_numbers(within(p)): p for p in places}
    own = Buffer(fresh(f"{buffer.name}_row", names), tuple(buffer.shape[d] for d in along), buffer.dtype, "local")
    copied_in = [e for e, a in first.items() if not (a.stores and a.certain)]
    copied_out = dict.fromkeys(a.element for a in accesses if a.stores)
    before = [Store(own, within(places_of[e]), Load(buffer, places_of[e])) for e in copied_in]
    after = [Store(buffer, places_of[e], Load(own, within(places_of[e]))) for e in sorted(copied_out)]
    return Alloc(own, seq(*before, replace_buffer(stmt, buffer, own, within), *after))


def _is_row(index: Expr, row: Expr, bound: set[Var]) -> bool:
    """Whether an index is that of the row, which nothing in the code changes."""
    return index.same(row) and not has_loads(index) and not free_vars(index) & bound


def _numbers(indices: Sequence[Expr]) -> tuple[int, ...]:
    return tuple(int(i.value) for i in indices if isinstance(i, Const))


def _accesses(stmt: Stmt, buffer: Buffer, along: Sequence[int], *, certain: bool) -> Iterator[_Access]:
    """The uses of elements of an array, in the order in which they are done."""

    def read(*exprs: Expr) -> Iterator[_Access]:
        for load in (load for e in exprs for load in loads(e) if load.buffer == buffer):
            yield _Access(_numbers([load.indices[d] for d in along]), stores=False, certain=False)

    match stmt:
        case Store(indices=indices, value=value):
            yield from read(*indices, value)
            if stmt.buffer == buffer:
                yield _Access(_numbers([indices[d] for d in along]), stores=True, certain=certain)
        case Evaluate(value=value):
            yield from read(value)
        case If(cond=cond, then=then, other=other):
            yield from read(cond)
            for arm in (then, other):
                yield from _accesses(arm, buffer, along, certain=False)
        case Let(value=value, body=body):
            yield from read(value)
            yield from _accesses(body, buffer, along, certain=certain)
        case Alloc(body=body):
            yield from _accesses(body, buffer, along, certain=certain)
        case Seq(stmts=stmts):
            for part in stmts:
                yield from _accesses(part, buffer, along, certain=certain)
        case _:
            assert stmt == SKIP
