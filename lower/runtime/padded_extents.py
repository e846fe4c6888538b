"""Loops and buffers of rounded extents: which belong together, and the program over them that means the same.

A loop `for i in range(n)` belongs to each dimension of extent n that it indexes by plain `i`: what pads one pads all.
Such a loop runs to the padded extent and its body is guarded by `i < n`, so padding is neither read nor written. Loops
whose accesses could leave the padded buffers, were their guards removed, are left at their extents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import lcm

from msgspec import Struct
from msgspec.structs import replace

from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Cast,
    Expr,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Var,
    const,
    seq,
)
from ir.presburger.facts import facts_at, proven
from ir.program.blocks import lower_blocks
from ir.program.edit import with_unique_names
from ir.traverse import free_vars, loads, stmt_children, stmt_exprs, walk, with_buffers
from lower.analysis.linear_forms import linear

Dim = tuple[str, int]  # a buffer's name and the number of a dimension
_MOST = 64  # elements of which blocks are made multiples


class Extended(Struct, frozen=True):
    """A program over padded buffers.

    `dims`: padded dimensions with the extents they had; `loops`: loops that run over padding, by name, with the extents
    they had; `kept`: loops that index padded dimensions but keep their extents; `related`: the loops of each dimension.
    """

    func: PrimFunc
    dims: Mapping[Dim, int]
    loops: Mapping[str, int]
    kept: frozenset[str]
    related: Mapping[Dim, frozenset[str]]


def extended(func: PrimFunc, parts: Mapping[Dim, int], *, loops: bool = True) -> Extended:
    """`func`, whose sizes are numbers, with dimensions rounded up to multiples of `parts`, and loops with them.

    Without `loops`, only buffers change.
    """
    func = with_unique_names(lower_blocks(func))
    kept = set() if loops else {s.var.name for s in walk(func.body) if isinstance(s, For)}
    steps = _steps(func)
    while True:
        groups = _groups(func, frozenset(kept))
        rounded = _rounded(groups, _extents(func), parts, _multiples(groups, steps))
        straying = _straying(func, rounded)
        if not straying:
            break
        kept |= straying
    extents = _extents(func)
    dims = {m: extent for m, extent in extents.items() if m in rounded}
    had = {s.var.name: number(s.extent) or 0 for s in walk(func.body) if isinstance(s, For)}
    over = {name: rounded[name] for name in had if name in rounded}
    related = {d: frozenset(m for m in g if isinstance(m, str)) for g in groups for d in g if isinstance(d, tuple)}
    left = frozenset(name for name, dim in _plain_indices(func) if dim in dims and name not in over)
    new = _resized(func, dims, rounded, over, guarded=True)
    if func.origin is not None:  # over the same parameters; where its loops run says what is padding
        own = [(b.name, d) for b in func.buffers for d in range(len(b.shape)) if (b.name, d) in dims]
        new = new.refines(_resized(func.origin, own, rounded, {}, guarded=False))
    return Extended(new, dims, {name: had[name] for name in over}, left, related)


def number(expr: Expr) -> int | None:
    """The value of an expression without variables."""
    form = linear(expr)
    return form.const if form.is_const else None


# What belongs together -----------------------------------------------------------------------------------------------

Member = Dim | str  # a dimension, or a loop by name


def _extents(func: PrimFunc) -> dict[Dim, int]:
    """Extents of all dimensions that are numbers."""
    buffers = [*func.buffers, *(s.buffer for s in walk(func.body) if isinstance(s, Alloc))]
    found = {(b.name, d): number(e) for b in buffers for d, e in enumerate(b.shape)}
    return {dim: extent for dim, extent in found.items() if extent is not None}


def _accesses(stmt: Stmt) -> Iterator[tuple[Buffer, tuple[Expr, ...]]]:
    """What a statement itself accesses, without the statements in it."""
    if isinstance(stmt, Store):
        yield stmt.buffer, stmt.indices
    for expr in stmt_exprs(stmt):
        yield from ((load.buffer, load.indices) for load in loads(expr))


def _plain_indices(func: PrimFunc) -> set[tuple[str, Dim]]:
    """Loops and the dimensions that they index by nothing but their variable."""
    names = {s.var.name for s in walk(func.body) if isinstance(s, For)}
    found: set[tuple[str, Dim]] = set()
    for stmt in walk(func.body):
        for buffer, indices in _accesses(stmt):
            found |= {(i.name, (buffer.name, d)) for d, i in enumerate(indices) if isinstance(i, Var)}
    return {(name, dim) for name, dim in found if name in names}


def _groups(func: PrimFunc, kept: frozenset[str]) -> list[set[Member]]:
    """Dimensions, and the loops that run through all of them; every dimension is in one group."""
    extents = _extents(func)
    spans = {
        s.var.name: number(s.extent) for s in walk(func.body) if isinstance(s, For) and number(s.start) == 0
    }  # fmt: skip
    groups: dict[Member, set[Member]] = {dim: {dim} for dim in extents}
    for name, dim in sorted(_plain_indices(func)):
        if name in kept or dim not in extents or spans.get(name) != extents[dim]:
            continue
        merged = groups[dim] | groups.get(name, {name})
        groups |= dict.fromkeys(merged, merged)
    return list({id(g): g for g in groups.values()}.values())


def _steps(func: PrimFunc) -> set[tuple[str, Dim, int]]:
    """Loops that go along dimensions, and by steps of how many elements: several, in pools and strided convolutions."""
    names = {s.var.name for s in walk(func.body) if isinstance(s, For)}
    found: set[tuple[str, Dim, int]] = set()
    for stmt in walk(func.body):
        for buffer, indices in _accesses(stmt):
            for d, index in enumerate(indices):
                terms = linear(index).terms.items()
                found |= {
                    (v.name, (buffer.name, d), c) for v, c in terms if isinstance(v, Var) and v.name in names and c > 0
                }
    return found


def _multiples(groups: Sequence[set[Member]], steps: Iterable[tuple[str, Dim, int]]) -> list[int]:
    """For each group of what number blocks should be multiples, so that what loops with strides compute of a block is a
    block, and so on through all that one is computed of or into."""
    homes: dict[Member, int] = {member: at for at, group in enumerate(groups) for member in group}
    edges = [(dim, name, step) for name, dim, step in sorted(steps) if dim in homes]
    for at, name in enumerate(sorted({name for _, name, _ in edges} - homes.keys()), len(groups)):
        homes[name] = at  # a loop that keeps its extent
    found = [1] * (max(homes.values(), default=0) + 1)
    for _ in range(len(edges)):
        before = [*found]
        for dim, name, step in edges:
            read, computed = homes[dim], homes[name]
            if computed != read:
                found[read] = lcm(found[read], step * found[computed])
                found[computed] = lcm(found[computed], found[read] // step)
        if found == before or max(found) > _MOST:
            break
    return [n if n <= _MOST else 1 for n in found[: len(groups)]]


def _rounded(
    groups: Iterable[set[Member]], extents: Mapping[Dim, int], parts: Mapping[Dim, int], multiples: Iterable[int]
) -> dict[Member, int]:
    """The new extents of all members of groups that do not have one that all parts divide; in blocks of `multiples`
    where these do not become much larger for it."""
    out: dict[Member, int] = {}
    for group, multiple in zip(groups, multiples, strict=True):
        dims = [m for m in group if isinstance(m, tuple)]
        count = lcm(*(parts.get(d, 1) for d in dims))
        extent = extents[dims[0]]
        if extent % count:
            least, even = (-(-extent // n) * n for n in (count, count * multiple))
            out |= dict.fromkeys(group, even if 2 * even <= 3 * least else least)
    return out


# The program over them -----------------------------------------------------------------------------------------------


def _resized(
    func: PrimFunc, dims: Iterable[Dim], sizes: Mapping[Member, int], loops: Mapping[str, int], *, guarded: bool
) -> PrimFunc:
    padded = set(dims)

    def buffer(b: Buffer) -> Buffer:
        if not any((b.name, d) in padded for d in range(len(b.shape))):
            return b
        new = (const(sizes[b.name, d], e.dtype) if (b.name, d) in padded else e for d, e in enumerate(b.shape))
        return replace(b, shape=tuple(new))

    def stmt(s: Stmt) -> Stmt:
        if not isinstance(s, For) or s.var.name not in loops:
            return s
        body = _guarded(Binary("lt", s.var, s.extent), s.body) if guarded else s.body
        return replace(s, extent=const(loops[s.var.name], s.extent.dtype), body=body)

    return with_buffers(func, buffer, stmt=stmt)


def _guarded(cond: Expr, body: Stmt) -> Stmt:
    """A body under a condition on a loop variable: a guard for each statement, since some may go where others stay."""
    return seq(*(If(cond, s, SKIP) for s in (body.stmts if isinstance(body, Seq) else (body,))))


def _straying(func: PrimFunc, rounded: Mapping[Member, int]) -> set[str]:
    """Loops that cannot be extended: with them unguarded, some access may leave its buffer."""
    over = {m: n for m, n in rounded.items() if isinstance(m, str)}
    bare = _resized(func, (m for m in rounded if isinstance(m, tuple)), rounded, over, guarded=False)
    found: set[str] = set()

    def visit(path: tuple[Stmt, ...], around: frozenset[str], bound: frozenset[str]) -> None:
        stmt = path[-1]
        if around:
            for buffer, indices in _accesses(stmt):
                for index, extent in zip(indices, buffer.shape, strict=True):
                    names = {v.name for v in free_vars(index)}
                    if not names.isdisjoint(around | bound) and not proven(
                        _within(index, extent), facts_at(bare, path)
                    ):
                        found.update(names & around or around)
        if isinstance(stmt, For) and stmt.var.name in over:
            around |= {stmt.var.name}
        elif isinstance(stmt, Let):
            bound |= {stmt.var.name}
        for child in stmt_children(stmt):
            visit((*path, child), around, bound)

    visit((bare.body,), frozenset(), frozenset())
    return found


def _within(index: Expr, extent: Expr) -> Expr:
    below = Binary("lt", index, extent if index.dtype is extent.dtype else Cast(index.dtype, extent))
    return Binary("and", Binary("ge", index, const(0, index.dtype)), below)
