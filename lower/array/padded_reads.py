"""Reads that leave their buffer: each padded by itself within the statement, or the buffer padded once before it.

A read that is padded by itself is fused into the statement, and needs no memory of its own. What it costs is a test of
whether an element is padding. The compiler of CPUs makes vector code of some such tests, of few in a statement, and
where what it reads is multiplied. Owns the prices of both ways, not how they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from math import prod

from msgspec import Struct, field

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.nodes import Binary, Buffer, Expr, Load
from ir.traverse import children, loads
from lower.analysis.deciding import cheaper
from lower.array.access import DEFAULT_SIZE, Accessor, Bounds, buffer_shape
from lower.array.job import Job, unrolled, verdict
from lower.array.views import Axis
from lower.program.nodes import JaxExpr

EVEN = 1.25  # times as dear that padding each read may be before the memory of a padded copy is worth it


class Use(Enum):
    """What is done first with what a read finds."""

    FACTOR = "multiplied"  # with something else than itself
    TERM = "added"
    OTHER = "anything else"  # compared, called with, kept


class PaddedRead(Struct, frozen=True):
    """A read that leaves its buffer.

    `inner`: along the axis that is innermost in the result; `strided`: it takes elements apart from each other there.
    `outer`: along how many other axes.
    """

    inner: bool
    use: Use
    strided: bool = False
    outer: int = 0


class Copy(Struct, frozen=True):
    """The buffer, padded once for all reads. `inside` of a loop, memory is taken only once."""

    elements: float
    bytes: float
    inside: bool


class PaddedBuffer(Struct):
    """A buffer that reads of a statement leave. `separable`: each of them may be padded by itself."""

    buffer: Buffer
    elements: float
    reads: list[PaddedRead] = field(default_factory=list[PaddedRead])
    separable: bool = True

    @property
    def bytes(self) -> float:
        return self.elements * max(self.buffer.dtype.bits, 8) / 8


def padded_reads(
    job: Job, chosen: Sequence[Axis], bounds: Bounds, accessor: Accessor, name: Callable[[Buffer], str]
) -> dict[JaxExpr, PaddedBuffer]:
    """Reads that leave their buffers, by the code of those, with all positions of the chosen axes written out."""
    found: dict[JaxExpr, PaddedBuffer] = {}
    innermost = [a for a in job.axes if a not in chosen][-1]
    for piece in unrolled(job, chosen):
        if any(verdict(g, bounds) is False for g in piece.guards):
            continue
        update = Use.TERM if job.op in ("add", "sub") else Use.OTHER
        guards = ((load, Use.OTHER) for g in piece.guards for load in loads(g))
        for load, use in dict.fromkeys((*uses(piece.value, update), *guards)):
            shape = buffer_shape(load.buffer, bounds)
            leaving = accessor.leaving(shape, load.indices)
            if leaving is None or accessor.borders(name(load.buffer), shape, load.indices) is not None:
                continue
            code, view, pads = accessor.narrowed(accessor.merged(name(load.buffer), leaving[0]), *leaving)
            elements = prod(float(g.size.about(DEFAULT_SIZE)) for g in view)
            one = found.setdefault(code, PaddedBuffer(load.buffer, elements))
            along = [(g.step, max(pad)) for g, pad in zip(view, pads, strict=True) if innermost in g.axes]
            inner, strided = any(pad > 0 for _, pad in along), any(step > 1 for step, _ in along)
            outer = sum(max(pad) > 0 for g, pad in zip(view, pads, strict=True) if innermost not in g.axes)
            one.reads.append(PaddedRead(inner, use, strided, outer))
            one.separable = one.separable and accessor.separable(view, pads)
    return found


def uses(expr: Expr, use: Use) -> Iterator[tuple[Load, Use]]:
    """The loads of a value, and what is done with each; `use` is what is done with the value itself."""
    if isinstance(expr, Load):
        yield expr, use
        return
    for e in children(expr):
        yield from uses(e, _operand(expr, e))


def _operand(expr: Expr, operand: Expr) -> Use:
    """What an expression does with one of its operands."""
    match expr:
        case Binary(op="add" | "sub"):
            return Use.TERM
        case Binary(op="mul", lhs=a, rhs=b):
            other = b if operand is a else a
            return Use.TERM if set(loads(operand)) & set(loads(other)) else Use.FACTOR
        case _:
            return Use.OTHER


def fused_price(reads: Sequence[PaddedRead], places: float, rank: int, target: Target) -> float:
    """What it costs to pad each read by itself, in a statement over `places` positions of `rank` axes."""
    many = len(reads) > target.padded_vectors
    return places * sum(target.padded_branch if many else read_price(r, rank, target) for r in reads)


def read_price(read: PaddedRead, rank: int, target: Target) -> float:
    """What it costs an element of a statement of `rank` axes to pad one of few reads by itself."""
    if read.inner and read.strided:
        return operations.padded_read_apart(target, compared=read.use is Use.OTHER)
    if (read.inner and read.use is Use.OTHER) or read.outer > 1:  # the corners of a window over blocks, say
        return target.padded_branch
    vector = rank > 1 and (not read.inner or read.use is Use.FACTOR)
    return target.padded_vector if vector else target.padded_read


def copy_price(copy: Copy, target: Target) -> float:
    """What it costs to pad a buffer once."""
    return operations.padded_copy(target, copy.elements, copy.bytes, inside=copy.inside)


def alone(reads: Sequence[PaddedRead], places: float, rank: int, copies: Sequence[Copy], target: Target) -> bool:
    """Whether reads are padded each by itself rather than their buffers once."""
    once = sum(copy_price(c, target) for c in copies)
    fused = fused_price(reads, places, rank, target)
    return not cheaper("padded copy", EVEN * once, fused)
