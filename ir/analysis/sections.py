"""Whether what calls pass fits: extents, overlap and bounds of sections."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
from msgspec.structs import replace

import ir.presburger.sets as pb
from ir.nodes import SKIP, TRUE, CallStmt, Const, Evaluate, Expr, If, Load, PrimFunc, Stmt, Var, const, seq
from ir.program.calls import calls_in, minus, of_dtype, plus, without_calls
from ir.sections import Section, passed
from ir.traverse import map_stmt


def equal_integers(one: Expr, other: Expr) -> bool:
    """Whether two expressions of sizes are the same number, whatever the sizes are."""
    if one.same(other):
        return True

    def equal() -> bool:
        a, b = pb.affine(one), pb.affine(other)
        return a is not None and b is not None and pb.always().is_subset(a.eq_set(b).params())

    return pb.within_budget(equal, False)


def disjoint_sections(one: Section, other: Section, known: Callable[[], isl.Set] = pb.always) -> bool:
    """Whether two sections of a buffer have no element in common, whatever the scalars in them are.

    `known` gives what holds of scalars there, as a params set; it is asked where nothing else helps.
    """

    def apart() -> bool:
        both = pb.always()
        for section in (one, other):
            for k, (start, extent) in enumerate(section.ranges):
                size = const(1, start.dtype) if extent is None else of_dtype(extent, start.dtype)
                both = both.intersect(pb.loop_domain(Var(f"<{k}>", start.dtype), start, size).may)
        return both.is_empty() or both.intersect(known()).is_empty()

    return one.buffer != other.buffer or pb.within_budget(apart, False)


def with_section_checks(func: PrimFunc) -> PrimFunc:
    """`func` with bodies in the places of calls, and before each what reads the corners of the sections it passes."""
    if next(calls_in(func.body), None) is None:
        return func

    def on_stmt(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, CallStmt):
            return stmt
        return seq(*(_corners(s) for _, s in passed(stmt) if not s.is_whole), stmt)

    return without_calls(replace(func, body=map_stmt(func.body, on_stmt=on_stmt)))


def _corners(section: Section) -> Stmt:
    """Loads of the first and last element of a section, where it has any."""
    some: Expr = TRUE
    last: list[Expr] = []
    for start, extent in section.ranges:
        if extent is None:
            last.append(start)
        else:
            some = some & (extent >= 1) if not (isinstance(extent, Const) and extent.value > 0) else some
            last.append(minus(plus(start, extent), const(1, start.dtype)))
    first = tuple(start for start, _ in section.ranges)
    reads = seq(*(Evaluate(Load(section.buffer, at, section.span), section.span) for at in (first, tuple(last))))
    return reads if some.same(TRUE) else If(some, reads, SKIP, section.span)
