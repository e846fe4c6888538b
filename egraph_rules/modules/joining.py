"""Calls joined with those around them that only move what they take or leave: crops and pads, copies, layouts; and with
those after them whose guards may be needless by what they leave.

Such calls are one function for the search, in which a crop meets the pad that undoes it and moved elements are stored
where they are wanted. What is joined stands in its place again once all is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.modules.stages import called
from ir.instructions import is_instruction
from ir.nodes import Alloc, Buffer, CallStmt, Const, Expr, For, If, Load, PrimFunc, Select, Stmt, Store
from ir.program.calls import body_of, calls_in, names_mentioned, without_calls
from ir.program.edit import names_in, with_children
from ir.program.scopes import allocated, flat, used
from ir.traverse import buffers_written, has_loads, stmt_children, stores_in, walk

Pays = Callable[[PrimFunc, PrimFunc], bool]  # whether a function is cheaper than one that has calls in a row
Keeps = Callable[[PrimFunc], bool]  # whether a function without calls has guards, and keeps some of them by itself
_MOST = 12  # stores of what is joined


def joined(entry: PrimFunc, pays: Pays, guarded: Keeps, apart: Collection[str]) -> PrimFunc:
    """A function whose calls are joined where that `pays`, also in its loops and branches.

    Buffers named in `apart` stay between calls, as do those with extents that are no numbers.
    """
    names = [s.buffer.name for s in walk(entry.body) if isinstance(s, Alloc)]
    if len({*names}) < len(names):
        return entry
    body = _Joining(pays, guarded, {*apart}, names_in(entry) | names_mentioned(entry.body)).scope(entry.body)
    return entry if body is entry.body else replace(entry, body=body)


class _Joining(Struct):
    """`taken` are names that nothing new may have; what is known of a callee is known by its number."""

    pays: Pays
    guarded: Keeps
    apart: set[str]
    taken: set[str]
    kinds: dict[int, _Kind] = field(default_factory=lambda: dict[int, _Kind]())

    def scope(self, stmt: Stmt) -> Stmt:
        """What runs from top to bottom, with calls joined; as it is if none are."""
        local, found = flat(stmt)
        items = [self._inside(s) for s in found]
        groups = self._grouped(items, local)
        made: list[Stmt] = []
        inside: set[Buffer] = set()
        for group in groups:
            for part, own in self._parts(group, items, local):
                made.append(part)
                inside.update(own)
        if len(made) == len(found) and all(a is b for a, b in zip(items, found, strict=True)):
            return stmt
        return allocated([b for b in local if b not in inside], made)

    def _inside(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, (For, If)) or next(calls_in(stmt), None) is None:
            return stmt
        return with_children(stmt, [self.scope(part) for part in stmt_children(stmt)])

    # Groups ----------------------------------------------------------------------------------------------------------

    def _grouped(self, items: Sequence[Stmt], local: Sequence[Buffer]) -> list[list[Stmt]]:
        """The statements in an order in which they may run, those to be joined together.

        A call goes to those before it that it moves elements of, and takes along those that only move what it takes.
        """
        users = Counter(b for s in items for b in used(s))
        private = {b for b in local if b.name not in self.apart and users[b] == 2}
        groups: list[list[Stmt]] = []
        for item in items:
            kind = self._kind(item)
            home = None if kind is None else self._home(groups, item, private, moves=kind.moves, guarded=kind.guarded)
            if home is not None:
                home.append(item)
            elif kind is None or kind.moves:
                groups.append([item])
            else:
                groups.append([*self._feeding(groups, item, private), item])
        return groups

    def _home(
        self, groups: Sequence[list[Stmt]], item: Stmt, private: Collection[Buffer], *, moves: bool, guarded: bool
    ) -> list[Stmt] | None:
        """The group that a call goes to: it moves what that leaves, or has guards that this may make needless."""
        for group in reversed(groups):
            shared = self._shared(group, item)
            needed = guarded or self._all_move(group[-1:])
            helps = moves or (needed and not shared.isdisjoint(private) and not self._all_move(group))
            if shared and helps and self._stores([*group, item]) <= _MOST:
                return group
            if shared or not self._independent(group, item):
                return None
        return None

    def _feeding(self, groups: list[list[Stmt]], item: Stmt, private: Collection[Buffer]) -> list[Stmt]:
        """The calls that only move what a call alone takes from them; they are taken out of their groups."""
        taken: list[list[Stmt]] = []
        passed_over: list[Stmt] = []
        for group in reversed(groups):
            feeds = self._all_move(group) and not self._shared(group, item).isdisjoint(private)
            whole = [*(s for g in taken for s in g), *group, item]
            if feeds and self._stores(whole) <= _MOST and all(self._independent(group, s) for s in passed_over):
                taken.insert(0, group)
            else:
                passed_over += group
            if len(passed_over) > _MOST or None in map(self._kind, passed_over):
                break
        for group in taken:
            groups.remove(group)
        return [s for group in taken for s in group]

    def _shared(self, group: Sequence[Stmt], call: Stmt) -> set[Buffer]:
        """Buffers of numbers of elements that a call and some of a group take; none where one may not be joined."""
        if any(self._kind(s) is None for s in group):
            return set()
        both = used(call) & {b for s in group for b in used(s)}
        return {b for b in both if b.name not in self.apart and all(isinstance(e, Const) for e in b.shape)}

    def _independent(self, group: Sequence[Stmt], item: Stmt) -> bool:
        """Whether a call may change places with those of a group."""
        if any(self._kind(s) is None for s in group):
            return False
        here, written = ({b for s in group for b in of(s)} for of in (used, buffers_written))
        return buffers_written(item).isdisjoint(here) and used(item).isdisjoint(written)

    def _all_move(self, group: Sequence[Stmt]) -> bool:
        return all(kind is not None and kind.moves for kind in map(self._kind, group))

    def _stores(self, calls: Sequence[Stmt]) -> int:
        return sum(kind.stores for kind in map(self._kind, calls) if kind is not None)

    def _kind(self, stmt: Stmt) -> _Kind | None:
        """What a callee is; None for what is no call that may be joined."""
        if not isinstance(stmt, CallStmt) or is_instruction(stmt.callee):
            return None
        if id(stmt.callee) not in self.kinds:
            self.kinds[id(stmt.callee)] = _Kind.of(stmt.callee, self.guarded)
        return self.kinds[id(stmt.callee)]

    # What is made of them --------------------------------------------------------------------------------------------

    def _parts(
        self, group: Sequence[Stmt], items: Sequence[Stmt], local: Sequence[Buffer]
    ) -> Iterator[tuple[Stmt, Sequence[Buffer]]]:
        """A group as one call, or where that is dearer than its calls, in parts; with the buffers that go into it."""
        if len(group) < 2:
            yield from ((s, ()) for s in group)
            return
        here, users = (Counter(b for s in stmts for b in used(s)) for stmts in (group, items))
        own = [b for b in local if b.name not in self.apart and 0 < here[b] == users[b]]
        new = self._joined(group, own)
        if new is not None:
            yield new, own
            return
        cuts = [k for k, s in enumerate(group) if k and not self._all_move([s])]
        cut = cuts[-1] if cuts else 1 if self._all_move(group) else 0
        parts = (group[:cut], group[cut:]) if cut else tuple([s] for s in group)
        for part in parts:
            yield from self._parts(part, items, local)

    def _joined(self, group: Sequence[Stmt], own: Sequence[Buffer]) -> Stmt | None:
        """One call for a group, unless what it calls is dearer than the callees are on their own."""
        calls = [s for s in group if isinstance(s, CallStmt)]
        name = "_".join(dict.fromkeys(c.callee.name for c in calls))
        new = called(allocated(own, [body_of(call, self.taken) for call in calls]), name, self.taken)
        apart = replace(new.callee, body=allocated(own, calls)).vouched()
        return new if self.pays(new.callee, apart) else None


class _Kind(Struct, frozen=True):
    """What joining asks of a callee: whether it only moves elements, has guards, and how many stores it has."""

    moves: bool
    guarded: bool
    stores: int

    @staticmethod
    def of(func: PrimFunc, guarded: Keeps) -> _Kind:
        """Look at a function."""
        plain = without_calls(func)
        return _Kind(only_moves(plain), guarded(plain), sum(isinstance(s, Store) for s in walk(plain.body)))


def only_moves(func: PrimFunc) -> bool:
    """Whether all that a function stores are elements that it finds, and numbers."""
    stores = [*stores_in(func.body)]
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
