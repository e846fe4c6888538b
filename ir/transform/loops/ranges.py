"""What the moves of loops ask of ranges: whether bounds may be evaluated elsewhere, whether numbers fit a dtype, and
over which range a loop goes that has some iterations only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import islpy as isl

from ir.analysis.defined import is_defined
from ir.nodes import Binary, Const, Expr, For, Stmt, Unary, Var, const
from ir.presburger import readback
from ir.presburger import sets as pb
from ir.presburger.facts import proven, range_of
from ir.printing.printer import to_script
from ir.program.calls import of_dtype
from ir.program.edit import plus, refuse
from ir.traverse import buffers_written, free_vars, loads, substitute, walk_expr

Bounds = tuple[Expr, Expr]  # a start and an extent

ROOM = 64  # times as large as sizes are taken to be, is what their dtype holds
MAX_PIECES = 1  # bounds of more cases cost more than the iterations they save


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


# Ranges of some iterations --------------------------------------------------------------------------------------------


def ends(region: isl.Set, name: str) -> tuple[isl.PwAff | None, isl.PwAff | None]:
    """The least and the greatest value of a variable, as functions of the others."""
    line = pb.line(region, name)
    if line is None:
        return None, None
    return readback.coordinate(line, 0, upper=False), readback.coordinate(line, 0, upper=True)


def bounds_of(
    start: isl.PwAff, extent: isl.PwAff, var: Var, scope: Mapping[str, Expr], known: isl.Set
) -> Bounds | None:
    """Bounds of a loop as expressions; None where a part of one is known to leave its dtype for some numbers.

    Sizes of which nothing is known are taken to leave room, as those do that a program counts to.
    """
    first, count = (of_dtype(readback.expression(f.coalesce(), scope, known), var.dtype) for f in (start, extent))
    roomy = _with_room(known, free_vars(first, count))
    for part in (p for e in (first, count) for p in walk_expr(e) if isinstance(p, (Binary, Unary))):
        low, high = range_of(part, roomy)
        if (low is not None and low < part.dtype.min) or (high is not None and high > part.dtype.max):
            return None
    return first, count


def _with_room(known: isl.Set, sizes: Iterable[Var]) -> isl.Set:
    """What is known, and that sizes which may have any value are far from the limits of their dtypes."""
    for var in (v for v in sizes if v.dtype.is_integer):
        symbol, (low, high) = pb.symbol(var.name), range_of(var, known)
        room = known
        if high is None or high >= var.dtype.max:
            room = room.intersect(symbol.le_set(pb.number(var.dtype.max // ROOM)))
        if low is None or low <= var.dtype.min:
            room = room.intersect(symbol.ge_set(pb.number(var.dtype.min // ROOM)))
        known = known if room.is_empty() else room
    return known


def least_range(loop: For, useful: isl.Set, scope: Mapping[str, Expr], known: isl.Set) -> Bounds | None:
    """Start and extent of the least range that contains the useful iterations; None if they are no better.

    `scope` has what bounds may mention, and `known` holds there."""
    line = pb.line(useful, loop.var.name)
    if line is None:
        return None
    low, high = readback.coordinate(line, 0, upper=False), readback.coordinate(line, 0, upper=True)
    was = pb.affine(loop.start), pb.affine(loop.extent)
    if low is None or high is None or was[0] is None or was[1] is None:
        return None
    extent = high.sub(low).add(pb.number(1))
    nothing = known.subtract(line.params())
    if not nothing.is_empty():  # no iteration at all, for some values of variables further out
        low, extent = _everywhere(low), _everywhere(extent)
        if low is None or extent is None:
            return None
        part = low.ge_set(was[0]).intersect(low.add(extent).le_set(was[0].add(was[1])))  # these do nothing either
        if not nothing.is_subset(part.union(extent.le_set(pb.number(0)))):
            return None
    same = low.eq_set(was[0]).intersect(extent.eq_set(was[1]))
    if known.is_subset(same) or max(low.n_piece(), extent.n_piece()) > MAX_PIECES:
        return None
    return bounds_of(low, extent, loop.var, scope, known)


def _everywhere(function: isl.PwAff) -> isl.PwAff | None:
    """A function of one piece, also where it was not defined."""
    pieces = function.coalesce().get_pieces()
    return isl.PwAff.from_aff(pieces[0][1]) if len(pieces) == 1 else None


def strided_range(loop: For, useful: isl.Set) -> For | None:
    """The loop over useful iterations that are `k * i + a` for numbers a and k > 1; None if they are not.

    Which of these there are may hang on variables further out, as long as the range of the loop does not.
    """
    line = pb.line(useful, loop.var.name)
    if line is None or not isinstance(loop.start, Const) or not isinstance(loop.extent, Const):
        return None
    step = line.get_stride(0).to_python()
    if step < 2:
        return None
    first, last = (end.to_python() for end in (line.dim_min_val(0), line.dim_max_val(0)))
    if not line.is_subset(isl.Set(f"{{ [i] : (i - {first}) mod {step} = 0 }}")) or last - first > loop.var.dtype.max:
        return None
    var, dtype = loop.var, loop.var.dtype
    place = Binary("mul", var, const(step, dtype))
    place = Binary("add", place, const(first, dtype)) if first else place
    body = substitute(loop.body, {var: place})
    count = const((last - first) // step + 1, dtype)
    return For(var, const(0, dtype), count, body, loop.kind, loop.annotations, loop.span)
