"""Loops that may end before their last step: `for k in n: if c: S` does nothing more once `c` is false.

What `c` reads only `S` changes, so that it stays false. In a plan a statement of each step works `c` out first, and all
others are guarded by what it found, but for those that only the step knows of. Over axes it ends when all are done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Buffer, Const, Expr, Load
from ir.traverse import free_vars, loads
from lower.nest.nodes import ArrayStatement, Node, SequentialLoop, inner_statements


class EarlyEnd(Struct, frozen=True):
    """Where each step keeps whether it does anything; if that is one truth, the condition under which a loop goes on
    and its steps where that holds."""

    taken: Buffer
    goes_on: Expr | None
    body: tuple[Node, ...]


def early_end(
    node: SequentialLoop, own: Collection[Buffer], nodes: Iterable[Node], params: Collection[Buffer]
) -> EarlyEnd | None:
    """When a loop, one of all `nodes`, does nothing more; None where that is not known.

    Each step has its `own` buffers.
    """
    private = _private(node, nodes, params)
    first, *rest = node.body
    if not isinstance(first, ArrayStatement) or first.scan is not None or not rest:
        return None
    statement = first.statement
    buffer, value = statement.buffer, statement.store.value
    if buffer.dtype is not DType.BOOL or node.loop.var in free_vars(value) or not _anew(first, private, set()):
        return None
    taken = Load(buffer, ())
    read = _read(first)
    for part in rest:
        for inner in inner_statements([part]):
            guarded = taken in inner.statement.guards and inner.statement.buffer != buffer
            anew = inner.statement.buffer in own or (inner is part and _anew(inner, private, read))
            if not guarded and not (anew and inner.statement.buffer != buffer):
                return None
            read |= _read(inner)
    if first.axes:
        return EarlyEnd(buffer, None, node.body)
    held = replace(statement, store=replace(statement.store, value=Const(True, DType.BOOL)))
    return EarlyEnd(buffer, value, (replace(first, statement=held), *rest))


def _private(node: SequentialLoop, nodes: Iterable[Node], params: Collection[Buffer]) -> Callable[[Buffer], bool]:
    """Tells locals that nothing outside of a loop reads, of all `nodes` of a plan."""
    inside = {id(n) for n in inner_statements(node.body)}
    read = {b for n in inner_statements(nodes) if id(n) not in inside for b in _read(n)}
    return lambda buffer: buffer not in params and buffer not in read


def _anew(node: ArrayStatement, private: Callable[[Buffer], bool], read: Collection[Buffer]) -> bool:
    """Whether each step stores anew what only it knows of; `read` is what it reads before."""
    statement = node.statement
    plain = statement.update is None and not statement.guards and not statement.store.indices
    known = statement.buffer in read or statement.buffer in _read(node)
    return plain and not known and private(statement.buffer)


def _read(node: ArrayStatement) -> set[Buffer]:
    return {load.buffer for e in node.statement.exprs() for load in loads(e)}
