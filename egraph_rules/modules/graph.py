"""What the calls of a function pass to each other, and which buffers between them may be kept in another way.

A buffer may, if it exists only as a whole in calls: then all who see how it is kept are known. Where one call writes it
and those after it read it, each may have it in its own way, with conversions between. One that is written in a loop or
branch, or by several calls, is kept in one way as long as it lives. A parameter of the entry function stays as callers
have it, unless they free it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from egraph_rules.contexts.facts import Trip
from ir.analysis.effects import EffectAnalysis, get
from ir.errors import OptionError, suggest
from ir.nodes import Alloc, Block, Buffer, CallStmt, For, If, PrimFunc, Stmt, Store
from ir.presburger import sets as pb
from ir.program.blocks import lower_blocks
from ir.program.calls import without_calls
from ir.sections import passed
from ir.traverse import (
    all_exprs,
    buffers_read,
    buffers_written,
    free_vars,
    loads,
    results_of,
    shape_vars,
    stmt_children,
    stmt_exprs,
    walk,
)

Around = tuple[For | If | Block, ...]  # the loops and branches that a statement stands in, outermost first


class Call(Struct, frozen=True):
    """One call of the entry function. `buffers` has the parameters for which a chosen buffer is passed, `trips` are of
    the loops around it."""

    stmt: CallStmt
    callee: PrimFunc  # without calls of its own
    buffers: tuple[tuple[str, str], ...]
    trips: tuple[Trip, ...] = ()

    @property
    def name(self) -> str:
        """The callee's name."""
        return self.stmt.callee.name


class Between(Struct):
    """A buffer whose storage is open: the calls that write it (none: callers do), those that read it, and whether it
    is a result. Where it is kept `one_way`, all of them have it in the same; else at most one writes it. `trips` are of
    the loops around the place where it is made.
    """

    buffer: Buffer
    writers: list[int] = field(default_factory=lambda: list[int]())
    readers: list[int] = field(default_factory=lambda: list[int]())
    is_param: bool = False
    is_result: bool = False
    is_free: bool = False
    one_way: bool = False
    trips: tuple[Trip, ...] = ()


class Graph(Struct, frozen=True):
    """Calls in program order, buffers by name, and for each other buffer of the entry function why it stays."""

    entry: PrimFunc
    calls: tuple[Call, ...]
    between: dict[str, Between]
    fixed: dict[str, str]


def graph_of(entry: PrimFunc, free: Iterable[str] = ()) -> Graph:
    """The calls of a function and the buffers between them.

    Raises:
        OptionError: `free` names what is no buffer parameter, is written, or is used other than as a whole in calls.
    """
    freed = _freed(entry, free)
    placed = list(_placed(entry.body, ()))
    calls = [(s, around) for s, around in placed if isinstance(s, CallStmt)]
    called = {id(c.callee): c.callee for c, _ in calls}  # several may have one name
    roles = {key: _roles(without_calls(callee)) for key, callee in called.items()}
    found: dict[str, Between] = {}
    fixed = dict(_used_otherwise(entry))
    results = results_of(entry)
    sizes = {v.name for v in (*entry.scalars, *shape_vars(entry))}
    made: list[tuple[Buffer, Around]] = [(b, ()) for b in entry.buffers]
    made += [(s.buffer, around) for s, around in placed if isinstance(s, Alloc)]
    for buffer, home in made:
        name = buffer.name
        if name in fixed:
            continue
        between = Between(
            buffer, [], [], buffer in entry.buffers, buffer in results, name in freed, trips=tuple(_trips(home))
        )
        why = _connected(between, home, calls, roles, sizes)
        if why:
            fixed[name] = why
        elif between.readers or between.writers:
            found[name] = between
    for name in freed:
        if name not in found:
            message = f"`{name}` cannot be free: {fixed.get(name, 'no call reads it')}"
            raise OptionError("free", message, entry.span, help="free what calls take as a whole and read")
    linked = tuple(
        Call(
            c,
            without_calls(c.callee),
            tuple((p.name, s.buffer.name) for p, s in passed(c) if s.buffer.name in found),
            tuple(_trips(around)),
        )
        for c, around in calls
    )
    return Graph(entry, linked, found, fixed)


def _freed(entry: PrimFunc, free: Iterable[str]) -> tuple[str, ...]:
    names = (free,) if isinstance(free, str) else tuple(free)
    known = [b.name for b in entry.buffers]
    for name in names:
        if name not in known:
            help = suggest(name, known) or f"its buffers are {', '.join(known)}"
            raise OptionError("free", f"{entry.name} has no buffer parameter `{name}`", entry.span, help=help)
        if name in {b.name for b in buffers_written(entry.body)}:
            message = f"`{name}` cannot be free: {entry.name} writes it, and callers see what it wrote"
            raise OptionError("free", message, entry.span, help="free parameters that are only read, such as weights")
    return names


def _placed(stmt: Stmt, around: Around) -> Iterator[tuple[Stmt, Around]]:
    """Statements in program order, each with the loops and branches that it stands in."""
    yield stmt, around
    inside = (*around, stmt) if isinstance(stmt, (For, If, Block)) else around
    for part in stmt_children(stmt):
        yield from _placed(part, inside)


def _trips(around: Around) -> Iterator[Trip]:
    return (Trip.of(s) for s in around if isinstance(s, For))


def _used_otherwise(entry: PrimFunc) -> Iterator[tuple[str, str]]:
    """Buffers that are used in another way than as a whole in a call."""
    for stmt in walk(entry.body):
        if isinstance(stmt, CallStmt):
            for _, section in passed(stmt):
                if not section.is_whole:
                    yield section.buffer.name, f"{stmt.callee.name} takes the section {section}"
        for load in (e for expr in stmt_exprs(stmt) for e in loads(expr)):
            yield load.buffer.name, f"{entry.name} reads elements of it"
        if isinstance(stmt, Store):
            yield stmt.buffer.name, f"{entry.name} stores to elements of it"


def _connected(
    between: Between,
    home: Around,
    calls: Sequence[tuple[CallStmt, Around]],
    roles: Mapping[int, dict[str, Role]],
    sizes: set[str],
) -> str:
    """Find who writes and reads a buffer; why its storage is not open, if so."""
    buffer = between.buffer
    if not {v.name for e in buffer.shape for v in free_vars(e)} <= sizes:
        return "its extents are known only where it is made"
    if not buffer.shape:
        return "it has one element"
    for k, (call, around) in enumerate(calls):
        params = [p for p, section in passed(call) if section.buffer == buffer]
        if not params:
            continue
        if len(params) > 1:
            return f"{call.callee.name} takes it twice"
        role = roles[id(call.callee)][params[0].name]
        if role.writes:
            again = role.reads or bool(between.writers or between.readers) or around != home
            between.one_way |= again or (between.is_param and not role.covers)
            between.writers.append(k)
        else:
            between.one_way |= not (between.writers or between.is_param)  # it is read before it is written
        if role.reads or not role.writes:
            between.readers.append(k)
    if between.is_free and between.writers:
        return "it is written"
    return ""


class Role(Struct, frozen=True):
    """What a function does to a parameter: whether it reads what it finds there, writes, and writes all of it."""

    reads: bool
    writes: bool
    covers: bool


def _roles(func: PrimFunc) -> dict[str, Role]:
    effects = EffectAnalysis().of(lower_blocks(func).body)
    written = results_of(func)
    mentioned = buffers_read(*all_exprs(func.body))

    def reads(buffer: Buffer) -> bool:
        return buffer in mentioned and not pb.within_budget(get(effects.reads, buffer).is_empty, False)

    def covers(buffer: Buffer) -> bool:
        return pb.within_budget(lambda: pb.box(buffer.shape).is_subset(get(effects.must, buffer)), False)

    return {b.name: Role(reads(b), b in written, b in written and covers(b)) for b in func.buffers}
