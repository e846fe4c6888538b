"""Terms that are one and the same array, up to the names of their axes: worked out once, and transposed where needed.

The products of `A[i, k] * B[j, k]` and of `B[i, k] * A[j, k]`, summed over k, are each other's transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lower.program.nodes import JaxExpr
from lower.tensor.terms import Term

Layout = Callable[[int], tuple[JaxExpr, Sequence[int]]]  # of a leaf: what array it is, and the axis of each dimension
Renaming = Mapping[int, int]

_COMMUTATIVE = frozenset(("Add", "Mul", "Contract"))


def renamings(a: Term, b: Term, layout: Layout, known: Renaming | None = None) -> Iterator[Renaming]:
    """All ways in which the axes of `a` can be renamed, each to one of its own, such that it becomes `b`."""
    known = {} if known is None else known
    if a.op != b.op:
        return
    if a.op == "Leaf":
        (array, axes), (other, others) = layout(a.number), layout(b.number)
        if array == other:
            yield from _extended(known, axes, others)
        return
    for args in (b.args, b.args[::-1]) if a.op in _COMMUTATIVE else (b.args,):
        for found in _each(a.args, args, layout, known):
            if a.op == "Ones" or a.op == "Times":
                if a.number == b.number:
                    yield from _extended(found, _places(a.number), _places(b.number))
            elif sorted(found.get(k, -1) for k in _places(a.number)) == _places(b.number):
                yield found


def _each(some: Sequence[Term], others: Sequence[Term], layout: Layout, known: Renaming) -> Iterator[Renaming]:
    """Renamings that make all terms of one sequence those of another."""
    if not some:
        yield known
        return
    for found in renamings(some[0], others[0], layout, known):
        yield from _each(some[1:], others[1:], layout, found)


def _extended(known: Renaming, axes: Sequence[int], others: Sequence[int]) -> Iterator[Renaming]:
    """The renaming that also takes some axes to others, unless two would share a name."""
    result = dict(known)
    for a, b in zip(axes, others, strict=True):
        if result.setdefault(a, b) != b:
            return
    if len(set(result.values())) == len(result):
        yield result


def _places(bits: int) -> list[int]:
    return [k for k in range(bits.bit_length()) if bits >> k & 1]
