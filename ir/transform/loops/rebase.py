"""Rebasing: a loop that counts from another number."""

from __future__ import annotations

from msgspec.structs import replace

from ir.analysis.defined import is_defined
from ir.naming import fresh
from ir.nodes import Expr, PrimFunc, const
from ir.presburger.facts import facts_at
from ir.printing.printer import to_script
from ir.program.calls import minus
from ir.program.edit import Changed, loop_path, names_in, plus, refuse, scope_of, with_body
from ir.transform.loops.ranges import check_range, check_steady, literal, loop_at
from ir.traverse import free_vars, substitute


def rebase(func: PrimFunc, loop: str, start: int | Expr) -> Changed:
    """Let a loop count from `start` instead.

    Raises:
        ScheduleError: the start is of another dtype, reads a buffer, or has no value before the loop.
    """
    path = loop_path(func, loop)
    old = loop_at(path)
    first = start if isinstance(start, Expr) else literal(old, start)
    known, scope = facts_at(func, path), set(scope_of(func, path[:-1]).values())
    if first.dtype is not old.var.dtype or not free_vars(first) <= scope or not is_defined(first, known):
        refuse("start", f"loop {loop} cannot count from `{to_script(first)}`", old.span, help="give a number or a size")
    check_steady(old)
    check_range(old, first, old.extent, known)
    var = replace(old.var, name=fresh(loop, names_in(func)))
    shift = _difference(old.start, first)
    body = substitute(old.body, {old.var: plus(var, shift)})
    return Changed(with_body(func, path, replace(old, var=var, start=first, body=body)), (var.name,))


def _difference(left: Expr, right: Expr) -> Expr:
    return const(0, left.dtype) if left.same(right) else minus(left, right)
