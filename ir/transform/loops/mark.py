"""Marks: loops whose iterations may run together, or are written out."""

from __future__ import annotations

from msgspec.structs import replace

from ir.analysis.legality import carried
from ir.nodes import Const, LoopKind, PrimFunc
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.edit import Changed, loop_path, refuse, with_body
from ir.transform.loops.ranges import loop_at


def parallel(func: PrimFunc, loop: str) -> Changed:
    """Mark a loop whose iterations are independent as parallel.

    Raises:
        ScheduleError: two iterations touch one element, and one of them writes it.
    """
    return _independent(func, loop, "parallel")


def vectorize(func: PrimFunc, loop: str) -> Changed:
    """Mark a loop whose iterations are independent as one vector operation.

    Raises:
        ScheduleError: two iterations touch one element, and one of them writes it.
    """
    return _independent(func, loop, "vectorized")


def _independent(func: PrimFunc, loop: str, kind: LoopKind) -> Changed:
    path = loop_path(func, loop)
    old = loop_at(path)
    found = carried(old, facts_at(func, path))
    if found is not None:
        message = f"loop {loop} cannot be {kind}: {found.message}"
        refuse("dependence", message, old.span, notes=found.notes, help="mark a loop whose iterations are independent")
    return Changed(with_body(func, path, replace(old, kind=kind)))


def unroll(func: PrimFunc, loop: str) -> Changed:
    """Mark a loop of constant extent to be unrolled.

    Raises:
        ScheduleError: the extent is not a number.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    if not isinstance(old.extent, Const):
        message = f"loop {loop} has {to_script(old.extent)} iterations, which is no number"
        refuse("unroll", message, old.span, help="split off a part of constant extent first")
    return Changed(with_body(func, path, replace(old, kind="unroll")))
