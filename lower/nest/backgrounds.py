"""What an array holds around the part that statements store to: a number that filled it before, and stays.

A stencil with zeros around it, or a buffer with padding, is made new in each step by one pass, a `pad`, where a store
to its inner part has to keep what lies around it (XLA:CPU does that in place, on one core). A step of a heat equation
on 512 x 512 cells took 40 us as a `pad`, 46 us by a store in place, and 69 us by a choice for each element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl
from msgspec import Struct

from ir.analysis.dependence import Loop, Statement, domain
from ir.nodes import Buffer, Const
from ir.presburger import sets as pb
from lower.nest.nodes import ArrayStatement, Node, SequentialLoop, Versions

Box = Sequence[tuple[int, int]]  # the first and one-past-last position of each dimension


class _Writer(Struct, frozen=True):
    statement: Statement
    around: tuple[Loop, ...]  # the loops that stay loops
    always: bool  # not one of several versions


class Backgrounds:
    """Answers for one plan: what fills buffers, and where else they are stored to."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        nodes = list(nodes)
        self._writers: dict[Buffer, list[_Writer]] = {}
        self._stored: dict[Buffer, isl.Set | None] = dict.fromkeys(_in_sections(nodes))
        for writer in _writers(nodes, (), always=True):
            self._writers.setdefault(writer.statement.buffer, []).append(writer)

    def around(self, statement: Statement, box: Box) -> Const | None:
        """The number that a buffer holds outside of a box that a statement is about to store; None if not known."""
        writers = self._writers.get(statement.buffer)
        if not writers:
            return None
        fill, *others = writers
        number = fill.statement.store.value
        here = next((w for w in others if w.statement.position == statement.position), None)
        plain = fill.always and not fill.statement.guards and fill.statement.update is None
        if here is None or not plain or not isinstance(number, Const):
            return None
        known = pb.within_budget(lambda: self._fills(fill, here) and self._is_all(statement.buffer, number, box), False)
        return number if known else None

    def _fills(self, fill: _Writer, later: _Writer) -> bool:
        """Whether a statement has stored to all of its buffer when a later one runs."""
        s = fill.statement
        shared = {one for one, other in zip(fill.around, later.around, strict=False) if one == other}
        place = pb.point(s.store.indices)
        if place is None:
            return False
        own = [loop for loop in s.loops if loop not in shared]
        for loop in own:
            place = place.intersect_params(pb.loop_domain(loop.var, loop.start, loop.extent).must)
        return pb.box(s.buffer.shape).is_subset(pb.forget(place, [loop.var.name for loop in own]))

    def _is_all(self, buffer: Buffer, number: Const, box: Box) -> bool:
        """Whether statements store nothing else but that number outside of a box."""
        if buffer not in self._stored:
            self._stored[buffer] = _union(buffer, number, [w.statement for w in self._writers[buffer]])
        stored = self._stored[buffer]
        return stored is not None and stored.is_subset(_of(box))


def _writers(nodes: Iterable[Node], around: tuple[Loop, ...], *, always: bool) -> Iterator[_Writer]:
    for node in nodes:
        match node:
            case ArrayStatement():
                yield _Writer(node.statement, around, always)
            case SequentialLoop(loop=loop, body=body, phases=phases):
                for part in (body, *(p.body for p in phases)):
                    yield from _writers(part, (*around, loop), always=always and not phases)
            case Versions(fast=fast, exact=exact):
                yield from _writers((*fast, *exact), around, always=False)


def _in_sections(nodes: Iterable[Node]) -> Iterator[Buffer]:
    """Buffers of which phases of loops store to sections, by other names."""
    for node in nodes:
        if isinstance(node, SequentialLoop):
            yield from (s.whole for phase in node.phases for s in phase.sections)
            yield from _in_sections(node.body)


def _union(buffer: Buffer, number: Const, writers: Iterable[Statement]) -> isl.Set | None:
    """The elements to which statements may store something else than a number; None if that is not known."""
    found = pb.nothing(len(buffer.shape))
    for s in writers:
        if s.tile is not None:
            return None
        if s.update is None and number.same(s.store.value):
            continue
        place = pb.point(s.store.indices)
        if place is None:
            return None
        names = [loop.var.name for loop in (*s.loops, *s.windows)]
        found = found.union(pb.forget(place.intersect_params(domain(s, {})), names))
    return found


def _of(box: Box) -> isl.Set:
    """The positions in a box."""
    axes = ", ".join(f"i{d}" for d in range(len(box)))
    within = " and ".join(f"{low} <= i{d} < {stop}" for d, (low, stop) in enumerate(box))
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [{axes}] : {within} }}")
