"""Variables that hold what an array held some iterations ago: the array is read instead.

A filter keeps its last inputs and outputs in variables, `y2 = y1; y1 = Y[i]`. Each is a state of its own that a loop
carries and copies, though `Y[i - 1]` and `Y[i - 2]` say the same. The first iterations, in which they still hold what
they held before the loop, are taken out of it. Where an array is smoothed in place, variables hold what elements were
before: these are read ahead of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, common_loops
from ir.nodes import Buffer, Expr, Load, Store, Var
from ir.traverse import free_vars, has_loads, map_expr, reads, substitute_expr
from lower.analysis.freedoms import Form, Policy
from lower.analysis.linear_forms import atom, linear, to_expr
from lower.analysis.updates import as_update
from lower.nest.normalize import Program, mapped, moved, read_by_bounds

PAST_VALUES = Form(
    "structure.past_values",
    "for i: s(y); y = Y[i]  =  s(y); Y[0]; for i >= 1: s(Y[i - 1])",
    "the variable holds what the array held then",
)

_LONGEST = 4  # iterations that leave a loop, each with a copy of its body
_STATEMENTS = 16  # of a body that is copied
_WORTH = 4  # times as many iterations stay


class _Delay(Struct, frozen=True):
    """After its store in iteration i a variable is `source` as it was `lag` iterations before.

    `places` are the loop variables of the store by dimension of the variable, None where the index is `fixed`.
    """

    writer: Statement
    source: Load
    lag: int
    places: tuple[Var | None, ...]

    def at(self, indices: Sequence[Expr], var: Var, back: Expr | None) -> Load:
        """The element of the source for an element of the variable, in another iteration of a loop."""
        values: dict[Var, Expr] = {p: i for p, i in zip(self.places, indices, strict=True) if p is not None}
        if back is not None:
            values[var] = back
        return Load(self.source.buffer, tuple(substitute_expr(i, values) for i in self.source.indices))


def read_past_values(program: Program) -> None:
    """Replace variables that hold past values by reads of these; changes the program."""
    done: set[tuple[Loop, ...]] = set()
    while True:  # nests may share a loop where one of them left a loop around it
        nests = dict.fromkeys(s.loops[: k + 1] for s in program.statements for k in reversed(range(len(s.loops))))
        nest = next((n for n in nests if n not in done), None)
        if nest is None:
            return
        done.add(nest)
        _in_nest(program, nest)


def _in_nest(program: Program, nest: tuple[Loop, ...]) -> None:
    level, loop = len(nest) - 1, nest[-1]
    body = [s for s in program.statements if s.loops[: len(nest)] == nest]
    extent = linear(loop.extent)
    together = body[-1].position - body[0].position < len(body)
    if len(body) > _STATEMENTS or not together or not extent.is_const:
        return
    if not read_by_bounds(body).isdisjoint(s.buffer for s in body):
        return  # what such loops go through is not the same for all of them
    before = [s for s in program.statements if s.position < body[0].position]
    after = [s for s in program.statements if s.position > body[-1].position]
    body = _without_names(body, level, program)
    found = _delays(body, level, program)
    ahead = _Ahead.of(body, level, program)
    more = _delays(ahead.body, level, program) if ahead.arrays else found
    if len(more) > len(found):
        found, body = more, ahead.body
        before += ahead.first
        program.depth.update(dict.fromkeys(ahead.arrays, level))
    if not any(load.buffer in found for s in body for load in s.reads() if s.buffer not in found):
        return
    peeled = max((d.lag + 1 for d in found.values()), default=0)
    if not 0 < peeled <= _LONGEST or extent.const < (1 + _WORTH) * peeled:
        return
    start = linear(loop.start)
    new: list[Statement] = []
    for k in range(peeled):
        new += _Copy(found, level, k, to_expr(start + k, loop.var), program.policy).statements(body, program)
    rest = Loop(loop.var, to_expr(start + peeled, loop.var), to_expr(extent - peeled, loop.var), loop.kind)
    new += _Rest(found, level, rest, program.policy).statements(body)
    last = to_expr(start + extent - 1, loop.var)
    for variable, delay in found.items():
        if not _forgotten(variable, level, body, after, program):
            new.append(_final(delay, level, loop.var, last))
    program.have((*before, *new, *after))


def _without_names(body: list[Statement], level: int, program: Program) -> list[Statement]:
    """A body in which what a local of an iteration names, and an array gets too, is found in the array alone."""
    for local in [b for b, depth in program.depth.items() if depth > level and not b.shape]:
        users = [s for s in body if local in s.buffers()]
        if len(users) > 2 and users == [s for s in program.statements if local in s.buffers()]:
            body = _unnamed(body, level, local, users, program.policy)
    return body


def _unnamed(
    body: list[Statement], level: int, local: Buffer, users: Sequence[Statement], policy: Policy
) -> list[Statement]:
    """A body without a local whose value one of its statements stores as it is; the same if that may not be."""
    maker = users[0]
    var = maker.loops[level].var
    keepers = (s for s in users[1:] if isinstance(s.store.value, Load) and s.store.value.buffer == local)
    keeper = next((s for s in keepers if any(var in free_vars(i) for i in s.store.indices)), None)
    if keeper is None or keeper.buffer == local or any(s.buffer == local for s in users[1:]):
        return body
    target = keeper.store
    alike = all(s.loops == maker.loops and not s.guards for s in (maker, keeper))
    if maker.buffer != local or not alike or target.buffer.dtype is not local.dtype:
        return body
    used = [s for s in body if target.buffer in s.buffers()]
    early = any(maker.position < s.position < keeper.position for s in used)
    if early or any(s.buffer == target.buffer and s is not keeper for s in body) or any(map(has_loads, target.indices)):
        return body
    if any(common_loops(s, maker) < len(maker.loops) for s in users):
        return body  # elsewhere the name is that of the last iteration of loops that the place may depend on
    value = Load(target.buffer, target.indices)

    def one(e: Expr) -> Expr:
        return value if isinstance(e, Load) and e.buffer == local else e

    kept: list[Statement] = []
    for s in body:
        if s is maker:
            store = Store(target.buffer, target.indices, maker.store.value, target.span)
            kept.append(as_update(replace(maker, store=store), policy))
        elif s is not keeper:
            kept.append(as_update(mapped(s, lambda e: map_expr(e, one)), policy) if s in users else s)
    return kept


class _Ahead(Struct, frozen=True):
    """A body in which elements that it saves before it stores there are those of `arrays`, read before the loop by
    statements that come `first`: `c = A[i]; A[i] = f(y, c); y = c` with `U[i]` in place of `c` in the last store."""

    body: list[Statement]
    first: list[Statement]
    arrays: list[Buffer]

    @staticmethod
    def of(body: Sequence[Statement], level: int, program: Program) -> _Ahead:
        """Take all that is saved so as it was before the loop."""
        found = _Ahead([], [], [])
        for s in body:
            saved = _saved(s, body, level, program)
            found.body.append(s if saved is None else found._taken(s, saved, level, program))
        return found

    def _taken(self, s: Statement, saved: Load, level: int, program: Program) -> Statement:
        own = s.loops[level:]
        loops = [Loop(Var(program.fresh(o.var.name), o.var.dtype), o.start, o.extent, o.kind) for o in own]
        array = Buffer(program.fresh(saved.buffer.name), tuple(o.extent for o in own), saved.dtype, "local")
        there: dict[Var, Expr] = {o.var: new.var for o, new in zip(own, loops, strict=True)}
        element = Load(saved.buffer, tuple(substitute_expr(i, there) for i in saved.indices))
        store = Store(array, tuple(_from_start(o) for o in loops), element, s.store.span)
        self.first.append(Statement(s.position, (*s.loops[:level], *loops), (), store))
        self.arrays.append(array)
        return replace(s, store=replace(s.store, value=Load(array, tuple(map(_from_start, own)))))


def _from_start(loop: Loop) -> Expr:
    return to_expr(linear(loop.var) - linear(loop.start), loop.var)


def _saved(s: Statement, body: Sequence[Statement], level: int, program: Program) -> Load | None:
    """The element that a statement saves in a variable, if it is as it was before the loop, and changes later."""
    value, own = s.store.value, s.loops[level:]
    if not isinstance(value, Load) or s.guards or program.depth.get(s.buffer, 0) > level:
        return None
    if not all(linear(o.extent).is_const and linear(o.start).is_const for o in own):
        return None
    reader = s
    if program.depth.get(value.buffer, 0) > level:  # a name of an iteration for what the element was
        makers = [m for m in body if m.buffer == value.buffer]
        if len(makers) != 1 or makers[0].loops != s.loops or makers[0].guards:
            return None
        reader, value = makers[0], makers[0].store.value
    stores = [m for m in body if isinstance(value, Load) and m.buffer == value.buffer]
    whole = any(m.tile is not None for m in (s, reader, *stores))  # which store and read more than one element
    if not isinstance(value, Load) or not stores or whole or any(map(has_loads, value.indices)):
        return None
    var = own[0].var
    return value if all(_after(m, reader, value, var, level) for m in stores) else None


def _after(store: Statement, reader: Statement, element: Load, var: Var, level: int) -> bool:
    """Whether a statement stores to an element after another one has read it, if it does: in a later iteration, or
    behind it in the same one."""
    pairs = [(linear(a), linear(b)) for a, b in zip(store.store.indices, element.indices, strict=True)]
    same = all(a.equals(b) for a, b in pairs) or common_loops(store, reader) == level + 1
    for stored, read in pairs:
        apart = read - stored
        if stored.slope(var) == read.slope(var) == 1 and apart.is_const:
            return apart.const > 0 or (apart.const == 0 and same and store.position > reader.position)
    return False


def _delays(body: Sequence[Statement], level: int, program: Program) -> dict[Buffer, _Delay]:
    """Variables that hold past values, by what they hold."""
    found: dict[Buffer, _Delay] = {}
    while True:
        more = False
        for s in body:
            if s.buffer not in found and (delay := _delay(s, body, level, program, found)) is not None:
                found[s.buffer] = delay
                more = True
        if not more:
            return found


def _delay(
    writer: Statement, body: Sequence[Statement], level: int, program: Program, known: Mapping[Buffer, _Delay]
) -> _Delay | None:
    """What the variable that a statement stores to holds, if that is a past value."""
    variable, value, var = writer.buffer, writer.store.value, writer.loops[level].var
    if not isinstance(value, Load) or writer.guards or program.depth.get(variable, 0) > level:
        return None
    users = [s for s in body if variable in s.buffers()]
    places = _places(writer, level)
    if places is None or any(s.buffer == variable and s is not writer for s in users):
        return None
    if not all(_covered(s, writer, places, level) for s in users):
        return None
    if value.buffer in known:
        other = known[value.buffer]
        lag = other.lag + (1 if writer.position < other.writer.position else 0)
        return _Delay(writer, other.at(value.indices, var, None), lag, places)
    if value.buffer == variable or program.depth.get(value.buffer, 0) > level or any(map(has_loads, value.indices)):
        return None
    if var not in free_vars(*value.indices):
        return None
    makers = [s for s in body if s.buffer == value.buffer]
    if makers and not (len(makers) == 1 and _makes(makers[0], writer, value, level)):
        return None
    return _Delay(writer, value, 0, places)


def _places(writer: Statement, level: int) -> tuple[Var | None, ...] | None:
    """The inner loop variables that index what a statement stores to, once each; None for other forms."""
    inner = [o.var for o in writer.loops[level + 1 :]]
    names = free_vars(*writer.store.indices)
    bounds = {v for o in writer.loops[level + 1 :] for v in free_vars(o.start, o.extent)}
    if writer.loops[level].var in names | bounds or any(map(has_loads, writer.store.indices)):
        return None
    places = tuple(i if isinstance(i, Var) and i in inner else None for i in writer.store.indices)
    used = [p for p in places if p is not None]
    others = {v for i, p in zip(writer.store.indices, places, strict=True) if p is None for v in free_vars(i)}
    return (
        places if sorted(v.name for v in used) == sorted(v.name for v in inner) and others.isdisjoint(inner) else None
    )


def _covered(user: Statement, writer: Statement, places: Sequence[Var | None], level: int) -> bool:
    """Whether a statement reads a variable only where each iteration of a loop stores to it, all that it reads before
    the store or all behind it: in a loop that both are in, only what this iteration of that loop stores to."""
    variable = writer.buffer
    shared = {o.var for o in writer.loops[level + 1 : common_loops(user, writer)]}
    if reads(variable, *(e for o in user.loops for e in (o.start, o.extent))):
        return False
    loops = {o.var: o for o in user.loops[level + 1 :]}
    stored = {o.var: o for o in writer.loops}
    for indices in user.places(variable):
        for index, place, own in zip(indices, places, writer.store.indices, strict=True):
            if place is None:
                if not linear(index).equals(linear(own)):
                    return False
            elif place in shared:
                if index != place:
                    return False
            elif not isinstance(index, Var) or index not in loops or not _alike(loops[index], stored[place]):
                return False
    return True


def _alike(a: Loop, b: Loop) -> bool:
    """Whether two loops run over the same values."""
    return linear(a.start).equals(linear(b.start)) and linear(a.extent).equals(linear(b.extent))


def _makes(maker: Statement, writer: Statement, value: Load, level: int) -> bool:
    """Whether a statement stores, before another reads it, an element that no other iteration changes: of the loop, nor
    of one in it that both are in."""
    inner, own = maker.loops[level + 1 :], writer.loops[level + 1 :]
    if maker.guards or maker.position > writer.position or len(inner) != len(own):
        return False
    if not all(_alike(a, b) for a, b in zip(inner, own, strict=True)):
        return False
    names = {a.var: b.var for a, b in zip(inner, own, strict=True)}
    places = [linear(substitute_expr(i, names)) for i in maker.store.indices]
    same = all(p.equals(linear(i)) for p, i in zip(places, value.indices, strict=True))
    var, inside = writer.loops[level].var, {o.var for o in own}
    shared = [o.var for o in own[: common_loops(maker, writer) - level - 1]]

    def steps(v: Var) -> bool:
        return any(v in p.terms and p.without([v]).vars().isdisjoint({var, *inside}) for p in places)

    return same and all(map(steps, (var, *shared)))


def _forgotten(
    variable: Buffer, level: int, body: Sequence[Statement], after: Sequence[Statement], program: Program
) -> bool:
    """Whether nobody reads a variable after a loop, of which each iteration of those around has its own."""
    around = body[0].loops[:level]
    later = [s for s in after if s.loops[:level] == around]
    own = variable in program.depth and program.depth[variable] == level
    return own and not any(load.buffer == variable for s in later for load in s.reads())


def _final(delay: _Delay, level: int, var: Var, last: Expr) -> Statement:
    """The statement that leaves in a variable what its loop would."""
    writer, store = delay.writer, delay.writer.store
    back = to_expr(linear(last) - delay.lag, var)
    loops = (*writer.loops[:level], *writer.loops[level + 1 :])
    return Statement(writer.position, loops, (), Store(store.buffer, store.indices, delay.at(store.indices, var, back)))


class _Copy(Struct, frozen=True):
    """The body of a loop in its iteration `number`, at `value` of the loop's variable."""

    delays: Mapping[Buffer, _Delay]
    level: int
    number: int
    value: Expr
    policy: Policy

    def statements(self, body: Sequence[Statement], program: Program) -> list[Statement]:
        """The copy; locals that each iteration has for itself become others."""
        inner: dict[Loop, Loop] = {}
        copied = [self._statement(s, inner) for s in body if s.buffer not in self.delays]
        for local in dict.fromkeys(b for s in copied for b in sorted(s.buffers(), key=lambda b: b.name)):
            depth = program.depth.get(local, 0)
            if depth > self.level:
                own = replace(local, name=program.fresh(local.name))
                program.depth[own] = depth - 1
                copied = [moved(s, local, own) if local in s.buffers() else s for s in copied]
        return copied

    def _statement(self, s: Statement, inner: dict[Loop, Loop]) -> Statement:
        var = s.loops[self.level].var

        def at(e: Expr) -> Expr:
            return substitute_expr(map_expr(e, one), {var: self.value})

        def one(e: Expr) -> Expr:
            return self._past(e, s.position, self.number, var) if isinstance(e, Load) else e

        for loop in s.loops[self.level + 1 :]:
            if loop not in inner:
                values = {var: self.value}
                start, extent = substitute_expr(loop.start, values), substitute_expr(loop.extent, values)
                inner[loop] = Loop(loop.var, start, extent, loop.kind)
        loops = (*s.loops[: self.level], *(inner[o] for o in s.loops[self.level + 1 :]))
        return as_update(replace(mapped(s, at), loops=loops), self.policy)

    def _past(self, load: Load, position: int, number: int, var: Var) -> Load:
        """What a variable holds at a position of the body in an iteration: an element, or what it held before."""
        while load.buffer in self.delays:
            delay = self.delays[load.buffer]
            if position <= delay.writer.position:
                number -= 1
            if number < 0:
                return load
            written = delay.writer.store.value
            assert isinstance(written, Load)
            names: dict[Var, Expr] = {p: i for p, i in zip(delay.places, load.indices, strict=True) if p is not None}
            load = Load(written.buffer, tuple(substitute_expr(i, names) for i in written.indices))
            position = delay.writer.position
        back = to_expr(atom(var) - (self.number - number), var)
        return Load(load.buffer, tuple(substitute_expr(i, {var: back}) for i in load.indices))


class _Rest(Struct, frozen=True):
    """The body of a loop for the iterations in which all variables hold elements."""

    delays: Mapping[Buffer, _Delay]
    level: int
    loop: Loop
    policy: Policy

    def statements(self, body: Sequence[Statement]) -> list[Statement]:
        return [self._statement(s) for s in body if s.buffer not in self.delays]

    def _statement(self, s: Statement) -> Statement:
        def one(e: Expr) -> Expr:
            if not isinstance(e, Load) or e.buffer not in self.delays:
                return e
            delay = self.delays[e.buffer]
            lag = delay.lag + (1 if s.position <= delay.writer.position else 0)
            return delay.at(e.indices, self.loop.var, to_expr(atom(self.loop.var) - lag, self.loop.var))

        loops = (*s.loops[: self.level], self.loop, *s.loops[self.level + 1 :])
        return as_update(replace(mapped(s, lambda e: map_expr(e, one)), loops=loops), self.policy)
