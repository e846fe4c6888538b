"""Statements that turn arrays for a loop: each turns them as it reads them.

XLA works out `A.T + B.T` as `A + B` lies in memory and turns the result, of which there are two then. What reads it
before a loop does so from A and B, which are kept that long. A barrier around what is transposed makes it one pass into
the array that the loop takes. Elsewhere the order in memory is better left to XLA: a sum over the result may not need
it transposed at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ir.analysis.dependence import Statement
from ir.nodes import Buffer, Expr, Load, Var
from ir.traverse import loads
from lower.nest.nodes import ArrayStatement, Node, SequentialLoop, inner_statements


def pinned(nodes: Sequence[Node]) -> frozenset[int]:
    """Positions of statements outside of loops that read all arrays transposed, for a loop to read what they store."""
    found: set[int] = set()
    for at, node in enumerate(nodes):
        if isinstance(node, ArrayStatement) and node.scan is None and node.statement.update is None:
            statement = node.statement
            if _all_transposed(statement, {a.var for a in node.axes}) and _in_loop(statement.buffer, nodes[at + 1 :]):
                found.add(statement.position)
    return frozenset(found)


def _all_transposed(statement: Statement, axes: set[Var]) -> bool:
    """Whether a statement reads arrays, all of them with axes in the reverse of the order in which it stores."""
    place = _order(statement.store.indices, axes)
    orders = [_order(load.indices, axes) for e in (statement.store.value, *statement.guards) for load in loads(e)]
    arrays = [o for o in orders if len(o) > 1]
    if isinstance(statement.store.value, Load):
        return False  # a copy, which is nothing else than transposed
    return len(place) > 1 and bool(arrays) and all(o == place[::-1] for o in arrays)


def _order(indices: Iterable[Expr], axes: set[Var]) -> list[Var]:
    return [i for i in indices if isinstance(i, Var) and i in axes]


def _in_loop(buffer: Buffer, nodes: Iterable[Node]) -> bool:
    """Whether a loop among nodes reads a buffer before another statement stores to it."""
    for node in nodes:
        if isinstance(node, SequentialLoop):
            if any(load.buffer == buffer for n in inner_statements((node,)) for load in n.statement.reads()):
                return True
        elif any(n.statement.buffer == buffer for n in inner_statements((node,))):
            return False
    return False
