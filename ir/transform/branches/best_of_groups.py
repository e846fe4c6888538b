"""Searches for the best element of each group, where data say which group an element belongs to.

`if v[i] > B[g[i]]: B[g[i]] = v[i]; A[g[i]] = i` waits in each iteration for the one before it. The best value of each
group, and after that the first element that has it, are extremes, in which the order of iterations does not matter.
What else is stored of the best element is then read at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.dtypes import DType
from ir.fold import folded
from ir.naming import fresh
from ir.nodes import (
    MIRRORED,
    SKIP,
    Alloc,
    Binary,
    BinaryOp,
    Buffer,
    Expr,
    For,
    If,
    Load,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    binary,
    const,
    seq,
)
from ir.program.calls import of_dtype
from ir.transform.branches.if_convert import is_short
from ir.traverse import all_same, conjuncts_of, free_vars, has_loads, loads, substitute_expr, without_outer_names

_BETTER: dict[BinaryOp, BinaryOp] = {"gt": "max", "ge": "max", "lt": "min", "le": "min"}


class _Search(Struct, frozen=True):
    """A loop that keeps the best `value` of each group in `best`, if `conditions` hold, and stores more beside it."""

    loop: For
    best: Load
    value: Expr
    op: BinaryOp  # how a value compares with the best one before it, if it replaces that
    conditions: tuple[Expr, ...]
    beside: tuple[Store, ...]


def as_extremes(loop: For, may: Callable[[DType], bool], names: set[str]) -> Stmt | None:
    """Extremes and what is read at their places, for such a search among values of a dtype for which that `may` be
    done; None for other loops. `names` are taken."""
    search = _search(loop)
    return None if search is None or not may(search.value.dtype) else _extremes(search, names)


def _search(loop: For) -> _Search | None:
    branch = without_outer_names(loop.body, is_short) if loop.kind == "serial" else SKIP
    if not isinstance(branch, If) or branch.other != SKIP:
        return None
    stores = branch.then.stmts if isinstance(branch.then, Seq) else (branch.then,)
    parts = conjuncts_of(branch.cond)
    for k, part in enumerate(parts):
        for best, value, op in _comparisons(part):
            kept = [s for s in stores if isinstance(s, Store) and Load(s.buffer, s.indices).same(best)]
            beside = tuple(s for s in stores if isinstance(s, Store) and s not in kept)
            if len(kept) == 1 and kept[0].value.same(value) and len(beside) == len(stores) - 1:
                found = _Search(loop, best, value, op, (*parts[:k], *parts[k + 1 :]), beside)
                return found if beside and _fits(found) else None
    return None


def _comparisons(cond: Expr) -> Iterator[tuple[Load, Expr, BinaryOp]]:
    if isinstance(cond, Binary) and cond.op in _BETTER:
        if isinstance(cond.rhs, Load):
            yield cond.rhs, cond.lhs, cond.op
        if isinstance(cond.lhs, Load):
            yield cond.lhs, cond.rhs, MIRRORED[cond.op]


def _fits(search: _Search) -> bool:
    """Whether data say what a group is, and nothing that decides or is stored changes in the loop."""
    best, loop, beside = search.best, search.loop, search.beside
    written = {best.buffer, *(s.buffer for s in beside)}
    steady = (*best.indices, search.value, *search.conditions, loop.start, loop.extent, *(s.value for s in beside))
    same = all(
        all_same(s.indices, best.indices)
        and all_same(s.buffer.shape, best.buffer.shape)
        and not isinstance(s.value, Undef)
        for s in beside
    )
    apart = len(written) == len(beside) + 1 and not any(load.buffer in written for e in steady for load in loads(e))
    return same and apart and any(has_loads(i) and loop.var in free_vars(i) for i in best.indices)


def _with_room(dtype: DType) -> DType:
    """A dtype that also has the numbers next to a range of a dtype."""
    if dtype.bits < 32:
        return DType.INT32
    return dtype if dtype.is_signed else DType.INT64


def _extremes(search: _Search, names: set[str]) -> Stmt:
    loop, best, value = search.loop, search.best, search.value
    first = search.op in ("gt", "lt")  # else the last of those that are as good replaces others
    wide = _with_room(loop.var.dtype)
    start, extent, here = (of_dtype(e, wide) for e in (loop.start, loop.extent, loop.var))
    end = folded(binary("add", start, extent) if first else binary("sub", start, 1))  # where there is no element
    chosen = [d for d, index in enumerate(best.indices) if loop.var in free_vars(index)]
    groups = {d: Var(fresh(f"{best.buffer.name}_{d}", names), DType.INT32) for d in chosen}
    shape, own = tuple(best.buffer.shape[d] for d in chosen), tuple(best.indices[d] for d in chosen)
    place, before = (
        Buffer(fresh(name, names, first=2), shape, dtype, "local")
        for name, dtype in ((f"{loop.var.name}_best", wide), ("before", best.dtype))
    )
    at, where = tuple(groups.values()), tuple(groups.get(d, index) for d, index in enumerate(best.indices))

    def each_group(stmt: Stmt) -> Stmt:
        for d in reversed(chosen):
            stmt = For(groups[d], const(0, DType.INT32), best.buffer.shape[d], stmt)
        return stmt

    def each(conditions: Sequence[Expr], store: Store) -> Stmt:
        body = If(conjunction(conditions), store, SKIP) if conditions else store
        return replace(loop, body=body)

    parts = [each_group(Store(before, at, Load(best.buffer, where)))] if first else []
    parts.append(each_group(Store(place, at, end)))
    extreme = Binary(_BETTER[search.op], best, value)
    parts.append(each(search.conditions, Store(best.buffer, best.indices, extreme)))
    known = Load(place, own)
    is_best = [Binary("eq", value, best), *([Binary(search.op, value, Load(before, own))] if first else [])]
    nearest = Binary("min" if first else "max", known, here)
    parts.append(each([*search.conditions, *is_best], Store(place, own, nearest)))
    found = Load(place, at)
    for s in search.beside:
        there = substitute_expr(s.value, {loop.var: of_dtype(found, loop.var.dtype)})
        parts.append(each_group(If(Binary("ne", found, end), Store(s.buffer, where, there), SKIP)))
    return Alloc(place, Alloc(before, seq(*parts)) if first else seq(*parts))
