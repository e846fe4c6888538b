"""What the moves of loops ask of ranges: whether bounds may be evaluated elsewhere, and whether numbers fit a dtype."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from ir.analysis.defined import is_defined
from ir.nodes import Binary, Const, Expr, For, Stmt, const
from ir.presburger import sets as pb
from ir.presburger.facts import proven
from ir.printing.printer import to_script
from ir.program.edit import plus, refuse
from ir.traverse import buffers_written, loads


def loop_at(path: tuple[Stmt, ...]) -> For:
    loop = path[-1]
    assert isinstance(loop, For)
    return loop


def nested(outer: For, names: Sequence[str]) -> list[For]:
    """Loops of these names, each alone in the one before."""
    chain = [outer]
    for name in names[1:]:
        inner = chain[-1].body
        if not isinstance(inner, For) or inner.var.name != name:
            found = f"loop {inner.var.name}" if isinstance(inner, For) else f"`{to_script(inner).splitlines()[0]}`"
            message = f"loop {name} is not alone in loop {chain[-1].var.name}, which holds {found}"
            refuse("not-nested", message, chain[-1].span, help="give loops that are directly nested, outermost first")
        chain.append(inner)
    return chain


def check_steady(loop: For) -> None:
    """Check that the bounds of a loop may be evaluated again in its body.

    Raises:
        ScheduleError: they read a buffer that the body writes.
    """
    changed = buffers_written(loop.body)
    for bound in (loop.start, loop.extent):
        for load in loads(bound):
            if load.buffer in changed:
                message = f"the range of loop {loop.var.name} is `{to_script(load)}`, which its body changes"
                refuse("range-changes", message, loop.span, help="bind the bound to a name before the loop")


def check_defined(loops: Sequence[For], known: isl.Set) -> None:
    """Check that the bounds of loops may be evaluated outside the loops and guards around them, which may not run.

    Raises:
        ScheduleError: they read a buffer, or divide by what may be zero.
    """
    for loop in loops:
        for bound in (loop.start, loop.extent):
            if not is_defined(bound, known):
                message = f"`{to_script(bound)}` may have no value where loop {loop.var.name} does not run now"
                help = "assume that no divisor is zero with T.assume; bind what is read to a name before the loops"
                refuse("undefined-range", message, loop.span, help=help)


def check_range(loop: For, start: Expr, extent: Expr, known: isl.Set) -> None:
    """Check that a range of numbers does not leave the dtype that a loop counts in.

    Sizes in 32 bits and more are taken to leave room for rounding up; in narrow dtypes that must be known.
    """
    stop, dtype = plus(start, extent), loop.var.dtype
    if dtype.bits < 32 and not isinstance(stop, Const):
        first, count = pb.affine(start), pb.affine(extent)
        last = None if first is None or count is None else first.add(count).sub(pb.number(1))
        if last is None or not known.is_subset(last.le_set(pb.number(dtype.max))):
            message = f"loop {loop.var.name} is not known to stay within {dtype}"
            refuse("range", message, loop.span, help="assume a bound of its sizes with T.assume")
    if isinstance(stop, Const) and not dtype.min <= stop.value - 1 <= dtype.max:
        message = f"loop {loop.var.name} would count to {int(stop.value) - 1}, which leaves {dtype}"
        refuse("range", message, loop.span, help="use smaller numbers")


def literal(loop: For, value: int) -> Expr:
    dtype = loop.var.dtype
    if not dtype.min <= value <= dtype.max:
        refuse("range", f"{value} does not fit {dtype}, in which loop {loop.var.name} counts", loop.span)
    return const(value, dtype)


def count(loop: For, known: isl.Set) -> Expr:
    """The number of iterations: two extents below zero would have a positive product."""
    zero = const(0, loop.extent.dtype)
    return loop.extent if proven(Binary("ge", loop.extent, zero), known) else Binary("max", loop.extent, zero)
