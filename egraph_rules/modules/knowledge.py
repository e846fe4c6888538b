"""What calls of one function tell each other of buffers: what these hold, and what nobody reads afterwards.

As where a function is split in two (`ir.transform.calls.outline`): what is known of a buffer is assumed by callees that
read it: numbers, and where their elements decide something also functions of the place and bounds, as far as a callee
has names for what they read. Where nobody reads what a callee leaves, it may leave anything, which those after it take
for undef. What any of them is told nobody may change, whether it reads that or not. In loops and branches the same goes
for the statements inside, of one iteration: what holds before a loop holds there of buffers that nothing in it writes,
and what the iteration leaves is read by nobody where neither others nor what comes after reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.modules.flow import Flow, Names, Use, is_guarded, is_nothing
from ir.analysis import contents as held
from ir.analysis.contents import Contents, Regions, Value
from ir.analysis.effects import unite
from ir.dtypes import DType
from ir.floats import DEFAULT_FLOATS, Floats
from ir.instructions import is_instruction
from ir.nodes import SKIP, Alloc, Buffer, CallStmt, Const, Expr, For, Let, PrimFunc, Seq, Stmt, Undef, Var, seq
from ir.presburger import sets as pb
from ir.presburger.facts import promised
from ir.program.calls import calls_in, size_arguments
from ir.program.edit import names_in, with_children
from ir.program.forms import with_buffers_in
from ir.sections import passed
from ir.transform.storage.parts import Part
from ir.traverse import (
    free_vars,
    shape_vars,
    stmt_children,
    substitute_expr,
    walk,
)

_MOST = 4  # pieces of a region that is told


def told(entry: PrimFunc, floats: Floats = DEFAULT_FLOATS) -> PrimFunc:
    """A function whose callees know what they find in the buffers that they take whole, and what is read of these
    after them."""
    if sum(1 for _ in calls_in(entry.body)) < 2:
        return entry
    told = _Telling(Flow.of_function(entry, floats), lambda b: pb.nothing(len(b.shape)))
    return replace(entry, body=told.changed())


class _Telling(Struct):
    """What each call is told. `said` are what calls that are statements here are told of buffers, `relied` the elements
    that this is about, also those that values read; `inner` is the same of what stands in loops and branches. `end`
    says where nobody reads what these statements leave in a buffer that others have too."""

    flow: Flow
    end: Callable[[Buffer], isl.Set]
    within: bool = False
    said: list[Contents] = field(default_factory=lambda: list[Contents]())
    relied: list[Regions] = field(default_factory=lambda: list[Regions]())
    inner: list[list[_Telling]] = field(default_factory=lambda: list[list[_Telling]]())
    own: set[Buffer] = field(default_factory=lambda: set[Buffer]())
    dead: dict[Buffer, list[isl.Set]] = field(default_factory=lambda: dict[Buffer, list[isl.Set]]())
    arbitrary: dict[Buffer, list[isl.Set]] = field(default_factory=lambda: dict[Buffer, list[isl.Set]]())

    def __post_init__(self) -> None:
        self.own = {s.buffer for s in walk(self.flow.body) if isinstance(s, Alloc)}
        for at, item in enumerate(self.flow.items):
            told = self._said(at, item) if isinstance(item, CallStmt) else {}
            parts = [] if isinstance(item, CallStmt) or next(calls_in(item), None) is None else stmt_children(item)
            inner = [_Telling(self.flow.inside(at, part), partial(self._left, at), within=True) for part in parts]
            self.said.append(told)
            self.inner.append(inner)
            self.relied.append(unite(_relied(told), *(self._anywhere(r) for t in inner for r in t.relied)))

    def changed(self) -> Stmt:
        """The statements, with callees that are told what holds before them and what is read after them."""
        numbers = count()

        def rebuilt(stmt: Stmt) -> Stmt:
            match stmt:
                case Seq(stmts=stmts):
                    return seq(*map(rebuilt, stmts), span=stmt.span)
                case Let():
                    next(numbers)  # what it evaluates
                    return replace(stmt, body=rebuilt(stmt.body))
                case Alloc(body=body):
                    return replace(stmt, body=rebuilt(body))
                case _:
                    return self._changed(next(numbers))

        return rebuilt(self.flow.body)

    def _changed(self, at: int) -> Stmt:
        """One of the statements."""
        stmt = self.flow.items[at]
        if not isinstance(stmt, CallStmt):
            return with_children(stmt, [t.changed() for t in self.inner[at]]) if self.inner[at] else stmt
        dead = {b: self._dead(at, b) for b in self._writing(stmt)}
        may_read = {} if self.within else {b: self._arbitrary(at, b) for b in self._asking(stmt)}
        return self._call(stmt, self.said[at], may_read, dead)

    def _call(self, call: CallStmt, known: Contents, may_read: Regions, dead: Regions) -> Stmt:
        """A call, of a callee that is told what buffers hold, which of them it may read, and where it may leave
        anything."""
        params, names = _params(call), self.flow.names(call)
        taken = names_in(call.callee)
        first, last = list[Stmt](), list[Stmt]()
        undefined: Contents = {(b, Undef(b.dtype)): region for b, region in may_read.items()}
        for (buffer, value), region in (*known.items(), *undefined.items()):
            part = self._part(call.callee, params[buffer], region, names, taken)
            first += [] if part is None else [part.read_as(_in_terms(call, value))]
        for buffer, region in dead.items():
            part = self._part(call.callee, params[buffer], region, names, taken)
            last += [] if part is None else [part.written_as(Undef(buffer.dtype))]
        if all(s == SKIP for s in (*first, *last)):
            return call

        def change(func: PrimFunc) -> PrimFunc:
            return replace(func, body=seq(*first, func.body, *last)).vouched()

        return replace(call, callee=call.callee.with_origin(change))

    def _part(self, callee: PrimFunc, param: Buffer, region: isl.Set, names: Names, taken: set[str]) -> Part | None:
        """A region of a parameter, unless it is nothing, or too much to say."""

        def found() -> Part | None:
            known = promised(callee)
            here = names.inward(region).intersect(pb.box(param.shape)).intersect_params(known).coalesce()
            if here.is_empty() or here.n_basic_set() > _MOST:
                return None
            return Part.of(param, here, known, (*callee.scalars, *shape_vars(callee)), taken)

        part = pb.within_budget(found, None)
        taken |= set() if part is None else {v.name for v in part.indices}
        return part

    # What there is to tell -------------------------------------------------------------------------------------------

    def _said(self, at: int, call: CallStmt) -> Contents:
        """What a call is told."""
        asking = {*self._asking(call)}
        if not asking:
            return {}
        decided = {section.buffer for param, section in passed(call) if param in self.flow.deciding(call.callee)}
        found: Contents = {}
        for (buffer, value), region in self.flow.before[at].items():
            if buffer not in asking:
                continue
            plain = isinstance(value, Const) and not held.is_condition(buffer, value)
            if (plain or buffer in decided) and _can_be_said(call, value) and not is_nothing(region):
                found[buffer, value] = region.intersect(pb.box(buffer.shape))
        return found

    def _taken(self, call: CallStmt) -> Iterator[Buffer]:
        """Buffers of numbers that a call takes whole, unless it is one of an instruction."""
        for _, section in () if is_instruction(call.callee) else passed(call):
            sizes = section.buffer.shape
            known = sizes and all(free_vars(e) <= self.flow.steady for e in sizes)
            if section.is_whole and known and section.buffer.dtype is not DType.BOOL:
                yield section.buffer

    def _asking(self, call: CallStmt) -> Iterator[Buffer]:
        """Buffers that a call reads, where there is a guard that knowledge might save."""
        decided = self.flow.deciding(call.callee)
        guarded = is_guarded(call.callee)
        if guarded or decided:
            uses, params = self._uses(call), _params(call)
            for buffer in self._taken(call):
                asks = guarded or params[buffer] in decided
                if asks and buffer in uses and not is_nothing(uses[buffer].reads):
                    yield buffer

    def _writing(self, call: CallStmt) -> Iterator[Buffer]:
        uses = self._uses(call)
        return (b for b in self._taken(call) if b in uses and not is_nothing(uses[b].may))

    def _uses(self, call: CallStmt) -> Mapping[Buffer, Use]:
        return self.flow.of(call).uses

    def _arbitrary(self, at: int, buffer: Buffer) -> isl.Set:
        """Where a buffer holds anything before a statement: what was there may be left out, or nobody has written."""
        if buffer not in self.arbitrary:
            self.arbitrary[buffer] = [*self._going_on(buffer)]
        return self.arbitrary[buffer][at]

    def _going_on(self, buffer: Buffer) -> Iterator[isl.Set]:
        """Where a buffer holds anything before each of the statements."""
        unwritten = pb.box(buffer.shape)
        found = pb.nothing(len(buffer.shape))
        for at, item in enumerate(self.flow.items):
            yield found if buffer in self.flow.entry.buffers else found.union(unwritten)
            use = self.flow.done[at].uses.get(buffer)
            if use is not None:
                unwritten, found = unwritten.subtract(use.may).coalesce(), found.subtract(use.must).coalesce()
                if isinstance(item, CallStmt) and buffer in self._writing(item):
                    found = found.union(self._dead(at, buffer)).coalesce()

    def _dead(self, at: int, buffer: Buffer) -> isl.Set:
        """Where nobody reads, or is told, what a statement leaves in a buffer."""
        if buffer not in self.dead:
            self.dead[buffer] = [*self._going_back(buffer)][::-1]
        return self.dead[buffer][at]

    def _going_back(self, buffer: Buffer) -> Iterator[isl.Set]:
        """Where nobody reads, or is told, what each of the statements leaves in a buffer, the last one first."""
        whole = pb.box(buffer.shape)
        dead = whole if buffer in self.own else whole.intersect(self.end(buffer))
        for at in range(len(self.flow.items) - 1, -1, -1):
            yield dead
            use = self.flow.done[at].uses.get(buffer)
            if use is not None:
                dead = dead.union(whole.intersect(use.must)).subtract(use.reads)
            if buffer in self.relied[at]:
                dead = dead.subtract(self.relied[at][buffer])
            dead = dead if use is None else dead.coalesce()

    def _left(self, at: int, buffer: Buffer) -> isl.Set:
        """Where nobody reads what lies in a buffer where the inside of a statement ends: after it, and if it is a loop
        anywhere in it."""
        item, dead = self.flow.items[at], self._dead(at, buffer)
        return dead.subtract(self.flow.within(item, buffer).reads) if isinstance(item, For) else dead

    def _anywhere(self, regions: Regions) -> Regions:
        """Regions of what stands inside, whatever the names there are."""
        return {b: pb.forget(r, self.flow.strange(r)) for b, r in regions.items()}


def _params(call: CallStmt) -> dict[Buffer, Buffer]:
    """The parameters of a callee by the buffers that are passed whole for them."""
    return {section.buffer: param for param, section in passed(call) if section.is_whole}


def _can_be_said(call: CallStmt, value: Value) -> bool:
    """Whether a callee has names for all that a value reads."""
    scalars = {arg for arg in size_arguments(call).values() if isinstance(arg, Var)}
    known = all(v in scalars or v.name.startswith("$") for v in free_vars(value))
    return known and held.reads(value) <= _params(call).keys()


def _in_terms(call: CallStmt, value: Value) -> Value:
    """A value by the names that a callee has for what it reads."""
    scalars: dict[Var, Expr] = {arg: param for param, arg in size_arguments(call).items() if isinstance(arg, Var)}
    return substitute_expr(with_buffers_in(value, _params(call)), scalars)


def _relied(told: Contents) -> Regions:
    """The elements that what is told is about, and those that it reads."""
    about = ({buffer: region} for (buffer, _), region in told.items())
    read = ({b: r} for (_, value), region in told.items() for b, r in held.read_by(value, region))
    return unite(*about, *read)
