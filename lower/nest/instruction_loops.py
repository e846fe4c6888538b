"""What operations of libraries give, as loops: the body that each instruction stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from ir.analysis.conditions import conjunction
from ir.analysis.dependence import Loop, Tile
from ir.dtypes import DType
from ir.nodes import (
    SKIP,
    Alloc,
    Binary,
    Buffer,
    Call,
    CallStmt,
    Const,
    Expr,
    For,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    const,
    seq,
)
from ir.program.edit import nest
from ir.sections import Section
from ir.traverse import results_of, substitute_expr
from lower.analysis.linear_forms import linear, to_expr
from lower.nest.nodes import Box, Pick, Solve

_Comparison = Literal["gt", "ge", "lt", "le"]
_BETTER: dict[tuple[str, bool], _Comparison] = {
    ("max", False): "gt", ("max", True): "ge", ("min", False): "lt", ("min", True): "le",
}  # fmt: skip


def instance_loops(tile: Tile, store: Store, name: Callable[[str], str]) -> Stmt:
    """A call of the instruction of a `tile` on copies of what it reads, and the store of what it made."""
    made = store.value
    assert isinstance(made, Call)
    given = dict(zip((p.name for p in made.function.params), made.args, strict=True))
    args: list[Expr | Section] = []
    filled: list[Stmt] = []
    copies: dict[str, Buffer] = {}
    for param in tile.instruction.params:
        if isinstance(param, Var):
            args.append(given.get(param.name, tile.sizes.get(param, const(0, param.dtype))))
            continue
        shape = tuple(substitute_expr(e, tile.sizes) for e in param.shape)
        copy = copies[param.name] = replace(param, name=name(param.name), shape=shape, scope="local")
        args.append(Section.whole(copy))
        if param.name in given:
            windows = tile.read[param.name]
            place = tuple(w.var for w in windows)
            filled.append(nest(tuple(map(_for, windows)), Store(copy, place, given[param.name])))
    result = copies[results_of(tile.instruction)[tile.result].name]
    value = Load(result, tuple(w.var for w in tile.stored))
    body = seq(
        *filled, CallStmt(tile.instruction, tuple(args)),
        nest(tuple(map(_for, tile.stored)), replace(store, value=value)),
    )  # fmt: skip
    for copy in copies.values():
        body = Alloc(copy, body)
    return body


def _for(window: Loop) -> For:
    return For(window.var, window.start, window.extent, SKIP)


def ranked_loops(
    pick: Pick, loops: Sequence[For], boxes: Sequence[Box], place: Store, name: Callable[[str], str]
) -> Stmt:
    """The search for the value of a rank in nested `loops`: that before which so many others come. Bounds that boxes
    do not say are among the conditions."""
    rank = pick.rank
    assert rank is not None
    before = Buffer(name("before"), (), rank.var.dtype, "local")
    loops = [
        replace(loop, start=to_expr(box.low, loop.var), extent=to_expr(box.extent, loop.var))
        for loop, box in zip(loops, boxes, strict=True)
    ]
    others = [replace(loop, var=Var(name(loop.var.name), loop.var.dtype)) for loop in loops]
    there = {a.var: b.var for a, b in zip(loops, others, strict=True)}
    here, where = _count(loops, boxes, rank.var.dtype), _count(others, boxes, rank.var.dtype)
    tested, tests = (
        conjunction([Const(True, DType.BOOL), *(substitute_expr(c, names) for c in pick.conditions)])
        for names in ({}, there)
    )
    other = substitute_expr(pick.value, there)
    better: Expr = Binary("gt" if pick.op == "max" else "lt", other, pick.value)
    earlier = Binary("gt" if pick.last else "lt", where, here)
    better = Binary("or", better, Binary("and", Binary("eq", other, pick.value), earlier))
    no, yes = (Const(k, DType.BOOL) for k in (False, True))
    first = Select(tests, Select(tested, better, yes), Select(tested, no, earlier))
    one = Store(before, (), Binary("add", Load(before, ()), const(1, rank.var.dtype)))
    ranked = seq(
        Store(before, (), const(0, rank.var.dtype)), nest(others, guarded((first,), one)),
        guarded((Binary("eq", Load(before, ()), rank.var),), replace(place, value=here)),
    )  # fmt: skip
    return Alloc(before, nest(loops, ranked))


def _count(loops: Sequence[For], boxes: Sequence[Box], dtype: DType) -> Expr:
    """Which iteration of nested loops the present one is, counted from 0 through their boxes."""
    count: Expr = const(0, dtype)
    for loop, box in zip(loops, boxes, strict=True):
        low, size = to_expr(box.low, loop.var), to_expr(box.extent, loop.var)
        count = Binary("add", Binary("mul", count, size), _less(loop.var, low))
    return to_expr(linear(count), count)


def search_loops(
    pick: Pick, loops: Sequence[For], boxes: Sequence[Box], place: Store, name: Callable[[str], str]
) -> Stmt:
    """The search for the best value in nested `loops`: `place` is stored to, where it was, counted from 0."""
    best = Buffer(name("best"), (), pick.value.dtype, "local")
    found = Buffer(name("found"), (), DType.BOOL, "local")
    count = _count(loops, boxes, place.buffer.dtype)
    better = Binary(_BETTER[pick.op, pick.last], pick.value, Load(best, ()))
    kept = seq(
        Store(best, (), pick.value), Store(found, (), Const(True, DType.BOOL)), replace(place, value=count)
    )  # fmt: skip
    body = guarded((*pick.conditions, Binary("or", Unary("not", Load(found, ())), better)), kept)
    start = seq(
        Store(found, (), Const(False, DType.BOOL)), replace(place, value=const(0, place.buffer.dtype)),
        nest(loops, body),
    )  # fmt: skip
    # what is compared with before anything was found is no number, but a choice that is already made
    return Alloc(best, Alloc(found, start))


def system_steps(system: Solve, matrix: Load, place: Store) -> Stmt:
    """One step of a triangular system: what earlier steps give is taken away, the rest divided by the diagonal."""
    step, column = system.loop, system.column
    own = Load(place.buffer, place.indices)
    other = Load(own.buffer, tuple(substitute_expr(i, {step.var: column}) for i in own.indices))
    less = replace(place, value=Binary("sub", own, Binary("mul", matrix, other)))
    earlier = For(column, step.start, _less(step.var, step.start), less)
    if system.unit:
        return earlier
    diagonal = substitute_expr(matrix, {column: step.var})
    return seq(earlier, replace(place, value=Binary("div", own, diagonal)))


def factor_loops(row: For, column: For, place: Store, k: Var) -> Stmt:
    """The Cholesky factor of a matrix in its own place, column by column, with zeros above the diagonal."""
    i, j = row.var, column.var

    def at(r: Expr, c: Expr) -> Load:
        return Load(place.buffer, tuple(substitute_expr(x, {i: r, j: c}) for x in place.indices))

    def to(element: Load, value: Expr) -> Store:
        return Store(element.buffer, element.indices, value)

    one = const(1, i.dtype)
    product = Binary("mul", at(i, k), at(j, k))
    less = For(k, column.start, _less(j, column.start), to(at(i, j), Binary("sub", at(i, j), product)))
    below = _less(Binary("add", row.start, row.extent), j)
    root = to(at(j, j), Unary("sqrt", at(j, j)))
    divide = For(i, Binary("add", j, one), _less(below, one), to(at(i, j), Binary("div", at(i, j), at(j, j))))
    zeros = For(i, row.start, _less(j, row.start), to(at(i, j), Const(0.0, place.buffer.dtype)))
    steps = replace(column, body=seq(For(i, j, below, less), root, divide, zeros))
    return seq(nest((row, column), place), steps)


def _less(a: Expr, b: Expr) -> Expr:
    """The difference of two indices."""
    return to_expr(linear(a) - linear(b), a)


def guarded(conditions: Sequence[Expr], body: Stmt) -> Stmt:
    """A body that runs where conditions hold, which are asked in order."""
    return If(conjunction(conditions), body, SKIP) if conditions else body
