"""The accesses of one buffer: in which nests they lie, with which indices, and where two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from msgspec.structs import replace

from ir.analysis.legality import Event, events
from ir.errors import Span
from ir.nodes import Buffer, Expr, For, Load, PrimFunc, Stmt, const
from ir.presburger import sets as pb
from ir.printing.printer import to_script
from ir.program.blocks import without_axes
from ir.program.edit import refuse
from ir.traverse import (
    all_exprs,
    free_vars,
    is_fixed,
    stmt_children,
    stores_in,
    substitute_expr,
    without_names,
)

Access = tuple[Event, tuple[Expr, ...]]


def nests_with(path: tuple[Stmt, ...], buffer: Buffer) -> Iterator[For]:
    """The outermost loops in or around the block at the end of `path` under which it accesses the buffer."""
    around = next((s for s in path if isinstance(s, For)), None)
    if not touches(path[-1], buffer):
        return
    if around is not None:
        yield around
        return
    yield from _outermost(path[-1], buffer)


def _outermost(stmt: Stmt, buffer: Buffer) -> Iterator[For]:
    for child in (stmt,) if isinstance(stmt, For) else stmt_children(stmt):
        if isinstance(child, For):
            if touches(child, buffer):
                yield child
        else:
            yield from _outermost(child, buffer)


def touches(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement loads from a buffer or stores to it."""
    stored = any(s.buffer == buffer for s in stores_in(stmt))
    return stored or any(isinstance(e, Load) and e.buffer == buffer for e in all_exprs(stmt))


def plain(func: PrimFunc, stmt: Stmt) -> Stmt:
    """A statement with blocks reduced to names, and names of integers that do not load replaced by what they are."""
    lowered = without_axes(replace(func, body=stmt)).body
    return without_names(lowered, lambda value: value.dtype.is_integer and is_fixed(value))


def accesses_in(unit: Stmt, buffer: Buffer) -> Iterator[Access]:
    """Places that access the buffer, with their indices in terms of loop variables."""
    for event in events(unit):
        for load in event.reads:
            if load.buffer == buffer:
                yield event, load.indices
        if event.store is not None and event.store.buffer == buffer:
            yield event, event.store.indices


def same_place(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """Whether indices are equal for all values of their variables."""
    for a, b in zip(left, right, strict=True):
        if a.same(b):
            continue
        pa, pc = pb.affine(a), pb.affine(b)
        if pa is None or pc is None or not pb.always().is_subset(pa.eq_set(pc)):
            return False
    return True


def separate_loops(unit: Stmt, found: Sequence[Access]) -> list[str] | None:
    """Loops under the outermost one that access the buffer each in its way, if that loop runs over leading axes."""
    assert isinstance(unit, For)
    inner: dict[str, None] = {}
    for event, indices in found:
        if len(event.loops) < 2 or event.loops[0].var != unit.var:
            return None
        mine = [k for k, index in enumerate(indices) if unit.var in free_vars(index)]
        below = {loop.var for loop in event.loops[1:]}
        first = next((k for k, index in enumerate(indices) if free_vars(index) & below), len(indices))
        if any(k >= first or not indices[k].same(unit.var) for k in mine):
            return None
        inner[event.loops[1].var.name] = None
    return list(inner)


def refuse_two(buffer: Buffer, first: Access, second: Access, span: Span | None) -> NoReturn:
    shown = [to_script(Load(buffer, indices)) for _, indices in (first, second)]
    message = f"{buffer.name} is accessed at two places of one nest: {shown[0]} and {shown[1]}"
    notes = [f"in `{text}`" for text in dict.fromkeys((first[0].text, second[0].text))]
    witness = pb.within_budget(lambda: _difference(buffer, first, second), None)
    help = "split the nest, or choose a buffer that all statements access alike"
    refuse("two-accesses", message, span, notes=notes if witness is None else [*notes, witness], help=help)


def _difference(buffer: Buffer, first: Access, second: Access) -> str | None:
    """An iteration in which two accesses meet different elements."""
    known, differ = pb.always(), pb.never()
    loops = {loop.var: loop for event, _ in (first, second) for loop in event.loops}
    for loop in loops.values():
        known = known.intersect(pb.loop_domain(loop.var, loop.start, loop.extent).must)
    for a, b in zip(first[1], second[1], strict=True):
        pa, pc = pb.affine(a), pb.affine(b)
        if pa is not None and pc is not None:
            differ = differ.union(pa.ne_set(pc))
    member = pb.sample(known.intersect(differ))
    if member is None:
        return None
    at = {v: const(member[0][v.name], v.dtype) for v in loops if v.name in member[0]}
    elements: list[str] = []
    for _, indices in (first, second):
        spot = pb.point([substitute_expr(i, at) for i in indices])
        found = None if spot is None else pb.sample(spot)
        if found is None:
            return None
        elements.append(f"{buffer.name}[{', '.join(map(str, found[1]))}]")
    return f"for example at {', '.join(f'{v.name} = {x.value}' for v, x in at.items())}: {' and '.join(elements)}"
