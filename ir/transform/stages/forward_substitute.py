"""A producer's value put in place of each load of its buffer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.legality import Event, domain_of, events
from ir.analysis.stages import accesses, at, element, precedes, primed, values_at
from ir.errors import ScheduleError
from ir.nodes import (
    SKIP,
    Alloc,
    Assume,
    Binary,
    Block,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Select,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.facts import entry_facts
from ir.program.edit import Changed, block_path, forget_regions, refuse, scope_of
from ir.transform.stages.restrict import equals
from ir.transform.stages.solving import Inverse, bounded, event_of, refuse_undef, single_store
from ir.traverse import (
    can_fault,
    children,
    free_vars,
    has_loads,
    map_stmt,
    stores_in,
    substitute_expr,
    walk,
    walk_expr,
    with_children,
)


def compute_inline(func: PrimFunc, block: str) -> Changed:
    """Replace each load of the buffer that a block stores to by the value stored, and drop block and buffer.

    Assumptions about the buffer become assumptions about the value.

    Raises:
        ScheduleError: the block is not one store to a local buffer that only it writes, its indices cannot be solved
            for its loops, an element is loaded that it does not compute, or an input changes in between.
    """
    return bounded(func, block, _inlined)


def _inlined(func: PrimFunc, block: str) -> Changed:
    """`func` without a block and its buffer."""
    path = block_path(func, block)
    path = (*path[:-1], *single_store(path[-1], block))
    store = path[-1]
    assert isinstance(store, Store)
    refuse_undef(store)
    _refuse_bound(path, store)
    if store.buffer in func.buffers:
        message = f"{store.buffer.name} is a parameter of {func.name}, so its elements must be stored"
        refuse("not-local", message, store.span, help="only a local buffer can disappear")
    writers = [s for s in stores_in(func.body) if s.buffer == store.buffer]
    if len(writers) != 1:
        message = f"{store.buffer.name} is written at {len(writers)} places"
        refuse("several-producers", message, writers[-1].span, help="only a buffer with one store can be inlined")
    inliner = _Inliner(func, block, path, store)
    return Changed(replace(func, body=inliner.visit(func.body, entry_facts(func), ())))


def _refuse_bound(path: Sequence[Stmt], store: Store) -> None:
    """Refuse values made of names that hold what was loaded, where that load cannot stand for the name."""
    used = free_vars(*store.indices, store.value)
    for k, let in enumerate(path):
        if not isinstance(let, Let) or not has_loads(let.value):
            continue
        uses = sum(e.same(let.var) for x in (*store.indices, store.value) for e in walk_expr(x))
        below = path[k + 1 :]
        later = any(isinstance(p, Seq) and p.stmts[0] is not c for p, c in pairwise(below))
        inner = any(isinstance(s, Let) and let.var in free_vars(s.value) for s in below)
        if uses > 1 or inner or (let.var in used and later):
            message = f"the value uses {let.var.name}, which holds what was loaded before"
            refuse("bound-value", message, let.span, help=f"write the load in place of {let.var.name}")


class _Inliner(Struct, eq=False):
    """One walk that drops the producer and its buffer, and replaces its loads."""

    func: PrimFunc
    block: str
    path: tuple[Stmt, ...]
    store: Store
    _inverses: dict[int, Inverse] = field(default_factory=lambda: dict[int, Inverse]())
    _unchanged: set[tuple[int, int]] = field(default_factory=lambda: set[tuple[int, int]]())

    @property
    def buffer(self) -> Buffer:
        return self.store.buffer

    def visit(self, stmt: Stmt, known: isl.Set, above: tuple[Stmt, ...]) -> Stmt:
        """`stmt` without the producer; `known` holds there, `above` stands around."""
        if stmt is self.store:
            return SKIP
        if not any(accesses(s, self.buffer) or _allocates(s, self.buffer) for s in walk(stmt)):
            return stmt
        here = (*above, stmt)

        def expr(e: Expr) -> Expr:
            return self._expr(e, known, here)

        match stmt:
            case Seq(stmts=stmts):
                new: list[Stmt] = []
                for s in stmts:
                    new.append(self.visit(s, known, here))
                    if isinstance(s, Assume) and not has_loads(s.cond):
                        known = known.intersect(pb.condition(s.cond).may)
                return seq(*new, span=stmt.span)
            case For() as loop:
                start, extent = expr(loop.start), expr(loop.extent)
                inside = pb.within_loops(known, [loop])
                body = self.visit(loop.body, inside, here)
                return body if body == SKIP else replace(loop, start=start, extent=extent, body=body)
            case If(cond=cond, then=then, other=other):
                new_cond, holds = expr(cond), pb.condition(cond)
                yes = self.visit(then, known.intersect(holds.may), here)
                no = self.visit(other, known.intersect(holds.negated().may), here)
                return SKIP if yes == SKIP and no == SKIP else replace(stmt, cond=new_cond, then=yes, other=no)
            case Let(var=var, value=value, body=body):
                new_value = expr(value)
                new_body = self.visit(body, known.intersect(equals(var, value)), here)
                return new_body if new_body == SKIP else replace(stmt, value=new_value, body=new_body)
            case Alloc(buffer=buffer, body=body):
                new_body = self.visit(body, known, here)
                return new_body if buffer == self.buffer else replace(stmt, body=new_body)
            case Block() as found:
                return self._block(found, known, here)
            case Assume() as assume:
                return self._assume(assume, known, here)
            case _:
                return map_stmt(stmt, expr)

    def _block(self, block: Block, known: isl.Set, here: tuple[Stmt, ...]) -> Stmt:
        axes = list(block.axes)
        for k, axis in enumerate(axes):
            axes[k] = replace(axis, value=self._expr(axis.value, known, here))
            known = known.intersect(equals(axis.var, axis.value))
        predicate = self._expr(block.predicate, known, here)
        known = known.intersect(pb.condition(block.predicate).may)
        init = None if block.init is None else self.visit(block.init, known, here)
        body = self.visit(block.body, known, here)
        if body == SKIP and init is None:
            return SKIP
        new = replace(block, axes=tuple(axes), predicate=predicate, init=init, body=body)
        return forget_regions(new, {self.buffer.name})

    def _assume(self, stmt: Assume, known: isl.Set, here: tuple[Stmt, ...]) -> Stmt:
        """An assumption about values; one that permits reading, or is about what is not there, is dropped."""
        if any(_permits(e, self.buffer) for e in walk_expr(stmt.cond)):
            return SKIP
        try:
            return replace(stmt, cond=self._expr(stmt.cond, known, here))
        except ScheduleError:
            return SKIP

    # Loads -----------------------------------------------------------------------------------------------------------

    def _expr(self, expr: Expr, known: isl.Set, here: tuple[Stmt, ...]) -> Expr:
        """An expression with loads of the buffer replaced, each under the conditions of the selections around it."""
        match expr:
            case Load(buffer=buffer, indices=indices):
                new = tuple(self._expr(i, known, here) for i in indices)
                if buffer != self.buffer:
                    return with_children(expr, new)
                return self._value(expr, new, known, here)
            case Select(cond=c, then=a, other=b):
                holds = pb.condition(c)
                yes, no = known.intersect(holds.may), known.intersect(holds.negated().may)
                new = (self._expr(c, known, here), self._expr(a, yes, here), self._expr(b, no, here))
                return with_children(expr, new)
            case Binary(op="and" | "or" as op, lhs=a, rhs=b):
                holds = pb.condition(a) if op == "and" else pb.condition(a).negated()
                inner = known.intersect(holds.may)
                return with_children(expr, (self._expr(a, known, here), self._expr(b, inner, here)))
            case _:
                return with_children(expr, tuple(self._expr(c, known, here) for c in children(expr)))

    def _value(self, load: Load, indices: tuple[Expr, ...], known: isl.Set, here: tuple[Stmt, ...]) -> Expr:
        """What the producer stored to the element that is loaded."""
        shared = self._shared(load, here)
        inverse = self._inverse(shared)
        self._covered(load, inverse, known)
        self._check_inputs(load, inverse, shared, here)
        store = inverse.event.store
        assert store is not None
        scope = scope_of(self.func, here)
        values: dict[Var, Expr] = {}
        for var in inverse.inner:
            if var not in free_vars(store.value):
                continue
            value = inverse.written(var, indices, scope)
            if value is None:
                message = f"the indices of `{inverse.event.text}` do not determine {var.name}"
                refuse("not-bijective", message, self.store.span, help="store each element in one iteration only")
            values[var] = value
        return substitute_expr(store.value, values)

    def _shared(self, load: Load, here: tuple[Stmt, ...]) -> int:
        """How many statements stand around both the store and a load that comes after it."""
        count = 0
        for a, b in zip(self.path, here, strict=False):
            if a is not b:
                break
            count += 1
        common = self.path[count - 1] if count else None
        order = [id(s) for s in common.stmts] if isinstance(common, Seq) else []
        if not order or order.index(id(self.path[count])) > order.index(id(here[count])):
            message = f"a load of {self.buffer.name} does not come after `{self.block}` in one sequence"
            refuse("order", message, load.span, help="inline a stage whose consumers follow it")
        return count

    def _inverse(self, shared: int) -> Inverse:
        if shared not in self._inverses:
            event = event_of(self.path)
            assert event.store is not None
            depth = sum(isinstance(s, For) for s in self.path[:shared])
            found = Inverse.of(event, event.store.indices, depth, entry_facts(self.func))
            if found is None:
                data = next((g for g in event.guards if not pb.condition(g).exact), None)
                code = "not-bijective" if data is None else "producer-predicate"
                message = f"`{event.text}` does not store to affine indices in affine loops"
                if data is not None:
                    message = f"`{event.text}` runs under a condition on data"
                refuse(code, message, self.store.span, help="only affine stages can be inlined")
            self._inverses[shared] = found
        return self._inverses[shared]

    def _covered(self, load: Load, inverse: Inverse, known: isl.Set) -> None:
        """Refuse a load of an element that the producer does not compute."""
        places = [pb.affine(i) for i in load.indices]
        if any(p is None for p in places):
            self._covered_at_all(load, inverse)
            return
        reached = known
        for place, coordinate in zip(places, inverse.coordinates, strict=True):
            assert place is not None
            reached = reached.intersect(place.eq_set(pb.symbol(coordinate.name)))
        found = pb.sample(reached.subtract(inverse.image))
        if found is None:
            return
        spot = element(self.buffer, [found[0].get(v.name, 0) for v in inverse.coordinates])
        where = values_at(found[0], (n for n in found[0] if "'" not in n))
        code = "producer-predicate" if inverse.event.guards else "not-covered"
        message = f"`{self.block}` does not compute an element of {self.buffer.name} that is read"
        refuse(code, message, load.span, notes=[f"{spot} is read{f' at {where}' if where else ''}"],
               help="let it compute all that is read")  # fmt: skip

    def _covered_at_all(self, load: Load, inverse: Inverse) -> None:
        """Refuse a load at an index that depends on data, unless whatever it hits can be computed."""
        here = pb.point(inverse.coordinates)
        store = inverse.event.store
        assert here is not None and store is not None
        whole = here.intersect(pb.box(self.buffer.shape)).params()
        plain = all(any(i.same(v) for i in store.indices) for v in inverse.inner)
        if whole.is_subset(inverse.image) and plain and not can_fault(store.value):
            return
        message = f"{self.buffer.name} is read at an index that depends on data, where nothing may be computed"
        refuse("not-covered", message, load.span, help="keep the buffer for such reads")

    def _check_inputs(self, load: Load, inverse: Inverse, shared: int, here: tuple[Stmt, ...]) -> None:
        """Refuse where an input of the value is written between the producer and a load."""
        key = (shared, id(here[shared]))
        if key in self._unchanged:
            return
        common = self.path[shared - 1]
        assert isinstance(common, Seq)
        order = [id(s) for s in common.stmts]
        first, last = order.index(id(self.path[shared])), order.index(id(here[shared]))
        store = inverse.event.store
        assert store is not None
        inputs = {e.buffer for e in walk_expr(store.value) if isinstance(e, Load)}
        part = common.stmts[first : last + 1]
        written = {s.buffer for p in part for s in stores_in(p)}
        if inputs & written:
            self._refuse_parallel(here[shared], inputs)
            known = pb.within_loops(pb.always(), (s for s in self.path[:shared] if isinstance(s, For)))
            self._check_writes(seq(*part), inputs & written, known, load)
        self._unchanged.add(key)

    def _refuse_parallel(self, consumer: Stmt, inputs: set[Buffer]) -> None:
        """Refuse to read in a parallel loop what its iterations write."""
        for loop in walk(consumer):
            if not isinstance(loop, For) or loop.kind not in ("parallel", "vectorized"):
                continue
            racing = next((s for s in stores_in(loop) if s.buffer in inputs), None)
            if racing is not None and any(accesses(s, self.buffer) for s in walk(loop)):
                name = racing.buffer.name
                message = f"iterations of {loop.kind} loop {loop.var.name} write {name}, which `{self.block}` reads"
                refuse("parallel", message, racing.span, help="make the loop serial first")

    def _check_writes(self, part: Stmt, changing: set[Buffer], known: isl.Set, load: Load) -> None:
        places = events(part)
        producer = next(e for e in places if e.store is not None and e.store.buffer == self.buffer)
        readers = [(e, x) for e in places for x in e.reads if x.buffer == self.buffer]
        writers = [e for e in places if e.store is not None and e.store.buffer in changing]
        for reader, use in readers:
            for writer in writers:
                assert writer.store is not None
                for source in producer.reads:
                    if source.buffer != writer.store.buffer:
                        continue
                    found = pb.sample(_between(producer, source, writer, reader, use).intersect(known))
                    if found is not None:
                        when = values_at(found[0], [v.name for v in reader.names])
                        message = f"{source.buffer.name} is written before the value that `{self.block}` reads is used"
                        note = f"`{writer.text}` runs before `{reader.text}`{f' at {when}' if when else ''}"
                        refuse("input-changes", message, load.span, notes=[note], help="copy it first (cache_read)")


def _between(producer: Event, source: Load, writer: Event, reader: Event, use: Load) -> isl.Set:
    """Where a write to an input comes after the producer's read of it and before the use of what was produced."""
    one, two = primed(producer.names, "'"), primed(writer.names, "''")
    assert producer.store is not None and writer.store is not None
    where = domain_of(producer, one).may.intersect(domain_of(writer, two).may).intersect(domain_of(reader, {}).may)
    pairs = [(substitute_expr(a, one), b) for a, b in zip(producer.store.indices, use.indices, strict=True)]
    pairs += [(substitute_expr(a, one), substitute_expr(b, two))
              for a, b in zip(source.indices, writer.store.indices, strict=True)]  # fmt: skip
    for a, b in pairs:
        x, y = pb.affine(a), pb.affine(b)
        if x is not None and y is not None:
            where = where.intersect(x.eq_set(y))
    middle = at(writer.time, two)
    return where.intersect(precedes(at(producer.time, one), middle)).intersect(precedes(middle, reader.time))


def _allocates(stmt: Stmt, buffer: Buffer) -> bool:
    return isinstance(stmt, Alloc) and stmt.buffer == buffer


def _permits(expr: Expr, buffer: Buffer) -> bool:
    match expr:
        case Binary(op="eq", lhs=Load() as load, rhs=Undef()) | Binary(op="eq", lhs=Undef(), rhs=Load() as load):
            return load.buffer == buffer
        case _:
            return False
