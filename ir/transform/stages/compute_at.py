"""Moving a stage under a loop of another, to do there just what is needed.

A producer is recomputed at the start of each iteration: of its instances those run that write an element which the
iteration reads, found exactly by isl. Loops of one iteration disappear; a block's axes keep their names and domains and
take the new values. Where the box around what a tile needs would be the whole buffer, or would have cases, the stage
runs in a copy of the tile's own loops. Consumers move in `reverse_compute_at`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.effects import EffectAnalysis, Effects, Regions, get, read_regions, unite
from ir.analysis.legality import Event, domain_of, events
from ir.analysis.stages import (
    Meeting,
    Tally,
    accesses,
    allocation_depth,
    at,
    element,
    meeting_of,
    name_of,
    outside,
    precedes,
    primed,
    reads_of,
    refuse_asserts,
    tally,
    values_at,
    with_allocations_first,
)
from ir.dtypes import DType
from ir.naming import fresh
from ir.nodes import (
    SKIP,
    Alloc,
    Assume,
    Binary,
    Block,
    Buffer,
    Evaluate,
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
    Var,
    const,
    seq,
)
from ir.presburger import sets as pb
from ir.presburger.digits import Digits, divides_by_sizes, sizes_of
from ir.presburger.facts import facts_at, proven
from ir.program.blocks import lower_statement
from ir.program.edit import (
    Changed,
    loop_path,
    loops_around,
    names_in,
    path_to,
    refuse,
    replace_at,
    replace_buffer,
    scope_of,
    with_body,
)
from ir.transform.loops.coalesce import uncoalesced
from ir.transform.stages.restrict import Kept, Restriction, renamed
from ir.transform.storage.contract import compacted
from ir.traverse import (
    all_same,
    bound_var,
    free_vars,
    has_loads,
    is_const,
    map_expr,
    map_stmt,
    stmt_children,
    stmt_exprs,
    stores_in,
    substitute,
    substitute_expr,
    walk,
    walk_expr,
)

OPERATIONS = 1_500_000  # all questions of one step; those of hand-written programs need some ten thousand
_HERE = Var("here'", DType.BOOL)  # marks where a stage will stand


def compute_at(func: PrimFunc, block: str, loop: str, compact: bool = True) -> Changed:
    """Move the stage of a block to the start of a loop's body, to compute there what the iteration reads.

    Its buffers are allocated in the loop; with `compact`, in the shape of the box around what an iteration needs, where
    that is a difference of simple indices. Returns the loops that stay around what is computed.

    Raises:
        ScheduleError: the loop does not contain all consumers, or is not after the stage; the stage writes something
            else, or its inputs change before they would be read again.
    """
    done = pb.within_budget(lambda: _compute_at(func, block, loop, compact), None, OPERATIONS)
    return too_many_steps(block, loop) if done is None else done


def too_many_steps(block: str, loop: str) -> Changed:
    """Refuse, since isl has taken too many steps."""
    refuse("budget", f"finding what `{block}` must do in loop {loop} takes too many steps", help="split the stage")


def _compute_at(func: PrimFunc, block: str, loop: str, compact: bool) -> Changed:
    """The stage at the loop, where products of sizes have names meanwhile, such as the extent of rows in one axis."""
    func = _with_nested_loops(func, block, loop)
    bound = {v for s in walk(func.body) for v in bound_var(s)}
    _, target = meeting_of(func, block, loop)
    sizes = {} if divides_by_sizes(target.body, bound) else sizes_of(func, names_in(func))
    if not sizes:  # or digits say all there is to say
        return _at_loop(func, block, loop, compact, {})
    named = _with_terms(func, {size: var for var, size in sizes.items()})
    done = _at_loop(named, block, loop, compact, sizes)
    return replace(done, func=_with_terms(done.func, {**sizes}))


def _with_nested_loops(func: PrimFunc, block: str, loop: str) -> PrimFunc:
    """A function whose stage has nested loops in the place of such as count several of symbolic extents together: of
    quotients by names sets know nothing."""
    meeting, _ = meeting_of(func, block, loop)
    taken = names_in(func)
    for depth, stmt in enumerate(meeting.left):
        if isinstance(stmt, For) and divides_by_sizes(stmt.body, {stmt.var}):
            path = (*meeting.shared, *meeting.left[: depth + 1])
            new = uncoalesced(stmt, facts_at(func, path), taken)
            if new is not None:
                return _with_nested_loops(with_body(func, path, new), block, loop)
    return func


def _with_terms(func: PrimFunc, terms: Mapping[Expr, Expr]) -> PrimFunc:
    """A function with some terms for others, also in the shapes of its locals."""

    def on_expr(expr: Expr) -> Expr:
        return map_expr(expr, lambda e: terms.get(e, e))

    def on_buffer(buffer: Buffer) -> Buffer:
        shape = tuple(map(on_expr, buffer.shape))
        return buffer if buffer in func.buffers or shape == buffer.shape else replace(buffer, shape=shape)

    def loads(expr: Expr) -> Expr:
        changed = on_expr(expr)
        return map_expr(changed, lambda e: replace(e, buffer=on_buffer(e.buffer)) if isinstance(e, Load) else e)

    return replace(func, body=map_stmt(func.body, loads, on_buffer=on_buffer))


def _at_loop(func: PrimFunc, block: str, loop: str, compact: bool, sizes: Mapping[Var, Expr]) -> Changed:
    """The stage at the loop, or else in a copy of the loops inside it, where an iteration of those needs less."""
    below = _down_to_readers(func, block, loop) if compact else ()
    if below and divides_by_sizes(below[0], {s.var for s in below if isinstance(s, For)}):
        inner = _placed(func, block, loops_around(below)[-1].var.name, compact, sizes)
        if inner.has_digits and (followed := _followed(inner, loop, below)) is not None:
            return followed
    done = _placed(func, block, loop, compact, sizes)
    if not below or not done.has_cases:
        return done.changed
    inner = _placed(func, block, loops_around(below)[-1].var.name, compact, sizes)
    followed = None if inner.changed.outputs else _followed(inner, loop, below)
    return done.changed if followed is None else followed


class _Placed(Struct, frozen=True, eq=False):
    """A function with a stage at the start of a loop's body, in the allocations of the buffers that it computes."""

    changed: Changed
    stage: int  # of how many statements it consists
    local: int  # and how many of its buffers are allocated around it
    has_cases: bool  # in the bounds of its loops
    has_digits: bool  # which tell its elements


def _down_to_readers(func: PrimFunc, block: str, loop: str) -> tuple[Stmt, ...]:
    """Loops inside a loop, alone in one another but for conditions on variables, that contain all readers of a block.

    Their extents have values outside of all of them. None where there is no such loop.
    """
    meeting, target = meeting_of(func, block, loop)
    made = set(tally(meeting.left[0]).stores)
    known = facts_at(func, (*meeting.shared, *meeting.right, target.body))
    found: list[Stmt] = []
    stmt = target.body
    while True:
        match stmt:
            case Seq(stmts=stmts):
                readers = [s for s in stmts if any(tally(s).loads[b] for b in made)]
                if len(readers) != 1:
                    break
                stmt = readers[0]
            case If(cond=cond, then=then, other=other):
                if has_loads(cond) or any(tally(other).loads[b] for b in made):
                    break
                found.append(stmt)
                stmt = then
            case For() as inner:
                around = {s.var for s in found if isinstance(s, For)}
                sizes, zero = (inner.start, inner.extent), const(0, inner.extent.dtype)
                if any(has_loads(e) or free_vars(e) & around or pb.affine(e) is None for e in sizes):
                    break
                if not proven(Binary("ge", inner.extent, zero), known):
                    break
                found.append(stmt)
                stmt = inner.body
            case _:
                break
    while found and not isinstance(found[-1], For):
        found.pop()
    return tuple(found)


def _followed(placed: _Placed, loop: str, below: tuple[Stmt, ...]) -> Changed | None:
    """The stage in a copy of the loops `below` a loop, which run right before them; its buffers have axes for them.

    It was placed in the innermost of them, so that its inputs are the same there and before all of them. None where
    buffers of the loops themselves are in the way.
    """
    loops = loops_around(below)
    new = placed.changed.func
    path = loop_path(new, loop)
    target = path[-1]
    inside = path_to(target, lambda s: isinstance(s, For) and s.var.same(loops[-1].var))
    assert isinstance(target, For) and inside is not None and isinstance(inside[-1], For)
    body, buffers = inside[-1].body, list[Buffer]()
    for _ in range(placed.local):
        assert isinstance(body, Alloc)
        buffers.append(body.buffer)
        body = body.body
    if not isinstance(body, Seq):
        return None
    stage, rest = seq(*body.stmts[: placed.stage]), seq(*body.stmts[placed.stage :])
    taken = names_in(new)
    copies = {x.var: replace(x.var, name=fresh(x.var.name, taken)) for x in loops}
    first = tuple(x.var if is_const(x.start, 0) else Binary("sub", x.var, x.start) for x in loops)
    wide = {b: replace(b, shape=(*(x.extent for x in loops), *b.shape)) for b in buffers}
    for old, buffer in wide.items():
        stage, rest = (replace_buffer(s, old, buffer, lambda indices: (*first, *indices)) for s in (stage, rest))
    result = replace_at((*inside[1:-1], inside[-1]), replace(inside[-1], body=rest))
    for parent in reversed(below):
        match parent:
            case For() as outer:
                stage = replace(outer, body=stage)
            case If() as test:
                stage = If(test.cond, stage, SKIP)
            case _:
                raise AssertionError("only loops and conditions stand around the readers")
    result = seq(renamed(stage, copies), result)
    for buffer in reversed(wide.values()):
        result = Alloc(buffer, result)
    names = tuple(copies[x.var].name for x in loops)
    return Changed(with_body(new, path, replace(target, body=result)), (*names, *placed.changed.outputs))


def _indices_of(stmt: Stmt, buffers: set[Buffer], values: dict[Var, Expr], scope: set[Var]) -> Iterator[Expr]:
    """Indices at which a statement reads some buffers, as far as they are expressions of variables in `scope`."""
    match stmt:
        case Block(axes=axes):
            values = values | {a.var: substitute_expr(a.value, values) for a in axes}
        case Let(var=var, value=value):
            values = values | {var: substitute_expr(value, values)}
        case _:
            pass
    for load in (e for x in stmt_exprs(stmt) for e in walk_expr(x) if isinstance(e, Load) and e.buffer in buffers):
        for index in (substitute_expr(i, values) for i in load.indices):
            if free_vars(index) <= scope and not has_loads(index):
                yield index
    for child in stmt_children(stmt):
        yield from _indices_of(child, buffers, values, scope)


def _placed(func: PrimFunc, block: str, loop: str, compact: bool, sizes: Mapping[Var, Expr]) -> _Placed:
    meeting, target = meeting_of(func, block, loop)
    path = (*meeting.shared, *meeting.right)
    digits = Digits.at((*path, target.body), facts_at(func, (*path, target.body)), names_in(func), sizes)
    body = digits.naming(target.body)
    if digits.values:
        func = with_body(func, path, replace(target, body=body))
        meeting, target = meeting_of(func, block, loop)
    move = _Move(func, block, meeting, target, meeting.left[0], tally(meeting.left[0]))
    if meeting.positions[0] > meeting.positions[1]:
        message = f"`{block}` comes after loop {loop}"
        refuse("not-an-ancestor-of-consumer", message, target.span, help="use reverse_compute_at for a consumer")
    refuse_asserts(move.stage, block)
    outputs = move.outputs()
    known = digits.known
    wanted = {
        b: region.intersect(pb.box(b.shape)).intersect_params(known)
        for b, region in reads_of(target.body, outputs).items()
    }
    move.check_iterations(outputs)
    demand = _Demand(block, _without_own_assumptions(move.stage, set(move.used.stores)), known)
    kept, needed = demand.kept({b: get(wanted, b) for b in outputs})
    names = {v.name: v for v in digits.values}
    fixed = names | {v.name: v for v in sizes}
    scope: dict[str, Expr] = scope_of(func, (*meeting.shared, *meeting.right)) | fixed
    forms = tuple(_indices_of(target.body, outputs, {}, {v for v in scope.values() if isinstance(v, Var)}))
    restriction = Restriction(kept, scope, forms=forms)
    stage = restriction.apply(demand.stage, known)
    move.check_inputs(stage, known)
    move.check_parameters(outputs, kept, names)
    local = [b for b in move.used.stores if allocation_depth(meeting.shared, b) is not None]
    has_cases = any(
        isinstance(e, Select) for s in walk(stage) if isinstance(s, For) for x in stmt_exprs(s) for e in walk_expr(x)
    )
    body = with_allocations_first(seq(stage, target.body))
    scope = scope_of(func, (*meeting.shared, *meeting.right)) | fixed
    for buffer in local:
        region = needed[buffer].intersect(pb.box(buffer.shape)) if compact else None
        body = compacted(body, buffer, region, known, scope, {v.name for e in sizes.values() for v in free_vars(e)})
    new = replace(target, body=substitute(body, digits.values))
    result = meeting.replaced(SKIP, replace_at(meeting.right, new), local)
    changed = Changed(result, tuple(v.name for v in restriction.loops))
    return _Placed(
        changed, len(stage.stmts) if isinstance(stage, Seq) else 1, len(local), has_cases, bool(digits.values)
    )


def copied_in(copy: Stmt, body: Stmt, buffer: Buffer, known: isl.Set, scope: dict[str, Expr], compact: bool) -> Stmt:
    """`copy; body` with `buffer` allocated around them, `copy` storing of it what `body` reads, where `known` holds.

    With `compact`, the buffer has the shape of the box around that. What takes too many steps is copied whole.
    """

    def exact() -> Stmt:
        box = pb.box(buffer.shape)
        read = get(reads_of(body, {buffer}), buffer).intersect(box).intersect_params(known)
        kept, needed = _Demand(buffer.name, copy, known).kept({buffer: read})
        part = Restriction(kept, dict(scope)).apply(copy, known)
        region = needed[buffer].intersect(box) if compact else None
        return compacted(with_allocations_first(seq(part, body)), buffer, region, known, scope)

    return pb.within_budget(exact, None, OPERATIONS) or Alloc(buffer, seq(copy, body))


def _without_own_assumptions(stage: Stmt, own: set[Buffer]) -> Stmt:
    """A stage without what it assumes of buffers that it computes: parts of them will not be there."""

    def on_stmt(stmt: Stmt) -> Stmt:
        return SKIP if isinstance(stmt, Assume) and any(accesses(stmt, b) for b in own) else stmt

    if not any(isinstance(s, Assume) and on_stmt(s) is SKIP for s in walk(stage)):
        return stage
    return map_stmt(stage, on_stmt=on_stmt)


class _Move(Struct, frozen=True, eq=False):
    """A producer on its way into a loop, and what may stand against it."""

    func: PrimFunc
    block: str
    meeting: Meeting
    loop: For
    stage: Stmt
    used: Tally

    @property
    def name(self) -> str:
        return self.loop.var.name

    def outputs(self) -> set[Buffer]:
        """Buffers that the stage passes to the loop; refuses where others touch them."""
        everything, body = tally(self.func.body), tally(self.loop.body)
        found: set[Buffer] = set()
        if not any(body.loads[b] for b in self.used.stores):
            names = " or ".join(b.name for b in self.used.stores) if self.used.stores else "anything it computes"
            message = f"loop {self.name} contains no consumer of `{self.block}`"
            refuse("not-an-ancestor-of-consumer", message, self.loop.span,
                   notes=[f"nothing in it reads {names}"], help="name a loop around a block that reads it")  # fmt: skip
        for buffer in self.used.stores:
            elsewhere = everything.touches(buffer) - self.used.touches(buffer) - body.touches(buffer)
            if elsewhere or body.stores[buffer]:
                self._refuse_shared(buffer)
            if body.loads[buffer] or buffer in self.func.buffers:
                found.add(buffer)
        return found

    def _refuse_shared(self, buffer: Buffer) -> None:
        def stores(stmt: Stmt) -> bool:
            return isinstance(stmt, Store) and stmt.buffer == buffer

        writer = next(outside(self.func.body, [self.stage], stores), None)
        if writer is not None:
            message = f"{buffer.name} is also written by {name_of(writer)}"
            refuse("several-producers", message, writer.span, help="let one stage write the buffer")
        own = next((s for s in walk(self.stage) if isinstance(s, Block) and s.name == self.block), self.stage)
        if not any(stores(s) for s in walk(own)):
            message = f"the loops around `{self.block}` also compute {buffer.name}"
            refuse("shared-nest", message, self.stage.span, help="give each stage a nest of its own")
        reader = next(outside(self.func.body, [self.stage, self.loop.body], lambda s: accesses(s, buffer)), self.loop)
        message = f"loop {self.name} does not contain all consumers of {buffer.name}"
        refuse("not-an-ancestor-of-consumer", message, reader.span,
               notes=[f"{name_of(reader)} reads it too"], help="name a loop around all of them")  # fmt: skip

    def check_iterations(self, outputs: set[Buffer]) -> None:
        """Refuse where the stage, or what it is for, uses what was there before this iteration of loops around both."""
        shared = self.meeting.shared
        for buffer in self.used.stores:
            depth = allocation_depth(self.meeting.shared, buffer)
            loops = loops_around(shared[0 if depth is None else depth :])
            if any(isinstance(s, Alloc) and s.buffer == buffer for s in walk(self.stage)):
                continue
            if depth is None or loops:
                effects = EffectAnalysis().of(lower_statement(self.stage))
                self._check_entry(buffer, get(effects.reads, buffer))
                if buffer in outputs and loops:
                    self._check_carried(buffer, effects, loops)

    def _check_entry(self, buffer: Buffer, exposed: isl.Set) -> None:
        found = pb.sample(exposed.intersect_params(self.meeting.known))
        if found is not None:
            message = f"`{self.block}` adds to what {buffer.name} held before, so it must run once"
            note = f"it reads {element(buffer, found[1])} before it writes it"
            refuse("carried", message, self.stage.span, notes=[note], help="initialise the elements in the stage")

    def _check_carried(self, buffer: Buffer, effects: Effects, loops: tuple[For, ...]) -> None:
        known, marks = self.meeting.known, primed((x.var for x in loops), "'")
        names = {v.name: v.name + "'" for v in marks}
        read = reads_of(self.meeting.right[0], {buffer}).get(buffer, pb.nothing(len(buffer.shape)))
        missing = read.subtract(get(effects.must, buffer)).intersect_params(known)
        earlier = precedes([marks[x.var] for x in loops], [x.var for x in loops])
        old = pb.rename(get(effects.may, buffer).intersect_params(known), names).intersect_params(earlier)
        found = pb.sample(missing.intersect(old))
        if found is not None:
            now, then = (values_at(found[0], n) for n in (names, names.values()))
            message = f"loop {self.name} reads what an earlier iteration of {loops[0].var.name} has computed"
            note = f"{element(buffer, found[1])} is read at {now}, and computed at {then}".replace("'", "")
            refuse("carried", message, self.loop.span, notes=[note], help="compute it in the same iteration")

    def check_inputs(self, stage: Stmt, known: isl.Set) -> None:
        """Refuse where an input of the stage changes between its old place and one of the new ones."""
        inputs = {b for b in self.used.loads if not self.used.stores[b]}
        written = {s.buffer for part in (*self.meeting.between, self.meeting.right[0]) for s in stores_in(part)}
        changing = inputs & written
        if not changing:
            return
        parallel = next((s for s in loops_around(self.meeting.right) if s.kind in ("parallel", "vectorized")), None)
        if parallel is not None:
            name = min(b.name for b in changing)
            message = f"iterations of {parallel.kind} loop {parallel.var.name} write {name}, which `{self.block}` reads"
            refuse("parallel", message, parallel.span, help="make the loop serial first")
        regions = EffectAnalysis().of(lower_statement(stage)).reads
        marked = replace(self.loop, body=seq(Evaluate(_HERE), self.loop.body))
        whole = seq(*self.meeting.between, replace_at(self.meeting.right, marked))
        places = list(events(whole))
        here = next(e for e in places if e.store is None and e.text == f"T.evaluate({_HERE.name})")
        for buffer in changing:
            region = get(regions, buffer).intersect_params(known)
            for event in places:
                if event.store is not None and event.store.buffer == buffer:
                    self._check_write(event, here, region)

    def _check_write(self, event: Event, here: Event, region: isl.Set) -> None:
        assert event.store is not None
        marks = primed(event.names, "'")
        spot = pb.point([substitute_expr(i, marks) for i in event.store.indices])
        spot = pb.whole(len(event.store.indices)) if spot is None else spot
        earlier = precedes(at(event.time, marks), here.time)
        bad = region.intersect(spot).intersect_params(domain_of(event, marks).may.intersect(earlier))
        found = pb.sample(bad)
        if found is None:
            return
        message = f"`{self.block}` would read {event.store.buffer.name} after it has changed"
        now = values_at(found[0], [v.name for v in here.names])
        then = values_at({n.removesuffix("'"): x for n, x in found[0].items() if n.endswith("'")},
                         [v.name for v in event.names])  # fmt: skip
        note = f"{element(event.store.buffer, found[1])} is read at {now or 'the start'}, after `{event.text}`"
        refuse("input-changes", message, event.store.span, notes=[note + (f" at {then}" if then else "")],
               help="copy the input first (cache_read)")  # fmt: skip

    def check_parameters(self, outputs: set[Buffer], kept: Sequence[Kept], named: Iterable[str]) -> None:
        """Refuse where an element of a result would no longer be computed, as no consumer asks for it."""
        names = [*named, *(loop.var.name for loop in loops_around(self.meeting.right))]
        for part in kept:
            store = part.event.store
            assert store is not None
            if store.buffer not in outputs or store.buffer not in self.func.buffers:
                continue
            domain = domain_of(part.event, {}).may.intersect(self.meeting.known)
            found = pb.sample(domain.subtract(pb.forget(part.domain, names)))
            if found is not None:
                where = values_at(found[0], [v.name for v in part.event.names])
                message = f"{store.buffer.name} is a result, and loop {self.name} does not read all of it"
                note = f"`{part.event.text}` would not run at {where}"
                refuse("result", message, self.loop.span, notes=[note], help="compute into a copy first (cache_write)")
            parallel = next((s for s in self.meeting.right if isinstance(s, For) and s.kind != "serial"), None)
            if parallel is not None:
                message = (
                    f"iterations of {parallel.kind} loop {parallel.var.name} would write {store.buffer.name} at once"
                )
                refuse("parallel", message, parallel.span, help="compute into a copy first (cache_write)")


class _Demand(Struct, frozen=True, eq=False):
    """Which instances of a stage are needed for given elements of its buffers."""

    block: str
    stage: Stmt
    known: isl.Set

    def kept(self, wanted: Mapping[Buffer, isl.Set]) -> tuple[list[Kept], Regions]:
        """What stays of each store, in program order, and a region of each buffer that contains all it computes."""
        found = events(self.stage)
        stores = [e for e in found if e.store is not None]
        own = {e.store.buffer for e in stores if e.store is not None}
        needed: Regions = {b: get(dict(wanted), b) for b in own}
        for event in found:
            if event.store is None:  # bindings and conditions are evaluated wherever their loops run
                needed = unite(needed, self._reads(event, domain_of(event, {}).may, own))
        chosen: dict[int, Kept] = {}
        for buffer in self._consumers_first(stores, own):
            mine = [e for e in stores if e.store is not None and e.store.buffer == buffer]
            needed[buffer] = self._closed(buffer, mine, needed[buffer])
            for event in mine:
                assert event.store is not None
                spot = pb.point(event.store.indices)
                which = pb.always() if spot is None else spot.intersect(needed[buffer]).params()
                domain = domain_of(event, {}).may.intersect(which).intersect(self.known)
                chosen[id(event)] = Kept.of(event, which, domain)
                needed = unite(needed, self._reads(event, domain, own - {buffer}))
        return [chosen[id(e)] for e in stores], needed

    def _reads(self, event: Event, domain: isl.Set, buffers: set[Buffer]) -> Regions:
        """Elements of some buffers that instances of a place read."""
        loaded = {load.buffer for load in event.reads} & buffers
        if not loaded:
            return {}
        exprs = [] if event.store is None else [*event.store.indices, event.store.value]
        direct = unite(*(read_regions(e, domain) for e in (*exprs, *event.guards)))
        for load in event.reads if event.store is None else ():
            direct = unite(direct, read_regions(load, domain))
        return {b: pb.forget(region, _inside(event, b)) for b, region in direct.items() if b in loaded}

    def _consumers_first(self, stores: Sequence[Event], own: set[Buffer]) -> Iterable[Buffer]:
        readers = {b: {e.store.buffer for e in stores if e.store is not None and any(r.buffer == b for r in e.reads)}
                   for b in own}  # fmt: skip
        left = sorted(own, key=lambda b: b.name)
        while left:
            ready = next((b for b in left if not (readers[b] - {b}).intersection(left)), None)
            if ready is None:
                message = (
                    f"buffers that `{self.block}` computes depend on each other: {', '.join(b.name for b in left)}"
                )
                refuse("recurrence", message, self.stage.span, help="compute each in a stage of its own")
            left.remove(ready)
            yield ready

    def _closed(self, buffer: Buffer, stores: Sequence[Event], needed: isl.Set) -> isl.Set:
        """Elements with all other elements of the same buffer that they are computed from."""
        steps: isl.Map | None = None
        rank = len(buffer.shape)
        if any(e.store is not None and pb.point(e.store.indices) is None for e in stores):
            return pb.whole(rank)
        for event in stores:
            assert event.store is not None
            for load in event.reads:
                if load.buffer != buffer or all_same(load.indices, event.store.indices):
                    continue
                pair = pb.point([*event.store.indices, *load.indices])
                if pair is None:
                    return pb.whole(rank)
                pair = pb.forget(pair.intersect_params(domain_of(event, {}).may), _inside(event, buffer))
                step = isl.Map.from_range(pair).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, rank)
                steps = step if steps is None else steps.union(step)
        if steps is None:
            return needed
        closure, exact = steps.transitive_closure()
        return needed.union(needed.apply(closure)) if exact else pb.whole(rank)


def _inside(event: Event, buffer: Buffer) -> list[str]:
    """Loops around a place that a buffer lives longer than one iteration of."""
    return [v.name for v in event.names[event.private.get(buffer, 0) :]]
