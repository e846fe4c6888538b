"""Values in place of locals that hold them for each position of a window, where all that reads them sums up windows.

`v = X[y + dy, x + dx]; g = exp(-(v - X[y, x]) ** 2); s += g * v; z += g`: with an array for v and one for g over all of
y, x, dy, dx, nothing would be a window any more. With values in place of v and g, s and z are sums over shifted slices,
of which XLA works out equal parts once.
"""

from __future__ import annotations

from math import prod

from ir.analysis.dependence import Loop, Statement, common_loops
from ir.nodes import Buffer, Const
from ir.traverse import free_vars, loads, node_count
from lower.analysis.freedoms import Form
from lower.array.job import MAX_TAPS
from lower.nest.normalize import Program, read_by_bounds
from lower.storage.forward_substitution import having, writer_of

PRODUCER_INLINING = Form(
    "structure.producer_inlining",
    "t = e; sum += f(t)  =  sum += f(e)   within a window",
    "a value may be worked out where it is used",
)

LARGEST = 160  # parts of an expression that may be written for each position of a window


def inline_windows(program: Program) -> None:
    """Put values in place of locals that windows are summed up from."""
    if all(s.update is None for s in program.statements):
        return
    while (found := next((b for b in program.depth if _within_window(b, program)), None)) is not None:
        writer = writer_of(found, program.statements)
        assert writer is not None
        rest = [having(found, writer.store.value, s, program.policy) for s in program.statements if s is not writer]
        program.renumber(rest)
        del program.depth[found]


def _within_window(local: Buffer, program: Program) -> bool:
    """Whether a local holds a value for one position of a window, which sums over windows alone read."""
    writer = None if local.shape else writer_of(local, program.statements)
    if writer is None or program.depth[local] != len(writer.loops):
        return False
    readers = [s for s in program.statements if s is not writer and local in s.buffers()]
    depth = len(writer.loops)
    if not readers or any(common_loops(writer, r) < depth or r.position < writer.position for r in readers):
        return False
    inside = [s for s in program.statements if common_loops(writer, s) == depth and s.position > writer.position]
    read = {load.buffer for load in writer.reads()}
    if any(s.buffer in read for s in inside) or local in read_by_bounds(program.statements):
        return False
    if any(_size(having(local, writer.store.value, r, program.policy)) > LARGEST for r in readers):
        return False
    sums = _final(local, program, writer.position)
    return bool(sums) and all(_sums_windows(s, depth, writer, program) for s in sums)


def _final(local: Buffer, program: Program, seen: int) -> list[Statement]:
    """The updates that read a local, or what is made of it by other locals after a position; none if anything else
    does."""
    found: list[Statement] = []
    for s in program.statements:
        if any(load.buffer == local for load in s.reads()):
            if s.update is not None:
                found.append(s)
                continue
            variable = s.buffer in program.depth and not s.buffer.shape and s.position > seen
            if not variable or writer_of(s.buffer, program.statements) is not s:
                return []
            later = _final(s.buffer, program, s.position)
            if not later:
                return []
            found += later
    return found


def _sums_windows(update: Statement, depth: int, writer: Statement, program: Program) -> bool:
    """Whether an update sums over few positions, along which what the local is made of moves as along other loops."""
    kept = free_vars(*update.store.indices)
    if len(update.loops) != depth:
        return False
    held = program.depth.get(update.buffer)
    around = set(update.loops[:held]) if held is not None else {o for o in update.loops if o.var in kept}
    summed = [o for o in update.loops if o not in around]
    if not summed or not all(map(_few, summed)) or prod(_times(o) for o in summed) > MAX_TAPS:
        return False
    short, rest = {o.var for o in summed}, {o.var for o in around}
    made = _made_of(writer, program)
    return any(free_vars(i) & short and free_vars(i) & rest for s in made for e in s.reads() for i in e.indices)


def _made_of(writer: Statement, program: Program) -> list[Statement]:
    """A statement that stores to a local, and those that store to locals which it reads."""
    found = [writer]
    for load in loads(writer.store.value):
        inner = writer_of(load.buffer, program.statements) if load.buffer in program.depth else None
        if inner is not None and inner.position < writer.position:
            found += _made_of(inner, program)
    return found


def _few(loop: Loop) -> bool:
    return isinstance(loop.extent, Const) and isinstance(loop.start, Const)


def _times(loop: Loop) -> int:
    assert isinstance(loop.extent, Const)
    return max(int(loop.extent.value), 0)


def _size(statement: Statement) -> int:
    return node_count(statement.store.value)
