"""Parts of an array, at numbers in some dimensions, that loops store to again and again: an array each meanwhile.

A step that stores to `V[:, 0]` and `V[:, 1]` goes through all of V for each, with gaps; one that reads `S[0]` while it
stores to `S[1]` copies S. This is scalar replacement of aggregates for arrays: the parts of parameters are copied out
before, and in again behind all. Loops that only fill an array or copy it (`for k in range(3): s[k] = X[b, k]`) are
written out for each number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.coverage import reads_before_writing, stores_to_all
from ir.analysis.dependence import Loop, Statement, users_of
from ir.nodes import Buffer, Const, Expr, Load, Var, const
from ir.traverse import free_vars, substitute_expr
from lower.analysis.freedoms import Form
from lower.nest.normalize import Program, copying, mapped, numbers_at, read_by_bounds, with_parts

COLUMNS = Form(
    "structure.columns",
    "for r: V[n, 0] = e  =  v = V[:, 0]; for r: v[n] = e; V[:, 0] = v   where V is accessed by numbers in a dimension",
    "nobody sees where the parts are while the program runs (scalar replacement of aggregates)",
)

_MOST = 8  # parts: each is one more array that a step hands to the next
_LONGEST = 4  # statements that are written out for each number


def in_columns(program: Program) -> None:
    """Let loops work on the parts of arrays that they access by numbers in some dimensions."""
    fixed = read_by_bounds(program.statements)
    users = users_of(program.statements)
    for buffer in (*program.func.buffers, *program.depth):
        if buffer not in fixed and buffer.shape and _split(program, buffer, users.get(buffer, [])):
            users = users_of(program.statements)


def _steps(users: Sequence[Statement], buffer: Buffer, depth: int) -> set[Loop]:
    """Loops that store to the same elements in each iteration, which hold something before."""
    return {
        o
        for s in users
        if s.buffer == buffer and (s.guards or Load(buffer, s.store.indices) in s.reads())
        for o in s.loops[depth:]
        if not any(o.var in free_vars(i) for i in s.store.indices)
    }


def _split(program: Program, buffer: Buffer, users: Sequence[Statement]) -> bool:
    """Give each part of a buffer an array of its own, where that pays; returns whether it did."""
    depth = program.depth.get(buffer)
    steps = _steps(users, buffer, depth or 0)
    if not steps or any(s.tile is not None for s in users):
        return False
    at = [
        d for d in range(len(buffer.shape)) if all(_by_number(s, p[d], steps) for s in users for p in s.places(buffer))
    ]
    loops = _inner_first(users, lambda s, o: any(o.var == p[d] for p in s.places(buffer) for d in at))
    statements = _written_out(program.statements, loops)
    if not at or statements is None:
        return False
    users = [s for s in statements if buffer in s.buffers()]
    numbers = sorted({numbers_at(p, at) for s in users for p in s.places(buffer)})
    inside = all(0 <= n < _size(buffer.shape[d]) for ns in numbers for n, d in zip(ns, at, strict=True))
    if not inside or not 1 < len(numbers) <= _MOST:
        return False
    given = depth is None and reads_before_writing(statements, buffer, 0, program.unwritten)
    if depth is None and not given and not stores_to_all(statements, buffer):
        return False  # callers may leave it out
    rest = [d for d in range(len(buffer.shape)) if d not in at]
    shape = tuple(buffer.shape[d] for d in rest)
    parts = {
        ns: replace(buffer, name=program.fresh("_".join((buffer.name, *map(str, ns)))), shape=shape, scope="local")
        for ns in numbers
    }
    for b, outer in program.depth.items():
        around = next((s.loops[:outer] for s in program.statements if b in s.buffers()), ())
        program.depth[b] = outer - len(set(around).intersection(loops))
    program.depth.update(dict.fromkeys(parts.values(), program.depth.pop(buffer, 0)))
    changed = [with_parts(s, buffer, parts, at, rest) if s in users else s for s in statements]
    stored = {numbers_at(s.store.indices, at) for s in users if s.buffer == buffer}
    where = {ns: (part, dict(zip(at, ns, strict=True))) for ns, part in parts.items()}
    out = [copying(program, buffer, *where[ns]) for ns in numbers] if given else []
    back = [copying(program, buffer, *where[ns], back=True) for ns in numbers if ns in stored] if depth is None else []
    program.renumber((*out, *changed, *back))
    return True


def _size(extent: Expr) -> int:
    return int(extent.value) if isinstance(extent, Const) else 0


def _by_number(user: Statement, index: Expr, steps: set[Loop]) -> bool:
    """Whether an index is a number, or outside of the steps the variable of a loop that is soon written out."""
    if isinstance(index, Const):
        return True
    loop = next((o for o in user.loops if o.var == index), None)
    return loop is not None and 0 < _size(loop.extent) <= _MOST and steps.isdisjoint(user.loops)


def _inner_first(users: Sequence[Statement], chosen: Callable[[Statement, Loop], bool]) -> list[Loop]:
    """Loops that are chosen for a statement; those around others are written out later, as that makes these anew."""
    levels = {o: level for s in users for level, o in enumerate(s.loops) if chosen(s, o)}
    return sorted(levels, key=lambda o: levels[o], reverse=True)


def _written_out(statements: Sequence[Statement], loops: Sequence[Loop]) -> list[Statement] | None:
    """Statements with short loops written out, in the order in which they run; None if that is too much."""
    for loop in loops:
        inside = [s for s in statements if loop in s.loops]
        if not isinstance(loop.start, Const) or len(inside) > _LONGEST:
            return None
        begin, first = statements.index(inside[0]), int(loop.start.value)
        if list(statements[begin : begin + len(inside)]) != inside or any(s.tile is not None for s in inside):
            return None
        copies: list[Statement] = []
        for number in range(first, first + _size(loop.extent)):
            known: dict[Loop, Loop] = {}
            copies += [_at(s, loop, const(number, loop.var.dtype), known) for s in inside]
        statements = [*statements[:begin], *copies, *statements[begin + len(inside) :]]
    return list(statements)


def _at(statement: Statement, loop: Loop, number: Const, known: dict[Loop, Loop]) -> Statement:
    """A statement in one iteration of a loop; the loops inside of it are new, and `known` once they are."""
    value: Mapping[Var, Expr] = {loop.var: number}
    level = statement.loops.index(loop)
    for o in statement.loops[level + 1 :]:
        if o not in known:
            known[o] = replace(o, start=substitute_expr(o.start, value), extent=substitute_expr(o.extent, value))
    inner = tuple(known[o] for o in statement.loops[level + 1 :])
    changed = mapped(statement, lambda e: substitute_expr(e, value))
    return replace(changed, loops=(*statement.loops[:level], *inner))
