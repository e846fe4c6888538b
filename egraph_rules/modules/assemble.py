"""The entry function with its calls specialized as chosen, buffers kept as chosen, and conversions between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.modules.choice import Choice, Conversion
from egraph_rules.modules.graph import Graph
from egraph_rules.modules.variants import Pricer, Variant, copying, filling
from ir.naming import fresh
from ir.nodes import Alloc, Buffer, CallStmt, PrimFunc, Seq, Stmt, Undef, seq
from ir.program.edit import names_in, with_children
from ir.schedule.storage import Storage, entry_claim
from ir.sections import Section
from ir.transform.storage.layout_records import with_record
from ir.traverse import stmt_children

Body = Callable[[Variant], PrimFunc]  # which form of a variant is called


class Assembled(Struct, frozen=True):
    """The entry function, and those by which callers bring freed parameters into their layout."""

    entry: PrimFunc
    packs: tuple[PrimFunc, ...]


def assembled(graph: Graph, choice: Choice, pricer: Pricer, body: Body) -> Assembled:
    """The entry function of a choice; `body` takes the form of each variant that is called."""
    return _Assembly(graph, choice, pricer, body).make()


class _Assembly(Struct):
    graph: Graph
    choice: Choice
    pricer: Pricer
    body: Body
    taken: set[str] = field(default_factory=lambda: set[str]())
    forms: dict[tuple[str, Storage], Buffer] = field(default_factory=lambda: dict[tuple[str, Storage], Buffer]())
    made: list[Buffer] = field(default_factory=lambda: list[Buffer]())
    named: dict[str, PrimFunc] = field(default_factory=lambda: dict[str, PrimFunc]())
    reached: int = 0

    def make(self) -> Assembled:
        graph, entry = self.graph, self.graph.entry
        self.taken = names_in(entry) | {c.name for c in graph.calls} | {entry.name}
        for name, between in graph.between.items():
            written = self.choice.written[name]
            moved = replace(between.buffer, shape=written.physical_shape)
            if not between.is_param or between.is_free or written.is_plain:
                self.forms[name, written] = moved
            else:
                self.forms[name, written] = self._local(moved)
            if between.is_param and not between.is_free:
                self.forms[name, Storage.plain(between.buffer)] = between.buffer
            for conversion in self._conversions(name):
                if (name, conversion.after) not in self.forms:
                    extents = conversion.after.physical_shape
                    self.forms[name, conversion.after] = self._local(replace(between.buffer, shape=extents))
        given = [name for name, b in graph.between.items() if not b.writers]
        first = [s for name in given for s in self._converting(name)]
        params = [name for name, b in graph.between.items() if b.one_way and b.is_param]
        moved = [name for name in params if not self.choice.written[name].is_plain]
        first += [self._copied(name, inward=True) for name in moved]
        last = [self._copied(name, inward=False) for name in moved]
        whole = seq(*first, self._stmt(entry.body), *last)
        for buffer in reversed(self.made):
            whole = Alloc(buffer, whole)
        func = replace(entry, body=whole)
        packs: list[PrimFunc] = []
        for name, between in graph.between.items():
            written = self.choice.written[name]
            if between.is_free and not written.is_plain:
                func = self._freed(func, between.buffer, written)
                packs.append(self._copy(name, Storage.plain(between.buffer), written, f"pack_{name}"))
        return Assembled(func, tuple(packs))

    def _freed(self, func: PrimFunc, old: Buffer, storage: Storage) -> PrimFunc:
        """The function with a parameter that callers keep in another way, and what they promise of its padding."""
        new = self.forms[old.name, storage]
        params = tuple(new if isinstance(p, Buffer) and p.name == old.name else p for p in func.params)
        func = with_record(replace(func, params=params), old.name, storage.shape, storage.index_map)
        if not storage.has_padding:
            return func
        return replace(func, body=seq(entry_claim(new, storage, func), func.body))

    def _local(self, buffer: Buffer) -> Buffer:
        new = replace(buffer, name=fresh(buffer.name, self.taken), scope="global")
        self.made.append(new)
        return new

    def _stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Seq(stmts=stmts):
                return seq(*map(self._stmt, stmts), span=stmt.span)
            case Alloc(buffer=buffer, body=body):
                written = self.choice.written.get(buffer.name)
                new = buffer if written is None else self.forms[buffer.name, written]
                first = [] if written is None or not written.standing else [self._filled(buffer, written)]
                return replace(stmt, buffer=new, body=seq(*first, self._stmt(body)))
            case CallStmt():
                return self._call(stmt)
            case _:
                return with_children(stmt, list(map(self._stmt, stmt_children(stmt))))

    def _filled(self, buffer: Buffer, storage: Storage) -> Stmt:
        """A new buffer gets its standing padding."""
        fill = filling(buffer, storage)
        assert fill is not None  # it was priced
        callee = self._specialized(fill, {}, "fill")
        return CallStmt(callee, (Section.whole(self.forms[buffer.name, storage]),))

    def _copied(self, name: str, *, inward: bool) -> Stmt:
        """A parameter as callers have it is brought into the buffer in which it is kept meanwhile, or back."""
        buffer, storage = self.graph.between[name].buffer, self.choice.written[name]
        plain, inside = Storage.plain(buffer), storage.padded_with(storage.pad)
        if inward:
            copy = self._copy(name, plain, inside, f"convert_{name}")
            return CallStmt(copy, (Section.whole(buffer), Section.whole(self.forms[name, storage])))
        copy = self._copy(name, inside.padded_with(Undef(inside.dtype)), plain, f"restore_{name}")
        return CallStmt(copy, (Section.whole(self.forms[name, storage]), Section.whole(buffer)))

    def _call(self, call: CallStmt) -> Stmt:
        at, self.reached = self.reached, self.reached + 1
        variant = self.choice.variants[at]
        callee = self._function(call.callee.name, self.body(variant))
        names = dict(self.graph.calls[at].buffers)
        args = list(call.args)
        for k, param in enumerate(call.callee.params):
            if isinstance(param, Buffer) and param.name in names:
                section = args[k]
                assert isinstance(section, Section)
                form = self._served(names[param.name], variant.storages[param.name])
                args[k] = Section.whole(form, section.span)
        written = [n for n in names.values() if self.graph.between[n].writers == [at]]
        after = [s for name in written for s in self._converting(name)]
        return seq(replace(call, callee=callee, args=tuple(args)), *after)

    def _served(self, name: str, wanted: Storage) -> Buffer:
        """The form of a buffer that a call takes, of those that there are."""
        exact = self.forms.get((name, wanted))
        if exact is not None and (wanted == self.choice.written[name] or self._is_made(name, wanted)):
            return exact
        ways = [self.choice.written[name], *(c.after for c in self._conversions(name))]
        return self.forms[name, next(s for s in ways if s.serves(wanted))]

    def _is_made(self, name: str, storage: Storage) -> bool:
        return any(c.after == storage for c in self._conversions(name))

    def _conversions(self, name: str) -> list[Conversion]:
        return [c for c in self.choice.conversions if c.buffer == name]

    def _converting(self, name: str) -> list[Stmt]:
        return [self._converted(c) for c in self._conversions(name)]

    def _converted(self, conversion: Conversion) -> Stmt:
        name = conversion.buffer
        copy = self._copy(name, conversion.before, conversion.after, f"convert_{name}")
        forms = (self.forms[name, s] for s in (conversion.before, conversion.after))
        return CallStmt(copy, tuple(map(Section.whole, forms)))

    def _copy(self, name: str, before: Storage, after: Storage, called: str) -> PrimFunc:
        func = copying(self.graph.between[name].buffer)
        return self._specialized(func, {"source": before, "target": after}, called)

    def _specialized(self, func: PrimFunc, storages: Mapping[str, Storage], called: str) -> PrimFunc:
        variant = self.pricer.variant(func, storages)
        assert variant is not None
        self.pricer.settle(variant)
        return self._function(called, self.body(variant))

    def _function(self, name: str, func: PrimFunc) -> PrimFunc:
        """A function under a name that no other one has."""
        k, candidate = 0, name
        while True:
            form = _called(func, candidate)
            known = self.named.setdefault(candidate, form)
            if known == form:
                return known
            k += 1
            candidate = f"{name}_{k}"


def _called(func: PrimFunc, name: str) -> PrimFunc:
    return func.with_origin(lambda f: replace(f, name=name).vouched()) if func.name != name else func
