"""Elements at places that data give (`W[idx[i]]`): their owner looks them up, and hands them to who wants them.

A sum over devices, of which all but the owner have zero, is exchanged in place of the buffer that they are taken from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import islpy as isl
from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, Let, Load, Stmt, Store, Var, const
from ir.presburger import sets as pb
from ir.presburger.facts import proven
from ir.traverse import all_exprs, free_vars, has_loads, loads, map_expr, map_stmt, substitute_expr, walk
from lower.analysis.freedoms import Form
from lower.distribute.grid import Placement, tidied
from lower.distribute.stages import Stage

LOOKUP = Form(
    "mesh.lookups",
    "A[p] for a place p that data give  =  what the owner of that element has there",
    "elements are exchanged in place of all of the buffer that they are looked up in",
)
OWN = "own"  # combines partial results of which one device has each element


class Lookup(Struct, frozen=True):
    """A stage that puts what a load reads into a buffer of its own, and the stage that takes it from there."""

    load: Load
    target: Buffer
    stage: Stage
    rest: Stage


def looked_up(stage: Stage, placements: Mapping[Buffer, Placement], known: isl.Set) -> Iterator[Load]:
    """Loads of elements at places that data give, in dimensions that are cut; those inside of others first.

    The data are there before the stage for all of its iterations, whatever its conditions.
    """
    changed = {s.buffer for s in walk(stage.body) if isinstance(s, Alloc)}
    if len(stage.stores) > 1 or len(stage.loops) > len(stage.outer()):
        changed |= {
            s.buffer for s in stage.stores
        }  # else each iteration reads before it stores what no other one reads
    bound = {s.var for s in walk(stage.body) if isinstance(s, Let)}
    known = pb.within_loops(known, stage.loops)
    found: list[Load] = []
    reads = [e for e in all_exprs(stage.body) if isinstance(e, Load)]
    for load in sorted(reads, key=lambda e: sum(1 for _ in loads(e))):
        inner = [e for index in load.indices for e in loads(index)]
        if (
            any(data_dims(load, placements.get(load.buffer, ())))
            and not {load.buffer, *(e.buffer for e in inner)} & changed
            and not free_vars(*load.indices) & bound
            and all(_inside(e, known) for e in inner)
            and not any(load.same(f) for f in found)
        ):
            found.append(load)
            yield load


def data_dims(load: Load, placement: Placement) -> tuple[bool, ...]:
    """Which dimensions are cut, and have places that data give."""
    return tuple(c is not None and has_loads(i) for i, c in zip(load.indices, placement, strict=False))


def owner(load: Load, dim: int) -> Expr | None:
    """The place of a load in a dimension, which one device has whatever data say; None where it is of a narrow type."""
    index, extent = load.indices[dim], load.buffer.shape[dim]
    if index.dtype not in (DType.INT32, DType.INT64) or not isinstance(extent, Const):
        return None
    last = const(int(extent.value) - 1, index.dtype)
    return Binary("max", Binary("min", index, last), const(0, index.dtype))


def apart(stage: Stage, load: Load, name: Callable[[str], str]) -> Lookup | None:
    """A stage in two: what looks elements up, and the rest; None where loops are not over numbers."""
    used = free_vars(*load.indices)
    loops = [s for s in stage.loops if s.var in used]
    if not all(isinstance(s.start, Const) and isinstance(s.extent, Const) for s in loops):
        return None
    target = replace(
        load.buffer,
        name=name(f"{load.buffer.name}_found"),
        shape=tuple(s.extent for s in loops) or (const(1, DType.INT32),),
        scope="global",
    )
    new = {s.var: Var(name(s.var.name), s.var.dtype) for s in loops}
    zero = (const(0, DType.INT32),)
    places = tuple(tidied(Binary("sub", s.var, s.start)) for s in loops) or zero
    body: Stmt = Store(target, tuple(substitute_expr(p, new) for p in places), substitute_expr(load, new))
    for s in reversed(loops):
        body = For(new[s.var], s.start, s.extent, body, "parallel")
    taken = Load(target, places)

    def visit(expr: Expr) -> Expr:
        return taken if isinstance(expr, Load) and expr.same(load) else expr

    return Lookup(load, target, Stage(body), Stage(map_stmt(stage.body, on_expr=lambda e: map_expr(e, visit))))


def _inside(load: Load, known: isl.Set) -> bool:
    """Whether a load is of an element of its buffer where `known` holds; places that data give are clamped anyway."""
    return all(
        has_loads(i) or proven(Binary("and", Binary("ge", i, const(0, i.dtype)), Binary("lt", i, e)), known)
        for i, e in zip(load.indices, load.buffer.shape, strict=True)
    )
