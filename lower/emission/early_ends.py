"""Loops that may end before their last step: `for k in n: if c: S` does nothing more once `c` is false.

What `c` reads only `S` changes, so that it stays false. In a plan a statement of each step works `c` out first, and all
others are guarded by what it found, but for those that only the step knows of. Over axes it ends when all are done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Statement
from ir.dtypes import DType
from ir.nodes import Buffer, Const, Expr, Load
from ir.traverse import buffers_read, free_vars, reads
from lower.nest.nodes import ArrayStatement, Node, SequentialLoop, inner_statements
from lower.nest.normalize import Program
from lower.storage.array_expansion import conditions_around


class EarlyEnd(Struct, frozen=True):
    """Where each step keeps whether it does anything; if that is one truth, the condition under which a loop goes on
    and its steps where that holds."""

    taken: Buffer
    goes_on: Expr | None
    body: tuple[Node, ...]


def early_end(
    node: SequentialLoop, own: Collection[Buffer], nodes: Iterable[Node], program: Program
) -> EarlyEnd | None:
    """When a loop, one of all `nodes`, does nothing more; None where that is not known.

    Each step has its `own` buffers.
    """
    private = _private(node, nodes, program.depth)
    first, *rest = node.body
    if not isinstance(first, ArrayStatement) or first.scan is not None or not rest:
        return None
    statement = first.statement
    buffer, value = statement.buffer, statement.store.value
    if buffer.dtype is not DType.BOOL or node.loop.var in free_vars(value) or not _anew(first, private, set()):
        return None
    taken = Load(buffer, ())
    read = _read(first)
    under: list[Statement] = []
    for part in rest:
        for inner in inner_statements([part]):
            guarded = taken in inner.statement.guards and inner.statement.buffer != buffer
            anew = inner.statement.buffer in own or (inner is part and _anew(inner, private, read))
            if not guarded and not (anew and inner.statement.buffer != buffer):
                return None
            read |= _read(inner)
            under += [inner.statement] if guarded else []
    deciding = [s for s in under if reads(s.buffer, value)]
    if not deciding:
        return None
    known = {o.var for o in statement.loops} - {node.loop.var}
    written = {n.statement.buffer for n in inner_statements(node.body)}

    def around(statements: Sequence[Statement]) -> list[Expr]:
        """Conditions that hold for all of some statements or none, throughout the loop."""
        found = conditions_around(statements, known, program.depth)
        return [g for g in found if written.isdisjoint(buffers_read(g))]

    whole = around(under)
    if any(not any(g.same(h) for h in whole) for g in around(deciding)):
        return None  # where it does not hold, nothing decides that the loop ends
    value = conjunction([value, *whole])  # where all around it fails nothing is done either
    now = value if first.axes else Const(True, DType.BOOL)
    first = replace(first, statement=replace(statement, store=replace(statement.store, value=now)))
    return EarlyEnd(buffer, None if first.axes else value, (first, *rest))


def _private(node: SequentialLoop, nodes: Iterable[Node], known: Collection[Buffer]) -> Callable[[Buffer], bool]:
    """Tells locals that nothing outside of a loop reads, of all `nodes` of a plan."""
    inside = {id(n) for n in inner_statements(node.body)}
    read = {b for n in inner_statements(nodes) if id(n) not in inside for b in _read(n)}
    return lambda buffer: buffer in known and buffer not in read


def _anew(node: ArrayStatement, private: Callable[[Buffer], bool], read: Collection[Buffer]) -> bool:
    """Whether each step stores anew what only it knows of; `read` is what it reads before."""
    statement = node.statement
    plain = statement.update is None and not statement.guards and not statement.store.indices
    known = statement.buffer in read or statement.buffer in _read(node)
    return plain and not known and private(statement.buffer)


def _read(node: ArrayStatement) -> set[Buffer]:
    return buffers_read(*node.statement.exprs())
