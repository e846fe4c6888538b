"""From a function to guarded stores in loops, the form that dependence analysis and emission work on.

Lets become plain statements, branches become guards, assumptions and stores of undef are erased. A value that
must be taken once, before a statement changes what it reads, becomes a local buffer of rank 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import assert_never, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ir.analysis.conditions import negate
from ir.analysis.coverage import reads_before_writing
from ir.analysis.dependence import Loop, Statement, Tile, UpdateOp, common_loops, users_of, waiting
from ir.analysis.steady_elements import SteadyElements
from ir.dtypes import DType
from ir.floats import Floats
from ir.naming import fresh
from ir.nodes import (
    TRUE,
    Alloc,
    AnyStmt,
    Assert,
    Assume,
    Binary,
    Block,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    const,
)
from ir.program.blocks import lower_blocks
from ir.transform.calls.tensorize import Differs
from ir.traverse import (
    all_exprs,
    buffers_written,
    children,
    conjuncts_of,
    free_vars,
    has_loads,
    is_const,
    loads,
    map_expr,
    map_stmt,
    nesting,
    shape_vars,
    stmt_exprs,
    walk,
    walk_expr,
    with_children,
)
from lower.analysis.freedoms import Form, Policy
from lower.analysis.updates import split_update, update_of
from lower.nest.if_conversion import DISJOINT_CASES, as_extreme, converter, disjoint_cases, is_large
from lower.nest.linear_combinations import collected
from lower.nest.tiles import tiles

PRIVATIZATION = Form(
    "structure.privatization",
    "one local for several lives of it  =  a local for each life and each iteration",
    "nothing reads in one life what was written in another",
)

_DEEPEST = 120  # levels of a value that is one expression in source; sums of 100 terms are


Place = Callable[[tuple[Expr, ...]], tuple[Expr, ...] | None]  # where an element now is; None if it stays


class Check(Struct, frozen=True):
    """A condition to test at run time: `buffer` (rank 0) holds whether it always held."""

    buffer: Buffer
    node: Assert | Assume


class Program(Struct):
    """A function in normal form. `depth[b]` is how many loops around local buffer b have a copy for each iteration.

    `raw` are locals that may hold whatever a part of a parameter holds, also what the program never reads; `tiles` are
    those that lie in memory as their parameter does. `flat` has, by their names, parameters as callers give them, where
    the program sees them with other dimensions, and `order` that in which it takes these first. `policy` says which
    freedoms its forms may take. `source` is the program as it was written, where this is another. `spoiled` has the
    names of buffers that may hold what is no number because undef went into it. `steady` are integers that
    nothing stores to, with what is assumed of them. Around statements at some positions, loops are steps `in_turn`,
    though they carry nothing.
    """

    func: PrimFunc
    policy: Policy = field(default_factory=Policy)
    statements: list[Statement] = field(default_factory=list[Statement])
    depth: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    checks: list[Check] = field(default_factory=list[Check])
    notes: list[str] = field(default_factory=list[str])
    names: set[str] = field(default_factory=set[str])
    tiles: set[Buffer] = field(default_factory=set[Buffer])
    raw: set[Buffer] = field(default_factory=set[Buffer])
    flat: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    order: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    source: Program | None = None
    spoiled: set[str] = field(default_factory=set[str])
    steady: SteadyElements | None = None
    in_turn: set[tuple[int, Loop]] = field(default_factory=set[tuple[int, Loop]])

    @property
    def floats(self) -> Floats:
        """The freedoms that are granted."""
        return self.policy.floats

    def fresh(self, name: str) -> str:
        """A name that nothing has yet."""
        return fresh(name, self.names, first=2)

    def renumber(self, statements: Iterable[Statement]) -> None:
        """Have these statements, in this order."""
        self.statements[:] = [replace(s, position=k) for k, s in enumerate(statements)]

    def have(self, statements: Iterable[Statement]) -> None:
        """Have these statements, in this order, and no local that none of them knows."""
        self.renumber(statements)
        used = {b for s in self.statements for b in s.buffers()}
        for local in self.depth.keys() - used:
            del self.depth[local]

    def copy(self) -> Program:
        """The same program, for a plan to change."""
        return replace(
            self,
            statements=list(self.statements),
            depth=dict(self.depth),
            notes=list(self.notes),
            names=set(self.names),
            tiles=set(self.tiles),
            raw=set(self.raw),
        )

    def copied(self) -> tuple[dict[Buffer, int], set[Buffer], set[Buffer]]:
        """What plans change, to be restored."""
        return dict(self.depth), set(self.tiles), set(self.raw)

    def restore(self, kept: tuple[dict[Buffer, int], set[Buffer], set[Buffer]]) -> None:
        """Forget the locals of a plan that was not taken."""
        self.depth.clear()
        self.depth.update(kept[0])
        self.tiles, self.raw = set(kept[1]), set(kept[2])

    @property
    def written(self) -> tuple[Buffer, ...]:
        """Parameters that are stored to in the program as it was written, in order."""
        if self.source is not None:
            return self._own(self.source.written)
        stored = buffers_written(self.func.body)  # where they have the dimensions that callers see
        return tuple(b for b in self.func.buffers if self.flat.get(b.name, b) in stored)

    @property
    def unwritten(self) -> frozenset[Buffer]:
        """Buffers that nothing stores to."""
        return frozenset().union(*(s.buffers() for s in self.statements)) - {s.buffer for s in self.statements}

    @property
    def optional(self) -> tuple[Buffer, ...]:
        """Those of them that are never read before they are written: callers may leave them out."""
        if self.source is not None:
            return self._own(self.source.optional)
        users, steady = users_of(self.statements), self.unwritten
        told = None if self.steady is None else self.steady.told
        return tuple(b for b in self.written if not reads_before_writing(users[b], b, 0, steady, told))

    def _own(self, buffers: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The parameters of these names."""
        names = {b.name for b in buffers}
        return tuple(b for b in self.func.buffers if b.name in names)


def normalize(func: PrimFunc, checks: bool = False, policy: Policy | None = None) -> Program:
    """Bring `func` into normal form; with `checks`, asserts and assumptions are evaluated too."""
    policy = Policy() if policy is None else policy
    source = None if func.origin is None else normalize(func.origin, policy=Policy(policy.floats))
    program = Program(func, policy, source=source)
    body = _without_loads_of_nothing(lower_blocks(func, instances=True).body)
    builder = _Builder(program, checks)
    builder.visit(builder.converter.convert(body), _Place())
    program.names |= {loop.var.name for s in program.statements for loop in s.loops}
    _drop_single_positions(program)
    _split_at_numbers(program)
    while policy.takes(PRIVATIZATION):  # a copy for each iteration may have several lives in it
        before = dict(program.depth)
        _split_lifetimes(program)
        _privatise(program)
        _drop_single_positions(program)
        if program.depth == before:
            break
    return program


class _Place(Struct, frozen=True):
    """Where a statement stands: loops and guards around it, what variables stand for, and locals by their new names."""

    loops: tuple[Loop, ...] = ()
    guards: tuple[Expr, ...] = ()
    values: Mapping[Var, Expr] = {}
    buffers: Mapping[Buffer, Buffer] = {}

    def expr(self, expr: Expr) -> Expr:
        """An expression in terms of what stands for its names."""
        if not self.values and not self.buffers:
            return expr

        def one(e: Expr) -> Expr:
            if isinstance(e, Var):
                return self.values.get(e, e)
            if isinstance(e, Load) and e.buffer in self.buffers:
                return replace(e, buffer=self.buffers[e.buffer])
            return e

        return map_expr(expr, one)

    def buffer(self, buffer: Buffer) -> Buffer:
        """A buffer by its new name."""
        return self.buffers.get(buffer, buffer)

    def written(self, stmt: Stmt) -> set[Buffer]:
        """The buffers that a statement stores to."""
        return set(map(self.buffer, buffers_written(stmt)))

    def under(self, cond: Expr) -> _Place:
        """The place behind a guard."""
        return replace(self, guards=(*self.guards, *conjuncts_of(cond)))

    def where(self, var: Var, value: Expr) -> _Place:
        """The place where a variable stands for a value."""
        return replace(self, values={**self.values, var: value})


class _Builder:
    def __init__(self, program: Program, checks: bool) -> None:
        self.program = program
        self.checks = checks
        func = program.func
        program.names |= {p.name for p in func.params} | {v.name for v in shape_vars(func)}
        self.converter = converter(func, program.policy)

    def visit(self, stmt: Stmt, at: _Place) -> None:
        """Append the statements of `stmt`."""
        match cast(AnyStmt, stmt):
            case Store() as s:
                self._store(s, at)
            case Seq(stmts=stmts):
                for s in stmts:
                    self.visit(s, at)
            case If() as s:
                self._branch(s, at)
            case For() as s:
                self._loop(s, at)
            case Let(var=var, value=value, body=body):
                self.visit(body, at.where(var, self._bind(var, at.expr(value), body, at)))
            case Alloc(buffer=buffer, body=body):
                shape = tuple(map(at.expr, buffer.shape))
                local = replace(buffer, name=self.program.fresh(buffer.name), shape=shape)
                self.program.depth[local] = len(at.loops)
                self.visit(body, replace(at, buffers={**at.buffers, buffer: local}))
            case Assume(cond=cond) | Assert(cond=cond) as s:
                self._check(s, at.expr(cond), at)
            case Evaluate():
                pass
            case Block() as s:
                self._instance(s, at)
            case other:
                assert_never(other)

    def _append(
        self, store: Store, at: _Place, update: tuple[UpdateOp, Expr] | None = None, tile: Tile | None = None
    ) -> None:
        position = len(self.program.statements)
        self.program.statements.append(Statement(position, at.loops, at.guards, store, update, tile))

    def _instance(self, block: Block, at: _Place) -> None:
        """A statement for each result of an instruction, or the loops that it means."""
        body = map_stmt(block.body, at.expr, on_buffer=at.buffer)
        try:
            found = tiles(block, body, at.loops, at.guards, self.program)
        except Differs as reason:
            self.program.notes.append(f"{block.name} runs as the loops that it means: {reason}")
            self.visit(self.converter.convert(block.body), at)
        else:
            for store, tile in found:
                self._append(store, at, tile=tile)

    def _store(self, node: Store, at: _Place) -> None:
        indices, value = tuple(map(at.expr, node.indices)), at.expr(node.value)
        if isinstance(value, Undef) or is_empty(node.buffer):
            return
        if nesting(value) > _DEEPEST:
            value = map_expr(value, lambda e: self._freeze(e, "part", set(), at, always=is_large(e)))
        policy = self.program.policy
        value = collected(value, policy) if value.dtype.is_float else as_extreme(value, policy)
        store = Store(at.buffer(node.buffer), indices, value, node.span)
        if value.same(Load(store.buffer, indices)):
            return
        update = update_of(store, at.guards, at.loops, policy)
        if update is None or update[0] not in ("add", "sub") or not policy.takes(DISJOINT_CASES):
            self._append(store, at, update)
            return
        private = at.loops[: self.program.depth.get(store.buffer, 0)]
        kept = free_vars(*indices) | {o.var for o in private}
        for guards in disjoint_cases(at.guards, kept, [o.var for o in at.loops]):
            self._append(store, replace(at, guards=guards), update)

    def _loop(self, node: For, at: _Place) -> None:
        written = at.written(node.body)
        start, extent = (
            self._freeze(at.expr(e), f"{node.var.name}_{what}", written, at)
            for e, what in ((node.start, "start"), (node.extent, "extent"))
        )
        if isinstance(extent, Const) and extent.value <= 0:
            return
        if is_const(extent, 1) and not has_loads(start):
            self.visit(node.body, at.where(node.var, start))
            return
        self.visit(node.body, replace(at, loops=(*at.loops, Loop(node.var, start, extent, node.kind))))

    def _branch(self, node: If, at: _Place) -> None:
        cond = self._freeze(at.expr(node.cond), "taken", at.written(node), at)
        if not (isinstance(cond, Const) and not cond.value):
            self.visit(node.then, at.under(cond))
        if not (isinstance(cond, Const) and cond.value):
            self.visit(node.other, at.under(negate(cond)))

    def _bind(self, var: Var, value: Expr, body: Stmt, at: _Place) -> Expr:
        """What stands for a let: its value where that cannot change, or a local buffer that holds it."""
        uses = sum(1 for e in all_exprs(body) if isinstance(e, Var) and e == var)
        plain = not var.dtype.is_float or uses <= 1 or all(isinstance(e, (Const, Var)) for e in walk_expr(value))
        plain |= bool(at.loops) and _is_term(value) and _is_summed(var, body, at.loops[-1].var)
        return self._freeze(value, var.name, at.written(body), at, always=not plain or is_large(value))

    def _freeze(self, value: Expr, name: str, written: set[Buffer], at: _Place, always: bool = False) -> Expr:
        """`value`, or a local that holds it when its loads would change (or `always`)."""
        if not always and all(load.buffer not in written for load in loads(value)):
            return value
        local = self._local(name, value.dtype, at.loops)
        position = len(self.program.statements)
        frozen = Statement(position, at.loops, (), Store(local, (), value), speculated=bool(at.guards))
        self.program.statements.append(frozen)
        return Load(local, ())

    def _local(self, name: str, dtype: DType, loops: tuple[Loop, ...], shape: tuple[Expr, ...] = ()) -> Buffer:
        """A new local, with contents of its own for each iteration of loops."""
        local = Buffer(self.program.fresh(name), shape, dtype, "local")
        self.program.depth[local] = len(loops)
        return local

    def _check(self, node: Assert | Assume, cond: Expr, at: _Place) -> None:
        if not self.checks:
            if isinstance(node, Assert):
                where = "" if node.span is None else f" ({node.span})"
                self.program.notes.append(
                    f"assert{where}: not checked in the compiled kernel; compile with checks=True"
                )
            return
        cond = map_expr(cond, _trust_undef)
        if isinstance(cond, Const) and cond.value:
            return
        flag = Buffer(self.program.fresh("check"), (), DType.BOOL)
        self.program.checks.append(Check(flag, node))
        self._append(Store(flag, (), Binary("and", Load(flag, ()), cond), node.span), at, ("and", cond))


def _is_term(value: Expr) -> bool:
    """Whether a value is a product of elements, which a sum takes as a contraction has them: by itself it would be an
    array with the axes of both."""
    return isinstance(value, Binary) and value.op == "mul" and all(isinstance(e, Load) for e in (value.lhs, value.rhs))


def _is_summed(var: Var, body: Stmt, along: Var) -> bool:
    """Whether all that a statement uses a variable for is to add to several elements that are the same along a loop."""

    def adds(stmt: Stmt) -> bool:
        if not isinstance(stmt, Store) or not free_vars(*stmt.indices).isdisjoint((var, along)):
            return False
        found = split_update(stmt.value, Load(stmt.buffer, stmt.indices))
        return found is not None and found[0] in ("add", "sub")

    users = [s for s in walk(body) if any(var in free_vars(e) for e in stmt_exprs(s))]
    return len(users) > 1 and all(map(adds, users))


def is_empty(buffer: Buffer) -> bool:
    """Whether a buffer has no elements, by a dimension that is a number."""
    return any(isinstance(d, Const) and d.value <= 0 for d in buffer.shape)


def _without_loads_of_nothing(body: Stmt) -> Stmt:
    """Loads of buffers without elements give undef, and stores fault: JAX refuses both even where they never happen."""

    def one(e: Expr) -> Expr:
        return Undef(e.dtype, e.span) if isinstance(e, Load) and is_empty(e.buffer) else e

    return map_stmt(body, lambda e: map_expr(e, one))


def _trust_undef(expr: Expr) -> Expr:
    """`A[i] == undef` permits reading: as a condition it holds."""
    if isinstance(expr, Binary) and expr.op == "eq" and (isinstance(expr.lhs, Undef) or isinstance(expr.rhs, Undef)):
        return TRUE
    if (
        isinstance(expr, Binary)
        and expr.op == "or"
        and any(isinstance(e, Const) and e.value for e in (expr.lhs, expr.rhs))
    ):
        return TRUE
    return expr


def _drop_single_positions(program: Program) -> None:
    """Leave out dimensions of locals in which an iteration has one position: a buffer of one element is a variable."""
    fixed, users = read_by_bounds(program.statements), users_of(program.statements)
    for buffer, depth in list(program.depth.items()):
        if not buffer.shape or buffer in fixed:
            continue
        own = users.get(buffer, [])
        outer = {o.var for s in own[:1] for o in s.loops[:depth]}
        places = [p for s in own for p in s.places(buffer)]
        kept = [d for d, size in enumerate(buffer.shape) if not _one_position(size, [p[d] for p in places], outer)]
        if len(kept) == len(buffer.shape):
            continue
        slim = replace(buffer, shape=tuple(buffer.shape[d] for d in kept))
        relocate(program, buffer, slim, lambda indices, kept=kept: tuple(indices[d] for d in kept))


def _one_position(extent: Expr, indices: Sequence[Expr], outer: Collection[Var]) -> bool:
    """Whether a dimension has one position, or an iteration of `outer` loops, with a copy of its own, is at one."""
    if isinstance(extent, Const) and extent.value == 1:
        return True
    used = free_vars(indices[0]) if indices else set()
    own = bool(used) and used <= {*outer} and not has_loads(indices[0])
    return own and all(map(indices[0].same, indices))


def _split_at_numbers(program: Program) -> None:
    """A buffer of its own for the numbers at which all accesses to a local have some dimensions: registers, by name."""
    fixed = read_by_bounds(program.statements)
    waiting = [buffer for buffer in program.depth if buffer not in fixed and buffer.shape]
    while waiting:
        buffer = waiting.pop()
        users = [s for s in program.statements if buffer in s.buffers()]
        places = [indices for s in users for indices in s.places(buffer)]
        at = [d for d in range(len(buffer.shape)) if places and all(isinstance(p[d], Const) for p in places)]
        if not at:
            continue
        rest = [d for d in range(len(buffer.shape)) if d not in at]
        parts: dict[tuple[int, ...], Buffer] = {}
        for numbers in sorted({numbers_at(p, at) for p in places}):
            name = program.fresh("_".join((buffer.name, *map(str, numbers))))
            parts[numbers] = replace(buffer, name=name, shape=tuple(buffer.shape[d] for d in rest))
        depth = program.depth.pop(buffer)
        program.depth.update(dict.fromkeys(parts.values(), depth))
        for s in users:
            program.statements[s.position] = with_parts(s, buffer, parts, at, rest)
        waiting += parts.values() if rest else ()


def numbers_at(indices: Sequence[Expr], at: Sequence[int]) -> tuple[int, ...]:
    """The numbers that indices of some dimensions are."""
    return tuple(int(i.value) for i in (indices[d] for d in at) if isinstance(i, Const))


def with_parts(
    s: Statement, buffer: Buffer, parts: Mapping[tuple[int, ...], Buffer], at: Sequence[int], rest: Sequence[int]
) -> Statement:
    """A statement with parts of a buffer in its place: those at numbers in some dimensions, with the others left."""

    def part(indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        return parts[numbers_at(indices, at)], tuple(indices[d] for d in rest)

    def one(e: Expr) -> Expr:
        return Load(*part(e.indices), e.span) if isinstance(e, Load) and e.buffer == buffer else e

    changed = mapped(s, lambda e: map_expr(e, one))
    store = changed.store
    if store.buffer != buffer:
        return changed
    own, indices = part(store.indices)
    return replace(changed, store=Store(own, indices, store.value, store.span))


def copying(
    program: Program,
    buffer: Buffer,
    part: Buffer,
    numbers: Mapping[int, int] = {},
    around: tuple[Loop, ...] = (),
    *,
    back: bool = False,
) -> Statement:
    """The statement within loops that takes a part of a buffer, at numbers in some dimensions, or puts it back."""
    names = [Var(program.fresh(f"{part.name}_{d}"), DType.INT32) for d in range(len(part.shape))]
    loops = tuple(Loop(v, const(0, v.dtype), n) for v, n in zip(names, part.shape, strict=True))
    here: tuple[Expr, ...] = (*names,)
    left = iter(names)
    there = tuple(const(numbers[d], DType.INT32) if d in numbers else next(left) for d in range(len(buffer.shape)))
    store = Store(buffer, there, Load(part, here)) if back else Store(part, here, Load(buffer, there))
    return Statement(0, (*around, *loops), (), store)


def _split_lifetimes(program: Program) -> None:
    """A buffer of its own for each part of the program that writes a local before it reads it."""
    fixed, steady = read_by_bounds(program.statements), program.unwritten
    for buffer, depth in [(b, d) for b, d in program.depth.items() if b not in fixed]:
        lives: list[list[Statement]] = []
        for part in _parts([s for s in program.statements if buffer in s.buffers()], depth):
            if not lives or not reads_before_writing(part, buffer, depth, steady):
                lives.append(part)
            elif len(lives) == 1 or not reads_before_writing(lives[-1] + part, buffer, depth, steady):
                lives[-1] += part  # of one life alone nothing needs to be asked: it is all that was before
            else:  # it may read what any part before it wrote
                lives = [[s for life in lives for s in life] + part]
        for k, life in enumerate(lives[1:], 2):
            own = replace(buffer, name=program.fresh(f"{buffer.name}_{k}"))
            program.depth[own] = depth
            for s in life:
                program.statements[s.position] = moved(s, buffer, own)


def _parts(statements: list[Statement], depth: int) -> list[list[Statement]]:
    """Statements by the loop that holds them, inside of `depth` loops."""
    parts: list[list[Statement]] = []
    for s in statements:
        if parts and len(s.loops) > depth and s.loops[: depth + 1] == parts[-1][0].loops[: depth + 1]:
            parts[-1].append(s)
        else:
            parts.append([s])
    return parts


def mapped(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with all its expressions changed; its loops stay."""
    store, update = statement.store, statement.update
    return replace(
        statement,
        guards=tuple(map(change, statement.guards)),
        store=Store(store.buffer, tuple(map(change, store.indices)), change(store.value), store.span),
        update=None if update is None else (update[0], change(update[1])),
    )


def read_by_bounds(statements: Iterable[Statement]) -> frozenset[Buffer]:
    """Buffers that bounds of loops read. Loops stay when statements move, so these buffers must stay what they are."""
    bounds = {e for s in statements for o in s.loops for e in (o.start, o.extent)}
    return frozenset(load.buffer for e in bounds for load in loads(e))


def moved(statement: Statement, old: Buffer, new: Buffer, place: tuple[Expr, ...] = ()) -> Statement:
    """The statement with another buffer in place of a local: `new[*place, ...]`."""
    return relocated(statement, old, new, lambda indices: (*place, *indices))


def relocate(program: Program, old: Buffer, new: Buffer, place: Place) -> None:
    """Let a program have elements of another buffer in place of those of one, at other places; of a parameter, `flat`
    keeps what callers give."""
    if old in program.func.buffers:
        program.flat.setdefault(old.name, old)
        params = tuple(new if isinstance(p, Buffer) and p == old else p for p in program.func.params)
        program.func = replace(program.func, params=params)
    program.depth = {new if b == old else b: depth for b, depth in program.depth.items()}
    if old in program.raw:
        program.raw.add(new)
    program.statements[:] = [relocated(s, old, new, place) for s in program.statements]


def relocated(statement: Statement, old: Buffer, new: Buffer, place: Place) -> Statement:
    """The statement with elements of another buffer in place of those of one."""
    if old not in statement.buffers():
        return statement

    def change(expr: Expr) -> Expr:
        return relocated_expr(expr, old, new, place)

    changed, store = mapped(statement, change), statement.store
    indices = place(store.indices) if store.buffer == old else None
    if indices is None:
        return changed
    return replace(changed, store=Store(new, tuple(map(change, indices)), changed.store.value, store.span))


def relocated_expr(expr: Expr, old: Buffer, new: Buffer, place: Place) -> Expr:
    """An expression with elements of another buffer in place of those of one.

    The place is asked about the indices as they stand: in `A[A[i]]`, before those within them have moved.
    """
    indices = place(expr.indices) if isinstance(expr, Load) and expr.buffer == old else None
    parts = children(expr) if indices is None else indices
    changed = tuple(relocated_expr(e, old, new, place) for e in parts)
    if isinstance(expr, Load) and indices is not None:
        return Load(new, changed, expr.span)
    return expr if all(map(operator.is_, parts, changed)) else with_children(expr, changed)


def _privatise(program: Program) -> None:
    """Give each iteration its own copy of a local that every iteration writes before it reads."""
    steady = program.unwritten
    for buffer, depth in list(program.depth.items()):
        users = [s for s in program.statements if buffer in s.buffers()]
        if not users:
            del program.depth[buffer]
            continue
        # Where each iteration already has its own elements, a copy would only add an axis.
        shared = min(common_loops(users[0], s) for s in users)
        levels, held = waiting(users, buffer), set[int]()
        for candidate in range(shared, depth, -1):
            while candidate - 1 not in held and (level := next(levels, None)) is not None:
                held.add(level)
            if candidate - 1 in held and not reads_before_writing(users, buffer, candidate, steady):
                program.depth[buffer] = candidate
                break
