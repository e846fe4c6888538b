"""Calls joined with those after them that only move what they leave: crops and pads, copies, transposes, layouts.

Such a pair is one function for the search, in which a crop meets the pad that undoes it and moved elements are stored
where they are wanted. What is joined stands in its place again once all is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.modules.stages import called, used
from ir.instructions import is_instruction
from ir.nodes import Alloc, Buffer, CallStmt, Const, Expr, Load, PrimFunc, Select, Seq, Stmt, Store, seq
from ir.program.calls import body_of, names_mentioned, without_calls
from ir.program.edit import names_in
from ir.sections import passed
from ir.traverse import buffers_written, has_loads, walk

Pays = Callable[[PrimFunc, Sequence[PrimFunc]], bool]  # whether a function is cheaper than some in a row


def joined(entry: PrimFunc, pays: Pays, apart: Collection[str]) -> PrimFunc:
    """A function whose calls are joined with those that move what they leave, where that `pays`.

    Buffers named in `apart` stay between calls, as do those with extents that are no numbers.
    """
    local, items = _flat(entry.body)
    if len({b.name for b in local}) < len(local):
        return entry
    found = _Joining(entry, local, items, pays, {*apart})
    body = found.body()
    return entry if body is None else replace(entry, body=body)


def _flat(stmt: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """The local buffers and the statements of what runs from top to bottom."""
    match stmt:
        case Seq(stmts=stmts):
            parts = [_flat(s) for s in stmts]
            return [b for local, _ in parts for b in local], [s for _, items in parts for s in items]
        case Alloc(buffer=buffer, body=body):
            local, items = _flat(body)
            return [buffer, *local], items
        case _:
            return [], [stmt]


class _Joining(Struct, dict=True):
    entry: PrimFunc
    local: list[Buffer]
    items: list[Stmt]
    pays: Pays
    apart: set[str]
    moving: dict[int, bool] = field(default_factory=lambda: dict[int, bool]())

    def __post_init__(self) -> None:
        # how many statements use each buffer
        self.users: Counter[Buffer] = Counter(b for s in self.items for b in used(s))

    def body(self) -> Stmt | None:
        """The body with calls joined; None if none are."""
        taken = names_in(self.entry) | names_mentioned(self.entry.body)
        groups = [*self._groups()]
        made: list[Stmt] = []
        inside: set[Buffer] = set()
        for group in groups:
            own = self._within(group) if len(group) > 1 else []
            new = self._joined(group, own, taken) if len(group) > 1 else None
            made += group if new is None else [new]
            inside.update(own if new is not None else ())
        if len(made) == len(self.items):
            return None
        body = seq(*made)
        for buffer in reversed([b for b in self.local if b not in inside]):
            body = Alloc(buffer, body)
        return body

    def _groups(self) -> Iterator[list[Stmt]]:
        """The statements in order, each call with those after it that move elements of what it passes."""
        group: list[Stmt] = []
        for item in self.items:
            if group and not (self._moves(item) and self._follows(item, group)):
                yield group
                group = []
            group.append(item)
        if group:
            yield group

    def _moves(self, stmt: Stmt) -> bool:
        if not isinstance(stmt, CallStmt):
            return False
        if id(stmt.callee) not in self.moving:
            self.moving[id(stmt.callee)] = not is_instruction(stmt.callee) and _only_moves(without_calls(stmt.callee))
        return self.moving[id(stmt.callee)]

    def _follows(self, call: Stmt, group: Sequence[Stmt]) -> bool:
        """Whether a call takes what one of a group passes, so that both may be one function."""
        last = group[-1]
        if not isinstance(call, CallStmt) or not isinstance(last, CallStmt) or is_instruction(last.callee):
            return False
        shared = {s.buffer for _, s in passed(call)} & {s.buffer for c in group if isinstance(c, CallStmt)
                                                        for _, s in passed(c)}  # fmt: skip
        return any(b.name not in self.apart and all(isinstance(e, Const) for e in b.shape) for b in shared)

    def _within(self, group: Sequence[Stmt]) -> list[Buffer]:
        """The local buffers that nothing but a group uses."""
        here = Counter(b for s in group for b in used(s))
        return [b for b in self.local if b.name not in self.apart and 0 < here[b] == self.users[b]]

    def _joined(self, group: Sequence[Stmt], own: Sequence[Buffer], taken: set[str]) -> Stmt | None:
        """One call for a group, unless what it calls is dearer than the callees are on their own."""
        calls = [s for s in group if isinstance(s, CallStmt)]
        body: Stmt = seq(*(body_of(call, taken) for call in calls))
        for buffer in reversed(own):
            body = Alloc(buffer, body)
        new = called(body, "_".join(dict.fromkeys(c.callee.name for c in calls)), taken)
        return new if self.pays(new.callee, [c.callee for c in calls]) else None


def _only_moves(func: PrimFunc) -> bool:
    """Whether all that a function stores are elements that it finds, and numbers."""
    stores = [s for s in walk(func.body) if isinstance(s, Store)]
    values = [e for s in stores for e in _moved(s.value)]
    read = {e.buffer for e in values if isinstance(e, Load)}
    if not read or not read.isdisjoint(buffers_written(func.body)):
        return False
    return all(isinstance(e, (Load, Const)) for e in values) and not any(
        has_loads(i) for s in stores for i in s.indices
    )


def _moved(value: Expr) -> Iterator[Expr]:
    """What may be stored: the arms of choices."""
    if isinstance(value, Select) and not has_loads(value.cond):
        yield from _moved(value.then)
        yield from _moved(value.other)
    else:
        yield value
