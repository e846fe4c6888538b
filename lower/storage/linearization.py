"""Blocks that a program reads through their positions: `A[c // 4, i, c % 4]` is `B[c, i]`, with B the blocks in a row.

Where all reads of an array that is only read take quotients and remainders of positions in two of its dimensions apart,
the program sees one dimension in their place, so that its loops go along slices. Between the program and its callers
stand a transposition and a reshape, which XLA computes as the array is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ir.dtypes import DType
from ir.fold import folded
from ir.nodes import Binary, Buffer, Const, Expr
from ir.program.calls import of_dtype
from ir.traverse import is_const, loads
from lower.analysis.freedoms import Form
from lower.nest.normalize import Program, read_by_bounds, relocate

LINEARIZATION = Form(
    "structure.linearization",
    "A[p // b, p % b]  =  A[p];  A[p // b % n, p % b]  =  A[p % (n * b)]",
    "the places are the same",
)


def blocks_in_a_row(program: Program) -> None:
    """Join dimensions of parameters that hold blocks; `program.flat` and `program.order` tell what callers give."""
    fixed = read_by_bounds(program.statements)
    stored = {s.buffer for s in program.statements}
    for given in program.func.buffers:
        if given in fixed or given in stored or given.name in program.flat:
            continue
        reads = [e.indices for s in program.statements for x in s.exprs() for e in loads(x) if e.buffer == given]
        pairs = _pairs(given, reads)
        order = _order(len(given.shape), pairs)
        if order != sorted(order):  # neighbours need no transposition: accesses merge them by themselves
            _join(program, given, order, pairs)


def _pairs(buffer: Buffer, reads: Sequence[tuple[Expr, ...]]) -> dict[int, int]:
    """For each dimension that takes quotients of positions in all reads, the one that takes their remainders."""
    common: dict[int, int] | None = None
    for indices in reads:
        found = dict(_quotients(buffer.shape, indices))
        common = found if common is None else dict(common.items() & found.items())
    return common or {}


def _quotients(shape: Sequence[Expr], indices: Sequence[Expr]) -> Iterator[tuple[int, int]]:
    """Dimensions of an access with a quotient of a position, each with the one that has its remainder."""
    for d, index in enumerate(indices):
        match _group(index, shape[d]):
            case Binary(op="floordiv" | "truncdiv" as op, lhs=position, rhs=Const(value=count) as size) if count > 0:
                rest = Binary("floormod" if op == "floordiv" else "truncmod", position, size)
                found = [k for k, i in enumerate(indices) if i.same(rest) and is_const(shape[k], int(count))]
                plain = index.same(_group(index, shape[d]))
                if len(found) == 1 and (plain or _fits(shape[d], int(count), index.dtype)):
                    yield d, found[0]
            case _:
                pass


def _group(index: Expr, extent: Expr) -> Expr:
    """The quotient in an index, also where it wraps around: `p // b % n` for n blocks of b."""
    match index:
        case Binary(op="floormod", lhs=Binary(op="floordiv") as group, rhs=n) if isinstance(n, Const) and n.same(
            extent
        ):
            return group
        case _:
            return index


def _fits(blocks: Expr, size: int, dtype: DType) -> bool:
    """Whether the number of elements in all blocks is one of a dtype."""
    return isinstance(blocks, Const) and blocks.value * size <= dtype.max


def _order(rank: int, pairs: dict[int, int]) -> list[int]:
    """Dimensions with each one of remainders after that of its quotients."""
    rests = set(pairs.values())
    return [d for first in range(rank) if first not in rests for d in (first, pairs.get(first)) if d is not None]


def _join(program: Program, old: Buffer, order: list[int], pairs: dict[int, int]) -> None:
    def extent(d: int) -> Expr:
        return folded(Binary("mul", old.shape[d], old.shape[pairs[d]])) if d in pairs else old.shape[d]

    def place(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(position(d, indices[d]) if d in pairs else indices[d] for d in kept)

    def position(d: int, index: Expr) -> Expr:
        group = _group(index, old.shape[d])
        assert isinstance(group, Binary)
        return group.lhs if group is index else Binary("floormod", group.lhs, of_dtype(extent(d), index.dtype))

    rests = set(pairs.values())
    kept = [d for d in order if d not in rests]
    new = replace(old, shape=tuple(map(extent, kept)))
    program.order[old.name] = tuple(order)
    relocate(program, old, new, place)
