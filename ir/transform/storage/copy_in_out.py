"""Copies of buffers: read and write caches.

The copy is made at the level where the buffer lives, around the *stage* of a block: the statement of that level which
contains it. `root` is everything there but the assumptions at the start, which go on to speak of the buffer itself.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.effects import EffectAnalysis, get
from ir.naming import fresh
from ir.nodes import Alloc, Assume, Block, Buffer, Expr, For, If, Let, Load, PrimFunc, Seq, Stmt, Store, seq
from ir.presburger import sets as pb
from ir.presburger.facts import entry_facts, facts_at
from ir.printing.printer import to_script
from ir.program.blocks import lower_statement
from ir.program.edit import (
    Changed,
    block_path,
    blocks_of,
    find_buffer,
    forget_regions,
    names_in,
    nest,
    path_to,
    refuse,
    replace_at,
    replace_buffer,
    scope_of,
    with_unique_names,
)
from ir.transform.stages.compute_at import copied_in
from ir.transform.storage.padding import grid
from ir.traverse import all_exprs, buffers_written, map_expr, map_stmt, stmt_children, stores_in, walk


def cache_read(func: PrimFunc, block: str, buffer: str, scope: str) -> Changed:
    """Copy what a block reads of a buffer to a local one right before its stage, which then reads the copy.

    The copy stands where the buffer lives, or else inside the loops around both the block and what writes the buffer;
    it is made under the conditions around the block. There it has the shape of the box around what is read.

    Raises:
        ScheduleError: the block does not read the buffer, or its stage writes it, so that the copy could be old.
    """
    source = find_buffer(func, buffer)
    outer = _stage(func, block, source)
    if not any(isinstance(e, Load) and e.buffer == source for e in all_exprs(outer.block)):
        refuse("unused-buffer", f"`{block}` does not read {buffer}", outer.block.span, help="name a buffer it reads")
    stage = _unwritten(outer, source)
    if stage is None:
        store = next(s for s in stores_in(outer.whole) if s.buffer == source)
        notes = [f"`{to_script(store)}` writes it in the same stage"]
        message = f"`{block}` would read an old copy of {buffer}"
        refuse("stale-cache", message, store.span, notes=notes, help="copy it for a stage that only reads it")
    taken = names_in(func)
    cache = _cache(source, scope, taken)
    copy, named = _copy(source, cache, cache.name, taken)
    body = replace_at(stage.inside, _reading(stage.block, source, cache))
    names = scope_of(func, stage.place[:-1])
    inner = copied_in(copy, body, cache, facts_at(func, stage.place), names, stage is not outer)
    return _changed(func, stage.around(inner), named)


def cache_write(func: PrimFunc, block: str, buffer: str, scope: str) -> Changed:
    """Let the stage of a block work on a local buffer, which is copied to the real one right after it.

    Where the stage reads elements before it writes them, or leaves some as they were, they are copied in first.

    Raises:
        ScheduleError: the block does not write the buffer.
    """
    target = find_buffer(func, buffer)
    stage = _stage(func, block, target)
    if target not in buffers_written(stage.block):
        refuse("unused-buffer", f"`{block}` does not write {buffer}", stage.block.span, help="name a buffer it writes")
    taken = names_in(func)
    cache = _cache(target, scope, taken)
    back, named = _copy(cache, target, cache.name, taken)
    body = _before(replace_buffer(stage.whole, target, cache, lambda indices: indices), back)
    if not _overwrites(func, stage.whole, target):
        body = seq(_copy(target, cache, fresh(f"{cache.name}_in", taken), taken)[0], body)
    return _changed(func, stage.around(Alloc(cache, body)), named)


# Where ---------------------------------------------------------------------------------------------------------------


class _Stage(Struct, frozen=True):
    """The statement `whole` at the level of a buffer, between what comes `before` and `after` it there.

    `inside` leads from it to the block; `outside` from the function body to the statement that holds all three.
    """

    outside: tuple[Stmt, ...]
    before: tuple[Stmt, ...]
    inside: tuple[Stmt, ...]
    after: tuple[Stmt, ...]

    @property
    def whole(self) -> Stmt:
        return self.inside[0]

    @property
    def block(self) -> Stmt:
        return self.inside[-1]

    @property
    def place(self) -> tuple[Stmt, ...]:
        """The path from the function body to the stage."""
        return self.outside if self.outside[-1] is self.whole else (*self.outside, self.whole)

    def around(self, new: Stmt) -> Stmt:
        """The function body with `new` for the stage; what it allocates is alive from there on."""
        if isinstance(new, Alloc) and self.after:
            new = replace(new, body=seq(new.body, *self.after))
            return replace_at(self.outside, seq(*self.before, new))
        return replace_at(self.outside, seq(*self.before, new, *self.after))


def _stage(func: PrimFunc, block: str, buffer: Buffer) -> _Stage:
    path = block_path(func, block)
    level: tuple[Stmt, ...] = (func.body,)
    if buffer not in func.buffers:
        found = path_to(func.body, lambda s: isinstance(s, Alloc) and s.buffer == buffer)
        assert found is not None
        level = (*found, found[-1].body) if isinstance(found[-1], Alloc) else found
    if len(path) == 1:
        stmts = level[-1].stmts if isinstance(level[-1], Seq) else (level[-1],)
        count = next((k for k, s in enumerate(stmts) if not _only_assumes(s)), len(stmts))
        return _Stage(level, stmts[:count], (seq(*stmts[count:]),), ())
    if not any(s is level[-1] for s in path):
        message = f"{buffer.name} does not live where `{block}` stands"
        refuse("unused-buffer", message, path[-1].span, help=f"the blocks are {', '.join(blocks_of(func))}")
    return _stage_on(path, next(k for k, s in enumerate(path) if s is level[-1]))


def _stage_on(path: tuple[Stmt, ...], at: int) -> _Stage:
    """The stage of the last statement of a path, at the level of another one."""
    while isinstance(path[at], (Seq, Alloc, Let)) and at < len(path) - 1:
        at += 1
    parent = path[at - 1] if at else None
    if isinstance(parent, Seq):
        k = next(k for k, s in enumerate(parent.stmts) if s is path[at])
        return _Stage(path[:at], parent.stmts[:k], path[at:], parent.stmts[k + 1 :])
    return _Stage(path[: at + 1], (), path[at:], ())


def _unwritten(stage: _Stage, buffer: Buffer) -> _Stage | None:
    """The outermost stage of the same block that does not write a buffer, under the conditions around the block."""
    path = (*stage.place[:-1], *stage.inside)
    if path[-1] is stage.whole:
        return None if buffer in buffers_written(stage.whole) else stage
    while buffer in buffers_written(stage.whole) or isinstance(stage.whole, If):
        at = next(k for k, s in enumerate(path) if s is stage.whole) + 1
        if at >= len(path):
            return None
        stage = _stage_on(path, at)
    return stage


def _only_assumes(stmt: Stmt) -> bool:
    match stmt:
        case Assume():
            return True
        case Seq() | For() | If() | Let() | Block():
            return all(map(_only_assumes, stmt_children(stmt)))
        case _:
            return False


def _overwrites(func: PrimFunc, stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement writes all of a buffer, and none of it after reading what was there."""

    def decided() -> bool:
        effects, known = EffectAnalysis().of(lower_statement(stmt)), entry_facts(func)
        reads, must = get(effects.reads, buffer), get(effects.must, buffer)
        box = pb.box(buffer.shape).intersect_params(known)
        return reads.intersect(box).is_empty() and box.is_subset(must)

    return pb.within_budget(decided, False)


# What ----------------------------------------------------------------------------------------------------------------


def _cache(buffer: Buffer, scope: str, taken: set[str]) -> Buffer:
    name = f"{buffer.name}_{scope if scope != 'global' else 'cache'}"
    return replace(buffer, name=fresh(_identifier(name), taken), scope=scope, span=None)


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)


def _copy(source: Buffer, target: Buffer, name: str, taken: set[str]) -> tuple[Stmt, Block]:
    """Loops that copy all elements, and the block in them."""
    loops, indices = grid(source, [f"ax{k}" for k in range(len(source.shape))], taken)
    block = Block(name, Store(target, indices, Load(source, indices)))
    return nest(loops, block), block


def _reading(stmt: Stmt, source: Buffer, cache: Buffer) -> Stmt:
    """`stmt` with loads of `source` made loads of `cache`."""

    def on_load(expr: Expr) -> Expr:
        return replace(expr, buffer=cache) if isinstance(expr, Load) and expr.buffer == source else expr

    def on_stmt(inner: Stmt) -> Stmt:
        return forget_regions(inner, {source.name}) if isinstance(inner, Block) else inner

    return map_stmt(stmt, lambda e: map_expr(e, on_load), on_stmt)


def _before(stmt: Stmt, last: Stmt) -> Stmt:
    """`stmt; last`, in the scope of allocations and bindings that end `stmt`, as people write it."""
    match stmt:
        case Seq(stmts=(*first, Alloc() | Let() as scoped)):
            return seq(*first, _before(scoped, last))
        case Alloc(body=body) | Let(body=body):
            return replace(stmt, body=_before(body, last))
        case _:
            return seq(stmt, last)


def _changed(func: PrimFunc, body: Stmt, block: Block) -> Changed:
    """The result, with the name that the block has once all names are unique."""
    new = replace(func, body=body)
    places = [k for k, s in enumerate(s for s in walk(body) if isinstance(s, Block)) if s.name == block.name]
    unique = with_unique_names(new)
    names = [s.name for s in walk(unique.body) if isinstance(s, Block)]
    return Changed(unique, (names[places[0]],))
