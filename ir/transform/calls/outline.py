"""Splitting a function in two, with what one must tell the other.

What the stage leaves in the buffers between the two functions is provable only while both are one. So it is written
down when they part: values that the stage establishes become assumptions of the rest, and what the rest never looks at
becomes permission in the stage (stores of undef) to leave anything there, and in the rest to read it. The stage may
change later within what its stores of undef permit, which no assumption of the rest speaks against.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Iterator, Sequence

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.conditions import negate
from ir.analysis.effects import EffectAnalysis, Effects, get, unite
from ir.analysis.legality import events
from ir.dtypes import DType
from ir.nodes import (
    FALSE,
    SKIP,
    TRUE,
    Alloc,
    Assume,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Module,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Undef,
    Var,
    seq,
)
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import entry_facts
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.program.edit import ROOT, block_path, blocks_of, names_in, nest, refuse, replace_buffer
from ir.transform.storage.padding import grid, own_names
from ir.traverse import (
    all_exprs,
    buffers_written,
    free_vars,
    has_loads,
    is_fixed,
    shape_vars,
    stmt_children,
    substitute,
    substitute_expr,
    walk,
)


def split_function(module: Module, func: str, block: str, name: str) -> Module:
    """Hoist a stage of `func`, a block at the top of its body with the loops around it, into a function `name`.

    The new function runs before what is left of `func`; local buffers that both use become parameters of both. Each
    takes the buffers that it only reads, then those it writes, then scalars. Stages after it that write the padding of
    its buffers (blocks `<buffer>_padding`, as layout transformations make them) go along.

    Raises:
        ScheduleError: the block is no stage of its own, is all there is, or depends on what precedes it; or directed
            steps have changed the function before.
    """
    source = module[func]
    _check_name(module, name)
    if source.origin is not None:
        # Between parts of it may lie other values than between those of the program as written, so that no part has
        # derivatives of its own which together give those of the whole.
        message = f"directed steps have changed {func}, and its parts are no refinements of parts of what was written"
        refuse("refined", message, source.span, help="split the function first, and apply the steps to its parts")
    parts = _Parts.of(source, block)
    stage, rest = _told(parts, source)
    first = parts.function(name, stage, source)
    second = parts.function(func, rest, source, keep_unused=True)
    funcs = [g for f in module.funcs for g in ((first, second) if f is source else (f,))]
    return replace(module, funcs=tuple(funcs))


def _check_name(module: Module, name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        refuse("name", f"`{name}` cannot name a function", help="give a name of letters, digits and underscores")
    if any(f.name == name for f in module.funcs):
        refuse("name", f"the module has a function `{name}` already", help="give another name for the stage")


# Parting -------------------------------------------------------------------------------------------------------------


class _Parts(Struct, frozen=True):
    """A stage and what is left, each as statements in order; `local` are the buffers allocated around them."""

    stage: tuple[Stmt, ...]
    rest: tuple[Stmt, ...]
    local: tuple[Buffer, ...]

    @staticmethod
    def of(func: PrimFunc, block: str) -> _Parts:
        """Take the stage of a block out of a function.

        Raises:
            ScheduleError: see `split_function`.
        """
        local: list[Buffer] = []
        items = list(_items(func.body, local))
        place = _place(func, items, block)
        _check_alone(func, items[place], block)
        end = place + 1
        while end < len(items) and _pads(items[end], buffers_written(items[place])):
            end += 1
        stage = items[place:end]
        moved, left = _past(seq(*stage), items[:place], block)
        rest = (*left, *items[end:])
        if not any(isinstance(s, Store) for item in rest for s in walk(item)):
            message = f"block `{block}` is all that {func.name} does"
            refuse("split", message, stage[0].span, help="nothing would be left")
        needed = _buffers([item for item in rest if not any(item is m for m in moved)])
        rest = tuple(item for item in rest if not any(item is m for m in moved) or _buffers([item]) <= needed)
        parts = _Parts((*moved, *stage), rest, tuple(local))
        return parts._global()

    def _global(self) -> _Parts:
        """Buffers that become parameters lie in global memory."""
        parts = self
        for old in self.shared:
            if old.scope != "global":
                new = replace(old, scope="global")
                stage, rest = (
                    tuple(replace_buffer(s, old, new, lambda indices: indices) for s in part)
                    for part in (parts.stage, parts.rest)
                )
                parts = _Parts(stage, rest, tuple(new if b == old else b for b in parts.local))
        return parts

    @property
    def shared(self) -> tuple[Buffer, ...]:
        """Local buffers that both parts use."""
        first, second = _buffers(self.stage), _buffers(self.rest)
        return tuple(b for b in self.local if b in first and b in second)

    def function(self, name: str, items: Sequence[Stmt], source: PrimFunc, *, keep_unused: bool = False) -> PrimFunc:
        """A function that runs `items`, with the parameters that they need."""
        used = _buffers(items)
        elsewhere = _buffers([*self.stage, *self.rest])
        shared = self.shared
        outer = [b for b in source.buffers if b in used or (keep_unused and b not in elsewhere)]
        outer += [b for b in shared if b in used]
        body = seq(*items)
        for buffer in reversed(self.local):
            if buffer in used and buffer not in shared:
                body = Alloc(buffer, body)
        written = buffers_written(body)
        buffers = [b for b in outer if b not in written] + [b for b in outer if b in written]
        params: list[Var | Buffer] = [*buffers, *_scalars(source, body, buffers)]
        attrs = tuple((k, v) for k, v in source.attrs if _kept(k, {p.name for p in params}))
        return PrimFunc(name, tuple(params), body, attrs, source.span)


def _items(stmt: Stmt, local: list[Buffer]) -> Iterator[Stmt]:
    """Statements at the top of a body, in order; allocations around them are noted, plain names written out."""
    match stmt:
        case Seq(stmts=stmts):
            for inner in stmts:
                yield from _items(inner, local)
        case Alloc(buffer=buffer, body=body):
            local.append(buffer)
            yield from _items(body, local)
        case Let(var=var, value=value, body=body) if is_fixed(value):
            yield from _items(substitute(body, {var: value}), local)
        case Block(name=name, axes=(), init=None, predicate=predicate, body=body) if name == ROOT:
            yield from _items(body if predicate.same(TRUE) else If(predicate, body, SKIP), local)
        case _:
            yield stmt


def _place(func: PrimFunc, items: Sequence[Stmt], block: str) -> int:
    """Which statement at the top holds a block, alone but for loops and conditions."""
    path = block_path(func, block)
    if not isinstance(path[-1], Block) or block == ROOT:
        help = f"the blocks are {', '.join(blocks_of(func))}" if blocks_of(func) else "give the stage a T.block"
        refuse("split", f"`{block}` is the whole body of {func.name}", func.span, help=help)
    for place, item in enumerate(items):
        if any(isinstance(s, Block) and s.name == block for s in walk(item)):
            return place
    raise AssertionError("the blocks of a function are those of its statements")


def _check_alone(func: PrimFunc, stage: Stmt, block: str) -> None:
    """Raise unless a statement at the top does nothing but what one block in it does."""
    inside = stage
    while not (isinstance(inside, Block) and inside.name == block):
        children = [s for s in stmt_children(inside) if s != SKIP]
        if isinstance(inside, (For, If)) and len(children) == 1:
            (inside,) = children
            continue
        notes = [f"it stands in block `{inside.name}`"] if isinstance(inside, Block) else []
        message = f"block `{block}` is no stage of its own at the top of {func.name}"
        refuse("split", message, stage.span, notes=notes, help="move what stands beside it out of its loops first")


def _pads(stmt: Stmt, buffers: set[Buffer]) -> bool:
    """Whether a statement writes the padding that a layout gave to one of the buffers."""
    names = [s.name for s in walk(stmt) if isinstance(s, Block)]
    padding = tuple(f"{b.name}_padding" for b in buffers)
    return len(names) == 1 and names[0].startswith(padding) and buffers_written(stmt) <= buffers


def _past(stage: Stmt, before: Sequence[Stmt], block: str) -> tuple[list[Stmt], list[Stmt]]:
    """Assumptions that the stage takes along, and what of the statements before it stays.

    Raises:
        ScheduleError: the stage depends on a statement before it.
    """
    analysis = EffectAnalysis()
    mine = analysis.of(lower_statement(stage))
    used = _buffers([stage])
    moved: list[Stmt] = []
    left: list[Stmt] = []
    written: set[Buffer] = set()
    for item in before:
        if _only_assumes(item):
            about = _buffers([item])
            if about <= used and about.isdisjoint(written):
                moved.append(item)
                if about.isdisjoint(buffers_written(stage)):
                    left.append(item)
                continue
            if not about.isdisjoint(buffers_written(stage)):
                continue  # it speaks of contents that the stage has replaced by then
            left.append(item)
            continue
        _check_independent(analysis.of(lower_statement(item)), mine, item, block)
        written |= buffers_written(item)
        left.append(item)
    return moved, left


def _only_assumes(stmt: Stmt) -> bool:
    """Whether a statement says something, and does nothing."""
    leaves = [s for s in walk(stmt) if not stmt_children(s) and s != SKIP]
    plain = all(isinstance(s, (For, If, Seq, Block, Assume)) for s in walk(stmt))
    return plain and bool(leaves) and all(isinstance(s, Assume) for s in leaves)


def _check_independent(first: Effects, second: Effects, item: Stmt, block: str) -> None:
    touched = unite(second.reads, second.may)
    for buffer in first.may.keys() | first.reads.keys():
        one, other = (touched, second.may) if buffer in first.may else (second.may, second.may)
        clash = get(first.may, buffer).intersect(get(one, buffer))
        clash = clash.union(get(first.reads, buffer).intersect(get(other, buffer)))
        clash = clash.intersect(pb.box(buffer.shape))
        found = pb.within_budget(lambda c=clash: pb.sample(c), ({}, ()))
        if found is None:
            continue
        element = f"{buffer.name}[{', '.join(map(str, found[1]))}]" if found[1] else buffer.name
        sizes = ", ".join(f"{k} = {v}" for k, v in found[0].items())
        notes = [f"both touch {element}{' with ' + sizes if sizes else ''}", f"it is preceded by `{_line(item)}`"]
        help = "hoist the stages before it first, or together with it"
        refuse("dependence", f"block `{block}` depends on what runs before it", item.span, notes=notes, help=help)


def _line(stmt: Stmt) -> str:
    return to_script(stmt).strip().splitlines()[0]


# Parameters ----------------------------------------------------------------------------------------------------------


def _buffers(items: Iterable[Stmt]) -> set[Buffer]:
    """Buffers that statements access without allocating them."""
    found: set[Buffer] = set()
    own: set[Buffer] = set()
    for item in items:
        for stmt in walk(item):
            if isinstance(stmt, Alloc):
                own.add(stmt.buffer)
            elif isinstance(stmt, Store):
                found.add(stmt.buffer)
        found |= {e.buffer for e in all_exprs(item) if isinstance(e, Load)}
    return found - own


def _scalars(source: PrimFunc, body: Stmt, buffers: Sequence[Buffer]) -> list[Var]:
    """Scalar parameters: those that are used, and sizes that no buffer has as an extent."""
    used = {e for e in all_exprs(body) if isinstance(e, Var)}
    used |= {v for b in buffers for extent in b.shape for v in free_vars(extent)}
    extents = {extent for b in buffers for extent in b.shape if isinstance(extent, Var)}
    sizes = [v for v in shape_vars(source) if v in used and v not in extents]
    return [*(v for v in source.scalars if v in used), *sizes]


def _kept(attribute: str, params: set[str]) -> bool:
    """Whether an attribute concerns a function with these parameters."""
    kind, _, name = attribute.partition(".")
    return name in params if kind == "layout" else kind != "docstring"


# Telling -------------------------------------------------------------------------------------------------------------


def _told(parts: _Parts, source: PrimFunc) -> tuple[list[Stmt], list[Stmt]]:
    """The statements of both functions, with permissions at the end of the stage and assumptions before the rest."""
    analysis = EffectAnalysis()
    stage = analysis.of(lower_statement(seq(*parts.stage)))
    rest = analysis.of(lower_statement(seq(*parts.rest)))
    between = [b for b in (*source.buffers, *parts.local) if b in buffers_written(seq(*parts.stage))]
    between = [b for b in between if b in _buffers(parts.rest) and b.dtype is not DType.BOOL]
    teller = _Teller(source, parts)
    for buffer in between:
        unread = pb.box(buffer.shape).subtract(get(rest.reads, buffer))
        if buffer not in parts.shared:  # the caller looks at it after the rest
            unread = unread.intersect(get(rest.must, buffer))
        for value, region in _constants(stage, buffer):
            teller.assume(buffer, region, value)
            unread = unread.subtract(region)
        already = stage.established.get((buffer, Undef(buffer.dtype)))
        teller.permit(buffer, unread if already is None else unread.subtract(already))
        teller.assume(buffer, unread if already is None else unread.union(already), Undef(buffer.dtype))
    return [*parts.stage, *teller.permissions], [*teller.assumptions, *parts.rest]


def _constants(stage: Effects, buffer: Buffer) -> list[tuple[Const, isl.Set]]:
    """Numbers that a stage leaves in a buffer, and where."""
    found: list[tuple[Const, isl.Set]] = []
    for (other, value), region in stage.established.items():
        if other == buffer and isinstance(value, Const) and not _is_nan(value):
            found.append((value, region.intersect(pb.box(buffer.shape))))
    return found


def _is_nan(value: Const) -> bool:
    return isinstance(value.value, float) and math.isnan(value.value)


class _Teller:
    """Writes what the two functions are told, as nests over a buffer."""

    def __init__(self, source: PrimFunc, parts: _Parts) -> None:
        self.source = source
        self.stage = seq(*parts.stage)
        self.taken_there = names_in(replace(source, body=self.stage))
        self.taken_here = names_in(replace(source, body=seq(*parts.rest)))
        self.assumptions: list[Stmt] = []
        self.permissions: list[Stmt] = []

    def assume(self, buffer: Buffer, region: isl.Set, value: Const | Undef) -> None:
        """Tell the rest what a region holds; of undef, that it may be read."""
        found = self._where(buffer, region, self.taken_here)
        if found is not None:
            loops, indices, _, outside = found
            claim = Binary("eq", Load(buffer, indices), value)
            self.assumptions.append(nest(loops, Assume(claim if outside.same(FALSE) else Binary("or", outside, claim))))

    def permit(self, buffer: Buffer, region: isl.Set) -> None:
        """Let the stage leave anything in a region."""
        found = self._where(buffer, region, self.taken_there)
        if found is not None:
            loops, indices, inside, _ = found
            store = Store(buffer, indices, Undef(buffer.dtype))
            self.permissions.append(nest(loops, store if inside.same(TRUE) else If(inside, store, SKIP)))

    def _where(
        self, buffer: Buffer, region: isl.Set, taken: set[str]
    ) -> tuple[list[For], tuple[Expr, ...], Expr, Expr] | None:
        """Loops over a buffer, its indices, and the conditions to be in a region and not; None if it is empty."""
        names, guards = self._model(buffer)
        loops, indices = grid(buffer, names, set(taken))
        known = entry_facts(self.source)
        for loop in loops:
            known = known.intersect(pb.loop_domain(loop.var, loop.start, loop.extent).must)
        spot = pb.point(indices)
        assert spot is not None

        def question() -> tuple[Expr, Expr] | None:
            inside = spot.intersect(region).params().intersect(known).coalesce()
            if inside.is_empty():
                return None
            if known.is_subset(inside):
                return TRUE, FALSE
            return self._conditions(inside, known, [(g, dict(zip(v, indices, strict=True))) for g, v in guards], loops)

        found = pb.within_budget(question, None)
        if found is None:
            return None
        taken |= {v.name for v in indices if isinstance(v, Var)}
        return loops, indices, *found

    def _conditions(
        self, inside: isl.Set, known: isl.Set, guards: Sequence[tuple[Expr, dict[Var, Expr]]], loops: Sequence[For]
    ) -> tuple[Expr, Expr]:
        """The condition to be inside and its negation: as the stage itself puts it, or as isl does."""
        outside = known.subtract(inside)
        for guard, here in guards:
            cond = substitute_expr(guard, here)
            holds = pb.condition(cond)
            if not holds.exact or free_vars(cond) - self._visible(loops):
                continue
            met = known.intersect(holds.must)
            if met.is_equal(inside):
                return cond, negate(cond)
            if met.is_equal(outside):
                return negate(cond), cond
        scope: dict[str, Expr] = {v.name: v for v in self._visible(loops)}
        return readback.condition(inside, scope, known), readback.condition(outside, scope, known)

    def _visible(self, loops: Sequence[For]) -> set[Var]:
        return {*self.source.scalars, *shape_vars(self.source), *(loop.var for loop in loops)}

    def _model(self, buffer: Buffer) -> tuple[list[str], list[tuple[Expr, tuple[Var, ...]]]]:
        """Names for the indices of a buffer, and conditions on them, after how the stage stores to it."""
        names = own_names(buffer)
        guards: list[tuple[Expr, tuple[Var, ...]]] = []
        for event in events(self.stage):
            if event.store is None or event.store.buffer != buffer:
                continue
            places = tuple(i for i in event.store.indices if isinstance(i, Var) and i in event.names)
            if len(set(places)) != len(event.store.indices):
                continue
            if not guards:
                names = [v.name for v in places]
            guards += [(g, places) for g in event.guards if not has_loads(g)]
        return names, guards
