"""What calls of one function tell each other of buffers: what these hold, and what nobody reads afterwards.

As where a function is split in two (`ir.transform.calls.outline`): numbers that are known in a buffer are assumed by
callees that read it; where nobody reads what a callee leaves, it may leave anything, which those after it take for
undef. What any of them is told nobody may change, whether it reads that or not. Calls in loops and branches are told
what holds before these of buffers that nothing in them writes, and where nobody reads what they leave, neither in them
nor after.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.modules.stages import used
from ir.analysis.effects import EffectAnalysis, Effects, get
from ir.dtypes import DType
from ir.instructions import is_instruction
from ir.nodes import (
    Alloc,
    Buffer,
    CallStmt,
    Const,
    Evaluate,
    If,
    Let,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Undef,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.facts import promised
from ir.program.blocks import lower_blocks, lower_statement
from ir.program.calls import calls_in
from ir.program.edit import names_in
from ir.sections import passed
from ir.transform.storage.parts import Part
from ir.traverse import all_exprs, buffers_written, has_loads, loads, map_stmt, shape_vars, stmt_exprs, walk, walk_expr

Told = tuple[Const | Undef, isl.Set]  # what a buffer holds, and where
_MOST = 4  # pieces of a region that is told


def told(entry: PrimFunc) -> PrimFunc:
    """A function whose callees know what they find in the buffers that they take whole, and what is read of these
    after them."""
    items = list(_items(entry.body))
    if sum(1 for _ in calls_in(entry.body)) < 2:
        return entry
    flow = _Flow(entry, items)
    changed = {id(s): flow.changed(k) for k, s in enumerate(items)}

    def rebuilt(stmt: Stmt) -> Stmt:
        match stmt:
            case Seq(stmts=stmts):
                return seq(*map(rebuilt, stmts), span=stmt.span)
            case Alloc(body=body) | Let(body=body):
                return replace(stmt, body=rebuilt(body))
            case _:
                return changed.get(id(stmt), stmt)

    return replace(entry, body=rebuilt(entry.body))


def _items(stmt: Stmt) -> Iterator[Stmt]:
    """The statements of a function in order, without the names and allocations around them."""
    match stmt:
        case Seq(stmts=stmts):
            for inner in stmts:
                yield from _items(inner)
        case Alloc(body=body):
            yield from _items(body)
        case Let(value=value, body=body):
            yield Evaluate(value)
            yield from _items(body)
        case _:
            yield stmt


class _Use(Struct, frozen=True):
    """What one statement does to one buffer: regions read, written possibly and certainly, and numbers left there."""

    reads: isl.Set
    may: isl.Set
    must: isl.Set
    numbers: tuple[tuple[Const, isl.Set], ...] = ()


class _Flow(Struct):
    """The statements of a function in order, and what each does to each buffer. `said` are numbers that each call is
    told of a buffer, and where."""

    entry: PrimFunc
    items: Sequence[Stmt]
    effects: dict[int, Effects] = field(default_factory=lambda: dict[int, Effects]())
    uses: list[dict[Buffer, _Use]] = field(default_factory=lambda: list[dict[Buffer, _Use]]())
    said: list[dict[Buffer, list[Told]]] = field(default_factory=lambda: list[dict[Buffer, list[Told]]]())
    undefined: list[dict[Buffer, isl.Set]] = field(default_factory=lambda: list[dict[Buffer, isl.Set]]())

    def __post_init__(self) -> None:
        self.uses = [self._used(s) for s in self.items]
        asking = [self._asking(s, uses) for s, uses in zip(self.items, self.uses, strict=True)]
        self.said = [{b: self._numbers(k, b) for b in buffers} for k, buffers in enumerate(asking)]
        self.undefined = [{b: self._arbitrary(k, b) for b in buffers} for k, buffers in enumerate(asking)]

    def changed(self, at: int) -> Stmt:
        """A statement whose callees are told what holds before it and what is read after it."""
        stmt = self.items[at]
        if isinstance(stmt, CallStmt):
            known = {b: [*self.said[at][b], (Undef(b.dtype), self.undefined[at][b])] for b in self.said[at]}
            return self._call(stmt, known, {b: self._dead(at, b) for b in self._writing(at)})
        steady = self.uses[at].keys() - buffers_written(stmt)

        def on_stmt(inner: Stmt) -> Stmt:
            if not isinstance(inner, CallStmt):
                return inner
            uses = self._used(inner)
            asking = [b for b in self._asking(inner, uses) if b in steady]
            writing = [b for b in self._taken(inner) if b in uses and not _is_nothing(uses[b].may)]
            dead = {b: self._dead_inside(at, b) for b in writing}
            return self._call(inner, {b: [*self._numbers(at, b)] for b in asking}, dead)

        return map_stmt(stmt, on_stmt=on_stmt) if next(calls_in(stmt), None) is not None else stmt

    def _call(self, call: CallStmt, known: Mapping[Buffer, Sequence[Told]], dead: Mapping[Buffer, isl.Set]) -> Stmt:
        """A call, of a callee that is told what buffers hold, and where it may leave anything."""
        params = {section.buffer: param for param, section in passed(call) if section.is_whole}
        taken = names_in(call.callee)
        first, last = list[Stmt](), list[Stmt]()
        for buffer, values in known.items():
            for value, region in values:
                part = self._part(call.callee, params[buffer], region, taken)
                first += [] if part is None else [part.read_as(value)]
        for buffer, region in dead.items():
            part = self._part(call.callee, params[buffer], region, taken)
            last += [] if part is None else [part.written_as(Undef(buffer.dtype))]
        if not first and not last:
            return call

        def change(func: PrimFunc) -> PrimFunc:
            return replace(func, body=seq(*first, func.body, *last)).vouched()

        return replace(call, callee=call.callee.with_origin(change))

    def _part(self, callee: PrimFunc, param: Buffer, region: isl.Set, taken: set[str]) -> Part | None:
        """A region of a parameter, unless it is nothing, or too much to say."""

        def found() -> Part | None:
            here = region.intersect(pb.box(param.shape)).coalesce()
            if here.is_empty() or here.n_basic_set() > _MOST:
                return None
            return Part.of(param, here, promised(callee), (*callee.scalars, *shape_vars(callee)), taken)

        part = pb.within_budget(found, None)
        taken |= set() if part is None else {v.name for v in part.indices}
        return part

    # What there is to tell -------------------------------------------------------------------------------------------

    def _taken(self, stmt: Stmt) -> Iterator[Buffer]:
        """Buffers of numbers that a call takes whole, unless it is one of an instruction."""
        if isinstance(stmt, CallStmt) and not is_instruction(stmt.callee):
            for _, section in passed(stmt):
                sizes = section.buffer.shape
                known = sizes and all(isinstance(e, Const) for e in sizes)
                if section.is_whole and known and section.buffer.dtype is not DType.BOOL:
                    yield section.buffer

    def _asking(self, stmt: Stmt, uses: Mapping[Buffer, _Use]) -> list[Buffer]:
        """Buffers that a call reads, where there is a guard that knowledge might save."""
        if not isinstance(stmt, CallStmt) or not _is_guarded(stmt.callee):
            return []
        return [b for b in self._taken(stmt) if b in uses and not _is_nothing(uses[b].reads)]

    def _writing(self, at: int) -> list[Buffer]:
        uses = self.uses[at]
        return [b for b in self._taken(self.items[at]) if b in uses and not _is_nothing(uses[b].may)]

    def _numbers(self, at: int, buffer: Buffer) -> list[Told]:
        """Numbers that a buffer is known to hold before a statement."""
        found: list[Told] = []
        open = pb.box(buffer.shape)
        for use in self._before(at, buffer):
            found += [(value, region.intersect(open)) for value, region in use.numbers]
            open = open.subtract(use.may)
        return [(value, region) for value, region in found if not _is_nothing(region)]

    def _arbitrary(self, at: int, buffer: Buffer) -> isl.Set:
        """Where a buffer holds anything before a statement: what was there may be left out, or nobody has written."""
        unwritten = kept = pb.box(buffer.shape)
        found = pb.nothing(len(buffer.shape))
        for k in range(at - 1, -1, -1):
            use = self.uses[k].get(buffer)
            if use is not None:
                if buffer in self._writing(k):
                    found = found.union(kept.intersect(self._dead(k, buffer)))
                unwritten, kept = unwritten.subtract(use.may), kept.subtract(use.must)
        return found if buffer in self.entry.buffers else found.union(unwritten)

    def _dead(self, at: int, buffer: Buffer) -> isl.Set:
        """Where nobody reads, or is told, what a statement leaves in a buffer."""
        dead, over = pb.box(buffer.shape), pb.nothing(len(buffer.shape))
        for k in range(at + 1, len(self.items)):
            use = self.uses[k].get(buffer)
            if use is not None:
                known = [region for _, region in self.said[k].get(buffer, ())]
                for region in (use.reads, *known):
                    dead = dead.subtract(region.subtract(over))
                over = over.union(use.must)
        return dead.intersect(over) if buffer in self.entry.buffers else dead

    def _dead_inside(self, at: int, buffer: Buffer) -> isl.Set:
        """Where nobody reads what calls in a loop or branch leave in a buffer, neither after it nor anywhere in it."""
        return self._dead(at, buffer).subtract(self._within(self.items[at], buffer).reads)

    def _before(self, at: int, buffer: Buffer) -> Iterator[_Use]:
        return (self.uses[k][buffer] for k in range(at - 1, -1, -1) if buffer in self.uses[k])

    # What statements do ----------------------------------------------------------------------------------------------

    def _used(self, stmt: Stmt) -> dict[Buffer, _Use]:
        if isinstance(stmt, CallStmt):
            key = id(stmt.callee)
            if key not in self.effects:
                self.effects[key] = EffectAnalysis().of(lower_blocks(stmt.callee).body)
            pairs = [(param, section.buffer) for param, section in passed(stmt)]
            plain = all(s.is_whole for _, s in passed(stmt)) and not any(map(has_loads, stmt_exprs(stmt)))
            if plain and len({b for _, b in pairs}) == len(pairs):
                return {b: _use(self.effects[key], p) for p, b in pairs}
        elif next(calls_in(stmt), None) is None and all(not isinstance(s, If) for s in walk(stmt)):
            found = EffectAnalysis().of(lower_statement(stmt))
            return {b: _use(found, b) for b in used(stmt)}
        if isinstance(stmt, CallStmt):
            return {
                b: _Use(pb.whole(len(b.shape)), pb.whole(len(b.shape)), pb.nothing(len(b.shape))) for b in used(stmt)
            }
        return {b: self._within(stmt, b) for b in used(stmt)}

    def _within(self, stmt: Stmt, buffer: Buffer) -> _Use:
        """What all parts of a loop or branch do to a buffer, which perhaps none of them does."""
        rank = len(buffer.shape)
        reads = may = pb.nothing(rank)
        for inner in walk(stmt):
            if isinstance(inner, CallStmt):
                use = self._used(inner).get(buffer)
                if use is not None:
                    reads, may = reads.union(use.reads), may.union(use.may)
            elif any(load.buffer == buffer for expr in stmt_exprs(inner) for load in loads(expr)):
                reads = pb.whole(rank)
            if isinstance(inner, Store) and inner.buffer == buffer:
                may = pb.whole(rank)
        return _Use(reads, may, pb.nothing(rank))


def _use(effects: Effects, buffer: Buffer) -> _Use:
    """What effects say of a buffer, whatever the scalars are."""

    def known() -> _Use:
        reads, may, must = (get(r, buffer) for r in (effects.reads, effects.may, effects.must))
        reads, may = (pb.forget(region, pb.variables(region)) for region in (reads, may))
        numbers = tuple(
            (value, region)
            for (other, value), region in effects.established.items()
            if other == buffer and isinstance(value, Const) and not _is_nan(value) and not pb.variables(region)
        )
        return _Use(reads, may, pb.nothing(len(buffer.shape)) if pb.variables(must) else must, numbers)

    everything, nothing = pb.whole(len(buffer.shape)), pb.nothing(len(buffer.shape))
    return pb.within_budget(known, _Use(everything, everything, nothing))


def _is_guarded(func: PrimFunc) -> bool:
    return any(isinstance(s, If) for s in walk(func.body)) or any(
        isinstance(e, Select) for whole in all_exprs(func.body) for e in walk_expr(whole)
    )


def _is_nothing(region: isl.Set) -> bool:
    return pb.within_budget(region.is_empty, False)


def _is_nan(value: Const) -> bool:
    return isinstance(value.value, float) and math.isnan(value.value)
