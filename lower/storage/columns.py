"""Columns of a parameter that loops store to again and again: each is an array of its own meanwhile.

A step that stores to `V[:, 0]` and `V[:, 1]` goes through all of V for each, with gaps. This is scalar replacement of
aggregates for arrays: the parts at numbers are copied out before, and in again behind all.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ir.analysis.coverage import reads_before_writing
from ir.analysis.dependence import Loop, Statement, users_of
from ir.dtypes import DType
from ir.nodes import Buffer, Const, Expr, Load, Store, Var, const
from ir.traverse import free_vars
from lower.analysis.freedoms import Form
from lower.nest.normalize import Program, numbers_at, read_by_bounds, with_parts

COLUMNS = Form(
    "structure.columns",
    "for r: V[n, 0] = e  =  v = V[:, 0]; for r: v[n] = e; V[:, 0] = v   where V is accessed by columns at numbers",
    "nobody sees where the columns are while the program runs (scalar replacement of aggregates)",
)

_MOST = 8  # columns: each is one more array that a step hands to the next


def in_columns(program: Program) -> None:
    """Let loops work on the columns of parameters whose last dimension is indexed by numbers alone."""
    fixed = read_by_bounds(program.statements)
    users = users_of(program.statements)
    for buffer in program.func.buffers:
        if buffer not in fixed and len(buffer.shape) > 1 and _again_and_again(users[buffer], buffer):
            _split(program, buffer, users[buffer])
            users = users_of(program.statements)


def _again_and_again(users: Sequence[Statement], buffer: Buffer) -> bool:
    """Whether a loop stores to the same elements in each iteration, which hold something before."""
    if any(s.tile is not None for s in users):
        return False
    stores = [s for s in users if s.buffer == buffer]
    steps = [
        o
        for s in stores
        for o in s.loops
        if not any(o.var in free_vars(i) for i in s.store.indices) and Load(buffer, s.store.indices) in s.reads()
    ]
    return bool(steps)


def _split(program: Program, buffer: Buffer, users: Sequence[Statement]) -> None:
    last = len(buffer.shape) - 1
    places = [indices for s in users for indices in s.places(buffer)]
    numbers = sorted({int(i.value) for i in (p[last] for p in places) if isinstance(i, Const)})
    at, rest = [last], [*range(last)]
    if not all(isinstance(p[last], Const) for p in places) or not 1 < len(numbers) <= _MOST:
        return
    if not reads_before_writing(program.statements, buffer, 0, program.unwritten):
        return  # callers may leave it out
    parts = {
        (k,): replace(buffer, name=program.fresh(f"{buffer.name}_{k}"), shape=buffer.shape[:last], scope="local")
        for k in numbers
    }
    program.depth.update(dict.fromkeys(parts.values(), 0))
    changed = [with_parts(s, buffer, parts, at, rest) if s in users else s for s in program.statements]
    stored = {numbers_at(s.store.indices, at) for s in users if s.buffer == buffer}
    out = [_copy(program, buffer, part, k, into=True) for (k,), part in parts.items()]
    back = [_copy(program, buffer, part, k, into=False) for (k,), part in parts.items() if (k,) in stored]
    program.renumber((*out, *changed, *back))


def _copy(program: Program, buffer: Buffer, part: Buffer, number: int, into: bool) -> Statement:
    """The statement that takes a column from a buffer, or puts it back."""
    names = [Var(program.fresh(f"{part.name}_{d}"), DType.INT32) for d in range(len(part.shape))]
    loops = tuple(Loop(v, const(0, v.dtype), n) for v, n in zip(names, part.shape, strict=True))
    here: tuple[Expr, ...] = (*names,)
    there = (*here, const(number, DType.INT32))
    store = Store(part, here, Load(buffer, there)) if into else Store(buffer, there, Load(part, here))
    return Statement(0, loops, (), store)
