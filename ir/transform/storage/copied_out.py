"""A local that is copied out as a whole, computed where the copy stands (copy propagation of arrays)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ir.analysis.effects import Effects, get
from ir.nodes import Alloc, Block, Buffer, CallStmt, Const, Expr, For, Load, Stmt, Store, Var, seq
from ir.presburger import sets as pb
from ir.presburger.polynomials import polynomial
from ir.program.edit import replace_buffer
from ir.program.scopes import allocated, flat
from ir.traverse import buffers_accessed, free_vars, has_kind, has_loads, substitute_expr


def is_copied_out(stmt: Alloc) -> bool:
    """Whether the last use of a local is a copy of some of it."""
    users = [part for part in flat(stmt)[1] if stmt.buffer in buffers_accessed(part)]
    return len(users) > 1 and _copy_of(stmt.buffer, users[-1]) is not None


def without_copy(stmt: Alloc, effects: Callable[[Stmt], Effects]) -> Stmt | None:
    """`alloc C: s; Y[i + 1] = C[i] for all i; t` as `s; t` with elements of Y in place of C's; None where it is not so.

    All of C must have been stored before, or Y would keep what it held; nothing else may touch Y until the copy is
    done, nor C afterwards.
    """
    local, parts = flat(stmt)
    source = stmt.buffer
    users = [k for k, part in enumerate(parts) if source in buffers_accessed(part)]
    found = _copy_of(source, parts[users[-1]]) if len(users) > 1 else None
    if found is None or has_kind(stmt, Block, CallStmt) or len({b.name for b in local}) < len(local):
        return None
    copy, loops = found
    if not _reads_all(_coordinates(copy), source, loops) or not _tells_apart(copy.indices, [*loops]):
        return None
    first, last, target = users[0], users[-1], copy.buffer
    made = parts[first:last]
    if target.dtype is not source.dtype or any(target in buffers_accessed(part) for part in made):
        return None
    done = effects(seq(*made))
    if not get(done.reads, source).is_empty() or not pb.box(source.shape).is_subset(get(done.must, source)):
        return None

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        names = {v: i for v, i in zip(_coordinates(copy), indices, strict=True) if isinstance(v, Var)}
        return tuple(substitute_expr(i, names) for i in copy.indices)

    changed = [replace_buffer(part, source, target, place) for part in made]
    return allocated([b for b in local if b != source], [*parts[:first], *changed, *parts[last + 1 :]])


def _copy_of(source: Buffer, stmt: Stmt) -> tuple[Store, dict[Var, For]] | None:
    """The one store of a nest that copies elements of a buffer, and the loops around it."""
    loops: dict[Var, For] = {}
    while isinstance(stmt, For) and stmt.kind in ("serial", "parallel"):
        loops[stmt.var] = stmt
        stmt = stmt.body
    copies = isinstance(stmt, Store) and isinstance(stmt.value, Load) and stmt.value.buffer == source
    return (stmt, loops) if loops and copies and isinstance(stmt, Store) and stmt.buffer != source else None


def _coordinates(copy: Store) -> tuple[Expr, ...]:
    assert isinstance(copy.value, Load)
    return copy.value.indices


def _reads_all(indices: Sequence[Expr], buffer: Buffer, loops: Mapping[Var, For]) -> bool:
    """Whether each dimension of a buffer has a loop through all of it, or one element."""
    left = set(loops)
    for index, extent in zip(indices, buffer.shape, strict=True):
        if isinstance(index, Var) and index in left:
            loop = loops[index]
            left.remove(index)
            if not (isinstance(loop.start, Const) and loop.start.value == 0 and loop.extent.same(extent)):
                return False
        elif not (isinstance(index, Const) and isinstance(extent, Const) and (index.value, extent.value) == (0, 1)):
            return False
    return not left


def _tells_apart(indices: Sequence[Expr], names: Sequence[Var]) -> bool:
    """Whether places differ wherever some variables do: for each there is an index that is a multiple of it and more,
    in which there is no other one."""
    if any(map(has_loads, indices)):
        return False
    alone = [mine[0] for i in indices if len(mine := _factors(i, names)) == 1 and mine[0] is not None]
    return {*names} == {*alone}


def _factors(index: Expr, names: Sequence[Var]) -> list[Var | None]:
    """Of the terms of a sum those that some variables are in: None where it is more than a multiple of one."""
    terms = (term for term in polynomial(index) if any(free_vars(factor) & {*names} for factor in term))
    return [term[0] if len(term) == 1 and isinstance(term[0], Var) else None for term in terms]
