"""Scopes of local buffers in what runs from top to bottom.

Each allocation stands around all that follows it. A function with hundreds of them, as graphs of networks have, would
be nested so deeply that nothing could walk it. Of these each buffer is local to the statements that use it, those in
the middle outermost (a tree of intervals), so that the nest is about as deep as there are buffers in use at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.nodes import Alloc, Buffer, CallStmt, Load, Seq, Stmt, Store, seq
from ir.sections import passed
from ir.traverse import all_exprs, stmt_children, walk

NESTED = 100  # allocations that may stand around each other, whatever uses them
_Users = tuple[Buffer, int, int]  # with the numbers of the first statement that uses it, and of the last


def flat(stmt: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """The local buffers and the statements of what runs from top to bottom."""
    local, items, left = list[Buffer](), list[Stmt](), [stmt]
    while left:
        match left.pop():
            case Seq(stmts=stmts):
                left += reversed(stmts)
            case Alloc(buffer=buffer, body=body):
                local.append(buffer)
                left.append(body)
            case other:
                items.append(other)
    return local, items


def allocated(local: Sequence[Buffer], stmts: Sequence[Stmt]) -> Stmt:
    """Statements with local buffers: around all of them, or where these are many around those that use them."""
    if len(local) <= NESTED or len({*local}) < len(local):
        return _around(local, seq(*stmts))
    users: dict[Buffer, tuple[int, int]] = {}
    for k, stmt in enumerate(stmts):
        for buffer in used(stmt):
            users[buffer] = users.get(buffer, (k, k))[0], k
    return _split([(b, *users.get(b, (0, 0))) for b in local], stmts, 0)


def nesting(stmt: Stmt) -> int:
    """How many allocations stand around each other at most."""
    deepest, left = 0, [(stmt, 0)]
    while left:
        inner, depth = left.pop()
        depth += isinstance(inner, Alloc)
        deepest = max(deepest, depth)
        left += [(part, depth) for part in stmt_children(inner)]
    return deepest


def used(stmt: Stmt) -> set[Buffer]:
    """Buffers that a statement, or what it calls, may access."""
    found: set[Buffer] = {e.buffer for e in all_exprs(stmt) if isinstance(e, Load)}
    for inner in walk(stmt):
        if isinstance(inner, Store):
            found.add(inner.buffer)
        elif isinstance(inner, CallStmt):
            found.update(section.buffer for _, section in passed(inner))
    return found


def _split(local: Sequence[_Users], stmts: Sequence[Stmt], first: int) -> Stmt:
    """Statements, of which the first has a number, with local buffers around those that use them."""
    if len(local) < 2 or len(stmts) < 2:
        return _around([b for b, _, _ in local], seq(*stmts))
    half = len(stmts) // 2
    middle = first + half
    left = [u for u in local if u[2] < middle]
    right = [u for u in local if u[1] >= middle]
    across = [b for b, start, end in local if start < middle <= end]
    return _around(across, seq(_split(left, stmts[:half], first), _split(right, stmts[half:], middle)))


def _around(local: Sequence[Buffer], stmt: Stmt) -> Stmt:
    for buffer in reversed(local):
        stmt = Alloc(buffer, stmt, buffer.span)
    return stmt
