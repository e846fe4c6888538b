"""Locals that are working copies of one element: the work is done in the element itself.

`w = A[i, j]; for k: w -= A[i, k] * A[k, j]; A[i, j] = w / A[j, j]` keeps the sum out of memory, which compilers of
loops must guess from the other form. For arrays it hides that `A` is updated: each statement waits for its local, and
no order but the one that was written is found. Undoing it is called DeLICM (Kruse and Grosser, 2018).
"""

from __future__ import annotations

from ir.analysis.dependence import Statement, common_loops, may_meet
from ir.nodes import Buffer, Load, Store
from ir.traverse import all_same, has_loads
from lower.analysis.freedoms import Form, Policy
from lower.analysis.updates import as_update
from lower.nest.normalize import Program, read_by_bounds, relocated

DELICM = Form(
    "structure.scalar_promotion_undone",
    "w = A[i]; w += e; A[i] = w  =  A[i] += e   where nothing between reads or stores A[i]",
    "nothing else looks at A[i] meanwhile (DeLICM, Kruse and Grosser 2018)",
)


def work_in_place(program: Program) -> None:
    """Replace locals by the elements that their values end up in; changes the program."""
    for local in list(program.depth):
        users = [s for s in program.statements if local in s.buffers()]
        target = _target(local, users, program)
        if target is None:
            continue
        del program.depth[local]
        moved = {s.position: _moved(s, local, target, program.policy) for s in users}
        kept = [moved.get(s.position, s) for s in program.statements]
        kept = [s for s in kept if s.position not in moved or not s.store.value.same(Load(s.buffer, s.store.indices))]
        program.renumber(kept)


def _target(local: Buffer, users: list[Statement], program: Program) -> Store | None:
    """The store that a local's value ends up in, if the local may be its element; None if not."""
    if len(users) < 3 or local in read_by_bounds(users):
        return None
    first, *inner, last = users
    target, around = last.store, last.loops
    places = {i for s in users for i in s.places(local)}
    simple = len(places) == 1 and not any(has_loads(e) for e in (*next(iter(places)), *target.indices))
    if not simple or target.buffer == local or target.buffer.dtype is not local.dtype or target.buffer in program.depth:
        return None
    if first.loops != around or len(around) < program.depth[local] or len(first.guards) != len(last.guards):
        return None
    if first.buffer != local or any(load.buffer == local for load in first.reads()):
        return None
    if not any(len(s.loops) > len(around) for s in inner):
        return None
    for s in (*inner, last):
        if (s.buffer != local and s is not last) or common_loops(s, last) < len(around) or not _same(first, s):
            return None
    between = [s for s in program.statements if first.position < s.position <= last.position]
    if any(_touches(s, last) for s in between):
        return None
    return target


def _same(first: Statement, other: Statement) -> bool:
    """Whether a statement runs only where the first one does."""
    return all_same(first.guards, other.guards[: len(first.guards)])


def _touches(s: Statement, last: Statement) -> bool:
    """Whether a statement may access the element of a store, in the same iteration of the loops around that."""
    buffer = last.buffer
    if s is not last and s.buffer == buffer and may_meet(last, s, Load(buffer, s.store.indices), last.loops):
        return True
    return any(may_meet(last, s, load, last.loops) for load in s.reads() if load.buffer == buffer)


def _moved(s: Statement, local: Buffer, target: Store, policy: Policy) -> Statement:
    """A statement that works in the element of a store."""
    moved = relocated(s, local, target.buffer, lambda _: target.indices)
    return as_update(moved, policy)
