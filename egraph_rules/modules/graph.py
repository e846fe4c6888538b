"""What calls at the top of a function pass to each other, and which buffers between them may be kept in another way.

A buffer may, if it exists only as a whole in such calls, one of which writes it and those after it read it: then all
who see how it is kept are known. A parameter of the entry function stays as callers have it, unless they free it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ir.analysis.effects import EffectAnalysis, get
from ir.errors import OptionError, suggest
from ir.nodes import Alloc, Buffer, CallStmt, Const, Let, PrimFunc, Seq, Stmt, Store
from ir.presburger import sets as pb
from ir.program.blocks import lower_blocks
from ir.program.calls import without_calls
from ir.sections import Section, passed
from ir.traverse import all_exprs, buffers_written, loads, results_of, stmt_children, stmt_exprs, walk


@dataclass(frozen=True, slots=True)
class Call:
    """One call at the top of the entry function. `buffers` has the parameters for which a chosen buffer is passed."""

    stmt: CallStmt
    callee: PrimFunc  # without calls of its own
    buffers: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The callee's name."""
        return self.stmt.callee.name


@dataclass(slots=True)
class Between:
    """A buffer whose storage is open: the call that writes it (None: callers do), those that read it, and whether it
    is a result."""

    buffer: Buffer
    writer: int | None = None
    readers: list[int] = field(default_factory=lambda: list[int]())
    is_result: bool = False
    is_free: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Calls in program order, buffers by name, and for each other buffer of the entry function why it stays."""

    entry: PrimFunc
    calls: tuple[Call, ...]
    between: dict[str, Between]
    fixed: dict[str, str]

    def callee_of(self, call: CallStmt) -> PrimFunc:
        """The callee of any call of the entry function, without calls of its own."""
        return without_calls(call.callee)


def graph_of(entry: PrimFunc, free: Iterable[str] = ()) -> Graph:
    """The calls of a function and the buffers between them.

    Raises:
        OptionError: `free` names what is no buffer parameter, is written, or is used other than as a whole in calls.
    """
    freed = _freed(entry, free)
    calls = [s for s in _top(entry.body) if isinstance(s, CallStmt)]
    roles = [_roles(without_calls(c.callee)) for c in calls]
    found: dict[str, Between] = {}
    fixed = dict(_used_otherwise(entry, calls))
    params, results = {b.name for b in entry.buffers}, results_of(entry)
    given = [[*passed(c)] for c in calls]
    for buffer in (*entry.buffers, *(s.buffer for s in walk(entry.body) if isinstance(s, Alloc))):
        name = buffer.name
        if name in fixed:
            continue
        between = Between(buffer, is_result=buffer in results, is_free=name in freed)
        why = _connected(between, name in params, calls, given, roles)
        if why:
            fixed[name] = why
        elif between.readers or between.writer is not None:
            found[name] = between
    for name in freed:
        if name not in found:
            message = f"`{name}` cannot be free: {fixed.get(name, 'no call reads it')}"
            raise OptionError("free", message, entry.span, help="free what calls at the top take as a whole and read")
    made = tuple(
        Call(c, without_calls(c.callee), tuple((p.name, s.buffer.name) for p, s in passed(c) if s.buffer.name in found))
        for c in calls
    )
    return Graph(entry, made, found, fixed)


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


def _top(stmt: Stmt) -> Iterator[Stmt]:
    """Statements that run once, in order: those of sequences, allocations and bindings."""
    if isinstance(stmt, (Seq, Alloc, Let)):
        for part in stmt_children(stmt):
            yield from _top(part)
    else:
        yield stmt


def _used_otherwise(entry: PrimFunc, calls: Sequence[CallStmt]) -> Iterator[tuple[str, str]]:
    """Buffers that are used in another way than as a whole in a call at the top."""
    for stmt in walk(entry.body):
        if isinstance(stmt, CallStmt):
            for _, section in passed(stmt):
                if not any(stmt is c for c in calls):
                    yield section.buffer.name, f"{stmt.callee.name} is called with it in a loop or branch"
                elif not section.is_whole:
                    yield section.buffer.name, f"{stmt.callee.name} takes the section {section}"
        for load in (e for expr in stmt_exprs(stmt) for e in loads(expr)):
            yield load.buffer.name, f"{entry.name} reads elements of it"
        if isinstance(stmt, Store):
            yield stmt.buffer.name, f"{entry.name} stores to elements of it"


def _connected(
    between: Between,
    is_param: bool,
    calls: Sequence[CallStmt],
    given: Sequence[Sequence[tuple[Buffer, Section]]],
    roles: Sequence[dict[str, Role]],
) -> str:
    """Find who writes and reads a buffer; why its storage is not open, if so."""
    buffer = between.buffer
    if not all(isinstance(e, Const) for e in buffer.shape):
        return "its extents are no numbers"
    if not buffer.shape:
        return "it has one element"
    for k, call in enumerate(calls):
        params = [p for p, section in given[k] if section.buffer == buffer]
        if not params:
            continue
        if len(params) > 1:
            return f"{call.callee.name} takes it twice"
        role = roles[k][params[0].name]
        if role.writes and role.reads:
            return f"{call.callee.name} updates it"
        if role.writes and (between.writer is not None or between.readers):
            return "it is written again after that"
        if role.writes and is_param and not role.covers:
            return f"{call.callee.name} leaves some of it as callers have it"
        if role.writes:
            between.writer = k
        elif between.writer is None and not is_param:
            return "it is read before it is written"
        else:
            between.readers.append(k)
    if between.is_free and between.writer is not None:
        return "it is written"
    return ""


@dataclass(frozen=True, slots=True)
class Role:
    """What a function does to a parameter: whether it reads what it finds there, writes, and writes all of it."""

    reads: bool
    writes: bool
    covers: bool


def _roles(func: PrimFunc) -> dict[str, Role]:
    effects = EffectAnalysis().of(lower_blocks(func).body)
    written = results_of(func)
    mentioned = {load.buffer for e in all_exprs(func.body) for load in loads(e)}

    def reads(buffer: Buffer) -> bool:
        return buffer in mentioned and not pb.within_budget(get(effects.reads, buffer).is_empty, False)

    def covers(buffer: Buffer) -> bool:
        return pb.within_budget(lambda: pb.box(buffer.shape).is_subset(get(effects.must, buffer)), False)

    return {b.name: Role(reads(b), b in written, b in written and covers(b)) for b in func.buffers}
