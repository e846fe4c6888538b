"""What elements keep that a statement stores to under conditions on data.

After `if p < n[i]: A[i, p] = e` the elements where that fails are as they were, and a number that they had is theirs
still. Sets do not express such a condition, so that what the statement may store is all that it would where it held;
what it spares is told as an assumption would tell it: `p < n[i] or A[i, p] == v`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.assumptions import anywhere, within_bounds
from ir.analysis.conditions import conjunction, conjuncts, negate
from ir.nodes import SKIP, Assume, Binary, Buffer, Const, Expr, For, If, Let, Load, Stmt, Store, Var
from ir.traverse import buffers_written, free_vars, has_loads, has_undef, loads, stmt_children

Path = tuple[For | Let | tuple[If, Expr], ...]  # what is around a store: of branches, the condition of the arm


class Spared(Struct, frozen=True):
    """Elements at `place`, for all values of the variables of `loops`, are left alone where `cond` fails."""

    loops: tuple[For, ...]
    cond: Expr
    place: Load

    def promise(self, value: Const) -> Stmt:
        """What holds after the statement if all elements had a value before."""
        claim: Stmt = Assume(Binary("or", self.cond, Binary("eq", self.place, value)))
        for loop in reversed(self.loops):
            claim = replace(loop, body=claim)
        return claim


def spared(stmt: Stmt) -> dict[Buffer, Spared]:
    """Of the buffers that a statement stores to under conditions on data, which elements it leaves alone."""
    written = buffers_written(stmt)
    stores: dict[Buffer, list[tuple[Store, Path]]] = {}
    for store, path in _stores(stmt, ()):
        stores.setdefault(store.buffer, []).append((store, path))
    found = {buffer: _spared(places, written) for buffer, places in stores.items()}
    return {buffer: gate for buffer, gate in found.items() if gate is not None}


def _stores(stmt: Stmt, path: Path) -> Iterator[tuple[Store, Path]]:
    match stmt:
        case Store():
            yield stmt, path
        case If(cond=cond, then=then, other=other):
            yield from _stores(then, (*path, (stmt, cond)))
            if other != SKIP:
                yield from _stores(other, (*path, (stmt, negate(cond))))
        case For(body=body) | Let(body=body):
            yield from _stores(body, (*path, stmt))
        case _:
            for part in stmt_children(stmt):
                yield from _stores(part, path)


def _spared(stores: list[tuple[Store, Path]], written: Iterable[Buffer]) -> Spared | None:
    """What stores to one buffer leave alone between them, by the conditions that are around all of them."""
    (first, path), *others = stores
    if any(store.indices != first.indices for store, _ in others) or any(map(has_loads, first.indices)):
        return None
    for _, other in others:
        path = tuple(a for a, _ in takewhile(lambda pair: _same(*pair), zip(path, other, strict=False)))
    bound = {p.var: p for p in path if isinstance(p, (For, Let))}
    named = {i for i in first.indices if isinstance(i, Var) and isinstance(bound.get(i), For)}
    hidden = bound.keys() - named  # of such a variable an element does not say which value it had
    if any(free_vars(i) & hidden or (i not in named and free_vars(i) & named) for i in first.indices):
        return None
    loops = [p for p in path if isinstance(p, For) and p.var in named]
    guards = [c for p in path if isinstance(p, tuple) for c in conjuncts(p[1])]
    guards += [c for loop in loops if _on_data(loop) for c in within_bounds(loop)]
    if any(free_vars(e) & hidden for loop in loops for e in (loop.start, loop.extent)):
        return None
    read = set(written)
    steady = [
        g for g in guards if not (free_vars(g) & hidden or has_undef(g) or any(x.buffer in read for x in loads(g)))
    ]
    if not any(map(has_loads, steady)) or len(bound) != sum(isinstance(p, (For, Let)) for p in path):
        return None
    wide = tuple(anywhere(loop) if _on_data(loop) else loop for loop in loops)
    return Spared(wide, conjunction(steady), Load(first.buffer, first.indices))


def _same(one: For | Let | tuple[If, Expr], other: For | Let | tuple[If, Expr]) -> bool:
    """Whether the same loop, binding or arm is around two stores."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return isinstance(one, tuple) and isinstance(other, tuple) and one[0] is other[0] and one[1] is other[1]
    return one is other


def _on_data(loop: For) -> bool:
    return has_loads(loop.start) or has_loads(loop.extent)
