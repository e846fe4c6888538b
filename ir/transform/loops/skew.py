"""Skewing: an inner loop that counts from a multiple of the outer one's variable.

Iterations that depend on earlier ones of both loops then lie on lines that the inner loop crosses, so that after an
interchange those of one line are independent (Wolfe, "Loop Skewing: The Wavefront Method Revisited", 1986).
"""

from __future__ import annotations

from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import For, PrimFunc
from ir.presburger.facts import facts_at
from ir.program.calls import minus
from ir.program.edit import Changed, loop_path, names_in, plus, refuse, times, with_body
from ir.transform.loops.ranges import check_range, check_steady, literal, loop_at
from ir.traverse import substitute


def skew(func: PrimFunc, outer: str, inner: str, factor: int) -> Changed:
    """Let the inner loop count from its start plus `factor` times the variable of a loop around it.

    Raises:
        ScheduleError: the loops are not in one another, the factor is 0, or the range does not fit its dtype.
    """
    path = loop_path(func, inner)
    loop = loop_at(path)
    around = next((s for s in path[:-1] if isinstance(s, For) and s.var.name == outer), None)
    if around is None:
        loop_path(func, outer)  # an unknown name is refused with those that there are
        refuse("not-nested", f"loop {inner} is not inside loop {outer}", loop.span, help="name the outer loop first")
    if around.var.dtype is not loop.var.dtype:
        refuse("dtype", f"loops {outer} and {inner} count in different dtypes", loop.span)
    if factor == 0:
        refuse("factors", "a factor of 0 skews nothing", loop.span, help="give a positive or negative number")
    check_steady(loop)
    distance = times(literal(loop, abs(factor)), around.var)
    var = replace(loop.var, name=fresh(inner, names_in(func)))
    ahead, behind = (plus, minus) if factor > 0 else (minus, plus)
    first, value = ahead(loop.start, distance), behind(var, distance)
    check_range(loop, first, loop.extent, facts_at(func, path))
    new = replace(loop, var=var, start=first, body=substitute(loop.body, {loop.var: value}))
    return Changed(with_body(func, path, new), (var.name,))
